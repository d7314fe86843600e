#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Sessions of DDP over SCTP with a hand-made peer on either side: the events that the
peer's messages cause at the ULP, and the messages that calls of the ULP cause.

Before the cases begin, sctp_ports of the device has the ports below.
"""

import contextlib
import errno
import os
import random
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import time

import live
import sctp_peers
import wire
from live import Refusal, case, cases, main
from sctp_peers import CONTROL, SEGMENT, TERMINATE

# Ports of the device's listener, of the peer's, and of one for many requests
PASSIVE, ACTIVE, CROWDED = 7471, 7472, 7473
# Limit of a listener's requests without an answer, and requests beyond it
BACKLOG, MORE = 1024, 3
# RFC 5043 section 10
UNACKNOWLEDGED = 32767
# The netdev of side b
NETDEV = "vb"
# MTU less the bytes of a full segment: headers of IP, SCTP and the chunk, and room for
# a SACK. The smallest limit of a segment, for any MTU.
OVERHEAD, LEAST = 20 + 12 + 16 + 20, 2 + 518
SO_LINGER_0 = struct.pack("ii", 1, 0)
FLUSH = 5
FATAL = 1
# Outstanding Reads
READS = 32
# Bytes of a Write that fits the device's send buffer, but not the window of a slow
# peer; and number of chunks that a peer sends after the end of the session.
UNREAD, BEHIND = 32768, 2000
# Number of sessions with mutated chunks, and a limit for their time in seconds
MUTANTS, MUTANT_TIME = 60, 30
DATA = bytes(range(0x20, 0x28))
# IRD and ORD of 4, without and with the peer-to-peer model
PLAIN, P2P = wire.enhanced(4, 4), wire.enhanced(0x8004, 0xC004)


class Peer(sctp_peers.Peer):
    """A hand-made side of an association; counts its chunks."""

    def __init__(self, sock):
        self.sock = sock
        self.next = self.sent = 0

    def control(self, code, data=b""):
        self.send(CONTROL, sctp_peers.control(self.sent & 0xFFFF, code, data))
        self.sent += 1

    def segment(self, ulpdu):
        self.send(SEGMENT, struct.pack(">H", self.sent & 0xFFFF) + ulpdu)
        self.sent += 1

    def expect_control(self, code, data=b""):
        ssn = self.next & 0xFFFF
        got = self.recv()
        assert got == (CONTROL, sctp_peers.control(ssn, code, data)), got

    def expect_segment(self, ulpdu):
        ppid, data = self.recv()
        assert (ppid, data[2:]) == (SEGMENT, ulpdu), (ppid, data.hex())

    def expect_end(self):
        got = self.recv()
        assert got is None, f"{got} in place of the end"

    def expect_shutdown(self):
        """Expects the end by a SHUTDOWN; raises an exception after an ABORT."""
        data = self.sock.recv(4096)
        assert not data, f"{data.hex()} in place of a SHUTDOWN"

    def expect_abort(self, seconds):
        """Expects an ABORT after at least half of the time, with or without data before
        it."""
        poll = select.poll()
        poll.register(self.sock, select.POLLHUP)
        assert not poll.poll(seconds * 500), "an end before its time"
        assert poll.poll(live.PATIENCE * 1000), "no end"
        error = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        assert error == errno.ECONNRESET, f"error {error}"

    def expect_silence(self):
        assert not select.select([self.sock], [], [], live.SILENCE)[0], \
            f"not silent: {self.sock.recv(4096).hex()}"

    def finished(self):
        """Sends a Terminate, and expects that of the device and the end."""
        self.control(TERMINATE)
        self.expect_control(TERMINATE)
        self.expect_end()

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, SO_LINGER_0)
        self.sock.close()

    def close(self):
        self.sock.close()


class Target(live.Target):
    """xt_target with a listener on a port in sctp_ports."""

    PORT = PASSIVE

    def __init__(self, side, peer):
        os.environ["XT_PORT"] = str(self.PORT)
        super().__init__(side, peer)


class Crowded(Target):
    """A process with a listener that does not answer requests."""

    PORT = CROWDED

    def __enter__(self):
        self.proc.send_signal(signal.SIGSTOP)
        return self

    def __exit__(self, *_):
        self.proc.kill()
        self.proc.wait()


class Bench(live.Bench):
    TARGET = Target

    def __init__(self, args):
        self.sides = args.a, args.b.partition("/")[2]
        super().__init__(args)

    def initiate(self, port=PASSIVE, code=5, data=PLAIN, window=0):
        """Makes a new peer and an association, and sends its Initiate.

        WINDOW: bytes of its receive buffer, 0 for the default.
        """
        sock = sctp_peers.new_socket(family=self.family)
        if window:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        sock.connect((self.addr_a, port))
        peer = Peer(sock)
        self.peers.append(peer)
        peer.control(code, data)
        return peer

    def asked(self, code=5, data=PLAIN, window=0):
        """Sends the Initiate of a peer. Returns peer and connection."""
        return (self.initiate(code=code, data=data, window=window),
                self.target.request())

    def open(self, recvs=4, window=0):
        """Establishes a session that the device accepts, without an RTR."""
        peer, conn = self.asked(window=window)
        conn.accept(recvs=recvs)
        peer.expect_control(6, PLAIN)
        conn.event("ESTABLISHED", status=0)
        return peer, conn

    def called(self, indication=1, **dial):
        """Lets the device connect to the peer. Returns peer and connection."""
        with sctp_peers.new_socket(indication, family=self.family) as sock:
            sock.bind((self.addr_b, ACTIVE))
            sock.listen()
            conn = self.target.dial(ACTIVE, **dial)
            peer = Peer(sock.accept()[0])
        peer.sock.settimeout(live.PATIENCE)
        self.peers.append(peer)
        return peer, conn

    def send_segment(self, peer, ulpdu):
        peer.segment(ulpdu)


def not_connected(bench, conn, status, event="CONNECT_ERROR"):
    conn.event(event, status=-status)
    conn.free()
    bench.target.conns.remove(conn)
    conn.nothing("event")


# ---- the device is the passive side ----------------------------------------

# Covers: SCTP-07 SCTP-10 SCTP-23 SCTP-53 SCTP-56
@cases([(f"data_{code}_{size}", f"Initiate {code}: {size} bytes of Private Data "
         "arrive, and as many go back", code, size)
        for code in (1, 5) for size in (0, 1, 200)])
def private_data(bench, code, size):
    data = bytes(range(size))
    depths = PLAIN if code == 5 else b""
    peer, conn = bench.asked(code, depths + data)
    assert conn.request["data"] == data.hex(), conn.request
    peer.expect_silence()
    conn.accept(data=data[::-1])
    peer.expect_control(code + 1, depths + data[::-1])
    peer.finished()


# Covers: SCTP-21 SCTP-54 SCTP-66
@cases([
    ("reject_1", "the ULP rejects a plain Initiate", 1, 3),
    ("reject_5", "the ULP rejects an enhanced Initiate", 5, 7),
])
def rejects(bench, code, answer):
    peer, conn = bench.asked(code, PLAIN if code == 5 else b"")
    conn.reject(b"no")
    ppid, data = peer.recv()
    assert ppid == CONTROL and data[:4] == sctp_peers.control(0, answer), \
        data.hex()
    assert data.endswith(b"no"), data.hex()
    peer.expect_end()


@case
# Covers: SCTP-22
def accept_fails(bench):
    """no memory for an accept: a Terminate, as only the ULP may send a Reject"""
    refusal = Refusal("xiw_stream_start")
    peer, conn = bench.asked()
    with refusal:
        try:
            conn.accept()
        except OSError as error:
            assert error.errno == errno.ENOMEM, error
        else:
            raise AssertionError("accepted")
    peer.expect_control(TERMINATE)
    peer.expect_end()


@contextlib.contextmanager
def without_answers():
    """Nothing that the peer sends arrives, no acknowledgement either."""
    qdisc = ["dev", NETDEV, "root", "netem", "loss", "100%"]
    subprocess.run(["tc", "qdisc", "add", *qdisc], check=True)
    try:
        yield
    finally:
        subprocess.run(["tc", "qdisc", "del", *qdisc[:3]], check=True)


@case
# Covers: SCTP-11
def no_answer(bench):
    """an Initiate that the ULP does not answer in time: a Terminate"""
    bench.policy(reply_timeout_ms=200)
    peer, _ = bench.asked()
    peer.expect_control(TERMINATE)
    peer.expect_end()


def terminated(peers):
    """The peers that have received a Terminate; all others have received nothing."""
    poll = select.poll()
    by_fd = {peer.sock.fileno(): peer for peer in peers}
    for number in by_fd:
        poll.register(number, select.POLLIN)
    got = {by_fd[number] for number, _ in poll.poll(200)}
    for peer in got:
        peer.expect_control(TERMINATE)
    return got


@case
# Covers: SCTP-11
def many_initiates(bench):
    """Initiates beyond the number that may wait for the ULP: a Terminate each"""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Crowded(*bench.sides):
        peers = [bench.initiate(CROWDED) for _ in range(BACKLOG)]
        # Reduce the timeout for the next ones only: a busy device may read the last
        # Initiates of the backlog late.
        bench.policy(request_timeout_ms=2000)
        peers += [bench.initiate(CROWDED) for _ in range(MORE)]
        end = time.monotonic() + live.PATIENCE
        answered = set()
        while len(answered) < MORE:
            assert time.monotonic() < end, f"{len(answered)} were answered"
            answered |= terminated(set(peers) - answered)
        # The device reads Initiates of different peers in any order.
        assert len(answered) == MORE, f"{len(answered)} were answered"
    # rdma_cm rejects the others when the ULP is gone.
    for peer in peers:
        if peer not in answered:
            ppid, data = peer.recv()
            assert (ppid, data[:4]) == (CONTROL, sctp_peers.control(0, 7)), \
                data.hex()
        peer.expect_end()


@case
# Covers: SCTP-46 SCTP-58
def passive_sends_first(bench):
    """the passive side sends first, and at once"""
    peer, conn = bench.open()
    conn.post("send", 8)
    ppid, data = peer.recv()
    assert ppid == SEGMENT and data[2:20] == wire.send(1), data.hex()
    conn.wc("s0")
    peer.segment(wire.send(1, DATA))
    conn.wc("r0", data=DATA.hex())
    peer.finished()
    conn.event("DISCONNECTED")


@case
# Covers: SCTP-46
def sends_at_once(bench):
    """a short Send does not wait until an earlier one was acknowledged"""
    peer, conn = bench.open()
    peer.sock.settimeout(live.PROMPT)
    with without_answers():
        for number in range(4):
            conn.post("send", 8)
            ppid, data = peer.recv()
            assert ppid == SEGMENT and data[2:20] == wire.send(number + 1), \
                data.hex()
            conn.wc(f"s{number}")
    peer.finished()
    conn.event("DISCONNECTED")


def taken(conn, number):
    """True if request NUMBER completes: SCTP has room for it, or soon will have."""
    try:
        fields = conn.target.report(conn.nr, "wc", live.SILENCE)
    except AssertionError:
        return False
    assert (fields["name"], fields["status"]) == (f"s{number}", "0"), fields
    return True


@case
# Covers: SCTP-43
def unacknowledged(bench):
    """few chunks are sent without an acknowledgement; all arrive in the end"""
    peer, conn = bench.open()
    done = posted = 0
    with without_answers():
        while done == posted <= UNACKNOWLEDGED:
            conn.post("write", 0, count=32)
            posted += 32
            while done < posted and taken(conn, done):
                done += 1
    assert done <= UNACKNOWLEDGED, f"{done} chunks without an acknowledgement"
    print(f"# {done} chunks without an acknowledgement")
    for _ in range(posted):
        peer.expect_segment(wire.write(0, 0))
    peer.finished()
    conn.event("DISCONNECTED")


def lengths_of_send(peer, conn, msn, size=20000):
    """The lengths of the chunks of a Send."""
    conn.post("send", size)
    lengths = []
    while size:
        ppid, data = peer.recv()
        assert ppid == SEGMENT and data[12:16] == struct.pack(">I", msn), \
            data.hex()
        lengths.append(len(data))
        size -= len(data) - 2 - 18
    return lengths


@case
# Covers: SCTP-36 SCTP-37 SCTP-39 SCTP-40
def mtu_changes(bench):
    """segments are as large as the MTU permits, and follow its changes"""
    peer, conn = bench.open()
    msn = 0
    for mtu in 1500, 1280, 576, 4000, 1500:
        bench.set_mtu(mtu)
        largest = max(mtu - OVERHEAD, LEAST)
        # SCTP notices the new MTU when it sends the first message.
        for _ in range(3):
            msn += 1
            *full, last = lengths_of_send(peer, conn, msn)
            if set(full) == {largest}:
                break
        assert set(full) == {largest} and last <= largest, \
            f"MTU {mtu}: {full} {last}"
    peer.finished()


@case
# Covers: SCTP-14 SCTP-20 SCTP-47 SCTP-49
def other_domain(bench):
    """a Write to another protection domain: 0x1102 and a Terminate behind it"""
    peer, conn = bench.open()
    target = bench.target
    write = wire.write(target.other.stag, target.other.base, DATA)
    before = target.peek("other", 0, 8)
    peer.segment(write)
    peer.expect_segment(wire.terminate_for(0x1102, write))
    peer.expect_control(TERMINATE)
    peer.control(TERMINATE)
    peer.expect_end()
    conn.event("DISCONNECTED")
    assert target.peek("other", 0, 8) == before, "it was written"


# Covers: SCTP-17 SCTP-24
@cases([(f"pattern_{code}", f"code {code} behind an Accept fits no pattern", code)
        for code in (0, 1, 2, 3, 5, 6, 7, 8)])
def no_other_pattern(bench, code):
    peer, conn = bench.open()
    faults = bench.counter("protocol_errors")
    peer.control(code, PLAIN if code > 4 else b"")
    peer.expect_control(TERMINATE)
    peer.expect_shutdown()
    broken(conn)
    assert bench.counter("protocol_errors") == faults + 1
    bench.target.no_request()


@case
# Covers: SCTP-17
def fault_behind_terminate(bench):
    """a fault after the device's Terminate is a fault, too"""
    peer, conn = bench.open()
    faults = bench.counter("protocol_errors")
    conn.disconnect()
    peer.expect_control(TERMINATE)
    peer.control(1)
    peer.expect_shutdown()
    conn.event("DISCONNECTED")
    assert bench.counter("protocol_errors") == faults + 1


