# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The two ends of a hand-made connection, and the runner of the cases.

Target is the device's end: the program xt_target, which listens, connects and
reports in the namespace of side a. Peer is the other end: a plain TCP socket
in the namespace of side b, that is, of this process.
"""

import argparse
import ctypes
import errno
import json
import os
import pathlib
import select
import socket
import struct
import subprocess
import sys
import time
import traceback

import wire

# Seconds that the slow debug kernel may need for a step.
PATIENCE = 30
# Seconds for a step that must not depend on a timer of the device: timers take ten
# seconds or more.
PROMPT = 5
# Seconds without an event that prove that none comes.
SILENCE = 0.3
# A state of TCP, from linux/tcp.h.
FIN_WAIT2 = 5


class Skip(Exception):
    """Raised if the kernel under test lacks a feature that the case needs."""


class Refusal:
    """A context in which a function of the driver gets no memory."""

    DIR = pathlib.Path("/sys/kernel/debug/failslab")

    def __init__(self, function):
        if not self.DIR.exists():
            raise Skip("this kernel cannot refuse memory")
        symbols = [line.split() for line in open("/proc/kallsyms")
                   if line.endswith("[xiw]\n")]
        start = [int(address, 16) for address, _, name, _ in symbols
                 if name == function][0]
        end = min(int(address, 16) for address, *_ in symbols
                  if int(address, 16) > start)
        self.settings = {
            "verbose": 0, "times": -1, "interval": 1,
            "ignore-gfp-wait": "N", "stacktrace-depth": 32,
            "require-start": hex(start), "require-end": hex(end),
            # Clear the range that an earlier test has excluded: if the module was
            # loaded again, another function may be at these addresses.
            "reject-start": 0, "reject-end": 0,
        }

    def _write(self, settings):
        for name, value in settings.items():
            (self.DIR / name).write_text(str(value))

    def __enter__(self):
        self._write(self.settings)
        self._write({"probability": 100})

    def __exit__(self, *_):
        self._write({"probability": 0, "require-start": 0,
                     "require-end": hex((1 << 64) - 1)})


class Starved:
    """A context in which no work item of an unbound workqueue runs.

    Unbound work items are confined to the last processor, which a real-time task
    occupies; this process and the target are confined to the others.
    """

    MASK = pathlib.Path("/sys/devices/virtual/workqueue/cpumask")
    FAIR = pathlib.Path("/sys/kernel/debug/sched/fair_server")

    def __init__(self, bench):
        self.tasks = [int(task.name) for pid in
                      (os.getpid(), bench.target.proc.pid)
                      for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
        self.cpus = sorted(os.sched_getaffinity(0))
        if len(self.cpus) < 2:
            raise Skip("there is one processor")
        self.spinner = None
        self.saved = []

    def _write(self, path, value):
        self.saved.append((path, path.read_text().strip()))
        path.write_text(value)

    def _affinity(self, cpus):
        for task in self.tasks:
            os.sched_setaffinity(task, cpus)

    def __enter__(self):
        *ours, theirs = self.cpus
        self._affinity(ours)
        self._write(self.MASK, f"{1 << theirs:x}")
        # Newer kernels reserve some time for ordinary tasks: disable that.
        fair = self.FAIR / f"cpu{theirs}" / "runtime"
        if fair.exists():
            self._write(fair, "0")
        self._write(pathlib.Path("/proc/sys/kernel/sched_rt_runtime_us"), "-1")
        self.spinner = subprocess.Popen(
            ["taskset", "-c", str(theirs), "chrt", "-f", "1", "sh", "-c",
             "echo; while :; do :; done"], stdout=subprocess.PIPE)
        self.spinner.stdout.readline()

    def __exit__(self, *_):
        self.spinner.kill()
        self.spinner.wait()
        for path, value in reversed(self.saved):
            path.write_text(value)
        self._affinity(self.cpus)


FLUSH = 5  # IBV_WC_WR_FLUSH_ERR


class Conn:
    """The device's end of one connection."""

    def __init__(self, target, number, request=None):
        self.target = target
        self.nr = number
        self.request = request

    def _do(self, verb, *args):
        return self.target.do(verb, self.nr, *args)

    def accept(self, ird=4, ord=4, recvs=4, data=b""):
        self._do("accept", ird, ord, recvs, "x" + data.hex())

    def accept_soon(self):
        """Accept without waiting for the result, see accepted()."""
        self.target.send("accept", self.nr, 4, 4, 4, "x")

    def accepted(self):
        try:
            self.target.answer()
        except OSError:
            return False
        return True

    def reject(self, data=b""):
        self._do("reject", "x" + data.hex())

    def recv(self, count=1):
        self._do("recv", count)

    def post(self, what, size=0, count=1, stag=0, to=0, flags=0):
        self._do("post", what, size, count, stag, to, flags)

    def disconnect(self):
        self._do("disconnect")

    def fail(self):
        """The application moves the queue pair to the error state."""
        self._do("fail")

    def free(self):
        self._do("free")

    def event(self, name, **want):
        fields = self.target.report(self.nr, "event")
        assert fields["name"] == name, f"event {fields}, wanted {name}"
        for key, value in want.items():
            assert fields[key] == str(value), f"{key}: {fields}"
        return fields

    def wc(self, name, status=0, **want):
        """Check that the next completion is NAME (r0, r1, ... or s0, s1, ...)."""
        fields = self.target.report(self.nr, "wc")
        assert fields["name"] == name and fields["status"] == str(status), \
            f"completion {fields}, wanted {name} status {status}"
        for key, value in want.items():
            assert fields[key] == str(value), f"{key}={value}: {fields}"
        return fields

    def flushed(self, first=0, end=4):
        """Check that the receives from FIRST to END - 1 are flushed."""
        for number in range(first, end):
            self.wc(f"r{number}", FLUSH)

    def asynchronous(self, number):
        fields = self.target.report(self.nr, "async")
        assert fields["name"] == str(number), f"async {fields}, not {number}"

    def nothing(self, kind):
        """Check that there is no unread report of that kind."""
        self.target.pump(0)
        left = self.target.reports.get((self.nr, kind))
        assert not left, f"unexpected {kind}: {left}"


