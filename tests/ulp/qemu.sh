#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: qemu-system-x86 binutils
# xiw-timeout: 1200
#
# QEMU moves a running guest over RDMA (qemu_migrate.py): with all its memory
# pinned, with what is sent pinned piece by piece, and with a connection that
# breaks in the middle.

. "$(dirname "$0")/lib.sh"

HERE=$(dirname "$0")

moves()
{
	"$HERE/qemu_migrate.py" "$TMP" "$NS_B" "$NS_A" "$A4" "$(free_port)" "$1"
}

topo_up
run_claim "a guest moves, all memory pinned" moves pinned &&
	tap_show "$TMP/out"
run_claim "a guest moves, what is sent pinned" moves unpinned &&
	tap_show "$TMP/out"
if [[ $XIW_LINK_TYPE == xiw ]]; then
	tap_note "received $(counter "$DEV_A" rx_bytes) bytes"
	(($(counter "$DEV_A" rx_bytes) > 64 << 20))
	tap_result $? "the data went through the device"
fi
# A slow network, so that the connection can be cut during the migration
netem "$NS_B" "$VETH_B" rate 80mbit
run_claim "a guest whose move breaks goes on where it is" moves broken &&
	tap_show "$TMP/out"
tap_done
