// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Series of received FPDUs (place.c, rx_mpa.c) against FPDUs one by one (rx.c,
 * deliver.c, place.c): the same packets arrive at two streams, one of which
 * traces each FPDU and so has no series. Memory, queues, results and faults
 * have to be the same. The packets have any number of pieces, and FPDUs may be
 * damaged.
 */
#include "fuzz.h"

#include "llp/fpdu.h"
#include "mem/mem.h"
#include "proto/ddp.h"
#include "proto/opcode.h"
#include "stream/engine.h"
#include "stream/stream.h"

enum {
	PAGES		= 12,		/* of a region */
	REGION		= PAGES * 4096 - 100,
	IOVA		= 0xffffe010,
	STAG_WRITE	= 0x100,
	STAG_RECV	= 0x200,
	STAG_SINK	= 0x300,
	REGIONS		= 3,
	STREAM		= 512 * 1024,
	MESSAGES	= 5,
	READS		= 8,
	LOG		= 64,
	PACKETS		= 4096,
};

/* A region, each page of which ends where its memory ends */
struct series_region {
	struct xiw_mem mem;
	u8 *pages[PAGES];
};

/* A stream, and what it did */
struct series_run {
	struct xiw_stream s;
	struct xiw_sq sq;
	struct xiw_llp llp;
	struct xiw_stats stats;
	struct xiw_stream_env env;
	struct series_region regions[REGIONS];
	u32 receives;
	u32 num_log;
	u64 log[LOG];
	u32 packet;
	u32 taken;
};

bool kernel_traces_fpdus;

static u8 stream[STREAM];
static u32 stream_len;
static struct sk_buff *packets[PACKETS];
static u32 num_packets;
static u32 layout;
static struct series_run *now;

static void series_log(u32 kind, u32 value)
{
	if (now->num_log < LOG)
		now->log[now->num_log++] = (u64)kind << 32 | value;
}

/* ---- memory ------------------------------------------------------------ */

void xiw_copy_in(void *dst, const void *src, size_t len)
{
	CHECK(len);
	memcpy(dst, src, len);
}

void xiw_copy_out(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
}

static struct series_region *series_find(u32 stag)
{
	u32 n = stag / 0x100 - 1;

	return stag % 0x100 || n >= REGIONS ? NULL : &now->regions[n];
}

/* As mem_extend(), but no pages are contiguous. */
static void series_extend(struct xiw_mem_ref *ref)
{
	struct series_region *r =
		container_of(ref->base, struct series_region, mem);
	u64 off = ref->next - IOVA;

	if (ref->at != ref->end)
		return;
	CHECK(off < REGION);
	ref->at = r->pages[off / PAGE_SIZE] + off % PAGE_SIZE;
	ref->end = r->pages[off / PAGE_SIZE] +
		   min((u64)PAGE_SIZE, REGION - off / PAGE_SIZE * PAGE_SIZE);
	ref->next += (u8 *)ref->end - (u8 *)ref->at;
}

void xiw_mem_write_pieces(struct xiw_mem_ref *ref, const void *src, size_t len)
{
	size_t n;

	for (; len; len -= n, src += n) {
		series_extend(ref);
		n = min(len, (size_t)(ref->end - ref->at));
		memcpy(ref->at, src, n);
		ref->at += n;
	}
}

void xiw_mem_read_pieces(struct xiw_mem_ref *ref, void *dst, size_t len)
{
	(void)ref;
	(void)dst;
	(void)len;
	CHECK(!"a read");
}

enum xiw_mem_status xiw_mem_get(struct xiw_mem_cache *cache, u32 stag,
				int access, u64 addr, u64 len,
				struct xiw_mem_ref *ref)
{
	struct series_region *r = series_find(stag);

	(void)cache;
	if (!r)
		return XIW_MEM_BAD_STAG;
	if ((r->mem.access & access) != access)
		return XIW_MEM_BAD_ACCESS;
	switch (xiw_rdmap_range_check(addr, len, IOVA, REGION)) {
	case XIW_RANGE_FITS:
		break;
	case XIW_RANGE_WRAPS:
		return XIW_MEM_WRAP;
	default:
		return XIW_MEM_BOUNDS;
	}
	ref->mem = &r->mem;
	ref->base = &r->mem;
	ref->at = NULL;
	ref->end = NULL;
	ref->next = addr;
	series_extend(ref);
	return XIW_MEM_OK;
}

void xiw_mem_put(struct xiw_mem_ref *ref)
{
	(void)ref;
}

