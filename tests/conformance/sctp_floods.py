#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Peers of DDP over SCTP that try to use up the resources of the device, alone or in
large numbers.

Before the cases begin, sctp_ports of the device has the ports of sctp_sessions.
"""

import contextlib
import os
import pathlib
import resource
import socket
import subprocess
import sys
import time

import live
import sctp_peers
from live import PATIENCE, case, main
from sctp_peers import SEGMENT, TERMINATE
from sctp_sessions import NETDEV, PASSIVE, PLAIN, Bench, Peer

# Drop the cases that the import of sctp_sessions has registered.
live.CASES.clear()

PEERS = 50
# Limits of the driver
HALF_OPEN, LINGERING = 1024, 256
ACCESS = 3
PR_SUPPORTED = 113
INITIATE = sctp_peers.INITIATE


def sockets(bench):
    """Counts the SCTP sockets in the namespace of the device."""
    table = pathlib.Path(f"/proc/{bench.target.proc.pid}/net/protocols")
    want = "SCTPv6" if bench.family == socket.AF_INET6 else "SCTP"
    for line in table.read_text().splitlines():
        name, _, count, *_ = line.split()
        if name == want:
            return int(count)
    raise AssertionError("no SCTP")


def wait_for_sockets(bench, count):
    end = time.monotonic() + PATIENCE
    while (now := sockets(bench)) > count:
        assert time.monotonic() < end, f"{now - count} are kept"


def associate(bench):
    sock = sctp_peers.new_socket(family=bench.family)
    sock.setblocking(False)
    sock.connect_ex((bench.addr_a, PASSIVE))
    bench.peers.append(Peer(sock))
    return bench.peers[-1]


@contextlib.contextmanager
def undisturbed():
    """A context in which no work item runs on this processor. With one processor,
    associations that begin and end in it have ended before the listener's work item
    accepts them."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    yield
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@live.cases([
    ("silent_shutdown", "associations that are shut down at once are freed",
     False),
    ("asked_shutdown", "and those that have sent an Initiate before", True),
])
def shut_down(bench, asks):
    bench.policy(request_timeout_ms=120000)
    before = sockets(bench)
    with undisturbed():
        for _ in range(PEERS):
            peer = associate(bench)
            try:
                if asks:
                    peer.control(5, INITIATE[4:])
                peer.sock.shutdown(socket.SHUT_WR)
            except OSError:
                # On a slow kernel the association is not established yet.
                peer.reset()
    wait_for_sockets(bench, before)


@case
def aborted(bench):
    """associations that are aborted at once are freed"""
    bench.policy(request_timeout_ms=120000)
    before = sockets(bench)
    with undisturbed():
        for _ in range(PEERS):
            associate(bench).reset()
    wait_for_sockets(bench, before)


@case
def half_open(bench):
    """1024 silent associations are kept; one that asks is served"""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    bench.policy(request_timeout_ms=120000)
    before = sockets(bench)
    for _ in range(HALF_OPEN + 200):
        associate(bench)
    peer, conn = bench.asked()
    conn.accept()
    peer.expect_control(6, PLAIN)
    # A slow kernel is still associating some of them.
    wait_for_sockets(bench, before + HALF_OPEN + 1)
    peer.finished()


@contextlib.contextmanager
def slowly():
    """A context in which the peer sends 1 MB/s."""
    qdisc = ["dev", NETDEV, "root", "netem", "rate", "8mbit", "limit", "10000"]
    subprocess.run(["tc", "qdisc", "add", *qdisc], check=True)
    try:
        yield
    finally:
        subprocess.run(["tc", "qdisc", "del", *qdisc[:3]], check=True)


def received(bench):
    """Bytes of memory of all associations of the device's host."""
    table = pathlib.Path(f"/proc/{bench.target.proc.pid}/net/sctp/assocs")
    head, *rows = (line.split() for line in table.read_text().splitlines())
    column = head.index("RX_QUEUE")
    return sum(int(row[column]) for row in rows)


@case
def incomplete(bench):
    """before the accept an association holds 64 KiB at most; more ends the session"""
    bench.policy(request_timeout_ms=120000)
    with slowly():
        peer = Peer(sctp_peers.new_socket(family=bench.family))
        bench.peers.append(peer)
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 400000)
        peer.sock.connect((bench.addr_a, PASSIVE))
        peer.sock.send(bytes(200000))
        most = held = 0
        end = time.monotonic() + PATIENCE
        # A few hundred bytes are a notification.
        while most < 10000 or held:
            held = received(bench)
            most = max(most, held)
            assert time.monotonic() < end, f"{held} of {most} bytes are kept"
    print(f"# at most {most} bytes of memory")
    assert most < 100000, f"{most} bytes of memory"


@case
# Covers: SCTP-44
def held(bench):
    """1 MiB of segments that wait for an earlier one end the session"""
    peer, _ = bench.open()
    with contextlib.suppress(OSError):
        for ssn in range(2, 1000):
            peer.send(SEGMENT, sctp_peers.write(ssn) + bytes(1200))
    peer.ends()


@case
# Covers: SCTP-13
def reliable(bench):
    """a peer cannot skip a chunk for which others wait: no partial reliability"""
    peer, _ = bench.open()
    value = peer.sock.getsockopt(sctp_peers.SCTP, PR_SUPPORTED, 8)
    assert not any(value[4:]), value
    peer.finished()


def terminated(bench):
    """A session that the device has ended for a fault; the peer does not end it."""
    peer, conn = bench.open(recvs=0)
    peer.segment(sctp_peers.write(0)[2:] + b"data")
    ppid, _ = peer.recv()
    assert ppid == SEGMENT
    peer.expect_control(TERMINATE)
    conn.asynchronous(ACCESS)
    conn.event("DISCONNECTED")
    conn.free()
    bench.target.conns.remove(conn)
    return peer


@case
def lingering(bench):
    """256 associations wait for the peer's Terminate; beyond that the oldest is aborted"""
    bench.policy(close_timeout_ms=120000)
    before = sockets(bench)
    peers = [terminated(bench) for _ in range(LINGERING + 20)]
    wait_for_sockets(bench, before + LINGERING)
    kept = sockets(bench) - before
    assert kept >= LINGERING - 2, f"only {kept} are kept"
    peers[0].expect_end()
    peers[-1].control(TERMINATE)
    peers[-1].expect_end()


if __name__ == "__main__":
    sys.exit(main(Bench))
