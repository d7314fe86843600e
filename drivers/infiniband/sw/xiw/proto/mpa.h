/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _XIW_MPA_H
#define _XIW_MPA_H

#include "wire.h"

/* RTR types as a mask; bit order is the order of preference when sending. */
#define XIW_RTR_WRITE		0x1	/* zero-length RDMA Write, flag C */
#define XIW_RTR_READ		0x2	/* zero-length RDMA Read, flag D */
#define XIW_RTR_SEND		0x4	/* zero-length Send, flag B */
#define XIW_RTR_ALL		(XIW_RTR_WRITE | XIW_RTR_READ | XIW_RTR_SEND)

/**
 * struct xiw_mpa_enh - enhanced data of an MPA frame, RFC 6581 section 9
 * @p2p: flag A, peer-to-peer connection model
 * @rtr: flags B, C, D as a mask of XIW_RTR_*
 * @ird: IRD field, 0..0x3ffe or XIW_MPA_DEPTH_NONE
 * @ord: ORD field, the same range
 */
struct xiw_mpa_enh {
	bool p2p;
	u8 rtr;
	u16 ird;
	u16 ord;
};

/**
 * struct xiw_mpa_frame - decoded MPA Request or Reply Frame
 * @reply: Reply Frame, else Request Frame
 * @markers: flag M, the sender wants Markers in what it receives
 * @crc: flag C, the sender requires CRCs
 * @reject: flag R, only ever true in a Reply
 * @enhanced: @enh was present (flag S with revision 2)
 * @rev: revision exactly as received
 * @enh: enhanced data; zero from a frame without, ignored on encode without
 * @pd_len: bytes of ULP Private Data, without the enhanced data
 * @pd_off: where ULP Private Data starts in the frame; ignored on encode
 */
struct xiw_mpa_frame {
	bool reply;
	bool markers;
	bool crc;
	bool reject;
	bool enhanced;
	u8 rev;
	struct xiw_mpa_enh enh;
	u16 pd_len;
	u16 pd_off;
};

/**
 * struct xiw_mpa_tx - Marker position of the transmit half
 * @pos: bytes sent since SeqStart, modulo 2^32
 * @start: position of the ULPDU_Length field of the current FPDU
 * @markers: Markers are sent on this half; a constant after init
 */
struct xiw_mpa_tx {
	u32 pos;
	u32 start;
	bool markers;
};

/**
 * struct xiw_mpa_rx - Marker position of the receive half
 * @pos: bytes consumed since SeqStart, modulo 2^32
 * @start: position of the ULPDU_Length field of the current FPDU
 * @markers: Markers are expected on this half; a constant after init
 * @mismatch: a Marker has a wrong pointer; ends the stream once the CRC of
 *	its FPDU was verified (RFC 5044 section 8)
 */
struct xiw_mpa_rx {
	u32 pos;
	u32 start;
	bool markers;
	bool mismatch;
};

/*
 * Padding bytes of an FPDU with 0..65535 bytes of ULPDU: 0..3 (RFC 5044 section
 * 4.1).
 */
unsigned int xiw_mpa_pad(u32 ulpdu_len);

/*
 * Bytes of an FPDU without Markers: length field, 0..65535 bytes of ULPDU,
 * padding and CRC field. A multiple of four (RFC 5044 section 4.1).
 */
u32 xiw_mpa_fpdu_len(u32 ulpdu_len);

/**
 * xiw_mpa_marker_count() - Markers in an FPDU, a leading one included
 * @pos: bytes since SeqStart before the FPDU, a multiple of four
 * @ulpdu_len: bytes of ULPDU, 0..65535
 *
 * A Marker due right after the CRC field belongs to the next FPDU and is not
 * counted.  RFC 5044 section 4.3.
 *
 * Return: Number of Markers on a half connection that uses them.
 */
u32 xiw_mpa_marker_count(u32 pos, u32 ulpdu_len);

/**
 * xiw_mpa_mulpdu() - largest ULPDU that fits one TCP segment
 * @emss: effective maximum segment size in bytes
 * @markers: Markers are sent on this half connection
 *
 * RFC 5044 section 4.5, with the limits of section 3.
 *
 * Return: Bytes, 128..64768.
 */
u32 xiw_mpa_mulpdu(u32 emss, bool markers);

/**
 * xiw_mpa_emss_min() - smallest TCP segment with room for any FPDU
 * @markers: Markers are sent on this half connection
 *
 * A ULPDU of XIW_MULPDU_MIN bytes is permitted whatever the segment size is
 * (RFC 5044 section 3). An FPDU of xiw_mpa_mulpdu() bytes fits a segment that
 * has at least the returned size.
 *
 * Return: Bytes.
 */
u32 xiw_mpa_emss_min(bool markers);

/*
 * Sets the transmit half to SeqStart, after our MPA frame was sent. @markers:
 * the peer's frame had M set.
 */
void xiw_mpa_tx_init(struct xiw_mpa_tx *tx, bool markers);

/*
 * Starts an FPDU at the current position. Returns its bytes, Markers included.
 */
u32 xiw_mpa_tx_begin(struct xiw_mpa_tx *tx, u32 ulpdu_len);

/*
 * Bytes of the current FPDU that may be sent before the next Marker: 0 if a
 * Marker is due now, U32_MAX on a half without Markers.
 */
u32 xiw_mpa_tx_room(const struct xiw_mpa_tx *tx);

