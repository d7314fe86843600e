// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Endpoints of out-of-band connections, the second user of the connection
 * manager. The Initiator retries, with a pause in between, until it has a
 * stream or the queue pair ends. At the Responder a Request that arrives before
 * its queue pair was named this peer waits among the half-open connections of
 * the listener.
 *
 * These connections end as those of rdma_cm do, unless they were never
 * established: because the first FPDU did not arrive, or the PSNs differ. Then
 * the queue pair is rolled back: the Initiator connects again, and the
 * Responder waits for another Request.
 *
 * All functions run with the endpoint locked.
 */
#include "oob.h"

#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>

#include "cm/cm.h"
#include "dev.h"
#include "llp/sock.h"
#include "proto/mpa.h"
#include "proto/oob.h"
#include "qp/ep.h"
#include "qp/qp.h"
#include "stream/stream.h"

/*
 * Source ports of Initiators that have run into the Responder's limits: below
 * those that the kernel's NFS client uses by default (min_resvport).
 */
#define PRIVILEGED_MIN	512
#define PRIVILEGED_COUNT (665 - PRIVILEGED_MIN)

/* How long such an Initiator waits for the Reply, in milliseconds */
#define PRIVILEGED_REPLY_MS	2000

/* Requests of one host that may wait for one queue pair */
#define WAITING_MAX	8

/* MPA revision 2 with the peer-to-peer model. */
static void oob_ep_set_policy(struct xiw_ep *ep)
{
	ep->policy.rev = 2;
	ep->policy.p2p = true;
	ep->policy.fallback = false;
}

/* Set the features of the Reply for the stream that will be started. */
static void oob_ep_set_features(struct xiw_ep *ep, u16 features)
{
	ep->conn.send_imm = features & XIW_OOB_FEAT_IMM;
	ep->conn.mixes = true;
	ep->conn.probe = false;
	ep->conn.fpdu_segments = ep->policy.fpdu_segments;
	if (!ep->conn.fpdu_segments && !(features & XIW_OOB_FEAT_LONG))
		ep->conn.fpdu_segments = 1;
}

/*
 * Initiator
 */

static struct xiw_oob *oob_of(const struct xiw_ep *ep)
{
	return &ep->qp->oob;
}

/* A copy of the path as the ULP has set it up to now. */
static void oob_active_get_path(const struct xiw_ep *ep,
				struct xiw_oob_path *path)
{
	spin_lock_bh(&ep->qp->stream.lock);
	*path = oob_of(ep)->path;
	spin_unlock_bh(&ep->qp->stream.lock);
}

/*
 * Binds to a privileged port. Other programs on this host may use up the
 * Responder's limits on purpose. Privileged ports have limits of their own, but
 * there are too few of them for all connections.
 */
static int oob_active_bind_privileged(struct xiw_ep *ep)
{
	u16 port = PRIVILEGED_MIN + get_random_u32() % PRIVILEGED_COUNT;
	struct sockaddr_storage own;

	/* Once per refusal: the ports may be too few for all retries. */
	ep->crowded = false;
	if (!xiw_oob_gate_take_privilege(ep))
		return -EBUSY;
	xiw_oob_to_addr(ep->dev, oob_of(ep)->path.own.gid, port,
			&own);
	return xiw_sock_bind_as_kernel(ep->xs, &own,
				       xiw_conn_bound_if(ep, &own), false);
}

/*
 * A QP that is connected to itself connects to its own source port, which is
 * drawn at random, and set in @own. Connections to other peers may use it as
 * well; before Linux 6.3 they may not.
 */
static int oob_active_bind_self(struct xiw_ep *ep, struct sockaddr_storage *own)
{
	int bound_if = xiw_conn_bound_if(ep, own);
	int ret;

	xiw_sock_set_port(own, htons(xiw_sock_draw_port(ep->xs)));
	ret = xiw_sock_bind_shared(ep->xs, own, bound_if);
	return ret != -ENOPROTOOPT ? ret : xiw_sock_bind(ep->xs, own, bound_if,
							 false);
}

/*
 * Binds to the address only. TCP chooses a port when the socket connects, one
 * that other sockets may use to connect to other peers.
 */
