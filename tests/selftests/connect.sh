#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Connection set-up and teardown: 60 connections in a row and many at once,
# private data of all lengths both ways, rejects and refusals, wildcard and
# bound listeners, every order of closing, and TCP clients that are silent,
# talk garbage or go away.  Both address families.
#
# Covers: MPA-38 MPA-48 MPA-58 MPA-73
# Covers: TERM-15 TERM-19
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"

ip -n "$NS_A" addr add 10.77.0.101/24 dev "$VETH_A"
ip -n "$NS_A" addr add fd77::101/64 dev "$VETH_A" nodad
cases -p IPv4 xt_conn "${SIDES4[@]}" -o "$NS_A/10.77.0.101" -n 60
cases -p IPv6 xt_conn "${SIDES6[@]}" -o "$NS_A/fd77::101" -n 20

pair "ucmatose: 20 connections at once" \
	"ucmatose -b $A4 -p @PORT@ -c 20 -C 3 -S 500" \
	"ucmatose -s $A4 -p @PORT@ -c 20 -C 3 -S 500"
# The server of cmtime never ends, so it is stopped.
cm_port=$(free_port)
start_server cmtime "$NS_A" cmtime -b "$A4" -p "$cm_port" -c 50
wait_listen cmtime "$NS_A" "$cm_port"
tap_run "cmtime: 50 connections at once" \
	in_b cmtime -s "$A4" -p "$cm_port" -c 50
stop_server cmtime
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
