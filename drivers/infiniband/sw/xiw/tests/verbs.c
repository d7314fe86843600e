// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Both ends of a connection, established by rdma_cm, and the work requests of
 * the suite.
 */
#include "verbs.h"

#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

/* 198.51.100.1; a device must exist there before the suite is loaded. */
#define ADDRESS		0xc6336401

const struct vt_how vt_in_workqueue = { .ctx = IB_POLL_WORKQUEUE };

static void wr_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct vt_wr *wr = container_of(wc->wr_cqe, struct vt_wr, cqe);

	wr->wc = *wc;
	complete(&wr->done);
}

struct ib_cqe *vt_wr_prepare(struct vt_wr *wr)
{
	wr->cqe.done = wr_done;
	reinit_completion(&wr->done);
	return &wr->cqe;
}

static int end_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct vt_end *e = id->context;

	e->type = ev->event;
	complete(&e->event);
	return 0;
}

static int pair_request(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct vt_pair *p = id->context;

	id->context = &p->a;
	id->event_handler = end_event;
	p->a.id = id;
	complete(&p->request);
	return 0;
}

static void expect(struct kunit *test, struct vt_end *e,
		   enum rdma_cm_event_type type)
{
	KUNIT_ASSERT_NE(test,
			wait_for_completion_timeout(&e->event, VT_TIMEOUT),
			0UL);
	KUNIT_ASSERT_EQ(test, e->type, type);
}

/* Poll here if the core does not poll the CQ. */
void vt_wait(struct kunit *test, struct vt_end *e, struct vt_wr *wr)
{
	unsigned long end = jiffies + VT_TIMEOUT;

	if (e->cq->poll_ctx != IB_POLL_DIRECT) {
		KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&wr->done,
								  VT_TIMEOUT),
				0UL);
		return;
	}
	while (!try_wait_for_completion(&wr->done)) {
		KUNIT_ASSERT_TRUE(test, time_before(jiffies, end));
		ib_process_cq_direct(e->cq, -1);
		cond_resched();
	}
}

void vt_wait_ok(struct kunit *test, struct vt_end *e, struct vt_wr *wr,
		enum ib_wc_opcode opcode)
{
	vt_wait(test, e, wr);
	KUNIT_ASSERT_EQ_MSG(test, wr->wc.status, IB_WC_SUCCESS, "%s",
			    ib_wc_status_msg(wr->wc.status));
	KUNIT_EXPECT_EQ(test, wr->wc.opcode, opcode);
	KUNIT_EXPECT_PTR_EQ(test, wr->wc.qp, e->id->qp);
}

/* ---- connections ------------------------------------------------------- */

static void end_cq(struct kunit *test, struct vt_end *e,
		   const struct vt_how *how)
{
	struct ib_device *dev = e->id->device;

	e->pooled = how->pooled;
	e->cq = how->pooled ?
		ib_cq_pool_get(dev, 2 * VT_DEPTH, -1, how->ctx) :
		ib_alloc_cq(dev, NULL, 2 * VT_DEPTH, 0, how->ctx);
	if (IS_ERR(e->cq)) {
		e->cq = NULL;
		KUNIT_FAIL_AND_ABORT(test, "no completion queue");
	}
}

static void end_srq(struct kunit *test, struct vt_end *e)
{
	struct ib_srq_init_attr attr = {
		.srq_type = IB_SRQT_BASIC,
		.attr = { .max_wr = VT_DEPTH, .max_sge = 2 },
	};
	struct ib_srq *srq = ib_create_srq(e->pd, &attr);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srq);
	e->srq = srq;
}

static void end_qp(struct kunit *test, struct vt_end *e,
		   const struct vt_how *how)
{
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr = VT_DEPTH,
			.max_recv_wr = VT_DEPTH,
			.max_send_sge = 2,
			.max_recv_sge = 2,
		},
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_pd *pd = ib_alloc_pd(e->id->device, how->pd_flags);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pd);
	e->pd = pd;
	end_cq(test, e, how);
	if (how->srq)
		end_srq(test, e);
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	attr.srq = e->srq;
	KUNIT_ASSERT_EQ(test, rdma_create_qp(e->id, e->pd, &attr), 0);
	/* DMA addresses are virtual here, so no unmap is needed. */
	e->dma = ib_dma_map_single(e->id->device, e->buf, VT_ROOM,
				   DMA_BIDIRECTIONAL);
	KUNIT_ASSERT_EQ(test, ib_dma_mapping_error(e->id->device, e->dma), 0);
}

static void listen(struct kunit *test, struct vt_pair *p)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(ADDRESS),
	};
	struct rdma_cm_id *id;

	id = rdma_create_id(&init_net, pair_request, p, RDMA_PS_TCP,
			    IB_QPT_RC);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	p->listener = id;
	if (rdma_bind_addr(id, (struct sockaddr *)&sin))
		kunit_skip(test, "no device at %pI4", &sin.sin_addr);
	KUNIT_ASSERT_EQ(test, rdma_listen(id, 4), 0);
}

