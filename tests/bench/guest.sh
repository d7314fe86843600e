#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# guest.sh FORM: measures xiw, siw and plain TCP side by side in one guest and
# writes a line for each result, "ROUND PATH WHO TEST SIZE VALUE UNIT", to
# $XIW_OUT/raw.  Rounds are interleaved: what disturbs the machine for a while
# disturbs all alike.
#
# FORM: short (some sizes, 3 rounds), full (5 rounds), number (what connects by
# number, 5 rounds), many (from 1 to 256 queue pairs, 3 rounds), idle (up to 10000
# connections at once), delay (bulk over paths with delay and loss, 3 rounds), sctp
# (connections over SCTP, 3 rounds), or icount: few messages in one round, for a guest
# with a clock that counts instructions.
#
# PATH: the veth pair at MTU 1500 and 9000, or the loopback device (lo); "1500,5ms"
# and "1500,5ms,0.1%" delay each direction and lose packets in both.
# WHO: xiw (CRC off, as siw), xiw-crc (as it is by default), xiw-one (CRC off, and
# FPDUs of one TCP segment, as a peer gets that is not xiw), xiw-sctp (over SCTP, which
# has a CRC of its own), siw, rxe, tcp and tcp-zc, which are iperf3 that copies and
# iperf3 that sends pages of a file, limit, which is TCP with nothing to do for it at
# either end (xt_pump), and sctp, which is qperf over SCTP. rxe, RoCE in software, is
# measured where it knows network namespaces, with what connects by number (nr-).
# XIW_PATHS and XIW_WHO limit them, XIW_ROUNDS sets the number of rounds.

# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/../selftests/lib.sh"

FORM=$1
# Factor of the number of messages for a guest that is faster than emulation;
# the short form has fewer.
SCALE=1
[[ $XIW_KERNEL != uml ]] || SCALE=16
[[ $XIW_KERNEL != uml || $FORM != short ]] || SCALE=3
# Makes net_up give both interfaces different indices: siw cannot listen otherwise.
XIW_LINK_TYPE=siw
ROUNDS=3
PATHS=(1500 lo)
WHO=(xiw xiw-crc xiw-one siw)
# Sizes for every path, and for the first path only.
BULK=(65536)
SMALL=(64)
LATENCY=(8)
DEPTHS=()
QPS=()
case $FORM in
short)
	[[ $XIW_KERNEL != uml ]] || PATHS=(1500)
	QPS=(16) ;;
number)
	ROUNDS=5
	PATHS=(1500)
	WHO=(xiw xiw-crc rxe) ;;
many)
	PATHS=(1500)
	WHO=(xiw siw)
	QPS=(1 2 4 16 64 256) ;;
idle)
	ROUNDS=1
	PATHS=(1500)
	WHO=(xiw siw) ;;
delay)
	PATHS=(1500 "1500,0.5ms" "1500,5ms" "1500,0ms,0.1%" "1500,5ms,0.1%")
	BULK=(65536 1048576) ;;
sctp)
	PATHS=(1500 lo)
	WHO=(xiw-sctp xiw-one) ;;
full)
	ROUNDS=5
	PATHS=(1500 9000 lo)
	BULK=(65536 1048576 8388608)
	SMALL=(64 1024 8192)
	LATENCY=(8 1024 8192 65536)
	DEPTHS=(1 8 64)
	QPS=(1 16 256) ;;
icount)
	ROUNDS=1
	PATHS=(1500) ;;
*)
	bail "no form '$FORM'" ;;
esac
ROUNDS=${XIW_ROUNDS:-$ROUNDS}
[[ -z ${XIW_PATHS:-} ]] || read -ra PATHS <<<"$XIW_PATHS"
[[ -z ${XIW_WHO:-} ]] || read -ra WHO <<<"$XIW_WHO"

# ---- one path, one provider ---------------------------------------------

# enter_path PATH: sets CLIENT_NS; the server is always in xa.  What a machine
# sends to an address of its own goes through lo, whatever device has it.
enter_path()
{
	path=$1
	if [[ $path == lo ]]; then
		CLIENT_NS=$NS_A
		return
	fi
	CLIENT_NS=$NS_B
	ip -n "$NS_A" link set "$VETH_A" mtu "${path%%,*}"
	ip -n "$NS_B" link set "$VETH_B" mtu "${path%%,*}"
	impair "$NS_A" "$VETH_A"
	impair "$NS_B" "$VETH_B"
}

