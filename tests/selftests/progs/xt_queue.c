// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queues: the order and number of completions, fences, unsignalled work,
 * completion events, shared receive queues, depths, refused posts, and what
 * becomes of work requests when the queue pair is in error.
 */
#include "xt.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KIB		1024UL

/* Posts a Send without payload; flags may have IBV_SEND_SIGNALED. */
static void send_nothing(struct xt_end *e, __u64 wr_id, int flags)
{
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, wr_id, NULL, 0);

	wr.send_flags = flags;
	xt_send(e, &wr);
}

/* A round trip from b to a and back, without arming any queue. */
static void round_trip(struct xt_pair *p)
{
	struct ibv_wc wc;

	xt_recvs(&p->b, 0x700, 1);
	send_nothing(&p->a, 0x701, IBV_SEND_SIGNALED);
	xt_spin(p->b.rcq, &wc);
	XT_EQ(wc.wr_id, 0x700);
	XT_EQ(wc.status, IBV_WC_SUCCESS);
	xt_spin(p->a.scq, &wc);
	XT_EQ(wc.wr_id, 0x701);
}

static void empty(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	XT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
}

/* ---- completions ------------------------------------------------------- */

static void test_unsignaled(void)
{
	struct xt_pair p;
	int round;
	int i;

	/*
	 * Post more requests than the queue has slots: a signalled completion
	 * frees the slots of the unsignalled requests before it.
	 */
	xt_pair(&p, NULL, NULL);
	for (round = 0; round < 20; round++) {
		xt_recvs(&p.a, 0, 32);
		for (i = 0; i < 31; i++)
			send_nothing(&p.b, i, 0);
		send_nothing(&p.b, 31, IBV_SEND_SIGNALED);
		xt_wc_ok(p.b.scq, 31);
		for (i = 0; i < 32; i++)
			XT_EQ(xt_wc_ok(p.a.rcq, i).byte_len, 0);
		empty(p.b.scq);
	}
	xt_hang_up(&p, &p.a);
}

static void test_signal_all(void)
{
	struct xt_opts o = XT_OPTS;
	struct xt_pair p;
	int i;

	o.sig_all = true;
	xt_pair(&p, &o, &o);
	xt_recvs(&p.a, 0, 16);
	for (i = 0; i < 16; i++)
		send_nothing(&p.b, i, 0);
	for (i = 0; i < 16; i++)
		xt_wc_ok(p.b.scq, i);
	for (i = 0; i < 16; i++)
		xt_wc_ok(p.a.rcq, i);
	xt_hang_up(&p, &p.b);
}

/* A pair with registered memory on both sides. */
struct store {
	struct xt_pair p;
	struct xt_buf src;
	struct xt_buf dst;
};

static void store_up(struct store *s, const struct xt_opts *o, size_t len)
{
	xt_pair(&s->p, o, o);
	s->src = xt_buf(&s->p.b, len, XT_LOCAL);
	s->dst = xt_buf(&s->p.a, len, XT_REMOTE);
}

static void store_down(struct store *s)
{
	XT_GUARDS(&s->src);
	XT_GUARDS(&s->dst);
	xt_buf_free(&s->src);
	xt_buf_free(&s->dst);
	xt_hang_up(&s->p, &s->p.b);
}

static void post_to(struct store *s, enum ibv_wr_opcode op, __u64 wr_id,
		    size_t off, size_t len, int flags)
{
	struct ibv_sge sge = xt_sge(&s->src, off, len);
	struct ibv_send_wr wr = xt_wr_to(op, wr_id, &sge, 1, &s->dst, off);

	wr.send_flags = flags;
	xt_send(&s->p.b, &wr);
}

static void test_order(void)
{
	struct store s;
	int round;
	int i;

	store_up(&s, NULL, 128 * KIB);
	for (round = 0; round < 8; round++) {
		xt_recvs(&s.p.a, 0, 4);
		for (i = 0; i < 16; i += 4) {
			post_to(&s, IBV_WR_RDMA_READ, i, 0, 16 * KIB,
				IBV_SEND_SIGNALED);
			post_to(&s, IBV_WR_RDMA_WRITE, i + 1, 64 * KIB, 1,
				IBV_SEND_SIGNALED);
			post_to(&s, IBV_WR_RDMA_READ, i + 2, 32 * KIB, 1,
				IBV_SEND_SIGNALED);
			send_nothing(&s.p.b, i + 3, IBV_SEND_SIGNALED);
		}
		for (i = 0; i < 16; i++)
			xt_wc_ok(s.p.b.scq, i);
		for (i = 0; i < 4; i++)
			xt_wc_ok(s.p.a.rcq, i);
	}
	store_down(&s);
}

static void test_read_after_write(void)
{
	struct store s;
	int i;

	/* The Read returns what the Write before it wrote. */
	store_up(&s, NULL, 64 * KIB);
	for (i = 0; i < 20; i++) {
		struct ibv_sge sge = xt_sge(&s.src, 32 * KIB, 20 * KIB);
		struct ibv_send_wr read = xt_wr_to(IBV_WR_RDMA_READ, i, &sge, 1,
						   &s.dst, 0);

		xt_fill(s.src.p, 20 * KIB, i);
		post_to(&s, IBV_WR_RDMA_WRITE, 99, 0, 20 * KIB, 0);
		xt_send(&s.p.b, &read);
		xt_wc_ok(s.p.b.scq, i);
		XT_SAME(s.src.p + 32 * KIB, 20 * KIB, i);
	}
	store_down(&s);
}

static void test_fence(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge out;
	struct ibv_sge in;
	struct xt_buf got;
	struct store s;
	int i;

	/* A fenced Send sends the data that the Read before it has fetched. */
	store_up(&s, NULL, 32 * KIB);
	got = xt_buf(&s.p.a, 32 * KIB, XT_LOCAL);
	in = xt_sge(&got, 0, got.len);
	out = xt_sge(&s.src, 0, s.src.len);
	for (i = 0; i < 10; i++) {
		xt_recv(&s.p.a, i, &in, 1);
		xt_fill(s.dst.p, s.dst.len, i);
		memset(s.src.p, 0, s.src.len);
		post_to(&s, IBV_WR_RDMA_READ, 99, 0, s.src.len, 0);
		wr = xt_wr(IBV_WR_SEND, i, &out, 1);
		wr.send_flags |= IBV_SEND_FENCE;
		xt_send(&s.p.b, &wr);
		xt_wc_ok(s.p.b.scq, i);
		XT_EQ(xt_wc_ok(s.p.a.rcq, i).byte_len, got.len);
		XT_SAME(got.p, got.len, i);
	}
	xt_buf_free(&got);
	store_down(&s);
}

/*
 * More Reads than the peer accepts at a time: they wait, and keep their order.
 */