u64 xiw_mem_room(struct xiw_mem_ref *ref, int access, u64 addr, u64 most)
{
	(void)ref;
	(void)access;
	return min(most, IOVA + (u64)REGION - addr);
}

enum xiw_mem_status xiw_mem_check(struct xiw_mem_cache *cache, u32 stag,
				  int access, u64 addr, u64 len)
{
	struct xiw_mem_ref ref;

	return xiw_mem_get(cache, stag, access, addr, len, &ref);
}

enum xiw_mem_status xiw_mem_invalidate(const struct xiw_mem_cache *cache,
				       u32 stag, bool remote)
{
	(void)cache;
	(void)remote;
	series_log(1, stag);
	return XIW_MEM_OK;
}

u64 *xiw_mem_word(const struct xiw_mem_ref *ref)
{
	return ref->at;
}

struct page *xiw_pages_alloc(struct mem_cgroup *memcg, gfp_t gfp, u32 order)
{
	struct page *page = malloc(sizeof(*page));

	(void)memcg;
	(void)gfp;
	CHECK(page && !order);
	page->bytes = malloc(PAGE_SIZE);
	page->order = 0;
	page->refs = 1;
	return page;
}

void *xiw_pages_calloc(struct mem_cgroup *memcg, gfp_t gfp, size_t n,
		       size_t size)
{
	(void)memcg;
	(void)gfp;
	return calloc(n, size);
}

void *xiw_pages_alloc_linear(struct mem_cgroup *memcg, size_t len)
{
	(void)memcg;
	return malloc(len);
}

/* ---- the rest of the stream -------------------------------------------- */

void xiw_stream_fault(struct xiw_stream *s, enum xiw_reason reason,
		      const struct xiw_term_offender *off)
{
	series_log(2, reason);
	if (off)
		series_log(3, off->ulpdu_len << 16 | off->hdr[0] << 8 |
			   off->hdr[1]);
	s->rx.dead = true;
}

void xiw_stream_event(struct xiw_stream *s, enum xiw_qp_event event)
{
	(void)s;
	series_log(4, event);
}

void xiw_stream_recv_done(struct xiw_stream *s, struct xiw_cqe *cqe)
{
	series_log(5, cqe->status << 24 | cqe->byte_len);
	series_log(6, cqe->flags);
	s->rx.recv_active = false;
}

void xiw_tx_sched_complete(struct xiw_stream *s)
{
	series_log(7, s->orq_head);
}

void xiw_tx_sched_fail(struct xiw_stream *s, struct xiw_swr *wr, u8 status)
{
	(void)wr;
	series_log(8, status);
	s->rx.dead = true;
}

void xiw_tx_run_locked(struct xiw_stream *s)
{
	(void)s;
}

void xiw_tx_fin(struct xiw_stream *s)
{
	(void)s;
}

void xiw_stream_trim_later(struct xiw_stream *s)
{
	(void)s;
}

void xiw_stream_rx_again(struct xiw_stream *s, unsigned long delay)
{
	(void)s;
	(void)delay;
	CHECK(!"no memory");
}

void xiw_stream_queue_delayed(struct xiw_stream *s, struct delayed_work *work,
			      unsigned long delay)
{
	(void)s;
	(void)work;
	(void)delay;
}

void xiw_stream_cancel_delayed(struct xiw_stream *s, struct delayed_work *work)
{
	(void)s;
	(void)work;
}

struct xiw_llp *xiw_stream_lock(struct xiw_stream *s)
{
	return s->llp;
}

void xiw_stream_unlock(struct xiw_llp *llp)
{
	(void)llp;
}

void xiw_busy_poll_post_rx(struct xiw_stream *s)
{
	(void)s;
}

static void series_first_fpdu(struct xiw_stream *s)
{
	(void)s;
}

static void series_put(struct xiw_stream *s)
{
	(void)s;
}

static void series_no_wait(struct xiw_stream *s)
{
	(void)s;
	CHECK(!"a wait for a receive");
}

static unsigned long series_until(struct xiw_stream *s, unsigned long until)
{
	(void)s;
	return until;
}

/* A receive with three elements, the sizes of which depend on its number. */
static enum xiw_rq_take series_take_recv(struct xiw_stream *s,
					 struct xiw_recv *recv)
{
	struct series_run *run = container_of(s, struct series_run, s);
	u32 first = (layout >> (run->receives++ % 8 * 4) & 15) * 700;
	u32 i;

