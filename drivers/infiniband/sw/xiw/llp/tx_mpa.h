/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Transmit framing: the size of FPDUs, and the fields that MPA adds to a
 * segment (RFC 5044). Another lower layer would need other framing.
 */
#ifndef _XIW_TX_MPA_H
#define _XIW_TX_MPA_H

#include <linux/types.h>
#include <linux/unaligned.h>

#include "proto/mpa.h"
#include "proto/wire.h"

struct xiw_txbuf;

/**
 * struct xiw_tx_mpa - framing of sent data; needs the socket lock
 * @mpa: Marker raster
 * @crc: compute CRCs
 * @segments: TCP segments that an FPDU may fill, 0 if that follows from @emss
 * @emss: segment size of TCP in bytes, in this batch; or that of the smallest
 *	FPDU, if larger
 * @aligned: FPDUs end where segments do
 * @unit: largest FPDU in bytes; a multiple of @emss, if @aligned. No FPDU of
 *	@full bytes of ULPDU is longer
 * @full: largest ULPDU for an empty unit
 * @fill: bytes already in the current unit, if @aligned, else 0
 */
struct xiw_tx_mpa {
	struct xiw_mpa_tx mpa;
	bool crc;
	u32 segments;
	u32 emss;
	bool aligned;
	u32 unit;
	u32 full;
	u32 fill;
};

/*
 * Room to be left for Markers: bytes between the beginning of the FPDU and its
 * length field, until the FPDU is sealed.
 */
static inline u32 xiw_tx_mpa_gap(const struct xiw_tx_mpa *m, u32 ulpdu_len)
{
	if (!m->mpa.markers)
		return 0;
	return XIW_MPA_MARKER_LEN *
	       xiw_mpa_marker_count(m->mpa.pos, ulpdu_len);
}

/* Bytes of an FPDU, including all that MPA adds. */
static inline u32 xiw_tx_mpa_room(const struct xiw_tx_mpa *m, u32 ulpdu_len)
{
	return xiw_mpa_fpdu_len(ulpdu_len) + xiw_tx_mpa_gap(m, ulpdu_len);
}

/*
 * Is the rest of a message, a ULPDU of @ulpdu_len bytes, certain to fit into
 * the current unit? Then @full is as good as xiw_tx_mpa_limit().
 */
static inline bool xiw_tx_mpa_fits(const struct xiw_tx_mpa *m, u64 ulpdu_len)
{
	/* Padding has up to three bytes. */
	return m->fill && !m->mpa.markers &&
	       m->fill + XIW_MPA_LEN_FIELD + ulpdu_len + 3 + XIW_MPA_CRC_LEN <=
		       m->unit;
}

/*
 * False if FPDUs cannot be equal, or if the current unit has data, and less
 * room than the usual FPDU, which fills a unit.
 */
static inline bool xiw_tx_mpa_may_repeat(const struct xiw_tx_mpa *m)
{
	return m->aligned && !m->mpa.markers &&
	       (!m->fill || xiw_mpa_fpdu_len(m->full) != m->unit);
}

void xiw_tx_mpa_start(struct xiw_tx_mpa *m, bool markers, bool crc,
		      u32 segments);
void xiw_tx_mpa_batch(struct xiw_tx_mpa *m, u32 emss, u32 tail_fill);
u32 xiw_tx_mpa_limit(const struct xiw_tx_mpa *m, const struct xiw_txbuf *buf,
		     u32 laid);
u32 xiw_tx_mpa_repeat(const struct xiw_tx_mpa *m, u32 room, u32 laid, u32 most);
bool xiw_tx_mpa_is_full(const struct xiw_tx_mpa *m, u32 laid);
u32 xiw_tx_mpa_small_limit(const struct xiw_tx_mpa *m, u32 room);
u32 xiw_tx_mpa_seal(struct xiw_tx_mpa *m, u8 *at, u32 ulpdu_len, u32 gap);
void xiw_tx_mpa_put_end(const struct xiw_tx_mpa *m, u8 *at, u32 len, u32 pad);
void xiw_tx_mpa_sealed(struct xiw_tx_mpa *m, u32 len);

/**
 * xiw_tx_mpa_seal_equal() - complete the next one of equal FPDUs
 * @m: framing without Markers
 * @at: begin of the FPDU, with its length field and ULPDU
 * @len: bytes of the FPDU
 * @pad: bytes of padding
 *
 * Adds padding and CRC. xiw_tx_mpa_sealed() follows the last FPDU.
 */
static inline void xiw_tx_mpa_seal_equal(const struct xiw_tx_mpa *m, u8 *at,
					 u32 len, u32 pad)
{
	if (m->crc || pad)
		xiw_tx_mpa_put_end(m, at, len, pad);
	else
		put_unaligned((u32)0, (u32 *)(at + len - XIW_MPA_CRC_LEN));
}

#endif /* _XIW_TX_MPA_H */
