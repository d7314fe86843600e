#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The device connects to a hand-made peer: Requests of the device, valid and invalid
# Replies, RTR, negotiation, Markers, silence and sudden ends, by
# tests/conformance/mpa_connect.py in xb against xa.
#
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"
cases "$SELFTESTS/../conformance/mpa_connect.py" "${SIDES4[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
