#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""pyverbs_run.py SUITE DEVICE ADDRESS EXCEPTIONS

Runs rdma-core's own tests (the directory SUITE, as python3-pyverbs has it) on
DEVICE, whose interface has ADDRESS, and speaks TAP.

A case has to pass unless EXCEPTIONS has it: a line each, pattern of its name
and reason.  A case there that passes, and a pattern that is no case's, are
failures, too: the list is to be true.
"""

import fnmatch
import importlib.machinery
import os
import pathlib
import re
import sys
import time
import unittest


def plural(count):
    return f"{count} case" + ("s" if count != 1 else "")


# ---- what is different about iWARP -----------------------------------------

class Traffic:
    """A Write completes before its data is at the peer, where the suite looks
    at once, and nothing tells when: wait until no more arrives."""

    QUIET = 0.03

    def __init__(self, device):
        directory = pathlib.Path("/sys/class/infiniband", device,
                                 "ports/1/hw_counters")
        (directory / "lifespan").write_text("0")
        self.counter = directory / "rx_fpdus"

    def settle(self):
        seen = None
        while (now := self.counter.read_text()) != seen:
            seen = now
            time.sleep(self.QUIET)


def settled(resources, traffic):
    plain = resources.mem_read

    def mem_read(*args, **kwargs):
        traffic.settle()
        return plain(*args, **kwargs)
    return mem_read


def adapt(device, address):
    import tests.base
    tests.base.BaseResources.mem_read = settled(tests.base.BaseResources,
                                                Traffic(device))
    tests.base.RDMATestCase._get_ip_mac = \
        lambda case, dev, port, idx: case.args.append(
            [dev, port, idx, address, None])


# ---- the run ---------------------------------------------------------------

class Result(unittest.TestResult):
    """Tells judge of each case why it did not pass, or None."""

    def __init__(self, judge):
        super().__init__()
        self.judge = judge
        self.known = set()

    def note(self, test, why):
        name = test.id().removeprefix("tests.")
        if name not in self.known:
            self.known.add(name)
            self.judge.case(name, why)

    def addSuccess(self, test):
        self.note(test, None)

    def addSkip(self, test, reason):
        self.note(test, f"skipped: {reason}")

    def addFailure(self, test, err):
        self.note(test, self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err:
            self.addFailure(test, err)


def load(suite):
    sys.path.insert(0, suite)
    path = os.path.join(suite, "__init__.py")
    tests = importlib.machinery.SourceFileLoader("tests", path).load_module()
    from args_parser import parser
    parser.parse_args()
    return tests


def exceptions(path):
    """[(pattern, reason)]"""
    with open(path, encoding="ascii") as file:
        lines = [line.strip() for line in file]
    return [tuple(re.split(r"\s+", line, maxsplit=1)) for line in lines
            if line and not line.startswith("#")]


def flat(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flat(item)
        else:
            yield item


def in_order(suite):
    """Those first that fork: what librdmacm has opened by then would be the
    parent's, and the kernel refuses that to the children."""
    return unittest.TestSuite(
        sorted(flat(suite), key=lambda case: "test_rdmacm" not in case.id()))


class Judge:
    """Speaks TAP."""

    def __init__(self, excepted):
        self.excepted = excepted
        self.used = {pattern: 0 for pattern, _ in excepted}
        self.count = 0
        self.failed = 0

    def claim(self, holds, what, why=""):
        self.count += 1
        self.failed += not holds
        print("ok" if holds else "not ok", self.count, "-", what)
        if not holds:
            print("".join(f"#   {line}\n" for line in why.splitlines()),
                  end="")
        sys.stdout.flush()

    def case(self, name, why):
        for pattern, reason in self.excepted:
            if not fnmatch.fnmatchcase(name, pattern):
                continue
            self.used[pattern] += 1
            if why is None:
                self.claim(False, f"{name} does not pass",
                           f"it does, though the list says: {reason}")
            return
        self.claim(why is None, name, why or "")

    def end(self):
        for pattern, reason in self.excepted:
            count = self.used[pattern]
            self.claim(count, f"{pattern} ({plural(count)}): {reason}",
                       "no case has this name")
        print(f"1..{self.count}")
        return 1 if self.failed else 0


def main():
    suite, device, address, listed = sys.argv[1:]
    sys.argv[1:] = ["--dev", device, "--port", "1"]
    tests = load(suite)
    adapt(device, address)
    judge = Judge(exceptions(listed))
    cases = unittest.defaultTestLoader.loadTestsFromModule(tests)
    in_order(cases).run(Result(judge))
    return judge.end()


sys.exit(main())
