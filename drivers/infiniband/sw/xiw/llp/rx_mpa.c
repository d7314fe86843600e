// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive framing. An FPDU within one packet is used in place; one in pieces,
 * or with Markers, is assembled first. No part of an FPDU is delivered before
 * its CRC was checked.
 */
#include "fpdu.h"

#include <kunit/visibility.h>
#include <linux/crc32c.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "mem/mem.h"

/*
 * Reading a received FPDU, which may be in several pieces
 */

/**
 * xiw_fpdu_copy() - read bytes into a buffer
 * @f: FPDU
 * @dst: where to
 * @len: bytes, at most what is left
 */
void xiw_fpdu_copy(struct xiw_fpdu *f, void *dst, size_t len)
{
	const void *data;

	while (len) {
		size_t n = min(len, xiw_fpdu_chunk(f, &data));

		xiw_copy_once(dst, data, n);
		xiw_fpdu_skip(f, n);
		dst += n;
		len -= n;
	}
}

/**
 * xiw_fpdu_place() - read bytes into registered memory
 * @f: FPDU
 * @ref: from xiw_mem_get() with a right to write; its position advances
 * @len: bytes, at least one, at most what is left, within the range that was
 *	checked
 *
 * For the order in which the bytes become visible see copy.c. An aligned word
 * of the memory is written in one access even if several pieces of the FPDU
 * contribute to it.
 *
 * Context: As the FPDU's owner, between xiw_mem_get() and xiw_mem_put().
 */
void xiw_fpdu_place(struct xiw_fpdu *f, struct xiw_mem_ref *ref, u32 len)
{
	u8 word[XIW_COPY_WORD] __aligned(XIW_COPY_WORD);
	u32 behind = xiw_mem_behind_word(ref);
	const void *data;
	u32 rest;
	u32 n;

	while (len) {
		n = min_t(u32, len, xiw_fpdu_chunk(f, &data));
		rest = n < len ? (behind + n) % XIW_COPY_WORD : 0;
		if (n > rest) {
			/* Leave the word that the next piece completes. */
			n -= rest;
			xiw_mem_write(ref, data, n);
			xiw_fpdu_skip(f, n);
		} else {
			n = min_t(u32, len, XIW_COPY_WORD - behind);
			xiw_fpdu_copy(f, word, n);
			xiw_mem_write(ref, word, n);
		}
		behind = (behind + n) % XIW_COPY_WORD;
		len -= n;
	}
}
EXPORT_SYMBOL_IF_KUNIT(xiw_fpdu_place);

/*
 * Finding FPDUs in packets
 */

/**
 * xiw_rx_pos_init() - begin to read a packet
 * @p: result
 * @skb: packet, after xiw_rx_flatten()
 * @off: first byte to be read
 * @len: bytes to be read
 */
void xiw_rx_pos_init(struct xiw_rx_pos *p, const struct sk_buff *skb, u32 off,
		     u32 len)
{
	*p = (struct xiw_rx_pos) {
		.left = len,
		.head = skb,
		.skb = skb,
		.frag = -1,
		.skip = off,
	};
}

/**
 * xiw_rx_flatten() - linearize a packet with nested fragment lists
 * @skb: packet owned by the caller alone
 *
 * Fragments of a packet that was received through a tunnel with fragmented
 * packets form nested lists. Such packets are so rare that they are copied.
 *
 * Return: false without memory.
 */
bool xiw_rx_flatten(struct sk_buff *skb)
{
	struct sk_buff *part;

	skb_walk_frags(skb, part)
		if (unlikely(skb_has_frag_list(part)))
			return !skb_linearize(skb);
	return true;
}

/*
 * Advances to the next piece, and returns its length. Fragments that follow
 * each other in memory are one piece, for example the pages of a block that a
 * stream of this host has sent.
 */
static u32 rx_mpa_next_piece(struct xiw_rx_pos *p)
{
	const struct skb_shared_info *info = skb_shinfo(p->skb);
	const skb_frag_t *frag;
	u32 len;

	if (p->frag < 0) {
		p->data = p->skb->data;
		len = skb_headlen(p->skb);
	} else {
		frag = &info->frags[p->frag];
		p->data = skb_frag_address(frag);
		len = skb_frag_size(frag);
		while (p->frag + 1 < info->nr_frags &&
		       skb_frag_address(++frag) == p->data + len) {
			len += skb_frag_size(frag);
			p->frag++;
		}
	}
	if (++p->frag >= info->nr_frags) {
		p->frag = -1;
		p->skb = p->skb == p->head ? info->frag_list : p->skb->next;
	}
	return len;
}

