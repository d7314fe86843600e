#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Threads of a process connect queue pairs by number, in random order (xt_anyhow):
# undisturbed, killed while they run, and while their devices are removed and added.
#
# xiw-long: calls at random, for a time
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

ROUNDS=3

# anyhow SECONDS: starts xt_anyhow in the background, without a wrapper, so that the test
# can kill the process, and waits until it runs.
anyhow()
{
	start_here anyhow xt_anyhow "$NS_A/$A4" "$NS_B/$B4" "$1"
	wait_for 30 server_says running anyhow
}

killed()
{
	anyhow 60 || return
	sleep "0.$((RANDOM % 10))"
	kill -9 "${server_pid[anyhow]}"
	wait_server anyhow
	(($? == 137))
}

devices_go()
{
	anyhow 60 || return
	sleep "0.$((RANDOM % 10))"
	timeout 60 rdma link del "$DEV_A" && timeout 60 rdma link del "$DEV_B" ||
		return
	kill -9 "${server_pid[anyhow]}"
	wait_server anyhow
	links_up
	wait_for 20 have_gids
}

topo_up
tap_run "the addresses of the interfaces are GIDs" wait_for 20 have_gids
objects >"$TMP/baseline"
tap_run "random calls for 20 s, and then a connection" \
	xt_anyhow "$NS_A/$A4" "$NS_B/$B4" 20
for ((n = 1; n <= ROUNDS; n++)); do
	tap_run "killed in the middle, $n" killed
done
for ((n = 1; n <= ROUNDS; n++)); do
	tap_run "the devices are removed in the middle, $n" devices_go
done
tap_run "random calls for 5 s, and then a connection" \
	xt_anyhow "$NS_A/$A4" "$NS_B/$B4" 5
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
