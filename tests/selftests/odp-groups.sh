#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Memory control groups and regions on demand (xt_odp_group).
#
# xiw-kernel: stock

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

CGROUP=/sys/fs/cgroup/xiw-odp
export XT_GROUP=$CGROUP

cgroup_up || bail "no control group"
topo_up
objects >"$TMP/baseline"
echo $$ >$CGROUP/cgroup.procs || bail "no control group"
cases xt_odp_group "${SIDES4[@]}"
echo $$ >${CGROUP%/*}/cgroup.procs
tap_objects "nothing is left behind" "$TMP/baseline"
tap_run "no memory is charged to the control group afterwards" \
	wait_for 30 rmdir $CGROUP
tap_done
