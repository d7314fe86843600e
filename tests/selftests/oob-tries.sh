#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Queue pairs of one user that connect by number, again and again: others keep their
# ports, CPU time and connections.
#
# Covers: RDV-27
# xiw-kernel: uml
# xiw-timeout: 300

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

MANY=4000

# tries COUNT PEER SPREAD [again]: starts the queue pairs, in xa, of a user without
# privileges. The lesser address is that of the Initiator.
tries()
{
	start_here tries prlimit --memlock=unlimited \
		xt_tries "$1" "$NS_A/$A4" "${@:2}"
	wait_for "$XIW_TIMEOUT" server_says "trying\|error" tries && server_says trying tries
}

# connects ADDRESS PORT: true if five programs, one after the other, can connect.
connects()
{
	in_a python3 -c 'import socket, sys
for _ in range(5):
    socket.create_connection((sys.argv[1], int(sys.argv[2])))' "$1" "$2"
}

# selves COUNT: at least so many queue pairs of xa are connected to themselves.
selves()
{
	(($(in_a ss -Htn state established "src $A4 and dst $A4" | wc -l) >= $1))
}

# ports_left COUNT PEER SPREAD COMMAND...: with ten local ports, queue pairs name such
# peers, and COMMAND becomes true.
ports_left()
{
	local port rc

	port=$(free_port)
	start_server tcp "$NS_B" python3 -c 'import socket, sys
s = socket.create_server(("", int(sys.argv[1])))
while True: s.accept()' "$port"
	wait_listen tcp "$NS_B" "$port" &&
	ip netns exec "$NS_A" sysctl -qw net.ipv4.ip_local_port_range="50000 50009" &&
	tries "${@:1:3}" && wait_for 10 "${@:4}" &&
	connects "$B4" "$port"
	rc=$?
	ip netns exec "$NS_A" sysctl -qw net.ipv4.ip_local_port_range="32768 60999"
	stop_server tcp
	stop_server tries
	return "$rc"
}

# syns: prints how many sockets of xa wait for an answer to their SYN.
syns()
{
	in_a ss -Htn state syn-sent | wc -l
}

syns_sent()
{
	(($(syns) >= $1))
}

# 1500 is more than a user may have in progress.
bounded_number()
{
	local most=0 n _

	tries 1500 10.77.0.100 100 || return
	for _ in {1..20}; do
		n=$(syns)
		((n <= most)) || most=$n
		sleep 0.1
	done
	echo "most: $most"
	((most > 900 && most <= 1024))
}

# pingpong USER: true if an Initiator of the user can connect.
pingpong()
{
	local port

	port=$(free_port)
	start_server pong "$NS_B" ibv_rc_pingpong -d "$DEV_B" \
		-g "$(gid_index "$DEV_B" "$(gid4 "$B4")")" -p "$port" -n 10 &&
	wait_listen pong "$NS_B" "$port" &&
	in_a setpriv --reuid "$1" --clear-groups \
		ibv_rc_pingpong -d "$DEV_A" \
		-g "$(gid_index "$DEV_A" "$(gid4 "$A4")")" -p "$port" -n 10 "$B4" &&
	wait_server pong
}

# failed COUNT: so many connections have failed on device A.
failed()
{
	(($(counter "$DEV_A" connections_failed) >= $1))
}

# rate: prints the connections that fail on device A in a second, measured for three.
rate()
{
	local before begin=${EPOCHREALTIME/.}

	before=$(counter "$DEV_A" connections_failed)
	sleep 3
	echo $((($(counter "$DEV_A" connections_failed) - before) * 1000000 /
		(${EPOCHREALTIME/.} - begin)))
}

# A peer that refuses at once. Once the pauses have grown to a second, each queue pair
# would try once a second. The first tries of all, in their process, are not limited, nor
# is the burst behind them.
bounded_rate()
{
	local n

	n=$(counter "$DEV_A" connections_failed)
	tries "$MANY" 10.77.0.9 1 && wait_for 60 failed $((n + 2 * MANY)) || return
	n=$(rate)
	echo "$n a second"
	((n > 200 && n < 2500))
}

