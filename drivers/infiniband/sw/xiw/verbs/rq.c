// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive queues, own and shared: posting by kernel ULPs, and taking the next
 * entry for an arriving message. A user ring is written by a process that may
 * be hostile. Its producer index and each entry are read once, into private
 * memory, and validated there.
 *
 * The second half has the verbs of shared receive queues, and what sharing
 * adds: the limit event, and the streams that wait for the next entry. They get
 * entries in the order in which they began to wait. So the RNR wait of a stream
 * expires only after no stream got an entry for rnr_timeout_ms, see
 * qp_stream_rnr_until().
 *
 * Functions that are not verbs may be called in any context, but those that
 * allocate and release a queue sleep.
 */
#include "verbs.h"

#include <linux/align.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/string.h>
#include <rdma/uverbs_ioctl.h>

#include "dev.h"
#include "proto/ring.h"

/* Entries with one element do not straddle cache lines. */
#define XIW_RQE_ALIGN		32

/* Number 0 means "no SRQ" in a completion. */
#define XIW_SRQ_IDS		XA_LIMIT(1, INT_MAX)

/* Limit of the streams that were woken and have not taken their entry yet */
#define XIW_SRQ_MAX_WOKEN	64U

/**
 * xiw_rq_init() - allocate a receive queue
 * @rq: queue
 * @max_wr: entries wanted
 * @max_sge: elements per entry, at most XIW_ABI_MAX_SGE
 * @uctx: context of the process that may map the ring, or NULL for a kernel
 *	ULP
 * @key: result: offset for mmap(), only with @uctx
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int xiw_rq_init(struct xiw_rq *rq, u32 max_wr, u32 max_sge,
		struct ib_ucontext *uctx, u64 *key)
{
	u32 stride;
	int ret;

	if (max_sge > XIW_ABI_MAX_SGE)
		return -EINVAL;

	spin_lock_init(&rq->lock);
	rq->cons = 0;
	rq->seen = 0;
	rq->limit = 0;
	rq->max_sge = max_sge;
	stride = ALIGN(sizeof(struct xiw_rqe) +
		       max_sge * sizeof(struct xiw_sge), XIW_RQE_ALIGN);
	ret = xiw_queue_alloc(&rq->queue, max_wr, stride, uctx, key);
	if (ret)
		return ret;
	rq->max_wr = rq->queue.size;
	return 0;
}

/* Releases a queue without users, or a zeroed one. */
void xiw_rq_destroy(struct xiw_rq *rq)
{
	struct xiw_queue queue = rq->queue;

	if (!queue.ctrl)
		return;
	/* On older kernels netlink may still read the ring, see restrack.c. */
	spin_lock_irq(&rq->lock);
	rq->queue.ctrl = NULL;
	spin_unlock_irq(&rq->lock);
	xiw_queue_free(&queue);
}

static int rq_write(struct xiw_rq *rq, u32 prod, const struct ib_recv_wr *wr)
{
	struct xiw_rqe *rqe = xiw_queue_slot(&rq->queue, prod);
	struct xiw_sge *sge = (struct xiw_sge *)(rqe + 1);
	u64 len = 0;
	int i;

	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return -EINVAL;

	for (i = 0; i < wr->num_sge; i++) {
		sge[i].addr = wr->sg_list[i].addr;
		sge[i].length = wr->sg_list[i].length;
		sge[i].lkey = wr->sg_list[i].lkey;
		len += sge[i].length;
	}
	if (len > U32_MAX)
		return -EINVAL;

	rqe->wr_id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	rqe->reserved = 0;
	return 0;
}

/*
 * Adds the work requests of a kernel ULP. 0, -EINVAL for a malformed request,
 * -ENOMEM if the queue is full.
 */
