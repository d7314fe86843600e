/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Copies between packets and memory that is accessed concurrently.
 */
#ifndef _XIW_COPY_H
#define _XIW_COPY_H

#include <linux/compiler.h>
#include <linux/string.h>
#include <linux/types.h>

/* Size of an aligned word, which is read or written in a single access */
#define XIW_COPY_WORD	sizeof(u64)

/*
 * Copied once: a process may change its ring, and a sender on this host a
 * packet, while they are read. What is checked and what is used later must be
 * the same value, so it is copied by this function, and only the copy is read.
 * Without the barrier the compiler may read @src again in place of @dst.
 */
static __always_inline void xiw_copy_once(void *dst, const void *src,
					  size_t len)
{
	memcpy(dst, src, len);
	barrier_data(dst);
}

void xiw_copy_in(void *dst, const void *src, size_t len);
void xiw_copy_out(void *dst, const void *src, size_t len);

#endif /* _XIW_COPY_H */
