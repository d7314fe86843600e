// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Terminate: the code and the headers of every reason, the message vectors in
 * both directions, and the status for received codes.
 */
#include <linux/kernel.h>
#include <linux/unaligned.h>

#include "../term.h"
#include "util.h"

static const struct {
	enum xiw_reason reason;
	u16 code;
} code_rows[] = {
	{ XIW_BAD_SEGMENT_LEN, 0x1000 },
	{ XIW_BAD_DV_TAGGED, 0x1104 },
	{ XIW_BAD_DV_UNTAGGED, 0x1206 },
	{ XIW_BAD_RV, 0x0205 },
	{ XIW_BAD_OPCODE, 0x0206 },
	{ XIW_BAD_T_BIT, 0x0206 },
	{ XIW_BAD_QN, 0x1201 },
	{ XIW_WRITE_BAD_STAG, 0x1100 },
	{ XIW_WRITE_BAD_OWNER, 0x1102 },
	{ XIW_WRITE_BAD_RIGHTS, 0x1100 },
	{ XIW_WRITE_WRAP, 0x1103 },
	{ XIW_WRITE_BOUNDS, 0x1101 },
	{ XIW_RESP_STRAY, 0x0206 },
	{ XIW_RESP_BAD_STAG, 0x1100 },
	{ XIW_RESP_BAD_PLACE, 0x1101 },
	{ XIW_RESP_SINK_GONE, 0x1100 },
	{ XIW_RESP_SHORT, 0x02ff },
	{ XIW_BAD_MSN, 0x1203 },
	{ XIW_NO_BUFFER, 0x1202 },
	{ XIW_BAD_MO, 0x1204 },
	{ XIW_MSG_TOO_LONG, 0x1205 },
	{ XIW_RECV_FAULT, 0x1000 },
	{ XIW_INV_BAD_STAG, 0x0209 },
	{ XIW_INV_BAD_OWNER, 0x0109 },
	{ XIW_SRC_BAD_STAG, 0x0100 },
	{ XIW_SRC_BAD_OWNER, 0x0103 },
	{ XIW_SRC_BAD_RIGHTS, 0x0102 },
	{ XIW_SRC_WRAP, 0x0104 },
	{ XIW_SRC_BOUNDS, 0x0101 },
	{ XIW_BAD_MSG_LEN, 0x02ff },
	{ XIW_ATOMIC_BAD_OP, 0x0206 },
	{ XIW_ATOMIC_UNALIGNED, 0x0207 },
	{ XIW_ATOMIC_BAD_ID, 0x02ff },
	{ XIW_MPA_LOST, 0x2001 },
	{ XIW_MPA_BAD_CRC, 0x2002 },
	{ XIW_MPA_BAD_MARKER, 0x2003 },
	{ XIW_MPA_BAD_FRAME, 0x2004 },
	{ XIW_MPA_LOCAL, 0x2005 },
	{ XIW_MPA_NO_IRD, 0x2006 },
	{ XIW_MPA_NO_RTR, 0x2007 },
	{ XIW_LOCAL_FAULT, 0x0000 },
};

/* Covers: DDP-03 DDP-04 DDP-17 DDP-18 DDP-19 DDP-20 DDP-21 DDP-24 DDP-25 */
/* Covers: DDP-29 RDMAP-03 RDMAP-04 RDMAP-05 RDMAP-06 RDMAP-26 RDMAP-27 */
/* Covers: RDMAP-33 RDMAP-34 RDMAP-35 ATOM-15 ATOM-18 ATOM-23 IMM-11 TERM-16 */
static void term_every_reason_has_its_code(struct kunit *test)
{
	unsigned int i;

	/* All reasons but XIW_OK and XIW_TERM_MALFORMED have a code. */
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(code_rows),
			(size_t)XIW_REASON_COUNT - 2);
	for (i = 0; i < ARRAY_SIZE(code_rows); i++) {
		KUNIT_EXPECT_EQ(test, (unsigned int)code_rows[i].reason, i + 1);
		KUNIT_EXPECT_EQ(test, xiw_term_code(code_rows[i].reason),
				code_rows[i].code);
	}
	KUNIT_EXPECT_EQ(test, xiw_term_code(XIW_OK), 0);
	KUNIT_EXPECT_EQ(test, xiw_term_code(XIW_TERM_MALFORMED), 0);
	KUNIT_EXPECT_EQ(test, xiw_term_code(XIW_REASON_COUNT), 0);
}

