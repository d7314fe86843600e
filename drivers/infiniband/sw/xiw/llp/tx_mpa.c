// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transmit framing: length, padding, Markers, CRC.
 *
 * The engine encodes a segment behind the gap from xiw_tx_mpa_gap() and the
 * length field; xiw_tx_mpa_seal() then completes the FPDU.
 */
#include "fpdu.h"

#include <kunit/visibility.h>
#include <linux/crc32c.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "proto/segment.h"

/* Size up to which FPDUs are aligned: four of them fill one GSO packet. */
#define FPDU_GOOD	16384U

/*
 * Limits for TCP segments longer than FPDU_GOOD. FPDU_MOST holds a Send of 16
 * KiB. The last FPDU of a block fills the rest of the block if that is at least
 * FPDU_LEAST.
 */
#define FPDU_MOST	(SZ_16K + XIW_MPA_LEN_FIELD + XIW_UNTAGGED_LEN + \
			 XIW_MPA_CRC_LEN)
#define FPDU_LEAST	2048U

/**
 * xiw_tx_mpa_start() - set up the framing of a new stream
 * @m: framing
 * @markers: Markers were agreed on for this direction
 * @crc: compute CRCs
 * @segments: TCP segments that an FPDU may fill; 0 for as many as are good for
 *	a peer that is software
 */
void xiw_tx_mpa_start(struct xiw_tx_mpa *m, bool markers, bool crc,
		      u32 segments)
{
	xiw_mpa_tx_init(&m->mpa, markers);
	m->crc = crc;
	m->segments = segments;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_tx_mpa_start);

static u32 tx_mpa_segments_for(u32 emss)
{
	return max(FPDU_GOOD / emss, 1U);
}

/**
 * xiw_tx_mpa_batch() - set up the framing of a new batch
 * @m: framing
 * @emss: segment size of TCP in bytes, which the peer chooses; any value
 * @tail_fill: bytes in TCP's last segment, if that is not full
 *
 * An FPDU is never longer than a unit. Segments that are too short for the
 * smallest FPDU are treated as longer ones: FPDUs then cross the ends of
 * segments, which every receiver has to accept (RFC 5044 section 5.1).
 */
void xiw_tx_mpa_batch(struct xiw_tx_mpa *m, u32 emss, u32 tail_fill)
{
	u32 least = xiw_mpa_emss_min(m->mpa.markers);

	if (emss < least) {
		emss = least;
		tail_fill = 0;
	}
	m->emss = emss;
	m->aligned = emss <= FPDU_GOOD;
	if (m->aligned) {
		/* Count TCP's partial segment: units end at segment ends. */
		m->unit = emss * (m->segments ?: tx_mpa_segments_for(emss));
		m->fill = tail_fill;
	} else {
		/* FPDUs need not match segments, only fill blocks. */
		m->unit = min(FPDU_MOST, emss);
		m->fill = 0;
	}
	m->full = xiw_segment_limit(m->unit, 0, m->mpa.markers);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_tx_mpa_batch);

/*
 * Size limit of an FPDU in @room bytes of a block, behind @laid bytes of its
 * batch; in front of the first one there is a new block. The last FPDU of a
 * block has fewer segments, or bytes, than others. If segments are longer than
 * FPDUs, no FPDU crosses the end of a segment.
 */
static u32 tx_mpa_unit_here(const struct xiw_tx_mpa *m, u32 fill, u32 room,
			    u32 laid)
{
	u32 least = m->aligned ? m->emss : FPDU_LEAST;

	if (!m->aligned)
		room = min(room, m->emss - laid % m->emss);
	if (!laid || fill || room < least || room >= m->unit)
		return m->unit;
	return m->aligned ? rounddown(room, m->emss) : room;
}

/* ULPDU limit of that FPDU, with @fill bytes in its unit. */
static u32 tx_mpa_limit_here(const struct xiw_tx_mpa *m, u32 fill, u32 room,
			     u32 laid)
{
	u32 unit = tx_mpa_unit_here(m, fill, room, laid);

	if (unit == m->unit && !fill)
		return m->full;
	return xiw_segment_limit(unit, fill, m->mpa.markers);
}

/* Bytes in the unit behind an FPDU of @len bytes */
static u32 tx_mpa_fill_behind(const struct xiw_tx_mpa *m, u32 fill, u32 len)
{
	return m->aligned ? (fill + len) % m->unit : 0;
}

/**
 * xiw_tx_mpa_limit() - get the size limit of the next ULPDU
 * @m: framing
 * @buf: buffer for the FPDU
 * @laid: bytes of its batch so far
 *
 * Return: Bytes.
 */
u32 xiw_tx_mpa_limit(const struct xiw_tx_mpa *m, const struct xiw_txbuf *buf,
		     u32 laid)
{
	/* A block has to be filled, a page does not. */
	if (!xiw_txbuf_in_block(buf))
		laid = 0;
	return tx_mpa_limit_here(m, m->fill, xiw_txbuf_room(buf), laid);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_tx_mpa_limit);

