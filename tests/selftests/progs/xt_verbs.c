// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Data integrity of Send, RDMA Write and RDMA Read: every size around the
 * borders of segments and pages, gather and scatter lists, inline data, and
 * messages without payload. Bytes beside the addressed ones, inside and outside
 * of the region, must not change.
 */
#include "xt.h"

#include <stdio.h>
#include <string.h>

#define MARK		0xee
#define ROOM		(256 * 1024UL)
#define AROUND		64

/*
 * A connection with @src, a region of the active end, and @dst, a region of the
 * passive end that the active one may access.
 */
struct lane {
	struct xt_pair p;
	struct xt_buf src;
	struct xt_buf dst;
};

static void lane_up(struct lane *l, const struct xt_opts *o, size_t room)
{
	xt_pair(&l->p, o, o);
	l->src = xt_buf(&l->p.b, room, XT_LOCAL);
	l->dst = xt_buf(&l->p.a, room, XT_REMOTE);
}

static void lane_down(struct lane *l)
{
	XT_GUARDS(&l->src);
	XT_GUARDS(&l->dst);
	xt_buf_free(&l->src);
	xt_buf_free(&l->dst);
	xt_hang_up(&l->p, &l->p.b);
}

/* The LEN bytes at P hold pattern SEED, and those around them are marked. */
static void only_here(const struct xt_buf *b, size_t off, size_t len,
		      __u64 seed)
{
	XT_SAME(b->p + off, len, seed);
	XT_ALL(b->p + off - AROUND, AROUND, MARK);
	XT_ALL(b->p + off + len, AROUND, MARK);
}

static void mark(struct xt_buf *b, size_t off, size_t len)
{
	memset(b->p + off - AROUND, MARK, len + 2 * AROUND);
}

static void do_send(struct lane *l, size_t from, size_t to, size_t len,
		    __u64 seed)
{
	struct ibv_sge in = xt_sge(&l->dst, to, len);
	struct ibv_sge out = xt_sge(&l->src, from, len);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, seed, &out, 1);

	mark(&l->dst, to, len);
	xt_fill(l->src.p + from, len, seed);
	xt_recv(&l->p.a, seed, &in, 1);
	xt_send(&l->p.b, &wr);
	XT_EQ(xt_wc_ok(l->p.b.scq, seed).opcode, IBV_WC_SEND);
	XT_EQ(xt_wc_ok(l->p.a.rcq, seed).byte_len, len);
	only_here(&l->dst, to, len, seed);
}

/* A Send behind the earlier requests: when it arrives they are complete. */
static void do_sync(struct lane *l)
{
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 0x51, NULL, 0);
	struct ibv_wc wc;

	xt_recvs(&l->p.a, 0x52, 1);
	xt_send(&l->p.b, &wr);
	xt_wc_ok(l->p.b.scq, 0x51);
	wc = xt_wc_ok(l->p.a.rcq, 0x52);
	XT_EQ(wc.byte_len, 0);
	XT_EQ(wc.opcode, IBV_WC_RECV);
	XT_EQ(wc.wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV), 0);
}

static void do_write(struct lane *l, size_t from, size_t to, size_t len,
		     __u64 seed)
{
	struct ibv_sge out = xt_sge(&l->src, from, len);
	struct ibv_send_wr wr = xt_wr_to(IBV_WR_RDMA_WRITE, seed, &out, 1,
					 &l->dst, to);

	mark(&l->dst, to, len);
	xt_fill(l->src.p + from, len, seed);
	xt_send(&l->p.b, &wr);
	XT_EQ(xt_wc_ok(l->p.b.scq, seed).opcode, IBV_WC_RDMA_WRITE);
	do_sync(l);
	only_here(&l->dst, to, len, seed);
}

