#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# xiw-doctor reports no problem of a healthy host, and each problem that this test
# causes on purpose, with the remedy. xiw-link, which xiw@.service calls, does what its
# head says.
#
# For a guest with the distribution's kernel, as the debug kernel does not support
# signed modules. The guest must have siw.

. "$(dirname "$0")/../selftests/lib.sh"
# A copy that other users can run as well
install -D -m 755 -t /run/xiw/bin "$XIW_TOP"/tools/xiw-{doctor,link}
DOCTOR=/run/xiw/bin/xiw-doctor
LINK=/run/xiw/bin/xiw-link
NODES=/dev/infiniband
# Arguments of setpriv for a process that may do nothing special.
NOBODY=(--reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)

# diagnose CMD...: saves the output of CMD for the claims that follow.
diagnose()
{
	"$@" >"$TMP/doctor"
}

# doctor [ARGS...]: saves the output of xiw-doctor in namespace xa, without its rping.
doctor()
{
	diagnose in_a "$DOCTOR" -n "$@"
}

# finds LEVEL WHAT REMEDY [CMD...]: the claim is that xiw-doctor, or CMD, prints
# such a line, and fails if the level says so.
finds()
{
	local level=$1 what=$2 remedy=$3 rc=0

	shift 3
	(($#)) || set -- doctor
	"$@" || rc=$?
	grep -q "^$level  .*$what.*  -> .*$remedy" "$TMP/doctor" &&
		[[ $level != FAIL || $rc == 1 ]]
	tap_result $? "$level: $what"
	grep -q "^$level  .*$what.*  -> .*$remedy" "$TMP/doctor" ||
		tap_show "$TMP/doctor"
}

topo_up

# ---- healthy ----

tap_run "a healthy host has no FAIL" in_a "$DOCTOR"
cp "$TMP/run.log" "$TMP/healthy"
for what in 'the module is loaded' 'the provider is there' \
	    "$DEV_A is active on $VETH_A" 'is for all users' \
	    "rping with itself over $A4"; do
	grep -q "^ok  .*$what" "$TMP/healthy"
	tap_result $? "ok: $what"
done
for what in kernel system module provider link policy counter; do
	grep -q "^$what  *[^ ]" "$TMP/healthy"
	tap_result $? "a report has the line '$what'"
done
grep -q '^FAIL' "$TMP/healthy" && tap_show "$TMP/healthy"
# As in many containers: no capability, and systemd's limit for locked memory.
tap_run "a user without special rights has no FAIL" \
	in_a prlimit --memlock=8388608 setpriv "${NOBODY[@]}" "$DOCTOR"
grep -q "^ok  .*rping with itself over $A4" "$TMP/run.log"
tap_result $? "ok: rping as such a user"
in_a "$DOCTOR" -P >"$TMP/policy"
tap_is "the policy can be compared" "$(grep -xE '(crc 1|revision 2|rtr_types write read)' \
	"$TMP/policy" | sort -u | wc -l)" 3

# ---- broken, one thing at a time ----

doctor
grep -q 'not the installed one' "$TMP/doctor"
tap_is "the loaded module is the installed one" $? 1
note=/sys/module/xiw/notes/.note.gnu.build-id
printf %s 0123456789abcdefghijklmnopqrstuvwxyz >"$TMP/note"
mount --bind "$TMP/note" $note
finds warn "loaded module is not the installed one" "modprobe -r xiw"
finds warn "loaded module is not the installed one" "modprobe -r xiw" \
	diagnose "$DOCTOR" -q
umount $note

ip -n $NS_A link set $VETH_A down
finds FAIL "$VETH_A is down" "ip link set $VETH_A up"
ip -n $NS_A link set $VETH_A up
ip -n $NS_B link set $VETH_B down
finds FAIL "$VETH_A has no carrier" "the other end"
ip -n $NS_B link set $VETH_B up
wait_for 20 port_active $DEV_A

ip -n $NS_A link set $VETH_A mtu 600
finds warn "an MTU of 600" "mtu 1500"
ip -n $NS_A link set $VETH_A mtu 1500

# Add an address that the peer has, too: duplicate address detection fails.
ip -n $NS_B addr add fd77::9/64 dev $VETH_B nodad
ip -n $NS_A addr add fd77::9/64 dev $VETH_A
doubled()
{
	ip -n "$NS_A" addr show dev "$VETH_A" dadfailed | grep -qF fd77::9
}
wait_for 20 doubled || bail "set-up: an address that another host has"
finds FAIL "another host has the address fd77::9" "ip addr del fd77::9/64"
ip -n $NS_A addr del fd77::9/64 dev $VETH_A
ip -n $NS_B addr del fd77::9/64 dev $VETH_B

cp "$(command -v sleep)" "$TMP/iwpmd"
"$TMP/iwpmd" 300 &
finds warn "iwpmd runs" "systemctl mask --now iwpmd"
kill $!

in_a rping -c -a $B4 -p 7179 >"$TMP/nobody" 2>&1
finds warn "$DEV_A: connections_failed [1-9]" "A connection is not made" \
	diagnose in_a "$DOCTOR" --why
in_a timeout 5 rping -s -a $A4 -p 7178 >"$TMP/plain" 2>&1 &
wait_for 20 listening $NS_A 7178
in_b bash -c "echo 'GET / HTTP/1.0

' >/dev/tcp/$A4/7178"
malformed()
{
	(($(counter "$DEV_A" mpa_malformed)))
}
wait_for 20 malformed
finds warn "$DEV_A: mpa_malformed [1-9]" "a program for TCP" \
	diagnose in_a "$DOCTOR" -w

in_a rdma link add siwA type siw netdev $VETH_A
finds FAIL "siwA is on $VETH_A" "rdma link delete"
finds warn "$VETH_A has an RDMA device already, siwA" "do not add" \
	diagnose in_a "$DOCTOR" -q
rdma link del siwA

echo 0 >/sys/class/infiniband/$DEV_A/mpa/crc
finds warn "asks for no CRC" "echo 1 >.*/crc"
echo 1 >/sys/class/infiniband/$DEV_A/mpa/crc

in_a nft -f - <<END
table inet filter {
	chain input {
		type filter hook input priority 0; policy accept;
		tcp dport { 80, 7000-7999 } drop
	}
}
END
finds FAIL "drops TCP port 7174" "tcp dport 7174 accept"
start_server listener $NS_A rping -s -a $A4 -p 7175
wait_listen listener $NS_A 7175
finds FAIL "drops TCP port 7175" "tcp dport 7175 accept"
stop_server listener
doctor -p 6000
grep -q '^ok .*6000' "$TMP/doctor"
tap_result $? "a port that the firewall admits is no problem"
in_a nft flush ruleset
in_a nft -f - <<END
table inet filter {
	chain input {
		type filter hook input priority 0; policy drop;
		tcp dport 22 accept
	}
}
END
finds warn "to let TCP port 7174 in" "tcp dport 7174 accept"
finds FAIL "rping with itself over $A4" "A connection is not made" \
	diagnose in_a "$DOCTOR"
in_a nft flush ruleset

chmod 600 $NODES/rdma_cm
finds FAIL "rdma_cm is not for nobody" "chmod 666" \
	diagnose setpriv "${NOBODY[@]}" "$DOCTOR" -n
finds warn "rdma_cm is not for all users" "chmod 666"
mv $NODES/rdma_cm $NODES/rdma_cm.away
finds FAIL "there is no $NODES/rdma_cm" "modprobe rdma_ucm"
mv $NODES/rdma_cm.away $NODES/rdma_cm
chmod 666 $NODES/rdma_cm

finds FAIL "only 64 KiB" "LimitMEMLOCK" \
	diagnose prlimit --memlock=65536 setpriv "${NOBODY[@]}" "$DOCTOR" -n
finds warn "only 64 KiB.*but for root" "LimitMEMLOCK" \
	diagnose prlimit --memlock=65536 "$DOCTOR" -q

driver=/etc/libibverbs.d/xiw.driver
cp $driver "$TMP/driver"
echo "driver $TMP/plugins/libxiw" >$driver
mkdir "$TMP/plugins"
finds FAIL "there is no provider $TMP" "make install"
touch "$TMP/plugins/libxiw-rdmav99.so"
finds FAIL "is for private ABI 99" "xiw-ibverbs-provider"
rm $driver
finds FAIL "is not registered with libibverbs" "driver xiw"
cp "$TMP/driver" $driver

echo 'audit: apparmor="DENIED" operation="open" profile="/usr/sbin/demo" name="/dev/infiniband/uverbs0"' >/dev/kmsg
finds FAIL 'AppArmor .*profile="/usr/sbin/demo"' "aa-complain"

# ---- settings in a file ----

# The guest's /etc is that of the host, and read-only: make it writable in memory.
mkdir "$TMP/upper" "$TMP/work"
mount -t overlay overlay \
	-o "lowerdir=/etc,upperdir=$TMP/upper,workdir=$TMP/work" /etc
mkdir -p /etc/xiw
conf=/etc/xiw/$VETH_A.conf
mpa=/sys/class/infiniband/xiw_$VETH_A/mpa

# says WHAT CMD...: the claim is that CMD fails with just this one line.
says()
{
	local what=$1 rc=0

	shift
	in_a "$@" >"$TMP/said" 2>&1 || rc=$?
	tap_is "$what" "$rc $(cat "$TMP/said")" "1 xiw: $what"
}

in_a "$LINK" add $VETH_A >"$TMP/added" 2>&1
tap_run "a device that is there gets the unit's name" dev_exists xiw_$VETH_A
printf '# A comment\n\ncrc = 0\n  rtr_types=send read # two\n' >$conf
tap_run "a good file is taken" in_a "$LINK" policy $VETH_A
tap_is "a number is set" "$(cat $mpa/crc)" 0
tap_is "a list is set" "$(cat $mpa/rtr_types)" "read send"
printf 'revision = 1\ncolour = red\n' >$conf
says "$conf: line 2: there is no setting 'colour'; see xiw(7)." \
	"$LINK" policy $VETH_A
tap_is "nothing of a bad file is taken" "$(cat $mpa/revision)" 2
finds FAIL "line 2: there is no setting 'colour'" "restart xiw@$VETH_A"
echo 'crc = 7' >$conf
says "$conf: line 1: 'crc' cannot be '7'; see xiw(7)." "$LINK" policy $VETH_A
echo 'crc =' >$conf
says "$conf: line 1: 'crc' has no value." "$LINK" check $VETH_A
tap_run "the device is deleted" in_a "$LINK" del $VETH_A
tap_run "the deleted device is gone" dev_gone xiw_$VETH_A
tap_run "deleting a device that does not exist is no error" in_a "$LINK" del $VETH_A
echo 'crc = 7' >$conf
says "$conf: line 1: 'crc' cannot be '7'; see xiw(7)." "$LINK" add $VETH_A
tap_run "no device is left without its policy" dev_gone xiw_$VETH_A
says "there is no interface nothing." "$LINK" add nothing
rm $conf
umount /etc

# ---- no device, no module ----

finds warn "$DEV_B: its interface is in another network" "ip netns exec"
link_del $DEV_B
finds FAIL "there is no xiw device" "xiw-link enable"
net_down
netns_mode exclusive || bail "the exclusive mode of RDMA namespaces"
net_up
finds FAIL "no device in this namespace" "rdma dev set DEVICE netns"
net_down
netns_mode shared || bail "the shared mode of RDMA namespaces"

modprobe -r xiw
echo 1 >/sys/module/module/parameters/sig_enforce
finds FAIL "refuses the module's signature" "mokutil --import" \
	diagnose "$DOCTOR" -n
finds FAIL "takes signed modules only, and xiw is not" "mokutil --import" \
	diagnose "$DOCTOR" -q
mkdir "$TMP/modules"
mount --bind "$TMP/modules" /lib/modules
finds FAIL "not installed for Linux $(uname -r)" "dkms autoinstall" \
	diagnose "$DOCTOR" -n
finds warn "this kernel takes signed modules only" "when DKMS has built it" \
	diagnose "$DOCTOR" -q
umount /lib/modules
tap_done
