#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# TCP segments of every size that a peer may ask for, down to Linux' minimum: all data
# arrives, and nothing is written beyond a transmit block. With an MSS below 136 bytes
# the smallest FPDU is longer than a segment.
#
# Covers: MPA-20
# xiw-kernel: uml

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# Below Linux' minimum the peer's announcement counts as tcp_min_snd_mss, 48.
SIZES="1460 536 200 148 147 135 120 100 89 60 48 20"

# announce MSS: each side announces this segment size to the other.
announce()
{
	ip -n "$NS_A" route replace "${A4%.*}.0/24" dev "$VETH_A" advmss "$1" &&
	ip -n "$NS_B" route replace "${A4%.*}.0/24" dev "$VETH_B" advmss "$1"
}

# carried MESSAGES: true if a connection carries so many messages each way, all of them
# right.
carried()
{
	LOAD_ARGS=(-n "$1")
	load_up small && load_ended small && load_says active-small ended &&
		load_says passive-small ended
}

# read_all SIZE: true if Reads of SIZE bytes complete. They find a whole message to
# respond to, so the responder encodes as many FPDUs at once as the block has room for.
read_all()
{
	local src crc

	run_pair_patiently "$NS_A" "$NS_B" "ib_read_bw -d $DEV_A -R -F -s $1 -n 40 -p @PORT@" \
		"ib_read_bw -d $DEV_B -R -F -s $1 -n 40 -p @PORT@ $A4"
	((src == 0 && crc == 0))
}

topo_up
objects >"$TMP/baseline"
for segments in 1 3 0; do
	policy fpdu_segments "$segments"
	for mss in $SIZES; do
		announce "$mss" || bail "an MSS of $mss"
		tap_run "MSS $mss, FPDUs of $segments segments: all data arrives" \
			carried 40
		((segments == 1)) || continue
		for size in 3600 30000 65536; do
			tap_run "MSS $mss: Reads of $size bytes" read_all "$size"
		done
	done
done
tap_objects "nothing is left behind" "$TMP/baseline"
load_stop
tap_done
