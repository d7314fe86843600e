/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Receive queues and shared receive queues: one kind of object, because
 * beyond who owns it and the limit event there is no difference.
 */
#ifndef _XIW_RQ_H
#define _XIW_RQ_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "queue.h"

struct xiw_qp;

/**
 * struct xiw_rq - a receive queue
 * @lock: protects @cons, @limit and, for kernel consumers, the producer side;
 *	taken with interrupts off because kernel consumers may post so
 * @queue: the ring
 * @cons: entries consumed; the copy in the ring is for the user to read
 * @max_sge: elements an entry may have
 * @max_wr: entries that may be outstanding, at most the ring's size
 * @limit: SRQ limit to report, 0 = not armed
 */
struct xiw_rq {
	spinlock_t lock; /* see above */
	struct xiw_queue queue;
	u32 cons;
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

/**
 * struct xiw_srq - shared receive queue
 * @ibsrq: as the core sees it; its allocation is this struct
 * @rq: the queue
 * @id: number, not 0
 * @kernel: used by a kernel consumer
 * @waiters: QPs whose receive side waits for an entry, the first one first;
 *	protected by @rq.lock like the next two
 * @woken: QPs that were woken and have not come for their entry yet
 * @moved_at: jiffies when one was last woken, or began to wait as the only one
 * @events: asynchronous events to be reported, bits by enum ib_event_type
 * @event_work: reports them
 * @broken: that the ring is corrupt was reported
 */
struct xiw_srq {
	struct ib_srq ibsrq;
	struct xiw_rq rq;
	u32 id;
	bool kernel;
	struct list_head waiters;
	u32 woken;
	unsigned long moved_at;
	unsigned long events;
	struct work_struct event_work;
	atomic_t broken;
};

static inline struct xiw_srq *to_xsrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct xiw_srq, ibsrq);
}

/* rq.c */
int xiw_rq_init(struct xiw_rq *rq, u32 max_wr, u32 max_sge,
		struct ib_ucontext *uctx, u64 *key);
void xiw_rq_destroy(struct xiw_rq *rq);
/* Kernel consumers' post; any context. */
int xiw_rq_post(struct xiw_rq *rq, const struct ib_recv_wr *wr,
		const struct ib_recv_wr **bad_wr);
/* Take the next entry; any context. And the same with @rq->lock held. */
enum xiw_rq_take xiw_rq_take(struct xiw_rq *rq, struct xiw_recv *recv);
enum xiw_rq_take xiw_rq_take_locked(struct xiw_rq *rq, struct xiw_recv *recv);
/* Ask (or stop asking) the user to ring the doorbell after a post. */
void xiw_rq_want_doorbell(struct xiw_rq *rq, bool want);
u32 xiw_rq_count(struct xiw_rq *rq);

/* srq.c: verbs */
int xiw_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		   struct ib_udata *udata);
int xiw_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata);
int xiw_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int xiw_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int xiw_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr);
/*
 * Take the next entry if none of those that wait has an older claim to it; have
 * xiw_rx_posted(@qp) called when it is @qp's turn; and stop waiting. Any
 * context.
 */
enum xiw_rq_take xiw_srq_take(struct xiw_srq *srq, struct xiw_qp *qp,
			      struct xiw_recv *recv);
void xiw_srq_wait(struct xiw_srq *srq, struct xiw_qp *qp);
void xiw_srq_unwait(struct xiw_srq *srq, struct xiw_qp *qp);
/* Report SRQ_LIMIT_REACHED, or SRQ_ERR, the latter once. Any context. */
void xiw_srq_limit_event(struct xiw_srq *srq);
void xiw_srq_corrupt(struct xiw_srq *srq);

#endif /* _XIW_RQ_H */
