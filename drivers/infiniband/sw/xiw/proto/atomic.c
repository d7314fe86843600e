// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The arithmetic of RFC 7306 atomics on host-order values.  The caller
 * makes the access atomic.
 */
#include "atomic.h"

u64 xiw_atomic_fetch_add(u64 orig, u64 add, u64 mask)
{
	/*
	 * Add with the top bit of every field masked off, so that no carry
	 * leaves a field, then put the top bits back without a carry.
	 */
	return ((orig & ~mask) + (add & ~mask)) ^ ((orig ^ add) & mask);
}

bool xiw_atomic_apply(const struct xiw_atomic_req *r, u64 orig, u64 *new)
{
	if (r->aop == XIW_AOP_FETCH_ADD) {
		*new = xiw_atomic_fetch_add(orig, r->data, r->data_mask);
		return true;
	}
	if ((r->compare ^ orig) & r->compare_mask)
		return false;
	*new = (orig & ~r->data_mask) | (r->data & r->data_mask);
	return true;
}
