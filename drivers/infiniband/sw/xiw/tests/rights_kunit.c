// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rights: requests of the peer that have arrived, and wait for their turn, when
 * the owner of the stream withdraws the right to them.
 */
#include <kunit/test.h>

#include "stream/engine.h"
#include "world.h"

enum {
	/* More than the pipe and a batch hold, so that a request is left */
	RIGHTS_READS	= 3,
	RIGHTS_LEN	= MESSAGE,
	/* Terminate: remote protection error, access rights violation */
	RIGHTS_TERM	= 0x0102,
};

/*
 * The Initiator posts Reads and an Atomic, and reads nothing, so that requests
 * wait in the queue of the Responder.
 */
static struct world *rights_make_blocked(struct kunit *test)
{
	const struct how how = { .segments = 1, .rtr = XIW_RTR_WRITE };
	struct world *w = world_make(test, get_random_u64());
	struct side *side = &w->side[0];
	int i;

	w->side[0].poller = POLLER_NONE;
	w->side[1].poller = POLLER_NONE;
	world_start(w, &how);
	side_post_send(test, side);
	xiw_tx_kick(&side->s, true);
	KUNIT_EXPECT_TRUE(test, world_wait_quiet(w));
	KUNIT_EXPECT_TRUE(test, world_wait_received(w));
	for (i = 0; i < 2; i++) {
		w->side[i].may_fail = true;
		w->side[i].may_fault = true;
	}
	pipe_hold(&side->end, true);
	for (i = 0; i < RIGHTS_READS; i++)
		side_post_read(test, side, IB_WR_RDMA_READ, side->mem,
			       RIGHTS_LEN);
	side_post_swap(test, side);
	side_send_all(test, side);
	KUNIT_EXPECT_TRUE(test, side_wait_full(side));
	KUNIT_EXPECT_GE(test, w->side[1].s.ird_tail - w->side[1].s.ird_head, 2);
	return w;
}

/* Continues with other rights: a request is refused, and changes nothing. */
static void rights_withdraw(struct world *w, int access)
{
	struct side *side = &w->side[0];

	WRITE_ONCE(w->side[1].s.access, access);
	pipe_hold(&side->end, false);
	KUNIT_EXPECT_TRUE(w->test, world_wait_quiet(w));
	KUNIT_EXPECT_EQ(w->test, (int)w->side[1].s.fault,
			(int)XIW_SRC_BAD_RIGHTS);
	KUNIT_EXPECT_EQ(w->test, side->s.rx.term_code, RIGHTS_TERM);
	KUNIT_EXPECT_EQ(w->test, *w->side[1].word, side->model);
	world_end(w);
}

/* The Reads may go on, the Atomic is not executed. */
static void rights_atomic(struct kunit *test)
{
	struct world *w = rights_make_blocked(test);

	rights_withdraw(w, IB_ACCESS_REMOTE_READ);
}

/* The Read that is in progress is not continued. */
static void rights_read(struct kunit *test)
{
	struct world *w = rights_make_blocked(test);

	rights_withdraw(w, IB_ACCESS_REMOTE_WRITE);
}

static struct kunit_case rights_cases[] = {
	KUNIT_CASE(rights_atomic),
	KUNIT_CASE(rights_read),
	{}
};

static struct kunit_suite rights_suite = {
	.name = "xiw_rights",
	.test_cases = rights_cases,
};

kunit_test_suite(rights_suite);
