// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory that changes: windows of both types, regions that are registered
 * again, buffers of other devices, and completion queues that are resized. The
 * active end acts as the peer, which must reach the memory that was granted and
 * no other byte.
 */
#include "xt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROOM		(4 * XT_PAGE)
#define OFF		1000UL
#define LEN		5000UL
#define MARK		0x5a
#define IO		1
#define BIND		2
#define REMOTE		(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

struct stage {
	struct xt_pair p;
	struct xt_buf src;
	struct xt_buf dst;
};

/* Sets up a connection. The target region itself grants the peer no access. */
static void stage_up(struct stage *s)
{
	xt_pair(&s->p, NULL, NULL);
	s->src = xt_buf(&s->p.b, ROOM, XT_LOCAL);
	s->dst = xt_buf(&s->p.a, ROOM, XT_LOCAL | IBV_ACCESS_MW_BIND);
	memset(s->dst.p, MARK, ROOM);
}

/* A second connection with the same target memory, and another peer buffer */
static void second_up(struct stage *second, const struct stage *s)
{
	struct xt_opts same = XT_OPTS;

	same.pd = s->p.a.pd;
	xt_pair(&second->p, &same, NULL);
	second->src = xt_buf(&second->p.b, ROOM, XT_LOCAL);
	second->dst = s->dst;
}

static void stage_down(struct stage *s)
{
	XT_GUARDS(&s->src);
	XT_GUARDS(&s->dst);
	xt_buf_free(&s->src);
	xt_buf_free(&s->dst);
	xt_hang_up(&s->p, &s->p.b);
}

static enum ibv_wc_status peer_io(struct stage *s, enum ibv_wr_opcode op,
				  __u32 rkey, __u64 addr, size_t len)
{
	struct ibv_sge sge = xt_sge(&s->src, 0, len);
	struct ibv_send_wr wr = xt_wr(op, IO, &sge, 1);
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = rkey;
	xt_send(&s->p.b, &wr);
	xt_wait(s->p.b.scq, &wc);
	XT_EQ(wc.wr_id, IO);
	return wc.status;
}

/* The peer writes and reads back; the read shows that the write is placed. */
static void peer_may(struct stage *s, __u32 rkey, size_t off, size_t len,
		     __u64 seed)
{
	__u64 addr = (uintptr_t)s->dst.p + off;

	xt_fill(s->src.p, len, seed);
	XT_EQ(peer_io(s, IBV_WR_RDMA_WRITE, rkey, addr, len), IBV_WC_SUCCESS);
	memset(s->src.p, 0, len);
	XT_EQ(peer_io(s, IBV_WR_RDMA_READ, rkey, addr, len), IBV_WC_SUCCESS);
	XT_SAME(s->src.p, len, seed);
	XT_SAME(s->dst.p + off, len, seed);
}

/* Checks that the peer cannot read there. The attempt ends the connection. */
static void peer_may_not(struct stage *s, __u32 rkey, size_t off, size_t len)
{
	XT_EQ(peer_io(s, IBV_WR_RDMA_READ, rkey, (uintptr_t)s->dst.p + off,
		      len), IBV_WC_REM_ACCESS_ERR);
}

static void only_there(struct stage *s)
{
	XT_ALL(s->dst.p, OFF, MARK);
	XT_ALL(s->dst.p + OFF + LEN, ROOM - OFF - LEN, MARK);
}

static struct ibv_mw *new_mw(struct xt_end *e, enum ibv_mw_type type)
{
	return XT_PTR(ibv_alloc_mw(e->pd, type));
}

static struct ibv_send_wr bind_wr(struct ibv_mw *mw, const struct xt_buf *b,
				  size_t off, size_t len, int access)
{
	struct ibv_send_wr wr = xt_wr(IBV_WR_BIND_MW, BIND, NULL, 0);

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info.mr = b->mr;
	wr.bind_mw.bind_info.addr = (uintptr_t)b->p + off;
	wr.bind_mw.bind_info.length = len;
	wr.bind_mw.bind_info.mw_access_flags = access;
	return wr;
}

