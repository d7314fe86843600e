// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Two streams back to back, joined by a pipe instead of a network: random work
 * requests of every kind from both sides at once, all data compared.
 *
 * Each side is the owner of its stream, in place of a queue pair. It judges
 * everything in the stream's own contexts, and notes the first thing that is
 * wrong; the test's thread posts.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "../deliver.h"
#include "../mem.h"
#include "../offer.h"
#include "../rx.h"
#include "../sendq.h"
#include "../sq.h"
#include "../stream.h"
#include "../stream_run.h"
#include "../tx.h"
#include "pipe.h"

#define TIMEOUT		(60 * HZ)

enum {
	DEPTH		= 32,		/* of the send queues, and IRD */
	MESSAGE		= 70 * 1024,	/* octets, more than an FPDU can be */
	WRITES		= 8,		/* that were not looked at yet */
	EXPECTED	= 1024,		/* messages under way */
	MESSAGES	= 1250,		/* of each side in one case */
	/* Parts of the memory of a side, in multiples of MESSAGE */
	OF_SENDS	= 0,		/* a message for each request */
	OF_SINKS	= DEPTH,	/* likewise */
	OF_WRITES	= 2 * DEPTH,	/* where the peer writes */
	OF_READS	= OF_WRITES + WRITES,	/* what the peer reads */
	OF_RECV		= OF_READS + 1,
	PARTS		= OF_RECV + 1,
};

/* What the peer will notice of a request, in this order */
struct expected {
	u8 opcode;		/* IB_WR_* */
	u32 len;
	u32 seed;
	u32 slot;		/* of a Write */
};

/* What has been posted */
struct posted {
	u8 opcode;
	u32 len;
	u32 seed;
	u64 value;		/* that an Atomic must find */
	u32 off;		/* of what is read */
};

/* Who answers an offer. */
enum who {
	WHO_ANYBODY,
	WHO_NOBODY,
	WHO_STAYS_AWAY,
	WHO_COMES,
};

/**
 * struct side - one side, owner of a stream
 * @s: the stream
 * @sq: its send queue
 * @end: its end of the pipe
 * @peer: the other side
 * @refs: references of the stream's work items
 * @mem: all of its memory
 * @window: a region that the peer may invalidate
 * @sink: one that a Read with Invalidate ends
 * @arena: the memory of @mem
 * @word: what the peer's Atomics change; in @arena
 * @model: what the own Atomics must have made of the peer's @word
 * @rnd: decides what is posted
 * @ops: by number of the request, modulo DEPTH
 * @num_posted: requests; the test's thread
 * @num_done: requests that have completed
 * @num_writes: Writes posted
 * @num_written: of them, those that the peer has looked at
 * @expect: what the peer will notice
 * @expect_end: number of the next element
 * @expect_begin: number of the first one; the peer's
 * @inv_out: @window of the peer is being invalidated
 * @sink_out: @sink is in use
 * @starved: the next message finds no receive
 * @post_work: posts one
 * @flush_work: flushes the queue
 * @help_work: does the work that is offered, at the same time as its queue
 * @offer_lock: protects @offered
 * @offered: by the stream
 * @offers: how often
 * @who: answers an offer, or anybody
 * @over: the stream has ended
 * @flushed: number of requests that were flushed
 * @may_fail: requests may be flushed
 * @wrong: the first thing that was wrong, or NULL
 * @changed: wakes the test's thread
 */
struct side {
	struct xiw_stream s;
	struct xiw_sq sq;
	struct pipe_end end;
	struct side *peer;
	refcount_t refs;
	struct xiw_mem *mem;
	struct xiw_mem *window;
	struct xiw_mem *sink;
	u8 *arena;
	u64 *word;
	u64 model;
	struct rnd_state rnd;
	struct posted ops[DEPTH];
	u32 num_posted;
	u32 num_done;
	u32 num_writes;
	u32 num_written;
	struct expected expect[EXPECTED];
	u32 expect_end;
	u32 expect_begin;
	bool inv_out;
	bool sink_out;
	bool starved;
	struct work_struct post_work;
	struct work_struct flush_work;
	struct work_struct help_work;
	spinlock_t offer_lock; /* see above */
	bool offered;
	u32 offers;
	enum who who;
	bool over;
	u32 flushed;
	bool may_fail;
	const char *wrong;
	wait_queue_head_t *changed;
};

/* How the streams of a case are */
struct how {
	bool crc;
	bool markers;
	u32 segments;
	bool hello;	/* of the Responder; the Initiator always asks */
	u8 rtr;
};

/**
 * struct world - a case
 * @test: it
 * @env: what both streams share
 * @table: all STags
 * @pd: named, never looked at
 * @changed: something has completed, or ended
 * @side: both sides; the first one is the Initiator
 */