@case
# Covers: SCTP-17
def fault_of_busy_peer(bench):
    """a peer that breaks the session and takes no data: an ABORT after the close timeout"""
    bench.policy(close_timeout_ms=2000)
    peer, conn = bench.open(window=4096)
    conn.post("write", UNREAD)
    conn.wc("s0")
    peer.control(1)
    broken(conn)
    peer.expect_abort(2)


@case
# Covers: SCTP-17
def segments_behind_fault(bench):
    """and one that goes on sending: what it sends is discarded, the end is a SHUTDOWN"""
    peer, conn = bench.open(recvs=0)
    rw = bench.target.rw
    before = bench.target.peek("rw", 0, 8)
    peer.control(1)
    try:
        for _ in range(BEHIND):
            peer.segment(wire.write(rw.stag, rw.base, DATA))
    except BrokenPipeError:
        pass
    broken(conn, recvs=0)
    peer.expect_control(TERMINATE)
    peer.expect_shutdown()
    assert bench.target.peek("rw", 0, 8) == before, "it was written"


def broken(conn, recvs=4):
    """Checks that the ULP is notified of a session that the peer has broken."""
    conn.asynchronous(FATAL)
    conn.event("DISCONNECTED")
    for number in range(recvs):
        conn.wc(f"r{number}", FLUSH)


