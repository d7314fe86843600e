// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Terminate codes: map local faults to codes, and received codes to completion
 * status and events (RFC 5040 section 4.8, RFC 5041 section 7.2, RFC 5044
 * section 8, RFC 6581 section 8, RFC 7306 section 8).  No other file uses them.
 */
#include "term.h"

enum {
	LAYER_RDMA = 0x0,
	LAYER_DDP = 0x1,
	LAYER_LLP = 0x2,
};

enum {
	RDMA_LOCAL = 0x0,
	RDMA_PROTECTION = 0x1,
	RDMA_OPERATION = 0x2,
	DDP_LOCAL = 0x0,
	DDP_TAGGED = 0x1,
	DDP_UNTAGGED = 0x2,
	LLP_MPA = 0x0,
};

#define RDMA(etype, code)	XIW_TERM_CODE(LAYER_RDMA, RDMA_##etype, code)
#define DDP(etype, code)	XIW_TERM_CODE(LAYER_DDP, DDP_##etype, code)
#define MPA(code)		XIW_TERM_CODE(LAYER_LLP, LLP_MPA, code)

static const u16 codes[XIW_REASON_COUNT] = {
	[XIW_BAD_SEGMENT_LEN]	= DDP(LOCAL, 0x00),
	[XIW_BAD_DV_TAGGED]	= DDP(TAGGED, 0x04),
	[XIW_BAD_DV_UNTAGGED]	= DDP(UNTAGGED, 0x06),
	[XIW_BAD_RV]		= RDMA(OPERATION, 0x05),
	[XIW_BAD_OPCODE]	= RDMA(OPERATION, 0x06),
	[XIW_BAD_T_BIT]		= RDMA(OPERATION, 0x06),
	[XIW_BAD_QN]		= DDP(UNTAGGED, 0x01),
	[XIW_WRITE_BAD_STAG]	= DDP(TAGGED, 0x00),
	[XIW_WRITE_BAD_OWNER]	= DDP(TAGGED, 0x02),
	/* DDP has no code for access rights; report an invalid STag. */
	[XIW_WRITE_BAD_RIGHTS]	= DDP(TAGGED, 0x00),
	[XIW_WRITE_WRAP]	= DDP(TAGGED, 0x03),
	[XIW_WRITE_BOUNDS]	= DDP(TAGGED, 0x01),
	[XIW_RESP_STRAY]	= RDMA(OPERATION, 0x06),
	[XIW_RESP_BAD_STAG]	= DDP(TAGGED, 0x00),
	[XIW_RESP_BAD_PLACE]	= DDP(TAGGED, 0x01),
	[XIW_RESP_SINK_GONE]	= DDP(TAGGED, 0x00),
	[XIW_RESP_SHORT]	= RDMA(OPERATION, 0xff),
	[XIW_BAD_MSN]		= DDP(UNTAGGED, 0x03),
	[XIW_NO_BUFFER]		= DDP(UNTAGGED, 0x02),
	[XIW_BAD_MO]		= DDP(UNTAGGED, 0x04),
	[XIW_MSG_TOO_LONG]	= DDP(UNTAGGED, 0x05),
	[XIW_RECV_FAULT]	= DDP(LOCAL, 0x00),
	[XIW_INV_BAD_STAG]	= RDMA(OPERATION, 0x09),
	[XIW_INV_BAD_OWNER]	= RDMA(PROTECTION, 0x09),
	[XIW_SRC_BAD_STAG]	= RDMA(PROTECTION, 0x00),
	[XIW_SRC_BAD_OWNER]	= RDMA(PROTECTION, 0x03),
	[XIW_SRC_BAD_RIGHTS]	= RDMA(PROTECTION, 0x02),
	[XIW_SRC_WRAP]		= RDMA(PROTECTION, 0x04),
	[XIW_SRC_BOUNDS]	= RDMA(PROTECTION, 0x01),
	[XIW_BAD_MSG_LEN]	= RDMA(OPERATION, 0xff),
	[XIW_ATOMIC_BAD_OP]	= RDMA(OPERATION, 0x06),
	[XIW_ATOMIC_UNALIGNED]	= RDMA(OPERATION, 0x07),
	[XIW_ATOMIC_BAD_ID]	= RDMA(OPERATION, 0xff),
	[XIW_MPA_LOST]		= MPA(0x01),
	[XIW_MPA_BAD_CRC]	= MPA(0x02),
	[XIW_MPA_BAD_MARKER]	= MPA(0x03),
	[XIW_MPA_BAD_FRAME]	= MPA(0x04),
	[XIW_MPA_LOCAL]		= MPA(0x05),
	[XIW_MPA_NO_IRD]	= MPA(0x06),
	[XIW_MPA_NO_RTR]	= MPA(0x07),
	[XIW_LOCAL_FAULT]	= RDMA(LOCAL, 0x00),
};

