// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Atomic arithmetic against tables and against the bit-by-bit
 * procedures of RFC 7306 section 5.1.
 */
#include <linux/kernel.h>
#include <linux/prandom.h>

#include "../atomic.h"
#include "util.h"

/* Before, Add Data, Add Mask, after. */
static const u64 add_rows[][4] = {
	{ 0x0000000000000010, 0x0000000000000005, 0x0000000000000000,
	  0x0000000000000015 },
	{ 0xffffffffffffffff, 0x0000000000000001, 0x0000000000000000,
	  0x0000000000000000 },
	{ 0x00000000ffffffff, 0x0000000000000001, 0x0000000000000000,
	  0x0000000100000000 },
	{ 0x00000000ffffffff, 0x0000000000000001, 0x0000000080000000,
	  0x0000000000000000 },
	{ 0x00000001ffffffff, 0x0000000100000001, 0x8000000080000000,
	  0x0000000200000000 },
	{ 0xffffffffffffffff, 0x0000000100000001, 0x8000000080000000,
	  0x0000000000000000 },
	{ 0x00ff00ff00ff00ff, 0x0101010101010101, 0x8080808080808080,
	  0x0100010001000100 },
	{ 0x7fff7fff7fff7fff, 0x0001000100010001, 0x8000800080008000,
	  0x8000800080008000 },
	{ 0xffff0001ffff0001, 0x0001ffff0001ffff, 0x8000800080008000,
	  0x0000000000000000 },
	{ 0x0123456789abcdef, 0xfedcba9876543210, 0xffffffffffffffff,
	  0xffffffffffffffff },
	{ 0xffffffffffffffff, 0xffffffffffffffff, 0xffffffffffffffff,
	  0x0000000000000000 },
	{ 0xffffffffffffffff, 0x0000000000000001, 0x8000000000000000,
	  0x0000000000000000 },
	{ 0x0000000000000001, 0x0000000000000001, 0x0000000000000001,
	  0x0000000000000000 },
	{ 0x123456789abcdef0, 0x0000000000000000, 0x0000000000000000,
	  0x123456789abcdef0 },
	{ 0x0000000000000005, 0xfffffffffffffffd, 0x0000000000000000,
	  0x0000000000000002 },
	{ 0x000000ffffffffff, 0x0000000000000001, 0x0000008000000000,
	  0x0000000000000000 },
};

/* Before, Swap Data, Swap Mask, Compare Data, Compare Mask, after. */
static const u64 swap_rows[][6] = {
	{ 0x0000000000000001, 0x0000000000000002, 0xffffffffffffffff,
	  0x0000000000000001, 0xffffffffffffffff, 0x0000000000000002 },
	{ 0x0000000000000003, 0x0000000000000002, 0xffffffffffffffff,
	  0x0000000000000001, 0xffffffffffffffff, 0x0000000000000003 },
	{ 0xaabbccddeeff0011, 0x1122334455667788, 0xffffffffffffffff,
	  0xaabbccddeeff0011, 0xffffffffffffffff, 0x1122334455667788 },
	{ 0x12345678ab9abcde, 0x00000000000000ff, 0x00000000000000ff,
	  0x00000000ab000000, 0x00000000ff000000, 0x12345678ab9abcff },
	{ 0x12345678ac9abcde, 0x00000000000000ff, 0x00000000000000ff,
	  0x00000000ab000000, 0x00000000ff000000, 0x12345678ac9abcde },
	{ 0x0123456789abcdef, 0xffffffffffffffff, 0x00000000ffffffff,
	  0x0000000000000000, 0x0000000000000000, 0x01234567ffffffff },
	{ 0x0123456789abcdef, 0xffffffffffffffff, 0x0000000000000000,
	  0x0123456789abcdef, 0xffffffffffffffff, 0x0123456789abcdef },
	{ 0x0123456789abcdef, 0xffffffffffffffff, 0x0000000000000000,
	  0x0000000000000000, 0x0000000000000000, 0x0123456789abcdef },
	{ 0x8000000000000000, 0x0000000000000000, 0x8000000000000000,
	  0x8000000000000000, 0x8000000000000000, 0x0000000000000000 },
	{ 0x0000000000000000, 0x0000000000000001, 0x0000000000000001,
	  0x0000000000000000, 0x0000000000000001, 0x0000000000000001 },
	{ 0x0000000000000001, 0x0000000000000001, 0x0000000000000001,
	  0x0000000000000000, 0x0000000000000001, 0x0000000000000001 },
	{ 0xdeadbeef00000007, 0xcafef00d00000000, 0xffffffff00000000,
	  0x0000000000000007, 0x00000000ffffffff, 0xcafef00d00000007 },
	{ 0xdeadbeef00000007, 0xcafef00dffffffff, 0xffff0000ffff0000,
	  0xffffffff00000007, 0x00000000ffffffff, 0xcafebeefffff0007 },
	{ 0xffffffffffffffff, 0x5555555555555555, 0x0f0f0f0f0f0f0f0f,
	  0xffffffffffffffff, 0xffffffffffffffff, 0xf5f5f5f5f5f5f5f5 },
	{ 0x0000000000000000, 0x1122334455667788, 0xffffffffffffffff,
	  0x0000000000000000, 0xfffffffffffffffe, 0x1122334455667788 },
};

