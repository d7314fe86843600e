/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The queue pair and the endpoint of its connection (ep.h), each of which has
 * references to the other: look-up and asynchronous events, the stream's calls,
 * and the end of a stream with the flush of both queues.
 *
 * Uses the objects of verbs/, the stream, the rings, and sockets.
 *
 * Lock order: modify_lock, the endpoint's mutex, flush_lock, socket lock, then
 * sq.lock or rq.lock, then stream.lock, then mem.lock (for reading) or cq.lock.
 *
 * References: the verbs object (until destroy), every iw_cm user through
 * iwcm_quirks.c, the endpoint it is attached to, and each running work item.
 * xiw_destroy_qp() takes away those of iw_cm and waits for all others.
 *
 * Unless noted otherwise functions may be called in any context with interrupts
 * on.
 */
#ifndef _XIW_QP_H
#define _XIW_QP_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "mem/mem.h"
#include "proto/oob.h"
#include "proto/oobstate.h"
#include "queue/queue.h"
#include "stream/stream.h"
#include "verbs/verbs.h"

struct mem_cgroup;
struct xiw_cq;
struct xiw_dev;
struct xiw_ep;
struct xiw_oob_port;

/* Purpose of the retry timer */
enum xiw_oob_timer {
	XIW_OOB_NOTHING,
	XIW_OOB_STREAM,		/* until the stream is established */
	XIW_OOB_ANSWER,		/* for an answer of a peer that has gone */
};

/**
 * struct xiw_oob - out-of-band state; protected by the lock of the queue
 *	pair's stream, unless noted otherwise
 * @state: see enum xiw_oob_state; a reset or rollback leaves
 *	XIW_OOBS_PEER_GONE with @lock held, too
 * @waits: requests wait for the stream; the reset clears it with @lock held,
 *	too
 * @final: the peer has said that it will always refuse; protected by @lock
 * @armed: enum xiw_oob_timer: what @expire is queued for; protected by @lock
 * @status: enum ib_wc_status of the first request that is flushed, or 0;
 *	belongs to the flush
 * @min_rnr_timer: code of the verbs; written with the lock and the queue
 *	pair's modify_lock held, read without
 * @timeout: code of the verbs; constant from RTS on. With @retry_cnt it sets
 *	how long a request waits
 * @retry_cnt: number of retries; constant from RTS on
 * @grh: GIDs, traffic class, and what is only reported to the ULP; constant
 *	until the reset
 * @answer_ms: how long a request waits for an answer of a peer that has gone;
 *	constant from RTS on, 0 before
 * @port: TCP port of both sides; constant until the reset
 * @role: Initiator, Responder or both; constant until the reset
 * @path: both ends are constant until the reset, the rest is set at RTR and RTS
 * @peer: the claim that the peer has sent, when there is an endpoint
 * @nonces: of that connection
 * @guesses: of a Responder: proofs that may fail before the next one has to
 *	wait; of those from any port, and of those from one below 1024
 * @guessed_at: jiffies when each was last incremented
 * @due: jiffies before which @expire is one that was queued earlier; protected
 *	by @lock
 * @expire: ends the wait; it and the members below are not reset. It is queued
 *	only while @waits or XIW_OOBS_PEER_GONE, with @lock held, so a poster
 *	that has seen that before the reset cannot queue it afterwards. It has a
 *	reference to the queue pair
 * @lock: protects the members that refer to it; taken with interrupts off,
 *	inside the stream's lock. After the wait no code reads these members,
 *	so the reset clears them without @lock
 * @listener: of a Responder; modify_lock
 */
struct xiw_oob {
	enum xiw_oob_state state;
	bool waits;
	bool final;
	u8 armed;
	u8 status;
	u8 min_rnr_timer;
	u8 timeout;
	u8 retry_cnt;
	struct ib_global_route grh;
	u32 answer_ms;
	u16 port;
	enum xiw_oob_role role;
	struct xiw_oob_path path;
	struct xiw_oob_claim peer;
	struct xiw_oob_nonces nonces;
	u32 guesses[2];
	unsigned long guessed_at[2];
	unsigned long due;
	struct delayed_work expire;
	spinlock_t lock; /* see above */
	struct xiw_oob_port *listener;
};

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

/* qp.c */
void xiw_qp_init(struct xiw_qp *qp);
void xiw_qp_get(struct xiw_qp *qp);
void xiw_qp_put(struct xiw_qp *qp);
struct xiw_qp *xiw_qp_get_by_num_locked(struct xiw_dev *dev, u32 qpn);
struct xiw_qp *xiw_qp_get_by_num(struct xiw_dev *dev, u32 qpn);
struct xiw_ep *xiw_qp_get_ep(struct xiw_qp *qp);
void xiw_qp_async(struct xiw_qp *qp, enum ib_event_type event);

/* qp_flush.c */
void xiw_qp_flush_init(struct xiw_qp *qp);
bool xiw_qp_stop(struct xiw_qp *qp, struct xiw_ep *ep);
void xiw_qp_end_stream(struct xiw_qp *qp);
void xiw_qp_reset_stream(struct xiw_qp *qp);
void xiw_qp_late_flush(struct xiw_qp *qp);
void xiw_qp_await(struct xiw_qp *qp, enum xiw_oob_timer what);

/* qp_stream.c */
void xiw_qp_stream_init(struct xiw_qp *qp, struct mem_cgroup *memcg);
enum ib_qp_state xiw_qp_ib_state(const struct xiw_qp *qp);
int xiw_qp_attach(struct xiw_qp *qp, struct xiw_ep *ep);
void xiw_qp_established(struct xiw_qp *qp);

#endif /* _XIW_QP_H */
