#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: iperf3 sockperf curl python3
# xiw-clients: rsockets
#
# Sockets over RDMA (librdmacm): Writes with Immediate where the device has
# them, both directions, both address families; files copied and compared. Then
# programs for TCP, with the librspreload of rdma-core 65, which older ones are
# much behind, and packaging/patches-for/rdma-core.

. "$(dirname "$0")/lib.sh"

topo_up
for size in 1 4096 65536 1048576; do
	pair "rstream, verified, $size bytes" \
		"rstream -b $A4 -p @PORT@ -S $size -C 50 -I 2 -T v" \
		"rstream -s $A4 -p @PORT@ -S $size -C 50 -I 2 -T v"
done
pair -r "rstream, client in xa" \
	"rstream -b $B4 -p @PORT@ -S 65536 -C 100 -I 2 -T v" \
	"rstream -s $B4 -p @PORT@ -S 65536 -C 100 -I 2 -T v"
pair "rstream over IPv6" \
	"rstream -b $A6 -f ip6 -p @PORT@ -S 65536 -C 100 -I 2 -T v" \
	"rstream -s $A6 -f ip6 -p @PORT@ -S 65536 -C 100 -I 2 -T v"
pair "rstream, non-blocking" \
	"rstream -b $A4 -p @PORT@ -S 16384 -C 100 -I 2 -T n -T v" \
	"rstream -s $A4 -p @PORT@ -S 16384 -C 100 -I 2 -T n -T v"
pair "rstream, all sizes" \
	"rstream -b $A4 -p @PORT@ -S all -C 5 -I 1" \
	"rstream -s $A4 -p @PORT@ -S all -C 5 -I 1"
pair "riostream: application buffers written remotely" \
	"riostream -b $A4 -p @PORT@ -S 65536 -C 100 -I 2 -T v" \
	"riostream -s $A4 -p @PORT@ -S 65536 -C 100 -I 2 -T v"

head -c 8000001 /dev/urandom >"$TMP/source"
start_server rcopy "$NS_A" rcopy
if wait_listen rcopy "$NS_A" 7427; then
	run_claim "rcopy sends a file" in_b rcopy "$TMP/source" "$A4:$TMP/copy"
	tap_run "the file is the same" cmp "$TMP/source" "$TMP/copy"
else
	tap_fail "rcopy sends a file"
fi
stop_server rcopy

# preloaded CMD...: runs CMD with librspreload, so that its sockets use RDMA.
LIB=$(echo "$XIW_CACHE"/client-rsockets-*/build/lib)
preloaded()
{
	env RDMAV_DRIVERS="$LIB/libxiw" LD_LIBRARY_PATH="$LIB" \
		LD_PRELOAD="$LIB/librspreload.so" "$@"
}

# programs DESC SERVER CLIENT: the claim is that the client succeeds.
programs()
{
	local server client port

	port=$(free_port)
	read -ra server <<<"${2//@PORT@/$port}"
	read -ra client <<<"${3//@PORT@/$port}"
	preloaded netns-run "$NS_A" 60 "${server[@]}" >"$TMP/server.log" 2>&1 \
		</dev/null &
	server_pid[program]=$!
	if wait_listen program "$NS_A" "$port" &&
	   preloaded netns-run "$NS_B" 50 "${client[@]}" \
		>"$TMP/client.log" 2>&1 </dev/null; then
		tap_ok "$1"
	else
		tap_fail "$1"
		tap_show "$TMP/client.log"
	fi
	kill "${server_pid[program]}" 2>/dev/null
	wait_server program
}

# through DEVICE WHAT: the claim is that the device has received more than 10 MB since
# the last call.
through()
{
	local now

	now=$(counter "$1" rx_bytes)
	((now - before[$1] > 10000000))
	tap_result $? "$2 went through the device"
	before[$1]=$now
}

declare -A before
for device in "$DEV_A" "$DEV_B"; do
	before[$device]=$(counter "$device" rx_bytes)
done
programs "iperf3" "iperf3 -s -1 -p @PORT@ -B $A4" \
	"iperf3 -c $A4 -p @PORT@ -n 20M"
through "$DEV_A" "its data"
programs "iperf3, three streams" "iperf3 -s -1 -p @PORT@ -B $A4" \
	"iperf3 -c $A4 -p @PORT@ -n 20M -P 3"
programs "sockperf" "sockperf sr --tcp -i $A4 -p @PORT@" \
	"sockperf pp --tcp -i $A4 -p @PORT@ -t 2"
head -c 24000001 /dev/urandom >"$TMP/source"
programs "a web server and a client" \
	"python3 -m http.server -d $TMP -b $A4 @PORT@" \
	"curl -sS -o $TMP/got http://$A4:@PORT@/source"
tap_run "the file is the same" cmp "$TMP/source" "$TMP/got"
through "$DEV_B" "the file"
tap_done
