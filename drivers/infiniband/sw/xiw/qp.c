// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pairs: the object, its references, and the verbs on it. What a queue
 * pair does with a stream is in stream.c.
 */

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "cm.h"
#include "compat.h"
#include "cq.h"
#include "device.h"
#include "mem.h"
#include "qp.h"
#include "sock.h"
#include "trace.h"

enum {
	/* 0 and 1 are special in the verbs. */
	XIW_QPN_MIN	= 2,
	XIW_QPN_MAX	= GENMASK(23, 0),
	XIW_QPN_TRIES	= 64,
};

static void qp_release(struct kref *ref)
{
	struct xiw_qp *qp = container_of(ref, struct xiw_qp, ref);

	complete(&qp->freed);
}

/**
 * xiw_qp_get() - take a reference
 * @qp: queue pair to which the caller has one
 *
 * Context: Any.
 */
void xiw_qp_get(struct xiw_qp *qp)
{
	kref_get(&qp->ref);
}

/**
 * xiw_qp_put() - drop a reference
 * @qp: queue pair
 *
 * Context: Any. The memory is freed by whoever destroys the queue pair.
 */
void xiw_qp_put(struct xiw_qp *qp)
{
	kref_put(&qp->ref, qp_release);
}

/**
 * xiw_qp_add_ref() - ib_device_ops.iw_add_ref
 * @ibqp: queue pair that iw_cm has just looked up
 *
 * Nothing, for iw_cm looks it up without a reference, and a process may be
 * destroying it: xiw_qp_get_ibqp() has taken the reference.
 *
 * Context: Any.
 */
void xiw_qp_add_ref(struct ib_qp *ibqp)
{
}

/*
 * What iw_cm has of a queue pair. It looks one up by number for each call that
 * connects or accepts, passes what it got to ib_modify_qp(), which ends up in
 * xiw_modify_qp() with it, and gives it back.
 *
 * Handles with a queue pair are on its list, in use or not, until it is
 * destroyed, or are used again by it. All under handle_lock.
 *
 * Destroying does not wait for iw_cm to give them back. It does so in its one
 * thread, which may be waiting to report something to the consumer, who may be
 * the caller: in a handler of rdma_cm, which keeps others out. Or it does so
 * when the identifier is destroyed, which the caller may come to later.
 *
 * To disconnect, iw_cm drops the lock under which it has looked at its handle
 * and then calls, while another of its threads may be giving the handle back,
 * and a process be destroying the queue pair. It does not sleep in between, but
 * may be preempted; so the memory of a handle is freed when every task has
 * slept, or was in user space, since nobody could find it any more.
 */
struct handle {
	struct ib_qp ibqp;
	struct xiw_qp *qp;		/* NULL if destroyed, or disowned */
	const struct task_struct *caller;
	bool used;			/* has a reference on @qp */
	struct list_head node;
	struct rcu_head rcu;
};

static DEFINE_SPINLOCK(handle_lock);

static struct handle *to_handle(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct handle, ibqp);
}

static struct handle *get_handle(struct xiw_qp *qp)
{
	struct handle *h = NULL;

	spin_lock(&handle_lock);
	/* Set before drop_handles() takes the lock. */
	if (READ_ONCE(qp->destroying))
		goto unlock;
	list_for_each_entry(h, &qp->handles, node)
		if (!h->used)
			goto found;
	h = kzalloc(sizeof(*h), GFP_ATOMIC | __GFP_NOWARN);
	if (!h)
		goto unlock;
	h->ibqp.device = qp->ibqp.device;
	h->ibqp.real_qp = &h->ibqp;
	h->ibqp.qp_num = qp->qpn;
	h->ibqp.qp_type = IB_QPT_RC;
	h->qp = qp;
	INIT_LIST_HEAD(&h->node);
found:
	/* The newest is the first. */
	list_move(&h->node, &qp->handles);
	h->used = true;
	h->caller = current;
unlock:
	spin_unlock(&handle_lock);
	return h;
}

