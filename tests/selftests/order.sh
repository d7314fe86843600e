#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A second processor that polls the last bytes of a message in memory does not see them
# before the other bytes. Runs on the stock kernel, whose memcpy() copies backward on
# the processor that the guest emulates.
#
# xiw-kernel: stock
# xiw-timeout: 600

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

ORDER=(-t order-write -t order-send -t order-read)

topo_up

cases xt_order "${SIDES4[@]}" "${ORDER[@]}"

# FPDUs of one TCP segment, so that a message consists of several
policy fpdu_segments 1
cases -p "FPDUs of a segment" xt_order "${SIDES4[@]}" "${ORDER[@]}" -n 20

tap_done
