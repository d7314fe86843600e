// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Verbs of shared receive queues, and what sharing adds to a receive queue:
 * the limit event, and the QPs that wait for the next entry. These get the
 * entries in the order in which they came; so one is late only if nobody's turn
 * came for late_receive_ms, see patient_until() in rx.c.
 */
#include <linux/list.h>
#include <rdma/uverbs_ioctl.h>

#include "compat.h"
#include "device.h"
#include "mem.h"
#include "qp.h"
#include "rq.h"

/* Number 0 means "no SRQ" in a completion. */
#define XIW_SRQ_IDS		XA_LIMIT(1, INT_MAX)

/* How many QPs are on their way to an entry at once. */
#define XIW_SRQ_MAX_WOKEN	64U

static int srq_respond(struct xiw_srq *srq, u64 key, struct ib_udata *udata)
{
	struct xiw_uresp_create_srq resp = {
		.srq_key = key,
		.map_len = srq->rq.queue.map_len,
		.num_rqe = srq->rq.queue.size,
		.rqe_stride = srq->rq.queue.stride,
		.srq_id = srq->id,
	};

	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static void srq_event_work(struct work_struct *work)
{
	struct xiw_srq *srq = container_of(work, struct xiw_srq, event_work);
	struct ib_event event = {
		.device = srq->ibsrq.device,
		.element.srq = &srq->ibsrq,
	};
	int bit;

	for (bit = 0; bit < BITS_PER_LONG; bit++) {
		if (!test_and_clear_bit(bit, &srq->events))
			continue;
		event.event = bit;
		if (srq->ibsrq.event_handler)
			srq->ibsrq.event_handler(&event,
						 srq->ibsrq.srq_context);
	}
}

static int srq_check_attr(const struct ib_srq_init_attr *attr,
			  struct ib_udata *udata)
{
	if (attr->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->attr.max_wr || attr->attr.max_wr > XIW_MAX_SRQ_WR ||
	    attr->attr.max_sge > XIW_MAX_SGE ||
	    attr->attr.srq_limit > attr->attr.max_wr)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(struct xiw_uresp_create_srq))
		return -EINVAL;
	return xiw_udata_known(udata) ? 0 : -EOPNOTSUPP;
}

/**
 * xiw_create_srq() - create a shared receive queue
 * @ibsrq: the core's part, zeroed beyond
 * @attr: size; result: what was really allocated
 * @udata: of the call from user space, NULL for a kernel consumer
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL, -EOPNOTSUPP for other types and for unknown input,
 * -ENOMEM or -EFAULT.
 */
int xiw_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		   struct ib_udata *udata)
{
	struct xiw_dev *dev = to_xdev(ibsrq->device);
	struct xiw_srq *srq = to_xsrq(ibsrq);
	struct xiw_ucontext *uctx;
	u64 key = 0;
	int ret;

	ret = srq_check_attr(attr, udata);
	if (ret)
		return ret;
	if (!atomic_add_unless(&dev->num_srq, 1, XIW_MAX_SRQ))
		return -ENOMEM;

	uctx = rdma_udata_to_drv_context(udata, struct xiw_ucontext, ibuctx);
	ret = xiw_rq_init(&srq->rq, attr->attr.max_wr, attr->attr.max_sge,
			  uctx ? &uctx->ibuctx : NULL, &key);
	if (ret)
		goto err_count;

	INIT_LIST_HEAD(&srq->waiters);
	INIT_WORK(&srq->event_work, srq_event_work);
	srq->kernel = !udata;
	srq->rq.limit = attr->attr.srq_limit;
	attr->attr.max_wr = srq->rq.max_wr;

	ret = xa_alloc(&dev->srqs, &srq->id, srq, XIW_SRQ_IDS, GFP_KERNEL);
	if (ret)
		goto err_rq;
	if (udata) {
		ret = srq_respond(srq, key, udata);
		if (ret)
			goto err_id;
	}
	return 0;

err_id:
	xa_erase(&dev->srqs, srq->id);
err_rq:
	xiw_rq_destroy(&srq->rq);
err_count:
	atomic_dec(&dev->num_srq);
	return ret;
}

