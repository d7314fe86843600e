// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The time of a user's Initiators: what ends gives it back, and a user without
 * Initiators does not get a new one.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "oob/oob.h"
#include "qp/ep.h"

enum {
	TRY_MS	= 100,		/* cost of a long try, see oob_gate.c */
	MANY	= 20000,	/* Initiators that end before their time */
};

static struct xiw_ep *gate_begin(struct kunit *test)
{
	struct xiw_ep *ep = kunit_kzalloc(test, sizeof(*ep), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ep);
	INIT_LIST_HEAD(&ep->gate.node);
	KUNIT_ASSERT_EQ(test, xiw_oob_gate_init(ep), 0);
	return ep;
}

static void gate_end(struct kunit *test, struct xiw_ep *ep)
{
	xiw_oob_gate_exit(ep);
	kunit_kfree(test, ep);
}

/* Milliseconds until a new Initiator may try; one that may fails at once. */
static u32 gate_ask(struct kunit *test)
{
	struct xiw_ep *ep = gate_begin(test);
	u32 wait = xiw_oob_gate_enter(ep, false);

	if (!wait)
		xiw_oob_gate_leave(ep);
	gate_end(test, ep);
	return wait;
}

/*
 * Makes tries, each as long as it may be, until the user has to wait; returns
 * how many that were. Short ones would do on a fast machine only, as a user may
 * make 2000 a second.
 */
static u32 gate_use_up(struct kunit *test)
{
	struct xiw_ep *ep = gate_begin(test);
	u32 n = 0;

	while (!xiw_oob_gate_enter(ep, false)) {
		xiw_oob_gate_charge(ep, ktime_get_ns() - NSEC_PER_SEC);
		xiw_oob_gate_leave(ep);
		n++;
		KUNIT_ASSERT_LT(test, n, 1000);
	}
	gate_end(test, ep);
	return n;
}

/* The Initiators that end do not delay the next one. */
static void gate_gives_back(struct kunit *test)
{
	u32 wait;
	u32 i;

	gate_use_up(test);
	wait = gate_ask(test);
	for (i = 0; i < MANY; i++)
		gate_ask(test);
	KUNIT_EXPECT_LE(test, gate_ask(test), wait + 1);
}

/* The end of a user's last Initiator does not permit a new burst of tries. */
static void gate_remembers(struct kunit *test)
{
	u64 begin;
	u64 most;
	u32 n;

	gate_use_up(test);
	begin = ktime_get_ns();
	n = gate_use_up(test);
	most = 1 + div_u64(ktime_get_ns() - begin, TRY_MS * NSEC_PER_MSEC);
	KUNIT_EXPECT_LE(test, n, most);
}

static struct kunit_case gate_cases[] = {
	KUNIT_CASE(gate_gives_back),
	KUNIT_CASE(gate_remembers),
	{}
};

static struct kunit_suite gate_suite = {
	.name = "xiw_oob_gate",
	.test_cases = gate_cases,
};

kunit_test_suite(gate_suite);
