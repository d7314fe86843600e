# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# What make-patches and make-series share; to be sourced. They set:
#	kernel, rdma_core	source trees
#	out			where the series are written
#	xiw			the driver's folder

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"

need_pkgs git perl unifdef
kernel=$(realpath "${1:-$("$XIW_TOP/scripts/get-source")}")
rdma_core=$(realpath "${2:-$("$XIW_TOP/scripts/get-rdma-core")}")
out=$XIW_TOP/build/patches
xiw=drivers/infiniband/sw/xiw
# What the headers of a kernel show of patches-for/linux, see compat/features.sh;
# with -D for a kernel that has them, with -U for another one.
features=(DISABLE_DRIVER IW_CM_ID_ANY_PORT IW_CM_ID_NET IW_CONN_PARAM_USER
	  IW_GET_QP_REF SK_MOVE_MEMCG TCP_RENEW_PROBE_TIMEOUT TRYLOCK_SOCK_BH)
patched=-U

# identity: name and address from git, for author, sign-off and MAINTAINERS.
identity()
{
	printf '%s <%s>\n' \
		"$(git -C "$XIW_TOP" config user.name || echo 'The xiw authors')" \
		"$(git -C "$XIW_TOP" config user.email ||
		   echo xiw@packages.invalid)"
}

# begin TREE FILE...: a repository of only those files of the tree, in which
# the patches are made. It has what the patches change, and nothing else.
begin()
{
	local tree=$1 file

	shift
	repo=$(mktemp -d "$XIW_CACHE/patches.XXXXXX")
	# shellcheck disable=SC2064  # expand now: the next series has another
	trap "rm -rf '$repo' '$repo.stage'" EXIT
	for file in "$@"; do
		[[ -f $tree/$file ]] ||
			die "$tree has no $file." "name another source tree."
		install -D -m 644 "$tree/$file" "$repo/$file"
	done
	cd "$repo"
	git init -q
	git config user.name "$(identity | sed 's/ <.*//')"
	git config user.email "$(identity | sed 's/.*<\(.*\)>/\1/')"
	# "git am -3" in a clone of the kernel needs ids that are unique there.
	git config core.abbrev 12
	git add -A
	git commit -q -m "Base"
	git tag base
}

# append FILE TEXT NEW...: the lines NEW behind the line that ends with TEXT.
append()
{
	local file=$1 text=$2 line

	shift 2
	line=$(awk -v t="$text" 'substr($0, length($0) - length(t) + 1) == t {
		print NR; exit }' "$file")
	[[ -n $line ]] || die "$file has no line that ends with '$text'." \
			      "name another source tree."
	printf '%b\n' "$@" | sed -i "${line}r /dev/stdin" "$file"
}

# commit SUBJECT FILE...: the body of the message comes from stdin.
commit()
{
	local subject=$1

	shift
	git add -- "$@"
	{
		printf '%s\n\n' "$subject"
		cat
	} | git commit -q -s -F -
}

# finish DIR [ARG...]: nothing may be left over. ARG are for git format-patch.
finish()
{
	[[ -z $(git status --porcelain) ]] ||
		die "no patch of the series has: $(git status --porcelain)" \
		    "add it to $0."
	rm -rf "${out:?}/$1"
	mkdir -p "$out/$1"
	git format-patch -q --no-signature -o "$out/$1" "${@:2}" base
	rm -rf "$repo"
	say "$(find "$out/$1" -name '*.patch' | wc -l) patches in $out/$1"
}

# version_of TREE: the kernel's version as a number.
version_of()
{
	awk -F ' *= *' '$1 == "VERSION" { v = $2 } $1 == "PATCHLEVEL" {
		print v * 1000 + $2; exit }' "$1/Makefile"
}

