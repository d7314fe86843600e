# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Wrapper targets; "make help" lists them.  Everything built lies in build/,
# what is worth keeping between clones in $(XIW_CACHE).

KDIR	?= $(shell tests/qemu/pick-kdir)
O	:= $(CURDIR)/build
DESTDIR	?=

export XIW_CACHE

all: module provider

help:
	@sed -n 's/^#: //p' Makefile

#: make                 the kernel module and the user-space provider
#: make module          the module for the running kernel, or without its headers for
#:                      the distribution's; or KDIR=build-dir
#: make provider        the provider for the installed libibverbs
#: make install         both, into this system; the module for the running kernel,
#:                      or KDIR=build-dir; make uninstall removes them
#: make deb             Debian packages of both in build/deb, the module for DKMS
#: make rpm             RPM packages of the same in build/rpm
#: make dist            the committed tree as an archive with checksums, in
#:                      build/dist
#: make patches         both as patches for a kernel and an rdma-core tree, in
#:                      build/patches
#: make demo            boot the stock kernel in QEMU and show xiw at work
#: make check           what every change has to pass, in QEMU on a debug kernel and
#:                      on the stock one, in User Mode Linux, and the basic test on
#:                      the oldest and the newest kernel
#: make check-long      all of the end-to-end tests that can run there on the debug
#:                      kernel with the leak scan, with those that take long and
#:                      seldom find anything; T="name ..." chooses
#: make check-races     the data path on a kernel that looks for data races;
#:                      T="name ..." chooses
#: make check-packaging packages and patches, in all trees they are for;
#:                      T="name ..." chooses parts
#: make check-ulp       storage protocols and other consumers of RDMA, on the
#:                      distribution's kernel; T="name ..." chooses
#: make check-pyverbs   of these only the tests of rdma-core itself, of three
#:                      releases
#: make check-guests    of these only the two guests that talk to each other
#: make check-blktests  blktests' groups nvme and srp on xiw and siw, from a
#:                      checkout with its programs built, BLKTESTS=directory;
#:                      T="nvme/004 ..." chooses
#: make check-xfstests  xfstests over NFS with RDMA and with TCP, from a checkout
#:                      that is built, XFSTESTS=directory; T="generic/091 ..."
#:                      chooses
#: make check-kernels   the driver builds for every kernel that the mirror has,
#:                      and works on the stock kernel of each series;
#:                      T="name ..." chooses what runs there
#: make check-arch      the driver works on arm64 and s390x, which has the other
#:                      byte order, and these talk to this machine's kind;
#:                      T="name ..." chooses what runs there
#: make bench           measure xiw, siw and TCP side by side; table and plots in
#:                      build/bench; FORM=short takes some minutes; ON=uml is
#:                      without emulation, in User Mode Linux; FORM=number
#:                      is for connections by number, beside rxe, FORM=many for
#:                      1 to 256 queue pairs, FORM=idle for 10000 connections
#: make profile         where the time of a benchmark goes, WHAT="write 65536",
#:                      "send 64", "read 64 crc", ..., in User Mode Linux
#: make kunit           only the KUnit suites
#: make selftests       only the end-to-end tests; T="name ..." chooses;
#:                      with T the leak scan is left out, LEAKS=1 keeps it;
#:                      K=stock runs them on the stock kernel, K=uml in User Mode
#:                      Linux, K=debug on the debug kernel where they can be,
#:                      K=kcsan on the one that looks for data races
#: make fuzz            fuzz the protocol files, RUNS=executions per target,
#:                      T="name ..." chooses; ends with their coverage
#: make progs           only the programs of the end-to-end tests
#: make vm              a shell in a guest with xiw loaded; K=stock, uml, debug
#:                      or kcsan
#: make lint            all static checks; L="name ..." chooses
#: make clean           remove build/
#:
#: Variables: KDIR (kernel build directory), XIW_CACHE (~/.cache/xiw: kernels,
#: sources), XIW_ACCEL (tcg, or kvm where it works), XIW_SERIES (6.12; another
#: one, 6.1 or 7.3 say, is this distribution's or that of the suite XIW_SUITE:
#: its stock kernel, or a debug kernel from its source), XIW_LINK_TYPE (xiw; siw
#: and rxe run the tests on the kernel's own drivers instead), RDMA_CORE_SRC (an
#: unpacked rdma-core source with the private ABI of the installed libibverbs;
#: without it that of this Debian release is fetched, or of the suite
#: XIW_RDMA_CORE_SUITE).

module:
	@tests/qemu/build-module "$(KDIR)"

provider:
	@tests/qemu/build-provider

progs:
	@tests/qemu/build-progs

install: all
	@tests/qemu/install "$(KDIR)" "$(DESTDIR)"

uninstall:
	@tests/qemu/install --remove "$(KDIR)" "$(DESTDIR)"

deb:
	@packaging/make-deb

rpm:
	@packaging/make-rpm

dist:
	@packaging/make-dist

patches:
	@packaging/make-patches

demo:
	@tests/demo/run

check:
	@tests/qemu/check host ends selftests

check-long:
	@T="$(T)" tests/qemu/check long

check-races:
	@T="$(T)" tests/qemu/check races

check-packaging:
	@tests/packaging/run $(or $(T),full)

check-ulp:
	@T="$(T)" LEAKS="$(LEAKS)" tests/qemu/check ulp $(if $(T),,guests)

check-guests:
	@tests/qemu/check guests

check-pyverbs:
	@T="pyverbs pyverbs-trixie pyverbs-newest" LEAKS="$(LEAKS)" tests/qemu/check ulp

check-blktests:
	@T="$(T)" BLKTESTS="$(BLKTESTS)" tests/qemu/check blktests

check-xfstests:
	@T="$(T)" XFSTESTS="$(XFSTESTS)" tests/qemu/check xfstests

check-kernels:
	@T="$(T)" tests/qemu/check kernels

check-arch:
	@T="$(T)" tests/qemu/check arch

bench:
	@tests/bench/run $(or $(FORM),full) $(ON)

profile:
	@tests/uml/profile "$(WHAT)"

kunit:
	@T=kunit K="$(K)" LEAKS=1 tests/qemu/check selftests

selftests:
	@T="$(T)" K="$(K)" LEAKS="$(LEAKS)" tests/qemu/check selftests

fuzz:
	@T="$(T)" RUNS="$(RUNS)" tests/fuzz/run fuzz

vm:
	@tests/qemu/shell "$(or $(K),stock)"

lint:
	@tests/lint/run $(L)

clean:
	rm -rf build

.PHONY: all help module provider progs install uninstall deb rpm dist patches \
	demo check check-arch check-blktests check-guests check-kernels \
	check-long check-packaging check-pyverbs check-races check-ulp \
	check-xfstests bench profile kunit selftests fuzz vm lint clean
