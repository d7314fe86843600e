/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The memory in which a stream lays out what it sends.
 */
#ifndef _XIW_TXBUF_H
#define _XIW_TXBUF_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/types.h>

struct mem_cgroup;

enum xiw_txbuf_limits {
	XIW_TXBUF_BLOCK		= 64 * 1024,
	/* A train in one block never needs more fragments than an skb has. */
	XIW_TXBUF_ORDER		= 4,
	/* Of the first payload in a page or block; see txbuf.c. */
	XIW_TXBUF_ALIGN		= 64,
	XIW_TXBUF_GROUP_BITS	= 6,
	XIW_TXBUF_GROUPS	= 1 << XIW_TXBUF_GROUP_BITS,
};

/**
 * struct xiw_txbuf_supply - what the blocks of all streams of a device take
 * @held: pages in them
 * @held_by: of these, those of the control groups that share a slot
 */
struct xiw_txbuf_supply {
	atomic_long_t held;
	atomic_long_t held_by[XIW_TXBUF_GROUPS];
};

/**
 * struct xiw_txbuf - pages and blocks; owner: that of the transmit side
 * @memcg: pays for them, or NULL
 * @supply: the device's
 * @held_by: where @supply counts those of @memcg
 * @page: current page or block
 * @off: first free byte in it
 * @in_flight: blocks that TCP may still hold, the oldest first
 * @spare: blocks that nobody else holds
 * @num_in_flight: elements of @in_flight
 * @num_spare: elements of @spare
 * @least_spare: fewest spare ones since xiw_txbuf_mark()
 * @front: the oldest in flight at the last trim; never dereferenced
 */
struct xiw_txbuf {
	struct mem_cgroup *memcg;
	struct xiw_txbuf_supply *supply;
	atomic_long_t *held_by;
	struct page *page;
	u32 off;
	struct list_head in_flight;
	struct list_head spare;
	u32 num_in_flight;
	u32 num_spare;
	u32 least_spare;
	const struct page *front;
};

/* Octets left in the current page or block; 0 if there is none. */
static inline u32 xiw_txbuf_room(const struct xiw_txbuf *buf)
{
	return buf->page ? page_size(buf->page) - buf->off : 0;
}

/* Is the room that of a block, not of a single page? */
static inline bool xiw_txbuf_in_block(const struct xiw_txbuf *buf)
{
	return buf->page && compound_order(buf->page);
}

/* The first free octet of a buffer with room. */
static inline u8 *xiw_txbuf_cursor(const struct xiw_txbuf *buf)
{
	return (u8 *)page_address(buf->page) + buf->off;
}

void xiw_txbuf_init(struct xiw_txbuf *buf, struct mem_cgroup *memcg,
		    struct xiw_txbuf_supply *supply);
bool xiw_txbuf_get(struct xiw_txbuf *buf, u32 order, u32 sndbuf, u32 lead);
void xiw_txbuf_mark(struct xiw_txbuf *buf);
bool xiw_txbuf_trim(struct xiw_txbuf *buf);
void xiw_txbuf_drop(struct xiw_txbuf *buf);

#endif /* _XIW_TXBUF_H */
