#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Loads every KUnit module of this clone; each case of its suites is a claim. Loading
# succeeds even if cases fail, so the claims follow from the results in debugfs. This
# test makes a device for the suite of the verbs.
#
# xiw-leaks: the verbs of kernel consumers, and streams that are lost
# xiw-timeout: 900

. "$(dirname "$0")/lib.sh"

RESULTS=/sys/kernel/debug/kunit

# device_up: makes a device with the address that the suite of the verbs uses.
device_up()
{
	ip link add xk type dummy && ip addr add 198.51.100.1/24 dev xk &&
	ip link set xk up && rdma link add xiwK type xiw netdev xk
}

# topo_down: removes the device; lib.sh calls it when the test ends.
topo_down()
{
	rdma link del xiwK && ip link del xk
}

# load MODULE: loads a module, which runs its suites, without a time limit.
load()
{
	local before

	before=$(ls "$RESULTS")
	modprobe "$1" && [[ $(ls "$RESULTS") != "$before" ]]
}

# suite DIR: makes claims of the cases of a suite, and prints the output of failed ones.
# Their results may be missing, as the kernel limits the size of the output of a case.
suite()
{
	local verdict name why before=$tap_count failed=$tap_failed

	while read -r verdict name why; do
		case $verdict$why in
		ok*SKIP*)
			tap_skip "${1##*/}.$name" "${why#*SKIP}" ;;
		ok*)
			tap_ok "${1##*/}.$name" ;;
		*)
			tap_fail "${1##*/}.$name"
			sed -n "/# $name: /,/^    not ok/p" "$1/results" \
				>"$TMP/case"
			tap_show "$TMP/case" ;;
		esac
	done < <(sed -En 's/^    (ok|not) (ok )?[0-9]+ (- )?/\1 /p' "$1/results")
	((tap_failed == failed)) || return
	tap_is "${1##*/}: as many cases as planned, and no verdict against it" \
		"$((tap_count - before))$(grep -o '^not ok' "$1/results")" \
		"$(sed -n 's/^    1\.\.//p' "$1/results")"
}

[[ $XIW_LINK_TYPE == xiw ]] || skip_all "these are of xiw"
modprobe -q kunit || :
case $XIW_KERNEL in
debug | kcsan | rt | uml) ;;
*)
	[[ -d $RESULTS ]] || skip_all "this kernel has no KUnit" ;;
esac
mapfile -t modules < <(find "/lib/modules/$(uname -r)" -name 'xiw*_kunit.ko' \
	-printf '%f\n' | sed 's/\.ko$//')
((${#modules[@]})) || bail "there are no suites"
tap_run "a device" device_up
for module in "${modules[@]}"; do
	tap_run "$module loads" load "$module"
done
for dir in "$RESULTS"/*; do
	suite "$dir"
done
tap_run "the device can be deleted" topo_down
tap_run "the modules can be unloaded" modprobe -r "${modules[@]}"
tap_done
