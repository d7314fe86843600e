// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Regions on demand (IBV_ACCESS_ON_DEMAND): all operations on memory that was
 * never touched, that changes while it is registered, and that does not exist.
 * The passive end usually has the memory, and the active end acts as the peer.
 */
#include "xt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ODP		IBV_ACCESS_ON_DEMAND
#define ALL		(XT_REMOTE | IBV_ACCESS_REMOTE_ATOMIC | ODP)
#define ROOM		(64 * XT_PAGE)
#define OFF		1000UL
#define LEN		(ROOM - 2 * OFF)
#define IO		1
#define RECV		2
#define STORM_US	2000000

static const struct xt_opts with_srq = {
	.send_wr = 64, .recv_wr = 64, .send_sge = 2, .recv_sge = 2, .cqe = 256,
	.ird = 4, .ord = 4, .srq_wr = 64,
};

static void odp_pair(struct xt_pair *p, const struct xt_opts *opts)
{
	xt_pair(p, opts, opts);
	xt_needs_odp(&p->a);
}

/* Memory from mmap(): all of it is absent. */
static struct xt_buf odp_map(struct xt_end *e, size_t len, int access, int prot,
			     int flags, int fd)
{
	struct xt_buf b = { .len = len, .map_len = len };

	b.map = mmap(NULL, len, prot, flags, fd, 0);
	XT_CHECK(b.map != MAP_FAILED, "mmap: %m");
	b.p = b.map;
	b.mr = XT_PTR(ibv_reg_mr(e->pd, b.p, len, access));
	return b;
}

