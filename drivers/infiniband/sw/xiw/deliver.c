// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Delivery: what a verified segment means. Has payload placed, and at the end
 * of a message completes a receive, answers nobody but queues the response,
 * finishes an outstanding request, or ends the stream.
 *
 * Runs under the socket lock, called by rx.c, one FPDU at a time in the order
 * of the stream.
 */

#include <linux/log2.h>

#include "cm.h"
#include "cq.h"
#include "device.h"
#include "mem.h"
#include "qp.h"
#include "trace.h"

static const u8 recv_wc_status[] = {
	[XIW_RECV_FLUSH]	= IB_WC_WR_FLUSH_ERR,
	[XIW_RECV_INV_REQ]	= IB_WC_REM_INV_REQ_ERR,
	[XIW_RECV_LEN]		= IB_WC_LOC_LEN_ERR,
	[XIW_RECV_PROT]		= IB_WC_LOC_PROT_ERR,
};

static const u8 peer_wc_status[] = {
	[XIW_PEER_ACCESS]	= IB_WC_REM_ACCESS_ERR,
	[XIW_PEER_INV_REQ]	= IB_WC_REM_INV_REQ_ERR,
	[XIW_PEER_OP]		= IB_WC_REM_OP_ERR,
	[XIW_PEER_FATAL]	= IB_WC_FATAL_ERR,
};

static enum xiw_rq_take next_recv(struct xiw_qp *qp)
{
	return qp->srq ? xiw_srq_take(qp->srq, qp, &qp->rx.recv) :
			 xiw_rq_take(&qp->rq, &qp->rx.recv);
}

static void complete_recv(struct xiw_qp *qp, struct xiw_cqe *cqe)
{
	cqe->wr_id = qp->rx.recv.wr_id;
	cqe->qp_id = qp->qpn;
	cqe->srq_id = qp->srq ? qp->srq->id : 0;
	qp->rx.recv_active = false;
	xiw_qp_complete(qp, qp->rcq, cqe);
}

/*
 * The segment @f cannot be accepted. A receive that was its victim completes
 * with what went wrong; everything else is flushed.
 */
static enum xiw_deliver fault(struct xiw_qp *qp, const struct xiw_fpdu *f,
			      enum xiw_reason reason)
{
	struct xiw_term_offender off = { .ulpdu_len = f->ulpdu_len };
	enum xiw_recv_status status = xiw_term_recv_status(reason);
	struct xiw_read_req req;
	struct xiw_fpdu body = *f;
	u8 buf[XIW_READ_REQ_LEN];

	memcpy(off.hdr, f->hdr, sizeof(off.hdr));
	if (f->h.opcode == XIW_OP_READ_REQ &&
	    f->h.payload_len == sizeof(buf)) {
		xiw_fpdu_copy(&body, buf, sizeof(buf));
		xiw_rdmap_read_req_decode(buf, sizeof(buf), &req);
		off.read_req = &req;
	}
	if (qp->rx.recv_active && status != XIW_RECV_FLUSH && !f->h.tagged &&
	    f->h.qn == XIW_QN_SEND) {
		struct xiw_cqe cqe = {
			.opcode = XIW_WC_RECV,
			.status = recv_wc_status[status],
			.vendor_err = xiw_term_code(reason),
		};

		complete_recv(qp, &cqe);
	}
	xiw_qp_fault(qp, reason, &off);
	return XIW_DELIVER_DEAD;
}

/**
 * xiw_recv_wait_end() - the receive side no longer waits for a receive
 * @qp: queue pair that was stalled
 *
 * Context: Owner of the receive side.
 */
void xiw_recv_wait_end(struct xiw_qp *qp)
{
	struct xiw_srq *srq = qp->srq;

	if (srq)
		xiw_srq_unwait(srq, qp);
	else if (!READ_ONCE(qp->sq.stopped))
		xiw_rq_want_doorbell(&qp->rq, false);
}

/*
 * No receive is posted. iWARP knows no "receiver not ready", so hold the peer
 * back by not reading, for a bounded time, and be told when one is posted.
 */
static enum xiw_deliver wait_for_recv(struct xiw_qp *qp)
{
	if (qp->rx.gave_up || !READ_ONCE(qp->dev->late_recv_ms))
		return XIW_DELIVER_DEAD;
	xiw_rx_stall(qp);
	if (qp->srq) {
		xiw_srq_wait(qp->srq, qp);
		return XIW_DELIVER_STALL;
	}
	xiw_rq_want_doorbell(&qp->rq, true);
	/* Posted by somebody who did not yet see that we wait. */
	if (xiw_rq_count(&qp->rq))
		xiw_rx_again(qp, 0);
	return XIW_DELIVER_STALL;
}

