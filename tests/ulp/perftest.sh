#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: perftest
# xiw-timeout: 2400
#
# Each option of each perftest program, as listed by --help, works or is refused with a
# message. The array "with" has the arguments of options, "refused" the options that
# must fail, and "left_out" those that do not test the device.

. "$(dirname "$0")/lib.sh"

# Emulation beside other work takes a minute for --all, up to 8 MiB.
XIW_TIMEOUT=180

# Options that are not tested: every run uses or shows them, or they only print text.
left_out=(help version ib-dev port rdma_cm iters ib-port CPU-freq
	  # does not work with rdma_cm; tested without it below
	  com_rdma_cm
	  # its client takes credits from RDMA Writes, and may wait for a
	  # completion that never comes: see selftests/perftest.sh
	  ib_send_bw:events ib_send_bw:vector
	  # the program would never end
	  run_infinitely
	  # special to one kind of adapter: transports, encryption
	  mcg MGID log_dci_streams log_active_dci_streams aes_xts encrypt_on_tx
	  sig_before aes_block_size data_enc_keys_number kek_path
	  credentials_path data_enc_key_app_path)

# Options with their values, in the order of --help; others take no value.
declare -A with=(
	[all]="--all -n 5" [report-histogram]="-H" [report-unsorted]="-U"
	[connection]="--connection=RC" [duration]="--duration=2"
	[vector]="--vector=0 -e" [margin]="--margin=1 --duration=3"
	[inline_size]="--inline_size=64 -s 64" [post_list]="--post_list=4"
	[recv_post_list]="--recv_post_list=4" [hop_limit]="--hop_limit=3"
	[mtu]="--mtu=1024" [qp]="--qp=4" [cq-mod]="--cq-mod=4"
	[rx-depth]="--rx-depth=64" [size]="--size=100" [sl]="--sl=0"
	[tx-depth]="--tx-depth=16" [tos]="--tos=32" [qp-timeout]="--qp-timeout=14"
	[limit_bw]="--limit_bw=0" [limit_msgrate]="--limit_msgrate=0"
	[report-counters]="--report-counters=counters/port_xmit_data,hw_counters/rx_bytes"
	[gid-index]="--gid-index=0" [outs]="--outs=4"
	[atomic_type]="--atomic_type=CMP_AND_SWAP"
	[out_json_file]="--out_json --out_json_file=$TMP/@SIDE@.json"
	[out_json]="--out_json --out_json_file=$TMP/@SIDE@.json"
	[cpu_util]="--cpu_util --duration=2" [dlid]="--dlid=1"
	[force-link]="--force-link=Ethernet" [inline_recv]="--inline_recv=64"
	[ipv]="--ipv6" [source_ip]="--source_ip=@SELF@"
	[mmap]="--mmap=$TMP/@SIDE@.map --mmap-offset=4096"
	[mmap-offset]="--mmap=$TMP/@SIDE@.map --mmap-offset=8192"
	[output]="--output=@OUTPUT@" [pkey_index]="--pkey_index=0"
	[report-both]="--report-both -b" [retry_count]="--retry_count=3"
	[report-per-port]="--report-per-port --dualport --duration=2"
	[tclass]="--tclass=8" [wait_destroy]="--wait_destroy=1"
	[burst_size]="--burst_size=8 --rate_limit=1 --rate_limit_type=SW"
	[rate_limit]="--rate_limit=1 --rate_limit_type=SW"
	[rate_limit_type]="--rate_limit_type=HW --rate_limit=1"
	[rate_units]="--rate_units=M --rate_limit=100 --rate_limit_type=SW"
	[typical_pkt_size]="--typical_pkt_size=64 --rate_limit=1 --rate_limit_type=PP"
	[latency_gap]="--latency_gap=10"
	# The warm-up waits for a completion of each request.
	[perform_warm_up]="--perform_warm_up --cq-mod=1"
)

# Options that perftest itself refuses with rdma_cm, or for this device, and a pattern of
# its message.
declare -A refused=(
	[ib_atomic_bw:odp]="not support ATOMICS"
	[ib_atomic_lat:odp]="not support ATOMICS"
	[ib_atomic_bw:rate_limit]="." [ib_atomic_bw:rate_units]="."
	[ib_atomic_bw:burst_size]="."
	[hop_limit]="only valid for RawEth" [dualport]="."
	[report-per-port]="." [dont_xchg_versions]="not compatible"
	[typical_pkt_size]="only supported for Raw Ethernet"
	[rate_limit_type]="."
	[reversed]="Unable to perform rdma_client"
)

