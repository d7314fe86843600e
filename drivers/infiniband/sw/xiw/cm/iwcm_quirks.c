// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Workarounds for bugs and gaps of iw_cm and rdma_cm, one section each. The
 * beginning of a section names the change of the core that makes it
 * unnecessary; packaging/patches-for/linux has those that are written, and a
 * kernel that has one of these compiles the section without the workaround.
 */
#include "iwcm_quirks.h"

#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/if_vlan.h>
#include <linux/inet.h>
#include <linux/jiffies.h>
#include <linux/llist.h>
#include <linux/netdevice.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/stat.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "cm.h"
#include "dev.h"
#include "llp/sock.h"
#include "qp/ep.h"
#include "qp/qp.h"

#if !defined(XIW_HAVE_IW_CM_ID_NET) || !defined(XIW_HAVE_IW_CONN_PARAM_USER)
/*
 * The namespace and the owner of an iw_cm_id
 *
 * rdma_cm starts the listeners of every network namespace on every device,
 * chooses the first device of the host for a loopback address, and does not
 * check that a process owns the queue pair whose number it names. iw_cm passes
 * neither the namespace nor the owner of the queue pair to providers.
 *
 * rdma_cm is the only user of iw_cm. The handler of an iw_cm_id is a function
 * of rdma_cm, and the handler's context is rdma_cm's private identifier. That
 * begins with the public struct rdma_cm_id, also if rdma_cm created it for one
 * device of many that a ULP listens on. It has the namespace and, for ULPs in
 * the kernel, the queue pair. The identifier and its reference on the namespace
 * exist during the call of iw_cm in which a provider reads them.
 *
 * The type of the context is checked: the handler's symbol must be one of
 * rdma_cm, and the identifier must have the device of the iw_cm_id. An iw_cm_id
 * that is not recognised is refused.
 *
 * "RDMA/iwcm: Tell providers the network namespace of the consumer" makes this
 * unnecessary for the namespace, and "RDMA/iwcm: Let a process connect only its
 * own queue pairs" for the queue pair.
 */

/*
 * Is it the handler of listeners or that of connections? The name may have a
 * suffix of link time optimisation, and the module unless that is built in.
 */
static bool quirks_is_rdma_cm(iw_cm_handler handler)
{
	char name[64];

	snprintf(name, sizeof(name), "%ps", handler);
	return (str_has_prefix(name, "iw_conn_req_handler") ||
		str_has_prefix(name, "cma_iw_handler")) &&
	       (!strchr(name, '[') || strstr(name, "[rdma_cm]"));
}

/* The identifier of rdma_cm, or NULL if the iw_cm_id is not recognised. */
static const struct rdma_cm_id *quirks_cma_id(const struct iw_cm_id *cm_id)
{
	const struct rdma_cm_id *id = cm_id->context;

	if (!id || !quirks_is_rdma_cm(cm_id->cm_handler))
		return NULL;
	return id->device == cm_id->device ? id : NULL;
}
#endif

#ifdef XIW_HAVE_IW_CM_ID_NET
static struct net *quirks_net_of(const struct iw_cm_id *cm_id)
{
	return cm_id->net;
}
#else
static struct net *quirks_net_of(const struct iw_cm_id *cm_id)
{
	const struct rdma_cm_id *id = quirks_cma_id(cm_id);

	return id ? id->route.addr.dev_addr.net : NULL;
}
#endif

/*
 * The namespace that sockets of a ULP belong to, which is to connect or to
 * listen. It stays until the call of iw_cm returns; before this nothing of
 * @cm_id may change. -ENETUNREACH if the device cannot be used there,
 * -EOPNOTSUPP if the ULP is not recognised.
 *
 * A netdev that is about to leave the namespace ends the endpoints of its
 * device first, and admits no new one: so call this before xiw_ep_publish().
 */
struct net *xiw_quirk_net(const struct iw_cm_id *cm_id)
{
	struct net *net = quirks_net_of(cm_id);

	if (!net)
		return ERR_PTR(-EOPNOTSUPP);
	return xiw_conn_may_use(to_xdev(cm_id->device), net) ?
		net : ERR_PTR(-ENETUNREACH);
}

#ifndef XIW_HAVE_IW_CONN_PARAM_USER
/*
 * Is @file the file @ufile of uverbs? Called for each descriptor, with
 * files->file_lock held. Other kinds of files may have the same pointer.
 */
static int quirks_is_file_of(const void *ufile, struct file *file,
			     unsigned int fd)
{
	return file->private_data == ufile &&
	       S_ISCHR(file_inode(file)->i_mode);
}

