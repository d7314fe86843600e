// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listeners and their children: connections that were accepted from TCP and
 * have not been answered yet. cm_startup.c handles the events of children.
 */

/**
 * DOC: Children of a listener
 *
 * A child is half open until its Request is reported. The number of half-open
 * children is limited. At the limit, one of the peer with most connections is
 * evicted (peer_limit.c), provided it is older than a tenth of a second: an
 * honest Initiator sends its Request at once. Otherwise the listener leaves new
 * connections in TCP's own queue for the rest of that time. So silent
 * connections cannot lock out others, and a burst of honest ones loses none.
 *
 * TCP's queue is not fair: a flood of one address could fill it, and TCP then
 * drops the connections of all. So once it is half full, an address that has
 * more than half of the children gets no more: its new connections are reset,
 * and one of its children makes room for that of any other address, or for one
 * from a privileged port.
 *
 * iw_cm has room for as many requests as the backlog of the ULP, which may be
 * few. A request without room stays half open until there is room, or until the
 * time for its Request is over.
 */
#include "cm.h"

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <rdma/iw_cm.h>

#include "dev.h"
#include "llp/sock.h"
#include "qp/ep.h"

/*
 * Children
 */

static bool listen_same_peer(const struct xiw_ep *a, const struct xiw_ep *b)
{
	return ipv6_addr_equal(&a->by_peer.peer, &b->by_peer.peer);
}

/*
 * Removing a child may end the wait of the listener for room, and the wait of
 * the same peer's next child for its place in the order of requests.
 */
static void listen_remove_half_open(struct xiw_ep *ep)
{
	struct xiw_ep_listen *listen = ep->parent->listen;
	struct xiw_ep *next = ep;

	lockdep_assert_held(&listen->lock);

	list_for_each_entry_continue(next, &listen->half_open.list,
				     by_peer.node) {
		if (next->ready && listen_same_peer(next, ep)) {
			xiw_ep_raise(next, XIW_EPE_SOCK);
			break;
		}
	}
	xiw_peer_limit_remove(&listen->half_open, &ep->by_peer);
	if (listen->full)
		xiw_ep_raise(listen->ep, XIW_EPE_SOCK);
	listen->full = false;
}

/* Wake the oldest child whose request waits for room in iw_cm. */
static void listen_wake_no_room(struct xiw_ep_listen *listen)
{
	struct xiw_ep *child;

	lockdep_assert_held(&listen->lock);

	list_for_each_entry(child, &listen->half_open.list, by_peer.node) {
		if (child->no_room) {
			xiw_ep_raise(child, XIW_EPE_SOCK);
			break;
		}
	}
}

/* The child has made progress: its grace period begins again. */
void xiw_listen_progress(struct xiw_ep *ep)
{
	struct xiw_ep_listen *listen = ep->parent->listen;

	spin_lock(&listen->lock);
	if (!list_empty(&ep->by_peer.node) && !ep->reported)
		xiw_peer_limit_renew(&listen->half_open, &ep->by_peer);
	spin_unlock(&listen->lock);
}

/* Retries a child's request that waits for room in iw_cm. Process context. */
void xiw_listen_has_room(struct xiw_ep *ep)
{
	spin_lock(&ep->listen->lock);
	listen_wake_no_room(ep->listen);
	spin_unlock(&ep->listen->lock);
}

/*
 * Removes a child from the lists of its listener, and wakes the listener, or
 * another child, if it waits for that. False if the child is in no list: it was
 * evicted, and XIW_EPE_KILL was raised.
 */
bool xiw_listen_leave(struct xiw_ep *ep)
{
	struct xiw_ep_listen *listen = ep->parent->listen;
	bool there;

	spin_lock(&listen->lock);
	there = !list_empty(&ep->by_peer.node);
	if (there) {
		if (ep->reported) {
			list_del_init(&ep->by_peer.node);
			listen->num_reported--;
			listen_wake_no_room(listen);
		} else {
			listen_remove_half_open(ep);
		}
	}
	spin_unlock(&listen->lock);
	return there;
}

