// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Distribution of transmit buffer blocks among streams.
 */
#include <kunit/test.h>
#include <linux/mm.h>

#include "llp/fpdu.h"

enum {
	TENANTS	= 3,
	/* No limit of data in flight per stream. */
	SNDBUF	= S32_MAX,
};

struct tenant {
	struct xiw_txbuf buf;
	u32 blocks;
};

static struct tenant *tenants_get(struct kunit *test,
				  struct xiw_txbuf_supply **supply)
{
	struct tenant *t = kunit_kcalloc(test, TENANTS, sizeof(*t), GFP_KERNEL);
	int i;

	*supply = kunit_kzalloc(test, sizeof(**supply), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_ASSERT_NOT_NULL(test, *supply);
	for (i = 0; i < TENANTS; i++) {
		xiw_txbuf_init(&t[i].buf, NULL, *supply);
		/* Account as if in a control group of its own. */
		t[i].buf.held_by = &(*supply)->held_by[i];
	}
	return t;
}

/* Send one more block, which TCP then references. */
static bool send_block(struct tenant *t)
{
	if (!xiw_txbuf_get(&t->buf, XIW_TXBUF_ORDER, SNDBUF, 0))
		return false;
	get_page(t->buf.page);
	t->blocks++;
	return true;
}

/* Send until there is no block; the peer acknowledges nothing. */
static void send_all(struct tenant *t)
{
	while (send_block(t))
		;
}

/* The peer acknowledges all blocks. */
static void acknowledge(struct tenant *t)
{
	struct page *page;

	list_for_each_entry(page, &t->buf.in_flight, lru)
		put_page(page);
	if (t->buf.page)
		put_page(t->buf.page);
}

static void end_all(struct kunit *test, struct tenant *t,
		    struct xiw_txbuf_supply *supply)
{
	int i;

	for (i = 0; i < TENANTS; i++) {
		acknowledge(&t[i]);
		xiw_txbuf_drop(&t[i].buf);
		KUNIT_EXPECT_EQ(test, atomic_long_read(&supply->held_by[i]),
				0L);
	}
	KUNIT_EXPECT_EQ(test, atomic_long_read(&supply->held), 0L);
}

/* A stream without acknowledgements does not reduce the share of others. */
static void txbuf_tenants(struct kunit *test)
{
	struct xiw_txbuf_supply *supply;
	struct tenant *t = tenants_get(test, &supply);

	send_all(&t[0]);
	KUNIT_EXPECT_GT(test, t[0].blocks, 0);
	send_all(&t[1]);
	KUNIT_EXPECT_GE(test, t[1].blocks, t[0].blocks / 2);
	send_all(&t[2]);
	KUNIT_EXPECT_GE(test, t[2].blocks, t[0].blocks / 4);
	KUNIT_EXPECT_GT(test, t[2].blocks, 0);
	end_all(test, t, supply);
}

/* Acknowledged blocks are reused, also when the pool is exhausted. */
static void txbuf_again(struct kunit *test)
{
	struct xiw_txbuf_supply *supply;
	struct tenant *t = tenants_get(test, &supply);
	u32 blocks;
	long held;

	send_all(&t[0]);
	blocks = t[0].blocks;
	held = atomic_long_read(&supply->held);
	KUNIT_EXPECT_FALSE(test, send_block(&t[0]));
	KUNIT_EXPECT_EQ(test, atomic_long_read(&supply->held), held);
	acknowledge(&t[0]);
	while (t[0].blocks < 2 * blocks)
		KUNIT_ASSERT_TRUE(test, send_block(&t[0]));
	KUNIT_EXPECT_EQ(test, atomic_long_read(&supply->held), held);
	end_all(test, t, supply);
}

static struct kunit_case txbuf_cases[] = {
	KUNIT_CASE(txbuf_tenants),
	KUNIT_CASE(txbuf_again),
	{}
};

static struct kunit_suite txbuf_suite = {
	.name = "xiw_txbuf",
	.test_cases = txbuf_cases,
};

kunit_test_suite(txbuf_suite);
