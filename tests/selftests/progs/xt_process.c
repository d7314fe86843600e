// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Other activities of processes: fork() with registered memory and with queues,
 * and mappings of every kind as regions, also those that change while they are
 * registered.
 */
#include "xt.h"

#include <errno.h>
#include <fcntl.h>
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
static pid_t scribbler(void *at, int *wait_fd)
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
	*wait_fd = pipes[1];
	return pid;
}

static void forks_with(struct xt_pair *p, void *at)
{
	struct ibv_mr *mr = XT_PTR(ibv_reg_mr(p->b.pd, at, ROOM, XT_LOCAL));
	int wait_fd, i;
	pid_t pid;

	for (i = 0; i < FORKS; i++) {
		pid = scribbler(at, &wait_fd);
		xt_fill(at, ROOM, 100 + 2 * i);
		round_trip(p, mr, at, 100 + 2 * i, true);
		close(wait_fd);
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

/* A child uses the queues as if they were its own. */
static void misuse(struct xt_end *e, struct xt_buf *buf)
{
	struct ibv_sge sge = xt_sge(buf, 0, ROOM);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 77, &sge, 1);
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 4; i++) {
		xt_try_recv(e, 77, &sge, 1);
		xt_try_send(e, &wr);
		ibv_poll_cq(e->scq, 1, &wc);
		ibv_poll_cq(e->rcq, 1, &wc);
		ibv_req_notify_cq(e->scq, 0);
	}
}

static void only_poll(struct xt_end *e, struct xt_buf *buf)
{
	struct ibv_wc wc;

	(void)buf;
	ibv_poll_cq(e->rcq, 1, &wc);
}

/*
 * The child ends at its first access, and the parent's queues are as they were:
 * more messages follow than the rings have entries.
 */
static void inherited(void (*use)(struct xt_end *e, struct xt_buf *buf))
{
	const struct xt_opts o = XT_OPTS;
	struct xt_pair p;
	struct xt_buf buf;
	int status;
	pid_t pid;
	int i;

	xt_pair(&p, &o, &o);
	buf = xt_buf(&p.b, ROOM, XT_LOCAL);
	for (i = 0; i < 300; i++) {
		xt_fill(buf.p, ROOM, 2 * i);
		round_trip(&p, buf.mr, buf.p, 2 * i, true);
		if (i % 100 != 50)
			continue;
		pid = xt_fork();
		if (!pid) {
			use(&p.b, &buf);
			_exit(0);
		}
		XT_EQ(waitpid(pid, &status, 0), pid);
		XT_CHECK(WIFSIGNALED(status), "the child was not stopped");
	}
	XT_CHECK(!xt_readable(p.b.id->verbs->async_fd), "an event");
	xt_buf_free(&buf);
	xt_hang_up(&p, &p.b);
}

static void test_inherited(void)
{
	inherited(misuse);
}

