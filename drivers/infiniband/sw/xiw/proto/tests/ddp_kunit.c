// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP segment headers against the message vectors, the order of the checks
 * every segment passes, and the sequence rules of untagged queues.
 */
#include <linux/crc32c.h>
#include <linux/kernel.h>
#include <linux/unaligned.h>

#include "../ddp.h"
#include "util.h"

#define ALL	XIW_FEAT_RFC7306

static u32 vector(struct kunit *test, const char *name, u8 *buf, u32 size)
{
	return xiw_test_hex(test, xiw_test_vector(test, name)->hex, buf, size);
}

/* Covers: DDP-01 DDP-05 DDP-06 RDMAP-01 MPA-07 MPA-88 TERM-01 */
static void ddp_vectors_decode_and_encode(struct kunit *test)
{
	const struct xiw_test_vector *v;
	u8 buf[128], hdr[18], fpdu[144], crc[4];
	struct xiw_ddp_hdr h;
	struct xiw_mpa_tx tx;
	unsigned int i;
	u32 len, n;

	xiw_mpa_tx_init(&tx, false);
	for (i = 0; i < xiw_test_vector_count; i++) {
		v = &xiw_test_vectors[i];
		len = xiw_test_hex(test, v->hex, buf, sizeof(buf));
		KUNIT_EXPECT_EQ_MSG(test, xiw_ddp_decode(buf, len, ALL, &h),
				    XIW_OK, "%s", v->name);
		KUNIT_EXPECT_EQ(test, h.tagged, !!(buf[0] & 0x80));
		KUNIT_EXPECT_EQ(test, h.last, !!(buf[0] & 0x40));
		KUNIT_EXPECT_EQ(test, h.opcode, buf[1] & 0xf);
		KUNIT_EXPECT_EQ(test, h.payload_off, h.tagged ? 14 : 18);
		KUNIT_EXPECT_EQ(test, h.payload_off + h.payload_len, len);

		n = xiw_ddp_encode(hdr, &h);
		KUNIT_EXPECT_EQ(test, n, (u32)h.payload_off);
		KUNIT_EXPECT_MEMEQ(test, hdr, buf, n);

		n = xiw_test_tx_fpdu(&tx, buf, len, fpdu);
		xiw_test_hex(test, v->crc, crc, sizeof(crc));
		KUNIT_EXPECT_MEMEQ(test, fpdu + n - 4, crc, 4);
	}
}

/* Covers: DDP-05 DDP-06 */
static void ddp_fields_are_where_rfc5041_puts_them(struct kunit *test)
{
	struct xiw_ddp_hdr h;
	u8 buf[128];
	u32 len;

	len = vector(test, "T02", buf, sizeof(buf));
	KUNIT_ASSERT_EQ(test, xiw_ddp_decode(buf, len, 0, &h), XIW_OK);
	KUNIT_EXPECT_TRUE(test, h.tagged);
	KUNIT_EXPECT_FALSE(test, h.last);
	KUNIT_EXPECT_EQ(test, h.stag, 0xa1b2c3d4U);
	KUNIT_EXPECT_EQ(test, h.to, 0x4000ULL);
	KUNIT_EXPECT_EQ(test, h.payload_len, 8U);

	len = vector(test, "T15", buf, sizeof(buf));
	KUNIT_ASSERT_EQ(test, xiw_ddp_decode(buf, len, 0, &h), XIW_OK);
	KUNIT_EXPECT_FALSE(test, h.tagged);
	KUNIT_EXPECT_TRUE(test, h.last);
	KUNIT_EXPECT_EQ(test, h.opcode, XIW_OP_SEND_SE_INV);
	KUNIT_EXPECT_EQ(test, h.inv_stag, 0xa1b2c3d4U);
	KUNIT_EXPECT_EQ(test, h.qn, 0U);
	KUNIT_EXPECT_EQ(test, h.msn, 6U);
	KUNIT_EXPECT_EQ(test, h.mo, 0U);

	len = vector(test, "T11", buf, sizeof(buf));
	KUNIT_ASSERT_EQ(test, xiw_ddp_decode(buf, len, 0, &h), XIW_OK);
	KUNIT_EXPECT_EQ(test, h.msn, 2U);
	KUNIT_EXPECT_EQ(test, h.mo, 8U);
	KUNIT_EXPECT_EQ(test, h.payload_len, 5U);
}

