// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Delivery of verified segments: places the payload, and at the end of a
 * message completes a receive, queues a request for the transmit side to
 * answer, finishes an outstanding request of this side, or ends the stream.
 *
 * Called by rx.c for one FPDU at a time, in the order of the stream.
 */

#include "engine.h"

#include <kunit/visibility.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/minmax.h>

#include "llp/fpdu.h"
#include "proto/rdmap.h"
#include "trace.h"

/*
 * Limit of an RNR wait after this side has closed the connection: the peer's
 * FIN, and so the end of the close, is behind the message that waits.
 */
#define DELIVER_RNR_CLOSING_MS	1000

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

/*
 * Ends the stream because segment @f is invalid. The receive to which the
 * segment belongs completes with an error; all other requests are flushed.
 */
static enum xiw_deliver deliver_fault(struct xiw_stream *s,
				      const struct xiw_fpdu *f,
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
	if (s->rx.recv_active && status != XIW_RECV_FLUSH && !f->h.tagged &&
	    f->h.qn == XIW_QN_SEND) {
		struct xiw_cqe cqe = {
			.opcode = XIW_WC_RECV,
			.status = recv_wc_status[status],
			.vendor_err = xiw_term_code(reason),
		};

		xiw_stream_recv_done(s, &cqe);
	}
	xiw_stream_fault(s, reason, &off);
	return XIW_DELIVER_DEAD;
}

/* Limit of an RNR wait in milliseconds. Any context. */
u32 xiw_deliver_rnr_ms(const struct xiw_stream *s)
{
	u32 ms = READ_ONCE(s->env->rnr_timeout_ms);

	if (READ_ONCE(s->state) == XIW_QPS_CLOSING)
		return min_t(u32, ms, DELIVER_RNR_CLOSING_MS);
	return ms;
}

/*
 * Begins an RNR wait. iWARP has no "receiver not ready" message, so reading
 * stops until a receive is posted or the wait expires.
 */
static enum xiw_deliver deliver_rnr_wait(struct xiw_stream *s)
{
	u32 ms = xiw_deliver_rnr_ms(s);

	if (s->rx.rnr_expired ||
	    (!ms && !time_after(s->ops->rnr_until(s, jiffies), jiffies)))
		return XIW_DELIVER_DEAD;
	WRITE_ONCE(s->rx.stalled, true);
	s->rx.rnr_waits = true;
	/* A wakeup that found no receive must not extend the wait. */
	if (!delayed_work_pending(&s->rx.rnr_timer)) {
		xiw_stat_inc(s->env->stats, XIW_STAT_RX_RNR);
		s->rx.rnr_end = jiffies + msecs_to_jiffies(ms);
		trace_rnr_wait(s->id);
	}
	xiw_stream_queue_delayed(s, &s->rx.rnr_timer, msecs_to_jiffies(ms));
	s->ops->rnr_wait(s);
	return XIW_DELIVER_STALL;
}

/* Stops reading until the pages that a segment wants are there. */
static enum xiw_deliver deliver_page_wait(struct xiw_stream *s)
{
	WRITE_ONCE(s->rx.stalled, true);
	xiw_page_in_start(&s->rx.pages);
	return XIW_DELIVER_STALL;
}

static enum xiw_deliver deliver_take_recv(struct xiw_stream *s)
{
	/* Taken by a connection that xiw_oob_roll_back() has undone. */
	if (s->rx.recv_active)
		return XIW_DELIVER_OK;
	switch (s->ops->take_recv(s, &s->rx.recv)) {
	case XIW_RQ_LIMIT:
	case XIW_RQ_TAKEN:
		s->rx.recv_active = true;
		s->rx.rnr_expired = false;
		/* End the RNR wait; the next one starts its own timer. */
		if (delayed_work_pending(&s->rx.rnr_timer) &&
		    cancel_delayed_work(&s->rx.rnr_timer)) {
			trace_rnr_done(s->id);
			s->ops->put(s);
		}
		return XIW_DELIVER_OK;
	case XIW_RQ_CORRUPT:
		xiw_stream_event(s, XIW_QPE_LOCAL_ERROR);
		WRITE_ONCE(s->rx.dead, true);
		return XIW_DELIVER_STALL;
	case XIW_RQ_EMPTY:
		break;
	}
	return deliver_rnr_wait(s);
}