	memset(recv, 0, sizeof(*recv));
	recv->num_sge = 3;
	recv->sge[0].length = first;
	recv->sge[1].length = layout % 3000;
	recv->sge[2].length = REGION / 3;
	for (i = 0; i < recv->num_sge; i++) {
		recv->sge[i].addr = IOVA + i * (REGION / 3);
		recv->sge[i].lkey = STAG_RECV;
		recv->len += recv->sge[i].length;
	}
	return XIW_RQ_TAKEN;
}

static const struct xiw_stream_ops series_ops = {
	.put = series_put,
	.first_fpdu = series_first_fpdu,
	.take_recv = series_take_recv,
	.rnr_wait = series_no_wait,
	.rnr_end = series_no_wait,
	.rnr_until = series_until,
};

/* ---- the lower layer --------------------------------------------------- */

static int series_read(struct xiw_llp *llp, sk_read_actor_t actor, void *arg)
{
	read_descriptor_t desc = { .arg.data = arg, .count = 1 };
	int done = 0;
	u32 n;

	(void)llp;
	while (now->packet < num_packets) {
		struct sk_buff *skb = packets[now->packet];

		n = actor(&desc, skb, now->taken, skb->len - now->taken);
		CHECK(n <= skb->len - now->taken);
		now->taken += n;
		done += n;
		if (now->taken < skb->len)
			break;
		now->packet++;
		now->taken = 0;
	}
	return done;
}

static int series_unread(struct xiw_llp *llp)
{
	(void)llp;
	return 0;
}

static bool series_idle(const struct xiw_llp *llp)
{
	(void)llp;
	return true;
}

static enum xiw_llp_status series_status(struct xiw_llp *llp)
{
	(void)llp;
	return XIW_LLP_OPEN;
}

static void series_flush(struct xiw_llp *llp)
{
	(void)llp;
}

static const struct xiw_llp_ops llp_ops = {
	.read = series_read,
	.unread = series_unread,
	.idle = series_idle,
	.status = series_status,
	.flush_backlog = series_flush,
};

/* ---- one run ----------------------------------------------------------- */

/* The request of each Read: two elements, of which the first may be empty */
static void series_post_reads(struct series_run *run, u32 len)
{
	u32 i;

	run->sq.size = READS;
	run->sq.stride = sizeof(struct xiw_swr) + 2 * sizeof(struct xiw_sge);
	run->sq.wrs = calloc(READS, run->sq.stride);
	run->s.orq = calloc(READS, sizeof(*run->s.orq));
	CHECK(run->sq.wrs && run->s.orq);
	run->s.orq_mask = READS - 1;
	run->s.orq_tail = READS;
	for (i = 0; i < READS; i++) {
		struct xiw_swr *wr = xiw_sq_wr(&run->sq, i);
		struct xiw_orq_entry *wait = &run->s.orq[i];

		wr->opcode = IB_WR_RDMA_READ;
		wr->encoded = true;
		wr->num_sge = 2;
		wr->len = len;
		wr->sge[0].length = layout % (len + 1);
		wr->sge[1].length = len - wr->sge[0].length;
		wr->sge[0].addr = IOVA + i;
		wr->sge[1].addr = IOVA + REGION - wr->sge[1].length - i;
		wr->sge[0].lkey = STAG_SINK;
		wr->sge[1].lkey = STAG_SINK;
		wait->index = i;
		wait->num_sge = 2;
		wait->sink.stag = STAG_SINK;
		wait->sink.to = IOVA + i;
		wait->sink.left = len;
	}
}

static struct series_run *series_make_run(bool crc, u32 read_len)
{
	struct series_run *run = aligned_alloc(64, sizeof(*run));
	struct xiw_mem *mem;
	u32 i, j;

	CHECK(run);
	memset(run, 0, sizeof(*run));
	for (i = 0; i < REGIONS; i++) {
		mem = &run->regions[i].mem;
		mem->access = IB_ACCESS_LOCAL_WRITE |
			      (i ? 0 : IB_ACCESS_REMOTE_WRITE);
		mem->combined = i == 1;
		for (j = 0; j < PAGES; j++) {
			run->regions[i].pages[j] = calloc(1, PAGE_SIZE);
			CHECK(run->regions[i].pages[j]);
		}
	}
	run->env.stats = &run->stats;
	run->env.features = ~0;
	run->llp.ops = &llp_ops;
	run->s.ops = &series_ops;
	run->s.env = &run->env;
	run->s.sq = &run->sq;
	run->s.llp = &run->llp;
	run->s.conn.initiator = true;
	run->s.ird_size = 1;
	run->s.rx.mpa.stats = &run->stats;
	run->s.conn.nego.crc = crc;
	now = run;
	CHECK(!xiw_rx_start(&run->s));
	series_post_reads(run, read_len);
	return run;
}

