// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pairs that are connected out of band, without rdma_cm: the changes of
 * state by ib_modify_qp(). Documentation/oob.rst specifies them.
 */
#include "oob.h"

#include <linux/capability.h>
#include <linux/jiffies.h>
#include <linux/nsproxy.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "cm/cm.h"
#include "dev.h"
#include "qp/ep.h"
#include "qp/qp.h"
#include "stream/stream.h"

/* Log why a connection is refused, and the remedy. */
#define refuse(qp, fmt, ...) \
	ibdev_notice_ratelimited(&(qp)->dev->ibdev, \
				 "no connection by number: " fmt "\n", \
				 ##__VA_ARGS__)

/*
 * RTR
 */

static int oob_check_address(const struct xiw_qp *qp,
			     const struct rdma_ah_attr *ah)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(ah);

	if (!(rdma_ah_get_ah_flags(ah) & IB_AH_GRH)) {
		refuse(qp, "no GID was given; many programs have an option for a GID index, -g or -x");
		return -EINVAL;
	}
	if (!grh->sgid_attr ||
	    !xiw_dev_has_gid(qp->dev, &grh->sgid_attr->gid)) {
		refuse(qp, "the GID of index %u is not an IP address of the interface; choose another one, see ibv_devinfo -v",
		       grh->sgid_index);
		return -EINVAL;
	}
	return 0;
}

/* Would the peer be a program of this host, and none with a device? */
static bool oob_is_loopback(const struct xiw_qp *qp, const u8 *gid)
{
	struct in6_addr addr;

	memcpy(&addr, gid, sizeof(addr));
	return !(qp->dev->netdev->flags & IFF_LOOPBACK) &&
	       (ipv6_addr_loopback(&addr) ||
		ipv6_addr_v4mapped_loopback(&addr));
}

static int oob_check_path(const struct xiw_qp *qp,
			  const struct xiw_oob_path *path)
{
	int ret = xiw_oob_path_check(path);

	if (!ret && oob_is_loopback(qp, path->peer.gid))
		ret = -EADDRNOTAVAIL;
	if (ret == -EADDRNOTAVAIL)
		refuse(qp, "GID %pI6c is not the address of a host, or a loopback address, which needs a device on lo",
		       path->peer.gid);
	else if (ret == -EAFNOSUPPORT)
		refuse(qp, "GIDs %pI6c and %pI6c are not of one address family",
		       path->own.gid, path->peer.gid);
	else if (ret)
		refuse(qp, "queue pair number %u or PSN is out of range",
		       path->peer.qpn);
	return ret;
}

static int oob_check_policy(const struct xiw_qp *qp, u16 port)
{
	if (!qp->kernel &&
	    !xiw_conn_may_use(qp->dev, current->nsproxy->net_ns)) {
		refuse(qp, "its device is not usable in the network namespace of the process");
		return -ENETUNREACH;
	}
	if (port)
		return 0;
	refuse(qp,
	       "connecting by number is switched off; write a port number to mpa/oob_port, or use rdma_cm");
	return -EACCES;
}

/*
 * Makes the check of bind(), as bind() is not called if the listener exists
 * already.
 */
static int oob_check_privilege(const struct xiw_qp *qp, u16 port)
{
	struct net *net = current->nsproxy->net_ns;

	if (qp->kernel || !inet_port_requires_bind_service(net, port) ||
	    ns_capable(net->user_ns, CAP_NET_BIND_SERVICE))
		return 0;
	refuse(qp, "TCP port %u needs CAP_NET_BIND_SERVICE", port);
	return -EACCES;
}

static int oob_get_path(const struct xiw_qp *qp, const struct ib_qp_attr *attr,
			struct xiw_oob_path *path)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&attr->ah_attr);

	memset(path, 0, sizeof(*path));
	memcpy(path->own.gid, grh->sgid_attr->gid.raw, XIW_OOB_GID_LEN);
	memcpy(path->peer.gid, grh->dgid.raw, XIW_OOB_GID_LEN);
	path->own.qpn = qp->qpn;
	path->peer.qpn = attr->dest_qp_num;
	path->token.rq_psn = attr->rq_psn;
	path->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	return oob_check_path(qp, path);
}

