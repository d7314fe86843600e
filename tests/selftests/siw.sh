#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Interoperation with siw, the kernel's own soft-iWARP driver: xiw in xa, siw in
# xb, each of them as the side that connects. Startup in all forms that siw supports
# (revision 1 and 2, either connection model, CRC), verified data, the perftest
# programs, and operations that siw lacks, for which the application on xiw's side
# gets an error. See scripts/build-siw for siw's parameters.
#
# xiw-kernel: stock
# xiw-packages: tcpdump ethtool
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"
. "$(dirname "$0")/wire.sh"

DEV_B=siwB
SIW_PARAM=/sys/module/siw/parameters

policy()
{
	policy_of "$DEV_A" "$1" "$2"
}

param()
{
	echo "$2" >"$SIW_PARAM/$1" || bail "set-up: siw's $1 $2"
}

siw_pads=0

# defaults: resets the parameters of both drivers.
defaults()
{
	policy revision 2
	policy crc 1
	policy markers 0
	policy rtr_types "write read"
	param mpa_version 2
	param mpa_crc_required 0
	param mpa_crc_strict 0
	param peer_to_peer 0
}

# spoken WHAT XIW_CONNECTS SIW_CONNECTS: the claims that rping with verified data
# succeeds in both directions, and that the captured startups are those: Request / Reply
# / first message of the Initiator.
spoken()
{
	local what=$1

	capture_start "$TMP/startup.pcap"
	pair -r "$what: xiw connects, rping" \
		"rping -s -V -a $B4 -p @PORT@ -C 10 -S 3000" \
		"rping -c -V -a $B4 -p @PORT@ -C 10 -S 3000"
	pair "$what: siw connects, rping" \
		"rping -s -V -a $A4 -p @PORT@ -C 10 -S 3000" \
		"rping -c -V -a $A4 -p @PORT@ -C 10 -S 3000"
	capture_stop
	tap_run "$what: every byte is as the RFCs require" \
		take_apart "$TMP/startup.pcap" "$B4"
	tap_is "$what: startup when xiw connects" "$(startups | sed -n 1p)" "$2"
	tap_is "$what: startup when siw connects" "$(startups | sed -n 2p)" "$3"
}

# refused [-r] DESC: the claim is that the client fails with an error that names the
# cause; -r: the client is xiw.
refused()
{
	local s=$NS_A c=$NS_B address=$A4 port

	if [[ $1 == -r ]]; then
		s=$NS_B c=$NS_A address=$B4
		shift
	fi
	port=$(free_port)
	start_server server "$s" rping -s -a "$address" -p "$port"
	wait_listen server "$s" "$port" || bail "set-up: rping does not listen"
	in_ns "$c" rping -c -a "$address" -p "$port" -C 1 >"$TMP/client.log" \
		2>&1 </dev/null
	grep -q 'RDMA_CM_EVENT_REJECTED, error -111' "$TMP/client.log"
	tap_result $? "$1" || tap_show "$TMP/client.log"
	stop_server server
}

# perf PROGRAM SIZE ITERATIONS: the claims that perftest succeeds in both directions, and
# reports all iterations.
perf()
{
	local args="-R -p @PORT@ -s $2 -n $3 -F"

	pair -r "$1, $2 bytes, xiw connects" "$1 -d $DEV_B $args" \
		"$1 -d $DEV_A $args $B4" &&
	tap_run "  and reports size and number" \
		grep -qE "^ *$2 +$3 " "$TMP/client.log"
	pair "$1, $2 bytes, siw connects" "$1 -d $DEV_A $args" \
		"$1 -d $DEV_B $args $A4" &&
	tap_run "  and reports size and number" \
		grep -qE "^ *$2 +$3 " "$TMP/client.log"
}

# messages: the claims for ucmatose, whose accepting side sends first.
messages()
{
	pair -r "ucmatose, xiw connects" "ucmatose -b $B4 -p @PORT@ -C 20" \
		"ucmatose -b $A4 -s $B4 -p @PORT@ -C 20"
	pair "ucmatose, siw connects" "ucmatose -b $A4 -p @PORT@ -C 20" \
		"ucmatose -b $B4 -s $A4 -p @PORT@ -C 20"
}

# fenced: by default siw sends no RTR. Then the accepting side must not send first: the
# claims are that xiw does not, even if requests are posted.
fenced()
{
	local port

	port=$(free_port)
	capture_start "$TMP/startup.pcap"
	start_server server "$NS_A" ucmatose -b "$A4" -p "$port"
	wait_listen server "$NS_A" "$port" ||
		bail "set-up: ucmatose does not listen"
	XIW_TIMEOUT=4 in_b ucmatose -b "$B4" -s "$A4" -p "$port" \
		>"$TMP/client.log" 2>&1 </dev/null
	stop_server server
	capture_stop
	tap_run "siw asks for no RTR and does not speak: all bytes are right" \
		take_apart "$TMP/startup.pcap"
	tap_is "  and xiw sent no RTR" "$(startups), $(seen fpdus)" \
		"$SIW_ASKS - / $WITH_CRC - / nothing, 0"
}

