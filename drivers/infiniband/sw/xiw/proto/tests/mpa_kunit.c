// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * FPDU framing and MPA Request and Reply Frames: the published examples, every
 * Marker phase, every truncation.
 */
#include <linux/crc32c.h>
#include <linux/kernel.h>
#include <linux/unaligned.h>

#include "util.h"

/* Covers: MPA-01 */
static void mpa_fpdu_len_is_padded_to_four(struct kunit *test)
{
	static const struct {
		u32 from;
		u32 to;
	} ranges[] = { { 0, 70 }, { 64700, 64768 }, { 65530, 65535 } };
	unsigned int i;
	u32 n;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		for (n = ranges[i].from; n <= ranges[i].to; n++) {
			unsigned int pad = 0;

			while ((2 + n + pad) % 4)
				pad++;
			KUNIT_EXPECT_EQ(test, xiw_mpa_pad(n), pad);
			KUNIT_EXPECT_EQ(test, xiw_mpa_fpdu_len(n),
					2 + n + pad + 4);
		}
	}
	KUNIT_EXPECT_EQ(test, xiw_mpa_fpdu_len(64768), 64776U);
}

/* Covers: MPA-07 */
static void mpa_crc_is_iscsi_crc32c_little_endian(struct kunit *test)
{
	static const struct {
		const char *covered;
		const char *field;
	} rows[] = {
		{ "313233343536373839", "839206e3" },
		{ "0000000000000000000000000000000000000000000000000000000000000000",
		  "aa36918a" },
		{ "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		  "43aba862" },
		{ "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		  "4e79dd46" },
		{ "1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100",
		  "5cdb3f11" },
		{ "00000000", "c74b6748" },
	};
	u8 buf[32], want[4], field[4];
	unsigned int i;
	u32 len;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		len = xiw_test_hex(test, rows[i].covered, buf, sizeof(buf));
		xiw_test_hex(test, rows[i].field, want, sizeof(want));
		put_unaligned_le32(~crc32c(~0, buf, len), field);
		KUNIT_EXPECT_MEMEQ(test, field, want, 4);
	}
}

/* ULPDU 01 02 .. n and its FPDU. */
static const struct {
	u32 n;
	const char *fpdu;
} pad_rows[] = {
	{ 1, "0001 0100 ce4184fe" },
	{ 2, "0002 0102 4af191f5" },
	{ 3, "0003 0102 0300 0000 aafa1dc9" },
	{ 4, "0004 0102 0304 0000 39ee264a" },
	{ 5, "0005 0102 0304 0500 5a3b0d7f" },
	{ 6, "0006 0102 0304 0506 eaa9a9e1" },
	{ 7, "0007 0102 0304 0506 0700 0000 398fc04d" },
	{ 8, "0008 0102 0304 0506 0708 0000 6488ce33" },
};

/* Covers: MPA-02 MPA-04 MPA-07 MPA-08 */
static void mpa_pads_with_zeros(struct kunit *test)
{
	static const u8 ulpdu[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct xiw_mpa_rx rx;
	struct xiw_mpa_tx tx;
	u8 want[24], got[24];
	unsigned int i;
	u32 len, n;

	xiw_mpa_tx_init(&tx, false);
	xiw_mpa_rx_init(&rx, false);
	for (i = 0; i < ARRAY_SIZE(pad_rows); i++) {
		len = xiw_test_hex(test, pad_rows[i].fpdu, want, sizeof(want));
		KUNIT_ASSERT_EQ(test, len, xiw_test_tx_fpdu(&tx, ulpdu,
							    pad_rows[i].n,
							    got));
		KUNIT_EXPECT_MEMEQ(test, got, want, len);
		KUNIT_ASSERT_EQ(test, xiw_test_rx_fpdu(&rx, got, len, &n),
				XIW_TEST_RX_OK);
		KUNIT_EXPECT_EQ(test, n, pad_rows[i].n);
		KUNIT_EXPECT_MEMEQ(test, got + 2, ulpdu, n);
	}
}

/* Covers: MPA-03 */
static void mpa_accepts_any_padding_content(struct kunit *test)
{
	u8 buf[] = { 0, 5, 1, 2, 3, 4, 5, 0xff, 0, 0, 0, 0 };
	struct xiw_mpa_rx rx;
	u32 n;

	put_unaligned_le32(~crc32c(~0, buf, 8), buf + 8);
	xiw_mpa_rx_init(&rx, false);
	KUNIT_ASSERT_EQ(test, xiw_test_rx_fpdu(&rx, buf, sizeof(buf), &n),
			XIW_TEST_RX_OK);
	KUNIT_EXPECT_EQ(test, n, 5U);
}

/* Covers: MPA-23 */
static void mpa_frames_an_empty_ulpdu(struct kunit *test)
{
	static const struct {
		bool markers;
		const char *fpdu;
	} rows[] = {
		{ false, "00000000 c74b6748" },
		{ true, "00000000 00000000 8ab2288c" },
	};
	struct xiw_mpa_rx rx;
	struct xiw_mpa_tx tx;
	u8 want[12], got[12];
	unsigned int i;
	u32 len, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		len = xiw_test_hex(test, rows[i].fpdu, want, sizeof(want));
		xiw_mpa_tx_init(&tx, rows[i].markers);
		xiw_mpa_rx_init(&rx, rows[i].markers);
		KUNIT_ASSERT_EQ(test, xiw_test_tx_fpdu(&tx, want, 0, got), len);
		KUNIT_EXPECT_MEMEQ(test, got, want, len);
		KUNIT_EXPECT_EQ(test, xiw_test_rx_fpdu(&rx, got, len, &n),
				XIW_TEST_RX_OK);
		KUNIT_EXPECT_EQ(test, n, 0U);
	}
}

/* Covers: MPA-81 MPA-88 */
static void mpa_frames_rtr_messages(struct kunit *test)
{
	/* ULPDU, CRC of the FPDU alone, CRC as first FPDU with Markers */
	static const struct {
		const char *ulpdu;
		const char *crc;
		const char *crc_marked;
	} rows[] = {
		{ "c140 00000000 0000000000000000", "a30572ab", "77c9c755" },
		{
		  "4141 00000000 00000001 00000001 00000000 00000000 0000000000000000 00000000 00000000 0000000000000000",
		  "f2c6dd3d", "8176377e" },
		{ "c142 00000000 0000000000000000", "6975d6ca", "bdb96334" },
		{ "4143 00000000 00000000 00000001 00000000", "587be8c4",
		  "88c1d6fc" },
		{ "c140 deadbeef 1122334455667788", "47c0c5a2", NULL },
		{
		  "4141 00000000 00000001 00000001 00000000 11111111 2222222222222222 00000000 33333333 4444444444444444",
		  "d40695f0", NULL },
		{ "c142 11111111 2222222222222222", "a1f14ff7", NULL },
		{ "4143 00000000 00000000 00000001 00000000 70696e67",
		  "a5487fa7", NULL },
		{ "4143 00000000 00000000 00000002 00000000 70696e67",
		  "8c44d0be", NULL },
	};
	u8 ulpdu[64], crc[4], got[80];
	struct xiw_mpa_tx tx;
	unsigned int i;
	u32 len, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		n = xiw_test_hex(test, rows[i].ulpdu, ulpdu, sizeof(ulpdu));
		xiw_test_hex(test, rows[i].crc, crc, sizeof(crc));
		xiw_mpa_tx_init(&tx, false);
		len = xiw_test_tx_fpdu(&tx, ulpdu, n, got);
		KUNIT_ASSERT_EQ(test, len, xiw_mpa_fpdu_len(n));
		KUNIT_EXPECT_EQ(test, get_unaligned_be16(got), n);
		KUNIT_EXPECT_MEMEQ(test, got + 2, ulpdu, n);
		KUNIT_EXPECT_MEMEQ(test, got + len - 4, crc, 4);
		if (!rows[i].crc_marked)
			continue;
		xiw_test_hex(test, rows[i].crc_marked, crc, sizeof(crc));
		xiw_mpa_tx_init(&tx, true);
		len = xiw_test_tx_fpdu(&tx, ulpdu, n, got);
		KUNIT_ASSERT_EQ(test, len, xiw_mpa_fpdu_len(n) + 4);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(got), 0U);
		KUNIT_EXPECT_MEMEQ(test, got + len - 4, crc, 4);
	}
}