static void series_execute(struct series_run *run, bool traced)
{
	now = run;
	kernel_traces_fpdus = traced;
	xiw_rx_run_locked(&run->s);
	while (run->s.rx.deferred && !run->s.rx.dead) {
		run->s.rx.deferred = false;
		xiw_rx_bulk_locked(&run->s);
	}
}

static void series_free_run(struct series_run *run)
{
	u32 i, j;

	now = run;
	run->s.rx.stalled = false;
	xiw_rx_stop(&run->s);
	for (i = 0; i < REGIONS; i++)
		for (j = 0; j < PAGES; j++)
			free(run->regions[i].pages[j]);
	free(run->sq.wrs);
	free(run->s.orq);
	free(run->s.irdq);
	free(run);
}

static void series_compare(const struct series_run *a,
			   const struct series_run *b)
{
	const struct xiw_rx *ra = &a->s.rx;
	const struct xiw_rx *rb = &b->s.rx;
	u32 i, j;

	CHECK(a->num_log == b->num_log);
	CHECK(!memcmp(a->log, b->log, sizeof(a->log)));
	for (i = 0; i < REGIONS; i++)
		for (j = 0; j < PAGES; j++)
			CHECK(!memcmp(a->regions[i].pages[j],
				      b->regions[i].pages[j], PAGE_SIZE));
	CHECK(!memcmp(&a->stats, &b->stats, sizeof(a->stats)));
	CHECK(!memcmp(ra->queue, rb->queue, sizeof(ra->queue)));
	CHECK(ra->dead == rb->dead && ra->requests == rb->requests);
	CHECK(ra->write_bytes == rb->write_bytes);
	CHECK(ra->last_write == rb->last_write);
	CHECK(ra->recv_active == rb->recv_active);
	CHECK(a->receives == b->receives);
	CHECK(a->s.orq_head == b->s.orq_head);
	CHECK(!memcmp(a->s.orq, b->s.orq, READS * sizeof(*a->s.orq)));
	if (!ra->dead) {
		CHECK(a->packet == num_packets && b->packet == num_packets);
		CHECK(ra->mpa.have == rb->mpa.have);
	}
}

/* ---- input ------------------------------------------------------------- */

static void series_put_be(u8 *p, u64 value, u32 len)
{
	while (len--) {
		p[len] = value;
		value >>= 8;
	}
}

/* Appends an FPDU; one byte of it may be changed before or after its CRC. */
static void series_put_fpdu(struct fuzz_in *in, const u8 *head, u32 head_len,
			    u32 payload, bool crc, u8 spoil)
{
	u32 ulpdu_len = head_len + payload;
	u32 len = xiw_mpa_fpdu_len(ulpdu_len);
	u8 *p = stream + stream_len;
	__le32 sum = 0;
	u32 i;

	if (stream_len + len > STREAM)
		return;
	memset(p, 0, len);
	series_put_be(p, ulpdu_len, 2);
	memcpy(p + 2, head, head_len);
	for (i = 0; i < payload; i++)
		p[2 + head_len + i] = stream_len + i * 7;
	if (spoil == 1)
		p[fuzz_u8(in) % 20 % len] ^= 1 << fuzz_u8(in) % 8;
	if (crc)
		sum = htole32(~crc32c(~0, p, len - 4));
	memcpy(p + len - 4, &sum, 4);
	if (spoil == 2)
		p[fuzz_u16(in) % len] ^= 1 << fuzz_u8(in) % 8;
	stream_len += len;
}