class Region:
    def __init__(self, text):
        self.stag, self.base, self.len = map(int, text.split(","))


class Target:
    """The program xt_target, controlled by lines through pipes."""

    PROGRAM = "xt_target"

    def __init__(self, side, peer):
        self.proc = subprocess.Popen(
            [self.PROGRAM, side, peer], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, bufsize=0)
        self.buf = b""
        self.answers = []
        self.reports = {}
        self.conns = []
        hello = dict(word.split("=") for word in self.answer().split())
        self.port = int(hello.pop("port"))
        self.device = hello.pop("device")
        for name, text in hello.items():
            setattr(self, name, Region(text))

    def _line(self, line):
        words = line.split(" ")
        if words[0] in ("ok", "error"):
            self.answers.append(line)
            return
        if not (words[0].startswith("c") and words[0][1:].lstrip("-").isdigit()):
            raise AssertionError(f"target: {line}")
        fields = dict(word.split("=", 1) for word in words[2:] if "=" in word)
        if len(words) > 2:
            fields["name"] = words[2]
        key = int(words[0][1:]), words[1]
        if words[1] in ("request", "dial"):
            conn = Conn(self, key[0], fields)
            self.conns.append(conn)
            key = None, words[1]
            fields = conn
        self.reports.setdefault(key, []).append(fields)

    def pump(self, seconds):
        """Read lines of the target; false if there is none in time."""
        if not select.select([self.proc.stdout], [], [], seconds)[0]:
            return False
        data = os.read(self.proc.stdout.fileno(), 65536)
        assert data, f"target ended: {self.buf}"
        *lines, self.buf = (self.buf + data).split(b"\n")
        for line in lines:
            self._line(line.decode())
        return True

    def _wait(self, queue, what, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not queue:
            left = end - time.monotonic()
            assert left > 0 and self.pump(left) or queue, f"no {what}"
        return queue.pop(0)

    def answer(self):
        answer = self._wait(self.answers, "answer")
        word, _, rest = answer.partition(" ")
        if word == "error":
            raise OSError(int(rest.split()[0]), rest)
        return rest

    def send(self, *words):
        line = " ".join(str(word) for word in words) + "\n"
        self.proc.stdin.write(line.encode())

    def do(self, *words):
        self.send(*words)
        return self.answer()

    def report(self, number, kind, seconds=PATIENCE):
        queue = self.reports.setdefault((number, kind), [])
        return self._wait(queue, f"{kind} for connection {number}", seconds)

    def request(self, seconds=PATIENCE):
        """Return the next requested connection."""
        return self.report(None, "request", seconds)

    def no_request(self):
        self.pump(0)
        assert not self.reports.get((None, "request")), "a connection request"

    def dial(self, port, ird=4, ord=4, recvs=4, data=b""):
        self.do("dial", 0, ird, ord, recvs, "x" + data.hex(), port)
        return self.report(None, "dial")

    def peek(self, region, offset, size):
        return bytes.fromhex(self.do("peek", region, offset, size))

    def clear(self):
        """Free the objects of a case, and drop unread reports."""
        for conn in self.conns:
            try:
                conn.free()
            except OSError:
                pass
        self.conns = []
        while self.pump(0):
            pass
        self.reports = {}

    def end(self):
        self.proc.stdin.close()
        self.proc.wait(PATIENCE)


class Peer:
    """The end of a connection that this process implements."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(PATIENCE)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tx = wire.Framer()
        self.rx = wire.Deframer(self.read)
        self.early = b""

    def raw(self, data):
        self.sock.sendall(data)

    def octets(self, data):
        """Send each byte in a TCP segment of its own."""
        for octet in data:
            self.sock.send(bytes([octet]))

    def read(self, size):
        data, self.early = self.early[:size], self.early[size:]
        while len(data) < size:
            more = self.sock.recv(size - len(data))
            assert more, f"FIN after {len(data)} of {size} bytes: {data.hex()}"
            data += more
        return data

    def take(self, size):
        """Read bytes from the socket, for the expect functions to return later."""
        kept, self.early = self.early, b""
        self.early = kept + self.read(size)

    def startup(self):
        head = self.read(20)
        size = struct.unpack(">H", head[18:20])[0]
        return wire.Startup(head + self.read(size))

    def full_operation(self, own_flags, peer_flags):
        """Set Markers and CRCs by the M and C flags of both startup frames."""
        self.tx.markers = bool(peer_flags & wire.M)
        self.rx.markers = bool(own_flags & wire.M)
        self.rx.crc = bool((own_flags | peer_flags) & wire.C)

    def send(self, *ulpdus, **spoil):
        self.raw(b"".join(self.tx.fpdu(ulpdu, **spoil) for ulpdu in ulpdus))

    def expect(self, ulpdu):
        got = self.rx.fpdu()
        assert got == ulpdu, f"got {got.hex()}, wanted {ulpdu.hex()}"

    def expect_terminate(self, code, offender=None):
        """Expect the Terminate, then FIN and nothing else."""
        self.expect(wire.terminate_for(code, offender))
        self.expect_fin()

    def expect_fin(self):
        data = self.sock.recv(4096)
        assert not data, f"bytes instead of FIN: {data.hex()}"

    def expect_end(self):
        """Expect FIN or RST, without a byte before it."""
        try:
            data = self.sock.recv(4096)
        except ConnectionResetError:
            return
        assert not data, f"bytes instead of the end: {data.hex()}"

    def expect_reset(self):
        """Expect RST without a byte before it, and before any timer of the device
        expires."""
        begin = time.monotonic()
        try:
            data = self.sock.recv(4096)
        except ConnectionResetError:
            took = time.monotonic() - begin
            assert took < PROMPT, f"reset after {took:.1f} s"
            return
        raise AssertionError(f"no reset: {data.hex() or 'FIN'}")

    def expect_reset_behind_fin(self):
        """Expect RST behind a FIN. Each read returns the FIN again, so check for the RST
        by poll() and SO_ERROR."""
        poll = select.poll()
        poll.register(self.sock, select.POLLHUP)
        assert poll.poll(PROMPT * 1000), "no reset behind the FIN"
        error = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        assert error in (errno.EPIPE, errno.ECONNRESET), error

    def drain_until_reset(self):
        """Read data until the RST arrives."""
        try:
            while self.sock.recv(1 << 16):
                pass
        except ConnectionResetError:
            return
        raise AssertionError("FIN instead of a reset")

    def expect_silence(self):
        assert not select.select([self.sock], [], [], SILENCE)[0], \
            f"not silent: {self.sock.recv(4096).hex()}"

    def fin(self):
        self.sock.shutdown(socket.SHUT_WR)

    def expect_fin_arrived(self):
        """Wait until the device's TCP has acknowledged all data and the FIN."""
        end = time.monotonic() + PATIENCE
        while self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO,
                                   1)[0] != FIN_WAIT2:
            assert time.monotonic() < end, "the FIN was not acknowledged"

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        self.sock.close()


