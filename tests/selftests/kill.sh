#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# SIGKILL of either side, and of both, with several connections under load. Each work
# request of the surviving side completes exactly once, and the kernel frees the objects
# of killed processes soon. A process that is killed while the connection manager waits
# for its peer ends soon, too (xt_stuck).
#
# Covers: TERM-15 TERM-20
# xiw-timeout: 600
# xiw-leaks: a process ends at any moment

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# survivors END: true if the processes of that end exit by themselves, without error.
survivors()
{
	local i

	for i in 1 2 3; do
		load_wait "$1-$i" && load_says "$1-$i" ended || return
	done
}

topo_up
objects >"$TMP/baseline"

cases xt_stuck "${SIDES4[@]}"
tap_objects "nothing is left behind by those that waited" "$TMP/baseline"

tap_run "three connections are under load" load_up 1 2 3
tap_run "the active ends are killed" load_kill active-{1,2,3}
tap_run "the passive ends end in order" survivors passive
tap_objects "nothing is left behind by active ends" "$TMP/baseline"

tap_run "three more connections are under load" load_up 1 2 3
tap_run "the passive ends are killed" load_kill passive-{1,2,3}
tap_run "the active ends end in order" survivors active
tap_objects "nothing is left behind by passive ends" "$TMP/baseline"

tap_run "again three connections are under load" load_up 1 2 3
tap_run "all ends are killed" load_kill {active,passive}-{1,2,3}
tap_objects "nothing is left behind by either" "$TMP/baseline"

tap_run "a new connection works" load_up after
tap_run "the new connection ends" load_end after
load_stop
tap_done
