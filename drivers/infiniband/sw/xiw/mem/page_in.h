/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Page-in: what a side of a stream does when it finds pages absent.
 *
 * The engines call xiw_page_in_want() for each absent range of a segment, then
 * xiw_page_in_start(), and try the whole segment again when they are called
 * back. All ranges of a segment are paged in by one request, and each has a
 * result of its own.
 */
#ifndef _XIW_PAGE_IN_H
#define _XIW_PAGE_IN_H

#include <linux/errno.h>
#include <linux/types.h>

#include "mem.h"

struct ib_sge;
struct mem_cgroup;
struct xiw_page_in;
struct xiw_stream;

/**
 * struct xiw_page_wait - wait of one side of a stream; owner: that of the side
 * @s: stream
 * @memcg: control group to charge for @req and @next, or NULL
 * @again: runs that side again, after a number of jiffies. Any context
 * @pos: position in the stream to which @req and @next belong; their results
 *	mean nothing in another one
 * @req: request that is queued, or was executed; else NULL
 * @next: request that is being filled, else NULL
 */
struct xiw_page_wait {
	struct xiw_stream *s;
	struct mem_cgroup *memcg;
	void (*again)(struct xiw_stream *s, unsigned long delay);
	u64 pos;
	struct xiw_page_in *req;
	struct xiw_page_in *next;
};

#if IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)
enum xiw_mem_status xiw_page_in_want(struct xiw_page_wait *wait, u64 pos,
				     struct xiw_mem_cache *cache, u32 stag,
				     int access, u64 addr, u64 len);
void xiw_page_in_start(struct xiw_page_wait *wait);
bool xiw_page_in_waits(const struct xiw_page_wait *wait);
void xiw_page_in_stop(struct xiw_page_wait *wait);
int xiw_page_in_advise(struct xiw_mem_cache *cache, const struct ib_sge *sge,
		       u32 num_sge, int access, bool fault, bool flush);
#else
/* Without on-demand paging no range is absent. */
static inline enum xiw_mem_status
xiw_page_in_want(struct xiw_page_wait *wait, u64 pos,
		 struct xiw_mem_cache *cache, u32 stag, int access, u64 addr,
		 u64 len)
{
	return XIW_MEM_BOUNDS;
}

static inline void xiw_page_in_start(struct xiw_page_wait *wait)
{
}

static inline bool xiw_page_in_waits(const struct xiw_page_wait *wait)
{
	return false;
}

static inline void xiw_page_in_stop(struct xiw_page_wait *wait)
{
}

static inline int xiw_page_in_advise(struct xiw_mem_cache *cache,
				     const struct ib_sge *sge, u32 num_sge,
				     int access, bool fault, bool flush)
{
	return -EOPNOTSUPP;
}
#endif

/* Sets up a wait of @s; see struct xiw_page_wait. */
static inline void
xiw_page_wait_init(struct xiw_page_wait *wait, struct xiw_stream *s,
		   struct mem_cgroup *memcg,
		   void (*again)(struct xiw_stream *s, unsigned long delay))
{
	wait->s = s;
	wait->memcg = memcg;
	wait->again = again;
	wait->req = NULL;
	wait->next = NULL;
}

#endif /* _XIW_PAGE_IN_H */
