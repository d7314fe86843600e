#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Connections over SCTP: rping with verified data over both address families, on a port
# in sctp_ports of both devices; other ports use TCP.  Then peers written in Python,
# which follow the protocol or violate it.
#
# Covers: SCTP-01 SCTP-02 SCTP-03 SCTP-04 SCTP-05 SCTP-06 SCTP-08 SCTP-13 SCTP-15
# Covers: SCTP-16 SCTP-17 SCTP-18 SCTP-19 SCTP-20 SCTP-29 SCTP-31 SCTP-32 SCTP-34
# Covers: SCTP-35 SCTP-38 SCTP-40 SCTP-41 SCTP-42 SCTP-44 SCTP-45 SCTP-49 SCTP-51
# Covers: SCTP-52 SCTP-55 SCTP-57 SCTP-66
# xiw-kernel: uml debug stock
# xiw-timeout: 600

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

PORT=7471

# ports LIST: sets sctp_ports of both devices.
ports()
{
	local dev

	for dev in "$DEV_A" "$DEV_B"; do
		echo "$1" >"/sys/class/infiniband/$dev/mpa/sctp_ports" || return
	done
}

ports_are()
{
	[[ $(<"/sys/class/infiniband/$DEV_A/mpa/sctp_ports") == "$1" ]]
}

# addresses add|del FIRST: adds or removes eleven addresses of the interface, at once.
addresses()
{
	local n

	for ((n = $2; n < $2 + 11; n++)); do
		echo "addr $1 10.77.0.$n/24 dev $VETH_A"
	done | ip -n "$NS_A" -batch -
}

replaced()
{
	addresses del 20 && addresses add 40
}

# bound FIRST: true if the listener is bound to eleven addresses from 10.77.0.FIRST on,
# and to $A4, only.
# shellcheck disable=SC2016  # awk's variables
bound()
{
	local n have

	have=" $(in_ns "$NS_A" awk -v p="$PORT" '$6 == p {
		for (i = 9; i <= NF; i++) print $i }' /proc/net/sctp/eps | xargs) "
	for ((n = $1; n < $1 + 11; n++)); do
		[[ $have == *" 10.77.0.$n "* ]] || return
	done
	(($(wc -w <<<"$have") == 12))
}

# sctp_pair DESC SERVER CLIENT: as pair() of lib.sh, but waits for a listener on SCTP.
sctp_pair()
{
	local src=0 crc=0

	# shellcheck disable=SC2086  # words
	start_server server "$NS_A" $2
	: >"$TMP/client.log"
	# shellcheck disable=SC2086  # words
	wait_for 10 serves "$PORT" &&
		in_ns "$NS_B" $3 >"$TMP/client.log" 2>&1 </dev/null || crc=$?
	((crc == 0)) || kill "${server_pid[server]}" 2>/dev/null
	wait_server server || src=$?
	((src == 0 && crc == 0))
	tap_result $? "$1" && return
	tap_note "server $src, client $crc"
	tap_show "$TMP/server.log"
	tap_show "$TMP/client.log"
	return 1
}

# peer CASE [ARGS...]: runs a case of sctp_peers.py against the server in xa.
peer()
{
	local case=$1

	shift
	in_ns "$NS_B" python3 "$SELFTESTS/../conformance/sctp_peers.py" "$case" "$A4" \
		"$PORT" "$@"
}

other_network()
{
	ip -n "$NS_A" link add other type dummy &&
	ip -n "$NS_A" addr add 10.79.0.1/24 dev other &&
	ip -n "$NS_A" link set other up
}

# verified WHAT ADDRESS ROUNDS SIZE: the claim is that rping succeeds over SCTP.
verified()
{
	sctp_pair "rping, $1: $3 rounds of $4 bytes" \
		"rping -s -V -a $2 -p $PORT -C $3 -S $4" \
		"rping -c -V -a $2 -p $PORT -C $3 -S $4"
}

needs_sctp
topo_up
tap_run_not "a list of ports with a word is refused" ports "1 2 x"
tap_run_not "a list with port 0 is refused" ports "0"
tap_run_not "a list of 17 ports is refused" ports "$(seq -s, 17)"
tap_run "a list of ports is accepted" ports "$PORT,4420"
tap_run "reading the list returns its ports" ports_are "$PORT 4420"
verified "IPv4" "$A4" 400 64
verified "IPv4" "$A4" 100 1424
verified "IPv4" "$A4" 50 4097
verified "IPv4" "$A4" 20 65535
verified "IPv6" "$A6" 100 100
verified "IPv6" "$A6" 20 65535
tap_run "SCTP has fragmented no message of the first host" unfragmented "$NS_A"
tap_run "SCTP has fragmented no message of the second host" unfragmented "$NS_B"
sctp_pair "rping to a wildcard listener" \
	"rping -s -V -p $PORT -C 10" "rping -c -V -a $A4 -p $PORT -C 10"
pair "ports that are not in the list use TCP" \
	"rping -s -V -a $A4 -p @PORT@ -C 10" \
	"rping -c -V -a $A4 -p @PORT@ -C 10"

# A wildcard listener has the addresses of its interface, and follows them.
tap_run "an interface of another network can be added" other_network
start_server wildcard "$NS_A" rping -s -P -p "$PORT"
tap_run "a wildcard listener starts" wait_for 10 serves "$PORT"
tap_run "a wildcard listener announces the address of its interface only" peer announces
tap_run "a second address is added to the interface" \
	ip -n "$NS_A" addr add 10.77.0.9/24 dev "$VETH_A"
tap_run "the listener announces the second address, too" \
	wait_for 10 peer announces 10.77.0.9
tap_run "the second address is removed" \
	ip -n "$NS_A" addr del 10.77.0.9/24 dev "$VETH_A"
tap_run "the listener announces the first address only" wait_for 10 peer announces
# The listener has room for twelve addresses, so it must drop old ones to add new ones.
tap_run "eleven addresses are added to the interface" addresses add 20
tap_run "the listener is bound to all addresses of the interface" wait_for 10 bound 20
tap_run "the addresses are replaced by others" replaced
tap_run "the listener is bound to the new addresses" wait_for 10 bound 40
tap_run "the new addresses are removed" addresses del 40
stop_server wildcard

# Peers written in Python: the cases of sctp_peers.py
start_server persistent "$NS_A" rping -s -P -a "$A4" -p "$PORT"
tap_run "a server for many connections starts" wait_for 10 serves "$PORT"
for case in none other NS-01 NS-02 NS-03 NS-04 NS-05 NS-06 NS-08 NS-09 NS-10 \
	NS-11 NS-13 NS-14 long in-order reversed mixed term; do
	tap_run "a peer of Python: $case" peer "$case"
done
seed=$((RANDOM * 32768 + RANDOM))
tap_run "random messages do no harm (seed $seed)" peer chaos "$seed"
tap_run "the server accepts a connection afterwards" in_ns "$NS_B" \
	rping -c -V -a "$A4" -p "$PORT" -C 10
stop_server persistent
tap_run "the list can be emptied" ports ""
tap_done
