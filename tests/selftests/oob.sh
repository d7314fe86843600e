#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Programs that do not know rdma_cm, but exchange GIDs and queue pair numbers by
# themselves: the examples of libibverbs, perftest without -R.
#
# xiw-kernel: uml debug
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# GIDs as sysfs prints them
GID4_A=$(gid4 "$A4")
GID4_B=$(gid4 "$B4")
GID6_A=fd77:0000:0000:0000:0000:0000:0000:0001
GID6_B=fd77:0000:0000:0000:0000:0000:0000:0002

# pingpong DESC INDEX_A INDEX_B ARGS...: the claim is that ibv_rc_pingpong succeeds with
# these GID indices.
pingpong()
{
	local desc=$1 a=$2 b=$3

	shift 3
	pair "$desc" "ibv_rc_pingpong -d $DEV_A -g $a -p @PORT@ $*" \
		"ibv_rc_pingpong -d $DEV_B -g $b -p @PORT@ $* $A4"
}

has_gids()
{
	gid_index "$DEV_A" "$GID4_A" && gid_index "$DEV_A" "$GID6_A" &&
	gid_index "$DEV_B" "$GID4_B" && gid_index "$DEV_B" "$GID6_B"
}

# perf PROGRAM SIZE ITERATIONS [ARGS...]: the claim is that perftest succeeds without
# rdma_cm.
perf()
{
	local name=$1 prog=$1 size=$2 n=$3

	shift 3
	[[ $name != ib_send_bw ]] || prog=$SELFTESTS/send_bw
	pair "$name $size bytes, $n times${*:+, $*}" \
		"$prog -d $DEV_A -x $a4 -p @PORT@ -s $size -n $n -F $*" \
		"$prog -d $DEV_B -x $b4 -p @PORT@ -s $size -n $n -F $* $A4"
}

closed()
{
	! in_a bash -c "$LISTENS" - 4791 none
}

topo_up
tap_run "the addresses of the interfaces are GIDs" wait_for 20 has_gids
a4=$(gid_index "$DEV_A" "$GID4_A")
b4=$(gid_index "$DEV_B" "$GID4_B")
a6=$(gid_index "$DEV_A" "$GID6_A")
b6=$(gid_index "$DEV_B" "$GID6_B")
objects >"$TMP/baseline"

pingpong "ibv_rc_pingpong over IPv4" "$a4" "$b4"
pingpong "ibv_rc_pingpong over IPv6" "$a6" "$b6"
pingpong "  waiting for events" "$a4" "$b4" -e
pingpong "  a mebibyte" "$a4" "$b4" -n 20 -s 1048576
pair "ibv_srq_pingpong with 8 queue pairs" \
	"ibv_srq_pingpong -d $DEV_A -g $a4 -p @PORT@ -q 8" \
	"ibv_srq_pingpong -d $DEV_B -g $b4 -p @PORT@ -q 8 $A4"

for prog in ib_send_bw ib_write_bw ib_read_bw; do
	perf $prog 65536 10
done
perf ib_send_bw 4096 20 -b
for prog in ib_send_lat ib_write_lat ib_read_lat; do
	perf $prog 8 20
done
perf ib_write_bw 8192 10 -q 16
perf ib_send_bw 2048 50 --use-srq
perf ib_read_bw 2048 50 -e
perf ib_atomic_bw 8 50

# The side with the lesser address connects, server or client.
pair -r "the server connects" \
	"ibv_rc_pingpong -d $DEV_B -g $b4 -p @PORT@" \
	"ibv_rc_pingpong -d $DEV_A -g $a4 -p @PORT@ $B4"
pair -l "two queue pairs of one device" \
	"ibv_rc_pingpong -d $DEV_A -g $a4 -p @PORT@" \
	"ibv_rc_pingpong -d $DEV_A -g $a4 -p @PORT@ $A4"

# Connect and communicate as libraries for collective operations do.
for lib in nccl gloo; do
	tap_run "four processes sum up as $lib does, over IPv4" \
		xt_ring $lib "$NS_A/$A4" "$DEV_A" "$NS_B/$B4" "$DEV_B"
	tap_run "four processes sum up as $lib does, over IPv6" \
		xt_ring $lib "$NS_A/$A6" "$DEV_A" "$NS_B/$B6" "$DEV_B"
done

# squats ADDRESS [PORT]: true if another program of the host can bind oob_port at that
# address.
squats()
{
	python3 -c 'import socket, sys; socket.create_server((sys.argv[1], int(sys.argv[2])))' \
		"$1" "${2:-4791}" 2>/dev/null
}

# responder ADDRESS: starts a Responder at an address of the host.
responder()
{
	start_here responder xt_tries 1 "$1" 10.1.0.1 1
	wait_for "$XIW_TIMEOUT" server_says trying responder
}

not_squats()
{
	! squats "$1"
}

# plainly_set PORT FILE: sets oob_port in a process without the capability for ports
# below 1024.
plainly_set()
{
	setpriv --bounding-set -net_bind_service --inh-caps -net_bind_service \
		sh -c "echo $1 >$2"
}

