# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# What every host-side script shares: one place for the cache, for messages,
# for installing packages and for choosing the kernel.  Sourced, never run.

set -euo pipefail

# shellcheck disable=SC2034  # used by the scripts that source this file
XIW_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
XIW_CACHE=${XIW_CACHE:-${HOME:-/root}/.cache/xiw}
# The kernel series of the distribution that xiw is developed against.
XIW_SERIES=${XIW_SERIES:-6.12}

# say MESSAGE...: progress, on stderr so that stdout stays for results.
say()
{
	printf 'xiw: %s\n' "$*" >&2
}

# die MESSAGE [REMEDY]: one clear sentence and what to do about it.
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

# need_space DIR MIB: refuse to begin what the disk cannot hold.
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
	# The lock must not be inherited by what CMD leaves behind.
	"$@" {fd}>&- || rc=$?
	exec {fd}>&-
	return "$rc"
}

# ticker: show every ten seconds that the step is alive, until it is over.
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
	quietly "$XIW_CACHE/log/apt-update.log" "fetching the package lists" \
		apt_get update ||
		die "the package lists could not be fetched." \
		    "check the network and /etc/apt/sources.list*, then try again."
	export XIW_APT_UPDATED=1
}

pkg_installed()
{
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# need_pkgs PACKAGE...: install those that are not there yet.
need_pkgs()
{
	local p missing=()

	command -v apt-get >/dev/null ||
		die "this is not a Debian-like system: apt-get is missing." \
		    "install by hand: $*"
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
		    "see $XIW_CACHE/log/apt-install.log; try 'apt-get -f install'."
}

# mirror: the address of the main archive this machine already installs from.
mirror()
{
	local uri

	# shellcheck disable=SC2016  # the names are apt-get's, not the shell's
	uri=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' \
		'Created-By: Packages' 'Origin: Debian' |
	      awk '$2 !~ /security|updates|backports/ { print $1; exit }')
	[[ -n $uri ]] || die "no Debian archive is among the apt sources." \
			     "add one to /etc/apt/sources.list and try again."
	printf '%s\n' "$uri"
}

# from_suite WORK LOG deb|deb-src SUITE APT-GET-ARGS...: what another release
# of the distribution has, in WORK/src.  With an apt configuration of its own:
# the sources of the system are neither used for it nor changed.
from_suite()
{
	local work=$1 log=$2 type=$3 suite=$4 uri opts

	shift 4
	need_pkgs dpkg-dev xz-utils ca-certificates
	[[ -n $(apt-get indextargets 'Created-By: Packages') ]] || apt_update
	uri=$(mirror)
	chmod 755 "$work"
	mkdir -p "$work/lists/partial" "$work/cache" "$work/src"
	echo "$type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
		"$uri $suite main" >"$work/sources.list"
	opts=(-q -o Dir::Etc::SourceList="$work/sources.list"
	      -o Dir::Etc::SourceParts=/dev/null
	      -o Dir::State::Lists="$work/lists"
	      -o Dir::Cache="$work/cache"
	      -o APT::Sandbox::User=root)
	quietly "$log" "fetching the index of $suite" \
		apt-get "${opts[@]}" update ||
		die "the index of $suite could not be fetched." \
		    "check that the mirror $uri carries $suite."
	cd "$work/src"
	quietly "$log" "fetching ${*: -1} of $suite" \
		apt-get "${opts[@]}" "$@" ||
		die "${*: -1} of $suite could not be fetched." "see $log"
}

# pkg_version PACKAGE: the installed version, without the epoch.
pkg_version()
{
	dpkg-query -W -f '${Version}' "$1" | sed 's/^[0-9]*://'
}

need_headers()
{
	need_pkgs "linux-headers-$XIW_SERIES-amd64" gcc make libc6-dev kmod
}

# stock_kver: release of the distribution's kernel, 6.12.x+deb12-amd64.
stock_kver()
{
	local kver

	kver=$(dpkg-query -W -f '${Depends}' "linux-headers-$XIW_SERIES-amd64" |
	       grep -o 'linux-headers-[0-9][^ ,]*' | head -n 1)
	[[ -n $kver ]] ||
		die "linux-headers-$XIW_SERIES-amd64 names no kernel release." \
		    "apt-get install --reinstall linux-headers-$XIW_SERIES-amd64"
	printf '%s\n' "${kver#linux-headers-}"
}

# have_stock: the distribution has kernels of this series, not only sources.
have_stock()
{
	[[ -n $(apt-cache pkgnames "linux-headers-$XIW_SERIES-amd64") ]]
}

# module_files ROOT RELEASE MODULE...: the files to load, in order, with their
# dependencies; nothing for what is built in.
module_files()
{
	local root=$1 release=$2

	shift 2
	modprobe -d "$root" -S "$release" -C /dev/null -a --show-depends "$@" |
		awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# clone_id: names this clone among those that share the cache.
clone_id()
{
	printf 'build-%s\n' "$(cksum <<<"$XIW_TOP" | cut -d ' ' -f 1)"
}

# pick_out NAME: sets OUT to build/vm/NAME, or to a numbered neighbour while
# another run still uses that, and keeps it until the script ends.
pick_out()
{
	local n fd

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

mkdir -p "$XIW_CACHE/lock" "$XIW_CACHE/log" 2>/dev/null ||
	die "the cache $XIW_CACHE cannot be written." \
	    "set XIW_CACHE to a directory of yours."
