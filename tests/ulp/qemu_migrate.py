#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
qemu_migrate.py DIR SOURCE_NS DEST_NS ADDRESS PORT pinned|unpinned|broken

Migrates a running guest over RDMA from a QEMU in one network namespace to a QEMU in
another one, which has ADDRESS.  "pinned" pins all memory, "unpinned" pins each piece
when it is sent, "broken" cuts the connection during the migration: then the guest
must continue at the source.  The guest is a program in its own firmware: it
increments a counter in each page of a window, one page after the other, so no two
counters may differ by more than one.  A pattern behind the window must not change.

Exit status 0 if the guest runs with correct memory where it must run.
"""
import json
import os
import socket
import subprocess
import sys
import time

MIB = 1 << 20
MEMORY = 96 * MIB
PATTERN_AT = 16 * MIB
PATTERN_SIZE = 32 * MIB
WINDOW_AT = 0x20000
PAGES = 16
PATIENCE = 200

FIRMWARE = f"""
	.code16
start:	mov ${WINDOW_AT >> 4}, %ax
	mov %ax, %ds
next:	xor %si, %si
page:	incl (%si)
	add $4096, %si
	jnz page
	jmp next
	.org 0xfff0
	jmp start
	.org 0x10000
"""


class Qemu:
    """A QEMU process, and the connection to its monitor."""

    def __init__(self, name, ns, *args):
        path = f"{name}.sock"
        self.log = f"{name}.log"
        with open(self.log, "wb") as log:
            self.proc = subprocess.Popen(
                ["netns-run", ns, str(2 * PATIENCE), "qemu-system-x86_64",
                 "-nodefaults", "-no-user-config", "-machine", "pc",
                 "-accel", "tcg", "-m", str(MEMORY // MIB), "-display", "none",
                 "-bios", "firmware.bin", "-qmp", f"unix:{path},server=on",
                 *args], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        until(lambda: os.path.exists(path), f"{name} has a monitor", self)
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(PATIENCE)
        until(lambda: sock.connect_ex(path) == 0, f"{name} answers", self)
        self.lines = sock.makefile("rw", encoding="utf-8")
        self.lines.readline()
        self.qmp("qmp_capabilities")

    def qmp(self, command, **arguments):
        """Sends a command. Returns its answer; skips events before that."""
        json.dump({"execute": command, "arguments": arguments}, self.lines)
        self.lines.flush()
        while True:
            line = self.lines.readline()
            if not line:
                raise SystemExit(f"{command}: the monitor is gone: " +
                                 self.said())
            answer = json.loads(line)
            if "error" in answer:
                raise SystemExit(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def status(self):
        return self.qmp("query-status")["status"]

    def migration(self):
        return self.qmp("query-migrate")

    def memory(self, address, size):
        self.qmp("pmemsave", val=address, size=size, filename="dump")
        with open("dump", "rb") as dump:
            return dump.read()

    def counters(self):
        """The counters of all pages of the window; the guest must be stopped."""
        dump = self.memory(WINDOW_AT, PAGES * 4096)
        return [int.from_bytes(dump[at:at + 4], "little")
                for at in range(0, len(dump), 4096)]

    def check(self, pattern):
        """Checks that the memory of the guest is correct, and that it runs."""
        self.qmp("stop")
        before = self.counters()
        assert max(before) - min(before) <= 1, f"torn: {before}"
        assert self.memory(PATTERN_AT, PATTERN_SIZE) == pattern, "pattern"
        self.qmp("cont")
        until(lambda: self.advanced(before[0]), "the guest runs", self)
        return before[0]

    def advanced(self, before):
        self.qmp("stop")
        now = self.counters()[0]
        self.qmp("cont")
        return (now - before) % (1 << 32) > 0

    def end(self):
        self.proc.terminate()
        self.proc.wait()


def until(what, claim, *qemus):
    end = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > end:
            raise SystemExit("not so in time: " + claim + "; " +
                             "; ".join(q.said() for q in qemus))
        for qemu in qemus:
            if qemu.proc.poll() is not None:
                raise SystemExit(f"not so: {claim}; " + qemu.said())
        time.sleep(0.05)


def firmware():
    subprocess.run(["as", "--32", "-o", "firmware.o", "-"], check=True,
                   input=FIRMWARE.encode())
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", "firmware.o",
                    "firmware.bin"], check=True)


def cut(ns, port):
    """Abort the connection at one end."""
    for where in (f"dport = :{port}", f"sport = :{port}"):
        subprocess.run(["netns-run", ns, "30", "ss", "-K", *where.split()],
                       check=False, stdout=subprocess.DEVNULL)


def main():
    where, source_ns, dest_ns, address, port, how = sys.argv[1:]
    os.chdir(where)
    firmware()
    pattern = os.urandom(PATTERN_SIZE)
    with open("pattern", "wb") as file:
        file.write(pattern)
    uri = f"rdma:{address}:{port}"
    dest = Qemu(f"{how}-dest", dest_ns, "-incoming", uri)
    source = Qemu(f"{how}-source", source_ns, "-device",
                  f"loader,file=pattern,addr={PATTERN_AT},force-raw=on")
    start = source.check(pattern)
    for qemu in (dest, source):
        qemu.qmp("migrate-set-capabilities", capabilities=[
            {"capability": "rdma-pin-all", "state": how == "pinned"}])
    # With these limits the migration ends although the guest keeps writing.
    source.qmp("migrate-set-parameters", **{"max-bandwidth": 1 << 33,
                                            "downtime-limit": 2000})
    begin = time.monotonic()
    source.qmp("migrate", uri=uri)
    if how == "broken":
        until(lambda: source.migration().get("ram", {}).get("transferred", 0)
              > 4 * MIB, "it is under way", source, dest)
        assert source.migration()["status"] == "active"
        cut(source_ns, port)
        until(lambda: source.migration()["status"] in ("failed", "completed"),
              "the source notices", source)
        assert source.migration()["status"] == "failed"
        until(lambda: source.status() == "running", "it runs again", source)
        source.check(pattern)
        dest.proc.wait(PATIENCE)
        print("the source goes on, the destination ends with status",
              dest.proc.returncode)
        source.end()
        return
    until(lambda: source.migration()["status"] in ("completed", "failed"),
          "it ends", source, dest)
    took = time.monotonic() - begin
    done = source.migration()
    assert done["status"] == "completed", source.said() + dest.said()
    until(lambda: dest.status() == "running", "the guest runs there", dest)
    assert source.status() == "postmigrate"
    now = dest.check(pattern)
    print(f"{done['ram']['transferred'] / MIB:.0f} MiB in {took:.1f} s,",
          f"down for {done['downtime']} ms; counted from {start} to {now}")
    source.end()
    dest.end()


if __name__ == "__main__":
    main()
