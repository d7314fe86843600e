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
			KUNIT_EXPECT_LT(test, xiw_ring_slot(cons + bad[i],
							    size), size);
		}
	}
}

/* Covers: RING-03 */
static void ring_runs_end_at_the_array(struct kunit *test)
{
	u32 index, count, k;

	for (index = U32_MAX - 20; index != 20; index++) {
		for (count = 0; count <= 8; count++) {
			u32 run = xiw_ring_run(index, count, 8);

			KUNIT_EXPECT_LE(test, run, count);
			KUNIT_EXPECT_LE(test, xiw_ring_slot(index, 8) + run,
					8U);
			if (run < count)
				KUNIT_EXPECT_EQ(test,
						xiw_ring_slot(index + run, 8),
						0U);
			for (k = 0; k < run; k++)
				KUNIT_EXPECT_EQ(test,
						xiw_ring_slot(index + k, 8),
						xiw_ring_slot(index, 8) + k);
		}
	}
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(ring_counts_across_the_wrap),
	KUNIT_CASE(ring_hostile_indices_are_bounded),
	KUNIT_CASE(ring_runs_end_at_the_array),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "xiw_ring",
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);
