#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Netdevs: devices on every kind of netdev that carries TCP, also if it is removed or
# renamed; the type of service of sent packets; and a peer that vanishes.
#
# xiw-kernel: uml
# xiw-packages: wireguard-tools tcpdump ethtool python3

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"
. "$(dirname "$0")/wire.sh"

# rdma_cm does not distinguish the device of a VLAN from that of the interface
# below, so the interfaces below other netdevs have no device of their own.
LOWER_A=la
LOWER_B=lb

# asks NS NETDEV: true if the netdev can resolve neighbours: its link-local address has
# passed duplicate address detection, or it needs no resolution. rdma_cm does not wait
# that long.
asks()
{
	ip -n "$1" link show dev "$2" | grep -q NOARP ||
		ip -n "$1" -6 addr show dev "$2" scope link -tentative |
		grep -q inet6
}

# made A B NET: sets up the netdevs A of xa and B of xb, with the addresses .1 and .2 of
# that network.
made()
{
	{
		peer_up "$NS_A" "$1" "10.78.$3.1" "fd78:$3::1" &&
		peer_up "$NS_B" "$2" "10.78.$3.2" "fd78:$3::2" &&
		wait_for 20 asks "$NS_A" "$1" &&
		wait_for 20 asks "$NS_B" "$2"
	} || bail "set-up: $1 and $2"
}

# over WHAT A B NET [CMD]: the claims that devices on those netdevs work, also while CMD
# runs, and are removed with the netdevs.
over()
{
	local VETH_A=$2 VETH_B=$3 DEV_A=xiwC DEV_B=xiwD
	local A4=10.78.$4.1 A6=fd78:$4::1 B6=fd78:$4::2

	links_up
	pair -r "$1: rping over IPv6" \
		"rping -s -V -a $B6 -p @PORT@ -C 10 -S 20000" \
		"rping -c -V -a $B6 -I $A6 -p @PORT@ -C 10 -S 20000"
	tap_run "$1: a connection over IPv4 is under load" load_up kind
	[[ -z ${5:-} ]] || tap_run "$1: $5: the connection continues" "$5"
	tap_run "$1: all its data is right" load_end kind
	tap_run "$1: this device has received the data" \
		grown "$DEV_A" rx_bytes 500000
	end_of "$1"
}

# end_of WHAT: removes the netdevs VETH_A and VETH_B; the claim is that their devices
# are removed, too.
end_of()
{
	tap_run "$1: its netdev can be removed" \
		ip -n "$NS_A" link del "$VETH_A"
	tap_run "$1: the device has gone with it" wait_for 20 dev_gone "$DEV_A"
	ip -n "$NS_B" link del "$VETH_B" 2>/dev/null
	wait_for 20 dev_gone "$DEV_B" || bail "$DEV_B stays"
}

# upper NS LOWER NAME ARGS...: adds a netdev on another one.
upper()
{
	local ns=$1 lower=$2 name=$3

	shift 3
	ip -n "$ns" link add link "$lower" name "$name" type "$@" ||
		bail "set-up: $name"
}

vlan()
{
	upper "$NS_A" "$LOWER_A" la.5 vlan id 5
	upper "$NS_B" "$LOWER_B" lb.5 vlan id 5
	made la.5 lb.5 1
	over VLAN la.5 lb.5 1
}

macvlan()
{
	upper "$NS_A" "$LOWER_A" mva macvlan mode bridge
	upper "$NS_B" "$LOWER_B" mvb macvlan mode private
	made mva mvb 2
	over macvlan mva mvb 2
}

vrf()
{
	upper "$NS_A" "$LOWER_A" la.7 vlan id 7
	upper "$NS_B" "$LOWER_B" lb.7 vlan id 7
	{
		ip -n "$NS_A" link add red type vrf table 77 &&
		ip -n "$NS_A" link set red up &&
		ip -n "$NS_A" link set la.7 master red
	} || bail "set-up: no VRF"
	made la.7 lb.7 3
	over "VRF at one end" la.7 lb.7 3
	ip -n "$NS_A" link del red
}

bridge()
{
	local ns

	ip link add brva netns "$NS_A" type veth peer name brvb netns "$NS_B"
	for ns in "$NS_A brva" "$NS_B brvb"; do
		# shellcheck disable=SC2086  # two words
		set -- $ns
		{
			ip -n "$1" link add name br0 type bridge &&
			ip -n "$1" link set "$2" up master br0
		} || bail "set-up: no bridge"
	done
	made br0 br0 4
	over bridge br0 br0 4
	ip -n "$NS_A" link del brva
}

active_slave()
{
	in_a sed -n 's/^Currently Active Slave: //p' /proc/net/bonding/bond0
}

# failover: sets the active link of the bond down; true if the traffic continues.
failover()
{
	local slave

	slave=$(active_slave)
	ip -n "$NS_A" link set "$slave" down && flows &&
	[[ $(active_slave) == b?* && $(active_slave) != "$slave" ]]
}

