// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Atomics (RFC 7306): the new value, the place of the old one, and the order
 * among Reads and Writes. Concurrent connections, devices and processors lose
 * no update. An invalid Atomic changes nothing, and both ends report the
 * reason.
 */
#include "xt.h"

#include <pthread.h>
#include <string.h>

#define WORD		sizeof(__u64)
#define ROOM		(2 * XT_PAGE)
#define MARK		0x3c
#define BAD		1
#define AFTER		2
#define XT_ATOMIC	(XT_REMOTE | IBV_ACCESS_REMOTE_ATOMIC)
#define CAS		IBV_WR_ATOMIC_CMP_AND_SWP
#define ADD		IBV_WR_ATOMIC_FETCH_AND_ADD

/* Copied by bytes, as results need no alignment. */
static __u64 word_at(const struct xt_buf *b, size_t off)
{
	__u64 w;

	memcpy(&w, b->p + off, WORD);
	return w;
}

static void set_word(struct xt_buf *b, size_t off, __u64 w)
{
	memcpy(b->p + off, &w, WORD);
}

/*
 * A connection. End b sends Atomics for @target, which belongs to end a, and
 * gets the old values in @result.
 */
struct lane {
	struct xt_pair p;
	struct xt_buf result;
	struct xt_buf target;
};

static void lane_up_with(struct lane *l, const struct xt_opts *o, int access)
{
	xt_pair(&l->p, o, o);
	l->result = xt_buf(&l->p.b, ROOM, XT_LOCAL);
	l->target = xt_buf(&l->p.a, ROOM, access);
	memset(l->result.p, MARK, ROOM);
	memset(l->target.p, MARK, ROOM);
}

static void lane_up(struct lane *l)
{
	lane_up_with(l, NULL, XT_ATOMIC);
}

static void lane_down(struct lane *l)
{
	XT_GUARDS(&l->result);
	XT_GUARDS(&l->target);
	xt_buf_free(&l->result);
	xt_buf_free(&l->target);
	xt_hang_up(&l->p, &l->p.b);
}

/* Checks that all of @b but the word at @off is unchanged. */
static void only_word(const struct xt_buf *b, size_t off)
{
	XT_ALL(b->p, off, MARK);
	XT_ALL(b->p + off + WORD, b->len - off - WORD, MARK);
}

static void one(struct lane *l, enum ibv_wr_opcode op, size_t from, size_t to,
		__u64 compare_add, __u64 swap)
{
	struct ibv_sge sge = xt_sge(&l->result, to, WORD);
	struct ibv_send_wr wr = xt_atomic(op, compare_add, &sge, &l->target,
					  from, compare_add, swap);
	struct ibv_wc wc;

	xt_send(&l->p.b, &wr);
	wc = xt_wc_ok(l->p.b.scq, compare_add);
	XT_EQ(wc.opcode, op == CAS ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD);
	XT_EQ(wc.byte_len, WORD);
	XT_EQ(wc.qp_num, l->p.b.qp->qp_num);
}

/* ---- attributes -------------------------------------------------------- */

static void test_attributes(void)
{
	struct xt_opts o = XT_OPTS;
	struct ibv_device_attr attr;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr qp_attr;
	struct ibv_port_attr port;
	struct lane l;

	o.ird = 5;
	o.ord = 3;
	lane_up_with(&l, &o, XT_ATOMIC);
	XT_OK(ibv_query_device(l.p.b.id->verbs, &attr));
	XT_EQ(attr.atomic_cap, IBV_ATOMIC_GLOB);
	XT_CHECK(attr.max_qp_rd_atom >= o.ird, "max_qp_rd_atom %d",
		 attr.max_qp_rd_atom);
	XT_CHECK(attr.max_qp_init_rd_atom >= o.ord, "max_qp_init_rd_atom %d",
		 attr.max_qp_init_rd_atom);
	XT_CHECK(attr.max_res_rd_atom >= attr.max_qp_rd_atom,
		 "max_res_rd_atom %d", attr.max_res_rd_atom);
	XT_OK(ibv_query_port(l.p.b.id->verbs, 1, &port));
	XT_EQ(port.max_msg_sz, 0xffffffffLL);
	XT_OK(ibv_query_qp(l.p.b.qp, &qp_attr, IBV_QP_MAX_QP_RD_ATOMIC |
			   IBV_QP_MAX_DEST_RD_ATOMIC, &init));
	XT_EQ(qp_attr.max_rd_atomic, o.ord);
	XT_CHECK(qp_attr.max_dest_rd_atomic >= o.ird, "max_dest_rd_atomic %d",
		 qp_attr.max_dest_rd_atomic);
	lane_down(&l);
}

