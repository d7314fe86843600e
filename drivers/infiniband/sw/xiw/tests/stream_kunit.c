// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Two streams without a network: random work requests of every kind from both
 * sides concurrently, with all data verified.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "stream/engine.h"
#include "world.h"

static void random_number_of(struct kunit *test, const struct how *how,
			     u32 number)
{
	u64 seed = get_random_u64();
	struct world *w = world_make(test, seed);

	kunit_info(test, "seed %#llx", seed);
	world_start(w, how);
	world_post(w, number);
	world_close(w);
	if (world_is_well(w)) {
		world_check_rest(w, 0, how);
		world_check_rest(w, 1, how);
	}
	world_end(w);
}

static void random_messages(struct kunit *test, const struct how *how)
{
	random_number_of(test, how, MESSAGES);
}

/* Covers: MPA-06 MPA-11 IMM-13 */
static void stream_plain(struct kunit *test)
{
	random_messages(test, &(struct how){
		.segments = 1, .rtr = XIW_RTR_WRITE,
	});
}

/* Covers: MPA-07 MPA-08 RDV-23 */
static void stream_crc(struct kunit *test)
{
	random_messages(test, &(struct how){
		.crc = true, .segments = 1, .rtr = XIW_RTR_READ,
	});
}

static void stream_markers(struct kunit *test)
{
	random_messages(test, &(struct how){
		.markers = true, .segments = 1, .rtr = XIW_RTR_SEND,
	});
}

static void stream_markers_crc(struct kunit *test)
{
	random_messages(test, &(struct how){
		.crc = true, .markers = true, .segments = 1,
		.rtr = XIW_RTR_WRITE,
	});
}

static void stream_segments(struct kunit *test)
{
	random_messages(test, &(struct how){
		.crc = true, .segments = 11, .rtr = XIW_RTR_READ,
	});
}

/*
 * Segment sizes from the smallest one that Linux accepts (36) to the largest.
 * An FPDU has at least 136 bytes, so it crosses the ends of shorter segments.
 * Covers: MPA-20
 */
static void stream_any_emss(struct kunit *test)
{
	static const u32 emss[] = {
		36, 48, 76, 100, 128, 134, 135, 136, 137, 140, 200, 536, 1220,
		8948, 16384, 16385, 65483,
	};
	struct how how = { .rtr = XIW_RTR_WRITE };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(emss); i++) {
		how.emss = emss[i];
		how.segments = get_random_u32_below(3);
		how.markers = get_random_u32_below(4) == 0;
		how.crc = get_random_u32_below(2);
		random_number_of(test, &how, MESSAGES / 6);
	}
}

/*
 * Both sides detect what the peer supports, unless there is no RTR. Sends with
 * Immediate wait until the Initiator has its answer.
 * Covers: IMM-15 MPA-91
 */
static void stream_probe(struct kunit *test)
{
	random_messages(test, &(struct how){
		.crc = true, .segments = 1, .probe = true,
		.rtr = XIW_RTR_WRITE,
	});
	random_messages(test, &(struct how){
		.segments = 1, .probe = true, .rtr = XIW_RTR_SEND,
	});
}

/*
 * The connection is lost at a random byte: each request completes once, in
 * order, and all requests after a flushed one are flushed.
 * Covers: TERM-15
 */
static void stream_lost(struct kunit *test)
{
	const struct how how = {
		.crc = true, .segments = 1, .rtr = XIW_RTR_WRITE,
	};
	struct world *w;
	int i;

	for (i = 0; i < 20; i++) {
		w = world_make(test, get_random_u64());
		w->side[0].may_fail = true;
		w->side[1].may_fail = true;
		pipe_break_after(&w->side[i % 2].end, get_random_u32() %
				 (i < 10 ? 500 : i < 17 ? 100000 : 500000));
		world_start(w, &how);
		/* Post until that byte is reached */
		world_post(w, U32_MAX);
		wait_event_timeout(w->changed, READ_ONCE(w->side[0].over) &&
				   READ_ONCE(w->side[1].over), TIMEOUT);
		KUNIT_EXPECT_TRUE(test, w->side[0].over && w->side[1].over);
		world_end(w);
	}
}

/*
 * The lower layer finds a fault of the peer: the stream fails without a
 * Terminate, and each request completes once.
 */
static void stream_broken(struct kunit *test)
{
	const struct how how = { .segments = 1, .rtr = XIW_RTR_WRITE };
	struct world *w = world_make(test, get_random_u64());
	struct side *side = &w->side[1];

	w->side[0].may_fail = true;
	side->may_fail = true;
	side->may_fault = true;
	world_start(w, &how);
	world_post(w, 200);
	pipe_fault(&side->end);
	wait_event_timeout(w->changed, READ_ONCE(side->over), TIMEOUT);
	KUNIT_EXPECT_TRUE(test, side->over);
	KUNIT_EXPECT_EQ(test, (int)side->s.state, (int)XIW_QPS_ERROR);
	KUNIT_EXPECT_EQ(test, side->s.tx.term_len, 0);
	world_end(w);
}

