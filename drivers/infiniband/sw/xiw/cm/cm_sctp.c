// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which connections use SCTP, and from which addresses.
 */

/**
 * DOC: Wildcard listeners over SCTP
 *
 * A socket of SCTP that is bound to the wildcard announces all addresses of the
 * namespace to each peer (RFC 5043 section 7.2 advises against that). So a
 * wildcard listener is bound to the addresses of its netdev, which are the GIDs
 * of the port, and follows their changes. It begins to listen when there is an
 * address.
 *
 * One socket only can have an address and a port. If two devices name each
 * other's addresses, the first of the two listeners of a ULP gets all of them.
 * It passes connections to the other one, see xiw_cm_user.get_twin, which has
 * no address of its own until the first one ends.
 */
#include "cm.h"

#include <linux/in.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>

#include "dev.h"
#include "llp/sock.h"
#include "qp/ep.h"
#include "sctp/sctp.h"

/* Limit of a wildcard listener's addresses, including the administrator's */
#define CM_SCTP_ANY	16

/**
 * struct xiw_cm_any - addresses of a wildcard listener over SCTP
 * @family: of the socket
 * @v6only: no IPv4 addresses
 * @port: in network order
 * @listening: the socket listens
 * @stale: the addresses have changed since they were looked at; any context
 * @count: elements of @bound
 * @bound: addresses it is bound to, IPv4 ones mapped. The endpoint is locked to
 *	change them, and xiw_dev.ep_lock is held: listeners of other devices
 *	look at them
 */
struct xiw_cm_any {
	sa_family_t family;
	bool v6only;
	__be16 port;
	bool listening;
	bool stale;
	u32 count;
	struct in6_addr bound[CM_SCTP_ANY];
};

/*
 * Makes a new endpoint use SCTP, which has a checksum for each packet and keeps
 * the boundaries of messages. So there are neither CRCs nor Markers, an FPDU
 * fills one packet at most, and the Responder may send first.
 */
void xiw_cm_use_sctp(struct xiw_ep *ep)
{
	ep->sctp = true;
	ep->policy.crc = false;
	ep->policy.markers = false;
	ep->conn.fpdu_segments = 1;
	ep->conn.probe = false;
	ep->conn.unfenced = true;
}

/*
 * Makes a new endpoint use SCTP if its service does; @addr is an address of
 * rdma_cm with the port of the service.
 */
void xiw_cm_choose_protocol(struct xiw_ep *ep,
			    const struct sockaddr_storage *addr)
{
	if (xiw_dev_uses_sctp(ep->dev, ntohs(xiw_sock_port_of(addr))))
		xiw_cm_use_sctp(ep);
}

/*
 * Creates the socket of an endpoint. The caller keeps the namespace alive
 * during the call. -EPROTONOSUPPORT if the port uses SCTP and the kernel has no
 * SCTP, or another negative errno.
 */
int xiw_cm_create_sock(struct xiw_ep *ep, struct net *net, int family,
		       struct xiw_sock **xs)
{
	return ep->sctp ? xiw_sctp_create(net, family, &ep->policy, xs)
			: xiw_sock_create(net, family, xs);
}

/*
 * Addresses
 */

/* A socket address of @addr that fits @family; false if there is none. */
static bool cm_sctp_sockaddr(struct sockaddr_storage *to, sa_family_t family,
			     const struct in6_addr *addr, __be16 port)
{
	memset(to, 0, sizeof(*to));
	rdma_gid2ip((struct sockaddr *)to, (const union ib_gid *)addr);
	xiw_sock_set_port(to, port);
	return to->ss_family == AF_INET || family == AF_INET6;
}

/* Copies the further addresses of the administrator; returns how many. */
static u32 cm_sctp_get_paths(struct xiw_dev *dev, struct in6_addr *addrs)
{
	u32 count;

	spin_lock(&dev->policy_lock);
	count = dev->sctp_naddrs;
	memcpy(addrs, dev->sctp_addrs, sizeof(dev->sctp_addrs));
	spin_unlock(&dev->policy_lock);
	return count;
}

