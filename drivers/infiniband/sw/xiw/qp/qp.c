// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pairs: the object, its lookup and references, and asynchronous events.
 * The verbs are in qp_verbs.c, the stream operations in qp_stream.c, the
 * references of iw_cm in iwcm_quirks.c.
 */
#include "qp.h"

#include "dev.h"
#include "ep.h"
#include "verbs/verbs.h"

static void qp_release(struct kref *ref)
{
	struct xiw_qp *qp = container_of(ref, struct xiw_qp, ref);

	complete(&qp->freed);
}

/*
 * Take and drop a reference, in any context. The destruction of the queue
 * pair waits for the last reference, and frees the memory.
 */
void xiw_qp_get(struct xiw_qp *qp)
{
	kref_get(&qp->ref);
}

void xiw_qp_put(struct xiw_qp *qp)
{
	kref_put(&qp->ref, qp_release);
}

/*
 * The queue pair with a reference for the caller, or NULL. @dev->qps is locked.
 */
struct xiw_qp *xiw_qp_get_by_num_locked(struct xiw_dev *dev, u32 qpn)
{
	struct ib_qp *ibqp = xa_load(&dev->qps, qpn);

	lockdep_assert_held(&dev->qps.xa_lock);

	if (!ibqp)
		return NULL;
	/* Destruction removes it under this lock, then drops its reference. */
	xiw_qp_get(to_xqp(ibqp));
	return to_xqp(ibqp);
}

/* As above, but takes the lock of @dev->qps; any context with interrupts on. */
struct xiw_qp *xiw_qp_get_by_num(struct xiw_dev *dev, u32 qpn)
{
	struct xiw_qp *qp;

	xa_lock_bh(&dev->qps);
	qp = xiw_qp_get_by_num_locked(dev, qpn);
	xa_unlock_bh(&dev->qps);
	return qp;
}

/*
 * The endpoint with a reference for the caller, or NULL. Any context with
 * interrupts on.
 */
struct xiw_ep *xiw_qp_get_ep(struct xiw_qp *qp)
{
	struct xiw_ep *ep;

	spin_lock_bh(&qp->stream.lock);
	ep = qp->ep;
	if (ep)
		xiw_ep_get(ep);
	spin_unlock_bh(&qp->stream.lock);
	return ep;
}

static void qp_event_work(struct work_struct *work)
{
	struct xiw_qp *qp = container_of(work, struct xiw_qp, event_work);
	struct ib_event event = { .device = qp->ibqp.device };
	int bit;

	event.element.qp = &qp->ibqp;
	for (bit = 0; bit < BITS_PER_LONG; bit++) {
		if (!test_and_clear_bit(bit, &qp->events))
			continue;
		event.event = bit;
		if (qp->ibqp.event_handler)
			qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
	}
	xiw_qp_put(qp);
}

/*
 * Reports an asynchronous event, in any context. The same one twice in a row
 * may be reported once. It is delivered from a work item: the ULP's handler may
 * sleep, and is never called from the ULP's own call.
 */
void xiw_qp_async(struct xiw_qp *qp, enum ib_event_type event)
{
	set_bit(event, &qp->events);
	/*
	 * The ULP's handler may block, so it must not occupy a queue of the
	 * driver.
	 */
	xiw_qp_get(qp);
	if (!queue_work(system_dfl_wq, &qp->event_work))
		xiw_qp_put(qp);
}

/* Sets up a queue pair that is zeroed but for @ibqp. */
void xiw_qp_init(struct xiw_qp *qp)
{
	kref_init(&qp->ref);
	init_completion(&qp->freed);
	INIT_LIST_HEAD(&qp->handles);
	mutex_init(&qp->modify_lock);
	/* RESET and INIT are one state of iWARP, Idle; ULPs expect INIT. */
	qp->ib_state = IB_QPS_INIT;
	INIT_WORK(&qp->event_work, qp_event_work);
	xiw_mw_owner_init(&qp->windows);
}
