// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Loads that make a softirq send much data: a peer with large Reads, a peer
 * with many small Reads, and a process that fills its whole send queue without
 * a doorbell, so that the next packet of the peer finds it.
 */
#include "rings.h"

#include <string.h>

#define MIB		(1024 * 1024UL)
#define DEPTH		8
#define ROUNDS		4
#define LITTLE		16
#define MANY		2048
#define RING		(32 * 1024)
#define LAST		77

static struct xt_opts opts(unsigned int send_wr)
{
	struct xt_opts o = XT_OPTS;

	o.send_wr = send_wr;
	o.cqe = send_wr + 64;
	o.ird = 64;
	o.ord = 64;
	return o;
}

/* End b reads @len bytes of a @n times, with the largest number outstanding. */
static void read_all(unsigned int n, size_t len)
{
	struct xt_opts o = opts(n);
	struct ibv_send_wr wr;
	struct xt_pair p;
	struct xt_buf src;
	struct xt_buf dst;
	struct ibv_sge sge;
	unsigned int i;

	xt_pair(&p, &o, &o);
	src = xt_buf(&p.a, n * len, XT_REMOTE);
	dst = xt_buf(&p.b, n * len, XT_LOCAL);
	xt_fill(src.p, n * len, n);
	for (i = 0; i < n; i++) {
		sge = xt_sge(&dst, i * len, len);
		wr = xt_wr_to(IBV_WR_RDMA_READ, i, &sge, 1, &src, i * len);
		xt_send(&p.b, &wr);
	}
	for (i = 0; i < n; i++)
		xt_wc_ok(p.b.scq, i);
	XT_SAME(dst.p, n * len, n);
	XT_GUARDS(&dst);
	xt_buf_free(&src);
	xt_buf_free(&dst);
	xt_hang_up(&p, &p.b);
}

static void test_reads(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++)
		read_all(DEPTH, MIB);
}

static void test_little(void)
{
	read_all(MANY, LITTLE);
}

/*
 * Fills the send queue with Writes without payload; only the last is signaled.
 */
static void fill(struct xt_sq *sq, const struct xt_buf *to)
{
	struct xiw_sqe *sqe;
	__u32 i;

	for (i = 0; i < sq->num; i++) {
		sqe = xt_sqe(sq, sq->ctrl->prod + i);
		memset(sqe, 0, sizeof(*sqe));
		sqe->wr_id = LAST;
		sqe->opcode = IBV_WR_RDMA_WRITE;
		sqe->flags = i == sq->num - 1 ? XIW_SQE_SIGNALED : 0;
		sqe->rkey = to->mr->rkey;
		sqe->raddr = (uintptr_t)to->p;
	}
}

static void test_ring(void)
{
	struct xt_opts oa = XT_OPTS;
	struct xt_opts ob = opts(RING);
	struct xt_maps maps = {};
	struct ibv_send_wr wr;
	struct xt_buf mine;
	struct xt_buf his;
	struct ibv_sge sge;
	struct xt_pair p;
	struct xt_sq sq;

	xt_pair(&p, &oa, &ob);
	his = xt_buf(&p.a, XT_PAGE, XT_REMOTE);
	mine = xt_buf(&p.b, XT_PAGE, XT_REMOTE);
	xt_recvs(&p.a, 1, 2);
	xt_find_maps(&maps, &p.b);
	sq = xt_find_sq(&maps, &p.b);
	XT_EQ(sq.num, RING);
	fill(&sq, &his);
	__atomic_store_n(&sq.ctrl->prod, sq.ctrl->prod + sq.num,
			 __ATOMIC_RELEASE);
	sge = xt_sge(&his, 0, 8);
	wr = xt_wr_to(IBV_WR_RDMA_READ, 1, &sge, 1, &mine, 0);
	xt_send(&p.a, &wr);
	xt_wc_ok(p.a.scq, 1);
	xt_wc_ok(p.b.scq, LAST);
	xt_buf_free(&mine);
	xt_buf_free(&his);
	xt_hang_up(&p, &p.b);
}

static const struct xt_case cases[] = {
	{ "reads", "several large Reads at once", test_reads },
	{ "little", "many little Reads", test_little },
	{ "ring", "a whole ring that the peer's Read finds", test_ring },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
