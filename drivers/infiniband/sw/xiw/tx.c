// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transmit engine: who runs it, for how long, and what it waits for. What it
 * sends are trains, see train.c.
 *
 * DOC: who runs the engine
 *
 * The engine runs under the socket lock, in whatever context has something
 * for it to do: the poster's own, the receive pass, the socket's write_space
 * callback, or the retry work. tx.run says how things stand. A poster sets
 * KICK; if a bit was set before, somebody is running the engine or is going
 * to, and the poster has nothing more to do. Otherwise the poster takes the
 * lock and runs the engine, or, when it must not sleep and the lock is taken,
 * leaves that to the retry work. The engine exchanges the word for RUNNING
 * before each look at the queue and may leave it at zero only by a
 * compare-and-exchange that proves that nobody has kicked since.
 *
 * When the socket is full, or requests wait for a response, RUNNING stays
 * set: write_space or the receive pass is certain to run the engine again.
 * TCP calls write_space for the ACK that has made room, in softirq context. Up
 * to two thirds of TCP's buffer are still unsent or in flight then, so there is
 * time for the retry work to do the copying, on any CPU.
 *
 * A user process that twice in a row posts while earlier data is still in
 * flight, or right after the engine has run for its last post and without
 * having waited for that, is likely to go on. Once is not enough: a Write and
 * the Send that tells of it are followed by waiting for an answer. Then RUNNING
 * stays set for a short time, too, together with WINDOW, and the process posts
 * without system calls. All that it posts meanwhile leaves as one train, as
 * soon as it enters the kernel to wait for completions, or a timer runs the
 * engine. How much such a window has collected says how soon the next one is
 * opened (pace.h); a process that waits for each request before it posts the
 * next one gets hardly any.
 *
 * What the peer answers meanwhile does not end a window: the engine sends what
 * it finds then, and leaves the window open.
 *
 * DOC: how long a turn is
 *
 * A turn is what one call of the engine, or of the receive side, does under the
 * socket lock. Where the lock is held as a spinlock, that is in softirqs, in
 * the timer, and for kernel consumers, which post from any context, this CPU
 * does nothing else meanwhile, and another one may spin. Such a turn is short:
 * it ends after XIW_TURN_BYTES or XIW_TURN_STEPS, whatever comes first. A step
 * is an FPDU, or a request that sends nothing. Then a work item goes on, the
 * retry work for sending and the bulk work for receiving. tx.deferred and
 * rx.deferred are set until it does, and as long packets and posts begin no
 * other short turn. No more ring entries are fetched than there are steps left,
 * nor more requests completed at once than a turn has steps.
 *
 * A process, or a work item, that owns the lock has turns several times as
 * long, for they can be interrupted. What TCP receives meanwhile, ACKs above
 * all, goes to the socket's backlog, which is let in after each train, and by
 * who receives after each turn, of which it has several in a row. TCP may call
 * a callback while it processes the backlog, and must not process it twice at a
 * time, so callbacks have short turns, too.
 *
 * The windows of many streams may end in one softirq. After 200 us of that the
 * retry work runs the engines of the others.
 *
 * Work items send less at a time than they receive. If both ends are on this
 * host, and their work items share a CPU, the sender must not get ahead of the
 * receiver: TCP would hold blocks of several MiB, and each one would be out of
 * the cache before it is read, and written again.
 */

#include "tx.h"

#include <kunit/visibility.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include "llp.h"
#include "offer.h"
#include "sendq.h"
#include "stream.h"
#include "trace.h"
#include "train.h"

/* Of windows; used by softirqs of this CPU only. */
static DEFINE_PER_CPU(struct xiw_timers, tx_timers);

enum tx_outcome {
	TX_IDLE,	/* nothing left that could be sent */
	TX_BLOCKED,	/* somebody is certain to run the engine again */
};

/* The turn is over: the retry work goes on. */
static void tx_defer(struct xiw_stream *s)
{
	s->tx.deferred = true;
	xiw_offer_tx(s);
}

