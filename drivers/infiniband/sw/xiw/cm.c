// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Endpoints: the object, who has the turn, and the table of what happens when.
 * The QP, the socket and the timer only leave a bit; everything else is done in
 * turns of each endpoint, so that nothing a peer does, or fails to do, can hold
 * up anybody but its own connection.
 *
 * DOC: turns
 *
 * Who locks an endpoint has the turn. That may be its work; but whoever is in
 * process context anyway, because a consumer calls, need not wait for the work:
 * it locks the endpoint, does its part, and handles what was left meanwhile as
 * it unlocks. That saves most of the changes of context that a connection would
 * take. Handlers never wait for a consumer or a peer, so neither does who waits
 * for the lock.
 *
 * DOC: end of an endpoint
 *
 * The transition to XIW_EPS_DEAD gives everything back: timer, socket, QP,
 * cm_id, the places in its listener's books and in those of the device. From
 * then on the endpoint is memory that whoever holds a reference may leave bits
 * in without effect, and xiw_dev may go.
 */

#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/ipv6.h>

#include "cm.h"
#include "compat.h"
#include "consumer.h"
#include "device.h"
#include "ep.h"
#include "qp.h"
#include "sock.h"
#include "trace.h"

static void ep_free(struct kref *ref)
{
	struct xiw_ep *ep = container_of(ref, struct xiw_ep, ref);

	kfree(ep->listen);
	kfree(ep);
}

/**
 * xiw_ep_get() - take a reference
 * @ep: endpoint
 *
 * Context: Any.
 */
void xiw_ep_get(struct xiw_ep *ep)
{
	kref_get(&ep->ref);
}

/**
 * xiw_ep_put() - drop a reference
 * @ep: endpoint
 *
 * Context: Any.
 */
void xiw_ep_put(struct xiw_ep *ep)
{
	kref_put(&ep->ref, ep_free);
}

/* ep->lock held. */
static void queue_ep(struct xiw_ep *ep)
{
	lockdep_assert_held(&ep->lock);

	if (!ep->idle || ep->gone || !ep->events)
		return;
	xiw_ep_get(ep);
	if (!queue_work(ep->dev->cm_wq, &ep->work))
		xiw_ep_put(ep);
}

/**
 * xiw_ep_request() - the QP wants something of its endpoint
 * @ep: endpoint
 * @requests: bits of enum xiw_ep_request
 *
 * Context: Any.
 */
void xiw_ep_request(struct xiw_ep *ep, u32 requests)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	ep->events |= requests;
	queue_ep(ep);
	spin_unlock_irqrestore(&ep->lock, flags);
}

/**
 * xiw_ep_raise() - something happened to an endpoint
 * @ep: endpoint
 * @event: what
 *
 * Context: Any.
 */
void xiw_ep_raise(struct xiw_ep *ep, enum xiw_ep_event event)
{
	xiw_ep_request(ep, BIT(event));
}

/**
 * xiw_ep_set_timer() - start the endpoint's timer over
 * @ep: endpoint
 * @ms: milliseconds from now
 *
 * Context: Has the turn.
 */
void xiw_ep_set_timer(struct xiw_ep *ep, u32 ms)
{
	ep->timed = true;
	ep->deadline = jiffies + msecs_to_jiffies(ms);
	mod_timer(&ep->timer, ep->deadline);
}

/**
 * xiw_ep_clear_timer() - stop the endpoint's timer
 * @ep: endpoint
 *
 * Context: Has the turn.
 */
void xiw_ep_clear_timer(struct xiw_ep *ep)
{
	ep->timed = false;
	timer_delete(&ep->timer);
}

static void on_timer(struct timer_list *t)
{
	struct xiw_ep *ep = timer_container_of(ep, t, timer);

	xiw_ep_raise(ep, XIW_EPE_TIMER);
}

/* False if this is the echo of a timer that was started over or stopped. */
static bool timer_is_due(struct xiw_ep *ep)
{
	if (!ep->timed || time_before(jiffies, ep->deadline))
		return false;
	ep->timed = false;
	return true;
}

static void on_socket(struct xiw_sock *xs, void *ctx)
{
	xiw_ep_raise(ctx, XIW_EPE_SOCK);
}