struct world {
	struct kunit *test;
	struct xiw_stream_env env;
	struct xiw_mem_table table;
	struct ib_pd pd;
	wait_queue_head_t changed;
	struct side side[2];
};

#define CHECK(side, cond)						\
	do {								\
		if (!(cond))						\
			note_wrong(side, #cond);			\
	} while (0)

static void note_wrong(struct side *side, const char *what)
{
	if (!READ_ONCE(side->wrong))
		WRITE_ONCE(side->wrong, what);
}

static struct side *to_side(struct xiw_stream *s)
{
	return container_of(s, struct side, s);
}

static u32 rnd(struct side *side, u32 below)
{
	return prandom_u32_state(&side->rnd) % below;
}

static u8 *part(struct side *side, u32 number)
{
	return side->arena + (size_t)number * MESSAGE;
}

static void fill(u8 *p, u32 len, u32 seed)
{
	u32 i;

	for (i = 0; i < len; i++)
		p[i] = seed + i * 7 + (i >> 8);
}

static bool is_filled(const u8 *p, u32 len, u32 seed)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (p[i] != (u8)(seed + i * 7 + (i >> 8)))
			return false;
	return true;
}

static u64 address_of(const struct side *side, const void *p)
{
	return side->mem->iova + ((u8 *)p - side->arena);
}

/* ---- what a stream asks of its owner ----------------------------------- */

static void side_get(struct xiw_stream *s)
{
	refcount_inc(&to_side(s)->refs);
}

static void side_put(struct xiw_stream *s)
{
	struct side *side = to_side(s);

	refcount_dec(&side->refs);
	wake_up(side->changed);
}

static bool side_step(struct xiw_stream *s, enum xiw_qp_event event,
		      enum xiw_qp_state old, const struct xiw_qp_step *step)
{
	struct side *side = to_side(s);

	CHECK(side, event != XIW_QPE_FAULT && event != XIW_QPE_FAULT_SILENT);
	if (event == XIW_QPE_LLP_CLOSED || event == XIW_QPE_LLP_LOST) {
		CHECK(side, side->may_fail || event == XIW_QPE_LLP_CLOSED ||
		      old == step->next);
		WRITE_ONCE(side->over, true);
		wake_up(side->changed);
	}
	return step->actions & XIW_QPA_FLUSH;
}

static void side_flush(struct xiw_stream *s)
{
	xiw_stream_queue_work(s, &to_side(s)->flush_work);
}

static void flush_fn(struct work_struct *work)
{
	struct side *side = container_of(work, struct side, flush_work);
	struct xiw_stream *s = &side->s;

	side->end.llp.ops->lock(&side->end.llp);
	if (s->state == XIW_QPS_ERROR) {
		xiw_stream_forget(s);
		xiw_sendq_flush(s);
		xiw_deliver_flush(s);
	}
	side->end.llp.ops->unlock(&side->end.llp);
	side_put(s);
}

static void side_broken(struct xiw_stream *s)
{
	CHECK(to_side(s), !"a ring that nobody has");
}

static void side_first_fpdu(struct xiw_stream *s)
{
	CHECK(to_side(s), !s->conn.initiator);
}

static void side_drained(struct xiw_stream *s)
{
	pipe_shutdown(&to_side(s)->end);
}

/* One message in eight finds no receive at first. */
static enum xiw_rq_take side_take_recv(struct xiw_stream *s,
				       struct xiw_recv *recv)
{
	struct side *side = to_side(s);
	u64 at = address_of(side, part(side, OF_RECV));

	if (READ_ONCE(side->starved))
		return XIW_RQ_EMPTY;
	WRITE_ONCE(side->starved, !(get_random_u32() % 8));
	memset(recv, 0, sizeof(*recv));
	recv->num_sge = 2;
	recv->sge[0].addr = at;
	recv->sge[0].length = get_random_u32() % MESSAGE;
	recv->sge[0].lkey = side->mem->stag;
	recv->sge[1].addr = at + recv->sge[0].length;
	recv->sge[1].length = MESSAGE - recv->sge[0].length;
	recv->sge[1].lkey = side->mem->stag;
	recv->len = MESSAGE;
	return XIW_RQ_TAKEN;
}

static void post_fn(struct work_struct *work)
{
	struct side *side = container_of(work, struct side, post_work);

	WRITE_ONCE(side->starved, false);
	xiw_rx_posted(&side->s);
}

static void side_wait_recv(struct xiw_stream *s)
{
	queue_work(system_unbound_wq, &to_side(s)->post_work);
}

static void side_unwait_recv(struct xiw_stream *s)
{
}

static unsigned long side_wait_until(struct xiw_stream *s, unsigned long until)
{
	return until;
}

/* The Writes before a message are there when it is. */
static struct expected *next_expected(struct side *side)
{
	struct side *from = side->peer;
	struct expected *e;