/* A message vector with one byte changed and the expected result. */
struct change_row {
	const char *vector;
	unsigned int at;
	u8 value;
	u32 features;
	enum xiw_reason want;
};

static const struct change_row change_rows[] = {
	{ "T09", 0, 0x42, ALL, XIW_BAD_DV_UNTAGGED },
	{ "T09", 0, 0x40, ALL, XIW_BAD_DV_UNTAGGED },
	{ "T09", 0, 0x43, ALL, XIW_BAD_DV_UNTAGGED },
	{ "T01", 0, 0xc2, ALL, XIW_BAD_DV_TAGGED },
	{ "T01", 0, 0xc0, ALL, XIW_BAD_DV_TAGGED },
	{ "T09", 1, 0x83, ALL, XIW_BAD_RV },
	{ "T09", 1, 0x03, ALL, XIW_BAD_RV },
	{ "T09", 1, 0xc3, ALL, XIW_BAD_RV },
	{ "T09", 1, 0x4c, ALL, XIW_BAD_OPCODE },
	{ "T09", 1, 0x4d, ALL, XIW_BAD_OPCODE },
	{ "T09", 1, 0x4e, ALL, XIW_BAD_OPCODE },
	{ "T09", 1, 0x4f, ALL, XIW_BAD_OPCODE },
	{ "T01", 1, 0x43, ALL, XIW_BAD_T_BIT },
	{ "T09", 1, 0x40, ALL, XIW_BAD_T_BIT },
	{ "T09", 1, 0x42, ALL, XIW_BAD_T_BIT },
	{ "T01", 1, 0x47, ALL, XIW_BAD_T_BIT },
	{ "T09", 9, 0x04, ALL, XIW_BAD_QN },
	{ "T09", 9, 0x01, ALL, XIW_BAD_QN },
	{ "T09", 6, 0x80, ALL, XIW_BAD_QN },
	{ "T05", 9, 0x00, ALL, XIW_BAD_QN },
	{ "T23", 9, 0x00, ALL, XIW_BAD_QN },
	{ "T22", 9, 0x01, ALL, XIW_BAD_QN },
	{ "T18", 9, 0x03, ALL, XIW_BAD_QN },
	{ "T16", 9, 0x03, ALL, XIW_BAD_QN },
	/* A disabled extension fails before the later checks. */
	{ "T16", 0, 0x41, 0, XIW_BAD_OPCODE },
	{ "T17", 0, 0x41, 0, XIW_BAD_OPCODE },
	{ "T18", 0, 0x41, 0, XIW_BAD_OPCODE },
	{ "T22", 0, 0x41, 0, XIW_BAD_OPCODE },
	{ "T18", 9, 0x07, 0, XIW_BAD_OPCODE },
	/* Reserved bits are ignored. */
	{ "T09", 0, 0x7d, ALL, XIW_OK },
	{ "T09", 1, 0x73, ALL, XIW_OK },
	{ "T01", 0, 0xfd, ALL, XIW_OK },
	{ "T01", 1, 0x70, ALL, XIW_OK },
};

/* Covers: DDP-02 DDP-03 DDP-04 DDP-19 RDMAP-02 RDMAP-03 RDMAP-04 RDMAP-05 */
/* Covers: RDMAP-06 ATOM-25 IMM-16 */
static void ddp_checks_find_every_bad_field(struct kunit *test)
{
	const struct change_row *row;
	struct xiw_ddp_hdr h;
	unsigned int i;
	u8 buf[128];
	u32 len;

	for (i = 0; i < ARRAY_SIZE(change_rows); i++) {
		row = &change_rows[i];
		len = vector(test, row->vector, buf, sizeof(buf));
		buf[row->at] = row->value;
		KUNIT_EXPECT_EQ_MSG(test,
				    xiw_ddp_decode(buf, len, row->features, &h),
				    row->want, "row %u", i);
		KUNIT_EXPECT_EQ(test, h.opcode, buf[1] & 0xf);
	}
}

