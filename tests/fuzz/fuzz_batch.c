// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Batches of FPDUs (tx_batch.c, tx_mpa.c): random messages are encoded for any
 * segment size of TCP, with and without Markers, CRC and blocks, and taken by
 * the socket in pieces. The output is parsed, and has to contain each message
 * once and in order. Pages end where their memory ends.
 */
#include "fuzz.h"

#include "mem/mem.h"
#include "proto/opcode.h"
#include "stream/engine.h"
#include "stream/stream.h"

enum {
	SOURCE		= 200 * 1024,	/* bytes of registered memory */
	MESSAGES	= 6,
	SGES		= 3,
	WIRE		= 8 << 20,	/* FPDUs of one byte each fit */
	STAG		= 0x100,
	TO		= 0xfffff000,	/* so that the upper half changes */
};

/* A message to be sent: elements of the source, for a response one */
struct batch_msg {
	bool response;
	bool tagged;
	bool inline_data;
	u32 len;
	u32 from[SGES];
	u32 sge_len[SGES];
	u32 sges;
};

static u8 source[SOURCE];
static u8 wire[WIRE];
static size_t wire_len;
static struct batch_msg msgs[MESSAGES];
static u32 num_msgs;
static u32 next_msg;
static bool blocks;
static struct fuzz_in *input;
static struct xiw_ird_entry irdq[1];
static union {
	struct xiw_swr wr;
	u8 room[sizeof(struct xiw_swr) + XIW_ABI_MAX_INLINE];
} request;

/* ---- what tx_batch.c calls --------------------------------------------- */

void xiw_copy_in(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
}

void xiw_copy_out(void *dst, const void *src, size_t len)
{
	CHECK(len);
	memcpy(dst, src, len);
}

void xiw_mem_read_pieces(struct xiw_mem_ref *ref, void *dst, size_t len)
{
	(void)ref;
	(void)dst;
	(void)len;
	CHECK(!"the memory that was checked is shorter");
}

void xiw_mem_write_pieces(struct xiw_mem_ref *ref, const void *src, size_t len)
{
	(void)ref;
	(void)src;
	(void)len;
	CHECK(!"a write");
}

enum xiw_mem_status xiw_mem_get(struct xiw_mem_cache *cache, u32 stag,
				int access, u64 addr, u64 len,
				struct xiw_mem_ref *ref)
{
	(void)cache;
	(void)access;
	CHECK(stag == STAG);
	CHECK(len && addr <= SOURCE && len <= SOURCE - addr);
	ref->at = source + addr;
	ref->end = source + addr + len;
	return XIW_MEM_OK;
}

void xiw_mem_put(struct xiw_mem_ref *ref)
{
	(void)ref;
}

enum xiw_reason xiw_mem_reason(enum xiw_mem_status status,
			       enum xiw_access access)
{
	(void)status;
	(void)access;
	return XIW_LOCAL_FAULT;
}

bool xiw_txbuf_get(struct xiw_txbuf *buf, u32 order, u32 sndbuf, u32 lead)
{
	struct page *page;

	(void)sndbuf;
	if (order && !blocks)
		return false;
	CHECK(order <= XIW_TXBUF_ORDER);
	if (buf->page)
		put_page(buf->page);
	page = malloc(sizeof(*page));
	CHECK(page);
	page->bytes = malloc(PAGE_SIZE << order);
	CHECK(page->bytes);
	page->order = order;
	page->refs = 1;
	buf->page = page;
	buf->off = -lead % XIW_TXBUF_ALIGN;
	return true;
}

void xiw_stream_trim_later(struct xiw_stream *s)
{
	(void)s;
}

void xiw_stream_event(struct xiw_stream *s, enum xiw_qp_event event)
{
	(void)s;
	(void)event;
	CHECK(!"an event");
}

void xiw_tx_sched_fail(struct xiw_stream *s, struct xiw_swr *wr, u8 status)
{
	(void)s;
	(void)wr;
	(void)status;
	CHECK(!"a failed request");
}

void xiw_tx_sched_bad_request(struct xiw_stream *s, enum xiw_reason reason,
			      const struct xiw_ird_entry *req, u32 done)
{
	(void)s;
	(void)reason;
	(void)req;
	(void)done;
	CHECK(!"a bad request");
}

void xiw_tx_sched_complete(struct xiw_stream *s)
{
	(void)s;
}

void xiw_tx_sched_turn(struct xiw_stream *s)
{
	(void)s;
}

u64 xiw_tx_sched_pos(const struct xiw_stream *s, const struct xiw_tx_msg *msg)
{
	return msg->offset;
}

bool xiw_tx_sched_waits_for_pages(struct xiw_stream *s,
				  const struct xiw_tx_msg *msg)
{
	return false;
}

bool xiw_tx_sched_park(struct xiw_stream *s)
{
	(void)s;
	return false;
}

