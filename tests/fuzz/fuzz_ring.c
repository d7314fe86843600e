// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Ring indices: an honest pair of sides against counters that never wrap, and
 * any index at all from a hostile one.
 */
#include "fuzz.h"
#include "ring.h"

/* Both sides move their indices as they should. */
static void honest(struct fuzz_in *in, u32 size, u32 start)
{
	u64 prod = start, cons = start;

	while (in->left) {
		u32 want = fuzz_edge(in);
		u32 space = xiw_ring_space(prod, cons, size);
		u32 used = xiw_ring_used(prod, cons, size);
		u32 run;

		CHECK(xiw_ring_valid(prod, cons, size));
		CHECK(used == prod - cons && space == size - used);
		if (want & 1) {
			run = xiw_ring_run(prod, min(want, space), size);
			CHECK(run || !space);
			prod += run;
		} else {
			run = xiw_ring_run(cons, min(want, used), size);
			CHECK(run || !used || !want);
			cons += run;
		}
		CHECK(prod - cons <= size);
	}
}

static void hostile(struct fuzz_in *in, u32 size)
{
	u32 prod = fuzz_edge(in), cons = fuzz_edge(in);
	u32 count = fuzz_edge(in);
	u32 used = xiw_ring_used(prod, cons, size);
	u32 run = xiw_ring_run(cons, count, size);

	CHECK(used <= size);
	CHECK(xiw_ring_space(prod, cons, size) == size - used);
	CHECK(xiw_ring_valid(prod, cons, size) == ((u32)(prod - cons) <= size));
	CHECK(xiw_ring_slot(cons, size) == cons % size);
	CHECK(run <= count && (u64)(cons % size) + run <= size);
	CHECK(run == count || cons % size + run == size);
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