/* Covers: DDP-03 DDP-04 RDMAP-03 RDMAP-04 RDMAP-05 RDMAP-06 */
static void ddp_first_fault_wins(struct kunit *test)
{
	/* All fields are wrong; correct one after the other. */
	static const struct {
		u8 dv;
		u8 rv_op;
		u8 qn;
		enum xiw_reason want;
	} rows[] = {
		{ 0x42, 0x8c, 7, XIW_BAD_DV_UNTAGGED },
		{ 0x41, 0x8c, 7, XIW_BAD_RV },
		{ 0x41, 0x4c, 7, XIW_BAD_OPCODE },
		{ 0x41, 0x40, 7, XIW_BAD_T_BIT },
		{ 0x41, 0x43, 7, XIW_BAD_QN },
		{ 0x41, 0x43, 0, XIW_OK },
	};
	struct xiw_ddp_hdr h;
	unsigned int i;
	u8 buf[18] = {};

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		buf[0] = rows[i].dv;
		buf[1] = rows[i].rv_op;
		buf[9] = rows[i].qn;
		KUNIT_EXPECT_EQ(test, xiw_ddp_decode(buf, 17, ALL, &h),
				XIW_BAD_SEGMENT_LEN);
		KUNIT_EXPECT_EQ(test, xiw_ddp_decode(buf, 18, ALL, &h),
				rows[i].want);
	}
}

/* Covers: DDP-29 MPA-23 TERM-12 */
static void ddp_truncated_at_every_byte(struct kunit *test)
{
	struct xiw_ddp_hdr h;
	u8 full[128], *cut;
	enum xiw_reason ret;
	unsigned int i;
	u32 len, n;

	for (i = 0; i < xiw_test_vector_count; i++) {
		len = xiw_test_hex(test, xiw_test_vectors[i].hex, full,
				   sizeof(full));
		for (n = 0; n <= len; n++) {
			/* Allocate exactly that size, for KASAN. */
			cut = kunit_kzalloc(test, min_t(u32, n, 18) + !n,
					    GFP_KERNEL);
			KUNIT_ASSERT_NOT_NULL(test, cut);
			memcpy(cut, full, min_t(u32, n, 18));
			ret = xiw_ddp_decode(cut, n, ALL, &h);
			kunit_kfree(test, cut);
			KUNIT_EXPECT_EQ(test, ret,
					n < (full[0] & 0x80 ? 14 : 18) ?
					XIW_BAD_SEGMENT_LEN : XIW_OK);
			KUNIT_EXPECT_EQ(test, h.opcode, n < 2 ?
					XIW_OP_UNKNOWN : full[1] & 0xf);
		}
	}
}

/* A header as decoded by xiw_ddp_decode(). */
static struct xiw_ddp_hdr segment(u8 opcode, u32 msn, u32 mo, u32 len,
				  bool last)
{
	return (struct xiw_ddp_hdr){
		.opcode = opcode,
		.last = last,
		.msn = msn,
		.mo = mo,
		.payload_off = 18,
		.payload_len = len,
	};
}

/* Covers: DDP-14 DDP-15 DDP-17 */
static void ddp_msn_counts_from_one_and_wraps(struct kunit *test)
{
	static const u32 wrong[] = { 0, 2, 3, 0x80000000, U32_MAX };
	struct xiw_ddp_hdr h = segment(XIW_OP_SEND, 1, 0, 4, true);
	struct xiw_ddp_queue q;
	unsigned int i;
	u32 len;

	xiw_ddp_queue_init(&q);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		h.msn = wrong[i];
		KUNIT_EXPECT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_BAD_MSN);
	}
	h.msn = 1;
	xiw_ddp_queue_open(&q, XIW_OP_SEND, 4);
	KUNIT_EXPECT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_OK);
	KUNIT_EXPECT_TRUE(test, xiw_ddp_queue_advance(&q, &h, &len));
	/* A repeated MSN is a duplicate. */
	KUNIT_EXPECT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_BAD_MSN);

	q.msn = U32_MAX;
	h.msn = U32_MAX;
	xiw_ddp_queue_open(&q, XIW_OP_SEND, 4);
	KUNIT_EXPECT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_OK);
	KUNIT_EXPECT_TRUE(test, xiw_ddp_queue_advance(&q, &h, &len));
	KUNIT_EXPECT_EQ(test, q.msn, 0U);
}

