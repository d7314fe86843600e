#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Tenants of one host: namespaces with equal addresses and ports, in the shared and in
# the exclusive mode of RDMA namespaces, and processes of other users.  No tenant can
# use or reach objects of another one, or gets events of them.
#
# xiw-kernel: uml
# xiw-packages: rdmacm-utils

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# A second pair of namespaces, with the same interfaces and addresses as xa and xb
TWIN_A=xc
TWIN_B=xd

# in_twin CMD...: runs a function of lib.sh for the second pair instead of xa and xb.
in_twin()
{
	local NS_A=$TWIN_A NS_B=$TWIN_B DEV_A=xiwC DEV_B=xiwD

	"$@"
}

mac()
{
	ip -n "$1" link show dev "$2" | awk '/link\/ether/ { print $2 }'
}

same_macs()
{
	ip -n "$TWIN_A" link set "$VETH_A" address "$(mac "$NS_A" "$VETH_A")" &&
	ip -n "$TWIN_B" link set "$VETH_B" address "$(mac "$NS_B" "$VETH_B")"
}

# serve NAME NS: starts a server on all addresses in NS, on port $at.
serve()
{
	start_server "$1" "$2" rping -s -p "$at" -C 2
	wait_listen "$1" "$2" "$at"
}

# ping_to NS ADDRESS: a client in NS connects to the server at ADDRESS, on port $at.
ping_to()
{
	in_ns "$1" rping -c -a "$2" -p "$at" -C 2
}

serves()
{
	kill -0 "${server_pid[$1]}"
}

# ---- listeners ----------------------------------------------------------

wildcard()
{
	local at

	at=$(free_port)
	tap_run "a listens on all its addresses" serve a "$NS_A"
	tap_run_not "no port is open in b" listening "$NS_B" "$at"
	tap_run "b listens on the same port" serve b "$NS_B"
	tap_run "b's client reaches a" ping_to "$NS_B" "$A4"
	tap_run "a served b's client" wait_server a
	tap_run "b still listens" serves b
	tap_run "a's client reaches b" ping_to "$NS_A" "$B4"
	tap_run "b served a's client" wait_server b
}

# later: the claims for a device on lo that is added while a server listens: first in xb,
# then in xa.
later()
{
	local at

	at=$(free_port)
	tap_run "a listens" serve a "$NS_A"
	tap_run "b gets another device" link_add "$NS_B" xiwE lo
	tap_run_not "no port is open in b" listening "$NS_B" "$at"
	link_del xiwE
	ip -n "$NS_A" addr add 10.78.1.1/32 dev lo
	tap_run "a gets another device" link_add "$NS_A" xiwE lo
	tap_run "a's listener accepts through it" ping_to "$NS_A" 10.78.1.1
	wait_server a
	link_del xiwE
}

# moves: the claims for a netdev that moves from xb to xa with its device.
moves()
{
	local at

	ip link add ea netns "$NS_B" type veth peer name eb netns "$NS_B"
	ip -n "$NS_B" addr add 10.78.2.2/24 dev eb
	ip -n "$NS_B" link set eb up
	link_add "$NS_B" xiwE ea
	link_add "$NS_B" xiwF eb
	at=$(free_port)
	tap_run "a listens" serve a "$NS_A"
	tap_run "a netdev moves from b to a" ip -n "$NS_B" link set ea netns "$NS_A"
	tap_run "the device of the netdev is removed" wait_for 20 dev_gone xiwE
	ip -n "$NS_A" addr add 10.78.2.1/24 dev ea
	ip -n "$NS_A" link set ea up
	tap_run "the netdev gets a device in a" link_add "$NS_A" xiwE ea
	wait_for 20 port_active xiwF
	tap_run "a's listener accepts through it" ping_to "$NS_B" 10.78.2.1
	wait_server a
	ip -n "$NS_A" link del ea
	wait_for 20 dev_gone xiwE
	wait_for 20 dev_gone xiwF
}

# ---- equal addresses ----------------------------------------------------

twins()
{
	local at

	in_twin net_up
	same_macs || bail "set-up: hardware addresses"
	in_twin links_up
	at=$(free_port)
	tap_run "equal addresses: a listens" serve a "$NS_A"
	tap_run "equal addresses: the twin of a listens" serve c "$TWIN_A"
	tap_run "equal addresses: the twin's client connects" \
		ping_to "$TWIN_B" "$A4"
	tap_run "equal addresses: the twin served its client" wait_server c
	tap_run "equal addresses: a still listens" serves a
	tap_run "equal addresses: b's client connects" ping_to "$NS_B" "$A4"
	tap_run "equal addresses: a served b's client" wait_server a
	pair_in_both
	in_twin links_down
	in_twin net_down
}

