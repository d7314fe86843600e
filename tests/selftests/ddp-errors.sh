#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A peer made by hand sends what DDP and RDMAP forbid, and what they allow but
# no decent peer does: tests/conformance/ddp_errors.py in xb against xa.
#
# xiw-kernel: uml debug
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"
cases "$SELFTESTS/../conformance/ddp_errors.py" "${SIDES4[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
