#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""MPA, with the hand-made peer as Responder: the device's Requests, its RTR, and
how it handles valid, invalid, late and missing Replies.
"""

import errno
import socket
import struct
import sys

import wire
from live import FLUSH, Refusal, case, cases, main, segments_of_send

FATAL = 1
QP_OP_ERR = 2
DATA = bytes(range(0x20, 0x28))
E = wire.C | wire.S
BOTH = wire.enhanced(0x8004, 0xC004)


def reply(flags=E, rev=2, pdata=BOTH, **how):
    return wire.startup(wire.REP_KEY, flags, rev, pdata, **how)


def agreed(bench, types="C", rest=b"", flags=E, peer_ird=4, **dial):
    """Lets the device connect, and replies with these RTR types and this IRD. Returns peer,
    connection and Request."""
    peer, conn, req = bench.called(**dial)
    b, cd = wire.rtr_bits(types)
    first = 0x8000 | peer_ird | b
    peer.raw(reply(flags, pdata=wire.enhanced(first, cd | 4) + rest))
    peer.full_operation(flags, req.flags)
    return peer, conn, req


@case
# Covers: MPA-09 MPA-33 MPA-35 MPA-48 MPA-77 MPA-81 MPA-88
def request_octets(bench):
    """the Request, byte by byte, and both ways Private Data"""
    peer, conn, req = bench.called(ird=5, ord=6, data=b"hi there")
    assert (req.key, req.flags, req.rev) == (wire.REQ_KEY, E, 2)
    assert (req.first, req.second) == (0x8005, 0xC006)
    assert req.data == b"hi there"
    peer.raw(reply(pdata=wire.enhanced(0x8006, 0xC005) + b"welcome"))
    peer.expect(wire.HELLO)
    conn.event("ESTABLISHED", status=0, data=b"welcome".hex(), ird=6, ord=5)
    conn.post("send", 8)
    assert peer.rx.fpdu()[:18] == wire.send(1)
    peer.send(wire.send(1, DATA))
    conn.wc("s0")
    conn.wc("r0", data=DATA.hex())


@case
# Covers: MPA-35 MPA-41 MPA-88
def revision_1(bench):
    """policy of revision 1: no enhanced data, no RTR"""
    bench.policy(revision=1)
    peer, conn, req = bench.called(data=b"x")
    assert (req.flags, req.rev, req.data) == (wire.C, 1, b"x")
    peer.raw(reply(wire.C, 1, b""))
    conn.event("ESTABLISHED", status=0)
    peer.expect_silence()
    conn.post("send", 8)
    assert peer.rx.fpdu()[:18] == wire.send(1)


@case
# Covers: MPA-35 MPA-75
def client_server(bench):
    """policy without the peer-to-peer model: A, B, C, D are 0, no RTR"""
    bench.policy(rtr_types="none")
    peer, conn, req = bench.called()
    assert (req.flags, req.first, req.second) == (E, 4, 4)
    peer.raw(reply(pdata=wire.enhanced(4, 4)))
    conn.event("ESTABLISHED", status=0)
    peer.expect_silence()


@case
# Covers: MPA-49 MPA-53
def slow_reply(bench):
    """a Reply byte by byte; nothing is sent before its last one"""
    peer, conn, _ = bench.called()
    peer.expect_silence()
    octets = reply()
    peer.octets(octets[:-1])
    peer.expect_silence()
    conn.nothing("event")
    peer.octets(octets[-1:])
    peer.expect(wire.HELLO)
    conn.event("ESTABLISHED", status=0)


def not_connected(bench, conn, status, event="CONNECT_ERROR"):
    conn.event(event, status=-status)
    conn.free()
    bench.target.conns.remove(conn)
    conn.nothing("event")


# Covers: MPA-39 MPA-46 MPA-47 MPA-65
@cases([
    ("SF_01_back", "a Request in return",
     wire.startup(wire.REQ_KEY, E, 2, BOTH)),
    ("reply_key", "a wrong key",
     wire.startup(b"MPA ID Rep Framf", E, 2, BOTH)),
    ("reply_garbage", "something else", b"220 mail ESMTP ready, go ahead\r\n"),
    ("SF_04", "a Reply of revision 1", reply(wire.C, 1, b"")),
    ("SF_17", "a Reply that is not enhanced", reply(wire.C, 2, b"")),
    ("reply_rev3", "a Reply of revision 3", reply(E, 3)),
    ("reply_513", "PD_Length 513", reply(E, 2, BOTH + bytes(509))),
    ("reply_260", "256 bytes of Private Data", reply(E, 2, BOTH + bytes(256))),
    ("reply_0", "enhanced with nothing", reply(E, 2, b"")),
    ("reply_3", "enhanced with three bytes", reply(E, 2, b"\x80\x04\xC0")),
])
def bad_reply(bench, octets):
    malformed = bench.counter("mpa_malformed")
    peer, conn, _ = bench.called()
    peer.raw(octets)
    peer.expect_end()
    bench.counter_is("mpa_malformed", malformed + 1)
    not_connected(bench, conn, errno.EPROTO)


@case
# Covers: MPA-46 MPA-48
def private_data(bench):
    """255 bytes of Private Data arrive with the Reply"""
    data = bytes(range(255))
    _, conn, _ = agreed(bench, rest=data)
    conn.event("ESTABLISHED", status=0, data=data.hex())


# Covers: MPA-59
@cases([
    ("SF_05", "a reject, as in revision 1", wire.C | wire.R, 1, b"no", b"no"),
    ("SF_15", "a reject with the ORD that is required", E | wire.R, 2,
     wire.enhanced(0x8010, 0xC020) + b"more", b"more"),
    ("reject_plain", "a reject that is not enhanced", wire.C | wire.R, 2,
     b"sorry", b"sorry"),
])
def rejected(bench, flags, rev, pdata, data):
    peer, conn, _ = bench.called()
    peer.raw(reply(flags, rev, pdata))
    peer.expect_end()
    fields = conn.event("REJECTED", data=data.hex())
    assert fields["status"] == str(-errno.ECONNREFUSED), fields


# Covers: MPA-77 MPA-81 MPA-82
@cases([
    ("rtr_C", "Write offered: Write sent", "write read", "C", "C"),
    ("rtr_D", "Read offered: Read sent", "write read", "D", "D"),
    ("rtr_CD", "both offered: one sent", "write read", "CD", "C"),
    ("rtr_BCD", "all offered: one sent", "write read", "BCD", "C"),
    ("rtr_B", "Send allowed and offered: Send sent", "send", "B", "B"),
    ("rtr_B_more", "more offered than was asked for", "send", "BC", "B"),
])
def rtr(bench, policy, offered, sent):
    bench.policy(rtr_types=policy)
    for flags in E, E | wire.M:
        peer, conn, _ = agreed(bench, offered, flags=flags, recvs=1)
        ulpdu = peer.rx.fpdu()
        assert ulpdu[:2] == wire.RTR[sent][:2], ulpdu.hex()
        assert len(ulpdu) == len(wire.RTR[sent])
        conn.event("ESTABLISHED", status=0)
        conn.post("send", 8)
        got = peer.rx.fpdu()
        assert got[:18] == wire.send(2 if sent == "B" else 1), got.hex()
        conn.wc("s0")
        if sent == "D":
            # The response to the RTR Read completes nothing; the next Read has MSN 2.
            sink, sink_to = struct.unpack(">IQ", ulpdu[18:30])
            peer.send(wire.tagged(wire.READ_RESP, sink, sink_to))
            conn.post("read", 16, 1, 0xCAFE, 0x5000)
            assert peer.rx.fpdu()[10:14] == struct.pack(">I", 2)
        conn.nothing("wc")
        peer.send(wire.send(1, DATA))
        conn.wc("r0", data=DATA.hex())


@case
# Covers: MPA-83 MPA-69
def rtr_read_slot(bench):
    """until an RTR Read is answered it takes a place of the ORD"""
    peer, conn, _ = bench.called(ord=1)
    peer.raw(reply(pdata=wire.enhanced(0x8001, 0x4004)))
    ulpdu = peer.rx.fpdu()
    conn.event("ESTABLISHED", status=0)
    conn.post("read", 16, 1, 0xCAFE, 0x5000)
    peer.expect_silence()
    sink, sink_to = struct.unpack(">IQ", ulpdu[18:30])
    peer.send(wire.tagged(wire.READ_RESP, sink, sink_to))
    got = peer.rx.fpdu()
    assert got[:18] == wire.untagged(wire.READ_REQ, 1, 2), got.hex()
    sink, sink_to = struct.unpack(">IQ", got[18:30])
    peer.send(wire.tagged(wire.READ_RESP, sink, sink_to, bytes(16)))
    conn.wc("s0")


# Covers: MPA-78 MPA-79
@cases([
    ("t7_B", "only Send offered: 0x2007", "write read", 1, 0xC004, 4),
    ("SF_17a", "no RTR type offered: 0x2007", "write read", 1, 0x8010, 0x10),
    ("t7_no_A", "A answered by no A: 0x2007", "write read", 1, 4, 0xC004),
    ("t7_no_slot", "only Read offered, IRD 0: 0x2007", "write read", 1,
     0x8000, 0x4004),
    ("t7_unasked", "no A answered by A, no usable type: 0x2007",
     "write", 0, 0x8004, 0x4004),
])
def no_rtr(bench, types, p2p, first, second):
    bench.policy(rtr_types=types)
    if not p2p:
        bench.policy(rtr_types="none")
    for flags in E, E | wire.M:
        peer, conn, req = bench.called()
        peer.raw(reply(flags, pdata=wire.enhanced(first, second)))
        peer.full_operation(flags, req.flags)
        peer.expect_terminate(0x2007)
        not_connected(bench, conn, errno.EOPNOTSUPP)


@case
# Covers: MPA-80
def no_memory(bench):
    """no memory for the negotiated values: 0x2005, and the connect fails"""
    refusal = Refusal("xiw_stream_start")
    for flags in E, E | wire.M:
        peer, conn, req = bench.called()
        with refusal:
            peer.raw(reply(flags, pdata=wire.enhanced(0x8004, 0x8004)))
            peer.full_operation(flags, req.flags)
            peer.expect_terminate(0x2005)
        not_connected(bench, conn, errno.ENOMEM)


@case
# Covers: MPA-91
def long_fpdus(bench):
    """the RTR asks if the peer accepts FPDUs of several TCP segments"""
    def longest(answer, rtr=wire.HELLO, types="C"):
        peer, conn, _ = agreed(bench, types)
        peer.expect(rtr)
        peer.send(answer)
        conn.event("ESTABLISHED", status=0)
        # The device reports ESTABLISHED when it has sent the RTR, later messages of
        # the peer after that event.
        peer.send(wire.send(1, DATA))
        conn.wc("r0", data=DATA.hex())
        length = max(segments_of_send(peer, conn, 1))
        conn.wc("s0")
        conn.nothing("wc")
        return length

    several = longest(wire.HELLO)
    one = longest(wire.RTR["C"])
    assert several == 16384 // (one + 6) * (one + 6) - 6, (one, several)
    # Of the probe's answer, reserved bits are ignored; STag and bit 0 are required.
    assert longest(wire.write(0x78697721, 1 << 63 | 5)) == several
    assert longest(wire.write(0x78697721, 2)) == one
    assert longest(wire.write(0x78697722, 1)) == one
    # With fpdu_segments set the RTR is no capability probe.
    bench.policy(fpdu_segments=1)
    assert longest(wire.HELLO, wire.RTR["C"]) == one


def asks(bench, **dial):
    """Lets the device connect to a peer that has not answered the probe. Returns peer and
    connection."""
    peer, conn, _ = agreed(bench, **dial)
    peer.expect(wire.HELLO)
    conn.event("ESTABLISHED", status=0)
    return peer, conn


def imm_follows(peer, conn, nr=0):
    assert peer.rx.fpdu() == wire.imm(1)
    assert peer.rx.fpdu()[:18] == wire.send(2)
    conn.wc(f"s{nr}")


NOTHING = wire.tagged(wire.READ_RESP, 0, 0)


@case
# Covers: IMM-15
def imm_agreed(bench):
    """Send with Immediate, both ways, if the peer has announced it"""
    peer, conn = asks(bench)
    peer.send(wire.HELLO, wire.send(1, DATA))
    conn.wc("r0", data=DATA.hex())
    conn.post("send_imm", 8)
    imm_follows(peer, conn)
    peer.send(wire.imm(2, 7), wire.send(3, DATA))
    conn.wc("r1", len=8, imm="00000007", data=DATA.hex())


@case
# Covers: IMM-15
def imm_early(bench):
    """before the answer, Send with Immediate waits, and asks by a Read"""
    peer, conn = asks(bench)
    conn.post("send", 8)
    assert peer.rx.fpdu()[:18] == wire.send(1)
    conn.wc("s0")
    conn.post("send_imm", 8)
    conn.post("send", 8, 3)
    peer.expect(wire.RTR["D"])
    peer.expect_silence()
    conn.nothing("wc")
    peer.send(wire.HELLO, NOTHING)
    assert peer.rx.fpdu() == wire.imm(2)
    for msn in range(3, 7):
        assert peer.rx.fpdu()[:18] == wire.send(msn)
    for number in range(1, 5):
        conn.wc(f"s{number}")
    peer.expect_silence()


@case
# Covers: IMM-15
def imm_behind_read(bench):
    """a Read that waits for its response asks as well"""
    peer, conn = asks(bench)
    conn.post("read", 16, 1, 0xCAFE, 0x5000)
    conn.post("send_imm", 8)
    assert peer.rx.fpdu()[10:14] == struct.pack(">I", 1)
    peer.expect_silence()
    peer.send(wire.HELLO)
    assert peer.rx.fpdu() == wire.imm(1)
    assert peer.rx.fpdu()[:18] == wire.send(2)


@case
# Covers: IMM-15
def imm_without_reads(bench):
    """with an IRD of 0 no Read asks again; a full queue waits for the answer"""
    peer, conn = asks(bench, ord=0, peer_ird=0)
    conn.post("send_imm", 8)
    conn.post("send", 8, 30)
    peer.expect_silence()
    conn.nothing("wc")
    peer.send(wire.HELLO)
    imm_follows(peer, conn)
    for number in range(1, 31):
        assert peer.rx.fpdu()[:18] == wire.send(number + 2)
        conn.wc(f"s{number}")


@case
# Covers: IMM-15
def imm_ord_0(bench):
    """with an ORD of 0 a Read asks, too, if the peer permits one"""
    peer, conn = asks(bench, ord=0)
    conn.post("send_imm", 8)
    peer.expect(wire.RTR["D"])
    peer.expect_silence()
    peer.send(wire.HELLO, NOTHING)
    imm_follows(peer, conn)


# Covers: IMM-15
@cases([
    ("imm_answer", "Send with Immediate fails if a response comes first",
     [NOTHING]),
    ("imm_message", "or a Send", [wire.send(1, DATA)]),
    ("imm_no_bit", "or a probe without that bit",
     [wire.write(0x78697721, 1)]),
])
def imm_refused(bench, answer):
    peer, conn = asks(bench)
    conn.post("send_imm", 8)
    conn.post("send", 8)
    peer.expect(wire.RTR["D"])
    peer.send(*answer)
    if answer[0][:2] == wire.send(1)[:2]:
        conn.wc("r0", data=DATA.hex())
    peer.expect_terminate(0)
    conn.wc("s0", QP_OP_ERR)
    conn.wc("s1", FLUSH)


@case
# Covers: IMM-15
def imm_peer_ends(bench):
    """a peer that ends its half without an answer: it fails"""
    peer, conn = asks(bench, ord=0, peer_ird=0)
    conn.post("send_imm", 8)
    peer.fin()
    conn.wc("s0", QP_OP_ERR)


@case
# Covers: IMM-15
def imm_not_asked(bench):
    """without a probe, Send with Immediate fails at once"""
    for segments, types in (0, "D"), (1, "C"):
        bench.policy(fpdu_segments=segments)
        peer, conn, _ = agreed(bench, types)
        peer.expect(wire.RTR[types])
        conn.event("ESTABLISHED", status=0)
        conn.post("send_imm", 8)
        peer.expect_terminate(0)
        conn.wc("s0", QP_OP_ERR)


@case
# Covers: MPA-79
def unasked_rtr(bench):
    """no A answered by A and a usable type: that RTR is sent"""
    bench.policy(rtr_types="none")
    peer, conn, _ = agreed(bench, "C")
    peer.expect(wire.HELLO)
    conn.event("ESTABLISHED", status=0)


@case
def given_up(bench):
    """the error state before the Reply: a reset, and the connect fails"""
    for revision in 2, 1:
        bench.policy(revision=revision)
        peer, conn, _ = bench.called()
        conn.fail()
        peer.expect_reset()
        conn.flushed()
        not_connected(bench, conn, errno.ECONNABORTED)


@case
# Covers: MPA-69 MPA-72 MPA-73
def depths(bench):
    """R_IRD bounds the Reads: 1, 0, or as before with 0x3FFF"""
    for r_ird, limit in (1, 1), (0, 0), (wire.NONE, 3):
        peer, conn, _ = bench.called(ord=3)
        peer.raw(reply(pdata=wire.enhanced(0x8000 | r_ird, 0x8000 | wire.NONE)))
        peer.expect(wire.HELLO)
        fields = conn.event("ESTABLISHED", status=0)
        assert int(fields["ird"]) in (min(r_ird, 255), min(r_ird, 128)), fields
        conn.post("read", 16, 5, 0xCAFE, 0x5000)
        if not limit:
            # With an IRD of 0 the Read can never be sent: it fails.
            peer.expect_terminate(0)
            conn.wc("s0", QP_OP_ERR)
            continue
        for msn in range(1, limit + 1):
            assert peer.rx.fpdu()[10:14] == struct.pack(">I", msn)
        peer.expect_silence()


@case
# Covers: MPA-70
def responder_ord(bench):
    """R_ORD above the own IRD: raised, or 0x2006 if beyond the device"""
    rw = bench.target.rw
    peer, conn, _ = bench.called(ird=2)
    peer.raw(reply(pdata=wire.enhanced(0x8004, 0x8000 | 64)))
    peer.expect(wire.HELLO)
    conn.event("ESTABLISHED", status=0)
    # The IRD and ORD that were negotiated permit 64 outstanding Reads.
    peer.send(*[wire.read_req(msn, 4, rw.stag, rw.base)
                for msn in range(1, 65)])
    for _ in range(64):
        peer.expect(wire.tagged(wire.READ_RESP, 0xBEEF, 0x1000, bytes(4)))
    for flags in E, E | wire.M:
        peer, conn, req = bench.called(ird=2)
        peer.raw(reply(flags, pdata=wire.enhanced(0x8004, 0x8000 | 256)))
        peer.full_operation(flags, req.flags)
        peer.expect_terminate(0x2006)
        not_connected(bench, conn, errno.ENOMEM)


@case
# Covers: MPA-10 MPA-06
def crc(bench):
    """CRCs are sent if either C bit is set"""
    for own, theirs in (1, 0), (0, wire.C), (0, 0):
        bench.policy(crc=own)
        peer, conn, req = bench.called()
        assert req.flags == (E if own else wire.S)
        peer.raw(reply(wire.S | theirs))
        peer.full_operation(theirs, req.flags)
        peer.expect(wire.HELLO)
        conn.event("ESTABLISHED", status=0)
        used = own or theirs
        peer.send(wire.send(1, DATA), crc_xor=0x10)
        if used:
            peer.expect_terminate(0x2002)
            conn.asynchronous(FATAL)
        else:
            conn.wc("r0", data=DATA.hex())


@case
# Covers: MPA-25 MPA-27 MPA-28 MPA-29 MPA-30 MPA-31 MPA-20 MPA-05
def markers(bench):
    """M=1 in the Reply: 64 KiB of Writes with Markers at their places"""
    peer, conn, _ = agreed(bench, flags=E | wire.M)
    peer.expect(wire.HELLO)
    conn.event("ESTABLISHED", status=0)
    conn.post("write", 65536, 1, 0xCAFE, 0x5000)
    total, last = 0, False
    while not last:
        ulpdu = peer.rx.fpdu()
        last = ulpdu[0] == 0xC1
        assert ulpdu[1:14] == struct.pack(">BIQ", 0x40, 0xCAFE,
                                          0x5000 + total)
        assert len(ulpdu) <= 1448 - 6, len(ulpdu)
        total += len(ulpdu) - 14
    assert total == 65536
    assert peer.rx.seen_markers >= 128
    conn.wc("s0")


@case
# Covers: MPA-57
def early_fpdu(bench):
    """an FPDU right behind the Reply is received"""
    peer, conn, _ = bench.called()
    peer.raw(reply() + peer.tx.fpdu(wire.send(1, DATA)))
    peer.expect(wire.HELLO)
    conn.event("ESTABLISHED", status=0)
    conn.wc("r0", data=DATA.hex())


@case
# Covers: MPA-52
def no_reply(bench):
    """no Reply, or a part of it: a timeout"""
    bench.policy(reply_timeout_ms=300)
    for part in b"", reply()[:19], reply()[:-1]:
        peer, conn, _ = bench.called()
        peer.raw(part)
        peer.expect_end()
        not_connected(bench, conn, errno.ETIMEDOUT, "UNREACHABLE")


@case
# Covers: MPA-60 MPA-90
def closed(bench):
    """FIN or RST instead of the Reply, or inside it: reported once"""
    for end in "fin", "reset":
        for cut in 0, 1, 19, 20, 23:
            peer, conn, _ = bench.called()
            peer.raw(reply()[:cut])
            getattr(peer, end)()
            if end == "fin":
                peer.expect_end()
            fields = conn.target.report(conn.nr, "event")
            assert fields["name"] in ("REJECTED", "CONNECT_ERROR"), fields
            conn.nothing("event")


@case
# Covers: MPA-60
def nobody(bench):
    """no listener: reported once"""
    sock = bench.listener()
    port = sock.getsockname()[1]
    sock.close()
    conn = bench.target.dial(port)
    fields = conn.event("REJECTED")
    assert fields["status"] == str(-errno.ECONNREFUSED), fields


@case
# Covers: MPA-66
def fallback(bench):
    """closed without a byte: revision 1 on a new connection, if allowed"""
    with bench.listener() as sock:
        for allowed in False, True:
            bench.policy(revision="2 1" if allowed else 2)
            conn = bench.target.dial(sock.getsockname()[1])
            first = bench.peer_of(sock.accept()[0])
            assert first.startup().rev == 2
            first.fin()
            first.expect_end()
            if not allowed:
                conn.event("REJECTED")
                sock.setblocking(False)
                try:
                    sock.accept()
                except BlockingIOError:
                    sock.settimeout(30)
                    continue
                raise AssertionError("another connection")
            second = bench.peer_of(sock.accept()[0])
            req = second.startup()
            assert (req.flags, req.rev) == (wire.C, 1), vars(req)
            second.raw(reply(wire.C, 1, b""))
            conn.event("ESTABLISHED", status=0)
        # No second try after a byte of a Reply was received.
        conn = bench.target.dial(sock.getsockname()[1])
        first = bench.peer_of(sock.accept()[0])
        first.startup()
        first.raw(b"M")
        first.fin()
        first.expect_end()
        fields = conn.target.report(conn.nr, "event")
        assert fields["name"] in ("REJECTED", "CONNECT_ERROR"), fields


@case
# Covers: MPA-90 TERM-20
def lost(bench):
    """RST after the Reply: established, then disconnected, all flushed"""
    peer, conn, _ = agreed(bench)
    peer.expect(wire.HELLO)
    conn.event("ESTABLISHED", status=0)
    peer.reset()
    conn.event("DISCONNECTED")
    conn.flushed()


@case
# Covers: MPA-39
def urgent_reply(bench):
    """an urgent byte inside the Reply: the connect fails"""
    peer, conn, _ = bench.called()
    peer.raw(reply()[:10])
    peer.sock.send(b"!", socket.MSG_OOB)
    peer.expect_end()
    not_connected(bench, conn, errno.EPROTO)


if __name__ == "__main__":
    sys.exit(main())
