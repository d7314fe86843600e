#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: open-iscsi fio libiscsi-bin qemu-utils qemu-block-extra
#
# iSER: iSCSI initiator and target in the kernel over our device, and the initiator in user
# space of libiscsi, also as a disk of QEMU.

. "$(dirname "$0")/lib.sh"

topo_down()
{
	iscsiadm -m node -u
	[[ -z ${iscsid:-} ]] || kill "$iscsid"
	iser_target_down
	local_down
	modprobe -r ib_iser ib_isert
}

local_up ib_iser sd_mod
configfs_up
or_bail "no target" iser_target_up
iscsid_up
iser_login "the initiator"
fio_verify "random writes and reads, verified" "$disk" 32M
moved $((60 << 20))

disk_loses "$disk" 32M 3260
run_claim "the initiator logs out" iser_node --logout
url=iser://$L4:3260/$ISER_IQN/0
run_claim "libiscsi logs in" iscsi-inq "$url"
run_claim "it reads the size of the disk" iscsi-readcapacity16 "$url"
tap_run "that is not 0" grep -qE '^Total size:[1-9]' "$TMP/out"
# libiscsi 1.19 announces immediate data, and does not send them.
echo No >"$ISER_TPG/param/ImmediateData"
qemu_disk 0
tap_run "the device can be removed" timeout 60 rdma link del "$DEV_L"
tap_done
