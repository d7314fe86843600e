// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Busy-poll work: deferred work of streams that busy-polling processes run.
 *
 * The scheduler treats work items and processes alike. Where a process
 * busy-polls on each CPU, as with MPI, a work item runs only when the scheduler
 * preempts a poller, and until then the pollers wait for that very work. So a
 * stream posts its work to the queue pair first. If a process busy-polls the
 * CQs (cq.c), flags in their rings announce the work, and the process enters
 * the kernel and runs it. If no process claims it within XIW_BUSY_POLL_NS, or
 * none is busy-polling, the work is queued.
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
#include "engine.h"

#include <kunit/visibility.h>

#include "stats.h"

static void busy_poll_queue(struct xiw_stream *s, u32 work)
{
	if (work & XIW_WORK_RX)
		xiw_stream_rx_again(s, 0);
	if (work & XIW_WORK_TX)
		xiw_stream_tx_again(s, 0);
}

static bool busy_poll_post_locked(struct xiw_stream *s)
{
	struct xiw_busy_poll *poll = &s->busy_poll;

	lockdep_assert_held(&poll->lock);

	if (poll->work)
		return true;
	if (poll->skip) {
		poll->skip--;
		return false;
	}
	if (!s->ops->post_work(s))
		return false;
	s->ops->get(s);
	hrtimer_start(&poll->end, ns_to_ktime(XIW_BUSY_POLL_NS),
		      HRTIMER_MODE_REL_SOFT);
	return true;
}

static void busy_poll_post(struct xiw_stream *s, enum xiw_work work)
{
	struct xiw_busy_poll *poll = &s->busy_poll;
	unsigned long flags;
	bool posted;

	spin_lock_irqsave(&poll->lock, flags);
	posted = busy_poll_post_locked(s);
	if (posted)
		poll->work |= work;
	spin_unlock_irqrestore(&poll->lock, flags);
	if (!posted)
		busy_poll_queue(s, work);
}

/**
 * xiw_busy_poll_post_tx() - post or queue the transmit work
 * @s: stream
 */
void xiw_busy_poll_post_tx(struct xiw_stream *s)
{
	busy_poll_post(s, XIW_WORK_TX);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_busy_poll_post_tx);

/**
 * xiw_busy_poll_post_rx() - post or queue the receive work
 * @s: stream
 *
 * With Reads outstanding the work is always queued: a process would take their
 * responses one by one and post the next Reads one by one, each with a system
 * call.
 */
void xiw_busy_poll_post_rx(struct xiw_stream *s)
{
	if (s->orq_head != s->orq_tail)
		busy_poll_queue(s, XIW_WORK_RX);
	else
		busy_poll_post(s, XIW_WORK_RX);
}

/* Transfers the posted work, and the reference that it holds, to the caller. */
static u32 busy_poll_take_locked(struct xiw_stream *s)
{
	struct xiw_busy_poll *poll = &s->busy_poll;
	u32 work = poll->work;

	lockdep_assert_held(&poll->lock);

	if (work && !poll->claimed)
		s->ops->cancel_work(s);
	poll->work = 0;
	poll->claimed = false;
	return work;
}

static enum hrtimer_restart busy_poll_expire(struct hrtimer *timer)
{
	struct xiw_busy_poll *poll =
		container_of(timer, struct xiw_busy_poll, end);
	struct xiw_stream *s = container_of(poll, struct xiw_stream, busy_poll);
	unsigned long flags;
	bool claimed;
	u32 work;

	spin_lock_irqsave(&poll->lock, flags);
	claimed = poll->claimed;
	work = busy_poll_take_locked(s);
	if (work && !claimed) {
		poll->expired =
			min(poll->expired + 1, XIW_BUSY_POLL_MAX_EXPIRED);
		poll->skip = BIT(poll->expired) - 1;
		xiw_stat_inc(s->env->stats, XIW_STAT_BUSY_POLL_EXPIRED);
	}
	spin_unlock_irqrestore(&poll->lock, flags);
	if (work) {
		busy_poll_queue(s, work);
		s->ops->put(s);
	}
	return HRTIMER_NORESTART;
}

/**
 * xiw_busy_poll_claim() - claim the work for the calling process
 * @s: stream
 *
 * Context: Process context.
 * Return: true if there is unclaimed work. The caller then runs the work that
 * xiw_busy_poll_take() returns, unless the stream was detached.
 */
bool xiw_busy_poll_claim(struct xiw_stream *s)
{
	struct xiw_busy_poll *poll = &s->busy_poll;
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&poll->lock, flags);
	mine = poll->work && !poll->claimed;
	if (mine) {
		s->ops->cancel_work(s);
		poll->claimed = true;
		poll->expired /= 2;
		xiw_stat_inc(s->env->stats, XIW_STAT_BUSY_POLL);
	}
	spin_unlock_irqrestore(&poll->lock, flags);
	return mine;
}

/**
 * xiw_busy_poll_take() - take the claimed work, and any posted since
 * @s: stream
 *
 * Context: Socket lock held, or the stream was detached.
 * Return: XIW_WORK_*; if any, the caller drops a reference when it is done.
 */
u32 xiw_busy_poll_take(struct xiw_stream *s)
{
	struct xiw_busy_poll *poll = &s->busy_poll;
	unsigned long flags;
	u32 work;

	spin_lock_irqsave(&poll->lock, flags);
	work = busy_poll_take_locked(s);
	spin_unlock_irqrestore(&poll->lock, flags);
	return work;
}

/**
 * xiw_busy_poll_cancel() - cancel the posted work
 * @s: stream that was detached, and posts no more work
 *
 * The work items may be queued when this returns.
 *
 * Context: Sleeps.
 */
void xiw_busy_poll_cancel(struct xiw_stream *s)
{
	hrtimer_cancel(&s->busy_poll.end);
	if (xiw_busy_poll_take(s))
		s->ops->put(s);
}

/* Sets up a new stream without posted work. */
void xiw_busy_poll_init(struct xiw_stream *s)
{
	spin_lock_init(&s->busy_poll.lock);
	hrtimer_setup(&s->busy_poll.end, busy_poll_expire, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}
