// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Trains: messages laid out as FPDUs, one behind the other across work
 * requests, and handed to the socket many at a time.
 *
 * All payload is copied into pages of our own, so that what TCP holds for
 * retransmission can never change under it and a completed buffer belongs to
 * the consumer again. The copy is what the CRC is computed over.
 */

#include "train.h"

#include <linux/mm.h>

#include "llp.h"
#include "place.h"
#include "sendq.h"
#include "stream.h"
#include "trace.h"

/*
 * How much memory to get for the message in progress: a block for a whole
 * train if more is queued after it, else what the rest of it needs.
 */
static u32 train_block_order(const struct xiw_stream *s, u32 want)
{
	const struct xiw_tx *tx = &s->tx;
	u64 need = tx->msg.len - tx->offset;

	if (READ_ONCE(s->sq->prod) != s->sq->next)
		need += XIW_TX_TRAIN_BYTES;
	/* headers, CRC, Markers */
	need += need / 16 + want;
	return min_t(u32, get_order(need), XIW_TXBUF_ORDER);
}

static bool train_get_room(struct xiw_stream *s, u32 order, u32 lead)
{
	return xiw_txbuf_get(&s->tx.buf, order, s->tx.space.sndbuf, lead);
}

/*
 * Room for an FPDU of up to @want bytes in one piece, the payload behind @lead
 * of them. Bulk goes into blocks that hold a whole train, small messages share
 * single pages.
 */
static u32 train_reserve(struct xiw_stream *s, u32 want, u32 lead)
{
	struct xiw_tx *tx = &s->tx;
	u32 room = xiw_txbuf_room(&tx->buf);
	u32 order;

	if (room >= want)
		return room;
	/* The rest of the train goes first, then its block is free. */
	if (tx->train_len && xiw_txbuf_in_block(&tx->buf))
		return 0;
	order = want <= PAGE_SIZE / 4 && tx->msg.len <= PAGE_SIZE / 4
			? 0
			: train_block_order(s, want);
	if (order && train_get_room(s, order, lead)) {
		xiw_stream_trim_later(s);
		return xiw_txbuf_room(&tx->buf);
	}
	return train_get_room(s, 0, lead) ? xiw_txbuf_room(&tx->buf) : 0;
}

/* The @len bytes at the cursor join the train. */
static void train_commit(struct xiw_tx *tx, u32 len)
{
	u32 last = tx->vec_first + tx->vec_count - 1;
	struct xiw_txbuf *buf = &tx->buf;
	struct bio_vec *bv;

	bv = tx->vec_count ? &tx->vec[last % XIW_TX_VECS] : NULL;
	if (bv && bv->bv_page == buf->page &&
	    bv->bv_offset + bv->bv_len == buf->off) {
		bv->bv_len += len;
	} else {
		bv = &tx->vec[(tx->vec_first + tx->vec_count++) % XIW_TX_VECS];
		get_page(buf->page);
		bvec_set_page(bv, buf->page, len, buf->off);
	}
	buf->off += len;
	tx->train_len += len;
}

/* Copies @len bytes from the gather list of the request in progress. */
static bool train_gather(struct xiw_stream *s, u8 *dst, u32 len)
{
	struct xiw_tx *tx = &s->tx;
	struct xiw_swr *wr = tx->wr;
	struct xiw_mem_ref ref;

	if (wr->flags & XIW_SQE_INLINE) {
		memcpy(dst, (u8 *)wr->sge + tx->offset, len);
		return true;
	}
	while (len) {
		const struct xiw_sge *sge = &wr->sge[tx->sge];
		u64 addr = sge->addr + tx->sge_off;
		u32 n = min(len, sge->length - tx->sge_off);

		if (n) {
			if (xiw_mem_get(&tx->mem, sge->lkey, 0, addr, n,
					&ref) != XIW_MEM_OK)
				return false;
			xiw_mem_read(&ref, addr, dst, n);
			xiw_mem_put(&ref);
		}
		dst += n;
		len -= n;
		tx->sge_off += n;
		if (tx->sge_off == sge->length) {
			tx->sge++;
			tx->sge_off = 0;
		}
	}
	return true;
}

