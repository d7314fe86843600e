// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Ring index arithmetic: wrap-around, full and empty, and indices that a
 * hostile process wrote.
 */
#include <linux/kernel.h>

#include "../ring.h"
#include "util.h"

/* Covers: RING-01 */
static void ring_counts_across_the_wrap(struct kunit *test)
{
	static const u32 starts[] = { 0, 1, 7, 8, 0x7fffffff, U32_MAX - 4,
				      U32_MAX };
	u32 cons, fill, size;
	unsigned int i;

	for (size = 1; size <= 16; size *= 2) {
		for (i = 0; i < ARRAY_SIZE(starts); i++) {
			cons = starts[i];
			for (fill = 0; fill <= size; fill++) {
				KUNIT_EXPECT_TRUE(test,
						  xiw_ring_valid(cons + fill,
								 cons, size));
				KUNIT_EXPECT_EQ(test,
						xiw_ring_used(cons + fill, cons,
							      size), fill);
				KUNIT_EXPECT_EQ(test,
						xiw_ring_space(cons + fill,
							       cons, size),
						size - fill);
			}
		}
	}
}

/* Covers: RING-02 */
static void ring_hostile_indices_are_bounded(struct kunit *test)
{
	static const u32 bad[] = { 9, 10, 255, 0x7fffffff, 0x80000000,
				   U32_MAX - 1, U32_MAX };
	const u32 size = 8;
	unsigned int i;
	u32 cons;

	for (cons = U32_MAX - 8; cons != 8; cons++) {
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			KUNIT_EXPECT_FALSE(test, xiw_ring_valid(cons + bad[i],
								cons, size));
			KUNIT_EXPECT_EQ(test, xiw_ring_used(cons + bad[i], cons,
							    size), size);
			KUNIT_EXPECT_EQ(test, xiw_ring_space(cons + bad[i],
							     cons, size), 0U);
		}
	}
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(ring_counts_across_the_wrap),
	KUNIT_CASE(ring_hostile_indices_are_bounded),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "xiw_ring",
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);
