// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The verbs of a kernel ULP, on a live device, with completion queues in all
 * contexts that the core offers.
 *
 * Needs a device on an interface with the address 198.51.100.1, reserved for
 * documentation; without it the cases are skipped.
 */
#include <linux/completion.h>
#include <linux/ethtool.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <linux/workqueue.h>
#ifdef XIW_HAVE_SPEED_CHANGE_EVENT
#include <net/netdev_lock.h>
#endif
#include <rdma/ib_cache.h>

#include "dev.h"
#include "device/device.h"
#include "verbs.h"
#include "verbs/verbs.h"

static void messages(struct kunit *test, const struct vt_how *how)
{
	static const u32 sizes[] = { 1, 17, 1400, 4096, 9001 };
	struct vt_pair *p = vt_pair_up(test, how);
	int i;

	for (i = 0; i < 4 * ARRAY_SIZE(sizes); i++)
		vt_message(test, p, sizes[i % ARRAY_SIZE(sizes)], i);
}

static void verbs_cq_direct(struct kunit *test)
{
	messages(test, &(struct vt_how){ .ctx = IB_POLL_DIRECT });
}

static void verbs_cq_softirq(struct kunit *test)
{
	messages(test, &(struct vt_how){ .ctx = IB_POLL_SOFTIRQ });
}

static void verbs_cq_workqueue(struct kunit *test)
{
	messages(test, &vt_in_workqueue);
}

static void verbs_cq_pool(struct kunit *test)
{
	const struct vt_how how = {
		.ctx = IB_POLL_SOFTIRQ,
		.pooled = true,
	};

	messages(test, &how);
}

static void verbs_srq(struct kunit *test)
{
	const struct vt_how how = {
		.ctx = IB_POLL_WORKQUEUE,
		.srq = true,
	};

	messages(test, &how);
}

static void verbs_fast_registration(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	u32 len = VT_ROOM - 200;
	u32 key, old;

	memset(p->a.buf, VT_MARK, VT_ROOM);
	vt_fast_register(test, &p->a, IB_ACCESS_LOCAL_WRITE |
			 IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ);
	old = p->a.mr->rkey;
	memset(p->b.buf, 1, len);
	KUNIT_ASSERT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_WRITE,
					   p->a.mr->iova, old, len),
			IB_WC_SUCCESS);
	memset(p->b.buf, 0, len);
	KUNIT_ASSERT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_READ,
					   p->a.mr->iova, old, len),
			IB_WC_SUCCESS);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.buf, 1, len));
	KUNIT_EXPECT_NULL(test, memchr_inv(p->a.buf + 100, 1, len));
	KUNIT_EXPECT_NULL(test, memchr_inv(p->a.buf, VT_MARK, 100));
	KUNIT_EXPECT_NULL(test, memchr_inv(p->a.buf + 100 + len, VT_MARK, 100));

	/* Register again with another key, and read only. */
	vt_local_inv(test, &p->a, old);
	vt_fast_register(test, &p->a, IB_ACCESS_REMOTE_READ);
	key = p->a.mr->rkey;
	KUNIT_EXPECT_NE(test, key, old);
	KUNIT_ASSERT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_READ,
					   p->a.mr->iova, key, len),
			IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_READ,
					   p->a.mr->iova, old, 1),
			IB_WC_REM_ACCESS_ERR);
}

/* Blocks may be larger than pages. */
static void verbs_fast_registration_blocks(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	u32 len = VT_ROOM - 200;
	u32 size;

	for (size = SZ_4K; size <= VT_ROOM; size *= 2) {
		memset(p->a.buf, VT_MARK, VT_ROOM);
		memset(p->b.buf, 1, len);
		vt_map(test, &p->a, size);
		KUNIT_ASSERT_EQ(test, vt_register(test, &p->a, p->a.mr->rkey,
						  IB_ACCESS_LOCAL_WRITE |
						  IB_ACCESS_REMOTE_WRITE |
						  IB_ACCESS_REMOTE_READ),
				IB_WC_SUCCESS);
		KUNIT_ASSERT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_WRITE,
						   p->a.mr->iova,
						   p->a.mr->rkey, len),
				IB_WC_SUCCESS);
		/* The Read Response implies that the Write was placed. */
		memset(p->b.buf, 0, len);
		KUNIT_ASSERT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_READ,
						   p->a.mr->iova,
						   p->a.mr->rkey, len),
				IB_WC_SUCCESS);
		KUNIT_EXPECT_NULL(test, memchr_inv(p->b.buf, 1, len));
		KUNIT_EXPECT_NULL(test, memchr_inv(p->a.buf + 100, 1, len));
		vt_local_inv(test, &p->a, p->a.mr->rkey);
		KUNIT_EXPECT_NULL(test, memchr_inv(p->a.buf, VT_MARK, 100));
		KUNIT_EXPECT_NULL(test, memchr_inv(p->a.buf + 100 + len,
						   VT_MARK, 100));
	}
}

