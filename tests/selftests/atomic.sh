#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Atomics, over the verbs (xt_atomic) and with perftest.
#
# xiw-kernel: uml debug
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"

# Results, where the old value is placed, and fields of the completion.
# Covers: ATOM-07 ATOM-09 ATOM-11 ATOM-12 ATOM-24
cases xt_atomic "${SIDES4[@]}" -t attributes -t sums -t places -t iova

# Order among requests and Writes.
# Covers: ATOM-03 ATOM-21 ATOM-22
cases xt_atomic "${SIDES4[@]}" -t read-atomic-read -t among-writes \
	-t pipeline -t shared-slots

# Contention over many connections, in both directions, and with processors.
# Covers: ATOM-19
cases xt_atomic "${SIDES4[@]}" -t contention -n "${XIW_ROUNDS:-100}"

# Covers: ATOM-20
cases xt_atomic "${SIDES4[@]}" -t lock -n "${XIW_LOCK_ROUNDS:-10}"

# Covers: ATOM-14
cases xt_atomic "${SIDES4[@]}" -t unaligned -t in-line

# Covers: ATOM-16
cases xt_atomic "${SIDES4[@]}" -t right -t only-right

# Covers: ATOM-17
cases xt_atomic "${SIDES4[@]}" -t key -t outside -t pd

# Atomics that the own device refuses, before anything is sent.
cases xt_atomic "${SIDES4[@]}" -t local -t posts

cases -p IPv6 xt_atomic "${SIDES6[@]}" -t sums -t pipeline

for type in FETCH_AND_ADD CMP_AND_SWAP; do
	pair "ib_atomic_bw, $type" \
		"ib_atomic_bw -R -A $type -n 50 -p @PORT@" \
		"ib_atomic_bw -R -A $type -n 50 -p @PORT@ $A4"
	pair "ib_atomic_lat, $type" \
		"ib_atomic_lat -R -A $type -n 20 -p @PORT@" \
		"ib_atomic_lat -R -A $type -n 20 -p @PORT@ $A4"
done
pair "ib_atomic_bw over four connections, in both directions" \
	"ib_atomic_bw -R -b -q 4 -n 20 -p @PORT@" \
	"ib_atomic_bw -R -b -q 4 -n 20 -p @PORT@ $A4"

tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
