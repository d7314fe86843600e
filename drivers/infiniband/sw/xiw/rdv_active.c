// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Initiator of a connection by number: connects TCP, sends the MPA Request,
 * judges the Reply, and gives the stream to the QP; and tries again, with a
 * pause in between, until that succeeds or the QP has another end. A QP that is
 * connected to itself has neither Request nor Reply, see section 3 of
 * Documentation/rendezvous.rst.
 */
#include "rdv_active.h"

#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "cm_conn.h"
#include "consumer.h"
#include "dev.h"
#include "ep.h"
#include "proto/mpa.h"
#include "proto/rendezvous.h"
#include "qp.h"
#include "qp_stream.h"
#include "rdv_conn.h"
#include "rdv_wait.h"
#include "sock.h"
#include "stream_run.h"

/* So many connections of a device may begin in so many jiffies. */
#define DIAL_MAX	1024
#define DIAL_WINDOW	(HZ / 10)

/* Ports of Initiators that are in a crowd */
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
 * Others on this host may be in the way at the Responder, by intent. Not from
 * one of these ports, which no program gets without privilege; there are too
 * few for all connections.
 */
static int rdv_bind_privileged(struct xiw_ep *ep, struct xiw_sock *xs)
{
	u16 port = PRIVILEGED_MIN + get_random_u32() % PRIVILEGED_COUNT;
	struct sockaddr_storage own;

	/* Once: they may be too few for all that were refused. */
	ep->crowded = false;
	xiw_rdv_to_addr(ep->dev, rdv_active_use_of(ep)->path.own.gid, port,
			&own);
	return xiw_sock_bind(xs, &own, xiw_conn_bound_if(ep, &own), false);
}

/* From an own port; to itself means to that very port. */
static int rdv_active_connect_from(struct xiw_ep *ep,
				   const struct xiw_rdv_use *use,
				   struct xiw_sock *xs)
{
	struct sockaddr_storage own;
	struct sockaddr_storage peer;
	int ret = 0;

	xiw_rdv_to_addr(ep->dev, use->path.own.gid, 0, &own);
	xiw_rdv_to_addr(ep->dev, use->path.peer.gid, use->port, &peer);
	if (use->tclass)
		xiw_sock_set_tos(xs, own.ss_family, use->tclass);
	xiw_sock_set_keepalive(xs, XIW_EP_KEEPIDLE_S, XIW_EP_KEEPINTVL_S,
			       XIW_EP_KEEPCNT);
	if (!ep->crowded || rdv_bind_privileged(ep, xs))
		ret = xiw_sock_bind(xs, &own, xiw_conn_bound_if(ep, &own),
				    false);
	if (!ret && use->role == XIW_RDV_SELF)
		ret = xiw_sock_local(xs, &peer);
	return ret ? ret : xiw_sock_connect(xs, &peer);
}

/*
 * Never the one that the netdev moves to. The endpoints are closed before it
 * does, so a namespace that was read before that was found open is the old one.
 */
static struct net *rdv_get_net(struct xiw_dev *dev)
{
	struct net *net = xiw_consumer_get_net(dev);
	bool closed;

	spin_lock(&dev->ep_lock);
	closed = dev->eps_closed;
	spin_unlock(&dev->ep_lock);
	if (!net || !closed)
		return net;
	put_net(net);
	return NULL;
}

static int rdv_active_open_socket(struct xiw_ep *ep)
{
	const struct xiw_rdv_use *use = rdv_active_use_of(ep);
	struct sockaddr_storage own;
	struct xiw_sock *xs;
	struct net *net;
	int ret;

	net = rdv_get_net(ep->dev);
	if (!net)
		return -ENETDOWN;
	xiw_rdv_to_addr(ep->dev, use->path.own.gid, 0, &own);
	ret = xiw_sock_create(net, own.ss_family, &xs);
	if (ret)
		goto put;
	xiw_conn_own_sock(ep, xs);
	ret = rdv_active_connect_from(ep, use, xs);
	if (ret) {
		ep->xs = NULL;
		xiw_sock_release(xs, true);
	}
put:
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
 * xiw_rdv_active_retry() - it did not come to a stream this time
 * @ep: endpoint with its QP attached, with a socket or without
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_rdv_active_retry(struct xiw_ep *ep)
{
	if (ep->xs)
		xiw_sock_release(ep->xs, true);
	ep->xs = NULL;
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_FAILED);
	return rdv_pause(ep);
}

/*
 * Of what many queue pairs have to begin, some begins now and the rest a little
 * later. This does not count those under way: a host that does not answer would
 * hold up what is for others.
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

	/* Switched off: what is posted has waited long enough. */
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
	return xiw_rdv_active_connecting(ep);
}

