// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transmit scheduling: picks the next message of a stream from the send queue,
 * the inbound requests to be answered, the RTR and the Terminate, and completes
 * work requests in the order in which they were posted.
 */

#include "engine.h"

#include <kunit/visibility.h>

#include "proto/atomic.h"

static bool tx_sched_orq_empty(const struct xiw_stream *s)
{
	return s->orq_head == s->orq_tail;
}

static u32 tx_sched_orq_used(const struct xiw_stream *s)
{
	return s->orq_tail - s->orq_head;
}

static void tx_sched_start(struct xiw_tx_msg *msg)
{
	msg->offset = 0;
	msg->sge = 0;
	msg->sge_off = 0;
	msg->body_len = 0;
}

static void tx_sched_start_tagged(struct xiw_stream *s, u8 opcode, u32 stag,
				  u64 to, u32 len)
{
	s->tx.msg.head = (struct xiw_seg_msg) {
		.opcode = opcode,
		.tagged = true,
		.stag = stag,
		.to = to,
		.len = len,
	};
	tx_sched_start(&s->tx.msg);
}

static void tx_sched_start_untagged(struct xiw_stream *s, u8 opcode, u32 qn,
				    u32 len)
{
	s->tx.msg.head = (struct xiw_seg_msg) {
		.opcode = opcode,
		.qn = qn,
		.msn = xiw_ddp_next_msn(&s->tx.msn[qn]),
		.len = len,
	};
	tx_sched_start(&s->tx.msg);
}

/* Starts a message that consists of the RDMAP header in tx.msg.body. */
static void tx_sched_start_body(struct xiw_stream *s, u8 opcode, u32 qn,
				u32 len)
{
	tx_sched_start_untagged(s, opcode, qn, len);
	s->tx.msg.body_len = len;
}

static void tx_sched_start_imm(struct xiw_stream *s, const struct xiw_swr *wr,
			       u8 opcode, enum xiw_imm_kind kind)
{
	xiw_rdmap_imm_encode(s->tx.msg.body, (__force __be32)wr->ext, kind);
	tx_sched_start_body(s, opcode, XIW_QN_SEND, XIW_IMM_LEN);
	s->tx.imm_sent = true;
}

/**
 * xiw_tx_sched_fail() - fail a work request because of a local error
 * @s: stream
 * @wr: the request; it completes with @status
 * @status: enum ib_wc_status
 *
 * Ends the stream with a Terminate for a local catastrophic error (RFC 5040
 * section 7.1).
 */
void xiw_tx_sched_fail(struct xiw_stream *s, struct xiw_swr *wr, u8 status)
{
	wr->done = true;
	wr->status = status;
	s->tx.msg.source = XIW_TX_NONE;
	xiw_stream_fault(s, XIW_LOCAL_FAULT, NULL);
}

static struct xiw_orq_entry *tx_sched_orq_push(struct xiw_stream *s)
{
	struct xiw_orq_entry *wait = &s->orq[s->orq_tail++ & s->orq_mask];

	memset(wait, 0, sizeof(*wait));
	wait->msn = s->tx.msg.head.msn;
	return wait;
}

static struct xiw_orq_entry *tx_sched_orq_push_wr(struct xiw_stream *s,
						  const struct xiw_swr *wr)
{
	struct xiw_orq_entry *wait = tx_sched_orq_push(s);

	wait->index = s->sq->next;
	wait->num_sge = wr->num_sge;
	if (wr->num_sge)
		wait->sink.stag = wr->sge[0].lkey;
	return wait;
}

static bool tx_sched_start_read(struct xiw_stream *s, struct xiw_swr *wr)
{
	struct xiw_read_req req = {
		.size = wr->len,
		.src_stag = wr->rkey,
		.src_to = wr->raddr,
	};
	struct xiw_orq_entry *wait;

	if (!xiw_place_check_sges(s, wr->sge, wr->num_sge)) {
		xiw_tx_sched_fail(s, wr, IB_WC_LOC_PROT_ERR);
		return false;
	}
	/*
	 * The responder returns the sink's STag and TO unchanged, and the
	 * response is matched against this request only, so the first element
	 * stands for the whole list.
	 */
	if (wr->num_sge) {
		req.sink_stag = wr->sge[0].lkey;
		req.sink_to = wr->sge[0].addr;
	}
	xiw_rdmap_read_req_encode(s->tx.msg.body, &req);
	tx_sched_start_body(s, XIW_OP_READ_REQ, XIW_QN_REQUEST,
			    XIW_READ_REQ_LEN);
	wait = tx_sched_orq_push_wr(s, wr);
	wait->sink.to = req.sink_to;
	wait->sink.left = req.size;
	return true;
}