static void rx_mpa_find_piece(struct xiw_rx_pos *p)
{
	u32 len;

	while (p->skb) {
		len = rx_mpa_next_piece(p);
		if (p->skip < len) {
			p->data += p->skip;
			p->room = len - p->skip;
			p->skip = 0;
			return;
		}
		p->skip -= len;
	}
}

/* Number of contiguous bytes at the position; 0 at the end. */
static u32 rx_mpa_piece_at(struct xiw_rx_pos *p, u8 **data)
{
	if (!p->room)
		rx_mpa_find_piece(p);
	*data = p->data;
	return min(p->room, p->left);
}

static bool rx_mpa_crc_good(const struct xiw_rx_mpa *m, u32 len)
{
	struct xiw_fpdu f = { .vec = m->vec };
	u32 left = len - XIW_MPA_CRC_LEN;
	u32 crc = ~0;
	__le32 wire;

	while (left) {
		const void *data;
		u32 n = min_t(u32, left, xiw_fpdu_chunk(&f, &data));

		crc = crc32c(crc, data, n);
		xiw_fpdu_skip(&f, n);
		left -= n;
	}
	xiw_fpdu_copy(&f, &wire, sizeof(wire));
	return le32_to_cpu(wire) == ~crc;
}

/* Describes the next @len bytes at @p, all of them in one piece, in m->vec. */
static void rx_mpa_map_piece(struct xiw_rx_mpa *m, struct xiw_rx_pos *p,
			     u32 len)
{
	m->vec[0].iov_base = p->data;
	m->vec[0].iov_len = len;
	m->vec_count = 1;
	xiw_rx_pos_pass(p, len);
}

/*
 * Describes the next @len bytes at @p in m->vec. False if the packet has fewer,
 * or if they are in too many pieces; then @p has not moved.
 */
static bool rx_mpa_map_packet(struct xiw_rx_mpa *m, struct xiw_rx_pos *p,
			      u32 len)
{
	struct xiw_rx_pos start = *p;

	if (len > p->left)
		return false;
	m->vec_count = 0;
	while (len) {
		u8 *data;
		u32 n = min(len, rx_mpa_piece_at(p, &data));

		if (!n || m->vec_count == XIW_RX_VECS) {
			*p = start;
			return false;
		}
		m->vec[m->vec_count].iov_base = data;
		m->vec[m->vec_count++].iov_len = n;
		xiw_rx_pos_pass(p, n);
		len -= n;
	}
	return true;
}

static bool rx_mpa_peek_be16(struct xiw_rx_pos p, u16 *value)
{
	u8 bytes[2];
	u8 *data;
	int i;

	for (i = 0; i < 2; i++) {
		if (!rx_mpa_piece_at(&p, &data))
			return false;
		bytes[i] = *data;
		xiw_rx_pos_pass(&p, 1);
	}
	*value = get_unaligned_be16(bytes);
	return true;
}

static struct page *rx_mpa_get_page_of(struct xiw_rx_mpa *m, u32 n)
{
	m->pages_used = max(m->pages_used, n + 1);
	if (!m->pages[n]) {
		m->pages[n] = xiw_pages_alloc(m->memcg,
					      GFP_ATOMIC | __GFP_NOWARN, 0);
		m->grown = true;
	}
	return m->pages[n];
}

/* Memory for the byte at @off of an FPDU in pieces, and the room there. */
static u8 *rx_mpa_room_at(struct xiw_rx_mpa *m, u32 off, u32 *room)
{
	struct page *page;

	if (m->linear) {
		*room = XIW_RX_PAGES * PAGE_SIZE - off;
		return m->linear + off;
	}
	page = rx_mpa_get_page_of(m, off / PAGE_SIZE);
	*room = PAGE_SIZE - offset_in_page(off);
	return page ? (u8 *)page_address(page) + offset_in_page(off) : NULL;
}

/* Copies bytes from @p to the FPDU in pieces, until it has @want of them. */
static bool rx_mpa_collect(struct xiw_rx_mpa *m, struct xiw_rx_pos *p, u32 want)
{
	while (m->have < want) {
		u8 *data;
		u32 n = min(want - m->have, rx_mpa_piece_at(p, &data));
		u32 room;
		u8 *dst;

		if (!n)
			break;
		dst = rx_mpa_room_at(m, m->have, &room);
		if (!dst)
			break;
		n = min(n, room);
		xiw_copy_once(dst, data, n);
		xiw_rx_pos_pass(p, n);
		m->have += n;
	}
	return m->have >= want;
}

