// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive side, for FPDUs that continue the message of the FPDU before them. A
 * peer that fills one TCP segment with each FPDU sends a message of 64 KiB as
 * 46 FPDUs, whose headers differ in their offset only.
 *
 * Such an FPDU needs no decoding: all but its offset was checked with the
 * header of the first one. The memory stays locked for up to SERIES_BYTES, as
 * for an FPDU of a peer that is xiw, too. How many of them fit is found once:
 * the bounds of the message, of the buffer and of the region, and the rights
 * that the owner of the stream permits. Checked for each FPDU are the CRC and
 * the header, with the expected offset. Any other FPDU, and any fault, is left
 * to rx.c. All functions run under the socket lock.
 */
#include "series.h"

#include <linux/minmax.h>
#include <linux/unaligned.h>

#include "llp/rx_mpa.h"
#include "stream.h"
#include "trace.h"

/* Limit for the bytes that are placed while the memory is locked */
#define SERIES_BYTES	(16 * 1024)
/* Limit for the number of these FPDUs: each may have only a few bytes */
#define SERIES_FPDUS	32

/**
 * struct series - state between two FPDUs of a series
 * @s: stream
 * @h: header that the next FPDU must have
 * @head: the same as received, with the length field
 * @head_len: bytes in @head
 * @fpdu_len: bytes of each FPDU
 * @wait: for Read Responses, the request
 * @stag: STag or local key of the memory
 * @access: rights needed
 * @addr: where the next payload belonged when the memory was locked
 * @room: bytes of the buffer element that were left when @addr was found
 * @ref: the locked memory, at the place of the next payload
 */
struct series {
	struct xiw_stream *s;
	struct xiw_ddp_hdr h;
	u8 head[XIW_MPA_LEN_FIELD + XIW_DDP_HDR_MAX];
	u32 head_len;
	u32 fpdu_len;
	struct xiw_orq_entry *wait;
	u32 stag;
	int access;
	u64 addr;
	u64 room;
	struct xiw_mem_ref ref;
};

static bool series_is_send(u8 opcode)
{
	const struct xiw_rdmap_op *op = xiw_rdmap_op(opcode, ~0);

	return op && !op->tagged && op->qn == XIW_QN_SEND &&
	       !xiw_rdmap_is_imm(opcode);
}

/* Moves the expected header to the next FPDU. */
static void series_next_head(struct series *r)
{
	if (r->h.tagged)
		r->h.to += r->h.payload_len;
	else
		r->h.mo += r->h.payload_len;
	xiw_ddp_put_offset(r->head + XIW_MPA_LEN_FIELD, r->h.tagged,
			   r->h.tagged ? r->h.to : r->h.mo);
}

static bool series_may_follow(const struct xiw_ddp_hdr *h)
{
	return !h->last && h->payload_len &&
	       h->payload_len <= SERIES_BYTES / 2 &&
	       (h->opcode == XIW_OP_WRITE || h->opcode == XIW_OP_READ_RESP ||
		series_is_send(h->opcode));
}

/* The header that follows the one of @prev */
static void series_begin(struct series *r, const struct xiw_fpdu *prev)
{
	r->h = prev->h;
	r->head_len = XIW_MPA_LEN_FIELD + r->h.payload_off;
	r->fpdu_len = xiw_mpa_fpdu_len(prev->ulpdu_len);
	put_unaligned_be16(prev->ulpdu_len, r->head);
	memcpy(r->head + XIW_MPA_LEN_FIELD, prev->hdr, sizeof(prev->hdr));
	series_next_head(r);
}

static bool series_find_element(struct series *r, const struct xiw_sge *sge,
				u32 num_sge, u64 offset)
{
	for (; num_sge; sge++, num_sge--) {
		if (offset < sge->length) {
			r->stag = sge->lkey;
			r->access = IB_ACCESS_LOCAL_WRITE;
			r->addr = sge->addr + offset;
			r->room = sge->length - offset;
			return true;
		}
		offset -= sge->length;
	}
	return false;
}

/* Finds the memory for the next payload. */
static bool series_find_memory(struct series *r)
{
	struct xiw_stream *s = r->s;
	struct xiw_rx *rx = &s->rx;
	struct xiw_swr *wr;

	switch (r->h.opcode) {
	case XIW_OP_WRITE:
		r->stag = r->h.stag;
		r->access = IB_ACCESS_REMOTE_WRITE;
		r->addr = r->h.to;
		r->room = U64_MAX;
		return true;
	case XIW_OP_READ_RESP:
		/*
		 * The previous FPDU did not end the response, so it continues.
		 */
		r->wait = &s->orq[s->orq_head & s->orq_mask];
		wr = xiw_sq_wr(s->sq, r->wait->index);
		return series_find_element(r, wr->sge, wr->num_sge,
					   r->wait->offset);
	default:
		return series_find_element(r, rx->recv.sge, rx->recv.num_sge,
					   rx->queue[XIW_QN_SEND].bytes);
	}
}

/*
 * Makes the checks that rx.c, deliver.c and place.c make, for the next FPDU and
 * those behind it. Returns how many may be placed; the memory is locked.
 */
