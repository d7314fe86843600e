// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Effects of the destruction and of the reset of a queue pair on its requests
 * and on other queue pairs of the same completion queue; attributes and changes
 * of state; and a process that gives up its credentials while it has queue
 * pairs.
 *
 *	xt_life [-a [NS/]ADDRESS] [-b [NS/]ADDRESS] [-t CASE]...
 *
 * -n is the number of connections of "destroy-polled" and "disconnect-raced",
 * and of queue pairs of "destroy-quiet" and "post-raced".
 */
#include "number.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MANY		256
#define BURST		32
#define NOBODY		65534

/* Sends a message of one byte; its receive at @to has the number @wr_id. */
static void message(struct xt_end *from, struct xt_end *to, __u64 wr_id)
{
	struct ibv_sge sge = xt_sge(&from->spare, 0, 1);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 1, &sge, 1);

	xt_recvs(to, wr_id, 1);
	xt_send(from, &wr);
	xt_wc_ok(from->scq, 1);
	XT_EQ(xt_wc_ok(to->rcq, wr_id).byte_len, 1);
}

/* The flushed receives would have overrun the completion queue. */
static void test_destroy_full(void)
{
	struct xt_opts small = XT_OPTS;
	struct xt_opts o = XT_OPTS;
	struct xt_pair p;
	struct xt_pair q;

	small.cqe = 16;
	small.recv_wr = MANY;
	xt_pair(&p, &small, NULL);
	o.rcq = p.a.rcq;
	xt_pair(&q, &o, NULL);
	xt_recvs(&p.a, 1000, MANY);
	XT_OK(ibv_destroy_qp(p.a.qp));
	p.a.id->qp = NULL;
	message(&q.b, &q.a, 1);
	message(&q.a, &q.b, 2);
}

static atomic_bool enough;

static void *poll_on(void *arg)
{
	struct ibv_wc wc;

	while (!atomic_load(&enough))
		XT_CHECK(ibv_poll_cq(arg, 1, &wc) >= 0, "polling failed");
	return NULL;
}

/* Posts so fast that doorbells are deferred; the poll then rings one. */
static void burst(struct xt_pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	unsigned int i;

	for (i = 0; i < BURST; i++) {
		sge = xt_sge(&p->b.spare, 0, i % 2 ? 1 : 64);
		wr = xt_wr(IBV_WR_SEND, i, &sge, 1);
		wr.send_flags = 0;
		xt_send(&p->b, &wr);
	}
}

static void test_destroy_polled(void)
{
	int n = xt_count(30);
	struct xt_opts quiet = XT_OPTS;
	struct xt_opts o;
	pthread_t thread;
	struct xt_pair p;
	int i;

	xt_pair(&p, NULL, NULL);
	quiet.no_hello = true;
	o = quiet;
	o.rcq = p.b.rcq;
	XT_OK(pthread_create(&thread, NULL, poll_on, o.rcq));
	for (i = 0; i < n; i++) {
		xt_pair(&p, &quiet, &o);
		xt_recvs(&p.a, 0, BURST);
		burst(&p);
		XT_EQ(ibv_destroy_qp(p.b.qp), 0);
		p.b.id->qp = NULL;
	}
	atomic_store(&enough, true);
	XT_OK(pthread_join(thread, NULL));
}

static void *refuse_events(void *arg)
{
	struct ibv_async_event ev;

	while (ibv_get_async_event(arg, &ev))
		if (atomic_load(&enough))
			return NULL;
	xt_fail(__FILE__, __LINE__, "event %s",
		ibv_event_type_str(ev.event_type));
}

/*
 * The event of the last receive asks a program to destroy the queue pair. The
 * thread reads events while queue pairs are destroyed, as the kernel removes
 * those that were not read by then.
 */