/*
 * Adds the further addresses of the device to a bound socket. One that cannot
 * be used now is left out without an error.
 */
void xiw_cm_add_paths(struct xiw_ep *ep)
{
	struct in6_addr addrs[XIW_SCTP_ADDRS];
	struct sockaddr_storage addr;
	struct sockaddr_storage own;
	u32 count;
	u32 i;

	if (!ep->sctp || xiw_sock_local(ep->xs, &own))
		return;
	count = cm_sctp_get_paths(ep->dev, addrs);
	for (i = 0; i < count; i++)
		if (!cm_sctp_sockaddr(&addr, own.ss_family, &addrs[i], 0) ||
		    addr.ss_family != own.ss_family ||
		    xiw_sctp_bind_more(ep->xs, &addr))
			xiw_ep_dbg(ep, "no path from %pI6c\n", &addrs[i]);
}

/*
 * Wildcard listeners
 */

/* Is an IPv4 or IPv6 address the wildcard? Any context. */
bool xiw_cm_is_any(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;

	return addr->ss_family == AF_INET6 ? ipv6_addr_any(&in6->sin6_addr)
					   : !in->sin_addr.s_addr;
}

/* Can the listener have @addr? A link-local one needs an interface. */
static bool cm_sctp_serves(const struct xiw_cm_any *any,
			   const struct in6_addr *addr)
{
	if (ipv6_addr_any(addr))
		return false;
	if (ipv6_addr_v4mapped(addr))
		return !any->v6only;
	return any->family == AF_INET6 &&
	       !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL);
}

/*
 * Addresses that a listener should have: @own ones of the netdev, then those
 * of the administrator, @count in all.
 */
struct cm_sctp_wanted {
	u32 own;
	u32 count;
	struct in6_addr addrs[CM_SCTP_ANY];
};

static void cm_sctp_get_own(struct xiw_dev *dev, const struct xiw_cm_any *any,
			    struct cm_sctp_wanted *wanted)
{
	u32 count = 0;
	u32 i;

	spin_lock(&dev->port_lock);
	for (i = 1; i < XIW_MAX_GIDS && count < CM_SCTP_ANY - XIW_SCTP_ADDRS;
	     i++) {
		memcpy(&wanted->addrs[count], &dev->gids[i],
		       sizeof(struct in6_addr));
		count += cm_sctp_serves(any, &wanted->addrs[count]);
	}
	spin_unlock(&dev->port_lock);
	wanted->own = count;
	wanted->count = count;
}

static void cm_sctp_get_wanted(struct xiw_dev *dev,
			       const struct xiw_cm_any *any,
			       struct cm_sctp_wanted *wanted)
{
	struct in6_addr more[XIW_SCTP_ADDRS];
	u32 paths = cm_sctp_get_paths(dev, more);
	u32 i;

	cm_sctp_get_own(dev, any, wanted);
	if (!wanted->own)
		return;
	for (i = 0; i < paths; i++)
		if (cm_sctp_serves(any, &more[i]))
			wanted->addrs[wanted->count++] = more[i];
}

static bool cm_sctp_has(const struct in6_addr *list, u32 count,
			const struct in6_addr *addr)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (ipv6_addr_equal(&list[i], addr))
			return true;
	return false;
}

static void cm_sctp_add_bound(struct xiw_ep *ep, const struct in6_addr *addr)
{
	struct xiw_cm_any *any = ep->listen->any;

	spin_lock(&ep->dev->ep_lock);
	any->bound[any->count++] = *addr;
	spin_unlock(&ep->dev->ep_lock);
}