static bool never(struct xiw_stream *s)
{
	return false;
}

/* An aborted detach loses no event. */
static void stream_keep(struct kunit *test)
{
	/* With a Write it would be a probe, for which Immediates wait. */
	const struct how how = { .segments = 1, .rtr = XIW_RTR_READ };
	struct world *w = world_make(test, get_random_u64());
	struct side *side = &w->side[1];
	int i;

	world_start(w, &how);
	for (i = 0; i < 100; i++) {
		world_post(w, i + 1);
		KUNIT_EXPECT_FALSE(test,
				   xiw_stream_detach_if(&side->s,
							&side->end.llp, never));
	}
	world_close(w);
	KUNIT_EXPECT_TRUE(test, world_is_well(w));
	world_end(w);
}

/* Busy-poll work is run by a process, or expires, or ends with the stream. */
static void stream_busy_poll(struct kunit *test)
{
	/* With a Write it would be a probe, for which Immediates wait. */
	const struct how how = { .segments = 1, .rtr = XIW_RTR_READ };
	struct world *w = world_make(test, get_random_u64());
	struct side *side = &w->side[0];
	struct xiw_stream *s = &side->s;
	int i;

	world_start(w, &how);
	for (i = 0; i < 200; i++) {
		xiw_busy_poll_post_tx(s);
		if (i % 2)
			xiw_stream_run_busy_poll(s);
		side_wait_idle(side);
		KUNIT_EXPECT_EQ(test, refcount_read(&side->refs), 1);
		KUNIT_EXPECT_EQ(test, s->busy_poll.work, 0);
		KUNIT_EXPECT_FALSE(test, side->work_posted);
	}
	world_post(w, 1);
	world_close(w);
	xiw_stream_detach(s, &side->end.llp);
	xiw_busy_poll_post_tx(s);
	world_end(w);
	KUNIT_EXPECT_EQ(test, s->busy_poll.work, 0);
}

/* Processes record the RFS flow, work items do not. */
static void stream_flow(struct kunit *test)
{
	const struct how how = { .segments = 1, .rtr = XIW_RTR_WRITE };
	struct world *w = world_make(test, get_random_u64());
	struct side *side = &w->side[0];
	struct xiw_stream *s = &side->s;
	int i;

	side->poller = POLLER_NONE;
	world_start(w, &how);
	world_wait_quiet(w);
	side_wait_idle(side);
	atomic_set(&side->end.flows, 0);
	xiw_tx_kick(s, false);
	xiw_stream_tx_again(s, 0);
	side_wait_idle(side);
	KUNIT_EXPECT_EQ(test, atomic_read(&side->end.flows), 0);
	xiw_tx_kick(s, true);
	KUNIT_EXPECT_EQ(test, atomic_read(&side->end.flows), 1);
	side->poller = POLLER_STAYS_AWAY;
	/* The work may have expired. */
	for (i = 0; i < 1000 && atomic_read(&side->end.flows) == 1; i++) {
		xiw_busy_poll_post_tx(s);
		xiw_stream_run_busy_poll(s);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&side->end.flows), 2);
	world_close(w);
	world_end(w);
}

/* An immediate run does not wait for a retry that is due later. */
static void stream_again(struct kunit *test)
{
	const struct how how = { .segments = 1, .rtr = XIW_RTR_WRITE };
	struct world *w = world_make(test, get_random_u64());
	struct side *side = &w->side[0];
	unsigned long start = jiffies;
	int i;

	world_start(w, &how);
	world_wait_quiet(w);
	side_wait_idle(side);
	for (i = 0; i < 100 && time_before(jiffies, start + 20 * HZ); i++) {
		xiw_stream_tx_again(&side->s, 30 * HZ);
		xiw_stream_tx_again(&side->s, 0);
		/* This retry, due later, does not delay the run above. */
		xiw_stream_tx_again(&side->s, i % 2);
		side_wait_idle(side);
		KUNIT_EXPECT_EQ(test, refcount_read(&side->refs), 1);
	}
	KUNIT_EXPECT_EQ(test, i, 100);
	world_close(w);
	world_end(w);
}

