// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The stream operations of a queue pair: receive buffers and completions, and
 * the effects of a state change on ULP and endpoint. For the end of a stream
 * see qp_flush.c.
 */
#include "qp.h"

#include <linux/jiffies.h>

#include "dev.h"
#include "ep.h"
#include "stream/stream.h"
#include "verbs/verbs.h"

static struct xiw_qp *qp_stream_to_qp(struct xiw_stream *s)
{
	return container_of(s, struct xiw_qp, stream);
}

static void qp_stream_get_qp(struct xiw_stream *s)
{
	xiw_qp_get(qp_stream_to_qp(s));
}

static void qp_stream_put_qp(struct xiw_stream *s)
{
	xiw_qp_put(qp_stream_to_qp(s));
}

/*
 * Completions
 */

/*
 * Requests of a queue pair that is destroyed or reset do not complete: their
 * entries would use up the room of other queue pairs in the CQ.
 */
static bool qp_stream_complete_in(struct xiw_qp *qp, struct xiw_cq *cq,
				  struct xiw_cqe *cqe)
{
	if (READ_ONCE(qp->destroying) || READ_ONCE(qp->resetting))
		return true;
	cqe->qp_id = qp->qpn;
	return xiw_cq_add(cq, cqe);
}

static const u8 wc_opcode[] = {
	[IB_WR_RDMA_WRITE]			= IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_WRITE_WITH_IMM]		= IB_WC_RDMA_WRITE,
	[IB_WR_SEND]				= IB_WC_SEND,
	[IB_WR_SEND_WITH_IMM]			= IB_WC_SEND,
	[IB_WR_SEND_WITH_INV]			= IB_WC_SEND,
	[IB_WR_RDMA_READ]			= IB_WC_RDMA_READ,
	[IB_WR_RDMA_READ_WITH_INV]		= IB_WC_RDMA_READ,
	[IB_WR_ATOMIC_CMP_AND_SWP]		= IB_WC_COMP_SWAP,
	[IB_WR_ATOMIC_FETCH_AND_ADD]		= IB_WC_FETCH_ADD,
	[IB_WR_MASKED_ATOMIC_CMP_AND_SWP]	= IB_WC_MASKED_COMP_SWAP,
	[IB_WR_MASKED_ATOMIC_FETCH_AND_ADD]	= IB_WC_MASKED_FETCH_ADD,
	[IB_WR_LOCAL_INV]			= IB_WC_LOCAL_INV,
	[IB_WR_REG_MR]				= IB_WC_REG_MR,
	[IB_WR_BIND_MW]				= IB_WC_BIND_MW,
};

/* Out of band: the peer had no receive for this request. */
static bool qp_stream_lacked_receive(const struct xiw_qp *qp,
				     const struct xiw_swr *wr)
{
	return xiw_qp_is_oob(qp) && wr->status != IB_WC_SUCCESS &&
	       wr->vendor_err == xiw_term_code(XIW_NO_BUFFER);
}

static bool qp_stream_send_done(struct xiw_stream *s, const struct xiw_swr *wr)
{
	struct xiw_qp *qp = qp_stream_to_qp(s);
	struct xiw_cqe cqe = {
		.wr_id = wr->wr_id,
		.status = wr->status,
		.vendor_err = wr->vendor_err,
		/* The callers have reclaimed the slot already. */
		.sq_done = qp->sq.head,
	};

	if (wr->status == IB_WC_WR_FLUSH_ERR ||
	    qp_stream_lacked_receive(qp, wr)) {
		/* Out of band, the first failed request reports the cause. */
		cqe.status = qp->oob.status ?: IB_WC_WR_FLUSH_ERR;
		qp->oob.status = 0;
	}
	if (wr->opcode < ARRAY_SIZE(wc_opcode))
		cqe.opcode = wc_opcode[wr->opcode];
	if (xiw_swr_is_request(wr))
		cqe.byte_len = wr->len;
	return qp_stream_complete_in(qp, qp->scq, &cqe);
}

static bool qp_stream_send_unpolled(const struct xiw_stream *s)
{
	const struct xiw_qp *qp = container_of(s, struct xiw_qp, stream);

	return xiw_cq_unpolled(qp->scq);
}

