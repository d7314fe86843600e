#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Another RDMA device on the interface of an xiw device, as while a host moves
# from siw to xiw: servers of all addresses and of one, and clients of both ends.
#
# xiw-kernel: uml

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# meets WHAT [ADDRESS]: the claim is that a client in xb reaches a server in xa, which
# listens on all addresses, or on ADDRESS.
meets()
{
	pair "$1" "rping -s -V ${2:+-a $2} -p @PORT@ -C 10 -S 20000" \
		"rping -c -V -a ${2:-$A4} -p @PORT@ -C 10 -S 20000"
}

# one_address WHAT: the claims that rdma_cm chooses the xiw device for a server, and for
# a client, that binds to a single address.
one_address()
{
	meets "$1: a server of one address" "$A4"
	pair -r "$1: a client beside it" \
		"rping -s -V -a $B4 -p @PORT@ -C 10 -S 20000" \
		"rping -c -V -a $B4 -p @PORT@ -C 10 -S 20000"
}

topo_up
in_a rdma link add siwA type siw netdev "$VETH_A" || bail "set-up: siw"
# siw's listener fails, so rdma_cm ends that of xiw.
in_a timeout 20 rping -s -p 7179 >"$TMP/both" 2>&1
tap_run "xiw, then siw: a server of all addresses gets an error" \
	grep -q 'rdma_listen: Address already in use' "$TMP/both"
one_address "xiw, then siw"

link_del "$DEV_A"
{
	link_add "$NS_A" "$DEV_A" "$VETH_A" && wait_for 20 port_active "$DEV_A"
} || bail "set-up: xiw after siw"
meets "siw, then xiw: a server of all addresses"
tap_run "siw, then xiw: the log names the device that has the listener" \
	log_says "$DEV_A: siwA on the same interface has the listener for 0.0.0.0:"
one_address "siw, then xiw"
start_server loopback "$NS_A" rping -s -a 127.0.0.1 -p 7180
tap_run "siw, then xiw: a server of a loopback address listens" \
	wait_listen loopback "$NS_A" 7180
stop_server loopback
start_server plain "$NS_A" python3 -c "
import signal, socket
s = socket.create_server(('', 7181))
print('bound', flush=True)
signal.pause()"
wait_for 20 grep -q bound "$TMP/plain.log" || bail "set-up: a plain socket"
in_a timeout 20 rping -s -p 7181 >"$TMP/both" 2>&1
tap_run "siw, then xiw: a server cannot listen on a port of TCP" \
	grep -q 'Address already in use' "$TMP/both"
stop_server plain

rdma link del siwA
before=$(counter "$DEV_A" connections_passive)
meets "without siw a server of all addresses"
tap_is "without siw the request arrives on the xiw device" \
	"$(counter "$DEV_A" connections_passive)" $((before + 1))

# RoCE does not use TCP, so the two listeners do not conflict.  Only the server's side
# has rxe: a client on rxe could not connect to an xiw device.
in_a rdma link add rxeA type rxe netdev "$VETH_A" || bail "set-up: rxe"
before=$(counter "$DEV_A" connections_passive)
meets "with rxe a server of all addresses"
tap_is "with rxe the request arrives on the xiw device" \
	"$(counter "$DEV_A" connections_passive)" $((before + 1))
rdma link del rxeA
tap_done
