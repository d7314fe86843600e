#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# boot.sh install MODULE KDIR: in a guest: systemd, in which the packages are
# installed.
# boot.sh again: in the next guest, with the same disk: do they work after a
# restart, and are they removed without a trace?
#
# systemd runs as the first process of a PID namespace. Its root is an overlay of the
# host's root, writable on the disk; devices, network and cgroups are the guest's.
# MODULE is a module that DKMS has built on the host: a build in the guest would take
# ten minutes, so make is replaced by a script that copies it. KDIR is the build
# directory of the kernel.

. "$(dirname "$0")/../selftests/lib.sh"
ROOT=/mnt/root
DISK=/mnt/disk
RPM=(rpm --dbpath /var/tmp/rpm)
kver=$(uname -r)
NIC=eth9
conf=/etc/xiw/$NIC.conf
xiw=xiw_$NIC
mpa=/sys/class/infiniband/$xiw/mpa

# sd CMD...: runs a command in the namespaces and the root of systemd.
sd()
{
	nsenter -t "$init" -m -p -r -w timeout -k 5 $((XIW_TIMEOUT * SLOW)) "$@"
}

# Units that are useless here, scan all of the host's files, or need hardware that the
# guest does not have.
MASKED=(apparmor blk-availability console-setup ifupdown-pre keyboard-setup
	lvm2-monitor nftables plymouth-start systemd-hwdb-update
	systemd-modules-load systemd-pcrphase-sysinit systemd-pstore
	systemd-random-seed systemd-sysusers systemd-timesyncd
	systemd-tmpfiles-setup systemd-update-utmp)

# disk_up: mounts the disk, and the root for systemd, an overlay that writes to $DISK.
disk_up()
{
	mkdir -p $DISK $ROOT
	mount --make-rprivate /
	{
		modprobe -a nvme ext4 && wait_for 20 test -b /dev/nvme0n1 &&
			mount /dev/nvme0n1 $DISK
	} || bail "set-up: there is no disk"
	mkdir -p $DISK/{root,modules}/{upper,work}
	{
		layer root / $ROOT &&
		layer modules /lib/modules $ROOT/lib/modules &&
		# The kernel loads modules from the root of its first process.
		mount --bind $ROOT/lib/modules /lib/modules &&
		# The guest needs the clone, which may be below /tmp.
		mount --rbind /tmp $ROOT/tmp
	} || bail "set-up: there is no root"
}

# layer NAME LOWER DIR: mounts on DIR an overlay of LOWER, which writes to $DISK/NAME.
layer()
{
	local dir=$DISK/$1

	mount -t overlay overlay "$3" \
		-o "lowerdir=$2,upperdir=$dir/upper,workdir=$dir/work"
}

# make_root MODULE KDIR: changes files in the root of systemd: masks units, puts MODULE
# and KDIR in place, replaces make.
make_root()
{
	local name dir=$ROOT/etc/systemd/system

	for name in "${MASKED[@]}"; do
		ln -sf /dev/null "$dir/$name.service"
	done
	# Empty fstab: the host's names disks that the guest does not have.
	: >$ROOT/etc/fstab
	# The host may be a container whose image forbids packages to stop a service.
	rm -f $ROOT/usr/sbin/policy-rc.d
	# Remove the module that other tests use in a guest.
	rm -f "$ROOT/lib/modules/$kver"/updates/xiw*
	ln -sfn "$2" "$ROOT/lib/modules/$kver/build"
	cp "$1" $ROOT/usr/local/lib/made.ko
	# Replace make itself: rpm's scripts do not search /usr/local.
	rm -f $ROOT/usr/bin/make
	cat >$ROOT/usr/bin/make <<-'END'
		#!/bin/sh
		for arg; do
			case $arg in M=*) dir=${arg#M=} ;; esac
		done
		[ "$arg" != modules ] || cp /usr/local/lib/made.ko \
			"$dir/drivers/infiniband/sw/xiw/xiw.ko"
	END
	chmod 755 $ROOT/usr/bin/make
}

started()
{
	[[ $(sd systemctl is-system-running) == @(running|degraded) ]]
}