	/* Pairs with the release in expect(). */
	while (from->expect_begin != smp_load_acquire(&from->expect_end)) {
		e = &from->expect[from->expect_begin % EXPECTED];
		if (e->opcode == IB_WR_RDMA_WRITE ||
		    e->opcode == IB_WR_RDMA_WRITE_WITH_IMM) {
			CHECK(side, is_filled(part(side, OF_WRITES + e->slot),
					      e->len, e->seed));
			WRITE_ONCE(from->num_written, from->num_written + 1);
		}
		WRITE_ONCE(from->expect_begin, from->expect_begin + 1);
		if (e->opcode != IB_WR_RDMA_WRITE)
			return e;
	}
	return NULL;
}

static void check_recv(struct side *side, const struct expected *e,
		       const struct xiw_cqe *cqe)
{
	CHECK(side, cqe->byte_len == e->len);
	switch (e->opcode) {
	case IB_WR_RDMA_WRITE_WITH_IMM:
		CHECK(side, cqe->flags & XIW_CQE_WITH_IMM);
		CHECK(side, (__force u32)cqe->imm_data == e->seed);
		return;
	case IB_WR_SEND_WITH_IMM:
		CHECK(side, cqe->flags & XIW_CQE_WITH_IMM);
		CHECK(side, (__force u32)cqe->imm_data == e->seed);
		break;
	case IB_WR_SEND_WITH_INV:
		CHECK(side, cqe->flags & XIW_CQE_WITH_INV);
		CHECK(side, cqe->inv_rkey == side->window->stag);
		CHECK(side, side->window->state == XIW_MEM_FREE);
		side->window->state = XIW_MEM_VALID;
		WRITE_ONCE(side->peer->inv_out, false);
		break;
	default:
		CHECK(side, !(cqe->flags & ~XIW_CQE_SOLICITED));
		break;
	}
	CHECK(side, is_filled(part(side, OF_RECV), e->len, e->seed));
}

static bool side_recv_done(struct xiw_stream *s, struct xiw_cqe *cqe)
{
	struct side *side = to_side(s);
	struct expected *e;

	if (cqe->status == IB_WC_WR_FLUSH_ERR) {
		CHECK(side, side->may_fail);
		return true;
	}
	CHECK(side, cqe->status == IB_WC_SUCCESS);
	e = next_expected(side);
	CHECK(side, e);
	if (e)
		check_recv(side, e, cqe);
	wake_up(side->changed);
	return true;
}

static void check_done(struct side *side, const struct posted *op, u32 slot)
{
	u8 *sink = part(side, OF_SINKS + slot);
	u64 value;

	switch (op->opcode) {
	case IB_WR_RDMA_READ_WITH_INV:
		CHECK(side, side->sink->state == XIW_MEM_FREE);
		side->sink->state = XIW_MEM_VALID;
		WRITE_ONCE(side->sink_out, false);
		sink = part(side, OF_SINKS);
		fallthrough;
	case IB_WR_RDMA_READ:
		CHECK(side, !memcmp(sink, part(side->peer, OF_READS) + op->off,
				    op->len));
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		memcpy(&value, sink, sizeof(value));
		CHECK(side, value == op->value);
		break;
	}
}

/* In the order of posting, and once. */
static bool side_send_done(struct xiw_stream *s, const struct xiw_swr *wr)
{
	struct side *side = to_side(s);
	u32 slot = side->num_done % DEPTH;

	CHECK(side, wr->wr_id == side->num_done);
	if (wr->status == IB_WC_WR_FLUSH_ERR) {
		CHECK(side, side->may_fail);
		side->flushed++;
	} else {
		CHECK(side, wr->status == IB_WC_SUCCESS);
		CHECK(side, !side->flushed);
		check_done(side, &side->ops[slot], slot);
	}
	/* Pairs with the acquire in may_post(). */
	smp_store_release(&side->num_done, side->num_done + 1);
	wake_up(side->changed);
	return true;
}

static u8 side_run_local(struct xiw_stream *s, const struct xiw_swr *wr)
{
	struct side *side = to_side(s);

	CHECK(side, wr->opcode == IB_WR_LOCAL_INV);
	return IB_WC_SUCCESS;
}

static bool side_offer(struct xiw_stream *s)
{
	struct side *side = to_side(s);
	enum who who = side->who;
	unsigned long flags;

	side->offers++;
	if (who == WHO_ANYBODY)
		who = WHO_NOBODY + get_random_u32() % 3;
	if (who == WHO_NOBODY)
		return false;
	spin_lock_irqsave(&side->offer_lock, flags);
	side->offered = true;
	spin_unlock_irqrestore(&side->offer_lock, flags);
	if (who == WHO_COMES)
		queue_work(system_unbound_wq, &side->help_work);
	return true;
}

static void side_withdraw(struct xiw_stream *s)
{
	struct side *side = to_side(s);
	unsigned long flags;

	spin_lock_irqsave(&side->offer_lock, flags);
	side->offered = false;
	spin_unlock_irqrestore(&side->offer_lock, flags);
}

