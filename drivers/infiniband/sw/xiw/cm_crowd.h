/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Endpoints that wait, and who has to go when they are too many; see
 * cm_crowd.c.
 */
#ifndef _XIW_CM_CROWD_H
#define _XIW_CM_CROWD_H

#include <linux/types.h>

struct xiw_ep;

#define XIW_CROWD_SLOTS 256

/**
 * struct xiw_crowd - endpoints that wait
 * @list: of struct xiw_ep by @sibling, oldest first
 * @count: its elements
 * @seed: secret of the hash
 * @held: how many of them belong to the addresses and networks of a slot
 */
struct xiw_crowd {
	struct list_head list;
	u32 count;
	u32 seed;
	u16 held[XIW_CROWD_SLOTS];
};

void xiw_crowd_init(struct xiw_crowd *crowd);
void xiw_crowd_join(struct xiw_crowd *crowd, struct xiw_ep *ep);
void xiw_crowd_leave(struct xiw_crowd *crowd, struct xiw_ep *ep);
struct xiw_ep *xiw_crowd_victim(const struct xiw_crowd *crowd);

#endif /* _XIW_CM_CROWD_H */
