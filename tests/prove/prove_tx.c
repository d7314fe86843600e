// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Framing of sent data (tx_mpa.c): FPDUs stay in the room of their block, for
 * every segment size that a peer can announce. every_limits.c has the relations
 * that intervals do not show.
 *
 * Files: llp/tx_mpa proto/ddp proto/mpa proto/opcode proto/segment
 */
#include "any.h"
#include "llp/fpdu.h"

/* What is left of a block: any less is the end of that */
#define TX_ROOM		2048

static u8 tx_room[TX_ROOM];
static struct page tx_page = { .bytes = tx_room };

static void tx_any_batch(struct xiw_tx_mpa *m, bool markers, u32 segments,
			 u32 emss)
{
	xiw_tx_mpa_start(m, markers, any_bool(), segments);
	xiw_tx_mpa_batch(m, emss, emss > 1 ? ANY_OF(0, emss - 1) : 0);
}

/* A series of equal FPDUs is not longer than the room for it. */
static void tx_repeat(u32 segments, u32 emss)
{
	struct xiw_tx_mpa m;
	u32 len;
	u32 n;

	tx_any_batch(&m, false, segments, emss);
	m.fill = 0;
	len = xiw_mpa_fpdu_len(m.full);
	/*@ assert unit: len <= m.unit; */
	if (len != m.unit)
		return;
	n = xiw_tx_mpa_repeat(&m, TX_ROOM, any_u32, any_u32);
	/*@ assert room: n * len <= TX_ROOM; */
}

static void tx_limit(bool markers, u32 emss)
{
	struct xiw_txbuf buf = { .page = &tx_page, .off = ANY_OF(0, TX_ROOM) };
	struct xiw_tx_mpa m;
	u32 limit;

	tx_any_batch(&m, markers, ANY_OF(0, 46), emss);
	tx_page.order = any_bool() ? XIW_TXBUF_ORDER : 0;
	limit = xiw_tx_mpa_limit(&m, &buf, any_u32);
	/*@ assert limit: XIW_MULPDU_MIN <= limit <= XIW_MULPDU_MAX; */
	xiw_tx_mpa_is_full(&m, any_u32);
	xiw_tx_mpa_may_repeat(&m);
	xiw_tx_mpa_fits(&m, any_u64);
}

static void tx_limits(bool markers)
{
	u32 emss;

	tx_limit(markers, ANY_OF(0, 256));
	/*@ loop unroll 8; */
	for (emss = 256; emss < 65536; emss *= 2)
		tx_limit(markers, ANY_OF(emss, 2 * emss - 1));
}

/* An FPDU of the last size, when memory is short, fits half a page. */
static void tx_small(bool markers)
{
	struct xiw_tx_mpa m;
	u32 limit;
	u32 len;

	tx_any_batch(&m, markers, 0, 1440);
	m.mpa.pos = any_u32;
	limit = xiw_tx_mpa_small_limit(&m, PAGE_SIZE / 2);
	len = xiw_tx_mpa_room(&m, limit);
	/*@ assert fits: len <= PAGE_SIZE / 2; */
}

/*
 * The FPDU around a ULPDU ends where the room for it does, at every Marker
 * phase.
 */
static void tx_seal(bool markers, u32 ulpdu_len)
{
	struct xiw_tx_mpa m;
	u32 pos;
	u32 gap;
	u32 len;
	u32 n;

	/*@ loop unroll 128; */
	for (pos = 0; pos < XIW_MPA_MARKER_PERIOD; pos += 4) {
		tx_any_batch(&m, markers, 1, 1440);
		m.mpa.pos = pos;
		gap = xiw_tx_mpa_gap(&m, ulpdu_len);
		len = xiw_tx_mpa_room(&m, ulpdu_len);
		n = xiw_tx_mpa_seal(&m, any_bytes(len), ulpdu_len, gap);
		/*@ assert sealed: n == len; */
	}
	m.mpa.markers = false;
	len = xiw_mpa_fpdu_len(ulpdu_len);
	xiw_tx_mpa_seal_equal(&m, any_bytes(len), len, xiw_mpa_pad(ulpdu_len));
	xiw_tx_mpa_sealed(&m, len);
}

int main(void)
{
	u32 emss;

	/*
	 * All segments that are not much longer than the smallest FPDU, and
	 * usual ones
	 */
	/*@ loop unroll 257; */
	for (emss = 0; emss <= 256; emss++)
		tx_repeat(1, emss);
	tx_repeat(1, 536);
	tx_repeat(1, 1440);
	tx_limits(false);
	tx_limits(true);
	tx_small(false);
	tx_small(true);
	tx_seal(false, 18);
	tx_seal(true, 18);
	tx_seal(true, 505);
	return 0;
}
