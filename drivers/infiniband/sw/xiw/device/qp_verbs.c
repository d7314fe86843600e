// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The verbs of queue pairs: create, modify, query, destroy and post.
 */
#include "device.h"

#include <linux/memcontrol.h>
#include <linux/random.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "cm/iwcm_quirks.h"
#include "dev.h"
#include "oob/oob.h"
#include "qp/ep.h"
#include "qp/qp.h"
#include "stream/stream.h"
#include "verbs/verbs.h"

enum {
	/* 0 and 1 are special in the verbs. */
	XIW_QPN_MIN	= 2,
	XIW_QPN_MAX	= GENMASK(23, 0),
	XIW_QPN_TRIES	= 64,
};

/* @ibqp is a handle of iw_cm or a QP of the core; only the latter has a PD. */
static struct xiw_qp *qp_verbs_get_to_modify(struct ib_qp *ibqp)
{
	struct xiw_qp *qp;

	if (!ibqp->pd)
		return xiw_iwqp_qp(ibqp);
	qp = to_xqp(ibqp);
	xiw_qp_get(qp);
	return qp;
}

static int qp_verbs_check_init_attr(struct ib_device *ibdev,
				    const struct ib_qp_init_attr *attr,
				    struct ib_udata *udata)
{
	const struct ib_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IB_QPT_RC) {
		ibdev_notice_ratelimited(ibdev,
					 "iWARP has reliable connections only: no queue pairs but RC\n");
		return -EOPNOTSUPP;
	}
	if (attr->create_flags)
		return -EOPNOTSUPP;
	if (cap->max_send_wr > XIW_MAX_QP_WR ||
	    cap->max_send_sge > XIW_MAX_SGE ||
	    cap->max_inline_data > XIW_MAX_INLINE)
		return -EINVAL;
	/* With a shared receive queue these limits are ignored. */
	if (!attr->srq && (cap->max_recv_wr > XIW_MAX_QP_WR ||
			   cap->max_recv_sge > XIW_MAX_SGE))
		return -EINVAL;
	if (!attr->send_cq || (!attr->recv_cq && !attr->srq))
		return -EINVAL;
	if (!xiw_udata_has_room(udata, struct xiw_uresp_create_qp, max_inline))
		return -EINVAL;
	return ib_is_udata_in_empty(udata);
}

static void qp_verbs_init_qp(struct xiw_qp *qp,
			     const struct ib_qp_init_attr *attr,
			     struct ib_ucontext *uctx)
{
	xiw_qp_init(qp);
	xiw_oob_wait_init(qp);
	qp->dev = to_xdev(qp->ibqp.device);
	qp->uctx = uctx;
	qp->kernel = !uctx;
	qp->scq = to_xcq(attr->send_cq);
	qp->rcq = attr->recv_cq ? to_xcq(attr->recv_cq) : qp->scq;
	qp->srq = attr->srq ? to_xsrq(attr->srq) : NULL;
}

static int qp_verbs_respond(struct xiw_qp *qp, struct ib_udata *udata,
			    struct xiw_uresp_create_qp *resp)
{
	resp->sq_map_len = qp->sq.queue.map_len;
	resp->num_sqe = qp->sq.queue.size;
	resp->sqe_stride = qp->sq.queue.stride;
	if (!qp->srq) {
		resp->rq_map_len = qp->rq.queue.map_len;
		resp->num_rqe = qp->rq.queue.size;
		resp->rqe_stride = qp->rq.queue.stride;
	}
	resp->qp_id = qp->qpn;
	resp->max_inline = qp->sq.max_inline;
	return ib_respond_udata(udata, *resp);
}

static void qp_verbs_report_caps(const struct xiw_qp *qp, struct ib_qp_cap *cap)
{
	cap->max_send_wr = qp->sq.max_wr;
	cap->max_send_sge = qp->sq.max_sge;
	cap->max_inline_data = qp->sq.max_inline;
	cap->max_recv_wr = qp->srq ? 0 : qp->rq.max_wr;
	cap->max_recv_sge = qp->srq ? 0 : qp->rq.max_sge;
}

