// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pairs: the verbs on them, the one place that changes their state, and
 * the beginning and end of their stream.
 *
 * DOC: end of a stream
 *
 * Whatever ends a stream goes through xiw_qp_event(). Its table says what
 * follows; what cannot be done in the caller's context becomes a request to
 * the endpoint, whose work calls xiw_qp_stop(), or is left to the flush work.
 *
 * Both queues are flushed by the flush work only, which never runs twice at a
 * time: with the socket lock held while a stream is attached, alone
 * afterwards. Having flushed everything it sets sq.stopped and looks once
 * more; from then on everybody who posts queues the work again.
 */

#include <linux/mm.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "cm.h"
#include "compat.h"
#include "cq.h"
#include "device.h"
#include "mem.h"
#include "qp.h"
#include "sock.h"
#include "trace.h"

static enum ib_qp_state to_ib_state(const struct xiw_qp *qp)
{
	switch (qp->state) {
	case XIW_QPS_RTS:
		return IB_QPS_RTS;
	case XIW_QPS_CLOSING:
		return IB_QPS_SQD;
	case XIW_QPS_TERMINATE:
		return IB_QPS_SQE;
	case XIW_QPS_ERROR:
		return IB_QPS_ERR;
	default:
		/* RESET and INIT differ only for the consumer. */
		return qp->ib_state;
	}
}

static void qp_release(struct kref *ref)
{
	struct xiw_qp *qp = container_of(ref, struct xiw_qp, ref);

	complete(&qp->freed);
}

/**
 * xiw_qp_get() - take a reference
 * @qp: queue pair to which the caller has one
 *
 * Context: Any.
 */
void xiw_qp_get(struct xiw_qp *qp)
{
	kref_get(&qp->ref);
}

/**
 * xiw_qp_put() - drop a reference
 * @qp: queue pair
 *
 * Context: Any. The memory is freed by whoever destroys the queue pair.
 */
void xiw_qp_put(struct xiw_qp *qp)
{
	kref_put(&qp->ref, qp_release);
}

/**
 * xiw_qp_add_ref() - ib_device_ops.iw_add_ref
 * @ibqp: queue pair
 *
 * Context: Any.
 */
void xiw_qp_add_ref(struct ib_qp *ibqp)
{
	xiw_qp_get(to_xqp(ibqp));
}

/**
 * xiw_qp_rem_ref() - ib_device_ops.iw_rem_ref
 * @ibqp: queue pair
 *
 * Context: Any.
 */
void xiw_qp_rem_ref(struct ib_qp *ibqp)
{
	xiw_qp_put(to_xqp(ibqp));
}

/**
 * xiw_qp_get_by_num() - find a queue pair
 * @dev: device
 * @qpn: its number
 *
 * Context: Any with interrupts on.
 * Return: The queue pair with a reference for the caller, or NULL.
 */
struct xiw_qp *xiw_qp_get_by_num(struct xiw_dev *dev, u32 qpn)
{
	struct xiw_qp *qp;

	xa_lock_bh(&dev->qps);
	qp = xa_load(&dev->qps, qpn);
	/* Destroy erases it under this lock before its last reference goes. */
	if (qp)
		xiw_qp_get(qp);
	xa_unlock_bh(&dev->qps);
	return qp;
}

/**
 * xiw_qp_get_ibqp() - ib_device_ops.iw_get_qp
 * @ibdev: device
 * @qpn: QP number
 *
 * Context: Any. The core takes its own reference.
 * Return: The queue pair or NULL.
 */
struct ib_qp *xiw_qp_get_ibqp(struct ib_device *ibdev, int qpn)
{
	struct xiw_qp *qp = xa_load(&to_xdev(ibdev)->qps, qpn);

	return qp ? &qp->ibqp : NULL;
}

/**
 * xiw_qp_get_sock() - the socket of the attached stream
 * @qp: queue pair
 *
 * Who has locked it must check that it still is @qp->xs.
 *
 * Context: Any with interrupts on.
 * Return: The socket with a reference, or NULL.
 */