def index_of(device):
    """Returns the index of a device, which names its directory in debugfs."""
    shown = subprocess.run(["rdma", "-j", "dev", "show", device], check=True,
                           capture_output=True).stdout
    return str(json.loads(shown)[0]["ifindex"])


class Bench:
    """Device, namespaces and helpers that the cases use."""

    TARGET = Target

    def __init__(self, args):
        self.addr_a = args.a.partition("/")[2]
        self.addr_b = args.b.partition("/")[2]
        self.namespaces = [side.partition("/")[0] for side in (args.a, args.b)]
        self.family = socket.AF_INET6 if ":" in self.addr_a else socket.AF_INET
        self.target = self.TARGET(args.a, self.addr_b)
        self.policy_dir = pathlib.Path("/sys/class/infiniband",
                                       self.target.device, "mpa")
        self.debug_dir = pathlib.Path("/sys/kernel/debug/xiw",
                                      index_of(self.target.device))
        self.counter_dir = self.policy_dir.parent / "ports/1/hw_counters"
        # Do not let the core cache the values of counters.
        (self.counter_dir / "lifespan").write_text("0")
        self.saved = {}
        self.peers = []
        self.bystander = None

    # Connections.

    def tcp(self, window=0):
        """Connect to the device by TCP. WINDOW: receive buffer in bytes, 0 for the
        default."""
        sock = socket.socket(self.family)
        if window:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        sock.settimeout(PATIENCE)
        sock.connect((self.addr_a, self.target.port))
        return self.peer_of(sock)

    def peer_of(self, sock):
        self.peers.append(Peer(sock))
        return self.peers[-1]

    def ask(self, flags=wire.C, rev=1, pdata=b"", window=0):
        """Connect and send a Request. Returns the peer and the connection at the
        device."""
        peer = self.tcp(window)
        peer.raw(wire.startup(wire.REQ_KEY, flags, rev, pdata))
        return peer, self.target.request()

    def answered(self, flags=wire.C, rev=1, pdata=b"", window=0, **accept):
        """As ask(); the device accepts. Returns peer, connection and Reply."""
        peer, conn = self.ask(flags, rev, pdata, window)
        conn.accept(**accept)
        reply = peer.startup()
        assert reply.key == wire.REP_KEY and not reply.flags & wire.R
        peer.full_operation(flags, reply.flags)
        return peer, conn, reply

    def open(self, flags=wire.C, window=0, **accept):
        """Establish a connection of revision 1. Returns peer and connection."""
        peer, conn, _ = self.answered(flags, window=window, **accept)
        conn.event("ESTABLISHED", status=0)
        return peer, conn

    def listener(self):
        sock = socket.create_server((self.addr_b, 0), family=self.family)
        sock.settimeout(PATIENCE)
        return sock

    def called(self, **dial):
        """Let the device connect to the peer. Returns peer, connection and Request."""
        with self.listener() as sock:
            conn = self.target.dial(sock.getsockname()[1], **dial)
            peer = self.peer_of(sock.accept()[0])
        return peer, conn, peer.startup()

    # The administrator.

    def policy(self, **values):
        for name, value in values.items():
            path = self.policy_dir / name
            if not path.exists():
                path = self.debug_dir / name
            self.saved.setdefault(path, path.read_text())
            path.write_text(str(value))

    def set_mtu(self, mtu):
        """Set the MTU of all netdevs but lo on both sides."""
        for namespace in self.namespaces:
            for link in json.loads(subprocess.run(
                    ["ip", "-n", namespace, "-j", "link", "show", "up"],
                    check=True, capture_output=True).stdout):
                if "LOOPBACK" not in link["flags"]:
                    subprocess.run(["ip", "-n", namespace, "link", "set",
                                    link["ifname"], "mtu", str(mtu)],
                                   check=True)

    def counter(self, name):
        # The core reads the counters at most once a tick.
        time.sleep(0.012)
        return int((self.counter_dir / name).read_text())

    def counter_is(self, name, value):
        """Wait until the counter has the value; the clock of an emulated machine may
        stop for seconds."""
        end = time.monotonic() + PATIENCE
        while (got := self.counter(name)) != value:
            assert time.monotonic() < end, f"{name} is {got}, not {value}"

    # Before and after each case.

    def begin(self):
        if self.bystander is None:
            peer, conn = self.open(recvs=8)
            self.bystander = peer, conn
            self.by_sent = 0
            self.peers.remove(peer)
            self.target.conns.remove(conn)

    def send_segment(self, peer, ulpdu):
        peer.send(ulpdu)

    def others_are_well(self):
        """Check that another connection still carries a message."""
        peer, conn = self.bystander
        text = b"still here %d" % self.by_sent
        self.by_sent += 1
        self.send_segment(peer, wire.send(self.by_sent, text))
        conn.wc(f"r{self.by_sent - 1}", data=text.hex())
        conn.recv()
        conn.nothing("event")

    def finish(self):
        for peer in self.peers:
            peer.close()
        self.peers = []
        for path, value in self.saved.items():
            path.write_text(value)
        self.saved = {}
        self.target.do("guards")
        self.others_are_well()
        self.target.clear()

    def drop(self):
        """End the target: after a failure its state is unknown."""
        for path, value in self.saved.items():
            path.write_text(value)
        for peer in self.peers:
            peer.close()
        self.target.proc.kill()
        self.target.proc.wait()


