// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Polling in both ways, arming, and purging the entries of a QP.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "fake.h"

void test_poll_fields(void)
{
	static const struct xiw_cqe cqes[] = {
		{ .wr_id = 1, .qp_id = FAKE_QPN,
		  .opcode = IB_UVERBS_WC_SEND },
		{ .wr_id = 2, .qp_id = FAKE_QPN, .byte_len = 100,
		  .opcode = XIW_WC_RECV_WITH_IMM, .flags = XIW_CQE_WITH_IMM |
		  XIW_CQE_SOLICITED, .ext = 0x11223344 },
		{ .wr_id = 3, .qp_id = FAKE_QPN, .byte_len = 7,
		  .opcode = XIW_WC_RECV, .flags = XIW_CQE_WITH_INV,
		  .inv_rkey = 0xabc },
		{ .wr_id = 4, .qp_id = FAKE_QPN,
		  .status = IBV_WC_REM_ACCESS_ERR, .vendor_err = 0x0102,
		  .opcode = IB_UVERBS_WC_RDMA_READ },
	};
	struct ibv_wc wc[5];
	struct fake fake;
	int i;

	fake_init(&fake, 4, 4, 0xfffffffe);
	CHECK(xiw_poll_cq(ibcq(&fake), 5, wc) == 0);
	for (i = 0; i < 4; i++)
		fake_complete(&fake, &cqes[i]);
	memset(wc, 0xff, sizeof(wc));
	CHECK(xiw_poll_cq(ibcq(&fake), 0, wc) == 0);
	CHECK(xiw_poll_cq(ibcq(&fake), 1, wc) == 1);
	CHECK(fake.cq.ring.ctrl->cons == 0xffffffff);
	CHECK(xiw_poll_cq(ibcq(&fake), 4, wc + 1) == 3);
	CHECK(xiw_poll_cq(ibcq(&fake), 1, wc + 4) == 0);
	CHECK(fake.cq.ring.ctrl->cons == 2);

	for (i = 0; i < 4; i++) {
		CHECK(wc[i].wr_id == cqes[i].wr_id);
		CHECK(wc[i].status == (enum ibv_wc_status)cqes[i].status);
		CHECK(wc[i].qp_num == FAKE_QPN && wc[i].src_qp == 0);
		CHECK(wc[i].byte_len == cqes[i].byte_len);
		CHECK(wc[i].vendor_err == cqes[i].vendor_err);
	}
	CHECK(wc[0].opcode == IBV_WC_SEND && wc[0].wc_flags == 0);
	CHECK(wc[1].opcode == IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK(wc[1].wc_flags == IBV_WC_WITH_IMM);
	CHECK(!memcmp(&wc[1].imm_data, &cqes[1].ext, 4));
	CHECK(wc[2].opcode == IBV_WC_RECV);
	CHECK(wc[2].wc_flags == IBV_WC_WITH_INV);
	CHECK(wc[2].invalidated_rkey == 0xabc);
	CHECK(wc[3].opcode == IBV_WC_RDMA_READ);
	fake_destroy(&fake);
}

void test_start_poll(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *cq_ex;
	struct xiw_cqe cqe = {
		.wr_id = 5, .timestamp = 123456789, .qp_id = FAKE_QPN,
		.byte_len = 42, .opcode = XIW_WC_RECV,
		.flags = XIW_CQE_WITH_INV, .inv_rkey = 0xdef,
	};
	struct fake fake;

	fake_init(&fake, 4, 4, 0xffffffff);
	cq_ex = &fake.cq.vcq.cq_ex;
	CHECK(ibv_start_poll(cq_ex, &attr) == ENOENT);
	attr.comp_mask = 1;
	CHECK(ibv_start_poll(cq_ex, &attr) == EINVAL);
	attr.comp_mask = 0;

	fake_complete(&fake, &cqe);
	cqe.wr_id = 6;
	cqe.status = IBV_WC_WR_FLUSH_ERR;
	cqe.vendor_err = 0x0207;
	fake_complete(&fake, &cqe);

	CHECK(!ibv_start_poll(cq_ex, &attr));
	CHECK(cq_ex->wr_id == 5 && cq_ex->status == IBV_WC_SUCCESS);
	CHECK(ibv_wc_read_opcode(cq_ex) == IBV_WC_RECV);
	CHECK(ibv_wc_read_byte_len(cq_ex) == 42);
	CHECK(ibv_wc_read_qp_num(cq_ex) == FAKE_QPN);
	CHECK(ibv_wc_read_wc_flags(cq_ex) == IBV_WC_WITH_INV);
	CHECK(ibv_wc_read_invalidated_rkey(cq_ex) == 0xdef);
	CHECK(ibv_wc_read_completion_ts(cq_ex) == 123456789);
	CHECK(ibv_wc_read_src_qp(cq_ex) == 0 && ibv_wc_read_slid(cq_ex) == 0);
	CHECK(ibv_wc_read_sl(cq_ex) == 0);
	CHECK(ibv_wc_read_dlid_path_bits(cq_ex) == 0);
	/* Arming in between must not wait for end_poll. */
	CHECK(!xiw_req_notify_cq(ibcq(&fake), 0));
	CHECK(fake.cq.ring.ctrl->cons == 0);

	CHECK(!ibv_next_poll(cq_ex));
	CHECK(fake.cq.ring.ctrl->cons == 1);
	CHECK(cq_ex->wr_id == 6 && cq_ex->status == IBV_WC_WR_FLUSH_ERR);
	CHECK(ibv_wc_read_vendor_err(cq_ex) == 0x0207);
	CHECK(ibv_next_poll(cq_ex) == ENOENT);
	CHECK(cq_ex->wr_id == 6 && ibv_wc_read_vendor_err(cq_ex) == 0x0207);
	ibv_end_poll(cq_ex);
	CHECK(fake.cq.ring.ctrl->cons == 1);
	CHECK(ibv_start_poll(cq_ex, &attr) == ENOENT);
	fake_destroy(&fake);
}

void test_arm(void)
{
	struct xiw_ring_ctrl *ctrl;
	struct fake fake;

	fake_init(&fake, 4, 4, 0);
	ctrl = fake.cq.ring.ctrl;
	CHECK(!xiw_req_notify_cq(ibcq(&fake), 1));
	CHECK(ctrl->arm == XIW_ARM_SOLICITED);
	/*
	 * A request for any completion stays armed when one for solicited
	 * follows.
	 */
	CHECK(!xiw_req_notify_cq(ibcq(&fake), 0));
	CHECK(ctrl->arm == (XIW_ARM_SOLICITED | XIW_ARM_NEXT));
	CHECK(!xiw_req_notify_cq(ibcq(&fake), 1));
	CHECK(ctrl->arm == (XIW_ARM_SOLICITED | XIW_ARM_NEXT));

	ctrl->arm = 0;
	CHECK(!xiw_req_notify_cq(ibcq(&fake), 0));
	CHECK(ctrl->arm == XIW_ARM_NEXT);
	CHECK(fake_calls(&fake, &(struct xiw_call){}) == 0);
	fake_destroy(&fake);
}

/* Number of busy-poll calls by the process since the last time */
static int num_helped(struct fake *fake)
{
	struct xiw_call call;
	int n = fake_calls(fake, &call);

	if (n)
		CHECK(fake_called(&call, UVERBS_OBJECT_CQ,
				  XIW_METHOD_CQ_BUSY_POLL));
	return n;
}

/* @poll finds no completion. */
static void help_case(struct fake *fake, int (*poll)(struct fake *fake))
{
	uint32_t *flags = &fake->cq.ring.ctrl->flags;
	const struct xiw_cqe cqe = { .qp_id = FAKE_QPN };
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 2 * XIW_RING_MIN_POLLS; i++)
		CHECK(poll(fake) == 0);
	CHECK(!num_helped(fake));
	*flags = XIW_RING_BUSY_POLL;
	for (i = 1; i < XIW_RING_MIN_POLLS; i++)
		CHECK(poll(fake) == 0);
	/*
	 * Polls before the flag was set do not count, so the work is not run.
	 */
	*flags = 0;
	CHECK(poll(fake) == 0);
	*flags = XIW_RING_BUSY_POLL;
	for (i = 1; i < XIW_RING_MIN_POLLS; i++)
		CHECK(poll(fake) == 0);
	CHECK(!num_helped(fake));
	/* A poll that finds an entry does not run work. */
	fake_complete(fake, &cqe);
	CHECK(xiw_poll_cq(ibcq(fake), 1, &wc) == 1);
	CHECK(!num_helped(fake));
	CHECK(poll(fake) == 0);
	CHECK(num_helped(fake) == 1);
	for (i = 0; i < XIW_RING_MIN_POLLS; i++)
		CHECK(poll(fake) == 0);
	CHECK(num_helped(fake) == 1);
	*flags = 0;
	CHECK(poll(fake) == 0);
}