/* Startup frames fit into an empty send buffer: nobody waits for room. */
static void on_write_space(struct xiw_sock *xs, void *ctx)
{
}

static const struct xiw_sock_ops ep_sock_ops = {
	.data_ready = on_socket,
	.write_space = on_write_space,
	.state_change = on_socket,
};

/**
 * xiw_ep_own_sock() - hear of a socket's events
 * @ep: endpoint
 * @xs: socket, which becomes the endpoint's
 *
 * Context: Has the turn.
 */
void xiw_ep_own_sock(struct xiw_ep *ep, struct xiw_sock *xs)
{
	ep->xs = xs;
	xiw_sock_set_ops(xs, &ep_sock_ops, ep);
}

/**
 * xiw_ep_bound_if() - must a socket be confined to the netdev
 * @ep: endpoint
 * @addr: local address of the socket
 *
 * A wildcard listener takes only what arrives for its own netdev: rdma_cm
 * makes one per device, all with the same port. It does so for the loopback
 * addresses, too, though only a device on the loopback interface can serve
 * these. A link-local address means nothing without an interface, and a netdev
 * within a VRF is not reachable from a socket outside of it.
 *
 * Context: Any.
 * Return: Index of the netdev, or 0.
 */
int xiw_ep_bound_if(const struct xiw_ep *ep,
		    const struct sockaddr_storage *addr)
{
	const struct net_device *netdev = ep->dev->netdev;
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	bool bound = netif_is_l3_slave(netdev);
	int type;

	if (addr->ss_family == AF_INET) {
		bound |= in->sin_addr.s_addr == htonl(INADDR_ANY) ||
			 (ep->listen && ipv4_is_loopback(in->sin_addr.s_addr));
	} else {
		type = __ipv6_addr_type(&in6->sin6_addr);
		bound |= type == IPV6_ADDR_ANY ||
			 (ep->listen && (type & IPV6_ADDR_LOOPBACK)) ||
			 __ipv6_addr_needs_scope_id(type);
	}
	return bound ? netdev->ifindex : 0;
}

/**
 * xiw_ep_collect() - read on in the peer's startup frame
 * @ep: endpoint in startup
 * @reply: a Reply is expected, else a Request
 *
 * Takes exactly the octets of the frame, however they arrive.
 *
 * Context: Has the turn.
 * Return: Octets of the frame when it is complete; -EAGAIN if more must
 * arrive; -EPROTO if it is improperly formatted (RFC 5044 section 7.1.1);
 * -ECONNRESET if the peer closed; another negative errno of the socket.
 */
int xiw_ep_collect(struct xiw_ep *ep, bool reply)
{
	struct xiw_ep_startup *st = ep->startup;
	size_t missing;
	int len;
	int ret;

	for (;;) {
		len = xiw_mpa_frame_len(st->frame, st->have, reply);
		if (len < 0)
			return len;
		missing = xiw_mpa_frame_missing(len, st->have);
		if (!missing)
			return len;
		ret = xiw_sock_recv_buf(ep->xs, st->frame + st->have, missing);
		if (ret <= 0)
			return ret ? ret : -ECONNRESET;
		st->have += ret;
	}
}

/**
 * xiw_ep_set_depths() - put the peer's IRD and ORD into an event
 * @ep: endpoint
 * @event: event
 * @valid: the peer sent values
 * @ird: its IRD
 * @ord: its ORD
 *
 * An event has eight bits for each. Without values from the peer what this
 * side can do stands in for them.
 *
 * Context: Any.
 */
void xiw_ep_set_depths(const struct xiw_ep *ep, struct iw_cm_event *event,
		       bool valid, u16 ird, u16 ord)
{
	event->ird = min_t(u16, valid ? ird : ep->policy.max_ord, U8_MAX);
	event->ord = min_t(u16, valid ? ord : ep->policy.max_ird, U8_MAX);
}

/**
 * xiw_ep_report() - tell iw_cm
 * @ep: endpoint; without a cm_id nothing happens
 * @type: event
 * @status: 0, or negative errno in a reply
 * @pdata: Private Data, copied
 * @pdata_len: its length in bytes
 *
 * Context: Has the turn.
 * Return: 0, or -ENOMEM if there was Private Data and the event is lost.
 */
