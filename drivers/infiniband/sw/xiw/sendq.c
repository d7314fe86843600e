// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What goes next: picks the next message of a stream from the send queue, the
 * inbound requests to be answered, the RTR and the Terminate, and completes
 * work requests in the order in which they were posted.
 *
 * Everything here runs as owner of the transmit side: holder of the socket
 * lock while a stream is attached, the stopping context or whoever flushes
 * afterwards.
 */

#include <linux/mm.h>

#include "cq.h"
#include "device.h"
#include "mem.h"
#include "proto/atomic.h"
#include "proto/ring.h"
#include "qp.h"
#include "sock.h"

static bool orq_empty(const struct xiw_qp *qp)
{
	return qp->orq_head == qp->orq_tail;
}

static u32 orq_used(const struct xiw_qp *qp)
{
	return qp->orq_tail - qp->orq_head;
}

static void start_tagged(struct xiw_qp *qp, u8 opcode, u32 stag, u64 to,
			 u32 len)
{
	qp->tx.msg = (struct xiw_seg_msg) {
		.opcode = opcode,
		.tagged = true,
		.stag = stag,
		.to = to,
		.len = len,
	};
	qp->tx.body_len = 0;
	qp->tx.offset = 0;
	qp->tx.sge = 0;
	qp->tx.sge_off = 0;
}

static void start_untagged(struct xiw_qp *qp, u8 opcode, u32 qn, u32 len)
{
	qp->tx.msg = (struct xiw_seg_msg) {
		.opcode = opcode,
		.qn = qn,
		.msn = xiw_ddp_next_msn(&qp->tx.msn[qn]),
		.len = len,
	};
	qp->tx.body_len = 0;
	qp->tx.offset = 0;
	qp->tx.sge = 0;
	qp->tx.sge_off = 0;
}

/* A message that is nothing but its RDMAP header, already in tx.body. */
static void start_body(struct xiw_qp *qp, u8 opcode, u32 qn, u32 len)
{
	start_untagged(qp, opcode, qn, len);
	qp->tx.body_len = len;
}

/**
 * xiw_sq_fail() - a work request failed on this side
 * @qp: queue pair
 * @wr: the request; it completes with @status
 * @status: enum ib_wc_status
 *
 * Ends the stream with a Terminate for a local catastrophic error. RFC 5040
 * section 7.1.
 *
 * Context: Owner of the transmit side.
 */
void xiw_sq_fail(struct xiw_qp *qp, struct xiw_swr *wr, u8 status)
{
	wr->done = true;
	wr->status = status;
	qp->tx.source = XIW_TX_NONE;
	xiw_qp_fault(qp, XIW_LOCAL_FAULT, NULL);
}

static struct xiw_wait *orq_push(struct xiw_qp *qp)
{
	struct xiw_wait *wait = &qp->orq[qp->orq_tail++ & qp->orq_mask];

	memset(wait, 0, sizeof(*wait));
	wait->msn = qp->tx.msg.msn;
	return wait;
}

static bool start_read(struct xiw_qp *qp, struct xiw_swr *wr)
{
	struct xiw_read_req req = {
		.size = wr->len,
		.src_stag = wr->rkey,
		.src_to = wr->raddr,
	};
	struct xiw_wait *wait;

	if (!xiw_place_check_sges(qp, wr->sge, wr->num_sge)) {
		xiw_sq_fail(qp, wr, IB_WC_LOC_PROT_ERR);
		return false;
	}
	/*
	 * The responder copies the sink's STag and TO blindly, and the
	 * response is matched against this request alone, so with several
	 * elements the first one names them all.
	 */
	if (wr->num_sge) {
		req.sink_stag = wr->sge[0].lkey;
		req.sink_to = wr->sge[0].addr;
	}
	xiw_rdmap_read_req_encode(qp->tx.body, &req);
	start_body(qp, XIW_OP_READ_REQ, XIW_QN_REQUEST, XIW_READ_REQ_LEN);
	wait = orq_push(qp);
	wait->index = qp->sq.next;
	wait->sink.stag = req.sink_stag;
	wait->sink.to = req.sink_to;
	wait->sink.left = req.size;
	return true;
}

