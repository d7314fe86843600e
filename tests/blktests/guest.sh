#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# guest.sh SUITE TEST...: runs these tests of blktests (the directory SUITE) in
# this guest, on the driver XIW_LINK_TYPE. For each test it writes to
# $XIW_OUT/results a line "TEST begun", and then a line for each set of conditions
# under which blktests ran the test, with tabs between the fields:
#
#	TEST CONDITIONS  passed|failed|not run  DESCRIPTION  REASON
#
# A test that does not end within LIMIT seconds may disturb the tests after it:
# guest.sh then ends, and the caller runs the other tests in a new guest.

LIMIT=240
NET=xl
DISK=/dev/nvme0n1
suite=$1
out=${XIW_OUT:?what this mounts is for a guest, see run}
results=$out/results
shift

# etc_is_ours: mounts a writable layer in memory over the host's /etc, and puts the
# kernel's configuration in /boot.
etc_is_ours()
{
	local dir=/run/xiw/etc

	mkdir -p $dir/new $dir/work &&
		mount -t overlay -o "lowerdir=/etc,upperdir=$dir/new,workdir=$dir/work" \
			overlay /etc &&
		mount -t tmpfs tmpfs /boot &&
		cp "$XIW_CONFIG" "/boot/config-$(uname -r)"
}

# devices_up: starts udev, which creates the links by which the tests find disks, and
# makes an interface for RDMA devices.
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

# address_there: waits until the interface has a link-local address that is usable.
address_there()
{
	local end=$((SECONDS + 20))

	while [[ $(ip -6 addr show dev $NET) != *fe80* ||
		 $(ip -6 addr show dev $NET) == *tentative* ]]; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

# verdicts TEST LOG: converts the output of blktests to lines of the results file.
# blktests prints GROUP/*** instead of the name if it skips the whole group.
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
			# The text begins with the conditions, in brackets.
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
	# Only for passthru targets: other tests would use the disk without a fabric.
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

# loaded: loads modules before the tests: blktests would otherwise load and unload
# them, except the RDMA driver, for each test.
loaded()
{
	modprobe -a nvmet nvmet-rdma nvme-rdma loop
}

etc_is_ours && devices_up && address_there && loaded || exit
cp -r "$suite" /tmp/suite || exit
# Parameters of blktests, smaller than its defaults: an emulated processor is slow.
export NVMET_TRTYPES=rdma NVME_IMG_SIZE=350M NVME_NUM_ITER=10
export NVMET_BLKDEV_TYPES=${NVMET_BLKDEV_TYPES:-device}
export QUICK_RUN=1 TIMEOUT=15 LOGGER_PROG=true
[[ $XIW_LINK_TYPE != xiw ]] || export USE_XIW=1
cd /tmp/suite || exit
for test in "$@"; do
	run_one "$test" || exit 0
done
