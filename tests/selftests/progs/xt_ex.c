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
			 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |		   \
			 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

/* An end whose queues were made the extended way. */
struct ex_end {
	struct xt_end e;
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

static struct ibv_cq_ex *new_cq_ex(struct ibv_context *ctx, __u32 flags)
{
	struct ibv_comp_channel *cc = XT_PTR(ibv_create_comp_channel(ctx));
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 128,
		.cq_context = cc,
		.channel = cc,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM |
			    IBV_WC_EX_WITH_QP_NUM,
		.comp_mask = flags ? IBV_CQ_INIT_ATTR_MASK_FLAGS : 0,
		.flags = flags,
	};

	return XT_PTR(ibv_create_cq_ex(ctx, &attr));
}

static void ex_qp(struct ex_end *x, __u32 cq_flags)
{
	struct xt_end *e = &x->e;
	struct ibv_qp_init_attr_ex attr = {
		.cap = {
			.max_send_wr = 32,
			.max_recv_wr = 32,
			.max_send_sge = 4,
			.max_recv_sge = 2,
			.max_inline_data = 64,
		},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SEND_OPS,
	};

	e->pd = XT_PTR(ibv_alloc_pd(e->id->verbs));
	x->scqx = new_cq_ex(e->id->verbs, cq_flags);
	x->rcqx = new_cq_ex(e->id->verbs, cq_flags);
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

static void lane_up(struct lane *l, __u32 cq_flags)
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
	ex_qp(&l->b, cq_flags);
	xt_dial(&l->b.e, &o, NULL, 0);
	xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	xt_adopt(&l->a.e, &xt_a, ev.id);
	ex_qp(&l->a, cq_flags);
	xt_answer(&l->a.e, &o, NULL, 0);
	xt_expect(&l->a.e, RDMA_CM_EVENT_ESTABLISHED, NULL);
	xt_expect(&l->b.e, RDMA_CM_EVENT_ESTABLISHED, NULL);
	xt_close(&listener);
	l->src = xt_buf(&l->b.e, ROOM, XT_LOCAL);
	l->target = xt_buf(&l->a.e, ROOM, XT_ATOMIC);
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

/* The extended poll begins at the next completion, asleep until there is. */
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

/* The completion at which the poll is. */
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

static void all_operations(__u32 cq_flags)
{
	struct lane l;
	int round;

	lane_up(&l, cq_flags);
	ex_send(&l);
	for (round = 0; round < 10; round++) {
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
	all_operations(0);
}

static void test_single_threaded(void)
{
	all_operations(IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
}

/* ---- batches ----------------------------------------------------------- */

/* One poll walks over many completions, of atomics and Writes in turn. */
static void test_batch(void)
{
	__u64 *word;
	struct lane l;
	__u64 i;

	lane_up(&l, 0);
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

/* ---- refused ----------------------------------------------------------- */

/* What goes wrong between start and complete posts nothing. */
static void test_refused(void)
{
	struct ibv_sge two[2];
	struct ibv_sge many[32];
	struct lane l;
	int i;

	lane_up(&l, 0);
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
	/* And what is abandoned. */
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
		IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_QP_EX_WITH_TSO,
		IBV_QP_EX_WITH_SEND | 1ULL << 40,
	};
	struct ibv_qp_init_attr_ex attr = {};
	struct lane l;
	size_t i;

	lane_up(&l, 0);
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
