// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Placement: copies the payload of a verified segment into registered memory,
 * after all checks, and that of a series of FPDUs which continue a message.
 */

/**
 * DOC: Series of FPDUs
 *
 * A peer that fills one TCP segment with each FPDU sends a message of 64 KiB as
 * 46 FPDUs, whose headers differ in their offset only.
 *
 * An FPDU that continues the message of the one before it needs no decoding:
 * all but its offset was checked with the header of the first one. The memory
 * stays locked for up to PLACE_SERIES_BYTES, as for an FPDU of a peer that is
 * xiw, too. How many of them fit is found once: the bounds of the message, of
 * the buffer and of the region, and the rights that the owner of the stream
 * permits. Checked for each FPDU are the CRC and the header, with the expected
 * offset. Any other FPDU, and any fault, is left to rx.c.
 */
#include "engine.h"

#include <asm/barrier.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/unaligned.h>

#include "llp/fpdu.h"
#include "trace.h"

/* Limit for the bytes that are placed while the memory is locked */
#define PLACE_SERIES_BYTES	(16 * 1024)
/* Limit for the number of these FPDUs: each may have only a few bytes */
#define PLACE_SERIES_FPDUS	32

/**
 * xiw_mem_reason() - map the result of a look-up to a Terminate reason
 * @status: result of the look-up
 * @access: access that the peer requested
 *
 * Return: The fault, RFC 5041 section 7.1 and RFC 5040 section 7.2.
 */
enum xiw_reason xiw_mem_reason(enum xiw_mem_status status,
			       enum xiw_access access)
{
	bool write = access == XIW_ACCESS_WRITE;

	switch (status) {
	case XIW_MEM_OK:
		return XIW_OK;
	case XIW_MEM_BAD_PD:
		return write ? XIW_WRITE_BAD_OWNER : XIW_SRC_BAD_OWNER;
	case XIW_MEM_BAD_ACCESS:
		return write ? XIW_WRITE_BAD_RIGHTS : XIW_SRC_BAD_RIGHTS;
	case XIW_MEM_WRAP:
		return write ? XIW_WRITE_WRAP : XIW_SRC_WRAP;
	case XIW_MEM_BOUNDS:
		return write ? XIW_WRITE_BOUNDS : XIW_SRC_BOUNDS;
	case XIW_MEM_BAD_STAG:
	/* xiw_page_in_want() finds a final status. */
	case XIW_MEM_ABSENT:
		break;
	}
	return write ? XIW_WRITE_BAD_STAG : XIW_SRC_BAD_STAG;
}

/*
 * The position of the segment that is delivered, for xiw_page_in_want(): it
 * changes with each segment that was placed. The counter of Reads changes with
 * the last one of a response, the offset with the others.
 */
static u64 place_pos(const struct xiw_stream *s)
{
	u32 low = s->rx.requests;

	if (s->orq_head != s->orq_tail)
		low += s->orq[s->orq_head & s->orq_mask].offset;
	return (u64)s->orq_head << 32 | low;
}

static enum xiw_mem_status place_want(struct xiw_stream *s, u32 stag,
				      int access, u64 addr, u32 len)
{
	return xiw_page_in_want(&s->rx.pages, place_pos(s), &s->rx.mem, stag,
				access, addr, len);
}

/*
 * Places @len bytes. In memory that may be write-combined, the last store of a
 * message follows a barrier that orders stores there, unlike that of copy.c.
 */
static void place_bytes(struct xiw_fpdu *f, struct xiw_mem_ref *ref, u32 len)
{
	u32 end = xiw_mem_behind_word(ref) + len;
	u32 tail;

	if (unlikely(f->h.last && xiw_mem_is_combined(ref))) {
		tail = min3(end & -end, (u32)XIW_COPY_WORD,
			    (u32)rounddown_pow_of_two(len));
		if (len > tail)
			xiw_fpdu_place(f, ref, len - tail);
		wmb(); /* see above */
		len = tail;
	}
	xiw_fpdu_place(f, ref, len);
}

/**
 * xiw_place_write() - place a segment of an RDMA Write
 * @s: stream
 * @f: FPDU, read position at its payload
 *
 * STag and TO of an empty segment are not checked (RFC 5041 section 5.2).
 *
 * Return: XIW_MEM_OK. XIW_MEM_ABSENT if the segment must wait for pages. Or the
 * fault; then nothing was written.
 */
enum xiw_mem_status xiw_place_write(struct xiw_stream *s, struct xiw_fpdu *f)
{
	u32 len = f->h.payload_len;
	enum xiw_mem_status status;
	struct xiw_mem_ref ref;

