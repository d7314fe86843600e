/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * FPDUs of both directions (RFC 5044): their size and the fields that MPA adds
 * to a segment (tx_mpa.c), and from packets to complete, verified FPDUs without
 * Markers (rx_mpa.c).
 *
 * Unless noted otherwise functions are called by the owner of that side of the
 * stream, and do not sleep.
 */
#ifndef _XIW_FPDU_H
#define _XIW_FPDU_H

#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <linux/unaligned.h>

#include "mem/txbuf.h"
#include "proto/ddp.h"
#include "proto/mpa.h"
#include "proto/wire.h"
#include "stats.h"

struct mem_cgroup;
struct xiw_mem_ref;

/* tx_mpa.c */
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

/* rx_mpa.c */
/**
 * struct xiw_fpdu - a verified FPDU and the read position in it
 * @vec: where its bytes are
 * @off: bytes of the first vector already read
 * @ulpdu_len: content of the ULPDU_Length field
 * @hdr: the DDP header as received
 * @h: the same, decoded
 */
struct xiw_fpdu {
	const struct kvec *vec;
	size_t off;
	u32 ulpdu_len;
	u8 hdr[XIW_DDP_HDR_MAX];
	struct xiw_ddp_hdr h;
};

/* Contiguous bytes at the read position, at least one; *@data points there. */
static inline size_t xiw_fpdu_chunk(const struct xiw_fpdu *f, const void **data)
{
	*data = (const u8 *)f->vec->iov_base + f->off;
	return f->vec->iov_len - f->off;
}

/* Moves the read position by @len bytes, at most what is left. */
static inline void xiw_fpdu_skip(struct xiw_fpdu *f, size_t len)
{
	f->off += len;
	while (len && f->off >= f->vec->iov_len) {
		f->off -= f->vec->iov_len;
		f->vec++;
		if (!f->off)
			break;
	}
}

enum xiw_rx_mpa_limits {
	XIW_RX_VECS		= 24,
	/* Pages for the largest possible FPDU, Markers included */
	XIW_RX_PAGES		= DIV_ROUND_UP(66 * 1024, PAGE_SIZE),
};

/**
 * struct xiw_rx_mpa - framing of received data; needs the socket lock
 * @stats: counters of the device
 * @memcg: control group to charge for @pages and @linear, or NULL
 * @mpa: Marker raster
 * @crc: check CRCs
 * @ready: the FPDU in @pages is complete and verified
 * @have: bytes collected of an FPDU in pieces, in @pages
 * @need: total bytes of that FPDU, 0 while unknown
 * @pages: memory for that FPDU, kept for later ones
 * @pages_used: how many of @pages were used since the last trim
 * @grown: pages were added; cleared when the trim is scheduled
 * @linear: memory used instead of @pages if this direction has Markers
 * @ulpdu_len: ULPDU_Length of the FPDU being processed
 * @vec: bytes of that FPDU, in place
 * @vec_count: vectors in use
 */
struct xiw_rx_mpa {
	struct xiw_stats __percpu *stats;
	struct mem_cgroup *memcg;
	struct xiw_mpa_rx mpa;
	bool crc;
	bool ready;
	u32 have;
	u32 need;
	struct page *pages[XIW_RX_PAGES];
	u32 pages_used;
	bool grown;
	u8 *linear;
	u32 ulpdu_len;
	struct kvec vec[XIW_RX_VECS];
	u32 vec_count;
};

/**
 * struct xiw_rx_pos - a position in a packet; no fragment is walked twice
 * @data: next byte to be read
 * @room: bytes from there to the end of the current piece
 * @left: bytes from there to the end of the range to be read
 * @head: the packet
 * @skb: owner of the next piece: @head or a member of its frag_list, or NULL
 * @frag: number of the fragment that is the next piece, -1 for the linear part
 * @skip: bytes at the beginning of the next piece that are not to be read
 */
struct xiw_rx_pos {
	u8 *data;
	u32 room;
	u32 left;
	const struct sk_buff *head;
	const struct sk_buff *skb;
	int frag;
	u32 skip;
};

/* Results of xiw_rx_mpa_next() */
enum xiw_rx_found {
	XIW_RX_MORE,		/* the rest of the FPDU has not arrived */
	XIW_RX_FPDU,		/* a complete and verified FPDU */
	XIW_RX_NOMEM,		/* no memory for an FPDU in pieces */
	XIW_RX_CRC,		/* an FPDU with a wrong CRC */
	XIW_RX_MARKER,		/* an FPDU with a wrong Marker */
};

/* Releases the FPDU that was found. */
static inline void xiw_rx_mpa_done(struct xiw_rx_mpa *m)
{
	if (!m->ready)
		return;
	m->ready = false;
	m->have = 0;
	m->need = 0;
}

int xiw_rx_mpa_start(struct xiw_rx_mpa *m, bool markers, bool crc);
void xiw_rx_mpa_stop(struct xiw_rx_mpa *m);
bool xiw_rx_flatten(struct sk_buff *skb);
void xiw_rx_pos_init(struct xiw_rx_pos *p, const struct sk_buff *skb, u32 off,
		     u32 len);
enum xiw_rx_found xiw_rx_mpa_next(struct xiw_rx_mpa *m, struct xiw_rx_pos *p);
bool xiw_rx_mpa_take_chunk(struct xiw_rx_mpa *m, const struct sk_buff *skb);
bool xiw_rx_mpa_is_like(struct xiw_rx_pos *p, const u8 *head, u32 head_len,
			u32 len);
bool xiw_rx_mpa_next_like(struct xiw_rx_mpa *m, struct xiw_rx_pos *p,
			  const u8 *head, u32 head_len, u32 len);
bool xiw_rx_mpa_trim(struct xiw_rx_mpa *m);

void xiw_fpdu_copy(struct xiw_fpdu *f, void *dst, size_t len);
void xiw_fpdu_place(struct xiw_fpdu *f, struct xiw_mem_ref *ref, u32 len);

static inline void xiw_rx_pos_pass(struct xiw_rx_pos *p, u32 len)
{
	p->data += len;
	p->room -= len;
	p->left -= len;
}

/* Compares two words, and a third one of four bytes if there is one. */
static inline bool xiw_rx_mpa_head_equal(const u8 *a, const u8 *b, u32 len)
{
	u64 diff = get_unaligned((const u64 *)a) ^
		   get_unaligned((const u64 *)b);

	diff |= get_unaligned((const u64 *)(a + 8)) ^
		get_unaligned((const u64 *)(b + 8));
	if (len > 16)
		diff |= get_unaligned((const u32 *)(a + 16)) ^
			get_unaligned((const u32 *)(b + 16));
	return !diff;
}

/*
 * Is the FPDU of @len bytes at @p complete and in one piece? All that remains
 * to be checked is its header, if there is no CRC.
 */
static inline bool xiw_rx_mpa_is_whole(const struct xiw_rx_mpa *m,
				       const struct xiw_rx_pos *p, u32 len)
{
	return !m->crc && len <= p->room && len <= p->left;
}

#endif /* _XIW_FPDU_H */
