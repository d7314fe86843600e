// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Access violations, remote and local. Each must end its connection with the
 * right status and events, change no byte without permission, and not affect
 * other connections.
 */
#include "xt.h"

#include <stdio.h>
#include <string.h>

#define LEN		1000
#define ROOM		(3 * XT_PAGE)
#define MARK		0x3c
#define BAD		1
#define AFTER		2
#define RECVS		3

/*
 * A connection that the case breaks, with memory at both ends, and another one,
 * which must not be affected.
 */
struct scene {
	struct xt_pair p;
	struct xt_pair other;
	struct xt_buf src;
	struct xt_buf dst;
	struct xt_buf shared;
};

static void scene_up(struct scene *s, int access)
{
	xt_pair(&s->other, NULL, NULL);
	s->shared = xt_buf(&s->other.a, ROOM, XT_REMOTE);
	xt_pair(&s->p, NULL, NULL);
	s->src = xt_buf(&s->p.b, ROOM, XT_LOCAL);
	s->dst = xt_buf(&s->p.a, ROOM, access);
	xt_fill(s->src.p, ROOM, 1);
	memset(s->dst.p, MARK, ROOM);
	memset(s->shared.p, MARK, ROOM);
	xt_recvs(&s->p.a, 100, RECVS);
	xt_recvs(&s->p.b, 200, RECVS);
}

static void other_is_well(struct scene *s)
{
	struct xt_buf from = xt_buf(&s->other.b, LEN, XT_LOCAL);
	struct ibv_sge sge = xt_sge(&from, 0, LEN);
	struct ibv_send_wr wr = xt_wr_to(IBV_WR_RDMA_WRITE, 5, &sge, 1,
					 &s->shared, 7);

	XT_ALL(s->shared.p, ROOM, MARK);
	xt_fill(from.p, LEN, 77);
	xt_send(&s->other.b, &wr);
	wr = xt_wr(IBV_WR_SEND, 6, NULL, 0);
	xt_recvs(&s->other.a, 7, 1);
	xt_send(&s->other.b, &wr);
	xt_wc_ok(s->other.b.scq, 5);
	xt_wc_ok(s->other.b.scq, 6);
	xt_wc_ok(s->other.a.rcq, 7);
	XT_SAME(s->shared.p + 7, LEN, 77);
	XT_GUARDS(&s->shared);
	xt_buf_free(&from);
	xt_buf_free(&s->shared);
	xt_hang_up(&s->other, &s->other.b);
}

static void in_error(struct xt_end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	XT_OK(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init));
	XT_EQ(attr.qp_state, IBV_QPS_ERR);
}

