/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Arithmetic on free-running 32-bit ring indices.  A ring has a power-of-two
 * number of entries; producer and consumer indices are never reset and wrap
 * modulo 2^32.  The other side of a ring may be hostile: every function takes
 * values that were loaded once, and none trusts their distance.  Loads, stores
 * and barriers are up to the callers.
 */
#ifndef _XIW_RING_H
#define _XIW_RING_H

#include "pure.h"

/*
 * False if the producer ran ahead by more than @size: an index was corrupted.
 * @size, here and below, is the number of entries, a power of two.
 */
static inline bool xiw_ring_valid(u32 prod, u32 cons, u32 size)
{
	return (u32)(prod - cons) <= size;
}

/* Entries that can be consumed, 0..@size even if the indices are corrupt */
static inline u32 xiw_ring_used(u32 prod, u32 cons, u32 size)
{
	return min((u32)(prod - cons), size);
}

/* Entries that can be produced, 0..@size; 0 if the indices are corrupt */
static inline u32 xiw_ring_space(u32 prod, u32 cons, u32 size)
{
	return size - xiw_ring_used(prod, cons, size);
}

#endif /* _XIW_RING_H */
