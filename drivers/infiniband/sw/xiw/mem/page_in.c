// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Requests to page in memory on demand, by a side of a stream or by a process
 * (ibv_advise_mr). A pager executes them.
 *
 * A side of a stream waits without a limit of time, and nothing waits for the
 * request: it has a reference on each region, but none on the stream. When the
 * stream stops it leaves the request (@wait is NULL), which may then still
 * sleep in a fault.
 *
 * The members of a request belong to its creator until it is queued, then to
 * the pager, and when @done is set to the creator again.
 */
#include "odp.h"

#include <kunit/visibility.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <rdma/xiw-abi.h>

#include "txbuf.h"

/* Delay after an error that may be transient */
#define PAGE_IN_RETRY		(HZ / 50 + 1)
/* Requests that wait for a pager, from which on prefetches fail */
#define PAGE_IN_MAX_ADVICE	16
/*
 * A fault of a prefetch may sleep for ever, but the removal of the device waits
 * for the system call.
 */
#define PAGE_IN_ADVICE_WAIT	(10 * HZ)

/**
 * struct page_range - range of a region, wanted or paged in
 * @mem: region, with a reference until the request is done
 * @offset: its first byte, from the beginning of the region
 * @todo: first byte, from @offset, that was not paged in yet
 * @stag: the range as its user names it, like all that follows
 * @access: rights needed
 * @addr: first byte
 * @len: bytes
 * @err: result
 */
struct page_range {
	struct xiw_mem *mem;
	u64 offset;
	u64 todo;
	u32 stag;
	int access;
	u64 addr;
	u64 len;
	int err;
};

/**
 * struct xiw_page_in - request to page in memory
 * @job: for the pager
 * @refs: references of the creator and, from when it is queued, of the pager
 * @lock: protects @wait, and is held while that is called. So a request with a
 *	@wait is dropped by page_in_leave() only, also one that is done
 * @wait: side of a stream that waits, else NULL
 * @advice: it is a prefetch, executed whether or not its process waits
 * @fault: fault in absent pages
 * @done: all ranges have results
 * @complete: the same, for a process that waits
 * @next: range that the pager pages in
 * @room: number of ranges that fit into @range
 * @count: number of ranges
 * @range: ranges
 */
struct xiw_page_in {
	struct xiw_pager_job job;
	refcount_t refs;
	spinlock_t lock; /* see above */
	struct xiw_page_wait *wait;
	bool advice;
	bool fault;
	bool done;
	struct completion complete;
	u32 next;
	u32 room;
	u32 count;
	struct page_range range[];
};

static bool page_in_is_transient(int err)
{
	return err == -ENOMEM || err == -EINTR || err == -EAGAIN ||
	       err == -EBUSY;
}

static void page_in_put(struct xiw_page_in *req)
{
	if (refcount_dec_and_test(&req->refs))
		kvfree(req);
}

static bool page_in_is_wanted(struct xiw_page_in *req)
{
	bool wanted;

	spin_lock_bh(&req->lock);
	wanted = req->wait || req->advice;
	spin_unlock_bh(&req->lock);
	return wanted;
}

/* Drops the references of the ranges. Sleeps. */
static void page_in_put_ranges(struct xiw_page_in *req)
{
	u32 i;

	for (i = 0; i < req->count; i++) {
		if (req->range[i].mem)
			xiw_odp_put(req->range[i].mem);
		req->range[i].mem = NULL;
	}
}

/* Reports the end of a request, and drops the reference of the pager. */
static void page_in_finish(struct xiw_page_in *req)
{
	unsigned long delay = 0;
	u32 i;

	page_in_put_ranges(req);
	for (i = 0; i < req->count; i++)
		if (page_in_is_transient(req->range[i].err))
			delay = PAGE_IN_RETRY;
	spin_lock_bh(&req->lock);
	/* Pairs with the acquire in xiw_page_in_waits(). */
	smp_store_release(&req->done, true);
	if (req->wait)
		req->wait->again(req->wait->s, delay);
	spin_unlock_bh(&req->lock);
	complete_all(&req->complete);
	page_in_put(req);
}

/* Pages in a part of a range; returns the number of its pages. */
static u32 page_in_step(struct xiw_page_in *req, u32 most)
{
	struct page_range *r = &req->range[req->next];
	u64 in_page = (r->mem->first_off + r->offset + r->todo) &
		      (PAGE_SIZE - 1);
	u64 len = min_t(u64, r->len - r->todo, most * PAGE_SIZE - in_page);

	r->err = xiw_odp_page_in(r->mem, r->offset + r->todo, len, r->access,
				 req->fault);
	r->todo += len;
	if (r->err || r->todo == r->len)
		req->next++;
	return DIV_ROUND_UP(in_page + len, PAGE_SIZE);
}

/*
 * A job: executes a part of a request, for a stream at least a range. A failure
 * of one range does not affect the others.
 */
static bool page_in_run(struct xiw_pager_job *job)
{
	struct xiw_page_in *req = container_of(job, struct xiw_page_in, job);
	u32 left = XIW_ODP_STEP_PAGES;

	while (req->next < req->count && left && page_in_is_wanted(req))
		left -= page_in_step(req, left);
	if (req->next < req->count && !left && page_in_is_wanted(req))
		return true;
	page_in_finish(req);
	return false;
}

