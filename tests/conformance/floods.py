#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Peers in number against a listener with a small backlog: floods of silent
connections beside honest ones, bursts of honest ones, and connections that the
device has closed and the peer has not.
"""

import collections
import multiprocessing
import os
import resource
import socket
import statistics
import time

# Before xt_target is started.
os.environ["XT_BACKLOG"] = "2"

import wire
from live import PATIENCE, PROMPT, Peer, case, main

# Silent connections that the flood tries to open per second
RATE = 1000
# As many as possible: more than the listener may accept at its limit
FAST = 1000000
TRIES = 9
# Limit for the delay of an honest peer during a flood, which uses processor time of the
# emulated machine. Without the peer limit the delay is a second or more.
SLOWDOWN = 5
SLACK_MS = 150
# Limits of the driver.
LINGERING = 256
IP_BIND_ADDRESS_NO_PORT = 24
BURST = 64
FATAL = 1


def near(bench, number):
    """Returns address NUMBER of the network of side b."""
    return f"fd77::{number:x}" if ":" in bench.addr_b else f"10.77.0.{number}"


def far(bench, number):
    """As near(), of another network on the same link."""
    return f"fd78::{number:x}" if ":" in bench.addr_b else f"10.78.0.{number}"


def socket_from(bench, source):
    sock = socket.socket(bench.family)
    sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
    sock.bind((source, 0))
    return sock


def honest(bench, source):
    """Connects as an honest Initiator at SOURCE. Returns the milliseconds until its
    Reply."""
    begin = time.monotonic()
    sock = socket_from(bench, source)
    sock.settimeout(PATIENCE)
    sock.connect((bench.addr_a, bench.target.port))
    peer = Peer(sock)
    peer.raw(wire.startup(wire.REQ_KEY, wire.C, 1))
    conn = bench.target.request()
    conn.accept()
    peer.startup()
    took = (time.monotonic() - begin) * 1000
    peer.reset()
    return took


def honest_median(bench, source):
    took = [honest(bench, source) for _ in range(TRIES)]
    bench.target.clear()
    return statistics.median(took)


def open_silent(bench, sources, opened, rate):
    """Opens connections at RATE, counts them in OPENED, keeps the newest open."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kept = collections.deque(maxlen=min(hard - 100, 8000))
    begin = time.monotonic()
    while True:
        due = (time.monotonic() - begin) * rate
        # After a pause, catch up with at most 50 at once.
        for _ in range(min(int(due - opened.value), 50)):
            sock = socket_from(bench, sources[opened.value % len(sources)])
            sock.setblocking(False)
            sock.connect_ex((bench.addr_a, bench.target.port))
            kept.append(sock)
            opened.value += 1
        time.sleep(0.001)


class Flood:
    """A context in which SOURCES open silent connections."""

    def __init__(self, bench, sources, rate=RATE):
        self.bench = bench
        self.opened = multiprocessing.Value("L", 0, lock=False)
        self.process = multiprocessing.Process(
            target=open_silent, args=(bench, sources, self.opened, rate))

    def __enter__(self):
        dropped = self.bench.counter("connections_timed_out")
        self.begin = time.monotonic()
        self.process.start()
        # Wait until the listener is full, and drops some of them.
        while self.bench.counter("connections_timed_out") < dropped + 100:
            assert time.monotonic() < self.begin + PATIENCE, \
                f"{self.opened.value} connections do not fill the listener"

    def __exit__(self, *_):
        rate = self.opened.value / (time.monotonic() - self.begin)
        print(f"# {rate:.0f} silent connections a second")
        self.process.kill()
        self.process.join()


def flooded(bench, source, flooders):
    alone = honest_median(bench, source)
    with Flood(bench, flooders):
        beside = honest_median(bench, source)
    print(f"# an honest one takes {beside:.1f} ms, alone {alone:.1f} ms:"
          f" {beside / alone:.2f}")
    assert beside < SLOWDOWN * alone + SLACK_MS, "locked out"


@case
# Covers: MPA-51
def one_address(bench):
    """silent connections from one address do not lock out its neighbour"""
    flooded(bench, near(bench, 3), [near(bench, 2)])


@case
# Covers: MPA-51
def fast(bench):
    """nor do so many that TCP's queue is full: the neighbour finds room there"""
    with Flood(bench, [near(bench, 2)], rate=FAST):
        beside = [honest(bench, near(bench, 3)) for _ in range(TRIES)]
        bench.target.clear()
    print(f"# honest ones take {', '.join(f'{ms:.0f}' for ms in beside)} ms")
    # TCP repeats a SYN that was dropped after a second.
    assert statistics.median(beside) < 1000, "locked out"