/* Covers: TERM-07 TERM-12 MPA-38 MPA-39 */
static void term_not_every_fault_is_answered(struct kunit *test)
{
	unsigned int reason;
	bool silent;

	for (reason = 0; reason < XIW_REASON_COUNT; reason++) {
		silent = reason == XIW_OK || reason == XIW_MPA_LOST ||
			 reason == XIW_MPA_BAD_FRAME ||
			 reason == XIW_TERM_MALFORMED;
		KUNIT_EXPECT_EQ(test, xiw_term_wanted(reason, XIW_OP_SEND),
				!silent);
		KUNIT_EXPECT_EQ(test, xiw_term_wanted(reason, XIW_OP_UNKNOWN),
				!silent);
		KUNIT_EXPECT_FALSE(test, xiw_term_wanted(reason,
							 XIW_OP_TERMINATE));
	}
}

/* Vectors, each with its reason and offending segment. */
static const struct {
	const char *vector;
	enum xiw_reason reason;
	bool offender;
	u32 ulpdu_len;
	const char *hdr;
	bool read_req;
} vector_rows[] = {
	{ "T23", XIW_LOCAL_FAULT, false, 0, "", false },
	{ "T23", XIW_LOCAL_FAULT, true, 26, "4143", false },
	{ "T24", XIW_WRITE_BAD_STAG, true, 22,
	  "c140dead00010000000000001000", false },
	{ "T25", XIW_NO_BUFFER, true, 118,
	  "414300000000000000000000000900000000", false },
	{ "T26", XIW_SRC_BAD_STAG, true, 46,
	  "414100000000000000010000000700000000", true },
	{ "T27", XIW_ATOMIC_UNALIGNED, true, 70,
	  "414a00000000000000010000000800000000", false },
	{ "T28", XIW_BAD_OPCODE, true, 26,
	  "414800000000000000000000000a00000000", false },
};

/* Covers: TERM-01 TERM-02 TERM-03 TERM-04 TERM-05 */
static void term_encode_vectors(struct kunit *test)
{
	static const struct xiw_read_req read_req = {
		.sink_stag = 0xbeef,
		.sink_to = 0x1000,
		.size = 0x2000,
		.src_stag = 0xdead0001,
		.src_to = 0x800,
	};
	u8 want[XIW_TERM_ULPDU_MAX], got[XIW_TERM_ULPDU_MAX];
	struct xiw_term_offender off;
	unsigned int i;
	u32 len;

	for (i = 0; i < ARRAY_SIZE(vector_rows); i++) {
		memset(&off, 0, sizeof(off));
		off.ulpdu_len = vector_rows[i].ulpdu_len;
		xiw_test_hex(test, vector_rows[i].hdr, off.hdr,
			     sizeof(off.hdr) + 1);
		if (vector_rows[i].read_req)
			off.read_req = &read_req;
		len = xiw_test_hex(test,
				   xiw_test_vector(test,
						   vector_rows[i].vector)->hex,
				   want, sizeof(want) + 1);
		KUNIT_ASSERT_EQ(test, xiw_term_encode(got,
						      vector_rows[i].reason,
						      vector_rows[i].offender ?
						      &off : NULL), len);
		KUNIT_EXPECT_MEMEQ(test, got, want, len);
	}
}

