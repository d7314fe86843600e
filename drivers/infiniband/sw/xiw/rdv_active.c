// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Initiator of an out-of-band connection: connects TCP, sends the MPA Request,
 * validates the Reply, and attaches the stream to the QP. It retries, with a
 * pause in between, until that succeeds or the QP ends. A QP that is connected
 * to itself has neither Request nor Reply, see section 3 of
 * Documentation/rendezvous.rst.
 */
#include "rdv.h"

#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "cm.h"
#include "dev.h"
#include "ep.h"
#include "proto/mpa.h"
#include "proto/rendezvous.h"
#include "qp.h"
#include "qp_stream.h"
#include "sock.h"
#include "stream_run.h"

/* Rate limit of a device: connection attempts per window, in jiffies */
#define DIAL_MAX	1024
#define DIAL_WINDOW	(HZ / 10)

/* Source ports of Initiators that have run into the Responder's limits */
#define PRIVILEGED_MIN	512
#define PRIVILEGED_COUNT (PROT_SOCK - PRIVILEGED_MIN)

static struct xiw_rdv_use *rdv_active_use_of(const struct xiw_ep *ep)
{
	return &ep->qp->rdv;
}

/* A copy of the path as the consumer has set it up to now. */
static void rdv_active_get_path(const struct xiw_ep *ep,
				struct xiw_rdv_path *path)
{
	spin_lock_bh(&ep->qp->stream.lock);
	*path = rdv_active_use_of(ep)->path;
	spin_unlock_bh(&ep->qp->stream.lock);
}

/*
 * Other programs on this host may use up the Responder's limits on purpose.
 * These ports have limits of their own and take a privilege, but there are too
 * few of them for all connections.
 */
static int rdv_bind_privileged(struct xiw_ep *ep)
{
	u16 port = PRIVILEGED_MIN + get_random_u32() % PRIVILEGED_COUNT;
	struct sockaddr_storage own;

	/* Once per refusal: the ports may be too few for all retries. */
	ep->crowded = false;
	xiw_rdv_to_addr(ep->dev, rdv_active_use_of(ep)->path.own.gid, port,
			&own);
	return xiw_sock_bind_as_kernel(ep->xs, &own,
				       xiw_conn_bound_if(ep, &own), false);
}

/* A QP that is connected to itself connects to its own source port. */
static int rdv_active_connect_from(struct xiw_ep *ep,
				   const struct sockaddr_storage *own)
{
	const struct xiw_rdv_use *use = rdv_active_use_of(ep);
	struct sockaddr_storage peer;
	int ret = 0;

	xiw_rdv_to_addr(ep->dev, use->path.peer.gid, use->port, &peer);
	if (!ep->crowded || rdv_bind_privileged(ep))
		ret = xiw_sock_bind(ep->xs, own, xiw_conn_bound_if(ep, own),
				    false);
	if (!ret && use->role == XIW_RDV_SELF)
		ret = xiw_sock_local(ep->xs, &peer);
	return ret ? ret : xiw_sock_connect(ep->xs, &peer);
}

static int rdv_active_open_socket(struct xiw_ep *ep)
{
	const struct xiw_rdv_use *use = rdv_active_use_of(ep);
	struct sockaddr_storage own;
	struct net *net;
	int ret;

	net = xiw_conn_get_net(ep->dev);
	if (!net)
		return -ENETDOWN;
	xiw_rdv_to_addr(ep->dev, use->path.own.gid, 0, &own);
	ret = xiw_active_create_sock(ep, net, own.ss_family,
				     use->tclass ?: -1);
	if (!ret)
		ret = rdv_active_connect_from(ep, &own);
	if (ret)
		xiw_active_drop_sock(ep);
	/* The socket has a reference of its own once it connects. */
	put_net(net);
	return ret;
}

static enum xiw_ep_state rdv_pause(struct xiw_ep *ep)
{
	xiw_ep_set_timer(ep, xiw_rdv_pause_ms(++ep->tries, get_random_u32()));
	return XIW_EPS_PAUSE;
}

/**
 * xiw_rdv_active_retry() - drop the connection and retry after a pause
 * @ep: endpoint with its QP attached, with a socket or without
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_rdv_active_retry(struct xiw_ep *ep)
{
	xiw_active_drop_sock(ep);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_FAILED);
	return rdv_pause(ep);
}

/*
 * Limits the rate of connection attempts. It does not limit those in progress,
 * as a host that does not answer would then block connections to others.
 */
static bool rdv_may_dial(struct xiw_dev *dev)
{
	bool may;

	spin_lock(&dev->ep_lock);
	if (time_after_eq(jiffies, dev->rdv_dialled_at + DIAL_WINDOW)) {
		dev->rdv_dialled_at = jiffies;
		dev->rdv_dialled = 0;
	}
	may = dev->rdv_dialled < DIAL_MAX;
	dev->rdv_dialled += may;
	spin_unlock(&dev->ep_lock);
	return may;
}

