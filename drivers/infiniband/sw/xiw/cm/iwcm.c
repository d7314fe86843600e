// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * iw_cm, the first user of the connection manager: its calls, and the reports
 * to it. Each connect that did not fail at once is followed by exactly one
 * CONNECT_REPLY, and each established connection by exactly one CLOSE.
 * iwcm_quirks.c works around the gaps of iw_cm.
 */

/**
 * DOC: Requests in iw_cm
 *
 * A complete Request is reported to iw_cm, which creates a cm_id for it, or
 * drops the request without notice. Therefore iw_cm is given a cookie instead
 * of a pointer. Looking it up succeeds once, for accept or reject, and fails
 * when the endpoint has ended, because the peer has closed or no answer was
 * given in time. See also "the Private Data of a request" in iwcm_quirks.c.
 */
#include "cm.h"
#include "iwcm_quirks.h"

#include <linux/jiffies.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <rdma/iw_cm.h>

#include "dev.h"
#include "llp/fpdu.h"
#include "llp/sock.h"
#include "proto/mpa.h"
#include "proto/nego.h"
#include "proto/term.h"
#include "qp/ep.h"
#include "qp/qp.h"
#include "stream/stream.h"

static const struct xiw_cm_user iwcm_user;

/*
 * Reports
 */

/*
 * The peer's IRD and ORD or, if the peer sent none, the own limits. An event
 * has eight bits for each.
 */
static void iwcm_set_depths(const struct xiw_ep *ep, struct iw_cm_event *event,
			    bool valid, u16 ird, u16 ord)
{
	event->ird = min_t(u16, valid ? ird : ep->policy.max_ord, U8_MAX);
	event->ord = min_t(u16, valid ? ord : ep->policy.max_ird, U8_MAX);
}

/*
 * Without a cm_id nothing is reported. iw_cm copies Private Data; -ENOMEM if it
 * cannot, then the event is lost.
 */
static int iwcm_report(struct xiw_ep *ep, enum iw_cm_event_type type,
		       int status, const void *pdata, u8 pdata_len)
{
	const struct xiw_mpa_nego *nego = &ep->conn.nego;
	struct iw_cm_event event = {
		.event = type,
		.status = status,
		.private_data = (void *)pdata,
		.private_data_len = pdata_len,
	};

	if (!ep->cm_id)
		return 0;
	if (!ep->xs || xiw_sock_names(ep->xs, &event.local_addr,
				      &event.remote_addr)) {
		event.local_addr = ep->cm_id->local_addr;
		event.remote_addr = ep->cm_id->remote_addr;
	}
	iwcm_set_depths(ep, &event, nego->peer_values_valid,
			nego->peer_ird, nego->peer_ord);
	return ep->cm_id->event_handler(ep->cm_id, &event);
}

/* Drops the cm_id: nothing more is reported. */
static void iwcm_drop_cm_id(struct xiw_ep *ep)
{
	xiw_quirk_unwatch(ep);
	if (!ep->cm_id)
		return;
	ep->cm_id->rem_ref(ep->cm_id);
	ep->cm_id = NULL;
}

/*
 * Attach the QP that the ULP has named to a published endpoint, in the call of
 * the ULP. From now on the QP may raise XIW_EPE_ABORT. -EINVAL if there is no
 * such QP or it cannot be connected, -EPERM if the ULP does not own it,
 * -EISCONN if it has an endpoint.
 */
static int iwcm_attach_qp(struct xiw_ep *ep, const struct iw_cm_id *cm_id,
			  u32 qpn)
{
	struct xiw_qp *qp = xiw_qp_get_by_num(ep->dev, qpn);
	int ret;

	if (!qp)
		return -EINVAL;
	ret = xiw_quirk_owns(cm_id, qp);
	if (!ret)
		ret = xiw_qp_attach(qp, ep);
	xiw_qp_put(qp);
	return ret;
}

/*
 * Reports the end of a connection. iw_cm accepts CLOSE only after ESTABLISHED.
 */