/* Binds a type 2 window, and returns the key for the peer. */
static __u32 bind2(struct stage *s, struct ibv_mw *mw)
{
	struct ibv_send_wr wr = bind_wr(mw, &s->dst, OFF, LEN, REMOTE);

	xt_send(&s->p.a, &wr);
	XT_EQ(xt_wc_ok(s->p.a.scq, BIND).opcode, IBV_WC_BIND_MW);
	mw->rkey = wr.bind_mw.rkey;
	return mw->rkey;
}

static void bind1(struct stage *s, struct ibv_mw *mw, size_t off, size_t len)
{
	struct ibv_mw_bind bind = {
		.wr_id = BIND,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = s->dst.mr,
			.addr = (uintptr_t)s->dst.p + off,
			.length = len,
			.mw_access_flags = REMOTE,
		},
	};

	XT_OK(ibv_bind_mw(s->p.a.qp, mw, &bind));
	XT_EQ(xt_wc_ok(s->p.a.scq, BIND).opcode, IBV_WC_BIND_MW);
}

static void invalidate(struct stage *s, __u32 rkey)
{
	struct ibv_send_wr wr = xt_wr(IBV_WR_LOCAL_INV, BIND, NULL, 0);

	wr.invalidate_rkey = rkey;
	xt_send(&s->p.a, &wr);
	XT_EQ(xt_wc_ok(s->p.a.scq, BIND).opcode, IBV_WC_LOCAL_INV);
}

/*
 * The peer invalidates a key by a Send; returns the completion of the receive.
 */
static struct ibv_wc remote_invalidate(struct stage *s, __u32 rkey, __u64 id)
{
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND_WITH_INV, IO, NULL, 0);

	wr.invalidate_rkey = rkey;
	xt_recvs(&s->p.a, id, 1);
	xt_send(&s->p.b, &wr);
	xt_wc_ok(s->p.b.scq, IO);
	return xt_wc_ok(s->p.a.rcq, id);
}

/* ---- windows ----------------------------------------------------------- */

static void test_type2(void)
{
	struct ibv_mw *mw;
	struct stage s;
	__u32 rkey;

	stage_up(&s);
	mw = new_mw(&s.p.a, IBV_MW_TYPE_2);
	rkey = bind2(&s, mw);
	peer_may(&s, rkey, OFF, LEN, 1);
	peer_may(&s, rkey, OFF + LEN - 1, 1, 2);
	only_there(&s);
	invalidate(&s, rkey);
	XT_CHECK(bind2(&s, mw) != rkey, "the key did not change");
	peer_may(&s, mw->rkey, OFF, LEN, 3);
	XT_OK(ibv_dealloc_mw(mw));
	stage_down(&s);
}

static void test_type2_invalidated(void)
{
	struct ibv_mw *mw;
	struct stage s;

	stage_up(&s);
	mw = new_mw(&s.p.a, IBV_MW_TYPE_2);
	bind2(&s, mw);
	peer_may(&s, mw->rkey, OFF, LEN, 1);
	invalidate(&s, mw->rkey);
	peer_may_not(&s, mw->rkey, OFF, 1);
}

static void test_window_borders(void)
{
	struct ibv_mw *mw;
	struct stage s;

	stage_up(&s);
	mw = new_mw(&s.p.a, IBV_MW_TYPE_2);
	bind2(&s, mw);
	/* Inside of the region, but one byte behind the window. */
	peer_may_not(&s, mw->rkey, OFF, LEN + 1);
	XT_ALL(s.dst.p, ROOM, MARK);
}

static void test_remote_invalidate(void)
{
	struct ibv_mw *mw;
	struct ibv_wc wc;
	struct stage s;

	stage_up(&s);
	mw = new_mw(&s.p.a, IBV_MW_TYPE_2);
	wc = remote_invalidate(&s, bind2(&s, mw), 7);
	XT_CHECK(wc.wc_flags & IBV_WC_WITH_INV, "no invalidate was reported");
	XT_EQ(wc.invalidated_rkey, mw->rkey);
	/* Only an invalid window can be bound, so this shows that it is. */
	bind2(&s, mw);
	peer_may(&s, mw->rkey, OFF, LEN, 1);
	remote_invalidate(&s, mw->rkey, 8);
	peer_may_not(&s, mw->rkey, OFF, 1);
}

/*
 * The window is invalid when the completion becomes visible: another queue
 * pair, whose work is not ordered with that of the first one, can bind it at
 * once.
 */
