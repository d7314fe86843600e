#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Memory control groups and DDP over SCTP: data from the peer is charged to the group
of the process that owns the queue pair.

Before the cases begin, sctp_ports of the device has the ports of sctp_sessions, and the
root control group has enabled the memory controller for its children.
"""

import contextlib
import pathlib
import re
import subprocess
import sys
import threading
import time

import live
import sctp_peers
from live import PATIENCE, case, main
from sctp_peers import SEGMENT
from sctp_sessions import CROWDED, P2P, PLAIN, Bench, Target

# Drop the cases that the import of sctp_sessions has registered.
live.CASES.clear()

EARLY = 1000
# Limit of a group, less than the memory of that many chunks
LITTLE = 128 * 1024


class Group:
    """A context in which the target belongs to a control group of its own."""

    ROOT = pathlib.Path("/sys/fs/cgroup")

    def __init__(self, target):
        self.path = self.ROOT / "xiw-sctp"
        self.pid = str(target.proc.pid)

    def __enter__(self):
        self.path.mkdir(exist_ok=True)
        (self.path / "cgroup.procs").write_text(self.pid)
        return self

    def __exit__(self, *_):
        self.limit("max")
        # The OOM killer may have killed the target.
        with contextlib.suppress(ProcessLookupError):
            (self.ROOT / "cgroup.procs").write_text(self.pid)

    def value(self, file, name):
        for line in (self.path / file).read_text().splitlines():
            word, value = line.split()
            if word == name:
                return int(value)
        raise AssertionError(f"no {name} in {file}")

    def limit(self, value):
        (self.path / "memory.max").write_text(str(value))

    def limit_to_present(self):
        self.limit(int((self.path / "memory.current").read_text()) + LITTLE)

    def wait_for(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, what
            time.sleep(0.01)


def send_early(peer):
    """Sends the segments from number 2 on: they are early without the first one."""
    for ssn in range(2, EARLY):
        peer.send(SEGMENT, sctp_peers.write(ssn))


def send_rest(peer):
    peer.send(SEGMENT, sctp_peers.write(1))
    peer.sent = EARLY
    peer.finished()


@case
def before_answer(bench):
    """segments ahead of the Accept are charged to the group of the queue pair"""
    with Group(bench.target) as group:
        peer, conn = bench.called()
        peer.expect_control(5, P2P)
        before = group.value("memory.stat", "kernel")
        send_early(peer)
        group.wait_for("not charged", lambda: group.value(
            "memory.stat", "kernel") > before + LITTLE)
        peer.control(6, P2P)
        conn.event("ESTABLISHED", status=0)
        peer.recv()
        send_rest(peer)
        conn.event("DISCONNECTED")


class Victim(Target):
    """Another process with a listener, at the third port."""

    PORT = CROWDED

    def __exit__(self, *_):
        self.proc.kill()
        self.proc.wait()

    def __enter__(self):
        return self

    def serve(self, bench):
        """A session with that process: peer, connection."""
        peer = bench.initiate(self.PORT)
        conn = self.request()
        conn.accept()
        peer.expect_control(6, PLAIN)
        conn.event("ESTABLISHED", status=0)
        return peer, conn


class OomReports:
    """A context that collects the reports of the OOM killer, and removes them from the
    kernel's log: a call trace in the log would fail the guest."""

    def __enter__(self):
        subprocess.run(["dmesg", "-n", "1"], check=True)
        subprocess.run(["dmesg", "-C"], check=True)
        return self

    def __exit__(self, *_):
        log = subprocess.run(["dmesg", "-c"], check=True, text=True,
                             capture_output=True).stdout
        self.reports = re.findall("invoked oom-killer.*?</TASK>", log, re.S)
        rest = re.sub("invoked oom-killer.*?</TASK>", "", log, flags=re.S)
        assert "Call Trace" not in rest, rest
        subprocess.run(["dmesg", "-n", "7"], check=True)


def stalled(group, peer, full):
    """Lets the peer send until the group is at its limit, and for another second."""
    def send():
        with contextlib.suppress(OSError):
            send_early(peer)

    early = threading.Thread(target=send)
    early.start()
    group.wait_for("the limit is not reached", lambda: group.value(
        "memory.events", "max") > full)
    time.sleep(1)
    group.limit("max")
    early.join()


@case
def at_limit(bench):
    """at the limit of the group the peer waits; the driver's charges kill no process"""
    with OomReports() as log, Victim(*bench.sides) as victim, \
            Group(victim) as group:
        peer, conn = victim.serve(bench)
        full = group.value("memory.events", "max")
        group.limit_to_present()
        stalled(group, peer, full)
        killed = group.value("memory.events", "oom_kill")
        if not killed:
            send_rest(peer)
            conn.event("DISCONNECTED")
    for report in log.reports:
        assert "sk_mem" in report, report
    assert len(log.reports) >= killed, "killed without a report"
    if killed:
        print("# killed for what SCTP charged")


if __name__ == "__main__":
    sys.exit(main(Bench))
