// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The memory in which trains are laid out.
 *
 * TCP holds references on the pages until the peer has acknowledged their
 * octets, so a block can be written again when only our own reference is left.
 * Bulk goes through a ring of blocks: TCP is done with the oldest first. Taking
 * them from the page allocator each time would be as expensive as the copy,
 * where pages are cleared on allocation. Small messages share single pages.
 */

#include <linux/mm.h>

#include "device.h"
#include "qp.h"
#include "sock.h"

/* How long blocks are kept for the next train. */
#define XIW_TXBUF_TRIM		HZ

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

/*
 * TCP and the receivers of cloned packets drop their references with a full
 * barrier behind their last read, so whoever sees the count fall may write.
 */
static bool all_ours(struct page *page, u32 order)
{
	return compound_order(page) >= order && page_ref_count(page) == 1;
}

static struct page *oldest(struct xiw_txbuf *buf)
{
	struct page *page = buf->ring[buf->first];

	buf->first = (buf->first + 1) % XIW_TXBUF_BLOCKS;
	buf->count--;
	return page;
}

/* TCP may still hold the current one; ours comes to the end of the ring. */
static void set_aside(struct xiw_txbuf *buf)
{
	if (!buf->page)
		return;
	if (!compound_order(buf->page)) {
		put_page(buf->page);
	} else {
		if (buf->count == XIW_TXBUF_BLOCKS)
			put_page(oldest(buf));
		buf->ring[(buf->first + buf->count++) % XIW_TXBUF_BLOCKS] =
			buf->page;
	}
	buf->page = NULL;
}

/**
 * xiw_txbuf_get() - make room for octets in one piece
 * @buf: buffer, in which there is too little room
 * @order: log2 of the pages wanted
 *
 * Context: Owner of the transmit side. Does not sleep.
 * Return: false if there is no memory.
 */
bool xiw_txbuf_get(struct xiw_txbuf *buf, u32 order)
{
	gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN;

	/* Nobody else holds it any more: start over at its beginning. */
	if (buf->page && all_ours(buf->page, order)) {
		buf->off = 0;
		return true;
	}
	set_aside(buf);
	buf->off = 0;
	if (order && buf->count && all_ours(buf->ring[buf->first], order)) {
		buf->page = oldest(buf);
		return true;
	}
	if (order)
		gfp |= __GFP_COMP | __GFP_NORETRY;
	buf->page = alloc_pages(gfp, order);
	return buf->page;
}

/* Gives all memory back, as soon as TCP is done with it. */
static void drop(struct xiw_txbuf *buf)
{
	if (buf->page)
		put_page(buf->page);
	buf->page = NULL;
	buf->off = 0;
	while (buf->count)
		put_page(oldest(buf));
	buf->first = 0;
}

/**
 * xiw_txbuf_idle() - the engine found nothing more to send
 * @qp: queue pair
 *
 * Blocks are given back if nothing follows for a while.
 *
 * Context: Owner of the transmit side.
 */
void xiw_txbuf_idle(struct xiw_qp *qp)
{
	struct xiw_txbuf *buf = &qp->tx.buf;

	if (!buf->count && (!buf->page || !compound_order(buf->page)))
		return;
	if (delayed_work_pending(&buf->trim))
		return;
	buf->seen = qp->tx.pos;
	xiw_qp_queue_delayed(qp, &buf->trim, XIW_TXBUF_TRIM);
}

static void trim(struct work_struct *work)
{
	struct xiw_txbuf *buf = container_of(to_delayed_work(work),
					     struct xiw_txbuf, trim);
	struct xiw_qp *qp = container_of(buf, struct xiw_qp, tx.buf);
	struct xiw_sock *xs = xiw_qp_lock_stream(qp);

	if (xs) {
		if (buf->seen != qp->tx.pos)
			xiw_txbuf_idle(qp);
		else if (!qp->tx.train_len)
			drop(buf);
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
	drop(&qp->tx.buf);
}
