// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The ib_device: its attributes, its registration with the core, and the two
 * objects without behaviour of their own, user context and protection domain.
 */
#include "device.h"

#include <kunit/visibility.h>
#include <linux/errno.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/rtnetlink.h>
#include <linux/utsname.h>
#include <linux/version.h>
#include <net/addrconf.h>
#include <rdma/ib_mad.h>
#include <rdma/iw_cm.h>
#include <rdma/uverbs_ioctl.h>

#include "cm/cm.h"
#include "cm/iwcm_quirks.h"
#include "dev.h"
#include "oob/oob.h"
#include "qp/qp.h"
#include "queue/queue.h"
#include "verbs/verbs.h"

#define XIW_PORT		1

/* The field is for the OUI of a company; applications reject 0. */
#define XIW_VENDOR_ID		0xffffff

static void xiw_device_query_odp(struct ib_device_attr *attr)
{
	if (!IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING))
		return;
	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	attr->odp_caps.general_caps = IB_ODP_SUPPORT;
	attr->odp_caps.per_transport_caps.rc_odp_caps =
		IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
		IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ |
		IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV;
}

static int xiw_query_device(struct ib_device *ibdev,
			    struct ib_device_attr *attr,
			    struct ib_udata *udata)
{
	int ret = ib_no_udata_io(udata);

	if (ret)
		return ret;
	memset(attr, 0, sizeof(*attr));
	/* Applications get the version of xiw_get_dev_fw_str() as a number. */
	attr->fw_ver = (u64)LINUX_VERSION_MAJOR << 32 |
		       LINUX_VERSION_PATCHLEVEL << 16 | LINUX_VERSION_SUBLEVEL;
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = XIW_VENDOR_ID;
	attr->max_mr_size = XIW_MAX_MR_SIZE;
	attr->page_size_cap = GENMASK(30, ilog2(SZ_4K));
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG;
	xiw_device_query_odp(attr);

	attr->max_qp = XIW_MAX_QP;
	attr->max_qp_wr = XIW_MAX_QP_WR;
	attr->max_send_sge = XIW_MAX_SGE;
	attr->max_recv_sge = XIW_MAX_SGE;
	attr->max_sge_rd = XIW_MAX_SGE;
	attr->max_qp_rd_atom = XIW_MAX_IRD;
	attr->max_qp_init_rd_atom = XIW_MAX_ORD;
	attr->max_res_rd_atom = XIW_MAX_QP * XIW_MAX_IRD;
	attr->atomic_cap = IB_ATOMIC_GLOB;
	attr->masked_atomic_cap = IB_ATOMIC_GLOB;

	attr->max_cq = XIW_MAX_CQ;
	attr->max_cqe = XIW_MAX_CQE;
	attr->cq_caps.max_cq_moderation_count = XIW_MAX_CQ_MOD_COUNT;
	attr->cq_caps.max_cq_moderation_period = XIW_MAX_CQ_MOD_USECS;
	/* Completion times are nanoseconds: the clock has 10^6 kHz. */
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = 1000 * 1000;

	attr->max_srq = XIW_MAX_SRQ;
	attr->max_srq_wr = XIW_MAX_SRQ_WR;
	attr->max_srq_sge = XIW_MAX_SGE;

	attr->max_mr = XIW_MAX_MR;
	attr->max_mw = XIW_MAX_MW;
	attr->max_pd = XIW_MAX_PD;
	attr->max_pkeys = 1;
	attr->max_fast_reg_page_list_len = XIW_MAX_FRWR_PAGES;
	return 0;
}

/* ib_get_eth_speed() would warn about a netdev that reports no speed. */
static void xiw_device_query_speed(struct xiw_dev *dev,
				   struct ib_port_attr *attr)
{
	const struct ethtool_ops *ops = dev->netdev->ethtool_ops;

	if (!ops->get_link_ksettings ||
	    ib_get_eth_speed(&dev->ibdev, XIW_PORT, &attr->active_speed,
			     &attr->active_width)) {
		attr->active_speed = IB_SPEED_SDR;
		attr->active_width = IB_WIDTH_1X;
	}
}