/*
 * Is @f, which begins a message, the first half of a Send with Immediate? If
 * so, its bytes are in rx.body.
 */
static bool deliver_announces_send(struct xiw_stream *s,
				   const struct xiw_fpdu *f)
{
	u8 *body = s->rx.body[XIW_QN_SEND];
	struct xiw_fpdu at;

	if (!s->conn.send_imm || f->h.opcode != XIW_OP_IMM || !f->h.last ||
	    f->h.payload_len != XIW_IMM_LEN)
		return false;
	at = *f;
	xiw_fpdu_copy(&at, body, XIW_IMM_LEN);
	return xiw_rdmap_imm_of_send(body);
}

/* Saves the Immediate Data; the Send that must follow takes the receive. */
static enum xiw_reason deliver_keep_imm(struct xiw_stream *s,
					const struct xiw_fpdu *f)
{
	struct xiw_ddp_queue *q = &s->rx.queue[XIW_QN_SEND];
	enum xiw_reason reason;
	u32 len;

	xiw_ddp_queue_open(q, f->h.opcode, XIW_IMM_LEN);
	reason = xiw_ddp_queue_check(q, &f->h);
	if (reason != XIW_OK)
		return reason;
	xiw_ddp_queue_advance(q, &f->h, &len);
	s->rx.with_imm = true;
	return xiw_rdmap_imm_decode(s->rx.body[XIW_QN_SEND], len, &s->rx.imm);
}

static bool deliver_may_follow_imm(u8 opcode)
{
	return opcode == XIW_OP_SEND || opcode == XIW_OP_SEND_SE;
}

/* Takes a receive for the message that begins with @f. */
static enum xiw_deliver deliver_open_recv(struct xiw_stream *s,
					  const struct xiw_fpdu *f)
{
	enum xiw_deliver ret = deliver_take_recv(s);
	u32 size;

	if (ret != XIW_DELIVER_OK)
		return ret;
	/*
	 * Immediate Data goes into the completion, not into the buffers
	 * (RFC 7306 section 6.2); its length is checked when it is complete.
	 */
	size = xiw_rdmap_is_imm(f->h.opcode) ? XIW_ATOMIC_REQ_LEN :
		min_t(u64, s->rx.recv.len, U32_MAX);
	xiw_ddp_queue_open(&s->rx.queue[XIW_QN_SEND], f->h.opcode, size);
	return XIW_DELIVER_OK;
}

static enum xiw_reason deliver_invalidate(struct xiw_stream *s, u32 stag)
{
	switch (xiw_mem_invalidate(&s->rx.mem, stag, true)) {
	case XIW_MEM_OK:
		return XIW_OK;
	case XIW_MEM_BAD_PD:
		return XIW_INV_BAD_OWNER;
	default:
		return XIW_INV_BAD_STAG;
	}
}