static void help_fn(struct work_struct *work)
{
	struct side *side = container_of(work, struct side, help_work);
	unsigned long flags;
	bool offered;

	spin_lock_irqsave(&side->offer_lock, flags);
	offered = side->offered;
	side->offered = false;
	if (offered)
		side_get(&side->s);
	spin_unlock_irqrestore(&side->offer_lock, flags);
	if (!offered)
		return;
	xiw_stream_help(&side->s);
	side_put(&side->s);
}

static const struct xiw_stream_ops side_ops = {
	.get = side_get,
	.put = side_put,
	.step = side_step,
	.flush = side_flush,
	.broken = side_broken,
	.first_fpdu = side_first_fpdu,
	.drained = side_drained,
	.take_recv = side_take_recv,
	.wait_recv = side_wait_recv,
	.unwait_recv = side_unwait_recv,
	.wait_until = side_wait_until,
	.recv_done = side_recv_done,
	.send_done = side_send_done,
	.run_local = side_run_local,
	.offer = side_offer,
	.withdraw = side_withdraw,
};

/* ---- posting ----------------------------------------------------------- */

static void expect(struct side *side, u8 opcode, u32 len, u32 seed, u32 slot)
{
	struct expected *e = &side->expect[side->expect_end % EXPECTED];

	e->opcode = opcode;
	e->len = len;
	e->seed = seed;
	e->slot = slot;
	/* Pairs with the acquire in next_expected(). */
	smp_store_release(&side->expect_end, side->expect_end + 1);
}

static bool may_post(struct side *side)
{
	/* Pairs with the release in side_send_done(). */
	return side->num_posted - smp_load_acquire(&side->num_done) < DEPTH &&
	       side->expect_end - READ_ONCE(side->expect_begin) < EXPECTED;
}

/* Mostly small, sometimes several FPDUs, sometimes nothing. */
static u32 random_len(struct side *side)
{
	switch (rnd(side, 8)) {
	case 0:
		return 0;
	case 1:
		return rnd(side, MESSAGE);
	case 2:
	case 3:
		return rnd(side, 8 * 1024);
	default:
		return rnd(side, 256);
	}
}

static const u8 opcodes[] = {
	IB_WR_SEND, IB_WR_SEND_WITH_INV, IB_WR_SEND_WITH_IMM, IB_WR_RDMA_WRITE,
	IB_WR_RDMA_WRITE_WITH_IMM, IB_WR_RDMA_READ, IB_WR_RDMA_READ_WITH_INV,
	IB_WR_ATOMIC_CMP_AND_SWP, IB_WR_ATOMIC_FETCH_AND_ADD, IB_WR_LOCAL_INV,
};

/* Not every kind is possible at any time. */
static u8 choose(struct side *side)
{
	u8 opcode = opcodes[rnd(side, ARRAY_SIZE(opcodes))];

	switch (opcode) {
	case IB_WR_SEND_WITH_INV:
		return READ_ONCE(side->inv_out) ? IB_WR_SEND : opcode;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return side->num_writes - READ_ONCE(side->num_written) <
		       WRITES ? opcode : IB_WR_SEND;
	case IB_WR_RDMA_READ_WITH_INV:
		return READ_ONCE(side->sink_out) ? IB_WR_RDMA_READ : opcode;
	default:
		return opcode;
	}
}

/* Element of a list: by STag, or by the key that kernel consumers have. */
static void set_sge(struct side *side, struct ib_sge *sge, u8 *p, u32 len)
{
	bool local = rnd(side, 2);

	sge->addr = local ? (uintptr_t)p : address_of(side, p);
	sge->length = len;
	sge->lkey = local ? 0 : side->mem->stag;
}

/* One list of up to three elements; number of them. */
static int split(struct side *side, struct ib_sge *sge, u8 *p, u32 len)
{
	u32 first = rnd(side, len + 1);
	u32 second = rnd(side, len - first + 1);

	set_sge(side, &sge[0], p, first);
	set_sge(side, &sge[1], p + first, second);
	set_sge(side, &sge[2], p + first + second, len - first - second);
	return 3;
}

struct request {
	struct ib_rdma_wr rdma;
	struct ib_atomic_wr atomic;
	struct ib_send_wr *wr;
	struct ib_sge sge[3];
};

static void make_send(struct side *side, struct request *r, struct posted *op)
{
	u8 *p = part(side, OF_SENDS + side->num_posted % DEPTH);

	op->len = random_len(side);
	fill(p, op->len, op->seed);
	r->wr->num_sge = split(side, r->sge, p, op->len);
	if (op->opcode == IB_WR_SEND_WITH_IMM)
		r->wr->ex.imm_data = (__force __be32)op->seed;
	if (op->opcode == IB_WR_SEND_WITH_INV) {
		side->inv_out = true;
		r->wr->ex.invalidate_rkey = side->peer->window->stag;
	}
	if (op->len <= 64 && rnd(side, 2)) {
		r->sge[0].addr = (uintptr_t)p;
		r->sge[0].length = op->len;
		r->wr->num_sge = 1;
		r->wr->send_flags |= IB_SEND_INLINE;
	}
	expect(side, op->opcode, op->len, op->seed, 0);
}