static void test_polled(void)
{
	inherited(only_poll);
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

/* A child that outlives its parent */

/**
 * struct region - where a region is, as private data
 * @addr: its first byte
 * @rkey: its key
 */
struct region {
	__u64 addr;
	__u32 rkey;
};

/* Replaces the process by cat, which keeps all descriptors and reads @fd. */
static void become_cat(int fd)
{
	int i;

	XT_CHECK(dup2(fd, 0) == 0, "dup2: %m");
	for (i = 3; i < 256; i++)
		fcntl(i, F_SETFD, 0);
	execlp("cat", "cat", NULL);
	_exit(1);
}

/*
 * The active end. The child has other bytes at the addresses of the region, and
 * lives until @fd is closed at the other side.
 */
static void active_end(const struct sockaddr_storage *sa, int fd, int access,
		       bool exec)
{
	const struct xt_opts o = XT_OPTS;
	struct region region;
	struct xt_buf buf;
	struct xt_end e;
	char byte;

	xt_id(&e, &xt_b);
	xt_resolve(&e, sa);
	xt_qp(&e, &o);
	buf = xt_buf(&e, ROOM, access);
	xt_fill(buf.p, ROOM, 51);
	region = (struct region){ (__u64)buf.p, buf.mr->rkey };
	xt_dial(&e, &o, &region, sizeof(region));
	xt_expect(&e, RDMA_CM_EVENT_ESTABLISHED, NULL);
	/* Not xt_fork(), with which the child would end with its parent. */
	if (fork())
		_exit(0);
	memset(buf.p, 0xee, ROOM);
	if (exec)
		become_cat(fd);
	_exit(read(fd, &byte, 1) < 0);
}

/*
 * Connects to active_end() in a process of its own. That process has ended, but
 * not its child, which ends when the result is closed.
 */
static int adopt_orphan(struct xt_end *e, struct region *region, int access,
			bool exec)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);
	const struct xt_opts o = XT_OPTS;
	struct xt_end listener;
	struct xt_event ev;
	int pipes[2];
	pid_t pid;

	XT_OK(pipe2(pipes, O_CLOEXEC));
	xt_id(&listener, &xt_a);
	sa = xt_addr(&xt_a, xt_listen(&listener, &sa, 1));
	pid = xt_fork();
	if (!pid) {
		close(pipes[1]);
		close(listener.ch->fd);
		active_end(&sa, pipes[0], access, exec);
	}
	close(pipes[0]);
	xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	memcpy(region, ev.data, sizeof(*region));
	xt_adopt(e, &xt_a, ev.id);
	xt_qp(e, &o);
	xt_answer(e, &o, NULL, 0);
	xt_expect(e, RDMA_CM_EVENT_ESTABLISHED, NULL);
	reap(pid);
	xt_close(&listener);
	return pipes[1];
}

static enum ibv_wc_status read_from(struct xt_end *e, const struct region *from,
				    struct xt_buf *to)
{
	struct ibv_sge sge = xt_sge(to, 0, ROOM);
	struct ibv_send_wr wr = xt_wr(IBV_WR_RDMA_READ, 1, &sge, 1);
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = from->addr;
	wr.wr.rdma.rkey = from->rkey;
	memset(to->p, 0, ROOM);
	xt_send(e, &wr);
	xt_wait(e->scq, &wc);
	return wc.status;
}

static void outlives(bool exec)
{
	struct region region;
	struct xt_buf buf;
	struct xt_end e;
	int wait_fd;

	wait_fd = adopt_orphan(&e, &region, XT_REMOTE, exec);
	buf = xt_buf(&e, ROOM, XT_LOCAL);
	XT_EQ(read_from(&e, &region, &buf), IBV_WC_SUCCESS);
	XT_SAME(buf.p, ROOM, 51);
	XT_CHECK(!xt_readable(e.ch->fd), "an event while the child lives");
	close(wait_fd);
	xt_expect(&e, RDMA_CM_EVENT_DISCONNECTED, NULL);
	XT_EQ(read_from(&e, &region, &buf), IBV_WC_WR_FLUSH_ERR);
	xt_buf_free(&buf);
	xt_close(&e);
}

static void test_outlives(void)
{
	outlives(false);
}

static void test_outlives_exec(void)
{
	outlives(true);
}