static void do_read(struct lane *l, size_t from, size_t to, size_t len,
		    __u64 seed)
{
	struct ibv_sge in = xt_sge(&l->src, to, len);
	struct ibv_send_wr wr = xt_wr_to(IBV_WR_RDMA_READ, seed, &in, 1,
					 &l->dst, from);
	struct ibv_wc wc;

	mark(&l->src, to, len);
	xt_fill(l->dst.p + from, len, seed);
	xt_send(&l->p.b, &wr);
	wc = xt_wc_ok(l->p.b.scq, seed);
	XT_EQ(wc.opcode, IBV_WC_RDMA_READ);
	XT_EQ(wc.byte_len, len);
	only_here(&l->src, to, len, seed);
}

typedef void one_transfer(struct lane *l, size_t from, size_t to, size_t len,
			  __u64 seed);

/*
 * Payloads of whole segments at MTU 1500 with timestamps: 1448 bytes less 6
 * of framing and 18 or 14 of header.
 */
static void around_segments(struct lane *l, one_transfer *transfer)
{
	static const size_t payload[] = { 1424, 1428, 1436, 1440, 1448 };
	size_t i;
	size_t k;
	int d;

	for (k = 1; k <= 3; k++)
		for (i = 0; i < XT_NELEM(payload); i++)
			for (d = -1; d <= 1; d++)
				transfer(l, 128, 128, k * payload[i] + d,
					 k * payload[i] + d);
}

static void all_sizes(one_transfer *transfer)
{
	static const size_t sizes[] = {
		1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 63, 64, 65, 127, 128, 511,
		512, 513, 1023, 1500, 4095, 4096, 4097, 8191, 8193, 65535,
		65536, 65537,
	};
	struct lane l;
	size_t i;

	lane_up(&l, NULL, ROOM);
	for (i = 0; i < XT_NELEM(sizes); i++)
		transfer(&l, 64 + i, 64 + 3 * i, sizes[i], i + 1);
	around_segments(&l, transfer);
	lane_down(&l);
}

static void test_send_sizes(void)
{
	all_sizes(do_send);
}

static void test_write_sizes(void)
{
	all_sizes(do_write);
}

static void test_read_sizes(void)
{
	all_sizes(do_read);
}

/* ---- page borders ------------------------------------------------------ */

static void across_pages(one_transfer *transfer)
{
	struct lane l;
	size_t k;

	lane_up(&l, NULL, ROOM);
	for (k = 0; k <= 32; k += 4) {
		transfer(&l, 4 * XT_PAGE - k, 2 * XT_PAGE - 16, 32, 2 * k + 1);
		transfer(&l, XT_PAGE, 3 * XT_PAGE - k, 32, 2 * k + 2);
	}
	transfer(&l, XT_PAGE - 1, 5 * XT_PAGE - 1, 2, 100);
	transfer(&l, XT_PAGE - 1, XT_PAGE - 3, 2 * XT_PAGE + 5, 101);
	lane_down(&l);
}

static void test_pages(void)
{
	across_pages(do_send);
	across_pages(do_write);
	across_pages(do_read);
}

/* Regions that begin and end anywhere, used to their last byte. */
static void test_unaligned_regions(void)
{
	static const struct {
		size_t off;
		size_t len;
	} regions[] = {
		{ 0, 1 }, { 4095, 1 }, { 4095, 2 }, { 1, 4095 }, { 1, 4096 },
		{ 17, 8192 }, { 4090, 4103 }, { 2048, 12288 }, { 3, 1428 },
	};
	struct ibv_send_wr wr;
	struct xt_buf from;
	struct xt_buf to;
	struct ibv_sge sge;
	struct xt_pair p;
	size_t i;

	xt_pair(&p, NULL, NULL);
	for (i = 0; i < XT_NELEM(regions); i++) {
		from = xt_buf_at(p.b.pd, regions[i].len, regions[i].off,
				 XT_LOCAL);
		to = xt_buf_at(p.a.pd, regions[i].len,
			       (regions[i].off + 1) % XT_PAGE, XT_REMOTE);
		sge = xt_sge(&from, 0, from.len);
		xt_fill(from.p, from.len, i);
		wr = xt_wr_to(IBV_WR_RDMA_WRITE, i, &sge, 1, &to, 0);
		xt_send(&p.b, &wr);
		xt_wc_ok(p.b.scq, i);
		memset(from.p, 0, from.len);
		wr = xt_wr_to(IBV_WR_RDMA_READ, i, &sge, 1, &to, 0);
		xt_send(&p.b, &wr);
		xt_wc_ok(p.b.scq, i);
		XT_SAME(from.p, from.len, i);
		XT_SAME(to.p, to.len, i);
		XT_GUARDS(&from);
		XT_GUARDS(&to);
		xt_buf_free(&from);
		xt_buf_free(&to);
	}
	xt_hang_up(&p, &p.a);
}

