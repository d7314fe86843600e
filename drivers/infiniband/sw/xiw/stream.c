// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The stream of a queue pair: its beginning and end, what happens to it, and
 * the one place that changes the queue pair's state.
 *
 * DOC: end of a stream
 *
 * Whatever ends a stream goes through xiw_qp_event(). Its table says what
 * follows; what cannot be done in the caller's context becomes a request to
 * the endpoint, which calls xiw_qp_stop(), or is left to the flush work.
 *
 * Both queues are flushed under flush_lock, by the endpoint or the flush work:
 * with the socket lock held, too, while a stream is attached. Having flushed
 * everything, whoever does it sets sq.stopped and looks once more; from then on
 * everybody who posts queues the work again. Only a reset, which there is only
 * without endpoint and when the flush work has ended, does without.
 */

#include <linux/log2.h>

#include "cm.h"
#include "cq.h"
#include "device.h"
#include "qp.h"
#include "sock.h"
#include "trace.h"

/**
 * xiw_qp_ib_state() - state of a queue pair in the consumer's terms
 * @qp: queue pair
 *
 * Context: @qp->lock held.
 * Return: IB_QPS_*.
 */
enum ib_qp_state xiw_qp_ib_state(const struct xiw_qp *qp)
{
	switch (qp->state) {
	case XIW_QPS_RTS:
		return IB_QPS_RTS;
	case XIW_QPS_CLOSING:
		return IB_QPS_SQD;
	case XIW_QPS_TERMINATE:
		return IB_QPS_SQE;
	case XIW_QPS_ERROR:
		return IB_QPS_ERR;
	default:
		/* RESET and INIT differ only for the consumer. */
		return qp->ib_state;
	}
}

/**
 * xiw_qp_queue_work() - queue a work item that needs the queue pair
 * @qp: queue pair
 * @wq: where
 * @work: one of @qp's; it ends with xiw_qp_put(), for it holds a reference on
 *	the queue pair from the moment it is queued
 *
 * Context: Any.
 */
void xiw_qp_queue_work(struct xiw_qp *qp, struct workqueue_struct *wq,
		       struct work_struct *work)
{
	xiw_qp_get(qp);
	if (!queue_work(wq, work))
		xiw_qp_put(qp);
}

/**
 * xiw_qp_queue_delayed() - the same, later
 * @qp: queue pair
 * @work: as above, on the module's own workqueue
 * @delay: jiffies from now
 *
 * Context: Any.
 */
void xiw_qp_queue_delayed(struct xiw_qp *qp, struct delayed_work *work,
			  unsigned long delay)
{
	xiw_qp_get(qp);
	if (!queue_delayed_work(xiw_wq, work, delay))
		xiw_qp_put(qp);
}

/**
 * xiw_qp_cancel_delayed() - take a delayed work item back
 * @qp: queue pair
 * @work: as above
 *
 * Context: Sleeps until the work does not run any more.
 */
void xiw_qp_cancel_delayed(struct xiw_qp *qp, struct delayed_work *work)
{
	if (cancel_delayed_work_sync(work))
		xiw_qp_put(qp);
}

/**
 * xiw_qp_get_sock() - the socket of the attached stream
 * @qp: queue pair
 *
 * Who has locked it must check that it still is @qp->xs.
 *
 * Context: Any with interrupts on.
 * Return: The socket with a reference, or NULL.
 */
struct xiw_sock *xiw_qp_get_sock(struct xiw_qp *qp)
{
	struct xiw_sock *xs;

	spin_lock_bh(&qp->lock);
	xs = qp->xs;
	if (xs)
		xiw_sock_get(xs);
	spin_unlock_bh(&qp->lock);
	return xs;
}

/**
 * xiw_qp_lock_stream() - become the owner of the attached stream
 * @qp: queue pair
 *
 * Context: Sleeps.
 * Return: The socket, locked and with a reference, for
 * xiw_qp_unlock_stream(); NULL if no stream is attached.
 */
struct xiw_sock *xiw_qp_lock_stream(struct xiw_qp *qp)
{
	struct xiw_sock *xs = xiw_qp_get_sock(qp);

	if (!xs)
		return NULL;
	xiw_sock_lock(xs);
	if (qp->xs == xs)
		return xs;
	/* It was detached meanwhile. */
	xiw_qp_unlock_stream(xs);
	return NULL;
}