u16 xiw_term_code(enum xiw_reason reason)
{
	return (unsigned int)reason < XIW_REASON_COUNT ? codes[reason] : 0;
}

bool xiw_term_wanted(enum xiw_reason reason, u8 opcode)
{
	if (opcode == XIW_OP_TERMINATE)
		return false;
	switch (reason) {
	case XIW_OK:
	case XIW_MPA_LOST:
	case XIW_MPA_BAD_FRAME:
	case XIW_TERM_MALFORMED:
		return false;
	default:
		return true;
	}
}

/*
 * RFC 5040 figure 10: which headers follow the control word.  The RDMA header
 * is included for protection faults of a Read Request only; RFC 7306 section
 * 8.1 forbids it for an Atomic.
 */
static u8 term_header_bits(u16 code, const struct xiw_term_offender *off)
{
	u8 layer = XIW_TERM_LAYER(code);
	u8 etype = XIW_TERM_ETYPE(code);

	if (!off || layer == LAYER_LLP)
		return 0;
	if (layer == LAYER_RDMA && etype == RDMA_LOCAL)
		return 0;
	if (layer == LAYER_DDP && etype == DDP_LOCAL)
		return 0;
	if (layer == LAYER_RDMA && etype == RDMA_PROTECTION && off->read_req)
		return XIW_TERM_M | XIW_TERM_D | XIW_TERM_R;
	return XIW_TERM_M | XIW_TERM_D;
}

static u32 term_quoted_len(u8 ddp_ctrl)
{
	return ddp_ctrl & XIW_DDP_TAGGED ? XIW_TAGGED_LEN : XIW_UNTAGGED_LEN;
}

u32 xiw_term_encode(u8 *ulpdu, enum xiw_reason reason,
		    const struct xiw_term_offender *off)
{
	const struct xiw_ddp_hdr hdr = {
		.last = true,
		.opcode = XIW_OP_TERMINATE,
		.qn = XIW_QN_TERMINATE,
		.msn = XIW_MSN_FIRST,
	};
	u32 len = xiw_ddp_encode(ulpdu, &hdr);
	u16 code = xiw_term_code(reason);
	struct xiw_term_ctrl *ctrl;

	ctrl = (struct xiw_term_ctrl *)(ulpdu + len);
	ctrl->layer_etype = code >> 8;
	ctrl->code = XIW_TERM_ERROR(code);
	ctrl->hdrct = term_header_bits(code, off);
	ctrl->reserved = 0;
	len += sizeof(*ctrl);

	if (ctrl->hdrct & XIW_TERM_M) {
		put_unaligned_be16(off->ulpdu_len, ulpdu + len);
		len += XIW_TERM_SEG_LEN;
	}
	if (ctrl->hdrct & XIW_TERM_D) {
		memcpy(ulpdu + len, off->hdr, term_quoted_len(off->hdr[0]));
		len += term_quoted_len(off->hdr[0]);
	}
	if (ctrl->hdrct & XIW_TERM_R) {
		xiw_rdmap_read_req_encode(ulpdu + len, off->read_req);
		len += XIW_READ_REQ_LEN;
	}
	return len;
}

/* Decode the quoted DDP header, which identifies the faulty message. */
static void term_decode_quoted(const u8 *buf, u32 len, struct xiw_term *t)
{
	const struct xiw_untagged_hdr *u;

	if (!len || len < term_quoted_len(buf[0]))
		return;
	t->has_hdr = true;
	t->tagged = buf[0] & XIW_DDP_TAGGED;
	t->opcode = buf[1] & XIW_RDMAP_OP_MASK;
	if (t->tagged)
		return;
	u = (const struct xiw_untagged_hdr *)buf;
	t->qn = be32_to_cpu(u->qn);
	t->msn = be32_to_cpu(u->msn);
}

enum xiw_reason xiw_term_decode(const u8 *buf, u32 len, struct xiw_term *t)
{
	const struct xiw_term_ctrl *ctrl = (const struct xiw_term_ctrl *)buf;
	u32 off = sizeof(*ctrl) + XIW_TERM_SEG_LEN;

