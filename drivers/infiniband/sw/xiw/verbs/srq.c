// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Verbs of shared receive queues, and what sharing adds to a receive queue:
 * the limit event, and the streams that wait for the next entry. Streams get
 * entries in the order in which they began to wait. So the RNR wait of a stream
 * expires only after no stream got an entry for rnr_timeout_ms, see
 * qp_stream_rnr_until(). Functions that are not verbs may be called in any
 * context.
 */
#include "srq.h"

#include <linux/list.h>
#include <rdma/uverbs_ioctl.h>

#include "dev.h"
#include "stream/rx.h"

/* Number 0 means "no SRQ" in a completion. */
#define XIW_SRQ_IDS		XA_LIMIT(1, INT_MAX)

/* Limit of the streams that were woken and have not taken their entry yet */
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

	return ib_respond_udata(udata, resp);
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
	    attr->attr.max_sge > XIW_MAX_SGE)
		return -EINVAL;
	/* ibv_create_srq() ignores the limit. */
	if (!udata && attr->attr.srq_limit > attr->attr.max_wr)
		return -EINVAL;
	if (!xiw_udata_has_room(udata, struct xiw_uresp_create_srq, srq_id))
		return -EINVAL;
	return ib_is_udata_in_empty(udata);
}

/*
 * @attr has the size, and is updated to what was allocated. 0, -EINVAL,
 * -EOPNOTSUPP for other types and for unknown input, -ENOMEM or -EFAULT.
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
	srq->rq.limit = udata ? 0 : attr->attr.srq_limit;
	attr->attr.max_wr = srq->rq.max_wr;

	ret = xa_alloc(&dev->srqs, &srq->id, srq, XIW_SRQ_IDS, GFP_KERNEL);
	if (ret)
		goto err_rq;
	if (udata) {
		ret = srq_respond(srq, key, udata);
		if (ret)
			goto err_id;
	}
	xiw_udata_done(udata);
	return 0;

err_id:
	xa_erase(&dev->srqs, srq->id);
err_rq:
	xiw_rq_destroy(&srq->rq);
err_count:
	atomic_dec(&dev->num_srq);
	return ret;
}

/*
 * The work needs no reference: it is queued for a QP or a call that has one,
 * and xiw_destroy_srq(), which runs after these, waits for the work.
 */
static void srq_async(struct xiw_srq *srq, enum ib_event_type event)
{
	set_bit(event, &srq->events);
	queue_work(system_dfl_wq, &srq->event_work);
}

/*
 * Report a limit that is armed while streams wait for entries: otherwise the
 * ULP waits for the event, and the streams wait for receives. Without
 * waiting streams, a ULP may arm an empty queue before it posts.
 */
static void srq_check_limit(struct xiw_srq *srq)
{
	lockdep_assert_held(&srq->rq.lock);

	if (list_empty(&srq->waiters) ||
	    xiw_rq_count(&srq->rq) >= srq->rq.limit)
		return;
	WRITE_ONCE(srq->rq.limit, 0);
	srq_async(srq, IB_EVENT_SRQ_LIMIT_REACHED);
}

/*
 * Arms the limit event with a limit in entries; 0 disarms it. It is due when an
 * entry is taken and fewer than the limit remain, or when a stream waits for an
 * entry. 0, -EINVAL for a limit beyond the size, -EOPNOTSUPP for resizing.
 */
int xiw_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct xiw_srq *srq = to_xsrq(ibsrq);
	struct xiw_rq *rq = &srq->rq;
	int ret;

	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	ret = ib_no_udata_io(udata);
	if (ret)
		return ret;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > rq->max_wr)
		return -EINVAL;

	spin_lock_irq(&rq->lock);
	WRITE_ONCE(rq->limit, attr->srq_limit);
	srq_check_limit(srq);
	spin_unlock_irq(&rq->lock);
	return 0;
}

/* The limit is 0 once the event was reported. */
int xiw_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct xiw_rq *rq = &to_xsrq(ibsrq)->rq;

	attr->max_wr = rq->max_wr;
	attr->max_sge = rq->max_sge;
	attr->srq_limit = READ_ONCE(rq->limit);
	return 0;
}

int xiw_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct xiw_dev *dev = to_xdev(ibsrq->device);
	struct xiw_srq *srq = to_xsrq(ibsrq);
	int ret = ib_no_udata_io(udata);

	if (ret)
		return ret;
	WARN_ON_ONCE(!list_empty(&srq->waiters));
	cancel_work_sync(&srq->event_work);
	xa_erase(&dev->srqs, srq->id);
	xiw_rq_destroy(&srq->rq);
	atomic_dec(&dev->num_srq);
	return 0;
}

/*
 * Wakes one stream for each entry for which none was woken yet, in the order of
 * the list. Interrupts are off, so no more than XIW_SRQ_MAX_WOKEN are woken at
 * a time; each of these wakes another one when it takes its entry.
 *
 * The receive side of a stream that is on the list, or woken, is stalled or
 * running. Finally the stream takes an entry, waits again, or stops waiting: in
 * rx_run_again(), or at the latest in xiw_rx_stop().
 */
static void srq_wake_waiters(struct xiw_srq *srq)
{
	struct xiw_srq_waiter *w;
	u32 count;

	lockdep_assert_held(&srq->rq.lock);

	if (list_empty(&srq->waiters))
		return;
	/*
	 * Set this before counting, so that every later post rings the
	 * doorbell.
	 */
	xiw_rq_doorbell_mode(&srq->rq, true);
	count = min(xiw_rq_count(&srq->rq), XIW_SRQ_MAX_WOKEN);
	while (srq->woken < count && !list_empty(&srq->waiters)) {
		w = list_first_entry(&srq->waiters, struct xiw_srq_waiter,
				     node);
		list_del_init(&w->node);
		w->woken = true;
		srq->woken++;
		WRITE_ONCE(srq->moved_at, jiffies);
		xiw_rx_posted(w->stream);
	}
	if (list_empty(&srq->waiters))
		xiw_rq_doorbell_mode(&srq->rq, false);
}