static int poll_plain(struct fake *fake)
{
	struct ibv_wc wc;

	return xiw_poll_cq(ibcq(fake), 1, &wc);
}

static int poll_extended(struct fake *fake)
{
	struct ibv_poll_cq_attr attr = {};

	return ibv_start_poll(&fake->cq.vcq.cq_ex, &attr) != ENOENT;
}

void test_help(void)
{
	struct fake fake;

	fake_init(&fake, 4, 4, 0);
	help_case(&fake, poll_plain);
	help_case(&fake, poll_extended);
	/* Before it sleeps, the process runs pending work. */
	CHECK(!xiw_req_notify_cq(ibcq(&fake), 0));
	CHECK(!num_helped(&fake));
	fake.cq.ring.ctrl->flags = XIW_RING_BUSY_POLL;
	CHECK(!xiw_req_notify_cq(ibcq(&fake), 0));
	CHECK(num_helped(&fake) == 1);

	/* An error of the work is not an error of the poll. */
	close(fake.db_kernel);
	errno = 0;
	CHECK(!xiw_req_notify_cq(ibcq(&fake), 0));
	CHECK(errno == 0);
	fake.db_kernel = -1;
	fake_destroy(&fake);
}

/* Bit i of @pattern: entry i is of the QP that goes away. */
static void purge_case(unsigned int pattern, int entries, uint32_t start)
{
	struct ibv_wc wc[8];
	struct fake fake;
	int kept = 0;
	int i;
	int n;

	fake_init(&fake, 8, 8, start);
	for (i = 0; i < entries; i++) {
		struct xiw_cqe cqe = {
			.wr_id = i,
			.qp_id = pattern & (1 << i) ? FAKE_QPN : 1,
			.byte_len = i * 3,
		};

		fake_complete(&fake, &cqe);
	}
	xiw_cq_purge(&fake.cq, &fake.qp);
	CHECK(fake.cq.ring.ctrl->prod == start + entries);

	n = xiw_poll_cq(ibcq(&fake), 8, wc);
	for (i = 0; i < entries; i++) {
		if (pattern & (1 << i))
			continue;
		CHECK(kept < n && wc[kept].wr_id == (uint64_t)i &&
		      wc[kept].byte_len == (uint32_t)i * 3 &&
		      wc[kept].qp_num == 1);
		kept++;
	}
	CHECK(n == kept);
	CHECK(fake.cq.ring.ctrl->cons == fake.cq.ring.ctrl->prod);
	fake_destroy(&fake);
}