# impair NS DEVICE: sets delay and loss of the path, in one direction.
impair()
{
	local _ delay loss args=()

	IFS=, read -r _ delay loss <<<"$path"
	[[ -z $delay ]] || args=(delay "$delay" limit 100000)
	[[ -z $loss ]] || args+=(loss random "$loss")
	netem "$1" "$2" "${args[@]}"
}

# rdma_up WHO: makes the devices of the server and of the client, DEV_S and DEV_C.
rdma_up()
{
	local type=${1%-*} crc=0 segments=0 dev

	case $1 in
	xiw-crc) crc=1 ;;
	xiw-one) segments=1 ;;
	esac
	if [[ $path == lo ]]; then
		in_a rdma link add "${type}L" type "$type" netdev "$VETH_A" ||
			return
		DEV_S=${type}L DEV_C=${type}L
	else
		in_a rdma link add "${type}S" type "$type" netdev "$VETH_A" &&
		in_b rdma link add "${type}C" type "$type" netdev "$VETH_B" ||
			return
		DEV_S="${type}S" DEV_C="${type}C"
	fi
	[[ $type == xiw ]] && for dev in "$DEV_S" "$DEV_C"; do
		echo $crc >"/sys/class/infiniband/$dev/mpa/crc"
		echo $segments >"/sys/class/infiniband/$dev/mpa/fpdu_segments"
	done
	wait_for 20 port_active "$DEV_S" && wait_for 20 port_active "$DEV_C"
}

rdma_down()
{
	link_del "$DEV_S"
	[[ $DEV_S == "$DEV_C" ]] || link_del "$DEV_C"
}

record()
{
	echo "$round $path $who $*" >>"$XIW_OUT/raw"
}

# run SERVER CLIENT: the output of the client is in $TMP/client.log.
run()
{
	local src crc

	run_pair_patiently "$NS_A" "$CLIENT_NS" "$@"
	((crc)) || return 0
	echo "# $path $who: status $crc from $2"
	tail -qn 5 "$TMP/client.log" "$TMP/server.log" | sed 's/^/#   /'
	return "$crc"
}

# ---- the measurements ---------------------------------------------------

# How perftest connects, and what its server is started by.
HOW_S=-R HOW_C=-R WRAP_S=

# perf TEST PROGRAM SIZE COLUMN UNIT ARGS...: records COLUMN of perftest's result. It is
# 0.00 if perftest could not measure the frequency of its clock ("Correlation
# coefficient"), because the processor was busy: then the run is repeated.
perf()
{
	local test=$1 prog=$2 size=$3 column=$4 unit=$5 value=''

	shift 5
	for _ in 1 2 3 4; do
		[[ $who != xiw-sctp ]] || next_ports |
			tee /sys/class/infiniband/xiw*/mpa/sctp_ports >/dev/null
		run "$WRAP_S $prog $HOW_S -F -d $DEV_S -p @PORT@ -s $size $*" \
			"$prog $HOW_C -F -d $DEV_C -p @PORT@ -s $size $* $A4" ||
			return
		# Ignore a result of 0, and a line into which a warning was printed.
		value=$(awk -v s="$size" -v c="$column" \
			'$1 == s && NF >= 5 && $c + 0 { print $c + 0 }' \
			"$TMP/client.log")
		[[ -z $value ]] || break
	done
	[[ -n $value ]] && record "$test" "$size" "$value" "$unit"
}

# bulk_count SIZE: prints a number of messages with which a run takes most of a second,
# whatever the driver and the path.
bulk_count()
{
	local bytes=$((96 << 20))

	[[ $who != siw && $who != rxe ]] || bytes=$((24 << 20))
	[[ $path != lo ]] || bytes=$((192 << 20))
	# A path with a delay: with 1 MiB in flight this takes less than a second.
	[[ $path != *,* ]] || bytes=$((48 << 20))
	[[ $FORM != icount ]] || bytes=$((32 << 20))
	[[ $path == *,* ]] || bytes=$((bytes * SCALE))
	echo $((bytes / $1 > 10 ? bytes / $1 : 10))
}

small_count()
{
	local n=100000

	[[ $who != siw && $who != rxe ]] || n=15000
	[[ $FORM != icount ]] || n=4000
	echo $((n * SCALE * 1024 / ($1 + 1024)))
}