static void free_handle_rcu(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct handle, rcu));
}

static void free_handle(struct handle *h)
{
	call_rcu_tasks(&h->rcu, free_handle_rcu);
}

/* Those in use are freed by xiw_qp_rem_ref(). */
static void drop_handles(struct xiw_qp *qp)
{
	struct handle *next;
	struct handle *h;

	spin_lock_irq(&handle_lock);
	list_for_each_entry_safe(h, next, &qp->handles, node) {
		list_del_init(&h->node);
		h->qp = NULL;
		if (h->used)
			xiw_qp_put(qp);
		else
			free_handle(h);
	}
	spin_unlock_irq(&handle_lock);
}

/**
 * xiw_qp_exit() - wait for what was left to be freed
 *
 * Context: Sleeps; no device exists.
 */
void xiw_qp_exit(void)
{
	if (IS_ENABLED(CONFIG_TASKS_RCU))
		rcu_barrier_tasks();
	else
		rcu_barrier();
}

/**
 * xiw_qp_of_handle() - the queue pair that iw_cm has
 * @ibqp: from xiw_qp_get_ibqp()
 *
 * Context: Any with interrupts on.
 * Return: The queue pair with a reference for the caller, NULL if it is being
 * destroyed or was disowned.
 */
struct xiw_qp *xiw_qp_of_handle(struct ib_qp *ibqp)
{
	struct xiw_qp *qp;

	spin_lock_irq(&handle_lock);
	qp = to_handle(ibqp)->qp;
	if (qp && !kref_get_unless_zero(&qp->ref))
		qp = NULL;
	spin_unlock_irq(&handle_lock);
	return qp;
}

/* Of iw_cm's handle, or of one that the core has made; only these have a PD. */
static struct xiw_qp *get_to_modify(struct ib_qp *ibqp)
{
	struct xiw_qp *qp;

	if (!ibqp->pd)
		return xiw_qp_of_handle(ibqp);
	qp = to_xqp(ibqp);
	xiw_qp_get(qp);
	return qp;
}

/**
 * xiw_qp_disown() - leave iw_cm a handle with nothing behind it
 * @ibqp: from xiw_qp_handle(); of a queue pair that is not the consumer's, so
 *	iw_cm is not to disconnect it
 *
 * Context: Process context.
 */
void xiw_qp_disown(struct ib_qp *ibqp)
{
	struct handle *h = to_handle(ibqp);
	struct xiw_qp *qp;

	spin_lock_irq(&handle_lock);
	qp = h->qp;
	list_del_init(&h->node);
	h->qp = NULL;
	spin_unlock_irq(&handle_lock);
	if (qp)
		xiw_qp_put(qp);
}

/**
 * xiw_qp_rem_ref() - ib_device_ops.iw_rem_ref
 * @ibqp: from xiw_qp_get_ibqp(), for each time once
 *
 * Context: Process context.
 */
void xiw_qp_rem_ref(struct ib_qp *ibqp)
{
	struct handle *h = to_handle(ibqp);
	struct xiw_qp *qp;

	spin_lock_irq(&handle_lock);
	qp = h->qp;
	h->used = false;
	spin_unlock_irq(&handle_lock);
	if (qp)
		xiw_qp_put(qp);
	else
		free_handle(h);
}

static struct xiw_qp *get_by_num_locked(struct xiw_dev *dev, u32 qpn)
{
	struct xiw_qp *qp = xa_load(&dev->qps, qpn);

	lockdep_assert_held(&dev->qps.xa_lock);

	/* Destroy hides it under this lock before its last reference goes. */
	if (qp)
		xiw_qp_get(qp);
	return qp;
}

/**
 * xiw_qp_get_by_num() - find a queue pair
 * @dev: device
 * @qpn: its number
 *
 * Context: Any with interrupts on.
 * Return: The queue pair with a reference for the caller, or NULL.
 */
struct xiw_qp *xiw_qp_get_by_num(struct xiw_dev *dev, u32 qpn)
{
	struct xiw_qp *qp;

