// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What iw_cm has of a queue pair. It looks one up by number for each call that
 * connects or accepts, passes what it got to ib_modify_qp(), which ends up in
 * xiw_modify_qp() with it, and gives it back. It gets a handle of ours instead
 * of the queue pair itself, for three reasons. For each stands here which
 * change of the core would make it unnecessary; packaging/patches-for/linux has
 * those that are written.
 *
 * DOC: destroying does not wait for iw_cm
 *
 * iw_cm gives a queue pair back in its one thread, which may be waiting to
 * report something to the consumer, who may be the caller of destroy: in a
 * handler of rdma_cm, which keeps others out. Or it does so when the identifier
 * is destroyed, which the caller may come to later. So a handle outlives its
 * queue pair. Not needed if iw_cm referenced queue pairs by the core's own
 * counts, and dropped them when the core destroys one.
 *
 * DOC: when a handle is freed
 *
 * To disconnect, iw_cm drops the lock under which it has looked at its handle
 * and then calls, while another of its threads may be giving the handle back,
 * and a process be destroying the queue pair. It does not sleep in between, but
 * may be preempted; so the memory of a handle is freed when every task has
 * slept, or was in user space, since nobody could find it any more. To wait for
 * that costs a look at every task of the host, so it is done for all handles of
 * a second at once, however many connections are made and ended. Not needed if
 * iw_cm took a reference around that call.
 *
 * DOC: there is a handle for each queue pair
 *
 * iw_cm looks queue pairs up with interrupts off and has but one error for a
 * look-up that fails, which says that there is no such queue pair. So the first
 * handle is allocated with the queue pair. Another one is needed only while
 * iw_cm has that of an earlier connection, or calls twice at the same time.
 *
 * DOC: the reference is taken by the look-up
 *
 * iw_cm looks a queue pair up without a reference and then asks for one, while
 * a process may be destroying it. So the look-up takes the reference, and
 * asking for one does nothing. Not needed if the provider's look-up returned
 * one by contract.
 *
 * Handles with a queue pair are on its list, in use or not, until it is
 * destroyed, or are used again by it. All under handle_lock. Those that are to
 * be freed are on @dead_handles.
 */
#include "iwqp.h"

#include <linux/llist.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "dev.h"
#include "qp.h"

/* How long what is to be freed is collected, in jiffies. */
#define XIW_IWQP_COLLECT	HZ

struct handle {
	struct ib_qp ibqp;
	struct xiw_qp *qp;		/* NULL if destroyed, or disowned */
	const struct task_struct *caller;
	bool used;			/* has a reference on @qp */
	bool known;			/* iw_cm has had it */
	struct list_head node;
	struct llist_node dead;
};

static DEFINE_SPINLOCK(handle_lock);
static LLIST_HEAD(dead_handles);

static struct handle *iwqp_to_handle(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct handle, ibqp);
}

static struct handle *iwqp_alloc_handle(struct xiw_qp *qp, gfp_t gfp)
{
	struct handle *h = kzalloc(sizeof(*h), gfp);

	if (!h)
		return NULL;
	h->ibqp.device = qp->ibqp.device;
	h->ibqp.real_qp = &h->ibqp;
	h->ibqp.qp_type = IB_QPT_RC;
	h->qp = qp;
	INIT_LIST_HEAD(&h->node);
	return h;
}

static struct handle *iwqp_get_handle(struct xiw_qp *qp)
{
	struct handle *h = NULL;

	spin_lock(&handle_lock);
	/* Set before xiw_iwqp_drop() takes the lock. */
	if (READ_ONCE(qp->destroying))
		goto unlock;
	list_for_each_entry(h, &qp->handles, node)
		if (!h->used)
			goto found;
	h = iwqp_alloc_handle(qp, GFP_ATOMIC | __GFP_NOWARN);
	if (!h)
		goto unlock;
found:
	/* The newest is the first. */
	list_move(&h->node, &qp->handles);
	h->ibqp.qp_num = qp->qpn;
	h->known = true;
	h->used = true;
	h->caller = current;
unlock:
	spin_unlock(&handle_lock);
	return h;
}

static void iwqp_free_handles(struct work_struct *work)
{
	struct llist_node *dead = llist_del_all(&dead_handles);
	struct handle *next;
	struct handle *h;

	synchronize_rcu_tasks();
	llist_for_each_entry_safe(h, next, dead, dead)
		kfree(h);
}

static DECLARE_DELAYED_WORK(free_work, iwqp_free_handles);