/**
 * xiw_rdv_active_try() - connect, for the first time or again
 * @ep: endpoint without a socket, with its QP attached
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_rdv_active_try(struct xiw_ep *ep)
{
	int ret;

	/* Out-of-band connections are disabled: posted requests fail now. */
	if (!READ_ONCE(ep->dev->rdv_port)) {
		xiw_rdv_give_up(ep->qp);
		return XIW_EPS_PAUSE;
	}
	if (!rdv_may_dial(ep->dev))
		return rdv_pause(ep);
	if (!ep->startup)
		ep->startup = kzalloc(sizeof(*ep->startup), GFP_KERNEL);
	if (!ep->startup)
		return xiw_rdv_active_retry(ep);
	ret = rdv_active_open_socket(ep);
	if (ret) {
		xiw_ep_dbg(ep, "no connection: %d\n", ret);
		return xiw_rdv_active_retry(ep);
	}
	xiw_ep_set_timer(ep, ep->policy.reply_ms);
	return xiw_active_connecting(ep);
}

/**
 * xiw_rdv_active_start() - begin to connect a QP to its peer
 * @qp: queue pair; its modify_lock is held
 *
 * Context: Sleeps, but not for the peer.
 * Return: 0, -ENOMEM, or -ENODEV if the device is going.
 */
int xiw_rdv_active_start(struct xiw_qp *qp)
{
	struct xiw_ep *ep;
	int ret;

	ep = xiw_ep_create(qp->dev, false);
	if (!ep)
		return -ENOMEM;
	ep->user = qp->dev->rdv_user;
	xiw_rdv_policy(ep);
	ret = xiw_ep_publish(ep);
	if (!ret)
		ret = xiw_qp_attach(qp, ep);
	if (ret) {
		xiw_ep_discard(ep);
		return ret;
	}
	xiw_qp_get(qp);
	ep->qp = qp;
	ep->qpn = qp->qpn;
	xiw_ep_arm(ep, xiw_rdv_active_try(ep));
	return 0;
}

/**
 * xiw_rdv_active_build_request() - xiw_cm_user.build_request
 * @ep: endpoint that connects
 *
 * Context: The endpoint is locked.
 * Return: 0 or negative errno.
 */
int xiw_rdv_active_build_request(struct xiw_ep *ep)
{
	struct xiw_ep_startup *st = ep->startup;
	struct xiw_rdv_request req;
	struct xiw_rdv_path path;

	rdv_active_get_path(ep, &path);
	xiw_rdv_request_init(&path, &st->nonces, st->proves, XIW_RDV_FEAT_ALL,
			     &req);
	st->proves_rts = st->proves && req.claim.rts;
	xiw_nego_request(&ep->policy,
			 xiw_rdv_ird(&path, ep->policy.max_ird),
			 xiw_rdv_ord(&path, ep->policy.max_ord), &st->req);
	st->req.pd_len = xiw_rdv_request_encode(&req, st->pdata);
	return xiw_conn_put_frame(ep, &st->req, st->pdata);
}

static enum xiw_ep_state rdv_first_request(struct xiw_ep *ep)
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
static enum xiw_ep_state rdv_answer_challenge(struct xiw_ep *ep,
					      const struct xiw_rdv_reply *reply)
{
	struct xiw_ep_startup *st = ep->startup;
	struct xiw_rdv_request req;
	struct xiw_rdv_path path;

	rdv_active_get_path(ep, &path);
	xiw_rdv_request_init(&path, &st->nonces, false, XIW_RDV_FEAT_ALL, &req);
	if (st->proves || !xiw_rdv_answers(&req, reply))
		return xiw_rdv_active_retry(ep);
	st->proves = true;
	st->nonces.resp = reply->nonce;
	return xiw_active_send_request(ep);
}

/**
 * xiw_rdv_active_rts() - repeat the Request if its proof was made in RTR
 * @ep: its endpoint
 *
 * A Responder that stays in RTR cannot check the proof of an Initiator in RTR,
 * as there is no PSN that both know. So once in RTS, the Initiator retries.
 *
 * Context: The endpoint is locked.
 */
void xiw_rdv_active_rts(struct xiw_ep *ep)
{
	if (ep->state == XIW_EPS_REPLY && ep->startup->proves &&
	    !ep->startup->proves_rts)
		xiw_ep_set_timer(ep, 0);
}

/* Start the stream, after the path was checked against the peer's token. */
static enum xiw_ep_state rdv_active_establish(struct xiw_ep *ep,
					      const struct xiw_rdv_path *path)
{
	ep->conn.initiator = true;
	ep->conn.nego.ord = xiw_rdv_ord(path, ep->conn.nego.ord);
	if (xiw_stream_start(&ep->qp->stream, &ep->xs->llp, &ep->conn))
		return xiw_rdv_active_retry(ep);
	ep->tries = 0;
	xiw_qp_stands(ep->qp);
	return xiw_active_established(ep);
}

/* Both ends are the same: this side's wishes are the negotiated values. */
static enum xiw_ep_state rdv_active_establish_self(struct xiw_ep *ep)
{
	struct xiw_mpa_nego *nego = &ep->conn.nego;
	struct xiw_rdv_path path;

