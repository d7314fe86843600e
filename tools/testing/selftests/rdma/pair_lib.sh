# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Two network namespaces that a veth pair joins, with a device of a software
# driver on each end, for the tests that source this file. Each test runs for
# every driver of $DRIVERS that the kernel has:
#
#	run()
#	{
#		pair send		# a case of pair.c
#	}
#	for_each_driver run 1		# claims of one call of run

# shellcheck disable=SC1091  # a file of the kernel's tree
source "$(dirname "$0")/../kselftest/ktap_helpers.sh"

DRIVERS=${DRIVERS:-siw rxe xiw}
DIR=$(dirname "$(realpath "$0")")
NS_A=rdma-a-$$
NS_B=rdma-b-$$
ADDR_A=192.0.2.1
ADDR_B=192.0.2.2
ADDR6_A=2001:db8::1
ADDR6_B=2001:db8::2
# Of one case, in seconds.
PATIENCE=${PATIENCE:-30}
PORT=7470
TMP=$(mktemp -d)

skip_all()
{
	ktap_print_header
	ktap_skip_all "$*"
	exit "$KSFT_SKIP"
}

in_a()
{
	ip netns exec "$NS_A" "$@"
}

in_b()
{
	ip netns exec "$NS_B" "$@"
}

# has_driver TYPE: as a module or built in.
has_driver()
{
	modprobe -q "rdma-link-$1"
	rdma link add "probe$$" type "$1" netdev lo 2>"$TMP/probe" &&
		rdma link delete "probe$$"
	! grep -q 'Unknown device type\|Invalid argument' "$TMP/probe"
}

port_active()
{
	rdma link show "$1/1" 2>/dev/null | grep -q 'state ACTIVE'
}

# wait_for SECONDS CMD...
wait_for()
{
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

# The devices are named after the driver, so that none of rdma-core's default
# names is in the way.
add_devices()
{
	in_a rdma link add "$1_a" type "$1" netdev veth_a &&
		in_b rdma link add "$1_b" type "$1" netdev veth_b &&
		wait_for 10 port_active "$1_a" && wait_for 10 port_active "$1_b"
}

delete_devices()
{
	rdma link delete "$1_a" 2>/dev/null
	rdma link delete "$1_b" 2>/dev/null
}

add_namespaces()
{
	ip netns add "$NS_A" && ip netns add "$NS_B" &&
		ip link add veth_a netns "$NS_A" type veth \
			peer name veth_b netns "$NS_B" &&
		ip -n "$NS_A" addr add "$ADDR_A/24" dev veth_a &&
		ip -n "$NS_A" addr add "$ADDR6_A/64" dev veth_a nodad &&
		ip -n "$NS_B" addr add "$ADDR_B/24" dev veth_b &&
		ip -n "$NS_B" addr add "$ADDR6_B/64" dev veth_b nodad &&
		ip -n "$NS_A" link set lo up && ip -n "$NS_B" link set lo up &&
		ip -n "$NS_A" link set veth_a up &&
		ip -n "$NS_B" link set veth_b up
}

cleanup()
{
	local driver

	for driver in $DRIVERS; do
		delete_devices "$driver"
	done
	ip netns del "$NS_A" 2>/dev/null
	ip netns del "$NS_B" 2>/dev/null
	rm -rf "$TMP"
}

# listening FILE: the server has said that it is ready, or has ended.
listening()
{
	grep -q ready "$1" || ! kill -0 "$server" 2>/dev/null
}

# ends CASE [ADDRESS]: runs both ends of a case of pair.c, the server in the
# first namespace. The result is the worse of both.
ends()
{
	local address=${2:-$ADDR_A} status result=0 server

	PORT=$((PORT + 1))
	: >"$TMP/server"
	one_end "$TMP/server" in_a timeout -k 5 "$PATIENCE" \
		"$DIR/pair" -s "$1" "$address" "$PORT" &
	server=$!
	wait_for "$PATIENCE" listening "$TMP/server"
	one_end "$TMP/client" in_b timeout -k 5 "$PATIENCE" \
		"$DIR/pair" -c "$1" "$address" "$PORT" || result=$?
	wait "$server"
	status=$?
	if ((status && result != KSFT_SKIP)); then
		result=$status
	fi
	return "$result"
}

# Known bugs of drivers: DRIVER:CASE, and the message by which it fails, or "unsafe"
# if the kernel may not survive it; then the case is not run.
declare -A KNOWN=()

# is_known CASE: it has failed because of a known bug.
is_known()
{
	local message=${KNOWN[$driver:$1]-}

	[[ $message ]] && grep -qh "^pair: .*$message" "$TMP/client" "$TMP/server"
}

# one_end FILE CMD...: output and the end of its time go to the file.
one_end()
{
	local file=$1 status=0

	shift
	"$@" >"$file" 2>&1 || status=$?
	((status != 124)) || echo "pair: out of time" >>"$file"
	return "$status"
}

# pair CASE [ADDRESS [DESCRIPTION]]: that case is a claim.
pair()
{
	local desc="$driver: ${3:-$1}" result=0

	if [[ ${KNOWN[$driver:$1]-} == unsafe ]]; then
		ktap_test_xfail "$desc"
		return
	fi
	ends "$@" || result=$?
	case $result in
	0)
		ktap_test_pass "$desc" ;;
	"$KSFT_SKIP")
		ktap_print_msg "$(cat "$TMP/client" "$TMP/server")"
		ktap_test_skip "$desc" ;;
	*)
		if is_known "$1"; then
			ktap_test_xfail "$desc"
		else
			ktap_test_fail "$desc"
		fi
		sed 's/^/# server: /' "$TMP/server"
		sed 's/^/# client: /' "$TMP/client" ;;
	esac
}

# for_each_driver CMD CLAIMS
for_each_driver()
{
	local types=() driver

	(($(id -u) == 0)) || skip_all "must be run as root"
	for driver in ip rdma modprobe timeout; do
		command -v "$driver" >/dev/null ||
			skip_all "there is no program '$driver'"
	done
	[[ -x $DIR/pair ]] ||
		skip_all "pair was not built: librdmacm has no headers here"
	trap cleanup EXIT
	for driver in $DRIVERS; do
		! has_driver "$driver" || types+=("$driver")
	done
	((${#types[@]})) || skip_all "there is none of the drivers $DRIVERS"
	add_namespaces || skip_all "there are no network namespaces"
	ktap_print_header
	ktap_set_plan $((${#types[@]} * $2))
	for driver in "${types[@]}"; do
		add_devices "$driver" ||
			ktap_exit_fail_msg "no devices of $driver"
		"$1"
		delete_devices "$driver"
	done
	ktap_finished
}
