# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# A third soft RDMA driver for blktests, which knows siw and rxe.  To be
# appended to its common/multipath-over-rdma; with USE_XIW=1 in the environment
# the tests then run on xiw, without it on what they ran on before.

# A module is there wherever modprobe finds it, also beside those that came
# with the kernel.  Where another driver is chosen siw is not asked for.
_module_file_exists()
{
	local name=$1

	[[ -z ${USE_XIW:-} || $name != siw ]] || name=xiw
	[[ $(modinfo -F filename "$name" 2>/dev/null) == /* ]]
}

# Debian calls its kernels 6.12.117+deb12-amd64, whose last number is none.
_have_kver()
{
	local least=$1.$2.${3:-0}

	[[ $(printf '%s\n' "$least" "$(uname -r)" | sort -V) != "$least"* ]] ||
		return 0
	SKIP_REASONS+=("this kernel is older than $least")
	return 1
}

if [[ ${USE_XIW:-} ]]; then
	# This file may be read more than once.
	[[ $(declare -f _have_driver) == *xiw* ]] ||
		eval "xiw$(declare -f _have_driver)"

	_have_driver()
	{
		if [[ $1 == siw ]]; then
			set -- xiw
		fi
		xiw_have_driver "$@"
	}

	# One device on each Ethernet interface that has a carrier.
	start_soft_rdma()
	{
		local net netdev carrier type

		modprobe xiw || return
		for net in /sys/class/net/*; do
			netdev=${net##*/} carrier=0 type=0
			{
				read -r type <"$net/type"
				read -r carrier <"$net/carrier"
			} 2>/dev/null
			((type == 1 && carrier == 1)) || continue
			has_soft_rdma "$netdev" ||
				rdma link add "xiw_$netdev" type xiw \
					netdev "$netdev" >>"$FULL" 2>&1 ||
				echo "no xiw device on $netdev" >>"$FULL"
		done
	}

	stop_soft_rdma()
	{
		local dev

		for dev in /sys/class/infiniband/xiw_*; do
			[[ -e $dev ]] || continue
			rdma link del "${dev##*/}" >>"$FULL" 2>&1 ||
				echo "${dev##*/} is still there" >>"$FULL"
		done
		_unload_module xiw 10 >>"$FULL" 2>&1
	}
fi
