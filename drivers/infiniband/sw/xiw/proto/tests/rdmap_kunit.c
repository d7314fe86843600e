// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The opcode table, the headers of RDMAP messages byte by byte, and the
 * rules for Read Responses and for ranges of registered buffers.
 */
#include <linux/kernel.h>

#include "../rdmap.h"
#include "util.h"

#define ALL	XIW_FEAT_RFC7306

/* Message body of a vector: everything after the DDP header. */
static u32 body(struct kunit *test, const char *name, u8 *buf, u32 size)
{
	u8 ulpdu[128];
	u32 len;

	len = xiw_test_hex(test, xiw_test_vector(test, name)->hex, ulpdu,
			   sizeof(ulpdu));
	KUNIT_ASSERT_LE(test, len - 18, size);
	memcpy(buf, ulpdu + 18, len - 18);
	return len - 18;
}

/* Columns of RFC 5040 figure 4 and RFC 7306 figure 4. */
static const struct {
	u8 opcode;
	bool tagged;
	u8 qn;
	u8 hdr_len;
	bool solicited;
	bool invalidates;
	bool extension;
} op_rows[] = {
	{ 0x0, true, 0, 0, false, false, false },
	{ 0x1, false, 1, 28, false, false, false },
	{ 0x2, true, 0, 0, false, false, false },
	{ 0x3, false, 0, 0, false, false, false },
	{ 0x4, false, 0, 0, false, true, false },
	{ 0x5, false, 0, 0, true, false, false },
	{ 0x6, false, 0, 0, true, true, false },
	{ 0x7, false, 2, 4, false, false, false },
	{ 0x8, false, 0, 8, false, false, true },
	{ 0x9, false, 0, 8, true, false, true },
	{ 0xa, false, 1, 52, false, false, true },
	{ 0xb, false, 3, 12, false, false, true },
};

/* Covers: RDMAP-01 RDMAP-04 RDMAP-07 RDMAP-14 IMM-09 IMM-10 ATOM-03 ATOM-04 */
/* Covers: ATOM-25 IMM-16 */
static void rdmap_opcode_table(struct kunit *test)
{
	const struct xiw_rdmap_op *op;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(op_rows); i++) {
		op = xiw_rdmap_op(op_rows[i].opcode, ALL);
		KUNIT_ASSERT_NOT_NULL(test, op);
		KUNIT_EXPECT_EQ(test, op->tagged, op_rows[i].tagged);
		KUNIT_EXPECT_EQ(test, op->qn, op_rows[i].qn);
		KUNIT_EXPECT_EQ(test, op->hdr_len, op_rows[i].hdr_len);
		KUNIT_EXPECT_EQ(test, op->solicited, op_rows[i].solicited);
		KUNIT_EXPECT_EQ(test, op->invalidates, op_rows[i].invalidates);
		if (op_rows[i].extension)
			KUNIT_EXPECT_NULL(test, xiw_rdmap_op(i, 0));
		else
			KUNIT_EXPECT_NOT_NULL(test, xiw_rdmap_op(i, 0));
	}
	for (i = ARRAY_SIZE(op_rows); i < 256; i++)
		KUNIT_EXPECT_NULL(test, xiw_rdmap_op(i, ALL));
}

/* Covers: RDMAP-19 RDMAP-27 */
static void rdmap_read_request(struct kunit *test)
{
	u8 buf[52] = {}, again[28];
	struct xiw_read_req r;
	u32 len;

	KUNIT_ASSERT_EQ(test, body(test, "T05", buf, sizeof(buf)), 28U);
	KUNIT_ASSERT_EQ(test, xiw_rdmap_read_req_decode(buf, 28, &r), XIW_OK);
	KUNIT_EXPECT_EQ(test, r.sink_stag, 0xbeefU);
	KUNIT_EXPECT_EQ(test, r.sink_to, 0x1000ULL);
	KUNIT_EXPECT_EQ(test, r.size, 0x2000U);
	KUNIT_EXPECT_EQ(test, r.src_stag, 0xa1b2c3d4U);
	KUNIT_EXPECT_EQ(test, r.src_to, 0x7f0000000800ULL);
	xiw_rdmap_read_req_encode(again, &r);
	KUNIT_EXPECT_MEMEQ(test, again, buf, 28);

	for (len = 0; len <= sizeof(buf); len++)
		KUNIT_EXPECT_EQ(test, xiw_rdmap_read_req_decode(buf, len, &r),
				len == 28 ? XIW_OK : XIW_BAD_MSG_LEN);
}

