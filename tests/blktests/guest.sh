#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# guest.sh SUITE TEST...: runs these tests of blktests (the directory SUITE) in
# this guest, on the driver XIW_LINK_TYPE. Of each it tells in $XIW_OUT/results
# first that it begins, and then what the suite said of it: one line for each of
# the conditions that it ran under, with tabs between
#
#	TEST CONDITIONS  passed|failed|not run  DESCRIPTION  REASON
#
# A test that does not end within LIMIT seconds leaves the guest in a state that
# others should not find: then this ends, and the rest is for another guest.

LIMIT=240
NET=xl
DISK=/dev/nvme0n1
suite=$1
out=${XIW_OUT:?what this mounts is for a guest, see run}
results=$out/results
shift

# etc_is_ours: what writes there writes to memory.
etc_is_ours()
{
	local dir=/run/xiw/etc

	mkdir -p $dir/new $dir/work &&
		mount -t overlay -o "lowerdir=/etc,upperdir=$dir/new,workdir=$dir/work" \
			overlay /etc &&
		mount -t tmpfs tmpfs /boot &&
		cp "$XIW_CONFIG" "/boot/config-$(uname -r)"
}

# devices_up: udev creates the links by which the tests find disks, and the RDMA
# devices need an interface.
devices_up()
{
	/lib/systemd/systemd-udevd --daemon &&
		udevadm trigger && udevadm settle &&
		ip link add $NET type dummy &&
		ip addr add 10.78.0.1/24 dev $NET &&
		ip link set $NET up &&
		modprobe nvme && udevadm settle && [[ -b $DISK ]] &&
		modprobe configfs &&
		{ mountpoint -q /sys/kernel/config ||
			mount -t configfs none /sys/kernel/config; }
}

# address_there: duplicate address detection of IPv6 has ended.
address_there()
{
	local end=$((SECONDS + 20))

	while [[ $(ip -6 addr show dev $NET) != *fe80* ||
		 $(ip -6 addr show dev $NET) == *tentative* ]]; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

# verdicts TEST: of what the suite printed about it, the lines for results. It
# says group/*** where it runs nothing of that group.
verdicts()
{
	awk -v test="$1" -v group="${1%/*}/*** " -v OFS='\t' '
		function flush() {
			if (state)
				print name, state, what, why
			state = why = ""
		}
		index($0, test " ") == 1 || index($0, group) == 1 {
			flush()
			if (!match($0, / \[(passed|failed|not run)\]$/))
				next
			state = substr($0, RSTART + 2, RLENGTH - 3)
			name = test
			what = substr($0, length(test) + 2, RSTART - length(test) - 2)
			sub(/^=> [^ ]+ /, "", what)
			# Conditions come first, in brackets of their own.
			if (match(what, /^\([a-z]+=[^)]*\) /)) {
				name = name " " substr(what, 2, RLENGTH - 3)
				what = substr(what, RLENGTH + 1)
			}
			gsub(/^ *\(?|\)? *$/, "", what)
			next
		}
		/^    / && !/^ +(---|\+\+\+|@@) / &&
		!/^    (runtime|[a-z]+ +\.\.\.)/ && state != "passed" {
			sub(/^ +/, "")
			gsub(/\t/, " ")
			why = why (why == "" ? "" : "; ") $0
		}
		END { flush() }' "$2"
}

run_one()
{
	local test=$1 rc=0 log=/tmp/blktests.log start=$SECONDS

	printf '%s\tbegun\n' "$test" >>"$results"
	# The others that want a disk have it without any fabric between.
	unset TEST_DEVS
	! grep -q _nvmet_passthru "tests/$test" || export TEST_DEVS=$DISK
	timeout -k 10 $LIMIT ./check -o /tmp/results "$test" >$log 2>&1 \
		</dev/null || rc=$?
	verdicts "$test" $log >/tmp/verdicts
	if ((rc == 124 || rc == 137)); then
		printf '%s\tfailed\t%s\tnot at its end after %d s\n' "$test" \
			"" $LIMIT >>"$results"
	elif [[ ! -s /tmp/verdicts ]] && ((rc)); then
		printf '%s\tfailed\t%s\tno verdict: %s\n' "$test" "" \
			"$(tail -n 1 $log)" >>"$results"
	elif [[ ! -s /tmp/verdicts ]]; then
		printf '%s\tnot run\t%s\tneeds a disk of its own\n' "$test" "" \
			>>"$results"
	fi
	cat /tmp/verdicts >>"$results"
	printf '# %s took %d s\n' "$test" $((SECONDS - start))
	((rc)) || return 0
	cat $log
	mkdir -p "$out/failed/${test//\//-}"
	find /tmp/results -path "*/$test*" -type f \
		-exec cp -t "$out/failed/${test//\//-}" {} +
	rm -rf /tmp/results
	((rc != 124 && rc != 137))
}

# What is loaded already the suite does not load and unload around each test,
# but for the driver.
loaded()
{
	modprobe -a nvmet nvmet-rdma nvme-rdma loop
}

etc_is_ours && devices_up && address_there && loaded || exit
cp -r "$suite" /tmp/suite || exit
# What the suite asks its environment for.  Fewer and smaller than its defaults:
# an emulated processor is slow.
export NVMET_TRTYPES=rdma NVME_IMG_SIZE=350M NVME_NUM_ITER=10
export NVMET_BLKDEV_TYPES=${NVMET_BLKDEV_TYPES:-device}
export QUICK_RUN=1 TIMEOUT=15 LOGGER_PROG=true
[[ $XIW_LINK_TYPE != xiw ]] || export USE_XIW=1
cd /tmp/suite || exit
for test in "$@"; do
	run_one "$test" || exit 0
done
