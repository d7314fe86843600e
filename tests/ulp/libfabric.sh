#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: libfabric-bin
#
# libfabric's ping-pong with data checks over the verbs provider, as connected
# messages and as reliable datagrams.

. "$(dirname "$0")/lib.sh"

pingpong()
{
	local desc=$1 args=$2

	pair "$desc" "fi_pingpong -B @PORT@ -c $args" \
		"fi_pingpong -P @PORT@ -c $args $A4"
	tap_show "$TMP/client.log" 3
}

topo_up
pingpong "verbs, msg" "-p verbs -e msg -I 10"
pingpong "verbs, msg, 256 KiB" "-p verbs -e msg -I 10 -S 262144"
pingpong "verbs;ofi_rxm, rdm" "-p 'verbs;ofi_rxm' -e rdm -I 10"
pingpong "verbs;ofi_rxm, rdm, tagged" "-p 'verbs;ofi_rxm' -e rdm -m tagged -I 10"
tap_done
