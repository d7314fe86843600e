// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Responder: listeners, and their children from the accepted TCP connection
 * to the established stream (RFC 5044 section 7.1, RFC 6581).
 *
 * DOC: a listener's children
 *
 * A child is half open until its Request is complete. Their number is bounded.
 * When the bound is reached, the oldest is dropped if it had a second and
 * more, since an honest Initiator sends its Request at once; otherwise the
 * listener leaves new connections to TCP's own queue for the rest of that
 * second. So silent connections cannot lock out others, and a burst of honest
 * ones is not cut down.
 *
 * Then iw_cm is told. It makes a cm_id of its own, or drops the request
 * without telling anybody. Therefore it gets a cookie instead of a pointer:
 * looking it up succeeds once, for accept or reject, and no longer when the
 * child has ended, because the peer is gone or nobody answered.
 *
 * iw_cm copies the Private Data of a request and frees the copy behind the
 * consumer's handler, but not if it drops the request, because the listener
 * has ended: whoever connects while a server restarts would take memory from
 * the kernel for good. So it is told of requests without Private Data. These
 * stay with the child, and the listener's handler is preceded by ours, which
 * adds them. That also tells which requests nobody will ever hear of: they end
 * with the listener.
 *
 * DOC: requests that are answered twice
 *
 * Until iw_cm has processed ESTABLISHED, which in the peer-to-peer model is up
 * to the peer, neither it nor rdma_cm keeps a process from accepting a request
 * again, or from rejecting it then. For a second accept iw_cm takes another QP
 * and forgets the one that it has a reference to; and after a reject, or a
 * failed accept, it takes any event for a bug. So from the accept on the cm_id
 * remembers that QP in place of the cookie. While nothing has been reported,
 * the connection ends without a report; otherwise what iw_cm forgot is put.
 */

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include "cm.h"
#include "device.h"
#include "ep.h"
#include "mpa.h"
#include "qp.h"
#include "sock.h"

/* Every listener of the module, from listen to the end of its socket. */
static LIST_HEAD(listeners);
static DEFINE_SPINLOCK(listeners_lock);

/*
 * Children
 */

/* Leave the listener's books; it may be waiting for the place. */
static void leave_listener(struct xiw_ep *ep)
{
	struct xiw_ep_listen *listen = ep->parent->listen;
	bool full;

	spin_lock(&listen->lock);
	if (!list_empty(&ep->sibling)) {
		list_del_init(&ep->sibling);
		if (ep->told)
			listen->nr_told--;
		else
			listen->nr_half_open--;
	}
	full = listen->full;
	listen->full = false;
	spin_unlock(&listen->lock);
	if (full)
		xiw_ep_raise(ep->parent, XIW_EPE_SOCK);
}

static void join_listener(struct xiw_ep *ep, struct xiw_ep *parent)
{
	struct xiw_ep_listen *listen = parent->listen;

	xiw_ep_get(parent);
	ep->parent = parent;
	spin_lock(&listen->lock);
	list_add_tail(&ep->sibling, &listen->half_open);
	listen->nr_half_open++;
	spin_unlock(&listen->lock);
}

/*
 * A place for one more half-open child. If there is none, the listener is
 * told to come back: by its timer, or by a child that leaves.
 */
static bool make_room(struct xiw_ep *ep)
{
	struct xiw_ep_listen *listen = ep->listen;
	unsigned long now = jiffies;
	unsigned long due = now;
	struct xiw_ep *oldest;
	bool room = true;

	spin_lock(&listen->lock);
	if (listen->nr_half_open >= listen->limit) {
		oldest = list_first_entry(&listen->half_open, struct xiw_ep,
					  sibling);
		due = oldest->born + msecs_to_jiffies(XIW_EP_GRACE_MS);
		room = time_after_eq(now, due);
		if (room) {
			list_del_init(&oldest->sibling);
			listen->nr_half_open--;
			/* Its own reference lasts until it has been here. */
			xiw_ep_raise(oldest, XIW_EPE_KILL);
			xiw_stat_inc(ep->dev, XIW_STAT_CONN_TIMEOUT);
		}
		listen->full = !room;
	}
	spin_unlock(&listen->lock);
	if (!room)
		xiw_ep_set_timer(ep, jiffies_to_msecs(due - now));
	return room;
}