/* ---- gather and scatter ------------------------------------------------ */

#define MAX_SGE		32

/*
 * Cuts LEN bytes into N elements that lie in B in reverse order, with holes.
 * Every third element is empty when there are enough.
 */
static void scatter(struct xt_buf *b, struct ibv_sge *sge, unsigned int n,
		    size_t len)
{
	size_t slot = b->len / (n + 1);
	unsigned int i;
	size_t piece;

	for (i = 0; i < n; i++) {
		piece = i % 3 == 2 ? 0 : len / n + i;
		if (piece > len || i == n - 1)
			piece = len;
		XT_CHECK(piece < slot, "the case is too large");
		sge[i] = xt_sge(b, (n - i) * slot - 37, piece);
		len -= piece;
	}
}

static void copy_list(__u8 *flat, const struct ibv_sge *sge, unsigned int n,
		      bool to_list)
{
	unsigned int i;
	void *at;

	for (i = 0; i < n; i++) {
		at = (void *)(uintptr_t)sge[i].addr;
		if (to_list)
			memcpy(at, flat, sge[i].length);
		else
			memcpy(flat, at, sge[i].length);
		flat += sge[i].length;
	}
}

static void gather_send(struct lane *l, unsigned int n, unsigned int m,
			size_t len)
{
	struct ibv_sge out[MAX_SGE];
	struct ibv_sge in[MAX_SGE];
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, n, out, n);
	__u8 *flat = XT_PTR(malloc(len));

	scatter(&l->src, out, n, len);
	scatter(&l->dst, in, m, len);
	memset(l->dst.p, MARK, l->dst.len);
	xt_fill(flat, len, n * 100 + m);
	copy_list(flat, out, n, true);
	memset(flat, 0, len);
	xt_recv(&l->p.a, m, in, m);
	xt_send(&l->p.b, &wr);
	xt_wc_ok(l->p.b.scq, n);
	XT_EQ(xt_wc_ok(l->p.a.rcq, m).byte_len, len);
	copy_list(flat, in, m, false);
	XT_SAME(flat, len, n * 100 + m);
	/* Mark the pieces again; then no byte may differ. */
	memset(flat, MARK, len);
	copy_list(flat, in, m, true);
	XT_ALL(l->dst.p, l->dst.len, MARK);
	free(flat);
}

static void gather_write(struct lane *l, unsigned int n, size_t len)
{
	struct ibv_sge out[MAX_SGE];
	struct ibv_send_wr wr = xt_wr_to(IBV_WR_RDMA_WRITE, n, out, n, &l->dst,
					 777);
	__u8 *flat = XT_PTR(malloc(len));

	scatter(&l->src, out, n, len);
	mark(&l->dst, 777, len);
	xt_fill(flat, len, n);
	copy_list(flat, out, n, true);
	xt_send(&l->p.b, &wr);
	xt_wc_ok(l->p.b.scq, n);
	do_sync(l);
	only_here(&l->dst, 777, len, n);
	free(flat);
}

static unsigned int max_sge(struct xt_end *e, unsigned int *max_sge_rd)
{
	struct ibv_device_attr attr;

	XT_OK(ibv_query_device(e->id->verbs, &attr));
	XT_CHECK(attr.max_sge > 0 && attr.max_sge_rd > 0, "no SGE at all");
	*max_sge_rd = attr.max_sge_rd;
	return attr.max_sge < MAX_SGE ? attr.max_sge : MAX_SGE;
}

