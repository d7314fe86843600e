# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Common functions of the scripts that run on the host: the cache, messages,
# installing packages, choosing the kernel. Sourced, never run.

set -euo pipefail
# Other users have to read what is made here, above all apt's.
umask 022

# shellcheck disable=SC2034  # used by the scripts that source this file
XIW_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
[[ ${HOME:-} ]] || HOME=$(getent passwd "$(id -u)" | cut -d : -f 6) || HOME=
XIW_CACHE=${XIW_CACHE:-$HOME/.cache/xiw}
# The kernel series of the distribution against which xiw is developed, and the
# suite for series that the distribution does not have.
XIW_SERIES=${XIW_SERIES:-6.12}
XIW_SUITE=${XIW_SUITE:-trixie-backports}

# say MESSAGE...: progress, on stderr so that stdout stays for results.
say()
{
	printf 'xiw: %s\n' "$*" >&2
}

# die MESSAGE [REMEDY]: one sentence with the problem, and the remedy.
die()
{
	printf 'xiw: error: %s\n' "$1" >&2
	[[ -z ${2:-} ]] || printf 'xiw: remedy: %s\n' "$2" >&2
	exit 2
}

need_root()
{
	[[ $(id -u) -eq 0 ]] ||
		die "this step needs root." "run it again as root (sudo make ...)."
}

# need_space DIR MIB: fail early if the disk has less room than that.
need_space()
{
	local free

	free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
	[[ $free -ge $2 ]] ||
		die "$1 has $free MiB free, $2 MiB are needed." \
		    "free some space, or point XIW_CACHE at another disk."
}

# with_lock NAME CMD...: one user of a cache entry at a time, across clones.
with_lock()
{
	local name=$1 fd rc=0

	shift
	exec {fd}>"$XIW_CACHE/lock/$name"
	if ! flock -n "$fd"; then
		say "waiting for another run that prepares '$name'"
		flock "$fd"
	fi
	# Processes that CMD leaves behind must not inherit the lock.
	"$@" {fd}>&- || rc=$?
	exec {fd}>&-
	return "$rc"
}

# ticker: show every ten seconds that a step still runs.
ticker()
{
	local parent=$1 passed=0

	while sleep 10 2>/dev/null && kill -0 "$parent" 2>/dev/null; do
		passed=$((passed + 10))
		printf ' %ds' "$passed" >&2
	done
}

# quietly LOG DESCRIPTION CMD...: run a long step with its output in a file,
# and show the end of the file if it fails.  CMD stays in the foreground so
# that an interrupt reaches it.
quietly()
{
	local log=$1 what=$2 start=$SECONDS ticker rc=0

	shift 2
	mkdir -p "$(dirname "$log")"
	printf 'xiw: %s ...' "$what" >&2
	ticker $BASHPID >/dev/null &
	ticker=$!
	"$@" >"$log" 2>&1 </dev/null || rc=$?
	kill "$ticker" 2>/dev/null || :
	wait "$ticker" 2>/dev/null || :
	if ((rc)); then
		printf ' FAILED after %ds\n' "$((SECONDS - start))" >&2
		tail -n 25 "$log" >&2
		say "the whole output is in $log"
		return "$rc"
	fi
	printf ' done (%ds)\n' "$((SECONDS - start))" >&2
}

apt_get()
{
	DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 \
		-o APT::Install-Recommends=false -o Dpkg::Use-Pty=0 "$@"
}

# apt_update: fetch the package lists once per run of a make target.
apt_update()
{
	[[ -z ${XIW_APT_UPDATED:-} ]] || return 0
	[[ $(id -u) -eq 0 ]] ||
		die "apt's package lists are missing." \
		    "run 'apt-get update' as root."
	# apt-get waits for the lock of packages, but not for that of the lists.
	with_lock apt-lists \
		quietly "$XIW_CACHE/log/apt-update.log" \
		"fetching the package lists" apt_get update ||
		die "the package lists could not be fetched." \
		    "check the network and /etc/apt/sources.list*, then try again."
	export XIW_APT_UPDATED=1
}

