// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * FPDU batches: messages encoded as FPDUs, one after the other across work
 * requests, and sent by one call of the socket.
 *
 * All payload is copied into the stream's own pages, so that the data which TCP
 * holds for retransmission cannot change and the ULP may reuse a completed
 * buffer. The CRC is computed over the copy.
 */

#include "engine.h"

#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "llp/llp.h"
#include "trace.h"

/* Limit for the bytes copied by a series of FPDUs while the memory is locked */
#define TX_BATCH_SERIES	16384U

/**
 * struct tx_batch_source - memory of the payloads of a series
 * @stag: STag or local key
 * @access: rights needed
 * @addr: first byte
 * @ref: the locked memory, at the next byte
 */
struct tx_batch_source {
	u32 stag;
	int access;
	u64 addr;
	struct xiw_mem_ref ref;
};

/*
 * Memory to allocate for the message in progress: a block for a whole batch if
 * more requests are queued, else enough for the rest of the message.
 */
static u32 tx_batch_block_order(const struct xiw_stream *s, u32 want)
{
	const struct xiw_tx *tx = &s->tx;
	u64 need = tx->msg.head.len - tx->msg.offset;

	if (READ_ONCE(s->sq->prod) != s->sq->next)
		need += XIW_TX_BATCH_BYTES;
	/* Headers, CRC, Markers */
	need += need / 16 + want;
	return min_t(u32, get_order(need), XIW_TXBUF_ORDER);
}

static bool tx_batch_get_room(struct xiw_stream *s, u32 order, u32 lead)
{
	return xiw_txbuf_get(&s->tx.buf, order, s->tx.space.sndbuf, lead);
}

/*
 * Room for an FPDU of up to @want contiguous bytes, with the payload at offset
 * @lead. Bulk data goes into blocks that hold a whole batch; small messages
 * share single pages.
 */
static u32 tx_batch_reserve(struct xiw_stream *s, u32 want, u32 lead)
{
	struct xiw_tx *tx = &s->tx;
	u32 room = xiw_txbuf_room(&tx->buf);
	u32 order;

	if (room >= want)
		return room;
	/* Send the batch so far; its block may then be free. */
	if (tx->batch.len && xiw_txbuf_in_block(&tx->buf))
		return 0;
	order = want <= PAGE_SIZE / 4 && tx->msg.head.len <= PAGE_SIZE / 4
			? 0
			: tx_batch_block_order(s, want);
	if (order && tx_batch_get_room(s, order, lead)) {
		xiw_stream_trim_later(s);
		return xiw_txbuf_room(&tx->buf);
	}
	return tx_batch_get_room(s, 0, lead) ? xiw_txbuf_room(&tx->buf) : 0;
}

/*
 * The place of the next @len bytes. NULL if they exceed the room, whatever
 * promised it: the connection is then reset, before a byte is written.
 */
static u8 *tx_batch_claim(struct xiw_stream *s, u32 len)
{
	u8 *at = xiw_txbuf_claim(&s->tx.buf, len);

	if (!at) {
		s->tx.msg.source = XIW_TX_NONE;
		xiw_stream_event(s, XIW_QPE_LLP_LOST);
	}
	return at;
}

/* Adds the @len bytes that were written at the end of the buffer. */
static void tx_batch_commit(struct xiw_tx *tx, u32 len)
{
	struct xiw_tx_batch *batch = &tx->batch;
	u32 end = batch->first + batch->count;
	struct xiw_txbuf *buf = &tx->buf;
	struct bio_vec *bv = NULL;

	if (batch->count)
		bv = &batch->vec[(end - 1) % XIW_TX_VECS];
	if (bv && bv->bv_page == buf->page &&
	    bv->bv_offset + bv->bv_len == buf->off) {
		bv->bv_len += len;
	} else {
		bv = &batch->vec[end % XIW_TX_VECS];
		batch->count++;
		get_page(buf->page);
		bvec_set_page(bv, buf->page, len, buf->off);
	}
	buf->off += len;
	batch->len += len;
}

/* Moves the gather position by @len bytes within its element. */
static void tx_batch_pass_sge(struct xiw_tx *tx, u32 len)
{
	tx->msg.sge_off += len;
	if (tx->msg.sge_off == tx->msg.wr->sge[tx->msg.sge].length) {
		tx->msg.sge++;
		tx->msg.sge_off = 0;
	}
}

