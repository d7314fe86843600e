#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The TCP port of connections by number: closed unless a Responder exists, and no other
# program gets it, whatever happens to the address. The same of rdma_cm's ports in a VRF.
#
# Covers: RDV-21
# xiw-kernel: uml debug
# xiw-timeout: 300

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

PORT=4791

# A program ADDRESS PORT OPTION...: fails if it cannot listen there. Options: reuse (the
# address), free (it need not be there), keep (the port, until it is killed), bind (do not
# listen), or a netdev. A link-local address needs its zone, or a netdev.
SQUATS='import socket, sys, time
address, port, *options = sys.argv[1:]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
s = socket.socket(family)
for o in options:
    if o == "reuse":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    elif o == "free":
        s.setsockopt(socket.IPPROTO_IP, 15, 1)
    elif o not in ("keep", "bind"):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, o.encode())
try:
    s.bind(socket.getaddrinfo(address, int(port), family, socket.SOCK_STREAM)[0][4])
    if "bind" not in options:
        s.listen()
except OSError as e:
    print(e)
    sys.exit(1)
print("squats", flush=True)
if "keep" in options:
    time.sleep(1000)'
# Without privileges
SQUATTER=(setpriv --reuid 65534 --regid 65534 --clear-groups python3 -c "$SQUATS")

# squats NS ADDRESS PORT OPTION...: true if such a program can listen there.
squats()
{
	in_ns "$1" "${SQUATTER[@]}" "${@:2}"
}

# in_use ...: true if such a program cannot, because another socket has the port.
in_use()
{
	squats "$@" >"$TMP/squats.log" 2>&1 && return 1
	grep "Address already in use" "$TMP/squats.log"
}

# taken NS ADDRESS PORT [NETDEV]: true if no such program can listen there, in any way;
# the address may be away.
taken()
{
	in_use "$@" free && in_use "$@" free reuse && ! squats "$@" && ! squats "$@" reuse
}

# squatter NAME NS ADDRESS PORT OPTION...: starts a program that squats and keeps the port.
squatter()
{
	start_server "$1" "$2" "${SQUATTER[@]}" "${@:3}" keep
	wait_for 20 server_says squats "$1"
}

# responder SIDE [DEVICE [NAME]]: starts a Responder at SIDE for a peer that does not exist.
responder()
{
	local name=${3-tries}

	start_here "$name" xt_tries 1 "$1" 10.1.0.1 1 "${@:2:1}"
	wait_for "$XIW_TIMEOUT" server_says "trying\|error" "$name"
	cat "$TMP/$name.log"
	server_says trying "$name"
}

open_port()
{
	in_ns "$1" ss -Hltn "sport = :$PORT" | grep -q .
}

closed_port()
{
	! open_port "$1"
}

# opens NS ADDRESS: the port is open while a Responder exists, and never free.
opens()
{
	closed_port "$1" && taken "$1" "$2" "$PORT" && taken "$1" 0.0.0.0 "$PORT" &&
	responder "$1/$2" && open_port "$1" && taken "$1" "$2" "$PORT"
	local rc=$?
	ends tries
	((rc == 0)) && wait_for 10 closed_port "$1" && taken "$1" "$2" "$PORT"
}

# ends NAME: stops a server, if it was started.
ends()
{
	[[ ! -v server_pid[$1] ]] || stop_server "$1"
}

added()
{
	link_add "$NS_A" "$DEV_A" "$VETH_A" && wait_for 10 port_active "$DEV_A" &&
	wait_for 10 has_gid
}

# A program that has bound the address before, without listening, does not stop a
# Responder.
binds_too()
{
	rdma link del "$DEV_A" && squatter binds "$NS_A" "$A4" "$PORT" reuse bind &&
	added && responder "$NS_A/$A4" && open_port "$NS_A"
	local rc=$?
	ends tries
	ends binds
	return "$rc"
}

no_gid()
{
	! gid_index "$DEV_A" "$(gid4 "$A4")"
}

has_gid()
{
	gid_index "$DEV_A" "$(gid4 "$A4")"
}

# taken_for SECONDS ...: as taken, for some time
taken_for()
{
	local end=$((SECONDS + $1))

	shift
	while ((SECONDS < end)); do
		taken "$@" || return
	done
}

away()
{
	ip -n "$NS_A" addr del "$A4/24" dev "$VETH_A" && wait_for 10 no_gid &&
	taken_for 3 "$NS_A" "$A4" "$PORT" &&
	ip -n "$NS_A" addr add "$A4/24" dev "$VETH_A" && taken "$NS_A" "$A4" "$PORT" &&
	wait_for 10 has_gid && responder "$NS_A/$A4" && open_port "$NS_A"
	local rc=$?
	ends tries
	return "$rc"
}

link_down()
{
	ip -n "$NS_A" link set "$VETH_A" down && taken_for 2 "$NS_A" "$A6" "$PORT"
	local rc=$?
	ip -n "$NS_A" link set "$VETH_A" up &&
	ip -n "$NS_A" addr add "$A6/64" dev "$VETH_A" nodad
	return "$rc"
}