static void many_reads(__u8 depth, int n, size_t len)
{
	struct xt_opts o = XT_OPTS;
	struct store s;
	int batch;
	int i;

	o.ird = depth;
	o.ord = depth;
	store_up(&s, &o, 64 * KIB);
	xt_fill(s.dst.p, s.dst.len, 1);
	for (batch = 0; batch < n; batch += 40) {
		memset(s.src.p, 0, s.src.len);
		xt_recvs(&s.p.a, 0, 1);
		for (i = 0; i < 40; i++)
			post_to(&s, IBV_WR_RDMA_READ, i, i * KIB, len,
				IBV_SEND_SIGNALED);
		send_nothing(&s.p.b, 40, IBV_SEND_SIGNALED);
		for (i = 0; i <= 40; i++)
			xt_wc_ok(s.p.b.scq, i);
		xt_wc_ok(s.p.a.rcq, 0);
		for (i = 0; i < 40; i++)
			XT_EQ(memcmp(s.src.p + i * KIB, s.dst.p + i * KIB, len),
			      0);
	}
	store_down(&s);
}

static void test_one_read_at_a_time(void)
{
	many_reads(1, xt_count(800), 64);
}

static void test_many_reads(void)
{
	many_reads(4, 120, KIB);
}

/* ---- events ------------------------------------------------------------ */

static void get_event(struct ibv_cq *cq)
{
	struct ibv_cq *which;
	void *context;

	XT_HERE();
	XT_OK(ibv_get_cq_event(cq->channel, &which, &context));
	XT_CHECK(which == cq && context == cq->cq_context,
		 "an event of another queue");
	ibv_ack_cq_events(cq, 1);
}

/* A message from b; a polls its completion. */
static void message(struct xt_pair *p, int flags)
{
	struct ibv_wc wc;

	xt_recvs(&p->a, 0x600, 1);
	send_nothing(&p->b, 0x601, IBV_SEND_SIGNALED | flags);
	xt_spin(p->b.scq, &wc);
	XT_EQ(wc.status, IBV_WC_SUCCESS);
	xt_spin(p->a.rcq, &wc);
	XT_EQ(wc.wr_id, 0x600);
	XT_EQ(wc.status, IBV_WC_SUCCESS);
}

/* Sends a message that must raise no event; a round trip gives it the time. */
static void no_event_by(struct xt_pair *p, int flags)
{
	message(p, flags);
	round_trip(p);
	XT_CHECK(!xt_readable(p->a.rcq->channel->fd),
		 "an event without a request");
}

/* A pair with queues that were never armed. */
static void pair_unarmed(struct xt_pair *p)
{
	struct xt_opts o = XT_OPTS;

	o.no_hello = true;
	xt_pair(p, &o, &o);
}

static void test_events(void)
{
	struct xt_pair p;
	int i;

	pair_unarmed(&p);
	no_event_by(&p, 0);
	for (i = 0; i < 10; i++) {
		XT_OK(ibv_req_notify_cq(p.a.rcq, 0));
		message(&p, 0);
		get_event(p.a.rcq);
		/* One request, one event. */
		no_event_by(&p, 0);
		no_event_by(&p, IBV_SEND_SOLICITED);
	}
	xt_hang_up(&p, &p.a);
}

static void test_solicited(void)
{
	struct xt_pair p;
	int i;

	pair_unarmed(&p);
	for (i = 0; i < 10; i++) {
		XT_OK(ibv_req_notify_cq(p.a.rcq, 1));
		no_event_by(&p, 0);
		no_event_by(&p, 0);
		message(&p, IBV_SEND_SOLICITED);
		get_event(p.a.rcq);
		no_event_by(&p, IBV_SEND_SOLICITED);
	}
	/* A request for any completion is not narrowed by a later one. */
	XT_OK(ibv_req_notify_cq(p.a.rcq, 0));
	XT_OK(ibv_req_notify_cq(p.a.rcq, 1));
	message(&p, 0);
	get_event(p.a.rcq);
	xt_hang_up(&p, &p.a);
}

static void test_error_is_solicited(void)
{
	struct xt_pair p;

	pair_unarmed(&p);
	message(&p, 0);
	xt_recvs(&p.a, 5, 1);
	XT_OK(ibv_req_notify_cq(p.a.rcq, 1));
	XT_OK(rdma_disconnect(p.b.id));
	get_event(p.a.rcq);
	xt_flushed(p.a.rcq, 5, 1);
}

/* ---- moderation -------------------------------------------------------- */

#define BATCH		8
#define TRIES		40

static __u16 moderate(struct xt_end *e, __u16 count, __u16 period)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = period },
	};
	struct ibv_device_attr_ex dev = {};
	int ret = ibv_modify_cq(e->rcq, &attr);

	if (ret == EOPNOTSUPP || ret == ENOSYS)
		xt_skip("the device does not moderate events");
	XT_EQ(ret, 0);
	XT_OK(ibv_query_device_ex(e->id->verbs, NULL, &dev));
	XT_CHECK(dev.cq_mod_caps.max_cq_count >= count &&
		 dev.cq_mod_caps.max_cq_period >= period,
		 "more was taken than the device says it can: %u, %u",
		 dev.cq_mod_caps.max_cq_count, dev.cq_mod_caps.max_cq_period);
	return dev.cq_mod_caps.max_cq_period;
}

/* Measures the time from the first of N messages to the event. */
static __u64 event_after(struct xt_pair *p, unsigned int n)
{
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr[BATCH];
	unsigned int i;
	__u64 start;

	XT_OK(ibv_req_notify_cq(p->a.rcq, 0));
	xt_recvs(&p->a, 0x600, n);
	for (i = 0; i < n; i++) {
		wr[i] = xt_wr(IBV_WR_SEND, i, NULL, 0);
		wr[i].send_flags = i + 1 < n ? 0 : IBV_SEND_SIGNALED;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	start = xt_now_us();
	XT_EQ(ibv_post_send(p->b.qp, wr, &bad), 0);
	get_event(p->a.rcq);
	start = xt_now_us() - start;
	for (i = 0; i < n; i++)
		xt_wc_ok(p->a.rcq, 0x600 + i);
	xt_wc_ok(p->b.scq, n - 1);
	/* The waits above may have armed the queue, which notifies now. */
	while (xt_readable(p->a.rcq->channel->fd))
		get_event(p->a.rcq);
	return start;
}

/* The machine may be slow at times, but not each time. */
static bool ever_before(struct xt_pair *p, unsigned int n, __u64 limit)
{
	int i;

	for (i = 0; i < TRIES; i++)
		if (event_after(p, n) < limit)
			return true;
	return false;
}

static void test_moderation(void)
{
	__u16 period;
	struct xt_pair p;
	int i;

	pair_unarmed(&p);
	moderate(&p.a, 0, 0);
	period = moderate(&p.a, BATCH, 1000);
	XT_CHECK(period >= 20000, "%u us is the longest period", period);
	moderate(&p.a, BATCH, period);
	/* Fewer messages than the count notify after the whole period. */
	for (i = 0; i < 5; i++) {
		__u64 took = event_after(&p, 1 + i);

		XT_CHECK(took >= period, "%d of %d messages: %llu us", 1 + i,
			 BATCH, took);
	}
	XT_CHECK(ever_before(&p, BATCH, period), "enough wait, too");
	moderate(&p.a, BATCH, 0);
	XT_CHECK(ever_before(&p, 1, period), "they wait though it is off");
	xt_hang_up(&p, &p.a);
}

/* An event that is held back is raised when moderation ends or the CQ grows. */
static void test_moderation_ends(void)
{
	__u64 start;
	__u16 period;
	struct xt_pair p;
	bool early = false;
	int i;

	pair_unarmed(&p);
	period = moderate(&p.a, BATCH, 1000);
	for (i = 0; i < TRIES && !early; i++) {
		moderate(&p.a, BATCH, period);
		XT_OK(ibv_req_notify_cq(p.a.rcq, 0));
		start = xt_now_us();
		message(&p, 0);
		moderate(&p.a, 1, period);
		get_event(p.a.rcq);
		early = xt_now_us() - start < period;
	}
	XT_CHECK(early, "it waited for the end of the period");
	moderate(&p.a, BATCH, period);
	XT_OK(ibv_req_notify_cq(p.a.rcq, 0));
	message(&p, 0);
	XT_OK(ibv_resize_cq(p.a.rcq, 1000));
	get_event(p.a.rcq);
	/* An event that is never read is dropped with its queue. */
	XT_OK(ibv_req_notify_cq(p.a.rcq, 0));
	message(&p, 0);
	xt_hang_up(&p, &p.a);
}

/* Only if the CPU is online. */
static void run_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	XT_CHECK(!sched_setaffinity(0, sizeof(set), &set) || errno == EINVAL,
		 "affinity: %m");
}