static enum xiw_deliver take_recv(struct xiw_qp *qp)
{
	switch (next_recv(qp)) {
	case XIW_RQ_LIMIT:
		xiw_srq_limit_event(qp->srq);
		fallthrough;
	case XIW_RQ_TAKEN:
		qp->rx.recv_active = true;
		qp->rx.gave_up = false;
		/* The next wait begins anew. */
		if (delayed_work_pending(&qp->rx.late) &&
		    cancel_delayed_work(&qp->rx.late))
			xiw_qp_put(qp);
		return XIW_DELIVER_OK;
	case XIW_RQ_CORRUPT:
		/* Only the owner of the ring can have done that. */
		if (qp->srq)
			xiw_srq_corrupt(qp->srq);
		else
			xiw_qp_async(qp, IB_EVENT_QP_FATAL);
		xiw_qp_event(qp, XIW_QPE_LOCAL_ERROR);
		qp->rx.dead = true;
		return XIW_DELIVER_STALL;
	case XIW_RQ_EMPTY:
		break;
	}
	return wait_for_recv(qp);
}

static bool is_imm(u8 opcode)
{
	return opcode == XIW_OP_IMM || opcode == XIW_OP_IMM_SE;
}

/* Assign a buffer to the message that begins with @f. */
static enum xiw_deliver open_recv(struct xiw_qp *qp, const struct xiw_fpdu *f)
{
	enum xiw_deliver ret = take_recv(qp);
	u32 size;

	if (ret != XIW_DELIVER_OK)
		return ret;
	/*
	 * Immediate Data goes into the completion, not into the buffers
	 * (RFC 7306 section 6.2); its length is judged when it is complete.
	 */
	size = is_imm(f->h.opcode) ? XIW_ATOMIC_REQ_LEN :
		min_t(u64, qp->rx.recv.len, U32_MAX);
	xiw_ddp_queue_open(&qp->rx.queue[XIW_QN_SEND], f->h.opcode, size);
	return XIW_DELIVER_OK;
}

static enum xiw_reason invalidate(struct xiw_qp *qp, u32 stag)
{
	switch (xiw_mem_invalidate(qp->dev, qp->ibqp.pd, qp->qpn, stag,
				   true)) {
	case XIW_MEM_OK:
		return XIW_OK;
	case XIW_MEM_BAD_PD:
		return XIW_INV_BAD_OWNER;
	default:
		return XIW_INV_BAD_STAG;
	}
}

/* A message of queue 0 is complete: one receive completes. */
static enum xiw_reason finish_recv(struct xiw_qp *qp, const struct xiw_fpdu *f,
				   u8 opcode, u32 len)
{
	const struct xiw_rdmap_op *op = xiw_rdmap_op(opcode, ~0);
	struct xiw_cqe cqe = {
		.opcode = XIW_WC_RECV,
		.status = IB_WC_SUCCESS,
		.byte_len = len,
	};
	enum xiw_reason reason;

	if (is_imm(opcode)) {
		reason = xiw_rdmap_imm_decode(qp->rx.body[XIW_QN_SEND], len,
					      &cqe.imm_data);
		if (reason != XIW_OK)
			return reason;
		cqe.opcode = XIW_WC_RECV_WITH_IMM;
		cqe.flags |= XIW_CQE_WITH_IMM;
		cqe.byte_len = qp->rx.last_write;
	} else if (op->invalidates) {
		/* Invalid before anybody can see the completion. */
		reason = invalidate(qp, f->h.inv_stag);
		if (reason != XIW_OK)
			return reason;
		cqe.flags |= XIW_CQE_WITH_INV;
		cqe.inv_rkey = f->h.inv_stag;
	}
	if (op->solicited)
		cqe.flags |= XIW_CQE_SOLICITED;
	qp->rx.last_write = 0;
	complete_recv(qp, &cqe);
	return XIW_OK;
}

static enum xiw_deliver deliver_recv(struct xiw_qp *qp, struct xiw_fpdu *f)
{
	struct xiw_ddp_queue *q = &qp->rx.queue[XIW_QN_SEND];
	u32 len = f->h.payload_len;
	enum xiw_deliver ret;
	enum xiw_reason reason;
	u32 msg_len;
	u8 opcode;