/* Covers: MPA-70 MPA-78 TERM-05 TERM-16 */
static void term_encode_mpa_errors(struct kunit *test)
{
	static const struct {
		enum xiw_reason reason;
		const char *tail;
	} rows[] = {
		{ XIW_MPA_BAD_CRC, "20020000" },
		{ XIW_MPA_BAD_MARKER, "20030000" },
		{ XIW_MPA_LOCAL, "20050000" },
		{ XIW_MPA_NO_IRD, "20060000" },
		{ XIW_MPA_NO_RTR, "20070000" },
	};
	static const char * const crcs[] = {
		"7fe42585", "01766420", "1680d5f1", "6540fb1b", "1bd2babe",
	};
	static const struct xiw_term_offender off = {
		.ulpdu_len = 22,
		.hdr = { 0xc1, 0x40 },
	};
	u8 ulpdu[XIW_TERM_ULPDU_MAX], want[22], fpdu[28], crc[4];
	struct xiw_mpa_tx tx;
	unsigned int i;

	xiw_mpa_tx_init(&tx, false);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		xiw_test_hex(test, "4147 00000000 00000002 00000001 00000000",
			     want, sizeof(want));
		xiw_test_hex(test, rows[i].tail, want + 18, 5);
		KUNIT_ASSERT_EQ(test, xiw_term_encode(ulpdu, rows[i].reason,
						      NULL), 22U);
		KUNIT_EXPECT_MEMEQ(test, ulpdu, want, 22);
		/* MPA errors quote no headers. */
		KUNIT_ASSERT_EQ(test, xiw_term_encode(ulpdu, rows[i].reason,
						      &off), 22U);
		KUNIT_EXPECT_MEMEQ(test, ulpdu, want, 22);
		KUNIT_ASSERT_EQ(test, xiw_test_tx_fpdu(&tx, ulpdu, 22, fpdu),
				28U);
		xiw_test_hex(test, crcs[i], crc, 5);
		KUNIT_EXPECT_MEMEQ(test, fpdu + 24, crc, 4);
	}
}

/* Covers: TERM-02 TERM-03 TERM-04 TERM-05 */
static void term_headers_follow_figure_10(struct kunit *test)
{
	struct xiw_term_offender off = { .ulpdu_len = 0x1234 };
	struct xiw_read_req read_req = {};
	u8 got[XIW_TERM_ULPDU_MAX];
	unsigned int i, variant;
	u8 bits;
	u32 len;
	u16 code;

	for (i = 0; i < ARRAY_SIZE(code_rows); i++) {
		code = code_rows[i].code;
		for (variant = 0; variant < 3; variant++) {
			off.hdr[0] = variant == 0 ? 0xc1 : 0x41;
			off.read_req = variant == 2 ? &read_req : NULL;
			memset(got, 0xff, sizeof(got));
			len = xiw_term_encode(got, code_rows[i].reason, &off);

			bits = 0xc0;
			if (code >= 0x2000 || code >> 8 == 0x10 || !(code >> 8))
				bits = 0;
			else if (code >> 8 == 0x01 && variant == 2)
				bits = 0xe0;
			KUNIT_EXPECT_EQ(test, get_unaligned_be16(got + 18),
					code);
			KUNIT_EXPECT_EQ(test, got[20], bits);
			KUNIT_EXPECT_EQ(test, got[21], 0);
			KUNIT_EXPECT_EQ(test, len,
					!bits ? 22U : bits == 0xe0 ? 70U :
					variant == 0 ? 38U : 42U);
			if (bits)
				KUNIT_EXPECT_EQ(test, 0x1234,
						get_unaligned_be16(got + 22));
		}
	}
}

