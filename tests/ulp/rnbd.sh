#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: fio
# xiw-ulps: rnbd
#
# RNBD over RTRS: a block device over the kernel's own user of Write with
# Immediate. Its server registers a new key for each request and sends it by Send
# with Immediate, unless its always_invalidate is N, as other peers need it.

. "$(dirname "$0")/lib.sh"

CTL=/sys/class/rnbd-client/ctl

topo_down()
{
	for disk in /sys/block/rnbd*; do
		[[ ! -e $disk ]] || echo force >"$disk/rnbd/unmap_device"
	done
	wait_for 20 disk_gone
	modprobe -r rnbd-client rnbd-server rtrs-client rtrs-server
	local_down
}

disk_gone()
{
	[[ ! -e /sys/block/rnbd0 ]]
}

map_disk()
{
	echo "sessname=xiw path=ip:$L4 device_path=/dev/loop0 access_mode=rw" \
		>"$CTL/map_device"
}

reconnects()
{
	cat /sys/class/rtrs-client/xiw/paths/*/stats/reconnects | cut -d ' ' -f 1
}

# reconnected: true if the client has reconnected since $before, and is connected.
reconnected()
{
	(($(reconnects) > before)) &&
	grep -q connected /sys/class/rtrs-client/xiw/paths/*/state
}

local_up loop
truncate -s 32M "$TMP/disk"
or_bail "no loop device" losetup /dev/loop0 "$TMP/disk"
if [[ $XIW_LINK_TYPE == siw ]]; then
	or_bail "no transport" modprobe rtrs-server always_invalidate=N
else
	or_bail "no transport" modprobe rtrs-server
fi
or_bail "no server" modprobe rnbd-server
or_bail "no client" modprobe rnbd-client
run_claim "a disk is mapped" map_disk
tap_run "the disk appears" wait_for 60 test -b /dev/rnbd0
fio_verify "random writes and reads, verified" /dev/rnbd0 16M
fio_verify "small blocks of two processes, verified" /dev/rnbd0 2M \
	--bsrange=512-4k --numjobs=2 --offset_increment=4M
moved $((32 << 20))
before=$(reconnects)
kill_connections 1234
tap_run "the session is connected again after its connections broke" \
	wait_for 90 reconnected
fio_verify "random writes and reads after that, verified" /dev/rnbd0 4M
echo force >/sys/block/rnbd0/rnbd/unmap_device
tap_run "the disk is unmapped" wait_for 60 disk_gone
losetup -d /dev/loop0
tap_done