/*
 * Reserves a random number, so that numbers cannot be guessed, and are not
 * reused soon. As XIW_MAX_QP is small against the range, collisions are rare.
 */
static int qp_verbs_reserve_number(struct xiw_qp *qp)
{
	int tries;
	int ret;

	for (tries = 0; tries < XIW_QPN_TRIES; tries++) {
		qp->qpn = get_random_u32_inclusive(XIW_QPN_MIN, XIW_QPN_MAX);
		ret = xa_insert_bh(&qp->dev->qps, qp->qpn, NULL, GFP_KERNEL);
		if (ret != -EBUSY)
			return ret;
	}
	return -ENOSPC;
}

/* Allocates the handle of iw_cm and the number, by which others find the QP. */
static int qp_verbs_get_name(struct xiw_qp *qp)
{
	int ret = xiw_iwqp_init(qp);

	if (ret)
		return ret;
	ret = qp_verbs_reserve_number(qp);
	if (ret)
		xiw_iwqp_drop(qp);
	return ret;
}

static void qp_verbs_drop_name(struct xiw_qp *qp)
{
	xa_erase_bh(&qp->dev->qps, qp->qpn);
	xiw_iwqp_drop(qp);
}

/* @attr has what the ULP asks for, and is updated to what it gets. */
int xiw_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		  struct ib_udata *udata)
{
	struct xiw_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct xiw_ucontext, ibuctx);
	struct ib_ucontext *ibuctx = uctx ? &uctx->ibuctx : NULL;
	struct xiw_uresp_create_qp resp = {};
	struct xiw_qp *qp = to_xqp(ibqp);
	struct xiw_dev *dev = to_xdev(ibqp->device);
	int ret;

	ret = qp_verbs_check_init_attr(ibqp->device, attr, udata);
	if (ret)
		return ret;
	if (atomic_inc_return(&dev->num_qp) > XIW_MAX_QP) {
		ret = -ENOMEM;
		goto err_count;
	}
	qp_verbs_init_qp(qp, attr, ibuctx);
	ret = xiw_sq_init(&qp->sq, attr, ibuctx, &resp.sq_key);
	if (ret)
		goto err_count;
	if (!qp->srq) {
		ret = xiw_rq_init(&qp->rq, attr->cap.max_recv_wr,
				  attr->cap.max_recv_sge, ibuctx,
				  &resp.rq_key);
		if (ret)
			goto err_sq;
	}
	/* The queue pair cannot be looked up yet. */
	ret = qp_verbs_get_name(qp);
	if (ret)
		goto err_rq;
	ibqp->qp_num = qp->qpn;
	if (ibuctx) {
		ret = qp_verbs_respond(qp, udata, &resp);
		if (ret)
			goto err_num;
	}
	qp_verbs_report_caps(qp, &attr->cap);
	xiw_qp_stream_init(qp, ibuctx ? get_mem_cgroup_from_mm(current->mm) :
					NULL);
	xa_store_bh(&dev->qps, qp->qpn, ibqp, GFP_KERNEL);
	xiw_udata_done(udata);
	return 0;

err_num:
	qp_verbs_drop_name(qp);
err_rq:
	if (!qp->srq)
		xiw_rq_destroy(&qp->rq);
err_sq:
	xiw_sq_destroy(&qp->sq);
err_count:
	atomic_dec(&dev->num_qp);
	return ret;
}

static int qp_verbs_to_init(struct xiw_qp *qp)
{
	int ret = -EINVAL;

	spin_lock_bh(&qp->stream.lock);
	if (qp->stream.state == XIW_QPS_IDLE) {
		WRITE_ONCE(qp->ib_state, IB_QPS_INIT);
		ret = 0;
	}
	spin_unlock_bh(&qp->stream.lock);
	return ret;
}

/* Nothing completes any more; drop the entries that were not polled. */
static void qp_verbs_purge_cqs(struct xiw_qp *qp)
{
	xiw_cq_purge(qp->scq, qp->qpn);
	if (qp->rcq != qp->scq)
		xiw_cq_purge(qp->rcq, qp->qpn);
}