static void test_destroy_quiet(void)
{
	struct xt_opts o = XT_OPTS;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	int n = xt_count(300);
	pthread_t thread;
	struct xt_pair p;

	o.srq_wr = 8;
	xt_pair(&p, &o, NULL);
	init.send_cq = p.a.scq;
	init.recv_cq = p.a.rcq;
	init.srq = p.a.srq;
	/* A thread that sleeps would seldom be in time. */
	XT_OK(fcntl(p.a.id->verbs->async_fd, F_SETFL, O_NONBLOCK));
	XT_OK(pthread_create(&thread, NULL, refuse_events, p.a.id->verbs));
	while (n--)
		XT_OK(ibv_destroy_qp(XT_PTR(ibv_create_qp(p.a.pd, &init))));
	atomic_store(&enough, true);
	XT_OK(pthread_join(thread, NULL));
}

static int to_state(struct xt_end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	int mask = IBV_QP_STATE;

	if (state == IBV_QPS_INIT)
		mask |= IBV_QP_ACCESS_FLAGS;
	return ibv_modify_qp(e->qp, &attr, mask);
}

static void test_reset(void)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);
	struct xt_opts o = XT_OPTS;
	struct xt_end listener;
	struct xt_event ev;
	struct xt_pair p;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	int ret;

	xt_id(&listener, &xt_a);
	sa = xt_addr(&xt_a, xt_listen(&listener, &sa, 1));
	xt_id(&p.b, &xt_b);
	xt_resolve(&p.b, &sa);
	xt_qp(&p.b, &o);
	xt_dial(&p.b, &o, NULL, 0);
	xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	xt_adopt(&p.a, &xt_a, ev.id);
	xt_qp(&p.a, &o);

	/* The reset removes the receives that were posted before. */
	xt_recvs(&p.a, 1, 5);
	XT_OK(to_state(&p.a, IBV_QPS_RESET));
	XT_OK(to_state(&p.a, IBV_QPS_INIT));
	xt_recvs(&p.a, 11, 1);
	xt_answer(&p.a, &o, NULL, 0);
	xt_expect(&p.b, RDMA_CM_EVENT_ESTABLISHED, NULL);
	sge = xt_sge(&p.b.spare, 0, 1);
	wr = xt_wr(IBV_WR_SEND, 1, &sge, 1);
	xt_send(&p.b, &wr);
	xt_wc_ok(p.a.rcq, 11);
	xt_wc_ok(p.b.scq, 1);
	xt_expect(&p.a, RDMA_CM_EVENT_ESTABLISHED, NULL);
	/* A connected queue pair cannot be reset. */
	XT_EQ(to_state(&p.a, IBV_QPS_INIT), EINVAL);
	XT_EQ(to_state(&p.a, IBV_QPS_RESET), EBUSY);

	/* The reset also removes completions that were not polled. */
	xt_recvs(&p.a, 21, 5);
	XT_OK(rdma_disconnect(p.b.id));
	xt_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	XT_OK(rdma_disconnect(p.a.id));
	xt_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED, NULL);
	while ((ret = to_state(&p.a, IBV_QPS_RESET)) == EBUSY)
		sched_yield();
	XT_EQ(ret, 0);
	XT_EQ(ibv_poll_cq(p.a.rcq, 1, &wc), 0);
	XT_EQ(ibv_poll_cq(p.a.scq, 1, &wc), 0);
}

/*
 * Two threads change the state of one queue pair, to which both post: in any
 * order, nothing is flushed twice, and the queue pair can be used at the end.
 */
static void *to_error(void *arg)
{
	struct xt_end *e = arg;

	while (!atomic_load(&enough))
		to_state(e, IBV_QPS_ERR);
	return NULL;
}

