// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pairs that are connected out of band: which Request may use a queue
 * pair, how either side rolls back a connection that was never established, and
 * how the wait of posted requests ends. They wait for the stream, or for an
 * answer of a peer that has gone, until the timer expires, the peer refuses for
 * good, or the queue pair is reset.
 */

/**
 * DOC: Silent end of a peer
 *
 * On RoCE the end of the peer is not reported. Later requests are sent again
 * until the retries are used up, and only then fail. Programs rely on that
 * time, as they do not end simultaneously: a request that the peer did not wait
 * for must not fail before the program that posted it ends, too.
 * So requests wait here, although no answer is possible. Before RTS the number
 * of retries is not known yet, and they do not wait.
 */
#include "oob.h"

#include <linux/jiffies.h>

#include "dev.h"
#include "llp/llp.h"
#include "llp/sock.h"
#include "qp/ep.h"
#include "qp/qp.h"
#include "stream/stream.h"

/*
 * Requests of a Responder
 */

/*
 * Limits guesses at a secret of 24 bits to one a second. Requests from a port
 * below 1024, which takes a privilege, have a limit of their own: the peer's
 * kernel uses such a port when the guesses of others use up the limit.
 */
static bool oob_qp_may_guess(struct xiw_oob *oob, bool privileged)
{
	unsigned long *at = &oob->guessed_at[privileged];
	u32 *guesses = &oob->guesses[privileged];
	unsigned long more = (jiffies - *at) / HZ;

	if (more) {
		*guesses = min_t(unsigned long, *guesses + more,
				 XIW_OOB_GUESSES);
		*at = jiffies;
	}
	return *guesses;
}

/* Check the proof. One that has failed before does not count as a guess. */
static int oob_qp_check_proof(struct xiw_oob *oob, struct xiw_ep *ep,
			      const struct xiw_oob_request *req)
{
	struct xiw_ep_startup *st = ep->startup;

	if (!st->proof_failed && !oob_qp_may_guess(oob, ep->privileged))
		return -EBUSY;
	if (xiw_oob_proven(&oob->path, &st->nonces, &req->claim))
		return 0;
	if (!st->proof_failed)
		oob->guesses[ep->privileged]--;
	st->proof_failed = true;
	return -EAGAIN;
}

/*
 * Checks a Request against a queue pair, with the stream's lock held; results
 * as those of xiw_oob_admit(). A Request that does not match waits, as it may
 * match after a reset; no reason is sent.
 */
static int oob_qp_match(struct xiw_qp *qp, struct xiw_ep *ep,
			const struct xiw_oob_request *req)
{
	struct xiw_oob *oob = &qp->oob;
	int ret;

	/*
	 * The state is not PATH_SET during a rollback, even without an
	 * endpoint.
	 */
	if (oob->state != XIW_OOBS_PATH_SET || qp->destroying ||
	    !xiw_oob_match(&oob->path, req) ||
	    !xiw_oob_in_common(&oob->path, &req->claim))
		return -EAGAIN;
	ret = oob_qp_check_proof(oob, ep, req);
	if (ret)
		return ret;
	if (!qp->ep && qp->stream.state == XIW_QPS_IDLE)
		return 0;
	if (qp->ep)
		xiw_ep_raise(qp->ep, XIW_EPE_REPLACED);
	return -EAGAIN;
}

/**
 * xiw_oob_admit() - may a Request be answered with this queue pair
 * @qp: queue pair that the Request names
 * @ep: endpoint that received it; if so, it is tied to the queue pair, and gets
 *	a reference
 * @req: Request, with a proof
 * @path: if so, result: the attributes that the ULP has set so far
 *
 * Section 4.4 of Documentation/oob.rst, from step 5 on. A connection without a
 * first FPDU is replaced: its Initiator may have lost it.
 *
 * Context: Any with interrupts on. The endpoint is locked.
 * Return: 0; -EAGAIN if the Request has to wait for the ULP, or for such a
 * connection to end; -EBUSY if too many proofs have failed just now.
 */
