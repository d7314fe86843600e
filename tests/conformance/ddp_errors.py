#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""DDP and RDMAP: faults of a peer, and how the device responds.

Most cases send one segment with one fault on a fresh connection. They check
the Terminate byte by byte, that it is the last thing sent, the asynchronous
event, the completions, and that no memory was touched.
"""

import errno
import struct
import sys
import time

import wire
from live import FLUSH, PROMPT, Starved, case, cases, main, segments_of_send

FATAL, REQ_ERR, ACCESS_ERR = 1, 2, 3
LEN_ERR, PROT_ERR, INV_REQ, ACCESS, OP = 1, 4, 9, 10, 11
READ, ATOMIC, IMM_OP = 2, 4, 129
DATA = bytes(range(0x10, 0x18))
BAD_STAG = 0xDEAD0001


def with_bounds(change):
    return lambda t: [wire.write(t.rw.stag, *change(t.rw))]


def down(bench, conn, event, recvs=4, first=0):
    """Checks the end of the stream: event, flushed requests, end of connection."""
    if event:
        conn.asynchronous(event)
    conn.event("DISCONNECTED")
    conn.flushed(first, recvs)
    conn.nothing("wc")
    conn.nothing("async")


def untouched(bench):
    target = bench.target
    for region in "rw", "other", "local":
        size = getattr(target, region).len
        assert not any(target.peek(region, 0, size)), f"{region} was written"


def clean(bench):
    bench.target.do("fill", "rw", 0)


def read_responses(peer, enough=float("inf")):
    """Counts bytes of Read Responses, until there are enough or another message
    arrives. That message is the second result, None if there were enough bytes.
    """
    got = 0
    while got < enough:
        ulpdu = peer.rx.fpdu()
        if ulpdu[1] & 0xF != wire.READ_RESP:
            return got, ulpdu
        got += len(ulpdu) - 14
    return got, None


# Name, claim, segments (the first one is invalid), Terminate code, event.
# Covers: TERM-17
@cases([
    # Covers: DDP-04 TERM-01 TERM-02 TERM-03
    ("N01", "untagged segment, DDP version 2: 0x1206",
     lambda t: [wire.patched(wire.send(1, DATA), 0, b"\x42")],
     0x1206, FATAL),
    # Covers: DDP-03 TERM-03
    ("N02", "tagged segment, DDP version 2: 0x1104",
     lambda t: [wire.patched(wire.write(t.rw.stag, t.rw.base, DATA),
                             0, b"\xC2")],
     0x1104, FATAL),
    # Covers: RDMAP-03
    ("N03", "RDMAP version 2: 0x0205",
     lambda t: [wire.send(1, DATA, rv=2)], 0x0205, FATAL),
    # Covers: RDMAP-03
    ("N04", "RDMAP version 0: 0x0205",
     lambda t: [wire.send(1, DATA, rv=0)], 0x0205, FATAL),
    # Covers: RDMAP-04
    ("N05", "opcode C: 0x0206",
     lambda t: [wire.send(1, DATA, op=0xC)], 0x0206, REQ_ERR),
    # Covers: RDMAP-04
    ("N06", "opcode F: 0x0206",
     lambda t: [wire.send(1, DATA, op=0xF)], 0x0206, REQ_ERR),
    # Covers: RDMAP-05
    ("N07", "tagged Send: 0x0206",
     lambda t: [wire.patched(wire.write(t.rw.stag, t.rw.base, DATA),
                             1, b"\x43")],
     0x0206, REQ_ERR),
    # Covers: RDMAP-05
    ("N08", "untagged Write: 0x0206",
     lambda t: [wire.send(1, DATA, op=wire.WRITE)], 0x0206, REQ_ERR),
    # Covers: DDP-19
    ("N09", "queue 4: 0x1201",
     lambda t: [wire.send(1, DATA, qn=4)], 0x1201, REQ_ERR),
    # Covers: RDMAP-06
    ("N10", "Send on the queue of requests: 0x1201",
     lambda t: [wire.send(1, DATA, qn=1)], 0x1201, REQ_ERR),
    # Covers: RDMAP-06
    ("N11", "Read Request on the queue of Sends: 0x1201",
     lambda t: [wire.read_req(1, 8, t.rw.stag, t.rw.base, qn=0)],
     0x1201, REQ_ERR),
    # Covers: DDP-17
    ("N12", "first Send with MSN 2: 0x1203",
     lambda t: [wire.send(2, DATA)], 0x1203, REQ_ERR),
    # Covers: DDP-17
    ("N13", "first Send with MSN 0: 0x1203",
     lambda t: [wire.send(0, DATA)], 0x1203, REQ_ERR),
    # Covers: DDP-20
    ("N16", "message offset beyond the buffer: 0x1204",
     lambda t: [wire.send(1, DATA, mo=0x7FFFFFF0)], 0x1204, REQ_ERR),
    # Covers: DDP-22
    ("N18", "Write to an unknown STag: 0x1100",
     lambda t: [wire.write(BAD_STAG, 0x1000, DATA)], 0x1100, ACCESS_ERR),
    # Covers: DDP-22
    ("N18_key", "Write to an STag with another key: 0x1100",
     lambda t: [wire.write(t.rw.stag ^ 1, t.rw.base, DATA)],
     0x1100, ACCESS_ERR),
    # Covers: DDP-23
    ("N19", "Write to another protection domain: 0x1102",
     lambda t: [wire.write(t.other.stag, t.other.base, DATA)],
     0x1102, ACCESS_ERR),
    # Covers: RDMAP-18
    ("N20", "Write without remote write access: 0x1100",
     lambda t: [wire.write(t.local.stag, t.local.base, DATA)],
     0x1100, ACCESS_ERR),
    # Covers: DDP-24
    ("N21", "Write whose last byte is behind the end: 0x1101",
     with_bounds(lambda rw: (rw.base + rw.len - 7, DATA)), 0x1101, ACCESS_ERR),
    # Covers: DDP-24
    ("N22", "Write that begins before the base: 0x1101",
     with_bounds(lambda rw: (rw.base - 1, DATA)), 0x1101, ACCESS_ERR),
    # Covers: DDP-25
    ("N23", "Write whose range wraps: 0x1103",
     with_bounds(lambda rw: (0xFFFFFFFFFFFFFFFC, DATA)), 0x1103, ACCESS_ERR),
    # Covers: DDP-25
    ("N23_last", "Write that ends with the last of all offsets: 0x1103",
     with_bounds(lambda rw: (0xFFFFFFFFFFFFFFF8, DATA)), 0x1103, ACCESS_ERR),
    # Covers: DDP-24
    ("N23_before", "Write that ends one byte earlier: 0x1101",
     with_bounds(lambda rw: (0xFFFFFFFFFFFFFFF7, DATA)), 0x1101, ACCESS_ERR),
    # Covers: RDMAP-23 TERM-04
    ("N24", "Read of an unknown STag: 0x0100 with the RDMAP header",
     lambda t: [wire.read_req(1, 8, BAD_STAG, 0x800)], 0x0100, ACCESS_ERR),
    # Covers: RDMAP-24
    ("N25", "Read from another protection domain: 0x0103",
     lambda t: [wire.read_req(1, 8, t.other.stag, t.other.base)],
     0x0103, ACCESS_ERR),
    # Covers: RDMAP-25
    ("N26", "Read without remote read access: 0x0102",
     lambda t: [wire.read_req(1, 8, t.local.stag, t.local.base)],
     0x0102, ACCESS_ERR),
    # Covers: RDMAP-26
    ("N27", "Read of one byte too many: 0x0101",
     lambda t: [wire.read_req(1, 9, t.rw.stag, t.rw.base + t.rw.len - 8)],
     0x0101, ACCESS_ERR),
    # Covers: RDMAP-26
    ("N28", "Read whose range wraps: 0x0104",
     lambda t: [wire.read_req(1, 0x2000, t.rw.stag, 0xFFFFFFFFFFFFF000)],
     0x0104, ACCESS_ERR),
    # Covers: RDMAP-26
    ("N28_last", "Read that ends with the last of all offsets: 0x0104",
     lambda t: [wire.read_req(1, 8, t.rw.stag, 0xFFFFFFFFFFFFFFF8)],
     0x0104, ACCESS_ERR),
    # Covers: RDMAP-26
    ("N28_before", "Read that ends one byte earlier: 0x0101",
     lambda t: [wire.read_req(1, 8, t.rw.stag, 0xFFFFFFFFFFFFFFF7)],
     0x0101, ACCESS_ERR),
    # Covers: RDMAP-27
    ("N30", "Read Request of 27 bytes: 0x02FF",
     lambda t: [wire.read_req(1, 8, t.rw.stag, t.rw.base)[:-1]],
     0x02FF, REQ_ERR),
    # Covers: RDMAP-27
    ("N30_29", "Read Request of 29 bytes: 0x02FF",
     lambda t: [wire.read_req(1, 8, t.rw.stag, t.rw.base) + b"\0"],
     0x02FF, REQ_ERR),
    # Covers: RDMAP-27 DDP-21
    ("N30_53", "Read Request of 53 bytes, beyond the buffer: 0x1205",
     lambda t: [wire.read_req(1, 8, t.rw.stag, t.rw.base) + bytes(25)],
     0x1205, REQ_ERR),
    # Covers: RDMAP-33
    ("N31", "Read Response without a Read: 0x0206",
     lambda t: [wire.tagged(wire.READ_RESP, t.rw.stag, t.rw.base, DATA)],
     0x0206, REQ_ERR),
    # Covers: ATOM-14 TERM-04
    ("N34", "atomic on an unaligned address: 0x0207",
     lambda t: [wire.atomic_req(1, t.rw.stag, t.rw.base + 1)],
     0x0207, REQ_ERR),
    # Covers: ATOM-15
    ("N35", "atomic operation 1: 0x0206",
     lambda t: [wire.atomic_req(1, t.rw.stag, t.rw.base, aop=1)],
     0x0206, REQ_ERR),
    # Covers: ATOM-15
    ("N35_15", "atomic operation 15: 0x0206",
     lambda t: [wire.atomic_req(1, t.rw.stag, t.rw.base, aop=15)],
     0x0206, REQ_ERR),
    # Covers: ATOM-16
    ("N36", "atomic without remote atomic access: 0x0102",
     lambda t: [wire.atomic_req(1, t.local.stag, t.local.base)],
     0x0102, ACCESS_ERR),
    # Covers: ATOM-17
    ("atomic_stag", "atomic on an unknown STag: 0x0100",
     lambda t: [wire.atomic_req(1, BAD_STAG, 0)], 0x0100, ACCESS_ERR),
    # Covers: ATOM-17
    ("atomic_pd", "atomic in another protection domain: 0x0103",
     lambda t: [wire.atomic_req(1, t.other.stag, t.other.base)],
     0x0103, ACCESS_ERR),
    # Covers: ATOM-17
    ("atomic_bounds", "atomic behind the end: 0x0101",
     lambda t: [wire.atomic_req(1, t.rw.stag, t.rw.base + t.rw.len)],
     0x0101, ACCESS_ERR),
    # Covers: ATOM-17
    ("atomic_wrap", "atomic whose range wraps: 0x0104",
     lambda t: [wire.atomic_req(1, t.rw.stag, 0xFFFFFFFFFFFFFFFC)],
     0x0104, ACCESS_ERR),
    # Covers: ATOM-17
    ("atomic_last", "atomic on the last of all offsets: 0x0104",
     lambda t: [wire.atomic_req(1, t.rw.stag, 0xFFFFFFFFFFFFFFF8)],
     0x0104, ACCESS_ERR),
    # Covers: ATOM-18
    ("N37", "Atomic Request of 44 bytes: 0x02FF",
     lambda t: [wire.atomic_req(1, t.rw.stag, t.rw.base)[:18 + 44]],
     0x02FF, REQ_ERR),
    # Covers: ATOM-18 DDP-21
    ("N37_53", "Atomic Request of 53 bytes, beyond the buffer: 0x1205",
     lambda t: [wire.atomic_req(1, t.rw.stag, t.rw.base) + b"\0"],
     0x1205, REQ_ERR),
    # Covers: ATOM-23
    ("N38", "Atomic Response without an Atomic: 0x1202",
     lambda t: [wire.atomic_resp(1, 0x01020304, 1)], 0x1202, FATAL),
    # Covers: DDP-29 TERM-05
    ("N42", "segment of 10 bytes: 0x1000 and no header",
     lambda t: [wire.send(1)[:10]], 0x1000, FATAL),
    # Covers: DDP-29
    ("N42_one", "segment of one byte: 0x1000 and no header",
     lambda t: [b"\x41"], 0x1000, FATAL),
    # Covers: TERM-08
    ("two_faults", "of two faults in one TCP segment the first is reported",
     lambda t: [wire.send(1, DATA, op=0xC), wire.write(BAD_STAG, 0, DATA)],
     0x0206, REQ_ERR),
    # Covers: TERM-08 ATOM-14
    ("two_faults_atomic", "an Atomic is checked before the next segment",
     lambda t: [wire.atomic_req(1, t.rw.stag, t.rw.base + 1),
                wire.write(BAD_STAG, 0, DATA)], 0x0207, REQ_ERR),
    # Covers: TERM-08 RDMAP-23
    ("two_faults_read", "a Read is checked before the next segment",
     lambda t: [wire.read_req(1, 8, BAD_STAG, 0),
                wire.send(1, DATA, op=0xC)], 0x0100, ACCESS_ERR),
])
def inject(bench, build, code, event):
    untouched(bench)
    peer, conn = bench.open()
    segments = build(bench.target)
    errors = bench.counter("protocol_errors")
    sent = bench.counter("terminates_sent")
    peer.send(*segments)
    quoted = None if code == 0x1000 else segments[0]
    peer.expect_terminate(code, quoted)
    # The Send with the wrong MO has taken the first receive.
    opened_recv = 1 if code == 0x1204 else 0
    if opened_recv:
        conn.wc("r0", FLUSH)
    down(bench, conn, event, first=opened_recv)
    bench.counter_is("terminates_sent", sent + 1)
    bench.counter_is("protocol_errors", errors + 1)
    untouched(bench)


@case
# Covers: DDP-29 MPA-16
def short_segments(bench):
    """segments shorter than a header, sent at once and byte by byte: 0x1000"""
    rw = bench.target.rw
    for head in wire.send(1), wire.write(rw.stag, rw.base):
        for size in range(1, len(head)):
            peer, conn = bench.open()
            fpdu = peer.tx.fpdu(head[:size])
            (peer.octets if size % 2 else peer.raw)(fpdu)
            peer.expect_terminate(0x1000)
            down(bench, conn, FATAL)
            peer.close()
            bench.peers.remove(peer)


@case
# Covers: TERM-08 RDMAP-21 ATOM-06
def answers_first(bench):
    """requests before a faulty one are answered before the Terminate"""
    rw = bench.target.rw
    for bad in (wire.atomic_req(3, rw.stag, rw.base + 1),
                wire.read_req(3, 8, BAD_STAG, 0)):
        peer, conn = bench.open()
        peer.send(wire.atomic_req(1, rw.stag, rw.base, 0xA1),
                  wire.read_req(2, 8, rw.stag, rw.base), bad,
                  wire.write(rw.stag, rw.base, DATA))
        peer.expect(wire.atomic_resp(1, 0xA1, 0))
        peer.expect(wire.tagged(wire.READ_RESP, 0xBEEF, 0x1000,
                                struct.pack("=Q", 5)))
        code = 0x0207 if bad[1] & 0xF == wire.ATOMIC_REQ else 0x0100
        peer.expect_terminate(code, bad)
        down(bench, conn, REQ_ERR if code == 0x0207 else ACCESS_ERR)
        assert bench.target.peek("rw", 0, 8) == struct.pack("=Q", 5)
        clean(bench)


@case
# Covers: DDP-17 DDP-14
def N14(bench):
    """the same Send twice: 0x1203 for the second"""
    peer, conn = bench.open()
    twice = wire.send(1, DATA)
    peer.send(twice, twice)
    conn.wc("r0", len=8, data=DATA.hex())
    peer.expect_terminate(0x1203, twice)
    down(bench, conn, REQ_ERR, first=1)


@case
# Covers: DDP-18 IMM-08
def N15(bench):
    """no receive posted, none posted late: 0x1202"""
    bench.policy(rnr_timeout_ms=50)
    late = bench.counter("rx_rnr_waits")
    for segment in wire.send(1, DATA), \
            wire.send(1, b"\0" * 8, op=wire.IMM):
        peer, conn = bench.open(recvs=0)
        peer.send(segment)
        peer.expect_terminate(0x1202, segment)
        down(bench, conn, FATAL, 0)
    bench.counter_is("rx_rnr_waits", late + 2)
    bench.policy(rnr_timeout_ms=0)
    peer, conn = bench.open(recvs=0)
    peer.send(segment)
    peer.expect_terminate(0x1202, segment)
    down(bench, conn, FATAL, 0)
    assert bench.counter("rx_rnr_waits") == late + 2


@case
# Covers: DDP-18
def late_receive(bench):
    """a receive posted late completes with the message that waits for it"""
    bench.policy(rnr_timeout_ms=20000)
    late = bench.counter("rx_rnr_waits")
    peer, conn = bench.open(recvs=0)
    peer.send(wire.send(1, DATA))
    while bench.counter("rx_rnr_waits") == late:
        conn.nothing("event")
    conn.recv()
    conn.wc("r0", len=8, data=DATA.hex())


@case
# Covers: DDP-21 RDMAP-09
def N17(bench):
    """a Send one byte longer than the receive: 0x1205, nothing beyond it"""
    peer, conn = bench.open()
    segment = wire.send(1, b"\x55" * 65)
    peer.send(segment)
    peer.expect_terminate(0x1205, segment)
    conn.wc("r0", LEN_ERR, vendor=0x1205)
    down(bench, conn, REQ_ERR, first=1)


@case
# Covers: DDP-21
def N17_second(bench):
    """a second segment that goes beyond the receive: 0x1205"""
    peer, conn = bench.open()
    first = wire.send(1, b"\x55" * 60, last=False)
    second = wire.send(1, b"\x55" * 5, mo=60)
    peer.send(first, second)
    peer.expect_terminate(0x1205, second)
    conn.wc("r0", LEN_ERR, vendor=0x1205)
    down(bench, conn, REQ_ERR, first=1)


@case
# Covers: RDMAP-12 RDMAP-13
def N32_N33(bench):
    """Send with Invalidate of an unfit STag: 0x0209, 0x0109"""
    target = bench.target
    for stag, code in ((BAD_STAG, 0x0209), (target.rw.stag, 0x0209),
                       (target.other.stag, 0x0109)):
        for op in wire.SEND_INV, wire.SEND_SE_INV:
            peer, conn = bench.open()
            segment = wire.send(1, DATA, op=op, inv=stag)
            peer.send(segment)
            peer.expect_terminate(code, segment)
            conn.wc("r0", INV_REQ, vendor=code)
            down(bench, conn, ACCESS_ERR, first=1)
    # The STag that was not invalidated is still valid.
    peer, conn = bench.open()
    peer.send(wire.write(target.rw.stag, target.rw.base, DATA),
              wire.send(1))
    conn.wc("r0", len=0)
    assert target.peek("rw", 0, 8) == DATA
    clean(bench)


@case
# Covers: RDMAP-29
def N29(bench):
    """more Reads than the IRD by a peer that does not read: 0x1202"""
    big = bench.target.big
    peer, conn = bench.open(ird=2)
    requests = [wire.read_req(msn, big.len, big.stag, big.base)
                for msn in range(1, 13)]
    peer.send(*requests)
    conn.asynchronous(FATAL)
    # Read Responses to the valid requests may precede the Terminate.
    _, ulpdu = read_responses(peer)
    assert ulpdu[1] & 0xF == wire.TERMINATE
    msn = struct.unpack(">I", ulpdu[24 + 10:24 + 14])[0]
    assert msn >= 3, f"Terminate quotes MSN {msn}"
    assert ulpdu == wire.terminate_for(0x1202, requests[msn - 1])
    peer.expect_fin()
    down(bench, conn, 0)


@case
# Covers: IMM-11
def N40(bench):
    """Immediate Data of other than 8 bytes: 0x02FF"""
    for size in 0, 4, 7, 9, 12:
        peer, conn = bench.open()
        segment = wire.send(1, b"\0" * size, op=wire.IMM)
        peer.send(segment)
        peer.expect_terminate(0x02FF, segment)
        down(bench, conn, REQ_ERR)


@case
# Covers: TERM-16 TERM-05 MPA-12 MPA-13 MPA-14 DDP-28
def N43(bench):
    """wrong CRC: 0x2002, nothing placed, nothing after it delivered"""
    rw = bench.target.rw
    errors = bench.counter("crc_errors")
    peer, conn = bench.open()
    peer.send(wire.send(1, DATA))
    conn.wc("r0", len=8)
    peer.send(wire.write(rw.stag, rw.base, DATA), crc_xor=1)
    peer.send(wire.send(2, DATA))
    peer.expect_terminate(0x2002)
    down(bench, conn, FATAL, first=1)
    untouched(bench)
    bench.counter_is("crc_errors", errors + 1)


# Covers: TERM-11 TERM-12 TERM-13 TERM-17
@cases([
    ("N44", "a Terminate is not answered", wire.terminate(0)),
    ("N44_quote", "a Terminate with headers is not answered",
     wire.terminate_for(0x1202, wire.send(9, b"x" * 100))),
    ("N45_msn", "a Terminate with MSN 2 is not answered",
     wire.terminate(0, msn=2)),
    ("N45_short", "a Terminate of 20 bytes is not answered",
     wire.terminate(0)[:20]),
    ("term_mpa3", "an MPA error with error type 3 is fatal",
     wire.terminate(0x2302)),
    ("term_unknown", "an unknown Terminate code is fatal",
     wire.terminate(0xF7AB)),
    ("term_cut", "a Terminate whose quoted header is cut is fatal",
     wire.terminate(0x0100, b"\0\x2e\x41\x41", 0xE0)),
    ("term_long", "a Terminate of 53 bytes is not answered",
     wire.terminate(0, bytes(49))),
])
def terminated(bench, ulpdu):
    sent = bench.counter("terminates_sent")
    peer, conn = bench.open()
    peer.send(ulpdu)
    peer.expect_end()
    down(bench, conn, FATAL)
    assert bench.counter("terminates_sent") == sent


def reading(bench, size=16, count=1, **accept):
    """Lets the device post Reads. Returns peer and connection."""
    peer, conn = bench.open(**accept)
    peer.send(wire.RTR["C"])
    conn.post("read", size, count, 0xCAFE, 0x5000)
    return peer, conn


def request(peer, msn, size):
    """Expects a Read Request with that MSN and size. Returns its sink STag, its
    offset, and its ULPDU."""
    ulpdu = peer.rx.fpdu()
    assert len(ulpdu) == 46 and ulpdu[:2] == b"\x41\x41", ulpdu.hex()
    assert ulpdu[2:18] == struct.pack(">IIII", 0, 1, msn, 0), ulpdu.hex()
    sink, sink_to, length, src, src_to = struct.unpack(">IQIIQ", ulpdu[18:])
    assert (length, src, src_to) == (size, 0xCAFE, 0x5000), ulpdu.hex()
    return sink, sink_to, ulpdu


def response(sink, to, data=b"", **how):
    return wire.tagged(wire.READ_RESP, sink, to, data, **how)


def atomic(peer, msn):
    """Expects a Fetch&Add of 1. Returns its identifier."""
    ulpdu = peer.rx.fpdu()
    ident = struct.unpack(">I", ulpdu[22:26])[0]
    assert ulpdu == wire.atomic_req(msn, 0xCAFE, 0x5000, ident, add=1)
    return ident


# Covers: RDMAP-34 RDMAP-35 RDMAP-19
@cases([
    ("N46", "Read Response for another STag: 0x1100",
     lambda s, o: response(s ^ 1, o, bytes(16)), 0x1100, ACCESS_ERR),
    ("N47", "Read Response for another offset: 0x1101",
     lambda s, o: response(s, o + 1, bytes(15)), 0x1101, ACCESS_ERR),
    ("N48", "Read Response with a byte too many: 0x1101",
     lambda s, o: response(s, o, bytes(17)), 0x1101, ACCESS_ERR),
    ("N49", "Read Response that ends a byte early: 0x02FF",
     lambda s, o: response(s, o, b"\x77" * 15), 0x02FF, REQ_ERR),
    ("resp_empty", "Read Response without the data: 0x02FF",
     lambda s, o: response(s, o), 0x02FF, REQ_ERR),
])
def bad_response(bench, build, code, event):
    bench.target.do("fill", "sink", 0)
    peer, conn = reading(bench)
    sink, sink_to, _ = request(peer, 1, 16)
    segment = build(sink, sink_to)
    peer.send(segment)
    peer.expect_terminate(code, segment)
    wc = conn.target.report(conn.nr, "wc")
    assert wc["name"] == "s0" and wc["status"] != "0", wc
    down(bench, conn, event)
    if code != 0x02FF:
        assert not any(bench.target.peek("sink", 0, 64))


@case
# Covers: RDMAP-34
def long_response(bench):
    """a Read Response longer than the Read, by its last segment: 0x1101"""
    for extra in 1, 1000, 65535 - 14 - 8:
        bench.target.do("fill", "sink", 0)
        peer, conn = reading(bench)
        sink, sink_to, _ = request(peer, 1, 16)
        peer.send(response(sink, sink_to, b"\x77" * 8, last=False))
        segment = response(sink, sink_to + 8, b"\x88" * (8 + extra))
        peer.send(segment)
        peer.expect_terminate(0x1101, segment)
        wc = conn.target.report(conn.nr, "wc")
        assert wc["name"] == "s0" and wc["status"] != "0", wc
        down(bench, conn, ACCESS_ERR)
        assert bench.target.peek("sink", 0, 64) == b"\x77" * 8 + bytes(56)


@case
# Covers: ATOM-23 ATOM-24 ATOM-01 ATOM-05 ATOM-13 ATOM-12
def N39(bench):
    """an Atomic Response with another identifier is refused: 0x02FF"""
    for wrong in 0, 1:
        peer, conn = bench.open()
        peer.send(wire.RTR["C"])
        conn.post("fadd", 8, 1, 0xCAFE, 0x5000)
        ident = atomic(peer, 1)
        peer.expect_silence()
        conn.nothing("wc")
        segment = wire.atomic_resp(1, ident ^ wrong, 0x1122334455667788)
        peer.send(segment)
        if not wrong:
            conn.wc("s0", len=8, op=ATOMIC)
            assert bench.target.peek("sink", 0, 8) == \
                struct.pack("=Q", 0x1122334455667788)
            continue
        peer.expect_terminate(0x02FF, segment)
        conn.wc("s0", FLUSH)
        down(bench, conn, REQ_ERR)


@case
# Covers: ATOM-23 DDP-21
def long_atomic_response(bench):
    """an Atomic Response of 13 bytes, beyond the buffer: 0x1205"""
    peer, conn = bench.open()
    peer.send(wire.RTR["C"])
    conn.post("fadd", 8, 1, 0xCAFE, 0x5000)
    ident = atomic(peer, 1)
    segment = wire.atomic_resp(1, ident, 1) + b"\0"
    peer.send(segment)
    peer.expect_terminate(0x1205, segment)
    conn.wc("s0", FLUSH)
    down(bench, conn, REQ_ERR)


@case
# Covers: TERM-14 TERM-15
def terminated_read(bench):
    """a Terminate that quotes a Read ends that Read, the rest is flushed"""
    peer, conn = reading(bench, count=2)
    _, _, ulpdu = request(peer, 1, 16)
    request(peer, 2, 16)
    peer.send(wire.terminate_for(0x0100, ulpdu))
    peer.expect_end()
    conn.wc("s0", ACCESS, vendor=0x0100)
    conn.wc("s1", FLUSH)
    down(bench, conn, FATAL)


@case
# Covers: TERM-14
def unknown_opcode(bench):
    """a Terminate without headers, from a peer without atomics: the Atomic fails"""
    for code in 0x0206, 0x2006:
        peer, conn = reading(bench)
        conn.post("fadd", 8, 1, 0xCAFE, 0x5000)
        request(peer, 1, 16)
        peer.rx.fpdu()
        peer.send(wire.terminate(code))
        peer.expect_end()
        conn.wc("s0", FLUSH)
        conn.wc("s1", INV_REQ, vendor=code)
        down(bench, conn, FATAL)
    # With any other code the Atomic is flushed, as it did not cause the Terminate.
    peer, conn = bench.open()
    peer.send(wire.RTR["C"])
    conn.post("fadd", 8, 1, 0xCAFE, 0x5000)
    peer.rx.fpdu()
    peer.send(wire.terminate(0x2002))
    peer.expect_end()
    conn.wc("s0", FLUSH)
    down(bench, conn, FATAL)


@case
# Covers: TERM-07 TERM-10
def flood(bench):
    """a peer that goes on sending can still read the Terminate"""
    rw = bench.target.rw
    peer, conn = bench.open()
    bad = wire.write(BAD_STAG, 0, DATA)
    peer.send(bad)
    good = peer.tx.fpdu(wire.write(rw.stag, rw.base, b"\x66" * 1000))
    for _ in range(200):
        peer.raw(good)
    peer.expect_terminate(0x1100, bad)
    down(bench, conn, ACCESS_ERR)
    untouched(bench)


@case
# Covers: DDP-02 RDMAP-02 RDMAP-07
def reserved_bits(bench):
    """reserved bits and an Invalidate STag without meaning are ignored"""
    peer, conn = bench.open()
    peer.send(wire.patched(wire.send(1, DATA), 0, b"\x7D"),
              wire.patched(wire.send(2, DATA), 1, b"\x73"),
              wire.send(3, DATA, inv=0xFFFFFFFF))
    for number in range(3):
        conn.wc(f"r{number}", len=8, data=DATA.hex())


@case
# Covers: DDP-13 DDP-12
def nothing_to_nowhere(bench):
    """tagged segments without payload: STag and offset are not checked"""
    peer, conn = bench.open()
    peer.send(wire.write(BAD_STAG, 0xFFFFFFFFFFFFFFFF),
              wire.write(BAD_STAG, 1, last=False),
              wire.write(0, 0), wire.send(1))
    conn.wc("r0", len=0)
    untouched(bench)


@case
# Covers: DDP-24 DDP-27 RDMAP-08 RDMAP-15
def exact_fit(bench):
    """exact bounds: Writes to both ends, a Send of the receive's length"""
    target, rw = bench.target, bench.target.rw
    peer, conn = bench.open()
    peer.send(wire.write(rw.stag, rw.base, b"a"),
              wire.write(rw.stag, rw.base + rw.len - 8, DATA, last=False),
              wire.write(rw.stag, rw.base + 1, b"b"),
              wire.send(1, bytes(64)), wire.send(2))
    conn.wc("r0", len=64)
    conn.wc("r1", len=0)
    assert target.peek("rw", 0, 3) == b"ab\0"
    assert target.peek("rw", rw.len - 8, 8) == DATA
    clean(bench)
    # Two segments: one completion, at the end.
    peer.send(wire.send(3, DATA, last=False))
    peer.expect_silence()
    conn.nothing("wc")
    peer.send(wire.send(3, b"\x99", mo=8))
    conn.wc("r2", len=9, data=(DATA + b"\x99").hex())