static int oob_active_bind(struct xiw_ep *ep, struct sockaddr_storage *own)
{
	int ret;

	if (oob_of(ep)->role == XIW_OOB_SELF)
		return oob_active_bind_self(ep, own);
	ret = xiw_sock_choose_port_late(ep->xs);
	return ret ? ret : xiw_sock_bind(ep->xs, own,
					 xiw_conn_bound_if(ep, own), false);
}

static int oob_active_connect_from(struct xiw_ep *ep,
				   struct sockaddr_storage *own)
{
	const struct xiw_oob *oob = oob_of(ep);
	struct sockaddr_storage peer;
	int ret = 0;

	xiw_oob_to_addr(ep->dev, oob->path.peer.gid, oob->port, &peer);
	if (!ep->crowded || oob_active_bind_privileged(ep))
		ret = oob_active_bind(ep, own);
	if (oob->role == XIW_OOB_SELF)
		xiw_sock_set_port(&peer, xiw_sock_port_of(own));
	return ret ? ret : xiw_sock_connect(ep->xs, &peer);
}

static int oob_active_open_socket(struct xiw_ep *ep)
{
	const struct xiw_oob *oob = oob_of(ep);
	struct net *net = xiw_conn_get_net(ep->dev);
	struct sockaddr_storage own;
	int ret;

	if (!net)
		return -ENETDOWN;
	xiw_oob_to_addr(ep->dev, oob->path.own.gid, 0, &own);
	ret = xiw_active_create_sock(ep, net, own.ss_family,
				     oob->grh.traffic_class ?: -1);
	if (!ret)
		ret = oob_active_connect_from(ep, &own);
	if (ret)
		xiw_conn_drop_sock(ep);
	/* The socket has a reference of its own once it connects. */
	put_net(net);
	return ret;
}

/*
 * Drop the connection, if there is one, and retry after a pause: a longer one
 * if the cause is @local, as an error of this host lasts longer than the start
 * of a program.
 */
static enum xiw_ep_state oob_active_pause(struct xiw_ep *ep, bool local)
{
	xiw_conn_drop_sock(ep);
	xiw_oob_gate_leave(ep);
	ep->wq = ep->dev->retry_wq;
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_FAILED);
	xiw_ep_set_timer(ep, xiw_oob_pause_ms(++ep->tries, get_random_u32(),
					      local));
	return XIW_EPS_PAUSE;
}

static enum xiw_ep_state oob_active_retry(struct xiw_ep *ep)
{
	return oob_active_pause(ep, false);
}

/* 0 if a connection is under way, or the negative errno of a local error. */
static int oob_active_connect(struct xiw_ep *ep)
{
	int ret;

	if (!ep->startup)
		ep->startup = kzalloc(sizeof(*ep->startup), GFP_KERNEL_ACCOUNT);
	if (!ep->startup)
		return -ENOMEM;
	ret = oob_active_open_socket(ep);
	if (ret)
		xiw_ep_dbg(ep, "no connection: %d\n", ret);
	return ret;
}

/* The control group of the queue pair pays for what a work item allocates. */
static int oob_active_connect_charged(struct xiw_ep *ep)
{
	struct mem_cgroup *old = set_active_memcg(ep->qp->stream.memcg);
	int ret = oob_active_connect(ep);

	set_active_memcg(old);
	return ret;
}

/* Connect, if the limits of the user permit it now. */
static enum xiw_ep_state oob_active_begin(struct xiw_ep *ep, bool first)
{
	u64 start = ktime_get_ns();
	u32 wait;
	int ret;

	/* Out-of-band connections are disabled: posted requests fail now. */
	if (!READ_ONCE(ep->dev->oob_port)) {
		xiw_oob_give_up(ep->qp);
		return XIW_EPS_PAUSE;
	}
	wait = xiw_oob_gate_enter(ep, first);
	if (wait) {
		xiw_ep_set_timer(ep, wait);
		return XIW_EPS_PAUSE;
	}
	ret = oob_active_connect_charged(ep);
	if (!first)
		xiw_oob_gate_charge(ep, start);
	if (ret)
		return oob_active_pause(ep, true);
	xiw_ep_set_timer(ep, ep->gate.privileged ? PRIVILEGED_REPLY_MS
						 : ep->policy.reply_ms);
	return xiw_active_connecting(ep);
}

/* Connect again, in a work item. */
static enum xiw_ep_state oob_active_try(struct xiw_ep *ep)
{
	return oob_active_begin(ep, false);
}

