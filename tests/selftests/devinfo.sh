#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The output of the tools for a device: attributes, links, resources, counters;
# and libibverbs finds the provider whatever the name of the device.
#
# xiw-packages: infiniband-diags
# xiw-kernel: stock debug
# xiw-timeout: 600

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

loaded()
{
	[[ -e /sys/module/$XIW_LINK_TYPE ]]
}

logged()
{
	dmesg | grep -q "$1"
}

# describe TEXT: sets the description of a device's node.
describe()
{
	local file=/sys/class/infiniband/$DEV_A/node_desc

	echo "$1" >"$file" && [[ $(<"$file") == "$1" ]]
}

# attribute NAME: prints the value of that attribute in $TMP/devinfo.
attribute()
{
	sed -n "s/^[[:space:]]*$1:[[:space:]]*//p" "$TMP/devinfo" | head -n 1
}

# at_least NAME MINIMUM: true if the attribute is at least MINIMUM; else prints it.
at_least()
{
	local value

	value=$(attribute "$1")
	((value >= $2)) || { echo "$1 is '$value'"; return 1; }
}

# is NAME PATTERN: true if the attribute matches; else prints it.
is()
{
	attribute "$1" | grep -qE "^$2" || { attribute "$1"; return 1; }
}

# counters: prints all of them, a line each.
counters()
{
	rdma -p statistic show link "$DEV_A/1" 2>/dev/null
}

# port_file NAME: prints a counter of the directory that monitoring tools read.
port_file()
{
	cat "/sys/class/infiniband/$DEV_A/ports/1/counters/$1"
}

# known_counters: the claims that the counters for monitoring tools equal those of xiw.
known_counters()
{
	local known ours unit

	while read -r known ours unit; do
		tap_is "$known is $ours" "$(port_file "$known")" \
			"$(($(counter "$DEV_A" "$ours") / unit))"
	done <<-END
		port_xmit_data tx_bytes 4
		port_rcv_data rx_bytes 4
		port_xmit_packets tx_fpdus 1
		port_rcv_packets rx_fpdus 1
		unicast_xmit_packets tx_fpdus 1
		unicast_rcv_packets rx_fpdus 1
		port_rcv_errors crc_errors 1
	END
	tap_run "data was counted" test "$(port_file port_xmit_data)" -gt 1000
}

net_up
modprobe -r "$XIW_LINK_TYPE" 2>/dev/null
tap_run_not "the module is not loaded" loaded
tap_run "rdma link add loads the module" link_add "$NS_A" "$DEV_A" "$VETH_A"
tap_run "the module is loaded" loaded
tap_run "a second device" link_add "$NS_B" "$DEV_B" "$VETH_B"
tap_run_not "a name is not given twice" link_add "$NS_B" "$DEV_A" "$VETH_B"
long=abcdefghijklmnopqrstuvwxyz01234
tap_run_not "a name that iw_cm has no room for is refused" \
	link_add "$NS_B" "${long}5" lo
tap_run "the log says why" logged "too long for iw_cm"
tap_run "a name of one character less is accepted" link_add "$NS_B" "$long" lo
tap_run "the device of 31 characters can be deleted" link_del "$long"
tap_run_not "an interface that is not there gets no device" \
	link_add "$NS_B" other nonesuch
tap_run "the port of the first device becomes active" wait_for 20 port_active "$DEV_A"
tap_run "the port of the second device becomes active" wait_for 20 port_active "$DEV_B"

tap_run "the node description can be set" describe "of a test"
tap_is "the firmware version is the kernel's release" \
	"$(cat "/sys/class/infiniband/$DEV_A/fw_ver")" "$(uname -r)"

ibv_devices >"$TMP/devices"
tap_run "ibv_devices lists the first device" grep -qw "$DEV_A" "$TMP/devices"
tap_run "ibv_devices lists the second device" grep -qw "$DEV_B" "$TMP/devices"
ibv_devinfo -v -d "$DEV_A" >"$TMP/devinfo" 2>&1
tap_run "ibv_devinfo shows the kernel release as firmware version" \
	is fw_ver "$(uname -r | grep -oE '^[0-9]+\.[0-9]+\.[0-9]+')"