static unsigned int lane_up_sge(struct lane *l, unsigned int *max_sge_rd)
{
	struct xt_opts o = XT_OPTS;
	struct xt_pair probe;
	unsigned int n;

	xt_pair(&probe, NULL, NULL);
	n = max_sge(&probe.b, max_sge_rd);
	xt_hang_up(&probe, &probe.b);
	o.send_sge = n;
	o.recv_sge = n;
	lane_up(l, &o, ROOM);
	return n;
}

static void test_gather(void)
{
	unsigned int max_sge_rd;
	unsigned int max;
	unsigned int n;
	struct lane l;

	max = lane_up_sge(&l, &max_sge_rd);
	for (n = 1; n <= max; n++) {
		gather_send(&l, n, 1, 4000);
		gather_send(&l, 1, n, 4000);
		gather_send(&l, n, max - n + 1, 3 * 1424 + n);
		gather_write(&l, n, 5000 + n);
	}
	gather_send(&l, max, max, max);
	lane_down(&l);
}

/* Some programs ask for one element and use two. */
static void test_spare_gather(void)
{
	struct xt_opts o = XT_OPTS;
	struct ibv_sge out[MAX_SGE];
	struct ibv_send_wr wr;
	unsigned int max;
	unsigned int n;
	struct lane l;

	o.send_sge = 1;
	o.inline_len = 0;
	lane_up(&l, &o, ROOM);
	max = l.p.b.cap.max_send_sge;
	XT_CHECK(max >= 2 && max < MAX_SGE, "%u elements", max);
	for (n = 1; n <= max; n++)
		gather_write(&l, n, 5000 + n);
	scatter(&l.src, out, n, 5000);
	wr = xt_wr_to(IBV_WR_RDMA_WRITE, n, out, n, &l.dst, 777);
	XT_CHECK(xt_try_send(&l.p.b, &wr), "%u elements accepted", n);
	gather_write(&l, max, 5000);
	lane_down(&l);
}

static void test_read_scatter(void)
{
	struct ibv_sge in[MAX_SGE];
	struct ibv_send_wr wr;
	unsigned int max_sge_rd;
	unsigned int max;
	unsigned int n;
	__u8 flat[5000];
	struct lane l;

	max = lane_up_sge(&l, &max_sge_rd);
	for (n = 1; n <= max; n++) {
		scatter(&l.src, in, n, sizeof(flat));
		memset(l.src.p, MARK, l.src.len);
		xt_fill(l.dst.p + 1, sizeof(flat), n);
		wr = xt_wr_to(IBV_WR_RDMA_READ, n, in, n, &l.dst, 1);
		if (n > max_sge_rd) {
			XT_CHECK(xt_try_send(&l.p.b, &wr),
				 "a read into %u elements was accepted", n);
			continue;
		}
		xt_send(&l.p.b, &wr);
		XT_EQ(xt_wc_ok(l.p.b.scq, n).byte_len, sizeof(flat));
		copy_list(flat, in, n, false);
		XT_SAME(flat, sizeof(flat), n);
		memset(flat, MARK, sizeof(flat));
		copy_list(flat, in, n, true);
		XT_ALL(l.src.p, l.src.len, MARK);
	}
	do_read(&l, 100, 100, 100, 55);
	lane_down(&l);
}

/* ---- inline ------------------------------------------------------------ */

/* The buffer is not registered, and is overwritten after the post. */
static void inline_once(struct lane *l, enum ibv_wr_opcode op, size_t len,
			__u64 seed)
{
	struct ibv_sge in = xt_sge(&l->dst, AROUND, len);
	struct ibv_send_wr wr;
	struct ibv_sge out[2];
	__u8 *data = XT_PTR(malloc(len + 1));

	xt_fill(data, len, seed);
	mark(&l->dst, AROUND, len);
	out[0] = (struct ibv_sge){ (uintptr_t)data, len / 2, 0xdead };
	out[1] = (struct ibv_sge){ (uintptr_t)data + len / 2, len - len / 2,
				   0xbeef };
	wr = xt_wr_to(op, seed, out, 2, &l->dst, AROUND);
	wr.send_flags |= IBV_SEND_INLINE;
	if (op == IBV_WR_SEND)
		xt_recv(&l->p.a, seed, &in, 1);
	xt_send(&l->p.b, &wr);
	memset(data, 0x11, len);
	free(data);
	xt_wc_ok(l->p.b.scq, seed);
	if (op == IBV_WR_SEND)
		XT_EQ(xt_wc_ok(l->p.a.rcq, seed).byte_len, len);
	else
		do_sync(l);
	only_here(&l->dst, AROUND, len, seed);
}

