// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The GIDs of a port. GIDs from index 1 on are the addresses of the netdev,
 * with IPv4 addresses mapped into IPv6; out-of-band connections identify their
 * ends by them. An address keeps its index for as long as the netdev has it.
 * Link-local addresses follow the others, and index 1 is for IPv4, so that an
 * index has the same kind of address on both hosts.
 *
 * GID 0 never changes. It is the link-local address of the netdev, or if there
 * is none yet, the address derived from its MAC address. rdma_cm looks up the
 * entry of GID 0 in the core's table (cma_validate_port()), and reads the
 * netdev of that entry without a lock. If the core has removed the entry in
 * between, the netdev is NULL, and rdma_cm crashes with its mutex held. When
 * the driver reports a change, the core removes and adds all entries, changed
 * or not (config_non_roce_gid_cache()): for each it first queries the GID, then
 * the netdev, and it skips an entry without netdev. So xiw_get_netdev() returns
 * NULL after a query of a GID that the table has already. For GID 0 that is
 * always so. A patch in packaging/patches-for/linux makes this unnecessary.
 * Before Linux 6.6 entries have no netdev, and rdma_cm fails to resolve
 * addresses while GID 0 is not in the table.
 *
 * The notifiers for addresses may be called in atomic context, so they only
 * queue a work item, which reads the addresses, at most once per
 * XIW_EVENT_PERIOD. No notifier is called when an IPv6 address stops being
 * tentative, so the work item repeats while there is such an address.
 */
#include "device.h"

#include <linux/bitmap.h>
#include <linux/in.h>
#include <linux/inetdevice.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "cm/cm.h"
#include "dev.h"
#include "oob/oob.h"

/* First index to try for an address of each kind */
enum gid_place {
	GID_IPV4	= 1,
	GID_IPV6	= 2,
	GID_LINK_LOCAL	= 32,
};

/**
 * struct gid_look - a walk over the addresses of a netdev
 * @dev: its device
 * @visit: called for each usable address; false ends the walk
 * @again: also visit addresses that have become tentative again
 * @seen: indices of addresses that the netdev has
 * @unseen: how many GIDs are not among them yet
 * @tentative: some address may become usable without a notification
 * @changed: the GIDs have changed
 * @full: the table was full, and @left_out has no GID
 * @left_out: that address
 */
struct gid_look {
	struct xiw_dev *dev;
	bool (*visit)(struct gid_look *look, const struct in6_addr *addr);
	bool again;
	DECLARE_BITMAP(seen, XIW_MAX_GIDS);
	u32 unseen;
	bool tentative;
	bool changed;
	bool full;
	struct in6_addr left_out;
};

static bool gid_visit_ipv4(struct gid_look *look)
{
	const struct in_device *in_dev;
	const struct in_ifaddr *ifa;
	struct in6_addr mapped;
	bool go_on = true;

	rcu_read_lock();
	in_dev = __in_dev_get_rcu(look->dev->netdev);
	if (in_dev) {
		in_dev_for_each_ifa_rcu(ifa, in_dev) {
			ipv6_addr_set_v4mapped(ifa->ifa_local, &mapped);
			go_on = look->visit(look, &mapped);
			if (!go_on)
				break;
		}
	}
	rcu_read_unlock();
	return go_on;
}

/* Sockets cannot bind to an address during duplicate address detection. */
static bool gid_usable(struct gid_look *look, const struct inet6_ifaddr *ifa)
{
	u32 flags = READ_ONCE(ifa->flags);

	if (flags & IFA_F_DADFAILED)
		return false;
	if (!(flags & IFA_F_TENTATIVE) || flags & IFA_F_OPTIMISTIC)
		return true;
	look->tentative = true;
	return look->again;
}

static void gid_visit_ipv6(struct gid_look *look)
{
	const struct inet6_ifaddr *ifa;
	struct inet6_dev *in6_dev;

	if (!IS_ENABLED(CONFIG_IPV6))
		return;
	in6_dev = in6_dev_get(look->dev->netdev);
	if (!in6_dev)
		return;
	read_lock_bh(&in6_dev->lock);
	list_for_each_entry(ifa, &in6_dev->addr_list, if_list) {
		if (gid_usable(look, ifa) && !look->visit(look, &ifa->addr))
			break;
	}
	read_unlock_bh(&in6_dev->lock);
	in6_dev_put(in6_dev);
}

static void gid_look_at(struct gid_look *look,
			bool (*visit)(struct gid_look *look,
				      const struct in6_addr *addr))
{
	look->visit = visit;
	if (gid_visit_ipv4(look))
		gid_visit_ipv6(look);
}