static void test_reset_raced(void)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);
	unsigned int n = xt_count(300);
	struct xt_opts o = XT_OPTS;
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	pthread_t thread;
	struct xt_end e;
	struct ibv_wc wc;
	unsigned int i;

	xt_id(&e, &xt_a);
	XT_OK(rdma_bind_addr(e.id, (struct sockaddr *)&sa));
	xt_qp(&e, &o);
	sge = xt_sge(&e.spare, 0, 1);
	atomic_store(&enough, false);
	XT_OK(pthread_create(&thread, NULL, to_error, &e));
	for (i = 0; i < n; i++) {
		to_state(&e, IBV_QPS_RESET);
		to_state(&e, IBV_QPS_INIT);
		wr = xt_wr(IBV_WR_SEND, i, &sge, 1);
		while (!ibv_post_send(e.qp, &wr, &bad) && wr.wr_id++ < i + 5)
			;
	}
	atomic_store(&enough, true);
	XT_OK(pthread_join(thread, NULL));
	XT_OK(to_state(&e, IBV_QPS_RESET));
	XT_EQ(ibv_poll_cq(e.scq, 1, &wc), 0);
	XT_OK(to_state(&e, IBV_QPS_INIT));
	XT_OK(to_state(&e, IBV_QPS_ERR));
	wr = xt_wr(IBV_WR_SEND, 7, &sge, 1);
	xt_send(&e, &wr);
	xt_wc(e.scq, 7, IBV_WC_WR_FLUSH_ERR);
}

static struct {
	struct xt_end *e;
	pthread_t thread;
	unsigned int delay_us;
	atomic_bool go;
	atomic_bool done;
} late;

/* Waits for the begin of the destruction, and then for @us microseconds. */
static void pause_us(unsigned int us)
{
	__u64 end;

	while (!atomic_load(&late.go))
		sched_yield();
	end = xt_now_us() + us;
	while (xt_now_us() < end)
		sched_yield();
}

static void *disconnect(void *arg)
{
	pause_us(late.delay_us);
	/* The disconnect fails if the queue pair has been destroyed before. */
	rdma_disconnect(late.e->id);
	return arg;
}

/* Keeps the processors busy, so that the thread that disconnects may stop. */
static void *spin(void *arg)
{
	struct sched_param idle = { 0 };

	pause_us(late.delay_us + 200);
	pthread_setschedparam(late.thread, SCHED_IDLE, &idle);
	while (!atomic_load(&late.done))
		;
	return arg;
}

/*
 * In any order, the kernel does not access freed memory: the thread that
 * disconnects may wait for the one that destroys, and run much later.
 */
static void test_disconnect_raced(void)
{
	unsigned int n = xt_count(30);
	struct xt_opts quiet = XT_OPTS;
	pthread_t threads[2];
	struct xt_pair p;
	unsigned int i;
	unsigned int k;

	quiet.no_hello = true;
	for (i = 0; i < n; i++) {
		xt_pair(&p, &quiet, &quiet);
		late.e = &p.a;
		/* Without a QP librdmacm lets the kernel disconnect. */
		p.a.id->qp = NULL;
		late.delay_us = i % 15 * 100;
		atomic_store(&late.go, false);
		atomic_store(&late.done, false);
		XT_OK(pthread_create(&late.thread, NULL, disconnect, NULL));
		for (k = 0; k < XT_NELEM(threads); k++)
			XT_OK(pthread_create(&threads[k], NULL, spin, NULL));
		atomic_store(&late.go, true);
		XT_EQ(ibv_destroy_qp(p.a.qp), 0);
		atomic_store(&late.done, true);
		for (k = 0; k < XT_NELEM(threads); k++)
			XT_OK(pthread_join(threads[k], NULL));
		XT_OK(pthread_join(late.thread, NULL));
	}
}

static void *change_depths(void *arg)
{
	struct xt_pair *p = arg;
	struct ibv_qp_attr attr = { 0 };
	unsigned int i;

	for (i = 0; !atomic_load(&enough); i++) {
		attr.max_rd_atomic = i;
		attr.max_dest_rd_atomic = i;
		ibv_modify_qp(i & 1 ? p->a.qp : p->b.qp, &attr,
			      IBV_QP_MAX_QP_RD_ATOMIC |
			      IBV_QP_MAX_DEST_RD_ATOMIC);
	}
	return NULL;
}