static bool start_atomic(struct xiw_qp *qp, struct xiw_swr *wr)
{
	struct xiw_atomic_req req = {
		.id = qp->sq.next,
		.stag = wr->rkey,
		.to = wr->raddr,
		.compare_mask = ~0ULL,
	};
	struct xiw_wait *wait;

	if (!xiw_place_check_sges(qp, wr->sge, wr->num_sge)) {
		xiw_sq_fail(qp, wr, IB_WC_LOC_PROT_ERR);
		return false;
	}
	switch (wr->opcode) {
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		req.aop = XIW_AOP_FETCH_ADD;
		req.data = wr->compare_add;
		break;
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		req.aop = XIW_AOP_FETCH_ADD;
		req.data = wr->compare_add;
		req.data_mask = wr->compare_add_mask;
		break;
	default:
		req.aop = XIW_AOP_CMP_SWAP;
		req.data = wr->swap;
		req.data_mask = wr->swap_mask;
		req.compare = wr->compare_add;
		req.compare_mask = wr->compare_add_mask;
		break;
	}
	xiw_rdmap_atomic_req_encode(qp->tx.body, &req);
	start_body(qp, XIW_OP_ATOMIC_REQ, XIW_QN_REQUEST, XIW_ATOMIC_REQ_LEN);
	wait = orq_push(qp);
	wait->atomic = true;
	wait->index = qp->sq.next;
	return true;
}

static void start_send(struct xiw_qp *qp, struct xiw_swr *wr)
{
	bool solicited = wr->flags & XIW_SQE_SOLICITED;
	u8 opcode;

	if (wr->opcode == IB_WR_SEND_WITH_INV)
		opcode = solicited ? XIW_OP_SEND_SE_INV : XIW_OP_SEND_INV;
	else
		opcode = solicited ? XIW_OP_SEND_SE : XIW_OP_SEND;
	start_untagged(qp, opcode, XIW_QN_SEND, wr->len);
	wr->msn = qp->tx.msg.msn;
	wr->has_msn = true;
	if (wr->opcode == IB_WR_SEND_WITH_INV)
		qp->tx.msg.inv_stag = wr->ext;
}

static bool is_request(const struct xiw_swr *wr)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		return true;
	default:
		return false;
	}
}

static bool is_local(const struct xiw_swr *wr)
{
	return wr->opcode == IB_WR_LOCAL_INV || wr->opcode == IB_WR_REG_MR ||
	       wr->opcode == IB_WR_BIND_MW;
}

/*
 * REG_MR always, LOCAL_INV and BIND_MW with a fence, wait until every earlier
 * request has finished with local memory.
 */
static bool local_must_wait(const struct xiw_qp *qp, const struct xiw_swr *wr)
{
	if (wr->opcode != IB_WR_REG_MR && !(wr->flags & XIW_SQE_FENCE))
		return false;
	return qp->sq.head != qp->sq.next;
}

static u8 do_local(struct xiw_qp *qp, const struct xiw_swr *wr)
{
	struct ib_pd *pd = qp->ibqp.pd;
	struct xiw_bind bind;

	switch (wr->opcode) {
	case IB_WR_REG_MR:
		return xiw_mem_fast_register(qp->dev, pd, wr->mr, wr->rkey,
					     wr->access) ?
			IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
	case IB_WR_BIND_MW:
		bind.key = wr->rkey;
		bind.lkey = wr->sge[0].lkey;
		bind.addr = wr->raddr;
		bind.length = wr->compare_add;
		bind.access = wr->swap;
		return xiw_mem_bind(qp, &bind) ?
			IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
	default:
		return xiw_mem_invalidate(qp->dev, pd, qp->qpn, wr->rkey,
					  false) == XIW_MEM_OK ?
			IB_WC_SUCCESS : IB_WC_LOC_QP_OP_ERR;
	}
}

/* The request at sq.next, a local one: true if it was executed. */
static bool run_local(struct xiw_qp *qp, struct xiw_swr *wr)
{
	u8 status;

	if (local_must_wait(qp, wr))
		return false;
	status = do_local(qp, wr);
	if (status != IB_WC_SUCCESS) {
		xiw_sq_fail(qp, wr, status);
		return false;
	}
	wr->done = true;
	qp->sq.next++;
	xiw_sq_complete(qp);
	return true;
}

