#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Link-local GIDs of hosts with several interfaces: programs choose a GID by its address
# and its interface, and connect by number (xt_zone). The connection uses that interface,
# also if another one has the same address, a VLAN for example. So do those of rdma_cm.
#
# xiw-kernel: uml

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

MIB=1048576

# rx NETDEV: prints the bytes that a netdev of xa has received.
rx()
{
	ip netns exec "$NS_A" cat "/sys/class/net/$1/statistics/rx_bytes"
}

# own NS NETDEV: prints the link-local address that the netdev has made itself.
own()
{
	ip -n "$1" -6 -o addr show dev "$2" scope link -tentative |
		sed -n 's,.* inet6 \(fe80::[^/ ]*:[^/ ]*\)/.*,\1,p' | head -n 1
}

has_own()
{
	[[ -n $(own "$1" "$2") ]]
}

# carried NETDEV DEVICE PEER OTHER ADDRESS_A ADDRESS_B NETDEV_B: true if a connection
# between ADDRESS_A on NETDEV and ADDRESS_B on NETDEV_B is between these two devices, and
# the data has arrived through NETDEV and not through OTHER.
carried()
{
	local here there device

	here=$(rx "$1") there=$(rx "$4") device=$(counter "$2" rx_bytes)
	xt_zone works "$NS_A/$5%$1" "$NS_B/$6%$7" | tee "$TMP/zone" &&
	[[ $(<"$TMP/zone") == "$2 $3" ]] &&
	(($(counter "$2" rx_bytes) >= device + MIB)) &&
	(($(rx "$1") >= here + MIB && $(rx "$4") < there + MIB / 2))
}

# link_up NS NETDEV DEVICE ADDRESS...: adds link-local addresses and a device.
link_up()
{
	local ns=$1 netdev=$2 dev=$3 address

	shift 3
	for address in "$@"; do
		ip -n "$ns" addr add "$address/64" dev "$netdev" nodad || return
	done
	ip -n "$ns" link set "$netdev" up &&
	wait_for 20 has_own "$ns" "$netdev" &&
	{ dev_exists "$dev" || link_add "$ns" "$dev" "$netdev"; } &&
	wait_for 20 port_active "$dev"
}

# has DEVICE GID
has()
{
	gid_index "$1" "fe80:0000:0000:0000:0000:0000:0000:$2"
}

two_interfaces()
{
	{
		ip link add vc netns "$NS_A" type veth peer name vd netns "$NS_B" &&
		ip -n "$NS_B" link set vd up &&
		link_up "$NS_A" "$VETH_A" "$DEV_A" fe80::a &&
		link_up "$NS_B" "$VETH_B" "$DEV_B" fe80::b &&
		link_up "$NS_A" vc xiwC fe80::a &&
		link_up "$NS_B" vd xiwD fe80::b fe80::d &&
		wait_for 20 has "$DEV_A" 000a && wait_for 20 has "$DEV_B" 000b &&
		wait_for 20 has xiwC 000a && wait_for 20 has xiwD 000d
	} || bail "set-up: two interfaces"
	tap_run "an address of its own on each interface: the first one" \
		carried "$VETH_A" "$DEV_A" "$DEV_B" vc \
		"$(own "$NS_A" "$VETH_A")" "$(own "$NS_B" "$VETH_B")" "$VETH_B"
	tap_run "  the second one" carried vc xiwC xiwD "$VETH_A" \
		"$(own "$NS_A" vc)" "$(own "$NS_B" vd)" vd
	tap_run "the same address on both interfaces: the first one" \
		carried "$VETH_A" "$DEV_A" "$DEV_B" vc fe80::a fe80::b "$VETH_B"
	tap_run "  the second one" carried vc xiwC xiwD "$VETH_A" \
		fe80::a fe80::b vd
}

# serve NAME ADDRESS: starts a server for several clients, on $PORT.
serve()
{
	start_server "$1" "$NS_A" rping -s -P -a "$2" -p "$PORT"
}

# client NETDEV_B: true if a client connects to fe80::a on the link of NETDEV_B.
client()
{
	in_b rping -c -V -a "fe80::a%$1" -p "$PORT" -C 10 -S 20000
}

refused()
{
	client "$1" 2>&1 | grep -q 'REJECTED, error -111'
}

# refused_and_logged NETDEV_B: as refused, with the reason in the log. Before the server
# listens, nothing is logged.
refused_and_logged()
{
	refused "$1" &&
	log_says "[fe80::a]:$PORT, an address of $VETH_A, which has no xiw device"
}