	xa_lock_bh(&dev->qps);
	qp = get_by_num_locked(dev, qpn);
	xa_unlock_bh(&dev->qps);
	return qp;
}

/**
 * xiw_qp_handle() - what iw_cm has looked up for the call that it makes
 * @dev: device
 * @qpn: number of the queue pair that the call names
 *
 * Context: The caller of xiw_qp_get_ibqp(), with interrupts on.
 * Return: What that has returned, or NULL.
 */
struct ib_qp *xiw_qp_handle(struct xiw_dev *dev, u32 qpn)
{
	struct xiw_qp *qp = xiw_qp_get_by_num(dev, qpn);
	struct ib_qp *ibqp = NULL;
	struct handle *h;

	if (!qp)
		return NULL;
	spin_lock_irq(&handle_lock);
	list_for_each_entry(h, &qp->handles, node) {
		if (h->used && h->caller == current) {
			ibqp = &h->ibqp;
			break;
		}
	}
	spin_unlock_irq(&handle_lock);
	xiw_qp_put(qp);
	return ibqp;
}

/**
 * xiw_qp_get_ibqp() - ib_device_ops.iw_get_qp
 * @ibdev: device
 * @qpn: QP number
 *
 * Context: iw_cm's, with interrupts off.
 * Return: Handle of the queue pair, with a reference on it, or NULL.
 */
struct ib_qp *xiw_qp_get_ibqp(struct ib_device *ibdev, int qpn)
{
	struct xiw_dev *dev = to_xdev(ibdev);
	struct xiw_qp *qp;
	struct handle *h;

	lockdep_assert_irqs_disabled();

	xa_lock(&dev->qps);
	qp = get_by_num_locked(dev, qpn);
	xa_unlock(&dev->qps);
	if (!qp)
		return NULL;
	h = get_handle(qp);
	if (h)
		return &h->ibqp;
	xiw_qp_put(qp);
	return NULL;
}

/**
 * xiw_qp_get_ep() - the endpoint of a queue pair
 * @qp: queue pair
 *
 * Context: Any with interrupts on.
 * Return: The endpoint with a reference for the caller, or NULL.
 */
struct xiw_ep *xiw_qp_get_ep(struct xiw_qp *qp)
{
	struct xiw_ep *ep;

	spin_lock_bh(&qp->lock);
	ep = qp->ep;
	if (ep)
		xiw_ep_get(ep);
	spin_unlock_bh(&qp->lock);
	return ep;
}

static void event_work(struct work_struct *work)
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

/**
 * xiw_qp_async() - report an asynchronous event
 * @qp: queue pair
 * @event: which; the same one twice in a row may be reported once
 *
 * Delivered from a work item: the consumer's handler may sleep, and is never
 * called from the consumer's own call.
 *
 * Context: Any.
 */
void xiw_qp_async(struct xiw_qp *qp, enum ib_event_type event)
{
	set_bit(event, &qp->events);
	/* What a consumer does there is not for a queue of ours to wait for. */
	xiw_qp_queue_work(qp, system_dfl_wq, &qp->event_work);
}

static int check_init_attr(const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IB_QPT_RC || attr->create_flags)
		return -EOPNOTSUPP;
	if (cap->max_send_wr > XIW_MAX_QP_WR ||
	    cap->max_recv_wr > XIW_MAX_QP_WR ||
	    cap->max_send_sge > XIW_MAX_SGE ||
	    cap->max_recv_sge > XIW_MAX_SGE ||
	    cap->max_inline_data > XIW_MAX_INLINE)
		return -EINVAL;
	if (!attr->send_cq || (!attr->recv_cq && !attr->srq))
		return -EINVAL;
	return 0;
}

