// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA framing: FPDU sizes, Marker positions of a half connection, and the
 * Request and Reply Frames (RFC 5044, RFC 6581).  Independent of sockets: the
 * transmit and receive paths pass in stream positions and buffers.
 */
#include "mpa.h"

unsigned int xiw_mpa_pad(u32 ulpdu_len)
{
	return -(ulpdu_len + XIW_MPA_LEN_FIELD) & 3;
}

u32 xiw_mpa_fpdu_len(u32 ulpdu_len)
{
	return XIW_MPA_LEN_FIELD + ulpdu_len + xiw_mpa_pad(ulpdu_len) +
	       XIW_MPA_CRC_LEN;
}

/* Bytes from a stream position to the next Marker position. */
static u32 mpa_raster_room(u32 pos)
{
	return -pos & (XIW_MPA_MARKER_PERIOD - 1);
}

/*
 * Position of the ULPDU_Length field of an FPDU that begins at pos.  A Marker
 * due at pos precedes the field and belongs to this FPDU (RFC 5044 4.3).
 */
static u32 mpa_raster_start(u32 pos, bool markers)
{
	if (markers && !mpa_raster_room(pos))
		return pos + XIW_MPA_MARKER_LEN;
	return pos;
}

/* Distance a Marker at pos points back; 0 for one between two FPDUs. */
static u32 mpa_raster_pointer(u32 pos, u32 start)
{
	return pos + XIW_MPA_MARKER_LEN == start ? 0 : pos - start;
}

u32 xiw_mpa_marker_count(u32 pos, u32 ulpdu_len)
{
	u32 period = XIW_MPA_MARKER_PERIOD - XIW_MPA_MARKER_LEN;
	u32 len = xiw_mpa_fpdu_len(ulpdu_len);
	u32 room = mpa_raster_room(pos);

	if (len <= room)
		return 0;
	return (len - room + period - 1) / period;
}

u32 xiw_mpa_mulpdu(u32 emss, bool markers)
{
	u32 overhead = XIW_MPA_LEN_FIELD + XIW_MPA_CRC_LEN + emss % 4;

	/* Allow for the largest number of Markers, RFC 5044 4.5. */
	if (markers)
		overhead += (emss / XIW_MPA_MARKER_PERIOD +
			     !!(emss % XIW_MPA_MARKER_PERIOD)) *
			    XIW_MPA_MARKER_LEN;
	if (emss < XIW_MULPDU_MIN + overhead)
		return XIW_MULPDU_MIN;
	return min_t(u32, emss - overhead, XIW_MULPDU_MAX);
}

u32 xiw_mpa_emss_min(bool markers)
{
	return xiw_mpa_fpdu_len(XIW_MULPDU_MIN) +
	       (markers ? XIW_MPA_MARKER_LEN : 0);
}

void xiw_mpa_tx_init(struct xiw_mpa_tx *tx, bool markers)
{
	tx->pos = 0;
	tx->start = 0;
	tx->markers = markers;
}

u32 xiw_mpa_tx_begin(struct xiw_mpa_tx *tx, u32 ulpdu_len)
{
	u32 len = xiw_mpa_fpdu_len(ulpdu_len);

	tx->start = mpa_raster_start(tx->pos, tx->markers);
	if (tx->markers)
		len += xiw_mpa_marker_count(tx->pos, ulpdu_len) *
		       XIW_MPA_MARKER_LEN;
	return len;
}

u32 xiw_mpa_tx_room(const struct xiw_mpa_tx *tx)
{
	return tx->markers ? mpa_raster_room(tx->pos) : U32_MAX;
}

void xiw_mpa_tx_advance(struct xiw_mpa_tx *tx, u32 len)
{
	tx->pos += len;
}

void xiw_mpa_tx_marker(struct xiw_mpa_tx *tx, u8 *buf)
{
	struct xiw_mpa_marker *m = (struct xiw_mpa_marker *)buf;

	m->reserved = 0;
	m->fpduptr = cpu_to_be16(mpa_raster_pointer(tx->pos, tx->start));
	tx->pos += XIW_MPA_MARKER_LEN;
}