static void rx_mpa_map_pieces(struct xiw_rx_mpa *m, u32 len)
{
	u32 off;

	m->vec_count = 0;
	for (off = 0; off < len; m->vec_count++) {
		u32 room;
		u8 *data = rx_mpa_room_at(m, off, &room);
		u32 n = min(room, len - off);

		m->vec[m->vec_count].iov_base = data;
		m->vec[m->vec_count].iov_len = n;
		off += n;
	}
}

/*
 * Verifies a complete FPDU in pieces and removes its Markers. Runs only once
 * per FPDU, even if the FPDU then waits for a receive.
 */
static enum xiw_rx_found rx_mpa_finish_pieces(struct xiw_rx_mpa *m)
{
	rx_mpa_map_pieces(m, m->need);
	if (m->crc && !rx_mpa_crc_good(m, m->need))
		return XIW_RX_CRC;
	if (m->linear) {
		m->need = xiw_mpa_rx_strip(&m->mpa, m->linear, m->need);
		m->have = m->need;
		rx_mpa_map_pieces(m, m->need);
	} else {
		xiw_mpa_rx_advance(&m->mpa, m->need);
	}
	/* Markers are meaningful only after the CRC was verified. */
	if (m->mpa.mismatch)
		return XIW_RX_MARKER;
	m->ulpdu_len = get_unaligned_be16(m->vec[0].iov_base);
	m->ready = true;
	return XIW_RX_FPDU;
}

static u32 rx_mpa_split_len(struct xiw_rx_mpa *m, u32 head)
{
	u32 room;
	u8 *data = rx_mpa_room_at(m, 0, &room);

	return xiw_mpa_rx_fpdu_len(&m->mpa,
				   get_unaligned_be16(data + head - 2));
}

/* Reason why rx_mpa_collect() did not get all bytes. */
static enum xiw_rx_found rx_mpa_missing(const struct xiw_rx_pos *p)
{
	return p->left ? XIW_RX_NOMEM : XIW_RX_MORE;
}

/* Begins or continues an FPDU in pieces. */
static enum xiw_rx_found rx_mpa_take_split(struct xiw_rx_mpa *m,
					   struct xiw_rx_pos *p)
{
	u32 head;

	if (!m->have)
		xiw_stat_inc(m->stats, XIW_STAT_RX_SPLIT);
	if (!m->need) {
		head = xiw_mpa_rx_begin(&m->mpa);
		if (!rx_mpa_collect(m, p, head))
			return rx_mpa_missing(p);
		m->need = rx_mpa_split_len(m, head);
	}
	return rx_mpa_collect(m, p, m->need) ? rx_mpa_finish_pieces(m)
					     : rx_mpa_missing(p);
}

/* Takes the FPDU at @p in place, if all of it is in this packet. */
static enum xiw_rx_found rx_mpa_take_in_place(struct xiw_rx_mpa *m,
					      struct xiw_rx_pos *p)
{
	u16 ulpdu_len;
	u32 piece;
	u8 *data;
	u32 len;

	piece = rx_mpa_piece_at(p, &data);
	if (piece >= sizeof(ulpdu_len))
		ulpdu_len = get_unaligned_be16(data);
	else if (!rx_mpa_peek_be16(*p, &ulpdu_len))
		return rx_mpa_take_split(m, p);
	/* Do not read it again; see xiw_copy_once(). */
	OPTIMIZER_HIDE_VAR(ulpdu_len);
	len = xiw_mpa_fpdu_len(ulpdu_len);
	if (len <= piece)
		rx_mpa_map_piece(m, p, len);
	else if (!rx_mpa_map_packet(m, p, len))
		return rx_mpa_take_split(m, p);
	m->ulpdu_len = ulpdu_len;
	return m->crc && !rx_mpa_crc_good(m, len) ? XIW_RX_CRC : XIW_RX_FPDU;
}

/**
 * xiw_rx_mpa_next() - find the next FPDU of a packet
 * @m: framing, without an FPDU that is ready
 * @p: position, with bytes left; moved past the consumed bytes
 *
 * On XIW_RX_FPDU @m->vec and @m->ulpdu_len describe the FPDU until
 * xiw_rx_mpa_done(). If @m->ready is set it was copied; otherwise it is in the
 * packet, and if it cannot be delivered yet it must stay there.
 *
 * Return: Kind of the result.
 */
enum xiw_rx_found xiw_rx_mpa_next(struct xiw_rx_mpa *m, struct xiw_rx_pos *p)
{
	return m->have || m->linear ? rx_mpa_take_split(m, p)
				    : rx_mpa_take_in_place(m, p);
}