static void test_invalid_first(void)
{
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND_WITH_INV, IO, NULL, 0);
	struct stage second;
	struct ibv_mw *mw;
	struct stage s;
	int i;

	stage_up(&s);
	second_up(&second, &s);
	mw = new_mw(&s.p.a, IBV_MW_TYPE_2);
	for (i = 0; i < 200; i++) {
		wr.invalidate_rkey = bind2(&s, mw);
		xt_recvs(&s.p.a, 7, 1);
		xt_send(&s.p.b, &wr);
		xt_wc_ok(s.p.a.rcq, 7);
		bind2(&second, mw);
		xt_wc_ok(s.p.b.scq, IO);
		invalidate(&second, mw->rkey);
	}
}

static void test_bound_twice(void)
{
	struct ibv_send_wr wr;
	struct ibv_mw *mw;
	struct stage s;

	stage_up(&s);
	mw = new_mw(&s.p.a, IBV_MW_TYPE_2);
	bind2(&s, mw);
	wr = bind_wr(mw, &s.dst, OFF, LEN, REMOTE);
	xt_send(&s.p.a, &wr);
	xt_wc(s.p.a.scq, BIND, IBV_WC_MW_BIND_ERR);
}

static void test_bind_without_right(void)
{
	struct ibv_send_wr wr;
	struct xt_buf b;
	struct stage s;

	stage_up(&s);
	b = xt_buf(&s.p.a, ROOM, XT_REMOTE);
	wr = bind_wr(new_mw(&s.p.a, IBV_MW_TYPE_2), &b, 0, LEN, REMOTE);
	xt_send(&s.p.a, &wr);
	xt_wc(s.p.a.scq, BIND, IBV_WC_MW_BIND_ERR);
}

static void test_bind_outside(void)
{
	struct ibv_send_wr wr;
	struct stage s;

	stage_up(&s);
	wr = bind_wr(new_mw(&s.p.a, IBV_MW_TYPE_2), &s.dst, OFF, ROOM, REMOTE);
	xt_send(&s.p.a, &wr);
	xt_wc(s.p.a.scq, BIND, IBV_WC_MW_BIND_ERR);
}

static void bind_across(struct stage *s, struct ibv_mw *mw, struct xt_buf *b)
{
	struct ibv_send_wr wr = bind_wr(mw, b, OFF, LEN, REMOTE);

	xt_send(&s->p.a, &wr);
	xt_wc(s->p.a.scq, BIND, IBV_WC_MW_BIND_ERR);
}

/* The queue pair, the window and the region are of one protection domain. */
static void test_other_pd(void)
{
	struct ibv_pd *pd;
	struct xt_buf b;
	struct stage s;

	stage_up(&s);
	pd = XT_PTR(ibv_alloc_pd(s.p.a.id->verbs));
	bind_across(&s, XT_PTR(ibv_alloc_mw(pd, IBV_MW_TYPE_2)), &s.dst);

	stage_up(&s);
	b = s.dst;
	b.mr = XT_PTR(ibv_reg_mr(pd, b.p, ROOM, XT_LOCAL | IBV_ACCESS_MW_BIND));
	bind_across(&s, new_mw(&s.p.a, IBV_MW_TYPE_2), &b);

	/*
	 * Window and region of one protection domain, the queue pair of
	 * another.
	 */
	stage_up(&s);
	bind_across(&s, XT_PTR(ibv_alloc_mw(pd, IBV_MW_TYPE_2)), &b);
}

/* Only the peer of the queue pair that bound a type 2 window can use it. */
static void test_other_qp(void)
{
	struct stage second;
	struct ibv_mw *mw;
	struct stage s;

	stage_up(&s);
	second_up(&second, &s);
	mw = new_mw(&s.p.a, IBV_MW_TYPE_2);
	bind2(&s, mw);
	peer_may_not(&second, mw->rkey, OFF, LEN);
	peer_may(&s, mw->rkey, OFF, LEN, 1);
}

static void test_type1(void)
{
	struct ibv_mw *mw;
	struct stage s;

	stage_up(&s);
	mw = new_mw(&s.p.a, IBV_MW_TYPE_1);
	bind1(&s, mw, OFF, LEN);
	peer_may(&s, mw->rkey, OFF, LEN, 1);
	only_there(&s);
	/* The window is bound to another range without being unbound. */
	bind1(&s, mw, 3 * XT_PAGE, XT_PAGE);
	peer_may(&s, mw->rkey, 3 * XT_PAGE, XT_PAGE, 2);
	peer_may_not(&s, mw->rkey, OFF, LEN);
}