@case
# Covers: RDMAP-20 RDMAP-21 RDMAP-22 RDMAP-28 DDP-11
# Covers: MPA-01 MPA-02 MPA-04 MPA-07
def reads(bench):
    """Reads are answered in order, at the sink named, whatever their size"""
    big = bench.target.big
    sizes = 8, 0, 5000, 1, 40000
    peer, _ = bench.open(ird=8)
    peer.send(*[wire.read_req(n + 1, size, big.stag if size else BAD_STAG,
                              big.base + n, 0xB0 + n, 0x1000 * n)
                for n, size in enumerate(sizes)])
    for n, size in enumerate(sizes):
        data = b""
        last = False
        while not last:
            ulpdu = peer.rx.fpdu()
            last = ulpdu[0] == 0xC1
            assert last or ulpdu[0] == 0x81
            assert ulpdu[1:14] == struct.pack(
                ">BIQ", 0x42, 0xB0 + n, 0x1000 * n + len(data))
            data += ulpdu[14:]
        assert data == bench.target.peek("big", n, size) if size else not data
    peer.expect_silence()


@case
# Covers: RDMAP-32
def read_after_read(bench):
    """with IRD 1 the next Read may come as soon as the last was answered"""
    rw = bench.target.rw
    peer, _ = bench.open(ird=1)
    for msn in range(1, 101):
        peer.send(wire.read_req(msn, 4, rw.stag, rw.base, 0x77, msn))
        peer.expect(response(0x77, msn, bytes(4)))


