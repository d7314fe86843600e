// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Every pair of state and event of a queue pair that is connected out of band
 * against a second copy of the table, and random sequences of events.
 */
#include <linux/kernel.h>
#include <linux/prandom.h>

#include "../oobstate.h"
#include "util.h"

/*
 * A letter for each state: i idle, p path set, E established, g peer gone, v
 * void, r rollback, R rollback of a dead one, d dead early, D dead.
 */
static const char letters[] = "ipEgvrRdD";

/*
 * The next state for name, establish, fault, lose, lose unused, end, mismatch,
 * roll back, rolled back and stop wait.
 */
static const char * const want[XIW_OOBS_COUNT] = {
	[XIW_OOBS_IDLE]			= "piiiiiiiii",
	[XIW_OOBS_PATH_SET]		= "pEpppdvrpp",
	[XIW_OOBS_ESTABLISHED]		= "EEDgvDvEEE",
	[XIW_OOBS_PEER_GONE]		= "gggggDvggE",
	[XIW_OOBS_VOID]			= "vvvvvdvrvv",
	[XIW_OOBS_ROLLBACK]		= "rrrrrRrrpr",
	[XIW_OOBS_ROLLBACK_DEAD]	= "RRRRRRRRdR",
	[XIW_OOBS_DEAD_EARLY]		= "dDdddddddd",
	[XIW_OOBS_DEAD]			= "DDDDDDDDDD",
};

/* Covers: RDV-16 RDV-19 */
static void oobstate_every_pair(struct kunit *test)
{
	unsigned int s, e;

	for (s = 0; s < XIW_OOBS_COUNT; s++) {
		for (e = 0; e < XIW_OOBE_COUNT; e++)
			KUNIT_EXPECT_EQ_MSG(test,
					    letters[xiw_oobstate_next(s, e)],
					    want[s][e], "state %u, event %u",
					    s, e);
		KUNIT_EXPECT_EQ(test, want[s][e], '\0');
	}
}

/* Covers: RDV-16 */
static void oobstate_predicates(struct kunit *test)
{
	unsigned int s;

	for (s = 0; s < XIW_OOBS_COUNT; s++) {
		KUNIT_EXPECT_EQ(test, xiw_oobstate_is_dead(s),
				!!strchr("RdD", letters[s]));
		KUNIT_EXPECT_EQ(test, xiw_oobstate_is_rollback(s),
				!!strchr("rR", letters[s]));
		KUNIT_EXPECT_EQ(test, xiw_oobstate_was_established(s),
				!!strchr("EgD", letters[s]));
		KUNIT_EXPECT_EQ(test, xiw_oobstate_is_tentative(s),
				!!strchr("pvr", letters[s]));
	}
}

static void oobstate_refuses_strange_numbers(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (int)XIW_OOBS_PATH_SET,
			(int)xiw_oobstate_next(XIW_OOBS_PATH_SET,
					       XIW_OOBE_COUNT));
	KUNIT_EXPECT_EQ(test, (int)XIW_OOBS_COUNT,
			(int)xiw_oobstate_next(XIW_OOBS_COUNT, 0));
}

/*
 * In any sequence of events a dead queue pair stays dead, an established one is
 * never rolled back, and a rollback ends.
 */
static void live_once(struct kunit *test, struct rnd_state *rnd)
{
	enum xiw_oob_state state = XIW_OOBS_PATH_SET;
	enum xiw_oob_state next;
	enum xiw_oob_event event;
	unsigned int i;

	for (i = 0; i < 40; i++) {
		event = prandom_u32_state(rnd) % XIW_OOBE_COUNT;
		next = xiw_oobstate_next(state, event);
		if (xiw_oobstate_is_dead(state))
			KUNIT_EXPECT_TRUE(test, xiw_oobstate_is_dead(next));
		if (xiw_oobstate_was_established(state))
			KUNIT_EXPECT_FALSE(test,
					   xiw_oobstate_is_rollback(next));
		state = next;
	}
	state = xiw_oobstate_next(state, XIW_OOBE_ROLLED_BACK);
	KUNIT_EXPECT_FALSE(test, xiw_oobstate_is_rollback(state));
	state = xiw_oobstate_next(state, XIW_OOBE_END);
	KUNIT_EXPECT_TRUE(test, xiw_oobstate_is_dead(state));
}

/* Covers: RDV-16 RDV-19 */
static void oobstate_random_lives(struct kunit *test)
{
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 5044);
	for (i = 0; i < 2000; i++)
		live_once(test, &rnd);
}

static struct kunit_case oobstate_cases[] = {
	KUNIT_CASE(oobstate_every_pair),
	KUNIT_CASE(oobstate_predicates),
	KUNIT_CASE(oobstate_refuses_strange_numbers),
	KUNIT_CASE(oobstate_random_lives),
	{}
};

static struct kunit_suite oobstate_suite = {
	.name = "xiw_oobstate",
	.test_cases = oobstate_cases,
};

kunit_test_suite(oobstate_suite);