struct xiw_sock *xiw_qp_get_sock(struct xiw_qp *qp)
{
	struct xiw_sock *xs;

	spin_lock_bh(&qp->lock);
	xs = qp->xs;
	if (xs)
		xiw_sock_get(xs);
	spin_unlock_bh(&qp->lock);
	return xs;
}

static void event_work(struct work_struct *work)
{
	struct xiw_qp *qp = container_of(work, struct xiw_qp, event_work);
	struct ib_event event = { .device = qp->ibqp.device };
	int bit;

	event.element.qp = &qp->ibqp;
	for (bit = 0; bit < BITS_PER_LONG; bit++) {
		if (!test_and_clear_bit(bit, &qp->events))
			continue;
		event.event = bit;
		if (qp->ibqp.event_handler)
			qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
	}
	xiw_qp_put(qp);
}

static void queue_qp_work(struct xiw_qp *qp, struct workqueue_struct *wq,
			  struct work_struct *work)
{
	/* The work holds a reference while it is queued. */
	xiw_qp_get(qp);
	if (!queue_work(wq, work))
		xiw_qp_put(qp);
}

/**
 * xiw_qp_async() - report an asynchronous event
 * @qp: queue pair
 * @event: which; the same one twice in a row may be reported once
 *
 * Delivered from a work item: the consumer's handler may sleep, and is never
 * called from the consumer's own call.
 *
 * Context: Any.
 */
void xiw_qp_async(struct xiw_qp *qp, enum ib_event_type event)
{
	set_bit(event, &qp->events);
	/* What a consumer does there is not for a queue of ours to wait for. */
	queue_qp_work(qp, system_dfl_wq, &qp->event_work);
}

/* What refers to work requests goes before they do. */
static void forget_messages(struct xiw_qp *qp)
{
	if (qp->tx.source != XIW_TX_TERM)
		qp->tx.source = XIW_TX_NONE;
	qp->rx.dead = true;
	qp->irq_head = qp->irq_tail;
	qp->orq_head = qp->orq_tail;
}

static void flush_both(struct xiw_qp *qp)
{
	bool more;

	forget_messages(qp);
	xiw_sq_want_doorbell(&qp->sq, XIW_RING_NEED_DB);
	if (!qp->srq)
		xiw_rq_want_doorbell(&qp->rq, true);
	xiw_sq_flush(qp);
	xiw_rq_flush(qp);
	WRITE_ONCE(qp->sq.stopped, true);
	/* Pairs with the barrier between posting and reading "stopped". */
	smp_mb();
	more = xiw_sq_flush(qp);
	more |= xiw_rq_flush(qp);
	/* Others' turn; and nobody hears of a queue pair that goes away. */
	if (more && !READ_ONCE(qp->destroying))
		xiw_qp_late_flush(qp);
}

static void flush_work_fn(struct work_struct *work)
{
	struct xiw_qp *qp = container_of(work, struct xiw_qp, flush_work);
	struct xiw_sock *xs = xiw_qp_get_sock(qp);
	enum xiw_qp_state state;

	if (xs)
		xiw_sock_lock(xs);
	state = READ_ONCE(qp->state);
	if (state == XIW_QPS_ERROR || state == XIW_QPS_TERMINATE)
		flush_both(qp);
	if (xs) {
		xiw_sock_unlock(xs);
		xiw_sock_put(xs);
	}
	xiw_qp_put(qp);
}

/**
 * xiw_qp_late_flush() - something was posted after the stream has ended
 * @qp: queue pair
 *
 * Context: Any.
 */
void xiw_qp_late_flush(struct xiw_qp *qp)
{
	queue_qp_work(qp, xiw_wq, &qp->flush_work);
}

/**
 * xiw_qp_request() - ask the endpoint for something
 * @qp: queue pair; nothing happens if it has no endpoint
 * @requests: XIW_EP_*
 *
 * Context: Any with interrupts on.
 */