/* Until nothing is left, or the turn is over. */
static enum tx_outcome tx_drain(struct xiw_stream *s, bool yield)
{
	struct xiw_tx *tx = &s->tx;
	int ret;

	for (;;) {
		if (!tx->train_len)
			xiw_train_build(s);
		if (!tx->train_len)
			break;
		ret = xiw_train_send(s);
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
			/* If the connection has ended, state_change tells. */
			if (s->llp->ops->status(s->llp) == XIW_LLP_OPEN)
				xiw_stream_tx_again(s, 1);
			return TX_BLOCKED;
		}
		if (yield)
			s->llp->ops->yield(s->llp);
	}
	if (xiw_turn_over(&tx->turn)) {
		tx_defer(s);
		return TX_BLOCKED;
	}
	if (tx->source != XIW_TX_NONE) {
		/* A message in progress, but no memory for its next FPDU. */
		xiw_stat_inc(s->env->stats, XIW_STAT_TX_NOMEM);
		xiw_stream_tx_again(s, 1);
		return TX_BLOCKED;
	}
	return xiw_sendq_waits(s) ? TX_BLOCKED : TX_IDLE;
}

/*
 * Has the process waited for its last Read or Atomic? Not if it was not told of
 * the end, or has not looked.
 */
static bool tx_may_have_waited(const struct xiw_stream *s)
{
	return s->tx.asked && s->tx.told && !s->ops->send_untaken(s);
}

/*
 * Is it likely that the process posts more without waiting for anything? That
 * it has posted soon after the last run does not suffice: within one machine
 * a message of the peer, or the response to a Read, may have come before that
 * run ended.
 */
static bool tx_is_burst(const struct xiw_stream *s)
{
	const struct xiw_tx *tx = &s->tx;

	if (s->sq->kernel)
		return false;
	if (!s->llp->ops->idle(s->llp))
		return true;
	return tx->heard_before == s->rx.heard && !tx_may_have_waited(s) &&
	       ktime_get_ns() - tx->left_at < XIW_TX_STREAM_NS;
}

/*
 * Spares the process the doorbell, and has the timer run the engine, which
 * runs already if there is a window to be kept.
 */
static bool tx_stay_on(struct xiw_stream *s, bool keep)
{
	struct xiw_tx *tx = &s->tx;

	if (READ_ONCE(tx->fin) || READ_ONCE(s->state) != XIW_QPS_RTS)
		return false;
	xiw_sq_want_doorbell(s->sq, XIW_RING_LAZY_DB);
	/* Posted without a doorbell, or kicked, before the flag was seen. */
	if (!xiw_sq_ring_empty(s->sq) ||
	    atomic_cmpxchg(&tx->run, XIW_TX_RUNNING,
			   XIW_TX_RUNNING | XIW_TX_WINDOW) != XIW_TX_RUNNING) {
		xiw_sq_want_doorbell(s->sq, 0);
		return false;
	}
	if (keep)
		return true;
	tx->window_from = s->sq->next;
	hrtimer_start(&tx->window, ns_to_ktime(XIW_TX_WINDOW_NS),
		      HRTIMER_MODE_REL_SOFT);
	return true;
}

/**
 * xiw_tx_fin() - a graceful close need not wait any longer
 * @s: stream with nothing left that could be sent; nothing happens unless
 *	it is closing, or if the FIN is out
 *
 * Context: Socket lock held.
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
 * The engine looks again before it leaves. Where it waits for the first FPDU
 * nobody does, and a queue pair that is connected by number has to hear of what
 * is posted: that may be the time to give up.
 */
static void tx_set_doorbell_mode(struct xiw_stream *s)
{
	xiw_sq_want_doorbell(s->sq, s->tx.fenced ? XIW_RING_NEED_DB : 0);
}

/*
 * True if the engine may leave; false if more was posted. tx.fin is read before
 * the queue is looked at: so what a consumer posted before it closed is seen,
 * and sent before the FIN.
 */