bond()
{
	local ns n

	for ns in "$NS_A" "$NS_B"; do
		ip -n "$ns" link add name bond0 type bond mode active-backup miimon 50 ||
			bail "set-up: no bond"
	done
	for n in 1 2; do
		{
			ip link add b$n netns "$NS_A" type veth \
				peer name b$n netns "$NS_B" &&
			ip -n "$NS_A" link set b$n master bond0 &&
			ip -n "$NS_B" link set b$n master bond0
		} || bail "set-up: no slave of the bond"
	done
	made bond0 bond0 5
	over bond bond0 bond0 5 failover
	ip -n "$NS_A" link del b1
	ip -n "$NS_A" link del b2
}

# tun KIND: the claims for two netdevs that a process joins.
tun()
{
	tun_pair "$1" ta tb
	made ta tb "$2"
	over "$1" ta tb "$2"
	tap_run "$1: the process that carried them is notified" wait "$tun_pid"
}

# wg_end NS NETDEV PEER ADDRESS: makes one end of a WireGuard tunnel to PEER at ADDRESS,
# with the keys in $TMP/wg.NETDEV and $TMP/wg.PEER.
wg_end()
{
	ip -n "$1" link add "$2" type wireguard &&
	in_ns "$1" wg set "$2" listen-port 51820 private-key "$TMP/wg.$2" \
		peer "$(wg pubkey <"$TMP/wg.$3")" endpoint "$4:51820" \
		allowed-ips 0.0.0.0/0,::/0
}

wireguard()
{
	local end

	for end in wga wgb; do
		(umask 077 && wg genkey >"$TMP/wg.$end")
	done
	{
		wg_end "$NS_A" wga wgb "$B4" && wg_end "$NS_B" wgb wga "$A4"
	} || bail "set-up: no WireGuard tunnel"
	made wga wgb 8
	over WireGuard wga wgb 8
}

# loopback: the claims for 127.0.0.1 and ::1. rdma_cm connects from any device to these
# addresses, and makes all devices listen.
loopback()
{
	local NS_B=$NS_A

	{
		ip -n "$NS_A" addr add 10.78.10.1/32 dev lo &&
		ip -n "$NS_A" addr add fd78:10::1/128 dev lo nodad
	} || bail "set-up: addresses of lo"
	tap_run "loopback: a device" link_add "$NS_A" xiwC lo
	tap_run "loopback: its port is active" wait_for 20 port_active xiwC
	pair "loopback: rping over IPv4" \
		"rping -s -V -a 10.78.10.1 -p @PORT@ -C 10 -S 20000" \
		"rping -c -V -a 10.78.10.1 -p @PORT@ -C 10 -S 20000"
	pair "loopback: rping over IPv6" \
		"rping -s -V -a fd78:10::1 -p @PORT@ -C 10 -S 20000" \
		"rping -c -V -a fd78:10::1 -p @PORT@ -C 10 -S 20000"
	pair "loopback: rping to 127.0.0.1, with another device beside" \
		"rping -s -V -a 127.0.0.1 -p @PORT@ -C 10 -S 20000" \
		"rping -c -V -a 127.0.0.1 -p @PORT@ -C 10 -S 20000"
	pair "loopback: rping to ::1, with another device beside" \
		"rping -s -V -a ::1 -p @PORT@ -C 10 -S 20000" \
		"rping -c -V -a ::1 -p @PORT@ -C 10 -S 20000"
	tap_run "loopback: this device has received the data" \
		grown xiwC rx_bytes 400000
	tap_run "loopback: the device can be deleted" link_del xiwC
}

deaf()
{
	local message="cannot listen on $1: error"

	# rdma_cm with the patches logs the failed listener, otherwise the driver does.
	[[ -z ${XIW_PATCHED:-} ]] || message="cma_listen_on_dev, error"
	log_says "$message"
}

# taken_port: the claims that a server on all addresses also listens on a device that is
# added later, and that other devices are not affected if the port is in use there.
taken_port()
{
	local port

	port=$(free_port)
	{
		ip -n "$NS_A" link add late type dummy &&
		ip -n "$NS_A" addr add 10.78.11.1/24 dev late &&
		ip -n "$NS_A" link set late up
	} || bail "set-up: another interface"
	start_server everywhere "$NS_A" rping -s -a 0.0.0.0 -p "$port" -P
	wait_listen everywhere "$NS_A" "$port"
	start_server taken "$NS_A" python3 -c "
import signal, socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'late')
s.bind(('10.78.11.1', $port))
s.listen()
print('bound', flush=True)
signal.pause()"
	wait_for 20 grep -q bound "$TMP/taken.log" ||
		bail "set-up: nobody took the port"
	tap_run "taken port: a device beside it" link_add "$NS_A" xiwC late
	tap_run "taken port: its port is active" wait_for 20 port_active xiwC
	tap_run "taken port: the log names the address" \
		deaf "0.0.0.0:$port"
	pair -l "taken port: others connect over it" \
		"rping -s -V -a 10.78.11.1 -p @PORT@ -C 10 -S 20000" \
		"rping -c -V -a 10.78.11.1 -I 10.78.11.1 -p @PORT@ -C 10 -S 20000"
	stop_server taken
	stop_server everywhere
	tap_run "taken port: the device can be deleted" link_del xiwC
	ip -n "$NS_A" link del late
}

