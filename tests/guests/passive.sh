#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The guest with the servers: one after the other, each on a port of its own.

# shellcheck source=tests/guests/link.sh
. "$(dirname "$0")/link.sh"

link_up "$PASSIVE4" "$PASSIVE6"
port=7500
status=0
for served in "${SERVED[@]}"; do
	read -ra argv <<<"$served"
	case ${argv[0]} in
	rping) argv+=(-s -p "$port") ;;
	xt_load) argv=(xt_load -s "${argv[1]}" -p "$port" -T 120) ;;
	*) argv+=(-d "$DEV" -p "$port") ;;
	esac
	echo "${argv[*]}"
	timeout 120 "${argv[@]}" || { status=1; echo "failed: ${argv[*]}"; }
	port=$((port + 1))
done
exit "$status"