static void test_type1_old_key(void)
{
	struct ibv_mw *mw;
	struct stage s;
	__u32 old;

	stage_up(&s);
	mw = new_mw(&s.p.a, IBV_MW_TYPE_1);
	bind1(&s, mw, OFF, LEN);
	old = mw->rkey;
	bind1(&s, mw, OFF, LEN);
	peer_may_not(&s, old, OFF, LEN);
}

static void test_bound_region_stays(void)
{
	struct ibv_mw *mw1;
	struct ibv_mw *mw2;
	struct stage s;

	stage_up(&s);
	mw1 = new_mw(&s.p.a, IBV_MW_TYPE_1);
	mw2 = new_mw(&s.p.a, IBV_MW_TYPE_2);
	bind1(&s, mw1, OFF, LEN);
	bind2(&s, mw2);
	XT_EQ(ibv_dereg_mr(s.dst.mr), EBUSY);
	bind1(&s, mw1, 0, 0);
	XT_EQ(ibv_dereg_mr(s.dst.mr), EBUSY);
	peer_may(&s, mw2->rkey, OFF, LEN, 1);
	invalidate(&s, mw2->rkey);
	XT_OK(ibv_dereg_mr(s.dst.mr));
	s.dst.mr = NULL;
	XT_OK(ibv_dealloc_mw(mw1));
	XT_OK(ibv_dealloc_mw(mw2));
	stage_down(&s);
}

/* The end of the queue pair unbinds the window. */
static void test_qp_gone(void)
{
	struct ibv_mw *mw;
	struct stage s;

	stage_up(&s);
	mw = new_mw(&s.p.a, IBV_MW_TYPE_2);
	bind2(&s, mw);
	rdma_destroy_qp(s.p.a.id);
	XT_OK(ibv_dereg_mr(s.dst.mr));
	XT_OK(ibv_dealloc_mw(mw));
}

/*
 * Windows are bound by two queue pairs, and unbound, invalidated or bound
 * again. The end of the first queue pair invalidates the windows that it has at
 * that time, and no others.
 */
static void test_qp_gone_some(void)
{
	struct ibv_mw *mw[8];
	struct stage second;
	struct stage s;
	size_t i;

	stage_up(&s);
	second_up(&second, &s);
	for (i = 0; i < XT_NELEM(mw); i++) {
		mw[i] = new_mw(&s.p.a, IBV_MW_TYPE_2);
		bind2(i % 2 ? &second : &s, mw[i]);
	}
	/*
	 * The first queue pair has windows 2 and 6, gets 1, and loses 0 and 4.
	 */
	invalidate(&s, mw[0]->rkey);
	bind2(&second, mw[0]);
	invalidate(&second, mw[1]->rkey);
	bind2(&s, mw[1]);
	remote_invalidate(&s, mw[2]->rkey, 7);
	bind2(&s, mw[2]);
	XT_OK(ibv_dealloc_mw(mw[4]));
	XT_OK(ibv_dealloc_mw(mw[7]));
	rdma_destroy_qp(s.p.a.id);
	/* Only an invalid window can be bound. */
	bind2(&second, mw[1]);
	bind2(&second, mw[2]);
	bind2(&second, mw[6]);
	peer_may(&second, mw[0]->rkey, OFF, LEN, 1);
	peer_may(&second, mw[1]->rkey, OFF, LEN, 2);
	peer_may(&second, mw[3]->rkey, OFF, LEN, 3);
	peer_may(&second, mw[6]->rkey, OFF, LEN, 4);
	XT_EQ(ibv_dereg_mr(s.dst.mr), EBUSY);
	rdma_destroy_qp(second.p.a.id);
	XT_OK(ibv_dereg_mr(s.dst.mr));
	for (i = 0; i < XT_NELEM(mw); i++)
		if (i != 4 && i != 7)
			XT_OK(ibv_dealloc_mw(mw[i]));
}

/*
 * The least time in us in which a queue pair is destroyed that was never
 * connected. Other load delays each try, so it is repeated for up to 10 s until
 * one takes less than @enough.
 */
