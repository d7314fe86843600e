// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The extended verbs: requests built by ibv_wr_*() and completions read by
 * ibv_start_poll() and its like, for every operation.
 */
#include "xt.h"

#include <errno.h>
#include <string.h>

#define ROOM		(4 * XT_PAGE)
#define MARK		0x3c
#define WORD		sizeof(__u64)
#define XT_ATOMIC	(XT_REMOTE | IBV_ACCESS_REMOTE_ATOMIC)
#define SEND_OPS	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_INV | \
			 IBV_QP_EX_WITH_RDMA_WRITE |			   \
			 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |		   \
			 IBV_QP_EX_WITH_RDMA_READ |			   \
			 IBV_QP_EX_WITH_BIND_MW |			   \
			 IBV_QP_EX_WITH_LOCAL_INV |			   \
			 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |		   \
			 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

/*
 * How queues are created: with @depth entries each, if not 0, and with @domains
 * in a thread domain for each end
 */
struct how {
	__u32 depth;
	__u32 inline_len;
	__u32 cq_flags;
	__u64 wc_flags;
	bool domains;
};

/*
 * An end with queues made by the extended calls. In domains of its own, @e.pd
 * is the parent domain of @inner.
 */
struct ex_end {
	struct xt_end e;
	struct ibv_pd *inner;
	struct ibv_td *td;
	struct ibv_qp_ex *qpx;
	struct ibv_cq_ex *scqx;
	struct ibv_cq_ex *rcqx;
};

struct lane {
	struct ex_end a;
	struct ex_end b;
	struct xt_buf src;
	struct xt_buf target;
};

static struct ibv_cq_ex *new_cq_ex(struct ex_end *x, const struct how *how)
{
	struct ibv_context *ctx = x->e.id->verbs;
	struct ibv_comp_channel *cc = XT_PTR(ibv_create_comp_channel(ctx));
	struct ibv_cq_init_attr_ex attr = {
		.cqe = how->depth ?: 128,
		.cq_context = cc,
		.channel = cc,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM |
			    IBV_WC_EX_WITH_QP_NUM | how->wc_flags,
		.comp_mask = how->cq_flags ? IBV_CQ_INIT_ATTR_MASK_FLAGS : 0,
		.flags = how->cq_flags,
	};

	if (how->domains) {
		attr.comp_mask |= IBV_CQ_INIT_ATTR_MASK_PD;
		attr.parent_domain = x->e.pd;
	}
	return XT_PTR(ibv_create_cq_ex(ctx, &attr));
}

/* Allocates the protection domain, with @domains in a parent domain. */
static void new_pd(struct ex_end *x, const struct how *how)
{
	struct ibv_context *ctx = x->e.id->verbs;
	struct ibv_parent_domain_init_attr attr = {};
	struct ibv_td_init_attr td_attr = {};

	x->inner = XT_PTR(ibv_alloc_pd(ctx));
	x->e.pd = x->inner;
	if (!how->domains)
		return;
	x->td = XT_PTR(ibv_alloc_td(ctx, &td_attr));
	attr.pd = x->inner;
	attr.td = x->td;
	x->e.pd = XT_PTR(ibv_alloc_parent_domain(ctx, &attr));
}

static void ex_qp(struct ex_end *x, const struct how *how)
{
	struct xt_end *e = &x->e;
	struct ibv_qp_init_attr_ex attr = {
		.cap = {
			.max_send_wr = how->depth ?: 32,
			.max_recv_wr = how->depth ?: 32,
			.max_send_sge = 4,
			.max_recv_sge = 2,
			.max_inline_data = how->inline_len,
		},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SEND_OPS,
	};

	new_pd(x, how);
	x->scqx = new_cq_ex(x, how);
	x->rcqx = new_cq_ex(x, how);
	e->scq = ibv_cq_ex_to_cq(x->scqx);
	e->rcq = ibv_cq_ex_to_cq(x->rcqx);
	attr.pd = e->pd;
	attr.send_cq = e->scq;
	attr.recv_cq = e->rcq;
	XT_OK(rdma_create_qp_ex(e->id, &attr));
	e->qp = e->id->qp;
	e->cap = attr.cap;
	e->spare = xt_buf(e, 64, XT_LOCAL);
	x->qpx = XT_PTR(ibv_qp_to_qp_ex(e->qp));
}