@case
# Covers: SCTP-24
def nothing_behind_terminate(bench):
    """an Initiate behind a Terminate begins no other session"""
    peer, conn = bench.open()
    # Send the later chunk first: the other one may end the association at once.
    peer.send(CONTROL, sctp_peers.control(2, 5, PLAIN))
    peer.control(TERMINATE)
    peer.expect_control(TERMINATE)
    peer.expect_end()
    conn.event("DISCONNECTED")
    bench.target.no_request()


@case
# Covers: SCTP-46
def messages_share_packets(bench):
    """a Write and a Send behind it: two chunks, in this order"""
    peer, conn = bench.open()
    conn.post("write", 8, stag=0xCAFE, to=0x5000)
    conn.post("send", 8)
    ppid, data = peer.recv()
    assert (ppid, len(data)) == (SEGMENT, 2 + 14 + 8), data.hex()
    ppid, data = peer.recv()
    assert (ppid, data[2:20]) == (SEGMENT, wire.send(1)), data.hex()
    peer.finished()


@case
# Covers: SCTP-04
def ssn_wraps(bench):
    """the SSNs of both directions wrap: 66000 Reads"""
    peer, conn = bench.asked(data=wire.enhanced(4, READS))
    conn.accept(ird=READS)
    peer.expect_control(6, wire.enhanced(READS, 4))
    conn.event("ESTABLISHED", status=0)
    rw = bench.target.rw
    for msn in range(1, 66001 + READS):
        if msn > READS:
            peer.expect_segment(wire.tagged(wire.READ_RESP, 0xBEEF, 0x1000,
                                            bytes(4)))
        if msn <= 66000:
            peer.segment(wire.read_req(msn, 4, rw.stag, rw.base))
    peer.finished()
    conn.event("DISCONNECTED")