	rdv_active_get_path(ep, &path);
	*nego = (struct xiw_mpa_nego) {
		.rev = ep->policy.rev,
		.crc = ep->policy.crc,
		.tx_markers = ep->policy.markers,
		.rx_markers = ep->policy.markers,
		.ird = xiw_rdv_ird(&path, ep->policy.max_ird),
		.ord = xiw_rdv_ird(&path, ep->policy.max_ord),
	};
	xiw_rdv_agree(ep, XIW_RDV_FEAT_ALL);
	spin_lock_bh(&ep->qp->stream.lock);
	memset(&rdv_active_use_of(ep)->peer, 0,
	       sizeof(rdv_active_use_of(ep)->peer));
	spin_unlock_bh(&ep->qp->stream.lock);
	return rdv_active_establish(ep, &path);
}

/**
 * xiw_rdv_active_connected() - xiw_cm_user.connected
 * @ep: endpoint whose TCP connection is established
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_rdv_active_connected(struct xiw_ep *ep)
{
	return rdv_active_use_of(ep)->role == XIW_RDV_SELF
		       ? rdv_active_establish_self(ep)
		       : rdv_first_request(ep);
}

/* The Reply accepts. Check that it matches the Request and proves the peer. */
static enum xiw_ep_state rdv_active_accepted(struct xiw_ep *ep,
					     const struct xiw_rdv_reply *reply)
{
	const struct xiw_ep_startup *st = ep->startup;
	struct xiw_rdv_use *use = rdv_active_use_of(ep);
	struct xiw_rdv_request req;
	struct xiw_rdv_path path;
	bool ok;

	spin_lock_bh(&ep->qp->stream.lock);
	path = use->path;
	xiw_rdv_request_init(&path, &st->nonces, false, XIW_RDV_FEAT_ALL, &req);
	ok = !xiw_rdvstate_is_dead(use->state) && st->proves &&
	     xiw_rdv_answers(&req, reply) &&
	     xiw_rdv_proven(&path, &st->nonces, &reply->claim);
	if (ok) {
		use->peer = reply->claim;
		use->nonces = st->nonces;
	}
	spin_unlock_bh(&ep->qp->stream.lock);
	xiw_rdv_agree(ep, reply->features);
	return ok ? rdv_active_establish(ep, &path) : xiw_rdv_active_retry(ep);
}

static enum xiw_ep_state rdv_active_refused(struct xiw_ep *ep,
					    const struct xiw_rdv_reply *reply)
{
	u8 reason = reply->reason;

	if (reason == XIW_RDV_PROVE)
		return rdv_answer_challenge(ep, reply);
	xiw_ep_dbg(ep, "the peer says no: reason %u\n", reason);
	if (reason == XIW_RDV_BUSY)
		ep->crowded = true;
	if (!xiw_rdv_final(reason))
		return xiw_rdv_active_retry(ep);
	if (reason == XIW_RDV_BAD_VERSION)
		ibdev_notice_ratelimited(&ep->dev->ibdev,
					 "cannot connect by QP number: %pI6c does not speak version %u; install the same version of xiw on both hosts\n",
					 rdv_active_use_of(ep)->path.peer.gid,
					 XIW_RDV_VERSION);
	xiw_rdv_give_up(ep->qp);
	xiw_active_drop_sock(ep);
	xiw_ep_clear_timer(ep);
	return XIW_EPS_PAUSE;
}

/**
 * xiw_rdv_active_reply() - xiw_cm_user.reply
 * @ep: endpoint in XIW_EPS_REPLY
 * @result: on the Reply
 * @frame: the Reply
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_rdv_active_reply(struct xiw_ep *ep,
				       enum xiw_nego_result result,
				       const struct xiw_mpa_frame *frame)
{
	struct xiw_rdv_reply reply;

	if ((result != XIW_NEGO_OK && result != XIW_NEGO_REJECTED) ||
	    xiw_rdv_reply_decode(ep->startup->frame + frame->pd_off,
				 frame->pd_len, result == XIW_NEGO_REJECTED,
				 &reply))
		return xiw_rdv_active_retry(ep);
	return result == XIW_NEGO_OK ? rdv_active_accepted(ep, &reply)
				      : rdv_active_refused(ep, &reply);
}

/**
 * xiw_rdv_active_closed() - xiw_cm_user.closed
 * @ep: endpoint in XIW_EPS_REPLY
 * @status: negative errno
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_rdv_active_closed(struct xiw_ep *ep, int status)
{
	/* The Responder may have evicted it in favour of another one. */
	if (ep->startup->proves && status != -EPROTO)
		ep->crowded = true;
	return xiw_rdv_active_retry(ep);
}

/**
 * xiw_rdv_active_failed() - xiw_cm_user.failed
 * @ep: endpoint that connects
 * @status: negative errno
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_rdv_active_failed(struct xiw_ep *ep, int status)
{
	return xiw_rdv_active_retry(ep);
}