static void no_vector(struct ibv_context *ctx, int vector)
{
	XT_CHECK(!ibv_create_cq(ctx, 16, NULL, NULL, vector),
		 "a queue on vector %d", vector);
	XT_EQ(errno, EINVAL);
}

/*
 * All completion vectors work, and a vector beyond the last is refused. The
 * process runs on another CPU than the vector's, so that trace.sh sees where
 * the vector notifies.
 */
static void test_vectors(void)
{
	struct xt_opts o = XT_OPTS;
	struct ibv_context *ctx;
	struct xt_pair p;
	struct xt_pair q;
	int n;
	int i;
	int k;

	xt_pair(&p, NULL, NULL);
	ctx = p.a.id->verbs;
	n = ctx->num_comp_vectors;
	XT_EQ(n, sysconf(_SC_NPROCESSORS_CONF));
	o.pd = p.a.pd;
	for (i = 0; i < n; i++) {
		run_on_cpu((i + 1) % n);
		o.rcq = XT_PTR(ibv_create_cq(ctx, 16, p.a.rcq->channel,
					     p.a.rcq->channel, i));
		xt_pair(&q, &o, NULL);
		for (k = 0; k < 10; k++) {
			XT_OK(ibv_req_notify_cq(o.rcq, 0));
			message(&q, 0);
			get_event(o.rcq);
		}
	}
	no_vector(ctx, n);
	no_vector(ctx, -1);
}

static void test_cq_overflow(void)
{
	struct xt_opts o = XT_OPTS;
	struct xt_pair other;
	struct xt_pair p;
	int n;
	int i;

	xt_pair(&other, NULL, NULL);
	o.recv_wr = 600;
	o.send_wr = 600;
	o.cqe = 2;
	xt_pair(&p, &o, NULL);
	n = p.a.rcq->cqe + 4;
	XT_CHECK(n <= 600, "a queue of 2 was made one of %d", p.a.rcq->cqe);
	xt_recvs(&p.a, 0, n);
	for (i = 0; i < n; i++)
		send_nothing(&p.b, i, i % 16 ? 0 : IBV_SEND_SIGNALED);
	xt_async(&p.a, IBV_EVENT_CQ_ERR);

	/* The other queue pair is not affected. */
	xt_recvs(&other.a, 77, 1);
	send_nothing(&other.b, 78, IBV_SEND_SIGNALED);
	xt_wc_ok(other.b.scq, 78);
	xt_wc_ok(other.a.rcq, 77);
	xt_hang_up(&other, &other.b);
}

static void test_cq_resize(void)
{
	struct xt_pair p;
	int ret;
	int i;

	xt_pair(&p, NULL, NULL);
	xt_recvs(&p.a, 0, 60);
	for (i = 0; i < 30; i++)
		send_nothing(&p.b, i, i == 29 ? IBV_SEND_SIGNALED : 0);
	xt_wc_ok(p.b.scq, 29);
	xt_wc_ok(p.a.rcq, 0);
	ret = ibv_resize_cq(p.a.rcq, 1000);
	if (ret == EOPNOTSUPP || ret == ENOSYS)
		xt_skip("the device cannot resize completion queues");
	XT_EQ(ret, 0);
	XT_CHECK(p.a.rcq->cqe >= 1000, "%d entries", p.a.rcq->cqe);
	/* Entries in the queue stay, new ones are added. */
	for (i = 30; i < 60; i++)
		send_nothing(&p.b, i, i == 59 ? IBV_SEND_SIGNALED : 0);
	for (i = 1; i < 60; i++)
		xt_wc_ok(p.a.rcq, i);
	xt_wc_ok(p.b.scq, 59);
	xt_hang_up(&p, &p.b);
}

/* ---- shared receive queue ---------------------------------------------- */

#define SRQ_DEPTH	32

/* Two connections into one queue, at the same end. */
static void srq_pairs(struct xt_pair *p, struct xt_pair *q)
{
	struct xt_opts o = XT_OPTS;

	o.srq_wr = SRQ_DEPTH;
	xt_pair(p, &o, NULL);
	o.srq_wr = 0;
	o.srq = p->a.srq;
	o.pd = p->a.pd;
	xt_pair(q, &o, NULL);
}

static void test_srq(void)
{
	struct xt_pair p[2];
	struct xt_buf into;
	struct xt_buf from;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	bool used[16] = {};
	int i;

	srq_pairs(&p[0], &p[1]);
	into = xt_buf(&p[0].a, 16 * KIB, XT_LOCAL);
	for (i = 0; i < 16; i++) {
		sge = xt_sge(&into, i * KIB, KIB);
		xt_recv(&p[0].a, i, &sge, 1);
	}
	for (i = 0; i < 16; i++) {
		struct xt_pair *via = &p[i & 1];
		size_t len = 60 * i;

		from = xt_buf(&via->b, KIB, XT_LOCAL);
		xt_fill(from.p, len, i);
		sge = xt_sge(&from, 0, len);
		wr = xt_wr(IBV_WR_SEND, i, &sge, 1);
		xt_send(&via->b, &wr);
		xt_wc_ok(via->b.scq, i);
		xt_wait(via->a.rcq, &wc);
		XT_EQ(wc.status, IBV_WC_SUCCESS);
		XT_EQ(wc.qp_num, via->a.qp->qp_num);
		XT_EQ(wc.byte_len, len);
		XT_CHECK(wc.wr_id < 16 && !used[wc.wr_id],
			 "receive %llu twice", (unsigned long long)wc.wr_id);
		used[wc.wr_id] = true;
		XT_SAME(into.p + wc.wr_id * KIB, len, i);
		xt_buf_free(&from);
	}
	XT_GUARDS(&into);
}

