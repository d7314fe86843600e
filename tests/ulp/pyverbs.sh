#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: python3-pyverbs
#
# rdma-core's own tests, in the version of the installed libraries, on one
# device; pyverbs.except says which of them are not for it, and why.

. "$(dirname "$0")/lib.sh"

SUITE=$TMP/tests
HERE=$(dirname "$0")

topo_up
cp -r /usr/share/doc/rdma-core/tests "$SUITE"
gunzip "$SUITE"/*.gz || bail "set-up: no tests in python3-pyverbs"
netns-run "$NS_A" 500 "$HERE/pyverbs_run.py" "$SUITE" "$DEV_A" "$A4" \
	"$HERE/pyverbs.except" 2>"$TMP/stderr" | tee "$TMP/tap"
tap_count=$(grep -cE '^(not )?ok ' "$TMP/tap")
tap_failed=$(grep -c '^not ok ' "$TMP/tap")
grep -q '^1\.\.' "$TMP/tap" || { tap_show "$TMP/stderr"; bail "the suite ends"; }
tap_run "the device can be removed" link_del "$DEV_A"
tap_done
