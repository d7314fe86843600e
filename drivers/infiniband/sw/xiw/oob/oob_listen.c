// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The TCP port of connections by number, at each address that is a GID. It is
 * held from the creation of the device on (hold.c), so that no program can take
 * it and impersonate a Responder. A listener exists only while a Responder
 * needs it.
 */

/**
 * DOC: Port of connections by number
 *
 * A port is held in the network namespace of the netdev, also while its address
 * is away: any program may bind to an address that is not there (IP_FREEBIND).
 * Of former addresses the latest OOB_FORMER are held. In a VRF it is held
 * twice, at the netdev and at the VRF: TCP passes connections to a socket bound
 * to either. If another program has a port, the device tries again every
 * OOB_RETRY.
 *
 * The hold does not pin the namespace. A listener does, for as long as a
 * Responder exists.
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

/* Ports of former addresses that a device holds */
#define OOB_FORMER	64

/* Time until a port that another program has is tried again */
#define OOB_RETRY	(10 * HZ)

/**
 * struct xiw_oob_port - a port of an address; protected by xiw_dev.oob_lock
 * @node: in xiw_dev.oob_ports: former addresses first, the oldest one leading
 * @gid: its address
 * @port: its TCP port
 * @bound_if: index of the netdev that it is held at, or 0
 * @vrf: index of the VRF that it is held at, too, or 0
 * @hold: at @bound_if, or NULL
 * @hold_vrf: at @vrf, or NULL
 * @users: Responders that need a listener
 * @wanted: the address is a GID
 * @former: the address was a GID
 * @logged: it was logged that another program has the port
 * @ep: the endpoint of the listener, with a reference, or NULL; once it is
 *	dead, as the port was disabled or an administrator has ended the socket,
 *	another one takes its place
 */
