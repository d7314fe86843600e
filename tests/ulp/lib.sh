# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Functions of the tests of upper-layer protocols, in addition to lib.sh of the
# selftests. Some of these protocols support the first network namespace only, so
# both ends use one device there: $DEV_L on the dummy netdev $NET_L with the address $L4.

. "$(dirname "${BASH_SOURCE[0]}")/../selftests/lib.sh"

NET_L=xl
DEV_L=xiwL
L4=10.78.0.1
CONFIGFS=/sys/kernel/config

# run_claim DESC CMD...: the claim is that CMD succeeds in time. Its output is in
# $TMP/out, and is printed if it fails.
run_claim()
{
	local desc=$1 rc=0

	shift
	bounded "$@" >"$TMP/out" 2>&1 </dev/null || rc=$?
	tap_result $rc "$desc"
	((rc == 0)) || { tap_note "($rc) $*"; tap_show "$TMP/out"; }
	return $rc
}

# or_bail WHY CMD...: runs CMD; if it fails, ends the test as its set-up has failed.
or_bail()
{
	local why=$1

	shift
	bounded "$@" >"$TMP/out" 2>&1 </dev/null || {
		tap_show "$TMP/out"
		bail "set-up: $why"
	}
}

local_up()
{
	or_bail "no module" modprobe -a "rdma-link-$XIW_LINK_TYPE" "$@"
	{
		ip link add "$NET_L" type dummy &&
		ip addr add "$L4/24" dev "$NET_L" &&
		ip link set "$NET_L" up
	} || bail "set-up: no dummy netdev"
	or_bail "no device" rdma link add "$DEV_L" type "$XIW_LINK_TYPE" \
		netdev "$NET_L"
	wait_for 20 port_active "$DEV_L" || bail "set-up: port not active"
}

local_down()
{
	! dev_exists "$DEV_L" || link_del "$DEV_L"
	ip link del "$NET_L" 2>/dev/null
}

# configfs_up: mounts configfs, in which storage targets are configured.
configfs_up()
{
	modprobe configfs
	[[ -d $CONFIGFS/nvmet || -d $CONFIGFS/target ]] ||
		mount -t configfs none "$CONFIGFS" 2>/dev/null
}

# scratch DIR...: mounts a writable directory over each of these, as the root is
# read-only.
scratch()
{
	local dir

	for dir in "$@"; do
		mkdir -p "$dir" 2>/dev/null
		mount -t tmpfs tmpfs "$dir" || bail "set-up: $dir not writable"
	done
}

# nfsd_up: sets up an NFS server, without exports and threads.
nfsd_up()
{
	scratch /var/lib/nfs
	mkdir -p /var/lib/nfs/{sm,sm.bak,v4recovery,rpc_pipefs}
	: | tee /var/lib/nfs/{etab,rmtab,state} >/dev/null
	or_bail "no nfsd file system" mount -t nfsd nfsd /proc/fs/nfsd
	rpc.mountd -F -N 3 >"$TMP/mountd.log" 2>&1 &
	mountd=$!
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
}

nfsd_down()
{
	rpc.nfsd 0
	exportfs -ua
	[[ -z ${mountd:-} ]] || kill "$mountd"
	umount /proc/fs/nfsd
}

# moved BYTES...: the claims that the device has received at least that many bytes, and
# has counted no error.
moved()
{
	local rx errors

	[[ $XIW_LINK_TYPE == xiw ]] || return 0
	rx=$(counter "$DEV_L" rx_bytes)
	errors=$(($(counter "$DEV_L" crc_errors) +
		  $(counter "$DEV_L" protocol_errors) +
		  $(counter "$DEV_L" terminates_sent) +
		  $(counter "$DEV_L" cq_overflows)))
	tap_note "received $rx bytes, $errors errors"
	((rx >= $1 && errors == 0))
	tap_result $? "the data went through the device, without an error"
}

# kill_connections PORT: aborts every TCP connection to PORT, as a failed path would.
kill_connections()
{
	ss -K dport = :"$1" >/dev/null 2>&1
}

# speed FILE: prints the bandwidth in fio's summary lines.
speed()
{
	sed -n 's/^ *\(READ\|WRITE\): bw=\([^ ]*\) .*/\1 \2/p' "$1" | paste -sd ' '
}

