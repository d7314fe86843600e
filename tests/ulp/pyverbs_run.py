#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""pyverbs_run.py SUITE DEVICE ADDRESS EXCEPTIONS

Runs rdma-core's own tests (the directory SUITE, as python3-pyverbs has it) on
DEVICE, whose interface has ADDRESS, and prints TAP.

A case must pass unless a line of EXCEPTIONS has a pattern that matches its name,
followed by the reason.  A listed case that passes, and a pattern that matches no
case, are failures, too.  A pattern can be limited to releases of rdma-core and of
the kernel: with @65- the line is for rdma-core 65 and later, with @44-56 for 44 to
56, with @linux:-6.16 for Linux up to 6.16.  With @sometimes a case may pass or fail.
"""

import collections
import fnmatch
import importlib.machinery
import os
import pathlib
import platform
import re
import sys
import time
import unittest


def plural(count):
    return f"{count} case" + ("s" if count != 1 else "")


# ---- what is different about iWARP -----------------------------------------

class Traffic:
    """Waits until no more data arrives.  The suite checks the target of a Write when
    the Write has completed, but the data may arrive later."""

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
    """Passes to judge each case, and the reason why it did not pass, or None."""

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


def numbers(version):
    """The numbers of a version, such as (6, 12, 117) of 6.12.117-amd64"""
    found = re.match(r"[\d.]*", version)[0]
    return tuple(map(int, filter(None, found.split("."))))


def within(span, version):
    """Is a version one of FIRST-LAST, FIRST-, -LAST or ONE?"""
    first, to, last = span.partition("-")
    low, high = numbers(first), numbers(last if to else first)
    return low <= version and (not high or version[:len(high)] <= high)


def release():
    """The release of rdma-core, 44.0 if the name of libibverbs ends in 1.14.44.0"""
    maps = pathlib.Path("/proc/self/maps").read_text()
    return re.search(r"/libibverbs\.so\.\d+\.\d+\.([\d.]+)$", maps, re.M)[1]


def here(conditions):
    """True if rdma-core and the kernel meet these conditions, such as @44-56"""
    found = {"": release(), "linux:": platform.release()}
    return all(within(span, numbers(found[what]))
               for what, span in re.findall(r"@(linux:|)([^@]+)", conditions))


Excepted = collections.namedtuple("Excepted", "pattern reason sometimes")


def exceptions(path):
    """The exceptions that apply to this rdma-core and this kernel"""
    listed = []
    with open(path, encoding="ascii") as file:
        for line in filter(None, map(str.strip, file)):
            if line.startswith("#"):
                continue
            head, reason = re.split(r"\s+", line, maxsplit=1)
            sometimes = head.endswith("@sometimes")
            pattern, at, span = head.removesuffix("@sometimes").partition("@")
            if here(at + span):
                listed.append(Excepted(pattern, reason, sometimes))
    return listed


def flat(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flat(item)
        else:
            yield item


def in_order(suite):
    """The suite, with the cases that fork first: their children cannot use files that
    librdmacm has opened in the parent before."""
    return unittest.TestSuite(
        sorted(flat(suite), key=lambda case: "test_rdmacm" not in case.id()))


class Judge:
    """Prints the TAP lines of the cases, by the exceptions."""

    def __init__(self, excepted):
        self.excepted = excepted
        self.used = {each.pattern: 0 for each in excepted}
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
        for pattern, reason, sometimes in self.excepted:
            if not fnmatch.fnmatchcase(name, pattern):
                continue
            self.used[pattern] += 1
            if why is None and not sometimes:
                self.claim(False, f"{name} does not pass",
                           f"it does, though the list says: {reason}")
            return
        self.claim(why is None, name, why or "")

    def end(self):
        for pattern, reason, _ in self.excepted:
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