static bool tx_sched_start_atomic(struct xiw_stream *s, struct xiw_swr *wr)
{
	struct xiw_atomic_req req = {
		.id = s->sq->next,
		.stag = wr->rkey,
		.to = wr->raddr,
		.compare_mask = ~0ULL,
	};

	if (!xiw_place_check_sges(s, wr->sge, wr->num_sge)) {
		xiw_tx_sched_fail(s, wr, IB_WC_LOC_PROT_ERR);
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
	xiw_rdmap_atomic_req_encode(s->tx.msg.body, &req);
	tx_sched_start_body(s, XIW_OP_ATOMIC_REQ, XIW_QN_REQUEST,
			    XIW_ATOMIC_REQ_LEN);
	tx_sched_orq_push_wr(s, wr)->atomic = true;
	return true;
}

static void tx_sched_start_send(struct xiw_stream *s, struct xiw_swr *wr)
{
	bool solicited = wr->flags & XIW_SQE_SOLICITED;
	u8 opcode;

	if (wr->opcode == IB_WR_SEND_WITH_INV)
		opcode = solicited ? XIW_OP_SEND_SE_INV : XIW_OP_SEND_INV;
	else
		opcode = solicited ? XIW_OP_SEND_SE : XIW_OP_SEND;
	tx_sched_start_untagged(s, opcode, XIW_QN_SEND, wr->len);
	wr->msn = s->tx.msg.head.msn;
	wr->has_msn = true;
	if (wr->opcode == IB_WR_SEND_WITH_INV)
		s->tx.msg.head.inv_stag = wr->ext;
}

/* Does the sink of @wait use an STag with the index of @stag? */
static bool tx_sched_is_sink_of(const struct xiw_stream *s,
				const struct xiw_orq_entry *wait, u32 stag)
{
	const struct xiw_swr *wr;
	u32 i;

	if (wait->num_sge < 2)
		return wait->num_sge && wait->sink.stag >> 8 == stag >> 8;
	wr = xiw_sq_wr(s->sq, wait->index);
	for (i = 0; i < wr->num_sge; i++)
		if (wr->sge[i].lkey >> 8 == stag >> 8)
			return true;
	return false;
}

/*
 * Is a region with the index of @stag the sink of an outstanding Read or
 * Atomic? An unfenced LOCAL_INV may have revoked it. If it were registered
 * again with the same key it would accept the response, so it stays invalid
 * until the response has arrived. Writes and Sends need no such check, as their
 * data is copied before the next request is processed.
 */
static bool tx_sched_is_sink(const struct xiw_stream *s, u32 stag)
{
	u32 i;

	for (i = s->orq_head; i != s->orq_tail; i++)
		if (tx_sched_is_sink_of(s, &s->orq[i & s->orq_mask], stag))
			return true;
	return false;
}

/* Fenced local requests wait until all earlier requests are complete. */
static bool tx_sched_local_must_wait(const struct xiw_stream *s,
				     const struct xiw_swr *wr)
{
	if (s->sq->head == s->sq->next)
		return false;
	return wr->flags & XIW_SQE_FENCE ||
	       (wr->opcode == IB_WR_REG_MR && tx_sched_is_sink(s, wr->rkey));
}

/*
 * Executes the local request at sq.next; false if it must wait or has failed. A
 * REG_MR that fails is retried while earlier requests are incomplete, as one of
 * them may invalidate the region.
 */
static bool tx_sched_run_local(struct xiw_stream *s, struct xiw_swr *wr)
{
	u8 status;

	if (tx_sched_local_must_wait(s, wr))
		return false;
	status = s->ops->run_local(s, wr);
	if (status != IB_WC_SUCCESS && wr->opcode == IB_WR_REG_MR &&
	    s->sq->head != s->sq->next)
		return false;
	if (status != IB_WC_SUCCESS) {
		xiw_tx_sched_fail(s, wr, status);
		return false;
	}
	wr->done = true;
	s->sq->next++;
	xiw_tx_sched_complete(s);
	return true;
}

/*
 * True if @wr must wait because the peer has not answered the capability probe
 * of this Initiator. The answer precedes all other messages of the peer.
 */
static bool tx_sched_awaits_probe(const struct xiw_stream *s,
				  const struct xiw_swr *wr)
{
	return wr->opcode == IB_WR_SEND_WITH_IMM && s->rx.first &&
	       s->rx.end == XIW_RX_OPEN && s->conn.probe &&
	       s->conn.nego.rtr_send == XIW_RTR_WRITE;
}

/*
 * May the request at sq.next be transmitted now? Requests are never reordered,
 * so if not, the whole queue waits (RFC 5040 section 5.5 rule 13).
 */
static bool tx_sched_may_start(struct xiw_stream *s, const struct xiw_swr *wr)
{
	if (tx_sched_awaits_probe(s, wr)) {
		/*
		 * A peer without the capability answers a Read of nothing. Like
		 * that of an RTR it does not count against the ULP's ORD.
		 */
		if (s->conn.nego.peer_ird && tx_sched_orq_empty(s))
			s->tx.rtr = XIW_RTR_READ;
		return false;
	}
	if (wr->flags & XIW_SQE_FENCE && !tx_sched_orq_empty(s))
		return false;
	return !xiw_swr_is_request(wr) || tx_sched_orq_used(s) < s->ord;
}

/*
 * RFC 7306 has no Send with Immediate: the Immediate Data precedes the Send as
 * a separate message (Documentation/oob.rst, section 8).
 */
static bool tx_sched_start_send_imm(struct xiw_stream *s, struct xiw_swr *wr)
{
	if (!s->conn.send_imm) {
		xiw_tx_sched_fail(s, wr, IB_WC_LOC_QP_OP_ERR);
		return false;
	}
	tx_sched_start_imm(s, wr, XIW_OP_IMM, XIW_IMM_SEND);
	s->tx.msg.source = XIW_TX_SQ_IMM_FIRST;
	return true;
}

static bool tx_sched_start_wr(struct xiw_stream *s, struct xiw_swr *wr)
{
	s->tx.msg.source = XIW_TX_SQ;
	s->tx.msg.wr = wr;
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		tx_sched_start_tagged(s, XIW_OP_WRITE, wr->rkey, wr->raddr,
				      wr->len);
		return true;
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_INV:
		tx_sched_start_send(s, wr);
		return true;
	case IB_WR_SEND_WITH_IMM:
		return tx_sched_start_send_imm(s, wr);
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		return tx_sched_start_read(s, wr);
	default:
		return tx_sched_start_atomic(s, wr);
	}
}