static void cm_sctp_del_bound(struct xiw_ep *ep, u32 i)
{
	struct xiw_cm_any *any = ep->listen->any;

	spin_lock(&ep->dev->ep_lock);
	any->bound[i] = any->bound[--any->count];
	spin_unlock(&ep->dev->ep_lock);
}

/* Binds the first address like that of any socket, or adds a further one. */
static int cm_sctp_bind_one(struct xiw_ep *ep, const struct in6_addr *addr)
{
	struct xiw_cm_any *any = ep->listen->any;
	struct sockaddr_storage to;
	int ret;

	if (any->count == CM_SCTP_ANY)
		return -ENOSPC;
	if (!cm_sctp_sockaddr(&to, any->family, addr, any->port))
		return -EAFNOSUPPORT;
	ret = any->count ? xiw_sctp_bind_more(ep->xs, &to)
			 : xiw_sock_bind(ep->xs, &to,
					 xiw_conn_bound_if(ep, &to),
					 any->v6only);
	if (!ret)
		cm_sctp_add_bound(ep, addr);
	return ret;
}

/* Removes addresses that are not wanted; SCTP keeps the last one. */
static void cm_sctp_unbind_others(struct xiw_ep *ep,
				  const struct cm_sctp_wanted *wanted)
{
	struct xiw_cm_any *any = ep->listen->any;
	struct sockaddr_storage old;
	u32 i = 0;

	while (i < any->count) {
		cm_sctp_sockaddr(&old, any->family, &any->bound[i], any->port);
		if (cm_sctp_has(wanted->addrs, wanted->count, &any->bound[i]) ||
		    xiw_sctp_unbind(ep->xs, &old))
			i++;
		else
			cm_sctp_del_bound(ep, i);
	}
}

/* What cm_sctp_has_first() looks for: @addr of the listener @any. */
struct cm_sctp_sought {
	const struct xiw_cm_any *any;
	const struct in6_addr *addr;
};

/*
 * Calls @fn for each other device of the namespace, until it returns true.
 * Returns whether it has.
 */
static bool cm_sctp_other_devs(const struct xiw_ep *ep, struct net *net,
			       bool (*fn)(struct xiw_dev *dev, const void *arg),
			       const void *arg)
{
	struct net_device *netdev;
	struct ib_device *ibdev;
	bool done = false;

	rcu_read_lock();
	for_each_netdev_rcu(net, netdev) {
		ibdev = ib_device_get_by_netdev(netdev, XIW_RDMA_DRIVER_ID);
		if (!ibdev)
			continue;
		done = to_xdev(ibdev) != ep->dev && fn(to_xdev(ibdev), arg);
		ib_device_put(ibdev);
		if (done)
			break;
	}
	rcu_read_unlock();
	return done;
}

/*
 * Does a listener of @dev have the address? Do not infer it from
 * sctp_addresses: a socket of another program may be bound to the address.
 */
static bool cm_sctp_has_first(struct xiw_dev *dev, const void *arg)
{
	const struct cm_sctp_sought *sought = arg;
	const struct xiw_cm_any *any = sought->any;
	struct xiw_ep_listen *listen;
	bool found = false;
	int bucket;

	spin_lock(&dev->ep_lock);
	hash_for_each(dev->listeners, bucket, listen, by_port)
		found |= listen->any && listen->any->port == any->port &&
			 listen->any->family == any->family &&
			 cm_sctp_has(listen->any->bound, listen->any->count,
				     sought->addr);
	spin_unlock(&dev->ep_lock);
	return found;
}

/* Does a listener of another device, of the same ULP, have the address? */
static bool cm_sctp_others_have(struct xiw_ep *ep, const struct in6_addr *addr)
{
	const struct cm_sctp_sought sought = {
		.any = ep->listen->any,
		.addr = addr,
	};

	return cm_sctp_other_devs(ep, sock_net(ep->xs->sk), cm_sctp_has_first,
				  &sought);
}

/*
 * Binds the wanted addresses that are not bound. Returns the first error of the
 * netdev's own addresses; those of the administrator may be missing.
 */