static int adopt(struct xiw_ep *parent, struct xiw_sock *xs)
{
	struct xiw_ep *ep;
	int ret;

	ep = xiw_ep_create(parent->dev, false);
	if (!ep) {
		xiw_sock_release(xs, true);
		return -ENOMEM;
	}
	xiw_sock_set_keepalive(xs, XIW_EP_KEEPIDLE_S, XIW_EP_KEEPINTVL_S,
			       XIW_EP_KEEPCNT);
	xiw_ep_own_sock(ep, xs);
	join_listener(ep, parent);
	ret = xiw_ep_publish(ep);
	if (ret) {
		xiw_ep_discard(ep);
		return ret;
	}
	xiw_ep_set_timer(ep, ep->policy.request_ms);
	xiw_ep_arm(ep, XIW_EPS_REQUEST);
	return 0;
}

/**
 * xiw_passive_listen() - connections may wait to be accepted
 * @ep: listener
 *
 * Context: The endpoint's work.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_listen(struct xiw_ep *ep)
{
	struct xiw_sock *xs;
	int ret;

	while (make_room(ep)) {
		ret = xiw_sock_accept(ep->xs, &xs);
		/* No more now, or, if an administrator ended it, ever. */
		if (ret == -EAGAIN || ret == -EINVAL)
			break;
		if (!ret)
			ret = adopt(ep, xs);
		if (ret) {
			xiw_ep_dbg(ep, "accepting failed: %d\n", ret);
			xiw_stat_inc(ep->dev, XIW_STAT_CONN_FAILED);
			/* What still waits in TCP will not announce itself. */
			xiw_ep_set_timer(ep, XIW_EP_RETRY_MS);
			break;
		}
	}
	return XIW_EPS_LISTEN;
}

/**
 * xiw_passive_listen_kill() - end a listener
 * @ep: listener
 *
 * Children end with it if no consumer has heard of them. The others do not:
 * somebody may be about to accept one of them.
 *
 * Context: The endpoint's work.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_listen_kill(struct xiw_ep *ep)
{
	struct xiw_ep_listen *listen = ep->listen;
	struct xiw_ep *child;

	spin_lock(&listen->lock);
	listen->closed = true;
	list_for_each_entry(child, &listen->half_open, sibling)
		xiw_ep_raise(child, XIW_EPE_KILL);
	list_for_each_entry(child, &listen->told, sibling) {
		/* If one hears of it right now, its answer comes too late. */
		if (READ_ONCE(child->unheard))
			xiw_ep_raise(child, XIW_EPE_KILL);
	}
	spin_unlock(&listen->lock);
	return XIW_EPS_DEAD;
}

/* For good: accept and reject will not find it any more. */
static void forget_cookie(struct xiw_ep *ep)
{
	if (ep->cookie && xa_erase(&ep->dev->requests, ep->cookie))
		xiw_ep_put(ep);
	ep->cookie = 0;
}

/**
 * xiw_passive_bury() - give back what only this file knows of
 * @ep: any endpoint that ends
 *
 * Context: The endpoint's work, or its creator.
 */
void xiw_passive_bury(struct xiw_ep *ep)
{
	if (ep->listen) {
		spin_lock(&listeners_lock);
		list_del_init(&ep->listen->node);
		spin_unlock(&listeners_lock);
	}
	forget_cookie(ep);
	if (ep->parent) {
		leave_listener(ep);
		xiw_ep_put(ep->parent);
		ep->parent = NULL;
	}
}

static enum xiw_ep_state malformed(struct xiw_ep *ep)
{
	xiw_ep_dbg(ep, "improper MPA Request\n");
	xiw_stat_inc(ep->dev, XIW_STAT_MPA_MALFORMED);
	return XIW_EPS_DEAD;
}

static enum xiw_ep_state failed(struct xiw_ep *ep)
{
	xiw_stat_inc(ep->dev, XIW_STAT_CONN_FAILED);
	return XIW_EPS_DEAD;
}