void xiw_qp_request(struct xiw_qp *qp, u32 requests)
{
	spin_lock_bh(&qp->lock);
	if (qp->ep)
		xiw_ep_request(qp->ep, requests);
	spin_unlock_bh(&qp->lock);
}

/* What the actions of a transition mean to the endpoint. */
static u32 to_requests(enum xiw_qp_event event, enum xiw_qp_state next,
		       u32 actions)
{
	u32 requests = 0;

	if (actions & XIW_QPA_ABORT)
		requests |= event == XIW_QPE_LLP_LOST ? XIW_EP_LOST :
			XIW_EP_ABORT;
	else if (actions & XIW_QPA_CLOSE)
		requests |= XIW_EP_CLOSE;
	/*
	 * Behind a Terminate, in either direction, nothing is sent any more:
	 * the endpoint can wind the connection down without us.
	 */
	if (actions & XIW_QPA_SHUTDOWN && next != XIW_QPS_CLOSING)
		requests |= XIW_EP_CLOSE;
	if (actions & XIW_QPA_ARM_TIMER)
		requests |= XIW_EP_CLOSE_TIMER;
	if (actions & XIW_QPA_DISCONNECT)
		requests |= XIW_EP_PEER_CLOSED;
	return requests;
}

/**
 * xiw_qp_event() - something happened to the stream
 * @qp: queue pair
 * @event: what
 *
 * Context: Any with interrupts on. Events that come from the data path hold
 * the socket lock.
 */
void xiw_qp_event(struct xiw_qp *qp, enum xiw_qp_event event)
{
	struct xiw_qp_step step;
	enum xiw_qp_state old;
	u32 requests;

	spin_lock_bh(&qp->lock);
	old = qp->state;
	step = xiw_qpstate_step(old, event);
	if (!step.legal) {
		spin_unlock_bh(&qp->lock);
		/* Those that come from a consumer or a timer may be late. */
		WARN_ON_ONCE(event != XIW_QPE_RESET &&
			     event != XIW_QPE_LOCAL_CLOSE &&
			     event != XIW_QPE_CLOSE_TIMEOUT);
		return;
	}
	WRITE_ONCE(qp->state, step.next);
	WRITE_ONCE(qp->ib_state, to_ib_state(qp));
	trace_qp_state(qp, event, old, step.next);
	requests = to_requests(event, step.next, step.actions);
	if (qp->ep && requests)
		xiw_ep_request(qp->ep, requests);
	spin_unlock_bh(&qp->lock);

	if (step.next == XIW_QPS_CLOSING && old == XIW_QPS_RTS)
		WRITE_ONCE(qp->tx.fin, true);
	if (step.actions & XIW_QPA_FLUSH)
		queue_qp_work(qp, xiw_wq, &qp->flush_work);
	if (step.actions & XIW_QPA_EVENT_FATAL)
		xiw_qp_async(qp, event == XIW_QPE_FAULT ? qp->fault_event :
			     IB_EVENT_QP_FATAL);
}

static enum ib_event_type fault_event(enum xiw_reason reason)
{
	switch (xiw_term_event(reason)) {
	case XIW_EVENT_ACCESS:
		return IB_EVENT_QP_ACCESS_ERR;
	case XIW_EVENT_REQ:
		return IB_EVENT_QP_REQ_ERR;
	default:
		return IB_EVENT_QP_FATAL;
	}
}

/**
 * xiw_qp_fault() - this side found a fault
 * @qp: queue pair
 * @reason: what is wrong
 * @off: the segment to blame, or NULL
 *
 * The FPDUs already laid out are sent, then a Terminate, then FIN; nothing
 * more is placed. Behind the MPA fence there is no Terminate either. Only the
 * first fault is reported (RFC 5040 section 7.1).
 *
 * Context: Socket lock held.
 */
