#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Work of a stream is offered to a process that spins (xt_spin): it does it, or
# the work is done without it.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# poll_work: of both devices.
poll_work()
{
	echo $(($(counter "$DEV_A" poll_work) + $(counter "$DEV_B" poll_work)))
}

topo_up
objects >"$TMP/baseline"

before=$(poll_work)
cases xt_spin "${SIDES4[@]}" -t works
times=$(($(poll_work) - before))
tap_result $((times <= 0)) "the process did work itself, $times times"
cases xt_spin "${SIDES4[@]}" -t leaves -t sleeps -t goes
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