# An Initiator of the same user that is earlier than its Responder, and has to try again.
early()
{
	local begin port rc

	port=$(free_port)
	start_server early "$NS_A" setpriv --reuid 65534 --clear-groups \
		ibv_rc_pingpong -d "$DEV_A" \
		-g "$(gid_index "$DEV_A" "$(gid4 "$A4")")" -p "$port" -n 10 &&
	wait_listen early "$NS_A" "$port" || return
	begin=$SECONDS
	in_b timeout 20 ibv_rc_pingpong -d "$DEV_B" \
		-g "$(gid_index "$DEV_B" "$(gid4 "$B4")")" -p "$port" -n 10 "$A4"
	rc=$?
	echo "$((SECONDS - begin)) seconds"
	((rc == 0)) || stop_server early
	((rc == 0)) && wait_server early && ((SECONDS - begin <= 10))
}

# rounds COUNT: the queue pairs have been reset and named a peer again so often.
rounds()
{
	(($(grep -c round "$TMP/tries.log") >= $1))
}

# Queue pairs that are reset before it is their turn
restarts()
{
	tries 1000 10.77.0.9 1 again && wait_for 60 rounds 5 && early
}

rpings()
{
	local src crc

	run_pair "$NS_B" "$NS_A" "rping -s -a $B4 -p @PORT@ -C 3" \
		"rping -c -a $B4 -p @PORT@ -C 3"
	((src == 0 && crc == 0))
}

# busy: at 10.77.0.9, refuses Requests for lack of room, and does not answer those from
# a privileged port, so that the kernel keeps that.
busy()
{
	start_server busy "$NS_A" python3 -c 'import socket, struct, threading
def serve(c, port):
    req = b""
    while len(req) < 24 + 72 - 4:
        req += c.recv(100)
    if port < 1024:
        return
    c.sendall(b"MPA ID Rep Frame" + bytes.fromhex("700200308080c001")
              + b"XRDV" + bytes([2, 0, 0, 0]) + req[32:40] + bytes(8)
              + bytes([6]) + bytes(19))
s = socket.create_server(("10.77.0.9", 4791), backlog=4096)
conns = []
while True:
    c, a = s.accept()
    conns.append(c)
    threading.Thread(target=serve, args=(c, a[1]), daemon=True).start()'
	wait_listen busy "$NS_A" 4791
}

# privileged: prints the ports below 1024 that sockets of xa are connected from.
privileged()
{
	in_a ss -Htn "sport < 1024" | awk '{ sub(".*:", "", $4); print $4 }' | sort -u
}

few_privileged()
{
	local most=0 n _

	tries 60 10.77.0.9 1 || return
	: >"$TMP/all"
	for _ in {1..30}; do
		privileged >"$TMP/privileged"
		cat "$TMP/privileged" >>"$TMP/all"
		n=$(wc -l <"$TMP/privileged")
		((n <= most)) || most=$n
		sleep 0.1
	done
	echo "most at a time: $most, highest: $(sort -n "$TMP/all" | tail -n 1)"
	((most >= 1 && most <= 8)) && awk '$1 > 664 { exit 1 }' "$TMP/all"
}

refuses_loopback()
{
	! tries 1 127.0.0.1 1 && server_says "Cannot assign requested address" tries
}

# nowhere: prints neighbours that do not exist, so that their packets are lost.
nowhere()
{
	local n

	for n in {100..199}; do
		echo "neigh add 10.77.0.$n lladdr 02:00:00:00:00:99 dev $VETH_A"
	done
}

topo_up
chmod 666 /dev/infiniband/uverbs*
{
	ip -n "$NS_A" addr add 10.77.0.9/32 dev lo &&
	nowhere | ip -n "$NS_A" -batch -
} || bail "set-up: addresses"
tap_run "the addresses of the interfaces are GIDs" wait_for 20 have_gids
objects >"$TMP/baseline"

tap_run "other programs connect although all local ports are in use" \
	ports_left 12 10.77.0.100 12 syns_sent 12
# Of twelve several draw the same port, and only one of them gets it.
tap_run "  also by queue pairs that are connected to themselves" \
	ports_left 12 "$A4" 0 selves 5
tap_run "a user has at most 1024 connections in progress" bounded_number
# It replaces the oldest one.
tap_run "  but its next queue pair gets its turn" pingpong 65534
tap_run "  and that of another user" pingpong 65533
stop_server tries
tap_run "$MANY queue pairs try at most 2000 times a second" bounded_rate
tap_run "  and others connect" rpings
stop_server tries
tap_run "queue pairs that are reset all the time do not delay their user's others" \
	restarts
stop_server tries
busy || bail "set-up: the server that has no room"
tap_run "few privileged ports are taken, and none of the NFS client's" few_privileged
stop_server tries
stop_server busy
tap_run "a loopback address is no peer" refuses_loopback
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
