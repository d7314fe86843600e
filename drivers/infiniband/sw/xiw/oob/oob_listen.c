// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listeners for Responders of out-of-band connections. In the initial network
 * namespace the device listens on every address that is a GID from its creation
 * on, so that no other program can bind the port and impersonate a Responder.
 * In other namespaces, and after a failure, a listener exists while a Responder
 * needs it.
 */
#include "oob.h"

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>

#include "cm/cm.h"
#include "dev.h"
#include "llp/sock.h"
#include "qp/ep.h"
#include "qp/qp.h"

/**
 * struct xiw_oob_port - a listener; protected by xiw_dev.oob_lock
 * @node: in xiw_dev.oob_ports
 * @gid: its address
 * @port: its TCP port
 * @bound_if: index of the netdev that it is confined to, or 0
 * @users: Responders that need it, and one more if @reserved
 * @reserved: kept although no Responder needs it, see xiw_oob_reserve()
 * @ep: its endpoint, with a reference; once that is dead, because the port was
 *	disabled or the device moved, a new listener takes the place of this one
 */
struct xiw_oob_port {
	struct list_head node;
	u8 gid[XIW_OOB_GID_LEN];
	u16 port;
	int bound_if;
	u32 users;
	bool reserved;
	struct xiw_ep *ep;
};

/*
 * Converts a GID to a socket address with @port in host order. The device's
 * link is the scope of link-local addresses.
 */
void xiw_oob_to_addr(const struct xiw_dev *dev, const u8 *gid, u16 port,
		     struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *in6 = (void *)addr;
	union ib_gid ip;

	memset(addr, 0, sizeof(*addr));
	memcpy(ip.raw, gid, sizeof(ip.raw));
	rdma_gid2ip((struct sockaddr *)addr, &ip);
	xiw_sock_set_port(addr, htons(port));
	if (addr->ss_family == AF_INET6 &&
	    __ipv6_addr_needs_scope_id(__ipv6_addr_type(&in6->sin6_addr)))
		in6->sin6_scope_id = dev->netdev->ifindex;
}

static struct xiw_ep *oob_listen_open_listener(struct xiw_dev *dev,
					       const u8 *gid, u16 port)
{
	struct net *net = xiw_conn_get_net(dev);
	struct sockaddr_storage addr;
	struct xiw_ep *ep;
	int ret = -ENOMEM;

	if (!net)
		return ERR_PTR(-ENETDOWN);
	xiw_oob_to_addr(dev, gid, port, &addr);
	ep = xiw_ep_create(dev, dev->oob_user, true);
	if (ep)
		ret = xiw_listen_start(ep, net, &addr, true);
	put_net(net);
	return ret ? ERR_PTR(ret) : ep;
}

/* A listener that is closed keeps its port until the endpoint is dead. */
static bool oob_listen_is_dead(const struct xiw_oob_port *p)
{
	if (!READ_ONCE(p->ep->listen->closed))
		return false;
	wait_for_completion(&p->ep->dead);
	return true;
}

static struct xiw_oob_port *oob_listen_find_port(struct xiw_dev *dev,
						 const u8 *gid, u16 port)
{
	struct xiw_oob_port *p;

	lockdep_assert_held(&dev->oob_lock);

	list_for_each_entry(p, &dev->oob_ports, node)
		if (p->port == port && !oob_listen_is_dead(p) &&
		    !memcmp(p->gid, gid, sizeof(p->gid)))
			return p;
	return NULL;
}

static int oob_listen_bound_if(const struct xiw_oob_port *p)
{
	struct sockaddr_storage addr;

	xiw_oob_to_addr(p->ep->dev, p->gid, p->port, &addr);
	return xiw_conn_bound_if(p->ep, &addr);
}

static struct xiw_oob_port *oob_listen_add_port(struct xiw_dev *dev,
						const u8 *gid, u16 port)
{
	struct xiw_oob_port *p = kzalloc(sizeof(*p), GFP_KERNEL);
	struct xiw_ep *ep;

	if (!p)
		return ERR_PTR(-ENOMEM);
	ep = oob_listen_open_listener(dev, gid, port);
	if (IS_ERR(ep)) {
		kfree(p);
		return ERR_CAST(ep);
	}
	memcpy(p->gid, gid, sizeof(p->gid));
	p->port = port;
	p->ep = ep;
	p->bound_if = oob_listen_bound_if(p);
	list_add(&p->node, &dev->oob_ports);
	return p;
}

/*
 * Makes sure that a listener for a Responder exists, at @gid. The queue pair
 * has none yet, and its modify_lock is held. -EADDRINUSE if another program has
 * the port, -EACCES if out-of-band connections have just been disabled, or
 * another negative errno.
 */
int xiw_oob_port_get(struct xiw_qp *qp, const u8 *gid, u16 port)
{
	struct xiw_dev *dev = qp->dev;
	struct xiw_oob_port *p = ERR_PTR(-EACCES);

	mutex_lock(&dev->oob_lock);
	/* No listener may open after oob_close_all(). */
	if (READ_ONCE(dev->oob_port))
		p = oob_listen_find_port(dev, gid, port)
			    ?: oob_listen_add_port(dev, gid, port);
	if (!IS_ERR(p)) {
		p->users++;
		qp->oob.listener = p;
	}
	mutex_unlock(&dev->oob_lock);
	return PTR_ERR_OR_ZERO(p);
}

