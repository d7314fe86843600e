#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The same removal over and over, under load: the device, the module, the
# network interface, the namespaces with RDMA devices shared by all of them and
# with devices of their own, and fifty processes by SIGKILL.  Each removal ends
# in bounded time, nothing is left of it, and the survivors are told.
#
# Every third removal comes at a random moment while the connections are being
# set up.
#
# XIW_ROUNDS=N (6): removals of each kind, and one in ten for the processes.
# XIW_STORMS="link module netdev shared exclusive kill": which kinds.
# XIW_SEED=N (1): the random moments.
#
# Covers: TERM-15 TERM-20
# xiw-timeout: 7200
# xiw-kernel: stock

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

ROUNDS=${XIW_ROUNDS:-6}
STORMS=${XIW_STORMS:-link module netdev shared exclusive kill}
PROCESSES=50
RANDOM=${XIW_SEED:-1}

# neighbours: known beforehand, for the core is slow to find them.
neighbours()
{
	ip -n "$NS_A" link set "$VETH_A" address 02:00:00:00:00:0a &&
	ip -n "$NS_B" link set "$VETH_B" address 02:00:00:00:00:0b &&
	ip -n "$NS_A" neigh replace "$B4" lladdr 02:00:00:00:00:0b \
		dev "$VETH_A" nud permanent &&
	ip -n "$NS_B" neigh replace "$A4" lladdr 02:00:00:00:00:0a \
		dev "$VETH_B" nud permanent
}

# calls: both ends of two connections are started and not waited for.
calls()
{
	local i port

	for i in 1 2; do
		port=$(free_port)
		load_start passive "$i" -s "$NS_A/$A4" -p "$port"
		load_start active "$i" -c "$NS_B/$A4" -p "$port"
	done
	# Not for something to happen: for it to be interrupted anywhere.
	sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
}

# round FUNCTION: something is taken away while there is traffic, or while
# there is about to be some.
round()
{
	early=
	if (($2 % 3 == 0)); then
		early=1
		calls
	else
		load_up 1 2 || return
	fi
	"$1" "$2" || return
	if [[ $early ]]; then
		load_stop
		load_pid=()
	elif ((${#load_pid[@]})); then
		load_ended 1 2
	fi
}

# storm WHAT FUNCTION ROUNDS
storm()
{
	local i start=$SECONDS

	for ((i = 1; i <= $3; i++)); do
		round "$2" "$i" >"$TMP/round" 2>&1 && continue
		tap_fail "$1, round $i of $3"
		tap_show "$TMP/round"
		load_show | sed 's/^/#   /'
		tap_done
	done
	tap_ok "$1, $3 rounds"
	tap_note "$((SECONDS - start)) s"
}

chosen()
{
	[[ " $STORMS " == *" $1 "* ]]
}

remove_link()
{
	local dev=$DEV_A

	(($1 % 2)) || dev=$DEV_B
	within rdma link del "$dev" && dev_gone "$dev" || return
	if [[ $dev == "$DEV_A" ]]; then
		link_add "$NS_A" "$DEV_A" "$VETH_A"
	else
		link_add "$NS_B" "$DEV_B" "$VETH_B"
	fi
}

remove_module()
{
	within modprobe -r "$XIW_LINK_TYPE" && module_gone || return
	modprobe "$XIW_LINK_TYPE" && links_up
}

remove_netdev()
{
	local ns=$NS_A dev=$VETH_A

	(($1 % 2)) || ns=$NS_B dev=$VETH_B
	within ip -n "$ns" link del "$dev" &&
	wait_for "$BOUND" both_gone || return
	net_down
	net_up
	neighbours
	links_up
}

# A namespace ends with the last of its processes, so these end, too.
remove_namespaces()
{
	if (($1 % 2)); then
		load_stop
		ip netns del "$NS_A" && ip netns del "$NS_B"
	else
		ip netns del "$NS_A" && ip netns del "$NS_B"
		load_stop
	fi
	load_pid=()
	wait_for "$BOUND" both_gone
}

shared_namespaces()
{
	remove_namespaces "$1" || { rdma dev; return 1; }
	net_up
	neighbours
	links_up
}

# own_device NS DEVICE NETDEV: a name is free when its last device is gone,
# which nobody outside of the namespace that ended can see otherwise.
own_device()
{
	wait_for "$BOUND" link_add "$@" && wait_for 20 port_active "$2" &&
		rdma dev set "$2" netns "$1"
}

own_devices()
{
	net_up
	neighbours
	own_device "$NS_A" "$DEV_A" "$VETH_A" &&
		own_device "$NS_B" "$DEV_B" "$VETH_B"
}

own_namespaces()
{
	remove_namespaces "$1" && own_devices
}

all_gone()
{
	objects_are "$TMP/baseline"
}

# kill_many: all at once; in every other round the passive ends survive.
kill_many()
{
	local i names=() victims

	for ((i = 1; i <= PROCESSES / 2; i++)); do
		names+=("many$i")
	done
	load_up "${names[@]}" || return
	victims=("${names[@]/#/active-}")
	(($1 % 2)) || victims+=("${names[@]/#/passive-}")
	load_kill "${victims[@]}" || return
	for i in "${names[@]/#/passive-}"; do
		[[ ! ${load_pid[$i]:-} ]] || load_wait "$i" || return
	done
	wait_for "$BOUND" all_gone
}

kill_storm()
{
	local i start=$SECONDS n=$((ROUNDS / 10 + 2))

	for ((i = 1; i <= n; i++)); do
		tap_run "$PROCESSES processes, round $i of $n" kill_many "$i" ||
			return
	done
	tap_note "$((SECONDS - start)) s"
}

tap_note "seed ${XIW_SEED:-1}"
topo_up
neighbours
objects >"$TMP/baseline"
! chosen link || storm "rdma link del" remove_link "$ROUNDS"
! chosen module || storm "modprobe -r" remove_module "$ROUNDS"
! chosen netdev || storm "ip link del" remove_netdev "$ROUNDS"
! chosen shared ||
	storm "end of namespaces, shared devices" shared_namespaces "$ROUNDS"
! chosen kill || kill_storm
tap_objects "nothing is left behind" "$TMP/baseline"
tap_run "a connection works" load_up after
tap_run "and ends in order" load_end after
if chosen exclusive; then
	topo_down
	tap_run "devices can have namespaces of their own" \
		wait_for "$BOUND" rdma system set netns exclusive
	tap_run "and are in them" own_devices
	storm "end of namespaces, devices of their own" own_namespaces "$ROUNDS"
	tap_run "a connection works there" load_up own
	tap_run "and ends in order there" load_end own
fi
load_stop
tap_done
