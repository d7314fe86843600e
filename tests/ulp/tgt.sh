#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: tgt open-iscsi fio libiscsi-bin qemu-utils qemu-block-extra
#
# tgt, an iSER target in user space, with three initiators: the kernel's, libiscsi and
# QEMU's disks of libiscsi.

. "$(dirname "$0")/lib.sh"

topo_down()
{
	iscsiadm -m node -u
	[[ -z ${iscsid:-} ]] || kill "$iscsid"
	# SIGTERM has no effect on it.
	[[ -z ${tgtd:-} ]] || kill -KILL "$tgtd"
	local_down
	modprobe -r ib_iser
}

FILE=$TMP/disk

target()
{
	tgtadm --lld iser --mode target --tid 1 "$@"
}

# tgt_up: one target with a disk of 64 MiB. Up to tgt 1.0.94 the logins of iSER need the
# initiator's address and its name in the lists of the target, later ones either. The
# portal of plain iSCSI must not take the port.
tgt_up()
{
	truncate -s 64M "$FILE"
	tgtd -f -d 0 --iscsi portal=127.0.0.1:3261 \
		--iser pool_sz_mb=128 >"$TMP/tgtd.log" 2>&1 &
	tgtd=$!
	wait_for 20 tgtadm --lld iser --mode system --op show &&
	target --op new --targetname "$ISER_IQN" &&
	tgtadm --lld iser --mode logicalunit --op new --tid 1 --lun 1 \
		--backing-store "$FILE" &&
	target --op bind --initiator-address ALL &&
	target --op bind --initiator-name "$ISER_HOST"
}

# same_disk DISK: true if its content is that of the file.
same_disk()
{
	dd if="$1" bs=256k iflag=direct 2>/dev/null | cmp - "$FILE"
}

# pieces: prints what qemu_disk() writes.
pieces()
{
	local i

	for ((i = 0; i < 16; i++)); do
		head -c 256k /dev/zero | tr '\0' "\\$(printf %o "$i")"
	done
}

local_up ib_iser sd_mod
ip link set lo up
ulimit -l unlimited
or_bail "no target" tgt_up
url=iser://$L4:3260/$ISER_IQN/1
run_claim "libiscsi logs in" iscsi-inq -i "$ISER_HOST" "$url"
run_claim "it reads the size of the disk" iscsi-readcapacity16 -i "$ISER_HOST" "$url"
tap_run "that is the size of the file" grep -q "^Total size:$((64 << 20))$" "$TMP/out"
qemu_disk 1
pieces >"$TMP/pieces"
tap_run "the file has what QEMU wrote" cmp -n $((4 << 20)) "$TMP/pieces" "$FILE"

iscsid_up
iser_login "the kernel"
tap_run "its content is the file's" same_disk "$disk"
fio_verify "random writes and reads, verified" "$disk" 32M
tap_run "the file has what fio wrote" same_disk "$disk"
moved $((100 << 20))
disk_loses "$disk" 32M 3260
run_claim "the kernel logs out" iser_node --logout
tap_done