/* ---- arithmetic -------------------------------------------------------- */

static const struct {
	enum ibv_wr_opcode op;
	__u64 before;
	__u64 compare_add;
	__u64 swap;
	__u64 after;
} sums[] = {
	{ ADD, 0x10, 5, 0, 0x15 },
	{ ADD, ~0ULL, 1, 0, 0 },
	{ ADD, 0xffffffff, 1, 0, 0x100000000 },
	{ ADD, 0x123456789abcdef0, 0, 0, 0x123456789abcdef0 },
	{ ADD, 5, -3ULL, 0, 2 },
	{ ADD, 0x0102030405060708, 1, 0, 0x0102030405060709 },
	/* The swap operand of an addition means nothing. */
	{ ADD, 7, 8, ~0ULL, 15 },
	{ CAS, 1, 1, 2, 2 },
	{ CAS, 3, 1, 2, 3 },
	{ CAS, 0xaabbccddeeff0011, 0xaabbccddeeff0011, 0x1122334455667788,
	  0x1122334455667788 },
	{ CAS, 0xaabbccddeeff0011, 0xaabbccddeeff0010, 0x1122334455667788,
	  0xaabbccddeeff0011 },
	{ CAS, 0xaabbccddeeff0011, 0x2abbccddeeff0011, 0x1122334455667788,
	  0xaabbccddeeff0011 },
	{ CAS, 0, 0, ~0ULL, ~0ULL },
};

static void test_sums(void)
{
	struct lane l;
	size_t i;

	lane_up(&l);
	for (i = 0; i < XT_NELEM(sums); i++) {
		set_word(&l.target, 64, sums[i].before);
		set_word(&l.result, 64, 0x5555);
		one(&l, sums[i].op, 64, 64, sums[i].compare_add, sums[i].swap);
		XT_CHECK(word_at(&l.target, 64) == sums[i].after,
			 "row %zu: memory %#llx, not %#llx", i,
			 word_at(&l.target, 64), sums[i].after);
		XT_CHECK(word_at(&l.result, 64) == sums[i].before,
			 "row %zu: result %#llx, not %#llx", i,
			 word_at(&l.result, 64), sums[i].before);
	}
	only_word(&l.target, 64);
	only_word(&l.result, 64);
	lane_down(&l);
}

/* The target is aligned, the result may lie anywhere, also across pages. */
static void test_places(void)
{
	static const size_t from[] = { 0, 8, XT_PAGE - 8, XT_PAGE, ROOM - 8 };
	static const size_t to[] = { 0, 1, 7, XT_PAGE - 8, XT_PAGE - 5,
				     XT_PAGE - 1, ROOM - 8 };
	struct lane l;
	size_t i;
	size_t k;

	lane_up(&l);
	for (i = 0; i < XT_NELEM(from); i++) {
		for (k = 0; k < XT_NELEM(to); k++) {
			set_word(&l.target, from[i], 1000 * i + k);
			one(&l, ADD, from[i], to[k], k, 0);
			XT_EQ(word_at(&l.result, to[k]), 1000 * i + k);
			XT_EQ(word_at(&l.target, from[i]), 1000 * i + 2 * k);
			only_word(&l.target, from[i]);
			only_word(&l.result, to[k]);
			memset(l.target.p, MARK, ROOM);
			memset(l.result.p, MARK, ROOM);
		}
	}
	lane_down(&l);
}

/* An address of the application's choice names the same memory. */
static void test_iova(void)
{
	struct xt_buf named;
	struct lane l;
	__u64 base;
	size_t i;

	static const __u64 bases[] = { 0, XT_PAGE, 1ULL << 63,
				       -(__u64)ROOM - XT_PAGE };

	lane_up(&l);
	for (i = 0; i < XT_NELEM(bases); i++) {
		base = bases[i];
		named = l.target;
		named.p = (__u8 *)(uintptr_t)base;
		named.mr = XT_PTR(ibv_reg_mr_iova(l.p.a.pd, l.target.p, ROOM,
						  base, XT_ATOMIC));
		set_word(&l.target, XT_PAGE - 8, 40);
		{
			struct ibv_sge sge = xt_sge(&l.result, 0, WORD);
			struct ibv_send_wr wr = xt_atomic(ADD, i, &sge, &named,
							  XT_PAGE - 8, 2, 0);

			xt_send(&l.p.b, &wr);
			xt_wc_ok(l.p.b.scq, i);
		}
		XT_EQ(word_at(&l.result, 0), 40);
		XT_EQ(word_at(&l.target, XT_PAGE - 8), 42);
		only_word(&l.target, XT_PAGE - 8);
		XT_OK(ibv_dereg_mr(named.mr));
	}
	lane_down(&l);
}

