// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory for FPDU batches, and how much of it a stream keeps.
 *
 * TCP holds references on the pages until the peer has acknowledged their
 * bytes, so a block can be written again when only the reference of the stream
 * is left. Bulk data uses blocks, which are recycled: where pages are cleared
 * on allocation, allocating them each time would be as expensive as the copy.
 * Small messages share single pages.
 *
 * Buffers of applications mostly begin with a page. If headers shifted the copy
 * of such a buffer to 1 to 31 bytes behind the beginning of a page, some CPUs
 * with fast short "rep movsb" (Zen 3) would copy byte by byte. So the payload
 * is aligned, not the headers.
 *
 * Blocks are an optimisation. If none can be allocated without reserves, or if
 * the share of the device or of the control group is used up, single pages are
 * used instead.
 */

/**
 * DOC: Blocks of a stream
 *
 * A full block is in flight until TCP drops its references, the oldest first.
 * Then the block is spare; spare blocks are reused last in, first out. So a
 * stream never has more blocks than were once in flight together. TCP's send
 * buffer limits these; the limit here is twice that, as the receiver holds them
 * as well if it is on the same host. While a stream has blocks, its trim work
 * runs once a second. It frees as many blocks as were spare all the time, or
 * all of them if next to nothing was sent. It also frees a block that has been
 * the oldest in flight since the last trim, as a packet socket may hold it for
 * long.
 */

/**
 * DOC: Blocks of a control group
 *
 * A peer that closes its window keeps blocks in flight for any length of time.
 * So a group gets no more blocks than it leaves free. A single group has at
 * most half of the supply; of N groups at their limit each has 1/(N+1), and as
 * much is left for another one. Kernel ULPs count as one group. Groups are
 * hashed into slots, and groups in the same slot share one limit.
 */

/**
 * DOC: Charging
 *
 * All memory of a stream is charged to the control group of the process that
 * created the queue pair, in any context. The queue pair has a reference on the
 * group, so softirqs can charge it, too. Kernel ULPs are not charged.
 */
#include "txbuf.h"

#include <kunit/visibility.h>
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

/* Divisor: the share of the host's memory for the blocks of a device */
#define XIW_TXBUF_SHARE		32

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

/**
 * xiw_txbuf_init() - set up a buffer
 * @buf: zeroed
 * @memcg: control group to charge, or NULL; stays as long as the buffer
 * @supply: of all buffers of the device
 *
 * Context: Any.
 */
void xiw_txbuf_init(struct xiw_txbuf *buf, struct mem_cgroup *memcg,
		    struct xiw_txbuf_supply *supply)
{
	buf->memcg = memcg;
	buf->supply = supply;
	buf->held_by = &supply->held_by[hash_ptr(memcg, XIW_TXBUF_GROUP_BITS)];
	INIT_LIST_HEAD(&buf->in_flight);
	INIT_LIST_HEAD(&buf->spare);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_txbuf_init);

/*
 * TCP and the receivers of cloned packets drop their references with a full
 * barrier after their last read, so the page may be written once the count is
 * one.
 */
static bool txbuf_all_ours(struct page *page, u32 order)
{
	return compound_order(page) >= order && page_ref_count(page) == 1;
}

/* Counts @nr pages. True if the group then leaves free as much as it holds. */
static bool txbuf_count(struct xiw_txbuf *buf, long nr)
{
	long limit = totalram_pages() / XIW_TXBUF_SHARE;
	long all = atomic_long_add_return(nr, &buf->supply->held);
	long own = atomic_long_add_return(nr, buf->held_by);

	return own <= limit - all;
}

static void txbuf_uncount(struct xiw_txbuf *buf, long nr)
{
	atomic_long_sub(nr, buf->held_by);
	atomic_long_sub(nr, &buf->supply->held);
}

static struct page *txbuf_alloc_block(struct xiw_txbuf *buf, u32 order)
{
	gfp_t gfp = GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC | __GFP_COMP;
	struct page *page = NULL;

	if (txbuf_count(buf, 1L << order))
		page = xiw_pages_alloc(buf->memcg, gfp, order);
	if (!page)
		txbuf_uncount(buf, 1L << order);
	return page;
}

/* Drops the stream's reference; TCP may hold others. */
static void txbuf_put_block(struct xiw_txbuf *buf, struct page *page)
{
	txbuf_uncount(buf, compound_nr(page));
	put_page(page);
}

static void txbuf_put_current(struct xiw_txbuf *buf)
{
	if (xiw_txbuf_in_block(buf))
		txbuf_put_block(buf, buf->page);
	else if (buf->page)
		put_page(buf->page);
	buf->page = NULL;
	buf->off = 0;
}

