#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""capture.py FILE: every octet of the iWARP streams in a packet capture.

Puts the TCP streams of FILE (Ethernet, IPv4, complete from their first segment
on) together, takes them apart again by the RFCs, and fails at the first octet
that is not as it must be: framing, PAD, CRC, DDP and RDMAP headers, message
sequence numbers, the answers to requests, Immediate Data behind its Write.
Prints how many messages of each kind were seen and the octets of the Immediate
Data of the first stream.
"""

import collections
import struct
import sys

from wire import (ATOMIC_REQ, ATOMIC_RESP, IMM, IMM_SE, READ_REQ, READ_RESP,
                  REP_KEY, REQ_KEY, SEND, SEND_SE, TERMINATE, WRITE, C,
                  Deframer, M, Startup)

NAMES = ("write", "read_request", "read_response", "send", "send_inv",
         "send_se", "send_se_inv", "terminate", "imm", "imm_se",
         "atomic_request", "atomic_response")
QN = {SEND: 0, 4: 0, SEND_SE: 0, 6: 0, IMM: 0, IMM_SE: 0, READ_REQ: 1,
      ATOMIC_REQ: 1, TERMINATE: 2, ATOMIC_RESP: 3}
SIZE = {READ_REQ: 28, IMM: 8, IMM_SE: 8, ATOMIC_REQ: 52, ATOMIC_RESP: 12}
ONES = 0xFFFFFFFFFFFFFFFF
FIN, SYN = 1, 2


# ---- TCP -------------------------------------------------------------------

def packets(path):
    """(source, destination, seq, flags, payload) of each TCP segment."""
    with open(path, "rb") as file:
        octets = file.read()
    order = "<" if octets[:4] == b"\xd4\xc3\xb2\xa1" else ">"
    assert struct.unpack(order + "I", octets[20:24])[0] == 1, "not Ethernet"
    at = 24
    while at < len(octets):
        size, wire = struct.unpack(order + "II", octets[at + 8:at + 16])
        assert size == wire, "a packet was cut short by the capture"
        frame = octets[at + 16:at + 16 + size]
        at += 16 + size
        if frame[12:14] != b"\x08\x00" or frame[23] != 6:
            continue
        ip = frame[14:14 + struct.unpack(">H", frame[16:18])[0]]
        tcp = ip[(ip[0] & 15) * 4:]
        source, destination, seq = struct.unpack(">HHI", tcp[:8])
        yield ((ip[12:16], source), (ip[16:20], destination), seq, tcp[13],
               tcp[(tcp[12] >> 4) * 4:])


class Half:
    """One direction of a connection: octets in the order of the stream."""

    def __init__(self, isn):
        self.next = (isn + 1) & 0xFFFFFFFF
        self.octets = bytearray()
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
                self.octets += new
                self.next = (self.next + len(new)) & 0xFFFFFFFF
                progress = True


def connections(path):
    """The pairs of halves, active side first, in the order of their SYNs."""
    halves = {}
    pairs = []
    for source, destination, seq, flags, payload in packets(path):
        key = source, destination
        if flags & SYN and key not in halves:
            halves[key] = Half(seq)
            if key[::-1] in halves:
                pairs.append((halves[key[::-1]], halves[key]))
        elif payload and key in halves:
            halves[key].add(seq, payload)
    return pairs


# ---- a direction of a stream -----------------------------------------------

class Reader:
    def __init__(self, octets):
        self.octets = bytes(octets)
        self.at = 0

    def __call__(self, n):
        assert self.at + n <= len(self.octets), "the stream ends in an FPDU"
        self.at += n
        return self.octets[self.at - n:self.at]

    def more(self):
        return self.at < len(self.octets)


class Direction:
    """Segments of one direction, checked one by one as they come."""

    def __init__(self, counts):
        self.counts = counts
        self.msn = [1, 1, 1, 1]
        self.partial = {}
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
                f"opcode {op}: {len(body)} octets, L={last}"
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
            # Nothing of the send queue comes between it and its Write.
            assert self.previous == (WRITE, True), \
                f"Immediate Data after {self.previous}"
            assert body[4:] == bytes(4), f"octets 4..7: {body[4:].hex()}"
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


def take_apart(half, key, counts):
    """The direction's messages; False if it is no MPA stream at all."""
    read = Reader(half.octets)
    if half.octets[:16] != key:
        return None
    head = read(20)
    frame = Startup(head + read(struct.unpack(">H", head[18:20])[0]))
    assert not frame.flags & M, "Markers are wanted"
    direction = Direction(counts)
    deframer = Deframer(read, crc=bool(frame.flags & C))
    while read.more():
        direction.segment(deframer.fpdu())
        counts["fpdus"] += 1
    return direction


def answered(asking, answering):
    """Each answer is to the oldest request, and none is missing."""
    ended = asking.counts["terminate"]
    for got, want in zip(answering.answers, asking.requests):
        assert got == want, f"answer {got} to request {want}"
    missing = len(asking.requests) - len(answering.answers)
    assert missing >= 0 and (ended or not missing), f"{missing} not answered"


def main():
    total = collections.Counter()
    imms = None
    for number, (active, passive) in enumerate(connections(sys.argv[1])):
        counts = collections.Counter()
        try:
            one = take_apart(active, REQ_KEY, counts)
            if one is None:
                continue
            two = take_apart(passive, REP_KEY, counts)
            assert two, "no MPA Reply"
            answered(one, two)
            answered(two, one)
        except AssertionError as fault:
            print(f"connection {number}: {fault}")
            return 1
        if imms is None:
            imms = one.imms
        counts["streams"] = 1
        total += counts
    for name, count in sorted(total.items()):
        print(name, count)
    print("first_imms", *imms or ["none"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
