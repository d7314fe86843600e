# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Functions of the tests in addition to lib.sh (source that first): claims made
# by the programs of progs/, and the counts of kernel objects.

# have_gids: true if the IPv4 addresses of both sides are GIDs.
have_gids()
{
	gid_index "$DEV_A" "$(gid4 "$A4")" && gid_index "$DEV_B" "$(gid4 "$B4")"
}

# cases [-p PREFIX] PROGRAM ARGS...: runs the program. Each case of it becomes a claim
# with a name that begins with PREFIX; a case without a result is a failed
# claim. The passive side is xa and the active side xb; -a and -b change that.
# Rerun one by hand with "PROGRAM ARGS -t CASE".
cases()
{
	local prefix='' verdict rest said=0 rc=0 pid

	if [[ $1 == -p ]]; then
		prefix="$2: "
		shift 2
	fi
	: >"$TMP/case.log"
	while read -r verdict rest; do
		case "$verdict $rest" in
		"ok "*)
			tap_ok "$prefix$rest" ;;
		"not ok "*)
			tap_fail "$prefix${rest#ok }"
			tap_show "$TMP/case.log" ;;
		"skip "*)
			tap_skip "$prefix$rest" \
				"$(sed -n 's/^# skip: //p' "$TMP/case.log")" ;;
		*)
			echo "$verdict $rest" >>"$TMP/case.log"
			continue ;;
		esac
		said=$((said + 1))
		: >"$TMP/case.log"
	done < <(exec timeout -k 5 "${CASES_TIMEOUT:-560}" "$@" 2>&1 </dev/null)
	pid=$!
	wait "$pid" || rc=$?
	tap_is "$prefix${1##*/} gave a verdict on all its cases" \
		"$said" "$("$@" -l | wc -l)"
	((rc < 2)) || { tap_note "status $rc from: $*"; tap_show "$TMP/case.log"; }
}

# policy_write NAME VALUE: writes the MPA policy file of device A; false if it refuses.
policy_write()
{
	echo "$2" >"/sys/class/infiniband/$DEV_A/mpa/$1"
}

# policy_of DEV NAME VALUE: writes a file of the device's MPA policy, in sysfs, or in
# debugfs for values that only tests set.
policy_of()
{
	local file=/sys/class/infiniband/$1/mpa/$2

	[[ -e $file ]] ||
		file=/sys/kernel/debug/xiw/$(rdma dev show "$1" | cut -d: -f1)/$2
	echo "$3" >"$file" || bail "set-up: policy $2 $3 of $1"
}

# policy NAME VALUE: sets a file of the policy of both devices.
policy()
{
	policy_of "$DEV_A" "$1" "$2"
	policy_of "$DEV_B" "$1" "$2"
}

# both_ends ARGS...: runs "ip link set" with ARGS for the netdevs of both devices.
both_ends()
{
	ip -n "$NS_A" link set "$VETH_A" "$@" &&
	ip -n "$NS_B" link set "$VETH_B" "$@"
}

# A load is a connection with each end in a process of its own (xt_load),
# passive-NAME in xa and active-NAME in xb, and data checked at both.
declare -A load_pid=()
LOAD_ARGS=()

# load_start END NAME ARGS...: starts one end of the load NAME in the background. No
# wrapper, so that the test can kill the process; and a lower priority than the shell,
# which runs on the same processors.
load_start()
{
	local end=$1 name=$2

	shift 2
	# Remove the output of an earlier load of that name.
	: >"$TMP/$end-$name.log"
	nice -n 19 xt_load -T "${LOAD_SECONDS:-180}" "$@" \
		>"$TMP/$end-$name.log" 2>&1 </dev/null &
	load_pid[$end-$name]=$!
}

load_says()
{
	[[ $'\n'$(<"$TMP/$1.log") == *$'\n'"$2"* ]]
}

load_alive()
{
	kill -0 "${load_pid[passive-$1]}" && kill -0 "${load_pid[active-$1]}"
}

load_runs()
{
	load_says "passive-$1" running && load_says "active-$1" running
}