# rev1: the claims for revision 1. As its frames have no IRD, siw as the server permits
# no Reads, so rping, whose server sends Reads, fails.
rev1()
{
	local port

	capture_start "$TMP/startup.pcap"
	perf ib_write_bw 65536 20
	perf ib_read_bw 65536 20
	capture_stop
	tap_run "revision 1: every byte is as the RFCs require" \
		take_apart "$TMP/startup.pcap" "$B4"
	startups | grep -v '^rev1 -C-- pd0 / rev1 -C-- pd0 /' |
		grep -v '^rev1 ---- pd0 / rev1 -C-- pd0 /' >"$TMP/others"
	tap_is "revision 1: all eight connections were" \
		"$(startups | wc -l), $(wc -l <"$TMP/others") others" \
		"8, 0 others"
	((siw_pads += $(seen foreign_pads)))
	pair "revision 1: siw connects, rping" \
		"rping -s -V -a $A4 -p @PORT@ -C 10 -S 3000" \
		"rping -c -V -a $A4 -p @PORT@ -C 10 -S 3000"
	port=$(free_port)
	start_server server "$NS_B" rping -s -a "$B4" -p "$port"
	wait_listen server "$NS_B" "$port" ||
		bail "set-up: rping does not listen"
	in_a rping -c -a "$B4" -p "$port" -C 5 >"$TMP/client.log" 2>&1 \
		</dev/null
	tap_run "siw as server of revision 1 cannot read: xiw's side is notified of the end" \
		grep -q 'DISCONNECT EVENT' "$TMP/client.log"
	wait_server server
	tap_run "  and the program over siw gets the reason" \
		grep -q 'post send error' "$TMP/server.log"
}

topology()
{
	{ modprobe xiw && modprobe siw && modprobe rdma_ucm; } ||
		bail "set-up: the modules could not be loaded"
	[[ -e $SIW_PARAM/mpa_version ]] ||
		skip_all "this kernel's siw has no parameters"
	netns_mode shared || bail "set-up: the shared mode of RDMA namespaces"
	XIW_LINK_TYPE=siw net_up
	{
		XIW_LINK_TYPE=xiw link_add "$NS_A" "$DEV_A" "$VETH_A" &&
		XIW_LINK_TYPE=siw link_add "$NS_B" "$DEV_B" "$VETH_B" &&
		wait_for 20 port_active "$DEV_A" &&
		wait_for 20 port_active "$DEV_B"
	} || bail "set-up: the two devices could not be added"
	plain_segments
	defaults
}

topology
objects >"$TMP/baseline"

# Expected frames, by sender. The RTR is a Write, the first type that both support. siw
# requests CRCs only if its parameter is set, and its Reply has the Request's flags.
XIW_ASKS="rev2 -C-S pd0 ird1 ord1 ACD"
SIW_ASKS="rev2 ---S pd0 ird1 ord1"
WITH_CRC="rev2 -C-S pd0 ird1 ord1"
NO_CRC="rev2 ---S pd0 ird1 ord1"

# Covers: MPA-09 MPA-35 MPA-36 MPA-75 MPA-77 MPA-88
spoken "revision 2" "$XIW_ASKS / $WITH_CRC AC / empty_write" \
	"$SIW_ASKS - / $WITH_CRC - / send"
perf ib_send_bw 4096 50
perf ib_write_bw 65536 20
perf ib_read_bw 65536 20
perf ib_send_lat 64 50
perf ib_read_lat 4000 50
fenced

# Covers: MPA-76 MPA-83
param peer_to_peer 1
spoken "siw asks for peer to peer" "$XIW_ASKS / $WITH_CRC AC / empty_write" \
	"$SIW_ASKS ACD / $WITH_CRC ACD / empty_write"
perf ib_write_lat 4000 50
messages
policy rtr_types read
spoken "RTR by Read" "$WITH_CRC AD / $WITH_CRC AD / read_request" \
	"$SIW_ASKS ACD / $WITH_CRC AD / read_request"
defaults
policy rtr_types none
spoken "no RTR" "$WITH_CRC - / $WITH_CRC - / send" \
	"$SIW_ASKS - / $WITH_CRC - / send"
defaults

# Covers: MPA-10 MPA-11
policy crc 0
spoken "no CRC" "$NO_CRC ACD / $NO_CRC AC / empty_write" \
	"$NO_CRC - / $NO_CRC - / send"
param mpa_crc_required 1
spoken "CRC for siw's sake" "$NO_CRC ACD / $NO_CRC AC / empty_write" \
	"$WITH_CRC - / $WITH_CRC - / send"
defaults

# Covers: MPA-03 MPA-41
policy revision 1
param mpa_version 1
rev1
defaults
tap_run "siw leaves in short FPDUs' PAD what was there, which xiw ignores" \
	test "$siw_pads" -gt 0

# Features that siw lacks: the connect fails.  Covers: MPA-59
policy markers 1
refused -r "siw sends no Markers: xiw, which asks for them, is refused"
refused "siw sends no Markers: it gives up when xiw's Reply asks for them"
defaults
param mpa_crc_strict 1
refused -r "siw set to take no CRC: xiw, which asks for it, is refused"
refused "siw set to take no CRC: it gives up when xiw's Reply asks for it"
defaults
# Covers: TERM-14
cases -p "siw knows no RFC 7306" xt_plain -a "$NS_B/$B4" -b "$NS_A/$A4"

tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