# fio_verify DESC FILE SIZE ARGS...: the claim is that blocks that fio writes with a
# CRC32C each are the same when read. If FILE is a disk, it must exist: fio would create
# a file of that name.
fio_verify()
{
	local desc=$1 file=$2 size=$3

	shift 3
	[[ $file != /dev/* || -b $file ]] || {
		tap_result 1 "$desc"
		return
	}
	run_claim "$desc" fio --name=verify --filename="$file" --size="$size" \
		--rw=randwrite --bsrange=4k-128k --ioengine=libaio \
		--iodepth=16 --direct=1 --verify=crc32c --verify_fatal=1 \
		--do_verify=1 "$@" || return
	tap_note "$(speed "$TMP/out")"
}

# connected PORT: true if a TCP connection to PORT is established.
connected()
{
	[[ -n $(ss -tnH state established dport = :"$1") ]]
}

# written_to DISK: prints the number of sectors written to the disk.
written_to()
{
	awk '{ print $7 }' "/sys/block/${1##*/}/stat"
}

# writes_since DISK SECTORS: true if 4 MiB more than SECTORS were written to the disk.
writes_since()
{
	(($(written_to "$1") > $2 + 8192))
}

# disk_loses DISK SIZE PORT: aborts the connections to PORT while fio writes to the disk.
# The claims are that the host connects again, and that all data is intact.
disk_loses()
{
	local disk=$1 size=$2 port=$3 at fio

	at=$(written_to "$disk")
	fio --name=loss --filename="$disk" --size="$size" --rw=randwrite \
		--bsrange=4k-128k --ioengine=libaio --iodepth=16 --direct=1 \
		--verify=crc32c --verify_fatal=1 --do_verify=1 --loops=2 \
		>"$TMP/fio.log" 2>&1 </dev/null &
	fio=$!
	wait_for 60 writes_since "$disk" "$at"
	kill_connections "$port"
	tap_run "the disk is being written when its connections break" \
		kill -0 $fio
	tap_run "new connections are made" wait_for 60 connected "$port"
	wait $fio
	tap_result $? "data that was being written is intact" ||
		tap_show "$TMP/fio.log"
}

# ---- file systems: the client mounts $EXPORT of the server at $MNT

same()
{
	diff -r "$EXPORT/$1" "$MNT/$1"
}

drop_caches()
{
	sync
	echo 3 >/proc/sys/vm/drop_caches
}

# large_files: the claims that files written at one side are the same at the other.
large_files()
{
	head -c 24M /dev/urandom >"$MNT/written"
	head -c 24M /dev/urandom >"$EXPORT/read"
	head -c 100001 /dev/urandom >"$MNT/odd"
	drop_caches
	run_claim "a file written by the client is the same on the server" \
		same written
	run_claim "a file of odd length, too" same odd
	run_claim "a file of the server is the same on the client" same read
}

# ---- targets of NVMe, in the kernel's configfs

NVMET=$CONFIGFS/nvmet

# nvme_port_up NQN PORT TYPE SERVICE: lets PORT of the target offer NQN at $L4.
nvme_port_up()
{
	local port=$NVMET/ports/$2

	mkdir "$port" &&
	echo "$3" >"$port/addr_trtype" &&
	echo ipv4 >"$port/addr_adrfam" &&
	echo "$L4" >"$port/addr_traddr" &&
	echo "$4" >"$port/addr_trsvcid" &&
	ln -s "$NVMET/subsystems/$1" "$port/subsystems/$1"
}

# nvme_port_down NQN PORT
nvme_port_down()
{
	rm -f "$NVMET/ports/$2/subsystems/$1"
	rmdir "$NVMET/ports/$2"
}

# nvme_target_up NQN: sets up a target of NVMe over RDMA with /dev/ram0, at $L4, port 4420.
nvme_target_up()
{
	local sub=$NVMET/subsystems/$1

	mkdir "$sub" "$sub/namespaces/1" &&
	echo 1 >"$sub/attr_allow_any_host" &&
	echo /dev/ram0 >"$sub/namespaces/1/device_path" &&
	echo 1 >"$sub/namespaces/1/enable" &&
	nvme_port_up "$1" 1 rdma 4420
}

nvme_target_down()
{
	nvme_port_down "$1" 1
	echo 0 >"$NVMET/subsystems/$1/namespaces/1/enable"
	rmdir "$NVMET/subsystems/$1/namespaces/1" "$NVMET/subsystems/$1"
}

# ---- ksmbd, the kernel's server of SMB

SMB_CONTROL=/sys/class/ksmbd-control

# smb_server_up DIR: serves DIR as //$L4/share to root with the password "secret". The
# daemon that passes configuration and users to the kernel logs to $TMP/smb.log.
smb_server_up()
{
	scratch /etc/ksmbd
	cat >"$TMP/ksmbd.conf" <<-END
	[global]
		netbios name = xiw
		server multi channel support = no
	[share]
		path = $1
		read only = no
		writeable = yes
		force user = root
	END
	ksmbd.adduser -a root -p secret -i "$TMP/users" -c "$TMP/ksmbd.conf" \
		>"$TMP/smb.log" 2>&1 || return
	ksmbd.mountd -n -c "$TMP/ksmbd.conf" -u "$TMP/users" \
		>>"$TMP/smb.log" 2>&1 &
	smb_daemon=$!
	wait_for 30 grep -qw running "$SMB_CONTROL/stats"
}

smb_server_down()
{
	[[ ! -e $SMB_CONTROL/kill_server ]] || echo hard >"$SMB_CONTROL/kill_server"
	[[ -z ${smb_daemon:-} ]] || { kill "$smb_daemon"; wait "$smb_daemon"; }
	rm -f "$TMP/users"
	umount /etc/ksmbd
	modprobe -r cifs ksmbd
}

# mount_smb DIR OPTIONS: mounts the share.
mount_smb()
{
	mount -t cifs -o "vers=3.1.1,username=root,password=secret,$2" \
		"//$L4/share" "$1"
}

# ---- targets of SCSI: a RAM disk, in the kernel's configfs

SCSI_TARGET=$CONFIGFS/target
SCSI_DISK=$SCSI_TARGET/core/rd_mcp_0/disk

scsi_disk_up()
{
	modprobe target_core_mod &&
	mkdir -p "$SCSI_DISK" &&
	echo rd_pages=16384 >"$SCSI_DISK/control" &&
	echo 1 >"$SCSI_DISK/enable"
}

scsi_disk_down()
{
	rmdir "$SCSI_DISK" "${SCSI_DISK%/*}"
}

# disk_of PATTERN: prints the disk whose name the kernel has at the end of PATTERN.
disk_of()
{
	# shellcheck disable=SC2206  # a pattern
	local found=($1)

	[[ -b /dev/${found[0]##*/} ]] && echo "/dev/${found[0]##*/}"
}

ISER_IQN=iqn.2003-01.org.example:xiw
ISER_HOST=iqn.2003-01.org.example:host
ISER_TPG=$SCSI_TARGET/iscsi/$ISER_IQN/tpgt_1

# iser_target_up: a target of iSER at port 3260. A listener of ours and the portal's
# own socket want the same port, so the portal is made in another namespace.
iser_target_up()
{
	local attr

	scsi_disk_up && modprobe -a iscsi_target_mod ib_isert &&
	mkdir -p "$ISER_TPG/lun/lun_0" &&
	ln -s "$SCSI_DISK" "$ISER_TPG/lun/lun_0/disk" &&
	for attr in generate_node_acls:1 demo_mode_write_protect:0 \
		    authentication:0; do
		echo "${attr#*:}" >"$ISER_TPG/attrib/${attr%:*}" || return
	done &&
	ip netns add portal &&
	in_ns portal mkdir "$ISER_TPG/np/0.0.0.0:3260" &&
	echo 1 >"$ISER_TPG/np/0.0.0.0:3260/iser" &&
	echo 1 >"$ISER_TPG/enable"
}

iser_target_down()
{
	echo 0 >"$ISER_TPG/enable"
	echo 0 >"$ISER_TPG/np/0.0.0.0:3260/iser"
	rmdir "$ISER_TPG/np/0.0.0.0:3260"
	rm "$ISER_TPG/lun/lun_0/disk"
	rmdir "$ISER_TPG/lun/lun_0" "$ISER_TPG" "${ISER_TPG%/*}" \
		"$SCSI_TARGET/iscsi"
	scsi_disk_down
	ip netns del portal
}

iser_node()
{
	iscsiadm -m node -T "$ISER_IQN" -p "$L4:3260" "$@"
}

# iscsid_up: the daemon of the initiator; $iscsid is its process. On SIGTERM it ends
# its whole process group, hence a group of its own.
iscsid_up()
{
	scratch /etc/iscsi /var/lib /run/lock
	mkdir -p /var/lib/iscsi /run/lock/iscsi
	echo "InitiatorName=$ISER_HOST" >/etc/iscsi/initiatorname.iscsi
	: >/etc/iscsi/iscsid.conf
	setsid iscsid -f >"$TMP/iscsid.log" 2>&1 &
	# shellcheck disable=SC2034  # used by the callers
	iscsid=$!
}

iser_disk()
{
	disk_of '/sys/class/iscsi_session/session*/device/target*/*/block/*'
}

# iser_login NAME: claims that the initiator NAME logs in over iSER; its disk is $disk.
iser_login()
{
	or_bail "no node" iser_node -o new -I iser
	iser_node -o update -n node.session.timeo.replacement_timeout -v 60 \
		>"$TMP/out" 2>&1
	run_claim "$1 logs in" iser_node --login || tap_show "$TMP/iscsid.log"
	tap_run "the session runs over iSER" \
		eval "iscsiadm -m session | grep -q ^iser"
	tap_run "the disk appears" wait_for 20 iser_disk
	# shellcheck disable=SC2034  # used by the callers
	disk=$(iser_disk)
}

# qemu_disk LUN: the claim is that QEMU writes 16 pieces of 256 KiB to the disk with
# libiscsi over iSER, piece N filled with bytes of value N, and reads the same. libiscsi
# 1.19 cannot send larger commands.
qemu_disk()
{
	local i writes=() reads=()

	for ((i = 0; i < 16; i++)); do
		writes+=(-c "write -P $i $((i << 18)) 256k")
		reads+=(-c "read -P $i $((i << 18)) 256k")
	done
	run_claim "QEMU writes to the disk and reads the same" \
		qemu-io "${writes[@]}" -c flush "${reads[@]}" \
		"json:{\"driver\": \"raw\", \"file\": {
		\"driver\": \"iscsi\", \"transport\": \"iser\", \"lun\": $1,
		\"portal\": \"$L4:3260\", \"target\": \"$ISER_IQN\",
		\"initiator-name\": \"$ISER_HOST\"}}"
}

SRP_PORT=5555
SRPT=$SCSI_TARGET/srpt

# srp_gid: the device's first one, in a row.
srp_gid()
{
	local gid

	gid=$(<"/sys/class/infiniband/$DEV_L/ports/1/gids/0") &&
	echo "${gid//:/}"
}

# srp_target_up: both ports, of the target and of the initiator, have the name of that
# GID. The target refuses all others.
srp_target_up()
{
	local port

	scsi_disk_up && modprobe ib_srpt &&
	port=0x$(srp_gid) || return
	mkdir -p "$SRPT" || return
	# Where rdma_cm's port is an attribute; in older kernels a parameter.
	if [[ -e $SRPT/discovery_auth/rdma_cm_port ]]; then
		echo "$SRP_PORT" >"$SRPT/discovery_auth/rdma_cm_port" || return
	fi
	SRP_TPG=$SRPT/$port/$port
	SRP_ACL=$SRP_TPG/acls/$port
	mkdir -p "$SRP_TPG/lun/lun_0" &&
	ln -s "$SCSI_DISK" "$SRP_TPG/lun/lun_0/disk" &&
	mkdir -p "$SRP_ACL/lun_0" &&
	ln -s "$SRP_TPG/lun/lun_0" "$SRP_ACL/lun_0/lun_0" &&
	echo 1 >"$SRP_TPG/enable"
}

srp_target_down()
{
	echo 0 >"$SRP_TPG/enable"
	rm "$SRP_ACL/lun_0/lun_0" "$SRP_TPG/lun/lun_0/disk"
	rmdir "$SRP_ACL/lun_0" "$SRP_ACL" "$SRP_TPG/lun/lun_0" "$SRP_TPG" \
		"${SRP_TPG%/*}" "$SRPT"
	scsi_disk_down
}

srp_log_in()
{
	local guid port

	guid=$(</sys/module/ib_srpt/parameters/srpt_service_guid)
	port=$(srp_gid)
	echo "id_ext=$guid,initiator_ext=${port:0:16},ioc_guid=$guid,dest=$L4:$SRP_PORT" \
		>"/sys/class/infiniband_srp/srp-$DEV_L-1/add_target"
}

srp_log_out()
{
	local port

	for port in /sys/class/srp_remote_ports/port-*; do
		[[ ! -e $port/delete ]] || echo 1 >"$port/delete"
	done
}

srp_no_session()
{
	! compgen -G '/sys/class/srp_remote_ports/port-*' >/dev/null
}

srp_disk()
{
	disk_of '/sys/class/srp_host/host*/device/target*/*/block/*'
}
