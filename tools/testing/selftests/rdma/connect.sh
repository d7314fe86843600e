#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Connections of librdmacm between two devices of each software driver.

# shellcheck disable=SC2317	# functions that others call

source "$(dirname "$(realpath "$0")")/pair_lib.sh"

# If siw has no work item left for a new connection, it does not accept it. The
# end of a connection that was not accepted ends the listener, and its references
# are dropped twice.
KNOWN[siw:backlog]=unsafe

ended()
{
	! kill -0 "$1" 2>/dev/null
}

# The client is killed while it waits for a server that does not answer.
killed()
{
	local server client result=1

	PORT=$((PORT + 1))
	: >"$TMP/server"
	in_a timeout -k 5 "$PATIENCE" "$DIR/pair" -s silent "$ADDR_A" "$PORT" \
		>"$TMP/server" 2>&1 &
	server=$!
	wait_for "$PATIENCE" listening "$TMP/server"
	in_b "$DIR/pair" -c silent "$ADDR_A" "$PORT" >"$TMP/client" 2>&1 &
	client=$!
	# Until the request has arrived.
	if wait_for "$PATIENCE" grep -q request "$TMP/server"; then
		kill -KILL "$client"
		wait_for 5 ended "$client" && result=0
	fi
	kill "$server" 2>/dev/null
	wait "$server" "$client" 2>/dev/null
	return "$result"
}

run()
{
	pair client_closes
	pair server_closes
	pair client_closes "$ADDR6_A" "client_closes over IPv6"
	pair private_data
	pair reject
	pair refused
	pair many
	pair backlog
	ktap_test_result "$driver: a client that waits can be killed" killed
}

for_each_driver run 9
