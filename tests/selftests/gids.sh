#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The addresses of an interface as GIDs of the port: which there are, at which
# index, and for how long; the events of a port; and rdma_cm while addresses and
# the link change.
#
# xiw-kernel: uml debug
# xiw-packages: ibverbs-utils
# xiw-timeout: 600

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"

SECONDS_OF_STRESS=${XIW_SECONDS:-8}

# gid6 PREFIX N: prints the GID PREFIX::N as sysfs does.
gid6()
{
	printf '%s:0000:0000:0000:0000:0000:0000:%s\n' "$1" "$2"
}

# gid_of INDEX: prints the GID at that index.
gid_of()
{
	cat "/sys/class/infiniband/$DEV_A/ports/1/gids/$1"
}

# at INDEX GID: true if the GID is at that index, and at no lower one.
at()
{
	local index

	index=$(gid_index "$DEV_A" "$2")
	[[ $index == "$1" ]] || { echo "$2 is at '$index'"; return 1; }
}

no_gid()
{
	! gid_index "$DEV_A" "$1" >"$TMP/index" || { cat "$TMP/index"; return 1; }
}

# addresses add|del FROM TO: adds or removes the addresses 10.79.0.FROM to 10.79.0.TO.
addresses()
{
	local n

	for ((n = $2; n <= $3; n++)); do
		echo "addr $1 10.79.0.$n/32 dev $VETH_A"
	done | ip -n "$NS_A" -force -batch - 2>/dev/null
}

# has_link_local: true if the interface has a usable link-local address.
has_link_local()
{
	ip -n "$NS_A" -6 addr show dev "$VETH_A" scope link -tentative |
		grep -q inet6
}

# as_at_boot: makes the devices first, and then adds the addresses, as a host does that
# boots.
as_at_boot()
{
	modprobe "rdma-link-$XIW_LINK_TYPE" && modprobe rdma_ucm &&
		netns_mode shared
	{
		ip netns add "$NS_A" && ip netns add "$NS_B" &&
		ip link add "$VETH_A" netns "$NS_A" type veth \
			peer name "$VETH_B" netns "$NS_B" &&
		ip -n "$NS_A" link set "$VETH_A" up &&
		ip -n "$NS_B" link set "$VETH_B" up &&
		wait_for 20 has_link_local &&
		link_add "$NS_A" "$DEV_A" "$VETH_A" &&
		peer_up "$NS_A" "$VETH_A" "$A4" "$A6" &&
		peer_up "$NS_B" "$VETH_B" "$B4" "$B6" &&
		link_add "$NS_B" "$DEV_B" "$VETH_B" &&
		wait_for 20 port_active "$DEV_A" &&
		wait_for 20 port_active "$DEV_B"
	} || bail "set-up: two devices"
}

order()
{
	tap_run "the IPv4 address is the GID of index 1" \
		wait_for 20 at 1 "$(gid4 "$A4")"
	tap_run "the IPv6 address is the GID of index 2" \
		wait_for 20 at 2 "$(gid6 fd77 "$GID_A6")"
	tap_run "nothing else is before the link-local ones" \
		test "$(gid_of 3)" = "$(gid6 0000 0000)"
}

