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
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "dev.h"
#include "qp.h"

/* Of listeners, and of connections. */
static const char *const rdma_cm_handlers[] = {
	"iw_conn_req_handler",
	"cma_iw_handler",
};

static bool is_rdma_cm(iw_cm_handler handler)
{
	char name[64];
	char *module;

	/* "function [module]", or without module if that is built in. */
	snprintf(name, sizeof(name), "%ps", handler);
	module = strchr(name, ' ');
	if (module) {
		*module++ = '\0';
		if (strcmp(module, "[rdma_cm]"))
			return false;
	}
	return match_string(rdma_cm_handlers, ARRAY_SIZE(rdma_cm_handlers),
			    name) >= 0;
}

/* The consumer's identifier, or NULL if this is not rdma_cm. */
static const struct rdma_cm_id *consumer_id(const struct iw_cm_id *cm_id)
{
	const struct rdma_cm_id *id = cm_id->context;

	if (!id || !is_rdma_cm(cm_id->cm_handler))
		return NULL;
	return id->device == cm_id->device ? id : NULL;
}

static bool netdev_is_in(const struct xiw_dev *dev, const struct net *net)
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
	if (!netdev_is_in(to_xdev(cm_id->device), net) ||
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

	return netdev_is_in(dev, net) &&
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

/* files->file_lock held. What is no device may keep a number there. */
static int is_file_of(const void *ufile, struct file *file, unsigned int fd)
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
 * Context: The consumer's call of iw_cm, in its task.
 * Return: 0 or -EPERM.
 */
int xiw_consumer_owns(const struct iw_cm_id *cm_id, const struct xiw_qp *qp)
{
	const struct rdma_cm_id *id;

	/* The context of a process outlives its queue pairs. */
	if (qp->uctx)
		return iterate_fd(current->files, 0, is_file_of,
				  qp->uctx->ufile) ? 0 : -EPERM;
	id = consumer_id(cm_id);
	return id && id->qp == &qp->ibqp ? 0 : -EPERM;
}
