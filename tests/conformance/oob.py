#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Queue pairs connected by number, with the hand-made peer on either side: its
Requests to a queue pair that is the Responder, its Replies to one that is the
Initiator. Written from Documentation/oob.rst alone.

The peer's address is between two of the device: -a is the lesser one, from
which the device is the Initiator, XIW_RESPONDER the greater one.
"""

import contextlib
import copy
import errno
import ipaddress
import json
import os
import pathlib
import resource
import select
import socket
import struct
import subprocess
import sys
import time

import live
import wire
from live import PATIENCE, PROMPT, case, cases, main, segments_of_send

E = wire.C | wire.S
MAGIC = b"XRDV"
INIT, RTR, RTS, ERR = 1, 2, 3, 6
QP_OP, FLUSH, RETRY_EXC, RNR_EXC = 2, 5, 12, 13
# Features.
IMM, LONG = 1, 2
COMM_EST = 4
PEER_PSN, OWN_PSN = 0x111111, 0x222222
DATA = bytes(range(0x40, 0x48))
FIRST = wire.RTR["C"]
# Numbers of the peer's queue pairs.
NUMBER = 0x0a0b0c
# Another host, to which the device has a route.
ELSEWHERE = "10.77.0.9"
MALFORMED, VERSION, NO_MATCH, _, ROLE, BUSY, LATE, FAILED, PROVE = range(1, 10)
# Offset of the reason in a Reply, and length of the Reply, in bytes.
REASON, REPLY = 24, 44
# This peer's nonce; the device draws its own at random.
NONCE = 0x0102030405060708
# Bytes and messages that TCP accepts although the peer does not read.
MUCH = 4000, 10
# timeout, retry_cnt
HALF_A_SECOND = 14, 7
# Repetitions of cases in which the time of an event is random
TURNS = 40


# ---- Private Data, sections 4.2 and 4.3 ------------------------------------------

def gid(address):
    ip = ipaddress.ip_address(address)
    if ip.version == 4:
        return bytes(10) + b"\xff\xff" + ip.packed
    return ip.packed


def rotated(x, n):
    return (x << n | x >> 64 - n) & (1 << 64) - 1


def siphash(key, data):
    """SipHash-2-4. The key has 64 bits; its other 64 bits are zero."""
    mask = (1 << 64) - 1
    v = [0x736f6d6570736575 ^ key, 0x646f72616e646f6d,
         0x6c7967656e657261 ^ key, 0x7465646279746573]

    def turn():
        v[0] = v[0] + v[1] & mask
        v[2] = v[2] + v[3] & mask
        v[1] = rotated(v[1], 13) ^ v[0]
        v[3] = rotated(v[3], 16) ^ v[2]
        v[0] = rotated(v[0], 32) + v[3] & mask
        v[2] = v[2] + v[1] & mask
        v[3] = rotated(v[3], 21) ^ v[0]
        v[1] = rotated(v[1], 17) ^ v[2]
        v[2] = rotated(v[2], 32)

    data += bytes(7 - len(data) % 8) + bytes([len(data) & 0xff])
    for at in range(0, len(data), 8):
        word = int.from_bytes(data[at:at + 8], "little")
        v[3] ^= word
        turn()
        turn()
        v[0] ^= word
    v[2] ^= 0xff
    for _ in range(4):
        turn()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def flags_of(s, rnr):
    return (1 | rnr << 4) if s else 0


class Ends:
    """The proofs of one connection: its direction and both nonces."""

    def __init__(self, init, resp, init_gid, resp_gid, nonces=(NONCE, 0)):
        self.text = init_gid + resp_gid + struct.pack(">II", init, resp)
        self.nonces = nonces

    def proof(self, responder, expected, flags, psn):
        return siphash(psn, MAGIC + bytes([2, responder, expected, flags]) +
                       struct.pack(">QQ", *self.nonces) + self.text)

    def proofs(self, responder, s, rnr, psn, expected):
        flags = flags_of(s, rnr)
        own = self.proof(responder, 0, flags, psn) if s else 0
        return struct.pack(">QQ", own,
                           self.proof(responder, 1, flags, expected))


def head(init, resp, flags, features, magic=MAGIC, version=2):
    return magic + struct.pack(">BBHII", version, flags, features, init, resp)


def depths(ird, ord, types="CD", a=True):
    first, second = wire.rtr_bits(types)
    return wire.enhanced((0x8000 if a else 0) | first | ird, second | ord)


def sized(data, size):
    return data if size is None else (data + bytes(256))[:size]


def request(init, resp, init_gid, resp_gid, s=True, psn=PEER_PSN,
            expected=OWN_PSN, rnr=7, flags=None, features=0, ird=16, ord=1,
            magic=MAGIC, version=2, mpa=E, rev=2, a=True, types="CD",
            size=None, nonces=None, proofs=None):
    """The first Request; or, with both NONCES, the Request with proofs."""
    if flags is None:
        flags = flags_of(s, rnr) | (2 if nonces else 0)
    if proofs is None:
        proofs = bytes(16)
        if nonces:
            proofs = Ends(init, resp, init_gid, resp_gid, nonces).proofs(
                0, s, rnr, psn, expected)
    data = head(init, resp, flags, features, magic, version) + init_gid + \
        resp_gid + struct.pack(">Q", nonces[0] if nonces else NONCE) + proofs
    front = depths(ird, ord, types, a) if mpa & wire.S else b""
    return wire.startup(wire.REQ_KEY, mpa, rev, front + sized(data, size))


def reply(init, resp, flags=0, features=0, ird=16, ord=16, magic=MAGIC,
          version=2, mpa=E, rev=2, reason=0, rest=bytes(3), a=True, types="CD",
          size=None, nonce=0, proofs=bytes(16)):
    data = head(init, resp, flags, features, magic, version) + \
        struct.pack(">Q", nonce) + bytes([reason]) + rest + proofs
    return wire.startup(wire.REP_KEY, mpa, rev,
                        depths(ird, ord, types, a) + sized(data, size))


def refusal(init, resp, reason, **how):
    return reply(init, resp, reason=reason, mpa=E | wire.R, **how)


# ---- the two sides ---------------------------------------------------------

class Target(live.Target):
    PROGRAM = "xt_number"


class Number(live.Conn):
    """A queue pair of the device. The address of its GID decides its role."""

    def __init__(self, bench, role, peer=NUMBER, shared=False):
        new = ["new"] + ["shared"] * shared
        number, qpn = map(int, bench.target.do(*new).split())
        super().__init__(bench.target, number)
        bench.target.conns.append(self)
        self.bench = bench
        self.qpn = qpn
        self.peer = peer
        self.address = bench.addr_a if role == "I" else bench.responder
        self.dgid = gid(bench.addr_b)

    def init(self, recvs=4):
        self._do("init")
        if recvs:
            self.recv(recvs)
        return self

    def rtr(self, index=None, dgid=None, peer=None, expected=PEER_PSN, rd=16,
            min_rnr=12, is_global=1):
        index = self.bench.index(self.address) if index is None else index
        self.dgid = dgid or gid(self.bench.addr_b)
        self._do("rtr", index, self.dgid.hex(),
                 self.peer if peer is None else peer, expected, rd, min_rnr,
                 is_global)
        return self

    def rts(self, psn=OWN_PSN, timing=HALF_A_SECOND, rnr=7, rd=1):
        self._do("rts", psn, *timing, rnr, rd)
        return self

    def reset(self):
        self._do("reset")
        return self

    def dial(self, port):
        self._do("dial", port)

    def state(self):
        return int(self._do("query").split()[0])

    def is_as_before(self, state=RTS):
        """Checks that no event and no completion was reported to the application."""
        assert self.state() == state, self.state()
        self.nothing("wc")
        self.nothing("async")

    def asking(self, **how):
        args = {"init": self.peer, "resp": self.qpn,
                "init_gid": gid(self.bench.addr_b),
                "resp_gid": gid(self.address)}
        return request(**{**args, **how})

    def proving(self, nonce, **how):
        """The second Request, with proofs for the device's NONCE."""
        return self.asking(nonces=(NONCE, nonce), **how)

    def ends(self, nonces):
        """The proofs for a connection of which the device is the Initiator."""
        return Ends(self.qpn, self.peer, gid(self.address), self.dgid, nonces)

    def reply(self, s=True, psn=PEER_PSN, expected=OWN_PSN, rnr=7, flags=None,
              proofs=None, **how):
        """An accepting Reply to the last Request that had proofs."""
        if flags is None:
            flags = flags_of(s, rnr)
        if proofs is None:
            proofs = self.ends(self.bench.nonces).proofs(1, s, rnr, psn,
                                                         expected)
        return reply(**{"init": self.qpn, "resp": self.peer, "flags": flags,
                        "proofs": proofs, **how})

    def challenge(self, nonce=NONCE, **how):
        return self.refusal(PROVE, nonce=nonce, **how)

    def refusal(self, reason, **how):
        return refusal(**{"init": self.qpn, "resp": self.peer,
                          "reason": reason, **how})