static void init_qp(struct xiw_qp *qp, const struct ib_qp_init_attr *attr,
		    struct ib_ucontext *uctx)
{
	qp->dev = to_xdev(qp->ibqp.device);
	qp->uctx = uctx;
	qp->kernel = !uctx;
	kref_init(&qp->ref);
	init_completion(&qp->freed);
	spin_lock_init(&qp->lock);
	mutex_init(&qp->modify_lock);
	INIT_LIST_HEAD(&qp->handles);
	qp->state = XIW_QPS_IDLE;
	/* What consumers of iWARP find: there is no RESET before Idle. */
	qp->ib_state = IB_QPS_INIT;
	INIT_WORK(&qp->event_work, event_work);
	INIT_LIST_HEAD(&qp->srq_wait);
	spin_lock_init(&qp->mw_lock);
	INIT_LIST_HEAD(&qp->mws);
	qp->scq = to_xcq(attr->send_cq);
	qp->rcq = attr->recv_cq ? to_xcq(attr->recv_cq) : qp->scq;
	qp->srq = attr->srq ? to_xsrq(attr->srq) : NULL;
	qp->attr.qp_access_flags = 0;
	xiw_stream_init(qp);
}

static int respond(struct xiw_qp *qp, struct ib_udata *udata,
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
	return ib_copy_to_udata(udata, resp, sizeof(*resp));
}

static void report_caps(const struct xiw_qp *qp, struct ib_qp_cap *cap)
{
	cap->max_send_wr = qp->sq.max_wr;
	cap->max_send_sge = qp->sq.max_sge;
	cap->max_inline_data = qp->sq.max_inline;
	cap->max_recv_wr = qp->srq ? 0 : qp->rq.max_wr;
	cap->max_recv_sge = qp->srq ? 0 : qp->rq.max_sge;
}

/*
 * Random, for numbers can be guessed otherwise, and so that one that was given
 * back does not soon mean another queue pair. With XIW_MAX_QP few are taken.
 */
static int reserve_number(struct xiw_qp *qp)
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

/**
 * xiw_create_qp() - ib_device_ops.create_qp
 * @ibqp: allocated by the core as part of struct xiw_qp
 * @attr: what the consumer asks for, updated to what it gets
 * @udata: user request and response, NULL for kernel consumers
 *
 * Context: Sleeps.
 * Return: 0 or -errno.
 */
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

	ret = check_init_attr(attr);
	if (ret)
		return ret;
	if (ibuctx && udata->outlen < sizeof(resp))
		return -EINVAL;
	if (!xiw_udata_known(udata))
		return -EOPNOTSUPP;
	if (atomic_inc_return(&dev->num_qp) > XIW_MAX_QP) {
		ret = -ENOMEM;
		goto err_count;
	}
	init_qp(qp, attr, ibuctx);
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
	/* Nobody can find the queue pair yet. */
	ret = reserve_number(qp);
	if (ret)
		goto err_rq;
	ibqp->qp_num = qp->qpn;
	if (ibuctx) {
		ret = respond(qp, udata, &resp);
		if (ret)
			goto err_num;
	}
	report_caps(qp, &attr->cap);
	if (ibuctx)
		qp->memcg = get_mem_cgroup_from_mm(current->mm);
	xa_store_bh(&dev->qps, qp->qpn, qp, GFP_KERNEL);
	return 0;

err_num:
	xa_erase_bh(&dev->qps, qp->qpn);
err_rq:
	if (!qp->srq)
		xiw_rq_destroy(&qp->rq);
err_sq:
	xiw_sq_destroy(&qp->sq);
err_count:
	atomic_dec(&dev->num_qp);
	return ret;
}

static int qp_to_init(struct xiw_qp *qp)
{
	int ret = 0;

	spin_lock_bh(&qp->lock);
	if (qp->state == XIW_QPS_IDLE)
		WRITE_ONCE(qp->ib_state, IB_QPS_INIT);
	else if (!qp->ep)
		ret = -EINVAL;
	spin_unlock_bh(&qp->lock);
	return ret;
}

/* Nothing completes any more; drop what the consumer has not polled. */
static void purge_cqs(struct xiw_qp *qp)
{
	xiw_cq_purge(qp->scq, qp->qpn);
	if (qp->rcq != qp->scq)
		xiw_cq_purge(qp->rcq, qp->qpn);
}