/* Covers: TERM-06 */
static void rdmap_read_request_after_some_data(struct kunit *test)
{
	struct xiw_read_req r = {
		.sink_stag = 1,
		.sink_to = 0x1000,
		.size = 100,
		.src_stag = 2,
		.src_to = U64_MAX - 200,
	};

	xiw_rdmap_read_req_advance(&r, 0);
	KUNIT_EXPECT_EQ(test, r.size, 100U);
	xiw_rdmap_read_req_advance(&r, 60);
	KUNIT_EXPECT_EQ(test, r.size, 40U);
	KUNIT_EXPECT_EQ(test, r.sink_to, 0x103cULL);
	KUNIT_EXPECT_EQ(test, r.src_to, U64_MAX - 140);
	xiw_rdmap_read_req_advance(&r, 40);
	KUNIT_EXPECT_EQ(test, r.size, 0U);
	KUNIT_EXPECT_EQ(test, r.sink_stag, 1U);
	KUNIT_EXPECT_EQ(test, r.src_stag, 2U);
}

static const struct {
	const char *vector;
	struct xiw_atomic_req r;
} atomic_rows[] = {
	{ "T18", { .aop = XIW_AOP_FETCH_ADD, .id = 0x01020304, .data = 5,
		   .compare_mask = U64_MAX } },
	{ "T19", { .aop = XIW_AOP_FETCH_ADD, .id = 0x01020305,
		   .data = 0x0000000100000001, .data_mask = 0x8000000080000000,
		   .compare_mask = U64_MAX } },
	{ "T20", { .aop = XIW_AOP_CMP_SWAP, .id = 0x01020306,
		   .data = 0x1122334455667788, .data_mask = U64_MAX,
		   .compare = 0xaabbccddeeff0011, .compare_mask = U64_MAX } },
	{ "T21", { .aop = XIW_AOP_CMP_SWAP, .id = 0x01020307, .data = 0xff,
		   .data_mask = 0xff, .compare = 0xab000000,
		   .compare_mask = 0xff000000 } },
};

/* Covers: ATOM-01 ATOM-06 ATOM-18 */
static void rdmap_atomic_request(struct kunit *test)
{
	u8 buf[60] = {}, again[52];
	struct xiw_atomic_req r;
	unsigned int i;
	u32 len;

	for (i = 0; i < ARRAY_SIZE(atomic_rows); i++) {
		KUNIT_ASSERT_EQ(test, body(test, atomic_rows[i].vector, buf,
					   sizeof(buf)), 52U);
		KUNIT_ASSERT_EQ(test, xiw_rdmap_atomic_req_decode(buf, 52, &r),
				XIW_OK);
		KUNIT_EXPECT_EQ(test, r.aop, atomic_rows[i].r.aop);
		KUNIT_EXPECT_EQ(test, r.id, atomic_rows[i].r.id);
		KUNIT_EXPECT_EQ(test, r.stag, 0xa1b2c3d4U);
		KUNIT_EXPECT_EQ(test, r.to, 0x7f0000000010ULL);
		KUNIT_EXPECT_EQ(test, r.data, atomic_rows[i].r.data);
		KUNIT_EXPECT_EQ(test, r.data_mask, atomic_rows[i].r.data_mask);
		KUNIT_EXPECT_EQ(test, r.compare, atomic_rows[i].r.compare);
		KUNIT_EXPECT_EQ(test, r.compare_mask,
				atomic_rows[i].r.compare_mask);
		xiw_rdmap_atomic_req_encode(again, &r);
		KUNIT_EXPECT_MEMEQ(test, again, buf, 52);

		/* 28 reserved bits: ignored on receive, sent as 0. */
		buf[0] = 0xff;
		buf[1] = 0xff;
		buf[2] = 0xff;
		buf[3] |= 0xf0;
		KUNIT_EXPECT_EQ(test, xiw_rdmap_atomic_req_decode(buf, 52, &r),
				XIW_OK);
		KUNIT_EXPECT_EQ(test, r.aop, atomic_rows[i].r.aop);
	}
	for (len = 0; len <= sizeof(buf); len++)
		KUNIT_EXPECT_EQ(test, xiw_rdmap_atomic_req_decode(buf, len, &r),
				len == 52 ? XIW_OK : XIW_BAD_MSG_LEN);
}

