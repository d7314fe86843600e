#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-clients: pyverbs-sid
#
# rdma-core's own tests, in the newest version, with its libraries.

. "$(dirname "$0")/pyverbs-lib.sh"

topo_up
pyverbs_built sid
tap_run "the device can be removed" link_del "$DEV_A"
tap_done
