#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# In a guest: systemd with the packages installed.  It runs as the first process
# of a namespace of processes, with a root of its own in memory above the
# host's, and with the guest's devices, network and cgroups.  A restart is one
# of systemd with everything on disk, after which interface, RDMA device and
# module are gone as after one of the machine.

. "$(dirname "$0")/../selftests/lib.sh"
ROOT=/mnt/root
NIC=eth9
conf=/etc/xiw/$NIC.conf
xiw=xiw_$NIC
mpa=/sys/class/infiniband/$xiw/mpa

# sd CMD...: in there.
sd()
{
	nsenter -t "$init" -m -p -r -w timeout -k 5 "$XIW_TIMEOUT" "$@"
}

# What has nothing to do here, would look through all of the host's files, or
# wants what is not there.
MASKED=(apparmor blk-availability console-setup ifupdown-pre keyboard-setup
	lvm2-monitor nftables plymouth-start systemd-hwdb-update
	systemd-modules-load systemd-pcrphase-sysinit systemd-pstore
	systemd-random-seed systemd-sysusers systemd-timesyncd
	systemd-tmpfiles-setup systemd-update-utmp)

make_root()
{
	local name dir=/mnt/disk/upper/etc/systemd/system

	mkdir -p /mnt/disk/work $dir $ROOT
	mount --make-rprivate /
	for name in "${MASKED[@]}"; do
		ln -s /dev/null "$dir/$name.service"
	done
	# Of the host's, whose disks are not here.
	: >/mnt/disk/upper/etc/fstab
}

started()
{
	[[ $(sd systemctl is-system-running) == @(running|degraded) ]]
}

# start_up: until nothing is queued any more.
start_up()
{
	mount -t overlay overlay $ROOT -o \
		lowerdir=/,upperdir=/mnt/disk/upper,workdir=/mnt/disk/work &&
	mount --bind /lib/modules $ROOT/lib/modules &&
	mount -t tmpfs tmpfs $ROOT/tmp || return
	# Images of containers forbid packages to stop a service.
	rm -f $ROOT/usr/sbin/policy-rc.d
	ip link add $NIC type veth peer name far9
	ip link set far9 up
	unshare --mount --pid --fork --kill-child \
		chroot $ROOT /lib/systemd/systemd --unit=sysinit.target \
		--show-status=no >"$TMP/systemd" 2>&1 </dev/null &
	box=$!
	wait_for 30 pgrep -P $box || return
	init=$(pgrep -P $box)
	wait_for 300 started
}

shut_down()
{
	# Without D-Bus it says so, and asks systemd itself.
	sd systemctl --no-block poweroff 2>"$TMP/poweroff"
	wait_for 120 box_gone || kill -9 "$init"
	wait "$box"
	ip link del $NIC 2>/dev/null
	umount -l $ROOT
	modprobe -r xiw
}

box_gone()
{
	! kill -0 "$box"
}

unit_is()
{
	[[ $(sd systemctl is-active "xiw@$1") == "$2" ]]
}

nic_add()
{
	ip link add $NIC type veth peer name far9 && ip link set far9 up
}

make_root
start_up
tap_result $? "systemd starts"
((tap_failed == 0)) || {
	tap_show "$TMP/systemd"
	sd systemctl list-jobs | sed 's/^/# /'
	bail "set-up: there is no systemd to test with"
}

# ---- the packages ----

debs=("$XIW_TOP"/build/deb/xiw-tools_*.deb
      "$XIW_TOP"/build/deb/xiw-ibverbs-provider_*.deb)
# That of the manual pages alone would take minutes.
sd prlimit --memlock=65536 dpkg --no-triggers -i "${debs[@]}" >"$TMP/dpkg" 2>&1
tap_result $? "the packages can be installed"
grep -q '^warn  only 64 KiB of memory.* -> .*LimitMEMLOCK' "$TMP/dpkg"
tap_result $? "and warn of what a device would suffer from"
((tap_failed == 0)) || tap_show "$TMP/dpkg"
tap_run "the unit is well formed" \
	sd systemd-analyze verify --man=no xiw@$NIC.service

