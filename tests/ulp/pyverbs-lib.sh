# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Functions of the tests that run rdma-core's own tests, for all releases of these.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

HERE=$(dirname "${BASH_SOURCE[0]}")

# pyverbs_suite DIR: runs the cases in DIR on one device; each is a claim. pyverbs.except
# lists those that do not apply to the device, with the reason.
pyverbs_suite()
{
	netns-run "$NS_A" 500 "$HERE/pyverbs_run.py" "$1" "$DEV_A" "$A4" \
		"$HERE/pyverbs.except" 2>"$TMP/stderr" | tee "$TMP/tap"
	tap_count=$(grep -cE '^(not )?ok ' "$TMP/tap")
	tap_failed=$(grep -c '^not ok ' "$TMP/tap")
	grep -q '^1\.\.' "$TMP/tap" || {
		tap_show "$TMP/stderr"
		bail "the suite ends"
	}
}

# pyverbs_built SUITE: as above, with the libraries and tests from build-client, and
# those that "make series" adds.
pyverbs_built()
{
	local top

	top=$(echo "$XIW_CACHE/client-pyverbs-$1"-*)
	local -x RDMAV_DRIVERS=$top/build/lib/libxiw
	local -x LD_LIBRARY_PATH=$top/build/lib PYTHONPATH=$top/build/python
	cp -r "$top/tests" "$TMP/tests"
	cp "$HERE/../../userspace-provider/tests"/*.py "$TMP/tests/"
	pyverbs_suite "$TMP/tests"
}
