#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A process without privileges writes random and invalid values into the queues
# that it shares with the kernel, and rings the doorbells.  The kernel reports no
# fault (run.sh checks the log), the device keeps working, and a connection of other
# processes on the same devices continues with correct data.
#
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

# Time limit of the other connection: longer than the test takes on any machine
LOAD_SECONDS=900
topo_up
objects >"$TMP/baseline"

tap_run "a connection of others is under load" load_up bystander
cases xt_scribble "${SIDES4[@]}"
tap_run "the connection of others is still there" load_alive bystander
tap_run "the connection of others ends in order" load_end bystander
tap_objects "nothing is left behind" "$TMP/baseline"

load_stop
tap_done
