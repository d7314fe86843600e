// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Framing of received data (rx_mpa.c): FPDUs of unknown bytes in packets of two
 * pieces that are cut anywhere, and in two packets. Pieces and pages end where
 * their memory ends. Lengths are single values: the shortest FPDUs, and some
 * that fill pages.
 *
 * Files: proto/mpa
 * Includes: llp/rx_mpa
 */
#include "any.h"
#include "mem/mem.h"
#include "llp/fpdu.h"

/* The alignment of an address is no number for the analyzer. */
static u32 rx_behind;

#define xiw_mem_behind_word(ref)	((void)(ref), rx_behind)
#include "llp/rx_mpa.c"

#define RX_LARGEST	(66 * 1024)

/* Two pieces, which may follow each other in memory */
static u8 rx_first[RX_LARGEST];
static u8 rx_second[RX_LARGEST];
static u8 rx_linear[XIW_RX_PAGES * PAGE_SIZE];
static u8 rx_page_bytes[PAGE_SIZE];
static struct page rx_page = { .bytes = rx_page_bytes };
static struct xiw_stats rx_stats;

/* Bytes before the length field: those of a leading Marker */
static u32 rx_lead;

struct page *xiw_pages_alloc(struct mem_cgroup *memcg, gfp_t gfp, u32 order)
{
	rx_page.refs = 1 << 10;
	return any_bool() ? &rx_page : NULL;
}

void *xiw_pages_alloc_linear(struct mem_cgroup *memcg, size_t len)
{
	/*@ assert linear: len <= sizeof(rx_linear); */
	return any_bool() ? rx_linear : NULL;
}

void xiw_copy_in(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
}

/* The memory that was checked has as many bytes as are placed. */
void xiw_mem_write_pieces(struct xiw_mem_ref *ref, const void *src, size_t len)
{
	/*@ assert unreached: \false; */
}

/*
 * A piece with the bytes @from to @from + @len of an FPDU of @ulpdu_len bytes
 */
static u8 *rx_piece(u8 *room, u32 from, u32 len, u16 ulpdu_len)
{
	u8 *piece = room + (RX_LARGEST - len);

	Frama_C_make_unknown((char *)room, RX_LARGEST);
	if (from <= rx_lead && from + len > rx_lead)
		piece[rx_lead - from] = ulpdu_len >> 8;
	if (from <= rx_lead + 1 && from + len > rx_lead + 1)
		piece[rx_lead + 1 - from] = ulpdu_len;
	return piece;
}

/* A packet with the bytes @from to @from + @a + @b, of which @a are linear */
static void rx_packet(struct sk_buff *skb, u32 from, u32 a, u32 b,
		      u16 ulpdu_len)
{
	*skb = (struct sk_buff){
		.data = a ? rx_piece(rx_first, from, a, ulpdu_len) : rx_first,
		.len = a + b,
		.data_len = b,
	};
	if (!b)
		return;
	skb->info.nr_frags = 1;
	skb->info.frags[0].data = rx_piece(rx_second, from + a, b, ulpdu_len);
	skb->info.frags[0].len = b;
}

static bool rx_start(struct xiw_rx_mpa *m, bool markers)
{
	*m = (struct xiw_rx_mpa){ .stats = &rx_stats };
	return !xiw_rx_mpa_start(m, markers, any_bool());
}

/* Reads the DDP header and the payload of a complete FPDU. */
static void rx_read(struct xiw_rx_mpa *m)
{
	struct xiw_fpdu f = { .vec = m->vec, .ulpdu_len = m->ulpdu_len };
	u32 hdr_len = min_t(u32, m->ulpdu_len, XIW_DDP_HDR_MAX);

	xiw_fpdu_skip(&f, XIW_MPA_LEN_FIELD);
	xiw_fpdu_copy(&f, f.hdr, hdr_len);
	xiw_rx_mpa_done(m);
}

static enum xiw_rx_found rx_next(struct xiw_rx_mpa *m,
				 const struct sk_buff *skb)
{
	enum xiw_rx_found found;
	struct xiw_rx_pos p;

	xiw_rx_pos_init(&p, skb, 0, skb->len);
	found = xiw_rx_mpa_next(m, &p);
	if (found == XIW_RX_FPDU)
		rx_read(m);
	return found;
}

/*
 * An FPDU of which one packet has @a bytes in its linear part, and all else
 * behind
 */
