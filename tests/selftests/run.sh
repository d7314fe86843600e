#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# run.sh TEST...: runs selftests in this guest, one after the other, prints
# their TAP as it comes and leaves each as $XIW_OUT/TEST.tap.  A test that
# exceeds its time (a line "# xiw-timeout: SECONDS" in its head, default 300),
# or during which the kernel complains, has failed a claim of its own.

cd "$(dirname "$0")" || exit
out=${XIW_OUT:-/run/xiw/out}

# append FILE NUMBER DESC: one more failed claim after the test's own.
append_fail()
{
	echo "not ok $2 - $3" | tee -a "$1"
}

run_one()
{
	local name=$1 tap=$out/$1.tap start=$SECONDS limit rc n lines

	limit=$(sed -n 's/^# xiw-timeout: *\([0-9]*\)$/\1/p' "$name.sh")
	lines=$(dmesg | wc -l)
	echo "# ---- $name"
	echo "xiw-selftest: $name" >/dev/kmsg
	timeout -k 10 "${limit:-300}" "./$name.sh" 2>"$out/$name.err" |
		tee "$tap"
	rc=${PIPESTATUS[0]}
	n=$(grep -cE '^(not )?ok ' "$tap")
	if ((rc == 124 || rc == 137)); then
		append_fail "$tap" "$((n + 1))" "ended within ${limit:-300} s"
	elif ! grep -q '^1\.\.' "$tap"; then
		append_fail "$tap" "$((n + 1))" "ran to its end (status $rc)"
	elif ((rc == 1)) && ! grep -q '^not ok' "$tap"; then
		append_fail "$tap" "$((n + 1))" "exit status agrees with its TAP"
	fi
	if dmesg | tail -n "+$((lines + 1))" |
	   grep -E -f ../qemu/log-patterns >"$out/$name.complaints"; then
		append_fail "$tap" "$((n + 2))" "the kernel did not complain"
		sed 's/^/#   /' "$out/$name.complaints"
	fi
	if [[ -s $out/$name.err ]] && grep -q '^not ok' "$tap"; then
		tail -n 20 "$out/$name.err" | sed 's/^/#   stderr: /'
	fi
	echo "# $name took $((SECONDS - start)) s"
	echo "ended $((SECONDS - start))" >"$out/$name.done"
}

for name in "$@"; do
	run_one "$name"
done
