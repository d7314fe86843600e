/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Connections that wait, and which of them has to go when they are too many;
 * see crowd.c.
 */
#ifndef _XIW_CROWD_H
#define _XIW_CROWD_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/types.h>

#define XIW_CROWD_SLOTS 256

/* What a connection counts for */
enum xiw_crowd_by {
	XIW_CROWD_ADDRESS,
	XIW_CROWD_NETWORK,
	XIW_CROWD_BYS,
};

/**
 * struct xiw_crowd_member - a connection that may wait
 * @node: in the crowd's list, or in one of its user's
 * @peer: the peer's address
 * @since: jiffies when it joined
 * @slots: where the crowd counts it
 */
struct xiw_crowd_member {
	struct list_head node;
	struct in6_addr peer;
	unsigned long since;
	u8 slots[XIW_CROWD_BYS];
};

/**
 * struct xiw_crowd - connections that wait
 * @list: of struct xiw_crowd_member, oldest first
 * @count: its elements
 * @seed: secret of the hash
 * @held: how many of them belong to the addresses, and to the networks, of a
 *	slot
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
