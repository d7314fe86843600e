#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Requests that arrive on one interface for the address of another: service
# addresses on a dummy interface or on lo, and two interfaces of one subnet.  A
# server that listens everywhere gets them on the device of the address, or they
# are refused, counted and logged.
#
# xiw-kernel: uml

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

SERVICE4=10.99.0.1
SERVICE6=fd99::1

# service NETDEV: adds service addresses to an interface of xa that receives no packets,
# and the route of xb to these addresses.
service()
{
	[[ $1 == lo ]] || ip -n "$NS_A" link add "$1" type dummy
	{
		ip -n "$NS_A" addr add $SERVICE4/32 dev "$1" &&
		ip -n "$NS_A" addr add $SERVICE6/128 dev "$1" nodad &&
		ip -n "$NS_A" link set "$1" up &&
		ip -n "$NS_B" route replace $SERVICE4 via "$A4" &&
		ip -n "$NS_B" route replace $SERVICE6 via "$A6"
	} || bail "set-up: the addresses of $1"
}

# serve ADDRESS [DEV]: starts a server for several clients, on $PORT. On DEV, if given,
# that port uses SCTP.
serve()
{
	PORT=$(free_port)
	[[ ! ${2:-} ]] || echo "$PORT" >"/sys/class/infiniband/$2/mpa/sctp_ports"
	start_server rping "$NS_A" rping -s -P -a "$1" -p "$PORT"
	wait_listen rping "$NS_A" "$PORT" || bail "set-up: no server"
}

# client ADDRESS: true if a client in xb connects to the server at that address.
client()
{
	in_b rping -c -V -a "$1" -p "$PORT" -C 10 -S 20000
}

# refused ADDRESS: true if the client's connect fails at once.
refused()
{
	client "$1" 2>&1 | grep -q 'REJECTED, error -111'
}

# nowhere: the claims for an address of an interface without a device: all is refused.
nowhere()
{
	local before

	service dm0
	before=$(counter "$DEV_A" connections_misrouted)
	serve ::
	tap_run "no device there: IPv4 is refused" refused $SERVICE4
	tap_run "no device there: IPv6 is refused" refused $SERVICE6
	tap_is "no device there: both are counted" \
		"$(counter "$DEV_A" connections_misrouted)" "$((before + 2))"
	tap_run "no device there: the log names the interface" log_says \
		"refused a connection to $SERVICE4:$PORT, an address of dm0"
	tap_run "no device there: others connect" client "$A4"
	stop_server rping
}

# there WHAT NETDEV: the claims for an address of an interface with a device.
there()
{
	tap_run "$1: a device" link_add "$NS_A" xiwC "$2"
	wait_for 20 port_active xiwC || bail "set-up: $1"
	serve ::
	tap_run "$1: IPv4 works" client $SERVICE4
	tap_run "$1: IPv6 works" client $SERVICE6
	tap_is "$1: both were accepted by the device of the address" \
		"$(counter xiwC connections_passive)" 2
	tap_run "$1: the other address works" client "$A4"
	tap_run "$1: the other IPv6 address works" client "$A6"
	stop_server rping
	serve $SERVICE4
	tap_run "$1: a server bound to the address works" client $SERVICE4
	stop_server rping
	tap_is "$1: nothing was refused" \
		"$(counter xiwC connections_misrouted)" 0
}

# other_protocol: the claims if the port uses TCP on the device where the request
# arrives, and SCTP on the device of the address.
other_protocol()
{
	modprobe -q sctp || [[ -e /proc/net/sctp ]] || return 0
	serve :: xiwC
	tap_run "SCTP there: TCP is refused" refused $SERVICE4
	tap_run "SCTP there: TCP works here" client "$A4"
	stop_server rping
	echo >/sys/class/infiniband/xiwC/mpa/sctp_ports
}

dummy()
{
	there dummy dm0
	other_protocol
	tap_run "dummy: the device can be deleted" link_del xiwC
	ip -n "$NS_A" link del dm0
}

loopback()
{
	service lo
	there lo lo
	serve ::
	tap_run "lo: the host connects to its own address" in_a rping -c -V \
		-a "$A4" -p "$PORT" -C 10 -S 20000
	stop_server rping
	tap_run "lo: the device can be deleted" link_del xiwC
}

# one_subnet: the claims for two interfaces in one subnet. By "ARP flux" the client may
# send packets for the address of one interface to the other one.
one_subnet()
{
	local address=10.77.0.3 mac

	{
		ip link add vc netns "$NS_A" type veth peer name vd netns "$NS_B" &&
		ip -n "$NS_A" addr add $address/24 dev vc &&
		ip -n "$NS_A" link set vc up &&
		ip -n "$NS_B" link set vd up
	} || bail "set-up: another interface"
	mac=$(ip netns exec "$NS_A" cat "/sys/class/net/$VETH_A/address")
	ip -n "$NS_B" neigh replace $address lladdr "$mac" dev "$VETH_B" ||
		bail "set-up: the neighbour"
	tap_run "one subnet: a device" link_add "$NS_A" xiwC vc
	wait_for 20 port_active xiwC || bail "set-up: one subnet"
	serve 0.0.0.0
	tap_run "one subnet: the address of the other interface" client $address
	tap_run "one subnet: the address of this one" client "$A4"
	stop_server rping
	tap_run "one subnet: the device can be deleted" link_del xiwC
	ip -n "$NS_A" link del vc
}

topo_up
nowhere
dummy
loopback
one_subnet
tap_done
