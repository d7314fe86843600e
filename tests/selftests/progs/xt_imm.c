// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMA Write with immediate data (RFC 7306): the completion at the receiver,
 * the data that is in place by then, and the receives that are taken.
 */
#include "xt.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ROOM		(20 * XT_PAGE)
#define MARK		0x3c
#define WRITE_IMM	IBV_WR_RDMA_WRITE_WITH_IMM

/* A connection; b writes into target, which belongs to a. */
struct lane {
	struct xt_pair p;
	struct xt_buf src;
	struct xt_buf target;
};

static void lane_up(struct lane *l, const struct xt_opts *oa,
		    const struct xt_opts *ob)
{
	xt_pair(&l->p, oa, ob);
	l->src = xt_buf(&l->p.b, ROOM, XT_LOCAL);
	l->target = xt_buf(&l->p.a, ROOM, XT_REMOTE);
	memset(l->target.p, MARK, ROOM);
}

static void lane_down(struct lane *l)
{
	XT_GUARDS(&l->src);
	XT_GUARDS(&l->target);
	xt_buf_free(&l->src);
	xt_buf_free(&l->target);
	xt_hang_up(&l->p, &l->p.b);
}

static struct ibv_send_wr imm_wr(struct lane *l, __u64 wr_id,
				 struct ibv_sge *sge, int n, size_t off,
				 __u32 imm)
{
	struct ibv_send_wr wr = xt_wr_to(WRITE_IMM, wr_id, sge, n, &l->target,
					 off);

	wr.imm_data = imm;
	return wr;
}

static void check_imm(const struct ibv_wc *wc, const struct xt_end *e,
		      __u32 imm, size_t len)
{
	XT_EQ(wc->opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	XT_EQ(wc->wc_flags, IBV_WC_WITH_IMM);
	XT_EQ(wc->imm_data, imm);
	XT_EQ(wc->byte_len, len);
	XT_EQ(wc->qp_num, e->qp->qp_num);
}

static void check_recv(const struct ibv_wc *wc, size_t len)
{
	XT_EQ(wc->opcode, IBV_WC_RECV);
	XT_EQ(wc->wc_flags, 0);
	XT_EQ(wc->byte_len, len);
}

static void empty(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	XT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
}

/* Writes LEN bytes to OFF with immediate; the posted receive has wr_id RECV. */
static void one(struct lane *l, __u64 recv, size_t off, size_t len, __u32 imm)
{
	struct ibv_sge sge = xt_sge(&l->src, off, len);
	struct ibv_send_wr wr = imm_wr(l, recv, &sge, 1, off, imm);
	struct ibv_wc wc;

	memset(l->target.p, MARK, ROOM);
	xt_fill(l->src.p + off, len, recv);
	xt_send(&l->p.b, &wr);
	wc = xt_wc_ok(l->p.a.rcq, recv);
	check_imm(&wc, &l->p.a, imm, len);
	XT_SAME(l->target.p + off, len, recv);
	XT_ALL(l->target.p, off, MARK);
	XT_ALL(l->target.p + off + len, ROOM - off - len, MARK);
	wc = xt_wc_ok(l->p.b.scq, recv);
	XT_EQ(wc.opcode, IBV_WC_RDMA_WRITE);
	empty(l->p.b.scq);
	empty(l->p.a.rcq);
}

/* ---- completions at the receiver --------------------------------------- */

static void test_sizes(void)
{
	static const size_t sizes[] = {
		0, 1, 7, 8, 9, 1427, 1428, 1429, 1433, 1434, 1435, 2868, 4096,
		65537,
	};
	struct lane l;
	size_t i;

	lane_up(&l, NULL, NULL);
	for (i = 0; i < XT_NELEM(sizes); i++) {
		xt_recvs(&l.p.a, 100 + i, 1);
		one(&l, 100 + i, 64 + i, sizes[i], i * 0x11111111);
	}
	lane_down(&l);
}

static void test_values(void)
{
	static const __u32 values[] = {
		0, 1, 0x80000000, 0x01020304, 0x04030201, 0xffffffff,
	};
	struct lane l;
	size_t i;

	lane_up(&l, NULL, NULL);
	for (i = 0; i < XT_NELEM(values); i++) {
		xt_recvs(&l.p.a, i, 1);
		one(&l, i, 100, 16, values[i]);
	}
	lane_down(&l);
}

static void plain_write(struct lane *l, size_t len)
{
	struct ibv_sge sge = xt_sge(&l->src, 0, len);
	struct ibv_send_wr wr = xt_wr_to(IBV_WR_RDMA_WRITE, 7, &sge, 1,
					 &l->target, 0);

	xt_send(&l->p.b, &wr);
	xt_wc_ok(l->p.b.scq, 7);
}

static void plain_send(struct lane *l, __u64 recv, size_t len)
{
	struct ibv_sge sge = xt_sge(&l->src, 0, len);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 8, &sge, 1);
	struct ibv_wc wc;

	xt_recvs(&l->p.a, recv, 1);
	xt_send(&l->p.b, &wr);
	wc = xt_wc_ok(l->p.a.rcq, recv);
	check_recv(&wc, len);
	xt_wc_ok(l->p.b.scq, 8);
}