/* Invalid registrations; 0 keeps the value set by vt_map(). */
static const struct reg_row {
	const char *what;
	u64 iova;
	u64 length;
	u32 other_key;
	int access;
} reg_rows[] = {
	{ .what = "addresses that wrap", .iova = U64_MAX - 10 },
	{ .what = "the last address wraps",
	  .iova = U64_MAX - (VT_ROOM - 200) + 1 },
	{ .what = "more bytes than pages", .length = VT_ROOM + 1 },
	{ .what = "so many bytes that their end wraps",
	  .iova = 1, .length = U64_MAX - 50 },
	{ .what = "the STag of another region", .other_key = 0x100 },
	{ .what = "a peer that writes what nobody may",
	  .access = IB_ACCESS_REMOTE_WRITE },
};

KUNIT_ARRAY_PARAM_DESC(reg, reg_rows, what);

static void verbs_fast_registration_refused(struct kunit *test)
{
	const struct reg_row *row = test->param_value;
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct ib_mr *mr;

	vt_map(test, &p->a, PAGE_SIZE);
	mr = p->a.mr;
	if (row->iova)
		mr->iova = row->iova;
	if (row->length)
		mr->length = row->length;
	KUNIT_EXPECT_EQ(test,
			vt_register(test, &p->a, mr->rkey ^ row->other_key,
				    row->access ?: IB_ACCESS_REMOTE_READ),
			IB_WC_MW_BIND_ERR);
}

/* The highest addresses: the end does not wrap to the first one. */
static void verbs_fast_registration_at_the_top(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	u32 len = VT_ROOM - 200;
	u64 base = U64_MAX - len;

	vt_map(test, &p->a, PAGE_SIZE);
	p->a.mr->iova = base;
	KUNIT_ASSERT_EQ(test, vt_register(test, &p->a, p->a.mr->rkey,
					  IB_ACCESS_REMOTE_READ),
			IB_WC_SUCCESS);
	p->a.buf[100] = 1;
	p->a.buf[100 + len - 1] = 2;
	KUNIT_ASSERT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_READ, base,
					   p->a.mr->rkey, len), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->b.buf[0], 1);
	KUNIT_EXPECT_EQ(test, p->b.buf[len - 1], 2);
	KUNIT_EXPECT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_READ,
					   U64_MAX - 1, p->a.mr->rkey, 4),
			IB_WC_REM_ACCESS_ERR);
}

static void verbs_invalidated(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);

	vt_fast_register(test, &p->a, IB_ACCESS_REMOTE_READ);
	vt_local_inv(test, &p->a, p->a.mr->rkey);
	KUNIT_EXPECT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_READ,
					   p->a.mr->iova, p->a.mr->rkey, 1),
			IB_WC_REM_ACCESS_ERR);
}

/* The first invalidation is that of a region that was never registered. */
static void verbs_invalidated_again(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);

	vt_alloc_mr(test, &p->a);
	vt_local_inv(test, &p->a, p->a.mr->rkey);
	vt_fast_register(test, &p->a, IB_ACCESS_REMOTE_READ);
	vt_local_inv(test, &p->a, p->a.mr->rkey);
	vt_local_inv(test, &p->a, p->a.mr->rkey);
	vt_fast_register(test, &p->a, IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_READ,
					   p->a.mr->iova, p->a.mr->rkey, 1),
			IB_WC_SUCCESS);
	vt_local_inv(test, &p->a, p->a.mr->rkey);
	vt_local_inv(test, &p->a, p->a.mr->rkey);
	KUNIT_EXPECT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_READ,
					   p->a.mr->iova, p->a.mr->rkey, 1),
			IB_WC_REM_ACCESS_ERR);
}

/* The key of a region that is mapped for a registration is not yet valid. */
static void verbs_invalidated_other_key(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);

	vt_map(test, &p->a, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, vt_invalidate(test, &p->a, p->a.mr->rkey),
			IB_WC_LOC_QP_OP_ERR);
}

static void verbs_invalidated_other_pd(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);

	vt_alloc_mr(test, &p->a);
	KUNIT_EXPECT_EQ(test, vt_invalidate(test, &p->b, p->a.mr->rkey),
			IB_WC_LOC_QP_OP_ERR);
}

/* The peer may not invalidate a region that is not registered. */
static void verbs_invalidated_again_by_peer(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND_WITH_INV };

	vt_fast_register(test, &p->a, IB_ACCESS_REMOTE_READ);
	vt_local_inv(test, &p->a, p->a.mr->rkey);
	wr.ex.invalidate_rkey = p->a.mr->rkey;
	vt_post_recv(test, &p->a, 0, 8);
	vt_post_send(test, &p->b, &wr);
	vt_wait(test, &p->a, &p->a.recv);
	KUNIT_EXPECT_EQ(test, p->a.recv.wc.status, IB_WC_REM_INV_REQ_ERR);
}

