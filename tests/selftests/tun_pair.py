#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""tun_pair.py tun|tap NAME NAME: two interfaces joined by this process.

What is sent through one arrives at the other.  Prints "ready" when they are
there; they end with the process, wherever they have been moved to meanwhile.
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


def make(kind, name):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF,
                struct.pack("16sH22x", name.encode(), KIND[kind] | NO_PI))
    return fd


def copy(source, sink):
    while True:
        try:
            packet = os.read(source, 65536)
        except OSError:
            os._exit(0)     # the interface was removed
        # An interface that is down takes nothing, as on a cable.
        with contextlib.suppress(OSError):
            os.write(sink, packet)


def main():
    kind, *names = sys.argv[1:]
    one, two = (make(kind, name) for name in names)
    back = threading.Thread(target=copy, args=(two, one), daemon=True)
    back.start()
    print("ready", flush=True)
    copy(one, two)


main()
