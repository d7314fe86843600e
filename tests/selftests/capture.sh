#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What is on the wire: atomics and Writes with immediate data are captured and
# taken apart twice, by tshark and octet by octet by tests/conformance/capture.py.
#
# xiw-kernel: stock
# xiw-packages: tshark tcpdump python3
# xiw-timeout: 300

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up

# shark FILE ARGS...: the heuristics of two other protocols on top of RDMA claim
# payload that is not theirs.
shark()
{
	local file=$1

	shift
	tshark -r "$file" --disable-protocol rpcordma \
		--disable-protocol smb_direct "$@" 2>"$TMP/tshark.err"
}

capturing()
{
	grep -q 'listening on' "$TMP/tcpdump.log"
}

# captured FILE CASES-ARGS...: claims as of cases(), whose traffic is kept.
captured()
{
	local file=$1 pid got

	shift
	: >"$TMP/tcpdump.log"
	ip netns exec "$NS_A" tcpdump -i "$VETH_A" -U -B 32768 -s 262144 \
		-Z root -w "$file" tcp 2>"$TMP/tcpdump.log" &
	pid=$!
	wait_for 90 capturing || {
		tap_show "$TMP/tcpdump.log"
		bail "set-up: tcpdump does not capture"
	}
	cases "$@"
	# It writes what it has when told to end.
	kill -INT "$pid"
	wait "$pid"
	got=$(sed -n 's/^\([0-9]*\) packets dropped by kernel$/\1/p' \
		"$TMP/tcpdump.log")
	tap_is "no packet was lost by the capture" "$got" 0
}

# seen NAME: how many of these capture.py counted.
seen()
{
	awk -v n="$1" '$1 == n { print $2 }' "$TMP/messages"
}

# judge WHAT FILE: both decoders find nothing wrong in it.
judge()
{
	local what=$1 file=$2 rc=0

	"$SELFTESTS/../conformance/capture.py" "$file" >"$TMP/messages" 2>&1 ||
		rc=$?
	tap_result "$rc" "$what: every octet is as the RFCs want it"
	((rc == 0)) || tap_show "$TMP/messages"
	tap_is "$what: no frame is malformed for tshark" \
		"$(shark "$file" -Y _ws.malformed | wc -l)" 0
	shark "$file" -O iwarp_mpa >"$TMP/tree"
	tap_is "$what: tshark finds every CRC right" \
		"$(grep -c '(Good CRC32)' "$TMP/tree"), $(grep -c \
		   '(Bad CRC32' "$TMP/tree") bad" "$(seen fpdus), 0 bad"
	tap_is "$what: tshark sees as many FPDUs" \
		"$(shark "$file" -T fields -e iwarp_mpa.ulpdulength |
		   tr ',' '\n' | grep -c .)" "$(seen fpdus)"
}

# opcodes FILE OPCODE: how many of them tshark decoded.
opcodes()
{
	shark "$1" -T fields -e iwarp_rdma.opcode | tr ',' '\n' |
		grep -cix "$2"
}

# Covers: ATOM-01 ATOM-02 ATOM-03 ATOM-04 ATOM-05 ATOM-06 ATOM-13
captured "$TMP/atomic.pcap" xt_atomic "${SIDES4[@]}" -t sums \
	-t read-atomic-read -t among-writes -t shared-slots
judge "atomics" "$TMP/atomic.pcap"
tap_is "13 + 40 + 20 + 128 Atomic Requests were sent" \
	"$(seen atomic_request)" 201
tap_is "all were answered" "$(seen atomic_response)" 201
tap_is "26 of them were CmpSwaps" "$(seen cmp_swap)" 26
tap_is "tshark decodes as many Atomic Requests" \
	"$(opcodes "$TMP/atomic.pcap" 0x0a)" 201
tap_is "and as many Atomic Responses" \
	"$(opcodes "$TMP/atomic.pcap" 0x0b)" 201

# Covers: IMM-03
captured "$TMP/values.pcap" xt_imm "${SIDES4[@]}" -t values
judge "immediate data" "$TMP/values.pcap"
# What the program put into memory as native words, octet by octet.
tap_is "immediate data travels as it is in memory" \
	"$(sed -n 's/^first_imms //p' "$TMP/messages")" \
	"00000000 01000000 00000080 04030201 01020304 ffffffff"

# Covers: IMM-01 IMM-02 IMM-09 IMM-10 IMM-14
captured "$TMP/imm.pcap" xt_imm "${SIDES4[@]}" -t solicited \
	-t gather-inline -t mixed
judge "Writes with immediate" "$TMP/imm.pcap"
tap_is "one was solicited" "$(seen imm_se)" 1
tap_is "the others, 1 + 3 + 32, were not" "$(seen imm)" 36
tap_is "one came behind a Write of nothing" "$(seen imm_of_nothing)" 1

tap_done
