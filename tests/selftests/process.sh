#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# RDMA in processes that fork, and with mappings of every kind (xt_process, and
# xt_mappings for unusual ones).
#
# User Mode Linux has no secret memory.
# xiw-kernel: stock

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"
cases xt_process "${SIDES4[@]}"
cases xt_mappings "${SIDES4[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