/* @speed: of the netdev in Mb/s. The caller holds the RTNL. */
static int device_get_speed(struct net_device *netdev, u32 *speed)
{
	struct ethtool_link_ksettings link = {};
	int ret = -ENODEV;

	/* The state changes from REGISTERED with the RTNL held only. */
	if (data_race(netdev->reg_state) == NETREG_REGISTERED)
		ret = __ethtool_get_link_ksettings(netdev, &link);
	if (ret)
		return ret;
	if (link.base.speed == (u32)SPEED_UNKNOWN)
		return -EOPNOTSUPP;
	*speed = link.base.speed;
	return 0;
}

/*
 * @speed: of the netdev in units of 100 Mb/s; the attributes of the port can
 * only hold a speed of InfiniBand, so they have the next higher one. Takes the
 * RTNL. 0 or a negative errno, -EOPNOTSUPP if the netdev reports no speed.
 */
int xiw_query_port_speed(struct ib_device *ibdev, u32 port_num, u64 *speed)
{
	struct xiw_dev *dev = to_xdev(ibdev);
	u32 mbps = 0;
	int ret;

	if (!xiw_dev_port_active(dev)) {
		*speed = 0;
		return 0;
	}
	rtnl_lock();
	ret = device_get_speed(dev->netdev, &mbps);
	rtnl_unlock();
	if (!ret)
		*speed = mbps / 100;
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_query_port_speed);

static int xiw_query_port(struct ib_device *ibdev, u32 port_num,
			  struct ib_port_attr *attr)
{
	struct xiw_dev *dev = to_xdev(ibdev);

	if (xiw_dev_port_active(dev)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else {
		attr->state = IB_PORT_DOWN;
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	}
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = ib_mtu_int_to_enum(READ_ONCE(dev->netdev->mtu));
	attr->max_msg_sz = U32_MAX;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->gid_tbl_len = XIW_MAX_GIDS;
	attr->pkey_tbl_len = 1;
	xiw_device_query_speed(dev, attr);
	return 0;
}

static void device_dispatch(struct xiw_dev *dev, enum ib_event_type type)
{
	const struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = XIW_PORT,
		.event = type,
	};

	ib_dispatch_event(&event);
}

