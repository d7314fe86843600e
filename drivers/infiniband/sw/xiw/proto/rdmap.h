/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _XIW_RDMAP_H
#define _XIW_RDMAP_H

#include "ddp.h"

/**
 * struct xiw_read_req - RDMA Read Request, RFC 5040 section 4.4
 * @sink_stag: Data Sink STag, the requester's buffer
 * @sink_to: Data Sink tagged offset
 * @size: RDMA Read Message Size in bytes
 * @src_stag: Data Source STag, the responder's buffer
 * @src_to: Data Source tagged offset
 */
struct xiw_read_req {
	u32 sink_stag;
	u64 sink_to;
	u32 size;
	u32 src_stag;
	u64 src_to;
};

/**
 * struct xiw_atomic_req - Atomic Request, RFC 7306 section 5.2.1
 * @aop: XIW_AOP_*
 * @id: Request Identifier, opaque to the responder
 * @stag: Remote STag
 * @to: Remote tagged offset
 * @data: Add Data or Swap Data
 * @data_mask: Add Mask (field boundaries) or Swap Mask
 * @compare: Compare Data
 * @compare_mask: Compare Mask
 */
struct xiw_atomic_req {
	u8 aop;
	u32 id;
	u32 stag;
	u64 to;
	u64 data;
	u64 data_mask;
	u64 compare;
	u64 compare_mask;
};

/* Atomic Response, RFC 7306 section 5.2.2 */
struct xiw_atomic_resp {
	u32 id;
	u64 orig;
};

/**
 * struct xiw_read_sink - sink of the oldest outstanding RDMA Read
 * @stag: Data Sink STag of the Read Request
 * @to: tagged offset of the next byte to place
 * @left: bytes not received yet
 */
struct xiw_read_sink {
	u32 stag;
	u64 to;
	u32 left;
};

/**
 * enum xiw_access - remote access to a registered buffer, selects fault codes
 * @XIW_ACCESS_WRITE: placement of a remote RDMA Write
 * @XIW_ACCESS_SOURCE: a remote Read or Atomic Request
 */
enum xiw_access {
	XIW_ACCESS_WRITE,
	XIW_ACCESS_SOURCE,
};

/*
 * Headers of messages. Encoding writes XIW_READ_REQ_LEN, XIW_ATOMIC_REQ_LEN,
 * XIW_ATOMIC_RESP_LEN or XIW_IMM_LEN bytes. Decoding reads a message body of
 * @len bytes and fails with XIW_BAD_MSG_LEN if that is not the length of the
 * header; the result is written on XIW_OK only.
 */
void xiw_rdmap_read_req_encode(u8 *buf, const struct xiw_read_req *r);
enum xiw_reason xiw_rdmap_read_req_decode(const u8 *buf, u32 len,
					  struct xiw_read_req *r);

/*
 * Reduces a Read for the Terminated RDMA Header (RFC 5040 section 4.8). @done:
 * bytes of the response already sent, at most @r->size
 */
void xiw_rdmap_read_req_advance(struct xiw_read_req *r, u32 done);

void xiw_rdmap_atomic_req_encode(u8 *buf, const struct xiw_atomic_req *r);

/* Also fails, with XIW_ATOMIC_BAD_OP, if the AOpCode is not assigned. */
enum xiw_reason xiw_rdmap_atomic_req_decode(const u8 *buf, u32 len,
					    struct xiw_atomic_req *r);

void xiw_rdmap_atomic_resp_encode(u8 *buf, const struct xiw_atomic_resp *r);

/* The caller compares @r->id. */
enum xiw_reason xiw_rdmap_atomic_resp_decode(const u8 *buf, u32 len,
					     struct xiw_atomic_resp *r);

/**
 * xiw_rdmap_imm_encode() - write the body of an Immediate Data message
 * @buf: XIW_IMM_LEN bytes, written
 * @imm: immediate value, sent unswapped in the first four bytes
 * @kind: the message it belongs to, in the last four: zero unless the peer
 *	can distinguish them
 *
 * RFC 7306 section 6.2 carries eight opaque bytes.
 */
void xiw_rdmap_imm_encode(u8 *buf, __be32 imm, enum xiw_imm_kind kind);
enum xiw_reason xiw_rdmap_imm_decode(const u8 *buf, u32 len, __be32 *imm);

/*
 * Does the Immediate Data in @buf, XIW_IMM_LEN bytes of a peer that marks them,
 * belong to a Send? Any unknown kind belongs to a Write.
 */
bool xiw_rdmap_imm_of_send(const u8 *buf);

/**
 * xiw_rdmap_read_resp_check() - check whether a Read Response may be placed
 * @s: the Read at the head of the outstanding requests; NULL if there is
 *	none, if the head is an Atomic, or if it was not sent yet
 * @h: decoded header, opcode Read Response
 *
 * STag and TO do not matter without payload.  RFC 5040 section 5.2.2.
 *
 * Return: XIW_OK or the first fault.
 */
enum xiw_reason xiw_rdmap_read_resp_check(const struct xiw_read_sink *s,
					  const struct xiw_ddp_hdr *h);

/**
 * xiw_rdmap_read_resp_advance() - account a segment that was placed
 * @s: the Read for which xiw_rdmap_read_resp_check() returned XIW_OK
 * @h: the same header
 *
 * With @h->last the Read is complete if this returns XIW_OK.
 *
 * Return: XIW_OK, or XIW_RESP_SHORT if the response ended early.
 */
enum xiw_reason xiw_rdmap_read_resp_advance(struct xiw_read_sink *s,
					    const struct xiw_ddp_hdr *h);

/* Result of xiw_rdmap_range_check(). */
enum xiw_range {
	XIW_RANGE_FITS,
	XIW_RANGE_WRAPS,	/* offset + length needs more than 64 bits */
	XIW_RANGE_BEYOND,	/* part of it is outside of the buffer */
};

/**
 * xiw_rdmap_range_check() - check an access against a registered buffer
 * @to: first tagged offset of the access
 * @len: bytes, callers skip the check for zero
 * @base: first tagged offset of the buffer
 * @size: bytes of the buffer
 *
 * Wrap is checked first, as a range that wraps is also out of bounds. A range
 * that includes offset 2^64 - 1 counts as wrapping: its end does not fit in 64
 * bits (RFC 5041 section 7.1). No buffer extends that far.
 *
 * Return: XIW_RANGE_*.
 */
enum xiw_range xiw_rdmap_range_check(u64 to, u64 len, u64 base, u64 size);

#endif /* _XIW_RDMAP_H */
