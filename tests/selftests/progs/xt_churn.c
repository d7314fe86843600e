// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Objects that change or end while data arrives for them: completion queues
 * that are resized and moderated, regions that are registered again, windows
 * that are invalidated, and shared receive queues that are destroyed with an
 * event on its way.
 *
 *	xt_churn [-a [NS/]ADDRESS] [-b [NS/]ADDRESS] [-t CASE]... [-n ROUNDS]
 */
#include "xt.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define BYTES		(48 * 1024UL)
#define MARK		0x5a
#define DATA		0xa5
#define OTHERS		0x100000000ULL
#define WINDOW		32U

static atomic_bool enough;

/* ---- completion queues -------------------------------------------------- */

struct flow {
	struct xt_pair p;
	__u64 count;
};

/* Sends messages, at most WINDOW ahead of the receiver. */
static void *send_on(void *arg)
{
	struct flow *f = arg;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	__u64 n;

	for (n = 0; !atomic_load(&enough); n++) {
		wr = xt_wr(IBV_WR_SEND, n, NULL, 0);
		xt_recvs(&f->p.a, n, 1);
		xt_send(&f->p.b, &wr);
		xt_wait(f->p.b.scq, &wc);
		XT_EQ(wc.status, IBV_WC_SUCCESS);
		XT_EQ(wc.wr_id, n);
		while (n - __atomic_load_n(&f->count, __ATOMIC_ACQUIRE) >=
		       WINDOW && !atomic_load(&enough))
			sched_yield();
	}
	/* The last message ends the receiver. */
	wr = xt_wr(IBV_WR_SEND, n, NULL, 0);
	xt_recvs(&f->p.a, OTHERS - 1, 1);
	xt_send(&f->p.b, &wr);
	return NULL;
}

/* Waits for the event of each message. */
static void *receive_on(void *arg)
{
	struct flow *f = arg;
	struct ibv_wc wc;

	for (;;) {
		xt_wait(f->p.a.rcq, &wc);
		if (wc.wr_id >= OTHERS)
			continue;
		XT_EQ(wc.status, IBV_WC_SUCCESS);
		if (wc.wr_id == OTHERS - 1)
			return NULL;
		XT_EQ(wc.wr_id, f->count);
		__atomic_store_n(&f->count, f->count + 1, __ATOMIC_RELEASE);
	}
}

/* A queue pair flushes its receives into the queue, and its end drops them. */
static void come_and_go(struct xt_end *e)
{
	struct ibv_qp_init_attr init = {
		.send_cq = e->rcq, .recv_cq = e->rcq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 8, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr *bad;
	struct ibv_qp *qp;
	int i;

	qp = XT_PTR(ibv_create_qp(e->pd, &init));
	for (i = 0; i < 8; i++) {
		struct ibv_recv_wr wr = { .wr_id = OTHERS + i };

		XT_OK(ibv_post_recv(qp, &wr, &bad));
	}
	XT_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	XT_OK(ibv_destroy_qp(qp));
}

static void resize_under_load(bool others, bool moderate)
{
	struct ibv_modify_cq_attr mod = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
	};
	struct flow f = { .count = 0 };
	pthread_t threads[2];
	int n = xt_count(300);
	int i;

	xt_pair(&f.p, NULL, NULL);
	XT_OK(pthread_create(&threads[0], NULL, receive_on, &f));
	XT_OK(pthread_create(&threads[1], NULL, send_on, &f));
	for (i = 0; i < n; i++) {
		XT_OK(ibv_resize_cq(f.p.a.rcq, 128 << i % 5));
		if (others)
			come_and_go(&f.p.a);
		if (moderate) {
			mod.moderate.cq_count = i % 3 * 8;
			mod.moderate.cq_period = i % 3 * 500;
			XT_OK(ibv_modify_cq(f.p.a.rcq, &mod));
		}
	}
	atomic_store(&enough, true);
	XT_OK(pthread_join(threads[1], NULL));
	XT_OK(pthread_join(threads[0], NULL));
	xt_note("%llu messages", (unsigned long long)f.count);
}

static void test_resize(void)
{
	resize_under_load(false, false);
}

static void test_resize_others(void)
{
	resize_under_load(true, false);
}

static void test_resize_moderated(void)
{
	resize_under_load(true, true);
}

/* ---- memory ------------------------------------------------------------- */

struct writes {
	struct xt_pair p;
	struct xt_buf src;
	__u64 addr;
	__u32 rkey;
};

/* Writes until @enough is set, or the memory is refused. */
static void *write_on(void *arg)
{
	struct writes *w = arg;
	struct ibv_sge sge = xt_sge(&w->src, 0, BYTES);
	struct ibv_send_wr wr = xt_wr(IBV_WR_RDMA_WRITE, 1, &sge, 1);
	unsigned int out = 0;
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = w->addr;
	wr.wr.rdma.rkey = w->rkey;
	while (!atomic_load(&enough)) {
		xt_send(&w->p.b, &wr);
		if (++out < 4)
			continue;
		xt_wait(w->p.b.scq, &wc);
		out--;
		if (wc.status != IBV_WC_SUCCESS)
			break;
	}
	while (out--)
		xt_wait(w->p.b.scq, &wc);
	return NULL;
}