static u32 series_most(struct series *r)
{
	const struct xiw_ddp_queue *q = &r->s->rx.queue[XIW_QN_SEND];
	u64 room = xiw_mem_room(&r->ref, r->access, r->addr,
				min_t(u64, r->room, SERIES_BYTES));
	enum xiw_reason reason = XIW_OK;

	switch (r->h.opcode) {
	case XIW_OP_WRITE:
		break;
	case XIW_OP_READ_RESP:
		reason = xiw_rdmap_read_resp_check(&r->wait->sink, &r->h);
		room = min_t(u64, room, r->wait->sink.left);
		break;
	default:
		reason = xiw_ddp_queue_check(q, &r->h);
		room = min_t(u64, room, q->size - r->h.mo);
		break;
	}
	if (reason != XIW_OK)
		return 0;
	return min3((u32)room / r->h.payload_len,
		    (u32)SERIES_FPDUS,
		    xiw_budget_equal(&r->s->rx.budget, r->fpdu_len));
}

/* Out of line: a compiler that zeroes variables would zero @f for each FPDU. */
static noinline void series_place_pieces(struct series *r)
{
	struct xiw_fpdu f = { .vec = r->s->rx.mpa.vec };

	xiw_fpdu_skip(&f, r->head_len);
	xiw_fpdu_place(&f, &r->ref, r->h.payload_len);
}

/* series_take_next() for an FPDU with a CRC or in several pieces */
static noinline bool series_take_any(struct series *r, struct xiw_rx_pos *p)
{
	struct xiw_rx_mpa *m = &r->s->rx.mpa;

	if (!xiw_rx_mpa_next_like(m, p, r->head, r->head_len, r->fpdu_len))
		return false;
	if (m->vec_count == 1)
		xiw_mem_write(&r->ref, m->vec->iov_base + r->head_len,
			      r->h.payload_len);
	else
		series_place_pieces(r);
	return true;
}

/* Takes and places the next FPDU, if it is the expected one. */
static bool series_take_next(struct series *r, struct xiw_rx_pos *p)
{
	if (!xiw_rx_mpa_is_whole(&r->s->rx.mpa, p, r->fpdu_len))
		return series_take_any(r, p);
	if (!xiw_rx_mpa_head_equal(p->data, r->head, r->head_len))
		return false;
	xiw_mem_write(&r->ref, p->data + r->head_len, r->h.payload_len);
	xiw_rx_pos_pass(p, r->fpdu_len);
	return true;
}

/* @n FPDUs were placed: advances the message. */
static void series_advance(struct series *r, u32 n)
{
	struct xiw_rx *rx = &r->s->rx;
	struct xiw_ddp_hdr all = r->h;
	u32 msg_len;

	all.payload_len *= n;
	if (all.opcode == XIW_OP_WRITE) {
		rx->write_bytes += all.payload_len;
	} else if (all.opcode == XIW_OP_READ_RESP) {
		r->wait->offset += all.payload_len;
		xiw_rdmap_read_resp_advance(&r->wait->sink, &all);
	} else {
		xiw_ddp_queue_advance(&rx->queue[XIW_QN_SEND], &all, &msg_len);
	}
	xiw_budget_charge_equal(&rx->budget, n, r->fpdu_len);
}

/* Takes FPDUs while the memory is locked. Returns their number. */
static u32 series_run(struct series *r, struct xiw_rx_pos *p)
{
	u32 most = series_most(r);
	u32 n;

	for (n = 0; n < most; n++) {
		if (!series_take_next(r, p))
			break;
		series_next_head(r);
	}
	series_advance(r, n);
	return n;
}

static u32 series_lock_and_run(struct series *r, struct xiw_rx_pos *p)
{
	u32 n;

	if (!xiw_rx_mpa_is_like(p, r->head, r->head_len, r->fpdu_len) ||
	    !series_find_memory(r) ||
	    xiw_stream_mem_get(r->s, &r->s->rx.mem, r->stag, r->access,
			       r->addr, r->h.payload_len, &r->ref) !=
		    XIW_MEM_OK)
		return 0;
	n = series_run(r, p);
	xiw_mem_put(&r->ref);
	return n;
}

/* Out of line: a compiler that zeroes variables would zero @r for each FPDU. */
static noinline void series_take_all(struct xiw_stream *s, struct xiw_rx_pos *p)
{
	struct xiw_rx *rx = &s->rx;
	struct series r = { .s = s };
	u32 all = 0;
	u32 n;

	series_begin(&r, &rx->fpdu);
	while ((n = series_lock_and_run(&r, p)))
		all += n;
	if (!all)
		return;
	rx->requests += xiw_rdmap_is_response(r.h.opcode) ? 0 : all;
	xiw_stat_add(s->env->stats, XIW_STAT_RX_FPDU, all);
	xiw_stat_add(s->env->stats, XIW_STAT_RX_BYTES,
		     all * rx->fpdu.ulpdu_len);
}

/**
 * xiw_series_take() - take the FPDUs that continue a message
 * @s: stream; its receive side has delivered the FPDU that they continue
 * @p: position behind that one; moved past the FPDUs taken
 *
 * Charges the work budget.
 */
void xiw_series_take(struct xiw_stream *s, struct xiw_rx_pos *p)
{
	/* When FPDUs are traced, rx.c handles each of them. */
	if (!s->rx.mpa.linear && !trace_rx_fpdu_enabled() &&
	    series_may_follow(&s->rx.fpdu.h))
		series_take_all(s, p);
}