void xiw_qp_fault(struct xiw_qp *qp, enum xiw_reason reason,
		  const struct xiw_term_offender *off)
{
	struct xiw_tx *tx = &qp->tx;
	u8 opcode = XIW_OP_UNKNOWN;

	qp->rx.dead = true;
	qp->rx.poke_tx = true;
	tx->source = XIW_TX_NONE;
	if (READ_ONCE(qp->state) != XIW_QPS_RTS) {
		xiw_qp_event(qp, XIW_QPE_FAULT);
		return;
	}
	qp->fault_event = fault_event(reason);
	if (off) {
		opcode = off->hdr[1] & XIW_RDMAP_OP_MASK;
		xiw_stat_inc(qp->dev, XIW_STAT_PROTO_ERROR);
	}
	if (tx->fenced || !xiw_term_wanted(reason, opcode)) {
		xiw_qp_event(qp, XIW_QPE_FAULT_SILENT);
		return;
	}
	tx->term_len = xiw_term_encode(tx->term_ulpdu, reason, off);
	tx->rtr = 0;
	xiw_stat_inc(qp->dev, XIW_STAT_TERM_SENT);
	trace_terminate_sent(qp, xiw_term_code(reason));
	xiw_qp_event(qp, XIW_QPE_FAULT);
}

/**
 * xiw_qp_complete() - hand a completion to the consumer
 * @qp: queue pair
 * @cq: one of its completion queues
 * @cqe: the completion
 *
 * If the completion queue is full the completion is lost, and with it the
 * stream: nobody could tell any more what was done.
 *
 * Context: Owner of the side of the queue pair that completes.
 */
void xiw_qp_complete(struct xiw_qp *qp, struct xiw_cq *cq,
		     const struct xiw_cqe *cqe)
{
	if (!xiw_cq_add(cq, cqe) && READ_ONCE(qp->state) == XIW_QPS_RTS)
		xiw_qp_fault(qp, XIW_LOCAL_FAULT, NULL);
}

static void on_data_ready(struct xiw_sock *xs, void *ctx)
{
	struct xiw_qp *qp = ctx;

	if (qp->xs == xs)
		xiw_rx_run_locked(qp);
}

static void on_write_space(struct xiw_sock *xs, void *ctx)
{
	struct xiw_qp *qp = ctx;

	if (qp->xs == xs)
		xiw_tx_run_locked(qp);
}

static const struct xiw_sock_ops stream_ops = {
	.data_ready = on_data_ready,
	.write_space = on_write_space,
	.state_change = on_data_ready,
};

/**
 * xiw_qp_attach() - tie a queue pair to an endpoint
 * @qp: queue pair
 * @ep: endpoint that begins to connect; a reference is taken
 *
 * Context: Any with interrupts on.
 * Return: 0, -EINVAL if the queue pair cannot be connected, -EISCONN if it
 * has an endpoint.
 */
int xiw_qp_attach(struct xiw_qp *qp, struct xiw_ep *ep)
{
	int ret = 0;

	spin_lock_bh(&qp->lock);
	if (qp->ep) {
		ret = -EISCONN;
	} else if (qp->state != XIW_QPS_IDLE || qp->destroying ||
		   qp->resetting) {
		ret = -EINVAL;
	} else {
		xiw_ep_get(ep);
		qp->ep = ep;
	}
	spin_unlock_bh(&qp->lock);
	return ret;
}

static int alloc_depths(struct xiw_qp *qp)
{
	const struct xiw_mpa_agreed *agreed = &qp->conn.agreed;

	qp->ord = agreed->ord;
	qp->irq_size = agreed->ird;
	/* An RTR Read is outstanding beside what the consumer may have. */
	qp->orq_size = agreed->ord + 1;
	qp->irq_head = 0;
	qp->irq_tail = 0;
	qp->orq_head = 0;
	qp->orq_tail = 0;
	qp->irq = kvcalloc(max(qp->irq_size, 1U), sizeof(*qp->irq),
			   GFP_KERNEL);
	qp->orq = kvcalloc(qp->orq_size, sizeof(*qp->orq), GFP_KERNEL);
	return qp->irq && qp->orq ? 0 : -ENOMEM;
}

