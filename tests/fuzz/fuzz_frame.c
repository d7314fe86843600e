// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA Request and Reply Frames: as they arrive byte by byte, decoded
 * against a plain reading of RFC 5044 section 7.1 and RFC 6581 section 6, and
 * encoded and decoded again.
 */
#include "fuzz.h"
#include "mpa.h"

/* Expected result for the bytes so far: a length, 0 for "not yet", -EPROTO. */
static int model_len(const u8 *s, size_t have, bool reply)
{
	const char *key = reply ? "MPA ID Rep Frame" : "MPA ID Req Frame";
	size_t i;

	for (i = 0; i < 16 && i < have; i++)
		if (s[i] != (u8)key[i])
			return -EPROTO;
	if (have < 20)
		return 0;
	if (fuzz_be(s + 18, 2) > 512)
		return -EPROTO;
	return 20 + (int)fuzz_be(s + 18, 2);
}

/* The reader of a stream never asks for bytes behind the frame. */
static int arrive(const u8 *s, size_t left, bool reply)
{
	size_t have = 0;

	for (;;) {
		u8 *buf = fuzz_dup(s, have);
		int len = xiw_mpa_frame_len(buf, have, reply);
		size_t more;

		free(buf);
		CHECK(len == model_len(s, have, reply));
		if (len < 0)
			return len;
		more = xiw_mpa_frame_missing(len, have);
		CHECK(have + more == (size_t)(len ? len : 20));
		if (!more)
			return len;
		if (have == left)
			return 0;
		/* The header arrives byte by byte, the rest at once. */
		have = have < 20 ? have + 1 : min(left, have + more);
	}
}

static void same_depth(u16 sent, u16 got)
{
	CHECK(got == (sent > 0x3fff ? 0x3ffe : sent));
}

static void encode_again(const struct xiw_mpa_frame *f, const u8 *s, int len)
{
	u8 mask = f->rev == 2 ? 0xf0 : 0xe0;
	u8 buf[XIW_MPA_FRAME_MAX];
	int ret;

	ret = xiw_mpa_frame_encode(buf, sizeof(buf), f, s + f->pd_off);
	if (f->rev != 1 && f->rev != 2) {
		CHECK(ret == -EINVAL);
		return;
	}
	/* This frame is decoded, but the encoder never generates it. */
	if (f->reject && !f->enhanced)
		mask &= ~XIW_MPA_FLAG_S;
	if (!f->reply)
		mask &= ~XIW_MPA_FLAG_R;
	CHECK(ret == len);
	CHECK(!memcmp(buf, s, 16) && buf[17] == s[17]);
	CHECK(buf[16] == (s[16] & mask));
	CHECK(!memcmp(buf + 18, s + 18, len - 18));
}

static void decode(const u8 *s, size_t left, bool reply)
{
	struct xiw_mpa_frame f;
	bool enhanced, reject;
	int len, ret;
	u8 *buf;

	len = arrive(s, left, reply);
	if (len <= 0)
		return;
	buf = fuzz_dup(s, len);
	CHECK(xiw_mpa_frame_decode(buf, len - 1, reply, &f) == -EPROTO);
	ret = xiw_mpa_frame_decode(buf, len, reply, &f);
	reject = reply && (s[16] & 0x20);
	enhanced = s[17] == 2 && (s[16] & 0x10);
	if (enhanced && len < 24) {
		CHECK(ret == (reject ? 0 : -EPROTO));
		enhanced = false;
	} else {
		CHECK(!ret);
	}
	if (!ret) {
		CHECK(f.reply == reply && f.reject == reject);
		CHECK(f.enhanced == enhanced && f.rev == s[17]);
		CHECK(f.markers == !!(s[16] & 0x80));
		CHECK(f.crc == !!(s[16] & 0x40));
		CHECK(f.pd_off == (enhanced ? 24 : 20));
		CHECK(f.pd_off + f.pd_len == len);
		encode_again(&f, buf, len);
	}
	free(buf);
}

static void encode(struct fuzz_in *in, bool reply)
{
	u8 flags = fuzz_u8(in);
	struct xiw_mpa_frame got, f = {
		.reply = reply,
		.markers = flags & 1,
		.crc = flags & 2,
		.reject = flags & 4,
		.enhanced = flags & 8,
		.rev = fuzz_u8(in) & 3,
		.enh = { flags & 16, fuzz_u8(in) & XIW_RTR_ALL,
			 fuzz_u16(in), fuzz_u16(in) },
		.pd_len = fuzz_u16(in) & 0x3ff,
	};
	u32 pd_length = f.pd_len + (f.enhanced ? 4 : 0);
	size_t size = fuzz_u16(in) & 0x3ff;
	bool fits = pd_length <= 512 && 20 + pd_length <= size;
	u8 *pd = malloc(f.pd_len);
	u8 *buf = malloc(size);
	int len;

	CHECK(pd && buf);
	memset(pd, 0x5a, f.pd_len);
	if (f.rev < 1 || f.rev > 2 || (f.enhanced && f.rev != 2) ||
	    (f.reject && !reply))
		fits = false;
	len = xiw_mpa_frame_encode(buf, size, &f, pd);
	CHECK(len == (fits ? 20 + (int)pd_length : -EINVAL));
	if (fits) {
		CHECK(!xiw_mpa_frame_decode(buf, len, reply, &got));
		CHECK(got.markers == f.markers && got.crc == f.crc);
		CHECK(got.reject == f.reject && got.rev == f.rev);
		CHECK(got.enhanced == f.enhanced && got.pd_len == f.pd_len);
		CHECK(!memcmp(buf + got.pd_off, pd, got.pd_len));
	}
	if (fits && f.enhanced) {
		CHECK(got.enh.p2p == f.enh.p2p && got.enh.rtr == f.enh.rtr);
		same_depth(f.enh.ird, got.enh.ird);
		same_depth(f.enh.ord, got.enh.ord);
	}
	free(buf);
	free(pd);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u8 mode = fuzz_u8(&in);

	if (mode & 2)
		encode(&in, mode & 1);
	else
		decode(in.data, in.left, mode & 1);
	return 0;
}
