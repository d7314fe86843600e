# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Functions of both guests: set up the interface that joins them, and a device on it.

. "$(dirname "$0")/../selftests/lib.sh"

# shellcheck disable=SC2034  # used by both sides
{
PASSIVE4=10.79.0.1 ACTIVE4=10.79.0.2
PASSIVE6=fd79::1 ACTIVE6=fd79::2
DEV=xiw0
}
# The servers, in the order in which they are used; each serves one client.
# shellcheck disable=SC2034  # used by both sides
SERVED=(
	"rping -V -C 200 -S 30000 -a $PASSIVE4"
	"rping -V -C 200 -S 100 -a $PASSIVE6"
	"xt_load $PASSIVE4"
	"ib_write_bw -R -F -s 65536 -n 500"
	"ib_send_bw -R -F -s 65536 -n 500"
	"ib_read_bw -R -F -s 65536 -n 500"
	"ib_send_lat -R -F -s 64 -n 500"
	"ib_atomic_bw -R -F -n 500"
	"ibv_rc_pingpong -g 1 -n 500"
	"ib_write_bw -x 1 -F -s 65536 -n 200"
)

# link_up IPV4 IPV6: loads the modules, adds the addresses to the interface and a device.
link_up()
{
	local netdev

	modprobe -a virtio_net xiw rdma_ucm || bail "set-up: modules"
	netdev=$(basename /sys/bus/virtio/drivers/virtio_net/virtio*/net/*)
	{
		ip addr add "$1/24" dev "$netdev" &&
		ip addr add "$2/64" dev "$netdev" nodad &&
		ip link set "$netdev" up &&
		rdma link add "$DEV" type xiw netdev "$netdev" &&
		wait_for 20 port_active "$DEV"
	} || bail "set-up: no device"
}
