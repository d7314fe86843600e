#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Startup in both roles once more, over IPv6: what mpa-startup.sh and
# mpa-connect.sh do over IPv4, but for the case in which memory is refused, which
# this kernel cannot do.
#
# xiw-kernel: uml
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"
cases -p IPv6 "$SELFTESTS/../conformance/mpa_startup.py" "${SIDES6[@]}"
cases -p IPv6 "$SELFTESTS/../conformance/mpa_connect.py" "${SIDES6[@]}" \
	-x no_memory
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