/* After expired offers work is posted less often, until one is taken. */
static void stream_busy_poll_expired(struct kunit *test)
{
	/* With a Write it would be a probe, for which Immediates wait. */
	const struct how how = { .segments = 1, .rtr = XIW_RTR_READ };
	struct world *w = world_make(test, get_random_u64());
	struct side *side = &w->side[0];
	struct xiw_stream *s = &side->s;
	int i;

	side->poller = POLLER_NONE;
	world_start(w, &how);
	world_post(w, 1);
	world_wait_quiet(w);
	side_wait_idle(side);
	side->poller = POLLER_STAYS_AWAY;
	side->work_count = 0;
	for (i = 0; i < 40; i++) {
		xiw_busy_poll_post_tx(s);
		side_wait_idle(side);
	}
	/* The 1st, 3rd, 7th, 15th and 31st are posted. */
	KUNIT_EXPECT_EQ(test, side->work_count, 5);
	KUNIT_EXPECT_EQ(test, s->busy_poll.expired, 5);
	/* Any of these offers may expire, too. */
	for (i = 0; i < 1000 && s->busy_poll.expired >= 5; i++) {
		xiw_busy_poll_post_tx(s);
		xiw_stream_run_busy_poll(s);
		side_wait_idle(side);
	}
	KUNIT_EXPECT_LE(test, s->busy_poll.expired, 3);
	world_close(w);
	world_end(w);
}

static u32 stream_outstanding(const struct side *side)
{
	return side->s.orq_tail - side->s.orq_head;
}

/*
 * A new connection: one side posts, data to the peer is held back. A Send is
 * complete when the pipe has it, so the test waits until it is received, too:
 * stream_rewound() would lose what is left in the pipe.
 */
static struct world *stream_make_held(struct kunit *test)
{
	const struct how how = { .segments = 1, .rtr = XIW_RTR_WRITE };
	struct world *w = world_make(test, get_random_u64());
	int n;

	w->side[0].poller = POLLER_NONE;
	world_start(w, &how);
	for (n = 0; n < 2; n++) {
		side_post_send(test, &w->side[n]);
		xiw_tx_kick(&w->side[n].s, true);
	}
	KUNIT_EXPECT_TRUE(test, world_wait_quiet(w));
	KUNIT_EXPECT_TRUE(test, world_wait_received(w));
	side_wait_idle(&w->side[0]);
	pipe_hold(&w->side[1].end, true);
	return w;
}

static void stream_let_go(struct world *w)
{
	pipe_hold(&w->side[1].end, false);
	world_close(w);
	KUNIT_EXPECT_TRUE(w->test, world_is_well(w));
	world_end(w);
}

/* As storage targets do: two Reads into regions of their own, and a Send */
static void stream_send_as_target(struct world *w, struct side *side)
{
	int i;

	for (i = 0; i < 2; i++) {
		side_post_local(w->test, side, IB_WR_REG_MR, side->frwr[i]);
		side_post_read(w->test, side, IB_WR_RDMA_READ_WITH_INV,
			       side->frwr[i], 1000);
	}
	side_post_send(w->test, side);
	side_send_all(w->test, side);
}

/*
 * A region that no earlier request can use is registered at once, even with
 * Reads outstanding.
 */
static void stream_reg_free(struct kunit *test)
{
	struct world *w = stream_make_held(test);
	struct side *side = &w->side[0];

	stream_send_as_target(w, side);
	KUNIT_EXPECT_EQ(test, stream_outstanding(side), 2);
	KUNIT_EXPECT_EQ(test, side->sq.next, side->num_posted);
	stream_let_go(w);
}

/*
 * A Send that is posted when the engine has just found nothing to send does not
 * wait for the response to a Read.
 */
static void stream_posted_late(struct kunit *test)
{
	struct world *w = stream_make_held(test);
	struct side *side = &w->side[0];
	struct xiw_llp *llp = &side->end.llp;

	side_post_local(test, side, IB_WR_REG_MR, side->frwr[0]);
	side_post_read(test, side, IB_WR_RDMA_READ_WITH_INV, side->frwr[0],
		       1000);
	side_send_all(test, side);
	KUNIT_EXPECT_EQ(test, stream_outstanding(side), 1);
	llp->ops->lock(llp);
	KUNIT_EXPECT_FALSE(test, xiw_tx_sched_next(&side->s));
	side_post_send(test, side);
	KUNIT_EXPECT_FALSE(test, xiw_tx_sched_waits(&side->s));
	llp->ops->unlock(llp);
	side_send_all(test, side);
	KUNIT_EXPECT_EQ(test, side->sq.next, side->num_posted);
	stream_let_go(w);
}

/* A region that a Read invalidates is registered after the Read. */
static void stream_reg_valid(struct kunit *test)
{
	struct world *w = stream_make_held(test);
	struct side *side = &w->side[0];
	u32 first = side->num_posted;
	int i;

	for (i = 0; i < 3; i++) {
		side_post_local(test, side, IB_WR_REG_MR, side->frwr[0]);
		side_post_read(test, side, IB_WR_RDMA_READ_WITH_INV,
			       side->frwr[0], 1000);
	}
	side_post_send(test, side);
	side_send_all(w->test, side);
	KUNIT_EXPECT_EQ(test, stream_outstanding(side), 1);
	KUNIT_EXPECT_EQ(test, side->sq.next, first + 2);
	stream_let_go(w);
}

