// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Common functions of the files of a stream: locking, work items, and the only
 * function that changes its state. Data transfer is in tx.c, rx.c and the files
 * below these, begin and end of a stream in stream_run.c.
 */
#include "engine.h"

#include <kunit/visibility.h>

#include "llp/llp.h"
#include "trace.h"

/* Time for which unused memory is kept */
#define XIW_STREAM_TRIM		HZ

/*
 * Runs the work of streams in process context. The work of an endpoint waits
 * for these work items, so it must be on another workqueue.
 */
static struct workqueue_struct *stream_wq;

/**
 * xiw_stream_module_init() - allocate the workqueue, before the first stream
 *
 * Context: Sleeps.
 * Return: 0 or -ENOMEM.
 */
int xiw_stream_module_init(void)
{
	stream_wq = alloc_workqueue("xiw", WQ_MEM_RECLAIM | WQ_UNBOUND |
				    WQ_SYSFS, 0);
	return stream_wq ? 0 : -ENOMEM;
}

/**
 * xiw_stream_module_exit() - free the workqueue, after the last stream
 *
 * Context: Sleeps.
 */
void xiw_stream_module_exit(void)
{
	destroy_workqueue(stream_wq);
}

/**
 * xiw_stream_queue_work() - queue a work item of a stream, or of its owner
 * @s: stream
 * @work: work item; it ends with ops->put(), see stream.h
 *
 * Context: Any.
 */
void xiw_stream_queue_work(struct xiw_stream *s, struct work_struct *work)
{
	s->ops->get(s);
	if (!queue_work(stream_wq, work))
		s->ops->put(s);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stream_queue_work);

/**
 * xiw_stream_queue_delayed() - queue a delayed work item of a stream
 * @s: stream
 * @work: delayed work item; it ends with ops->put()
 * @delay: jiffies from now
 *
 * A @delay of 0 replaces a delay that has not expired; any other value does not
 * change a work item that is queued already.
 *
 * Context: Any.
 */
void xiw_stream_queue_delayed(struct xiw_stream *s, struct delayed_work *work,
			      unsigned long delay)
{
	/*
	 * Not mod_delayed_work(): while the work is being cancelled, it queues
	 * nothing but may return false, and a reference would be lost.
	 */
	bool has_ref = !delay && timer_pending(&work->timer) &&
		       cancel_delayed_work(work);

	if (!has_ref)
		s->ops->get(s);
	if (!queue_delayed_work(stream_wq, work, delay))
		s->ops->put(s);
}

/**
 * xiw_stream_cancel_delayed() - cancel a delayed work item, drop its reference
 * @s: stream
 * @work: delayed work item, queued or not
 *
 * Context: Sleeps until the work no longer runs.
 */
void xiw_stream_cancel_delayed(struct xiw_stream *s, struct delayed_work *work)
{
	if (cancel_delayed_work_sync(work))
		s->ops->put(s);
}

/**
 * xiw_stream_tx_again() - run the transmit side in process context
 * @s: stream
 * @delay: jiffies from now
 *
 * Context: Any.
 */
void xiw_stream_tx_again(struct xiw_stream *s, unsigned long delay)
{
	xiw_stream_queue_delayed(s, &s->tx.retry, delay);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stream_tx_again);

/**
 * xiw_stream_rx_again() - run the receive side in process context
 * @s: stream
 * @delay: jiffies from now
 *
 * Context: Any.
 */
void xiw_stream_rx_again(struct xiw_stream *s, unsigned long delay)
{
	xiw_stream_queue_delayed(s, &s->rx.work, delay);
}

/**
 * xiw_stream_get_sock() - get the socket of an attached stream
 * @s: stream
 *
 * After locking the socket, check that it still is @s->llp.
 *
 * Context: Any with interrupts on.
 * Return: The socket with a reference, or NULL.
 */
struct xiw_llp *xiw_stream_get_sock(struct xiw_stream *s)
{
	struct xiw_llp *llp;

	spin_lock_bh(&s->lock);
	llp = s->llp;
	if (llp)
		xiw_llp_get(llp);
	spin_unlock_bh(&s->lock);
	return llp;
}

/**
 * xiw_stream_lock() - take the socket lock of an attached stream
 * @s: stream
 *
 * Context: Sleeps.
 * Return: The socket, locked and with a reference, for xiw_stream_unlock();
 * NULL if the stream is not attached.
 */
struct xiw_llp *xiw_stream_lock(struct xiw_stream *s)
{
	struct xiw_llp *llp = xiw_stream_get_sock(s);

	if (!llp)
		return NULL;
	llp->ops->lock(llp);
	if (s->llp == llp)
		return llp;
	/* The stream was detached before the lock was taken. */
	xiw_stream_unlock(llp);
	return NULL;
}

/**
 * xiw_stream_unlock() - end of xiw_stream_lock()
 * @llp: result of that function, not NULL
 *
 * Context: Process context.
 */
void xiw_stream_unlock(struct xiw_llp *llp)
{
	llp->ops->unlock(llp);
	xiw_llp_put(llp);
}

/**
 * xiw_stream_trim_later() - schedule the trim work
 * @s: stream that has allocated memory
 */
void xiw_stream_trim_later(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;

	if (delayed_work_pending(&tx->trim))
		return;
	tx->trim_pos = tx->pos;
	xiw_txbuf_mark(&tx->buf);
	xiw_stream_queue_delayed(s, &tx->trim, XIW_STREAM_TRIM);
}