def some_ulpdus(rnd, rw):
    """Yields valid ULPDUs: Writes, Sends and Reads."""
    sends = reads = 0
    for _ in range(rnd.randrange(2, 12)):
        kind = rnd.randrange(3)
        if kind == 1 and sends < 4:
            sends += 1
            yield wire.send(sends, rnd.randbytes(rnd.randrange(64)))
        elif kind == 2 and reads < 4:
            reads += 1
            yield wire.read_req(reads, rnd.randrange(64), rw.stag, rw.base)
        else:
            yield wire.write(rw.stag, rw.base, rnd.randbytes(rnd.randrange(64)))


def mutant(rnd, ppid, data):
    """The chunk with one random change."""
    at = rnd.randrange(len(data))
    kind = rnd.randrange(6)
    if kind == 0:
        return rnd.randrange(20), data
    if kind == 1:
        return ppid, data[:at + 1]
    if kind == 2:
        return ppid, data[:at] + rnd.randbytes(rnd.randrange(1, 2000)) + data[at:]
    if kind == 3:
        return ppid, data[at:] + data[:at]
    changed = bytes([data[at] ^ 1 << rnd.randrange(8)])
    return ppid, data[:at] + changed + data[at + 1:]


def send_mutants(rnd, peer, rw):
    """Chunks of a session, in any order, some of them changed."""
    chunks = [(SEGMENT, struct.pack(">H", ssn) + ulpdu)
              for ssn, ulpdu in enumerate(some_ulpdus(rnd, rw), start=1)]
    chunks.append((CONTROL, sctp_peers.control(len(chunks) + 1, TERMINATE)))
    if rnd.random() < 0.3:
        rnd.shuffle(chunks)
    for chunk in chunks:
        peer.send(*(mutant(rnd, *chunk) if rnd.random() < 0.2 else chunk))


