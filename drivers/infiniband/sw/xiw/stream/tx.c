// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transmit engine: its contexts, its work budget, and when it waits. It sends
 * batches of FPDUs, see tx_batch.c.
 */

/**
 * DOC: Contexts of the engine
 *
 * The engine runs under the socket lock, in any context that has work for it:
 * the poster's, the receive path, the socket's write_space callback, or the
 * retry work. tx.run holds its state. A poster sets KICK. If a bit was set
 * before, the engine is running or is certain to run, and the poster is done.
 * Otherwise the poster takes the lock and runs the engine, or, if it must not
 * sleep and the lock is taken, queues the retry work. The engine sets the word
 * to RUNNING before each look at the queue. It clears the word only by a
 * compare-and-exchange from RUNNING, which fails if KICK was set in between.
 *
 * When the socket is full, or requests wait for a response, RUNNING stays
 * set: write_space or the receive path is certain to run the engine again.
 * TCP calls write_space for the ACK that has made room, in softirq context. Up
 * to two thirds of TCP's buffer are still unsent or in flight then, so there is
 * time for the retry work to do the copying, on any CPU.
 *
 * RUNNING stays set, too, while the send queue or both queues wait for pages of
 * memory on demand: the end of the page-in queues the retry work.
 */

/**
 * DOC: Doorbell deferral
 *
 * A user process is likely to continue posting if it made two posts in a row
 * while earlier data was in flight, or right after the engine had run for the
 * previous post and without waiting for that. One post is not enough, as a
 * Write and the Send that announces it are followed by waiting for an answer.
 * RUNNING then stays set for a short time, together with XIW_TX_DEFER, and the
 * process posts without system calls. The engine sends all these requests as
 * one batch when the process enters the kernel to wait for completions, or when
 * a timer expires. The number of requests collected determines how soon the
 * next deferral begins (budget.h), so there are hardly any for a process that
 * waits for each request before it posts the next.
 *
 * Messages from the peer do not end a deferral: the engine sends the requests
 * that it finds, and leaves XIW_TX_DEFER set.
 */

/**
 * DOC: Work budgets
 *
 * Each call of the engine, or of the receive side, has a work budget. Where the
 * socket lock is held as a spinlock, that is in softirqs, in the timer, and for
 * kernel ULPs, which post from any context, this CPU is blocked and another one
 * may spin on the lock. So the basic budget is small: XIW_BUDGET_BYTES, or a
 * cost of XIW_BUDGET_COST, whichever is used up first. An FPDU costs one, and
 * so does a request that sends nothing. A work item then continues, the retry
 * work for sending and rx.work for receiving. Until it runs, tx.engine is
 * XIW_ENGINE_DEFERRED, or rx.deferred is set, and neither packets nor posts run
 * the engine. The rest of the cost also limits how many ring entries are
 * fetched, and XIW_BUDGET_COST how many requests are completed at once.
 *
 * A process or a work item that owns the lock can be interrupted, so its budget
 * is a multiple of that. Packets received in that time, mainly ACKs, are queued
 * in the socket's backlog. The transmit side flushes the backlog after each
 * batch; the receive side, which may use several budgets in a row, after each
 * of them. TCP may run a callback while it processes the backlog, and a nested
 * flush is not permitted, so callbacks have the basic budget, too.
 *
 * The deferrals of many streams may expire in one softirq. After 200 us of that
 * the retry work runs the engines of the others.
 *
 * Work items send less at a time than they receive. If both ends are on this
 * host, and their work items share a CPU, the sender must not get ahead of the
 * receiver: TCP would hold blocks of several MiB, and each one would be out of
 * the cache before it is read, and written again.
 */

#include "engine.h"

#include <kunit/visibility.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include "llp/llp.h"
#include "trace.h"

/* Timers of doorbell deferrals; used by softirqs of this CPU only. */
static DEFINE_PER_CPU(struct xiw_timers, tx_timers);

enum tx_outcome {
	TX_IDLE,	/* nothing left to send */
	TX_BLOCKED,	/* another context is certain to run the engine */
};

