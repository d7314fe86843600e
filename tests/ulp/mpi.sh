#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# xiw-kernel: stock
# xiw-packages: openmpi-bin libopenmpi-dev
#
# Open MPI over libfabric, whose provider verbs connects by rdma_cm: a ring and
# sums with known results (mpi_ring.c). Each network namespace, with a host name of its
# own, stands for a host: a script in place of ssh starts Open MPI's daemon in it.

. "$(dirname "$0")/lib.sh"

HERE=$(dirname "$0")
XIW_TIMEOUT=300
RUN=(mpirun.openmpi --allow-run-as-root --oversubscribe
     --mca plm_rsh_agent "$TMP/agent" --mca oob_tcp_if_include 10.77.0.0/24
     --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include "verbs;ofi_rxm")

cat >"$TMP/agent" <<END
#!/bin/bash
shift
exec netns-run "$NS_B" 300 unshare -u bash -c 'hostname b && exec bash -c "\$0"' "\$*"
END
cat >"$TMP/host_a" <<END
#!/bin/bash
hostname a && exec "\$@"
END
chmod +x "$TMP/agent" "$TMP/host_a"

# mpi: runs mpi_ring.c with two processes on each host.
mpi()
{
	in_a unshare -u "$TMP/host_a" "${RUN[@]}" -H "$A4:2,$B4:2" \
		"$TMP/mpi_ring"
}

received()
{
	in_a rdma -p statistic show link "$DEV_A/1" |
		awk '$1 == "rx_bytes" { print $2 }'
}

# exclusive_up: sets up namespaces that see their own device only.
exclusive_up()
{
	netns_mode exclusive || bail "set-up: no exclusive mode"
	net_up
	{
		link_add "$NS_A" "$DEV_A" "$VETH_A" &&
		rdma dev set "$DEV_A" netns "$NS_A" &&
		link_add "$NS_B" "$DEV_B" "$VETH_B" &&
		rdma dev set "$DEV_B" netns "$NS_B"
	} || bail "set-up: no device for each host"
}

or_bail "no module" modprobe -a "rdma-link-$XIW_LINK_TYPE" rdma_ucm
exclusive_up
or_bail "no program" mpicc.openmpi -O1 -o "$TMP/mpi_ring" "$HERE/mpi_ring.c"
before=$(received)
run_claim "four processes: a ring, and sums" mpi
tap_show "$TMP/out"
got=$(($(received) - before))
tap_note "received $got bytes"
((got > 3000000))
tap_result $? "the data went through the device"
in_a rdma link del "$DEV_A"
in_b rdma link del "$DEV_B"
tap_done