/* A change of attributes does not change the negotiated IRD and ORD. */
static void test_depths(void)
{
	int n = xt_count(200);
	struct xt_opts o = XT_OPTS;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	pthread_t thread;
	struct xt_buf src;
	struct xt_buf dst;
	struct xt_pair p;
	int i;
	int k;

	o.ird = 4;
	o.ord = 4;
	xt_pair(&p, &o, &o);
	src = xt_buf(&p.a, XT_PAGE, XT_REMOTE);
	dst = xt_buf(&p.b, XT_PAGE, XT_LOCAL);
	xt_fill(src.p, XT_PAGE, 5);
	atomic_store(&enough, false);
	XT_OK(pthread_create(&thread, NULL, change_depths, &p));
	for (i = 0; i < n; i++) {
		memset(dst.p, 0, XT_PAGE);
		for (k = 0; k < 8; k++) {
			sge = xt_sge(&dst, k * 512, 512);
			wr = xt_wr_to(IBV_WR_RDMA_READ, k, &sge, 1, &src,
				      k * 512);
			xt_send(&p.b, &wr);
		}
		for (k = 0; k < 8; k++)
			xt_wc_ok(p.b.scq, k);
		XT_SAME(dst.p, XT_PAGE, 5);
	}
	atomic_store(&enough, true);
	XT_OK(pthread_join(thread, NULL));
	XT_GUARDS(&dst);
	xt_buf_free(&src);
	xt_buf_free(&dst);
	xt_hang_up(&p, &p.b);
}

/*
 * Attributes that a queue pair does not have are 0, not uninitialised memory.
 */
static void test_query(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct xt_pair p;
	int i;

	xt_pair(&p, NULL, NULL);
	for (i = 0; i < 100; i++) {
		memset(&attr, 0xff, sizeof(attr));
		XT_OK(ibv_query_qp(p.a.qp, &attr, ~0U >> 12, &init));
		XT_EQ(attr.qkey | attr.rq_psn | attr.sq_psn |
		      attr.dest_qp_num, 0);
		XT_EQ(attr.path_mig_state | attr.pkey_index |
		      attr.alt_pkey_index | attr.sq_draining | attr.timeout |
		      attr.retry_cnt | attr.rnr_retry | attr.min_rnr_timer |
		      attr.alt_port_num | attr.alt_timeout, 0);
		XT_EQ(attr.ah_attr.dlid | attr.ah_attr.sl |
		      attr.ah_attr.is_global | attr.alt_ah_attr.dlid, 0);
	}
}

static struct ibv_qp *new_qp(struct xt_end *e)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 8, .max_recv_wr = 8,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.send_cq = e->scq,
		.recv_cq = e->rcq,
	};

	return XT_PTR(ibv_create_qp(e->pd, &attr));
}

/* From RESET to RTS. */
static void by_number(struct xt_end *e, struct xt_end *peer, __u32 psn,
		      struct number_path *path)
{
	*path = (struct number_path){
		.dest = peer->qp->qp_num, .rq_psn = psn, .sq_psn = psn,
		.rd_atomic = 5, .min_rnr_timer = 12, .timeout = 14,
	};
	number_gid(peer->id->verbs, peer->side, &path->dgid);
	xt_enter(e->side);
	path->index = number_gid(e->id->verbs, e->side, &(union ibv_gid){});
	XT_OK(number_init(e->qp));
	XT_OK(number_rtr(e->qp, path));
	XT_OK(number_rts(e->qp, path));
}

static struct ibv_qp_attr told(struct xt_end *e,
			       const struct number_path *path)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	XT_OK(ibv_query_qp(e->qp, &attr, ~0U >> 12, &init));
	XT_EQ(attr.qp_state, IBV_QPS_RTS);
	XT_EQ(attr.dest_qp_num, path->dest);
	XT_EQ(attr.ah_attr.is_global, 1);
	XT_EQ(attr.ah_attr.port_num, 1);
	XT_EQ(attr.ah_attr.grh.sgid_index, path->index);
	XT_EQ(attr.ah_attr.grh.hop_limit, 255);
	XT_CHECK(!memcmp(&attr.ah_attr.grh.dgid, &path->dgid,
			 sizeof(path->dgid)), "another GID");
	XT_EQ(attr.max_rd_atomic, path->rd_atomic);
	XT_EQ(attr.max_dest_rd_atomic, path->rd_atomic);
	XT_EQ(attr.min_rnr_timer, path->min_rnr_timer);
	XT_EQ(attr.timeout, path->timeout);
	XT_EQ(attr.retry_cnt, 7);
	XT_EQ(attr.rnr_retry, 7);
	return attr;
}

