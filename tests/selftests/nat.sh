#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A service address that a router translates (DNAT), and clients that it hides
# behind its own (masquerading): rdma_cm connects through both, in both families.
# By queue pair number neither end finds the other, and the log says why.
#
# xiw-kernel: uml debug

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# Service addresses: no host has them, and xb routes them to the router.
SERVICE4=10.99.0.1
SERVICE6=fd99::1
# The addresses from which the server sees all clients: it has no route to their own.
ROUTER4=10.88.0.1
ROUTER6=fd88::1
# By number, the end with the lesser address connects: make that the client.
B4=10.66.0.2
B6=fd66::2

router_up()
{
	modprobe tun
	"$SELFTESTS/nat_router.py" "$VETH_A" "$VETH_B" \
		"$SERVICE4=$A4" "$SERVICE6=$A6" \
		"masquerade=$ROUTER4" "masquerade=$ROUTER6" >"$TMP/router" 2>&1 &
	wait_for 20 grep -q ready "$TMP/router" || bail "set-up: no router"
	{
		ip link set "$VETH_A" netns "$NS_A" &&
		ip link set "$VETH_B" netns "$NS_B" &&
		peer_up "$NS_A" "$VETH_A" "$A4" "$A6" &&
		peer_up "$NS_B" "$VETH_B" "$B4" "$B6" &&
		ip -n "$NS_A" route add $ROUTER4 dev "$VETH_A" &&
		ip -n "$NS_A" route add $ROUTER6 dev "$VETH_A" &&
		ip -n "$NS_B" route add default dev "$VETH_B" &&
		ip -n "$NS_B" -6 route add default dev "$VETH_B"
	} || bail "set-up: the interfaces"
}

# veth_up: replaces that of lib.sh, which net_up calls: joins the namespaces by the
# router.
veth_up()
{
	router_up
}

# through WHAT SERVER SERVICE: the claims that a server at address SERVER is reached at
# address SERVICE.
through()
{
	pair "$1: rping" "rping -s -V -a $2 -p @PORT@ -C 10 -S 20000" \
		"rping -c -V -a $3 -p @PORT@ -C 10 -S 20000"
}

# by_number WHAT INDEX_A INDEX_B SERVER ROUTER: the claims that a connection by number,
# with these GID indices, fails at the client, and that the log names the cause.
by_number()
{
	local src crc

	run_pair "$NS_A" "$NS_B" \
		"ibv_rc_pingpong -d $DEV_A -g $2 -p @PORT@ -n 10" \
		"ibv_rc_pingpong -d $DEV_B -g $3 -p @PORT@ -n 10 $4"
	((src && crc && crc < 124))
	tap_result $? "$1: by number the client fails" ||
		tap_show "$TMP/client.log"
	tap_run "$1: the server's log says why" log_says \
		"connection by number from $5 refused: it is for GIDs"
}

topo_up
objects >"$TMP/baseline"
through IPv4 "$A4" $SERVICE4
through IPv6 "$A6" $SERVICE6
through "a server of all addresses, IPv4" 0.0.0.0 $SERVICE4
through "a server of all addresses, IPv6" :: $SERVICE6
through "masquerading alone" "$A4" "$A4"
pair "ucmatose: ten connections at once" \
	"ucmatose -b $A4 -p @PORT@ -c 10 -C 3 -S 500" \
	"ucmatose -s $SERVICE4 -p @PORT@ -c 10 -C 3 -S 500"
for prog in ib_send_bw ib_write_bw ib_read_bw; do
	pair "$prog" "$prog -R -d $DEV_A -p @PORT@ -s 65536 -n 20 -F" \
		"$prog -R -d $DEV_B -p @PORT@ -s 65536 -n 20 -F $SERVICE4"
done
by_number IPv4 "$(gid_index "$DEV_A" "$(gid4 "$A4")")" \
	"$(gid_index "$DEV_B" "$(gid4 "$B4")")" $SERVICE4 "::ffff:$ROUTER4"
by_number IPv6 \
	"$(gid_index "$DEV_A" fd77:0000:0000:0000:0000:0000:0000:0001)" \
	"$(gid_index "$DEV_B" fd66:0000:0000:0000:0000:0000:0000:0002)" \
	$SERVICE4 $ROUTER6
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
