#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: nfs-kernel-server nfs-common fio nftables
#
# NFS over RDMA over SCTP: server and client in the kernel, on a port of sctp_ports. The
# only path fails for longer than the connection survives; the client connects again.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../selftests/cases.sh"

PORT=20049
EXPORT=/tmp/export
MNT=/tmp/nfs

topo_down()
{
	nft delete table ip xiw
	umount -f "$MNT"
	nfsd_down
	local_down
	modprobe -r rpcrdma
}

associated()
{
	grep -q " $PORT .*<-> " /proc/net/sctp/assocs
}

# path_down: drops all packets of SCTP.
path_down()
{
	nft add table ip xiw &&
	nft add chain ip xiw out '{ type filter hook output priority 0; }' &&
	nft add rule ip xiw out ip protocol sctp drop
}

# more_than COUNTER VALUE: true if the counter of $DEV_L exceeds VALUE.
more_than()
{
	(($(counter "$DEV_L" "$1") > $2))
}

needs_sctp
local_up nfsd nfsv4 rpcrdma
policy_of "$DEV_L" sctp_ports "$PORT"
policy_of "$DEV_L" silence_timeout_ms 10000
mkdir -p $EXPORT $MNT
mount -t tmpfs -o size=256m tmpfs $EXPORT
nfsd_up
or_bail "no export" exportfs -o rw,no_root_squash,insecure,fsid=0,async "*:$EXPORT"
run_claim "the server listens" rpc.nfsd -N 3 -V 4 -V 4.2 --rdma=$PORT 4
run_claim "the client mounts" \
	mount -t nfs -o "proto=rdma,port=$PORT,vers=4.2,hard" "$L4:/" $MNT ||
	tap_show "$TMP/mountd.log"
tap_run "the mount uses RDMA" grep -q "xprt:.*rdma" /proc/self/mountstats
tap_run "over an association" associated
tap_run "and no connection of TCP" test -z "$(ss -tnH dport = :$PORT)"
large_files
fio_verify "direct random writes and reads, verified" $MNT/fio 16M
moved $((80 << 20))

# Break the connection during a copy; the client must continue the copy.
active=$(counter "$DEV_L" connections_active)
lost=$(counter "$DEV_L" connections_lost)
cp "$EXPORT/read" "$TMP/source"
cp "$TMP/source" "$MNT/copied" &
copy=$!
tap_run "the path fails" path_down
tap_run "the connection is lost" wait_for 60 more_than connections_lost "$lost"
tap_run "the path is there again" nft delete table ip xiw
wait $copy
tap_result $? "the copy goes on"
drop_caches
run_claim "it is complete" cmp "$TMP/source" "$EXPORT/copied"
tap_run "the client has connected again" more_than connections_active "$active"
run_claim "the client unmounts" umount $MNT
run_claim "the server stops" rpc.nfsd 0
tap_run "the device can be removed" timeout 60 rdma link del "$DEV_L"
tap_done
