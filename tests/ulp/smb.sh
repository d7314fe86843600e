#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: ksmbd-tools cifs-utils fio
# xiw-ulps: smb
#
# SMB Direct: server (ksmbd) and client (cifs) in the kernel. Messages of many
# elements with credits of their own, fast registrations by the client that the
# server reads and writes, and a client that reconnects.

. "$(dirname "$0")/lib.sh"

EXPORT=/tmp/export
MNT=/tmp/smb

topo_down()
{
	umount -f "$MNT" 2>/dev/null
	smb_server_down
	local_down
}

connects()
{
	counter "$DEV_L" connections_active
}

local_up ksmbd cifs
mkdir -p $EXPORT $MNT
mount -t tmpfs -o size=256m tmpfs $EXPORT
tap_run "the server runs" smb_server_up $EXPORT || tap_show "$TMP/smb.log"
run_claim "the client mounts" mount_smb $MNT rdma,hard || tap_show "$TMP/smb.log"
tap_run "the mount uses RDMA" grep -q "^SMBDirect.* protocol version: 100" \
	/proc/fs/cifs/DebugData

large_files
mkdir $MNT/tree
for i in {1..100}; do
	head -c $((i * 97)) /dev/urandom >"$MNT/tree/$i"
done
drop_caches
run_claim "100 files around the limit of an inline message are the same" \
	same tree
fio_verify "direct random writes and reads, verified" $MNT/fio 32M
moved $((100 << 20))

# Break the connection in the middle of a copy; the client must carry on.
before=$(connects)
cp "$EXPORT/read" "$TMP/source"
at=$(counter "$DEV_L" rx_bytes)
cp "$TMP/source" "$MNT/copied" &
copy=$!
under_way()
{
	(($(counter "$DEV_L" rx_bytes) > at + (1 << 20)))
}
tap_run "a copy is under way" wait_for 30 under_way
kill_connections 5445
wait $copy
tap_result $? "the copy goes on when its connection breaks"
drop_caches
run_claim "the copy is complete" cmp "$TMP/source" "$EXPORT/copied"
tap_run "the client has connected again" test "$(connects)" -gt "$before"
run_claim "the client unmounts" umount $MNT
# Wait until the server has freed its queue pairs: when a device is removed, ksmbd of
# Linux 6.12 drains a queue pair even if another thread is freeing it.
no_queue_pairs()
{
	! rdma res show qp link "$DEV_L/1" | grep -q .
}
tap_run "the server frees the connection" wait_for 60 no_queue_pairs
tap_run "the device can be removed" timeout 60 rdma link del "$DEV_L"
tap_done