/*
 * May a ULP connect or accept with this queue pair? 0 or -EPERM. In the task of
 * the ULP.
 *
 * Every process with a descriptor of the file through which a queue pair was
 * created may use it: its own threads, and processes that have inherited or
 * received the descriptor. The core permits them everything else, too. The
 * queue pair of a ULP in the kernel belongs to the identifier for which it was
 * created.
 *
 * An address may move to another interface after xiw_quirk_check_request().
 * Then rdma_cm has passed the device of that interface to the ULP, and the
 * number is of a queue pair there: the identifier is not recognised as one of
 * this device.
 */
int xiw_quirk_owns(const struct iw_cm_id *cm_id, const struct xiw_qp *qp)
{
	const struct rdma_cm_id *id = quirks_cma_id(cm_id);

	if (!id)
		return -EPERM;
	/* The context of a process outlives its queue pairs. */
	if (qp->uctx)
		return iterate_fd(current->files, 0, quirks_is_file_of,
				  qp->uctx->ufile)
			       ? 0
			       : -EPERM;
	return id->qp == &qp->ibqp ? 0 : -EPERM;
}
#endif

#ifndef XIW_HAVE_IW_CM_ID_ANY_PORT
/*
 * A local port that rdma_cm has drawn
 *
 * For a ULP that names no port, rdma_cm draws one of the ephemeral range. It
 * does not reserve the port at TCP, and the provider cannot see which ports
 * were drawn. So every port of that range counts as drawn.
 *
 * "RDMA/iwcm: Tell providers that a local port was drawn" makes this
 * unnecessary.
 */
#endif

/*
 * May the local port be shared with other connections? False if the ULP has
 * certainly asked for this very port. Any context.
 */
bool xiw_quirk_port_was_drawn(const struct iw_cm_id *cm_id, struct net *net)
{
#ifdef XIW_HAVE_IW_CM_ID_ANY_PORT
	return cm_id->any_port;
#else
	u16 port = ntohs(xiw_sock_port_of(&cm_id->m_local_addr));
	int low, high;

	inet_get_local_port_range(net, &low, &high);
	return port >= low && port <= high;
#endif
}

#ifdef XIW_HAVE_IW_GET_QP_REF
/*
 * ib_device_ops.iw_get_qp, which takes a reference. Any context with interrupts
 * on.
 */
struct ib_qp *xiw_iwqp_get(struct ib_device *ibdev, u32 qpn)
{
	struct xiw_qp *qp = xiw_qp_get_by_num(to_xdev(ibdev), qpn);

	return qp ? &qp->ibqp : NULL;
}

/* ib_device_ops.iw_add_ref, in any context. */
void xiw_iwqp_add_ref(struct ib_qp *ibqp)
{
	xiw_qp_get(to_xqp(ibqp));
}

/* ib_device_ops.iw_rem_ref, in any context. */
void xiw_iwqp_rem_ref(struct ib_qp *ibqp)
{
	xiw_qp_put(to_xqp(ibqp));
}
#else
/*
 * Handles of queue pairs
 *
 * For each call that connects or accepts, iw_cm looks a queue pair up by
 * number, passes it to ib_modify_qp(), which calls xiw_modify_qp() with it, and
 * puts it. iw_cm is given a handle instead of the queue pair itself, for three
 * reasons.
 *
 * First, destroying a queue pair must not wait for iw_cm. iw_cm puts a queue
 * pair in its only thread, which may be waiting for a handler of rdma_cm, in
 * which a ULP is destroying the queue pair. Or iw_cm puts it when the
 * identifier is destroyed, which the same caller may do later. So a handle
 * outlives its queue pair. "RDMA/iwcm: Give a queue pair back when its
 * connection ends" makes this unnecessary.
 *
 * Second, iw_cm uses a handle without a reference. To disconnect, it drops the
 * lock under which it has read its handle, and then calls the provider, while
 * another thread may put the handle and a process may destroy the queue pair.
 * iw_cm does not sleep in between, but may be preempted. So the memory of a
 * handle is freed when every task has slept, or was in user space, since the
 * handle could last be found. As this wait visits every task of the host, one
 * wait serves all handles of a second. "RDMA/iwcm: Hold the queue pair while it
 * is disconnected" makes this unnecessary.
 *
 * Third, iw_cm looks a queue pair up without a reference and takes one
 * afterwards, while a process may be destroying the queue pair. So the look-up
 * takes the reference, and the first call of xiw_iwqp_add_ref() does nothing.
 * "RDMA/iwcm: Let the look-up of a queue pair take the reference" makes this
 * unnecessary.
 *
 * iw_cm looks queue pairs up with interrupts off, and a failed look-up is
 * reported as "no such queue pair", also for lack of memory. So the first
 * handle is allocated with the queue pair. Another one is needed only while
 * iw_cm still has that of an earlier connection, or makes two calls at a time.
 *
 * A queue pair has a list of its handles, whether iw_cm has references to them
 * or not, and uses them again. Handles to be freed are in dead_handles. All of
 * this is protected by handle_lock.
 */

