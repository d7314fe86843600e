// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The work budgets of the engines, and doorbell deferral.
 */
#include <kunit/test.h>
#include <linux/random.h>

#include "stream/budget.h"

static void budget_bytes(struct kunit *test)
{
	struct xiw_budget budget;

	xiw_budget_begin(&budget, 2);
	xiw_budget_charge(&budget, 2 * XIW_BUDGET_BYTES - 1);
	KUNIT_EXPECT_FALSE(test, xiw_budget_spent(&budget));
	/* The last FPDU may exceed the budget. */
	xiw_budget_charge(&budget, 64 * 1024);
	KUNIT_EXPECT_TRUE(test, xiw_budget_spent(&budget));
}

static void budget_cost(struct kunit *test)
{
	struct xiw_budget budget;
	int i;

	xiw_budget_begin(&budget, 1);
	for (i = 1; i < XIW_BUDGET_COST; i++)
		xiw_budget_charge(&budget, 0);
	KUNIT_EXPECT_FALSE(test, xiw_budget_spent(&budget));
	xiw_budget_charge(&budget, 0);
	KUNIT_EXPECT_TRUE(test, xiw_budget_spent(&budget));
}

/* A series uses up the budget exactly as its FPDUs would, one by one. */
static void budget_series(struct kunit *test)
{
	struct xiw_budget budget, single;
	u32 bytes, n, i, round;

	for (round = 0; round < 5000; round++) {
		xiw_budget_begin(&budget, 1 + get_random_u32() % 16);
		budget.bytes -= get_random_u32() % (budget.bytes + 2);
		budget.cost -= get_random_u32() % (budget.cost + 2);
		bytes = 1 + get_random_u32() % (round % 2 ? 66000 : 1500);
		single = budget;
		for (i = 0; !xiw_budget_spent(&single); i++)
			xiw_budget_charge(&single, bytes);
		n = xiw_budget_equal(&budget, bytes);
		KUNIT_ASSERT_EQ(test, n, i);
		xiw_budget_charge_equal(&budget, n, bytes);
		KUNIT_ASSERT_EQ(test, budget.bytes, single.bytes);
		KUNIT_ASSERT_EQ(test, budget.cost, single.cost);
	}
}

/* A run of the engine, and whether a doorbell deferral follows */
struct run {
	bool burst;	/* posted soon after the last run, or data in flight */
	bool deferral;	/* collected in a doorbell deferral */
	u32 started;
	bool want;
	enum xiw_posts_last last;
};

static void check_runs(struct kunit *test, const struct run *runs, int number)
{
	struct xiw_posts posts = {};
	int i;

	xiw_posts_init(&posts);
	for (i = 0; i < number; i++) {
		posts.last = runs[i].last;
		KUNIT_EXPECT_EQ_MSG(test,
				    xiw_posts_update(&posts, runs[i].burst,
						     runs[i].deferral,
						     runs[i].started),
				    runs[i].want, "run %d", i);
	}
}

/* The application waits for each request before it posts the next. */
static void budget_ping_pong(struct kunit *test)
{
	static const struct run runs[] = {
		{ false, false, 1, false },
		{ false, false, 0, false },
		{ false, false, 1, false },
		{ false, false, 0, false },
		{ false, false, 1, false },
	};

	check_runs(test, runs, ARRAY_SIZE(runs));
}

/*
 * A Write and a Send that announces it are followed by a reply. The same holds
 * for the pairs of two processes that reply to each other.
 */
static void budget_write_and_send(struct kunit *test)
{
	static const struct run runs[] = {
		{ false, false, 1, false },
		{ true, false, 1, false },
		{ false, false, 0, false },
		{ false, false, 1, false },
		{ true, false, 1, false },
		{ false, false, 0, false },
		{ false, false, 1, false },
		{ true, false, 1, false },
	};

	check_runs(test, runs, ARRAY_SIZE(runs));
}

/* Continuous posts: doorbell deferral from the third request on. */
static void budget_burst(struct kunit *test)
{
	static const struct run runs[] = {
		{ false, false, 1, false },
		{ true, false, 1, false },
		{ true, false, 1, true },
		{ true, true, 2, true },
		/* The receive pass ran the engine. */
		{ true, false, 0, true },
		{ true, true, 3, true },
		/* A pause, and no deferral was useful yet. */
		{ false, true, 3, false },
		{ true, false, 3, false },
		{ true, false, 3, true },
	};

	check_runs(test, runs, ARRAY_SIZE(runs));
}

/*
 * After a deferral with many requests the next one begins at once: the
 * application may post a batch for each credit from the peer.
 */