static bool qp_stream_recv_done(struct xiw_stream *s, struct xiw_cqe *cqe)
{
	struct xiw_qp *qp = qp_stream_to_qp(s);
	bool ret;

	cqe->srq_id = qp->srq ? qp->srq->id : 0;
	cqe->qp_id = 0;
	ret = qp_stream_complete_in(qp, qp->rcq, cqe);
	/* Without a completion, return the slot of the shared queue here. */
	if (qp->srq && (!ret || !cqe->qp_id))
		xiw_srq_dropped(qp->srq);
	return ret;
}

static u8 qp_stream_run_local(struct xiw_stream *s, const struct xiw_swr *wr)
{
	struct xiw_qp *qp = qp_stream_to_qp(s);
	struct ib_pd *pd = qp->ibqp.pd;

	switch (wr->opcode) {
	case IB_WR_REG_MR:
		return xiw_mr_fast_register(pd, wr->mr, wr->rkey, wr->access) ?
			IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
	case IB_WR_BIND_MW:
		return xiw_mw_bind(pd, &qp->windows, wr->rkey, &wr->bind) ?
			IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
	default:
		return xiw_mem_invalidate(&s->tx.mem, wr->rkey, false) ==
		       XIW_MEM_OK ? IB_WC_SUCCESS : IB_WC_LOC_QP_OP_ERR;
	}
}

/*
 * Receives
 */

static enum xiw_rq_take qp_stream_take_recv(struct xiw_stream *s,
					    struct xiw_recv *recv)
{
	struct xiw_qp *qp = qp_stream_to_qp(s);
	struct xiw_srq *srq = qp->srq;
	enum xiw_rq_take ret;

	if (!srq) {
		ret = xiw_rq_take(&qp->rq, recv);
		/* Only the process that owns the ring can write to it. */
		if (ret == XIW_RQ_CORRUPT)
			xiw_qp_async(qp, IB_EVENT_QP_FATAL);
		return ret;
	}
	ret = xiw_srq_take(srq, &qp->srq_waiter, recv);
	if (ret == XIW_RQ_CORRUPT)
		xiw_srq_corrupt(srq);
	else if (ret == XIW_RQ_LIMIT)
		xiw_srq_limit_event(srq);
	return ret;
}

static void qp_stream_rnr_wait(struct xiw_stream *s)
{
	struct xiw_qp *qp = qp_stream_to_qp(s);

	if (qp->srq) {
		xiw_srq_wait(qp->srq, &qp->srq_waiter);
		return;
	}
	xiw_rq_doorbell_mode(&qp->rq, true);
	/* A concurrent post may have missed that the stream waits. */
	if (xiw_rq_count(&qp->rq))
		xiw_rx_posted(s);
}

static void qp_stream_rnr_end(struct xiw_stream *s)
{
	struct xiw_qp *qp = qp_stream_to_qp(s);

	if (qp->srq)
		xiw_srq_unwait(qp->srq, &qp->srq_waiter);
	else if (!READ_ONCE(qp->sq.stopped))
		xiw_rq_doorbell_mode(&qp->rq, false);
}

/* Extend the RNR wait to what the attributes of both sides ask for. */
static unsigned long qp_stream_wait_oob(const struct xiw_qp *qp,
					unsigned long until)
{
	const struct xiw_oob *oob = &qp->oob;
	u32 ms = xiw_oob_receive_ms(&oob->peer,
				    READ_ONCE(oob->min_rnr_timer));
	u32 least = READ_ONCE(qp->dev->env.rnr_timeout_ms);

	if (ms == U32_MAX)
		return jiffies + HZ;
	return ms > least ? until + msecs_to_jiffies(ms - least) : until;
}

/*
 * The RNR wait for an entry of an SRQ restarts when another stream gets one.
 * The wait is limited: entries are given out in order, so only streams that
 * waited before this one can restart it.
 */