measure_bulk()
{
	local size op

	for size in "${BULK[@]}"; do
		for op in write send read; do
			perf $op ib_${op}_bw "$size" 4 MiB/s \
				-n "$(bulk_count "$size")" -N
		done
	done
}

# measure_delay: bulk, and Reads with more of them outstanding than perftest's default.
measure_delay()
{
	measure_bulk
	perf read,ord=128 ib_read_bw 65536 4 MiB/s \
		-n "$(bulk_count 65536)" -N -o 128
}

measure_small()
{
	local size op

	for size in "${SMALL[@]}"; do
		# Measure all small sizes on the first path, on others the smallest only.
		[[ $path == "${PATHS[0]}" || $size == "${SMALL[0]}" ]] ||
			continue
		for op in write send read; do
			perf $op ib_${op}_bw "$size" 4 MiB/s \
				-n "$(small_count "$size")" -N -t 64
		done
	done
}

# measure_rate: messages of 64 bytes, for several numbers of outstanding requests and of
# queue pairs. With several queue pairs perftest hangs unless each sends a multiple of 64.
measure_rate()
{
	local depth q

	for depth in "${DEPTHS[@]}"; do
		perf "send,depth=$depth" ib_send_bw 64 5 Mmsg/s \
			-n "$(small_count 64)" -N -t "$depth" -r 512
	done
	for q in "${QPS[@]}"; do
		perf "send,qps=$q" ib_send_bw 64 5 Mmsg/s -q "$q" \
			-n $((($(small_count 64) / q / 64 + 1) * 64)) \
			-N -t 64 -r 64
	done
	[[ $who == siw ]] ||
		perf atomic ib_atomic_bw 8 5 Mmsg/s -n 10000 -N
}

measure_latency()
{
	local size op

	for size in "${LATENCY[@]}"; do
		for op in write send read; do
			perf "$op-lat" ib_${op}_lat "$size" 5 us -n 1000
		done
	done
	[[ $who == siw ]] ||
		perf atomic-lat ib_atomic_lat 8 5 us -n 1000
}

# first_gid DEVICE: the index of its first GID that is an IPv4 address.
first_gid()
{
	local file

	for file in "/sys/class/infiniband/$1/ports/1/gids/"*; do
		[[ $(<"$file") != 0000:0000:0000:0000:0000:ffff:* ]] ||
			basename "$file"
	done | sort -n | head -n 1
}

# measure_number: bandwidth and latency of queue pairs that are connected by number.
measure_number()
{
	local HOW_S HOW_C send=$SELFTESTS/send_bw

	HOW_S="-x $(first_gid "$DEV_S")"
	HOW_C="-x $(first_gid "$DEV_C")"
	perf nr-write ib_write_bw 65536 4 MiB/s -n "$(bulk_count 65536)" -N
	perf nr-send "$send" 65536 4 MiB/s -n "$(bulk_count 65536)" -N
	perf nr-write ib_write_bw 64 5 Mmsg/s -n "$(small_count 64)" -N -t 64
	perf nr-send "$send" 64 5 Mmsg/s -n "$(small_count 64)" -N -t 64 -r 512
	perf nr-write-lat ib_write_lat 8 5 us -n 1000
	perf nr-send-lat ib_send_lat 8 5 us -n 1000
	[[ $who != xiw ]] || measure_setup
}

# measure_setup: time until many queue pairs, created at once, have exchanged messages,
# connected by number and by rdma_cm.
measure_setup()
{
	local n=256 how line

	for how in number cm; do
		line=$(in_a xt_many "$how" "$n" 1 "$NS_A/$A4" "$NS_B/$B4" |
			awk '{ print $1 + $2 + $3 }')
		[[ -z $line ]] || record "setup-$how" "$n" "$line" ms
	done
}