static void make_write(struct side *side, struct request *r, struct posted *op)
{
	u32 slot = side->num_writes++ % WRITES;
	u8 *to = part(side->peer, OF_WRITES + slot);

	op->len = random_len(side);
	fill(part(side, OF_SENDS + side->num_posted % DEPTH), op->len,
	     op->seed);
	r->wr->num_sge = split(side, r->sge, part(side, OF_SENDS +
					side->num_posted % DEPTH), op->len);
	r->wr->ex.imm_data = (__force __be32)op->seed;
	r->rdma.remote_addr = address_of(side->peer, to);
	r->rdma.rkey = side->peer->mem->stag;
	expect(side, op->opcode, op->len, op->seed, slot);
}

static void make_read(struct side *side, struct request *r, struct posted *op)
{
	u8 *p = part(side, OF_SINKS + side->num_posted % DEPTH);

	op->len = random_len(side);
	op->off = rnd(side, MESSAGE - op->len);
	r->wr->num_sge = split(side, r->sge, p, op->len);
	if (op->opcode == IB_WR_RDMA_READ_WITH_INV) {
		/* What is invalidated is the first element's. */
		side->sink_out = true;
		r->sge[0].addr = side->sink->iova;
		r->sge[0].length = op->len;
		r->sge[0].lkey = side->sink->stag;
		r->wr->num_sge = 1;
	}
	r->rdma.remote_addr = address_of(side->peer,
					 part(side->peer, OF_READS) + op->off);
	r->rdma.rkey = side->peer->mem->stag;
}

static void make_atomic(struct side *side, struct request *r,
			struct posted *op)
{
	r->wr = &r->atomic.wr;
	set_sge(side, &r->sge[0],
		part(side, OF_SINKS + side->num_posted % DEPTH), sizeof(u64));
	r->wr->num_sge = 1;
	r->atomic.remote_addr = address_of(side->peer, side->peer->word);
	r->atomic.rkey = side->peer->mem->stag;
	op->value = side->model;
	if (op->opcode == IB_WR_ATOMIC_FETCH_AND_ADD) {
		r->atomic.compare_add = op->seed;
		side->model += op->seed;
	} else {
		/* One in two compares equal. */
		r->atomic.compare_add = side->model + rnd(side, 2);
		r->atomic.swap = op->seed;
		if (r->atomic.compare_add == side->model)
			side->model = op->seed;
	}
}

static void post_random(struct kunit *test, struct side *side)
{
	struct posted *op = &side->ops[side->num_posted % DEPTH];
	struct request r = { .wr = &r.rdma.wr };
	const struct ib_send_wr *bad;

	memset(op, 0, sizeof(*op));
	op->opcode = choose(side);
	op->seed = prandom_u32_state(&side->rnd);
	switch (op->opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_INV:
	case IB_WR_SEND_WITH_IMM:
		make_send(side, &r, op);
		break;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		make_write(side, &r, op);
		break;
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		make_read(side, &r, op);
		break;
	case IB_WR_LOCAL_INV:
		break;
	default:
		make_atomic(side, &r, op);
	}
	r.wr->wr_id = side->num_posted;
	r.wr->opcode = op->opcode;
	r.wr->sg_list = r.sge;
	r.wr->send_flags |= IB_SEND_SIGNALED |
			    (rnd(side, 4) ? 0 : IB_SEND_FENCE) |
			    (rnd(side, 4) ? 0 : IB_SEND_SOLICITED);
	KUNIT_ASSERT_EQ(test, xiw_sq_post(&side->sq, r.wr, &bad), 0);
	side->num_posted++;
	/* Some are announced with the next one. */
	if (rnd(side, 4))
		xiw_tx_kick(&side->s, rnd(side, 2));
}

/* ---- life -------------------------------------------------------------- */

static struct xiw_mem *make_mem(struct world *w, u8 *p, size_t len)
{
	size_t pages = DIV_ROUND_UP(len, PAGE_SIZE);
	struct xiw_mem *mem = kunit_kzalloc(w->test, sizeof(*mem), GFP_KERNEL);
	size_t i;