static void again(struct xt_end *e, struct ibv_qp_attr attr)
{
	xt_enter(e->side);
	attr.qp_state = IBV_QPS_RESET;
	XT_OK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE));
	XT_OK(number_init(e->qp));
	attr.qp_state = IBV_QPS_RTR;
	XT_OK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			    IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr.qp_state = IBV_QPS_RTS;
	XT_OK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
}

static int change(struct xt_end *e, enum ibv_qp_state state,
		  enum ibv_qp_state now, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = state, .cur_qp_state = now,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.timeout = 14, .retry_cnt = 7, .port_num = 1,
		.ah_attr.port_num = 1,
	};

	return ibv_modify_qp(e->qp, &attr, mask);
}

static unsigned int rights(struct xt_end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	XT_OK(ibv_query_qp(e->qp, &attr, IBV_QP_ACCESS_FLAGS, &init));
	return attr.qp_access_flags;
}

/* Attributes without a meaning in a state are refused, without side effects. */
static void test_masks(void)
{
	const int state = IBV_QP_STATE;
	struct xt_end idle;
	struct xt_pair p;
	unsigned int had;

	xt_pair(&p, NULL, NULL);
	idle = p.a;
	idle.qp = new_qp(&idle);
	XT_EQ(change(&idle, IBV_QPS_INIT, 0, state | IBV_QP_TIMEOUT), EINVAL);
	XT_EQ(change(&idle, IBV_QPS_RTR, 0, state | IBV_QP_DEST_QPN), EINVAL);
	XT_EQ(change(&idle, IBV_QPS_RTR, 0, state | IBV_QP_AV), EINVAL);
	XT_EQ(change(&idle, IBV_QPS_RTS, 0, state), EINVAL);
	XT_EQ(change(&idle, IBV_QPS_INIT, 0, state | IBV_QP_ACCESS_FLAGS |
		     IBV_QP_AV | IBV_QP_DEST_QPN), EINVAL);
	XT_EQ(change(&idle, IBV_QPS_RESET, 0, state | IBV_QP_ACCESS_FLAGS |
		     IBV_QP_AV | IBV_QP_DEST_QPN), EINVAL);
	XT_EQ(rights(&idle), 0);
	XT_EQ(change(&idle, IBV_QPS_INIT, 0, state | IBV_QP_PORT |
		     IBV_QP_ACCESS_FLAGS), 0);
	XT_EQ(change(&idle, IBV_QPS_RTR, 0, state | IBV_QP_PORT |
		     IBV_QP_ACCESS_FLAGS), 0);
	XT_EQ(rights(&idle), IBV_ACCESS_REMOTE_WRITE);
	XT_OK(number_init(idle.qp));
	had = rights(&idle);
	/* The destination number is 0, which no queue pair has. */
	XT_EQ(change(&idle, IBV_QPS_RTR, 0, state | IBV_QP_AV |
		     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
		     IBV_QP_ACCESS_FLAGS), EINVAL);
	XT_EQ(rights(&idle), had);

	had = rights(&p.a);
	XT_EQ(change(&p.a, IBV_QPS_RTS, 0, state | IBV_QP_TIMEOUT), EINVAL);
	XT_EQ(change(&p.a, IBV_QPS_RTS, 0, IBV_QP_RETRY_CNT), EINVAL);
	XT_EQ(change(&p.a, IBV_QPS_RTS, IBV_QPS_INIT, state |
		     IBV_QP_CUR_STATE), EINVAL);
	XT_EQ(change(&p.a, IBV_QPS_RTS, IBV_QPS_RTR, state |
		     IBV_QP_CUR_STATE), EINVAL);
	XT_EQ(change(&p.a, IBV_QPS_INIT, 0, state | IBV_QP_ACCESS_FLAGS),
	      EINVAL);
	XT_EQ(change(&p.a, IBV_QPS_RTR, 0, state | IBV_QP_ACCESS_FLAGS),
	      EINVAL);
	XT_EQ(change(&p.a, IBV_QPS_ERR, 0, state | IBV_QP_ACCESS_FLAGS),
	      EINVAL);
	XT_EQ(change(&p.a, IBV_QPS_RESET, 0, state), EBUSY);
	XT_EQ(rights(&p.a), had);
	/* Changes that ULPs of rdma_cm may make */
	XT_EQ(change(&p.a, IBV_QPS_RTS, 0, state), 0);
	XT_EQ(change(&p.a, IBV_QPS_RTS, IBV_QPS_RTS, state |
		     IBV_QP_CUR_STATE), 0);
	XT_EQ(change(&p.a, 0, 0, IBV_QP_PORT), 0);
	XT_EQ(change(&p.a, IBV_QPS_RTS, 0, state | IBV_QP_ACCESS_FLAGS), 0);
	XT_EQ(rights(&p.a), IBV_ACCESS_REMOTE_WRITE);
	message(&p.b, &p.a, 1);
	message(&p.a, &p.b, 2);
	XT_OK(ibv_destroy_qp(idle.qp));
	/* SQD as in rdma_disconnect(): later the QP may be closing. */
	XT_EQ(change(&p.a, IBV_QPS_SQD, 0, state | IBV_QP_TIMEOUT), EINVAL);
	XT_EQ(change(&p.a, IBV_QPS_SQD, 0, state | IBV_QP_PORT), 0);
	XT_EQ(change(&p.a, 0, 0, IBV_QP_PORT), 0);
	XT_EQ(change(&p.a, IBV_QPS_ERR, 0, state), 0);
	xt_hang_up(&p, &p.a);
}