@case
# Covers: MPA-51
def one_network(bench):
    """silent ones from 64 addresses do not lock out another network"""
    flooded(bench, far(bench, 2), [near(bench, 100 + n) for n in range(64)])


@case
# Covers: MPA-51
def burst(bench):
    """64 peers ask at once, more than iw_cm has room for: none is reset"""
    request = wire.startup(wire.REQ_KEY, wire.C, 1)
    for _ in range(3):
        peers = [bench.tcp() for _ in range(BURST)]
        for peer in peers:
            peer.raw(request)
        # rdma_ucm rejects the requests for which it has no room.
        answered = 0
        for peer in peers:
            while not peer.early:
                for conn in pending(bench):
                    conn.accept()
                peer.sock.settimeout(0.05)
                try:
                    peer.early = peer.sock.recv(1)
                except TimeoutError:
                    continue
                assert peer.early, "closed without a Reply"
            peer.sock.settimeout(PATIENCE)
            answered += peer.startup().key == wire.REP_KEY
        assert answered == BURST
        for peer in peers:
            peer.close()
        bench.peers = []
        bench.target.clear()


def pending(bench):
    """Returns the requests that were reported to the application."""
    bench.target.pump(0)
    return bench.target.reports.pop((None, "request"), [])


def owned(bench):
    """Counts closed connections whose sockets the driver still holds."""
    suffix = "6" if bench.family == socket.AF_INET6 else ""
    count = 0
    with open(f"/proc/{bench.target.proc.pid}/net/tcp{suffix}",
              encoding="ascii") as table:
        for line in list(table)[1:]:
            words = line.split()
            port = int(words[1].rpartition(":")[2], 16)
            # FIN-WAIT-1 and -2; a socket without an owner has no inode.
            count += port == bench.target.port and words[3] in ("04", "05") \
                and words[9] != "0"
    return count


@case
# Covers: MPA-61
def rejected(bench):
    """the driver frees a rejected connection at once; the Reply arrives"""
    for n in range(20):
        peer, conn = bench.ask()
        text = b"no %d" % n
        conn.reject(text)
        reply = peer.startup()
        assert reply.flags & wire.R and reply.data == text, vars(reply)
        peer.expect_fin()
    end = time.monotonic() + PROMPT
    while (left := owned(bench)):
        assert time.monotonic() < end, f"{left} connections are kept"


def terminated(bench, source):
    """A connection that the device has closed with a Terminate."""
    sock = socket_from(bench, source)
    sock.settimeout(PATIENCE)
    sock.connect((bench.addr_a, bench.target.port))
    peer = bench.peer_of(sock)
    peer.raw(wire.startup(wire.REQ_KEY, wire.C, 1))
    conn = bench.target.request()
    conn.accept(recvs=1)
    reply = peer.startup()
    peer.full_operation(wire.C, reply.flags)
    conn.event("ESTABLISHED", status=0)
    # Before the first good FPDU a Responder sends nothing.
    peer.send(wire.send(1))
    conn.wc("r0")
    peer.send(wire.send(2), crc_xor=1)
    peer.expect(wire.terminate(0x2002))
    peer.expect_fin()
    conn.asynchronous(FATAL)
    conn.event("DISCONNECTED")
    conn.free()
    bench.target.conns.remove(conn)
    return peer


def is_reset(peer):
    """True if the device answers data by a reset."""
    end = time.monotonic() + PROMPT
    while time.monotonic() < end:
        try:
            peer.raw(b"more")
        except (BrokenPipeError, ConnectionResetError):
            return True
        time.sleep(0.01)
    return False


@case
# Covers: TERM-10
def lingering(bench):
    """256 terminated connections are kept, the busiest peer's go first"""
    bench.policy(close_timeout_ms=120000)
    others = [terminated(bench, far(bench, 2)) for _ in range(3)]
    flood = [terminated(bench, near(bench, 2)) for _ in range(LINGERING + 20)]
    count = owned(bench)
    assert LINGERING - 2 <= count <= LINGERING, f"{count} are kept"
    assert is_reset(flood[0]), "the oldest of the flood is kept"
    for peer in flood[-1], *others:
        peer.raw(b"more")
        peer.expect_fin()
        assert not peer.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    bench.policy(close_timeout_ms=1)


if __name__ == "__main__":
    raise SystemExit(main())
