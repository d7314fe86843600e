#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Sessions of DDP over SCTP with a peer made by hand, as active and as passive side, by
# tests/conformance/sctp_sessions.py in xb against xa. sctp-memory.sh has the cases that
# need a kernel with fault injection.
#
# xiw-kernel: uml debug stock
# xiw-timeout: 600

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# Leave out cases that need fault injection, and on the slow KCSAN kernel the one with a
# thousand peers.
left_out=(-x accept_fails -x no_memory -x terminate_later)
[[ $XIW_KERNEL != kcsan ]] || left_out+=(-x many_initiates)
needs_sctp
topo_up
policy sctp_ports "7471 7472 7473"
objects >"$TMP/baseline"
cases "$SELFTESTS/../conformance/sctp_sessions.py" "${SIDES4[@]}" "${left_out[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