/* Memory on demand ends with its process; the child's is not taken for it. */
static void test_orphan_on_demand(void)
{
	const struct xt_opts o = XT_OPTS;
	struct region region;
	struct xt_pair p;
	struct xt_buf buf;
	struct xt_end e;
	int wait_fd;

	xt_pair(&p, &o, &o);
	xt_needs_odp(&p.a);
	xt_hang_up(&p, &p.b);
	wait_fd = adopt_orphan(&e, &region, XT_REMOTE | IBV_ACCESS_ON_DEMAND,
			       false);
	buf = xt_buf(&e, ROOM, XT_LOCAL);
	XT_EQ(read_from(&e, &region, &buf), IBV_WC_REM_ACCESS_ERR);
	XT_ALL(buf.p, ROOM, 0);
	close(wait_fd);
	xt_expect(&e, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_buf_free(&buf);
	xt_close(&e);
}

/* A child that uses its parent's objects */

/*
 * The child registers its own memory, which is at the addresses of @buf, and
 * reports the key. When the pipe is closed it checks its bytes, and ends.
 */
static pid_t registers_own(struct xt_pair *p, struct xt_buf *buf, int access,
			   __u32 *lkey, int *wait_fd)
{
	struct ibv_mr *mr;
	int back[2];
	int wait[2];
	char byte;
	pid_t pid;

	XT_OK(pipe(back));
	XT_OK(pipe(wait));
	pid = xt_fork();
	if (!pid) {
		close(wait[1]);
		xt_fill(buf->p, ROOM, 62);
		mr = XT_PTR(ibv_reg_mr(p->b.pd, buf->p, ROOM, access));
		XT_EQ(write(back[1], &mr->lkey, sizeof(*lkey)), sizeof(*lkey));
		XT_EQ(read(wait[0], &byte, 1), 0);
		XT_SAME(buf->p, ROOM, 63);
		_exit(0);
	}
	close(wait[0]);
	close(back[1]);
	XT_EQ(read(back[0], lkey, sizeof(*lkey)), sizeof(*lkey));
	close(back[0]);
	*wait_fd = wait[1];
	return pid;
}

/* The peer's message goes to the region of the child. */
static void receive_there(struct xt_pair *p, struct ibv_mr *mr, void *at)
{
	struct xt_buf far = xt_buf(&p->a, ROOM, XT_LOCAL);
	struct ibv_sge from = xt_sge(&far, 0, ROOM);
	struct ibv_sge to = {
		.addr = (__u64)at, .length = ROOM, .lkey = mr->lkey,
	};
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 1, &from, 1);

	xt_fill(far.p, ROOM, 63);
	xt_recv(&p->b, 2, &to, 1);
	xt_send(&p->a, &wr);
	xt_wc_ok(p->a.scq, 1);
	xt_wc_ok(p->b.rcq, 2);
	xt_buf_free(&far);
}

/* Messages by the parent's queues; the parent's own bytes stay. */
static void childs_region(int access)
{
	const struct xt_opts o = XT_OPTS;
	struct ibv_mr theirs = {};
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct xt_buf buf;
	struct xt_pair p;
	pid_t pid;
	int wait_fd;

	xt_pair(&p, &o, &o);
	if (access & IBV_ACCESS_ON_DEMAND)
		xt_needs_odp(&p.b);
	buf = xt_buf(&p.b, ROOM, XT_LOCAL);
	xt_fill(buf.p, ROOM, 61);
	pid = registers_own(&p, &buf, access, &theirs.lkey, &wait_fd);
	round_trip(&p, &theirs, buf.p, 62, false);
	receive_there(&p, &theirs, buf.p);
	close(wait_fd);
	reap(pid);
	XT_SAME(buf.p, ROOM, 61);
	if (access & IBV_ACCESS_ON_DEMAND) {
		sge = (struct ibv_sge){ (__u64)buf.p, ROOM, theirs.lkey };
		wr = xt_wr(IBV_WR_SEND, 1, &sge, 1);
		xt_send(&p.b, &wr);
		xt_wc(p.b.scq, 1, IBV_WC_LOC_PROT_ERR);
		return;
	}
	round_trip(&p, &theirs, buf.p, 63, false);
	round_trip(&p, buf.mr, buf.p, 61, false);
}

static void test_childs_region(void)
{
	childs_region(XT_LOCAL);
}

static void test_childs_on_demand(void)
{
	childs_region(XT_LOCAL | IBV_ACCESS_ON_DEMAND);
}

enum object { REGION, QP, ID, SCQ, RCQ, PD, CONTEXT, NUM_OBJECTS };

static void destroy(struct xt_end *e, struct xt_buf *buf, enum object what)
{
	switch (what) {
	case REGION:
		ibv_dereg_mr(buf->mr);
		break;
	case QP:
		ibv_destroy_qp(e->qp);
		break;
	case ID:
		rdma_destroy_id(e->id);
		break;
	case SCQ:
		ibv_destroy_cq(e->scq);
		break;
	case RCQ:
		ibv_destroy_cq(e->rcq);
		break;
	case PD:
		ibv_dealloc_pd(e->pd);
		break;
	case CONTEXT:
		ibv_close_device(e->id->verbs);
		break;
	case NUM_OBJECTS:
		break;
	}
}