/* Copies @len bytes of one element; XIW_MEM_ABSENT if they must be awaited. */
static enum xiw_mem_status tx_batch_copy(struct xiw_stream *s, u32 stag,
					 int access, u64 addr, u8 *dst, u32 len)
{
	struct xiw_tx *tx = &s->tx;
	enum xiw_mem_status status;
	struct xiw_mem_ref ref;

	status = xiw_stream_mem_get(s, &tx->mem, stag, access, addr, len, &ref);
	if (status == XIW_MEM_OK) {
		xiw_mem_read(&ref, dst, len);
		xiw_mem_put(&ref);
	} else if (status == XIW_MEM_ABSENT) {
		status = xiw_page_in_want(xiw_tx_pages(tx, tx->msg.source),
					  xiw_tx_sched_pos(s, &tx->msg),
					  &tx->mem, stag,
					  access, addr, len);
	}
	return status;
}

/*
 * Copies @len bytes from the gather list of the request in progress. If some
 * are absent, those of all elements are requested, and the position stays.
 */
static enum xiw_mem_status tx_batch_gather(struct xiw_stream *s, u8 *dst,
					   u32 len)
{
	struct xiw_tx *tx = &s->tx;
	enum xiw_mem_status all = XIW_MEM_OK;
	u32 first_off = tx->msg.sge_off;
	struct xiw_swr *wr = tx->msg.wr;
	enum xiw_mem_status status;
	u32 first = tx->msg.sge;

	if (wr->flags & XIW_SQE_INLINE) {
		memcpy(dst, (u8 *)wr->sge + tx->msg.offset, len);
		return XIW_MEM_OK;
	}
	while (len) {
		const struct xiw_sge *sge = &wr->sge[tx->msg.sge];
		u64 addr = sge->addr + tx->msg.sge_off;
		u32 n = min(len, sge->length - tx->msg.sge_off);

		status = n ? tx_batch_copy(s, sge->lkey, 0, addr, dst, n)
			   : XIW_MEM_OK;
		if (status == XIW_MEM_ABSENT)
			all = status;
		else if (status != XIW_MEM_OK)
			return status;
		dst += n;
		len -= n;
		tx_batch_pass_sge(tx, n);
	}
	if (all != XIW_MEM_OK) {
		tx->msg.sge = first;
		tx->msg.sge_off = first_off;
	}
	return all;
}

static enum xiw_mem_status tx_batch_gather_response(struct xiw_stream *s,
						    u8 *dst, u32 len)
{
	struct xiw_ird_entry *req = &s->irdq[s->ird_head & s->ird_mask];

	/* A zero-length Read names no memory (RFC 5040 section 5.2.1). */
	if (!len)
		return XIW_MEM_OK;
	/* STag or right may have been revoked since the request was checked. */
	return tx_batch_copy(s, req->read.src_stag, IB_ACCESS_REMOTE_READ,
			     req->read.src_to + s->tx.msg.offset, dst, len);
}

/* Reports that memory of the message in progress cannot be read. */
static void tx_batch_fail(struct xiw_stream *s, enum xiw_mem_status status)
{
	struct xiw_tx *tx = &s->tx;

	if (tx->msg.source == XIW_TX_SQ)
		xiw_tx_sched_fail(s, tx->msg.wr, IB_WC_LOC_PROT_ERR);
	else
		xiw_tx_sched_bad_request(s, xiw_mem_reason(status,
							   XIW_ACCESS_SOURCE),
					 &s->irdq[s->ird_head & s->ird_mask],
					 tx->msg.offset);
}

/*
 * Copies the next @len bytes of the message in progress to @dst. False if the
 * message waits for pages, or has failed and ended the stream.
 */
static bool tx_batch_payload(struct xiw_stream *s, u8 *dst, u32 len)
{
	struct xiw_tx *tx = &s->tx;
	enum xiw_mem_status status = XIW_MEM_OK;

	if (tx->msg.body_len) {
		memcpy(dst, tx->msg.body + tx->msg.offset, len);
		return true;
	}
	if (tx->msg.source == XIW_TX_SQ)
		status = tx_batch_gather(s, dst, len);
	else if (tx->msg.source == XIW_TX_RESPONSE)
		status = tx_batch_gather_response(s, dst, len);
	if (status == XIW_MEM_ABSENT)
		xiw_page_in_start(xiw_tx_pages(tx, tx->msg.source));
	else if (status != XIW_MEM_OK)
		tx_batch_fail(s, status);
	return status == XIW_MEM_OK;
}

/*
 * Completes the FPDU around an encoded ULPDU; for @at and @gap see
 * xiw_tx_mpa_seal().
 */