/*
 * RFC 5044 figures 5 and 6: the ULPDU of a Send of 24 zero bytes; as first
 * FPDU with Markers; with a Marker inside; and the first without Markers.
 */
enum figure { FIG_ULPDU, FIG_5, FIG_6, FIG_5_UNMARKED };

static const char * const figures[] = {
	"4143 00000000 00000000 00000001 00000000 000000000000000000000000000000000000000000000000",
	"00000000 002a 4143 00000000 00000000 00000001 00000000 000000000000000000000000000000000000000000000000 52239983",
	"002a 4143 00000000 00000000 00000002 00000000 00000014 000000000000000000000000000000000000000000000000 84925898",
	"002a 4143 00000000 00000000 00000001 00000000 000000000000000000000000000000000000000000000000 b7243ec3",
};

/* Covers: MPA-04 MPA-07 MPA-08 MPA-26 MPA-28 */
static void mpa_reproduces_rfc5044_figures(struct kunit *test)
{
	u8 ulpdu[512] = {}, want[52], got[520];
	struct xiw_mpa_tx tx;
	u32 n;

	n = xiw_test_hex(test, figures[FIG_ULPDU], ulpdu, sizeof(ulpdu));
	KUNIT_ASSERT_EQ(test, n, 42U);
	xiw_mpa_tx_init(&tx, true);
	xiw_test_hex(test, figures[FIG_5], want, sizeof(want));
	KUNIT_ASSERT_EQ(test, xiw_test_tx_fpdu(&tx, ulpdu, n, got), 52U);
	KUNIT_EXPECT_MEMEQ(test, got, want, 52);

	xiw_mpa_tx_init(&tx, false);
	xiw_test_hex(test, figures[FIG_5_UNMARKED], want, sizeof(want));
	KUNIT_ASSERT_EQ(test, xiw_test_tx_fpdu(&tx, ulpdu, n, got), 48U);
	KUNIT_EXPECT_MEMEQ(test, got, want, 48);

	/* A first FPDU of 492 bytes, then the one of figure 6. */
	xiw_mpa_tx_init(&tx, true);
	KUNIT_ASSERT_EQ(test, xiw_test_tx_fpdu(&tx, ulpdu, 482, got), 492U);
	ulpdu[13] = 2;
	xiw_test_hex(test, figures[FIG_6], want, sizeof(want));
	KUNIT_ASSERT_EQ(test, xiw_test_tx_fpdu(&tx, ulpdu, n, got), 52U);
	KUNIT_EXPECT_MEMEQ(test, got, want, 52);
}