# index_stays: the claims that an address keeps its index, even if the table is full.
index_stays()
{
	local last

	ip -n "$NS_A" addr add fd77::64/64 dev "$VETH_A" nodad
	tap_run "one more IPv6 address" wait_for 20 at 3 "$(gid6 fd77 0064)"
	addresses add 1 90
	last=$(gid4 10.79.0.50)
	tap_run "ninety IPv4 addresses more than fill the table" \
		wait_for 20 gid_index "$DEV_A" "$last"
	tap_run "$A4 stays where it was" at 1 "$(gid4 "$A4")"
	tap_run "the first IPv6 address stays where it was" \
		at 2 "$(gid6 fd77 "$GID_A6")"
	tap_run "the second IPv6 address stays where it was" \
		at 3 "$(gid6 fd77 0064)"
	tap_run "the log says that an address is left out" \
		wait_for 5 logged "has no GID"
	last=$(gid_index "$DEV_A" "$last")
	addresses del 1 39
	tap_run "an address without a GID gets a place that was given up" \
		wait_for 20 gid_index "$DEV_A" "$(gid4 10.79.0.90)"
	tap_run "the others stay: $A4" at 1 "$(gid4 "$A4")"
	tap_run "the others stay: IPv6" at 3 "$(gid6 fd77 0064)"
	tap_run "the others stay: one in the middle" at "$last" "$(gid4 10.79.0.50)"
	addresses del 40 90
	ip -n "$NS_A" addr del fd77::64/64 dev "$VETH_A"
	tap_run "removed addresses are no GIDs" \
		wait_for 20 no_gid "$(gid6 fd77 0064)"
}

logged()
{
	dmesg | grep -q "$1"
}

dad_over()
{
	ip -n "$NS_A" -6 addr show dev "$VETH_A" | grep -A1 -w "$1/64" >"$TMP/addr"
	! grep -q tentative "$TMP/addr"
}

dad_failed()
{
	ip -n "$NS_A" -6 addr show dev "$VETH_A" | grep -w "$1/64" | grep -q dadfailed
}

# usable: the claims that an address to which no socket can bind is no GID.
usable()
{
	local seen=

	ip -n "$NS_A" addr add fd05::5/64 dev "$VETH_A"
	while ! dad_over fd05::5; do
		seen=$(gid_index "$DEV_A" "$(gid6 fd05 0005)")
		# The address may have become usable between these two checks.
		[[ -z $seen ]] || dad_over fd05::5 || break
		sleep 0.1
	done
	tap_is "a tentative address is no GID" "$seen" ""
	tap_run "the address becomes a GID when DAD has ended" \
		wait_for 20 gid_index "$DEV_A" "$(gid6 fd05 0005)"
	ip -n "$NS_B" addr add fd06::6/64 dev "$VETH_B" nodad
	ip -n "$NS_A" addr add fd06::6/64 dev "$VETH_A"
	tap_run "a duplicate address is found out" wait_for 20 dad_failed fd06::6
	ip -n "$NS_A" addr add fd07::7/64 dev "$VETH_A" nodad
	tap_run "an address that is no duplicate becomes a GID" \
		wait_for 20 gid_index "$DEV_A" "$(gid6 fd07 0007)"
	tap_run "the duplicate address does not become a GID" no_gid "$(gid6 fd06 0006)"
	ip -n "$NS_A" -batch - <<-END
		addr del fd05::5/64 dev $VETH_A
		addr del fd06::6/64 dev $VETH_A
		addr del fd07::7/64 dev $VETH_A
	END
	tap_run "a removed address is no GID" wait_for 20 no_gid "$(gid6 fd07 0007)"
}

# ---- the first GID -------------------------------------------------------

# pingpong ARGS...: true if ibv_rc_pingpong with ARGS, which connects by queue pair
# number, succeeds.
pingpong()
{
	local port server

	port=$(free_port)
	in_a ibv_rc_pingpong -d "$DEV_A" -p "$port" -n 100 "$@" \
		>"$TMP/pp.a" 2>&1 &
	server=$!
	wait_for 20 listening "$NS_A" "$port" || return
	in_b ibv_rc_pingpong -d "$DEV_B" -p "$port" -n 100 "$@" "$A4" || {
		cat "$TMP/pp.a"
		return 1
	}
	wait "$server"
}

# ---- events --------------------------------------------------------------

watch_start()
{
	start_server events "$NS_A" stdbuf -oL ibv_asyncwatch -d "$DEV_A"
	wait_for 20 grep -q "async event FD" "$TMP/events.log" ||
		bail "set-up: nothing watches the events"
}

# events TYPE: prints how many events of that type were reported.
events()
{
	grep -c "IBV_EVENT_$1 " "$TMP/events.log"
}

