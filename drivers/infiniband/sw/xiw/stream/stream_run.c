// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Begin and end of a stream. In the order of its life:
 *
 * xiw_stream_init()	once, for a new queue pair
 * xiw_stream_start()	attach the socket after the MPA startup
 * xiw_stream_run()	begin to receive and send
 * xiw_stream_close()	graceful close by the ULP
 * xiw_stream_detach()	detach the socket, whatever ended the stream
 * xiw_stream_forget()	drop all references to work requests, so that the owner
 *			may flush them; also while the socket is attached
 * xiw_stream_release()	free memory and cancel work items, so that another
 *			stream may start
 * xiw_stream_cancel_all() wait for work items before the queue pair is freed
 */
#include "engine.h"

#include <kunit/visibility.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "llp/fpdu.h"
#include "llp/llp.h"
#include "trace.h"

static void stream_run_on_data_ready(struct xiw_llp *llp, void *ctx)
{
	struct xiw_stream *s = ctx;

	if (s->llp == llp)
		xiw_rx_run_locked(s);
}

static void stream_run_on_write_space(struct xiw_llp *llp, void *ctx)
{
	struct xiw_stream *s = ctx;

	if (s->llp == llp)
		xiw_tx_space(s);
}

static const struct xiw_llp_events sock_ops = {
	.data_ready = stream_run_on_data_ready,
	.write_space = stream_run_on_write_space,
	.state_change = stream_run_on_data_ready,
};

/**
 * xiw_stream_init() - prepare a new queue pair for streams
 * @s: zeroed, except the members before its lock, and @s->access
 * @pd: protection domain
 *
 * Context: Any.
 */
void xiw_stream_init(struct xiw_stream *s, struct ib_pd *pd)
{
	spin_lock_init(&s->lock);
	s->state = XIW_QPS_IDLE;
	xiw_mem_cache_init(&s->tx.mem, s->env->mems, pd, s->id, s->sq->kernel);
	xiw_mem_cache_init(&s->rx.mem, s->env->mems, pd, s->id, s->sq->kernel);
	xiw_busy_poll_init(s);
	xiw_tx_init(s);
	xiw_rx_init(s);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stream_init);

/*
 * Only the outbound side: deliver.c allocates the other for the first request.
 */
static int stream_run_alloc_depths(struct xiw_stream *s)
{
	const struct xiw_mpa_nego *nego = &s->conn.nego;
	u32 slots;

	WRITE_ONCE(s->ord, nego->ord);
	WRITE_ONCE(s->ird_size, nego->ird);
	/* One slot more than the ULP's requests need, for an RTR Read. */
	slots = roundup_pow_of_two(min(nego->ord, s->sq->size) + 1);
	s->orq_mask = slots - 1;
	s->ird_head = XIW_DEPTH_FIRST;
	s->ird_tail = XIW_DEPTH_FIRST;
	s->orq_head = XIW_DEPTH_FIRST;
	s->orq_tail = XIW_DEPTH_FIRST;
	s->orq = xiw_pages_calloc(s->memcg, GFP_KERNEL, slots,
				  sizeof(*s->orq));
	return s->orq ? 0 : -ENOMEM;
}

/* Attaches @llp, unless the queue pair has left its initial state. */
static int stream_run_attach(struct xiw_stream *s, struct xiw_llp *llp)
{
	struct xiw_qp_step step;
	int ret;

	llp->ops->lock(llp);
	ret = s->memcg ? llp->ops->charge(llp, s->memcg) : 0;
	if (ret)
		goto unlock;
	ret = -ECONNABORTED;
	spin_lock_bh(&s->lock);
	if (s->state == XIW_QPS_IDLE) {
		step = xiw_qpstate_step(s->state, XIW_QPE_CONNECT);
		WRITE_ONCE(s->state, step.next);
		trace_qp_state(s->id, XIW_QPE_CONNECT, XIW_QPS_IDLE, step.next);
		s->ops->step(s, XIW_QPE_CONNECT, XIW_QPS_IDLE, &step);
		xiw_llp_get(llp);
		s->llp = llp;
		ret = 0;
	}
	spin_unlock_bh(&s->lock);
unlock:
	llp->ops->unlock(llp);
	return ret;
}

/**
 * xiw_stream_start() - attach a stream to its socket after the MPA startup
 * @s: stream without a socket
 * @llp: socket; a reference is taken
 * @conn: result of the MPA startup
 *
 * The stream is ready for full operation. Received data stays in the socket
 * until xiw_stream_run().
 *
 * Context: Sleeps.
 * Return: 0, -ENOMEM, or -ECONNABORTED if the queue pair has left its initial
 * state.
 */
int xiw_stream_start(struct xiw_stream *s, struct xiw_llp *llp,
		     const struct xiw_conn *conn)
{
	int ret;

	s->conn = *conn;
	ret = stream_run_alloc_depths(s);
	if (ret)
		goto err_release;
	xiw_tx_start(s);
	ret = xiw_rx_start(s);
	if (ret)
		goto err_release;
	ret = stream_run_attach(s, llp);
	if (ret)
		goto err_release;
	return 0;

err_release:
	xiw_stream_release(s);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stream_start);

/**
 * xiw_stream_run() - begin full operation
 * @s: stream after xiw_stream_start()
 * @llp: its socket; the callbacks are redirected
 *
 * Context: Sleeps.
 */
void xiw_stream_run(struct xiw_stream *s, struct xiw_llp *llp)
{
	llp->ops->set_events(llp, &sock_ops, s);
	/* Take data received before the redirection, and send the RTR. */
	llp->ops->lock(llp);
	if (s->llp == llp) {
		xiw_rx_run_locked(s);
		xiw_tx_run_locked(s);
	}
	llp->ops->unlock(llp);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stream_run);

