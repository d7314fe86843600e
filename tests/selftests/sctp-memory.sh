#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Sessions of DDP over SCTP for which the driver gets no memory, with a peer made by
# hand, by tests/conformance/sctp_sessions.py in xb against xa.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

[[ -e /sys/kernel/debug/failslab ]] ||
	skip_all "this kernel cannot refuse memory"
needs_sctp
topo_up
policy sctp_ports "7471 7472 7473"
objects >"$TMP/baseline"
cases "$SELFTESTS/../conformance/sctp_sessions.py" "${SIDES4[@]}" \
	-t accept_fails -t no_memory -t terminate_later
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
