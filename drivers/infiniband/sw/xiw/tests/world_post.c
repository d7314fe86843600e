// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting by the sides of a case: random work requests of every kind.
 */
#include <linux/slab.h>

#include "queue/queue.h"
#include "stream/engine.h"
#include "world.h"

static u32 rnd(struct side *side, u32 below)
{
	return prandom_u32_state(&side->rnd) % below;
}

static void fill(u8 *p, u32 len, u32 seed)
{
	u32 i;

	for (i = 0; i < len; i++)
		p[i] = pattern_byte(seed, i);
}

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

/* A random length: mostly small, sometimes several FPDUs, sometimes 0. */
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

/* Picks another opcode if the random one is not possible now. */
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

/* Element of a list: by STag, or by the local DMA key of kernel ULPs. */
static void set_sge(struct side *side, struct ib_sge *sge, u8 *p, u32 len)
{
	bool local = rnd(side, 2);

	sge->addr = local ? (uintptr_t)p : address_of(side, p);
	sge->length = len;
	sge->lkey = local ? 0 : side->mem->stag;
}

/* Splits @len bytes at @p into three elements, which may be empty. */
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
		/* The Read invalidates the region of its first element. */
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
		/* Half of the comparisons succeed. */
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
	/* Without a kick, the next kick announces this request. */
	if (rnd(side, 4))
		xiw_tx_kick(&side->s, rnd(side, 2));
}

static struct posted *world_begin_op(struct side *side, u8 opcode)
{
	struct posted *op = &side->ops[side->num_posted % DEPTH];

	memset(op, 0, sizeof(*op));
	op->opcode = opcode;
	return op;
}

static void world_post_certain(struct kunit *test, struct side *side,
			       struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;

	wr->wr_id = side->num_posted;
	wr->send_flags = IB_SEND_SIGNALED;
	KUNIT_ASSERT_EQ(test, xiw_sq_post(&side->sq, wr, &bad), 0);
	side->num_posted++;
}

/* IB_WR_REG_MR or IB_WR_LOCAL_INV; the caller calls xiw_tx_kick(). */
void side_post_local(struct kunit *test, struct side *side, u8 opcode,
		     const struct xiw_mem *mem)
{
	struct ib_reg_wr reg = { .wr.opcode = opcode };

	world_begin_op(side, opcode);
	if (opcode == IB_WR_REG_MR)
		reg.key = mem->stag;
	else
		reg.wr.ex.invalidate_rkey = mem->stag;
	world_post_certain(test, side, &reg.wr);
}

/* A Read of @len bytes, with or without Invalidate, into @mem. */
void side_post_read(struct kunit *test, struct side *side, u8 opcode,
		    const struct xiw_mem *mem, u32 len)
{
	struct posted *op = world_begin_op(side, opcode);
	u8 *p = part(side, OF_SINKS + side->num_posted % DEPTH);
	struct ib_sge sge = {
		.addr = mem->iova + (p - side->arena),
		.length = len,
		.lkey = mem->stag,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = opcode,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.remote_addr = address_of(side->peer,
					  part(side->peer, OF_READS)),
		.rkey = side->peer->mem->stag,
	};

	op->len = sge.length;
	op->sink = mem;
	world_post_certain(test, side, &wr.wr);
}

/* A Send without payload. */
void side_post_send(struct kunit *test, struct side *side)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };

	world_begin_op(side, IB_WR_SEND);
	expect(side, IB_WR_SEND, 0, 0, 0);
	world_post_certain(test, side, &wr);
}

/* A Read or Write of LONG bytes, which the caller compares */
void side_post_long(struct kunit *test, struct side *side, u8 opcode)
{
	bool read = opcode == IB_WR_RDMA_READ;
	struct side *peer = side->peer;
	struct ib_sge sge = {
		.addr = address_of(side, part(side, read ? OF_LONG_READ
							 : OF_LONG)),
		.length = LONG,
		.lkey = side->mem->stag,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = opcode,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.remote_addr = address_of(peer, part(peer, read
							     ? OF_LONG
							     : OF_LONG_WRITE)),
		.rkey = peer->mem->stag,
	};

	world_begin_op(side, opcode);
	world_post_certain(test, side, &wr.wr);
}

/* A Compare and Swap that changes the peer's word */
void side_post_swap(struct kunit *test, struct side *side)
{
	u8 *p = part(side, OF_SINKS + side->num_posted % DEPTH);
	struct ib_sge sge = {
		.addr = address_of(side, p),
		.length = sizeof(u64),
		.lkey = side->mem->stag,
	};
	struct ib_atomic_wr wr = {
		.wr = {
			.opcode = IB_WR_ATOMIC_CMP_AND_SWP,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.remote_addr = address_of(side->peer, side->peer->word),
		.compare_add = side->model,
		.swap = ~side->model,
		.rkey = side->peer->mem->stag,
	};

	world_begin_op(side, IB_WR_ATOMIC_CMP_AND_SWP)->value = side->model;
	world_post_certain(test, side, &wr.wr);
}

/* Runs the engine until all FPDUs that it has started are in the pipe. */
void side_send_all(struct kunit *test, struct side *side)
{
	struct xiw_llp *llp = &side->end.llp;
	struct xiw_tx *tx = &side->s.tx;
	int i;

	/* The pipe accepts at least one byte. */
	for (i = 0; i < 1000; i++) {
		llp->ops->lock(llp);
		xiw_tx_run_locked(&side->s);
		llp->ops->unlock(llp);
	}
	KUNIT_EXPECT_EQ(test, tx->sent, tx->pos);
}

/* Post @number on each side, or until the connection is lost. */
void world_post(struct world *w, u32 number)
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
		if (!world_is_well(w) || w->side[0].over || w->side[1].over)
			break;
		if (!wait_event_timeout(w->changed, may_post(&w->side[0]) ||
					may_post(&w->side[1]), TIMEOUT)) {
			KUNIT_FAIL(w->test, "nothing moves");
			break;
		}
		cond_resched();
	}
}