/* The same between start_poll and end_poll, @taken entries having been seen. */
static void purge_between(unsigned int pattern, int taken)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *cq_ex;
	struct fake fake;
	uint32_t u;
	int i;

	fake_init(&fake, 8, 8, 0xfffffffc);
	/* xiw_cq_purge() takes the lock that start_poll has taken: elide it. */
	fake.cq.lock.elide = true;
	cq_ex = &fake.cq.vcq.cq_ex;
	for (i = 0; i < 8; i++)
		fake_complete(&fake, &(struct xiw_cqe){
			.wr_id = i,
			.qp_id = pattern & (1 << i) ? FAKE_QPN : 1,
			.byte_len = i * 3,
		});
	CHECK(!ibv_start_poll(cq_ex, &attr));
	for (i = 1; i < taken; i++)
		CHECK(!ibv_next_poll(cq_ex));
	xiw_cq_purge(&fake.cq, &fake.qp);
	xiw_cq_purge(&fake.cq, &fake.qp);
	/* The kernel may use the entries that were released. */
	for (u = fake.cq.ring.ctrl->prod; u != fake.cq.ring.ctrl->cons + 8; u++)
		memset(xiw_ring_slot(&fake.cq.ring, u), 0xff,
		       sizeof(struct xiw_cqe));
	CHECK(ibv_wc_read_byte_len(cq_ex) == (uint32_t)(taken - 1) * 3);
	for (i = taken; i < 8; i++) {
		if (pattern & (1 << i))
			continue;
		if (i & 1) {
			ibv_end_poll(cq_ex);
			CHECK(!ibv_start_poll(cq_ex, &attr));
		} else {
			CHECK(!ibv_next_poll(cq_ex));
		}
		CHECK(cq_ex->wr_id == (uint64_t)i);
		CHECK(ibv_wc_read_byte_len(cq_ex) == (uint32_t)i * 3);
	}
	CHECK(ibv_next_poll(cq_ex) == ENOENT);
	ibv_end_poll(cq_ex);
	CHECK(fake.cq.ring.ctrl->cons == fake.cq.ring.ctrl->prod);
	fake_destroy(&fake);
}