/* Dispatches the events of changes. The caller holds @port_lock. */
static void device_report(struct xiw_dev *dev, enum ib_port_state state)
{
	if (state != dev->port_state)
		device_dispatch(dev, state == IB_PORT_ACTIVE ?
				IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
	dev->port_state = state;
	if (dev->speed != dev->speed_reported)
		xiw_dispatch_speed_change(&dev->ibdev);
	dev->speed_reported = dev->speed;
}

/*
 * Notes the speed of the netdev, which device_update_port() compares with the
 * one in the last event. A netdev without carrier keeps the last speed. Takes
 * the RTNL, and the lock of the netdev if its driver asks for that.
 */
static void device_note_speed(struct xiw_dev *dev)
{
	u32 speed;
	int ret;

	if (!xiw_dev_port_active(dev))
		return;
	rtnl_lock();
	ret = device_get_speed(dev->netdev, &speed);
	rtnl_unlock();
	if (ret)
		return;
	spin_lock(&dev->port_lock);
	dev->speed = speed;
	/* The first one is no change. */
	if (!dev->speed_reported)
		dev->speed_reported = speed;
	spin_unlock(&dev->port_lock);
}

/*
 * Reports a change of the port's state or speed, if any. The device is
 * registered, and the caller has a reference. Process context.
 *
 * The first call always reports the state: the core has read it earlier, and it
 * may have changed since. An event for which the core has no memory is lost.
 * The loss cannot be detected: ib_dispatch_event() does not return an error,
 * and the next event of any kind updates the core's copy of the state.
 */
static void device_update_port(struct xiw_dev *dev)
{
	enum ib_port_state state;
	unsigned long delay;

	spin_lock(&dev->port_lock);
	state = xiw_dev_port_active(dev) ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	delay = xiw_dev_event_delay(dev->port_next);
	if (state == dev->port_state && dev->speed == dev->speed_reported)
		goto unlock;
	if (delay) {
		queue_delayed_work(system_dfl_wq, &dev->port_work, delay);
		goto unlock;
	}
	/* The first report does not delay the next one. */
	if (dev->port_state != IB_PORT_NOP)
		dev->port_next = jiffies + XIW_EVENT_PERIOD;
	device_report(dev, state);
unlock:
	spin_unlock(&dev->port_lock);
}

static void device_port_work(struct work_struct *work)
{
	struct xiw_dev *dev = container_of(to_delayed_work(work),
					   struct xiw_dev, port_work);

	/* Events are permitted only while the device is registered. */
	if (!ib_device_try_get(&dev->ibdev))
		return;
	device_note_speed(dev);
	device_update_port(dev);
	ib_device_put(&dev->ibdev);
}

/*
 * Reports a change of the port's state, and has the work look at the speed: the
 * notifier's callers may hold the lock of the netdev or of one below it.
 */
void xiw_device_update_port(struct xiw_dev *dev)
{
	device_update_port(dev);
	queue_delayed_work(system_dfl_wq, &dev->port_work, 0);
}

/*
 * The core calls this instead of reporting the state of the port itself. It
 * does nothing, as the notifier of this module reports the state, and does so
 * for bonds as well, which the core excludes.
 */
void xiw_report_port_event(struct ib_device *ibdev, struct net_device *netdev,
			   unsigned long event)
{
}

/* Administrators may set a description of the node, shown by tools. */
static int xiw_modify_device(struct ib_device *ibdev, int mask,
			     struct ib_device_modify *change)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, change->node_desc,
		       sizeof(ibdev->node_desc));
	return 0;
}

/*
 * Report the version of the kernel: tools would print a gap for an empty one.
 */
static void xiw_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, init_utsname()->release, IB_FW_VERSION_NAME_MAX);
}

static int xiw_get_port_immutable(struct ib_device *ibdev, u32 port_num,
				  struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = XIW_MAX_GIDS;
	immutable->pkey_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

/*
 * iWARP has no partitions, but rdma_cm requires a P_Key before it connects to a
 * loopback address.
 */
static int xiw_query_pkey(struct ib_device *ibdev, u32 port_num, u16 index,
			  u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

static enum rdma_link_layer xiw_get_link_layer(struct ib_device *ibdev,
					       u32 port_num)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int xiw_alloc_ucontext(struct ib_ucontext *ibuctx,
			      struct ib_udata *udata)
{
	struct xiw_dev *dev = to_xdev(ibuctx->device);
	struct xiw_uresp_alloc_ctx resp = {
		.caps = dev->caps,
		.max_inline = XIW_MAX_INLINE,
	};
	int ret;

	if (!xiw_udata_has_room(udata, struct xiw_uresp_alloc_ctx, max_inline))
		return -EINVAL;
	ret = ib_is_udata_in_empty(udata);
	if (ret)
		return ret;
	if (!atomic_add_unless(&dev->num_ctx, 1, XIW_MAX_UCTX))
		return -ENOMEM;

	ret = ib_respond_udata(udata, resp);
	if (ret)
		atomic_dec(&dev->num_ctx);
	return ret;
}

/*
 * Called when a process imports a context. There is no response: the provider
 * takes the existence of this operation for all of the present XIW_CAP_*.
 */
static int xiw_query_ucontext(struct ib_ucontext *ibuctx,
			      struct uverbs_attr_bundle *attrs)
{
	return 0;
}

static void xiw_dealloc_ucontext(struct ib_ucontext *ibuctx)
{
	atomic_dec(&to_xdev(ibuctx->device)->num_ctx);
}

/*
 * Required by the core for hot-unplug with open contexts. The process keeps
 * the pages of its rings, see mmap.c, so nothing has to be revoked.
 */
static void xiw_disassociate_ucontext(struct ib_ucontext *ibuctx)
{
}

static int xiw_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct xiw_dev *dev = to_xdev(ibpd->device);
	int ret = ib_no_udata_io(udata);

	if (ret)
		return ret;
	xiw_udata_done(udata);
	return atomic_add_unless(&dev->num_pd, 1, XIW_MAX_PD) ? 0 : -ENOMEM;
}

static int xiw_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	int ret = ib_no_udata_io(udata);

	if (!ret)
		atomic_dec(&to_xdev(ibpd->device)->num_pd);
	return ret;
}