static void oob_name_peer(struct xiw_qp *qp, const struct ib_qp_attr *attr,
			  const struct xiw_oob_path *path, u16 port)
{
	struct xiw_oob *oob = &qp->oob;
	int i;

	xiw_qp_oob_step(qp, XIW_OOBE_NAME);
	oob->path = *path;
	oob->port = port;
	oob->role = xiw_oob_role(&path->own, &path->peer);
	oob->grh = *rdma_ah_read_grh(&attr->ah_attr);
	/* The core's reference ends with the call. */
	oob->grh.sgid_attr = NULL;
	oob->min_rnr_timer = attr->min_rnr_timer;
	for (i = 0; i < ARRAY_SIZE(oob->guesses); i++) {
		oob->guesses[i] = XIW_OOB_GUESSES;
		oob->guessed_at[i] = jiffies;
	}
}

/* Reserve the queue pair for this connection, unless rdma_cm connects it. */
static int oob_begin_use(struct xiw_qp *qp, const struct ib_qp_attr *attr,
			 const struct xiw_oob_path *path, u16 port)
{
	struct xiw_stream *s = &qp->stream;
	int ret = -EINVAL;

	spin_lock_bh(&s->lock);
	if (qp->ep) {
		ret = -EISCONN;
	} else if (s->state == XIW_QPS_IDLE && qp->ib_state == IB_QPS_INIT &&
		   !qp->destroying) {
		oob_name_peer(qp, attr, path, port);
		WRITE_ONCE(qp->ib_state, IB_QPS_RTR);
		/* A mask of 0 grants all access, so make it nonzero. */
		WRITE_ONCE(s->access, s->access | XIW_STREAM_LIMITED);
		ret = 0;
	}
	spin_unlock_bh(&s->lock);
	if (ret == -EISCONN)
		refuse(qp, "rdma_cm connects it");
	return ret;
}

static int oob_start_listen(struct xiw_qp *qp, const u8 *gid, u16 port)
{
	int ret = oob_check_privilege(qp, port);

	if (ret)
		return ret;
	ret = xiw_oob_port_get(qp, gid, port);
	if (ret == -EADDRINUSE)
		refuse(qp, "another program, or another device with this address, has TCP port %u of %pI6c",
		       port, gid);
	else if (ret)
		refuse(qp, "TCP port %u of %pI6c cannot be listened on: %d",
		       port, gid, ret);
	return ret;
}

/*
 * Starts to listen or to connect. A Responder listens before it changes to RTR:
 * a Request that arrives in between waits.
 */
static int oob_begin(struct xiw_qp *qp, const struct ib_qp_attr *attr,
		     const struct xiw_oob_path *path, u16 port)
{
	bool listens = xiw_oob_role(&path->own, &path->peer) ==
		       XIW_OOB_RESPONDER;
	int ret = 0;

	if (listens)
		ret = oob_start_listen(qp, path->own.gid, port);
	if (!ret)
		ret = oob_begin_use(qp, attr, path, port);
	if (!ret && !listens)
		ret = xiw_oob_active_start(qp);
	return ret;
}

/* Rolls back the steps that oob_begin() has made; no endpoint exists. */
static void oob_undo_begin(struct xiw_qp *qp)
{
	if (qp->oob.listener)
		xiw_oob_port_put(qp);
	if (!xiw_qp_is_oob(qp))
		return;
	xiw_oob_forget(qp);
	spin_lock_bh(&qp->stream.lock);
	WRITE_ONCE(qp->ib_state, IB_QPS_INIT);
	spin_unlock_bh(&qp->stream.lock);
}

/*
 * Validate the Requests that wait for a Responder which has changed to RTR or
 * RTS. One that was sent to another address does not match, and waits for its
 * timeout, so that peers cannot probe which numbers exist.
 */
static void oob_wake(struct xiw_qp *qp)
{
	if (qp->oob.listener)
		xiw_listen_wake(qp->dev, htons(qp->oob.port), qp->qpn);
}

/*
 * Sets the peer of a queue pair and begins to connect. modify_lock is held. For
 * errors see Documentation/oob.rst section 7.1.
 */