/* Covers: MPA-08 */
static void mpa_crc_covers_every_byte(struct kunit *test)
{
	struct xiw_mpa_rx rx;
	u8 good[52], buf[52];
	u32 i, n;

	xiw_test_hex(test, figures[FIG_6], good, sizeof(good));
	for (i = 2; i < sizeof(good); i++) {
		memcpy(buf, good, sizeof(buf));
		buf[i] ^= 0x10;
		xiw_mpa_rx_init(&rx, true);
		rx.pos = 492;
		KUNIT_EXPECT_EQ_MSG(test,
				    xiw_test_rx_fpdu(&rx, buf, sizeof(buf), &n),
				    XIW_TEST_RX_CRC, "byte %u", i);
	}
}

/* Covers: MPA-17 MPA-18 MPA-19 */
static void mpa_mulpdu_of_known_sizes(struct kunit *test)
{
	static const struct {
		u32 emss;
		u32 plain;
		u32 marked;
	} rows[] = {
		{ 0, 128, 128 }, { 88, 128, 128 }, { 136, 130, 128 },
		{ 512, 506, 502 }, { 536, 530, 522 }, { 1448, 1442, 1430 },
		{ 1460, 1454, 1442 }, { 1461, 1454, 1442 },
		{ 1463, 1454, 1442 }, { 8948, 8942, 8870 },
		{ 65483, 64768, 64768 }, { U32_MAX, 64768, 64768 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ(test, xiw_mpa_mulpdu(rows[i].emss, false),
				rows[i].plain);
		KUNIT_EXPECT_EQ(test, xiw_mpa_mulpdu(rows[i].emss, true),
				rows[i].marked);
	}
}

/* Covers: MPA-17 MPA-18 MPA-19 */
static void mpa_full_fpdu_fits_segment_in_every_phase(struct kunit *test)
{
	u32 emss, pos, n;

	for (emss = 140; emss <= 9000; emss += emss < 1600 ? 1 : 37) {
		n = xiw_mpa_mulpdu(emss, false);
		KUNIT_EXPECT_LE(test, xiw_mpa_fpdu_len(n), emss);
		KUNIT_EXPECT_GT(test, xiw_mpa_fpdu_len(n) + 4, emss);
		KUNIT_EXPECT_EQ(test, xiw_mpa_pad(n), 0U);

		n = xiw_mpa_mulpdu(emss, true);
		for (pos = 0; pos < 512; pos += 4)
			KUNIT_EXPECT_LE(test, xiw_mpa_fpdu_len(n) + 4 *
					xiw_mpa_marker_count(pos, n), emss);
	}
}

/* The rule of RFC 5044 section 4.3, implemented literally. */
static u32 naive_marker_count(u32 pos, u32 n)
{
	u32 words = xiw_mpa_fpdu_len(n) / 4;
	u32 count = 0;

	while (words--) {
		if (pos % 512 == 0) {
			count++;
			pos += 4;
		}
		pos += 4;
	}
	return count;
}

/* Covers: MPA-27 MPA-32 */
static void mpa_marker_count_matches_naive(struct kunit *test)
{
	u32 pos, n;

	for (pos = 0; pos < 512; pos += 4) {
		for (n = 0; n <= 1040; n++)
			KUNIT_EXPECT_EQ(test, xiw_mpa_marker_count(pos, n),
					naive_marker_count(pos, n));
		KUNIT_EXPECT_EQ(test, xiw_mpa_marker_count(pos, 64768),
				naive_marker_count(pos, 64768));
		KUNIT_EXPECT_EQ(test, xiw_mpa_marker_count(pos, 65535),
				naive_marker_count(pos, 65535));
	}
	KUNIT_EXPECT_EQ(test, xiw_mpa_marker_count(0, 64768), 128U);
	/* The Marker period divides 2^32, so positions may wrap. */
	KUNIT_EXPECT_EQ(test, xiw_mpa_marker_count(U32_MAX - 3, 18),
			xiw_mpa_marker_count(508, 18));
}

/* ULPDU byte i is i & 0xff; positions count from SeqStart. */
struct marker_row {
	u32 ulpdu[2];
	u32 end[2];
	const char *crc[2];
	struct {
		u32 pos;
		u16 pointer;
	} marker[3];
	unsigned int markers;
};

static const struct marker_row marker_rows[] = {
	{ { 506 }, { 520 }, { "29ecd909" }, { { 0, 0 }, { 512, 0x1fc } }, 2 },
	{ { 505 }, { 520 }, { "53a8e8ed" }, { { 0, 0 }, { 512, 0x1fc } }, 2 },
	{ { 504 }, { 520 }, { "2dbc0f96" }, { { 0, 0 }, { 512, 0x1fc } }, 2 },
	{ { 503 }, { 520 }, { "d780c02f" }, { { 0, 0 }, { 512, 0x1fc } }, 2 },
	{ { 502, 18 }, { 512, 540 }, { "228adb98", "f9db43fc" },
	  { { 0, 0 }, { 512, 0 } }, 2 },
	{ { 498, 18 }, { 508, 536 }, { "a198e4df", "35d3b6be" },
	  { { 0, 0 }, { 512, 4 } }, 2 },
	{ { 1200 }, { 1220 }, { "2b299fed" },
	  { { 0, 0 }, { 512, 0x1fc }, { 1024, 0x3fc } }, 3 },
	{ { 506, 506 }, { 520, 1036 }, { "29ecd909", "ce171d13" },
	  { { 0, 0 }, { 512, 0x1fc }, { 1024, 0x1f8 } }, 3 },
};

/* Encode a row's FPDUs back to back and compare their ends and CRCs. */
static u32 build_marker_row(struct kunit *test, const struct marker_row *row,
			    const u8 *ulpdu, u8 *stream)
{
	struct xiw_mpa_tx tx;
	unsigned int i;
	u8 crc[4];
	u32 len = 0;

	xiw_mpa_tx_init(&tx, true);
	for (i = 0; i < 2 && row->ulpdu[i]; i++) {
		len += xiw_test_tx_fpdu(&tx, ulpdu, row->ulpdu[i],
					stream + len);
		KUNIT_ASSERT_EQ(test, len, row->end[i]);
		xiw_test_hex(test, row->crc[i], crc, sizeof(crc));
		KUNIT_EXPECT_MEMEQ(test, stream + len - 4, crc, 4);
	}
	return len;
}

/* Covers: MPA-27 MPA-28 MPA-29 MPA-30 MPA-31 MPA-32 */
static void mpa_places_markers(struct kunit *test)
{
	u8 *stream = kunit_kzalloc(test, 2048, GFP_KERNEL);
	u8 *ulpdu = kunit_kzalloc(test, 2048, GFP_KERNEL);
	const struct marker_row *row;
	unsigned int i, k;
	u32 len;

	KUNIT_ASSERT_NOT_NULL(test, stream);
	KUNIT_ASSERT_NOT_NULL(test, ulpdu);
	for (i = 0; i < 2048; i++)
		ulpdu[i] = i;
	for (i = 0; i < ARRAY_SIZE(marker_rows); i++) {
		row = &marker_rows[i];
		len = build_marker_row(test, row, ulpdu, stream);
		for (k = 0; k < row->markers; k++)
			KUNIT_EXPECT_EQ(test, get_unaligned_be32(stream +
						row->marker[k].pos),
					(u32)row->marker[k].pointer);
		KUNIT_EXPECT_EQ(test, row->markers, (len + 511) / 512);
	}
}

/* Covers: MPA-34 */
static void mpa_strips_markers(struct kunit *test)
{
	u8 *stream = kunit_kzalloc(test, 2048, GFP_KERNEL);
	u8 *ulpdu = kunit_kzalloc(test, 2048, GFP_KERNEL);
	const struct marker_row *row;
	struct xiw_mpa_rx rx;
	unsigned int i, k;
	u32 n, from;

	KUNIT_ASSERT_NOT_NULL(test, stream);
	KUNIT_ASSERT_NOT_NULL(test, ulpdu);
	for (i = 0; i < 2048; i++)
		ulpdu[i] = i;
	for (i = 0; i < ARRAY_SIZE(marker_rows); i++) {
		row = &marker_rows[i];
		build_marker_row(test, row, ulpdu, stream);
		xiw_mpa_rx_init(&rx, true);
		for (k = 0, from = 0; k < 2 && row->ulpdu[k]; k++) {
			KUNIT_ASSERT_EQ(test,
					xiw_test_rx_fpdu(&rx, stream + from,
							 row->end[k] - from,
							 &n), XIW_TEST_RX_OK);
			KUNIT_EXPECT_EQ(test, n, row->ulpdu[k]);
			KUNIT_EXPECT_MEMEQ(test, stream + from + 2, ulpdu, n);
			from = row->end[k];
			KUNIT_EXPECT_EQ(test, rx.pos, from);
		}
	}
}

/* Change one byte of the second Marker of a frame and correct the CRC. */
static enum xiw_test_rx receive_with_marker(struct kunit *test, u32 offset,
					    u8 value)
{
	u8 *stream = kunit_kzalloc(test, 2048, GFP_KERNEL);
	u8 *ulpdu = kunit_kzalloc(test, 2048, GFP_KERNEL);
	enum xiw_test_rx result;
	struct xiw_mpa_rx rx;
	struct xiw_mpa_tx tx;
	u32 len, n;

	KUNIT_ASSERT_NOT_NULL(test, stream);
	KUNIT_ASSERT_NOT_NULL(test, ulpdu);
	xiw_mpa_tx_init(&tx, true);
	len = xiw_test_tx_fpdu(&tx, ulpdu, 1200, stream);
	stream[512 + offset] = value;
	put_unaligned_le32(~crc32c(~0, stream, len - 4), stream + len - 4);
	xiw_mpa_rx_init(&rx, true);
	result = xiw_test_rx_fpdu(&rx, stream, len, &n);
	kunit_kfree(test, ulpdu);
	kunit_kfree(test, stream);
	return result;
}

/* Covers: MPA-34 */
static void mpa_checks_marker_pointer(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, receive_with_marker(test, 3, 0xfc),
			XIW_TEST_RX_OK);
	/* Low two bits and the reserved half are ignored. */
	KUNIT_EXPECT_EQ(test, receive_with_marker(test, 3, 0xff),
			XIW_TEST_RX_OK);
	KUNIT_EXPECT_EQ(test, receive_with_marker(test, 0, 0xa5),
			XIW_TEST_RX_OK);
	KUNIT_EXPECT_EQ(test, receive_with_marker(test, 1, 0x5a),
			XIW_TEST_RX_OK);
	KUNIT_EXPECT_EQ(test, receive_with_marker(test, 3, 0xf8),
			XIW_TEST_RX_MARKER);
	KUNIT_EXPECT_EQ(test, receive_with_marker(test, 2, 0x81),
			XIW_TEST_RX_MARKER);
	KUNIT_EXPECT_EQ(test, receive_with_marker(test, 2, 0x00),
			XIW_TEST_RX_MARKER);
}