static void free_stream(struct xiw_qp *qp)
{
	xiw_tx_stop(qp);
	xiw_rx_stop(qp);
	kvfree(qp->irq);
	kvfree(qp->orq);
	qp->irq = NULL;
	qp->orq = NULL;
	qp->orq_tail = qp->orq_head;
	qp->irq_tail = qp->irq_head;
}

/**
 * xiw_qp_start() - startup succeeded, full operation begins
 * @qp: queue pair attached to the caller's endpoint
 * @xs: its socket; a reference is taken and the callbacks are redirected
 * @conn: what was agreed
 *
 * Context: Sleeps.
 * Return: 0, -ENOMEM, or -ECONNABORTED if the queue pair left its initial
 * state meanwhile. On error the socket's callbacks are untouched.
 */
int xiw_qp_start(struct xiw_qp *qp, struct xiw_sock *xs,
		 const struct xiw_conn *conn)
{
	int ret;

	qp->conn = *conn;
	ret = alloc_depths(qp);
	if (ret)
		goto err_free;
	xiw_tx_start(qp);
	ret = xiw_rx_start(qp);
	if (ret)
		goto err_free;

	xiw_sock_lock(xs);
	spin_lock_bh(&qp->lock);
	if (qp->state != XIW_QPS_IDLE) {
		spin_unlock_bh(&qp->lock);
		xiw_sock_unlock(xs);
		ret = -ECONNABORTED;
		goto err_free;
	}
	WRITE_ONCE(qp->state,
		   xiw_qpstate_step(qp->state, XIW_QPE_CONNECT).next);
	WRITE_ONCE(qp->ib_state, IB_QPS_RTS);
	trace_qp_state(qp, XIW_QPE_CONNECT, XIW_QPS_IDLE, XIW_QPS_RTS);
	xiw_sock_get(xs);
	qp->xs = xs;
	spin_unlock_bh(&qp->lock);
	xiw_sock_unlock(xs);

	xiw_sock_set_ops(xs, &stream_ops, qp);
	/* What arrived before the callbacks were ours, and the RTR. */
	xiw_sock_lock(xs);
	if (qp->xs == xs) {
		xiw_rx_run_locked(qp);
		xiw_tx_run_locked(qp);
	}
	xiw_sock_unlock(xs);
	return 0;

err_free:
	free_stream(qp);
	return ret;
}

static void detach_stream(struct xiw_qp *qp, struct xiw_sock *xs)
{
	xiw_sock_set_ops(xs, NULL, NULL);
	xiw_sock_lock(xs);
	/* Whatever ended it, for the queue pair the stream is lost now. */
	xiw_qp_event(qp, XIW_QPE_LLP_LOST);
	spin_lock_bh(&qp->lock);
	qp->xs = NULL;
	spin_unlock_bh(&qp->lock);
	xiw_sock_unlock(xs);

	/* Nobody but the flush work touches the stream from here on. */
	queue_qp_work(qp, xiw_wq, &qp->flush_work);
	flush_work(&qp->flush_work);
	free_stream(qp);
	xiw_sock_put(xs);
}

/**
 * xiw_qp_stop() - end of the queue pair's time with its endpoint
 * @qp: queue pair
 *
 * When this returns, no callback runs, everything posted was completed, and
 * the endpoint is forgotten. A queue pair that was only attached stays as it
 * is. Idempotent.
 *
 * Context: Sleeps; only the endpoint's work calls this, so not twice at once.
 */
void xiw_qp_stop(struct xiw_qp *qp)
{
	struct xiw_sock *xs;
	struct xiw_ep *ep;

	spin_lock_bh(&qp->lock);
	ep = qp->ep;
	xs = qp->xs;
	spin_unlock_bh(&qp->lock);
	if (!ep)
		return;
	if (xs)
		detach_stream(qp, xs);
	/* Until here, nobody may reset the queue pair or attach another. */
	spin_lock_bh(&qp->lock);
	qp->ep = NULL;
	spin_unlock_bh(&qp->lock);
	xiw_ep_put(ep);
}