/* Completes the receive of a complete message of queue 0. */
static enum xiw_reason deliver_finish_recv(struct xiw_stream *s,
					   const struct xiw_fpdu *f, u8 opcode,
					   u32 len)
{
	const struct xiw_rdmap_op *op = xiw_rdmap_op(opcode, ~0);
	struct xiw_cqe cqe = {
		.opcode = XIW_WC_RECV,
		.status = IB_WC_SUCCESS,
		.byte_len = len,
	};
	enum xiw_reason reason;

	if (xiw_rdmap_is_imm(opcode)) {
		reason = xiw_rdmap_imm_decode(s->rx.body[XIW_QN_SEND], len,
					      &cqe.imm_data);
		if (reason != XIW_OK)
			return reason;
		cqe.opcode = XIW_WC_RECV_WITH_IMM;
		cqe.flags |= XIW_CQE_WITH_IMM;
		cqe.byte_len = s->rx.last_write;
	} else if (op->invalidates) {
		/* Invalidate before the completion becomes visible. */
		reason = deliver_invalidate(s, f->h.inv_stag);
		if (reason != XIW_OK)
			return reason;
		cqe.flags |= XIW_CQE_WITH_INV;
		cqe.inv_rkey = f->h.inv_stag;
	} else if (s->rx.with_imm) {
		cqe.flags |= XIW_CQE_WITH_IMM;
		cqe.imm_data = s->rx.imm;
		s->rx.with_imm = false;
	}
	if (op->solicited)
		cqe.flags |= XIW_CQE_SOLICITED;
	s->rx.last_write = 0;
	xiw_stream_recv_done(s, &cqe);
	return XIW_OK;
}

static enum xiw_deliver deliver_recv(struct xiw_stream *s, struct xiw_fpdu *f)
{
	struct xiw_ddp_queue *q = &s->rx.queue[XIW_QN_SEND];
	enum xiw_mem_status status = XIW_MEM_OK;
	u32 len = f->h.payload_len;
	enum xiw_deliver ret;
	enum xiw_reason reason;
	u32 msg_len;
	u8 opcode;

	reason = xiw_ddp_queue_check(q, &f->h);
	if (reason == XIW_NO_BUFFER) {
		if (s->rx.with_imm && !deliver_may_follow_imm(f->h.opcode))
			return deliver_fault(s, f, XIW_BAD_OPCODE);
		if (deliver_announces_send(s, f)) {
			reason = deliver_keep_imm(s, f);
			return reason == XIW_OK ? XIW_DELIVER_OK
						: deliver_fault(s, f, reason);
		}
		ret = deliver_open_recv(s, f);
		if (ret == XIW_DELIVER_DEAD)
			return deliver_fault(s, f, XIW_NO_BUFFER);
		if (ret != XIW_DELIVER_OK)
			return ret;
		reason = xiw_ddp_queue_check(q, &f->h);
	}
	if (reason != XIW_OK)
		return deliver_fault(s, f, reason);

	opcode = q->opcode;
	if (xiw_rdmap_is_imm(opcode))
		xiw_fpdu_copy(f, s->rx.body[XIW_QN_SEND] + f->h.mo, len);
	else if (len)
		status = xiw_place_sges(s, f, s->rx.recv.sge,
					s->rx.recv.num_sge, f->h.mo, len);
	if (status == XIW_MEM_ABSENT)
		return deliver_page_wait(s);
	if (status != XIW_MEM_OK)
		return deliver_fault(s, f, XIW_RECV_FAULT);

	if (!xiw_ddp_queue_advance(q, &f->h, &msg_len))
		return XIW_DELIVER_OK;
	reason = deliver_finish_recv(s, f, opcode, msg_len);
	return reason == XIW_OK ? XIW_DELIVER_OK : deliver_fault(s, f, reason);
}

static enum xiw_deliver deliver_write(struct xiw_stream *s, struct xiw_fpdu *f)
{
	enum xiw_mem_status status = xiw_place_write(s, f);

	if (status == XIW_MEM_ABSENT)
		return deliver_page_wait(s);
	if (status != XIW_MEM_OK)
		return deliver_fault(s, f,
				     xiw_mem_reason(status, XIW_ACCESS_WRITE));
	s->rx.write_bytes += f->h.payload_len;
	if (f->h.last) {
		s->rx.last_write = min_t(u64, s->rx.write_bytes, U32_MAX);
		s->rx.write_bytes = 0;
	}
	return XIW_DELIVER_OK;
}

/*
 * Assembles a message of a queue without user buffers. When it is complete,
 * @len is set, and its bytes are in rx.body. A sender may split even such a
 * short message into several segments.
 */