static void verbs_send_with_invalidate(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND_WITH_INV };
	int i;

	/* Each registration follows an invalidation. */
	for (i = 0; i < 5; i++) {
		vt_fast_register(test, &p->a, IB_ACCESS_REMOTE_READ);
		wr.ex.invalidate_rkey = p->a.mr->rkey;
		vt_post_recv(test, &p->a, 0, 8);
		vt_post_send(test, &p->b, &wr);
		vt_wait_ok(test, &p->b, &p->b.send, IB_WC_SEND);
		vt_wait_ok(test, &p->a, &p->a.recv, IB_WC_RECV);
		KUNIT_EXPECT_TRUE(test, p->a.recv.wc.wc_flags &
				  IB_WC_WITH_INVALIDATE);
		KUNIT_EXPECT_EQ(test, p->a.recv.wc.ex.invalidate_rkey,
				p->a.mr->rkey);
	}
}

static void verbs_read_with_invalidate(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct ib_sge sge = { .length = 1000 };
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_READ_WITH_INV,
			.sg_list = &sge,
			.num_sge = 1,
		},
	};
	int i;

	vt_fast_register(test, &p->a, IB_ACCESS_REMOTE_READ);
	wr.remote_addr = p->a.mr->iova;
	wr.rkey = p->a.mr->rkey;
	for (i = 1; i < 5; i++) {
		memset(p->a.buf, i, VT_ROOM);
		vt_fast_register(test, &p->b, IB_ACCESS_LOCAL_WRITE |
				 IB_ACCESS_REMOTE_WRITE);
		sge.addr = p->b.mr->iova;
		sge.lkey = p->b.mr->rkey;
		wr.wr.ex.invalidate_rkey = p->b.mr->rkey;
		vt_post_send(test, &p->b, &wr.wr);
		vt_wait_ok(test, &p->b, &p->b.send, IB_WC_RDMA_READ);
		KUNIT_EXPECT_NULL(test, memchr_inv(p->b.buf + 100, i, 1000));
	}
}

static void verbs_all_memory(struct kunit *test)
{
	const struct vt_how how = {
		.ctx = IB_POLL_WORKQUEUE,
		.pd_flags = IB_PD_UNSAFE_GLOBAL_RKEY,
	};
	struct vt_pair *p = vt_pair_up(test, &how);
	u32 key = p->a.pd->unsafe_global_rkey;

	KUNIT_ASSERT_NE(test, key, 0U);
	memset(p->b.buf, 7, VT_ROOM);
	KUNIT_ASSERT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_WRITE,
					   p->a.dma + 1, key, VT_ROOM - 1),
			IB_WC_SUCCESS);
	memset(p->b.buf, 0, VT_ROOM);
	KUNIT_ASSERT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_READ,
					   p->a.dma + 1, key, VT_ROOM - 1),
			IB_WC_SUCCESS);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.buf, 7, VT_ROOM - 1));
	KUNIT_EXPECT_EQ(test, p->a.buf[0], 0);
}

/* A request, and the memory before and after it. */
static const struct atomic_row {
	enum ib_wr_opcode opcode;
	enum ib_wc_opcode wc_opcode;
	u64 compare_add;
	u64 compare_add_mask;
	u64 swap;
	u64 swap_mask;
	u64 before;
	u64 after;
} atomic_rows[] = {
	{ IB_WR_ATOMIC_FETCH_AND_ADD, IB_WC_FETCH_ADD, 3, 0, 0, 0,
	  U64_MAX, 2 },
	{ IB_WR_ATOMIC_CMP_AND_SWP, IB_WC_COMP_SWAP, 0x11, 0, 0x22, 0,
	  0x11, 0x22 },
	{ IB_WR_ATOMIC_CMP_AND_SWP, IB_WC_COMP_SWAP, 0x10, 0, 0x22, 0,
	  0x11, 0x11 },
	/* The mask has the top bit of each independent field. */
	{ IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, IB_WC_MASKED_FETCH_ADD,
	  0x0000000100000001, 0x8000000080000000, 0, 0,
	  0xffffffffffffffff, 0 },
	{ IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, IB_WC_MASKED_FETCH_ADD,
	  0x01, 0x80, 0, 0, 0x1ff, 0x100 },
	/* Only bits set in the masks are compared and changed. */
	{ IB_WR_MASKED_ATOMIC_CMP_AND_SWP, IB_WC_MASKED_COMP_SWAP,
	  0x00000000000000cc, 0x00000000000000ff,
	  0xffffffffffffffff, 0x0000ffff00000000,
	  0x11223344556677cc, 0x1122ffff556677cc },
	{ IB_WR_MASKED_ATOMIC_CMP_AND_SWP, IB_WC_MASKED_COMP_SWAP,
	  0x00000000000000cd, 0x00000000000000ff,
	  0xffffffffffffffff, 0x0000ffff00000000,
	  0x11223344556677cc, 0x11223344556677cc },
};