/* True if the stream may start no message but a Terminate. */
static bool tx_sched_is_over(const struct xiw_stream *s)
{
	enum xiw_qp_state state = READ_ONCE(s->state);

	return s->tx.term_len || state == XIW_QPS_TERMINATE ||
	       state == XIW_QPS_ERROR;
}

/* Are there requests to be started? Fetches up to @ahead of them. */
static bool tx_sched_fetch(struct xiw_stream *s, int ahead)
{
	int n = xiw_sq_fetch(s->sq, ahead);

	if (n < 0)
		s->ops->broken(s);
	return n > 0;
}

/**
 * xiw_tx_sched_limit() - limit the send queue to the requests posted so far
 * @s: stream; no effect unless it is closing
 *
 * Requests posted before the close are sent; later ones are flushed when the
 * stream has ended (RFC 5041 section 6.2.1).
 */
void xiw_tx_sched_limit(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;

	if (tx->limited || READ_ONCE(s->state) != XIW_QPS_CLOSING)
		return;
	tx_sched_fetch(s, s->sq->size);
	tx->limit = READ_ONCE(s->sq->prod);
	tx->limited = true;
}

static bool tx_sched_at_limit(const struct xiw_stream *s)
{
	const struct xiw_tx *tx = &s->tx;

	return tx->fin_done || (tx->limited && s->sq->next == tx->limit);
}

/**
 * xiw_tx_sched_none_posted() - check that the ring has no requests to send
 * @s: stream
 *
 * Return: true if no request must still be fetched and sent.
 */
bool xiw_tx_sched_none_posted(struct xiw_stream *s)
{
	return tx_sched_at_limit(s) || xiw_sq_ring_empty(s->sq);
}

/* Was a local request executed before xiw_tx_sched_rewind()? */
static bool tx_sched_is_local_done(const struct xiw_swr *wr)
{
	return xiw_swr_is_local(wr) && wr->done &&
	       wr->status == IB_WC_SUCCESS;
}

