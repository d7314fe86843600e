/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Pages for sending and receiving, charged to the process of the stream.
 */
#ifndef _XIW_PAGES_H
#define _XIW_PAGES_H

#include <linux/gfp_types.h>
#include <linux/types.h>

struct mem_cgroup;
struct page;

struct page *xiw_pages_alloc(struct mem_cgroup *memcg, gfp_t gfp, u32 order);
void *xiw_pages_calloc(struct mem_cgroup *memcg, gfp_t gfp, size_t n,
		       size_t size);
void *xiw_pages_alloc_linear(struct mem_cgroup *memcg, size_t len);

#endif /* _XIW_PAGES_H */
