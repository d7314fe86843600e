#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Connections over SCTP with an address on a second network at both ends: rping with
# verified data goes on while the first network loses all packets, and when it is there
# again, and ends in order.  The longest time without a received FPDU is noted.
#
# Covers: SCTP-33
# xiw-kernel: uml debug stock
# xiw-timeout: 600

. "$(dirname "$0")/lib.sh"

PORT=7471
ROUNDS=1000

second_network()
{
	ip link add va2 netns "$NS_A" type veth peer name vb2 netns "$NS_B" &&
	ip -n "$NS_A" addr add 10.78.0.1/24 dev va2 &&
	ip -n "$NS_B" addr add 10.78.0.2/24 dev vb2 &&
	ip -n "$NS_A" addr add fd78::1/64 dev va2 nodad &&
	ip -n "$NS_B" addr add fd78::2/64 dev vb2 nodad &&
	ip -n "$NS_A" link set va2 up && ip -n "$NS_B" link set vb2 up
}

# policy DEVICE FILE VALUE
policy()
{
	echo "$3" >"/sys/class/infiniband/$1/mpa/$2"
}

policies()
{
	policy "$DEV_A" sctp_ports "$PORT" && policy "$DEV_B" sctp_ports "$PORT" &&
	policy "$DEV_A" sctp_addresses "10.78.0.1 fd78::1" &&
	policy "$DEV_B" sctp_addresses "10.78.0.2 fd78::2"
}

# shellcheck disable=SC2016  # awk's variables
listens()
{
	in_ns "$NS_A" awk -v p="$PORT" '$6 == p { n++ } END { exit !n }' \
		/proc/net/sctp/eps
}

# both_paths ADDRESS: the association has this address of the peer, too.
both_paths()
{
	in_ns "$NS_B" grep -qF "$1" /proc/net/sctp/assocs
}

# shellcheck disable=SC2016  # python's text
PROGRESS='
import sys, time
path, fpdus, limit = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
def count():
    with open(path) as f:
        return int(f.read())
first = last = count()
open(sys.argv[4], "w").close()
begin = since = time.monotonic()
longest = 0
while last < first + fpdus:
    value, now = count(), time.monotonic()
    if value != last:
        longest = max(longest, now - since)
        last, since = value, now
    if now > begin + limit:
        sys.exit(1)
    time.sleep(0.002)
print(round(longest * 1000))'

# progress FPDUS: the client receives so many more; prints the longest pause in ms.
progress()
{
	python3 -c "$PROGRESS" "/sys/class/infiniband/$DEV_B/ports/1/hw_counters/rx_fpdus" \
		"$1" 40 "$TMP/watching"
}

# The delay of both networks makes the connection last until the loss.
first_network()
{
	netem "$NS_A" "$VETH_A" "$@" && netem "$NS_B" "$VETH_B" "$@"
}

slow_networks()
{
	first_network delay 1ms &&
	netem "$NS_A" va2 delay 1ms && netem "$NS_B" vb2 delay 1ms
}

watching()
{
	[[ -e $TMP/watching ]]
}

# loses_all: and the client gets on all the same.
loses_all()
{
	local watch

	rm -f "$TMP/watching"
	progress 200 >"$TMP/pause" &
	watch=$!
	wait_for 10 watching && first_network loss 100% && wait "$watch"
}

# survives WHAT ADDRESS OTHER
survives()
{
	start_server server "$NS_A" rping -s -V -a "$2" -p "$PORT" -C "$ROUNDS" -S 100
	tap_run "$1: the server listens" wait_for 10 listens
	start_server client "$NS_B" \
		rping -c -V -a "$2" -p "$PORT" -C "$ROUNDS" -S 100
	tap_run "$1: rping runs" progress 100
	tap_run "$1: with both paths" both_paths "$3"
	tap_run "$1: it goes on when the first network loses everything" loses_all
	tap_note "longest pause: $(<"$TMP/pause") ms"
	tap_run "$1: the first network is there again" first_network delay 1ms
	tap_run "$1: the client ends in order" wait_server client
	tap_run "$1: the server, too" wait_server server
	((tap_failed == 0)) || {
		tap_show "$TMP/client.log"
		tap_show "$TMP/server.log"
	}
}

modprobe -q sctp || [[ -e /proc/net/sctp ]] ||
	skip_all "this kernel has no SCTP"
topo_up
tap_run "a second network" second_network
tap_run_not "a word is no address" policy "$DEV_A" sctp_addresses lo
tap_run_not "a multicast address is refused" \
	policy "$DEV_A" sctp_addresses 224.0.0.1
tap_run_not "a timeout of 0 is refused" policy "$DEV_A" sctp_rto_ms 0
tap_run "both devices have addresses there" policies
tap_run "a delay of both networks" slow_networks
survives "IPv4" "$A4" 10.78.0.1
tap_run "retransmissions after 20 ms" policy "$DEV_A" sctp_rto_ms 20
tap_run "at both ends" policy "$DEV_B" sctp_rto_ms 20
survives "IPv6, 20 ms" "$A6" fd78:0000:0000:0000:0000:0000:0000:0001
tap_done