/**
 * xiw_passive_timeout() - the Request, or iw_cm's answer to it, did not come
 * @ep: endpoint in XIW_EPS_REQUEST or XIW_EPS_PENDING
 *
 * Context: The endpoint's work.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_timeout(struct xiw_ep *ep)
{
	xiw_stat_inc(ep->dev, XIW_STAT_CONN_TIMEOUT);
	return XIW_EPS_DEAD;
}

/*
 * Under the listener's lock, so that after the listener has ended nobody uses
 * its cm_id.
 */
static int submit(struct xiw_ep *ep, struct iw_cm_event *event)
{
	struct xiw_ep_listen *listen = ep->parent->listen;
	struct iw_cm_id *cm_id;
	int ret = -ECONNABORTED;

	spin_lock(&listen->lock);
	cm_id = ep->parent->cm_id;
	if (!listen->closed && listen->nr_told < listen->limit) {
		ep->told = true;
		listen->nr_told++;
		list_add_tail(&ep->sibling, &listen->told);
		ret = cm_id->event_handler(cm_id, event);
	}
	spin_unlock(&listen->lock);
	return ret;
}

/*
 * The first handler of a request, see above; iw_cm calls it once. @cm_id is
 * the new one, which was given the listener's handler. The end of the listener
 * waits for a handler that runs, and with it the end of the device.
 */
static int request_handler(struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	struct xiw_dev *dev = to_xdev(cm_id->device);
	const struct xiw_mpa_frame *req;
	struct xiw_ep *ep;
	int ret = 0;

	xa_lock(&dev->requests);
	ep = xa_load(&dev->requests, xa_to_value(event->provider_data));
	/* As long as the entry is there, ep has all that it began with. */
	if (!ep || !ep->unheard) {
		/* Gone before anybody heard of it. */
		ret = -ECONNRESET;
		goto unlock;
	}
	WRITE_ONCE(ep->unheard, false);
	cm_id->cm_handler = ep->parent->listen->handler;
	req = &ep->startup->req;
	if (!req->pd_len)
		goto unlock;
	event->private_data = kmemdup(ep->startup->frame + req->pd_off,
				      req->pd_len, GFP_ATOMIC);
	if (event->private_data)
		event->private_data_len = req->pd_len;
	else
		ret = -ENOMEM;
unlock:
	xa_unlock(&dev->requests);
	/* From here on as if we had not been there: iw_cm frees its "copy". */
	return ret ? ret : cm_id->cm_handler(cm_id, event);
}

/* The Request is complete and good: tell iw_cm. */
static enum xiw_ep_state announce(struct xiw_ep *ep)
{
	const struct xiw_mpa_frame *req = &ep->startup->req;
	struct xiw_dev *dev = ep->dev;
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
	};

	if (xiw_sock_names(ep->xs, &event.local_addr, &event.remote_addr))
		return failed(ep);
	xiw_ep_set_depths(ep, &event, req->enhanced, req->enh.ird,
			  req->enh.ord);
	ep->unheard = true;
	xiw_ep_get(ep);
	if (xa_alloc_cyclic(&dev->requests, &ep->cookie, ep, xa_limit_31b,
			    &dev->next_request, GFP_KERNEL) < 0) {
		xiw_ep_put(ep);
		ep->cookie = 0;
		return failed(ep);
	}
	event.provider_data = xa_mk_value(ep->cookie);
	/* The answer may be under way before this returns, as an event. */
	if (submit(ep, &event))
		return failed(ep);
	/* By then the Initiator, if it has the same patience, is gone. */
	xiw_ep_set_timer(ep, 2 * ep->policy.reply_ms);
	return XIW_EPS_PENDING;
}

/**
 * xiw_passive_request() - octets of the Request may have arrived, or the end
 * @ep: endpoint in XIW_EPS_REQUEST
 *
 * Context: The endpoint's work.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_request(struct xiw_ep *ep)
{
	struct xiw_ep_startup *st = ep->startup;
	int len;

	len = xiw_ep_collect(ep, false);
	if (len == -EAGAIN)
		return XIW_EPS_REQUEST;
	if (len == -EPROTO)
		return malformed(ep);
	if (len < 0)
		return failed(ep);
	if (xiw_mpa_frame_decode(st->frame, len, false, &st->req) ||
	    xiw_nego_check_request(&st->req) != XIW_NEGO_OK)
		return malformed(ep);
	/* RFC 5044 7.1.2 rule 3: no FPDU before the Reply. */
	if (xiw_sock_unread(ep->xs))
		return malformed(ep);
	/* No longer half open. */
	leave_listener(ep);
	return announce(ep);
}

