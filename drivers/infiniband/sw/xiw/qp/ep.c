// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Endpoints: the object, its lock, its timer, and its events. For an event the
 * QP, the socket or the timer only sets a bit. The holder of the endpoint's
 * lock handles the event, and never waits for a peer: so a peer cannot delay
 * other connections.
 */

/**
 * DOC: Contexts of events
 *
 * The holder of an endpoint's lock handles its events before it unlocks. Mostly
 * that is the endpoint's work item. A call of the ULP is in process context
 * anyway, so it locks the endpoint, does its part, and handles the events that
 * were raised in the meantime, instead of waiting for the work item. That saves
 * most of the context switches of a connection. Handlers never wait for a ULP
 * or a peer, and so a task that waits for the lock does not either.
 */
#include "ep.h"

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "dev.h"
#include "llp/sock.h"
#include "trace.h"

static void ep_free(struct kref *ref)
{
	struct xiw_ep *ep = container_of(ref, struct xiw_ep, ref);

	kfree(ep->listen);
	kfree(ep);
}

void xiw_ep_get(struct xiw_ep *ep)
{
	kref_get(&ep->ref);
}

void xiw_ep_put(struct xiw_ep *ep)
{
	kref_put(&ep->ref, ep_free);
}

/*
 * Queue the work item if there are events and no holder of the mutex handles
 * them. ep->lock is held.
 */
static void ep_queue(struct xiw_ep *ep)
{
	lockdep_assert_held(&ep->lock);

	/* @state changes only while a holder of the mutex has reset @idle. */
	if (!ep->idle || !ep->events || ep->state == XIW_EPS_DEAD)
		return;
	xiw_ep_get(ep);
	if (!queue_work(ep->wq, &ep->work))
		xiw_ep_put(ep);
}

/* Raises several events: bits of enum xiw_ep_event. Any context. */
void xiw_ep_raise_all(struct xiw_ep *ep, u32 events)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	ep->events |= events;
	ep_queue(ep);
	spin_unlock_irqrestore(&ep->lock, flags);
}

/* Raises one event. Any context. */
void xiw_ep_raise(struct xiw_ep *ep, enum xiw_ep_event event)
{
	xiw_ep_raise_all(ep, BIT(event));
}

/* Starts the timer, or restarts it. The endpoint is locked. */
void xiw_ep_set_timer(struct xiw_ep *ep, u32 ms)
{
	ep->timed = true;
	ep->expires = jiffies + msecs_to_jiffies(ms);
	mod_timer(&ep->timer, ep->expires);
}

/* Stops the timer. The endpoint is locked. */
void xiw_ep_clear_timer(struct xiw_ep *ep)
{
	ep->timed = false;
	timer_delete(&ep->timer);
}

static void ep_on_timer(struct timer_list *t)
{
	struct xiw_ep *ep = timer_container_of(ep, t, timer);

	xiw_ep_raise(ep, XIW_EPE_TIMER);
}

static void ep_on_socket(struct xiw_llp *llp, void *ctx)
{
	xiw_ep_raise(ctx, XIW_EPE_SOCK);
}

/* Startup frames fit into an empty send buffer. */
static void ep_on_write_space(struct xiw_llp *llp, void *ctx)
{
}

static const struct xiw_llp_events ep_events = {
	.data_ready = ep_on_socket,
	.write_space = ep_on_write_space,
	.state_change = ep_on_socket,
};

/* Gives an endpoint a socket, which notifies it of events. */
void xiw_ep_own_sock(struct xiw_ep *ep, struct xiw_sock *xs)
{
	ep->xs = xs;
	xs->stats = ep->dev->stats;
	xs->llp.ops->set_events(&xs->llp, &ep_events, ep);
}

/* False if the timer was restarted or stopped after it had expired. */
static bool ep_time_is_over(struct xiw_ep *ep)
{
	if (!ep->timed || time_before(jiffies, ep->expires))
		return false;
	ep->timed = false;
	return true;
}

/*
 * Release everything. Afterwards xiw_dev may be freed, and events that holders
 * of references still raise have no effect.
 */
static void ep_teardown(struct xiw_ep *ep)
{
	struct xiw_dev *dev = ep->dev;

	ep->state = XIW_EPS_DEAD;
	timer_shutdown_sync(&ep->timer);
	ep->user->teardown(ep);
	complete_all(&ep->dead);

	spin_lock(&dev->ep_lock);
	list_del_init(&ep->node);
	/* With the list empty and this lock free, the device may be freed. */
	wake_up_var(&dev->eps);
	spin_unlock(&dev->ep_lock);
	xiw_ep_put(ep);
}

/* Changes the state of a locked endpoint that is not dead. */
void xiw_ep_enter(struct xiw_ep *ep, enum xiw_ep_state next)
{
	if (next == ep->state)
		return;
	WARN_ON_ONCE(!xiw_epstate_follows(ep->state, next));
	trace_ep_state(ep, ep->qpn, ep->state, next);
	if (next == XIW_EPS_DEAD)
		ep_teardown(ep);
	else
		ep->state = next;
}

static void ep_handle(struct xiw_ep *ep, enum xiw_ep_event event)
{
	xiw_ep_act act;

	if (ep->state == XIW_EPS_DEAD ||
	    (event == XIW_EPE_TIMER && !ep_time_is_over(ep)))
		return;
	act = ep->user->acts[xiw_epstate_action(ep->state, event)];
	if (act)
		xiw_ep_enter(ep, act(ep));
}

