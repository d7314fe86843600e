// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The connection manager: how an endpoint releases its resources, and the
 * endpoints of a device. MPA startup is in cm_startup.c, listeners are in
 * cm_listen.c, the end of connections in cm_end.c.
 */
#include "cm.h"

#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "dev.h"
#include "llp/sock.h"
#include "qp/ep.h"

/* Releases all resources of an endpoint that ends; it may lack any of them. */
void xiw_cm_teardown(struct xiw_ep *ep)
{
	xiw_conn_detach_qp(ep);
	/*
	 * Both remove the endpoint from a list by the same entry. A listener
	 * leaves the table of listeners before its socket is closed.
	 */
	xiw_end_teardown(ep);
	xiw_listen_teardown(ep);
	xiw_conn_drop_sock(ep);
	kfree(ep->startup);
	ep->startup = NULL;
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
	destroy_workqueue(dev->cm_wq);
	xa_destroy(&dev->requests);
}
