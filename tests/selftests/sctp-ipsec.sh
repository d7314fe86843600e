#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# IPsec for the connections of one port over SCTP, as an administrator sets it up for
# any service: policies with a port, ESP in transport mode, which UML's kernel lacks.
# The connection works, all of it is encrypted, other ports are not, and nothing passes
# in clear when one end has no security association.
#
# Covers: SCTP-50
# xiw-kernel: stock
# xiw-timeout: 300

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

PORT=7471
KEY=0x6b6579206f662074656e20776f726473206f6e65

# secured NS OWN PEER: adds policies: packets to and from the port must use ESP.
secured()
{
	ip -n "$1" -batch - <<-END
		xfrm state add src $2 dst $3 proto esp spi 0x${2##*.} mode transport aead rfc4106(gcm(aes)) $KEY 128
		xfrm state add src $3 dst $2 proto esp spi 0x${3##*.} mode transport aead rfc4106(gcm(aes)) $KEY 128
		xfrm policy add src $2 dst $3 proto sctp $4 $PORT dir out tmpl proto esp mode transport
		xfrm policy add src $3 dst $2 proto sctp $5 $PORT dir in tmpl proto esp mode transport
	END
}

# encrypted NS: prints the number of ESP packets so far, in both directions.
encrypted()
{
	ip -n "$1" -s xfrm state | awk '/lifetime current/ { getline; n += $2 }
		END { print n + 0 }'
}

# talks: true if rping with verified data succeeds.
talks()
{
	local rc=0

	start_server server "$NS_A" rping -s -V -a "$A4" -p "$PORT" -C 20 -S 4000
	wait_for 10 serves "$PORT" &&
		in_ns "$NS_B" rping -c -V -a "$A4" -p "$PORT" -C 20 -S 4000 || rc=$?
	((rc == 0)) || kill "${server_pid[server]}"
	wait_server server && ((rc == 0)) || return 1
}

needs_sctp
topo_up
policy sctp_ports "$PORT"
modprobe -a esp4 xfrm_user
{
	secured "$NS_A" "$A4" "$B4" sport dport &&
	secured "$NS_B" "$B4" "$A4" dport sport
} 2>"$TMP/ip" || { tap_show "$TMP/ip"; bail "set-up: IPsec"; }
tap_run "rping passes data over SCTP with IPsec" talks
before=$(encrypted "$NS_A")
tap_note "$before packets were encrypted"
tap_run "the packets of SCTP were encrypted" test "$before" -gt 100
tap_run "SCTP fragmented no message" unfragmented "$NS_A"
pair "rping passes data over TCP at another port" "rping -s -V -a $A4 -p @PORT@ -C 20" \
	"rping -c -V -a $A4 -p @PORT@ -C 20"
tap_is "no packet of TCP was encrypted" "$(encrypted "$NS_A")" "$before"
policy_of "$DEV_B" reply_timeout_ms 2000
ip -n "$NS_B" xfrm state flush
ip -n "$NS_B" xfrm policy flush
tap_run_not "packets in clear are dropped where IPsec is required" talks
tap_done