/* Attributes that ibv_create_srq() and ibv_create_qp() ignore */
static void test_srq_ignored(void)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = 4, .max_sge = 1, .srq_limit = ~0U },
	};
	struct ibv_qp_init_attr qp_attr = {
		.cap = { .max_send_wr = 4, .max_send_sge = 1,
			 .max_recv_wr = ~0U, .max_recv_sge = ~0U },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_srq_attr attr;
	struct ibv_qp *qp;
	struct xt_pair p;

	xt_pair(&p, NULL, NULL);
	qp_attr.send_cq = p.a.scq;
	qp_attr.recv_cq = p.a.rcq;
	qp_attr.srq = XT_PTR(ibv_create_srq(p.a.pd, &srq_attr));
	XT_OK(ibv_query_srq(qp_attr.srq, &attr));
	XT_EQ(attr.srq_limit, 0);
	qp = XT_PTR(ibv_create_qp(p.a.pd, &qp_attr));
	XT_OK(ibv_destroy_qp(qp));
	XT_OK(ibv_destroy_srq(qp_attr.srq));
}

static void test_srq_limit(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 4 };
	struct xt_pair p;
	struct xt_pair q;
	int i;

	srq_pairs(&p, &q);
	xt_recvs(&p.a, 0, 8);
	XT_OK(ibv_modify_srq(p.a.srq, &attr, IBV_SRQ_LIMIT));
	XT_OK(ibv_query_srq(p.a.srq, &attr));
	XT_EQ(attr.srq_limit, 4);
	XT_CHECK(attr.max_wr >= SRQ_DEPTH, "max_wr %u", attr.max_wr);
	for (i = 0; i < 5; i++) {
		XT_CHECK(!xt_readable(p.a.id->verbs->async_fd),
			 "an event with %d receives left", 8 - i);
		send_nothing(&p.b, i, IBV_SEND_SIGNALED);
		xt_wc_ok(p.b.scq, i);
		xt_wc_ok(p.a.rcq, i);
		round_trip(&p);
	}
	xt_async(&p.a, IBV_EVENT_SRQ_LIMIT_REACHED);
	XT_OK(ibv_query_srq(p.a.srq, &attr));
	XT_EQ(attr.srq_limit, 0);
	/* The limit event is raised once. */
	send_nothing(&q.b, 9, IBV_SEND_SIGNALED);
	xt_wc_ok(q.a.rcq, 5);
	round_trip(&q);
	XT_CHECK(!xt_readable(p.a.id->verbs->async_fd), "a second event");
}

/* Armed on an empty queue: a message without a receive raises the event. */
static void test_srq_limit_late(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 4 };
	struct xt_pair p;
	struct xt_pair q;
	int i;

	srq_pairs(&p, &q);
	XT_OK(ibv_modify_srq(p.a.srq, &attr, IBV_SRQ_LIMIT));
	round_trip(&p);
	XT_CHECK(!xt_readable(p.a.id->verbs->async_fd),
		 "an event before anybody missed anything");
	for (i = 0; i < 2; i++) {
		/*
		 * The limit is armed before a connection waits, then while one
		 * waits.
		 */
		send_nothing(&q.b, i, IBV_SEND_SIGNALED);
		xt_wc_ok(q.b.scq, i);
		if (i)
			XT_OK(ibv_modify_srq(p.a.srq, &attr, IBV_SRQ_LIMIT));
		xt_async(&p.a, IBV_EVENT_SRQ_LIMIT_REACHED);
		XT_OK(ibv_query_srq(p.a.srq, &attr));
		XT_EQ(attr.srq_limit, 0);
		attr.srq_limit = 4;
		xt_recvs(&p.a, i, 1);
		xt_wc_ok(q.a.rcq, i);
	}
}

static void test_srq_last_wqe(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct xt_pair p;
	struct xt_pair q;

	srq_pairs(&p, &q);
	xt_recvs(&p.a, 0, 4);
	XT_OK(ibv_modify_qp(p.a.qp, &attr, IBV_QP_STATE));
	xt_async(&p.a, IBV_EVENT_QP_LAST_WQE_REACHED);
	/*
	 * Receives in the shared queue are not flushed: the other queue pair
	 * has them.
	 */
	empty(p.a.rcq);
	send_nothing(&q.b, 9, IBV_SEND_SIGNALED);
	xt_wc_ok(q.b.scq, 9);
	xt_wc_ok(q.a.rcq, 0);
	empty(p.a.rcq);
	/* Nor are they when the peer disconnects the other queue pair. */
	XT_OK(rdma_disconnect(q.b.id));
	xt_async(&q.a, IBV_EVENT_QP_LAST_WQE_REACHED);
	empty(q.a.rcq);
}

static void test_srq_full(void)
{
	struct ibv_srq_attr larger = { .max_wr = 64 * SRQ_DEPTH };
	struct xt_opts o = XT_OPTS;
	struct ibv_sge sge;
	struct xt_pair p;
	unsigned int n;

	o.srq_wr = SRQ_DEPTH;
	xt_pair(&p, &o, NULL);
	sge = xt_sge(&p.a.spare, 0, 1);
	for (n = 0; n < 16 * SRQ_DEPTH; n++)
		if (xt_try_recv(&p.a, n, &sge, 1))
			break;
	XT_CHECK(n >= SRQ_DEPTH && n < 16 * SRQ_DEPTH,
		 "a shared queue of %d took %u", SRQ_DEPTH, n);
	XT_EQ(xt_try_recv(&p.a, n, &sge, 1), ENOMEM);
	XT_CHECK(ibv_modify_srq(p.a.srq, &larger, IBV_SRQ_MAX_WR),
		 "a shared queue was resized");
	XT_EQ(xt_try_recv(&p.a, n, &sge, 1), ENOMEM);
	send_nothing(&p.b, 1, IBV_SEND_SIGNALED);
	xt_wc_ok(p.a.rcq, 0);
	XT_EQ(xt_try_recv(&p.a, n, &sge, 1), 0);
}

/* ---- completion queues that are not polled ----------------------------- */

#define FEW	8

static void still_well(struct xt_end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	XT_CHECK(!xt_readable(e->id->verbs->async_fd), "an asynchronous event");
	XT_OK(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init));
	XT_EQ(attr.qp_state, IBV_QPS_RTS);
}

