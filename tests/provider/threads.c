// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests with several threads. A lost wake-up shows as a hang, which the
 * watchdog of the main program ends.
 */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake.h"

enum {
	CONV_TOTAL	= 200000,
	CONV_RING	= 64,
	CONV_BURST	= 9,
	PAIR_EACH	= 4000,
	PAIR_RING	= 8192,
};

/**
 * struct conv - an application and a kernel thread that both fall asleep
 * @fake: the QP and CQ between them
 * @event: eventfd of the CQ
 * @sleeps: times the kernel thread waited for a doorbell
 * @wrong: entries that were not the expected ones
 */
struct conv {
	struct fake fake;
	int event;
	unsigned int sleeps;
	unsigned int wrong;
};

/* Waits until there are entries; returns the index behind the last one. */
static uint32_t kernel_wait(struct conv *conv, uint32_t cons)
{
	struct xiw_ring_ctrl *ctrl = conv->fake.qp.sq.ring.ctrl;
	struct xiw_call db;
	uint32_t prod;

	for (;;) {
		prod = __atomic_load_n(&ctrl->prod, __ATOMIC_ACQUIRE);
		if (prod != cons)
			return prod;

		__atomic_store_n(&ctrl->flags, XIW_RING_NEED_DB,
				 __ATOMIC_RELAXED);
		/* Pairs with the barrier in xiw_ring_doorbell(). */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		prod = __atomic_load_n(&ctrl->prod, __ATOMIC_ACQUIRE);
		if (prod == cons) {
			conv->sleeps++;
			if (recv(conv->fake.db_kernel, &db, sizeof(db), 0) !=
			    sizeof(db))
				conv->wrong++;
		}
		__atomic_store_n(&ctrl->flags, 0, __ATOMIC_RELAXED);
	}
}

static void kernel_notify(struct conv *conv)
{
	struct xiw_ring_ctrl *ctrl = conv->fake.cq.ring.ctrl;

	/* Pairs with the barrier in xiw_ring_arm(). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&ctrl->arm, __ATOMIC_RELAXED) &&
	    __atomic_exchange_n(&ctrl->arm, 0, __ATOMIC_SEQ_CST))
		eventfd_write(conv->event, 1);
}

/* Takes entries in order and completes each of them. */
static void *kernel_thread(void *arg)
{
	struct conv *conv = arg;
	struct xiw_ring *sq = &conv->fake.qp.sq.ring;
	uint32_t cons = sq->ctrl->cons;
	uint64_t expected = 0;
	struct xiw_cqe cqe;
	struct xiw_sqe sqe;
	uint32_t prod;

	while (expected < CONV_TOTAL) {
		prod = kernel_wait(conv, cons);
		for (; cons != prod; cons++) {
			sqe = *(struct xiw_sqe *)xiw_ring_slot(sq, cons);
			if (sqe.wr_id != expected || sqe.raddr != ~expected)
				conv->wrong++;
			expected++;
			/* Pairs with the load-acquire in xiw_ring_full(). */
			__atomic_store_n(&sq->ctrl->cons, cons + 1,
					 __ATOMIC_RELEASE);
			cqe = (struct xiw_cqe){
				.wr_id = sqe.wr_id,
				.timestamp = ~sqe.wr_id,
				.byte_len = (uint32_t)sqe.wr_id,
			};
			fake_complete(&conv->fake, &cqe);
			kernel_notify(conv);
		}
	}
	return NULL;
}

static void conv_post(struct conv *conv, uint64_t first, int n)
{
	struct ibv_send_wr wr[CONV_BURST] = {};
	struct ibv_send_wr *bad_wr;
	int i;

	for (i = 0; i < n; i++) {
		wr[i].wr_id = first + i;
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].wr.rdma.remote_addr = ~(first + i);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	if (xiw_post_send(&conv->fake.qp.vqp.qp, wr, &bad_wr))
		conv->wrong++;
}

static int conv_poll(struct conv *conv, uint64_t expected)
{
	struct ibv_wc wc[5];
	int n;
	int i;

	n = xiw_poll_cq(&conv->fake.cq.vcq.cq, 5, wc);
	for (i = 0; i < n; i++)
		if (wc[i].wr_id != expected + i ||
		    wc[i].byte_len != (uint32_t)wc[i].wr_id)
			conv->wrong++;
	return n;
}

/* Returns completions; sleeps until there are some. */
static int conv_wait(struct conv *conv, uint64_t expected,
		     unsigned int *events)
{
	eventfd_t count;
	int n;

	for (;;) {
		n = conv_poll(conv, expected);
		if (n)
			return n;
		xiw_req_notify_cq(&conv->fake.cq.vcq.cq, 0);
		n = conv_poll(conv, expected);
		if (n)
			return n;
		eventfd_read(conv->event, &count);
		(*events)++;
	}
}

void test_conversation(void)
{
	unsigned int seed = 1;
	unsigned int events = 0;
	uint64_t posted = 0;
	uint64_t polled = 0;
	struct conv conv = {};
	pthread_t kernel;
	int n;

	/* Indices wrap after 1000 entries. */
	fake_init(&conv.fake, CONV_RING, CONV_RING, -1000);
	conv.event = eventfd(0, 0);
	if (pthread_create(&kernel, NULL, kernel_thread, &conv)) {
		CHECK(!"pthread_create");
		return;
	}

	while (polled < CONV_TOTAL) {
		n = 1 + rand_r(&seed) % CONV_BURST;
		if (posted + n > CONV_TOTAL)
			n = CONV_TOTAL - posted;
		if (n && posted + n - polled <= CONV_RING) {
			conv_post(&conv, posted, n);
			posted += n;
			/* Sometimes wait until the ring is empty. */
			if (rand_r(&seed) % 8)
				continue;
		}
		polled += conv_wait(&conv, polled, &events);
	}
	pthread_join(kernel, NULL);

	CHECK(conv.wrong == 0);
	CHECK(posted == CONV_TOTAL);
	CHECK(polled == CONV_TOTAL);
	/* Both ways of sleeping happened, but not at every entry. */
	CHECK(conv.sleeps > 0 && conv.sleeps < CONV_TOTAL);
	CHECK(events > 0 && events < CONV_TOTAL);
	close(conv.event);
	fake_destroy(&conv.fake);
}

/**
 * struct pair - one of two threads on the same queue
 * @fake: the queue
 * @barrier: both begin together
 * @id: 0 or 1
 * @count: what it got
 * @last: last wr_id it got
 * @wrong: errors
 */
struct pair {
	struct fake *fake;
	pthread_barrier_t *barrier;
	uint64_t id;
	unsigned int count;
	uint64_t last;
	unsigned int wrong;
};

static void run_pair(struct fake *fake, struct pair *pair,
		     void *(*fn)(void *arg))
{
	pthread_barrier_t barrier;
	pthread_t thread[2];
	int i;

	pthread_barrier_init(&barrier, NULL, 2);
	for (i = 0; i < 2; i++) {
		pair[i] = (struct pair){
			.fake = fake,
			.barrier = &barrier,
			.id = i,
		};
		if (pthread_create(&thread[i], NULL, fn, &pair[i])) {
			CHECK(!"pthread_create");
			exit(1);
		}
	}
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&barrier);
}