@case
# Covers: RDMAP-30 RDMAP-31 MPA-68
def ord_limit(bench):
    """at the ORD the queue stops, and a Send does not overtake"""
    peer, conn = reading(bench, count=4, ord=2)
    conn.post("send", 8)
    sinks = [request(peer, msn, 16)[:2] for msn in (1, 2)]
    for msn in 3, 4:
        peer.expect_silence()
        peer.send(response(*sinks.pop(0), bytes(16)))
        sinks.append(request(peer, msn, 16)[:2])
    # The Send follows the last Read, and does not wait for the Read's response.
    got = peer.rx.fpdu()
    assert got[:18] == wire.send(1) and len(got) == 26
    for sink in sinks:
        peer.send(response(*sink, bytes(16)))
    for number in range(5):
        conn.wc(f"s{number}")


@case
# Covers: RDMAP-30 RDMAP-31
def ord_shared(bench):
    """Reads and Atomics count together against the ORD, in either order"""
    peer, conn = reading(bench, ord=2)
    conn.post("fadd", 8, 2, 0xCAFE, 0x5000)
    conn.post("read", 16, 1, 0xCAFE, 0x5000)
    sink = request(peer, 1, 16)[:2]
    first = atomic(peer, 2)
    peer.expect_silence()
    # A Read makes room for an Atomic, an Atomic for a Read.
    peer.send(response(*sink, bytes(16)))
    second = atomic(peer, 3)
    peer.expect_silence()
    peer.send(wire.atomic_resp(1, first, 7))
    sink = request(peer, 4, 16)[:2]
    peer.send(wire.atomic_resp(2, second, 8), response(*sink, bytes(16)))
    for number, op in enumerate((READ, ATOMIC, ATOMIC, READ)):
        conn.wc(f"s{number}", op=op)


