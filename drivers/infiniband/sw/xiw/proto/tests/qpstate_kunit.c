// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Every pair of state and event against a second copy of the table, and
 * invariants in random sequences of events.
 */
#include <linux/kernel.h>
#include <linux/prandom.h>

#include "../qpstate.h"
#include "util.h"

/*
 * One string per pair: '-' for illegal, else the next state and the actions:
 * T Terminate, F FIN, A abort, t timer, s and r flush, e event, d disconnect,
 * c close.
 */
static const char * const want[XIW_QPS_COUNT][XIW_QPE_COUNT] = {
	[XIW_QPS_IDLE] = {
		[XIW_QPE_CONNECT]	 = "RTS",
		[XIW_QPE_LOCAL_CLOSE]	 = "-",
		[XIW_QPE_LOCAL_ERROR]	 = "ERROR src",
		[XIW_QPE_PEER_FIN]	 = "-",
		[XIW_QPE_PEER_FIN_DIRTY] = "-",
		[XIW_QPE_LLP_LOST]	 = "-",
		[XIW_QPE_LLP_CLOSED]	 = "-",
		[XIW_QPE_FAULT]		 = "-",
		[XIW_QPE_FAULT_SILENT]	 = "-",
		[XIW_QPE_TERM_SENT]	 = "-",
		[XIW_QPE_TERM_RECEIVED]	 = "-",
		[XIW_QPE_CLOSE_TIMEOUT]	 = "-",
		[XIW_QPE_RESET]		 = "IDLE",
	},
	[XIW_QPS_RTS] = {
		[XIW_QPE_CONNECT]	 = "-",
		[XIW_QPE_LOCAL_CLOSE]	 = "CLOSING Ft",
		[XIW_QPE_LOCAL_ERROR]	 = "ERROR src",
		[XIW_QPE_PEER_FIN]	 = "CLOSING Ftd",
		[XIW_QPE_PEER_FIN_DIRTY] = "ERROR Asrc",
		[XIW_QPE_LLP_LOST]	 = "ERROR Asrc",
		[XIW_QPE_LLP_CLOSED]	 = "ERROR Asrc",
		[XIW_QPE_FAULT]		 = "TERMINATE Ttsred",
		[XIW_QPE_FAULT_SILENT]	 = "ERROR Asrec",
		[XIW_QPE_TERM_SENT]	 = "-",
		[XIW_QPE_TERM_RECEIVED]	 = "ERROR Ftsred",
		[XIW_QPE_CLOSE_TIMEOUT]	 = "-",
		[XIW_QPE_RESET]		 = "IDLE Ac",
	},
	[XIW_QPS_CLOSING] = {
		[XIW_QPE_CONNECT]	 = "-",
		[XIW_QPE_LOCAL_CLOSE]	 = "CLOSING",
		[XIW_QPE_LOCAL_ERROR]	 = "ERROR sr",
		[XIW_QPE_PEER_FIN]	 = "CLOSING d",
		[XIW_QPE_PEER_FIN_DIRTY] = "ERROR Asrc",
		[XIW_QPE_LLP_LOST]	 = "ERROR Asrc",
		[XIW_QPE_LLP_CLOSED]	 = "ERROR src",
		[XIW_QPE_FAULT]		 = "TERMINATE Ttsred",
		[XIW_QPE_FAULT_SILENT]	 = "ERROR Asrc",
		[XIW_QPE_TERM_SENT]	 = "-",
		[XIW_QPE_TERM_RECEIVED]	 = "ERROR Ftsred",
		[XIW_QPE_CLOSE_TIMEOUT]	 = "ERROR Asrc",
		[XIW_QPE_RESET]		 = "IDLE Ac",
	},
	[XIW_QPS_TERMINATE] = {
		[XIW_QPE_CONNECT]	 = "-",
		[XIW_QPE_LOCAL_CLOSE]	 = "TERMINATE",
		[XIW_QPE_LOCAL_ERROR]	 = "ERROR sr",
		[XIW_QPE_PEER_FIN]	 = "TERMINATE",
		[XIW_QPE_PEER_FIN_DIRTY] = "TERMINATE",
		[XIW_QPE_LLP_LOST]	 = "ERROR Ac",
		[XIW_QPE_LLP_CLOSED]	 = "ERROR c",
		[XIW_QPE_FAULT]		 = "TERMINATE",
		[XIW_QPE_FAULT_SILENT]	 = "TERMINATE",
		[XIW_QPE_TERM_SENT]	 = "TERMINATE F",
		[XIW_QPE_TERM_RECEIVED]	 = "TERMINATE",
		[XIW_QPE_CLOSE_TIMEOUT]	 = "ERROR Ac",
		[XIW_QPE_RESET]		 = "IDLE Ac",
	},
	[XIW_QPS_ERROR] = {
		[XIW_QPE_CONNECT]	 = "-",
		[XIW_QPE_LOCAL_CLOSE]	 = "ERROR",
		[XIW_QPE_LOCAL_ERROR]	 = "ERROR sr",
		[XIW_QPE_PEER_FIN]	 = "ERROR",
		[XIW_QPE_PEER_FIN_DIRTY] = "ERROR",
		[XIW_QPE_LLP_LOST]	 = "ERROR Ac",
		[XIW_QPE_LLP_CLOSED]	 = "ERROR c",
		[XIW_QPE_FAULT]		 = "ERROR",
		[XIW_QPE_FAULT_SILENT]	 = "ERROR",
		[XIW_QPE_TERM_SENT]	 = "ERROR F",
		[XIW_QPE_TERM_RECEIVED]	 = "ERROR",
		[XIW_QPE_CLOSE_TIMEOUT]	 = "ERROR Ac",
		[XIW_QPE_RESET]		 = "IDLE Ac",
	},
};