/* Covers: DDP-14 DDP-15 DDP-16 */
static void ddp_sender_counts_and_wraps(struct kunit *test)
{
	u32 msn[] = { XIW_MSN_FIRST, U32_MAX };

	KUNIT_EXPECT_EQ(test, xiw_ddp_next_msn(&msn[0]), 1U);
	KUNIT_EXPECT_EQ(test, xiw_ddp_next_msn(&msn[1]), U32_MAX);
	KUNIT_EXPECT_EQ(test, xiw_ddp_next_msn(&msn[1]), 0U);
	KUNIT_EXPECT_EQ(test, xiw_ddp_next_msn(&msn[1]), 1U);
	KUNIT_EXPECT_EQ(test, xiw_ddp_next_msn(&msn[0]), 2U);
}

/* Covers: DDP-18 DDP-17 IMM-08 */
static void ddp_buffer_is_asked_for_after_msn(struct kunit *test)
{
	struct xiw_ddp_hdr h = segment(XIW_OP_SEND, 2, 0, 4, true);
	struct xiw_ddp_queue q;

	xiw_ddp_queue_init(&q);
	KUNIT_EXPECT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_BAD_MSN);
	h.msn = 1;
	KUNIT_EXPECT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_NO_BUFFER);
	/* The result is the same for a message without payload. */
	h.payload_len = 0;
	KUNIT_EXPECT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_NO_BUFFER);
	h.opcode = XIW_OP_IMM;
	KUNIT_EXPECT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_NO_BUFFER);
}

/* Placement rules for one message of a queue. */
struct place_row {
	u32 size;		/* of the buffer */
	u32 bytes;		/* placed before */
	u32 mo;
	u32 len;
	bool last;
	enum xiw_reason want;
};

static const struct place_row place_rows[] = {
	{ 8, 0, 0, 8, true, XIW_OK },
	{ 8, 0, 0, 9, true, XIW_MSG_TOO_LONG },
	{ 8, 0, 0, 7, true, XIW_OK },
	{ 8, 4, 4, 4, true, XIW_OK },
	{ 8, 4, 4, 5, true, XIW_MSG_TOO_LONG },
	{ 8, 8, 8, 1, true, XIW_MSG_TOO_LONG },
	{ 8, 8, 9, 1, true, XIW_BAD_MO },
	{ 8, 0, 0x7ffffff0, 8, true, XIW_BAD_MO },
	{ 8, 0, U32_MAX, 8, true, XIW_BAD_MO },
	{ 8, 0, 4, 4, true, XIW_BAD_MO },		/* gap */
	{ 8, 4, 0, 4, true, XIW_BAD_MO },		/* overlap */
	{ 8, 4, 3, 5, false, XIW_BAD_MO },
	{ 0, 0, 0, 0, true, XIW_OK },
	{ 0, 0, 0, 1, true, XIW_MSG_TOO_LONG },
	{ 8, 4, 4, 0, true, XIW_OK },
	/* The last segment determines the length, so its MO must fit. */
	{ 8, 4, 5, 0, true, XIW_BAD_MO },
	{ 8, 4, U32_MAX, 0, true, XIW_BAD_MO },
	/* Neither payload nor L bit: nothing to check. */
	{ 8, 4, U32_MAX, 0, false, XIW_OK },
	{ U32_MAX, U32_MAX - 3, U32_MAX - 3, 3, true, XIW_OK },
	{ U32_MAX, U32_MAX - 3, U32_MAX - 3, 4, true, XIW_MSG_TOO_LONG },
};

/* Covers: DDP-20 DDP-21 RDMAP-09 */
static void ddp_message_stays_in_its_buffer(struct kunit *test)
{
	const struct place_row *row;
	struct xiw_ddp_queue q;
	struct xiw_ddp_hdr h;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(place_rows); i++) {
		row = &place_rows[i];
		xiw_ddp_queue_init(&q);
		xiw_ddp_queue_open(&q, XIW_OP_SEND, row->size);
		q.bytes = row->bytes;
		h = segment(XIW_OP_SEND, 1, row->mo, row->len, row->last);
		KUNIT_EXPECT_EQ_MSG(test, xiw_ddp_queue_check(&q, &h),
				    row->want, "row %u", i);
	}
}

