/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Limit for waiting connections, fair among peers. See peer_limit.c.
 */
#ifndef _XIW_PEER_LIMIT_H
#define _XIW_PEER_LIMIT_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/types.h>

#define XIW_PEER_LIMIT_SLOTS 256

/* Keys by which connections are counted */
enum xiw_peer_limit_by {
	XIW_PEER_LIMIT_ADDRESS,
	XIW_PEER_LIMIT_NETWORK,
	XIW_PEER_LIMIT_BYS,
};

/**
 * struct xiw_peer_entry - entry of a connection
 * @node: in struct xiw_peer_limit.list, or in a list of the caller
 * @peer: the peer's address
 * @since: when it was added, in jiffies; or later, with the place in the list
 * @spared: other entries of the same peer are evicted before this one; constant
 *	while it is in the list
 * @slots: slots of its counts
 */
struct xiw_peer_entry {
	struct list_head node;
	struct in6_addr peer;
	unsigned long since;
	bool spared;
	u8 slots[XIW_PEER_LIMIT_BYS];
};

/**
 * struct xiw_peer_limit - waiting connections
 * @list: entries, struct xiw_peer_entry, oldest first
 * @count: number of entries
 * @seed: secret of the hash
 * @counts: number of entries per slot, of addresses and of networks
 * @spared: number of entries to be spared per slot of an address
 */
struct xiw_peer_limit {
	struct list_head list;
	u32 count;
	u32 seed;
	u16 counts[XIW_PEER_LIMIT_BYS][XIW_PEER_LIMIT_SLOTS];
	u16 spared[XIW_PEER_LIMIT_SLOTS];
};

void xiw_peer_limit_init(struct xiw_peer_limit *limit);
void xiw_peer_limit_add(struct xiw_peer_limit *limit, struct xiw_peer_entry *m);
void xiw_peer_limit_renew(struct xiw_peer_limit *limit,
			  struct xiw_peer_entry *m);
void xiw_peer_limit_remove(struct xiw_peer_limit *limit,
			   struct xiw_peer_entry *m);
u32 xiw_peer_limit_of(const struct xiw_peer_limit *limit,
		      const struct in6_addr *peer);
struct xiw_peer_entry *xiw_peer_limit_worst(const struct xiw_peer_limit *limit,
					    unsigned long grace);

#endif /* _XIW_PEER_LIMIT_H */