/* Covers: TERM-06 */
static void term_quotes_the_advanced_read(struct kunit *test)
{
	struct xiw_read_req r = { 0xbeef, 0x1000, 0x2000, 0xdead0001, 0x800 };
	struct xiw_term_offender off = { .ulpdu_len = 46, .read_req = &r };
	struct xiw_read_req back;
	u8 got[XIW_TERM_ULPDU_MAX];

	off.hdr[0] = 0x41;
	off.hdr[1] = 0x41;
	xiw_rdmap_read_req_advance(&r, 0x600);
	KUNIT_ASSERT_EQ(test, xiw_term_encode(got, XIW_SRC_BAD_STAG, &off),
			70U);
	KUNIT_ASSERT_EQ(test, xiw_rdmap_read_req_decode(got + 42, 28, &back),
			XIW_OK);
	KUNIT_EXPECT_EQ(test, back.sink_stag, 0xbeefU);
	KUNIT_EXPECT_EQ(test, back.sink_to, 0x1600ULL);
	KUNIT_EXPECT_EQ(test, back.size, 0x1a00U);
	KUNIT_EXPECT_EQ(test, back.src_stag, 0xdead0001U);
	KUNIT_EXPECT_EQ(test, back.src_to, 0xe00ULL);
}

/* Covers: TERM-12 TERM-14 */
static void term_decode_truncated_at_every_byte(struct kunit *test)
{
	u8 buf[XIW_TERM_ULPDU_MAX + 1], *cut;
	enum xiw_reason ret;
	struct xiw_term t;
	unsigned int i;
	u32 len, n, hdr;

	for (i = 0; i < xiw_test_vector_count; i++) {
		len = xiw_test_hex(test, xiw_test_vectors[i].hex, buf,
				   sizeof(buf));
		if (buf[1] != 0x47)
			continue;
		hdr = len == 38 ? 14 : 18;
		for (n = 0; n <= len - 18; n++) {
			cut = kunit_kzalloc(test, n + !n, GFP_KERNEL);
			KUNIT_ASSERT_NOT_NULL(test, cut);
			memcpy(cut, buf + 18, n);
			ret = xiw_term_decode(cut, n, &t);
			kunit_kfree(test, cut);
			if (n < 4) {
				KUNIT_EXPECT_EQ(test, ret, XIW_TERM_MALFORMED);
				continue;
			}
			KUNIT_ASSERT_EQ(test, ret, XIW_OK);
			KUNIT_EXPECT_EQ(test, t.code,
					get_unaligned_be16(buf + 18));
			KUNIT_EXPECT_EQ(test, t.has_hdr, n >= 6 + hdr);
			if (!t.has_hdr)
				continue;
			KUNIT_EXPECT_EQ(test, t.tagged, hdr == 14);
			KUNIT_EXPECT_EQ(test, t.opcode, buf[25] & 0xf);
			if (t.tagged)
				continue;
			KUNIT_EXPECT_EQ(test, t.qn,
					get_unaligned_be32(buf + 30));
			KUNIT_EXPECT_EQ(test, t.msn,
					get_unaligned_be32(buf + 34));
		}
	}
}

/* Covers: TERM-12 TERM-13 */
static void term_decode_tolerates_anything(struct kunit *test)
{
	/* M D R with only a control word, trailing bytes, foreign codes. */
	static const struct {
		const char *hex;
		u16 code;
	} rows[] = {
		{ "2302 00 00", 0x2302 },
		{ "2302 e0 00", 0x2302 },
		{ "ffff ff ff ffff", 0xffff },
		{ "2002 00 00 0000 000000000000", 0x2002 },
		{ "1100 80 00 0016", 0x1100 },
		{ "0300 00 00", 0x0300 },
	};
	struct xiw_term t;
	unsigned int i;
	u8 buf[32];
	u32 len;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		len = xiw_test_hex(test, rows[i].hex, buf, sizeof(buf));
		KUNIT_ASSERT_EQ(test, xiw_term_decode(buf, len, &t), XIW_OK);
		KUNIT_EXPECT_EQ(test, t.code, rows[i].code);
		KUNIT_EXPECT_FALSE(test, t.has_hdr);
	}
	/* Trailing bytes that no bit announces are not a header. */
	len = xiw_test_hex(test,
			   "1202 80 00 0076 414300000000000000000000000900000000",
			   buf, sizeof(buf));
	KUNIT_ASSERT_EQ(test, xiw_term_decode(buf, len, &t), XIW_OK);
	KUNIT_EXPECT_FALSE(test, t.has_hdr);
	/* A header without M: some devices set only D. */
	len = xiw_test_hex(test,
			   "1202 40 00 0076 414300000000000000000000000900000000",
			   buf, sizeof(buf));
	KUNIT_ASSERT_EQ(test, xiw_term_decode(buf, len, &t), XIW_OK);
	KUNIT_EXPECT_TRUE(test, t.has_hdr);
	KUNIT_EXPECT_EQ(test, t.msn, 9U);
}