static int qp_to_reset(struct xiw_qp *qp)
{
	int ret = 0;

	spin_lock_bh(&qp->lock);
	if (qp->ep || qp->resetting)
		ret = -EBUSY;
	else
		WRITE_ONCE(qp->resetting, true);
	spin_unlock_bh(&qp->lock);
	if (ret)
		return ret;
	/* The flush work does nothing any more, once it has ended. */
	xiw_qp_event(qp, XIW_QPE_RESET);
	flush_work(&qp->flush_work);
	/* What was posted is gone without completion, those not polled too. */
	xiw_sq_flush(qp);
	if (!qp->srq)
		xiw_rq_flush(qp);
	purge_cqs(qp);

	qp->tx.fin = false;
	qp->tx.fin_done = false;
	qp->tx.bounded = false;
	qp->tx.term_len = 0;
	qp->tx.term_sent = false;
	qp->last_wqe_told = false;
	atomic_set(&qp->tx.run, XIW_TX_RUNNING);
	WRITE_ONCE(qp->sq.stopped, false);

	spin_lock_bh(&qp->lock);
	qp->ib_state = IB_QPS_RESET;
	WRITE_ONCE(qp->resetting, false);
	spin_unlock_bh(&qp->lock);
	return 0;
}

/* Get the turn of the endpoint, if there is one; returns it. */
static struct xiw_ep *lock_ep(struct xiw_qp *qp)
{
	struct xiw_ep *ep = xiw_qp_get_ep(qp);

	if (ep)
		xiw_ep_lock(ep);
	return ep;
}

/* What was asked of the endpoint meanwhile is done when this returns. */
static void unlock_ep(struct xiw_ep *ep)
{
	if (!ep)
		return;
	xiw_ep_unlock(ep);
	xiw_ep_put(ep);
}

static int qp_to_closing(struct xiw_qp *qp)
{
	/* With nothing left to be sent, the FIN is out when this returns. */
	struct xiw_ep *ep = lock_ep(qp);
	struct xiw_sock *xs;

	xiw_qp_event(qp, XIW_QPE_LOCAL_CLOSE);
	/* The engine sends FIN when nothing is left; it may be idle. */
	xs = xiw_qp_lock_stream(qp);
	if (xs) {
		xiw_sendq_bound(qp);
		xiw_tx_run_locked(qp);
		xiw_qp_unlock_stream(xs);
	}
	unlock_ep(ep);
	return 0;
}

static int modify_state(struct xiw_qp *qp, enum ib_qp_state state)
{
	lockdep_assert_held(&qp->modify_lock);

	switch (state) {
	case IB_QPS_RESET:
		return qp_to_reset(qp);
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		return qp_to_init(qp);
	case IB_QPS_RTS:
		return READ_ONCE(qp->state) == XIW_QPS_RTS ? 0 : -EINVAL;
	case IB_QPS_SQD:
		return qp_to_closing(qp);
	case IB_QPS_ERR:
		xiw_qp_event(qp, XIW_QPE_LOCAL_ERROR);
		return 0;
	default:
		return -EINVAL;
	}
}

/**
 * xiw_modify_qp() - ib_device_ops.modify_qp
 * @ibqp: queue pair, or what iw_cm has of one
 * @attr: new values
 * @mask: which of them
 * @udata: of the call from user space, else NULL
 *
 * Startup brings the queue pair to RTS; a consumer may only confirm that. RTR
 * means no more than INIT: the consumer, through the connection manager, asks
 * for it before it accepts. SQD is a graceful close, ERR an abortive one.
 *
 * Context: Sleeps.
 * Return: 0 or -errno.
 */