# seen TYPE N: true if at least N events of that type were reported.
seen()
{
	(($(events "$1") >= $2))
}

# flap N: the claims for the Nth time that the link goes down and up.
flap()
{
	ip -n "$NS_A" link set "$VETH_A" down
	tap_run "the link goes down: an event reports it" wait_for 20 seen PORT_ERR "$1"
	ip -n "$NS_A" link set "$VETH_A" up
	tap_run "the link comes up: an event reports it" wait_for 20 seen PORT_ACTIVE "$1"
}

# storm: changes addresses and the link as fast as possible.
storm()
{
	local end=$((SECONDS + 5))

	while ((SECONDS < end)); do
		addresses add 1 20
		addresses del 1 20
		ip -n "$NS_A" link set "$VETH_A" down
		ip -n "$NS_A" link set "$VETH_A" up
		changes=$((changes + 1))
	done
}

# below TYPE N: true if at most N events of that type were reported; else prints how many.
below()
{
	(($(events "$1") <= $2)) || { events "$1"; return 1; }
}

port_events()
{
	watch_start
	flap 1
	flap 2
	tap_is "each is reported once: PORT_ERR" "$(events PORT_ERR)" 2
	tap_is "each is reported once: PORT_ACTIVE" "$(events PORT_ACTIVE)" 2
	stop_server events
	peer_up "$NS_A" "$VETH_A" "$A4" "$A6" 2>/dev/null
	watch_start
	changes=0
	storm
	tap_note "$changes rounds"
	tap_run "many changes make few events: PORT_ERR" below PORT_ERR 9
	tap_run "many changes make few events: PORT_ACTIVE" below PORT_ACTIVE 9
	ip -n "$NS_A" link set "$VETH_A" down
	tap_run "the last state is reported" wait_for 20 last_is PORT_ERR
	ip -n "$NS_A" link set "$VETH_A" up
	tap_run "the next state is reported" wait_for 20 last_is PORT_ACTIVE
	stop_server events
	ip -n "$NS_A" addr add "$A6/64" dev "$VETH_A" nodad 2>/dev/null
}

# last_is TYPE: true if it is the last event of the port's state.
last_is()
{
	[[ $(grep -oE "PORT_(ACTIVE|ERR)" "$TMP/events.log" | tail -n 1) == "$1" ]]
}

# ---- rdma_cm while addresses and link change ---------------------------------------------

# change FILE: adds and removes other addresses until FILE is removed.
change()
{
	while [[ -e $1 ]]; do
		addresses add 1 5
		addresses del 1 5
	done
}

connects()
{
	local end=$((SECONDS + SECONDS_OF_STRESS))

	while ((SECONDS < end)); do
		in_b rping -c -a "$A4" -p "$1" -C 1 || return
	done
}

stress()
{
	local port changer binder

	touch "$TMP/changing"
	change "$TMP/changing" &
	changer=$!
	port=$(free_port)
	start_server stress "$NS_A" rping -s -a "$A4" -p "$port" -P
	wait_listen stress "$NS_A" "$port"
	in_a xt_bind "$A4" "$B4" "$SECONDS_OF_STRESS" >"$TMP/bind" 2>&1 &
	binder=$!
	tap_run "addresses change: connects succeed" connects "$port"
	wait "$binder"
	tap_result $? "addresses change: bind and resolve succeed"
	tap_show "$TMP/bind"
	stop_server stress
	rm "$TMP/changing"
	wait "$changer"
}

GID_A6=$(printf '%04x' "0x${A6##*:}")
as_at_boot
order
usable
index_stays
tap_run "by number with the documented index" pingpong -g 1
if [[ $(gid_of 0) == fe80:* ]]; then
	tap_run "by number with the first index" pingpong -g 0
else
	tap_skip "by number with the first index" "this kernel needs it otherwise"
fi
port_events
stress
topo_down
tap_done
