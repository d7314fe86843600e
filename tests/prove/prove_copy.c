// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Copies into and out of registered memory (copy.c) of every length up to 20
 * bytes, and of some that take all steps, at unknown alignment. Both sides end
 * where their memory ends. "rep movsq" of x86-64 is not a part of it.
 *
 * Includes: mem/copy
 */
#include "any.h"

/* As on a processor that loads words at any address */
#undef IS_ENABLED
#define IS_ENABLED(CONFIG_name)	1
#define smp_wmb()	((void)0) /* one thread needs none */
#define round_down(a, b)	((a) - (a) % (b))
#include "mem/copy.c"

#define COPY_MOST	20

static u8 copy_room[ANY_MAX];

static void copy_len(u32 len)
{
	u8 *to = copy_room + (ANY_MAX - len);

	xiw_copy_in(to, any_bytes(len), len);
	xiw_copy_out(to, any_bytes(len), len);
}

int main(void)
{
	u32 len;

	/*@ loop unroll ANY_MAX; */
	for (len = 1; len <= COPY_MOST; len++)
		copy_len(len);
	copy_len(33);
	copy_len(40);
	copy_len(47);
	return 0;
}
