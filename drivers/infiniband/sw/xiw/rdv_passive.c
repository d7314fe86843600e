// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Responder of an out-of-band connection: validates the MPA Request, and
 * answers it once its queue pair was named this very peer. An earlier Request
 * waits among the half-open connections of its listener.
 */
#include "rdv.h"

#include <linux/random.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "cm.h"
#include "dev.h"
#include "ep.h"
#include "proto/mpa.h"
#include "proto/rendezvous.h"
#include "qp.h"
#include "sock.h"
#include "stream_run.h"

/* Requests of one host that may wait for one queue pair. */
#define WAITING_MAX	8

static enum xiw_ep_state rdv_passive_refuse(struct xiw_ep *ep,
					    enum xiw_rdv_reason reason,
					    const struct xiw_rdv_request *req)
{
	struct xiw_rdv_reply reply;

	xiw_ep_dbg(ep, "Request refused: reason %u\n", reason);
	xiw_rdv_refuse(reason, req, &reply);
	return xiw_passive_refuse(ep, ep->startup->pdata,
				  xiw_rdv_reply_encode(&reply,
						       ep->startup->pdata));
}

/* Of a Request that is not well formed. */
static enum xiw_ep_state rdv_refuse_malformed(struct xiw_ep *ep,
					      enum xiw_rdv_reason reason)
{
	if (reason == XIW_RDV_BAD_VERSION)
		ibdev_notice_ratelimited(&ep->dev->ibdev,
					 "connection by number from %pI6c refused: its version is not %u; both hosts need an xiw of the same one\n",
					 &ep->place.peer, XIW_RDV_VERSION);
	return rdv_passive_refuse(ep, reason, NULL);
}

/* Of a Request whose GIDs are not the addresses of its TCP connection */
static enum xiw_ep_state rdv_refuse_translated(struct xiw_ep *ep,
					       const struct xiw_rdv_request *req)
{
	ibdev_notice_ratelimited(&ep->dev->ibdev,
				 "connection by number from %pI6c refused: it is for GIDs %pI6c and %pI6c, which are not its addresses; where addresses are translated, use rdma_cm\n",
				 &ep->place.peer, req->init.gid, req->resp.gid);
	return rdv_passive_refuse(ep, XIW_RDV_NO_MATCH, req);
}

/* Of a Request that is complete. */
static enum xiw_rdv_reason rdv_passive_decode(struct xiw_ep *ep,
					      struct xiw_rdv_request *req)
{
	const struct xiw_mpa_frame *frame = &ep->startup->req;

	if (!frame->enhanced || !frame->enh.p2p)
		return XIW_RDV_MALFORMED;
	return xiw_rdv_request_decode(ep->startup->frame + frame->pd_off,
				      frame->pd_len, req);
}

/* Do the addresses of the TCP connection match those in the Request? */
static bool rdv_passive_is_from(struct xiw_ep *ep,
				const struct xiw_rdv_request *req)
{
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u8 to[XIW_RDV_GID_LEN];
	u8 from[XIW_RDV_GID_LEN];

	if (xiw_sock_names(ep->xs, &local, &remote))
		return false;
	/* Set once, as the numbers are in xiw_rdv_passive_judge(). */
	if (!ep->ready)
		ep->privileged = xiw_rdv_port_of(&remote) < PROT_SOCK;
	xiw_rdv_to_gid(&local, to);
	xiw_rdv_to_gid(&remote, from);
	return xiw_rdv_request_from(req, to, from);
}

/*
 * The Reply is built from the path as it was when the Request was admitted. The
 * queue pair is ready to receive before the Reply is sent.
 */
static int rdv_passive_start(struct xiw_ep *ep,
			     const struct xiw_rdv_request *req,
			     const struct xiw_rdv_path *path)
{
	struct xiw_ep_startup *st = ep->startup;
	struct xiw_rdv_reply reply;
	struct xiw_mpa_frame frame;
	int ret;

	xiw_nego_accept(&ep->policy, &st->req,
			xiw_rdv_ird(path, ep->policy.max_ird),
			xiw_rdv_ord(path, ep->policy.max_ord), &frame,
			&ep->conn.nego);
	xiw_rdv_accept(path, req, &st->nonces, XIW_RDV_FEAT_ALL, &reply);
	xiw_rdv_agree(ep, reply.features);
	frame.pd_len = xiw_rdv_reply_encode(&reply, st->pdata);
	ret = xiw_conn_put_frame(ep, &frame, st->pdata);
	if (ret)
		return ret;
	ep->conn.initiator = false;
	ep->conn.nego.ord = xiw_rdv_ord(path, ep->conn.nego.ord);
	return xiw_passive_run(ep);
}

static void rdv_passive_set_tos(struct xiw_ep *ep,
				const struct xiw_rdv_request *req, u8 tos)
{
	struct sockaddr_storage addr;

	xiw_rdv_to_addr(ep->dev, req->resp.gid, 0, &addr);
	xiw_sock_set_tos(ep->xs, addr.ss_family, tos);
}

