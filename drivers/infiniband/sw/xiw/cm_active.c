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

/*
 * From the local address and port of the cm_id: from a port of its own, or from
 * one that other connections have, too.
 */
static int active_connect_from(struct xiw_ep *ep, struct net *net, bool shared)
{
	const struct sockaddr_storage *remote = &ep->cm_id->m_remote_addr;
	const struct sockaddr_storage *local = &ep->cm_id->m_local_addr;
	int bound_if = xiw_conn_bound_if(ep, local);
	struct xiw_sock *xs;
	int ret;

	ret = xiw_sock_create(net, remote->ss_family, &xs);
	if (ret)
		return ret;
	xiw_sock_set_silence(xs, ep->policy.silence_ms);
	if (ep->cm_id->tos_set)
		xiw_sock_set_tos(xs, remote->ss_family, ep->cm_id->tos);
	xiw_conn_own_sock(ep, xs);
	if (shared)
		ret = xiw_sock_bind_shared(xs, local, bound_if);
	else
		ret = xiw_sock_bind(xs, local, bound_if, false);
	if (!ret) {
		ret = xiw_sock_connect(xs, remote);
		/* The port has a connection to this very peer. */
		if (ret == -EADDRNOTAVAIL)
			ret = -EADDRINUSE;
	}
	if (ret) {
		ep->xs = NULL;
		xiw_sock_release(xs, true);
	}
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

/* The Request as the policy wants it, in startup.frame; octets or -EINVAL. */
static int active_build_request(struct xiw_ep *ep)
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
	ret = active_build_request(ep);
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

static enum xiw_ep_state active_fail(struct xiw_ep *ep, int status)
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
	return active_fail(ep, -ECONNABORTED);
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
	return active_fail(ep, -ETIMEDOUT);
}

static enum xiw_ep_state active_send_request(struct xiw_ep *ep)
{
	struct xiw_ep_startup *st = ep->startup;
	int len = active_build_request(ep);

	if (len < 0)
		return active_fail(ep, len);
	if (xiw_sock_send_buf(ep->xs, st->frame, len) != len)
		return active_fail(ep, -ECONNRESET);
	st->have = 0;
	return xiw_active_reply(ep);
}

/**
 * xiw_active_connecting() - TCP may have connected, or failed to
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
		return active_fail(ep, xiw_sock_error(ep->xs));
	default:
		return active_send_request(ep);
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
		return active_fail(ep, status);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_MPA_FALLBACK);
	ep->policy.rev = 1;
	/* Reset: the new connection may need the same local port. */
	net = xiw_sock_get_net(ep->xs);
	xiw_sock_release(ep->xs, true);
	ep->xs = NULL;
	status = active_open_socket(ep, net);
	put_net(net);
	if (status)
		return active_fail(ep, status);
	return xiw_active_connecting(ep);
}

static enum xiw_ep_state active_malformed(struct xiw_ep *ep)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_MPA_MALFORMED);
	return active_fail(ep, -EPROTO);
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
		       : active_fail(ep, status);
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
	xiw_stream_run(&ep->qp->stream, &ep->xs->llp);
	ep->extensions = XIW_EP_EXTENSIONS;
	xiw_ep_clear_timer(ep);
	xiw_ep_unwatch(ep);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_ACTIVE);
	kfree(ep->startup);
	ep->startup = NULL;
	return XIW_EPS_OPEN;
}

static enum xiw_ep_state active_rejected(struct xiw_ep *ep, const void *pdata,
					 u8 pdata_len)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_REJECTED);
	active_report_failure(ep, -ECONNREFUSED, pdata, pdata_len);
	return xiw_end_hand_over(ep);
}

/**
 * xiw_active_reply() - octets of the Reply may have arrived, or the end
 * @ep: endpoint in XIW_EPS_REPLY
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_active_reply(struct xiw_ep *ep)
{
	struct xiw_ep_startup *st = ep->startup;
	struct xiw_mpa_frame reply;
	const void *pdata;
	int len;

	len = xiw_conn_collect(ep, true);
	if (len == -EAGAIN)
		return XIW_EPS_REPLY;
	if (len == -EPROTO)
		return active_malformed(ep);
	if (len < 0)
		return active_peer_closed(ep, len);
	if (xiw_mpa_frame_decode(st->frame, len, true, &reply))
		return active_malformed(ep);

	pdata = st->frame + reply.pd_off;
	switch (xiw_nego_check_reply(&ep->policy, &st->req, &reply,
				     &ep->conn.agreed)) {
	case XIW_NEGO_OK:
		return active_establish(ep, pdata, reply.pd_len);
	case XIW_NEGO_REJECTED:
		return active_rejected(ep, pdata, reply.pd_len);
	case XIW_NEGO_TERM_IRD:
		return active_terminate(ep, XIW_MPA_NO_IRD, -ENOMEM);
	case XIW_NEGO_TERM_RTR:
		return active_terminate(ep, XIW_MPA_NO_RTR, -EOPNOTSUPP);
	default:
		return active_malformed(ep);
	}
}
