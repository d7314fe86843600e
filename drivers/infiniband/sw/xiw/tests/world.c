// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Both sides of a case: callbacks of their streams, setup and cleanup.
 */
#include "world.h"

#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "stream/engine.h"

void world_note_wrong(struct side *side, const char *what)
{
	if (!READ_ONCE(side->wrong))
		WRITE_ONCE(side->wrong, what);
}

/* Wait until no work item of the stream is queued or running. */
void side_wait_idle(struct side *side)
{
	wait_event_timeout(*side->changed, refcount_read(&side->refs) == 1,
			   TIMEOUT);
}

/*
 * Wait until the pipe to a side that reads nothing is full, as its peer sends
 * more than that.
 */
bool side_wait_full(struct side *side)
{
	int i;

	for (i = 0; i < 1000; i++) {
		if (atomic_read(&side->end.unread) >= PIPE_WINDOW)
			return true;
		flush_work(&side->peer->end.work);
		side_wait_idle(side->peer);
	}
	return false;
}

static bool is_filled(const u8 *p, u32 len, u32 seed)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (p[i] != pattern_byte(seed, i))
			return false;
	return true;
}

/* ---- the side as owner of its stream ----------------------------------- */

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

	CHECK(side, side->may_fault || (event != XIW_QPE_FAULT &&
					event != XIW_QPE_FAULT_SILENT));
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
		xiw_tx_sched_flush(s);
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

/* One message in eight has no receive at first. */
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
	recv->sge[0].length = get_random_u32() % side->recv_len;
	recv->sge[0].lkey = side->mem->stag;
	recv->sge[1].addr = at + recv->sge[0].length;
	recv->sge[1].length = side->recv_len - recv->sge[0].length;
	recv->sge[1].lkey = side->mem->stag;
	recv->len = side->recv_len;
	return XIW_RQ_TAKEN;
}

static void post_fn(struct work_struct *work)
{
	struct side *side = container_of(work, struct side, post_work);

	WRITE_ONCE(side->starved, false);
	xiw_rx_posted(&side->s);
}

static void side_rnr_wait(struct xiw_stream *s)
{
	queue_work(system_unbound_wq, &to_side(s)->post_work);
}

static void side_rnr_end(struct xiw_stream *s)
{
}

static unsigned long side_rnr_until(struct xiw_stream *s, unsigned long until)
{
	return until;
}

/* When a message is delivered, the Writes before it were placed. */
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
	if (side->may_fault && cqe->status != IB_WC_SUCCESS)
		return true;
	CHECK(side, cqe->status == IB_WC_SUCCESS);
	side->done_at_recv = side->num_done;
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
		if (op->sink) {
			CHECK(side, op->sink->state == XIW_MEM_FREE);
			CHECK(side, !memcmp(sink, part(side->peer, OF_READS),
					    op->len));
			break;
		}
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

/* Each request completes once, in the order of posting. */
static bool side_send_done(struct xiw_stream *s, const struct xiw_swr *wr)
{
	struct side *side = to_side(s);
	u32 slot = side->num_done % DEPTH;

	CHECK(side, wr->wr_id == side->num_done);
	if (wr->status == IB_WC_WR_FLUSH_ERR) {
		CHECK(side, side->may_fail);
		side->flushed++;
	} else if (!side->may_fault || wr->status == IB_WC_SUCCESS) {
		CHECK(side, wr->status == IB_WC_SUCCESS);
		CHECK(side, !side->flushed);
		check_done(side, &side->ops[slot], slot);
	}
	side->written_at_done = s->rx.write_bytes;
	/* Pairs with the acquire in may_post(). */
	smp_store_release(&side->num_done, side->num_done + 1);
	wake_up(side->changed);
	return true;
}

static u8 side_fast_register(struct xiw_stream *s, u32 key)
{
	u8 status = IB_WC_MW_BIND_ERR;
	struct xiw_mem *mem;

	rcu_read_lock();
	mem = xa_load(&s->tx.mem.table->mems, key >> 8);
	CHECK(to_side(s), mem);
	if (mem && mem->state == XIW_MEM_FREE) {
		WRITE_ONCE(mem->state, XIW_MEM_VALID);
		status = IB_WC_SUCCESS;
	}
	rcu_read_unlock();
	return status;
}

