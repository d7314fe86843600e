#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# ab.sh NAME=MODULE NAME=MODULE...: measures builds of the module against each
# other in one guest and prints medians, in MiB/s, and medians of the ratios
# within a round to the first one. Rounds are interleaved, every other one in
# the reverse order. For a guest with the distribution's kernel:
#
#	tests/vm/run-vm -k stock -t 3600 'tests/bench/ab.sh \
#		old=/elsewhere/xiw.ko new=build/.../xiw.ko'
#
# XIW_ROUNDS (5), XIW_PATHS (lo, 1500), XIW_CRC (0), XIW_SEGMENTS (0, fpdu_segments
# of both ends), XIW_WRAP (command that starts perftest), and XIW_TESTS, lines of
# OPERATION SIZE MEBIBYTES [OPTION]..., or OPERATION_lat SIZE MESSAGES [OPTION]... to
# measure latency in us. In a guest that counts instructions (XIW_ICOUNT) the unit is
# MiB per 10^9 instructions. Such a guest has one CPU, and perftest polls, so give
# perftest the lowest priority: XIW_WRAP='chrt -i 0'.

# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/../selftests/lib.sh"

ROUNDS=${XIW_ROUNDS:-5}
read -ra PATHS <<<"${XIW_PATHS:-lo 1500}"
TESTS=${XIW_TESTS:-"write 65536 128
send 65536 128
read 65536 128
write 1048576 128
read 1048576 128
write 64 2
send 64 2"}
RAW=$XIW_OUT/ab

# load MODULE: unloads the module and loads this one.
load()
{
	[[ ! -e /sys/module/xiw ]] || rmmod xiw || bail "rmmod"
	insmod "$1" || bail "insmod $1"
	if ! link_add "$NS_A" "$DEV_A" "$VETH_A" ||
	   ! link_add "$NS_B" "$DEV_B" "$VETH_B" ||
	   ! wait_for 20 port_active "$DEV_A" ||
	   ! wait_for 20 port_active "$DEV_B"; then
		bail "no devices of $1"
	fi
	echo "${XIW_CRC:-0}" | tee /sys/class/infiniband/xiw[AB]/mpa/crc \
		>/dev/null
	echo "${XIW_SEGMENTS:-0}" |
		tee /sys/class/infiniband/xiw[AB]/mpa/fpdu_segments >/dev/null
}

# measure ROUND NAME PATH OPERATION SIZE MEBIBYTES [OPTION]...: runs one test, and adds
# its result to the file that table reads.
measure()
{
	local client=$NS_B dev=$DEV_B prog column args src crc value

	[[ $3 != lo ]] || client=$NS_A dev=$DEV_A
	if [[ $4 == *_lat ]]; then
		prog=ib_$4 column=5 args="-n $6"
	else
		prog=ib_${4}_bw column=4
		args="-N -n $(($6 * 1048576 / $5))"
		(($5 > 4096)) || args+=" -t 64"
	fi
	args+=" -R -F -p @PORT@ -s $5 ${*:7}"
	run_pair_patiently "$NS_A" "$client" \
		"${XIW_WRAP:-} $prog $args -d $DEV_A" \
		"${XIW_WRAP:-} $prog $args -d $dev $A4"
	value=$(awk -v s="$5" -v c="$column" '$1 == s && NF >= 5 { print $c }' \
		"$TMP/client.log")
	if [[ -n $value ]]; then
		echo "$1 $2 $3 $4 $5 $value" >>"$RAW"
	else
		echo "# $*: status $crc"
		tail -n 5 "$TMP/client.log" | sed 's/^/#   /'
	fi
}

# table NAME...: prints the medians for the modules of these names.
table()
{
	awk -v names="$*" '
		function median(list, n,    i, j, t) {
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
					t = list[j]
					list[j] = list[j - 1]
					list[j - 1] = t
				}
			return n % 2 ? list[(n + 1) / 2] : \
			       (list[n / 2] + list[n / 2 + 1]) / 2
		}
		{ what = $3 " " $4 " " $5
		  if (!(what in seen)) { seen[what]; order[++lines] = what }
		  v[what, $2, $1] = $6
		  if ($1 > rounds) rounds = $1 }
		END {
			n = split(names, name)
			for (l = 1; l <= lines; l++) {
				out = order[l]
				for (k = 1; k <= n; k++) {
					c = d = 0
					for (r = 1; r <= rounds; r++) {
						if (!((order[l], name[k], r) in v))
							continue
						x = v[order[l], name[k], r]
						a[++c] = x
						if ((order[l], name[1], r) in v)
							q[++d] = x / \
							v[order[l], name[1], r]
					}
					out = out sprintf("  %s %.4g", name[k],
							  median(a, c))
					if (k > 1)
						out = out sprintf(" %.3f (%.2f-%.2f)",
							median(q, d), q[1], q[d])
				}
				print out
			}
		}' "$RAW"
}

modprobe -a xiw rdma_ucm || bail "no modules"
rdma system set netns shared 2>/dev/null
net_up
: >"$RAW"
order=("$@")
for ((round = 1; round <= ROUNDS; round++)); do
	for build in "${order[@]}"; do
		echo "# round $round of $ROUNDS, ${build%%=*}, $SECONDS s"
		load "${build#*=}"
		for path in "${PATHS[@]}"; do
			while read -r -a what; do
				measure "$round" "${build%%=*}" "$path" \
					"${what[@]}"
			done <<<"$TESTS"
		done
		links_down
	done
	back=()
	for build in "${order[@]}"; do
		back=("$build" "${back[@]}")
	done
	order=("${back[@]}")
done
table "${@%%=*}"
