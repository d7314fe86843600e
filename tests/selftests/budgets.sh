#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
#
# Work budgets: however much a peer reads, or a process posts, a run of an engine
# that holds the socket lock as a spinlock ends after so many bytes, or so many
# FPDUs and requests, and a work item continues. The tracepoints have the counts,
# so the speed of the machine does not matter.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# The basic budget of budget.h, and the largest FPDU, by which a run may exceed it: xiw
# sends FPDUs of up to eleven segments to xiw.
BYTES=$((72 * 1024))
FPDU=$((11 * 1500))
STEPS=256

# recorded CMD...: runs CMD, and records the runs of the engines in $TMP/trace.
recorded()
{
	record_events "tx_batch tx_budget rx_budget" "$@"
	largest
}

# fields: prints the recorded runs: kind, queue pair, multiple of the budget, bytes, cost,
# fetched entries.
FIELDS='([tr]x_budget): qpn=([0-9]+) weight=([0-9]+) bytes=(-?[0-9]+)'
FIELDS+=' cost=(-?[0-9]+) fetched=([0-9]+)'
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
			printf "%s: %d, at most %d bytes, cost %d, %d fetched; ",
			       k, n[k], b[k], s[k], f[k] }')"
}

# bounded_budgets KIND: runs of that kind exist, and none exceeds its budget.
bounded_budgets()
{
	fields | awk -v kind="$1" -v bytes="$BYTES" -v fpdu="$FPDU" \
		     -v steps="$STEPS" '
		$1 == kind && ($4 > $3 * bytes + fpdu || $5 > $3 * steps ||
			       $6 > $3 * steps) { print; bad = 1 }
		$1 == kind { n++ }
		END { exit bad || !n }'
}

# work_budgets KIND: the claims that some runs of work items have a larger budget than
# runs in softirqs, and none has that of processes, with which one end could get far
# ahead of the other.
work_budgets()
{
	sed -nE "s/^ *kworker\/.* $FIELDS\$/\1 \3/p" "$TMP/trace" |
		awk -v kind="$1" '
		$1 == kind && $2 > 4 { print; bad = 1 }
		$1 == kind && $2 == 4 { n++ }
		END { exit bad || !n }'
}

# full FIELD VALUE: true if some run in a softirq has at least VALUE in that field.
full()
{
	fields | awk -v f="$1" -v v="$2" '
		$1 == "tx_budget" && $3 == 1 && $f >= v { n++ }
		END { exit !n }'
}

# fields_and_batches: as fields, and batches with queue pair, length and bytes taken.
BATCH='tx_batch: qpn=([0-9]+) len=([0-9]+) taken=(-?[0-9]+)'
fields_and_batches()
{
	sed -nE "s/.* $FIELDS\$/\1 \2 \3 \4 \5 \6/p
		 s/.* $BATCH\$/tx_batch \1 \2 \3/p" "$TMP/trace"
}

# no_series: fails if two runs of a queue pair that use up the basic budget follow each
# other: a work item must continue, unless the first run ended as the socket was full.
no_series()
{
	fields_and_batches | awk -v bytes="$BYTES" -v steps="$STEPS" '
		$1 == "tx_batch" { full[$2] = $4 < $3 }
		$1 != "tx_budget" { next }
		$3 == 1 && over[$2] { print; bad = 1 }
		$3 == 1 { over[$2] = !full[$2] && ($4 >= bytes || $5 >= steps) }
		$3 > 1 { over[$2] = 0 }
		END { exit bad }'
}

topo_up
tracing || skip_all "this kernel has no tracepoints"
echo global >"$TRACE/trace_clock"

recorded cases xt_budgets "${SIDES4[@]}" -t reads
tap_run "large Reads use up the budget of bytes" full 4 "$BYTES"
tap_run "transmit runs keep their budget" bounded_budgets tx_budget
tap_run "receive runs keep their budget" bounded_budgets rx_budget
tap_run "transmit work items have a budget of their own" work_budgets tx_budget
tap_run "receive work items have a budget of their own" work_budgets rx_budget
tap_run "a work item continues, not the next softirq" no_series

recorded cases xt_budgets "${SIDES4[@]}" -t little
tap_run "many small Reads: transmit runs keep their budget" bounded_budgets tx_budget
tap_run "many small Reads: receive runs keep their budget" bounded_budgets rx_budget

recorded cases xt_budgets "${SIDES4[@]}" -t ring
tap_run "a whole ring uses up the budget of requests" full 5 "$STEPS"
tap_run "a whole ring: fetches and runs keep the budget" bounded_budgets tx_budget
tap_run "a whole ring: a work item continues" no_series
tap_is "work items have the priority of others" \
	"$(cat /sys/devices/virtual/workqueue/xiw/nice)" 0

tap_done