static void iwcm_ended(struct xiw_ep *ep)
{
	if (ep->state == XIW_EPS_RTR)
		iwcm_report(ep, IW_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	iwcm_report(ep, IW_CM_EVENT_CLOSE, 0, NULL, 0);
	iwcm_drop_cm_id(ep);
}

/* After the peer's FIN: report DISCONNECT, once. */
static enum xiw_ep_state iwcm_peer_closing(struct xiw_ep *ep)
{
	if (!ep->disconnect_reported)
		iwcm_report(ep, IW_CM_EVENT_DISCONNECT, 0, NULL, 0);
	ep->disconnect_reported = true;
	return ep->state;
}

/*
 * Initiator
 */

/*
 * Connect from the address and port @local. If @shared, other connections may
 * have the same port.
 */
static int iwcm_connect_from(struct xiw_ep *ep, struct net *net,
			     const struct sockaddr_storage *local, bool shared)
{
	const struct sockaddr_storage *remote = &ep->cm_id->m_remote_addr;
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
		xiw_cm_add_paths(ep);
		ret = xiw_sock_connect(ep->xs, remote);
		/* The port has a connection to this very peer. */
		if (ret == -EADDRNOTAVAIL)
			ret = -EADDRINUSE;
	}
	if (ret)
		xiw_conn_drop_sock(ep);
	return ret;
}

/*
 * The port is kept even if rdma_cm has chosen it. It can be shared with other
 * connections that TCP has chosen it for, as long as these have other peers:
 * TCP does so as well. A socket that is bound to the port, or listens on it,
 * makes the connect fail.
 */
static int iwcm_open_socket(struct xiw_ep *ep, struct net *net)
{
	struct sockaddr_storage local = ep->cm_id->m_local_addr;
	int ret = iwcm_connect_from(ep, net, &local, false);

	if (ret == -EADDRINUSE && xiw_quirk_port_was_drawn(ep->cm_id, net))
		ret = iwcm_connect_from(ep, net, &local, true);
	/*
	 * RTRS makes its further connections to a peer from the port of the
	 * first one, which means nothing on other transports.
	 */
	if (ret == -EADDRINUSE && ep->qp->sq.kernel &&
	    ntohs(xiw_sock_port_of(&local)) >= PROT_SOCK) {
		xiw_sock_set_port(&local, 0);
		ret = iwcm_connect_from(ep, net, &local, false);
	}
	return ret;
}

static int iwcm_build_request(struct xiw_ep *ep)
{
	struct xiw_ep_startup *st = ep->startup;

	xiw_nego_request(&ep->policy, st->ird, st->ord, &st->req);
	st->req.pd_len = st->pdata_len;
	return xiw_conn_put_frame(ep, &st->req, st->pdata);
}

static int iwcm_set_param(struct xiw_ep *ep,
			  const struct iw_cm_conn_param *param)
{
	struct xiw_ep_startup *st = ep->startup;

	if (param->private_data_len > sizeof(st->pdata))
		return -EINVAL;
	st->ird = param->ird;
	st->ord = param->ord;
	st->pdata_len = param->private_data_len;
	if (st->pdata_len)
		memcpy(st->pdata, param->private_data, st->pdata_len);
	/*
	 * Build the Request now: what could not be sent later is refused here.
	 */
	return iwcm_build_request(ep);
}

/*
 * ib_device_ops.iw_connect. 0 if there is or will be a CONNECT_REPLY.
 * -ENETUNREACH if the device is not usable in the ULP's namespace, -EPERM if
 * the ULP does not own the QP, -EADDRINUSE if the local port is in use, or
 * another negative errno.
 */
int xiw_cm_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct xiw_dev *dev = to_xdev(cm_id->device);
	struct net *net = xiw_quirk_net(cm_id);
	struct xiw_ep *ep;
	int ret;

	if (IS_ERR(net))
		return PTR_ERR(net);
	if (cm_id->m_local_addr.ss_family != cm_id->m_remote_addr.ss_family)
		return -EAFNOSUPPORT;
	ep = xiw_ep_create(dev, &iwcm_user, false);
	if (!ep)
		return -ENOMEM;
	cm_id->add_ref(cm_id);
	ep->cm_id = cm_id;
	xiw_cm_choose_protocol(ep, &cm_id->m_remote_addr);
	ret = iwcm_set_param(ep, param);
	if (ret)
		goto err_discard;
	ret = xiw_ep_publish(ep);
	if (ret)
		goto err_discard;
	/* If the QP aborts from now on, xiw_ep_arm() handles that. */
	ret = iwcm_attach_qp(ep, cm_id, param->qpn);
	if (ret)
		goto err_discard;
	ret = iwcm_open_socket(ep, net);
	if (ret)
		goto err_discard;
	xiw_quirk_watch(ep);
	/*
	 * One timer for the whole startup: iw_cm cannot destroy the cm_id
	 * earlier.
	 */
	xiw_ep_set_timer(ep, ep->policy.reply_ms);
	xiw_ep_arm(ep, XIW_EPS_CONNECTING);
	return 0;

