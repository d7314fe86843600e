#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# In the guest: two machines on one cable, played by two network namespaces
# and a veth pair, with an RDMA device each.  Shows the standard tools running
# between them and ends with 0 if all of them succeeded.

. "$(dirname "$0")/../selftests/lib.sh"

head_line()
{
	printf '\n== %s\n' "$*"
}

# perf_line FILE: the measured columns of a perftest program's last data row.
perf_line()
{
	awk '/^ *#bytes/ { bw = /BW/ } /^ *[0-9]+ +[0-9]+/ { row = $0; b = bw }
	     END { n = split(row, f)
		   if (!n) exit 1
		   if (b) printf "%9.1f MB/s average\n", f[4]
		   else printf "%9.2f us typical, %.2f us average\n", f[5], f[6]
	     }' "$1"
}

# perf FAMILY PROGRAM ARGS...: run it between the namespaces, print a line.
perf()
{
	local family=$1 prog=$2 address=$A4 args

	shift 2
	args="-R -F -p @PORT@ $*"
	if [[ $family == IPv6 ]]; then
		address=$A6
		args="--ipv6-addr $args"
	fi
	pair "$prog $family" "$prog $args" "$prog $args $address" \
		>"$TMP/claim" || { cat "$TMP/claim"; return; }
	printf '%-14s %s  %s\n' "$prog" "$family" "$(perf_line "$TMP/client.log")"
}

# stream FAMILY ADDRESS FORMAT: the same with sockets over RDMA (rstream).
stream()
{
	local args="-f $3 -p @PORT@ -S 65536 -C 500 -I 1"

	pair "rstream $1" "rstream -b $2 $args" "rstream -s $2 $args" \
		>"$TMP/claim" || { cat "$TMP/claim"; return; }
	printf '%-14s %s  %9.1f MB/s average\n' rstream "$1" \
		"$(awk 'END { print $(NF - 1) * 1000 / 8 }' "$TMP/client.log")"
}

# show DESC SERVER CLIENT: as pair, and what the client printed.
show()
{
	local desc=$1

	pair "$@" >"$TMP/claim" || { cat "$TMP/claim"; return; }
	printf '%s: done\n' "$desc"
	head -n 3 "$TMP/client.log" | cut -c1-72 | sed 's/^/    /'
}

printf 'xiw demonstration on Linux %s, emulated\n' "$(uname -r)"
topo_up

head_line "Two devices (rdma link show)"
rdma link show
in_a ibv_devinfo -d "$DEV_A" >"$TMP/devinfo"
tap_result $? "ibv_devinfo" >"$TMP/claim"
sed -n '/hca_id/p; /transport/p; /state/p; /max_mtu/p; /link_layer/p' \
	"$TMP/devinfo"

head_line "Data, verified by the receiver"
show "rping over IPv4" "rping -s -v -a $A4 -p @PORT@ -C 100 -S 8000" \
	"rping -c -v -a $A4 -p @PORT@ -C 100 -S 8000"
show "rping over IPv6" "rping -s -v -a $A6 -p @PORT@ -C 100 -S 8000" \
	"rping -c -v -a $A6 -p @PORT@ -C 100 -S 8000"
show "ucmatose over IPv4, 10 connections" \
	"ucmatose -b $A4 -p @PORT@ -c 10 -C 20 -S 4000" \
	"ucmatose -s $A4 -p @PORT@ -c 10 -C 20 -S 4000"
show "ucmatose over IPv6, 10 connections" \
	"ucmatose -b $A6 -f ip6 -p @PORT@ -c 10 -C 20 -S 4000" \
	"ucmatose -s $A6 -f ip6 -p @PORT@ -c 10 -C 20 -S 4000"

head_line "Bandwidth of 64 KiB messages, latency of 64 bytes"
families=(IPv4)
if ib_send_bw --help 2>&1 | grep -q -- --ipv6-addr; then
	families+=(IPv6)
fi
for family in "${families[@]}"; do
	for verb in send write read; do
		perf "$family" "ib_${verb}_bw" -s 65536 -n 500
	done
	for verb in send write read; do
		perf "$family" "ib_${verb}_lat" -s 64 -n 500
	done
done
stream IPv4 "$A4" ip
stream IPv6 "$A6" ip6
((${#families[@]} == 2)) ||
	echo "(perftest of this release knows IPv4 only together with rdma_cm)"
printf 'Figures of an emulated machine: only their ratios mean something.\n'

head_line "$((tap_count - tap_failed)) of $tap_count steps succeeded"
((tap_failed == 0))