/* Ends the wakeup of a stream; true if the stream had been woken. */
static bool srq_end_wake(struct xiw_srq *srq, struct xiw_srq_waiter *w)
{
	bool woken = w->woken;

	lockdep_assert_held(&srq->rq.lock);
	srq->woken -= woken;
	w->woken = false;
	return woken;
}

/* True if a stream may take an entry, false if all are for earlier streams. */
static bool srq_may_take(struct xiw_srq *srq, const struct xiw_srq_waiter *w)
{
	/* Entries posted without a doorbell belong to earlier streams, too. */
	srq_wake_waiters(srq);
	return w->woken || (list_empty(&srq->waiters) &&
				 xiw_rq_count(&srq->rq) > srq->woken);
}

/* Prepares a zeroed waiter. */
void xiw_srq_waiter_init(struct xiw_srq_waiter *w, struct xiw_stream *s)
{
	INIT_LIST_HEAD(&w->node);
	w->stream = s;
}

/**
 * xiw_srq_take() - take the next receive work request for a stream
 * @srq: shared receive queue
 * @w: place of a stream
 * @recv: result, unless the stream gets no entry or the queue is corrupt
 *
 * Return: As xiw_rq_take(); XIW_RQ_EMPTY, too, if all entries are for streams
 * that began to wait earlier.
 */
enum xiw_rq_take xiw_srq_take(struct xiw_srq *srq, struct xiw_srq_waiter *w,
			      struct xiw_recv *recv)
{
	enum xiw_rq_take ret = XIW_RQ_EMPTY;
	unsigned long flags;

	spin_lock_irqsave(&srq->rq.lock, flags);
	if (srq_may_take(srq, w)) {
		ret = xiw_rq_take_locked(&srq->rq, recv);
		if (ret != XIW_RQ_EMPTY && srq_end_wake(srq, w))
			srq_wake_waiters(srq);
	}
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	return ret;
}

/**
 * xiw_srq_wait() - make a stream wait for an entry
 * @srq: shared receive queue from which the stream could not take an entry
 * @w: place of a stream with stalled receive side; xiw_rx_posted() is
 *	called once, possibly right now
 *
 * A stream that waits already keeps its place in the order.
 */
void xiw_srq_wait(struct xiw_srq *srq, struct xiw_srq_waiter *w)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->rq.lock, flags);
	if (list_empty(&srq->waiters))
		WRITE_ONCE(srq->moved_at, jiffies);
	/*
	 * A woken stream finds no entry if a process has moved its index back.
	 */
	if (srq_end_wake(srq, w))
		list_add(&w->node, &srq->waiters);
	else if (list_empty(&w->node))
		list_add_tail(&w->node, &srq->waiters);
	srq_wake_waiters(srq);
	srq_check_limit(srq);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
}

/**
 * xiw_srq_unwait() - stop waiting
 * @srq: shared receive queue
 * @w: place of a stream that may or may not wait; xiw_rx_posted() is not called
 *	for it after this returns. If it was woken, another stream is woken
 *	instead
 */
void xiw_srq_unwait(struct xiw_srq *srq, struct xiw_srq_waiter *w)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->rq.lock, flags);
	list_del_init(&w->node);
	if (list_empty(&srq->waiters))
		xiw_rq_doorbell_mode(&srq->rq, false);
	if (srq_end_wake(srq, w))
		srq_wake_waiters(srq);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
}

static void srq_posted(struct xiw_srq *srq)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->rq.lock, flags);
	srq_wake_waiters(srq);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
}

/* 0, -EINVAL for a malformed request, -ENOMEM if the queue is full. */
int xiw_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr)
{
	struct xiw_srq *srq = to_xsrq(ibsrq);
	int ret = xiw_rq_post(&srq->rq, wr, bad_wr);

	srq_posted(srq);
	return ret;
}

/* A process has posted in the ring. Any context. */
void xiw_srq_doorbell(struct ib_srq *ibsrq)
{
	xiw_stat_inc(to_xdev(ibsrq->device)->stats, XIW_STAT_DOORBELL);
	srq_posted(to_xsrq(ibsrq));
}

/*
 * Reports IB_EVENT_SRQ_LIMIT_REACHED after xiw_srq_take() returned
 * XIW_RQ_LIMIT, from a work item, as the events of a QP are.
 */
void xiw_srq_limit_event(struct xiw_srq *srq)
{
	srq_async(srq, IB_EVENT_SRQ_LIMIT_REACHED);
}

/*
 * Reports IB_EVENT_SRQ_ERR after xiw_srq_take() returned XIW_RQ_CORRUPT: once,
 * although every QP that uses the queue finds it corrupt.
 */
void xiw_srq_corrupt(struct xiw_srq *srq)
{
	if (!atomic_xchg(&srq->broken, 1))
		srq_async(srq, IB_EVENT_SRQ_ERR);
}

/*
 * Counts a receive that was taken and has no completion: the queue pair is
 * destroyed or reset, or the completion queue is full. The process counts
 * completions to find out which slots are free.
 */
void xiw_srq_dropped(struct xiw_srq *srq)
{
	struct xiw_ring_ctrl *ctrl = srq->rq.queue.ctrl;
	unsigned long flags;

	spin_lock_irqsave(&srq->rq.lock, flags);
	/* Pairs with the acquire in the process's post: the entry was read. */
	smp_store_release(&ctrl->dropped, ++srq->dropped);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
}
