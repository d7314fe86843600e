// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Placement: copies the payload of a verified segment into registered memory,
 * after all checks. Called under the socket lock.
 */

#include "place.h"

#include <asm/barrier.h>
#include <linux/log2.h>
#include <linux/minmax.h>

#include "llp/rx_mpa.h"
#include "stream.h"

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
