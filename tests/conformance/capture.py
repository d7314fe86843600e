#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""capture.py FILE [ADDRESS]: every byte of the iWARP streams in a capture.

Reassembles the TCP streams of FILE (Ethernet, complete from their first segment
on), parses them by the RFCs, and fails at the first byte that violates one:
framing, PAD, CRC, Markers, DDP and RDMAP headers, message
sequence numbers, the answers to requests, Immediate Data behind its Write.  The
PAD that ADDRESS sends is only counted.

Prints a line for each connection with what its startup frames say and the kind
of the first message behind them, how many messages of each kind and segments of
each opcode were seen, and the bytes of the Immediate Data of the first stream
that has any.
"""

import bisect
import collections
import socket
import struct
import sys

from wire import (ATOMIC_REQ, ATOMIC_RESP, IMM, IMM_SE, READ_REQ, READ_RESP,
                  REP_KEY, REQ_KEY, SEND, SEND_SE, TERMINATE, WRITE, C,
                  Deframer, M, R, S, Startup)

NAMES = ("write", "read_request", "read_response", "send", "send_inv",
         "send_se", "send_se_inv", "terminate", "imm", "imm_se",
         "atomic_request", "atomic_response")
QN = {SEND: 0, 4: 0, SEND_SE: 0, 6: 0, IMM: 0, IMM_SE: 0, READ_REQ: 1,
      ATOMIC_REQ: 1, TERMINATE: 2, ATOMIC_RESP: 3}
SIZE = {READ_REQ: 28, IMM: 8, IMM_SE: 8, ATOMIC_REQ: 52, ATOMIC_RESP: 12}
ONES = 0xFFFFFFFFFFFFFFFF
SYN, ACK = 2, 16


# ---- TCP -------------------------------------------------------------------

def segment(frame):
    """Returns the TCP segment of a frame and both addresses, or None."""
    if frame[12:14] == b"\x08\x00" and frame[23] == 6:
        ip = frame[14:14 + struct.unpack(">H", frame[16:18])[0]]
        return ip[(ip[0] & 15) * 4:], ip[12:20]
    if frame[12:14] == b"\x86\xdd" and frame[20] == 6:
        return (frame[54:54 + struct.unpack(">H", frame[18:20])[0]],
                frame[22:54])
    return None, None


def frames(path):
    """Yields each Ethernet frame of a capture."""
    with open(path, "rb") as file:
        octets = file.read()
    order = "<" if octets[:4] == b"\xd4\xc3\xb2\xa1" else ">"
    assert struct.unpack(order + "I", octets[20:24])[0] == 1, "not Ethernet"
    at = 24
    while at < len(octets):
        size, wire = struct.unpack(order + "II", octets[at + 8:at + 16])
        assert size == wire, "a packet was cut short by the capture"
        yield octets[at + 16:at + 16 + size]
        at += 16 + size


def packets(path):
    """Yields (source, destination, seq, flags, payload) of each TCP segment."""
    for frame in frames(path):
        tcp, ends = segment(frame)
        if not tcp:
            continue
        source, destination, seq = struct.unpack(">HHI", tcp[:8])
        yield ((ends[:len(ends) // 2], source),
               (ends[len(ends) // 2:], destination), seq, tcp[13],
               tcp[(tcp[12] >> 4) * 4:])


class Half:
    """One direction of a connection: its bytes in the order of the stream."""

    def __init__(self, isn, source):
        self.isn = isn
        self.source = source
        self.next = (isn + 1) & 0xFFFFFFFF
        self.octets = bytearray()
        self.cuts = []
        self.early = {}

    def add(self, seq, payload):
        self.early[seq] = max(payload, self.early.get(seq, b""), key=len)
        progress = True
        while progress:
            progress = False
            for seq, payload in sorted(self.early.items()):
                ahead = (seq - self.next) & 0xFFFFFFFF
                if ahead and ahead < 1 << 31:
                    continue
                del self.early[seq]
                new = payload[(self.next - seq) & 0xFFFFFFFF:]
                self.cuts.append(len(self.octets))
                self.octets += new
                self.next = (self.next + len(new)) & 0xFFFFFFFF
                progress = True


def connections(path):
    """Returns both directions of each connection, that of the active side first, in the
    order of the SYNs."""
    halves = {}
    pairs = []
    for source, destination, seq, flags, payload in packets(path):
        key = source, destination
        if flags & SYN:
            # Another sequence number: a new connection between the same ports.
            if key not in halves or halves[key].isn != seq:
                halves[key] = Half(seq, source[0])
                if flags & ACK:
                    pairs.append((halves[key[::-1]], halves[key]))
        elif payload and key in halves:
            halves[key].add(seq, payload)
    return pairs


# ---- a direction of a stream -----------------------------------------------

class Reader:
    def __init__(self, half):
        self.octets = bytes(half.octets)
        self.cuts = half.cuts
        self.at = 0

    def __call__(self, n):
        assert self.at + n <= len(self.octets), "the stream ends in an FPDU"
        self.at += n
        return self.octets[self.at - n:self.at]

    def cut_since(self, start):
        """True if a TCP segment begins after START and before the current position."""
        return bisect.bisect_left(self.cuts, self.at) > \
            bisect.bisect_right(self.cuts, start)

    def more(self):
        return self.at < len(self.octets)


class Direction:
    """Checks the DDP segments of one direction, in the order of the stream."""

    def __init__(self, counts):
        self.counts = counts
        self.msn = [1, 1, 1, 1]
        self.partial = {}
        self.first = "nothing"
        self.previous = None
        self.empty = False
        self.requests = []
        self.answers = []
        self.imms = []

    def segment(self, ulpdu):
        control, rdmap = ulpdu[0], ulpdu[1]
        op, last = rdmap & 0xF, bool(control & 0x40)
        assert control & 0x3F == 1, f"DDP control {control:#x}"
        assert rdmap >> 4 == 4, f"RDMAP control {rdmap:#x}"
        assert op < len(NAMES), f"opcode {op}"
        if control & 0x80:
            size = self.tagged(op, ulpdu)
        else:
            size = self.untagged(op, last, ulpdu)
        self.counts[f"opcode_0x{op:02x}"] += 1
        if self.previous is None:
            self.first = ("" if size else "empty_") + NAMES[op]
        if last:
            self.counts[NAMES[op]] += 1
            self.counts["empty_" + NAMES[op]] += not size
        self.previous = op, last
        self.empty = not size

    def tagged(self, op, ulpdu):
        assert op in (WRITE, READ_RESP), f"opcode {op} in a tagged segment"
        stag, to = struct.unpack(">IQ", ulpdu[2:14])
        size = len(ulpdu) - 14
        last = bool(ulpdu[0] & 0x40)
        want = self.partial.pop(op, None)
        assert want in (None, (stag, to)), \
            f"segment at {stag:#x}, {to:#x} instead of {want}"
        assert last or size, "an empty segment that is not the last one"
        if not last:
            self.partial[op] = stag, to + size
        elif op == READ_RESP:
            self.answers.append((op, stag, to + size))
        return size

    def untagged(self, op, last, ulpdu):
        inv, qn, msn, mo = struct.unpack(">IIII", ulpdu[2:18])
        body = ulpdu[18:]
        assert qn == QN.get(op), f"opcode {op} on queue {qn}"
        assert msn == self.msn[qn], f"queue {qn}: MSN {msn}"
        assert op in (4, 6) or not inv, f"Invalidate STag {inv:#x}"
        want = self.partial.pop(qn, 0)
        assert mo == want, f"queue {qn}: MO {mo}, not {want}"
        if op in SIZE:
            assert last and len(body) == SIZE[op], \
                f"opcode {op}: {len(body)} bytes, L={last}"
            self.body(op, body)
        if last:
            self.msn[qn] = (msn + 1) & 0xFFFFFFFF
        else:
            assert body, "an empty segment that is not the last one"
            self.partial[qn] = mo + len(body)
        return mo + len(body)

    def body(self, op, body):
        if op == READ_REQ:
            stag, to, size, _, _ = struct.unpack(">IQIIQ", body)
            self.requests.append((READ_RESP, stag, to + size))
        elif op == ATOMIC_REQ:
            self.atomic(body)
        elif op == ATOMIC_RESP:
            self.answers.append((op, *struct.unpack(">I", body[:4])))
        else:
            # Immediate Data follows its Write; only responses may be between them.
            assert self.previous == (WRITE, True), \
                f"Immediate Data after {self.previous}"
            assert body[4:] == bytes(4), f"bytes 4..7: {body[4:].hex()}"
            self.imms.append(body[:4].hex())
            self.counts["imm_of_nothing"] += self.empty

    def atomic(self, body):
        aop, ident, _, _, _, mask, compare, compare_mask = \
            struct.unpack(">IIIQQQQQ", body)
        assert aop in (0, 2), f"AOpCode and reserved bits {aop:#x}"
        assert compare_mask == ONES, f"Compare Mask {compare_mask:#x}"
        if aop == 0:
            assert not mask and not compare, "a FetchAdd with masks"
        else:
            assert mask == ONES, f"Swap Mask {mask:#x}"
        self.counts["fetch_add" if aop == 0 else "cmp_swap"] += 1
        self.requests.append((ATOMIC_RESP, ident))


def words(frame):
    """A startup frame as text: revision, flags, private data, IRD, ORD, RTR."""
    flags = "".join(name if frame.flags & bit else "-"
                    for name, bit in (("M", M), ("C", C), ("R", R), ("S", S)))
    text = f"rev{frame.rev} {flags} pd{len(frame.data)}"
    if frame.first is not None:
        text += f" ird{frame.ird} ord{frame.ord} {'A' if frame.a else '-'}"
        text += frame.rtr
    return text


class Side:
    """One direction of a connection, from its startup frame on."""

    def __init__(self, half, key):
        self.source = half.source
        self.read = Reader(half)
        self.mpa = half.octets[:16] == key
        self.have = len(half.octets)
        if self.mpa:
            head = self.read(20)
            size = struct.unpack(">H", head[18:20])[0]
            self.frame = Startup(head + self.read(size))

    def run(self, peer, counts, foreign):
        """Parses the messages, with Markers if the startup frame of the other side asks for
        them."""
        crc = (self.frame.flags | peer.frame.flags) & C
        deframer = Deframer(self.read, bool(peer.frame.flags & M), bool(crc))
        deframer.any_pad = self.source == foreign
        direction = Direction(counts)
        while self.read.more():
            start = self.read.at
            direction.segment(deframer.fpdu())
            counts["fpdus"] += 1
            counts["straddling"] += self.read.cut_since(start)
        counts["markers"] += deframer.seen_markers
        counts["foreign_pads"] += deframer.seen_pads
        return direction


def answered(asking, answering):
    """Checks that each answer is to the oldest request, and that none is missing."""
    ended = asking.counts["terminate"]
    for got, want in zip(answering.answers, asking.requests):
        assert got == want, f"answer {got} to request {want}"
    missing = len(asking.requests) - len(answering.answers)
    assert missing >= 0 and (ended or not missing), f"{missing} not answered"


def connection(active, passive, foreign):
    """Prints counts and Immediate Data of a connection, if it uses MPA."""
    counts = collections.Counter()
    one, two = Side(active, REQ_KEY), Side(passive, REP_KEY)
    if not one.mpa:
        return counts, []
    counts["startup_frames"] += 1 + two.mpa
    if two.have < len(REP_KEY):
        print("startup", words(one.frame), "/ closed after", two.have)
        return counts, []
    assert two.mpa, "no MPA Reply"
    there = one.run(two, counts, foreign)
    back = two.run(one, counts, foreign)
    print("startup", words(one.frame), "/", words(two.frame), "/", there.first)
    answered(there, back)
    answered(back, there)
    counts["streams"] = 1
    return counts, there.imms


def main():
    total = collections.Counter()
    first_imms = []
    foreign = socket.inet_aton(sys.argv[2]) if len(sys.argv) > 2 else None
    for number, (active, passive) in enumerate(connections(sys.argv[1])):
        try:
            counts, imms = connection(active, passive, foreign)
        except AssertionError as fault:
            print(f"connection {number}: {fault}")
            return 1
        first_imms = first_imms or imms
        total += counts
    for name, count in sorted(total.items()):
        print(name, count)
    print("first_imms", *first_imms or ["none"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
