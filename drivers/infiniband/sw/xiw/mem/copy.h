/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Copies between packets and memory that is accessed concurrently.
 */
#ifndef _XIW_COPY_H
#define _XIW_COPY_H

#include <linux/types.h>

/* Size of an aligned word, which is read or written in a single access */
#define XIW_COPY_WORD	sizeof(u64)

void xiw_copy_in(void *dst, const void *src, size_t len);
void xiw_copy_out(void *dst, const void *src, size_t len);

#endif /* _XIW_COPY_H */
