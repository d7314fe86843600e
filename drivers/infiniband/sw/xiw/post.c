// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The verbs that post, and the doorbells of processes.
 */
#include "post.h"

#include "dev.h"
#include "qp.h"
#include "qp_stream.h"
#include "rx.h"
#include "tx.h"

/**
 * xiw_post_send() - ib_device_ops.post_send
 * @ibqp: queue pair
 * @wr: work requests; NULL when a user process rings the doorbell
 * @bad_wr: set to the first one not accepted
 *
 * After the stream has ended, requests are still accepted and completed as
 * flushed, which is what draining a queue relies on.
 *
 * Context: Kernel ULPs: any. User doorbell: may sleep.
 * Return: 0, -EINVAL for a malformed request or a queue pair that was never
 * connected, -ENOMEM if the queue is full.
 */
int xiw_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr)
{
	struct xiw_qp *qp = to_xqp(ibqp);
	enum ib_qp_state ib_state = READ_ONCE(qp->ib_state);
	int ret = 0;

	if (!qp->kernel) {
		if (wr) {
			*bad_wr = wr;
			return -EINVAL;
		}
		xiw_stat_inc(qp->dev->stats, XIW_STAT_DOORBELL);
	} else {
		if (ib_state == IB_QPS_RESET || ib_state == IB_QPS_INIT) {
			*bad_wr = wr;
			return -EINVAL;
		}
		ret = xiw_sq_post(&qp->sq, wr, bad_wr);
	}

	/*
	 * The flush sets sq.stopped before it checks the queue for the last
	 * time, so either the flush or this post sees the other.
	 */
	/* Pairs with qp_stream_flush_both() and xiw_rdv_await_posted(). */
	smp_mb();
	if (READ_ONCE(qp->sq.stopped))
		xiw_qp_late_flush(qp);
	else
		xiw_tx_kick(&qp->stream, !qp->kernel);
	if (READ_ONCE(qp->rdv.waits))
		xiw_qp_await(qp, XIW_RDV_STREAM);
	return ret;
}

/**
 * xiw_post_recv() - ib_device_ops.post_recv
 * @ibqp: queue pair with a receive queue of its own
 * @wr: work requests; NULL when a user process rings the doorbell
 * @bad_wr: set to the first one not accepted
 *
 * Context: Kernel ULPs: any. User doorbell: may sleep.
 * Return: 0, -EINVAL or -ENOMEM.
 */
int xiw_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr)
{
	struct xiw_qp *qp = to_xqp(ibqp);
	int ret = 0;

	if (qp->srq || (!qp->kernel && wr)) {
		*bad_wr = wr;
		return -EINVAL;
	}
	if (qp->kernel)
		ret = xiw_rq_post(&qp->rq, wr, bad_wr);
	else
		xiw_stat_inc(qp->dev->stats, XIW_STAT_DOORBELL);
	smp_mb(); /* as in xiw_post_send() */
	if (READ_ONCE(qp->sq.stopped))
		xiw_qp_late_flush(qp);
	else
		xiw_rx_posted(&qp->stream);
	return ret;
}
