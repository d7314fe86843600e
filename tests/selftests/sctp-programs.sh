#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Programs of others over SCTP, without a change: perftest and ucmatose at ports of
# sctp_ports. For each, the associations of the server are counted, as over TCP it would
# work as well.
#
# xiw-kernel: uml debug
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# associated: prints the number of associations that SCTP in xa has accepted.
# shellcheck disable=SC2016  # awk's variable
associated()
{
	in_ns "$NS_A" awk '$1 == "SctpPassiveEstabs" { print $2 }' /proc/net/sctp/snmp
}

# over_sctp DESC SERVER CLIENT: as pair() of lib.sh, over SCTP.
over_sctp()
{
	local before

	before=$(associated)
	policy sctp_ports "$(next_ports)"
	pair "$@" || return
	tap_run "  by an association" test "$(associated)" -gt "$before"
}

# reported SIZE ITERATIONS: true if the client has printed a line of results, which begins
# with these.
reported()
{
	grep -qE "^ *$1 +$2 " "$TMP/client.log"
}

# perf PROGRAM SIZE ITERATIONS [ARGS...]: the claims that the program succeeds over SCTP,
# and reports all iterations.
perf()
{
	local args="-R -p @PORT@ -s $2 -n $3 -F ${*:4}"

	over_sctp "$1 $2 bytes, $3 times${4:+, ${*:4}}" \
		"$1 -d $DEV_A $args" "$1 -d $DEV_B $args $A4" || return
	tap_run "  and reports size and number" reported "$2" "$3"
}

needs_sctp
topo_up
objects >"$TMP/baseline"
for prog in ib_send_bw ib_write_bw ib_read_bw; do
	perf $prog 1 100
	perf $prog 65536 20
	perf $prog 1048576 5
done
perf ib_write_bw 8192 20 -b
perf ib_read_bw 2048 50 -e
for prog in ib_send_lat ib_write_lat ib_read_lat; do
	perf $prog 64 100
done
perf ib_send_lat 4000 50 -e
over_sctp "ucmatose over IPv4" \
	"ucmatose -b $A4 -p @PORT@ -c 4 -C 10 -S 1000" \
	"ucmatose -s $A4 -p @PORT@ -c 4 -C 10 -S 1000"
over_sctp "ucmatose over IPv6" \
	"ucmatose -b $A6 -f ip6 -p @PORT@ -c 4 -C 10 -S 1000" \
	"ucmatose -s $A6 -f ip6 -p @PORT@ -c 4 -C 10 -S 1000"
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