	reason = xiw_ddp_queue_check(q, &f->h);
	if (reason == XIW_NO_BUFFER) {
		ret = open_recv(qp, f);
		if (ret == XIW_DELIVER_DEAD)
			return fault(qp, f, XIW_NO_BUFFER);
		if (ret != XIW_DELIVER_OK)
			return ret;
		reason = xiw_ddp_queue_check(q, &f->h);
	}
	if (reason != XIW_OK)
		return fault(qp, f, reason);

	opcode = q->opcode;
	if (is_imm(opcode))
		xiw_fpdu_copy(f, qp->rx.body[XIW_QN_SEND] + f->h.mo, len);
	else if (len && !xiw_place_sges(qp, f, qp->rx.recv.sge,
					qp->rx.recv.num_sge, f->h.mo, len))
		return fault(qp, f, XIW_RECV_FAULT);

	if (!xiw_ddp_queue_advance(q, &f->h, &msg_len))
		return XIW_DELIVER_OK;
	reason = finish_recv(qp, f, opcode, msg_len);
	return reason == XIW_OK ? XIW_DELIVER_OK : fault(qp, f, reason);
}

static enum xiw_deliver deliver_write(struct xiw_qp *qp, struct xiw_fpdu *f)
{
	enum xiw_reason reason = xiw_place_write(qp, f);

	if (reason != XIW_OK)
		return fault(qp, f, reason);
	qp->rx.write_bytes += f->h.payload_len;
	if (f->h.last) {
		qp->rx.last_write = min_t(u64, qp->rx.write_bytes, U32_MAX);
		qp->rx.write_bytes = 0;
	}
	return XIW_DELIVER_OK;
}

/*
 * Puts a message of a queue without user buffers together. @len is set when
 * it is complete, its octets are in rx.body then. Segments need not carry the
 * whole message, though no sender has a reason to split one this short.
 */
static enum xiw_reason collect_body(struct xiw_qp *qp,
				    const struct xiw_fpdu *f, u32 size,
				    bool have_buffer, bool *complete,
				    u32 *len)
{
	struct xiw_ddp_queue *q = &qp->rx.queue[f->h.qn];
	struct xiw_fpdu at = *f;
	enum xiw_reason reason;

	reason = xiw_ddp_queue_check(q, &f->h);
	if (reason == XIW_NO_BUFFER && have_buffer) {
		xiw_ddp_queue_open(q, f->h.opcode, size);
		reason = xiw_ddp_queue_check(q, &f->h);
	}
	if (reason != XIW_OK)
		return reason;
	xiw_fpdu_copy(&at, qp->rx.body[f->h.qn] + f->h.mo, f->h.payload_len);
	*complete = xiw_ddp_queue_advance(q, &f->h, len);
	return XIW_OK;
}

static enum xiw_reason check_read_source(struct xiw_qp *qp,
					 const struct xiw_read_req *req)
{
	enum xiw_mem_status status;
	struct xiw_mem_ref ref;

	/* A Read of nothing names no memory (RFC 5040 section 5.2.1). */
	if (!req->size)
		return XIW_OK;
	status = xiw_mem_get(&qp->rx.mem, req->src_stag,
			     IB_ACCESS_REMOTE_READ, req->src_to, req->size,
			     &ref);
	if (status != XIW_MEM_OK)
		return xiw_mem_reason(status, XIW_ACCESS_SOURCE);
	xiw_mem_put(&ref);
	if (!xiw_qp_admits(qp, IB_ACCESS_REMOTE_READ))
		return XIW_SRC_BAD_RIGHTS;
	return XIW_OK;
}

static enum xiw_reason check_atomic_target(struct xiw_qp *qp,
					   const struct xiw_atomic_req *op)
{
	enum xiw_mem_status status;
	struct xiw_mem_ref ref;
	bool aligned;

	status = xiw_mem_get(&qp->rx.mem, op->stag, IB_ACCESS_REMOTE_ATOMIC,
			     op->to, sizeof(u64), &ref);
	if (status != XIW_MEM_OK)
		return xiw_mem_reason(status, XIW_ACCESS_SOURCE);
	aligned = xiw_mem_word(&ref, op->to);
	xiw_mem_put(&ref);
	/* Where it accepts, the RDMA CM asks for Reads and Writes only. */
	if (!xiw_qp_admits(qp, IB_ACCESS_REMOTE_ATOMIC |
			   IB_ACCESS_REMOTE_WRITE))
		return XIW_SRC_BAD_RIGHTS;
	return aligned ? XIW_OK : XIW_ATOMIC_UNALIGNED;
}

