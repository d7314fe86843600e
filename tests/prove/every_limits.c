// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Relations that intervals do not show, for every segment size of TCP, and
 * every phase of Markers: an FPDU fits its segment, a series fits the room left
 * in the block, a segment its message, and the FPDUs of a series the budget.
 *
 * Files: llp/tx_mpa proto/ddp proto/mpa proto/opcode proto/segment
 */
#include <stdio.h>

#include "llp/fpdu.h"
#include "proto/ring.h"
#include "proto/segment.h"
#include "stream/budget.h"

#define CHECK(cond, ...) do {						\
	if (!(cond)) {							\
		printf("wrong: %s: ", #cond);				\
		printf(__VA_ARGS__);					\
		printf("\n");						\
		exit(1);						\
	}								\
} while (0)

#define EMSS_MAX	65535

static const u32 segments[] = { 0, 1, 2, 11, 46 };

/* Bytes of an FPDU on the wire that begins at @pos */
static u32 every_len(bool markers, u32 pos, u32 ulpdu_len)
{
	return xiw_mpa_fpdu_len(ulpdu_len) +
	       (markers ? 4 * xiw_mpa_marker_count(pos, ulpdu_len) : 0);
}

/* RFC 5044 section 4.5: an FPDU fits one segment, wherever its Markers are. */
static void every_mulpdu(bool markers)
{
	u32 least = xiw_mpa_emss_min(markers);
	u32 emss;
	u32 pos;
	u32 n;

	for (emss = 0; emss <= EMSS_MAX; emss++) {
		n = xiw_mpa_mulpdu(emss, markers);
		CHECK(n >= 128 && n <= 64768, "%u of %u", n, emss);
		for (pos = 0; pos < 512; pos += markers ? 4 : 512)
			CHECK(every_len(markers, pos, n) <= max(emss, least),
			      "emss %u, at %u", emss, pos);
	}
}

/* What is left of a segment is enough for the limit, unless it is too small. */
static void every_limit(u32 emss, u32 used)
{
	u32 limit = xiw_segment_limit(emss, used, false);
	u32 len = xiw_mpa_fpdu_len(limit);

	CHECK(limit >= 128 && limit <= xiw_mpa_mulpdu(emss, false), "%u, %u",
	      emss, used);
	if (used && used < emss && emss - used >= xiw_mpa_emss_min(false) &&
	    xiw_mpa_mulpdu(emss, false) < 64768)
		CHECK(used + len <= emss, "%u used of %u", used, emss);
}

static void every_segment_limit(void)
{
	u32 emss;
	u32 used;

	for (emss = 1; emss <= EMSS_MAX; emss += emss < 2048 ? 1 : 61)
		for (used = 0; used <= emss; used += emss < 2048 ? 1 : 7)
			every_limit(emss, used);
}

/*
 * A series of FPDUs of @m fits @room; the FPDU at the limit the room at a
 * block's end.
 */
static void every_room(const struct xiw_tx_mpa *m, u32 room, u32 laid)
{
	struct page page = { .order = XIW_TXBUF_ORDER };
	struct xiw_txbuf buf = { .page = &page, .off = XIW_TXBUF_BLOCK - room };
	u32 len = xiw_mpa_fpdu_len(m->full);
	u32 least = m->aligned ? m->emss : 2048;
	u32 limit;
	u32 n;

	if (xiw_tx_mpa_may_repeat(m)) {
		n = xiw_tx_mpa_repeat(m, room, laid, 600);
		CHECK(n * len <= room, "%u of %u in %u", n, len, room);
	}
	limit = xiw_tx_mpa_limit(m, &buf, laid);
	CHECK(limit >= 128 && limit <= 64768, "%u", limit);
	if (laid && !m->fill && room >= least && !m->mpa.markers)
		CHECK(xiw_mpa_fpdu_len(limit) <= room, "%u in %u, emss %u",
		      limit, room, m->emss);
}

static void every_batch(bool markers, u32 segs, u32 emss)
{
	const u32 fills[] = { 0, 1, emss / 2, emss ? emss - 1 : 0 };
	struct xiw_tx_mpa m;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fills); i++) {
		u32 len;

		xiw_tx_mpa_start(&m, markers, false, segs);
		xiw_tx_mpa_batch(&m, emss, fills[i]);
		len = xiw_mpa_fpdu_len(m.full);
		CHECK(len <= m.unit, "%u in %u, emss %u", len, m.unit, emss);
		every_room(&m, 0, 0);
		every_room(&m, len - 1, 4096);
		every_room(&m, 2 * len, 4096);
		every_room(&m, 3 * len - 1, 0);
		every_room(&m, XIW_TXBUF_BLOCK - 44, 0);
		every_room(&m, (emss * 7 + i) % XIW_TXBUF_BLOCK, 1 + emss);
	}
}

static void every_block(void)
{
	u32 emss;
	u32 i;

	for (emss = 0; emss <= EMSS_MAX; emss++)
		for (i = 0; i < ARRAY_SIZE(segments); i++) {
			every_batch(false, segments[i], emss);
			every_batch(true, segments[i], emss);
		}
}

/* A segment is in its message, and as large as permitted at most. */
static void every_next(const struct xiw_seg_msg *m, u32 offset, u32 mulpdu)
{
	struct xiw_seg seg;

	xiw_segment_next(m, offset, mulpdu, &seg);
	CHECK(seg.len <= m->len - offset, "%u of %u", offset, m->len);
	CHECK(seg.hdr_len + seg.len <= max(mulpdu, 128U), "%u", mulpdu);
	CHECK(seg.last == (seg.len == m->len - offset), "%u of %u", offset,
	      m->len);
	CHECK(seg.len || offset == m->len, "no progress at %u", offset);
}

static void every_segment(bool tagged)
{
	struct xiw_seg_msg m = { .tagged = tagged };
	u32 mulpdu;
	u32 left;

	for (mulpdu = 0; mulpdu <= XIW_MULPDU_MAX; mulpdu++)
		for (left = 0; left < 40; left++) {
			m.len = U32_MAX;
			every_next(&m, U32_MAX - left, mulpdu);
			every_next(&m, U32_MAX - max(mulpdu, 128U) + 32 - left,
				   mulpdu);
			m.len = left;
			every_next(&m, 0, mulpdu);
		}
}

/* The last FPDU of a series may exceed the budget, those before it do not. */
static void every_budget(void)
{
	struct xiw_budget budget;
	u32 bytes;
	u32 n;

	for (bytes = 1; bytes <= 66 * 1024; bytes++)
		for (budget.bytes = -1; budget.bytes < XIW_BUDGET_BYTES;
		     budget.bytes += 1021)
			for (budget.cost = 0; budget.cost < 3; budget.cost++) {
				n = xiw_budget_equal(&budget, bytes);
				CHECK(!n || (n <= budget.cost &&
					     (n - 1) * bytes < budget.bytes),
				      "%u of %u in %d", n, bytes, budget.bytes);
			}
}

int main(void)
{
	every_mulpdu(false);
	every_mulpdu(true);
	every_segment_limit();
	every_block();
	every_segment(false);
	every_segment(true);
	every_budget();
	return 0;
}
