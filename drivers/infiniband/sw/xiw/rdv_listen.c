// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Where Responders of connections by number listen: at the address of their own
 * GID, for as long as one of them has been named a peer.
 */
#include "rdv_listen.h"

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "cm_listen.h"
#include "consumer.h"
#include "dev.h"
#include "ep.h"
#include "qp.h"
#include "rdv_conn.h"

/**
 * struct xiw_rdv_port - a listener; protected by xiw_dev.rdv_lock
 * @node: in xiw_dev.rdv_ports
 * @gid: its address
 * @port: its TCP port
 * @users: Responders that need it
 * @ep: its endpoint, with a reference
 */
struct xiw_rdv_port {
	struct list_head node;
	u8 gid[XIW_RDV_GID_LEN];
	u16 port;
	u32 users;
	struct xiw_ep *ep;
};

static int start_listener(struct xiw_ep *ep, const u8 *gid, u16 port)
{
	struct net *net = xiw_consumer_get_net(ep->dev);
	struct sockaddr_storage addr;
	int ret;

	if (!net)
		return -ENETDOWN;
	xiw_rdv_to_addr(ep->dev, gid, port, &addr);
	ret = xiw_listen_start(ep, net, &addr, true);
	put_net(net);
	return ret;
}

static struct xiw_ep *open_listener(struct xiw_dev *dev, const u8 *gid,
				    u16 port)
{
	struct xiw_ep *ep = xiw_ep_create(dev, true);
	int ret;

	if (!ep)
		return ERR_PTR(-ENOMEM);
	ep->ops = dev->rdv_ops;
	xiw_listen_init(ep);
	/* For close_listener(), whatever becomes of it. */
	xiw_ep_get(ep);
	ret = start_listener(ep, gid, port);
	if (!ret)
		return ep;
	xiw_ep_put(ep);
	xiw_ep_discard(ep);
	return ERR_PTR(ret);
}

static void close_listener(struct xiw_ep *ep)
{
	xiw_ep_raise(ep, XIW_EPE_KILL);
	wait_for_completion(&ep->dead);
	xiw_ep_put(ep);
}

static struct xiw_rdv_port *find_port(struct xiw_dev *dev, const u8 *gid,
				      u16 port)
{
	struct xiw_rdv_port *p;

	lockdep_assert_held(&dev->rdv_lock);

	list_for_each_entry(p, &dev->rdv_ports, node)
		if (p->port == port && !memcmp(p->gid, gid, sizeof(p->gid)))
			return p;
	return NULL;
}

static struct xiw_rdv_port *add_port(struct xiw_dev *dev, const u8 *gid,
				     u16 port)
{
	struct xiw_rdv_port *p = kzalloc(sizeof(*p), GFP_KERNEL);
	struct xiw_ep *ep;

	if (!p)
		return ERR_PTR(-ENOMEM);
	ep = open_listener(dev, gid, port);
	if (IS_ERR(ep)) {
		kfree(p);
		return ERR_CAST(ep);
	}
	memcpy(p->gid, gid, sizeof(p->gid));
	p->port = port;
	p->ep = ep;
	list_add(&p->node, &dev->rdv_ports);
	return p;
}

/**
 * xiw_rdv_port_wake() - judge the Requests that wait for a queue pair
 * @qp: queue pair that was named a peer, or has come to RTS; its modify_lock is
 *	held
 *
 * Only those at its own address can be for it. The others wait until they are
 * late: nothing tells whether there is a queue pair of the number.
 *
 * Context: Process context.
 */
void xiw_rdv_port_wake(struct xiw_qp *qp)
{
	if (qp->rdv.listener)
		xiw_listen_wake(qp->rdv.listener->ep, qp->qpn);
}

/**
 * xiw_rdv_port_get() - a Responder is to be reached from now on
 * @qp: queue pair without a listener; its modify_lock is held
 * @gid: its address
 * @port: TCP port
 *
 * Context: Sleeps.
 * Return: 0 or negative errno, -EADDRINUSE if somebody else has the port.
 */
int xiw_rdv_port_get(struct xiw_qp *qp, const u8 *gid, u16 port)
{
	struct xiw_dev *dev = qp->dev;
	struct xiw_rdv_port *p;

	mutex_lock(&dev->rdv_lock);
	p = find_port(dev, gid, port);
	if (!p)
		p = add_port(dev, gid, port);
	if (!IS_ERR(p)) {
		p->users++;
		qp->rdv.listener = p;
	}
	mutex_unlock(&dev->rdv_lock);
	return PTR_ERR_OR_ZERO(p);
}

/**
 * xiw_rdv_port_put() - the end of that
 * @qp: queue pair that has a listener
 *
 * Context: Sleeps, but not for a peer.
 */
void xiw_rdv_port_put(struct xiw_qp *qp)
{
	struct xiw_rdv_port *p = qp->rdv.listener;
	struct xiw_dev *dev = qp->dev;

	qp->rdv.listener = NULL;
	mutex_lock(&dev->rdv_lock);
	if (!--p->users) {
		list_del(&p->node);
		close_listener(p->ep);
		kfree(p);
	}
	mutex_unlock(&dev->rdv_lock);
}
