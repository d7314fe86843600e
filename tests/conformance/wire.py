# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What travels in the stream: MPA startup frames, FPDUs, DDP and RDMAP headers.

Written from the RFCs alone and independent of the driver, so that the two
check each other: RFC 5044, 6581 (MPA), 5041 (DDP), 5040, 7306 (RDMAP).
"""

import struct

REQ_KEY = b"MPA ID Req Frame"
REP_KEY = b"MPA ID Rep Frame"
M, C, R, S = 0x80, 0x40, 0x20, 0x10
A, RTR_SEND, RTR_WRITE, RTR_READ = 0x8000, 0x4000, 0x8000, 0x4000
NONE = 0x3FFF
MARKER_PERIOD = 512

WRITE, READ_REQ, READ_RESP, SEND, SEND_INV, SEND_SE, SEND_SE_INV = range(7)
TERMINATE, IMM, IMM_SE, ATOMIC_REQ, ATOMIC_RESP = range(7, 12)


def _crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for octet in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ octet) & 0xFF]
    return crc ^ 0xFFFFFFFF


# ---- startup frames --------------------------------------------------------

def startup(key, flags, rev, pdata=b"", length=None):
    size = len(pdata) if length is None else length
    return key + struct.pack(">BBH", flags, rev, size) + pdata


def enhanced(first, second):
    """Returns enhanced data: the four bytes before the Private Data of a frame with
    S=1."""
    return struct.pack(">HH", first, second)


class Startup:
    """A startup frame that was received."""

    def __init__(self, octets):
        self.key = octets[:16]
        self.flags, self.rev, self.size = struct.unpack(">BBH", octets[16:20])
        self.data = octets[20:]
        self.first = self.second = None
        if self.flags & S and self.rev > 1:
            self.first, self.second = struct.unpack(">HH", self.data[:4])
            self.data = self.data[4:]
            self.ird, self.ord = self.first & NONE, self.second & NONE
            self.a = bool(self.first & 0x8000)
            self.rtr = ("B" if self.first & 0x4000 else "") + \
                       ("C" if self.second & 0x8000 else "") + \
                       ("D" if self.second & 0x4000 else "")


def rtr_bits(types):
    """Returns the bits of both words of enhanced data for some of the letters BCD."""
    return (0x4000 if "B" in types else 0,
            (0x8000 if "C" in types else 0) | (0x4000 if "D" in types else 0))


# ---- FPDUs -----------------------------------------------------------------

def pad_of(size):
    return -(size + 2) & 3


class Framer:
    """One direction of a stream in Full Operation, on the sending side."""

    def __init__(self, markers=False):
        self.markers = markers
        self.pos = 0

    def fpdu(self, ulpdu, pad=b"\0\0\0", crc_xor=0, length=None):
        """Returns the next FPDU; the optional arguments make it invalid."""
        size = len(ulpdu) if length is None else length
        body = struct.pack(">H", size) + ulpdu + pad[:pad_of(len(ulpdu))]
        out = bytearray()
        start = None
        for at in range(0, len(body), 4):
            if self.markers and self.pos % MARKER_PERIOD == 0:
                out += struct.pack(">HH", 0, 0 if start is None else
                                   self.pos - start)
                self.pos += 4
            if start is None:
                start = self.pos
            out += body[at:at + 4]
            self.pos += 4
        if self.markers and self.pos % MARKER_PERIOD == 0:
            out += struct.pack(">HH", 0, self.pos - start)
            self.pos += 4
        self.pos += 4
        return bytes(out) + struct.pack("<I", crc32c(out) ^ crc_xor)


class Deframer:
    """The receiving side of such a direction. READ(n) returns n bytes of the stream."""

    def __init__(self, read, markers=False, crc=True):
        self.read = read
        self.markers = markers
        self.crc = crc
        self.pos = 0
        self.seen_markers = 0
        self.any_pad = False
        self.seen_pads = 0

    def _word(self, raw, start):
        if self.markers and self.pos % MARKER_PERIOD == 0:
            marker = self.read(4)
            raw += marker
            want = 0 if start is None else self.pos - start
            assert marker == struct.pack(">HH", 0, want), \
                f"Marker at {self.pos}: {marker.hex()}, wanted {want:#x}"
            self.seen_markers += 1
            self.pos += 4
        word = self.read(4)
        self.pos += 4
        return word

    def fpdu(self):
        """Returns the next ULPDU, after checks of framing, Markers, PAD and CRC."""
        raw = bytearray()
        word = self._word(raw, None)
        start = self.pos - 4
        raw += word
        size = struct.unpack(">H", word[:2])[0]
        body = word[2:]
        total = 2 + size + pad_of(size)
        if self.markers:
            while len(body) + 2 < total:
                word = self._word(raw, start)
                raw += word
                body += word
            crc = self._word(raw, start)
        else:
            rest = self.read(total - 4)
            raw += rest
            body += rest
            crc = self.read(4)
            self.pos += total
        dirty = any(body[size:])
        assert self.any_pad or not dirty, f"PAD {body[size:].hex()}"
        self.seen_pads += dirty
        if self.crc:
            assert crc == struct.pack("<I", crc32c(raw)), "CRC is wrong"
        return bytes(body[:size])


def patched(octets, at, new):
    """Returns a segment or an FPDU with some bytes replaced; the CRC is not
    corrected."""
    return octets[:at] + new + octets[at + len(new):]


# ---- segments --------------------------------------------------------------

def tagged(op, stag, to, data=b"", last=True, dv=1, rv=1):
    return struct.pack(">BBIQ", 0x80 | (0x40 if last else 0) | dv,
                       rv << 6 | op, stag & 0xFFFFFFFF,
                       to & 0xFFFFFFFFFFFFFFFF) + data


def untagged(op, qn, msn, data=b"", mo=0, last=True, inv=0, dv=1, rv=1):
    return struct.pack(">BBIIII", (0x40 if last else 0) | dv, rv << 6 | op,
                       inv, qn, msn & 0xFFFFFFFF, mo) + data


def write(stag, to, data=b"", **how):
    return tagged(WRITE, stag, to, data, **how)


def send(msn, data=b"", op=SEND, qn=0, **how):
    return untagged(op, qn, msn, data, **how)


def imm(msn, value=0xC0FFEE01, kind=1, op=IMM, **how):
    """Returns Immediate Data; with this KIND, the first half of a Send with
    Immediate."""
    return send(msn, struct.pack(">II", value, kind), op, **how)


def read_hdr(sink, sink_to, size, src, src_to):
    return struct.pack(">IQIIQ", sink, sink_to, size, src,
                       src_to & 0xFFFFFFFFFFFFFFFF)


def read_req(msn, size, src, src_to, sink=0xBEEF, sink_to=0x1000, qn=1):
    return untagged(READ_REQ, qn, msn,
                    read_hdr(sink, sink_to, size, src, src_to))


def atomic_req(msn, stag, to, ident=0x01020304, aop=0, add=5, mask=0,
               compare=0, compare_mask=0xFFFFFFFFFFFFFFFF):
    return untagged(ATOMIC_REQ, 1, msn, struct.pack(
        ">IIIQQQQQ", aop, ident, stag, to & 0xFFFFFFFFFFFFFFFF, add, mask,
        compare, compare_mask))


def atomic_resp(msn, ident, value):
    return untagged(ATOMIC_RESP, 3, msn, struct.pack(">IQ", ident, value))


def terminate(code, parts=b"", bits=0, msn=1):
    return untagged(TERMINATE, 2, msn,
                    struct.pack(">HBB", code, bits, 0) + parts)


def terminate_for(code, offender=None):
    """Returns the Terminate that must answer a segment (RFC 5040 figure 10)."""
    if offender is None:
        return terminate(code)
    is_tagged = bool(offender[0] & 0x80)
    quote = offender[:14 if is_tagged else 18]
    bits = 0xC0
    if code >> 8 == 1 and not is_tagged and offender[1] & 0xF == READ_REQ:
        quote = offender[:46]
        bits |= 0x20
    return terminate(code, struct.pack(">H", len(offender)) + quote, bits)


# An RTR that states all capabilities, and the answer to one
HELLO = write(0x78697721, 3)

RTR = {
    "B": send(1),
    "C": write(0, 0),
    "D": untagged(READ_REQ, 1, 1, read_hdr(0, 0, 0, 0, 0)),
}