netdev_is()
{
	in_ns "$1" rdma link show "$2/1" | grep -qw "netdev $3"
}

rename()
{
	tap_run "a connection is under load" load_up rename
	tap_run "its netdev can be renamed" \
		ip -n "$NS_A" link set "$VETH_A" name renamed
	tap_run "the device shows the new name" netdev_is "$NS_A" "$DEV_A" renamed
	tap_run "the connection goes on" flows
	tap_run_not "the netdev has no second device" \
		link_add "$NS_A" second renamed
	tap_run "the netdev can be renamed back" \
		ip -n "$NS_A" link set renamed name "$VETH_A"
	tap_run "the connection ends in order" load_end rename
}

# ---- type of service ----------------------------------------------------

# packets EXPRESSION: prints the number of captured packets that match.
packets()
{
	tcpdump -nn -r "$TMP/tos.pcap" "$1" 2>/dev/null | wc -l
}

# marked DESC FROM BITS VALUE: the claim is that all packets of FROM have that VALUE in
# these BITS of the type of service.
marked()
{
	tap_run "$1" test "$(packets "src $2 and $3 = $4")" -gt 20
	tap_is "$1, and nothing else" "$(packets "src $2 and $3 != $4")" 0
}

# tos ADDRESS: runs a connection with type of service 0x28 at its passive end and 0xb8
# at its active end.
tos()
{
	local port

	port=$(free_port)
	load_start passive tos -s "$NS_A/$1" -p "$port" -Q 0x28 -n 5
	wait_for 30 listening "$NS_A" "$port" || return
	load_start active tos -c "$NS_B/$1" -p "$port" -Q 0xb8 -n 5
	load_ended tos
}

# service: the claims for the type of service. Its ECN bits are not the application's.
service()
{
	plain_segments
	capture_start "$TMP/tos.pcap" 128
	tap_run "TOS: a connection over IPv4" tos "$A4"
	tap_run "TOS: a connection over IPv6" tos "$A6"
	capture_stop
	marked "TOS: the passive end's" "$A4" 'ip[1] & 0xfc' 0x28
	marked "TOS: the active end's" "$B4" 'ip[1] & 0xfc' 0xb8
	marked "traffic class: the passive end's" "$A6" \
		'(ip6[0:2] & 0x0fc0)' 0x280
	marked "traffic class: the active end's" "$B6" \
		'(ip6[0:2] & 0x0fc0)' 0xb80
}

# ---- a peer that vanishes -----------------------------------------------

# vanish: sets up two connections, one of them idle, over another link, and cuts it. Both
# are lost a minute later, while other tests run, or up to 26 seconds later, as TCP may
# check its timeout only at the next retransmission.
vanish()
{
	local VETH_A=da VETH_B=db DEV_A=xiwE DEV_B=xiwF A4=10.78.9.1 B4=10.78.9.2

	ip link add da netns "$NS_A" type veth peer name db netns "$NS_B"
	made da db 9
	links_up
	LOAD_SECONDS=300
	tap_run "two connections are under load" load_up silent busy
	kill -STOP "${load_pid[active-silent]}" "${load_pid[passive-silent]}"
	netem "$NS_A" da loss 100%
	netem "$NS_B" db loss 100%
	vanished=$SECONDS
	LOAD_SECONDS=60
}

lost()
{
	[[ $(counter xiwE connections_lost) == 2 ]] &&
	[[ $(counter xiwF connections_lost) == 2 ]]
}

vanish_found()
{
	tap_run "both ends of both lose a peer that is silent for a minute" \
		wait_for $((100 - (SECONDS - vanished))) lost
	tap_note "after at most $((SECONDS - vanished)) s"
	kill -CONT "${load_pid[active-silent]}" "${load_pid[passive-silent]}"
	tap_run "their processes are notified, and had all data right" \
		load_ended silent busy
}

topo_up
vanish
ip link add "$LOWER_A" netns "$NS_A" type veth peer name "$LOWER_B" netns "$NS_B"
made "$LOWER_A" "$LOWER_B" 0
vlan
macvlan
vrf
bridge
bond
tun tun 6
tun tap 7
wireguard
loopback
taken_port
rename
service
vanish_found
load_stop
tap_done
