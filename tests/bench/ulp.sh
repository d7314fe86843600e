#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# ulp.sh: measures a storage target of the kernel on xiw and on siw: NVMe over
# Fabrics, target and host in one guest, one queue, a RAM disk, with a delay in
# each direction. Writes a line for each result to $XIW_OUT/raw, in the format of
# guest.sh; PATH is the loopback device with its delay one way.
#
# A write of the host is an RDMA Read of the target, a read an RDMA Write, so the
# rows show how many Reads a target has outstanding.
#
# XIW_PATHS (lo, lo,1ms and lo,5ms), XIW_WHO (xiw and siw) and XIW_ROUNDS (3) limit
# what is measured.

# shellcheck source=tests/ulp/lib.sh
. "$(dirname "$0")/../ulp/lib.sh"

NQN=xiw-nvme
SECONDS_EACH=4
# Mode of fio, block size in KiB, outstanding requests
WORK=("write 64 16" "write 16 16" "rw 64 16" "write 64 1" "read 64 16")
ROUNDS=${XIW_ROUNDS:-3}
read -ra PATHS <<<"${XIW_PATHS:-lo lo,1ms lo,5ms}"
read -ra WHO <<<"${XIW_WHO:-xiw siw}"

# disk_up WHO: makes a device of that driver and an NVMe target on it, and connects to
# the target, whose disk is /dev/nvme0n1.
disk_up()
{
	{
		modprobe "$1" &&
		rdma link add "$DEV_L" type "$1" netdev "$NET_L" &&
		wait_for 20 port_active "$DEV_L"
	} || bail "set-up: no device of $1"
	[[ $1 != xiw ]] || echo 0 >"/sys/class/infiniband/$DEV_L/mpa/crc"
	or_bail "no target" nvme_target_up "$NQN"
	or_bail "no connection" nvme connect -t rdma -a "$L4" -s 4420 \
		-n $NQN -i 1 -l 60 -k 0
	wait_for 20 test -b /dev/nvme0n1 || bail "set-up: no disk"
}

disk_down()
{
	bounded nvme disconnect -n "$NQN" >/dev/null
	nvme_target_down "$NQN"
	link_del "$DEV_L"
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

	bounded fio --name=t --filename=/dev/nvme0n1 --size=48M --rw="$1" \
		--bs="$2k" --iodepth="$3" --ioengine=libaio --direct=1 \
		--time_based --runtime=$SECONDS_EACH --ramp_time=1 \
		--output-format=terse --terse-version=3 >"$TMP/fio"
	# Columns of version 3: reads and writes per second
	iops=$(awk -F';' '/^3;/ { print $8 + $49 }' "$TMP/fio")
	[[ -z $iops ]] || echo "$round $path $who nvme-$1,depth=$3" \
		"$(($2 * 1024)) $iops IOPS" >>"$XIW_OUT/raw"
}

modprobe -a rdma_cm ib_uverbs nvmet nvmet-rdma nvme-rdma sch_netem ||
	bail "set-up: no modules"
modprobe brd rd_nr=1 rd_size=65536 || bail "set-up: no RAM disk"
{
	ip link add "$NET_L" type dummy && ip addr add "$L4/24" dev "$NET_L" &&
	ip link set "$NET_L" up && ip link set lo up && ip link set lo mtu 1500
} || bail "set-up: no network"
configfs_up
: >"$XIW_OUT/raw"
for ((round = 1; round <= ROUNDS; round++)); do
	for who in "${WHO[@]}"; do
		echo "round $round of $ROUNDS, $who ($SECONDS s)"
		disk_up "$who"
		for path in "${PATHS[@]}"; do
			delay "$path"
			for what in "${WORK[@]}"; do
				# shellcheck disable=SC2086  # three words
				measure $what
			done
		done
		delay lo
		disk_down
	done
done
exit 0
