#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Floods of connections, from many peers or from one, must affect a listener and honest
# peers within limits only: tests/conformance/floods.py in xb against xa, for IPv4 and
# IPv6. The peers of xb are on two networks.
#
# xiw-kernel: uml debug
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# peers: prints the addresses of the peers, besides $B4 and $B6.
peers()
{
	local n

	for n in 3 {100..163}; do
		printf 'addr add 10.77.0.%d/24 dev %s\n' "$n" "$VETH_B"
		printf 'addr add fd77::%x/64 dev %s nodad\n' "$n" "$VETH_B"
	done
	printf 'addr add 10.78.0.2/24 dev %s\n' "$VETH_B"
	printf 'addr add fd78::2/64 dev %s nodad\n' "$VETH_B"
}

topo_up
{
	peers | ip -n "$NS_B" -batch - &&
	ip -n "$NS_A" route add 10.78.0.0/24 dev "$VETH_A" &&
	ip -n "$NS_A" route add fd78::/64 dev "$VETH_A"
} || bail "set-up: addresses"
objects >"$TMP/baseline"
cases -p IPv4 "$SELFTESTS/../conformance/floods.py" "${SIDES4[@]}"
cases -p IPv6 "$SELFTESTS/../conformance/floods.py" "${SIDES6[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
