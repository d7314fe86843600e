// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues. The data path adds entries from any context; user
 * processes take them from the mapped ring without entering the kernel,
 * kernel ULPs through xiw_poll_cq().
 *
 * Notification: the ULP sets bits in the ring's arm word, then looks at
 * the ring once more; the kernel stores the producer index, then looks at the
 * arm word. With a full barrier on each side, one of the two sees the other's
 * store.
 *
 * With moderation the notification that an entry causes is held back until
 * there are more of them or some time has passed. The arm word stays set until
 * then, so the ULP may arm as often as it likes.
 *
 * The core requires that a kernel ULP is not called back from its own call
 * chain, and that its handlers never run concurrently: they run from a work
 * item. The handler of a process's event file only wakes waiters, and is called
 * directly.
 *
 * Completion vectors: the handlers of a ULP that asks for vector n other
 * than 0 run on the n-th CPU, as the interrupt of an adapter would. Vector 0,
 * the default of most ULPs, is the CPU that generates the completion: its
 * cache has the data, and no other CPU has to be interrupted.
 */

/**
 * DOC: Busy-poll work
 *
 * Busy-poll work of a stream is posted for a process that busy-polls
 * (busy_poll.c): one with many empty polls since the last check. The rate of
 * the polls is no criterion, as work items may have used the CPU of the process
 * in between. No work is posted while the CQ is armed: the process sets the arm
 * word and then checks for work, the kernel posts the work and then checks the
 * arm word, with a full barrier on each side.
 *
 * cq.work has no reference to the stream: the posted work has one, and the
 * stream withdraws its work before it drops that reference. A CQ has room for
 * the work of one stream, as the process polls on one CPU; the work of other
 * streams is queued.
 */
#include "verbs.h"

#include <kunit/visibility.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/time_namespace.h>
#include <rdma/uverbs_ioctl.h>

#include "dev.h"
#include "proto/ring.h"
#include "stream/stream.h"
#include "trace.h"

/* Bits of xiw_cq.pending: what notify_work has to report */
#define XIW_CQ_REPORT_COMP	BIT(0)
#define XIW_CQ_REPORT_BROKEN	BIT(1)

/* Entries that are processed at a time with interrupts off */
#define XIW_CQ_PIECE		1024

/* More empty polls than this: the application is busy-polling. */
#define XIW_CQ_MIN_POLLS	16

static void cq_report_broken(struct xiw_cq *cq)
{
	struct ib_event event = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
}