/* Covers: MPA-24 MPA-34 */
static void mpa_survives_largest_length_field(struct kunit *test)
{
	u8 *stream = kunit_kzalloc(test, XIW_TEST_FPDU_MAX, GFP_KERNEL);
	u8 *ulpdu = kunit_kzalloc(test, 65536, GFP_KERNEL);
	struct xiw_mpa_rx rx;
	struct xiw_mpa_tx tx;
	u32 len, n;

	KUNIT_ASSERT_NOT_NULL(test, stream);
	KUNIT_ASSERT_NOT_NULL(test, ulpdu);
	xiw_mpa_tx_init(&tx, false);
	xiw_mpa_rx_init(&rx, false);
	len = xiw_test_tx_fpdu(&tx, ulpdu, 65535, stream);
	KUNIT_EXPECT_EQ(test, len, 65544U);
	KUNIT_EXPECT_EQ(test, xiw_test_rx_fpdu(&rx, stream, len, &n),
			XIW_TEST_RX_OK);
	KUNIT_EXPECT_EQ(test, n, 65535U);

	/* A pointer of 16 bits can span 65022 bytes, not more. */
	for (n = XIW_MPA_MARKED_MAX; n <= XIW_MPA_MARKED_MAX + 1; n++) {
		u32 got;

		xiw_mpa_tx_init(&tx, true);
		xiw_mpa_rx_init(&rx, true);
		len = xiw_test_tx_fpdu(&tx, ulpdu, n, stream);
		KUNIT_EXPECT_EQ(test, xiw_test_rx_fpdu(&rx, stream, len, &got),
				n == XIW_MPA_MARKED_MAX ?
				XIW_TEST_RX_OK : XIW_TEST_RX_MARKER);
	}
}