/* Covers: ATOM-08 ATOM-09 ATOM-10 ATOM-11 */
static void verbs_atomics(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct ib_sge sge = vt_part(&p->b, 0, sizeof(u64));
	u64 *word = (u64 *)(p->a.buf + 104);
	struct ib_atomic_wr wr = {
		.wr = { .sg_list = &sge, .num_sge = 1 },
	};
	int i;

	vt_fast_register(test, &p->a, IB_ACCESS_LOCAL_WRITE |
			 IB_ACCESS_REMOTE_ATOMIC);
	wr.remote_addr = p->a.mr->iova + 4;
	wr.rkey = p->a.mr->rkey;
	for (i = 0; i < ARRAY_SIZE(atomic_rows); i++) {
		const struct atomic_row *row = &atomic_rows[i];

		*word = row->before;
		wr.wr.opcode = row->opcode;
		wr.compare_add = row->compare_add;
		wr.compare_add_mask = row->compare_add_mask;
		wr.swap = row->swap;
		wr.swap_mask = row->swap_mask;
		vt_post_send(test, &p->b, &wr.wr);
		vt_wait_ok(test, &p->b, &p->b.send, row->wc_opcode);
		KUNIT_EXPECT_EQ_MSG(test, get_unaligned((u64 *)p->b.buf),
				    row->before, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, *word, row->after, "row %d", i);
	}
}

/* A queue pair for Reads refuses Atomics, whatever the region permits. */
/* Covers: ATOM-16 */
static void verbs_qp_rights(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_access_flags = IB_ACCESS_REMOTE_READ };
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct ib_sge sge = vt_part(&p->b, 0, sizeof(u64));
	u64 *word = (u64 *)(p->a.buf + 104);
	struct ib_atomic_wr wr = {
		.wr = {
			.opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.compare_add = 1,
	};

	vt_fast_register(test, &p->a, IB_ACCESS_LOCAL_WRITE |
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC);
	wr.remote_addr = p->a.mr->iova + 4;
	wr.rkey = p->a.mr->rkey;
	vt_post_send(test, &p->b, &wr.wr);
	vt_wait_ok(test, &p->b, &p->b.send, IB_WC_FETCH_ADD);
	KUNIT_EXPECT_EQ(test, *word, 1ULL);
	KUNIT_ASSERT_EQ(test, ib_modify_qp(p->a.id->qp, &attr,
					   IB_QP_ACCESS_FLAGS), 0);
	KUNIT_EXPECT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_READ,
					   p->a.mr->iova, p->a.mr->rkey, 8),
			IB_WC_SUCCESS);
	vt_post_send(test, &p->b, &wr.wr);
	vt_wait(test, &p->b, &p->b.send);
	KUNIT_EXPECT_EQ(test, p->b.send.wc.status, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, *word, 1ULL);
}

/* Covers: IMM-05 IMM-06 IMM-13 IMM-14 */
static void verbs_write_with_immediate(struct kunit *test)
{
	static const u32 sizes[] = { 0, 1, 1460, 9000 };
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct ib_sge sge = {};
	struct ib_rdma_wr wr = {
		.wr = { .opcode = IB_WR_RDMA_WRITE_WITH_IMM, .sg_list = &sge },
	};
	int i;

	vt_fast_register(test, &p->a, IB_ACCESS_LOCAL_WRITE |
			 IB_ACCESS_REMOTE_WRITE);
	wr.remote_addr = p->a.mr->iova;
	wr.rkey = p->a.mr->rkey;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		sge = vt_part(&p->b, 0, sizes[i]);
		wr.wr.num_sge = !!sizes[i];
		wr.wr.ex.imm_data = cpu_to_be32(0xc0ffee00 + i);
		memset(p->b.buf, i + 1, sizes[i]);
		vt_post_recv(test, &p->a, 0, 0);
		vt_post_send(test, &p->b, &wr.wr);
		vt_wait_ok(test, &p->b, &p->b.send, IB_WC_RDMA_WRITE);
		vt_wait_ok(test, &p->a, &p->a.recv, IB_WC_RECV_RDMA_WITH_IMM);
		KUNIT_EXPECT_EQ(test, p->a.recv.wc.wc_flags, IB_WC_WITH_IMM);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(p->a.recv.wc.ex.imm_data),
				0xc0ffee00U + i);
		KUNIT_EXPECT_EQ(test, p->a.recv.wc.byte_len, sizes[i]);
		KUNIT_EXPECT_NULL(test, memchr_inv(p->a.buf + 100, i + 1,
						   sizes[i]));
	}
}

/* Receives of length 0, each with a request of its own. */
static struct vt_wr *post_recvs(struct kunit *test, struct vt_end *e, int n)
{
	struct ib_recv_wr wr = {};
	struct vt_wr *recv;
	int i;

