#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The selftests for the kernel's tree, tools/testing/selftests/rdma, as they are
# there: built with the kernel's rules, and run on xiw, siw and rxe.
#
# xiw-kernel: uml
# xiw-long: two minutes, mostly for the retries of rxe, and little about xiw
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"

src=$(find "$XIW_CACHE" -maxdepth 1 -name 'linux-7.*' ! -name '*.siw' | sort -V |
      tail -n 1)
[[ -d $src/tools/testing/selftests/rdma ]] ||
	skip_all "there is no source of a kernel that has tests of RDMA"
dir=$TMP/selftests/rdma

# build: builds the tests of the kernel's tree, with those that "make series" adds.
build()
{
	mkdir "$TMP/selftests"
	cp -r "$src"/tools/testing/selftests/{lib.mk,kselftest*,rdma} \
		"$TMP/selftests/"
	cp "$XIW_TOP"/tools/testing/selftests/rdma/* "$dir/"
	sed -i '/^include \.\.\/lib\.mk$/d' "$dir/Makefile"
	{
		tail -n +2 "$dir/Makefile.add"
		echo
		echo 'include ../lib.mk'
	} >>"$dir/Makefile"
	make -s -C "$dir" top_srcdir="$src" OUTPUT="$dir" "$dir/pair"
}

# claims LOG: converts the TAP lines of a test to claims of this test.
claims()
{
	local line

	while IFS= read -r line; do
		[[ $line =~ ^(ok|not\ ok)\ [0-9]+\ (.*[^ ])\ *$ ]] || continue
		case $line in
		'not ok '*) tap_fail "${BASH_REMATCH[2]}" ;;
		*) tap_ok "${BASH_REMATCH[2]}" ;;
		esac
	done <"$1"
}

tap_run "the kernel selftests are built" bounded build || tap_done
for driver in xiw siw rxe; do
	for name in link connect verbs; do
		rc=0
		DRIVERS=$driver PATIENCE=$XIW_TIMEOUT "$dir/$name.sh" \
			>"$TMP/$name.log" 2>&1 || rc=$?
		claims "$TMP/$name.log"
		((rc == 0 || rc == 4)) || tap_show "$TMP/$name.log" 60
		((rc != 4)) || tap_skip "$driver: $name" \
			"$(sed -n 's/^1\.\.0 # SKIP //p' "$TMP/$name.log")"
		((rc != 0)) || tap_ok "$driver: $name has no failure"
	done
done
tap_done