@case
# Covers: SCTP-17
def mutants(bench):
    """sessions with chunks changed at random: each ends, no other memory is written"""
    seed = int(os.environ.get("XIW_SEED") or random.randrange(1 << 32))
    rnd = random.Random(seed)
    bench.policy(rnr_timeout_ms=20)
    target = bench.target
    before = target.peek("other", 0, 64)
    end = time.monotonic() + MUTANT_TIME
    done = 0
    while done < MUTANTS and time.monotonic() < end:
        peer, conn = bench.open()
        with contextlib.suppress(OSError):
            send_mutants(rnd, peer, target.rw)
            if rnd.random() < 0.5:
                shut_down(peer)
        peer.close()
        bench.peers.remove(peer)
        conn.event("DISCONNECTED")
        conn.free()
        target.conns.remove(conn)
        done += 1
    print(f"# {done} sessions, seed {seed}")
    assert target.peek("other", 0, 64) == before, "it was written"


def aborted(peer):
    peer.reset()


def shut_down(peer):
    peer.sock.shutdown(socket.SHUT_WR)


# Covers: SCTP-48
@cases([
    ("abort", "the ULP learns of an ABORT", aborted),
    ("shutdown", "and of a SHUTDOWN", shut_down),
    ("terminate", "and of a Terminate", Peer.finished),
])
def ends(bench, end):
    peer, conn = bench.open()
    end(peer)
    conn.event("DISCONNECTED")
    for number in range(4):
        conn.wc(f"r{number}", FLUSH)


# Covers: SCTP-48
@cases([
    ("gap_shutdown", "a SHUTDOWN while an early segment waits for an SSN that was left out",
     SEGMENT, sctp_peers.write(2)),
    ("gap_terminate", "and while a Terminate waits for it", CONTROL,
     sctp_peers.control(2, TERMINATE)),
])
def ends_with_gap(bench, ppid, data):
    peer, conn = bench.open()
    early = bench.counter("rx_early_chunks")
    peer.send(ppid, data)
    shut_down(peer)
    conn.event("DISCONNECTED")
    for number in range(4):
        conn.wc(f"r{number}", FLUSH)
    assert bench.counter("rx_early_chunks") == early + 1


@case
# Covers: SCTP-17
def early_twice(bench):
    """an SSN that is used twice, both times early"""
    peer, conn = bench.open()
    for _ in range(2):
        later_segment(peer, 1, wire.write(0, 0))
    peer.expect_control(TERMINATE)
    peer.expect_shutdown()
    broken(conn)


def restart(bench, peer):
    """The peer drops the association without a packet, and begins another one between
    the same ports."""
    name = peer.sock.getsockname()[:2]
    with without_answers():
        peer.reset()
    sock = sctp_peers.new_socket(family=bench.family)
    other = Peer(sock)
    bench.peers.append(other)
    sock.bind(name)
    sock.connect((bench.addr_a, PASSIVE))
    return other


@case
# Covers: SCTP-12
def restarted(bench):
    """a peer that restarts its association: the session is lost, and begins no other"""
    peer, conn = bench.open()
    # The device may abort it before the peer sees that it is established.
    with contextlib.suppress(ConnectionError):
        restart(bench, peer).expect_end()
    conn.event("DISCONNECTED")
    for number in range(4):
        conn.wc(f"r{number}", FLUSH)
    bench.target.no_request()


