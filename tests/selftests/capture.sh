#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What is on the wire: each form of startup and each kind of message is captured
# and taken apart twice, byte by byte by tests/conformance/capture.py and by
# tshark, which must find nothing malformed and the same segments.
#
# xiw-kernel: uml
# xiw-packages: tshark tcpdump ethtool python3
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"
. "$(dirname "$0")/wire.sh"

# shark FILE ARGS...: runs tshark on the capture, without dissectors that guess the
# protocol of the payload.
shark()
{
	local file=$1

	shift
	tshark -r "$file" --disable-heuristic rpcrdma_iwarp \
		--disable-heuristic smb_direct_iwarp "$@" 2>"$TMP/tshark.err"
}

# judge WHAT FILE: the claim is that neither program finds an error in the capture.
judge()
{
	local what=$1 file=$2

	tap_run "$what: every byte is as the RFCs require" take_apart "$file"
	shark "$file" -T fields -e iwarp_mpa.rev -e iwarp_rdma.opcode \
		-e _ws.malformed -e _ws.expert.severity -e frame.number \
		>"$TMP/fields"
	well_formed "$what: no frame is malformed or in error for tshark"
	tap_is "$what: tshark sees the same startup frames" \
		"$(cut -f 1 "$TMP/fields" | grep -c .)" "$(seen startup_frames)"
}

# same WHAT: the claim is that tshark and capture.py count the same number of segments
# of each opcode.
same()
{
	cut -f 2 "$TMP/fields" | tr ',' '\n' | grep . | sort | uniq -c |
		awk '{ print "opcode_" $2, $1 }' >"$TMP/opcodes"
	tap_is "$1: tshark sees the same segments" \
		"$(paste -sd' ' "$TMP/opcodes")" \
		"$(grep '^opcode_' "$TMP/messages" | paste -sd' ')"
}

# said WHAT EXPECTED: the claim is that the capture has these startup frames in this
# order. Repeated lines are ignored, as pair may run a program twice.
said()
{
	startups | uniq | diff - <(printf '%s\n' "$2" | uniq) >"$TMP/diff"
	tap_result $? "$1: the startup frames are those"
	tap_show "$TMP/diff"
}

# talk WHAT: runs programs that send Sends, Reads and Writes of several segments.
talk()
{
	pair "$1: rping" "rping -s -V -a $A4 -p @PORT@ -C 3 -S 3000" \
		"rping -c -V -a $A4 -p @PORT@ -C 3 -S 3000"
}

REV2="rev2 -C-S pd0 ird1 ord1"		# what rping asks for
FULL="rev2 -C-S pd0 ird4 ord4 ACD"	# what the programs here ask for

topo_up
plain_segments

# Covers: MPA-02 MPA-05 MPA-09 MPA-35 MPA-36 MPA-58 MPA-77 MPA-88
policy fpdu_segments 1
capture_start "$TMP/startup.pcap"
talk_variants "revision 1"
policy crc 0
talk "no CRC"
policy crc 1
cases xt_conn "${SIDES4[@]}" -t reject
cases "$SELFTESTS/../conformance/mpa_connect.py" "${SIDES4[@]}" -t fallback
capture_stop
policy fpdu_segments 0
judge "startup" "$TMP/startup.pcap"
same "startup"
# Covers: MPA-17 MPA-22
tap_is "startup: no FPDU straddles two TCP segments" "$(seen straddling)" 0
said "startup" "$(cat <<END
$REV2 ACD / $REV2 ACD / empty_write
$REV2 AD / $REV2 AD / read_request
$REV2 AB / $REV2 AB / empty_send
$REV2 - / $REV2 - / send
rev1 -C-- pd0 / rev1 -C-- pd0 / send
rev2 ---S pd0 ird1 ord1 ACD / rev2 ---S pd0 ird1 ord1 ACD / empty_write
$(for size in 0 1 4 255; do
	echo "$FULL / rev2 -CRS pd$size ird128 ord4 ACD / nothing"
	echo "$FULL / $FULL / empty_write"
done)
rev1 -C-- pd0 / rev1 -C-- pd0 / send
$FULL / closed after 0
$FULL / closed after 0
rev1 -C-- pd0 / rev1 -C-- pd0 / nothing
$FULL / closed after 1
END
)"

# Covers: MPA-25 MPA-27
capture_start "$TMP/markers.pcap"
policy markers 1
talk "Markers both ways"
policy markers 0
capture_stop
# tshark does not follow FPDUs with Markers from one TCP segment to the next.
judge "Markers" "$TMP/markers.pcap"
tap_is "Markers: full operation has some" \
	"$(($(seen markers) > 10))" 1
said "Markers" \
	"rev2 MC-S pd0 ird1 ord1 ACD / rev2 MC-S pd0 ird1 ord1 ACD / empty_write"

# Covers: ATOM-01 ATOM-02 ATOM-03 ATOM-04 ATOM-05 ATOM-06 ATOM-13
capture_start "$TMP/atomic.pcap"
cases xt_atomic "${SIDES4[@]}" -t sums -t among-writes
capture_stop
judge "atomics" "$TMP/atomic.pcap"
same "atomics"

# Covers: IMM-01 IMM-02 IMM-03 IMM-09 IMM-10 IMM-14
capture_start "$TMP/imm.pcap"
cases xt_imm "${SIDES4[@]}" -t values -t solicited -t gather-inline
capture_stop
judge "immediate data" "$TMP/imm.pcap"
same "immediate data"
# The program stored native words in memory; compare their bytes.
tap_is "immediate data travels as it is in memory" \
	"$(sed -n 's/^first_imms //p' "$TMP/messages")" \
	"00000000 01000000 00000080 04030201 01020304 ffffffff"

tap_done