static struct xiw_peer_entry *
listen_find_victim(const struct xiw_ep_listen *listen)
{
	return xiw_peer_limit_worst(&listen->half_open,
				    msecs_to_jiffies(XIW_EP_GRACE_MS));
}

/*
 * Jiffies until a half-open connection may be evicted for a new one; 0 if there
 * is room.
 */
static long listen_grace_left(const struct xiw_ep_listen *listen)
{
	unsigned long grace = msecs_to_jiffies(XIW_EP_GRACE_MS);

	lockdep_assert_held(&listen->lock);

	if (listen->half_open.count < XIW_EP_BACKLOG)
		return 0;
	return max_t(long, listen_find_victim(listen)->since + grace - jiffies,
		     0);
}

/* Has an address more than half of the places? */
static bool listen_is_flooded_by(const struct xiw_ep_listen *listen,
				 const struct in6_addr *peer)
{
	lockdep_assert_held(&listen->lock);

	return xiw_peer_limit_of(&listen->half_open, peer) > XIW_EP_BACKLOG / 2;
}

/* The oldest child of such an address; NULL if there is none, or room. */
static struct xiw_peer_entry *
listen_find_flood(const struct xiw_ep_listen *listen)
{
	struct xiw_peer_entry *worst;

	lockdep_assert_held(&listen->lock);

	if (listen->half_open.count < XIW_EP_BACKLOG)
		return NULL;
	worst = xiw_peer_limit_worst(&listen->half_open, 0);
	return listen_is_flooded_by(listen, &worst->peer) ? worst : NULL;
}

/*
 * True if @ep may accept one more connection from TCP for the listener @to: @ep
 * itself or its twin, see listen_admit_child(). Otherwise the timer of @ep is
 * started; if @to is @ep, the removal of a child ends the wait earlier.
 */
static bool listen_is_room(struct xiw_ep *ep, struct xiw_ep *to)
{
	struct xiw_ep_listen *listen = to->listen;
	long left;

	spin_lock(&listen->lock);
	left = listen_grace_left(listen);
	if (left && to == ep && xiw_sock_queue_fills(ep->xs) &&
	    listen_find_flood(listen))
		left = 0;
	if (to == ep)
		listen->full = left;
	spin_unlock(&listen->lock);
	if (left)
		xiw_ep_set_timer(ep, jiffies_to_msecs(left));
	return !left;
}

/* True while the timer of @ep runs because the twin of @ep was full. */
static bool listen_waits_for_twin(struct xiw_ep *ep)
{
	struct xiw_ep_listen *listen = ep->listen;

	listen->twin_full &= ep->timed && time_before(jiffies, ep->expires);
	return listen->twin_full;
}

/* Evicts a child to make room for a new one. */
static void listen_drop_child(struct xiw_ep_listen *listen,
			      struct xiw_peer_entry *victim)
{
	struct xiw_ep *ep = container_of(victim, struct xiw_ep, by_peer);

	listen_remove_half_open(ep);
	/* The child exists until its teardown has taken the listener's lock. */
	xiw_ep_raise(ep, XIW_EPE_KILL);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_TIMEOUT);
}

static bool listen_is_privileged(const struct xiw_ep_names *names)
{
	return ntohs(xiw_sock_port_of(&names->remote)) < PROT_SOCK;
}

/*
 * Makes @ep a child of the listener @parent. A twin is not locked here and may
 * have ended: then -ECONNABORTED.
 */