/* No more sends are accepted than the completion queue holds. */
static void test_full_sends(void)
{
	struct xt_opts o = XT_OPTS;
	struct xt_pair p;
	unsigned int n;
	unsigned int i;

	o.send_wr = FEW;
	o.cqe = FEW;
	xt_pair(&p, NULL, &o);
	n = p.b.cap.max_send_wr;
	XT_EQ(p.b.scq->cqe, n);
	for (i = 0; i < n; i++) {
		xt_recvs(&p.a, i, 1);
		send_nothing(&p.b, i, IBV_SEND_SIGNALED);
		xt_wc_ok(p.a.rcq, i);
	}
	for (i = 0; i < 2 * n; i++) {
		struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, n + i, NULL, 0);

		xt_recvs(&p.a, n + i, 1);
		/*
		 * The send queue is full; a polled completion frees one slot.
		 */
		XT_EQ(xt_try_send(&p.b, &wr), ENOMEM);
		xt_wc_ok(p.b.scq, i);
		xt_send(&p.b, &wr);
		xt_wc_ok(p.a.rcq, n + i);
	}
	for (i = 2 * n; i < 3 * n; i++)
		xt_wc_ok(p.b.scq, i);
	/* A completion also frees the slots of unsignalled sends before it. */
	xt_recvs(&p.a, 0, n);
	for (i = 0; i < n; i++)
		send_nothing(&p.b, i, i == n - 2 ? IBV_SEND_SIGNALED : 0);
	xt_wc_ok(p.b.scq, n - 2);
	for (i = 0; i < n; i++)
		xt_wc_ok(p.a.rcq, i);
	xt_recvs(&p.a, 0, n);
	for (i = 0; i < n - 1; i++)
		send_nothing(&p.b, i, 0);
	XT_EQ(xt_try_send(&p.b, &(struct ibv_send_wr){
				.opcode = IBV_WR_SEND }), ENOMEM);
	still_well(&p.b);
	xt_hang_up(&p, &p.a);
}

/* Waits until the earlier requests of @from have arrived. */
static void wait_arrived(struct xt_end *from, const struct xt_buf *at,
			 const struct xt_buf *into)
{
	struct ibv_sge sge = xt_sge(into, 0, 1);
	struct ibv_send_wr wr = xt_wr_to(IBV_WR_RDMA_READ, 0x800, &sge, 1, at,
					 0);

	xt_send(from, &wr);
	xt_wc_ok(from->scq, 0x800);
}

static void test_full_receives(void)
{
	struct xt_opts o = XT_OPTS;
	struct xt_buf into;
	struct xt_pair p;
	struct xt_buf at;
	struct ibv_sge sge;
	unsigned int n;
	unsigned int i;

	o.recv_wr = FEW;
	o.cqe = FEW;
	xt_pair(&p, &o, NULL);
	at = xt_buf(&p.a, 64, XT_REMOTE);
	into = xt_buf(&p.b, 64, XT_LOCAL);
	sge = xt_sge(&p.a.spare, 0, 1);
	n = p.a.cap.max_recv_wr;
	XT_EQ(p.a.rcq->cqe, n);
	xt_recvs(&p.a, 0, n);
	for (i = 0; i < n; i++)
		send_nothing(&p.b, i, 0);
	for (i = 0; i < 2 * n; i++) {
		wait_arrived(&p.b, &at, &into);
		XT_EQ(xt_try_recv(&p.a, n + i, &sge, 1), ENOMEM);
		xt_wc_ok(p.a.rcq, i);
		XT_EQ(xt_try_recv(&p.a, n + i, &sge, 1), 0);
		send_nothing(&p.b, i, 0);
	}
	for (i = 2 * n; i < 3 * n; i++)
		xt_wc_ok(p.a.rcq, i);
	still_well(&p.a);
	xt_buf_free(&at);
	xt_buf_free(&into);
	xt_hang_up(&p, &p.a);
}

/*
 * Slots in a shared completion queue are free again after the end of a queue
 * pair.
 */
static void test_full_shared(void)
{
	struct xt_opts o = XT_OPTS;
	struct xt_pair first;
	struct xt_pair p;
	struct ibv_sge sge;
	struct xt_buf into;
	struct xt_buf at;
	int round;
	int i;

	o.srq_wr = SRQ_DEPTH;
	xt_pair(&first, &o, NULL);
	sge = xt_sge(&first.a.spare, 0, 1);
	o.srq_wr = 0;
	o.srq = first.a.srq;
	o.pd = first.a.pd;
	for (round = 0; round < 4; round++) {
		xt_pair(&p, &o, NULL);
		at = xt_buf(&p.a, 64, XT_REMOTE);
		into = xt_buf(&p.b, 64, XT_LOCAL);
		xt_recvs(&first.a, 0, SRQ_DEPTH);
		XT_EQ(xt_try_recv(&first.a, 1, &sge, 1), ENOMEM);
		for (i = 0; i < SRQ_DEPTH; i++)
			send_nothing(&p.b, i, 0);
		wait_arrived(&p.b, &at, &into);
		XT_EQ(xt_try_recv(&first.a, 1, &sge, 1), ENOMEM);
		for (i = 0; i < SRQ_DEPTH / 2; i++)
			xt_wc_ok(p.a.rcq, i);
		xt_buf_free(&at);
		xt_buf_free(&into);
		rdma_destroy_qp(p.a.id);
	}
	still_well(&first.a);
}

/* Reads a number from a file of the device in sysfs; -1 if there is no file. */
static long device_number(const struct xt_end *e, const char *name)
{
	char path[512];
	long value;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s",
		 e->id->verbs->device->ibdev_path, name);
	f = fopen(path, "r");
	if (!f)
		return -1;
	XT_EQ(fscanf(f, "%ld", &value), 1);
	fclose(f);
	return value;
}

static void set_device_number(const struct xt_end *e, const char *name,
			      long value)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s",
		 e->id->verbs->device->ibdev_path, name);
	f = XT_PTR(fopen(path, "w"));
	fprintf(f, "%ld", value);
	XT_OK(fclose(f));
}

/* More bytes than the work budget of a softirq */
#define BULK	(32 * KIB)
#define LATE	"ports/1/hw_counters/rx_rnr_waits"
#define LATE_MS	"mpa/rnr_timeout_ms"

/* Makes N connections whose Sends begin to wait for a receive in that order. */
static struct xt_pair *stalled_pairs(int n)
{
	struct xt_pair *p = XT_PTR(calloc(n, sizeof(*p)));
	struct xt_opts o = XT_OPTS;
	long late_ms;
	long late;
	int i;

