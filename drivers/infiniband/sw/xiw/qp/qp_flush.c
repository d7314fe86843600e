// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * End of the stream of a queue pair, and the flush of both queues.
 */

/**
 * DOC: End of a stream
 *
 * Every end of a stream is reported to xiw_stream_event(), which reads the
 * actions from its table. Those that are impossible in the caller's context
 * become an event of the endpoint, which calls xiw_qp_stop(), or are left to
 * the flush work.
 *
 * The endpoint, the flush work and the destruction of the QP flush both queues
 * under flush_lock, and with the socket lock held while a stream is attached.
 * After the flush they set sq.stopped and flush once more, as from then on
 * every post queues the flush work. Only a reset flushes without flush_lock: it
 * requires that there is no endpoint, and that the flush work has ended.
 */
#include "qp.h"

#include <linux/jiffies.h>

#include "ep.h"
#include "llp/llp.h"
#include "stream/stream.h"

/*
 * Retry timer
 */

static bool qp_flush_is_awaited(const struct xiw_oob *oob,
				enum xiw_oob_timer what)
{
	return what == XIW_OOB_STREAM ?
		READ_ONCE(oob->waits) :
		READ_ONCE(oob->state) == XIW_OOBS_PEER_GONE;
}

static u32 qp_flush_wait_ms(const struct xiw_oob *oob,
			    enum xiw_oob_timer what)
{
	if (what == XIW_OOB_ANSWER)
		return READ_ONCE(oob->answer_ms);
	if (oob->final)
		return 0;
	return xiw_oob_wait_ms(READ_ONCE(oob->timeout),
			       READ_ONCE(oob->retry_cnt));
}

/*
 * Nothing happens if @oob does not wait for @what any more, or if the timer
 * already runs for it. True if @oob->expire was queued, with the caller's
 * reference to the queue pair.
 */
static bool qp_flush_start_retry(struct xiw_oob *oob,
				 enum xiw_oob_timer what)
{
	unsigned long flags;
	bool queued = false;
	unsigned long wait;

	spin_lock_irqsave(&oob->lock, flags);
	if (qp_flush_is_awaited(oob, what) && oob->armed != what) {
		/* Under the lock, as xiw_oob_give_up() checks "armed". */
		wait = msecs_to_jiffies(qp_flush_wait_ms(oob, what));
		oob->armed = what;
		oob->due = jiffies + wait;
		/* The work may be queued for the other wait. */
		queued = !mod_delayed_work(system_dfl_wq, &oob->expire, wait);
	}
	spin_unlock_irqrestore(&oob->lock, flags);
	return queued;
}

/**
 * xiw_qp_await() - start the retry timer for what was posted
 * @qp: queue pair that is connected out of band
 * @what: what the requests wait for
 *
 * Context: Any.
 */
void xiw_qp_await(struct xiw_qp *qp, enum xiw_oob_timer what)
{
	/* The timer's reference */
	xiw_qp_get(qp);
	if (!qp_flush_start_retry(&qp->oob, what))
		xiw_qp_put(qp);
}

/*
 * Flush
 */

/*
 * Out of band, nothing is flushed while the stream is not established, nor
 * after the peer has gone until the retry time of a request expires. Once the
 * peer has gone, sq.stopped makes every post queue the flush work.
 */
static bool qp_flush_defer_oob(struct xiw_qp *qp)
{
	enum xiw_oob_state state = READ_ONCE(qp->oob.state);
	struct xiw_stream *s = &qp->stream;

	if (state == XIW_OOBS_IDLE || xiw_oobstate_is_dead(state))
		return false;
	if (state != XIW_OOBS_PEER_GONE)
		return true;
	xiw_stream_forget(s);
	xiw_sq_doorbell_mode(&qp->sq, XIW_RING_NEED_DB);
	WRITE_ONCE(qp->sq.stopped, true);
	/* Pairs with the barrier between posting and reading "stopped". */
	smp_mb();
	if (xiw_tx_sched_unfinished(s))
		xiw_qp_await(qp, XIW_OOB_ANSWER);
	return true;
}

/*
 * Reports that a queue pair takes no more entries of its shared queue. A ULP
 * may destroy the queue pair at this event, so its destruction does not cause
 * one.
 */