static bool train_gather_response(struct xiw_stream *s, u8 *dst, u32 len)
{
	struct xiw_req *req = &s->irq[s->irq_head & s->irq_mask];
	enum xiw_mem_status status;
	struct xiw_mem_ref ref;
	u64 addr;

	/* A Read of nothing names no memory (RFC 5040 section 5.2.1). */
	if (!len)
		return true;
	addr = req->read.src_to + s->tx.offset;
	/* The STag may have been revoked since the request was checked. */
	status = xiw_mem_get(&s->tx.mem, req->read.src_stag,
			     IB_ACCESS_REMOTE_READ, addr, len, &ref);
	if (status == XIW_MEM_OK) {
		xiw_mem_read(&ref, addr, dst, len);
		xiw_mem_put(&ref);
		return true;
	}
	xiw_sendq_blame(s, xiw_mem_reason(status, XIW_ACCESS_SOURCE), req,
			s->tx.offset);
	return false;
}

/* The part of the message in progress that belongs into this segment. */
static bool train_payload(struct xiw_stream *s, u8 *dst, u32 len)
{
	struct xiw_tx *tx = &s->tx;

	if (tx->body_len) {
		memcpy(dst, tx->body + tx->offset, len);
		return true;
	}
	switch (tx->source) {
	case XIW_TX_SQ:
		if (train_gather(s, dst, len))
			return true;
		xiw_sendq_fail(s, tx->wr, IB_WC_LOC_PROT_ERR);
		return false;
	case XIW_TX_RESPONSE:
		return train_gather_response(s, dst, len);
	default:
		return true;
	}
}

/*
 * Makes an FPDU of the ULPDU that was laid out; for @at and @gap see
 * xiw_tx_mpa_seal().
 */
static void train_finish_fpdu(struct xiw_stream *s, u8 *at, u32 ulpdu_len,
			      u32 gap)
{
	struct xiw_tx *tx = &s->tx;
	u32 len = xiw_tx_mpa_seal(&tx->mpa, at, ulpdu_len, gap);

	train_commit(tx, len);
	tx->pos += len;
	xiw_turn_charge(&tx->turn, len);
}

static bool train_build_term(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;
	u32 gap = xiw_tx_mpa_gap(&tx->mpa, tx->term_len);
	u8 *at;

	if (xiw_txbuf_room(&tx->buf) <
		    xiw_tx_mpa_room(&tx->mpa, tx->term_len) &&
	    !train_get_room(s, 0, 0))
		return false;
	at = xiw_txbuf_cursor(&tx->buf);
	memcpy(at + gap + XIW_MPA_LEN_FIELD, tx->term_ulpdu, tx->term_len);
	train_finish_fpdu(s, at, tx->term_len, gap);
	xiw_sendq_laid_out(s);
	return true;
}

/* Chooses the next segment of the message in progress; false for no room. */
static bool train_next_segment(struct xiw_stream *s, struct xiw_seg *seg)
{
	struct xiw_tx *tx = &s->tx;
	u32 limit = xiw_tx_mpa_limit(&tx->mpa, &tx->buf, !tx->train_len);
	u32 ulpdu_len;
	u32 want;
	u32 room;

	xiw_segment_next(&tx->msg, tx->offset, limit, seg);
	ulpdu_len = seg->hdr_len + seg->len;
	want = xiw_tx_mpa_room(&tx->mpa, ulpdu_len);
	room = train_reserve(s, want,
			     xiw_tx_mpa_gap(&tx->mpa, ulpdu_len) +
				     XIW_MPA_LEN_FIELD + seg->hdr_len);
	if (room >= want)
		return true;
	/* Memory is short: a smaller FPDU is as good. */
	if (room < PAGE_SIZE / 2)
		return false;
	limit = xiw_tx_mpa_small_limit(&tx->mpa, PAGE_SIZE / 2);
	xiw_segment_next(&tx->msg, tx->offset, limit, seg);
	return true;
}

/*
 * One more FPDU of the message in progress. False: no room in this train, no
 * memory, or the stream failed, which the caller tells apart by tx.source.
 */