static int cm_sctp_bind_missing(struct xiw_ep *ep,
				const struct cm_sctp_wanted *wanted)
{
	struct xiw_cm_any *any = ep->listen->any;
	const struct in6_addr *addr;
	int ret = 0;
	int err;
	u32 i;

	for (i = 0; i < wanted->count; i++) {
		addr = &wanted->addrs[i];
		if (cm_sctp_has(any->bound, any->count, addr))
			continue;
		err = cm_sctp_bind_one(ep, addr);
		if (!err || (err == -EADDRINUSE &&
			     cm_sctp_others_have(ep, addr)))
			continue;
		xiw_ep_dbg(ep, "no listening on %pI6c: %d\n", addr, err);
		if (i < wanted->own)
			ret = ret ?: err;
	}
	return ret;
}

/*
 * Replaces the addresses by the wanted ones; retries a failed one at the next
 * change. SCTP keeps the last old address until there is a new one. The second
 * round removes it, and binds the address for which it left no room.
 */
static int cm_sctp_sync(struct xiw_ep *ep)
{
	struct xiw_cm_any *any = ep->listen->any;
	struct cm_sctp_wanted wanted;
	int round;
	int ret;
	int err;

	cm_sctp_get_wanted(ep->dev, any, &wanted);
	for (round = 0; round < 2; round++) {
		cm_sctp_unbind_others(ep, &wanted);
		ret = cm_sctp_bind_missing(ep, &wanted);
	}
	if (!any->count || any->listening)
		return ret;
	err = xiw_sock_listen(ep->xs, XIW_EP_BACKLOG);
	any->listening = !err;
	return ret ?: err;
}

/*
 * Listens on all addresses of the netdev, with a socket that is not bound. 0,
 * also if there is no address yet, or negative errno.
 */
int xiw_cm_listen_any(struct xiw_ep *ep, const struct sockaddr_storage *addr,
		      bool afonly)
{
	struct xiw_cm_any *any = kzalloc(sizeof(*any), GFP_KERNEL_ACCOUNT);

	if (!any)
		return -ENOMEM;
	any->family = addr->ss_family;
	any->v6only = addr->ss_family == AF_INET6 && afonly;
	any->port = xiw_sock_port_of(addr);
	/* Changes before the listener is published are not reported. */
	any->stale = true;
	ep->listen->any = any;
	return cm_sctp_sync(ep);
}

/* Binds a locked listener to the addresses of the netdev, if changed. */
void xiw_cm_follow_addresses(struct xiw_ep *ep)
{
	struct xiw_cm_any *any = ep->listen->any;

	if (!any || !READ_ONCE(any->stale))
		return;
	WRITE_ONCE(any->stale, false);
	cm_sctp_sync(ep);
}

/* Lets listeners follow a change of the device's GIDs. Process context. */
void xiw_cm_addresses_changed(struct xiw_dev *dev)
{
	struct xiw_ep_listen *listen;
	int bucket;

	spin_lock(&dev->ep_lock);
	hash_for_each(dev->listeners, bucket, listen, by_port) {
		if (!listen->any)
			continue;
		WRITE_ONCE(listen->any->stale, true);
		xiw_ep_raise(listen->ep, XIW_EPE_SOCK);
	}
	spin_unlock(&dev->ep_lock);
}

static bool cm_sctp_freed(struct xiw_dev *dev, const void *arg)
{
	xiw_cm_addresses_changed(dev);
	return false;
}

/*
 * Closes the socket of a wildcard listener that ends. Another one of its ULP
 * may get its addresses.
 */
void xiw_cm_release_any(struct xiw_ep *ep)
{
	struct net *net = xiw_sock_get_net(ep->xs);

	xiw_conn_drop_sock(ep);
	cm_sctp_other_devs(ep, net, cm_sctp_freed, NULL);
	put_net(net);
}