static u32 gid_first_choice(const struct in6_addr *addr)
{
	if (ipv6_addr_v4mapped(addr))
		return ipv4_is_linklocal_169(addr->s6_addr32[3]) ?
		       GID_LINK_LOCAL : GID_IPV4;
	return ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL ?
	       GID_LINK_LOCAL : GID_IPV6;
}

/* A free index, preferably from @first on; XIW_MAX_GIDS if there is none */
static u32 gid_free_slot(const struct xiw_dev *dev, u32 first)
{
	u32 slot;

	for (slot = first; slot < XIW_MAX_GIDS; slot++)
		if (rdma_is_zero_gid(&dev->gids[slot]))
			return slot;
	for (slot = first - 1; slot > 0; slot--)
		if (rdma_is_zero_gid(&dev->gids[slot]))
			return slot;
	return XIW_MAX_GIDS;
}

static u32 gid_count(const struct xiw_dev *dev)
{
	u32 count = 0;
	u32 slot;

	for (slot = 1; slot < XIW_MAX_GIDS; slot++)
		count += !rdma_is_zero_gid(&dev->gids[slot]);
	return count;
}

static bool gid_see(struct gid_look *look, const struct in6_addr *addr)
{
	u32 slot = xiw_dev_find_gid(look->dev, addr);

	if (slot < XIW_MAX_GIDS && !__test_and_set_bit(slot, look->seen))
		look->unseen--;
	return look->unseen;
}

static bool gid_fill(struct gid_look *look, const struct in6_addr *addr)
{
	struct xiw_dev *dev = look->dev;
	u32 slot;

	if (xiw_dev_find_gid(dev, addr) < XIW_MAX_GIDS)
		return true;
	slot = gid_free_slot(dev, gid_first_choice(addr));
	if (slot == XIW_MAX_GIDS) {
		look->full = true;
		look->left_out = *addr;
		return false;
	}
	memcpy(&dev->gids[slot], addr, sizeof(*addr));
	look->changed = true;
	return true;
}

static void gid_forget(struct gid_look *look)
{
	struct xiw_dev *dev = look->dev;
	u32 slot;

	for (slot = 1; slot < XIW_MAX_GIDS; slot++) {
		if (rdma_is_zero_gid(&dev->gids[slot]) ||
		    test_bit(slot, look->seen))
			continue;
		memset(&dev->gids[slot], 0, sizeof(dev->gids[slot]));
		look->changed = true;
	}
}

/*
 * Updates the GIDs in two walks over the addresses. A change between the walks
 * queues the work again. An address that was usable keeps its index while it is
 * tentative again, as after a link flap. The first walk ends when all GIDs were
 * seen, the second one when the table is full. So, however many addresses there
 * are, the first walk is long only if an address was removed, and at most once
 * per XIW_EVENT_PERIOD.
 */
static void gid_refresh(struct gid_look *look)
{
	spin_lock(&look->dev->port_lock);
	look->again = true;
	look->unseen = gid_count(look->dev);
	gid_look_at(look, gid_see);
	gid_forget(look);
	look->again = false;
	gid_look_at(look, gid_fill);
	spin_unlock(&look->dev->port_lock);
}

static bool gid_take_link_local(struct gid_look *look,
				const struct in6_addr *addr)
{
	if (!(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL))
		return true;
	memcpy(&look->dev->gids[0], addr, sizeof(*addr));
	return false;
}

static void gid_choose_first(struct gid_look *look)
{
	union ib_gid *gid = &look->dev->gids[0];

	gid->global.subnet_prefix = cpu_to_be64(0xfe80000000000000ULL);
	gid->global.interface_id = look->dev->ibdev.node_guid;
	look->visit = gid_take_link_local;
	gid_visit_ipv6(look);
}

/* Logs once until all addresses have a GID again. */
static void gid_note_left_out(struct xiw_dev *dev, const struct gid_look *look)
{
	if (look->full && !dev->gids_full)
		ibdev_notice_ratelimited(&dev->ibdev,
					 "%pI6c has no GID: there are %u already\n",
					 &look->left_out, XIW_MAX_GIDS);
	dev->gids_full = look->full;
}

/* Reports a change, by an event, which only a registered device may send. */
static void gid_work(struct work_struct *work)
{
	struct xiw_dev *dev = container_of(to_delayed_work(work),
					   struct xiw_dev, gid_work);
	struct gid_look look = { .dev = dev };
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = IB_EVENT_GID_CHANGE,
	};
	unsigned long again;

	if (!ib_device_try_get(&dev->ibdev))
		return;
	WRITE_ONCE(dev->gid_next, jiffies + XIW_EVENT_PERIOD);
	gid_refresh(&look);
	gid_note_left_out(dev, &look);
	if (look.changed)
		ib_dispatch_event(&event);
	/* While the link is down tentative addresses stay so. */
	if (look.tentative && xiw_dev_port_active(dev))
		xiw_dev_update_gids(dev);
	again = xiw_oob_reserve(dev);
	if (again)
		queue_delayed_work(system_dfl_wq, &dev->gid_work, again);
	xiw_cm_addresses_changed(dev);
	ib_device_put(&dev->ibdev);
}

