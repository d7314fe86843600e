#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Many bad peers (tests/conformance/bad_peers.py), and beside them a good connection
# between the same devices, whose traffic both ends check: it continues without an
# error, and without a pause longer than the machine's own.
#
# XIW_BAD_PEERS: how many Initiators (120), and a fifth as many Responders; the
# long form is 2000, on the stock kernel.
#
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

export XIW_BAD_PEERS=${XIW_BAD_PEERS:-120}
export XIW_SUMMARY=$TMP/summary
LOAD_SECONDS=900
# Limit for a pause of the good connection: on the emulated debug kernel a process may
# not run for that long.
LONGEST_MS=5000
[[ ${XIW_KERNEL:-debug} != debug ]] || LONGEST_MS=15000

# Measures the longest pause of the machine in ms: a process that only sleeps.
WITNESS='
import signal, sys, time
worst, last = 0, time.monotonic()
def tell(*_):
    print(worst)
    sys.exit()
signal.signal(signal.SIGTERM, tell)
while True:
    time.sleep(0.05)
    now = time.monotonic()
    worst, last = max(worst, int((now - last) * 1000)), now
'

# said END KEY: prints the number behind KEY in the output of that end of the good
# connection.
said()
{
	sed -n "s/^$2 \([0-9]*\).*/\1/p" "$TMP/$1-good.log"
}

short_gap()
{
	local end

	for end in passive active; do
		(($(said "$end" gap) < LONGEST_MS + $(<"$TMP/stood"))) || return
	done
}

# sockets_left: prints the TCP sockets of xa, except listening ones and TIME_WAIT.
sockets_left()
{
	# shellcheck disable=SC2016  # awk's
	in_a awk 'FNR > 1 && $4 != "06" && $4 != "0A"' /proc/net/tcp
}

no_sockets()
{
	[[ -z $(sockets_left) ]]
}

topo_up
export XIW_SECOND=10.77.0.102
ip -n "$NS_B" addr add $XIW_SECOND/24 dev "$VETH_B"
objects >"$TMP/baseline"
python3 -c "$WITNESS" >"$TMP/stood" &
witness=$!
tap_run "a good connection carries traffic" load_up good || bail "no load"
renice -n 0 -p "${load_pid[@]}" >/dev/null || bail "set-up: renice"

log_mark
# Covers: MPA-24 MPA-51
cases "$SELFTESTS/../conformance/bad_peers.py" "${SIDES4[@]}"
while read -r line; do
	tap_note "$line"
done <"$XIW_SUMMARY"

tap_run "the good connection is still there" load_alive good
tap_run "the good connection ends in order, all its data right" load_end good
kill "$witness"
wait "$witness"
tap_run "the good connection never paused for $LONGEST_MS ms" short_gap
tap_note "$(said passive messages) messages, longest pause" \
	"$(said passive gap) ms and $(said active gap) ms;" \
	"the machine stood still for $(<"$TMP/stood") ms at most"
tap_is "the kernel log has no line of xiw's about them" \
	"$(log_since | grep -ci xiw)" 0
tap_run "no socket is left behind" wait_for 30 no_sockets
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