static void cq_report(struct xiw_cq *cq, u32 what)
{
	trace_cq_notify(cq->id, cq->cpu == XIW_CQ_ANY_CPU ? -1 : cq->cpu);
	if (what & XIW_CQ_REPORT_BROKEN)
		cq_report_broken(cq);
	if (what & XIW_CQ_REPORT_COMP && cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

static void cq_notify_work(struct xiw_bh_work *work)
{
	struct xiw_cq *cq = container_of(work, struct xiw_cq, notify_work);
	unsigned long flags;
	u32 what;

	spin_lock_irqsave(&cq->lock, flags);
	what = cq->pending;
	cq->pending = 0;
	spin_unlock_irqrestore(&cq->lock, flags);

	cq_report(cq, what);
}

static bool cq_cqe_is_solicited(const struct xiw_cqe *cqe)
{
	return cqe->flags & XIW_CQE_SOLICITED || cqe->status != IB_WC_SUCCESS;
}

/* Counts an entry for which the CQ is armed. True if a notification is due. */
static bool cq_mod_due_locked(struct xiw_cq *cq)
{
	struct xiw_cq_mod *mod = &cq->mod;

	lockdep_assert_held(&cq->lock);

	if (++mod->held < mod->count) {
		if (mod->held == 1)
			hrtimer_start(&mod->timer,
				      ns_to_ktime((u64)mod->usecs *
						  NSEC_PER_USEC),
				      HRTIMER_MODE_REL_SOFT);
		return false;
	}
	/* If the timer is already running, it finds nothing to do. */
	hrtimer_try_to_cancel(&mod->timer);
	mod->held = 0;
	return true;
}

/*
 * True if the entry just published causes a notification; disarms in that case.
 */
static bool cq_fires_locked(struct xiw_cq *cq, const struct xiw_cqe *cqe)
{
	u32 *arm = &cq->queue.ctrl->arm;
	u32 fires = XIW_ARM_NEXT;

	lockdep_assert_held(&cq->lock);

	if (cq_cqe_is_solicited(cqe))
		fires |= XIW_ARM_SOLICITED;
	if (!(READ_ONCE(*arm) & fires))
		return false;
	if (cq->mod.count && !cq_mod_due_locked(cq))
		return false;

	/*
	 * A process may be setting bits concurrently. By the ABI, one
	 * notification may serve both requests.
	 */
	xchg(arm, 0);
	return true;
}

/* Disarms if a notification was held back. Returns what is to be reported. */
static u32 cq_release_locked(struct xiw_cq *cq)
{
	lockdep_assert_held(&cq->lock);

	if (!cq->mod.held)
		return 0;
	cq->mod.held = 0;
	/* A process may have cleared the word since the entry was added. */
	return xchg(&cq->queue.ctrl->arm, 0) ? XIW_CQ_REPORT_COMP : 0;
}

/*
 * Leaves a report to the work item if the handler must not be called in this
 * context or on this CPU. An offline CPU is never chosen: no CPU goes offline
 * while this one has interrupts off. The work queued on a CPU that goes offline
 * later moves to another one.
 */
static bool cq_defer_locked(struct xiw_cq *cq, u32 what)
{
	bool elsewhere = cq->cpu != XIW_CQ_ANY_CPU &&
			 cq->cpu != smp_processor_id() && cpu_online(cq->cpu);

	lockdep_assert_held(&cq->lock);

	if (!cq->kernel && !elsewhere)
		return false;
	cq->pending |= what;
	xiw_bh_queue_on(elsewhere ? cq->cpu : XIW_CQ_ANY_CPU, &cq->notify_work);
	return true;
}

/*
 * The moderation timer calls this, too; xiw_destroy_cq() cancels the timer
 * before the CQ is freed.
 */
static void cq_release(struct xiw_cq *cq)
{
	bool report_here;
	unsigned long flags;
	u32 what;

	spin_lock_irqsave(&cq->lock, flags);
	what = cq_release_locked(cq);
	report_here = what && !cq_defer_locked(cq, what);
	spin_unlock_irqrestore(&cq->lock, flags);

	if (report_here)
		cq_report(cq, what);
}

static enum hrtimer_restart cq_mod_timer(struct hrtimer *timer)
{
	cq_release(container_of(timer, struct xiw_cq, mod.timer));
	return HRTIMER_NORESTART;
}

static bool cq_has_room_locked(struct xiw_cq *cq)
{
	if (xiw_ring_space(cq->prod, cq->seen, cq->queue.size))
		return true;
	/* Pairs with the consumer's release after it has copied entries out. */
	cq->seen = smp_load_acquire(&cq->queue.ctrl->cons);
	return xiw_ring_space(cq->prod, cq->seen, cq->queue.size);
}

static u32 cq_add_locked(struct xiw_cq *cq, const struct xiw_cqe *cqe)
{
	struct xiw_ring_ctrl *ctrl = cq->queue.ctrl;
	struct xiw_cqe *slot;

	lockdep_assert_held(&cq->lock);

	if (cq->broken)
		return 0;

	if (!cq_has_room_locked(cq)) {
		cq->broken = true;
		return XIW_CQ_REPORT_BROKEN;
	}

	slot = xiw_queue_slot(&cq->queue, cq->prod);
	*slot = *cqe;
	if (cq->timestamps)
		slot->timestamp = ktime_get_ns() + cq->time_offset;
	cq->prod++;
	/* Pairs with the consumer's acquire of the producer index. */
	smp_store_release(&ctrl->prod, cq->prod);
	/* Pairs with the consumer's barrier between arming and looking. */
	smp_mb();
	return cq_fires_locked(cq, cqe) ? XIW_CQ_REPORT_COMP : 0;
}

/**
 * xiw_cq_add() - add an entry, and notify the ULP if it asked for that
 * @cq: completion queue
 * @cqe: the entry; its timestamp is filled in here
 *
 * An entry for which there is no room breaks the queue: that is reported to the
 * ULP once, and nothing is added any more.
 *
 * Context: Any. The caller holds no lock that a completion handler of a
 * process's event file may need, that is, none but its own.
 * Return: false if the entry is lost.
 */
bool xiw_cq_add(struct xiw_cq *cq, const struct xiw_cqe *cqe)
{
	bool report_here;
	unsigned long flags;
	bool broken;
	u32 what;

	spin_lock_irqsave(&cq->lock, flags);
	what = cq_add_locked(cq, cqe);
	broken = cq->broken;
	report_here = what && !cq_defer_locked(cq, what);
	spin_unlock_irqrestore(&cq->lock, flags);

	if (what & XIW_CQ_REPORT_BROKEN)
		xiw_stat_inc(to_xdev(cq->ibcq.device)->stats,
			     XIW_STAT_CQ_OVERFLOW);
	if (report_here)
		cq_report(cq, what);
	return !broken;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_cq_add);

/*
 * Does the ring have entries that were not polled? Only a hint, as a process
 * may write anything into its ring.
 */
bool xiw_cq_unpolled(struct xiw_cq *cq)
{
	unsigned long flags;
	bool ret;

	spin_lock_irqsave(&cq->lock, flags);
	ret = READ_ONCE(cq->queue.ctrl->cons) != cq->prod;
	spin_unlock_irqrestore(&cq->lock, flags);
	return ret;
}

/* Each poll reads the flags, so write that cache line only on a change. */
static void cq_set_work_locked(struct xiw_cq *cq, struct xiw_stream *s)
{
	lockdep_assert_held(&cq->lock);

	if (!cq->work != !s)
		WRITE_ONCE(cq->queue.ctrl->flags, s ? XIW_RING_BUSY_POLL : 0);
	cq->work = s;
}

/*
 * Has the process been busy-polling since the last call? This and the two
 * functions below are for queues of processes; a wrong count in the ring
 * affects only the process's own work.
 */
bool xiw_cq_is_busy_polled(struct xiw_cq *cq)
{
	unsigned long flags;
	u32 polls;
	u32 more;

	spin_lock_irqsave(&cq->lock, flags);
	polls = READ_ONCE(cq->queue.ctrl->polls);
	more = polls - cq->polls;
	cq->polls = polls;
	spin_unlock_irqrestore(&cq->lock, flags);
	return more > XIW_CQ_MIN_POLLS;
}

/*
 * Posts the work of @s for the process that busy-polls. It holds a reference
 * until xiw_cq_cancel_work(). False if the CQ is armed, or has the work of a
 * stream already.
 */
bool xiw_cq_post_work(struct xiw_cq *cq, struct xiw_stream *s)
{
	unsigned long flags;
	bool posted = false;

	spin_lock_irqsave(&cq->lock, flags);
	if (!cq->work) {
		cq_set_work_locked(cq, s);
		/* See "Busy-poll work" above. */
		smp_mb();
		posted = !READ_ONCE(cq->queue.ctrl->arm);
		if (!posted)
			cq_set_work_locked(cq, NULL);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return posted;
}

/* Withdraws the work of @s from the CQ, if it has any. */
void xiw_cq_cancel_work(struct xiw_cq *cq, struct xiw_stream *s)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->work == s)
		cq_set_work_locked(cq, NULL);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/**
 * xiw_cq_busy_poll() - run the posted work on the CPU of the process
 * @ibcq: completion queue of a process that is busy-polling
 *
 * Context: Sleeps.
 */
void xiw_cq_busy_poll(struct ib_cq *ibcq)
{
	struct xiw_cq *cq = to_xcq(ibcq);
	struct xiw_stream *s;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	s = cq->work;
	if (s) {
		s->ops->get(s);
		cq_set_work_locked(cq, NULL);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (!s)
		return;
	xiw_stream_run_busy_poll(s);
	s->ops->put(s);
}

/* Advance the consumer index of a kernel CQ past the gap, if it is there. */
static void cq_skip_gap_locked(struct xiw_cq *cq)
{
	struct xiw_ring_ctrl *ctrl = cq->queue.ctrl;

	lockdep_assert_held(&cq->lock);

	if (ctrl->cons == cq->gap.first)
		ctrl->cons = cq->gap.end;
}

/*
 * Processes some more entries below the gap: those to be kept move to its upper
 * end. False when it reaches the consumer's index, which others may advance.
 */
static bool cq_widen_gap_locked(struct xiw_cq *cq, u32 qpn)
{
	struct xiw_ring_ctrl *ctrl = cq->queue.ctrl;
	struct xiw_cq_gap *gap = &cq->gap;
	struct xiw_cqe *cqe;
	int i;

	lockdep_assert_held(&cq->lock);

	for (i = 0; i < XIW_CQ_PIECE; i++) {
		if ((s32)(gap->first - ctrl->cons) <= 0)
			return false;
		cqe = xiw_queue_slot(&cq->queue, --gap->first);
		if (cqe->qp_id == qpn)
			continue;
		if (--gap->end != gap->first)
			*(struct xiw_cqe *)xiw_queue_slot(&cq->queue,
							  gap->end) = *cqe;
	}
	return true;
}

/*
 * Removes the entries of a QP that is being destroyed or reset and adds no
 * more. Only for kernel ULPs; a process removes such entries from its ring
 * itself. There may be a million entries, so they are processed in pieces,
 * between which other contexts can poll and add. Sleeps.
 */
void xiw_cq_purge(struct xiw_cq *cq, u32 qpn)
{
	unsigned long flags;

	if (!cq->kernel)
		return;

	mutex_lock(&cq->resize_lock);
	spin_lock_irqsave(&cq->lock, flags);
	cq->gap.first = cq->prod;
	cq->gap.end = cq->prod;
	while (cq_widen_gap_locked(cq, qpn)) {
		spin_unlock_irqrestore(&cq->lock, flags);
		cond_resched();
		spin_lock_irqsave(&cq->lock, flags);
	}
	cq_skip_gap_locked(cq);
	cq->gap.first = cq->gap.end;
	spin_unlock_irqrestore(&cq->lock, flags);
	mutex_unlock(&cq->resize_lock);
}

static void cq_cqe_to_wc(const struct xiw_cqe *cqe, struct ib_qp *qp,
			 struct ib_wc *wc)
{
	/*
	 * The data path uses the opcodes of the user ABI, which are the
	 * kernel's.
	 */
	BUILD_BUG_ON(XIW_WC_RECV != IB_WC_RECV);
	BUILD_BUG_ON(XIW_WC_RECV_WITH_IMM != IB_WC_RECV_RDMA_WITH_IMM);

	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->qp = qp;
	if (cqe->flags & XIW_CQE_WITH_IMM) {
		wc->wc_flags = IB_WC_WITH_IMM;
		wc->ex.imm_data = cqe->imm_data;
	} else if (cqe->flags & XIW_CQE_WITH_INV) {
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->inv_rkey;
	}
}

/*
 * Takes entries from a piece of the ring and adds their number to @n; false if
 * there are no more to take.
 */
static bool cq_take_locked(struct xiw_cq *cq, int num_entries, struct ib_wc *wc,
			   int *n)
{
	struct xiw_dev *dev = to_xdev(cq->ibcq.device);
	struct xiw_ring_ctrl *ctrl = cq->queue.ctrl;
	struct ib_qp *qp = NULL;
	struct xiw_cqe *cqe;
	int i;

	lockdep_assert_held(&cq->lock);

	for (i = 0; i < XIW_CQ_PIECE && *n < num_entries; i++) {
		cq_skip_gap_locked(cq);
		if (ctrl->cons == cq->prod)
			return false;
		cqe = xiw_queue_slot(&cq->queue, ctrl->cons);
		if (!qp || qp->qp_num != cqe->qp_id)
			qp = xa_load(&dev->qps, cqe->qp_id);
		/*
		 * No such QP: it is being destroyed, and will purge its
		 * entries.
		 */
		if (qp)
			cq_cqe_to_wc(cqe, qp, &wc[(*n)++]);
		ctrl->cons++;
	}
	return *n < num_entries;
}

/**
 * xiw_poll_cq() - take completions
 * @ibcq: completion queue of a kernel ULP; a process takes them from its ring
 * @num_entries: capacity of @wc
 * @wc: result
 *
 * Context: Any.
 * Return: Number of completions taken.
 */
int xiw_poll_cq(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc)
{
	struct xiw_cq *cq = to_xcq(ibcq);
	unsigned long flags;
	bool more;
	int n = 0;

	do {
		spin_lock_irqsave(&cq->lock, flags);
		more = cq_take_locked(cq, num_entries, wc, &n);
		spin_unlock_irqrestore(&cq->lock, flags);
	} while (more);
	return n;
}

/*
 * Arms the notification of a kernel ULP; a process arms it in its mapped ring.
 * Returns 1 if @flags asks to report missed events and there are completions to
 * be polled, else 0.
 */
int xiw_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct xiw_cq *cq = to_xcq(ibcq);
	struct xiw_ring_ctrl *ctrl;
	unsigned long irq_flags;
	int missed;

	spin_lock_irqsave(&cq->lock, irq_flags);
	ctrl = cq->queue.ctrl;
	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED)
		ctrl->arm |= XIW_ARM_SOLICITED;
	else
		ctrl->arm |= XIW_ARM_NEXT;
	cq_skip_gap_locked(cq);
	missed = flags & IB_CQ_REPORT_MISSED_EVENTS && ctrl->cons != cq->prod;
	spin_unlock_irqrestore(&cq->lock, irq_flags);
	return missed;
}

static int cq_respond(struct xiw_cq *cq, const struct xiw_queue *queue,
		      u64 key, struct ib_udata *udata)
{
	struct xiw_uresp_create_cq resp = {
		.cq_key = key,
		.map_len = queue->map_len,
		.num_cqe = queue->size,
		.cq_id = cq->id,
	};

	return ib_respond_udata(udata, resp);
}

static int cq_check_attr(const struct ib_device *ibdev,
			 const struct ib_cq_init_attr *attr,
			 struct ib_udata *udata)
{
	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > XIW_MAX_CQE)
		return -EINVAL;
	if (attr->comp_vector >= ibdev->num_comp_vectors)
		return -EINVAL;
	if (!xiw_udata_has_room(udata, struct xiw_uresp_create_cq, reserved))
		return -EINVAL;
	return ib_is_udata_in_empty(udata);
}

