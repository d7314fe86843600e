// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests of the provider's data path without a device. Output is TAP.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <ccan/array_size.h>

#include "fake.h"

enum {
	WATCHDOG_SECONDS = 120,
};

static int failures;

void fake_fail(const char *file, int line, const char *what)
{
	failures++;
	printf("# %s:%d: failed: %s\n", file, line, what);
}

/* If the application promises a single thread, no lock is taken. */
static void test_locks_elided(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr rwr = {};
	struct ibv_recv_wr *bad_rwr;
	struct ibv_wc wc;
	struct fake fake;

	fake_init(&fake, 4, 4, 0);
	fake.qp.sq.lock.elide = true;
	fake.qp.rq.lock.elide = true;
	fake.cq.lock.elide = true;
	fake.cq.arm_lock.elide = true;
	/* Would hang if the lock was taken. */
	pthread_spin_lock(&fake.qp.sq.lock.lock);
	pthread_spin_lock(&fake.qp.rq.lock.lock);
	pthread_spin_lock(&fake.cq.lock.lock);
	pthread_spin_lock(&fake.cq.arm_lock.lock);

	CHECK(!fake_post(&fake, &wr));
	CHECK(!xiw_post_recv(ibqp(&fake), &rwr, &bad_rwr));
	CHECK(xiw_poll_cq(ibcq(&fake), 1, &wc) == 0);
	CHECK(!xiw_req_notify_cq(ibcq(&fake), 0));
	xiw_cq_purge(&fake.cq, &fake.qp);
	CHECK(pthread_spin_trylock(&fake.qp.sq.lock.lock) == EBUSY);
	CHECK(pthread_spin_trylock(&fake.cq.lock.lock) == EBUSY);
	fake_destroy(&fake);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "send: send", test_send_payload },
	{ "send: write, read, atomic", test_send_rdma },
	{ "send: local invalidate, bind", test_send_keys },
	{ "send: inline data", test_send_inline },
	{ "send: invalid requests", test_send_refused },
	{ "send: lists", test_send_list },
	{ "send: full queue, wrapping indices", test_full_and_wrap },
	{ "queues without entries", test_no_queues },
	{ "doorbell only on demand, once per call", test_doorbell },
	{ "doorbell failure", test_doorbell_fails },
	{ "recv: fields, bounds, full queue", test_recv },
	{ "table of queue pairs", test_qp_table },
	{ "table of queue pairs: no memory", test_qp_table_no_memory },
	{ "poll: every field", test_poll_fields },
	{ "poll: busy-polling runs the kernel's work", test_help },
	{ "start_poll, next_poll, end_poll", test_start_poll },
	{ "arm bits", test_arm },
	{ "purge keeps the other completions in order", test_purge },
	{ "sends: free when polled", test_polled_sends },
	{ "receives: free when polled", test_polled_recvs },
	{ "purge frees the slots of a shared queue", test_polled_purge },
	{ "one poll of several queue pairs", test_polled_batch },
	{ "completions of no queue pair free nothing", test_polled_stranger },
	{ "ibv_wr: requests", test_wr_api },
	{ "ibv_wr: errors and abort", test_wr_errors },
	{ "bind of a type 1 window", test_bind_mw },
	{ "locks are elided", test_locks_elided },
	{ "two posting threads", test_two_posters },
	{ "two polling threads", test_two_pollers },
	{ "no wake-up is lost between two sleepers", test_conversation },
};

int main(void)
{
	const int count = ARRAY_SIZE(tests);
	int failed = 0;
	int i;

	/* SIGALRM ends a hang; a doorbell without a reader returns EPIPE. */
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(WATCHDOG_SECONDS);

	printf("TAP version 13\n1..%d\n", count);
	for (i = 0; i < count; i++) {
		failures = 0;
		tests[i].run();
		failed += failures != 0;
		printf("%sok %d - %s\n", failures ? "not " : "", i + 1,
		       tests[i].name);
	}
	return failed != 0;
}