/**
 * xiw_rx_mpa_take_chunk() - take a packet that is one FPDU
 * @m: framing, without an FPDU that is ready
 * @skb: the packet: two bytes that are not read, and the ULPDU
 *
 * Describes the FPDU in @m->vec and @m->ulpdu_len, in the packet. Padding and
 * CRC, which are missing, are behind all that is read.
 *
 * Return: false if it has more than XIW_RX_VECS pieces.
 */
bool xiw_rx_mpa_take_chunk(struct xiw_rx_mpa *m, const struct sk_buff *skb)
{
	struct xiw_rx_pos p;

	m->ulpdu_len = skb->len - XIW_MPA_LEN_FIELD;
	if (!skb_is_nonlinear(skb)) {
		m->vec[0].iov_base = skb->data;
		m->vec[0].iov_len = skb->len;
		m->vec_count = 1;
		return true;
	}
	xiw_rx_pos_init(&p, skb, 0, skb->len);
	return rx_mpa_map_packet(m, &p, skb->len);
}

/**
 * xiw_rx_mpa_is_like() - check if the packet has an FPDU with a given header
 * @p: position
 * @head: its length field and DDP header
 * @head_len: bytes in @head: 16 or 20
 * @len: bytes of the FPDU
 *
 * Return: true if all of it is in the packet and its header in one piece.
 */
bool xiw_rx_mpa_is_like(struct xiw_rx_pos *p, const u8 *head, u32 head_len,
			u32 len)
{
	u8 *data;

	return len <= p->left && rx_mpa_piece_at(p, &data) >= head_len &&
	       xiw_rx_mpa_head_equal(data, head, head_len);
}

/**
 * xiw_rx_mpa_next_like() - take the next FPDU if it has a given header
 * @m: framing without Markers, without an FPDU in pieces
 * @p: position; moved past the FPDU
 * @head: see xiw_rx_mpa_is_like()
 * @head_len: bytes in @head
 * @len: bytes of the FPDU
 *
 * Describes the FPDU in @m->vec. Otherwise @p has not moved, and
 * xiw_rx_mpa_next() finds what is there, for example a wrong CRC.
 *
 * Return: true if the FPDU is complete and verified.
 */
bool xiw_rx_mpa_next_like(struct xiw_rx_mpa *m, struct xiw_rx_pos *p,
			  const u8 *head, u32 head_len, u32 len)
{
	struct xiw_rx_pos start;

	if (!xiw_rx_mpa_is_like(p, head, head_len, len))
		return false;
	if (m->crc)
		start = *p;
	if (len <= p->room)
		rx_mpa_map_piece(m, p, len);
	else if (!rx_mpa_map_packet(m, p, len))
		return false;
	if (!m->crc || rx_mpa_crc_good(m, len))
		return true;
	*p = start;
	return false;
}

static void rx_mpa_free_pages_from(struct xiw_rx_mpa *m, u32 first)
{
	u32 i;

	for (i = first; i < XIW_RX_PAGES; i++) {
		if (m->pages[i])
			__free_page(m->pages[i]);
		m->pages[i] = NULL;
	}
}

/**
 * xiw_rx_mpa_trim() - free the pages not used since the last trim
 * @m: framing
 *
 * Return: true if pages are left.
 */
bool xiw_rx_mpa_trim(struct xiw_rx_mpa *m)
{
	rx_mpa_free_pages_from(m, m->pages_used);
	/* An incomplete FPDU stays. */
	m->pages_used = DIV_ROUND_UP(m->have, PAGE_SIZE);
	return m->pages[0];
}

/**
 * xiw_rx_mpa_start() - set up the framing of a new stream
 * @m: framing
 * @markers: Markers were agreed on for this direction
 * @crc: check CRCs
 *
 * Context: Sleeps.
 * Return: 0 or -ENOMEM.
 */
int xiw_rx_mpa_start(struct xiw_rx_mpa *m, bool markers, bool crc)
{
	xiw_mpa_rx_init(&m->mpa, markers);
	m->crc = crc;
	m->ready = false;
	m->have = 0;
	m->need = 0;
	if (!markers)
		return 0;
	m->linear = xiw_pages_alloc_linear(m->memcg, XIW_RX_PAGES * PAGE_SIZE);
	return m->linear ? 0 : -ENOMEM;
}

/**
 * xiw_rx_mpa_stop() - free the memory of the framing
 * @m: framing
 *
 * Context: Process context.
 */
void xiw_rx_mpa_stop(struct xiw_rx_mpa *m)
{
	rx_mpa_free_pages_from(m, 0);
	kvfree(m->linear);
	m->linear = NULL;
}
