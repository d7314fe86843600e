// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DOC: help from who polls
 *
 * Work items have no more right to a CPU than processes have. Where each CPU
 * has a process that polls, as MPI likes it, bulk gets its turn when the
 * scheduler takes a poller's away, and the pollers spin while what they wait
 * for waits for them. So a stream offers its work to its owner first. If a
 * process spins on the owner's CQs (cq.c), their rings say that there is work,
 * and the process enters the kernel and does it, on its own account. If it does
 * not come within XIW_WORK_OFFER_NS, or does not spin, the work is queued.
 *
 * That a process has spun until now does not mean that it goes on. So it is
 * judged by what it does: with each offer in vain twice as many of the next are
 * left out.
 *
 * Who comes first has the work to itself, and takes it with the socket lock of
 * the attached stream held. So the work is of that stream and not of one
 * before: that one has taken back its offer before another was attached. If it
 * does not get the lock, or the CPU, in the time of an offer, the work is
 * queued.
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
 * xiw_offer_tx() - have much be sent, in process context
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
 * xiw_offer_rx() - have much be taken that has arrived, in process context
 * @s: stream
 *
 * A process that waits for Reads is not asked to help: it would take their
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

/* Whoever takes work has its reference, and nobody is told of it any more. */
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
 * xiw_offer_claim() - somebody has come
 * @s: stream
 *
 * Context: Process context.
 * Return: true if there is work and nobody has claimed it. Then the caller does
 * what xiw_offer_take() returns, unless the stream was detached.
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
 * xiw_offer_take() - take the work that was claimed, and what has joined it
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
 * xiw_offer_drop() - forget what was offered
 * @s: stream that was detached, and offers nothing any more
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
 * xiw_offer_init() - nothing is offered yet
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
