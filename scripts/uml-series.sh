# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# The sources of User Mode Linux that are not those of the distribution's kernel;
# build-uml sources this, which sets
#
#	src dest xiw	its source, directory of the cache, the driver's folder
#	patches		packaging/patches-for/linux, or none
#	upto		"driver" or "extensions" for those of "make series", or nothing
#	out		what build-uml prints
#
# shellcheck disable=SC2154

ids=include/uapi/rdma/ib_user_ioctl_verbs.h

# changed PATCH...: the files that they change or add.
changed()
{
	sed -n 's,^+++ b/,,p' "$@" | sort -u
}

# series_patches: those of the driver. The series are written if a source is newer.
series_patches()
{
	local series=$XIW_TOP/build/series cover

	cover=$series/4-rdma-core/0000-cover-letter.patch
	[[ -e $cover && -z $(find "$XIW_TOP"/{packaging,tools,userspace-provider} \
			     "$XIW_TOP/$xiw" "$XIW_TOP/include" \
			     -newer "$cover" -print -quit) ]] ||
		"$XIW_TOP/packaging/make-series" "$src" >&2
	find "$series/2-driver" "$series/3-extensions" -name '*.patch' \
		! -name '0000-*' | grep "/2-driver/\|${upto/driver/none}" | sort
}

# patched DIR: writes the files of the kernel that patches change, with the changes.
patched()
{
	local dir=$1 file all=("${patches[@]}")

	[[ ! $upto ]] || mapfile -t -O ${#all[@]} all < <(series_patches)
	rm -rf "$dir"
	mkdir -p "$dir"
	{
		((${#all[@]} == 0)) || changed "${all[@]}"
		printf '%s\n' drivers/infiniband/{,sw/}{Kconfig,Makefile}
	} | while IFS= read -r file; do
		[[ ! -e $src/$file ]] ||
			install -D -m 644 "$src/$file" "$dir/$file"
	done
	((${#all[@]} == 0)) ||
		(cd "$dir" && git apply --exclude='Documentation/*' \
			--exclude='tools/*' --exclude=MAINTAINERS "${all[@]}") ||
		die "the patches do not apply." "see packaging/patches-for/linux."
	[[ ! $upto ]] || return 0
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

# put_driver: of this clone or of the series. Of another clone's objects make cannot
# tell that they are older.
put_driver()
{
	local whose=${upto:-$XIW_TOP}

	if [[ $(cat "$dest/driver" 2>/dev/null) != "$whose" ]]; then
		rm -rf "${xiw:?}" include/uapi/rdma/xiw-abi.h "$dest/objects/$xiw"
		echo "$whose" >"$dest/driver"
	fi
	patched "$dest/new"
	place "$dest/new"
	[[ ! $upto ]] || return 0
	ln -sfn "$XIW_TOP/$xiw" "$xiw"
	ln -sfn "$XIW_TOP/include/uapi/rdma/xiw-abi.h" include/uapi/rdma/
}

# header_for_programs: that of this clone, with the number of the series.
header_for_programs()
{
	local number

	number=$(printf '%s\n' "#include \"$dest/new/$ids\"" \
			'int number = RDMA_DRIVER_XIW;' | gcc -x c -S -o - - |
		 sed -n 's/^\t\.long\t//p')
	[[ $number ]] || die "the series have no number for the driver." "see $ids."
	mkdir -p "$out/uapi/rdma"
	sed "s/\\(define XIW_RDMA_DRIVER_ID\\t\\).*/\\1$number/" \
		"$XIW_TOP/include/uapi/rdma/xiw-abi.h" >"$out/uapi/rdma/xiw-abi.h"
}
