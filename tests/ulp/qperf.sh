#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: qperf
#
# qperf: every test of reliable connections, including the ones that create
# queue pairs with an empty send queue and the verified atomics.

. "$(dirname "$0")/lib.sh"

# one TEST: runs a test of qperf with a new server, whose time limit is for one test.
one()
{
	local port

	port=$(free_port)
	start_server qperf "$NS_A" qperf -lp "$port"
	wait_listen qperf "$NS_A" "$port" &&
	in_b qperf -lp "$port" -cm 1 -t 1 "$A4" "$1" >"$TMP/out" 2>&1 &&
	grep -q '= ' "$TMP/out" && ! grep -qi fail "$TMP/out"
	tap_result $? "$1"
	tap_show "$TMP/out"
	stop_server qperf
}

topo_up
for test in rc_lat rc_bw rc_bi_bw rc_rdma_read_lat rc_rdma_read_bw \
	    rc_rdma_write_lat rc_rdma_write_poll_lat rc_rdma_write_bw \
	    rc_compare_swap_mr rc_fetch_add_mr \
	    ver_rc_compare_swap ver_rc_fetch_add; do
	one $test
done
tap_done
