#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# run.sh DIR TEST...: runs tests of DIR in this guest, one after the other, prints
# their TAP, and writes it to $XIW_OUT/TEST.tap. If a test exceeds its time limit (a
# line "# xiw-timeout: SECONDS" in its head, default 600), or if the kernel logs a fault
# during the test, a failed claim is added. If kmemleak is enabled, it scans before the
# first test without "# xiw-leaks: WHY" in its head, and is then disabled; with LEAKS=1
# it scans after all tests.

cd "$1" || exit
shift
out=${XIW_OUT:-/run/xiw/out}

# fail FILE DESC: appends a failed claim to the TAP in FILE.
fail()
{
	local n

	n=$(grep -cE '^(not )?ok ' "$1")
	echo "not ok $((n + 1)) - $2" | tee -a "$1"
}

# planned FILE: true if the TAP in FILE has a plan that matches its number of claims.
planned()
{
	grep -qE "^1\.\.$(grep -cE '^(not )?ok ' "$1")( |$)" "$1"
}

run_one()
{
	local name=$1 tap=$out/$1.tap start=$SECONDS limit rc lines

	limit=$(sed -n 's/^# xiw-timeout: *\([0-9]*\)$/\1/p' "$name.sh")
	limit=$((${limit:-600} * ${XIW_SLOW:-1}))
	lines=$(dmesg | wc -l)
	echo "# ---- $name"
	echo "xiw-selftest: $name" >/dev/kmsg
	timeout -k 10 "$limit" "./$name.sh" 2>"$out/$name.err" |
		tee "$tap"
	rc=${PIPESTATUS[0]}
	if ((rc == 124 || rc == 137)); then
		fail "$tap" "ended within $limit s"
	elif ! grep -q '^1\.\.' "$tap"; then
		fail "$tap" "ran to its end (status $rc)"
	elif ! planned "$tap"; then
		fail "$tap" "made as many claims as it planned"
	elif ((rc == 1)) && ! grep -q '^not ok' "$tap"; then
		fail "$tap" "exit status agrees with its TAP"
	fi
	if dmesg | tail -n "+$((lines + 1))" |
	   grep -E -f ../vm/log-patterns >"$out/$name.complaints"; then
		fail "$tap" "the kernel did not complain"
		sed 's/^/#   /' "$out/$name.complaints"
	fi
	if [[ -s $out/$name.err ]] && grep -q '^not ok' "$tap"; then
		tail -n 20 "$out/$name.err" | sed 's/^/#   stderr: /'
	fi
	echo "# $name took $((SECONDS - start)) s"
	echo "ended $((SECONDS - start))" >"$out/$name.done"
}

looked=${LEAKS:-} last=/dev/null
for name in "$@"; do
	if [[ ! $looked ]] && ! grep -q '^# xiw-leaks:' "$name.sh"; then
		../vm/guest-leaks || fail "$last" "no memory was lost"
		looked=1
	fi
	run_one "$name"
	last=$out/$name.tap
done
