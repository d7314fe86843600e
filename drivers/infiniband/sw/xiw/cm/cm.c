// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What both users of the connection manager share: the socket of an endpoint,
 * its network namespace and its QP; the end of connections of either side, that
 * is, the graceful close, which first sends what is queued, the abort, and the
 * time in which a closed connection waits for the peer's FIN; and the endpoints
 * of a device.
 */
#include "cm.h"

#include <linux/in.h>
#include <linux/netdevice.h>
#include <linux/wait_bit.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>

#include "dev.h"
#include "llp/sock.h"
#include "qp/ep.h"
#include "qp/qp.h"

/*
 * Work items of Initiators that run at a time: more than one, as one may wait
 * for a mutex of a process that the scheduler has preempted.
 */
#define CM_RETRY_ACTIVE	32

/* The state of the connection of an endpoint with a socket. */
enum xiw_llp_status xiw_conn_status(const struct xiw_ep *ep)
{
	struct xiw_llp *llp = &ep->xs->llp;
	enum xiw_llp_status status;

	llp->ops->lock(llp);
	status = llp->ops->status(llp);
	llp->ops->unlock(llp);
	return status;
}

/* The index of the VRF that a device's netdev belongs to, or 0. Any context. */
int xiw_conn_vrf(const struct xiw_dev *dev)
{
	struct net_device *netdev = dev->netdev;

	return netif_is_l3_slave(netdev) ? l3mdev_master_ifindex(netdev) : 0;
}

/*
 * What a socket in a VRF is bound to: the netdev, or over SCTP the whole VRF,
 * as further paths may use other netdevs of it. 0 outside of a VRF.
 */
static int cm_bound_vrf(const struct xiw_dev *dev, bool sctp)
{
	if (!netif_is_l3_slave(dev->netdev))
		return 0;
	return sctp ? xiw_conn_vrf(dev) : dev->netdev->ifindex;
}

static int cm_bound_if(const struct xiw_dev *dev,
		       const struct sockaddr_storage *addr, bool listens,
		       bool sctp)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	bool bound;
	int type;

	if (addr->ss_family == AF_INET) {
		bound = in->sin_addr.s_addr == htonl(INADDR_ANY) ||
			(listens && ipv4_is_loopback(in->sin_addr.s_addr));
	} else {
		type = __ipv6_addr_type(&in6->sin6_addr);
		bound = type == IPV6_ADDR_ANY ||
			(listens && (type & IPV6_ADDR_LOOPBACK)) ||
			__ipv6_addr_needs_scope_id(type);
	}
	return bound ? dev->netdev->ifindex : cm_bound_vrf(dev, sctp);
}

/*
 * The index of the netdev, or of its VRF, that a socket with the local address
 * @addr must be bound to; or 0. Any context.
 *
 * A wildcard listener accepts only connections that arrive on its own netdev,
 * as rdma_cm creates one per device, all with the same port. It does so for the
 * loopback addresses, too, although only a device on the loopback interface can
 * serve these. A link-local address is ambiguous without an interface, and a
 * netdev in a VRF is not reachable from a socket outside of it.
 */
int xiw_conn_bound_if(const struct xiw_ep *ep,
		      const struct sockaddr_storage *addr)
{
	return cm_bound_if(ep->dev, addr, ep->listen, ep->sctp);
}

/* As xiw_conn_bound_if() for a listener of TCP, without an endpoint. */
int xiw_conn_listener_if(const struct xiw_dev *dev,
			 const struct sockaddr_storage *addr)
{
	return cm_bound_if(dev, addr, true, false);
}

/*
 * May sockets of a network namespace serve a device? The netdev must be in the
 * namespace, and the core must permit the use of the device there. Any context.
 */
bool xiw_conn_may_use(const struct xiw_dev *dev, const struct net *net)
{
	bool in;

	rcu_read_lock();
	in = net_eq(dev_net_rcu(dev->netdev), net);
	rcu_read_unlock();
	return in && rdma_dev_access_netns(&dev->ibdev, net);
}

/*
 * The namespace of a device's own sockets: that of the netdev, with a
 * reference. NULL if it is being deleted, or the netdev is about to leave it.
 * Any context.
 *
 * A netdev that leaves its namespace ends the endpoints of its device first,
 * but does not wait for them. An endpoint that connects at that time must not
 * do so from the new namespace.
 */
struct net *xiw_conn_get_net(const struct xiw_dev *dev)
{
	struct net *net;

	rcu_read_lock();
	net = maybe_get_net(dev_net_rcu(dev->netdev));
	rcu_read_unlock();
	/* Pairs with the barriers between the notifier and the change. */
	smp_rmb();
	if (net && READ_ONCE(dev->eps_closed)) {
		put_net(net);
		return NULL;
	}
	return net;
}

/* Detaches the QP of an endpoint, if it has one. */
void xiw_conn_detach_qp(struct xiw_ep *ep)
{
	if (!ep->qp)
		return;
	xiw_qp_stop(ep->qp, ep);
	xiw_qp_put(ep->qp);
	ep->qp = NULL;
	ep->qpn = 0;
}

