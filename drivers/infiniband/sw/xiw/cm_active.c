// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Initiator: connects TCP, sends the MPA Request, judges the Reply, and gives
 * the stream to the QP (RFC 5044 section 7.1, RFC 6581). iw_cm hears exactly
 * one CONNECT_REPLY of every connect that did not fail at once.
 */
#include "cm.h"

#include <linux/crc32c.h>
#include <linux/unaligned.h>
#include <net/net_namespace.h>

#include "dev.h"
#include "ep.h"
#include "iwcm_quirks.h"
#include "proto/mpa.h"
#include "proto/term.h"
#include "qp.h"
#include "qp_stream.h"
#include "sock.h"
#include "stream_run.h"

/**
 * xiw_active_drop_sock() - reset the connection of an Initiator
 * @ep: endpoint, with a socket or without
 *
 * Context: The endpoint is locked.
 */
void xiw_active_drop_sock(struct xiw_ep *ep)
{
	if (ep->xs)
		xiw_sock_release(ep->xs, true);
	ep->xs = NULL;
}

/**
 * xiw_active_create_sock() - give an Initiator a socket
 * @ep: endpoint without a socket
 * @net: namespace; the caller keeps it alive until the socket connects
 * @family: AF_INET or AF_INET6
 * @tos: type of service or traffic class, -1 for the default
 *
 * Context: The endpoint is locked.
 * Return: 0 or negative errno.
 */
int xiw_active_create_sock(struct xiw_ep *ep, struct net *net,
			   sa_family_t family, int tos)
{
	struct xiw_sock *xs;
	int ret = xiw_sock_create(net, family, &xs);

	if (ret)
		return ret;
	xiw_sock_set_silence(xs, ep->policy.silence_ms);
	if (tos >= 0)
		xiw_sock_set_tos(xs, family, tos);
	xiw_conn_own_sock(ep, xs);
	return 0;
}

/*
 * From the local address and port of the cm_id: from a port of its own, or from
 * one that other connections share.
 */
static int active_connect_from(struct xiw_ep *ep, struct net *net, bool shared)
{
	const struct sockaddr_storage *remote = &ep->cm_id->m_remote_addr;
	const struct sockaddr_storage *local = &ep->cm_id->m_local_addr;
	int bound_if = xiw_conn_bound_if(ep, local);
	int ret;

	ret = xiw_active_create_sock(ep, net, remote->ss_family,
				     ep->cm_id->tos_set ? ep->cm_id->tos : -1);
	if (ret)
		return ret;
	if (shared)
		ret = xiw_sock_bind_shared(ep->xs, local, bound_if);
	else
		ret = xiw_sock_bind(ep->xs, local, bound_if, false);
	if (!ret) {
		ret = xiw_sock_connect(ep->xs, remote);
		/* The port has a connection to this very peer. */
		if (ret == -EADDRNOTAVAIL)
			ret = -EADDRINUSE;
	}
	if (ret)
		xiw_active_drop_sock(ep);
	return ret;
}

/*
 * The port is kept even if rdma_cm has drawn it. If TCP has given it to other
 * connections, it can be shared as long as these have other peers; TCP itself
 * gives one port to several connections. A socket that is bound to the port, or
 * listens on it, makes the connect fail.
 */
static int active_open_socket(struct xiw_ep *ep, struct net *net)
{
	int ret = active_connect_from(ep, net, false);

	if (ret == -EADDRINUSE && xiw_quirk_port_was_drawn(ep->cm_id, net))
		ret = active_connect_from(ep, net, true);
	return ret;
}

/**
 * xiw_active_build_request() - xiw_cm_user.build_request of iw_cm
 * @ep: endpoint that connects
 *
 * Context: The endpoint is locked.
 * Return: Bytes of the Request as the policy wants it, or -EINVAL.
 */
int xiw_active_build_request(struct xiw_ep *ep)
{
	struct xiw_ep_startup *st = ep->startup;

	xiw_nego_request(&ep->policy, st->ird, st->ord, &st->req);
	st->req.pd_len = st->pdata_len;
	return xiw_mpa_frame_encode(st->frame, sizeof(st->frame), &st->req,
				    st->pdata);
}