/* Covers: MPA-24 */
static void mpa_strip_stops_at_a_cut_marker(struct kunit *test)
{
	u8 buf[516] = {};
	struct xiw_mpa_rx rx;
	u32 cut;

	for (cut = 512; cut <= 516; cut++) {
		xiw_mpa_rx_init(&rx, true);
		xiw_mpa_rx_begin(&rx);
		KUNIT_EXPECT_EQ(test, xiw_mpa_rx_strip(&rx, buf, cut), 508U);
		KUNIT_EXPECT_EQ(test, rx.pos, cut < 516 ? 512U : 516U);
	}
	xiw_mpa_rx_init(&rx, true);
	xiw_mpa_rx_begin(&rx);
	KUNIT_EXPECT_EQ(test, xiw_mpa_rx_strip(&rx, buf, 3), 0U);
}

/* An MPA frame without its key, and its decoded form. */
struct frame_row {
	const char *name;
	const char *hex;
	struct xiw_mpa_frame f;
};

#define REV1(...)	{ .rev = 1, .pd_off = 20, __VA_ARGS__ }
#define REV2(...)	{ .rev = 2, .pd_off = 24, .enhanced = true, \
			  __VA_ARGS__ }
#define ENH(a, types, i, o) \
	.enh = { .p2p = (a), .rtr = (types), .ird = (i), .ord = (o) }
#define RTR_CD		(XIW_RTR_WRITE | XIW_RTR_READ)