/* The completion has the length of its Write, not of Writes before it. */
static void test_length(void)
{
	struct lane l;

	lane_up(&l, NULL, NULL);
	plain_write(&l, 5000);
	xt_recvs(&l.p.a, 1, 1);
	one(&l, 1, 0, 0, 1);
	plain_write(&l, 3000);
	plain_write(&l, 100);
	xt_recvs(&l.p.a, 2, 1);
	one(&l, 2, 0, 50, 2);
	plain_write(&l, 200);
	plain_send(&l, 3, 20);
	xt_recvs(&l.p.a, 4, 1);
	one(&l, 4, 0, 0, 4);
	plain_send(&l, 5, 0);
	xt_recvs(&l.p.a, 6, 1);
	one(&l, 6, 0, 9000, 6);
	lane_down(&l);
}

/* ---- receives that are taken ------------------------------------------- */

/*
 * A Write with immediate takes exactly one receive, also one without buffers or
 * with buffers that are too small or invalid. The buffers are not touched.
 */
static void test_receives(void)
{
	struct xt_buf into;
	struct ibv_sge sge;
	struct lane l;

	lane_up(&l, NULL, NULL);
	into = xt_buf(&l.p.a, XT_PAGE, XT_LOCAL);
	memset(into.p, MARK, XT_PAGE);
	xt_recv(&l.p.a, 1, NULL, 0);
	sge = xt_sge(&into, 0, XT_PAGE);
	xt_recv(&l.p.a, 2, &sge, 1);
	sge = xt_sge(&into, 8, 1);
	xt_recv(&l.p.a, 3, &sge, 1);
	sge.lkey ^= 0x100;
	xt_recv(&l.p.a, 4, &sge, 1);
	one(&l, 1, 16, 1000, 1);
	one(&l, 2, 16, 1000, 2);
	one(&l, 3, 16, 1000, 3);
	one(&l, 4, 16, 1000, 4);
	XT_ALL(into.p, XT_PAGE, MARK);
	XT_GUARDS(&into);
	/* Exactly four receives were taken: this Send takes the fifth. */
	plain_send(&l, 5, 30);
	xt_buf_free(&into);
	lane_down(&l);
}

static void test_srq(void)
{
	struct xt_opts shared = XT_OPTS;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct lane one_lane;
	struct lane two;
	int i;

	shared.srq_wr = 16;
	lane_up(&one_lane, &shared, NULL);
	shared.srq = one_lane.p.a.srq;
	shared.srq_wr = 0;
	shared.pd = one_lane.p.a.pd;
	shared.rcq = one_lane.p.a.rcq;
	lane_up(&two, &shared, NULL);

	xt_recvs(&one_lane.p.a, 0, 8);
	for (i = 0; i < 8; i++) {
		struct lane *l = i & 1 ? &two : &one_lane;
		struct ibv_send_wr wr;

		sge = xt_sge(&l->src, 0, 100 * i);
		wr = imm_wr(l, 50, &sge, 1, 0, 0x1000 + i);
		xt_fill(l->src.p, 100 * i, i);
		xt_send(&l->p.b, &wr);
		xt_wc_ok(l->p.b.scq, 50);
		wc = xt_wc_ok(one_lane.p.a.rcq, i);
		check_imm(&wc, &l->p.a, 0x1000 + i, 100 * i);
		XT_SAME(l->target.p, 100 * i, i);
	}
	empty(one_lane.p.a.rcq);
	/*
	 * Eight messages took eight receives; the next message takes the ninth.
	 */
	xt_recvs(&one_lane.p.a, 8, 1);
	one(&one_lane, 8, 0, 10, 99);
}