/* A request for up to @ranges ranges, charged to @memcg */
static struct xiw_page_in *page_in_alloc(struct mem_cgroup *memcg, u32 ranges,
					 gfp_t gfp)
{
	struct xiw_page_in *req;

	req = xiw_pages_calloc(memcg, gfp, 1, struct_size(req, range, ranges));
	if (!req)
		return NULL;
	req->room = ranges;
	req->job.run = page_in_run;
	INIT_LIST_HEAD(&req->job.node);
	refcount_set(&req->refs, 1);
	spin_lock_init(&req->lock);
	init_completion(&req->complete);
	req->fault = true;
	return req;
}

static bool page_in_queue(struct xiw_page_in *req, u32 limit)
{
	refcount_inc(&req->refs);
	if (xiw_pager_queue(xiw_odp_pager(req->range[0].mem), &req->job, limit))
		return true;
	page_in_put(req);
	return false;
}

/* Adds a range, if it is in memory on demand. Other memory is present. */
static void page_in_add(struct xiw_page_in *req, struct xiw_mem_cache *cache,
			u32 stag, int access, u64 addr, u64 len)
{
	struct page_range *r = &req->range[req->count];

	r->mem = xiw_mem_hold(cache, stag, access, addr, len, &r->offset);
	if (!r->mem)
		return;
	r->stag = stag;
	r->access = access;
	r->addr = addr;
	r->len = len;
	req->count++;
}

/*
 * Makes room for another range in wait->next, which is not queued. Most
 * segments have one absent range, so a request begins with that, and grows up
 * to XIW_ABI_MAX_SGE. False without memory, or if it has as many.
 */
static bool page_in_make_room(struct xiw_page_wait *wait)
{
	struct xiw_page_in *old = wait->next;
	struct xiw_page_in *new;

	if (old && old->count < old->room)
		return true;
	if (old && old->room >= XIW_ABI_MAX_SGE)
		return false;
	new = page_in_alloc(wait->memcg, old ? 2 * old->room : 1,
			    GFP_ATOMIC | __GFP_NOWARN);
	if (!new)
		return false;
	if (old) {
		memcpy(new->range, old->range,
		       old->count * sizeof(old->range[0]));
		new->count = old->count;
		/* Its references on regions have moved. */
		kvfree(old);
	}
	wait->next = new;
	return true;
}

/* Leaves a request, which may be queued. Any context. */
static void page_in_leave(struct xiw_page_in *req)
{
	spin_lock_bh(&req->lock);
	req->wait = NULL;
	spin_unlock_bh(&req->lock);
	page_in_put(req);
}

/* Leaves the dropping of references, which may sleep, to the pager. */
static void page_in_abandon(struct xiw_page_in *req)
{
	if (req->count)
		page_in_queue(req, 0);
	page_in_put(req);
}

static void page_in_clear_wait(struct xiw_page_wait *wait)
{
	if (wait->req)
		page_in_leave(wait->req);
	if (wait->next)
		page_in_abandon(wait->next);
	wait->req = NULL;
	wait->next = NULL;
}

/*
 * The result of the range in the last request, 0 if there is none. The
 * transmit side may divide a message differently when it tries again: the
 * error of a shorter range applies to a longer one. A shorter range is tried,
 * and as it has the same beginning, that ends.
 */
static int page_in_wait_result(const struct xiw_page_wait *wait, u32 stag,
			       int access, u64 addr, u64 len)
{
	const struct xiw_page_in *req = wait->req;
	const struct page_range *r;

	if (!req)
		return 0;
	for (r = req->range; r < req->range + req->count; r++)
		if (r->stag == stag && r->access == access && r->addr == addr &&
		    r->len <= len && r->err)
			return r->err;
	return 0;
}

/**
 * xiw_page_in_want() - find out what to do about an absent range
 * @wait: wait of this side of the stream
 * @pos: position in the stream
 * @cache: the side's lookup cache, for the arguments of xiw_mem_get() that
 *	follow
 * @stag: STag or local key
 * @access: rights needed
 * @addr: first byte
 * @len: bytes, not more than a segment has
 *
 * Context: Owner of the side; any.
 * Return: XIW_MEM_ABSENT if the segment must be tried again after
 * xiw_page_in_start(). If there is no such memory, XIW_MEM_BAD_ACCESS or
 * XIW_MEM_BOUNDS.
 */
enum xiw_mem_status xiw_page_in_want(struct xiw_page_wait *wait, u64 pos,
				     struct xiw_mem_cache *cache, u32 stag,
				     int access, u64 addr, u64 len)
{
	int err;

	if (wait->pos != pos)
		page_in_clear_wait(wait);
	wait->pos = pos;
	if (xiw_page_in_waits(wait))
		return XIW_MEM_ABSENT;
	err = page_in_wait_result(wait, stag, access, addr, len);
	if (err && !page_in_is_transient(err)) {
		page_in_clear_wait(wait);
		return err == -EPERM ? XIW_MEM_BAD_ACCESS : XIW_MEM_BOUNDS;
	}
	if (page_in_make_room(wait))
		page_in_add(wait->next, cache, stag, access, addr, len);
	return XIW_MEM_ABSENT;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_page_in_want);