/* Timestamps are compared with the clock of the creator's time namespace. */
static s64 cq_time_offset(void)
{
	struct timespec64 offset = {};

	timens_add_monotonic(&offset);
	return timespec64_to_ns(&offset);
}

/* 0, -EINVAL, -EOPNOTSUPP for an unknown flag or input, -ENOMEM or -EFAULT */
int xiw_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct xiw_dev *dev = to_xdev(ibcq->device);
	struct xiw_cq *cq = to_xcq(ibcq);
	struct xiw_ucontext *uctx;
	u64 key = 0;
	int ret;

	ret = cq_check_attr(ibcq->device, attr, udata);
	if (ret)
		return ret;
	if (!atomic_add_unless(&dev->num_cq, 1, XIW_MAX_CQ))
		return -ENOMEM;

	uctx = rdma_udata_to_drv_context(udata, struct xiw_ucontext, ibuctx);
	ret = xiw_queue_alloc(&cq->queue, attr->cqe, sizeof(struct xiw_cqe),
			      uctx ? &uctx->ibuctx : NULL, &key);
	if (ret)
		goto err_count;

	spin_lock_init(&cq->lock);
	mutex_init(&cq->resize_lock);
	xiw_bh_init(&cq->notify_work, cq_notify_work);
	hrtimer_setup(&cq->mod.timer, cq_mod_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	cq->kernel = !udata;
	cq->cpu = attr->comp_vector ?
		cpumask_nth(attr->comp_vector, cpu_possible_mask) :
		XIW_CQ_ANY_CPU;
	cq->timestamps = attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	cq->time_offset = udata ? cq_time_offset() : 0;
	ibcq->cqe = cq->queue.size;

	ret = xa_alloc(&dev->cqs, &cq->id, cq, xa_limit_31b, GFP_KERNEL);
	if (ret)
		goto err_queue;
	if (udata) {
		ret = cq_respond(cq, &cq->queue, key, udata);
		if (ret)
			goto err_id;
	}
	xiw_udata_done(udata);
	return 0;

err_id:
	xa_erase(&dev->cqs, cq->id);
err_queue:
	xiw_queue_free(&cq->queue);
err_count:
	atomic_dec(&dev->num_cq);
	return ret;
}

