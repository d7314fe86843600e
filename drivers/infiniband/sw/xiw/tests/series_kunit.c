// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Series: a row of FPDUs that continue one message. One of them is different or
 * invalid, or the memory, the receive or the Read has changed before it. Each
 * case runs for each position of that FPDU in the row.
 */
#include <kunit/test.h>
#include <linux/crc32c.h>
#include <linux/unaligned.h>

#include "proto/mpa.h"
#include "stream/engine.h"
#include "world.h"

enum {
	ROW		= 36,		/* FPDUs in a row: 36,000 bytes */
	PAYLOAD		= 1000,
	BUFFER		= ROW * PAYLOAD,
	UNTOUCHED	= 0xee,
};

/* One FPDU, to be spoiled before its CRC is computed */
struct fpdu {
	struct world *w;
	u32 len;
	bool bad_crc;
	union {
		u8 bytes[XIW_MPA_LEN_FIELD + XIW_DDP_HDR_MAX + PAYLOAD + 8];
		struct {
			__be16 ulpdu_len;
			struct xiw_tagged_hdr h;
		} __packed t;
		struct {
			__be16 ulpdu_len;
			struct xiw_untagged_hdr h;
		} __packed u;
	};
};

/**
 * struct series_row - a row of FPDUs
 * @what: what is special about one of them
 * @opcode: XIW_OP_* of all
 * @spoil: changes one of them, or NULL
 * @between: changes the environment before that one is received, or NULL
 * @ends: the region, the receive or the Read ends in that one
 * @reason: expected fault, XIW_OK for none
 */
struct series_row {
	const char *what;
	u8 opcode;
	void (*spoil)(struct fpdu *f);
	void (*between)(struct world *w);
	enum xiw_reason reason;
	bool ends;
};

static void series_spoil_crc(struct fpdu *f)
{
	f->bad_crc = true;
}

static void series_spoil_stag(struct fpdu *f)
{
	f->t.h.stag ^= cpu_to_be32(0x100);
}

/* The region ends 5 bytes before the payload. */
static void series_spoil_bounds(struct fpdu *f)
{
	const struct xiw_mem *mem = f->w->side[1].mem;

	f->t.h.to = cpu_to_be64(mem->iova + mem->length - PAYLOAD + 5);
}

static void series_spoil_wrap(struct fpdu *f)
{
	f->t.h.to = cpu_to_be64(U64_MAX - 5);
}

static void series_spoil_to(struct fpdu *f)
{
	f->t.h.to = cpu_to_be64(be64_to_cpu(f->t.h.to) + 4);
}

static void series_spoil_dv(struct fpdu *f)
{
	f->t.h.ddp_ctrl ^= 0x02;
}

static void series_spoil_rv(struct fpdu *f)
{
	f->t.h.rdmap_ctrl ^= 0x80;
}

/* Changes the opcode, but not in the first FPDU, which determines it. */
static void series_spoil_opcode(struct fpdu *f)
{
	if (f->u.h.mo)
		f->u.h.rdmap_ctrl ^= XIW_OP_SEND ^ XIW_OP_SEND_SE;
	else
		f->u.h.rdmap_ctrl ^= XIW_OP_SEND ^ 0xf;
}

static void series_spoil_t_bit(struct fpdu *f)
{
	f->t.h.ddp_ctrl ^= XIW_DDP_TAGGED;
}

static void series_spoil_qn(struct fpdu *f)
{
	f->u.h.qn = cpu_to_be32(XIW_QN_REQUEST);
}

static void series_spoil_msn(struct fpdu *f)
{
	f->u.h.msn = cpu_to_be32(be32_to_cpu(f->u.h.msn) + 1);
}

static void series_spoil_mo(struct fpdu *f)
{
	f->u.h.mo = cpu_to_be32(be32_to_cpu(f->u.h.mo) - 4);
}

/* A header that is cut off */
static void series_spoil_len(struct fpdu *f)
{
	f->len = XIW_MPA_LEN_FIELD + 10;
	f->t.ulpdu_len = cpu_to_be16(10);
}

static void series_set_state(struct xiw_mem *mem, enum xiw_mem_state state)
{
	xiw_mem_lock(mem);
	mem->state = state;
	xiw_mem_unlock(mem);
}