# cookie_at ADDRESS: prints the cookie of the socket that listens at ADDRESS.
cookie_at()
{
	ss -Hltne "sport = :4791 and src $1" | grep -o 'sk:[0-9a-f]*'
}

# other_cookie ADDRESS COOKIE: true if another socket listens there.
other_cookie()
{
	local now

	now=$(cookie_at "$1") && [[ $now != "$2" ]]
}

# renews ADDRESS: ends the listener as an administrator can (ss -K); true if xiw makes
# another one.
renews()
{
	local before

	before=$(cookie_at "$1") &&
	ss -HKltn "sport = :4791 and src $1" | grep -q . &&
	wait_for 10 other_cookie "$1" "$before"
}

# reserved: the claims that the port is reserved on the host, as long as the address and
# the device exist.
reserved()
{
	local knob=/sys/class/infiniband/xiwR/mpa/oob_port

	ip link add rsv0 type veth peer name rsv1 &&
	ip addr add 10.99.0.1/24 dev rsv0 && ip link set rsv0 up &&
	rdma link add xiwR type xiw netdev rsv0 &&
	! listens_at 10.99.0.1:4791 &&
	not_squats 10.99.0.1 && not_squats 0.0.0.0 &&
	ip addr add 10.99.0.2/24 dev rsv0 &&
	wait_for 10 not_squats 10.99.0.2 &&
	ip addr del 10.99.0.2/24 dev rsv0 &&
	echo 0 >"$knob" && squats 10.99.0.1 &&
	plainly_set 700 "$knob" && ! squats 10.99.0.1 700 && squats 10.99.0.1 &&
	echo 4791 >"$knob" && not_squats 10.99.0.1 &&
	responder 10.99.0.1 && listens_at 10.99.0.1:4791 && renews 10.99.0.1
	local rc=$?
	[[ ! -v server_pid[responder] ]] || stop_server responder
	((rc == 0)) && not_squats 10.99.0.1 &&
	rdma link del xiwR && wait_for 10 squats 10.99.0.1 &&
	ip link del rsv0
}

# enslaved: the claims for a netdev that enters a VRF: sockets outside of the VRF cannot
# reach it any more.
enslaved()
{
	ip link add rsv0 type veth peer name rsv1 &&
	ip addr add 10.99.0.1/24 dev rsv0 && ip link set rsv0 up &&
	rdma link add xiwR type xiw netdev rsv0 &&
	responder 10.99.0.1 && listens_at 10.99.0.1:4791 &&
	ip link add red type vrf table 77 && ip link set red up &&
	ip link set rsv0 master red &&
	wait_for 10 listens_at 10.99.0.1%rsv0:4791
	local rc=$?
	[[ ! -v server_pid[responder] ]] || stop_server responder
	rdma link del xiwR && ip link del rsv0 && ip link del red && return "$rc"
}

listens_at()
{
	ss -Hltn | grep -F "$1 "
}

# namespace_ends: the claim that a device ends with its namespace, which ends with its
# last process.
namespace_ends()
{
	ip netns add rsv && ip -n rsv link add rsv0 type veth peer name rsv1 &&
	ip -n rsv addr add 10.99.0.1/24 dev rsv0 &&
	ip -n rsv link set rsv0 up &&
	ip netns exec rsv rdma link add xiwR type xiw netdev rsv0 &&
	ip netns del rsv &&
	wait_for 20 no_device xiwR
}

no_device()
{
	[[ ! -e /sys/class/infiniband/$1 ]]
}

# refused TEXT ARGS...: true if ibv_rc_pingpong with ARGS fails, and the kernel's log has
# TEXT, the cause and the remedy.
refused()
{
	local says=$1 port

	shift
	port=$(free_port)
	log_mark
	start_server refuses "$NS_A" ibv_rc_pingpong -d "$DEV_A" "$@" \
		-p "$port" &&
	wait_listen refuses "$NS_A" "$port" &&
	! in_b ibv_rc_pingpong -d "$DEV_B" "$@" -p "$port" "$A4"
	stop_server refuses
	log_since | grep -F "$says"
}

tap_run "no GID index: the connect is refused, with the remedy" \
	refused "no GID was given; many programs have an option"
policy oob_port 0
tap_run "oob_port 0: the connect is refused, with the remedy" \
	refused "switched off; write a port number to mpa/oob_port" \
	-g "$a4"
policy oob_port 4799
pingpong "on another port" "$a4" "$b4"
policy oob_port 4791

netem "$NS_A" "$VETH_A" loss 5%
netem "$NS_B" "$VETH_B" loss 5%
pingpong "with 5 % of loss" "$a4" "$b4"
# Lost handshakes may take longer than the 5 seconds of perftest's own timeout.
perf ib_write_bw 8192 10 -q 8 -u 20
netem "$NS_A" "$VETH_A"
netem "$NS_B" "$VETH_B"

tap_run "the port is closed when no queue pair of the namespace needs it" \
	wait_for 10 closed
tap_run "on the host no other program gets it" reserved
tap_run "the port follows the interface into a VRF" enslaved
tap_run "a namespace with a device ends" namespace_ends
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