err_discard:
	xiw_ep_discard(ep);
	return ret;
}

/* Detach the QP before the report: the ULP may use it for another connect. */
static void iwcm_report_failure(struct xiw_ep *ep, int status,
				const void *pdata, u8 pdata_len)
{
	xiw_ep_clear_timer(ep);
	xiw_conn_detach_qp(ep);
	if (iwcm_report(ep, IW_CM_EVENT_CONNECT_REPLY, status, pdata,
			pdata_len))
		/*
		 * No memory for the Private Data: report the failure without
		 * it.
		 */
		iwcm_report(ep, IW_CM_EVENT_CONNECT_REPLY, status, NULL, 0);
	iwcm_drop_cm_id(ep);
}

static enum xiw_ep_state iwcm_fail(struct xiw_ep *ep, int status)
{
	xiw_ep_dbg(ep, "connect failed: %d\n", status);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_FAILED);
	iwcm_report_failure(ep, status, NULL, 0);
	return XIW_EPS_DEAD;
}

/* The QP or the device ends: fail the connect. */
static enum xiw_ep_state iwcm_abort(struct xiw_ep *ep)
{
	return iwcm_fail(ep, -ECONNABORTED);
}

/* The Reply did not arrive in time. */
static enum xiw_ep_state iwcm_timeout(struct xiw_ep *ep)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_TIMEOUT);
	return iwcm_fail(ep, -ETIMEDOUT);
}

/*
 * A Responder of revision 1 closes the connection on a Request of revision 2
 * (RFC 6581 section 10). If the policy permits it, try revision 1 with another
 * TCP connection.
 */
static enum xiw_ep_state iwcm_peer_closed(struct xiw_ep *ep, int status)
{
	struct net *net;

	/* Revision 1 is older than connections over SCTP. */
	if (ep->policy.rev < 2 || !ep->policy.fallback || ep->sctp ||
	    ep->startup->have || status != -ECONNRESET)
		return iwcm_fail(ep, status);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_MPA_FALLBACK);
	ep->policy.rev = 1;
	/* Reset it: the new connection may need the same local port. */
	net = xiw_sock_get_net(ep->xs);
	xiw_conn_drop_sock(ep);
	status = iwcm_open_socket(ep, net);
	put_net(net);
	if (status)
		return iwcm_fail(ep, status);
	return xiw_active_connecting(ep);
}

static enum xiw_ep_state iwcm_malformed(struct xiw_ep *ep)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_MPA_MALFORMED);
	return iwcm_fail(ep, -EPROTO);
}

static enum xiw_ep_state iwcm_closed(struct xiw_ep *ep, int status)
{
	return status == -EPROTO ? iwcm_malformed(ep)
				 : iwcm_peer_closed(ep, status);
}

/* A Terminate FPDU as the first of the stream; returns its bytes. */
static u32 iwcm_build_terminate(const struct xiw_mpa_nego *nego,
				enum xiw_reason reason, u8 *buf)
{
	u8 ulpdu[XIW_TERM_ULPDU_MAX];
	u32 len = xiw_term_encode(ulpdu, reason, NULL);
	struct xiw_tx_mpa m = {};
	u32 gap;

	xiw_tx_mpa_start(&m, nego->tx_markers, true, 1);
	gap = xiw_tx_mpa_gap(&m, len);
	memcpy(buf + gap + XIW_MPA_LEN_FIELD, ulpdu, len);
	return xiw_tx_mpa_seal(&m, buf, len, gap);
}

/*
 * RFC 6581 sections 9.1 to 9.3: the Reply accepts, but this side cannot
 * continue. The QP has no stream yet, so the Terminate is sent from here.
 */
static enum xiw_ep_state iwcm_terminate(struct xiw_ep *ep,
					enum xiw_reason reason, int status)
{
	u8 buf[XIW_MPA_MARKER_LEN + XIW_MPA_LEN_FIELD + XIW_TERM_ULPDU_MAX +
	       3 + XIW_MPA_CRC_LEN];
	u32 len = iwcm_build_terminate(&ep->conn.nego, reason, buf);

	xiw_ep_dbg(ep, "no agreement: 0x%x\n", xiw_term_code(reason));
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_FAILED);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_TERM_SENT);
	xiw_sock_send_buf(ep->xs, buf, len);
	iwcm_report_failure(ep, status, NULL, 0);
	/* The Responder sends nothing yet: no need to linger. */
	return xiw_end_startup(ep);
}

