// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * From the connection of the lower layer to the established stream: MPA startup
 * of both sides (RFC 5044 section 7.1, RFC 6581). The user of the endpoint
 * opens the socket of an Initiator, and decides on the Request and on the
 * Reply. Listeners are in cm_listen.c.
 */
#include "cm.h"

#include <linux/slab.h>

#include "dev.h"
#include "llp/sock.h"
#include "proto/mpa.h"
#include "qp/ep.h"
#include "qp/qp.h"
#include "stream/stream.h"

/*
 * Startup frames
 *
 * The rest of the connection manager handles frames as struct xiw_mpa_frame
 * with Private Data. Only these functions depend on their encoding as bytes of
 * a TCP stream. SCTP has messages of its own for the same negotiation, the
 * session control of DDP over SCTP.
 */

/*
 * Prepares a frame to be sent by an endpoint in startup; no frame of the peer
 * may be in use. 0, or -EINVAL if it cannot be sent.
 */
int xiw_conn_put_frame(struct xiw_ep *ep, const struct xiw_mpa_frame *frame,
		       const void *pdata)
{
	struct xiw_ep_startup *st = ep->startup;
	int len = xiw_mpa_frame_encode(st->frame, sizeof(st->frame), frame,
				       pdata);

	st->len = len < 0 ? 0 : len;
	st->own = *frame;
	return len < 0 ? len : 0;
}

/* The Private Data is the end of the encoded frame. */
static int startup_send_own(struct xiw_ep *ep)
{
	const struct xiw_ep_startup *st = ep->startup;
	const struct xiw_sock_proto *proto = ep->xs->proto;

	return proto->send_frame(ep->xs, &st->own,
				 st->frame + st->len - st->own.pd_len) ?
		-ECONNRESET : 0;
}

/* Sends the frame of xiw_conn_put_frame(). 0, or -ECONNRESET. */
static int startup_send_frame(struct xiw_ep *ep)
{
	struct xiw_ep_startup *st = ep->startup;

	st->have = 0;
	if (ep->xs->proto)
		return startup_send_own(ep);
	return xiw_sock_send_buf(ep->xs, st->frame, st->len) == st->len ?
		0 : -ECONNRESET;
}

/* Reads no byte after the frame. Returns its length when it is complete. */
static int startup_collect(struct xiw_ep *ep, bool reply)
{
	struct xiw_ep_startup *st = ep->startup;
	size_t missing;
	int len;
	int ret;

	for (;;) {
		len = xiw_mpa_frame_len(st->frame, st->have, reply);
		if (len < 0)
			return len;
		missing = xiw_mpa_frame_missing(len, st->have);
		if (!missing)
			return len;
		ret = xiw_sock_recv_buf(ep->xs, st->frame + st->have, missing);
		if (ret <= 0)
			return ret ? ret : -ECONNRESET;
		st->have += ret;
	}
}

/*
 * Receives the peer's Reply or Request. Sets @frame when it is complete; its
 * Private Data is in startup.frame. 0; -EAGAIN if more must arrive; -EPROTO if
 * it is improperly formatted (RFC 5044 section 7.1.1); -ECONNRESET if the peer
 * closed; another negative errno of the socket.
 */
static int startup_get_frame(struct xiw_ep *ep, bool reply,
			     struct xiw_mpa_frame *frame)
{
	int len;

	if (ep->xs->proto)
		return ep->xs->proto->recv_frame(ep->xs, frame,
						 ep->startup->frame);
	len = startup_collect(ep, reply);
	if (len < 0)
		return len;
	return xiw_mpa_frame_decode(ep->startup->frame, len, reply, frame) ?
		-EPROTO : 0;
}

/*
 * Initiator
 */

/*
 * Over SCTP segments may arrive ahead of the answer. They are charged to the
 * group of the queue pair from the beginning. This cannot fail, as the socket
 * holds nothing yet.
 */
static void startup_charge(const struct xiw_ep *ep, struct xiw_llp *llp)
{
	if (!ep->sctp || !ep->qp->stream.memcg)
		return;
	llp->ops->lock(llp);
	llp->ops->charge(llp, ep->qp->stream.memcg);
	llp->ops->unlock(llp);
}

