#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Memory windows, reregistered regions, dma-buf regions, resized completion queues
# (xt_mem), and their details in "rdma resource" and in tracepoints.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

topo_up
objects >"$TMP/baseline"
# Covers: RDMAP-10 RDMAP-11
cases xt_mem "${SIDES4[@]}"

# tells TYPE NAME: true if "rdma resource" shows the detail NAME of objects of TYPE.
tells()
{
	rdma -dd resource show "$1" >"$TMP/resource" || return
	grep -qE " (drv_)?$2 [0-9]" "$TMP/resource" && return
	head -n 4 "$TMP/resource"
	return 1
}

tap_run "a connection with traffic" load_up res
for fact in qp:sq_posted qp:ord cq:prod cq:armed cq:mod_usecs mr:blocks \
	    mr:windows; do
	tap_run "rdma resource shows ${fact#*:} of a ${fact%:*}" \
		tells "${fact%:*}" "${fact#*:}"
done
tap_run "the connection ends" load_end res
tap_objects "nothing is left behind" "$TMP/baseline"
tap_done