static const struct frame_row frame_rows[] = {
	{ "SF-01", "40010000", REV1(.crc = true) },
	{ "SF-02", "c0010005 68656c6c6f",
	  REV1(.crc = true, .markers = true, .pd_len = 5) },
	{ "SF-03", "00010000", REV1() },
	{ "SF-04", "40010000", REV1(.reply = true, .crc = true) },
	{ "SF-05", "60010002 6e6f",
	  REV1(.reply = true, .crc = true, .reject = true, .pd_len = 2) },
	{ "SF-06", "50020004 8010c010",
	  REV2(.crc = true, ENH(true, RTR_CD, 16, 16)) },
	{ "SF-07", "50020004 8010c010",
	  REV2(.reply = true, .crc = true, ENH(true, RTR_CD, 16, 16)) },
	{ "SF-08", "50020004 80088004",
	  REV2(.reply = true, .crc = true, ENH(true, XIW_RTR_WRITE, 8, 4)) },
	{ "SF-09", "50020009 00010000 7270696e67",
	  REV2(.crc = true, .pd_len = 5, ENH(false, 0, 1, 0)) },
	{ "SF-10", "50020004 00000001",
	  REV2(.reply = true, .crc = true, ENH(false, 0, 0, 1)) },
	{ "SF-11", "50020004 ffffffff",
	  REV2(.crc = true, ENH(true, XIW_RTR_ALL, 0x3fff, 0x3fff)) },
	{ "SF-12", "50020004 bfffbfff",
	  REV2(.reply = true, .crc = true,
	       ENH(true, XIW_RTR_WRITE, 0x3fff, 0x3fff)) },
	{ "SF-13", "50020004 80044000",
	  REV2(.crc = true, ENH(true, XIW_RTR_READ, 4, 0)) },
	{ "SF-14", "50020004 80014004",
	  REV2(.reply = true, .crc = true, ENH(true, XIW_RTR_READ, 1, 4)) },
	{ "SF-15", "70020004 8010c020",
	  REV2(.reply = true, .crc = true, .reject = true,
	       ENH(true, RTR_CD, 16, 32)) },
	{ "SF-16", "40020000", { .rev = 2, .pd_off = 20, .crc = true } },
	{ "SF-17", "40020000",
	  { .rev = 2, .pd_off = 20, .reply = true, .crc = true } },
	{ "SF-17a", "50020004 80100010",
	  REV2(.reply = true, .crc = true, ENH(true, 0, 16, 16)) },
	{ "SF-18", "90020004 80018001",
	  REV2(.markers = true, ENH(true, XIW_RTR_WRITE, 1, 1)) },
};

/* Key and the bytes from offset 16. */
static u32 build_frame(struct kunit *test, bool reply, const char *hex,
		       u8 *buf, u32 size)
{
	memcpy(buf, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	return 16 + xiw_test_hex(test, hex, buf + 16, size - 16);
}

static void expect_frame(struct kunit *test, const struct xiw_mpa_frame *f,
			 const struct xiw_mpa_frame *want, const char *name)
{
	KUNIT_EXPECT_EQ_MSG(test, f->reply, want->reply, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, f->markers, want->markers, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, f->crc, want->crc, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, f->reject, want->reject, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, f->enhanced, want->enhanced, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, f->rev, want->rev, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, f->pd_len, want->pd_len, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, f->pd_off, want->pd_off, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, f->enh.p2p, want->enh.p2p, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, f->enh.rtr, want->enh.rtr, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, f->enh.ird, want->enh.ird, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, f->enh.ord, want->enh.ord, "%s", name);
}

/* Covers: MPA-35 MPA-36 MPA-48 */
static void mpa_frames_decode_and_encode(struct kunit *test)
{
	const struct frame_row *row;
	struct xiw_mpa_frame f;
	u8 want[64], got[64];
	unsigned int i;
	u32 len;

	for (i = 0; i < ARRAY_SIZE(frame_rows); i++) {
		row = &frame_rows[i];
		len = build_frame(test, row->f.reply, row->hex, want,
				  sizeof(want));
		KUNIT_ASSERT_EQ(test, xiw_mpa_frame_len(want, len,
							row->f.reply),
				(int)len);
		KUNIT_ASSERT_EQ(test, xiw_mpa_frame_decode(want, len,
							   row->f.reply, &f),
				0);
		expect_frame(test, &f, &row->f, row->name);
		KUNIT_ASSERT_EQ(test, xiw_mpa_frame_encode(got, sizeof(got), &f,
							   want + f.pd_off),
				(int)len);
		KUNIT_EXPECT_MEMEQ(test, got, want, len);
	}
}

/* Covers: MPA-46 MPA-64 */
static void mpa_frames_hold_512_bytes_of_data(struct kunit *test)
{
	u8 *buf = kunit_kzalloc(test, XIW_MPA_FRAME_MAX, GFP_KERNEL);
	u8 *pd = kunit_kzalloc(test, 513, GFP_KERNEL);
	struct xiw_mpa_frame f = { .rev = 1, .pd_len = 512 };
	struct xiw_mpa_frame got;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_ASSERT_NOT_NULL(test, pd);
	memset(pd, 0xa5, 513);
	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_encode(buf, XIW_MPA_FRAME_MAX, &f,
						   pd), 532);
	KUNIT_ASSERT_EQ(test, xiw_mpa_frame_decode(buf, 532, false, &got), 0);
	KUNIT_EXPECT_EQ(test, got.pd_len, 512);
	KUNIT_EXPECT_MEMEQ(test, buf + got.pd_off, pd, 512);
	f.pd_len = 513;
	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_encode(buf, XIW_MPA_FRAME_MAX, &f,
						   pd), -EINVAL);

	f.rev = 2;
	f.enhanced = true;
	f.pd_len = 508;
	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_encode(buf, XIW_MPA_FRAME_MAX, &f,
						   pd), 532);
	KUNIT_ASSERT_EQ(test, xiw_mpa_frame_decode(buf, 532, false, &got), 0);
	KUNIT_EXPECT_EQ(test, got.pd_len, 508);
	KUNIT_EXPECT_MEMEQ(test, buf + got.pd_off, pd, 508);
	f.pd_len = 509;
	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_encode(buf, XIW_MPA_FRAME_MAX, &f,
						   pd), -EINVAL);
}