/* Covers: IMM-11 */
static void ddp_immediate_data_ignores_buffer_size(struct kunit *test)
{
	static const u8 ops[] = { XIW_OP_IMM, XIW_OP_IMM_SE };
	struct xiw_ddp_queue q;
	struct xiw_ddp_hdr h;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		xiw_ddp_queue_init(&q);
		xiw_ddp_queue_open(&q, ops[i], 0);
		h = segment(ops[i], 1, 0, 8, true);
		KUNIT_EXPECT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_OK);
		/* The limit of 8 bytes is independent of the buffer. */
		q.size = 4096;
		h.payload_len = 9;
		KUNIT_EXPECT_EQ(test, xiw_ddp_queue_check(&q, &h),
				XIW_BAD_MSG_LEN);
		h.mo = 9;
		KUNIT_EXPECT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_BAD_MO);
	}
}

/* Covers: DDP-26 DDP-27 DDP-16 */
static void ddp_message_length_is_the_sum(struct kunit *test)
{
	struct xiw_ddp_queue q;
	struct xiw_ddp_hdr h;
	u32 mo, len = 0;

	xiw_ddp_queue_init(&q);
	xiw_ddp_queue_open(&q, XIW_OP_SEND, 100);
	for (mo = 0; mo < 90; mo += 30) {
		h = segment(XIW_OP_SEND, 1, mo, 30, false);
		KUNIT_ASSERT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_OK);
		KUNIT_EXPECT_FALSE(test, xiw_ddp_queue_advance(&q, &h, &len));
		/* Another opcode in the middle of a message is a fault. */
		h.opcode = XIW_OP_IMM;
		h.mo += 30;
		KUNIT_EXPECT_EQ(test, xiw_ddp_queue_check(&q, &h),
				XIW_BAD_OPCODE);
	}
	h = segment(XIW_OP_SEND, 1, 90, 7, true);
	KUNIT_ASSERT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_OK);
	KUNIT_EXPECT_TRUE(test, xiw_ddp_queue_advance(&q, &h, &len));
	KUNIT_EXPECT_EQ(test, len, 97U);
	KUNIT_EXPECT_EQ(test, q.msn, 2U);
	KUNIT_EXPECT_FALSE(test, q.open);

	/* The next message starts over. */
	h = segment(XIW_OP_SEND_SE, 2, 0, 0, true);
	KUNIT_EXPECT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_NO_BUFFER);
	xiw_ddp_queue_open(&q, XIW_OP_SEND_SE, 10);
	KUNIT_ASSERT_EQ(test, xiw_ddp_queue_check(&q, &h), XIW_OK);
	KUNIT_EXPECT_TRUE(test, xiw_ddp_queue_advance(&q, &h, &len));
	KUNIT_EXPECT_EQ(test, len, 0U);
}

static struct kunit_case ddp_cases[] = {
	KUNIT_CASE(ddp_vectors_decode_and_encode),
	KUNIT_CASE(ddp_fields_are_where_rfc5041_puts_them),
	KUNIT_CASE(ddp_checks_find_every_bad_field),
	KUNIT_CASE(ddp_first_fault_wins),
	KUNIT_CASE(ddp_truncated_at_every_byte),
	KUNIT_CASE(ddp_msn_counts_from_one_and_wraps),
	KUNIT_CASE(ddp_sender_counts_and_wraps),
	KUNIT_CASE(ddp_buffer_is_asked_for_after_msn),
	KUNIT_CASE(ddp_message_stays_in_its_buffer),
	KUNIT_CASE(ddp_immediate_data_ignores_buffer_size),
	KUNIT_CASE(ddp_message_length_is_the_sum),
	{}
};

static struct kunit_suite ddp_suite = {
	.name = "xiw_ddp",
	.test_cases = ddp_cases,
};

kunit_test_suite(ddp_suite);