@case
# Covers: RDMAP-38
def fence_behind_atomic(bench):
    """a fenced request waits for the Atomic too; a fenced Atomic for a Read"""
    peer, conn = bench.open()
    peer.send(wire.RTR["C"])
    conn.post("fadd", 8, 1, 0xCAFE, 0x5000)
    ident = atomic(peer, 1)
    conn.post("send", 8, flags=1)
    peer.expect_silence()
    peer.send(wire.atomic_resp(1, ident, 7))
    assert peer.rx.fpdu()[:18] == wire.send(1)
    conn.post("read", 16, 1, 0xCAFE, 0x5000)
    sink = request(peer, 2, 16)[:2]
    conn.post("fadd", 8, 1, 0xCAFE, 0x5000, 1)
    peer.expect_silence()
    peer.send(response(*sink, bytes(16)))
    ident = atomic(peer, 3)
    peer.send(wire.atomic_resp(2, ident, 8))
    for number in range(4):
        conn.wc(f"s{number}")


def sent_message(peer, data, head, build):
    """Checks the segments of a message, which fit the MULPDU of an MTU of 1500."""
    got = b""
    while len(got) < len(data):
        ulpdu = peer.rx.fpdu()
        piece = ulpdu[head:]
        assert piece and len(ulpdu) <= 1454, len(ulpdu)
        assert ulpdu == build(len(got), piece, len(got + piece) == len(data))
        got += piece
    assert got == data