/*
 * May the request at sq.next be transmitted now? Requests never overtake each
 * other, so if not, the whole queue waits (RFC 5040 section 5.5 rule 13).
 */
static bool may_start(const struct xiw_qp *qp, const struct xiw_swr *wr)
{
	if (wr->flags & XIW_SQE_FENCE && !orq_empty(qp))
		return false;
	return !is_request(wr) || orq_used(qp) < qp->ord;
}

static bool start_wr(struct xiw_qp *qp, struct xiw_swr *wr)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		start_tagged(qp, XIW_OP_WRITE, wr->rkey, wr->raddr, wr->len);
		return true;
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_INV:
		start_send(qp, wr);
		return true;
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		return start_read(qp, wr);
	default:
		return start_atomic(qp, wr);
	}
}

/* Nothing of the queue is started any more: the Terminate is next, if any. */
static bool is_over(const struct xiw_qp *qp)
{
	enum xiw_qp_state state = READ_ONCE(qp->state);

	return qp->tx.term_len || state == XIW_QPS_TERMINATE ||
	       state == XIW_QPS_ERROR;
}

/**
 * xiw_sendq_bound() - the consumer has closed the stream
 * @qp: queue pair; nothing happens unless it is closing
 *
 * What was posted up to now is still sent; what is posted from now on is
 * flushed when the stream has ended (RFC 5041 section 6.2.1).
 *
 * Context: Owner of the transmit side.
 */
void xiw_sendq_bound(struct xiw_qp *qp)
{
	struct xiw_tx *tx = &qp->tx;

	if (tx->bounded || READ_ONCE(qp->state) != XIW_QPS_CLOSING)
		return;
	xiw_sq_fetch(qp, qp->sq.size);
	tx->bound = READ_ONCE(qp->sq.prod);
	tx->bounded = true;
}

static bool at_bound(const struct xiw_qp *qp)
{
	const struct xiw_tx *tx = &qp->tx;

	return tx->fin_done || (tx->bounded && qp->sq.next == tx->bound);
}

/**
 * xiw_sendq_none_posted() - is there nothing new in the ring that matters
 * @qp: queue pair
 *
 * Context: Owner of the transmit side.
 * Return: true if the ring has nothing that must still be fetched and sent.
 */
bool xiw_sendq_none_posted(struct xiw_qp *qp)
{
	return at_bound(qp) || xiw_sq_ring_empty(&qp->sq);
}

/* A local request may fail the stream, if only by its completion. */
static bool next_wr(struct xiw_qp *qp)
{
	struct xiw_sq *sq = &qp->sq;
	struct xiw_swr *wr;

	while (!is_over(qp) && !at_bound(qp) && !xiw_turn_over(&qp->tx.turn) &&
	       xiw_sq_fetch(qp, qp->tx.turn.steps)) {
		wr = xiw_sq_wr(sq, sq->next);
		if (wr->done) {
			/* It was malformed in the user's ring. */
			xiw_qp_fault(qp, XIW_LOCAL_FAULT, NULL);
			return false;
		}
		if (is_local(wr)) {
			/* These send nothing; a process may post for ever. */
			if (!run_local(qp, wr))
				return false;
			xiw_turn_charge(&qp->tx.turn, 0);
			continue;
		}
		if (is_request(wr) && qp->rx.peer_closed) {
			/* Nobody can answer it: that was all. */
			qp->tx.bound = sq->next;
			qp->tx.bounded = true;
			return false;
		}
		if (is_request(wr) && !qp->ord) {
			xiw_sq_fail(qp, wr, IB_WC_LOC_QP_OP_ERR);
			return false;
		}
		if (!may_start(qp, wr) || !start_wr(qp, wr))
			return false;
		qp->tx.source = XIW_TX_SQ;
		qp->tx.wr = wr;
		sq->next++;
		return true;
	}
	return false;
}