bool xiw_tx_sched_idle(const struct xiw_stream *s)
{
	return s->tx.msg.source == XIW_TX_NONE && next_msg == num_msgs;
}

void xiw_tx_sched_encoded(struct xiw_stream *s)
{
	CHECK(s->tx.msg.offset == s->tx.msg.head.len);
	s->tx.msg.source = XIW_TX_NONE;
}

bool xiw_tx_sched_next(struct xiw_stream *s)
{
	struct xiw_tx_msg *m = &s->tx.msg;
	const struct batch_msg *b = &msgs[next_msg];
	u32 i;

	if (next_msg == num_msgs)
		return false;
	next_msg++;
	memset(m, 0, sizeof(*m));
	m->head.len = b->len;
	m->head.tagged = b->tagged;
	if (b->tagged) {
		m->head.opcode = b->response ? XIW_OP_READ_RESP : XIW_OP_WRITE;
		m->head.to = TO;
	} else {
		m->head.opcode = XIW_OP_SEND;
		m->head.msn = next_msg;
	}
	if (b->response) {
		m->source = XIW_TX_RESPONSE;
		irdq[0].read.src_stag = STAG;
		irdq[0].read.src_to = b->from[0];
		return true;
	}
	m->source = XIW_TX_SQ;
	m->wr = &request.wr;
	request.wr.len = b->len;
	request.wr.flags = b->inline_data ? XIW_SQE_INLINE : 0;
	request.wr.num_sge = b->inline_data ? 0 : b->sges;
	if (b->inline_data)
		memcpy(request.wr.sge, source + b->from[0], b->len);
	else
		for (i = 0; i < b->sges; i++)
			request.wr.sge[i] = (struct xiw_sge){
				.addr = b->from[i],
				.length = b->sge_len[i],
				.lkey = STAG,
			};
	return true;
}

/* ---- the lower layer --------------------------------------------------- */

static struct xiw_llp_space space;

static void batch_space(const struct xiw_llp *llp, struct xiw_llp_space *out)
{
	(void)llp;
	space.tail_fill = wire_len % space.emss;
	*out = space;
}

/* Takes all, or a part of it. */
static int batch_send(struct xiw_llp *llp, struct bio_vec *bv, unsigned int nr,
		      size_t len, enum xiw_llp_push push)
{
	size_t most = fuzz_u8(input) % 4 ? 1 + fuzz_u16(input) % len : len;
	size_t done = 0;
	size_t n;

	(void)llp;
	(void)push;
	CHECK(nr && nr <= XIW_TX_VECS);
	for (; nr; nr--, bv++) {
		CHECK(bv->bv_len);
		CHECK(bv->bv_offset + bv->bv_len <= page_size(bv->bv_page));
		n = min(most - done, (size_t)bv->bv_len);
		CHECK(wire_len + n <= WIRE);
		memcpy(wire + wire_len, bv->bv_page->bytes + bv->bv_offset, n);
		wire_len += n;
		done += n;
		len -= bv->bv_len;
	}
	CHECK(!len);
	return done;
}

static const struct xiw_llp_ops batch_ops = {
	.send = batch_send,
	.space = batch_space,
};

/* ---- the model --------------------------------------------------------- */

/* Byte @i of a message */
static u8 batch_byte(const struct batch_msg *b, u32 i)
{
	u32 n = 0;

	while (i >= b->sge_len[n])
		i -= b->sge_len[n++];
	return source[b->from[n] + i];
}

/* The wire without its Markers, which begin every 512 bytes */
static void batch_strip(void)
{
	size_t from, to = 0;

	for (from = 0; from < wire_len; from++)
		if (from % 512 >= 4)
			wire[to++] = wire[from];
	wire_len = to;
}

/* Checks a segment of @b at @offset; returns its payload. */
static u32 batch_check_segment(const struct batch_msg *b, const u8 *ulpdu,
			       u32 len, u32 offset)
{
	u32 head = b->tagged ? 14 : 18;
	u32 n = len - head;
	u32 i;

	CHECK(len >= head && n <= b->len - offset);
	CHECK(!!(ulpdu[0] & 0x80) == b->tagged);
	CHECK(!!(ulpdu[0] & 0x40) == (offset + n == b->len));
	if (b->tagged)
		CHECK(fuzz_be64(ulpdu + 6) == (u64)TO + offset);
	else
		CHECK(fuzz_be(ulpdu + 14, 4) == offset);
	for (i = 0; i < n; i++)
		CHECK(ulpdu[head + i] == batch_byte(b, offset + i));
	return n;
}

