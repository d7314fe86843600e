#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Data, completions and errors between two devices of each software driver.

# shellcheck disable=SC2317	# functions that others call

source "$(dirname "$(realpath "$0")")/pair_lib.sh"

# siw completes an RDMA Write when it is sent, ahead of a Read that was posted
# before it and has no response yet.
KNOWN[siw:order]=" behind "
# At times siw does not complete the last of the receives that it flushes.
KNOWN[siw:flush]="out of time"

run()
{
	pair send
	pair send "$ADDR6_A" "send over IPv6"
	pair write
	pair read
	pair atomic
	pair order
	pair flush
	pair short_receive
	pair bad_rkey
}

for_each_driver run 9
