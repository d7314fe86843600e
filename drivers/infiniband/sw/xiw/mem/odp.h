/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Regions on demand: memory of a process that is not pinned (odp.c), requests
 * of a stream whose segment needs absent pages (page_in.c), and the work items
 * that may sleep in page faults, one per process (pager.c).
 *
 * An entry of mem.pages is NULL while the page is absent. It changes under
 * mem.lock, held for writing, so all bytes checked by xiw_mem_get() stay until
 * xiw_mem_put(). The engines call xiw_page_in_want() for each absent range of a
 * segment, then xiw_page_in_start(), and try the whole segment again when they
 * are called back. One request pages in all ranges of a segment, and each range
 * has a result of its own.
 *
 * Nothing waits for a fault, which may never be answered: a request has
 * references on its regions, and none on the stream.
 */
#ifndef _XIW_ODP_H
#define _XIW_ODP_H

#include <linux/errno.h>
#include <linux/list.h>
#include <linux/types.h>

#include "mem.h"

struct ib_sge;
struct mem_cgroup;
struct xiw_mem;
struct xiw_page_in;
struct xiw_pager;
struct xiw_stream;

/* odp.c */
enum xiw_odp_limits {
	/*
	 * Pages of a region: 64 GiB. The lists of this driver and of the core
	 * have 16 to 32 bytes per page. Only those of this driver are charged
	 * to the control group, which so limits the others, too.
	 */
	XIW_ODP_MAX_PAGES	= 16 * 1024 * 1024,
	/* Pages of one call of xiw_odp_page_in() */
	XIW_ODP_STEP_PAGES	= 512,
};

#if IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)
int xiw_odp_register(struct xiw_mem *mem, u64 start, u64 length, int access);
void xiw_odp_put(struct xiw_mem *mem);
struct xiw_pager *xiw_odp_pager(const struct xiw_mem *mem);
int xiw_odp_page_in(struct xiw_mem *mem, u64 offset, u64 len, int access,
		    bool fault);
#else
static inline int xiw_odp_register(struct xiw_mem *mem, u64 start, u64 length,
				   int access)
{
	return -EOPNOTSUPP;
}

static inline void xiw_odp_put(struct xiw_mem *mem)
{
}
#endif

/* page_in.c */
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

/* pager.c */
/**
 * struct xiw_pager_job - work for a pager
 * @run: called in process context until it returns false; then the job may be
 *	gone. Each call does a limited amount of work
 * @pager: pager, while @node is on its list, else NULL
 * @node: on that list, or empty
 */
struct xiw_pager_job {
	bool (*run)(struct xiw_pager_job *job);
	struct xiw_pager *pager;
	struct list_head node;
};

#if IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)
int xiw_pager_module_init(void);
void xiw_pager_module_exit(void);
#else
static inline int xiw_pager_module_init(void)
{
	return 0;
}

static inline void xiw_pager_module_exit(void)
{
}
#endif

struct xiw_pager *xiw_pager_get(void);
void xiw_pager_put(struct xiw_pager *pager);
bool xiw_pager_queue(struct xiw_pager *pager, struct xiw_pager_job *job,
		     u32 limit);
bool xiw_pager_cancel(struct xiw_pager_job *job);

#endif /* _XIW_ODP_H */
