#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: open-iscsi fio
#
# iSER: iSCSI initiator and target in the kernel over our device.

. "$(dirname "$0")/lib.sh"

IQN=iqn.2003-01.org.example:xiw
TARGET=$CONFIGFS/target
TPG=$TARGET/iscsi/$IQN/tpgt_1
DISK=$TARGET/core/rd_mcp_0/disk

topo_down()
{
	iscsiadm -m node -u
	[[ -z ${iscsid:-} ]] || kill "$iscsid"
	target_down
	local_down
	ip netns del portal
	modprobe -r ib_iser ib_isert
}

# target_up: sets up the target. The socket of its portal would conflict with the
# listener of xiw on the same port, so the portal is in another namespace.
target_up()
{
	modprobe -a target_core_mod iscsi_target_mod ib_isert &&
	mkdir -p "$DISK" &&
	echo rd_pages=16384 >"$DISK/control" &&
	echo 1 >"$DISK/enable" &&
	mkdir -p "$TPG/lun/lun_0" &&
	ln -s "$DISK" "$TPG/lun/lun_0/disk" &&
	for attr in generate_node_acls:1 demo_mode_write_protect:0 \
		    authentication:0; do
		echo "${attr#*:}" >"$TPG/attrib/${attr%:*}" || return
	done &&
	ip netns add portal &&
	in_ns portal mkdir "$TPG/np/0.0.0.0:3260" &&
	echo 1 >"$TPG/np/0.0.0.0:3260/iser" &&
	echo 1 >"$TPG/enable"
}

target_down()
{
	echo 0 >"$TPG/enable"
	echo 0 >"$TPG/np/0.0.0.0:3260/iser"
	rmdir "$TPG/np/0.0.0.0:3260"
	rm "$TPG/lun/lun_0/disk"
	rmdir "$TPG/lun/lun_0" "$TPG" "${TPG%/*}" "$TARGET/iscsi" "$DISK" \
		"${DISK%/*}"
}

disk_of_session()
{
	local dir

	dir=$(echo /sys/class/iscsi_session/session*/device/target*/*/block/*)
	[[ -b /dev/${dir##*/} ]] && echo "/dev/${dir##*/}"
}

node()
{
	iscsiadm -m node -T "$IQN" -p "$L4:3260" "$@"
}

local_up ib_iser sd_mod
scratch /etc/iscsi /var/lib /run/lock
mkdir -p /var/lib/iscsi /run/lock/iscsi
configfs_up
or_bail "no target" target_up
echo "InitiatorName=iqn.2003-01.org.example:host" >/etc/iscsi/initiatorname.iscsi
: >/etc/iscsi/iscsid.conf
# Run iscsid in a process group of its own: on SIGTERM it kills its whole group.
setsid iscsid -f >"$TMP/iscsid.log" 2>&1 &
iscsid=$!
or_bail "no node" node -o new -I iser
node -o update -n node.session.timeo.replacement_timeout -v 60 >"$TMP/out" 2>&1
run_claim "the initiator logs in" node --login || tap_show "$TMP/iscsid.log"
tap_run "the session runs over iSER" eval "iscsiadm -m session | grep -q ^iser"
tap_run "the disk appears" wait_for 20 disk_of_session
disk=$(disk_of_session)
fio_verify "random writes and reads, verified" "$disk" 32M
moved $((60 << 20))

disk_loses "$disk" 32M 3260
run_claim "the initiator logs out" node --logout
tap_run "the device can be removed" timeout 60 rdma link del "$DEV_L"
tap_done