void test_purge(void)
{
	unsigned int pattern;

	/* All patterns, in a full ring with indices that wrap in the middle. */
	for (pattern = 0; pattern < 256; pattern++) {
		purge_case(pattern, 8, 0xfffffffc);
		purge_between(pattern, 1);
		purge_between(pattern, 3);
		purge_between(pattern, 8);
	}
	purge_case(0, 0, 0xffffffff);
	purge_case(5, 3, 6);
}

/* Completes the send before index @done, as the kernel would. */
static void complete_send(struct fake *fake, uint32_t done)
{
	const struct xiw_cqe cqe = {
		.wr_id = done, .qp_id = FAKE_QPN, .sq_done = done,
	};

	fake->qp.sq.ring.ctrl->cons = done;
	fake_complete(fake, &cqe);
}

static void complete_recv(struct fake *fake)
{
	const struct xiw_cqe cqe = {
		.qp_id = FAKE_QPN, .opcode = XIW_WC_RECV,
	};

	fake->qp.rq.ring.ctrl->cons++;
	fake_complete(fake, &cqe);
}

void test_polled_sends(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_poll_cq_attr attr = {};
	const uint32_t start = 0xfffffffe;
	struct ibv_cq_ex *cq_ex;
	struct ibv_wc wc[4];
	struct fake fake;
	uint32_t i;

	fake_init(&fake, 4, 4, start);
	fake_count(&fake, NULL);
	cq_ex = &fake.cq.vcq.cq_ex;
	for (i = 0; i < 4; i++)
		CHECK(!fake_post(&fake, &wr));
	CHECK(fake_post(&fake, &wr) == ENOMEM);
	/* Two sends are complete, but were not polled: no slot is free. */
	complete_send(&fake, start + 1);
	complete_send(&fake, start + 2);
	CHECK(fake_post(&fake, &wr) == ENOMEM);
	CHECK(xiw_poll_cq(ibcq(&fake), 1, wc) == 1);
	CHECK(!fake_post(&fake, &wr));
	CHECK(fake_post(&fake, &wr) == ENOMEM);
	CHECK(xiw_poll_cq(ibcq(&fake), 4, wc) == 1);
	CHECK(!fake_post(&fake, &wr));
	CHECK(fake_post(&fake, &wr) == ENOMEM);
	/* A completion for three sends frees three slots. */
	complete_send(&fake, start + 5);
	CHECK(xiw_poll_cq(ibcq(&fake), 4, wc) == 1);
	for (i = 0; i < 3; i++)
		CHECK(!fake_post(&fake, &wr));
	CHECK(fake_post(&fake, &wr) == ENOMEM);

	/* A completion that was read frees its slots before end_poll. */
	complete_send(&fake, start + 6);
	complete_send(&fake, start + 7);
	CHECK(fake_post(&fake, &wr) == ENOMEM);
	CHECK(!ibv_start_poll(cq_ex, &attr));
	CHECK(!fake_post(&fake, &wr));
	CHECK(fake_post(&fake, &wr) == ENOMEM);
	CHECK(!ibv_next_poll(cq_ex));
	CHECK(!fake_post(&fake, &wr));
	CHECK(ibv_next_poll(cq_ex) == ENOENT);
	ibv_end_poll(cq_ex);
	CHECK(fake_post(&fake, &wr) == ENOMEM);
	fake_destroy(&fake);
}