/**
 * xiw_modify_srq() - arm or disarm the limit event
 * @ibsrq: shared receive queue
 * @attr: the limit, in entries; 0 disarms
 * @mask: only IB_SRQ_LIMIT
 * @udata: of the call from user space, else NULL
 *
 * The event is due when an entry is taken and fewer than the limit remain.
 *
 * Context: Process context.
 * Return: 0, -EINVAL for a limit beyond the size, -EOPNOTSUPP for resizing.
 */
int xiw_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct xiw_rq *rq = &to_xsrq(ibsrq)->rq;

	if (mask & ~IB_SRQ_LIMIT || !xiw_udata_known(udata))
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > rq->max_wr)
		return -EINVAL;

	spin_lock_irq(&rq->lock);
	rq->limit = attr->srq_limit;
	spin_unlock_irq(&rq->lock);
	return 0;
}

/**
 * xiw_query_srq() - size and limit
 * @ibsrq: shared receive queue
 * @attr: result; the limit is 0 once the event was reported
 *
 * Context: Process context.
 * Return: 0.
 */
int xiw_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct xiw_rq *rq = &to_xsrq(ibsrq)->rq;

	attr->max_wr = rq->max_wr;
	attr->max_sge = rq->max_sge;
	attr->srq_limit = READ_ONCE(rq->limit);
	return 0;
}

/**
 * xiw_destroy_srq() - destroy a shared receive queue
 * @ibsrq: shared receive queue that no QP uses any more
 * @udata: unused
 *
 * Context: Process context, may sleep.
 * Return: 0.
 */
int xiw_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct xiw_dev *dev = to_xdev(ibsrq->device);
	struct xiw_srq *srq = to_xsrq(ibsrq);

	WARN_ON_ONCE(!list_empty(&srq->waiters));
	cancel_work_sync(&srq->event_work);
	xa_erase(&dev->srqs, srq->id);
	xiw_rq_destroy(&srq->rq);
	atomic_dec(&dev->num_srq);
	return 0;
}

/*
 * Wakes as many QPs as there are entries that nobody was woken for, the first
 * ones first. Interrupts are off, so there is a limit to how many are on their
 * way at once; each one that arrives wakes the next.
 *
 * A QP that is on the list, or woken, is stalled, or its receive side is just
 * being run. In the end it takes an entry, waits again, or stops waiting: in
 * run_again(), or at the latest in xiw_rx_stop() when its stream ends.
 */
static void wake_waiters(struct xiw_srq *srq)
{
	struct xiw_qp *qp;
	u32 count;

	lockdep_assert_held(&srq->rq.lock);

	if (list_empty(&srq->waiters))
		return;
	/* Before the look: what is posted behind it is announced. */
	xiw_rq_want_doorbell(&srq->rq, true);
	count = min(xiw_rq_count(&srq->rq), XIW_SRQ_MAX_WOKEN);
	while (srq->woken < count && !list_empty(&srq->waiters)) {
		qp = list_first_entry(&srq->waiters, struct xiw_qp, srq_wait);
		list_del_init(&qp->srq_wait);
		qp->srq_woken = true;
		srq->woken++;
		WRITE_ONCE(srq->moved_at, jiffies);
		xiw_rx_posted(qp);
	}
	if (list_empty(&srq->waiters))
		xiw_rq_want_doorbell(&srq->rq, false);
}

/* True if it had been woken. */
static bool end_turn(struct xiw_srq *srq, struct xiw_qp *qp)
{
	bool woken = qp->srq_woken;

	lockdep_assert_held(&srq->rq.lock);
	srq->woken -= woken;
	qp->srq_woken = false;
	return woken;
}

/* Nobody takes what others wait for, or were woken for. */
static bool may_take(struct xiw_srq *srq, const struct xiw_qp *qp)
{
	/* Not for those that wait, unless somebody did not announce a post. */
	wake_waiters(srq);
	return qp->srq_woken || (list_empty(&srq->waiters) &&
				 xiw_rq_count(&srq->rq) > srq->woken);
}

/**
 * xiw_srq_take() - take the next receive work request for a QP
 * @srq: shared receive queue
 * @qp: QP
 * @recv: result, unless there is nothing for @qp or the queue is corrupt
 *
 * Context: Any.
 * Return: As xiw_rq_take(); XIW_RQ_EMPTY, too, if all entries are for others
 * that were there before.
 */