/**
 * xiw_passive_pending() - something happened that should not
 * @ep: endpoint in XIW_EPS_PENDING
 *
 * iw_cm must not hear of the end of what it has not accepted: accept and
 * reject find nothing and fail.
 *
 * Context: The endpoint's work.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_pending(struct xiw_ep *ep)
{
	if (xiw_sock_unread(ep->xs))
		return malformed(ep);
	if (xiw_sock_status(ep->xs) != XIW_SOCK_OPEN)
		return failed(ep);
	return XIW_EPS_PENDING;
}

/*
 * Answers
 */

static enum xiw_ep_state refuse(struct xiw_ep *ep, const void *pdata,
				u8 pdata_len)
{
	struct xiw_ep_startup *st = ep->startup;
	struct xiw_mpa_frame reply;
	int len;

	/* Nothing but the consumer's will stood in the way of the Request. */
	xiw_nego_reject(&ep->policy, &st->req, ep->policy.max_ird,
			min(ep->policy.max_ord, st->req.enh.ird), &reply);
	reply.pd_len = pdata_len;
	len = xiw_mpa_frame_encode(st->frame, sizeof(st->frame), &reply, pdata);
	xiw_stat_inc(ep->dev, XIW_STAT_CONN_REJECTED);
	if (len < 0 || xiw_sock_send_buf(ep->xs, st->frame, len) != len)
		return XIW_EPS_DEAD;
	return xiw_ep_linger(ep);
}

/**
 * xiw_passive_reject() - iw_cm says no
 * @ep: endpoint in XIW_EPS_PENDING
 *
 * Context: The endpoint's work.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_reject(struct xiw_ep *ep)
{
	const struct xiw_ep_command *cmd = ep->cmd;
	enum xiw_ep_state next;

	leave_listener(ep);
	next = refuse(ep, cmd->pdata, cmd->pdata_len);
	xiw_ep_answer(ep, 0);
	return next;
}

/*
 * The QP is ready to receive before the Reply leaves; its transmit side waits
 * for the peer's first FPDU (RFC 5044 section 7.1.2 rules 2 and 4).
 */
static int start(struct xiw_ep *ep, const struct iw_cm_conn_param *param)
{
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
	ret = xiw_ep_attach_qp(ep, param->qpn);
	if (ret)
		return ret;
	ret = xiw_qp_start(ep->qp, ep->xs, &ep->conn);
	if (ret)
		return ret;
	if (xiw_sock_send_buf(ep->xs, st->frame, len) != len)
		return -ECONNRESET;
	return 0;
}

/**
 * xiw_passive_established() - tell iw_cm that the connection stands
 * @ep: endpoint whose Reply was sent, and if the peer-to-peer model was agreed
 *	on, whose first FPDU was received
 *
 * Context: The endpoint's work.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_established(struct xiw_ep *ep)
{
	/* If it closes already, the timer is about that. */
	if (!ep->closing)
		xiw_ep_clear_timer(ep);
	xiw_ep_report(ep, IW_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	xiw_stat_inc(ep->dev, XIW_STAT_CONN_PASSIVE);
	return XIW_EPS_OPEN;
}

/**
 * xiw_passive_accept() - iw_cm says yes
 * @ep: endpoint in XIW_EPS_PENDING
 *
 * On failure iw_cm has nothing more to do with the connection, so the peer is
 * told from here.
 *
 * Context: The endpoint's work.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_accept(struct xiw_ep *ep)
{
	const struct xiw_ep_command *cmd = ep->cmd;
	enum xiw_ep_state next;
	int ret;

	leave_listener(ep);
	if (xiw_passive_pending(ep) == XIW_EPS_DEAD)
		return XIW_EPS_DEAD;
	ret = start(ep, cmd->param);
	if (ret) {
		xiw_ep_detach_qp(ep);
		next = ret == -ECONNRESET ? failed(ep) : refuse(ep, NULL, 0);
		xiw_ep_answer(ep, ret);
		return next;
	}
	cmd->cm_id->add_ref(cmd->cm_id);
	ep->cm_id = cmd->cm_id;
	cmd->cm_id->provider_data = ep->qp;
	kfree(ep->startup);
	ep->startup = NULL;
	if (ep->conn.agreed.p2p) {
		xiw_ep_set_timer(ep, ep->policy.rtr_ms);
		next = XIW_EPS_RTR;
	} else {
		next = xiw_passive_established(ep);
	}
	xiw_ep_answer(ep, 0);
	return next;
}

/**
 * xiw_passive_retract() - an accept is taken back, see above
 * @ep: endpoint in XIW_EPS_RTR
 *
 * Context: The endpoint's work.
 * Return: Next state.
 */