/*
 * Begins to connect a QP to its peer. modify_lock is held. 0, -ENOMEM, or
 * -ENODEV if the device is being removed.
 */
int xiw_oob_active_start(struct xiw_qp *qp)
{
	struct xiw_ep *ep = xiw_ep_create(qp->dev, qp->dev->oob_user, false);
	int ret;

	if (!ep)
		return -ENOMEM;
	oob_ep_set_policy(ep);
	ep->wq = qp->dev->retry_wq;
	ret = xiw_oob_gate_init(ep);
	if (!ret)
		ret = xiw_ep_publish(ep);
	if (!ret)
		ret = xiw_qp_attach(qp, ep);
	if (ret) {
		xiw_ep_discard(ep);
		return ret;
	}
	xiw_ep_arm(ep, oob_active_begin(ep, true));
	return 0;
}

static int oob_active_build_request(struct xiw_ep *ep)
{
	struct xiw_ep_startup *st = ep->startup;
	struct xiw_oob_request req;
	struct xiw_oob_path path;

	oob_active_get_path(ep, &path);
	xiw_oob_request_init(&path, &st->nonces, st->proves, XIW_OOB_FEAT_ALL,
			     &req);
	st->proves_rts = st->proves && req.claim.rts;
	xiw_nego_request(&ep->policy,
			 xiw_oob_ird(&path, ep->policy.max_ird),
			 xiw_oob_ord(&path, ep->policy.max_ord), &st->req);
	st->req.pd_len = xiw_oob_request_encode(&req, st->pdata);
	return xiw_conn_put_frame(ep, &st->req, st->pdata);
}

/* The first of two Requests, without a proof. */
static enum xiw_ep_state oob_active_first_request(struct xiw_ep *ep)
{
	ep->startup->nonces.init = get_random_u64();
	ep->startup->proves = false;
	ep->startup->proves_rts = false;
	return xiw_active_send_request(ep);
}

/*
 * Send the proof that the Responder asks for, once. The proof allows an offline
 * guess of the secret, so the other end should be the peer's kernel.
 */
static enum xiw_ep_state
oob_active_answer_challenge(struct xiw_ep *ep,
			    const struct xiw_oob_reply *reply)
{
	struct xiw_ep_startup *st = ep->startup;

	if (st->proves || !xiw_oob_answers(&oob_of(ep)->path, reply))
		return oob_active_retry(ep);
	st->proves = true;
	st->nonces.resp = reply->nonce;
	return xiw_active_send_request(ep);
}

/*
 * Repeats the Request if its proof was made in RTR. A Responder that stays in
 * RTR cannot check the proof of an Initiator in RTR, as the two have no PSN in
 * common. So once in RTS, the Initiator retries.
 */
void xiw_oob_active_rts(struct xiw_ep *ep)
{
	if (ep->state == XIW_EPS_REPLY && ep->startup->proves &&
	    !ep->startup->proves_rts)
		xiw_ep_set_timer(ep, 0);
}

/* Start the stream, after the path was checked against the peer's token. */
static enum xiw_ep_state oob_active_establish(struct xiw_ep *ep,
					      const struct xiw_oob_path *path)
{
	ep->conn.initiator = true;
	ep->conn.nego.ord = xiw_oob_ord(path, ep->conn.nego.ord);
	if (xiw_stream_start(&ep->qp->stream, &ep->xs->llp, &ep->conn))
		return oob_active_retry(ep);
	ep->tries = 0;
	ep->wq = ep->dev->cm_wq;
	xiw_oob_gate_leave(ep);
	xiw_qp_established(ep->qp);
	return xiw_active_established(ep);
}

/*
 * A queue pair connected to itself exchanges neither Request nor Reply: its own
 * attributes are the negotiated values.
 */
static enum xiw_ep_state oob_active_establish_self(struct xiw_ep *ep)
{
	struct xiw_mpa_nego *nego = &ep->conn.nego;
	struct xiw_oob_path path;

	oob_active_get_path(ep, &path);
	*nego = (struct xiw_mpa_nego) {
		.rev = ep->policy.rev,
		.crc = ep->policy.crc,
		.tx_markers = ep->policy.markers,
		.rx_markers = ep->policy.markers,
		.ird = xiw_oob_ird(&path, ep->policy.max_ird),
		.ord = xiw_oob_ird(&path, ep->policy.max_ord),
	};
	oob_ep_set_features(ep, XIW_OOB_FEAT_ALL);
	spin_lock_bh(&ep->qp->stream.lock);
	memset(&oob_of(ep)->peer, 0,
	       sizeof(oob_of(ep)->peer));
	spin_unlock_bh(&ep->qp->stream.lock);
	return oob_active_establish(ep, &path);
}