int xiw_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata)
{
	struct xiw_qp *qp;
	int ret = 0;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS || !xiw_udata_known(udata))
		return -EOPNOTSUPP;
	qp = get_to_modify(ibqp);
	if (!qp)
		return -EINVAL;
	if (mask & IB_QP_ACCESS_FLAGS) {
		spin_lock_bh(&qp->lock);
		qp->attr.qp_access_flags = attr->qp_access_flags;
		spin_unlock_bh(&qp->lock);
	}
	if (mask & IB_QP_STATE) {
		mutex_lock(&qp->modify_lock);
		ret = modify_state(qp, attr->qp_state);
		mutex_unlock(&qp->modify_lock);
	}
	xiw_qp_put(qp);
	return ret;
}

/**
 * xiw_query_qp() - ib_device_ops.query_qp
 * @ibqp: queue pair
 * @attr: result
 * @mask: unused, everything is filled in
 * @init: result
 *
 * Context: Any with interrupts on.
 * Return: 0.
 */
int xiw_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct xiw_qp *qp = to_xqp(ibqp);

	/* All of it may be copied to a process. */
	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	spin_lock_bh(&qp->lock);
	attr->qp_state = xiw_qp_ib_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->qp_access_flags = qp->attr.qp_access_flags;
	attr->max_rd_atomic = min(qp->ord, 255U);
	attr->max_dest_rd_atomic = min(qp->irq_size, 255U);
	spin_unlock_bh(&qp->lock);

	attr->port_num = 1;
	attr->path_mtu = ib_mtu_int_to_enum(READ_ONCE(qp->dev->netdev->mtu));
	report_caps(qp, &attr->cap);
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

/* No endpoint can be attached any more; one that is ends, here and now. */
static void give_up(struct xiw_qp *qp)
{
	struct xiw_ep *ep;
	bool closing;

	spin_lock_bh(&qp->lock);
	WRITE_ONCE(qp->destroying, true);
	spin_unlock_bh(&qp->lock);

	ep = lock_ep(qp);
	spin_lock_bh(&qp->lock);
	/* TCP still carries what was sent, even if all else was flushed. */
	closing = qp->state == XIW_QPS_CLOSING ||
		  qp->state == XIW_QPS_TERMINATE ||
		  (qp->state == XIW_QPS_ERROR &&
		   (READ_ONCE(qp->tx.fin) || READ_ONCE(qp->tx.term_len)));
	if (qp->ep)
		xiw_ep_request(qp->ep, closing ? XIW_EP_CLOSE : XIW_EP_ABORT);
	spin_unlock_bh(&qp->lock);
	xiw_qp_give_up(qp);
	unlock_ep(ep);
}

/**
 * xiw_destroy_qp() - ib_device_ops.destroy_qp
 * @ibqp: queue pair
 * @udata: unused
 *
 * Ends the connection, gracefully only if a graceful close was under way, and
 * waits until everybody but iw_cm has let go, see struct handle.
 *
 * Context: Sleeps.
 * Return: 0.
 */
int xiw_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct xiw_qp *qp = to_xqp(ibqp);
	struct xiw_dev *dev = qp->dev;

	/* Not found any more; the number stays taken until all has gone. */
	xa_store_bh(&dev->qps, qp->qpn, NULL, GFP_KERNEL);
	give_up(qp);
	drop_handles(qp);
	xiw_qp_put(qp);
	wait_for_completion(&qp->freed);
	/* The last put may have come from a work item that is still ending. */
	cancel_work_sync(&qp->event_work);
	cancel_work_sync(&qp->flush_work);
	cancel_delayed_work_sync(&qp->tx.retry);
	cancel_delayed_work_sync(&qp->tx.buf.trim);
	cancel_delayed_work_sync(&qp->rx.kick);
	cancel_delayed_work_sync(&qp->rx.late);
	cancel_work_sync(&qp->rx.bulk);

	xiw_mw_release_qp(qp);
	purge_cqs(qp);
	xa_erase_bh(&dev->qps, qp->qpn);
	if (!qp->srq)
		xiw_rq_destroy(&qp->rq);
	xiw_sq_destroy(&qp->sq);
	mem_cgroup_put(qp->memcg);
	atomic_dec(&dev->num_qp);
	return 0;
}
