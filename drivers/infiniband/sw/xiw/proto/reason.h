/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One name for every protocol fault this side can detect.  The checks return
 * it, and only term.c translates it to the Terminate code in the comment.
 * Grouped by layer, not by code.
 */
#ifndef _XIW_REASON_H
#define _XIW_REASON_H

/**
 * enum xiw_reason - the fault that ends a stream
 * @XIW_OK: no fault
 * @XIW_BAD_SEGMENT_LEN: 0x1000, ULPDU shorter than its DDP header
 * @XIW_BAD_DV_TAGGED: 0x1104, DDP version of a tagged segment
 * @XIW_BAD_DV_UNTAGGED: 0x1206, DDP version of an untagged segment
 * @XIW_BAD_RV: 0x0205, RDMAP version
 * @XIW_BAD_OPCODE: 0x0206, opcode unassigned, switched off or out of place
 * @XIW_BAD_T_BIT: 0x0206, buffer model does not belong to the opcode
 * @XIW_BAD_QN: 0x1201, queue does not belong to the opcode
 * @XIW_WRITE_BAD_STAG: 0x1100, RDMA Write to an unknown or invalid STag
 * @XIW_WRITE_BAD_OWNER: 0x1102, RDMA Write to an STag of another PD or QP
 * @XIW_WRITE_BAD_RIGHTS: 0x1100, RDMA Write without remote-write right
 * @XIW_WRITE_WRAP: 0x1103, RDMA Write, TO + length wraps
 * @XIW_WRITE_BOUNDS: 0x1101, RDMA Write outside the buffer
 * @XIW_RESP_STRAY: 0x0206, Read Response without an outstanding Read
 * @XIW_RESP_BAD_STAG: 0x1100, Read Response for another STag
 * @XIW_RESP_BAD_PLACE: 0x1101, Read Response at an unexpected TO or too long
 * @XIW_RESP_SINK_GONE: 0x1100, the sink of the Read is no longer writable
 * @XIW_RESP_SHORT: 0x02FF, Read Response ended before all data arrived
 * @XIW_BAD_MSN: 0x1203, not the next message of its queue
 * @XIW_NO_BUFFER: 0x1202, right message, but no buffer is posted for it
 * @XIW_BAD_MO: 0x1204, MO beyond the buffer or not contiguous
 * @XIW_MSG_TOO_LONG: 0x1205, message exceeds its buffer
 * @XIW_RECV_FAULT: 0x1000, memory of a receive work request not writable
 * @XIW_INV_BAD_STAG: 0x0209, Invalidate STag unknown, already invalid, or of a
 *	kind that must not be
 * @XIW_INV_BAD_OWNER: 0x0109, Invalidate STag of another PD or QP
 * @XIW_SRC_BAD_STAG: 0x0100, Read or Atomic Request on a bad STag
 * @XIW_SRC_BAD_OWNER: 0x0103, Read or Atomic Request, STag of another PD or QP
 * @XIW_SRC_BAD_RIGHTS: 0x0102, Read or Atomic Request without the right
 * @XIW_SRC_WRAP: 0x0104, Read or Atomic Request, TO + size wraps
 * @XIW_SRC_BOUNDS: 0x0101, Read or Atomic Request outside the buffer
 * @XIW_BAD_MSG_LEN: 0x02FF, RDMAP header of the wrong length
 * @XIW_ATOMIC_BAD_OP: 0x0206, AOpCode not assigned
 * @XIW_ATOMIC_UNALIGNED: 0x0207, target of an Atomic not 8-byte aligned
 * @XIW_ATOMIC_BAD_ID: 0x02FF, Atomic Response with a foreign identifier
 * @XIW_MPA_LOST: 0x2001, connection lost; never on the wire
 * @XIW_MPA_BAD_CRC: 0x2002, CRC of an FPDU
 * @XIW_MPA_BAD_MARKER: 0x2003, Marker disagrees with ULPDU_Length
 * @XIW_MPA_BAD_FRAME: 0x2004, malformed MPA frame; never on the wire
 * @XIW_MPA_LOCAL: 0x2005, local failure during enhanced establishment
 * @XIW_MPA_NO_IRD: 0x2006, IRD cannot reach the peer's ORD
 * @XIW_MPA_NO_RTR: 0x2007, no RTR type in common
 * @XIW_LOCAL_FAULT: 0x0000, local failure while building or completing
 * @XIW_TERM_MALFORMED: no code, a received Terminate is itself wrong; never
 *	answered (RFC 5040 section 5.4)
 * @XIW_REASON_COUNT: number of reasons, not a reason
 */
enum xiw_reason {
	XIW_OK = 0,
	XIW_BAD_SEGMENT_LEN,
	XIW_BAD_DV_TAGGED,
	XIW_BAD_DV_UNTAGGED,
	XIW_BAD_RV,
	XIW_BAD_OPCODE,
	XIW_BAD_T_BIT,
	XIW_BAD_QN,
	XIW_WRITE_BAD_STAG,
	XIW_WRITE_BAD_OWNER,
	XIW_WRITE_BAD_RIGHTS,
	XIW_WRITE_WRAP,
	XIW_WRITE_BOUNDS,
	XIW_RESP_STRAY,
	XIW_RESP_BAD_STAG,
	XIW_RESP_BAD_PLACE,
	XIW_RESP_SINK_GONE,
	XIW_RESP_SHORT,
	XIW_BAD_MSN,
	XIW_NO_BUFFER,
	XIW_BAD_MO,
	XIW_MSG_TOO_LONG,
	XIW_RECV_FAULT,
	XIW_INV_BAD_STAG,
	XIW_INV_BAD_OWNER,
	XIW_SRC_BAD_STAG,
	XIW_SRC_BAD_OWNER,
	XIW_SRC_BAD_RIGHTS,
	XIW_SRC_WRAP,
	XIW_SRC_BOUNDS,
	XIW_BAD_MSG_LEN,
	XIW_ATOMIC_BAD_OP,
	XIW_ATOMIC_UNALIGNED,
	XIW_ATOMIC_BAD_ID,
	XIW_MPA_LOST,
	XIW_MPA_BAD_CRC,
	XIW_MPA_BAD_MARKER,
	XIW_MPA_BAD_FRAME,
	XIW_MPA_LOCAL,
	XIW_MPA_NO_IRD,
	XIW_MPA_NO_RTR,
	XIW_LOCAL_FAULT,
	XIW_TERM_MALFORMED,
	XIW_REASON_COUNT
};

#endif /* _XIW_REASON_H */
