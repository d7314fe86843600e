#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Packets of DDP over SCTP: startup, messages of each kind and the end are captured and
# parsed, with the CRC of each packet, by tests/conformance/sctp_capture.py and by
# tshark, which must find nothing malformed and the same number of chunks.
#
# xiw-kernel: uml
# xiw-packages: tshark tcpdump ethtool python3
# xiw-timeout: 600

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cases.sh"
. "$(dirname "$0")/wire.sh"

needs_sctp

# over_sctp DESC SERVER CLIENT: as pair() of lib.sh, over SCTP.
over_sctp()
{
	policy sctp_ports "$(next_ports)"
	pair "$@"
}

# talk WHAT: runs programs that send Sends, Reads and Writes of several segments.
talk()
{
	over_sctp "$1: rping" "rping -s -V -a $A4 -p @PORT@ -C 3 -S 3000" \
		"rping -c -V -a $A4 -p @PORT@ -C 3 -S 3000"
}

# bulk PROGRAM ARGS...: runs a program of perftest over SCTP.
bulk()
{
	over_sctp "$1" "$* -R -F -d $DEV_A -p @PORT@" \
		"$* -R -F -d $DEV_B -p @PORT@ $A4"
}

# shark_chunks: prints the number of DATA chunks of each PPID in the output of tshark;
# retransmitted ones, with the same TSN, count once.
shark_chunks()
{
	awk -F '\t' '{
		n = split($1, ppid, ","); split($2, tsn, ",")
		for (i = 1; i <= n; i++)
			if (!seen[$5, $6, tsn[i]]++) count[ppid[i]]++
	} END { print count[16] + 0, count[17] + 0 }' "$TMP/fields"
}

topo_up
plain_segments
for side in "$NS_A $VETH_A" "$NS_B $VETH_B"; do
	# shellcheck disable=SC2086  # two words
	set -- $side
	ip netns exec "$1" ethtool -K "$2" tx-sctp-segmentation off \
		tx-checksum-sctp off >/dev/null 2>&1 ||
		bail "set-up: offloads stay on"
done

capture_start "$TMP/sctp.pcap"
talk_variants "plain session"
bulk ib_write_bw -s 20000 -n 20
bulk ib_send_bw -s 20000 -n 20
bulk ib_read_bw -s 20000 -n 20
bulk ib_atomic_bw -n 20
over_sctp "IPv6: rping" "rping -s -V -a $A6 -p @PORT@ -C 3 -S 3000" \
	"rping -c -V -a $A6 -p @PORT@ -C 3 -S 3000"
capture_stop

# Covers: SCTP-02 SCTP-03 SCTP-13 SCTP-15 SCTP-18 SCTP-28 SCTP-34 SCTP-35 SCTP-38
# Covers: SCTP-41 SCTP-52 SCTP-57 SCTP-63 SCTP-64
"$SELFTESTS/../conformance/sctp_capture.py" "$TMP/sctp.pcap" >"$TMP/messages" 2>&1
tap_result $? "the bytes on the wire follow the RFCs"
tap_show "$TMP/messages"
# Ignore repeated lines, as pair may run a program twice.
startups | uniq | diff - <(cat <<END
code5 A-CD ird1 ord1 pd0 / code6 A-CD ird1 ord1 pd0 / empty_write
code5 A--D ird1 ord1 pd0 / code6 A--D ird1 ord1 pd0 / read_request
code5 AB-- ird1 ord1 pd0 / code6 AB-- ird1 ord1 pd0 / empty_send
code5 ---- ird1 ord1 pd0 / code6 ---- ird1 ord1 pd0 / send
code1 pd0 / code2 pd0 / send
code5 A-CD ird0 ord0 pd0 / code6 A-C- ird0 ord0 pd0 / empty_write
code5 A-CD ird128 ord128 pd0 / code6 A-CD ird128 ord128 pd0 / empty_write
code5 A-CD ird0 ord0 pd0 / code6 A-C- ird0 ord0 pd0 / empty_write
code5 A-CD ird128 ord128 pd0 / code6 A-CD ird128 ord128 pd0 / empty_write
code5 A-CD ird1 ord1 pd0 / code6 A-CD ird1 ord1 pd0 / empty_write
END
) >"$TMP/diff"
tap_result $? "the startup messages are the expected ones"
tap_show "$TMP/diff"
tshark -r "$TMP/sctp.pcap" -T fields -e sctp.data_payload_proto_id \
	-e sctp.data_tsn_raw -e _ws.malformed -e _ws.expert.severity \
	-e sctp.srcport -e sctp.verification_tag -e frame.number \
	>"$TMP/fields" 2>"$TMP/tshark.err"
tap_is "tshark counts the same segments and control messages" \
	"$(shark_chunks)" "$(seen segments) $(seen controls)"
well_formed "no frame is malformed or in error for tshark"
tap_done
