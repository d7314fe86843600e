#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
#
# Nobody makes a CPU work long for him with bottom halves off: however much a
# peer reads, or a process posts, a turn that holds the socket lock as a
# spinlock ends after so many bytes and so many steps, and a work item goes on.
# That is counted by the kernel itself, so the speed of the machine is no matter.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# As in pace.h; and the last FPDU, eleven segments between two that are xiw.
BYTES=$((72 * 1024))
FPDU=$((11 * 1500))
STEPS=256

# recorded CMD...: the turns while it runs, in $TMP/trace.
recorded()
{
	echo >"$TRACE/trace"
	echo 1 >"$TRACE/events/xiw/tx_train/enable"
	echo 1 >"$TRACE/events/xiw/tx_turn/enable"
	echo 1 >"$TRACE/events/xiw/rx_turn/enable"
	"$@"
	echo 0 >"$TRACE/events/xiw/enable"
	cat "$TRACE/trace" >"$TMP/trace"
	largest
}

# fields: kind, queue pair, how many turns, bytes, steps, entries fetched.
FIELDS='([tr]x_turn): qpn=([0-9]+) turns=([0-9]+) bytes=(-?[0-9]+)'
FIELDS+=' steps=(-?[0-9]+) fetched=([0-9]+)'
fields()
{
	sed -nE "s/.* $FIELDS\$/\1 \2 \3 \4 \5 \6/p" "$TMP/trace"
}

largest()
{
	tap_note "$(fields | awk '
		{ k = $1 " of " $3; n[k]++
		  if ($4 > b[k]) b[k] = $4
		  if ($5 > s[k]) s[k] = $5
		  if ($6 > f[k]) f[k] = $6 }
		END { for (k in n)
			printf "%s: %d, at most %d bytes, %d steps, %d fetched; ",
			       k, n[k], b[k], s[k], f[k] }')"
}

# bounded_turns KIND: none does more than it may, and there are some.
bounded_turns()
{
	fields | awk -v kind="$1" -v bytes="$BYTES" -v fpdu="$FPDU" \
		     -v steps="$STEPS" '
		$1 == kind && ($4 > $3 * bytes + fpdu || $5 > $3 * steps ||
			       $6 > $3 * steps) { print; bad = 1 }
		$1 == kind { n++ }
		END { exit bad || !n }'
}

# work_turns KIND: of work items some are longer than in softirqs, but none is as
# long as those of processes, so that neither end's work gets far ahead.
work_turns()
{
	sed -nE "s/^ *kworker\/.* $FIELDS\$/\1 \3/p" "$TMP/trace" |
		awk -v kind="$1" '
		$1 == kind && $2 > 4 { print; bad = 1 }
		$1 == kind && $2 == 4 { n++ }
		END { exit bad || !n }'
}

# full FIELD VALUE: some short turn of the engine came to its end.
full()
{
	fields | awk -v f="$1" -v v="$2" '
		$1 == "tx_turn" && $3 == 1 && $f >= v { n++ }
		END { exit !n }'
}

# fields_and_trains: those of a train are queue pair, length, what TCP took.
TRAIN='tx_train: qpn=([0-9]+) len=([0-9]+) taken=(-?[0-9]+)'
fields_and_trains()
{
	sed -nE "s/.* $FIELDS\$/\1 \2 \3 \4 \5 \6/p
		 s/.* $TRAIN\$/tx_train \1 \2 \3/p" "$TMP/trace"
}

# no_series: a short turn that came to its end is followed by a long one, but if
# the socket was full: then it ended for that.
no_series()
{
	fields_and_trains | awk -v bytes="$BYTES" -v steps="$STEPS" '
		$1 == "tx_train" { full[$2] = $4 < $3 }
		$1 != "tx_turn" { next }
		$3 == 1 && over[$2] { print; bad = 1 }
		$3 == 1 { over[$2] = !full[$2] && ($4 >= bytes || $5 >= steps) }
		$3 > 1 { over[$2] = 0 }
		END { exit bad }'
}

topo_up
tracing || skip_all "this kernel has no tracepoints"
echo global >"$TRACE/trace_clock"

recorded cases xt_turns "${SIDES4[@]}" -t reads
tap_run "large Reads come to the limit of bytes" full 4 "$BYTES"
tap_run "turns that send are bounded" bounded_turns tx_turn
tap_run "turns that take are bounded" bounded_turns rx_turn
tap_run "work items that send have turns of their own length" work_turns tx_turn
tap_run "and so have those that take" work_turns rx_turn
tap_run "what is left is not for the next softirq" no_series

recorded cases xt_turns "${SIDES4[@]}" -t little
tap_run "many little Reads: turns that send are bounded" bounded_turns tx_turn
tap_run "turns that take are bounded" bounded_turns rx_turn

recorded cases xt_turns "${SIDES4[@]}" -t ring
tap_run "a whole ring comes to the limit of steps" full 5 "$STEPS"
tap_run "no more is fetched, and turns are bounded" bounded_turns tx_turn
tap_run "what is left is not for the next softirq" no_series
tap_is "whoever goes on has the priority of others" \
	"$(cat /sys/devices/virtual/workqueue/xiw/nice)" 0

tap_done