/* The budget is used up: the retry work, or busy-polling, continues. */
static void tx_defer(struct xiw_stream *s)
{
	s->tx.engine = XIW_ENGINE_DEFERRED;
	xiw_busy_poll_post_tx(s);
}

/* Sends batches until nothing is left, or the budget is used up. */
static enum tx_outcome tx_drain(struct xiw_stream *s, bool may_flush)
{
	struct xiw_tx *tx = &s->tx;
	int ret;

	for (;;) {
		if (!tx->batch.len)
			xiw_tx_batch_build(s);
		if (!tx->batch.len)
			break;
		ret = xiw_tx_batch_send(s);
		if (ret == -EAGAIN) {
			xiw_stat_inc(s->env->stats, XIW_STAT_TX_BLOCKED);
			/* With nothing in flight no ACK makes room. */
			if (s->llp->ops->idle(s->llp)) {
				xiw_stat_inc(s->env->stats, XIW_STAT_TX_NOMEM);
				xiw_stream_tx_again(s, 1);
			}
			return TX_BLOCKED;
		}
		if (ret < 0) {
			/* A lost connection is reported by state_change. */
			if (s->llp->ops->status(s->llp) == XIW_LLP_OPEN)
				xiw_stream_tx_again(s, 1);
			return TX_BLOCKED;
		}
		if (may_flush)
			s->llp->ops->flush_backlog(s->llp);
		/* Mostly nothing is left: skip the search for a message. */
		if (xiw_tx_sched_idle(s))
			break;
	}
	if (xiw_budget_spent(&tx->budget)) {
		tx_defer(s);
		return TX_BLOCKED;
	}
	if (tx->msg.source != XIW_TX_NONE) {
		/* The end of the page-in runs the engine. */
		if (xiw_tx_batch_waits(s))
			return TX_BLOCKED;
		/* There is no memory for the next FPDU of the message. */
		xiw_stat_inc(s->env->stats, XIW_STAT_TX_NOMEM);
		xiw_stream_tx_again(s, 1);
		return TX_BLOCKED;
	}
	return xiw_tx_sched_waits(s) ? TX_BLOCKED : TX_IDLE;
}

/*
 * May the process have waited for its last Read or Atomic? Not if that was not
 * signaled, or if its completion is still in the CQ.
 */
static bool tx_may_have_waited(const struct xiw_stream *s)
{
	return s->tx.posts.last == XIW_POSTS_SIGNALED_READ &&
	       !s->ops->send_unpolled(s);
}

/*
 * Is the process likely to post more without waiting? A post soon after the
 * last run is not sufficient: if the peer is on the same host, its message or
 * the response to a Read may have arrived before that run ended.
 */
static bool tx_is_burst(const struct xiw_stream *s)
{
	const struct xiw_tx *tx = &s->tx;

	if (s->sq->kernel)
		return false;
	if (!s->llp->ops->idle(s->llp))
		return true;
	return tx->posts.requests_before == s->rx.requests &&
	       !tx_may_have_waited(s) &&
	       ktime_get_ns() - tx->posts.run_end < XIW_TX_BURST_NS;
}

/*
 * Begins a doorbell deferral and starts its timer. With @keep one is in
 * progress, and its timer is running already.
 */
static bool tx_defer_doorbell(struct xiw_stream *s, bool keep)
{
	struct xiw_tx *tx = &s->tx;

	if (READ_ONCE(tx->fin) || READ_ONCE(s->state) != XIW_QPS_RTS)
		return false;
	xiw_sq_doorbell_mode(s->sq, XIW_RING_DEFER_DB);
	/*
	 * The process posted without a doorbell, or kicked, before it saw the
	 * flag.
	 */
	if (!xiw_sq_ring_empty(s->sq) ||
	    atomic_cmpxchg(&tx->run, XIW_TX_RUNNING,
			   XIW_TX_RUNNING | XIW_TX_DEFER) != XIW_TX_RUNNING) {
		xiw_sq_doorbell_mode(s->sq, 0);
		return false;
	}
	if (keep)
		return true;
	tx->posts.deferred_from = s->sq->next;
	hrtimer_start(&tx->defer_timer, ns_to_ktime(XIW_TX_BURST_NS),
		      HRTIMER_MODE_REL_SOFT);
	return true;
}

