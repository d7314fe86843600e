// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting sends and receives: what ends up in the ring, what is refused, and
 * when the doorbell rings.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <ccan/array_size.h>

#include "fake.h"

/* The kernel has taken all entries. */
static void consume_all(struct xiw_ring *ring)
{
	ring->ctrl->cons = ring->ctrl->prod;
}

/*
 * Post @wr, expect @want as the head of entry @index: operands in their
 * fields, all other fields 0.
 */
static void check_head(struct fake *fake, uint32_t index,
		       struct ibv_send_wr wr, struct xiw_sqe want)
{
	CHECK(!fake_post(fake, &wr));
	CHECK(!memcmp(fake_sqe(fake, index), &want, sizeof(want)));
	CHECK(fake->qp.sq.ring.ctrl->prod == index + 1);
}

void test_send_payload(void)
{
	struct ibv_sge sge[FAKE_MAX_SGE] = {
		{ 0x1000, 8, 1 }, { 0x2000, 20, 2 }, { 0x3000, 0, 3 },
		{ 0x4000, 0xffffffff - 28, 4 },	/* the longest possible */
	};
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 4,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE |
			      IBV_SEND_SOLICITED,
	};
	struct xiw_sqe want = {
		.wr_id = 1, .opcode = IB_UVERBS_WR_SEND, .num_sge = 4,
		.flags = XIW_SQE_SIGNALED | XIW_SQE_FENCE | XIW_SQE_SOLICITED,
	};
	struct fake fake;

	fake_init(&fake, 8, 8, 0);
	check_head(&fake, 0, wr, want);
	CHECK(!memcmp(fake_sqe(&fake, 0) + 1, sge, sizeof(sge)));

	sge[3].length++;
	CHECK(fake_post(&fake, &wr) == EINVAL);

	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = 0x77;
	wr.num_sge = 0;
	want.opcode = IB_UVERBS_WR_SEND_WITH_INV;
	want.inv_rkey = 0x77;
	want.num_sge = 0;
	check_head(&fake, 1, wr, want);
	fake_destroy(&fake);
}

void test_send_rdma(void)
{
	struct ibv_sge sge[2] = { { 0x1000, 8, 1 }, { 0x2000, 20, 2 } };
	struct ibv_send_wr wr = {
		.wr_id = 2, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htobe32(0x01020304), .sg_list = sge, .num_sge = 1,
		.wr.rdma = { .remote_addr = 0xabcdef, .rkey = 9 },
	};
	struct xiw_sqe want = {
		.wr_id = 2, .opcode = IB_UVERBS_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htobe32(0x01020304), .num_sge = 1,
		.raddr = 0xabcdef, .rkey = 9,
	};
	struct fake fake;

	fake_init(&fake, 8, 8, 0);
	check_head(&fake, 0, wr, want);

	wr.opcode = IBV_WR_RDMA_WRITE;
	want.opcode = IB_UVERBS_WR_RDMA_WRITE;
	want.imm_data = 0;
	check_head(&fake, 1, wr, want);

	/* Solicited means nothing for a read. */
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = IBV_SEND_SOLICITED;
	wr.num_sge = 2;
	want.opcode = IB_UVERBS_WR_RDMA_READ;
	want.num_sge = 2;
	check_head(&fake, 2, wr, want);
	CHECK(!memcmp(fake_sqe(&fake, 2) + 1, sge, sizeof(sge)));

	wr = (struct ibv_send_wr){
		.opcode = IBV_WR_ATOMIC_CMP_AND_SWP, .sg_list = sge,
		.num_sge = 1,
		.wr.atomic = { .remote_addr = 64, .compare_add = 5, .swap = 6,
			       .rkey = 7 },
	};
	want = (struct xiw_sqe){
		.opcode = IB_UVERBS_WR_ATOMIC_CMP_AND_SWP, .num_sge = 1,
		.raddr = 64, .compare_add = 5, .swap = 6, .rkey = 7,
	};
	check_head(&fake, 3, wr, want);
	fake_destroy(&fake);
}