static void cq_copy(struct xiw_cq *cq, struct xiw_queue *queue, u32 first,
		    u32 end)
{
	u32 i;

	for (i = first; i != end; i++)
		*(struct xiw_cqe *)xiw_queue_slot(queue, i) =
			*(struct xiw_cqe *)xiw_queue_slot(&cq->queue, i);
}

/* Do @entries fit? A number above the size of the old ring is corrupt. */
static bool cq_fits(const struct xiw_cq *cq, const struct xiw_queue *queue,
		    u32 entries)
{
	return entries <= min(cq->queue.size, queue->size);
}

/*
 * Copies entries to a new ring until no more are left than cq_move_locked() may
 * copy: in pieces, as there may be many, and with those that are added during
 * the copy. A copy of an entry that is polled before the end is ignored.
 * @copied is set to the index of the first entry that was not copied.
 */
static int cq_copy_early(struct xiw_cq *cq, struct xiw_queue *queue,
			 u32 *copied)
{
	unsigned long flags;
	u32 next, prod;

	lockdep_assert_held(&cq->resize_lock);

	spin_lock_irqsave(&cq->lock, flags);
	next = READ_ONCE(cq->queue.ctrl->cons);
	prod = cq->prod;
	spin_unlock_irqrestore(&cq->lock, flags);
	if (!cq_fits(cq, queue, prod - next))
		return -EINVAL;
	while (prod - next > XIW_CQ_PIECE) {
		cq_copy(cq, queue, next, next + XIW_CQ_PIECE);
		next += XIW_CQ_PIECE;
		cond_resched();
		spin_lock_irqsave(&cq->lock, flags);
		prod = cq->prod;
		spin_unlock_irqrestore(&cq->lock, flags);
	}
	*copied = next;
	return 0;
}

