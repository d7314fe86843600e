#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Storage hosts: how they end connections, and connect again from the same port
# (xt_source).
#
# xiw-kernel: uml debug

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"
cases -p IPv4 xt_source "${SIDES4[@]}"
cases -p IPv6 xt_source "${SIDES6[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
