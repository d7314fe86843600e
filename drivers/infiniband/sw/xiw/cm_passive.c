// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Responder: from the accepted TCP connection to the established stream (RFC
 * 5044 section 7.1, RFC 6581). Listeners are in cm_listen.c.
 *
 * DOC: requests that are with iw_cm
 *
 * When the Request is complete, it is reported to iw_cm. That makes a cm_id of
 * its own, or drops the request without a report. Therefore it gets a cookie
 * instead of a pointer: looking it up succeeds once, for accept or reject, and
 * fails when the endpoint has ended, because the peer is gone or no answer
 * came.
 * See also "the Private Data of a request" in iwcm_quirks.c.
 */
#include "cm.h"

#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <rdma/iw_cm.h>

#include "consumer.h"
#include "dev.h"
#include "ep.h"
#include "iwcm_quirks.h"
#include "proto/mpa.h"
#include "qp.h"
#include "sock.h"
#include "stream_run.h"

/**
 * xiw_passive_teardown() - accept and reject will not find it any more
 * @ep: any endpoint that ends
 *
 * Context: The endpoint is locked.
 */
void xiw_passive_teardown(struct xiw_ep *ep)
{
	if (ep->cookie && xa_erase(&ep->dev->requests, ep->cookie))
		xiw_ep_put(ep);
	ep->cookie = 0;
}

static enum xiw_ep_state passive_malformed(struct xiw_ep *ep)
{
	xiw_ep_dbg(ep, "improper MPA Request\n");
	xiw_stat_inc(ep->dev->stats, XIW_STAT_MPA_MALFORMED);
	return XIW_EPS_DEAD;
}

static enum xiw_ep_state passive_failed(struct xiw_ep *ep)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_FAILED);
	return XIW_EPS_DEAD;
}

/**
 * xiw_passive_timeout() - the Request, or iw_cm's answer to it, did not come
 * @ep: endpoint in XIW_EPS_REQUEST or XIW_EPS_PENDING
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_timeout(struct xiw_ep *ep)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_TIMEOUT);
	return XIW_EPS_DEAD;
}

/* An entry by which accept and reject find the endpoint; 0 or -ENOMEM. */
static int passive_enter_request(struct xiw_ep *ep)
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

/* Delivering a request ends the wait; the timer does if iw_cm drops one. */
static enum xiw_ep_state passive_wait_for_room(struct xiw_ep *ep)
{
	unsigned long patience = msecs_to_jiffies(ep->policy.request_ms);

	if (time_after_eq(jiffies, ep->place.since + patience))
		return xiw_passive_timeout(ep);
	xiw_ep_set_timer(ep, XIW_EP_RETRY_MS);
	return XIW_EPS_READY;
}

/**
 * xiw_passive_send_reject() - send a rejecting Reply
 * @ep: endpoint whose Request is complete
 * @pdata: Private Data
 * @pdata_len: its length in bytes
 *
 * Context: The endpoint is locked.
 * Return: true if it was sent.
 */
bool xiw_passive_send_reject(struct xiw_ep *ep, const void *pdata, u8 pdata_len)
{
	struct xiw_ep_startup *st = ep->startup;
	struct xiw_mpa_frame reply;
	int len;

	/* The Request itself was acceptable, so report our real limits. */
	xiw_nego_reject(&ep->policy, &st->req, ep->policy.max_ird,
			min(ep->policy.max_ord, st->req.enh.ird), &reply);
	reply.pd_len = pdata_len;
	len = xiw_mpa_frame_encode(st->frame, sizeof(st->frame), &reply, pdata);
	return len >= 0 && xiw_sock_send_buf(ep->xs, st->frame, len) == len;
}

/**
 * xiw_passive_refuse() - reject a Request
 * @ep: endpoint whose Request is complete
 * @pdata: Private Data
 * @pdata_len: its length in bytes
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_refuse(struct xiw_ep *ep, const void *pdata,
				     u8 pdata_len)
{
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_REJECTED);
	if (!xiw_passive_send_reject(ep, pdata, pdata_len))
		return XIW_EPS_DEAD;
	/* A peer must send nothing after its Request: no time for that. */
	return xiw_end_hand_over(ep);
}

/*
 * An accept would name a queue pair of another device: see "requests for the
 * address of another interface" in cm_listen.c.
 */
static bool passive_is_misrouted(struct xiw_ep *ep,
				 const struct sockaddr_storage *local)
{
	struct net *net = xiw_sock_get_net(ep->xs);
	int ifindex = xiw_consumer_netdev(net, local);
	bool misrouted = !xiw_consumer_takes(ep->dev, net, ifindex);
	struct net_device *netdev;

	if (misrouted) {
		rcu_read_lock();
		netdev = dev_get_by_index_rcu(net, ifindex);
		ibdev_info_ratelimited(&ep->dev->ibdev,
				       "refused a connection to %pISpc, an address of %s, which has no xiw device that listens for it\n",
				       local, netdev ? netdev->name : "no interface");
		rcu_read_unlock();
		xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_MISROUTED);
	}
	put_net(net);
	return misrouted;
}