/*
 * Called for a new device and for one that has moved to another namespace,
 * before clients add it: rdma_cm then starts its wildcard listeners on it.
 */
static int xiw_enable_driver(struct ib_device *ibdev)
{
	struct xiw_dev *dev = to_xdev(ibdev);

	/* Release the ports that were reserved in the former namespace. */
	xiw_oob_device_exit(dev);
	xiw_cm_device_open(dev);
	/* Reserve the ports before another program can bind them. */
	xiw_oob_reserve(dev);
	xiw_config_debug_add(dev);
	/*
	 * From now on the notifiers find the device. Check for earlier changes.
	 */
	xiw_device_update_port(dev);
	xiw_dev_update_gids(dev);
	return 0;
}

/**
 * xiw_disable_driver() - ib_device_ops.disable_driver
 * @ibdev: device that is about to be removed from all clients
 *
 * Clients wait for the results of connects, so begin to end all endpoints now.
 */
void xiw_disable_driver(struct ib_device *ibdev)
{
	xiw_cm_device_kill(to_xdev(ibdev));
}

/*
 * The last call of the core for a device, registered or not. All clients and
 * their objects are gone. Endpoints that close a connection may remain.
 */
static void xiw_dealloc_driver(struct ib_device *ibdev)
{
	struct xiw_dev *dev = to_xdev(ibdev);

	xiw_config_debug_remove(dev);
	/*
	 * The end of a listener may queue gid_work, so do this before
	 * xiw_gid_exit().
	 */
	xiw_oob_device_exit(dev);
	xiw_gid_exit(dev);
	cancel_delayed_work_sync(&dev->port_work);
	xiw_cm_device_exit(dev);

	WARN_ON(!xa_empty(&dev->qps));
	WARN_ON(!xa_empty(&dev->mems.mems));
	WARN_ON(!xa_empty(&dev->cqs));
	WARN_ON(!xa_empty(&dev->srqs));
	free_percpu(dev->stats);
	netdev_put(dev->netdev, &dev->netdev_tracker);
}