int xiw_oob_to_rtr(struct xiw_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	/* Read it once: an administrator may change it at any time. */
	u16 port = READ_ONCE(qp->dev->oob_port);
	struct xiw_oob_path path;
	int ret;

	lockdep_assert_held(&qp->modify_lock);

	if (xiw_qp_is_oob(qp) ||
	    !ib_modify_qp_is_ok(IB_QPS_INIT, IB_QPS_RTR, IB_QPT_RC,
				mask | IB_QP_STATE))
		return -EINVAL;
	ret = oob_check_policy(qp, port);
	if (!ret)
		ret = oob_check_address(qp, &attr->ah_attr);
	if (!ret)
		ret = oob_get_path(qp, attr, &path);
	if (ret)
		return ret;
	ret = oob_begin(qp, attr, &path, port);
	if (!ret)
		oob_wake(qp);
	else
		oob_undo_begin(qp);
	return ret;
}

/*
 * RTS
 */

static int oob_take_attributes(struct xiw_qp *qp, const struct ib_qp_attr *attr)
{
	struct xiw_oob *oob = &qp->oob;
	struct xiw_oob_path path;
	int ret = -EINVAL;

	spin_lock_bh(&qp->stream.lock);
	path = oob->path;
	path.token.rts = true;
	path.token.sq_psn = attr->sq_psn;
	path.token.rnr_retry = attr->rnr_retry;
	path.max_rd_atomic = attr->max_rd_atomic;
	if (!xiw_oobstate_is_dead(oob->state) && !xiw_oob_path_check(&path)) {
		oob->path = path;
		WRITE_ONCE(oob->timeout, attr->timeout);
		WRITE_ONCE(oob->retry_cnt, attr->retry_cnt);
		WRITE_ONCE(oob->answer_ms,
			   xiw_oob_retry_ms(attr->timeout, attr->retry_cnt));
		WRITE_ONCE(oob->waits, xiw_oobstate_is_tentative(oob->state));
		WRITE_ONCE(qp->ib_state, IB_QPS_RTS);
		ret = 0;
	}
	spin_unlock_bh(&qp->stream.lock);
	return ret;
}

static void oob_back_to_rtr(struct xiw_qp *qp)
{
	struct xiw_oob *oob = &qp->oob;

	spin_lock_bh(&qp->stream.lock);
	oob->path.token.rts = false;
	WRITE_ONCE(oob->waits, false);
	if (!xiw_oobstate_is_dead(oob->state))
		WRITE_ONCE(qp->ib_state, IB_QPS_RTR);
	spin_unlock_bh(&qp->stream.lock);
}

/* Do the PSNs match those of the stream's peer? The endpoint is locked. */
static void oob_check_stream(struct xiw_qp *qp, struct xiw_ep *ep)
{
	struct xiw_oob *oob = &qp->oob;
	struct xiw_stream *s = &qp->stream;
	bool attached;
	bool ok;

	spin_lock_bh(&s->lock);
	attached = s->llp;
	ok = xiw_oob_proven(&oob->path, &oob->nonces, &oob->peer);
	if (attached && !ok)
		xiw_qp_oob_step(qp, XIW_OOBE_MISMATCH);
	spin_unlock_bh(&s->lock);
	if (!attached)
		return;
	if (ok)
		xiw_stream_limit(s, xiw_oob_ord(&oob->path,
						s->conn.nego.ord));
	else
		xiw_ep_raise(ep, XIW_EPE_ABORT);
}

/*
 * Makes the check of oob_check_stream() for a stream that has ended: on a
 * mismatch, roll it back and connect again. Also connects if an earlier attempt
 * failed for lack of memory.
 */
static int oob_check_ended(struct xiw_qp *qp)
{
	struct xiw_oob *oob = &qp->oob;
	struct xiw_stream *s = &qp->stream;
	bool begin;
	bool undo;

	spin_lock_bh(&s->lock);
	undo = !qp->ep && oob->state == XIW_OOBS_PEER_GONE &&
	       !xiw_oob_proven(&oob->path, &oob->nonces, &oob->peer);
	if (undo)
		xiw_qp_oob_step(qp, XIW_OOBE_MISMATCH);
	spin_unlock_bh(&s->lock);
	if (undo)
		xiw_oob_roll_back(qp, NULL);
	spin_lock_bh(&s->lock);
	begin = !qp->ep && oob->state == XIW_OOBS_PATH_SET &&
		oob->role != XIW_OOB_RESPONDER;
	spin_unlock_bh(&s->lock);
	return begin ? xiw_oob_active_start(qp) : 0;
}