static int check_init_attr(const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IB_QPT_RC || attr->create_flags)
		return -EOPNOTSUPP;
	if (cap->max_send_wr > XIW_MAX_QP_WR ||
	    cap->max_recv_wr > XIW_MAX_QP_WR ||
	    cap->max_send_sge > XIW_MAX_SGE ||
	    cap->max_recv_sge > XIW_MAX_SGE ||
	    cap->max_inline_data > XIW_MAX_INLINE)
		return -EINVAL;
	if (!attr->send_cq || (!attr->recv_cq && !attr->srq))
		return -EINVAL;
	return 0;
}

static void init_qp(struct xiw_qp *qp, const struct ib_qp_init_attr *attr,
		    struct ib_ucontext *uctx)
{
	qp->dev = to_xdev(qp->ibqp.device);
	qp->kernel = !uctx;
	kref_init(&qp->ref);
	init_completion(&qp->freed);
	spin_lock_init(&qp->lock);
	qp->state = XIW_QPS_IDLE;
	qp->ib_state = IB_QPS_RESET;
	INIT_WORK(&qp->event_work, event_work);
	INIT_WORK(&qp->flush_work, flush_work_fn);
	INIT_LIST_HEAD(&qp->srq_wait);
	qp->scq = to_xcq(attr->send_cq);
	qp->rcq = attr->recv_cq ? to_xcq(attr->recv_cq) : qp->scq;
	qp->srq = attr->srq ? to_xsrq(attr->srq) : NULL;
	qp->attr.qp_access_flags = 0;
	xiw_tx_init(qp);
	xiw_rx_init(qp);
}

static int respond(struct xiw_qp *qp, struct ib_udata *udata,
		   struct xiw_uresp_create_qp *resp)
{
	resp->sq_map_len = qp->sq.queue.map_len;
	resp->num_sqe = qp->sq.queue.size;
	resp->sqe_stride = qp->sq.queue.stride;
	if (!qp->srq) {
		resp->rq_map_len = qp->rq.queue.map_len;
		resp->num_rqe = qp->rq.queue.size;
		resp->rqe_stride = qp->rq.queue.stride;
	}
	resp->qp_id = qp->qpn;
	resp->max_inline = qp->sq.max_inline;
	return ib_copy_to_udata(udata, resp, sizeof(*resp));
}

static void report_caps(const struct xiw_qp *qp, struct ib_qp_cap *cap)
{
	cap->max_send_wr = qp->sq.max_wr;
	cap->max_send_sge = qp->sq.max_sge;
	cap->max_inline_data = qp->sq.max_inline;
	cap->max_recv_wr = qp->srq ? 0 : qp->rq.max_wr;
	cap->max_recv_sge = qp->srq ? 0 : qp->rq.max_sge;
}

/**
 * xiw_create_qp() - ib_device_ops.create_qp
 * @ibqp: allocated by the core as part of struct xiw_qp
 * @attr: what the consumer asks for, updated to what it gets
 * @udata: user request and response, NULL for kernel consumers
 *
 * Context: Sleeps.
 * Return: 0 or -errno.
 */