/* Covers: MPA-35 MPA-64 */
static void mpa_frame_encode_refuses_nonsense(struct kunit *test)
{
	struct xiw_mpa_frame f = { .rev = 1 };
	u8 buf[24];

	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_encode(buf, 20, &f, NULL), 20);
	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_encode(buf, 19, &f, NULL), -EINVAL);
	f.enhanced = true;
	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_encode(buf, 24, &f, NULL), -EINVAL);
	f.rev = 2;
	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_encode(buf, 24, &f, NULL), 24);
	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_encode(buf, 23, &f, NULL), -EINVAL);
	f.rev = 3;
	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_encode(buf, 24, &f, NULL), -EINVAL);
	f.enhanced = false;
	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_encode(buf, 24, &f, NULL), -EINVAL);
	f.rev = 0;
	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_encode(buf, 24, &f, NULL), -EINVAL);
	f.rev = 1;
	f.reject = true;
	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_encode(buf, 24, &f, NULL), -EINVAL);
}

/* Covers: MPA-38 MPA-39 MPA-45 MPA-47 */
static void mpa_refuses_bad_frames(struct kunit *test)
{
	static const struct {
		bool reply;
		const char *hex;
	} rows[] = {
		{ false, "40010201" },			/* PD_Length 513 */
		{ true, "6001ffff" },
		{ false, "50020003 8010c0" },		/* S=1, no room */
		{ false, "50020000" },
		{ true, "50020000" },
		{ true, "50020003 8010c0" },
	};
	struct xiw_mpa_frame f;
	u8 buf[64];
	unsigned int i;
	u32 len;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		len = build_frame(test, rows[i].reply, rows[i].hex, buf,
				  sizeof(buf));
		KUNIT_EXPECT_EQ(test, xiw_mpa_frame_decode(buf, len,
							   rows[i].reply, &f),
				-EPROTO);
	}
	/* The key of the wrong role. */
	for (i = 0; i < 2; i++) {
		len = build_frame(test, i, "40010000", buf, sizeof(buf));
		KUNIT_EXPECT_EQ(test, xiw_mpa_frame_len(buf, len, !i), -EPROTO);
		KUNIT_EXPECT_EQ(test, xiw_mpa_frame_decode(buf, len, !i, &f),
				-EPROTO);
	}
}

/* Covers: MPA-37 MPA-44 MPA-59 */
static void mpa_tolerates_odd_frames(struct kunit *test)
{
	static const struct frame_row rows[] = {
		{ "NF-07", "50010004 8010c010",
		  REV1(.crc = true, .pd_len = 4) },
		{ "NF-08", "4f010000", REV1(.crc = true) },
		{ "NF-08 rev 2", "58020004 8010c010",
		  REV2(.crc = true, ENH(true, RTR_CD, 16, 16)) },
		{ "NF-09", "60010000", REV1(.crc = true) },
		{ "rev 3", "50030004 8010c010",
		  { .rev = 3, .crc = true, .pd_off = 20, .pd_len = 4 } },
		{ "reject, S without room", "70020002 6e6f",
		  { .rev = 2, .reply = true, .crc = true, .reject = true,
		    .pd_off = 20, .pd_len = 2 } },
	};
	struct xiw_mpa_frame f;
	unsigned int i;
	u8 buf[64];
	u32 len;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		len = build_frame(test, rows[i].f.reply, rows[i].hex, buf,
				  sizeof(buf));
		KUNIT_ASSERT_EQ(test, xiw_mpa_frame_decode(buf, len,
							   rows[i].f.reply, &f),
				0);
		expect_frame(test, &f, &rows[i].f, rows[i].name);
	}
}