/* Room for inbound requests; if there is no memory now, there will be some. */
static bool alloc_requests(struct xiw_qp *qp)
{
	u32 slots = roundup_pow_of_two(max(qp->irq_size, 1U));

	qp->irq = kcalloc(slots, sizeof(*qp->irq), GFP_ATOMIC | __GFP_NOWARN);
	qp->irq_mask = slots - 1;
	if (qp->irq)
		return true;
	xiw_stat_inc(qp->dev, XIW_STAT_RX_NOMEM);
	/* As if it had come too early. */
	WRITE_ONCE(qp->rx.stalled, true);
	xiw_rx_again(qp, 1);
	return false;
}

/*
 * Read and Atomic Requests share a queue, its buffers, and their order. What
 * they name is judged here, so that of several faults the first is reported:
 * nothing more is taken in, what was asked before is answered, then comes the
 * Terminate. It is judged once more when the request's turn comes, as the STag
 * may have been revoked meanwhile.
 */
static enum xiw_deliver deliver_request(struct xiw_qp *qp, struct xiw_fpdu *f)
{
	bool room = qp->irq_tail - qp->irq_head < qp->irq_size;
	const u8 *body = qp->rx.body[XIW_QN_REQUEST];
	struct xiw_ddp_queue *q = &qp->rx.queue[XIW_QN_REQUEST];
	enum xiw_reason reason;
	struct xiw_req *req;
	bool complete;
	u8 opcode;
	u32 len;

	/*
	 * Behind the own FIN nothing can be answered. The peer cannot know of
	 * it yet, and what was sent before must still arrive.
	 */
	if (qp->tx.fin_done) {
		qp->rx.dead = true;
		xiw_qp_event(qp, XIW_QPE_LOCAL_ERROR);
		return XIW_DELIVER_DEAD;
	}
	if (!qp->irq && !alloc_requests(qp))
		return XIW_DELIVER_STALL;
	reason = collect_body(qp, f, XIW_QN1_BUF_LEN, room, &complete, &len);
	if (reason != XIW_OK)
		return fault(qp, f, reason);
	if (!complete)
		return XIW_DELIVER_OK;

	opcode = q->opcode;
	req = &qp->irq[qp->irq_tail & qp->irq_mask];
	req->atomic = opcode == XIW_OP_ATOMIC_REQ;
	req->ulpdu_len = f->ulpdu_len;
	memcpy(req->hdr, f->hdr, sizeof(req->hdr));
	if (req->atomic)
		reason = xiw_rdmap_atomic_req_decode(body, len, &req->op);
	else
		reason = xiw_rdmap_read_req_decode(body, len, &req->read);
	if (reason != XIW_OK)
		return fault(qp, f, reason);
	req->fault = req->atomic ? check_atomic_target(qp, &req->op) :
		     check_read_source(qp, &req->read);
	qp->irq_tail++;
	qp->rx.poke_tx = true;
	if (req->fault == XIW_OK)
		return XIW_DELIVER_OK;
	qp->rx.dead = true;
	return XIW_DELIVER_DEAD;
}

static struct xiw_wait *oldest_wait(struct xiw_qp *qp)
{
	struct xiw_wait *wait;

	if (qp->orq_head == qp->orq_tail)
		return NULL;
	wait = &qp->orq[qp->orq_head & qp->orq_mask];
	/* An answer to what was not even sent is a stray one. */
	if (!wait->internal) {
		const struct xiw_swr *wr = xiw_sq_wr(&qp->sq, wait->index);

		if (!wr->built || wr->end_pos > qp->tx.sent)
			return NULL;
	}
	return wait;
}

/* The oldest outstanding request has its answer. */
static void request_answered(struct xiw_qp *qp, struct xiw_wait *wait)
{
	struct xiw_swr *wr;

	qp->orq_head++;
	qp->rx.answers++;
	qp->rx.poke_tx = true;
	if (wait->internal)
		return;
	wr = xiw_sq_wr(&qp->sq, wait->index);
	wr->done = true;
	if (wr->opcode == IB_WR_RDMA_READ_WITH_INV && wr->num_sge &&
	    xiw_mem_invalidate(qp->dev, qp->ibqp.pd, qp->qpn,
			       wr->sge[0].lkey, false) != XIW_MEM_OK) {
		xiw_sq_fail(qp, wr, IB_WC_LOC_QP_OP_ERR);
		return;
	}
	xiw_sq_complete(qp);
}

