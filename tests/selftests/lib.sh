# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Functions that the selftests share.  A test is an executable tests/selftests/NAME.sh:
#
#	. "$(dirname "$0")/lib.sh"
#	topo_up
#	tap_run "the device has an active port" port_active "$DEV_A"
#	pair "rping over IPv4" "rping -s -a $A4 -p @PORT@ -C 3" \
#		"rping -c -a $A4 -p @PORT@ -C 3"
#	tap_done
#
# It speaks TAP on stdout: one "ok" or "not ok" line per claim, "# SKIP why"
# for a claim that cannot be made here, and the plan last.  Exit status: 0 all
# passed, 1 something failed, 4 everything was skipped.
#
# The topology: namespaces xa and xb, joined by a veth pair, one RDMA device
# on each end.
#
#	xa: netdev va, $A4 $A6, device $DEV_A	xb: netdev vb, $B4 $B6, $DEV_B
#
# Wait for a condition (wait_for, wait_listen), never for time.  Commands run
# under XIW_TIMEOUT seconds, which the slow debug kernel is allowed to need.

set -u

XIW_LINK_TYPE=${XIW_LINK_TYPE:-xiw}
XIW_TIMEOUT=${XIW_TIMEOUT:-90}
# How many times slower the machine was than an idle one when the guest started
SLOW=${XIW_SLOW:-1}
NS_A=xa
NS_B=xb
VETH_A=va
VETH_B=vb
DEV_A=xiwA
DEV_B=xiwB
A4=10.77.0.1
B4=10.77.0.2
A6=fd77::1
B6=fd77::2

SELFTESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LOG_PATTERNS=$SELFTESTS/../vm/log-patterns
TMP=$(mktemp -d /tmp/xiw.XXXXXX)

tap_count=0
tap_failed=0
tap_skipped=0
declare -A server_pid=()

# ---- claims -------------------------------------------------------------

tap_note()
{
	printf '# %s\n' "$*"
}

# tap_show FILE [LINES]: prints captured output as comments, so that it is not
# parsed as TAP. The first lines are what a program wrote to stderr, which is not
# buffered, so they are printed, too.
tap_show()
{
	[[ ! -s $1 ]] || tr -d '\r' <"$1" | awk -v last="${2:-40}" '
		{ line[NR] = $0 }
		END {
			for (i = 1; i <= NR; i++)
				if (i <= 10 || i > NR - last)
					print "#   " line[i]
				else if (i == 11)
					print "#   [...]"
		}'
}

tap_ok()
{
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s\n' "$tap_count" "$*"
}

tap_fail()
{
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	printf 'not ok %d - %s\n' "$tap_count" "$*"
}

# kernel_before VERSION: true if the running kernel is older than VERSION.
kernel_before()
{
	[[ $(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1) != "$1" ]]
}

