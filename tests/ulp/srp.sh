#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: fio
#
# SRP: SCSI initiator and target in the kernel over our device, connected by
# rdma_cm: login, two channels, I/O verified, the loss of connections, logout.

. "$(dirname "$0")/lib.sh"

PORT=5555
TARGET=$CONFIGFS/target
SRPT=$TARGET/srpt
DISK=$TARGET/core/rd_mcp_0/disk

topo_down()
{
	log_out
	target_down
	local_down
	modprobe -r ib_srp ib_srpt
}

# gid: prints the first GID of the device, without colons.
gid()
{
	local gid

	gid=$(<"/sys/class/infiniband/$DEV_L/ports/1/gids/0") &&
	echo "${gid//:/}"
}

# target_up: sets up the target. The name of its port, and of the initiator's port, is
# the GID. Only initiators with an ACL may log in.
target_up()
{
	local port

	modprobe -a target_core_mod ib_srpt &&
	mkdir -p "$DISK" &&
	echo rd_pages=16384 >"$DISK/control" &&
	echo 1 >"$DISK/enable" &&
	port=0x$(gid) || return
	mkdir -p "$SRPT" || return
	# The port of rdma_cm is an attribute; in older kernels a module parameter.
	if [[ -e $SRPT/discovery_auth/rdma_cm_port ]]; then
		echo "$PORT" >"$SRPT/discovery_auth/rdma_cm_port" || return
	fi
	TPG=$SRPT/$port/$port
	ACL=$TPG/acls/$port
	mkdir -p "$TPG/lun/lun_0" &&
	ln -s "$DISK" "$TPG/lun/lun_0/disk" &&
	mkdir -p "$ACL/lun_0" &&
	ln -s "$TPG/lun/lun_0" "$ACL/lun_0/lun_0" &&
	echo 1 >"$TPG/enable"
}

target_down()
{
	echo 0 >"$TPG/enable"
	rm "$ACL/lun_0/lun_0" "$TPG/lun/lun_0/disk"
	rmdir "$ACL/lun_0" "$ACL" "$TPG/lun/lun_0" "$TPG" "${TPG%/*}" "$SRPT" "$DISK" "${DISK%/*}"
}

log_in()
{
	local guid port

	guid=$(</sys/module/ib_srpt/parameters/srpt_service_guid)
	port=$(gid)
	echo "id_ext=$guid,initiator_ext=${port:0:16},ioc_guid=$guid,dest=$L4:$PORT" \
		>"/sys/class/infiniband_srp/srp-$DEV_L-1/add_target"
}

log_out()
{
	local port

	for port in /sys/class/srp_remote_ports/port-*; do
		[[ ! -e $port/delete ]] || echo 1 >"$port/delete"
	done
}

disk_of_session()
{
	local dir

	dir=$(echo /sys/class/srp_host/host*/device/target*/*/block/*)
	[[ -b /dev/${dir##*/} ]] && echo "/dev/${dir##*/}"
}

no_session()
{
	! compgen -G '/sys/class/srp_remote_ports/port-*' >/dev/null
}

local_up sd_mod
configfs_up
or_bail "no initiator" modprobe ib_srp ch_count=2
or_bail "no target" target_up
run_claim "the initiator logs in" log_in || bail "no session"
tap_run "the disk appears" wait_for 20 disk_of_session
disk=$(disk_of_session)
fio_verify "random writes and reads, verified" "$disk" 32M
fio_verify "the same with large requests" "$disk" 32M --bsrange=256k-1m
moved $((60 << 20))

disk_loses "$disk" 32M $PORT
log_out
tap_run "the initiator logs out" wait_for 20 no_session
# Repeat the login: the previous session may not have ended yet.
tap_run "the initiator logs in again" wait_for 20 eval "log_in 2>/dev/null"
tap_run "the disk appears again" wait_for 20 disk_of_session
tap_run "the device can be removed below both" \
	timeout 60 rdma link del "$DEV_L"
tap_done