pkg_installed()
{
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# need_pkgs PACKAGE...: install those that are missing. Without apt-get the
# names of packages are unknown, and a missing program fails when it is used.
need_pkgs()
{
	local p missing=()

	if ! command -v apt-get >/dev/null; then
		for p in "$@"; do
			command -v "$p" >/dev/null || missing+=("$p")
		done
		((${#missing[@]} == 0)) ||
			say "this system should have what Debian calls ${missing[*]}"
		return 0
	fi
	for p in "$@"; do
		pkg_installed "$p" || missing+=("$p")
	done
	((${#missing[@]})) || return 0
	[[ $(id -u) -eq 0 ]] ||
		die "packages are missing: ${missing[*]}." \
		    "run as root, or install them: apt-get install ${missing[*]}"
	need_space /var/cache/apt 1024
	apt_update
	quietly "$XIW_CACHE/log/apt-install.log" "installing ${missing[*]}" \
		apt_get install -y "${missing[@]}" ||
		die "packages could not be installed: ${missing[*]}." \
		    "run 'dpkg --configure -a' and 'apt-get -f install', then try again."
}

# need_guest KERNEL [PACKAGE...]: installs all packages that a guest with this kernel of
# run-vm needs in any of its steps, at once, so that an error names all that are missing.
need_guest()
{
	local packages=(kmod iproute2 rdmacm-utils ibverbs-utils perftest gcc make
			libc6-dev binutils cpio xz-utils dpkg-dev ca-certificates
			libibverbs-dev librdmacm-dev pkg-config python3)

	case $1 in
	uml | kasan | vtime | core)
		packages+=(build-essential bc flex bison patch git unifdef) ;;
	debug | kcsan | rt)
		packages+=(build-essential bc flex bison libelf-dev qemu-system-x86) ;;
	stock)
		packages+=(patch pahole qemu-system-x86) ;;
	*)
		arch_of "$1"
		packages+=("$qemu_package") ;;
	esac
	need_pkgs "${packages[@]}" "${@:2}"
}

# need_lists: apt needs package lists to find any package.
need_lists()
{
	command -v apt-get >/dev/null ||
		die "there is no apt-get to fetch anything with." \
		    "use a Debian machine for this."
	[[ -n $(apt-get indextargets 'Created-By: Packages') ]] || apt_update
}

# mirror: the address of the main archive from which this machine installs.
mirror()
{
	local uri

	# shellcheck disable=SC2016  # the names are apt-get's, not the shell's
	uri=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' \
		'Created-By: Packages' 'Origin: Debian' |
	      awk '$2 !~ /security|updates|backports/ && !n++ { print $1 }')
	[[ -n $uri ]] || die "no Debian archive is among the apt sources." \
			     "add one to /etc/apt/sources.list and try again."
	printf '%s\n' "$uri"
}

# suite_line deb|deb-src SUITE: the source of a suite, as a line for apt.
# Security fixes are in an archive of their own.
suite_line()
{
	local uri

	uri=$(mirror)
	[[ $2 != *-security ]] || uri=${uri%/}-security
	echo "$1 [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
		"$uri $2 main"
}

# apt_state DIR LINE: an apt of its own in DIR, with one source; sets its
# options in APT_OPTS. The sources of the system are neither used nor changed.
apt_state()
{
	chmod 755 "$1"
	mkdir -p "$1/lists/partial" "$1/cache"
	echo "$2" >"$1/sources.list"
	APT_OPTS=(-q -o Dir::Etc::SourceList="$1/sources.list"
		  -o Dir::Etc::SourceParts=/dev/null
		  -o Dir::State::Lists="$1/lists"
		  -o Dir::Cache="$1/cache"
		  -o APT::Sandbox::User=root)
}

# from_suite WORK LOG deb|deb-src SUITE APT-GET-ARGS...: downloads from another
# release of the distribution, to WORK/src.
from_suite()
{
	local work=$1 log=$2 type=$3 suite=$4

	shift 4
	need_pkgs dpkg-dev xz-utils ca-certificates
	need_lists
	mkdir -p "$work/src"
	apt_state "$work" "$(suite_line "$type" "$suite")"
	quietly "$log" "fetching the index of $suite" \
		apt-get "${APT_OPTS[@]}" update ||
		die "the index of $suite could not be fetched." \
		    "check that the mirror $(mirror) carries $suite."
	cd "$work/src"
	quietly "$log" "fetching ${*: -1} of $suite" \
		apt-get "${APT_OPTS[@]}" "$@" ||
		die "${*: -1} of $suite could not be fetched." "see $log"
}

# suite_apt SUITE: sets APT_OPTS to those of an apt with the current packages of
# a suite, and without the installed packages of this machine.
suite_apt()
{
	local dir=$XIW_CACHE/suite-$1

	need_pkgs ca-certificates
	need_lists
	mkdir -p "$dir"
	apt_state "$dir" "$(suite_line deb "$1")"
	: >"$dir/status"
	APT_OPTS+=(-o Dir::State::Status="$dir/status")
	[[ -z $(find "$dir/fetched" -mtime -1 2>/dev/null) ]] || return 0
	with_lock "suite-$1" quietly "$XIW_CACHE/log/suite-$1.log" \
		"fetching the index of $1" apt-get "${APT_OPTS[@]}" update || {
		rm -rf "$dir"
		return 1
	}
	touch "$dir/fetched"
}

# pkg_version PACKAGE: the installed version, without the epoch.
pkg_version()
{
	dpkg-query -W -f '${Version}' "$1" | sed 's/^[0-9]*://'
}

# releases: reads names of packages, and prints the kernels with headers among
# them.
releases()
{
	sed -n 's/^linux-headers-\(.*\)-common$/\1-amd64/p' | sort -Vu
}

# bootable APT-OPTION...: prints the kernels that have headers and an image. An image is
# signed, and published some time after the headers.
bootable()
{
	local all

	all=$(apt-cache "$@" pkgnames linux-)
	releases <<<"$all" | grep -xFf <(sed -n 's/^linux-image-//p' <<<"$all") || :
}

# of_series: the newest of these that belongs to the series XIW_SERIES.
of_series()
{
	awk -v "series=$XIW_SERIES" '
		index($0, series ".") == 1 || index($0, series "-") == 1 {
			last = $0 } END { if (last) print last }'
}

# know_stock: sets XIW_STOCK, for this script and its children, to the series,
# "own" or "suite" (which of them has kernels of it, not only sources), and the
# release of the stock kernel. apt takes seconds, so the result is kept until
# its lists or the installed packages change.
know_stock()
{
	local kver all where=own kept=$XIW_CACHE/stock-of-$XIW_SERIES

	[[ ${XIW_STOCK:-} != "$XIW_SERIES "* ]] || return 0
	if [[ $kept -nt /var/lib/apt/lists && $kept -nt /var/lib/dpkg/status ]]; then
		read -r XIW_STOCK <"$kept"
		export XIW_STOCK
		return
	fi
	need_lists
	all=$(bootable)
	kver=$(of_series <<<"$all")
	if [[ -n $kver ]]; then
		kver=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' \
			'linux-*' | sed -n 's/^installed //p' |
		       releases | grep -xF "$all" | of_series | grep . ||
		       echo "$kver")
	else
		where=suite
		suite_apt "$XIW_SUITE" >&2
		kver=$(bootable "${APT_OPTS[@]}" | of_series)
	fi
	[[ -n $kver ]] ||
		die "neither this distribution nor $XIW_SUITE has a kernel of the series $XIW_SERIES." \
		    "choose another XIW_SERIES, or the XIW_SUITE that has it."
	export XIW_STOCK="$XIW_SERIES $where $kver"
	# The lists of another suite are updated separately.
	[[ $where != own ]] || echo "$XIW_STOCK" >"$kept"
}

# have_stock: the distribution itself has kernels of this series.
have_stock()
{
	know_stock
	[[ $XIW_STOCK == "$XIW_SERIES own "* ]]
}

# stock_kver: release of the stock kernel of this series, such as
# 6.12.x+deb12-amd64: the one with headers installed, or else the newest one;
# that of the suite XIW_SUITE if the distribution has none.
stock_kver()
{
	know_stock
	printf '%s\n' "${XIW_STOCK##* }"
}

# stock_kdir: the build directory for modules of that kernel, whose headers are
# installed, or else unpacked in the cache.
stock_kdir()
{
	local kver

	kver=$(stock_kver)
	need_pkgs gcc make libc6-dev kmod >&2
	if ! have_stock; then
		"$XIW_TOP/scripts/get-headers" "$XIW_SUITE" "$kver"
	elif pkg_installed "linux-headers-$kver"; then
		printf '/usr/src/linux-headers-%s\n' "$kver"
	else
		"$XIW_TOP/scripts/get-stock-headers"
	fi
}

# kernel_release KDIR: release of the kernel that is built in KDIR. The file
# kernel.release in the tree may differ if a packager changed it.
kernel_release()
{
	local release

	release=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' \
		"$1/include/generated/utsrelease.h" 2>/dev/null)
	[[ -n $release ]] ||
		die "$1 is no kernel build directory." \
		    "install linux-headers for that kernel, or choose KDIR=..."
	printf '%s\n' "$release"
}

# kernel_make KDIR ARGS...: make in a kernel's build directory; if that is in a
# root of its own, with the tools of that root.
kernel_make()
{
	local kdir=$1 root tools

	shift
	read -ra tools < <(sh \
		"$XIW_TOP/drivers/infiniband/sw/xiw/compat/toolchain" "$kdir") || :
	set -- "${tools[@]}" "$@"
	if [[ $kdir != "$XIW_CACHE"/root-*/* ]]; then
		make --no-print-directory -C "$kdir" "$@"
		return
	fi
	need_root
	root=${kdir%%/usr/src/*}
	mkdir -p "$root$XIW_TOP" "$root$XIW_CACHE"
	# shellcheck disable=SC2016  # for the inner shell
	XIW_TOP=$XIW_TOP XIW_CACHE=$XIW_CACHE unshare -m bash -ec 'root=$1
		shift
		mount --bind "$XIW_CACHE" "$root$XIW_CACHE"
		mount --bind "$XIW_TOP" "$root$XIW_TOP"
		mount --bind /dev "$root/dev"
		mount -t proc proc "$root/proc"
		exec chroot "$root" make --no-print-directory -C "$@"' \
		bash "$root" "${kdir#"$root"}" "$@"
}

# module_files ROOT RELEASE MODULE...: the files to load, in order, with their
# dependencies; nothing for built-in modules.
module_files()
{
	local root=$1 release=$2

	shift 2
	modprobe -d "$root" -S "$release" -C /dev/null -a --show-depends "$@" |
		awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# arch_of ARCH: sets the names of another architecture in the distribution,
# GNU's compilers, the kernel, and QEMU.
arch_of()
{
	arch=$1
	# shellcheck disable=SC2034  # used by the scripts that source this file
	case $arch in
	arm64)
		gnu=aarch64-linux-gnu karch=arm64
		qemu=(qemu-system-aarch64 -M virt -cpu cortex-a72)
		qemu_package=qemu-system-arm bus=pci console=ttyAMA0 ;;
	s390x)
		gnu=s390x-linux-gnu karch=s390
		qemu=(qemu-system-s390x -M s390-ccw-virtio -cpu max)
		qemu_package=qemu-system-misc bus=ccw console=ttysclp0 ;;
	*)
		die "nothing is known of the architecture '$arch'." \
		    "choose arm64 or s390x." ;;
	esac
}

# arch_cc ROOT: a compiler for programs of that root.
arch_cc()
{
	printf '%s-gcc --sysroot=%s\n' "$gnu" "$1"
}

# clone_id: a name for this clone, as several may share the cache.
clone_id()
{
	printf 'build-%s\n' "$(cksum <<<"$XIW_TOP" | cut -d ' ' -f 1)"
}

# pick_out NAME: sets OUT to build/vm/NAME, or to a numbered neighbour while
# another run uses that, and keeps it until the script ends.
pick_out()
{
	local n fd

	need_space "$XIW_CACHE" 64
	need_space "$XIW_TOP" 64
	mkdir -p "$XIW_TOP/build/vm"
	for n in '' .{2..9}; do
		OUT=$XIW_TOP/build/vm/$1$n
		exec {fd}>"$OUT.lock"
		! flock -n "$fd" || break
		exec {fd}>&-
	done
	rm -rf "$OUT"
	mkdir -p "$OUT"
}

# slowness: prints how many times slower this machine is now than the one for which the
# tests have their limits, with two idle processors: 1 to 10.
slowness()
{
	local usual=230000 start=${EPOCHREALTIME//[!0-9]/} i n loops=() slow

	for n in 1 2; do
		(for ((i = 0; i < 100000; i++)); do :; done) &
		loops+=($!)
	done
	wait "${loops[@]}"
	slow=$(((${EPOCHREALTIME//[!0-9]/} - start + usual / 2) / usual))
	echo $((slow < 1 ? 1 : slow > 10 ? 10 : slow))
}

# repeated CMD...: runs CMD, which returns the exit status of run-vm; once more if the
# emulator ended the guest.
repeated()
{
	local rc=0

	"$@" || rc=$?
	((rc == 96)) || return "$rc"
	"$@"
}

# check_place: refuses a place where nothing can be built, before anything is fetched.
check_place()
{
	[[ $XIW_TOP$XIW_CACHE != *[[:space:],:\'\"\#\$%*?\\]* ]] ||
		die "make and QEMU cannot take a path with a blank or such: '$XIW_TOP', '$XIW_CACHE'." \
		    "move the clone, or set XIW_CACHE."
	[[ -w $XIW_TOP ]] ||
		die "the clone $XIW_TOP cannot be written; its directory build would be there." \
		    "copy it to a directory of yours: git clone $XIW_TOP"
	{
		mkdir -p "$XIW_CACHE/lock" "$XIW_CACHE/log" &&
		[[ -w $XIW_CACHE/lock && -w $XIW_CACHE/log ]] &&
		XIW_CACHE=$(cd "$XIW_CACHE" && pwd -P)
	} 2>/dev/null ||
		die "the cache $XIW_CACHE cannot be written." \
		    "set XIW_CACHE to a directory of yours."
}

# A guest only reads.
[[ ${XIW_OUT:-} ]] || check_place
