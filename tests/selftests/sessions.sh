#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A peer sends mutated sessions to a listener: startup frames and FPDUs with flipped
# bits, changed lengths, and parts that are cut off, repeated, exchanged or joined, most
# of them with a correct CRC.  Each session ends in bounded time, no memory changes that
# the peer may not change, and a connection of other processes continues.
#
# XIW_SESSIONS=N (400): number of sessions; the last hundred run beside a load, which
# makes them slow.  XIW_SEED=N: seed of the mutations, by default a random one, which is
# printed.
#
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

COUNT=${XIW_SESSIONS:-400}
BESIDE=100
SEED=${XIW_SEED:-$((RANDOM << 15 | RANDOM))}
XIW_TIMEOUT=7000
LOAD_SECONDS=7000

topo_up
# A short RNR timeout, so that messages without a receive do not delay the test
echo 20 >"/sys/class/infiniband/$DEV_A/mpa/rnr_timeout_ms"
ip netns exec "$NS_B" sysctl -qw net.ipv4.tcp_tw_reuse=1
objects >"$TMP/baseline"

# sessions FIRST COUNT: the claim is that these sessions end and change no other memory.
sessions()
{
	tap_run "sessions $1 to $(($1 + $2 - 1)) of seed $SEED end, with all memory as it should be" \
		xt_sessions "${SIDES4[@]}" -s "$SEED" -f "$1" -n "$2"
	tap_show "$TMP/run.log" 1
}

sessions 0 "$((COUNT - BESIDE))"
tap_run "a connection of others is under load" load_up bystander
sessions "$((COUNT - BESIDE))" "$BESIDE"
for name in mpa_malformed crc_errors protocol_errors terminates_sent \
	    terminates_received; do
	tap_run "some sessions were: $name" \
		test "$(counter "$DEV_A" "$name")" -gt 0
	tap_note "$name $(counter "$DEV_A" "$name")"
done
tap_run "the connection of others is still there" load_alive bystander
tap_run "the connection of others ends in order" load_end bystander
tap_objects "nothing is left behind" "$TMP/baseline"
load_stop
tap_done