static enum xiw_ep_state oob_active_connected(struct xiw_ep *ep)
{
	return oob_of(ep)->role == XIW_OOB_SELF
		       ? oob_active_establish_self(ep)
		       : oob_active_first_request(ep);
}

/*
 * The Reply accepts. Check that it matches the Request, and the proof of the
 * peer.
 */
static enum xiw_ep_state oob_active_accepted(struct xiw_ep *ep,
					     const struct xiw_oob_reply *reply)
{
	const struct xiw_ep_startup *st = ep->startup;
	struct xiw_oob *oob = oob_of(ep);
	struct xiw_oob_path path;
	bool ok;

	spin_lock_bh(&ep->qp->stream.lock);
	path = oob->path;
	ok = !xiw_oobstate_is_dead(oob->state) && st->proves &&
	     xiw_oob_answers(&path, reply) &&
	     xiw_oob_proven(&path, &st->nonces, &reply->claim);
	if (ok) {
		oob->peer = reply->claim;
		oob->nonces = st->nonces;
	}
	spin_unlock_bh(&ep->qp->stream.lock);
	oob_ep_set_features(ep, reply->features);
	return ok ? oob_active_establish(ep, &path) : oob_active_retry(ep);
}

static enum xiw_ep_state oob_active_refused(struct xiw_ep *ep,
					    const struct xiw_oob_reply *reply)
{
	u8 reason = reply->reason;

	if (reason == XIW_OOB_PROVE)
		return oob_active_answer_challenge(ep, reply);
	xiw_ep_dbg(ep, "the peer says no: reason %u\n", reason);
	if (reason == XIW_OOB_BUSY)
		ep->crowded = true;
	if (!xiw_oob_final(reason))
		return oob_active_retry(ep);
	if (reason == XIW_OOB_BAD_VERSION)
		ibdev_notice_ratelimited(&ep->dev->ibdev,
					 "cannot connect by QP number: %pI6c does not speak version %u; install the same version of xiw on both hosts\n",
					 oob_of(ep)->path.peer.gid,
					 XIW_OOB_VERSION);
	xiw_oob_give_up(ep->qp);
	xiw_conn_drop_sock(ep);
	xiw_oob_gate_leave(ep);
	xiw_ep_clear_timer(ep);
	return XIW_EPS_PAUSE;
}

static enum xiw_ep_state oob_active_reply(struct xiw_ep *ep,
					  enum xiw_nego_result result,
					  const struct xiw_mpa_frame *frame)
{
	struct xiw_oob_reply reply;

	if ((result != XIW_NEGO_OK && result != XIW_NEGO_REJECTED) ||
	    xiw_oob_reply_decode(ep->startup->frame + frame->pd_off,
				 frame->pd_len, result == XIW_NEGO_REJECTED,
				 &reply))
		return oob_active_retry(ep);
	return result == XIW_NEGO_OK ? oob_active_accepted(ep, &reply)
				      : oob_active_refused(ep, &reply);
}

static enum xiw_ep_state oob_active_closed(struct xiw_ep *ep, int status)
{
	/* The Responder may have evicted this connection for another one. */
	if (ep->startup->proves && status != -EPROTO)
		ep->crowded = true;
	return oob_active_retry(ep);
}

static enum xiw_ep_state oob_active_failed(struct xiw_ep *ep, int status)
{
	return oob_active_retry(ep);
}

/*
 * Responder
 */

static enum xiw_ep_state oob_passive_refuse(struct xiw_ep *ep,
					    enum xiw_oob_reason reason,
					    const struct xiw_oob_request *req)
{
	struct xiw_oob_reply reply;

	xiw_ep_dbg(ep, "Request refused: reason %u\n", reason);
	xiw_oob_refuse(reason, req, &reply);
	return xiw_passive_refuse(ep, ep->startup->pdata,
				  xiw_oob_reply_encode(&reply,
						       ep->startup->pdata));
}