int xiw_ep_report(struct xiw_ep *ep, enum iw_cm_event_type type, int status,
		  const void *pdata, u8 pdata_len)
{
	const struct xiw_mpa_agreed *agreed = &ep->conn.agreed;
	struct iw_cm_event event = {
		.event = type,
		.status = status,
		.private_data = (void *)pdata,
		.private_data_len = pdata_len,
	};

	if (!ep->cm_id)
		return 0;
	if (!ep->xs || xiw_sock_names(ep->xs, &event.local_addr,
				      &event.remote_addr)) {
		event.local_addr = ep->cm_id->local_addr;
		event.remote_addr = ep->cm_id->remote_addr;
	}
	xiw_ep_set_depths(ep, &event, agreed->peer_values_valid,
			  agreed->peer_ird, agreed->peer_ord);
	return ep->cm_id->event_handler(ep->cm_id, &event);
}

/**
 * xiw_ep_attach_qp() - tie a QP to the endpoint
 * @ep: published endpoint without a QP
 * @cm_id: identifier that is to connect or to accept
 * @qpn: number of the QP that its consumer named
 *
 * From here on the QP may ask to abort.
 *
 * Context: Has the turn; in the consumer's call.
 * Return: 0, -EINVAL if there is no such QP or it cannot be connected,
 * -EPERM if it is not the consumer's, -EISCONN if it has an endpoint.
 */
int xiw_ep_attach_qp(struct xiw_ep *ep, const struct iw_cm_id *cm_id, u32 qpn)
{
	struct xiw_qp *qp = xiw_qp_get_by_num(ep->dev, qpn);
	int ret;

	if (!qp)
		return -EINVAL;
	ret = xiw_consumer_owns(cm_id, qp);
	if (!ret)
		ret = xiw_qp_attach(qp, ep);
	if (ret)
		xiw_qp_put(qp);
	else
		ep->qp = qp;
	return ret;
}

/**
 * xiw_ep_detach_qp() - end the QP's time with the endpoint
 * @ep: endpoint, with or without a QP
 *
 * Context: Has the turn.
 */
void xiw_ep_detach_qp(struct xiw_ep *ep)
{
	if (!ep->qp)
		return;
	xiw_qp_stop(ep->qp, ep);
	xiw_qp_put(ep->qp);
	ep->qp = NULL;
}

/**
 * xiw_ep_drop_cm_id() - nothing more to report
 * @ep: endpoint, with or without a cm_id
 *
 * Context: Has the turn.
 */
void xiw_ep_drop_cm_id(struct xiw_ep *ep)
{
	if (!ep->cm_id)
		return;
	ep->cm_id->rem_ref(ep->cm_id);
	ep->cm_id = NULL;
}

static enum xiw_ep_state ep_kill(struct xiw_ep *ep)
{
	return XIW_EPS_DEAD;
}

/*
 * What is not listed has no effect: it came too late, or nobody needs it.
 * A QP that was only attached knows no other request than ABORT; whatever
 * follows from it later is listed all the same.
 */