/**
 * xiw_stream_run_busy_poll() - run busy-poll work, see busy_poll.c
 * @s: stream, attached or not; the caller has a reference
 *
 * Context: Sleeps.
 */
void xiw_stream_run_busy_poll(struct xiw_stream *s)
{
	struct xiw_llp *llp;
	u32 work;

	if (!xiw_busy_poll_claim(s))
		return;
	llp = xiw_stream_lock(s);
	/* The detaching context cancels the work. */
	if (!llp)
		return;
	llp->ops->record_flow(llp);
	work = xiw_busy_poll_take(s);
	if (work & XIW_WORK_RX)
		xiw_rx_bulk_locked(s);
	if (work & XIW_WORK_TX)
		xiw_tx_run_posted(s);
	xiw_stream_unlock(llp);
	if (work)
		s->ops->put(s);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stream_run_busy_poll);

/**
 * xiw_stream_limit() - limit the outstanding requests of the ULP
 * @s: stream, attached or not
 * @ord: limit for work requests, not more than was negotiated
 *
 * Context: Sleeps.
 */
void xiw_stream_limit(struct xiw_stream *s, u32 ord)
{
	struct xiw_llp *llp = xiw_stream_lock(s);

	if (!llp)
		return;
	WRITE_ONCE(s->ord, ord);
	xiw_stream_unlock(llp);
}

/**
 * xiw_stream_settle() - wait until both engines have seen a change
 * @s: stream, attached or not, after a change of @s->access
 *
 * When this returns no access to memory continues that only the old value
 * permits.
 *
 * Context: Sleeps.
 */
void xiw_stream_settle(struct xiw_stream *s)
{
	struct xiw_llp *llp = xiw_stream_lock(s);

	if (llp)
		xiw_stream_unlock(llp);
}

/**
 * xiw_stream_close() - begin a graceful close
 * @s: stream in any state
 *
 * Posted requests are sent, then the FIN; if no request is left, FIN is sent
 * before this returns.
 *
 * Context: Sleeps.
 */
void xiw_stream_close(struct xiw_stream *s)
{
	struct xiw_llp *llp;

	xiw_stream_event(s, XIW_QPE_LOCAL_CLOSE);
	/* The engine sends FIN when nothing is left; it may be idle. */
	llp = xiw_stream_lock(s);
	if (!llp)
		return;
	xiw_rx_close_locked(s);
	xiw_tx_sched_limit(s);
	xiw_tx_run_locked(s);
	xiw_stream_unlock(llp);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stream_close);

/**
 * xiw_stream_detach_if() - detach the socket if a condition holds
 * @s: stream attached to @llp
 * @llp: socket
 * @wanted: the condition; called with the socket lock held. If it is true,
 *	nothing more is received or sent
 *
 * Context: Sleeps.
 * Return: true as after xiw_stream_detach(); false if nothing has changed.
 */
bool xiw_stream_detach_if(struct xiw_stream *s, struct xiw_llp *llp,
			  bool (*wanted)(struct xiw_stream *s))
{
	bool gone;

	llp->ops->set_events(llp, NULL, NULL);
	llp->ops->lock(llp);
	gone = wanted(s);
	if (gone) {
		/* The queue pair has lost its connection, for any reason. */
		xiw_stream_step(s, XIW_QPE_LLP_LOST);
		spin_lock_bh(&s->lock);
		s->llp = NULL;
		spin_unlock_bh(&s->lock);
	}
	llp->ops->unlock(llp);
	if (gone)
		xiw_llp_put(llp);
	else
		xiw_stream_run(s, llp);
	return gone;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stream_detach_if);

static bool stream_run_always(struct xiw_stream *s)
{
	return true;
}

/**
 * xiw_stream_detach() - detach the socket
 * @s: stream attached to @llp
 * @llp: socket; no callback runs, or will run, when this returns
 *
 * From here on only a flush accesses the stream.
 *
 * Context: Sleeps.
 */
void xiw_stream_detach(struct xiw_stream *s, struct xiw_llp *llp)
{
	xiw_stream_detach_if(s, llp, stream_run_always);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stream_detach);

/**
 * xiw_stream_forget() - drop all references to work requests
 * @s: stream that has ended
 */
void xiw_stream_forget(struct xiw_stream *s)
{
	if (s->tx.msg.source != XIW_TX_TERM)
		xiw_tx_drop_msgs(&s->tx);
	WRITE_ONCE(s->rx.dead, true);
	s->ird_head = s->ird_tail;
	s->orq_head = s->orq_tail;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stream_forget);

/**
 * xiw_stream_release() - release the resources of a stream
 * @s: stream that was detached and flushed, or failed to start
 *
 * Context: Sleeps.
 */
void xiw_stream_release(struct xiw_stream *s)
{
	xiw_tx_stop(s);
	xiw_rx_stop(s);
	kvfree(s->irdq);
	kvfree(s->orq);
	s->irdq = NULL;
	s->orq = NULL;
	s->orq_tail = s->orq_head;
	s->ird_tail = s->ird_head;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stream_release);

/**
 * xiw_stream_cancel_all() - wait for work items that have dropped their
 *	reference
 * @s: stream of a queue pair to which only the caller has a reference
 *
 * Context: Sleeps.
 */
void xiw_stream_cancel_all(struct xiw_stream *s)
{
	hrtimer_cancel(&s->busy_poll.end);
	cancel_delayed_work_sync(&s->tx.retry);
	cancel_delayed_work_sync(&s->tx.trim);
	cancel_delayed_work_sync(&s->rx.work);
	cancel_delayed_work_sync(&s->rx.rnr_timer);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stream_cancel_all);
