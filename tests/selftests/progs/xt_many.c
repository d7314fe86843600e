// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Many connections, set up at once by one process that has all ends, by number
 * or by rdma_cm. Each carries a message in both directions, and then all are
 * torn down at once.
 *
 *	xt_many number|cm COUNT ROUNDS SIDE-A SIDE-B
 *
 * Prints a line for each round: milliseconds for resolving addresses (with
 * rdma_cm), creating queue pairs, connecting until all messages have arrived,
 * and tearing down. A first connection, which is not counted, resolves
 * neighbours and routes.
 */
#include <stdio.h>
#include <string.h>

#include "number.h"

#define MAX		1024
#define DEPTH		4
#define RESOLVE_MS	2000

/**
 * struct side - one of the devices
 * @any: has the context of the device; for side 0 also the listener
 * @pd: protection domain
 * @cq: completion queue of all queue pairs
 * @buf: buffer of all messages
 * @index: index of @gid
 * @gid: GID of its address
 * @qp: its queue pairs
 * @id: their identifiers, if rdma_cm connects them
 */
static struct side {
	struct xt_end any;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct xt_buf buf;
	int index;
	union ibv_gid gid;
	struct ibv_qp *qp[MAX];
	struct rdma_cm_id *id[MAX];
} sides[2];

static struct rdma_event_channel *events;
static struct sockaddr_storage listener;
static bool by_cm;
static int count;

static void set_up(struct side *s, const struct xt_side *side)
{
	struct sockaddr_storage sa = xt_addr(side, 0);
	struct ibv_comp_channel *comp;
	int port;

	xt_id(&s->any, side);
	port = xt_listen(&s->any, &sa, MAX);
	if (s == &sides[0]) {
		listener = xt_addr(side, port);
		XT_OK(rdma_migrate_id(s->any.id, events));
	}
	s->pd = XT_PTR(ibv_alloc_pd(s->any.id->verbs));
	comp = XT_PTR(ibv_create_comp_channel(s->any.id->verbs));
	s->cq = XT_PTR(ibv_create_cq(s->any.id->verbs, 4 * MAX, comp, comp, 0));
	s->buf = xt_buf_at(s->pd, 64, 0, XT_LOCAL);
	if (!by_cm)
		s->index = number_gid(s->any.id->verbs, side, &s->gid);
}

static void make(struct side *s, int i)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.send_cq = s->cq, .recv_cq = s->cq,
	};
	struct ibv_sge sge = xt_sge(&s->buf, 0, s->buf.len);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	if (by_cm) {
		XT_OK(rdma_create_qp(s->id[i], s->pd, &attr));
		s->qp[i] = s->id[i]->qp;
	} else {
		s->qp[i] = XT_PTR(ibv_create_qp(s->pd, &attr));
		XT_OK(number_init(s->qp[i]));
	}
	XT_OK(ibv_post_recv(s->qp[i], &wr, &bad));
}

static void message(struct side *s, int i)
{
	struct ibv_sge sge = xt_sge(&s->buf, 0, 16);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, i, &sge, 1);
	struct ibv_send_wr *bad;

	XT_OK(ibv_post_send(s->qp[i], &wr, &bad));
}

/* Both messages of each connection, at either end of it. */
static void await_messages(void)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 4 * count; i++) {
		xt_wait(sides[i % 2].cq, &wc);
		XT_CHECK(wc.status == IBV_WC_SUCCESS, "%s",
			 xt_wc_name(wc.status));
	}
}

static void name_peers(int i)
{
	struct number_path path = {
		.rq_psn = i, .sq_psn = i, .rd_atomic = 4, .min_rnr_timer = 12,
		.timeout = 18,
	};
	int k;

	for (k = 0; k < 2; k++) {
		xt_enter(sides[k].any.side);
		path.index = sides[k].index;
		path.dgid = sides[!k].gid;
		path.dest = sides[!k].qp[i]->qp_num;
		XT_OK(number_rtr(sides[k].qp[i], &path));
		XT_OK(number_rts(sides[k].qp[i], &path));
		message(&sides[k], i);
	}
}

/* ---- rdma_cm ----------------------------------------------------------- */

static struct rdma_conn_param param = {
	.responder_resources = 4, .initiator_depth = 4,
};

