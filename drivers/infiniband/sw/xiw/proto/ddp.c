// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Encode and decode DDP segment headers, check received segments before their
 * payload is placed, and enforce the sequence rules of the untagged queues
 * (RFC 5041).
 */
#include "ddp.h"

static u32 ddp_header_len(bool tagged)
{
	return tagged ? XIW_TAGGED_LEN : XIW_UNTAGGED_LEN;
}

static void ddp_decode_tagged(const u8 *hdr, struct xiw_ddp_hdr *h)
{
	const struct xiw_tagged_hdr *w = (const struct xiw_tagged_hdr *)hdr;

	h->stag = be32_to_cpu(w->stag);
	h->to = be64_to_cpu(w->to);
}

static void ddp_decode_untagged(const u8 *hdr, struct xiw_ddp_hdr *h)
{
	const struct xiw_untagged_hdr *w = (const struct xiw_untagged_hdr *)hdr;

	h->inv_stag = be32_to_cpu(w->inv_stag);
	h->qn = be32_to_cpu(w->qn);
	h->msn = be32_to_cpu(w->msn);
	h->mo = be32_to_cpu(w->mo);
}

enum xiw_reason xiw_ddp_decode(const u8 *hdr, u32 ulpdu_len, u32 features,
			       struct xiw_ddp_hdr *h)
{
	const struct xiw_rdmap_op *op;

	*h = (struct xiw_ddp_hdr){ .opcode = XIW_OP_UNKNOWN };
	if (ulpdu_len < 2)
		return XIW_BAD_SEGMENT_LEN;

	h->tagged = hdr[0] & XIW_DDP_TAGGED;
	h->last = hdr[0] & XIW_DDP_LAST;
	h->opcode = hdr[1] & XIW_RDMAP_OP_MASK;
	h->payload_off = ddp_header_len(h->tagged);
	if (ulpdu_len < h->payload_off)
		return XIW_BAD_SEGMENT_LEN;
	h->payload_len = ulpdu_len - h->payload_off;

	/* RFC 5041 7.2, RFC 5040 7.2: check the versions first. */
	if ((hdr[0] & XIW_DDP_DV_MASK) != XIW_DDP_DV)
		return h->tagged ? XIW_BAD_DV_TAGGED : XIW_BAD_DV_UNTAGGED;
	if ((hdr[1] & XIW_RDMAP_RV_MASK) != XIW_RDMAP_RV)
		return XIW_BAD_RV;

	op = xiw_rdmap_op(h->opcode, features);
	if (!op)
		return XIW_BAD_OPCODE;
	if (op->tagged != h->tagged)
		return XIW_BAD_T_BIT;
	if (h->tagged) {
		ddp_decode_tagged(hdr, h);
		return XIW_OK;
	}
	ddp_decode_untagged(hdr, h);
	if (h->qn != op->qn)
		return XIW_BAD_QN;
	return XIW_OK;
}

u32 xiw_ddp_encode(u8 *buf, const struct xiw_ddp_hdr *h)
{
	struct xiw_untagged_hdr *u = (struct xiw_untagged_hdr *)buf;
	struct xiw_tagged_hdr *t = (struct xiw_tagged_hdr *)buf;

	buf[0] = XIW_DDP_DV | (h->tagged ? XIW_DDP_TAGGED : 0) |
		 (h->last ? XIW_DDP_LAST : 0);
	buf[1] = XIW_RDMAP_RV | (h->opcode & XIW_RDMAP_OP_MASK);
	if (h->tagged) {
		t->stag = cpu_to_be32(h->stag);
	} else {
		u->inv_stag = cpu_to_be32(h->inv_stag);
		u->qn = cpu_to_be32(h->qn);
		u->msn = cpu_to_be32(h->msn);
	}
	xiw_ddp_put_offset(buf, h->tagged, h->tagged ? h->to : h->mo);
	return ddp_header_len(h->tagged);
}

void xiw_ddp_queue_init(struct xiw_ddp_queue *q)
{
	memset(q, 0, sizeof(*q));
	q->msn = XIW_MSN_FIRST;
}

void xiw_ddp_queue_open(struct xiw_ddp_queue *q, u8 opcode, u32 size)
{
	q->size = size;
	q->opcode = opcode;
	q->open = true;
}

enum xiw_reason xiw_ddp_queue_check(const struct xiw_ddp_queue *q,
				    const struct xiw_ddp_hdr *h)
{
	/*
	 * Immediate data does not go to the receive's buffers. Its limit is
	 * eight bytes, and a longer message is malformed.
	 */
	bool imm = xiw_rdmap_is_imm(h->opcode);
	u32 size = imm ? XIW_IMM_LEN : q->size;

	if (h->msn != q->msn)
		return XIW_BAD_MSN;
	if (!q->open)
		return XIW_NO_BUFFER;
	/* All segments of a message carry the same opcode. */
	if (h->opcode != q->opcode)
		return XIW_BAD_OPCODE;
	/* Nothing to place and nothing to deliver yet. */
	if (!h->payload_len && !h->last)
		return XIW_OK;

	if (h->payload_len) {
		if (h->mo > size)
			return XIW_BAD_MO;
		if (h->payload_len > size - h->mo)
			return imm ? XIW_BAD_MSG_LEN : XIW_MSG_TOO_LONG;
	}
	/*
	 * TCP delivers in order and no sender reorders segments of a message,
	 * so a gap or an overlap is an error. A gap would leave stale bytes.
	 */
	if (h->mo != q->bytes)
		return XIW_BAD_MO;
	return XIW_OK;
}

bool xiw_ddp_queue_advance(struct xiw_ddp_queue *q,
			   const struct xiw_ddp_hdr *h, u32 *msg_len)
{
	q->bytes += h->payload_len;
	if (!h->last)
		return false;
	*msg_len = q->bytes;
	q->bytes = 0;
	q->open = false;
	q->msn++;
	return true;
}