CASES = []


def case(function):
    """Decorator: registers a case, whose claim is its docstring."""
    CASES.append((function.__name__, function.__doc__.partition("\n")[0],
                  function))
    return function


def cases(table):
    """Decorator: registers a case for each row of name, claim and arguments."""
    def register(function):
        for name, claim, *args in table:
            def run(bench, args=tuple(args)):
                return function(bench, *args)
            CASES.append((name, claim, run))
        return function
    return register


def enter(side):
    name = side.partition("/")[0]
    with open(f"/run/netns/{name}", "rb") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0):
            raise OSError(ctypes.get_errno(), f"setns {name}")


def run_all(args, make_bench):
    failed = 0
    bench = None
    for name, claim, function in CASES:
        if args.t and name not in args.t:
            continue
        begin = time.monotonic()
        try:
            bench = bench or make_bench(args)
            bench.begin()
            function(bench)
            bench.finish()
            verdict = "ok"
        except Skip as skip:
            bench.finish()
            print(f"# skip: {skip}")
            verdict = "skip"
        except Exception as error:
            verdict = "not ok"
            failed += 1
            for line in traceback.format_exc().splitlines():
                if line.startswith("  File"):
                    print(f"# {line.strip()}")
            print(f"# {type(error).__name__}: {error}")
            if bench:
                bench.drop()
                bench = None
        print(f"{verdict} {name}: {claim}")
        if args.v:
            print(f"# {time.monotonic() - begin:.2f} s")
        sys.stdout.flush()
    if bench:
        bench.target.end()
    return 1 if failed else 0


