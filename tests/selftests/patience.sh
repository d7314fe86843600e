#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A connection survives a peer that has no room for minutes, but answers TCP's probes
# (xt_patient), even if the peer drops the data in flight when its window closes.
#
# xiw-long: it waits for more than a minute
# xiw-kernel: stock debug

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

SHUT=100		# seconds for which a window is closed
LOAD_SECONDS=500

# pair_up: replaces the veth pair by one that closes TCP's windows while
# $TMP/shut exists.
pair_up()
{
	tun_pair tun "$VETH_A" "$VETH_B" "$TMP/shut"
	{
		peer_up "$NS_A" "$VETH_A" "$A4" "$A6" &&
		peer_up "$NS_B" "$VETH_B" "$B4" "$B6"
	} || bail "set-up: the interfaces could not be made"
}

# again: true if TCP in xb retransmits the dropped data, with a timeout of 2 s or more.
again()
{
	in_b ss -tinH | grep -Eq ' rto:([2-9][0-9]{3}|[0-9]{5,})'
}

# given_up: true if the process of either end has exited.
given_up()
{
	not_running "${load_pid[active-tun]}" ||
	not_running "${load_pid[passive-tun]}"
}

topo_up
objects >"$TMP/baseline"
policy rnr_timeout_ms 600000
cases xt_patient "${SIDES4[@]}"
tap_objects "nothing is left behind" "$TMP/baseline"

links_down
ip -n "$NS_A" link del "$VETH_A"
pair_up
links_up
tap_run "a connection through a pair of tun" load_up tun
touch "$TMP/shut"
tap_run "its peer closes the window and drops what is in flight" \
	wait_for 60 again
tap_run_not "neither end gives up within $SHUT s" happens_within "$SHUT" given_up
rm "$TMP/shut"
before=$(counter "$DEV_A" rx_bytes)
# TCP may have doubled the time between two attempts up to two minutes.
tap_run "the connection goes on when the window opens" \
	wait_for 150 grown "$DEV_A" rx_bytes "$((before + 50000))"
tap_run "the connection ends in order" load_end tun
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