/*
 * Fail although the Reply accepts. A Terminate is possible only if @unused: the
 * stream has sent nothing.
 */
static enum xiw_ep_state iwcm_startup_failed(struct xiw_ep *ep, int status,
					     bool unused)
{
	return ep->conn.nego.enhanced && unused
		       ? iwcm_terminate(ep, XIW_MPA_LOCAL, status)
		       : iwcm_fail(ep, status);
}

static enum xiw_ep_state iwcm_establish(struct xiw_ep *ep, const void *pdata,
					u8 pdata_len)
{
	int ret;

	ep->conn.initiator = true;
	ret = xiw_stream_start(&ep->qp->stream, &ep->xs->llp, &ep->conn);
	if (ret)
		return iwcm_startup_failed(ep, ret, true);
	/* Before the RTR: until then a failure can be sent to the peer. */
	ret = iwcm_report(ep, IW_CM_EVENT_CONNECT_REPLY, 0, pdata,
			  pdata_len);
	/* A request that was posted may have been sent in the meantime. */
	if (ret)
		return iwcm_startup_failed(ep, ret, xiw_qp_stop(ep->qp, ep));
	xiw_quirk_unwatch(ep);
	return xiw_active_established(ep);
}

static enum xiw_ep_state iwcm_rejected(struct xiw_ep *ep, const void *pdata,
				       u8 pdata_len)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_REJECTED);
	iwcm_report_failure(ep, -ECONNREFUSED, pdata, pdata_len);
	return xiw_end_startup(ep);
}

static enum xiw_ep_state iwcm_take_reply(struct xiw_ep *ep,
					 enum xiw_nego_result result,
					 const struct xiw_mpa_frame *frame)
{
	const void *pdata = ep->startup->frame + frame->pd_off;

	switch (result) {
	case XIW_NEGO_OK:
		return iwcm_establish(ep, pdata, frame->pd_len);
	case XIW_NEGO_REJECTED:
		return iwcm_rejected(ep, pdata, frame->pd_len);
	case XIW_NEGO_TERM_IRD:
		return iwcm_terminate(ep, XIW_MPA_NO_IRD, -ENOMEM);
	case XIW_NEGO_TERM_RTR:
		return iwcm_terminate(ep, XIW_MPA_NO_RTR, -EOPNOTSUPP);
	default:
		return iwcm_malformed(ep);
	}
}

/*
 * Responder
 */

/* Add an entry by which accept and reject find the endpoint; 0 or -ENOMEM. */
static int iwcm_enter_request(struct xiw_ep *ep)
{
	struct xiw_dev *dev = ep->dev;

	if (ep->cookie)
		return 0;
	xiw_ep_get(ep);
	ep->cookie = atomic_long_inc_return(&dev->last_request);
	if (!xa_insert(&dev->requests, ep->cookie, ep, GFP_KERNEL))
		return 0;
	xiw_ep_put(ep);
	ep->cookie = 0;
	return -ENOMEM;
}

/*
 * Waits until iw_cm has room for the request. The delivery of an earlier
 * request raises an event, but iw_cm may also drop one without notice, so the
 * timer retries.
 */
static enum xiw_ep_state iwcm_wait_for_room(struct xiw_ep *ep)
{
	unsigned long patience = msecs_to_jiffies(ep->policy.request_ms);

	if (time_after_eq(jiffies, ep->by_peer.since + patience))
		return xiw_passive_timeout(ep);
	xiw_ep_set_timer(ep, XIW_EP_RETRY_MS);
	return XIW_EPS_READY;
}

/*
 * Refuse a Request without asking the ULP. Over SCTP only a ULP may reject (RFC
 * 5043 section 6.3), so the session is terminated.
 */
static enum xiw_ep_state iwcm_turn_away(struct xiw_ep *ep)
{
	if (!ep->sctp)
		return xiw_passive_refuse(ep, NULL, 0);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_REJECTED);
	xiw_listen_leave(ep);
	return xiw_end_startup(ep);
}

