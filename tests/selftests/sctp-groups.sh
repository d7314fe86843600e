#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Memory control groups and connections over SCTP: received data is charged to the group
# of the process. Runs tests/conformance/sctp_groups.py in xb against xa.
#
# xiw-kernel: stock
# xiw-timeout: 400

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

CGROUP=/sys/fs/cgroup/xiw-sctp

needs_sctp
cgroup_up || bail "no control group"
topo_up
policy sctp_ports "7471 7472 7473"
objects >"$TMP/baseline"
cases "$SELFTESTS/../conformance/sctp_groups.py" "${SIDES4[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"
tap_run "no memory is charged to the control group afterwards" \
	wait_for 30 rmdir $CGROUP
tap_done
