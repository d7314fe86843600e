// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Other activities of processes: fork() with registered memory, and mappings of
 * every kind as regions, also those that change while they are registered.
 */
#include "xt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM	(4 * XT_PAGE)
#define FORKS	20

#ifndef SYS_memfd_secret
#define SYS_memfd_secret	447
#endif

/*
 * Sends the bytes at @at to the passive end and compares them; with @back also
 * in the other direction.
 */
static void round_trip(struct xt_pair *p, struct ibv_mr *mr, void *at,
		       __u64 seed, bool back)
{
	struct xt_buf far = xt_buf(&p->a, ROOM, XT_LOCAL);
	struct ibv_sge near_sge = {
		.addr = (__u64)at, .length = ROOM, .lkey = mr->lkey,
	};
	struct ibv_sge far_sge = xt_sge(&far, 0, ROOM);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, seed, &near_sge, 1);

	xt_recv(&p->a, seed, &far_sge, 1);
	xt_send(&p->b, &wr);
	xt_wc_ok(p->b.scq, seed);
	xt_wc_ok(p->a.rcq, seed);
	XT_SAME(far.p, ROOM, seed);
	if (back) {
		xt_fill(far.p, ROOM, seed + 1);
		wr = xt_wr(IBV_WR_SEND, seed + 1, &far_sge, 1);
		xt_recv(&p->b, seed + 1, &near_sge, 1);
		xt_send(&p->a, &wr);
		xt_wc_ok(p->a.scq, seed + 1);
		xt_wc_ok(p->b.rcq, seed + 1);
		XT_SAME(at, ROOM, seed + 1);
	}
	XT_GUARDS(&far);
	xt_buf_free(&far);
}

static void reap(pid_t pid)
{
	int status;

	XT_EQ(waitpid(pid, &status, 0), pid);
	XT_CHECK(WIFEXITED(status) && !WEXITSTATUS(status),
		 "the child ended with status 0x%x", status);
}

/*
 * The child writes to its copy of the memory, and lives until the pipe closes.
 */
static pid_t scribbler(void *at, int *told)
{
	int pipes[2];
	char byte;
	pid_t pid;

	XT_OK(pipe(pipes));
	pid = xt_fork();
	if (!pid) {
		close(pipes[1]);
		memset(at, 0xee, ROOM);
		_exit(read(pipes[0], &byte, 1) < 0);
	}
	close(pipes[0]);
	*told = pipes[1];
	return pid;
}

static void forks_with(struct xt_pair *p, void *at)
{
	struct ibv_mr *mr = XT_PTR(ibv_reg_mr(p->b.pd, at, ROOM, XT_LOCAL));
	int told, i;
	pid_t pid;

	for (i = 0; i < FORKS; i++) {
		pid = scribbler(at, &told);
		xt_fill(at, ROOM, 100 + 2 * i);
		round_trip(p, mr, at, 100 + 2 * i, true);
		close(told);
		reap(pid);
	}
	XT_OK(ibv_dereg_mr(mr));
}

static void test_fork(void)
{
	const struct xt_opts o = XT_OPTS;
	__u8 stack[ROOM + 2 * XT_PAGE];
	struct xt_pair p;
	void *heap;

	xt_pair(&p, &o, &o);
	heap = XT_PTR(aligned_alloc(XT_PAGE, ROOM));
	forks_with(&p, heap);
	/* Not aligned: the child shares pages with what is beside it. */
	forks_with(&p, stack + 100);
	free(heap);
	xt_hang_up(&p, &p.b);
}

static void test_system(void)
{
	const struct xt_opts o = XT_OPTS;
	struct xt_pair p;
	struct xt_buf buf;
	int i;

	xt_pair(&p, &o, &o);
	buf = xt_buf(&p.b, ROOM, XT_LOCAL);
	for (i = 0; i < FORKS; i++) {
		XT_EQ(system("true"), 0);
		xt_fill(buf.p, ROOM, 500 + 2 * i);
		round_trip(&p, buf.mr, buf.p, 500 + 2 * i, true);
	}
	xt_buf_free(&buf);
	xt_hang_up(&p, &p.b);
}