void test_polled_recvs(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_recv_wr wr = {};
	struct ibv_recv_wr *bad_wr;
	struct ibv_wc wc[4];
	struct fake fake;
	int i;

	fake_init(&fake, 4, 4, 0xffffffff);
	fake_count(&fake, NULL);
	for (i = 0; i < 4; i++)
		CHECK(!xiw_post_recv(ibqp(&fake), &wr, &bad_wr));
	for (i = 0; i < 3; i++)
		complete_recv(&fake);
	CHECK(xiw_post_recv(ibqp(&fake), &wr, &bad_wr) == ENOMEM);
	CHECK(xiw_poll_cq(ibcq(&fake), 2, wc) == 2);
	for (i = 0; i < 2; i++)
		CHECK(!xiw_post_recv(ibqp(&fake), &wr, &bad_wr));
	CHECK(xiw_post_recv(ibqp(&fake), &wr, &bad_wr) == ENOMEM);
	CHECK(!ibv_start_poll(&fake.cq.vcq.cq_ex, &attr));
	CHECK(!xiw_post_recv(ibqp(&fake), &wr, &bad_wr));
	CHECK(xiw_post_recv(ibqp(&fake), &wr, &bad_wr) == ENOMEM);
	ibv_end_poll(&fake.cq.vcq.cq_ex);
	CHECK(xiw_post_recv(ibqp(&fake), &wr, &bad_wr) == ENOMEM);
	fake_destroy(&fake);
}

/* One poll of completions of several queue pairs, and of none. */
void test_polled_batch(void)
{
	static const struct {
		uint32_t qpn;
		uint8_t opcode;
		uint32_t done;
	} completions[] = {
		{ FAKE_QPN, IB_UVERBS_WC_SEND, 1 },
		{ FAKE_QPN, XIW_WC_RECV, 0 },
		{ FAKE_QPN, IB_UVERBS_WC_RDMA_READ, 4 },
		{ FAKE_QPN, XIW_WC_RECV, 0 },
		{ 0, XIW_WC_RECV, 0 },
		{ 7, XIW_WC_RECV_WITH_IMM, 0 },
		{ 7, XIW_WC_RECV, 0 },
		{ 7, IB_UVERBS_WC_SEND, 2 },
		{ FAKE_QPN, XIW_WC_RECV, 0 },
	};
	const int count = sizeof(completions) / sizeof(*completions);
	struct xiw_qp other = {};
	struct xiw_srq srq;
	struct ibv_wc wc[16];
	struct fake fake;
	int i;

	fake_init(&fake, 16, 16, 0);
	fake_srq_init(&srq, &fake, 16);
	fake_count(&fake, NULL);
	other.srq = &srq.rq;
	other.link[0].qp = &other;
	other.link[0].qpn = 7;
	xiw_qp_table_add(&fake.cq.qps, &other.link[0]);
	for (i = 0; i < count; i++)
		fake_complete(&fake, &(struct xiw_cqe){
			.wr_id = i, .qp_id = completions[i].qpn,
			.opcode = completions[i].opcode,
			.sq_done = completions[i].done,
		});
	CHECK(xiw_poll_cq(ibcq(&fake), 16, wc) == count);
	for (i = 0; i < count; i++)
		CHECK(wc[i].wr_id == (uint64_t)i);
	CHECK(fake.cq.ring.ctrl->cons == (uint32_t)count);
	CHECK(fake.qp.sq.polled == 4 && fake.qp.rq.polled == 3);
	CHECK(other.sq.polled == 2 && srq.rq.polled == 2);
	CHECK(other.rq.polled == 0);
	fake_srq_destroy(&srq);
	fake_destroy(&fake);
}