static int oob_check_connection(struct xiw_qp *qp)
{
	struct xiw_ep *ep = xiw_qp_get_ep(qp);

	if (ep) {
		xiw_ep_lock(ep);
		oob_check_stream(qp, ep);
		xiw_oob_active_rts(ep);
		xiw_ep_unlock(ep);
		xiw_ep_put(ep);
	}
	return oob_check_ended(qp);
}

/*
 * Sets the send attributes of a queue pair that was named a peer. modify_lock
 * is held. -EINVAL if the attributes or the state are not right for it.
 *
 * The verbs forbid to send in RTR. Some programs do so nevertheless on iWARP
 * devices, which have no RTR state; so their requests are sent once the stream
 * is established.
 */
int xiw_oob_to_rts(struct xiw_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state state = READ_ONCE(qp->ib_state);
	int ret;

	lockdep_assert_held(&qp->modify_lock);

	/* xiw_modify_qp() sets those attributes that may change in RTS. */
	if (state == IB_QPS_RTS)
		return 0;
	if (state != IB_QPS_RTR ||
	    !ib_modify_qp_is_ok(IB_QPS_RTR, IB_QPS_RTS, IB_QPT_RC,
				mask | IB_QP_STATE))
		return -EINVAL;
	ret = oob_take_attributes(qp, attr);
	if (ret)
		return ret;
	ret = oob_check_connection(qp);
	if (ret) {
		oob_back_to_rtr(qp);
		return ret;
	}
	/*
	 * Wake a Request whose Initiator stays in RTR: its proof can be checked
	 * now.
	 */
	oob_wake(qp);
	xiw_oob_await_posted(qp);
	return 0;
}

/*
 * Reports the attributes that the ULP has set, but for the PSNs. The stream's
 * lock is held; any context.
 *
 * Programs get all of them, as from adapters, if they ask for any. The core
 * queries with an empty mask to answer unprivileged netlink requests, which
 * must not reveal the peer's number.
 */
void xiw_oob_query(const struct xiw_qp *qp, struct ib_qp_attr *attr, int mask)
{
	const struct xiw_oob *oob = &qp->oob;
	struct rdma_ah_attr *ah = &attr->ah_attr;

	lockdep_assert_held(&qp->stream.lock);

	if (!xiw_qp_is_oob(qp))
		return;
	ah->type = rdma_ah_find_type(qp->ibqp.device, 1);
	rdma_ah_set_port_num(ah, 1);
	rdma_ah_set_ah_flags(ah, IB_AH_GRH);
	ah->grh = oob->grh;
	if (mask)
		attr->dest_qp_num = oob->path.peer.qpn;
	attr->min_rnr_timer = oob->min_rnr_timer;
	attr->timeout = oob->timeout;
	attr->retry_cnt = oob->retry_cnt;
	attr->rnr_retry = oob->path.token.rnr_retry;
	/* Once established, the caller reports the negotiated values. */
	if (xiw_oobstate_was_established(oob->state))
		return;
	attr->max_rd_atomic = oob->path.max_rd_atomic;
	attr->max_dest_rd_atomic = oob->path.max_dest_rd_atomic;
}

/* Reset */

/*
 * Resets the out-of-band state of a queue pair, used or not. It has no endpoint
 * and cannot get one. modify_lock is held, or the queue pair is being
 * destroyed.
 */
void xiw_oob_forget(struct xiw_qp *qp)
{
	struct xiw_oob *oob = &qp->oob;

	if (!xiw_qp_is_oob(qp))
		return;
	xiw_oob_wait_end(qp);
	if (oob->listener)
		xiw_oob_port_put(qp);
	spin_lock_bh(&qp->stream.lock);
	memset(oob, 0, offsetof(struct xiw_oob, expire));
	spin_unlock_bh(&qp->stream.lock);
}