/* ---- order ------------------------------------------------------------- */

/* Answered in the order of the requests: old, old, new. */
static void test_read_atomic_read(void)
{
	struct ibv_send_wr wr[4];
	struct ibv_sge sge[4];
	struct lane l;
	int round;
	int i;

	lane_up(&l);
	for (round = 0; round < 20; round++) {
		set_word(&l.target, 0, 100 + round);
		for (i = 0; i < 4; i++)
			sge[i] = xt_sge(&l.result, i * WORD, WORD);
		wr[0] = xt_wr_to(IBV_WR_RDMA_READ, 0, &sge[0], 1, &l.target, 0);
		wr[1] = xt_atomic(ADD, 1, &sge[1], &l.target, 0, 1000, 0);
		wr[2] = xt_wr_to(IBV_WR_RDMA_READ, 2, &sge[2], 1, &l.target, 0);
		wr[3] = xt_atomic(CAS, 3, &sge[3], &l.target, 0, 1100 + round,
				  7);
		for (i = 0; i < 3; i++)
			wr[i].next = &wr[i + 1];
		xt_send(&l.p.b, &wr[0]);
		for (i = 0; i < 4; i++)
			xt_wc_ok(l.p.b.scq, i);
		XT_EQ(word_at(&l.result, 0), 100 + round);
		XT_EQ(word_at(&l.result, 8), 100 + round);
		XT_EQ(word_at(&l.result, 16), 1100 + round);
		XT_EQ(word_at(&l.result, 24), 1100 + round);
		XT_EQ(word_at(&l.target, 0), 7);
	}
	lane_down(&l);
}

/* An Atomic returns data of Writes before it; a Send after it arrives later. */
static void test_among_writes(void)
{
	struct ibv_send_wr wr[3];
	struct ibv_sge sge[3];
	struct lane l;
	__u64 round;

	lane_up(&l);
	for (round = 1; round <= 20; round++) {
		set_word(&l.result, 0, round << 32);
		set_word(&l.result, 8, 0);
		sge[0] = xt_sge(&l.result, 0, WORD);
		sge[1] = xt_sge(&l.result, 8, WORD);
		wr[0] = xt_wr_to(IBV_WR_RDMA_WRITE, 0, &sge[0], 1, &l.target,
				 8);
		wr[1] = xt_atomic(ADD, 1, &sge[1], &l.target, 8, round, 0);
		wr[2] = xt_wr(IBV_WR_SEND, 2, NULL, 0);
		wr[2].send_flags |= IBV_SEND_FENCE;
		wr[0].next = &wr[1];
		wr[1].next = &wr[2];
		xt_recvs(&l.p.a, 3, 1);
		xt_send(&l.p.b, &wr[0]);
		xt_wc_ok(l.p.a.rcq, 3);
		XT_EQ(word_at(&l.target, 8), (round << 32) + round);
		xt_wc_ok(l.p.b.scq, 0);
		xt_wc_ok(l.p.b.scq, 1);
		xt_wc_ok(l.p.b.scq, 2);
		XT_EQ(word_at(&l.result, 8), round << 32);
	}
	lane_down(&l);
}

#define DEPTH		48U