/* Ends a broken connection, and checks that no other one is affected. */
static void scene_down(struct scene *s, unsigned int a_recvs)
{
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, AFTER, NULL, 0);

	xt_expect(&s->p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_expect(&s->p.b, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_flushed(s->p.a.rcq, 100 + RECVS - a_recvs, a_recvs);
	xt_flushed(s->p.b.rcq, 200, RECVS);
	in_error(&s->p.a);
	in_error(&s->p.b);
	xt_send(&s->p.b, &wr);
	xt_flushed(s->p.b.scq, AFTER, 1);
	XT_GUARDS(&s->src);
	XT_GUARDS(&s->dst);
	other_is_well(s);
	xt_buf_free(&s->src);
	if (s->dst.mr)
		xt_buf_free(&s->dst);
	xt_close(&s->p.a);
	xt_close(&s->p.b);
}

/* ---- remote ------------------------------------------------------------ */

/* The target of a violation, and the Terminate code for a Read of it. */
struct aim {
	__u64 addr;
	__u32 rkey;
	__u16 read_code;
};

static struct aim aim_at(const struct xt_buf *b, __u64 off, __u16 code)
{
	struct aim aim = {
		.addr = (uintptr_t)b->p + off,
		.rkey = b->mr->rkey,
		.read_code = code,
	};

	return aim;
}

static void post_bad(struct scene *s, enum ibv_wr_opcode op,
		     const struct aim *aim, size_t len)
{
	struct ibv_sge sge = xt_sge(&s->src, 0, len);
	struct ibv_send_wr wr = xt_wr(op, BAD, &sge, 1);

	wr.wr.rdma.remote_addr = aim->addr;
	wr.wr.rdma.rkey = aim->rkey;
	xt_send(&s->p.b, &wr);
}

/*
 * Expects the completion of a Send or Write that the peer refuses. Mostly it
 * has completed with success, as TCP had taken all of it, before the Terminate
 * arrived. Otherwise it has the status @blamed, or is flushed.
 */
static void complete_or(struct xt_end *e, enum ibv_wc_status blamed)
{
	struct ibv_wc wc;

	xt_wait(e->scq, &wc);
	XT_EQ(wc.wr_id, BAD);
	XT_CHECK(wc.status == IBV_WC_SUCCESS || wc.status == blamed ||
		 wc.status == IBV_WC_WR_FLUSH_ERR, "it ended with %s",
		 xt_wc_name(wc.status));
}

static void bad_write(struct scene *s, const struct aim *aim, size_t len)
{
	post_bad(s, IBV_WR_RDMA_WRITE, aim, len);
	complete_or(&s->p.b, IBV_WC_REM_ACCESS_ERR);
	xt_async(&s->p.a, IBV_EVENT_QP_ACCESS_ERR);
	xt_async(&s->p.b, IBV_EVENT_QP_FATAL);
	scene_down(s, RECVS);
}

static void bad_read(struct scene *s, const struct aim *aim, size_t len)
{
	struct ibv_wc wc;

	post_bad(s, IBV_WR_RDMA_READ, aim, len);
	wc = xt_wc(s->p.b.scq, BAD, IBV_WC_REM_ACCESS_ERR);
	XT_CHECK(wc.vendor_err == aim->read_code,
		 "Terminate code %#06x, not %#06x", wc.vendor_err,
		 aim->read_code);
	xt_async(&s->p.a, IBV_EVENT_QP_ACCESS_ERR);
	xt_async(&s->p.b, IBV_EVENT_QP_FATAL);
	/* The Read has placed nothing. */
	XT_SAME(s->src.p, ROOM, 1);
	scene_down(s, RECVS);
}

static void test_write_without_right(void)
{
	struct scene s;
	struct aim aim;

	scene_up(&s, XT_LOCAL | IBV_ACCESS_REMOTE_READ);
	aim = aim_at(&s.dst, 16, 0);
	/* Not bad_write(), which frees the region that is checked here. */
	post_bad(&s, IBV_WR_RDMA_WRITE, &aim, LEN);
	complete_or(&s.p.b, IBV_WC_REM_ACCESS_ERR);
	xt_async(&s.p.a, IBV_EVENT_QP_ACCESS_ERR);
	XT_ALL(s.dst.p, ROOM, MARK);
	xt_async(&s.p.b, IBV_EVENT_QP_FATAL);
	scene_down(&s, RECVS);
}

static void test_read_without_right(void)
{
	struct scene s;
	struct aim aim;

	scene_up(&s, XT_LOCAL | IBV_ACCESS_REMOTE_WRITE);
	aim = aim_at(&s.dst, 16, 0x0102);
	bad_read(&s, &aim, LEN);
}

/* Places outside of a region of ROOM bytes, for LEN bytes. */
static const struct {
	__s64 off;
	size_t len;
} outside[] = {
	{ -1, 1 }, { -1, LEN }, { -LEN, LEN }, { ROOM, 1 }, { ROOM - 1, 2 },
	{ ROOM - LEN + 1, LEN }, { 1LL << 40, 8 },
};

static void test_write_outside(void)
{
	struct scene s;
	struct aim aim;
	size_t i;

	for (i = 0; i < XT_NELEM(outside); i++) {
		scene_up(&s, XT_REMOTE);
		aim = aim_at(&s.dst, outside[i].off, 0);
		bad_write(&s, &aim, outside[i].len);
	}
}

static void test_read_outside(void)
{
	struct scene s;
	struct aim aim;
	size_t i;

	for (i = 0; i < XT_NELEM(outside); i++) {
		scene_up(&s, XT_REMOTE);
		aim = aim_at(&s.dst, outside[i].off, 0x0101);
		bad_read(&s, &aim, outside[i].len);
	}
}

/* A Write of several segments, of which only the last one is out of bounds. */
static void test_write_runs_out(void)
{
	struct scene s;
	struct aim aim;

	scene_up(&s, XT_REMOTE);
	aim = aim_at(&s.dst, ROOM - 5000, 0);
	bad_write(&s, &aim, 5001);
}

static void test_write_wraps(void)
{
	struct scene s;
	struct aim aim;

	scene_up(&s, XT_REMOTE);
	aim = aim_at(&s.dst, 0, 0);
	aim.addr = ~0ULL - 9;
	bad_write(&s, &aim, 20);
}

static void test_read_wraps(void)
{
	struct scene s;
	struct aim aim;

	scene_up(&s, XT_REMOTE);
	aim = aim_at(&s.dst, 0, 0x0104);
	aim.addr = ~0ULL - 9;
	bad_read(&s, &aim, 20);
}

/* The region of the other connection belongs to another protection domain. */
static void test_write_other_pd(void)
{
	struct scene s;
	struct aim aim;

	scene_up(&s, XT_REMOTE);
	aim = aim_at(&s.shared, 16, 0);
	bad_write(&s, &aim, LEN);
}

static void test_read_other_pd(void)
{
	struct scene s;
	struct aim aim;

	scene_up(&s, XT_REMOTE);
	aim = aim_at(&s.shared, 16, 0x0103);
	bad_read(&s, &aim, LEN);
}

static void withdraw(struct scene *s)
{
	XT_OK(ibv_dereg_mr(s->dst.mr));
	s->dst.mr = NULL;
}

static void test_write_revoked(void)
{
	struct scene s;
	struct aim aim;

	scene_up(&s, XT_REMOTE);
	aim = aim_at(&s.dst, 0, 0);
	withdraw(&s);
	bad_write(&s, &aim, LEN);
	XT_ALL(s.dst.p, ROOM, MARK);
}

static void test_read_revoked(void)
{
	struct scene s;
	struct aim aim;

	scene_up(&s, XT_REMOTE);
	aim = aim_at(&s.dst, 0, 0x0100);
	withdraw(&s);
	bad_read(&s, &aim, LEN);
}

static void test_wrong_key(void)
{
	static const __u32 flips[] = { 1, 0x80, 0x100, 0x80000000 };
	struct scene s;
	struct aim aim;
	size_t i;

	for (i = 0; i < XT_NELEM(flips); i++) {
		scene_up(&s, XT_REMOTE);
		aim = aim_at(&s.dst, 0, 0x0100);
		aim.rkey ^= flips[i];
		if (i & 1)
			bad_read(&s, &aim, LEN);
		else
			bad_write(&s, &aim, LEN);
	}
}

/* After ibv_dereg_mr() no Write changes the memory, even one in progress. */
static void test_revoke_under_load(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct scene s;
	struct ibv_wc wc;
	int i;

	scene_up(&s, XT_REMOTE);
	sge = xt_sge(&s.src, 0, ROOM);
	for (i = 0; i < 40; i++) {
		wr = xt_wr_to(IBV_WR_RDMA_WRITE, BAD, &sge, 1, &s.dst, 0);
		xt_send(&s.p.b, &wr);
	}
	xt_wc_ok(s.p.b.scq, BAD);
	withdraw(&s);
	xt_fill(s.dst.p, ROOM, 99);
	for (i = 1; i < 40; i++) {
		xt_wait(s.p.b.scq, &wc);
		XT_EQ(wc.wr_id, BAD);
	}
	/*
	 * All Writes so far may have arrived before the deregistration. This
	 * one is certainly late, and ends the connection.
	 */
	wr = xt_wr(IBV_WR_RDMA_WRITE, BAD, &sge, 1);
	wr.wr.rdma.remote_addr = (uintptr_t)s.dst.p;
	xt_send(&s.p.b, &wr);
	xt_wait(s.p.b.scq, &wc);
	xt_async(&s.p.a, IBV_EVENT_QP_ACCESS_ERR);
	XT_SAME(s.dst.p, ROOM, 99);
	scene_down(&s, RECVS);
	XT_SAME(s.dst.p, ROOM, 99);
}

/* ---- local ------------------------------------------------------------- */

/*
 * Posts a request at end b with a buffer that b may not use for it: it fails,
 * the next request is flushed, and end a receives nothing.
 */
static void bad_local(struct scene *s, enum ibv_wr_opcode op,
		      struct ibv_sge *sge)
{
	struct ibv_send_wr wr = xt_wr_to(op, BAD, sge, 1, &s->dst, 0);
	struct ibv_send_wr next = xt_wr(IBV_WR_SEND, AFTER, NULL, 0);

	wr.next = &next;
	xt_send(&s->p.b, &wr);
	xt_wc(s->p.b.scq, BAD, IBV_WC_LOC_PROT_ERR);
	xt_wc(s->p.b.scq, AFTER, IBV_WC_WR_FLUSH_ERR);
	xt_async(&s->p.a, IBV_EVENT_QP_FATAL);
	XT_ALL(s->dst.p, ROOM, MARK);
	XT_SAME(s->src.p, ROOM, 1);
	scene_down(s, RECVS);
}

static void test_local_key(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
	};
	struct ibv_sge sge;
	struct scene s;
	size_t i;

	for (i = 0; i < XT_NELEM(ops); i++) {
		scene_up(&s, XT_REMOTE);
		sge = xt_sge(&s.src, 0, LEN);
		sge.lkey ^= 0x100;
		bad_local(&s, ops[i], &sge);
	}
}

