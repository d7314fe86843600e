// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Segmentation against the examples of RFC 5041 section 5.2, against a naive
 * segmenter, and the alignment of FPDUs with TCP segments.
 */
#include <linux/kernel.h>
#include <linux/prandom.h>

#include "../ddp.h"
#include "../segment.h"
#include "util.h"

/* Covers: DDP-09 DDP-10 */
static void segment_rfc5041_examples(struct kunit *test)
{
	struct xiw_seg_msg m = {
		.opcode = XIW_OP_SEND,
		.msn = 1,
		.len = 2048,
	};
	struct xiw_ddp_hdr h;
	struct xiw_seg seg;
	u8 buf[18];

	xiw_segment_next(&m, 0, 1500, &seg);
	KUNIT_EXPECT_EQ(test, seg.len, 1482U);
	KUNIT_EXPECT_FALSE(test, seg.last);
	KUNIT_EXPECT_EQ(test, xiw_segment_encode(&m, &seg, buf), 18U);
	KUNIT_EXPECT_EQ(test, xiw_ddp_decode(buf, 1500, 0, &h), XIW_OK);
	KUNIT_EXPECT_EQ(test, h.mo, 0U);
	xiw_segment_next(&m, 1482, 1500, &seg);
	KUNIT_EXPECT_EQ(test, seg.len, 566U);
	KUNIT_EXPECT_TRUE(test, seg.last);
	xiw_segment_encode(&m, &seg, buf);
	KUNIT_EXPECT_EQ(test, xiw_ddp_decode(buf, 584, 0, &h), XIW_OK);
	KUNIT_EXPECT_EQ(test, h.mo, 1482U);

	m = (struct xiw_seg_msg){
		.opcode = XIW_OP_WRITE,
		.tagged = true,
		.to = 16384,
		.len = 2048,
	};
	xiw_segment_next(&m, 0, 1500, &seg);
	KUNIT_EXPECT_EQ(test, seg.len, 1486U);
	KUNIT_EXPECT_EQ(test, xiw_segment_encode(&m, &seg, buf), 14U);
	KUNIT_EXPECT_EQ(test, xiw_ddp_decode(buf, 1500, 0, &h), XIW_OK);
	KUNIT_EXPECT_EQ(test, h.to, 16384ULL);
	xiw_segment_next(&m, 1486, 1500, &seg);
	KUNIT_EXPECT_EQ(test, seg.len, 562U);
	KUNIT_EXPECT_TRUE(test, seg.last);
	xiw_segment_encode(&m, &seg, buf);
	KUNIT_EXPECT_EQ(test, xiw_ddp_decode(buf, 576, 0, &h), XIW_OK);
	KUNIT_EXPECT_EQ(test, h.to, 17870ULL);
}

/* Messages of the vectors that fit one segment, with their header bytes. */
static const struct {
	const char *vector;
	struct xiw_seg_msg m;
} vector_rows[] = {
	{ "T01", { .opcode = XIW_OP_WRITE, .tagged = true, .stag = 0xa1b2c3d4,
		   .to = 0x7f0012345678, .len = 8 } },
	{ "T04", { .opcode = XIW_OP_WRITE, .tagged = true } },
	{ "T05", { .opcode = XIW_OP_READ_REQ, .qn = 1, .msn = 1, .len = 28 } },
	{ "T07", { .opcode = XIW_OP_READ_RESP, .tagged = true, .stag = 0xbeef,
		   .to = 0x1000, .len = 8 } },
	{ "T09", { .opcode = XIW_OP_SEND, .msn = 1, .len = 8 } },
	{ "T12", { .opcode = XIW_OP_SEND, .msn = 3 } },
	{ "T13", { .opcode = XIW_OP_SEND_INV, .msn = 4, .inv_stag = 0xa1b2c3d4,
		   .len = 8 } },
	{ "T16", { .opcode = XIW_OP_IMM, .msn = 7, .len = 8 } },
	{ "T18", { .opcode = XIW_OP_ATOMIC_REQ, .qn = 1, .msn = 3,
		   .len = 52 } },
	{ "T22", { .opcode = XIW_OP_ATOMIC_RESP, .qn = 3, .msn = 1,
		   .len = 12 } },
};

/* Covers: DDP-01 DDP-12 RDMAP-01 RDMAP-07 RDMAP-19 ATOM-01 ATOM-02 IMM-01 */
static void segment_small_messages(struct kunit *test)
{
	struct xiw_seg seg;
	u8 want[128], got[18];
	unsigned int i;
	u32 len;

	for (i = 0; i < ARRAY_SIZE(vector_rows); i++) {
		len = xiw_test_hex(test,
				   xiw_test_vector(test,
						   vector_rows[i].vector)->hex,
				   want, sizeof(want));
		/* The smallest MULPDU holds every header-only message. */
		xiw_segment_next(&vector_rows[i].m, 0, 128, &seg);
		KUNIT_EXPECT_TRUE(test, seg.last);
		KUNIT_EXPECT_EQ(test, seg.hdr_len + seg.len, len);
		KUNIT_EXPECT_EQ(test, xiw_segment_encode(&vector_rows[i].m,
							 &seg, got),
				(u32)seg.hdr_len);
		KUNIT_EXPECT_MEMEQ(test, got, want, seg.hdr_len);
	}
}