# Of interfaces with the same address rdma_cm finds the first one for a request, without
# regard to the zone.
by_rdma_cm()
{
	local before

	PORT=$(free_port)
	serve first "fe80::a%$VETH_A"
	wait_listen first "$NS_A" "$PORT" || bail "set-up: the first server"
	before=$(counter "$DEV_A" connections_passive)
	tap_run "rdma_cm, a server on the first interface" client "$VETH_B"
	tap_is "  on its device" \
		"$(counter "$DEV_A" connections_passive)" "$((before + 1))"
	tap_run "  the other link does not reach it" refused vd
	serve second "fe80::a%vc"
	tap_run "  one on the second interface is refused, and logged" \
		wait_for 20 refused_and_logged vd
	tap_run "  the first one still serves its own link" client "$VETH_B"
	stop_server first
	stop_server second
	PORT=$(free_port)
	serve both ::
	wait_listen both "$NS_A" "$PORT" || bail "set-up: the server of both"
	tap_run "  one of all addresses: the first link" client "$VETH_B"
	tap_run "  and the second link" client vd
	stop_server both
}

# With the greater address in xa that end waits, and the other one connects.
wrong_zone()
{
	tap_run "an address of another link: both ends fail" \
		xt_zone fails "$NS_A/fe80::a%$VETH_A" "$NS_B/fe80::d%vd"
	tap_run "  the other end connects" \
		xt_zone fails "$NS_B/fe80::b%$VETH_B" "$NS_A/$(own "$NS_A" vc)%vc"
	tap_run "an address that this link has as well: both ends fail" \
		xt_zone fails "$NS_A/fe80::a%$VETH_A" "$NS_B/fe80::b%vd"
	tap_run "the right zone still works" \
		carried "$VETH_A" "$DEV_A" "$DEV_B" vc fe80::a fe80::b "$VETH_B"
}

# A VLAN has the link-local address of the interface below.
vlan()
{
	{
		ip -n "$NS_A" link add link "$VETH_A" name va.7 type vlan id 7 &&
		ip -n "$NS_B" link add link "$VETH_B" name vb.7 type vlan id 7 &&
		ip -n "$NS_B" link set vb.7 up &&
		link_up "$NS_A" va.7 xiwV && link_up "$NS_B" vb.7 xiwW
	} || bail "set-up: the VLAN"
	tap_is "a VLAN has the address of the interface below" \
		"$(own "$NS_A" va.7)" "$(own "$NS_A" "$VETH_A")"
	tap_run "through the VLAN" carried va.7 xiwV xiwW vc \
		"$(own "$NS_A" va.7)" "$(own "$NS_B" vb.7)" vb.7
	tap_run "beside the VLAN" carried "$VETH_A" "$DEV_A" "$DEV_B" va.7 \
		"$(own "$NS_A" "$VETH_A")" "$(own "$NS_B" "$VETH_B")" "$VETH_B"
	link_del xiwV
	link_del xiwW
}

bridge()
{
	{
		link_del xiwC && ip -n "$NS_A" link add br0 type bridge &&
		ip -n "$NS_A" link set vc master br0 &&
		ip -n "$NS_A" addr flush dev vc &&
		link_up "$NS_A" br0 xiwC fe80::a
		wait_for 20 has xiwC 000a
	} || bail "set-up: the bridge"
	tap_run "through a bridge" carried br0 xiwC xiwD "$VETH_A" \
		fe80::a fe80::b vd
	tap_run "beside the bridge" carried "$VETH_A" "$DEV_A" "$DEV_B" br0 \
		fe80::a fe80::b "$VETH_B"
}

# held NETDEV: true if no program can bind the port of connections by number there,
# because another socket has it.
held()
{
	python3 -c 'import errno, socket, sys
s = socket.socket(socket.AF_INET6)
try:
    s.bind(("fe80::a", 4791, 0, socket.if_nametoindex(sys.argv[1])))
except OSError as e:
    sys.exit(e.errno != errno.EADDRINUSE)
sys.exit(1)' "$1"
}

# On the host the port is reserved at each address of each device.
reserved()
{
	ip link add rsv0 type veth peer name rsv1 &&
	ip addr add fe80::a/64 dev rsv0 nodad &&
	ip addr add fe80::a/64 dev rsv1 nodad &&
	ip link set rsv0 up && ip link set rsv1 up &&
	rdma link add xiwR type xiw netdev rsv0 &&
	rdma link add xiwS type xiw netdev rsv1 &&
	wait_for 10 held rsv0 && wait_for 10 held rsv1 &&
	ip link del rsv0
}

topo_up
objects >"$TMP/baseline"
two_interfaces
wrong_zone
by_rdma_cm
vlan
bridge
tap_run "on the host the port is reserved at the address of both interfaces" reserved
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
