#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The verbs as a program sees them: data of all sizes (xt_verbs), order,
# completions, events, shared receive queues and limits (xt_queue), access
# violations and what they may not disturb (xt_access), the ends of queue pairs
# (xt_life).
#
# Covers: DDP-13 DDP-26
# Covers: RDMAP-08 RDMAP-09 RDMAP-14 RDMAP-15 RDMAP-16 RDMAP-17 RDMAP-22
# Covers: RDMAP-24 RDMAP-25 RDMAP-26 RDMAP-36 RDMAP-39
# Covers: TERM-14 TERM-15 TERM-17
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"

cases xt_verbs "${SIDES4[@]}"
# The case srq-slow takes 8/3 of it.
policy rnr_timeout_ms 1000
cases xt_queue "${SIDES4[@]}"
cases xt_access "${SIDES4[@]}"
cases xt_life "${SIDES4[@]}"
cases -p IPv6 xt_verbs "${SIDES6[@]}" -t send-sizes -t mixed
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