	o.srq_wr = 64;
	o.cqe = 2 * n + 256;
	for (i = 0; i < n; i++) {
		xt_pair(&p[i], &o, NULL);
		o.srq_wr = 0;
		o.srq = p[0].a.srq;
		o.pd = p[0].a.pd;
		o.rcq = p[0].a.rcq;
	}
	late = device_number(&p[0].a, LATE);
	late_ms = device_number(&p[0].a, LATE_MS);
	if (late < 0 || late_ms < 0)
		xt_skip("the device does not hold back early messages");
	/* No Send times out until the last connection is established. */
	set_device_number(&p[0].a, LATE_MS, 60000);
	for (i = 0; i < n; i++) {
		if (i == n - 1)
			set_device_number(&p[0].a, LATE_MS, late_ms);
		send_nothing(&p[i].b, i, 0);
		while (device_number(&p[0].a, LATE) < late + i + 1)
			usleep(1000);
	}
	return p;
}

/*
 * Queue pairs that wait get receives in the order in which they began to wait,
 * and only as many are woken as there are receives.
 */
static void test_srq_line(void)
{
	int n = xt_count(64);
	struct xt_pair *p = stalled_pairs(n);
	long late = device_number(&p[0].a, LATE);
	__u64 begin = xt_now_us();
	struct ibv_wc wc;
	long woken;
	int i;

	for (i = 0; i < n; i++) {
		xt_recvs(&p[0].a, i, 1);
		xt_wait(p[0].a.rcq, &wc);
		XT_EQ(wc.status, IBV_WC_SUCCESS);
		XT_EQ(wc.wr_id, i);
		XT_EQ(wc.qp_num, p[i].a.qp->qp_num);
	}
	begin = xt_now_us() - begin;
	usleep(20000);		/* the core may cache counters for 10 ms */
	woken = device_number(&p[0].a, LATE) - late;
	xt_note("%d connections, %ld needless wakeups, %llu us", n, woken,
		(unsigned long long)begin);
	XT_CHECK(woken <= n, "%ld needless wakeups", woken);
	for (i = 0; i < n; i++)
		round_trip(&p[i]);
}

/* As test_srq_line(), with so much data that a work item receives it. */
static void test_srq_bulk(void)
{
	int n = xt_count(8);
	struct xt_pair *p = stalled_pairs(n);
	struct xt_buf into = xt_buf(&p[0].a, BULK, XT_LOCAL);
	struct ibv_send_wr wr;
	struct xt_buf from;
	struct ibv_sge sge;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < n; i++) {
		from = xt_buf(&p[i].b, BULK, XT_LOCAL);
		sge = xt_sge(&from, 0, BULK);
		wr = xt_wr(IBV_WR_SEND, i, &sge, 1);
		xt_send(&p[i].b, &wr);
		xt_wc_ok(p[i].b.scq, i);
	}
	sge = xt_sge(&into, 0, BULK);
	/* Data that was held back arrives before later data. */
	for (i = 0; i < 2 * n; i++) {
		xt_recv(&p[0].a, i, &sge, 1);
		xt_wait(p[0].a.rcq, &wc);
		XT_EQ(wc.status, IBV_WC_SUCCESS);
		XT_EQ(wc.wr_id, i);
		XT_EQ(wc.byte_len, i < n ? 0 : BULK);
		if (i < n)
			XT_EQ(wc.qp_num, p[i].a.qp->qp_num);
	}
}

/* All of them wait for longer than one may, but each gets a receive in time. */
static void test_srq_slow(void)
{
	int n = xt_count(8);
	struct xt_pair *p = stalled_pairs(n);
	long late_ms = device_number(&p[0].a, LATE_MS);
	struct ibv_wc wc;
	int i;

	for (i = 0; i < n; i++) {
		usleep(late_ms * 1000 / 3);
		xt_recvs(&p[0].a, i, 1);
		xt_wait(p[0].a.rcq, &wc);
		XT_EQ(wc.status, IBV_WC_SUCCESS);
		XT_EQ(wc.qp_num, p[i].a.qp->qp_num);
	}
}

/* Half of them end when they get a receive; the others still get theirs. */
static void test_srq_pass_on(void)
{
	int n = xt_count(16) / 2;
	struct xt_pair *p = stalled_pairs(2 * n);
	__u32 numbers[2 * n];
	struct ibv_wc wc;
	int i, j;

	for (i = n; i < 2 * n; i++)
		numbers[i] = p[i].a.qp->qp_num;
	for (i = 0; i < n; i++) {
		xt_recvs(&p[0].a, i, 1);
		rdma_destroy_qp(p[i].a.id);
	}
	xt_recvs(&p[0].a, n, n);
	for (i = 0; i < n; i++) {
		xt_wait(p[0].a.rcq, &wc);
		XT_EQ(wc.status, IBV_WC_SUCCESS);
		/*
		 * Receives of connections that are woken together complete in
		 * any order.
		 */
		for (j = n; j < 2 * n && wc.qp_num != numbers[j]; j++)
			;
		XT_CHECK(j < 2 * n, "%u is not waiting", wc.qp_num);
		numbers[j] = 0;
	}
}

/* ---- errors ------------------------------------------------------------ */

static void to_error(struct xt_end *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	XT_OK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE));
}

/* WRs posted to a queue pair in error, to both of its queues. */
static void flushed_at_once(struct xt_end *e)
{
	int i;

	for (i = 0; i < 5; i++) {
		xt_recvs(e, 100 + i, 1);
		send_nothing(e, 200 + i, i & 1 ? 0 : IBV_SEND_SIGNALED);
	}
	xt_flushed(e->rcq, 100, 5);
	/* In error every work request completes, signalled or not. */
	xt_flushed(e->scq, 200, 5);
}

static void test_flush(void)
{
	struct xt_pair p;

	xt_pair(&p, NULL, NULL);
	xt_recvs(&p.a, 10, 8);
	xt_recvs(&p.b, 20, 4);
	to_error(&p.b);
	xt_flushed(p.b.rcq, 20, 4);
	flushed_at_once(&p.b);
	xt_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_flushed(p.a.rcq, 10, 8);
	flushed_at_once(&p.a);
	flushed_at_once(&p.b);
	xt_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED, NULL);
	empty(p.a.scq);
	xt_close(&p.a);
	xt_close(&p.b);
}