/* Locks the endpoint, if there is one; returns it. */
static struct xiw_ep *qp_verbs_lock_ep(struct xiw_qp *qp)
{
	struct xiw_ep *ep = xiw_qp_get_ep(qp);

	if (ep)
		xiw_ep_lock(ep);
	return ep;
}

/* Handles the endpoint's pending events before it returns. */
static void qp_verbs_unlock_ep(struct xiw_ep *ep)
{
	if (!ep)
		return;
	xiw_ep_unlock(ep);
	xiw_ep_put(ep);
}

/* Unlike those of iw_cm, an out-of-band connection ends with a reset. */
static void qp_verbs_end_oob(struct xiw_qp *qp)
{
	if (!xiw_qp_is_oob(qp))
		return;
	/* From now on no endpoint can be attached; a present one ends. */
	xiw_stream_event(&qp->stream, XIW_QPE_LOCAL_ERROR);
	qp_verbs_unlock_ep(qp_verbs_lock_ep(qp));
}

static int qp_verbs_to_reset(struct xiw_qp *qp)
{
	int ret = 0;

	qp_verbs_end_oob(qp);
	spin_lock_bh(&qp->stream.lock);
	if (qp->ep || qp->resetting)
		ret = -EBUSY;
	else
		WRITE_ONCE(qp->resetting, true);
	spin_unlock_bh(&qp->stream.lock);
	if (ret)
		return ret;
	/*
	 * Do this before the stream's reset, so that its timer cannot expire
	 * later.
	 */
	xiw_oob_forget(qp);
	xiw_qp_reset_stream(qp);
	qp_verbs_purge_cqs(qp);

	spin_lock_bh(&qp->stream.lock);
	WRITE_ONCE(qp->ib_state, IB_QPS_RESET);
	WRITE_ONCE(qp->resetting, false);
	spin_unlock_bh(&qp->stream.lock);
	return 0;
}

static int qp_verbs_to_closing(struct xiw_qp *qp)
{
	/* If nothing is left to be sent, the FIN is sent on return. */
	struct xiw_ep *ep = qp_verbs_lock_ep(qp);

	xiw_stream_close(&qp->stream);
	qp_verbs_unlock_ep(ep);
	return 0;
}

/*
 * A process may reuse its buffers when this returns, without waiting for any
 * completion: the endpoint detaches the stream now, so that the peer cannot
 * write there; if the stream is closing already, the flush has ended the
 * access. Kernel ULPs drain the queues instead: an endpoint may be waiting for
 * memory that they free only after the drain.
 */
static int qp_verbs_to_error(struct xiw_qp *qp)
{
	if (qp->kernel) {
		xiw_stream_event(&qp->stream, XIW_QPE_LOCAL_ERROR);
		return 0;
	}
	xiw_qp_end_stream(qp);
	qp_verbs_unlock_ep(qp_verbs_lock_ep(qp));
	return 0;
}

static int qp_verbs_modify_state(struct xiw_qp *qp,
				 const struct ib_qp_attr *attr, int mask)
{
	lockdep_assert_held(&qp->modify_lock);

	switch (attr->qp_state) {
	case IB_QPS_RESET:
		return qp_verbs_to_reset(qp);
	case IB_QPS_RTR:
		if (xiw_oob_names_peer(mask))
			return xiw_oob_to_rtr(qp, attr, mask);
		fallthrough;
	case IB_QPS_INIT:
		return xiw_qp_is_oob(qp) ? -EINVAL : qp_verbs_to_init(qp);
	case IB_QPS_RTS:
		if (xiw_qp_is_oob(qp))
			return xiw_oob_to_rts(qp, attr, mask);
		return READ_ONCE(qp->stream.state) == XIW_QPS_RTS ? 0 : -EINVAL;
	case IB_QPS_SQD:
		return xiw_qp_is_oob(qp) ? -EINVAL : qp_verbs_to_closing(qp);
	case IB_QPS_ERR:
		return qp_verbs_to_error(qp);
	default:
		return -EINVAL;
	}
}

/*
 * Out of band, no flags grant no access, but a mask of 0 would grant all. A
 * right that was withdrawn is not used when this returns, also by requests that
 * the peer has made before.
 */