static const char * const names[XIW_QPS_COUNT] = {
	[XIW_QPS_IDLE]		= "IDLE",
	[XIW_QPS_RTS]		= "RTS",
	[XIW_QPS_CLOSING]	= "CLOSING",
	[XIW_QPS_TERMINATE]	= "TERMINATE",
	[XIW_QPS_ERROR]		= "ERROR",
};

static void describe(const struct xiw_qp_step *step, char *out)
{
	static const char letters[] = "TFAtsredc";
	const char *name = names[step->next];
	unsigned int i;

	if (!step->legal) {
		*out++ = '-';
		*out = 0;
		return;
	}
	while (*name)
		*out++ = *name++;
	if (step->actions)
		*out++ = ' ';
	for (i = 0; letters[i]; i++)
		if (step->actions & BIT(i))
			*out++ = letters[i];
	*out = 0;
}

/* Covers: QPS-01 TERM-07 TERM-11 */
static void qpstate_every_pair(struct kunit *test)
{
	struct xiw_qp_step step;
	unsigned int s, e;
	char got[32];

	for (s = 0; s < XIW_QPS_COUNT; s++) {
		for (e = 0; e < XIW_QPE_COUNT; e++) {
			step = xiw_qpstate_step(s, e);
			describe(&step, got);
			KUNIT_EXPECT_STREQ(test, got, want[s][e]);
			if (step.legal)
				continue;
			KUNIT_EXPECT_EQ(test, (unsigned int)step.next, s);
			KUNIT_EXPECT_EQ(test, step.actions, 0U);
		}
	}
}

/* Covers: QPS-01 */
static void qpstate_refuses_strange_numbers(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, xiw_qpstate_step(XIW_QPS_COUNT, 0).legal);
	KUNIT_EXPECT_FALSE(test, xiw_qpstate_step(0, XIW_QPE_COUNT).legal);
	KUNIT_EXPECT_FALSE(test, xiw_qpstate_step(-1, -1).legal);
}

/*
 * Random events.  In any sequence of events of a stream: at most one Terminate
 * and none behind a FIN, everything posted is flushed before the ULP is
 * notified of the close, and the stream ends.
 */
