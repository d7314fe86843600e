#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# With receive flow steering (RFS), packets of a connection are steered to the processor
# on which its process posts and polls, not to the one that has accepted the connection.
#
# xiw-kernel: stock

. "$(dirname "$0")/lib.sh"

MESSAGES=2000
TABLE=/proc/sys/net/core/rps_sock_flow_entries

# steered CPU: prints the number of packets that other CPUs have passed to that CPU.
steered()
{
	local stat

	read -ra stat < <(sed -n "$(($1 + 1))p" /proc/net/softnet_stat)
	echo $((16#${stat[9]}))
}

# follows CPU OTHER: the claims that packets are steered to CPU, on which the server
# runs; the client runs on OTHER.
follows()
{
	local before

	before=$(steered "$1")
	pair "messages to and fro, the server on processor $1" \
		"taskset -c $1 ib_send_lat -R -F -d $DEV_A -p @PORT@ -n $MESSAGES" \
		"taskset -c $2 ib_send_lat -R -F -d $DEV_B -p @PORT@ -n $MESSAGES $A4"
	tap_note "$(($(steered "$1") - before)) packets were steered there"
	(($(steered "$1") - before > MESSAGES / 2))
	tap_result $? "packets are steered to the processor of the server"
}

topo_up
{
	echo 1024 >$TABLE &&
	ip netns exec "$NS_A" sh -c "echo 1024 \
		>/sys/class/net/$VETH_A/queues/rx-0/rps_flow_cnt"
} || bail "set-up: RFS cannot be set up"
follows 1 0
follows 0 1
follows 1 0
echo 0 >$TABLE
tap_done
