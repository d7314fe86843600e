#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
#
# The tracepoints tell the life of a connection: states of its endpoints and
# queue pairs, what is sent and received, and Terminates of both directions.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

TRACE=/sys/kernel/tracing

# traced DESC PATTERN: some event since the mark looks like that.
traced()
{
	grep -qE "$2" "$TMP/trace"
	tap_result $? "$1"
}

# record CMD...: the events while it runs, in $TMP/trace.
record()
{
	echo >$TRACE/trace
	echo 1 >$TRACE/events/xiw/enable
	"$@"
	echo 0 >$TRACE/events/xiw/enable
	cat $TRACE/trace >"$TMP/trace"
}

topo_up
[[ -d $TRACE/events ]] || mount -t tracefs tracefs $TRACE
[[ -d $TRACE/events/xiw ]] || skip_all "this kernel has no tracepoints"
record pair "rping while events are recorded" \
	"rping -s -v -a $A4 -p @PORT@ -C 3 -S 2000" \
	"rping -c -v -a $A4 -p @PORT@ -C 3 -S 2000"
traced "an endpoint that connects" 'ep_state: .*CONNECTING->REPLY'
traced "an endpoint that is established" 'ep_state: .*->OPEN'
traced "a queue pair that begins" 'qp_state: .*event=connect IDLE->RTS'
traced "a queue pair that ends" 'qp_state: .*->(CLOSING|ERROR)'
traced "trains" 'tx_train: qpn=[0-9]+ len=[0-9]+ taken=[0-9]+'
traced "FPDUs" 'rx_fpdu: qpn=[0-9]+ opcode=[0-9]+ ulpdu_len=[0-9]+'
record cases xt_mem "${SIDES4[@]}" -t mw2-borders
traced "a Terminate that is sent" \
	'terminate_sent: qpn=[0-9]+ layer=[0-9] type=[0-9] code=0x'
traced "a Terminate that is received" \
	'terminate_received: qpn=[0-9]+ layer=[0-9] type=[0-9] code=0x'
tap_done
