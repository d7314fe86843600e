#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: nfs-kernel-server nfs-common fio
#
# NFS over RDMA: server and client in the kernel. Fast registrations, chunks
# that the server reads and writes, remote invalidation, a client that
# reconnects, and 64 that do so at once.

. "$(dirname "$0")/lib.sh"

EXPORT=/tmp/export
MNT=/tmp/nfs
CLIENTS=64

topo_down()
{
	umount -f "$MNT" "$MNT".*
	nfsd_down
	local_down
	links_down
	net_down
	modprobe -r rpcrdma
}

mount_nfs()
{
	mount -t nfs -o "proto=rdma,port=20049,vers=4.2,$1" "$L4:/" "$MNT"
}

# many_up: mounts the export many times, each time by another address of the server. The
# client treats these as different servers with NFS 4.0, so each has a connection.
many_up()
{
	local n

	for ((n = 1; n <= CLIENTS; n++)); do
		mkdir -p "$MNT.$n" &&
		ip addr add "10.78.0.$((100 + n))/24" dev "$NET_L" &&
		mount -t nfs -o "proto=rdma,port=20049,vers=4.0,hard" \
			"10.78.0.$((100 + n)):/" "$MNT.$n" || return
	done
}

many_down()
{
	umount "$MNT".*
}

connected()
{
	(($(ss -Htn state established dport = :20049 | wc -l) == $1))
}

# many_return: aborts all connections; true if all clients continue.
many_return()
{
	local n pids=()

	kill_connections 20049
	for ((n = 1; n <= CLIENTS; n++)); do
		touch "$MNT.$n/$1-$n" &
		pids+=($!)
	done
	wait "${pids[@]}"
	local files=("$EXPORT/$1"-*)

	echo "${#files[@]}"
	((${#files[@]} == CLIENTS))
}

refused()
{
	echo $(($(counter "$DEV_L" connections_failed) +
		$(counter "$DEV_L" connections_rejected) +
		$(counter "$DEV_L" connections_timed_out)))
}

local_up nfsd nfsv4 rpcrdma
# Two more namespaces with devices, for clients that are not on the server's device
net_up
links_up
mkdir -p $EXPORT $MNT
mount -t tmpfs -o size=256m tmpfs $EXPORT
nfsd_up
or_bail "no export" exportfs -o rw,no_root_squash,insecure,fsid=0,async "*:$EXPORT"
run_claim "the server listens" rpc.nfsd -N 3 -V 4 -V 4.2 --rdma=20049 4
tap_run "nfsd has an RDMA listener" grep -q rdma /proc/fs/nfsd/portlist
tap_run_not "which is not in another namespace" listening "$NS_A" 20049
run_claim "the client mounts" mount_nfs hard || tap_show "$TMP/mountd.log"
tap_run "the mount uses RDMA" grep -q "xprt:.*rdma" /proc/self/mountstats

large_files
mkdir $MNT/tree
for i in {1..150}; do
	head -c $((i * 37)) /dev/urandom >"$MNT/tree/$i"
done
ln -s 1 $MNT/tree/link
drop_caches
run_claim "150 small files are the same" same tree
tap_is "a long directory is complete" "$(find "$MNT/tree" -mindepth 1 | wc -l)" 151
fio_verify "direct random writes and reads, verified" $MNT/fio 32M
moved $((100 << 20))

# Break the connection in the middle of a copy; the client must carry on.
before=$(counter "$DEV_L" connections_active)
cp "$EXPORT/read" "$TMP/source"
cp "$TMP/source" "$MNT/copied" &
copy=$!
kill_connections 20049
wait $copy
tap_result $? "a copy goes on when its connection breaks"
drop_caches
run_claim "the copy is complete" cmp "$TMP/source" "$EXPORT/copied"
tap_run "the client has connected again" \
	test "$(counter "$DEV_L" connections_active)" -gt "$before"
run_claim "the client unmounts" umount $MNT

# iw_cm has room for ten requests to the server.
run_claim "$CLIENTS clients mount" many_up
tap_run "each client has a connection" connected $CLIENTS
before=$(refused)
for round in 1 2 3; do
	run_claim "round $round: all connections break, and all clients go on" \
		many_return "$round"
done
tap_is "no connection was reset or refused" "$(refused)" "$before"
run_claim "the clients unmount" many_down
run_claim "the server stops" rpc.nfsd 0
tap_run "the device can be removed" timeout 60 rdma link del "$DEV_L"
tap_done