static void test_flush_busy(void)
{
	struct store s;
	struct ibv_wc wc;
	bool flushed = false;
	int i;

	store_up(&s, NULL, 64 * KIB);
	xt_recvs(&s.p.b, 500, 6);
	for (i = 0; i < 40; i++)
		post_to(&s, i % 3 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, i, 0,
			64 * KIB, IBV_SEND_SIGNALED);
	to_error(&s.p.b);
	for (i = 0; i < 40; i++) {
		xt_wait(s.p.b.scq, &wc);
		XT_EQ(wc.wr_id, i);
		XT_CHECK(wc.status == IBV_WC_SUCCESS ||
			 wc.status == IBV_WC_WR_FLUSH_ERR, "WR %d: %s", i,
			 xt_wc_name(wc.status));
		XT_CHECK(!flushed || wc.status != IBV_WC_SUCCESS,
			 "WR %d succeeded after one that did not", i);
		flushed = wc.status != IBV_WC_SUCCESS;
	}
	empty(s.p.b.scq);
	xt_flushed(s.p.b.rcq, 500, 6);
	xt_expect(&s.p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	XT_GUARDS(&s.src);
	XT_GUARDS(&s.dst);
}

static void test_flush_after_disconnect(void)
{
	struct xt_pair p;

	xt_pair(&p, NULL, NULL);
	xt_recvs(&p.a, 10, 3);
	XT_OK(rdma_disconnect(p.a.id));
	xt_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_flushed(p.a.rcq, 10, 3);
	to_error(&p.a);
	to_error(&p.b);
	flushed_at_once(&p.a);
	flushed_at_once(&p.b);
	xt_close(&p.a);
	xt_close(&p.b);
}

/* ---- limits ------------------------------------------------------------ */

static void test_depth_zero(void)
{
	struct xt_opts sink = XT_OPTS;
	struct xt_opts source = XT_OPTS;
	struct ibv_sge sge;
	struct xt_pair p;
	int i;

	/* The active end only sends, the passive end only receives. */
	source.recv_wr = 0;
	source.recv_sge = 0;
	sink.send_wr = 0;
	sink.send_sge = 0;
	sink.inline_len = 0;
	xt_pair(&p, &sink, &source);
	xt_recvs(&p.a, 0, 20);
	for (i = 0; i < 20; i++)
		send_nothing(&p.b, i, IBV_SEND_SIGNALED);
	for (i = 0; i < 20; i++) {
		xt_wc_ok(p.b.scq, i);
		xt_wc_ok(p.a.rcq, i);
	}
	sge = xt_sge(&p.b.spare, 0, 1);
	XT_CHECK(xt_try_recv(&p.b, 1, &sge, 1),
		 "a receive fits a queue of none");
	xt_hang_up(&p, &p.b);
}

static void test_depth(void)
{
	static struct ibv_send_wr wr[1024];
	static struct ibv_recv_wr rr[1024];
	struct xt_opts o = XT_OPTS;
	struct ibv_send_wr *bad_wr;
	struct ibv_recv_wr *bad_rr;
	struct ibv_sge sge;
	struct xt_pair p;
	unsigned int n;
	unsigned int i;

	/* A chain of as many requests as the queue has, with nothing polled. */
	o.send_wr = 50;
	o.recv_wr = 50;
	o.cqe = 1024;
	xt_pair(&p, &o, &o);
	n = p.b.cap.max_send_wr;
	if (n > p.a.cap.max_recv_wr)
		n = p.a.cap.max_recv_wr;
	XT_CHECK(n >= 50 && n < 1024, "depths %u and %u", p.b.cap.max_send_wr,
		 p.a.cap.max_recv_wr);
	sge = xt_sge(&p.a.spare, 0, 1);
	for (i = 0; i < n; i++) {
		rr[i] = (struct ibv_recv_wr){ .wr_id = i, .sg_list = &sge,
					      .num_sge = 1 };
		rr[i].next = i + 1 < n ? &rr[i + 1] : NULL;
		wr[i] = xt_wr(IBV_WR_SEND, i, NULL, 0);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	XT_EQ(ibv_post_recv(p.a.qp, rr, &bad_rr), 0);
	XT_EQ(ibv_post_send(p.b.qp, wr, &bad_wr), 0);
	for (i = 0; i < n; i++) {
		xt_wc_ok(p.b.scq, i);
		xt_wc_ok(p.a.rcq, i);
	}

	for (i = 0; i < 16 * n; i++)
		if (xt_try_recv(&p.a, i, &sge, 1))
			break;
	XT_CHECK(i >= n && i < 16 * n, "a queue of %u took %u", n, i);
	XT_EQ(xt_try_recv(&p.a, i, &sge, 1), ENOMEM);
	xt_hang_up(&p, &p.b);
}

static void refused(struct store *s, struct ibv_send_wr wr, const char *what)
{
	int ret = xt_try_send(&s->p.b, &wr);

	XT_CHECK(ret == EINVAL, "%s: %d (%s) instead of EINVAL", what, ret,
		 strerror(ret));
}

static void test_bad_posts(void)
{
	struct ibv_send_wr chain[3];
	struct ibv_send_wr *bad;
	struct ibv_sge many[64];
	struct ibv_send_wr wr;
	struct store s;
	size_t i;

	store_up(&s, NULL, KIB);
	for (i = 0; i < XT_NELEM(many); i++)
		many[i] = xt_sge(&s.src, i, 1);

	refused(&s, xt_wr(IBV_WR_TSO, 1, many, 1), "TSO");
	refused(&s, xt_wr(IBV_WR_DRIVER1, 1, many, 1), "DRIVER1");
	refused(&s, xt_wr((enum ibv_wr_opcode)32, 1, many, 1), "opcode 32");
	refused(&s, xt_wr((enum ibv_wr_opcode)0x7fffffff, 1, many, 1),
		"opcode 0x7fffffff");
	wr = xt_wr_to(IBV_WR_RDMA_READ, 1, many, 1, &s.dst, 0);
	wr.send_flags |= IBV_SEND_INLINE;
	refused(&s, wr, "inline Read");
	wr = xt_wr(IBV_WR_SEND, 1, many, XT_NELEM(many));
	XT_CHECK(xt_try_send(&s.p.b, &wr), "a send of 64 elements");
	wr = xt_wr(IBV_WR_SEND, 1, many, -1);
	XT_CHECK(xt_try_send(&s.p.b, &wr), "a send of -1 elements");
	XT_CHECK(xt_try_recv(&s.p.b, 1, many, XT_NELEM(many)),
		 "a receive of 64 elements");
	many[0].length = 0x80000000;
	many[1].length = 0x80000000;
	XT_EQ(xt_try_recv(&s.p.b, 1, many, 2), EINVAL);
	many[0].length = 1;
	many[1].length = 1;

	/*
	 * Requests of a chain before the bad one are posted, the rest is not.
	 */
	xt_recvs(&s.p.a, 0, 1);
	for (i = 0; i < 3; i++) {
		chain[i] = xt_wr(i == 1 ? IBV_WR_TSO : IBV_WR_SEND, i,
				 many, 1);
		chain[i].next = i < 2 ? &chain[i + 1] : NULL;
	}
	XT_CHECK(ibv_post_send(s.p.b.qp, chain, &bad), "a bad chain was taken");
	XT_CHECK(bad == &chain[1], "the bad one is another one");
	xt_wc_ok(s.p.b.scq, 0);
	xt_wc_ok(s.p.a.rcq, 0);
	empty(s.p.b.scq);
	post_to(&s, IBV_WR_RDMA_WRITE, 9, 0, 10, IBV_SEND_SIGNALED);
	xt_wc_ok(s.p.b.scq, 9);
	store_down(&s);
}

static void test_no_elements(void)
{
	struct xt_pair p;
	int i;

	xt_pair(&p, NULL, NULL);
	for (i = 0; i < 4; i++) {
		xt_recv(&p.a, i, NULL, 0);
		send_nothing(&p.b, i, IBV_SEND_SIGNALED);
		xt_wc_ok(p.b.scq, i);
		XT_EQ(xt_wc_ok(p.a.rcq, i).byte_len, 0);
	}
	xt_hang_up(&p, &p.b);
}

static void test_query(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct xt_pair p;

	xt_pair(&p, NULL, NULL);
	XT_OK(ibv_query_qp(p.a.qp, &attr, IBV_QP_STATE | IBV_QP_CAP |
			   IBV_QP_ACCESS_FLAGS, &init));
	XT_EQ(attr.qp_state, IBV_QPS_RTS);
	XT_EQ(attr.cap.max_send_wr, p.a.cap.max_send_wr);
	XT_EQ(attr.cap.max_recv_wr, p.a.cap.max_recv_wr);
	XT_CHECK(p.a.cap.max_send_wr >= 64 && p.a.cap.max_recv_wr >= 64 &&
		 p.a.cap.max_send_sge >= 2 && p.a.cap.max_recv_sge >= 2 &&
		 p.a.cap.max_inline_data >= 32, "less than was asked for");
	XT_OK(rdma_disconnect(p.a.id));
	xt_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	to_error(&p.a);
	XT_OK(ibv_query_qp(p.a.qp, &attr, IBV_QP_STATE, &init));
	XT_EQ(attr.qp_state, IBV_QPS_ERR);
}

/* ---- threads ----------------------------------------------------------- */

#define THREADS		4
#define PER_THREAD	50

struct poster {
	pthread_t thread;
	struct xt_end *e;
	struct xt_buf *from;
	unsigned int number;
};

/* A thread that sends messages, each with its sender's number and its own. */
static void *post_many(void *arg)
{
	struct poster *w = arg;
	unsigned int slot;
	unsigned int i;
	__u32 *msg;

	for (i = 0; i < PER_THREAD; i++) {
		struct ibv_send_wr wr;
		struct ibv_sge sge;

		slot = w->number * PER_THREAD + i;
		msg = (__u32 *)(w->from->p + 8 * slot);
		msg[0] = w->number;
		msg[1] = i;
		sge = xt_sge(w->from, 8 * slot, 8);
		wr = xt_wr(IBV_WR_SEND, slot, &sge, 1);
		while (xt_try_send(w->e, &wr))
			sched_yield();
	}
	return NULL;
}

static void test_threads(void)
{
	const unsigned int total = THREADS * PER_THREAD;
	struct poster w[THREADS];
	unsigned int next[THREADS] = {};
	struct xt_opts o = XT_OPTS;
	struct xt_buf from;
	struct xt_buf into;
	struct ibv_sge sge;
	struct xt_pair p;
	struct ibv_wc wc;
	unsigned int i;
	__u32 *msg;

	o.recv_wr = total;
	xt_pair(&p, &o, NULL);
	from = xt_buf(&p.b, 8 * total, XT_LOCAL);
	into = xt_buf(&p.a, 8 * total, XT_LOCAL);
	for (i = 0; i < total; i++) {
		sge = xt_sge(&into, 8 * i, 8);
		xt_recv(&p.a, i, &sge, 1);
	}
	for (i = 0; i < THREADS; i++) {
		w[i] = (struct poster){ .e = &p.b, .from = &from, .number = i };
		XT_OK(pthread_create(&w[i].thread, NULL, post_many, &w[i]));
	}
	for (i = 0; i < total; i++) {
		xt_wait(p.b.scq, &wc);
		XT_EQ(wc.status, IBV_WC_SUCCESS);
	}
	for (i = 0; i < total; i++) {
		XT_EQ(xt_wc_ok(p.a.rcq, i).byte_len, 8);
		msg = (__u32 *)(into.p + 8 * i);
		XT_CHECK(msg[0] < THREADS && msg[1] == next[msg[0]],
			 "message %u of thread %u", msg[1], msg[0]);
		next[msg[0]]++;
	}
	for (i = 0; i < THREADS; i++)
		XT_OK(pthread_join(w[i].thread, NULL));
}

static const struct xt_case cases[] = {
	{ "unsignaled", "one completion covers a batch", test_unsignaled },
	{ "signal-all", "every send completes when the queue says so",
	  test_signal_all },
	{ "order", "completions come in the order of the posts", test_order },
	{ "read-after-write", "a Read sees the Write before it",
	  test_read_after_write },
	{ "fence", "a fenced Send carries what was read", test_fence },
	{ "one-read", "Reads back to back with one slot",
	  test_one_read_at_a_time },
	{ "many-reads", "more Reads than slots", test_many_reads },
	{ "events", "one event for each request", test_events },
	{ "solicited", "only solicited messages wake the solicited",
	  test_solicited },
	{ "error-solicited", "an error wakes the solicited",
	  test_error_is_solicited },
	{ "moderation", "moderated events are fewer and later",
	  test_moderation },
	{ "moderation-ends", "an event held back is not lost",
	  test_moderation_ends },
	{ "vectors", "every completion vector serves", test_vectors },
	{ "cq-overflow", "an overrun completion queue is reported",
	  test_cq_overflow },
	{ "cq-resize", "a resized completion queue keeps its contents",
	  test_cq_resize },
	{ "srq", "two connections share receives", test_srq },
	{ "srq-ignored", "what means nothing with a shared queue is ignored",
	  test_srq_ignored },
	{ "srq-limit", "the limit of a shared queue is reported once",
	  test_srq_limit },
	{ "srq-limit-late", "a limit that is armed too late is reported",
	  test_srq_limit_late },
	{ "srq-last", "the last receive of a shared queue is reported",
	  test_srq_last_wqe },
	{ "srq-full", "a shared queue takes what it promised", test_srq_full },
	{ "srq-line", "a shared queue serves one after the other",
	  test_srq_line },
	{ "srq-bulk", "with much behind what waits, too", test_srq_bulk },
	{ "srq-slow", "a queue pair in line does not time out", test_srq_slow },
	{ "srq-pass", "a queue pair that ends passes its receive on",
	  test_srq_pass_on },
	{ "flush", "work before and after an error is flushed once",
	  test_flush },
	{ "flush-busy", "an error under load completes each WR once, in order",
	  test_flush_busy },
	{ "flush-late", "work posted after a disconnect is flushed",
	  test_flush_after_disconnect },
	{ "full-sends", "a slot is free when its completion was polled",
	  test_full_sends },
	{ "full-receives", "receives, too", test_full_receives },
	{ "full-shared", "and those of a shared queue", test_full_shared },
	{ "depth-zero", "queues of no depth", test_depth_zero },
	{ "depth", "queues take what they promised", test_depth },
	{ "bad-posts", "bad work requests are refused and harm nothing",
	  test_bad_posts },
	{ "no-elements", "receives without elements take empty messages",
	  test_no_elements },
	{ "query", "queries tell the truth", test_query },
	{ "threads", "threads share a queue pair", test_threads },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
