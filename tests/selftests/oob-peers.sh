#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A hand-made peer and queue pairs that are connected by number: valid, invalid, early,
# late and replayed Requests and Replies, and every kind of end, by
# tests/conformance/oob.py in xb against xa. The device has a lower and a higher address
# than the peer, so that it can be Initiator and Responder.
#
# xiw-kernel: uml debug
# xiw-timeout: 1200

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

CASES_TIMEOUT=900
PEERS=$SELFTESTS/../conformance/oob.py
HIGH4=10.77.0.50
HIGH6=fd77::50
# Cases to repeat with IPv6: those that depend on the address family, and one of each
# other kind.
BOTH_FAMILIES=(-t responder -t initiator -t from -t to -t silent_crowd
	-t rep_magic -t to_itself -t other_family -t waits -t port_on_demand
	-t fin_responder -t rst_initiator -t takes_its_place)

gids()
{
	cat "/sys/class/infiniband/$DEV_A/ports/1/gids/"*
}

has_gids()
{
	gids | grep -q '0a4d:0032$' && gids | grep -q '^fd77.*:0050$'
}

topo_up
{
	ip -n "$NS_A" addr add $HIGH4/24 dev "$VETH_A" &&
	ip -n "$NS_A" addr add $HIGH6/64 dev "$VETH_A" nodad
} || bail "set-up: the addresses of $VETH_A"
# The hand-made peer listens in xb, where the device would hold the port.
policy_of "$DEV_B" oob_port 0
tap_run "the addresses of the interface are GIDs" wait_for 20 has_gids
objects >"$TMP/baseline"

export XIW_RESPONDER=$HIGH4
cases "$PEERS" "${SIDES4[@]}"
export XIW_RESPONDER=$HIGH6
cases -p IPv6 "$PEERS" "${SIDES6[@]}" "${BOTH_FAMILIES[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