int xiw_oob_admit(struct xiw_qp *qp, struct xiw_ep *ep,
		  const struct xiw_oob_request *req, struct xiw_oob_path *path)
{
	struct xiw_oob *oob = &qp->oob;
	struct xiw_stream *s = &qp->stream;
	int ret;

	spin_lock_bh(&s->lock);
	ret = oob_qp_match(qp, ep, req);
	if (!ret) {
		xiw_ep_get(ep);
		qp->ep = ep;
		oob->peer = req->claim;
		oob->nonces = ep->startup->nonces;
		*path = oob->path;
	}
	spin_unlock_bh(&s->lock);
	return ret;
}

/*
 * Waiting
 */

static bool oob_qp_anything_posted(const struct xiw_qp *qp)
{
	const struct xiw_sq *sq = &qp->sq;

	return READ_ONCE(sq->head) != READ_ONCE(sq->prod) ||
	       (!sq->kernel && !xiw_sq_ring_empty(sq));
}

/*
 * Starts the retry timer for requests posted before the queue pair began to
 * wait for a stream. Any context with interrupts on.
 */
void xiw_oob_await_posted(struct xiw_qp *qp)
{
	/* Pairs with the barrier in qp_verbs_sends_posted(). */
	smp_mb();
	if (READ_ONCE(qp->oob.waits) && oob_qp_anything_posted(qp))
		xiw_qp_await(qp, XIW_OOB_STREAM);
}

/* Disarm the timer and return its purpose; ignore an obsolete expiry. */
static enum xiw_oob_timer oob_qp_disarm(struct xiw_oob *oob)
{
	enum xiw_oob_timer armed = XIW_OOB_NOTHING;

	spin_lock_irq(&oob->lock);
	if (!time_before(jiffies, oob->due)) {
		armed = oob->armed;
		oob->armed = XIW_OOB_NOTHING;
	}
	spin_unlock_irq(&oob->lock);
	return armed;
}

/*
 * A stream that is established concurrently does not prevent the error: the
 * peer then sees its connection end.
 */
static bool oob_qp_wait_is_over(struct xiw_qp *qp, enum xiw_oob_timer armed)
{
	struct xiw_oob *oob = &qp->oob;

	lockdep_assert_held(&qp->stream.lock);

	if (xiw_oobstate_is_dead(oob->state) || !oob_qp_anything_posted(qp))
		return false;
	return (armed == XIW_OOB_STREAM && oob->waits) ||
	       (armed == XIW_OOB_ANSWER && oob->state == XIW_OOBS_PEER_GONE);
}

static void oob_qp_expire(struct work_struct *work)
{
	struct xiw_oob *oob = container_of(to_delayed_work(work),
					   struct xiw_oob, expire);
	struct xiw_qp *qp = container_of(oob, struct xiw_qp, oob);
	enum xiw_oob_timer armed = oob_qp_disarm(oob);
	struct xiw_stream *s = &qp->stream;
	bool over;

	spin_lock_bh(&s->lock);
	over = oob_qp_wait_is_over(qp, armed);
	if (over)
		oob->status = IB_WC_RETRY_EXC_ERR;
	spin_unlock_bh(&s->lock);
	if (over && armed == XIW_OOB_STREAM)
		xiw_stat_inc(qp->dev->stats, XIW_STAT_CONN_TIMEOUT);
	if (over)
		xiw_stream_event(s, XIW_QPE_LOCAL_ERROR);
	xiw_qp_put(qp);
}

/*
 * Stops waiting for a peer that will always refuse: requests that wait fail
 * now, and later ones fail at once.
 */
void xiw_oob_give_up(struct xiw_qp *qp)
{
	struct xiw_oob *oob = &qp->oob;

	spin_lock_irq(&oob->lock);
	oob->final = true;
	if (oob->armed == XIW_OOB_STREAM) {
		oob->due = jiffies;
		/* If the work is running already, queue it once more. */
		xiw_qp_get(qp);
		if (mod_delayed_work(system_dfl_wq, &oob->expire, 0))
			xiw_qp_put(qp);
	}
	spin_unlock_irq(&oob->lock);
}

