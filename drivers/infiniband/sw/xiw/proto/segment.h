/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _XIW_SEGMENT_H
#define _XIW_SEGMENT_H

#include "wire.h"

/**
 * struct xiw_seg_msg - an RDMAP message to be sent
 * @opcode: XIW_OP_*
 * @tagged: tagged buffer model
 * @stag: tagged: STag of the sink
 * @to: tagged: TO of the first byte
 * @qn: untagged: queue
 * @msn: untagged: message sequence number
 * @inv_stag: untagged: Invalidate STag, 0 if none
 * @len: bytes behind the DDP headers: ULP payload or RDMAP header
 */
struct xiw_seg_msg {
	u8 opcode;
	bool tagged;
	u32 stag;
	u64 to;
	u32 qn;
	u32 msn;
	u32 inv_stag;
	u32 len;
};

/**
 * struct xiw_seg - one DDP segment of a message
 * @offset: its first byte in the message
 * @len: bytes of the message it carries
 * @hdr_len: bytes of the DDP header, 14 or 18
 * @last: it ends the message
 */
struct xiw_seg {
	u32 offset;
	u32 len;
	u8 hdr_len;
	bool last;
};

/*
 * The last bytes of a message are in one segment: a program may poll the last
 * word, and a word split over two segments would be placed in two parts.
 */
#define XIW_SEG_TAIL	8

/**
 * xiw_segment_next() - plan the next segment of a message
 * @m: message
 * @offset: bytes of it already planned; @m->len only for an empty message
 * @mulpdu: largest ULPDU now, may change from call to call; values below
 *	XIW_MULPDU_MIN are raised to it
 * @seg: result
 *
 * RFC 5041 section 5.2. A segment is as large as possible, unless the last one
 * would be smaller than XIW_SEG_TAIL.
 */
void xiw_segment_next(const struct xiw_seg_msg *m, u32 offset, u32 mulpdu,
		      struct xiw_seg *seg);

/*
 * Writes the DDP header of a segment planned by xiw_segment_next():
 * @seg->hdr_len bytes, which is returned; @buf has room for XIW_DDP_HDR_MAX.
 */
u32 xiw_segment_encode(const struct xiw_seg_msg *m, const struct xiw_seg *seg,
		       u8 *buf);

/**
 * xiw_segment_limit() - ULPDU limit that keeps FPDUs aligned with TCP segments
 * @emss: effective maximum segment size in bytes
 * @used: bytes already encoded in the current TCP segment
 * @markers: Markers are sent on this half connection
 *
 * The limit lets the next FPDU fill the rest of the segment.  If the rest is
 * too short for an FPDU, the next one is reduced such that it crosses one
 * boundary and the one after it ends on a boundary again.  No alignment if
 * XIW_MULPDU_MAX, not @emss, limits an FPDU.  RFC 5044 sections 4.5 and 5.1.
 *
 * Return: Bytes, between XIW_MULPDU_MIN and xiw_mpa_mulpdu().
 */
u32 xiw_segment_limit(u32 emss, u32 used, bool markers);

#endif /* _XIW_SEGMENT_H */
