#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: nvme-cli fio nftables
#
# NVMe over Fabrics over SCTP, with two addresses: the disk is written and verified
# while a packet filter drops all that is sent to the first address. The host does not
# lose its connections, as it would over TCP, and no request fails.
#
# Covers: SCTP-33

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../selftests/cases.sh"

NQN=xiw-nvme
PORT=4420
SIZE=32M
OTHER4=10.79.0.1
DISK=/dev/nvme0n1

topo_down()
{
	timeout 30 nvme disconnect -n "$NQN"
	[[ ! -d $CONFIGFS/nvmet/ports/1 ]] || nvme_target_down "$NQN"
	local_down
	ip link del xother
	nft delete table ip xiw
	modprobe -r nvme-rdma nvmet-rdma nvmet brd
}

other_up()
{
	ip link add xother type dummy &&
	ip addr add "$OTHER4/24" dev xother &&
	ip link set xother up
}

# associations: prints the number of associations that have both addresses of the target.
associations()
{
	grep -c " $PORT .*<-> .*$L4.*$OTHER4\| $PORT .*<-> .*$OTHER4.*$L4" \
		/proc/net/sctp/assocs
}

drop_first()
{
	nft add table ip xiw &&
	nft add chain ip xiw out '{ type filter hook output priority 0; }' &&
	nft add rule ip xiw out ip protocol sctp ip daddr "$L4" counter drop
}

dropped()
{
	nft list table ip xiw | grep -o 'packets [0-9]*'
}

# path_is STATE: true if the path to the first address has that state in all associations.
# shellcheck disable=SC2016  # awk's variables
path_is()
{
	awk -v a="$L4" -v s="$1" '$1 == a && $8 != s { n++ } END { exit n }' \
		/proc/net/sctp/remaddr
}

written()
{
	wait_for 120 writes_since "$DISK" "$(written_to "$DISK")"
}

needs_sctp
local_up nvmet nvmet-rdma nvme-rdma
or_bail "no second address" other_up
policy_of "$DEV_L" sctp_ports "$PORT"
policy_of "$DEV_L" sctp_addresses "$OTHER4"
configfs_up
or_bail "no RAM disk" modprobe brd rd_nr=1 rd_size=65536
or_bail "no target" nvme_target_up "$NQN"
tap_run "the host connects" timeout 60 nvme connect -t rdma -a "$L4" -s "$PORT" \
	-n $NQN -i 2 -c 1 -l 60
tap_run "the disk appears" wait_for 20 test -b "$DISK"
tap_run "its connections are associations with two addresses" \
	test "$(associations)" -ge 3
tap_run "and none is of TCP" test -z "$(ss -tnH dport = :"$PORT")"
before=$(counter "$DEV_L" connections_active)

fio --name=failover --filename="$DISK" --size="$SIZE" --rw=randwrite \
	--bsrange=4k-128k --ioengine=libaio --iodepth=16 --direct=1 \
	--verify=crc32c --verify_fatal=1 --do_verify=1 --loops=3 \
	>"$TMP/fio.log" 2>&1 </dev/null &
fio=$!
tap_run "the disk is being written" written
tap_run "all packets to the first address are dropped" drop_first
tap_run "the disk is still being written" written
tap_run "SCTP does not use the first path" wait_for 60 path_is 0
tap_note "$(dropped) dropped"
tap_run "the packets pass again" nft delete table ip xiw
tap_run "SCTP uses the first path again" wait_for 60 path_is 2
wait $fio
tap_result $? "all data is intact" || tap_show "$TMP/fio.log"
tap_is "no connection was made again" \
	"$(counter "$DEV_L" connections_active)" "$before"
tap_is "and none was lost" "$(counter "$DEV_L" connections_lost)" 0
moved $((32 << 20))
tap_run "the host disconnects" timeout 60 nvme disconnect -n "$NQN"
tap_done
