#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: python3-pyverbs
#
# rdma-core's own tests, in the version of the installed libraries.

. "$(dirname "$0")/pyverbs-lib.sh"

topo_up
cp -r /usr/share/doc/rdma-core/tests "$TMP/tests"
gunzip "$TMP"/tests/*.gz || bail "set-up: no tests in python3-pyverbs"
pyverbs_suite "$TMP/tests"
tap_run "the device can be removed" link_del "$DEV_A"
tap_done
