// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How a queue pair that is connected out of band gets a stream as Responder,
 * and how either side rolls back a connection that was never established.
 */
#include "rdv_qp.h"

#include <linux/jiffies.h>

#include "dev.h"
#include "ep.h"
#include "llp.h"
#include "qp.h"
#include "qp_stream.h"
#include "rdv_wait.h"
#include "sendq.h"
#include "stream_run.h"
#include "tx.h"

/*
 * Limits guesses at a secret of 24 bits to one a second. Requests from a port
 * below 1024, which takes a privilege, have a limit of their own: the peer's
 * kernel uses such a port when the guesses of others use up the limit.
 */
static bool rdv_may_guess(struct xiw_rdv_use *use, bool privileged)
{
	unsigned long *at = &use->guessed_at[privileged];
	u32 *guesses = &use->guesses[privileged];
	unsigned long more = (jiffies - *at) / HZ;

	if (more) {
		*guesses = min_t(unsigned long, *guesses + more,
				 XIW_RDV_GUESSES);
		*at = jiffies;
	}
	return *guesses;
}

/* Check the proof. One that has failed before does not count as a guess. */
static int rdv_judge_proof(struct xiw_rdv_use *use, struct xiw_ep *ep,
			   const struct xiw_rdv_request *req)
{
	struct xiw_ep_startup *st = ep->startup;

	if (!st->judged && !rdv_may_guess(use, ep->privileged))
		return -EBUSY;
	if (xiw_rdv_proven(&use->path, &st->nonces, &req->claim))
		return 0;
	if (!st->judged)
		use->guesses[ep->privileged]--;
	st->judged = true;
	return -EAGAIN;
}

/*
 * The stream's lock is held; results as those of xiw_rdv_admit(). A Request
 * without a match may match after a reset, so it waits; no reason is sent.
 */
static int rdv_qp_judge(struct xiw_qp *qp, struct xiw_ep *ep,
			const struct xiw_rdv_request *req)
{
	struct xiw_rdv_use *use = &qp->rdv;
	int ret;

	if (!use->named || qp->destroying || use->over || use->stood ||
	    !xiw_rdv_match(&use->path, req) ||
	    !xiw_rdv_in_common(&use->path, &req->claim))
		return -EAGAIN;
	ret = rdv_judge_proof(use, ep, req);
	if (ret)
		return ret;
	if (!qp->ep && qp->stream.state == XIW_QPS_IDLE)
		return 0;
	if (qp->ep)
		xiw_ep_raise(qp->ep, XIW_EPE_REPLACED);
	return -EAGAIN;
}

/**
 * xiw_rdv_admit() - may a Request be answered with this queue pair
 * @qp: queue pair that the Request names
 * @ep: endpoint that received it; if so, it is tied to the queue pair, and gets
 *	a reference
 * @req: Request, with a proof
 * @path: if so, result: the attributes that the consumer has set so far
 *
 * Section 4.4 of Documentation/rendezvous.rst, from step 5 on. A connection
 * whose first FPDU has not come is replaced: its Initiator may have lost it.
 *
 * Context: Any with interrupts on. The endpoint is locked.
 * Return: 0; -EAGAIN if the Request has to wait for the consumer, or for such a
 * connection to end; -EBUSY if too many proofs have failed just now.
 */
int xiw_rdv_admit(struct xiw_qp *qp, struct xiw_ep *ep,
		  const struct xiw_rdv_request *req, struct xiw_rdv_path *path)
{
	struct xiw_rdv_use *use = &qp->rdv;
	struct xiw_stream *s = &qp->stream;
	int ret;

	spin_lock_bh(&s->lock);
	ret = rdv_qp_judge(qp, ep, req);
	if (!ret) {
		xiw_ep_get(ep);
		qp->ep = ep;
		use->peer = req->claim;
		use->nonces = ep->startup->nonces;
		*path = use->path;
	}
	spin_unlock_bh(&s->lock);
	return ret;
}

/*
 * Checks again: before the socket was locked, the first FPDU may have arrived,
 * or the consumer may have ended the connection.
 */
static bool rdv_qp_begin_undo(struct xiw_stream *s)
{
	struct xiw_qp *qp = container_of(s, struct xiw_qp, stream);
	struct xiw_rdv_use *use = &qp->rdv;

	spin_lock_bh(&s->lock);
	use->undoing = !qp->destroying && xiw_rdv_undone(use);
	spin_unlock_bh(&s->lock);
	return use->undoing;
}

/**
 * xiw_rdv_undo() - roll back a connection that was never established
 * @qp: queue pair connected out of band
 * @ep: its endpoint, or NULL if the stream has ended
 *
 * Requests taken from the queues are put back, and the queue pair can get
 * another stream of @ep, or of another endpoint.
 *
 * Context: Sleeps. @ep is locked, or modify_lock held if there is none.
 * Return: true if it was rolled back; else nothing has changed.
 */
bool xiw_rdv_undo(struct xiw_qp *qp, struct xiw_ep *ep)
{
	struct xiw_rdv_use *use = &qp->rdv;
	struct xiw_stream *s = &qp->stream;
	struct xiw_llp *llp;
	bool undo;

	spin_lock_bh(&s->lock);
	undo = qp->ep == ep && !qp->destroying && xiw_rdv_undone(use);
	llp = s->llp;
	if (!llp)
		use->undoing = undo;
	spin_unlock_bh(&s->lock);
	if (!undo || (llp && !xiw_stream_detach_if(s, llp, rdv_qp_begin_undo)))
		return false;
	mutex_lock(&qp->flush_lock);
	xiw_stream_forget(s);
	xiw_sendq_rewind(s);
	xiw_stream_release(s);
	xiw_stream_event(s, XIW_QPE_RESET);
	xiw_tx_reset(s);
	xiw_sq_want_doorbell(&qp->sq, XIW_RING_NEED_DB);
	WRITE_ONCE(qp->sq.stopped, false);
	mutex_unlock(&qp->flush_lock);

	spin_lock_bh(&s->lock);
	use->undoing = false;
	use->stood = false;
	use->mismatched = false;
	/* Drop the error set for the peer, but not that of an expired wait. */
	if (use->status != IB_WC_RETRY_EXC_ERR)
		use->status = 0;
	spin_lock_irq(&use->lock);
	WRITE_ONCE(use->gone, false);
	if (use->armed == XIW_RDV_ANSWER)
		use->armed = XIW_RDV_NOTHING;
	spin_unlock_irq(&use->lock);
	WRITE_ONCE(use->waits, use->path.token.rts && !use->over);
	undo = !use->over;
	spin_unlock_bh(&s->lock);
	/* The reset has dropped an end that was requested concurrently. */
	if (!undo)
		xiw_stream_event(s, XIW_QPE_LOCAL_ERROR);
	else
		xiw_rdv_await_posted(qp);
	return true;
}
