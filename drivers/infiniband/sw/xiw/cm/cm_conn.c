// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Functions that all files of the connection manager share: the socket of an
 * endpoint, its network namespace, and the QP.
 */
#include "cm.h"

#include <linux/in.h>
#include <linux/netdevice.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>

#include "dev.h"
#include "llp/sock.h"
#include "qp/ep.h"
#include "qp/qp.h"
#include "qp/qp_flush.h"

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

/*
 * What a socket in a VRF is bound to: the netdev, or over SCTP the whole VRF,
 * as further paths may use other netdevs of it. 0 outside of a VRF.
 */
static int conn_bound_vrf(const struct xiw_ep *ep)
{
	struct net_device *netdev = ep->dev->netdev;

	if (!netif_is_l3_slave(netdev))
		return 0;
	return ep->sctp ? l3mdev_master_ifindex(netdev) : netdev->ifindex;
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
	const struct net_device *netdev = ep->dev->netdev;
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	bool bound;
	int type;

	if (addr->ss_family == AF_INET) {
		bound = in->sin_addr.s_addr == htonl(INADDR_ANY) ||
			(ep->listen && ipv4_is_loopback(in->sin_addr.s_addr));
	} else {
		type = __ipv6_addr_type(&in6->sin6_addr);
		bound = type == IPV6_ADDR_ANY ||
			(ep->listen && (type & IPV6_ADDR_LOOPBACK)) ||
			__ipv6_addr_needs_scope_id(type);
	}
	return bound ? netdev->ifindex : conn_bound_vrf(ep);
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
