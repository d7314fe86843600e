#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: librpma0
# xiw-clients: fio
#
# librpma, remote persistent memory, with fio's engines: the appliance method, in which
# an RDMA Read by the client makes written data persistent, and the general purpose
# method, in which the client asks the server by a Send. The server's memory is a file,
# which libpmem treats as persistent memory because of an option.

. "$(dirname "$0")/lib.sh"

FIO=$XIW_CACHE/client-fio/fio
SIZE=8m

# wrote METHOD ARGS...: the claim is that the client's blocks are written. Devices that
# pin memory do not support ibv_advise_mr(): fio's server prints that this does not
# matter, but exits with the error.
wrote()
{
	local method=$1 common server client desc="$*"

	shift
	: >"$TMP/memory"
	truncate -s $SIZE "$TMP/memory"
	common="--port=@PORT@ --serverip=$A4 --thread --create_serialize=0"
	server="--name=server --ioengine=librpma_${method}_server $common"
	server+=" --filename=$TMP/memory --size=$SIZE --direct_write_to_pmem=1"
	[[ $method == apm ]] || server+=" --iodepth=8 --busy_wait_polling=0"
	[[ $method == apm ]] || server+=" --time_based --runtime=1d"
	client="--name=client --ioengine=librpma_${method}_client $common"
	client+=" --bs=4k --iodepth=8 --verify=crc32c --verify_fatal=1"
	client+=" --verify_state_save=0"
	run_pair "$NS_A" "$NS_B" "env PMEM_IS_PMEM_FORCE=1 $FIO $server" \
		"$FIO $client $*"
	((crc == 0)) && { ((src == 0)) ||
		[[ $(grep 'pid=.*err=' "$TMP/server.log") == *func=rpma_mr_advise* ]]; }
	tap_result $? "$desc" || {
		tap_show "$TMP/server.log"
		tap_show "$TMP/client.log"
	}
	tap_note "$(speed "$TMP/client.log")"
}

# in_memory: the claim is that the server's memory has all written data.
in_memory()
{
	run_claim "the server's memory holds every block that was written" "$FIO" \
		--name=client --filename="$TMP/memory" --ioengine=psync \
		--size=$SIZE --bs=4k --rw=write --verify=crc32c \
		--verify_fatal=1 --verify_state_save=0 --verify_only
}

topo_up
wrote apm --rw=write --do_verify=1
in_memory
wrote apm --rw=randwrite --do_verify=1
wrote apm --rw=write --sync=1 --do_verify=1
wrote gpspm --rw=write --do_verify=0
in_memory
if [[ $XIW_LINK_TYPE == xiw ]]; then
	tap_note "received $(counter "$DEV_A" rx_bytes) bytes"
	(($(counter "$DEV_A" rx_bytes) > 32 << 20))
	tap_result $? "the data went through the device"
fi
tap_done