static void tx_batch_finish_fpdu(struct xiw_stream *s, u8 *at, u32 ulpdu_len,
				 u32 gap)
{
	struct xiw_tx *tx = &s->tx;
	u32 len = xiw_tx_mpa_seal(&tx->mpa, at, ulpdu_len, gap);

	tx_batch_commit(tx, len);
	tx->pos += len;
	xiw_budget_charge(&tx->budget, len);
}

static bool tx_batch_build_term(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;
	u32 gap = xiw_tx_mpa_gap(&tx->mpa, tx->term_len);
	u32 room = xiw_tx_mpa_room(&tx->mpa, tx->term_len);
	u8 *at;

	if (xiw_txbuf_room(&tx->buf) < room && !tx_batch_get_room(s, 0, 0))
		return false;
	at = tx_batch_claim(s, room);
	if (!at) {
		/* Do not choose the Terminate again. */
		tx->term_sent = true;
		return false;
	}
	memcpy(at + gap + XIW_MPA_LEN_FIELD, tx->term_ulpdu, tx->term_len);
	tx_batch_finish_fpdu(s, at, tx->term_len, gap);
	xiw_tx_sched_encoded(s);
	return true;
}

/* Limit of the next ULPDU. For the last of a message it need not be exact. */
static u32 tx_batch_limit(const struct xiw_tx *tx)
{
	u64 rest = (u64)tx->msg.head.len - tx->msg.offset + XIW_UNTAGGED_LEN;

	if (xiw_tx_mpa_fits(&tx->mpa, rest))
		return tx->mpa.full;
	return xiw_tx_mpa_limit(&tx->mpa, &tx->buf, tx->batch.len);
}

/* Chooses the next segment of the message in progress; false without room. */
static bool tx_batch_next_segment(struct xiw_stream *s, struct xiw_seg *seg)
{
	struct xiw_tx *tx = &s->tx;
	u32 limit = tx_batch_limit(tx);
	u32 ulpdu_len;
	u32 want;
	u32 room;

	xiw_segment_next(&tx->msg.head, tx->msg.offset, limit, seg);
	ulpdu_len = seg->hdr_len + seg->len;
	want = xiw_tx_mpa_room(&tx->mpa, ulpdu_len);
	room = tx_batch_reserve(s, want,
				xiw_tx_mpa_gap(&tx->mpa, ulpdu_len) +
					XIW_MPA_LEN_FIELD + seg->hdr_len);
	if (room >= want)
		return true;
	/* Memory is short: a smaller FPDU will do. */
	if (room < PAGE_SIZE / 2)
		return false;
	limit = xiw_tx_mpa_small_limit(&tx->mpa, PAGE_SIZE / 2);
	xiw_segment_next(&tx->msg.head, tx->msg.offset, limit, seg);
	return true;
}

static bool tx_batch_is_full(const struct xiw_tx *tx)
{
	return tx->batch.len >= XIW_TX_BATCH_BYTES ||
	       tx->batch.count >= XIW_TX_VECS || xiw_budget_spent(&tx->budget);
}

/*
 * Finds the memory of the next payload. Returns how many contiguous bytes of it
 * belong to the message, 0 if the payload is not in registered memory.
 */
static u32 tx_batch_series_source(const struct xiw_stream *s,
				  struct tx_batch_source *src)
{
	const struct xiw_tx_msg *msg = &s->tx.msg;
	const struct xiw_ird_entry *req;
	const struct xiw_sge *sge;

	if (msg->source == XIW_TX_SQ && !(msg->wr->flags & XIW_SQE_INLINE)) {
		sge = &msg->wr->sge[msg->sge];
		src->stag = sge->lkey;
		src->access = 0;
		src->addr = sge->addr + msg->sge_off;
		return sge->length - msg->sge_off;
	}
	if (msg->source == XIW_TX_RESPONSE && !msg->body_len) {
		req = &s->irdq[s->ird_head & s->ird_mask];
		src->stag = req->read.src_stag;
		src->access = IB_ACCESS_REMOTE_READ;
		src->addr = req->read.src_to + msg->offset;
		return msg->head.len - msg->offset;
	}
	return 0;
}

/*
 * Encodes @n FPDUs of a series at @at; their memory is locked. Their headers
 * differ in the offset only.
 */
static void tx_batch_build_equal(struct xiw_stream *s,
				 const struct xiw_seg *seg,
				 struct tx_batch_source *src, u8 *at, u32 n)
{
	struct xiw_tx *tx = &s->tx;
	const struct xiw_seg_msg *m = &tx->msg.head;
	const u32 lead = XIW_MPA_LEN_FIELD + seg->hdr_len;
	const u32 ulpdu_len = seg->hdr_len + seg->len;
	const u32 len = xiw_mpa_fpdu_len(ulpdu_len);
	const u32 pad = xiw_mpa_pad(ulpdu_len);
	u64 offset = (m->tagged ? m->to : 0) + tx->msg.offset;
	u8 head[XIW_MPA_LEN_FIELD + XIW_DDP_HDR_MAX];
	const u8 *end = at + n * len;
	const bool tagged = m->tagged;