void test_send_keys(void)
{
	struct ibv_mr mr = { .lkey = 0x55 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = 0x99,
	};
	struct xiw_sqe want = {
		.opcode = IB_UVERBS_WR_LOCAL_INV, .rkey = 0x99,
	};
	struct fake fake;

	fake_init(&fake, 8, 8, 0);
	check_head(&fake, 0, wr, want);

	wr = (struct ibv_send_wr){
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .rkey = 0x1201, .bind_info = {
			.mr = &mr, .addr = 0x5000, .length = 4096,
			.mw_access_flags = IBV_ACCESS_REMOTE_READ } },
	};
	want = (struct xiw_sqe){
		.opcode = IB_UVERBS_WR_BIND_MW, .rkey = 0x1201,
		.bind = { .addr = 0x5000, .length = 4096,
			  .access = IBV_ACCESS_REMOTE_READ, .lkey = 0x55 },
	};
	check_head(&fake, 1, wr, want);

	/* A hint does not reach the kernel, which refuses it for a window. */
	wr.bind_mw.bind_info.mw_access_flags |= IBV_ACCESS_RELAXED_ORDERING;
	check_head(&fake, 2, wr, want);
	fake_destroy(&fake);
}

void test_send_inline(void)
{
	uint8_t data[FAKE_MAX_INLINE + 1];
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 2,
		.send_flags = IBV_SEND_INLINE,
	};
	struct xiw_sqe *sqe;
	struct fake fake;
	unsigned int i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i;
	fake_init(&fake, 4, 4, 0);

	sge[0] = (struct ibv_sge){ (uintptr_t)data, 30, 0 };
	sge[1] = (struct ibv_sge){ (uintptr_t)data + 30,
				   FAKE_MAX_INLINE - 30, 0 };
	CHECK(!fake_post(&fake, &wr));
	sqe = fake_sqe(&fake, 0);
	CHECK(sqe->flags == XIW_SQE_INLINE && sqe->num_sge == 0);
	CHECK(sqe->inline_len == FAKE_MAX_INLINE);
	CHECK(!memcmp(sqe + 1, data, FAKE_MAX_INLINE));

	sge[1].length++;
	CHECK(fake_post(&fake, &wr) == EINVAL);
	sge[1].length = UINT32_MAX;
	CHECK(fake_post(&fake, &wr) == EINVAL);
	CHECK(fake.qp.sq.ring.ctrl->prod == 1);

	wr.num_sge = 0;
	CHECK(!fake_post(&fake, &wr));
	sqe = fake_sqe(&fake, 1);
	CHECK(!sqe->flags && !sqe->inline_len && !sqe->num_sge);
	fake_destroy(&fake);
}

void test_send_refused(void)
{
	struct ibv_sge sge[FAKE_MAX_SGE + 1] = { { .length = 8 } };
	static const struct {
		unsigned int opcode;
		unsigned int flags;
		int num_sge;
	} cases[] = {
		{ IBV_WR_SEND_WITH_IMM, 0, 1 },
		{ IBV_WR_TSO, 0, 1 },
		{ IBV_WR_DRIVER1, 0, 1 },
		{ 200, 0, 1 },
		{ UINT32_MAX, 0, 1 },
		{ IBV_WR_SEND, 0, -1 },
		{ IBV_WR_SEND, IBV_SEND_INLINE, -1 },
		{ IBV_WR_SEND, 0, FAKE_MAX_SGE + 1 },
		{ IBV_WR_SEND, IBV_SEND_IP_CSUM, 1 },
		{ IBV_WR_SEND, 1U << 31, 1 },
		{ IBV_WR_RDMA_READ, 0, FAKE_MAX_SGE + 1 },
		{ IBV_WR_RDMA_READ, IBV_SEND_INLINE, 1 },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0 },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 2 },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_SEND_INLINE, 1 },
		{ IBV_WR_LOCAL_INV, IBV_SEND_INLINE, 0 },
	};
	struct ibv_send_wr wr = { .sg_list = sge };
	struct fake fake;
	unsigned int i;

	fake_init(&fake, 4, 4, 0);
	set_need_db(&fake.qp.sq.ring, true);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		wr.opcode = cases[i].opcode;
		wr.send_flags = cases[i].flags;
		wr.num_sge = cases[i].num_sge;
		CHECK(fake_post(&fake, &wr) == EINVAL);
	}

	wr = (struct ibv_send_wr){
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .sg_list = sge,
		.num_sge = 1,
	};
	sge[0].length = 4;
	CHECK(fake_post(&fake, &wr) == EINVAL);

	/* Operations that the device does not support */
	sge[0].length = 8;
	fake.qp.caps = 0;
	CHECK(fake_post(&fake, &wr) == EINVAL);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	CHECK(fake_post(&fake, &wr) == EINVAL);

	CHECK(fake.qp.sq.ring.ctrl->prod == 0);
	CHECK(fake_calls(&fake, &(struct xiw_call){}) == 0);
	fake_destroy(&fake);
}