void xiw_mpa_rx_init(struct xiw_mpa_rx *rx, bool markers)
{
	rx->pos = 0;
	rx->start = 0;
	rx->markers = markers;
	rx->mismatch = false;
}

u32 xiw_mpa_rx_begin(struct xiw_mpa_rx *rx)
{
	rx->start = mpa_raster_start(rx->pos, rx->markers);
	return rx->start - rx->pos + XIW_MPA_LEN_FIELD;
}

u32 xiw_mpa_rx_fpdu_len(struct xiw_mpa_rx *rx, u32 ulpdu_len)
{
	u32 len = xiw_mpa_fpdu_len(ulpdu_len);

	if (!rx->markers)
		return len;
	/* FPDUPTR has 16 bits and may not span a longer FPDU. */
	if (ulpdu_len > XIW_MPA_MARKED_MAX)
		rx->mismatch = true;
	return len + xiw_mpa_marker_count(rx->pos, ulpdu_len) *
		     XIW_MPA_MARKER_LEN;
}

u32 xiw_mpa_rx_room(const struct xiw_mpa_rx *rx)
{
	return rx->markers ? mpa_raster_room(rx->pos) : U32_MAX;
}

void xiw_mpa_rx_advance(struct xiw_mpa_rx *rx, u32 len)
{
	rx->pos += len;
}

void xiw_mpa_rx_marker(struct xiw_mpa_rx *rx, const u8 *buf)
{
	const struct xiw_mpa_marker *m = (const struct xiw_mpa_marker *)buf;

	if ((be16_to_cpu(m->fpduptr) & ~3U) !=
	    mpa_raster_pointer(rx->pos, rx->start))
		rx->mismatch = true;
	rx->pos += XIW_MPA_MARKER_LEN;
}

u32 xiw_mpa_rx_strip(struct xiw_mpa_rx *rx, u8 *buf, u32 len)
{
	u32 from = 0;
	u32 to = 0;

	while (from < len) {
		u32 run = min(xiw_mpa_rx_room(rx), len - from);

		if (run) {
			if (to != from)
				memmove(buf + to, buf + from, run);
			xiw_mpa_rx_advance(rx, run);
			to += run;
		} else {
			run = XIW_MPA_MARKER_LEN;
			if (run > len - from)
				break;
			xiw_mpa_rx_marker(rx, buf + from);
		}
		from += run;
	}
	return to;
}

static const u8 *mpa_frame_key(bool reply)
{
	return (const u8 *)(reply ? XIW_MPA_KEY_REP : XIW_MPA_KEY_REQ);
}

int xiw_mpa_frame_len(const u8 *buf, size_t have, bool reply)
{
	const struct xiw_mpa_hdr *h = (const struct xiw_mpa_hdr *)buf;
	u16 pd_length;

	if (memcmp(buf, mpa_frame_key(reply),
		   min_t(size_t, have, XIW_MPA_KEY_LEN)))
		return -EPROTO;
	if (have < XIW_MPA_HDR_LEN)
		return 0;
	pd_length = be16_to_cpu(h->pd_length);
	if (pd_length > XIW_MPA_PD_MAX)
		return -EPROTO;
	return XIW_MPA_HDR_LEN + pd_length;
}

size_t xiw_mpa_frame_missing(int frame_len, size_t have)
{
	size_t want = frame_len > 0 ? (size_t)frame_len : XIW_MPA_HDR_LEN;

	return want > have ? want - have : 0;
}

void xiw_mpa_enh_decode(const u8 *buf, struct xiw_mpa_enh *enh)
{
	const struct xiw_mpa_enh_hdr *h = (const struct xiw_mpa_enh_hdr *)buf;
	u16 first = be16_to_cpu(h->ird);
	u16 second = be16_to_cpu(h->ord);

	enh->p2p = first & XIW_MPA_ENH_A;
	enh->rtr = (first & XIW_MPA_ENH_B ? XIW_RTR_SEND : 0) |
		   (second & XIW_MPA_ENH_C ? XIW_RTR_WRITE : 0) |
		   (second & XIW_MPA_ENH_D ? XIW_RTR_READ : 0);
	enh->ird = first & XIW_MPA_ENH_DEPTH;
	enh->ord = second & XIW_MPA_ENH_DEPTH;
}

