#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A page fault of a region on demand that is never answered, as the file system is
# frozen: other processes are not disturbed, the process can be killed, and the
# devices can be removed. Only unloading the module waits for the fault.
#
# xiw-kernel: stock

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

modprobe -q loop
modprobe -q ext4
{
	truncate -s 16M "$TMP/image" && mkfs.ext4 -q "$TMP/image" &&
	mkdir "$TMP/mount" && mount -o loop "$TMP/image" "$TMP/mount"
} || skip_all "no file system that can be frozen"
head -c 65536 /dev/zero >"$TMP/mount/file"
sync "$TMP/mount/file"
topo_up

# faults: the kernel waits for the file system to handle a fault.
faults()
{
	cat /proc/[0-9]*/stack 2>/dev/null | grep -q page_mkwrite
}

no_faults()
{
	! faults
}

fsfreeze -f "$TMP/mount" || bail "set-up: the file system cannot be frozen"
xt_odp_stuck "$TMP/mount/file" "$NS_A/$A4" "$NS_B/$B4" >"$TMP/stuck" 2>&1 &
stuck=$!
tap_run "a receive waits for its page" wait_for "$XIW_TIMEOUT" grep -q waits \
	"$TMP/stuck"
tap_run "the fault sleeps" wait_for 30 faults
cases -p "another process" xt_odp "${SIDES4[@]}" -t send -t rdma -t atomic -t advise
XT_FILE=$TMP/mount/file cases -p "many faults" xt_odp_users "${SIDES4[@]}"
tap_run "the process still waits" kill -0 "$stuck"
kill -9 "$stuck"
tap_run "the process can be killed" wait_for "$BOUND" not_running "$stuck"
tap_run "its fault still sleeps" faults
tap_run "the first device can be removed" within link_del "$DEV_A"
tap_run "the second device can be removed" within link_del "$DEV_B"
tap_run_not "the module cannot be unloaded" modprobe -r "$XIW_LINK_TYPE"
fsfreeze -u "$TMP/mount"
tap_run "the fault ends" wait_for 30 no_faults
tap_run "the module can be unloaded" wait_for 30 modprobe -r "$XIW_LINK_TYPE"
umount "$TMP/mount"
tap_done