/* Report the Request, unless an older one must be reported first. */
static enum xiw_ep_state iwcm_request(struct xiw_ep *ep)
{
	const struct xiw_mpa_frame *req = &ep->startup->req;
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.local_addr = ep->startup->names.local,
		.remote_addr = ep->startup->names.remote,
	};
	int ret = xiw_quirk_check_request(ep);

	if (ret < 0)
		return iwcm_turn_away(ep);
	if (ret) {
		xiw_ep_set_timer(ep, ret);
		return XIW_EPS_READY;
	}
	if (iwcm_enter_request(ep))
		return xiw_passive_failed(ep);
	iwcm_set_depths(ep, &event, req->enhanced, req->enh.ird,
			req->enh.ord);
	event.provider_data = xa_mk_value(ep->cookie);
	xiw_quirk_set_request(ep, &event);
	/* The ULP's answer may already wait for the endpoint's lock in here. */
	ret = xiw_listen_submit(ep, &event);
	if (ret == -ENOMEM)
		return iwcm_wait_for_room(ep);
	if (ret)
		return xiw_passive_failed(ep);
	/* Twice the time after which an Initiator of xiw gives up */
	xiw_ep_set_timer(ep, 2 * ep->policy.reply_ms);
	return XIW_EPS_PENDING;
}

static int iwcm_start(struct xiw_ep *ep, const struct iw_cm_id *cm_id,
		      const struct iw_cm_conn_param *param)
{
	struct xiw_mpa_frame reply;
	int ret;

	xiw_nego_accept(&ep->policy, &ep->startup->req, param->ird, param->ord,
			&reply, &ep->conn.nego);
	reply.pd_len = param->private_data_len;
	ret = xiw_conn_put_frame(ep, &reply, param->private_data);
	if (!ret)
		ret = iwcm_attach_qp(ep, cm_id, param->qpn);
	return ret ? ret : xiw_passive_run(ep);
}

static void iwcm_established(struct xiw_ep *ep)
{
	xiw_quirk_unwatch(ep);
	iwcm_report(ep, IW_CM_EVENT_ESTABLISHED, 0, NULL, 0);
}

/*
 * Accept a request for iw_cm. After a failure iw_cm does not call iw_reject, so
 * the Request is refused here.
 */
static enum xiw_ep_state iwcm_accept(struct xiw_ep *ep, struct iw_cm_id *cm_id,
				     const struct iw_cm_conn_param *param,
				     int *ret)
{
	*ret = iwcm_start(ep, cm_id, param);
	if (*ret) {
		xiw_conn_detach_qp(ep);
		return *ret == -ECONNRESET ? xiw_passive_failed(ep)
					   : iwcm_turn_away(ep);
	}
	cm_id->add_ref(cm_id);
	ep->cm_id = cm_id;
	cm_id->provider_data = xiw_iwqp_current(ep->qp);
	xiw_quirk_watch(ep);
	return xiw_passive_replied(ep);
}

/* Answers a request. The endpoint of a request is found only once. */
static int iwcm_answer(struct iw_cm_id *cm_id, bool accept,
		       const struct iw_cm_conn_param *param)
{
	struct xiw_dev *dev = to_xdev(cm_id->device);
	enum xiw_ep_state next;
	int ret = -ECONNRESET;
	struct xiw_ep *ep;

	if (!xa_is_value(cm_id->provider_data))
		return xiw_quirk_answer_again(cm_id, accept ? param : NULL);
	/* Erasing the entry transfers its reference. */
	ep = xa_erase(&dev->requests, xa_to_value(cm_id->provider_data));
	if (!ep)
		return ret;
	xiw_ep_lock(ep);
	if (ep->state == XIW_EPS_PENDING) {
		xiw_listen_leave(ep);
		next = xiw_passive_pending(ep);
		if (next == XIW_EPS_PENDING && accept) {
			next = iwcm_accept(ep, cm_id, param, &ret);
		} else if (next == XIW_EPS_PENDING) {
			next = xiw_passive_refuse(ep, param->private_data,
						  param->private_data_len);
			ret = 0;
		}
		xiw_ep_enter(ep, next);
	}
	xiw_ep_unlock(ep);
	xiw_ep_put(ep);
	return ret;
}

/*
 * ib_device_ops.iw_accept. 0 if an ESTABLISHED event was or will be sent,
 * -ECONNRESET if the peer has closed, or another negative errno.
 */
int xiw_cm_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	return iwcm_answer(cm_id, true, param);
}

/* ib_device_ops.iw_reject. 0, or -ECONNRESET if the peer has closed. */
int xiw_cm_reject(struct iw_cm_id *cm_id, const void *pdata, u8 pdata_len)
{
	const struct iw_cm_conn_param param = {
		.private_data = pdata,
		.private_data_len = pdata_len,
	};

	return iwcm_answer(cm_id, false, &param);
}

/*
 * Listeners
 */

/*
 * ib_device_ops.iw_create_listen. iw_cm will have room for @backlog requests.
 * For errors that are not reported see xiw_quirk_listen_result().
 */
