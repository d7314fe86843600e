// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sizes of segments and FPDUs, ring indices and work budgets, for every segment
 * size of TCP and SCTP. Relations between two unknown values, where intervals
 * do not suffice, are left to every_limits.c.
 *
 * Files: proto/ddp proto/mpa proto/opcode proto/segment proto/session
 */
#include "any.h"
#include "ddp.h"
#include "mpa.h"
#include "ring.h"
#include "segment.h"
#include "session.h"
#include "stream/budget.h"

static void limits_mulpdu(u32 emss)
{
	u32 marked = xiw_mpa_mulpdu(emss, true);
	u32 plain = xiw_mpa_mulpdu(emss, false);

	/*@ assert plain: XIW_MULPDU_MIN <= plain <= XIW_MULPDU_MAX; */
	/*@ assert marked: XIW_MULPDU_MIN <= marked <= XIW_MULPDU_MAX; */
}

/* FPDUs without Markers fit the segment size that the transmit path assumes. */
static void limits_fpdu(u32 emss)
{
	u32 len = xiw_mpa_fpdu_len(xiw_mpa_mulpdu(emss, false));
	u32 least = xiw_mpa_emss_min(false);

	/*@ assert fits: len <= emss || (emss < least && len <= least); */
}

static void limits_emss(void)
{
	u32 emss;

	/*@ loop unroll 512; */
	for (emss = 0; emss < 512; emss++) {
		limits_mulpdu(emss);
		limits_fpdu(emss);
	}
	/* All larger ones, in ranges */
	/*@ loop unroll 32; */
	for (emss = 512; emss < 1U << 24; emss *= 2)
		limits_mulpdu(ANY_OF(emss, 2 * emss));
	xiw_segment_limit(ANY_OF(0, 1U << 24), any_u32, any_bool());
}

static void limits_session(void)
{
	u32 mulpdu = xiw_session_mulpdu(any_u32);

	/*@ assert sctp: mulpdu <= XIW_MULPDU_MAX; */
}

static void limits_segment(bool tagged)
{
	struct xiw_seg_msg m = {
		.opcode = any_u8,
		.tagged = tagged,
		.stag = any_u32,
		.to = any_u64,
		.qn = any_u32,
		.msn = any_u32,
		.inv_stag = any_u32,
		.len = any_u32,
	};
	struct xiw_seg seg;
	u32 len;

	xiw_segment_next(&m, any_u32, any_u32, &seg);
	len = xiw_segment_encode(&m, &seg, any_bytes(XIW_DDP_HDR_MAX));
	/*@ assert header: len == seg.hdr_len; */
}

/* Every call of the Marker raster, at any position of the stream */
static void limits_raster(bool markers)
{
	struct xiw_mpa_tx tx;
	struct xiw_mpa_rx rx;
	u32 room;

	xiw_mpa_tx_init(&tx, markers);
	tx.pos = any_u32;
	xiw_mpa_tx_begin(&tx, ANY_OF(0, 65535));
	room = xiw_mpa_tx_room(&tx);
	/*@ assert tx: markers ==> room < XIW_MPA_MARKER_PERIOD; */
	xiw_mpa_tx_advance(&tx, any_u32);
	xiw_mpa_tx_marker(&tx, any_bytes(XIW_MPA_MARKER_LEN));
	xiw_mpa_rx_init(&rx, markers);
	rx.pos = any_u32;
	xiw_mpa_rx_begin(&rx);
	room = xiw_mpa_rx_fpdu_len(&rx, ANY_OF(0, 65535));
	/*@ assert largest: room <= 66 * 1024; */
	room = xiw_mpa_rx_room(&rx);
	/*@ assert rx: markers ==> room < XIW_MPA_MARKER_PERIOD; */
	xiw_mpa_rx_advance(&rx, any_u32);
	xiw_mpa_rx_marker(&rx, any_bytes(XIW_MPA_MARKER_LEN));
}

/* The removal of Markers stays in the FPDU, at every phase of the raster. */
static void limits_strip(u32 ulpdu_len)
{
	u32 want = xiw_mpa_fpdu_len(ulpdu_len);
	struct xiw_mpa_rx rx;
	u32 pos;
	u32 len;

	/*@ loop unroll 128; */
	for (pos = 0; pos < XIW_MPA_MARKER_PERIOD; pos += 4) {
		xiw_mpa_rx_init(&rx, true);
		rx.pos = pos;
		len = xiw_mpa_rx_begin(&rx);
		/*@ assert head: len == 2 || len == 6; */
		len = xiw_mpa_rx_fpdu_len(&rx, ulpdu_len);
		len = xiw_mpa_rx_strip(&rx, any_bytes(len), len);
		/*@ assert stripped: len == want; */
	}
}

static void limits_ring(u32 size)
{
	u32 prod = any_u32;
	u32 cons = any_u32;
	u32 used = xiw_ring_used(prod, cons, size);
	u32 space = xiw_ring_space(prod, cons, size);

	/*@ assert used: used <= size; */
	/*@ assert space: space <= size; */
	xiw_ring_valid(prod, cons, size);
}

static void limits_budget(void)
{
	struct xiw_budget budget;
	u32 n;

	xiw_budget_begin(&budget, ANY_OF(1, XIW_BUDGET_PROCESS));
	n = xiw_budget_equal(&budget, ANY_OF(1, 66 * 1024));
	/*@ assert count: n <= XIW_BUDGET_PROCESS * XIW_BUDGET_COST; */
	xiw_budget_charge(&budget, ANY_OF(1, 66 * 1024));
	xiw_budget_spent(&budget);
}

int main(void)
{
	u32 order;

	limits_emss();
	limits_session();
	limits_segment(false);
	limits_segment(true);
	limits_raster(false);
	limits_raster(true);
	limits_strip(0);
	limits_strip(509);
	/*@ loop unroll 32; */
	for (order = 0; order < 32; order++)
		limits_ring(1U << order);
	limits_budget();
	return 0;
}
