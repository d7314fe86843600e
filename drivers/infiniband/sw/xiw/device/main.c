// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Software iWARP: RDMA (RFC 5040, 5041, 5044, 6581, 7306) over kernel TCP
 * sockets. This file is the module: it adds and removes devices. "rdma link
 * add" creates one for a netdev. "rdma link delete", the removal of the netdev
 * from its namespace, and unloading the module remove it.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_portmap.h>
#include <rdma/rdma_netlink.h>

#include "cm/cm.h"
#include "cm/iwcm_quirks.h"
#include "dev.h"
#include "device.h"
#include "llp/sock.h"
#include "mem/odp.h"
#include "oob/oob.h"
#include "sctp/sctp.h"
#include "stream/stream.h"

/* Prevents two devices for one netdev. */
static DEFINE_MUTEX(xiw_link_mutex);

static struct ib_device *xiw_module_find_device(struct net_device *netdev)
{
	return ib_device_get_by_netdev(netdev, XIW_RDMA_DRIVER_ID);
}

static int xiw_module_add_device(const char *name, struct net_device *netdev)
{
	struct ib_device *ibdev;

	lockdep_assert_held(&xiw_link_mutex);

	ibdev = xiw_module_find_device(netdev);
	if (ibdev) {
		ib_device_put(ibdev);
		return -EEXIST;
	}
	return xiw_device_add(name, netdev);
}

/*
 * The netdev is unregistered, or moves to another namespace, while the sockets
 * of the device stay in this one. The RTNL is held, so only start the removal;
 * the netdev waits until its references are dropped. Peers can no longer
 * answer, so end all connects now, before any client removes the device.
 */
static void xiw_module_netdev_gone(struct ib_device *ibdev)
{
	xiw_cm_device_kill(to_xdev(ibdev));
	ib_unregister_device_queued(ibdev);
}

/*
 * The notifier finds a device only after its registration. The netdev may have
 * been unregistered, or moved, before that.
 */
static void xiw_module_sync_device(struct net_device *netdev,
				   const struct net *net)
{
	struct ib_device *ibdev;

	rtnl_lock();
	ibdev = xiw_module_find_device(netdev);
	if (ibdev) {
		if (netdev->reg_state != NETREG_REGISTERED ||
		    !net_eq(dev_net(netdev), net))
			xiw_module_netdev_gone(ibdev);
		ib_device_put(ibdev);
	}
	rtnl_unlock();
}

/* iw_cm neither listens nor connects on a device with a longer name. */
static bool main_name_fits(const char *name)
{
	if (strlen(name) < IWPM_DEVNAME_SIZE)
		return true;
	pr_notice_ratelimited("xiw: %s: a name of %u characters or more is too long for iw_cm\n",
			      name, IWPM_DEVNAME_SIZE);
	return false;
}

static int xiw_newlink(const char *name, struct net_device *netdev)
{
	const struct net *net = dev_net(netdev);
	int ret;

	if (!main_name_fits(name))
		return -ENAMETOOLONG;
	mutex_lock(&xiw_link_mutex);
	ret = xiw_module_add_device(name, netdev);
	mutex_unlock(&xiw_link_mutex);
	if (!ret)
		xiw_module_sync_device(netdev, net);
	return ret;
}

static struct rdma_link_ops xiw_link_ops = {
	.type = "xiw",
	.newlink = xiw_newlink,
};

/*
 * IPv6 addresses may become usable when the link comes up, for which their own
 * notifier is not called. The MTU is read at each query of the port.
 */
static int xiw_netdev_event(struct notifier_block *nb, unsigned long event,
			    void *info)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(info);
	struct ib_device *ibdev;

	ibdev = xiw_module_find_device(netdev);
	if (!ibdev)
		return NOTIFY_DONE;

	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		xiw_device_update_port(to_xdev(ibdev));
		xiw_dev_update_gids(to_xdev(ibdev));
		break;
	case NETDEV_CHANGENAME:
		xiw_device_rename(to_xdev(ibdev));
		break;
	case NETDEV_UNREGISTER:
		xiw_module_netdev_gone(ibdev);
		break;
	}
	ib_device_put(ibdev);
	return NOTIFY_OK;
}

static struct notifier_block xiw_netdev_nb = {
	.notifier_call = xiw_netdev_event,
};

static int __init xiw_init(void)
{
	int ret;

	ret = xiw_stream_module_init();
	if (ret)
		return ret;
	ret = xiw_quirk_module_init();
	if (ret)
		goto err_stream;
	ret = xiw_pager_module_init();
	if (ret)
		goto err_quirk;
	ret = xiw_hold_module_init();
	if (ret)
		goto err_pager;
	ret = register_netdevice_notifier(&xiw_netdev_nb);
	if (ret)
		goto err_hold;
	ret = xiw_gid_module_init();
	if (ret)
		goto err_netdev;
	xiw_config_module_init();
	rdma_link_register(&xiw_link_ops);
	return 0;

err_netdev:
	unregister_netdevice_notifier(&xiw_netdev_nb);
err_hold:
	xiw_hold_module_exit();
err_pager:
	xiw_pager_module_exit();
err_quirk:
	xiw_quirk_module_exit();
err_stream:
	xiw_stream_module_exit();
	return ret;
}

static void __exit xiw_exit(void)
{
	/* Stop adding devices, then the notifiers, then remove all devices. */
	rdma_link_unregister(&xiw_link_ops);
	xiw_gid_module_exit();
	unregister_netdevice_notifier(&xiw_netdev_nb);
	ib_unregister_driver(XIW_RDMA_DRIVER_ID);
	xiw_oob_gate_module_exit();
	xiw_hold_module_exit();
	xiw_pager_module_exit();
	xiw_quirk_module_exit();
	xiw_sctp_module_exit();
	xiw_stream_module_exit();
	xiw_config_module_exit();
}

module_init(xiw_init);
module_exit(xiw_exit);

MODULE_DESCRIPTION("Software iWARP RDMA over TCP");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_IMPORT_NS("DMA_BUF");
MODULE_ALIAS_RDMA_LINK("xiw");
