#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The everyday path with the standard tools: add a device, see it, connect
# and move verified data in both directions over both address families,
# delete it again.
#
# xiw-kernel: stock debug

. "$(dirname "$0")/lib.sh"

shown_active()
{
	[[ $(rdma link show "$DEV_A/1") == *"state ACTIVE"* ]]
}

topo_up

tap_run "rdma link shows the port as active" shown_active
in_a ibv_devinfo -v -d "$DEV_A" >"$TMP/devinfo" 2>&1
tap_run "ibv_devinfo finds the device" grep -qw "$DEV_A" "$TMP/devinfo"
tap_run "the port is active for ibv_devinfo too" \
	grep -q 'state:.*PORT_ACTIVE' "$TMP/devinfo"
tap_run "the transport is iWARP" grep -q 'transport:.*iWARP' "$TMP/devinfo"

pair "rping over IPv4, client in xb" \
	"rping -s -v -a $A4 -p @PORT@ -C 20 -S 4000" \
	"rping -c -v -a $A4 -p @PORT@ -C 20 -S 4000"
tap_is "rping verified every round" \
	"$(grep -c '^ping data: rdma-ping-' "$TMP/client.log")" 20
pair -r "rping over IPv4, client in xa" \
	"rping -s -v -a $B4 -p @PORT@ -C 20 -S 4000" \
	"rping -c -v -a $B4 -p @PORT@ -C 20 -S 4000"
pair "rping over IPv6, client in xb" \
	"rping -s -v -a $A6 -p @PORT@ -C 20 -S 4000" \
	"rping -c -v -a $A6 -p @PORT@ -C 20 -S 4000"
pair -r "rping over IPv6, client in xa" \
	"rping -s -v -a $B6 -p @PORT@ -C 20 -S 4000" \
	"rping -c -v -a $B6 -p @PORT@ -C 20 -S 4000"

pair "ucmatose over IPv4" \
	"ucmatose -b $A4 -p @PORT@ -c 2 -C 10 -S 1000" \
	"ucmatose -s $A4 -p @PORT@ -c 2 -C 10 -S 1000"
pair "ucmatose over IPv6" \
	"ucmatose -b $A6 -f ip6 -p @PORT@ -c 2 -C 10 -S 1000" \
	"ucmatose -s $A6 -f ip6 -p @PORT@ -c 2 -C 10 -S 1000"

tap_run "rdma link del removes one device" link_del "$DEV_A"
tap_run "the device is gone" dev_gone "$DEV_A"
tap_run "the other device stays" dev_exists "$DEV_B"
tap_run "the device can be added again" link_add "$NS_A" "$DEV_A" "$VETH_A"
tap_run "the port of the added device becomes active" wait_for 20 port_active "$DEV_A"
pair "rping on the new device" \
	"rping -s -v -a $A4 -p @PORT@ -C 5" \
	"rping -c -v -a $A4 -p @PORT@ -C 5"

links_down
net_down
what="the module can be removed"
if driver_is_module; then
	tap_run "$what" modprobe -r "$XIW_LINK_TYPE"
else
	tap_skip "$what" "it is a part of the kernel"
fi
tap_done