# load_up NAME...: starts loads; true when all of them exchange messages.
load_up()
{
	local name port=()

	for name in "$@"; do
		port[${#port[@]}]=$(free_port)
		load_start passive "$name" -s "$NS_A/$A4" -p "${port[-1]}" \
			"${LOAD_ARGS[@]}"
	done
	for name in "$@"; do
		wait_for 30 listening "$NS_A" "${port[0]}" ||
			{ load_show; return 1; }
		load_start active "$name" -c "$NS_B/$A4" -p "${port[0]}" \
			"${LOAD_ARGS[@]}"
		port=("${port[@]:1}")
	done
	for name in "$@"; do
		wait_for "$XIW_TIMEOUT" load_runs "$name" || { load_show; return 1; }
	done
}

# load_wait END-NAME: waits until that process exits, and returns its status.
load_wait()
{
	local pid=${load_pid[$1]} rc=0

	unset "load_pid[$1]"
	wait "$pid" || rc=$?
	((rc == 0)) || { echo "$1: status $rc"; tail -n 5 "$TMP/$1.log"; }
	return "$rc"
}

# load_ended NAME...: waits until both ends of each load exit; true if without error.
load_ended()
{
	local name

	for name in "$@"; do
		load_wait "passive-$name" && load_wait "active-$name" || return
	done
}

# load_end NAME: lets the load exchange some more messages and disconnect; true if both
# ends succeed.
load_end()
{
	kill "${load_pid[active-$1]}" &&
	load_wait "active-$1" && load_says "active-$1" ended &&
	load_wait "passive-$1" && load_says "passive-$1" ended
}

# settled NAME: ends the load if it still runs; true if both ends exit without error.
settled()
{
	if load_alive "$1" 2>/dev/null; then
		load_end "$1"
	else
		load_ended "$1"
	fi
}

# load_kill END-NAME...: kills these processes by SIGKILL, all at once.
load_kill()
{
	local name pids=()

	for name in "$@"; do
		pids+=("${load_pid[$name]}")
	done
	kill -9 "${pids[@]}" || return
	for name in "$@"; do
		wait "${load_pid[$name]}" 2>/dev/null
		unset "load_pid[$name]"
	done
	return 0
}

# under ARGS...: the claim is that the function repaired, which the test defines,
# succeeds with netem ARGS in both directions.
under()
{
	{
		netem "$NS_A" "$VETH_A" "$@" && netem "$NS_B" "$VETH_B" "$@"
	} || bail "netem $*"
	tap_run "netem $*:${WITH:-} every byte arrives, once" repaired
	netem "$NS_A" "$VETH_A"
	netem "$NS_B" "$VETH_B"
	LOAD_ARGS=()
}

# flows [DEVICE...]: true if these devices, or both, still receive data.
flows()
{
	local dev before

	(($#)) || set -- "$DEV_A" "$DEV_B"
	for dev in "$@"; do
		before=$(counter "$dev" rx_bytes)
		wait_for 60 grown "$dev" rx_bytes "$((before + 50000))" ||
			{ echo "nothing more at $dev"; return 1; }
	done
}

grown()
{
	(($(counter "$1" "$2") >= $3))
}

# load_stop: ends all loads that still run.
load_stop()
{
	((${#load_pid[@]} == 0)) || load_kill "${!load_pid[@]}" 2>/dev/null
}

# load_show: prints the output of the loads, for a failed claim.
load_show()
{
	local name

	for name in "${!load_pid[@]}"; do
		echo "$name:"
		tail -n 5 "$TMP/$name.log"
	done
}

# ---- SCTP ----------------------------------------------------------------

needs_sctp()
{
	modprobe -q sctp || [[ -e /proc/net/sctp ]] ||
		skip_all "this kernel has no SCTP"
}

# serves PORT: true if SCTP in xa listens on that port.
# shellcheck disable=SC2016  # awk's variables
serves()
{
	in_ns "$NS_A" awk -v p="$1" '$6 == p { n++ } END { exit !n }' \
		/proc/net/sctp/eps
}

# second_network: adds another pair of interfaces, with two addresses at each end.
second_network()
{
	ip link add va2 netns "$NS_A" type veth peer name vb2 netns "$NS_B" &&
	peer_up "$NS_A" va2 10.78.0.1 fd78::1 &&
	peer_up "$NS_B" vb2 10.78.0.2 fd78::2
}

# path_works ADDRESS: true if SCTP in xb has an active path to this address of A.
# shellcheck disable=SC2016  # awk's variables
path_works()
{
	in_ns "$NS_B" awk -v a="$1" '$1 == a && $8 == 2 { n++ } END { exit !n }' \
		/proc/net/sctp/remaddr
}

path_fails()
{
	! path_works "$1"
}

# unfragmented NS: true if SCTP has fragmented no message in that namespace so far.
unfragmented()
{
	in_ns "$1" grep -qE "^SctpFragUsrMsgs[[:space:]]+0$" /proc/net/sctp/snmp
}

stream_says()
{
	grep -qE "^$1" "$TMP/stream.log"
}

# stream_starts A B: starts a stream of $MIB MiB or more from address B to address A over
# SCTP, on $PORT; true when data flows.
stream_starts()
{
	: >"$TMP/stream.log"
	# shellcheck disable=SC2153  # the test sets it
	XT_PORT=$PORT nice -n 19 xt_stream "$NS_A/$1" "$NS_B/$2" "$MIB" 800 \
		>"$TMP/stream.log" 2>&1 </dev/null &
	stream=$!
	wait_for "$XIW_TIMEOUT" stream_says running
}

# stream_gap: prints the longest time in ms between two MiB of the stream since the last
# call.
stream_gap()
{
	local seen

	seen=$(grep -c '^gap ' "$TMP/stream.log")
	kill -USR1 "$stream" && wait_for 60 stream_says_more gap "$seen" &&
		sed -n 's/^gap //p' "$TMP/stream.log" | tail -n 1
}

stream_says_more()
{
	(($(grep -c "^$1 " "$TMP/stream.log") > $2))
}

stream_ends()
{
	local rc=0

	kill "$stream"
	wait "$stream" || rc=$?
	stream=
	tail -n 3 "$TMP/stream.log"
	((rc == 0)) && stream_says ended
}

# network_fails NETDEV_A NETDEV_B: drops all packets between these; true if the stream
# continues, by more than was in flight before.
network_fails()
{
	netem "$NS_A" "$1" loss 100% && netem "$NS_B" "$2" loss 100% &&
		wait_for 60 grown "$DEV_A" rx_bytes \
			"$(($(counter "$DEV_A" rx_bytes) + (2 << 20)))"
}

# ---- removal -----------------------------------------------------------

BOUND=30	# seconds that a removal may take on the slow kernel

# within CMD...: runs CMD; fails after a time limit, even if CMD hangs and cannot be
# killed.
within()
{
	local pid rc=0

	"$@" &
	pid=$!
	wait_for "$BOUND" not_running "$pid" || {
		echo "still running after $BOUND s:"
		cat "/proc/$pid/stack"
		blocked
		return 1
	}
	wait "$pid" || rc=$?
	return "$rc"
}

# blocked: prints where tasks in an uninterruptible state wait.
blocked()
{
	local dir state

	for dir in /proc/[0-9]*; do
		read -r state 2>/dev/null <"$dir/stat" || continue
		state=${state##*) }
		[[ ${state:0:1} == D ]] || continue
		echo "blocked: $(<"$dir/comm")"
		cat "$dir/stack"
	done
}

not_running()
{
	local state

	# The name, which may contain blanks, ends at the parenthesis.
	read -r state 2>/dev/null <"/proc/$1/stat" || return 0
	state=${state##*) }
	[[ ${state:0:1} == Z ]]
}

both_gone()
{
	dev_gone "$DEV_A" && dev_gone "$DEV_B"
}

module_gone()
{
	[[ ! -e /sys/module/$XIW_LINK_TYPE ]]
}

# Arguments of the programs: the namespaces and addresses of both sides.
# shellcheck disable=SC2034  # used by the tests
{
SIDES4=(-a "$NS_A/$A4" -b "$NS_B/$B4")
SIDES6=(-a "$NS_A/$A6" -b "$NS_B/$B6")
SIDES4_SWAPPED=(-a "$NS_B/$B4" -b "$NS_A/$A4")
}

# objects: prints the RDMA objects on the devices of this test, a line each.
objects()
{
	rdma resource show | grep -E " ($DEV_A|$DEV_B): " | sed 's/^[0-9]*: //' | sort
}

# objects_are FILE: true if exactly the objects in FILE exist.
objects_are()
{
	objects | cmp -s - "$1"
}

# tap_objects DESC FILE: the claim is that within a time limit only the objects in FILE
# exist.
tap_objects()
{
	if wait_for 30 objects_are "$2"; then
		tap_ok "$1"
	else
		tap_fail "$1"
		objects | diff "$2" - | sed 's/^/#   /'
	fi
}