/* Covers: ATOM-15 */
static void rdmap_atomic_operation_codes(struct kunit *test)
{
	struct xiw_atomic_req r;
	u8 buf[52] = {};
	u8 aop;

	for (aop = 0; aop < 16; aop++) {
		buf[3] = aop;
		KUNIT_EXPECT_EQ(test, xiw_rdmap_atomic_req_decode(buf, 52, &r),
				aop == 0 || aop == 2 ? XIW_OK :
				XIW_ATOMIC_BAD_OP);
	}
}

/* Covers: ATOM-02 ATOM-12 ATOM-23 */
static void rdmap_atomic_response(struct kunit *test)
{
	u8 buf[40] = {}, again[12];
	struct xiw_atomic_resp r;
	u32 len;

	KUNIT_ASSERT_EQ(test, body(test, "T22", buf, sizeof(buf)), 12U);
	KUNIT_ASSERT_EQ(test, xiw_rdmap_atomic_resp_decode(buf, 12, &r),
			XIW_OK);
	KUNIT_EXPECT_EQ(test, r.id, 0x01020304U);
	KUNIT_EXPECT_EQ(test, r.orig, 0xdeadbeefULL);
	xiw_rdmap_atomic_resp_encode(again, &r);
	KUNIT_EXPECT_MEMEQ(test, again, buf, 12);
	/* 12 bytes, not the 32 of RFC 7306's prose. */
	for (len = 0; len <= sizeof(buf); len++)
		KUNIT_EXPECT_EQ(test,
				xiw_rdmap_atomic_resp_decode(buf, len, &r),
				len == 12 ? XIW_OK : XIW_BAD_MSG_LEN);
	/* A number in host order is big-endian on the wire. */
	r.orig = 0x0102030405060708;
	xiw_rdmap_atomic_resp_encode(again, &r);
	KUNIT_EXPECT_MEMEQ(test, again + 4, "\x01\x02\x03\x04\x05\x06\x07\x08",
			   8);
}

/* Covers: IMM-01 IMM-03 IMM-04 IMM-11 */
static void rdmap_immediate_data(struct kunit *test)
{
	static const u8 sent[] = { 0xc0, 0xff, 0xee, 0x01 };
	u8 buf[16] = {}, again[8];
	__be32 imm;
	u32 len;

	KUNIT_ASSERT_EQ(test, body(test, "T16", buf, sizeof(buf)), 8U);
	KUNIT_ASSERT_EQ(test, xiw_rdmap_imm_decode(buf, 8, &imm), XIW_OK);
	KUNIT_EXPECT_MEMEQ(test, &imm, sent, 4);
	memset(again, 0xff, sizeof(again));
	xiw_rdmap_imm_encode(again, imm, XIW_IMM_WRITE);
	KUNIT_EXPECT_MEMEQ(test, again, buf, 8);
	/* The other four bytes are ignored. */
	memset(buf + 4, 0xa5, 4);
	imm = 0;
	KUNIT_ASSERT_EQ(test, xiw_rdmap_imm_decode(buf, 8, &imm), XIW_OK);
	KUNIT_EXPECT_MEMEQ(test, &imm, sent, 4);
	for (len = 0; len <= sizeof(buf); len++)
		KUNIT_EXPECT_EQ(test, xiw_rdmap_imm_decode(buf, len, &imm),
				len == 8 ? XIW_OK : XIW_BAD_MSG_LEN);
}

