// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The memory in which trains are laid out, and how much of it a queue pair
 * keeps.
 *
 * TCP holds references on the pages until the peer has acknowledged their
 * octets, so a block can be written again when only our own reference is left.
 * Bulk goes through blocks that come back: taking them from the page allocator
 * each time would be as expensive as the copy, where pages are cleared on
 * allocation. Small messages share single pages.
 *
 * Blocks are a comfort. If there is none without touching reserves, or if the
 * device or the control group has its share already, single pages serve.
 *
 * DOC: how many blocks are kept
 *
 * A block that is full is in flight: TCP is done with the oldest first. Those
 * that came back are spare, the last one first. So there are never more than
 * were once in flight together, which TCP's send buffer bounds; twice that, as
 * within one host the receiver holds them, too. While a queue pair has blocks,
 * the trim work comes once a second. It gives back as many as were spare all
 * the time, or all of them if next to nothing was sent; and a block that is in
 * front for too long, as some packet socket may hold it.
 */

#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "device.h"
#include "qp.h"
#include "sock.h"

/* How long blocks are kept that nobody needs. */
#define XIW_TXBUF_TRIM		HZ

/* Part of the host's memory that the blocks of a device may be. */
#define XIW_TXBUF_SHARE		64

/**
 * xiw_txbuf_room() - octets left in the current page or block
 * @buf: buffer
 *
 * Context: Owner of the transmit side.
 * Return: 0 if there is none.
 */
u32 xiw_txbuf_room(const struct xiw_txbuf *buf)
{
	return buf->page ? page_size(buf->page) - buf->off : 0;
}

/**
 * xiw_qp_alloc_pages() - memory for what a queue pair sends or receives
 * @qp: queue pair
 * @gfp: how; never sleeps
 * @order: log2 of the pages wanted
 *
 * The control group of the process that has created the queue pair pays, on
 * whose behalf, and in whatever context, the stream is worked on. It stays as
 * long as the queue pair, and naming it is right in softirq context, too.
 *
 * Context: Any but hardirq.
 * Return: Pages, or NULL.
 */
struct page *xiw_qp_alloc_pages(struct xiw_qp *qp, gfp_t gfp, u32 order)
{
	struct mem_cgroup *old;
	struct page *page;

	if (!qp->memcg)
		return alloc_pages(gfp, order);
	old = set_active_memcg(qp->memcg);
	page = alloc_pages(gfp | __GFP_ACCOUNT, order);
	set_active_memcg(old);
	return page;
}

/*
 * TCP and the receivers of cloned packets drop their references with a full
 * barrier behind their last read, so whoever sees the count fall may write.
 */
static bool all_ours(struct page *page, u32 order)
{
	return compound_order(page) >= order && page_ref_count(page) == 1;
}

static struct page *alloc_block(struct xiw_qp *qp, u32 order)
{
	gfp_t gfp = GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC | __GFP_COMP;
	unsigned long limit = totalram_pages() / XIW_TXBUF_SHARE;
	atomic_long_t *held = &qp->dev->tx_pages;
	struct page *page = NULL;

	if (atomic_long_add_return(1L << order, held) <= limit)
		page = xiw_qp_alloc_pages(qp, gfp, order);
	if (page)
		xiw_trim_later(qp);
	else
		atomic_long_sub(1L << order, held);
	return page;
}

/* Ours no more; TCP may still need it. */
static void put_block(struct xiw_qp *qp, struct page *page)
{
	atomic_long_sub(compound_nr(page), &qp->dev->tx_pages);
	put_page(page);
}

static void put_current(struct xiw_qp *qp)
{
	struct xiw_txbuf *buf = &qp->tx.buf;

	if (buf->page && compound_order(buf->page))
		put_block(qp, buf->page);
	else if (buf->page)
		put_page(buf->page);
	buf->page = NULL;
	buf->off = 0;
}

static struct page *take_first(struct list_head *list, u32 *count)
{
	struct page *page = list_first_entry_or_null(list, struct page, lru);

	if (page) {
		list_del(&page->lru);
		--*count;
	}
	return page;
}

/* What TCP has released is spare. */
static void reap(struct xiw_txbuf *buf)
{
	struct page *page;

	while (buf->num_flying) {
		page = list_first_entry(&buf->flying, struct page, lru);
		if (!all_ours(page, 0))
			break;
		list_move(&page->lru, &buf->spare);
		buf->num_flying--;
		buf->num_spare++;
	}
}

/* TCP may still hold the current one. */
static void set_aside(struct xiw_qp *qp)
{
	struct xiw_txbuf *buf = &qp->tx.buf;
	u32 limit = 2 + 2 * (xiw_sock_sndbuf_locked(qp->xs) /
			     XIW_TX_TRAIN_BYTES);

	if (!buf->page || !compound_order(buf->page) ||
	    buf->num_flying >= limit) {
		put_current(qp);
		return;
	}
	list_add_tail(&buf->page->lru, &buf->flying);
	buf->num_flying++;
	buf->page = NULL;
}