	recv = kunit_kcalloc(test, n, sizeof(*recv), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, recv);
	for (i = 0; i < n; i++) {
		init_completion(&recv[i].done);
		wr.wr_cqe = vt_wr_prepare(&recv[i]);
		KUNIT_ASSERT_EQ(test, ib_post_recv(e->id->qp, &wr, NULL), 0);
	}
	return recv;
}

/*
 * Connects with the QP of another identifier, as a process can: rdma_cm does
 * not check the QP number.
 */
static void verbs_foreign_qp(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);

#ifdef XIW_HAVE_IW_CONN_PARAM_USER
	/* iw_cm checks processes only; this queue pair is connected. */
	KUNIT_EXPECT_LT(test, vt_connect_foreign(test, p), 0);
#else
	KUNIT_EXPECT_EQ(test, vt_connect_foreign(test, p), -EPERM);
#endif
	vt_message(test, p, 64, 1);
}

/* Everything posted is completed when the drain returns. */
static void verbs_drain(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct vt_wr *recv = post_recvs(test, &p->a, 8);
	int i;

	ib_drain_qp(p->a.id->qp);
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_TRUE(test, try_wait_for_completion(&recv[i].done));
		KUNIT_EXPECT_EQ(test, recv[i].wc.status, IB_WC_WR_FLUSH_ERR);
	}
}

/* A completed Send is delivered even if its queue pair was destroyed. */
static void verbs_leave(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct ib_sge sge = vt_part(&p->b, 0, VT_ROOM);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};

	memset(p->b.buf, 1, VT_ROOM);
	memset(p->a.buf, VT_MARK, VT_ROOM);
	vt_post_send(test, &p->b, &wr);
	vt_wait_ok(test, &p->b, &p->b.send, IB_WC_SEND);
	/* No receive was posted for the message before this point. */
	ib_drain_qp(p->b.id->qp);
	rdma_destroy_qp(p->b.id);
	vt_post_recv(test, &p->a, 0, VT_ROOM);
	vt_wait_ok(test, &p->a, &p->a.recv, IB_WC_RECV);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->a.buf, 1, VT_ROOM));
	vt_disconnected(test, &p->a);
}

/**
 * struct finder - looks for queue pairs by number, as iw_cm does
 * @dev: device
 * @wanted: number to look for, 0 after it was found
 * @found: completes when it was found
 */
struct finder {
	struct ib_device *dev;
	u32 wanted;
	struct completion found;
};

static int find_all(void *arg)
{
	struct finder *f = arg;
	struct ib_qp *ibqp;
	spinlock_t iwcm; /* as iw_cm's: with PREEMPT_RT it leaves IRQs on */
	unsigned long n;
	void *entry;

	spin_lock_init(&iwcm);
	while (!kthread_should_stop()) {
		xa_for_each(&to_xdev(f->dev)->qps, n, entry) {
			spin_lock_irq(&iwcm);
			ibqp = f->dev->ops.iw_get_qp(f->dev, n);
			spin_unlock_irq(&iwcm);
			if (!ibqp)
				continue;
			if (cmpxchg(&f->wanted, n, 0) == n)
				complete(&f->found);
			f->dev->ops.iw_rem_ref(ibqp);
		}
		cond_resched();
	}
	return 0;
}

/*
 * A lookup during creation or destruction of a queue pair never returns an
 * incomplete one; reference counts and KASAN would report it.
 */
static void verbs_qp_is_whole(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
		.send_cq = p->b.cq,
		.recv_cq = p->b.cq,
		.qp_type = IB_QPT_RC,
	};
	struct finder f = { .dev = p->b.id->device };
	struct task_struct *thread;
	struct ib_qp *qp;
	int i;

	init_completion(&f.found);
	thread = kthread_run(find_all, &f, "xiw_find_all");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, thread);
	for (i = 0; i < 100; i++) {
		qp = ib_create_qp(p->b.pd, &attr);
		if (IS_ERR(qp))
			break;
		WRITE_ONCE(f.wanted, qp->qp_num);
		KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&f.found,
								    20 * HZ));
		ib_destroy_qp(qp);
	}
	kthread_stop(thread);
	KUNIT_EXPECT_EQ(test, i, 100);
}