/* Each addition returns the sum of those before it. */
static void pipeline(__u8 ird, __u8 ord, unsigned int rounds)
{
	struct xt_opts o = XT_OPTS;
	struct ibv_send_wr wr[DEPTH];
	struct ibv_sge sge[DEPTH];
	struct lane l;
	__u64 sum = 0;
	unsigned int round;
	unsigned int i;

	o.ird = ird;
	o.ord = ord;
	o.send_wr = DEPTH;
	lane_up_with(&l, &o, XT_ATOMIC);
	set_word(&l.target, 0, 0);
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < DEPTH; i++) {
			sge[i] = xt_sge(&l.result, i * WORD, WORD);
			wr[i] = xt_atomic(ADD, i, &sge[i], &l.target, 0, i + 1,
					  0);
			wr[i].send_flags = i % 3 ? 0 : IBV_SEND_SIGNALED;
			wr[i].next = i + 1 < DEPTH ? &wr[i + 1] : NULL;
		}
		wr[DEPTH - 1].send_flags = IBV_SEND_SIGNALED;
		xt_send(&l.p.b, &wr[0]);
		for (i = 0; i < DEPTH; i++)
			if (wr[i].send_flags)
				xt_wc_ok(l.p.b.scq, i);
		for (i = 0; i < DEPTH; i++) {
			XT_EQ(word_at(&l.result, i * WORD), sum);
			sum += i + 1;
		}
		XT_EQ(word_at(&l.target, 0), sum);
	}
	only_word(&l.target, 0);
	lane_down(&l);
}

static void test_pipeline(void)
{
	pipeline(1, 1, 4);
	pipeline(4, 4, 4);
	pipeline(2, 16, 4);
	pipeline(32, 32, 4);
}

/* Reads and atomics share queue, slots and message numbers. */
static void test_shared_slots(void)
{
	struct xt_opts o = XT_OPTS;
	struct ibv_send_wr wr[DEPTH];
	struct ibv_sge sge[DEPTH];
	struct lane l;
	__u64 want = 5;
	unsigned int round;
	unsigned int i;

	o.ird = 2;
	o.ord = 2;
	o.send_wr = DEPTH;
	lane_up_with(&l, &o, XT_ATOMIC);
	for (round = 0; round < 4; round++) {
		set_word(&l.target, 0, want);
		for (i = 0; i < DEPTH; i++) {
			sge[i] = xt_sge(&l.result, i * WORD, WORD);
			wr[i] = i % 3 == round % 3 ?
				xt_wr_to(IBV_WR_RDMA_READ, i, &sge[i], 1,
					 &l.target, 0) :
				xt_atomic(ADD, i, &sge[i], &l.target, 0, i, 0);
			wr[i].next = i + 1 < DEPTH ? &wr[i + 1] : NULL;
		}
		xt_send(&l.p.b, &wr[0]);
		for (i = 0; i < DEPTH; i++)
			xt_wc_ok(l.p.b.scq, i);
		for (i = 0; i < DEPTH; i++) {
			XT_EQ(word_at(&l.result, i * WORD), want);
			if (wr[i].opcode == ADD)
				want += i;
		}
	}
	lane_down(&l);
}

/* ---- contention -------------------------------------------------------- */

#define CONNECTIONS	4
#define LOCALS		2
#define WINDOW		16U

/* A thread that adds to the common counter, and the values it received */
struct adder {
	struct xt_end *e;
	struct xt_buf result;
	struct xt_buf target;
	__u64 *word;
	__u64 *seen;
	unsigned int n;
};

static void add_one(struct adder *w, unsigned int i)
{
	struct ibv_sge sge = xt_sge(&w->result, i % WINDOW * WORD, WORD);
	struct ibv_send_wr wr = xt_atomic(ADD, i, &sge, &w->target, 0, 1, 0);
	int ret = xt_try_send(w->e, &wr);

	XT_CHECK(!ret, "post: %s", strerror(ret));
}

static void *add_remote(void *arg)
{
	struct adder *w = arg;
	unsigned int posted = 0;
	unsigned int i;
	struct ibv_wc wc;

	for (i = 0; i < w->n; i++) {
		for (; posted < w->n && posted - i < WINDOW; posted++)
			add_one(w, posted);
		xt_do_wait(w->e->scq, &wc);
		XT_CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == i,
			 "%s of %llu, not %u", xt_wc_name(wc.status),
			 (unsigned long long)wc.wr_id, i);
		w->seen[i] = word_at(&w->result, i % WINDOW * WORD);
	}
	return NULL;
}