static unsigned long qp_stream_rnr_until(struct xiw_stream *s,
					 unsigned long until)
{
	const struct xiw_srq *srq = qp_stream_to_qp(s)->srq;
	unsigned long moved;

	if (xiw_qp_is_oob(qp_stream_to_qp(s)))
		until = qp_stream_wait_oob(qp_stream_to_qp(s), until);
	if (!srq)
		return until;
	moved = READ_ONCE(srq->moved_at) +
		msecs_to_jiffies(READ_ONCE(s->env->rnr_timeout_ms));
	return time_after(moved, until) ? moved : until;
}

/*
 * Busy-poll work
 */

/* Check both CQs each time: a check covers the time since the previous one. */
static bool qp_stream_busy_polls(struct xiw_qp *qp)
{
	bool scq = xiw_cq_is_busy_polled(qp->scq);

	return (qp->rcq != qp->scq && xiw_cq_is_busy_polled(qp->rcq)) || scq;
}

/* Posts on both CQs or none: a process may poll one and sleep on the other. */
static bool qp_stream_post_work(struct xiw_stream *s)
{
	struct xiw_qp *qp = qp_stream_to_qp(s);

	if (qp->kernel || !qp_stream_busy_polls(qp) ||
	    !xiw_cq_post_work(qp->scq, s))
		return false;
	if (qp->rcq == qp->scq || xiw_cq_post_work(qp->rcq, s))
		return true;
	xiw_cq_cancel_work(qp->scq, s);
	return false;
}

static void qp_stream_cancel_work(struct xiw_stream *s)
{
	struct xiw_qp *qp = qp_stream_to_qp(s);

	xiw_cq_cancel_work(qp->scq, s);
	if (qp->rcq != qp->scq)
		xiw_cq_cancel_work(qp->rcq, s);
}

/*
 * State
 */

/**
 * xiw_qp_ib_state() - state of a queue pair in the ULP's terms
 * @qp: queue pair
 *
 * Context: The stream's lock is held.
 * Return: IB_QPS_*.
 */
enum ib_qp_state xiw_qp_ib_state(const struct xiw_qp *qp)
{
	if (xiw_qp_is_oob(qp))
		return xiw_oobstate_is_dead(qp->oob.state) ? IB_QPS_ERR
							   : qp->ib_state;
	switch (qp->stream.state) {
	case XIW_QPS_RTS:
		return IB_QPS_RTS;
	case XIW_QPS_CLOSING:
		return IB_QPS_SQD;
	case XIW_QPS_TERMINATE:
		return IB_QPS_SQE;
	case XIW_QPS_ERROR:
		return IB_QPS_ERR;
	default:
		/*
		 * The stream is Idle in RESET and INIT: report the state the
		 * ULP set.
		 */
		return qp->ib_state;
	}
}

/* Map the actions of a transition to bits of endpoint events. */
static u32 qp_stream_to_ep_events(enum xiw_qp_state next, u32 actions)
{
	u32 events = 0;

	if (actions & XIW_QPA_ABORT)
		events |= BIT(XIW_EPE_ABORT);
	else if (actions & XIW_QPA_CLOSE)
		events |= BIT(XIW_EPE_CLOSE);
	/*
	 * After a Terminate in either direction nothing more is sent: the
	 * endpoint can close the connection without the queue pair.
	 */
	if (actions & XIW_QPA_SHUTDOWN && next != XIW_QPS_CLOSING)
		events |= BIT(XIW_EPE_CLOSE);
	if (actions & XIW_QPA_ARM_TIMER)
		events |= BIT(XIW_EPE_CLOSE_TIMER);
	if (actions & XIW_QPA_DISCONNECT)
		events |= BIT(XIW_EPE_PEER_CLOSED);
	return events;
}

/*
 * True if one of @events makes the endpoint call xiw_qp_stop(), which detaches
 * the stream and then flushes; later posts are left to the flush work. Kernel
 * ULPs always need the flush work, which has a rescuer: the endpoint's work may
 * wait for memory that the ULP frees only after the flush.
 */
static bool qp_stream_ep_flushes(const struct xiw_qp *qp, u32 events)
{
	lockdep_assert_held(&qp->stream.lock);

	return qp->ep && qp->stream.llp && !qp->kernel &&
	       events & (BIT(XIW_EPE_CLOSE) | BIT(XIW_EPE_ABORT));
}

