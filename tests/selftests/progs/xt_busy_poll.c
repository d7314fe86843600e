// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The kernel posts work of its streams for a process that busy-polls. If the
 * process runs it, does something else, or sleeps: the work is done.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "xt.h"

#define LEN		(1024 * 1024UL)
#define ROUNDS		20
/* Polls, more than enough to claim the work and to run it. */
#define SPINS		2000
/* Pause between polls, longer than work waits to be claimed. */
#define POLL_NS		20000

struct bulk {
	struct xt_pair p;
	struct xt_buf from;
	struct xt_buf to;
	atomic_bool written;
};

static struct bulk bulk(void)
{
	struct xt_opts o = XT_OPTS;
	struct bulk b = {};

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

/* A Write, and a Read behind it, which completes after the Write was placed. */
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

/* Polls too seldom to claim work. */
static int poll_later(struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct timespec from;
	struct timespec now;

	XT_OK(clock_gettime(CLOCK_MONOTONIC, &from));
	do {
		XT_OK(clock_gettime(CLOCK_MONOTONIC, &now));
	} while ((now.tv_sec - from.tv_sec) * 1000000000 +
		 now.tv_nsec - from.tv_nsec < POLL_NS);
	return ibv_poll_cq(cq, 1, wc);
}

/* Sleeps until the completion. */
static void write_round(struct bulk *b, int i)
{
	write_and_read(b, i);
	xt_wc_ok(b->p.b.scq, 1);
	XT_SAME(b->to.p, LEN, i);
}

/* A Send of bulk data, for which a receive is posted. */
static void send_round(struct bulk *b, int i)
{
	struct ibv_sge sge = xt_sge(&b->from, 0, LEN);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, i, &sge, 1);

	xt_fill(b->from.p, LEN, i);
	xt_send(&b->p.b, &wr);
	xt_wc_ok(b->p.a.rcq, i);
	XT_SAME(b->to.p, LEN, i);
	xt_wc_ok(b->p.b.scq, i);
}

static void post_receive(struct bulk *b, int i)
{
	struct ibv_sge sge = xt_sge(&b->to, 0, LEN);

	xt_recv(&b->p.a, i, &sge, 1);
}

static void *write_rounds(void *arg)
{
	struct bulk *b = arg;
	int i;

	for (i = 0; i < ROUNDS; i++)
		write_round(b, i);
	atomic_store(&b->written, true);
	return NULL;
}

static void test_works(void)
{
	struct bulk b = bulk();
	pthread_t thread;
	struct ibv_wc wc;

	XT_OK(pthread_create(&thread, NULL, write_rounds, &b));
	while (!atomic_load(&b.written))
		XT_EQ(ibv_poll_cq(b.p.a.rcq, 1, &wc), 0);
	XT_OK(pthread_join(thread, NULL));
	end(&b);
}

static void test_leaves(void)
{
	struct bulk b = bulk();
	int i;

	for (i = 0; i < ROUNDS; i++) {
		spin(b.p.a.rcq);
		write_round(&b, i);
	}
	end(&b);
}

static void test_sleeps(void)
{
	struct bulk b = bulk();
	int i;

	for (i = 0; i < ROUNDS; i++) {
		post_receive(&b, i);
		spin(b.p.a.rcq);
		send_round(&b, i);
	}
	end(&b);
}

static void test_seldom(void)
{
	struct bulk b = bulk();
	struct ibv_wc wc;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		write_and_read(&b, i);
		while (!poll_later(b.p.b.scq, &wc))
			XT_EQ(poll_later(b.p.a.rcq, &wc), 0);
		XT_EQ(wc.status, IBV_WC_SUCCESS);
		XT_SAME(b.to.p, LEN, i);
	}
	end(&b);
}

/* Looks for completions, and then sleeps until there is one. */
static void test_events(void)
{
	struct bulk b = bulk();
	int i;

	for (i = 0; i < ROUNDS; i++) {
		XT_OK(ibv_req_notify_cq(b.p.a.rcq, 0));
		write_round(&b, i);
	}
	end(&b);
}

/* Spins on one of its two queues, and sleeps on the other. */
static void test_elsewhere(void)
{
	struct bulk b = bulk();
	int i;

	for (i = 0; i < ROUNDS; i++) {
		post_receive(&b, i);
		spin(b.p.a.scq);
		spin(b.p.b.rcq);
		send_round(&b, i);
	}
	end(&b);
}

/* The queues are destroyed while work waits to be claimed. */
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

struct poller {
	struct ibv_cq *cq;
	atomic_bool stop;
};

static void *poll_on(void *arg)
{
	struct poller *poller = arg;
	struct ibv_wc wc;

	while (!atomic_load(&poller->stop))
		ibv_poll_cq(poller->cq, 1, &wc);
	return NULL;
}

/* Threads run work while the queue pairs of their queue are destroyed. */
static void test_crowd(void)
{
	struct poller poller = {};
	pthread_t thread[2];
	struct ibv_wc wc;
	struct bulk b;
	long n;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		b = bulk();
		poller.cq = b.p.a.rcq;
		atomic_store(&poller.stop, false);
		XT_OK(pthread_create(&thread[0], NULL, poll_on, &poller));
		XT_OK(pthread_create(&thread[1], NULL, poll_on, &poller));
		write_and_read(&b, i);
		for (n = random() % 300; n; n--)
			ibv_poll_cq(b.p.b.scq, 1, &wc);
		rdma_destroy_qp((i % 2 ? &b.p.a : &b.p.b)->id);
		rdma_destroy_qp((i % 2 ? &b.p.b : &b.p.a)->id);
		atomic_store(&poller.stop, true);
		XT_OK(pthread_join(thread[0], NULL));
		XT_OK(pthread_join(thread[1], NULL));
	}
}

static const struct xt_case cases[] = {
	{ "works", "a busy-polling process runs the work", test_works },
	{ "leaves", "a process that stops polling loses no work",
	  test_leaves },
	{ "sleeps", "a process that sleeps after polling loses no work",
	  test_sleeps },
	{ "seldom", "a process that polls seldom loses no work", test_seldom },
	{ "events", "a process that sleeps loses no work", test_events },
	{ "elsewhere", "a process that sleeps at another queue loses no work",
	  test_elsewhere },
	{ "crowd", "threads run work while queue pairs are destroyed",
	  test_crowd },
	{ "goes", "queues can be destroyed while work is posted", test_goes },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