/* Ends all waits of a queue pair, and cancels their timer. */
void xiw_oob_wait_end(struct xiw_qp *qp)
{
	struct xiw_oob *oob = &qp->oob;

	spin_lock_bh(&qp->stream.lock);
	spin_lock_irq(&oob->lock);
	WRITE_ONCE(oob->waits, false);
	xiw_qp_oob_step(qp, XIW_OOBE_STOP_WAIT);
	spin_unlock_irq(&oob->lock);
	spin_unlock_bh(&qp->stream.lock);
	if (cancel_delayed_work_sync(&oob->expire))
		xiw_qp_put(qp);
}

/* Prepares the retry timer of a new queue pair. */
void xiw_oob_wait_init(struct xiw_qp *qp)
{
	spin_lock_init(&qp->oob.lock);
	INIT_DELAYED_WORK(&qp->oob.expire, oob_qp_expire);
}

/*
 * Rollback
 */

/*
 * Checks again under the lock: before the socket was locked, the first FPDU may
 * have arrived, or the ULP may have ended the connection.
 */
static bool oob_qp_begin_roll_back(struct xiw_stream *s)
{
	struct xiw_qp *qp = container_of(s, struct xiw_qp, stream);
	struct xiw_oob *oob = &qp->oob;
	bool undo;

	spin_lock_bh(&s->lock);
	undo = !qp->destroying && xiw_oobstate_is_tentative(oob->state);
	if (undo)
		xiw_qp_oob_step(qp, XIW_OOBE_ROLL_BACK);
	spin_unlock_bh(&s->lock);
	return undo;
}

/*
 * Rolls back a connection that was never established. @ep is its endpoint,
 * locked, or NULL if the stream has ended; then modify_lock is held. True if it
 * was rolled back; else nothing has changed.
 *
 * Requests taken from the queues are put back, and the queue pair can get
 * another stream of @ep, or of another endpoint.
 */
bool xiw_oob_roll_back(struct xiw_qp *qp, struct xiw_ep *ep)
{
	struct xiw_oob *oob = &qp->oob;
	struct xiw_stream *s = &qp->stream;
	struct xiw_llp *llp;
	bool undo;

	spin_lock_bh(&s->lock);
	undo = qp->ep == ep && !qp->destroying &&
	       xiw_oobstate_is_tentative(oob->state);
	llp = s->llp;
	if (undo && !llp)
		xiw_qp_oob_step(qp, XIW_OOBE_ROLL_BACK);
	spin_unlock_bh(&s->lock);
	if (!undo ||
	    (llp && !xiw_stream_detach_if(s, llp, oob_qp_begin_roll_back)))
		return false;
	mutex_lock(&qp->flush_lock);
	xiw_stream_forget(s);
	xiw_tx_sched_rewind(s);
	xiw_stream_release(s);
	xiw_stream_event(s, XIW_QPE_RESET);
	xiw_tx_reset(s);
	xiw_sq_doorbell_mode(&qp->sq, XIW_RING_NEED_DB);
	WRITE_ONCE(qp->sq.stopped, false);
	mutex_unlock(&qp->flush_lock);

	spin_lock_bh(&s->lock);
	/* Drop the error set for the peer, but not that of an expired wait. */
	if (oob->status != IB_WC_RETRY_EXC_ERR)
		oob->status = 0;
	spin_lock_irq(&oob->lock);
	xiw_qp_oob_step(qp, XIW_OOBE_ROLLED_BACK);
	if (oob->armed == XIW_OOB_ANSWER)
		oob->armed = XIW_OOB_NOTHING;
	spin_unlock_irq(&oob->lock);
	undo = !xiw_oobstate_is_dead(oob->state);
	WRITE_ONCE(oob->waits, oob->path.token.rts && undo);
	spin_unlock_bh(&s->lock);
	/* The reset of the stream has lost the error: raise it again. */
	if (!undo)
		xiw_stream_event(s, XIW_QPE_LOCAL_ERROR);
	else
		xiw_oob_await_posted(qp);
	return true;
}
