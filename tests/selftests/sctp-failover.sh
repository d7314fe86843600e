#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A stream of Writes over SCTP, every byte of which is compared (xt_stream), with an
# address on a second network at both ends. The first network fails and recovers, then
# the second one; then the address to which the peer sends is removed. No request fails.
# For the default and for a short retransmission timeout, the test prints the gaps: the
# longest time between two MiB. Finally the second network is slow, and the first one
# fails repeatedly, so that chunks overtake earlier ones, and wait for them.
#
# XIW_MIB=N (128): length of each stream at least; 1024 for the long form.
#
# Covers: SCTP-33
# xiw-kernel: uml debug stock
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

PORT=7471
MIB=${XIW_MIB:-128}
PATH_LIMIT=60	# seconds until SCTP detects that a path has failed or recovered

# dies WHAT ADDRESS NETDEV_A NETDEV_B: the claims while the network of ADDRESS fails, and
# when it has recovered.
dies()
{
	tap_run "$1 fails, and data flows afterwards" network_fails "$3" "$4"
	tap_run "$1: SCTP reports the path as failed" \
		wait_for "$PATH_LIMIT" path_fails "$2"
	tap_run "$1: data flows with the path failed" flows "$DEV_A"
	tap_note "$1 fails: gap $(stream_gap) ms"
	tap_run "$1 works again" returns "$3" "$4"
	tap_run "$1: SCTP reports the path as active" \
		wait_for "$PATH_LIMIT" path_works "$2"
	tap_run "$1: data flows with the path active" flows "$DEV_A"
}

returns()
{
	netem "$NS_A" "$1"
	netem "$NS_B" "$2"
}

# addr add|del ADDRESS: adds or removes an address of A on the first network.
addr()
{
	local flags=() prefix=24

	[[ $2 != *:* ]] || flags=(nodad) prefix=64
	[[ $1 == add ]] || flags=()
	ip -n "$NS_A" addr "$1" "$2/$prefix" dev "$VETH_A" "${flags[@]}"
}

# no_address ADDRESS: removes an address of A, to which the peer sends; true if the
# stream continues.
no_address()
{
	addr del "$1" && flows "$DEV_A"
}

# survives WHAT A B FIRST SECOND: the claims for a stream from address B to address A.
# FIRST, SECOND: addresses of A on both networks, as SCTP prints them.
survives()
{
	tap_run "$1: a stream of $MIB MiB or more starts" stream_starts "$2" "$3"
	tap_run "$1: SCTP reports both paths as active" \
		wait_for "$PATH_LIMIT" path_works "$5"
	dies "$1: the first network" "$4" "$VETH_A" "$VETH_B"
	dies "$1: the second network" "$5" va2 vb2
	tap_run "$1: an address is removed, and data flows" no_address "$2"
	tap_run "$1: the peer reports the path to that address as failed" \
		wait_for "$PATH_LIMIT" path_fails "$4"
	tap_note "$1: an address is removed: gap $(stream_gap) ms"
	tap_run "$1: the stream ends in order, with the right data" stream_ends ||
		tap_show "$TMP/stream.log"
	tap_run "$1: the address can be added again" addr add "$2"
}

# overtaken: true if a chunk arrives early: the fast network fails, so SCTP sends over
# the slow one, and then recovers.
overtaken()
{
	local early

	early=$(counter "$DEV_A" rx_early_chunks)
	network_fails "$VETH_A" "$VETH_B" && returns "$VETH_A" "$VETH_B" &&
		flows "$DEV_A" &&
		wait_for 30 grown "$DEV_A" rx_early_chunks "$((early + 1))"
}

slow_network()
{
	netem "$NS_A" va2 delay 10ms 5ms && netem "$NS_B" vb2 delay 10ms 5ms
}

# alternates: the claims for a stream that alternates between a fast and a slow path.
alternates()
{
	local round MIB=8 early

	early=$(counter "$DEV_A" rx_early_chunks)
	tap_run "the second network is slow" slow_network
	tap_run "a stream starts over both" stream_starts "$A4" "$B4"
	tap_run "SCTP reports both paths as active" \
		wait_for "$PATH_LIMIT" path_works 10.78.0.1
	for round in 1 2 3 4; do
		tap_run "change $round of the path and back: chunks overtake others" \
			overtaken
	done
	tap_run "the stream ends in order, with the right data" stream_ends ||
		tap_show "$TMP/stream.log"
	tap_note "$(($(counter "$DEV_A" rx_early_chunks) - early)) chunks were early"
	returns va2 vb2
}

needs_sctp
topo_up
tap_run "a second network can be set up" second_network
objects >"$TMP/baseline"
tap_run_not "an interface name in place of an address is refused" \
	policy_write sctp_addresses lo
tap_run_not "a multicast address is refused" policy_write sctp_addresses 224.0.0.1
tap_run_not "an initial retransmission timeout of 0 is refused" policy_write sctp_rto_ms 0
policy sctp_ports "$PORT"
policy_of "$DEV_A" sctp_addresses "10.78.0.1 fd78::1"
policy_of "$DEV_B" sctp_addresses "10.78.0.2 fd78::2"
survives IPv4 "$A4" "$B4" "$A4" 10.78.0.1
policy sctp_rto_ms 20
survives "IPv6, timeout of 20 ms" "$A6" "$B6" \
	fd77:0000:0000:0000:0000:0000:0000:0001 \
	fd78:0000:0000:0000:0000:0000:0000:0001
alternates
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