/**
 * xiw_qp_unlock_stream() - end of xiw_qp_lock_stream()
 * @xs: what it returned, not NULL
 *
 * Context: Process context.
 */
void xiw_qp_unlock_stream(struct xiw_sock *xs)
{
	xiw_sock_unlock(xs);
	xiw_sock_put(xs);
}

/* What refers to work requests goes before they do. */
static void forget_messages(struct xiw_qp *qp)
{
	if (qp->tx.source != XIW_TX_TERM)
		qp->tx.source = XIW_TX_NONE;
	qp->rx.dead = true;
	qp->irq_head = qp->irq_tail;
	qp->orq_head = qp->orq_tail;
}

static void flush_both(struct xiw_qp *qp)
{
	bool more;

	forget_messages(qp);
	xiw_sq_want_doorbell(&qp->sq, XIW_RING_NEED_DB);
	if (!qp->srq)
		xiw_rq_want_doorbell(&qp->rq, true);
	xiw_sq_flush(qp);
	xiw_rq_flush(qp);
	WRITE_ONCE(qp->sq.stopped, true);
	/* Pairs with the barrier between posting and reading "stopped". */
	smp_mb();
	more = xiw_sq_flush(qp);
	more |= xiw_rq_flush(qp);
	/*
	 * Others' turn; and nobody hears of a queue pair that goes away. From
	 * here on a process announces all it posts, so one that goes on without
	 * need not be served.
	 */
	if (more && qp->kernel && !READ_ONCE(qp->destroying))
		xiw_qp_late_flush(qp);
}

static void flush(struct xiw_qp *qp)
{
	enum xiw_qp_state state;
	struct xiw_sock *xs;

	mutex_lock(&qp->flush_lock);
	xs = xiw_qp_get_sock(qp);
	if (xs)
		xiw_sock_lock(xs);
	state = READ_ONCE(qp->state);
	if (state == XIW_QPS_ERROR || state == XIW_QPS_TERMINATE) {
		flush_both(qp);
		/* A graceful close may have waited for what is gone now. */
		if (xs && qp->xs == xs)
			xiw_tx_run_locked(qp);
	}
	if (xs) {
		xiw_sock_unlock(xs);
		xiw_sock_put(xs);
	}
	mutex_unlock(&qp->flush_lock);
}

static void flush_work_fn(struct work_struct *work)
{
	struct xiw_qp *qp = container_of(work, struct xiw_qp, flush_work);

	flush(qp);
	xiw_qp_put(qp);
}

/**
 * xiw_qp_late_flush() - something was posted after the stream has ended
 * @qp: queue pair
 *
 * Context: Any.
 */
void xiw_qp_late_flush(struct xiw_qp *qp)
{
	xiw_qp_queue_work(qp, xiw_wq, &qp->flush_work);
}

/**
 * xiw_qp_request() - ask the endpoint for something
 * @qp: queue pair; nothing happens if it has no endpoint
 * @requests: XIW_EP_*
 *
 * Context: Any with interrupts on.
 */
void xiw_qp_request(struct xiw_qp *qp, u32 requests)
{
	spin_lock_bh(&qp->lock);
	if (qp->ep)
		xiw_ep_request(qp->ep, requests);
	spin_unlock_bh(&qp->lock);
}

/* What the actions of a transition mean to the endpoint. */
static u32 to_requests(enum xiw_qp_event event, enum xiw_qp_state next,
		       u32 actions)
{
	u32 requests = 0;

	if (actions & XIW_QPA_ABORT)
		requests |= event == XIW_QPE_LLP_LOST ? XIW_EP_LOST :
			XIW_EP_ABORT;
	else if (actions & XIW_QPA_CLOSE)
		requests |= XIW_EP_CLOSE;
	/*
	 * Behind a Terminate, in either direction, nothing is sent any more:
	 * the endpoint can wind the connection down without us.
	 */
	if (actions & XIW_QPA_SHUTDOWN && next != XIW_QPS_CLOSING)
		requests |= XIW_EP_CLOSE;
	if (actions & XIW_QPA_ARM_TIMER)
		requests |= XIW_EP_CLOSE_TIMER;
	if (actions & XIW_QPA_DISCONNECT)
		requests |= XIW_EP_PEER_CLOSED;
	return requests;
}