static int active_set_param(struct xiw_ep *ep,
			    const struct iw_cm_conn_param *param)
{
	struct xiw_ep_startup *st = ep->startup;
	int ret;

	if (param->private_data_len > sizeof(st->pdata))
		return -EINVAL;
	st->ird = param->ird;
	st->ord = param->ord;
	st->pdata_len = param->private_data_len;
	if (st->pdata_len)
		memcpy(st->pdata, param->private_data, st->pdata_len);
	/* Refuse here what could not be sent later. */
	ret = xiw_active_build_request(ep);
	return ret < 0 ? ret : 0;
}

/**
 * xiw_cm_connect() - ib_device_ops.iw_connect
 * @cm_id: identifier with the addresses; a reference is taken
 * @param: QP, limits and Private Data
 *
 * Context: Sleeps, but not for the peer.
 * Return: 0 if there is or will be a CONNECT_REPLY, else negative errno:
 * -ENETUNREACH if the device is not usable in the consumer's namespace, -EPERM
 * if the QP is not the consumer's, -EADDRINUSE if the local port is taken.
 */
int xiw_cm_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct net *net = xiw_quirk_net(cm_id);
	struct xiw_ep *ep;
	int ret;

	if (IS_ERR(net))
		return PTR_ERR(net);
	if (cm_id->m_local_addr.ss_family != cm_id->m_remote_addr.ss_family)
		return -EAFNOSUPPORT;
	ep = xiw_ep_create(to_xdev(cm_id->device), false);
	if (!ep)
		return -ENOMEM;
	cm_id->add_ref(cm_id);
	ep->cm_id = cm_id;
	ret = active_set_param(ep, param);
	if (ret)
		goto err_discard;
	ret = xiw_ep_publish(ep);
	if (ret)
		goto err_discard;
	/* If the QP asks to abort, that takes effect when it is armed. */
	ret = xiw_conn_attach_qp(ep, cm_id, param->qpn);
	if (ret)
		goto err_discard;
	ret = active_open_socket(ep, net);
	if (ret)
		goto err_discard;
	if (!ep->qp->kernel)
		xiw_ep_watch(ep);
	/* For all of it: iw_cm cannot destroy the cm_id any earlier. */
	xiw_ep_set_timer(ep, ep->policy.reply_ms);
	xiw_ep_arm(ep, XIW_EPS_CONNECTING);
	return 0;

err_discard:
	xiw_ep_discard(ep);
	return ret;
}

/*
 * The QP is let go first: whoever hears of the failure may try again with it.
 */
static void active_report_failure(struct xiw_ep *ep, int status,
				  const void *pdata, u8 pdata_len)
{
	xiw_ep_clear_timer(ep);
	xiw_conn_detach_qp(ep);
	if (xiw_conn_report(ep, IW_CM_EVENT_CONNECT_REPLY, status, pdata,
			    pdata_len))
		/* No memory for the Private Data; the news must get there. */
		xiw_conn_report(ep, IW_CM_EVENT_CONNECT_REPLY, status, NULL, 0);
	xiw_conn_drop_cm_id(ep);
}