static void qp_verbs_set_access(struct xiw_qp *qp, int flags)
{
	spin_lock_bh(&qp->stream.lock);
	if (xiw_qp_is_oob(qp))
		flags |= XIW_STREAM_LIMITED;
	WRITE_ONCE(qp->stream.access, flags);
	spin_unlock_bh(&qp->stream.lock);
	xiw_stream_settle(&qp->stream);
}

/* Attributes that rdma_cm and its users set before there is a connection. */
#define QP_IDLE_MASK	(IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX)

/* Attributes of a graceful close, and of a queue pair that is closing. */
#define QP_CLOSE_MASK	(IB_QP_STATE | IB_QP_CUR_STATE)
#define QP_CLOSING_MASK	(QP_CLOSE_MASK | IB_QP_ACCESS_FLAGS)

/* The check for a queue pair that rdma_cm connects, or has connected. */
static int qp_verbs_check_cm(enum ib_qp_state cur, enum ib_qp_state next,
			     int mask)
{
	bool idle = cur == IB_QPS_RESET || cur == IB_QPS_INIT;
	int allowed = QP_CLOSE_MASK;

	/* Out of band: xiw_oob_to_rtr() checks the attributes. */
	if (idle && next == IB_QPS_RTR && xiw_oob_names_peer(mask))
		return 0;
	/* rdma_cm adds the port to each change; a device has only one. */
	mask &= ~IB_QP_PORT;
	if (!mask)
		return 0;
	/* With rdma_cm a change to RTR has the effect of INIT. */
	if (idle && (next == IB_QPS_INIT || next == IB_QPS_RTR))
		return mask & ~QP_IDLE_MASK ? -EINVAL : 0;
	/* rdma_disconnect() asks for SQD in every state. */
	if (next == IB_QPS_SQD) {
		if (cur == IB_QPS_SQD)
			allowed = QP_CLOSING_MASK;
		return mask & ~allowed ? -EINVAL : 0;
	}
	/* iWARP's Idle is RESET and INIT. */
	if (cur == IB_QPS_RESET)
		cur = IB_QPS_INIT;
	return ib_modify_qp_is_ok(cur, next, IB_QPT_RC, mask | IB_QP_STATE) ?
		0 : -EINVAL;
}

/* Does the current state allow to change these attributes? */
static int qp_verbs_check_modify(struct xiw_qp *qp,
				 const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state next;
	enum ib_qp_state cur;

	lockdep_assert_held(&qp->modify_lock);

	spin_lock_bh(&qp->stream.lock);
	cur = xiw_qp_ib_state(qp);
	spin_unlock_bh(&qp->stream.lock);
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != cur)
		return -EINVAL;
	/* A queue pair has one path. The core refuses an alternate one. */
	if (mask & IB_QP_PATH_MIG_STATE &&
	    attr->path_mig_state != IB_MIG_MIGRATED)
		return -EINVAL;
	next = mask & IB_QP_STATE ? attr->qp_state : cur;
	if (!xiw_qp_is_oob(qp))
		return qp_verbs_check_cm(cur, next, mask);
	return ib_modify_qp_is_ok(cur, next, IB_QPT_RC, mask | IB_QP_STATE) ?
		0 : -EINVAL;
}

/* How long a peer may wait for a receive; of no meaning with rdma_cm. */
static void qp_verbs_set_rnr_timer(struct xiw_qp *qp, u8 timer)
{
	spin_lock_bh(&qp->stream.lock);
	if (xiw_qp_is_oob(qp))
		WRITE_ONCE(qp->oob.min_rnr_timer, timer);
	spin_unlock_bh(&qp->stream.lock);
}