/* How long handles are collected before they are freed, in jiffies */
#define XIW_IWQP_COLLECT	HZ

struct quirks_handle {
	struct ib_qp ibqp;
	struct xiw_qp *qp;		/* NULL if destroyed, or disowned */
	const struct task_struct *caller; /* of the last look-up, or NULL */
	unsigned int refs;		/* of iw_cm; together they hold @qp */
	bool asked;			/* xiw_iwqp_add_ref() was called */
	struct list_head node;
	struct llist_node dead;
};

static DEFINE_SPINLOCK(handle_lock);
static LLIST_HEAD(dead_handles);

static struct quirks_handle *quirks_to_handle(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct quirks_handle, ibqp);
}

static struct quirks_handle *quirks_alloc_handle(struct xiw_qp *qp, gfp_t gfp)
{
	struct quirks_handle *h = kzalloc(sizeof(*h), gfp);

	if (!h)
		return NULL;
	h->ibqp.device = qp->ibqp.device;
	h->ibqp.real_qp = &h->ibqp;
	h->ibqp.qp_type = IB_QPT_RC;
	h->qp = qp;
	INIT_LIST_HEAD(&h->node);
	return h;
}

static struct quirks_handle *quirks_get_handle(struct xiw_qp *qp)
{
	struct quirks_handle *h = NULL;
	unsigned long flags;

	spin_lock_irqsave(&handle_lock, flags);
	/* @destroying is set before xiw_iwqp_drop() takes the lock. */
	if (READ_ONCE(qp->destroying))
		goto unlock;
	list_for_each_entry(h, &qp->handles, node)
		if (!h->refs)
			goto found;
	h = quirks_alloc_handle(qp, GFP_ATOMIC | __GFP_NOWARN);
	if (!h)
		goto unlock;
found:
	/* The newest handle is the first in the list. */
	list_move(&h->node, &qp->handles);
	h->ibqp.qp_num = qp->qpn;
	h->refs = 1;
	h->asked = false;
	h->caller = current;
unlock:
	spin_unlock_irqrestore(&handle_lock, flags);
	return h;
}

static void quirks_free_handles(struct work_struct *work)
{
	struct llist_node *dead = llist_del_all(&dead_handles);
	struct quirks_handle *next;
	struct quirks_handle *h;

	synchronize_rcu_tasks();
	llist_for_each_entry_safe(h, next, dead, dead)
		kfree(h);
}

static DECLARE_DELAYED_WORK(free_work, quirks_free_handles);

static void quirks_free_handle(struct quirks_handle *h)
{
	/* One that iw_cm never had can be freed at once. */
	if (!h->caller)
		kfree(h);
	else if (llist_add(&h->dead, &dead_handles))
		queue_delayed_work(system_dfl_wq, &free_work, XIW_IWQP_COLLECT);
}

/* Allocates the first handle of a new queue pair that has its device. */
int xiw_iwqp_init(struct xiw_qp *qp)
{
	struct quirks_handle *h = quirks_alloc_handle(qp, GFP_KERNEL_ACCOUNT);

	if (!h)
		return -ENOMEM;
	list_add(&h->node, &qp->handles);
	return 0;
}

/*
 * Separates a queue pair that cannot be found any more, or yet, from its
 * handles. Those in use are freed by xiw_iwqp_rem_ref(). Process context.
 */
void xiw_iwqp_drop(struct xiw_qp *qp)
{
	struct quirks_handle *next;
	struct quirks_handle *h;

	spin_lock_irq(&handle_lock);
	list_for_each_entry_safe(h, next, &qp->handles, node) {
		list_del_init(&h->node);
		h->qp = NULL;
		if (h->refs)
			xiw_qp_put(qp);
		else
			quirks_free_handle(h);
	}
	spin_unlock_irq(&handle_lock);
}

/*
 * The queue pair behind a handle, with a reference for the caller. NULL if it
 * is being destroyed or was disowned. Any context with interrupts on.
 */
struct xiw_qp *xiw_iwqp_qp(struct ib_qp *ibqp)
{
	struct xiw_qp *qp;

	spin_lock_irq(&handle_lock);
	qp = quirks_to_handle(ibqp)->qp;
	if (qp && !kref_get_unless_zero(&qp->ref))
		qp = NULL;
	spin_unlock_irq(&handle_lock);
	return qp;
}

