#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""sctp_peers.py CASE ADDRESS PORT [OTHER..]: an active side of DDP over SCTP by Python.

Connects to a listener of xiw, speaks raw chunks (RFC 5043, RFC 6581 section 7), and
fails if the answer is not the one that the case expects. The SSN is part of the
payload, so any order and any gap can be sent without raw sockets.
"""

import random
import socket
import struct
import sys

SCTP = 132
ADAPTATION_LAYER, INITMSG, RECVRCVINFO = 7, 2, 32
SNDINFO, RCVINFO = 2, 3
UNORDERED = 1
SEGMENT, CONTROL = 16, 17
TERMINATE = 4
# Seconds that the slow debug kernel may need
TIMEOUT = 30


def control(ssn, code, data=b""):
    return struct.pack(">HH", ssn, code) + data


def write(ssn):
    """Returns a Write without payload, which needs no STag."""
    return struct.pack(">HBBIQ", ssn, 0xc1, 0x40, 0, 0)


INITIATE = control(0, 5, bytes.fromhex("00010001"))


def new_socket(indication=1, streams=1, family=socket.AF_INET):
    """Returns a socket with this Adaptation Layer Indication, or with none."""
    sock = socket.socket(family, socket.SOCK_STREAM, SCTP)
    sock.settimeout(TIMEOUT)
    if indication:
        sock.setsockopt(SCTP, ADAPTATION_LAYER, struct.pack("=I", indication))
    sock.setsockopt(SCTP, INITMSG,
                    struct.pack("=HHHH", streams, streams, 0, 0))
    sock.setsockopt(SCTP, RECVRCVINFO, struct.pack("=i", 1))
    return sock


class Peer:
    """An association with the listener."""

    def __init__(self, address, port, indication=1, streams=1):
        self.sock = new_socket(indication, streams)
        self.next = 0
        self.sock.connect((address, port))

    def send(self, ppid, data, flags=UNORDERED, stream=0):
        info = struct.pack("=HHIIi", stream, flags, socket.htonl(ppid), 0, 0)
        self.sock.sendmsg([data], [(SCTP, SNDINFO, info)])

    def recv(self):
        """Returns (PPID, bytes) of the next chunk, or None at the end."""
        try:
            data, ancillary, _, _ = self.sock.recvmsg(65536, 256)
        except (ConnectionResetError, BrokenPipeError):
            return None
        if not data:
            return None
        for level, kind, info in ancillary:
            if (level, kind) == (SCTP, RCVINFO):
                sid, _, flags, ppid = struct.unpack("=HHH2xI", info[:12])
                assert sid == 0, f"stream {sid}"
                assert flags & UNORDERED, "an ordered chunk"
                ssn = int.from_bytes(data[:2], "big")
                assert ssn == self.next & 0xffff, \
                    f"SSN {ssn} in place of {self.next & 0xffff}"
                self.next += 1
                return socket.ntohl(ppid), data
        raise AssertionError("no information about the chunk")

    def accepted(self):
        self.send(CONTROL, INITIATE)
        ppid, data = self.recv()
        assert ppid == CONTROL, f"PPID {ppid}"
        assert data[:4] == control(0, 6), f"answer {data.hex()}"

    def ends(self, ssn=None):
        """Expects the end of the session; with SSN, a Terminate with that number before
        it."""
        chunk = self.recv()
        if ssn is not None:
            assert chunk == (CONTROL, control(ssn, TERMINATE)), f"{chunk}"
        elif chunk is not None:
            assert chunk[0] == CONTROL, f"{chunk}"
            assert chunk[1][2:] == control(0, TERMINATE)[2:], f"{chunk}"
        if chunk is not None:
            assert self.recv() is None, "more than the end"


def foreign(address, port, indication):
    """An association without the indication of DDP: the listener ends it without a
    chunk."""
    try:
        peer = Peer(address, port, indication)
    except ConnectionResetError:
        return
    except ConnectionRefusedError:
        # The ABORT was received before the COOKIE ACK. There is a listener, as it
        # accepts a peer with the indication.
        Peer(address, port).accepted()
        return
    assert peer.recv() is None, "a chunk"


def first(address, port, ppid, data):
    """A first chunk that must not begin a session: a Terminate or the end answers
    it."""
    peer = Peer(address, port)
    peer.send(ppid, data)
    peer.ends()


def later(address, port, *chunks):
    """Chunks behind the Accept, of which one fits no pattern: the session ends."""
    peer = Peer(address, port)
    peer.accepted()
    for ppid, data in chunks:
        peer.send(ppid, data)
    peer.ends()


def session(address, port, *order):
    """A session of two segments and a Terminate, which arrive in this order."""
    peer = Peer(address, port)
    peer.accepted()
    chunks = {1: (SEGMENT, write(1)), 2: (SEGMENT, write(2)),
              3: (CONTROL, control(3, TERMINATE))}
    for ssn in order:
        peer.send(*chunks[ssn])
    peer.ends(1)


def terminated(address, port):
    """A Write to no region: RDMAP's Terminate, that of the session, then the end."""
    peer = Peer(address, port)
    peer.accepted()
    peer.send(SEGMENT, write(1) + b"data")
    ppid, data = peer.recv()
    assert ppid == SEGMENT and data[2:4] == b"\x41\x47", data.hex()
    assert data[20:23] == b"\x11\x00\xc0", data.hex()
    assert peer.recv() == (CONTROL, control(2, TERMINATE))
    peer.send(CONTROL, control(2, TERMINATE))
    assert peer.recv() is None, "more than the end"