/* The Request is complete and good: tell iw_cm. */
static enum xiw_ep_state passive_announce(struct xiw_ep *ep)
{
	const struct xiw_mpa_frame *req = &ep->startup->req;
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
	};
	int ret;

	if (xiw_sock_names(ep->xs, &event.local_addr, &event.remote_addr))
		return passive_failed(ep);
	if (passive_is_misrouted(ep, &event.local_addr))
		return xiw_passive_refuse(ep, NULL, 0);
	if (passive_enter_request(ep))
		return passive_failed(ep);
	xiw_conn_set_depths(ep, &event, req->enhanced, req->enh.ird,
			    req->enh.ord);
	event.provider_data = xa_mk_value(ep->cookie);
	/* The answer may be waiting for the turn before this returns. */
	ret = xiw_listen_submit(ep, &event);
	if (ret == -ENOMEM)
		return passive_wait_for_room(ep);
	if (ret)
		return passive_failed(ep);
	/* By then the Initiator, if it has the same patience, is gone. */
	xiw_ep_set_timer(ep, 2 * ep->policy.reply_ms);
	return XIW_EPS_PENDING;
}

/**
 * xiw_passive_request() - octets of the Request may have arrived, or the end
 * @ep: endpoint in XIW_EPS_REQUEST
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_request(struct xiw_ep *ep)
{
	struct xiw_ep_startup *st = ep->startup;
	int len;

	len = xiw_conn_collect(ep, false);
	if (len == -EAGAIN)
		return XIW_EPS_REQUEST;
	if (len == -EPROTO)
		return passive_malformed(ep);
	if (len < 0)
		return passive_failed(ep);
	if (xiw_mpa_frame_decode(st->frame, len, false, &st->req) ||
	    xiw_nego_check_request(&st->req) != XIW_NEGO_OK)
		return passive_malformed(ep);
	return ep->user->request(ep);
}

/**
 * xiw_passive_ready() - tell iw_cm of the Request, if it is its turn
 * @ep: endpoint whose Request is complete
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_ready(struct xiw_ep *ep)
{
	u32 ms;

	if (xiw_passive_pending(ep) == XIW_EPS_DEAD)
		return XIW_EPS_DEAD;
	ms = xiw_quirk_order(ep);
	if (!ms)
		return passive_announce(ep);
	xiw_ep_set_timer(ep, ms);
	return XIW_EPS_READY;
}

/**
 * xiw_passive_pending() - something happened that should not
 * @ep: endpoint whose Request is complete
 *
 * iw_cm must not hear of the end of what it has not accepted: accept and
 * reject find nothing and fail.
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_pending(struct xiw_ep *ep)
{
	/* RFC 5044 7.1.2 rule 3: no FPDU before the Reply. */
	if (xiw_sock_unread(ep->xs))
		return passive_malformed(ep);
	if (xiw_conn_status(ep) != XIW_LLP_OPEN)
		return passive_failed(ep);
	return XIW_EPS_PENDING;
}

/*
 * Answers
 */

/**
 * xiw_passive_reject() - iw_cm says no
 * @ep: endpoint in XIW_EPS_PENDING
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_reject(struct xiw_ep *ep)
{
	struct xiw_ep_command *cmd = ep->cmd;

	xiw_listen_leave(ep);
	cmd->ret = -ECONNRESET;
	if (xiw_passive_pending(ep) == XIW_EPS_DEAD)
		return XIW_EPS_DEAD;
	cmd->ret = 0;
	return xiw_passive_refuse(ep, cmd->pdata, cmd->pdata_len);
}

/**
 * xiw_passive_run() - start the stream, then send an accepting Reply
 * @ep: endpoint with a QP, and conn.agreed
 * @len: bytes of the Reply in startup.frame
 *
 * The QP is ready to receive before the Reply leaves; its transmit side waits
 * for the first FPDU of the peer (RFC 5044 section 7.1.2 rules 2 and 4). It
 * handles what has arrived only behind the Reply, so no answer can overtake
 * that.
 *
 * Context: The endpoint is locked.
 * Return: 0, -ECONNRESET if the connection has ended, or negative errno.
 */
int xiw_passive_run(struct xiw_ep *ep, int len)
{
	int ret = xiw_stream_start(&ep->qp->stream, &ep->xs->llp, &ep->conn);

	if (ret)
		return ret;
	if (xiw_sock_send_buf(ep->xs, ep->startup->frame, len) != len)
		return -ECONNRESET;
	xiw_stream_run(&ep->qp->stream, &ep->xs->llp);
	return 0;
}