static void oob_put_port(struct xiw_oob_port *p)
{
	if (--p->users)
		return;
	list_del(&p->node);
	xiw_listen_stop(p->ep);
	kfree(p);
}

/* Drops a Responder's use of its listener. */
void xiw_oob_port_put(struct xiw_qp *qp)
{
	struct xiw_oob_port *p = qp->oob.listener;
	struct xiw_dev *dev = qp->dev;

	qp->oob.listener = NULL;
	mutex_lock(&dev->oob_lock);
	oob_put_port(p);
	mutex_unlock(&dev->oob_lock);
}

/*
 * Reservation
 */

/* The listener is dead, or the netdev has entered or left a VRF. */
static bool oob_is_stale(const struct xiw_oob_port *p)
{
	return oob_listen_is_dead(p) || p->bound_if != oob_listen_bound_if(p);
}

/* Drops reservations for former GIDs or another port, and stale listeners. */
static void oob_unreserve(struct xiw_dev *dev, const union ib_gid *gids,
			  u16 port)
{
	struct xiw_oob_port *p;
	struct xiw_oob_port *next;
	bool there;
	int i;

	list_for_each_entry_safe(p, next, &dev->oob_ports, node) {
		if (!p->reserved)
			continue;
		there = false;
		for (i = 1; port == p->port && i < XIW_MAX_GIDS; i++)
			there |= !memcmp(p->gid, gids[i].raw, sizeof(p->gid));
		if (there && !oob_is_stale(p))
			continue;
		p->reserved = false;
		oob_put_port(p);
	}
}

static void oob_reserve_one(struct xiw_dev *dev, const u8 *gid, u16 port)
{
	struct xiw_oob_port *p = oob_listen_find_port(dev, gid, port);

	if (!p)
		p = oob_listen_add_port(dev, gid, port);
	if (IS_ERR(p)) {
		if (PTR_ERR(p) == -EADDRINUSE)
			ibdev_notice_ratelimited(&dev->ibdev,
						 "TCP port %u of %pI6c is another program's, which Initiators by number would take for this host's\n",
						 port, gid);
		return;
	}
	if (!p->reserved)
		p->users++;
	p->reserved = true;
}

/*
 * Reserves the port at every address that is a GID, after either may have
 * changed. The device is registered.
 *
 * Only in the initial network namespace: a listening socket pins any other one,
 * and the device would in turn last as long as the namespace.
 */
void xiw_oob_reserve(struct xiw_dev *dev)
{
	union ib_gid *gids;
	u16 port;
	int i;

	if (!xiw_conn_may_use(dev, &init_net))
		return;
	gids = kcalloc(XIW_MAX_GIDS, sizeof(*gids), GFP_KERNEL);
	/* The next change of an address calls this again. */
	if (!gids)
		return;
	mutex_lock(&dev->oob_lock);
	spin_lock(&dev->port_lock);
	memcpy(gids, dev->gids, sizeof(dev->gids));
	spin_unlock(&dev->port_lock);
	port = READ_ONCE(dev->oob_port);
	oob_unreserve(dev, gids, port);
	for (i = 1; port && i < XIW_MAX_GIDS; i++)
		if (xiw_oob_gid_usable(gids[i].raw))
			oob_reserve_one(dev, gids[i].raw, port);
	mutex_unlock(&dev->oob_lock);
	kfree(gids);
}

/*
 * Ends all listeners, and with REPLACED all connections that are not
 * established. Their Initiators retry, and give up as there is no port.
 */
static void oob_close_all(struct xiw_dev *dev)
{
	struct xiw_oob_port *p;
	struct xiw_ep *ep;

	mutex_lock(&dev->oob_lock);
	list_for_each_entry(p, &dev->oob_ports, node) {
		xiw_ep_raise(p->ep, XIW_EPE_KILL);
		/* Wait until the port is free: it may be bound again soon. */
		wait_for_completion(&p->ep->dead);
	}
	mutex_unlock(&dev->oob_lock);

	spin_lock(&dev->ep_lock);
	list_for_each_entry(ep, &dev->eps, node)
		if (ep->user == dev->oob_user)
			xiw_ep_raise(ep, XIW_EPE_REPLACED);
	spin_unlock(&dev->ep_lock);
}

/*
 * Sets the TCP port for later changes to RTR of a registered device. 0 disables
 * them, and ends connections that are not established.
 */
void xiw_oob_set_port(struct xiw_dev *dev, u16 port)
{
	WRITE_ONCE(dev->oob_port, port);
	if (!port)
		oob_close_all(dev);
	xiw_oob_reserve(dev);
}

/*
 * Releases all reserved ports of a device without queue pairs, which is not
 * registered: it ends or moves to another namespace. Either way
 * xiw_cm_device_kill() has ended the listeners.
 */
void xiw_oob_device_exit(struct xiw_dev *dev)
{
	mutex_lock(&dev->oob_lock);
	oob_unreserve(dev, NULL, 0);
	mutex_unlock(&dev->oob_lock);
}