/* Covers: ATOM-07 ATOM-08 */
static void atomic_fetch_add_rows(struct kunit *test)
{
	struct xiw_atomic_req r = {
		.aop = XIW_AOP_FETCH_ADD,
		.compare_mask = U64_MAX,
	};
	unsigned int i;
	u64 new;

	for (i = 0; i < ARRAY_SIZE(add_rows); i++) {
		KUNIT_EXPECT_EQ_MSG(test, xiw_atomic_fetch_add(add_rows[i][0],
							       add_rows[i][1],
							       add_rows[i][2]),
				    add_rows[i][3], "row %u", i + 1);
		/* FetchAdd ignores the compare fields. */
		r.data = add_rows[i][1];
		r.data_mask = add_rows[i][2];
		r.compare = ~add_rows[i][0];
		KUNIT_EXPECT_TRUE(test, xiw_atomic_apply(&r, add_rows[i][0],
							 &new));
		KUNIT_EXPECT_EQ_MSG(test, new, add_rows[i][3], "row %u", i + 1);
	}
}

/* Covers: ATOM-09 ATOM-10 */
static void atomic_cmp_swap_rows(struct kunit *test)
{
	struct xiw_atomic_req r = { .aop = XIW_AOP_CMP_SWAP };
	unsigned int i;
	bool match;
	u64 new;

	for (i = 0; i < ARRAY_SIZE(swap_rows); i++) {
		r.data = swap_rows[i][1];
		r.data_mask = swap_rows[i][2];
		r.compare = swap_rows[i][3];
		r.compare_mask = swap_rows[i][4];
		match = (swap_rows[i][0] & r.compare_mask) ==
			(r.compare & r.compare_mask);
		new = swap_rows[i][0];
		KUNIT_EXPECT_EQ_MSG(test, xiw_atomic_apply(&r, swap_rows[i][0],
							   &new),
				    match, "row %u", i + 1);
		KUNIT_EXPECT_EQ_MSG(test, new, swap_rows[i][5], "row %u",
				    i + 1);
	}
}

/* One full adder per bit; a set mask bit drops the carry out of its bit. */
static u64 naive_fetch_add(u64 orig, u64 add, u64 mask)
{
	unsigned int carry = 0;
	unsigned int sum, bit;
	u64 result = 0;

	for (bit = 0; bit < 64; bit++) {
		sum = (orig >> bit & 1) + (add >> bit & 1) + carry;
		result |= (u64)(sum & 1) << bit;
		carry = mask >> bit & 1 ? 0 : sum >> 1;
	}
	return result;
}

static u64 random_u64(struct rnd_state *rnd)
{
	u64 high = prandom_u32_state(rnd);

	return high << 32 | prandom_u32_state(rnd);
}

/* Covers: ATOM-07 ATOM-08 ATOM-10 */
static void atomic_matches_naive_models(struct kunit *test)
{
	struct xiw_atomic_req r = { .aop = XIW_AOP_CMP_SWAP };
	struct rnd_state rnd;
	unsigned int i, bit;
	u64 orig, new, want;
	bool match;

	prandom_seed_state(&rnd, 7306);
	for (i = 0; i < 2000; i++) {
		orig = random_u64(&rnd);
		r.data = random_u64(&rnd);
		r.data_mask = random_u64(&rnd) & random_u64(&rnd);
		KUNIT_EXPECT_EQ(test, xiw_atomic_fetch_add(orig, r.data,
							   r.data_mask),
				naive_fetch_add(orig, r.data, r.data_mask));

		/* Compare few bits, so that about half of the rows match. */
		r.compare = random_u64(&rnd);
		r.compare_mask = BIT_ULL(i % 64);
		match = !((orig ^ r.compare) >> (i % 64) & 1);
		want = 0;
		for (bit = 0; bit < 64; bit++)
			want |= ((r.data_mask >> bit & 1 ? r.data : orig) >>
				 bit & 1) << bit;
		KUNIT_EXPECT_EQ(test, xiw_atomic_apply(&r, orig, &new), match);
		if (match)
			KUNIT_EXPECT_EQ(test, new, want);
	}
}

static struct kunit_case atomic_cases[] = {
	KUNIT_CASE(atomic_fetch_add_rows),
	KUNIT_CASE(atomic_cmp_swap_rows),
	KUNIT_CASE(atomic_matches_naive_models),
	{}
};

static struct kunit_suite atomic_suite = {
	.name = "xiw_atomic",
	.test_cases = atomic_cases,
};

kunit_test_suite(atomic_suite);
