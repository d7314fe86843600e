// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Every pair of state and event of a queue pair that is connected out of band
 * against a second copy of the table, and random sequences of events.
 */
#include <linux/kernel.h>
#include <linux/prandom.h>

#include "../rdvstate.h"
#include "util.h"

/*
 * A letter for each state: i idle, p path set, E established, g peer gone, b
 * bad PSN, r rollback, R rollback of a dead one, d dead early, D dead.
 */
static const char letters[] = "ipEgbrRdD";

/*
 * The next state for name, establish, fault, lose, end, mismatch, roll back,
 * rolled back and stop wait.
 */
static const char * const want[XIW_RDVS_COUNT] = {
	[XIW_RDVS_IDLE]			= "piiiiiiii",
	[XIW_RDVS_PATH_SET]		= "pEppdbrpp",
	[XIW_RDVS_ESTABLISHED]		= "EEDgDbEEE",
	[XIW_RDVS_PEER_GONE]		= "ggggDbggE",
	[XIW_RDVS_BAD_PSN]		= "bbbbdbrbb",
	[XIW_RDVS_ROLLBACK]		= "rrrrRrrpr",
	[XIW_RDVS_ROLLBACK_DEAD]	= "RRRRRRRdR",
	[XIW_RDVS_DEAD_EARLY]		= "dDddddddd",
	[XIW_RDVS_DEAD]			= "DDDDDDDDD",
};

/* Covers: RDV-16 RDV-19 */
static void rdvstate_every_pair(struct kunit *test)
{
	unsigned int s, e;

	for (s = 0; s < XIW_RDVS_COUNT; s++) {
		for (e = 0; e < XIW_RDVE_COUNT; e++)
			KUNIT_EXPECT_EQ_MSG(test,
					    letters[xiw_rdvstate_next(s, e)],
					    want[s][e], "state %u, event %u",
					    s, e);
		KUNIT_EXPECT_EQ(test, want[s][e], '\0');
	}
}

/* Covers: RDV-16 */
static void rdvstate_predicates(struct kunit *test)
{
	unsigned int s;

	for (s = 0; s < XIW_RDVS_COUNT; s++) {
		KUNIT_EXPECT_EQ(test, xiw_rdvstate_is_dead(s),
				!!strchr("RdD", letters[s]));
		KUNIT_EXPECT_EQ(test, xiw_rdvstate_is_rollback(s),
				!!strchr("rR", letters[s]));
		KUNIT_EXPECT_EQ(test, xiw_rdvstate_was_established(s),
				!!strchr("EgD", letters[s]));
		KUNIT_EXPECT_EQ(test, xiw_rdvstate_is_tentative(s),
				!!strchr("pbr", letters[s]));
	}
}

static void rdvstate_refuses_strange_numbers(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (int)XIW_RDVS_PATH_SET,
			(int)xiw_rdvstate_next(XIW_RDVS_PATH_SET,
					       XIW_RDVE_COUNT));
	KUNIT_EXPECT_EQ(test, (int)XIW_RDVS_COUNT,
			(int)xiw_rdvstate_next(XIW_RDVS_COUNT, 0));
}

/*
 * Whatever happens: a queue pair that is dead stays so, one that was
 * established is never rolled back, and a rollback comes to an end.
 */
static void live_once(struct kunit *test, struct rnd_state *rnd)
{
	enum xiw_rdv_state state = XIW_RDVS_PATH_SET;
	enum xiw_rdv_state next;
	enum xiw_rdv_event event;
	unsigned int i;

	for (i = 0; i < 40; i++) {
		event = prandom_u32_state(rnd) % XIW_RDVE_COUNT;
		next = xiw_rdvstate_next(state, event);
		if (xiw_rdvstate_is_dead(state))
			KUNIT_EXPECT_TRUE(test, xiw_rdvstate_is_dead(next));
		if (xiw_rdvstate_was_established(state))
			KUNIT_EXPECT_FALSE(test,
					   xiw_rdvstate_is_rollback(next));
		state = next;
	}
	state = xiw_rdvstate_next(state, XIW_RDVE_ROLLED_BACK);
	KUNIT_EXPECT_FALSE(test, xiw_rdvstate_is_rollback(state));
	state = xiw_rdvstate_next(state, XIW_RDVE_END);
	KUNIT_EXPECT_TRUE(test, xiw_rdvstate_is_dead(state));
}

/* Covers: RDV-16 RDV-19 */
static void rdvstate_random_lives(struct kunit *test)
{
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 5044);
	for (i = 0; i < 2000; i++)
		live_once(test, &rnd);
}

static struct kunit_case rdvstate_cases[] = {
	KUNIT_CASE(rdvstate_every_pair),
	KUNIT_CASE(rdvstate_predicates),
	KUNIT_CASE(rdvstate_refuses_strange_numbers),
	KUNIT_CASE(rdvstate_random_lives),
	{}
};

static struct kunit_suite rdvstate_suite = {
	.name = "xiw_rdvstate",
	.test_cases = rdvstate_cases,
};

kunit_test_suite(rdvstate_suite);
