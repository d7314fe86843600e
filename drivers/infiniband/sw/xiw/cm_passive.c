// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Responder: from the accepted TCP connection to the established stream (RFC
 * 5044 section 7.1, RFC 6581). The user of the endpoint decides on the Request.
 * Listeners are in cm_listen.c.
 */
#include "cm.h"

#include <linux/slab.h>

#include "dev.h"
#include "ep.h"
#include "proto/mpa.h"
#include "qp.h"
#include "sock.h"
#include "stream_run.h"

static enum xiw_ep_state passive_malformed(struct xiw_ep *ep)
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

/**
 * xiw_passive_send_reject() - send a rejecting Reply
 * @ep: endpoint whose Request is complete
 * @pdata: Private Data
 * @pdata_len: its length in bytes
 *
 * Return: true if it was sent.
 */
bool xiw_passive_send_reject(struct xiw_ep *ep, const void *pdata, u8 pdata_len)
{
	const struct xiw_mpa_frame *req = &ep->startup->req;
	struct xiw_mpa_frame reply;

	/* The Request itself was acceptable, so report our real limits. */
	xiw_nego_reject(&ep->policy, req, ep->policy.max_ird,
			min(ep->policy.max_ord, req->enh.ird), &reply);
	reply.pd_len = pdata_len;
	return !xiw_conn_put_frame(ep, &reply, pdata) &&
	       !xiw_conn_send_frame(ep);
}

/**
 * xiw_passive_refuse() - reject a Request and end the connection
 * @ep: endpoint whose Request is complete
 * @pdata: Private Data
 * @pdata_len: its length in bytes
 *
 * Return: Next state.
 */
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
	/* RFC 5044 7.1.2 rule 3: no FPDU before the Reply. */
	if (xiw_sock_unread(ep->xs))
		return passive_malformed(ep);
	if (xiw_conn_status(ep) != XIW_LLP_OPEN)
		return xiw_passive_failed(ep);
	return XIW_EPS_PENDING;
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

	ret = xiw_conn_get_frame(ep, false, req);
	if (ret == -EAGAIN)
		return XIW_EPS_REQUEST;
	if (ret && ret != -EPROTO)
		return xiw_passive_failed(ep);
	if (ret || xiw_nego_check_request(req) != XIW_NEGO_OK)
		return passive_malformed(ep);
	return xiw_passive_ready(ep);
}

/**
 * xiw_passive_run() - start the stream, then send an accepting Reply
 * @ep: endpoint with a QP and conn.nego, after xiw_conn_put_frame()
 *
 * The QP is ready to receive before the Reply is sent; its transmit side waits
 * for the first FPDU of the peer (RFC 5044 section 7.1.2 rules 2 and 4). FPDUs
 * that have arrived are handled only after the Reply was sent, so no response
 * can overtake it.
 *
 * Return: 0, -ECONNRESET if the connection has ended, or negative errno.
 */
int xiw_passive_run(struct xiw_ep *ep)
{
	int ret = xiw_stream_start(&ep->qp->stream, &ep->xs->llp, &ep->conn);

	if (!ret)
		ret = xiw_conn_send_frame(ep);
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
