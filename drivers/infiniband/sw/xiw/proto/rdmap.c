// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMAP: the headers of messages that are not plain payload, and the checks of
 * responses to our requests (RFC 5040, RFC 7306).
 */
#include "rdmap.h"

void xiw_rdmap_read_req_encode(u8 *buf, const struct xiw_read_req *r)
{
	struct xiw_read_req_hdr *w = (struct xiw_read_req_hdr *)buf;

	w->sink_stag = cpu_to_be32(r->sink_stag);
	w->sink_to = cpu_to_be64(r->sink_to);
	w->size = cpu_to_be32(r->size);
	w->src_stag = cpu_to_be32(r->src_stag);
	w->src_to = cpu_to_be64(r->src_to);
}

enum xiw_reason xiw_rdmap_read_req_decode(const u8 *buf, u32 len,
					  struct xiw_read_req *r)
{
	const struct xiw_read_req_hdr *w = (const struct xiw_read_req_hdr *)buf;

	if (len != sizeof(*w))
		return XIW_BAD_MSG_LEN;
	r->sink_stag = be32_to_cpu(w->sink_stag);
	r->sink_to = be64_to_cpu(w->sink_to);
	r->size = be32_to_cpu(w->size);
	r->src_stag = be32_to_cpu(w->src_stag);
	r->src_to = be64_to_cpu(w->src_to);
	return XIW_OK;
}

void xiw_rdmap_read_req_advance(struct xiw_read_req *r, u32 done)
{
	r->sink_to += done;
	r->src_to += done;
	r->size -= done;
}

void xiw_rdmap_atomic_req_encode(u8 *buf, const struct xiw_atomic_req *r)
{
	struct xiw_atomic_req_hdr *w = (struct xiw_atomic_req_hdr *)buf;

	w->aop = cpu_to_be32(r->aop & XIW_ATOMIC_AOP_MASK);
	w->id = cpu_to_be32(r->id);
	w->stag = cpu_to_be32(r->stag);
	w->to = cpu_to_be64(r->to);
	w->data = cpu_to_be64(r->data);
	w->data_mask = cpu_to_be64(r->data_mask);
	w->compare = cpu_to_be64(r->compare);
	w->compare_mask = cpu_to_be64(r->compare_mask);
}

enum xiw_reason xiw_rdmap_atomic_req_decode(const u8 *buf, u32 len,
					    struct xiw_atomic_req *r)
{
	const struct xiw_atomic_req_hdr *w;
	u8 aop;

	w = (const struct xiw_atomic_req_hdr *)buf;
	if (len != sizeof(*w))
		return XIW_BAD_MSG_LEN;
	/* The other 28 bits are reserved and ignored. */
	aop = be32_to_cpu(w->aop) & XIW_ATOMIC_AOP_MASK;
	if (aop != XIW_AOP_FETCH_ADD && aop != XIW_AOP_CMP_SWAP)
		return XIW_ATOMIC_BAD_OP;
	r->aop = aop;
	r->id = be32_to_cpu(w->id);
	r->stag = be32_to_cpu(w->stag);
	r->to = be64_to_cpu(w->to);
	r->data = be64_to_cpu(w->data);
	r->data_mask = be64_to_cpu(w->data_mask);
	r->compare = be64_to_cpu(w->compare);
	r->compare_mask = be64_to_cpu(w->compare_mask);
	return XIW_OK;
}

void xiw_rdmap_atomic_resp_encode(u8 *buf, const struct xiw_atomic_resp *r)
{
	struct xiw_atomic_resp_hdr *w = (struct xiw_atomic_resp_hdr *)buf;

	w->id = cpu_to_be32(r->id);
	w->orig = cpu_to_be64(r->orig);
}

enum xiw_reason xiw_rdmap_atomic_resp_decode(const u8 *buf, u32 len,
					     struct xiw_atomic_resp *r)
{
	const struct xiw_atomic_resp_hdr *w;

	w = (const struct xiw_atomic_resp_hdr *)buf;
	if (len != sizeof(*w))
		return XIW_BAD_MSG_LEN;
	r->id = be32_to_cpu(w->id);
	r->orig = be64_to_cpu(w->orig);
	return XIW_OK;
}

void xiw_rdmap_imm_encode(u8 *buf, __be32 imm, enum xiw_imm_kind kind)
{
	struct xiw_imm_hdr *w = (struct xiw_imm_hdr *)buf;

	w->data = imm;
	w->kind = cpu_to_be32(kind);
}

enum xiw_reason xiw_rdmap_imm_decode(const u8 *buf, u32 len, __be32 *imm)
{
	const struct xiw_imm_hdr *w = (const struct xiw_imm_hdr *)buf;

	if (len != sizeof(*w))
		return XIW_BAD_MSG_LEN;
	*imm = w->data;
	return XIW_OK;
}

bool xiw_rdmap_imm_of_send(const u8 *buf)
{
	const struct xiw_imm_hdr *w = (const struct xiw_imm_hdr *)buf;

	return w->kind == cpu_to_be32(XIW_IMM_SEND);
}

enum xiw_reason xiw_rdmap_read_resp_check(const struct xiw_read_sink *s,
					  const struct xiw_ddp_hdr *h)
{
	if (!s)
		return XIW_RESP_STRAY;
	/* RFC 5041 5.2: without payload neither STag nor TO is checked. */
	if (!h->payload_len)
		return XIW_OK;
	if (h->stag != s->stag)
		return XIW_RESP_BAD_STAG;
	if (h->to != s->to || h->payload_len > s->left)
		return XIW_RESP_BAD_PLACE;
	return XIW_OK;
}

enum xiw_reason xiw_rdmap_read_resp_advance(struct xiw_read_sink *s,
					    const struct xiw_ddp_hdr *h)
{
	s->to += h->payload_len;
	s->left -= h->payload_len;
	return h->last && s->left ? XIW_RESP_SHORT : XIW_OK;
}

enum xiw_range xiw_rdmap_range_check(u64 to, u64 len, u64 base, u64 size)
{
	u64 end;

	if (check_add_overflow(to, len, &end))
		return XIW_RANGE_WRAPS;
	if (to < base || to - base > size || len > size - (to - base))
		return XIW_RANGE_BEYOND;
	return XIW_RANGE_FITS;
}