enum xiw_ep_state xiw_passive_retract(struct xiw_ep *ep)
{
	/* The QP may have gone on to another connection. */
	if (ep->cmd->cm_id != ep->cm_id) {
		xiw_ep_answer(ep, -EINVAL);
		return XIW_EPS_RTR;
	}
	xiw_ep_detach_qp(ep);
	xiw_ep_drop_cm_id(ep);
	xiw_ep_answer(ep, 0);
	return failed(ep);
}

/* @qp is the one that iw_cm has, or had, its reference to. */
static int retract(struct iw_cm_id *cm_id, struct xiw_qp *qp)
{
	struct xiw_ep_command cmd = { .cm_id = cm_id };
	struct xiw_ep *ep = xiw_qp_get_ep(qp);
	int ret;

	if (!ep)
		return -ECONNRESET;
	ret = xiw_ep_command(ep, XIW_EPE_REJECT, &cmd);
	xiw_ep_put(ep);
	return ret;
}

static int reject_accepted(struct iw_cm_id *cm_id)
{
	struct xiw_qp *qp = cm_id->provider_data;
	int ret;

	if (!qp)
		return -EINVAL;
	ret = retract(cm_id, qp);
	if (ret)
		return ret;
	cm_id->provider_data = NULL;
	xiw_qp_disown(&qp->ibqp);
	return 0;
}

static int accept_again(struct iw_cm_id *cm_id, u32 qpn)
{
	struct xiw_qp *forgotten = cm_id->provider_data;
	struct xiw_qp *qp = NULL;
	int ret = 0;

	if (!forgotten)
		return 0;
	if (!retract(cm_id, forgotten))
		ret = -EINVAL;
	else
		qp = xiw_qp_get_by_num(to_xdev(cm_id->device), qpn);
	cm_id->provider_data = qp;
	/* iw_cm has its own reference to it. */
	if (qp)
		xiw_qp_put(qp);
	xiw_qp_put(forgotten);
	return ret;
}

static int answer(struct iw_cm_id *cm_id, enum xiw_ep_event event,
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
		return accept_again(cm_id, param->qpn);
	return answer(cm_id, XIW_EPE_ACCEPT, &cmd);
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
		return reject_accepted(cm_id);
	return answer(cm_id, XIW_EPE_REJECT, &cmd);
}

/*
 * Listeners
 */

static void listen_init(struct xiw_ep *ep, struct iw_cm_id *cm_id, int backlog)
{
	struct xiw_ep_listen *listen = ep->listen;

	spin_lock_init(&listen->lock);
	listen->limit = clamp_t(int, backlog, XIW_EP_BACKLOG_MIN,
				XIW_MAX_LISTEN_BACKLOG);
	INIT_LIST_HEAD(&listen->half_open);
	INIT_LIST_HEAD(&listen->told);
	listen->handler = cm_id->cm_handler;
	listen->ep = ep;
	INIT_LIST_HEAD(&listen->node);
	cm_id->add_ref(cm_id);
	ep->cm_id = cm_id;
}

static int open_listener(struct xiw_ep *ep, struct net *net)
{
	const struct sockaddr_storage *addr = &ep->cm_id->m_local_addr;
	struct xiw_sock *xs;
	int ret;

	ret = xiw_sock_create(net, addr->ss_family, &xs);
	if (ret)
		return ret;
	if (ep->cm_id->tos_set)
		xiw_sock_set_tos(xs, addr->ss_family, ep->cm_id->tos);
	xiw_ep_own_sock(ep, xs);
	ret = xiw_sock_bind(xs, addr, xiw_ep_bound_if(ep, addr),
			    ep->cm_id->afonly);
	if (ret)
		return ret;
	return xiw_sock_listen(xs, ep->listen->limit);
}