static void stream_trim_locked(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;
	bool more;

	if (tx->pos - tx->trim_pos <= PAGE_SIZE && !tx->batch.len)
		xiw_txbuf_drop(&tx->buf);
	more = xiw_txbuf_trim(&tx->buf);
	more |= xiw_rx_mpa_trim(&s->rx.mpa);
	if (more)
		xiw_stream_trim_later(s);
}

/**
 * xiw_stream_trim_fn() - free memory that was not used recently (work item)
 * @work: tx.trim of a stream
 *
 * Context: Process context.
 */
void xiw_stream_trim_fn(struct work_struct *work)
{
	struct xiw_stream *s = container_of(to_delayed_work(work),
					    struct xiw_stream, tx.trim);
	struct xiw_llp *llp = xiw_stream_lock(s);

	if (llp) {
		stream_trim_locked(s);
		xiw_stream_unlock(llp);
	}
	s->ops->put(s);
}

/**
 * xiw_stream_step() - change the state according to an event
 * @s: stream
 * @event: event
 *
 * Context: Any with interrupts on.
 * Return: true if the caller must flush both queues.
 */
bool xiw_stream_step(struct xiw_stream *s, enum xiw_qp_event event)
{
	struct xiw_qp_step step;
	enum xiw_qp_state old;
	bool flush;

	spin_lock_bh(&s->lock);
	old = s->state;
	step = xiw_qpstate_step(old, event);
	if (!step.legal) {
		spin_unlock_bh(&s->lock);
		/* Only events of a ULP or a timer may be late. */
		WARN_ON_ONCE(event != XIW_QPE_RESET &&
			     event != XIW_QPE_LOCAL_CLOSE &&
			     event != XIW_QPE_CLOSE_TIMEOUT);
		return false;
	}
	WRITE_ONCE(s->state, step.next);
	trace_qp_state(s->id, event, old, step.next);
	flush = s->ops->step(s, event, old, &step);
	spin_unlock_bh(&s->lock);

	if (step.next == XIW_QPS_CLOSING && old == XIW_QPS_RTS)
		/* Pairs with the acquire in tx_go_idle(). */
		smp_store_release(&s->tx.fin, true);
	return flush;
}

/**
 * xiw_stream_event() - process an event of a stream
 * @s: stream
 * @event: event
 *
 * Context: Any with interrupts on. The data path holds the socket lock.
 */
void xiw_stream_event(struct xiw_stream *s, enum xiw_qp_event event)
{
	if (xiw_stream_step(s, event))
		s->ops->flush(s);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stream_event);

/**
 * xiw_stream_fault() - end the stream because of a fault found by this side
 * @s: stream
 * @reason: reason of the fault
 * @off: the segment that caused it, or NULL
 *
 * FPDUs already encoded are sent, then a Terminate, then FIN; nothing more is
 * placed. A Responder that is still fenced sends no Terminate, nor does a side
 * that has sent its FIN. Only the first fault is reported (RFC 5040 section
 * 7.1).
 */
void xiw_stream_fault(struct xiw_stream *s, enum xiw_reason reason,
		      const struct xiw_term_offender *off)
{
	enum xiw_qp_state state = READ_ONCE(s->state);
	struct xiw_tx *tx = &s->tx;
	u8 opcode = XIW_OP_UNKNOWN;

	WRITE_ONCE(s->rx.dead, true);
	s->rx.run_tx = true;
	xiw_tx_drop_msgs(tx);
	if (state != XIW_QPS_RTS && state != XIW_QPS_CLOSING) {
		xiw_stream_event(s, XIW_QPE_FAULT);
		return;
	}
	s->fault = reason;
	if (off) {
		opcode = off->hdr[1] & XIW_RDMAP_OP_MASK;
		xiw_stat_inc(s->env->stats, XIW_STAT_PROTO_ERROR);
	}
	if (xiw_stream_is_fenced(s) || tx->fin_done ||
	    !xiw_term_wanted(reason, opcode)) {
		xiw_stream_event(s, XIW_QPE_FAULT_SILENT);
		return;
	}
	WRITE_ONCE(tx->term_len,
		   xiw_term_encode(tx->term_ulpdu, reason, off));
	tx->rtr = 0;
	xiw_stat_inc(s->env->stats, XIW_STAT_TERM_SENT);
	trace_terminate_sent(s->id, xiw_term_code(reason));
	xiw_stream_event(s, XIW_QPE_FAULT);
}

/*
 * Ends the stream after a completion was lost, as the ULP cannot find out which
 * requests were done.
 */
static void stream_completion_lost(struct xiw_stream *s)
{
	enum xiw_qp_state state = READ_ONCE(s->state);

	if (state == XIW_QPS_RTS ||
	    (state == XIW_QPS_CLOSING && !s->tx.fin_done))
		xiw_stream_fault(s, XIW_LOCAL_FAULT, NULL);
}

/**
 * xiw_stream_recv_done() - complete the receive in progress
 * @s: stream
 * @cqe: its completion
 */
void xiw_stream_recv_done(struct xiw_stream *s, struct xiw_cqe *cqe)
{
	cqe->wr_id = s->rx.recv.wr_id;
	s->rx.recv_active = false;
	if (!s->ops->recv_done(s, cqe))
		stream_completion_lost(s);
}

/**
 * xiw_stream_send_done() - complete a work request
 * @s: stream
 * @wr: the request, or a copy of it
 */
void xiw_stream_send_done(struct xiw_stream *s, const struct xiw_swr *wr)
{
	if (wr->status == IB_WC_SUCCESS && !(wr->flags & XIW_SQE_SIGNALED))
		return;
	if (!s->ops->send_done(s, wr))
		stream_completion_lost(s);
}
