#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# rping with verified data: 400 rounds in each direction over both address
# families, and fewer with messages of many segments.  Each round is a Send, a
# Read and a Write of the buffer.  And once over a loopback address.
#
# Covers: RDMAP-08 RDMAP-15
# xiw-kernel: uml debug
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"

# verified WHAT [-r] ADDRESS ROUNDS SIZE: the claim is that rping succeeds with that many
# rounds of that size; -r: the server is in xb.
verified()
{
	local what=$1 direction=()

	shift
	[[ $1 != -r ]] || { direction=(-r); shift; }
	pair "${direction[@]}" "rping, $what: $2 rounds of $3 bytes" \
		"rping -s -V -a $1 -p @PORT@ -C $2 -S $3" \
		"rping -c -V -a $1 -p @PORT@ -C $2 -S $3"
}

topo_up

verified "IPv4, client in xb" "$A4" 400 64
verified "IPv4, client in xa" -r "$B4" 400 100
verified "IPv6, client in xb" "$A6" 400 100
verified "IPv6, client in xa" -r "$B6" 400 64
verified "IPv4" "$A4" 100 1424
verified "IPv4" "$A4" 50 4097
verified "IPv6" "$A6" 20 65535
verified "IPv4" -r "$B4" 20 65535

# With a single device; netdevs.sh tests it with several.
links_down
if kernel_before 6.5; then
	tap_skip "rping to 127.0.0.1" "rdma_cm wants a hardware address here"
else
	link_add "$NS_A" "${XIW_LINK_TYPE}lo" lo
	pair -l "rping to 127.0.0.1" \
		"rping -s -V -a 127.0.0.1 -p @PORT@ -C 10" \
		"rping -c -V -a 127.0.0.1 -p @PORT@ -C 10"
	link_del "${XIW_LINK_TYPE}lo"
fi

tap_done
