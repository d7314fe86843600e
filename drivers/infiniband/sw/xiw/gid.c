// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The GIDs of a port. The first one is the hardware address, zero-filled, which
 * rdma_cm needs and which never changes. The others are the addresses of the
 * netdev, IPv4 ones mapped into IPv6: programs that connect by number name the
 * ends of a connection with them. Index and address stay together for as long
 * as the netdev has the address.
 *
 * The notifiers of addresses may be called in atomic context, so all they do is
 * to queue a work item, which looks at the netdev. The core keeps a copy of the
 * table: it is told with an event, and then asks for all of it. While it copies
 * an entry, that entry is not found, the first one included, for the core takes
 * the old one out before it puts the new one in: who resolves an address with
 * rdma_cm in that instant is refused. packaging/patches-for/linux has the
 * change of the core that leaves alone what is the same.
 */
#include "gid.h"

#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <linux/notifier.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "dev.h"

/**
 * struct addresses - of a netdev
 * @gid: as GIDs
 * @count: how many
 */
struct addresses {
	union ib_gid gid[XIW_MAX_GIDS];
	u32 count;
};

static void add(struct addresses *list, const struct in6_addr *addr)
{
	if (list->count < ARRAY_SIZE(list->gid))
		memcpy(&list->gid[list->count++], addr, sizeof(*addr));
}

static void add_ipv4(struct addresses *list, const struct net_device *netdev)
{
	const struct in_device *in_dev;
	const struct in_ifaddr *ifa;
	struct in6_addr mapped;

	rcu_read_lock();
	in_dev = __in_dev_get_rcu(netdev);
	if (in_dev) {
		in_dev_for_each_ifa_rcu(ifa, in_dev) {
			ipv6_addr_set_v4mapped(ifa->ifa_local, &mapped);
			add(list, &mapped);
		}
	}
	rcu_read_unlock();
}

static void add_ipv6(struct addresses *list, const struct net_device *netdev)
{
	const struct inet6_ifaddr *ifa;
	struct inet6_dev *in6_dev;

	if (!IS_ENABLED(CONFIG_IPV6))
		return;
	in6_dev = in6_dev_get(netdev);
	if (!in6_dev)
		return;
	read_lock_bh(&in6_dev->lock);
	list_for_each_entry(ifa, &in6_dev->addr_list, if_list)
		add(list, &ifa->addr);
	read_unlock_bh(&in6_dev->lock);
	in6_dev_put(in6_dev);
}

static bool has(const union ib_gid *gids, u32 count, const union ib_gid *gid)
{
	while (count--)
		if (!memcmp(&gids[count], gid, sizeof(*gid)))
			return true;
	return false;
}

/* True if something has changed. */
static bool merge(union ib_gid *gids, const struct addresses *now)
{
	bool changed = false;
	u32 slot;
	u32 i;

	for (slot = 1; slot < XIW_MAX_GIDS; slot++) {
		if (rdma_is_zero_gid(&gids[slot]) ||
		    has(now->gid, now->count, &gids[slot]))
			continue;
		memset(&gids[slot], 0, sizeof(*gids));
		changed = true;
	}
	for (i = 0; i < now->count; i++) {
		if (has(gids, XIW_MAX_GIDS, &now->gid[i]))
			continue;
		for (slot = 1; slot < XIW_MAX_GIDS; slot++)
			if (rdma_is_zero_gid(&gids[slot]))
				break;
		if (slot == XIW_MAX_GIDS)
			break;
		gids[slot] = now->gid[i];
		changed = true;
	}
	return changed;
}

static bool refresh(struct xiw_dev *dev)
{
	struct addresses *now = kzalloc(sizeof(*now), GFP_KERNEL);
	bool changed;

	/* The next change of an address is another occasion. */
	if (!now)
		return false;
	add_ipv4(now, dev->netdev);
	add_ipv6(now, dev->netdev);
	spin_lock(&dev->gid_lock);
	changed = merge(dev->gids, now);
	spin_unlock(&dev->gid_lock);
	kfree(now);
	return changed;
}