/* Refuse a Request that is not well formed. */
static enum xiw_ep_state
oob_passive_refuse_malformed(struct xiw_ep *ep, enum xiw_oob_reason reason)
{
	if (reason == XIW_OOB_BAD_VERSION)
		ibdev_notice_ratelimited(&ep->dev->ibdev,
					 "connection by number from %pI6c refused: its version is not %u; both hosts need an xiw of the same one\n",
					 &ep->by_peer.peer, XIW_OOB_VERSION);
	return oob_passive_refuse(ep, reason, NULL);
}

/* Refuse a Request whose GIDs are not the addresses of its TCP connection. */
static enum xiw_ep_state
oob_passive_refuse_translated(struct xiw_ep *ep,
			      const struct xiw_oob_request *req)
{
	ibdev_notice_ratelimited(&ep->dev->ibdev,
				 "connection by number from %pI6c refused: it is for GIDs %pI6c and %pI6c, which are not its addresses; where addresses are translated, use rdma_cm\n",
				 &ep->by_peer.peer, req->init.gid,
				 req->resp.gid);
	return oob_passive_refuse(ep, XIW_OOB_NO_MATCH, req);
}

/* Decode a complete Request; returns XIW_OOB_OK or a reason to refuse it. */
static enum xiw_oob_reason oob_passive_decode(struct xiw_ep *ep,
					      struct xiw_oob_request *req)
{
	const struct xiw_mpa_frame *frame = &ep->startup->req;

	if (!frame->enhanced || !frame->enh.p2p)
		return XIW_OOB_MALFORMED;
	return xiw_oob_request_decode(ep->startup->frame + frame->pd_off,
				      frame->pd_len, req);
}

/* Do the addresses of the TCP connection match those in the Request? */
static bool oob_passive_is_from(struct xiw_ep *ep,
				const struct xiw_oob_request *req)
{
	struct xiw_ep_names *names = &ep->startup->names;
	union ib_gid local = {};

	rdma_ip2gid((struct sockaddr *)&names->local, &local);
	return xiw_oob_request_from(req, local.raw, ep->by_peer.peer.s6_addr);
}

/*
 * The Reply is built from the path as it was when the Request was admitted. The
 * queue pair is ready to receive before the Reply is sent.
 */
static int oob_passive_start(struct xiw_ep *ep,
			     const struct xiw_oob_request *req,
			     const struct xiw_oob_path *path)
{
	struct xiw_ep_startup *st = ep->startup;
	struct xiw_oob_reply reply;
	struct xiw_mpa_frame frame;
	int ret;

	xiw_nego_accept(&ep->policy, &st->req,
			xiw_oob_ird(path, ep->policy.max_ird),
			xiw_oob_ord(path, ep->policy.max_ord), &frame,
			&ep->conn.nego);
	xiw_oob_accept(path, req, &st->nonces, XIW_OOB_FEAT_ALL, &reply);
	oob_ep_set_features(ep, reply.features);
	frame.pd_len = xiw_oob_reply_encode(&reply, st->pdata);
	ret = xiw_conn_put_frame(ep, &frame, st->pdata);
	if (ret)
		return ret;
	ep->conn.initiator = false;
	ep->conn.nego.ord = xiw_oob_ord(path, ep->conn.nego.ord);
	return xiw_passive_run(ep);
}

static enum xiw_ep_state oob_passive_admit(struct xiw_ep *ep, struct xiw_qp *qp,
					   const struct xiw_oob_request *req,
					   const struct xiw_oob_path *path)
{
	int ret = -ECONNRESET;

	ep->qp = qp;
	if (qp->oob.grh.traffic_class)
		xiw_sock_set_tos(ep->xs, qp->oob.grh.traffic_class);
	if (xiw_listen_leave(ep))
		ret = oob_passive_start(ep, req, path);
	if (!ret)
		return xiw_passive_replied(ep);
	xiw_oob_roll_back(qp, ep);
	return ret == -ECONNRESET
		       ? XIW_EPS_DEAD
		       : oob_passive_refuse(ep, XIW_OOB_FAILED, req);
}

/*
 * Ask the Initiator for its proof. Before that, nothing derived from a PSN is
 * sent, and no queue pair is looked up.
 */