/* A message of @len bytes in FPDUs of @size */
static void series_put_message(struct fuzz_in *in, u32 kind, u32 number,
			       u32 len, u32 size, bool crc)
{
	static const u8 opcodes[] = {
		XIW_OP_WRITE, XIW_OP_READ_RESP, XIW_OP_SEND, XIW_OP_SEND_SE,
		XIW_OP_SEND_INV,
	};
	bool tagged = kind < 2;
	u32 head_len = tagged ? XIW_TAGGED_LEN : XIW_UNTAGGED_LEN;
	u32 spoil_at = fuzz_u8(in) % 2 ? fuzz_u8(in) : U32_MAX;
	u64 to = IOVA + (kind == 1 ? number : fuzz_u16(in) % REGION);
	u8 head[XIW_DDP_HDR_MAX] = {};
	u32 off, n, i;

	head[1] = XIW_RDMAP_RV | opcodes[kind];
	for (off = 0, i = 0; off < len || !i; off += n, i++) {
		n = min(len - off, size);
		head[0] = XIW_DDP_DV | (tagged ? XIW_DDP_TAGGED : 0) |
			  (off + n == len ? XIW_DDP_LAST : 0);
		if (tagged) {
			series_put_be(head + 2, kind == 1 ? STAG_SINK
							  : STAG_WRITE, 4);
			series_put_be(head + 6, to + off, 8);
		} else {
			series_put_be(head + 2, kind == 4 ? 77 : 0, 4);
			series_put_be(head + 10, number + 1, 4);
			series_put_be(head + 14, off, 4);
		}
		series_put_fpdu(in, head, head_len, n, crc,
				i == spoil_at ? 1 + fuzz_u8(in) % 2 : 0);
	}
}

/* A packet of the next @len bytes: linear part, fragments, list */
static struct sk_buff *series_packet(struct fuzz_in *in, const u8 *src, u32 len)
{
	struct sk_buff *skb = calloc(1, sizeof(*skb));
	u32 linear = fuzz_u16(in) % (len + 1);
	u32 rest = len - linear;
	u32 n;

	CHECK(skb);
	skb->data = fuzz_dup(src, linear);
	skb->len = len;
	skb->data_len = rest;
	src += linear;
	while (rest) {
		if (skb->info.nr_frags == MAX_SKB_FRAGS ||
		    fuzz_u8(in) % 16 == 15) {
			skb->info.frag_list = calloc(1, sizeof(*skb));
			skb->info.frag_list->data = fuzz_dup(src, rest);
			skb->info.frag_list->len = rest;
			break;
		}
		n = fuzz_u8(in) % 4 ? 1 + fuzz_u16(in) % rest : rest;
		skb->info.frags[skb->info.nr_frags].data = fuzz_dup(src, n);
		skb->info.frags[skb->info.nr_frags++].len = n;
		src += n;
		rest -= n;
	}
	return skb;
}

static void series_free_packet(struct sk_buff *skb)
{
	u32 i;

	if (skb->info.frag_list) {
		free(skb->info.frag_list->data);
		free(skb->info.frag_list);
	}
	for (i = 0; i < skb->info.nr_frags; i++)
		free(skb->info.frags[i].data);
	free(skb->data);
	free(skb);
}

static void series_make_packets(struct fuzz_in *in)
{
	u32 most = 200 + fuzz_u16(in);
	u32 pos, n;

	num_packets = 0;
	for (pos = 0; pos < stream_len; pos += n) {
		n = fuzz_u8(in) % 4 ? 1 + fuzz_u16(in) % most : most;
		n = min(n, stream_len - pos);
		/* The last packet has all that is left. */
		if (num_packets == PACKETS - 1)
			n = stream_len - pos;
		packets[num_packets++] = series_packet(in, stream + pos, n);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	bool crc = fuzz_u8(&in) % 4 == 0;
	u32 count = 1 + fuzz_u8(&in) % MESSAGES;
	u32 read_len = fuzz_u16(&in) % (REGION / 2);
	u32 fpdu = 1 + fuzz_u16(&in) % (fuzz_u8(&in) % 2 ? 1500 : 9000);
	struct series_run *a, *b;
	u32 sends = 0, reads = 0;
	u32 kind, len, i;

	layout = fuzz_u32(&in);
	stream_len = 0;
	for (i = 0; i < count; i++) {
		kind = fuzz_u8(&in) % 5;
		len = kind == 1 ? read_len : fuzz_u16(&in) % REGION;
		/* Few FPDUs of a few bytes */
		len = min(len, fpdu * 100);
		series_put_message(&in, kind, kind == 1 ? reads++ :
				   kind > 1 ? sends++ : 0, len, fpdu, crc);
	}
	series_make_packets(&in);
	a = series_make_run(crc, read_len);
	series_execute(a, false);
	b = series_make_run(crc, read_len);
	series_execute(b, true);
	series_compare(a, b);
	series_free_run(a);
	series_free_run(b);
	for (i = 0; i < num_packets; i++)
		series_free_packet(packets[i]);
	return 0;
}