static void iwqp_free_handle(struct handle *h)
{
	if (!h->known)
		kfree(h);
	else if (llist_add(&h->dead, &dead_handles))
		queue_delayed_work(system_dfl_wq, &free_work, XIW_IWQP_COLLECT);
}

/**
 * xiw_iwqp_init() - allocate the first handle of a queue pair
 * @qp: new queue pair that has its device
 *
 * Context: Sleeps.
 * Return: 0 or -ENOMEM.
 */
int xiw_iwqp_init(struct xiw_qp *qp)
{
	struct handle *h = iwqp_alloc_handle(qp, GFP_KERNEL_ACCOUNT);

	if (!h)
		return -ENOMEM;
	list_add(&h->node, &qp->handles);
	return 0;
}

/**
 * xiw_iwqp_drop() - the queue pair goes away
 * @qp: queue pair that cannot be found, no longer or not yet
 *
 * Handles in use are freed by xiw_iwqp_rem_ref().
 *
 * Context: Process context.
 */
void xiw_iwqp_drop(struct xiw_qp *qp)
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
			iwqp_free_handle(h);
	}
	spin_unlock_irq(&handle_lock);
}

/**
 * xiw_iwqp_module_exit() - wait for what was left to be freed
 *
 * Context: Sleeps; no device exists.
 */
void xiw_iwqp_module_exit(void)
{
	flush_delayed_work(&free_work);
}

/**
 * xiw_iwqp_qp() - the queue pair that iw_cm has
 * @ibqp: from xiw_iwqp_get()
 *
 * Context: Any with interrupts on.
 * Return: The queue pair with a reference for the caller, NULL if it is being
 * destroyed or was disowned.
 */
struct xiw_qp *xiw_iwqp_qp(struct ib_qp *ibqp)
{
	struct xiw_qp *qp;

	spin_lock_irq(&handle_lock);
	qp = iwqp_to_handle(ibqp)->qp;
	if (qp && !kref_get_unless_zero(&qp->ref))
		qp = NULL;
	spin_unlock_irq(&handle_lock);
	return qp;
}

/**
 * xiw_iwqp_disown() - leave iw_cm a handle with nothing behind it
 * @ibqp: from xiw_iwqp_current(); of a queue pair that is not the consumer's,
 *	so iw_cm is not to disconnect it
 *
 * Context: Process context.
 */
void xiw_iwqp_disown(struct ib_qp *ibqp)
{
	struct handle *h = iwqp_to_handle(ibqp);
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
 * xiw_iwqp_rem_ref() - ib_device_ops.iw_rem_ref
 * @ibqp: from xiw_iwqp_get(), for each time once
 *
 * Context: Process context.
 */
void xiw_iwqp_rem_ref(struct ib_qp *ibqp)
{
	struct handle *h = iwqp_to_handle(ibqp);
	struct xiw_qp *qp;

	spin_lock_irq(&handle_lock);
	qp = h->qp;
	h->used = false;
	spin_unlock_irq(&handle_lock);
	if (qp)
		xiw_qp_put(qp);
	else
		iwqp_free_handle(h);
}

/**
 * xiw_iwqp_current() - what iw_cm has looked up for the call that it makes
 * @dev: device
 * @qpn: number of the queue pair that the call names
 *
 * Context: The caller of xiw_iwqp_get(), with interrupts on.
 * Return: What that has returned, or NULL.
 */
struct ib_qp *xiw_iwqp_current(struct xiw_dev *dev, u32 qpn)
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
 * xiw_iwqp_get() - ib_device_ops.iw_get_qp
 * @ibdev: device
 * @qpn: QP number
 *
 * Context: iw_cm's, with interrupts off.
 * Return: Handle of the queue pair, with a reference on it, or NULL.
 */
struct ib_qp *xiw_iwqp_get(struct ib_device *ibdev, int qpn)
{
	struct xiw_dev *dev = to_xdev(ibdev);
	struct xiw_qp *qp;
	struct handle *h;

	lockdep_assert_irqs_disabled();

	xa_lock(&dev->qps);
	qp = xiw_qp_get_by_num_locked(dev, qpn);
	xa_unlock(&dev->qps);
	if (!qp)
		return NULL;
	h = iwqp_get_handle(qp);
	if (h)
		return &h->ibqp;
	xiw_qp_put(qp);
	return NULL;
}

/**
 * xiw_iwqp_add_ref() - ib_device_ops.iw_add_ref
 * @ibqp: queue pair that iw_cm has just looked up
 *
 * Nothing: xiw_iwqp_get() has taken the reference, see above.
 *
 * Context: Any.
 */
void xiw_iwqp_add_ref(struct ib_qp *ibqp)
{
}