measure_connects()
{
	# With more than 64, siw fails to create queue pairs, and its time would be too short.
	local n=64 ms port why='' rc=0 XIW_TIMEOUT=30

	# The server of cmtime never ends, nor does its client with some providers.
	port=$(free_port)
	start_server cmtime "$NS_A" cmtime -b "$A4" -p "$port" -c $n
	wait_listen cmtime "$NS_A" "$port" &&
		in_ns "$CLIENT_NS" cmtime -s "$A4" -p "$port" -c $n \
			>"$TMP/client.log" 2>&1 || rc=$?
	stop_server cmtime
	# cmtime continues after a failure, and may report success.
	if ((rc)) || why=$(grep -i -m 1 -e fail -e error "$TMP/client.log"); then
		echo "# $path $who: cmtime failed. $why"
		return
	fi
	ms=$(awk '$1 == "connect" { print $3 }' "$TMP/client.log")
	[[ -z $ms ]] || record connects "$n" \
		"$(awk -v n=$n -v ms="$ms" 'BEGIN { print n * 1000 / ms }')" 1/s
}

# kernel_kib: prints the memory used by the kernel itself, in KiB.
kernel_kib()
{
	echo 3 >/proc/sys/vm/drop_caches
	awk '$1 == "MemTotal:" { sum += $2 }
	     $1 ~ /^(MemFree|Buffers|Cached|AnonPages):$/ { sum -= $2 }
	     END { print sum }' /proc/meminfo
}

# idle_connections TEST COUNT OPTION...: measures the kernel memory of an established
# connection at one end: a queue pair of 64 Sends and 64 receives, and its two
# completion queues of 256 entries. With -s the queue pair has 4 and 4, the completion
# queues have 8. Sets made and unmade: the time in us to set up a connection, and to
# remove it when the process ends.
idle_connections()
{
	local test=$1 n=$2 before after line sides pid to start

	shift 2
	[[ $path != lo ]] || return 0
	sides=(-a "$NS_A/$A4" -b "$NS_B/$B4")
	before=$(kernel_kib)
	start=${EPOCHREALTIME/./}
	coproc IDLE { exec xt_idle -n "$n" "$@" "${sides[@]}" 2>"$TMP/client.log"; }
	pid=$IDLE_PID to=${IDLE[1]}
	if read -r -t $((60 + n / 10)) line <&"${IDLE[0]}" &&
	   [[ $line == ready ]]; then
		made=$(((${EPOCHREALTIME/./} - start) / n))
		after=$(kernel_kib)
		record "$test" "$n" $(((after - before) / (2 * n))) KiB
	else
		echo "# $path $who: no idle connections"
		tail -n 5 "$TMP/client.log" | sed 's/^/#   /'
		made=''
	fi
	start=${EPOCHREALTIME/./}
	exec {to}>&-
	wait "$pid"
	unmade=$(((${EPOCHREALTIME/./} - start) / n))
}

# measure_idle: memory and time of a connection, for growing numbers of connections.
measure_idle()
{
	local n made unmade

	ulimit -n 1048576
	sysctl -qw vm.max_map_count=1000000
	for n in 300 1000 3000 10000; do
		idle_connections memory,small "$n" -s
		[[ -n $made ]] || break
		record made "$n" "$made" us
		record unmade "$n" "$unmade" us
	done
}

# measure_many: rates for growing numbers of queue pairs; each sends a multiple of 64
# messages.
measure_many()
{
	local q op bulk small

	for q in "${QPS[@]}"; do
		bulk=$((($(bulk_count 65536) / q / 64 + 1) * 64))
		small=$((($(small_count 64) / q / 64 + 1) * 64))
		for op in write send read; do
			perf "$op,qps=$q" "ib_${op}_bw" 65536 4 MiB/s \
				-q "$q" -n "$bulk" -N -t 16
		done
		for op in write send; do
			perf "$op,qps=$q" "ib_${op}_bw" 64 5 Mmsg/s \
				-q "$q" -n "$small" -N -t 64
		done
	done
}

# measure_icount: on a clock that counts instructions, for both ends together. Programs
# must wait for events, as polling would count, too. Each process keeps the only CPU
# until the next tick of the scheduler, 4 million instructions, so a run that measures a
# rate must last many ticks. The server of Reads polls for the end of the run, so it gets
# only the time that the other process leaves.
measure_icount()
{
	local WRAP_S=

	perf send ib_send_bw 65536 4 MiB/Ginstr -e -n 2000 -N -r 1024
	WRAP_S='chrt -i 0'
	perf read ib_read_bw 65536 4 MiB/Ginstr -e -n 2000 -N
	WRAP_S=
	[[ $who != xiw-one ]] || return 0
	perf send ib_send_bw 64 4 MiB/Ginstr -e -n 40000 -N -r 4096
	perf send-lat ib_send_lat 8 5 kinstr -e -n 1000
	perf read-lat ib_read_lat 8 5 kinstr -e -n 1000
}