enum xiw_rq_take xiw_srq_take(struct xiw_srq *srq, struct xiw_qp *qp,
			      struct xiw_recv *recv)
{
	enum xiw_rq_take ret = XIW_RQ_EMPTY;
	unsigned long flags;

	spin_lock_irqsave(&srq->rq.lock, flags);
	if (may_take(srq, qp)) {
		ret = xiw_rq_take_locked(&srq->rq, recv);
		if (ret != XIW_RQ_EMPTY && end_turn(srq, qp))
			wake_waiters(srq);
	}
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	return ret;
}

/**
 * xiw_srq_wait() - have a QP called when there is an entry for it
 * @srq: shared receive queue of which it could not take one
 * @qp: QP whose xiw_rx_posted() is to be called, once, possibly right now; its
 *	receive side is stalled
 *
 * One that waits already keeps its place.
 *
 * Context: Any.
 */
void xiw_srq_wait(struct xiw_srq *srq, struct xiw_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->rq.lock, flags);
	if (list_empty(&srq->waiters))
		WRITE_ONCE(srq->moved_at, jiffies);
	/* Woken for nothing: a process has taken back what it had posted. */
	if (end_turn(srq, qp))
		list_add(&qp->srq_wait, &srq->waiters);
	else if (list_empty(&qp->srq_wait))
		list_add_tail(&qp->srq_wait, &srq->waiters);
	wake_waiters(srq);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
}

/**
 * xiw_srq_unwait() - stop waiting
 * @srq: shared receive queue
 * @qp: QP that may or may not wait; when the call returns it will not be
 *	called any more. If it was woken, another one is in its place
 *
 * Context: Any.
 */
void xiw_srq_unwait(struct xiw_srq *srq, struct xiw_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->rq.lock, flags);
	list_del_init(&qp->srq_wait);
	if (list_empty(&srq->waiters))
		xiw_rq_want_doorbell(&srq->rq, false);
	if (end_turn(srq, qp))
		wake_waiters(srq);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
}

static void srq_posted(struct xiw_srq *srq)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->rq.lock, flags);
	wake_waiters(srq);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
}

/**
 * xiw_post_srq_recv() - ib_device_ops.post_srq_recv
 * @ibsrq: shared receive queue
 * @wr: work requests; NULL when a process rings the doorbell
 * @bad_wr: result: first work request that was not added, on error
 *
 * Context: Any.
 * Return: 0, -EINVAL for a malformed request, -ENOMEM if the queue is full.
 */
int xiw_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr)
{
	struct xiw_srq *srq = to_xsrq(ibsrq);
	int ret = 0;

	if (srq->kernel) {
		ret = xiw_rq_post(&srq->rq, wr, bad_wr);
	} else if (wr) {
		/* A process has its ring for that. */
		*bad_wr = wr;
		ret = -EINVAL;
	} else {
		xiw_stat_inc(to_xdev(ibsrq->device), XIW_STAT_DOORBELL);
	}
	srq_posted(srq);
	return ret;
}

/*
 * The work needs no reference: the QP on whose behalf it is queued has one,
 * and xiw_destroy_srq(), which comes after all of its QPs, waits for the work.
 */
static void srq_async(struct xiw_srq *srq, enum ib_event_type event)
{
	set_bit(event, &srq->events);
	queue_work(system_dfl_wq, &srq->event_work);
}

/**
 * xiw_srq_limit_event() - report IB_EVENT_SRQ_LIMIT_REACHED
 * @srq: shared receive queue for which xiw_rq_take() returned XIW_RQ_LIMIT
 *
 * Delivered from a work item, as the events of a QP are.
 *
 * Context: Any, on behalf of a QP that uses @srq.
 */
void xiw_srq_limit_event(struct xiw_srq *srq)
{
	srq_async(srq, IB_EVENT_SRQ_LIMIT_REACHED);
}

/**
 * xiw_srq_corrupt() - report IB_EVENT_SRQ_ERR, once
 * @srq: shared receive queue for which xiw_rq_take() returned XIW_RQ_CORRUPT
 *
 * Every QP that uses it will come across the same entry.
 *
 * Context: Any, on behalf of a QP that uses @srq.
 */
void xiw_srq_corrupt(struct xiw_srq *srq)
{
	if (!atomic_xchg(&srq->broken, 1))
		srq_async(srq, IB_EVENT_SRQ_ERR);
}