/* True if the queues are to be flushed now. */
static bool take_step(struct xiw_qp *qp, enum xiw_qp_event event)
{
	struct xiw_qp_step step;
	enum xiw_qp_state old;
	bool others = false;
	u32 requests;

	spin_lock_bh(&qp->lock);
	old = qp->state;
	step = xiw_qpstate_step(old, event);
	if (!step.legal) {
		spin_unlock_bh(&qp->lock);
		/* Those that come from a consumer or a timer may be late. */
		WARN_ON_ONCE(event != XIW_QPE_RESET &&
			     event != XIW_QPE_LOCAL_CLOSE &&
			     event != XIW_QPE_CLOSE_TIMEOUT);
		return false;
	}
	WRITE_ONCE(qp->state, step.next);
	WRITE_ONCE(qp->ib_state, xiw_qp_ib_state(qp));
	trace_qp_state(qp, event, old, step.next);
	requests = to_requests(event, step.next, step.actions);
	if (qp->ep && requests) {
		xiw_ep_request(qp->ep, requests);
		/*
		 * In these cases it calls xiw_qp_stop(), which flushes. But its
		 * work may have to wait for memory, and a kernel consumer for
		 * the flush to give some back: the flush work has a rescuer.
		 */
		others = !qp->kernel && requests & (XIW_EP_CLOSE |
						    XIW_EP_ABORT | XIW_EP_LOST);
	}
	spin_unlock_bh(&qp->lock);

	if (step.next == XIW_QPS_CLOSING && old == XIW_QPS_RTS)
		/* Pairs with the acquire in go_idle(). */
		smp_store_release(&qp->tx.fin, true);
	if (step.actions & XIW_QPA_EVENT_FATAL)
		xiw_qp_async(qp, event == XIW_QPE_FAULT ? qp->fault_event :
			     IB_EVENT_QP_FATAL);
	return step.actions & XIW_QPA_FLUSH && !others;
}

/**
 * xiw_qp_event() - something happened to the stream
 * @qp: queue pair
 * @event: what
 *
 * Context: Any with interrupts on. Events that come from the data path hold
 * the socket lock.
 */
void xiw_qp_event(struct xiw_qp *qp, enum xiw_qp_event event)
{
	if (take_step(qp, event))
		xiw_qp_queue_work(qp, xiw_wq, &qp->flush_work);
}

/**
 * xiw_qp_give_up() - the queue pair goes away
 * @qp: queue pair being destroyed
 *
 * Context: Sleeps.
 */
void xiw_qp_give_up(struct xiw_qp *qp)
{
	if (take_step(qp, XIW_QPE_LOCAL_ERROR))
		flush(qp);
}

static enum ib_event_type fault_event(enum xiw_reason reason)
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

/**
 * xiw_qp_fault() - this side found a fault
 * @qp: queue pair
 * @reason: what is wrong
 * @off: the segment to blame, or NULL
 *
 * The FPDUs already laid out are sent, then a Terminate, then FIN; nothing
 * more is placed. Behind the MPA fence, or behind the own FIN, there is no
 * Terminate either. Only the first fault is reported (RFC 5040 section 7.1).
 *
 * Context: Socket lock held.
 */
void xiw_qp_fault(struct xiw_qp *qp, enum xiw_reason reason,
		  const struct xiw_term_offender *off)
{
	enum xiw_qp_state state = READ_ONCE(qp->state);
	struct xiw_tx *tx = &qp->tx;
	u8 opcode = XIW_OP_UNKNOWN;

	qp->rx.dead = true;
	qp->rx.poke_tx = true;
	tx->source = XIW_TX_NONE;
	if (state != XIW_QPS_RTS && state != XIW_QPS_CLOSING) {
		xiw_qp_event(qp, XIW_QPE_FAULT);
		return;
	}
	qp->fault_event = fault_event(reason);
	if (off) {
		opcode = off->hdr[1] & XIW_RDMAP_OP_MASK;
		xiw_stat_inc(qp->dev, XIW_STAT_PROTO_ERROR);
	}
	if (tx->fenced || tx->fin_done || !xiw_term_wanted(reason, opcode)) {
		xiw_qp_event(qp, XIW_QPE_FAULT_SILENT);
		return;
	}
	tx->term_len = xiw_term_encode(tx->term_ulpdu, reason, off);
	tx->rtr = 0;
	xiw_stat_inc(qp->dev, XIW_STAT_TERM_SENT);
	trace_terminate_sent(qp, xiw_term_code(reason));
	xiw_qp_event(qp, XIW_QPE_FAULT);
}