static void test_local_bounds(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
	};
	struct ibv_sge sge;
	struct scene s;
	size_t i;

	for (i = 0; i < XT_NELEM(ops); i++) {
		scene_up(&s, XT_REMOTE);
		sge = xt_sge(&s.src, i & 1 ? -1UL : ROOM - LEN + 1, LEN);
		bad_local(&s, ops[i], &sge);
	}
}

static void test_local_pd(void)
{
	struct xt_buf foreign;
	struct ibv_sge sge;
	struct scene s;

	scene_up(&s, XT_REMOTE);
	foreign = xt_buf_at(XT_PTR(ibv_alloc_pd(s.p.b.id->verbs)), LEN, 0,
			    XT_LOCAL);
	sge = xt_sge(&foreign, 0, LEN);
	bad_local(&s, IBV_WR_SEND, &sge);
}

static void test_read_into_readonly(void)
{
	struct xt_buf readonly;
	struct ibv_sge sge;
	struct scene s;

	scene_up(&s, XT_REMOTE);
	readonly = xt_buf(&s.p.b, LEN, 0);
	sge = xt_sge(&readonly, 0, LEN);
	xt_do_send(&s.p.b, &(struct ibv_send_wr){
		.wr_id = BAD,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.remote_addr = (uintptr_t)s.dst.p,
		.wr.rdma.rkey = s.dst.mr->rkey,
	});
	xt_wc(s.p.b.scq, BAD, IBV_WC_LOC_PROT_ERR);
	XT_ALL(readonly.p, LEN, 0);
	XT_GUARDS(&readonly);
	xt_buf_free(&readonly);
	scene_down(&s, RECVS);
}

