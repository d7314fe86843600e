#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Processes without privileges send random commands to the device, and changed
# commands of libibverbs (xt_uverbs). The kernel reports no fault (run.sh checks the
# log), limits are enforced, and a connection of other processes continues. Input for
# the driver that this version does not support is refused.
#
# XIW_ROUNDS=N (10): processes of each kind, 400 commands each; from 100 on also
# slow tests: as many objects as the device permits, and a region of 1 TiB.
# XIW_SEED=N: seed, by default a random one, which is printed.
#
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

export XIW_SEED=${XIW_SEED:-$((RANDOM << 15 | RANDOM))}
ROUNDS=${XIW_ROUNDS:-10}
# shellcheck disable=SC2034  # for cases.sh
CASES_TIMEOUT=3500
which=(-t random -t changed -t raced -t memlock -t unknown -t answers \
       -t unanswered -t no-netlink -t import)
((ROUNDS < 100)) || which+=(-t objects -t huge-region)

topo_up
objects >"$TMP/baseline"
tap_note "seed $XIW_SEED"
cases xt_uverbs "${SIDES4[@]}" "${which[@]}" -n "$ROUNDS" -T 3000
cases xt_methods "${SIDES4[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"
tap_run "a connection of others is under load" load_up bystander
tap_run "commands are sent beside it" \
	xt_uverbs "${SIDES4[@]}" -n 2 -t random -t changed
tap_run "the connection of others is still there" load_alive bystander
tap_run "the connection of others ends in order" load_end bystander
tap_objects "nothing is left behind by commands and connection" "$TMP/baseline"

load_stop
tap_done
