#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: nvme-cli fio
#
# NVMe over Fabrics: target and host in the kernel, both on our device. Fast
# registrations with Send with Invalidate, RDMA Reads and Writes by the
# target, small writes carried in the command, and a host that reconnects when
# its connections break.

. "$(dirname "$0")/lib.sh"

NQN=xiw-nvme
SIZE=48M

topo_down()
{
	timeout 30 nvme disconnect -n "$NQN"
	[[ ! -d $CONFIGFS/nvmet/ports/1 ]] || nvme_target_down "$NQN"
	local_down
	modprobe -r nvme-rdma nvmet-rdma nvmet brd
}

# host_is STATE: true if the host's first controller has that state.
host_is()
{
	[[ $(cat /sys/class/nvme/nvme0/state) == "$1" ]]
}

reconnected()
{
	connected 4420 && host_is live
}

moderated()
{
	rdma -d resource show cq | grep "^dev $DEV_L\|^link $DEV_L" |
		grep "adaptive-moderation on"
}

local_up nvmet nvmet-rdma nvme-rdma
configfs_up
or_bail "no RAM disk" modprobe brd rd_nr=1 rd_size=65536
or_bail "no target" nvme_target_up "$NQN"
# Enable adaptive moderation before the first connection: NVMe takes its completion
# queues from a pool of the device, which never frees them.
tap_run "adaptive moderation can be switched on" \
	rdma dev set "$DEV_L" adaptive-moderation on
tap_run "the host connects" timeout 60 nvme connect -t rdma -a "$L4" -s 4420 \
	-n $NQN -i 2 -c 1 -l 60
tap_run "the disk appears" wait_for 20 test -b /dev/nvme0n1
fio_verify "random writes and reads, verified" /dev/nvme0n1 $SIZE
tap_run "there are events to be recorded" tracing
record fio_verify "small blocks on both queues, verified" /dev/nvme0n1 4M \
	--bsrange=512-4k --numjobs=2 --offset_increment=4M
tap_run "the second queue's completions are handled on CPU 1" notified_on 1 1
moved $((96 << 20))
tap_run "the completion queues are moderated" moderated

# Requests that were under way are repeated on the new connections.
disk_loses /dev/nvme0n1 $SIZE 4420

tap_run "a controller reset is survived" timeout 60 nvme reset /dev/nvme0
tap_run "the host is connected again" wait_for 60 reconnected
fio_verify "random writes and reads after it, verified" /dev/nvme0n1 8M

tap_run "the host disconnects" timeout 60 nvme disconnect -n "$NQN"
tap_run "the host connects again" timeout 60 nvme connect -t rdma -a "$L4" \
	-s 4420 -n $NQN -i 2 -c 1 -l 5
wait_for 20 test -b /dev/nvme0n1
tap_run "the device can be removed under both" timeout 60 rdma link del "$DEV_L"
tap_run "the device is gone" dev_gone "$DEV_L"
tap_done
