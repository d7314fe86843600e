/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Receive queues, own and shared.
 */
#ifndef _XIW_RQ_H
#define _XIW_RQ_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rdma/xiw-abi.h>

#include "mmap.h"

/**
 * struct xiw_rq - a receive queue
 * @lock: protects @cons, @seen, @limit and, for kernel ULPs, the producer
 *	side; taken with interrupts off because kernel ULPs may post with
 *	them off
 * @queue: the ring
 * @cons: entries consumed; the copy in the ring is for the user to read
 * @seen: the producer's index when it was last read, which is when the ring
 *	seemed empty: the producer owns that cache line
 * @max_sge: elements an entry may have
 * @max_wr: entries that may be outstanding, at most the ring's size
 * @limit: SRQ limit to report, 0 = not armed
 */
struct xiw_rq {
	spinlock_t lock; /* see above */
	struct xiw_queue queue;
	u32 cons;
	u32 seen;
	u32 max_sge;
	u32 max_wr;
	u32 limit;
};

/**
 * struct xiw_recv - a receive work request taken from the queue, checked
 * @wr_id: of the work request
 * @len: sum of the elements' lengths in bytes
 * @num_sge: elements in use
 * @sge: private copy of the elements
 */
struct xiw_recv {
	u64 wr_id;
	u64 len;
	u32 num_sge;
	struct xiw_sge sge[XIW_ABI_MAX_SGE];
};

enum xiw_rq_take {
	XIW_RQ_TAKEN,
	XIW_RQ_EMPTY,
	XIW_RQ_CORRUPT,		/* the user broke its ring */
	XIW_RQ_LIMIT,		/* taken, and the SRQ limit event is due */
};

int xiw_rq_init(struct xiw_rq *rq, u32 max_wr, u32 max_sge,
		struct ib_ucontext *uctx, u64 *key);
void xiw_rq_destroy(struct xiw_rq *rq);
int xiw_rq_post(struct xiw_rq *rq, const struct ib_recv_wr *wr,
		const struct ib_recv_wr **bad_wr);
enum xiw_rq_take xiw_rq_take(struct xiw_rq *rq, struct xiw_recv *recv);
enum xiw_rq_take xiw_rq_take_locked(struct xiw_rq *rq, struct xiw_recv *recv);
void xiw_rq_doorbell_mode(struct xiw_rq *rq, bool want);
u32 xiw_rq_count(struct xiw_rq *rq);

#endif /* _XIW_RQ_H */
