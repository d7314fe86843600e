// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Every pair of state and event of an endpoint against a second copy of the
 * table, every pair of states, and that nothing keeps an endpoint alive.
 */
#include <linux/kernel.h>

#include "../epstate.h"
#include "util.h"

static const char * const action_names[XIW_EPA_COUNT] = {
	[XIW_EPA_NONE]		= "-",
	[XIW_EPA_DIE]		= "die",
	[XIW_EPA_ACCEPT]	= "accept",
	[XIW_EPA_UNLISTEN]	= "unlisten",
	[XIW_EPA_TRY]		= "try",
	[XIW_EPA_CONNECTING]	= "connecting",
	[XIW_EPA_REPLY]		= "reply",
	[XIW_EPA_LATE]		= "late",
	[XIW_EPA_CANCEL]	= "cancel",
	[XIW_EPA_CANCEL_KILL]	= "cancel-kill",
	[XIW_EPA_REQUEST]	= "request",
	[XIW_EPA_NO_REQUEST]	= "no-request",
	[XIW_EPA_READY]		= "ready",
	[XIW_EPA_READY_LATE]	= "ready-late",
	[XIW_EPA_PENDING]	= "pending",
	[XIW_EPA_ESTABLISHED]	= "established",
	[XIW_EPA_SHUTDOWN]	= "shutdown",
	[XIW_EPA_PEER_CLOSED]	= "peer-closed",
	[XIW_EPA_START_CLOSE]	= "start-close",
	[XIW_EPA_STALLED]	= "stalled",
	[XIW_EPA_CLOSE]		= "close",
	[XIW_EPA_ABORT]		= "abort",
	[XIW_EPA_KILL]		= "kill",
	[XIW_EPA_LINGER]	= "linger",
	[XIW_EPA_LINGER_LATE]	= "linger-late",
};

/* Events that no state handles are left out; '-' stands for no effect. */
static const struct {
	enum xiw_ep_state state;
	const char *first_fpdu;
	const char *shutdown;
	const char *peer_closed;
	const char *abort;
	const char *close;
	const char *close_timer;
	const char *sock;
	const char *timer;
	const char *kill;
} want[XIW_EPS_COUNT] = {
	{ XIW_EPS_NEW, "-", "-", "-", "-", "-", "-", "-", "-", "-" },
	{ XIW_EPS_LISTEN, "-", "-", "-", "-", "-", "-", "accept", "accept",
	  "unlisten" },
	{ XIW_EPS_PAUSE, "-", "-", "-", "-", "cancel", "-", "-", "try",
	  "cancel-kill" },
	{ XIW_EPS_CONNECTING, "-", "-", "-", "cancel", "cancel", "-",
	  "connecting", "late", "cancel-kill" },
	{ XIW_EPS_REPLY, "-", "-", "-", "cancel", "cancel", "-", "reply",
	  "late", "cancel-kill" },
	{ XIW_EPS_REQUEST, "-", "-", "-", "-", "-", "-", "request",
	  "no-request", "die" },
	{ XIW_EPS_READY, "-", "-", "-", "-", "-", "-", "ready", "ready-late",
	  "die" },
	{ XIW_EPS_PENDING, "-", "-", "-", "-", "-", "-", "pending",
	  "no-request", "die" },
	{ XIW_EPS_RTR, "established", "shutdown", "-", "abort", "close",
	  "start-close", "-", "stalled", "abort" },
	{ XIW_EPS_OPEN, "-", "shutdown", "peer-closed", "abort", "close",
	  "start-close", "-", "stalled", "kill" },
	{ XIW_EPS_LINGER, "-", "-", "-", "-", "-", "-", "linger", "linger-late",
	  "die" },
	{ XIW_EPS_DEAD, "-", "-", "-", "-", "-", "-", "-", "-", "-" },
};

/* Actions of XIW_EPE_REPLACED, which few states handle */
static const char * const replaced[XIW_EPS_COUNT] = {
	[XIW_EPS_CONNECTING]	= "late",
	[XIW_EPS_REPLY]		= "late",
	[XIW_EPS_RTR]		= "stalled",
};

static void expect(struct kunit *test, enum xiw_ep_state state,
		   enum xiw_ep_event event, const char *name)
{
	enum xiw_ep_action got = xiw_epstate_action(state, event);