# Arguments to test without rdma_cm; @GID@ stands for the index of the IPv4 GID.
by_number=("-z" "--gid-index=@GID@ --mtu=4096")
by_number_bw=("--gid-index=@GID@ --reversed" "--gid-index=@GID@ -b -q 4")

# Further arguments: types of queue pairs that iWARP does not have, which must be
# refused, and combinations of options that affect the same code of the driver.
never=("--connection=UC" "--connection=UD" "--connection=XRC")
together=("-q 4 -b" "--post_list=5 -q 4" "--cq-mod=1 -b -q 2" "--use_old_post_send -q 2 -s 8")

# options PROGRAM: prints the long names of the options in its --help.
options()
{
	"$1" --help 2>&1 |
		grep -oE '^[[:space:]]+(-[A-Za-z], ?)?--[a-zA-Z_-]+' |
		grep -oE -- '--.*' | cut -c3-
}

# fill SIDE DEVICE ADDRESS ARGS: prints ARGS with the placeholders, such as @GID@,
# replaced for that side and program.
fill()
{
	local args=$4 output=bandwidth

	[[ $prog == *_bw ]] || output=latency
	args=${args//@SIDE@/$1}
	args=${args//@SELF@/$3}
	args=${args//@GID@/$(gid_index "$2" "$(gid4 "$3")")}
	printf '%s\n' "${args//@OUTPUT@/$output}"
}

# try ARGS: runs both sides, and sets src and crc to their exit statuses.
try()
{
	local base="$prog -p @PORT@ -F"

	run_pair_patiently "$NS_A" "$NS_B" \
		"$base -d $DEV_A $(fill a "$DEV_A" "$A4" "$1")" \
		"$base -d $DEV_B $(fill b "$DEV_B" "$B4" "$1") $A4"
}

# verdict STATUS CLAIM: makes the claim; if it fails, prints the output of both sides.
verdict()
{
	tap_result "$1" "$2"
	(($1)) || return
	tap_note "server ($src), client ($crc)"
	tap_show "$TMP/server.log"
	tap_show "$TMP/client.log"
}

# works ARGS: the claim is that the program succeeds with ARGS.
works()
{
	local src crc

	try "-n 20 $1"
	((src == 0 && crc == 0))
	verdict $? "$prog $1"
}

# is_refused ARGS PATTERN: the claim is that the program fails with ARGS, and prints a
# message that matches PATTERN.
is_refused()
{
	local src crc

	try "-n 20 $1"
	((src && crc && src != 124 && crc != 124)) &&
		cat "$TMP"/{server,client}.log | grep -q "$2"
	verdict $? "$prog $1 is refused in words"
}

# by_number ARGS: as works, without rdma_cm. Then ib_send_bw does not deregister its
# region for credits, so it fails at its end, when it frees its PD.
by_number()
{
	if [[ $prog == ib_send_bw ]]; then
		is_refused "$1" "Couldn't destroy all SEND resources"
	else
		works "$1"
	fi
}

# listed WORD LIST...: true if WORD is in LIST.
listed()
{
	local word=$1

	shift
	[[ " $* " == *" $word "* ]]
}

topo_up
truncate -s 64M "$TMP/a.map" "$TMP/b.map"
sysctl -qw vm.nr_hugepages=64
for prog in ib_{send,write,read,atomic}_{bw,lat}; do
	for option in $(options "$prog"); do
		args="-R ${with[$option]:---$option}"
		if listed "$option" "${left_out[@]}" ||
		   listed "$prog:$option" "${left_out[@]}"; then
			continue
		fi
		why=${refused[$prog:$option]:-${refused[$option]:-}}
		if [[ $why ]]; then
			is_refused "$args" "$why"
		else
			works "$args"
		fi
	done
	for args in "${never[@]}"; do
		is_refused "$args" .
	done
	for args in "${by_number[@]}"; do
		by_number "$args"
	done
	[[ $prog == *_bw ]] || continue
	for args in "${by_number_bw[@]}"; do
		by_number "$args"
	done
	for args in "${together[@]}"; do
		works "-R $args"
	done
done
tap_done