/*
 * Replaces the ring by @queue, which has the entries before @copied already.
 * Entries that were not polled keep their indices, and the arm word is kept.
 * The old ring is left in @queue.
 */
static int cq_move_locked(struct xiw_cq *cq, struct xiw_queue *queue,
			  u32 copied)
{
	struct xiw_ring_ctrl *from = cq->queue.ctrl;
	struct xiw_ring_ctrl *to = queue->ctrl;
	u32 cons;

	lockdep_assert_held(&cq->lock);

	/* Pairs with the consumer's release when it polls. */
	cons = smp_load_acquire(&from->cons);
	/* The entries do not fit, or a process has corrupted its ring. */
	if (!cq_fits(cq, queue, cq->prod - cons) ||
	    !cq_fits(cq, queue, cq->prod - copied))
		return -EINVAL;
	cq_copy(cq, queue, copied, cq->prod);
	to->prod = cq->prod;
	to->cons = cons;
	to->polls = READ_ONCE(from->polls);
	to->flags = cq->work ? XIW_RING_BUSY_POLL : 0;
	to->arm = READ_ONCE(from->arm);
	swap(cq->queue, *queue);
	return 0;
}

/*
 * A process neither polls nor arms during the call, and maps the new ring when
 * it returns. 0, -EINVAL for an impossible size, without room for the answer,
 * or if the entries that were not polled do not fit, -EOPNOTSUPP for unknown
 * input, -ENOMEM or -EFAULT; then nothing has changed.
 */