	if (!len)
		return XIW_MEM_OK;
	status = xiw_stream_mem_get(s, &s->rx.mem, f->h.stag,
				    IB_ACCESS_REMOTE_WRITE, f->h.to, len, &ref);
	if (status == XIW_MEM_ABSENT)
		return place_want(s, f->h.stag, IB_ACCESS_REMOTE_WRITE, f->h.to,
				  len);
	if (status != XIW_MEM_OK)
		return status;
	place_bytes(f, &ref, len);
	xiw_mem_put(&ref);
	return XIW_MEM_OK;
}

/**
 * xiw_place_sges() - place a segment into a scatter list
 * @s: stream
 * @f: FPDU, read position at its payload
 * @sge: scatter list
 * @num_sge: elements
 * @offset: where in the list the payload belongs, in bytes
 * @len: bytes to place; the list is long enough
 *
 * If a page is absent, the rest of the segment is not placed, but all of its
 * absent pages are requested. The segment is placed again from its beginning.
 *
 * Return: XIW_MEM_OK. XIW_MEM_ABSENT if the segment must wait for pages.
 * Another status if an element's memory is no longer writable.
 */
enum xiw_mem_status xiw_place_sges(struct xiw_stream *s, struct xiw_fpdu *f,
				   const struct xiw_sge *sge, u32 num_sge,
				   u64 offset, u32 len)
{
	enum xiw_mem_status all = XIW_MEM_OK;
	enum xiw_mem_status status;
	struct xiw_mem_ref ref;

	for (; len && num_sge; sge++, num_sge--) {
		u64 addr;
		u32 n;

		if (offset >= sge->length) {
			offset -= sge->length;
			continue;
		}
		addr = sge->addr + offset;
		n = min_t(u64, len, sge->length - offset);
		status = xiw_mem_get(&s->rx.mem, sge->lkey,
				     IB_ACCESS_LOCAL_WRITE, addr, n, &ref);
		if (status == XIW_MEM_OK) {
			if (all == XIW_MEM_OK)
				place_bytes(f, &ref, n);
			xiw_mem_put(&ref);
		} else {
			if (status == XIW_MEM_ABSENT)
				status = place_want(s, sge->lkey,
						    IB_ACCESS_LOCAL_WRITE, addr,
						    n);
			if (status != XIW_MEM_ABSENT)
				return status;
			all = status;
		}
		len -= n;
		offset = 0;
	}
	return len ? XIW_MEM_BOUNDS : all;
}

/**
 * xiw_place_check_sges() - check that all elements of a sink are writable
 * @s: stream
 * @sge: scatter list
 * @num_sge: elements
 *
 * Return: false if an element is not writable.
 */
bool xiw_place_check_sges(struct xiw_stream *s, const struct xiw_sge *sge,
			  u32 num_sge)
{
	for (; num_sge; sge++, num_sge--)
		if (sge->length &&
		    xiw_mem_check(&s->tx.mem, sge->lkey, IB_ACCESS_LOCAL_WRITE,
				  sge->addr, sge->length) != XIW_MEM_OK)
			return false;
	return true;
}

/**
 * struct place_series - state between two FPDUs of a series
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
struct place_series {
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

static bool place_is_send(u8 opcode)
{
	const struct xiw_rdmap_op *op = xiw_rdmap_op(opcode, ~0);

	return op && !op->tagged && op->qn == XIW_QN_SEND &&
	       !xiw_rdmap_is_imm(opcode);
}

/* Moves the expected header to the next FPDU. */
static void place_next_head(struct place_series *r)
{
	if (r->h.tagged)
		r->h.to += r->h.payload_len;
	else
		r->h.mo += r->h.payload_len;
	xiw_ddp_put_offset(r->head + XIW_MPA_LEN_FIELD, r->h.tagged,
			   r->h.tagged ? r->h.to : r->h.mo);
}

static bool place_may_follow(const struct xiw_ddp_hdr *h)
{
	return !h->last && h->payload_len &&
	       h->payload_len <= PLACE_SERIES_BYTES / 2 &&
	       (h->opcode == XIW_OP_WRITE || h->opcode == XIW_OP_READ_RESP ||
		place_is_send(h->opcode));
}

/* The header that follows the one of @prev */
static void place_begin(struct place_series *r, const struct xiw_fpdu *prev)
{
	r->h = prev->h;
	r->head_len = XIW_MPA_LEN_FIELD + r->h.payload_off;
	r->fpdu_len = xiw_mpa_fpdu_len(prev->ulpdu_len);
	put_unaligned_be16(prev->ulpdu_len, r->head);
	memcpy(r->head + XIW_MPA_LEN_FIELD, prev->hdr, sizeof(prev->hdr));
	place_next_head(r);
}