static void call(struct kunit *test, struct vt_pair *p)
{
	struct sockaddr *to = (struct sockaddr *)
		&p->listener->route.addr.src_addr;
	struct vt_end *e = &p->b;
	struct rdma_cm_id *id;

	id = rdma_create_id(&init_net, end_event, e, RDMA_PS_TCP, IB_QPT_RC);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	e->id = id;
	KUNIT_ASSERT_EQ(test, rdma_resolve_addr(id, NULL, to, 5000), 0);
	expect(test, e, RDMA_CM_EVENT_ADDR_RESOLVED);
	KUNIT_ASSERT_EQ(test, rdma_resolve_route(id, 5000), 0);
	expect(test, e, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static const struct rdma_conn_param usual_param = {
	.responder_resources = 4,
	.initiator_depth = 4,
};

/* Sends a request from B that A can accept. */
struct vt_pair *vt_pair_ask(struct kunit *test, const struct vt_how *how)
{
	struct rdma_conn_param param = usual_param;
	struct vt_how caller = *how;
	struct vt_pair *p = test->priv;

	listen(test, p);
	call(test, p);
	caller.srq = false;
	end_qp(test, &p->b, &caller);
	KUNIT_ASSERT_EQ(test, rdma_connect(p->b.id, &param), 0);
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&p->request,
							  VT_TIMEOUT), 0UL);
	end_qp(test, &p->a, how);
	return p;
}

/*
 * Accepts with A's handler locked, which rdma_cm requires of callers outside of
 * the handler.
 */
int vt_accept(struct vt_pair *p)
{
	struct rdma_conn_param param = usual_param;

	return rdma_accept(p->a.id, &param);
}

struct vt_pair *vt_pair_up(struct kunit *test, const struct vt_how *how)
{
	struct vt_pair *p = vt_pair_ask(test, how);
	int ret;

	rdma_lock_handler(p->a.id);
	ret = vt_accept(p);
	rdma_unlock_handler(p->a.id);
	KUNIT_ASSERT_EQ(test, ret, 0);
	expect(test, &p->a, RDMA_CM_EVENT_ESTABLISHED);
	expect(test, &p->b, RDMA_CM_EVENT_ESTABLISHED);
	return p;
}

/* Waits for the disconnect event and skips others before it. */
void vt_disconnected(struct kunit *test, struct vt_end *e)
{
	while (READ_ONCE(e->type) != RDMA_CM_EVENT_DISCONNECTED)
		KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&e->event,
								  VT_TIMEOUT),
				0UL);
}

/* Result of a connect with the queue pair of another identifier. */
int vt_connect_foreign(struct kunit *test, struct vt_pair *p)
{
	struct rdma_cm_id *owner = p->b.id;
	struct rdma_conn_param param = {
		.qp_num = owner->qp->qp_num,
	};
	int ret;

	call(test, p);
	ret = rdma_connect(p->b.id, &param);
	rdma_destroy_id(p->b.id);
	p->b.id = owner;
	return ret;
}

static void end_down(struct vt_end *e)
{
	if (!e->id)
		return;
	if (e->id->qp) {
		rdma_disconnect(e->id);
		ib_drain_qp(e->id->qp);
		rdma_destroy_qp(e->id);
	}
	if (e->mr)
		ib_dereg_mr(e->mr);
	if (e->srq)
		ib_destroy_srq(e->srq);
	if (e->cq && e->pooled)
		ib_cq_pool_put(e->cq, 2 * VT_DEPTH);
	else if (e->cq)
		ib_free_cq(e->cq);
	if (e->pd)
		ib_dealloc_pd(e->pd);
	rdma_destroy_id(e->id);
}

static void end_init(struct kunit *test, struct vt_end *e)
{
	init_completion(&e->event);
	init_completion(&e->send.done);
	init_completion(&e->recv.done);
	e->buf = kunit_kzalloc(test, VT_ROOM, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e->buf);
}

int vt_init(struct kunit *test)
{
	struct vt_pair *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	init_completion(&p->request);
	end_init(test, &p->a);
	end_init(test, &p->b);
	test->priv = p;
	return 0;
}

/* Runs even after a failed assertion. */
void vt_exit(struct kunit *test)
{
	struct vt_pair *p = test->priv;

	if (!p)
		return;
	end_down(&p->b);
	end_down(&p->a);
	if (p->listener)
		rdma_destroy_id(p->listener);
}

/* ---- work requests ----------------------------------------------------- */