static enum xiw_reason run_atomic(struct xiw_qp *qp,
				  const struct xiw_atomic_req *op, u64 *orig)
{
	enum xiw_mem_status status;
	struct xiw_mem_ref ref;
	u64 *word;
	u64 old;
	u64 new;

	status = xiw_mem_get(&qp->tx.mem, op->stag, IB_ACCESS_REMOTE_ATOMIC,
			     op->to, sizeof(u64), &ref);
	if (status != XIW_MEM_OK)
		return xiw_mem_reason(status, XIW_ACCESS_SOURCE);

	word = xiw_mem_word(&ref, op->to);
	if (!word) {
		xiw_mem_put(&ref);
		return XIW_ATOMIC_UNALIGNED;
	}
	/*
	 * A compare-and-exchange on the mapped page is atomic against every
	 * other queue pair of the device and against the CPUs.
	 */
	old = READ_ONCE(*word);
	while (xiw_atomic_apply(op, old, &new)) {
		if (try_cmpxchg64(word, &old, new))
			break;
	}
	xiw_mem_put(&ref);
	*orig = old;
	return XIW_OK;
}

/**
 * xiw_sendq_blame() - an inbound request cannot be answered
 * @qp: queue pair
 * @reason: what is wrong with it
 * @req: request
 * @done: octets of a Read's response that were laid out already
 *
 * Context: Socket lock held.
 */
void xiw_sendq_blame(struct xiw_qp *qp, enum xiw_reason reason,
		     const struct xiw_req *req, u32 done)
{
	struct xiw_term_offender off = { .ulpdu_len = req->ulpdu_len };
	struct xiw_read_req read;

	memcpy(off.hdr, req->hdr, sizeof(off.hdr));
	if (!req->atomic) {
		read = req->read;
		xiw_rdmap_read_req_advance(&read, done);
		off.read_req = &read;
	}
	xiw_qp_fault(qp, reason, &off);
}

/*
 * The oldest inbound request. Reads and Atomics are served strictly in order;
 * an Atomic is executed only here, after the data of all earlier Reads was
 * fetched (RFC 7306 section 7).
 */
static bool next_response(struct xiw_qp *qp)
{
	struct xiw_atomic_resp resp;
	enum xiw_reason reason;
	struct xiw_req *req;

	if (qp->irq_head == qp->irq_tail)
		return false;
	req = &qp->irq[qp->irq_head & qp->irq_mask];
	if (req->fault != XIW_OK) {
		xiw_sendq_blame(qp, req->fault, req, 0);
		return false;
	}
	if (req->atomic) {
		reason = run_atomic(qp, &req->op, &resp.orig);
		if (reason != XIW_OK) {
			xiw_sendq_blame(qp, reason, req, 0);
			return false;
		}
		resp.id = req->op.id;
		xiw_rdmap_atomic_resp_encode(qp->tx.body, &resp);
		start_body(qp, XIW_OP_ATOMIC_RESP, XIW_QN_ATOMIC_RESP,
			   XIW_ATOMIC_RESP_LEN);
	} else {
		start_tagged(qp, XIW_OP_READ_RESP, req->read.sink_stag,
			     req->read.sink_to, req->read.size);
	}
	qp->tx.source = XIW_TX_RESPONSE;
	return true;
}

static void start_rtr(struct xiw_qp *qp)
{
	struct xiw_read_req req = {};
	struct xiw_wait *wait;

	switch (qp->tx.rtr) {
	case XIW_RTR_READ:
		xiw_rdmap_read_req_encode(qp->tx.body, &req);
		start_body(qp, XIW_OP_READ_REQ, XIW_QN_REQUEST,
			   XIW_READ_REQ_LEN);
		wait = orq_push(qp);
		wait->internal = true;
		break;
	case XIW_RTR_SEND:
		start_untagged(qp, XIW_OP_SEND, XIW_QN_SEND, 0);
		break;
	default:
		start_tagged(qp, XIW_OP_WRITE, 0, 0, 0);
		break;
	}
	qp->tx.rtr = 0;
	qp->tx.source = XIW_TX_RTR;
}

/**
 * xiw_sendq_next() - choose the next message
 * @qp: queue pair with no message in progress
 *
 * A Terminate comes before everything, an RTR before every message of the
 * consumer. Responses and work requests take turns. On true the members of
 * @qp->tx describe the message.
 *
 * Context: Owner of the transmit side.
 * Return: false if nothing can be sent now.
 */