@case
# Covers: SCTP-12
def restarted_waiting(bench):
    """while a Send waits for a receive: the new association's chunks are not read"""
    rw = bench.target.rw
    peer, conn = stalled(bench)
    before = bench.target.peek("rw", 0, 8)
    other = restart(bench, peer)
    # The SSN that would be the next one in the old association
    other.send(SEGMENT, struct.pack(">H", peer.sent) +
               wire.write(rw.stag, rw.base, DATA))
    conn.recv()
    conn.event("DISCONNECTED")
    other.ends()
    assert bench.target.peek("rw", 0, 8) == before, "it was written"


@case
# Covers: SCTP-12 SCTP-19 SCTP-27
def disconnects(bench):
    """the ULP disconnects: a Terminate, and the association ends with the session"""
    peer, conn = bench.open()
    conn.disconnect()
    peer.expect_control(TERMINATE)
    peer.control(TERMINATE)
    peer.expect_end()
    conn.event("DISCONNECTED")


@case
# Covers: SCTP-19
def terminate_later(bench):
    """no memory for a Terminate: it is sent when there is some"""
    refusal = Refusal("xiw_sctp_end_session")
    bench.policy(close_timeout_ms=120000)
    peer, conn = bench.open()
    with refusal:
        conn.disconnect()
        peer.expect_silence()
    peer.expect_control(TERMINATE)
    peer.control(TERMINATE)
    peer.expect_end()
    conn.event("DISCONNECTED")


# ---- segments that wait in the socket's queue ------------------------------

def stalled(bench, behind=()):
    """A session in which the first Send waits for a receive."""
    bench.policy(rnr_timeout_ms=20000)
    waits = bench.counter("rx_rnr_waits")
    peer, conn = bench.open(recvs=0)
    peer.segment(wire.send(1, DATA))
    for ulpdu in behind:
        peer.segment(ulpdu)
    while bench.counter("rx_rnr_waits") == waits:
        conn.nothing("event")
    return peer, conn


def numbered(number):
    return struct.pack(">Q", number)


def later_segment(peer, distance, ulpdu):
    """Sends a segment whose SSN is DISTANCE after the next one, and does not count
    it."""
    peer.send(SEGMENT, struct.pack(">H", peer.sent + distance & 0xFFFF) + ulpdu)


@case
def waits_for_receive(bench):
    """a Send without a receive waits, and all behind it; receives end that"""
    rw = bench.target.rw
    peer, conn = stalled(bench, [wire.write(rw.stag, rw.base, DATA[::-1]),
                                 wire.send(2, DATA[::-1])])
    conn.nothing("wc")
    conn.recv()
    conn.wc("r0", data=DATA.hex())
    conn.recv()
    conn.wc("r1", data=DATA[::-1].hex())
    assert bench.target.peek("rw", 0, 8) == DATA[::-1]
    peer.finished()
    conn.event("DISCONNECTED")


@case
def early_behind_waiting(bench):
    """early segments behind one that waits for a receive"""
    peer, conn = stalled(bench)
    for first in 2, 5, 8:
        # Send the second segment first, then the first and the third one.
        later_segment(peer, 1, wire.send(first + 1, numbered(first + 1)))
        peer.segment(wire.send(first, numbered(first)))
        peer.sent += 1
        peer.segment(wire.send(first + 2, numbered(first + 2)))
    conn.recv()
    conn.wc("r0", data=DATA.hex())
    for number in range(1, 10):
        conn.recv()
        conn.wc(f"r{number}", data=numbered(number + 1).hex())
    peer.finished()
    conn.event("DISCONNECTED")


@case
# Covers: SCTP-16 SCTP-42
def pairs_swapped(bench):
    """of 400 Sends each second one arrives before the one in front of it"""
    peer, conn = bench.open(recvs=32)
    done = 0
    for msn in range(1, 401, 2):
        later_segment(peer, 1, wire.send(msn + 1, numbered(msn + 1)))
        peer.segment(wire.send(msn, numbered(msn)))
        peer.sent += 1
        # Send it without a delay, so that both are in the queue when the first is read.
        while done < msn - 15:
            conn.wc(f"r{done}", data=numbered(done + 1).hex())
            conn.recv()
            done += 1
    while done < 400:
        conn.wc(f"r{done}", data=numbered(done + 1).hex())
        done += 1
    peer.finished()
    conn.event("DISCONNECTED")


