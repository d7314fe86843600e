# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Captures of the packets between xa and xb (source lib.sh first): by tcpdump at
# va, without segmentation offload, parsed by tests/conformance/capture.py, or
# sctp_capture.py, and by tshark.

# plain_segments: disables offloads, so that captured packets are the segments
# that a wire would carry.
plain_segments()
{
	local side

	for side in "$NS_A $VETH_A" "$NS_B $VETH_B"; do
		# shellcheck disable=SC2086  # two words
		set -- $side
		ip netns exec "$1" ethtool -K "$2" tso off gso off gro off \
			>/dev/null || bail "set-up: segmentation stays off TCP"
	done
}

# talk_variants OLD: calls "talk WHAT" for each kind of RTR, and for revision 1, which
# is described as OLD. The caller defines talk.
talk_variants()
{
	talk "RTR by Write"
	policy rtr_types read
	talk "RTR by Read"
	policy rtr_types send
	talk "RTR by Send"
	policy rtr_types none
	talk "no RTR"
	policy rtr_types "write read"
	policy revision 1
	talk "$1"
	policy revision 2
}

capturing()
{
	grep -q 'listening on' "$TMP/tcpdump.log"
}

# capture_start FILE [BYTES]: captures so many bytes of each packet; with fewer
# bytes more packets fit into the buffer.
capture_start()
{
	: >"$TMP/tcpdump.log"
	ip netns exec "$NS_A" tcpdump -i "$VETH_A" --immediate-mode -U -B 32768 \
		-s "${2:-262144}" -Z root -w "$1" tcp or sctp 2>"$TMP/tcpdump.log" &
	capture_pid=$!
	capture_unread=
	{ wait_for 60 capturing && wait_for 60 capture_is_counted; } || {
		tap_show "$TMP/tcpdump.log"
		bail "set-up: tcpdump does not capture"
	}
}

# unread: asks tcpdump for its counts, and prints how many packets it has not read, by
# those of the previous call; nothing if there are none yet.
unread()
{
	kill -USR1 "$capture_pid"
	tail -n 1 "$TMP/tcpdump.log" |
		awk '/received by filter/ { print $5 - $2 }'
}

# capture_is_counted: sets capture_unread. Packets that arrived before the filter was
# in place are counted as received, and never read.
capture_is_counted()
{
	capture_unread=$(unread)
	[[ $capture_unread ]]
}

# capture_is_read: true if tcpdump has read all packets since the start.
capture_is_read()
{
	local now

	now=$(unread)
	[[ $now ]] && ((now <= capture_unread))
}

# capture_stop: ends tcpdump when it has read all packets: it would lose the others.
capture_stop()
{
	wait_for 60 capture_is_read || {
		tap_show "$TMP/tcpdump.log" 3
		bail "set-up: tcpdump is too slow"
	}
	kill -INT "$capture_pid"
	wait "$capture_pid"
	grep -q '^0 packets dropped by kernel' "$TMP/tcpdump.log" ||
		bail "set-up: the capture lost packets"
}

# take_apart FILE [ADDRESS]: the output of capture.py goes to $TMP/messages;
# false if something violates the RFCs, except for padding sent by ADDRESS.
take_apart()
{
	"$SELFTESTS/../conformance/capture.py" "$@" >"$TMP/messages" 2>&1 ||
		{ cat "$TMP/messages"; return 1; }
}

# well_formed CLAIM: the claim is that tshark finds no malformed frame and no error.
# Columns 3 and 4 of $TMP/fields are _ws.malformed and _ws.expert.severity.
well_formed()
{
	# 0x800000 is the severity of errors.
	awk -F '\t' '$3 != "" || $4 ~ /8388608/' "$TMP/fields" >"$TMP/malformed"
	tap_is "$1" "$(wc -l <"$TMP/malformed")" 0
	tap_show "$TMP/malformed" 5
}

# seen NAME: prints how many messages of this kind capture.py has counted.
seen()
{
	awk -v n="$1" '$1 == n { print $2; found = 1 }
		       END { if (!found) print 0 }' "$TMP/messages"
}

# startups: prints a line for each connection with the fields of Request and Reply.
startups()
{
	sed -n 's/^startup //p' "$TMP/messages"
}