static struct page *get_block(struct xiw_qp *qp, u32 order)
{
	struct xiw_txbuf *buf = &qp->tx.buf;
	struct page *page;

	reap(buf);
	while ((page = take_first(&buf->spare, &buf->num_spare))) {
		buf->low = min(buf->low, buf->num_spare);
		if (compound_order(page) >= order)
			return page;
		put_block(qp, page);
	}
	buf->low = 0;
	return alloc_block(qp, order);
}

/**
 * xiw_txbuf_get() - make room for octets in one piece
 * @buf: buffer of a queue pair, in which there is too little room
 * @order: log2 of the pages wanted
 *
 * Context: Owner of the transmit side. Does not sleep.
 * Return: false if there is no memory.
 */
bool xiw_txbuf_get(struct xiw_txbuf *buf, u32 order)
{
	struct xiw_qp *qp = container_of(buf, struct xiw_qp, tx.buf);

	/* Nobody else holds it any more: start over at its beginning. */
	if (buf->page && all_ours(buf->page, order)) {
		buf->off = 0;
		return true;
	}
	set_aside(qp);
	buf->off = 0;
	buf->page = order ? get_block(qp, order) :
		    xiw_qp_alloc_pages(qp, GFP_ATOMIC | __GFP_NOWARN, 0);
	return buf->page;
}

/* Gives all memory back, as soon as TCP is done with it. */
static void drop(struct xiw_qp *qp)
{
	struct xiw_txbuf *buf = &qp->tx.buf;
	struct page *page;

	put_current(qp);
	while ((page = take_first(&buf->flying, &buf->num_flying)))
		put_block(qp, page);
	while ((page = take_first(&buf->spare, &buf->num_spare)))
		put_block(qp, page);
}

static void drop_needless(struct xiw_qp *qp)
{
	struct xiw_txbuf *buf = &qp->tx.buf;
	u32 n = buf->low;
	struct page *page;

	reap(buf);
	while (n-- && (page = take_first(&buf->spare, &buf->num_spare)))
		put_block(qp, page);
	page = list_first_entry_or_null(&buf->flying, struct page, lru);
	if (page && page == buf->front) {
		put_block(qp, take_first(&buf->flying, &buf->num_flying));
		page = NULL;
	}
	buf->front = page;
}

static bool has_blocks(const struct xiw_txbuf *buf)
{
	return buf->num_flying || buf->num_spare ||
	       (buf->page && compound_order(buf->page));
}

/**
 * xiw_trim_later() - look after the memory that a queue pair keeps
 * @qp: queue pair that has got some
 *
 * Context: Socket lock held.
 */
void xiw_trim_later(struct xiw_qp *qp)
{
	struct xiw_txbuf *buf = &qp->tx.buf;

	if (delayed_work_pending(&buf->trim))
		return;
	buf->seen = qp->tx.pos;
	buf->low = buf->num_spare;
	xiw_qp_queue_delayed(qp, &buf->trim, XIW_TXBUF_TRIM);
}

static void trim_locked(struct xiw_qp *qp)
{
	struct xiw_txbuf *buf = &qp->tx.buf;
	bool more;

	if (qp->tx.pos - buf->seen <= PAGE_SIZE && !qp->tx.train_len)
		drop(qp);
	else
		drop_needless(qp);
	more = xiw_rx_trim(qp);
	if (more || has_blocks(buf))
		xiw_trim_later(qp);
}

static void trim(struct work_struct *work)
{
	struct xiw_txbuf *buf = container_of(to_delayed_work(work),
					     struct xiw_txbuf, trim);
	struct xiw_qp *qp = container_of(buf, struct xiw_qp, tx.buf);
	struct xiw_sock *xs = xiw_qp_lock_stream(qp);

	if (xs) {
		trim_locked(qp);
		xiw_qp_unlock_stream(xs);
	}
	xiw_qp_put(qp);
}

/**
 * xiw_txbuf_init() - set up the buffer of a new queue pair
 * @buf: zeroed
 *
 * Context: Any.
 */
void xiw_txbuf_init(struct xiw_txbuf *buf)
{
	INIT_LIST_HEAD(&buf->flying);
	INIT_LIST_HEAD(&buf->spare);
	INIT_DELAYED_WORK(&buf->trim, trim);
}

/**
 * xiw_txbuf_stop() - the stream has ended
 * @qp: queue pair whose stream was detached
 *
 * Context: Sleeps. The caller owns the transmit side.
 */
void xiw_txbuf_stop(struct xiw_qp *qp)
{
	xiw_qp_cancel_delayed(qp, &qp->tx.buf.trim);
	drop(qp);
}
