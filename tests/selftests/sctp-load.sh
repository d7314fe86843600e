#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Connections over SCTP under load in both directions, with data that is compared:
# packets are lost, repeated, reordered and damaged; the MTU changes; one network fails
# and returns, then the other one, and an address of the peer goes away. Processes are
# killed and devices removed under load.
#
# XIW_MESSAGES=N (60): Sends each way under netem.
#
# Covers: SCTP-33 SCTP-36 SCTP-42
# xiw-timeout: 900
# xiw-kernel: uml debug

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

MESSAGES=${XIW_MESSAGES:-60}
PORT=7471
LOAD_SECONDS=600

second_network()
{
	ip link add va2 netns "$NS_A" type veth peer name vb2 netns "$NS_B" &&
	ip -n "$NS_A" addr add 10.78.0.1/24 dev va2 &&
	ip -n "$NS_B" addr add 10.78.0.2/24 dev vb2 &&
	ip -n "$NS_A" link set va2 up && ip -n "$NS_B" link set vb2 up
}

unserved()
{
	! serves "$PORT"
}

# loaded NAME: as load_up, at the port of SCTP.
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

# under ARGS...: all messages arrive with netem in both directions.
under()
{
	{
		netem "$NS_A" "$VETH_A" "$@" && netem "$NS_B" "$VETH_B" "$@"
	} || bail "netem $*"
	tap_run "netem $*: every byte arrives, once" repaired
	netem "$NS_A" "$VETH_A"
	netem "$NS_B" "$VETH_B"
	LOAD_ARGS=()
}

# path_works ADDRESS: SCTP of B uses this address of A.
# shellcheck disable=SC2016  # awk's variables
path_works()
{
	in_ns "$NS_B" awk -v a="$1" '$1 == a && $8 == 2 { n++ } END { exit !n }' \
		/proc/net/sctp/remaddr
}

path_fails()
{
	! path_works "$1"
}

# fails ADDRESS NETDEV_A NETDEV_B: data flows without this network, which returns.
fails()
{
	netem "$NS_A" "$2" loss 100% && netem "$NS_B" "$3" loss 100% &&
	flows && wait_for 60 path_fails "$1" && flows &&
	netem "$NS_A" "$2" && netem "$NS_B" "$3" &&
	wait_for 60 path_works "$1" && flows
}

new_mtu()
{
	local mtu

	for mtu in 1280 576 1500; do
		both_ends mtu "$mtu" && flows || return
	done
}

no_address()
{
	ip -n "$NS_A" addr del 10.78.0.1/24 dev va2 && flows
}

# killed END OTHER: the other end ends, too.
killed()
{
	local rc=0

	loaded "$1" && load_kill "$1-$1" &&
		wait_for 60 not_running "${load_pid[$2-$1]}" || rc=$?
	load_stop
	return "$rc"
}

# removed DEVICE: under load
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
tap_run "a second network" second_network
policy sctp_ports "$PORT"
policy_of "$DEV_A" sctp_addresses 10.78.0.1
policy_of "$DEV_B" sctp_addresses 10.78.0.2
objects >"$TMP/baseline"
under loss 1%
under delay 2ms 1ms reorder 25% 50%
under duplicate 5%
under corrupt 2%
under delay 1ms 1ms loss 2% duplicate 2% corrupt 1%

tap_run "a connection is under load" loaded paths
tap_run "the first network fails and returns" fails "$A4" "$VETH_A" "$VETH_B"
tap_run "so does the second one" fails 10.78.0.1 va2 vb2
tap_run "the MTU changes" new_mtu
tap_run "an address of the peer goes away" no_address
tap_run "the connection ends in order" load_end paths
load_stop

tap_run "the passive process is killed" killed passive active
tap_run "the active process is killed" killed active passive
tap_objects "nothing is left behind" "$TMP/baseline"
tap_run "a device is removed under load" removed "$DEV_B"
tap_run "there is a device again" link_add "$NS_B" "$DEV_B" "$VETH_B"
policy_of "$DEV_B" sctp_ports "$PORT"
tap_run "the device of the passive side is removed under load" removed "$DEV_A"
tap_done
