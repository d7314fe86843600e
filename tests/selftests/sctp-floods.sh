#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Peers that try to use up the resources of a listener of DDP over SCTP:
# tests/conformance/sctp_floods.py in xb against xa.
#
# xiw-kernel: uml debug
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

needs_sctp
topo_up
policy sctp_ports "7471 7472"
objects >"$TMP/baseline"
cases "$SELFTESTS/../conformance/sctp_floods.py" "${SIDES4[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
