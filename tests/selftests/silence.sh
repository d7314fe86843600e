#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# mpa/silence_timeout_ms: a peer that vanishes is detected within that time, if the
# connection is idle, has data in flight, or lingers after the end of its process. A
# peer that has no room, but answers, is not taken for dead, even with a short timeout.
#
# xiw-kernel: uml

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

FILE=/sys/class/infiniband/$DEV_A/mpa/silence_timeout_ms
SILENCE=6000
SHUT=25			# seconds for which a window is closed
LOAD_SECONDS=200

write_file()
{
	echo "$1" >"$FILE"
}

# given_up COUNT: true if both devices have counted COUNT lost connections.
given_up()
{
	[[ $(counter "$DEV_A" connections_lost) == "$1" &&
	   $(counter "$DEV_B" connections_lost) == "$1" ]]
}

# all_acked: true if TCP of both ends has nothing to send, or to be
# acknowledged.
all_acked()
{
	! { in_a ss -Htn; in_b ss -Htn; } | awk '$3' | grep -q .
}

# vanishes NAME LOST: the claims for the load NAME when its link drops all packets. LOST:
# number of connections that were lost before.
vanishes()
{
	local start

	tap_run "$1: a connection" load_up "$1"
	[[ $1 != idle ]] ||
		kill -STOP "${load_pid[active-idle]}" "${load_pid[passive-idle]}"
	# Wait until data in flight has arrived.
	[[ $1 != idle ]] || wait_for 10 all_acked ||
		bail "set-up: data of the stopped load stays in flight"
	netem "$NS_A" "$VETH_A" loss 100%
	netem "$NS_B" "$VETH_B" loss 100%
	start=$SECONDS
	tap_run_not "$1: it is there until 3 s have passed" \
		happens_within 3 given_up $(($2 + 1))
	tap_run "$1: both ends lose the connection within 12 s" \
		wait_for $((12 - (SECONDS - start))) given_up $(($2 + 1))
	tap_note "after $((SECONDS - start)) s"
	[[ $1 != idle ]] ||
		kill -CONT "${load_pid[active-idle]}" "${load_pid[passive-idle]}"
	tap_run "$1: the processes are notified, and had all data right" \
		load_ended "$1"
	netem "$NS_A" "$VETH_A"
	netem "$NS_B" "$VETH_B"
}

again()
{
	in_b ss -tinH | grep -Eq ' rto:([1-9][0-9]{3}|[0-9]{5,})'
}

stopped()
{
	not_running "${load_pid[active-tun]}" ||
	not_running "${load_pid[passive-tun]}"
}

# full: the claims for a peer that closes its window, and drops data in flight or not.
full()
{
	local before

	tun_pair tun ta tb "$TMP/shut"
	links_down
	ip -n "$NS_A" link del "$VETH_A"
	VETH_A=ta VETH_B=tb
	{
		peer_up "$NS_A" ta "$A4" "$A6" && peer_up "$NS_B" tb "$B4" "$B6"
	} || bail "set-up: the interfaces"
	links_up
	policy silence_timeout_ms $SILENCE
	tap_run "full: a connection" load_up tun
	touch "$TMP/shut"
	tap_run "full: the peer closes its window and drops what is in flight" \
		wait_for 60 again
	tap_run_not "full: neither end gives up" happens_within $SHUT stopped
	rm "$TMP/shut"
	before=$(counter "$DEV_A" rx_bytes)
	tap_run "full: the connection goes on" wait_for 90 \
		grown "$DEV_A" rx_bytes "$((before + 50000))"
	tap_run "full: the connection ends in order" load_end tun
}

# sockets: prints all TCP sockets of both ends, except listening ones.
sockets()
{
	in_a ss -Htn
	in_b ss -Htn
}

no_sockets()
{
	! sockets | grep -q .
}

# orphaned: the claims for a peer that vanishes with its window closed, when the
# processes have ended. Without the driver's timeout, TCP gives up after 102 s.
orphaned()
{
	policy close_timeout_ms 500
	tap_run "orphaned: a connection" load_up tun
	touch "$TMP/shut"
	tap_run "orphaned: the peer closes its window and drops what is in flight" \
		wait_for 60 again
	netem "$NS_A" ta loss 100%
	netem "$NS_B" tb loss 100%
	tap_run "orphaned: the processes are killed" load_kill {active,passive}-tun
	tap_run "orphaned: TCP gives up" wait_for 40 no_sockets
	sockets | while read -r line; do
		tap_note "$line"
	done
}

topo_up
tap_is "a minute is the default" "$(<"$FILE")" 60000
tap_run_not "less than six seconds are refused" write_file 5999
policy silence_timeout_ms $SILENCE
vanishes idle 0
vanishes busy 1
full
orphaned
tap_done
