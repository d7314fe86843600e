#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Messages of 2 GiB and more, up to 2^32-1 bytes, over a link with a large MTU and
# without CRC. The debug kernel needs long for them.
#
# XIW_SIZES=N (3, on the debug kernel 1): tests the first N of 2^32-1, 2^31-1 and 2^31.
#
# xiw-kernel: stock
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"
policy crc 0
both_ends mtu 65535 || bail "set-up: no large MTU"
# Memory for all messages of both ends.
echo 11 >/proc/sys/vm/nr_hugepages

sizes=3
[[ ! -e /sys/kernel/debug/kmemleak ]] || sizes=1
CASES_TIMEOUT=880 cases xt_big "${SIDES4[@]}" -n "${XIW_SIZES:-$sizes}" -T 290
tap_objects "nothing is left behind" "$TMP/baseline"

tap_done
