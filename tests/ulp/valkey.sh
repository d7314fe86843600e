#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-clients: valkey
#
# Valkey over RDMA, which takes rdma_cm and Writes with Immediate: its own test
# of the transport, large values compared, clients that are killed, and its
# benchmark beside TCP.

. "$(dirname "$0")/lib.sh"

VALKEY=$XIW_CACHE/client-valkey/src
PORT=6379
LARGE=33000000
# Time limit of clients and server
XIW_TIMEOUT=500

cli()
{
	in_b "$VALKEY/valkey-cli" --rdma -h "$A4" -p $PORT "$@"
}

answers()
{
	[[ $(cli ping) == PONG ]]
}

store()
{
	cli -x set "$1" <"$2"
}

# fetched KEY FILE: true if the value of KEY is the content of FILE.
fetched()
{
	cli --raw get "$1" >"$TMP/value"
	# Remove the newline that valkey-cli appends.
	truncate -s -1 "$TMP/value" && cmp "$2" "$TMP/value"
}

# rate COMMAND SIZE ARGS...: prints the requests per second of one benchmark.
rate()
{
	local command=$1 size=$2

	shift 2
	in_b "$VALKEY/valkey-benchmark" "$@" -h "$A4" -t "$command" -c 8 \
		-n $((size > 4096 ? 1000 : 5000)) -d "$size" --csv 2>/dev/null |
		awk -F '"' 'NR == 2 { print $4 }'
}

# beside COMMAND SIZE: runs the benchmark over RDMA and over TCP alternately.
beside()
{
	local rdma tcp

	for _ in 1 2 3; do
		rdma=$(rate "$1" "$2" --rdma -p $PORT)
		tcp=$(rate "$1" "$2" -p $((PORT + 1)))
		tap_note "$1 of $2 bytes: $rdma per second, by TCP $tcp"
		[[ -n $rdma && -n $tcp ]] || return
	done
}

# server_up NAME ARGS...: starts a server; server is its process.
server_up()
{
	local name=$1

	shift
	in_a "$VALKEY/valkey-server" --bind "$A4" --port $((PORT + 1)) \
		--rdma-bind "$A4" --rdma-port $PORT --save '' --protected-mode no \
		--dir "$TMP" "$@" >"$TMP/server.log" 2>&1 </dev/null &
	server=$!
	# Wait until the server listens: a client that is refused crashes, or hangs.
	wait_for 60 grep -q 'accept connections rdma' "$TMP/server.log" && answers
	tap_result $? "$name answers" ||
		{ tap_show "$TMP/server.log"; bail "no server"; }
}

server_down()
{
	cli shutdown nosave >/dev/null 2>&1
	wait "$server"
	tap_result $? "$1 ends"
}

# load ARGS...: runs the benchmark over RDMA to its end.
load()
{
	in_b timeout 200 "$VALKEY/valkey-benchmark" --rdma -h "$A4" -p "$PORT" "$@" --csv
}

topo_up
server_up "the server"
run_claim "valkey's own test of its transport, four threads" \
	in_b "$VALKEY/rdma-test" -h "$A4" -p $PORT --thread 4
for size in 1 65535 65537 $LARGE; do
	head -c "$size" /dev/urandom >"$TMP/source"
	run_claim "a value of $size bytes is stored" store "key$size" "$TMP/source"
	run_claim "a value is the same when it is read" \
		fetched "key$size" "$TMP/source"
done
if [[ $XIW_LINK_TYPE == xiw ]]; then
	tap_note "received $(counter "$DEV_A" rx_bytes) bytes"
	(($(counter "$DEV_A" rx_bytes) > LARGE))
	tap_result $? "the data went through the device"
fi

# Clients that are killed under load leave no objects behind, and other clients are
# served.
in_b "$VALKEY/valkey-benchmark" --rdma -h "$A4" -p $PORT -t set -c 20 \
	-n 100000000 -d 20000 >/dev/null 2>&1 &
clients=$!
busy()
{
	(($(cli info clients | tr -d '\r' | sed -n 's/^connected_clients://p') > 20))
}
tap_run "twenty clients are busy" wait_for 60 busy
pkill -KILL -x valkey-benchmar
wait $clients 2>/dev/null
quiet()
{
	(($(cli info clients | tr -d '\r' | sed -n 's/^connected_clients://p') == 1))
}
tap_run "the clients are killed, and their connections end" wait_for 60 quiet
run_claim "the server has its data" fetched key$LARGE "$TMP/source"
for size in 64 65536; do
	for command in set get; do
		beside $command $size
		tap_result $? "its benchmark: $command of $size bytes"
	done
done
for command in set get; do
	run_claim "16 values of a megabyte on the way: $command" \
		load -t $command -c 4 -P 4 -n 64 -d 1000000
done
server_down "the server"

# Threads of the server read and write the connections. Large values are left out: the
# server mixes up the replies, over any device.
server_up "a server with threads" --io-threads 4
for command in set get; do
	run_claim "50 clients with 256 requests each on the way: $command" \
		load -t $command -c 50 -P 256 -n 51200 -d 64
done
run_claim "100 connections, each for one request" load -t get -c 2 -k 0 -n 100
server_down "that server"
tap_done