static void gid_work(struct work_struct *work)
{
	struct xiw_dev *dev = container_of(work, struct xiw_dev, gid_work);
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = IB_EVENT_GID_CHANGE,
	};

	if (refresh(dev))
		ib_dispatch_event(&event);
	ib_device_put(&dev->ibdev);
}

/**
 * xiw_gid_init() - the GIDs of a new device
 * @dev: device that is not registered yet, with its netdev and hardware address
 *
 * Context: Sleeps.
 */
void xiw_gid_init(struct xiw_dev *dev)
{
	spin_lock_init(&dev->gid_lock);
	INIT_WORK(&dev->gid_work, gid_work);
	memcpy(dev->gids[0].raw, dev->gid_mac, ETH_ALEN);
	refresh(dev);
}

/**
 * xiw_gid_update() - the addresses of the netdev may have changed
 * @dev: registered device, to which the caller has a reference
 *
 * Context: Any.
 */
void xiw_gid_update(struct xiw_dev *dev)
{
	/* Unless its end has begun. */
	if (!ib_device_try_get(&dev->ibdev))
		return;
	if (!queue_work(system_dfl_wq, &dev->gid_work))
		ib_device_put(&dev->ibdev);
}

/**
 * xiw_query_gid() - ib_device_ops.query_gid
 * @ibdev: device
 * @port_num: port
 * @index: of the GID
 * @gid: result; zero where there is none
 *
 * Context: Process context.
 * Return: 0.
 */
int xiw_query_gid(struct ib_device *ibdev, u32 port_num, int index,
		  union ib_gid *gid)
{
	struct xiw_dev *dev = to_xdev(ibdev);

	spin_lock(&dev->gid_lock);
	*gid = dev->gids[index];
	spin_unlock(&dev->gid_lock);
	return 0;
}

static int address_changed(const struct net_device *netdev)
{
	struct ib_device *ibdev;

	ibdev = ib_device_get_by_netdev((struct net_device *)netdev,
					XIW_RDMA_DRIVER_ID);
	if (!ibdev)
		return NOTIFY_DONE;
	xiw_gid_update(to_xdev(ibdev));
	ib_device_put(ibdev);
	return NOTIFY_OK;
}

static int ipv4_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	const struct in_ifaddr *ifa = ptr;

	return address_changed(ifa->ifa_dev->dev);
}

static struct notifier_block ipv4_nb = {
	.notifier_call = ipv4_event,
};

#if IS_ENABLED(CONFIG_IPV6)
static int ipv6_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	const struct inet6_ifaddr *ifa = ptr;

	return address_changed(ifa->idev->dev);
}

static struct notifier_block ipv6_nb = {
	.notifier_call = ipv6_event,
};

static int register_ipv6(void)
{
	return register_inet6addr_notifier(&ipv6_nb);
}

static void unregister_ipv6(void)
{
	unregister_inet6addr_notifier(&ipv6_nb);
}
#else
static int register_ipv6(void)
{
	return 0;
}

static void unregister_ipv6(void)
{
}
#endif

/**
 * xiw_gid_module_init() - before the first device
 *
 * Context: Sleeps.
 * Return: 0 or negative errno.
 */
int xiw_gid_module_init(void)
{
	int ret;

	ret = register_inetaddr_notifier(&ipv4_nb);
	if (ret)
		return ret;
	ret = register_ipv6();
	if (ret)
		unregister_inetaddr_notifier(&ipv4_nb);
	return ret;
}

/**
 * xiw_gid_module_exit() - after the last device
 *
 * Context: Sleeps.
 */
void xiw_gid_module_exit(void)
{
	unregister_ipv6();
	unregister_inetaddr_notifier(&ipv4_nb);
}