static void series_revoke(struct world *w)
{
	series_set_state(w->side[1].mem, XIW_MEM_FREE);
}

static void series_revoke_sink(struct world *w)
{
	series_set_state(w->side[1].frwr[0], XIW_MEM_FREE);
}

static void series_take_right(struct world *w)
{
	struct xiw_mem *mem = w->side[1].mem;

	xiw_mem_lock(mem);
	mem->access &= ~IB_ACCESS_REMOTE_WRITE;
	xiw_mem_unlock(mem);
}

static void series_take_right_of_qp(struct world *w)
{
	WRITE_ONCE(w->side[1].s.access, IB_ACCESS_REMOTE_READ);
}

static const struct series_row rows[] = {
	{ "Write", XIW_OP_WRITE },
	{ "Write, CRC", XIW_OP_WRITE, series_spoil_crc, NULL,
	  XIW_MPA_BAD_CRC },
	{ "Write, STag", XIW_OP_WRITE, series_spoil_stag, NULL,
	  XIW_WRITE_BAD_STAG },
	{ "Write, bounds", XIW_OP_WRITE, series_spoil_bounds, NULL,
	  XIW_WRITE_BOUNDS },
	{ "Write, wrap", XIW_OP_WRITE, series_spoil_wrap, NULL,
	  XIW_WRITE_WRAP },
	{ "Write, DDP version", XIW_OP_WRITE, series_spoil_dv, NULL,
	  XIW_BAD_DV_TAGGED },
	{ "Write, RDMAP version", XIW_OP_WRITE, series_spoil_rv, NULL,
	  XIW_BAD_RV },
	{ "Write, T bit", XIW_OP_WRITE, series_spoil_t_bit, NULL,
	  XIW_BAD_T_BIT },
	{ "Write, length", XIW_OP_WRITE, series_spoil_len, NULL,
	  XIW_BAD_SEGMENT_LEN },
	{ "Write, revoked", XIW_OP_WRITE, NULL, series_revoke,
	  XIW_WRITE_BAD_STAG },
	{ "Write, right of the region", XIW_OP_WRITE, NULL, series_take_right,
	  XIW_WRITE_BAD_RIGHTS },
	{ "Write, right of the QP", XIW_OP_WRITE, NULL,
	  series_take_right_of_qp, XIW_WRITE_BAD_RIGHTS },
	{ "Write, end", XIW_OP_WRITE, NULL, NULL, XIW_WRITE_BOUNDS, true },
	{ "Send", XIW_OP_SEND },
	{ "Send, CRC", XIW_OP_SEND, series_spoil_crc, NULL, XIW_MPA_BAD_CRC },
	{ "Send, opcode", XIW_OP_SEND, series_spoil_opcode, NULL,
	  XIW_BAD_OPCODE },
	{ "Send, QN", XIW_OP_SEND, series_spoil_qn, NULL, XIW_BAD_QN },
	{ "Send, MSN", XIW_OP_SEND, series_spoil_msn, NULL, XIW_BAD_MSN },
	{ "Send, MO", XIW_OP_SEND, series_spoil_mo, NULL, XIW_BAD_MO },
	{ "Send, revoked", XIW_OP_SEND, NULL, series_revoke, XIW_RECV_FAULT },
	{ "Send, end", XIW_OP_SEND, NULL, NULL, XIW_MSG_TOO_LONG, true },
	{ "Read", XIW_OP_READ_RESP },
	{ "Read, CRC", XIW_OP_READ_RESP, series_spoil_crc, NULL,
	  XIW_MPA_BAD_CRC },
	{ "Read, STag", XIW_OP_READ_RESP, series_spoil_stag, NULL,
	  XIW_RESP_BAD_STAG },
	{ "Read, TO", XIW_OP_READ_RESP, series_spoil_to, NULL,
	  XIW_RESP_BAD_PLACE },
	{ "Read, revoked", XIW_OP_READ_RESP, NULL, series_revoke_sink,
	  XIW_RESP_SINK_GONE },
	{ "Read, end", XIW_OP_READ_RESP, NULL, NULL, XIW_RESP_BAD_PLACE,
	  true },
};

