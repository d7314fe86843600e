#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""MPA, with the hand-made peer as Initiator: valid and invalid startup frames,
negotiation, the first FPDU, framing, and slow peers.
"""

import os
import random
import socket
import struct
import sys
import time

import wire
from live import FLUSH, case, cases, main, segments_of_send

FATAL, REQ_ERR = 1, 2
QP_OP_ERR = 2
DATA = bytes(range(0x20, 0x28))
E = wire.C | wire.S


def request(flags, rev, pdata=b"", **how):
    return wire.startup(wire.REQ_KEY, flags, rev, pdata, **how)


def refused(bench, octets, piecemeal=False):
    """Checks that this Request is closed without a byte, and not reported to the
    listener."""
    malformed = bench.counter("mpa_malformed")
    peer = bench.tcp()
    try:
        (peer.octets if piecemeal else peer.raw)(octets)
    except (BrokenPipeError, ConnectionResetError):
        pass
    peer.expect_end()
    bench.target.no_request()
    bench.counter_is("mpa_malformed", malformed + 1)


BAD_REQUESTS = [
    ("NF_01", "wrong last byte of the key", wire.startup(
        wire.REQ_KEY[:15] + b"\x66", wire.C, 1)),
    ("NF_02", "revision 0", request(wire.M | wire.C, 0)),
    ("NF_03", "revision 3", request(E, 3, wire.enhanced(0x8010, 0xC010))),
    ("NF_rev255", "revision 255", request(wire.C, 255)),
    ("NF_04", "PD_Length 513", request(wire.C, 1, bytes(513))),
    ("NF_04_max", "PD_Length 65535", request(wire.C, 1, b"", length=0xFFFF)),
    ("NF_05", "enhanced with three bytes",
     request(E, 2, b"\x80\x10\xC0")),
    ("NF_06", "enhanced with nothing", request(E, 2)),
    ("NF_10", "the key of a Reply", wire.startup(wire.REP_KEY, wire.C, 1)),
    ("NF_random", "64 bytes of something else", bytes(range(64, 128))),
    ("NF_http", "a request in another protocol, HTTP",
     b"GET / HTTP/1.0\r\n\r\n"),
    ("NF_first_octet", "one wrong byte is enough", b"X"),
]


# Covers: MPA-38 MPA-40 MPA-45 MPA-47 MPA-54
@cases(BAD_REQUESTS)
def bad_request(bench, octets):
    refused(bench, octets)


@case
def bad_request_with_more(bench):
    """a malformed Request with much behind it, from peers that leave at once"""
    for _, _, octets in BAD_REQUESTS:
        for end in "fin", "reset":
            peer = bench.tcp()
            try:
                peer.raw(octets + bytes(8000))
                getattr(peer, end)()
            except OSError:
                pass  # The device has closed the connection already.
        bench.others_are_well()
    bench.target.no_request()
    refused(bench, b"X")


@case
# Covers: MPA-46
def private_data_limit(bench):
    """255 bytes of Private Data arrive, 256 and more are not cut but refused"""
    data = bytes(range(255))
    enh = wire.enhanced(0x0004, 0x0004)
    for flags, rev, head in (wire.C, 1, b""), (E, 2, enh):
        _, conn = bench.ask(flags, rev, head + data)
        assert conn.request["data"] == data.hex()
        conn.reject()
        refused(bench, request(flags, rev, head + bytes(256)))
        refused(bench, request(flags, rev, head + bytes(512 - len(head))))


@case
# Covers: MPA-50
def early_octets(bench):
    """bytes behind the Request and before the Reply: closed"""
    refused(bench, request(wire.C, 1) + b"\0")
    rtr = wire.Framer().fpdu(wire.RTR["C"])
    refused(bench, request(wire.C, 1) + rtr)
    # The same after the request was reported to the application.
    peer, conn = bench.ask()
    peer.raw(b"\0")
    peer.expect_end()
    try:
        conn.accept()
    except OSError:
        return
    raise AssertionError("accepted")


@case
# Covers: MPA-54 MPA-49 MPA-15
def octet_by_octet(bench):
    """startup frame and FPDUs, one byte in each TCP segment"""
    peer = bench.tcp()
    peer.expect_silence()
    peer.octets(request(E, 2, wire.enhanced(0x8004, 0xC004) + b"hello"))
    conn = bench.target.request()
    assert conn.request["data"] == b"hello".hex()
    conn.accept()
    peer.startup()
    peer.octets(peer.tx.fpdu(wire.RTR["C"]))
    conn.event("ESTABLISHED", status=0)
    for msn in 1, 2, 3:
        peer.octets(peer.tx.fpdu(wire.send(msn, bytes(range(msn * 13)))))
        conn.wc(f"r{msn - 1}", len=msn * 13,
                data=bytes(range(msn * 13)).hex())


# Reply to a Request: name, flags, rev, Private Data; flags and rev expected.
# Covers: MPA-36 MPA-37 MPA-41 MPA-42 MPA-43 MPA-44 MPA-48 MPA-09 MPA-33
@cases([
    ("SF_01", "revision 1 is answered in revision 1", wire.C, 1, b"", b"",
     wire.C, 1),
    ("SF_03", "without C the device asks for it", 0, 1, b"", b"", wire.C, 1),
    ("SF_16", "revision 2 without S is answered without S", wire.C, 2, b"", b"",
     wire.C, 2),
    ("SF_02", "Private Data arrives", wire.M | wire.C, 1, b"hello", b"hello",
     wire.C, 1),
    ("SF_09", "Private Data behind enhanced data arrives alone", E, 2,
     wire.enhanced(1, 0) + b"rping", b"rping", E, 2),
    ("SF_09_empty", "enhanced data are no Private Data", E, 2,
     wire.enhanced(1, 0), b"", E, 2),
    ("NF_07", "revision 1: S is a reserved bit", E, 1, b"\x80\x10\xC0\x10",
     b"\x80\x10\xC0\x10", wire.C, 1),
    ("NF_08", "reserved bits are ignored", 0x4F, 1, b"", b"", wire.C, 1),
    ("NF_08_enh", "reserved bits of an enhanced Request are ignored",
     0x58, 2, wire.enhanced(0x8010, 0xC010), b"", E, 2),
    ("NF_09", "R of a Request is ignored", 0x60, 1, b"", b"", wire.C, 1),
])
def answer(bench, flags, rev, pdata, data, want_flags, want_rev):
    # Accepted and rejected, each in the form of the Request.
    peer, conn, reply = bench.answered(flags, rev, pdata, data=b"welcome")
    assert conn.request["data"] == data.hex(), conn.request
    assert (reply.flags, reply.rev) == (want_flags, want_rev), vars(reply)
    assert reply.data == b"welcome"
    peer.send(wire.RTR["C"], wire.send(1, DATA))
    conn.event("ESTABLISHED", status=0)
    conn.wc("r0", data=DATA.hex())

    peer, conn = bench.ask(flags, rev, pdata)
    conn.reject(b"no")
    reply = peer.startup()
    assert (reply.flags, reply.rev) == (want_flags | wire.R, want_rev)
    assert reply.data == b"no"
    peer.expect_fin()
    bench.target.no_request()


@case
# Covers: MPA-67 MPA-71 MPA-73
def depths(bench):
    """IRD and ORD: reported, bounded, and 0x3FFF answered by 0x3FFF"""
    none = wire.NONE
    table = (
        # I_IRD, I_ORD, local IRD, ORD, R_IRD, R_ORD
        (16, 16, 16, 16, 16, 16), (16, 16, 8, 16, 8, 16),
        (16, 16, 32, 4, 32, 4), (4, 16, 16, 16, 16, 4),
        (0, 16, 16, 16, 16, 0), (16, 0, 16, 16, 16, 16),
        (0, 0, 0, 0, 0, 0), (1, 1, 128, 128, 128, 1),
        (255, 255, 64, 64, 64, 64), (256, 7, 64, 64, 64, 64),
        (0x3FFE, 0x3FFE, 128, 128, 128, 128),
        (none, 16, 16, 8, 16, none), (16, none, 16, 8, none, 8),
        (none, none, 16, 8, none, none),
    )
    for i_ird, i_ord, ird, ord, r_ird, r_ord in table:
        peer, conn, reply = bench.answered(
            E, 2, wire.enhanced(i_ird, i_ord), ird=ird, ord=ord)
        got = int(conn.request["ird"]), int(conn.request["ord"])
        want = min(i_ird, 255), min(i_ord, 255)
        # Some kernels limit the reported values to the limits of the device, 128.
        assert got in (want, tuple(min(v, 128) for v in want)), (got, want)
        assert (reply.ird, reply.ord) == (r_ird, r_ord), \
            f"{(i_ird, i_ord, ird, ord)}: {(reply.ird, reply.ord)}"
        assert not reply.a and not reply.rtr
        peer.close()


@case
# Covers: MPA-67 MPA-68
def ord_from_request(bench):
    """to IRD 2 two Reads are sent at a time, to IRD 0 none"""
    for ird in 2, 0:
        peer, conn, reply = bench.answered(E, 2, wire.enhanced(ird, 4),
                                           ird=4, ord=16)
        assert reply.ord == ird
        conn.event("ESTABLISHED", status=0)
        peer.send(wire.RTR["C"])
        conn.post("read", 16, 6, 0xCAFE, 0x5000)
        if not ird:
            # With an ORD of 0 the Read can never be sent: it fails.
            peer.expect_terminate(0)
            conn.wc("s0", QP_OP_ERR)
            continue
        for msn in range(1, ird + 1):
            assert peer.rx.fpdu()[10:14] == struct.pack(">I", msn)
        peer.expect_silence()


@case
# Covers: MPA-75
def no_p2p(bench):
    """without A the other flags mean nothing and the Reply has none"""
    for first, second in (0x4010, 0xC010), (0x0010, 0x0010):
        peer, conn, reply = bench.answered(E, 2, wire.enhanced(first, second))
        assert not reply.a and not reply.rtr
        # Established at once, without waiting for the peer's first FPDU.
        conn.event("ESTABLISHED", status=0)
        peer.close()


@case
# Covers: MPA-76 MPA-74
def rtr_matrix(bench):
    """RTR types: all that are common, or if none all of the device"""
    names = {"B": "send", "C": "write", "D": "read"}
    for own in "B", "C", "D", "BC", "BD", "CD", "BCD":
        bench.policy(rtr_types=" ".join(names[t] for t in own))
        for asked in "", "B", "C", "D", "BC", "BD", "CD", "BCD":
            b, cd = wire.rtr_bits(asked)
            peer, _, reply = bench.answered(
                E, 2, wire.enhanced(0x8004 | b, cd | 4))
            common = "".join(t for t in own if t in asked) or own
            assert reply.a and reply.rtr == common, \
                f"asked {asked} of {own}: {reply.rtr}"
            peer.close()
    # A Read needs a place at the Responder.
    bench.policy(rtr_types="read write")
    _, _, reply = bench.answered(E, 2, wire.enhanced(0x8004, 0x4000), ird=0)
    assert reply.rtr == "D" and reply.ird >= 1, vars(reply)
    _, _, reply = bench.answered(E, 2, wire.enhanced(0x8004, 0xC000), ird=0)
    assert reply.rtr == "C" and reply.ird == 0, vars(reply)


def p2p(bench, types="CD", **accept):
    b, cd = wire.rtr_bits(types)
    return bench.answered(E, 2, wire.enhanced(0x8004 | b, cd | 4), **accept)


@case
# Covers: MPA-55 MPA-82
def write_rtr(bench):
    """requests are sent only after the RTR, which takes no receive"""
    for types in "C", "CD":
        peer, conn, _ = p2p(bench, types, recvs=1)
        conn.post("send", 8)
        peer.expect_silence()
        conn.nothing("event")
        peer.send(wire.RTR["C"])
        conn.event("ESTABLISHED", status=0)
        got = peer.rx.fpdu()
        assert got[:18] == wire.send(1) and len(got) == 26
        conn.wc("s0")
        conn.nothing("wc")
        peer.send(wire.send(1, DATA))
        conn.wc("r0", data=DATA.hex())


@case
# Covers: MPA-83 MPA-82 MPA-84 MPA-81
def read_rtr(bench):
    """a Read as RTR is answered, whatever it names; the next has MSN 2"""
    rw = bench.target.rw
    for fields in (0, 0, 0, 0, 0), (0xBAD, 7, 0, 0xDEAD, 0xFFFFFFFFFFFFFFFF):
        peer, conn, _ = p2p(bench, "D", ird=1, recvs=1)
        peer.send(wire.untagged(wire.READ_REQ, 1, 1, wire.read_hdr(*fields)))
        conn.event("ESTABLISHED", status=0)
        peer.expect(wire.tagged(wire.READ_RESP, fields[0], fields[1]))
        peer.send(wire.read_req(2, 4, rw.stag, rw.base))
        peer.expect(wire.tagged(wire.READ_RESP, 0xBEEF, 0x1000, bytes(4)))
        peer.send(wire.send(1, DATA))
        conn.wc("r0", data=DATA.hex())


@case
# Covers: MPA-82 MPA-84
def send_rtr(bench):
    """a Send as RTR, where offered, takes no receive; as an FPDU of 0 too"""
    bench.policy(rtr_types="send write")
    for rtr, msn in (wire.RTR["B"], 2), (b"", 1):
        peer, conn, reply = p2p(bench, "B", recvs=1)
        assert reply.rtr == "B"
        peer.send(rtr)
        conn.event("ESTABLISHED", status=0)
        conn.nothing("wc")
        peer.send(wire.send(msn, DATA))
        conn.wc("r0", data=DATA.hex())


@case
# Covers: MPA-84
def rtr_unchecked(bench):
    """STag and offset of a Write as RTR are not checked"""
    peer, conn, _ = p2p(bench)
    peer.send(wire.write(0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF))
    conn.event("ESTABLISHED", status=0)
    peer.send(wire.send(1, DATA))
    conn.wc("r0", data=DATA.hex())


@case
# Covers: MPA-85 MPA-86
def message_as_rtr(bench):
    """any message may come first: it is processed and ends the fence"""
    peer, conn, _ = p2p(bench)
    conn.post("send", 8)
    peer.send(wire.send(1, DATA))
    conn.event("ESTABLISHED", status=0)
    conn.wc("r0", data=DATA.hex())
    assert peer.rx.fpdu()[:18] == wire.send(1)
    # An empty Send is no RTR if the RTR type Send was not offered: it is a message.
    peer, conn, reply = p2p(bench, "CD")
    assert "B" not in reply.rtr
    peer.send(wire.RTR["B"])
    conn.event("ESTABLISHED", status=0)
    conn.wc("r0", len=0)


@case
# Covers: MPA-87
def terminate_as_rtr(bench):
    """a Terminate comes first: the connection fails, nothing is sent back"""
    peer, conn, _ = p2p(bench)
    peer.send(wire.terminate(0x2007))
    peer.expect_end()
    conn.event("ESTABLISHED")
    conn.event("DISCONNECTED")
    conn.flushed()


@case
# Covers: MPA-56
def first_crc(bench):
    """a first FPDU with a wrong CRC: nothing is sent, TCP ends"""
    peer, conn, _ = p2p(bench)
    conn.post("send", 8)
    peer.send(wire.RTR["C"], crc_xor=0x01000000)
    peer.expect_end()
    conn.event("ESTABLISHED")
    conn.event("DISCONNECTED")
    peer, conn = bench.open()
    peer.send(wire.send(1, DATA), crc_xor=1)
    peer.expect_end()
    conn.event("DISCONNECTED")


def all_flushed(conn, sends):
    """Checks that all requests are flushed: sends and receives, each in order."""
    names = [conn.target.report(conn.nr, "wc") for _ in range(sends + 4)]
    assert all(wc["status"] == str(FLUSH) for wc in names), names
    names = [wc["name"] for wc in names]
    for queue, count in ("s", sends), ("r", 4):
        want = [f"{queue}{number}" for number in range(count)]
        assert [n for n in names if n[0] == queue] == want, names


@case
# Covers: MPA-55 MPA-89 TERM-19
def fin_behind_fence(bench):
    """FIN in place of the first FPDU is answered by one: all is flushed"""
    begin = time.monotonic()
    for start in p2p, lambda bench: (*bench.open(), None):
        for posted in 0, 1, 3:
            peer, conn, _ = start(bench)
            conn.post("send", 8, posted)
            peer.fin()
            peer.expect_fin()
            if start is p2p:
                conn.event("ESTABLISHED")
            conn.event("DISCONNECTED")
            all_flushed(conn, posted)
    assert time.monotonic() - begin < 6, "it waited for a timer"


@case
# Covers: MPA-55 MPA-89 TERM-19
def close_behind_fence(bench):
    """the application disconnects first: FIN at once if nothing waits"""
    begin = time.monotonic()
    for posted in 0, 3:
        peer, conn = bench.open()
        conn.post("send", 8, posted)
        conn.disconnect()
        if posted:
            peer.expect_silence()
        else:
            peer.expect_fin()
        peer.fin()
        if posted:
            peer.expect_fin()
        conn.event("DISCONNECTED")
        all_flushed(conn, posted)
    # The Send that waits is sent when the peer sends its first FPDU.
    peer, conn = bench.open()
    conn.post("send", 8)
    conn.disconnect()
    peer.expect_silence()
    peer.send(wire.RTR["C"])
    assert peer.rx.fpdu()[:18] == wire.send(1)
    peer.expect_fin()
    assert time.monotonic() - begin < 6, "it waited for a timer"


@case
# Covers: MPA-57
def rtr_at_once(bench):
    """an RTR right behind the Reply, many times"""
    for _ in range(30):
        peer, conn, _ = p2p(bench, recvs=1)
        peer.send(wire.RTR["C"], wire.send(1, DATA))
        conn.event("ESTABLISHED", status=0)
        conn.wc("r0", data=DATA.hex())
        peer.close()
        conn.event("DISCONNECTED")
        conn.free()
        bench.target.conns.remove(conn)


@case
# Covers: MPA-50 MPA-55
def early_fpdus(bench):
    """FPDUs at the moment of accept: the Reply comes before any answer"""
    rw = bench.target.rw
    replies = 0
    for attempt in range(40):
        peer, conn = bench.ask(E, 2, wire.enhanced(0x8004, 0xC004))
        conn.accept_soon()
        # Vary the delay around the duration of an accept; the last attempt sends
        # the FPDUs long after the accept.
        time.sleep(attempt * 0.0005 if attempt < 39 else 1)
        peer.raw(peer.tx.fpdu(wire.RTR["C"]) +
                 peer.tx.fpdu(wire.read_req(1, 4, rw.stag, rw.base)))
        try:
            head = peer.sock.recv(1, socket.MSG_PEEK)
        except ConnectionResetError:
            head = b""
        if not head:
            # The FPDUs arrived before the accept, which closes the connection.
            conn.accepted()
            peer.close()
            continue
        assert peer.startup().key == wire.REP_KEY
        peer.expect(wire.tagged(wire.READ_RESP, 0xBEEF, 0x1000, bytes(4)))
        replies += 1
        assert conn.accepted()
        conn.event("ESTABLISHED")
        peer.close()
    assert replies, "none came late enough"


# Covers: MPA-06 MPA-10 MPA-11
@cases([
    ("crc_11", "C=1, C=1: CRCs", wire.C, 1),
    ("crc_10", "C=1, C=0: CRCs", wire.C, 0),
    ("crc_01", "C=0, C=1: CRCs", 0, 1),
    ("crc_00", "C=0, C=0: none is checked, the field is there", 0, 0),
])
def crc(bench, flags, own):
    bench.policy(crc=own)
    used = bool(flags) or bool(own)
    peer, conn, reply = bench.answered(flags)
    assert reply.flags == (wire.C if used else 0)
    conn.event("ESTABLISHED", status=0)
    peer.send(wire.RTR["C"])
    conn.post("send", 30)
    assert len(peer.rx.fpdu()) == 48
    conn.wc("s0")
    peer.send(wire.send(1, DATA), crc_xor=0xFFFFFFFF)
    peer.send(wire.send(2, DATA))
    if used:
        peer.expect_terminate(0x2002)
        conn.asynchronous(FATAL)
        return
    conn.wc("r0", data=DATA.hex())
    conn.wc("r1", data=DATA.hex())


@case
# Covers: MPA-25 MPA-26 MPA-27 MPA-28 MPA-29 MPA-30 MPA-31 MPA-32 MPA-55
def markers_to_peer(bench):
    """M=1: each Marker at its place and right, in FPDUs of all sizes"""
    big = bench.target.big
    peer, conn = bench.open(wire.M | wire.C, ird=8)
    conn.post("send", 8)
    peer.expect_silence()
    peer.send(wire.RTR["C"])
    assert len(peer.rx.fpdu()) == 26
    msn = 0
    for size in [*range(0, 40, 3), 400, 508, 512, 1000, 1443, 5000, 60000]:
        msn += 1
        peer.send(wire.read_req(msn, size, big.stag, big.base))
        data, last = b"", False
        while not last:
            ulpdu = peer.rx.fpdu()
            last = ulpdu[0] & 0x40
            data += ulpdu[14:]
        assert data == (bench.target.peek("big", 0, size) if size else b"")
    # The number of Markers that were checked follows from the stream's length.
    assert peer.rx.seen_markers == -(-peer.rx.pos // 512), vars(peer.rx)
    assert peer.rx.seen_markers > 130


@case
# Covers: MPA-34 MPA-25 MPA-27
def markers_from_peer(bench):
    """the device asks for Markers: checked, not delivered; wrong is 0x2003"""
    bench.policy(markers=1)
    peer, conn = bench.open()
    assert peer.tx.markers
    rw = bench.target.rw
    sent = bytes(range(250)) * 8
    peer.send(wire.write(rw.stag, rw.base, sent))
    for msn in 1, 2, 3, 4:
        peer.send(wire.send(msn, bytes(range(60 + msn))))
        conn.wc(f"r{msn - 1}", data=bytes(range(60 + msn)).hex())
    assert bench.target.peek("rw", 0, len(sent)) == sent
    bench.target.do("fill", "rw", 0)
    # The pointer of a Marker inside an FPDU, spoilt, the CRC right.
    fpdu = bytearray(peer.tx.fpdu(wire.write(rw.stag, rw.base, bytes(700))))
    where = (-(peer.tx.pos - len(fpdu))) % 512
    fpdu[where + 2] ^= 0x10
    fpdu[-4:] = struct.pack("<I", wire.crc32c(fpdu[:-4]))
    peer.raw(fpdu)
    peer.expect_terminate(0x2003)
    conn.asynchronous(FATAL)


@case
# Covers: MPA-03 MPA-08
def pad(bench):
    """PAD that is not zero, the CRC right: the message is intact"""
    peer, conn = bench.open()
    for msn, size in enumerate((1, 2, 3, 4), 1):
        peer.send(wire.send(msn, DATA[:size]), pad=b"\xff\xff\xff")
        conn.wc(f"r{msn - 1}", data=DATA[:size].hex())


@case
# Covers: MPA-08 MPA-14
def crc_covers_all(bench):
    """the CRC covers the length, the ULPDU, PAD and Markers: 0x2002"""
    ulpdu = wire.send(1, DATA[:5])
    places = {
        # With a PAD of three, one byte more or less changes no boundary.
        "length": lambda f: wire.patched(f, 0, struct.pack(">H", 24)),
        "header": lambda f: wire.patched(f, 2 + 17, b"\1"),
        "payload": lambda f: wire.patched(f, 2 + 18, b"\0"),
        "pad": lambda f: wire.patched(f, 2 + len(ulpdu), b"\1"),
    }
    for where, spoil in places.items():
        peer, conn = bench.open()
        fpdu = peer.tx.fpdu(ulpdu)
        assert len(fpdu) == 32 and spoil(fpdu) != fpdu, where
        peer.raw(spoil(fpdu))
        # As the first FPDU: no Terminate, as the MPA fence is still set.
        peer.expect_end()
        conn.event("DISCONNECTED")
        peer, conn = bench.open()
        peer.send(wire.RTR["C"])
        peer.raw(spoil(fpdu))
        peer.expect_terminate(0x2002)
        conn.asynchronous(FATAL)
    bench.policy(markers=1)
    peer, conn = bench.open()
    fpdu = peer.tx.fpdu(wire.RTR["C"])
    peer.raw(fpdu)
    # Change the reserved half of the next Marker: the CRC covers it.
    fpdu = peer.tx.fpdu(wire.write(bench.target.rw.stag, bench.target.rw.base,
                                   bytes(700)))
    where = -(peer.tx.pos - len(fpdu)) % 512
    peer.raw(wire.patched(fpdu, where, b"\1"))
    peer.expect_terminate(0x2002)
    conn.asynchronous(FATAL)


@case
# Covers: MPA-16
def any_cut(bench):
    """600 FPDUs in one stream, cut anywhere: each arrives"""
    random.seed(1)
    peer, conn = bench.open(recvs=60)
    left = b""
    for base in range(0, 600, 60):
        sizes = [random.randrange(65) for _ in range(60)]
        stream = left + b"".join(
            peer.tx.fpdu(wire.send(base + n + 1, os.urandom(size)))
            for n, size in enumerate(sizes))
        while stream:
            cut = random.randrange(1, 300)
            peer.raw(stream[:cut])
            stream = stream[cut:]
        for n, size in enumerate(sizes):
            conn.wc(f"r{base + n}", len=size)
        conn.recv(60)


@case
# Covers: MPA-91
def long_fpdus(bench):
    """a capability probe is answered by one, and the peer gets long FPDUs"""
    def longest(rtr, answer=None):
        peer, conn, _ = bench.answered(E, 2, wire.enhanced(0x8010, 0xC010))
        peer.send(rtr)
        conn.event("ESTABLISHED", status=0)
        if answer:
            peer.expect(answer)
        else:
            peer.expect_silence()
        length = max(segments_of_send(peer, conn, 1))
        conn.wc("s0")
        return length

    one = longest(wire.RTR["C"])
    several = longest(wire.HELLO, wire.HELLO)
    assert several == 16384 // (one + 6) * (one + 6) - 6, (one, several)
    # Of the probe, reserved bits are ignored; the bit for long FPDUs is required.
    assert longest(wire.write(0x78697721, 1 << 63 | 5), wire.HELLO) == several
    assert longest(wire.write(0x78697721, 2), wire.HELLO) == one
    assert longest(wire.write(0x78697721, 4)) == one
    bench.policy(fpdu_segments=1)
    assert longest(wire.HELLO) == one


# Covers: IMM-15
@cases([
    ("imm_agreed", "a peer that announces Send with Immediate gets it",
     wire.HELLO, True),
    ("imm_no_bit", "another probe does not announce Send with Immediate",
     wire.write(0x78697721, 1), False),
    ("imm_other_rtr", "nor does an RTR", wire.RTR["C"], False),
])
def send_imm(bench, rtr, agreed):
    peer, conn, _ = bench.answered(E, 2, wire.enhanced(0x8010, 0xC010))
    # A Send with Immediate waits for the first FPDU, as any other request does.
    conn.post("send_imm", 8)
    conn.post("send", 8)
    peer.expect_silence()
    peer.send(rtr)
    conn.event("ESTABLISHED", status=0)
    if rtr != wire.RTR["C"]:
        peer.expect(wire.HELLO)
    if not agreed:
        peer.expect_terminate(0)
        conn.wc("s0", QP_OP_ERR)
        conn.wc("s1", FLUSH)
        return
    assert peer.rx.fpdu() == wire.imm(1)
    assert peer.rx.fpdu()[:18] == wire.send(2)
    assert peer.rx.fpdu()[:18] == wire.send(3)
    peer.send(wire.imm(1, 7), wire.send(2, DATA))
    conn.wc("s0")
    conn.wc("s1")
    conn.wc("r0", len=8, imm="00000007", data=DATA.hex())


@case
# Covers: MPA-23 MPA-24
def absurd_lengths(bench):
    """ULPDU_Length 0 is an error, 65535 waits for the rest"""
    peer, conn = bench.open()
    peer.send(wire.RTR["C"], b"")
    peer.expect_terminate(0x1000)
    conn.asynchronous(FATAL)
    # A complete FPDU of that length: a Send that exceeds its receive.
    peer, conn = bench.open()
    ulpdu = wire.send(1, bytes(65535 - 18))
    peer.send(ulpdu)
    peer.expect_terminate(0x1205, ulpdu)
    conn.asynchronous(REQ_ERR)
    # Only its first bytes: the device waits, and serves other connections.
    peer, conn = bench.open()
    peer.raw(b"\xff\xff" + wire.send(1))
    bench.others_are_well()
    peer.fin()
    peer.expect_end()
    conn.event("DISCONNECTED")


@case
def urgent(bench):
    """urgent data of TCP end a connection at any time"""
    peer, conn = bench.open()
    peer.send(wire.RTR["C"], wire.send(1, DATA))
    conn.wc("r0", data=DATA.hex())
    peer.sock.send(b"!", socket.MSG_OOB)
    peer.expect_end()
    conn.event("DISCONNECTED")
    conn.flushed(1, 4)
    # An urgent byte inside the Request.
    malformed = bench.counter("mpa_malformed")
    peer = bench.tcp()
    peer.raw(request(wire.C, 1)[:10])
    peer.sock.send(b"!", socket.MSG_OOB)
    peer.expect_end()
    bench.target.no_request()
    bench.counter_is("mpa_malformed", malformed + 1)


@case
# Covers: MPA-51
def slow_request(bench):
    """no Request, or only a part of it: closed when its time is up"""
    bench.policy(request_timeout_ms=300)
    frame = request(wire.C, 1)
    timeouts = bench.counter("connections_timed_out")
    peers = []
    for start in b"", frame[:1], frame[:16], frame[:19]:
        peers.append(bench.tcp())
        peers[-1].raw(start)
    # The timeout is that of the whole frame, and no byte restarts it.
    dripping = bench.tcp()
    begin = time.monotonic()
    try:
        for octet in frame * 2:
            dripping.sock.send(bytes([octet]))
            dripping.expect_silence()
    except (AssertionError, OSError):
        pass
    assert time.monotonic() - begin < 10
    for peer in peers:
        peer.expect_end()
    bench.target.no_request()
    assert bench.counter("connections_timed_out") >= timeouts + 4


@case
# Covers: MPA-51
def half_open(bench):
    """200 silent connections: a good one continues, new ones are served"""
    peer, conn = bench.open(recvs=50)
    silent = [bench.tcp() for _ in range(200)]
    for msn in range(1, 51):
        peer.send(wire.send(msn, DATA))
        conn.wc(f"r{msn - 1}", data=DATA.hex())
    other, conn = bench.open()
    other.send(wire.send(1, DATA))
    conn.wc("r0", data=DATA.hex())
    for sock in silent:
        sock.reset()
    bench.peers = [peer, other]


@case
def slow_rtr(bench):
    """no RTR: reset when its time is up, after it was reported as established"""
    bench.policy(rtr_timeout_ms=300)
    peer, conn, _ = p2p(bench)
    peer.expect_end()
    conn.event("ESTABLISHED")
    conn.event("DISCONNECTED")
    conn.flushed()
    # No timeout in the client-server model, in which the client may be silent.
    peer, conn = bench.open()
    time.sleep(0.6)
    peer.send(wire.send(1, DATA))
    conn.wc("r0", data=DATA.hex())


@case
# Covers: MPA-61
def gone_before_accept(bench):
    """the peer ends before the application accepts: accept fails, no event"""
    for end in "reset", "fin":
        failed = bench.counter("connections_failed")
        peer, conn = bench.ask()
        getattr(peer, end)()
        while bench.counter("connections_failed") == failed:
            bench.target.no_request()
        try:
            conn.accept()
        except OSError:
            conn.nothing("event")
            continue
        raise AssertionError(f"accepted after {end}")


@case
# Covers: MPA-90
def cut_startup(bench):
    """FIN or RST at each byte of the startup: only the expected events"""
    frame = request(E, 2, wire.enhanced(0x8004, 0xC004))
    for end in "fin", "reset":
        for cut in 0, 1, 15, 16, 19, 20, 23:
            failed = bench.counter("connections_failed")
            peer = bench.tcp()
            peer.raw(frame[:cut])
            getattr(peer, end)()
            if end == "fin":
                peer.expect_end()
            while bench.counter("connections_failed") == failed:
                bench.target.no_request()
        # After the Reply: ESTABLISHED is reported before DISCONNECTED.
        for octets in b"", wire.Framer().fpdu(wire.RTR["C"])[:7]:
            peer, conn, _ = p2p(bench)
            peer.raw(octets)
            getattr(peer, end)()
            if end == "fin":
                peer.expect_end()
            conn.event("ESTABLISHED")
            conn.event("DISCONNECTED")
            conn.flushed()


@case
# Covers: MPA-89
def disconnect(bench):
    """the application disconnects: all FPDUs, then FIN"""
    peer, conn = bench.open()
    peer.send(wire.RTR["C"])
    conn.post("send", 8, 5)
    conn.disconnect()
    for msn in range(1, 6):
        assert peer.rx.fpdu()[:18] == wire.send(msn)
    peer.expect_fin()
    peer.fin()
    conn.event("DISCONNECTED")
    for number in range(5):
        conn.wc(f"s{number}")


if __name__ == "__main__":
    sys.exit(main())
