#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Repeated removals under load: of the device, the module, the network interface, the
# namespaces (in the shared and in the exclusive mode of RDMA namespaces), and of fifty
# processes by SIGKILL.  Each removal ends in bounded time, no object is left, and
# processes that continue get events.
#
# Every third removal happens at a random moment while the connections are being
# set up.
#
# XIW_ROUNDS=N (4): number of removals of each kind; a tenth of that for processes.
# XIW_STORMS="link module netdev shared exclusive kill": the kinds of removals.
# XIW_SEED=N (1): seed of the random moments.
#
# Covers: TERM-15 TERM-20
# xiw-long: the same removals over and over
# xiw-timeout: 900
# xiw-kernel: stock

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

ROUNDS=${XIW_ROUNDS:-4}
STORMS=${XIW_STORMS:-link module netdev shared exclusive kill}
PROCESSES=50
RANDOM=${XIW_SEED:-1}

# swarm COMMAND: sends a command to the processes under load, see xt_swarm.c.
swarm()
{
	local answer

	echo "$*" >&"${SWARM[1]}" &&
		read -r -t 200 answer <&"${SWARM[0]}" || return
	[[ $answer == ok ]] || { echo "$*: $answer"; return 1; }
}

# net_storm_up: as net_up(), but faster: starts fewer programs, and adds static
# neighbours, as the core takes long to resolve them.
net_storm_up()
{
	local mac=02:00:00:00:00:0

	ip -batch - <<-END && ip -n "$NS_A" -batch - <<-END_A &&
		netns add $NS_A
		netns add $NS_B
		link add $VETH_A address ${mac}a netns $NS_A type veth peer name $VETH_B address ${mac}b netns $NS_B
	END
		link set lo up
		addr add $A4/24 dev $VETH_A
		link set $VETH_A up
		neigh replace $B4 lladdr ${mac}b dev $VETH_A nud permanent
	END_A
	ip -n "$NS_B" -batch - <<-END_B
		link set lo up
		addr add $B4/24 dev $VETH_B
		link set $VETH_B up
		neigh replace $A4 lladdr ${mac}a dev $VETH_B nud permanent
	END_B
}

# round FUNCTION NUMBER: removes something while there is traffic, or during the
# setup of connections.
round()
{
	early=
	swarm start 2 || return
	if (($2 % 3 == 0)); then
		early=1
		# A random pause, not a wait: the setup may be interrupted
		# anywhere.
		read -r -t "0.0$((RANDOM % 10))" <&"${SWARM[0]}"
	else
		swarm running || return
	fi
	"$1" "$2" || return
	[[ ! $early ]] || swarm kill all || return
	swarm ended
}

# storm WHAT FUNCTION ROUNDS: the claim is that all rounds with FUNCTION succeed.
storm()
{
	local i start=$SECONDS

	for ((i = 1; i <= $3; i++)); do
		round "$2" "$i" >"$TMP/round" 2>&1 && continue
		tap_fail "$1, round $i of $3"
		tap_show "$TMP/round"
		tap_show "$TMP/swarm.err"
		tap_done
	done
	tap_ok "$1, $3 rounds"
	tap_note "$((SECONDS - start)) s"
}

chosen()
{
	[[ " $STORMS " == *" $1 "* ]]
}

gone()
{
	[[ ! -e /sys/class/infiniband/$1 ]]
}

remove_link()
{
	local dev=$DEV_A

	(($1 % 2)) || dev=$DEV_B
	within rdma link del "$dev" && gone "$dev" || return
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

# Removes one interface of the veth pair, and so the other one, too.
remove_netdev()
{
	local ns=$NS_A dev=$VETH_A

	(($1 % 2)) || ns=$NS_B dev=$VETH_B
	within ip -n "$ns" link del "$dev" &&
	wait_for "$BOUND" gone "$DEV_A" && wait_for "$BOUND" gone "$DEV_B" ||
		return
	net_down
	net_storm_up && links_up
}

# A namespace exists as long as a process is in it, so kill the processes, too.
remove_namespaces()
{
	if (($1 % 2)); then
		swarm kill all
		ip netns del "$NS_A" && ip netns del "$NS_B"
	else
		ip netns del "$NS_A" && ip netns del "$NS_B"
		swarm kill all
	fi
}

shared_namespaces()
{
	remove_namespaces "$1" && wait_for "$BOUND" gone "$DEV_A" &&
		wait_for "$BOUND" gone "$DEV_B" && net_storm_up && links_up
}

# own_device NS DEVICE NETDEV: adds a device, and moves it to the namespace. Repeats the
# attempt: the name is free only when the device of a deleted namespace is gone.
own_device()
{
	wait_for "$BOUND" link_add "$@" && wait_for 20 port_active "$2" &&
		rdma dev set "$2" netns "$1"
}

own_devices()
{
	net_storm_up && own_device "$NS_A" "$DEV_A" "$VETH_A" &&
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

# kill_many: kills all processes at once, or in every other round the active ends only.
kill_many()
{
	swarm start $((PROCESSES / 2)) && swarm running || return
	if (($1 % 2)); then
		swarm kill active
	else
		swarm kill all
	fi && swarm ended && wait_for "$BOUND" all_gone
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
coproc SWARM {
	exec nice -n 19 xt_swarm "$NS_A/$A4" "$NS_B/$A4" 2>"$TMP/swarm.err"
}
topo_up
links_down
net_down
net_storm_up
links_up
objects >"$TMP/baseline"
! chosen link || storm "rdma link del" remove_link "$ROUNDS"
if driver_is_module; then
	! chosen module || storm "modprobe -r" remove_module "$ROUNDS"
else
	tap_skip "modprobe -r" "the driver is a part of the kernel"
fi
! chosen netdev || storm "ip link del" remove_netdev "$ROUNDS"
! chosen shared ||
	storm "end of namespaces, shared devices" shared_namespaces "$ROUNDS"
! chosen kill || kill_storm
tap_objects "nothing is left behind" "$TMP/baseline"
tap_run "a connection works" load_up after
tap_run "the connection ends in order" load_end after
if chosen exclusive; then
	topo_down
	tap_run "devices can have namespaces of their own" netns_mode exclusive
	tap_run "devices are in namespaces of their own" own_devices
	storm "end of namespaces, devices of their own" own_namespaces "$ROUNDS"
	tap_run "a connection works there" load_up own
	tap_run "the connection there ends in order" load_end own
fi
load_stop
tap_done
