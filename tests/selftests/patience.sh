#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A peer that has no room for minutes, but answers TCP's probes, is waited for
# (xt_patient).
#
# xiw-long: it waits for more than a minute
# xiw-kernel: stock debug

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"
policy late_receive_ms 600000
cases xt_patient "${SIDES4[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