/**
 * xiw_active_create_sock() - give an Initiator a socket
 * @ep: endpoint without a socket, with its QP
 * @net: namespace; the caller keeps it alive until the socket connects
 * @family: AF_INET or AF_INET6
 * @tos: type of service or traffic class, -1 for the default
 *
 * Return: 0 or negative errno.
 */
int xiw_active_create_sock(struct xiw_ep *ep, struct net *net,
			   sa_family_t family, int tos)
{
	struct xiw_sock *xs;
	int ret = xiw_cm_create_sock(ep, net, family, &xs);

	if (ret)
		return ret;
	startup_charge(ep, &xs->llp);
	xiw_sock_set_silence(xs, ep->policy.silence_ms);
	if (tos >= 0)
		xiw_sock_set_tos(xs, tos);
	xiw_ep_own_sock(ep, xs);
	return 0;
}

/* TCP has connected: send a Request. */
enum xiw_ep_state xiw_active_send_request(struct xiw_ep *ep)
{
	int ret = ep->user->build_request(ep);

	if (!ret)
		ret = startup_send_frame(ep);
	return ret ? ep->user->failed(ep, ret) : xiw_active_reply(ep);
}

/* Check whether TCP has connected, or has failed. */
enum xiw_ep_state xiw_active_connecting(struct xiw_ep *ep)
{
	switch (xiw_conn_status(ep)) {
	case XIW_LLP_CONNECTING:
		return XIW_EPS_CONNECTING;
	case XIW_LLP_BROKEN:
		return ep->user->failed(ep, -EPROTO);
	case XIW_LLP_CLOSED:
	case XIW_LLP_LOST:
		return ep->user->failed(ep, xiw_sock_error(ep->xs));
	default:
		return ep->user->connected(ep);
	}
}

/* The last step of an Initiator: its stream was started, and may run now. */
enum xiw_ep_state xiw_active_established(struct xiw_ep *ep)
{
	xiw_stream_run(&ep->qp->stream, &ep->xs->llp);
	ep->extensions = XIW_EP_EXTENSIONS;
	xiw_ep_clear_timer(ep);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_ACTIVE);
	kfree(ep->startup);
	ep->startup = NULL;
	return XIW_EPS_OPEN;
}

/* Read the Reply, or notice the end of the connection. */
enum xiw_ep_state xiw_active_reply(struct xiw_ep *ep)
{
	enum xiw_nego_result result;
	struct xiw_mpa_frame frame;
	int ret;

	ret = startup_get_frame(ep, true, &frame);
	if (ret == -EAGAIN)
		return XIW_EPS_REPLY;
	if (ret)
		return ep->user->closed(ep, ret);
	result = xiw_nego_check_reply(&ep->policy, &ep->startup->req, &frame,
				      &ep->conn.nego);
	return ep->user->reply(ep, result, &frame);
}

/*
 * Responder
 */

static enum xiw_ep_state startup_malformed(struct xiw_ep *ep)
{
	xiw_ep_dbg(ep, "improper MPA Request\n");
	xiw_stat_inc(ep->dev->stats, XIW_STAT_MPA_MALFORMED);
	return XIW_EPS_DEAD;
}

/* End a connection that was not established. */
enum xiw_ep_state xiw_passive_failed(struct xiw_ep *ep)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_FAILED);
	return XIW_EPS_DEAD;
}

/* The Request, or the ULP's answer to it, took too long. */
enum xiw_ep_state xiw_passive_timeout(struct xiw_ep *ep)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_TIMEOUT);
	return XIW_EPS_DEAD;
}

/* Sends a rejecting Reply to a complete Request. True if it was sent. */
bool xiw_passive_send_reject(struct xiw_ep *ep, const void *pdata, u8 pdata_len)
{
	const struct xiw_mpa_frame *req = &ep->startup->req;
	struct xiw_mpa_frame reply;

	/* The Request itself was acceptable, so report our real limits. */
	xiw_nego_reject(&ep->policy, req, ep->policy.max_ird,
			min(ep->policy.max_ord, req->enh.ird), &reply);
	reply.pd_len = pdata_len;
	return !xiw_conn_put_frame(ep, &reply, pdata) &&
	       !startup_send_frame(ep);
}

