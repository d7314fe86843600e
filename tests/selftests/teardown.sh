#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The device, the network interface, the namespaces and the module can be removed
# under load, in bounded time, also while processes keep their handles open.  The
# processes get events, and after the removal everything can be set up again.
#
# Covers: TERM-20
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

not_listening()
{
	! listening "$NS_A" 7999
}

port_down()
{
	rdma link show "$1/1" | grep -q 'state DOWN'
}

namespaces_del()
{
	ip netns del "$NS_A" && ip netns del "$NS_B"
}

# connect_to_mute NAME: starts a connect that waits for a Reply, which never arrives, and
# stops its process by SIGSTOP, so that the connect does not end with the process.
connect_to_mute()
{
	local port

	port=$(free_port)
	start_server "mute-$1" "$NS_B" python3 -c "if 1:
		import socket
		s, _ = socket.create_server(('$B4', $port)).accept()
		# A FIN to a removed peer must not keep the namespace for long.
		s.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 3000)
		print(len(s.recv(20)), flush=True)
		s.recv(1000, socket.MSG_WAITALL)"
	wait_listen "mute-$1" "$NS_B" "$port"
	start_server asks "$NS_A" rping -c -a "$B4" -p "$port" -C 1
	tap_run "a connect waits for its Reply" \
		wait_for 20 grep -q 20 "$TMP/mute-$1.log"
	pkill -STOP -x rping
}

resume()
{
	pkill -CONT -x rping
	tap_run "the connect failed" connect_failed
}

connect_failed()
{
	! wait_server asks
}

# works WHAT: the claims that a connection can be established, used and closed.
works()
{
	tap_run "$1: a connection works" load_up check
	tap_run "$1: the connection ends in order" load_end check
}

topo_up
tap_run "connections are under load" load_up 1 2
tap_run "rdma link del ends under load" within rdma link del "$DEV_A"
tap_run "the device is gone" dev_gone "$DEV_A"
tap_run "both ends of the connections are notified" load_ended 1 2
tap_run "the device can be added again" link_add "$NS_A" "$DEV_A" "$VETH_A"
works "after rdma link del"

LOAD_ARGS=(-k)
tap_run "a connection whose processes stay" load_up keep
LOAD_ARGS=()
tap_run "rdma link del does not wait for them" within rdma link del "$DEV_A"
tap_run "rdma link del of the peer's device does not wait for them" \
	within rdma link del "$DEV_B"
tap_run "the processes are still there" load_alive keep
tap_run "the devices are gone" both_gone
links_up
works "beside processes with handles of dead devices"
tap_run "the processes can be killed" load_kill {active,passive}-keep

start_server idle "$NS_A" rping -s -a "$A4" -p 7999
wait_listen idle "$NS_A" 7999
tap_run "rdma link del ends with a listener" within rdma link del "$DEV_A"
stop_server idle
tap_run "the listener is gone" wait_for 20 not_listening
link_add "$NS_A" "$DEV_A" "$VETH_A"

tap_run "a connection is under load" load_up down
ip -n "$NS_A" link set "$VETH_A" down
tap_run "an interface that is down makes a port that is" \
	wait_for 20 port_down "$DEV_A"
ip -n "$NS_A" link set "$VETH_A" up
ip -n "$NS_A" addr add "$A6/64" dev "$VETH_A" nodad
tap_run "an interface that is up makes a port that is" \
	wait_for 20 port_active "$DEV_A"
tap_run "the connection goes on, or both ends are notified" settled down
works "after an interface was down"

tap_run "a connection is under load" load_up netdev
tap_run "ip link del ends under load" within ip -n "$NS_A" link del "$VETH_A"
tap_run "the devices are gone" wait_for "$BOUND" both_gone
tap_run "both ends of the connection are notified" load_ended netdev
net_down

net_up
links_up
works "after the interface was deleted"
connect_to_mute netdev
tap_run "ip link del does not wait for the peer" \
	within ip -n "$NS_A" link del "$VETH_A"
tap_run "the devices do not wait for the peer" wait_for "$BOUND" both_gone
resume
net_down

net_up
links_up
connect_to_mute link
tap_run "rdma link del does not wait for the peer" \
	within rdma link del "$DEV_A"
resume
link_add "$NS_A" "$DEV_A" "$VETH_A"
works "after connects were cut off"

# The driver pins rdma_cm, see iwcm_quirks.c: unload its user, and try to unload it.
what="rdma_cm stays as long as the module"
if driver_is_module; then
	modprobe -r rdma_ucm
	tap_run_not "$what" modprobe -r rdma_cm
	modprobe rdma_ucm
else
	tap_skip "$what" "both are parts of the kernel"
fi
connect_to_mute order
tap_run "rdma link del does not wait for the peer then either" \
	within rdma link del "$DEV_A"
resume
link_add "$NS_A" "$DEV_A" "$VETH_A"
tap_run "a connection is under load" load_up netns
tap_run "the namespaces are deleted" namespaces_del
tap_run "the processes of the connection are killed" \
	load_kill {active,passive}-netns
tap_run "the devices are gone" wait_for "$BOUND" both_gone

rounds=(1 2)
driver_is_module || rounds=()
for i in "${rounds[@]}"; do
	net_up
	links_up
	tap_run "round $i: a connection is under load" load_up "module$i"
	tap_run "round $i: the module can be removed" \
		within modprobe -r "$XIW_LINK_TYPE"
	tap_run "round $i: the module is gone" module_gone
	tap_run "round $i: both ends are notified" load_ended "module$i"
	net_down
	tap_run "round $i: the module can be loaded again" modprobe "$XIW_LINK_TYPE"
done
((${#rounds[@]})) ||
	tap_skip "the module can be removed" "the driver is a part of the kernel"
net_up
links_up
works "after all this"
load_stop
tap_done
