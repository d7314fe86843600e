// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The connection manager: the table of what an endpoint does when, how one ends
 * for good, and the endpoints of a device. What the two sides do is in
 * cm_active.c and cm_passive.c, what listeners do in cm_listen.c, how
 * connections end in cm_end.c.
 */
#include "cm.h"

#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "dev.h"
#include "ep.h"
#include "sock.h"

static enum xiw_ep_state cm_kill_at_once(struct xiw_ep *ep)
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
		[XIW_EPE_KILL]		= cm_kill_at_once,
	},
	[XIW_EPS_READY] = {
		[XIW_EPE_SOCK]		= xiw_passive_ready,
		[XIW_EPE_TIMER]		= xiw_passive_ready,
		[XIW_EPE_KILL]		= cm_kill_at_once,
	},
	[XIW_EPS_PENDING] = {
		[XIW_EPE_SOCK]		= xiw_passive_pending,
		[XIW_EPE_ACCEPT]	= xiw_passive_accept,
		[XIW_EPE_REJECT]	= xiw_passive_reject,
		[XIW_EPE_TIMER]		= xiw_passive_timeout,
		[XIW_EPE_KILL]		= cm_kill_at_once,
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
		[XIW_EPE_KILL]		= cm_kill_at_once,
	},
};

static enum xiw_ep_state cm_handle(struct xiw_ep *ep, enum xiw_ep_event event)
{
	enum xiw_ep_state (*handler)(struct xiw_ep *ep);

	handler = handlers[ep->state][event];
	return handler ? handler(ep) : ep->state;
}

/**
 * xiw_cm_teardown() - give back all that an endpoint has
 * @ep: endpoint that ends; each part is given back if it is there
 *
 * Context: The endpoint is locked.
 */
void xiw_cm_teardown(struct xiw_ep *ep)
{
	xiw_conn_detach_qp(ep);
	if (ep->xs)
		xiw_sock_release(ep->xs, true);
	ep->xs = NULL;
	xiw_passive_teardown(ep);
	xiw_end_teardown(ep);
	xiw_listen_teardown(ep);
	xiw_conn_drop_cm_id(ep);
	kfree(ep->startup);
	ep->startup = NULL;
}

static const struct xiw_ep_ops cm_ep_ops = {
	.handle = cm_handle,
	.teardown = xiw_cm_teardown,
};

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
	dev->ep_ops = &cm_ep_ops;
	xa_init(&dev->requests);
	xiw_crowd_init(&dev->lingering);
	hash_init(dev->listeners);
	return 0;
}

static bool cm_no_endpoints(struct xiw_dev *dev)
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
	WRITE_ONCE(dev->eps_closed, false);
	spin_unlock(&dev->ep_lock);
	WRITE_ONCE(dev->joining, true);
}

/**
 * xiw_cm_device_joined() - rdma_cm knows a device
 * @dev: device
 *
 * Context: Process context.
 */
void xiw_cm_device_joined(struct xiw_dev *dev)
{
	WRITE_ONCE(dev->joining, false);
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
	WRITE_ONCE(dev->eps_closed, true);
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
	wait_var_event(&dev->eps, cm_no_endpoints(dev));
	/* Waits for the work items whose endpoint has just ended. */
	destroy_workqueue(dev->cm_wq);
	xa_destroy(&dev->requests);
}