static enum xiw_ep_state rdv_passive_admit(struct xiw_ep *ep, struct xiw_qp *qp,
					   const struct xiw_rdv_request *req,
					   const struct xiw_rdv_path *path)
{
	int ret = -ECONNRESET;

	ep->qp = qp;
	if (qp->rdv.tclass)
		rdv_passive_set_tos(ep, req, qp->rdv.tclass);
	if (xiw_listen_leave(ep))
		ret = rdv_passive_start(ep, req, path);
	if (ret) {
		xiw_rdv_undo(qp, ep);
		return ret == -ECONNRESET
			       ? XIW_EPS_DEAD
			       : rdv_passive_refuse(ep, XIW_RDV_FAILED, req);
	}
	kfree(ep->startup);
	ep->startup = NULL;
	xiw_ep_set_timer(ep, ep->policy.rtr_ms);
	return XIW_EPS_RTR;
}

/*
 * Ask the Initiator for its proof. Before that, nothing derived from a PSN is
 * sent, and no queue pair is looked up.
 */
static enum xiw_ep_state rdv_challenge(struct xiw_ep *ep,
				       const struct xiw_rdv_request *req)
{
	struct xiw_ep_startup *st = ep->startup;
	struct xiw_rdv_reply reply;

	st->nonces.init = req->nonce;
	st->nonces.resp = get_random_u64();
	xiw_rdv_challenge(req, st->nonces.resp, &reply);
	if (!xiw_passive_send_reject(ep, st->pdata,
				     xiw_rdv_reply_encode(&reply, st->pdata)))
		return XIW_EPS_DEAD;
	st->proves = true;
	return XIW_EPS_REQUEST;
}

static enum xiw_ep_state rdv_passive_wait(struct xiw_ep *ep,
					  const struct xiw_rdv_request *req)
{
	if (ep->ready)
		return XIW_EPS_READY;
	if (!xiw_listen_wait(ep, WAITING_MAX))
		return rdv_passive_refuse(ep, XIW_RDV_BUSY, req);
	xiw_ep_set_timer(ep, ep->policy.reply_ms);
	/* The queue pair may have changed to RTR concurrently. */
	xiw_ep_raise(ep, XIW_EPE_SOCK);
	return XIW_EPS_READY;
}

static enum xiw_ep_state rdv_judge_request(struct xiw_ep *ep,
					   const struct xiw_rdv_request *req)
{
	struct xiw_qp *qp = xiw_qp_get_by_num(ep->dev, ep->qpn);
	struct xiw_rdv_path path;
	int ret;

	/* Do not reveal to the peer whether the queue pair exists. */
	if (!qp)
		return rdv_passive_wait(ep, req);
	ret = xiw_rdv_admit(qp, ep, req, &path);
	if (!ret)
		return rdv_passive_admit(ep, qp, req, &path);
	xiw_qp_put(qp);
	return ret == -EBUSY ? rdv_passive_refuse(ep, XIW_RDV_BUSY, req)
			     : rdv_passive_wait(ep, req);
}

/**
 * xiw_rdv_passive_judge() - validate a Request, and answer it or let it wait
 * @ep: endpoint with a complete Request
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_rdv_passive_judge(struct xiw_ep *ep)
{
	struct xiw_rdv_request req;
	enum xiw_rdv_reason reason;

	/* RFC 5044 7.1.2 rule 3: no FPDU before the Reply. */
	if (xiw_passive_pending(ep) == XIW_EPS_DEAD)
		return XIW_EPS_DEAD;
	reason = rdv_passive_decode(ep, &req);
	if (reason != XIW_RDV_OK)
		return rdv_refuse_malformed(ep, reason);
	if (xiw_rdv_role(&req.init, &req.resp) != XIW_RDV_INITIATOR)
		return rdv_passive_refuse(ep, XIW_RDV_BAD_ROLE, &req);
	if (!rdv_passive_is_from(ep, &req))
		return rdv_refuse_translated(ep, &req);
	if (req.proves != ep->startup->proves ||
	    (req.proves && req.nonce != ep->startup->nonces.init))
		return rdv_passive_refuse(ep, XIW_RDV_MALFORMED, NULL);
	if (!req.proves)
		return rdv_challenge(ep, &req);
	/* While it waits, the listener compares them under its lock. */
	if (!ep->ready) {
		ep->qpn = req.resp.qpn;
		ep->peer_qpn = req.init.qpn;
	}
	return rdv_judge_request(ep, &req);
}

/**
 * xiw_rdv_passive_request() - xiw_cm_user.request
 * @ep: endpoint in XIW_EPS_REQUEST
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_rdv_passive_request(struct xiw_ep *ep)
{
	xiw_rdv_policy(ep);
	return xiw_rdv_passive_judge(ep);
}

/**
 * xiw_rdv_passive_late() - refuse a Request that has waited too long
 * @ep: endpoint with a waiting Request
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_rdv_passive_late(struct xiw_ep *ep)
{
	struct xiw_rdv_request req;

	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_TIMEOUT);
	rdv_passive_decode(ep, &req);
	return rdv_passive_refuse(ep, XIW_RDV_LATE, &req);
}