tap_run "ibv_devinfo shows iWARP as transport" is transport 'iWARP \(1\)'
tap_run "ibv_devinfo shows an active port" is state 'PORT_ACTIVE \(4\)'
tap_run "ibv_devinfo shows Ethernet as link layer" is link_layer Ethernet
tap_run "a device has one port" is phys_port_cnt '1$'
tap_run "a device reports which atomics it supports" \
	is atomic_cap 'ATOMIC_(NONE|HCA|GLOB) \([0-2]\)'
tap_run "a memory region may have 256 MiB or more" \
	is max_mr_size '0x[1-9a-f][0-9a-f]{7,}$'
tap_run "a device has 1024 or more queue pairs" at_least max_qp 1024
tap_run "a queue has 1024 or more work requests" at_least max_qp_wr 1024
tap_run "a work request has 4 or more SGEs" at_least max_sge 4
tap_run "a Read has an SGE or more" at_least max_sge_rd 1
tap_run "a device has 1024 or more completion queues" at_least max_cq 1024
tap_run "a completion queue has 4096 or more entries" at_least max_cqe 4096
tap_run "a device has 1024 or more memory regions" at_least max_mr 1024
tap_run "a device has 1024 or more protection domains" at_least max_pd 1024
tap_run "a queue pair may have an outstanding Read or more" at_least max_qp_rd_atom 1
tap_run "a device has a shared receive queue or more" at_least max_srq 1
tap_run "a shared receive queue has 128 or more receives" at_least max_srq_wr 128
tap_run "the GUID is not zero" is node_guid '.*[1-9a-f]'
guid=$(attribute node_guid)
ibv_devinfo -v -d "$DEV_B" >"$TMP/devinfo" 2>&1
tap_run_not "the GUID is not that of the other device" is node_guid "$guid"

in_a rdma link show "$DEV_A/1" >"$TMP/link"
tap_run "rdma link shows the interface" grep -q "netdev $VETH_A" "$TMP/link"
tap_run "rdma link shows the physical state" \
	grep -q 'physical_state LINK_UP' "$TMP/link"

ibstatus "$DEV_A:1" >"$TMP/ibstatus"
tap_run "ibstatus shows the state" grep -q 'state:.* 4: ACTIVE$' "$TMP/ibstatus"
tap_run "ibstatus shows the speed of the interface, that of any veth pair" \
	grep -q 'rate:.* 10 Gb/sec' "$TMP/ibstatus"

objects >"$TMP/baseline"
counters >"$TMP/counters"
tap_run "a connection is under load" load_up show
rdma resource show qp link "$DEV_A/1" >"$TMP/qp"
tap_run "rdma resource shows the queue pair" \
	grep -q 'state RTS .*comm xt_load' "$TMP/qp"
rdma resource show cm_id >"$TMP/cm"
tap_run "rdma resource shows the connection" \
	grep -qE "$DEV_A.*state CONNECT .*src-addr $A4" "$TMP/cm"
rdma resource show cq >"$TMP/cq"
tap_run "rdma resource shows the completion queues" \
	grep -q "dev $DEV_A\\|$DEV_A.*comm xt_load" "$TMP/cq"
rdma resource show mr >"$TMP/mr"
tap_run "rdma resource shows the memory regions" \
	grep -qE "$DEV_A.*comm xt_load" "$TMP/mr"
if [[ -s $TMP/counters ]]; then
	counters | diff "$TMP/counters" - >"$TMP/changed"
	tap_run "counters count" test -s "$TMP/changed"
else
	tap_skip "counters count" "the device has no counters"
fi
tap_run "the connection ends" load_end show
tap_objects "the ended connection is no longer shown" "$TMP/baseline"
if [[ $XIW_LINK_TYPE == xiw ]]; then
	known_counters
else
	tap_skip "known counters" "the device does not have them"
fi

# From here on the names of devices do not begin with "xiw".
rdma dev set "$DEV_A" name foo0
DEV_A=foo0
tap_run "a device can be renamed" dev_exists foo0
tap_run "ibv_devinfo finds the device by its new name" ibv_devinfo -d foo0
tap_run "a connection works under that name" load_up renamed
tap_run "the connection under that name ends" load_end renamed
tap_run "the device can be deleted by its new name" link_del foo0
DEV_A=eth_rdma-1
tap_run "a device can have any name" link_add "$NS_A" "$DEV_A" "$VETH_A"
tap_run "ibv_devinfo finds the device of any name" ibv_devinfo -d "$DEV_A"
wait_for 20 port_active "$DEV_A"
tap_run "a connection works on the device of any name" load_up any
tap_run "the connection on it ends" load_end any
load_stop
tap_done