static bool place_find_element(struct place_series *r,
			       const struct xiw_sge *sge, u32 num_sge,
			       u64 offset)
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
static bool place_find_memory(struct place_series *r)
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
		return place_find_element(r, wr->sge, wr->num_sge,
					   r->wait->offset);
	default:
		return place_find_element(r, rx->recv.sge, rx->recv.num_sge,
					   rx->queue[XIW_QN_SEND].bytes);
	}
}

/*
 * Makes the checks that rx.c, deliver.c and place.c make, for the next FPDU and
 * those behind it. Returns how many may be placed; the memory is locked.
 */
static u32 place_most(struct place_series *r)
{
	const struct xiw_ddp_queue *q = &r->s->rx.queue[XIW_QN_SEND];
	u64 room = xiw_mem_room(&r->ref, r->access, r->addr,
				min_t(u64, r->room, PLACE_SERIES_BYTES));
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
		    (u32)PLACE_SERIES_FPDUS,
		    xiw_budget_equal(&r->s->rx.budget, r->fpdu_len));
}

/* Out of line: a compiler that zeroes variables would zero @f for each FPDU. */
static noinline void place_place_pieces(struct place_series *r)
{
	struct xiw_fpdu f = { .vec = r->s->rx.mpa.vec };

	xiw_fpdu_skip(&f, r->head_len);
	xiw_fpdu_place(&f, &r->ref, r->h.payload_len);
}

/* place_take_next() for an FPDU with a CRC or in several pieces */
static noinline bool place_take_any(struct place_series *r,
				    struct xiw_rx_pos *p)
{
	struct xiw_rx_mpa *m = &r->s->rx.mpa;

	if (!xiw_rx_mpa_next_like(m, p, r->head, r->head_len, r->fpdu_len))
		return false;
	if (m->vec_count == 1)
		xiw_mem_write(&r->ref, m->vec->iov_base + r->head_len,
			      r->h.payload_len);
	else
		place_place_pieces(r);
	return true;
}

/* Takes and places the next FPDU, if it is the expected one. */
static bool place_take_next(struct place_series *r, struct xiw_rx_pos *p)
{
	if (!xiw_rx_mpa_is_whole(&r->s->rx.mpa, p, r->fpdu_len))
		return place_take_any(r, p);
	if (!xiw_rx_mpa_head_equal(p->data, r->head, r->head_len))
		return false;
	xiw_mem_write(&r->ref, p->data + r->head_len, r->h.payload_len);
	xiw_rx_pos_pass(p, r->fpdu_len);
	return true;
}

/* @n FPDUs were placed: advances the message. */
static void place_advance(struct place_series *r, u32 n)
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
static u32 place_run(struct place_series *r, struct xiw_rx_pos *p)
{
	u32 most = place_most(r);
	u32 n;

	for (n = 0; n < most; n++) {
		if (!place_take_next(r, p))
			break;
		place_next_head(r);
	}
	place_advance(r, n);
	return n;
}

static u32 place_lock_and_run(struct place_series *r, struct xiw_rx_pos *p)
{
	u32 n;

	if (!xiw_rx_mpa_is_like(p, r->head, r->head_len, r->fpdu_len) ||
	    !place_find_memory(r) ||
	    xiw_stream_mem_get(r->s, &r->s->rx.mem, r->stag, r->access,
			       r->addr, r->h.payload_len, &r->ref) !=
		    XIW_MEM_OK)
		return 0;
	n = place_run(r, p);
	xiw_mem_put(&r->ref);
	return n;
}

/* Out of line: a compiler that zeroes variables would zero @r for each FPDU. */
static noinline void place_take_all(struct xiw_stream *s, struct xiw_rx_pos *p)
{
	struct xiw_rx *rx = &s->rx;
	struct place_series r = { .s = s };
	u32 all = 0;
	u32 n;

	place_begin(&r, &rx->fpdu);
	while ((n = place_lock_and_run(&r, p)))
		all += n;
	if (!all)
		return;
	rx->requests += xiw_rdmap_is_response(r.h.opcode) ? 0 : all;
	xiw_stat_add(s->env->stats, XIW_STAT_RX_FPDU, all);
	xiw_stat_add(s->env->stats, XIW_STAT_RX_BYTES,
		     all * rx->fpdu.ulpdu_len);
}

/**
 * xiw_place_series() - take the FPDUs that continue a message
 * @s: stream; its receive side has delivered the FPDU that they continue
 * @p: position behind that one; moved past the FPDUs taken
 *
 * Charges the work budget.
 */
void xiw_place_series(struct xiw_stream *s, struct xiw_rx_pos *p)
{
	/* When FPDUs are traced, rx.c handles each of them. */
	if (!s->rx.mpa.linear && !trace_rx_fpdu_enabled() &&
	    place_may_follow(&s->rx.fpdu.h))
		place_take_all(s, p);
}