/* A random LOCAL_INV has an rkey without a region. */
static u8 side_run_local(struct xiw_stream *s, const struct xiw_swr *wr)
{
	struct side *side = to_side(s);
	struct xiw_mem *mem = side->frwr[0];

	if (wr->opcode == IB_WR_REG_MR)
		return side_fast_register(s, wr->rkey);
	CHECK(side, wr->opcode == IB_WR_LOCAL_INV);
	if (wr->rkey == mem->stag)
		WRITE_ONCE(mem->state, XIW_MEM_FREE);
	return IB_WC_SUCCESS;
}

static bool side_post_work(struct xiw_stream *s)
{
	struct side *side = to_side(s);
	enum poller poller = side->poller;
	unsigned long flags;

	side->work_count++;
	if (poller == POLLER_RANDOM)
		poller = POLLER_NONE + get_random_u32() % 3;
	if (poller == POLLER_NONE)
		return false;
	spin_lock_irqsave(&side->work_lock, flags);
	side->work_posted = true;
	spin_unlock_irqrestore(&side->work_lock, flags);
	if (poller == POLLER_RUNS)
		queue_work(system_unbound_wq, &side->run_work);
	return true;
}

static void side_cancel_work(struct xiw_stream *s)
{
	struct side *side = to_side(s);
	unsigned long flags;

	spin_lock_irqsave(&side->work_lock, flags);
	side->work_posted = false;
	spin_unlock_irqrestore(&side->work_lock, flags);
}

static void run_fn(struct work_struct *work)
{
	struct side *side = container_of(work, struct side, run_work);
	unsigned long flags;
	bool work_posted;

	spin_lock_irqsave(&side->work_lock, flags);
	work_posted = side->work_posted;
	side->work_posted = false;
	if (work_posted)
		side_get(&side->s);
	spin_unlock_irqrestore(&side->work_lock, flags);
	if (!work_posted)
		return;
	xiw_stream_run_busy_poll(&side->s);
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
	.rnr_wait = side_rnr_wait,
	.rnr_end = side_rnr_end,
	.rnr_until = side_rnr_until,
	.recv_done = side_recv_done,
	.send_done = side_send_done,
	.run_local = side_run_local,
	.post_work = side_post_work,
	.cancel_work = side_cancel_work,
};

/* ---- setup and cleanup ------------------------------------------------- */

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
	xiw_mem_init(mem);
	mem->table = &w->table;
	mem->pd = &w->pd;
	mem->combined = get_random_u32() % 2;
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
	int i;

	side->peer = &w->side[!n];
	side->changed = &w->changed;
	side->recv_len = MESSAGE;
	refcount_set(&side->refs, 1);
	INIT_WORK(&side->post_work, post_fn);
	INIT_WORK(&side->flush_work, flush_fn);
	INIT_WORK(&side->run_work, run_fn);
	spin_lock_init(&side->work_lock);
	side->arena = vzalloc(size);
	KUNIT_ASSERT_NOT_NULL(w->test, side->arena);
	KUNIT_ASSERT_EQ(w->test, kunit_add_action_or_reset(w->test, free_arena,
							   side->arena), 0);
	side->word = (u64 *)PTR_ALIGN(part(side, PARTS), 8);
	side->mem = make_mem(w, side->arena, size);
	side->window = make_mem(w, side->arena, PAGE_SIZE);
	side->sink = make_mem(w, part(side, OF_SINKS), MESSAGE);
	for (i = 0; i < ARRAY_SIZE(side->frwr); i++) {
		side->frwr[i] = make_mem(w, side->arena, size);
		side->frwr[i]->state = XIW_MEM_FREE;
	}
	get_random_bytes(part(side, OF_READS), MESSAGE);
	KUNIT_ASSERT_EQ(w->test, xiw_sq_init(&side->sq, &attr, NULL, NULL), 0);
	side->s.ops = &side_ops;
	side->s.env = &w->env;
	side->s.id = n;
	side->s.sq = &side->sq;
	xiw_stream_init(&side->s, &w->pd);
}

struct world *world_make(struct kunit *test, u64 seed)
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
	w->env.rnr_timeout_ms = 60000;
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
		.nego = {
			.rev = 2,
			.enhanced = true,
			.p2p = !how->unfenced,
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
		.send_imm = !(how->probe && how->rtr == XIW_RTR_WRITE),
		.probe = !n || how->probe,
		.unfenced = how->unfenced,
	};

	if (how->chunks)
		pipe_use_chunks(&side->end);
	if (how->emss)
		side->end.emss = how->emss;
	KUNIT_ASSERT_EQ(w->test, xiw_stream_start(&side->s, &side->end.llp,
						  &conn), 0);
}