/* Is there a request at sq.next? Those fetched before are started first. */
static bool tx_sched_has_wr(struct xiw_stream *s)
{
	/* Pairs with the release in xiw_sq_post(). */
	return s->sq->next != smp_load_acquire(&s->sq->prod) ||
	       tx_sched_fetch(s, s->tx.budget.cost);
}

/*
 * Starts the next work request, and executes local ones before it. Each of
 * these, or its completion, may end the stream, so the loop checks
 * tx_sched_is_over() each time.
 */
static bool tx_sched_next_wr(struct xiw_stream *s)
{
	struct xiw_sq *sq = s->sq;
	struct xiw_swr *wr;

	while (!tx_sched_is_over(s) && !tx_sched_at_limit(s) &&
	       !xiw_budget_spent(&s->tx.budget) && tx_sched_has_wr(s)) {
		wr = xiw_sq_wr(sq, sq->next);
		if (tx_sched_is_local_done(wr)) {
			sq->next++;
			xiw_tx_sched_complete(s);
			xiw_budget_charge(&s->tx.budget, 0);
			continue;
		}
		if (wr->done) {
			/* The request in the user's ring was malformed. */
			xiw_stream_fault(s, XIW_LOCAL_FAULT, NULL);
			return false;
		}
		if (xiw_swr_is_local(wr)) {
			if (!tx_sched_run_local(s, wr)) {
				s->tx.held = true;
				return false;
			}
			/* A process may post local requests forever. */
			xiw_budget_charge(&s->tx.budget, 0);
			continue;
		}
		if (xiw_swr_is_request(wr) && s->rx.end != XIW_RX_OPEN) {
			/* The peer can no longer respond. */
			s->tx.limit = sq->next;
			s->tx.limited = true;
			return false;
		}
		if (xiw_swr_is_request(wr) && !s->ord) {
			xiw_tx_sched_fail(s, wr, IB_WC_LOC_QP_OP_ERR);
			return false;
		}
		if (!tx_sched_may_start(s, wr)) {
			s->tx.held = true;
			return false;
		}
		if (!tx_sched_start_wr(s, wr))
			return false;
		sq->next++;
		return true;
	}
	return false;
}

/* XIW_MEM_ABSENT if the Atomic must wait for its page. */
static enum xiw_mem_status tx_sched_get_word(struct xiw_stream *s,
					     const struct xiw_atomic_req *op,
					     struct xiw_mem_ref *ref)
{
	struct xiw_page_wait *pages = xiw_tx_pages(&s->tx, XIW_TX_RESPONSE);
	enum xiw_mem_status status;

	status = xiw_stream_mem_get(s, &s->tx.mem, op->stag,
				    IB_ACCESS_REMOTE_ATOMIC, op->to,
				    sizeof(u64), ref);
	if (status != XIW_MEM_ABSENT)
		return status;
	status = xiw_page_in_want(pages, (u64)s->ird_head << 32, &s->tx.mem,
				  op->stag, IB_ACCESS_REMOTE_ATOMIC, op->to,
				  sizeof(u64));
	if (status == XIW_MEM_ABSENT)
		xiw_page_in_start(pages);
	return status;
}

