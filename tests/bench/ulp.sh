#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# ulp.sh: measures storage targets of the kernel on xiw and on siw: NVMe over
# Fabrics, NFS, iSER, SRP and SMB, target and host in one guest, one connection, a RAM
# disk or a file in memory, with a delay in each direction. Writes a line for each
# result to $XIW_OUT/raw, in the format of guest.sh; PATH is the loopback device
# with its delay one way.
#
# A write of the host is an RDMA Read of the target, a read an RDMA Write, so the
# rows show how many Reads a target has outstanding.
#
# XIW_PATHS (lo, lo,1ms and lo,5ms), XIW_WHO (xiw and siw), XIW_TARGETS (nvme, nfs,
# iser, srp and smb) and XIW_ROUNDS (3) limit what is measured.

# shellcheck source=tests/ulp/lib.sh
. "$(dirname "$0")/../ulp/lib.sh"

NQN=xiw-nvme
EXPORT=/tmp/export
MNT=/tmp/mnt
SECONDS_EACH=4
# Mode of fio, block size in KiB, outstanding requests
WORK=("write 64 16" "write 16 16" "rw 64 16" "write 64 1" "read 64 16")
ROUNDS=${XIW_ROUNDS:-3}
read -ra PATHS <<<"${XIW_PATHS:-lo lo,1ms lo,5ms}"
read -ra WHO <<<"${XIW_WHO:-xiw siw}"
read -ra TARGETS <<<"${XIW_TARGETS:-nvme nfs iser srp smb}"

topo_down()
{
	[[ -z ${iscsid:-} ]] || kill "$iscsid"
}

device_up()
{
	modprobe "$1" &&
	rdma link add "$DEV_L" type "$1" netdev "$NET_L" &&
	wait_for 20 port_active "$DEV_L" || return
	[[ $1 != xiw ]] || echo 0 >"/sys/class/infiniband/$DEV_L/mpa/crc"
}

# NAME_up: a target and its host; $file is the disk, or a file that fio creates.

nvme_up()
{
	modprobe -a nvmet nvmet-rdma nvme-rdma &&
	modprobe brd rd_nr=1 rd_size=65536 &&
	nvme_target_up "$NQN" &&
	bounded nvme connect -t rdma -a "$L4" -s 4420 -n "$NQN" -i 1 -l 60 -k 0 &&
	wait_for 20 test -b /dev/nvme0n1 && file=/dev/nvme0n1
}

nvme_down()
{
	bounded nvme disconnect -n "$NQN" >/dev/null
	nvme_target_down "$NQN"
}

nfs_up()
{
	modprobe -a nfsd nfsv4 rpcrdma &&
	mkdir -p "$EXPORT" "$MNT" &&
	mount -t tmpfs -o size=128m tmpfs "$EXPORT" &&
	nfsd_up &&
	exportfs -o rw,no_root_squash,insecure,fsid=0,async "*:$EXPORT" &&
	rpc.nfsd -N 3 -V 4 -V 4.2 --rdma=20049 16 &&
	bounded mount -t nfs -o proto=rdma,port=20049,vers=4.2,hard "$L4:/" "$MNT" &&
	file=$MNT/file && : >"$file"
}

nfs_down()
{
	bounded umount "$MNT"
	nfsd_down
	umount "$EXPORT" /var/lib/nfs
	modprobe -r rpcrdma
}

iser_up()
{
	modprobe -a ib_iser sd_mod &&
	iser_target_up &&
	{ [[ ${iscsid:-} ]] || iscsid_up; } &&
	iser_node -o new -I iser && bounded iser_node --login &&
	wait_for 20 iser_disk && file=$(iser_disk)
}

iser_down()
{
	bounded iser_node --logout
	iser_node -o delete
	iser_target_down
	modprobe -r ib_iser ib_isert
}

srp_up()
{
	modprobe sd_mod && modprobe ib_srp ch_count=1 &&
	srp_target_up && srp_log_in &&
	wait_for 20 srp_disk && file=$(srp_disk)
}

srp_down()
{
	srp_log_out
	wait_for 20 srp_no_session
	srp_target_down
	modprobe -r ib_srp ib_srpt
}

smb_up()
{
	modprobe -a ksmbd cifs &&
	mkdir -p "$EXPORT" "$MNT" &&
	mount -t tmpfs -o size=128m tmpfs "$EXPORT" &&
	smb_server_up "$EXPORT" &&
	mount_smb "$MNT" rdma,hard,cache=none &&
	file=$MNT/file && : >"$file"
}

smb_down()
{
	bounded umount "$MNT"
	smb_server_down
	umount "$EXPORT"
}

# delay PATH: sets the delay of lo to the part of PATH behind the comma, if any.
delay()
{
	tc qdisc del dev lo root 2>/dev/null
	[[ $1 != *,* ]] ||
		tc qdisc add dev lo root netem delay "${1#*,}" limit 100000
}

# measure MODE KIB DEPTH: records requests per second, reads and writes together.
measure()
{
	local iops

	bounded fio --name=t --filename="$file" --size=48M --rw="$1" \
		--bs="$2k" --iodepth="$3" --ioengine=libaio --direct=1 \
		--time_based --runtime=$SECONDS_EACH --ramp_time=1 \
		--output-format=terse --terse-version=3 >"$TMP/fio"
	# Columns of version 3: reads and writes per second
	iops=$(awk -F';' '/^3;/ { print $8 + $49 }' "$TMP/fio")
	if [[ -n $iops ]]; then
		echo "$round $path $who $target-$1,depth=$3" \
			"$(($2 * 1024)) $iops IOPS" >>"$XIW_OUT/raw"
	else
		echo "# $path $who $target: fio failed"
		tail -n 5 "$TMP/fio" | sed 's/^/#   /'
	fi
}

# measure_target: a target that does not work with a driver has no figures.
measure_target()
{
	local what

	if "${target}_up" >"$TMP/out" 2>&1 </dev/null; then
		for path in "${PATHS[@]}"; do
			delay "$path"
			for what in "${WORK[@]}"; do
				# shellcheck disable=SC2086  # three words
				measure $what
			done
		done
		delay lo
	else
		echo "# $who: no $target"
		tail -n 5 "$TMP/out" | sed 's/^/#   /'
	fi
	"${target}_down" >"$TMP/out" 2>&1 </dev/null
}

modprobe -a rdma_cm ib_uverbs sch_netem || bail "set-up: no modules"
{
	ip link add "$NET_L" type dummy && ip addr add "$L4/24" dev "$NET_L" &&
	ip link set "$NET_L" up && ip link set lo up && ip link set lo mtu 1500
} || bail "set-up: no network"
configfs_up
: >"$XIW_OUT/raw"
for ((round = 1; round <= ROUNDS; round++)); do
	for target in "${TARGETS[@]}"; do
		for who in "${WHO[@]}"; do
			echo "round $round of $ROUNDS, $target, $who ($SECONDS s)"
			device_up "$who" || bail "set-up: no device of $who"
			measure_target
			link_del "$DEV_L"
		done
	done
done
exit 0