static enum xiw_ep_state
(*const handlers[XIW_EPS_COUNT][XIW_EPE_COUNT])(struct xiw_ep *ep) = {
	[XIW_EPS_LISTEN] = {
		[XIW_EPE_SOCK]		= xiw_listen_children,
		[XIW_EPE_TIMER]		= xiw_listen_children,
		[XIW_EPE_KILL]		= xiw_listen_kill,
	},
	[XIW_EPS_CONNECTING] = {
		[XIW_EPE_CLOSE]		= xiw_active_abort,
		[XIW_EPE_ABORT]		= xiw_active_abort,
		[XIW_EPE_LOST]		= xiw_active_abort,
		[XIW_EPE_SOCK]		= xiw_active_connecting,
		[XIW_EPE_TIMER]		= xiw_active_timeout,
		[XIW_EPE_KILL]		= xiw_active_abort,
	},
	[XIW_EPS_REPLY] = {
		[XIW_EPE_CLOSE]		= xiw_active_abort,
		[XIW_EPE_ABORT]		= xiw_active_abort,
		[XIW_EPE_LOST]		= xiw_active_abort,
		[XIW_EPE_SOCK]		= xiw_active_reply,
		[XIW_EPE_TIMER]		= xiw_active_timeout,
		[XIW_EPE_KILL]		= xiw_active_abort,
	},
	[XIW_EPS_REQUEST] = {
		[XIW_EPE_SOCK]		= xiw_passive_request,
		[XIW_EPE_TIMER]		= xiw_passive_timeout,
		[XIW_EPE_KILL]		= ep_kill,
	},
	[XIW_EPS_READY] = {
		[XIW_EPE_SOCK]		= xiw_passive_ready,
		[XIW_EPE_TIMER]		= xiw_passive_ready,
		[XIW_EPE_KILL]		= ep_kill,
	},
	[XIW_EPS_PENDING] = {
		[XIW_EPE_SOCK]		= xiw_passive_pending,
		[XIW_EPE_ACCEPT]	= xiw_passive_accept,
		[XIW_EPE_REJECT]	= xiw_passive_reject,
		[XIW_EPE_TIMER]		= xiw_passive_timeout,
		[XIW_EPE_KILL]		= ep_kill,
	},
	[XIW_EPS_RTR] = {
		[XIW_EPE_REJECT]	= xiw_passive_retract,
		[XIW_EPE_FIRST_FPDU]	= xiw_passive_established,
		[XIW_EPE_SHUTDOWN]	= xiw_end_shutdown,
		[XIW_EPE_CLOSE]		= xiw_end_close,
		[XIW_EPE_ABORT]		= xiw_end_abort,
		[XIW_EPE_LOST]		= xiw_end_abort,
		[XIW_EPE_CLOSE_TIMER]	= xiw_end_close_timer,
		[XIW_EPE_TIMER]		= xiw_end_stalled,
		[XIW_EPE_KILL]		= xiw_end_abort,
	},
	[XIW_EPS_OPEN] = {
		[XIW_EPE_SHUTDOWN]	= xiw_end_shutdown,
		[XIW_EPE_PEER_CLOSED]	= xiw_end_peer_closed,
		[XIW_EPE_CLOSE]		= xiw_end_close,
		[XIW_EPE_ABORT]		= xiw_end_abort,
		[XIW_EPE_LOST]		= xiw_end_abort,
		[XIW_EPE_CLOSE_TIMER]	= xiw_end_close_timer,
		[XIW_EPE_TIMER]		= xiw_end_stalled,
		[XIW_EPE_KILL]		= xiw_end_abort,
	},
	[XIW_EPS_LINGER] = {
		[XIW_EPE_SOCK]		= xiw_end_linger_sock,
		[XIW_EPE_TIMER]		= xiw_end_linger_timer,
		[XIW_EPE_KILL]		= ep_kill,
	},
};

/* See "end of an endpoint". Each part is given back if it is there. */
static void bury(struct xiw_ep *ep)
{
	struct xiw_dev *dev = ep->dev;

	ep->state = XIW_EPS_DEAD;
	timer_shutdown_sync(&ep->timer);
	xiw_ep_detach_qp(ep);
	if (ep->xs)
		xiw_sock_release(ep->xs, true);
	ep->xs = NULL;
	xiw_passive_bury(ep);
	xiw_end_bury(ep);
	xiw_listen_bury(ep);
	xiw_ep_drop_cm_id(ep);
	kfree(ep->startup);
	ep->startup = NULL;

	spin_lock_irq(&ep->lock);
	ep->gone = true;
	spin_unlock_irq(&ep->lock);
	complete_all(&ep->dead);

	spin_lock(&dev->ep_lock);
	list_del_init(&ep->node);
	/* With the list empty, and this lock free, the device may go. */
	wake_up_var(&dev->eps);
	spin_unlock(&dev->ep_lock);
	xiw_ep_put(ep);
}

static void handle(struct xiw_ep *ep, enum xiw_ep_event event)
{
	enum xiw_ep_state (*handler)(struct xiw_ep *ep);
	enum xiw_ep_state next;

	if (event == XIW_EPE_TIMER && !timer_is_due(ep))
		return;
	handler = handlers[ep->state][event];
	if (!handler)
		return;
	next = handler(ep);
	if (next != ep->state)
		trace_ep_state(ep, ep->state, next);
	if (next == XIW_EPS_DEAD)
		bury(ep);
	else
		ep->state = next;
}