static __u64 idle_qp_goes(struct xt_end *e, __u64 enough)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = e->scq,
		.recv_cq = e->rcq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	__u64 end = xt_now_us() + 10 * 1000 * 1000;
	__u64 least = ~0ULL;
	struct ibv_qp *qp;
	__u64 took;
	int i;

	for (i = 0; i < 32 || (least >= enough && xt_now_us() < end); i++) {
		qp = XT_PTR(ibv_create_qp(e->pd, &attr));
		took = xt_now_us();
		XT_OK(ibv_destroy_qp(qp));
		took = xt_now_us() - took;
		if (took < least)
			least = took;
	}
	return least;
}

/* A queue pair is destroyed as fast as usual if others have many windows. */
static void test_qp_gone_many(void)
{
	int n = xt_count(4000);
	struct ibv_mw **mw = XT_PTR(calloc(n, sizeof(*mw)));
	struct stage s;
	__u64 alone;
	__u64 beside;
	__u64 own;
	int i;

	stage_up(&s);
	alone = idle_qp_goes(&s.p.a, ~0ULL);
	for (i = 0; i < n; i++) {
		mw[i] = new_mw(&s.p.a, IBV_MW_TYPE_2);
		bind2(&s, mw[i]);
	}
	beside = idle_qp_goes(&s.p.a, 2 * alone);
	XT_EQ(ibv_dereg_mr(s.dst.mr), EBUSY);
	own = xt_now_us();
	rdma_destroy_qp(s.p.a.id);
	own = xt_now_us() - own;
	xt_note("%d windows: their queue pair goes in %llu us, another one in %llu, before in %llu",
		n, (unsigned long long)own, (unsigned long long)beside,
		(unsigned long long)alone);
	XT_OK(ibv_dereg_mr(s.dst.mr));
	XT_CHECK(beside < 2 * alone, "%llu instead of %llu us",
		 (unsigned long long)beside, (unsigned long long)alone);
	for (i = 0; i < n; i++)
		XT_OK(ibv_dealloc_mw(mw[i]));
	free(mw);
}

/* ---- reregistered regions ---------------------------------------------- */

static void test_rereg_move(void)
{
	struct xt_buf other;
	struct stage s;
	__u32 rkey;

	stage_up(&s);
	other = xt_buf(&s.p.a, 2 * ROOM, XT_LOCAL);
	memset(other.p, MARK, other.len);
	rkey = s.dst.mr->rkey;
	XT_EQ(ibv_rereg_mr(s.dst.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   XT_REMOTE), 0);
	XT_EQ(s.dst.mr->rkey, rkey);
	peer_may(&s, rkey, OFF, LEN, 1);
	only_there(&s);
	XT_EQ(ibv_rereg_mr(s.dst.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			   other.p, other.len, 0), 0);
	XT_SAME(s.dst.p + OFF, LEN, 1);
	xt_fill(s.src.p, LEN, 2);
	XT_EQ(peer_io(&s, IBV_WR_RDMA_WRITE, s.dst.mr->rkey,
		      (uintptr_t)other.p + ROOM, LEN), IBV_WC_SUCCESS);
	XT_EQ(peer_io(&s, IBV_WR_RDMA_READ, s.dst.mr->rkey,
		      (uintptr_t)other.p + ROOM, LEN), IBV_WC_SUCCESS);
	XT_SAME(other.p + ROOM, LEN, 2);
	XT_ALL(other.p, ROOM, MARK);
	XT_SAME(s.dst.p + OFF, LEN, 1);
	xt_buf_free(&other);
	stage_down(&s);
}

/* Memory registered for reading only becomes writable. */
static void test_rereg_writable(void)
{
	struct stage s;
	struct xt_buf b;

	stage_up(&s);
	b = xt_buf(&s.p.a, ROOM, IBV_ACCESS_REMOTE_READ);
	XT_EQ(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   XT_REMOTE), 0);
	xt_buf_free(&s.dst);
	s.dst = b;
	peer_may(&s, b.mr->rkey, OFF, LEN, 1);
	stage_down(&s);
}

static void test_rereg_pd(void)
{
	struct ibv_pd *pd;
	struct stage s;

	stage_up(&s);
	pd = XT_PTR(ibv_alloc_pd(s.p.a.id->verbs));
	XT_EQ(ibv_rereg_mr(s.dst.mr, IBV_REREG_MR_CHANGE_ACCESS |
			   IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, XT_REMOTE), 0);
	peer_may_not(&s, s.dst.mr->rkey, OFF, LEN);
}