	KUNIT_ASSERT_LT(test, (unsigned int)got, (unsigned int)XIW_EPA_COUNT);
	KUNIT_EXPECT_STREQ_MSG(test, action_names[got], name,
			       "state %d, event %d", state, event);
}

static void epstate_every_pair(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < XIW_EPS_COUNT; i++) {
		enum xiw_ep_state s = want[i].state;

		KUNIT_ASSERT_EQ(test, (unsigned int)s, i);
		expect(test, s, XIW_EPE_FIRST_FPDU, want[i].first_fpdu);
		expect(test, s, XIW_EPE_SHUTDOWN, want[i].shutdown);
		expect(test, s, XIW_EPE_PEER_CLOSED, want[i].peer_closed);
		expect(test, s, XIW_EPE_ABORT, want[i].abort);
		expect(test, s, XIW_EPE_CLOSE, want[i].close);
		expect(test, s, XIW_EPE_CLOSE_TIMER, want[i].close_timer);
		expect(test, s, XIW_EPE_SOCK, want[i].sock);
		expect(test, s, XIW_EPE_REPLACED, replaced[i] ?: "-");
		expect(test, s, XIW_EPE_TIMER, want[i].timer);
		expect(test, s, XIW_EPE_KILL, want[i].kill);
	}
	/* One column per event. */
	KUNIT_EXPECT_EQ(test, (int)XIW_EPE_COUNT, 10);
}

/*
 * The states that may follow besides the same one and DEAD, one letter each: N
 * new, L listen, P pause, c connecting, y reply, q request, r ready, w pending,
 * t rtr, O open, g linger.
 */
static const char letters[] = "NLPcyqrwtOg";
static const char * const followers_of[XIW_EPS_COUNT] = {
	"LPcyqO", "", "cyO", "PyOg", "PcOg", "rwtg", "wtg", "tOg", "Og", "Pg",
	"", "",
};

static void epstate_every_transition(struct kunit *test)
{
	unsigned int from, to;
	bool may;

	for (from = 0; from < XIW_EPS_COUNT; from++) {
		for (to = 0; to < XIW_EPS_COUNT; to++) {
			may = from == to || to == XIW_EPS_DEAD ||
			      strchr(followers_of[from], letters[to]);
			if (from == XIW_EPS_DEAD)
				may = false;
			KUNIT_EXPECT_EQ_MSG(test, xiw_epstate_follows(from, to),
					    may, "%u -> %u", from, to);
		}
	}
}

/* In each state KILL and the timer have an action, and DEAD may follow. */
static void epstate_all_end(struct kunit *test)
{
	unsigned int s;

	for (s = XIW_EPS_LISTEN; s < XIW_EPS_DEAD; s++) {
		KUNIT_EXPECT_NE(test, (int)XIW_EPA_NONE,
				(int)xiw_epstate_action(s, XIW_EPE_KILL));
		KUNIT_EXPECT_NE(test, (int)XIW_EPA_NONE,
				(int)xiw_epstate_action(s, XIW_EPE_TIMER));
		KUNIT_EXPECT_TRUE(test, xiw_epstate_follows(s, XIW_EPS_DEAD));
	}
}

static void epstate_refuses_strange_numbers(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (int)XIW_EPA_NONE,
			(int)xiw_epstate_action(XIW_EPS_COUNT, XIW_EPE_KILL));
	KUNIT_EXPECT_EQ(test, (int)XIW_EPA_NONE,
			(int)xiw_epstate_action(XIW_EPS_OPEN, XIW_EPE_COUNT));
	KUNIT_EXPECT_EQ(test, (int)XIW_EPA_NONE,
			(int)xiw_epstate_action(-1, -1));
	KUNIT_EXPECT_FALSE(test, xiw_epstate_follows(-1, XIW_EPS_DEAD));
	KUNIT_EXPECT_FALSE(test, xiw_epstate_follows(XIW_EPS_OPEN,
						     XIW_EPS_COUNT));
}

static struct kunit_case epstate_cases[] = {
	KUNIT_CASE(epstate_every_pair),
	KUNIT_CASE(epstate_every_transition),
	KUNIT_CASE(epstate_all_end),
	KUNIT_CASE(epstate_refuses_strange_numbers),
	{}
};

static struct kunit_suite epstate_suite = {
	.name = "xiw_epstate",
	.test_cases = epstate_cases,
};

kunit_test_suite(epstate_suite);