/* One Read Response segment against a Read of 16 bytes, 8 of them placed. */
static const struct {
	u32 stag;
	u64 to;
	u32 len;
	bool last;
	enum xiw_reason check;
	enum xiw_reason advance;
} resp_rows[] = {
	{ 0xbeef, 0x1008, 8, true, XIW_OK, XIW_OK },
	{ 0xbeef, 0x1008, 8, false, XIW_OK, XIW_OK },
	{ 0xbeef, 0x1008, 4, false, XIW_OK, XIW_OK },
	{ 0xbeef, 0x1008, 7, true, XIW_OK, XIW_RESP_SHORT },
	{ 0xbeee, 0x1008, 8, true, XIW_RESP_BAD_STAG, XIW_OK },
	{ 0xbeef, 0x1009, 7, true, XIW_RESP_BAD_PLACE, XIW_OK },
	{ 0xbeef, 0x1007, 8, true, XIW_RESP_BAD_PLACE, XIW_OK },
	{ 0xbeef, 0x1000, 8, true, XIW_RESP_BAD_PLACE, XIW_OK },
	{ 0xbeef, 0x1008, 9, true, XIW_RESP_BAD_PLACE, XIW_OK },
	{ 0xbeee, 0x9999, 0, false, XIW_OK, XIW_OK },
	{ 0xbeee, 0x9999, 0, true, XIW_OK, XIW_RESP_SHORT },
};

/* Covers: RDMAP-33 RDMAP-34 RDMAP-35 */
static void rdmap_read_response_must_match(struct kunit *test)
{
	struct xiw_ddp_hdr h = {
		.tagged = true,
		.opcode = XIW_OP_READ_RESP,
	};
	struct xiw_read_sink s;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(resp_rows); i++) {
		s = (struct xiw_read_sink){ 0xbeef, 0x1008, 8 };
		h.stag = resp_rows[i].stag;
		h.to = resp_rows[i].to;
		h.payload_len = resp_rows[i].len;
		h.last = resp_rows[i].last;
		KUNIT_EXPECT_EQ(test, xiw_rdmap_read_resp_check(NULL, &h),
				XIW_RESP_STRAY);
		KUNIT_EXPECT_EQ_MSG(test, xiw_rdmap_read_resp_check(&s, &h),
				    resp_rows[i].check, "row %u", i);
		if (resp_rows[i].check != XIW_OK)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, xiw_rdmap_read_resp_advance(&s, &h),
				    resp_rows[i].advance, "row %u", i);
		KUNIT_EXPECT_EQ(test, s.left, 8 - h.payload_len);
		KUNIT_EXPECT_EQ(test, s.to, 0x1008 + h.payload_len);
	}
}

/* Covers: RDMAP-34 */
static void rdmap_empty_read_response(struct kunit *test)
{
	struct xiw_read_sink s = { 0xbeef, 0x1000, 0 };
	struct xiw_ddp_hdr h = {
		.tagged = true,
		.last = true,
		.opcode = XIW_OP_READ_RESP,
		.stag = 0x1234,
		.to = U64_MAX,
	};

	KUNIT_EXPECT_EQ(test, xiw_rdmap_read_resp_check(&s, &h), XIW_OK);
	KUNIT_EXPECT_EQ(test, xiw_rdmap_read_resp_advance(&s, &h), XIW_OK);
	h.stag = 0xbeef;
	h.to = 0x1000;
	h.payload_len = 1;
	KUNIT_EXPECT_EQ(test, xiw_rdmap_read_resp_check(&s, &h),
			XIW_RESP_BAD_PLACE);
}