	if (len < sizeof(*ctrl))
		return XIW_TERM_MALFORMED;
	memset(t, 0, sizeof(*t));
	t->code = ctrl->layer_etype << 8 | ctrl->code;
	/* The segment length precedes the header even without M. */
	if ((ctrl->hdrct & XIW_TERM_D) && len > off)
		term_decode_quoted(buf + off, len - off, t);
	return XIW_OK;
}

/*
 * Status of the request at the side that receives a code of the range @first to
 * @last, and event at the side that sends it
 */
struct code_meaning {
	u16 first;
	u16 last;
	enum xiw_peer_status peer;
	enum xiw_fault_event event;
};

static const struct code_meaning meanings[] = {
	{ 0x0000, 0x00ff, XIW_PEER_OP, XIW_EVENT_FATAL },
	{ 0x0100, 0x0104, XIW_PEER_ACCESS, XIW_EVENT_ACCESS },
	{ 0x0109, 0x0109, XIW_PEER_INV_REQ, XIW_EVENT_ACCESS },
	{ 0x01ff, 0x01ff, XIW_PEER_ACCESS, XIW_EVENT_ACCESS },
	{ 0x0205, 0x0205, XIW_PEER_OP, XIW_EVENT_FATAL },
	{ 0x0206, 0x0206, XIW_PEER_INV_REQ, XIW_EVENT_REQ },
	{ 0x0207, 0x0207, XIW_PEER_OP, XIW_EVENT_REQ },
	{ 0x0208, 0x0208, XIW_PEER_OP, XIW_EVENT_FATAL },
	{ 0x0209, 0x0209, XIW_PEER_INV_REQ, XIW_EVENT_ACCESS },
	{ 0x02ff, 0x02ff, XIW_PEER_INV_REQ, XIW_EVENT_REQ },
	{ 0x1000, 0x10ff, XIW_PEER_OP, XIW_EVENT_FATAL },
	{ 0x1100, 0x1103, XIW_PEER_ACCESS, XIW_EVENT_ACCESS },
	{ 0x1104, 0x1104, XIW_PEER_OP, XIW_EVENT_FATAL },
	{ 0x1201, 0x1201, XIW_PEER_OP, XIW_EVENT_REQ },
	{ 0x1202, 0x1202, XIW_PEER_OP, XIW_EVENT_FATAL },
	{ 0x1203, 0x1204, XIW_PEER_OP, XIW_EVENT_REQ },
	{ 0x1205, 0x1205, XIW_PEER_INV_REQ, XIW_EVENT_REQ },
	{ 0x1206, 0x1206, XIW_PEER_OP, XIW_EVENT_FATAL },
};

/* Returns NULL for LLP codes and unassigned codes, which are fatal. */
static const struct code_meaning *term_find_meaning(u16 code)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(meanings); i++)
		if (code >= meanings[i].first && code <= meanings[i].last)
			return &meanings[i];
	return NULL;
}

bool xiw_term_unknown_opcode(u16 code)
{
	return code == RDMA(OPERATION, 0x06) || code == MPA(0x06);
}

enum xiw_peer_status xiw_term_peer_status(u16 code, bool atomic)
{
	const struct code_meaning *m = term_find_meaning(code);

	/* "Catastrophic, localized" (0x0207) reports an unaligned Atomic. */
	if (atomic && (xiw_term_unknown_opcode(code) ||
		       code == RDMA(OPERATION, 0x07)))
		return XIW_PEER_INV_REQ;
	return m ? m->peer : XIW_PEER_FATAL;
}

enum xiw_recv_status xiw_term_recv_status(enum xiw_reason reason)
{
	switch (reason) {
	case XIW_INV_BAD_STAG:
	case XIW_INV_BAD_OWNER:
		return XIW_RECV_INV_REQ;
	case XIW_MSG_TOO_LONG:
		return XIW_RECV_LEN;
	case XIW_RECV_FAULT:
		return XIW_RECV_PROT;
	default:
		return XIW_RECV_FLUSH;
	}
}

enum xiw_fault_event xiw_term_event(enum xiw_reason reason)
{
	const struct code_meaning *m;

	switch (reason) {
	case XIW_OK:
	case XIW_MPA_LOST:
	case XIW_MPA_BAD_FRAME:
		return XIW_EVENT_NONE;
	case XIW_TERM_MALFORMED:
		return XIW_EVENT_FATAL;
	default:
		m = term_find_meaning(xiw_term_code(reason));
		return m ? m->event : XIW_EVENT_FATAL;
	}
}