/* A bad request in a list: those before it are posted, with the doorbell. */
void test_send_list(void)
{
	struct ibv_send_wr wr[3] = {};
	struct xiw_call db = {};
	struct ibv_send_wr *bad_wr;
	struct fake fake;
	int i;

	fake_init(&fake, 4, 4, 0);
	for (i = 0; i < 3; i++) {
		wr[i].wr_id = i;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	wr[2].opcode = IBV_WR_SEND_WITH_IMM;
	set_need_db(&fake.qp.sq.ring, true);
	CHECK(xiw_post_send(ibqp(&fake), wr, &bad_wr) == EINVAL);
	CHECK(bad_wr == &wr[2]);
	CHECK(fake.qp.sq.ring.ctrl->prod == 2);
	CHECK(fake_sqe(&fake, 1)->wr_id == 1);
	CHECK(fake_calls(&fake, &db) == 1);

	CHECK(xiw_post_send(ibqp(&fake), NULL, &bad_wr) == 0);
	CHECK(fake_calls(&fake, &db) == 0);

	fake.qp.sq_sig_all = true;
	wr[0].next = NULL;
	CHECK(!xiw_post_send(ibqp(&fake), wr, &bad_wr));
	CHECK(fake_sqe(&fake, 2)->flags == XIW_SQE_SIGNALED);
	fake_destroy(&fake);
}

static void test_send_full(uint32_t size, uint32_t limit, uint32_t start)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct xiw_ring *ring;
	struct fake fake;
	uint32_t i;

	fake_init(&fake, size, limit, start);
	ring = &fake.qp.sq.ring;
	for (i = 0; i < limit; i++) {
		wr.wr_id = i;
		CHECK(!fake_post(&fake, &wr));
	}
	CHECK(fake_post(&fake, &wr) == ENOMEM);
	CHECK(ring->ctrl->prod == start + limit);

	/*
	 * One entry is consumed: there is room for one, others are unchanged.
	 */
	ring->ctrl->cons++;
	wr.wr_id = limit;
	CHECK(!fake_post(&fake, &wr));
	CHECK(fake_post(&fake, &wr) == ENOMEM);
	for (i = 1; i <= limit; i++)
		CHECK(fake_sqe(&fake, start + i)->wr_id == i);

	consume_all(ring);
	for (i = 0; i < limit; i++)
		CHECK(!fake_post(&fake, &wr));
	CHECK(fake_post(&fake, &wr) == ENOMEM);
	fake_destroy(&fake);
}

void test_full_and_wrap(void)
{
	static const uint32_t starts[] = {
		0, 0x7ffffffe, 0xfffffff0, 0xfffffffd, 0xffffffff,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		test_send_full(4, 4, starts[i]);
		test_send_full(4, 3, starts[i]);
		test_send_full(8, 5, starts[i]);
		test_send_full(1, 1, starts[i]);
	}
}