# The driver as it is, or for a kernel that needs nothing of compat, without.
copy_driver()
{
	local compat=$XIW_TOP/$xiw/compat

	mkdir -p "$xiw" include/uapi/rdma
	cp -r "$XIW_TOP/$xiw/." "$xiw/"
	cp "$XIW_TOP/include/uapi/rdma/xiw-abi.h" include/uapi/rdma/
	# Of what makes user-space programs of the protocol core nothing.
	rm "$xiw/proto/pure_user.h"
	unifdef -k -D__KERNEL__ -o "$xiw"/proto/pure.h "$xiw"/proto/pure.h ||
		(($? == 1))
	grep -rl 'Documentation/oob\.rst' "$xiw" | xargs sed -i \
		's,Documentation/\(oob\.rst\),Documentation/infiniband/xiw-\1,'
	rm "$xiw"/compat/{supported,upstream.sed}
	(($(version_of "$kernel") >= 7002)) || return 0
	rm -r "$xiw"/{compat,Kbuild}
	sed -i -f "$compat/upstream.sed" "$xiw"/*.[ch] "$xiw"/*/*.[ch]
	unifdef -m -UXIW_KERNEL_RESIZES_CQ -DXIW_HAVE_SPEED_CHANGE_EVENT \
		"$xiw"/tests/verbs_kunit.c ||
		(($? == 1))
	# One blank line where something is gone.
	sed -i '/^$/N;/^\n$/D' "$xiw"/tests/verbs_kunit.c
	unifdef -k -m "${features[@]/#/${patched}XIW_HAVE_}" "$xiw"/*.[ch] \
		"$xiw"/*/*.[ch] ||
		(($? == 1))
	[[ $patched != -U ]] || sed -i '/^\t\.disable_driver = /d' "$xiw/device/device.c"
	sed -i 's/select LIBCRC32C/select CRC32/' "$xiw/Kconfig"
}

# document NAME NEW-NAME: with the names that are in use there, without what only our
# tree has, and with the DOC sections that our tree only lists.
document()
{
	sed -e 's/^\.\. image:: data-flow/.. kernel-image:: xiw-data-flow/' \
		-e 's/\b\(oob\|mpa-policy\)\.rst/xiw-&/' \
		-e '/^``make lint /d' \
		-e 's/ See "[^"]*" in ..user-guide\.rst..\.//' \
		-e 's/ ..performance-notes\.rst.. has .*//' \
		-e 's/ (..security\.rst..)//' \
		-e '/ When to use it, and how to set up$/{N
			s/ When to use it.*, \*Paths that fail\*\.//}' \
		"$XIW_TOP/Documentation/$1" |
		xiw=$xiw perl -pe 's{^\* \*(.*)\*, ``([\w/]+\.c)``$}
			{"$1\n" . "-" x length($1) . "\n\n" .
			 ".. kernel-doc:: $ENV{xiw}/$2\n   :doc: $1\n"}e' \
		>"Documentation/infiniband/$2"
}

# hook_up: the driver is built and has maintainers.
hook_up()
{
	append drivers/infiniband/Kconfig '"drivers/infiniband/sw/siw/Kconfig"' \
		'source "drivers/infiniband/sw/xiw/Kconfig"'
	append drivers/infiniband/sw/Makefile '+= siw/' \
		"obj-\$(CONFIG_INFINIBAND_XIW)\t\t+= xiw/"
	append MAINTAINERS 'F:	include/uapi/rdma/siw-abi.h' \
		"\nSOFT-IWARP DRIVER (xiw)" "M:\t$(identity)" \
		"L:\tlinux-rdma@vger.kernel.org" "S:\tMaintained" \
		"F:\tDocumentation/ABI/testing/sysfs-class-infiniband-xiw" \
		"F:\tDocumentation/infiniband/xiw*" "F:\t$xiw/" \
		"F:\tinclude/uapi/rdma/xiw-abi.h"
}

# documents: of users and of readers of the code.
documents()
{
	mkdir -p Documentation/ABI/testing
	sed "1,/^$/d" "$XIW_TOP/Documentation/ABI/testing/sysfs-class-infiniband-xiw" \
		>Documentation/ABI/testing/sysfs-class-infiniband-xiw
	document overview.rst xiw.rst
	document data-flow.svg xiw-data-flow.svg
	document mpa-policy.rst xiw-mpa-policy.rst
	document oob.rst xiw-oob.rst
	append Documentation/infiniband/index.rst '   user_verbs' '   xiw' \
		'   xiw-mpa-policy' '   xiw-oob'
}