static void budget_batches(struct kunit *test)
{
	static const struct run runs[] = {
		{ true, false, 1, false },
		{ true, false, 1, true },
		{ false, true, 14, false },
		/*
		 * A run for a message from the peer, which may grant a credit
		 */
		{ false, false, 1, false },
		{ true, false, 1, true },
		{ false, true, 14, false },
		{ false, false, 1, false },
		{ true, false, 1, true },
		{ false, false, 1, false },
		{ true, false, 1, true },
		{ true, true, 14, true },
		/* One deferral with a single request has no effect. */
		{ false, true, 1, false },
		{ false, false, 1, false },
		{ true, false, 1, true },
		{ true, true, 14, true },
		/* A deferral with two requests is not a batch. */
		{ false, true, 2, false },
		{ false, false, 1, false },
		{ true, false, 1, false },
	};

	check_runs(test, runs, ARRAY_SIZE(runs));
}

/*
 * Continuous Reads: on one machine all responses arrive before the run ends, so
 * nothing is in flight.
 */
static void budget_reads(struct kunit *test)
{
	static const struct run runs[] = {
		{ true, false, 1, false, XIW_POSTS_READ },
		{ true, false, 1, true, XIW_POSTS_READ },
		{ false, true, 62, true, XIW_POSTS_READ },
		{ false, true, 0, false, XIW_POSTS_READ },
		{ false, true, 4, true, XIW_POSTS_READ },
		/* A deferral of Writes and Sends does not count. */
		{ false, true, 64, false, XIW_POSTS_DATA },
		{ true, false, 1, true, XIW_POSTS_READ },
		/* A deferral with three Reads has too few. */
		{ false, true, 3, false, XIW_POSTS_READ },
	};

	check_runs(test, runs, ARRAY_SIZE(runs));
}

/* A deferral with a single request was unused. */
static void budget_unused_deferral(struct kunit *test)
{
	static const struct run runs[] = {
		{ true, false, 1, false },
		{ true, false, 1, true },
		{ true, true, 1, false },
		{ true, false, 1, false },
		{ true, false, 1, false },
		{ true, false, 1, false },
		{ true, false, 1, true },
		/* An empty deferral has no effect. */
		{ false, true, 0, false },
		{ true, false, 1, true },
		/* This deferral is useful. */
		{ true, true, 4, true },
		{ false, false, 1, false },
		{ true, false, 1, true },
	};

	check_runs(test, runs, ARRAY_SIZE(runs));
}

/* Each unused deferral delays the next one, up to a limit. */
static void budget_always_unused(struct kunit *test)
{
	const u32 most = XIW_POSTS_MAX_NEED;
	u32 least = 2;
	struct xiw_posts posts = {};
	u32 runs;
	int i;

	xiw_posts_init(&posts);
	for (i = 0; i < 10; i++) {
		for (runs = 1; !xiw_posts_update(&posts, true, false, 1);
		     runs++)
			KUNIT_ASSERT_LT(test, runs, most);
		KUNIT_EXPECT_EQ(test, runs, least);
		KUNIT_EXPECT_FALSE(test, xiw_posts_update(&posts, true, true,
							  1));
		least = min(2 * least, most);
	}
}

/* Timers share a budget per softirq; the next softirq has a new one. */
static void budget_timers(struct kunit *test)
{
	const u64 spent = XIW_TIMERS_NS / 10;
	struct xiw_timers timers = {};
	u64 now = XIW_TIMERS_REST_NS;
	int worked = 0;
	int i;

	for (i = 0; i < 100; i++) {
		if (xiw_timers_begin(&timers, now)) {
			xiw_timers_end(&timers, now, now + spent);
			now += spent;
			worked++;
		} else {
			xiw_timers_end(&timers, now, now + 1);
			now++;
		}
		now += XIW_TIMERS_REST_NS / 10;
	}
	KUNIT_EXPECT_EQ(test, worked, 10);
	KUNIT_EXPECT_TRUE(test, xiw_timers_begin(&timers, now +
						 XIW_TIMERS_REST_NS));
}

/* Timers that expire far apart always have a budget. */
static void budget_timers_apart(struct kunit *test)
{
	struct xiw_timers timers = {};
	u64 now = 0;
	int i;

	for (i = 0; i < 100; i++) {
		now += XIW_TIMERS_REST_NS;
		KUNIT_EXPECT_TRUE(test, xiw_timers_begin(&timers, now));
		xiw_timers_end(&timers, now, now + XIW_TIMERS_NS);
		now += XIW_TIMERS_NS;
	}
}

static struct kunit_case budget_cases[] = {
	KUNIT_CASE(budget_bytes),
	KUNIT_CASE(budget_cost),
	KUNIT_CASE(budget_series),
	KUNIT_CASE(budget_ping_pong),
	KUNIT_CASE(budget_write_and_send),
	KUNIT_CASE(budget_burst),
	KUNIT_CASE(budget_batches),
	KUNIT_CASE(budget_reads),
	KUNIT_CASE(budget_unused_deferral),
	KUNIT_CASE(budget_always_unused),
	KUNIT_CASE(budget_timers),
	KUNIT_CASE(budget_timers_apart),
	{}
};

static struct kunit_suite budget_suite = {
	.name = "xiw_budget",
	.test_cases = budget_cases,
};

kunit_test_suite(budget_suite);
