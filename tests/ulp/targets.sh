#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: nvme-cli nfs-kernel-server nfs-common ksmbd-tools cifs-utils
# xiw-ulps: smb
#
# A storage host: targets of NVMe, NFS and SMB on one device, each over TCP and over RDMA.
# Both transports are used alternately, so that lockdep sees them in each order (K=rt).
# The device is removed below all targets and added again: those of NFS and SMB serve again,
# the port of NVMe has to be started.

. "$(dirname "$0")/lib.sh"

NQN=xiw-targets
EXPORT=/tmp/export
SHARE=/tmp/share
MNT=/tmp/mnt

topo_down()
{
	umount -f "$MNT" 2>/dev/null
	timeout 30 nvme disconnect -n "$NQN"
	nvme_port_down "$NQN" 2
	nvme_target_down "$NQN"
	nfsd_down
	smb_server_down
	local_down
	modprobe -r nvme-rdma nvme-tcp nvmet-rdma nvmet-tcp nvmet brd rpcrdma
}

nfs_up()
{
	nfsd_up
	exportfs -o rw,no_root_squash,insecure,fsid=0,async "*:$EXPORT" &&
	rpc.nfsd -N 3 -V 4 -V 4.2 --rdma=20049 4
}

# nvme_host tcp|rdma: connects, stores the data on the disk, reads it, and disconnects.
nvme_host()
{
	local port=4420 disk

	[[ $1 == rdma ]] || port=4421
	nvme connect -t "$1" -a "$L4" -s "$port" -n "$NQN" -i 2 -c 1 -l 30 &&
	wait_for 20 disk_of '/sys/block/nvme[0-9]n1' &&
	disk=$(disk_of '/sys/block/nvme[0-9]n1') &&
	dd if="$TMP/data" of="$disk" bs=64k oflag=direct &&
	dd if="$disk" of="$TMP/back" bs=64k count=64 iflag=direct &&
	cmp "$TMP/data" "$TMP/back" &&
	nvme disconnect -n "$NQN"
}

# mounted DIR CMD...: mounts by CMD, stores the data in a file, which DIR of the server
# then has, reads it, and unmounts.
mounted()
{
	local dir=$1

	shift
	"$@" &&
	cp "$TMP/data" "$MNT/data" && sync && cmp "$TMP/data" "$dir/data" &&
	drop_caches && cmp "$TMP/data" "$MNT/data" &&
	rm "$MNT/data" &&
	umount "$MNT"
}

# hosts WHEN TRANSPORT: a host of each target.
hosts()
{
	local nfs="proto=tcp,port=2049" smb=hard

	[[ $2 == tcp ]] || nfs="proto=rdma,port=20049" smb+=,rdma
	run_claim "$1: NVMe over $2 has its data" nvme_host "$2"
	run_claim "$1: NFS over $2" mounted $EXPORT mount -t nfs \
		-o "$nfs,vers=4.2" "$L4:/" "$MNT"
	run_claim "$1: SMB over $2" mounted $SHARE mount_smb "$MNT" "$smb" ||
		tap_show "$TMP/smb.log"
}

# nvme_again: makes the port of the target again, which ends with its device.
nvme_again()
{
	nvme_port_down "$NQN" 1 && nvme_port_up "$NQN" 1 rdma 4420
}

# idle: true if no queue pair of a target is left, but for those of the core.
idle()
{
	! rdma res show qp link "$DEV_L/1" | grep -q .
}

# listening_again: true if the device has a listener of each target.
listening_again()
{
	local port

	for port in 4420 20049 5445; do
		[[ -n $(ss -Htln sport = :"$port") ]] || return
	done
}

local_up nvmet nvmet-rdma nvme-rdma nvmet-tcp nvme-tcp nfsd nfsv4 rpcrdma ksmbd cifs
configfs_up
mkdir -p $EXPORT $SHARE $MNT
mount -t tmpfs -o size=64m tmpfs $EXPORT
mount -t tmpfs -o size=64m tmpfs $SHARE
head -c 4M /dev/urandom >"$TMP/data"
or_bail "no RAM disk" modprobe brd rd_nr=1 rd_size=65536
or_bail "no target of NVMe" nvme_target_up "$NQN"
or_bail "no port for TCP" nvme_port_up "$NQN" 2 tcp 4421
or_bail "no server of NFS" nfs_up
smb_server_up $SHARE || bail "set-up: no server of SMB"

hosts "first" tcp
hosts "after TCP" rdma
hosts "after RDMA" tcp
hosts "after both" rdma
for round in 1 2; do
	tap_run "round $round: the queue pairs are freed" wait_for 60 idle
	tap_run "the device can be removed below all targets" \
		timeout 60 rdma link del "$DEV_L"
	hosts "without the device" tcp
	or_bail "no device" rdma link add "$DEV_L" type "$XIW_LINK_TYPE" netdev "$NET_L"
	run_claim "the port of NVMe is started again" nvme_again
	tap_run "all targets listen" wait_for 60 listening_again
	hosts "with the device again" rdma
done
tap_run "the queue pairs are freed" wait_for 60 idle
tap_run "the device can be removed" timeout 60 rdma link del "$DEV_L"
tap_done
