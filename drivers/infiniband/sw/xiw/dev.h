/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The RDMA device of one netdev: state shared by its objects, and its limits.
 * See device.c.
 *
 * Operations of struct ib_device_ops, in all files: unless their comment says
 * otherwise, the core calls them in process context, and they may sleep. Those
 * that post, poll, arm or moderate may be called in any context. An object that
 * the core allocates is zeroed. There is udata in calls of a process only; if
 * it has input that this ABI does not define, they return -EOPNOTSUPP.
 */
#ifndef _XIW_DEV_H
#define _XIW_DEV_H

#include <linux/hashtable.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/xiw-abi.h>

#include "llp/peer_limit.h"
#include "mem/mem.h"
#include "proto/nego.h"
#include "stats.h"
#include "stream/stream.h"

struct xiw_cm_user;

/*
 * The core allocates an event for each process that has the device open, and
 * keeps it until the process reads it. So limit the rate: report a change at
 * once, and after later changes only the state at the end of the period.
 */
#define XIW_EVENT_PERIOD	HZ

enum xiw_limits {
	XIW_MAX_QP		= 64 * 1024,
	XIW_MAX_QP_WR		= 32 * 1024,
	XIW_MAX_SGE		= XIW_ABI_MAX_SGE,
	XIW_MAX_INLINE		= XIW_ABI_MAX_INLINE,
	XIW_MAX_ORD		= 128,
	XIW_MAX_IRD		= 128,
	XIW_MAX_CQ		= 64 * 1024,
	XIW_MAX_CQE		= 1024 * 1024,
	XIW_MAX_SRQ		= 16 * 1024,
	XIW_MAX_SRQ_WR		= 32 * 1024,
	XIW_MAX_MR		= 1024 * 1024,
	XIW_MAX_MW		= 1024 * 1024,
	XIW_MAX_PD		= 64 * 1024,
	XIW_MAX_UCTX		= 64 * 1024,
	XIW_MAX_FRWR_PAGES	= 1024,
	XIW_RNR_TIMEOUT_MS	= 5000,
	XIW_MAX_GIDS		= 64,
};

/*
 * kvmalloc() allocates lists of up to INT_MAX bytes. Without contiguous pages
 * the list of a region has an address for each of them, one more if the region
 * begins inside of a page.
 */
#define XIW_MAX_MR_SIZE							\
	((u64)(INT_MAX / sizeof(void *) - 1) << PAGE_SHIFT)

/* Ports that may use SCTP */
#define XIW_SCTP_PORTS		16
/* Further local addresses of an SCTP association */
#define XIW_SCTP_ADDRS		4

/**
 * struct xiw_dev - one RDMA device
 * @ibdev: the core's part; its allocation is this struct
 * @netdev: lower device, with a reference of its own, as the core drops its
 *	reference before the last endpoints are gone
 * @netdev_tracker: tracks that reference
 * @port_lock: protects @port_state, @port_next, both speeds and @gids
 * @port_state: state of the port in the last event; IB_PORT_NOP before
 * @speed: of the netdev in Mb/s when it last had a carrier, 0 if not known
 * @speed_reported: @speed when it was last reported
 * @port_next: time of the next permitted event, in jiffies
 * @port_work: looks at the speed, reports changes that occurred before
 *	@port_next
 * @gids: addresses of the port, zero if unused; see gid.c
 * @gids_full: a full table was logged; written by @gid_work only
 * @gid_next: time of the next update of @gids, in jiffies
 * @gid_work: updates @gids
 * @gid_keeper: task of the core that queried an unchanged GID, see
 *	xiw_get_netdev(); written in that task only, which holds the mutex of
 *	the core's table
 * @qps: QP number to struct ib_qp; its lock guards look-up and reference
 * @mems: STags
 * @cqs: CQ numbers
 * @srqs: SRQ numbers
 * @num_qp: number of QPs, at most XIW_MAX_QP; each count has such a limit
 * @num_cq: CQs
 * @num_srq: SRQs
 * @num_mr: memory regions
 * @num_mw: memory windows
 * @num_pd: protection domains
 * @num_ctx: user contexts
 * @policy: MPA policy for new connections
 * @sctp_ports: ports that rdma_cm's connections use SCTP for
 * @sctp_count: number of these
 * @sctp_addrs: further local addresses of their associations, IPv4 ones mapped
 * @sctp_naddrs: number of these
 * @policy_lock: protects @policy and what begins with sctp_
 * @debugfs: files of the device, or an error pointer without debugfs
 * @caps: XIW_CAP_* supported
 * @oob_user: functions of the endpoints of out-of-band connections
 * @cm_wq: runs the work items of endpoints
 * @retry_wq: runs those of Initiators that are not connected out of band yet,
 *	so that their tries do not delay other endpoints
 * @ep_lock: protects @eps, @listeners, @eps_closed and @lingering
 * @eps: all endpoints of the device, for teardown
 * @listeners: listeners by port, see struct xiw_ep_listen
 * @eps_closed: teardown has begun, no endpoint may be added
 * @joining: clients are adding the device, see quirks_is_joining()
 * @lingering: endpoints of closed connections that wait for the peer's FIN
 * @requests: connection requests without an answer, by the cookie passed to
 *	iw_cm; see iwcm.c
 * @last_request: last cookie; none is used twice, as iw_cm may answer a
 *	request that has ended long ago
 * @oob_lock: protects @oob_ports; nests inside the queue pairs' modify_lock,
 *	outside of the endpoints' mutexes
 * @oob_ports: listeners for out-of-band connections
 * @oob_port: TCP port for new ones, 0 to refuse them
 * @oob_privileged: Initiators connected from a port that needs a privilege;
 *	protected by a lock of oob_gate.c
 * @stats: event counters
 * @env: state shared by the streams
 */