static enum ib_event_type qp_stream_fault_event(enum xiw_reason reason)
{
	switch (xiw_term_event(reason)) {
	case XIW_EVENT_ACCESS:
		return IB_EVENT_QP_ACCESS_ERR;
	case XIW_EVENT_REQ:
		return IB_EVENT_QP_REQ_ERR;
	default:
		return IB_EVENT_QP_FATAL;
	}
}

/*
 * Out of band: the end of the peer or of TCP is an error only for requests that
 * are still to be sent. Before the first FPDU a Responder has no established
 * stream that could end, see xiw_oob_roll_back(). Its Initiator cannot know
 * whether that has arrived, so a stream that was lost unused is rolled back,
 * too.
 */
static u32 qp_stream_step_oob(struct xiw_qp *qp, enum xiw_qp_event event,
			      u32 events)
{
	struct xiw_oob *oob = &qp->oob;

	switch (event) {
	case XIW_QPE_LOCAL_ERROR:
		xiw_qp_oob_step(qp, XIW_OOBE_END);
		WRITE_ONCE(oob->waits, false);
		return events | BIT(XIW_EPE_CLOSE);
	case XIW_QPE_TERM_RECEIVED:
		if (qp->stream.rx.term_code == xiw_term_code(XIW_NO_BUFFER))
			oob->status = IB_WC_RNR_RETRY_EXC_ERR;
		fallthrough;
	case XIW_QPE_FAULT:
	case XIW_QPE_FAULT_SILENT:
		xiw_qp_oob_step(qp, XIW_OOBE_FAULT);
		break;
	case XIW_QPE_LLP_LOST:
		/* The end of the device leaves no endpoint to try again. */
		if (xiw_stream_is_unused(&qp->stream) &&
		    !READ_ONCE(qp->dev->eps_closed)) {
			xiw_qp_oob_step(qp, XIW_OOBE_LOSE_UNUSED);
			break;
		}
		fallthrough;
	case XIW_QPE_PEER_FIN_DIRTY:
	case XIW_QPE_LLP_CLOSED:
	case XIW_QPE_CLOSE_TIMEOUT:
		xiw_qp_oob_step(qp, XIW_OOBE_LOSE);
		break;
	default:
		break;
	}
	return events;
}

static bool qp_stream_state_step(struct xiw_stream *s, enum xiw_qp_event event,
				 enum xiw_qp_state old,
				 const struct xiw_qp_step *step)
{
	u32 events = qp_stream_to_ep_events(step->next, step->actions);
	struct xiw_qp *qp = qp_stream_to_qp(s);

	if (xiw_qp_is_oob(qp))
		events = qp_stream_step_oob(qp, event, events);
	WRITE_ONCE(qp->ib_state, xiw_qp_ib_state(qp));
	if (qp->ep && events && !xiw_oobstate_is_rollback(qp->oob.state))
		xiw_ep_raise_all(qp->ep, events);
	if (step->actions & XIW_QPA_EVENT_FATAL &&
	    !xiw_oobstate_is_tentative(qp->oob.state))
		xiw_qp_async(qp, event == XIW_QPE_FAULT
					 ? qp_stream_fault_event(s->fault)
					 : IB_EVENT_QP_FATAL);
	return step->actions & XIW_QPA_FLUSH &&
	       (old == XIW_QPS_IDLE || !qp_stream_ep_flushes(qp, events));
}

static void qp_stream_raise_at_ep(struct xiw_stream *s, enum xiw_ep_event event)
{
	struct xiw_qp *qp = qp_stream_to_qp(s);

	spin_lock_bh(&s->lock);
	if (qp->ep)
		xiw_ep_raise(qp->ep, event);
	spin_unlock_bh(&s->lock);
}

static void qp_stream_first_fpdu(struct xiw_stream *s)
{
	xiw_qp_established(qp_stream_to_qp(s));
	qp_stream_raise_at_ep(s, XIW_EPE_FIRST_FPDU);
}

static void qp_stream_drained(struct xiw_stream *s)
{
	qp_stream_raise_at_ep(s, XIW_EPE_SHUTDOWN);
}

/*
 * Report the corrupt ring only once: the flush work finds it, too, and must
 * end.
 */