def association(port):
    """Returns the peer's addresses and the streams of the association to the port."""
    with open("/proc/net/sctp/assocs", encoding="ascii") as table:
        for line in table:
            left, arrow, right = line.partition(" <-> ")
            words = left.split()
            if arrow and words[12] == str(port):
                right = right.split()
                count = next(i for i, word in enumerate(right)
                             if word.isdigit())
                peers = {word.lstrip("*") for word in right[:count]}
                return peers, right[count + 1:count + 3]
    raise AssertionError("no association")


def announces(address, port, *others):
    """Checks that the listener has these addresses only, and one stream each way."""
    peer = Peer(address, port, streams=10)
    peer.accepted()
    peers, streams = association(port)
    assert peers == {address, *others}, peers
    assert streams == ["1", "1"], streams


def chaos(address, port, seed):
    """Sends random chunks, most of them behind an Accept. Any end is correct."""
    rnd = random.Random(int(seed))
    for _ in range(25):
        peer = Peer(address, port, streams=rnd.choice((1, 1, 3)))
        try:
            if rnd.random() < 0.8:
                peer.accepted()
            ssn = rnd.choice((0, 1, 1, 1))
            for _ in range(rnd.randrange(40)):
                ssn += rnd.choice((1, 1, 1, 1, 0, 2, -1, rnd.randrange(5000)))
                peer.send(*random_chunk(rnd, ssn & 0xffff),
                          flags=rnd.choice((UNORDERED, 0)))
            if rnd.random() < 0.5:
                peer.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        peer.sock.close()


def random_chunk(rnd, ssn):
    """Returns a random chunk, often a valid one with a change."""
    kind = rnd.randrange(8)
    if kind < 3:
        return SEGMENT, write(ssn)
    if kind == 3:
        return SEGMENT, write(ssn)[:rnd.randrange(17)]
    if kind == 4:
        data = write(ssn)[:4] + rnd.randbytes(rnd.randrange(3000))
        return SEGMENT, data
    if kind == 5:
        return CONTROL, control(ssn, rnd.randrange(9),
                                rnd.randbytes(rnd.randrange(600)))
    if kind == 6:
        return SEGMENT, rnd.randbytes(rnd.choice((1, 2, 20, 1500, 60000)))
    return rnd.randrange(20), control(ssn, TERMINATE)


CASES = {
    "chaos": chaos,
    "term": terminated,
    "announces": announces,
    "none": lambda *a: foreign(*a, 0),
    "other": lambda *a: foreign(*a, 7),
    "NS-01": lambda *a: first(*a, CONTROL, control(0, 0)),
    "NS-02": lambda *a: first(*a, CONTROL, control(0, 8)),
    "NS-03": lambda *a: first(*a, CONTROL, b"\0\0\0"),
    "NS-04": lambda *a: first(*a, CONTROL, b"\0"),
    "NS-05": lambda *a: first(*a, CONTROL, control(0, 1, bytes(513))),
    "NS-06": lambda *a: first(*a, CONTROL, bytes.fromhex("000000058010c0")),
    "NS-08": lambda *a: later(*a, (18, write(1))),
    "NS-09": lambda *a: first(*a, SEGMENT, write(0)),
    "NS-10": lambda *a: later(*a, (SEGMENT, write(1 + 4096))),
    "NS-11": lambda *a: later(*a, (SEGMENT, write(1)), (SEGMENT, write(1))),
    "NS-13": lambda *a: later(*a, (CONTROL, control(1, 1))),
    "NS-14": lambda *a: later(*a, (CONTROL, control(1, 2))),
    "long": lambda *a: later(*a, (SEGMENT, write(1) + bytes(70000))),
    "in-order": lambda *a: session(*a, 1, 2, 3),
    "reversed": lambda *a: session(*a, 3, 2, 1),
    "mixed": lambda *a: session(*a, 2, 3, 1),
}


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in CASES:
        sys.exit(f"usage: sctp_peers.py {'|'.join(CASES)} ADDRESS PORT [OTHER..]")
    CASES[sys.argv[1]](sys.argv[2], int(sys.argv[3]), *sys.argv[4:])


if __name__ == "__main__":
    main()
