#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: fio
#
# SRP: SCSI initiator and target in the kernel over our device, connected by
# rdma_cm: login, two channels, I/O verified, the loss of connections, logout.

. "$(dirname "$0")/lib.sh"

topo_down()
{
	srp_log_out
	srp_target_down
	local_down
	modprobe -r ib_srp ib_srpt
}

local_up sd_mod
configfs_up
or_bail "no initiator" modprobe ib_srp ch_count=2
or_bail "no target" srp_target_up
run_claim "the initiator logs in" srp_log_in || bail "no session"
tap_run "the disk appears" wait_for 20 srp_disk
disk=$(srp_disk)
fio_verify "random writes and reads, verified" "$disk" 32M
fio_verify "the same with large requests" "$disk" 32M --bsrange=256k-1m
moved $((60 << 20))

disk_loses "$disk" 32M $SRP_PORT
srp_log_out
tap_run "the initiator logs out" wait_for 20 srp_no_session
# Its last session may still be on the way out.
tap_run "the initiator logs in again" wait_for 20 eval "srp_log_in 2>/dev/null"
tap_run "the disk appears again" wait_for 20 srp_disk
tap_run "the device can be removed below both" \
	timeout 60 rdma link del "$DEV_L"
tap_done