/* A buffer [base, base + size) and an access. */
static const struct {
	u64 to;
	u64 len;
	u64 base;
	u64 size;
	enum xiw_range want;
} range_rows[] = {
	{ 0x1000, 0x100, 0x1000, 0x100, XIW_RANGE_FITS },
	{ 0x1000, 0x101, 0x1000, 0x100, XIW_RANGE_BEYOND },
	{ 0x0fff, 0x100, 0x1000, 0x100, XIW_RANGE_BEYOND },
	{ 0x0fff, 0x001, 0x1000, 0x100, XIW_RANGE_BEYOND },
	{ 0x10ff, 0x001, 0x1000, 0x100, XIW_RANGE_FITS },
	{ 0x10ff, 0x002, 0x1000, 0x100, XIW_RANGE_BEYOND },
	{ 0x1100, 0x001, 0x1000, 0x100, XIW_RANGE_BEYOND },
	{ 0x1101, 0x001, 0x1000, 0x100, XIW_RANGE_BEYOND },
	{ 0xfffffffffffffffc, 8, 0x1000, 0x100, XIW_RANGE_WRAPS },
	{ 0xfffffffffffffff7, 8, 0x1000, 0x100, XIW_RANGE_BEYOND },
	{ 0xfffffffffffffff8, 8, 0x1000, 0x100, XIW_RANGE_WRAPS },
	{ 0xfffffffffffff000, 0x2000, 0, U64_MAX, XIW_RANGE_WRAPS },
	{ 0xffffffffffffff00, 0xff, 0xffffffffffffff00, 0xff,
	  XIW_RANGE_FITS },
	{ 0xffffffffffffff00, 0xfe, 0xffffffffffffff00, 0xff,
	  XIW_RANGE_FITS },
	{ 0xfffffffffffffeff, 0x10, 0xffffffffffffff00, 0xff,
	  XIW_RANGE_BEYOND },
	{ 0, U64_MAX, 0, U64_MAX, XIW_RANGE_FITS },
	{ 1, U64_MAX, 0, U64_MAX, XIW_RANGE_WRAPS },
	{ 0, 1, 0, 0, XIW_RANGE_BEYOND },
	{ U64_MAX, U64_MAX, 0, U64_MAX, XIW_RANGE_WRAPS },
};

/* Covers: DDP-24 DDP-25 RDMAP-26 */
static void rdmap_ranges(struct kunit *test)
{
	enum xiw_range got;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(range_rows); i++) {
		got = xiw_rdmap_range_check(range_rows[i].to,
					    range_rows[i].len,
					    range_rows[i].base,
					    range_rows[i].size);
		KUNIT_EXPECT_EQ_MSG(test, (int)got, (int)range_rows[i].want,
				    "row %u", i);
	}
}

static struct kunit_case rdmap_cases[] = {
	KUNIT_CASE(rdmap_opcode_table),
	KUNIT_CASE(rdmap_read_request),
	KUNIT_CASE(rdmap_read_request_after_some_data),
	KUNIT_CASE(rdmap_atomic_request),
	KUNIT_CASE(rdmap_atomic_operation_codes),
	KUNIT_CASE(rdmap_atomic_response),
	KUNIT_CASE(rdmap_immediate_data),
	KUNIT_CASE(rdmap_read_response_must_match),
	KUNIT_CASE(rdmap_empty_read_response),
	KUNIT_CASE(rdmap_ranges),
	{}
};

static struct kunit_suite rdmap_suite = {
	.name = "xiw_rdmap",
	.test_cases = rdmap_cases,
};

kunit_test_suite(rdmap_suite);