struct xiw_dev {
	struct ib_device ibdev;
	struct net_device *netdev;
	netdevice_tracker netdev_tracker;
	spinlock_t port_lock; /* see above */
	enum ib_port_state port_state;
	u32 speed;
	u32 speed_reported;
	unsigned long port_next;
	struct delayed_work port_work;
	union ib_gid gids[XIW_MAX_GIDS];
	bool gids_full;
	unsigned long gid_next;
	struct delayed_work gid_work;
	struct task_struct *gid_keeper;

	struct xarray qps;
	struct xiw_mem_table mems;
	struct xarray cqs;
	struct xarray srqs;

	atomic_t num_qp;
	atomic_t num_cq;
	atomic_t num_srq;
	atomic_t num_mr;
	atomic_t num_mw;
	atomic_t num_pd;
	atomic_t num_ctx;

	spinlock_t policy_lock; /* see above */
	struct xiw_mpa_policy policy;
	u16 sctp_ports[XIW_SCTP_PORTS];
	u32 sctp_count;
	struct in6_addr sctp_addrs[XIW_SCTP_ADDRS];
	u32 sctp_naddrs;
	struct dentry *debugfs;
	u32 caps;

	const struct xiw_cm_user *oob_user;
	struct workqueue_struct *cm_wq;
	struct workqueue_struct *retry_wq;
	spinlock_t ep_lock; /* see above */
	struct list_head eps;
	DECLARE_HASHTABLE(listeners, 6);
	bool eps_closed;
	bool joining;
	struct xiw_peer_limit lingering;
	struct xarray requests;
	atomic_long_t last_request;

	struct mutex oob_lock; /* see above */
	struct list_head oob_ports;
	u16 oob_port;
	u32 oob_privileged;

	struct xiw_stats __percpu *stats;
	struct xiw_stream_env env;
};

/**
 * struct xiw_ucontext - an open device in a process
 * @ibuctx: the core's part; its allocation is this struct
 */
struct xiw_ucontext {
	struct ib_ucontext ibuctx;
};

/**
 * struct xiw_pd - protection domain
 * @ibpd: the core's part; its allocation is this struct
 */
struct xiw_pd {
	struct ib_pd ibpd;
};

static inline struct xiw_dev *to_xdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct xiw_dev, ibdev);
}

static inline bool xiw_dev_port_active(const struct xiw_dev *dev)
{
	return netif_running(dev->netdev) && netif_carrier_ok(dev->netdev);
}

/* Delay in jiffies of an event that is permitted from @next on. */
static inline unsigned long xiw_dev_event_delay(unsigned long next)
{
	unsigned long now = jiffies;

	return time_before(now, next) ?
	       min_t(unsigned long, next - now, XIW_EVENT_PERIOD) : 0;
}

/*
 * Index of an address of the port, XIW_MAX_GIDS if there is none; GID 0 does
 * not count. @port_lock is held.
 */
static inline u32 xiw_dev_find_gid(const struct xiw_dev *dev,
				   const struct in6_addr *addr)
{
	u32 slot;

	for (slot = 1; slot < XIW_MAX_GIDS; slot++)
		if (!memcmp(&dev->gids[slot], addr, sizeof(*addr)))
			break;
	return slot;
}

/*
 * Was @gid a usable address of the netdev when its addresses were last read?
 * Process context.
 */
static inline bool xiw_dev_has_gid(struct xiw_dev *dev,
				   const union ib_gid *gid)
{
	struct in6_addr addr;
	bool found;

	memcpy(&addr, gid, sizeof(addr));
	spin_lock(&dev->port_lock);
	found = xiw_dev_find_gid(dev, &addr) < XIW_MAX_GIDS;
	spin_unlock(&dev->port_lock);
	return found;
}

/*
 * Reads the addresses of the netdev again, see gid.c. The device is registered,
 * and the caller has a reference. Any context.
 */
static inline void xiw_dev_update_gids(struct xiw_dev *dev)
{
	/* The work may be queued already, to try again much later. */
	mod_delayed_work(system_dfl_wq, &dev->gid_work,
			 xiw_dev_event_delay(READ_ONCE(dev->gid_next)));
}

/* Copies the MPA policy for a new connection. Process context. */
static inline void xiw_dev_get_policy(struct xiw_dev *dev,
				      struct xiw_mpa_policy *policy)
{
	spin_lock(&dev->policy_lock);
	*policy = dev->policy;
	spin_unlock(&dev->policy_lock);
}

static inline bool xiw_udata_room(const struct ib_udata *udata, size_t len)
{
	return !udata || udata->outlen >= len;
}

/*
 * Is there room for the response of version 1 of the ABI? @_last was its last
 * member. ib_respond_udata() truncates later members, so older providers
 * continue to work.
 */
#define xiw_udata_has_room(_udata, _type, _last) \
	xiw_udata_room(_udata, offsetofend(_type, _last))

/*
 * Ends the use of the driver's data by a command that has created an object. If
 * the core cannot deliver its own response, it passes the same data to the
 * function that destroys the object, which must not fail then.
 */
static inline void xiw_udata_done(struct ib_udata *udata)
{
	if (udata)
		*udata = (struct ib_udata){};
}

/* Is @port, in host order, one that uses SCTP? Process context. */
static inline bool xiw_dev_uses_sctp(struct xiw_dev *dev, u16 port)
{
	bool found = false;
	u32 i;

	spin_lock(&dev->policy_lock);
	for (i = 0; i < dev->sctp_count; i++)
		found |= dev->sctp_ports[i] == port;
	spin_unlock(&dev->policy_lock);
	return found;
}

#endif /* _XIW_DEV_H */
