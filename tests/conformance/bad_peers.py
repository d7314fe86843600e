#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Many bad peers at once: silent, slow, cut off at any byte, or talking
nonsense, before, during and right after the startup frames, as Initiators and
as Responders. Each connection they opened must end within the timeout.

XIW_BAD_PEERS: how many (120). XIW_SUMMARY: a file for the results.
XIW_SECOND: another address of this side, for peers whose Request must be reported
at once: from the first address it would wait for older, silent connections.
"""

import collections
import os
import random
import selectors
import socket
import struct
import sys
import time

import wire
from live import case, main

COUNT = int(os.environ.get("XIW_BAD_PEERS", "120"))
AT_ONCE = 48
TIMEOUT_MS = 2000
# A machine that emulates another one may serve a timer late.
SLACK = 15 if os.environ.get("XIW_KERNEL") == "debug" else 5
BOUND = TIMEOUT_MS / 1000 + SLACK
TRICKLE = 0.1

E = wire.C | wire.S
PEER_TO_PEER = wire.enhanced(0x8004, 0x8004)
REQUEST = wire.startup(wire.REQ_KEY, E, 2, PEER_TO_PEER + b"a bad peer")
REPLY = wire.startup(wire.REP_KEY, E, 2, PEER_TO_PEER + b"a bad peer")
RTR = wire.Framer().fpdu(wire.RTR["C"])
NONSENSE = bytes(random.Random(5044).randbytes(64))


class Bad:
    """A bad peer: the pieces that it sends, and its action after the last one."""

    def __init__(self, sock, pieces, then, pause=0.0):
        self.sock = sock
        self.pieces = collections.deque(pieces)
        self.then = then
        self.pause = pause
        self.due = self.begin = time.monotonic()

    def step(self):
        """Send the next piece. False if the peer has closed its connection."""
        if self.pieces:
            self.sock.send(self.pieces[0])
            self.pieces.popleft()
            self.due = time.monotonic() + self.pause
        if self.pieces or self.then == "wait":
            return True
        if self.then == "reset":
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                 struct.pack("ii", 1, 0))
            return False
        self.sock.shutdown(socket.SHUT_WR)
        self.then = "wait"
        return True


def cut(octets, rng):
    return octets[:rng.randrange(len(octets))]


def kinds(frame):
    """Yields kinds of bad peers: the name, and a function that draws pieces, last
    action and pause from a random generator."""
    behind = [frame, RTR]
    return (
        ("silent", lambda r: ([], "wait", 0)),
        ("stalls", lambda r: ([cut(frame, r)], "wait", 0)),
        ("trickles", lambda r: ([bytes([o]) for o in frame], "wait", TRICKLE)),
        ("resets", lambda r: ([cut(frame, r)], "reset", 0)),
        ("closes", lambda r: ([cut(frame, r)], "fin", 0)),
        ("garbage", lambda r: ([r.randbytes(r.randrange(1, 600))], "wait", 0)),
        ("spoilt", lambda r: ([cut(frame, r) + NONSENSE], "wait", 0)),
        ("quiet behind", lambda r: ([frame], "wait", 0)),
        ("resets behind", lambda r: ([frame, cut(RTR, r)], "reset", 0.05)),
        ("closes behind", lambda r: ([frame, cut(RTR, r)], "fin", 0.05)),
        ("garbage behind", lambda r: ([frame, NONSENSE], "wait", 0.05)),
        ("leaves", lambda r: (behind, "reset", 0.05)),
    )


class Crowd:
    """Keeps AT_ONCE bad peers active until the wanted number has ended."""

    def __init__(self, frame, count, seed):
        self.kinds = kinds(frame)
        self.rng = random.Random(seed)
        self.count = count
        self.begun = 0
        self.present = {}
        self.longest = collections.Counter()
        self.late = []
        self.last = time.monotonic()
        self.pause = 0.0

    def room(self):
        return self.begun < self.count and len(self.present) < AT_ONCE

    def next_kind(self):
        return self.kinds[self.begun % len(self.kinds)]

    def next_goes_on(self):
        """True if the next peer will send a complete startup frame."""
        name, _ = self.next_kind()
        return "behind" in name or name == "leaves"

    def enter(self, sock):
        name, make = self.next_kind()
        sock.setblocking(False)
        self.begun += 1
        self.present[sock] = name, Bad(sock, *make(self.rng))

    def leave(self, sock):
        name, bad = self.present.pop(sock)
        sock.close()
        lasted = time.monotonic() - bad.begin
        self.longest[name] = max(self.longest[name], lasted)
        if lasted > BOUND:
            self.late.append((name, lasted))

    def read(self, sock):
        """Read what the device has sent. False if it has closed the connection."""
        try:
            return bool(sock.recv(4096))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def go(self, readable):
        now = time.monotonic()
        self.pause = max(self.pause, now - self.last)
        self.last = now
        for sock, (_, bad) in list(self.present.items()):
            try:
                stays = (sock not in readable or self.read(sock)) and \
                    (now < bad.due or bad.step())
            except BlockingIOError:
                stays = True
            except OSError:
                stays = False
            if not stays:
                self.leave(sock)
            elif now - bad.begin > 2 * BOUND:
                raise AssertionError(f"{self.present[sock][0]}: never ended")

    def readable(self):
        with selectors.DefaultSelector() as selector:
            for sock in self.present:
                selector.register(sock, selectors.EVENT_READ)
            return {key.fileobj for key, _ in selector.select(0.02)}

    def done(self):
        return self.begun == self.count and not self.present

    def summary(self, title):
        path = os.environ.get("XIW_SUMMARY")
        if path:
            with open(path, "a", encoding="ascii") as file:
                for name, lasted in sorted(self.longest.items()):
                    print(f"{title} that {name}: {lasted:.2f} s at most",
                          file=file)
                print(f"checked every {self.pause:.2f} s at least",
                      file=file)
        # The ages are this imprecise, as this process may have been suspended.
        late = [one for one in self.late if one[1] > BOUND + 2 * self.pause]
        assert not late, f"late: {late[:5]}, of {len(late)}"


class Host:
    """The application: accepts every request, and frees connections that
    ended. With ASKS it disconnects them once they are established."""

    def __init__(self, target, asks=False):
        self.target = target
        self.asks = asks
        self.asked = collections.deque()
        self.known = set()

    def tell(self, verb, number, *words):
        self.asked.append((verb, number))
        self.target.send(verb, number, *words)

    def forget(self, number):
        if number in self.known:
            self.known.discard(number)
            self.tell("free", number)

    def go(self):
        target = self.target
        while target.pump(0):
            pass
        for answer in target.answers:
            verb, number = self.asked.popleft()
            if verb == "accept" and answer != "ok":
                self.forget(number)
        target.answers.clear()
        for conn in target.reports.pop((None, "request"), []):
            self.known.add(conn.nr)
            self.tell("accept", conn.nr, 4, 4, 1, "x")
        for (number, kind), reports in target.reports.items():
            if kind != "event" or number not in self.known:
                continue
            for report in reports:
                if report["name"] != "ESTABLISHED":
                    self.forget(number)
                elif self.asks:
                    self.tell("disconnect", number)
            reports.clear()
        target.conns = [c for c in target.conns if c.nr in self.known]

    def settle(self):
        """Wait until all connections have ended, and were reported."""
        end = time.monotonic() + BOUND
        while self.asked or self.known:
            assert time.monotonic() < end, f"still there: {self.known}"
            self.target.pump(0.02)
            self.go()


def impatient(bench):
    bench.policy(request_timeout_ms=TIMEOUT_MS, reply_timeout_ms=TIMEOUT_MS,
                 rtr_timeout_ms=TIMEOUT_MS)


@case
# Covers: MPA-51 MPA-54 MPA-38 MPA-45 MPA-90 TERM-20
def initiators(bench):
    """bad Initiators: each connection ends in time, all others are served"""
    impatient(bench)
    crowd, host = Crowd(REQUEST, COUNT, 1), Host(bench.target)
    while not crowd.done():
        while crowd.room():
            sock = socket.socket(bench.family)
            sock.setblocking(False)
            if crowd.next_goes_on():
                sock.bind((os.environ["XIW_SECOND"], 0))
            sock.connect_ex((bench.addr_a, bench.target.port))
            crowd.enter(sock)
        crowd.go(crowd.readable())
        host.go()
    host.settle()
    crowd.summary("Initiators")


@case
# Covers: MPA-39 MPA-52 MPA-60 MPA-90
def responders(bench):
    """bad Responders: each connection ends in time, and is reported"""
    impatient(bench)
    count = max(COUNT // 5, 12)
    crowd, host = Crowd(REPLY, count, 2), Host(bench.target, asks=True)
    with bench.listener() as listener:
        listener.setblocking(False)
        port = listener.getsockname()[1]
        dialled = 0
        while not crowd.done():
            if dialled == crowd.begun and crowd.room():
                host.tell("dial", 0, 4, 4, 1, "x", port)
                dialled += 1
            try:
                crowd.enter(listener.accept()[0])
            except BlockingIOError:
                pass
            crowd.go(crowd.readable())
            host.known |= {conn.nr for conn in
                           bench.target.reports.pop((None, "dial"), [])}
            host.go()
        host.settle()
    crowd.summary("Responders")


@case
# Covers: MPA-51 MPA-54
def flood(bench):
    """many silent connections at once delay no other, and end in time"""
    impatient(bench)
    socks = []
    for _ in range(COUNT // 2):
        socks.append(socket.socket(bench.family))
        socks[-1].setblocking(False)
        socks[-1].connect_ex((bench.addr_a, bench.target.port))
    begin = time.monotonic()
    peer, conn = bench.open()
    peer.send(wire.send(1, b"welcome!"))
    conn.wc("r0", data=b"welcome!".hex())
    assert time.monotonic() - begin < BOUND
    for sock in socks:
        sock.settimeout(2 * BOUND)
        try:
            assert not sock.recv(1)
        except ConnectionResetError:
            pass
        sock.close()
    assert time.monotonic() - begin < BOUND, time.monotonic() - begin


if __name__ == "__main__":
    # Prefer the programs of the good connection, whose pauses are measured.
    os.nice(19)
    sys.exit(main())