# pair_in_both: runs a server and a client in each pair of namespaces at the same time.
pair_in_both()
{
	local at

	at=$(free_port)
	start_server a "$NS_A" rping -s -a "$A4" -p "$at" -C 20
	start_server c "$TWIN_A" rping -s -a "$A4" -p "$at" -C 20
	wait_listen a "$NS_A" "$at"
	wait_listen c "$TWIN_A" "$at"
	start_server b "$NS_B" rping -c -a "$A4" -p "$at" -C 20
	start_server d "$TWIN_B" rping -c -a "$A4" -p "$at" -C 20
	tap_run "equal addresses and ports at a time: the client in b" \
		wait_server b
	tap_run "equal addresses and ports at a time: its twin" wait_server d
	tap_run "equal addresses and ports at a time: the server in a" \
		wait_server a
	tap_run "equal addresses and ports at a time: its twin" wait_server c
}

# ---- exclusive mode -----------------------------------------------------

# rootless MODE: the claims for rootless containers, to which the host has given devices,
# in that mode of RDMA namespaces.
rootless()
{
	local DEV_A=xiwG DEV_B=xiwH

	boxes_up
	[[ $1 == shared ]] || {
		rdma dev set $DEV_A netns $BOX_A && rdma dev set $DEV_B netns $BOX_B
	} || bail "set-up: devices of one container each"
	box_pair "rootless containers, $1: rping" rping -v -C 20
	tap_run_not "rootless containers, $1: devices are the host's to make" \
		in_box $BOX_A rdma link add xiwI type xiw netdev lo
	boxes_down
}

# own_link NS DEVICE NETDEV: adds a device that is visible in that namespace only.
own_link()
{
	link_add "$1" "$2" "$3" && rdma dev set "$2" netns "$1"
}

# squats: true if another program of the host can bind the port of connections
# by number.
squats()
{
	python3 -c 'import socket; socket.create_server(("10.99.0.1", 4791))' \
		2>/dev/null
}

not_squats()
{
	! squats
}

# returns: moves a device of the host to a namespace and back; true if the port for
# connections by number is reserved again afterwards.
returns()
{
	ip link add rsv0 type veth peer name rsv1 &&
	ip addr add 10.99.0.1/24 dev rsv0 && ip link set rsv0 up &&
	rdma link add xiwR type xiw netdev rsv0 && wait_for 10 not_squats &&
	ip netns attach xhost $$ && rdma dev set xiwR netns "$NS_A" &&
	in_a rdma dev set xiwR netns xhost && ip netns del xhost &&
	wait_for 10 not_squats &&
	rdma link del xiwR && wait_for 10 squats && ip link del rsv0
}

number_port_returns()
{
	tap_run "exclusive: the port is reserved when a device comes back" returns
}

exclusive()
{
	local at

	links_down
	net_down
	netns_mode exclusive ||
		{ tap_fail "the exclusive mode can be set"; return; }
	net_up
	number_port_returns
	at=$(free_port)
	own_link "$NS_A" xiwE lo || bail "set-up: a device of a alone"
	tap_run "exclusive: a listens" serve a "$NS_A"
	{
		own_link "$NS_A" "$DEV_A" "$VETH_A" &&
		own_link "$NS_B" "$DEV_B" "$VETH_B"
	} || bail "set-up: devices of one namespace each"
	tap_run_not "exclusive: no port is open in b" listening "$NS_B" "$at"
	tap_run "exclusive: b listens on the same port" serve b "$NS_B"
	tap_run "exclusive: b's client reaches a through the device that came" \
		ping_to "$NS_B" "$A4"
	tap_run "exclusive: a served b's client" wait_server a
	tap_run "exclusive: a's client reaches b" ping_to "$NS_A" "$B4"
	tap_run "exclusive: b served a's client" wait_server b
	in_a rdma link del xiwE
	in_a rdma link del "$DEV_A"
	in_b rdma link del "$DEV_B"
	net_down
	rootless exclusive
	netns_mode shared || tap_fail "the shared mode can be set again"
}

topo_up
wildcard
later
moves
twins
rootless shared
cases xt_tenants "${SIDES4[@]}"
cases -p IPv6 xt_tenants "${SIDES6[@]}" -t loopback -t taken -t shared
exclusive
tap_done