@case
# Covers: DDP-01 DDP-05 DDP-06 DDP-07 DDP-08 DDP-11 RDMAP-01 RDMAP-17
# Covers: IMM-01 IMM-02 IMM-03 IMM-09 IMM-14
def sent_segments(bench):
    """every byte of Sends, Writes and Immediate Data, of one segment or more"""
    data = bytes(n * 7 & 0xFF for n in range(5000))
    peer, conn = bench.open()
    peer.send(wire.RTR["C"])
    bench.target.do("pattern", "sink", 7)
    conn.post("send", 5000)
    conn.post("write", 5000, 1, 0xCAFE, 0xFFFFFFFF)
    conn.post("write", 0, 1, 0xCAFE, 0x5000)
    conn.post("imm", 9, 1, 0xCAFE, 0x5000)
    conn.post("imm", 0, 1, 0xCAFE, 0x5000, 1 << 2)
    sent_message(peer, data, 18, lambda at, piece, last:
                 wire.send(1, piece, mo=at, last=last))
    sent_message(peer, data, 14, lambda at, piece, last:
                 wire.write(0xCAFE, 0xFFFFFFFF + at, piece, last=last))
    peer.expect(wire.write(0xCAFE, 0x5000))
    peer.expect(wire.write(0xCAFE, 0x5000, data[:9]))
    peer.expect(wire.send(2, bytes.fromhex("c0ffee0100000000"), op=wire.IMM))
    peer.expect(wire.write(0xCAFE, 0x5000))
    peer.expect(wire.send(3, bytes.fromhex("c0ffee0100000000"),
                          op=wire.IMM_SE))
    for number in range(5):
        conn.wc(f"s{number}")
    peer.expect_silence()
    conn.nothing("wc")


def longest_segment(peer, conn, msn):
    return max(segments_of_send(peer, conn, msn))


