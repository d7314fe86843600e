#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A host with a device on each of two networks, each of which names the address of the
# other one in sctp_addresses: a server that listens everywhere is reached through both,
# by connections with two paths. When one of the devices goes, the other one still
# serves its own address. An address that another program has is an error. Then both
# interfaces are in a VRF.
#
# Covers: SCTP-32 SCTP-33
# xiw-kernel: uml debug

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

PORT=7471
OTHER4=10.78.0.1
PATHS="$A4 $OTHER4"

# devices: adds a second network, with a device at both ends.
devices()
{
	second_network &&
	link_add "$NS_A" "${DEV_A}2" va2 && link_add "$NS_B" "${DEV_B}2" vb2
}

name_each_other()
{
	local dev

	for dev in "$DEV_A" "$DEV_B" "${DEV_A}2" "${DEV_B}2"; do
		policy_of "$dev" sctp_ports "$PORT" || return
	done
	policy_of "$DEV_A" sctp_addresses "$OTHER4" &&
	policy_of "${DEV_A}2" sctp_addresses "$A4"
}

# refused ADDRESS: true if a server on all addresses fails while another program, which
# does not use xiw, listens on SCTP at ADDRESS.
refused()
{
	local rc=0

	start_server foreign "$NS_A" python3 -c "
import socket, signal
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132) as sock:
    sock.bind(('$1', $PORT))
    sock.listen()
    signal.pause()"
	wait_for 10 listens "$1" || rc=1
	in_ns "$NS_A" timeout 10 rping -s -p "$PORT" >"$TMP/refused.log" 2>&1 \
		</dev/null && rc=1
	grep -q 'in use' "$TMP/refused.log" || rc=1
	stop_server foreign
	return "$rc"
}

enslaved()
{
	ip -n "$NS_A" link add red type vrf table 77 &&
	ip -n "$NS_A" link set red up &&
	ip -n "$NS_A" link set "$VETH_A" master red &&
	ip -n "$NS_A" link set va2 master red
}

name_both()
{
	policy_of "$DEV_A" sctp_ports "$PORT" &&
	policy_of "$DEV_A" sctp_addresses "$OTHER4" &&
	policy_of "$DEV_B" sctp_addresses 10.78.0.2
}

# listens ADDRESS...: true if SCTP in xa listens at all of these addresses.
listens()
{
	local address

	for address; do
		in_ns "$NS_A" grep -q " $PORT .* $address " /proc/net/sctp/eps ||
			return
	done
}

# served ADDRESS DEVICE: true if DEVICE, in xa, accepts a connection to ADDRESS.
served()
{
	local before

	before=$(counter "$2" connections_passive)
	in_ns "$NS_B" rping -c -V -a "$1" -p "$PORT" -C 5 &&
		(($(counter "$2" connections_passive) == before + 1))
}

needs_sctp
topo_up
tap_run "two networks with devices" devices
tap_run "the devices name each other's address" name_each_other
start_server wildcard "$NS_A" rping -s -P -p "$PORT"
# shellcheck disable=SC2086  # words
tap_run "a server listens at both addresses" wait_for 10 listens $PATHS
tap_run "the first device serves its address" served "$A4" "$DEV_A"
tap_run "the second one its own" served "$OTHER4" "${DEV_A}2"
tap_run "the first device is removed" link_del "$DEV_A"
tap_run "there is a listener at the other address" wait_for 10 listens "$OTHER4"
tap_run "by which the second device serves it" \
	served "$OTHER4" "${DEV_A}2"
stop_server wildcard
tap_run "the first device is there again" link_add "$NS_A" "$DEV_A" "$VETH_A"
tap_run "the devices name each other's address again" name_each_other
for address in $PATHS; do
	tap_run "a server is refused $address, where another program listens" \
		refused "$address"
done
link_del "${DEV_A}2"
link_del "${DEV_B}2"
objects >"$TMP/baseline"

tap_run "the interfaces of A are in a VRF" enslaved
tap_run "the device names both of its addresses" name_both
start_server vrf "$NS_A" rping -s -P -a "$A4" -p "$PORT"
tap_run "a server listens in the VRF" wait_for 10 listens "$A4" "$OTHER4"
start_server client "$NS_B" rping -c -V -a "$A4" -p "$PORT" -C 1000000
tap_run "SCTP can use the first path" wait_for 60 path_works "$A4"
tap_run "and the second one" wait_for 60 path_works "$OTHER4"
stop_server client
stop_server vrf
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