int xiw_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		  struct ib_udata *udata)
{
	struct xiw_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct xiw_ucontext, ibuctx);
	struct ib_ucontext *ibuctx = uctx ? &uctx->ibuctx : NULL;
	struct xiw_uresp_create_qp resp = {};
	struct xiw_qp *qp = to_xqp(ibqp);
	struct xiw_dev *dev = to_xdev(ibqp->device);
	int ret;

	ret = check_init_attr(attr);
	if (ret)
		return ret;
	if (ibuctx && udata->outlen < sizeof(resp))
		return -EINVAL;
	if (atomic_inc_return(&dev->num_qp) > XIW_MAX_QP) {
		ret = -ENOMEM;
		goto err_count;
	}
	init_qp(qp, attr, ibuctx);
	ret = xiw_sq_init(&qp->sq, attr, ibuctx, &resp.sq_key);
	if (ret)
		goto err_count;
	if (!qp->srq) {
		ret = xiw_rq_init(&qp->rq, attr->cap.max_recv_wr,
				  attr->cap.max_recv_sge, ibuctx,
				  &resp.rq_key);
		if (ret)
			goto err_sq;
	}
	/* Reserve the number; nobody can find the queue pair yet. */
	ret = xa_alloc_cyclic_bh(&dev->qps, &qp->qpn, NULL,
				 XA_LIMIT(2, 0xffffff), &dev->next_qpn,
				 GFP_KERNEL);
	if (ret < 0)
		goto err_rq;
	ibqp->qp_num = qp->qpn;
	if (ibuctx) {
		ret = respond(qp, udata, &resp);
		if (ret)
			goto err_num;
	}
	report_caps(qp, &attr->cap);
	xa_store_bh(&dev->qps, qp->qpn, qp, GFP_KERNEL);
	return 0;

err_num:
	xa_erase_bh(&dev->qps, qp->qpn);
err_rq:
	if (!qp->srq)
		xiw_rq_destroy(&qp->rq);
err_sq:
	xiw_sq_destroy(&qp->sq);
err_count:
	atomic_dec(&dev->num_qp);
	return ret;
}

static int qp_to_init(struct xiw_qp *qp)
{
	int ret = 0;

	spin_lock_bh(&qp->lock);
	if (qp->state == XIW_QPS_IDLE)
		WRITE_ONCE(qp->ib_state, IB_QPS_INIT);
	else if (!qp->ep)
		ret = -EINVAL;
	spin_unlock_bh(&qp->lock);
	return ret;
}

static int qp_to_reset(struct xiw_qp *qp)
{
	int ret = 0;

	spin_lock_bh(&qp->lock);
	if (qp->ep || qp->resetting)
		ret = -EBUSY;
	else
		qp->resetting = true;
	spin_unlock_bh(&qp->lock);
	if (ret)
		return ret;
	/* The flush work does nothing any more, once it has ended. */
	xiw_qp_event(qp, XIW_QPE_RESET);
	flush_work(&qp->flush_work);

	qp->tx.fin = false;
	qp->tx.fin_done = false;
	qp->tx.term_len = 0;
	qp->tx.term_sent = false;
	qp->last_wqe_told = false;
	atomic_set(&qp->tx.run, XIW_TX_RUNNING);
	WRITE_ONCE(qp->sq.stopped, false);

	spin_lock_bh(&qp->lock);
	qp->ib_state = IB_QPS_RESET;
	qp->resetting = false;
	spin_unlock_bh(&qp->lock);
	return 0;
}

static int qp_to_closing(struct xiw_qp *qp)
{
	struct xiw_sock *xs;

	xiw_qp_event(qp, XIW_QPE_LOCAL_CLOSE);
	/* The engine sends FIN when nothing is left; it may be idle. */
	xs = xiw_qp_get_sock(qp);
	if (xs) {
		xiw_sock_lock(xs);
		if (qp->xs == xs)
			xiw_tx_run_locked(qp);
		xiw_sock_unlock(xs);
		xiw_sock_put(xs);
	}
	return 0;
}

/**
 * xiw_modify_qp() - ib_device_ops.modify_qp
 * @ibqp: queue pair
 * @attr: new values
 * @mask: which of them
 * @udata: unused
 *
 * Startup brings the queue pair to RTS; a consumer may only confirm that. RTR
 * means no more than INIT: the consumer, through the connection manager, asks
 * for it before it accepts. SQD is a graceful close, ERR an abortive one.
 *
 * Context: Sleeps.
 * Return: 0 or -errno.
 */