/* Accounts @len bytes that are not Markers, at most xiw_mpa_tx_room(). */
void xiw_mpa_tx_advance(struct xiw_mpa_tx *tx, u32 len);

/*
 * Encodes XIW_MPA_MARKER_LEN bytes in @buf. Call it when xiw_mpa_tx_room() is 0
 * and bytes of the current FPDU, its CRC field included, remain to be sent (RFC
 * 5044 section 4.3).
 */
void xiw_mpa_tx_marker(struct xiw_mpa_tx *tx, u8 *buf);

/*
 * Sets the receive half to SeqStart, after the peer's MPA frame was consumed.
 * @markers: our frame had M set.
 */
void xiw_mpa_rx_init(struct xiw_mpa_rx *rx, bool markers);

/*
 * Starts an FPDU at the current position and consumes nothing. Returns the
 * bytes up to the end of the ULPDU_Length field: 2, or 6 behind a leading
 * Marker.
 */
u32 xiw_mpa_rx_begin(struct xiw_mpa_rx *rx);

/*
 * Bytes of the current FPDU on the wire, Markers and CRC field included. Called
 * right after xiw_mpa_rx_begin(). With Markers a length that FPDUPTR cannot
 * span sets @rx->mismatch.
 */
u32 xiw_mpa_rx_fpdu_len(struct xiw_mpa_rx *rx, u32 ulpdu_len);

/*
 * Bytes of the current FPDU before the next Marker: 0 if a Marker is next,
 * U32_MAX on a half without Markers.
 */
u32 xiw_mpa_rx_room(const struct xiw_mpa_rx *rx);

/* Accounts @len bytes that are not Markers, at most xiw_mpa_rx_room(). */
void xiw_mpa_rx_advance(struct xiw_mpa_rx *rx, u32 len);

/*
 * Checks XIW_MPA_MARKER_LEN bytes at @buf, when xiw_mpa_rx_room() is 0. The
 * reserved half and the low two bits of FPDUPTR are ignored (RFC 5044 section
 * 4.2). A wrong pointer sets @rx->mismatch.
 */
void xiw_mpa_rx_marker(struct xiw_mpa_rx *rx, const u8 *buf);

/**
 * xiw_mpa_rx_strip() - remove the Markers of one FPDU in place
 * @rx: receive half, right after xiw_mpa_rx_begin()
 * @buf: the complete FPDU, from its leading Marker if it has one
 * @len: bytes in @buf, from xiw_mpa_rx_fpdu_len()
 *
 * The CRC covers the Markers, so it is computed before this call.  Leaves @rx
 * behind the FPDU.
 *
 * Return: Bytes left in @buf.
 */
u32 xiw_mpa_rx_strip(struct xiw_mpa_rx *rx, u8 *buf, u32 len);

/*
 * Enhanced data: two flags and a 14-bit depth in each of two words,
 * XIW_MPA_ENH_LEN bytes. Depths above the 14-bit field are encoded as
 * XIW_MPA_DEPTH_MAX (RFC 6581 section 9).
 */
void xiw_mpa_enh_decode(const u8 *buf, struct xiw_mpa_enh *enh);
void xiw_mpa_enh_encode(u8 *buf, const struct xiw_mpa_enh *enh);

/**
 * xiw_mpa_frame_len() - check a partially received MPA frame
 * @buf: bytes received so far
 * @have: how many
 * @reply: a Reply Frame is expected, else a Request Frame
 *
 * The key is compared as it arrives, so a peer that does not speak MPA fails at
 * the first byte that differs (RFC 5044 section 7.1.1).
 *
 * Return: Length of the frame once its header is complete, 0 while it is not,
 * -EPROTO if the frame is improperly formatted.
 */
int xiw_mpa_frame_len(const u8 *buf, size_t have, bool reply);

/*
 * Bytes to read next, after @have bytes for which xiw_mpa_frame_len() returned
 * @frame_len; 0 when the frame is complete. Reading no more than this never
 * takes bytes of the FPDU stream.
 */
size_t xiw_mpa_frame_missing(int frame_len, size_t have);

/**
 * xiw_mpa_frame_decode() - decode a complete MPA frame
 * @buf: the frame
 * @len: its length, as xiw_mpa_frame_len() returned it
 * @reply: a Reply Frame is expected, else a Request Frame
 * @f: result, written only on success
 *
 * Any revision is decoded; enhanced data exists only in revision 2.  Flag R
 * of a Request is not checked.  RFC 5044 section 7.1.1, RFC 6581 section 6.
 *
 * Return: 0, or -EPROTO if the frame is improperly formatted.
 */
int xiw_mpa_frame_decode(const u8 *buf, size_t len, bool reply,
			 struct xiw_mpa_frame *f);

/**
 * xiw_mpa_frame_encode() - encode an MPA frame
 * @buf: written on success
 * @size: bytes available at @buf; XIW_MPA_FRAME_MAX always suffices
 * @f: what to encode; @f->pd_len bytes of ULP Private Data follow
 * @pd: ULP Private Data, may be NULL if there is none
 *
 * IRD and ORD above the 14-bit field saturate at XIW_MPA_DEPTH_MAX.
 *
 * Return: Length of the frame, or -EINVAL if the Private Data does not fit
 * (508 bytes with enhanced data, 512 without), @size is too small, or the
 * revision cannot carry what @f asks for.
 */
int xiw_mpa_frame_encode(u8 *buf, size_t size, const struct xiw_mpa_frame *f,
			 const void *pd);

#endif /* _XIW_MPA_H */
