/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Properties of RDMAP opcodes, as far as DDP has to check them.
 */
#ifndef _XIW_OPCODE_H
#define _XIW_OPCODE_H

#include "wire.h"

/* Optional protocol parts, a mask */
#define XIW_FEAT_RFC7306	0x1	/* atomics and immediate data */

/**
 * struct xiw_rdmap_op - fixed properties of an RDMAP opcode
 * @assigned: the opcode exists
 * @tagged: travels in DDP tagged segments
 * @solicited: raises a solicited completion event at the receiver
 * @invalidates: carries an Invalidate STag
 * @qn: untagged queue
 * @hdr_len: bytes of the RDMAP header behind the DDP header, which is then
 *	the whole message; 0 if the message is ULP payload.  Terminate has a
 *	variable header and the minimum here
 * @feature: XIW_FEAT_* that must be enabled, 0 if none
 */
struct xiw_rdmap_op {
	bool assigned;
	bool tagged;
	bool solicited;
	bool invalidates;
	u8 qn;
	u8 hdr_len;
	u8 feature;
};

/* Immediate Data, RFC 7306 section 6 */
static inline bool xiw_rdmap_is_imm(u8 opcode)
{
	return opcode == XIW_OP_IMM || opcode == XIW_OP_IMM_SE;
}

/* A Read Response or an Atomic Response */
static inline bool xiw_rdmap_is_response(u8 opcode)
{
	return opcode == XIW_OP_READ_RESP || opcode == XIW_OP_ATOMIC_RESP;
}

/*
 * Properties of an opcode, which may have any value; NULL if it is unassigned,
 * or if it is not enabled by @features, a mask of XIW_FEAT_* (RFC 5040 section
 * 4.2, RFC 7306 section 4.1).
 */
const struct xiw_rdmap_op *xiw_rdmap_op(u8 opcode, u32 features);

#endif /* _XIW_OPCODE_H */