static int listen_join(struct xiw_ep *ep, struct xiw_ep *parent)
{
	struct xiw_ep_listen *listen = parent->listen;
	struct xiw_peer_entry *flood;
	int ret = -ECONNABORTED;

	xiw_ep_get(parent);
	ep->parent = parent;
	ep->by_peer.peer = xiw_sock_peer(ep->xs);
	ep->privileged = listen_is_privileged(&ep->startup->names);
	ep->by_peer.spared = ep->privileged;
	spin_lock(&listen->lock);
	if (listen->closed)
		goto unlock;
	while (listen->half_open.count >= XIW_EP_BACKLOG &&
	       !listen_grace_left(listen))
		listen_drop_child(listen, listen_find_victim(listen));
	/*
	 * If all are in their grace period, only a flood makes room. Without
	 * one only a twin gets a child then, and exceeds the limit until the
	 * period is over.
	 */
	flood = listen_find_flood(listen);
	if (flood && (ep->privileged || !ipv6_addr_equal(&flood->peer,
							 &ep->by_peer.peer)))
		listen_drop_child(listen, flood);
	xiw_peer_limit_add(&listen->half_open, &ep->by_peer);
	ret = 0;
unlock:
	spin_unlock(&listen->lock);
	return ret;
}

static int listen_add_child(struct xiw_ep *parent, struct xiw_sock *xs,
			    const struct xiw_ep_names *names)
{
	struct xiw_ep *ep;
	int ret;

	ep = xiw_ep_create(parent->dev, parent->user, false);
	if (!ep) {
		xiw_sock_release(xs, true);
		return -ENOMEM;
	}
	if (parent->sctp)
		xiw_cm_use_sctp(ep);
	xiw_sock_set_silence(xs, ep->policy.silence_ms);
	xiw_ep_own_sock(ep, xs);
	ep->startup->names = *names;
	ret = listen_join(ep, parent);
	if (!ret)
		ret = xiw_ep_publish(ep);
	if (ret) {
		xiw_ep_discard(ep);
		return ret;
	}
	xiw_ep_set_timer(ep, ep->policy.request_ms);
	xiw_ep_arm(ep, XIW_EPS_REQUEST);
	return 0;
}

/*
 * Is a new connection one of a flood for which there is no room? Those from
 * privileged ports take the place of others of their address.
 */
static bool listen_is_flood(struct xiw_ep_listen *listen,
			    const struct xiw_sock *xs,
			    const struct xiw_ep_names *names)
{
	struct in6_addr peer = xiw_sock_peer(xs);
	bool ret;

	if (listen_is_privileged(names))
		return false;
	spin_lock(&listen->lock);
	ret = listen_grace_left(listen) && listen_is_flooded_by(listen, &peer);
	spin_unlock(&listen->lock);
	return ret;
}

/*
 * The user of the endpoints may assign a new connection to another listener,
 * the twin of this one. The twin is known only after the accept, so even a full
 * twin gets the connection; then this listener accepts nothing until the timer
 * expires.
 */
static int listen_admit_child(struct xiw_ep *ep, struct xiw_sock *xs)
{
	struct xiw_ep *twin = NULL;
	struct xiw_ep_names names;
	int ret;

	/* The peer may have reset the connection already. */
	if (xiw_sock_names(xs, &names.local, &names.remote) ||
	    listen_is_flood(ep->listen, xs, &names)) {
		xiw_sock_release(xs, true);
		xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_FAILED);
		return 0;
	}
	if (ep->user->get_twin)
		twin = ep->user->get_twin(ep, xs, &names.local);
	ret = listen_add_child(twin ?: ep, xs, &names);
	if (!twin)
		return ret;
	if (!ret)
		ep->listen->twin_full = !listen_is_room(ep, twin);
	ib_device_put(&twin->dev->ibdev);
	xiw_ep_put(twin);
	return ret;
}

/* Accept the connections that wait in TCP, if there are any. */
enum xiw_ep_state xiw_listen_children(struct xiw_ep *ep)
{
	int left = XIW_EP_ACCEPTS;
	struct xiw_sock *xs;
	int ret;