/* The ULP does not own the queue pair, so iw_cm must not disconnect it. */
static void quirks_disown(struct ib_qp *ibqp)
{
	struct quirks_handle *h = quirks_to_handle(ibqp);
	struct xiw_qp *qp;

	spin_lock_irq(&handle_lock);
	qp = h->qp;
	list_del_init(&h->node);
	h->qp = NULL;
	spin_unlock_irq(&handle_lock);
	if (qp)
		xiw_qp_put(qp);
}

/*
 * ib_device_ops.iw_rem_ref, in any context: once per call of xiw_iwqp_get(),
 * and of xiw_iwqp_add_ref() after the first one.
 */
void xiw_iwqp_rem_ref(struct ib_qp *ibqp)
{
	struct quirks_handle *h = quirks_to_handle(ibqp);
	unsigned long flags;
	struct xiw_qp *qp;
	bool last;

	spin_lock_irqsave(&handle_lock, flags);
	qp = h->qp;
	last = !--h->refs;
	spin_unlock_irqrestore(&handle_lock, flags);
	if (!last)
		return;
	if (qp)
		xiw_qp_put(qp);
	else
		quirks_free_handle(h);
}

/*
 * The handle of a queue pair that iw_cm has looked up for its current call, in
 * this task. NULL if the queue pair is being destroyed.
 */
struct ib_qp *xiw_iwqp_current(struct xiw_qp *qp)
{
	struct ib_qp *ibqp = NULL;
	struct quirks_handle *h;

	spin_lock_irq(&handle_lock);
	list_for_each_entry(h, &qp->handles, node) {
		if (h->refs && h->caller == current) {
			ibqp = &h->ibqp;
			break;
		}
	}
	spin_unlock_irq(&handle_lock);
	return ibqp;
}

/*
 * ib_device_ops.iw_get_qp: the handle of a queue pair, with a reference on it,
 * or NULL. Any context, also with interrupts off.
 */
struct ib_qp *xiw_iwqp_get(struct ib_device *ibdev, int qpn)
{
	struct xiw_dev *dev = to_xdev(ibdev);
	struct xiw_qp *qp;
	struct quirks_handle *h;
	unsigned long flags;

	xa_lock_irqsave(&dev->qps, flags);
	qp = xiw_qp_get_by_num_locked(dev, qpn);
	xa_unlock_irqrestore(&dev->qps, flags);
	if (!qp)
		return NULL;
	h = quirks_get_handle(qp);
	if (h)
		return &h->ibqp;
	xiw_qp_put(qp);
	return NULL;
}

/*
 * ib_device_ops.iw_add_ref, in any context. The first call has no effect:
 * xiw_iwqp_get() has taken the reference, see above.
 */
void xiw_iwqp_add_ref(struct ib_qp *ibqp)
{
	struct quirks_handle *h = quirks_to_handle(ibqp);
	unsigned long flags;

	spin_lock_irqsave(&handle_lock, flags);
	h->refs += h->asked;
	h->asked = true;
	spin_unlock_irqrestore(&handle_lock, flags);
}

#endif /* !XIW_HAVE_IW_GET_QP_REF */

#ifdef XIW_HAVE_IW_GET_QP_REF
/* Adds the Private Data to the report of a child's request. */
void xiw_quirk_set_request(struct xiw_ep *ep, struct iw_cm_event *event)
{
	const struct xiw_mpa_frame *req = &ep->startup->req;

	event->private_data = ep->startup->frame + req->pd_off;
	event->private_data_len = req->pd_len;
	/* iw_cm rejects the requests that it does not deliver. */
	WRITE_ONCE(ep->delivered, true);
}
#else
/*
 * The Private Data of a request
 *
 * iw_cm copies the Private Data of a request and frees the copy after the
 * handler of the ULP. If it drops the request because the listener has ended,
 * it leaks the copy, for instance of an Initiator that connects while a server
 * restarts. So requests are reported without Private Data, which stays with the
 * endpoint, and a handler that is called before that of the ULP adds it. The
 * same handler records which requests were delivered, as the others end with
 * the listener, and that iw_cm has room for another request.
 *
 * "RDMA/iwcm: Reject the connection requests of a listener that has ended"
 * makes this unnecessary. There the answer shows that iw_cm has room.
 */

/*
 * iw_cm calls this once, with the cm_id of a request, which has inherited the
 * handler of the listener. Adds the Private Data to @event. The end of the
 * listener, and so that of the device, waits for a running handler.
 */