# start_up: starts systemd, and waits until it has no queued jobs.
start_up()
{
	nic_add
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
	# systemctl prints that there is no D-Bus, and uses systemd's own socket.
	sd systemctl --no-block poweroff 2>"$TMP/poweroff"
	wait_for 120 box_gone || kill -9 "$init"
	wait "$box"
	ip link del $NIC 2>/dev/null
	umount /lib/modules
	umount -R $ROOT && umount $DISK
	tap_result $? "no process uses the disk any more"
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

# begin: starts systemd; ends the test if that fails.
begin()
{
	start_up
	tap_result $? "systemd starts"
	((tap_failed == 0)) || {
		tap_show "$TMP/systemd"
		sd systemctl list-jobs | sed 's/^/# /'
		bail "set-up: there is no systemd to test with"
	}
}

# left: prints the names of all files of xiw that were written to the disk.
left()
{
	find $DISK/*/upper ! -type c \( -name '*xiw*' \
		-o -name 'sys-subsystem-net-*' \) -printf '%P ' -prune
}

# passes: true if an rping from the device to itself succeeds, with verified data.
passes()
{
	local server

	ip addr replace "$A4/24" dev "$NIC" && ip link set "$NIC" up &&
	wait_for 20 port_active "$xiw" || return
	sd rping -s -V -a "$A4" -C 10 &
	server=$!
	wait_for 20 hears && sd rping -c -V -a "$A4" -C 10 && wait "$server"
}

hears()
{
	[[ -n $(ss -Hltn "src $A4:7174") ]]
}

# no_trace: the claims that the removed packages have left no device, module or unit.
no_trace()
{
	tap_run "the device went with the packages" dev_gone $xiw
	tap_run_not "the module is no longer loaded" test -e /sys/module/xiw
	tap_run_not "nor is there one to load" sd modinfo xiw
	tap_is "DKMS has no module of the packages" "$(sd dkms status)" ""
	ip link del $NIC
	nic_add
	tap_run "an interface that comes back" wait_for 30 sd systemctl \
		is-active sys-subsystem-net-devices-$NIC.device
	tap_is "an interface that comes back finds no unit" \
		"$(sd systemctl list-units --all --plain --no-legend 'xiw*')" ""
}

# ---- the packages ----

check_install()
{
	local debs=("$XIW_TOP"/build/deb/xiw-{dkms,tools,ibverbs-provider}_*.deb)

	# Without triggers: the one of man-db alone would take minutes.
	XIW_TIMEOUT=600 sd prlimit --memlock=65536 \
		dpkg --no-triggers -i "${debs[@]}" >"$TMP/dpkg" 2>&1
	tap_result $? "the packages can be installed"
	grep -q '^warn  only 64 KiB of memory.* -> .*LimitMEMLOCK' "$TMP/dpkg"
	tap_result $? "the packages warn of a low limit of locked memory"
	((tap_failed == 0)) || tap_show "$TMP/dpkg"
	tap_is "the module is where DKMS puts it" "$(sd modinfo -n xiw)" \
		"/lib/modules/$kver/updates/dkms/xiw.ko"
	tap_run "the unit is well formed" \
		sd systemd-analyze verify --man=no xiw@$NIC.service
}

# ---- the unit ----

check_unit()
{
	echo 'crc = 0' | sd tee $conf >"$TMP/tee"
	tap_run "the unit is enabled and started" sd /usr/libexec/xiw-link enable $NIC
	tap_run "the device of the unit exists" dev_exists $xiw
	tap_is "the device has the policy of the unit's file" "$(cat $mpa/crc)" 0
	echo 'crc = 1' | sd tee $conf >"$TMP/tee"
	sd systemctl reload xiw@$NIC
	tap_is "systemctl reload sets the policy again" "$(cat $mpa/crc)" 1

	ip link del $NIC
	tap_run "the unit ends with the interface" \
		wait_for 30 unit_is $NIC inactive
	tap_run "the device ends with the interface" wait_for 10 dev_gone $xiw
	nic_add
	tap_run "an interface that comes back has a device again" \
		wait_for 30 dev_exists $xiw
	wait_for 30 unit_is $NIC active

	ip link set $NIC name eth8
	tap_run "an interface that is renamed loses its device" \
		wait_for 30 dev_gone $xiw
	ip link set eth8 name $NIC
	tap_run "an interface that gets the name has a device" \
		wait_for 30 dev_exists $xiw
	wait_for 30 unit_is $NIC active
	sd systemctl enable xiw@eth8 2>"$TMP/enable"
	ip link set $NIC name eth8
	tap_run "with units for both names it is there under the new one" \
		wait_for 30 dev_exists xiw_eth8
	tap_run "there is no device of the old name" wait_for 30 dev_gone $xiw
	tap_run "the unit of the old name has ended" wait_for 30 unit_is $NIC inactive
	wait_for 30 unit_is eth8 active
	sd systemctl disable --now xiw@eth8 2>"$TMP/disable"
	ip link set eth8 name $NIC
	wait_for 30 unit_is $NIC active

	echo 'colour = red' | sd tee $conf >"$TMP/tee"
	sd systemctl restart xiw@$NIC 2>"$TMP/restart"
	tap_is "a bad file fails the unit" \
		"$(sd systemctl is-active xiw@$NIC)" failed
	sd systemctl status xiw@$NIC >"$TMP/status"
	grep -q "$conf: line 1: there is no setting 'colour'" "$TMP/status"
	tap_result $? "the failed unit says why"
	tap_run "a unit that failed has made no device" dev_gone $xiw
	echo 'crc = 0' | sd tee $conf >"$TMP/tee"
}

# ---- a restart ----

check_restart()
{
	tap_run "after a restart the device comes by itself" wait_for 60 dev_exists $xiw
	wait_for 30 unit_is $NIC active
	tap_is "after a restart the device has its policy" "$(cat $mpa/crc)" 0
	tap_run "rping passes" passes
	sd systemctl disable --now xiw@$NIC 2>"$TMP/disable"
	tap_run "the device goes when the unit is disabled" dev_gone $xiw
}

# ---- the udev rule ----

check_rule()
{
	sd ln -s /usr/share/xiw/90-xiw.rules /etc/udev/rules.d/
	sd udevadm control --reload
	sd udevadm trigger --settle -s net -c add
	tap_run "the udev rule makes a device where there is a file" \
		wait_for 30 dev_exists $xiw
	ip link del $NIC
	wait_for 30 dev_gone $xiw
	nic_add
	tap_run "also for an interface that comes later" \
		wait_for 30 dev_exists $xiw
	wait_for 30 unit_is $NIC active
}

# ---- without a trace ----

# The package of the module is removed first, while the others still use the module.
check_removal()
{
	local names=(xiw-dkms xiw-tools xiw-ibverbs-provider)

	sd systemctl enable xiw@$NIC 2>"$TMP/enable"
	XIW_TIMEOUT=600 tap_run "the packages can be removed" \
		sd dpkg --no-triggers -r "${names[@]}"
	tap_run "the packages can be purged" sd dpkg --no-triggers -P "${names[@]}"
	no_trace
	tap_is "nothing of the packages is left" "$(left)" ""
}

# The RPM packages install units, the module and devices.  Dependencies cannot be
# checked, as Debian's packages are not in rpm's database; and the provider is in a
# directory that this libibverbs does not search, so rping cannot run.
check_rpm()
{
	local rpms=("$XIW_TOP"/build/rpm/xiw-*.rpm) ko

	XIW_TIMEOUT=600 tap_run "the RPM packages can be installed" \
		sd "${RPM[@]}" -i --nodeps "${rpms[@]}"
	ko=$(sd modinfo -n xiw)
	tap_is "the module is where DKMS puts it" "$ko" \
		"/lib/modules/$kver/updates/dkms/xiw.ko"
	sd find /var/lib/dkms "$ko" -name xiw.ko -exec truncate -s 0 {} +
	XIW_TIMEOUT=600 sd "${RPM[@]}" -U --replacepkgs --nodeps \
		"$XIW_TOP"/build/rpm/xiw-dkms-*.rpm >"$TMP/rpm" 2>&1
	tap_result $? "the package of the module can be installed again"
	tap_run "the installation builds the module again" sd test -s "$ko"
	echo 'crc = 0' | sd tee $conf >"$TMP/tee"
	sd ln -sf /usr/share/xiw/90-xiw.rules /etc/udev/rules.d/
	tap_run "the unit is enabled and started" \
		sd systemctl enable --now xiw@$NIC
	tap_is "there is a device with its policy" "$(cat $mpa/crc)" 0
	XIW_TIMEOUT=600 tap_run "the RPM packages can be removed" \
		sd "${RPM[@]}" -e --nodeps \
		xiw-dkms xiw-tools xiw-ibverbs-provider
	no_trace
	sd rm $conf
	sd rmdir /etc/xiw
	tap_is "nothing is left but the administrator's file" "$(left)" ""
}

disk_up
case $1 in
install)
	make_root "$2" "$3"
	begin
	check_install
	check_unit ;;
again)
	begin
	check_restart
	check_rule
	check_removal
	check_rpm ;;
esac
shut_down
tap_done