/**
 * xiw_tx_mpa_repeat() - get the number of equal FPDUs that may follow
 * @m: framing without Markers, of FPDUs that end where segments do
 * @room: contiguous bytes for them
 * @laid: bytes of their batch so far
 * @most: largest result
 *
 * Return: FPDUs with a ULPDU of @m->full bytes that fit into @room before the
 * limit of the next ULPDU changes.
 */
u32 xiw_tx_mpa_repeat(const struct xiw_tx_mpa *m, u32 room, u32 laid, u32 most)
{
	u32 len = xiw_mpa_fpdu_len(m->full);
	u32 fill = m->fill;
	u32 n = 0;

	/* The usual case: the segment size is a multiple of four. */
	if (!fill && len == m->unit)
		return min(most, room / len);
	for (; n < most && room >= len; n++, room -= len, laid += len) {
		if (tx_mpa_limit_here(m, fill, room, laid) != m->full)
			break;
		fill = tx_mpa_fill_behind(m, fill, len);
	}
	return n;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_tx_mpa_repeat);

/**
 * xiw_tx_mpa_is_full() - check if a batch fills TCP's segments
 * @m: framing
 * @laid: bytes of the batch
 *
 * Return: true if segments are longer than FPDUs and no FPDU of useful length
 * fits into the last one.
 */
bool xiw_tx_mpa_is_full(const struct xiw_tx_mpa *m, u32 laid)
{
	u32 rest = laid % m->emss;

	return !m->aligned &&
	       (!rest || m->emss - rest < FPDU_LEAST);
}

/**
 * xiw_tx_mpa_small_limit() - get the size limit of a ULPDU if memory is short
 * @m: framing
 * @room: bytes for the FPDU
 *
 * Return: Bytes.
 */
u32 xiw_tx_mpa_small_limit(const struct xiw_tx_mpa *m, u32 room)
{
	return xiw_mpa_mulpdu(room, m->mpa.markers);
}

/*
 * Moves an FPDU of @len bytes from @gap bytes behind @dst to @dst, and inserts
 * the Markers (RFC 5044 section 4.3).
 */
static void tx_mpa_spread_markers(struct xiw_tx_mpa *m, u8 *dst, u32 gap,
				  u32 len)
{
	u8 *src = dst + gap;
	u32 n;

	while (len) {
		n = min(xiw_mpa_tx_room(&m->mpa), len);
		if (!n) {
			xiw_mpa_tx_marker(&m->mpa, dst);
			dst += XIW_MPA_MARKER_LEN;
			continue;
		}
		memmove(dst, src, n);
		xiw_mpa_tx_advance(&m->mpa, n);
		dst += n;
		src += n;
		len -= n;
	}
}

static void tx_mpa_put_crc(const struct xiw_tx_mpa *m, u8 *at, u32 len)
{
	__le32 crc = 0;

	if (m->crc)
		crc = cpu_to_le32(~crc32c(~0, at, len));
	memcpy(at + len, &crc, XIW_MPA_CRC_LEN);
}

/**
 * xiw_tx_mpa_seal() - complete the FPDU around a ULPDU
 * @m: framing
 * @at: begin of the FPDU; the ULPDU follows @gap and the length field
 * @ulpdu_len: bytes of the ULPDU
 * @gap: result of xiw_tx_mpa_gap()
 *
 * Adds length, padding, Markers and CRC.
 *
 * Return: Bytes of the FPDU.
 */
u32 xiw_tx_mpa_seal(struct xiw_tx_mpa *m, u8 *at, u32 ulpdu_len, u32 gap)
{
	u32 pad = xiw_mpa_pad(ulpdu_len);
	u32 body = XIW_MPA_LEN_FIELD + ulpdu_len + pad;
	u32 len = xiw_mpa_tx_begin(&m->mpa, ulpdu_len);

	put_unaligned_be16(ulpdu_len, at + gap);
	if (pad)
		memset(at + gap + body - pad, 0, pad);
	/* The CRC field moves with the rest and is filled in afterwards. */
	if (m->mpa.markers)
		tx_mpa_spread_markers(m, at, gap, body + XIW_MPA_CRC_LEN);
	else
		xiw_mpa_tx_advance(&m->mpa, len);

	tx_mpa_put_crc(m, at, len - XIW_MPA_CRC_LEN);
	m->fill = tx_mpa_fill_behind(m, m->fill, len);
	return len;
}

/**
 * xiw_tx_mpa_put_end() - add padding and CRC
 * @m: framing without Markers
 * @at: begin of the FPDU
 * @len: bytes of the FPDU
 * @pad: bytes of padding
 */
void xiw_tx_mpa_put_end(const struct xiw_tx_mpa *m, u8 *at, u32 len, u32 pad)
{
	u32 body = len - XIW_MPA_CRC_LEN;

	if (pad)
		memset(at + body - pad, 0, pad);
	tx_mpa_put_crc(m, at, body);
}

/**
 * xiw_tx_mpa_sealed() - account FPDUs that xiw_tx_mpa_seal_equal() completed
 * @m: framing without Markers
 * @len: bytes of all of them
 */
void xiw_tx_mpa_sealed(struct xiw_tx_mpa *m, u32 len)
{
	xiw_mpa_tx_advance(&m->mpa, len);
	m->fill = tx_mpa_fill_behind(m, m->fill, len);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_tx_mpa_sealed);
