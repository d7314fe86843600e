#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""tun_pair.py tun|tap NAME NAME [FILE]: two interfaces joined by this process.

Packets sent through one interface arrive at the other. Prints "ready" when both
exist; they end with the process, even if they were moved to other namespaces.
While FILE exists (tun and IPv4 only), TCP of the first side seems to have closed
its windows and to drop data in flight: data from the second side is not delivered,
and is answered with the last acknowledgement.
"""

import contextlib
import fcntl
import os
import struct
import sys
import threading

TUNSETIFF = 0x400454CA
KIND = {"tun": 1, "tap": 2}
NO_PI = 0x1000
TCP = 6
ACK = 0x10


def make(kind, name):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF,
                struct.pack("16sH22x", name.encode(), KIND[kind] | NO_PI))
    return fd


def checksum(octets):
    octets += bytes(len(octets) % 2)
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Segment:
    """A TCP segment in an IPv4 packet."""

    def __init__(self, packet):
        self.ip = bytearray(packet[:(packet[0] & 15) * 4])
        tcp = packet[len(self.ip):struct.unpack_from(">H", packet, 2)[0]]
        self.tcp = bytearray(tcp[:(tcp[12] >> 4) * 4])
        self.data = tcp[len(self.tcp):]
        self.ports = struct.unpack_from(">HH", tcp)

    @staticmethod
    def is_one(packet):
        return packet[0] >> 4 == 4 and packet[9] == TCP

    def close_window(self):
        struct.pack_into(">H", self.tcp, 14, 0)

    def make_empty(self):
        seq = struct.unpack_from(">I", self.tcp, 4)[0] + len(self.data)
        struct.pack_into(">I", self.tcp, 4, seq & 0xFFFFFFFF)
        self.tcp[13] = ACK
        self.data = b""

    def packet(self):
        struct.pack_into(">H", self.ip, 2,
                         len(self.ip) + len(self.tcp) + len(self.data))
        struct.pack_into(">H", self.ip, 10, 0)
        struct.pack_into(">H", self.ip, 10, checksum(bytes(self.ip)))
        struct.pack_into(">H", self.tcp, 16, 0)
        tcp = bytes(self.tcp) + self.data
        pseudo = bytes(self.ip[12:20]) + struct.pack(">HH", TCP, len(tcp))
        struct.pack_into(">H", self.tcp, 16, checksum(pseudo + tcp))
        return bytes(self.ip + self.tcp) + self.data


class Window:
    """Closes the windows of the first side while FILE exists."""

    def __init__(self, path):
        self.path = path
        self.last = {}
        self.dropped = set()

    def forth(self, packet):
        """From the first side: the packet to deliver to the second side."""
        if not Segment.is_one(packet):
            return packet
        segment = Segment(packet)
        self.last[segment.ports] = packet
        # Close the window only of connections from which data was dropped.
        if segment.ports in self.dropped and os.path.exists(self.path):
            segment.close_window()
        return segment.packet()

    def back(self, packet):
        """From the second side: the answer to data that is dropped, or None."""
        if not Segment.is_one(packet) or not os.path.exists(self.path):
            return None
        segment = Segment(packet)
        last = self.last.get(segment.ports[::-1])
        if not segment.data or not last:
            return None
        self.dropped.add(segment.ports[::-1])
        answer = Segment(last)
        answer.make_empty()
        answer.close_window()
        return answer.packet()


def write(sink, packet):
    # An interface that is down takes nothing, as on a cable.
    with contextlib.suppress(OSError):
        os.write(sink, packet)


def copy(source, sink, window, forth):
    while True:
        try:
            packet = os.read(source, 65536)
        except OSError:
            os._exit(0)     # the interface was removed
        answer = None
        if window and forth:
            packet = window.forth(packet)
        elif window:
            answer = window.back(packet)
        if answer:
            write(source, answer)
        else:
            write(sink, packet)


def main():
    kind, first, second, *path = sys.argv[1:]
    one, two = make(kind, first), make(kind, second)
    window = Window(*path) if path else None
    back = threading.Thread(target=copy, args=(two, one, window, False),
                            daemon=True)
    back.start()
    print("ready", flush=True)
    copy(one, two, window, True)


main()
