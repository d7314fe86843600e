// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Verbs of shared receive queues, and what sharing adds to a receive queue:
 * the limit event, and the list of QPs that wait for the next entry.
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
			  const struct ib_udata *udata)
{
	if (attr->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->attr.max_wr || attr->attr.max_wr > XIW_MAX_SRQ_WR ||
	    attr->attr.max_sge > XIW_MAX_SGE ||
	    attr->attr.srq_limit > attr->attr.max_wr)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(struct xiw_uresp_create_srq))
		return -EINVAL;
	return 0;
}

/**
 * xiw_create_srq() - create a shared receive queue
 * @ibsrq: the core's part, zeroed beyond
 * @attr: size; result: what was really allocated
 * @udata: of the call from user space, NULL for a kernel consumer
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL, -EOPNOTSUPP for other types, -ENOMEM or -EFAULT.
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
 * @udata: unused
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

	if (mask & ~IB_SRQ_LIMIT)
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

static void srq_wake(struct xiw_srq *srq)
{
	struct xiw_qp *qp;
	struct xiw_qp *next;
	unsigned long flags;

	spin_lock_irqsave(&srq->rq.lock, flags);
	if (!list_empty(&srq->waiters)) {
		xiw_rq_want_doorbell(&srq->rq, false);
		list_for_each_entry_safe(qp, next, &srq->waiters, srq_wait) {
			list_del_init(&qp->srq_wait);
			xiw_rx_posted(qp);
		}
	}
	spin_unlock_irqrestore(&srq->rq.lock, flags);
}

/**
 * xiw_srq_wait() - have a QP called when an entry is posted
 * @srq: shared receive queue found empty
 * @qp: QP whose xiw_rx_posted() is to be called, once
 *
 * Context: Any.
 * Return: false if an entry is there already; then the QP does not wait.
 */
bool xiw_srq_wait(struct xiw_srq *srq, struct xiw_qp *qp)
{
	unsigned long flags;
	bool empty;

	spin_lock_irqsave(&srq->rq.lock, flags);
	if (list_empty(&qp->srq_wait))
		list_add_tail(&qp->srq_wait, &srq->waiters);
	xiw_rq_want_doorbell(&srq->rq, true);
	empty = xiw_rq_empty(&srq->rq);
	if (!empty) {
		list_del_init(&qp->srq_wait);
		xiw_rq_want_doorbell(&srq->rq, !list_empty(&srq->waiters));
	}
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	return empty;
}

/**
 * xiw_srq_unwait() - stop waiting
 * @srq: shared receive queue
 * @qp: QP that may or may not wait; when the call returns it will not be
 *	called any more
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
	srq_wake(srq);
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
