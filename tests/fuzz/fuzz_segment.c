// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Segmentation: the segments of a message, one behind the other, are the
 * message, none exceeds the limit, and the receive side accepts all of
 * them. The limit itself must fit FPDUs into TCP segments in every phase of
 * the Markers (RFC 5041 section 5.2, RFC 5044 sections 4.5 and 5.1).
 */
#include "ddp.h"
#include "fuzz.h"
#include "mpa.h"
#include "segment.h"

#define SEGMENTS_MAX	20

/* Receives one segment. */
static void receive(struct xiw_ddp_queue *q, const struct xiw_seg_msg *m,
		    const struct xiw_seg *seg)
{
	u8 hdr[XIW_DDP_HDR_MAX];
	struct xiw_ddp_hdr h;
	u32 msg_len;

	CHECK(xiw_segment_encode(m, seg, hdr) == seg->hdr_len);
	CHECK(xiw_ddp_decode(hdr, seg->hdr_len + seg->len, 0, &h) == XIW_OK);
	CHECK(h.opcode == m->opcode && h.tagged == m->tagged);
	CHECK(h.payload_len == seg->len && h.last == seg->last);
	if (m->tagged) {
		CHECK(h.stag == m->stag && h.to == m->to + seg->offset);
		return;
	}
	CHECK(h.inv_stag == m->inv_stag && h.msn == m->msn);
	CHECK(xiw_ddp_queue_check(q, &h) == XIW_OK);
	if (xiw_ddp_queue_advance(q, &h, &msg_len))
		CHECK(msg_len == m->len);
}

static void plan(struct fuzz_in *in)
{
	u8 how = fuzz_u8(in);
	struct xiw_seg_msg m = {
		.opcode = how & 1 ? XIW_OP_WRITE : XIW_OP_SEND_INV,
		.tagged = how & 1,
		.stag = fuzz_u32(in),
		.to = fuzz_u64(in),
		.msn = fuzz_u32(in),
		.inv_stag = fuzz_u32(in),
		.len = fuzz_edge(in),
	};
	u32 offset = how & 2 ? m.len - min(m.len, fuzz_edge(in)) : 0;
	struct xiw_ddp_queue q = { .msn = m.msn };
	struct xiw_seg seg = {};
	unsigned int n;

	/* Bytes before the offset count as sent. */
	if (offset == m.len)
		offset = 0;
	xiw_ddp_queue_open(&q, m.opcode, m.len);
	q.bytes = offset;
	for (n = 0; n < SEGMENTS_MAX && !seg.last; n++) {
		u32 mulpdu = in->left ? fuzz_edge(in) : 1452;
		u32 left = m.len - offset;
		u32 most = max_t(u32, mulpdu, 128) - (m.tagged ? 14 : 18);

		xiw_segment_next(&m, offset, mulpdu, &seg);
		CHECK(seg.offset == offset);
		CHECK(seg.hdr_len == (m.tagged ? 14 : 18));
		CHECK(seg.len <= m.len - offset);
		CHECK((u64)seg.hdr_len + seg.len <= max_t(u32, mulpdu, 128));
		CHECK(seg.last == (seg.len == m.len - offset));
		/* No segment is smaller than it must be. */
		CHECK(seg.last || seg.len == most ||
		      (left - most < 8 && seg.len == (left - 8) / 4 * 4));
		CHECK(seg.last || left - seg.len >= 8);
		receive(&q, &m, &seg);
		offset += seg.len;
	}
	CHECK(!seg.last || offset == m.len);
}

/* Does an FPDU with a ULPDU of @len fit @room in each phase of Markers? */
static bool fits(u32 len, u32 room, bool markers)
{
	u32 n = (2 + len + 3) / 4 * 4 + 4;
	u32 pos;

	if (!markers)
		return n <= room;
	for (pos = 0; pos < 512; pos += 4)
		if (n + 4 * xiw_mpa_marker_count(pos, len) > room)
			return false;
	return true;
}

static void limit(struct fuzz_in *in)
{
	bool markers = fuzz_u8(in) & 1;
	u32 emss = fuzz_edge(in) & 0xfffff;
	u32 used = fuzz_edge(in) & 0xfffff;
	u32 full = xiw_mpa_mulpdu(emss, markers);
	u32 now = xiw_segment_limit(emss, used, markers);
	u32 smallest = markers ? 140 : 136;	/* smallest FPDU that is sent */
	u32 room = emss - used;

	CHECK(full >= 128 && full <= 64768);
	CHECK(full == 128 || fits(full, emss, markers));
	CHECK(now >= 128 && now <= full);
	if (!used || used >= emss || full == 64768)
		CHECK(now == full);
	else if (room >= smallest)
		CHECK(fits(now, room, markers));
	else if (markers || room < 4 || emss / 2 < smallest)
		CHECK(now == full);
	else if (now != full)
		/* The FPDU ends in the next TCP segment, not behind that. */
		CHECK(!fits(now, room, false) &&
		      fits(now, room + emss, false));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };

	if (fuzz_u8(&in) & 1)
		limit(&in);
	else
		plan(&in);
	return 0;
}
