// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Endpoints of out-of-band connections: the functions for their actions.
 * rdv_active.c and rdv_passive.c establish the connections. These end as those
 * of rdma_cm do, unless they were never established: because the first FPDU did
 * not arrive, or the PSNs differ. Then the QP is rolled back: the Initiator
 * connects again, and the Responder waits for another Request.
 */
#include "rdv.h"

#include "cm.h"
#include "dev.h"
#include "ep.h"
#include "gid.h"
#include "qp.h"

static enum xiw_ep_state rdv_ep_kill_at_once(struct xiw_ep *ep)
{
	return XIW_EPS_DEAD;
}

/* Ignore the event unless the consumer or a fault has ended the connection. */
static enum xiw_ep_state rdv_ep_end_if_over(struct xiw_ep *ep)
{
	return xiw_rdvstate_is_dead(READ_ONCE(ep->qp->rdv.state)) ?
		XIW_EPS_DEAD : ep->state;
}

/*
 * Wake the Requests for a queue pair at every listener. This does not take
 * rdv_lock, which protects the list of ports: its holder may wait for the end
 * of the listener whose children are handled.
 */
static void rdv_ep_wake_all(struct xiw_dev *dev, u32 qpn)
{
	struct xiw_ep *ep;

	spin_lock(&dev->ep_lock);
	list_for_each_entry(ep, &dev->eps, node) {
		if (ep->listen && ep->user == dev->rdv_user)
			xiw_listen_wake(ep, qpn);
	}
	spin_unlock(&dev->ep_lock);
}

/*
 * Another Request may have waited for this one to release the queue pair. If an
 * administrator has ended the listener, it waits at the one that replaced it.
 */
static void rdv_ep_wake_next(struct xiw_ep *ep, u32 qpn)
{
	if (!ep->parent || !qpn || ep->qp)
		return;
	if (READ_ONCE(ep->parent->listen->closed))
		rdv_ep_wake_all(ep->dev, qpn);
	else
		xiw_listen_wake(ep->parent, qpn);
}

/* After a rollback, a close that the old stream has requested is obsolete. */
static enum xiw_ep_state
rdv_ep_end_by(struct xiw_ep *ep, enum xiw_ep_state (*end)(struct xiw_ep *ep))
{
	bool initiator = ep->conn.initiator;
	enum xiw_ep_state next;
	u32 qpn = ep->qpn;

	if (!ep->qp || !xiw_rdv_undo(ep->qp, ep)) {
		next = end(ep);
		rdv_ep_wake_next(ep, qpn);
		return next;
	}
	ep->closing = false;
	return initiator ? xiw_rdv_active_retry(ep) : XIW_EPS_DEAD;
}

static enum xiw_ep_state rdv_ep_on_close(struct xiw_ep *ep)
{
	return rdv_ep_end_by(ep, xiw_end_close);
}

static enum xiw_ep_state rdv_ep_on_abort(struct xiw_ep *ep)
{
	return rdv_ep_end_by(ep, xiw_end_abort);
}

static enum xiw_ep_state rdv_ep_on_timer(struct xiw_ep *ep)
{
	return rdv_ep_end_by(ep, xiw_end_stalled);
}

/* An administrator may end a listener (ss -K): xiw_rdv_reserve() renews it. */
static enum xiw_ep_state rdv_ep_on_listener(struct xiw_ep *ep)
{
	enum xiw_ep_state next;

	if (xiw_conn_status(ep) != XIW_LLP_LOST)
		return xiw_listen_children(ep);
	next = xiw_listen_kill(ep);
	/* Closed before the work looks at it. */
	xiw_gid_update(ep->dev);
	return next;
}

static enum xiw_ep_state rdv_ep_stay(struct xiw_ep *ep)
{
	return ep->state;
}

/*
 * The first FPDU is late, or another Request is to replace this one. The FPDU
 * may still arrive: then the stream is established, and FIRST_FPDU is pending.
 * If the consumer or a fault has ended the connection, that is pending, too.
 */
static enum xiw_ep_state rdv_ep_on_late(struct xiw_ep *ep)
{
	return rdv_ep_end_by(ep, ep->closing ? xiw_end_stalled : rdv_ep_stay);
}

/* No report is due: other actions have no effect. */
static const xiw_ep_act rdv_acts[XIW_EPA_COUNT] = {
	[XIW_EPA_ACCEPT]	= rdv_ep_on_listener,
	[XIW_EPA_TRY]		= xiw_rdv_active_try,
	[XIW_EPA_RETRY]		= xiw_rdv_active_retry,
	[XIW_EPA_LATE]		= xiw_rdv_active_retry,
	[XIW_EPA_CANCEL]	= rdv_ep_end_if_over,
	[XIW_EPA_CANCEL_KILL]	= rdv_ep_kill_at_once,
	[XIW_EPA_NO_REQUEST]	= rdv_ep_kill_at_once,
	[XIW_EPA_READY]		= xiw_rdv_passive_judge,
	[XIW_EPA_READY_LATE]	= xiw_rdv_passive_late,
	[XIW_EPA_NO_FPDU]	= rdv_ep_on_late,
	[XIW_EPA_REPLACED]	= rdv_ep_on_late,
	[XIW_EPA_STALLED]	= rdv_ep_on_timer,
	[XIW_EPA_CLOSE]		= rdv_ep_on_close,
	[XIW_EPA_ABORT]		= rdv_ep_on_abort,
};

static void rdv_teardown(struct xiw_ep *ep)
{
	u32 qpn = ep->qpn;

	xiw_conn_detach_qp(ep);
	rdv_ep_wake_next(ep, qpn);
	xiw_cm_teardown(ep);
}

static const struct xiw_cm_user rdv_user = {
	.handle = xiw_cm_handle,
	.acts = rdv_acts,
	.connected = xiw_rdv_active_connected,
	.build_request = xiw_rdv_active_build_request,
	.reply = xiw_rdv_active_reply,
	.closed = xiw_rdv_active_closed,
	.failed = xiw_rdv_active_failed,
	.request = xiw_rdv_passive_request,
	.teardown = rdv_teardown,
};

/**
 * xiw_rdv_device_init() - prepare a device for out-of-band connections
 * @dev: device under construction
 *
 * Context: Any.
 */
void xiw_rdv_device_init(struct xiw_dev *dev)
{
	dev->rdv_user = &rdv_user;
	mutex_init(&dev->rdv_lock);
	INIT_LIST_HEAD(&dev->rdv_ports);
	dev->rdv_port = XIW_RDV_PORT;
}