/**
 * xiw_qp_complete() - hand a completion to the consumer
 * @qp: queue pair
 * @cq: one of its completion queues
 * @cqe: the completion
 *
 * If the completion queue is full the completion is lost, and with it the
 * stream: nobody could tell any more what was done. Nobody hears of requests
 * of a queue pair that goes away or is reset; they would take the room of
 * others.
 *
 * Context: Owner of the side of the queue pair that completes.
 */
void xiw_qp_complete(struct xiw_qp *qp, struct xiw_cq *cq,
		     const struct xiw_cqe *cqe)
{
	enum xiw_qp_state state;

	if (READ_ONCE(qp->destroying) || READ_ONCE(qp->resetting))
		return;
	if (xiw_cq_add(cq, cqe))
		return;
	state = READ_ONCE(qp->state);
	if (state == XIW_QPS_RTS ||
	    (state == XIW_QPS_CLOSING && !qp->tx.fin_done))
		xiw_qp_fault(qp, XIW_LOCAL_FAULT, NULL);
}

static void on_data_ready(struct xiw_sock *xs, void *ctx)
{
	struct xiw_qp *qp = ctx;

	if (qp->xs == xs)
		xiw_rx_run_locked(qp);
}

static void on_write_space(struct xiw_sock *xs, void *ctx)
{
	struct xiw_qp *qp = ctx;

	if (qp->xs == xs)
		xiw_tx_space(qp);
}

static const struct xiw_sock_ops stream_ops = {
	.data_ready = on_data_ready,
	.write_space = on_write_space,
	.state_change = on_data_ready,
};

/**
 * xiw_stream_init() - prepare a new queue pair for streams
 * @qp: queue pair
 *
 * Context: Any.
 */
void xiw_stream_init(struct xiw_qp *qp)
{
	INIT_WORK(&qp->flush_work, flush_work_fn);
	mutex_init(&qp->flush_lock);
	xiw_tx_init(qp);
	xiw_rx_init(qp);
}

/**
 * xiw_qp_attach() - tie a queue pair to an endpoint
 * @qp: queue pair
 * @ep: endpoint that begins to connect; a reference is taken
 *
 * Context: Any with interrupts on.
 * Return: 0, -EINVAL if the queue pair cannot be connected, -EISCONN if it
 * has an endpoint.
 */
int xiw_qp_attach(struct xiw_qp *qp, struct xiw_ep *ep)
{
	int ret = 0;

	spin_lock_bh(&qp->lock);
	if (qp->ep) {
		ret = -EISCONN;
	} else if (qp->state != XIW_QPS_IDLE || qp->destroying ||
		   qp->resetting) {
		ret = -EINVAL;
	} else {
		xiw_ep_get(ep);
		qp->ep = ep;
	}
	spin_unlock_bh(&qp->lock);
	return ret;
}

/* The inbound side is allocated by deliver.c, for the first request. */
static int alloc_depths(struct xiw_qp *qp)
{
	const struct xiw_mpa_agreed *agreed = &qp->conn.agreed;
	u32 slots;

	qp->ord = agreed->ord;
	qp->irq_size = agreed->ird;
	/* An RTR Read is outstanding beside what the consumer can have. */
	slots = roundup_pow_of_two(min(agreed->ord, qp->sq.size) + 1);
	qp->orq_mask = slots - 1;
	qp->irq_head = XIW_DEPTH_FIRST;
	qp->irq_tail = XIW_DEPTH_FIRST;
	qp->orq_head = XIW_DEPTH_FIRST;
	qp->orq_tail = XIW_DEPTH_FIRST;
	qp->orq = kvcalloc(slots, sizeof(*qp->orq), GFP_KERNEL);
	return qp->orq ? 0 : -ENOMEM;
}

static void free_stream(struct xiw_qp *qp)
{
	xiw_tx_stop(qp);
	xiw_rx_stop(qp);
	kfree(qp->irq);
	kvfree(qp->orq);
	qp->irq = NULL;
	qp->orq = NULL;
	qp->orq_tail = qp->orq_head;
	qp->irq_tail = qp->irq_head;
}

