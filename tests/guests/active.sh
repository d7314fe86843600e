#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The guest with the clients.  TAP, also in $XIW_OUT/tap, without a plan: run
# adds claims.

# shellcheck source=tests/guests/link.sh
. "$(dirname "$0")/link.sh"

# served CMD...: runs a client; repeats it until the server listens.
served()
{
	local end=$((SECONDS + 60)) rc

	while :; do
		rc=0
		timeout 120 "$@" >"$TMP/client.log" 2>&1 || rc=$?
		((rc && SECONDS < end)) || break
		grep -qE "REJECTED|error: -111|CM event bl blka 8|Couldn't connect" "$TMP/client.log" ||
			break
		sleep 0.2
	done
	cat "$TMP/client.log"
	return "$rc"
}

clients()
{
	local port=7500 line argv

	for line in "${SERVED[@]}"; do
		read -ra argv <<<"$line"
		case ${argv[0]} in
		rping) argv+=(-c -p "$port") ;;
		xt_load) argv=(xt_load -c "${argv[1]}" -p "$port" -n 500 -T 110) ;;
		*) argv+=(-d "$DEV" -p "$port" "$PASSIVE4") ;;
		esac
		tap_run "$line" served "${argv[@]}"
		port=$((port + 1))
	done
}

link_up "$ACTIVE4" "$ACTIVE6"
clients | tee "$XIW_OUT/tap"
! grep -q '^not ok' "$XIW_OUT/tap"