/*
 * A refused change has no effect, not even a part of it that would be allowed.
 */
static void test_rereg_refused(void)
{
	const int pd_and_rights = IBV_REREG_MR_CHANGE_PD |
				  IBV_REREG_MR_CHANGE_ACCESS;
	struct ibv_pd *pd;
	struct stage s;

	stage_up(&s);
	xt_buf_free(&s.dst);
	s.dst = xt_buf(&s.p.a, ROOM, XT_REMOTE);
	pd = XT_PTR(ibv_alloc_pd(s.p.a.id->verbs));
	XT_CHECK(ibv_rereg_mr(s.dst.mr, pd_and_rights, pd, NULL, 0,
			      IBV_ACCESS_HUGETLB), "unknown rights were given");
	XT_CHECK(ibv_rereg_mr(s.dst.mr, pd_and_rights |
			      IBV_REREG_MR_CHANGE_TRANSLATION, pd, s.dst.p,
			      1ULL << 46, XT_LOCAL),
		 "memory that is not there was registered");
	XT_OK(ibv_dealloc_pd(pd));
	peer_may(&s, s.dst.mr->rkey, OFF, LEN, 1);
	stage_down(&s);
}

static void test_rereg_bound(void)
{
	struct stage s;

	stage_up(&s);
	bind2(&s, new_mw(&s.p.a, IBV_MW_TYPE_2));
	XT_CHECK(ibv_rereg_mr(s.dst.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
			      0, XT_REMOTE), "a bound region was changed");
}

/* ---- regions at other addresses ---------------------------------------- */

/* Both sides access the bytes of s->dst by the addresses of that region. */
static void called_by(struct stage *s, const struct ibv_mr *mr, __u64 iova)
{
	struct ibv_sge sge = { iova + OFF, LEN, mr->lkey };
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, IO, &sge, 1);
	struct ibv_sge in = xt_sge(&s->src, 0, LEN);

	memset(s->dst.p, MARK, ROOM);
	xt_fill(s->src.p, LEN, iova);
	XT_EQ(peer_io(s, IBV_WR_RDMA_WRITE, mr->rkey, iova + OFF, LEN),
	      IBV_WC_SUCCESS);
	memset(s->src.p, 0, LEN);
	XT_EQ(peer_io(s, IBV_WR_RDMA_READ, mr->rkey, iova + OFF, LEN),
	      IBV_WC_SUCCESS);
	XT_SAME(s->src.p, LEN, iova);
	XT_SAME(s->dst.p + OFF, LEN, iova);
	only_there(s);
	memset(s->src.p, 0, LEN);
	xt_recv(&s->p.b, IO, &in, 1);
	xt_send(&s->p.a, &wr);
	xt_wc_ok(s->p.a.scq, IO);
	xt_wc_ok(s->p.b.rcq, IO);
	XT_SAME(s->src.p, LEN, iova);
}

static void region_at(struct stage *s, __u64 iova)
{
	struct ibv_mr *mr = XT_PTR(ibv_reg_mr_iova(s->p.a.pd, s->dst.p, ROOM,
						   iova, XT_REMOTE));

	called_by(s, mr, iova);
	XT_OK(ibv_dereg_mr(mr));
}

static void test_iova(void)
{
	static const __u64 iova[] = {
		XT_PAGE, 0x123456789000ULL, 1ULL << 63,
		-(__u64)ROOM - XT_PAGE,
	};
	struct stage s;
	size_t i;

	stage_up(&s);
	for (i = 0; i < XT_NELEM(iova); i++)
		region_at(&s, iova[i]);
	/* A region with the last address: its end would need 65 bits. */
	for (i = 0; i < 2; i++) {
		XT_CHECK(!ibv_reg_mr_iova(s.p.a.pd, s.dst.p, ROOM,
					  -(__u64)ROOM + i * XT_PAGE,
					  XT_REMOTE),
			 "a region goes up to or beyond the last address");
		XT_EQ(errno, EINVAL);
	}
	stage_down(&s);
}