/*
 * They are the objects of both processes. The parent's calls fail then, and do
 * not hang, and the peer finds the end of the connection.
 */
static void test_destroys(void)
{
	const struct xt_opts o = XT_OPTS;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct xt_pair p;
	struct xt_buf buf;
	enum object what;
	pid_t pid;

	xt_pair(&p, &o, &o);
	buf = xt_buf(&p.b, ROOM, XT_LOCAL);
	sge = xt_sge(&buf, 0, ROOM);
	wr = xt_wr(IBV_WR_SEND, 1, &sge, 1);
	for (what = 0; what < NUM_OBJECTS; what++) {
		pid = xt_fork();
		if (!pid) {
			destroy(&p.b, &buf, what);
			_exit(0);
		}
		XT_EQ(waitpid(pid, NULL, 0), pid);
		xt_try_recv(&p.b, 1, &sge, 1);
		xt_try_send(&p.b, &wr);
		if (what == QP)
			xt_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	}
	XT_CHECK(ibv_destroy_qp(p.b.qp), "the queue pair still existed");
	XT_CHECK(ibv_dereg_mr(buf.mr), "the region still existed");
	XT_CHECK(ibv_query_device(p.b.id->verbs, &(struct ibv_device_attr){}) ==
		 0, "the device was closed");
	xt_close(&p.a);
}

/* Descriptors of a program that execve() starts */
static void test_exec(void)
{
	const struct xt_opts o = XT_OPTS;
	char cmd[100];
	struct xt_pair p;

	xt_pair(&p, &o, &o);
	snprintf(cmd, sizeof(cmd), "ls -l /proc/%d/fd | grep -q infiniband",
		 getpid());
	XT_EQ(system(cmd), 0);
	XT_CHECK(system("ls -l /proc/self/fd | grep infiniband"),
		 "the program has descriptors");
	xt_hang_up(&p, &p.b);
}

/* A child acknowledges its copy of an event; the parent's still counts. */
static void test_event(void)
{
	const struct xt_opts o = XT_OPTS;
	struct rdma_cm_event *ev;
	struct xt_pair p;
	pid_t pid;

	xt_pair(&p, &o, &o);
	XT_OK(rdma_disconnect(p.a.id));
	XT_OK(rdma_get_cm_event(p.b.ch, &ev));
	XT_EQ(ev->event, RDMA_CM_EVENT_DISCONNECTED);
	pid = xt_fork();
	if (!pid)
		_exit(rdma_ack_cm_event(ev));
	reap(pid);
	XT_EQ(ev->event, RDMA_CM_EVENT_DISCONNECTED);
	XT_OK(rdma_ack_cm_event(ev));
	xt_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_close(&p.a);
	xt_close(&p.b);
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

/*
 * Older kernels pin for reading as a debugger does: memory without rights, but
 * no mapping of a file that cannot be written.
 */
static bool forces_reads(void)
{
	return xt_kernel_before(6, 2);
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
	if (forces_reads()) {
		xt_hang_up(&p, &p.b);
		return;
	}
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
	XT_EQ(registers(p.b.pd, at, 0), forces_reads() ? 0 : EFAULT);
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
	{ "inherited", "a child that uses inherited queues changes nothing",
	  test_inherited },
	{ "polled", "nor does one that only polls", test_polled },
	{ "own", "a child has connections of its own",
	  test_own },
	{ "outlives", "a connection ends with the last process that has it",
	  test_outlives },
	{ "outlives-exec", "also if that runs another program",
	  test_outlives_exec },
	{ "orphan-odp", "memory on demand ends with its process",
	  test_orphan_on_demand },
	{ "childs-region", "a region has the memory of the process that made it",
	  test_childs_region },
	{ "childs-odp", "a region on demand, too", test_childs_on_demand },
	{ "destroys", "a child destroys inherited objects", test_destroys },
	{ "exec", "a program that is executed inherits no descriptor",
	  test_exec },
	{ "event", "a fork before an event is acknowledged",
	  test_event },
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