static const struct ib_device_ops device_ops = {
	.owner = THIS_MODULE,
	.driver_id = XIW_RDMA_DRIVER_ID,
	.uverbs_abi_ver = XIW_ABI_VERSION,
	/*
	 * No command of this ABI has input for the driver. Input other than
	 * zeros belongs to a later ABI: the command fails.
	 */
	XIW_OPS_ROBUST_UDATA

	.advise_mr = xiw_advise_mr,
	.alloc_hw_port_stats = xiw_alloc_hw_port_stats,
	.alloc_mr = xiw_alloc_mr,
	.alloc_mw = xiw_alloc_mw,
	.alloc_pd = xiw_alloc_pd,
	.alloc_ucontext = xiw_alloc_ucontext,
	.create_cq = xiw_op_create_cq,
	.create_qp = xiw_create_qp,
	.create_srq = xiw_create_srq,
	.dealloc_driver = xiw_dealloc_driver,
	.dealloc_mw = xiw_dealloc_mw,
	.dealloc_pd = xiw_dealloc_pd,
	.dealloc_ucontext = xiw_dealloc_ucontext,
	.dereg_mr = xiw_dereg_mr,
	.destroy_cq = xiw_destroy_cq,
	.destroy_qp = xiw_destroy_qp,
	.destroy_srq = xiw_destroy_srq,
	.device_group = &xiw_config_group,
	XIW_OPS_DISABLE_DRIVER
	.disassociate_ucontext = xiw_disassociate_ucontext,
	.enable_driver = xiw_enable_driver,
	.fill_res_cq_entry = xiw_fill_res_cq,
	.fill_res_mr_entry = xiw_fill_res_mr,
	.fill_res_qp_entry = xiw_fill_res_qp,
	XIW_OPS_FILL_RES_SRQ
	.get_dev_fw_str = xiw_get_dev_fw_str,
	.get_dma_mr = xiw_get_dma_mr,
	.get_hw_stats = xiw_get_hw_stats,
	.get_link_layer = xiw_get_link_layer,
	.get_netdev = xiw_get_netdev,
	.get_port_immutable = xiw_get_port_immutable,
	.iw_accept = xiw_cm_accept,
	.iw_add_ref = xiw_iwqp_add_ref,
	.iw_connect = xiw_cm_connect,
	.iw_create_listen = xiw_cm_create_listen,
	.iw_destroy_listen = xiw_cm_destroy_listen,
	.iw_get_qp = xiw_iwqp_get,
	.iw_reject = xiw_cm_reject,
	.iw_rem_ref = xiw_iwqp_rem_ref,
	.map_mr_sg = xiw_map_mr_sg,
	.mmap = xiw_mmap,
	.mmap_free = xiw_mmap_free,
	.modify_cq = xiw_modify_cq,
	.modify_device = xiw_modify_device,
	.modify_qp = xiw_modify_qp,
	.modify_srq = xiw_modify_srq,
	.poll_cq = xiw_poll_cq,
	.port_groups = xiw_port_groups,
	.post_recv = xiw_post_recv,
	.post_send = xiw_post_send,
	.post_srq_recv = xiw_post_srq_recv,
	.query_device = xiw_query_device,
	.query_gid = xiw_op_query_gid,
	.query_pkey = xiw_query_pkey,
	.query_port = xiw_query_port,
	XIW_OPS_QUERY_PORT_SPEED
	.query_qp = xiw_query_qp,
	.query_srq = xiw_query_srq,
	.query_ucontext = xiw_query_ucontext,
	.reg_user_mr = xiw_op_reg_user_mr,
	.reg_user_mr_dmabuf = xiw_op_reg_user_mr_dmabuf,
	XIW_OPS_REPORT_PORT_EVENT
	.req_notify_cq = xiw_req_notify_cq,
	.rereg_user_mr = xiw_rereg_user_mr,
	.resize_user_cq = xiw_op_resize_user_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, xiw_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, xiw_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, xiw_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, xiw_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, xiw_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, xiw_ucontext, ibuctx),
};

static const struct xiw_mpa_policy default_policy = {
	.rev = 2,
	.crc = true,
	.p2p = true,
	.rtr = XIW_RTR_WRITE | XIW_RTR_READ,
	.request_ms = 10 * MSEC_PER_SEC,
	.reply_ms = 60 * MSEC_PER_SEC,
	.rtr_ms = 30 * MSEC_PER_SEC,
	.close_ms = 10 * MSEC_PER_SEC,
	.silence_ms = 60 * MSEC_PER_SEC,
	.sctp_rto_ms = 200,
	.max_ird = XIW_MAX_IRD,
	.max_ord = XIW_MAX_ORD,
};

/* Loopback, tunnels and others have no MAC address: use a random one. */
static void xiw_device_choose_guid(struct xiw_dev *dev,
				   const struct net_device *netdev)
{
	u8 mac[ETH_ALEN];

	if (netdev->addr_len == ETH_ALEN &&
	    is_valid_ether_addr(netdev->dev_addr))
		ether_addr_copy(mac, netdev->dev_addr);
	else
		eth_random_addr(mac);
	addrconf_addr_eui48((u8 *)&dev->ibdev.node_guid, mac);
}