static int passive_start(struct xiw_ep *ep, const struct xiw_ep_command *cmd)
{
	const struct iw_cm_conn_param *param = cmd->param;
	struct xiw_ep_startup *st = ep->startup;
	struct xiw_mpa_frame reply;
	int len;
	int ret;

	xiw_nego_accept(&ep->policy, &st->req, param->ird, param->ord, &reply,
			&ep->conn.agreed);
	reply.pd_len = param->private_data_len;
	len = xiw_mpa_frame_encode(st->frame, sizeof(st->frame), &reply,
				   param->private_data);
	if (len < 0)
		return len;
	ret = xiw_conn_attach_qp(ep, cmd->cm_id, param->qpn);
	return ret ? ret : xiw_passive_run(ep, len);
}

/**
 * xiw_passive_established() - the connection of a Responder is established
 * @ep: endpoint whose Reply was sent, and if the peer-to-peer model was agreed
 *	on, whose first FPDU was received
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_established(struct xiw_ep *ep)
{
	ep->extensions = XIW_EP_EXTENSIONS;
	/* If it closes already, the timer is about that. */
	if (!ep->closing)
		xiw_ep_clear_timer(ep);
	xiw_ep_unwatch(ep);
	xiw_conn_report(ep, IW_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_PASSIVE);
	return XIW_EPS_OPEN;
}

/**
 * xiw_passive_accept() - iw_cm says yes
 * @ep: endpoint in XIW_EPS_PENDING
 *
 * On failure iw_cm has nothing more to do with the connection, so the peer is
 * told from here.
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_accept(struct xiw_ep *ep)
{
	struct xiw_ep_command *cmd = ep->cmd;

	xiw_listen_leave(ep);
	cmd->ret = -ECONNRESET;
	if (xiw_passive_pending(ep) == XIW_EPS_DEAD)
		return XIW_EPS_DEAD;
	cmd->ret = passive_start(ep, cmd);
	if (cmd->ret) {
		xiw_conn_detach_qp(ep);
		return cmd->ret == -ECONNRESET
			       ? passive_failed(ep)
			       : xiw_passive_refuse(ep, NULL, 0);
	}
	cmd->cm_id->add_ref(cmd->cm_id);
	ep->cm_id = cmd->cm_id;
	cmd->cm_id->provider_data = cmd->handle;
	kfree(ep->startup);
	ep->startup = NULL;
	if (!ep->conn.agreed.p2p)
		return xiw_passive_established(ep);
	if (!ep->qp->kernel)
		xiw_ep_watch(ep);
	xiw_ep_set_timer(ep, ep->policy.rtr_ms);
	return XIW_EPS_RTR;
}

/**
 * xiw_passive_retract() - take an accept back, see iwcm_quirks.c
 * @ep: endpoint in XIW_EPS_RTR
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_retract(struct xiw_ep *ep)
{
	/* The QP may have gone on to another connection. */
	if (ep->cmd->cm_id != ep->cm_id)
		return XIW_EPS_RTR;
	xiw_conn_detach_qp(ep);
	xiw_conn_drop_cm_id(ep);
	ep->cmd->ret = 0;
	return passive_failed(ep);
}

static int passive_answer(struct iw_cm_id *cm_id, enum xiw_ep_event event,
			  struct xiw_ep_command *cmd)
{
	struct xiw_dev *dev = to_xdev(cm_id->device);
	struct xiw_ep *ep;
	int ret;

	/* Whoever erases the entry owns its reference. */
	ep = xa_erase(&dev->requests, xa_to_value(cm_id->provider_data));
	if (!ep)
		return -ECONNRESET;
	cmd->cm_id = cm_id;
	ret = xiw_ep_command(ep, event, cmd);
	xiw_ep_put(ep);
	return ret;
}

/**
 * xiw_cm_accept() - ib_device_ops.iw_accept
 * @cm_id: identifier of a connection request
 * @param: QP, limits and Private Data
 *
 * Context: Sleeps, but not for the peer.
 * Return: 0 if an ESTABLISHED event was or will be sent, else negative errno;
 * -ECONNRESET if the peer is gone.
 */
int xiw_cm_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct xiw_ep_command cmd = { .param = param };

	if (!xa_is_value(cm_id->provider_data))
		return xiw_quirk_accept_again(cm_id, param->qpn);
	cmd.handle = xiw_iwqp_current(to_xdev(cm_id->device), param->qpn);
	return passive_answer(cm_id, XIW_EPE_ACCEPT, &cmd);
}

/**
 * xiw_cm_reject() - ib_device_ops.iw_reject
 * @cm_id: identifier of a connection request
 * @pdata: Private Data
 * @pdata_len: its length in bytes
 *
 * Context: Sleeps, but not for the peer.
 * Return: 0, or -ECONNRESET if the peer is gone.
 */
int xiw_cm_reject(struct iw_cm_id *cm_id, const void *pdata, u8 pdata_len)
{
	struct xiw_ep_command cmd = {
		.pdata = pdata,
		.pdata_len = pdata_len,
	};

	if (!xa_is_value(cm_id->provider_data))
		return xiw_quirk_reject_accepted(cm_id);
	return passive_answer(cm_id, XIW_EPE_REJECT, &cmd);
}
