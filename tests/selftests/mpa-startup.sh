#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A peer made by hand connects to a listener: MPA startup frames good and bad,
# negotiation, first FPDUs, framing, silence and sudden ends, by
# tests/conformance/mpa_startup.py in xb against xa.
#
# xiw-timeout: 900
# xiw-leaks: startup ends at every byte

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"
cases "$SELFTESTS/../conformance/mpa_startup.py" "${SIDES4[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
