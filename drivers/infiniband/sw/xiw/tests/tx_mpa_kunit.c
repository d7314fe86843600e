// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Size of FPDUs for every segment size that a peer may announce: the count of a
 * series against the limit of each FPDU, and FPDUs against their units.
 */
#include <kunit/test.h>
#include <linux/gfp.h>
#include <linux/mm.h>

#include "llp/fpdu.h"
#include "proto/segment.h"

enum {
	SEGMENTS_SMALL	= 700,		/* every size up to this one, ... */
	SEGMENTS_STEP	= 13,		/* then one of so many */
	LAID		= 1000,
};

/* 0 and 1, few and many, and more than fit into the longest FPDU */
static const u32 segments[] = { 0, 1, 2, 3, 11, 600 };

static const u32 rooms[] = {
	0, 135, 136, 137, 1460, 4033, 13272, 32768, XIW_TXBUF_BLOCK,
};

static u32 next_emss(u32 emss)
{
	return emss < SEGMENTS_SMALL ? emss + 1 : emss + SEGMENTS_STEP;
}

/*
 * Encode the FPDUs of a series one by one: each fits into the room that is
 * left, and has the limit that a single FPDU has there.
 */
static void check_series(struct kunit *test, const struct xiw_tx_mpa *start,
			 struct xiw_txbuf *buf, u32 room, u32 laid)
{
	u32 n = xiw_tx_mpa_repeat(start, room, laid, U32_MAX);
	u32 len = xiw_mpa_fpdu_len(start->full);
	struct xiw_tx_mpa m = *start;
	u32 left = room;

	for (; n; n--) {
		buf->off = page_size(buf->page) - left;
		if (left >= len && xiw_tx_mpa_limit(&m, buf, laid) == m.full) {
			xiw_tx_mpa_sealed(&m, len);
			left -= len;
			laid += len;
			continue;
		}
		KUNIT_FAIL(test,
			   "emss %u unit %u fill %u room %u: %u FPDUs of %u bytes too many",
			   start->emss, start->unit, start->fill, room, n, len);
		return;
	}
}

static void check_fills(struct kunit *test, struct xiw_tx_mpa *m,
			struct xiw_txbuf *buf, u32 emss)
{
	const u32 fills[] = { 0, 1, 4, emss / 3, emss / 2, emss - 1 };
	u32 f, r;

	for (f = 0; f < ARRAY_SIZE(fills); f++) {
		xiw_tx_mpa_batch(m, emss, fills[f] % emss);
		KUNIT_EXPECT_LT(test, m->fill, m->unit);
		if (!xiw_tx_mpa_may_repeat(m))
			continue;
		for (r = 0; r < ARRAY_SIZE(rooms); r++) {
			check_series(test, m, buf, rooms[r], 0);
			check_series(test, m, buf, rooms[r], LAID);
		}
	}
}

/* Covers: MPA-20 */
static void tx_mpa_series(struct kunit *test)
{
	struct xiw_txbuf buf = {
		.page = alloc_pages(GFP_KERNEL | __GFP_COMP, XIW_TXBUF_ORDER),
	};
	struct xiw_tx_mpa m = {};
	u32 emss, i;

	KUNIT_ASSERT_NOT_NULL(test, buf.page);
	for (i = 0; i < ARRAY_SIZE(segments); i++) {
		xiw_tx_mpa_start(&m, false, false, segments[i]);
		for (emss = 1; emss <= U16_MAX; emss = next_emss(emss))
			check_fills(test, &m, &buf, emss);
	}
	put_page(buf.page);
}

/*
 * The usual FPDU fits its unit, wherever Markers are.
 * Covers: MPA-20 MPA-21
 */
static void tx_mpa_units(struct kunit *test)
{
	struct xiw_tx_mpa m = {};
	u32 emss, i, pos;

	for (i = 0; i < 2 * ARRAY_SIZE(segments); i++) {
		xiw_tx_mpa_start(&m, i % 2, false, segments[i / 2]);
		for (emss = 1; emss <= U16_MAX; emss = next_emss(emss)) {
			xiw_tx_mpa_batch(&m, emss, 0);
			KUNIT_EXPECT_GE(test, m.full, XIW_MULPDU_MIN);
			for (pos = 0; pos < XIW_MPA_MARKER_PERIOD; pos += 4) {
				m.mpa.pos = pos;
				KUNIT_ASSERT_LE_MSG(test,
						    xiw_tx_mpa_room(&m, m.full),
						    m.unit, "emss %u", emss);
			}
		}
	}
}

/* The whole room may be claimed. */
static void tx_mpa_claim(struct kunit *test)
{
	struct xiw_txbuf buf = { .page = alloc_page(GFP_KERNEL) };

	KUNIT_ASSERT_NOT_NULL(test, buf.page);
	buf.off = PAGE_SIZE - 8;
	KUNIT_EXPECT_PTR_EQ(test, xiw_txbuf_claim(&buf, 8),
			    (u8 *)page_address(buf.page) + buf.off);
	buf.off = PAGE_SIZE;
	KUNIT_EXPECT_PTR_EQ(test, xiw_txbuf_claim(&buf, 0),
			    (u8 *)page_address(buf.page) + PAGE_SIZE);
	put_page(buf.page);
}

static struct kunit_case tx_mpa_cases[] = {
	KUNIT_CASE(tx_mpa_series),
	KUNIT_CASE(tx_mpa_units),
	KUNIT_CASE(tx_mpa_claim),
	{}
};

static struct kunit_suite tx_mpa_suite = {
	.name = "xiw_tx_mpa",
	.test_cases = tx_mpa_cases,
};

kunit_test_suite(tx_mpa_suite);