static void device_init(struct xiw_dev *dev)
{
	struct ib_device *ibdev = &dev->ibdev;

	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH |
		      XA_FLAGS_ACCOUNT);
	xiw_mem_table_init(&dev->mems);
	xa_init_flags(&dev->cqs, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->srqs, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	spin_lock_init(&dev->policy_lock);
	dev->policy = default_policy;
	dev->caps = XIW_CAP_ATOMIC | XIW_CAP_IMM | XIW_CAP_SEND_IMM |
		    XIW_CAP_SQ_DONE;
	spin_lock_init(&dev->port_lock);
	dev->port_next = jiffies;
	INIT_DELAYED_WORK(&dev->port_work, device_port_work);
	spin_lock_init(&dev->ep_lock);
	INIT_LIST_HEAD(&dev->eps);
	xiw_oob_device_init(dev);

	ibdev->node_type = RDMA_NODE_RNIC;
	ibdev->phys_port_cnt = XIW_PORT;
	ibdev->num_comp_vectors = num_possible_cpus();
	/*
	 * uverbs_cmd_mask has no posting and polling: processes do both in
	 * mapped rings.
	 */
	ibdev->driver_def = xiw_uapi_methods;
	/* The device uses TCP's own port space. */
	ibdev->iw_driver_flags = IW_F_NO_PORT_MAP;
}

static void xiw_device_env_init(struct xiw_dev *dev)
{
	struct xiw_stream_env *env = &dev->env;

	env->stats = dev->stats;
	env->mems = &dev->mems;
	env->rnr_timeout_ms = XIW_RNR_TIMEOUT_MS;
	if (dev->caps & (XIW_CAP_ATOMIC | XIW_CAP_IMM))
		env->features = XIW_FEAT_RFC7306;
}

static struct xiw_dev *device_alloc(struct net_device *netdev)
{
	struct xiw_dev *dev;

	dev = ib_alloc_device(xiw_dev, ibdev);
	if (!dev)
		return ERR_PTR(-ENOMEM);

	device_init(dev);
	xiw_device_choose_guid(dev, netdev);
	dev->stats = alloc_percpu(struct xiw_stats);
	if (!dev->stats)
		goto err_dealloc;
	xiw_device_env_init(dev);
	if (xiw_cm_device_init(dev))
		goto err_stats;

	dev->netdev = netdev;
	netdev_hold(netdev, &dev->netdev_tracker, GFP_KERNEL);
	xiw_device_rename(dev);
	xiw_gid_init(dev);
	/* With the operations set, ib_dealloc_device() undoes all of this. */
	ib_set_device_ops(&dev->ibdev, &device_ops);
	return dev;

err_stats:
	free_percpu(dev->stats);
err_dealloc:
	ib_dealloc_device(&dev->ibdev);
	return ERR_PTR(-ENOMEM);
}

/**
 * xiw_device_add() - create and register the device of a netdev
 * @name: name of the new device
 * @netdev: netdev, to which the caller has a reference
 *
 * On success the device belongs to the core, and may be unregistered and freed
 * at any time.
 *
 * Context: Process context, may sleep; without the RTNL.
 * Return: 0 or a negative error.
 */
int xiw_device_add(const char *name, struct net_device *netdev)
{
	struct xiw_dev *dev;
	int ret;

	dev = device_alloc(netdev);
	if (IS_ERR(dev))
		return PTR_ERR(dev);

	ib_mark_name_assigned_by_user(&dev->ibdev);
	ret = ib_device_set_netdev(&dev->ibdev, netdev, XIW_PORT);
	if (ret)
		goto err_dealloc;
	/* No DMA device: "DMA addresses" are kernel virtual addresses. */
	ret = ib_register_device(&dev->ibdev, name, NULL);
	if (ret)
		goto err_dealloc;
	return 0;

err_dealloc:
	ib_dealloc_device(&dev->ibdev);
	return ret;
}

/*
 * Sets the interface name reported to iw_cm. The RTNL is held, or the device is
 * not registered yet.
 */
void xiw_device_rename(struct xiw_dev *dev)
{
	strscpy(dev->ibdev.iw_ifname, dev->netdev->name);
}
