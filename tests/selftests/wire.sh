# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Captures of what is on the wire between xa and xb, for the tests that look at
# it (source lib.sh first): taken by tcpdump at va, with all segmentation left
# to TCP, and taken apart by tests/conformance/capture.py and by tshark.

# plain_segments: what is captured is what a wire would carry, a segment of TCP
# for each frame.
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

capturing()
{
	grep -q 'listening on' "$TMP/tcpdump.log"
}

# capture_start FILE [OCTETS]: of each packet so many; the fewer, the more packets
# have room until they are written.
capture_start()
{
	: >"$TMP/tcpdump.log"
	ip netns exec "$NS_A" tcpdump -i "$VETH_A" --immediate-mode -U -B 32768 \
		-s "${2:-262144}" -Z root -w "$1" tcp 2>"$TMP/tcpdump.log" &
	capture_pid=$!
	wait_for 60 capturing || {
		tap_show "$TMP/tcpdump.log"
		bail "set-up: tcpdump does not capture"
	}
}

# capture_stop: it writes what it has when told to end.
capture_stop()
{
	kill -INT "$capture_pid"
	wait "$capture_pid"
	grep -q '^0 packets dropped by kernel' "$TMP/tcpdump.log" ||
		bail "set-up: the capture lost packets"
}

# take_apart FILE [ADDRESS]: what capture.py found goes to $TMP/messages; false
# if something was not as the RFCs want it, but for the PAD sent by ADDRESS.
take_apart()
{
	"$SELFTESTS/../conformance/capture.py" "$@" >"$TMP/messages" 2>&1 ||
		{ cat "$TMP/messages"; return 1; }
}

# seen NAME: how many of these it counted.
seen()
{
	awk -v n="$1" '$1 == n { print $2; found = 1 }
		       END { if (!found) print 0 }' "$TMP/messages"
}

# startups: a line for each connection, what Request and Reply say.
startups()
{
	sed -n 's/^startup //p' "$TMP/messages"
}