/* Walk a message as a naive sender would and compare each step. */
static void check_walk(struct kunit *test, const struct xiw_seg_msg *m,
		       u32 mulpdu)
{
	u32 room = mulpdu - (m->tagged ? 14 : 18);
	struct xiw_seg seg;
	struct xiw_ddp_hdr h;
	u32 offset = 0;
	u8 buf[18];

	for (;;) {
		u32 left = m->len - offset;
		bool last = left <= room;
		u32 len = last ? left : room;

		/* The last segment has at least eight bytes. */
		if (!last && left - room < 8)
			len = (left - 8) / 4 * 4;

		xiw_segment_next(m, offset, mulpdu, &seg);
		KUNIT_ASSERT_EQ(test, seg.offset, offset);
		KUNIT_ASSERT_EQ(test, seg.len, len);
		KUNIT_ASSERT_EQ(test, seg.last, last);
		KUNIT_EXPECT_LE(test, seg.hdr_len + seg.len, mulpdu);

		xiw_segment_encode(m, &seg, buf);
		KUNIT_ASSERT_EQ(test, xiw_ddp_decode(buf, seg.hdr_len + seg.len,
						     XIW_FEAT_RFC7306, &h),
				XIW_OK);
		KUNIT_EXPECT_EQ(test, h.last, last);
		KUNIT_EXPECT_EQ(test, h.stag, m->stag);
		KUNIT_EXPECT_EQ(test, h.msn, m->msn);
		KUNIT_EXPECT_EQ(test, h.inv_stag, m->inv_stag);
		if (m->tagged)
			KUNIT_EXPECT_EQ(test, h.to, m->to + offset);
		else
			KUNIT_EXPECT_EQ(test, h.mo, offset);
		offset += len;
		if (last)
			break;
	}
	KUNIT_EXPECT_EQ(test, offset, m->len);
}

/* Covers: DDP-07 DDP-08 DDP-11 MPA-20 RDMAP-21 */
static void segment_matches_naive(struct kunit *test)
{
	static const u32 sizes[] = { 128, 129, 130, 506, 1442, 8942, 64768 };
	struct xiw_seg_msg m;
	unsigned int i, k, room;
	int delta;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (k = 0; k < 4; k++) {
			m = (struct xiw_seg_msg){
				.opcode = k & 1 ? XIW_OP_WRITE :
						  XIW_OP_SEND_INV,
				.tagged = k & 1,
			};
			if (m.tagged) {
				m.stag = 0x11223344;
				m.to = k & 2 ? U64_MAX - 300000 : 7;
			} else {
				m.msn = k & 2 ? U32_MAX : 1;
				m.inv_stag = 0x55667788;
			}
			room = sizes[i] - (m.tagged ? 14 : 18);
			for (delta = -1; delta <= 9; delta++) {
				m.len = room + delta;
				check_walk(test, &m, sizes[i]);
				m.len = 4 * room + delta;
				check_walk(test, &m, sizes[i]);
			}
			m.len = 0;
			check_walk(test, &m, sizes[i]);
			m.len = 1;
			check_walk(test, &m, sizes[i]);
		}
	}
}

/* Covers: DDP-08 DDP-11 MPA-21 SCTP-40 */
static void segment_follows_changing_mulpdu(struct kunit *test)
{
	struct xiw_seg_msg m = {
		.opcode = XIW_OP_SEND,
		.msn = 1,
		.len = 300000,
	};
	u32 offset = 0, mulpdu;
	struct rnd_state rnd;
	struct xiw_seg seg;

	prandom_seed_state(&rnd, 5041);
	do {
		mulpdu = 128 + prandom_u32_state(&rnd) % 9000;
		xiw_segment_next(&m, offset, mulpdu, &seg);
		KUNIT_ASSERT_EQ(test, seg.offset, offset);
		KUNIT_ASSERT_GT(test, seg.len, 0U);
		KUNIT_EXPECT_LE(test, seg.hdr_len + seg.len, mulpdu);
		offset += seg.len;
		KUNIT_EXPECT_EQ(test, seg.last, offset == m.len);
	} while (!seg.last);
	KUNIT_EXPECT_EQ(test, offset, m.len);
}