static enum xiw_reason deliver_collect_body(struct xiw_stream *s,
					    const struct xiw_fpdu *f, u32 size,
					    bool have_buffer, bool *complete,
					    u32 *len)
{
	struct xiw_ddp_queue *q = &s->rx.queue[f->h.qn];
	struct xiw_fpdu at = *f;
	enum xiw_reason reason;

	reason = xiw_ddp_queue_check(q, &f->h);
	if (reason == XIW_NO_BUFFER && have_buffer) {
		xiw_ddp_queue_open(q, f->h.opcode, size);
		reason = xiw_ddp_queue_check(q, &f->h);
	}
	if (reason != XIW_OK)
		return reason;
	xiw_fpdu_copy(&at, s->rx.body[f->h.qn] + f->h.mo, f->h.payload_len);
	*complete = xiw_ddp_queue_advance(q, &f->h, len);
	return XIW_OK;
}

static enum xiw_reason deliver_check_read_source(struct xiw_stream *s,
						 const struct xiw_read_req *req)
{
	enum xiw_mem_status status;

	/* A zero-length Read names no memory (RFC 5040 section 5.2.1). */
	if (!req->size)
		return XIW_OK;
	status = xiw_mem_check(&s->rx.mem, req->src_stag,
			       IB_ACCESS_REMOTE_READ, req->src_to, req->size);
	if (status != XIW_MEM_OK)
		return xiw_mem_reason(status, XIW_ACCESS_SOURCE);
	if (!xiw_stream_access_ok(s, IB_ACCESS_REMOTE_READ))
		return XIW_SRC_BAD_RIGHTS;
	return XIW_OK;
}

static enum xiw_reason
deliver_check_atomic_target(struct xiw_stream *s,
			    const struct xiw_atomic_req *op)
{
	enum xiw_mem_status status;
	struct xiw_mem_ref ref;
	bool aligned = true;

	status = xiw_stream_mem_get(s, &s->rx.mem, op->stag,
				    IB_ACCESS_REMOTE_ATOMIC, op->to,
				    sizeof(u64), &ref);
	if (status == XIW_MEM_OK) {
		aligned = xiw_mem_word(&ref);
		xiw_mem_put(&ref);
	} else if (status != XIW_MEM_ABSENT) {
		return xiw_mem_reason(status, XIW_ACCESS_SOURCE);
	}
	return aligned ? XIW_OK : XIW_ATOMIC_UNALIGNED;
}

/* Allocates slots for inbound requests; schedules a retry without memory. */
static bool deliver_alloc_requests(struct xiw_stream *s)
{
	u32 slots = roundup_pow_of_two(max(s->ird_size, 1U));

	s->irdq = xiw_pages_calloc(s->memcg, GFP_ATOMIC | __GFP_NOWARN,
				   slots, sizeof(*s->irdq));
	s->ird_mask = slots - 1;
	if (s->irdq)
		return true;
	xiw_stat_inc(s->env->stats, XIW_STAT_RX_NOMEM);
	/* Stop reading, as in an RNR wait. */
	WRITE_ONCE(s->rx.stalled, true);
	xiw_stream_rx_again(s, 1);
	return false;
}

/*
 * Read and Atomic Requests share a queue, its buffers, and their order. The
 * memory of a request is checked here, so that the first of several faults is
 * reported: reading stops, earlier requests are answered, and then the
 * Terminate is sent. The response checks memory and rights again, as both may
 * be revoked in between.
 */
static enum xiw_deliver deliver_request(struct xiw_stream *s,
					struct xiw_fpdu *f)
{
	bool room = s->ird_tail - s->ird_head < s->ird_size;
	const u8 *body = s->rx.body[XIW_QN_REQUEST];
	struct xiw_ddp_queue *q = &s->rx.queue[XIW_QN_REQUEST];
	enum xiw_reason reason;
	struct xiw_ird_entry *req;
	bool complete;
	u8 opcode;
	u32 len;

