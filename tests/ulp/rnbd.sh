#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-packages: fio
# xiw-timeout: 500
#
# RNBD over RTRS: a block device over the kernel's own user of Write with
# Immediate. The distribution's kernel does not have it, the debug kernel has.

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

# connected: again, after MORE reconnects than before.
reconnected()
{
	(($(reconnects) > before)) &&
	grep -q connected /sys/class/rtrs-client/xiw/paths/*/state
}

local_up loop rtrs-server rtrs-client
truncate -s 32M "$TMP/disk"
or_bail "no loop device" losetup /dev/loop0 "$TMP/disk"
or_bail "no server" modprobe rnbd-server
or_bail "no client" modprobe rnbd-client
run_claim "a disk is mapped" map_disk
tap_run "the disk appears" wait_for 60 test -b /dev/rnbd0
run_claim "random writes and reads, verified" fio --name=verify \
	--filename=/dev/rnbd0 --size=4M --rw=randwrite --bsrange=4k-64k \
	--ioengine=psync --direct=1 --verify=crc32c --verify_fatal=1 \
	--do_verify=1
moved $((7 << 20))
before=$(reconnects)
kill_connections 1234
tap_run "the session is connected again after its connections broke" \
	wait_for 90 reconnected
run_claim "random writes and reads after that, verified" fio --name=verify \
	--filename=/dev/rnbd0 --size=1M --rw=randwrite --bsrange=4k-64k \
	--ioengine=psync --direct=1 --verify=crc32c --verify_fatal=1 \
	--do_verify=1
echo force >/sys/block/rnbd0/rnbd/unmap_device
tap_run "the disk is unmapped" wait_for 60 disk_gone
losetup -d /dev/loop0
tap_done
