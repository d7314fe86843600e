#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A bad network: packets are lost, repeated, reordered and damaged, links and addresses
# are removed and added, and the MTU changes, while data in both directions is compared.
# A connection continues if TCP can repair the damage; damaged data is not delivered.
#
# XIW_ROUNDS=N (2): changes of each kind during traffic, and 3 N connections
# with a damaged bit.  XIW_MESSAGES=N (60): Sends each way under netem.
# XIW_SEED=N (1): seed that determines the damaged bits.
#
# Covers: MPA-12 MPA-13 MPA-21
# xiw-timeout: 900
# xiw-kernel: uml

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

ROUNDS=${XIW_ROUNDS:-2}
MESSAGES=${XIW_MESSAGES:-60}
SEED=${XIW_SEED:-1}
LOAD_SECONDS=1200

# repaired: true if a connection carries all its messages and ends without an error.
repaired()
{
	LOAD_ARGS=(-n "$MESSAGES")
	load_up bad && load_ended bad && load_says active-bad ended &&
		load_says passive-bad ended
}

tcp_count()
{
	ip netns exec "$1" nstat -asz "$2" | awk -v n="$2" '$1 == n { print $2 }'
}

flap()
{
	ip -n "$NS_A" link set "$VETH_A" down &&
	ip -n "$NS_A" link set "$VETH_A" up && flows
}

new_mtu()
{
	local mtu

	for mtu in 9000 576 4000 1280 1500; do
		both_ends mtu "$mtu" && flows || return
	done
}

no_address()
{
	ip -n "$NS_A" addr del "$A4/24" dev "$VETH_A" &&
	ip -n "$NS_A" addr add "$A4/24" dev "$VETH_A" && flows
}

# damaged SEED: true if a connection through a relay that flips one bit ends, and all
# data that was delivered before is correct.
damaged()
{
	local port relay

	port=$(free_port) relay=$(free_port)
	load_start passive hit -s "$NS_A/$A4" -p "$port"
	wait_for 30 listening "$NS_A" "$port" || return
	xt_relay "$NS_B/$B4" "$relay" "$A4" "$port" "$1" >"$TMP/relay" &
	wait_for 30 listening "$NS_B" "$relay" || return
	load_start active hit -c "$NS_A/$B4" -p "$relay"
	load_ended hit && wait "$!" && grep -q flipped "$TMP/relay"
}

all_damaged()
{
	local i

	for ((i = 0; i < 3 * ROUNDS; i++)); do
		damaged "$((SEED + i))" && continue
		echo "seed $((SEED + i)): $(cat "$TMP/relay")"
		load_show
		return 1
	done
}

# during WHAT FUNCTION: the claims that a connection continues in each of ROUNDS calls of
# FUNCTION.
during()
{
	local i

	tap_run "a connection is under load" load_up "$2"
	for ((i = 1; i <= ROUNDS; i++)); do
		tap_run "$1, round $i: the connection goes on" "$2" || break
	done
	tap_run "the connection ends in order" load_end "$2"
}

topo_up
objects >"$TMP/baseline"
before=$(tcp_count "$NS_A" TcpRetransSegs)
under loss 1%
under loss 5%
under delay 2ms 1ms reorder 25% 50%
under duplicate 5%
under corrupt 2%
under delay 1ms 1ms loss 2% duplicate 2% corrupt 1%
policy fpdu_segments 1
WITH=" with FPDUs of one segment" under delay 1ms 1ms loss 2% reorder 10%
policy fpdu_segments 0
tap_run "segments were sent again" \
	test "$(tcp_count "$NS_A" TcpRetransSegs)" -gt "$before"
tap_run "TCP found damaged segments" \
	test "$(tcp_count "$NS_A" TcpInCsumErrors)" -gt 0
tap_is "no error was left for MPA to find" \
	"$(counter "$DEV_A" crc_errors) $(counter "$DEV_B" crc_errors)" "0 0"

during "the link is down and up" flap
during "the MTU changes" new_mtu
during "the address is gone and there again" no_address

tap_note "damaged bits: seeds $SEED to $((SEED + 3 * ROUNDS - 1))"
tap_run "data that is damaged past TCP is not delivered" all_damaged
tap_run "each damaged FPDU was found by its CRC" \
	grown "$DEV_A" crc_errors "$((3 * ROUNDS))"

# Let TCP give up after three retransmissions, not after 15 minutes.
ip netns exec "$NS_A" sysctl -qw net.ipv4.tcp_retries2=3
ip netns exec "$NS_B" sysctl -qw net.ipv4.tcp_retries2=3
tap_run "a connection is under load" load_up lost
ip -n "$NS_A" addr del "$A4/24" dev "$VETH_A"
tap_run "an address that stays away: both ends are notified" load_ended lost
tap_run "the connection is counted as lost" \
	grown "$DEV_B" connections_lost 1
ip -n "$NS_A" addr add "$A4/24" dev "$VETH_A"
tap_run "an address that comes back: a connection works" load_up back
tap_run "an address that comes back: the connection ends in order" load_end back
tap_objects "nothing is left behind" "$TMP/baseline"
load_stop
tap_done