static enum xiw_deliver deliver_read_resp(struct xiw_qp *qp,
					  struct xiw_fpdu *f)
{
	struct xiw_wait *wait = oldest_wait(qp);
	enum xiw_reason reason;
	struct xiw_swr *wr;

	if (wait && wait->atomic)
		wait = NULL;
	reason = xiw_rdmap_read_resp_check(wait ? &wait->sink : NULL, &f->h);
	if (reason != XIW_OK)
		return fault(qp, f, reason);

	if (f->h.payload_len) {
		wr = xiw_sq_wr(&qp->sq, wait->index);
		if (!xiw_place_sges(qp, f, wr->sge, wr->num_sge,
				    wait->offset, f->h.payload_len)) {
			wr->done = true;
			wr->status = IB_WC_LOC_PROT_ERR;
			return fault(qp, f, XIW_RESP_SINK_GONE);
		}
		wait->offset += f->h.payload_len;
	}
	qp->rx.answers++;
	reason = xiw_rdmap_read_resp_advance(&wait->sink, &f->h);
	if (reason != XIW_OK) {
		if (!wait->internal) {
			wr = xiw_sq_wr(&qp->sq, wait->index);
			wr->done = true;
			wr->status = IB_WC_LOC_LEN_ERR;
			wr->vendor_err = xiw_term_code(reason);
		}
		return fault(qp, f, reason);
	}
	if (f->h.last)
		request_answered(qp, wait);
	return XIW_DELIVER_OK;
}

/* The value goes where the work request wants it, in host order. */
static bool store_atomic(struct xiw_qp *qp, const struct xiw_swr *wr,
			 u64 value)
{
	struct kvec vec = { .iov_base = &value, .iov_len = sizeof(value) };
	struct xiw_fpdu f = { .vec = &vec };

	return xiw_place_sges(qp, &f, wr->sge, wr->num_sge, 0, sizeof(value));
}

static enum xiw_deliver deliver_atomic_resp(struct xiw_qp *qp,
					    struct xiw_fpdu *f)
{
	struct xiw_wait *wait = oldest_wait(qp);
	struct xiw_atomic_resp resp;
	enum xiw_reason reason;
	struct xiw_swr *wr;
	bool complete;
	u32 len;

	if (wait && !wait->atomic)
		wait = NULL;
	reason = collect_body(qp, f, XIW_QN3_BUF_LEN, wait, &complete, &len);
	if (reason != XIW_OK)
		return fault(qp, f, reason);
	if (!complete)
		return XIW_DELIVER_OK;
	reason = xiw_rdmap_atomic_resp_decode(qp->rx.body[XIW_QN_ATOMIC_RESP],
					      len, &resp);
	if (reason == XIW_OK && (!wait || resp.id != wait->index))
		reason = XIW_ATOMIC_BAD_ID;
	if (reason != XIW_OK)
		return fault(qp, f, reason);

	wr = xiw_sq_wr(&qp->sq, wait->index);
	if (!store_atomic(qp, wr, resp.orig)) {
		xiw_sq_fail(qp, wr, IB_WC_LOC_PROT_ERR);
		return XIW_DELIVER_DEAD;
	}
	request_answered(qp, wait);
	return XIW_DELIVER_OK;
}

/* The outstanding Read or Atomic of that MSN; without one, the first Atomic. */
static struct xiw_swr *blamed_request(struct xiw_qp *qp,
				      const struct xiw_term *term, bool *atomic)
{
	struct xiw_wait *wait;
	u32 i;

	for (i = qp->orq_head; i != qp->orq_tail; i++) {
		wait = &qp->orq[i & qp->orq_mask];
		if (term->has_hdr ? wait->msn != term->msn : !wait->atomic)
			continue;
		*atomic = wait->atomic;
		return wait->internal ? NULL : xiw_sq_wr(&qp->sq, wait->index);
	}
	return NULL;
}

static struct xiw_swr *blamed_send(struct xiw_qp *qp,
				   const struct xiw_term *term)
{
	struct xiw_sq *sq = &qp->sq;
	struct xiw_swr *wr;
	u32 i;

	for (i = sq->head; i != sq->next; i++) {
		wr = xiw_sq_wr(sq, i);
		if (wr->has_msn && wr->msn == term->msn)
			return wr;
	}
	return NULL;
}