static void test_zero_based(void)
{
	struct ibv_mr *mr;
	struct stage s;

	stage_up(&s);
	region_at(&s, 0);
	/* With IBV_ACCESS_ZERO_BASED the region begins at address 0. */
	mr = XT_PTR(ibv_reg_mr(s.p.a.pd, s.dst.p + ROOM / 2, ROOM / 2,
			       XT_REMOTE | IBV_ACCESS_ZERO_BASED));
	/*
	 * The flag stays when the region is moved, and only then can be
	 * cleared.
	 */
	XT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   XT_REMOTE), IBV_REREG_MR_ERR_CMD);
	XT_OK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, s.dst.p,
			   ROOM, 0));
	called_by(&s, mr, 0);
	XT_OK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION |
			   IBV_REREG_MR_CHANGE_ACCESS, NULL, s.dst.p, ROOM,
			   XT_REMOTE));
	called_by(&s, mr, (uintptr_t)s.dst.p);
	XT_OK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION |
			   IBV_REREG_MR_CHANGE_ACCESS, NULL, s.dst.p, ROOM,
			   XT_REMOTE | IBV_ACCESS_ZERO_BASED));
	called_by(&s, mr, 0);
	XT_EQ(peer_io(&s, IBV_WR_RDMA_READ, mr->rkey, (uintptr_t)s.dst.p, 1),
	      IBV_WC_REM_ACCESS_ERR);
}

/* ---- buffers of other devices ------------------------------------------ */

static int new_dmabuf(size_t size, __u8 **map)
{
	struct udmabuf_create create = {
		.flags = UDMABUF_FLAGS_CLOEXEC,
		.size = size,
	};
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	int mem;
	int fd;

	if (dev < 0)
		xt_skip("no /dev/udmabuf");
	mem = memfd_create("xt", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	XT_CHECK(mem >= 0, "memfd_create: %m");
	XT_OK(ftruncate(mem, size));
	XT_OK(fcntl(mem, F_ADD_SEALS, F_SEAL_SHRINK));
	*map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, mem, 0);
	create.memfd = mem;
	XT_CHECK(*map != MAP_FAILED, "mmap: %m");
	fd = ioctl(dev, UDMABUF_CREATE, &create);
	XT_CHECK(fd >= 0, "UDMABUF_CREATE: %m");
	close(dev);
	return fd;
}

static void test_dmabuf(void)
{
	struct ibv_mr *mr;
	struct stage s;
	__u8 *map;
	int fd;

	stage_up(&s);
	fd = new_dmabuf(2 * ROOM, &map);
	memset(map, MARK, 2 * ROOM);
	XT_CHECK(!ibv_reg_dmabuf_mr(s.p.a.pd, XT_PAGE, 2 * ROOM, 0, fd,
				    XT_REMOTE), "more than the buffer has");
	mr = XT_PTR(ibv_reg_dmabuf_mr(s.p.a.pd, XT_PAGE, ROOM, 7 * XT_PAGE, fd,
				      XT_REMOTE));
	close(fd);
	XT_CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			      XT_LOCAL), "a region without pages was changed");
	xt_fill(s.src.p, ROOM, 5);
	XT_EQ(peer_io(&s, IBV_WR_RDMA_WRITE, mr->rkey, 7 * XT_PAGE, ROOM),
	      IBV_WC_SUCCESS);
	memset(s.src.p, 0, ROOM);
	XT_EQ(peer_io(&s, IBV_WR_RDMA_READ, mr->rkey, 7 * XT_PAGE, ROOM),
	      IBV_WC_SUCCESS);
	XT_SAME(s.src.p, ROOM, 5);
	XT_SAME(map + XT_PAGE, ROOM, 5);
	XT_ALL(map, XT_PAGE, MARK);
	XT_ALL(map + XT_PAGE + ROOM, ROOM - XT_PAGE, MARK);
	XT_OK(ibv_dereg_mr(mr));
	stage_down(&s);
}

/* ---- completion queues ------------------------------------------------- */

static void sends(struct stage *s, __u64 first, unsigned int n)
{
	struct ibv_send_wr wr;
	unsigned int i;

	for (i = 0; i < n; i++) {
		wr = xt_wr(IBV_WR_SEND, first + i, NULL, 0);
		xt_recvs(&s->p.a, first + i, 1);
		xt_send(&s->p.b, &wr);
	}
	/* All are in the queue when the last has arrived. */
	for (i = 0; i < n; i++)
		xt_wc_ok(s->p.a.rcq, first + i);
}