/* max_send_wr = 0 and max_recv_wr = 0: no rings at all. */
void test_no_queues(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr rwr = {};
	struct ibv_recv_wr *bad_rwr;
	struct xiw_ring sq, rq;
	struct fake fake;

	fake_init(&fake, 4, 4, 0);
	sq = fake.qp.sq.ring;
	rq = fake.qp.rq.ring;
	fake.qp.sq.ring = (struct xiw_ring){};
	fake.qp.rq.ring = (struct xiw_ring){};

	CHECK(fake_post(&fake, &wr) == ENOMEM);
	CHECK(xiw_post_recv(ibqp(&fake), &rwr, &bad_rwr) == ENOMEM);
	CHECK(bad_rwr == &rwr);
	ibv_wr_start(&fake.qp.vqp.qp_ex);
	ibv_wr_send(&fake.qp.vqp.qp_ex);
	CHECK(ibv_wr_complete(&fake.qp.vqp.qp_ex) == ENOMEM);

	fake.qp.sq.ring = sq;
	fake.qp.rq.ring = rq;
	fake_destroy(&fake);
}

void test_doorbell(void)
{
	struct ibv_send_wr wr[3] = {};
	struct ibv_recv_wr rwr = {};
	struct ibv_recv_wr *bad_rwr;
	struct ibv_send_wr *bad_wr;
	struct xiw_call db = {};
	struct xiw_srq srq;
	struct fake fake;
	int i;

	fake_init(&fake, 8, 8, 0);
	fake_srq_init(&srq, &fake, 8);
	for (i = 0; i < 3; i++) {
		wr[i].opcode = IBV_WR_SEND;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}

	CHECK(!xiw_post_send(ibqp(&fake), wr, &bad_wr));
	CHECK(!xiw_post_recv(ibqp(&fake), &rwr, &bad_rwr));
	CHECK(!xiw_post_srq_recv(&srq.srq, &rwr, &bad_rwr));
	CHECK(fake_calls(&fake, &db) == 0);

	/* A list of requests rings the doorbell once. */
	set_need_db(&fake.qp.sq.ring, true);
	CHECK(!xiw_post_send(ibqp(&fake), wr, &bad_wr));
	CHECK(fake_calls(&fake, &db) == 1);
	CHECK(fake_called(&db, UVERBS_OBJECT_QP, XIW_METHOD_QP_SEND_DOORBELL));

	set_need_db(&fake.qp.rq.ring, true);
	CHECK(!xiw_post_recv(ibqp(&fake), &rwr, &bad_rwr));
	CHECK(fake_calls(&fake, &db) == 1);
	CHECK(fake_called(&db, UVERBS_OBJECT_QP, XIW_METHOD_QP_RECV_DOORBELL));

	set_need_db(&srq.rq.ring, true);
	CHECK(!xiw_post_srq_recv(&srq.srq, &rwr, &bad_rwr));
	CHECK(fake_calls(&fake, &db) == 1);
	CHECK(fake_called(&db, UVERBS_OBJECT_SRQ, XIW_METHOD_SRQ_DOORBELL));

	fake_srq_destroy(&srq);
	fake_destroy(&fake);
}

/* The device is gone: posting fails. */
void test_doorbell_fails(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr rwr = {};
	struct ibv_recv_wr *bad_rwr = NULL;
	struct fake fake;

	fake_init(&fake, 8, 8, 0);
	set_need_db(&fake.qp.sq.ring, true);
	set_need_db(&fake.qp.rq.ring, true);
	close(fake.db_kernel);
	fake.db_kernel = -1;
	CHECK(fake_post(&fake, &wr) == EPIPE);
	CHECK(xiw_post_recv(ibqp(&fake), &rwr, &bad_rwr) == EPIPE);
	CHECK(bad_rwr == &rwr);
	fake_destroy(&fake);
}

