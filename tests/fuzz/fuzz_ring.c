// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Ring indices: those of two honest sides are compared with counters that never
 * wrap, and those of a hostile side have any value.
 */
#include "fuzz.h"
#include "ring.h"

/* Both sides move their indices by valid steps. */
static void honest(struct fuzz_in *in, u32 size, u32 start)
{
	u64 prod = start, cons = start;

	while (in->left) {
		u32 want = fuzz_edge(in);
		u32 space = xiw_ring_space(prod, cons, size);
		u32 used = xiw_ring_used(prod, cons, size);

		CHECK(xiw_ring_valid(prod, cons, size));
		CHECK(used == prod - cons && space == size - used);
		if (want & 1)
			prod += min(want, space);
		else
			cons += min(want, used);
		CHECK(prod - cons <= size);
	}
}

static void hostile(struct fuzz_in *in, u32 size)
{
	u32 prod = fuzz_edge(in), cons = fuzz_edge(in);
	u32 used = xiw_ring_used(prod, cons, size);

	CHECK(used <= size);
	CHECK(xiw_ring_space(prod, cons, size) == size - used);
	CHECK(xiw_ring_valid(prod, cons, size) == ((u32)(prod - cons) <= size));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u8 how = fuzz_u8(&in);
	u32 entries = 1U << (how >> 1 & 0x1f);

	if (how & 1)
		honest(&in, entries, fuzz_edge(&in));
	else
		hostile(&in, entries);
	return 0;
}