	put_unaligned_be16(ulpdu_len, head);
	xiw_segment_encode(m, seg, head + XIW_MPA_LEN_FIELD);
	for (; at < end; at += len, offset += seg->len) {
		/* The payload overwrites what a tagged header does not need. */
		memcpy(at, head, sizeof(head));
		xiw_ddp_put_offset(at + XIW_MPA_LEN_FIELD, tagged, offset);
		xiw_mem_read(&src->ref, at + lead, seg->len);
		xiw_tx_mpa_seal_equal(&tx->mpa, at, len, pad);
	}
	xiw_tx_mpa_sealed(&tx->mpa, n * len);
	tx->msg.offset += n * seg->len;
	tx_batch_commit(tx, n * len);
	tx->pos += n * len;
	xiw_budget_charge_equal(&tx->budget, n, len);
}

/* Limits the number of FPDUs of a series to what the batch has room for. */
static u32 tx_batch_series_most(const struct xiw_tx *tx, u32 most)
{
	u32 len = xiw_mpa_fpdu_len(tx->mpa.full);

	most = min3(most, xiw_budget_equal(&tx->budget, len),
		    DIV_ROUND_UP(XIW_TX_BATCH_BYTES - tx->batch.len, len));
	return xiw_tx_mpa_repeat(&tx->mpa, xiw_txbuf_room(&tx->buf),
				 tx->batch.len, most);
}

/*
 * Encodes FPDUs of equal size that do not end the message, while their memory
 * stays locked: up to TX_BATCH_SERIES bytes, as many as a single FPDU has if
 * the peer is xiw. False if there are none; then tx_batch_build_fpdu() encodes
 * the next one, or finds the fault.
 */
static bool tx_batch_build_series(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;
	u32 left = tx->msg.head.len - tx->msg.offset;
	struct tx_batch_source src;
	struct xiw_seg seg;
	u8 *at;
	u32 n;

	if (left <= 2 * tx->mpa.full || tx->mpa.full > TX_BATCH_SERIES / 2 ||
	    !xiw_tx_mpa_may_repeat(&tx->mpa))
		return false;
	xiw_segment_next(&tx->msg.head, tx->msg.offset, tx->mpa.full, &seg);
	n = min3(TX_BATCH_SERIES, tx_batch_series_source(s, &src),
		 left - XIW_SEG_TAIL) / seg.len;
	if (n >= 2)
		n = tx_batch_series_most(tx, n);
	if (n < 2)
		return false;
	at = xiw_txbuf_claim(&tx->buf, n * xiw_mpa_fpdu_len(tx->mpa.full));
	if (!at || xiw_stream_mem_get(s, &tx->mem, src.stag, src.access,
				      src.addr, n * seg.len, &src.ref) !=
			   XIW_MEM_OK)
		return false;
	tx_batch_build_equal(s, &seg, &src, at, n);
	xiw_mem_put(&src.ref);
	if (tx->msg.source == XIW_TX_SQ)
		tx_batch_pass_sge(tx, n * seg.len);
	xiw_stat_add(s->env->stats, XIW_STAT_TX_FPDU, n);
	return true;
}

/*
 * Encodes one more FPDU of the message in progress, or several. False if this
 * batch is full, if memory is short or absent, or if the stream failed; then
 * there is no message any more.
 */
static bool tx_batch_build_fpdu(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;
	struct xiw_seg seg;
	u32 ulpdu_len;
	u8 *ulpdu;
	u32 gap;
	u8 *at;

	if (tx->msg.source == XIW_TX_TERM)
		return tx_batch_build_term(s);
	if (tx_batch_build_series(s))
		return true;
	if (!tx_batch_next_segment(s, &seg))
		return false;
	ulpdu_len = seg.hdr_len + seg.len;
	gap = xiw_tx_mpa_gap(&tx->mpa, ulpdu_len);
	at = tx_batch_claim(s, xiw_tx_mpa_room(&tx->mpa, ulpdu_len));
	if (!at)
		return false;
	ulpdu = at + gap + XIW_MPA_LEN_FIELD;
	xiw_segment_encode(&tx->msg.head, &seg, ulpdu);
	if (!tx_batch_payload(s, ulpdu + seg.hdr_len, seg.len))
		return false;
	tx_batch_finish_fpdu(s, at, ulpdu_len, gap);
	tx->msg.offset += seg.len;
	xiw_stat_inc(s->env->stats, XIW_STAT_TX_FPDU);
	if (seg.last)
		xiw_tx_sched_encoded(s);
	return true;
}