	KUNIT_ASSERT_NOT_NULL(w->test, mem);
	mem->pages = kunit_kcalloc(w->test, pages, sizeof(*mem->pages),
				   GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(w->test, mem->pages);
	for (i = 0; i < pages; i++)
		mem->pages[i] = p + i * PAGE_SIZE;
	rwlock_init(&mem->lock);
	mem->table = &w->table;
	mem->pd = &w->pd;
	mem->kind = XIW_MEM_FRWR;
	mem->state = XIW_MEM_VALID;
	mem->access = IB_ACCESS_LOCAL_WRITE | XIW_MEM_REMOTE;
	mem->iova = get_random_u64() & GENMASK_ULL(47, PAGE_SHIFT);
	mem->length = len;
	mem->page_shift = PAGE_SHIFT;
	mem->num_pages = pages;
	KUNIT_ASSERT_EQ(w->test, xiw_stag_alloc(mem), 0);
	return mem;
}

static void free_arena(void *p)
{
	vfree(p);
}

static void make_side(struct world *w, int n)
{
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr = DEPTH,
			.max_send_sge = 3,
			.max_inline_data = 64,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
	};
	size_t size = (size_t)PARTS * MESSAGE + PAGE_SIZE;
	struct side *side = &w->side[n];

	side->peer = &w->side[!n];
	side->changed = &w->changed;
	refcount_set(&side->refs, 1);
	INIT_WORK(&side->post_work, post_fn);
	INIT_WORK(&side->flush_work, flush_fn);
	INIT_WORK(&side->help_work, help_fn);
	spin_lock_init(&side->offer_lock);
	side->arena = vzalloc(size);
	KUNIT_ASSERT_NOT_NULL(w->test, side->arena);
	KUNIT_ASSERT_EQ(w->test, kunit_add_action_or_reset(w->test, free_arena,
							   side->arena), 0);
	side->word = (u64 *)PTR_ALIGN(part(side, PARTS), 8);
	side->mem = make_mem(w, side->arena, size);
	side->window = make_mem(w, side->arena, PAGE_SIZE);
	side->sink = make_mem(w, part(side, OF_SINKS), MESSAGE);
	get_random_bytes(part(side, OF_READS), MESSAGE);
	KUNIT_ASSERT_EQ(w->test, xiw_sq_init(&side->sq, &attr, NULL, NULL), 0);
	side->sq.send_imm = true;
	side->s.ops = &side_ops;
	side->s.env = &w->env;
	side->s.id = n;
	side->s.sq = &side->sq;
	xiw_stream_init(&side->s, &w->pd);
}

static struct world *make_world(struct kunit *test, u64 seed)
{
	struct world *w = vzalloc(sizeof(*w));

	KUNIT_ASSERT_NOT_NULL(test, w);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_arena, w),
			0);
	w->test = test;
	xiw_mem_table_init(&w->table);
	init_waitqueue_head(&w->changed);
	w->env.stats = alloc_percpu(struct xiw_stats);
	if (!w->env.stats)
		KUNIT_FAIL_AND_ABORT(test, "no memory for counters");
	w->env.mems = &w->table;
	w->env.late_recv_ms = 60000;
	w->env.features = XIW_FEAT_RFC7306;
	make_side(w, 0);
	make_side(w, 1);
	prandom_seed_state(&w->side[0].rnd, seed);
	prandom_seed_state(&w->side[1].rnd, ~seed);
	pipe_init(&w->side[0].end, &w->side[1].end, seed);
	return w;
}

static void start_side(struct world *w, int n, const struct how *how)
{
	struct side *side = &w->side[n];
	struct xiw_conn conn = {
		.agreed = {
			.rev = 2,
			.enhanced = true,
			.p2p = true,
			.crc = how->crc,
			.tx_markers = how->markers,
			.rx_markers = how->markers,
			.rtr_offered = how->rtr,
			.rtr_send = how->rtr,
			.ird = DEPTH / 2,
			.ord = DEPTH / 2,
		},
		.initiator = !n,
		.fpdu_segments = how->segments,
		.send_imm = true,
		.hello = !n || how->hello,
	};

	KUNIT_ASSERT_EQ(w->test, xiw_stream_start(&side->s, &side->end.llp,
						  &conn), 0);
}

static void start_world(struct world *w, const struct how *how)
{
	start_side(w, 0, how);
	start_side(w, 1, how);
	xiw_stream_run(&w->side[1].s, &w->side[1].end.llp);
	xiw_stream_run(&w->side[0].s, &w->side[0].end.llp);
}

static bool all_is_well(const struct world *w)
{
	return !READ_ONCE(w->side[0].wrong) && !READ_ONCE(w->side[1].wrong);
}