/* Completions that wake an armed queue */
static void test_solicited(void)
{
	struct ibv_send_wr wr;
	struct ibv_cq *which;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct lane l;
	void *context;

	lane_up(&l, NULL, NULL);
	xt_recvs(&l.p.a, 0, 2);
	XT_OK(ibv_req_notify_cq(l.p.a.rcq, 1));
	sge = xt_sge(&l.src, 0, 100);
	wr = imm_wr(&l, 10, &sge, 1, 0, 1);
	xt_send(&l.p.b, &wr);
	xt_spin(l.p.a.rcq, &wc);
	XT_EQ(wc.wr_id, 0);
	check_imm(&wc, &l.p.a, 1, 100);
	XT_CHECK(!xt_readable(l.p.a.rcq->channel->fd),
		 "an event for a message that is not solicited");
	wr = imm_wr(&l, 11, &sge, 1, 0, 2);
	wr.send_flags |= IBV_SEND_SOLICITED;
	xt_send(&l.p.b, &wr);
	XT_OK(ibv_get_cq_event(l.p.a.rcq->channel, &which, &context));
	ibv_ack_cq_events(which, 1);
	xt_spin(l.p.a.rcq, &wc);
	XT_EQ(wc.wr_id, 1);
	check_imm(&wc, &l.p.a, 2, 100);
	xt_wc_ok(l.p.b.scq, 10);
	xt_wc_ok(l.p.b.scq, 11);
	lane_down(&l);
}

static void test_unsignaled(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct lane l;
	int i;

	lane_up(&l, NULL, NULL);
	xt_recvs(&l.p.a, 0, 16);
	for (i = 0; i < 16; i++) {
		sge = xt_sge(&l.src, 0, i);
		wr = imm_wr(&l, i, &sge, 1, 0, i);
		wr.send_flags = i == 15 ? IBV_SEND_SIGNALED : 0;
		xt_send(&l.p.b, &wr);
	}
	xt_wc_ok(l.p.b.scq, 15);
	empty(l.p.b.scq);
	for (i = 0; i < 16; i++) {
		wc = xt_wc_ok(l.p.a.rcq, i);
		check_imm(&wc, &l.p.a, i, i);
	}
	lane_down(&l);
}

/* ---- sources of the data ----------------------------------------------- */

static void test_gather_inline(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge[2];
	__u8 data[32];
	struct ibv_wc wc;
	struct lane l;

	lane_up(&l, NULL, NULL);
	xt_recvs(&l.p.a, 0, 3);
	xt_fill(l.src.p, 6000, 1);
	sge[0] = xt_sge(&l.src, 3000, 3000);
	sge[1] = xt_sge(&l.src, 0, 3000);
	wr = imm_wr(&l, 20, sge, 2, 5, 1);
	xt_send(&l.p.b, &wr);
	xt_wc_ok(l.p.b.scq, 20);
	wc = xt_wc_ok(l.p.a.rcq, 0);
	check_imm(&wc, &l.p.a, 1, 6000);
	XT_CHECK(!memcmp(l.target.p + 5, l.src.p + 3000, 3000) &&
		 !memcmp(l.target.p + 3005, l.src.p, 3000), "wrong data");

	/* Inline data: no key, and overwritten as soon as it is posted. */
	xt_fill(data, sizeof(data), 2);
	sge[0] = (struct ibv_sge){ (uintptr_t)data, 20, 0xdead };
	sge[1] = (struct ibv_sge){ (uintptr_t)data + 20, 12, 0xbeef };
	wr = imm_wr(&l, 21, sge, 2, 7000, 2);
	wr.send_flags |= IBV_SEND_INLINE;
	xt_send(&l.p.b, &wr);
	memset(data, 0, sizeof(data));
	xt_wc_ok(l.p.b.scq, 21);
	wc = xt_wc_ok(l.p.a.rcq, 1);
	check_imm(&wc, &l.p.a, 2, sizeof(data));
	XT_SAME(l.target.p + 7000, sizeof(data), 2);

	/* Key and address of an empty Write are not checked. */
	wr = imm_wr(&l, 22, NULL, 0, 0, 3);
	wr.wr.rdma.rkey = 0;
	wr.wr.rdma.remote_addr = 0;
	xt_send(&l.p.b, &wr);
	xt_wc_ok(l.p.b.scq, 22);
	wc = xt_wc_ok(l.p.a.rcq, 2);
	check_imm(&wc, &l.p.a, 3, 0);
	lane_down(&l);
}

