/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _XIW_DDP_H
#define _XIW_DDP_H

#include "opcode.h"
#include "reason.h"
#include "wire.h"

#define XIW_OP_UNKNOWN		0xff	/* segment too short for an opcode */

/**
 * struct xiw_ddp_hdr - DDP segment header in host order
 * @tagged: T bit, selects which of the fields below are used
 * @last: L bit, the segment ends its message
 * @opcode: RDMAP opcode, or XIW_OP_UNKNOWN
 * @payload_off: bytes before the payload, 14 or 18
 * @payload_len: bytes of payload in this segment
 * @stag: tagged: STag of the data sink's buffer
 * @to: tagged: tagged offset of the payload
 * @inv_stag: untagged: STag to invalidate, meaningful with two opcodes only
 * @qn: untagged: queue number
 * @msn: untagged: message sequence number
 * @mo: untagged: offset of the payload in its message
 */
struct xiw_ddp_hdr {
	bool tagged;
	bool last;
	u8 opcode;
	u8 payload_off;
	u32 payload_len;
	u32 stag;
	u64 to;
	u32 inv_stag;
	u32 qn;
	u32 msn;
	u32 mo;
};

/**
 * struct xiw_ddp_queue - receive side of one untagged queue
 * @msn: sequence number of the message in progress, or of the next one
 * @bytes: bytes of the message in progress that were placed
 * @size: bytes of the buffer it is placed in
 * @opcode: opcode of the message in progress
 * @open: a buffer was assigned to the message in progress
 */
struct xiw_ddp_queue {
	u32 msn;
	u32 bytes;
	u32 size;
	u8 opcode;
	bool open;
};

/**
 * xiw_ddp_decode() - decode and check the header of one segment
 * @hdr: first bytes of the ULPDU, min(@ulpdu_len, 18) of them
 * @ulpdu_len: ULPDU_Length of the FPDU, 0..65535
 * @features: mask of XIW_FEAT_* enabled on this device
 * @h: result; valid on XIW_OK.  On a fault only @h->opcode and @h->tagged are
 *	valid
 *
 * Checks, in this order: length of the header, DDP version, RDMAP version,
 * opcode, T bit, queue number.  Reserved bits are ignored.  RFC 5041
 * sections 4 and 7.1, RFC 5040 section 7.2.
 *
 * Return: XIW_OK or the first fault.
 */
enum xiw_reason xiw_ddp_decode(const u8 *hdr, u32 ulpdu_len, u32 features,
			       struct xiw_ddp_hdr *h);

/*
 * Writes 14 or 18 bytes, and returns that; @buf has room for XIW_DDP_HDR_MAX.
 * The payload fields of @h are ignored. RFC 5041 sections 4.2 and 4.3.
 */
u32 xiw_ddp_encode(u8 *buf, const struct xiw_ddp_hdr *h);

/* Changes the offset in an encoded header, TO if it is tagged, or MO. */
static inline void xiw_ddp_put_offset(u8 *buf, bool tagged, u64 offset)
{
	struct xiw_untagged_hdr *u = (struct xiw_untagged_hdr *)buf;
	struct xiw_tagged_hdr *t = (struct xiw_tagged_hdr *)buf;

	if (tagged)
		t->to = cpu_to_be64(offset);
	else
		u->mo = cpu_to_be32(offset);
}

/*
 * MSN of the next message; @msn counts the messages sent to one untagged queue
 * of the peer, from XIW_MSN_FIRST. 0 follows the largest (RFC 5041 section
 * 4.3).
 */
static inline u32 xiw_ddp_next_msn(u32 *msn)
{
	return (*msn)++;
}

/* Sets up a queue, which then expects MSN 1. */
void xiw_ddp_queue_init(struct xiw_ddp_queue *q);

/* Assigns a buffer of @size bytes to the next message, which has @opcode. */
void xiw_ddp_queue_open(struct xiw_ddp_queue *q, u8 opcode, u32 size);

/**
 * xiw_ddp_queue_check() - check whether an untagged segment may be placed
 * @q: the queue @h->qn names
 * @h: decoded untagged header
 *
 * XIW_NO_BUFFER implies that the MSN is right: the caller assigns a buffer with
 * xiw_ddp_queue_open() and repeats the check, or fails with this reason if
 * there is no buffer.  Segments of one message are accepted in ascending order
 * without gaps.  RFC 5041 section 7.1.
 *
 * Return: XIW_OK or the first fault.
 */
enum xiw_reason xiw_ddp_queue_check(const struct xiw_ddp_queue *q,
				    const struct xiw_ddp_hdr *h);

/**
 * xiw_ddp_queue_advance() - account a segment that was placed
 * @q: queue for which xiw_ddp_queue_check() returned XIW_OK
 * @h: the same header
 * @msg_len: set to the length of the message if it is complete now
 *
 * Return: true if the message is complete; the queue then expects the next.
 */
bool xiw_ddp_queue_advance(struct xiw_ddp_queue *q,
			   const struct xiw_ddp_hdr *h, u32 *msg_len);

#endif /* _XIW_DDP_H */
