// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The FPDU stream.  A receiver built like the driver's takes a stream split
 * at any byte and must find the same ULPDUs, and the same bad Markers, as a
 * model that walks the stream byte by byte with the rules of RFC 5044
 * section 4.  The stream is the input itself, or what the sender makes of it.
 */
#include "fuzz.h"
#include "mpa.h"

#define STREAM_MAX	(72 * 1024)
#define STREAM_USUAL	2048	/* bytes; longer inputs are slow */

static u8 stream[STREAM_MAX];

/* One FPDU, as the model saw it */
struct model_fpdu {
	u32 bytes;		/* with Markers; 0 if it is incomplete */
	u32 ulpdu_len;
	bool mismatch;
};

/* Collects the bytes between Markers of one FPDU into @flat. */
static struct model_fpdu model_next(const u8 *s, u32 left, u32 pos,
				    bool markers, u8 *flat)
{
	struct model_fpdu m = {};
	u32 have = 0, want = 2, i = 0, start = 0;

	while (have < want) {
		if (markers && (pos + i) % 512 == 0) {
			if (left - i < 4)
				return m;
			if ((fuzz_be(s + i + 2, 2) & 0xfffc) !=
			    (have ? i - start : 0))
				m.mismatch = true;
			i += 4;
			continue;
		}
		if (i == left)
			return m;
		if (!have)
			start = i;
		flat[have++] = s[i++];
		if (have == 2) {
			m.ulpdu_len = fuzz_be(flat, 2);
			/*
			 * Length field, ULPDU and PAD are a multiple of four
			 * bytes.
			 */
			want = (2 + m.ulpdu_len + 3) / 4 * 4 + 4;
		}
	}
	if (markers && m.ulpdu_len > XIW_MPA_MARKED_MAX)
		m.mismatch = true;
	m.bytes = i;
	return m;
}

/* The receiver under test: gathers one FPDU from pieces of random size. */
struct receiver {
	struct xiw_mpa_rx rx;
	u32 have;
	u32 need;
	u32 largest;		/* piece */
	u32 dice;
};

static u32 piece(struct receiver *r, u32 most)
{
	r->dice = r->dice * 1103515245 + 12345;
	return min(most, 1 + (r->dice >> 16) % r->largest);
}

/* False if the stream ended first.  On success the FPDU is at @buf. */
static bool receive(struct receiver *r, const u8 *s, u32 left)
{
	u32 head;

	r->have = 0;
	r->need = 0;
	while (!r->need || r->have < r->need) {
		if (r->have == left)
			return false;
		if (r->need) {
			r->have += min(piece(r, left - r->have),
				       r->need - r->have);
			continue;
		}
		head = xiw_mpa_rx_begin(&r->rx);
		CHECK(head == 2 || (r->rx.markers && head == 6));
		r->have += min(piece(r, left - r->have), head - r->have);
		if (r->have < head)
			continue;
		r->need = xiw_mpa_rx_fpdu_len(&r->rx,
					      fuzz_be(s + head - 2, 2));
		CHECK(r->need > head && r->need % 4 == 0);
		CHECK(r->need < STREAM_MAX);
	}
	return true;
}

/* Walks @len bytes of @s.  Returns how many belong to good FPDUs. */
static u32 compare(const u8 *s, u32 len, u32 base, bool markers, u32 dice)
{
	static u8 flat[STREAM_MAX];
	struct receiver r = { .largest = 1 + dice * 8, .dice = dice };
	u32 done = 0;

	xiw_mpa_rx_init(&r.rx, markers);
	r.rx.pos = base;
	for (;;) {
		struct model_fpdu m = model_next(s + done, len - done,
						 base + done, markers, flat);
		u32 n;
		u8 *buf;

		if (!receive(&r, s + done, len - done)) {
			CHECK(!m.bytes);
			return done;
		}
		CHECK(m.bytes == r.need);
		buf = fuzz_dup(s + done, r.need);
		n = xiw_mpa_rx_strip(&r.rx, buf, r.need);
		CHECK(n == xiw_mpa_fpdu_len(m.ulpdu_len));
		CHECK(!memcmp(buf, flat, n));
		free(buf);
		CHECK(r.rx.mismatch == m.mismatch);
		CHECK(r.rx.pos == base + done + m.bytes);
		if (m.mismatch)
			return done;
		done += m.bytes;
	}
}

static u32 put(struct xiw_mpa_tx *tx, u32 at, u32 len, u8 fill)
{
	while (len) {
		u32 run = min(xiw_mpa_tx_room(tx), len);

		if (!run) {
			CHECK(tx->pos % XIW_MPA_MARKER_PERIOD == 0);
			xiw_mpa_tx_marker(tx, stream + at);
			at += XIW_MPA_MARKER_LEN;
			continue;
		}
		memset(stream + at, fill, run);
		xiw_mpa_tx_advance(tx, run);
		at += run;
		len -= run;
	}
	return at;
}

/* Bytes of the length field never have a Marker between them. */
static u32 put_length(struct xiw_mpa_tx *tx, u32 at, u32 ulpdu_len)
{
	at = put(tx, at, 2, 0);
	stream[at - 2] = ulpdu_len >> 8;
	stream[at - 1] = ulpdu_len;
	return at;
}

/* Frames ULPDUs of lengths from the input; the bytes of the stream. */
static u32 transmit(struct fuzz_in *in, u32 base, bool markers, u32 most)
{
	struct xiw_mpa_tx tx;
	u32 end = 0;

	xiw_mpa_tx_init(&tx, markers);
	tx.pos = base;
	while (in->left) {
		u8 kind = fuzz_u8(in);
		u32 len = kind == 0xff ? fuzz_u16(in) % (XIW_MULPDU_MAX + 1) :
			  kind;
		u32 at, total;

		if (end + len + len / 100 + 16 > most)
			break;
		total = xiw_mpa_tx_begin(&tx, len);
		at = put_length(&tx, end, len);
		at = put(&tx, at, len, kind);
		at = put(&tx, at, xiw_mpa_pad(len), 0);
		at = put(&tx, at, XIW_MPA_CRC_LEN, 0xcc);
		CHECK(at - end == total);
		end = at;
		CHECK(tx.pos == base + end);
	}
	return end;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u8 mode = fuzz_u8(&in);
	u32 dice = fuzz_u8(&in);
	u32 base = fuzz_u16(&in) * 4U;
	bool markers = mode & 1;
	u32 len;

	/* Also where the position in the stream wraps. */
	if (mode & 4)
		base = -base;
	if (mode & 2) {
		len = transmit(&in, base, markers, (mode & 0xf8) == 0xf8 ?
			       STREAM_MAX : STREAM_USUAL);
		CHECK(compare(stream, len, base, markers, dice) == len);
	} else {
		compare(in.data, min_t(size_t, in.left, STREAM_MAX), base,
			markers, dice);
	}
	return 0;
}