logged()
{
	log_since | grep "TCP port $PORT of .*is another program's"
}

# Another program has the port when the device is made, and ends later.
before()
{
	rdma link del "$DEV_A" && squatter before "$NS_A" "$A4" "$PORT" || return
	log_mark
	added && wait_for 10 logged &&
	! responder "$NS_A/$A4" && server_says "Address already in use" tries
	local rc=$?
	ends tries
	ends before
	((rc == 0)) && wait_for 20 taken "$NS_A" "$A4" "$PORT"
}

# Only one of two devices with the address has Responders there at a time.
one_at_a_time()
{
	responder "$NS_A/$A4" "$DEV_A" &&
	! responder "$NS_A/$A4" xiwS second && server_says "Address already in use" second
	local rc=$?
	ends second
	ends tries
	((rc == 0)) && wait_for 10 closed_port "$NS_A" &&
	responder "$NS_A/$A4" xiwS second
	rc=$?
	ends second
	return "$rc"
}

same_address()
{
	ip -n "$NS_A" link add same type veth peer name emas &&
	ip -n "$NS_A" addr add "$A4/32" dev same &&
	ip -n "$NS_A" link set same up && ip -n "$NS_A" link set emas up &&
	log_mark && link_add "$NS_A" xiwS same && wait_for 10 port_active xiwS &&
	! log_since | grep "another program's" && taken "$NS_A" "$A4" "$PORT" &&
	one_at_a_time
	local rc=$?
	ip -n "$NS_A" link del same
	((rc == 0)) && taken "$NS_A" "$A4" "$PORT"
}

enters_vrf()
{
	ip -n "$NS_A" link add red type vrf table 77 &&
	ip -n "$NS_A" link set red up && ip -n "$NS_A" link set "$VETH_A" master red &&
	wait_for 10 taken "$NS_A" "$A4" "$PORT" red &&
	wait_for 10 taken "$NS_A" "$A4" "$PORT" "$VETH_A" &&
	wait_for 10 port_active "$DEV_A"
}

# own: prints the link-local address of the interface.
own()
{
	ip -n "$NS_A" -6 -o addr show dev "$VETH_A" scope link -tentative |
		sed -n 's,.* inet6 \(fe80::[^/ ]*\)/.*,\1,p' | head -n 1
}

has_own()
{
	[[ -n $(own) ]]
}

link_local_in_vrf()
{
	local own

	wait_for 20 has_own && own=$(own) &&
	wait_for 10 taken "$NS_A" "$own%$VETH_A" "$PORT" &&
	wait_for 10 taken "$NS_A" "$own" "$PORT" red
}

# A port of rdma_cm that is listened on at an interface of the VRF.
rdma_cm_in_vrf()
{
	local port

	port=$(free_port)
	start_server rping "$NS_A" rping -s -a "$1" -p "$port" &&
	wait_listen rping "$NS_A" "$port" && taken "$NS_A" "$1" "$port" red
	local rc=$?
	ends rping
	return "$rc"
}

# As with any listener, the program that was there first keeps the port.
server_first()
{
	local port

	port=$(free_port)
	squatter first "$NS_A" "$A4" "$port" red && ! in_a rping -s -a "$A4" -p "$port"
	local rc=$?
	ends first
	return "$rc"
}

# An administrator ends the socket that listens (ss -K).
listens_again()
{
	local port

	port=$(free_port)
	start_server rping "$NS_A" rping -s -P -a "$A4" -p "$port" &&
	wait_listen rping "$NS_A" "$port" &&
	in_a ss -HKltn "sport = :$port" | grep -q . &&
	wait_for 10 listening "$NS_A" "$port" &&
	in_b rping -c -a "$A4" -p "$port" -C 3
	local rc=$?
	ends rping
	return "$rc"
}

topo_up
tap_run "the address is a GID" wait_for 20 has_gid
objects >"$TMP/baseline"
tap_run "in a namespace the port is open only for a Responder, and never free" \
	opens "$NS_A" "$A4"
tap_run "a program that has bound the address does not stop a Responder" binds_too
tap_run "the port is not free while the address is away" away
tap_run "  nor while the link is down, over IPv6" link_down
tap_run "a port that another program had is taken when that ends" before
tap_run "two devices with one address share the port" same_address
tap_run "a listener of rdma_cm that an administrator has ended listens again" \
	listens_again
tap_run "in a VRF, no program takes the port at the VRF or at the interface" enters_vrf
tap_run "  nor that of a listener of rdma_cm" rdma_cm_in_vrf "$A4"
tap_run "  nor of one with the wildcard address" rdma_cm_in_vrf 0.0.0.0
tap_run "  nor that of connections by number at a link-local address" link_local_in_vrf
tap_run "  and a program that was there first keeps its own" server_first
ip -n "$NS_A" link del red
tap_run "outside of the VRF the port is held again" \
	wait_for 10 taken "$NS_A" "$A4" "$PORT"
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