@case
# Covers: SCTP-18
def terminate_behind_waiting(bench):
    """a Terminate behind a Send that waits for a receive: the Send is first"""
    peer, conn = stalled(bench)
    peer.control(TERMINATE)
    conn.nothing("event")
    conn.recv()
    conn.wc("r0", data=DATA.hex())
    peer.expect_control(TERMINATE)
    peer.expect_end()
    conn.event("DISCONNECTED")


@case
# Covers: SCTP-17
def bad_behind_waiting(bench):
    """a chunk that fits no pattern behind a Send that waits for a receive"""
    peer, conn = stalled(bench, [wire.write(0, 0)])
    peer.send(18, sctp_peers.write(peer.sent))
    conn.nothing("event")
    conn.recv()
    conn.wc("r0", data=DATA.hex())
    peer.ends()
    conn.event("DISCONNECTED")


# Covers: SCTP-48
@cases([
    ("abort_waiting", "an ABORT while a Send waits for a receive", aborted),
    ("shutdown_waiting", "a SHUTDOWN", shut_down),
])
def ends_while_waiting(bench, end):
    rw = bench.target.rw
    peer, conn = stalled(bench, [wire.write(rw.stag, rw.base, DATA)] * 20)
    end(peer)
    if end == shut_down:
        conn.recv()
        conn.wc("r0", data=DATA.hex())
    conn.event("DISCONNECTED")


@case
def freed_while_waiting(bench):
    """the ULP frees its connection while a Send waits for a receive"""
    rw = bench.target.rw
    peer, conn = stalled(bench, [wire.write(rw.stag, rw.base, DATA)] * 20)
    conn.free()
    bench.target.conns.remove(conn)
    peer.expect_control(TERMINATE)
    peer.control(TERMINATE)
    peer.expect_end()


@case
# Covers: SCTP-42
def window_closes(bench):
    """a receive that comes late, when the window is full of Writes"""
    rw = bench.target.rw
    peer, conn = stalled(bench)
    peer.sock.settimeout(live.SILENCE)
    posted = 0
    try:
        while True:
            peer.segment(wire.write(rw.stag, rw.base, numbered(posted)))
            posted += 1
    except TimeoutError:
        pass
    peer.sock.settimeout(live.PATIENCE)
    # The Send that SCTP refused for lack of room has used no SSN.
    assert posted > 100, posted
    conn.recv()
    conn.wc("r0", data=DATA.hex())
    peer.segment(wire.send(2, numbered(posted)))
    conn.recv()
    conn.wc("r1", data=numbered(posted).hex())
    assert bench.target.peek("rw", 0, 8) == numbered(posted - 1)
    peer.finished()
    conn.event("DISCONNECTED")


@case
# Covers: SCTP-38
def fragments(bench):
    """segments that the peer sends in fragments, in order and early"""
    rw = bench.target.rw
    size = min(rw.len, 4096)
    data = [bytes([fill]) * size for fill in (1, 2, 3)]
    peer, conn = bench.open()
    peer.segment(wire.write(rw.stag, rw.base, data[0]))
    later_segment(peer, 1, wire.write(rw.stag, rw.base, data[2]))
    peer.segment(wire.write(rw.stag, rw.base, data[1]))
    peer.sent += 1
    peer.segment(wire.send(1, DATA))
    conn.wc("r0", data=DATA.hex())
    assert bench.target.peek("rw", 0, 8) == data[2][:8]
    peer.finished()
    conn.event("DISCONNECTED")


# ---- the device is the active side -----------------------------------------

@case
# Covers: SCTP-07 SCTP-53 SCTP-64
def rtr_first(bench):
    """an Initiate with Private Data; the RTR is the first segment"""
    peer, conn = bench.called(data=b"hi there")
    peer.expect_control(5, P2P + b"hi there")
    peer.expect_silence()
    peer.control(6, P2P + b"welcome")
    peer.expect_segment(wire.RTR["C"])
    conn.event("ESTABLISHED", status=0, data=b"welcome".hex())
    conn.post("send", 8)
    ppid, data = peer.recv()
    assert ppid == SEGMENT and data[2:20] == wire.send(1), data.hex()
    peer.segment(wire.send(1, DATA))
    conn.wc("s0")
    conn.wc("r0", data=DATA.hex())
    peer.finished()
    conn.event("DISCONNECTED")


@case
# Covers: SCTP-67
def plain_initiate(bench):
    """policy of revision 1: an Initiate without enhanced data, no RTR"""
    bench.policy(revision=1)
    peer, conn = bench.called(data=b"x")
    peer.expect_control(1, b"x")
    peer.control(2, b"y")
    conn.event("ESTABLISHED", status=0, data=b"y".hex())
    peer.expect_silence()