static int quirks_upcall(struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	struct xiw_dev *dev = to_xdev(cm_id->device);
	const struct xiw_mpa_frame *req;
	struct xiw_ep *ep;
	int ret = 0;

	xa_lock(&dev->requests);
	ep = xa_load(&dev->requests, xa_to_value(event->provider_data));
	/* An endpoint in this array has not released @parent and @startup. */
	if (!ep || ep->delivered) {
		/* The endpoint has ended before the request was delivered. */
		ret = -ECONNRESET;
		goto unlock;
	}
	WRITE_ONCE(ep->delivered, true);
	/* iw_cm has just released its preallocated entry of this request. */
	xiw_listen_has_room(ep->parent);
	cm_id->cm_handler = ep->parent->listen->handler;
	req = &ep->startup->req;
	if (!req->pd_len)
		goto unlock;
	event->private_data = kmemdup(ep->startup->frame + req->pd_off,
				      req->pd_len, GFP_ATOMIC);
	if (event->private_data)
		event->private_data_len = req->pd_len;
	else
		ret = -ENOMEM;
unlock:
	xa_unlock(&dev->requests);
	/* iw_cm frees the Private Data afterwards, like its own copies. */
	return ret ? ret : cm_id->cm_handler(cm_id, event);
}

/* Installs a handler that calls that of the ULP. */
void xiw_quirk_take_handler(struct iw_cm_id *cm_id,
			    struct xiw_ep_listen *listen)
{
	listen->handler = cm_id->cm_handler;
	cm_id->cm_handler = quirks_upcall;
}

/*
 * Requests that are answered twice
 *
 * Until iw_cm has processed ESTABLISHED, which in the peer-to-peer model
 * depends on the peer, neither iw_cm nor rdma_cm prevents a process from
 * accepting a request twice, or from rejecting it after it was accepted. For
 * the second accept iw_cm looks up another QP and loses the one that it has a
 * reference to; and after a reject, or a failed accept, any event is a BUG() in
 * iw_cm. So from the accept on, the cm_id has the handle of that QP in place of
 * the cookie. If nothing was reported yet, the connection ends without a
 * report. Otherwise the reference that iw_cm has lost is dropped.
 *
 * "RDMA/iwcm: Refuse a second answer to a connection request" makes this
 * unnecessary.
 */

/* Cancels an accept; @handle is that of the first accept. */
static int quirks_retract(struct iw_cm_id *cm_id, struct ib_qp *handle)
{
	struct xiw_qp *qp = xiw_iwqp_qp(handle);
	int ret = -EINVAL;
	struct xiw_ep *ep;

	if (!qp)
		return -ECONNRESET;
	ep = xiw_qp_get_ep(qp);
	xiw_qp_put(qp);
	if (!ep)
		return -ECONNRESET;
	xiw_ep_lock(ep);
	/* The QP may have another connection now. */
	if (ep->state == XIW_EPS_RTR && ep->cm_id == cm_id) {
		xiw_ep_enter(ep, xiw_passive_failed(ep));
		ret = 0;
	}
	xiw_ep_unlock(ep);
	xiw_ep_put(ep);
	return ret;
}

/* The handle of the second accept, by which iw_cm will disconnect. */
static struct ib_qp *quirks_second_handle(struct iw_cm_id *cm_id, u32 qpn)
{
	struct xiw_qp *qp = xiw_qp_get_by_num(to_xdev(cm_id->device), qpn);
	struct ib_qp *handle;

	if (!qp)
		return NULL;
	handle = xiw_iwqp_current(qp);
	if (handle && xiw_quirk_owns(cm_id, qp))
		quirks_disown(handle);
	xiw_qp_put(qp);
	return handle;
}

/*
 * Answers a request that was accepted; @cm_id has the handle of the accept. By
 * a second accept, with @param: 0 if the first one stays valid, -EINVAL if it
 * was cancelled. By a reject, without @param: negative errno if the accept
 * stays valid.
 */
int xiw_quirk_answer_again(struct iw_cm_id *cm_id,
			   const struct iw_cm_conn_param *param)
{
	struct ib_qp *first = cm_id->provider_data;
	int ret;

	if (!first)
		return param ? 0 : -EINVAL;
	ret = quirks_retract(cm_id, first);
	/* After an error iw_cm puts the new handle, and keeps none. */
	if (!ret)
		cm_id->provider_data = NULL;
	else if (param)
		cm_id->provider_data = quirks_second_handle(cm_id, param->qpn);
	if (!param)
		return ret;
	xiw_iwqp_rem_ref(first);
	return ret ? 0 : -EINVAL;
}
#endif /* !XIW_HAVE_IW_GET_QP_REF */

/*
 * The order of requests
 *
 * Programs such as perftest make several connections to one server, and each
 * side numbers them in the order in which it sees them. The order in which
 * their Requests arrive is random. So the connections of one address are
 * reported in the order in which TCP has accepted them: a Request that is ready
 * waits for those of older children of the same peer, as long as TCP needs to
 * retransmit a lost one. Requests that are ready never overtake each other.
 *
 * Unnecessary if such programs put the number into the Private Data.
 */

