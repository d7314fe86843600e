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

/**
 * xiw_ring_slot() - array index of a free-running index
 * @index: producer or consumer index
 * @size: entries, a power of two
 *
 * Context: Any.
 * Return: 0..@size - 1 whatever @index is.
 */
static inline u32 xiw_ring_slot(u32 index, u32 size)
{
	return index & (size - 1);
}

/**
 * xiw_ring_valid() - validate the indices of a ring
 * @prod: producer index
 * @cons: consumer index
 * @size: entries, a power of two
 *
 * Context: Any.
 * Return: false if the producer ran ahead by more than @size, that is, if one
 * of the two was corrupted.
 */
static inline bool xiw_ring_valid(u32 prod, u32 cons, u32 size)
{
	return (u32)(prod - cons) <= size;
}

/**
 * xiw_ring_used() - entries that can be consumed
 * @prod: producer index, possibly hostile
 * @cons: consumer index
 * @size: entries, a power of two
 *
 * Context: Any.
 * Return: 0..@size, even if the indices are corrupt.
 */
static inline u32 xiw_ring_used(u32 prod, u32 cons, u32 size)
{
	return min((u32)(prod - cons), size);
}

/**
 * xiw_ring_space() - entries that can be produced
 * @prod: producer index
 * @cons: consumer index, possibly hostile
 * @size: entries, a power of two
 *
 * Context: Any.
 * Return: 0..@size; 0 if the indices are corrupt.
 */
static inline u32 xiw_ring_space(u32 prod, u32 cons, u32 size)
{
	return size - xiw_ring_used(prod, cons, size);
}

/**
 * xiw_ring_run() - entries that lie contiguously in memory
 * @index: first of them
 * @count: number of entries requested
 * @size: entries, a power of two
 *
 * Context: Any.
 * Return: At most @count, up to the end of the array.
 */
static inline u32 xiw_ring_run(u32 index, u32 count, u32 size)
{
	return min(count, size - xiw_ring_slot(index, size));
}

#endif /* _XIW_RING_H */