/**
 * xiw_tx_fin() - report that all data is in the socket, for a graceful close
 * @s: stream with nothing left to send; no effect unless it is closing, or if
 *	the report was made before
 */
void xiw_tx_fin(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;

	if (!READ_ONCE(tx->fin) || tx->fin_done)
		return;
	tx->fin_done = true;
	s->ops->drained(s);
}

/*
 * No doorbell is needed while the engine runs, as it checks the ring before it
 * stops. Doorbells are needed while the engine waits for the first FPDU: an
 * out-of-band queue pair starts its retry timer for what was posted.
 */
static void tx_set_doorbell_mode(struct xiw_stream *s)
{
	xiw_sq_doorbell_mode(s->sq, xiw_stream_is_fenced(s) ? XIW_RING_NEED_DB
							    : 0);
}

/*
 * True if the engine may stop; false if more was posted. tx.fin is read before
 * the queue, so requests posted before the close are sent before the FIN.
 */
static bool tx_go_idle(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;
	bool idle;
	bool fin;

	/* Pairs with the release in xiw_stream_step(). */
	fin = smp_load_acquire(&tx->fin);
	xiw_sq_doorbell_mode(s->sq, XIW_RING_NEED_DB);
	idle = xiw_tx_sched_none_posted(s) &&
	       atomic_cmpxchg(&tx->run, XIW_TX_RUNNING, 0) == XIW_TX_RUNNING;
	/* A corrupt ring or a dead stream never becomes empty. */
	if (!idle && READ_ONCE(s->state) != XIW_QPS_RTS &&
	    READ_ONCE(s->state) != XIW_QPS_CLOSING) {
		atomic_set(&tx->run, 0);
		idle = true;
	}
	if (!idle)
		tx_set_doorbell_mode(s);
	else if (fin && xiw_tx_sched_empty(s))
		xiw_tx_fin(s);
	return idle;
}

/* The budget of this run, as a multiple of the basic one */
static u32 tx_run_budgets(bool may_flush)
{
	if (!may_flush)
		return 1;
	return current->flags & PF_WQ_WORKER ? XIW_BUDGET_WORK
					     : XIW_BUDGET_PROCESS;
}

/*
 * Runs the engine. Without @posted there was no new post; the run then does not
 * count for the burst detection, and does not end a doorbell deferral. A new
 * deferral begins only if this run found requests, so that deferrals stop when
 * the process stops posting.
 */
static void tx_run(struct xiw_stream *s, bool posted)
{
	bool may_flush = s->llp->ops->can_flush(s->llp);
	u32 weight = tx_run_budgets(may_flush);
	struct xiw_tx *tx = &s->tx;
	enum tx_outcome outcome;
	bool defer = false;
	u32 started;
	u32 fetched;
	bool burst;
	bool more;
	bool keep;
	u32 first;
	u64 pos;

	/* A callback of TCP may nest in a send: the outer call continues. */
	if (tx->engine == XIW_ENGINE_ACTIVE ||
	    (tx->engine == XIW_ENGINE_DEFERRED && !may_flush)) {
		atomic_or(XIW_TX_KICK, &tx->run);
		return;
	}
	tx->engine = XIW_ENGINE_ACTIVE;
	xiw_budget_begin(&tx->budget, weight);
	fetched = READ_ONCE(s->sq->prod);
	/* The last run may not have completed all requests. */
	xiw_tx_sched_complete(s);
	burst = posted && tx_is_burst(s);
	pos = tx->pos;
	tx_set_doorbell_mode(s);
	do {
		/* Continuous kicks must not keep the lock busy. */
		if (xiw_budget_spent(&tx->budget)) {
			tx_defer(s);
			break;
		}
		xiw_budget_charge(&tx->budget, 0);
		defer = !posted && defer;
		defer |= atomic_xchg(&tx->run, XIW_TX_RUNNING) & XIW_TX_DEFER;
		first = defer ? tx->posts.deferred_from : s->sq->next;
		outcome = tx_drain(s, may_flush);
		started = s->sq->next - first;
		if (posted)
			more = xiw_posts_update(&tx->posts, burst, defer,
						started) &&
			       (started || tx->pos != pos);
		else
			more = started && xiw_posts_are_burst(&tx->posts);
		keep = defer && !posted;
		if (outcome == TX_BLOCKED ||
		    ((keep || more) && tx_defer_doorbell(s, keep)))
			break;
	} while (!tx_go_idle(s));
	if (tx->engine == XIW_ENGINE_ACTIVE)
		tx->engine = XIW_ENGINE_IDLE;
	trace_tx_budget(s->id, weight,
			weight * XIW_BUDGET_BYTES - tx->budget.bytes,
			weight * XIW_BUDGET_COST - tx->budget.cost,
			READ_ONCE(s->sq->prod) - fetched);
}