static void qp_flush_report_last(struct xiw_qp *qp)
{
	if (qp->last_wqe_reported || READ_ONCE(qp->destroying))
		return;
	qp->last_wqe_reported = true;
	xiw_qp_async(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

/*
 * Complete everything that is still in the receive queue. A shared one keeps
 * its entries. A process may post concurrently, so the work of one call is
 * limited. True if there may be more.
 */
static bool qp_flush_rq(struct xiw_qp *qp)
{
	/* The receive of an unfinished message is flushed first. */
	struct xiw_recv *recv = &qp->stream.rx.recv;
	u32 left;

	xiw_deliver_flush(&qp->stream);
	if (qp->srq) {
		qp_flush_report_last(qp);
		return false;
	}
	for (left = qp->rq.queue.size; left; left--) {
		struct xiw_cqe cqe = {
			.opcode = XIW_WC_RECV,
			.status = IB_WC_WR_FLUSH_ERR,
		};

		if (xiw_rq_take(&qp->rq, recv) != XIW_RQ_TAKEN)
			return false;
		xiw_stream_recv_done(&qp->stream, &cqe);
	}
	return true;
}

static void qp_flush_both(struct xiw_qp *qp)
{
	struct xiw_stream *s = &qp->stream;
	bool more;

	xiw_stream_forget(s);
	xiw_sq_doorbell_mode(&qp->sq, XIW_RING_NEED_DB);
	if (!qp->srq)
		xiw_rq_doorbell_mode(&qp->rq, true);
	xiw_tx_sched_flush(s);
	qp_flush_rq(qp);
	WRITE_ONCE(qp->sq.stopped, true);
	/* Pairs with the barrier between posting and reading "stopped". */
	smp_mb();
	more = xiw_tx_sched_flush(s);
	more |= qp_flush_rq(qp);
	/*
	 * Let other work run before the rest. A queue pair being destroyed
	 * completes nothing, so it needs no further flush. A process needs none
	 * either: from here on it must ring the doorbell for each post.
	 */
	if (more && qp->kernel && !READ_ONCE(qp->destroying))
		xiw_qp_late_flush(qp);
}

static void qp_flush_now(struct xiw_qp *qp)
{
	struct xiw_stream *s = &qp->stream;
	enum xiw_qp_state state;
	struct xiw_llp *llp;

	mutex_lock(&qp->flush_lock);
	llp = xiw_stream_get_sock(s);
	if (llp)
		llp->ops->lock(llp);
	state = READ_ONCE(s->state);
	if ((state == XIW_QPS_ERROR || state == XIW_QPS_TERMINATE) &&
	    !qp_flush_defer_oob(qp)) {
		qp_flush_both(qp);
		/* A graceful close may have waited for the flushed requests. */
		if (llp && s->llp == llp) {
			xiw_rx_unstall_locked(s);
			xiw_tx_run_locked(s);
		}
	}
	if (llp)
		xiw_stream_unlock(llp);
	mutex_unlock(&qp->flush_lock);
}

static void qp_flush_work_fn(struct work_struct *work)
{
	struct xiw_qp *qp = container_of(work, struct xiw_qp, flush_work);

	qp_flush_now(qp);
	xiw_qp_put(qp);
}

/**
 * xiw_qp_flush_init() - prepare a new queue pair for its first flush
 * @qp: queue pair, not yet reachable by others
 */
void xiw_qp_flush_init(struct xiw_qp *qp)
{
	INIT_WORK(&qp->flush_work, qp_flush_work_fn);
	mutex_init(&qp->flush_lock);
}

/**
 * xiw_qp_late_flush() - flush what was posted after the end of the stream
 * @qp: queue pair
 *
 * Context: Any.
 */
void xiw_qp_late_flush(struct xiw_qp *qp)
{
	xiw_stream_queue_work(&qp->stream, &qp->flush_work);
}

/**
 * xiw_qp_stop() - detach a queue pair from its endpoint
 * @qp: queue pair
 * @ep: the endpoint
 *
 * When this returns, no callback runs, everything posted was completed, and
 * the queue pair has no endpoint. One without a stream is not flushed. Nothing
 * happens if the queue pair does not belong to @ep any more.
 *
 * Context: Sleeps. @ep is locked, so this is not called twice at once.
 * Return: true if nothing was ever sent.
 */
bool xiw_qp_stop(struct xiw_qp *qp, struct xiw_ep *ep)
{
	struct xiw_stream *s = &qp->stream;
	struct xiw_llp *llp;
	bool unused;
	bool mine;

	spin_lock_bh(&s->lock);
	mine = qp->ep == ep;
	llp = s->llp;
	spin_unlock_bh(&s->lock);
	if (!mine)
		return false;
	if (llp) {
		xiw_stream_detach(s, llp);
		qp_flush_now(qp);
		xiw_stream_release(s);
	}
	unused = !llp || !s->tx.sent;
	ep->mute = llp && xiw_tx_owes_term(s);
	/* From here on a reset or another endpoint is possible. */
	spin_lock_bh(&s->lock);
	qp->ep = NULL;
	spin_unlock_bh(&s->lock);
	xiw_ep_put(ep);
	return unused;
}

/**
 * xiw_qp_end_stream() - end the stream with a local error
 * @qp: queue pair being destroyed, or that its process moves to the error state
 *
 * The endpoint may have to end the stream. To wait for that, the caller locks
 * and unlocks the endpoint.
 *
 * Context: Sleeps.
 */
void xiw_qp_end_stream(struct xiw_qp *qp)
{
	if (xiw_stream_step(&qp->stream, XIW_QPE_LOCAL_ERROR))
		qp_flush_now(qp);
}

/**
 * xiw_qp_reset_stream() - return a queue pair to its initial state
 * @qp: queue pair being reset, without endpoint
 *
 * Posted requests are dropped without completion.
 *
 * Context: Sleeps.
 */
void xiw_qp_reset_stream(struct xiw_qp *qp)
{
	xiw_stream_event(&qp->stream, XIW_QPE_RESET);
	/* Wait for a running flush; a later one is a no-op. */
	flush_work(&qp->flush_work);
	xiw_tx_sched_flush(&qp->stream);
	xiw_deliver_flush(&qp->stream);
	if (!qp->srq)
		qp_flush_rq(qp);
	xiw_tx_reset(&qp->stream);
	/* For the send queue the transmit engine sets the mode in each run. */
	if (!qp->srq)
		xiw_rq_doorbell_mode(&qp->rq, false);
	qp->last_wqe_reported = false;
	WRITE_ONCE(qp->sq.stopped, false);
}