int xiw_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata)
{
	struct xiw_qp *qp = to_xqp(ibqp);

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (mask & IB_QP_ACCESS_FLAGS) {
		spin_lock_bh(&qp->lock);
		qp->attr.qp_access_flags = attr->qp_access_flags;
		spin_unlock_bh(&qp->lock);
	}
	if (!(mask & IB_QP_STATE))
		return 0;
	switch (attr->qp_state) {
	case IB_QPS_RESET:
		return qp_to_reset(qp);
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		return qp_to_init(qp);
	case IB_QPS_RTS:
		return READ_ONCE(qp->state) == XIW_QPS_RTS ? 0 : -EINVAL;
	case IB_QPS_SQD:
		return qp_to_closing(qp);
	case IB_QPS_ERR:
		xiw_qp_event(qp, XIW_QPE_LOCAL_ERROR);
		return 0;
	default:
		return -EINVAL;
	}
}

/**
 * xiw_query_qp() - ib_device_ops.query_qp
 * @ibqp: queue pair
 * @attr: result
 * @mask: unused, everything is filled in
 * @init: result
 *
 * Context: Any with interrupts on.
 * Return: 0.
 */
int xiw_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct xiw_qp *qp = to_xqp(ibqp);

	spin_lock_bh(&qp->lock);
	attr->qp_state = to_ib_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->qp_access_flags = qp->attr.qp_access_flags;
	attr->max_rd_atomic = min(qp->ord, 255U);
	attr->max_dest_rd_atomic = min(qp->irq_size, 255U);
	spin_unlock_bh(&qp->lock);

	attr->port_num = 1;
	attr->path_mtu = ib_mtu_int_to_enum(READ_ONCE(qp->dev->netdev->mtu));
	report_caps(qp, &attr->cap);
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->qp_type = ibqp->qp_type;
	init->sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR :
		IB_SIGNAL_REQ_WR;
	init->cap = attr->cap;
	return 0;
}

/**
 * xiw_destroy_qp() - ib_device_ops.destroy_qp
 * @ibqp: queue pair
 * @udata: unused
 *
 * Ends the connection, gracefully only if a graceful close was under way, and
 * waits until everybody has let go.
 *
 * Context: Sleeps.
 * Return: 0.
 */
int xiw_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct xiw_qp *qp = to_xqp(ibqp);
	struct xiw_dev *dev = qp->dev;
	bool closing;

	xa_erase_bh(&dev->qps, qp->qpn);

	spin_lock_bh(&qp->lock);
	qp->destroying = true;
	closing = qp->state == XIW_QPS_CLOSING ||
		  qp->state == XIW_QPS_TERMINATE;
	if (qp->ep)
		xiw_ep_request(qp->ep,
			       closing ? XIW_EP_CLOSE : XIW_EP_ABORT);
	spin_unlock_bh(&qp->lock);
	xiw_qp_event(qp, XIW_QPE_LOCAL_ERROR);

	xiw_qp_put(qp);
	wait_for_completion(&qp->freed);
	/* The last put may have come from a work item that is still ending. */
	cancel_work_sync(&qp->event_work);
	cancel_work_sync(&qp->flush_work);
	cancel_delayed_work_sync(&qp->tx.retry);
	cancel_delayed_work_sync(&qp->tx.buf.trim);
	cancel_delayed_work_sync(&qp->rx.kick);
	cancel_delayed_work_sync(&qp->rx.late);
	cancel_work_sync(&qp->rx.bulk);

	xiw_mw_release_qp(dev, qp->qpn);
	xiw_cq_purge(qp->scq, qp->qpn);
	if (qp->rcq != qp->scq)
		xiw_cq_purge(qp->rcq, qp->qpn);
	if (!qp->srq)
		xiw_rq_destroy(&qp->rq);
	xiw_sq_destroy(&qp->sq);
	atomic_dec(&dev->num_qp);
	return 0;
}
