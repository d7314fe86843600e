// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The ibv_wr_*() calls.
 */
#include <errno.h>
#include <string.h>
#include "fake.h"

void test_wr_api(void)
{
	struct ibv_sge sge[2] = { { 0x10, 8, 1 }, { 0x20, 9, 2 } };
	struct ibv_data_buf buf[2] = { { (void *)"abc", 3 },
				       { (void *)"de", 2 } };
	struct xiw_call db = {};
	struct ibv_qp_ex *qp_ex;
	struct xiw_sqe want;
	struct fake fake;

	fake_init(&fake, 8, 8, 0);
	set_need_db(&fake.qp.sq.ring, true);
	qp_ex = &fake.qp.vqp.qp_ex;

	ibv_wr_start(qp_ex);
	qp_ex->wr_id = 1;
	qp_ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	ibv_wr_rdma_write_imm(qp_ex, 3, 0x100, htobe32(5));
	ibv_wr_set_inline_data_list(qp_ex, 2, buf);
	qp_ex->wr_id = 2;
	qp_ex->wr_flags = IBV_SEND_FENCE;
	ibv_wr_rdma_read(qp_ex, 4, 0x200);
	ibv_wr_set_sge_list(qp_ex, 2, sge);
	qp_ex->wr_flags = 0;
	ibv_wr_atomic_cmp_swp(qp_ex, 5, 0x300, 6, 7);
	ibv_wr_set_sge(qp_ex, 1, 0x10, 8);
	ibv_wr_atomic_fetch_add(qp_ex, 5, 0x300, 8);
	ibv_wr_set_sge(qp_ex, 1, 0x10, 8);
	ibv_wr_send_inv(qp_ex, 9);
	ibv_wr_local_inv(qp_ex, 10);
	ibv_wr_rdma_write(qp_ex, 11, 0x400);
	CHECK(fake.qp.sq.ring.ctrl->prod == 0);
	CHECK(!ibv_wr_complete(qp_ex));
	CHECK(fake.qp.sq.ring.ctrl->prod == 7);
	CHECK(fake_calls(&fake, &db) == 1);

	want = (struct xiw_sqe){
		.wr_id = 1, .opcode = IB_UVERBS_WR_RDMA_WRITE_WITH_IMM,
		.flags = XIW_SQE_SIGNALED | XIW_SQE_INLINE, .inline_len = 5,
		.rkey = 3, .raddr = 0x100, .imm_data = htobe32(5),
	};
	CHECK(!memcmp(fake_sqe(&fake, 0), &want, sizeof(want)));
	CHECK(!memcmp(fake_sqe(&fake, 0) + 1, "abcde", 5));
	want = (struct xiw_sqe){
		.wr_id = 2, .opcode = IB_UVERBS_WR_RDMA_READ,
		.flags = XIW_SQE_FENCE, .num_sge = 2, .rkey = 4,
		.raddr = 0x200,
	};
	CHECK(!memcmp(fake_sqe(&fake, 1), &want, sizeof(want)));
	CHECK(!memcmp(fake_sqe(&fake, 1) + 1, sge, sizeof(sge)));
	want = (struct xiw_sqe){
		.wr_id = 2, .opcode = IB_UVERBS_WR_ATOMIC_CMP_AND_SWP,
		.num_sge = 1, .rkey = 5, .raddr = 0x300, .compare_add = 6,
		.swap = 7,
	};
	CHECK(!memcmp(fake_sqe(&fake, 2), &want, sizeof(want)));
	want.opcode = IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD;
	want.compare_add = 8;
	want.swap = 0;
	CHECK(!memcmp(fake_sqe(&fake, 3), &want, sizeof(want)));
	CHECK(fake_sqe(&fake, 4)->inv_rkey == 9);
	CHECK(fake_sqe(&fake, 5)->rkey == 10);
	CHECK(fake_sqe(&fake, 6)->raddr == 0x400);
	fake_destroy(&fake);
}

/* A bad request makes the whole batch fail, whatever follows it. */
void test_wr_errors(void)
{
	struct ibv_qp_ex *qp_ex;
	struct xiw_ring *ring;
	struct fake fake;
	int i;

	fake_init(&fake, 4, 4, 0);
	set_need_db(&fake.qp.sq.ring, true);
	ring = &fake.qp.sq.ring;
	qp_ex = &fake.qp.vqp.qp_ex;

	ibv_wr_start(qp_ex);
	ibv_wr_send(qp_ex);
	ibv_wr_rdma_read(qp_ex, 1, 2);
	ibv_wr_set_inline_data(qp_ex, (void *)"x", 1);
	ibv_wr_send(qp_ex);
	ibv_wr_set_sge(qp_ex, 1, 2, 3);
	CHECK(ibv_wr_complete(qp_ex) == EINVAL);

	ibv_wr_start(qp_ex);
	ibv_wr_atomic_fetch_add(qp_ex, 1, 8, 1);
	ibv_wr_set_sge(qp_ex, 1, 2, 4);
	CHECK(ibv_wr_complete(qp_ex) == EINVAL);

	/*
	 * A request without its payload: the next call, or wr_complete, fails.
	 */
	ibv_wr_start(qp_ex);
	ibv_wr_atomic_fetch_add(qp_ex, 1, 8, 1);
	CHECK(ibv_wr_complete(qp_ex) == EINVAL);

	ibv_wr_start(qp_ex);
	ibv_wr_atomic_cmp_swp(qp_ex, 1, 8, 1, 2);
	ibv_wr_send(qp_ex);
	CHECK(ibv_wr_complete(qp_ex) == EINVAL);

	ibv_wr_start(qp_ex);
	ibv_wr_send(qp_ex);
	ibv_wr_set_sge(qp_ex, 1, 2, 3);
	ibv_wr_set_inline_data(qp_ex, (void *)"x", 1);
	CHECK(ibv_wr_complete(qp_ex) == EINVAL);

	ibv_wr_start(qp_ex);
	ibv_wr_local_inv(qp_ex, 1);
	ibv_wr_set_sge(qp_ex, 1, 2, 4);
	CHECK(ibv_wr_complete(qp_ex) == EINVAL);

	ibv_wr_start(qp_ex);
	ibv_wr_bind_mw(qp_ex, NULL, 1, &(struct ibv_mw_bind_info){
			.mw_access_flags = IBV_ACCESS_ZERO_BASED });
	ibv_wr_send(qp_ex);
	CHECK(ibv_wr_complete(qp_ex) == EOPNOTSUPP);

	ibv_wr_start(qp_ex);
	for (i = 0; i < 5; i++)
		ibv_wr_send(qp_ex);
	CHECK(ibv_wr_complete(qp_ex) == ENOMEM);

	ibv_wr_start(qp_ex);
	ibv_wr_send(qp_ex);
	ibv_wr_abort(qp_ex);

	CHECK(ring->ctrl->prod == 0 && ring->index == 0);
	CHECK(fake_calls(&fake, &(struct xiw_call){}) == 0);

	/* Afterwards the queue works, and all its slots are free. */
	ibv_wr_start(qp_ex);
	for (i = 0; i < 4; i++)
		ibv_wr_send(qp_ex);
	CHECK(!ibv_wr_complete(qp_ex));
	CHECK(ring->ctrl->prod == 4);
	fake_destroy(&fake);
}