static bool tx_go_idle(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;
	bool idle;
	bool fin;

	/* Pairs with the release in xiw_stream_step(). */
	fin = smp_load_acquire(&tx->fin);
	xiw_sq_want_doorbell(s->sq, XIW_RING_NEED_DB);
	idle = xiw_sendq_none_posted(s) &&
	       atomic_cmpxchg(&tx->run, XIW_TX_RUNNING, 0) == XIW_TX_RUNNING;
	/* A corrupt ring or a dead stream never becomes empty. */
	if (!idle && READ_ONCE(s->state) != XIW_QPS_RTS &&
	    READ_ONCE(s->state) != XIW_QPS_CLOSING) {
		atomic_set(&tx->run, 0);
		idle = true;
	}
	if (!idle)
		tx_set_doorbell_mode(s);
	else if (fin && xiw_sendq_empty(s))
		xiw_tx_fin(s);
	return idle;
}

/* How many short turns long is this one? */
static u32 tx_run_budgets(bool yield)
{
	if (!yield)
		return 1;
	return current->flags & PF_WQ_WORKER ? XIW_TURN_WORK : XIW_TURN_PROCESS;
}

/*
 * Transmits what can be transmitted, because something was @posted, or for
 * another reason, which says nothing of how the process posts, and leaves an
 * open window open. A window is only begun if there was something, so that they
 * end when the process posts no more.
 */
static void tx_run(struct xiw_stream *s, bool posted)
{
	bool yield = s->llp->ops->can_yield(s->llp);
	u32 times = tx_run_budgets(yield);
	struct xiw_tx *tx = &s->tx;
	enum tx_outcome outcome;
	bool window = false;
	u32 started;
	u32 fetched;
	bool stream;
	bool more;
	bool keep;
	u32 first;
	u64 pos;

	/*
	 * TCP may process its backlog, or find room, while it takes a train,
	 * and the callbacks end up here again: the outer call goes on.
	 */
	if (tx->active || (tx->deferred && !yield)) {
		atomic_or(XIW_TX_KICK, &tx->run);
		return;
	}
	tx->active = true;
	tx->deferred = false;
	xiw_turn_begin(&tx->turn, times);
	fetched = READ_ONCE(s->sq->prod);
	/* The last turn may have had too few steps to complete all. */
	xiw_sendq_complete(s);
	stream = posted && tx_is_burst(s);
	pos = tx->pos;
	tx_set_doorbell_mode(s);
	do {
		/* Whoever kicks all the time must not keep the lock busy. */
		if (xiw_turn_over(&tx->turn)) {
			tx_defer(s);
			break;
		}
		xiw_turn_charge(&tx->turn, 0);
		window = !posted && window;
		window |= atomic_xchg(&tx->run, XIW_TX_RUNNING) & XIW_TX_WINDOW;
		first = window ? tx->window_from : s->sq->next;
		outcome = tx_drain(s, yield);
		started = s->sq->next - first;
		if (posted)
			more = xiw_posts_on(&tx->posts, stream, window,
					    tx->asked, started) &&
			       (started || tx->pos != pos);
		else
			more = started && xiw_posts_are_stream(&tx->posts);
		keep = window && !posted;
		if (outcome == TX_BLOCKED ||
		    ((keep || more) && tx_stay_on(s, keep)))
			break;
	} while (!tx_go_idle(s));
	tx->active = false;
	trace_tx_turn(s->id, times, times * XIW_TURN_BYTES - tx->turn.bytes,
		      times * XIW_TURN_STEPS - tx->turn.steps,
		      READ_ONCE(s->sq->prod) - fetched);
}

/**
 * xiw_tx_run_locked() - transmit what can be transmitted
 * @s: stream attached to a socket
 *
 * Context: Socket lock held; process context or softirq. Does not sleep.
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
 * It notes when, for tx_is_burst().
 *
 * Context: Socket lock held; any.
 */
void xiw_tx_run_posted(struct xiw_stream *s)
{
	u32 heard = s->rx.heard;

	tx_run(s, true);
	s->tx.heard_before = heard;
	if (!s->sq->kernel)
		s->tx.left_at = ktime_get_ns();
}