static void *add_local(void *arg)
{
	struct adder *w = arg;
	unsigned int i;

	for (i = 0; i < w->n; i++)
		w->seen[i] = __atomic_fetch_add(w->word, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Registers memory of another end at this end, too. */
static struct xt_buf region_on(struct xt_end *e, const struct xt_buf *b)
{
	struct xt_buf view = *b;

	view.mr = XT_PTR(ibv_reg_mr(e->pd, b->p, b->len, XT_ATOMIC));
	return view;
}

/*
 * Atomics on several connections in both directions, that is, through two
 * devices, and CPU instructions add to one counter. No update is lost, and no
 * two adders get the same value.
 */
static void test_contention(void)
{
	struct adder adders[2 * CONNECTIONS + LOCALS] = {};
	pthread_t threads[XT_NELEM(adders)];
	struct xt_pair p[CONNECTIONS];
	unsigned int each = xt_count(400);
	struct xt_buf counter = {};
	__u64 total = each * XT_NELEM(adders);
	bool *seen = XT_PTR(calloc(total, sizeof(*seen)));
	struct adder *w;
	unsigned int i;
	size_t k;

	for (k = 0; k < CONNECTIONS; k++)
		xt_pair(&p[k], NULL, NULL);
	counter = xt_buf(&p[0].a, XT_PAGE, XT_ATOMIC);
	for (k = 0; k < XT_NELEM(adders); k++) {
		w = &adders[k];
		w->n = each;
		w->seen = XT_PTR(calloc(each, sizeof(*w->seen)));
		w->word = (__u64 *)counter.p;
		if (k >= 2 * CONNECTIONS)
			continue;
		w->e = k & 1 ? &p[k / 2].a : &p[k / 2].b;
		w->result = xt_buf(w->e, WINDOW * WORD, XT_LOCAL);
		w->target = region_on(k & 1 ? &p[k / 2].b : &p[k / 2].a,
				      &counter);
	}
	for (k = 0; k < XT_NELEM(adders); k++)
		XT_OK(pthread_create(&threads[k], NULL, adders[k].e ?
				     add_remote : add_local, &adders[k]));
	for (k = 0; k < XT_NELEM(adders); k++)
		XT_OK(pthread_join(threads[k], NULL));

	XT_EQ(word_at(&counter, 0), total);
	for (k = 0; k < XT_NELEM(adders); k++)
		for (i = 0; i < each; i++) {
			__u64 v = adders[k].seen[i];

			XT_CHECK(v < total && !seen[v],
				 "adder %zu saw %llu %s", k, v,
				 v < total ? "again" : "of nowhere");
			seen[v] = true;
		}
	XT_ALL(counter.p + WORD, XT_PAGE - WORD, 0);
	XT_GUARDS(&counter);
}

/* A thread that changes values under a lock, which is a word set by CmpSwap */
struct locker {
	struct xt_end *e;
	struct xt_buf area;
	struct xt_buf target;
	__u64 id;
	unsigned int n;
};

enum { LOCK_AT = 0, VALUE_AT = 64 };

static __u64 locker_do(struct locker *w, struct ibv_send_wr *wr)
{
	struct ibv_wc wc;
	int ret = xt_try_send(w->e, wr);

	XT_CHECK(!ret, "post: %s", strerror(ret));
	xt_do_wait(w->e->scq, &wc);
	XT_CHECK(wc.status == IBV_WC_SUCCESS, "%s", xt_wc_name(wc.status));
	return word_at(&w->area, 0);
}

static __u64 locker_cas(struct locker *w, __u64 compare, __u64 swap)
{
	struct ibv_sge sge = xt_sge(&w->area, 0, WORD);
	struct ibv_send_wr wr = xt_atomic(CAS, 1, &sge, &w->target, LOCK_AT,
					  compare, swap);

	return locker_do(w, &wr);
}

static void *lock_and_add(void *arg)
{
	struct locker *w = arg;
	struct ibv_send_wr wr;
	struct ibv_sge sge = xt_sge(&w->area, 0, WORD);
	unsigned int i;

	for (i = 0; i < w->n; i++) {
		while (locker_cas(w, 0, w->id))
			;
		wr = xt_wr_to(IBV_WR_RDMA_READ, 2, &sge, 1, &w->target,
			      VALUE_AT);
		set_word(&w->area, 0, locker_do(w, &wr) + 1);
		wr = xt_wr_to(IBV_WR_RDMA_WRITE, 3, &sge, 1, &w->target,
			      VALUE_AT);
		locker_do(w, &wr);
		XT_EQ(locker_cas(w, w->id, 0), w->id);
	}
	return NULL;
}

static void test_lock(void)
{
	struct locker lockers[3] = {};
	pthread_t threads[XT_NELEM(lockers)];
	struct xt_pair p[XT_NELEM(lockers)];
	unsigned int each = xt_count(30);
	struct xt_buf shared = {};
	size_t k;

	for (k = 0; k < XT_NELEM(lockers); k++)
		xt_pair(&p[k], NULL, NULL);
	shared = xt_buf(&p[0].a, XT_PAGE, XT_ATOMIC);
	for (k = 0; k < XT_NELEM(lockers); k++) {
		lockers[k].e = &p[k].b;
		lockers[k].area = xt_buf(&p[k].b, WORD, XT_LOCAL);
		lockers[k].target = region_on(&p[k].a, &shared);
		lockers[k].id = k + 1;
		lockers[k].n = each;
	}
	for (k = 0; k < XT_NELEM(lockers); k++)
		XT_OK(pthread_create(&threads[k], NULL, lock_and_add,
				     &lockers[k]));
	for (k = 0; k < XT_NELEM(lockers); k++)
		XT_OK(pthread_join(threads[k], NULL));
	XT_EQ(word_at(&shared, VALUE_AT), each * XT_NELEM(lockers));
	XT_EQ(word_at(&shared, LOCK_AT), 0);
	XT_GUARDS(&shared);
}

/* ---- refused by the peer ----------------------------------------------- */

#define RECVS		2

static void in_error(struct xt_end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	XT_OK(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init));
	XT_EQ(attr.qp_state, IBV_QPS_ERR);
}

/* A request that is refused, and the errors at both ends */
struct refusal {
	enum ibv_wr_opcode op;
	__u64 addr;
	__u32 rkey;
	enum ibv_wc_status status;
	unsigned int code;
	enum ibv_event_type event;
};

static void refused(struct lane *l, const struct refusal *r)
{
	struct ibv_sge sge = xt_sge(&l->result, 0, WORD);
	struct ibv_send_wr next = xt_wr(IBV_WR_SEND, AFTER, NULL, 0);
	struct ibv_send_wr wr = xt_wr(r->op, BAD, &sge, 1);
	struct ibv_wc wc;

	xt_recvs(&l->p.a, 100, RECVS);
	wr.wr.atomic.remote_addr = r->addr;
	wr.wr.atomic.rkey = r->rkey;
	/* If executed, it would match, and change every byte. */
	wr.wr.atomic.compare_add = 0x3c3c3c3c3c3c3c3c;
	wr.wr.atomic.swap = 0x1111111111111111;
	/* The Send waits for the Atomic because of its fence. */
	next.send_flags |= IBV_SEND_FENCE;
	wr.next = &next;
	xt_send(&l->p.b, &wr);
	wc = xt_wc(l->p.b.scq, BAD, r->status);
	XT_CHECK(wc.vendor_err == r->code, "Terminate code %#06x, not %#06x",
		 wc.vendor_err, r->code);
	xt_wc(l->p.b.scq, AFTER, IBV_WC_WR_FLUSH_ERR);
	xt_async(&l->p.a, r->event);
	xt_async(&l->p.b, IBV_EVENT_QP_FATAL);
	xt_expect(&l->p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_expect(&l->p.b, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_flushed(l->p.a.rcq, 100, RECVS);
	in_error(&l->p.a);
	in_error(&l->p.b);
	XT_ALL(l->result.p, ROOM, MARK);
	XT_ALL(l->target.p, ROOM, MARK);
	XT_GUARDS(&l->result);
	XT_GUARDS(&l->target);
	xt_buf_free(&l->result);
	if (l->target.mr)
		xt_buf_free(&l->target);
	xt_close(&l->p.a);
	xt_close(&l->p.b);
}

static struct refusal refusal_at(struct lane *l, __u64 off, unsigned int code)
{
	struct refusal r = {
		.op = off & 8 ? CAS : ADD,
		.addr = (uintptr_t)l->target.p + off,
		.rkey = l->target.mr->rkey,
		.status = IBV_WC_REM_ACCESS_ERR,
		.code = code,
		.event = IBV_EVENT_QP_ACCESS_ERR,
	};

	return r;
}

static void test_unaligned(void)
{
	static const size_t offs[] = { 1, 4, 15, XT_PAGE - 4 };
	struct refusal r;
	struct lane l;
	size_t i;

	for (i = 0; i < XT_NELEM(offs); i++) {
		lane_up(&l);
		r = refusal_at(&l, offs[i], 0x0207);
		r.status = IBV_WC_REM_INV_REQ_ERR;
		r.event = IBV_EVENT_QP_REQ_ERR;
		refused(&l, &r);
	}
}

static void test_without_right(void)
{
	/* The last region has no local write access either. */
	static const int access[] = {
		XT_REMOTE, XT_LOCAL, XT_LOCAL | IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_REMOTE_READ, 0,
	};
	struct refusal r;
	struct lane l;
	size_t i;

	for (i = 0; i < XT_NELEM(access); i++) {
		lane_up_with(&l, NULL, access[i]);
		r = refusal_at(&l, 8 * (i & 1), 0x0102);
		refused(&l, &r);
	}
}

static void test_only_atomic(void)
{
	struct lane l;

	/* The right to atomics alone is enough for them. */
	lane_up_with(&l, NULL, XT_LOCAL | IBV_ACCESS_REMOTE_ATOMIC);
	set_word(&l.target, 16, 6);
	one(&l, ADD, 16, 0, 1, 0);
	one(&l, CAS, 16, 0, 7, 9);
	XT_EQ(word_at(&l.target, 16), 9);
	lane_down(&l);
	/* Remote atomic access needs local write access. */
	lane_up(&l);
	XT_CHECK(!ibv_reg_mr(l.p.a.pd, l.target.p, ROOM,
			     IBV_ACCESS_REMOTE_ATOMIC),
		 "atomics without local write were granted");
	lane_down(&l);
}

static void test_bad_key(void)
{
	static const __u32 flips[] = { 1, 0x100, 0x80000000 };
	struct refusal r;
	struct lane l;
	size_t i;

	for (i = 0; i < XT_NELEM(flips); i++) {
		lane_up(&l);
		r = refusal_at(&l, 8 * (i & 1), 0x0100);
		r.rkey ^= flips[i];
		refused(&l, &r);
	}
	lane_up(&l);
	r = refusal_at(&l, 0, 0x0100);
	XT_OK(ibv_dereg_mr(l.target.mr));
	l.target.mr = NULL;
	refused(&l, &r);
}

static void test_outside(void)
{
	static const struct {
		__u64 off;
		unsigned int code;
	} outside[] = {
		{ ROOM, 0x0101 }, { -8ULL, 0x0101 }, { ROOM - 4, 0x0101 },
		{ 1ULL << 40, 0x0101 },
	};
	struct refusal r;
	struct lane l;
	size_t i;

	for (i = 0; i < XT_NELEM(outside); i++) {
		lane_up(&l);
		r = refusal_at(&l, outside[i].off, outside[i].code);
		refused(&l, &r);
	}
	lane_up(&l);
	r = refusal_at(&l, 0, 0x0104);
	r.addr = -4ULL;
	refused(&l, &r);
}

static void test_other_pd(void)
{
	struct xt_pair other;
	struct refusal r;
	struct xt_buf b;
	struct lane l;

	xt_pair(&other, NULL, NULL);
	b = xt_buf(&other.a, XT_PAGE, XT_ATOMIC);
	lane_up(&l);
	r = refusal_at(&l, 0, 0x0103);
	r.addr = (uintptr_t)b.p;
	r.rkey = b.mr->rkey;
	refused(&l, &r);
	XT_ALL(b.p, XT_PAGE, 0);
	xt_buf_free(&b);
	/* The connection to which the region belongs is not affected. */
	xt_hang_up(&other, &other.b);
}

/* Requests before the refused one are answered, those behind it flushed. */
static void test_refused_in_line(void)
{
	struct ibv_send_wr wr[8];
	struct ibv_sge sge[8];
	struct ibv_wc wc;
	struct lane l;
	__u64 i;

	lane_up(&l);
	set_word(&l.target, 0, 0);
	for (i = 0; i < 8; i++) {
		sge[i] = xt_sge(&l.result, i * WORD, WORD);
		wr[i] = xt_atomic(ADD, i, &sge[i], &l.target, i == 3 ? 4 : 0, 1,
				  0);
		wr[i].next = i < 7 ? &wr[i + 1] : NULL;
	}
	xt_send(&l.p.b, &wr[0]);
	for (i = 0; i < 3; i++) {
		xt_wc_ok(l.p.b.scq, i);
		XT_EQ(word_at(&l.result, i * WORD), i);
	}
	wc = xt_wc(l.p.b.scq, 3, IBV_WC_REM_INV_REQ_ERR);
	XT_EQ(wc.vendor_err, 0x0207);
	xt_flushed(l.p.b.scq, 4, 4);
	XT_EQ(word_at(&l.target, 0), 3);
	only_word(&l.target, 0);
	XT_ALL(l.result.p + 3 * WORD, ROOM - 3 * WORD, MARK);
}

/* ---- refused by the own device ----------------------------------------- */

static void bad_local(int access, __u32 flip, size_t off)
{
	struct ibv_send_wr next = xt_wr(IBV_WR_SEND, AFTER, NULL, 0);
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct xt_buf into;
	struct lane l;

	lane_up(&l);
	into = xt_buf(&l.p.b, XT_PAGE, access);
	sge = xt_sge(&into, off, WORD);
	sge.lkey ^= flip;
	wr = xt_atomic(ADD, BAD, &sge, &l.target, 0, 1, 0);
	wr.next = &next;
	xt_send(&l.p.b, &wr);
	xt_wc(l.p.b.scq, BAD, IBV_WC_LOC_PROT_ERR);
	xt_wc(l.p.b.scq, AFTER, IBV_WC_WR_FLUSH_ERR);
	xt_expect(&l.p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	/* The request was not sent, so the peer's memory is unchanged. */
	XT_ALL(l.target.p, ROOM, MARK);
	XT_ALL(into.p, XT_PAGE, 0);
	XT_GUARDS(&into);
}

static void test_bad_local(void)
{
	bad_local(XT_LOCAL, 0x100, 0);
	bad_local(0, 0, 0);
	bad_local(IBV_ACCESS_REMOTE_READ, 0, 0);
	bad_local(XT_LOCAL, 0, XT_PAGE - 7);
	bad_local(XT_LOCAL, 0, -1UL);
}

static void test_bad_posts(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge[2];
	struct lane l;
	int i;

	lane_up(&l);
	for (i = 0; i < 6; i++) {
		sge[0] = xt_sge(&l.result, 0, WORD);
		sge[1] = xt_sge(&l.result, 8, 0);
		wr = xt_atomic(i & 1 ? ADD : CAS, BAD, sge, &l.target, 0,
			       0x3c3c3c3c3c3c3c3c, 1);
		if (i == 0)
			sge[0].length = 4;
		else if (i == 1)
			sge[0].length = 16;
		else if (i == 2)
			wr.num_sge = 0;
		else if (i == 3)
			wr.num_sge = 2;
		else if (i == 4)
			wr.send_flags |= IBV_SEND_INLINE;
		else
			sge[0].length = 0;
		XT_CHECK(xt_try_send(&l.p.b, &wr), "post %d was accepted", i);
	}
	XT_ALL(l.target.p, ROOM, MARK);
	/* Nothing was posted, so the connection still works. */
	set_word(&l.target, 0, 1);
	one(&l, ADD, 0, 0, 1, 0);
	XT_EQ(word_at(&l.target, 0), 2);
	lane_down(&l);
}

static const struct xt_case cases[] = {
	{ "attributes", "the device says what it can do", test_attributes },
	{ "sums", "what is computed and what is returned", test_sums },
	{ "places", "target and result at every kind of place", test_places },
	{ "iova", "regions with addresses of their own", test_iova },
	{ "read-atomic-read", "answers come in the order of the requests",
	  test_read_atomic_read },
	{ "among-writes", "an atomic is in order with Writes and Sends",
	  test_among_writes },
	{ "pipeline", "each addition returns the result of the one before",
	  test_pipeline },
	{ "shared-slots", "Reads and atomics share what may be outstanding",
	  test_shared_slots },
	{ "contention", "connections, devices and processors lose no update",
	  test_contention },
	{ "lock", "a lock of CmpSwap protects what it should", test_lock },
	{ "unaligned", "a target that is not aligned", test_unaligned },
	{ "right", "regions without the right", test_without_right },
	{ "only-right", "regions with no other right", test_only_atomic },
	{ "key", "wrong and revoked keys", test_bad_key },
	{ "outside", "targets outside of the region", test_outside },
	{ "pd", "a target in another protection domain", test_other_pd },
	{ "in-line", "a refused one among others", test_refused_in_line },
	{ "local", "results that have nowhere to go", test_bad_local },
	{ "posts", "malformed requests are not accepted", test_bad_posts },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