/* Covers: MPA-38 MPA-39 MPA-49 */
static void mpa_checks_frames_byte_by_byte(struct kunit *test)
{
	struct xiw_mpa_frame f;
	u8 buf[64];
	u32 len, have, i;
	int ret;

	len = build_frame(test, false, "50020009 00010000 7270696e67", buf,
			  sizeof(buf));
	for (have = 0; have <= len; have++) {
		ret = xiw_mpa_frame_len(buf, have, false);
		KUNIT_EXPECT_EQ(test, ret, have < 20 ? 0 : (int)len);
		KUNIT_EXPECT_EQ(test, xiw_mpa_frame_missing(ret, have),
				(size_t)(have < 20 ? 20 - have : len - have));
		ret = xiw_mpa_frame_decode(buf, have, false, &f);
		KUNIT_EXPECT_EQ(test, ret, have < len ? -EPROTO : 0);
	}
	/* A byte after the end of the frame is an error. */
	KUNIT_EXPECT_EQ(test, xiw_mpa_frame_decode(buf, len + 1, false, &f),
			-EPROTO);
	/* A wrong byte of the key is detected as soon as it is received. */
	for (i = 0; i < 16; i++) {
		buf[i] ^= 1;
		KUNIT_EXPECT_EQ(test, xiw_mpa_frame_len(buf, i, false), 0);
		KUNIT_EXPECT_EQ(test, xiw_mpa_frame_len(buf, i + 1, false),
				-EPROTO);
		buf[i] ^= 1;
	}
}

/* Covers: MPA-62 MPA-63 */
static void mpa_enhanced_data_corner_values(struct kunit *test)
{
	static const u16 depths[] = { 0, 1, 16, 0x3ffe, 0x3fff };
	struct xiw_mpa_frame f = { .rev = 2, .enhanced = true };
	struct xiw_mpa_frame got;
	unsigned int flags, i, k;
	u16 first, second;
	u8 buf[24];

	for (flags = 0; flags < 16; flags++) {
		for (i = 0; i < ARRAY_SIZE(depths); i++) {
			for (k = 0; k < ARRAY_SIZE(depths); k++) {
				f.enh.p2p = flags & 8;
				f.enh.rtr = flags & 7;
				f.enh.ird = depths[i];
				f.enh.ord = depths[k];
				KUNIT_ASSERT_EQ(test,
						xiw_mpa_frame_encode(buf, 24,
								     &f, NULL),
						24);
				first = (flags & 8 ? 0x8000 : 0) | depths[i] |
					(flags & XIW_RTR_SEND ? 0x4000 : 0);
				second = (flags & XIW_RTR_WRITE ? 0x8000 : 0) |
					 (flags & XIW_RTR_READ ? 0x4000 : 0) |
					 depths[k];
				KUNIT_EXPECT_EQ(test, first,
						get_unaligned_be16(buf + 20));
				KUNIT_EXPECT_EQ(test, second,
						get_unaligned_be16(buf + 22));
				xiw_mpa_frame_decode(buf, 24, false, &got);
				KUNIT_EXPECT_EQ(test, got.enh.p2p, f.enh.p2p);
				KUNIT_EXPECT_EQ(test, got.enh.rtr, f.enh.rtr);
				KUNIT_EXPECT_EQ(test, got.enh.ird, f.enh.ird);
				KUNIT_EXPECT_EQ(test, got.enh.ord, f.enh.ord);
			}
		}
	}
	f.enh = (struct xiw_mpa_enh){ .ird = 0x4000, .ord = 0xffff };
	KUNIT_ASSERT_EQ(test, xiw_mpa_frame_encode(buf, 24, &f, NULL), 24);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(buf + 20), 0x3ffe3ffeU);
}

static struct kunit_case mpa_cases[] = {
	KUNIT_CASE(mpa_fpdu_len_is_padded_to_four),
	KUNIT_CASE(mpa_crc_is_iscsi_crc32c_little_endian),
	KUNIT_CASE(mpa_pads_with_zeros),
	KUNIT_CASE(mpa_accepts_any_padding_content),
	KUNIT_CASE(mpa_frames_an_empty_ulpdu),
	KUNIT_CASE(mpa_frames_rtr_messages),
	KUNIT_CASE(mpa_reproduces_rfc5044_figures),
	KUNIT_CASE(mpa_crc_covers_every_byte),
	KUNIT_CASE(mpa_mulpdu_of_known_sizes),
	KUNIT_CASE(mpa_full_fpdu_fits_segment_in_every_phase),
	KUNIT_CASE(mpa_marker_count_matches_naive),
	KUNIT_CASE(mpa_places_markers),
	KUNIT_CASE(mpa_strips_markers),
	KUNIT_CASE(mpa_checks_marker_pointer),
	KUNIT_CASE(mpa_survives_largest_length_field),
	KUNIT_CASE(mpa_strip_stops_at_a_cut_marker),
	KUNIT_CASE(mpa_frames_decode_and_encode),
	KUNIT_CASE(mpa_frames_hold_512_bytes_of_data),
	KUNIT_CASE(mpa_frame_encode_refuses_nonsense),
	KUNIT_CASE(mpa_refuses_bad_frames),
	KUNIT_CASE(mpa_tolerates_odd_frames),
	KUNIT_CASE(mpa_checks_frames_byte_by_byte),
	KUNIT_CASE(mpa_enhanced_data_corner_values),
	{}
};

static struct kunit_suite mpa_suite = {
	.name = "xiw_mpa",
	.test_cases = mpa_cases,
};

kunit_test_suite(mpa_suite);