static void tx_run_sleeping(struct xiw_stream *s, bool system_call)
{
	struct xiw_llp *llp = xiw_stream_lock(s);

	if (!llp)
		return;
	if (system_call)
		llp->ops->here(llp);
	xiw_tx_run_posted(s);
	xiw_stream_unlock(llp);
}

/* The caller must not sleep: if the lock is taken, the retry work runs it. */
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
	llp->ops->put(llp);
}

/* The timer holds no reference: xiw_tx_stop() cancels it. */
static enum hrtimer_restart tx_window(struct hrtimer *timer)
{
	struct xiw_stream *s = container_of(timer, struct xiw_stream,
					    tx.window);
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
 * xiw_tx_space() - the socket was full and has room again
 * @s: stream attached to a socket
 *
 * Context: Socket lock held; process context or softirq. Does not sleep.
 */
void xiw_tx_space(struct xiw_stream *s)
{
	/* True in threads of NAPI, too. */
	if (in_softirq())
		xiw_offer_tx(s);
	else
		xiw_tx_run_locked(s);
}

/**
 * xiw_tx_kick() - something was posted
 * @s: stream, attached or not
 * @may_sleep: the caller is a system call
 *
 * Context: Any, with interrupts on or off.
 */
void xiw_tx_kick(struct xiw_stream *s, bool may_sleep)
{
	int was = atomic_fetch_or(XIW_TX_KICK, &s->tx.run);

	/* In a window nobody runs the engine before the timer does. */
	if (was && was != (XIW_TX_RUNNING | XIW_TX_WINDOW))
		return;
	if (may_sleep) {
		tx_run_sleeping(s, true);
		return;
	}
	/* TCP's transmit path needs softirqs to be manageable. */
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

	/* So that nobody who posts runs the engine without a socket. */
	atomic_set(&tx->run, XIW_TX_RUNNING);
	xiw_posts_init(&tx->posts);
	xiw_txbuf_init(&tx->buf, s->memcg, &s->env->tx_blocks);
	INIT_DELAYED_WORK(&tx->retry, tx_retry);
	INIT_DELAYED_WORK(&tx->trim, xiw_stream_trim_fn);
	hrtimer_setup(&tx->window, tx_window, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}

/**
 * xiw_tx_start() - set the transmit side to the beginning of a stream
 * @s: stream with @s->conn filled in, not yet visible to the socket
 *
 * Context: Any.
 */
void xiw_tx_start(struct xiw_stream *s)
{
	const struct xiw_mpa_agreed *agreed = &s->conn.agreed;
	struct xiw_tx *tx = &s->tx;
	u32 qn;

	xiw_tx_mpa_start(&tx->mpa, agreed->tx_markers, agreed->crc,
			 s->conn.fpdu_segments);
	tx->deferred = false;
	tx->imm_sent = false;
	tx->pos = 0;
	tx->sent = 0;
	tx->fenced = !s->conn.initiator;
	tx->rtr = s->conn.initiator ? agreed->rtr_send : 0;
	tx->source = XIW_TX_NONE;
	for (qn = 0; qn < XIW_QN_COUNT; qn++)
		tx->msn[qn] = XIW_MSN_FIRST;
}

/**
 * xiw_tx_stop() - give back what the transmit side holds
 * @s: stream that was detached
 *
 * Context: Sleeps. The caller owns the transmit side.
 */
void xiw_tx_stop(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;

	hrtimer_cancel(&tx->window);
	xiw_offer_drop(s);
	xiw_stream_cancel_delayed(s, &tx->retry);
	xiw_train_drop(s);
	xiw_stream_cancel_delayed(s, &tx->trim);
	xiw_txbuf_drop(&tx->buf);
	tx->source = XIW_TX_NONE;
}

/**
 * xiw_tx_reset() - forget how the last stream ended
 * @s: stream that was detached and flushed
 *
 * Context: The caller owns the transmit side.
 */
void xiw_tx_reset(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;

	WRITE_ONCE(tx->fin, false);
	tx->fin_done = false;
	tx->bounded = false;
	WRITE_ONCE(tx->term_len, 0);
	tx->term_sent = false;
	atomic_set(&tx->run, XIW_TX_RUNNING);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_tx_reset);
