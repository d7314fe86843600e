// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Several threads call verbs at random on the same queue pairs of two devices:
 * they create, destroy, reset and post, and change states to connect by number,
 * with peers and PSNs that sometimes match. The only claims are that each call
 * returns, and that in the end two new queue pairs connect and carry a message
 * in each direction.
 *
 * xt_anyhow SIDE-A SIDE-B SECONDS
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "number.h"

#define PLACES	12
#define THREADS	6
#define DEPTH	16
#define PSNS	2

/**
 * struct side - one of the devices
 * @side: its namespace and address
 * @any: has the context of the device
 * @pd: protection domain
 * @cq: completion queue of all queue pairs
 * @index: index of @gid
 * @gid: GID of its address
 * @buf: buffer of all messages
 */
struct side {
	const struct xt_side *side;
	struct xt_end any;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	int index;
	union ibv_gid gid;
	struct xt_buf buf;
};

/**
 * struct place - slot of a queue pair; even slots are for side 0
 * @lock: taken for writing to destroy and create the queue pair
 * @qp: the queue pair, NULL if it could not be made
 * @number: its number, read by others without the lock
 */
struct place {
	pthread_rwlock_t lock;
	struct ibv_qp *qp;
	__u32 number;
};

static struct side sides[2];
static struct place places[PLACES];
static __u64 end_us;

static struct side *side_of(int place)
{
	return &sides[place % 2];
}

static void set_up(struct side *s, const struct xt_side *side)
{
	struct sockaddr_storage sa = xt_addr(side, 0);

	s->side = side;
	xt_id(&s->any, side);
	xt_listen(&s->any, &sa, 1);
	s->pd = XT_PTR(ibv_alloc_pd(s->any.id->verbs));
	s->cq = XT_PTR(ibv_create_cq(s->any.id->verbs, 4096, NULL, NULL, 0));
	s->buf = xt_buf_at(s->pd, 4096, 0, XT_REMOTE);
	s->index = number_gid(s->any.id->verbs, side, &s->gid);
}

static struct ibv_qp *make(struct side *s)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.send_cq = s->cq, .recv_cq = s->cq,
	};

	return ibv_create_qp(s->pd, &attr);
}

static int to_rtr(struct side *s, struct ibv_qp *qp, const union ibv_gid *dgid,
		  __u32 peer, __u32 psn)
{
	struct number_path path = {
		.index = s->index, .dgid = *dgid, .dest = peer, .rq_psn = psn,
		.rd_atomic = 4, .min_rnr_timer = 12,
	};

	xt_enter(s->side);
	return number_rtr(qp, &path);
}

static int to_rts(struct ibv_qp *qp, __u32 psn)
{
	struct number_path path = {
		.sq_psn = psn, .rd_atomic = 4, .timeout = 14,
	};

	return number_rts(qp, &path);
}

static int to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static int post(struct side *s, struct ibv_qp *qp, bool send)
{
	struct ibv_sge sge = xt_sge(&s->buf, 0, 64);
	struct ibv_send_wr swr = { .sg_list = &sge, .num_sge = 1,
				   .opcode = IBV_WR_SEND };
	struct ibv_recv_wr rwr = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad_swr;
	struct ibv_recv_wr *bad_rwr;

	return send ? ibv_post_send(qp, &swr, &bad_swr) :
		      ibv_post_recv(qp, &rwr, &bad_rwr);
}

static void poll_some(struct side *s)
{
	struct ibv_wc wc[16];

	ibv_poll_cq(s->cq, 16, wc);
}

/* The lock of the place is held for reading. */
static void step(int at, unsigned int what, unsigned int chance)
{
	struct side *s = side_of(at), *other = side_of(at + 1);
	struct ibv_qp *qp = places[at].qp;
	/* Draws a peer: mostly the neighbour in the array of places. */
	int peer = chance % 8 ? at ^ 1 : (int)(chance / 8 % PLACES);

	if (!qp)
		return;
	switch (what % 10) {
	case 0:
		to_state(qp, IBV_QPS_RESET);
		break;
	case 1:
		to_state(qp, IBV_QPS_ERR);
		break;
	case 2:
	case 3:
		number_init(qp);
		to_rtr(s, qp, &other->gid, places[peer].number, chance % PSNS);
		break;
	case 4:
	case 5:
		to_rts(qp, chance / 2 % PSNS);
		break;
	case 6:
	case 7:
		post(s, qp, true);
		break;
	case 8:
		post(s, qp, false);
		break;
	default:
		poll_some(s);
	}
}

static void replace(int at)
{
	struct place *p = &places[at];

	pthread_rwlock_wrlock(&p->lock);
	if (p->qp)
		ibv_destroy_qp(p->qp);
	p->qp = make(side_of(at));
	p->number = p->qp ? p->qp->qp_num : 2;
	pthread_rwlock_unlock(&p->lock);
}

static void *run(void *arg)
{
	unsigned int seed = (uintptr_t)arg + 1;
	int at;

	while (xt_now_us() < end_us) {
		at = rand_r(&seed) % PLACES;
		if (!(rand_r(&seed) % 24)) {
			replace(at);
			continue;
		}
		pthread_rwlock_rdlock(&places[at].lock);
		step(at, rand_r(&seed) / 16, rand_r(&seed) / 16);
		pthread_rwlock_unlock(&places[at].lock);
	}
	return NULL;
}

static void await(struct side *s)
{
	__u64 end = xt_now_us() + 60 * 1000000ULL;
	struct ibv_wc wc;
	int left = 2;

	while (left) {
		XT_CHECK(xt_now_us() < end, "no completion");
		if (!ibv_poll_cq(s->cq, 1, &wc))
			continue;
		XT_CHECK(wc.status == IBV_WC_SUCCESS, "status %d", wc.status);
		left--;
	}
}

/* Two fresh queue pairs, after the random calls. */
static void connect_two(void)
{
	struct ibv_qp *qp[2];
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 2; i++) {
		while (ibv_poll_cq(sides[i].cq, 1, &wc) > 0)
			;
		qp[i] = XT_PTR(make(&sides[i]));
		XT_OK(number_init(qp[i]));
		XT_OK(post(&sides[i], qp[i], false));
	}
	for (i = 0; i < 2; i++) {
		XT_OK(to_rtr(&sides[i], qp[i], &sides[!i].gid, qp[!i]->qp_num,
			     5 + !i));
		XT_OK(to_rts(qp[i], 5 + i));
		XT_OK(post(&sides[i], qp[i], true));
	}
	for (i = 0; i < 2; i++)
		await(&sides[i]);
	for (i = 0; i < 2; i++)
		XT_OK(ibv_destroy_qp(qp[i]));
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	uintptr_t i;

	XT_CHECK(argc == 4, "usage: %s SIDE-A SIDE-B SECONDS", argv[0]);
	xt_side_set(&xt_a, argv[1]);
	xt_side_set(&xt_b, argv[2]);
	set_up(&sides[0], &xt_a);
	set_up(&sides[1], &xt_b);
	for (i = 0; i < PLACES; i++) {
		pthread_rwlock_init(&places[i].lock, NULL);
		replace(i);
	}
	end_us = xt_now_us() + atoi(argv[3]) * 1000000ULL;
	printf("running\n");
	fflush(stdout);
	for (i = 0; i < THREADS; i++)
		XT_OK(pthread_create(&thread[i], NULL, run, (void *)i));
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < PLACES; i++) {
		if (places[i].qp)
			XT_OK(ibv_destroy_qp(places[i].qp));
	}
	connect_two();
	return 0;
}