/**
 * xiw_qp_start() - startup succeeded
 * @qp: queue pair attached to the caller's endpoint
 * @xs: its socket; a reference is taken
 * @conn: what was agreed
 *
 * The queue pair is ready for full operation. What arrives stays in the socket
 * until xiw_qp_run().
 *
 * Context: Sleeps.
 * Return: 0, -ENOMEM, or -ECONNABORTED if the queue pair left its initial
 * state meanwhile.
 */
int xiw_qp_start(struct xiw_qp *qp, struct xiw_sock *xs,
		 const struct xiw_conn *conn)
{
	int ret;

	qp->conn = *conn;
	ret = alloc_depths(qp);
	if (ret)
		goto err_free;
	xiw_tx_start(qp);
	ret = xiw_rx_start(qp);
	if (ret)
		goto err_free;

	xiw_sock_lock(xs);
	spin_lock_bh(&qp->lock);
	if (qp->state != XIW_QPS_IDLE) {
		spin_unlock_bh(&qp->lock);
		xiw_sock_unlock(xs);
		ret = -ECONNABORTED;
		goto err_free;
	}
	WRITE_ONCE(qp->state,
		   xiw_qpstate_step(qp->state, XIW_QPE_CONNECT).next);
	WRITE_ONCE(qp->ib_state, IB_QPS_RTS);
	trace_qp_state(qp, XIW_QPE_CONNECT, XIW_QPS_IDLE, XIW_QPS_RTS);
	xiw_sock_get(xs);
	qp->xs = xs;
	spin_unlock_bh(&qp->lock);
	xiw_sock_unlock(xs);
	return 0;

err_free:
	free_stream(qp);
	return ret;
}

/**
 * xiw_qp_run() - full operation begins
 * @qp: queue pair after xiw_qp_start()
 * @xs: its socket; the callbacks are redirected
 *
 * Context: Sleeps.
 */
void xiw_qp_run(struct xiw_qp *qp, struct xiw_sock *xs)
{
	xiw_sock_set_ops(xs, &stream_ops, qp);
	/* What arrived before the callbacks were ours, and the RTR. */
	xiw_sock_lock(xs);
	if (qp->xs == xs) {
		xiw_rx_run_locked(qp);
		xiw_tx_run_locked(qp);
	}
	xiw_sock_unlock(xs);
}

static void detach_stream(struct xiw_qp *qp, struct xiw_sock *xs)
{
	xiw_sock_set_ops(xs, NULL, NULL);
	xiw_sock_lock(xs);
	/* Whatever ended it, for the queue pair the stream is lost now. */
	take_step(qp, XIW_QPE_LLP_LOST);
	spin_lock_bh(&qp->lock);
	qp->xs = NULL;
	spin_unlock_bh(&qp->lock);
	xiw_sock_unlock(xs);

	/* Nobody but who flushes touches the stream from here on. */
	flush(qp);
	free_stream(qp);
	xiw_sock_put(xs);
}

/**
 * xiw_qp_stop() - end of the queue pair's time with its endpoint
 * @qp: queue pair
 * @ep: the endpoint
 *
 * When this returns, no callback runs, everything posted was completed, and
 * the endpoint is forgotten. A queue pair that was only attached stays as it
 * is. Nothing happens if the queue pair is not tied to @ep any more, or to
 * another one already.
 *
 * Context: Sleeps. Has @ep's turn, so this is not called twice at once.
 * Return: true if nothing was ever sent.
 */
bool xiw_qp_stop(struct xiw_qp *qp, struct xiw_ep *ep)
{
	struct xiw_sock *xs;
	bool unused;
	bool mine;

	spin_lock_bh(&qp->lock);
	mine = qp->ep == ep;
	xs = qp->xs;
	spin_unlock_bh(&qp->lock);
	if (!mine)
		return false;
	if (xs)
		detach_stream(qp, xs);
	unused = !xs || !qp->tx.sent;
	/* Until here, nobody may reset the queue pair or attach another. */
	spin_lock_bh(&qp->lock);
	qp->ep = NULL;
	spin_unlock_bh(&qp->lock);
	xiw_ep_put(ep);
	return unused;
}
