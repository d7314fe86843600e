#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# guest.sh SUITE TEST...: runs these tests of xfstests (the directory SUITE) over
# NFS with RDMA and over NFS with TCP, to one server in this guest that exports
# two XFS. The claim for each test is that its result is the same over both. The results
# over TCP are in $XIW_OUT/tcp, those over RDMA in $XIW_OUT/rdma; directories beside
# these have the output of failed tests.

. "$(dirname "$0")/../ulp/lib.sh"

suite=$1
shift
# Size of each XFS, on a RAM disk: both must fit into the memory of the guest.
SIZE=600M
TOP=/tmp/fs
DIRS=(test scratch)
declare -A PORT=([rdma]=20049 [tcp]=2049)

topo_down()
{
	local dir

	umount -f "$TOP"/mnt/*
	nfsd_down
	for dir in "${DIRS[@]}"; do
		umount -d "$TOP/export/$dir"
	done
	local_down
	modprobe -r rpcrdma
}

# users_up: adds the users that the suite needs, in a writable layer over /etc.
users_up()
{
	local dir=/run/xiw/etc

	mkdir -p "$dir/new" "$dir/work" &&
		mount -t overlay -o "lowerdir=/etc,upperdir=$dir/new,workdir=$dir/work" \
			overlay /etc || return
	printf '%s:x:%d:%d::/tmp:/bin/bash\n' fsgqa 2001 2001 123456-fsgqa 2002 2002 \
		fsgqa2 2003 2003 >>/etc/passwd
	printf '%s:x:%d:\n' fsgqa 2001 123456-fsgqa 2002 fsgqa2 2003 >>/etc/group
}

exports_up()
{
	local dir file

	for dir in "${DIRS[@]}"; do
		file=$TOP/$dir.img
		mkdir -p "$TOP/export/$dir" "$TOP/mnt/$dir" &&
			truncate -s "$SIZE" "$file" &&
			mkfs.xfs -q "$file" &&
			mount -o loop "$file" "$TOP/export/$dir" &&
			chmod 777 "$TOP/export/$dir" || return
	done
}

server_up()
{
	local dir

	nfsd_up
	or_bail "no export" exportfs -o rw,async,no_root_squash,insecure,fsid=0 \
		"*:$TOP/export"
	for dir in "${DIRS[@]}"; do
		or_bail "no export" exportfs -o rw,async,no_root_squash,insecure \
			"*:$TOP/export/$dir"
	done
	or_bail "no server" rpc.nfsd -N 3 -V 4 -V 4.2 --rdma="${PORT[rdma]}" 8
}

# run_over PROTO TEST...: runs the tests, and writes a line "TEST passed|failed|notrun"
# for each test that has ended.
run_over()
{
	local proto=$1 log=$TMP/$1.log

	shift
	mkdir -p "$XIW_OUT/results/$proto"
	(
		cd "$suite" || exit
		export FSTYP=nfs RESULT_BASE="$XIW_OUT/results/$proto"
		export TEST_DEV=$L4:/test TEST_DIR=$TOP/mnt/test
		export SCRATCH_DEV=$L4:/scratch SCRATCH_MNT=$TOP/mnt/scratch
		export NFS_MOUNT_OPTIONS="-o proto=$proto,port=${PORT[$proto]},vers=4.2"
		timeout -k 10 $((300 + 30 * $#)) ./check -nfs "$@" 2>&1 </dev/null
	) | tee "$log" | sed -u "s/^/#   /"
	umount "$TOP"/mnt/* 2>/dev/null
	awk '
		$1 ~ "^(generic|nfs)/" { test = $1; state[test] = "passed" }
		/\[not run\]/ { state[test] = "notrun" }
		/\[failed|output mismatch|\[expunged\]|_check_/ { state[test] = "failed" }
		$1 == "Ran:" { ended = 1 }
		END {
			if (!ended)
				state[test] = "unended"
			for (test in state)
				print test, state[test]
		}' "$log" | sort >"$XIW_OUT/$proto"
}

local_up nfsd nfsv4 rpcrdma loop xfs
or_bail "no users" users_up
mkdir -p $TOP
mount -t tmpfs -o size=1400m tmpfs $TOP
or_bail "no file systems" exports_up
server_up
for proto in tcp rdma; do
	echo "# over $proto"
	run_over $proto "$@"
done
moved $((1 << 20))
for test in "$@"; do
	read -r _ tcp < <(grep "^$test " "$XIW_OUT/tcp")
	read -r _ rdma < <(grep "^$test " "$XIW_OUT/rdma")
	if [[ ${tcp:-} == notrun && ${rdma:-} == notrun ]]; then
		tap_skip "$test" "not for this NFS"
	else
		tap_is "$test over RDMA as over TCP (${tcp:-no verdict})" \
			"${rdma:-}" "${tcp:-nothing}"
	fi
	unset tcp rdma
done
tap_done