@case
# Covers: MPA-19 MPA-20 DDP-08
def several_segments(bench):
    """fpdu_segments: an FPDU fills so many TCP segments, none is too long"""
    try:
        bench.policy(fpdu_segments=47)
    except OSError as error:
        assert error.errno == errno.EINVAL, error
    else:
        assert False, "47 was taken"
    emss = None
    # With 0 a peer that is not xiw gets FPDUs of one segment.
    for value in 0, 1, 4, 16, 46:
        bench.policy(fpdu_segments=value)
        peer, conn = bench.open()
        peer.send(wire.RTR["C"])
        lengths = segments_of_send(peer, conn, 1, 1 << 17)
        conn.wc("s0")
        emss = emss or lengths[0] + 6
        whole = min((value or 1) * emss - 6, 64768)
        # No FPDU is cut at the end of a buffer that was passed to TCP.
        assert lengths[0] == whole == max(lengths), (value, lengths)
        assert lengths.count(whole) >= ((1 << 17) - 65536) // whole, lengths


@case
# Covers: MPA-21 DDP-06
def new_mtu(bench):
    """FPDUs get shorter with the MTU, and longer again"""
    peer, conn = bench.open()
    peer.send(wire.RTR["C"])
    overhead = 1500 - longest_segment(peer, conn, 1)
    assert 40 < overhead < 90, overhead
    try:
        for msn, mtu in (2, 900), (4, 1300):
            bench.set_mtu(mtu)
            # TCP notices the new MTU during the first Send: check the second one.
            longest_segment(peer, conn, msn)
            got = longest_segment(peer, conn, msn + 1)
            assert mtu - overhead - 4 < got <= mtu - overhead + 4, (mtu, got)
    finally:
        bench.set_mtu(1500)


@case
# Covers: RDMAP-38 RDMAP-36 RDMAP-37
def fence_and_order(bench):
    """completions in order; a fenced request waits for the Read, others not"""
    peer, conn = reading(bench)
    sink = request(peer, 1, 16)[:2]
    conn.post("write", 8, 1, 0xCAFE, 0x6000)
    got = peer.rx.fpdu()
    assert got[:14] == wire.write(0xCAFE, 0x6000) and len(got) == 22
    conn.post("send", 8, flags=1)
    peer.expect_silence()
    conn.nothing("wc")
    peer.send(response(*sink, bytes(16)))
    assert peer.rx.fpdu()[:18] == wire.send(1)
    conn.wc("s0", op=READ)
    conn.wc("s1")
    conn.wc("s2")


@case
# Covers: DDP-30
def interleaved(bench):
    """a Read Response between two segments of a Send: both arrive"""
    peer, conn = reading(bench, size=8)
    sink = request(peer, 1, 8)[:2]
    peer.send(wire.send(1, DATA, last=False), response(*sink, b"\x42" * 8),
              wire.send(1, DATA, mo=8))
    conn.wc("s0", op=READ)
    conn.wc("r0", len=16, data=(DATA + DATA).hex())
    assert bench.target.peek("sink", 0, 8) == b"\x42" * 8


def qword(target):
    return struct.unpack("=Q", target.peek("rw", 0, 8))[0]


@case
# Covers: DDP-16 ATOM-02 ATOM-03 ATOM-04 ATOM-05 ATOM-06 ATOM-07 ATOM-21 ATOM-22
def atomics(bench):
    """Read, two Fetch&Add, Read: answered in order, each seeing the last"""
    target, rw = bench.target, bench.target.rw
    peer, _ = bench.open()
    # The 28 reserved bits in front of the AOpCode are ignored.
    peer.send(wire.read_req(1, 8, rw.stag, rw.base),
              wire.atomic_req(2, rw.stag, rw.base, 0xA1, aop=0xFFFFFFF0),
              wire.atomic_req(3, rw.stag, rw.base, 0xA2),
              wire.read_req(4, 8, rw.stag, rw.base))
    peer.expect(response(0xBEEF, 0x1000, bytes(8)))
    peer.expect(wire.atomic_resp(1, 0xA1, 0))
    peer.expect(wire.atomic_resp(2, 0xA2, 5))
    peer.expect(response(0xBEEF, 0x1000, struct.pack("=Q", 10)))
    assert qword(target) == 10
    clean(bench)


ALL = 0xFFFFFFFFFFFFFFFF


@case
# Covers: ATOM-08 ATOM-09 ATOM-10 ATOM-11
def masked_atomics(bench):
    """masks of Fetch&Add and Compare&Swap, match and mismatch"""
    target, rw = bench.target, bench.target.rw
    peer, _ = bench.open()
    steps = (
        # AOpCode, add or swap data, its mask, compare data, its mask, new value
        (0, 0xFFFFFFFF, 0, 0, ALL, 0xFFFFFFFF),
        (0, 0x0000000100000001, 0x8000000080000000, 0, ALL, 0x100000000),
        (2, 0x1122334455667788, ALL, 0x100000000, ALL, 0x1122334455667788),
        (2, 0x99, ALL, 0x1122334455667789, ALL, 0x1122334455667788),
        (2, 0xFF, 0xFF, 0x55000000, 0xFF000000, 0x11223344556677FF),
        (2, 0x00, 0xFF, 0x56000000, 0xFF000000, 0x11223344556677FF),
    )
    before = 0
    for msn, (aop, value, mask, compare, compare_mask, after) in \
            enumerate(steps, 1):
        peer.send(wire.atomic_req(msn, rw.stag, rw.base, msn, aop, value,
                                  mask, compare, compare_mask))
        peer.expect(wire.atomic_resp(msn, msn, before))
        assert qword(target) == after, f"step {msn}: {qword(target):#x}"
        before = after
    clean(bench)


@case
# Covers: IMM-04 IMM-05 IMM-06 IMM-10
def immediate(bench):
    """Immediate Data: the bytes behind it ignored, the length of the Write"""
    rw = bench.target.rw
    peer, conn = bench.open()
    peer.send(wire.send(1, bytes.fromhex("c0ffee01ffffffff"), op=wire.IMM),
              wire.write(rw.stag, rw.base, DATA, last=False),
              wire.write(rw.stag, rw.base + 8, DATA),
              wire.send(2, bytes.fromhex("c0ffee0200000000"), op=wire.IMM_SE),
              wire.send(3, DATA),
              wire.send(4, bytes.fromhex("c0ffee0300000000"), op=wire.IMM))
    conn.wc("r0", op=IMM_OP, len=0, imm="c0ffee01")
    conn.wc("r1", op=IMM_OP, len=16, imm="c0ffee02")
    conn.wc("r2", len=8, data=DATA.hex())
    conn.wc("r3", op=IMM_OP, len=0, imm="c0ffee03")
    clean(bench)


@case
# Covers: TERM-19 MPA-89
def fin_between(bench):
    """FIN between FPDUs with nothing outstanding: a clean disconnect"""
    sent = bench.counter("terminates_sent")
    peer, conn = bench.open()
    peer.send(wire.send(1, DATA))
    conn.wc("r0")
    peer.fin()
    peer.expect_fin()
    down(bench, conn, 0, first=1)
    assert bench.counter("terminates_sent") == sent


@case
# Covers: TERM-18 TERM-20 MPA-90
def cut_off(bench):
    """FIN or RST inside an FPDU, at many offsets: lost, all flushed"""
    message = wire.send(2, bytes(range(60)))
    whole = wire.Framer().fpdu(message)
    for cut in (1, 2, 3, 4, 19, 20, 21, 40, len(whole) - 5, len(whole) - 4,
                len(whole) - 1):
        for end in "fin", "reset":
            peer, conn = bench.open(recvs=2)
            peer.send(wire.send(1, DATA))
            conn.wc("r0")
            peer.raw(whole[:cut])
            getattr(peer, end)()
            if end == "fin":
                peer.expect_reset()
            down(bench, conn, 0, 2, 1)
            conn.free()
            bench.target.conns.remove(conn)
            peer.close()


