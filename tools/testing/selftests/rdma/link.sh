#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A device of each software driver: it is made for an interface, shown, its
# port follows the interface, and it goes with the interface.

# shellcheck disable=SC2317	# functions that others call

source "$(dirname "$(realpath "$0")")/pair_lib.sh"

port_down()
{
	! port_active "$1"
}

gone()
{
	! rdma dev show "$1" >/dev/null 2>&1
}

follows_carrier()
{
	ip -n "$NS_B" link set veth_b down &&
		wait_for 10 port_down "${driver}_a" &&
		ip -n "$NS_B" link set veth_b up &&
		wait_for 10 port_active "${driver}_a"
}

second_refused()
{
	! in_a rdma link add "${driver}_2" type "$driver" netdev veth_a \
		2>/dev/null
}

deleted()
{
	rdma link delete "${driver}_a" && wait_for 10 gone "${driver}_a"
}

added_again()
{
	in_a rdma link add "${driver}_a" type "$driver" netdev veth_a &&
		wait_for 10 port_active "${driver}_a"
}

goes_with_netdev()
{
	ip -n "$NS_A" link add dummy_a type dummy &&
		ip -n "$NS_A" link set dummy_a up &&
		in_a rdma link add "${driver}_3" type "$driver" netdev dummy_a &&
		ip -n "$NS_A" link delete dummy_a &&
		wait_for 10 gone "${driver}_3"
}

run()
{
	ktap_test_result "$driver: the port is active" port_active "${driver}_a"
	ktap_test_result "$driver: the port follows the carrier" follows_carrier
	ktap_test_result "$driver: one device for an interface" second_refused
	ktap_test_result "$driver: a device is deleted" deleted
	ktap_test_result "$driver: and added again" added_again
	pair send "$ADDR_A" "data goes through the new device"
	ktap_test_result "$driver: a device goes with its netdev" \
		goes_with_netdev
}

for_each_driver run 7
