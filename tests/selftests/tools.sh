#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The programs in tools/ that examine a running host: slow connections, waits for
# receives, causes of ended connections.
#
# xiw-kernel: stock
# xiw-packages: bpftrace

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"
TOOLS=$XIW_TOP/tools

# look TOOL...: runs a tool, which runs $late; its output is in $TMP/said.
look()
{
	local rc=0

	timeout -k 5 300 "$@" >"$TMP/said" 2>"$TMP/errors" || rc=$?
	tap_result $rc "$(basename "$1") ends with its command"
	((rc == 0)) || tap_show "$TMP/errors"
}

# says PATTERN DESC: the claim is that a line of the tool's output matches.
says()
{
	grep -qE "$1" "$TMP/said"
	tap_result $? "$2"
	grep -qE "$1" "$TMP/said" || tap_show "$TMP/said"
}

topo_up
tracing || skip_all "this kernel has no tracepoints"
# A program whose message waits for a receive; it enters the namespaces itself.
late="$(type -P xt_imm) ${SIDES4[*]} -t late"
policy rnr_timeout_ms 1000

look bpftrace -c "$late" "$TOOLS/xiw-slow.bt"
says '^@sent_bytes\[[0-9]+\]: [1-9]' "xiw-slow.bt: bytes sent per queue pair"
says '^@received_bytes\[[0-9]+\]: [1-9]' "  and received"
says '^@rnr_wait_us\[[0-9]+\]: [1-9]' "  and waited for a receive"

look bpftrace -c "$late" "$TOOLS/xiw-stalls.bt"
says '^@waits\[[0-9]+\]: [1-9]' "xiw-stalls.bt: waits per queue pair"
says '^@longest_us\[[0-9]+\]: [1-9]' "  and for how long"
says '^queue pair [0-9]+: ended, no receive for [0-9]+ ms' \
	"  and the connection that ended for lack of a receive"

look "$TOOLS/xiw-ends" -c "$late"
says 'queue pair [0-9]+: this side found a fault' "xiw-ends: the side that found a fault"
says 'queue pair [0-9]+: Terminate 0x1202 sent' \
	"  and the Terminate that it sent"
says 'queue pair [0-9]+: the peer found a fault' "xiw-ends: the other side"
says 'queue pair [0-9]+: Terminate 0x1202 received' \
	"  and the Terminate that it received"
tap_is "xiw-ends leaves no trace instance" \
	"$(find "$TRACE/instances" -mindepth 1 -maxdepth 1 -name 'xiw*')" ""
tap_done