int xiw_rq_post(struct xiw_rq *rq, const struct ib_recv_wr *wr,
		const struct ib_recv_wr **bad_wr)
{
	struct xiw_ring_ctrl *ctrl = rq->queue.ctrl;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&rq->lock, flags);
	for (; wr; wr = wr->next) {
		if (ctrl->prod - rq->cons >= rq->max_wr)
			ret = -ENOMEM;
		else
			ret = rq_write(rq, ctrl->prod, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
		/* Pairs with the acquire in xiw_rq_count(). */
		smp_store_release(&ctrl->prod, ctrl->prod + 1);
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	return ret;
}

/* Reads the next entry, once, as a process may change it at any time. */
static bool rq_read(struct xiw_rq *rq, struct xiw_recv *recv)
{
	const struct xiw_rqe *rqe = xiw_queue_slot(&rq->queue, rq->cons);
	u32 i;

	recv->wr_id = READ_ONCE(rqe->wr_id);
	recv->num_sge = READ_ONCE(rqe->num_sge);
	if (recv->num_sge > rq->max_sge)
		return false;

	xiw_copy_once(recv->sge, rqe + 1,
		      recv->num_sge * sizeof(recv->sge[0]));

	recv->len = 0;
	for (i = 0; i < recv->num_sge; i++)
		recv->len += recv->sge[i].length;
	return recv->len <= U32_MAX;
}

/* As xiw_rq_take(), with @rq->lock held */
static enum xiw_rq_take rq_take_locked(struct xiw_rq *rq, struct xiw_recv *recv)
{
	struct xiw_ring_ctrl *ctrl = rq->queue.ctrl;

	lockdep_assert_held(&rq->lock);

	/* An armed limit needs the exact number of entries left. */
	if (rq->seen == rq->cons || rq->limit) {
		/* Pairs with the release that ends an entry. */
		u32 prod = smp_load_acquire(&ctrl->prod);

		if (!xiw_ring_valid(prod, rq->cons, rq->queue.size))
			return XIW_RQ_CORRUPT;
		rq->seen = prod;
	}
	if (rq->seen == rq->cons)
		return XIW_RQ_EMPTY;
	if (!rq_read(rq, recv))
		return XIW_RQ_CORRUPT;

	WRITE_ONCE(rq->cons, rq->cons + 1);
	/* The entry was copied. Pairs with the producer's acquire. */
	smp_store_release(&ctrl->cons, rq->cons);

	if (rq->limit && rq->seen - rq->cons < rq->limit) {
		WRITE_ONCE(rq->limit, 0);
		return XIW_RQ_LIMIT;
	}
	return XIW_RQ_TAKEN;
}

/**
 * xiw_rq_take() - take the next receive work request
 * @rq: queue
 * @recv: result, unless the queue is empty or corrupt
 *
 * Return: The result; after XIW_RQ_CORRUPT the next call validates the same
 * entry again, so the queue never recovers by itself.
 */
enum xiw_rq_take xiw_rq_take(struct xiw_rq *rq, struct xiw_recv *recv)
{
	enum xiw_rq_take ret;
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	ret = rq_take_locked(rq, recv);
	spin_unlock_irqrestore(&rq->lock, flags);
	return ret;
}

/**
 * xiw_rq_doorbell_mode() - set whether posts need a doorbell
 * @rq: queue
 * @want: the user has to enter the kernel after a post
 *
 * After setting it, check with xiw_rq_count() whether a concurrent post has
 * missed it.
 */
void xiw_rq_doorbell_mode(struct xiw_rq *rq, bool want)
{
	WRITE_ONCE(rq->queue.ctrl->flags, want ? XIW_RING_NEED_DB : 0);
	if (!want)
		return;
	/*
	 * Pairs with the full barrier of the user between its store of the
	 * producer index and its load of the flags: either the user sees the
	 * flag, or the caller sees the entry.
	 */
	smp_mb();
}

/*
 * Entries to take: a snapshot, and more than the queue has room for if it is
 * corrupt
 */
u32 xiw_rq_count(struct xiw_rq *rq)
{
	/* Pairs with the release with which the producer ends an entry. */
	return smp_load_acquire(&rq->queue.ctrl->prod) - READ_ONCE(rq->cons);
}

static int rq_respond(struct xiw_srq *srq, u64 key, struct ib_udata *udata)
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

static void rq_event_work(struct work_struct *work)
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

static int rq_check_attr(const struct ib_srq_init_attr *attr,
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

	ret = rq_check_attr(attr, udata);
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
	INIT_WORK(&srq->event_work, rq_event_work);
	srq->rq.limit = udata ? 0 : attr->attr.srq_limit;
	attr->attr.max_wr = srq->rq.max_wr;

	ret = xa_alloc(&dev->srqs, &srq->id, srq, XIW_SRQ_IDS, GFP_KERNEL);
	if (ret)
		goto err_rq;
	if (udata) {
		ret = rq_respond(srq, key, udata);
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
static void rq_async(struct xiw_srq *srq, enum ib_event_type event)
{
	set_bit(event, &srq->events);
	queue_work(system_dfl_wq, &srq->event_work);
}

/*
 * Report a limit that is armed while streams wait for entries: otherwise the
 * ULP waits for the event, and the streams wait for receives. Without
 * waiting streams, a ULP may arm an empty queue before it posts.
 */
static void rq_check_limit(struct xiw_srq *srq)
{
	lockdep_assert_held(&srq->rq.lock);

	if (list_empty(&srq->waiters) ||
	    xiw_rq_count(&srq->rq) >= srq->rq.limit)
		return;
	WRITE_ONCE(srq->rq.limit, 0);
	rq_async(srq, IB_EVENT_SRQ_LIMIT_REACHED);
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
	rq_check_limit(srq);
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
static void rq_wake_waiters(struct xiw_srq *srq)
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
static bool rq_end_wake(struct xiw_srq *srq, struct xiw_srq_waiter *w)
{
	bool woken = w->woken;

	lockdep_assert_held(&srq->rq.lock);
	srq->woken -= woken;
	w->woken = false;
	return woken;
}

/* True if a stream may take an entry, false if all are for earlier streams. */
static bool rq_may_take(struct xiw_srq *srq, const struct xiw_srq_waiter *w)
{
	/* Entries posted without a doorbell belong to earlier streams, too. */
	rq_wake_waiters(srq);
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
	if (rq_may_take(srq, w)) {
		ret = rq_take_locked(&srq->rq, recv);
		if (ret != XIW_RQ_EMPTY && rq_end_wake(srq, w))
			rq_wake_waiters(srq);
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
	if (rq_end_wake(srq, w))
		list_add(&w->node, &srq->waiters);
	else if (list_empty(&w->node))
		list_add_tail(&w->node, &srq->waiters);
	rq_wake_waiters(srq);
	rq_check_limit(srq);
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
	if (rq_end_wake(srq, w))
		rq_wake_waiters(srq);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
}

static void rq_posted(struct xiw_srq *srq)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->rq.lock, flags);
	rq_wake_waiters(srq);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
}

/* 0, -EINVAL for a malformed request, -ENOMEM if the queue is full. */
int xiw_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr)
{
	struct xiw_srq *srq = to_xsrq(ibsrq);
	int ret = xiw_rq_post(&srq->rq, wr, bad_wr);

	rq_posted(srq);
	return ret;
}

/* A process has posted in the ring. Any context. */
void xiw_srq_doorbell(struct ib_srq *ibsrq)
{
	xiw_stat_inc(to_xdev(ibsrq->device)->stats, XIW_STAT_DOORBELL);
	rq_posted(to_xsrq(ibsrq));
}

/*
 * Reports IB_EVENT_SRQ_LIMIT_REACHED after xiw_srq_take() returned
 * XIW_RQ_LIMIT, from a work item, as the events of a QP are.
 */
void xiw_srq_limit_event(struct xiw_srq *srq)
{
	rq_async(srq, IB_EVENT_SRQ_LIMIT_REACHED);
}

/*
 * Reports IB_EVENT_SRQ_ERR after xiw_srq_take() returned XIW_RQ_CORRUPT: once,
 * although every QP that uses the queue finds it corrupt.
 */
void xiw_srq_corrupt(struct xiw_srq *srq)
{
	if (!atomic_xchg(&srq->broken, 1))
		rq_async(srq, IB_EVENT_SRQ_ERR);
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