/* A child misuses its copy of the queues; those of the parent still work. */
static void test_inherited(void)
{
	const struct xt_opts o = XT_OPTS;
	struct xt_pair p;
	struct xt_buf buf;
	struct ibv_wc wc;
	pid_t pid;
	int status;
	int i;

	xt_pair(&p, &o, &o);
	buf = xt_buf(&p.b, ROOM, XT_LOCAL);
	pid = xt_fork();
	if (!pid) {
		for (i = 0; i < 1000; i++)
			ibv_poll_cq(p.b.rcq, 1, &wc);
		_exit(0);
	}
	for (i = 0; i < FORKS; i++) {
		xt_fill(buf.p, ROOM, 900 + 2 * i);
		round_trip(&p, buf.mr, buf.p, 900 + 2 * i, true);
	}
	XT_EQ(waitpid(pid, &status, 0), pid);
	xt_note("the child ended with status 0x%x", status);
	xt_fill(buf.p, ROOM, 1001);
	round_trip(&p, buf.mr, buf.p, 1001, true);
	xt_buf_free(&buf);
	xt_hang_up(&p, &p.b);
}

static void test_own(void)
{
	const struct xt_opts o = XT_OPTS;
	struct xt_pair parents;
	struct xt_pair mine;
	struct xt_buf buf;
	pid_t pid;

	xt_pair(&parents, &o, &o);
	buf = xt_buf(&parents.b, ROOM, XT_LOCAL);
	pid = xt_fork();
	if (!pid) {
		xt_pair(&mine, &o, &o);
		buf = xt_buf(&mine.b, ROOM, XT_LOCAL);
		xt_fill(buf.p, ROOM, 7);
		round_trip(&mine, buf.mr, buf.p, 7, true);
		xt_buf_free(&buf);
		xt_hang_up(&mine, &mine.b);
		_exit(0);
	}
	xt_fill(buf.p, ROOM, 9);
	round_trip(&parents, buf.mr, buf.p, 9, true);
	reap(pid);
	xt_fill(buf.p, ROOM, 11);
	round_trip(&parents, buf.mr, buf.p, 11, true);
	xt_buf_free(&buf);
	xt_hang_up(&parents, &parents.b);
}

/* Mappings */

static int memory_file(void)
{
	int fd = memfd_create("xt_process", MFD_CLOEXEC);

	XT_CHECK(fd >= 0, "memfd_create: %m");
	XT_OK(ftruncate(fd, ROOM));
	return fd;
}

static void *map(int prot, int flags, int fd)
{
	void *at = mmap(NULL, ROOM, prot, flags, fd, 0);

	XT_CHECK(at != MAP_FAILED, "mmap: %m");
	return at;
}

/* Tries to register memory with @access; returns 0 or the errno. */
static int registers(struct ibv_pd *pd, void *at, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, at, ROOM, access);

	if (!mr)
		return errno;
	XT_OK(ibv_dereg_mr(mr));
	return 0;
}

/* A mapping that can be written: data goes both ways. */
static void writable(struct xt_pair *p, void *at)
{
	struct ibv_mr *mr = XT_PTR(ibv_reg_mr(p->b.pd, at, ROOM, XT_REMOTE));

	xt_fill(at, ROOM, 21);
	round_trip(p, mr, at, 21, true);
	XT_OK(ibv_dereg_mr(mr));
}

/* A mapping that cannot be written is a source only. */
static void readable(struct xt_pair *p, void *at, __u64 seed)
{
	struct ibv_mr *mr;

	XT_EQ(registers(p->b.pd, at, XT_LOCAL), EFAULT);
	XT_EQ(registers(p->b.pd, at, XT_REMOTE), EFAULT);
	XT_EQ(registers(p->b.pd, at, IBV_ACCESS_REMOTE_READ), 0);
	mr = XT_PTR(ibv_reg_mr(p->b.pd, at, ROOM, 0));
	round_trip(p, mr, at, seed, false);
	XT_OK(ibv_dereg_mr(mr));
}

