#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""nat_router.py SERVERSIDE CLIENTSIDE [SERVICE=SERVER | masquerade=ROUTER]...

A router that translates addresses between two tun interfaces, which it makes:
TCP from the client's side to a SERVICE address goes to the SERVER address, and
appears to be from the ROUTER address of its family and from the next port.  There
is one ROUTER for each family.  Connections from the server's side pass unchanged.
Prints "ready"; ends with its interfaces.
"""

import contextlib
import fcntl
import ipaddress
import os
import struct
import sys
import threading

TUNSETIFF = 0x400454CA
TUN_NO_PI = 0x1001
TCP = 6
# Of an IPv4 and an IPv6 header: offsets of the protocol field, of the source address
# and of the destination address; and length.
LAYOUT = {4: (9, 12, 16, 20), 6: (6, 8, 24, 40)}
SIZE = {4: 4, 6: 16}


def make(name):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), TUN_NO_PI))
    return fd


def packed(address):
    return ipaddress.ip_address(address).packed


def replace(packet, at, new, checksums):
    """Write new at this offset, and correct the checksums there (RFC 1624)."""
    for i in range(0, len(new), 2):
        old, = struct.unpack_from(">H", packet, at + i)
        word, = struct.unpack_from(">H", new, i)
        struct.pack_into(">H", packet, at + i, word)
        for where in checksums:
            check, = struct.unpack_from(">H", packet, where)
            total = (~check & 0xFFFF) + (~old & 0xFFFF) + word
            while total >> 16:
                total = (total & 0xFFFF) + (total >> 16)
            struct.pack_into(">H", packet, where, ~total & 0xFFFF)


class Router:
    def __init__(self, rules):
        self.server = {}
        self.mine = {}
        # Key: translated source. Value: the client's address, and the address that
        # it has connected to.
        self.client = {}
        for rule in rules:
            name, address = rule.split("=")
            if name == "masquerade":
                self.mine[len(packed(address))] = packed(address)
            else:
                self.server[packed(name)] = packed(address)

    @staticmethod
    def fields(packet):
        """Returns addresses, ports and a function that replaces them; None if not
        TCP."""
        version = packet[0] >> 4
        protocol, source, to, tcp = LAYOUT[version]
        if packet[protocol] != TCP:
            return None
        size = SIZE[version]
        sums = [tcp + 16] + ([10] if version == 4 else [])
        ports = struct.unpack_from(">HH", packet, tcp)

        def rewrite(new_source, new_to, new_ports):
            replace(packet, source, new_source, sums)
            replace(packet, to, new_to, sums)
            replace(packet, tcp, struct.pack(">HH", *new_ports), sums[:1])

        return (bytes(packet[source:source + size]), bytes(packet[to:to + size]),
                ports, rewrite)

    def to_server(self, packet):
        fields = self.fields(packet)
        if fields is None:
            return
        source, to, (port, to_port), rewrite = fields
        mine = self.mine[len(source)]
        self.client[mine, port + 1] = source, to
        rewrite(mine, self.server.get(to, to), (port + 1, to_port))

    def to_client(self, packet):
        fields = self.fields(packet)
        if fields is None:
            return
        _, to, (port, to_port), rewrite = fields
        if (to, to_port) in self.client:
            client, service = self.client[to, to_port]
            rewrite(service, client, (port, to_port - 1))


def carry(source, sink, translate):
    while True:
        try:
            packet = bytearray(os.read(source, 65536))
        except OSError:
            os._exit(0)     # the interface was removed
        translate(packet)
        # Drop packets to an interface that is down, as a cable does.
        with contextlib.suppress(OSError):
            os.write(sink, packet)


def main():
    server, client = make(sys.argv[1]), make(sys.argv[2])
    router = Router(sys.argv[3:])
    threading.Thread(target=carry, args=(server, client, router.to_client),
                     daemon=True).start()
    print("ready", flush=True)
    carry(client, server, router.to_server)


main()
