// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Busy-poll work: deferred work of streams that busy-polling processes run.
 *
 * The scheduler treats work items and processes alike. Where a process
 * busy-polls on each CPU, as with MPI, a work item runs only when the scheduler
 * preempts a poller, and until then the pollers wait for that very work. So a
 * stream posts its work to the queue pair first. If a process busy-polls the
 * CQs (cq.c), flags in their rings announce the work, and the process enters
 * the kernel and runs it, on its own account. If no process claims it within
 * XIW_WORK_OFFER_NS, or none is busy-polling, the work is queued.
 *
 * A process that was busy-polling may stop at any time. So each time posted
 * work expires, the number of later times that work is queued at once doubles.
 *
 * The first process claims the work exclusively, and runs it with the socket
 * lock of the attached stream held. The work always belongs to that stream, as
 * the work of an earlier one is cancelled before another is attached. If the
 * process does not get the lock, or the CPU, before the work expires, the work
 * is queued.
 */
#include "offer.h"

#include <kunit/visibility.h>

#include "stats.h"

static void offer_queue(struct xiw_stream *s, u32 work)
{
	if (work & XIW_WORK_RX)
		xiw_stream_queue_work(s, &s->rx.bulk);
	if (work & XIW_WORK_TX)
		xiw_stream_tx_again(s, 0);
}

static bool offer_locked(struct xiw_stream *s)
{
	struct xiw_offer *offer = &s->offer;

	lockdep_assert_held(&offer->lock);

	if (offer->work)
		return true;
	if (offer->skip) {
		offer->skip--;
		return false;
	}
	if (!s->ops->offer(s))
		return false;
	s->ops->get(s);
	hrtimer_start(&offer->end, ns_to_ktime(XIW_WORK_OFFER_NS),
		      HRTIMER_MODE_REL_SOFT);
	return true;
}

static void offer_or_queue(struct xiw_stream *s, enum xiw_work work)
{
	struct xiw_offer *offer = &s->offer;
	unsigned long flags;
	bool offered;

	spin_lock_irqsave(&offer->lock, flags);
	offered = offer_locked(s);
	if (offered)
		offer->work |= work;
	spin_unlock_irqrestore(&offer->lock, flags);
	if (!offered)
		offer_queue(s, work);
}

/**
 * xiw_offer_tx() - post or queue the transmit work
 * @s: stream
 *
 * Context: Socket lock held.
 */
void xiw_offer_tx(struct xiw_stream *s)
{
	offer_or_queue(s, XIW_WORK_TX);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_offer_tx);

/**
 * xiw_offer_rx() - post or queue the receive work
 * @s: stream
 *
 * With Reads outstanding the work is always queued: a process would take their
 * responses one by one and post the next Reads one by one, each with a system
 * call.
 *
 * Context: Socket lock held.
 */
void xiw_offer_rx(struct xiw_stream *s)
{
	if (s->orq_head != s->orq_tail)
		offer_queue(s, XIW_WORK_RX);
	else
		offer_or_queue(s, XIW_WORK_RX);
}

/* Passes the posted work and its reference to the caller. */
static u32 offer_take_locked(struct xiw_stream *s)
{
	struct xiw_offer *offer = &s->offer;
	u32 work = offer->work;

	lockdep_assert_held(&offer->lock);

	if (work && !offer->claimed)
		s->ops->withdraw(s);
	offer->work = 0;
	offer->claimed = false;
	return work;
}

static enum hrtimer_restart offer_expired(struct hrtimer *timer)
{
	struct xiw_offer *offer = container_of(timer, struct xiw_offer, end);
	struct xiw_stream *s = container_of(offer, struct xiw_stream, offer);
	unsigned long flags;
	bool came;
	u32 work;

	spin_lock_irqsave(&offer->lock, flags);
	came = offer->claimed;
	work = offer_take_locked(s);
	if (work && !came) {
		offer->missed = min(offer->missed + 1, XIW_WORK_MAX_MISSED);
		offer->skip = BIT(offer->missed) - 1;
		xiw_stat_inc(s->env->stats, XIW_STAT_HELP_MISSED);
	}
	spin_unlock_irqrestore(&offer->lock, flags);
	if (work) {
		offer_queue(s, work);
		s->ops->put(s);
	}
	return HRTIMER_NORESTART;
}

/**
 * xiw_offer_claim() - claim the work for the calling process
 * @s: stream
 *
 * Context: Process context.
 * Return: true if there is unclaimed work. The caller then runs the work that
 * xiw_offer_take() returns, unless the stream was detached.
 */
bool xiw_offer_claim(struct xiw_stream *s)
{
	struct xiw_offer *offer = &s->offer;
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&offer->lock, flags);
	mine = offer->work && !offer->claimed;
	if (mine) {
		s->ops->withdraw(s);
		offer->claimed = true;
		offer->missed /= 2;
		xiw_stat_inc(s->env->stats, XIW_STAT_HELP);
	}
	spin_unlock_irqrestore(&offer->lock, flags);
	return mine;
}

/**
 * xiw_offer_take() - take the claimed work, and any posted since
 * @s: stream
 *
 * Context: Socket lock held, or the stream was detached.
 * Return: XIW_WORK_*; if any, the caller drops a reference when it is done.
 */
u32 xiw_offer_take(struct xiw_stream *s)
{
	struct xiw_offer *offer = &s->offer;
	unsigned long flags;
	u32 work;

	spin_lock_irqsave(&offer->lock, flags);
	work = offer_take_locked(s);
	spin_unlock_irqrestore(&offer->lock, flags);
	return work;
}

/**
 * xiw_offer_drop() - cancel the posted work
 * @s: stream that was detached, and posts no more work
 *
 * The work items may be queued when this returns.
 *
 * Context: Sleeps.
 */
void xiw_offer_drop(struct xiw_stream *s)
{
	hrtimer_cancel(&s->offer.end);
	if (xiw_offer_take(s))
		s->ops->put(s);
}

/**
 * xiw_offer_init() - set up without posted work
 * @s: new stream
 *
 * Context: Any.
 */
void xiw_offer_init(struct xiw_stream *s)
{
	spin_lock_init(&s->offer.lock);
	hrtimer_setup(&s->offer.end, offer_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}
