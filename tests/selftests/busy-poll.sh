#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Busy-poll work: a process that busy-polls runs work of its streams (xt_busy_poll), and
# without it a work item does.
#
# xiw-kernel: stock debug

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# both COUNTER: prints the sum of the counter on both devices.
both()
{
	echo $(($(counter "$DEV_A" "$1") + $(counter "$DEV_B" "$1")))
}

# missed_at_most N T: the claims are that case T of xt_busy_poll passes, and that work
# posted for a process expired at most N times in the twenty rounds of the case.
missed_at_most()
{
	local missed

	missed=$(both busy_poll_expired)
	cases xt_busy_poll "${SIDES4[@]}" -t "$2"
	missed=$(($(both busy_poll_expired) - missed))
	tap_result $((missed > $1)) "$2: no process ran it, $missed times"
}

topo_up
objects >"$TMP/baseline"

before=$(both busy_poll)
cases xt_busy_poll "${SIDES4[@]}" -t works
times=$(($(both busy_poll) - before))
tap_result $((times <= 0)) "the process ran busy-poll work, $times times"
missed_at_most 0 events
missed_at_most 14 leaves
missed_at_most 14 elsewhere
missed_at_most 20 seldom
cases xt_busy_poll "${SIDES4[@]}" -t sleeps -t crowd -t goes
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