/* Entries in the ring may be forged. */
void test_polled_stranger(void)
{
	static const uint32_t numbers[] = {
		0, 1, FAKE_QPN + 1, FAKE_QPN | 1 << 24, 0xffffffff,
	};
	struct ibv_poll_cq_attr attr = {};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc[4];
	struct xiw_cqe cqe = {};
	struct fake fake;
	size_t i;

	fake_init(&fake, 4, 4, 0);
	fake_count(&fake, NULL);
	for (i = 0; i < 4; i++)
		CHECK(!fake_post(&fake, &wr));
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		/* All fields but the QP number are wrong. */
		memset(&cqe, 0x41, sizeof(cqe));
		cqe.qp_id = numbers[i];
		cqe.opcode = i & 1 ? XIW_WC_RECV : IB_UVERBS_WC_SEND;
		fake_complete(&fake, &cqe);
		CHECK(xiw_poll_cq(ibcq(&fake), 4, wc) == 1);
		fake_complete(&fake, &cqe);
		CHECK(!ibv_start_poll(&fake.cq.vcq.cq_ex, &attr));
		ibv_end_poll(&fake.cq.vcq.cq_ex);
		CHECK(fake.qp.sq.polled == 0 && fake.qp.rq.polled == 0);
	}
	/* A queue pair that was removed from the table. */
	xiw_qp_table_remove(&fake.cq.qps, &fake.qp.link[0]);
	complete_send(&fake, 1);
	CHECK(xiw_poll_cq(ibcq(&fake), 4, wc) == 1);
	CHECK(fake.qp.sq.polled == 0);
	fake_destroy(&fake);
}

void test_polled_purge(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_recv_wr wr = {};
	struct ibv_recv_wr *bad_wr;
	struct xiw_srq srq;
	struct fake fake;
	int i;

	fake_init(&fake, 8, 8, 0);
	fake_srq_init(&srq, &fake, 8);
	fake_count(&fake, &srq);
	fake.cq.lock.elide = true;
	for (i = 0; i < 8; i++)
		CHECK(!xiw_post_srq_recv(&srq.srq, &wr, &bad_wr));
	for (i = 0; i < 3; i++)
		complete_recv(&fake);
	complete_send(&fake, 1);
	/* A receive without a completion: the kernel counts it in "dropped". */
	srq.rq.ring.ctrl->dropped = 1;
	CHECK(!xiw_post_srq_recv(&srq.srq, &wr, &bad_wr));
	CHECK(xiw_post_srq_recv(&srq.srq, &wr, &bad_wr) == ENOMEM);
	/* The slot of the current completion is released once. */
	CHECK(!ibv_start_poll(&fake.cq.vcq.cq_ex, &attr));
	xiw_cq_purge(&fake.cq, &fake.qp);
	xiw_cq_purge(&fake.cq, &fake.qp);
	ibv_end_poll(&fake.cq.vcq.cq_ex);
	for (i = 0; i < 3; i++)
		CHECK(!xiw_post_srq_recv(&srq.srq, &wr, &bad_wr));
	CHECK(xiw_post_srq_recv(&srq.srq, &wr, &bad_wr) == ENOMEM);
	fake_srq_destroy(&srq);
	fake_destroy(&fake);
}