# tap_skip DESC WHY: prints a skipped claim; WHY names the missing feature.
tap_skip()
{
	tap_count=$((tap_count + 1))
	tap_skipped=$((tap_skipped + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

# tap_result STATUS DESC: prints a claim, which has failed if STATUS is not 0; returns
# STATUS.
tap_result()
{
	if (($1)); then
		tap_fail "$2"
		return 1
	fi
	tap_ok "$2"
}

# tap_run DESC CMD...: the claim is that CMD succeeds in time. CMD may be a
# function, which has to limit its own waits.
tap_run()
{
	local desc=$1 rc=0

	shift
	bounded "$@" >"$TMP/run.log" 2>&1 </dev/null || rc=$?
	tap_result "$rc" "$desc"
	((rc == 0)) || { tap_note "status $rc from: $*"; tap_show "$TMP/run.log"; }
	return "$rc"
}

# tap_run_not DESC CMD...: the claim is that CMD fails, by itself and in time.
tap_run_not()
{
	local desc=$1 rc=0

	shift
	bounded "$@" >"$TMP/run.log" 2>&1 </dev/null || rc=$?
	((rc != 0 && rc < 124))
	tap_result $? "$desc"
	((rc != 0 && rc < 124)) ||
		{ tap_note "status $rc from: $*"; tap_show "$TMP/run.log"; }
}

# tap_is DESC GOT WANTED: the claim is that two strings are equal.
tap_is()
{
	[[ $2 == "$3" ]]
	tap_result $? "$1"
	[[ $2 == "$3" ]] || tap_note "got '$2', wanted '$3'"
}

# skip_all WHY: ends the test as skipped.
skip_all()
{
	printf '1..0 # SKIP %s\n' "$*"
	exit 4
}

# tap_done: prints the plan, and exits with the result.
tap_done()
{
	printf '1..%d\n' "$tap_count"
	((tap_failed == 0)) || exit 1
	((tap_skipped < tap_count)) || exit 4
	exit 0
}

# bail WHY...: ends the test as failed, because its set-up has failed.
bail()
{
	tap_fail "$*"
	printf '1..%d\n' "$tap_count"
	exit 1
}

# ---- waiting ------------------------------------------------------------

# bounded CMD...: runs programs under timeout, functions and builtins without.
bounded()
{
	if [[ $(type -t "$1") == file ]]; then
		timeout -k 5 $((XIW_TIMEOUT * SLOW)) "$@"
	else
		"$@"
	fi
}

# cgroup_up: makes the control group $CGROUP, which counts memory.
cgroup_up()
{
	local root=${CGROUP%/*}

	[[ -e $root/cgroup.procs ]] || mount -t cgroup2 cgroup2 "$root"
	echo +memory >"$root/cgroup.subtree_control"
	mkdir "$CGROUP" && [[ -e $CGROUP/memory.stat ]]
}

# happens_within SECONDS CMD...: repeats CMD until it succeeds; false after that time, on a
# slow machine as well: for claims that an event does not happen so soon.
happens_within()
{
	local end=$((SECONDS + $1))

	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || return 1
		sleep 0.05
	done
}

# wait_for SECONDS CMD...: the same, but for a time that is longer on a slow machine.
wait_for()
{
	happens_within $(($1 * SLOW)) "${@:2}"
}

# ---- namespaces ---------------------------------------------------------

# in_ns NS CMD...: runs CMD in that namespace, with the guest's /sys.
in_ns()
{
	local ns=$1

	shift
	netns-run "$ns" $((XIW_TIMEOUT * SLOW)) "$@"
}

in_a()
{
	in_ns "$NS_A" "$@"
}

in_b()
{
	in_ns "$NS_B" "$@"
}

# peer_up NS NETDEV IPV4 IPV6: adds the addresses to the netdev, and sets it up.
peer_up()
{
	ip -n "$1" -batch - <<-END
		link set lo up
		addr add $3/24 dev $2
		addr add $4/64 dev $2 nodad
		link set $2 up
	END
}

# net_up: makes the two namespaces and the veth pair, without RDMA devices. Both ends
# get the same interface index, as in containers.  siw cannot listen then on a
# wildcard address: it listens for both devices in the caller's namespace.
net_up()
{
	{
		ip netns add "$NS_A" && ip netns add "$NS_B"
	} || bail "set-up: the namespaces could not be made"
	veth_up
}

# veth_up: makes the veth pair, and adds its addresses.
veth_up()
{
	local index=()

	[[ $XIW_LINK_TYPE != siw ]] || index=(index 77)
	{
		ip link add "$VETH_A" "${index[@]}" netns "$NS_A" type veth \
			peer name "$VETH_B" netns "$NS_B" &&
		peer_up "$NS_A" "$VETH_A" "$A4" "$A6" &&
		peer_up "$NS_B" "$VETH_B" "$B4" "$B6"
	} || bail "set-up: the interfaces could not be made"
}

# net_down: removes the namespaces. TCP repeats a FIN for 100 s if the socket of a program
# was closed and its peer removed, and keeps the namespace for so long: end that.
net_down()
{
	local ns

	for ns in "$NS_A" "$NS_B"; do
		ip netns exec "$ns" sysctl -qw net.ipv4.tcp_orphan_retries=1
		ip netns del "$ns"
	done 2>/dev/null
	wait_for 20 netdev_gone "$VETH_A"
}

netdev_gone()
{
	! ip link show "$1"
}

# ---- rootless containers --------------------------------------------------

BOX_A=xboxa
BOX_B=xboxb
BOX_USER=1000
declare -A box_pid=()

# in_box BOX CMD...: as root of that container, an ordinary user outside, with
# systemd's limit of pinned memory.
in_box()
{
	local box=$1

	shift
	timeout -k 5 $((XIW_TIMEOUT * SLOW)) nsenter -t "${box_pid[$box]}" -U -n \
		prlimit --memlock=8388608:8388608 "$@"
}

in_own_network()
{
	[[ $(readlink "/proc/$1/ns/net") != "$(readlink /proc/self/ns/net)" &&
	   -n $(<"/proc/$1/uid_map") ]]
}

# box_up BOX: starts a container of a user without privileges; its network namespace is
# named BOX.
box_up()
{
	setpriv --reuid $BOX_USER --regid $BOX_USER --clear-groups \
		unshare -Urn sleep 1000 </dev/null >/dev/null 2>&1 &
	box_pid[$1]=$!
	wait_for 20 in_own_network $! && ip netns attach "$1" $!
}

# boxes_up: starts two containers, joined as the namespaces of net_up(); the host adds
# their interfaces and devices.
boxes_up()
{
	local NS_A=$BOX_A NS_B=$BOX_B

	{
		box_up $BOX_A && box_up $BOX_B
	} || bail "set-up: the containers"
	veth_up
	links_up
}

boxes_down()
{
	local box

	((${#box_pid[@]})) || return 0
	for box in "${!box_pid[@]}"; do
		ip netns del "$box"
		kill "${box_pid[$box]}"
	done
	box_pid=()
	wait_for 20 dev_gone "$DEV_A"
	wait_for 20 dev_gone "$DEV_B"
}

# ---- devices --------------------------------------------------------------

# link_add NS DEVICE NETDEV: adds a device; loads the module if necessary.
link_add()
{
	in_ns "$1" rdma link add "$2" type "$XIW_LINK_TYPE" netdev "$3"
}

link_del()
{
	rdma link del "$1"
}

dev_exists()
{
	[[ -e /sys/class/infiniband/$1 ]]
}

# driver_is_module: false if the driver is built into the kernel, and cannot be unloaded.
driver_is_module()
{
	[[ -e /sys/module/$XIW_LINK_TYPE/initstate ]]
}

dev_gone()
{
	! dev_exists "$1"
}

port_active()
{
	[[ $(<"/sys/class/infiniband/$1/ports/1/state") == *ACTIVE ]]
}

links_up()
{
	{
		link_add "$NS_A" "$DEV_A" "$VETH_A" &&
		link_add "$NS_B" "$DEV_B" "$VETH_B" &&
		wait_for 20 port_active "$DEV_A" &&
		wait_for 20 port_active "$DEV_B"
	} || bail "set-up: the $XIW_LINK_TYPE devices could not be added"
}

# tun_pair KIND A B [FILE]: makes a netdev A of xa and B of xb, joined by the process
# $tun_pid. For FILE see tun_pair.py.
tun_pair()
{
	modprobe tun
	# Remove the "ready" of an earlier pair.
	: >"$TMP/tun"
	"$SELFTESTS/tun_pair.py" "$@" >"$TMP/tun" &
	# shellcheck disable=SC2034  # used by tests
	tun_pid=$!
	{
		wait_for 20 grep -q ready "$TMP/tun" &&
		ip link set "$2" netns "$NS_A" && ip link set "$3" netns "$NS_B"
	} || bail "set-up: no pair of $1"
}

links_down()
{
	local dev

	for dev in "$DEV_A" "$DEV_B"; do
		! dev_exists "$dev" || link_del "$dev"
	done
}

# netns_mode shared|exclusive: sets the mode of RDMA namespaces. The kernel
# refuses while any other network namespace exists. A worker frees a deleted one
# when it has no sockets: TCP keeps a socket that was closed with data in flight for
# a minute (silence_timeout_ms) if its peer was removed first.
netns_mode()
{
	wait_for 90 rdma system set netns "$1"
}

# topo_up: makes namespaces, interfaces and devices, in the shared mode of RDMA
# namespaces, in which the address determines the device.
topo_up()
{
	modprobe "rdma-link-$XIW_LINK_TYPE" ||
		bail "set-up: no module for $XIW_LINK_TYPE"
	modprobe rdma_ucm
	netns_mode shared || bail "set-up: the shared mode of RDMA namespaces"
	net_up
	links_up
}

topo_down()
{
	local name

	for name in "${!server_pid[@]}"; do
		stop_server "$name"
	done
	boxes_down
	links_down
	net_down
	rdma system set netns shared 2>/dev/null
}

cleanup()
{
	local rc=$?

	topo_down >/dev/null 2>&1
	rm -rf "$TMP"
	exit "$rc"
}
trap cleanup EXIT

# netem NS NETDEV ARGS...: disturbs the packets that NETDEV sends; without ARGS ends
# that.
netem()
{
	local ns=$1 dev=$2

	shift 2
	tc -n "$ns" qdisc del dev "$dev" root 2>/dev/null
	(($# == 0)) || tc -n "$ns" qdisc add dev "$dev" root netem "$@"
}

# ---- tracing -------------------------------------------------------------

TRACE=/sys/kernel/tracing

# tracing: mounts tracefs if necessary; true if the driver has tracepoints.
tracing()
{
	[[ -d $TRACE/events ]] || mount -t tracefs tracefs "$TRACE"
	[[ -d $TRACE/events/xiw ]]
}

# record_events "EVENT ..." CMD...: records these events while CMD runs, in $TMP/trace.
# The events stay enabled, and recording stays off: each change of an event makes the
# kernel patch its code, and the emulator sometimes executes a breakpoint of the patching.
record_events()
{
	local event

	for event in $1; do
		event=$TRACE/events/xiw/$event/enable
		[[ $(cat "$event") == 1 ]] || echo 1 >"$event"
	done
	echo >"$TRACE/trace"
	echo 1 >"$TRACE/tracing_on"
	"${@:2}"
	echo 0 >"$TRACE/tracing_on"
	cat "$TRACE/trace" >"$TMP/trace"
}

# record CMD...: records all events while CMD runs, in $TMP/trace.
record()
{
	record_events . "$@"
}

# notified_on CPU N: true if completion queues of vector N were notified several times,
# each time on that CPU, which is in brackets in each line of the trace.
notified_on()
{
	sed -n "s/^[^[]*\[0*\([0-9]*\)\].*cq_notify: .*wanted_cpu=$2\$/\1/p" \
		"$TMP/trace" | sort | uniq -c >"$TMP/notified"
	cat "$TMP/notified"
	awk -v cpu="$1" '$1 < 10 || $2 + 0 != cpu { bad = 1 }
			 END { exit bad || NR != 1 }' "$TMP/notified"
}

# ---- servers and pairs --------------------------------------------------

# start_here NAME CMD...: runs CMD in the background, with its output in $TMP/NAME.log.
start_here()
{
	local name=$1

	shift
	# Else a caller might read the log of a former one.
	: >"$TMP/$name.log"
	"$@" >"$TMP/$name.log" 2>&1 </dev/null &
	server_pid[$name]=$!
}

# start_server NAME NS CMD...: the same in a namespace, for a limited time.
start_server()
{
	start_here "$1" netns-run "$2" $((XIW_TIMEOUT * SLOW)) "${@:3}"
}

# server_says PATTERN NAME: true if the output of such a program has that.
server_says()
{
	grep -q "$1" "$TMP/$2.log"
}

# Runs in a shell of its own in the namespace, so that waiting takes little CPU
# time: until some socket of TCP or SCTP listens on port $1; false if process $2 does
# not exist.
# shellcheck disable=SC2016  # expanded by the other shell
LISTENS='printf -v hex ":%04X" "$1"
while :; do
	for file in /proc/net/tcp /proc/net/tcp6; do
		while read -r _ address _ state _; do
			[[ $address != *"$hex" || $state != 0A ]] || exit 0
		done <$file
	done
	[[ ! -e /proc/net/sctp/eps ]] ||
		while read -r _ _ _ state _ port _; do
			[[ $state != 10 || $port != "$1" ]] || exit 0
		done </proc/net/sctp/eps
	kill -0 "$2" 2>/dev/null || exit 1
	sleep 0.02
done'

# listening NS PORT: true if some socket in the namespace listens on the port.
listening()
{
	in_ns "$1" bash -c "$LISTENS" - "$2" none
}

# wait_listen NAME NS PORT: waits until the server listens; false if it has ended.
# With a driver that does not use TCP, any listener on the port counts.
wait_listen()
{
	if [[ $XIW_LINK_TYPE != rxe ]]; then
		in_ns "$2" bash -c "$LISTENS" - "$3" "${server_pid[$1]}"
		return
	fi
	until { rdma resource show cm_id; in_ns "$2" ss -ltn; } |
		grep -q "LISTEN .*:$3 "; do
		kill -0 "${server_pid[$1]}" 2>/dev/null || return
		sleep 0.05
	done
}

# wait_server NAME: waits until the server exits, and returns its exit status.
wait_server()
{
	local pid=${server_pid[$1]} rc=0

	unset "server_pid[$1]"
	wait "$pid" || rc=$?
	return "$rc"
}

stop_server()
{
	kill "${server_pid[$1]}" 2>/dev/null
	wait_server "$1" 2>/dev/null
}

# free_port: prints a port that no test has used since this boot.
free_port()
{
	local file=/run/xiw/port last=20000

	[[ ! -e $file ]] || read -r last <$file
	echo $((last + 1)) | tee $file
}

# next_ports: prints the ports that free_port will print next, for mpa/sctp_ports.
next_ports()
{
	local port

	port=$(free_port)
	seq -s ' ' $((port + 1)) $((port + 16))
}

# run_pair SERVER_NS CLIENT_NS SERVER CLIENT: runs both commands, and sets src and crc
# to their exit statuses; crc is 125 if the server did not listen.
run_pair()
{
	local port server client argv

	port=$(free_port)
	server=${3//@PORT@/$port} client=${4//@PORT@/$port}
	src=0 crc=0
	: >"$TMP/client.log"
	eval "argv=($server)"	# quotes group words, as in a shell
	start_server server "$1" "${argv[@]}"
	eval "argv=($client)"
	if wait_listen server "$1" "$port"; then
		in_ns "$2" "${argv[@]}" >"$TMP/client.log" 2>&1 </dev/null ||
			crc=$?
	else
		crc=125
	fi
	# If the client has failed, do not let the server wait for its timeout.
	((crc == 0)) || kill "${server_pid[server]}" 2>/dev/null
	wait_server server || src=$?
}

# run_pair_patiently: as run_pair, but repeats for known failures of the
# programs themselves, on any device. perftest connects twice, and its server
# does not listen for a moment in between, so a client may be refused. On a busy
# machine it cannot measure its clock, and prints no result. rping may close a
# channel at its end that one of its threads still uses.
run_pair_patiently()
{
	local why="CM_EVENT_REJECTED; error: -111|Can't produce a report"
	local n

	why+="|rdma_get_cm_event: Bad file descriptor"
	for n in 1 2 3 4; do
		((n == 1)) || tap_note "once more: $4"
		run_pair "$@"
		((src || crc)) &&
			grep -qE "$why" "$TMP"/{client,server}.log || return 0
	done
}

# pair [-r | -l] DESC SERVER CLIENT: the claim is that both commands succeed,
# the server in xa and the client in xb (-r: the other way round; -l: both in
# xa). "@PORT@" in them is replaced by an unused port; the client starts when
# the server listens there. Their output is in $TMP/server.log and
# $TMP/client.log.
pair()
{
	local s=$NS_A c=$NS_B src crc

	case $1 in
	-r) s=$NS_B c=$NS_A; shift ;;
	-l) c=$NS_A; shift ;;
	esac
	run_pair_patiently "$s" "$c" "$2" "$3"
	((src == 0 && crc == 0))
	tap_result $? "$1"
	((src == 0 && crc == 0)) && return 0
	tap_note "server ($src): $2"
	tap_show "$TMP/server.log"
	tap_note "client ($crc): $3"
	tap_show "$TMP/client.log"
	return 1
}

# box_pair DESC CMD...: the claim is that rping, or a program with the same
# options, is a server in one rootless container and a client in the other.
box_pair()
{
	local desc=$1 port src=0 crc=0

	shift
	port=$(free_port)
	in_box $BOX_A "$@" -s -a "$A4" -p "$port" >"$TMP/server.log" 2>&1 &
	server_pid[box]=$!
	wait_listen box $BOX_A "$port" &&
		in_box $BOX_B "$@" -c -a "$A4" -p "$port" >"$TMP/client.log" 2>&1 ||
		crc=$?
	((crc == 0)) || kill "${server_pid[box]}" 2>/dev/null
	wait_server box || src=$?
	((src == 0 && crc == 0))
	tap_result $? "$desc"
	((src == 0 && crc == 0)) && return
	tap_show "$TMP/server.log"
	tap_show "$TMP/client.log"
	return 1
}

# ---- GIDs ----------------------------------------------------------------

# gid4 ADDRESS: prints the GID of an IPv4 address as sysfs does.
gid4()
{
	local IFS=.

	# shellcheck disable=SC2086  # four words
	printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' $1
}

# gid_index DEVICE GID: prints the index of a GID, given as in sysfs, in the GID table.
gid_index()
{
	local file

	for file in "/sys/class/infiniband/$1/ports/1/gids/"*; do
		[[ $(<"$file") != "$2" ]] || { basename "$file"; return; }
	done
	return 1
}

# ---- observation --------------------------------------------------------

# counter DEVICE NAME: prints a hardware counter of port 1.
counter()
{
	rdma -p statistic show link "$1/1" |
		awk -v n="$2" '{ for (i = 1; i < NF; i++)
				 if ($i == n) { print $(i + 1); exit } }'
}

# log_mark: begins the part of the kernel log that belongs to this test.
log_mark()
{
	log_from=$(dmesg | wc -l)
}

# log_since: prints the kernel log since the mark.
log_since()
{
	dmesg | tail -n "+$((${log_from:-0} + 1))"
}

# log_says TEXT: true if the kernel log has that text since the mark.
log_says()
{
	dmesg | grep -qF "$1"
}

# log_clean DESC: the claim is that the kernel reported no fault since the mark.
# The runner makes this claim after each test as well.
log_clean()
{
	log_since | grep -E -f "$LOG_PATTERNS" >"$TMP/log.hits"
	[[ ! -s $TMP/log.hits ]]
	tap_result $? "$1"
	tap_show "$TMP/log.hits"
}