static void rx_whole(u16 ulpdu_len, u32 a)
{
	u32 len = xiw_mpa_fpdu_len(ulpdu_len);
	struct xiw_rx_mpa m;
	struct sk_buff skb;

	rx_lead = 0;
	rx_start(&m, false);
	rx_packet(&skb, 0, a, len - a, ulpdu_len);
	rx_next(&m, &skb);
	xiw_rx_mpa_stop(&m);
}

/* The same with @a bytes in a first packet, and the rest in a second one */
static void rx_split(bool markers, u16 ulpdu_len, u32 a)
{
	u32 len = xiw_mpa_fpdu_len(ulpdu_len);
	struct xiw_rx_mpa m;
	struct sk_buff skb;

	if (!rx_start(&m, markers))
		return;
	rx_lead = markers ? XIW_MPA_MARKER_LEN : 0;
	if (markers)
		len += XIW_MPA_MARKER_LEN * xiw_mpa_marker_count(0, ulpdu_len);
	rx_packet(&skb, 0, a, 0, ulpdu_len);
	/* Without memory, the packet is read again later. */
	if (rx_next(&m, &skb) != XIW_RX_MORE)
		return;
	xiw_rx_mpa_trim(&m);
	rx_packet(&skb, a, (len - a) / 2, len - a - (len - a) / 2, ulpdu_len);
	rx_next(&m, &skb);
	xiw_rx_mpa_stop(&m);
}

static void rx_cuts(u16 ulpdu_len)
{
	u32 len = xiw_mpa_fpdu_len(ulpdu_len);
	u32 cut;

	/*@ loop unroll 64; */
	for (cut = 0; cut <= len; cut++) {
		rx_whole(ulpdu_len, cut);
		if (cut && cut < len)
			rx_split(false, ulpdu_len, cut);
	}
}

/* Large ones, cut at the end of a page */
static void rx_large(u16 ulpdu_len)
{
	u32 len = xiw_mpa_fpdu_len(ulpdu_len);

	rx_whole(ulpdu_len, len);
	rx_whole(ulpdu_len, 1);
	rx_split(false, ulpdu_len, 1);
	rx_split(false, ulpdu_len, PAGE_SIZE - 1);
	rx_split(false, ulpdu_len, PAGE_SIZE);
	rx_split(false, ulpdu_len, len - 1);
}

/* Payload into memory of any alignment, from two pieces */
static void rx_place(u32 a, u32 b)
{
	struct kvec vec[2] = {
		{ rx_piece(rx_first, 2, a, 0), a },
		{ rx_piece(rx_second, 2, b, 0), b },
	};
	struct xiw_mem_ref ref = { .at = any_bytes(a + b) };
	struct xiw_fpdu f = { .vec = vec };

	ref.end = (u8 *)ref.at + a + b;
	xiw_fpdu_place(&f, &ref, a + b);
}

static void rx_places(void)
{
	u32 a;

	/*@ loop unroll 8; */
	for (rx_behind = 0; rx_behind < XIW_COPY_WORD; rx_behind++)
		/*@ loop unroll 10; */
		for (a = 1; a <= 9; a++)
			rx_place(a, 10);
	rx_behind = 0;
}

/* A packet that is one FPDU without its MPA fields, and one of a series */
static void rx_others(u32 a, u32 b)
{
	u8 head[XIW_MPA_LEN_FIELD + XIW_DDP_HDR_MAX];
	struct xiw_rx_mpa m;
	struct xiw_rx_pos p;
	struct sk_buff skb;

	ANY(&head);
	rx_lead = 0;
	rx_start(&m, false);
	rx_packet(&skb, 0, a, b, 30);
	xiw_rx_flatten(&skb);
	if (xiw_rx_mpa_take_chunk(&m, &skb))
		rx_read(&m);
	xiw_rx_pos_init(&p, &skb, 0, a + b);
	if (xiw_rx_mpa_next_like(&m, &p, head, 16, 36))
		rx_read(&m);
	xiw_rx_pos_init(&p, &skb, 0, a + b);
	xiw_rx_mpa_next_like(&m, &p, head, 20, 36);
}

int main(void)
{
	rx_cuts(0);
	rx_cuts(3);
	rx_large(4086);
	rx_large(65535);
	rx_split(true, 40, 1);
	rx_split(true, 1000, 7);
	rx_places();
	rx_others(1, 35);
	rx_others(15, 21);
	rx_others(20, 16);
	rx_others(36, 0);

	return 0;
}