class Bench(live.Bench):
    TARGET = Target

    def __init__(self, args):
        self.responder = os.environ["XIW_RESPONDER"]
        self.port = 4791
        self.nonces = NONCE, NONCE
        super().__init__(args)
        self.gids = self.policy_dir.parent / "ports/1/gids"

    def index(self, address):
        """Returns the index of an address in the GID table of the device."""
        want = gid(address)
        for file in self.gids.iterdir():
            if bytes.fromhex(file.read_text().strip().replace(":", "")) == want:
                return int(file.name)
        raise AssertionError(f"{address} is no GID")

    # Queue pairs of the device.

    def qp(self, role, state=RTS, recvs=4, **how):
        """Makes a queue pair in that state, whose peer has the number NUMBER."""
        qp = Number(self, role, how.pop("peer", NUMBER),
                    how.pop("shared", False)).init(recvs)
        with_rtr = {k: how.pop(k) for k in ("expected", "min_rnr", "dgid")
                    if k in how}
        if state >= RTR:
            qp.rtr(rd=how.pop("dest_rd", 16), **with_rtr)
        if state >= RTS:
            qp.rts(**how)
        return qp

    def opener(self):
        """Makes a Responder, whose listener keeps the port open."""
        return self.qp("R", RTR, peer=0xffffff)

    # The device's host.

    def program(self, address, port):
        """A socket that listens in the namespace of the device."""
        return subprocess.Popen(
            ["ip", "netns", "exec", self.namespaces[0], "python3", "-c", LISTEN,
             address, str(port)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    # The peer as Initiator.

    def tcp(self, address=None, source=None, source_port=0):
        sock = socket.socket(self.family)
        sock.settimeout(PATIENCE)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((source or self.addr_b, source_port))
        sock.connect((address or self.responder, self.port))
        return self.peer_of(sock)

    def ask(self, qp, source=None, source_port=0, **how):
        """Connects, and sends both Requests, the second one with proofs. Returns the
        peer."""
        if source:
            how["init_gid"] = gid(source)
        peer = self.tcp(source=source, source_port=source_port)
        peer.raw(qp.asking(**{k: v for k, v in how.items()
                              if k != "proofs"}))
        peer.raw(qp.proving(challenged(peer), **how))
        return peer

    def ask_first(self, qp, **how):
        """Connects, and sends the first Request only. Returns the peer."""
        peer = self.tcp()
        peer.raw(qp.asking(**how))
        return peer

    def asked(self, qp, first=True, **how):
        """As ask(); the device accepts, and the peer sends the first FPDU. Returns
        peer, Reply."""
        peer = self.ask(qp, **how)
        rep = accepted(peer)
        peer.full_operation(E, rep.flags)
        if first:
            peer.send(FIRST)
        return peer, rep

    # The peer as Responder.

    @contextlib.contextmanager
    def listening(self):
        sock = socket.create_server((self.addr_b, self.port),
                                    family=self.family, backlog=64)
        sock.settimeout(PATIENCE)
        try:
            yield sock
        finally:
            sock.close()

    def accept_first(self, sock):
        """Accepts the next try of the device. Returns the peer and the first
        Request."""
        peer = self.peer_of(sock.accept()[0])
        return peer, peer.startup()

    def accept(self, sock):
        """As accept_first(), and asks for proofs. Returns the peer and the second
        Request."""
        while True:
            peer, first = self.accept_first(sock)
            init, resp = struct.unpack(">II", first.data[8:16])
            assert first.data[5] & 2 == 0, first.data.hex()
            peer.raw(refusal(init, resp, PROVE, nonce=NONCE))
            self.nonces = struct.unpack(">Q", first.data[48:56])[0], NONCE
            try:
                req = peer.startup()
            except (AssertionError, OSError):
                # An older try that has ended.
                peer.close()
                continue
            assert req.data[48:56] == first.data[48:56], req.data.hex()
            return peer, req

    def answer(self, sock, qp, **how):
        """As accept(); then sends the Reply, and receives the first FPDU."""
        peer, req = self.accept(sock)
        peer.raw(qp.reply(**how))
        peer.full_operation(E, req.flags)
        peer.expect(FIRST)
        return peer, req

    def answer_last(self, sock, qp):
        """As answer(), but skips older tries that have ended."""
        while True:
            try:
                return self.answer(sock, qp)
            except (AssertionError, OSError):
                self.peers[-1].close()

    def answered(self, qp, **how):
        with self.listening() as sock:
            return self.answer(sock, qp, **how)

    # Around a case.

    def begin(self):
        if self.bystander is None:
            qp = self.qp("I", peer=0x77, recvs=8)
            peer, _ = self.answered(qp)
            self.bystander = peer, qp
            self.by_sent = 0
            self.peers.remove(peer)
            self.target.conns.remove(qp)


def accepted(peer):
    rep = peer.startup()
    assert rep.key == wire.REP_KEY and rep.rev == 2
    assert not rep.flags & wire.R, f"refused: {rep.data.hex()}"
    assert len(rep.data) == REPLY and rep.data[REASON] == 0, rep.data.hex()
    return rep


def refused(peer, reason, init=0, resp=0):
    """Expects a refusing Reply of exactly these bytes, then the end."""
    rep = peer.startup()
    want = head(init, resp, 0, 0) + bytes(8) + bytes([reason])
    assert rep.key == wire.REP_KEY and rep.flags & wire.R
    assert rep.data[:25] == want and len(rep.data) == REPLY, \
        f"{rep.data.hex()}, wanted {want.hex()}"
    peer.expect_end()


def challenged(peer):
    """Expects the Reply that asks for proofs. Returns the nonce of the device."""
    rep = peer.startup()
    assert rep.key == wire.REP_KEY and rep.flags & wire.R
    assert len(rep.data) == REPLY and rep.data[REASON] == PROVE, \
        f"{rep.data.hex()}, wanted a challenge"
    return struct.unpack(">Q", rep.data[16:24])[0]


def refused_of(qp, peer, reason, init=None, resp=None):
    refused(peer, reason, init or qp.peer, resp or qp.qpn)


def message(peer, qp, msn, nr):
    """Sends a message from the peer, which completes receive number NR."""
    data = DATA + bytes([nr])
    peer.send(wire.send(msn, data))
    qp.wc(f"r{nr}", data=data.hex())


def sends(peer, qp, msn=1, nr=0):
    """Posts request number NR, a Send, which the peer receives."""
    qp.post("send", 8)
    got = peer.rx.fpdu()
    assert got[:18] == wire.send(msn), got.hex()
    qp.wc(f"s{nr}")


def works(peer, qp, recv=0, sent=0):
    message(peer, qp, 1, recv)
    sends(peer, qp, 1, sent)


def end_silently(peer, how):
    """Ends the connection, and checks that nothing is reported to the application."""
    if how == "fin":
        peer.fin()
        peer.expect_fin()
    else:
        peer.reset()


def left_unanswered(bench, role="R", how="fin", number=NUMBER):
    """Makes a queue pair whose peer has ended, and whose requests then wait for
    seconds."""
    qp = bench.qp(role, peer=number, timing=(20, 7))
    peer, _ = bench.asked(qp) if role == "R" else bench.answered(qp)
    works(peer, qp)
    end_silently(peer, how)
    qp.post("send", 8, 2)
    return qp


def still_reachable(bench, qp, **how):
    """Checks that a valid Request is accepted, and a first stream begins."""
    peer, _ = bench.asked(qp, **how)
    works(peer, qp)


# ---- example frames ----------------------------------------------------------------

@case
# Covers: RDV-04 RDV-05 RDV-06
def vectors(_bench):
    """the bytes of this suite are the vectors of section 10"""
    a, b = gid("192.0.2.1"), gid("192.0.2.2")
    c, d = gid("2001:db8::1"), gid("2001:db8::2")
    nonces = NONCE, 0x1112131415161718
    numbers = 0x12345, 0xabcdef
    asked = {"psn": 0x111111, "expected": 0x222222, "features": 1, "ird": 16,
             "ord": 1}
    answers = Ends(*numbers, a, b, nonces).proofs(1, True, 7, 0x222222,
                                                  0x111111)
    for got, want in (
            (request(*numbers, a, b, **asked), """
             4d504120 49442052 65712046 72616d65 5002004c 8010c001
             58524456 02710001 00012345 00abcdef 00000000 00000000
             0000ffff c0000201 00000000 00000000 0000ffff c0000202
             01020304 05060708 00000000 00000000 00000000 00000000"""),
            (refusal(*numbers, PROVE, nonce=nonces[1], ird=1), """
             4d504120 49442052 65702046 72616d65 70020030 8001c010
             58524456 02000000 00012345 00abcdef 11121314 15161718
             09000000 00000000 00000000 00000000 00000000"""),
            (request(*numbers, a, b, nonces=nonces, **asked), """
             4d504120 49442052 65712046 72616d65 5002004c 8010c001
             58524456 02730001 00012345 00abcdef 00000000 00000000
             0000ffff c0000201 00000000 00000000 0000ffff c0000202
             01020304 05060708 ff7fc41d abe73218 03035063 6b62ddb6"""),
            (reply(*numbers, flags=0x71, features=1, ird=1, proofs=answers),
             """
             4d504120 49442052 65702046 72616d65 50020030 8001c010
             58524456 02710001 00012345 00abcdef 00000000 00000000
             00000000 9f34ed38 e6e6428f e05d79df a694e7ce"""),
            (request(2, 0xffffff, c, d, s=False, expected=0, features=1,
                     ird=1, ord=128, nonces=nonces), """
             4d504120 49442052 65712046 72616d65 5002004c 8001c080
             58524456 02020001 00000002 00ffffff 20010db8 00000000
             00000000 00000001 20010db8 00000000 00000000 00000002
             01020304 05060708 00000000 00000000 e617531d d30c33e5"""),
            (refusal(2, 0xffffff, NO_MATCH, ird=128, ord=1), """
             4d504120 49442052 65702046 72616d65 70020030 8080c001
             58524456 02000000 00000002 00ffffff 00000000 00000000
             03000000 00000000 00000000 00000000 00000000"""),
    ):
        want = bytes.fromhex(want)
        assert got == want, f"{got.hex()}, wanted {want.hex()}"


# ---- the device is the Responder -------------------------------------------

@case
# Covers: RDV-02 RDV-06 RDV-08 RDV-12
def responder(bench):
    """a Request at RTS: the Reply, byte by byte; nothing before an FPDU"""
    qp = bench.qp("R", dest_rd=7, rnr=6, rd=3)
    qp.post("send", 8)
    peer = bench.ask_first(qp, ird=5, ord=4)
    nonces = NONCE, challenged(peer)
    peer.raw(qp.proving(nonces[1], ird=5, ord=4))
    rep = peer.startup()
    want = head(NUMBER, qp.qpn, 0x61, 0) + bytes(12) + Ends(
        NUMBER, qp.qpn, gid(bench.addr_b), gid(qp.address), nonces).proofs(
            1, True, 6, OWN_PSN, PEER_PSN)
    assert (rep.flags, rep.rev, rep.data) == (E, 2, want), rep.data.hex()
    assert (rep.a, rep.ird, rep.ord) == (True, 7, 3), (rep.ird, rep.ord)
    peer.full_operation(E, rep.flags)
    peer.expect_silence()
    qp.nothing("wc")
    peer.send(FIRST)
    assert peer.rx.fpdu()[:18] == wire.send(1)
    qp.wc("s0")
    message(peer, qp, 1, 0)
    qp.is_as_before()


@case
# Covers: RDV-05 RDV-12
def responder_rtr(bench):
    """a Responder in RTR: no PSN in the Reply, COMM_EST, and Sends from RTS on"""
    qp = bench.qp("R", RTR)
    peer, rep = bench.asked(qp, ird=9)
    want = head(NUMBER, qp.qpn, 0, 0) + bytes(20)
    assert rep.data[:36] == want and any(rep.data[36:]), rep.data.hex()
    qp.asynchronous(COMM_EST)
    message(peer, qp, 1, 0)
    assert qp.state() == RTR
    qp.rts()
    sends(peer, qp)


@case
# Covers: RDV-12
def ord_at_rts(bench):
    """ORD that was agreed on before RTS is limited by the one of RTS"""
    qp = bench.qp("R", RTR)
    peer, rep = bench.asked(qp, ird=4)
    assert rep.ord >= 4, rep.ord
    qp.rts(rd=1)
    qp.post("read", 16, 2, 0xCAFE, 0x5000)
    got = peer.rx.fpdu()
    assert got[:18] == wire.untagged(wire.READ_REQ, 1, 1), got.hex()
    peer.expect_silence()
    sink, sink_to = struct.unpack(">IQ", got[18:30])
    peer.send(wire.tagged(wire.READ_RESP, sink, sink_to, bytes(16)))
    qp.wc("s0")
    assert peer.rx.fpdu()[:18] == wire.untagged(wire.READ_REQ, 1, 2)


# Covers: RDV-07
@cases([
    ("magic", "a wrong magic", MALFORMED, {"magic": b"XRDW"}),
    ("no_data", "no Private Data", MALFORMED, {"size": 0}),
    ("magic_only", "the magic and nothing else", MALFORMED, {"size": 4}),
    ("short", "a byte too few", MALFORMED, {"size": 71}),
    ("long", "a byte too many", MALFORMED, {"size": 73}),
    ("much", "512 bytes of Private Data", MALFORMED, {"size": 252}),
    ("reserved_flag", "a reserved flag", MALFORMED, {"flags": 0x75}),
    ("high_flag", "another reserved flag", MALFORMED, {"flags": 0xf1}),
    ("rnr_without_s", "RNR retries before RTS", MALFORMED, {"flags": 0x10}),
    ("early_proof", "proofs before they are asked for", MALFORMED,
     {"nonces": (NONCE, 0)}),
    ("proof_without_flag", "proofs without their flag", MALFORMED,
     {"proofs": bytes(15) + b"\1"}),
    ("init_25", "an Initiator's number of 25 bits", MALFORMED,
     {"init": 1 << 24 | NUMBER}),
    ("init_1", "an Initiator's number of 1, which is reserved", MALFORMED,
     {"init": 1}),
    ("resp_0", "a Responder's number of 0", MALFORMED, {"resp": 0}),
    ("model", "not the peer-to-peer model", MALFORMED,
     {"a": False, "types": ""}),
    ("version_1", "version 1", VERSION, {"version": 1, "size": 56}),
    ("version_3", "version 3", VERSION, {"version": 3}),
    ("version_3_short", "version 3 and nothing else", VERSION,
     {"version": 3, "size": 5}),
    ("version_3_long", "version 3 of another length", VERSION,
     {"version": 3, "size": 90, "flags": 0xff}),
    ("version_0", "version 0", VERSION, {"version": 0}),
])
def malformed(bench, reason, how):
    qp = bench.qp("R")
    peer = bench.ask_first(qp, **how)
    refused(peer, reason)
    qp.is_as_before()
    still_reachable(bench, qp)


# Covers: RDV-07
@cases([
    ("again_first", "the first Request twice", lambda q, n: q.asking()),
    ("again_nonce", "a proof with another nonce of the Initiator's",
     lambda q, n: q.asking(nonces=(NONCE + 1, n))),
    ("again_flag", "a reserved flag with the proof",
     lambda q, n: q.proving(n, flags=0x77)),
    ("again_psn", "a proof of the own PSN before RTS",
     lambda q, n: q.proving(n, flags=2)),
])
def malformed_proof(bench, request_of):
    qp = bench.qp("R")
    peer = bench.ask_first(qp)
    peer.raw(request_of(qp, challenged(peer)))
    refused(peer, MALFORMED)
    still_reachable(bench, qp)


@case
# Covers: RDV-07
def revision_1(bench):
    """a Request of MPA revision 1 is refused as malformed"""
    qp = bench.qp("R")
    peer = bench.ask_first(qp, mpa=wire.C, rev=1)
    refused(peer, MALFORMED)
    still_reachable(bench, qp)


@case
# Covers: RDV-07
def features_unknown(bench):
    """unknown feature bits are not agreed on, and are no error"""
    qp = bench.qp("R")
    _, rep = bench.asked(qp, features=0xfffc)
    assert rep.data[6:8] == bytes(2), rep.data.hex()


@case
# Covers: RDV-24
def long_fpdus(bench):
    """FPDUs fill several segments where the peer takes them"""
    def longest(features, role="R"):
        qp = bench.qp(role)
        connect = bench.asked if role == "R" else bench.answered
        peer, frame = connect(qp, features=features)
        if role == "R":
            assert frame.data[6:8] == struct.pack(">H", features)
        length = max(segments_of_send(peer, qp, 1))
        qp.wc("s0")
        return length

    one = longest(0)
    emss = one + 6
    several = 16384 // emss * emss - 6
    assert one < several
    assert longest(LONG) == longest(LONG, "I") == several
    assert longest(0, "I") == one
    # With fpdu_segments set, the number applies to every peer.
    bench.policy(fpdu_segments=1)
    assert longest(LONG) == longest(LONG, "I") == one
    bench.policy(fpdu_segments=4)
    assert longest(0) == longest(LONG) == 4 * emss - 6


# Covers: RDV-02 RDV-08 RDV-09
@cases([
    ("role", "the Initiator's address is the greater one", ROLE,
     lambda b, q: {"init_gid": gid(b.responder)[:-1] + b"\xee"}),
    ("role_number", "equal addresses, the Initiator's number is greater", ROLE,
     lambda b, q: {"init_gid": gid(b.responder), "init": q.qpn + 1}),
    ("role_self", "both ends are one queue pair", ROLE,
     lambda b, q: {"init_gid": gid(b.responder), "init": q.qpn}),
    ("from", "its source address is not the GID that it names", NO_MATCH,
     lambda b, q: {"init_gid": gid(b.addr_b)[:-1] + b"\x03"}),
    ("to", "its destination address is not the GID that it names", NO_MATCH,
     lambda b, q: {"resp_gid": gid(b.responder)[:-1] + b"\x33"}),
    ("family", "an address of the other family", ROLE,
     lambda b, q: {"init_gid": b"\xfd" + gid(b.addr_b)[1:]}),
])
def no_match(bench, reason, how):
    qp = bench.qp("R")
    if qp.qpn == 0xffffff:
        raise live.Skip("there is no greater number")
    how = how(bench, qp)
    peer = bench.ask_first(qp, **how)
    refused_of(qp, peer, reason, how.get("init"), how.get("resp"))
    qp.is_as_before()
    still_reachable(bench, qp)


# Covers: RDV-08 RDV-09 RDV-26
@cases([
    ("no_such_number", "no queue pair has that number",
     lambda q: {"resp": q.qpn ^ 0x155}),
    ("another_peer", "the queue pair has another peer",
     lambda q: {"init": NUMBER + 1}),
    ("expected", "it expects another PSN", lambda q: {"expected": OWN_PSN + 1}),
    ("psn", "it sends another PSN than is expected",
     lambda q: {"psn": PEER_PSN - 1}),
    ("expected_early", "before RTS it expects another PSN",
     lambda q: {"s": False, "expected": 0}),
    ("no_proof", "it proves nothing", lambda q: {"proofs": bytes(16)}),
    ("half_proof", "it proves one PSN", lambda q: {"expected": 5}),
])
def no_match_waits(bench, how):
    """a Request that does not match gets no answer, and the peer connects"""
    qp = bench.qp("R")
    peer = bench.ask(qp, **how(qp))
    peer.expect_silence()
    qp.is_as_before()
    still_reachable(bench, qp)


@case
# Covers: RDV-08
def another_address(bench):
    """the queue pair has a peer of the same number at another address"""
    qp = bench.qp("R", dgid=gid(bench.addr_b)[:-1] + b"\x03")
    bench.ask(qp).expect_silence()


@case
# Covers: RDV-08 RDV-16
def had_its_stream(bench):
    """one stream until reset: another Request waits"""
    qp = bench.qp("R")
    peer, _ = bench.asked(qp)
    works(peer, qp)
    bench.ask(qp).expect_silence()
    message(peer, qp, 2, 1)
    peer.fin()
    peer.expect_fin()
    bench.ask(qp).expect_silence()
    qp.is_as_before()


@case
# Covers: RDV-08
def in_error(bench):
    """the queue pair is in error: a Request waits"""
    bench.opener()
    for state in INIT, RTR, RTS:
        qp = bench.qp("R", state, recvs=0)
        qp.fail()
        assert qp.state() == ERR
        bench.ask(qp).expect_silence()


@case
# Covers: RDV-08 RDV-17
def of_rdma_cm(bench):
    """rdma_cm connects the queue pair: it cannot be named"""
    bench.opener()
    qp = bench.qp("R", INIT)
    with socket.create_server((bench.addr_b, 0),
                              family=bench.family) as sock:
        qp.dial(sock.getsockname()[1])
        bench.ask(qp).expect_silence()
        with raises(errno.EISCONN):
            qp.rtr()
        bench.peer_of(sock.accept()[0]).reset()
    qp.event("REJECTED")


@contextlib.contextmanager
def raises(number):
    try:
        yield
    except OSError as error:
        assert error.errno == number, f"{error}, not {errno.errorcode[number]}"
    else:
        raise AssertionError(f"no {errno.errorcode[number]}")


# ---- Requests that wait ----------------------------------------------------

@case
# Covers: RDV-08 RDV-18
def waits(bench):
    """a Request for a queue pair in RESET or INIT waits for RTR"""
    bench.opener()
    fresh = Number(bench, "R")
    qp = bench.qp("R", INIT)
    early, peer = bench.ask(fresh), bench.ask(qp)
    peer.expect_silence()
    early.expect_silence()
    fresh.init()
    early.expect_silence()
    qp.rtr()
    rep = accepted(peer)
    assert rep.data[5] & 1 == 0
    peer.full_operation(E, rep.flags)
    peer.send(FIRST)
    qp.asynchronous(COMM_EST)
    qp.rts()
    works(peer, qp)
    fresh.rtr().rts()
    early.full_operation(E, accepted(early).flags)
    early.send(FIRST)
    works(early, fresh)


@case
# Covers: RDV-18 RDV-26
def waits_for_another(bench):
    """RTR names another peer: the Request that waited goes on waiting"""
    bench.opener()
    qp = bench.qp("R", INIT)
    stranger, peer = bench.ask(qp, init=NUMBER + 1), bench.ask(qp)
    peer.expect_silence()
    qp.rtr()
    accepted(peer)
    stranger.expect_silence()
    qp.reset().init().rtr(peer=NUMBER + 1)
    accepted(stranger)


@case
# Covers: RDV-05 RDV-09
def both_at_rtr(bench):
    """both ends in RTR prove no PSN: the Request waits until one is in RTS"""
    qp = bench.qp("R", RTR)
    peer = bench.ask(qp, s=False)
    peer.expect_silence()
    qp.rts()
    peer.full_operation(E, accepted(peer).flags)
    peer.send(FIRST)
    message(peer, qp, 1, 0)
    qp = bench.qp("R", RTR)
    bench.ask(qp, s=False).expect_silence()
    peer, _ = bench.asked(qp)
    message(peer, qp, 1, 0)
    assert qp.state() == RTR


@case
# Covers: RDV-18
def eight_wait(bench):
    """eight Requests of a host may wait, and one of each pair of numbers"""
    bench.opener()
    qp, other = bench.qp("R", INIT), bench.qp("R", INIT)
    peers = [bench.ask(qp, init=NUMBER + n) for n in range(8)]
    for peer in peers:
        peer.expect_silence()
    refused_of(qp, bench.ask(qp, init=NUMBER + 8), BUSY, NUMBER + 8)
    # The limit does not apply to another host, to a privileged port, or to Requests
    # for another queue pair.
    alias = ["ip", "-n", bench.namespaces[1], "addr"]
    subprocess.run([*alias, "add", f"{ELSEWHERE}/32", "dev", "lo"], check=True)
    try:
        bench.ask(qp, source=ELSEWHERE).expect_silence()
    finally:
        subprocess.run([*alias, "del", f"{ELSEWHERE}/32", "dev", "lo"],
                       check=True)
    bench.ask(qp, source_port=700).expect_silence()
    bench.ask(other).expect_silence()
    again = bench.ask(qp, init=NUMBER + 3)
    end_of(peers[3])
    again.expect_silence()
    qp.rtr(peer=NUMBER + 3)
    accepted(again)


@case
# Covers: RDV-18
def waits_too_long(bench):
    """a queue pair that is not in RTR in time: a Refusal with that reason"""
    bench.policy(reply_timeout_ms=500)
    bench.opener()
    qp = bench.qp("R", INIT)
    begin = time.monotonic()
    peer = bench.ask(qp)
    refused_of(qp, peer, LATE)
    assert time.monotonic() - begin > 0.45
    qp.rtr().rts()
    still_reachable(bench, qp)


# Covers: RDV-18
@cases([
    ("behind_waiting", "bytes behind a Request that waits", b"\0", "octet"),
    ("fpdu_waiting", "an FPDU behind a Request that waits",
     wire.Framer().fpdu(FIRST), "octet"),
    ("fin_waiting", "FIN behind a Request that waits", b"", "fin"),
])
def behind_waiting(bench, octets, how):
    bench.opener()
    qp = bench.qp("R", INIT)
    peer = bench.ask(qp)
    peer.expect_silence()
    if how == "fin":
        peer.fin()
    else:
        peer.raw(octets)
    peer.expect_end()
    qp.rtr().rts()
    still_reachable(bench, qp)


@case
# Covers: RDV-18
def destroyed_while_waiting(bench):
    """the queue pair is destroyed while a Request waits: no answer"""
    bench.opener()
    qp = bench.qp("R", INIT)
    peer = bench.ask(qp)
    peer.expect_silence()
    qp.free()
    bench.target.conns.remove(qp)
    peer.expect_silence()


@case
# Covers: RDV-18
def port_closes_while_waiting(bench):
    """the last Responder is reset while Requests wait: they end"""
    opener = bench.opener()
    qp = bench.qp("R", INIT)
    peers = [bench.ask(qp, init=NUMBER + n) for n in range(3)] + [bench.tcp()]
    for peer in peers:
        peer.expect_silence()
    opener.reset()
    for peer in peers:
        end_of(peer)
    qp.rtr().rts()
    still_reachable(bench, qp)


def one_that_stays(first, second):
    """Waits until one of two Requests ends: work items run in any order."""
    ready, _, _ = select.select([first.sock, second.sock], [], [],
                                first.sock.gettimeout())
    assert len(ready) == 1, f"{len(ready)} of two ended"
    ended, stays = ((first, second) if ready[0] is first.sock
                    else (second, first))
    end_of(ended)
    return stays


def end_of(peer):
    """Waits for FIN or RST; a refusing Reply may precede it."""
    try:
        while peer.sock.recv(4096):
            pass
    except ConnectionResetError:
        pass


# ---- before the first FPDU -------------------------------------------------

# Covers: RDV-16
@cases([
    ("fin_first", "FIN", lambda p: p.fin()),
    ("rst_first", "RST", lambda p: p.reset()),
    ("bad_crc_first", "an FPDU with a wrong CRC",
     lambda p: p.send(FIRST, crc_xor=1)),
    ("garbage_first", "something else", lambda p: p.raw(b"\0\4" + DATA * 4)),
    ("part_first", "a part of it, then FIN",
     lambda p: (p.raw(wire.Framer().fpdu(FIRST)[:9]), p.fin())),
])
def before_first(bench, then):
    """the connection ends before the first FPDU: it is rolled back"""
    for state in RTR, RTS:
        qp = bench.qp("R", state)
        for _ in range(3):
            peer, _ = bench.asked(qp, first=False)
            then(peer)
            if peer.sock.fileno() >= 0:
                end_of(peer)
        qp.is_as_before(state)
        peer, _ = bench.asked(qp)
        if state == RTR:
            qp.asynchronous(COMM_EST)
            qp.rts()
        works(peer, qp)


@case
# Covers: RDV-16
def lost_unused(bench):
    """an Initiator that has only sent its first FPDU tries again after a loss"""
    qp = bench.qp("I")
    with bench.listening() as sock:
        for _ in range(3):
            peer, _ = bench.answer(sock, qp)
            peer.reset()
        peer, _ = bench.answer(sock, qp)
        works(peer, qp)


@case
# Covers: RDV-16
def silence_first(bench):
    """the first FPDU is late: the connection is rolled back"""
    bench.policy(rtr_timeout_ms=300)
    qp = bench.qp("R")
    qp.post("send", 8)
    peer, _ = bench.asked(qp, first=False)
    end_of(peer)
    qp.is_as_before()
    peer, _ = bench.asked(qp)
    assert peer.rx.fpdu()[:18] == wire.send(1)
    qp.wc("s0")
    message(peer, qp, 1, 0)


# Covers: RDV-16
@cases([
    ("fenced_silence", "and then nothing", lambda peer: None),
    ("fenced_reset", "and then it is reset", live.Peer.reset),
])
def fenced(bench, then):
    """a request before the first FPDU fails in time if no peer connects"""
    qp = bench.qp("R")
    peer, _ = bench.asked(qp, first=False)
    begin = time.monotonic()
    qp.post("send", 8)
    then(peer)
    qp.wc("s0", status=RETRY_EXC)
    took = time.monotonic() - begin
    assert 5 < took < 5 + 2 * PROMPT, f"{took:.1f} s"
    assert qp.state() == ERR


@case
# Covers: RDV-16
def takes_its_place(bench):
    """a new Request replaces an older one that has no first FPDU yet"""
    qp = bench.qp("R")
    qp.post("send", 8)
    old = None
    for _ in range(5):
        peer, _ = bench.asked(qp, first=False)
        if old:
            end_of(old)
        old = peer
    qp.is_as_before()
    # A Request of another queue pair, or with another PSN, replaces nothing.
    bench.ask(qp, init=NUMBER + 1).expect_silence()
    bench.ask(qp, psn=5).expect_silence()
    peer.send(FIRST)
    assert peer.rx.fpdu()[:18] == wire.send(1)
    qp.wc("s0")
    message(peer, qp, 1, 0)


@case
# Covers: RDV-16 RDV-18
def many_at_once(bench):
    """Requests of one pair of numbers replace each other"""
    bench.opener()
    qp = bench.qp("R", INIT)
    peer = bench.ask(qp)
    for _ in range(20):
        peer = one_that_stays(peer, bench.ask(qp))
    peer.expect_silence()
    qp.rtr().rts()
    peer.full_operation(E, accepted(peer).flags)
    peer.send(FIRST)
    works(peer, qp)


@case
# Covers: RDV-09
def psn_at_rts(bench):
    """at RTS the PSN differs: rollback, and the next stream is established"""
    qp = bench.qp("R", RTR)
    peer, _ = bench.asked(qp, expected=0x333333)
    qp.asynchronous(COMM_EST)
    qp.rts()
    peer.expect_reset()
    qp.is_as_before()
    bench.ask(qp, expected=0x333333).expect_silence()
    peer, _ = bench.asked(qp)
    works(peer, qp)


@case
# Covers: RDV-09 RDV-19
def fault_after_undo(bench):
    """after a rollback an error ends the next stream"""
    for role in "RI":
        qp = bench.qp(role, RTR)
        if role == "R":
            peer, _ = bench.asked(qp, expected=0x333333)
            qp.asynchronous(COMM_EST)
            qp.rts()
            peer.expect_reset()
            peer, _ = bench.asked(qp)
        else:
            with bench.listening() as sock:
                peer, _ = bench.answer(sock, qp, expected=0x333333)
                qp.asynchronous(COMM_EST)
                qp.rts()
                peer.expect_reset()
                peer, _ = bench.answer(sock, qp)
        works(peer, qp)
        ends_by_fault(peer, qp)


@case
# Covers: RDV-09 RDV-16
def half_message_undone(bench):
    """half a message on a stream that is rolled back: its receive is kept"""
    qp = bench.qp("R", RTR, recvs=1)
    peer, _ = bench.asked(qp, expected=0x333333)
    qp.asynchronous(COMM_EST)
    peer.send(wire.send(1, b"half", last=False))
    time.sleep(live.SILENCE)
    qp.rts()
    peer.expect_reset()
    qp.is_as_before()
    peer, _ = bench.asked(qp)
    message(peer, qp, 1, 0)


@case
# Covers: RDV-09
def posted_in_rtr_undone(bench):
    """a Read on a stream that is rolled back is sent again on the next one"""
    qp = bench.qp("R", RTR)
    peer, _ = bench.asked(qp, expected=0x333333)
    qp.asynchronous(COMM_EST)
    qp.post("read", 16, 1, 0xCAFE, 0x5000)
    qp.post("send", 8)
    assert peer.rx.fpdu()[:18] == wire.untagged(wire.READ_REQ, 1, 1)
    assert peer.rx.fpdu()[:18] == wire.send(1)
    qp.rts()
    peer.expect_reset()
    qp.is_as_before()
    peer, _ = bench.asked(qp)
    got = peer.rx.fpdu()
    assert got[:18] == wire.untagged(wire.READ_REQ, 1, 1), got.hex()
    assert peer.rx.fpdu()[:18] == wire.send(1)
    qp.nothing("wc")
    sink, sink_to = struct.unpack(">IQ", got[18:30])
    peer.send(wire.tagged(wire.READ_RESP, sink, sink_to, bytes(16)))
    qp.wc("s0")
    qp.wc("s1")
    message(peer, qp, 1, 0)


@case
# Covers: RDV-09
def psn_at_rts_behind_end(bench):
    """a stream with another PSN that ended before RTS is rolled back, too"""
    for role in "RI":
        for how in "fin", "rst":
            qp = bench.qp(role, RTR)
            if role == "R":
                peer, _ = bench.asked(qp, expected=0x333333)
            else:
                peer, _ = bench.answered(qp, expected=0x333333)
            qp.asynchronous(COMM_EST)
            end_silently(peer, how)
            time.sleep(live.SILENCE)
            qp.is_as_before(RTR)
            if role == "R":
                qp.rts()
                peer, _ = bench.asked(qp)
            else:
                with bench.listening() as sock:
                    qp.rts()
                    peer, _ = bench.answer(sock, qp)
            works(peer, qp)


@case
# Covers: RDV-09 RDV-16
def psn_at_rts_before_first(bench):
    """another PSN before the first FPDU: the connection is rolled back"""
    qp = bench.qp("R", RTR)
    peer, _ = bench.asked(qp, first=False, expected=0x333333)
    qp.rts()
    peer.expect_reset()
    qp.is_as_before()
    peer, _ = bench.asked(qp)
    works(peer, qp)


# ---- end of the stream ---------------------------------------------------------------

def goes_silently(bench, qp, peer, how):
    works(peer, qp)
    end_silently(peer, how)
    qp.is_as_before()
    time.sleep(live.SILENCE)
    qp.is_as_before()
    # Receives can still be posted, and do not complete.
    qp.recv()
    qp.is_as_before()
    begin = time.monotonic()
    qp.post("send", 8)
    qp.wc("s1", status=RETRY_EXC)
    waited(begin)
    for n in 1, 2, 3, 4:
        qp.wc(f"r{n}", status=FLUSH)
    qp.post("send", 8)
    qp.wc("s2", status=FLUSH)
    assert qp.state() == ERR
    qp.nothing("async")


def waited(begin):
    """Checks the time of HALF_A_SECOND, in which RoCE would retransmit."""
    took = time.monotonic() - begin
    assert 0.5 < took < 0.5 + 2 * PROMPT, f"{took:.1f} s"


# Covers: RDV-19
@cases([
    ("fin_responder", "FIN, to a Responder", "R", "fin"),
    ("rst_responder", "RST, to a Responder", "R", "rst"),
    ("fin_initiator", "FIN, to an Initiator", "I", "fin"),
    ("rst_initiator", "RST, to an Initiator", "I", "rst"),
])
def silent_end(bench, role, how):
    qp = bench.qp(role)
    if role == "R":
        peer, _ = bench.asked(qp)
    else:
        peer, _ = bench.answered(qp)
    goes_silently(bench, qp, peer, how)


# Covers: RDV-19
@cases([
    ("fin_rtr", "FIN at RTR", "fin"),
    ("rst_rtr", "RST at RTR", "rst"),
])
def end_at_rtr(bench, how):
    """the peer ends before RTS: not reported until a request is posted"""
    for role in "RI":
        qp = bench.qp(role, RTR)
        peer, _ = bench.asked(qp) if role == "R" else bench.answered(qp)
        qp.asynchronous(COMM_EST)
        message(peer, qp, 1, 0)
        end_silently(peer, how)
        qp.is_as_before(RTR)
        qp.rts()
        qp.is_as_before(RTS)
        qp.post("send", 8)
        qp.wc("s0", status=RETRY_EXC)
        assert qp.state() == ERR


# Covers: RDV-19
@cases([
    ("fin_reading", "FIN while a response is missing", "fin"),
    ("rst_reading", "RST while a response is missing", "rst"),
])
def end_while_reading(bench, how):
    for role in "RI":
        qp = bench.qp(role)
        peer, _ = bench.asked(qp) if role == "R" else bench.answered(qp)
        qp.post("read", 16, 3, 0xCAFE, 0x5000)
        peer.rx.fpdu()
        begin = time.monotonic()
        if how == "fin":
            peer.fin()
        else:
            peer.reset()
        qp.wc("s0", status=RETRY_EXC)
        waited(begin)
        for n in 1, 2:
            qp.wc(f"s{n}", status=FLUSH)
        for n in range(4):
            qp.wc(f"r{n}", status=FLUSH)
        assert qp.state() == ERR


@case
# Covers: RDV-19
def end_and_credits(bench):
    """the peer ends at RTR: requests that are posted there fail at once"""
    for role in "RI":
        qp = bench.qp(role, RTR)
        peer, _ = bench.asked(qp) if role == "R" else bench.answered(qp)
        qp.asynchronous(COMM_EST)
        message(peer, qp, 1, 0)
        peer.fin()
        peer.expect_fin()
        begin = time.monotonic()
        qp.post("send", 8)
        qp.wc("s0", status=RETRY_EXC)
        took = time.monotonic() - begin
        assert took < 2 * PROMPT, f"{took:.1f} s"
        assert qp.state() == ERR


@case
# Covers: RDV-19
def end_meanwhile(bench):
    """a request that is posted while the stream ends is sent, or fails"""
    for turn in range(TURNS):
        role = "RI"[turn % 2]
        qp = bench.qp(role, RTR, recvs=1)
        peer, _ = bench.asked(qp) if role == "R" else bench.answered(qp)
        qp.asynchronous(COMM_EST)
        message(peer, qp, 1, 0)
        peer.fin()
        if turn % 4 > 1:
            peer.expect_fin()
        qp.post("send", 8)
        fields = bench.target.report(qp.nr, "wc")
        assert fields["name"] == "s0", fields
        assert int(fields["status"]) in (0, RETRY_EXC), fields
        qp.free()
        bench.target.conns.remove(qp)


# Covers: RDV-19
@cases([
    ("fin_patient", "FIN", "fin"),
    ("rst_patient", "RST", "rst"),
])
def end_and_patience(bench, how):
    """the peer ends: requests wait, until the error state or reset"""
    for role, leave in ("R", "fail"), ("I", "fail"), ("R", "reset"):
        qp = left_unanswered(bench, role, how)
        time.sleep(live.SILENCE)
        qp.is_as_before()
        qp._do(leave)
        if leave == "fail":
            for n in 1, 2:
                qp.wc(f"s{n}", status=FLUSH)
            for n in 1, 2, 3:
                qp.wc(f"r{n}", status=FLUSH)
        else:
            qp.nothing("wc")


@case
# Covers: RDV-19
def terminate_ends(bench):
    """a Terminate of the peer: the error state and the event"""
    qp = bench.qp("R")
    peer, _ = bench.asked(qp)
    works(peer, qp)
    peer.send(wire.terminate(0x1203))
    for n in 1, 2, 3:
        qp.wc(f"r{n}", status=FLUSH)
    assert qp.state() == ERR


@case
# Covers: RDV-19
def fault_ends(bench):
    """an error of the peer: a Terminate, the error state and the event"""
    for role in "RI":
        qp = bench.qp(role)
        peer, _ = bench.asked(qp) if role == "R" else bench.answered(qp)
        works(peer, qp)
        ends_by_fault(peer, qp)


def ends_by_fault(peer, qp):
    bad = wire.write(0x123456, 0, DATA)
    peer.send(bad)
    peer.expect(wire.terminate_for(0x1100, bad))
    for n in 1, 2, 3:
        qp.wc(f"r{n}", status=FLUSH)
    assert qp.state() == ERR


# Covers: RDV-19 RDV-20
@cases([
    ("destroy", "destroyed", "free"),
    ("reset", "reset", "reset"),
    ("fail", "moved to the error state", "fail"),
])
def what_completed_is_sent(bench, how):
    """the end with requests in progress: completed ones are sent, then FIN"""
    for role in "RI":
        qp = bench.qp(role, recvs=0)
        peer, _ = bench.asked(qp) if role == "R" else bench.answered(qp)
        qp.post("send", *MUCH)
        for n in range(MUCH[1]):
            qp.wc(f"s{n}")
        qp._do(how)
        if how == "free":
            bench.target.conns.remove(qp)
        got = 0
        while got < MUCH[0] * MUCH[1]:
            got += len(peer.rx.fpdu()) - 18
        peer.expect_fin()
        peer.fin()


@case
# Covers: RDV-19
def killed(bench):
    """its process is killed: completed requests are sent, then FIN"""
    target, bench.target = bench.target, Target(
        f"{bench.namespaces[0]}/{bench.addr_a}", bench.addr_b)
    try:
        ends = []
        for role in "RI":
            qp = bench.qp(role, recvs=2)
            peer, _ = bench.asked(qp) if role == "R" else bench.answered(qp)
            qp.post("send", *MUCH)
            for n in range(MUCH[1]):
                qp.wc(f"s{n}")
            ends.append(peer)
        bench.qp("R", INIT, peer=5)
        bench.qp("R", RTR, peer=6)
        bench.qp("I", RTS, peer=7).post("send", 8)
        waiting, _ = bench.asked(bench.qp("R", peer=8), first=False, init=8)
        left_unanswered(bench, number=9)
        bench.target.proc.kill()
        bench.target.proc.wait()
        for peer in ends:
            got = 0
            while got < MUCH[0] * MUCH[1]:
                got += len(peer.rx.fpdu()) - 18
            peer.expect_fin()
        end_of(waiting)
    finally:
        bench.target = target


# ---- reset, and another connection ------------------------------------------------

@case
# Covers: RDV-20
def another_use(bench):
    """reset and RTR again: Requests from before the reset do not match"""
    bench.opener()
    qp = bench.qp("R")
    peer, _ = bench.asked(qp)
    works(peer, qp)
    for use in range(1, 4):
        qp.reset()
        peer.expect_fin()
        stale = bench.ask(qp)
        stale.expect_silence()
        qp.init(recvs=2)
        psn = PEER_PSN + use
        qp.rtr(expected=psn).rts(psn=OWN_PSN + use)
        stale.expect_silence()
        peer, _ = bench.asked(qp, psn=psn, expected=OWN_PSN + use)
        works(peer, qp, 4 + 2 * (use - 1), use)


@case
# Covers: RDV-20
def reset_in_any_state(bench):
    """reset before the stream, at each step of Initiator and Responder"""
    for state in RTR, RTS:
        qp = bench.qp("R", state)
        qp.reset().init().rtr().rts()
        peer, _ = bench.asked(qp, first=False)
        qp.reset()
        end_of(peer)
        qp.init().rtr().rts()
        still = bench.asked(qp)[0]
        message(still, qp, 1, 8)
        # As Initiator: reset without a listener, without an answer, in a pause.
        qp = bench.qp("I", state)
        qp.reset().init().rtr()
        with bench.listening() as sock:
            peer, _ = bench.accept(sock)
            qp.reset()
            end_of(peer)
            qp.init().rtr()
            peer, _ = bench.accept(sock)
            peer.raw(qp.refusal(BUSY))
            qp.reset()
            end_of(peer)
            qp.init().rtr().rts()
            peer, _ = bench.answer_last(sock, qp)
        message(peer, qp, 1, 12)


@case
# Covers: RDV-20
def requests_survive(bench):
    """a Responder's requests wait while connections end early"""
    qp = bench.qp("R")
    qp.post("send", 8, 3)
    for _ in range(3):
        peer, _ = bench.asked(qp, first=False)
        peer.reset()
    peer, _ = bench.asked(qp)
    for n in range(3):
        assert peer.rx.fpdu()[:18] == wire.send(n + 1)
        qp.wc(f"s{n}")


# ---- the device is the Initiator -------------------------------------------

@case
# Covers: RDV-02 RDV-04 RDV-12
def initiator(bench):
    """the Request, byte by byte; behind the Reply the first FPDU"""
    with bench.listening() as sock:
        qp = bench.qp("I", dest_rd=9, rnr=5, rd=3)
        qp.post("send", 8)
        peer, req = bench.accept(sock)
        assert peer.sock.getpeername()[0] == bench.addr_a
        while req.data[5] & 1 == 0:
            # The request that was posted before RTS
            peer.reset()
            peer, req = bench.accept(sock)
        want = qp_request(bench, qp, True, 5)
        assert (req.key, req.flags, req.rev) == (wire.REQ_KEY, E, 2)
        assert req.data == want, f"{req.data.hex()}, wanted {want.hex()}"
        assert (req.a, req.ird, req.ord, req.rtr) == (True, 9, 3, "CD")
        peer.expect_silence()
        qp.nothing("wc")
        peer.raw(qp.reply())
        peer.full_operation(E, req.flags)
        peer.expect(FIRST)
        assert peer.rx.fpdu()[:18] == wire.send(1)
        qp.wc("s0")
        message(peer, qp, 1, 0)


def qp_request(bench, qp, s, rnr):
    return head(qp.qpn, qp.peer, flags_of(s, rnr) | 2, IMM | LONG) + \
        gid(bench.addr_a) + gid(bench.addr_b) + \
        struct.pack(">Q", bench.nonces[0]) + \
        qp.ends(bench.nonces).proofs(0, s, rnr, OWN_PSN, PEER_PSN)


@case
# Covers: RDV-05 RDV-12
def initiator_rtr(bench):
    """an Initiator in RTR: no PSN in the Request, COMM_EST, and Sends from RTS on"""
    with bench.listening() as sock:
        qp = bench.qp("I", RTR, dest_rd=2)
        peer, req = bench.accept(sock)
        want = qp_request(bench, qp, False, 0)
        assert req.data == want, req.data.hex()
        assert (req.ird, req.ord) == (2, 128), (req.ird, req.ord)
        peer.raw(qp.reply(ird=3))
        peer.full_operation(E, req.flags)
        peer.expect(FIRST)
    qp.asynchronous(COMM_EST)
    message(peer, qp, 1, 0)
    qp.rts(rd=1)
    qp.post("read", 16, 2, 0xCAFE, 0x5000)
    got = peer.rx.fpdu()
    assert got[:18] == wire.untagged(wire.READ_REQ, 1, 1), got.hex()
    peer.expect_silence()


@case
# Covers: RDV-09
def initiator_psn_at_rts(bench):
    """at RTS the PSN differs: reset, and connected again"""
    with bench.listening() as sock:
        qp = bench.qp("I", RTR)
        peer, _ = bench.answer(sock, qp, expected=0x333333)
        qp.asynchronous(COMM_EST)
        qp.rts()
        qp.post("send", 8)
        peer.expect_reset()
        peer, req = bench.answer(sock, qp)
        assert req.data == qp_request(bench, qp, True, 7)
    assert peer.rx.fpdu()[:18] == wire.send(1)
    qp.wc("s0")
    message(peer, qp, 1, 0)
    qp.is_as_before()


@case
# Covers: RDV-05 RDV-09
def rts_behind_request(bench):
    """RTS behind a proof of RTR: it is connected again, with both proofs"""
    with bench.listening() as sock:
        qp = bench.qp("I", RTR)
        peer, req = bench.accept(sock)
        assert req.data[5] & 1 == 0, req.data.hex()
        qp.rts()
        peer.expect_reset()
        peer, req = bench.answer(sock, qp)
        assert req.data[5] & 1, req.data.hex()
    works(peer, qp)


@case
# Covers: RDV-09
def nothing_in_common(bench):
    """an Initiator in RTR does not accept a Responder in RTR"""
    with bench.listening() as sock:
        qp = bench.qp("I", RTR)
        peer, _ = bench.accept(sock)
        peer.raw(qp.reply(s=False))
        peer.expect_reset()
        peer, _ = bench.answer(sock, qp)
    qp.asynchronous(COMM_EST)
    message(peer, qp, 1, 0)
    assert qp.state() == RTR


@case
# Covers: RDV-04 RDV-09
def first_says_nothing(bench):
    """the first Request has no proof, and each connection a new nonce"""
    seen = set()
    with bench.listening() as sock:
        qp = bench.qp("I")
        for _ in range(4):
            peer, req = bench.accept_first(sock)
            assert req.data[5] & 2 == 0 and req.data[56:] == bytes(16)
            seen.add(req.data[48:56])
            peer.reset()
    assert len(seen) == 4, seen
    qp.reset()


# Covers: RDV-11 RDV-15
@cases([
    ("retry_3", "no match", lambda q: q.refusal(NO_MATCH)),
    ("retry_4", "a reason of earlier versions", lambda q: q.refusal(4)),
    ("retry_6", "no room", lambda q: q.refusal(BUSY)),
    ("retry_7", "too late", lambda q: q.refusal(LATE)),
    ("retry_8", "no memory", lambda q: q.refusal(FAILED)),
    ("retry_9", "another challenge", lambda q: q.challenge()),
    ("retry_10", "an unknown reason", lambda q: q.refusal(10)),
    ("retry_255", "another unknown reason", lambda q: q.refusal(255)),
    ("retry_longer", "a longer Reply of a later version",
     lambda q: q.refusal(LATE, version=3, size=60)),
    ("retry_other", "a Reply without the magic",
     lambda q: wire.startup(wire.REP_KEY, E | wire.R, 2,
                            depths(1, 1) + b"go away")),
    ("retry_plain", "a Reply of revision 1, without Private Data",
     lambda q: wire.startup(wire.REP_KEY, wire.R, 1)),
])
def refused_again(bench, answer):
    """pauses of 5, 10, 20 ms, more or less, and then the stream"""
    with bench.listening() as sock:
        qp = bench.qp("I")
        qp.post("send", 8)
        for pause in 0, 5, 10, 20:
            peer, _ = bench.accept(sock)
            if pause:
                took = (time.monotonic() - begin) * 1000
                assert took >= pause / 2 - 1, f"{took:.1f} ms, not {pause}"
                assert took < 1000 + PROMPT * 1000, took
            begin = time.monotonic()
            peer.raw(answer(qp))
            end_of(peer)
        peer, _ = bench.answer(sock, qp)
    assert peer.rx.fpdu()[:18] == wire.send(1)
    qp.wc("s0")
    message(peer, qp, 1, 0)


# Covers: RDV-11
@cases([
    ("final_1", "malformed", lambda q: q.refusal(MALFORMED, init=0, resp=0)),
    ("final_2", "version", lambda q: q.refusal(VERSION, init=0, resp=0)),
    ("final_2_longer", "version, in a longer Reply of a later version",
     lambda q: q.refusal(VERSION, init=0, resp=0, version=3, size=60)),
    ("final_2_shorter", "version, in the shorter Reply of the earlier version",
     lambda q: q.refusal(VERSION, init=0, resp=0, version=1, size=28)),
    ("final_5", "role", lambda q: q.refusal(ROLE)),
])
def refused_for_good(bench, answer):
    """requests fail at once, also later ones; there is no next try"""
    with bench.listening() as sock:
        idle, qp = bench.qp("I", peer=5), bench.qp("I")
        qp.post("send", 8, 2)
        begin = time.monotonic()
        for _ in range(2):
            peer, req = bench.accept(sock)
            number = struct.unpack(">I", req.data[8:12])[0]
            peer.raw(answer(qp if qp.qpn == number else idle))
            end_of(peer)
        qp.wc("s0", status=RETRY_EXC)
        qp.wc("s1", status=FLUSH)
        took = time.monotonic() - begin
        assert took < 4.5, f"{took:.1f} s"
        assert qp.state() == ERR
        idle.is_as_before()
        sock.settimeout(2)
        try:
            sock.accept()
        except TimeoutError:
            pass
        else:
            raise AssertionError("another try")
        begin = time.monotonic()
        idle.post("send", 8)
        idle.wc("s0", status=RETRY_EXC)
        took = time.monotonic() - begin
        assert took < 4.5, f"{took:.1f} s"


# Covers: RDV-10 RDV-07
@cases([
    ("rep_magic", "a wrong magic", {"magic": b"XRDW"}),
    ("rep_short", "a byte too few", {"size": 43}),
    ("rep_long", "a byte too many", {"size": 45}),
    ("rep_none", "no Private Data", {"size": 0}),
    ("rep_version", "version 1", {"version": 1}),
    ("rep_old", "one of version 1", {"version": 1, "size": 28}),
    ("rep_flag", "a reserved flag", {"flags": 0x73}),
    ("rep_reason", "a reason, and accepts", {"reason": 3}),
    ("rep_rnr_without_s", "RNR retries before RTS", {"flags": 0x70}),
    ("rep_psn_without_s", "a PSN before RTS", {"flags": 0}),
    ("rep_no_proof", "no proofs", {"proofs": bytes(16)}),
    ("rep_half_proof", "no proof of the PSN that it expects",
     {"expected": OWN_PSN ^ 0x800000}),
    ("rep_init", "another Initiator's number", {"init": 0x123456}),
    ("rep_resp", "another Responder's number", {"resp": NUMBER + 1}),
    ("rep_init_25", "an Initiator's number of 25 bits",
     {"init": 1 << 24 | NUMBER}),
    ("rep_feature", "a feature that was not offered", {"features": 0x8000}),
    ("rep_psn", "another PSN than is expected", {"psn": PEER_PSN + 1}),
    ("rep_expected", "it expects another PSN", {"expected": OWN_PSN + 1}),
    ("rep_model", "not the peer-to-peer model", {"a": False, "types": ""}),
    ("rep_types", "no kind of first FPDU", {"types": ""}),
    ("rep_revision", "MPA revision 3", {"rev": 3}),
    ("rep_plain", "MPA revision 1", {"rev": 1, "mpa": wire.C}),
])
def bad_reply(bench, how):
    """reset with nothing sent behind the Request, and tried again"""
    with bench.listening() as sock:
        qp = bench.qp("I")
        qp.post("send", 8)
        peer, req = bench.accept(sock)
        while not req.data[5] & 1:
            peer.reset()
            peer, req = bench.accept(sock)
        peer.raw(qp.reply(**how))
        peer.expect_reset()
        qp.nothing("wc")
        peer, _ = bench.answer(sock, qp)
    assert peer.rx.fpdu()[:18] == wire.send(1)
    qp.wc("s0")
    message(peer, qp, 1, 0)


@case
# Covers: RDV-10
def rest_not_looked_at(bench):
    """the last three bytes of a Reply are not looked at"""
    qp = bench.qp("I")
    peer, _ = bench.answered(qp, rest=b"abc")
    works(peer, qp)


# Covers: RDV-15
@cases([
    ("fin_reply", "FIN instead of a Reply", lambda p, q: p.fin()),
    ("rst_reply", "RST instead of a Reply", lambda p, q: p.reset()),
    ("part_reply", "a part of a Reply, then FIN",
     lambda p, q: (p.raw(q.reply()[:30]), p.fin())),
    ("garbage_reply", "something else",
     lambda p, q: p.raw(b"220 mail ESMTP ready, go ahead\r\n")),
    ("request_reply", "a Request in return",
     lambda p, q: p.raw(request(5, 6, bytes(16), bytes(16)))),
])
def no_reply(bench, then):
    """no valid Reply: the connect is tried again"""
    with bench.listening() as sock:
        qp = bench.qp("I")
        for _ in range(3):
            peer, _ = bench.accept(sock)
            then(peer, qp)
            if peer.sock.fileno() >= 0:
                end_of(peer)
        qp.is_as_before()
        peer, _ = bench.answer_last(sock, qp)
    works(peer, qp)


@case
# Covers: RDV-15
def silent_reply(bench):
    """no Reply at all: the connect is tried again after the timeout"""
    bench.policy(reply_timeout_ms=400)
    with bench.listening() as sock:
        qp = bench.qp("I", timing=(20, 7))
        for _ in range(2):
            peer, _ = bench.accept(sock)
            begin = time.monotonic()
            end_of(peer)
            assert time.monotonic() - begin > 0.3
    qp.is_as_before()


# ---- the TCP port ------------------------------------------------------------------

@case
# Covers: RDV-21
def port_on_demand(bench):
    """the port is open only while a queue pair needs it"""
    def closed():
        try:
            bench.tcp().close()
        except ConnectionRefusedError:
            return
        raise AssertionError("the port is open")

    closed()
    qp = bench.qp("I", RTR)
    closed()
    one, two = bench.opener(), bench.opener()
    bench.tcp()
    one.reset()
    bench.tcp()
    two.free()
    bench.target.conns.remove(two)
    closed()
    one.init()
    closed()
    one.rtr()
    bench.tcp()
    one.reset()
    closed()
    qp.is_as_before(RTR)


@case
# Covers: RDV-21
def port_0(bench):
    """with port 0 RTR fails, and connections without a stream end"""
    stands = bench.qp("R")
    peer, _ = bench.asked(stands)
    before = bench.qp("R", peer=5)
    early, _ = bench.asked(before, first=False, init=5)
    waiting = bench.ask(bench.qp("R", INIT), init=6)
    with bench.listening() as sock:
        dials = bench.qp("I", timing=(20, 7))
        dials.post("send", 8)
        dialled, _ = bench.accept(sock)
        begin = time.monotonic()
        bench.policy(oob_port=0)
        for one in early, waiting, dialled:
            end_of(one)
        with raises(errno.ECONNREFUSED):
            bench.tcp()
        dials.wc("s0", status=RETRY_EXC)
        assert time.monotonic() - begin < PROMPT
    for role in "RI":
        qp = bench.qp(role, INIT)
        with raises(errno.EACCES):
            qp.rtr()
        assert qp.state() == INIT
    works(peer, stands)
    before.is_as_before()
    bench.policy(oob_port=4791)
    still_reachable(bench, bench.qp("R", peer=NUMBER + 1), init=NUMBER + 1)


@case
# Covers: RDV-21
def port_other(bench):
    """another port applies to Initiators and Responders"""
    bench.policy(oob_port=5791)
    bench.port = 5791
    try:
        qp = bench.qp("R")
        still_reachable(bench, qp)
        qp = bench.qp("I")
        peer, _ = bench.answered(qp)
        works(peer, qp)
    finally:
        bench.port = 4791


@case
# Covers: RDV-21
def port_privileged(bench):
    """a Responder's port below 1024 needs the capability, open or not"""
    # Start another process, as this case changes its credentials: rdma_cm refuses
    # calls of a process that has done so.
    target, bench.target = bench.target, Target(
        f"{bench.namespaces[0]}/{bench.addr_a}", bench.addr_b)
    bench.policy(oob_port=700)
    bench.port = 700
    try:
        one, two = (bench.qp("R", INIT, peer=p) for p in (5, NUMBER))
        for open_already in False, True:
            bench.target.do("plain")
            with raises(errno.EACCES):
                two.rtr()
            # The Initiator needs no capability.
            bench.qp("I", RTR).reset()
            bench.target.do("privileged")
            if not open_already:
                one.rtr()
        two.rtr().rts()
        still_reachable(bench, two)
    finally:
        bench.port = 4791
        bench.target.proc.kill()
        bench.target.proc.wait()
        bench.target = target


LISTEN = "import socket,sys; s=socket.create_server((sys.argv[1], " \
    "int(sys.argv[2])), family=socket.AF_INET6 if ':' in sys.argv[1] else " \
    "socket.AF_INET); print(flush=True); sys.stdin.read()"


@case
# Covers: RDV-21
def port_in_use(bench):
    """another program has the port: EADDRINUSE; without it RTR succeeds"""
    qp = bench.qp("R", INIT)
    with bench.program(bench.responder, 4794) as other:
        other.stdout.readline()
        bench.policy(oob_port=4794)
        with raises(errno.EADDRINUSE):
            qp.rtr()
        assert qp.state() == INIT
        qp.is_as_before(INIT)
        # The Initiator needs no port.
        bench.qp("I", RTR).reset()
        other.stdin.close()
        other.wait()
    bench.port = 4794
    try:
        qp.rtr().rts()
        still_reachable(bench, qp)
    finally:
        bench.port = 4791


# ---- impostors, section 9 --------------------------------------------------

@case
# Covers: RDV-09 RDV-26
def guesses(bench):
    """wrong proofs are few a second; privileged ports are not limited"""
    qp = bench.qp("R")
    begin = time.monotonic()
    peers = []
    for psn in range(8):
        peers.append(bench.ask(qp, psn=psn))
        peers[-1].expect_silence()
        peers[-1].close()
    tries = 0
    while True:
        peer = bench.ask(qp, psn=tries)
        if select.select([peer.sock], [], [], live.SILENCE)[0]:
            break
        peer.close()
        tries += 1
        assert tries < time.monotonic() - begin + 2, tries
    refused_of(qp, peer, BUSY)
    qp.is_as_before()
    peer = bench.ask(qp, source_port=701)
    peer.full_operation(E, accepted(peer).flags)
    peer.send(FIRST)
    works(peer, qp)


@case
# Covers: RDV-09
def replayed(bench):
    """a recorded proof is not valid on another connection"""
    qp = bench.qp("R")
    peer = bench.ask_first(qp)
    proof = qp.proving(challenged(peer))
    peer.raw(proof)
    accepted(peer)
    peer.reset()
    replay = bench.ask_first(qp)
    challenged(replay)
    replay.raw(proof)
    replay.expect_silence()
    qp.is_as_before()
    still_reachable(bench, qp)


@case
# Covers: RDV-09
def echoed(bench):
    """a Reply with the Initiator's own proofs is not accepted"""
    with bench.listening() as sock:
        qp = bench.qp("I")
        qp.post("send", 8)
        for swapped in False, True:
            peer, req = bench.accept(sock)
            own, expected = req.data[56:64], req.data[64:]
            peer.raw(qp.reply(flags=req.data[5] & ~2,
                              proofs=expected + own if swapped else
                              own + expected))
            peer.expect_reset()
        qp.nothing("wc")
        peer, _ = bench.answer(sock, qp)
    assert peer.rx.fpdu()[:18] == wire.send(1)
    qp.wc("s0")


@case
# Covers: RDV-09
def unasked(bench):
    """an accepting Reply to the first Request is not accepted"""
    with bench.listening() as sock:
        qp = bench.qp("I")
        peer, first = bench.accept_first(sock)
        bench.nonces = struct.unpack(">Q", first.data[48:56])[0], 0
        peer.raw(qp.reply())
        peer.expect_reset()
        peer, _ = bench.answer(sock, qp)
    works(peer, qp)


@case
# Covers: RDV-18
def crowded(bench):
    """an Initiator refused for lack of room tries a privileged port"""
    with bench.listening() as sock:
        qp = bench.qp("I")
        peer, _ = bench.accept(sock)
        assert peer.sock.getpeername()[1] >= 1024
        peer.raw(qp.refusal(BUSY))
        end_of(peer)
        peer, _ = bench.answer(sock, qp)
        assert 512 <= peer.sock.getpeername()[1] < 1024
    works(peer, qp)


# ---- results of ibv_modify_qp() ---------------------------------------------

# Covers: RDV-01
@cases([
    ("no_grh", "no GRH", errno.EINVAL, {"is_global": 0}),
    ("number_1", "number 1, which is reserved", errno.EINVAL, {"peer": 1}),
    ("number_25", "a number of 25 bits", errno.EINVAL, {"peer": 1 << 24}),
    ("multicast", "a multicast address", errno.EADDRNOTAVAIL,
     {"dgid": gid("ff02::1")}),
    ("unspecified", "no address", errno.EADDRNOTAVAIL, {"dgid": gid("::")}),
    ("hardware", "a hardware address", errno.EADDRNOTAVAIL,
     {"dgid": bytes.fromhex("0200c0ffee01") + bytes(10)}),
    ("network_0", "network 0 of IPv4", errno.EADDRNOTAVAIL,
     {"dgid": gid("0.0.0.1")}),
    ("class_d", "multicast of IPv4", errno.EADDRNOTAVAIL,
     {"dgid": gid("224.0.0.1")}),
])
def cannot_be(bench, number, how):
    """RTR with an invalid peer fails, and then succeeds with a valid one"""
    qp = bench.qp("R", INIT)
    with raises(number):
        qp.rtr(**how)
    qp.is_as_before(INIT)
    qp.rtr().rts()
    still_reachable(bench, qp)


@case
# Covers: RDV-01
def other_family(bench):
    """ends of two address families: EAFNOSUPPORT"""
    qp = bench.qp("R", INIT)
    other = "192.0.2.1" if bench.family == socket.AF_INET6 else "2001:db8::1"
    with raises(errno.EAFNOSUPPORT):
        qp.rtr(dgid=gid(other))
    qp.rtr()


@case
# Covers: RDV-01
def no_gid(bench):
    """there is no GID at the source index: ENODATA"""
    qp = bench.qp("R", INIT)
    last = max(int(file.name) for file in bench.gids.iterdir())
    with raises(errno.ENODATA):
        qp.rtr(index=last)
    qp.rtr()


@case
# Covers: RDV-01
def elsewhere(bench):
    """the process is in another network namespace: ENETUNREACH"""
    for role in "RI":
        qp = bench.qp(role, INIT)
        bench.target.do("leave")
        try:
            with raises(errno.ENETUNREACH):
                qp.rtr()
        finally:
            bench.target.do("return")
        qp.is_as_before(INIT)
        qp.rtr()


@case
# Covers: RDV-13
def no_route(bench):
    """no route to the peer: RTR and RTS succeed, as it may be added"""
    far = "198.51.100.7"
    to, here = (["ip", "-n", name] for name in bench.namespaces)
    lost = bench.qp("I", peer=5, dgid=gid(far))
    lost.post("send", 8)
    lost.wc("s0", status=RETRY_EXC)
    before = bench.counter("connections_failed")
    qp = bench.qp("I", dgid=gid(far), timing=(20, 7))
    qp.post("send", 8)
    end = time.monotonic() + PATIENCE
    while bench.counter("connections_failed") < before + 2:
        assert time.monotonic() < end, "no tries"
    subprocess.run([*here, "addr", "add", f"{far}/32", "dev", "lo"],
                   check=True)
    try:
        with socket.create_server((far, bench.port)) as sock:
            sock.settimeout(PATIENCE)
            subprocess.run([*to, "route", "add", far, "via", bench.addr_b],
                           check=True)
            peer, _ = bench.answer(sock, qp)
        assert peer.rx.fpdu()[:18] == wire.send(1)
        qp.wc("s0")
        message(peer, qp, 1, 0)
    finally:
        subprocess.run([*to, "route", "del", far], check=False)
        subprocess.run([*here, "addr", "del", f"{far}/32", "dev", "lo"],
                       check=True)


@case
# Covers: RDV-01
def attributes(bench):
    """a query shows the peer's number but no PSN; states in the wrong order fail"""
    qp = bench.qp("R", INIT)
    with raises(errno.EINVAL):
        qp.rts()
    qp.rtr()
    with raises(errno.EINVAL):
        qp.init(recvs=0)
    with raises(errno.EINVAL):
        qp.rtr()
    qp.rts()
    state, peer, rq_psn, sq_psn = map(int, qp._do("query").split())
    assert (state, peer, rq_psn, sq_psn) == (RTS, NUMBER, 0, 0)


@case
# Covers: RDV-25
def not_shown(bench):
    """every user of the host sees the number, but not that of the peer"""
    qp = bench.qp("R")
    shown = json.loads(subprocess.run(
        ["rdma", "-j", "resource", "show", "qp"], check=True,
        capture_output=True).stdout)
    mine = [one for one in shown if one["ifname"] == bench.target.device and
            one["lqpn"] == qp.qpn]
    assert len(mine) == 1, shown
    assert not mine[0].get("rqpn"), mine
    assert int(qp._do("query").split()[1]) == NUMBER


@case
# Covers: RDV-17
def not_for_rdma_cm(bench):
    """rdma_cm cannot use a queue pair in RTR by number, until reset"""
    for state in RTR, RTS:
        for role in "RI":
            qp = bench.qp(role, state)
            with socket.create_server((bench.addr_b, 0),
                                      family=bench.family) as sock:
                with raises(errno.EISCONN):
                    qp.dial(sock.getsockname()[1])


@case
# Covers: RDV-03
def to_itself(bench):
    """both ends are one queue pair: what it sends, it receives"""
    for role in "RI":
        qp = bench.qp(role, INIT)
        qp.peer = qp.qpn
        qp.rtr(dgid=gid(qp.address), expected=OWN_PSN).rts()
        qp.post("send", 8, 3)
        seen = set()
        for _ in range(6):
            fields = qp.target.report(qp.nr, "wc")
            assert fields["status"] == "0", fields
            seen.add(fields["name"])
        assert seen == {"s0", "s1", "s2", "r0", "r1", "r2"}, seen
        qp.reset()


# ---- timeouts ------------------------------------------------------------------

@case
# Covers: RDV-13
def time_of_requests(bench):
    """no peer: RETRY_EXC_ERR after 5 s; without requests no failure"""
    early, late = {}, {}
    for role in "RI":
        early[role], late[role] = (bench.qp(role, peer=p) for p in (5, 6))
    begin = time.monotonic()
    for qp in early.values():
        qp.post("send", 8, 2)
    for qp in early.values():
        qp.wc("s0", status=RETRY_EXC)
        took = time.monotonic() - begin
        assert 4.9 < took < 5 + 2 * PROMPT, f"{took:.1f} s"
        qp.wc("s1", status=FLUSH)
        for n in range(4):
            qp.wc(f"r{n}", status=FLUSH)
        assert qp.state() == ERR
    for qp in late.values():
        qp.is_as_before()
    begin = time.monotonic()
    for qp in late.values():
        qp.post("send", 8)
    for qp in late.values():
        qp.wc("s0", status=RETRY_EXC)
        took = time.monotonic() - begin
        assert 4.9 < took < 5 + 2 * PROMPT, f"{took:.1f} s"


@case
# Covers: RDV-13
def time_saved(bench):
    """connected within 5 s: the requests do not fail"""
    qp = bench.qp("R")
    qp.post("send", 8)
    time.sleep(2)
    peer, _ = bench.asked(qp)
    assert peer.rx.fpdu()[:18] == wire.send(1)
    qp.wc("s0")
    time.sleep(5)
    qp.is_as_before()
    message(peer, qp, 1, 0)


@case
# Covers: RDV-14
def late_receive(bench):
    """no receive, 7 RNR retries: the message waits without limit"""
    for how, ms in ({"rnr": 7}, 100), ({"s": False}, 100), ({"rnr": 7}, 0):
        bench.policy(rnr_timeout_ms=ms)
        qp = bench.qp("R", recvs=0, min_rnr=1)
        peer, _ = bench.asked(qp, **how)
        peer.send(wire.send(1, DATA))
        time.sleep(2.5)
        qp.is_as_before()
        qp.recv()
        qp.wc("r0", data=DATA.hex())


@case
# Covers: RDV-14
def too_late_receive(bench):
    """no receive, no RNR retries: Terminate after the RNR timeout"""
    bench.policy(rnr_timeout_ms=300)
    # min_rnr_timer of 0.01 ms and of 327.68 ms: the longer limit applies
    for min_rnr, rnr, least in (1, 0, 0.3), (30, 2, 0.98):
        qp = bench.qp("R", recvs=0, min_rnr=min_rnr)
        peer, _ = bench.asked(qp, rnr=rnr)
        begin = time.monotonic()
        peer.send(wire.send(1, DATA))
        peer.rx.fpdu()
        took = time.monotonic() - begin
        assert least - 0.02 < took < least + PROMPT, f"{took:.2f} s"
        assert qp.state() == ERR


@case
# Covers: RDV-14
def shared_receives(bench):
    """a shared receive queue: an RNR timeout ends one connection only"""
    bench.policy(rnr_timeout_ms=300)
    first, second, last = (bench.qp("R", recvs=0, shared=True, min_rnr=1)
                           for _ in range(3))
    (impatient, _), (one, _) = bench.asked(first, rnr=0), bench.asked(second)
    two, _ = bench.asked(last)
    impatient.send(wire.send(1, DATA))
    impatient.rx.fpdu()
    assert first.state() == ERR
    # Make them wait in this order: the oldest waiting connection is served first.
    late = bench.counter("rx_rnr_waits")
    one.send(wire.send(1, DATA))
    bench.counter_is("rx_rnr_waits", late + 1)
    two.send(wire.send(1, DATA))
    time.sleep(1)
    for qp in second, last:
        qp.is_as_before()
    # Post one receive after the other: if two connections were woken together,
    # either might take the first one.
    second.recv()
    second.wc("r0", data=DATA.hex())
    second.recv()
    last.wc("r1", data=DATA.hex())
    # A connection that the peer has ended takes no receive, even if the application
    # posts a request to it.
    second.recv()
    one.fin()
    one.expect_fin()
    second.is_as_before()
    second.post("send", 8)
    two.send(wire.send(2, DATA))
    last.wc("r2", data=DATA.hex())
    second.recv()
    second.wc("s0", status=RETRY_EXC)
    assert second.state() == ERR
    two.send(wire.send(3, DATA))
    last.wc("r3", data=DATA.hex())


@case
# Covers: RDV-14
def receiver_not_ready(bench):
    """the peer had no receive: the oldest request is RNR_RETRY_EXC_ERR"""
    for role in "RI":
        qp = bench.qp(role)
        peer, _ = bench.asked(qp) if role == "R" else bench.answered(qp)
        qp.post("read", 16, 2, 0xCAFE, 0x5000)
        peer.rx.fpdu()
        peer.send(wire.terminate(0x1202))
        qp.wc("s0", status=RNR_EXC)
        qp.wc("s1", status=FLUSH)
        assert qp.state() == ERR


# ---- removal of the device -------------------------------------------------------

@case
# Covers: RDV-19
def device_goes(bench):
    """a device is deleted with queue pairs in all states, in bounded time"""
    side = f"{bench.namespaces[1]}/{bench.addr_b}"
    here = Target(side, bench.addr_b)
    # Both ends have the same address: the lower queue pair number is the Initiator.
    other = copy.copy(bench)
    other.target, other.peers = here, []
    other.addr_a = other.responder = bench.addr_b
    other.gids = pathlib.Path("/sys/class/infiniband", here.device,
                              "ports/1/gids")
    # Otherwise 0, so that the peers of this program can listen.
    port = pathlib.Path("/sys/class/infiniband", here.device, "mpa/oob_port")
    port.write_text("4791")
    netdev = json.loads(subprocess.run(
        ["rdma", "-j", "link", "show", f"{here.device}/1"], check=True,
        capture_output=True).stdout)[0]["netdev"]
    try:
        standing, early = (other.qp("R", peer=n) for n in (2, 3))
        ready = other.qp("R", INIT, peer=4)
        peers = [other.asked(standing, init=2)[0],
                 other.asked(early, first=False, init=3)[0],
                 other.ask(ready, init=4), other.tcp()]
        for state in RTR, RTS:
            qp = other.qp("I", state, peer=0xffffff)
        qp.post("send", 8, 3)
        early.post("send", 8, 3)
        standing.post("send", 20000, 3)
        left_unanswered(other, number=5)
        begin = time.monotonic()
        subprocess.run(["rdma", "link", "del", here.device], check=True,
                       timeout=PATIENCE)
        took = time.monotonic() - begin
        assert took < PROMPT, f"{took:.1f} s"
        for peer in peers:
            end_of(peer)
    finally:
        here.proc.kill()
        here.proc.wait()
        for peer in other.peers:
            peer.close()
        subprocess.run(["rdma", "link", "add", here.device, "type", "xiw",
                        "netdev", netdev], check=True, timeout=PATIENCE)
        port.write_text("0")


# ---- Send with Immediate, section 8 -----------------------------------------

def agreed(bench, **how):
    """Establishes a stream with Send with Immediate. Returns peer and queue pair."""
    qp = bench.qp("R", **how)
    peer, rep = bench.asked(qp, features=IMM)
    assert rep.data[6:8] == b"\0\1", rep.data.hex()
    return peer, qp


@case
# Covers: RDV-23
def imm_offered(bench):
    """Send with Immediate is offered; a Reply without it does not agree"""
    qp = bench.qp("I")
    peer, req = bench.answered(qp)
    assert req.data[7] & IMM, req.data.hex()
    peer.send(wire.imm(1, 5))
    fields = qp.wc("r0", len=0)
    assert fields["imm"] == "00000005"
    qp.post("send_imm", 8, 1, 7)
    qp.wc("s0", QP_OP)
    peer.expect_terminate(0)


@case
# Covers: RDV-23
def imm_agreed(bench):
    """Send with Immediate agreed on: the Initiator sends and receives it"""
    qp = bench.qp("I")
    peer, _ = bench.answered(qp, features=IMM)
    qp.post("send_imm", 8, 1, 0xcafe0001)
    assert peer.rx.fpdu() == wire.imm(1, 0xcafe0001)
    assert peer.rx.fpdu()[:18] == wire.send(2)
    qp.wc("s0")
    peer.send(wire.imm(1, 0xdeadbeef), wire.send(2, DATA))
    qp.wc("r0", len=8, imm="deadbeef", data=DATA.hex())


@case
# Covers: RDV-23
def imm_sent(bench):
    """two messages for each request, none in between; one completion"""
    peer, qp = agreed(bench)
    for n, size in enumerate((0, 1, 8, 4000)):
        qp.post("send_imm", size, 1, n)
        qp.post("send", 8)
        msn = 3 * n + 1
        assert peer.rx.fpdu() == wire.imm(msn, n)
        got = 0
        while got < size or not size:
            part = peer.rx.fpdu()
            last = got + len(part) - 18 == size
            want = wire.send(msn + 1, mo=got, last=last)
            assert part[:18] == want, f"{part[:18].hex()}: {want.hex()}"
            got += len(part) - 18
            if last:
                break
        assert peer.rx.fpdu()[:18] == wire.send(msn + 2)
        qp.wc(f"s{2 * n}")
        qp.wc(f"s{2 * n + 1}")
    qp.is_as_before()


@case
# Covers: RDV-23
def imm_received(bench):
    """one receive each, which the Send fills; with Sends of other kinds"""
    peer, qp = agreed(bench, recvs=6)
    peer.send(wire.send(1, DATA), wire.imm(2, 1), wire.send(3),
              wire.imm(4, 2), wire.send(5, DATA[:4], last=False),
              wire.send(5, DATA[4:], mo=4), wire.send(6, DATA),
              wire.imm(7, 0xffffffff), wire.send(8, DATA, op=wire.SEND_SE),
              wire.write(bench.target.rw.stag, bench.target.rw.base, DATA),
              wire.imm(9, 4, kind=0))
    for nr, (size, value) in enumerate(((8, 0), (0, 1), (8, 2), (8, 0),
                                        (8, 0xffffffff), (8, 4))):
        qp.wc(f"r{nr}", len=size, imm=f"{value:08x}")
    qp.is_as_before()


@case
# Covers: RDV-23
def imm_no_receive(bench):
    """the first half needs no receive; the second one waits for it"""
    peer, qp = agreed(bench, recvs=0)
    late = bench.counter("rx_rnr_waits")
    peer.send(wire.imm(1, 3))
    peer.send(wire.send(2, DATA))
    while bench.counter("rx_rnr_waits") == late:
        qp.nothing("wc")
    qp.recv()
    qp.wc("r0", len=8, imm="00000003", data=DATA.hex())


# Covers: RDV-23
@cases([
    ("imm_twice", "another first half", lambda: wire.imm(2, 2)),
    ("imm_of_write", "Immediate Data of a Write", lambda: wire.imm(2, 2, kind=0)),
    ("imm_se", "Immediate Data with Solicited Event",
     lambda: wire.imm(2, 2, op=wire.IMM_SE)),
    ("imm_inv", "Send with Invalidate",
     lambda: wire.send(2, DATA, op=wire.SEND_INV)),
])
def imm_and_then(bench, segment):
    """anything else after the first half: 0x0206, no receive is taken"""
    peer, qp = agreed(bench)
    bad = segment()
    peer.send(wire.imm(1, 1), bad)
    peer.expect_terminate(0x0206, bad)
    for nr in range(4):
        qp.wc(f"r{nr}", FLUSH)


@case
# Covers: RDV-23
def imm_other(bench):
    """Immediate Data without a first half is not changed"""
    peer, qp = agreed(bench, recvs=4)
    peer.send(wire.imm(1, 1, op=wire.IMM_SE), wire.imm(2, 2, kind=2),
              wire.send(3, struct.pack(">I", 3), op=wire.IMM, last=False),
              wire.send(3, struct.pack(">I", 1), op=wire.IMM, mo=4),
              wire.send(4, DATA))
    for nr, value in enumerate((1, 2, 3)):
        qp.wc(f"r{nr}", len=0, imm=f"{value:08x}")
    qp.wc("r3", len=8, imm="00000000")


@case
# Covers: RDV-23
def imm_then_end(bench):
    """an end between the halves completes no receive"""
    peer, qp = agreed(bench)
    peer.send(wire.imm(1, 1))
    peer.fin()
    peer.expect_fin()
    qp.is_as_before()


# ---- many peers ----------------------------------------------------------------

@case
# Covers: RDV-18 RDV-22
def silent_crowd(bench):
    """1000 silent connections, and then an honest one gets through"""
    bench.policy(request_timeout_ms=30000)
    qp = bench.qp("R")
    crowd = []
    for _ in range(1000):
        sock = socket.socket(bench.family)
        sock.setblocking(False)
        sock.bind((bench.addr_b, 0))
        sock.connect_ex((bench.responder, bench.port))
        crowd.append(sock)
    begin = time.monotonic()
    still_reachable(bench, qp)
    took = time.monotonic() - begin
    for sock in crowd:
        sock.close()
    assert took < PATIENCE, f"{took:.1f} s"


@case
# Covers: RDV-18 RDV-22
def waiting_crowd(bench):
    """Requests that wait for many queue pairs hold up none of the others"""
    opener = bench.opener()
    qps = [bench.qp("R", INIT, recvs=0) for _ in range(60)]
    for qp in qps:
        for n in range(8):
            bench.ask(qp, init=NUMBER + n)
    one = bench.qp("R")
    still_reachable(bench, one)
    qps[30].init(recvs=4)
    qps[30].rtr(peer=NUMBER + 7).rts()
    opener.is_as_before(RTR)


@case
# Covers: RDV-18 RDV-22
def too_many_wait(bench):
    """when 1024 Requests wait, the oldest ones are reset"""
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))
    bench.opener()
    qps = [bench.qp("R", INIT, recvs=0) for _ in range(130)]
    crowd = [bench.ask(qp, init=NUMBER + n) for qp in qps for n in range(8)]
    oldest, others = crowd[:-1024], crowd[-1024:]
    for peer in oldest:
        with raises(errno.ECONNRESET):
            peer.sock.recv(1)
    time.sleep(live.SILENCE)
    poll = select.poll()
    for peer in others:
        poll.register(peer.sock, select.POLLIN)
    assert not poll.poll(0), "more than that have ended"
    qps[-1].init(recvs=4).rtr(peer=NUMBER + 7)
    accepted(crowd[-1])
    one = bench.qp("R")
    still_reachable(bench, one)


if __name__ == "__main__":
    sys.exit(main(Bench))