static struct xt_buf odp_buf(struct xt_end *e, size_t len)
{
	return odp_map(e, len, ALL, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void drop(const struct xt_buf *b)
{
	XT_OK(madvise(b->p, b->len, MADV_DONTNEED));
}

/* One operation of @e on @to, in pieces that do not end with a page. */
static enum ibv_wc_status op(struct xt_end *e, enum ibv_wr_opcode opcode,
			     const struct xt_buf *from, const struct xt_buf *to)
{
	struct ibv_sge sge[2] = {
		xt_sge(from, OFF, LEN / 3),
		xt_sge(from, OFF + LEN / 3, LEN - LEN / 3),
	};
	struct ibv_send_wr wr = xt_wr_to(opcode, IO, sge, 2, to, OFF);
	struct ibv_wc wc;

	xt_send(e, &wr);
	xt_wait(e->scq, &wc);
	XT_EQ(wc.wr_id, IO);
	return wc.status;
}

/* A Send of @from at @b into two elements of @to at @a. */
static void message(struct xt_pair *p, const struct xt_buf *from,
		    const struct xt_buf *to)
{
	struct ibv_sge sge[2] = {
		xt_sge(to, OFF, LEN / 2), xt_sge(to, OFF + LEN / 2, LEN / 2),
	};

	xt_recv(&p->a, RECV, sge, 2);
	XT_EQ(op(&p->b, IBV_WR_SEND, from, from), IBV_WC_SUCCESS);
	XT_EQ(xt_wc_ok(p->a.rcq, RECV).byte_len, LEN);
}

/* ---- operations -------------------------------------------------------- */

static void caps(void)
{
	struct ibv_device_attr_ex attr;
	struct xt_pair p;

	odp_pair(&p, NULL);
	XT_OK(ibv_query_device_ex(p.a.id->verbs, NULL, &attr));
	XT_EQ(attr.odp_caps.general_caps, IBV_ODP_SUPPORT);
	XT_EQ(attr.odp_caps.per_transport_caps.rc_odp_caps,
	      IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
	      IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
	      IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV);
	XT_EQ(attr.odp_caps.per_transport_caps.ud_odp_caps, 0);
	XT_CHECK(!ibv_reg_mr(p.a.pd, NULL, SIZE_MAX, ALL) &&
		 errno == EOPNOTSUPP, "an implicit region: %m");
}

static void sends(const struct xt_opts *opts)
{
	struct xt_buf from, to;
	struct xt_pair p;

	odp_pair(&p, opts);
	from = odp_buf(&p.b, ROOM);
	to = odp_buf(&p.a, ROOM);
	xt_fill(from.p + OFF, LEN, 1);
	message(&p, &from, &to);
	XT_SAME(to.p + OFF, LEN, 1);

	/* The process finds what arrives after it gave the pages back. */
	drop(&to);
	XT_ALL(to.p, ROOM, 0);
	drop(&to);
	message(&p, &from, &to);
	XT_SAME(to.p + OFF, LEN, 1);
	XT_ALL(to.p, OFF, 0);
	XT_ALL(to.p + OFF + LEN, OFF, 0);

	/* Memory that was never written has zeros. */
	drop(&from);
	message(&p, &from, &to);
	XT_ALL(to.p, ROOM, 0);
	xt_buf_free(&from);
	xt_buf_free(&to);
	xt_hang_up(&p, &p.b);
}

static void send_recv(void)
{
	sends(NULL);
}

static void srq_recv(void)
{
	sends(&with_srq);
}

static void write_read(void)
{
	struct xt_buf from, to, back;
	struct xt_pair p;
	int i;

	odp_pair(&p, NULL);
	from = odp_buf(&p.b, ROOM);
	back = odp_buf(&p.b, ROOM);
	to = odp_buf(&p.a, ROOM);
	XT_EQ(op(&p.b, IBV_WR_RDMA_READ, &back, &to), IBV_WC_SUCCESS);
	XT_ALL(back.p, ROOM, 0);
	for (i = 1; i < 4; i++) {
		xt_fill(from.p + OFF, LEN, i);
		XT_EQ(op(&p.b, IBV_WR_RDMA_WRITE, &from, &to), IBV_WC_SUCCESS);
		XT_EQ(op(&p.b, IBV_WR_RDMA_READ, &back, &to), IBV_WC_SUCCESS);
		XT_SAME(back.p + OFF, LEN, i);
		XT_SAME(to.p + OFF, LEN, i);
		drop(&back);
		drop(&to);
	}
}

static void atomic(void)
{
	struct xt_buf to, old;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct xt_pair p;
	__u64 i;

	odp_pair(&p, NULL);
	to = odp_buf(&p.a, ROOM);
	old = odp_buf(&p.b, ROOM);
	for (i = 0; i < 6; i++) {
		if (i == 3)
			drop(&to);
		drop(&old);
		sge = xt_sge(&old, 8, 8);
		wr = xt_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, IO, &sge, &to,
			       2 * XT_PAGE, 5, 0);
		xt_send(&p.b, &wr);
		xt_wc_ok(p.b.scq, IO);
		XT_EQ(*(__u64 *)(old.p + 8), i % 3 * 5);
	}
	XT_EQ(*(__u64 *)(to.p + 2 * XT_PAGE), 15);
}

static void window(void)
{
	struct ibv_send_wr wr = xt_wr(IBV_WR_BIND_MW, IO, NULL, 0);
	struct xt_buf from, to, in;
	struct ibv_mw *mw;
	struct ibv_mr mr;
	struct xt_pair p;
	int i;

	odp_pair(&p, NULL);
	from = odp_buf(&p.b, ROOM);
	to = odp_map(&p.a, ROOM, XT_LOCAL | IBV_ACCESS_MW_BIND | ODP,
		     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	mw = XT_PTR(ibv_alloc_mw(p.a.pd, IBV_MW_TYPE_2));
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info.mr = to.mr;
	wr.bind_mw.bind_info.addr = (uintptr_t)to.p + OFF;
	wr.bind_mw.bind_info.length = LEN;
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE |
					       IBV_ACCESS_REMOTE_READ;
	xt_send(&p.a, &wr);
	xt_wc_ok(p.a.scq, IO);
	mr = (struct ibv_mr) { .rkey = wr.bind_mw.rkey };
	in = to;
	in.mr = &mr;
	for (i = 1; i < 3; i++) {
		xt_fill(from.p + OFF, LEN, i);
		XT_EQ(op(&p.b, IBV_WR_RDMA_WRITE, &from, &in), IBV_WC_SUCCESS);
		drop(&from);
		XT_EQ(op(&p.b, IBV_WR_RDMA_READ, &from, &in), IBV_WC_SUCCESS);
		XT_SAME(from.p + OFF, LEN, i);
		XT_SAME(to.p + OFF, LEN, i);
		XT_ALL(to.p, OFF, 0);
		drop(&to);
	}
	/* Bytes before the window are in the same page of the region. */
	in.p -= 1;
	XT_EQ(op(&p.b, IBV_WR_RDMA_READ, &from, &in), IBV_WC_REM_ACCESS_ERR);
}

static void registered(void)
{
	struct xt_buf from, to;
	struct xt_pair p;

	odp_pair(&p, NULL);
	from = odp_buf(&p.b, ROOM);
	to = odp_map(&p.a, ROOM, ALL | IBV_ACCESS_ZERO_BASED,
		     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	XT_CHECK(ibv_rereg_mr(to.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			      XT_LOCAL) && errno == EOPNOTSUPP,
		 "registered again: %m");
	xt_fill(from.p + OFF, LEN, 1);
	/* The first byte of the region has address 0. */
	to.p = NULL;
	XT_EQ(op(&p.b, IBV_WR_RDMA_WRITE, &from, &to), IBV_WC_SUCCESS);
	drop(&from);
	XT_EQ(op(&p.b, IBV_WR_RDMA_READ, &from, &to), IBV_WC_SUCCESS);
	XT_SAME(to.map + OFF, LEN, 1);
	XT_SAME(from.p + OFF, LEN, 1);
}

static int advise(struct xt_end *e, enum ibv_advise_mr_advice advice,
		  const struct xt_buf *b, size_t off, size_t len)
{
	struct ibv_sge sge = xt_sge(b, off, len);

	return ibv_advise_mr(e->pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

static unsigned int resident(const struct xt_buf *b)
{
	unsigned char map[ROOM / XT_PAGE];
	unsigned int n = 0;
	size_t i;

	XT_OK(mincore(b->p, b->len, map));
	for (i = 0; i < b->len / XT_PAGE; i++)
		n += map[i] & 1;
	return n;
}

static void prefetch(void)
{
	struct xt_buf b, ro, pinned, unknown;
	struct xt_pair p;
	struct ibv_mr mr;

	odp_pair(&p, NULL);
	b = odp_buf(&p.a, ROOM);
	ro = odp_map(&p.a, ROOM, ODP, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1);
	pinned = xt_buf(&p.a, ROOM, XT_LOCAL);
	XT_OK(advise(&p.a, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, &b, 0,
		     ROOM));
	XT_EQ(resident(&b), 0);
	XT_OK(advise(&p.a, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, &b, OFF,
		     XT_PAGE));
	XT_EQ(resident(&b), 2);
	XT_OK(advise(&p.a, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, &b, 0, ROOM));
	XT_EQ(resident(&b), ROOM / XT_PAGE);
	XT_OK(advise(&p.a, IBV_ADVISE_MR_ADVICE_PREFETCH, &ro, 0, ROOM));

	XT_EQ(advise(&p.a, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, &ro, 0, ROOM),
	      EPERM);
	XT_EQ(advise(&p.a, IBV_ADVISE_MR_ADVICE_PREFETCH, &b, 1, ROOM), EFAULT);
	/* Pinned memory is present. */
	XT_OK(advise(&p.a, IBV_ADVISE_MR_ADVICE_PREFETCH, &pinned, 0, ROOM));
	XT_EQ(advise(&p.a, IBV_ADVISE_MR_ADVICE_PREFETCH, &pinned, 1, ROOM),
	      EFAULT);
	XT_EQ(advise(&p.b, IBV_ADVISE_MR_ADVICE_PREFETCH, &b, 0, ROOM),
	      p.a.pd->context->device == p.b.pd->context->device ? EPERM :
								   ENOENT);
	mr = *b.mr;
	mr.lkey ^= 1;
	unknown = b;
	unknown.mr = &mr;
	XT_EQ(advise(&p.a, IBV_ADVISE_MR_ADVICE_PREFETCH, &unknown, 0, ROOM),
	      ENOENT);
	XT_EQ(advise(&p.a, 77, &b, 0, ROOM), EOPNOTSUPP);
	munmap(b.p, b.len);
	XT_EQ(advise(&p.a, IBV_ADVISE_MR_ADVICE_PREFETCH, &b, 0, ROOM), EFAULT);
}

/* ---- memory that does not exist --------------------------------------- */

/*
 * A region with a second half that is unmapped, or lacks a right. Made last, so
 * that no other mapping fills the hole.
 */
static struct xt_buf half(struct xt_end *e, int prot)
{
	struct xt_buf b = odp_buf(e, ROOM);

	if (prot < 0)
		XT_OK(munmap(b.p + ROOM / 2, ROOM / 2));
	else
		XT_OK(mprotect(b.p + ROOM / 2, ROOM / 2, prot));
	return b;
}

/* The first element of @b exists, the second one does not. */
static void halves(const struct xt_buf *b, struct ibv_sge *sge)
{
	sge[0] = xt_sge(b, 0, 100);
	sge[1] = xt_sge(b, ROOM / 2, 100);
}

static void bad_recv(int prot)
{
	struct ibv_sge sge[2], from;
	struct ibv_send_wr wr;
	struct xt_buf b, src;
	struct xt_pair p;

	odp_pair(&p, NULL);
	src = odp_buf(&p.b, ROOM);
	b = half(&p.a, prot);
	halves(&b, sge);
	xt_recv(&p.a, RECV, sge, 2);
	from = xt_sge(&src, 0, 200);
	wr = xt_wr(IBV_WR_SEND, IO, &from, 1);
	xt_send(&p.b, &wr);
	xt_wc(p.a.rcq, RECV, IBV_WC_LOC_PROT_ERR);
}

static void gone_recv(void)
{
	bad_recv(-1);
}

static void readonly_recv(void)
{
	bad_recv(PROT_READ);
}

static void bad_source(enum ibv_wr_opcode opcode, int prot)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge[2];
	struct xt_buf b, to;
	struct xt_pair p;

	odp_pair(&p, NULL);
	to = odp_buf(&p.a, ROOM);
	b = half(&p.b, prot);
	halves(&b, sge);
	wr = xt_wr_to(opcode, IO, sge, 2, &to, 0);
	xt_send(&p.b, &wr);
	xt_wc(p.b.scq, IO, IBV_WC_LOC_PROT_ERR);
}

static void gone_send(void)
{
	bad_source(IBV_WR_SEND, -1);
}

static void gone_write(void)
{
	bad_source(IBV_WR_RDMA_WRITE, -1);
}

static void unreadable_send(void)
{
	bad_source(IBV_WR_SEND, PROT_NONE);
}

static void gone_sink(void)
{
	bad_source(IBV_WR_RDMA_READ, -1);
}

static void readonly_sink(void)
{
	bad_source(IBV_WR_RDMA_READ, PROT_READ);
}

static void gone_atomic_sink(void)
{
	struct xt_buf b, to;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct xt_pair p;

	odp_pair(&p, NULL);
	to = odp_buf(&p.a, ROOM);
	b = half(&p.b, -1);
	sge = xt_sge(&b, ROOM / 2, 8);
	wr = xt_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, IO, &sge, &to, 0, 0, 0);
	xt_send(&p.b, &wr);
	xt_wc(p.b.scq, IO, IBV_WC_LOC_PROT_ERR);
}

/* The peer gets the error of memory that it may not access. */
static void remote_gone(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct xt_buf b, mine;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct xt_pair p;
	size_t i;

	for (i = 0; i < XT_NELEM(ops); i++) {
		odp_pair(&p, NULL);
		mine = odp_buf(&p.b, ROOM);
		b = half(&p.a, -1);
		sge = xt_sge(&mine, 0, 8);
		if (ops[i] == IBV_WR_RDMA_READ)
			wr = xt_wr_to(ops[i], IO, &sge, 1, &b, ROOM / 2);
		else
			wr = xt_atomic(ops[i], IO, &sge, &b, ROOM / 2, 1, 0);
		xt_send(&p.b, &wr);
		xt_wc(p.b.scq, IO, IBV_WC_REM_ACCESS_ERR);
	}
}

/* A Write has completed when its error is found; the Read behind is flushed. */
static void remote_readonly(void)
{
	struct ibv_send_wr wr;
	struct xt_buf b, mine;
	struct ibv_sge sge;
	struct xt_pair p;

	odp_pair(&p, NULL);
	b = half(&p.a, PROT_READ);
	mine = odp_buf(&p.b, ROOM);
	sge = xt_sge(&mine, 0, 8);
	wr = xt_wr_to(IBV_WR_RDMA_READ, IO, &sge, 1, &b, ROOM / 2);
	xt_send(&p.b, &wr);
	xt_wc_ok(p.b.scq, IO);
	wr = xt_wr_to(IBV_WR_RDMA_WRITE, IO, &sge, 1, &b, ROOM / 2);
	xt_send(&p.b, &wr);
	xt_wc_ok(p.b.scq, IO);
	xt_async(&p.a, IBV_EVENT_QP_ACCESS_ERR);
}

/* ---- memory that changes ----------------------------------------------- */

static void forked(void)
{
	struct xt_buf from, to;
	struct xt_pair p;
	int go[2];
	int status;
	pid_t pid;
	char c;

	odp_pair(&p, NULL);
	from = odp_buf(&p.b, ROOM);
	to = odp_buf(&p.a, ROOM);
	xt_fill(from.p + OFF, LEN, 1);
	message(&p, &from, &to);
	XT_OK(pipe(go));
	pid = xt_fork();
	if (!pid) {
		/* What arrives later is the parent's. */
		close(go[1]);
		XT_EQ(read(go[0], &c, 1), 0);
		XT_SAME(to.p + OFF, LEN, 1);
		XT_SAME(from.p + OFF, LEN, 1);
		_exit(0);
	}
	close(go[0]);
	xt_fill(from.p + OFF, LEN, 2);
	message(&p, &from, &to);
	XT_SAME(to.p + OFF, LEN, 2);
	close(go[1]);
	XT_EQ(waitpid(pid, &status, 0), pid);
	XT_EQ(status, 0);
}

/* Pages that are mapped for reading are copied or allocated, not written. */
static void read_first(void)
{
	struct xt_buf from, zero, file;
	int fd = memfd_create("xt_odp", 0);
	__u8 content[ROOM];
	struct xt_pair p;

	odp_pair(&p, NULL);
	XT_CHECK(fd >= 0, "memfd: %m");
	memset(content, 7, sizeof(content));
	XT_EQ(write(fd, content, ROOM), ROOM);
	from = odp_buf(&p.b, ROOM);
	xt_fill(from.p + OFF, LEN, 1);
	zero = odp_buf(&p.a, ROOM);
	file = odp_map(&p.a, ROOM, ALL, PROT_READ | PROT_WRITE, MAP_PRIVATE,
		       fd);

	XT_ALL(zero.p, ROOM, 0);
	message(&p, &from, &zero);
	XT_SAME(zero.p + OFF, LEN, 1);

	/* The peer reads first, so that the pages are present here, too. */
	XT_EQ(op(&p.b, IBV_WR_RDMA_READ, &from, &file), IBV_WC_SUCCESS);
	XT_ALL(from.p + OFF, LEN, 7);
	xt_fill(from.p + OFF, LEN, 2);
	message(&p, &from, &file);
	XT_SAME(file.p + OFF, LEN, 2);
	XT_EQ(pread(fd, content, ROOM, 0), ROOM);
	XT_ALL(content, ROOM, 7);
}

/* Another mapping at the same address is what the peer reaches from then on. */
static void remapped(void)
{
	struct xt_buf from, to;
	struct xt_pair p;
	__u8 *moved;
	void *at;

	odp_pair(&p, NULL);
	from = odp_buf(&p.b, ROOM);
	to = odp_buf(&p.a, ROOM);
	xt_fill(from.p + OFF, LEN, 1);
	message(&p, &from, &to);
	/* Some libraries pass the last argument only if it is there. */
	moved = mremap(to.p, ROOM, ROOM, MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
		       NULL);
	XT_CHECK(moved != MAP_FAILED && moved != to.p, "mremap: %m");
	at = mmap(to.p, ROOM, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	XT_CHECK(at == to.p, "mmap: %m");
	xt_fill(from.p + OFF, LEN, 2);
	message(&p, &from, &to);
	XT_SAME(to.p + OFF, LEN, 2);
	XT_SAME(moved + OFF, LEN, 1);
}

/* Pages are taken away all the time; a shared file keeps their bytes. */
static struct storm {
	struct xt_buf from, to, back;
	bool end;
} storm;

static void *storm_thread(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&storm.end, __ATOMIC_RELAXED)) {
		drop(&storm.from);
		drop(&storm.to);
		drop(&storm.back);
	}
	return NULL;
}

static struct xt_buf storm_buf(struct xt_end *e)
{
	int fd = memfd_create("xt_odp", 0);

	XT_CHECK(fd >= 0, "memfd: %m");
	XT_OK(ftruncate(fd, ROOM));
	return odp_map(e, ROOM, ALL, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
}

static void invalidations(void)
{
	pthread_t thread;
	struct xt_pair p;
	__u64 rounds;
	__u64 begin;

	odp_pair(&p, NULL);
	storm.from = storm_buf(&p.b);
	storm.to = storm_buf(&p.a);
	storm.back = storm_buf(&p.b);
	XT_OK(pthread_create(&thread, NULL, storm_thread, NULL));
	begin = xt_now_us();
	for (rounds = 1; xt_now_us() - begin < STORM_US; rounds++) {
		xt_fill(storm.from.p + OFF, LEN, 3 * rounds);
		message(&p, &storm.from, &storm.to);
		XT_SAME(storm.to.p + OFF, LEN, 3 * rounds);
		xt_fill(storm.from.p + OFF, LEN, 3 * rounds + 1);
		XT_EQ(op(&p.b, IBV_WR_RDMA_WRITE, &storm.from, &storm.to),
		      IBV_WC_SUCCESS);
		XT_EQ(op(&p.b, IBV_WR_RDMA_READ, &storm.back, &storm.to),
		      IBV_WC_SUCCESS);
		XT_SAME(storm.to.p + OFF, LEN, 3 * rounds + 1);
		XT_SAME(storm.back.p + OFF, LEN, 3 * rounds + 1);
	}
	__atomic_store_n(&storm.end, true, __ATOMIC_RELAXED);
	XT_OK(pthread_join(thread, NULL));
	xt_note("%llu rounds", (unsigned long long)rounds - 1);
}

/* Regions are deregistered, and connections end, while faults are handled. */
static void churn(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct xt_buf from, to;
	struct xt_pair p;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 20; i++) {
		odp_pair(&p, NULL);
		from = odp_buf(&p.b, ROOM);
		to = odp_buf(&p.a, ROOM);
		sge = xt_sge(&from, 0, ROOM);
		wr = xt_wr_to(IBV_WR_RDMA_WRITE, IO, &sge, 1, &to, 0);
		xt_send(&p.b, &wr);
		wr = xt_wr_to(IBV_WR_RDMA_READ, IO, &sge, 1, &to, 0);
		xt_send(&p.b, &wr);
		if (i & 1)
			XT_OK(rdma_disconnect(p.a.id));
		if (i & 2)
			xt_wait(p.b.scq, &wc);
		xt_buf_free(i & 4 ? &from : &to);
		xt_buf_free(i & 4 ? &to : &from);
		xt_close(&p.a);
		xt_close(&p.b);
	}
}

/* ---- limits ------------------------------------------------------------ */

static void unlimited(void)
{
	struct rlimit limit = { .rlim_cur = 65536, .rlim_max = 65536 };
	size_t len = 256UL << 20;
	struct xt_buf from, to;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct xt_pair p;
	size_t off;
	void *big;

	odp_pair(&p, NULL);
	XT_OK(setrlimit(RLIMIT_MEMLOCK, &limit));
	XT_OK(setresgid(1000, 1000, 1000));
	XT_OK(setresuid(1000, 1000, 1000));
	big = mmap(NULL, len, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	XT_CHECK(big != MAP_FAILED, "mmap: %m");
	XT_CHECK(!ibv_reg_mr(p.a.pd, big, len, XT_LOCAL) && errno == ENOMEM,
		 "pinned memory beyond the limit: %m");
	to = (struct xt_buf) { .p = big, .len = len, .map = big,
			       .map_len = len };
	to.mr = XT_PTR(ibv_reg_mr(p.a.pd, big, len, ALL));
	from = odp_buf(&p.b, ROOM);
	for (off = 0; off < len; off += len / 16) {
		xt_fill(from.p, 9000, off + 1);
		sge = xt_sge(&from, 0, 9000);
		wr = xt_wr_to(IBV_WR_RDMA_WRITE, IO, &sge, 1, &to, off);
		xt_send(&p.b, &wr);
		xt_wc_ok(p.b.scq, IO);
		sge = xt_sge(&from, 0, 1);
		wr = xt_wr_to(IBV_WR_RDMA_READ, IO, &sge, 1, &to, off);
		xt_send(&p.b, &wr);
		xt_wc_ok(p.b.scq, IO);
		XT_SAME(to.p + off, 9000, off + 1);
	}
	/* The driver's limit */
	XT_CHECK(!ibv_reg_mr(p.a.pd, big, (64UL << 30) + 1, ALL) &&
		 errno == ENOMEM, "a region of more than 64 GiB: %m");
}

static const struct xt_case cases[] = {
	{ "caps", "the device reports what it supports", caps },
	{ "send", "Sends from and to memory never touched, and given back",
	  send_recv },
	{ "srq", "the same with a shared receive queue", srq_recv },
	{ "rdma", "Writes and Reads of such memory", write_read },
	{ "atomic", "Atomics on such memory", atomic },
	{ "window", "a window onto such memory", window },
	{ "reg", "addresses from zero; no second registration", registered },
	{ "advise", "prefetches, and their errors", prefetch },
	{ "gone-recv", "a receive into unmapped memory fails", gone_recv },
	{ "ro-recv", "a receive into read-only memory fails", readonly_recv },
	{ "gone-send", "a Send of unmapped memory fails", gone_send },
	{ "no-send", "a Send of memory without rights fails", unreadable_send },
	{ "gone-write", "a Write of unmapped memory fails", gone_write },
	{ "gone-sink", "a Read into unmapped memory fails", gone_sink },
	{ "ro-sink", "a Read into read-only memory fails", readonly_sink },
	{ "gone-atomic", "an Atomic with an unmapped result fails",
	  gone_atomic_sink },
	{ "gone-peer", "a peer's Read and Atomic of unmapped memory fail",
	  remote_gone },
	{ "ro-peer", "a peer's Write to read-only memory is a fault",
	  remote_readonly },
	{ "fork", "a child keeps its bytes", forked },
	{ "cow", "zero pages and private files are not written", read_first },
	{ "remap", "a new mapping takes over", remapped },
	{ "storm", "every byte is right while pages are taken away",
	  invalidations },
	{ "churn", "regions and connections end at any moment", churn },
	{ "big", "a process without privileges, beyond its RLIMIT_MEMLOCK",
	  unlimited },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