static void batch_check_wire(const struct xiw_tx_mpa *m)
{
	u32 largest = max(m->unit, xiw_mpa_fpdu_len(XIW_MULPDU_MIN));
	const struct batch_msg *b = msgs;
	size_t pos = 0;
	u32 offset = 0;

	while (pos < wire_len) {
		u32 ulpdu_len = fuzz_be(wire + pos, 2);
		u32 len = xiw_mpa_fpdu_len(ulpdu_len);
		__le32 crc;

		CHECK(b < msgs + num_msgs);
		CHECK(len <= wire_len - pos);
		memcpy(&crc, wire + pos + len - 4, 4);
		if (!m->crc)
			CHECK(!crc);
		/* The CRC covers Markers as well, which are gone. */
		if (m->crc && !m->mpa.markers)
			CHECK(crc == htole32(~crc32c(~0, wire + pos, len - 4)));
		if (!m->mpa.markers)
			CHECK(len <= largest);
		offset += batch_check_segment(b, wire + pos + 2, ulpdu_len,
					      offset);
		if (wire[pos + 2] & 0x40) {
			CHECK(offset == b->len);
			offset = 0;
			b++;
		}
		pos += len;
	}
	CHECK(b == msgs + num_msgs);
}

/* ---- input ------------------------------------------------------------- */

static u32 batch_len(struct fuzz_in *in)
{
	switch (fuzz_u8(in) % 4) {
	case 0:
		return fuzz_u8(in);
	case 1:
		return fuzz_u16(in) % 8192;
	case 2:
		return fuzz_u16(in);
	default:
		return fuzz_u32(in) % SOURCE;
	}
}

static void batch_take_msg(struct fuzz_in *in, struct batch_msg *b)
{
	u8 kind = fuzz_u8(in);
	u32 left;
	u32 i;

	memset(b, 0, sizeof(*b));
	b->response = kind & 1;
	b->tagged = b->response || kind & 2;
	b->inline_data = !b->response && kind & 4;
	b->len = batch_len(in);
	if (b->inline_data)
		b->len %= XIW_ABI_MAX_INLINE + 1;
	b->sges = b->response || b->inline_data ? 1 : 1 + fuzz_u8(in) % SGES;
	left = b->len;
	for (i = 0; i < b->sges; i++) {
		b->sge_len[i] = i + 1 < b->sges ? fuzz_u32(in) % (left + 1)
						: left;
		left -= b->sge_len[i];
		b->from[i] = fuzz_u32(in) % (SOURCE - b->sge_len[i] + 1);
	}
}

/* Segment sizes around the smallest FPDU are the most interesting ones. */
static u32 batch_emss(struct fuzz_in *in)
{
	switch (fuzz_u8(in) % 4) {
	case 0:
		return 1 + fuzz_u8(in) % 200;
	case 1:
		return 36 + fuzz_u8(in) % 128;
	case 2:
		return 400 + fuzz_u16(in) % 9000;
	default:
		return 1 + fuzz_u16(in) % 65535;
	}
}

static void batch_fill_source(void)
{
	u32 i;

	for (i = 0; !source[1] && i < SOURCE; i++)
		source[i] = i * 7 + (i >> 8) * 13 + 1;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const u32 segments[] = { 0, 1, 1, 2, 3, 11, 46 };
	static struct xiw_stats stats;
	struct xiw_stream_env env = { .stats = &stats };
	struct fuzz_in in = { data, size };
	struct xiw_llp llp = { .ops = &batch_ops };
	struct xiw_sq sq = { .size = 1 };
	struct xiw_stream *s = aligned_alloc(64, sizeof(*s));
	u8 flags = fuzz_u8(&in);
	struct xiw_tx *tx;
	u32 i;

	CHECK(s);
	memset(s, 0, sizeof(*s));
	tx = &s->tx;
	input = &in;
	batch_fill_source();
	s->env = &env;
	s->llp = &llp;
	s->sq = &sq;
	s->irdq = irdq;
	blocks = flags & 1;
	space.emss = batch_emss(&in);
	space.sndbuf = 1 << 20;
	xiw_tx_mpa_start(&tx->mpa, flags & 2, flags & 4,
			 segments[fuzz_u8(&in) % ARRAY_SIZE(segments)]);
	num_msgs = 1 + fuzz_u8(&in) % MESSAGES;
	for (i = 0; i < num_msgs; i++)
		batch_take_msg(&in, &msgs[i]);
	next_msg = 0;
	wire_len = 0;
	do {
		xiw_budget_begin(&tx->budget, 1 + fuzz_u8(&in) % 16);
		if (!tx->batch.len)
			xiw_tx_batch_build(s);
		CHECK(tx->batch.len);
		xiw_tx_batch_send(s);
	} while (tx->batch.len || !xiw_tx_sched_idle(s));
	CHECK(tx->sent == tx->pos && tx->sent == wire_len);
	if (tx->mpa.mpa.markers)
		batch_strip();
	batch_check_wire(&tx->mpa);
	if (tx->buf.page)
		put_page(tx->buf.page);
	free(s);
	return 0;
}
