// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Segmentation: cut a message into DDP segments and limit the size of the next
 * one such that FPDUs and TCP segments stay aligned (RFC 5041 section 5.2, RFC
 * 5044 section 5.1).  Does not access payload.
 */
#include "ddp.h"
#include "mpa.h"
#include "segment.h"

void xiw_segment_next(const struct xiw_seg_msg *m, u32 offset, u32 mulpdu,
		      struct xiw_seg *seg)
{
	u32 left = m->len - offset;
	u32 room;

	seg->hdr_len = m->tagged ? XIW_TAGGED_LEN : XIW_UNTAGGED_LEN;
	room = max_t(u32, mulpdu, XIW_MULPDU_MIN) - seg->hdr_len;
	seg->offset = offset;
	seg->len = min(left, room);
	seg->last = seg->len == left;
	if (!seg->last && left - seg->len < XIW_SEG_TAIL)
		seg->len = (left - XIW_SEG_TAIL) & ~3U;
}

u32 xiw_segment_encode(const struct xiw_seg_msg *m, const struct xiw_seg *seg,
		       u8 *buf)
{
	struct xiw_ddp_hdr h = {
		.tagged = m->tagged,
		.last = seg->last,
		.opcode = m->opcode,
	};

	if (m->tagged) {
		h.stag = m->stag;
		h.to = m->to + seg->offset;
	} else {
		h.inv_stag = m->inv_stag;
		h.qn = m->qn;
		h.msn = m->msn;
		h.mo = seg->offset;
	}
	return xiw_ddp_encode(buf, &h);
}

u32 xiw_segment_limit(u32 emss, u32 used, bool markers)
{
	u32 full = xiw_mpa_mulpdu(emss, markers);
	u32 smallest = xiw_mpa_emss_min(markers);
	u32 room = emss - used;

	if (!used || used >= emss || full == XIW_MULPDU_MAX)
		return full;
	if (room >= smallest)
		return min(full, xiw_mpa_mulpdu(room, markers));

	/*
	 * The rest is too small for an FPDU.  With Markers, or if EMSS is not a
	 * multiple of four, segments often have less than four bytes left:
	 * that is not worth two half-sized FPDUs.
	 */
	if (markers || room < 4 || emss / 2 < smallest)
		return full;
	return xiw_mpa_mulpdu(room + emss / 2, false);
}