/* A receive with unusable memory, in front of usable ones. */
static void bad_receive(int access, __u32 flip, size_t beyond)
{
	struct ibv_send_wr wr;
	struct xt_buf into;
	struct ibv_sge sge;
	struct scene s;
	int i;

	scene_up(&s, XT_REMOTE);
	/* Use up the valid receives, so that the invalid one is next. */
	for (i = 0; i < RECVS; i++) {
		wr = xt_wr(IBV_WR_SEND, 50 + i, NULL, 0);
		xt_send(&s.p.b, &wr);
		xt_wc_ok(s.p.b.scq, 50 + i);
		xt_wc_ok(s.p.a.rcq, 100 + i);
	}
	into = xt_buf(&s.p.a, LEN, access);
	sge = xt_sge(&into, 0, LEN + beyond);
	sge.lkey ^= flip;
	xt_recv(&s.p.a, 100, &sge, 1);
	xt_recvs(&s.p.a, 101, RECVS - 1);
	sge = xt_sge(&s.src, 0, LEN + beyond);
	wr = xt_wr(IBV_WR_SEND, BAD, &sge, 1);
	xt_send(&s.p.b, &wr);
	xt_wc(s.p.a.rcq, 100, IBV_WC_LOC_PROT_ERR);
	xt_async(&s.p.b, IBV_EVENT_QP_FATAL);
	complete_or(&s.p.b, IBV_WC_REM_OP_ERR);
	if (!beyond)
		XT_ALL(into.p, LEN, 0);
	XT_GUARDS(&into);
	xt_buf_free(&into);
	scene_down(&s, RECVS - 1);
}