/* XIW_OK; then @done, unless the Atomic must wait for its page. */
static enum xiw_reason tx_sched_run_atomic(struct xiw_stream *s,
					   const struct xiw_atomic_req *op,
					   u64 *orig, bool *done)
{
	enum xiw_mem_status status;
	struct xiw_mem_ref ref;
	u64 *word;
	u64 old;
	u64 new;

	status = tx_sched_get_word(s, op, &ref);
	*done = status != XIW_MEM_ABSENT;
	if (!*done)
		return XIW_OK;
	if (status != XIW_MEM_OK)
		return xiw_mem_reason(status, XIW_ACCESS_SOURCE);

	word = xiw_mem_word(&ref);
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
 * xiw_tx_sched_bad_request() - end the stream because of an invalid inbound
 *	request
 * @s: stream
 * @reason: reason of the fault
 * @req: request
 * @done: bytes of a Read Response that were encoded already
 */
void xiw_tx_sched_bad_request(struct xiw_stream *s, enum xiw_reason reason,
			      const struct xiw_ird_entry *req, u32 done)
{
	struct xiw_term_offender off = { .ulpdu_len = req->ulpdu_len };
	struct xiw_read_req read;

	memcpy(off.hdr, req->hdr, sizeof(off.hdr));
	if (!req->atomic) {
		read = req->read;
		xiw_rdmap_read_req_advance(&read, done);
		off.read_req = &read;
	}
	xiw_stream_fault(s, reason, &off);
}

/*
 * Starts the response to the oldest inbound request. Reads and Atomics are
 * served strictly in order; an Atomic is executed only here, after the data of
 * all earlier Reads was fetched (RFC 7306 section 7).
 */
static bool tx_sched_next_response(struct xiw_stream *s)
{
	struct xiw_atomic_resp resp;
	enum xiw_reason reason;
	struct xiw_ird_entry *req;
	bool done;

	if (s->ird_head == s->ird_tail)
		return false;
	req = &s->irdq[s->ird_head & s->ird_mask];
	if (req->fault != XIW_OK) {
		xiw_tx_sched_bad_request(s, req->fault, req, 0);
		return false;
	}
	if (req->atomic) {
		reason = tx_sched_run_atomic(s, &req->op, &resp.orig, &done);
		if (reason != XIW_OK) {
			xiw_tx_sched_bad_request(s, reason, req, 0);
			return false;
		}
		/* Until then, work requests are sent. */
		if (!done)
			return false;
		resp.id = req->op.id;
		xiw_rdmap_atomic_resp_encode(s->tx.msg.body, &resp);
		tx_sched_start_body(s, XIW_OP_ATOMIC_RESP, XIW_QN_ATOMIC_RESP,
				    XIW_ATOMIC_RESP_LEN);
	} else {
		tx_sched_start_tagged(s, XIW_OP_READ_RESP, req->read.sink_stag,
				      req->read.sink_to, req->read.size);
	}
	s->tx.msg.source = XIW_TX_RESPONSE;
	return true;
}

static void tx_sched_start_rtr(struct xiw_stream *s)
{
	struct xiw_read_req req = {};
	struct xiw_orq_entry *wait;

	switch (s->tx.rtr) {
	case XIW_RTR_READ:
		xiw_rdmap_read_req_encode(s->tx.msg.body, &req);
		tx_sched_start_body(s, XIW_OP_READ_REQ, XIW_QN_REQUEST,
				    XIW_READ_REQ_LEN);
		wait = tx_sched_orq_push(s);
		wait->internal = true;
		break;
	case XIW_RTR_SEND:
		tx_sched_start_untagged(s, XIW_OP_SEND, XIW_QN_SEND, 0);
		break;
	default:
		if (s->conn.probe)
			tx_sched_start_tagged(s, XIW_OP_WRITE, XIW_PROBE_STAG,
					      XIW_PROBE_ALL, 0);
		else
			tx_sched_start_tagged(s, XIW_OP_WRITE, 0, 0, 0);
		break;
	}
	s->tx.rtr = 0;
	s->tx.msg.source = XIW_TX_RTR;
}

/* Does the message read memory, for which it may have to wait? */
static bool tx_sched_has_source(const struct xiw_tx_msg *msg)
{
	return (msg->source == XIW_TX_SQ || msg->source == XIW_TX_RESPONSE) &&
	       !msg->body_len;
}

/**
 * xiw_tx_sched_pos() - get the position of a message
 * @s: stream
 * @msg: message in progress, or parked
 *
 * The position in the stream would not do for xiw_page_in_want(), as it changes
 * while a message is parked.
 *
 * Return: Number of its request, and offset of its next segment.
 */
u64 xiw_tx_sched_pos(const struct xiw_stream *s, const struct xiw_tx_msg *msg)
{
	u32 number = msg->source == XIW_TX_RESPONSE ? s->ird_head
						    : s->sq->next;

	return (u64)number << 32 | msg->offset;
}

/**
 * xiw_tx_sched_waits_for_pages() - check if a message waits for its pages
 * @s: stream
 * @msg: message in progress, or parked
 *
 * Return: true if the end of a page-in will run the engine. A request for an
 * earlier position is obsolete: the pages came by another one.
 */
bool xiw_tx_sched_waits_for_pages(struct xiw_stream *s,
				  const struct xiw_tx_msg *msg)
{
	struct xiw_page_wait *wait = xiw_tx_pages(&s->tx, msg->source);

	return tx_sched_has_source(msg) &&
	       wait->pos == xiw_tx_sched_pos(s, msg) && xiw_page_in_waits(wait);
}

/**
 * xiw_tx_sched_park() - interrupt the message in progress
 * @s: stream with a message in progress
 *
 * The turn of the other queue begins: its message, if that was parked before,
 * is now in progress, else xiw_tx_sched_next() chooses one. Only receivers that
 * are known to accept FPDUs of two incomplete messages in turns get them, which
 * DDP does not demand of a receiver: siw does not, if both messages are tagged.
 *
 * Return: false if the message goes on: if it is short, if the other one waits
 * for its pages, or if the peer gets whole messages.
 */
bool xiw_tx_sched_park(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;

	if (!tx->mixes || !tx_sched_has_source(&tx->msg))
		return false;
	if (xiw_tx_sched_waits_for_pages(s, &tx->parked))
		return false;
	swap(tx->msg, tx->parked);
	tx->turn = tx->pos;
	return true;
}

/**
 * xiw_tx_sched_turn() - interrupt a long message
 * @s: stream that begins a batch
 *
 * A message may have 4 GiB. So that a response does not delay the send queue
 * for as long, nor the send queue responses, they take turns of XIW_TX_TURN
 * bytes, and a batch at most.
 */
void xiw_tx_sched_turn(struct xiw_stream *s)
{
	if (s->tx.msg.source != XIW_TX_NONE &&
	    s->tx.pos - s->tx.turn >= XIW_TX_TURN)
		xiw_tx_sched_park(s);
}

/*
 * Chooses the next message while one is parked: another one of the other queue
 * until its turn is over, then the parked one, unless that waits for pages.
 */
static bool tx_sched_next_beside(struct xiw_stream *s)
{
	bool waits = xiw_tx_sched_waits_for_pages(s, &s->tx.parked);
	struct xiw_tx *tx = &s->tx;

	if (waits || tx->pos - tx->turn < XIW_TX_TURN) {
		if (tx->parked.source == XIW_TX_RESPONSE
			    ? tx_sched_next_wr(s) : tx_sched_next_response(s))
			return true;
		if (tx->term_len || tx->rtr)
			return xiw_tx_sched_next(s);
	}
	if (waits || tx_sched_is_over(s))
		return false;
	/*
	 * Also if local requests have used up the budget: a process that always
	 * has some must not stop the message.
	 */
	tx->msg = tx->parked;
	tx->parked.source = XIW_TX_NONE;
	tx->turn = tx->pos;
	return true;
}

/**
 * xiw_tx_sched_next() - choose the next message
 * @s: stream with no message in progress
 *
 * A Terminate has priority, then an RTR. Responses and work requests are chosen
 * by round robin, and long ones are interrupted. On true @s->tx.msg is the
 * message.
 *
 * Return: false if nothing can be sent now.
 */
bool xiw_tx_sched_next(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;

	tx->held = false;
	if (tx->term_sent || tx->fin_done || xiw_stream_is_fenced(s))
		return false;
	if (tx->term_len) {
		tx->msg.source = XIW_TX_TERM;
		return true;
	}
	if (tx_sched_is_over(s))
		return false;
	if (tx->rtr) {
		tx_sched_start_rtr(s);
		return true;
	}
	if (tx->parked.source != XIW_TX_NONE)
		return tx_sched_next_beside(s);
	tx->turn = tx->pos;
	tx->prefer_resp = !tx->prefer_resp;
	if (tx->prefer_resp ? tx_sched_next_response(s) : tx_sched_next_wr(s))
		return true;
	if (tx->term_len || tx->rtr)
		return xiw_tx_sched_next(s);
	if (tx->prefer_resp ? tx_sched_next_wr(s) : tx_sched_next_response(s))
		return true;
	return (tx->term_len || tx->rtr) && xiw_tx_sched_next(s);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_tx_sched_next);

/**
 * xiw_tx_sched_encoded() - finish a message after its last FPDU was encoded
 * @s: stream
 */
void xiw_tx_sched_encoded(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;
	struct xiw_swr *wr = tx->msg.wr;

	switch (tx->msg.source) {
	case XIW_TX_SQ:
		if (wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM) {
			/* No other message may come between the two. */
			tx_sched_start_imm(s, wr,
					   wr->flags & XIW_SQE_SOLICITED
						   ? XIW_OP_IMM_SE
						   : XIW_OP_IMM,
					   XIW_IMM_WRITE);
			wr->msn = tx->msg.head.msn;
			wr->has_msn = true;
			tx->msg.source = XIW_TX_SQ_IMM;
			return;
		}
		fallthrough;
	case XIW_TX_SQ_IMM:
		wr->end_pos = tx->pos;
		wr->encoded = true;
		break;
	case XIW_TX_SQ_IMM_FIRST:
		/* No other message may come between the two. */
		tx_sched_start_send(s, wr);
		tx->msg.source = XIW_TX_SQ;
		return;
	case XIW_TX_RESPONSE:
		/*
		 * Free the slot before TCP gets the last bytes: the peer may
		 * send its next request as soon as it has received them.
		 */
		s->ird_head++;
		break;
	case XIW_TX_TERM:
		tx->term_sent = true;
		break;
	case XIW_TX_RTR:
		tx->rtr_end = tx->pos;
		break;
	default:
		break;
	}
	tx->msg.source = XIW_TX_NONE;
}

/**
 * xiw_tx_sched_idle() - check that there is nothing to send
 * @s: stream
 *
 * Cheaper than xiw_tx_sched_next(), and changes nothing.
 *
 * Return: true if there was nothing. The caller checks the ring again before
 * the engine stops.
 */
bool xiw_tx_sched_idle(const struct xiw_stream *s)
{
	const struct xiw_tx *tx = &s->tx;

	return s->sq->next == READ_ONCE(s->sq->prod) &&
	       tx->msg.source == XIW_TX_NONE &&
	       tx->parked.source == XIW_TX_NONE && !tx->rtr && !tx->term_len &&
	       s->ird_head == s->ird_tail && xiw_sq_ring_empty(s->sq);
}

/**
 * xiw_tx_sched_empty() - check that all requests and responses were sent
 * @s: stream
 *
 * Return: true if a graceful close may continue.
 */
bool xiw_tx_sched_empty(const struct xiw_stream *s)
{
	const struct xiw_tx *tx = &s->tx;

	return tx->msg.source == XIW_TX_NONE &&
	       tx->parked.source == XIW_TX_NONE && !tx->batch.len &&
	       s->ird_head == s->ird_tail && tx_sched_orq_empty(s) &&
	       (tx->limited ? (s32)(s->sq->head - tx->limit) >= 0
			    : s->sq->head == READ_ONCE(s->sq->prod));
}

/**
 * xiw_tx_sched_waits() - check if requests wait for a message of the peer
 * @s: stream for which xiw_tx_sched_next() just returned false
 *
 * If so, the receive side will run the engine again, and no doorbell is needed.
 *
 * The same applies to requests behind, or beside, a message that waits for its
 * pages.
 *
 * The answer is for the requests that xiw_tx_sched_next() has found. A kernel
 * ULP may have posted another one since, which no event will start; its kick
 * was recorded in @s->tx.run, which is checked before the engine stops.
 *
 * Return: true for requests that wait for a response, for the answer to the
 * capability probe, for pages, or for the MPA fence. The fence does not delay a
 * FIN without data before it, as the peer may never send a message.
 */
bool xiw_tx_sched_waits(struct xiw_stream *s)
{
	/* Nothing is fetched behind the fence, so check the ring as well. */
	if (xiw_stream_is_fenced(s))
		return !READ_ONCE(s->tx.fin) || !xiw_tx_sched_empty(s) ||
		       !xiw_tx_sched_none_posted(s);
	/* Nothing is fetched behind such a message of the send queue either. */
	if (s->tx.parked.source == XIW_TX_SQ)
		return true;
	if (!s->tx.held)
		return false;
	if (s->tx.parked.source == XIW_TX_RESPONSE)
		return true;
	return !tx_sched_orq_empty(s) ||
	       tx_sched_awaits_probe(s, xiw_sq_wr(s->sq, s->sq->next));
}
EXPORT_SYMBOL_IF_KUNIT(xiw_tx_sched_waits);

/* Releases the slots of all requests before @head, which are complete. */
static void tx_sched_reclaim(struct xiw_sq *sq, u32 head)
{
	/* Pairs with the acquire in xiw_sq_post(). */
	smp_store_release(&sq->head, head);
	if (!sq->kernel)
		/* Pairs with the acquire in the user's post. */
		smp_store_release(&sq->queue.ctrl->cons, head);
}

static enum xiw_posts_last tx_sched_last(const struct xiw_swr *wr)
{
	if (!xiw_swr_is_request(wr))
		return XIW_POSTS_DATA;
	return wr->flags & XIW_SQE_SIGNALED ? XIW_POSTS_SIGNALED_READ
					    : XIW_POSTS_READ;
}

/* Completes up to @max requests; true if more may be complete. */
static bool tx_sched_complete_some(struct xiw_stream *s, u32 max)
{
	struct xiw_sq *sq = s->sq;
	u32 head = sq->head;

	while (head != sq->next) {
		const struct xiw_swr *wr = xiw_sq_wr(sq, head);
		struct xiw_swr copy;

		if (xiw_swr_is_request(wr) || xiw_swr_is_local(wr) ?
		    !wr->done : !(wr->encoded && wr->end_pos <= s->tx.sent))
			break;
		if (wr->status != IB_WC_SUCCESS)
			break;
		if (!max--)
			return true;
		/* A kernel ULP posts into the slot as soon as it is free. */
		if (sq->kernel) {
			copy = *wr;
			wr = &copy;
		}
		s->tx.posts.last = tx_sched_last(wr);
		/*
		 * Free the slot before the completion becomes visible, so that
		 * the ULP may post at once when it polls the completion.
		 */
		tx_sched_reclaim(sq, ++head);
		xiw_stream_send_done(s, wr);
	}
	return false;
}

/**
 * xiw_tx_sched_complete() - complete finished requests in the order of posting
 * @s: stream
 *
 * See RFC 5040 section 5.5 rule 15. A Send or Write is done when TCP took all
 * of it; its bytes were copied, so the ULP may reuse the buffer. After a long
 * Read many requests may be complete: those beyond XIW_BUDGET_COST are left to
 * the retry work.
 */
void xiw_tx_sched_complete(struct xiw_stream *s)
{
	if (tx_sched_complete_some(s, XIW_BUDGET_COST))
		xiw_stream_tx_again(s, 0);
}

/**
 * xiw_tx_sched_unfinished() - check for posted requests that are incomplete
 * @s: stream that has ended
 *
 * Completes the requests that were done.
 *
 * Return: true if there are any.
 */
bool xiw_tx_sched_unfinished(struct xiw_stream *s)
{
	while (tx_sched_complete_some(s, XIW_BUDGET_COST))
		;
	return s->sq->head != s->sq->next || tx_sched_fetch(s, 1);
}

/**
 * xiw_tx_sched_rewind() - reset incomplete requests, to be started again
 * @s: stream that is rolled back because it was never established
 *
 * Completes the requests that were done. A local request behind an incomplete
 * one has taken effect, and is not executed again. If that was an unfenced
 * LOCAL_INV of the source of a Send that TCP had not taken whole, the Send
 * fails when it is started again. Only kernel ULPs can invalidate a region, and
 * none of them connects out of band: a process can only invalidate windows,
 * which are never the source of a Send.
 */
void xiw_tx_sched_rewind(struct xiw_stream *s)
{
	struct xiw_sq *sq = s->sq;
	struct xiw_swr *wr;

	while (tx_sched_complete_some(s, XIW_BUDGET_COST))
		;
	while (sq->next != sq->head) {
		wr = xiw_sq_wr(sq, --sq->next);
		if (tx_sched_is_local_done(wr))
			continue;
		wr->done = false;
		wr->encoded = false;
		wr->has_msn = false;
		/* The connection that is rolled back may have set an error. */
		wr->status = IB_WC_SUCCESS;
		wr->vendor_err = 0;
	}
}
EXPORT_SYMBOL_IF_KUNIT(xiw_tx_sched_rewind);

/**
 * xiw_tx_sched_flush() - complete all requests in the send queue
 * @s: stream that has ended
 *
 * Requests that were done complete with success, up to the first that was not;
 * a failed one completes with its status, all others as flushed. That includes
 * local ones that have taken effect, as no request may succeed after a flushed
 * one. A process may continue posting, so the work of one call is limited.
 *
 * Return: true if there may be more.
 */
bool xiw_tx_sched_flush(struct xiw_stream *s)
{
	struct xiw_sq *sq = s->sq;
	u32 left = sq->size;

	while (tx_sched_complete_some(s, XIW_BUDGET_COST))
		;
	while (tx_sched_fetch(s, XIW_BUDGET_COST) || sq->head != sq->next) {
		if (!left--)
			return true;
		struct xiw_swr *wr = xiw_sq_wr(sq, sq->head);
		struct xiw_swr copy = *wr;

		if (copy.status == IB_WC_SUCCESS)
			copy.status = IB_WC_WR_FLUSH_ERR;
		if (sq->next == sq->head)
			sq->next++;
		tx_sched_reclaim(sq, sq->head + 1);
		xiw_stream_send_done(s, &copy);
	}
	return false;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_tx_sched_flush);