@case
def reset_behind_fin(bench):
    """a reset behind a FIN, both behind unread bulk: lost, not an orderly end"""
    rw = bench.target.rw
    lost = bench.counter("connections_lost")
    # With this MTU a packet has more bytes than the work budget of a softirq.
    bench.set_mtu(40000)
    try:
        peer, conn = bench.open(recvs=1)
        segments = [wire.write(rw.stag, rw.base, b"\0" * 1024)] * 56
        # The device may process the first bulk data at once, if it has sent
        # something before, but leaves the second to a work item.
        peer.send(*segments, wire.send(1, DATA))
        conn.wc("r0")
        taken = bench.counter("rx_bytes")
        with Starved(bench):
            peer.send(*segments)
            peer.fin()
            peer.expect_fin_arrived()
            read = bench.counter("rx_bytes") - taken
            assert read < 56 * 1024, "all was read"
            peer.reset()
            # The post runs the engine, to which TCP reports the reset once.
            conn.post("send", 8)
        bench.counter_is("connections_lost", lost + 1)
        conn.event("DISCONNECTED")
    finally:
        bench.set_mtu(1500)


# Covers: MPA-14 TERM-07 TERM-16 TERM-17
@cases([
    ("closing_write", "a Write to nowhere: 0x1100", BAD_STAG, 0, 0x1100,
     ACCESS_ERR),
    ("closing_crc", "a wrong CRC: 0x2002", None, 1, 0x2002, FATAL),
])
def fault_while_closing(bench, stag, crc_xor, code, event):
    # The application disconnects; the FIN waits for the end of its Read.
    peer, conn = reading(bench)
    request(peer, 1, 16)
    conn.disconnect()
    peer.expect_silence()
    rw = bench.target.rw
    segment = wire.write(stag or rw.stag, rw.base, DATA)
    peer.send(segment, crc_xor=crc_xor)
    peer.expect_terminate(code, segment if stag else None)
    conn.wc("s0", FLUSH)
    down(bench, conn, event)
    untouched(bench)


def revoked(bench, peer):
    """Revokes the region of all Reads but the first, while the second Read is being
    answered. The first one reads all of "big". Returns the bytes of responses and
    the message behind them.
    """
    got, other = read_responses(peer, bench.target.big.len + 100000)
    assert other is None, other.hex()
    bench.target.do("revoke")
    more, other = read_responses(peer)
    return got + more, other


@case
# Covers: TERM-07 TERM-17
def fault_behind_fin(bench):
    """a Read that fails after the peer's FIN is still answered: 0x0100"""
    big = bench.target.big
    stag = int(bench.target.do("lend", "big"))
    peer, conn = bench.open(ird=8)
    peer.send(wire.read_req(1, big.len, big.stag, big.base),
              *[wire.read_req(msn, big.len, stag, big.base)
                for msn in (2, 3, 4, 5)])
    peer.fin()
    got, ulpdu = revoked(bench, peer)
    msn, got = 1 + got // big.len, got % big.len
    assert 2 <= msn <= 5, msn
    rest = wire.read_req(msn, big.len - got, stag, big.base + got, 0xBEEF,
                         0x1000 + got)
    assert ulpdu == wire.terminate_for(0x0100, rest), ulpdu.hex()
    peer.expect_fin()
    down(bench, conn, ACCESS_ERR)


@case
# Covers: MPA-14 TERM-17
def late_fault(bench):
    """behind the own FIN no Terminate can follow: a fault is a reset"""
    sent = bench.counter("terminates_sent")
    peer, conn = bench.open()
    peer.send(wire.RTR["C"])
    conn.disconnect()
    peer.expect_fin()
    peer.send(wire.write(BAD_STAG, 0, DATA))
    peer.expect_reset_behind_fin()
    down(bench, conn, 0)
    assert bench.counter("terminates_sent") == sent


# Covers: TERM-17 ATOM-14
@cases([
    ("late_read", "a Read behind the own FIN: earlier data is delivered",
     lambda t: wire.read_req(1, 8, t.rw.stag, t.rw.base)),
    ("late_atomic", "an Atomic behind the own FIN is not executed",
     lambda t: wire.atomic_req(1, t.rw.stag, t.rw.base)),
])
def behind_own_fin(bench, build):
    # TCP has taken both Sends and the FIN, but the peer has not received the FIN.
    # More data may not fit into TCP's send buffer, which grows with time.
    size = 72 << 10
    peer, conn = full_of_sends(bench, 2, size)
    conn.disconnect()
    for number in range(2):
        conn.wc(f"s{number}")
    peer.send(build(bench.target))
    conn.flushed()
    for msn in 1, 2:
        take_send(peer, msn, size)
    peer.expect_fin()
    peer.fin()
    conn.event("DISCONNECTED")
    untouched(bench)


@case
# Covers: TERM-19 MPA-89
def posted_while_closing(bench):
    """requests posted after a disconnect are not sent, but flushed"""
    peer, conn = reading(bench)
    sink = request(peer, 1, 16)[:2]
    conn.post("send", 8, flags=1)
    conn.disconnect()
    conn.post("send", 8, 2)
    peer.expect_silence()
    peer.send(response(*sink, bytes(16)))
    assert peer.rx.fpdu()[:18] == wire.send(1)
    peer.expect_fin()
    conn.post("write", 8, 1, 0xCAFE, 0x5000)
    peer.fin()
    conn.wc("s0", op=READ)
    conn.wc("s1")
    for number in 2, 3, 4:
        conn.wc(f"s{number}", FLUSH)
    down(bench, conn, 0)


def full_of_sends(bench, count=16, size=1 << 17):
    """Posts Sends to a peer that does not read: its TCP takes about 64 KiB."""
    bench.target.do("fill", "sink", 0)
    peer, conn = bench.open(window=1 << 16)
    peer.send(wire.RTR["C"])
    conn.post("send", size, count)
    return peer, conn


def take_send(peer, msn, size=1 << 17):
    """The peer receives one Send of full_of_sends(), and checks it."""
    sent_message(peer, bytes(size), 18, lambda at, piece, last:
                 wire.send(msn, piece, mo=at, last=last))


@case
# Covers: MPA-89
def slow_close(bench):
    """a close may take as long as it makes progress: every byte, then FIN"""
    bench.policy(close_timeout_ms=3000)
    timeouts = bench.counter("connections_timed_out")
    peer, conn = full_of_sends(bench)
    conn.disconnect()
    begin = time.monotonic()
    for msn in range(1, 17):
        take_send(peer, msn)
        if time.monotonic() - begin < 4:
            time.sleep(0.5)
    assert time.monotonic() - begin > 3
    peer.expect_fin()
    peer.fin()
    for number in range(16):
        conn.wc(f"s{number}")
    down(bench, conn, 0)
    assert bench.counter("connections_timed_out") == timeouts


@case
# Covers: MPA-89
def slow_arrival(bench):
    """a close waits while the peer still sends: all of it, then FIN"""
    bench.policy(close_timeout_ms=2000)
    timeouts = bench.counter("connections_timed_out")
    peer, conn = bench.open(recvs=12)
    conn.disconnect()
    peer.expect_fin()
    for number in range(12):
        time.sleep(0.5)
        peer.send(wire.send(number + 1, DATA))
        conn.wc(f"r{number}", data=DATA.hex())
    peer.fin()
    down(bench, conn, 0, 12, 12)
    assert bench.counter("connections_timed_out") == timeouts