/* Resets the connection of an endpoint, if it has one. */
void xiw_conn_drop_sock(struct xiw_ep *ep)
{
	if (ep->xs)
		xiw_sock_release(ep->xs, true);
	ep->xs = NULL;
}

/* Flush before the report: the ULP then finds all its requests completed. */
static void cm_end_stream(struct xiw_ep *ep)
{
	xiw_ep_clear_timer(ep);
	xiw_conn_detach_qp(ep);
	if (ep->user->ended)
		ep->user->ended(ep);
}

/*
 * End a stream. If it ended before TCP had room for its Terminate, the
 * connection is reset: with a FIN the peer would take the fault for a graceful
 * end.
 */
enum xiw_ep_state xiw_end_close(struct xiw_ep *ep)
{
	cm_end_stream(ep);
	return ep->mute ? XIW_EPS_DEAD : xiw_end_linger(ep);
}

/* End an endpoint without a stream: there is nothing to flush or to report. */
enum xiw_ep_state xiw_end_die(struct xiw_ep *ep)
{
	return XIW_EPS_DEAD;
}

/*
 * Should the lower layer close the connection of a stream that it has broken?
 * The device does not wait for that while it is removed.
 */
static bool cm_closes_broken(const struct xiw_ep *ep)
{
	return xiw_conn_status(ep) == XIW_LLP_BROKEN &&
	       !READ_ONCE(ep->dev->eps_closed);
}

/*
 * End a stream and reset its connection. One that the lower layer has broken is
 * closed: a peer that has the Terminate of its session can end the association
 * in order.
 */
enum xiw_ep_state xiw_end_abort(struct xiw_ep *ep)
{
	bool broken = cm_closes_broken(ep);

	cm_end_stream(ep);
	return broken ? xiw_end_linger(ep) : XIW_EPS_DEAD;
}

/*
 * A count that grows while the peer acknowledges data, or sends data to a
 * stream that still receives.
 */
static u32 cm_progress_of(const struct xiw_ep *ep)
{
	u32 progress = xiw_sock_acked(ep->xs);

	if (ep->qp && !READ_ONCE(ep->qp->stream.rx.dead))
		progress += xiw_sock_taken(ep->xs);
	return progress;
}

static void cm_start_timer(struct xiw_ep *ep)
{
	ep->progress = cm_progress_of(ep);
	xiw_ep_set_timer(ep, ep->policy.close_ms);
}

/*
 * A slow network may need longer than the timer to transmit the queued data, so
 * progress extends the timer. The number of extensions is limited, as a peer
 * can feign progress by acknowledging a byte now and then. There are none
 * before the connection was established.
 */
static bool cm_extend_timer(struct xiw_ep *ep)
{
	if (cm_progress_of(ep) == ep->progress || !ep->extensions)
		return false;
	ep->extensions--;
	cm_start_timer(ep);
	return true;
}

/*
 * The timer of a close has expired, or the first FPDU did not arrive in time.
 */
enum xiw_ep_state xiw_end_stalled(struct xiw_ep *ep)
{
	if (ep->closing && cm_extend_timer(ep))
		return ep->state;
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_TIMEOUT);
	if (ep->qp)
		xiw_stream_event(&ep->qp->stream, XIW_QPE_CLOSE_TIMEOUT);
	return xiw_end_abort(ep);
}

/* Everything is sent: send the FIN. */
enum xiw_ep_state xiw_end_shutdown(struct xiw_ep *ep)
{
	xiw_sock_shutdown(ep->xs);
	return ep->state;
}

/* A graceful close has begun: limit its time. */
enum xiw_ep_state xiw_end_close_timer(struct xiw_ep *ep)
{
	ep->closing = true;
	cm_start_timer(ep);
	return ep->state;
}

/*
 * Lingering
 *
 * TCP resets a connection when data arrives after the socket was closed. The
 * peer could then lose a Terminate that it has not read, RFC 5040 section
 * 6.2.1. So the endpoint discards what arrives for a limited time. The rest is
 * left to TCP, which has limits for sockets without an owner: tcp_max_orphans,
 * tcp_orphan_retries, tcp_fin_timeout.
 */

/* Read first: TCP resets a connection that is closed with unread data. */
static bool cm_peer_closed(struct xiw_ep *ep)
{
	enum xiw_llp_status status;

	xiw_sock_discard(ep->xs);
	status = xiw_conn_status(ep);
	return status != XIW_LLP_OPEN && status != XIW_LLP_BROKEN;
}

/* Another endpoint has evicted @ep from the full list of lingering ones. */
static bool cm_was_evicted(struct xiw_ep *ep)
{
	struct xiw_dev *dev = ep->dev;
	bool ret;

	spin_lock(&dev->ep_lock);
	ret = list_empty(&ep->by_peer.node);
	spin_unlock(&dev->ep_lock);
	return ret;
}

/*
 * Add @ep to the lingering endpoints. Above the limit, evict one of them; its
 * handler finds that it is no longer in the list.
 */