static bool is_new(const __u8 *p)
{
	return __atomic_load_n(&p[BYTES - 1], __ATOMIC_ACQUIRE) != MARK;
}

static void writes_up(struct writes *w)
{
	xt_pair(&w->p, NULL, NULL);
	w->src = xt_buf(&w->p.b, BYTES, XT_LOCAL);
	memset(w->src.p, DATA, BYTES);
}

/* Once a region has moved, nothing is written to its former pages. */
static void test_rereg(void)
{
	int n = xt_count(200);
	struct writes w;
	pthread_t thread;
	struct ibv_mr *mr;
	__u8 *page[2];
	int i;

	writes_up(&w);
	page[0] = XT_PTR(aligned_alloc(XT_PAGE, BYTES));
	page[1] = XT_PTR(aligned_alloc(XT_PAGE, BYTES));
	memset(page[0], MARK, BYTES);
	memset(page[1], MARK, BYTES);
	mr = XT_PTR(ibv_reg_mr(w.p.a.pd, page[0], BYTES, XT_REMOTE |
			       IBV_ACCESS_ZERO_BASED));
	w.addr = 0;
	w.rkey = mr->rkey;
	XT_OK(pthread_create(&thread, NULL, write_on, &w));
	for (i = 0; i < n; i++) {
		__u8 *from = page[i % 2];
		__u8 *to = page[!(i % 2)];

		while (!is_new(from))
			sched_yield();
		XT_OK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION,
				   w.p.a.pd, to, BYTES, 0));
		memset(from, MARK, BYTES);
		while (!is_new(to))
			sched_yield();
		XT_ALL(from, BYTES, MARK);
	}
	atomic_store(&enough, true);
	XT_OK(pthread_join(thread, NULL));
}

/* Once a window is invalid, nothing is written through it. */
static void test_invalidate(void)
{
	int n = xt_count(10);
	int i;

	for (i = 0; i < n; i++) {
		struct ibv_send_wr wr;
		pthread_t thread;
		struct writes w;
		struct xt_buf dst;
		struct ibv_mw *mw;

		writes_up(&w);
		dst = xt_buf(&w.p.a, BYTES, XT_LOCAL | IBV_ACCESS_MW_BIND);
		memset(dst.p, MARK, BYTES);
		mw = XT_PTR(ibv_alloc_mw(w.p.a.pd, IBV_MW_TYPE_2));
		wr = xt_wr(IBV_WR_BIND_MW, 2, NULL, 0);
		wr.bind_mw.mw = mw;
		wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
		wr.bind_mw.bind_info.mr = dst.mr;
		wr.bind_mw.bind_info.addr = (uintptr_t)dst.p;
		wr.bind_mw.bind_info.length = BYTES;
		wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
		xt_send(&w.p.a, &wr);
		xt_wc_ok(w.p.a.scq, 2);
		w.addr = (uintptr_t)dst.p;
		w.rkey = wr.bind_mw.rkey;
		XT_OK(pthread_create(&thread, NULL, write_on, &w));
		while (!is_new(dst.p))
			sched_yield();
		wr = xt_wr(IBV_WR_LOCAL_INV, 3, NULL, 0);
		wr.invalidate_rkey = w.rkey;
		xt_send(&w.p.a, &wr);
		xt_wc_ok(w.p.a.scq, 3);
		memset(dst.p, MARK, BYTES);
		XT_OK(pthread_join(thread, NULL));
		XT_ALL(dst.p, BYTES, MARK);
		XT_GUARDS(&dst);
		XT_OK(ibv_dealloc_mw(mw));
		xt_buf_free(&dst);
		xt_buf_free(&w.src);
		xt_close(&w.p.a);
		xt_close(&w.p.b);
	}
}

/* ---- shared receive queues ----------------------------------------------- */

/* Destroys a shared queue right after its limit event was raised. */
static void test_srq_limit(void)
{
	struct ibv_srq_attr limit = { .srq_limit = 8 };
	int n = xt_count(30);
	int i;

	for (i = 0; i < n; i++) {
		struct xt_opts o = XT_OPTS;
		struct xt_pair p;
		struct ibv_send_wr wr;

		o.srq_wr = 8;
		o.no_hello = true;
		xt_pair(&p, &o, NULL);
		xt_recvs(&p.a, 0, 8);
		XT_OK(ibv_modify_srq(p.a.srq, &limit, IBV_SRQ_LIMIT));
		wr = xt_wr(IBV_WR_SEND, 1, NULL, 0);
		xt_send(&p.b, &wr);
		if (i % 2)
			xt_wc_ok(p.a.rcq, 0);
		xt_close(&p.a);
		xt_close(&p.b);
	}
}

static const struct xt_case cases[] = {
	{ "resize", "a queue that is resized loses no message and no event",
	  test_resize },
	{ "resize-others", "nor while queue pairs of it come and go",
	  test_resize_others },
	{ "resize-moderated", "nor with changes of its moderation",
	  test_resize_moderated },
	{ "rereg", "a region that moved is not written where it was",
	  test_rereg },
	{ "invalidate", "an invalid window is not written", test_invalidate },
	{ "srq-limit", "a shared queue ends with its limit event on the way",
	  test_srq_limit },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