	/*
	 * After its FIN this side cannot respond. The peer may not have
	 * received the FIN yet, and data sent before it must still arrive, so
	 * send neither a Terminate nor a reset.
	 */
	if (s->tx.fin_done) {
		WRITE_ONCE(s->rx.dead, true);
		xiw_stream_event(s, XIW_QPE_LOCAL_ERROR);
		return XIW_DELIVER_DEAD;
	}
	if (!s->irdq && !deliver_alloc_requests(s))
		return XIW_DELIVER_STALL;
	reason = deliver_collect_body(s, f, XIW_QN1_BUF_LEN, room, &complete,
				      &len);
	if (reason != XIW_OK)
		return deliver_fault(s, f, reason);
	if (!complete)
		return XIW_DELIVER_OK;

	opcode = q->opcode;
	req = &s->irdq[s->ird_tail & s->ird_mask];
	req->atomic = opcode == XIW_OP_ATOMIC_REQ;
	req->ulpdu_len = f->ulpdu_len;
	memcpy(req->hdr, f->hdr, sizeof(req->hdr));
	if (req->atomic)
		reason = xiw_rdmap_atomic_req_decode(body, len, &req->op);
	else
		reason = xiw_rdmap_read_req_decode(body, len, &req->read);
	if (reason != XIW_OK)
		return deliver_fault(s, f, reason);
	req->fault = req->atomic ? deliver_check_atomic_target(s, &req->op)
				 : deliver_check_read_source(s, &req->read);
	s->ird_tail++;
	s->rx.run_tx = true;
	if (req->fault == XIW_OK)
		return XIW_DELIVER_OK;
	WRITE_ONCE(s->rx.dead, true);
	return XIW_DELIVER_DEAD;
}

static struct xiw_orq_entry *deliver_oldest_wait(struct xiw_stream *s)
{
	struct xiw_orq_entry *wait;

	if (s->orq_head == s->orq_tail)
		return NULL;
	wait = &s->orq[s->orq_head & s->orq_mask];
	/* The peer cannot respond to a request that TCP has not taken. */
	if (!wait->internal) {
		const struct xiw_swr *wr = xiw_sq_wr(s->sq, wait->index);

		if (!wr->encoded || wr->end_pos > s->tx.sent)
			return NULL;
	}
	return wait;
}

/* Finishes the oldest outstanding request. */
static void deliver_request_answered(struct xiw_stream *s,
				     struct xiw_orq_entry *wait)
{
	struct xiw_swr *wr;

	s->orq_head++;
	s->rx.run_tx = true;
	if (wait->internal)
		return;
	wr = xiw_sq_wr(s->sq, wait->index);
	wr->done = true;
	if (wr->opcode == IB_WR_RDMA_READ_WITH_INV && wr->num_sge &&
	    xiw_mem_invalidate(&s->rx.mem, wr->sge[0].lkey,
			       false) != XIW_MEM_OK) {
		xiw_tx_sched_fail(s, wr, IB_WC_LOC_QP_OP_ERR);
		return;
	}
	xiw_tx_sched_complete(s);
}

static enum xiw_deliver deliver_read_resp(struct xiw_stream *s,
					  struct xiw_fpdu *f)
{
	struct xiw_orq_entry *wait = deliver_oldest_wait(s);
	enum xiw_mem_status status;
	enum xiw_reason reason;
	struct xiw_swr *wr;

	if (wait && wait->atomic)
		wait = NULL;
	reason = xiw_rdmap_read_resp_check(wait ? &wait->sink : NULL, &f->h);
	if (reason != XIW_OK)
		return deliver_fault(s, f, reason);

