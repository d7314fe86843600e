// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A process that polls in vain is asked to do the work of its streams. Whether
 * it does, or turns to something else, or goes to sleep: the work is done.
 */
#include "xt.h"

#define LEN		(1024 * 1024UL)
#define ROUNDS		20
/* More than it takes to be asked, and to do it. */
#define SPINS		200

struct bulk {
	struct xt_pair p;
	struct xt_buf from;
	struct xt_buf to;
};

static struct bulk bulk(void)
{
	struct xt_opts o = XT_OPTS;
	struct bulk b;

	xt_pair(&b.p, &o, &o);
	b.from = xt_buf(&b.p.b, LEN, XT_LOCAL);
	b.to = xt_buf(&b.p.a, LEN, XT_REMOTE);
	return b;
}

static void end(struct bulk *b)
{
	XT_GUARDS(&b->to);
	xt_buf_free(&b->from);
	xt_buf_free(&b->to);
	xt_hang_up(&b->p, &b->p.b);
}

static void spin(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < SPINS; i++)
		XT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
}

/* The answer to the Read comes when all of the Write was taken. */
static void write_and_read(struct bulk *b, int seed)
{
	struct ibv_sge sge = xt_sge(&b->from, 0, LEN);
	struct ibv_send_wr wr;

	xt_fill(b->from.p, LEN, seed);
	wr = xt_wr_to(IBV_WR_RDMA_WRITE, 0, &sge, 1, &b->to, 0);
	wr.send_flags = 0;
	xt_send(&b->p.b, &wr);
	sge.length = 1;
	wr = xt_wr_to(IBV_WR_RDMA_READ, 1, &sge, 1, &b->to, 0);
	xt_send(&b->p.b, &wr);
}

static void test_works(void)
{
	struct bulk b = bulk();
	struct ibv_wc wc;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		spin(b.p.a.rcq);
		write_and_read(&b, i);
		while (!ibv_poll_cq(b.p.b.scq, 1, &wc))
			XT_EQ(ibv_poll_cq(b.p.a.rcq, 1, &wc), 0);
		XT_EQ(wc.status, IBV_WC_SUCCESS);
		XT_SAME(b.to.p, LEN, i);
	}
	end(&b);
}

static void test_leaves(void)
{
	struct bulk b = bulk();
	int i;

	for (i = 0; i < ROUNDS; i++) {
		spin(b.p.a.rcq);
		write_and_read(&b, i);
		xt_wc_ok(b.p.b.scq, 1);
		XT_SAME(b.to.p, LEN, i);
	}
	end(&b);
}

static void test_sleeps(void)
{
	struct bulk b = bulk();
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		sge = xt_sge(&b.to, 0, LEN);
		xt_recv(&b.p.a, i, &sge, 1);
		spin(b.p.a.rcq);
		xt_fill(b.from.p, LEN, i);
		sge = xt_sge(&b.from, 0, LEN);
		wr = xt_wr(IBV_WR_SEND, i, &sge, 1);
		xt_send(&b.p.b, &wr);
		xt_wc_ok(b.p.a.rcq, i);
		XT_SAME(b.to.p, LEN, i);
		xt_wc_ok(b.p.b.scq, i);
	}
	end(&b);
}

/* The queues go while work is on offer. */
static void test_goes(void)
{
	struct bulk b;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		b = bulk();
		spin(b.p.a.rcq);
		spin(b.p.b.scq);
		write_and_read(&b, i);
		rdma_destroy_qp((i % 2 ? &b.p.a : &b.p.b)->id);
		rdma_destroy_qp((i % 2 ? &b.p.b : &b.p.a)->id);
	}
}

static const struct xt_case cases[] = {
	{ "works", "who spins does what it waits for", test_works },
	{ "leaves", "work is done for who has spun and looks no more",
	  test_leaves },
	{ "sleeps", "work is done for who has spun and sleeps", test_sleeps },
	{ "goes", "queues can go while work is on offer", test_goes },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
