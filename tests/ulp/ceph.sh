#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: ceph-mon ceph-osd ceph-common uuid-runtime
# xiw-timeout: 900
#
# Ceph's messenger over RDMA, as iWARP: a monitor, a storage daemon that keeps
# its objects in memory, and a client in the other namespace, which checks the
# objects that it wrote.

. "$(dirname "$0")/lib.sh"

# Time limit of the daemons and of the client
XIW_TIMEOUT=600
STATE=$TMP/ceph
CONF=$STATE/ceph.conf

# conf DEVICE: prints the configuration for processes in the namespace of that device,
# with smaller buffers than the default of 4 GiB.
conf()
{
	cat <<-END
	[global]
		fsid = $fsid
		mon host = [v2:$A4:3300]
		ms bind msgr1 = false
		auth cluster required = none
		auth service required = none
		auth client required = none
		ms type = async+rdma
		ms async rdma type = iwarp
		ms async rdma cm = true
		ms async rdma device name = $1
		ms async rdma receive buffers = 512
		ms async rdma send buffers = 512
		ms async rdma receive queue len = 128
		ms async op threads = 1
		public addr = $A4
		osd objectstore = memstore
		memstore device bytes = 512M
		osd memory target = 939524096
		osd crush chooseleaf type = 0
		osd pool default size = 1
		osd pool default min size = 1
		osd pool default pg autoscale mode = off
		mon allow pool size one = true
		mon data = $STATE/mon
		osd data = $STATE/osd
		run dir = $STATE
		admin socket = $STATE/\$name.\$pid.asok
		log file = $STATE/\$name.log
		heartbeat file =
	END
}

# at_a CMD..., at_b CMD...: run CMD in that namespace, with the configuration of that side.
at_a()
{
	in_a env CEPH_CONF="$CONF.a" "$@"
}

at_b()
{
	in_b env CEPH_CONF="$CONF.b" "$@"
}

monitor_up()
{
	monmaptool --create --addv a "[v2:$A4:3300]" --fsid "$fsid" \
		"$STATE/monmap" &&
	at_a ceph-mon --mkfs -i a --monmap "$STATE/monmap" || return
	start_server mon "$NS_A" env CEPH_CONF="$CONF.a" ceph-mon -f -i a
	at_b timeout 120 ceph --connect-timeout 100 -s
}

storage_up()
{
	local uuid

	uuid=$(uuidgen)
	at_b ceph osd new "$uuid" 0 &&
	at_a ceph-osd --mkfs -i 0 --osd-uuid "$uuid" || return
	start_server osd "$NS_A" env CEPH_CONF="$CONF.a" ceph-osd -f -i 0
	wait_for 200 storage_is_up
}

storage_is_up()
{
	at_b ceph osd stat | grep -q '1 up'
}

# show_logs: what the daemons have logged and printed.
show_logs()
{
	tail -n 30 "$STATE"/*.log "$TMP"/{mon,osd}.log >"$TMP/more"
	tap_show "$TMP/more"
}

# whole FILE: stores FILE in the pool and reads it; true if both are the same.
whole()
{
	at_b rados -p pool put object "$1" &&
	at_b rados -p pool get object "$TMP/back" &&
	cmp "$1" "$TMP/back"
}

topo_up
mkdir -p "$STATE"/{mon,osd}
fsid=$(uuidgen)
conf "$DEV_A" >"$CONF.a"
conf "$DEV_B" | sed '/public addr/d' >"$CONF.b"
ulimit -l unlimited
run_claim "the monitor answers over RDMA" monitor_up || show_logs
run_claim "the storage daemon joins" storage_up || show_logs
run_claim "a pool" at_b ceph osd pool create pool 8 8
for size in 1 4096 100001 20000000; do
	head -c "$size" /dev/urandom >"$TMP/object"
	run_claim "an object of $size bytes is the same when it comes back" \
		whole "$TMP/object"
done
run_claim "the benchmark writes" \
	at_b rados -p pool bench 5 write -b 65536 -t 8 --no-cleanup
tap_note "$(grep -E '^Bandwidth' "$TMP/out")"
run_claim "the benchmark reads and compares" at_b rados -p pool bench 5 seq -t 8
tap_note "$(grep -E '^Bandwidth' "$TMP/out")"
if [[ $XIW_LINK_TYPE == xiw ]]; then
	tap_note "received $(counter "$DEV_A" rx_bytes) bytes"
	(($(counter "$DEV_A" rx_bytes) > 20000000))
	tap_result $? "the data went through the device"
fi
stop_server osd
stop_server mon
tap_run "the device can be removed" link_del "$DEV_A"
tap_done