/*
 * Fills the GIDs of a device that has its netdev and GUID, and is not
 * registered yet. Sleeps.
 */
void xiw_gid_init(struct xiw_dev *dev)
{
	struct gid_look look = { .dev = dev };

	dev->gid_next = jiffies;
	INIT_DELAYED_WORK(&dev->gid_work, gid_work);
	gid_choose_first(&look);
	gid_refresh(&look);
}

/* The device is not registered any more. Sleeps. */
void xiw_gid_exit(struct xiw_dev *dev)
{
	cancel_delayed_work_sync(&dev->gid_work);
}

static bool gid_in_table(struct xiw_dev *dev, int index,
			 const union ib_gid *gid)
{
	const struct ib_gid_attr *attr;
	bool same;

	attr = rdma_get_gid_attr(&dev->ibdev, 1, index);
	if (IS_ERR(attr))
		return false;
	/* GID 0 never changes. */
	same = !index || !memcmp(&attr->gid, gid, sizeof(*gid));
	rdma_put_gid_attr(attr);
	return same;
}

/*
 * Zero if there is no GID at @index. Called only by the core when it fills its
 * table: from index 0 to the last one, in one task at a time, with the mutex of
 * the table held.
 */
int xiw_query_gid(struct ib_device *ibdev, u32 port_num, int index,
		  union ib_gid *gid)
{
	struct xiw_dev *dev = to_xdev(ibdev);
	bool keep;

	spin_lock(&dev->port_lock);
	*gid = dev->gids[index];
	spin_unlock(&dev->port_lock);
	/* Clear gid_keeper at the last index: the netdev is not queried. */
	keep = index < XIW_MAX_GIDS - 1 && gid_in_table(dev, index, gid);
	WRITE_ONCE(dev->gid_keeper, keep ? current : NULL);
	return 0;
}

/*
 * The netdev, with a reference for the caller; any context. NULL for a task
 * that has just queried a GID which the core's table has already, so that the
 * core keeps that entry.
 */
struct net_device *xiw_get_netdev(struct ib_device *ibdev, u32 port_num)
{
	struct xiw_dev *dev = to_xdev(ibdev);

	if (READ_ONCE(dev->gid_keeper) == current) {
		WRITE_ONCE(dev->gid_keeper, NULL);
		return NULL;
	}
	dev_hold(dev->netdev);
	return dev->netdev;
}

static int gid_address_changed(const struct net_device *netdev)
{
	struct ib_device *ibdev;

	ibdev = ib_device_get_by_netdev((struct net_device *)netdev,
					XIW_RDMA_DRIVER_ID);
	if (!ibdev)
		return NOTIFY_DONE;
	xiw_dev_update_gids(to_xdev(ibdev));
	ib_device_put(ibdev);
	return NOTIFY_OK;
}

static int gid_ipv4_event(struct notifier_block *nb, unsigned long event,
			  void *ptr)
{
	const struct in_ifaddr *ifa = ptr;

	return gid_address_changed(ifa->ifa_dev->dev);
}

static struct notifier_block ipv4_nb = {
	.notifier_call = gid_ipv4_event,
};

#if IS_ENABLED(CONFIG_IPV6)
static int gid_ipv6_event(struct notifier_block *nb, unsigned long event,
			  void *ptr)
{
	const struct inet6_ifaddr *ifa = ptr;

	return gid_address_changed(ifa->idev->dev);
}

static struct notifier_block ipv6_nb = {
	.notifier_call = gid_ipv6_event,
};

static int gid_register_ipv6(void)
{
	return register_inet6addr_notifier(&ipv6_nb);
}

static void gid_unregister_ipv6(void)
{
	unregister_inet6addr_notifier(&ipv6_nb);
}
#else
static int gid_register_ipv6(void)
{
	return 0;
}

static void gid_unregister_ipv6(void)
{
}
#endif

/* Registers the notifiers. 0 or a negative errno. */
int xiw_gid_module_init(void)
{
	int ret;

	ret = register_inetaddr_notifier(&ipv4_nb);
	if (ret)
		return ret;
	ret = gid_register_ipv6();
	if (ret)
		unregister_inetaddr_notifier(&ipv4_nb);
	return ret;
}

void xiw_gid_module_exit(void)
{
	gid_unregister_ipv6();
	unregister_inetaddr_notifier(&ipv4_nb);
}