# Covers: MPA-89
@cases([
    ("unstalled", "a message that waits for its receive, in one packet",
     lambda peer, data: peer.raw(data)),
    ("unstalled_split", "a message that waits for its receive, in two packets",
     lambda peer, data:
     (peer.raw(data[:9]), time.sleep(0.1), peer.raw(data[9:]))),
])
def flushed_while_stalled(bench, put):
    """flushed while a message waits for its receive: the close continues"""
    bench.policy(rnr_timeout_ms=30000, close_timeout_ms=30000)
    late = bench.counter("rx_rnr_waits")
    timeouts = bench.counter("connections_timed_out")
    peer, conn = bench.open(recvs=0)
    put(peer, peer.tx.fpdu(wire.send(1, DATA)))
    while bench.counter("rx_rnr_waits") == late:
        conn.nothing("event")
    conn.disconnect()
    peer.expect_fin()
    conn.fail()
    begin = time.monotonic()
    peer.fin()
    conn.event("DISCONNECTED")
    took = time.monotonic() - begin
    assert took < PROMPT, f"{took:.1f} s"
    assert bench.counter("connections_timed_out") == timeouts


def shut(bench, peer, conn):
    conn.disconnect()
    peer.expect_fin()


def stall(bench, peer, conn):
    """The peer sends a message, which waits for its receive."""
    late = bench.counter("rx_rnr_waits")
    peer.send(wire.send(1, DATA))
    while bench.counter("rx_rnr_waits") == late:
        conn.nothing("event")


# Covers: MPA-89
@cases([
    ("close_stalled", "closed while a message waits for its receive: ends soon",
     [stall, shut]),
    ("close_then_stall", "closed before a message waits for its receive: the same",
     [shut, stall]),
])
def closed_without_receive(bench, steps):
    """the limit of a message without a receive does not delay a close"""
    bench.policy(rnr_timeout_ms=30000, close_timeout_ms=30000)
    peer, conn = bench.open(recvs=0)
    for step in steps:
        step(bench, peer, conn)
    begin = time.monotonic()
    peer.fin()
    conn.event("DISCONNECTED")
    took = time.monotonic() - begin
    assert took < PROMPT, f"{took:.1f} s"


@case
# Covers: MPA-89
def slow_end(bench):
    """a close without a queue pair may take as long as TCP makes progress"""
    bench.policy(close_timeout_ms=2000)
    peer, conn = full_of_sends(bench, 2)
    conn.disconnect()
    for number in range(2):
        conn.wc(f"s{number}")
    conn.free()
    bench.target.conns.remove(conn)
    for _ in range(4):
        # Read a little each time, so that the peer's TCP acknowledges data.
        time.sleep(0.8)
        peer.take(40000)
    for msn in 1, 2:
        take_send(peer, msn)
    peer.expect_fin()


@case
# Covers: TERM-19 MPA-89
def flushed_while_closing(bench):
    """with the queue flushed, nothing holds back the FIN"""
    peer, conn = reading(bench)
    request(peer, 1, 16)
    conn.disconnect()
    conn.post("send", 8)
    peer.expect_silence()
    conn.fail()
    peer.expect_fin()
    peer.fin()
    for number in range(2):
        conn.wc(f"s{number}", FLUSH)
    down(bench, conn, 0)


@case
# Covers: TERM-18 MPA-89
def read_behind_fin(bench):
    """a Read that the peer can no longer answer is not sent: FIN, flushed"""
    peer, conn = full_of_sends(bench)
    conn.post("read", 16, 1, 0xCAFE, 0x5000)
    conn.post("send", 8)
    peer.fin()
    for msn in range(1, 17):
        take_send(peer, msn)
    peer.expect_fin()
    for number in range(16):
        conn.wc(f"s{number}")
    for number in 16, 17:
        conn.wc(f"s{number}", FLUSH)
    down(bench, conn, 0)


@case
# Covers: MPA-89
def endless_close(bench):
    """a peer that reads a little now and then cannot delay a close for ever"""
    bench.policy(close_timeout_ms=300)
    peer, conn = full_of_sends(bench)
    conn.post("send", 1 << 17, 16)
    conn.disconnect()
    got = 0
    try:
        while data := peer.sock.recv(4096):
            got += len(data)
            time.sleep(0.02)
    except ConnectionResetError:
        pass
    # The number of bytes depends on the machine; slow_close checks progress.
    assert got < 32 << 17, "it got all of it"
    conn.event("DISCONNECTED")


@case
# Covers: MPA-89
def stuck_close(bench):
    """a close without progress ends with a reset when its time is up"""
    bench.policy(close_timeout_ms=300)
    timeouts = bench.counter("connections_timed_out")
    peer, conn = full_of_sends(bench)
    conn.disconnect()
    bench.counter_is("connections_timed_out", timeouts + 1)
    peer.drain_until_reset()
    conn.event("DISCONNECTED")


@case
# Covers: TERM-18
def fin_in_message(bench):
    """FIN inside a message, or with a Read outstanding: flushed, no reply"""
    peer, conn = bench.open()
    peer.send(wire.send(1, DATA, last=False))
    peer.fin()
    peer.expect_reset()
    down(bench, conn, 0)
    peer, conn = reading(bench)
    request(peer, 1, 16)
    peer.fin()
    peer.expect_reset()
    conn.wc("s0", FLUSH)
    down(bench, conn, 0)


@case
# Covers: TERM-09 TERM-07
def slow_reader(bench):
    """behind a full send buffer the Terminate still starts on a boundary"""
    big = bench.target.big
    peer, conn = bench.open(ird=4)
    peer.send(*[wire.read_req(msn, big.len, big.stag, big.base)
                for msn in (1, 2)])
    bad = wire.write(BAD_STAG, 0, DATA)
    peer.send(bad)
    conn.asynchronous(ACCESS_ERR)
    _, ulpdu = read_responses(peer)
    assert ulpdu == wire.terminate_for(0x1100, bad), ulpdu.hex()
    peer.expect_fin()
    down(bench, conn, 0)


def settled(bench, counter):
    """Wait until the counter no longer changes."""
    before = None
    while before != (before := bench.counter(counter)):
        time.sleep(0.3)


@case
# Covers: TERM-22
def unsent_terminate(bench):
    """the queue pair is destroyed before the Terminate is sent: a reset"""
    peer, conn = full_of_sends(bench)
    settled(bench, "tx_bytes")
    peer.send(wire.write(BAD_STAG, 0, DATA))
    conn.asynchronous(ACCESS_ERR)
    conn.free()
    bench.target.conns.remove(conn)
    peer.drain_until_reset()


@case
# Covers: TERM-06
def revoked_in_between(bench):
    """a Read of a revoked region: the Terminate quotes the part left"""
    big = bench.target.big
    stag = int(bench.target.do("lend", "big"))
    peer, conn = bench.open(ird=4)
    sink, sink_to = 0xBEEF, 0x1000
    # The response to the first Read fills all buffers; the region of the second
    # one is revoked in the meantime.
    peer.send(wire.read_req(1, big.len, big.stag, big.base),
              wire.read_req(2, big.len, stag, big.base, sink, sink_to))
    got, ulpdu = revoked(bench, peer)
    got -= big.len
    assert 0 < got < big.len, f"{got} bytes were read"
    rest = wire.read_req(2, big.len - got, stag, big.base + got, sink,
                         sink_to + got)
    assert ulpdu == wire.terminate_for(0x0100, rest), \
        f"{ulpdu.hex()}, wanted {wire.terminate_for(0x0100, rest).hex()}"
    peer.expect_fin()
    down(bench, conn, ACCESS_ERR)


if __name__ == "__main__":
    sys.exit(main())