/* Change all that @mask says, or nothing. */
static int qp_verbs_modify(struct xiw_qp *qp, const struct ib_qp_attr *attr,
			   int mask)
{
	int access = READ_ONCE(qp->stream.access) & ~XIW_STREAM_LIMITED;
	int ret = 0;

	lockdep_assert_held(&qp->modify_lock);

	/*
	 * Set the access first: after the change to RTR the peer may write at
	 * once.
	 */
	if (mask & IB_QP_ACCESS_FLAGS)
		qp_verbs_set_access(qp, attr->qp_access_flags);
	if (mask & IB_QP_STATE)
		ret = qp_verbs_modify_state(qp, attr, mask);
	if (ret && mask & IB_QP_ACCESS_FLAGS)
		qp_verbs_set_access(qp, access);
	if (!ret && mask & IB_QP_MIN_RNR_TIMER)
		qp_verbs_set_rnr_timer(qp, attr->min_rnr_timer);
	return ret;
}

/*
 * @ibqp may be the handle that iw_cm has of a queue pair, see iwcm_quirks.c.
 * For ULPs of rdma_cm the MPA negotiation changes the queue pair to RTS; they
 * may only confirm that. RTR has the same effect as INIT: the connection
 * manager sets it before it accepts. SQD is a graceful close. ERR ends the
 * stream at once, and TCP still delivers what has completed. RTR with an
 * address vector and the number of a queue pair connects out of band, see
 * oob.c.
 */
int xiw_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata)
{
	struct xiw_qp *qp;
	int ret;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	ret = ib_no_udata_io(udata);
	if (ret)
		return ret;
	qp = qp_verbs_get_to_modify(ibqp);
	if (!qp)
		return -EINVAL;
	mutex_lock(&qp->modify_lock);
	/* iw_cm's changes are not checked: iw_cm may have read an old state. */
	if (ibqp->pd)
		ret = qp_verbs_check_modify(qp, attr, mask);
	if (!ret)
		ret = qp_verbs_modify(qp, attr, mask);
	mutex_unlock(&qp->modify_lock);
	xiw_qp_put(qp);
	return ret;
}

/*
 * Fills in everything; @mask matters for the number of the peer only. Any
 * context with interrupts on.
 */
int xiw_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct xiw_qp *qp = to_xqp(ibqp);

	/* The core may copy all bytes of both to a process. */
	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	spin_lock_bh(&qp->stream.lock);
	attr->qp_state = xiw_qp_ib_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->qp_access_flags = qp->stream.access & ~XIW_STREAM_LIMITED;
	attr->max_rd_atomic = min(READ_ONCE(qp->stream.ord), 255U);
	attr->max_dest_rd_atomic =
		min(READ_ONCE(qp->stream.ird_size), 255U);
	xiw_oob_query(qp, attr, mask);
	spin_unlock_bh(&qp->stream.lock);

	attr->port_num = 1;
	attr->path_mtu = ib_mtu_int_to_enum(READ_ONCE(qp->dev->netdev->mtu));
	qp_verbs_report_caps(qp, &attr->cap);
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->qp_type = ibqp->qp_type;
	init->sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR :
		IB_SIGNAL_REQ_WR;
	init->cap = attr->cap;
	return 0;
}

/*
 * No endpoint can be attached any more; an attached one ends now. TCP still
 * delivers the data that it holds, including that of all completed requests. If
 * a fault has requested a TCP reset before, the reset has priority, see enum
 * xiw_ep_event.
 */
static void qp_verbs_end_connection(struct xiw_qp *qp)
{
	struct xiw_stream *s = &qp->stream;
	struct xiw_ep *ep;

	spin_lock_bh(&s->lock);
	WRITE_ONCE(qp->destroying, true);
	spin_unlock_bh(&s->lock);

	ep = qp_verbs_lock_ep(qp);
	spin_lock_bh(&s->lock);
	if (qp->ep)
		xiw_ep_raise(qp->ep, XIW_EPE_CLOSE);
	spin_unlock_bh(&s->lock);
	xiw_qp_end_stream(qp);
	qp_verbs_unlock_ep(ep);
}

/*
 * Ends the connection as the change to the error state does, and waits until
 * all references but those of iw_cm are dropped, see iwcm_quirks.c.
 */