struct xiw_oob_port {
	struct list_head node;
	u8 gid[XIW_OOB_GID_LEN];
	u16 port;
	int bound_if;
	int vrf;
	struct xiw_hold *hold;
	struct xiw_hold *hold_vrf;
	u32 users;
	bool wanted;
	bool former;
	bool logged;
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

/*
 * Holds
 */

static void oob_unhold(struct xiw_dev *dev, struct xiw_oob_port *p)
{
	if (p->hold) {
		xiw_hold_unuse(p->hold, dev);
		xiw_hold_put(p->hold);
	}
	if (p->hold_vrf)
		xiw_hold_put(p->hold_vrf);
	p->hold = NULL;
	p->hold_vrf = NULL;
}

static struct xiw_hold *oob_hold_at(struct net *net,
				    const struct sockaddr_storage *addr,
				    int bound_if, int *ret)
{
	struct xiw_hold *hold = xiw_hold_get(net, addr, bound_if, true);

	if (!IS_ERR(hold))
		return hold;
	*ret = PTR_ERR(hold);
	return NULL;
}

/* Holds a port, in a VRF twice. 0, or negative errno if neither is held. */
static int oob_hold(struct xiw_dev *dev, struct xiw_oob_port *p)
{
	struct net *net = xiw_conn_get_net(dev);
	struct sockaddr_storage addr;
	int ret = 0;

	if (!net)
		return -ENETDOWN;
	xiw_oob_to_addr(dev, p->gid, p->port, &addr);
	p->bound_if = xiw_conn_listener_if(dev, &addr);
	p->vrf = xiw_conn_vrf(dev);
	p->hold = oob_hold_at(net, &addr, p->bound_if, &ret);
	if (p->hold && p->vrf)
		p->hold_vrf = oob_hold_at(net, &addr, p->vrf, &ret);
	put_net(net);
	if (ret)
		oob_unhold(dev, p);
	return ret;
}

/* The netdev has entered or left a VRF since the port was held. */
static bool oob_hold_is_stale(const struct xiw_dev *dev,
			      const struct xiw_oob_port *p)
{
	struct sockaddr_storage addr;

	xiw_oob_to_addr(dev, p->gid, p->port, &addr);
	return p->hold && (p->vrf != xiw_conn_vrf(dev) ||
			   p->bound_if != xiw_conn_listener_if(dev, &addr));
}

/*
 * Listeners
 */

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

static void oob_listen_stop(struct xiw_dev *dev, struct xiw_oob_port *p)
{
	if (p->ep)
		xiw_listen_stop(p->ep);
	p->ep = NULL;
	if (p->hold)
		xiw_hold_unuse(p->hold, dev);
}

/* Another device with the same address may listen there already. */
static int oob_listen_start(struct xiw_dev *dev, struct xiw_oob_port *p)
{
	struct xiw_ep *ep;

	if (!xiw_hold_use(p->hold, dev))
		return -EADDRINUSE;
	ep = oob_listen_open_listener(dev, p->gid, p->port);
	if (IS_ERR(ep)) {
		xiw_hold_unuse(p->hold, dev);
		return PTR_ERR(ep);
	}
	p->ep = ep;
	return 0;
}

/*
 * Ports
 */

/* Holds the port, and listens there if Responders need that. */
static int oob_port_refresh(struct xiw_dev *dev, struct xiw_oob_port *p)
{
	bool stale = oob_hold_is_stale(dev, p);
	int ret = 0;

	if (stale || (p->ep && READ_ONCE(p->ep->listen->closed)))
		oob_listen_stop(dev, p);
	if (stale)
		oob_unhold(dev, p);
	if (!p->hold)
		ret = oob_hold(dev, p);
	if (!ret && p->users && !p->ep)
		ret = oob_listen_start(dev, p);
	return ret;
}

static struct xiw_oob_port *oob_port_find(struct xiw_dev *dev, const u8 *gid,
					  u16 port)
{
	struct xiw_oob_port *p;

	lockdep_assert_held(&dev->oob_lock);

	list_for_each_entry(p, &dev->oob_ports, node)
		if (p->port == port && !memcmp(p->gid, gid, sizeof(p->gid)))
			return p;
	return NULL;
}

static struct xiw_oob_port *oob_port_add(struct xiw_dev *dev, const u8 *gid,
					 u16 port)
{
	struct xiw_oob_port *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	memcpy(p->gid, gid, sizeof(p->gid));
	p->port = port;
	list_add_tail(&p->node, &dev->oob_ports);
	return p;
}

/* Drops what is not needed any more. */
static void oob_port_tidy(struct xiw_dev *dev, struct xiw_oob_port *p)
{
	if (p->users)
		return;
	oob_listen_stop(dev, p);
	if (p->wanted || p->former)
		return;
	oob_unhold(dev, p);
	list_del(&p->node);
	kfree(p);
}

/*
 * Makes sure that a listener for a Responder exists, at @gid. The queue pair
 * has none yet, and its modify_lock is held. -EADDRINUSE if another program has
 * the port, or another device listens there; -EACCES if out-of-band connections
 * have just been disabled; or another negative errno.
 */
int xiw_oob_port_get(struct xiw_qp *qp, const u8 *gid, u16 port)
{
	struct xiw_dev *dev = qp->dev;
	struct xiw_oob_port *p;
	int ret = -EACCES;

	mutex_lock(&dev->oob_lock);
	/* No listener may open after oob_close_all(). */
	if (!READ_ONCE(dev->oob_port))
		goto unlock;
	ret = -ENOMEM;
	p = oob_port_find(dev, gid, port) ?: oob_port_add(dev, gid, port);
	if (!p)
		goto unlock;
	p->users++;
	ret = oob_port_refresh(dev, p);
	if (ret) {
		p->users--;
		oob_port_tidy(dev, p);
	} else {
		qp->oob.listener = p;
	}
unlock:
	mutex_unlock(&dev->oob_lock);
	return ret;
}

/* Drops a Responder's use of its listener. */
void xiw_oob_port_put(struct xiw_qp *qp)
{
	struct xiw_oob_port *p = qp->oob.listener;
	struct xiw_dev *dev = qp->dev;

	qp->oob.listener = NULL;
	mutex_lock(&dev->oob_lock);
	p->users--;
	oob_port_tidy(dev, p);
	mutex_unlock(&dev->oob_lock);
}

/*
 * Reservation
 */

/* Marks the ports of former addresses, and what another number leaves. */
static void oob_forget_gids(struct xiw_dev *dev, u16 port)
{
	struct xiw_oob_port *p;

	list_for_each_entry(p, &dev->oob_ports, node) {
		p->former = (p->former || p->wanted) && p->port == port;
		p->wanted = false;
	}
}

/* Holds the port at a GID. False if that is to be tried again. */
static bool oob_reserve_one(struct xiw_dev *dev, const u8 *gid, u16 port)
{
	struct xiw_oob_port *p = oob_port_find(dev, gid, port) ?:
				 oob_port_add(dev, gid, port);
	int ret;

	if (!p)
		return false;
	p->wanted = true;
	p->former = false;
	list_move_tail(&p->node, &dev->oob_ports);
	ret = oob_port_refresh(dev, p);
	if (ret == -EADDRINUSE && !p->logged)
		ibdev_notice_ratelimited(&dev->ibdev,
					 "TCP port %u of %pI6c is another program's, which Initiators by number would take for this host's\n",
					 port, gid);
	p->logged = ret == -EADDRINUSE;
	return !ret;
}

/* Drops ports that are not needed, and the oldest former ones. */
static void oob_tidy_all(struct xiw_dev *dev)
{
	struct xiw_oob_port *next;
	struct xiw_oob_port *p;
	int former = 0;

	list_for_each_entry(p, &dev->oob_ports, node)
		former += p->former;
	list_for_each_entry_safe(p, next, &dev->oob_ports, node) {
		if (p->former && former > OOB_FORMER) {
			p->former = false;
			former--;
		}
		oob_port_tidy(dev, p);
	}
}

/* The usable GIDs, XIW_MAX_GIDS at most; returns their number. */
static u32 oob_get_gids(struct xiw_dev *dev, union ib_gid *gids)
{
	u32 n = 0;
	int i;

	spin_lock(&dev->port_lock);
	for (i = 1; i < XIW_MAX_GIDS; i++)
		if (xiw_oob_gid_usable(dev->gids[i].raw))
			gids[n++] = dev->gids[i];
	spin_unlock(&dev->port_lock);
	return n;
}

/* The port number, or 0 if no process of the netdev's namespace can connect. */
static u16 oob_get_port(struct xiw_dev *dev)
{
	struct net *net = xiw_conn_get_net(dev);
	bool may = net && xiw_conn_may_use(dev, net);

	if (net)
		put_net(net);
	return may ? READ_ONCE(dev->oob_port) : 0;
}

/*
 * Holds the port at every address that is a GID, after either may have changed,
 * and listens again if an administrator has ended a listener. The device is
 * registered. Returns jiffies after which to call this again, or 0.
 */
unsigned long xiw_oob_reserve(struct xiw_dev *dev)
{
	union ib_gid *gids = kcalloc(XIW_MAX_GIDS, sizeof(*gids), GFP_KERNEL);
	struct xiw_oob_port *p;
	bool all = true;
	u16 port;
	u32 n;
	u32 i;

	if (!gids)
		return OOB_RETRY;
	mutex_lock(&dev->oob_lock);
	n = oob_get_gids(dev, gids);
	port = oob_get_port(dev);
	oob_forget_gids(dev, port);
	for (i = 0; port && i < n; i++)
		all &= oob_reserve_one(dev, gids[i].raw, port);
	/* Responders of former GIDs, and of another number. */
	list_for_each_entry(p, &dev->oob_ports, node)
		if (port && p->users && !p->wanted)
			all &= !oob_port_refresh(dev, p);
	oob_tidy_all(dev);
	mutex_unlock(&dev->oob_lock);
	kfree(gids);
	return all ? 0 : OOB_RETRY;
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
		oob_listen_stop(dev, p);
		oob_unhold(dev, p);
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
 * Drops all ports of a device without queue pairs, which is not registered: it
 * ends or moves to another namespace. Either way xiw_cm_device_kill() has ended
 * the listeners.
 */
void xiw_oob_device_exit(struct xiw_dev *dev)
{
	mutex_lock(&dev->oob_lock);
	oob_forget_gids(dev, 0);
	oob_tidy_all(dev);
	mutex_unlock(&dev->oob_lock);
}