#ifdef XIW_KERNEL_RESIZES_CQ
/* Entries not polled yet move to the new ring, or stay. */
static void verbs_cq_resize(struct kunit *test)
{
	const struct vt_how how = {
		.ctx = IB_POLL_DIRECT,
		.pd_flags = IB_PD_UNSAFE_GLOBAL_RKEY,
	};
	struct vt_pair *p = vt_pair_up(test, &how);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct vt_wr *recv = post_recvs(test, &p->a, 6);
	int before, i;

	for (i = 0; i < 6; i++) {
		if (i == 5) {
			before = p->a.cq->cqe;
			KUNIT_EXPECT_EQ(test, ib_resize_cq(p->a.cq, 4),
					-EINVAL);
			KUNIT_EXPECT_EQ(test, p->a.cq->cqe, before);
			KUNIT_EXPECT_EQ(test,
					ib_resize_cq(p->a.cq, 4 * before), 0);
			KUNIT_EXPECT_GE(test, p->a.cq->cqe, 4 * before);
		}
		vt_post_send(test, &p->b, &wr);
		vt_wait_ok(test, &p->b, &p->b.send, IB_WC_SEND);
		/* The Read Response implies that the message was delivered. */
		KUNIT_ASSERT_EQ(test, vt_remote_io(test, p, IB_WR_RDMA_READ,
						   p->a.dma,
						   p->a.pd->unsafe_global_rkey,
						   1), IB_WC_SUCCESS);
	}
	for (i = 0; i < 6; i++) {
		KUNIT_EXPECT_FALSE(test, completion_done(&recv[i].done));
		KUNIT_EXPECT_EQ(test, ib_process_cq_direct(p->a.cq, 1), 1);
		KUNIT_EXPECT_TRUE(test, completion_done(&recv[i].done));
		KUNIT_EXPECT_EQ(test, recv[i].wc.status, IB_WC_SUCCESS);
	}
}
#endif

/**
 * struct taker - polls completions, and adds some
 * @cq: completion queue
 * @kept: queue pair to check; completions of others are ignored
 * @added: completions of @kept
 * @taken: completions of @kept polled
 * @wrong: number of unexpected completions
 * @size: first new size of @cq, or 0
 */
struct taker {
	struct ib_cq *cq;
	struct ib_qp *kept;
	u64 added;
	u64 taken;
	u32 wrong;
	int size;
};

static void taker_add(struct taker *t, u32 qpn)
{
	struct xiw_cqe cqe = {
		.wr_id = qpn == t->kept->qp_num ? t->added++ : 0,
		.qp_id = qpn,
	};

	xiw_cq_add(to_xcq(t->cq), &cqe);
}

static bool taker_take(struct taker *t)
{
	struct ib_wc wc[7];
	int n = ib_poll_cq(t->cq, ARRAY_SIZE(wc), wc);
	int i;

	for (i = 0; i < n; i++)
		if (wc[i].qp == t->kept)
			t->wrong += wc[i].wr_id != t->taken++;
	return n;
}

static int taker_run(void *arg)
{
	struct taker *t = arg;

#ifdef XIW_KERNEL_RESIZES_CQ
	if (t->size)
		t->wrong += ib_resize_cq(t->cq, t->size) != 0;
#endif
	while (!kthread_should_stop()) {
		if (taker_take(t))
			taker_add(t, t->kept->qp_num);
		cond_resched();
	}
	return 0;
}

enum {
	PURGE_ENTRIES	= 10000,
	PURGE_ROUNDS	= 60,
};

/* Destroy one of two queue pairs while threads poll, add and resize. */
static void purge_round(struct kunit *test, struct taker *t,
			struct ib_qp_init_attr *attr, struct ib_pd *pd,
			int round)
{
	struct ib_qp *gone = ib_create_qp(pd, attr);
	struct xiw_cq *cq = to_xcq(t->cq);
	struct task_struct *thread = NULL;
	u32 qpn;
	int i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(gone));
	qpn = gone->qp_num;
	for (i = 0; i < PURGE_ENTRIES; i++)
		taker_add(t, get_random_u32() % 4 ? t->kept->qp_num : qpn);
	t->size = round % 3 == 2 ? 2 * PURGE_ENTRIES + round : 0;
	if (round % 3)
		thread = kthread_run(taker_run, t, "xiw_taker");
	KUNIT_EXPECT_EQ(test, ib_destroy_qp(gone), 0);
	if (!IS_ERR_OR_NULL(thread))
		kthread_stop(thread);
	KUNIT_EXPECT_EQ(test, cq->prod - cq->queue.ctrl->cons,
			t->added - t->taken);
	while (taker_take(t))
		;
	KUNIT_EXPECT_EQ(test, t->taken, t->added);
	KUNIT_EXPECT_EQ(test, t->wrong, 0);
}

/* Destruction drops the entries of its queue pair and no others. */
static void verbs_cq_purge(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
		.qp_type = IB_QPT_RC,
	};
	struct taker t = { };
	int round;

	t.cq = ib_alloc_cq(p->b.id->device, NULL, 2 * PURGE_ENTRIES, 0,
			   IB_POLL_DIRECT);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t.cq));
	attr.send_cq = t.cq;
	attr.recv_cq = t.cq;
	t.kept = ib_create_qp(p->b.pd, &attr);
	if (!IS_ERR(t.kept)) {
		for (round = 0; round < PURGE_ROUNDS; round++)
			purge_round(test, &t, &attr, p->b.pd, round);
		ib_destroy_qp(t.kept);
	}
	KUNIT_EXPECT_FALSE(test, IS_ERR(t.kept));
	ib_free_cq(t.cq);
}