void test_recv(void)
{
	struct ibv_sge sge[FAKE_MAX_SGE] = {
		{ 0x1000, 10, 1 }, { 0x2000, 20, 2 }, { 0x3000, 30, 3 },
		{ 0x4000, 40, 4 },
	};
	struct ibv_recv_wr wr[2] = {
		{ .wr_id = 11, .sg_list = sge, .num_sge = FAKE_MAX_SGE,
		  .next = &wr[1] },
		{ .wr_id = 12 },
	};
	struct xiw_rqe want = { .wr_id = 11, .num_sge = FAKE_MAX_SGE };
	struct ibv_recv_wr *bad_wr = NULL;
	struct xiw_rqe *rqe;
	struct fake fake;

	fake_init(&fake, 4, 3, 0xffffffff);
	CHECK(!xiw_post_recv(ibqp(&fake), wr, &bad_wr));
	CHECK(fake.qp.rq.ring.ctrl->prod == 1);
	rqe = xiw_ring_slot(&fake.qp.rq.ring, 0xffffffff);
	CHECK(!memcmp(rqe, &want, sizeof(want)));
	CHECK(!memcmp(rqe + 1, sge, sizeof(sge)));
	rqe = xiw_ring_slot(&fake.qp.rq.ring, 0);
	CHECK(rqe->wr_id == 12 && !rqe->num_sge && !rqe->reserved);

	/* The second of the list finds the queue full. */
	CHECK(xiw_post_recv(ibqp(&fake), wr, &bad_wr) == ENOMEM);
	CHECK(bad_wr == &wr[1]);
	consume_all(&fake.qp.rq.ring);

	wr[1].num_sge = FAKE_MAX_SGE + 1;
	CHECK(xiw_post_recv(ibqp(&fake), wr, &bad_wr) == EINVAL);
	CHECK(bad_wr == &wr[1]);
	wr[1].num_sge = -1;
	CHECK(xiw_post_recv(ibqp(&fake), &wr[1], &bad_wr) == EINVAL);

	/* A QP with an SRQ has no receive queue of its own. */
	ibqp(&fake)->srq = (struct ibv_srq *)&fake;
	CHECK(xiw_post_recv(ibqp(&fake), wr, &bad_wr) == EINVAL);
	CHECK(bad_wr == wr);
	fake_destroy(&fake);
}

void test_bind_mw(void)
{
	/* The third one is a parent domain of the first one. */
	struct ibv_pd pd[3] = { { .handle = 1 }, { .handle = 2 },
				{ .handle = 1 } };
	struct ibv_mr mr = { .lkey = 0x55, .pd = &pd[0] };
	struct ibv_mw mw = { .rkey = 0xabcdeff, .pd = &pd[0],
			     .type = IBV_MW_TYPE_1 };
	struct ibv_mw_bind bind = {
		.wr_id = 3,
		.bind_info = { .mr = &mr, .addr = 1, .length = 2 },
	};
	struct fake fake;

	fake_init(&fake, 1, 1, 0);
	CHECK(!xiw_bind_mw(ibqp(&fake), &mw, &bind));
	CHECK(mw.rkey == 0xabcde00);
	CHECK(fake_sqe(&fake, 0)->rkey == 0xabcde00);
	CHECK(fake_sqe(&fake, 0)->wr_id == 3);
	/* Refused: the key does not change. */
	CHECK(xiw_bind_mw(ibqp(&fake), &mw, &bind) == ENOMEM);
	CHECK(mw.rkey == 0xabcde00);
	mr.pd = &pd[2];
	CHECK(xiw_bind_mw(ibqp(&fake), &mw, &bind) == ENOMEM);
	mr.pd = &pd[1];
	CHECK(xiw_bind_mw(ibqp(&fake), &mw, &bind) == EPERM);
	bind.bind_info.mr = NULL;
	CHECK(xiw_bind_mw(ibqp(&fake), &mw, &bind) == EINVAL);

	/* Rights that the kernel would refuse, at the cost of the queue pair */
	consume_all(&fake.qp.sq.ring);
	bind.bind_info.mr = &mr;
	mr.pd = &pd[0];
	bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ |
					 IBV_ACCESS_ZERO_BASED;
	CHECK(xiw_bind_mw(ibqp(&fake), &mw, &bind) == EOPNOTSUPP);
	CHECK(mw.rkey == 0xabcde00 && fake.qp.sq.ring.index == 1);
	bind.bind_info.mw_access_flags = 0;
	bind.bind_info.mr = NULL;

	/* No length, no region: the window is unbound. */
	bind.bind_info.length = 0;
	CHECK(!xiw_bind_mw(ibqp(&fake), &mw, &bind));
	CHECK(fake_sqe(&fake, 1)->bind.lkey == 0);
	fake_destroy(&fake);
}