static struct xiw_swr *blamed_wr(struct xiw_qp *qp,
				 const struct xiw_term *term, bool *atomic)
{
	*atomic = false;
	/*
	 * A peer without RFC 7306 may quote nothing of a segment whose layout
	 * it does not know. Only Atomics and Immediate Data have an opcode that
	 * can be unknown, and the latter do not wait for an answer: if there
	 * were any, nobody can tell.
	 */
	if (!term->has_hdr)
		return xiw_term_unknown_opcode(term->code) &&
		       !qp->tx.imm_sent ?
		       blamed_request(qp, term, atomic) : NULL;
	if (term->tagged)
		return NULL;
	if (term->qn == XIW_QN_REQUEST)
		return blamed_request(qp, term, atomic);
	return term->qn == XIW_QN_SEND ? blamed_send(qp, term) : NULL;
}

/*
 * The peer ended the stream. The request it complains about, if that is still
 * outstanding, learns why; all others are flushed. RFC 5040 section 5.4: no
 * answer, whatever the message looks like.
 */
static enum xiw_deliver deliver_terminate(struct xiw_qp *qp,
					  struct xiw_fpdu *f)
{
	struct xiw_term term;
	enum xiw_reason reason;
	struct xiw_swr *wr;
	bool complete;
	bool atomic;
	u32 len;

	xiw_stat_inc(qp->dev, XIW_STAT_TERM_RECEIVED);
	reason = collect_body(qp, f, XIW_QN2_BUF_LEN,
			      qp->rx.queue[XIW_QN_TERMINATE].msn ==
			      XIW_MSN_FIRST, &complete, &len);
	if (reason == XIW_OK && complete)
		reason = xiw_term_decode(qp->rx.body[XIW_QN_TERMINATE], len,
					 &term);
	if (reason == XIW_OK && !complete)
		return XIW_DELIVER_OK;
	qp->rx.dead = true;
	if (reason != XIW_OK) {
		xiw_qp_event(qp, XIW_QPE_FAULT_SILENT);
		return XIW_DELIVER_DEAD;
	}
	trace_terminate_received(qp, term.code);
	wr = blamed_wr(qp, &term, &atomic);
	if (wr && !wr->done) {
		wr->done = true;
		wr->status = peer_wc_status[xiw_term_peer_status(term.code,
								 atomic)];
		wr->vendor_err = term.code;
	}
	xiw_qp_event(qp, XIW_QPE_TERM_RECEIVED);
	return XIW_DELIVER_DEAD;
}

/**
 * xiw_deliver() - act on one segment
 * @qp: queue pair
 * @f: verified FPDU with a header that passed xiw_ddp_decode(), read position
 *	at its payload; moved by what placed the payload
 *
 * Context: Socket lock held. Does not sleep.
 * Return: XIW_DELIVER_STALL if the same FPDU must be offered again later,
 * XIW_DELIVER_DEAD if the stream has ended.
 */
enum xiw_deliver xiw_deliver(struct xiw_qp *qp, struct xiw_fpdu *f)
{
	switch (f->h.opcode) {
	case XIW_OP_WRITE:
		return deliver_write(qp, f);
	case XIW_OP_READ_RESP:
		return deliver_read_resp(qp, f);
	case XIW_OP_READ_REQ:
	case XIW_OP_ATOMIC_REQ:
		return deliver_request(qp, f);
	case XIW_OP_ATOMIC_RESP:
		return deliver_atomic_resp(qp, f);
	case XIW_OP_TERMINATE:
		return deliver_terminate(qp, f);
	default:
		return deliver_recv(qp, f);
	}
}

/**
 * xiw_rq_flush() - complete everything that is still in the receive queue
 * @qp: queue pair whose stream has ended
 *
 * A shared receive queue keeps its entries; its user is told that this queue
 * pair takes no more of them. There is a limit to what one call does, as in
 * xiw_sq_flush().
 *
 * Context: Owner of the receive side.
 * Return: true if there may be more.
 */
bool xiw_rq_flush(struct xiw_qp *qp)
{
	struct xiw_cqe cqe = {
		.opcode = XIW_WC_RECV,
		.status = IB_WC_WR_FLUSH_ERR,
	};
	u32 left;

	if (qp->rx.recv_active)
		complete_recv(qp, &cqe);
	if (qp->srq) {
		if (!qp->last_wqe_told)
			xiw_qp_async(qp, IB_EVENT_QP_LAST_WQE_REACHED);
		qp->last_wqe_told = true;
		return false;
	}
	for (left = qp->rq.queue.size; left; left--) {
		if (xiw_rq_take(&qp->rq, &qp->rx.recv) != XIW_RQ_TAKEN)
			return false;
		complete_recv(qp, &cqe);
	}
	return true;
}