/**
 * xiw_tx_run_locked() - run the engine without a new post
 * @s: stream attached to a socket
 */
void xiw_tx_run_locked(struct xiw_stream *s)
{
	tx_run(s, false);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_tx_run_locked);

/**
 * xiw_tx_run_posted() - run the engine for a poster, or as the retry work
 * @s: stream attached to a socket
 *
 * Records the time of the run, for tx_is_burst().
 */
void xiw_tx_run_posted(struct xiw_stream *s)
{
	u32 requests = s->rx.requests;

	tx_run(s, true);
	s->tx.posts.requests_before = requests;
	if (!s->sq->kernel)
		s->tx.posts.run_end = ktime_get_ns();
}

static void tx_run_sleeping(struct xiw_stream *s, bool system_call)
{
	struct xiw_llp *llp = xiw_stream_lock(s);

	if (!llp)
		return;
	if (system_call)
		llp->ops->record_flow(llp);
	xiw_tx_run_posted(s);
	xiw_stream_unlock(llp);
}

/* Does not sleep: if the lock is taken, the retry work runs the engine. */
static void tx_run_now_or_soon(struct xiw_stream *s)
{
	struct xiw_llp *llp = xiw_stream_get_sock(s);

	if (!llp)
		return;
	if (llp->ops->trylock_bh(llp)) {
		if (s->llp == llp)
			xiw_tx_run_posted(s);
		llp->ops->unlock_bh(llp);
	} else {
		xiw_stream_tx_again(s, 0);
	}
	xiw_llp_put(llp);
}

/* The timer holds no reference: xiw_tx_stop() cancels it. */
static enum hrtimer_restart tx_end_deferral(struct hrtimer *timer)
{
	struct xiw_stream *s = container_of(timer, struct xiw_stream,
					    tx.defer_timer);
	struct xiw_timers *timers = this_cpu_ptr(&tx_timers);
	u64 begin = ktime_get_ns();

	if (xiw_timers_begin(timers, begin))
		tx_run_now_or_soon(s);
	else
		xiw_stream_tx_again(s, 0);
	xiw_timers_end(timers, begin, ktime_get_ns());
	return HRTIMER_NORESTART;
}

static void tx_retry(struct work_struct *work)
{
	struct xiw_stream *s = container_of(to_delayed_work(work),
					    struct xiw_stream, tx.retry);

	tx_run_sleeping(s, false);
	s->ops->put(s);
}

/**
 * xiw_tx_space() - run the engine when a full socket has room again
 * @s: stream attached to a socket
 */
void xiw_tx_space(struct xiw_stream *s)
{
	/* in_softirq() is true in NAPI threads, too. */
	if (in_softirq())
		xiw_busy_poll_post_tx(s);
	else
		xiw_tx_run_locked(s);
}

/**
 * xiw_tx_kick() - run the engine for new posts
 * @s: stream, attached or not
 * @may_sleep: the caller is a system call
 *
 * Context: Any, with interrupts on or off.
 */
