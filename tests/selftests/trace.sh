#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
#
# The tracepoints show the states of a connection's endpoints and queue pairs, the sent
# and received messages, Terminates of both directions, and the CPU of completion
# notifications; but neither addresses of memory nor STags.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# traced DESC PATTERN: the claim is that a recorded event matches.
traced()
{
	grep -qE "$2" "$TMP/trace"
	tap_result $? "$1"
}

# fields: prints the names of the fields of all tracepoints, without the common ones.
fields()
{
	cat "$TRACE"/events/xiw/*/format |
		sed -n 's/^\tfield:.*[ *]\(\w*\);\toffset.*/\1/p' |
		grep -v '^common_' | sort -u
}

topo_up
tracing || skip_all "this kernel has no tracepoints"
# "ep" is shown as %p shows it, hashed.
tap_is "the fields of the events are no addresses and no STags" \
	"$(fields | paste -sd ' ')" \
	"bytes code cost cq ep event fetched last len new old opcode payload_len qpn taken ulpdu_len wanted weight"
record pair "rping while events are recorded" \
	"rping -s -v -a $A4 -p @PORT@ -C 3 -S 2000" \
	"rping -c -v -a $A4 -p @PORT@ -C 3 -S 2000"
traced "an endpoint that connects" 'ep_state: .*CONNECTING->REPLY'
traced "an endpoint that is established" 'ep_state: .*->OPEN'
traced "a queue pair that begins" 'qp_state: .*event=connect IDLE->RTS'
traced "a queue pair that ends" 'qp_state: .*->(CLOSING|ERROR)'
traced "trains" 'tx_batch: qpn=[0-9]+ len=[0-9]+ taken=[0-9]+'
traced "FPDUs" 'rx_fpdu: qpn=[0-9]+ opcode=[0-9]+ ulpdu_len=[0-9]+'
# The message of the case waits that long.
policy rnr_timeout_ms 1000
record cases xt_imm "${SIDES4[@]}" -t late
traced "a message that waits for a receive" 'rnr_wait: qpn=[0-9]+$'
traced "and gets one" 'rnr_done: qpn=[0-9]+$'
record cases xt_mem "${SIDES4[@]}" -t mw2-borders
traced "a Terminate that is sent" \
	'terminate_sent: qpn=[0-9]+ layer=[0-9] type=[0-9] code=0x'
traced "a Terminate that is received" \
	'terminate_received: qpn=[0-9]+ layer=[0-9] type=[0-9] code=0x'
record cases xt_queue "${SIDES4[@]}" -t vectors
tap_run "completion vector 1 notifies on CPU 1" notified_on 1 1
traced "completion vector 0 notifies anywhere" 'cq_notify: .*wanted_cpu=-1$'
CPU1=/sys/devices/system/cpu/cpu1/online
echo 0 >"$CPU1"
tap_is "CPU 1 goes offline" "$(cat "$CPU1")" 0
record cases xt_queue "${SIDES4[@]}" -t vectors
tap_run "completion vector 1 notifies on another CPU" notified_on 0 1
echo 1 >"$CPU1"
tap_done
