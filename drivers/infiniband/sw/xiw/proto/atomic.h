/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _XIW_ATOMIC_H
#define _XIW_ATOMIC_H

#include "rdmap.h"

/*
 * Value to store for a FetchAdd. Each set bit of @mask is the top bit of a
 * field, and its carry is lost (RFC 7306 section 5.1.1).
 */
u64 xiw_atomic_fetch_add(u64 orig, u64 add, u64 mask);

/**
 * xiw_atomic_apply() - result of an Atomic Request
 * @r: decoded request
 * @orig: value in memory
 * @new: value to store, set only if the result is true
 *
 * The caller loops with compare-and-exchange until the store succeeds.
 * RFC 7306 section 5.1.
 *
 * Return: true if @new is to be stored, false if the comparison failed.
 */
bool xiw_atomic_apply(const struct xiw_atomic_req *r, u64 orig, u64 *new);

#endif /* _XIW_ATOMIC_H */