void xiw_tx_kick(struct xiw_stream *s, bool may_sleep)
{
	int was = atomic_fetch_or(XIW_TX_KICK, &s->tx.run);

	/* In a doorbell deferral only the timer would run the engine. */
	if (was && was != (XIW_TX_RUNNING | XIW_TX_DEFER))
		return;
	if (may_sleep) {
		tx_run_sleeping(s, true);
		return;
	}
	/* TCP's transmit path must be able to disable softirqs. */
	if (irqs_disabled() || in_hardirq()) {
		xiw_stream_tx_again(s, 0);
		return;
	}
	tx_run_now_or_soon(s);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_tx_kick);

/**
 * xiw_tx_init() - set up the transmit side of a new stream
 * @s: stream, zeroed but for what its owner has set
 *
 * Context: Any.
 */
void xiw_tx_init(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;
	u32 i;

	/* Keep posters from running the engine without a socket. */
	atomic_set(&tx->run, XIW_TX_RUNNING);
	xiw_posts_init(&tx->posts);
	xiw_txbuf_init(&tx->buf, s->memcg, &s->env->tx_blocks);
	for (i = 0; i < ARRAY_SIZE(tx->pages); i++)
		xiw_page_wait_init(&tx->pages[i], s, s->memcg,
				   xiw_stream_tx_again);
	INIT_DELAYED_WORK(&tx->retry, tx_retry);
	INIT_DELAYED_WORK(&tx->trim, xiw_stream_trim_fn);
	hrtimer_setup(&tx->defer_timer, tx_end_deferral, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}

/**
 * xiw_tx_start() - reset the transmit side for a new stream
 * @s: stream with @s->conn filled in, not yet visible to the socket
 *
 * Context: Any.
 */
void xiw_tx_start(struct xiw_stream *s)
{
	const struct xiw_mpa_nego *nego = &s->conn.nego;
	struct xiw_tx *tx = &s->tx;
	u32 qn;

	xiw_tx_mpa_start(&tx->mpa, nego->tx_markers, nego->crc,
			 s->conn.fpdu_segments);
	tx->engine = XIW_ENGINE_IDLE;
	tx->imm_sent = false;
	tx->pos = 0;
	tx->rtr_end = 0;
	tx->sent = 0;
	tx->rtr = s->conn.initiator ? nego->rtr_send : 0;
	tx->mixes = s->conn.mixes;
	xiw_tx_drop_msgs(tx);
	for (qn = 0; qn < XIW_QN_COUNT; qn++)
		tx->msn[qn] = XIW_MSN_FIRST;
}

/**
 * xiw_tx_stop() - release the resources of the transmit side
 * @s: stream that was detached
 *
 * Context: Sleeps. The caller owns the transmit side.
 */
void xiw_tx_stop(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;
	u32 i;

	hrtimer_cancel(&tx->defer_timer);
	xiw_busy_poll_cancel(s);
	/* These queue the retry work. */
	for (i = 0; i < ARRAY_SIZE(tx->pages); i++)
		xiw_page_in_stop(&tx->pages[i]);
	xiw_stream_cancel_delayed(s, &tx->retry);
	xiw_tx_batch_drop(s);
	xiw_stream_cancel_delayed(s, &tx->trim);
	xiw_txbuf_drop(&tx->buf);
	xiw_tx_drop_msgs(tx);
}

/**
 * xiw_tx_owes_term() - did a stream end before its Terminate
 * @s: stream that was detached, and not reset since
 *
 * Return: true if there was one to send, and TCP has not taken all of it.
 */
bool xiw_tx_owes_term(const struct xiw_stream *s)
{
	const struct xiw_tx *tx = &s->tx;

	return tx->term_len && !(tx->term_sent && tx->sent == tx->pos);
}

/**
 * xiw_tx_reset() - clear the state left by the last stream
 * @s: stream that was detached and flushed
 */
void xiw_tx_reset(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;

	WRITE_ONCE(tx->fin, false);
	tx->fin_done = false;
	tx->limited = false;
	WRITE_ONCE(tx->term_len, 0);
	tx->term_sent = false;
	atomic_set(&tx->run, XIW_TX_RUNNING);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_tx_reset);
