// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Turns: a message that is longer than XIW_TX_TURN is interrupted for those of
 * the other queue of its side.
 */
#include <kunit/test.h>

#include "stream/engine.h"
#include "world.h"

static struct world *turns_make(struct kunit *test, const struct how *how)
{
	struct world *w = world_make(test, get_random_u64());
	int n;

	w->side[0].poller = POLLER_NONE;
	w->side[1].poller = POLLER_NONE;
	world_start(w, how);
	for (n = 0; n < 2; n++) {
		get_random_bytes(part(&w->side[n], OF_LONG), LONG);
		side_post_send(test, &w->side[n]);
		xiw_tx_kick(&w->side[n].s, true);
	}
	KUNIT_EXPECT_TRUE(test, world_wait_quiet(w));
	KUNIT_EXPECT_TRUE(test, world_wait_received(w));
	return w;
}

static void turns_end(struct world *w)
{
	world_close(w);
	KUNIT_EXPECT_TRUE(w->test, world_is_well(w));
	world_end(w);
}

static void turns_compare(struct world *w, int from, u32 source, u32 target)
{
	KUNIT_EXPECT_EQ(w->test, 0,
			memcmp(part(&w->side[from], source),
			       part(&w->side[!from], target), LONG));
}

/* Was a Read complete before a Send that was posted while it was answered? */
static bool turns_send_behind_read(struct kunit *test, bool probe)
{
	const struct how how = {
		.segments = 1, .probe = probe, .rtr = XIW_RTR_WRITE,
	};
	struct world *w = turns_make(test, &how);
	struct side *side = &w->side[0];
	bool behind;

	pipe_hold(&side->end, true);
	side_post_long(test, side, IB_WR_RDMA_READ);
	side_send_all(test, side);
	KUNIT_EXPECT_TRUE(test, side_wait_full(side));
	side_post_send(test, side->peer);
	xiw_tx_kick(&side->peer->s, true);
	pipe_hold(&side->end, false);
	KUNIT_EXPECT_TRUE(test, world_wait_quiet(w));
	KUNIT_EXPECT_TRUE(test, world_wait_received(w));
	behind = side->done_at_recv == side->num_posted;
	turns_compare(w, 1, OF_LONG, OF_LONG_READ);
	turns_end(w);
	return behind;
}

/* Covers: DDP-30 */
static void turns_send(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, turns_send_behind_read(test, true));
}

/*
 * A Read that arrives while an RDMA Write is sent. Returns the bytes of the
 * Write that had arrived when the Read was complete, 0 if it was over.
 */
static u64 turns_read_beside_write(struct kunit *test, bool probe)
{
	const struct how how = {
		.segments = 1, .probe = probe, .rtr = XIW_RTR_WRITE,
	};
	struct world *w = turns_make(test, &how);
	struct side *side = &w->side[0];
	u64 written;

	pipe_hold(&side->end, true);
	side_post_long(test, side->peer, IB_WR_RDMA_WRITE);
	xiw_tx_kick(&side->peer->s, true);
	KUNIT_EXPECT_TRUE(test, side_wait_full(side));
	side_post_read(test, side, IB_WR_RDMA_READ, side->mem, 1000);
	side_send_all(test, side);
	pipe_hold(&side->end, false);
	KUNIT_EXPECT_TRUE(test, world_wait_quiet(w));
	written = side->written_at_done;
	/* A message behind the Write, so that this has arrived. */
	side_post_send(test, side->peer);
	xiw_tx_kick(&side->peer->s, true);
	KUNIT_EXPECT_TRUE(test, world_wait_received(w));
	turns_compare(w, 1, OF_LONG, OF_LONG_WRITE);
	turns_end(w);
	return written;
}

/* The peer has stated that it is xiw. */
static void turns_read(struct kunit *test)
{
	KUNIT_EXPECT_GT(test, turns_read_beside_write(test, true), 0);
}

/* Other peers get whole messages. */
static void turns_not_mixed(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, turns_send_behind_read(test, false));
	KUNIT_EXPECT_EQ(test, turns_read_beside_write(test, false), 0);
}

/* Random requests of both sides beside long ones */
static void turns_random_with(struct kunit *test, bool probe)
{
	const struct how how = {
		.segments = 1, .probe = probe, .rtr = XIW_RTR_WRITE,
	};
	struct world *w = turns_make(test, &how);
	int n;

	for (n = 0; n < 2; n++) {
		side_post_long(test, &w->side[n], IB_WR_RDMA_READ);
		side_post_long(test, &w->side[n], IB_WR_RDMA_WRITE);
		side_post_long(test, &w->side[n], IB_WR_RDMA_READ);
		xiw_tx_kick(&w->side[n].s, true);
	}
	world_post(w, MESSAGES / 2);
	world_close(w);
	for (n = 0; n < 2; n++) {
		turns_compare(w, n, OF_LONG, OF_LONG_WRITE);
		turns_compare(w, n, OF_LONG, OF_LONG_READ);
		if (world_is_well(w))
			world_check_rest(w, n, &how);
	}
	world_end(w);
}

static void turns_random(struct kunit *test)
{
	turns_random_with(test, false);
	turns_random_with(test, true);
}

static struct kunit_case turns_cases[] = {
	KUNIT_CASE(turns_send),
	KUNIT_CASE(turns_read),
	KUNIT_CASE(turns_not_mixed),
	KUNIT_CASE(turns_random),
	{}
};

static struct kunit_suite turns_suite = {
	.name = "xiw_turns",
	.test_cases = turns_cases,
};

kunit_test_suite(turns_suite);