static struct page *txbuf_take_first(struct list_head *list, u32 *count)
{
	struct page *page = list_first_entry_or_null(list, struct page, lru);

	if (page) {
		list_del(&page->lru);
		--*count;
	}
	return page;
}

/* Moves blocks without references of TCP to the spare list. */
static void txbuf_reclaim(struct xiw_txbuf *buf)
{
	struct page *page;

	while (buf->num_in_flight) {
		page = list_first_entry(&buf->in_flight, struct page, lru);
		if (!txbuf_all_ours(page, 0))
			break;
		list_move(&page->lru, &buf->spare);
		buf->num_in_flight--;
		buf->num_spare++;
	}
}

/* Moves the current block, which is full, to the in-flight list. */
static void txbuf_set_aside(struct xiw_txbuf *buf, u32 sndbuf)
{
	u32 limit = 2 + 2 * (sndbuf / XIW_TXBUF_BLOCK);

	if (!xiw_txbuf_in_block(buf) || buf->num_in_flight >= limit) {
		txbuf_put_current(buf);
		return;
	}
	list_add_tail(&buf->page->lru, &buf->in_flight);
	buf->num_in_flight++;
	buf->page = NULL;
}

static struct page *txbuf_get_block(struct xiw_txbuf *buf, u32 order)
{
	struct page *page;

	txbuf_reclaim(buf);
	while ((page = txbuf_take_first(&buf->spare, &buf->num_spare))) {
		buf->least_spare = min(buf->least_spare, buf->num_spare);
		if (compound_order(page) >= order)
			return page;
		txbuf_put_block(buf, page);
	}
	buf->least_spare = 0;
	return txbuf_alloc_block(buf, order);
}

/**
 * xiw_txbuf_get() - make contiguous room
 * @buf: buffer with too little room
 * @order: log2 of the pages wanted
 * @sndbuf: size of TCP's send buffer in bytes
 * @lead: bytes in front of the first payload
 *
 * Aligns the first payload; up to 63 bytes stay unused for that.
 *
 * Return: false if there is no memory.
 */
bool xiw_txbuf_get(struct xiw_txbuf *buf, u32 order, u32 sndbuf, u32 lead)
{
	u32 off = -lead & (XIW_TXBUF_ALIGN - 1);

	/* TCP has no reference any more: write it again from the beginning. */
	if (buf->page && txbuf_all_ours(buf->page, order)) {
		buf->off = off;
		return true;
	}
	txbuf_set_aside(buf, sndbuf);
	buf->off = off;
	buf->page = order ? txbuf_get_block(buf, order)
			  : xiw_pages_alloc(buf->memcg,
					    GFP_ATOMIC | __GFP_NOWARN, 0);
	return buf->page;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_txbuf_get);

static void txbuf_trim_spare(struct xiw_txbuf *buf)
{
	u32 n = buf->least_spare;
	struct page *page;

	while (n-- && (page = txbuf_take_first(&buf->spare, &buf->num_spare)))
		txbuf_put_block(buf, page);
}

static void txbuf_trim_in_flight(struct xiw_txbuf *buf)
{
	struct page *page;

	page = list_first_entry_or_null(&buf->in_flight, struct page, lru);
	if (page && page == buf->front) {
		txbuf_put_block(buf, txbuf_take_first(&buf->in_flight,
						      &buf->num_in_flight));
		page = NULL;
	}
	buf->front = page;
}

/**
 * xiw_txbuf_mark() - begin a period at the end of which the buffer is trimmed
 * @buf: buffer
 */
void xiw_txbuf_mark(struct xiw_txbuf *buf)
{
	buf->least_spare = buf->num_spare;
}

/**
 * xiw_txbuf_trim() - free the blocks that were not needed since the mark
 * @buf: buffer
 *
 * Return: true if there are blocks left.
 */
bool xiw_txbuf_trim(struct xiw_txbuf *buf)
{
	txbuf_reclaim(buf);
	txbuf_trim_spare(buf);
	txbuf_trim_in_flight(buf);
	return buf->num_in_flight || buf->num_spare || xiw_txbuf_in_block(buf);
}

/**
 * xiw_txbuf_drop() - drop all references on pages and blocks
 * @buf: buffer
 */
void xiw_txbuf_drop(struct xiw_txbuf *buf)
{
	struct page *page;

	txbuf_put_current(buf);
	while ((page = txbuf_take_first(&buf->in_flight, &buf->num_in_flight)))
		txbuf_put_block(buf, page);
	while ((page = txbuf_take_first(&buf->spare, &buf->num_spare)))
		txbuf_put_block(buf, page);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_txbuf_drop);
