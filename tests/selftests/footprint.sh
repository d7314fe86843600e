#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Kernel memory that connections hold.  After a burst, connections with little
# traffic free the blocks of the burst; until then the control group of the process
# is charged for them.  A connection that sends all the time uses its blocks again,
# however many are in flight.
#
# XIW_COUNT=N (40): number of connections after a burst.
#
# xiw-kernel: stock
# xiw-timeout: 400

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

COUNT=${XIW_COUNT:-40}
BURST=$((4 << 20))
BULK=$((64 << 20))
BLOCK=$((64 << 10))
CGROUP=/sys/fs/cgroup/xiw-footprint

# idle_up N OPTION...: starts xt_idle with N connections, and waits until it is ready.
idle_up()
{
	local n=$1

	shift
	mkfifo "$TMP/stdin"
	: >"$TMP/idle.log"
	(
		[[ ! -d $CGROUP ]] || echo "$BASHPID" >"$CGROUP/cgroup.procs"
		exec xt_idle -n "$n" "$@" "${SIDES4[@]}"
	) <"$TMP/stdin" >"$TMP/idle.log" 2>&1 &
	idle=$!
	exec {stdin}>"$TMP/stdin"
	wait_for 120 server_says ready idle
}

# burst CMD...: makes each connection send its data, and waits until CMD succeeds.
burst()
{
	echo >&"$stdin"
	wait_for "$XIW_TIMEOUT" "$@"
}

idle_down()
{
	exec {stdin}>&-
	rm "$TMP/stdin"
	wait "$idle"
}

# memory_of KIND: sets now to the memory charged to the control group of the
# connections, in bytes. Without a process, which may take longer to start than
# a burst.
memory_of()
{
	local name

	while read -r name now; do
		[[ $name != "$1" ]] || return 0
	done <$CGROUP/memory.stat
	return 1
}

# paying: true when all data is written; sets busy to the maximum charged until then.
paying()
{
	memory_of kernel
	((now <= busy)) || busy=$now
	server_says written idle
}

# returned BYTES: true if at most BYTES more are charged than before the burst.
returned()
{
	memory_of kernel
	((now - quiet <= $1))
}

# stuck BYTES: true if sockets hold at least BYTES, charged to the control group.
stuck()
{
	memory_of sock
	((now >= $1))
}

# gone: true if no memory of sockets is charged to the control group.
gone()
{
	memory_of sock
	((now == 0))
}

# blocks_of CMD...: prints the number of blocks of 64 KiB allocated while CMD runs.
blocks_of()
{
	local own=$TRACE/instances/footprint
	local event=$own/events/kmem/mm_page_alloc

	mkdir "$own"
	echo order==4 >"$event/filter"
	echo 1 >"$event/enable"
	"$@"
	echo 0 >"$event/enable"
	blocks=$(grep -c mm_page_alloc "$own/trace")
	rmdir "$own"
}

topo_up
tracing || bail "no tracefs"
objects >"$TMP/baseline"
# Let TCP's buffers start at their maximum, so that each burst is in flight at once.
for ns in "$NS_A" "$NS_B"; do
	ip netns exec "$ns" sysctl -qw net.ipv4.tcp_wmem="4096 $BURST $BURST" \
		net.ipv4.tcp_rmem="4096 $BURST $BURST"
done
netem "$NS_A" "$VETH_A" delay 20ms limit 100000
netem "$NS_B" "$VETH_B" delay 20ms limit 100000

tap_run "a connection" idle_up 1 -k "$BULK"
blocks_of burst server_says written idle
tap_note "$((BULK / BLOCK)) blocks of data, $blocks from the allocator"
tap_run "the connection has sent in blocks" test "$blocks" -gt 0
tap_run "the connection used its blocks again" \
	test "$((blocks * BLOCK))" -le "$((BULK * 3 / 4))"
tap_run "the connection ends" idle_down

cgroup_up || bail "no control group"
tap_run "$COUNT connections" idle_up "$COUNT" -k "$BURST"
memory_of kernel
quiet=$now busy=$now
tap_run "each connection has its burst" burst paying
tap_run "the control group of the connections was charged for a burst" \
	test "$((busy - quiet))" -ge "$BLOCK"
tap_run "the connections go on, a message a second" wait_for 30 server_says alive idle
tap_run "the connections have no more than 64 KiB each" \
	wait_for 30 returned "$((COUNT << 16))"
tap_note "control group: $quiet bytes, $busy, $now"
tap_run "the connections end" idle_down

# Data that was sent and not received stays at the passive side, except for 64
# KiB.
ip netns exec "$NS_B" sysctl -qw net.ipv4.tcp_wmem="4096 65536 65536"
policy rnr_timeout_ms 600000
tap_run "4 connections whose passive side posts no receive" \
	idle_up 4 -u "$((2 * BURST))"
tap_run "the control group of the passive side is charged for the data in TCP" \
	burst stuck "$BURST"
tap_note "control group: $now bytes of sockets"
tap_run "the connections end" idle_down
tap_run "no socket is charged to the control group any more" wait_for 30 gone
rmdir $CGROUP
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
