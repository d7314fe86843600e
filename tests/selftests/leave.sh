#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# All data of completed requests is delivered, however the sender ends the connection
# afterwards (xt_leave). The network is slow, so that most of the data is in TCP's send
# buffer at the end. A peer that reads nothing delays neither the end of the process nor
# that of the device.
#
# Covers: TERM-21
# xiw-timeout: 900
# xiw-kernel: uml debug

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# lingers STATE: true if the process has ended, and its connection is in this TCP state.
lingers()
{
	ip netns exec "$NS_B" ss -tnHo state "$1" | grep -v timewait | grep -q .
}

# room BYTES: limits the receive buffer of the peer that reads nothing.
room()
{
	ip netns exec "$NS_A" sysctl -qw "net.ipv4.tcp_rmem=4096 $1 $1"
}

# removed STATE ROOM: true if a connection that lingers in that TCP state ends when its
# device is deleted. ROOM: the receive buffer with which it lingers in that state.
removed()
{
	local pid

	room "$2" || return
	xt_leave "${SIDES4[@]}" -t stalled &
	pid=$!
	wait_for 30 lingers "$1" || return
	within link_del "$DEV_B" && wait_for 10 not_running "$pid" && wait "$pid"
}

topo_up
objects >"$TMP/baseline"
policy rnr_timeout_ms 600000
netem "$NS_A" "$VETH_A" rate 40mbit limit 10000
netem "$NS_B" "$VETH_B" rate 40mbit limit 10000

cases xt_leave "${SIDES4[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"
tap_run "the removal of the device ends a connection with data to be sent" \
	removed fin-wait-1 65536
tap_run "there is a device again" link_add "$NS_B" "$DEV_B" "$VETH_B"
tap_run "the removal of the device ends a connection that waits for the peer's FIN" \
	removed fin-wait-2 1048576
tap_done
