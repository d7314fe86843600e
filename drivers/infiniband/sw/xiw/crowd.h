/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Limit for waiting connections, fair among peers. See crowd.c.
 */
#ifndef _XIW_CROWD_H
#define _XIW_CROWD_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/types.h>

#define XIW_CROWD_SLOTS 256

/* Keys by which connections are counted */
enum xiw_crowd_by {
	XIW_CROWD_ADDRESS,
	XIW_CROWD_NETWORK,
	XIW_CROWD_BYS,
};

/**
 * struct xiw_crowd_member - entry of a connection
 * @node: in struct xiw_crowd.list, or in a list of the caller
 * @peer: the peer's address
 * @since: when it was added, in jiffies
 * @slots: slots of its counts
 */
struct xiw_crowd_member {
	struct list_head node;
	struct in6_addr peer;
	unsigned long since;
	u8 slots[XIW_CROWD_BYS];
};

/**
 * struct xiw_crowd - waiting connections
 * @list: entries, struct xiw_crowd_member, oldest first
 * @count: number of entries
 * @seed: secret of the hash
 * @held: number of entries per slot, of addresses and of networks
 */
struct xiw_crowd {
	struct list_head list;
	u32 count;
	u32 seed;
	u16 held[XIW_CROWD_BYS][XIW_CROWD_SLOTS];
};

void xiw_crowd_init(struct xiw_crowd *crowd);
void xiw_crowd_join(struct xiw_crowd *crowd, struct xiw_crowd_member *m);
void xiw_crowd_leave(struct xiw_crowd *crowd, struct xiw_crowd_member *m);
struct xiw_crowd_member *xiw_crowd_victim(const struct xiw_crowd *crowd,
					  unsigned long grace);

#endif /* _XIW_CROWD_H */