static void cm_add_lingering(struct xiw_ep *ep)
{
	struct xiw_dev *dev = ep->dev;
	struct xiw_peer_entry *victim;

	ep->lingers = true;
	ep->by_peer.peer = xiw_sock_peer(ep->xs);
	spin_lock(&dev->ep_lock);
	xiw_peer_limit_add(&dev->lingering, &ep->by_peer);
	if (dev->lingering.count > XIW_EP_LINGERING) {
		victim = xiw_peer_limit_worst(&dev->lingering, 0);
		xiw_peer_limit_remove(&dev->lingering, victim);
		xiw_ep_raise(container_of(victim, struct xiw_ep, by_peer),
			     XIW_EPE_SOCK);
	}
	spin_unlock(&dev->ep_lock);
}

/*
 * Remove an endpoint that ends from the lingering ones, if it is one of them.
 */
void xiw_end_teardown(struct xiw_ep *ep)
{
	struct xiw_dev *dev = ep->dev;

	if (!ep->lingers)
		return;
	spin_lock(&dev->ep_lock);
	if (!list_empty(&ep->by_peer.node))
		xiw_peer_limit_remove(&dev->lingering, &ep->by_peer);
	spin_unlock(&dev->ep_lock);
}

/*
 * Leave the rest of the close to TCP, which sends a FIN after the queued data.
 * Data that arrives from now on resets the connection.
 */
enum xiw_ep_state xiw_end_hand_over(struct xiw_ep *ep)
{
	xiw_sock_release(ep->xs, false);
	ep->xs = NULL;
	return XIW_EPS_DEAD;
}

/*
 * End a connection without a stream after its last startup frame was sent or
 * received. TCP delivers that frame. SCTP would abort the association, so the
 * endpoint waits until both sides have ended it.
 */
enum xiw_ep_state xiw_end_startup(struct xiw_ep *ep)
{
	return ep->sctp ? xiw_end_linger(ep) : xiw_end_hand_over(ep);
}

/* Handle an event of the socket of a lingering connection. */
enum xiw_ep_state xiw_end_linger_sock(struct xiw_ep *ep)
{
	if (cm_peer_closed(ep) || cm_was_evicted(ep))
		return xiw_end_hand_over(ep);
	return XIW_EPS_LINGER;
}

/* The peer's FIN did not arrive in time. */
enum xiw_ep_state xiw_end_linger_timer(struct xiw_ep *ep)
{
	return cm_extend_timer(ep) ? XIW_EPS_LINGER : xiw_end_hand_over(ep);
}

/* After everything was reported: send the FIN, and wait for the peer's FIN. */
enum xiw_ep_state xiw_end_linger(struct xiw_ep *ep)
{
	cm_start_timer(ep);
	xiw_ep_own_sock(ep, ep->xs);
	xiw_sock_shutdown(ep->xs);
	if (cm_peer_closed(ep))
		return xiw_end_hand_over(ep);
	cm_add_lingering(ep);
	return XIW_EPS_LINGER;
}

/* Prepares a device under construction for endpoints. 0 or -ENOMEM. */
int xiw_cm_device_init(struct xiw_dev *dev)
{
	/*
	 * Without WQ_MEM_RECLAIM: connecting allocates memory anyway, and waits
	 * for work items of the QP on other queues.
	 */
	dev->cm_wq = alloc_workqueue("xiw_cm", WQ_UNBOUND, 0);
	if (!dev->cm_wq)
		return -ENOMEM;
	dev->retry_wq = alloc_workqueue("xiw_retry", WQ_UNBOUND,
					CM_RETRY_ACTIVE);
	if (!dev->retry_wq) {
		destroy_workqueue(dev->cm_wq);
		return -ENOMEM;
	}
	xiw_peer_limit_init(&dev->lingering);
	hash_init(dev->listeners);
	xa_init(&dev->requests);
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

/*
 * Permits new endpoints of a device that is being registered, for the first
 * time or again. Process context.
 */
void xiw_cm_device_open(struct xiw_dev *dev)
{
	spin_lock(&dev->ep_lock);
	WRITE_ONCE(dev->eps_closed, false);
	spin_unlock(&dev->ep_lock);
#ifndef XIW_HAVE_DISABLE_DRIVER
	WRITE_ONCE(dev->joining, true);
#endif
}

/*
 * Begins to end every endpoint of a device, and refuses new ones. Connections
 * are reset, lingering ones too. iw_cm cannot cancel a connect that is in
 * progress and waits for its result, so the removal of a device begins with
 * this.
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

/*
 * Ends every endpoint of a device that is not registered any more. Sleeps until
 * all of them are dead, which no peer can delay.
 */
void xiw_cm_device_exit(struct xiw_dev *dev)
{
	xiw_cm_device_kill(dev);
	wait_var_event(&dev->eps, cm_no_endpoints(dev));
	/* Waits for the work items whose endpoint has just ended. */
	destroy_workqueue(dev->retry_wq);
	destroy_workqueue(dev->cm_wq);
	xa_destroy(&dev->requests);
}