static void test_resize(void)
{
	struct stage s;
	unsigned int i;
	int entries;

	stage_up(&s);
	entries = s.p.b.scq->cqe;
	sends(&s, 100, 40);
	XT_OK(ibv_resize_cq(s.p.b.scq, 4 * entries));
	XT_CHECK(s.p.b.scq->cqe >= 4 * entries, "it did not grow");
	for (i = 0; i < 10; i++)
		xt_wc_ok(s.p.b.scq, 100 + i);
	sends(&s, 140, 20);
	XT_CHECK(ibv_resize_cq(s.p.b.scq, 16), "50 entries in 16");
	XT_OK(ibv_resize_cq(s.p.b.scq, 64));
	XT_CHECK(s.p.b.scq->cqe < 4 * entries, "it did not shrink");
	for (i = 10; i < 60; i++)
		xt_wc_ok(s.p.b.scq, 100 + i);
	sends(&s, 200, 30);
	for (i = 0; i < 30; i++)
		xt_wc_ok(s.p.b.scq, 200 + i);
	stage_down(&s);
}

/* A queue that was armed before a resize raises its event after it. */
static void test_resize_armed(void)
{
	struct ibv_cq *cq;
	struct stage s;
	void *ctx;

	stage_up(&s);
	XT_OK(ibv_req_notify_cq(s.p.b.scq, 0));
	XT_OK(ibv_resize_cq(s.p.b.scq, 1000));
	sends(&s, 100, 1);
	XT_OK(ibv_get_cq_event(s.p.b.scq->channel, &cq, &ctx));
	ibv_ack_cq_events(cq, 1);
	XT_CHECK(cq == s.p.b.scq, "an event of another queue");
	xt_wc_ok(s.p.b.scq, 100);
	stage_down(&s);
}

static const struct xt_case cases[] = {
	{ "mw2", "type 2 window: bound, used, invalidated, bound again",
	  test_type2 },
	{ "mw2-invalid", "an invalidated window gives nothing",
	  test_type2_invalidated },
	{ "mw2-borders", "a window ends where it ends", test_window_borders },
	{ "mw2-remote-inv", "the peer invalidates a window",
	  test_remote_invalidate },
	{ "mw2-inv-first", "it is invalid before the completion is seen",
	  test_invalid_first },
	{ "mw2-twice", "a bound type 2 window cannot be bound again",
	  test_bound_twice },
	{ "mw2-right", "a region without the right to bind has no windows",
	  test_bind_without_right },
	{ "mw2-outside", "no window is larger than its region",
	  test_bind_outside },
	{ "mw2-other-pd", "a window of one protection domain, a region of another",
	  test_other_pd },
	{ "mw2-other-qp", "a type 2 window is of no use to another queue pair",
	  test_other_qp },
	{ "mw2-qp-gone", "a queue pair takes its bindings with it",
	  test_qp_gone },
	{ "mw2-qp-gone-some", "type 2 windows go with their queue pair, others stay",
	  test_qp_gone_some },
	{ "mw2-qp-gone-many", "many windows are no matter to other queue pairs",
	  test_qp_gone_many },
	{ "mw1", "type 1 window: bound, used, moved", test_type1 },
	{ "mw1-old-key", "the key before a bind is void", test_type1_old_key },
	{ "mw-busy", "a region with bound windows stays",
	  test_bound_region_stays },
	{ "rereg-move", "a region gets other rights and other memory",
	  test_rereg_move },
	{ "rereg-writable", "memory registered for reading becomes writable",
	  test_rereg_writable },
	{ "rereg-pd", "a region moves to another protection domain",
	  test_rereg_pd },
	{ "rereg-refused", "a change that is refused changes nothing",
	  test_rereg_refused },
	{ "rereg-bound", "a region with a bound window does not change",
	  test_rereg_bound },
	{ "iova", "a region has the addresses it was given", test_iova },
	{ "zero-based", "a region that begins at 0", test_zero_based },
	{ "dmabuf", "a buffer of another device is written and read",
	  test_dmabuf },
	{ "resize-cq", "a queue grows and shrinks with entries in it",
	  test_resize },
	{ "resize-armed", "a queue stays armed when it is resized",
	  test_resize_armed },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