/* A single completion raises the event at the timeout, not before. */
static void verbs_cq_moderation(struct kunit *test)
{
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	const u16 usecs = 50000;
	ktime_t start;
	int i;

	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, rdma_set_cq_moderation(p->b.cq, 0, 0), 0);
		vt_message(test, p, 100, i);
		/* After its work the CQ is empty and armed again. */
		flush_work(&p->b.cq->work);
		KUNIT_ASSERT_EQ(test,
				rdma_set_cq_moderation(p->b.cq, 8, usecs), 0);
		start = ktime_get();
		vt_message(test, p, 100, i);
		KUNIT_EXPECT_GE(test, ktime_us_delta(ktime_get(), start),
				(s64)usecs);
	}
}

/*
 * Destroys a queue pair as ULPs do in their handler of DEVICE_REMOVAL: no other
 * handler of the identifier can run, so the iw_cm thread with an event for it
 * waits for the caller, and the caller must not wait for that thread.
 */
static void verbs_destroy_in_handler(struct kunit *test)
{
	struct vt_pair *p = vt_pair_ask(test, &vt_in_workqueue);
	int ret;

	rdma_lock_handler(p->a.id);
	ret = vt_accept(p);
	rdma_destroy_qp(p->a.id);
	rdma_unlock_handler(p->a.id);
	KUNIT_ASSERT_EQ(test, ret, 0);
	vt_disconnected(test, &p->a);
	vt_disconnected(test, &p->b);
}

static u32 link_speed;

static int get_link(struct net_device *netdev,
		    struct ethtool_link_ksettings *link)
{
	link->base.speed = link_speed;
	return 0;
}

static const struct ethtool_ops link_ops = {
	.get_link_ksettings = get_link,
};

static void set_ethtool_ops(struct net_device *netdev,
			    const struct ethtool_ops *ops)
{
	rtnl_lock();
	netdev->ethtool_ops = ops;
	rtnl_unlock();
}

/* The netdev's speed in units of the verb, or an unknown speed. */
static void verbs_port_speed(struct kunit *test)
{
	static const u32 speeds[] = { SPEED_1000, SPEED_2500, SPEED_10000 };
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct ib_device *ibdev = p->b.id->device;
	struct net_device *netdev = to_xdev(ibdev)->netdev;
	const struct ethtool_ops *before = netdev->ethtool_ops;
	u64 speed;
	int i;

	KUNIT_EXPECT_EQ(test, xiw_query_port_speed(ibdev, 1, &speed),
			-EOPNOTSUPP);
	set_ethtool_ops(netdev, &link_ops);
	for (i = 0; i < ARRAY_SIZE(speeds); i++) {
		link_speed = speeds[i];
		speed = 0;
		KUNIT_EXPECT_EQ(test, xiw_query_port_speed(ibdev, 1, &speed),
				0);
		KUNIT_EXPECT_EQ(test, 100 * speed, (u64)speeds[i]);
	}
	link_speed = (u32)SPEED_UNKNOWN;
	KUNIT_EXPECT_EQ(test, xiw_query_port_speed(ibdev, 1, &speed),
			-EOPNOTSUPP);
	set_ethtool_ops(netdev, before);
}

#ifdef XIW_HAVE_SPEED_CHANGE_EVENT
/**
 * struct speed_events - counts events of a changed speed
 * @handler: registered with the core
 * @count: events so far
 * @arrived: completed by each event
 */
struct speed_events {
	struct ib_event_handler handler;
	atomic_t count;
	struct completion arrived;
};

static void count_speed_event(struct ib_event_handler *handler,
			      struct ib_event *event)
{
	struct speed_events *e = container_of(handler, struct speed_events,
					      handler);

	if (event->event != IB_EVENT_DEVICE_SPEED_CHANGE)
		return;
	atomic_inc(&e->count);
	complete(&e->arrived);
}

/*
 * Imitates the end of a negotiation at @speed. The core calls the notifiers
 * under the netdev's lock if the driver has requested that.
 */
static void change_link(struct xiw_dev *dev, u32 speed)
{
	struct net_device *netdev = dev->netdev;

	rtnl_lock();
	link_speed = speed;
	netdev->request_ops_lock = true;
	netdev_lock_ops(netdev);
	call_netdevice_notifiers(NETDEV_CHANGE, netdev);
	netdev_unlock_ops(netdev);
	rtnl_unlock();
	flush_delayed_work(&dev->port_work);
	rtnl_lock();
	netdev->request_ops_lock = false;
	rtnl_unlock();
}