static void resolve(void)
{
	struct xt_end e = { .ch = events };
	struct xt_event ev;
	int left = count;
	int i;

	xt_enter(sides[1].any.side);
	for (i = 0; i < count; i++) {
		XT_OK(rdma_create_id(events, &sides[1].id[i], NULL,
				     RDMA_PS_TCP));
		XT_OK(rdma_resolve_addr(sides[1].id[i], NULL,
					(struct sockaddr *)&listener,
					RESOLVE_MS));
	}
	while (left) {
		xt_next_event(&e, &ev);
		if (ev.type == RDMA_CM_EVENT_ADDR_ERROR) {
			XT_OK(rdma_resolve_addr(ev.id, NULL,
						(struct sockaddr *)&listener,
						RESOLVE_MS));
		} else if (ev.type == RDMA_CM_EVENT_ADDR_RESOLVED) {
			XT_OK(rdma_resolve_route(ev.id, RESOLVE_MS));
		} else {
			XT_EQ(ev.type, RDMA_CM_EVENT_ROUTE_RESOLVED);
			left--;
		}
	}
}

static int place_of(const struct rdma_cm_id *id, int *side)
{
	int i;

	for (i = 0; i < 2 * count; i++) {
		*side = i % 2;
		if (sides[i % 2].id[i / 2] == id)
			return i / 2;
	}
	XT_CHECK(false, "an event of nobody");
}

static void dial(void)
{
	struct xt_end e = { .ch = events };
	struct xt_event ev;
	int left = 2 * count;
	int asked = 0;
	int side;
	int i;

	for (i = 0; i < count; i++)
		XT_OK(rdma_connect(sides[1].id[i], &param));
	while (left) {
		xt_next_event(&e, &ev);
		if (ev.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			sides[0].id[asked] = ev.id;
			make(&sides[0], asked++);
			XT_OK(rdma_accept(ev.id, &param));
			continue;
		}
		XT_CHECK(ev.type == RDMA_CM_EVENT_ESTABLISHED, "event %s (%d)",
			 rdma_event_str(ev.type), ev.status);
		i = place_of(ev.id, &side);
		message(&sides[side], i);
		left--;
	}
}

/* ---- rounds ------------------------------------------------------------ */

static double lap(__u64 *since)
{
	__u64 now = xt_now_us();
	double ms = (now - *since) / 1000.0;

	*since = now;
	return ms;
}

static void tear_down(void)
{
	int i;

	for (i = 0; i < 2 * count; i++)
		XT_OK(ibv_destroy_qp(sides[i % 2].qp[i / 2]));
	for (i = 0; by_cm && i < 2 * count; i++) {
		sides[i % 2].id[i / 2]->qp = NULL;
		XT_OK(rdma_destroy_id(sides[i % 2].id[i / 2]));
	}
}

static void run_round(bool told)
{
	__u64 since = xt_now_us();
	double ms[4];
	int i;

	if (by_cm)
		resolve();
	ms[0] = lap(&since);
	for (i = 0; i < count; i++) {
		make(&sides[1], i);
		if (!by_cm)
			make(&sides[0], i);
	}
	ms[1] = lap(&since);
	if (by_cm)
		dial();
	else
		for (i = 0; i < count; i++)
			name_peers(i);
	await_messages();
	ms[2] = lap(&since);
	tear_down();
	ms[3] = lap(&since);
	if (told)
		printf("%.1f %.1f %.1f %.1f\n", ms[0], ms[1], ms[2], ms[3]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int rounds;

	XT_CHECK(argc == 6, "usage: %s number|cm COUNT ROUNDS SIDE-A SIDE-B",
		 argv[0]);
	by_cm = !strcmp(argv[1], "cm");
	rounds = atoi(argv[3]);
	xt_side_set(&xt_a, argv[4]);
	xt_side_set(&xt_b, argv[5]);
	events = XT_PTR(rdma_create_event_channel());
	set_up(&sides[0], &xt_a);
	set_up(&sides[1], &xt_b);
	count = 1;
	run_round(false);
	count = atoi(argv[2]);
	XT_CHECK(count > 0 && count <= MAX, "COUNT is 1 to %d", MAX);
	while (rounds--)
		run_round(true);
	return 0;
}
