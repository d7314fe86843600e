/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The RDMA device of one netdev: what all its objects share, and the limits it
 * advertises. What it does is in device.c.
 */
#ifndef _XIW_DEV_H
#define _XIW_DEV_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/xiw-abi.h>

#include "crowd.h"
#include "mem.h"
#include "proto/nego.h"
#include "stats.h"
#include "stream.h"

struct xiw_ep_ops;

/*
 * The core keeps an event for each process that has the device open, for as
 * long as it does not read them. So one of a kind is reported at once, and the
 * state at the end of the period if more has happened.
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
	XIW_LATE_RECV_MS	= 1000,
	XIW_MAX_GIDS		= 64,
};

/**
 * struct xiw_dev - one RDMA device
 * @ibdev: the device as the core sees it; its allocation is this struct
 * @netdev: the netdev below, with a reference of our own, because the core
 *	drops its reference before the last endpoints are gone
 * @netdev_tracker: tracks that reference
 * @port_lock: protects @port_state, @port_next and @gids
 * @port_state: of the port, last reported by an event; IB_PORT_NOP before
 * @port_next: when the next change may be reported, in jiffies
 * @port_work: reports what came too early
 * @gids: addresses of the port, zero where there is none; see gid.c
 * @gids_full: the log says that one address found no place in @gids; written
 *	by @gid_work only
 * @gid_next: when to look at the addresses again, in jiffies
 * @gid_work: brings @gids up to date
 * @gid_keeper: task of the core that is to leave a GID as it is; written in
 *	that task only, which holds the mutex of the core's table
 * @qps: QP number to struct ib_qp; its lock guards look-up and reference
 * @mems: STags
 * @cqs: CQ numbers
 * @srqs: SRQ numbers
 * @num_qp: QPs that exist, bounded by XIW_MAX_QP; likewise the others
 * @num_cq: CQs
 * @num_srq: SRQs
 * @num_mr: memory regions
 * @num_mw: memory windows
 * @num_pd: protection domains
 * @num_ctx: user contexts
 * @policy: MPA policy for new connections
 * @policy_lock: protects @policy
 * @caps: XIW_CAP_* in force
 * @ep_ops: what endpoints of rdma_cm do
 * @rdv_ops: what those of connections by number do
 * @cm_wq: runs the endpoints' work; created with the device
 * @ep_lock: protects @eps, @eps_closed, @lingering, @rdv_dialled and
 *	@rdv_dialled_at
 * @eps: every struct xiw_ep of the device, for teardown; listeners first
 * @eps_closed: teardown began, no endpoint may be added
 * @joining: rdma_cm is being told of the device, see xiw_cm_create_listen()
 * @lingering: those whose closed connections wait for the peer's FIN
 * @requests: connection requests that nobody answered yet, by the cookie that
 *	iw_cm knows them by; see cm_passive.c
 * @last_request: cookie given out last; none is given out twice, as iw_cm may
 *	answer what has long ended
 * @rdv_lock: protects @rdv_ports; within the queue pairs' modify_lock, outside
 *	of the endpoints' mutexes
 * @rdv_ports: where connections by number are listened for
 * @rdv_port: TCP port for new ones, 0 if there are to be none
 * @rdv_dialled: how many of their Initiators have dialled since
 *	@rdv_dialled_at
 * @rdv_dialled_at: in jiffies
 * @stats: event counters
 * @env: what streams see of the device
 */
struct xiw_dev {
	struct ib_device ibdev;
	struct net_device *netdev;
	netdevice_tracker netdev_tracker;
	spinlock_t port_lock; /* see above */
	enum ib_port_state port_state;
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
	u32 caps;

	const struct xiw_ep_ops *ep_ops;
	const struct xiw_ep_ops *rdv_ops;
	struct workqueue_struct *cm_wq;
	spinlock_t ep_lock; /* see above */
	struct list_head eps;
	bool eps_closed;
	bool joining;
	struct xiw_crowd lingering;
	struct xarray requests;
	atomic_long_t last_request;

	struct mutex rdv_lock; /* see above */
	struct list_head rdv_ports;
	u16 rdv_port;
	u32 rdv_dialled;
	unsigned long rdv_dialled_at;

	struct xiw_stats __percpu *stats;
	struct xiw_stream_env env;
};

/**
 * struct xiw_ucontext - an open device in a process
 * @ibuctx: as the core sees it; its allocation is this struct
 */
struct xiw_ucontext {
	struct ib_ucontext ibuctx;
};

/**
 * struct xiw_pd - protection domain
 * @ibpd: as the core sees it; its allocation is this struct
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

/* For how long to wait, in jiffies, with what may be reported from @next on. */
static inline unsigned long xiw_dev_event_delay(unsigned long next)
{
	unsigned long now = jiffies;

	return time_before(now, next) ?
	       min_t(unsigned long, next - now, XIW_EVENT_PERIOD) : 0;
}

/* MPA policy for a new connection, a private copy. Process context. */
static inline void xiw_dev_get_policy(struct xiw_dev *dev,
				      struct xiw_mpa_policy *policy)
{
	spin_lock(&dev->policy_lock);
	*policy = dev->policy;
	spin_unlock(&dev->policy_lock);
}

/*
 * No command of this ABI has input for the driver. What is not zero, a later
 * one has a meaning for: the caller must learn that this kernel has not.
 */
static inline bool xiw_udata_known(struct ib_udata *udata)
{
	return !udata || !udata->inlen ||
	       ib_is_udata_cleared(udata, 0, udata->inlen);
}

static inline bool xiw_udata_room(const struct ib_udata *udata, size_t len)
{
	return !udata || udata->outlen >= len;
}

/*
 * Is there room for the response that version 1 of the ABI had? @_last was its
 * last member. ib_respond_udata() cuts off later members, so older providers go
 * on working.
 */
#define xiw_udata_has_room(_udata, _type, _last) \
	xiw_udata_room(_udata, offsetofend(_type, _last))

#endif /* _XIW_DEV_H */