static void live_once(struct kunit *test, struct rnd_state *rnd)
{
	enum xiw_qp_state state = XIW_QPS_RTS;
	bool flushed = false, timer = false;
	bool wanted = false, fin = false;
	struct xiw_qp_step step;
	unsigned int terms = 0;
	enum xiw_qp_event event;
	unsigned int i;

	for (i = 0; i < 40; i++) {
		event = prandom_u32_state(rnd) % XIW_QPE_RESET;
		/* A FIN is sent some time after it was requested. */
		if (wanted && !(prandom_u32_state(rnd) % 4))
			fin = true;
		/* The rule of xiw_stream_fault(). */
		if (state == XIW_QPS_CLOSING && event == XIW_QPE_FAULT && fin)
			event = XIW_QPE_FAULT_SILENT;
		step = xiw_qpstate_step(state, event);
		if (!step.legal)
			continue;
		if (step.actions & XIW_QPA_SEND_TERM) {
			terms++;
			KUNIT_EXPECT_FALSE(test, fin);
			/* No state may wait for the peer without a timer. */
			KUNIT_EXPECT_TRUE(test, step.actions &
						XIW_QPA_ARM_TIMER);
		}
		wanted |= !!(step.actions & XIW_QPA_SHUTDOWN);
		timer |= !!(step.actions & XIW_QPA_ARM_TIMER);
		if ((step.actions & XIW_QPA_FLUSH) == XIW_QPA_FLUSH)
			flushed = true;
		if (step.actions & XIW_QPA_CLOSE)
			KUNIT_EXPECT_TRUE(test, flushed);
		/* Only a reset leads back to IDLE. */
		KUNIT_EXPECT_NE(test, (int)step.next, (int)XIW_QPS_IDLE);
		if (state != XIW_QPS_RTS)
			KUNIT_EXPECT_NE(test, (int)step.next, (int)XIW_QPS_RTS);
		state = step.next;
		if (state == XIW_QPS_CLOSING || state == XIW_QPS_TERMINATE)
			KUNIT_EXPECT_TRUE(test, timer);
	}
	KUNIT_EXPECT_LE(test, terms, 1U);
	if (state == XIW_QPS_ERROR)
		KUNIT_EXPECT_TRUE(test, flushed);
	/* The timer ends all remaining states. */
	if (state == XIW_QPS_RTS)
		return;
	step = xiw_qpstate_step(state, XIW_QPE_CLOSE_TIMEOUT);
	KUNIT_EXPECT_TRUE(test, step.legal);
	KUNIT_EXPECT_EQ(test, (int)step.next, (int)XIW_QPS_ERROR);
	KUNIT_EXPECT_TRUE(test, step.actions & XIW_QPA_ABORT);
	KUNIT_EXPECT_TRUE(test, step.actions & XIW_QPA_CLOSE);
}

/* Covers: QPS-02 TERM-07 */
static void qpstate_random_lives(struct kunit *test)
{
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 5040);
	for (i = 0; i < 2000; i++)
		live_once(test, &rnd);
}

/* Covers: QPS-02 */
static void qpstate_reset_leaves_nothing(struct kunit *test)
{
	struct xiw_qp_step step;
	unsigned int s;

	for (s = 0; s < XIW_QPS_COUNT; s++) {
		step = xiw_qpstate_step(s, XIW_QPE_RESET);
		KUNIT_EXPECT_TRUE(test, step.legal);
		KUNIT_EXPECT_EQ(test, (int)step.next, (int)XIW_QPS_IDLE);
		/* A connection may exist in any state but the first. */
		KUNIT_EXPECT_EQ(test, !!(step.actions & XIW_QPA_ABORT),
				s != XIW_QPS_IDLE);
		KUNIT_EXPECT_FALSE(test, step.actions & XIW_QPA_FLUSH);
	}
}

static struct kunit_case qpstate_cases[] = {
	KUNIT_CASE(qpstate_every_pair),
	KUNIT_CASE(qpstate_refuses_strange_numbers),
	KUNIT_CASE(qpstate_random_lives),
	KUNIT_CASE(qpstate_reset_leaves_nothing),
	{}
};

static struct kunit_suite qpstate_suite = {
	.name = "xiw_qpstate",
	.test_cases = qpstate_cases,
};

kunit_test_suite(qpstate_suite);