/**
 * xiw_active_fail() - xiw_cm_user.failed of iw_cm
 * @ep: endpoint that connects
 * @status: negative errno for the ULP
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_active_fail(struct xiw_ep *ep, int status)
{
	xiw_ep_dbg(ep, "connect failed: %d\n", status);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_FAILED);
	active_report_failure(ep, status, NULL, 0);
	return XIW_EPS_DEAD;
}

/**
 * xiw_active_abort() - the QP or the device gives up
 * @ep: endpoint that connects
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_active_abort(struct xiw_ep *ep)
{
	return xiw_active_fail(ep, -ECONNABORTED);
}

/**
 * xiw_active_timeout() - the peer took too long
 * @ep: endpoint that connects
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_active_timeout(struct xiw_ep *ep)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_TIMEOUT);
	return xiw_active_fail(ep, -ETIMEDOUT);
}

/**
 * xiw_active_send_request() - send a Request, and await the Reply
 * @ep: endpoint whose TCP connection is established
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_active_send_request(struct xiw_ep *ep)
{
	struct xiw_ep_startup *st = ep->startup;
	int len = ep->user->build_request(ep);

	if (len < 0)
		return ep->user->failed(ep, len);
	if (xiw_sock_send_buf(ep->xs, st->frame, len) != len)
		return ep->user->failed(ep, -ECONNRESET);
	st->have = 0;
	return xiw_active_reply(ep);
}

/**
 * xiw_active_connecting() - proceed if TCP has connected, or has failed
 * @ep: endpoint in XIW_EPS_CONNECTING
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_active_connecting(struct xiw_ep *ep)
{
	switch (xiw_conn_status(ep)) {
	case XIW_LLP_CONNECTING:
		return XIW_EPS_CONNECTING;
	case XIW_LLP_LOST:
		return ep->user->failed(ep, xiw_sock_error(ep->xs));
	default:
		return ep->user->connected(ep);
	}
}

/*
 * A revision 1 Responder closes on a revision 2 Request (RFC 6581 section
 * 10). That needs another TCP connection, and the administrator's word that
 * what revision 2 was wanted for can be done without.
 */
static enum xiw_ep_state active_peer_closed(struct xiw_ep *ep, int status)
{
	struct net *net;

	if (ep->policy.rev < 2 || !ep->policy.fallback || ep->startup->have ||
	    status != -ECONNRESET)
		return xiw_active_fail(ep, status);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_MPA_FALLBACK);
	ep->policy.rev = 1;
	/* Reset: the new connection may need the same local port. */
	net = xiw_sock_get_net(ep->xs);
	xiw_active_drop_sock(ep);
	status = active_open_socket(ep, net);
	put_net(net);
	if (status)
		return xiw_active_fail(ep, status);
	return xiw_active_connecting(ep);
}

static enum xiw_ep_state active_malformed(struct xiw_ep *ep)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_MPA_MALFORMED);
	return xiw_active_fail(ep, -EPROTO);
}

/**
 * xiw_active_closed() - xiw_cm_user.closed of iw_cm
 * @ep: endpoint in XIW_EPS_REPLY
 * @status: negative errno
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_active_closed(struct xiw_ep *ep, int status)
{
	return status == -EPROTO ? active_malformed(ep)
				 : active_peer_closed(ep, status);
}

/* A Terminate FPDU as the first of the stream; octets. */
static u32 active_build_terminate(const struct xiw_mpa_agreed *agreed,
				  enum xiw_reason reason, u8 *buf)
{
	u8 ulpdu[XIW_TERM_ULPDU_MAX];
	struct xiw_mpa_tx tx;
	u32 len = xiw_term_encode(ulpdu, reason, NULL);
	u32 pos = 0;

	xiw_mpa_tx_init(&tx, agreed->tx_markers);
	xiw_mpa_tx_begin(&tx, len);
	/* It is much shorter than the distance to a second Marker. */
	if (!xiw_mpa_tx_room(&tx)) {
		xiw_mpa_tx_marker(&tx, buf);
		pos = XIW_MPA_MARKER_LEN;
	}
	put_unaligned_be16(len, buf + pos);
	pos += XIW_MPA_LEN_FIELD;
	memcpy(buf + pos, ulpdu, len);
	pos += len;
	memset(buf + pos, 0, xiw_mpa_pad(len));
	pos += xiw_mpa_pad(len);
	put_unaligned_le32(~crc32c(~0, buf, pos), buf + pos);
	return pos + XIW_MPA_CRC_LEN;
}

/*
 * RFC 6581 sections 9.1 to 9.3: the Reply was accepting, but this side cannot
 * go on. The QP has no stream yet, so the Terminate is sent from here.
 */
static enum xiw_ep_state active_terminate(struct xiw_ep *ep,
					  enum xiw_reason reason, int status)
{
	u8 buf[XIW_MPA_MARKER_LEN + XIW_MPA_LEN_FIELD + XIW_TERM_ULPDU_MAX +
	       3 + XIW_MPA_CRC_LEN];
	u32 len = active_build_terminate(&ep->conn.agreed, reason, buf);