static void test_mappings(void)
{
	const struct xt_opts o = XT_OPTS;
	const int rw = PROT_READ | PROT_WRITE;
	struct xt_pair p;
	void *at;
	int fd;

	xt_pair(&p, &o, &o);
	writable(&p, map(rw, MAP_PRIVATE | MAP_ANONYMOUS, -1));
	writable(&p, map(rw, MAP_SHARED | MAP_ANONYMOUS, -1));
	fd = memory_file();
	writable(&p, map(rw, MAP_PRIVATE, fd));
	at = map(rw, MAP_SHARED, fd);
	writable(&p, at);
	xt_fill(at, ROOM, 31);
	readable(&p, map(PROT_READ, MAP_SHARED, fd), 31);
	at = map(rw, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	xt_fill(at, ROOM, 33);
	XT_OK(mprotect(at, ROOM, PROT_READ));
	readable(&p, at, 33);
	xt_hang_up(&p, &p.b);
}

static void test_refused(void)
{
	const struct xt_opts o = XT_OPTS;
	const int rw = PROT_READ | PROT_WRITE;
	struct xt_pair p;
	void *at;
	int fd;

	xt_pair(&p, &o, &o);
	at = map(rw, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	XT_OK(munmap(at + 2 * XT_PAGE, XT_PAGE));
	XT_EQ(registers(p.b.pd, at, XT_LOCAL), EFAULT);
	at = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	XT_EQ(registers(p.b.pd, at, 0), EFAULT);
	/* The file is shorter than its mapping. */
	fd = memory_file();
	at = map(rw, MAP_SHARED, fd);
	XT_OK(ftruncate(fd, XT_PAGE));
	XT_EQ(registers(p.b.pd, at, XT_LOCAL), EFAULT);
	xt_hang_up(&p, &p.b);
}

static void test_secret(void)
{
	const struct xt_opts o = XT_OPTS;
	int fd = syscall(SYS_memfd_secret, 0);
	struct xt_pair p;
	void *at;

	if (fd < 0 && errno == ENOSYS)
		xt_skip("no secret memory in this kernel, or secretmem.enable=0");
	XT_CHECK(fd >= 0, "memfd_secret: %m");
	XT_OK(ftruncate(fd, ROOM));
	xt_pair(&p, &o, &o);
	at = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	XT_EQ(registers(p.b.pd, at, XT_LOCAL), EFAULT);
	xt_hang_up(&p, &p.b);
}

enum change {
	UNMAPPED, DROPPED, FREED, MOVED, TRUNCATED, NUM_CHANGES,
};

static void change(enum change how, void *at, int fd)
{
	switch (how) {
	case UNMAPPED:
		XT_OK(munmap(at, ROOM));
		break;
	case DROPPED:
		XT_OK(madvise(at, ROOM, MADV_DONTNEED));
		break;
	case FREED:
		XT_OK(madvise(at, ROOM, MADV_FREE));
		break;
	case MOVED:
		XT_CHECK(mremap(at, ROOM, 2 * ROOM, MREMAP_MAYMOVE) !=
			 MAP_FAILED, "mremap: %m");
		break;
	case TRUNCATED:
		XT_OK(ftruncate(fd, 0));
		break;
	case NUM_CHANGES:
		break;
	}
}

/* A region keeps its pages, whatever becomes of the mapping. */
static void test_changed(void)
{
	const struct xt_opts o = XT_OPTS;
	const int rw = PROT_READ | PROT_WRITE;
	struct ibv_mr *mr;
	struct xt_pair p;
	enum change how;
	void *at;
	int fd;

	xt_pair(&p, &o, &o);
	for (how = 0; how < NUM_CHANGES; how++) {
		fd = memory_file();
		at = how == TRUNCATED ? map(rw, MAP_SHARED, fd) :
			map(rw, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		xt_fill(at, ROOM, 40 + how);
		mr = XT_PTR(ibv_reg_mr(p.b.pd, at, ROOM, XT_LOCAL));
		change(how, at, fd);
		round_trip(&p, mr, at, 40 + how, false);
		XT_OK(ibv_dereg_mr(mr));
		close(fd);
	}
	xt_hang_up(&p, &p.b);
}

static const struct xt_case cases[] = {
	{ "fork", "a child's writes do not reach its parent's regions",
	  test_fork },
	{ "system", "data is right beside system()", test_system },
	{ "inherited", "a child that polls inherited queues takes nothing away",
	  test_inherited },
	{ "own", "a child has connections of its own",
	  test_own },
	{ "mappings", "mappings of all kinds are regions, with their rights",
	  test_mappings },
	{ "refused", "holes are refused with EFAULT", test_refused },
	{ "secret", "secret memory is refused with EFAULT", test_secret },
	{ "changed", "a region keeps its pages when its mapping changes",
	  test_changed },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