static const struct {
	u16 code;
	enum xiw_peer_status peer;
} peer_rows[] = {
	{ 0x0000, XIW_PEER_OP }, { 0x00ff, XIW_PEER_OP },
	{ 0x0100, XIW_PEER_ACCESS }, { 0x0101, XIW_PEER_ACCESS },
	{ 0x0102, XIW_PEER_ACCESS }, { 0x0103, XIW_PEER_ACCESS },
	{ 0x0104, XIW_PEER_ACCESS }, { 0x0105, XIW_PEER_FATAL },
	{ 0x0108, XIW_PEER_FATAL }, { 0x0109, XIW_PEER_INV_REQ },
	{ 0x010a, XIW_PEER_FATAL }, { 0x01ff, XIW_PEER_ACCESS },
	{ 0x0204, XIW_PEER_FATAL }, { 0x0205, XIW_PEER_OP },
	{ 0x0206, XIW_PEER_INV_REQ }, { 0x0207, XIW_PEER_OP },
	{ 0x0208, XIW_PEER_OP }, { 0x0209, XIW_PEER_INV_REQ },
	{ 0x020a, XIW_PEER_FATAL }, { 0x02ff, XIW_PEER_INV_REQ },
	{ 0x0300, XIW_PEER_FATAL }, { 0x1000, XIW_PEER_OP },
	{ 0x10ff, XIW_PEER_OP }, { 0x1100, XIW_PEER_ACCESS },
	{ 0x1101, XIW_PEER_ACCESS }, { 0x1102, XIW_PEER_ACCESS },
	{ 0x1103, XIW_PEER_ACCESS }, { 0x1104, XIW_PEER_OP },
	{ 0x1105, XIW_PEER_FATAL }, { 0x1200, XIW_PEER_FATAL },
	{ 0x1201, XIW_PEER_OP }, { 0x1202, XIW_PEER_OP },
	{ 0x1203, XIW_PEER_OP }, { 0x1204, XIW_PEER_OP },
	{ 0x1205, XIW_PEER_INV_REQ }, { 0x1206, XIW_PEER_OP },
	{ 0x1207, XIW_PEER_FATAL }, { 0x1300, XIW_PEER_FATAL },
	{ 0x2001, XIW_PEER_FATAL }, { 0x2002, XIW_PEER_FATAL },
	{ 0x2007, XIW_PEER_FATAL }, { 0x2302, XIW_PEER_FATAL },
	{ 0xffff, XIW_PEER_FATAL },
};

/* Covers: TERM-13 TERM-14 */
static void term_received_codes_mean(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(peer_rows); i++) {
		KUNIT_EXPECT_EQ_MSG(test,
				    xiw_term_peer_status(peer_rows[i].code,
							 false),
				    peer_rows[i].peer, "%04x",
				    peer_rows[i].code);
		KUNIT_EXPECT_EQ_MSG(test,
				    xiw_term_peer_status(peer_rows[i].code,
							 true),
				    peer_rows[i].code == 0x0207 ?
				    XIW_PEER_INV_REQ : peer_rows[i].peer,
				    "%04x", peer_rows[i].code);
	}
	KUNIT_EXPECT_TRUE(test, xiw_term_unknown_opcode(0x0206));
	KUNIT_EXPECT_FALSE(test, xiw_term_unknown_opcode(0x0205));
	/* Layer and type swapped, as sent by siw. */
	KUNIT_EXPECT_TRUE(test, xiw_term_unknown_opcode(0x2006));
	KUNIT_EXPECT_EQ(test, xiw_term_peer_status(0x2006, true),
			XIW_PEER_INV_REQ);
	KUNIT_EXPECT_EQ(test, xiw_term_peer_status(0x2006, false),
			XIW_PEER_FATAL);
}