int xiw_resize_cq(struct ib_cq *ibcq, unsigned int cqe,
		  struct ib_udata *udata)
{
	struct xiw_cq *cq = to_xcq(ibcq);
	struct xiw_queue queue = {};
	struct xiw_ucontext *uctx;
	unsigned long flags;
	u64 key = 0;
	u32 copied;
	int ret;

	if (!cqe || cqe > XIW_MAX_CQE)
		return -EINVAL;
	if (!xiw_udata_has_room(udata, struct xiw_uresp_create_cq, reserved))
		return -EINVAL;
	ret = ib_is_udata_in_empty(udata);
	if (ret)
		return ret;
	uctx = rdma_udata_to_drv_context(udata, struct xiw_ucontext, ibuctx);
	ret = xiw_queue_alloc(&queue, cqe, sizeof(struct xiw_cqe),
			      uctx ? &uctx->ibuctx : NULL, &key);
	if (ret)
		return ret;
	if (udata)
		ret = cq_respond(cq, &queue, key, udata);
	/* Another resize would free the ring that is being copied. */
	mutex_lock(&cq->resize_lock);
	if (!ret)
		ret = cq_copy_early(cq, &queue, &copied);
	if (!ret) {
		spin_lock_irqsave(&cq->lock, flags);
		ret = cq_move_locked(cq, &queue, copied);
		ibcq->cqe = cq->queue.size;
		spin_unlock_irqrestore(&cq->lock, flags);
	}
	mutex_unlock(&cq->resize_lock);
	xiw_queue_free(&queue);
	return ret;
}