static enum xiw_ep_state
oob_passive_challenge(struct xiw_ep *ep, const struct xiw_oob_request *req)
{
	struct xiw_ep_startup *st = ep->startup;
	struct xiw_oob_reply reply;

	st->nonces.init = req->nonce;
	st->nonces.resp = get_random_u64();
	xiw_oob_challenge(req, st->nonces.resp, &reply);
	if (!xiw_passive_send_reject(ep, st->pdata,
				     xiw_oob_reply_encode(&reply, st->pdata)))
		return XIW_EPS_DEAD;
	st->proves = true;
	xiw_listen_progress(ep);
	return XIW_EPS_REQUEST;
}

static enum xiw_ep_state oob_passive_wait(struct xiw_ep *ep,
					  const struct xiw_oob_request *req)
{
	if (ep->ready)
		return XIW_EPS_READY;
	if (!xiw_listen_wait(ep, WAITING_MAX))
		return oob_passive_refuse(ep, XIW_OOB_BUSY, req);
	xiw_ep_set_timer(ep, ep->policy.reply_ms);
	/* The queue pair may have changed to RTR concurrently. */
	xiw_ep_raise(ep, XIW_EPE_SOCK);
	return XIW_EPS_READY;
}

static enum xiw_ep_state oob_passive_match(struct xiw_ep *ep,
					   const struct xiw_oob_request *req)
{
	struct xiw_qp *qp = xiw_qp_get_by_num(ep->dev, ep->qpn);
	struct xiw_oob_path path;
	int ret;

	/* Do not reveal to the peer whether the queue pair exists. */
	if (!qp)
		return oob_passive_wait(ep, req);
	ret = xiw_oob_admit(qp, ep, req, &path);
	if (!ret)
		return oob_passive_admit(ep, qp, req, &path);
	xiw_qp_put(qp);
	return ret == -EBUSY ? oob_passive_refuse(ep, XIW_OOB_BUSY, req)
			     : oob_passive_wait(ep, req);
}

/* Validate a complete Request, and answer it or make it wait. */
static enum xiw_ep_state oob_passive_request(struct xiw_ep *ep)
{
	struct xiw_oob_request req;
	enum xiw_oob_reason reason;

	oob_ep_set_policy(ep);
	reason = oob_passive_decode(ep, &req);
	if (reason != XIW_OOB_OK)
		return oob_passive_refuse_malformed(ep, reason);
	if (xiw_oob_role(&req.init, &req.resp) != XIW_OOB_INITIATOR)
		return oob_passive_refuse(ep, XIW_OOB_BAD_ROLE, &req);
	if (!oob_passive_is_from(ep, &req))
		return oob_passive_refuse_translated(ep, &req);
	if (req.proves != ep->startup->proves ||
	    (req.proves && req.nonce != ep->startup->nonces.init))
		return oob_passive_refuse(ep, XIW_OOB_MALFORMED, NULL);
	if (!req.proves)
		return oob_passive_challenge(ep, &req);
	/* Constant while the Request waits: the listener compares them. */
	if (!ep->ready) {
		ep->qpn = req.resp.qpn;
		ep->peer_qpn = req.init.qpn;
	}
	return oob_passive_match(ep, &req);
}

/* The Request has waited too long. */
static enum xiw_ep_state oob_passive_late(struct xiw_ep *ep)
{
	struct xiw_oob_request req;

	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_TIMEOUT);
	oob_passive_decode(ep, &req);
	return oob_passive_refuse(ep, XIW_OOB_LATE, &req);
}

/*
 * End
 */

/* Ignore the event unless the ULP or a fault has ended the queue pair. */
static enum xiw_ep_state oob_ep_end_if_over(struct xiw_ep *ep)
{
	return xiw_oobstate_is_dead(READ_ONCE(ep->qp->oob.state)) ?
		XIW_EPS_DEAD : ep->state;
}

/* Wake the Requests that wait until @ep has released the queue pair. */
static void oob_ep_wake_next(struct xiw_ep *ep, u32 qpn)
{
	if (ep->parent && qpn && !ep->qp)
		xiw_listen_wake(ep->dev, ep->parent->listen->port, qpn);
}

/* After a rollback, ignore the close that the old stream has requested. */
static enum xiw_ep_state
oob_ep_end_by(struct xiw_ep *ep, enum xiw_ep_state (*end)(struct xiw_ep *ep))
{
	bool initiator = ep->conn.initiator;
	enum xiw_ep_state next;
	u32 qpn = ep->qpn;

	if (!ep->qp || !xiw_oob_roll_back(ep->qp, ep)) {
		next = end(ep);
		oob_ep_wake_next(ep, qpn);
		return next;
	}
	ep->closing = false;
	return initiator ? oob_active_retry(ep) : XIW_EPS_DEAD;
}