/* What is to be handled in this turn; 0 ends it. */
static u32 take_events(struct xiw_ep *ep, bool go_on)
{
	u32 events = 0;

	spin_lock_irq(&ep->lock);
	if (go_on)
		swap(events, ep->events);
	if (!events) {
		ep->idle = true;
		/* Left by a peer that keeps us busy: the work goes on. */
		queue_ep(ep);
	}
	spin_unlock_irq(&ep->lock);
	return events;
}

/**
 * xiw_ep_lock() - get the turn
 * @ep: endpoint to which the caller has a reference
 *
 * Context: Sleeps, but not for a peer or a consumer.
 */
void xiw_ep_lock(struct xiw_ep *ep)
{
	mutex_lock(&ep->mutex);
	spin_lock_irq(&ep->lock);
	ep->idle = false;
	spin_unlock_irq(&ep->lock);
}

/* The rest is for the work. */
static void end_turn(struct xiw_ep *ep, int rounds)
{
	u32 events;

	while ((events = take_events(ep, rounds-- > 0))) {
		for (; events; events &= events - 1)
			handle(ep, __ffs(events));
	}
	mutex_unlock(&ep->mutex);
}

/**
 * xiw_ep_unlock() - handle what was left for the endpoint, and end the turn
 * @ep: endpoint to which the caller has a reference
 *
 * Context: Sleeps, but not for a peer or a consumer.
 */
void xiw_ep_unlock(struct xiw_ep *ep)
{
	end_turn(ep, XIW_EP_ROUNDS);
}

static void ep_work(struct work_struct *work)
{
	struct xiw_ep *ep = container_of(work, struct xiw_ep, work);

	xiw_ep_lock(ep);
	xiw_ep_unlock(ep);
	xiw_ep_put(ep);
}

/**
 * xiw_ep_command() - execute a call of iw_cm
 * @ep: endpoint to which the caller has a reference
 * @event: XIW_EPE_ACCEPT or XIW_EPE_REJECT
 * @cmd: its arguments
 *
 * Context: Sleeps, but not for the peer.
 * Return: Result of the command, -EINVAL if it does not fit the state,
 * -ECONNRESET if the endpoint is dead.
 */
int xiw_ep_command(struct xiw_ep *ep, enum xiw_ep_event event,
		   struct xiw_ep_command *cmd)
{
	xiw_ep_lock(ep);
	cmd->ret = ep->state == XIW_EPS_DEAD ? -ECONNRESET : -EINVAL;
	ep->cmd = cmd;
	handle(ep, event);
	ep->cmd = NULL;
	xiw_ep_unlock(ep);
	return cmd->ret;
}

/**
 * xiw_ep_create() - new endpoint
 * @dev: device
 * @listener: with what a listener needs, else with what startup needs
 *
 * The caller has the turn, until xiw_ep_arm() or xiw_ep_discard(). It may have
 * that of another endpoint, too: a listener creates its children.
 *
 * Context: Sleeps.
 * Return: Endpoint with one reference, or NULL.
 */
struct xiw_ep *xiw_ep_create(struct xiw_dev *dev, bool listener)
{
	struct xiw_ep *ep;

	ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	if (!ep)
		return NULL;
	if (listener)
		ep->listen = kzalloc(sizeof(*ep->listen), GFP_KERNEL);
	else
		ep->startup = kzalloc(sizeof(*ep->startup), GFP_KERNEL);
	if (!ep->listen && !ep->startup) {
		kfree(ep);
		return NULL;
	}
	kref_init(&ep->ref);
	ep->dev = dev;
	INIT_LIST_HEAD(&ep->node);
	INIT_WORK(&ep->work, ep_work);
	timer_setup(&ep->timer, on_timer, 0);
	init_completion(&ep->dead);
	spin_lock_init(&ep->lock);
	mutex_init(&ep->mutex);
	mutex_lock_nested(&ep->mutex, listener ? 0 : SINGLE_DEPTH_NESTING);
	ep->state = XIW_EPS_NEW;
	ep->born = jiffies;
	INIT_LIST_HEAD(&ep->sibling);
	xiw_device_get_policy(dev, &ep->policy);
	ep->conn.fpdu_segments = ep->policy.fpdu_segments;
	return ep;
}