/* Covers: TERM-17 RDMAP-09 */
static void term_local_report_of_a_fault(struct kunit *test)
{
	enum xiw_recv_status recv;
	enum xiw_fault_event event;
	unsigned int reason;

	for (reason = 0; reason < XIW_REASON_COUNT; reason++) {
		switch (reason) {
		case XIW_OK:
		case XIW_MPA_LOST:
		case XIW_MPA_BAD_FRAME:
			event = XIW_EVENT_NONE;
			break;
		case XIW_WRITE_BAD_STAG:
		case XIW_WRITE_BAD_OWNER:
		case XIW_WRITE_BAD_RIGHTS:
		case XIW_WRITE_WRAP:
		case XIW_WRITE_BOUNDS:
		case XIW_RESP_BAD_STAG:
		case XIW_RESP_BAD_PLACE:
		case XIW_RESP_SINK_GONE:
		case XIW_INV_BAD_STAG:
		case XIW_INV_BAD_OWNER:
		case XIW_SRC_BAD_STAG:
		case XIW_SRC_BAD_OWNER:
		case XIW_SRC_BAD_RIGHTS:
		case XIW_SRC_WRAP:
		case XIW_SRC_BOUNDS:
			event = XIW_EVENT_ACCESS;
			break;
		case XIW_BAD_OPCODE:
		case XIW_BAD_T_BIT:
		case XIW_BAD_QN:
		case XIW_RESP_STRAY:
		case XIW_RESP_SHORT:
		case XIW_BAD_MSN:
		case XIW_BAD_MO:
		case XIW_MSG_TOO_LONG:
		case XIW_BAD_MSG_LEN:
		case XIW_ATOMIC_BAD_OP:
		case XIW_ATOMIC_UNALIGNED:
		case XIW_ATOMIC_BAD_ID:
			event = XIW_EVENT_REQ;
			break;
		default:
			event = XIW_EVENT_FATAL;
			break;
		}
		KUNIT_EXPECT_EQ_MSG(test, xiw_term_event(reason), event,
				    "reason %u", reason);

		recv = XIW_RECV_FLUSH;
		if (reason >= XIW_INV_BAD_STAG && reason <= XIW_INV_BAD_OWNER)
			recv = XIW_RECV_INV_REQ;
		else if (reason == XIW_MSG_TOO_LONG)
			recv = XIW_RECV_LEN;
		else if (reason == XIW_RECV_FAULT)
			recv = XIW_RECV_PROT;
		KUNIT_EXPECT_EQ_MSG(test, xiw_term_recv_status(reason), recv,
				    "reason %u", reason);
	}
}

static struct kunit_case term_cases[] = {
	KUNIT_CASE(term_every_reason_has_its_code),
	KUNIT_CASE(term_not_every_fault_is_answered),
	KUNIT_CASE(term_encode_vectors),
	KUNIT_CASE(term_encode_mpa_errors),
	KUNIT_CASE(term_headers_follow_figure_10),
	KUNIT_CASE(term_quotes_the_advanced_read),
	KUNIT_CASE(term_decode_truncated_at_every_byte),
	KUNIT_CASE(term_decode_tolerates_anything),
	KUNIT_CASE(term_received_codes_mean),
	KUNIT_CASE(term_local_report_of_a_fault),
	{}
};

static struct kunit_suite term_suite = {
	.name = "xiw_term",
	.test_cases = term_cases,
};

kunit_test_suite(term_suite);