static void end_side(struct world *w, int n)
{
	struct side *side = &w->side[n];
	struct xiw_stream *s = &side->s;

	if (s->llp)
		xiw_stream_detach(s, &side->end.llp);
	cancel_work_sync(&side->post_work);
	if (cancel_work_sync(&side->flush_work))
		side_put(s);
	xiw_stream_forget(s);
	xiw_sendq_flush(s);
	xiw_deliver_flush(s);
	xiw_stream_release(s);
	KUNIT_EXPECT_FALSE(w->test, side->offered);
	cancel_work_sync(&side->help_work);
	wait_event_timeout(w->changed, refcount_read(&side->refs) == 1,
			   TIMEOUT);
	KUNIT_EXPECT_EQ(w->test, refcount_read(&side->refs), 1);
	xiw_stream_settle(s);
	KUNIT_EXPECT_EQ(w->test, side->num_done, side->num_posted);
	xiw_sq_destroy(&side->sq);
	xiw_stag_free(side->mem);
	xiw_stag_free(side->window);
	xiw_stag_free(side->sink);
}

static void end_world(struct world *w)
{
	int n;

	end_side(w, 0);
	end_side(w, 1);
	pipe_exit(&w->side[0].end, &w->side[1].end);
	for (n = 0; n < 2; n++)
		KUNIT_EXPECT_NULL_MSG(w->test, w->side[n].wrong, "%s",
				      w->side[n].wrong);
	KUNIT_EXPECT_EQ(w->test, atomic_long_read(&w->env.tx_pages), 0L);
	KUNIT_EXPECT_TRUE(w->test, xa_empty(&w->table.mems));
	free_percpu(w->env.stats);
}

/* Has what side @n has sent been noticed, and completed? */
static bool is_quiet(struct world *w, int n)
{
	struct side *side = &w->side[n];

	return READ_ONCE(side->num_done) == side->num_posted;
}

/* @number of each side, or until the connection is lost. */
static void post_all(struct world *w, u32 number)
{
	struct side *side;
	int n;

	while (w->side[0].num_posted < number ||
	       w->side[1].num_posted < number) {
		for (n = 0; n < 2; n++) {
			side = &w->side[n];
			while (side->num_posted < number && may_post(side) &&
			       rnd(side, 8))
				post_random(w->test, side);
			xiw_tx_kick(&side->s, true);
		}
		if (!all_is_well(w) || w->side[0].over || w->side[1].over)
			break;
		if (!wait_event_timeout(w->changed, may_post(&w->side[0]) ||
					may_post(&w->side[1]), TIMEOUT)) {
			KUNIT_FAIL(w->test, "nothing moves");
			break;
		}
		cond_resched();
	}
}

static void close_both(struct world *w)
{
	wait_event_timeout(w->changed, is_quiet(w, 0) && is_quiet(w, 1),
			   TIMEOUT);
	KUNIT_EXPECT_TRUE(w->test, is_quiet(w, 0) && is_quiet(w, 1));
	xiw_stream_close(&w->side[get_random_u32() % 2].s);
	wait_event_timeout(w->changed, READ_ONCE(w->side[0].over) &&
			   READ_ONCE(w->side[1].over), TIMEOUT);
	KUNIT_EXPECT_TRUE(w->test, w->side[0].over && w->side[1].over);
}

/* All that was sent has arrived: nothing follows the last messages. */
static void check_rest(struct world *w, int n, const struct how *how)
{
	u32 segments = how->hello && how->rtr == XIW_RTR_WRITE ?
		0 : how->segments;
	struct side *side = &w->side[n];

	KUNIT_EXPECT_EQ(w->test, side->s.tx.mpa.segments, segments);
	KUNIT_EXPECT_NULL(w->test, next_expected(side->peer));
	KUNIT_EXPECT_EQ(w->test, side->expect_begin, side->expect_end);
	KUNIT_EXPECT_EQ(w->test, *side->peer->word, side->model);
}

static void random_messages(struct kunit *test, const struct how *how)
{
	u64 seed = get_random_u64();
	struct world *w = make_world(test, seed);

	kunit_info(test, "seed %#llx", seed);
	start_world(w, how);
	post_all(w, MESSAGES);
	close_both(w);
	if (all_is_well(w)) {
		check_rest(w, 0, how);
		check_rest(w, 1, how);
	}
	end_world(w);
}

/* Covers: MPA-06 MPA-11 IMM-13 */
static void stream_plain(struct kunit *test)
{
	random_messages(test, &(struct how){
		.segments = 1, .rtr = XIW_RTR_WRITE,
	});
}

/* Covers: MPA-07 MPA-08 RDV-23 */
static void stream_crc(struct kunit *test)
{
	random_messages(test, &(struct how){
		.crc = true, .segments = 1, .rtr = XIW_RTR_READ,
	});
}

static void stream_markers(struct kunit *test)
{
	random_messages(test, &(struct how){
		.markers = true, .segments = 1, .rtr = XIW_RTR_SEND,
	});
}

static void stream_markers_crc(struct kunit *test)
{
	random_messages(test, &(struct how){
		.crc = true, .markers = true, .segments = 1,
		.rtr = XIW_RTR_WRITE,
	});
}

static void stream_segments(struct kunit *test)
{
	random_messages(test, &(struct how){
		.crc = true, .segments = 11, .rtr = XIW_RTR_READ,
	});
}

