#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Regions on demand: their pages are faulted in when they are needed (xt_odp).
#
# xiw-kernel: uml debug

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"
cases xt_odp "${SIDES4[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