static int start_listener(struct xiw_ep *ep)
{
	struct net *net;
	int ret;

	net = xiw_ep_get_net(ep);
	if (!net)
		return -ENETDOWN;
	ret = open_listener(ep, net);
	if (!ret)
		ret = xiw_ep_publish(ep);
	if (!ret) {
		ep->listen->net = net;
		spin_lock(&listeners_lock);
		list_add_tail(&ep->listen->node, &listeners);
		spin_unlock(&listeners_lock);
		xiw_ep_arm(ep, XIW_EPS_LISTEN);
	}
	/* Only now can the namespace go; it will find the listener. */
	put_net(net);
	return ret;
}

/**
 * xiw_cm_create_listen() - ib_device_ops.iw_create_listen
 * @cm_id: identifier with the local address; a reference is taken
 * @backlog: connection requests that may wait
 *
 * Context: Sleeps.
 * Return: 0 or negative errno.
 */
int xiw_cm_create_listen(struct iw_cm_id *cm_id, int backlog)
{
	struct xiw_ep *ep;
	int ret;

	ep = xiw_ep_create(to_xdev(cm_id->device), true);
	if (!ep)
		return -ENOMEM;
	listen_init(ep, cm_id, backlog);
	/* For xiw_cm_destroy_listen(), whatever becomes of the listener. */
	xiw_ep_get(ep);
	cm_id->provider_data = ep;
	cm_id->cm_handler = request_handler;
	ret = start_listener(ep);
	if (ret) {
		cm_id->cm_handler = ep->listen->handler;
		cm_id->provider_data = NULL;
		xiw_ep_put(ep);
		xiw_ep_discard(ep);
	}
	return ret;
}

/**
 * xiw_cm_destroy_listen() - ib_device_ops.iw_destroy_listen
 * @cm_id: identifier of a listener
 *
 * Context: Sleeps until no request can be reported any more.
 * Return: 0.
 */
int xiw_cm_destroy_listen(struct iw_cm_id *cm_id)
{
	struct xiw_ep *ep = cm_id->provider_data;

	cm_id->provider_data = NULL;
	xiw_ep_raise(ep, XIW_EPE_KILL);
	wait_for_completion(&ep->dead);
	xiw_ep_put(ep);
	return 0;
}

static struct xiw_ep *find_listener(const struct net *net)
{
	struct xiw_ep_listen *listen;
	struct xiw_ep *ep;

	lockdep_assert_held(&listeners_lock);

	list_for_each_entry(listen, &listeners, node) {
		if (net_eq(listen->net, net)) {
			ep = listen->ep;
			xiw_ep_get(ep);
			return ep;
		}
	}
	return NULL;
}

/*
 * A namespace ends. Connections keep theirs alive, listeners do not, see
 * sock.c, and must be gone before TCP is. Most are: they end with the netdev.
 * But a netdev may outlive its namespace and be moved instead, and then its
 * device is removed with nobody waiting for it.
 */
static void __net_exit end_net(struct net *net)
{
	struct xiw_ep *ep;

	for (;;) {
		spin_lock(&listeners_lock);
		ep = find_listener(net);
		spin_unlock(&listeners_lock);
		if (!ep)
			break;
		xiw_ep_raise(ep, XIW_EPE_KILL);
		wait_for_completion(&ep->dead);
		xiw_ep_put(ep);
	}
}

static struct pernet_operations cm_net_ops = {
	.exit = end_net,
};

/**
 * xiw_cm_init() - prepare the module for listeners
 *
 * Context: Sleeps.
 * Return: 0 or negative errno.
 */
int xiw_cm_init(void)
{
	/* A device's operations: namespaces lose them first. */
	return register_pernet_device(&cm_net_ops);
}

/**
 * xiw_cm_exit() - undo xiw_cm_init()
 *
 * Context: Sleeps; no device exists.
 */
void xiw_cm_exit(void)
{
	unregister_pernet_device(&cm_net_ops);
}
