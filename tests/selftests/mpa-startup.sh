#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A hand-made peer connects to a listener: valid and invalid MPA startup frames,
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
