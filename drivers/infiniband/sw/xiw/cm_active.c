// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Initiator: connects TCP, sends the MPA Request, reads the Reply, and starts
 * the stream (RFC 5044 section 7.1, RFC 6581). The user of the endpoint opens
 * the socket, and decides what follows from the Reply.
 */
#include "cm.h"

#include <linux/slab.h>

#include "dev.h"
#include "ep.h"
#include "proto/mpa.h"
#include "qp.h"
#include "sock.h"
#include "stream_run.h"

/* Resets the connection, if there is one. */
void xiw_active_drop_sock(struct xiw_ep *ep)
{
	if (ep->xs)
		xiw_sock_release(ep->xs, true);
	ep->xs = NULL;
}

/*
 * Over SCTP segments may arrive ahead of the answer. They are charged to the
 * group of the queue pair from the beginning. This cannot fail, as the socket
 * holds nothing yet.
 */
static void active_charge(const struct xiw_ep *ep, struct xiw_llp *llp)
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
	active_charge(ep, &xs->llp);
	xiw_sock_set_silence(xs, ep->policy.silence_ms);
	if (tos >= 0)
		xiw_sock_set_tos(xs, family, tos);
	xiw_ep_own_sock(ep, xs);
	return 0;
}

/* TCP has connected: send a Request. */
enum xiw_ep_state xiw_active_send_request(struct xiw_ep *ep)
{
	int ret = ep->user->build_request(ep);

	if (!ret)
		ret = xiw_conn_send_frame(ep);
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

	ret = xiw_conn_get_frame(ep, true, &frame);
	if (ret == -EAGAIN)
		return XIW_EPS_REPLY;
	if (ret)
		return ep->user->closed(ep, ret);
	result = xiw_nego_check_reply(&ep->policy, &ep->startup->req, &frame,
				      &ep->conn.nego);
	return ep->user->reply(ep, result, &frame);
}
