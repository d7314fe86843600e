// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whose is this iw_cm_id? A consumer hears and dials only through devices whose
 * netdev lives in its own network namespace, and connects only queue pairs of
 * its own. iw_cm passes on neither: rdma_cm offers the listeners of every
 * namespace to every device, takes the first device of the host for a loopback
 * address, and a process gives any number for that of its queue pair.
 *
 * DOC: what rdma_cm left in an iw_cm_id
 *
 * rdma_cm is the only user of iw_cm. To an iw_cm_id it gives a handler of its
 * own and, as context of that, its private identifier. That begins with the
 * public struct rdma_cm_id, also if rdma_cm made it for one device of many that
 * a consumer listens on, and it knows the consumer's namespace and, for
 * consumers in the kernel, the queue pair. The identifier and its reference on
 * the namespace last as long as the call of iw_cm in which a provider looks at
 * them.
 *
 * That the context is what it is taken for is not assumed: the kernel's symbols
 * must say that the handler is rdma_cm's, and the identifier must name the
 * device of the iw_cm_id. Whoever is not recognised is refused.
 *
 * With a member of struct iw_cm_id for the namespace, set by rdma_cm, the first
 * half of this would not be needed: packaging/patches-for/linux has it.
 */
#include "consumer.h"

#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "dev.h"
#include "qp.h"

/* Of listeners, and of connections. */
static const char *const rdma_cm_handlers[] = {
	"iw_conn_req_handler",
	"cma_iw_handler",
};

static bool consumer_is_rdma_cm(iw_cm_handler handler)
{
	char name[64];
	char *module;
	char *suffix;

	/*
	 * "function [module]", or without module if that is built in. Link time
	 * optimisation appends ".llvm." and a number to some static functions.
	 */
	snprintf(name, sizeof(name), "%ps", handler);
	module = strchr(name, ' ');
	if (module) {
		*module++ = '\0';
		if (strcmp(module, "[rdma_cm]"))
			return false;
	}
	suffix = strstr(name, ".llvm.");
	if (suffix)
		*suffix = '\0';
	return match_string(rdma_cm_handlers, ARRAY_SIZE(rdma_cm_handlers),
			    name) >= 0;
}

/* The consumer's identifier, or NULL if this is not rdma_cm. */
static const struct rdma_cm_id *consumer_id(const struct iw_cm_id *cm_id)
{
	const struct rdma_cm_id *id = cm_id->context;

	if (!id || !consumer_is_rdma_cm(cm_id->cm_handler))
		return NULL;
	return id->device == cm_id->device ? id : NULL;
}

static bool consumer_netdev_is_in(const struct xiw_dev *dev,
				  const struct net *net)
{
	bool in;

	rcu_read_lock();
	in = net_eq(dev_net_rcu(dev->netdev), net);
	rcu_read_unlock();
	return in;
}

/**
 * xiw_consumer_net() - the namespace that sockets of this consumer belong to
 * @cm_id: identifier that is to connect or to listen
 *
 * A netdev that is about to leave the namespace ends the endpoints of its
 * device first, and admits no new one: so call this before xiw_ep_publish().
 *
 * Context: Call of iw_cm, before anything of @cm_id was changed.
 * Return: Namespace, which stays until that call returns. -ENETUNREACH if the
 * device cannot be used there, -EOPNOTSUPP if the consumer is not known.
 */
struct net *xiw_consumer_net(const struct iw_cm_id *cm_id)
{
	const struct rdma_cm_id *id = consumer_id(cm_id);
	struct net *net;

	if (!id)
		return ERR_PTR(-EOPNOTSUPP);
	net = id->route.addr.dev_addr.net;
	if (!consumer_netdev_is_in(to_xdev(cm_id->device), net) ||
	    !rdma_dev_access_netns(cm_id->device, net))
		return ERR_PTR(-ENETUNREACH);
	return net;
}

/**
 * xiw_consumer_here() - may this process use a device by number
 * @dev: device
 *
 * Context: The process' own call.
 * Return: true if the netdev is in its network namespace, and the device may be
 * used there.
 */
bool xiw_consumer_here(const struct xiw_dev *dev)
{
	const struct net *net = current->nsproxy->net_ns;

	return consumer_netdev_is_in(dev, net) &&
	       rdma_dev_access_netns(&dev->ibdev, net);
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
 * xiw_consumer_netdev() - the interface by which rdma_cm judges a request
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
 * @dev: device whose listener reports the request
 * @net: namespace of the connection
 * @ifindex: result of xiw_consumer_netdev()
 *
 * Otherwise rdma_cm gives the consumer another device, or rejects the request.
 * An accept would then name a queue pair of that other device, whose number
 * means nothing here, or another queue pair.
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

/* files->file_lock held. What is no device may keep a number there. */
static int consumer_is_file_of(const void *ufile, struct file *file,
			       unsigned int fd)
{
	return file->private_data == ufile &&
	       S_ISCHR(file_inode(file)->i_mode);
}

/**
 * xiw_consumer_owns() - may a consumer connect with this queue pair
 * @cm_id: identifier that is to connect or to accept
 * @qp: queue pair, referenced
 *
 * One of a process belongs to everybody who has a descriptor of the file that
 * it was made through: that is its own threads, and those it was passed to or
 * forked with it. They can do everything else with it, too. One of a consumer
 * in the kernel belongs to the identifier that it was made for.
 *
 * An address may move to another interface behind xiw_consumer_takes(). rdma_cm
 * has given the consumer the device of that one then, and the number is of a
 * queue pair there: the identifier is not recognised as one of this device.
 *
 * Context: The consumer's call of iw_cm, in its task.
 * Return: 0 or -EPERM.
 */
int xiw_consumer_owns(const struct iw_cm_id *cm_id, const struct xiw_qp *qp)
{
	const struct rdma_cm_id *id = consumer_id(cm_id);

	if (!id)
		return -EPERM;
	/* The context of a process outlives its queue pairs. */
	if (qp->uctx)
		return iterate_fd(current->files, 0, consumer_is_file_of,
				  qp->uctx->ufile)
			       ? 0
			       : -EPERM;
	return id->qp == &qp->ibqp ? 0 : -EPERM;
}
