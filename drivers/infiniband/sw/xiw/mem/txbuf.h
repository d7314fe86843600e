/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory of a stream: for encoded FPDUs, and charged to its process.
 *
 * Unless noted otherwise functions of a buffer are called by the owner of the
 * transmit side, and do not sleep.
 */
#ifndef _XIW_TXBUF_H
#define _XIW_TXBUF_H

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/gfp_types.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/types.h>

struct mem_cgroup;

enum xiw_txbuf_limits {
	XIW_TXBUF_BLOCK		= 64 * 1024,
	/* A batch in one block never needs more fragments than an skb has. */
	XIW_TXBUF_ORDER		= 4,
	/* Alignment of the first payload in a page or block; see txbuf.c. */
	XIW_TXBUF_ALIGN		= 64,
	XIW_TXBUF_GROUP_BITS	= 6,
	XIW_TXBUF_GROUPS	= 1 << XIW_TXBUF_GROUP_BITS,
};

/**
 * struct xiw_txbuf_supply - memory in the blocks of all streams of a device
 * @held: pages in all blocks
 * @held_by: pages per slot of the control group hash
 */
struct xiw_txbuf_supply {
	atomic_long_t held;
	atomic_long_t held_by[XIW_TXBUF_GROUPS];
};

/**
 * struct xiw_txbuf - pages and blocks of a stream's transmit side
 * @memcg: control group to charge, or NULL
 * @supply: limit shared by all streams of the device
 * @held_by: counter of @supply for @memcg
 * @page: current page or block
 * @off: first free byte in it
 * @in_flight: blocks that TCP may still hold, the oldest first
 * @spare: blocks to which only the stream has references
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

/* Bytes left in the current page or block; 0 if there is none. */
static inline u32 xiw_txbuf_room(const struct xiw_txbuf *buf)
{
	return buf->page ? page_size(buf->page) - buf->off : 0;
}

/* Is the current memory a block, not a single page? */
static inline bool xiw_txbuf_in_block(const struct xiw_txbuf *buf)
{
	return buf->page && compound_order(buf->page);
}

/**
 * xiw_txbuf_claim() - get the place of the next bytes
 * @buf: buffer
 * @len: bytes to be written there
 *
 * The only way to an address in the buffer, so that no caller can write more
 * than there is room for.
 *
 * Return: The first free byte, or NULL if there is less room, which is a fault
 * of the caller.
 */
static inline u8 *xiw_txbuf_claim(const struct xiw_txbuf *buf, u32 len)
{
	if (WARN_ON_ONCE(len > xiw_txbuf_room(buf)))
		return NULL;
	return (u8 *)page_address(buf->page) + buf->off;
}

struct page *xiw_pages_alloc(struct mem_cgroup *memcg, gfp_t gfp, u32 order);
void *xiw_pages_calloc(struct mem_cgroup *memcg, gfp_t gfp, size_t n,
		       size_t size);
void *xiw_pages_alloc_linear(struct mem_cgroup *memcg, size_t len);

void xiw_txbuf_init(struct xiw_txbuf *buf, struct mem_cgroup *memcg,
		    struct xiw_txbuf_supply *supply);
bool xiw_txbuf_get(struct xiw_txbuf *buf, u32 order, u32 sndbuf, u32 lead);
void xiw_txbuf_mark(struct xiw_txbuf *buf);
bool xiw_txbuf_trim(struct xiw_txbuf *buf);
void xiw_txbuf_drop(struct xiw_txbuf *buf);

#endif /* _XIW_TXBUF_H */