/**
 * xiw_rdv_active_start() - a QP was named a peer that it has to connect to
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
	ep->ops = qp->dev->rdv_ops;
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

static int rdv_active_build_request(struct xiw_ep *ep)
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
	return xiw_mpa_frame_encode(st->frame, sizeof(st->frame), &st->req,
				    st->pdata);
}

static enum xiw_ep_state rdv_active_send_request(struct xiw_ep *ep)
{
	struct xiw_ep_startup *st = ep->startup;
	int len = rdv_active_build_request(ep);

	if (len < 0 || xiw_sock_send_buf(ep->xs, st->frame, len) != len)
		return xiw_rdv_active_retry(ep);
	st->have = 0;
	return xiw_rdv_active_reply(ep);
}

static enum xiw_ep_state rdv_first_request(struct xiw_ep *ep)
{
	ep->startup->nonces.init = get_random_u64();
	ep->startup->proves = false;
	ep->startup->proves_rts = false;
	return rdv_active_send_request(ep);
}

/*
 * The Responder wants a proof, once. What it is made of can be guessed from it
 * at leisure, so what is at the other end should be the peer's kernel.
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
	return rdv_active_send_request(ep);
}

/**
 * xiw_rdv_active_rts() - the QP has come to RTS
 * @ep: its endpoint
 *
 * A Responder that stays in RTR cannot judge the proof of an Initiator in RTR,
 * as there is no PSN that both know: so it is to get another one.
 *
 * Context: The endpoint is locked.
 */
void xiw_rdv_active_rts(struct xiw_ep *ep)
{
	if (ep->state == XIW_EPS_REPLY && ep->startup->proves &&
	    !ep->startup->proves_rts)
		xiw_ep_set_timer(ep, 0);
}

/* Of path and peer's token, which are judged together, only then the stream. */
static enum xiw_ep_state rdv_active_establish(struct xiw_ep *ep,
					      const struct xiw_rdv_path *path)
{
	if (xiw_rdv_start_stream(ep, path, true))
		return xiw_rdv_active_retry(ep);
	ep->extensions = XIW_EP_EXTENSIONS;
	ep->tries = 0;
	xiw_ep_clear_timer(ep);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_ACTIVE);
	kfree(ep->startup);
	ep->startup = NULL;
	xiw_qp_stands(ep->qp);
	xiw_stream_run(&ep->qp->stream, &ep->xs->llp);
	return XIW_EPS_OPEN;
}

/* Both ends are the same: what this side wants is agreed on. */
static enum xiw_ep_state rdv_active_establish_self(struct xiw_ep *ep)
{
	struct xiw_mpa_agreed *agreed = &ep->conn.agreed;
	struct xiw_rdv_path path;

	rdv_active_get_path(ep, &path);
	*agreed = (struct xiw_mpa_agreed) {
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
 * xiw_rdv_active_connecting() - TCP may have connected, or failed to
 * @ep: endpoint in XIW_EPS_CONNECTING
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_rdv_active_connecting(struct xiw_ep *ep)
{
	switch (xiw_conn_status(ep)) {
	case XIW_LLP_CONNECTING:
		return XIW_EPS_CONNECTING;
	case XIW_LLP_LOST:
		return xiw_rdv_active_retry(ep);
	default:
		return rdv_active_use_of(ep)->role == XIW_RDV_SELF
			       ? rdv_active_establish_self(ep)
			       : rdv_first_request(ep);
	}
}

/* The Reply accepts. Is it an answer, and from whom the consumer means? */
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
	ok = !use->over && st->proves && xiw_rdv_answers(&req, reply) &&
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
	xiw_sock_release(ep->xs, true);
	ep->xs = NULL;
	xiw_ep_clear_timer(ep);
	return XIW_EPS_PAUSE;
}

/**
 * xiw_rdv_active_reply() - octets of the Reply may have arrived, or the end
 * @ep: endpoint in XIW_EPS_REPLY
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_rdv_active_reply(struct xiw_ep *ep)
{
	struct xiw_ep_startup *st = ep->startup;
	enum xiw_nego_verdict verdict;
	struct xiw_mpa_frame frame;
	struct xiw_rdv_reply reply;
	int len;

	len = xiw_conn_collect(ep, true);
	if (len == -EAGAIN)
		return XIW_EPS_REPLY;
	/* Another one may have taken its place at the Responder. */
	if (len < 0 && st->proves)
		ep->crowded = true;
	if (len < 0 || xiw_mpa_frame_decode(st->frame, len, true, &frame))
		return xiw_rdv_active_retry(ep);
	verdict = xiw_nego_check_reply(&ep->policy, &st->req, &frame,
				       &ep->conn.agreed);
	if ((verdict != XIW_NEGO_OK && verdict != XIW_NEGO_REJECTED) ||
	    xiw_rdv_reply_decode(st->frame + frame.pd_off, frame.pd_len,
				 verdict == XIW_NEGO_REJECTED, &reply))
		return xiw_rdv_active_retry(ep);
	return verdict == XIW_NEGO_OK ? rdv_active_accepted(ep, &reply)
				      : rdv_active_refused(ep, &reply);
}