/**
 * xiw_ep_publish() - let the device's teardown find the endpoint
 * @ep: new endpoint
 *
 * Context: Process context.
 * Return: 0, or -ENODEV if teardown has begun.
 */
int xiw_ep_publish(struct xiw_ep *ep)
{
	struct xiw_dev *dev = ep->dev;
	int ret = -ENODEV;

	spin_lock(&dev->ep_lock);
	if (!dev->eps_closed) {
		list_add_tail(&ep->node, &dev->eps);
		ret = 0;
	}
	spin_unlock(&dev->ep_lock);
	return ret;
}

/**
 * xiw_ep_arm() - end of the creator's turn
 * @ep: published endpoint; the creator's reference is the endpoint's now
 * @state: first state
 *
 * Events that came before take effect now, and the socket is looked at once:
 * on a short way TCP has connected, or the Request arrived, already. A
 * listener's work does that: who listens is not to begin with others' requests.
 *
 * Context: Sleeps, but not for a peer or a consumer.
 */
void xiw_ep_arm(struct xiw_ep *ep, enum xiw_ep_state state)
{
	trace_ep_state(ep, ep->state, state);
	ep->state = state;
	xiw_ep_raise(ep, XIW_EPE_SOCK);
	/* It may be dead behind this. */
	xiw_ep_get(ep);
	end_turn(ep, ep->listen ? 0 : XIW_EP_ROUNDS);
	xiw_ep_put(ep);
}

/**
 * xiw_ep_discard() - end an endpoint that was not armed
 * @ep: endpoint, published or not
 *
 * Context: Sleeps.
 */
void xiw_ep_discard(struct xiw_ep *ep)
{
	xiw_ep_get(ep);
	bury(ep);
	mutex_unlock(&ep->mutex);
	xiw_ep_put(ep);
}

/**
 * xiw_cm_device_init() - prepare a device for endpoints
 * @dev: device under construction
 *
 * Context: Sleeps.
 * Return: 0 or -ENOMEM.
 */
int xiw_cm_device_init(struct xiw_dev *dev)
{
	/* No rescuer: connecting allocates, and waits for works of the QP. */
	dev->cm_wq = alloc_workqueue("xiw_cm", WQ_UNBOUND, 0);
	if (!dev->cm_wq)
		return -ENOMEM;
	xa_init_flags(&dev->requests, XA_FLAGS_ALLOC1);
	xiw_crowd_init(&dev->lingering);
	return 0;
}

static bool no_endpoints(struct xiw_dev *dev)
{
	bool empty;

	spin_lock(&dev->ep_lock);
	empty = list_empty(&dev->eps);
	spin_unlock(&dev->ep_lock);
	return empty;
}

/**
 * xiw_cm_device_open() - let a device have endpoints
 * @dev: device that is being registered, for the first time or again
 *
 * Context: Process context.
 */
void xiw_cm_device_open(struct xiw_dev *dev)
{
	spin_lock(&dev->ep_lock);
	dev->eps_closed = false;
	spin_unlock(&dev->ep_lock);
}

/**
 * xiw_cm_device_kill() - begin to end every endpoint of a device
 * @dev: device; who wants to add endpoints from now on is refused
 *
 * Connections are reset, lingering ones too. iw_cm cannot give up a connect
 * that is under way, it waits for the result; so this is where whoever wants
 * to be rid of a device has to start.
 *
 * Context: Process context.
 */
void xiw_cm_device_kill(struct xiw_dev *dev)
{
	struct xiw_ep *ep;

	spin_lock(&dev->ep_lock);
	dev->eps_closed = true;
	list_for_each_entry(ep, &dev->eps, node)
		xiw_ep_raise(ep, XIW_EPE_KILL);
	spin_unlock(&dev->ep_lock);
}

/**
 * xiw_cm_device_exit() - end every endpoint of a device
 * @dev: device; nobody can add endpoints any more, or will be refused
 *
 * Context: Sleeps until all endpoints are dead, which no peer can delay.
 */
void xiw_cm_device_exit(struct xiw_dev *dev)
{
	xiw_cm_device_kill(dev);
	wait_var_event(&dev->eps, no_endpoints(dev));
	/* Waits for the work items that have just buried their endpoint. */
	destroy_workqueue(dev->cm_wq);
	xa_destroy(&dev->requests);
}