	xiw_ep_dbg(ep, "no agreement: 0x%x\n", xiw_term_code(reason));
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_FAILED);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_TERM_SENT);
	xiw_sock_send_buf(ep->xs, buf, len);
	active_report_failure(ep, status, NULL, 0);
	/* Before it has read this, the Responder must send nothing. */
	return xiw_end_hand_over(ep);
}

/* The Reply was accepting; this side has failed. */
static enum xiw_ep_state active_startup_failed(struct xiw_ep *ep, int status,
					       bool unused)
{
	return ep->conn.agreed.enhanced && unused
		       ? active_terminate(ep, XIW_MPA_LOCAL, status)
		       : xiw_active_fail(ep, status);
}

/**
 * xiw_active_established() - run the stream after the last step of startup
 * @ep: endpoint whose stream was started
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_active_established(struct xiw_ep *ep)
{
	xiw_stream_run(&ep->qp->stream, &ep->xs->llp);
	ep->extensions = XIW_EP_EXTENSIONS;
	xiw_ep_clear_timer(ep);
	xiw_ep_unwatch(ep);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_ACTIVE);
	kfree(ep->startup);
	ep->startup = NULL;
	return XIW_EPS_OPEN;
}

static enum xiw_ep_state active_establish(struct xiw_ep *ep, const void *pdata,
					  u8 pdata_len)
{
	int ret;

	ep->conn.initiator = true;
	ret = xiw_stream_start(&ep->qp->stream, &ep->xs->llp, &ep->conn);
	if (ret)
		return active_startup_failed(ep, ret, true);
	/* Before the RTR: until then the peer can be told of a failure. */
	ret = xiw_conn_report(ep, IW_CM_EVENT_CONNECT_REPLY, 0, pdata,
			      pdata_len);
	/* Unless a request that was posted has left meanwhile. */
	if (ret)
		return active_startup_failed(ep, ret, xiw_qp_stop(ep->qp, ep));
	return xiw_active_established(ep);
}

static enum xiw_ep_state active_rejected(struct xiw_ep *ep, const void *pdata,
					 u8 pdata_len)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_REJECTED);
	active_report_failure(ep, -ECONNREFUSED, pdata, pdata_len);
	return xiw_end_hand_over(ep);
}

/**
 * xiw_active_take_reply() - xiw_cm_user.reply of iw_cm
 * @ep: endpoint in XIW_EPS_REPLY
 * @verdict: on the Reply
 * @frame: the Reply
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_active_take_reply(struct xiw_ep *ep,
					enum xiw_nego_verdict verdict,
					const struct xiw_mpa_frame *frame)
{
	const void *pdata = ep->startup->frame + frame->pd_off;

	switch (verdict) {
	case XIW_NEGO_OK:
		return active_establish(ep, pdata, frame->pd_len);
	case XIW_NEGO_REJECTED:
		return active_rejected(ep, pdata, frame->pd_len);
	case XIW_NEGO_TERM_IRD:
		return active_terminate(ep, XIW_MPA_NO_IRD, -ENOMEM);
	case XIW_NEGO_TERM_RTR:
		return active_terminate(ep, XIW_MPA_NO_RTR, -EOPNOTSUPP);
	default:
		return active_malformed(ep);
	}
}

/**
 * xiw_active_reply() - read the Reply, or notice the end of the connection
 * @ep: endpoint in XIW_EPS_REPLY
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_active_reply(struct xiw_ep *ep)
{
	enum xiw_nego_verdict verdict = XIW_NEGO_CLOSE;
	struct xiw_ep_startup *st = ep->startup;
	struct xiw_mpa_frame frame = {};
	int len;

	len = xiw_conn_collect(ep, true);
	if (len == -EAGAIN)
		return XIW_EPS_REPLY;
	if (len < 0)
		return ep->user->closed(ep, len);
	if (!xiw_mpa_frame_decode(st->frame, len, true, &frame))
		verdict = xiw_nego_check_reply(&ep->policy, &st->req, &frame,
					       &ep->conn.agreed);
	return ep->user->reply(ep, verdict, &frame);
}