/*
 * A region is invalidated while a Read uses it, and registered again with the
 * same key: the response must not be placed in it.
 */
static void stream_reg_behind_inv(struct kunit *test)
{
	struct world *w = stream_make_held(test);
	struct side *side = &w->side[0];
	u32 first = side->num_posted;

	side->may_fail = true;
	w->side[1].may_fail = true;
	side_post_local(test, side, IB_WR_REG_MR, side->frwr[0]);
	side_post_read(test, side, IB_WR_RDMA_READ, side->frwr[0], 1000);
	side_post_local(test, side, IB_WR_LOCAL_INV, side->frwr[0]);
	side_post_local(test, side, IB_WR_REG_MR, side->frwr[0]);
	side_send_all(w->test, side);
	KUNIT_EXPECT_EQ(test, stream_outstanding(side), 1);
	KUNIT_EXPECT_EQ(test, side->sq.next, first + 3);
	KUNIT_EXPECT_EQ(test, side->frwr[0]->state, XIW_MEM_FREE);
	world_end(w);
}

/* Requests that have taken effect locally are not executed again. */
static void stream_rewound(struct kunit *test)
{
	const struct how how = { .segments = 1, .rtr = XIW_RTR_WRITE };
	struct world *w = stream_make_held(test);
	struct side *side = &w->side[0];
	int i;

	stream_send_as_target(w, side);
	for (i = 0; i < 2; i++) {
		struct xiw_stream *s = &w->side[i].s;

		w->side[i].may_fail = true;
		xiw_stream_detach(s, &w->side[i].end.llp);
		w->side[i].may_fail = false;
		w->side[i].over = false;
		xiw_stream_forget(s);
		xiw_tx_sched_rewind(s);
		xiw_stream_release(s);
		xiw_stream_event(s, XIW_QPE_RESET);
		xiw_tx_reset(s);
	}
	pipe_exit(&w->side[0].end, &w->side[1].end);
	pipe_init(&w->side[0].end, &w->side[1].end, get_random_u64());
	world_start(w, &how);
	xiw_tx_kick(&side->s, true);
	world_close(w);
	KUNIT_EXPECT_TRUE(test, world_is_well(w));
	world_end(w);
}

/*
 * Over SCTP the Responder sends first: there is no MPA fence.
 * Covers: SCTP-58
 */
static void stream_unfenced(struct kunit *test)
{
	const struct how how = { .segments = 1, .unfenced = true };
	struct world *w = world_make(test, get_random_u64());
	struct side *side = &w->side[1];

	world_start(w, &how);
	side_post_send(test, side);
	side_send_all(test, side);
	KUNIT_EXPECT_TRUE(test, world_wait_quiet(w));
	KUNIT_EXPECT_EQ(test, side->num_done, 1);
	KUNIT_EXPECT_GT(test, side->s.tx.sent, 0);
	world_close(w);
	KUNIT_EXPECT_TRUE(test, world_is_well(w));
	world_end(w);
}

/*
 * Packets that are one FPDU each, in pieces, without padding and CRC.
 * Covers: SCTP-05
 */
static void stream_chunks(struct kunit *test)
{
	random_messages(test, &(struct how){
		.segments = 3, .unfenced = true, .chunks = true,
	});
}

static struct kunit_case stream_cases[] = {
	KUNIT_CASE(stream_plain),
	KUNIT_CASE(stream_crc),
	KUNIT_CASE(stream_markers),
	KUNIT_CASE(stream_markers_crc),
	KUNIT_CASE(stream_segments),
	KUNIT_CASE(stream_any_emss),
	KUNIT_CASE(stream_probe),
	KUNIT_CASE(stream_lost),
	KUNIT_CASE(stream_broken),
	KUNIT_CASE(stream_keep),
	KUNIT_CASE(stream_busy_poll),
	KUNIT_CASE(stream_busy_poll_expired),
	KUNIT_CASE(stream_flow),
	KUNIT_CASE(stream_again),
	KUNIT_CASE(stream_reg_free),
	KUNIT_CASE(stream_posted_late),
	KUNIT_CASE(stream_reg_valid),
	KUNIT_CASE(stream_reg_behind_inv),
	KUNIT_CASE(stream_rewound),
	KUNIT_CASE(stream_unfenced),
	KUNIT_CASE(stream_chunks),
	{}
};

static struct kunit_suite stream_suite = {
	.name = "xiw_stream",
	.test_cases = stream_cases,
};

kunit_test_suite(stream_suite);

MODULE_DESCRIPTION("KUnit tests of xiw: streams back to back");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
MODULE_LICENSE("Dual BSD/GPL");
