#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Memory allocations fail: in each verb and each step of a connection one after the other
# (xt_faults), and random ones of the driver while data flows and connections are made.
# Each operation fails or succeeds; nothing hangs, and no object is left.
#
# XIW_STRIDE=N (17): refuse every Nth allocation only; 1 for each of them.
# XIW_NTH=N (3): refuse the first N of the six allocations for the report of a request.
# XIW_ROUNDS=N (1): rounds of random refusals.
#
# xiw-timeout: 1500

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

STRIDE=${XIW_STRIDE:-17}
NTH=${XIW_NTH:-3}
ROUNDS=${XIW_ROUNDS:-1}
DEBUGFS=/sys/kernel/debug
PATIENCE=200
LOAD_SECONDS=$((2 * PATIENCE))
# shellcheck disable=SC2034  # for cases.sh
CASES_TIMEOUT=5000

[[ -e /proc/self/fail-nth ]] || skip_all "this kernel cannot refuse memory"

# attr NAME VALUE: sets an attribute of each kind of fault injection that the kernel has.
attr()
{
	local dir

	for dir in failslab fail_page_alloc fail_usercopy; do
		[[ ! -e $DEBUGFS/$dir/$1 ]] ||
			echo "$2" >"$DEBUGFS/$dir/$1" || bail "$dir/$1"
	done
}

# function_range NAME: prints the first and the last address of a function.
function_range()
{
	local begin

	begin=$(awk -v name="$1" '$3 == name { print $1; exit }' /proc/kallsyms)
	# Symbols of modules are not sorted.
	awk -v begin="$begin" '
		$1 > begin && (!end || $1 < end) { end = $1 }
		END { print "0x" begin, "0x" end }' /proc/kallsyms
}

# module_range NAME: prints the first and the last address of a module.
module_range()
{
	local size base

	read -r _ size _ _ _ base _ < <(grep "^$1 " /proc/modules)
	printf '%#x %#x\n' "$base" "$((base + size))"
}

# spare FUNCTION: excludes FUNCTION, and all functions that it calls, from refusals.
spare()
{
	local start end

	read -r start end < <(function_range "$1")
	attr reject-start "$start"
	attr reject-end "$end"
	tap_note "$1: $start to $end"
}

# require START END: limits refusals to the code in this range, and functions that it
# calls.
require()
{
	attr require-start "$1"
	attr require-end "$2"
}

# refuse PERCENT: refuses so many of the allocations in the required range; 0 ends it.
refuse()
{
	echo "$1" >$DEBUGFS/failslab/probability
	echo "$1" >$DEBUGFS/fail_page_alloc/probability
}

# refusals: prints how often the data path had no memory, by the counters.
refusals()
{
	local dev name sum=0

	for dev in "$DEV_A" "$DEV_B"; do
		for name in tx_no_memory rx_no_memory; do
			sum=$((sum + $(counter "$dev" "$name")))
		done
	done
	echo "$sum"
}

more_refusals()
{
	(($(refusals) > $1))
}

# calls: four pairs of processes try to connect; true if each active process exits. Then
# ends the passive ones, whose peers may never have connected.
calls()
{
	local i port=()

	for i in 1 2 3 4; do
		port[i]=$(free_port)
		load_start passive "call$i" -s "$NS_A/$A4" -p "${port[i]}" -n 10
	done
	for i in 1 2 3 4; do
		# A server that got no memory does not listen.
		wait_for 10 listening "$NS_A" "${port[i]}"
		load_start active "call$i" -c "$NS_B/$A4" -p "${port[i]}"
	done
	for i in 1 2 3 4; do
		wait_for "$PATIENCE" not_running "${load_pid[active-call$i]}" && {
			tail -n 1 "$TMP/active-call$i.log" |
				sed "s/^/$SECONDS s: call $i: /"
			continue
		}
		echo "an active end hangs:"
		load_show
		return 1
	done
	load_stop
	load_pid=()
}

