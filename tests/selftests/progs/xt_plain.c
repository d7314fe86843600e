// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Atomics and immediate data (RFC 7306) sent to a peer that knows neither: its
 * Terminate ends the connection, and the requester learns why and of which
 * request. The passive end is such a peer, the active end the device under
 * test.
 */
#include "xt.h"

#include <string.h>

#define ROOM		XT_PAGE
#define WORD		sizeof(__u64)
#define MARK		0x3c
#define BEFORE		1
#define BAD		2
#define AFTER		3
/*
 * Terminate code for an unexpected opcode, and siw's version with swapped
 * fields
 */
#define UNEXPECTED	0x0206
#define BY_SIW		0x2006

/* A connection; b reads, writes and computes in target, which belongs to a. */
struct lane {
	struct xt_pair p;
	struct xt_buf src;
	struct xt_buf target;
};

static void lane_up(struct lane *l)
{
	xt_pair(&l->p, NULL, NULL);
	l->src = xt_buf(&l->p.b, ROOM, XT_LOCAL);
	/* A plain peer's regions have no right to atomics. */
	l->target = xt_buf(&l->p.a, ROOM, XT_REMOTE);
	memset(l->src.p, 0, ROOM);
	memset(l->target.p, MARK, ROOM);
}

static void over(struct lane *l)
{
	xt_async(&l->p.b, IBV_EVENT_QP_FATAL);
	xt_expect(&l->p.b, RDMA_CM_EVENT_DISCONNECTED, NULL);
	XT_GUARDS(&l->src);
	XT_GUARDS(&l->target);
	xt_buf_free(&l->src);
	xt_buf_free(&l->target);
	xt_close(&l->p.b);
	xt_close(&l->p.a);
}

/*
 * The peer answers the Read, but not the Atomic: that completes with an error,
 * and its result buffer does not change. The Send behind it waits for the
 * Atomic because of its fence, and is flushed.
 */
static void atomic(enum ibv_wr_opcode op)
{
	struct ibv_sge before, result;
	struct ibv_send_wr wr[3];
	struct ibv_wc wc;
	struct lane l;

	lane_up(&l);
	before = xt_sge(&l.src, 0, WORD);
	result = xt_sge(&l.src, WORD, WORD);
	wr[0] = xt_wr_to(IBV_WR_RDMA_READ, BEFORE, &before, 1, &l.target, 0);
	wr[1] = xt_atomic(op, BAD, &result, &l.target, 0,
			  0x3c3c3c3c3c3c3c3c, 1);
	wr[2] = xt_wr(IBV_WR_SEND, AFTER, NULL, 0);
	wr[2].send_flags |= IBV_SEND_FENCE;
	wr[1].next = &wr[2];
	xt_send(&l.p.b, &wr[0]);
	xt_wc_ok(l.p.b.scq, BEFORE);
	xt_send(&l.p.b, &wr[1]);
	wc = xt_wc(l.p.b.scq, BAD, IBV_WC_REM_INV_REQ_ERR);
	XT_CHECK(wc.vendor_err == UNEXPECTED || wc.vendor_err == BY_SIW,
		 "Terminate code %#06x", wc.vendor_err);
	xt_wc(l.p.b.scq, AFTER, IBV_WC_WR_FLUSH_ERR);
	XT_ALL(l.src.p, WORD, MARK);
	XT_ALL(l.src.p + WORD, ROOM - WORD, 0);
	XT_ALL(l.target.p, ROOM, MARK);
	over(&l);
}

static void test_add(void)
{
	atomic(IBV_WR_ATOMIC_FETCH_AND_ADD);
}

static void test_cas(void)
{
	atomic(IBV_WR_ATOMIC_CMP_AND_SWP);
}

/*
 * A Write has no answer, so the one with immediate completes with success when
 * it is sent, and its data is placed. An asynchronous event and the flushed
 * request behind it report that the peer has ended the connection. The peer's
 * receive is not used.
 */
static void test_imm(void)
{
	struct ibv_sge data, result;
	struct ibv_send_wr wr[2];
	struct lane l;

	lane_up(&l);
	xt_recvs(&l.p.a, 100, 1);
	data = xt_sge(&l.src, 0, WORD);
	result = xt_sge(&l.src, WORD, WORD);
	wr[0] = xt_wr_to(IBV_WR_RDMA_WRITE_WITH_IMM, BAD, &data, 1, &l.target,
			 0);
	wr[1] = xt_wr_to(IBV_WR_RDMA_READ, AFTER, &result, 1, &l.target, 0);
	wr[0].next = &wr[1];
	xt_send(&l.p.b, &wr[0]);
	xt_wc_ok(l.p.b.scq, BAD);
	xt_wc(l.p.b.scq, AFTER, IBV_WC_WR_FLUSH_ERR);
	xt_flushed(l.p.a.rcq, 100, 1);
	XT_ALL(l.src.p, ROOM, 0);
	XT_ALL(l.target.p, WORD, 0);
	XT_ALL(l.target.p + WORD, ROOM - WORD, MARK);
	over(&l);
}

static const struct xt_case cases[] = {
	{ "add", "a FetchAdd fails, as the peer does not know it", test_add },
	{ "cas", "so does a CmpSwap", test_cas },
	{ "imm", "immediate data ends the connection, with an event",
	  test_imm },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