static enum xiw_ep_state oob_ep_on_close(struct xiw_ep *ep)
{
	return oob_ep_end_by(ep, xiw_end_close);
}

static enum xiw_ep_state oob_ep_on_abort(struct xiw_ep *ep)
{
	return oob_ep_end_by(ep, xiw_end_abort);
}

/* An administrator may end a listener (ss -K): xiw_oob_reserve() renews it. */
static enum xiw_ep_state oob_ep_on_listener(struct xiw_ep *ep)
{
	enum xiw_ep_state next;

	if (xiw_conn_status(ep) != XIW_LLP_LOST)
		return xiw_listen_children(ep);
	next = xiw_listen_kill(ep);
	/*
	 * The listener is marked closed now, so that xiw_oob_reserve() renews
	 * it.
	 */
	xiw_dev_update_gids(ep->dev);
	return next;
}

static enum xiw_ep_state oob_ep_stay(struct xiw_ep *ep)
{
	return ep->state;
}

/*
 * A close has stalled, the first FPDU is late, or another Request is to replace
 * this one. If the FPDU arrives after all, the stream is established, and
 * FIRST_FPDU is pending. If the ULP or a fault has ended the queue pair, an
 * event for that is pending.
 */
static enum xiw_ep_state oob_ep_on_late(struct xiw_ep *ep)
{
	return oob_ep_end_by(ep, ep->closing ? xiw_end_stalled : oob_ep_stay);
}

/* Nothing is reported to a ULP: other actions have no effect. */
static const xiw_ep_act oob_acts[XIW_EPA_COUNT] = {
	[XIW_EPA_DIE]		= xiw_end_die,
	[XIW_EPA_ACCEPT]	= oob_ep_on_listener,
	[XIW_EPA_UNLISTEN]	= xiw_listen_kill,
	[XIW_EPA_TRY]		= oob_active_try,
	[XIW_EPA_CONNECTING]	= xiw_active_connecting,
	[XIW_EPA_REPLY]		= xiw_active_reply,
	[XIW_EPA_LATE]		= oob_active_retry,
	[XIW_EPA_CANCEL]	= oob_ep_end_if_over,
	[XIW_EPA_CANCEL_KILL]	= xiw_end_die,
	[XIW_EPA_REQUEST]	= xiw_passive_request,
	[XIW_EPA_NO_REQUEST]	= xiw_end_die,
	[XIW_EPA_READY]		= xiw_passive_ready,
	[XIW_EPA_READY_LATE]	= oob_passive_late,
	[XIW_EPA_ESTABLISHED]	= xiw_passive_established,
	[XIW_EPA_STALLED]	= oob_ep_on_late,
	[XIW_EPA_SHUTDOWN]	= xiw_end_shutdown,
	[XIW_EPA_START_CLOSE]	= xiw_end_close_timer,
	[XIW_EPA_CLOSE]		= oob_ep_on_close,
	[XIW_EPA_ABORT]		= oob_ep_on_abort,
	[XIW_EPA_KILL]		= xiw_end_abort,
	[XIW_EPA_LINGER]	= xiw_end_linger_sock,
	[XIW_EPA_LINGER_LATE]	= xiw_end_linger_timer,
};

static void oob_ep_teardown(struct xiw_ep *ep)
{
	u32 qpn = ep->qpn;

	xiw_conn_detach_qp(ep);
	oob_ep_wake_next(ep, qpn);
	xiw_cm_teardown(ep);
	xiw_oob_gate_exit(ep);
}

static const struct xiw_cm_user oob_user = {
	.acts = oob_acts,
	.connected = oob_active_connected,
	.build_request = oob_active_build_request,
	.reply = oob_active_reply,
	.closed = oob_active_closed,
	.failed = oob_active_failed,
	.request = oob_passive_request,
	.teardown = oob_ep_teardown,
};

/* Prepares a device under construction. */
void xiw_oob_device_init(struct xiw_dev *dev)
{
	dev->oob_user = &oob_user;
	mutex_init(&dev->oob_lock);
	INIT_LIST_HEAD(&dev->oob_ports);
	dev->oob_port = XIW_OOB_PORT;
}
