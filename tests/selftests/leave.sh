#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What completed is delivered, however the connection ends afterwards (xt_leave):
# over a slow network, so that most of it is in TCP's send buffer at the end.  And a
# peer that takes nothing holds up neither the process nor the device.
#
# Covers: TERM-21
# xiw-timeout: 900
# xiw-kernel: uml debug

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# lingers: the process has ended, and its connection exists.
lingers()
{
	ip netns exec "$NS_B" ss -tnH state fin-wait-1 | grep -q .
}

# removed: lingering connections end with their device.
removed()
{
	local pid

	xt_leave "${SIDES4[@]}" -t stalled &
	pid=$!
	wait_for 30 lingers || return
	within link_del "$DEV_B" && wait_for 10 not_running "$pid" && wait "$pid"
}

topo_up
objects >"$TMP/baseline"
policy rnr_timeout_ms 600000
netem "$NS_A" "$VETH_A" rate 40mbit limit 10000
netem "$NS_B" "$VETH_B" rate 40mbit limit 10000

cases xt_leave "${SIDES4[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"
tap_run "the removal of the device ends what lingers" removed
tap_done