static int change_rnr_timer(struct xt_end *e, __u8 timer, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .min_rnr_timer = timer,
	};

	return ibv_modify_qp(e->qp, &attr, mask | IBV_QP_MIN_RNR_TIMER);
}

static int change_path(struct xt_end *e, enum ibv_mig_state to, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .path_mig_state = to,
		.alt_port_num = 1, .alt_ah_attr.port_num = 1,
	};

	return ibv_modify_qp(e->qp, &attr, mask);
}

/* Changes attributes of a queue pair in RTS; alternate paths are refused. */
static void change_more(struct xt_end *e, struct number_path *path)
{
	path->min_rnr_timer = 20;
	XT_OK(change_rnr_timer(e, 20, 0));
	told(e, path);
	path->min_rnr_timer = 4;
	XT_OK(change_rnr_timer(e, 4, IBV_QP_STATE));
	told(e, path);
	XT_EQ(change_path(e, IBV_MIG_MIGRATED, IBV_QP_PATH_MIG_STATE), 0);
	XT_EQ(change_path(e, IBV_MIG_REARM, IBV_QP_PATH_MIG_STATE), EINVAL);
	XT_EQ(change_path(e, IBV_MIG_ARMED, IBV_QP_PATH_MIG_STATE |
			  IBV_QP_STATE), EINVAL);
	XT_EQ(change_path(e, 0, IBV_QP_ALT_PATH), EINVAL);
	told(e, path);
}