/* Saturate: truncation would make a large depth a small one. */
static u16 mpa_depth_field(u16 depth)
{
	return depth > XIW_MPA_DEPTH_NONE ? XIW_MPA_DEPTH_MAX : depth;
}

void xiw_mpa_enh_encode(u8 *buf, const struct xiw_mpa_enh *enh)
{
	struct xiw_mpa_enh_hdr *h = (struct xiw_mpa_enh_hdr *)buf;

	h->ird = cpu_to_be16((enh->p2p ? XIW_MPA_ENH_A : 0) |
			     (enh->rtr & XIW_RTR_SEND ? XIW_MPA_ENH_B : 0) |
			     mpa_depth_field(enh->ird));
	h->ord = cpu_to_be16((enh->rtr & XIW_RTR_WRITE ? XIW_MPA_ENH_C : 0) |
			     (enh->rtr & XIW_RTR_READ ? XIW_MPA_ENH_D : 0) |
			     mpa_depth_field(enh->ord));
}

int xiw_mpa_frame_decode(const u8 *buf, size_t len, bool reply,
			 struct xiw_mpa_frame *f)
{
	const struct xiw_mpa_hdr *h = (const struct xiw_mpa_hdr *)buf;
	struct xiw_mpa_frame out = {};
	int frame_len;

	frame_len = xiw_mpa_frame_len(buf, len, reply);
	if (frame_len <= 0 || (size_t)frame_len != len)
		return -EPROTO;

	out.reply = reply;
	out.markers = h->flags & XIW_MPA_FLAG_M;
	out.crc = h->flags & XIW_MPA_FLAG_C;
	out.reject = reply && (h->flags & XIW_MPA_FLAG_R);
	out.rev = h->rev;
	out.pd_off = XIW_MPA_HDR_LEN;
	out.pd_len = len - XIW_MPA_HDR_LEN;

	/* In revision 1 the S position is a reserved bit, RFC 5044 7.1.1. */
	if (out.rev == 2 && (h->flags & XIW_MPA_FLAG_S)) {
		if (out.pd_len >= XIW_MPA_ENH_LEN) {
			xiw_mpa_enh_decode(buf + XIW_MPA_HDR_LEN, &out.enh);
			out.enhanced = true;
			out.pd_off += XIW_MPA_ENH_LEN;
			out.pd_len -= XIW_MPA_ENH_LEN;
		} else if (!out.reject) {
			return -EPROTO;
		}
		/* Accept a rejection even if its enhanced data is malformed. */
	}
	*f = out;
	return 0;
}

int xiw_mpa_frame_encode(u8 *buf, size_t size, const struct xiw_mpa_frame *f,
			 const void *pd)
{
	struct xiw_mpa_hdr *h = (struct xiw_mpa_hdr *)buf;
	u32 enh_len = f->enhanced ? XIW_MPA_ENH_LEN : 0;
	u32 pd_length = enh_len + f->pd_len;

	if (f->rev < 1 || f->rev > 2 || (f->enhanced && f->rev != 2))
		return -EINVAL;
	if (f->reject && !f->reply)
		return -EINVAL;
	if (pd_length > XIW_MPA_PD_MAX || XIW_MPA_HDR_LEN + pd_length > size)
		return -EINVAL;

	memcpy(h->key, mpa_frame_key(f->reply), XIW_MPA_KEY_LEN);
	h->flags = (f->markers ? XIW_MPA_FLAG_M : 0) |
		   (f->crc ? XIW_MPA_FLAG_C : 0) |
		   (f->reject ? XIW_MPA_FLAG_R : 0) |
		   (f->enhanced ? XIW_MPA_FLAG_S : 0);
	h->rev = f->rev;
	h->pd_length = cpu_to_be16(pd_length);
	if (f->enhanced)
		xiw_mpa_enh_encode(buf + XIW_MPA_HDR_LEN, &f->enh);
	if (f->pd_len)
		memcpy(buf + XIW_MPA_HDR_LEN + enh_len, pd, f->pd_len);
	return XIW_MPA_HDR_LEN + pd_length;
}