int xiw_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct xiw_qp *qp = to_xqp(ibqp);
	struct xiw_dev *dev = qp->dev;
	int ret = ib_no_udata_io(udata);

	if (ret)
		return ret;
	/* End lookups; the number stays reserved until the last reference. */
	xa_store_bh(&dev->qps, qp->qpn, NULL, GFP_KERNEL);
	qp_verbs_end_connection(qp);
	xiw_oob_forget(qp);
	xiw_iwqp_drop(qp);
	xiw_qp_put(qp);
	wait_for_completion(&qp->freed);
	/* The last put may be that of a work item that still runs. */
	cancel_work_sync(&qp->event_work);
	cancel_work_sync(&qp->flush_work);
	xiw_stream_cancel_all(&qp->stream);

	xiw_mw_owner_release(&qp->windows);
	qp_verbs_purge_cqs(qp);
	xa_erase_bh(&dev->qps, qp->qpn);
	if (!qp->srq)
		xiw_rq_destroy(&qp->rq);
	xiw_sq_destroy(&qp->sq);
	mem_cgroup_put(qp->stream.memcg);
	atomic_dec(&dev->num_qp);
	return 0;
}

/*
 * Posting, and the doorbells of processes
 */

static void qp_verbs_sends_posted(struct xiw_qp *qp)
{
	/*
	 * The flush sets sq.stopped before it checks the queue for the last
	 * time, so either the flush or this post sees the other.
	 */
	/* Pairs with qp_flush_both() and xiw_oob_await_posted(). */
	smp_mb();
	if (READ_ONCE(qp->sq.stopped))
		xiw_qp_late_flush(qp);
	else
		xiw_tx_kick(&qp->stream, !qp->kernel);
	if (READ_ONCE(qp->oob.waits))
		xiw_qp_await(qp, XIW_OOB_STREAM);
}

static void qp_verbs_recvs_posted(struct xiw_qp *qp)
{
	smp_mb(); /* as in qp_verbs_sends_posted() */
	if (READ_ONCE(qp->sq.stopped))
		xiw_qp_late_flush(qp);
	else
		xiw_rx_posted(&qp->stream);
}

/**
 * xiw_post_send() - ib_device_ops.post_send
 * @ibqp: queue pair of a kernel ULP
 * @wr: work requests
 * @bad_wr: set to the first one not accepted
 *
 * After the stream has ended, requests are still accepted and completed as
 * flushed, which is what draining a queue relies on.
 *
 * Context: Any.
 * Return: 0, -EINVAL for a malformed request or a queue pair that was never
 * connected, -ENOMEM if the queue is full.
 */
int xiw_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr)
{
	struct xiw_qp *qp = to_xqp(ibqp);
	enum ib_qp_state ib_state = READ_ONCE(qp->ib_state);
	int ret;

	if (ib_state == IB_QPS_RESET || ib_state == IB_QPS_INIT) {
		*bad_wr = wr;
		return -EINVAL;
	}
	ret = xiw_sq_post(&qp->sq, wr, bad_wr);
	qp_verbs_sends_posted(qp);
	return ret;
}

/* Any context. 0, -EINVAL or -ENOMEM. */
int xiw_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr)
{
	struct xiw_qp *qp = to_xqp(ibqp);
	int ret;

	if (qp->srq) {
		*bad_wr = wr;
		return -EINVAL;
	}
	ret = xiw_rq_post(&qp->rq, wr, bad_wr);
	qp_verbs_recvs_posted(qp);
	return ret;
}

/* A process has posted in the send ring. Sleeps. */
void xiw_qp_send_doorbell(struct ib_qp *ibqp)
{
	struct xiw_qp *qp = to_xqp(ibqp);

	xiw_stat_inc(qp->dev->stats, XIW_STAT_DOORBELL);
	qp_verbs_sends_posted(qp);
}

/*
 * A process has posted in the receive ring. Sleeps. 0, or -EINVAL if the queue
 * pair has a shared receive queue.
 */
int xiw_qp_recv_doorbell(struct ib_qp *ibqp)
{
	struct xiw_qp *qp = to_xqp(ibqp);

	if (qp->srq)
		return -EINVAL;
	xiw_stat_inc(qp->dev->stats, XIW_STAT_DOORBELL);
	qp_verbs_recvs_posted(qp);
	return 0;
}
