#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Hundreds of queue pairs are connected by number at once, and destroyed at once: by
# calls of their process, or by its end, at any time.
#
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

MANY=500
KILLS=2

many()
{
	exec xt_many number "$MANY" "$1" "$NS_A/$A4" "$NS_B/$B4"
}

at_once()
{
	(many 1) | tee "$TMP/many.log"
	[[ ${PIPESTATUS[0]} == 0 && $(wc -l <"$TMP/many.log") == 1 ]]
}

# queue_pairs N: true if the program has at least N queue pairs.
queue_pairs()
{
	(($(rdma resource show qp | grep -c xt_many) >= $1))
}

# killed: kills the program at a random time, while it creates, connects or destroys
# queue pairs.
killed()
{
	local many

	many 1000 >"$TMP/many.log" 2>&1 </dev/null &
	many=$!
	wait_for 60 queue_pairs $((RANDOM % (2 * MANY - 100))) || return
	sleep "$((RANDOM % 3)).$((RANDOM % 10))"
	kill -9 "$many"
	wait "$many"
	(($? == 137))
}

topo_up
tap_run "the addresses of the interfaces are GIDs" wait_for 20 have_gids
objects >"$TMP/baseline"
tap_run "$MANY connections at once, with a message each way" at_once
tap_note "make, connect, tear down, in ms: $(cut -d' ' -f 2- "$TMP/many.log")"
tap_objects "nothing is left behind" "$TMP/baseline"
for ((n = 1; n <= KILLS; n++)); do
	tap_run "killed in the middle, $n" killed
	tap_objects "nothing is left behind" "$TMP/baseline"
done
tap_run "after the kill, $MANY connections at once" at_once
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
