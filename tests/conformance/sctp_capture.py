#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""sctp_capture.py FILE: every byte of DDP over SCTP in a capture.

FILE has Ethernet frames of whole associations that were accepted, without offloads. Checks each packet
(CRC32c, padding, size of at most the MTU), the parameters of INIT and INIT ACK, and
the chunks of each direction in the order of their SSNs: session control messages, DDP
segments, Terminate, SHUTDOWN (RFC 5043, RFC 6581 section 7). Segments are checked as
those over TCP are. Fails at the first byte that violates a rule.

Prints a line for each association with the fields of its startup messages and the kind
of the first message behind them, and the number of messages of each kind.
"""

import collections
import struct
import sys

from capture import Direction, answered, frames
from sctp_peers import CONTROL, SEGMENT, TERMINATE
from wire import crc32c

DATA, INIT, INIT_ACK, SACK, HEARTBEAT, HEARTBEAT_ACK, ABORT = range(7)
SHUTDOWN, SHUTDOWN_ACK, ERROR, COOKIE_ECHO, COOKIE_ACK = range(7, 12)
SHUTDOWN_COMPLETE = 14
KNOWN = {DATA, INIT, INIT_ACK, SACK, HEARTBEAT, HEARTBEAT_ACK, ABORT, SHUTDOWN,
         SHUTDOWN_ACK, COOKIE_ECHO, COOKIE_ACK, SHUTDOWN_COMPLETE}
# Parameters of INIT
ADAPTATION, FORWARD_TSN = 0xC006, 0xC000
# Flags of DATA: first and last fragment, and unordered; and the request for a SACK
# without delay
WHOLE_UNORDERED, IMMEDIATE = 7, 8
# Function codes of both kinds, and for each the code of the enhanced kind
INITIATES, ACCEPTS = {1: 5, 5: 5}, {2: 6, 6: 6}
MTU = 1500


def packet(frame):
    """Returns (addresses, SCTP packet) of a frame, or None."""
    if frame[12:14] == b"\x08\x00" and frame[23] == 132:
        size = struct.unpack(">H", frame[16:18])[0]
        ip = frame[14:14 + size]
        assert not struct.unpack(">H", ip[6:8])[0] & 0x3FFF, "an IP fragment"
        ends, data = ip[12:20], ip[(ip[0] & 15) * 4:]
    elif frame[12:14] == b"\x86\xdd" and frame[20] == 132:
        size = struct.unpack(">H", frame[18:20])[0] + 40
        ends, data = frame[22:54], frame[54:14 + size]
    else:
        return None
    assert size <= MTU, f"a packet of {size} bytes"
    return ends, data


def packets(path):
    """Yields (source, destination, list of chunks) of each SCTP packet."""
    for frame in frames(path):
        found = packet(frame)
        if not found:
            continue
        ends, data = found
        source, destination = struct.unpack(">HH", data[:4])
        assert crc32c(data[:8] + bytes(4) + data[12:]) == \
            struct.unpack("<I", data[8:12])[0], "CRC32c"
        half = len(ends) // 2
        yield ((ends[:half], source), (ends[half:], destination),
               list(chunks(data[12:])))


def chunks(data):
    """Yields (type, flags, value) of each chunk of a packet."""
    while data:
        kind, flags, size = struct.unpack(">BBH", data[:4])
        assert kind in KNOWN, f"chunk of type {kind}"
        assert 4 <= size <= len(data), f"chunk of {size} bytes"
        yield kind, flags, data[4:size]
        padded = size + 3 & ~3
        assert not any(data[size:padded]), "padding that is not zero"
        data = data[padded:]


def parameters(value):
    """Returns {type: value} of the parameters of an INIT or INIT ACK."""
    found = {}
    value = value[16:]
    while value:
        kind, size = struct.unpack(">HH", value[:4])
        assert 4 <= size, f"parameter of {size} bytes"
        found[kind] = value[4:size]
        value = value[size + 3 & ~3:]
    return found


class Side:
    """The chunks that one side of an association has sent."""

    def __init__(self, init):
        self.streams = struct.unpack(">H", init[8:10])[0]
        self.offers = parameters(init)
        self.data = {}
        self.ends = []

    def add(self, kind, flags, value):
        if kind != DATA:
            if kind in (ABORT, SHUTDOWN, SHUTDOWN_ACK, SHUTDOWN_COMPLETE):
                self.ends.append(kind)
            return
        tsn, stream, _, ppid = struct.unpack(">IHHI", value[:12])
        assert flags & ~IMMEDIATE == WHOLE_UNORDERED, f"DATA flags {flags:#x}"
        assert not stream, f"stream {stream}"
        assert self.data.setdefault(tsn, (ppid, value[12:])) == \
            (ppid, value[12:]), f"TSN {tsn} was sent with other bytes before"

    def offered(self):
        assert self.streams == 1, f"{self.streams} streams"
        assert self.offers.get(ADAPTATION) == bytes((0, 0, 0, 1)), \
            f"adaptation layer {self.offers.get(ADAPTATION)}"
        assert FORWARD_TSN not in self.offers, "partial reliability"

    def messages(self):
        """Yields (PPID, bytes without the SSN) of each chunk in the order of the
        SSNs."""
        first = min(self.data, default=0)
        # SSNs wrap, TSNs do so after 2^32: those of one association are sorted.
        if self.data and max(self.data) - first > 1 << 31:
            first = min(tsn for tsn in self.data if tsn > 1 << 31)
        for number in range(len(self.data)):
            ppid, data = self.data[(first + number) & 0xFFFFFFFF]
            ssn = struct.unpack(">H", data[:2])[0]
            assert ssn == number & 0xFFFF, f"SSN {ssn} in place of {number}"
            yield ppid, data[2:]


def startup(message, codes, enhanced=None):
    """Returns the fields of the first message of a side as text, and if it is
    enhanced."""
    ppid, data = message
    assert ppid == CONTROL, f"the session begins with PPID {ppid}"
    code = struct.unpack(">H", data[:2])[0]
    assert code in codes, f"function code {code}"
    is_enhanced = codes[code] == code
    text, private = f"code{code}", data[2:]
    if is_enhanced:
        ird, ord_ = struct.unpack(">HH", private[:4])
        private = private[4:]
        text += f" {'A' if ird & 0x8000 else '-'}{'B' if ird & 0x4000 else '-'}" \
            f"{'C' if ord_ & 0x8000 else '-'}{'D' if ord_ & 0x4000 else '-'}" \
            f" ird{ird & 0x3FFF} ord{ord_ & 0x3FFF}"
    assert enhanced is None or not is_enhanced or enhanced, \
        "an enhanced answer to a plain Initiate"
    return f"{text} pd{len(private)}", is_enhanced


def run(messages, counts):
    """Checks the segments behind the first message, and the Terminate behind these."""
    direction = Direction(counts)
    ended = False
    for ppid, data in messages:
        assert not ended, "something behind the Terminate"
        if ppid == SEGMENT:
            direction.segment(data)
            counts["segments"] += 1
            continue
        assert ppid == CONTROL, f"PPID {ppid}"
        assert data == struct.pack(">H", TERMINATE), f"control {data.hex()}"
        ended = True
    return direction, ended


def session(active, passive):
    """Prints the counts of an association."""
    counts = collections.Counter()
    active.offered()
    passive.offered()
    there, back = list(active.messages()), list(passive.messages())
    assert there and back, "a side that said nothing"
    asked, enhanced = startup(there[0], INITIATES)
    answer, _ = startup(back[0], ACCEPTS, enhanced)
    one, one_ended = run(there[1:], counts)
    two, two_ended = run(back[1:], counts)
    print("startup", asked, "/", answer, "/", one.first)
    counts["controls"] += 2 + one_ended + two_ended
    ends = active.ends + passive.ends
    assert ABORT not in ends, "an ABORT"
    assert one_ended and two_ended, "no Terminate"
    assert {SHUTDOWN, SHUTDOWN_ACK, SHUTDOWN_COMPLETE} <= set(ends), ends
    answered(one, two)
    answered(two, one)
    counts["sessions"] = 1
    return counts


def associations(path):
    """Returns both sides of each association, the active one first, in the order of the
    INITs."""
    sides, pairs = {}, []
    for source, destination, parts in packets(path):
        key = source, destination
        for kind, flags, value in parts:
            if kind in (INIT, INIT_ACK):
                assert len(parts) == 1, "an INIT that is not alone"
                if key not in sides or sides[key].data:
                    sides[key] = Side(value)
                    if kind == INIT_ACK:
                        pairs.append((sides[key[::-1]], sides[key]))
            elif key in sides:
                sides[key].add(kind, flags, value)
    return pairs


def main():
    total = collections.Counter()
    for number, pair in enumerate(associations(sys.argv[1])):
        try:
            total += session(*pair)
        except AssertionError as fault:
            print(f"association {number}: {fault}")
            return 1
    for name, count in sorted(total.items()):
        print(name, count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
