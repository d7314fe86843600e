# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# The sources of User Mode Linux that are not those of the distribution's kernel;
# build-uml sources this, which sets
#
#	src dest xiw	its source, directory of the cache, the driver's folder
#	patches		packaging/patches-for/linux, or none
#
# shellcheck disable=SC2154

# changed PATCH...: the files that they change or add.
changed()
{
	sed -n 's,^+++ b/,,p' "$@" | sort -u
}

# patched DIR: writes the files of the kernel that patches change, with the changes.
patched()
{
	local dir=$1 file

	rm -rf "$dir"
	mkdir -p "$dir"
	{
		((${#patches[@]} == 0)) || changed "${patches[@]}"
		printf '%s\n' drivers/infiniband/{,sw/}{Kconfig,Makefile}
	} | while IFS= read -r file; do
		[[ ! -e $src/$file ]] ||
			install -D -m 644 "$src/$file" "$dir/$file"
	done
	((${#patches[@]} == 0)) ||
		(cd "$dir" && git apply --exclude='Documentation/*' \
			--exclude='tools/*' --exclude=MAINTAINERS "${patches[@]}") ||
		die "the patches do not apply." "see packaging/patches-for/linux."
	sed -i '\|sw/siw/Kconfig|a source "drivers/infiniband/sw/xiw/Kconfig"' \
		"$dir/drivers/infiniband/Kconfig"
	sed -i '$a obj-$(CONFIG_INFINIBAND_XIW) += xiw/' \
		"$dir/drivers/infiniband/sw/Makefile"
}

# place DIR: makes the source one with the files of DIR. What stays the same keeps
# its time, so that make builds nothing that depends on it. The files are links to
# the unpatched source, so none is written to.
place()
{
	local file

	{
		(cd "$1" && find . -type f -printf '%P\n')
		cat "$dest/placed" 2>/dev/null || :
	} | sort -u | while IFS= read -r file; do
		if [[ -e $1/$file ]]; then
			cmp -s "$1/$file" "$file" ||
				install -D -m 644 "$1/$file" "$file.new"
		elif [[ -e $src/$file ]]; then
			cmp -s "$src/$file" "$file" ||
				install -m 644 "$src/$file" "$file.new"
		else
			rm -f "$file"
		fi
		[[ ! -e $file.new ]] || mv "$file.new" "$file"
	done
	(cd "$1" && find . -type f -printf '%P\n') >"$dest/placed"
}

# put_driver: of this clone. Of another clone's objects make cannot tell that they are
# older.
put_driver()
{
	if [[ $(cat "$dest/driver" 2>/dev/null) != "$XIW_TOP" ]]; then
		rm -rf "${xiw:?}" include/uapi/rdma/xiw-abi.h "$dest/objects/$xiw"
		echo "$XIW_TOP" >"$dest/driver"
	fi
	patched "$dest/new"
	place "$dest/new"
	ln -sfn "$XIW_TOP/$xiw" "$xiw"
	ln -sfn "$XIW_TOP/include/uapi/rdma/xiw-abi.h" include/uapi/rdma/
}
