/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue pairs: the object, its references, and its asynchronous events.
 *
 * Lock order: modify_lock, the endpoint's mutex, flush_lock, socket lock, then
 * sq.lock or rq.lock, then stream.lock, then mem.lock (for reading) or cq.lock.
 *
 * References: the verbs object (until destroy), every iw_cm user through
 * iwcm_quirks.c, the endpoint it is attached to, and each running work item.
 * xiw_destroy_qp() takes away those of iw_cm and waits for all others.
 */
#ifndef _XIW_QP_H
#define _XIW_QP_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "mem/mem.h"
#include "oob/oob.h"
#include "queue/rq.h"
#include "queue/sq.h"
#include "stream/stream.h"
#include "verbs/srq.h"

struct xiw_cq;
struct xiw_dev;
struct xiw_ep;

/**
 * struct xiw_qp - queue pair
 * @ibqp: as the core sees it; its allocation is this struct
 * @dev: device
 * @qpn: number
 * @uctx: context of the process that made it, or NULL
 * @kernel: used by a kernel ULP
 * @ref: see above
 * @freed: completed when @ref drops to zero
 * @handles: references of iw_cm; see iwcm_quirks.c
 * @modify_lock: serializes state changes by the ULP, as the core does not;
 *	outside of all other locks here
 * @ib_state: what the ULP last set or what follows from the stream's
 *	state; protected by @stream.lock, like @ep
 * @ep: endpoint, with a reference, or NULL
 * @events: asynchronous events to be reported, bits by enum ib_event_type
 * @event_work: reports them
 * @destroying: being destroyed; no endpoint may attach, and nothing completes,
 *	any more
 * @resetting: being reset; with the same effects
 * @last_wqe_reported: IB_EVENT_QP_LAST_WQE_REACHED was reported
 * @flush_work: completes what is posted after the last stream has ended
 * @flush_lock: held while both queues are flushed; without an attached stream
 *	its holder owns the consumer side of both. Outside of the socket lock
 * @scq: send completion queue
 * @rcq: receive completion queue
 * @srq: shared receive queue or NULL
 * @srq_waiter: its place in the list of waiters for an entry of @srq
 * @sq: send queue
 * @rq: own receive queue, unused with @srq
 * @windows: type 2 windows bound to it
 * @oob: state of its out-of-band connection, if it has one
 * @stream: its stream, reused for each connection
 */
struct xiw_qp {
	struct ib_qp ibqp;
	struct xiw_dev *dev;
	u32 qpn;
	struct ib_ucontext *uctx;
	bool kernel;
	struct kref ref;
	struct completion freed;
	struct list_head handles;

	struct mutex modify_lock; /* see above */
	enum ib_qp_state ib_state;
	struct xiw_ep *ep;
	unsigned long events;
	struct work_struct event_work;
	bool destroying;
	bool resetting;
	bool last_wqe_reported;
	struct work_struct flush_work;
	struct mutex flush_lock; /* see above */

	struct xiw_cq *scq;
	struct xiw_cq *rcq;
	struct xiw_srq *srq;
	struct xiw_srq_waiter srq_waiter;
	struct xiw_sq sq;
	struct xiw_rq rq;
	struct xiw_mw_owner windows;

	struct xiw_oob oob;
	struct xiw_stream stream;
};

static inline struct xiw_qp *to_xqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct xiw_qp, ibqp);
}

/* Has the ULP named a peer, to connect the queue pair out of band? */
static inline bool xiw_qp_is_oob(const struct xiw_qp *qp)
{
	return READ_ONCE(qp->oob.state) != XIW_OOBS_IDLE;
}

/* Advances the out-of-band state. The stream's lock is held. */
static inline void xiw_qp_oob_step(struct xiw_qp *qp, enum xiw_oob_event event)
{
	WRITE_ONCE(qp->oob.state, xiw_oobstate_next(qp->oob.state, event));
}

void xiw_qp_init(struct xiw_qp *qp);
void xiw_qp_get(struct xiw_qp *qp);
void xiw_qp_put(struct xiw_qp *qp);
struct xiw_qp *xiw_qp_get_by_num_locked(struct xiw_dev *dev, u32 qpn);
struct xiw_qp *xiw_qp_get_by_num(struct xiw_dev *dev, u32 qpn);
struct xiw_ep *xiw_qp_get_ep(struct xiw_qp *qp);
void xiw_qp_async(struct xiw_qp *qp, enum ib_event_type event);

#endif /* _XIW_QP_H */