/*
 * Milliseconds after which to check again, or 0 if there is no older child to
 * wait for. XIW_EPE_SOCK is raised when the older child leaves the listener.
 * The oldest child that is ready waits for XIW_EP_ORDER_MS at most, so there is
 * no deadlock.
 */
static u32 quirks_order(struct xiw_ep *ep)
{
	struct xiw_ep_listen *listen = ep->parent->listen;
	unsigned long patience = msecs_to_jiffies(XIW_EP_ORDER_MS);
	unsigned long now = jiffies;
	struct xiw_ep *older;
	u32 ms = 0;

	spin_lock(&listen->lock);
	ep->ready = true;
	list_for_each_entry(older, &listen->half_open.list, by_peer.node) {
		if (older == ep)
			break;
		if (!ipv6_addr_equal(&older->by_peer.peer, &ep->by_peer.peer))
			continue;
		if (older->ready)
			ms = XIW_EP_ORDER_MS;
		else if (time_before(now, older->by_peer.since + patience))
			ms = jiffies_to_msecs(older->by_peer.since + patience -
					      now);
		if (ms)
			break;
	}
	spin_unlock(&listen->lock);
	return ms;
}

/*
 * Requests for the address of another interface
 *
 * A wildcard listener exists on each device and accepts connections that arrive
 * on its interface. Their destination may be an address of another interface: a
 * service address on dummy or lo or, with two interfaces in one subnet, an
 * address that the peer's neighbour table maps to this interface. rdma_cm looks
 * up the device by address, and passes that device to the ULP, or rejects the
 * request. The ULP would then accept with a queue pair of the other device,
 * whose number may belong to a different queue pair of this one.
 *
 * So the connection becomes a child of the listener that the same ULP has on
 * the other device. If there is none, its Request is refused.
 *
 * Unnecessary if rdma_cm left a request with the device that reports it.
 */

/* rdma_cm does not distinguish a VLAN from the interface below it. */
static bool quirks_is_vlan_of(const struct net_device *vlan,
			      const struct net_device *lower)
{
	return is_vlan_dev(vlan) && vlan_dev_real_dev(vlan) == lower;
}

/*
 * Would rdma_cm pass a request for @local to another device than @dev? Then
 * @netdev is the interface with the address, with a reference, or NULL if there
 * is none. Of several this is the one that rdma_cm finds, by the same call.
 */
static bool quirks_goes_elsewhere(const struct xiw_dev *dev,
				  const struct xiw_sock *xs,
				  const struct sockaddr_storage *local,
				  struct net_device **netdev)
{
	struct rdma_dev_addr found = { .net = sock_net(xs->sk) };
	struct net_device *other = NULL;

	if (!rdma_translate_ip((const struct sockaddr *)local, &found))
		other = dev_get_by_index(found.net, found.bound_dev_if);
	*netdev = other;
	if (!other)
		return true;
	if (other != dev->netdev && !quirks_is_vlan_of(other, dev->netdev) &&
	    !quirks_is_vlan_of(dev->netdev, other))
		return true;
	dev_put(other);
	return false;
}

/*
 * Does a listener of another device belong to the same call of rdma_listen()?
 * In a namespace only one identifier of rdma_cm can listen on an address and a
 * port, and all listeners of a device are of the namespace of its netdev. With
 * another protocol it is no twin: its connections have other rules.
 */
static bool quirks_is_twin(const struct xiw_ep *other, const struct xiw_ep *ep)
{
	struct xiw_ep_listen *listen = other->listen;
	bool twin;

	spin_lock(&listen->lock);
	twin = !listen->closed && other->cm_id && other->sctp == ep->sctp &&
	       !memcmp(&other->cm_id->local_addr, &ep->cm_id->local_addr,
		       sizeof(ep->cm_id->local_addr));
	spin_unlock(&listen->lock);
	return twin;
}

static struct xiw_ep *quirks_get_twin_of(struct xiw_dev *dev,
					 const struct xiw_ep *ep)
{
	struct xiw_ep_listen *other;
	struct xiw_ep *twin = NULL;

	spin_lock(&dev->ep_lock);
	hash_for_each_possible(dev->listeners, other, by_port,
			       (__force u16)ep->listen->port) {
		if (quirks_is_twin(other->ep, ep)) {
			xiw_ep_get(other->ep);
			twin = other->ep;
			break;
		}
	}
	spin_unlock(&dev->ep_lock);
	return twin;
}

/*
 * xiw_cm_user.get_twin: the listener of the same ULP on the device that has the
 * address @local, to which @ep has accepted a connection.
 */