void vt_post_send(struct kunit *test, struct vt_end *e,
		  struct ib_send_wr *wr)
{
	wr->wr_cqe = vt_wr_prepare(&e->send);
	KUNIT_ASSERT_EQ(test, ib_post_send(e->id->qp, wr, NULL), 0);
}

struct ib_sge vt_part(struct vt_end *e, u32 off, u32 len)
{
	return (struct ib_sge){
		.addr = e->dma + off,
		.length = len,
		.lkey = e->pd->local_dma_lkey,
	};
}

void vt_post_recv(struct kunit *test, struct vt_end *e, u32 off, u32 len)
{
	struct ib_sge sge = vt_part(e, off, len);
	struct ib_recv_wr wr = {
		.wr_cqe = vt_wr_prepare(&e->recv),
		.sg_list = &sge,
		.num_sge = 1,
	};

	if (e->srq)
		KUNIT_ASSERT_EQ(test, ib_post_srq_recv(e->srq, &wr, NULL), 0);
	else
		KUNIT_ASSERT_EQ(test, ib_post_recv(e->id->qp, &wr, NULL), 0);
}

void vt_message(struct kunit *test, struct vt_pair *p, u32 len, u8 fill)
{
	struct ib_sge sge = vt_part(&p->b, 0, len);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};

	memset(p->b.buf, fill, len);
	memset(p->a.buf, VT_MARK, VT_ROOM);
	vt_post_recv(test, &p->a, 3, len);
	vt_post_send(test, &p->b, &wr);
	vt_wait_ok(test, &p->b, &p->b.send, IB_WC_SEND);
	vt_wait_ok(test, &p->a, &p->a.recv, IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, p->a.recv.wc.byte_len, len);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->a.buf + 3, fill, len));
	KUNIT_EXPECT_NULL(test, memchr_inv(p->a.buf + 3 + len, VT_MARK,
					   VT_ROOM - 3 - len));
}

/* B reads or writes LEN bytes at ADDR of A's KEY, in its own buffer at 0. */
enum ib_wc_status vt_remote_io(struct kunit *test, struct vt_pair *p,
			       enum ib_wr_opcode opcode, u64 addr, u32 key,
			       u32 len)
{
	struct ib_sge sge = vt_part(&p->b, 0, len);
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = opcode,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.remote_addr = addr,
		.rkey = key,
	};

	vt_post_send(test, &p->b, &wr.wr);
	vt_wait(test, &p->b, &p->b.send);
	return p->b.send.wc.status;
}

/* Allocates the region of E for fast registration, unless it has one. */
void vt_alloc_mr(struct kunit *test, struct vt_end *e)
{
	if (e->mr)
		return;
	e->mr = ib_alloc_mr(e->pd, IB_MR_TYPE_MEM_REG, 8);
	if (IS_ERR(e->mr))
		e->mr = NULL;
	KUNIT_ASSERT_NOT_NULL(test, e->mr);
}

/*
 * Maps a region of E for fast registration, in blocks of PAGE_SIZE bytes: it
 * starts in the middle of a page and may use another address. Each call changes
 * the key.
 */
void vt_map(struct kunit *test, struct vt_end *e, u32 page_size)
{
	struct scatterlist sg;

	vt_alloc_mr(test, e);
	sg_init_one(&sg, e->buf + 100, VT_ROOM - 200);
	KUNIT_ASSERT_EQ(test, ib_dma_map_sg(e->id->device, &sg, 1,
					    DMA_BIDIRECTIONAL), 1);
	KUNIT_ASSERT_EQ(test, ib_map_mr_sg(e->mr, &sg, 1, NULL, page_size), 1);
	ib_update_fast_reg_key(e->mr, ib_inc_rkey(e->mr->rkey) & 0xff);
}

/* Registers the mapped region under KEY; returns the completion status. */
enum ib_wc_status vt_register(struct kunit *test, struct vt_end *e, u32 key,
			      int access)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.mr = e->mr,
		.key = key,
		.access = access,
	};

	vt_post_send(test, e, &wr.wr);
	vt_wait(test, e, &e->send);
	return e->send.wc.status;
}

void vt_fast_register(struct kunit *test, struct vt_end *e, int access)
{
	vt_map(test, e, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, vt_register(test, e, e->mr->rkey, access),
			IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, e->send.wc.opcode, IB_WC_REG_MR);
}

/* Invalidates an STag at E; returns the completion status. */
enum ib_wc_status vt_invalidate(struct kunit *test, struct vt_end *e, u32 key)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = key,
	};

	vt_post_send(test, e, &wr);
	vt_wait(test, e, &e->send);
	return e->send.wc.status;
}

void vt_local_inv(struct kunit *test, struct vt_end *e, u32 key)
{
	KUNIT_ASSERT_EQ(test, vt_invalidate(test, e, key), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, e->send.wc.opcode, IB_WC_LOCAL_INV);
}