/*
 * Moderation: one notification for @count completions, or @usecs after the
 * first of them at the latest. Only completions that the ULP is armed for
 * count. If either is 0, or @count is 1, each one is reported at once, and
 * those that were held back are reported now.
 */
int xiw_modify_cq(struct ib_cq *ibcq, u16 count, u16 usecs)
{
	struct xiw_cq *cq = to_xcq(ibcq);
	bool off = count <= 1 || !usecs;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->mod.count = off ? 0 : count;
	cq->mod.usecs = off ? 0 : usecs;
	spin_unlock_irqrestore(&cq->lock, flags);
	/* Notifications held back by the old values are due now. */
	cq_release(cq);
	return 0;
}

int xiw_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct xiw_dev *dev = to_xdev(ibcq->device);
	struct xiw_cq *cq = to_xcq(ibcq);
	struct xiw_queue queue;
	int ret = ib_no_udata_io(udata);

	if (ret)
		return ret;
	/* Without QPs nothing starts the timer, which may queue the work. */
	hrtimer_cancel(&cq->mod.timer);
	xiw_bh_cancel_sync(&cq->notify_work);
	xa_erase(&dev->cqs, cq->id);
	/* On older kernels netlink may still read the ring, see restrack.c. */
	spin_lock_irq(&cq->lock);
	queue = cq->queue;
	cq->queue.ctrl = NULL;
	spin_unlock_irq(&cq->lock);
	xiw_queue_free(&queue);
	atomic_dec(&dev->num_cq);
	return 0;
}