/* With a fence the Write carries the data of the Read before it. */
static void test_fence(void)
{
	struct ibv_send_wr read;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct lane l;
	__u64 i;

	lane_up(&l, NULL, NULL);
	for (i = 0; i < 10; i++) {
		sge = xt_sge(&l.src, 0, 8000);
		xt_fill(l.target.p, 8000, i);
		memset(l.src.p, 0, 8000);
		read = xt_wr_to(IBV_WR_RDMA_READ, 1, &sge, 1, &l.target, 0);
		wr = imm_wr(&l, 2, &sge, 1, 30000, i);
		wr.send_flags |= IBV_SEND_FENCE;
		read.next = &wr;
		xt_recvs(&l.p.a, 3, 1);
		xt_send(&l.p.b, &read);
		wc = xt_wc_ok(l.p.a.rcq, 3);
		check_imm(&wc, &l.p.a, i, 8000);
		XT_SAME(l.target.p + 30000, 8000, i);
		xt_wc_ok(l.p.b.scq, 1);
		xt_wc_ok(l.p.b.scq, 2);
	}
	lane_down(&l);
}

/* ---- order ------------------------------------------------------------- */

#define MIXED		60U
#define SLOT		3000UL

/*
 * Sends, Writes and Writes with immediate in a row: completions are in the
 * order of the posts, and at each completion all data before it is in place.
 */
static void test_mixed(void)
{
	struct xt_opts o = XT_OPTS;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct xt_buf src;
	struct xt_buf dst;
	struct ibv_wc wc;
	unsigned int k;
	unsigned int i;
	struct lane l;

	o.send_wr = MIXED;
	o.recv_wr = MIXED;
	lane_up(&l, &o, &o);
	src = xt_buf(&l.p.b, MIXED * SLOT, XT_LOCAL);
	dst = xt_buf(&l.p.a, MIXED * SLOT, XT_REMOTE);
	xt_fill(src.p, src.len, 5);
	xt_recvs(&l.p.a, 0, MIXED);
	for (i = 0; i < MIXED; i++) {
		size_t len = (i * 977 + 13) % SLOT;

		sge = xt_sge(&src, i * SLOT, len);
		wr = xt_wr_to(i % 3 ? WRITE_IMM : IBV_WR_RDMA_WRITE, i, &sge, 1,
			      &dst, i * SLOT);
		wr.imm_data = i;
		if (i % 5 == 4) {
			sge.length = i;
			wr = xt_wr(IBV_WR_SEND, i, &sge, 1);
		}
		xt_send(&l.p.b, &wr);
	}
	for (i = 0, k = 0; i < MIXED; i++) {
		size_t len = (i * 977 + 13) % SLOT;

		if (i % 5 != 4 && i % 3 == 0)
			continue;
		wc = xt_wc_ok(l.p.a.rcq, k++);
		if (i % 5 == 4) {
			check_recv(&wc, i);
			continue;
		}
		check_imm(&wc, &l.p.a, i, len);
		XT_CHECK(!memcmp(dst.p + i * SLOT, src.p + i * SLOT, len),
			 "the data of Write %u is not there", i);
		if ((i - 1) % 5 == 4 || (i - 1) % 3)
			continue;
		len = ((i - 1) * 977 + 13) % SLOT;
		XT_CHECK(!memcmp(dst.p + (i - 1) * SLOT,
				 src.p + (i - 1) * SLOT, len),
			 "the data of the Write before %u is not there", i);
	}
	empty(l.p.a.rcq);
	for (i = 0; i < MIXED; i++)
		xt_wc_ok(l.p.b.scq, i);
	XT_GUARDS(&dst);
	xt_buf_free(&src);
	xt_buf_free(&dst);
	lane_down(&l);
}