static void test_inline(void)
{
	struct xt_opts o = XT_OPTS;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	__u8 data[1024] = {};
	struct lane l;
	size_t max;
	size_t len;

	o.inline_len = 64;
	lane_up(&l, &o, XT_PAGE);
	max = l.p.b.cap.max_inline_data;
	XT_CHECK(max >= 64 && max < sizeof(data), "max_inline_data %zu", max);
	for (len = 0; len <= max; len += len < 72 ? 1 : 23) {
		inline_once(&l, IBV_WR_SEND, len, len + 1);
		inline_once(&l, IBV_WR_RDMA_WRITE, len, len + 1000);
	}
	inline_once(&l, IBV_WR_SEND, max, max + 1);
	inline_once(&l, IBV_WR_RDMA_WRITE, max, max + 1000);

	sge = (struct ibv_sge){ (uintptr_t)data, max + 1, 0 };
	wr = xt_wr(IBV_WR_SEND, 1, &sge, 1);
	wr.send_flags |= IBV_SEND_INLINE;
	XT_CHECK(xt_try_send(&l.p.b, &wr), "%zu inline bytes accepted",
		 max + 1);
	do_send(&l, 100, 100, 100, 99);
	lane_down(&l);
}

/* ---- messages without payload ------------------------------------------ */

static void zero_once(struct lane *l, enum ibv_wr_opcode op, bool with_sge,
		      bool with_key)
{
	struct ibv_sge sge = xt_sge(&l->src, 0, 0);
	struct xt_buf nowhere = {};
	struct ibv_send_wr wr;

	if (!with_key)
		sge.lkey = 0;
	wr = xt_wr_to(op, op, &sge, with_sge, with_key ? &l->dst : &nowhere, 0);
	if (op == IBV_WR_SEND)
		xt_recvs(&l->p.a, op, 1);
	xt_send(&l->p.b, &wr);
	XT_EQ(xt_wc_ok(l->p.b.scq, op).wr_id, op);
	if (op == IBV_WR_SEND)
		XT_EQ(xt_wc_ok(l->p.a.rcq, op).byte_len, 0);
	do_sync(l);
}

static void test_zero(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
	};
	struct lane l;
	size_t i;
	int how;

	/* Key and address of a message without payload are not checked. */
	lane_up(&l, NULL, XT_PAGE);
	memset(l.dst.p, MARK, l.dst.len);
	memset(l.src.p, MARK, l.src.len);
	for (i = 0; i < XT_NELEM(ops); i++)
		for (how = 0; how < 4; how++)
			zero_once(&l, ops[i], how & 1, how & 2);
	XT_ALL(l.dst.p, l.dst.len, MARK);
	XT_ALL(l.src.p, l.src.len, MARK);
	do_write(&l, 100, 100, 1000, 5);
	do_read(&l, 100, 100, 1000, 6);
	lane_down(&l);
}

/* ---- much data --------------------------------------------------------- */

static void test_large(void)
{
	size_t mib = 1024 * 1024;
	struct lane l;

	lane_up(&l, NULL, mib + 2 * AROUND);
	do_send(&l, AROUND, AROUND, mib, 1);
	do_write(&l, AROUND, AROUND, mib - 1, 2);
	do_read(&l, AROUND, AROUND, mib - 3, 3);
	lane_down(&l);
}

#define MIXED		97
#define SLOT		6000UL

/* Operation I of an end: sizes and kinds repeat with different periods. */
static size_t mixed_len(unsigned int i)
{
	return (i * 977 + 13) % (SLOT - 1);
}

static enum ibv_wr_opcode mixed_op(unsigned int i)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ,
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
	};

	return ops[i % XT_NELEM(ops)];
}

