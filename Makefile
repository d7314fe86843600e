# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Wrapper targets; "make help" and "make help-all" list them.  Everything built lies in build/,
# what is worth keeping between clones in $(XIW_CACHE).

KDIR	?= $(shell scripts/pick-kdir)
O	:= $(CURDIR)/build
DESTDIR	?=

export XIW_CACHE

all: module provider

help:
	@sed -n 's/^#: //p' Makefile
	@echo; echo "make help-all lists the other targets and the variables."

help-all: help
	@echo; sed -n 's/^#+ \{0,1\}//p' Makefile

#: make                the kernel module and the user-space provider
#: make install        both, into this system, for the running kernel
#: make demo           boot the stock kernel in QEMU and show xiw at work
#: make check          the tests that every change has to pass
#: make selftests      the end-to-end tests; T="name ..." chooses
#: make kunit          the KUnit suites
#: make lint           the static checks; L="name ..." chooses
#: make vm             a shell in a guest with xiw loaded; K=stock, uml, kasan or debug
#: make bench          throughput and latency of xiw, siw and TCP, with plots
#: make deb            Debian packages in build/deb, the module for DKMS

#+ Build and package
#+   make module          the kernel module alone, for the running kernel or, without
#+                        its headers, the distribution's; or KDIR=build-dir
#+   make provider        the provider alone, for the installed libibverbs
#+   make uninstall       remove the files of make install
#+   make rpm             RPM packages in build/rpm
#+   make dist            the committed tree as an archive with checksums, build/dist
#+   make patches         patches for a kernel and an rdma-core tree, build/patches
#+   make series          patch series for the mailing lists, with cover letters: core
#+                        fixes, driver, provider; build/series
#+   make progs           the programs of the end-to-end tests
#+   make clean           remove build/
#+
#+ More tests
#+   make check-long      every end-to-end test that can run on the debug kernel, with
#+                        the leak scan; takes hours
#+   make check-core      tests of connections on a kernel with
#+                        packaging/patches-for/linux
#+   make check-races     tests of the data path on a kernel with KCSAN
#+   make check-rt        these on a real-time kernel (PREEMPT_RT) with lockdep
#+   make check-ulp       storage protocols and other RDMA applications, on the
#+                        distribution's kernel
#+   make check-pyverbs   only rdma-core's own tests, of three releases (part of check-ulp)
#+   make check-guests    only the tests with two guests (part of check-ulp)
#+   make check-packaging packages, patches, series and the patched trees
#+   make check-places    make demo and selftests where a newcomer may stand: root's home,
#+                        a full disk, a user without packages, ...
#+   make check-series    do the series apply to Linux 7.3, and does the driver compile
#+                        there? A part of check-packaging
#+   make check-kernels   build for every kernel of the mirror, and test on the stock
#+                        kernel of each series
#+   make check-arch      arm64 and s390x (big-endian), alone and with this machine
#+   make check-blktests  the groups nvme and srp of blktests, on xiw and siw;
#+                        BLKTESTS=directory of a built checkout
#+   make check-xfstests  xfstests over NFS with RDMA and with TCP;
#+                        XFSTESTS=directory of a built checkout
#+   make prove           prove with Frama-C that no input of a peer or process leads to
#+                        undefined behaviour in the protocol files and the framing, and
#+                        that proofs refuse changes which break them
#+   make fuzz            fuzz the protocol files, RUNS=executions per target; prints
#+                        their coverage
#+
#+ More measurements
#+   make bench FORM=short     some minutes; ON=uml runs in User Mode Linux, without
#+                             emulation
#+   make bench FORM=number    connections by queue pair number, beside rxe
#+   make bench FORM=many      1 to 256 queue pairs
#+   make bench FORM=idle      10000 connections
#+   make bench FORM=delay     bulk over paths with delay and loss
#+   make bench FORM=sctp      connections over SCTP, beside SCTP as such
#+   make bench FORM=ulp       storage targets of the kernel, with delay
#+   make profile WHAT="write 65536"   profile one benchmark in User Mode Linux
#+                                     ("send 64", "read 64 crc", ...)
#+
#+ Variables
#+   T="name ..."         tests to run (all). With T the selftests run without the leak
#+                        scan; LEAKS=1 enables it
#+   K=stock|uml|kasan|vtime|core|debug|kcsan|rt   kernel for the selftests
#+   KDIR                 kernel build directory
#+   XIW_CACHE            directory of kernels and sources (~/.cache/xiw)
#+   XIW_ACCEL            tcg, or kvm if the machine has it
#+   XIW_SERIES           kernel series of the tests (6.12), from this distribution or
#+                        the suite XIW_SUITE
#+   XIW_REROLL           N: make series writes version N of the series, [PATCH vN]
#+   XIW_ANY_SENDER       1: make series takes an identity that gets no answers
#+   XIW_LINK_TYPE        xiw; siw and rxe run the tests on the kernel's own drivers
#+   RDMA_CORE_SRC        an unpacked rdma-core source with the private ABI of the
#+                        installed libibverbs; default: this distribution's, or that
#+                        of the suite XIW_RDMA_CORE_SUITE

module:
	@scripts/build-module "$(KDIR)"

provider:
	@scripts/build-provider

progs:
	@scripts/build-progs

install: all
	@scripts/install "$(KDIR)" "$(DESTDIR)"

uninstall:
	@scripts/install --remove "$(KDIR)" "$(DESTDIR)"

deb:
	@packaging/make-deb

rpm:
	@packaging/make-rpm

dist:
	@packaging/make-dist

patches:
	@packaging/make-patches

series:
	@packaging/make-series

demo:
	@tests/demo/run

check:
	@tests/check host ends selftests

check-long:
	@T="$(T)" tests/check long

check-core:
	@T="$(T)" tests/check core

check-races:
	@T="$(T)" tests/check races

check-rt:
	@T="$(T)" tests/check rt

check-places:
	@tests/places $(T)

check-packaging:
	@tests/packaging/run $(or $(T),full)

check-series:
	@tests/packaging/run driver

check-ulp:
	@T="$(T)" LEAKS="$(LEAKS)" tests/check ulp $(if $(T),,guests)

check-guests:
	@tests/check guests

check-pyverbs:
	@T="pyverbs pyverbs-trixie pyverbs-newest" LEAKS="$(LEAKS)" tests/check ulp

check-blktests:
	@T="$(T)" BLKTESTS="$(BLKTESTS)" tests/check blktests

check-xfstests:
	@T="$(T)" XFSTESTS="$(XFSTESTS)" tests/check xfstests

check-kernels:
	@T="$(T)" tests/check kernels

check-arch:
	@T="$(T)" tests/check arch

bench:
	@tests/bench/run $(or $(FORM),full) $(ON)

profile:
	@tests/bench/profile "$(WHAT)"

kunit:
	@T=kunit K="$(K)" LEAKS=1 tests/check selftests

selftests:
	@T="$(T)" K="$(K)" LEAKS="$(LEAKS)" tests/check selftests

fuzz:
	@T="$(T)" RUNS="$(RUNS)" tests/fuzz/run fuzz

prove:
	@tests/prove/run $(T)

vm:
	@tests/vm/shell "$(or $(K),stock)"

lint:
	@tests/lint/run $(L)

clean:
	rm -rf build

.PHONY: all help help-all module provider progs install uninstall deb rpm dist \
	patches series demo check check-arch check-blktests check-core check-guests \
	check-kernels check-long check-packaging check-places check-pyverbs check-races \
	check-rt check-series check-ulp check-xfstests bench profile kunit \
	selftests fuzz prove vm lint clean