/**
 * xiw_tx_batch_build() - encode FPDUs until the batch is full
 * @s: stream attached to a socket, with the last batch sent
 *
 * The batch also ends when the work budget is used up, nothing is left to send,
 * there is no memory for the next FPDU, or all messages wait for pages.
 */
void xiw_tx_batch_build(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;

	s->llp->ops->space(s->llp, &tx->space);
	xiw_tx_mpa_batch(&tx->mpa, tx->space.emss, tx->space.tail_fill);
	xiw_tx_sched_turn(s);
	while (!tx_batch_is_full(tx)) {
		if (tx->msg.source == XIW_TX_NONE) {
			/* Mostly nothing is left: skip the search. */
			if (tx->batch.len && xiw_tx_sched_idle(s))
				break;
			if (!xiw_tx_sched_next(s))
				break;
			/* Local requests may have used up the budget. */
			continue;
		}
		if (!tx_batch_build_fpdu(s) && tx->msg.source != XIW_TX_NONE &&
		    !(xiw_tx_batch_waits(s) && xiw_tx_sched_park(s)))
			break;
	}
}

static void tx_batch_drop_first(struct xiw_tx *tx)
{
	put_page(tx->batch.vec[tx->batch.first].bv_page);
	tx->batch.first = (tx->batch.first + 1) % XIW_TX_VECS;
	tx->batch.count--;
}

static void tx_batch_sent(struct xiw_stream *s, u32 len)
{
	struct xiw_tx *tx = &s->tx;

	tx->sent += len;
	tx->batch.len -= len;
	xiw_stat_add(s->env->stats, XIW_STAT_TX_BYTES, len);
	while (len) {
		struct bio_vec *bv = &tx->batch.vec[tx->batch.first];
		u32 n = min(len, bv->bv_len);

		bv->bv_offset += n;
		bv->bv_len -= n;
		len -= n;
		if (!bv->bv_len)
			tx_batch_drop_first(tx);
	}
	if (!tx->batch.count)
		tx->batch.first = 0;
	xiw_tx_sched_complete(s);
	if (tx->term_sent && !tx->batch.len)
		xiw_stream_event(s, XIW_QPE_TERM_SENT);
}

/* Does the message in progress wait for pages? */
bool xiw_tx_batch_waits(struct xiw_stream *s)
{
	return xiw_tx_sched_waits_for_pages(s, &s->tx.msg);
}

/**
 * xiw_tx_batch_send() - send the batch to the socket
 * @s: stream attached to a socket, with a batch
 *
 * Completes the Sends and Writes of which TCP has taken all bytes.
 *
 * Return: 0; -EAGAIN if the socket had no room for all of it, the rest stays;
 * or another error of the socket.
 */
int xiw_tx_batch_send(struct xiw_stream *s)
{
	const struct xiw_tx_msg *msg = &s->tx.msg;
	enum xiw_llp_push push = XIW_LLP_PUSH;
	struct bio_vec vec[XIW_TX_VECS];
	struct xiw_tx *tx = &s->tx;
	u32 len = tx->batch.len;
	u32 i;
	int ret;

	for (i = 0; i < tx->batch.count; i++)
		vec[i] = tx->batch.vec[(tx->batch.first + i) % XIW_TX_VECS];
	xiw_stat_inc(s->env->stats, XIW_STAT_TX_SENDMSG);
	if (xiw_tx_mpa_is_full(&tx->mpa, len))
		push = XIW_LLP_FULL;
	else if (msg->source != XIW_TX_NONE && msg->offset < msg->head.len &&
		 !xiw_tx_batch_waits(s))
		/* The rest of this message follows for certain. */
		push = XIW_LLP_WAIT;
	ret = s->llp->ops->send(s->llp, vec, tx->batch.count, len, push);
	trace_tx_batch(s->id, len, ret);
	if (ret > 0)
		tx_batch_sent(s, ret);
	return ret < 0 ? ret : ret == len ? 0 : -EAGAIN;
}

/**
 * xiw_tx_batch_drop() - free the FPDUs that were not sent
 * @s: stream that was detached
 */
void xiw_tx_batch_drop(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;

	while (tx->batch.count)
		tx_batch_drop_first(tx);
	tx->batch.len = 0;
}