	if (f->h.payload_len) {
		wr = xiw_sq_wr(s->sq, wait->index);
		status = xiw_place_sges(s, f, wr->sge, wr->num_sge,
					wait->offset, f->h.payload_len);
		if (status == XIW_MEM_ABSENT)
			return deliver_page_wait(s);
		if (status != XIW_MEM_OK) {
			wr->done = true;
			wr->status = IB_WC_LOC_PROT_ERR;
			return deliver_fault(s, f, XIW_RESP_SINK_GONE);
		}
		wait->offset += f->h.payload_len;
	}
	reason = xiw_rdmap_read_resp_advance(&wait->sink, &f->h);
	if (reason != XIW_OK) {
		if (!wait->internal) {
			wr = xiw_sq_wr(s->sq, wait->index);
			wr->done = true;
			wr->status = IB_WC_LOC_LEN_ERR;
			wr->vendor_err = xiw_term_code(reason);
		}
		return deliver_fault(s, f, reason);
	}
	if (f->h.last)
		deliver_request_answered(s, wait);
	return XIW_DELIVER_OK;
}

/* Stores the value in the work request's buffer, in host byte order. */
static enum xiw_mem_status deliver_store_atomic(struct xiw_stream *s,
						const struct xiw_swr *wr,
						u64 value)
{
	struct kvec vec = { .iov_base = &value, .iov_len = sizeof(value) };
	struct xiw_fpdu f = { .vec = &vec };

	return xiw_place_sges(s, &f, wr->sge, wr->num_sge, 0, sizeof(value));
}

static enum xiw_deliver deliver_atomic_resp(struct xiw_stream *s,
					    struct xiw_fpdu *f)
{
	struct xiw_ddp_queue *q = &s->rx.queue[XIW_QN_ATOMIC_RESP];
	struct xiw_orq_entry *wait = deliver_oldest_wait(s);
	struct xiw_ddp_queue before = *q;
	struct xiw_atomic_resp resp;
	enum xiw_mem_status status;
	enum xiw_reason reason;
	struct xiw_swr *wr;
	bool complete;
	u32 len;

	if (wait && !wait->atomic)
		wait = NULL;
	reason = deliver_collect_body(s, f, XIW_QN3_BUF_LEN, wait, &complete,
				      &len);
	if (reason != XIW_OK)
		return deliver_fault(s, f, reason);
	if (!complete)
		return XIW_DELIVER_OK;
	reason = xiw_rdmap_atomic_resp_decode(s->rx.body[XIW_QN_ATOMIC_RESP],
					      len, &resp);
	if (reason == XIW_OK && (!wait || resp.id != wait->index))
		reason = XIW_ATOMIC_BAD_ID;
	if (reason != XIW_OK)
		return deliver_fault(s, f, reason);

	wr = xiw_sq_wr(s->sq, wait->index);
	status = deliver_store_atomic(s, wr, resp.orig);
	if (status == XIW_MEM_ABSENT) {
		/* The same segment is delivered again. */
		*q = before;
		return deliver_page_wait(s);
	}
	if (status != XIW_MEM_OK) {
		xiw_tx_sched_fail(s, wr, IB_WC_LOC_PROT_ERR);
		return XIW_DELIVER_DEAD;
	}
	deliver_request_answered(s, wait);
	return XIW_DELIVER_OK;
}

/* The outstanding request with the MSN of @term, or else the first Atomic. */
static struct xiw_swr *deliver_faulty_request(struct xiw_stream *s,
					      const struct xiw_term *term,
					      bool *atomic)
{
	struct xiw_orq_entry *wait;
	u32 i;

	for (i = s->orq_head; i != s->orq_tail; i++) {
		wait = &s->orq[i & s->orq_mask];
		if (term->has_hdr ? wait->msn != term->msn : !wait->atomic)
			continue;
		*atomic = wait->atomic;
		return wait->internal ? NULL : xiw_sq_wr(s->sq, wait->index);
	}
	return NULL;
}

static struct xiw_swr *deliver_faulty_send(struct xiw_stream *s,
					   const struct xiw_term *term)
{
	struct xiw_sq *sq = s->sq;
	struct xiw_swr *wr;
	u32 i;

	for (i = sq->head; i != sq->next; i++) {
		wr = xiw_sq_wr(sq, i);
		if (wr->has_msn && wr->msn == term->msn)
			return wr;
	}
	return NULL;
}