KUNIT_ARRAY_PARAM_DESC(series, rows, what);

/* The memory is locked for FPDUs 1 to 16, then for 17 to 32. */
static const u32 positions[] = { 0, 1, 2, 15, 16, 17, 18, 32, 33, ROW - 1 };

/* Where the payload of a row belongs */
static u8 *series_buffer(struct side *side, u8 opcode)
{
	switch (opcode) {
	case XIW_OP_WRITE:
		return part(side, OF_WRITES);
	case XIW_OP_READ_RESP:
		return part(side, OF_SINKS + (side->num_posted - 1) % DEPTH);
	default:
		return part(side, OF_RECV);
	}
}

static void series_make_tagged(struct fpdu *f, const struct series_row *row,
			       u32 n)
{
	struct side *side = &f->w->side[1];
	u8 *p = series_buffer(side, row->opcode) + n * PAYLOAD;
	const struct xiw_mem *mem = row->opcode == XIW_OP_WRITE ?
					    side->mem : side->frwr[0];

	f->t.h.ddp_ctrl = XIW_DDP_DV | XIW_DDP_TAGGED;
	f->t.h.rdmap_ctrl = XIW_RDMAP_RV | row->opcode;
	f->t.h.stag = cpu_to_be32(mem->stag);
	f->t.h.to = cpu_to_be64(mem->iova + (p - side->arena));
	f->t.ulpdu_len = cpu_to_be16(XIW_TAGGED_LEN + PAYLOAD);
	f->len = sizeof(f->t) + PAYLOAD;
	memset(f->bytes + sizeof(f->t), n + 1, PAYLOAD);
}

static void series_make_untagged(struct fpdu *f, const struct series_row *row,
				 u32 n)
{
	f->u.h.ddp_ctrl = XIW_DDP_DV;
	f->u.h.rdmap_ctrl = XIW_RDMAP_RV | row->opcode;
	f->u.h.qn = cpu_to_be32(XIW_QN_SEND);
	f->u.h.msn = cpu_to_be32(f->w->side[1].s.rx.queue[XIW_QN_SEND].msn);
	f->u.h.mo = cpu_to_be32(n * PAYLOAD);
	f->u.ulpdu_len = cpu_to_be16(XIW_UNTAGGED_LEN + PAYLOAD);
	f->len = sizeof(f->u) + PAYLOAD;
	memset(f->bytes + sizeof(f->u), n + 1, PAYLOAD);
}

/* FPDU @n of a row in @to; returns its length. */
static u32 series_make(struct world *w, const struct series_row *row, u32 n,
		       bool spoil, u8 *to)
{
	struct fpdu f = { .w = w };
	u32 crc;

	if (row->opcode == XIW_OP_SEND)
		series_make_untagged(&f, row, n);
	else
		series_make_tagged(&f, row, n);
	if (spoil)
		row->spoil(&f);
	crc = ~crc32c(~0, f.bytes, f.len) ^ f.bad_crc;
	put_unaligned_le32(crc, f.bytes + f.len);
	f.len += XIW_MPA_CRC_LEN;
	memcpy(to, f.bytes, f.len);
	return f.len;
}

/* Feeds FPDUs from @begin to @end as one packet, and waits until it is read. */
static void series_feed(struct world *w, const struct series_row *row,
			u32 begin, u32 end, u32 spoiled, u8 *buf)
{
	struct pipe_end *e = &w->side[1].end;
	u32 len = 0;

	for (; begin < end; begin++)
		len += series_make(w, row, begin,
				   row->spoil && begin == spoiled, buf + len);
	KUNIT_ASSERT_TRUE(w->test, pipe_feed(e, buf, len));
	KUNIT_EXPECT_NE(w->test, 0L,
			wait_event_timeout(e->unowned,
					   !atomic_read(&e->unread) &&
					   !READ_ONCE(e->owned), TIMEOUT));
}

