#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# RDMA Write with immediate data (xt_imm), and all operations by the extended verbs
# (xt_ex).
#
# xiw-kernel: stock debug
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"

# Covers: IMM-05 IMM-13
cases xt_imm "${SIDES4[@]}" -t sizes -t values -t unsignaled

# Covers: IMM-06
cases xt_imm "${SIDES4[@]}" -t length

# Covers: IMM-07
cases xt_imm "${SIDES4[@]}" -t receives -t srq

# Covers: IMM-09
cases xt_imm "${SIDES4[@]}" -t solicited

# Covers: IMM-10 IMM-12
cases xt_imm "${SIDES4[@]}" -t mixed -t both-ways -t placed-first \
	-n "${XIW_ROUNDS:-200}"

# Covers: IMM-14
cases xt_imm "${SIDES4[@]}" -t gather-inline -t fence

# Covers: IMM-08
policy rnr_timeout_ms 1000
cases xt_imm "${SIDES4[@]}" -t late
policy rnr_timeout_ms 5000

# Covers: IMM-15
cases xt_imm "${SIDES4[@]}" -t send
policy_of "$DEV_A" fpdu_segments 1
cases xt_imm "${SIDES4[@]}" -t send-refused
policy_of "$DEV_A" fpdu_segments 0

cases xt_imm "${SIDES4[@]}" -t refused -t flush
cases -p IPv6 xt_imm "${SIDES6[@]}" -t values -t mixed
cases xt_ex "${SIDES4[@]}"
# User Mode Linux has no time namespaces.
if [[ -e /proc/self/ns/time ]]; then
	cases -p "another time" unshare --time --monotonic 100000 --fork \
		xt_ex "${SIDES4[@]}" -t timestamps
else
	tap_skip "another time: completions have their time" \
		"no time namespaces"
fi

if ib_write_bw --help 2>&1 | grep -q write_with_imm; then
	pair "ib_write_bw --write_with_imm" \
		"ib_write_bw -R --write_with_imm -s 4096 -n 50 -p @PORT@" \
		"ib_write_bw -R --write_with_imm -s 4096 -n 50 -p @PORT@ $A4"
else
	tap_note "this perftest has no Write with immediate"
fi

tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