static void test_bad_receive(void)
{
	bad_receive(XT_LOCAL, 0x100, 0);
	bad_receive(0, 0, 0);
	bad_receive(XT_LOCAL, 0, 1);
}

static void too_long(size_t room, size_t len)
{
	struct ibv_send_wr wr;
	struct xt_buf into;
	struct ibv_sge sge;
	struct scene s;
	int i;

	scene_up(&s, XT_REMOTE);
	for (i = 0; i < RECVS; i++) {
		wr = xt_wr(IBV_WR_SEND, 50 + i, NULL, 0);
		xt_send(&s.p.b, &wr);
		xt_wc_ok(s.p.b.scq, 50 + i);
		xt_wc_ok(s.p.a.rcq, 100 + i);
	}
	into = xt_buf(&s.p.a, ROOM, XT_LOCAL);
	memset(into.p, MARK, ROOM);
	sge = xt_sge(&into, 100, room);
	xt_recv(&s.p.a, 100, &sge, 1);
	xt_recvs(&s.p.a, 101, RECVS - 1);
	sge = xt_sge(&s.src, 0, len);
	wr = xt_wr(IBV_WR_SEND, BAD, &sge, 1);
	xt_send(&s.p.b, &wr);
	xt_wc(s.p.a.rcq, 100, IBV_WC_LOC_LEN_ERR);
	xt_async(&s.p.a, IBV_EVENT_QP_REQ_ERR);
	xt_async(&s.p.b, IBV_EVENT_QP_FATAL);
	complete_or(&s.p.b, IBV_WC_REM_INV_REQ_ERR);
	XT_ALL(into.p, 100, MARK);
	XT_ALL(into.p + 100 + room, ROOM - 100 - room, MARK);
	XT_GUARDS(&into);
	xt_buf_free(&into);
	scene_down(&s, RECVS - 1);
}

static void test_too_long(void)
{
	too_long(10, 11);
	too_long(0, 1);
	too_long(5000, 5001);
}

/* ---- registration ------------------------------------------------------ */