/* Each change of the netdev's speed raises one event; the first is no change */
static void verbs_speed_event(struct kunit *test)
{
	static const u32 changes[] = { SPEED_2500, SPEED_10000, SPEED_1000 };
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct ib_device *ibdev = p->b.id->device;
	struct xiw_dev *dev = to_xdev(ibdev);
	const struct ethtool_ops *before = dev->netdev->ethtool_ops;
	struct speed_events *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	unsigned long left;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, e);
	init_completion(&e->arrived);
	INIT_IB_EVENT_HANDLER(&e->handler, ibdev, count_speed_event);
	ib_register_event_handler(&e->handler);
	set_ethtool_ops(dev->netdev, &link_ops);
	change_link(dev, SPEED_1000);
	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		change_link(dev, changes[i]);
		left = wait_for_completion_timeout(&e->arrived, VT_TIMEOUT);
		KUNIT_EXPECT_NE(test, left, 0UL);
		change_link(dev, changes[i]);
		change_link(dev, (u32)SPEED_UNKNOWN);
	}
	set_ethtool_ops(dev->netdev, before);
	ib_unregister_event_handler(&e->handler);
	KUNIT_EXPECT_EQ(test, atomic_read(&e->count), i);
}
#endif

/* Raises an event and waits until the core has handled it. */
static void port_event(struct ib_device *ibdev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = ibdev,
		.element.port_num = 1,
		.event = type,
	};

	ib_dispatch_event(&event);
	flush_workqueue(ib_wq);
}

/*
 * rdma_cm reads the netdev of the first GID without a lock, and crashes if the
 * core removes that GID concurrently: no event may cause the removal, whatever
 * has changed.
 */
static void verbs_first_gid_stays(struct kunit *test)
{
	static const enum ib_event_type types[] = {
		IB_EVENT_GID_CHANGE, IB_EVENT_CLIENT_REREGISTER,
		IB_EVENT_PORT_ERR, IB_EVENT_PORT_ACTIVE, IB_EVENT_LID_CHANGE,
		IB_EVENT_PKEY_CHANGE,
	};
	struct vt_pair *p = vt_pair_up(test, &vt_in_workqueue);
	struct ib_device *ibdev = p->b.id->device;
	const struct ib_gid_attr *before = rdma_get_gid_attr(ibdev, 1, 0);
	const struct ib_gid_attr *after;
	bool netdev, stays;
	int i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(before));
	netdev = rcu_access_pointer(before->ndev);
	for (i = 0; netdev && i < ARRAY_SIZE(types); i++) {
		port_event(ibdev, types[i]);
		stays = rcu_access_pointer(before->ndev);
		KUNIT_EXPECT_TRUE_MSG(test, stays, "%s",
				      ib_event_msg(types[i]));
		after = rdma_get_gid_attr(ibdev, 1, 0);
		KUNIT_EXPECT_PTR_EQ(test, after, before);
		if (!IS_ERR(after))
			rdma_put_gid_attr(after);
	}
	rdma_put_gid_attr(before);
	if (!netdev)
		kunit_skip(test, "this core keeps no netdev with a GID");
}

static struct kunit_case verbs_cases[] = {
	KUNIT_CASE(verbs_cq_direct),
	KUNIT_CASE(verbs_cq_softirq),
	KUNIT_CASE(verbs_cq_workqueue),
	KUNIT_CASE(verbs_cq_pool),
	KUNIT_CASE(verbs_cq_moderation),
	KUNIT_CASE(verbs_cq_purge),
#ifdef XIW_KERNEL_RESIZES_CQ
	KUNIT_CASE(verbs_cq_resize),
#endif
	KUNIT_CASE(verbs_srq),
	KUNIT_CASE(verbs_fast_registration),
	KUNIT_CASE(verbs_fast_registration_blocks),
	KUNIT_CASE_PARAM(verbs_fast_registration_refused, reg_gen_params),
	KUNIT_CASE(verbs_fast_registration_at_the_top),
	KUNIT_CASE(verbs_invalidated),
	KUNIT_CASE(verbs_invalidated_again),
	KUNIT_CASE(verbs_invalidated_other_key),
	KUNIT_CASE(verbs_invalidated_other_pd),
	KUNIT_CASE(verbs_invalidated_again_by_peer),
	KUNIT_CASE(verbs_send_with_invalidate),
	KUNIT_CASE(verbs_read_with_invalidate),
	KUNIT_CASE(verbs_all_memory),
	KUNIT_CASE(verbs_atomics),
	KUNIT_CASE(verbs_qp_rights),
	KUNIT_CASE(verbs_write_with_immediate),
	KUNIT_CASE(verbs_foreign_qp),
	KUNIT_CASE(verbs_drain),
	KUNIT_CASE(verbs_leave),
	KUNIT_CASE(verbs_destroy_in_handler),
	KUNIT_CASE(verbs_qp_is_whole),
	KUNIT_CASE(verbs_port_speed),
#ifdef XIW_HAVE_SPEED_CHANGE_EVENT
	KUNIT_CASE(verbs_speed_event),
#endif
	KUNIT_CASE(verbs_first_gid_stays),
	{}
};

static struct kunit_suite verbs_suite = {
	.name = "xiw_verbs",
	.init = vt_init,
	.exit = vt_exit,
	.test_cases = verbs_cases,
};

kunit_test_suite(verbs_suite);

MODULE_DESCRIPTION("KUnit tests of xiw through the kernel's verbs");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
MODULE_LICENSE("Dual BSD/GPL");
