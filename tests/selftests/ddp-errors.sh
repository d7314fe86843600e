#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A hand-made peer sends messages that DDP and RDMAP forbid, and some that they permit
# but no other implementation sends: tests/conformance/ddp_errors.py in xb against xa.
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
