// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How the waits of rdv_use.c end: the timer expires, the peer refuses for good,
 * or the connection state is reset.
 */
#include "rdv_wait.h"

#include "dev.h"
#include "qp.h"
#include "qp_stream.h"
#include "stream.h"

static bool rdv_wait_anything_posted(const struct xiw_qp *qp)
{
	const struct xiw_sq *sq = &qp->sq;

	return READ_ONCE(sq->head) != READ_ONCE(sq->prod) ||
	       (!sq->kernel && !xiw_sq_ring_empty(sq));
}

/**
 * xiw_rdv_await_posted() - start the retry timer for what was posted earlier
 * @qp: queue pair that may just have begun to wait for a stream
 *
 * Context: Any with interrupts on.
 */
void xiw_rdv_await_posted(struct xiw_qp *qp)
{
	/* Pairs with the one in xiw_post_send(), before it reads "waits". */
	smp_mb();
	if (READ_ONCE(qp->rdv.waits) && rdv_wait_anything_posted(qp))
		xiw_qp_await(qp, XIW_RDV_STREAM);
}

/* Disarm the timer and return its purpose; ignore an obsolete expiry. */
static enum xiw_rdv_timer rdv_wait_disarm(struct xiw_rdv_use *use)
{
	enum xiw_rdv_timer armed = XIW_RDV_NOTHING;

	spin_lock_irq(&use->lock);
	if (!time_before(jiffies, use->due)) {
		armed = use->armed;
		use->armed = XIW_RDV_NOTHING;
	}
	spin_unlock_irq(&use->lock);
	return armed;
}

/*
 * A stream that is established concurrently does not prevent the error: the
 * peer then sees its connection end.
 */
static bool rdv_wait_is_over(struct xiw_qp *qp, enum xiw_rdv_timer armed)
{
	struct xiw_rdv_use *use = &qp->rdv;

	lockdep_assert_held(&qp->stream.lock);

	if (use->over || !rdv_wait_anything_posted(qp))
		return false;
	return (armed == XIW_RDV_STREAM && use->waits) ||
	       (armed == XIW_RDV_ANSWER && use->gone);
}

static void rdv_wait_expire(struct work_struct *work)
{
	struct xiw_rdv_use *use = container_of(to_delayed_work(work),
					       struct xiw_rdv_use, expire);
	struct xiw_qp *qp = container_of(use, struct xiw_qp, rdv);
	enum xiw_rdv_timer armed = rdv_wait_disarm(use);
	struct xiw_stream *s = &qp->stream;
	bool over;

	spin_lock_bh(&s->lock);
	over = rdv_wait_is_over(qp, armed);
	if (over)
		use->status = IB_WC_RETRY_EXC_ERR;
	spin_unlock_bh(&s->lock);
	if (over && armed == XIW_RDV_STREAM)
		xiw_stat_inc(qp->dev->stats, XIW_STAT_CONN_TIMEOUT);
	if (over)
		xiw_stream_event(s, XIW_QPE_LOCAL_ERROR);
	xiw_qp_put(qp);
}

/**
 * xiw_rdv_give_up() - stop waiting for a peer that will always refuse
 * @qp: queue pair connected out of band
 *
 * Requests that wait fail now, and later ones fail at once.
 *
 * Context: Process context.
 */
void xiw_rdv_give_up(struct xiw_qp *qp)
{
	struct xiw_rdv_use *use = &qp->rdv;

	spin_lock_irq(&use->lock);
	use->final = true;
	if (use->armed == XIW_RDV_STREAM) {
		use->due = jiffies;
		/* If the work is running already, queue it once more. */
		xiw_qp_get(qp);
		if (mod_delayed_work(system_dfl_wq, &use->expire, 0))
			xiw_qp_put(qp);
	}
	spin_unlock_irq(&use->lock);
}

/**
 * xiw_rdv_wait_end() - end all waits of a queue pair and cancel their timer
 * @qp: queue pair
 *
 * Context: Sleeps.
 */
void xiw_rdv_wait_end(struct xiw_qp *qp)
{
	struct xiw_rdv_use *use = &qp->rdv;

	spin_lock_bh(&qp->stream.lock);
	spin_lock_irq(&use->lock);
	WRITE_ONCE(use->waits, false);
	WRITE_ONCE(use->gone, false);
	spin_unlock_irq(&use->lock);
	spin_unlock_bh(&qp->stream.lock);
	if (cancel_delayed_work_sync(&use->expire))
		xiw_qp_put(qp);
}

/**
 * xiw_rdv_wait_init() - initialise the wait timer of a new queue pair
 * @qp: queue pair
 *
 * Context: Any.
 */
void xiw_rdv_wait_init(struct xiw_qp *qp)
{
	spin_lock_init(&qp->rdv.lock);
	INIT_DELAYED_WORK(&qp->rdv.expire, rdv_wait_expire);
}
