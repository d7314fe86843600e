/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Unknown values for the analyzer, which takes a volatile for any value of its
 * type.
 */
#ifndef _PROVE_ANY_H
#define _PROVE_ANY_H

#include <__fc_builtin.h>
#include <stdlib.h>

#include "pure.h"

extern volatile u8 any_u8;
extern volatile u16 any_u16;
extern volatile u32 any_u32;
extern volatile u64 any_u64;

static inline bool any_bool(void)
{
	return any_u8 & 1;
}

/* A value from @least to @most, both of them included */
#define ANY_OF(least, most)	Frama_C_unsigned_int_interval(least, most)

/*
 * Makes every byte of the object at @p unknown. A bool then has values that no
 * bool may have: set each of them afterwards.
 */
#define ANY(p)	Frama_C_make_unknown((char *)(p), sizeof(*(p)))

/*
 * @len unknown bytes that end where their memory ends, so that a read behind
 * them is an alarm. @len has to be one value, as in a loop that is unrolled.
 */
#define ANY_MAX		1024

static u8 any_room[ANY_MAX];

static inline u8 *any_bytes(u32 len)
{
	/* To read a byte that was never written is an alarm as well. */
	if (!len)
		return malloc(1);
	Frama_C_make_unknown((char *)any_room, ANY_MAX);
	return any_room + (ANY_MAX - len);
}

#endif /* _PROVE_ANY_H */
