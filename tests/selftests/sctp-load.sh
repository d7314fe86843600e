#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Connections over SCTP under load in both directions, with data that is compared:
# packets are lost, repeated, reordered and damaged; the MTU changes; processes are
# killed and devices removed under load.
#
# XIW_MESSAGES=N (60): Sends each way under netem.
#
# Covers: SCTP-36 SCTP-42
# xiw-timeout: 900
# xiw-kernel: uml debug

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

MESSAGES=${XIW_MESSAGES:-60}
PORT=7471
LOAD_SECONDS=600

unserved()
{
	! serves "$PORT"
}

# loaded NAME: as load_up(), over SCTP.
loaded()
{
	wait_for 30 unserved || return
	load_start passive "$1" -s "$NS_A/$A4" -p "$PORT" "${LOAD_ARGS[@]}"
	wait_for 30 serves "$PORT" || { load_show; return 1; }
	load_start active "$1" -c "$NS_B/$A4" -p "$PORT" "${LOAD_ARGS[@]}"
	wait_for "$XIW_TIMEOUT" load_runs "$1" || { load_show; return 1; }
}

repaired()
{
	LOAD_ARGS=(-n "$MESSAGES")
	loaded bad && load_ended bad && load_says active-bad ended &&
		load_says passive-bad ended
}

new_mtu()
{
	local mtu

	for mtu in 1280 576 1500; do
		both_ends mtu "$mtu" && flows || return
	done
}

# killed END OTHER: kills the process of END under load; true if that of OTHER exits.
killed()
{
	local rc=0

	loaded "$1" && load_kill "$1-$1" &&
		wait_for 60 not_running "${load_pid[$2-$1]}" || rc=$?
	load_stop
	return "$rc"
}

# removed DEVICE: removes the device under load; true if both processes exit.
removed()
{
	local rc=0

	loaded gone && within link_del "$1" &&
		wait_for 60 not_running "${load_pid[active-gone]}" &&
		wait_for 60 not_running "${load_pid[passive-gone]}" || rc=$?
	load_stop
	return "$rc"
}

needs_sctp
topo_up
policy sctp_ports "$PORT"
objects >"$TMP/baseline"
under loss 1%
under delay 2ms 1ms reorder 25% 50%
under duplicate 5%
under corrupt 2%
under delay 1ms 1ms loss 2% duplicate 2% corrupt 1%

tap_run "a connection is under load" loaded mtu
tap_run "the MTU changes, and data flows afterwards" new_mtu
tap_run "the connection ends in order" load_end mtu
load_stop

tap_run "the passive process is killed" killed passive active
tap_run "the active process is killed" killed active passive
tap_objects "nothing is left behind" "$TMP/baseline"
tap_run "a device is removed under load" removed "$DEV_B"
tap_run "the device can be added again" link_add "$NS_B" "$DEV_B" "$VETH_B"
policy_of "$DEV_B" sctp_ports "$PORT"
tap_run "the device of the passive side is removed under load" removed "$DEV_A"
tap_done