/* The attributes that a query returns connect the queue pairs again. */
static void test_query_number(void)
{
	struct number_path path_a, path_b;
	struct ibv_qp_attr attr_a, attr_b;
	struct xt_end a, b;
	struct xt_pair p;

	xt_pair(&p, NULL, NULL);
	a = p.a;
	b = p.b;
	a.qp = new_qp(&a);
	b.qp = new_qp(&b);
	by_number(&a, &b, 7, &path_a);
	/*
	 * A query returns the same peer before and after the stream is
	 * established.
	 */
	told(&a, &path_a);
	by_number(&b, &a, 7, &path_b);
	message(&b, &a, 1);
	message(&a, &b, 2);
	XT_EQ(change(&a, IBV_QPS_RTS, 0, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS),
	      0);
	XT_EQ(rights(&a), IBV_ACCESS_REMOTE_WRITE);
	XT_EQ(change(&a, IBV_QPS_RTS, 0, IBV_QP_STATE | IBV_QP_TIMEOUT),
	      EINVAL);
	change_more(&a, &path_a);
	attr_a = told(&a, &path_a);
	attr_b = told(&b, &path_b);
	again(&a, attr_a);
	again(&b, attr_b);
	message(&b, &a, 3);
	message(&a, &b, 4);
	XT_OK(ibv_destroy_qp(a.qp));
	XT_OK(ibv_destroy_qp(b.qp));
}

/* A thread posts while the queue pair, connected by number, is reset. */
static void *post_on(void *arg)
{
	struct xt_end *e = arg;
	struct ibv_sge sge = xt_sge(&e->spare, 0, 1);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 1, &sge, 1);
	struct ibv_send_wr *bad;

	while (!atomic_load(&enough)) {
		ibv_post_send(e->qp, &wr, &bad);
		xt_try_recv(e, 1, &sge, 1);
	}
	return NULL;
}

/* Each request that was posted completes, and both queues are empty then. */
static void queues_fit(struct xt_end *e)
{
	struct ibv_sge sge = xt_sge(&e->spare, 0, 1);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 1, &sge, 1);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;
	unsigned int i;

	XT_OK(ibv_query_qp(e->qp, &attr, IBV_QP_CAP, &init));
	XT_OK(to_state(e, IBV_QPS_ERR));
	do
		i = ibv_poll_cq(e->scq, 1, &wc) + ibv_poll_cq(e->rcq, 1, &wc);
	while (i);
	for (i = 0; i < init.cap.max_send_wr; i++)
		XT_EQ(xt_try_send(e, &wr), 0);
	XT_EQ(xt_try_send(e, &wr), ENOMEM);
	for (i = 0; i < init.cap.max_recv_wr; i++)
		XT_EQ(xt_try_recv(e, i, &sge, 1), 0);
	XT_EQ(xt_try_recv(e, i, &sge, 1), ENOMEM);
}

/*
 * A request without an answer fails after a timeout, here ten minutes. The
 * timer must not start when the use has ended: the queue pair would exist for
 * as long. No peer ever connects.
 */
static void test_post_raced(void)
{
	struct number_path path = {
		.dest = 4711, .rd_atomic = 1, .min_rnr_timer = 12,
	};
	unsigned int n = xt_count(20);
	pthread_t thread;
	struct xt_end e;
	struct xt_pair p;
	__u64 begun;
	unsigned int i, k;

	xt_pair(&p, NULL, NULL);
	e = p.a;
	xt_enter(e.side);
	path.index = number_gid(e.id->verbs, e.side, &path.dgid);
	/* Another address of the same network, which no host has */
	path.dgid.raw[15] ^= 0x40;
	for (i = 0; i < n; i++) {
		e.qp = new_qp(&e);
		atomic_store(&enough, false);
		XT_OK(pthread_create(&thread, NULL, post_on, &e));
		for (k = 0; k < 50; k++) {
			XT_OK(number_init(e.qp));
			XT_OK(number_rtr(e.qp, &path));
			XT_OK(number_rts(e.qp, &path));
			XT_OK(to_state(&e, IBV_QPS_RESET));
		}
		atomic_store(&enough, true);
		XT_OK(pthread_join(thread, NULL));
		queues_fit(&e);
		begun = xt_now_us();
		XT_OK(ibv_destroy_qp(e.qp));
		XT_CHECK(xt_now_us() - begun < 60000000, "it took a minute");
	}
}

#define WRITTEN		(64 << 10)
#define WRITERS		8