/* ---- memory is read while further Writes arrive ------------------------ */

#define EACH		(64UL << 10)

struct reader {
	struct ibv_cq *cq;
	struct xt_buf *dst;
	unsigned int n;
	atomic_uint seen;
};

static __u32 read_u32(const void *p)
{
	__u32 value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* Checks the last bytes of each Write as soon as its completion is there. */
static void *reader(void *arg)
{
	struct reader *r = arg;
	struct ibv_wc wc;
	unsigned int i;

	for (i = 0; i < r->n; i++) {
		while (!ibv_poll_cq(r->cq, 1, &wc))
			;
		XT_EQ(read_u32(r->dst->p + (i % 4 + 1) * EACH - 4), i);
		XT_EQ(wc.status, IBV_WC_SUCCESS);
		XT_EQ(wc.imm_data, htobe32(i));
		XT_EQ(wc.byte_len, EACH);
		atomic_store(&r->seen, i + 1);
	}
	return NULL;
}

static void test_placed_first(void)
{
	unsigned int n = xt_count(200);
	struct xt_opts o = XT_OPTS;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct xt_buf src;
	struct xt_buf dst;
	struct reader r;
	pthread_t thread;
	unsigned int i;
	__u32 value;
	struct lane l;

	o.recv_wr = n;
	lane_up(&l, &o, &o);
	src = xt_buf(&l.p.b, EACH, XT_LOCAL);
	dst = xt_buf(&l.p.a, 4 * EACH, XT_REMOTE);
	memset(dst.p, 0xff, dst.len);
	xt_recvs(&l.p.a, 0, n);
	r.cq = l.p.a.rcq;
	r.dst = &dst;
	r.n = n;
	atomic_init(&r.seen, 0);
	XT_OK(pthread_create(&thread, NULL, reader, &r));
	for (i = 0; i < n; i++) {
		while (i >= atomic_load(&r.seen) + 4)
			sched_yield();
		value = i;
		memcpy(src.p + EACH - 4, &value, sizeof(value));
		sge = xt_sge(&src, 0, EACH);
		wr = xt_wr_to(WRITE_IMM, i, &sge, 1, &dst, i % 4 * EACH);
		wr.imm_data = htobe32(i);
		xt_send(&l.p.b, &wr);
		xt_wc_ok(l.p.b.scq, i);
	}
	XT_OK(pthread_join(thread, NULL));
	XT_GUARDS(&dst);
	xt_buf_free(&src);
	xt_buf_free(&dst);
	lane_down(&l);
}

/* Both directions at once; each receive is replaced when it was taken. */
static void test_both_ways(void)
{
	unsigned int n = xt_count(200);
	unsigned int posted[2] = {};
	unsigned int got[2] = {};
	unsigned int done[2] = {};
	struct xt_end *e[2];
	struct xt_buf src[2];
	struct xt_buf dst[2];
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct xt_pair p;
	int k;

	xt_pair(&p, NULL, NULL);
	e[0] = &p.a;
	e[1] = &p.b;
	for (k = 0; k < 2; k++) {
		src[k] = xt_buf(e[k], XT_PAGE, XT_LOCAL);
		dst[k] = xt_buf(e[k], XT_PAGE, XT_REMOTE);
		xt_fill(src[k].p, XT_PAGE, k);
		xt_recvs(e[k], 0, 32);
	}
	while (got[0] < n || got[1] < n || done[0] < n || done[1] < n) {
		for (k = 0; k < 2; k++) {
			/*
			 * Do not post more messages than the peer has receives.
			 */
			while (posted[k] < n && posted[k] < got[!k] + 16 &&
			       posted[k] < done[k] + 16) {
				sge = xt_sge(&src[k], 0, posted[k] % 2000);
				wr = xt_wr_to(WRITE_IMM, posted[k], &sge, 1,
					      &dst[!k], 0);
				wr.imm_data = posted[k]++;
				xt_send(e[k], &wr);
			}
			while (ibv_poll_cq(e[k]->scq, 1, &wc) == 1) {
				XT_EQ(wc.status, IBV_WC_SUCCESS);
				XT_EQ(wc.wr_id, done[k]++);
			}
			while (ibv_poll_cq(e[k]->rcq, 1, &wc) == 1) {
				XT_EQ(wc.status, IBV_WC_SUCCESS);
				check_imm(&wc, e[k], got[k], got[k] % 2000);
				got[k]++;
				xt_recvs(e[k], 0, 1);
			}
		}
	}
	for (k = 0; k < 2; k++) {
		XT_SAME(dst[k].p, (n - 1) % 2000, !k);
		XT_GUARDS(&dst[k]);
	}
}

/* ---- errors ------------------------------------------------------------ */

/* The message waits for a late receive; without any, the stream ends. */
static void test_late(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	struct lane l;

	lane_up(&l, NULL, NULL);
	sge = xt_sge(&l.src, 0, 500);
	xt_fill(l.src.p, 500, 3);
	wr = imm_wr(&l, 1, &sge, 1, 0, 77);
	xt_send(&l.p.b, &wr);
	xt_wc_ok(l.p.b.scq, 1);
	xt_recvs(&l.p.a, 2, 1);
	wc = xt_wc_ok(l.p.a.rcq, 2);
	check_imm(&wc, &l.p.a, 77, 500);
	XT_SAME(l.target.p, 500, 3);

	wr.wr_id = 3;
	xt_send(&l.p.b, &wr);
	xt_wait(l.p.b.scq, &wc);
	XT_EQ(wc.wr_id, 3);
	xt_async(&l.p.a, IBV_EVENT_QP_FATAL);
	xt_async(&l.p.b, IBV_EVENT_QP_FATAL);
	xt_expect(&l.p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_expect(&l.p.b, RDMA_CM_EVENT_DISCONNECTED, NULL);
	empty(l.p.a.rcq);
}

/* The Write is refused: no receive completes with an immediate. */
static void refused(int access, __u32 flip, size_t off)
{
	struct xt_buf target;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct lane l;

	lane_up(&l, NULL, NULL);
	target = xt_buf(&l.p.a, XT_PAGE, access);
	memset(target.p, MARK, XT_PAGE);
	xt_recvs(&l.p.a, 100, 2);
	sge = xt_sge(&l.src, 0, 1000);
	wr = xt_wr_to(WRITE_IMM, 1, &sge, 1, &target, off);
	wr.wr.rdma.rkey ^= flip;
	wr.imm_data = 5;
	xt_send(&l.p.b, &wr);
	xt_wait(l.p.b.scq, &wc);
	XT_EQ(wc.wr_id, 1);
	XT_CHECK(wc.status == IBV_WC_SUCCESS ||
		 wc.status == IBV_WC_REM_ACCESS_ERR ||
		 wc.status == IBV_WC_WR_FLUSH_ERR, "%s",
		 xt_wc_name(wc.status));
	xt_async(&l.p.a, IBV_EVENT_QP_ACCESS_ERR);
	xt_async(&l.p.b, IBV_EVENT_QP_FATAL);
	xt_expect(&l.p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_flushed(l.p.a.rcq, 100, 2);
	XT_ALL(target.p, XT_PAGE, MARK);
	XT_GUARDS(&target);
}

static void test_refused(void)
{
	refused(XT_REMOTE, 0x100, 0);
	refused(XT_LOCAL | IBV_ACCESS_REMOTE_READ, 0, 0);
	refused(IBV_ACCESS_REMOTE_READ, 0, 0);
	refused(0, 0, 0);
	refused(XT_REMOTE, 0, XT_PAGE - 999);
}

static void test_flush(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct lane l;

	lane_up(&l, NULL, NULL);
	xt_recvs(&l.p.b, 20, 1);
	XT_OK(rdma_disconnect(l.p.b.id));
	xt_expect(&l.p.b, RDMA_CM_EVENT_DISCONNECTED, NULL);
	sge = xt_sge(&l.src, 0, 100);
	wr = imm_wr(&l, 1, &sge, 1, 0, 9);
	xt_send(&l.p.b, &wr);
	xt_flushed(l.p.b.scq, 1, 1);
	xt_flushed(l.p.b.rcq, 20, 1);
	XT_ALL(l.target.p, ROOM, MARK);
}

static void send_with_imm(struct xt_end *from, struct xt_end *to,
			  struct xt_buf *src, int len)
{
	struct ibv_sge sge = xt_sge(src, 0, len);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND_WITH_IMM, len, &sge, 1);
	struct ibv_wc wc;

	wr.imm_data = htonl(len + 7);
	xt_send(from, &wr);
	wc = xt_wc_ok(to->rcq, len);
	XT_EQ(wc.byte_len, len);
	XT_CHECK(wc.wc_flags & IBV_WC_WITH_IMM, "no immediate data");
	XT_EQ(ntohl(wc.imm_data), len + 7);
	xt_wc_ok(from->scq, len);
}

/* Sends with immediate in both directions, also as the first message */
static void test_send_with_imm(void)
{
	struct lane l;
	int len;

	lane_up(&l, NULL, NULL);
	for (len = 0; len <= 60; len += 30) {
		xt_recvs(&l.p.a, len, 1);
		send_with_imm(&l.p.b, &l.p.a, &l.src, len);
		xt_recvs(&l.p.b, len, 1);
		send_with_imm(&l.p.a, &l.p.b, &l.target, len);
	}
	lane_down(&l);
}

/*
 * The peer's policy does not announce the capability: the request fails, also
 * if this end may have no Read outstanding.
 */
static void send_refused(int ord)
{
	struct xt_opts opts = XT_OPTS;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct lane l;

	opts.no_hello = true;
	opts.ord = ord;
	lane_up(&l, &opts, &opts);
	xt_recvs(&l.p.a, 1, 1);
	sge = xt_sge(&l.src, 0, 8);
	wr = xt_wr(IBV_WR_SEND_WITH_IMM, 2, &sge, 1);
	xt_send(&l.p.b, &wr);
	xt_wait(l.p.b.scq, &wc);
	XT_EQ(wc.wr_id, 2);
	XT_EQ(wc.status, IBV_WC_LOC_QP_OP_ERR);
	xt_async(&l.p.b, IBV_EVENT_QP_FATAL);
	xt_flushed(l.p.a.rcq, 1, 1);
}

static void test_send_refused(void)
{
	send_refused(4);
	send_refused(0);
}

static const struct xt_case cases[] = {
	{ "sizes", "Writes of all sizes with their immediate", test_sizes },
	{ "values", "immediate data arrives as it was", test_values },
	{ "length", "the length is that of its own Write", test_length },
	{ "receives", "one receive each, whose buffers stay untouched",
	  test_receives },
	{ "srq", "receives of a shared queue", test_srq },
	{ "solicited", "solicited if and only if asked for", test_solicited },
	{ "unsignaled", "one completion at most at the sender",
	  test_unsignaled },
	{ "gather-inline", "lists, inline data, and none",
	  test_gather_inline },
	{ "fence", "a fenced one carries what was read", test_fence },
	{ "mixed", "in order with Sends, behind all data before it",
	  test_mixed },
	{ "placed-first", "seen at once, and all of its data is there",
	  test_placed_first },
	{ "both-ways", "both ends at once", test_both_ways },
	{ "late", "a late receive is waited for, within bounds", test_late },
	{ "refused", "no immediate without its Write", test_refused },
	{ "flush", "flushed after the end", test_flush },
	{ "send", "Sends with immediate, as the first messages and later",
	  test_send_with_imm },
	{ "send-refused", "a Send with immediate fails without the capability",
	  test_send_refused },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
