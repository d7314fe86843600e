// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Network namespaces: which ones may use a device, and which device rdma_cm
 * chooses for a request.
 */
#include "consumer.h"

#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>

#include "dev.h"

/**
 * xiw_consumer_may_use() - may sockets of a network namespace serve a device
 * @dev: device
 * @net: namespace
 *
 * Context: Any.
 * Return: true if the netdev is in the namespace, and the core permits the use
 * of the device there.
 */
bool xiw_consumer_may_use(const struct xiw_dev *dev, const struct net *net)
{
	bool in;

	rcu_read_lock();
	in = net_eq(dev_net_rcu(dev->netdev), net);
	rcu_read_unlock();
	return in && rdma_dev_access_netns(&dev->ibdev, net);
}

/**
 * xiw_consumer_here() - may this process use a device by number
 * @dev: device
 *
 * Context: Call of the process.
 * Return: true if its network namespace may use it.
 */
bool xiw_consumer_here(const struct xiw_dev *dev)
{
	return xiw_consumer_may_use(dev, current->nsproxy->net_ns);
}

/**
 * xiw_consumer_get_net() - the namespace of a device's own sockets
 * @dev: device
 *
 * A netdev that leaves its namespace ends the endpoints of its device first,
 * but does not wait for them: one that is about to connect must not do so from
 * where the netdev has gone to.
 *
 * Context: Any.
 * Return: That of the netdev, with a reference for the caller, or NULL if the
 * namespace is going, or the netdev from there.
 */
struct net *xiw_consumer_get_net(const struct xiw_dev *dev)
{
	struct net *net;

	rcu_read_lock();
	net = maybe_get_net(dev_net_rcu(dev->netdev));
	rcu_read_unlock();
	/* Pairs with all that is between the notifier and the change. */
	smp_rmb();
	if (net && READ_ONCE(dev->eps_closed)) {
		put_net(net);
		return NULL;
	}
	return net;
}

/**
 * xiw_consumer_netdev() - the interface by which rdma_cm routes a request
 * @net: namespace of the connection
 * @local: its local address
 *
 * rdma_cm looks for the address, wherever the request arrived. Where several
 * interfaces have it, this is the one that rdma_cm finds, by the same call.
 *
 * Context: Process context.
 * Return: Index of the interface, 0 if none has the address.
 */
int xiw_consumer_netdev(struct net *net, const struct sockaddr_storage *local)
{
	struct rdma_dev_addr found = { .net = net };

	if (rdma_translate_ip((const struct sockaddr *)local, &found))
		return 0;
	return found.bound_dev_if;
}

/* A VLAN and the interface below it are one to rdma_cm. */
static bool consumer_is_vlan_of(const struct net_device *vlan,
				const struct net_device *lower)
{
	return is_vlan_dev(vlan) && vlan_dev_real_dev(vlan) == lower;
}

/**
 * xiw_consumer_takes() - does rdma_cm leave a request with its device
 * @dev: device of the listener that reports the request
 * @net: namespace of the connection
 * @ifindex: result of xiw_consumer_netdev()
 *
 * Otherwise rdma_cm passes another device to the ULP, or rejects the request.
 * An accept would then have the number of a queue pair of that other device,
 * which may be that of a different queue pair here.
 *
 * Context: Any.
 * Return: true if it does.
 */
bool xiw_consumer_takes(const struct xiw_dev *dev, struct net *net, int ifindex)
{
	const struct net_device *netdev;
	bool takes;

	rcu_read_lock();
	netdev = dev_get_by_index_rcu(net, ifindex);
	takes = netdev && (netdev == dev->netdev ||
			   consumer_is_vlan_of(netdev, dev->netdev) ||
			   consumer_is_vlan_of(dev->netdev, netdev));
	rcu_read_unlock();
	return takes;
}

/**
 * xiw_consumer_get_dev() - the device of an interface
 * @net: namespace of the interface
 * @ifindex: its index
 *
 * Context: Process context.
 * Return: Device, registered until the caller's ib_device_put(), or NULL.
 */
struct xiw_dev *xiw_consumer_get_dev(struct net *net, int ifindex)
{
	struct net_device *netdev = dev_get_by_index(net, ifindex);
	struct ib_device *ibdev;

	if (!netdev)
		return NULL;
	ibdev = ib_device_get_by_netdev(netdev, XIW_RDMA_DRIVER_ID);
	dev_put(netdev);
	return ibdev ? to_xdev(ibdev) : NULL;
}