/*
 * Takes the events to be handled before the mutex is released. Returns 0 if
 * there are none, or if not @go_on; then the work item handles the rest.
 */
static u32 ep_take_events(struct xiw_ep *ep, bool go_on)
{
	u32 events = 0;

	spin_lock_irq(&ep->lock);
	if (go_on)
		swap(events, ep->events);
	if (!events) {
		ep->idle = true;
		/* Leave the events of a busy peer to the work item. */
		ep_queue(ep);
	}
	spin_unlock_irq(&ep->lock);
	return events;
}

/*
 * The caller has a reference. Sleeps, but not for a peer or a ULP, as does
 * xiw_ep_unlock().
 */
void xiw_ep_lock(struct xiw_ep *ep)
{
	mutex_lock(&ep->mutex);
	spin_lock_irq(&ep->lock);
	ep->idle = false;
	spin_unlock_irq(&ep->lock);
}

/* Handles up to @rounds rounds of events; the work item handles the rest. */
static void ep_handle_and_unlock(struct xiw_ep *ep, int rounds)
{
	u32 events;

	while ((events = ep_take_events(ep, rounds-- > 0))) {
		for (; events; events &= events - 1)
			ep_handle(ep, __ffs(events));
	}
	mutex_unlock(&ep->mutex);
}

/* Handles the pending events, and unlocks. */
void xiw_ep_unlock(struct xiw_ep *ep)
{
	ep_handle_and_unlock(ep, XIW_EP_ROUNDS);
}

static void ep_work(struct work_struct *work)
{
	struct xiw_ep *ep = container_of(work, struct xiw_ep, work);

	xiw_ep_lock(ep);
	xiw_ep_unlock(ep);
	xiw_ep_put(ep);
}

static struct xiw_ep_listen *ep_alloc_listen(struct xiw_ep *ep)
{
	struct xiw_ep_listen *listen;

	listen = kzalloc(sizeof(*listen), GFP_KERNEL_ACCOUNT);
	if (!listen)
		return NULL;
	spin_lock_init(&listen->lock);
	xiw_peer_limit_init(&listen->half_open);
	INIT_LIST_HEAD(&listen->reported);
	listen->ep = ep;
	return listen;
}

/**
 * xiw_ep_create() - new endpoint
 * @dev: device
 * @user: its user
 * @listener: allocate the part of listeners, otherwise that of MPA startup
 *
 * The endpoint is locked until xiw_ep_arm() or xiw_ep_discard(). The caller may
 * have locked another one, too: a listener creates its children.
 *
 * Context: Sleeps.
 * Return: Endpoint with one reference, or NULL.
 */
struct xiw_ep *xiw_ep_create(struct xiw_dev *dev,
			     const struct xiw_cm_user *user, bool listener)
{
	struct xiw_ep *ep;

	ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	if (!ep)
		return NULL;
	if (listener)
		ep->listen = ep_alloc_listen(ep);
	else
		ep->startup = kzalloc(sizeof(*ep->startup), GFP_KERNEL_ACCOUNT);
	if (!ep->listen && !ep->startup) {
		kfree(ep);
		return NULL;
	}
	kref_init(&ep->ref);
	ep->dev = dev;
	ep->user = user;
	INIT_LIST_HEAD(&ep->node);
	ep->wq = dev->cm_wq;
	INIT_WORK(&ep->work, ep_work);
	timer_setup(&ep->timer, ep_on_timer, 0);
	init_completion(&ep->dead);
	spin_lock_init(&ep->lock);
	mutex_init(&ep->mutex);
	mutex_lock_nested(&ep->mutex, listener ? 0 : SINGLE_DEPTH_NESTING);
	ep->state = XIW_EPS_NEW;
	INIT_LIST_HEAD(&ep->by_peer.node);
	INIT_LIST_HEAD(&ep->gate.node);
	xiw_dev_get_policy(dev, &ep->policy);
	/*
	 * Assume that the peer is an adapter until the startup shows otherwise.
	 */
	ep->conn.fpdu_segments = ep->policy.fpdu_segments ?: 1;
	ep->conn.probe = !ep->policy.fpdu_segments;
	return ep;
}

/* Adds a new endpoint to its device. -ENODEV if that ends its endpoints. */
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

/*
 * Begins to handle the events of a published endpoint, and unlocks it. The
 * endpoint takes over the creator's reference. Sleeps, but not for a peer or a
 * ULP.
 *
 * Earlier events take effect now, and the state of the socket is checked at
 * once: over a short path TCP may have connected, or the Request arrived,
 * already. A listener leaves that to its work item, as the caller should not
 * have to handle the requests of others.
 */
void xiw_ep_arm(struct xiw_ep *ep, enum xiw_ep_state state)
{
	xiw_ep_enter(ep, state);
	xiw_ep_raise(ep, XIW_EPE_SOCK);
	/* The endpoint may be dead after this. */
	xiw_ep_get(ep);
	ep_handle_and_unlock(ep, ep->listen ? 0 : XIW_EP_ROUNDS);
	xiw_ep_put(ep);
}

/* Ends an endpoint that was not armed, published or not. */
void xiw_ep_discard(struct xiw_ep *ep)
{
	xiw_ep_get(ep);
	ep_teardown(ep);
	mutex_unlock(&ep->mutex);
	xiw_ep_put(ep);
}
