#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Runs the workflow of Documentation/ci-recipe.rst, step by step, in an overlay of this
# machine's root, as an ordinary user with sudo.
#
# ci.sh build BOX RELEASE KDIR RDMA-CORE: on the host, as root, in a mount
# namespace: the steps that need only headers and a compiler, for the kernel RELEASE,
# which is built in KDIR. All files that they write are packed into the archive BOX.
# ci.sh run BOX: the other steps, in a guest with that kernel. Prints TAP.
#
# There is no network: apt-get is replaced by a script that checks if the packages are
# installed, git finds its repositories on disk, and on the host uname prints RELEASE.

. "$(dirname "$0")/../../scripts/common.sh"

ON_HOST=(Packages 'Build xiw')
ROOT=/mnt/root
LAYER=/mnt/layer
WORK=/home/runner/work

workflow()
{
	"$XIW_TOP/tests/packaging/workflow" "$@"
}

# root_up: mounts the overlay, which writes to $LAYER/upper.
root_up()
{
	local dir

	mkdir -p $LAYER/upper $LAYER/work $ROOT
	mount -t overlay -o \
		lowerdir=/,upperdir=$LAYER/upper,workdir=$LAYER/work overlay $ROOT
	for dir in proc sys dev; do
		mount --rbind /$dir $ROOT/$dir
	done
	mount -t tmpfs -o mode=1777 tmpfs $ROOT/tmp
	# The kernel's build directory may be on another disk.
	if [[ ! -e $ROOT$XIW_CACHE/lock ]]; then
		mkdir -p "$ROOT$XIW_CACHE"
		mount --bind "$XIW_CACHE" "$ROOT$XIW_CACHE"
	fi
}

# step NAME: runs the script of that step as the CI service does.
step()
{
	workflow run "$1" >$ROOT/tmp/step
	chroot $ROOT prlimit --memlock=8388608:8388608 \
		setpriv --reuid runner --regid runner --init-groups \
		env -i -C $WORK HOME=/home/runner USER=runner LANG=C.UTF-8 \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		bash -e /tmp/step </dev/null
}

# stand_in NAME: installs the script on stdin so that it is found before program NAME.
stand_in()
{
	cat >"$ROOT/usr/local/bin/$1"
	chmod 755 "$ROOT/usr/local/bin/$1"
}

# repository URL SOURCE TAG: makes a repository of the directory SOURCE, with that tag,
# and configures git to use it in place of URL.
repository()
{
	local name=/srv/${1##*/}
	local git=(git -C "$2" --git-dir="$ROOT$name" --work-tree=.
		   -c user.name=x -c user.email=x)

	git init -q --bare "$ROOT$name"
	"${git[@]}" add -A
	"${git[@]}" commit -q -m "$3"
	"${git[@]}" tag "$3"
	chroot $ROOT chown -R runner: "$name"
	git config --file $ROOT/etc/gitconfig "url.file://$name.insteadOf" "$1"
}

user_up()
{
	local dir=${XIW_CACHE%/*}

	chroot $ROOT useradd -m -s /bin/bash runner
	echo 'runner ALL=(ALL) NOPASSWD: ALL' >$ROOT/etc/sudoers.d/runner
	echo "127.0.1.1 xiw $(hostname)" >>$ROOT/etc/hosts
	chroot $ROOT install -d -o runner -g runner $WORK
	# The cache may lie below the home of root.
	for (( ; ${#dir}; )); do
		chmod a+x "$ROOT$dir"
		dir=${dir%/*}
	done
}

build()
{
	local release=$2 kdir=$3 rdma_core=$4 name

	mount -t tmpfs tmpfs /mnt
	root_up
	user_up
	mkdir -p "$ROOT/lib/modules/$release"
	ln -sfn "$kdir" "$ROOT/lib/modules/$release/build"
	stand_in uname <<-END
		#!/bin/sh
		[ "\$*" != -r ] || exec echo $release
		exec /usr/bin/uname "\$@"
	END
	stand_in apt-get <<-'END'
		#!/bin/sh
		[ "$1 $2" = "install -y" ] || exit 0
		shift 2
		for package; do
			case $package in
			linux-headers-*)
				name=${package#linux-headers-}
				[ -e "/lib/modules/$name/build/Makefile" ] ;;
			*)
				dpkg -s "$package" >/dev/null ;;
			esac || exit 100
		done
	END
	eval "$(workflow run "${ON_HOST[0]}" | grep '^export ')"
	repository "$XIW_URL" "$XIW_TOP" main
	repository "$RDMA_CORE_URL" "$rdma_core" \
		"v$(pkg-config --modversion libibverbs | cut -d . -f 3,4)"
	# This machine does not have the modules of RELEASE: modinfo finds all of them.
	stand_in modinfo <<<'#!/bin/sh'
	for name in "${ON_HOST[@]}"; do
		say "step '$name'"
		step "$name"
	done
	rm $ROOT/usr/local/bin/{uname,modinfo}
	tar -C $LAYER/upper -cf "$1" .
}

run()
{
	local release name

	set +eu
	. "$XIW_TOP/tests/selftests/lib.sh"
	release=$(uname -r)
	mkdir -p $LAYER/upper
	{
		tar -C $LAYER/upper -xf "$1" && root_up
	} || bail "set-up: the root"
	# Modules of the guest, but without xiw, which the workflow installs.
	cp -r "/lib/modules/$release" $ROOT/lib/modules/ || bail "set-up: modules"
	rm -rf "$ROOT/lib/modules/$release/updates"
	while read -r name; do
		! printf '%s\n' "${ON_HOST[@]}" | grep -qxF "$name" || continue
		tap_run "step '$name'" step "$name"
	done < <(workflow steps)
	tap_done
}

"$@"