static bool train_build_fpdu(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;
	struct xiw_seg seg;
	u32 ulpdu_len;
	u8 *ulpdu;
	u32 gap;
	u8 *at;

	if (tx->source == XIW_TX_TERM)
		return train_build_term(s);
	if (!train_next_segment(s, &seg))
		return false;
	ulpdu_len = seg.hdr_len + seg.len;
	gap = xiw_tx_mpa_gap(&tx->mpa, ulpdu_len);
	at = xiw_txbuf_cursor(&tx->buf);
	ulpdu = at + gap + XIW_MPA_LEN_FIELD;
	xiw_segment_encode(&tx->msg, &seg, ulpdu);
	if (!train_payload(s, ulpdu + seg.hdr_len, seg.len))
		return false;
	train_finish_fpdu(s, at, ulpdu_len, gap);
	tx->offset += seg.len;
	xiw_stat_inc(s->env->stats, XIW_STAT_TX_FPDU);
	if (seg.last)
		xiw_sendq_laid_out(s);
	return true;
}

/**
 * xiw_train_build() - lay out FPDUs until the train is full
 * @s: stream attached to a socket, whose last train is out
 *
 * It also ends when the turn is over, nothing is left that could be sent, or
 * there is no memory for the next FPDU.
 *
 * Context: Socket lock held; process context or softirq. Does not sleep.
 */
void xiw_train_build(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;

	s->llp->ops->space(s->llp, &tx->space);
	xiw_tx_mpa_train(&tx->mpa, tx->space.emss, tx->space.tail_fill);
	while (tx->train_len < XIW_TX_TRAIN_BYTES &&
	       tx->vec_count < XIW_TX_VECS && !xiw_turn_over(&tx->turn)) {
		if (tx->source == XIW_TX_NONE) {
			if (!xiw_sendq_next(s))
				break;
			/* Local requests may have been the rest of the turn. */
			continue;
		}
		if (!train_build_fpdu(s) && tx->source != XIW_TX_NONE)
			break;
	}
}

static void train_drop_first(struct xiw_tx *tx)
{
	put_page(tx->vec[tx->vec_first].bv_page);
	tx->vec_first = (tx->vec_first + 1) % XIW_TX_VECS;
	tx->vec_count--;
}

static void train_sent(struct xiw_stream *s, u32 len)
{
	struct xiw_tx *tx = &s->tx;

	tx->sent += len;
	tx->train_len -= len;
	xiw_stat_add(s->env->stats, XIW_STAT_TX_BYTES, len);
	while (len) {
		struct bio_vec *bv = &tx->vec[tx->vec_first];
		u32 n = min(len, bv->bv_len);

		bv->bv_offset += n;
		bv->bv_len -= n;
		len -= n;
		if (!bv->bv_len)
			train_drop_first(tx);
	}
	if (!tx->vec_count)
		tx->vec_first = 0;
	xiw_sendq_complete(s);
	if (tx->term_sent && !tx->train_len)
		xiw_stream_event(s, XIW_QPE_TERM_SENT);
}

/**
 * xiw_train_send() - give the train to the socket
 * @s: stream attached to a socket, with a train
 *
 * What was sent is complete, and is told so.
 *
 * Context: Socket lock held; process context or softirq. Does not sleep.
 * Return: 0; -EAGAIN if the socket had no room for all of it, the rest stays;
 * or another error of the socket.
 */
int xiw_train_send(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;
	struct bio_vec vec[XIW_TX_VECS];
	u32 len = tx->train_len;
	u32 i;
	int ret;

	for (i = 0; i < tx->vec_count; i++)
		vec[i] = tx->vec[(tx->vec_first + i) % XIW_TX_VECS];
	xiw_stat_inc(s->env->stats, XIW_STAT_TX_SENDMSG);
	/* More of this very message follows for certain: let TCP wait. */
	ret = s->llp->ops->send(s->llp, vec, tx->vec_count, len,
				tx->source != XIW_TX_NONE &&
				tx->offset < tx->msg.len);
	trace_tx_train(s->id, len, ret);
	if (ret > 0)
		train_sent(s, ret);
	return ret < 0 ? ret : ret == len ? 0 : -EAGAIN;
}

/**
 * xiw_train_drop() - give back what is laid out and not sent
 * @s: stream that was detached
 *
 * Context: Any. The caller owns the transmit side.
 */
void xiw_train_drop(struct xiw_stream *s)
{
	struct xiw_tx *tx = &s->tx;

	while (tx->vec_count)
		train_drop_first(tx);
	tx->train_len = 0;
}