# announced: connects again and again, with every Nth allocation of the upcall to
# rdma_cm refused, for N from 1 to XIW_NTH. The kernel counts only allocations with the
# required function on their stack and without the excluded one, slab and pages
# separately, and does not reset the count between connections. So the Nth allocation
# of a connection is refused for certain only if a refusal ended the one before: hence
# two connections for each N.
announced()
{
	local n port

	for ((n = 2; n < 2 * NTH + 2; n++)); do
		attr interval $((n / 2))
		port=$(free_port)
		load_start passive announced -s "$NS_A/$A4" -p "$port" -n 10
		wait_for 30 listening "$NS_A" "$port" ||
			{ load_show; return 1; }
		refuse 100
		load_start active announced -c "$NS_B/$A4" -p "$port"
		wait_for "$PATIENCE" not_running "${load_pid[active-announced]}"
		refuse 0
		tail -n 1 "$TMP/active-announced.log"
		grep -q "^ended\|EVENT_REJECTED" "$TMP/active-announced.log" ||
			return
		load_stop
		load_pid=()
	done
	attr interval 1
}

topo_up
objects >"$TMP/baseline"
ip link add dummy0 type dummy && ip link set dummy0 up
attr ignore-gfp-wait N
attr ignore-gfp-highmem N
attr min-order 0
attr verbose 0
attr times -1
attr interval 1
attr stacktrace-depth 32
others=()
while IFS=: read -r name _; do
	[[ $name == link ]] || others+=(-t "$name")
done < <(xt_faults -l)
# ib_uverbs lists the methods of a new device in a tree.  If it gets no memory
# for an entry, it loses the nodes that had already been made for that.
spare uverbs_alloc_api
cases xt_faults "${SIDES4[@]}" -n "$STRIDE" -T 2000 -t link
# The core prints a message when vmalloc() fails, which would look like a fault.
spare __vmalloc_node_range_noprof
cases xt_faults "${SIDES4[@]}" -n "$STRIDE" -T 2000 "${others[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"

# If rdma_ucm gets no memory for a request, it locks a mutex that it holds, and iw_cm
# hangs. So exclude the function of rdma_cm that calls it. It runs below a function of
# the driver, quirks_upcall(), which is required here.
read -r upcall upcall_end < <(function_range quirks_upcall)
spare iw_conn_req_handler
require "$upcall" "$upcall_end"
tap_run "requests that cannot be announced are rejected" announced
tap_show "$TMP/run.log"
tap_objects "nothing is left behind by rejected requests" "$TMP/baseline"

# If ib_uverbs gets no memory for a completion event, the event is lost, and a
# process that sleeps until it arrives is not woken. The driver cannot prevent
# that.
read -r start end < <(module_range ib_uverbs)
attr reject-start "$start"
attr reject-end "$end"
# Only one range can be excluded.  To keep quirks_upcall() out of the required range,
# require the code of the driver behind it, then the code in front of it.
read -r start end < <(module_range "$XIW_LINK_TYPE")
for ((i = 1; i <= ROUNDS; i++)); do
	tap_run "round $i: connections are under load" load_up 1 2
	before=$(refusals)
	require "$upcall_end" "$end"
	refuse $((i * 20 % 90))
	tap_run "round $i: memory is refused while data flows" \
		wait_for "$PATIENCE" more_refusals "$before"
	refuse 0
	tap_run "round $i: connection 1 goes on, or both its ends are notified" \
		settled 1
	tap_run "round $i: connection 2 goes on, or both its ends are notified" \
		settled 2
	for half in before behind; do
		if [[ $half == before ]]; then
			require "$start" "$upcall"
		else
			require "$upcall_end" "$end"
		fi
		refuse $((i * 3 % 30))
		tap_run "round $i: calls without memory come to an end, $half" \
			calls
		tap_show "$TMP/run.log"
		refuse 0
	done
	tap_objects "round $i: nothing is left behind" "$TMP/baseline"
done

# works NAME: true if a new connection carries data and ends without an error.
works()
{
	load_up "$1" && load_end "$1"
}

# Only single pages can be allocated, as on a host with fragmented memory.
attr min-order 1
both_ends mtu 9000 || bail "MTU 9000"
for markers in 0 1; do
	policy markers $markers
	echo 100 >$DEBUGFS/fail_page_alloc/probability
	tap_run "single pages are enough, markers $markers" \
		works "pages$markers"
	refuse 0
done
policy markers 0
both_ends mtu 1500 || bail "MTU 1500"
for name in tx_no_memory rx_no_memory; do
	tap_note "$name $(counter "$DEV_A" "$name") $(counter "$DEV_B" "$name")"
done
tap_run "a connection works" load_up after
tap_run "the connection ends in order" load_end after
ip link del dummy0
load_stop
tap_done
