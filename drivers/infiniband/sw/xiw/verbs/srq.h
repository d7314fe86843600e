/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Shared receive queues: a receive queue, the limit event, and the streams that
 * wait for the next entry.
 */
#ifndef _XIW_SRQ_H
#define _XIW_SRQ_H

#include <linux/list.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "queue/rq.h"

struct xiw_stream;

/**
 * struct xiw_srq_waiter - a stream's place in the list of waiters
 * @node: in the queue's list while the stream waits; protected by the queue's
 *	rq.lock, like @woken
 * @woken: the stream was woken and has not taken its entry yet
 * @stream: the stream
 */
struct xiw_srq_waiter {
	struct list_head node;
	bool woken;
	struct xiw_stream *stream;
};

/**
 * struct xiw_srq - shared receive queue
 * @ibsrq: as the core sees it; its allocation is this struct
 * @rq: the queue
 * @id: number, not 0
 * @waiters: streams that wait for an entry, in the order of their arrival;
 *	protected by @rq.lock, like @woken and @moved_at
 * @woken: streams that were woken and have not taken their entry yet
 * @moved_at: jiffies when a stream was last woken, or began to wait as the only
 *	one
 * @events: asynchronous events to be reported, bits by enum ib_event_type
 * @event_work: reports them
 * @broken: IB_EVENT_SRQ_ERR was reported, as the ring is corrupt
 * @dropped: receives that were taken and have no completion; protected by
 *	@rq.lock
 */
struct xiw_srq {
	struct ib_srq ibsrq;
	struct xiw_rq rq;
	u32 id;
	struct list_head waiters;
	u32 woken;
	unsigned long moved_at;
	unsigned long events;
	struct work_struct event_work;
	atomic_t broken;
	u32 dropped;
};

static inline struct xiw_srq *to_xsrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct xiw_srq, ibsrq);
}

int xiw_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		   struct ib_udata *udata);
int xiw_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata);
int xiw_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int xiw_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int xiw_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr);
void xiw_srq_doorbell(struct ib_srq *ibsrq);
void xiw_srq_waiter_init(struct xiw_srq_waiter *w, struct xiw_stream *s);
enum xiw_rq_take xiw_srq_take(struct xiw_srq *srq, struct xiw_srq_waiter *w,
			      struct xiw_recv *recv);
void xiw_srq_wait(struct xiw_srq *srq, struct xiw_srq_waiter *w);
void xiw_srq_unwait(struct xiw_srq *srq, struct xiw_srq_waiter *w);
void xiw_srq_limit_event(struct xiw_srq *srq);
void xiw_srq_corrupt(struct xiw_srq *srq);
void xiw_srq_dropped(struct xiw_srq *srq);

#endif /* _XIW_SRQ_H */