static void *poster(void *arg)
{
	struct pair *me = arg;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr *bad_wr;
	uint64_t i;

	pthread_barrier_wait(me->barrier);
	for (i = 0; i < PAIR_EACH; i++) {
		wr.wr_id = me->id << 32 | i;
		if (xiw_post_send(&me->fake->qp.vqp.qp, &wr, &bad_wr))
			me->wrong++;
	}
	return NULL;
}

void test_two_posters(void)
{
	uint64_t next[2] = {};
	struct pair pair[2];
	struct fake fake;
	uint64_t wr_id;
	uint32_t i;

	fake_init(&fake, PAIR_RING, PAIR_RING, -5);
	run_pair(&fake, pair, poster);

	CHECK(!pair[0].wrong && !pair[1].wrong);
	CHECK(fake.qp.sq.ring.ctrl->prod == (uint32_t)-5 + 2 * PAIR_EACH);
	/* Each poster's requests are there, once and in order. */
	for (i = 0; i < 2 * PAIR_EACH; i++) {
		wr_id = fake_sqe(&fake, (uint32_t)-5 + i)->wr_id;
		if (wr_id >> 32 > 1 ||
		    (uint32_t)wr_id != next[wr_id >> 32]++) {
			CHECK(!"order");
			break;
		}
	}
	CHECK(next[0] == PAIR_EACH && next[1] == PAIR_EACH);
	fake_destroy(&fake);
}

static void *poller(void *arg)
{
	struct pair *me = arg;
	struct ibv_wc wc[3];
	int n;
	int i;

	pthread_barrier_wait(me->barrier);
	while ((n = xiw_poll_cq(&me->fake->cq.vcq.cq, 3, wc))) {
		for (i = 0; i < n; i++) {
			if (me->count && wc[i].wr_id <= me->last)
				me->wrong++;
			me->last = wc[i].wr_id;
			me->count++;
		}
	}
	return NULL;
}

void test_two_pollers(void)
{
	struct xiw_cqe cqe = {};
	struct pair pair[2];
	struct fake fake;

	fake_init(&fake, PAIR_RING, PAIR_RING, -5);
	for (cqe.wr_id = 0; cqe.wr_id < 2 * PAIR_EACH; cqe.wr_id++)
		fake_complete(&fake, &cqe);
	run_pair(&fake, pair, poller);

	CHECK(!pair[0].wrong && !pair[1].wrong);
	CHECK(pair[0].count + pair[1].count == 2 * PAIR_EACH);
	CHECK(fake.cq.ring.ctrl->cons == (uint32_t)-5 + 2 * PAIR_EACH);
	fake_destroy(&fake);
}