def segments_of_send(peer, conn, msn, size=20000):
    """Returns the lengths of the ULPDUs of a Send of that many bytes."""
    conn.post("send", size)
    lengths, left = [], size
    while left:
        ulpdu = peer.rx.fpdu()
        assert ulpdu[10:14] == struct.pack(">I", msn)
        lengths.append(len(ulpdu))
        left -= len(ulpdu) - 18
    return lengths


def main(make_bench=Bench):
    parser = argparse.ArgumentParser(description="cases against a live device")
    parser.add_argument("-l", action="store_true", help="list the cases")
    parser.add_argument("-a", metavar="NS/ADDR", help="side of the device")
    parser.add_argument("-b", metavar="NS/ADDR", help="side of the peer")
    parser.add_argument("-t", metavar="CASE", action="append",
                        help="run this case only")
    parser.add_argument("-x", metavar="CASE", action="append", default=[],
                        help="leave this case out")
    parser.add_argument("-v", action="store_true", help="print times")
    args = parser.parse_args()
    CASES[:] = [c for c in CASES if c[0] not in args.x]
    if args.l:
        for name, claim, _ in CASES:
            if not args.t or name in args.t:
                print(f"{name}: {claim}")
        return 0
    enter(args.b)
    return run_all(args, make_bench)