# ---- the unit ----

echo 'crc = 0' | sd tee $conf >"$TMP/tee"
tap_run "it is enabled and started" sd systemctl enable --now xiw@$NIC
tap_run "its device is there" dev_exists $xiw
tap_is "with the policy of its file" "$(cat $mpa/crc)" 0
echo 'crc = 1' | sd tee $conf >"$TMP/tee"
sd systemctl reload xiw@$NIC
tap_is "systemctl reload sets it again" "$(cat $mpa/crc)" 1

ip link del $NIC
tap_run "the unit ends with the interface" wait_for 30 unit_is $NIC inactive
tap_run "the device as well" wait_for 10 dev_gone $xiw
nic_add
tap_run "an interface that comes back has a device again" \
	wait_for 30 dev_exists $xiw
wait_for 30 unit_is $NIC active

ip link set $NIC name eth8
tap_run "one that is renamed loses it" wait_for 30 dev_gone $xiw
ip link set eth8 name $NIC
tap_run "one that gets the name has it" wait_for 30 dev_exists $xiw
wait_for 30 unit_is $NIC active
sd systemctl enable xiw@eth8 2>"$TMP/enable"
ip link set $NIC name eth8
tap_run "with units for both names it is there under the new one" \
	wait_for 30 dev_exists xiw_eth8
tap_run "and not under the old one" wait_for 30 dev_gone $xiw
tap_run "whose unit has ended" wait_for 30 unit_is $NIC inactive
wait_for 30 unit_is eth8 active
sd systemctl disable --now xiw@eth8 2>"$TMP/disable"
ip link set eth8 name $NIC
wait_for 30 unit_is $NIC active

echo 'colour = red' | sd tee $conf >"$TMP/tee"
sd systemctl restart xiw@$NIC 2>"$TMP/restart"
tap_is "a bad file fails the unit" "$(sd systemctl is-active xiw@$NIC)" failed
sd systemctl status xiw@$NIC >"$TMP/status"
grep -q "$conf: line 1: there is no setting 'colour'" "$TMP/status"
tap_result $? "which says why"
tap_run "and there is no device" dev_gone $xiw
echo 'crc = 0' | sd tee $conf >"$TMP/tee"

# ---- a restart ----

shut_down
tap_run "nothing is left when the system is down" dev_gone $xiw
start_up
tap_result $? "systemd starts again"
tap_run "the device comes by itself" wait_for 60 dev_exists $xiw
wait_for 30 unit_is $NIC active
tap_is "with its policy" "$(cat $mpa/crc)" 0
sd systemctl disable --now xiw@$NIC 2>"$TMP/disable"
tap_run "and goes when it is disabled" dev_gone $xiw

# ---- the rule ----

sd ln -s /usr/share/xiw/90-xiw.rules /etc/udev/rules.d/
sd udevadm control --reload
sd udevadm trigger --settle -s net -c add
tap_run "the udev rule makes a device where there is a file" \
	wait_for 30 dev_exists $xiw
ip link del $NIC
wait_for 30 dev_gone $xiw
nic_add
tap_run "also for an interface that comes later" wait_for 30 dev_exists $xiw
wait_for 30 unit_is $NIC active
sd rm /etc/udev/rules.d/90-xiw.rules
sd udevadm control --reload
sd systemctl enable xiw@$NIC 2>"$TMP/enable"

# ---- without a trace ----

tap_run "the packages can be removed" \
	sd dpkg --no-triggers -r xiw-tools xiw-ibverbs-provider
tap_run "the device goes with them" dev_gone $xiw
tap_run "and purged" sd dpkg --no-triggers -P xiw-tools xiw-ibverbs-provider
# All that was written since the beginning is there.
tap_is "nothing of them is left" "$(find /mnt/disk/upper -name '*xiw*')" ""
tap_is "the system is in order" "$(sd systemctl --failed --no-legend |
	grep -c xiw)" 0
shut_down
tap_done