static void test_registration(void)
{
	struct xt_buf gone;
	struct xt_pair p;
	struct ibv_mr *mr;
	void *hole;

	xt_pair(&p, NULL, NULL);
	gone = xt_buf(&p.a, XT_PAGE, XT_LOCAL);
	hole = gone.p;
	xt_buf_free(&gone);
	mr = ibv_reg_mr(p.a.pd, hole, XT_PAGE, XT_LOCAL);
	XT_CHECK(!mr, "memory that is not there was registered");
	/* The text of the program is not writable. */
	mr = ibv_reg_mr(p.a.pd, (void *)test_registration, 16, XT_LOCAL);
	XT_CHECK(!mr, "read-only memory was registered for writing");
	mr = ibv_reg_mr(p.a.pd, (void *)test_registration, 16, 0);
	XT_CHECK(mr, "read-only memory was not registered for reading: %m");
	XT_OK(ibv_dereg_mr(mr));
	/* Remote write needs local write. */
	gone = xt_buf(&p.a, XT_PAGE, XT_LOCAL);
	mr = ibv_reg_mr(p.a.pd, gone.p, XT_PAGE, IBV_ACCESS_REMOTE_WRITE);
	XT_CHECK(!mr, "remote write without local write was granted");
	xt_buf_free(&gone);
	xt_hang_up(&p, &p.a);
}

/* STags are random: each bit is set in about half of them. */
static void test_keys(void)
{
	enum { REGIONS = 256 };
	struct ibv_mr *mr[REGIONS];
	int set[32] = {};
	struct xt_buf b;
	struct xt_pair p;
	int bit;
	int i;

	xt_pair(&p, NULL, NULL);
	b = xt_buf(&p.a, ROOM, XT_LOCAL);
	for (i = 0; i < REGIONS; i++) {
		mr[i] = XT_PTR(ibv_reg_mr(p.a.pd, b.p, ROOM, XT_REMOTE));
		for (bit = 0; bit < 32; bit++)
			set[bit] += mr[i]->rkey >> bit & 1;
	}
	/* Random STags fail this once in 10^13 times. */
	for (bit = 0; bit < 32; bit++)
		XT_CHECK(set[bit] > REGIONS / 4 && set[bit] < REGIONS * 3 / 4,
			 "bit %d is set in %d of %d", bit, set[bit], REGIONS);
	for (i = 0; i < REGIONS; i++)
		XT_OK(ibv_dereg_mr(mr[i]));
	xt_buf_free(&b);
	xt_hang_up(&p, &p.b);
}

static const struct xt_case cases[] = {
	{ "write-right", "a Write without the right",
	  test_write_without_right },
	{ "read-right", "a Read without the right", test_read_without_right },
	{ "write-outside", "Writes outside of the region", test_write_outside },
	{ "read-outside", "Reads outside of the region", test_read_outside },
	{ "write-runs-out", "a Write that leaves the region",
	  test_write_runs_out },
	{ "write-wraps", "a Write past the last address", test_write_wraps },
	{ "read-wraps", "a Read past the last address", test_read_wraps },
	{ "write-pd", "a Write into another protection domain",
	  test_write_other_pd },
	{ "read-pd", "a Read from another protection domain",
	  test_read_other_pd },
	{ "write-revoked", "a Write to a region that is gone",
	  test_write_revoked },
	{ "read-revoked", "a Read from a region that is gone",
	  test_read_revoked },
	{ "wrong-key", "keys that differ in one bit", test_wrong_key },
	{ "keys", "keys cannot be guessed", test_keys },
	{ "revoke-load", "no byte is written once a region is gone",
	  test_revoke_under_load },
	{ "local-key", "a wrong local key", test_local_key },
	{ "local-bounds", "local memory outside of the region",
	  test_local_bounds },
	{ "local-pd", "local memory of another protection domain",
	  test_local_pd },
	{ "read-readonly", "a Read into memory without local write",
	  test_read_into_readonly },
	{ "bad-receive", "receives that name memory they may not use",
	  test_bad_receive },
	{ "too-long", "Sends that are longer than the receive", test_too_long },
	{ "registration", "memory that cannot be registered is not",
	  test_registration },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
