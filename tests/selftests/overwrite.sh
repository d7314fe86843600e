#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A completed buffer belongs to the application again, also while TCP is still
# repeating lost segments of it: the peer receives the bytes that were posted.
#
# Covers: RDMAP-16
# xiw-kernel: uml debug
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up

retransmitted()
{
	ip netns exec "$1" nstat -asz TcpRetransSegs |
		awk '/TcpRetransSegs/ { print $2 }'
}

netem "$NS_A" "$VETH_A" loss 1%
netem "$NS_B" "$VETH_B" loss 2%
before=$(retransmitted "$NS_B")
cases -p "2 % loss" xt_overwrite "${SIDES4[@]}" -n "${XIW_ROUNDS:-12}"
after=$(retransmitted "$NS_B")
tap_run "segments were sent again" test "$after" -gt "$before"
tap_note "$((after - before)) segments were sent again"

tap_done
