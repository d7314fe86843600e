#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
#
# Sockets over RDMA (librdmacm): Writes with Immediate where the device has
# them, both directions, both address families; files copied and compared.

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
tap_done
