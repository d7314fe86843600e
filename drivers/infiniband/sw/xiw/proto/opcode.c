// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The table of RDMAP opcodes (RFC 5040 section 4.2, RFC 7306 section 4.1).
 */
#include "opcode.h"

#define UNTAGGED(queue, ...) \
	{ .assigned = true, .qn = (queue), __VA_ARGS__ }
#define TAGGED() \
	{ .assigned = true, .tagged = true }

static const struct xiw_rdmap_op ops[XIW_OP_COUNT] = {
	[XIW_OP_WRITE]		= TAGGED(),
	[XIW_OP_READ_REQ]	= UNTAGGED(XIW_QN_REQUEST,
					   .hdr_len = XIW_READ_REQ_LEN),
	[XIW_OP_READ_RESP]	= TAGGED(),
	[XIW_OP_SEND]		= UNTAGGED(XIW_QN_SEND),
	[XIW_OP_SEND_INV]	= UNTAGGED(XIW_QN_SEND, .invalidates = true),
	[XIW_OP_SEND_SE]	= UNTAGGED(XIW_QN_SEND, .solicited = true),
	[XIW_OP_SEND_SE_INV]	= UNTAGGED(XIW_QN_SEND, .solicited = true,
					   .invalidates = true),
	[XIW_OP_TERMINATE]	= UNTAGGED(XIW_QN_TERMINATE,
					   .hdr_len = XIW_TERM_CTRL_LEN),
	[XIW_OP_IMM]		= UNTAGGED(XIW_QN_SEND,
					   .hdr_len = XIW_IMM_LEN,
					   .feature = XIW_FEAT_RFC7306),
	[XIW_OP_IMM_SE]		= UNTAGGED(XIW_QN_SEND, .solicited = true,
					   .hdr_len = XIW_IMM_LEN,
					   .feature = XIW_FEAT_RFC7306),
	[XIW_OP_ATOMIC_REQ]	= UNTAGGED(XIW_QN_REQUEST,
					   .hdr_len = XIW_ATOMIC_REQ_LEN,
					   .feature = XIW_FEAT_RFC7306),
	[XIW_OP_ATOMIC_RESP]	= UNTAGGED(XIW_QN_ATOMIC_RESP,
					   .hdr_len = XIW_ATOMIC_RESP_LEN,
					   .feature = XIW_FEAT_RFC7306),
};

const struct xiw_rdmap_op *xiw_rdmap_op(u8 opcode, u32 features)
{
	const struct xiw_rdmap_op *op;

	if (opcode >= ARRAY_SIZE(ops))
		return NULL;
	op = &ops[opcode];
	if (!op->assigned || (op->feature & ~features))
		return NULL;
	return op;
}