struct stream {
	struct xt_end *from;
	struct xt_buf to;
};

/* Writes, each of another byte, until it fails. */
static void *write_on(void *arg)
{
	struct stream *s = arg;
	struct xt_buf from = xt_buf(s->from, WRITERS * WRITTEN, XT_LOCAL);
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	unsigned int i;
	int n;

	for (i = 0; i < WRITERS; i++)
		memset(from.p + i * WRITTEN, i + 1, WRITTEN);
	for (i = 0;; i++) {
		sge = xt_sge(&from, i % WRITERS * WRITTEN, WRITTEN);
		wr = xt_wr_to(IBV_WR_RDMA_WRITE, i, &sge, 1, &s->to, 0);
		if (xt_try_send(s->from, &wr))
			break;
		while (i >= WRITERS - 1 &&
		       !(n = ibv_poll_cq(s->from->scq, 1, &wc)))
			;
		if (i >= WRITERS - 1 && (n < 0 || wc.status))
			break;
	}
	return NULL;
}

/* After the change to the error state the peer writes no more. */
static void test_error_writes(void)
{
	int n = xt_count(20);
	struct stream s;
	struct xt_pair p;
	pthread_t thread;
	char *seen;
	int i;

	seen = XT_PTR(malloc(WRITTEN));
	for (i = 0; i < n; i++) {
		xt_pair(&p, NULL, NULL);
		s.from = &p.b;
		s.to = xt_buf(&p.a, WRITTEN, XT_REMOTE);
		memset(s.to.p, 0, WRITTEN);
		XT_OK(pthread_create(&thread, NULL, write_on, &s));
		/*
		 * Wait until all Writes have succeeded once, then for one of
		 * them.
		 */
		while (*(volatile char *)s.to.p != WRITERS)
			;
		while (*(volatile char *)s.to.p != 1 + i % WRITERS)
			;
		/* In every other round the connection is closing already. */
		if (i % 2)
			XT_OK(to_state(&p.a, IBV_QPS_SQD));
		XT_OK(to_state(&p.a, IBV_QPS_ERR));
		memcpy(seen, s.to.p, WRITTEN);
		/* When the peer has seen the end, no data is in flight. */
		XT_OK(pthread_join(thread, NULL));
		XT_CHECK(!memcmp(seen, s.to.p, WRITTEN),
			 "round %d: written to after the change of state", i);
	}
	free(seen);
}

/* The first post succeeds in a process without credentials. */
static void test_credentials(void)
{
	struct xt_pair p;
	int i;

	xt_pair(&p, NULL, NULL);
	if (geteuid())
		xt_skip("root has something to give up");
	XT_OK(setresuid(NOBODY, NOBODY, NOBODY));
	for (i = 0; i < 100; i++) {
		message(&p.b, &p.a, i);
		message(&p.a, &p.b, i);
	}
}

static const struct xt_case cases[] = {
	{ "destroy-full", "flushes of a destroyed queue pair take no room",
	  test_destroy_full },
	{ "destroy-polled", "queue pairs go while others poll",
	  test_destroy_polled },
	{ "destroy-quiet", "a queue pair that is destroyed raises no event",
	  test_destroy_quiet },
	{ "reset", "RESET forgets requests and completions", test_reset },
	{ "reset-raced", "RESET beside another change of the state",
	  test_reset_raced },
	{ "disconnect-raced", "destruction beside a disconnect",
	  test_disconnect_raced },
	{ "depths", "the depths that were agreed upon stay", test_depths },
	{ "query", "attributes never set read as zero", test_query },
	{ "masks", "attributes without a meaning in a state are refused",
	  test_masks },
	{ "query-number", "the set attributes are reported, and connect again",
	  test_query_number },
	{ "post-raced", "RESET beside posts, connected by number",
	  test_post_raced },
	{ "error-writes", "the error state ends what the peer writes",
	  test_error_writes },
	{ "credentials", "posting goes on without the credentials of the open",
	  test_credentials },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