void world_start(struct world *w, const struct how *how)
{
	start_side(w, 0, how);
	start_side(w, 1, how);
	xiw_stream_run(&w->side[1].s, &w->side[1].end.llp);
	xiw_stream_run(&w->side[0].s, &w->side[0].end.llp);
}

bool world_is_well(const struct world *w)
{
	return !READ_ONCE(w->side[0].wrong) && !READ_ONCE(w->side[1].wrong);
}

static void end_side(struct world *w, int n)
{
	struct side *side = &w->side[n];
	struct xiw_stream *s = &side->s;
	int i;

	if (s->llp)
		xiw_stream_detach(s, &side->end.llp);
	cancel_work_sync(&side->post_work);
	if (cancel_work_sync(&side->flush_work))
		side_put(s);
	xiw_stream_forget(s);
	xiw_tx_sched_flush(s);
	xiw_deliver_flush(s);
	xiw_stream_release(s);
	KUNIT_EXPECT_FALSE(w->test, side->work_posted);
	cancel_work_sync(&side->run_work);
	side_wait_idle(side);
	KUNIT_EXPECT_EQ(w->test, refcount_read(&side->refs), 1);
	xiw_stream_cancel_all(s);
	KUNIT_EXPECT_EQ(w->test, side->num_done, side->num_posted);
	xiw_sq_destroy(&side->sq);
	xiw_stag_free(side->mem);
	xiw_stag_free(side->window);
	xiw_stag_free(side->sink);
	for (i = 0; i < ARRAY_SIZE(side->frwr); i++)
		xiw_stag_free(side->frwr[i]);
}

void world_end(struct world *w)
{
	int n;

	end_side(w, 0);
	end_side(w, 1);
	pipe_exit(&w->side[0].end, &w->side[1].end);
	for (n = 0; n < 2; n++)
		KUNIT_EXPECT_NULL_MSG(w->test, w->side[n].wrong, "%s",
				      w->side[n].wrong);
	KUNIT_EXPECT_EQ(w->test, atomic_long_read(&w->env.tx_blocks.held), 0L);
	KUNIT_EXPECT_TRUE(w->test, xa_empty(&w->table.mems));
	free_percpu(w->env.stats);
}

/* Are all requests of side @n complete? */
static bool is_quiet(struct world *w, int n)
{
	struct side *side = &w->side[n];

	return READ_ONCE(side->num_done) == side->num_posted;
}

bool world_wait_quiet(struct world *w)
{
	return wait_event_timeout(w->changed, is_quiet(w, 0) && is_quiet(w, 1),
				  TIMEOUT);
}

static bool world_all_received(const struct side *from)
{
	return READ_ONCE(from->expect_begin) == READ_ONCE(from->expect_end);
}

/* Have both peers received all messages? No message may be a plain Write. */
bool world_wait_received(struct world *w)
{
	return wait_event_timeout(w->changed, world_all_received(&w->side[0]) &&
				  world_all_received(&w->side[1]), TIMEOUT);
}

void world_close(struct world *w)
{
	KUNIT_EXPECT_TRUE(w->test, world_wait_quiet(w));
	xiw_stream_close(&w->side[get_random_u32() % 2].s);
	wait_event_timeout(w->changed, READ_ONCE(w->side[0].over) &&
			   READ_ONCE(w->side[1].over), TIMEOUT);
	KUNIT_EXPECT_TRUE(w->test, w->side[0].over && w->side[1].over);
}

/* Everything sent has arrived: check the Writes after the last message. */
void world_check_rest(struct world *w, int n, const struct how *how)
{
	u32 segments = how->probe && how->rtr == XIW_RTR_WRITE ?
		0 : how->segments;
	struct side *side = &w->side[n];

	KUNIT_EXPECT_EQ(w->test, side->s.tx.mpa.segments, segments);
	KUNIT_EXPECT_NULL(w->test, next_expected(side->peer));
	KUNIT_EXPECT_EQ(w->test, side->expect_begin, side->expect_end);
	KUNIT_EXPECT_EQ(w->test, *side->peer->word, side->model);
}