	xiw_cm_follow_addresses(ep);
	while (!listen_waits_for_twin(ep) && listen_is_room(ep, ep)) {
		if (!left--) {
			/* Handle other pending events first, KILL above all. */
			xiw_ep_raise(ep, XIW_EPE_SOCK);
			break;
		}
		ret = xiw_sock_accept(ep->xs, &xs);
		/* No connection waits, or "ss -K" has ended the socket. */
		if (ret == -EAGAIN || ret == -EINVAL)
			break;
		if (!ret)
			ret = listen_admit_child(ep, xs);
		if (ret) {
			xiw_ep_dbg(ep, "accepting failed: %d\n", ret);
			xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_FAILED);
			/*
			 * TCP raises no event for connections that wait
			 * already.
			 */
			xiw_ep_set_timer(ep, XIW_EP_RETRY_MS);
			break;
		}
	}
	return XIW_EPS_LISTEN;
}

/*
 * End a listener, and its children that were not delivered to the ULP. The ULP
 * may be about to accept the children that were delivered.
 */
enum xiw_ep_state xiw_listen_kill(struct xiw_ep *ep)
{
	struct xiw_ep_listen *listen = ep->listen;
	struct xiw_ep *child;

	spin_lock(&listen->lock);
	WRITE_ONCE(listen->closed, true);
	list_for_each_entry(child, &listen->half_open.list, by_peer.node)
		xiw_ep_raise(child, XIW_EPE_KILL);
	list_for_each_entry(child, &listen->reported, by_peer.node) {
		/* If a child is being delivered now, its answer will fail. */
		if (!READ_ONCE(child->delivered))
			xiw_ep_raise(child, XIW_EPE_KILL);
	}
	spin_unlock(&listen->lock);
	return XIW_EPS_DEAD;
}

/*
 * Reports a child's request to iw_cm, with the listener's lock held: no child
 * uses the cm_id of a listener that has ended, and children are reported in
 * order. On success the child is no longer half open. -ECONNABORTED if the
 * listener has ended, or the child must end; -ENOMEM if there is no room for
 * the request now.
 */
int xiw_listen_submit(struct xiw_ep *ep, struct iw_cm_event *event)
{
	struct xiw_ep_listen *listen = ep->parent->listen;
	struct iw_cm_id *cm_id;
	int ret = -ECONNABORTED;

	spin_lock(&listen->lock);
	if (listen->closed || list_empty(&ep->by_peer.node))
		goto unlock;
	cm_id = ep->parent->cm_id;
	ret = -ENOMEM;
	if (listen->num_reported < XIW_EP_BACKLOG)
		ret = cm_id->event_handler(cm_id, event);
	ep->no_room = ret;
	if (ret)
		goto unlock;
	listen_remove_half_open(ep);
	ep->reported = true;
	listen->num_reported++;
	list_add_tail(&ep->by_peer.node, &listen->reported);
unlock:
	spin_unlock(&listen->lock);
	return ret;
}

/**
 * xiw_listen_wait() - let a child's Request wait for a queue pair
 * @ep: half-open child with the number of the queue pair in @ep->qpn, and that
 *	of its peer's in @ep->peer_qpn
 * @max: limit of Requests from one host that wait for the same queue pair
 *
 * Requests from privileged ports have a limit of their own. Of each queue pair
 * of a peer only the newest Request waits: an earlier one is dropped, as the
 * peer has most likely abandoned its connection. xiw_listen_wake() ends the
 * wait.
 *
 * Return: false if the limit is reached.
 */
bool xiw_listen_wait(struct xiw_ep *ep, u32 max)
{
	struct xiw_ep_listen *listen = ep->parent->listen;
	struct xiw_ep *other;
	struct xiw_ep *next;

	spin_lock(&listen->lock);
	list_for_each_entry_safe(other, next, &listen->half_open.list,
				 by_peer.node) {
		if (!other->ready || other->qpn != ep->qpn ||
		    other->privileged != ep->privileged ||
		    !listen_same_peer(other, ep))
			continue;
		if (other->peer_qpn != ep->peer_qpn) {
			max -= !!max;
			continue;
		}
		/*
		 * Remove it first: it must not get the queue pair before KILL
		 * is handled.
		 */
		listen_remove_half_open(other);
		xiw_ep_raise(other, XIW_EPE_KILL);
	}
	ep->ready = max;
	spin_unlock(&listen->lock);
	return max;
}