static void qp_stream_ring_broken(struct xiw_stream *s)
{
	struct xiw_qp *qp = qp_stream_to_qp(s);

	if (READ_ONCE(s->state) == XIW_QPS_ERROR || READ_ONCE(qp->resetting))
		return;
	xiw_stream_event(s, XIW_QPE_LOCAL_ERROR);
	xiw_qp_async(qp, IB_EVENT_QP_FATAL);
}

static void qp_stream_flush(struct xiw_stream *s)
{
	xiw_qp_late_flush(qp_stream_to_qp(s));
}

static const struct xiw_stream_ops stream_ops = {
	.get = qp_stream_get_qp,
	.put = qp_stream_put_qp,
	.step = qp_stream_state_step,
	.flush = qp_stream_flush,
	.broken = qp_stream_ring_broken,
	.first_fpdu = qp_stream_first_fpdu,
	.drained = qp_stream_drained,
	.take_recv = qp_stream_take_recv,
	.rnr_wait = qp_stream_rnr_wait,
	.rnr_end = qp_stream_rnr_end,
	.rnr_until = qp_stream_rnr_until,
	.recv_done = qp_stream_recv_done,
	.send_done = qp_stream_send_done,
	.send_unpolled = qp_stream_send_unpolled,
	.run_local = qp_stream_run_local,
	.post_work = qp_stream_post_work,
	.cancel_work = qp_stream_cancel_work,
};

/*
 * Set-up and attachment
 */

/**
 * xiw_qp_stream_init() - prepare a new queue pair for streams
 * @qp: queue pair with queues and number, not yet reachable by others
 * @memcg: pays for the streams' memory, with a reference for the queue pair; or
 *	NULL
 *
 * Context: Any.
 */
void xiw_qp_stream_init(struct xiw_qp *qp, struct mem_cgroup *memcg)
{
	struct xiw_stream *s = &qp->stream;

	xiw_qp_flush_init(qp);
	xiw_srq_waiter_init(&qp->srq_waiter, s);
	qp->windows.qpn = qp->qpn;
	s->ops = &stream_ops;
	s->env = &qp->dev->env;
	s->id = qp->qpn;
	s->sq = &qp->sq;
	s->memcg = memcg;
	xiw_stream_init(s, qp->ibqp.pd);
}

/**
 * xiw_qp_attach() - tie a queue pair to an endpoint
 * @qp: queue pair
 * @ep: locked endpoint that begins to connect; each refers to the other then
 *
 * Return: 0, -EINVAL if the queue pair cannot be connected, -EISCONN if it
 * has an endpoint, or is connected out of band and @ep is not, or vice versa.
 */
int xiw_qp_attach(struct xiw_qp *qp, struct xiw_ep *ep)
{
	struct xiw_stream *s = &qp->stream;
	bool oob = ep->user == qp->dev->oob_user;
	int ret = 0;

	spin_lock_bh(&s->lock);
	if (qp->ep || xiw_qp_is_oob(qp) != oob) {
		ret = -EISCONN;
	} else if (s->state != XIW_QPS_IDLE || qp->destroying ||
		   qp->resetting) {
		ret = -EINVAL;
	} else {
		xiw_ep_get(ep);
		qp->ep = ep;
		xiw_qp_get(qp);
		ep->qp = qp;
		ep->qpn = qp->qpn;
	}
	spin_unlock_bh(&s->lock);
	return ret;
}

/**
 * xiw_qp_established() - record that the stream of a queue pair is established
 * @qp: queue pair; nothing happens unless it is connected out of band
 */
void xiw_qp_established(struct xiw_qp *qp)
{
	struct xiw_oob *oob = &qp->oob;
	bool early;

	spin_lock_bh(&qp->stream.lock);
	xiw_qp_oob_step(qp, XIW_OOBE_ESTABLISH);
	WRITE_ONCE(oob->waits, false);
	early = xiw_qp_is_oob(qp) && qp->ib_state == IB_QPS_RTR;
	spin_unlock_bh(&qp->stream.lock);
	if (early)
		xiw_qp_async(qp, IB_EVENT_COMM_EST);
}