# Covers: SCTP-10 SCTP-21
@cases([
    ("rejected_3", "a plain Reject reaches the ULP with its Private Data", 3,
     b"no"),
    ("rejected_7", "and an enhanced one", 7, wire.enhanced(0x8010, 0xC020) +
     b"no"),
])
def rejected(bench, code, data):
    peer, conn = bench.called()
    peer.expect_control(5, P2P)
    peer.control(code, data)
    peer.expect_end()
    fields = conn.event("REJECTED", data=b"no".hex())
    assert fields["status"] == str(-errno.ECONNREFUSED), fields


# Covers: SCTP-17 SCTP-55
@cases([
    ("answer_2", "a plain Accept of an enhanced Initiate", CONTROL,
     sctp_peers.control(0, 2)),
    ("answer_1", "an Initiate as the answer", CONTROL,
     sctp_peers.control(0, 1)),
    ("answer_5", "an enhanced Initiate as the answer", CONTROL,
     sctp_peers.control(0, 5, P2P)),
    ("answer_segment", "a segment as the answer", SEGMENT,
     sctp_peers.write(0)),
    ("answer_0", "an unknown code", CONTROL, sctp_peers.control(0, 0)),
    ("answer_short", "an answer that is too short", CONTROL, b"\0\0\0"),
    ("answer_ppid", "an answer of another protocol", 18,
     sctp_peers.control(0, 6, P2P)),
    ("answer_stray", "an SSN out of range", CONTROL,
     sctp_peers.control(5000, 6, P2P)),
])
def bad_answer(bench, ppid, data):
    peer, conn = bench.called()
    peer.expect_control(5, P2P)
    peer.send(ppid, data)
    peer.ends()
    not_connected(bench, conn, errno.EPROTO)


# Covers: SCTP-17 SCTP-24
@cases([(f"pattern_accept_{code}", f"and on the active side, code {code}", code)
        for code in (1, 2, 3, 5, 6, 7)])
def no_other_pattern_active(bench, code):
    peer, conn = bench.called()
    peer.expect_control(5, P2P)
    peer.control(6, P2P)
    peer.expect_segment(wire.RTR["C"])
    conn.event("ESTABLISHED", status=0)
    peer.control(code, P2P if code > 4 else b"")
    peer.expect_control(TERMINATE)
    peer.expect_shutdown()
    broken(conn)


# Covers: SCTP-28 SCTP-29 SCTP-30 SCTP-45
@cases([
    ("no_indication", "an association without indication: nothing is sent", 0),
    ("indication_7", "an association for another protocol", 7),
])
def foreign(bench, indication):
    peer, conn = bench.called(indication)
    peer.expect_end()
    not_connected(bench, conn, errno.EPROTO)


# Covers: SCTP-61 SCTP-63 SCTP-64
@cases([
    ("term_6", "an ORD beyond the device: 0x2006", 0x8004, 0x8000 | 256,
     0x2006, errno.ENOMEM),
    ("term_7", "no RTR type that can be sent: 0x2007", 0x8010, 0x10, 0x2007,
     errno.EOPNOTSUPP),
])
def disagreed(bench, first, second, code, error):
    peer, conn = bench.called(ird=2)
    ppid, _ = peer.recv()
    assert ppid == CONTROL
    peer.control(6, wire.enhanced(first, second))
    peer.expect_segment(wire.terminate(code))
    peer.expect_control(TERMINATE)
    peer.control(TERMINATE)
    peer.expect_end()
    not_connected(bench, conn, error)


@case
# Covers: SCTP-65
def no_memory(bench):
    """no memory for what was agreed on: 0x2005, and the ULP gets ENOMEM"""
    refusal = Refusal("xiw_stream_start")
    peer, conn = bench.called()
    peer.expect_control(5, P2P)
    with refusal:
        peer.control(6, P2P)
        peer.expect_segment(wire.terminate(0x2005))
    peer.expect_control(TERMINATE)
    peer.control(TERMINATE)
    peer.expect_end()
    not_connected(bench, conn, errno.ENOMEM)


@case
# Covers: SCTP-48
def lost(bench):
    """an ABORT behind the Accept: established, then disconnected, all flushed"""
    peer, conn = bench.called()
    peer.expect_control(5, P2P)
    peer.control(6, P2P)
    peer.expect_segment(wire.RTR["C"])
    conn.event("ESTABLISHED", status=0)
    peer.reset()
    conn.event("DISCONNECTED")
    for number in range(4):
        conn.wc(f"r{number}", FLUSH)


if __name__ == "__main__":
    sys.exit(main(Bench))