/*
 * Makes the Requests that wait for a queue pair be validated again, at all
 * listeners of the port: that of a Request may have been replaced. Those of
 * iw_cm have no children with a queue pair. Process context.
 */
void xiw_listen_wake(struct xiw_dev *dev, __be16 port, u32 qpn)
{
	struct xiw_ep_listen *listen;
	struct xiw_ep *child;

	spin_lock(&dev->ep_lock);
	hash_for_each_possible(dev->listeners, listen, by_port,
			       (__force u16)port) {
		spin_lock(&listen->lock);
		list_for_each_entry(child, &listen->half_open.list,
				    by_peer.node) {
			if (child->ready && child->qpn == qpn)
				xiw_ep_raise(child, XIW_EPE_SOCK);
		}
		spin_unlock(&listen->lock);
	}
	spin_unlock(&dev->ep_lock);
}

/*
 * In a VRF holds the port of a listener at the VRF, too: it is bound to its
 * netdev, and TCP regards a socket that is bound to the VRF as one of another
 * interface, to which it would pass the same connections. That socket is
 * refused now, or this listener if it was there before.
 */
static int listen_hold_vrf(struct xiw_ep *ep, struct net *net,
			   const struct sockaddr_storage *addr, bool afonly)
{
	int vrf = xiw_conn_vrf(ep->dev);
	struct xiw_hold *hold;

	/* The port of connections by number is held at the VRF already. */
	if (!vrf || ep->sctp || !ep->cm_id || ep->listen->hold)
		return 0;
	hold = xiw_hold_get(net, addr, vrf, afonly);
	if (IS_ERR(hold))
		return PTR_ERR(hold);
	ep->listen->hold = hold;
	return 0;
}

/* The table first: a listener without its socket is of no use to others. */
static void listen_release(struct xiw_ep *ep)
{
	struct xiw_ep_listen *listen = ep->listen;

	spin_lock(&ep->dev->ep_lock);
	hash_del(&listen->by_port);
	spin_unlock(&ep->dev->ep_lock);
	if (ep->xs && listen->any)
		xiw_cm_release_any(ep);
	kfree(listen->any);
	listen->any = NULL;
	if (listen->hold)
		xiw_hold_put(listen->hold);
	listen->hold = NULL;
}

/* Called for each endpoint that ends; removes a child from its listener. */
static void listen_teardown(struct xiw_ep *ep)
{
	if (ep->listen)
		listen_release(ep);
	if (!ep->parent)
		return;
	xiw_listen_leave(ep);
	xiw_ep_put(ep->parent);
	ep->parent = NULL;
}

/*
 * Listeners
 */

/*
 * The port of out-of-band connections is held by the device.
 * oob_check_privilege() has checked that Responders may use it.
 */
static int listen_bind(struct xiw_ep *ep, const struct sockaddr_storage *addr,
		       bool afonly)
{
	int bound_if = xiw_conn_bound_if(ep, addr);

	if (ep->cm_id)
		return xiw_sock_bind(ep->xs, addr, bound_if, afonly);
	return xiw_sock_bind_held(ep->xs, addr, bound_if, afonly);
}

