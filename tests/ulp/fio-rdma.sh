#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: fio
#
# fio's own RDMA engine, each of its verbs.

. "$(dirname "$0")/lib.sh"

topo_up
for verb in write read send; do
	args="--ioengine=rdma --port=@PORT@ --bs=64k --size=16m --iodepth=16"
	args+=" --thread"
	role="--rw=read --name=server"
	peer="--rw=write --name=client --verb=$verb"
	pair "$verb" "fio $args $role" "fio $args $peer --hostname=$A4"
	tap_note "$(speed "$TMP/client.log")"
done
tap_done