struct xiw_ep *xiw_quirk_get_twin(const struct xiw_ep *ep, struct xiw_sock *xs,
				  const struct sockaddr_storage *local)
{
	struct ib_device *ibdev = NULL;
	struct net_device *netdev;
	struct xiw_ep *twin;

	if (!quirks_goes_elsewhere(ep->dev, xs, local, &netdev))
		return NULL;
	if (netdev)
		ibdev = ib_device_get_by_netdev(netdev, XIW_RDMA_DRIVER_ID);
	dev_put(netdev);
	if (!ibdev)
		return NULL;
	twin = quirks_get_twin_of(to_xdev(ibdev), ep);
	if (!twin)
		ib_device_put(ibdev);
	return twin;
}

/* Would rdma_cm pass the request to another device? Logged and counted. */
static bool quirks_is_misrouted(const struct xiw_ep *ep)
{
	const struct sockaddr_storage *local = &ep->startup->names.local;
	struct net_device *netdev;

	if (!quirks_goes_elsewhere(ep->dev, ep->xs, local, &netdev))
		return false;
	ibdev_info_ratelimited(&ep->dev->ibdev,
			       "refused a connection to %pISpc, an address of %s, which has no xiw device that listens for it\n",
			       local, netdev ? netdev->name : "no interface");
	dev_put(netdev);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_MISROUTED);
	return true;
}

/*
 * May the complete Request of a child be reported now? 0; milliseconds after
 * which to check again, if an older request is to be reported first;
 * -EHOSTUNREACH if rdma_cm would pass it to another device.
 */
int xiw_quirk_check_request(struct xiw_ep *ep)
{
	u32 ms = quirks_order(ep);

	if (ms)
		return ms;
	return quirks_is_misrouted(ep) ? -EHOSTUNREACH : 0;
}

#ifndef XIW_HAVE_IW_GET_QP_REF
/*
 * Processes that are killed
 *
 * While iw_cm waits for the outcome of a connect or an accept, the process
 * cannot be killed: neither where it destroys the identifier or disconnects,
 * nor where it ends, if the identifier is released before the queue pair. The
 * provider is not called before that wait. So a timer of the endpoint checks
 * the process until the outcome was reported. A process that is ending at two
 * checks in a row is waiting, and the connection is closed. If the process has
 * ended but its queue pair exists, another process shares the queue pair, and
 * the connect continues.
 *
 * "RDMA/iwcm: Do not let a killed process wait for the end of a connect" makes
 * this unnecessary.
 */

/* Interval of the checks, in jiffies */
#define XIW_QUIRK_CHECK		(HZ / 2)

/*
 * Does a process only wait for its core dump? The dump may take long, and files
 * are closed afterwards. It begins when every thread is about to exit; until
 * then a thread may still wait for the connection.
 */
static bool quirks_dumps_core(struct task_struct *leader)
{
	struct task_struct *t;

	if (!READ_ONCE(leader->signal->core_state))
		return false;
	for_each_thread(leader, t) {
		if (!(READ_ONCE(t->flags) & (PF_DUMPCORE | PF_POSTCOREDUMP)))
			return false;
	}
	return true;
}

/* Is a process ending with its files still open? */
static bool quirks_is_ending(struct pid *process)
{
	struct task_struct *leader;
	bool ret = false;

	rcu_read_lock();
	leader = pid_task(process, PIDTYPE_TGID);
	if (leader && READ_ONCE(leader->signal->flags) & SIGNAL_GROUP_EXIT &&
	    !quirks_dumps_core(leader))
		ret = !READ_ONCE(leader->exit_state) ||
		      !thread_group_empty(leader);
	rcu_read_unlock();
	return ret;
}

static void quirks_check_process(struct timer_list *t)
{
	struct xiw_ep *ep = timer_container_of(ep, t, watch);
	bool was = ep->ending;

	ep->ending = quirks_is_ending(ep->process);
	if (was && ep->ending)
		xiw_ep_raise(ep, XIW_EPE_CLOSE);
	mod_timer(&ep->watch, jiffies + XIW_QUIRK_CHECK);
}

/* Closes the connection when the calling process is killed. There is a QP. */
void xiw_quirk_watch(struct xiw_ep *ep)
{
	if (ep->qp->kernel)
		return;
	ep->process = get_task_pid(current, PIDTYPE_TGID);
	timer_setup(&ep->watch, quirks_check_process, 0);
	mod_timer(&ep->watch, jiffies + XIW_QUIRK_CHECK);
}

/* Stops checking the process: iw_cm does not wait for the endpoint now. */
void xiw_quirk_unwatch(struct xiw_ep *ep)
{
	if (!ep->process)
		return;
	timer_shutdown_sync(&ep->watch);
	put_pid(ep->process);
	ep->process = NULL;
}
#endif