/*
 * Both find out that the other one takes long FPDUs, or have no RTR to do so.
 * Covers: MPA-91
 */
static void stream_hello(struct kunit *test)
{
	random_messages(test, &(struct how){
		.crc = true, .segments = 1, .hello = true,
		.rtr = XIW_RTR_WRITE,
	});
	random_messages(test, &(struct how){
		.segments = 1, .hello = true, .rtr = XIW_RTR_SEND,
	});
}

/*
 * The connection is lost at an octet of no meaning: each request completes
 * once, in order, those that follow a flushed one are flushed.
 * Covers: TERM-15
 */
static void stream_lost(struct kunit *test)
{
	const struct how how = {
		.crc = true, .segments = 1, .rtr = XIW_RTR_WRITE,
	};
	struct world *w;
	int i;

	for (i = 0; i < 20; i++) {
		w = make_world(test, get_random_u64());
		w->side[0].may_fail = true;
		w->side[1].may_fail = true;
		pipe_break_after(&w->side[i % 2].end,
				 get_random_u32() % (i < 10 ? 500 : 500000));
		start_world(w, &how);
		/* As many as it takes until that octet */
		post_all(w, U32_MAX);
		wait_event_timeout(w->changed, READ_ONCE(w->side[0].over) &&
				   READ_ONCE(w->side[1].over), TIMEOUT);
		KUNIT_EXPECT_TRUE(test, w->side[0].over && w->side[1].over);
		end_world(w);
	}
}

/* Work on offer is done by who comes, or queued, or dropped at the end. */
static void stream_offer(struct kunit *test)
{
	const struct how how = { .segments = 1, .rtr = XIW_RTR_WRITE };
	struct world *w = make_world(test, get_random_u64());
	struct side *side = &w->side[0];
	struct xiw_stream *s = &side->s;
	int i;

	start_world(w, &how);
	for (i = 0; i < 200; i++) {
		xiw_offer_tx(s);
		if (i % 2)
			xiw_stream_help(s);
		wait_event_timeout(w->changed, refcount_read(&side->refs) == 1,
				   TIMEOUT);
		KUNIT_EXPECT_EQ(test, refcount_read(&side->refs), 1);
		KUNIT_EXPECT_EQ(test, s->offer.work, 0);
		KUNIT_EXPECT_FALSE(test, side->offered);
	}
	post_all(w, 1);
	close_both(w);
	xiw_stream_detach(s, &side->end.llp);
	xiw_offer_tx(s);
	end_world(w);
	KUNIT_EXPECT_EQ(test, s->offer.work, 0);
}

/* Who has often spun and not come is asked seldom, until it comes. */
static void stream_offer_missed(struct kunit *test)
{
	const struct how how = { .segments = 1, .rtr = XIW_RTR_WRITE };
	struct world *w = make_world(test, get_random_u64());
	struct side *side = &w->side[0];
	struct xiw_stream *s = &side->s;
	int i;

	side->who = WHO_NOBODY;
	start_world(w, &how);
	post_all(w, 1);
	wait_event_timeout(w->changed, is_quiet(w, 0) && is_quiet(w, 1) &&
			   refcount_read(&side->refs) == 1, TIMEOUT);
	side->who = WHO_STAYS_AWAY;
	side->offers = 0;
	for (i = 0; i < 40; i++) {
		xiw_offer_tx(s);
		wait_event_timeout(w->changed, refcount_read(&side->refs) == 1,
				   TIMEOUT);
	}
	/* Of the 1st, 3rd, 7th, 15th and 31st. */
	KUNIT_EXPECT_EQ(test, side->offers, 5);
	KUNIT_EXPECT_EQ(test, s->offer.missed, 5);
	/* The help may come too late, too. */
	for (i = 0; i < 1000 && s->offer.missed >= 5; i++) {
		xiw_offer_tx(s);
		xiw_stream_help(s);
		wait_event_timeout(w->changed, refcount_read(&side->refs) == 1,
				   TIMEOUT);
	}
	KUNIT_EXPECT_LE(test, s->offer.missed, 3);
	close_both(w);
	end_world(w);
}

static struct kunit_case stream_cases[] = {
	KUNIT_CASE(stream_plain),
	KUNIT_CASE(stream_crc),
	KUNIT_CASE(stream_markers),
	KUNIT_CASE(stream_markers_crc),
	KUNIT_CASE(stream_segments),
	KUNIT_CASE(stream_hello),
	KUNIT_CASE(stream_lost),
	KUNIT_CASE(stream_offer),
	KUNIT_CASE(stream_offer_missed),
	{}
};

static struct kunit_suite stream_suite = {
	.name = "xiw_stream",
	.test_cases = stream_cases,
};

kunit_test_suite(stream_suite);

MODULE_DESCRIPTION("KUnit tests of xiw: streams back to back");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
MODULE_LICENSE("Dual BSD/GPL");