static int listen_open_listener(struct xiw_ep *ep, struct net *net,
				const struct sockaddr_storage *addr,
				bool afonly)
{
	struct xiw_sock *xs;
	int ret;

	if (ep->cm_id)
		xiw_cm_choose_protocol(ep, addr);
	ret = xiw_cm_create_sock(ep, net, addr->ss_family, &xs);
	if (ret)
		return ret;
	if (ep->cm_id && ep->cm_id->tos_set)
		xiw_sock_set_tos(xs, ep->cm_id->tos);
	xiw_ep_own_sock(ep, xs);
	if (ep->sctp && xiw_cm_is_any(addr))
		return xiw_cm_listen_any(ep, addr, afonly);
	ret = listen_bind(ep, addr, afonly);
	if (!ret)
		ret = listen_hold_vrf(ep, net, addr, afonly);
	if (ret)
		return ret;
	xiw_cm_add_paths(ep);
	return xiw_sock_listen(xs, XIW_EP_BACKLOG);
}

/*
 * Opens the socket of a listener of iw_cm again, which an administrator has
 * ended (ss -K). If that fails, tries again after a second.
 */
enum xiw_ep_state xiw_listen_reopen(struct xiw_ep *ep)
{
	const struct sockaddr_storage *addr = &ep->cm_id->m_local_addr;
	struct net *net = xiw_sock_get_net(ep->xs);
	struct xiw_sock *old = ep->xs;
	int ret;

	ep->xs = NULL;
	ret = listen_open_listener(ep, net, addr, ep->cm_id->afonly);
	if (ret) {
		ibdev_notice_ratelimited(&ep->dev->ibdev,
					 "the listener at %pISpc was ended, and cannot listen again: %d\n",
					 addr, ret);
		xiw_conn_drop_sock(ep);
		ep->xs = old;
		xiw_ep_set_timer(ep, MSEC_PER_SEC);
	} else {
		xiw_sock_release(old, true);
	}
	put_net(net);
	return XIW_EPS_LISTEN;
}

/**
 * xiw_listen_start() - begin to listen
 * @ep: new endpoint of a listener, locked
 * @net: namespace; the caller keeps it alive during the call, then the socket
 * @addr: address and port, in network order
 * @afonly: the IPv6 socket must not serve IPv4
 *
 * Return: 0, then xiw_listen_stop() ends the listener; or negative errno, then
 * @ep was freed.
 */
int xiw_listen_start(struct xiw_ep *ep, struct net *net,
		     const struct sockaddr_storage *addr, bool afonly)
{
	int ret = listen_open_listener(ep, net, addr, afonly);
	struct xiw_ep_listen *listen = ep->listen;
	struct xiw_dev *dev = ep->dev;

	if (!ret)
		ret = xiw_ep_publish(ep);
	if (ret) {
		xiw_ep_discard(ep);
		return ret;
	}
	xiw_ep_get(ep);
	/* A port mapper may give the listeners of a ULP different addresses. */
	listen->port = xiw_sock_port_of(ep->cm_id ? &ep->cm_id->local_addr
						  : addr);
	spin_lock(&dev->ep_lock);
	hash_add(dev->listeners, &listen->by_port, (__force u16)listen->port);
	spin_unlock(&dev->ep_lock);
	xiw_ep_arm(ep, XIW_EPS_LISTEN);
	return 0;
}

/*
 * Ends a listener: afterwards it reports no request any more, and its port is
 * free. The caller handles KILL itself, and does not wait for the work queue,
 * which may be busy.
 */
void xiw_listen_stop(struct xiw_ep *ep)
{
	xiw_ep_raise(ep, XIW_EPE_KILL);
	xiw_ep_lock(ep);
	xiw_ep_unlock(ep);
	xiw_ep_put(ep);
}

/* Releases all resources of an endpoint that ends; it may lack any of them. */
void xiw_cm_teardown(struct xiw_ep *ep)
{
	xiw_conn_detach_qp(ep);
	/*
	 * Both remove the endpoint from a list by the same entry. A listener
	 * leaves the table of listeners before its socket is closed.
	 */
	xiw_end_teardown(ep);
	listen_teardown(ep);
	xiw_conn_drop_sock(ep);
	kfree(ep->startup);
	ep->startup = NULL;
}