bool xiw_sendq_next(struct xiw_qp *qp)
{
	struct xiw_tx *tx = &qp->tx;

	if (tx->term_sent || tx->fenced || tx->fin_done)
		return false;
	if (tx->term_len) {
		tx->source = XIW_TX_TERM;
		return true;
	}
	if (is_over(qp))
		return false;
	if (tx->rtr) {
		start_rtr(qp);
		return true;
	}
	tx->turn_resp = !tx->turn_resp;
	if (tx->turn_resp ? next_response(qp) : next_wr(qp))
		return true;
	if (tx->term_len)
		return xiw_sendq_next(qp);
	if (tx->turn_resp ? next_wr(qp) : next_response(qp))
		return true;
	return tx->term_len && xiw_sendq_next(qp);
}

/**
 * xiw_sendq_laid_out() - the message in progress was laid out completely
 * @qp: queue pair
 *
 * Context: Owner of the transmit side.
 */
void xiw_sendq_laid_out(struct xiw_qp *qp)
{
	struct xiw_tx *tx = &qp->tx;
	struct xiw_swr *wr = tx->wr;

	switch (tx->source) {
	case XIW_TX_SQ:
		if (wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM) {
			/* Nothing of the queue may come in between. */
			xiw_rdmap_imm_encode(tx->body,
					     (__force __be32)wr->ext);
			start_body(qp, wr->flags & XIW_SQE_SOLICITED ?
				   XIW_OP_IMM_SE : XIW_OP_IMM,
				   XIW_QN_SEND, XIW_IMM_LEN);
			wr->msn = tx->msg.msn;
			wr->has_msn = true;
			tx->imm_sent = true;
			tx->source = XIW_TX_SQ_IMM;
			return;
		}
		fallthrough;
	case XIW_TX_SQ_IMM:
		wr->end_pos = tx->pos;
		wr->built = true;
		break;
	case XIW_TX_RESPONSE:
		/*
		 * The slot is free before TCP gets the last octets: the peer
		 * may send its next request as soon as it sees them.
		 */
		qp->irq_head++;
		break;
	case XIW_TX_TERM:
		tx->term_sent = true;
		break;
	default:
		break;
	}
	tx->source = XIW_TX_NONE;
}

/**
 * xiw_sendq_empty() - has everything that is to be sent been completed
 * @qp: queue pair
 *
 * Context: Owner of the transmit side.
 * Return: true if a graceful close need not wait any longer.
 */
bool xiw_sendq_empty(const struct xiw_qp *qp)
{
	const struct xiw_tx *tx = &qp->tx;

	return tx->source == XIW_TX_NONE && !tx->train_len &&
	       qp->irq_head == qp->irq_tail && orq_empty(qp) &&
	       (tx->bounded ? (s32)(qp->sq.head - tx->bound) >= 0 :
		qp->sq.head == READ_ONCE(qp->sq.prod));
}

/**
 * xiw_sendq_waits() - is something held back until the peer speaks
 * @qp: queue pair for which xiw_sendq_next() just returned false
 *
 * If so, the receive side will run the engine again and nobody has to be
 * asked for a doorbell.
 *
 * Context: Owner of the transmit side.
 * Return: true for requests that wait for a response, or the MPA fence. The
 * fence does not hold back a FIN with nothing to send before it: there need not
 * be a message of the peer.
 */
bool xiw_sendq_waits(struct xiw_qp *qp)
{
	/* Behind the fence nothing is fetched, it may still be in the ring. */
	if (qp->tx.fenced)
		return !qp->tx.fin || !xiw_sendq_empty(qp) ||
		       !xiw_sendq_none_posted(qp);
	return !orq_empty(qp) && qp->sq.next != READ_ONCE(qp->sq.prod);
}