#ifndef XIW_HAVE_DISABLE_DRIVER
/*
 * rdma_cm stays loaded, and registered first
 *
 * The core removes clients in the reverse order of their registration, and
 * rdma_cm waits for connects in progress, whose result iw_cm awaits. So that no
 * peer can delay the end of a device, a client of the core that is registered
 * after rdma_cm, and so removed before it, ends all connects. A reference to
 * rdma_cm makes the module loader load rdma_cm first, and keeps it from being
 * unloaded and loaded again later. It pins iw_cm, too, into which endpoints
 * call through function pointers even after their ULP has gone.
 *
 * "RDMA/core: Let a driver end its connections before clients are removed" and
 * "RDMA/iwcm: Stay loaded while a provider has an identifier" make this
 * unnecessary.
 */

static const char *(*const rdma_cm_stays)(enum rdma_cm_event_type ev) __used =
	rdma_event_msg;

/* This client was registered after rdma_cm, so rdma_cm has added the device. */
static int quirks_device_added(struct ib_device *ibdev)
{
	if (ibdev->ops.driver_id == XIW_RDMA_DRIVER_ID)
		WRITE_ONCE(to_xdev(ibdev)->joining, false);
	return 0;
}

static void quirks_device_removed(struct ib_device *ibdev, void *client_data)
{
	if (ibdev->ops.driver_id == XIW_RDMA_DRIVER_ID)
		xiw_cm_device_kill(to_xdev(ibdev));
}

static struct ib_client xiw_client = {
	.name = "xiw",
	.add = quirks_device_added,
	.remove = quirks_device_removed,
};
#endif

/* Returns 0 or negative errno. */
int xiw_quirk_module_init(void)
{
#ifdef XIW_HAVE_DISABLE_DRIVER
	return 0;
#else
	return ib_register_client(&xiw_client);
#endif
}

/* Undoes xiw_quirk_module_init(), after the last device. */
void xiw_quirk_module_exit(void)
{
#ifndef XIW_HAVE_DISABLE_DRIVER
	ib_unregister_client(&xiw_client);
#endif
#ifndef XIW_HAVE_IW_GET_QP_REF
	flush_delayed_work(&free_work);
#endif
}

/* For these addresses rdma_cm creates a listener on every device. */
static bool quirks_is_everywhere(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;

	if (addr->ss_family == AF_INET)
		return !in->sin_addr.s_addr ||
		       ipv4_is_loopback(in->sin_addr.s_addr);
	return ipv6_addr_any(&in6->sin6_addr) ||
	       ipv6_addr_loopback(&in6->sin6_addr);
}

/*
 * rdma_cm passes each request to the first device of an interface. If siw
 * listens on the port there, its device was added first, and a listener of xiw
 * would never get a request.
 */
static bool quirks_is_siws(struct xiw_dev *dev,
			   const struct sockaddr_storage *addr)
{
	struct ib_device *siw;

	siw = ib_device_get_by_netdev(dev->netdev, RDMA_DRIVER_SIW);
	if (!siw)
		return false;
	ibdev_notice_ratelimited(&dev->ibdev,
				 "%s on the same interface has the listener for %pISpc\n",
				 dev_name(&siw->dev), addr);
	ib_device_put(siw);
	return true;
}

#ifndef XIW_HAVE_DISABLE_DRIVER
/*
 * Listeners on a device that is added
 *
 * rdma_cm starts a listener on a wildcard address on every device of the host,
 * also on those that are added later. If one fails while rdma_cm adds a device,
 * for instance because the port is in use, rdma_cm does not use the device at
 * all.
 *
 * "RDMA/cma: Keep a device on which a listener cannot be started" makes this
 * unnecessary.
 */
static bool quirks_is_joining(struct xiw_dev *dev,
			      const struct sockaddr_storage *addr, int error)
{
	if (!READ_ONCE(dev->joining))
		return false;
	ibdev_info(&dev->ibdev, "cannot listen on %pISpc: error %d\n", addr,
		   error);
	return true;
}
#endif

/* Converts the result of a listen for rdma_cm: 0 or negative errno. */
int xiw_quirk_listen_result(const struct iw_cm_id *cm_id, int ret)
{
	struct xiw_dev *dev = to_xdev(cm_id->device);

	/*
	 * A device that is being removed accepts nothing any more, and a device
	 * of another namespace must not end the listeners on other devices.
	 */
	if (!ret || ret == -ENETUNREACH || ret == -ENODEV)
		return 0;
	if (!quirks_is_everywhere(&cm_id->m_local_addr))
		return ret;
	if (ret == -EADDRINUSE && quirks_is_siws(dev, &cm_id->m_local_addr))
		return 0;
#ifndef XIW_HAVE_DISABLE_DRIVER
	if (quirks_is_joining(dev, &cm_id->m_local_addr, ret))
		return 0;
#endif
	return ret;
}
