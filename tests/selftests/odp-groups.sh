#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Memory control groups and regions on demand (xt_odp_group).
#
# xiw-kernel: stock

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

CGROUP=/sys/fs/cgroup
export XT_GROUP=$CGROUP/xiw-odp

[[ -e $CGROUP/cgroup.procs ]] || mount -t cgroup2 cgroup2 $CGROUP
echo +memory >$CGROUP/cgroup.subtree_control || bail "no control group"
topo_up
objects >"$TMP/baseline"
mkdir $XT_GROUP
echo $$ >$XT_GROUP/cgroup.procs || bail "no control group"
cases xt_odp_group "${SIDES4[@]}"
echo $$ >$CGROUP/cgroup.procs
tap_objects "nothing is left behind" "$TMP/baseline"
tap_run "no memory is charged to the control group afterwards" \
	wait_for 30 rmdir $XT_GROUP
tap_done
