/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Receive framing: from packets of the stream to complete, verified FPDUs
 * without Markers (RFC 5044). Another lower layer would need other framing.
 */
#ifndef _XIW_RX_MPA_H
#define _XIW_RX_MPA_H

#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <linux/unaligned.h>

#include "proto/ddp.h"
#include "proto/mpa.h"
#include "stats.h"

struct mem_cgroup;
struct xiw_mem_ref;

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

#endif /* _XIW_RX_MPA_H */
