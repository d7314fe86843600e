/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _XIW_TERM_H
#define _XIW_TERM_H

#include "rdmap.h"

/* Terminate code as one number: layer, error type, error code */
#define XIW_TERM_CODE(layer, etype, code) \
	((layer) << 12 | (etype) << 8 | (code))
#define XIW_TERM_LAYER(term)	((term) >> 12 & 0xf)
#define XIW_TERM_ETYPE(term)	((term) >> 8 & 0xf)
#define XIW_TERM_ERROR(term)	((term) & 0xff)

/**
 * struct xiw_term_offender - the segment that caused a Terminate
 * @ulpdu_len: its ULPDU length in bytes
 * @hdr: its DDP header exactly as received
 * @read_req: RDMAP header if it was a Read Request, else NULL; advanced by
 *	xiw_rdmap_read_req_advance() if the response had begun
 */
struct xiw_term_offender {
	u32 ulpdu_len;
	u8 hdr[XIW_DDP_HDR_MAX];
	const struct xiw_read_req *read_req;
};

/**
 * struct xiw_term - a received Terminate
 * @code: layer, error type and error code, see XIW_TERM_CODE()
 * @has_hdr: the fields below are valid
 * @tagged: the offending segment was tagged
 * @opcode: its opcode
 * @qn: untagged only: its queue
 * @msn: untagged only: its message sequence number
 */
struct xiw_term {
	u16 code;
	bool has_hdr;
	bool tagged;
	u8 opcode;
	u32 qn;
	u32 msn;
};

/**
 * enum xiw_peer_status - completion of the work request a Terminate is for
 * @XIW_PEER_ACCESS: remote access error
 * @XIW_PEER_INV_REQ: remote invalid request error
 * @XIW_PEER_OP: remote operation error
 * @XIW_PEER_FATAL: fatal error
 */
enum xiw_peer_status {
	XIW_PEER_ACCESS,
	XIW_PEER_INV_REQ,
	XIW_PEER_OP,
	XIW_PEER_FATAL,
};

/**
 * enum xiw_recv_status - completion status of a receive after a fault
 * @XIW_RECV_FLUSH: flushed, the fault is not attributed to it
 * @XIW_RECV_INV_REQ: remote invalid request error
 * @XIW_RECV_LEN: local length error
 * @XIW_RECV_PROT: local protection error
 */
enum xiw_recv_status {
	XIW_RECV_FLUSH,
	XIW_RECV_INV_REQ,
	XIW_RECV_LEN,
	XIW_RECV_PROT,
};

/**
 * enum xiw_fault_event - asynchronous event at the side that found a fault
 * @XIW_EVENT_NONE: none
 * @XIW_EVENT_ACCESS: access violation by the peer
 * @XIW_EVENT_REQ: invalid request by the peer
 * @XIW_EVENT_FATAL: fatal error of the queue pair
 */
enum xiw_fault_event {
	XIW_EVENT_NONE,
	XIW_EVENT_ACCESS,
	XIW_EVENT_REQ,
	XIW_EVENT_FATAL,
};

/*
 * Terminate code of any reason but XIW_OK and XIW_TERM_MALFORMED, see
 * XIW_TERM_CODE(); 0 for reasons without a code. Completions report it as
 * vendor error, too.
 */
u16 xiw_term_code(enum xiw_reason reason);

/*
 * True if a fault is reported by a Terminate: not for a lost connection, not
 * for an MPA frame, and never in response to a Terminate (RFC 5040 section
 * 5.4). @opcode: of the offending segment, XIW_OP_UNKNOWN if there is none
 */
bool xiw_term_wanted(enum xiw_reason reason, u8 opcode);

/**
 * xiw_term_encode() - write a complete Terminate ULPDU
 * @ulpdu: XIW_TERM_ULPDU_MAX bytes, written
 * @reason: fault for which xiw_term_wanted() is true
 * @off: the offending segment, NULL if there is none
 *
 * Which parts follow the control word depends on the fault, RFC 5040 section
 * 4.8 and figure 10.
 *
 * Return: ULPDU length, 22..70.
 */
u32 xiw_term_encode(u8 *ulpdu, enum xiw_reason reason,
		    const struct xiw_term_offender *off);

/**
 * xiw_term_decode() - decode the body of a received Terminate
 * @buf: message body
 * @len: bytes in it
 * @t: result, written on XIW_OK
 *
 * Lenient: four bytes suffice, parts that are announced but missing are
 * ignored, unknown codes are returned as they are.
 *
 * Return: XIW_OK, or XIW_TERM_MALFORMED if there is no control word.
 */
enum xiw_reason xiw_term_decode(const u8 *buf, u32 len, struct xiw_term *t);

/*
 * Does the peer report an opcode that it does not support? siw swaps layer and
 * error type and so sends 0x2006. This is no conflict with the MPA error of
 * that number: an Initiator sends that one as its first FPDU, before the
 * Responder can have sent any opcode.
 */
bool xiw_term_unknown_opcode(u16 code);

/*
 * Status of the work request to which a received Terminate belongs;
 * XIW_PEER_FATAL for unassigned codes. @atomic: the request is an Atomic
 */
enum xiw_peer_status xiw_term_peer_status(u16 code, bool atomic);

/* Status and event for a fault found on this side */
enum xiw_recv_status xiw_term_recv_status(enum xiw_reason reason);
enum xiw_fault_event xiw_term_event(enum xiw_reason reason);

#endif /* _XIW_TERM_H */