/*
 * An end's work: @local takes part in its own operations, @open in those of
 * the peer. Receive number k goes to the slot of the k-th Send.
 */
struct worker {
	struct xt_end *e;
	struct xt_buf local;
	struct xt_buf open;
	__u64 seed;
};

static void worker_up(struct worker *w, struct xt_end *e, __u64 seed)
{
	struct ibv_sge sge;
	unsigned int i;

	w->e = e;
	w->seed = seed;
	w->local = xt_buf(e, MIXED * SLOT, XT_LOCAL);
	w->open = xt_buf(e, MIXED * SLOT, XT_REMOTE);
	for (i = 0; i < MIXED; i++) {
		if (mixed_op(i) == IBV_WR_RDMA_READ) {
			xt_fill(w->open.p + i * SLOT, mixed_len(i), seed + i);
			continue;
		}
		xt_fill(w->local.p + i * SLOT, mixed_len(i), seed + i);
		if (mixed_op(i) != IBV_WR_SEND)
			continue;
		sge = xt_sge(&w->open, i * SLOT, mixed_len(i));
		xt_recv(e, i, &sge, 1);
	}
}

static void worker_post(struct worker *w, const struct worker *peer)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	unsigned int i;

	for (i = 0; i < MIXED; i++) {
		sge = xt_sge(&w->local, i * SLOT, mixed_len(i));
		wr = xt_wr_to(mixed_op(i), i, &sge, 1, &peer->open, i * SLOT);
		if (mixed_op(i) == IBV_WR_SEND)
			wr = xt_wr(IBV_WR_SEND, i, &sge, 1);
		xt_send(w->e, &wr);
	}
}

static void worker_check(struct worker *w, const struct worker *peer)
{
	unsigned int i;

	for (i = 0; i < MIXED; i++)
		xt_wc_ok(w->e->scq, i);
	for (i = 0; i < MIXED; i++) {
		if (mixed_op(i) == IBV_WR_SEND)
			XT_EQ(xt_wc_ok(peer->e->rcq, i).byte_len, mixed_len(i));
		if (mixed_op(i) == IBV_WR_RDMA_READ)
			XT_SAME(w->local.p + i * SLOT, mixed_len(i),
				peer->seed + i);
	}
	/* The last Send is after the last Write: see mixed_op(). */
	for (i = 0; i < MIXED; i++)
		if (mixed_op(i) != IBV_WR_RDMA_READ)
			XT_SAME(peer->open.p + i * SLOT, mixed_len(i),
				w->seed + i);
	XT_GUARDS(&w->local);
	XT_GUARDS(&w->open);
}

static void test_mixed(void)
{
	struct xt_opts o = XT_OPTS;
	struct worker a;
	struct worker b;
	struct xt_pair p;

	o.send_wr = MIXED;
	o.recv_wr = MIXED;
	xt_pair(&p, &o, &o);
	worker_up(&a, &p.a, 1000);
	worker_up(&b, &p.b, 2000);
	worker_post(&a, &b);
	worker_post(&b, &a);
	worker_check(&a, &b);
	worker_check(&b, &a);
}

static const struct xt_case cases[] = {
	{ "send-sizes", "Sends of all sizes arrive whole", test_send_sizes },
	{ "write-sizes", "Writes of all sizes arrive whole", test_write_sizes },
	{ "read-sizes", "Reads of all sizes arrive whole", test_read_sizes },
	{ "pages", "transfers across page borders are exact", test_pages },
	{ "unaligned", "regions of odd shape are used to their last byte",
	  test_unaligned_regions },
	{ "gather", "gather and scatter lists of all lengths", test_gather },
	{ "spare-gather", "the elements that were granted can be used",
	  test_spare_gather },
	{ "read-scatter", "a Read fills all its elements or is refused",
	  test_read_scatter },
	{ "inline", "inline data is taken at the post", test_inline },
	{ "zero", "messages of no length", test_zero },
	{ "large", "messages of a mebibyte", test_large },
	{ "mixed", "both ends at once with all operations", test_mixed },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
