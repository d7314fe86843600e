#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The perftest programs over the RDMA connection manager: bandwidth of Send,
# Write and Read for sizes from a byte to 8 MiB, latency, waiting for events
# instead of polling, several queue pairs, shared receive queues.  What is
# measured does not matter here; that every iteration of the size asked for is
# reported does.
#
# ib_send_bw -e is left out: its client counts credits that its server writes
# into its memory, and when it has none it waits for a completion event, which
# does not come if all its sends are complete. The faster these are, the more
# likely it waits for ever.
#
# xiw-kernel: uml debug
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# reported SIZE ITERATIONS: true if the client has printed a line of results, which begins
# with these.
reported()
{
	grep -qE "^ *$1 +$2 " "$TMP/client.log"
}

# perf PROGRAM SIZE ITERATIONS [ARGS...]: the claims that the program succeeds, and
# reports all iterations.
perf()
{
	local prog=$1 size=$2 n=$3

	shift 3
	pair "$prog $size bytes, $n times${*:+, $*}" \
		"$prog -R -d $DEV_A -p @PORT@ -s $size -n $n -F $*" \
		"$prog -R -d $DEV_B -p @PORT@ -s $size -n $n -F $* $A4" ||
		return
	# With -q, perftest reports the iterations of all queue pairs together.
	[[ ${1:-} != -q ]] || n=$((n * $2))
	tap_run "  and reports size and number" reported "$size" "$n"
}

topo_up
objects >"$TMP/baseline"

for prog in ib_send_bw ib_write_bw ib_read_bw; do
	perf $prog 1 100
	perf $prog 1425 50
	perf $prog 4096 50
	perf $prog 65536 20
	perf $prog 1048576 5
done
perf ib_write_bw 8388608 5
perf ib_send_bw 16384 20 -b
perf ib_write_bw 8192 20 -q 4
# ib_send_bw confuses its credits unless connections are reported in the order
# in which they were made.
perf ib_send_bw 64 128 -q 64 -t 64 -r 64
perf ib_send_bw 2048 50 --use-srq
perf ib_read_bw 2048 50 -e

for prog in ib_send_lat ib_write_lat ib_read_lat; do
	perf $prog 1 100
	perf $prog 4000 50
done
perf ib_send_lat 64 100 -e
perf ib_read_lat 64 100 -e

# in_few_batches OPERATION: the claim is that on the loopback device the batches of 64
# KiB messages are full: about one sendmsg() for each message, not two.
in_few_batches()
{
	local n=1000 prog=ib_${1}_bw NS_B=$NS_A sum

	sum=$(counter "$DEV_A" tx_sendmsgs)
	pair "$prog 65536 bytes, $n times, within one host" \
		"$prog -R -d $DEV_A -p @PORT@ -s 65536 -n $n -F" \
		"$prog -R -d $DEV_A -p @PORT@ -s 65536 -n $n -F $A4" || return
	sum=$(($(counter "$DEV_A" tx_sendmsgs) - sum))
	tap_note "$sum calls"
	tap_run "  with two calls of TCP for few of them" \
		test $((10 * sum)) -lt $((14 * n))
}

in_few_batches write
in_few_batches send

tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