int xiw_cm_create_listen(struct iw_cm_id *cm_id, int backlog)
{
	struct xiw_dev *dev = to_xdev(cm_id->device);
	struct net *net = xiw_quirk_net(cm_id);
	iw_cm_handler handler = cm_id->cm_handler;
	struct xiw_ep *ep;
	int ret;

	if (IS_ERR(net))
		return xiw_quirk_listen_result(cm_id, PTR_ERR(net));
	ep = xiw_ep_create(dev, &iwcm_user, true);
	if (!ep)
		return xiw_quirk_listen_result(cm_id, -ENOMEM);
	cm_id->add_ref(cm_id);
	ep->cm_id = cm_id;
	xiw_quirk_take_handler(cm_id, ep->listen);
	ret = xiw_listen_start(ep, net, &cm_id->m_local_addr, cm_id->afonly);
	if (ret)
		cm_id->cm_handler = handler;
	else
		cm_id->provider_data = ep;
	return xiw_quirk_listen_result(cm_id, ret);
}

/*
 * ib_device_ops.iw_destroy_listen. Waits until no request can be reported any
 * more.
 */
int xiw_cm_destroy_listen(struct iw_cm_id *cm_id)
{
	struct xiw_ep *ep = cm_id->provider_data;

	/* The identifier does not listen, see xiw_quirk_listen_result(). */
	if (!ep)
		return 0;
	cm_id->provider_data = NULL;
	xiw_listen_stop(ep);
	return 0;
}

/* Over SCTP, an administrator cannot end a listener. */
static enum xiw_ep_state iwcm_on_listener(struct xiw_ep *ep)
{
	if (!ep->sctp && xiw_conn_status(ep) == XIW_LLP_LOST)
		return xiw_listen_reopen(ep);
	return xiw_listen_children(ep);
}

static void iwcm_teardown(struct xiw_ep *ep)
{
	/* Accept and reject must not find the endpoint any more. */
	if (ep->cookie && xa_erase(&ep->dev->requests, ep->cookie))
		xiw_ep_put(ep);
	ep->cookie = 0;
	xiw_cm_teardown(ep);
	iwcm_drop_cm_id(ep);
}

static const xiw_ep_act iwcm_acts[XIW_EPA_COUNT] = {
	[XIW_EPA_DIE]		= xiw_end_die,
	[XIW_EPA_ACCEPT]	= iwcm_on_listener,
	[XIW_EPA_UNLISTEN]	= xiw_listen_kill,
	[XIW_EPA_CONNECTING]	= xiw_active_connecting,
	[XIW_EPA_REPLY]		= xiw_active_reply,
	[XIW_EPA_LATE]		= iwcm_timeout,
	[XIW_EPA_CANCEL]	= iwcm_abort,
	[XIW_EPA_CANCEL_KILL]	= iwcm_abort,
	[XIW_EPA_REQUEST]	= xiw_passive_request,
	[XIW_EPA_NO_REQUEST]	= xiw_passive_timeout,
	[XIW_EPA_READY]		= xiw_passive_ready,
	[XIW_EPA_READY_LATE]	= xiw_passive_ready,
	[XIW_EPA_PENDING]	= xiw_passive_pending,
	[XIW_EPA_ESTABLISHED]	= xiw_passive_established,
	[XIW_EPA_PEER_CLOSED]	= iwcm_peer_closing,
	[XIW_EPA_STALLED]	= xiw_end_stalled,
	[XIW_EPA_SHUTDOWN]	= xiw_end_shutdown,
	[XIW_EPA_START_CLOSE]	= xiw_end_close_timer,
	[XIW_EPA_CLOSE]		= xiw_end_close,
	[XIW_EPA_ABORT]		= xiw_end_abort,
	[XIW_EPA_KILL]		= xiw_end_abort,
	[XIW_EPA_LINGER]	= xiw_end_linger_sock,
	[XIW_EPA_LINGER_LATE]	= xiw_end_linger_timer,
};

static const struct xiw_cm_user iwcm_user = {
	.acts = iwcm_acts,
	.get_twin = xiw_quirk_get_twin,
	.connected = xiw_active_send_request,
	.build_request = iwcm_build_request,
	.reply = iwcm_take_reply,
	.closed = iwcm_closed,
	.failed = iwcm_fail,
	.request = iwcm_request,
	.established = iwcm_established,
	.ended = iwcm_ended,
	.teardown = iwcm_teardown,
};