static struct xiw_swr *deliver_faulty_wr(struct xiw_stream *s,
					 const struct xiw_term *term,
					 bool *atomic)
{
	*atomic = false;
	/*
	 * A peer without RFC 7306 may omit the header of a segment with unknown
	 * layout. Only Atomics and Immediate Data have opcodes that can be
	 * unknown. Immediate Data gets no response, so if any was sent, the
	 * Terminate may refer to it.
	 */
	if (!term->has_hdr)
		return xiw_term_unknown_opcode(term->code) && !s->tx.imm_sent
			       ? deliver_faulty_request(s, term, atomic)
			       : NULL;
	if (term->tagged)
		return NULL;
	if (term->qn == XIW_QN_REQUEST)
		return deliver_faulty_request(s, term, atomic);
	return term->qn == XIW_QN_SEND ? deliver_faulty_send(s, term) : NULL;
}

/*
 * The peer has ended the stream. The work request named by the Terminate, if
 * still outstanding, completes with the reason; all others are flushed. Even a
 * malformed Terminate is not answered (RFC 5040 section 5.4).
 */
static enum xiw_deliver deliver_terminate(struct xiw_stream *s,
					  struct xiw_fpdu *f)
{
	struct xiw_term term;
	enum xiw_reason reason;
	struct xiw_swr *wr;
	bool complete;
	bool atomic;
	u32 len;

	xiw_stat_inc(s->env->stats, XIW_STAT_TERM_RECEIVED);
	reason = deliver_collect_body(s, f, XIW_QN2_BUF_LEN,
				      s->rx.queue[XIW_QN_TERMINATE].msn ==
					      XIW_MSN_FIRST,
				      &complete, &len);
	if (reason == XIW_OK && complete)
		reason = xiw_term_decode(s->rx.body[XIW_QN_TERMINATE], len,
					 &term);
	if (reason == XIW_OK && !complete)
		return XIW_DELIVER_OK;
	WRITE_ONCE(s->rx.dead, true);
	if (reason != XIW_OK) {
		xiw_stream_event(s, XIW_QPE_FAULT_SILENT);
		return XIW_DELIVER_DEAD;
	}
	trace_terminate_received(s->id, term.code);
	s->rx.term_code = term.code;
	wr = deliver_faulty_wr(s, &term, &atomic);
	if (wr && !wr->done) {
		wr->done = true;
		wr->status = peer_wc_status[xiw_term_peer_status(term.code,
								 atomic)];
		wr->vendor_err = term.code;
	}
	xiw_stream_event(s, XIW_QPE_TERM_RECEIVED);
	return XIW_DELIVER_DEAD;
}

/**
 * xiw_deliver() - process one segment
 * @s: stream
 * @f: verified FPDU with a header that passed xiw_ddp_decode(), read position
 *	at its payload; moved when the payload is placed
 *
 * Return: XIW_DELIVER_STALL if the same FPDU must be passed again later,
 * XIW_DELIVER_DEAD if the stream has ended.
 */
enum xiw_deliver xiw_deliver(struct xiw_stream *s, struct xiw_fpdu *f)
{
	switch (f->h.opcode) {
	case XIW_OP_WRITE:
		return deliver_write(s, f);
	case XIW_OP_READ_RESP:
		return deliver_read_resp(s, f);
	case XIW_OP_READ_REQ:
	case XIW_OP_ATOMIC_REQ:
		return deliver_request(s, f);
	case XIW_OP_ATOMIC_RESP:
		return deliver_atomic_resp(s, f);
	case XIW_OP_TERMINATE:
		return deliver_terminate(s, f);
	default:
		return deliver_recv(s, f);
	}
}

/**
 * xiw_deliver_flush() - complete the receive of an unfinished message
 * @s: stream that has ended
 */
void xiw_deliver_flush(struct xiw_stream *s)
{
	struct xiw_cqe cqe = {
		.opcode = XIW_WC_RECV,
		.status = IB_WC_WR_FLUSH_ERR,
	};

	if (s->rx.recv_active)
		xiw_stream_recv_done(s, &cqe);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_deliver_flush);
