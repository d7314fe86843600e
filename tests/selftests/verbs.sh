#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The verbs as a program sees them: data of all sizes (xt_verbs), order,
# completions, events, shared receive queues and limits (xt_queue), access
# violations and what they may not disturb (xt_access).
#
# Covers: DDP-13 DDP-21 DDP-22 DDP-23 DDP-24 DDP-25 DDP-26
# xiw-timeout: 300

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"

cases xt_verbs "${SIDES4[@]}"
cases xt_queue "${SIDES4[@]}"
cases xt_access "${SIDES4[@]}"
cases -p IPv6 xt_verbs "${SIDES6[@]}" -t send-sizes -t mixed
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