/**
 * xiw_page_in_start() - page in the ranges of a segment
 * @wait: wait of this side, after xiw_page_in_want() has returned
 *	XIW_MEM_ABSENT; its side is called again
 *
 * Without memory for the request, or if the range is present by now, that is at
 * the next jiffy.
 *
 * Context: Owner of the side; any.
 */
void xiw_page_in_start(struct xiw_page_wait *wait)
{
	struct xiw_page_in *req = wait->next;

	if (xiw_page_in_waits(wait))
		return;
	if (!req || !req->count) {
		wait->again(wait->s, 1);
		return;
	}
	if (wait->req)
		page_in_leave(wait->req);
	wait->req = req;
	wait->next = NULL;
	req->wait = wait;
	page_in_queue(req, 0);
}

/* Is a request queued, so that the side will be called again? Any context. */
bool xiw_page_in_waits(const struct xiw_page_wait *wait)
{
	/* Pairs with the release in page_in_finish(). */
	return wait->req && !smp_load_acquire(&wait->req->done);
}

/**
 * xiw_page_in_stop() - end a wait
 * @wait: wait of a stream that was detached; its side is not called again
 *
 * Context: Sleeps, but not for a fault. The caller owns the side.
 */
void xiw_page_in_stop(struct xiw_page_wait *wait)
{
	struct xiw_page_in *req = wait->next;

	/* It was not queued. */
	if (req) {
		page_in_put_ranges(req);
		page_in_put(req);
		wait->next = NULL;
	}
	req = wait->req;
	if (req && xiw_pager_cancel(&req->job)) {
		page_in_put_ranges(req);
		page_in_put(req);
	}
	page_in_clear_wait(wait);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_page_in_stop);

/* The errors of ibv_advise_mr() for an element */
static int page_in_check_advice(struct xiw_mem_cache *cache,
				const struct ib_sge *sge, int access)
{
	switch (xiw_mem_check(cache, sge->lkey, access, sge->addr,
			      sge->length)) {
	case XIW_MEM_OK:
		return 0;
	case XIW_MEM_BAD_STAG:
		return -ENOENT;
	case XIW_MEM_BAD_PD:
	case XIW_MEM_BAD_ACCESS:
		return -EPERM;
	default:
		return -EFAULT;
	}
}

static int page_in_add_advice(struct xiw_page_in *req,
			      struct xiw_mem_cache *cache,
			      const struct ib_sge *sge, u32 num_sge, int access)
{
	int ret;

	for (; num_sge; sge++, num_sge--) {
		ret = page_in_check_advice(cache, sge, access);
		if (ret)
			return ret;
		if (sge->length)
			page_in_add(req, cache, sge->lkey, access, sge->addr,
				    sge->length);
	}
	return 0;
}

/*
 * Waits for a prefetch. The request is that of the pager if the wait ends
 * before.
 */
static int page_in_wait_advice(struct xiw_page_in *req)
{
	long left = wait_for_completion_killable_timeout(&req->complete,
							 PAGE_IN_ADVICE_WAIT);
	u32 i;

	if (left < 0)
		return -EINTR;
	if (!left)
		return -EAGAIN;
	for (i = 0; i < req->count; i++)
		if (req->range[i].err)
			return req->range[i].err;
	return 0;
}

static int page_in_advise(struct xiw_page_in *req, bool flush)
{
	if (!req->count)
		return 0;
	if (!page_in_queue(req, PAGE_IN_MAX_ADVICE)) {
		page_in_put_ranges(req);
		return -EAGAIN;
	}
	return flush ? page_in_wait_advice(req) : 0;
}

/**
 * xiw_page_in_advise() - page in memory before its use
 * @cache: new lookup cache
 * @sge: ranges
 * @num_sge: their number
 * @access: rights needed
 * @fault: fault in absent pages; else use those that the process has
 * @flush: wait for the end
 *
 * Context: Sleeps, but not for ever.
 * Return: 0, also if the memory is pinned; -ENOENT, -EPERM or -EFAULT if an
 * element does not name memory with the rights needed; -EAGAIN if too many
 * requests of the process wait, or if the end did not come in time; -EINTR or
 * an error of the fault.
 */
int xiw_page_in_advise(struct xiw_mem_cache *cache, const struct ib_sge *sge,
		       u32 num_sge, int access, bool fault, bool flush)
{
	struct xiw_page_in *req = page_in_alloc(NULL, num_sge,
						GFP_KERNEL_ACCOUNT |
						__GFP_NOWARN);
	int ret;

	if (!req)
		return -ENOMEM;
	req->advice = true;
	req->fault = fault;
	ret = page_in_add_advice(req, cache, sge, num_sge, access);
	if (ret)
		page_in_put_ranges(req);
	else
		ret = page_in_advise(req, flush);
	page_in_put(req);
	return ret;
}