# measure_sctp: bulk, message rate and latency, to compare SCTP with TCP that has one
# segment per FPDU.
measure_sctp()
{
	measure_bulk
	perf send ib_send_bw 64 5 Mmsg/s -n "$(small_count 64)" -N -t 64 -r 512
	perf send-lat ib_send_lat 8 5 us -n 1000
	perf read-lat ib_read_lat 8 5 us -n 1000
}

# qperf_sctp TEST SIZE: prints the result of qperf, in bytes/s or ns.
qperf_sctp()
{
	local seconds=2

	[[ $FORM != icount ]] || seconds=1
	run "qperf -lp @PORT@" \
		"qperf -lp @PORT@ -m $2 -t $seconds -uu $A4 $1 quit" &&
		awk '$2 == "=" { gsub(",", ""); print $3 }' "$TMP/client.log"
}

# sctp_limit: SCTP without xiw: qperf sends messages that SCTP splits into chunks.
sctp_limit()
{
	local value units=(MiB/s us)

	[[ $FORM != icount ]] || units=(MiB/Ginstr kinstr)
	value=$(qperf_sctp sctp_bw 64K) &&
		record stream 65536 "$((value >> 20))" "${units[0]}"
	value=$(qperf_sctp sctp_lat 8) &&
		record send-lat 8 "$((value / 1000)).$((value % 1000 / 100))" \
			"${units[1]}"
}

measure_rdma()
{
	case $FORM in
	number | icount | many | idle | delay | sctp)
		"measure_$FORM"
		return ;;
	esac
	measure_bulk
	[[ $who != xiw-one ]] || return 0
	measure_small
	[[ $path == "${PATHS[0]}" ]] || return 0
	measure_latency
	[[ $who != xiw-crc ]] || return 0
	measure_rate
	measure_connects
	idle_connections memory 64
	idle_connections memory,small 64 -s
}

iperf_bits()
{
	sed -n '/"sum_received"/,/}/s/.*"bits_per_second":[^0-9]*\([0-9.]*\).*/\1/p' \
		"$TMP/client.log"
}

measure_limit()
{
	local seconds=2 unit=MiB/s

	[[ $FORM != icount ]] || {
		seconds=0.2 unit=MiB/Ginstr
	}
	run "xt_pump -s @PORT@" "xt_pump -c $A4 @PORT@ $seconds" || return
	record stream 65536 "$(awk '{ print $1 }' "$TMP/client.log")" "$unit"
}

measure_tcp()
{
	local zc='' bits volume=256M unit=MiB/s

	[[ $who != tcp-zc ]] || zc=-Z
	[[ $path != *,* ]] || volume=48M
	[[ $FORM != icount ]] || {
		volume=32M unit=MiB/Ginstr
	}
	run "iperf3 -s -1 -p @PORT@" \
		"iperf3 -c $A4 -p @PORT@ -n $volume -l 64K -J $zc" || return
	bits=$(iperf_bits)
	record stream 65536 \
		"$(awk -v b="$bits" 'BEGIN { print b / 8 / 1048576 }')" "$unit"
}

# ---- rounds -------------------------------------------------------------

modprobe -a xiw siw rdma_ucm || bail "set-up: no modules"
modprobe -q rdma_rxe
rdma system set netns shared 2>/dev/null
net_up
: >"$XIW_OUT/raw"
total=$((ROUNDS * ${#PATHS[@]}))
step=0
for ((round = 1; round <= ROUNDS; round++)); do
	for p in "${PATHS[@]}"; do
		step=$((step + 1))
		echo "round $round of $ROUNDS, path $p ($step of $total, $SECONDS s)"
		enter_path "$p"
		[[ $FORM =~ number|many|idle|sctp ]] ||
			for who in tcp tcp-zc limit; do
				"measure_${who%-zc}"
			done
		[[ ${WHO[*]} != *xiw-sctp* ]] || who=sctp sctp_limit
		for who in "${WHO[@]}"; do
			# On lo a TCP segment is as long as a large FPDU, so xiw-one would not differ.
			[[ $who != xiw-one || $p == 1500* ]] || continue
			rdma_up "$who" || {
				echo "# $path $who: no device"
				continue
			}
			measure_rdma
			rdma_down
		done
	done
done
exit 0