static void lane_up(struct lane *l, const struct how *how)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);
	static const struct xt_opts o = XT_OPTS;
	struct xt_end listener;
	struct xt_event ev;

	memset(l, 0, sizeof(*l));
	xt_id(&listener, &xt_a);
	sa = xt_addr(&xt_a, xt_listen(&listener, &sa, 8));
	xt_id(&l->b.e, &xt_b);
	xt_resolve(&l->b.e, &sa);
	ex_qp(&l->b, how);
	xt_dial(&l->b.e, &o, NULL, 0);
	xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	xt_adopt(&l->a.e, &xt_a, ev.id);
	ex_qp(&l->a, how);
	xt_answer(&l->a.e, &o, NULL, 0);
	xt_expect(&l->a.e, RDMA_CM_EVENT_ESTABLISHED, NULL);
	xt_expect(&l->b.e, RDMA_CM_EVENT_ESTABLISHED, NULL);
	xt_close(&listener);
	l->src = xt_buf(&l->b.e, ROOM, XT_LOCAL);
	l->target = xt_buf(&l->a.e, ROOM, XT_ATOMIC | IBV_ACCESS_MW_BIND);
	xt_fill(l->src.p, ROOM, 1);
	memset(l->target.p, MARK, ROOM);
}

static void lane_down(struct lane *l)
{
	XT_GUARDS(&l->src);
	XT_GUARDS(&l->target);
	xt_buf_free(&l->src);
	xt_buf_free(&l->target);
	XT_OK(rdma_disconnect(l->b.e.id));
	xt_expect(&l->a.e, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_expect(&l->b.e, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_close(&l->a.e);
	xt_close(&l->b.e);
}

/* Begins an extended poll at the next completion; sleeps until there is one. */
static void begin_poll(struct ibv_cq_ex *cqx)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq *cq = ibv_cq_ex_to_cq(cqx);
	struct ibv_cq *which;
	void *context;
	int ret;

	XT_HERE();
	while ((ret = ibv_start_poll(cqx, &attr)) == ENOENT) {
		XT_OK(ibv_req_notify_cq(cq, 0));
		ret = ibv_start_poll(cqx, &attr);
		if (ret != ENOENT)
			break;
		XT_OK(ibv_get_cq_event(cq->channel, &which, &context));
		XT_CHECK(which == cq, "an event of another queue");
		ibv_ack_cq_events(cq, 1);
	}
	XT_EQ(ret, 0);
}

/* Checks the current completion of the extended poll. */
static void at(struct ibv_cq_ex *cqx, struct ibv_qp *qp, __u64 wr_id,
	       enum ibv_wc_opcode opcode, __u32 len)
{
	XT_EQ(cqx->wr_id, wr_id);
	XT_EQ(cqx->status, IBV_WC_SUCCESS);
	XT_EQ(ibv_wc_read_opcode(cqx), opcode);
	XT_EQ(ibv_wc_read_vendor_err(cqx), 0);
	XT_EQ(ibv_wc_read_qp_num(cqx), qp->qp_num);
	if (opcode & IBV_WC_RECV || opcode == IBV_WC_RDMA_READ ||
	    opcode == IBV_WC_COMP_SWAP || opcode == IBV_WC_FETCH_ADD)
		XT_EQ(ibv_wc_read_byte_len(cqx), len);
}

static void one_wc(struct ibv_cq_ex *cqx, struct ibv_qp *qp, __u64 wr_id,
		   enum ibv_wc_opcode opcode, __u32 len)
{
	struct ibv_poll_cq_attr attr = {};

	begin_poll(cqx);
	at(cqx, qp, wr_id, opcode, len);
	XT_EQ(ibv_next_poll(cqx), ENOENT);
	ibv_end_poll(cqx);
	XT_EQ(ibv_start_poll(cqx, &attr), ENOENT);
}

static void start(struct ibv_qp_ex *qpx, __u64 wr_id)
{
	ibv_wr_start(qpx);
	qpx->wr_id = wr_id;
	qpx->wr_flags = IBV_SEND_SIGNALED;
}

static void set_src(struct lane *l, size_t off, __u32 len)
{
	ibv_wr_set_sge(l->b.qpx, l->src.mr->lkey,
		       (uintptr_t)l->src.p + off, len);
}

static __u64 word_at(const __u8 *p)
{
	__u64 w;

	memcpy(&w, p, WORD);
	return w;
}

static const struct how plain = { .inline_len = 64 };

/* ---- operations -------------------------------------------------------- */

static void ex_send(struct lane *l)
{
	struct ibv_sge in = xt_sge(&l->target, 100, 500);

	xt_recv(&l->a.e, 1, &in, 1);
	start(l->b.qpx, 2);
	ibv_wr_send(l->b.qpx);
	set_src(l, 0, 500);
	XT_OK(ibv_wr_complete(l->b.qpx));
	one_wc(l->b.scqx, l->b.e.qp, 2, IBV_WC_SEND, 0);
	one_wc(l->a.rcqx, l->a.e.qp, 1, IBV_WC_RECV, 500);
	XT_SAME(l->target.p + 100, 500, 1);
}

static void ex_write(struct lane *l)
{
	struct ibv_sge sge[3] = {
		xt_sge(&l->src, 0, 1000), xt_sge(&l->src, 1000, 0),
		xt_sge(&l->src, 1000, 3000),
	};

	xt_recvs(&l->a.e, 3, 1);
	start(l->b.qpx, 4);
	ibv_wr_rdma_write(l->b.qpx, l->target.mr->rkey,
			  (uintptr_t)l->target.p + 3);
	ibv_wr_set_sge_list(l->b.qpx, XT_NELEM(sge), sge);
	l->b.qpx->wr_id = 5;
	ibv_wr_send(l->b.qpx);
	XT_OK(ibv_wr_complete(l->b.qpx));
	one_wc(l->a.rcqx, l->a.e.qp, 3, IBV_WC_RECV, 0);
	XT_SAME(l->target.p + 3, 4000, 1);
	begin_poll(l->b.scqx);
	at(l->b.scqx, l->b.e.qp, 4, IBV_WC_RDMA_WRITE, 0);
	ibv_end_poll(l->b.scqx);
	one_wc(l->b.scqx, l->b.e.qp, 5, IBV_WC_SEND, 0);
}

static void ex_write_imm(struct lane *l)
{
	__u8 part[2][20];
	struct ibv_data_buf parts[2] = {
		{ .addr = part[0], .length = sizeof(part[0]) },
		{ .addr = part[1], .length = sizeof(part[1]) },
	};

	xt_recvs(&l->a.e, 6, 2);
	start(l->b.qpx, 7);
	ibv_wr_rdma_write_imm(l->b.qpx, l->target.mr->rkey,
			      (uintptr_t)l->target.p, 0x01020304);
	set_src(l, 0, 2000);
	XT_OK(ibv_wr_complete(l->b.qpx));
	one_wc(l->b.scqx, l->b.e.qp, 7, IBV_WC_RDMA_WRITE, 0);
	begin_poll(l->a.rcqx);
	at(l->a.rcqx, l->a.e.qp, 6, IBV_WC_RECV_RDMA_WITH_IMM, 2000);
	XT_EQ(ibv_wc_read_wc_flags(l->a.rcqx), IBV_WC_WITH_IMM);
	XT_EQ(ibv_wc_read_imm_data(l->a.rcqx), 0x01020304);
	ibv_end_poll(l->a.rcqx);
	XT_SAME(l->target.p, 2000, 1);

	xt_fill(part, sizeof(part), 9);
	start(l->b.qpx, 8);
	ibv_wr_rdma_write_imm(l->b.qpx, l->target.mr->rkey,
			      (uintptr_t)l->target.p + 4000, 7);
	ibv_wr_set_inline_data_list(l->b.qpx, 2, parts);
	XT_OK(ibv_wr_complete(l->b.qpx));
	memset(part, 0, sizeof(part));
	one_wc(l->b.scqx, l->b.e.qp, 8, IBV_WC_RDMA_WRITE, 0);
	begin_poll(l->a.rcqx);
	at(l->a.rcqx, l->a.e.qp, 7, IBV_WC_RECV_RDMA_WITH_IMM, sizeof(part));
	XT_EQ(ibv_wc_read_imm_data(l->a.rcqx), 7);
	ibv_end_poll(l->a.rcqx);
	XT_SAME(l->target.p + 4000, sizeof(part), 9);
}

static void ex_read(struct lane *l)
{
	xt_fill(l->target.p + 8000, 3000, 4);
	start(l->b.qpx, 9);
	ibv_wr_rdma_read(l->b.qpx, l->target.mr->rkey,
			 (uintptr_t)l->target.p + 8000);
	set_src(l, 5000, 3000);
	XT_OK(ibv_wr_complete(l->b.qpx));
	one_wc(l->b.scqx, l->b.e.qp, 9, IBV_WC_RDMA_READ, 3000);
	XT_SAME(l->src.p + 5000, 3000, 4);
	xt_fill(l->src.p, ROOM, 1);
}

static void ex_atomics(struct lane *l)
{
	__u64 *word = (__u64 *)(l->target.p + XT_PAGE);

	*word = 41;
	start(l->b.qpx, 10);
	ibv_wr_atomic_fetch_add(l->b.qpx, l->target.mr->rkey,
				(uintptr_t)word, 1);
	set_src(l, 1, WORD);
	l->b.qpx->wr_id = 11;
	ibv_wr_atomic_cmp_swp(l->b.qpx, l->target.mr->rkey, (uintptr_t)word,
			      42, 1000);
	set_src(l, 9, WORD);
	l->b.qpx->wr_id = 12;
	ibv_wr_atomic_cmp_swp(l->b.qpx, l->target.mr->rkey, (uintptr_t)word,
			      42, 2000);
	set_src(l, 17, WORD);
	XT_OK(ibv_wr_complete(l->b.qpx));
	begin_poll(l->b.scqx);
	at(l->b.scqx, l->b.e.qp, 10, IBV_WC_FETCH_ADD, WORD);
	ibv_end_poll(l->b.scqx);
	begin_poll(l->b.scqx);
	at(l->b.scqx, l->b.e.qp, 11, IBV_WC_COMP_SWAP, WORD);
	ibv_end_poll(l->b.scqx);
	one_wc(l->b.scqx, l->b.e.qp, 12, IBV_WC_COMP_SWAP, WORD);
	XT_EQ(word_at(l->src.p + 1), 41);
	XT_EQ(word_at(l->src.p + 9), 42);
	XT_EQ(word_at(l->src.p + 17), 1000);
	XT_EQ(*word, 1000);
	xt_fill(l->src.p, ROOM, 1);
}

static void all_operations(const struct how *how, int rounds)
{
	struct lane l;
	int round;

	lane_up(&l, how);
	ex_send(&l);
	for (round = 0; round < rounds; round++) {
		ex_write(&l);
		ex_write_imm(&l);
		ex_read(&l);
		ex_atomics(&l);
		ex_send(&l);
	}
	lane_down(&l);
}

static void test_operations(void)
{
	all_operations(&plain, 10);
}

static void test_single_threaded(void)
{
	const struct how how = {
		.inline_len = 64,
		.cq_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};

	all_operations(&how, 3);
}

static void send_one(struct lane *l, __u64 wr_id)
{
	start(l->b.qpx, wr_id);
	ibv_wr_send(l->b.qpx);
	set_src(l, 0, 100);
	XT_OK(ibv_wr_complete(l->b.qpx));
}

/*
 * The request of a completion that was read leaves room for another one before
 * end_poll, in queues and completion queues of one entry.
 */
static void test_post_between(void)
{
	const struct how how = { .depth = 1 };
	struct ibv_sge in;
	struct lane l;
	int i;

	lane_up(&l, &how);
	in = xt_sge(&l.target, 0, 100);
	xt_recv(&l.a.e, 0, &in, 1);
	send_one(&l, 0);
	for (i = 0; i < 50; i++) {
		begin_poll(l.b.scqx);
		begin_poll(l.a.rcqx);
		xt_recv(&l.a.e, i + 1, &in, 1);
		send_one(&l, i + 1);
		at(l.b.scqx, l.b.e.qp, i, IBV_WC_SEND, 0);
		at(l.a.rcqx, l.a.e.qp, i, IBV_WC_RECV, 100);
		ibv_end_poll(l.a.rcqx);
		ibv_end_poll(l.b.scqx);
	}
	one_wc(l.b.scqx, l.b.e.qp, i, IBV_WC_SEND, 0);
	one_wc(l.a.rcqx, l.a.e.qp, i, IBV_WC_RECV, 100);
	XT_SAME(l.target.p, 100, 1);
	lane_down(&l);
}

/* ---- domains ----------------------------------------------------------- */

static void test_domains(void)
{
	const struct how how = { .inline_len = 64, .domains = true };

	all_operations(&how, 3);
}

/* Objects in use cannot be destroyed; later all of them can. */
static void test_domains_in_use(void)
{
	const struct how how = { .inline_len = 64, .domains = true };
	struct ex_end *x;
	struct lane l;

	lane_up(&l, &how);
	x = &l.b;
	XT_EQ(ibv_dealloc_td(x->td), EBUSY);
	XT_EQ(ibv_dealloc_pd(x->inner), EBUSY);
	XT_EQ(ibv_dealloc_pd(x->e.pd), EBUSY);
	XT_OK(rdma_disconnect(x->e.id));
	xt_expect(&x->e, RDMA_CM_EVENT_DISCONNECTED, NULL);
	rdma_destroy_qp(x->e.id);
	xt_buf_free(&x->e.spare);
	xt_buf_free(&l.src);
	XT_EQ(ibv_dealloc_pd(x->e.pd), EBUSY);
	XT_OK(ibv_destroy_cq(x->e.scq));
	XT_OK(ibv_destroy_cq(x->e.rcq));
	XT_OK(ibv_dealloc_pd(x->e.pd));
	XT_OK(ibv_dealloc_td(x->td));
	XT_OK(ibv_dealloc_pd(x->inner));
}

/* ---- timestamps -------------------------------------------------------- */

static __u64 raw_clock(struct ibv_context *ctx)
{
	struct ibv_values_ex v = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	XT_OK(ibv_query_rt_values_ex(ctx, &v));
	XT_CHECK(v.comp_mask & IBV_VALUES_MASK_RAW_CLOCK, "no raw clock");
	return v.raw_clock.tv_nsec;
}

static __u64 stamp(struct ibv_cq_ex *cqx, __u64 wr_id)
{
	__u64 ts;

	begin_poll(cqx);
	XT_EQ(cqx->wr_id, wr_id);
	XT_EQ(cqx->status, IBV_WC_SUCCESS);
	ts = ibv_wc_read_completion_ts(cqx);
	ibv_end_poll(cqx);
	return ts;
}

/*
 * Timestamps are between two readings of the clock, and in the order of posts.
 */
static void test_timestamps(void)
{
	const struct how how = {
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_device_attr_ex dev = {};
	struct ibv_context *ctx;
	__u64 before;
	__u64 sent;
	__u64 rcvd;
	struct lane l;
	int i;

	lane_up(&l, &how);
	ctx = l.b.e.id->verbs;
	XT_OK(ibv_query_device_ex(ctx, NULL, &dev));
	XT_CHECK(dev.completion_timestamp_mask && dev.hca_core_clock,
		 "timestamps without a clock");
	before = raw_clock(ctx);
	for (i = 0; i < 20; i++) {
		xt_recvs(&l.a.e, 1, 1);
		start(l.b.qpx, 2);
		ibv_wr_send(l.b.qpx);
		XT_OK(ibv_wr_complete(l.b.qpx));
		sent = stamp(l.b.scqx, 2);
		rcvd = stamp(l.a.rcqx, 1);
		XT_CHECK(sent > before && rcvd > before,
			 "%llu and %llu are before %llu", sent, rcvd, before);
		before = raw_clock(ctx);
		XT_CHECK(sent < before && rcvd < before,
			 "%llu and %llu are after %llu", sent, rcvd, before);
	}
	lane_down(&l);
}

/* ---- inline data ------------------------------------------------------- */

#define MOST		512

static __u32 bind_window(struct lane *l, struct ibv_mw *mw)
{
	struct ibv_mw_bind_info info = {
		.mr = l->target.mr,
		.addr = (uintptr_t)l->target.p,
		.length = ROOM,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	mw->rkey = ibv_inc_rkey(mw->rkey);
	start(l->a.qpx, 70);
	ibv_wr_bind_mw(l->a.qpx, mw, mw->rkey, &info);
	XT_OK(ibv_wr_complete(l->a.qpx));
	one_wc(l->a.scqx, l->a.e.qp, 70, IBV_WC_BIND_MW, 0);
	return mw->rkey;
}

/* MOST inline bytes, overwritten as soon as they are posted. */
static void post_inline(struct lane *l, __u64 seed)
{
	__u8 data[MOST];

	xt_fill(data, MOST, seed);
	ibv_wr_set_inline_data(l->b.qpx, data, MOST);
	XT_OK(ibv_wr_complete(l->b.qpx));
	memset(data, 0, MOST);
}

static void inline_sends(struct lane *l, struct ibv_mw *mw, __u64 seed)
{
	struct ibv_sge in[2] = {
		xt_sge(&l->target, 100, MOST), xt_sge(&l->target, 1000, MOST),
	};
	__u32 rkey = bind_window(l, mw);

	xt_recv(&l->a.e, 80, &in[0], 1);
	xt_recv(&l->a.e, 81, &in[1], 1);
	start(l->b.qpx, 82);
	ibv_wr_send(l->b.qpx);
	post_inline(l, seed);
	start(l->b.qpx, 83);
	ibv_wr_send_inv(l->b.qpx, rkey);
	post_inline(l, seed + 1);
	begin_poll(l->a.rcqx);
	at(l->a.rcqx, l->a.e.qp, 80, IBV_WC_RECV, MOST);
	XT_EQ(ibv_wc_read_wc_flags(l->a.rcqx), 0);
	ibv_end_poll(l->a.rcqx);
	begin_poll(l->a.rcqx);
	at(l->a.rcqx, l->a.e.qp, 81, IBV_WC_RECV, MOST);
	XT_EQ(ibv_wc_read_wc_flags(l->a.rcqx), IBV_WC_WITH_INV);
	XT_EQ(ibv_wc_read_invalidated_rkey(l->a.rcqx), rkey);
	ibv_end_poll(l->a.rcqx);
	XT_SAME(l->target.p + 100, MOST, seed);
	XT_SAME(l->target.p + 1000, MOST, seed + 1);
	begin_poll(l->b.scqx);
	at(l->b.scqx, l->b.e.qp, 82, IBV_WC_SEND, 0);
	ibv_end_poll(l->b.scqx);
	one_wc(l->b.scqx, l->b.e.qp, 83, IBV_WC_SEND, 0);
}

/* When the second Write has arrived, the first one has, too. */
static void inline_writes(struct lane *l, __u64 seed)
{
	__u64 addr = (uintptr_t)l->target.p;

	xt_recvs(&l->a.e, 84, 1);
	start(l->b.qpx, 85);
	ibv_wr_rdma_write(l->b.qpx, l->target.mr->rkey, addr + 2001);
	post_inline(l, seed + 2);
	start(l->b.qpx, 86);
	ibv_wr_rdma_write_imm(l->b.qpx, l->target.mr->rkey, addr + 3001, 1);
	post_inline(l, seed + 3);
	one_wc(l->a.rcqx, l->a.e.qp, 84, IBV_WC_RECV_RDMA_WITH_IMM, MOST);
	XT_SAME(l->target.p + 2001, MOST, seed + 2);
	XT_SAME(l->target.p + 3001, MOST, seed + 3);
	begin_poll(l->b.scqx);
	at(l->b.scqx, l->b.e.qp, 85, IBV_WC_RDMA_WRITE, 0);
	ibv_end_poll(l->b.scqx);
	one_wc(l->b.scqx, l->b.e.qp, 86, IBV_WC_RDMA_WRITE, 0);
}

static void test_inline_most(void)
{
	const struct how how = { .inline_len = MOST };
	struct ibv_mw *mw;
	struct lane l;
	__u32 rkey;
	int i;

	lane_up(&l, &how);
	XT_EQ(l.b.e.cap.max_inline_data, MOST);
	mw = XT_PTR(ibv_alloc_mw(l.a.e.pd, IBV_MW_TYPE_2));
	ex_send(&l);
	/* A window that the peer invalidated can be bound again. */
	for (i = 0; i < 5; i++) {
		inline_sends(&l, mw, 10 * i);
		inline_writes(&l, 10 * i);
	}
	rkey = bind_window(&l, mw);
	start(l.a.qpx, 90);
	ibv_wr_local_inv(l.a.qpx, rkey);
	XT_OK(ibv_wr_complete(l.a.qpx));
	one_wc(l.a.scqx, l.a.e.qp, 90, IBV_WC_LOCAL_INV, 0);
	XT_OK(ibv_dealloc_mw(mw));
	lane_down(&l);
}

/* The CPU may copy in any order: nothing is guaranteed. */
static void test_data_in_order(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
	};
	struct lane l;
	size_t i;

	lane_up(&l, &plain);
	for (i = 0; i < XT_NELEM(ops); i++)
		XT_EQ(ibv_query_qp_data_in_order(l.a.e.qp, ops[i], 0), 0);
	ex_send(&l);
	lane_down(&l);
}

/* ---- batches ----------------------------------------------------------- */

/* One poll walks over many completions, of atomics and Writes in turn. */
static void test_batch(void)
{
	__u64 *word;
	struct lane l;
	__u64 i;

	lane_up(&l, &plain);
	ex_send(&l);
	word = (__u64 *)l.target.p;
	*word = 0;
	xt_recvs(&l.a.e, 100, 10);
	ibv_wr_start(l.b.qpx);
	l.b.qpx->wr_flags = IBV_SEND_SIGNALED;
	for (i = 0; i < 20; i++) {
		l.b.qpx->wr_id = i;
		if (i & 1) {
			ibv_wr_rdma_write_imm(l.b.qpx, l.target.mr->rkey,
					      (uintptr_t)l.target.p + 64, i);
			set_src(&l, 0, i);
		} else {
			ibv_wr_atomic_fetch_add(l.b.qpx, l.target.mr->rkey,
						(uintptr_t)word, 1);
			set_src(&l, i * WORD, WORD);
		}
	}
	XT_OK(ibv_wr_complete(l.b.qpx));
	for (i = 0; i < 20; i++) {
		if (!i || ibv_next_poll(l.b.scqx) == ENOENT) {
			if (i)
				ibv_end_poll(l.b.scqx);
			begin_poll(l.b.scqx);
		}
		at(l.b.scqx, l.b.e.qp, i,
		   i & 1 ? IBV_WC_RDMA_WRITE : IBV_WC_FETCH_ADD, WORD);
		if (!(i & 1))
			XT_EQ(word_at(l.src.p + i * WORD), i / 2);
	}
	XT_EQ(ibv_next_poll(l.b.scqx), ENOENT);
	ibv_end_poll(l.b.scqx);
	for (i = 0; i < 10; i++) {
		begin_poll(l.a.rcqx);
		at(l.a.rcqx, l.a.e.qp, 100 + i, IBV_WC_RECV_RDMA_WITH_IMM,
		   2 * i + 1);
		XT_EQ(ibv_wc_read_imm_data(l.a.rcqx), 2 * i + 1);
		ibv_end_poll(l.a.rcqx);
	}
	lane_down(&l);
}

/* ---- refused requests -------------------------------------------------- */

/* A request with an error between start and complete is not posted. */
static void test_refused(void)
{
	struct ibv_sge two[2];
	struct ibv_sge many[32];
	struct lane l;
	int i;

	lane_up(&l, &plain);
	ex_send(&l);
	memset(l.target.p, MARK, ROOM);
	two[0] = xt_sge(&l.src, 0, 4);
	two[1] = xt_sge(&l.src, 4, 4);
	for (i = 0; i < 32; i++)
		many[i] = two[0];
	for (i = 0; i < 6; i++) {
		start(l.b.qpx, 50);
		if (i < 4)
			ibv_wr_atomic_fetch_add(l.b.qpx, l.target.mr->rkey,
						(uintptr_t)l.target.p, 1);
		else
			ibv_wr_rdma_write_imm(l.b.qpx, l.target.mr->rkey,
					      (uintptr_t)l.target.p, 1);
		if (i == 0)
			set_src(&l, 0, 4);
		else if (i == 1)
			set_src(&l, 0, 16);
		else if (i == 2)
			ibv_wr_set_sge_list(l.b.qpx, 2, two);
		else if (i == 3)
			ibv_wr_set_inline_data(l.b.qpx, l.src.p, WORD);
		else if (i == 4)
			ibv_wr_set_sge_list(l.b.qpx, 32, many);
		else
			ibv_wr_set_inline_data(l.b.qpx, l.src.p,
					       l.b.e.cap.max_inline_data + 1);
		XT_CHECK(ibv_wr_complete(l.b.qpx), "request %d was accepted",
			 i);
	}
	/* An aborted request is not posted. */
	start(l.b.qpx, 51);
	ibv_wr_rdma_write(l.b.qpx, l.target.mr->rkey, (uintptr_t)l.target.p);
	set_src(&l, 0, 100);
	ibv_wr_abort(l.b.qpx);
	XT_ALL(l.target.p, ROOM, MARK);
	ex_send(&l);
	lane_down(&l);
}

static void test_send_ops(void)
{
	static const __u64 unknown[] = {
		IBV_QP_EX_WITH_TSO, IBV_QP_EX_WITH_SEND | 1ULL << 40,
	};
	struct ibv_qp_init_attr_ex attr = {};
	struct lane l;
	size_t i;

	lane_up(&l, &plain);
	ex_send(&l);
	attr.cap.max_send_wr = 1;
	attr.cap.max_recv_wr = 1;
	attr.cap.max_send_sge = 1;
	attr.cap.max_recv_sge = 1;
	attr.qp_type = IBV_QPT_RC;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.pd = l.b.e.pd;
	attr.send_cq = l.b.e.scq;
	attr.recv_cq = l.b.e.rcq;
	for (i = 0; i < XT_NELEM(unknown); i++) {
		attr.send_ops_flags = unknown[i];
		XT_CHECK(!ibv_create_qp_ex(l.b.e.id->verbs, &attr),
			 "operations %#llx were promised", unknown[i]);
	}
	lane_down(&l);
}

static const struct xt_case cases[] = {
	{ "operations", "every operation", test_operations },
	{ "single", "completion queues of one thread", test_single_threaded },
	{ "between", "a completion that was read leaves room before end_poll",
	  test_post_between },
	{ "domains", "every operation in a domain of one thread",
	  test_domains },
	{ "domains-used", "a domain in use stays", test_domains_in_use },
	{ "timestamps", "completions tell when they came", test_timestamps },
	{ "inline", "512 bytes of inline data with all that sends",
	  test_inline_most },
	{ "in-order", "no order within a message is promised",
	  test_data_in_order },
	{ "batch", "many requests and completions at once", test_batch },
	{ "refused", "malformed and abandoned requests post nothing",
	  test_refused },
	{ "send-ops", "what the wire cannot express is not promised",
	  test_send_ops },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