# adapt_provider: to what else changes with the series; make-series has it.
adapt_provider()
{
	:
}

# without_compat: the provider with the calls that compat.h has for the newest
# private interface in their places.
without_compat()
{
	rm compat.h
	sed -i '/^#include "compat\.h"$/d' ./*.c
	# shellcheck disable=SC2016  # not of the shell
	perl -0pi -e 's{xiw_cmd_get_context\((\S+),\s&cmd,\s&resp\)}
		{ibv_cmd_get_context($1, &cmd.ibv_cmd, sizeof(cmd),
				  NULL, &resp.ibv_resp, sizeof(resp))}x;
		s{xiw_cmd_create_cq_ex\((\w+,\s\S+),\s(\S+),\s&cmd,\s&resp\)}
		{ibv_cmd_create_cq_ex($1, NULL, $2,
				   &cmd.ibv_cmd, sizeof(cmd),
				   &resp.ibv_resp, sizeof(resp), 0)}x;
		s{XIW_OPS_QUERY_PORT_SPEED\n}{.query_port_speed = ibv_cmd_query_port_speed,\n}' \
		./*.c
}

# rdma_core_series DIR [ARG...]: as for finish.
rdma_core_series()
{
	local pabi file

	begin "$rdma_core" CMakeLists.txt MAINTAINERS README.md \
		kernel-headers/CMakeLists.txt kernel-headers/rdma/siw-abi.h \
		kernel-headers/rdma/ib_user_ioctl_verbs.h \
		libibverbs/{verbs,driver}.h debian/control redhat/rdma-core.spec \
		suse/rdma-core.spec tests/CMakeLists.txt
	pabi=$(sed -n 's/^set(IBVERBS_PABI_VERSION "\([0-9]*\)").*/\1/p' \
	       CMakeLists.txt)
	"$XIW_TOP/userspace-provider/into-rdma-core" "$repo"
	adapt_provider
	if ((pabi >= 65)); then
		(cd providers/xiw && without_compat)
	else
		unifdef -k -D"IBVERBS_PABI_VERSION=$pabi" \
			-o providers/xiw/compat.h providers/xiw/compat.h ||
			(($? == 1))
	fi
	commit "Update kernel headers" kernel-headers <<-END
		To the commit that adds the user ABI of xiw.
	END
	append README.md ' - vmw_pvrdma.ko' ' - xiw.ko'
	append MAINTAINERS 'F:	providers/vmw_pvrdma/' \
		'\nXIW SOFT IWARP USERSPACE PROVIDER (for xiw.ko)' "M:\t$(identity)" \
		'L:\tlinux-rdma@vger.kernel.org' 'S:\tSupported' \
		'F:\tproviders/xiw/'
	append debian/control '- vmw_pvrdma: VMware paravirtual RDMA device' \
		'  - xiw: A software implementation of the iWarp protocol'
	for file in {redhat,suse}/rdma-core.spec; do
		append "$file" '- libvmw_pvrdma: VMware paravirtual RDMA device' \
			'- libxiw: A software implementation of the iWarp protocol'
	done
	commit "xiw: Add the provider" . ':!tests' <<-END
		For the xiw kernel driver, iWARP over TCP in software. Queues are
		mapped; receives, polling and arming do not enter the kernel, sends
		only when it is idle.
	END
	commit "tests: Add tests of iWARP" tests <<-END
		Where its verbs differ from those of InfiniBand, for any device with
		that transport: a Write says nothing of the peer when it completes,
		but is placed before a Send that follows; an error ends the
		connection instead of a request; private data is not padded; QPs
		are connected by rdma_cm alone.

		They were run on xiw.
	END
	finish "$@"
}