/* Two streams, with @len bytes of room where the row is to be placed */
static struct world *series_make_world(struct kunit *test,
				       const struct series_row *row, u32 len)
{
	const struct how how = {
		.crc = true, .segments = 1, .rtr = XIW_RTR_WRITE,
	};
	struct world *w = world_make(test, get_random_u64());
	struct side *side = &w->side[1];
	int i;

	side->poller = POLLER_NONE;
	world_start(w, &how);
	for (i = 0; i < 2; i++) {
		side_post_send(test, &w->side[i]);
		xiw_tx_kick(&w->side[i].s, true);
	}
	KUNIT_EXPECT_TRUE(test, world_wait_quiet(w));
	KUNIT_EXPECT_TRUE(test, world_wait_received(w));
	for (i = 0; i < 2; i++) {
		w->side[i].may_fail = true;
		w->side[i].may_fault = true;
	}
	/* From here on only what the test feeds arrives. */
	pipe_hold(&w->side[0].end, true);
	if (row->opcode == XIW_OP_READ_RESP) {
		series_set_state(side->frwr[0], XIW_MEM_VALID);
		side_post_read(test, side, IB_WR_RDMA_READ, side->frwr[0],
			       len);
		side_send_all(test, side);
	} else if (row->opcode == XIW_OP_SEND) {
		side->recv_len = len;
	} else {
		side->mem->length = series_buffer(side, row->opcode) + len -
				    side->arena;
	}
	memset(series_buffer(side, row->opcode), UNTOUCHED, BUFFER);
	return w;
}

/* Receives a row with the special FPDU at position @at. */
static void series_one(struct kunit *test, const struct series_row *row,
		       u32 at, u8 *buf)
{
	u32 len = row->ends ? at * PAYLOAD + 5 : BUFFER;
	struct world *w = series_make_world(test, row, len);
	struct side *side = &w->side[1];
	u8 *p = series_buffer(side, row->opcode);
	u32 placed = row->reason == XIW_OK ? ROW : at;
	u32 i;

	if (row->between) {
		if (at)
			series_feed(w, row, 0, at, at, buf);
		row->between(w);
		series_feed(w, row, at, ROW, at, buf);
	} else {
		series_feed(w, row, 0, ROW, at, buf);
	}
	KUNIT_EXPECT_EQ(test, side->s.fault, row->reason);
	for (i = 0; i < placed; i++)
		KUNIT_EXPECT_NULL(test, memchr_inv(p + i * PAYLOAD, i + 1,
						   PAYLOAD));
	KUNIT_EXPECT_NULL(test, memchr_inv(p + placed * PAYLOAD, UNTOUCHED,
					   (ROW - placed) * PAYLOAD));
	world_end(w);
}

static void series_rows(struct kunit *test)
{
	u8 *buf = kunit_kmalloc(test, ROW * sizeof(struct fpdu), GFP_KERNEL);
	const struct series_row *row = test->param_value;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < ARRAY_SIZE(positions); i++)
		series_one(test, row, positions[i], buf);
}

/*
 * Bulk data is processed at once if it answers a message of this side, and left
 * to a work item if it does not.
 */
static void series_dialog(struct kunit *test)
{
	u8 *buf = kunit_kmalloc(test, ROW * sizeof(struct fpdu), GFP_KERNEL);
	struct world *w = series_make_world(test, &rows[0], BUFFER);
	struct side *side = &w->side[1];

	KUNIT_ASSERT_NOT_NULL(test, buf);
	side->work_count = 0;
	series_feed(w, &rows[0], 0, ROW, 0, buf);
	KUNIT_EXPECT_EQ(test, side->work_count, 0);
	series_feed(w, &rows[0], 0, ROW, 0, buf);
	KUNIT_EXPECT_EQ(test, side->work_count, 1);
	side_post_send(test, side);
	side_send_all(test, side);
	/* The peer has not yet read what was sent. */
	series_feed(w, &rows[0], 0, ROW, 0, buf);
	KUNIT_EXPECT_EQ(test, side->work_count, 2);
	world_end(w);
}

static struct kunit_case series_cases[] = {
	KUNIT_CASE(series_dialog),
	KUNIT_CASE_PARAM(series_rows, series_gen_params),
	{}
};

static struct kunit_suite series_suite = {
	.name = "xiw_series",
	.test_cases = series_cases,
};

kunit_test_suite(series_suite);
