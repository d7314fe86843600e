#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Completion queues that are resized, regions that are registered again and windows
# that are invalidated while data arrives, and shared receive queues that are destroyed
# with an event under way.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"
cases xt_churn "${SIDES4[@]}"
policy fpdu_segments 1
cases -p "FPDUs of one segment" xt_churn "${SIDES4[@]}" -t rereg -t invalidate
policy fpdu_segments 0
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
