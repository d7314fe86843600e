// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory of a stream is charged to the control group of the process that
 * created the queue pair, in any context. The queue pair has a reference on the
 * group, so softirqs can charge it, too. Kernel ULPs are not charged.
 */
#include "pages.h"

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

/**
 * xiw_pages_alloc() - allocate contiguous pages
 * @memcg: control group to charge, or NULL
 * @gfp: flags that do not permit to sleep
 * @order: log2 of the pages wanted
 *
 * Context: Any but hardirq.
 * Return: Pages, or NULL.
 */
struct page *xiw_pages_alloc(struct mem_cgroup *memcg, gfp_t gfp, u32 order)
{
	struct mem_cgroup *old;
	struct page *page;

	if (!memcg)
		return alloc_pages(gfp, order);
	old = set_active_memcg(memcg);
	page = alloc_pages(gfp | __GFP_ACCOUNT, order);
	set_active_memcg(old);
	return page;
}

/**
 * xiw_pages_calloc() - allocate a zeroed array
 * @memcg: control group to charge, or NULL
 * @gfp: flags
 * @n: elements
 * @size: bytes of each
 *
 * Context: That of @gfp, but no hardirq.
 * Return: Memory for kvfree(), or NULL.
 */
void *xiw_pages_calloc(struct mem_cgroup *memcg, gfp_t gfp, size_t n,
		       size_t size)
{
	struct mem_cgroup *old;
	void *p;

	if (!memcg)
		return kvcalloc(n, size, gfp);
	old = set_active_memcg(memcg);
	p = kvcalloc(n, size, gfp | __GFP_ACCOUNT);
	set_active_memcg(old);
	return p;
}

/**
 * xiw_pages_alloc_linear() - allocate virtually contiguous memory
 * @memcg: control group to charge, or NULL
 * @len: bytes
 *
 * Context: Sleeps.
 * Return: Memory for kvfree(), or NULL.
 */
void *xiw_pages_alloc_linear(struct mem_cgroup *memcg, size_t len)
{
	struct mem_cgroup *old = set_active_memcg(memcg);
	void *p = kvmalloc(len, GFP_KERNEL_ACCOUNT);

	set_active_memcg(old);
	return p;
}