/* Rejects a complete Request and ends the connection. */
enum xiw_ep_state xiw_passive_refuse(struct xiw_ep *ep, const void *pdata,
				     u8 pdata_len)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_REJECTED);
	if (!xiw_passive_send_reject(ep, pdata, pdata_len))
		return XIW_EPS_DEAD;
	/* The peer sends nothing more: no need to linger. */
	return xiw_end_startup(ep);
}

/*
 * The Request is complete: the peer has to wait for the Reply. The end of a
 * connection that was not accepted is not reported; accept and reject then find
 * no request and fail.
 */
enum xiw_ep_state xiw_passive_pending(struct xiw_ep *ep)
{
	struct xiw_llp *llp = &ep->xs->llp;
	enum xiw_llp_status status;
	int unread;

	llp->ops->lock(llp);
	unread = llp->ops->unread(llp);
	status = llp->ops->status(llp);
	llp->ops->unlock(llp);
	/* RFC 5044 7.1.2 rule 3: no FPDU before the Reply. */
	if (unread)
		return startup_malformed(ep);
	return status == XIW_LLP_OPEN ? XIW_EPS_PENDING
				      : xiw_passive_failed(ep);
}

/* The Request is complete: let the user decide, unless the peer has closed. */
enum xiw_ep_state xiw_passive_ready(struct xiw_ep *ep)
{
	if (xiw_passive_pending(ep) == XIW_EPS_DEAD)
		return XIW_EPS_DEAD;
	return ep->user->request(ep);
}

/* Read the Request, or notice the end of the connection. */
enum xiw_ep_state xiw_passive_request(struct xiw_ep *ep)
{
	struct xiw_mpa_frame *req = &ep->startup->req;
	int ret;

	ret = startup_get_frame(ep, false, req);
	if (ret == -EAGAIN)
		return XIW_EPS_REQUEST;
	if (ret && ret != -EPROTO)
		return xiw_passive_failed(ep);
	if (ret || xiw_nego_check_request(req) != XIW_NEGO_OK)
		return startup_malformed(ep);
	return xiw_passive_ready(ep);
}

/*
 * Starts the stream, then sends an accepting Reply. The endpoint has a QP and
 * conn.nego, and xiw_conn_put_frame() was called. -ECONNRESET if the connection
 * has ended, or another negative errno.
 *
 * The QP is ready to receive before the Reply is sent; its transmit side waits
 * for the first FPDU of the peer (RFC 5044 section 7.1.2 rules 2 and 4). FPDUs
 * that have arrived are handled only after the Reply was sent, so no response
 * can overtake it.
 */
int xiw_passive_run(struct xiw_ep *ep)
{
	int ret = xiw_stream_start(&ep->qp->stream, &ep->xs->llp, &ep->conn);

	if (!ret)
		ret = startup_send_frame(ep);
	if (!ret)
		xiw_stream_run(&ep->qp->stream, &ep->xs->llp);
	return ret;
}

/*
 * The Reply was sent and, in the peer-to-peer model, the first FPDU has
 * arrived.
 */
enum xiw_ep_state xiw_passive_established(struct xiw_ep *ep)
{
	ep->extensions = XIW_EP_EXTENSIONS;
	/* During a close the timer limits the time of the close. */
	if (!ep->closing)
		xiw_ep_clear_timer(ep);
	if (ep->user->established)
		ep->user->established(ep);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_PASSIVE);
	return XIW_EPS_OPEN;
}

/*
 * An accepting Reply was sent. In the peer-to-peer model the connection is
 * established when the first FPDU arrives, otherwise now.
 */
enum xiw_ep_state xiw_passive_replied(struct xiw_ep *ep)
{
	kfree(ep->startup);
	ep->startup = NULL;
	if (!ep->conn.nego.p2p)
		return xiw_passive_established(ep);
	xiw_ep_set_timer(ep, ep->policy.rtr_ms);
	return XIW_EPS_RTR;
}
