#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# An aligned word of 8 bytes is never seen in parts, neither where a message is
# placed nor in a message that is taken from memory that changes. Runs in User Mode
# Linux, whose memcpy() is "rep movsb", and on the debug kernel.
#
# xiw-kernel: uml debug
# xiw-timeout: 600

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

TORN=(-t torn-write -t torn-send -t torn-read -t torn-list
      -t source-write -t source-send -t source-read)

topo_up

cases xt_order "${SIDES4[@]}" "${TORN[@]}"

# FPDUs of one TCP segment: in a long message more words are split over two packets.
policy fpdu_segments 1
cases -p "FPDUs of a segment" xt_order "${SIDES4[@]}" "${TORN[@]}"

tap_done