/* Covers: DDP-08 MPA-19 */
static void segment_largest_message(struct kunit *test)
{
	struct xiw_seg_msg m = {
		.opcode = XIW_OP_WRITE,
		.tagged = true,
		.to = U64_MAX - 10,
		.len = U32_MAX,
	};
	struct xiw_seg seg;

	xiw_segment_next(&m, 0, 64768, &seg);
	KUNIT_EXPECT_EQ(test, seg.len, 64754U);
	KUNIT_EXPECT_FALSE(test, seg.last);
	xiw_segment_next(&m, U32_MAX - 64754, 64768, &seg);
	KUNIT_EXPECT_EQ(test, seg.len, 64754U);
	KUNIT_EXPECT_TRUE(test, seg.last);
	xiw_segment_next(&m, U32_MAX - 64755, 64768, &seg);
	KUNIT_EXPECT_EQ(test, seg.len, 64744U);
	KUNIT_EXPECT_FALSE(test, seg.last);
	xiw_segment_next(&m, U32_MAX - 64762, 64768, &seg);
	KUNIT_EXPECT_EQ(test, seg.len, 64754U);
	KUNIT_EXPECT_FALSE(test, seg.last);
	/* An invalid MULPDU still makes progress. */
	xiw_segment_next(&m, 0, 0, &seg);
	KUNIT_EXPECT_EQ(test, seg.len, 114U);
}

/* Covers: MPA-17 MPA-19 MPA-20 */
static void segment_limit_stays_in_range(struct kunit *test)
{
	static const u32 sizes[] = {
		64, 136, 137, 271, 272, 536, 1448, 1460, 1461, 1463, 8948,
		65483,
	};
	u32 emss, used, limit, full;
	unsigned int i, markers;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		emss = sizes[i];
		for (markers = 0; markers < 2; markers++) {
			full = xiw_mpa_mulpdu(emss, markers);
			KUNIT_EXPECT_EQ(test, xiw_segment_limit(emss, 0,
								markers), full);
			for (used = 1; used <= emss + 1 && used < 9000;
			     used++) {
				limit = xiw_segment_limit(emss, used, markers);
				KUNIT_EXPECT_GE(test, limit, 128U);
				KUNIT_EXPECT_LE(test, limit, full);
			}
		}
	}
	/* Exactly the room of the smallest FPDU, and four bytes less. */
	KUNIT_EXPECT_EQ(test, xiw_segment_limit(1448, 1448 - 136, false), 130U);
	KUNIT_EXPECT_EQ(test, xiw_segment_limit(1448, 1448 - 132, false),
			132U + 724 - 6);
	KUNIT_EXPECT_EQ(test, xiw_segment_limit(1448, 1448 - 140, true), 130U);
	KUNIT_EXPECT_EQ(test, xiw_segment_limit(1448, 1448 - 136, true), 1430U);
	/* An EMSS too small for two halves, and the smallest that suffices. */
	KUNIT_EXPECT_EQ(test, xiw_segment_limit(271, 171, false), 262U);
	KUNIT_EXPECT_EQ(test, xiw_segment_limit(272, 172, false),
			100U + 136 - 6);
	/* A full segment counts as empty, and so does a larger @used. */
	KUNIT_EXPECT_EQ(test, xiw_segment_limit(1448, 1448, false), 1442U);
	KUNIT_EXPECT_EQ(test, xiw_segment_limit(1448, 1449, false), 1442U);
	/* Where FPDUs are smaller than segments, the rest is not filled. */
	KUNIT_EXPECT_EQ(test, xiw_segment_limit(65483, 64776, false), 64768U);
}

/* Covers: MPA-22 */
static void segment_limit_restores_alignment(struct kunit *test)
{
	static const u32 sizes[] = { 536, 1448, 1460, 8948 };
	u32 emss, used, start, steps, limit;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		emss = sizes[i];
		for (start = 4; start < emss; start += 4) {
			used = start;
			for (steps = 0; used; steps++) {
				KUNIT_ASSERT_LT(test, steps, 2U);
				limit = xiw_segment_limit(emss, used, false);
				used += xiw_mpa_fpdu_len(limit);
				used %= emss;
			}
			/* Alignment is kept, one full FPDU per segment. */
			limit = xiw_segment_limit(emss, 0, false);
			KUNIT_EXPECT_EQ(test, emss, xiw_mpa_fpdu_len(limit));
		}
	}
}

static struct kunit_case segment_cases[] = {
	KUNIT_CASE(segment_rfc5041_examples),
	KUNIT_CASE(segment_small_messages),
	KUNIT_CASE(segment_matches_naive),
	KUNIT_CASE(segment_follows_changing_mulpdu),
	KUNIT_CASE(segment_largest_message),
	KUNIT_CASE(segment_limit_stays_in_range),
	KUNIT_CASE(segment_limit_restores_alignment),
	{}
};

static struct kunit_suite segment_suite = {
	.name = "xiw_segment",
	.test_cases = segment_cases,
};

kunit_test_suite(segment_suite);