static const u8 wc_opcode[] = {
	[IB_WR_RDMA_WRITE]			= IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_WRITE_WITH_IMM]		= IB_WC_RDMA_WRITE,
	[IB_WR_SEND]				= IB_WC_SEND,
	[IB_WR_SEND_WITH_INV]			= IB_WC_SEND,
	[IB_WR_RDMA_READ]			= IB_WC_RDMA_READ,
	[IB_WR_RDMA_READ_WITH_INV]		= IB_WC_RDMA_READ,
	[IB_WR_ATOMIC_CMP_AND_SWP]		= IB_WC_COMP_SWAP,
	[IB_WR_ATOMIC_FETCH_AND_ADD]		= IB_WC_FETCH_ADD,
	[IB_WR_MASKED_ATOMIC_CMP_AND_SWP]	= IB_WC_MASKED_COMP_SWAP,
	[IB_WR_MASKED_ATOMIC_FETCH_AND_ADD]	= IB_WC_MASKED_FETCH_ADD,
	[IB_WR_LOCAL_INV]			= IB_WC_LOCAL_INV,
	[IB_WR_REG_MR]				= IB_WC_REG_MR,
	[IB_WR_BIND_MW]				= IB_WC_BIND_MW,
};

static void complete_wr(struct xiw_qp *qp, const struct xiw_swr *wr)
{
	struct xiw_cqe cqe = {
		.wr_id = wr->wr_id,
		.qp_id = qp->qpn,
		.status = wr->status,
		.vendor_err = wr->vendor_err,
	};

	if (wr->status == IB_WC_SUCCESS && !(wr->flags & XIW_SQE_SIGNALED))
		return;
	if (wr->opcode < ARRAY_SIZE(wc_opcode))
		cqe.opcode = wc_opcode[wr->opcode];
	if (is_request(wr))
		cqe.byte_len = wr->len;
	xiw_qp_complete(qp, qp->scq, &cqe);
}

/* The entry at @head is complete; hand its slot back. */
static void retire(struct xiw_sq *sq, u32 head)
{
	/* Pairs with the acquire in post_kernel(). */
	smp_store_release(&sq->head, head);
	if (!sq->kernel)
		/* Pairs with the acquire in the user's post. */
		smp_store_release(&sq->queue.ctrl->cons, head);
}

/* Returns true if there may be more than @max. */
static bool complete_some(struct xiw_qp *qp, u32 max)
{
	struct xiw_sq *sq = &qp->sq;
	u32 head = sq->head;

	while (head != sq->next) {
		struct xiw_swr *wr = xiw_sq_wr(sq, head);

		if (is_request(wr) || is_local(wr) ?
		    !wr->done : !(wr->built && wr->end_pos <= qp->tx.sent))
			break;
		/*
		 * The slot is free before the completion can be seen, so who
		 * polls it may post at once.
		 */
		if (wr->status == IB_WC_SUCCESS) {
			struct xiw_swr copy = *wr;

			if (!max--)
				return true;
			retire(sq, ++head);
			complete_wr(qp, &copy);
			continue;
		}
		break;
	}
	return false;
}

/**
 * xiw_sq_complete() - complete what is done, in the order of posting
 * @qp: queue pair
 *
 * RFC 5040 section 5.5 rule 15. A Send or Write is done when TCP took all of
 * it; its bytes were copied, so the buffer is the consumer's again. Behind a
 * Read that took long there may be many: the engine completes the rest.
 *
 * Context: Owner of the transmit side.
 */
void xiw_sq_complete(struct xiw_qp *qp)
{
	if (complete_some(qp, XIW_TURN_STEPS))
		xiw_tx_again(qp, 0);
}

/**
 * xiw_sq_flush() - complete everything that is still in the send queue
 * @qp: queue pair whose stream has ended
 *
 * Requests that were done complete as such, the one that failed with its
 * status, all others as flushed. A process may go on posting meanwhile, so
 * there is a limit to what one call does.
 *
 * Context: Owner of the transmit side.
 * Return: true if there may be more.
 */
bool xiw_sq_flush(struct xiw_qp *qp)
{
	struct xiw_sq *sq = &qp->sq;
	u32 left = sq->size;

	while (complete_some(qp, XIW_TURN_STEPS))
		;
	while (xiw_sq_fetch(qp, XIW_TURN_STEPS) || sq->head != sq->next) {
		if (!left--)
			return true;
		struct xiw_swr *wr = xiw_sq_wr(sq, sq->head);
		struct xiw_swr copy = *wr;

		if (copy.status == IB_WC_SUCCESS)
			copy.status = IB_WC_WR_FLUSH_ERR;
		if (sq->next == sq->head)
			sq->next++;
		retire(sq, sq->head + 1);
		complete_wr(qp, &copy);
	}
	return false;
}
