// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pairs of a user without privileges that connect by number, again and
 * again, to peers that are not there.
 *
 *	xt_tries COUNT SIDE PEER SPREAD [again|DEVICE]
 *
 * Makes COUNT queue pairs on the device of SIDE, or on DEVICE, and names each a
 * peer: the first one PEER, the next one the address behind it, SPREAD
 * addresses in turn; or itself if SPREAD is 0. Prints "trying", and waits until
 * it is killed. "again" resets and names them until then, and prints "round"
 * after each round. If no peer can be named, prints the error and fails.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "number.h"

#define NOBODY	65534

static struct ibv_qp *make(struct ibv_pd *pd, struct ibv_cq *cq,
			   struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.srq = srq,
	};
	struct ibv_qp *qp = XT_PTR(ibv_create_qp(pd, &attr));

	XT_OK(number_init(qp));
	return qp;
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = XT_PTR(ibv_get_device_list(NULL));
	int i;

	for (i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return XT_PTR(ibv_open_device(list[i]));
	XT_CHECK(false, "no device %s", name);
}

/* Copies the address of @side into a GID of the same family. */
static void set_gid(union ibv_gid *gid, const struct xt_side *side)
{
	if (side->sa.ss_family == AF_INET6)
		memcpy(gid->raw,
		       &((struct sockaddr_in6 *)&side->sa)->sin6_addr, 16);
	else
		memcpy(gid->raw + 12,
		       &((struct sockaddr_in *)&side->sa)->sin_addr, 4);
}

/* Names each queue pair its peer; prints the error and ends if that fails. */
static void name_all(struct ibv_qp **qps, int count, int spread,
		     struct number_path path)
{
	int err;
	int i;

	for (i = 0; i < count; i++) {
		path.dest = spread ? 2 + (__u32)i : qps[i]->qp_num;
		err = number_rtr(qps[i], &path);
		if (err) {
			printf("error: %s\n", strerror(err));
			exit(1);
		}
		if (spread)
			path.dgid.raw[15] += (i + 1) % spread ? 1 : 1 - spread;
	}
}

static void reset_all(struct ibv_qp **qps, int count)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	int i;

	for (i = 0; i < count; i++) {
		XT_OK(ibv_modify_qp(qps[i], &attr, IBV_QP_STATE));
		XT_OK(number_init(qps[i]));
	}
}

int main(int argc, char **argv)
{
	struct number_path path = { .rq_psn = 1, .sq_psn = 1, .rd_atomic = 1 };
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = 1, .max_sge = 1 },
	};
	const char *option = argc == 6 ? argv[5] : NULL;
	struct ibv_context *ctx;
	struct ibv_srq *srq;
	struct ibv_qp **qps;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	union ibv_gid own;
	struct xt_end e;
	bool again;
	int spread;
	int count;
	int i;

	XT_CHECK(argc == 5 || argc == 6,
		 "usage: %s COUNT SIDE PEER SPREAD [again|DEVICE]", argv[0]);
	again = option && !strcmp(option, "again");
	count = atoi(argv[1]);
	spread = atoi(argv[4]);
	xt_side_set(&xt_a, argv[2]);
	xt_side_set(&xt_b, argv[3]);
	xt_id(&e, &xt_a);
	if (option && !again) {
		ctx = open_device(option);
	} else {
		XT_OK(rdma_bind_addr(e.id, (struct sockaddr *)&xt_a.sa));
		ctx = e.id->verbs;
	}
	pd = XT_PTR(ibv_alloc_pd(ctx));
	cq = XT_PTR(ibv_create_cq(ctx, 16, NULL, NULL, 0));
	srq = XT_PTR(ibv_create_srq(pd, &srq_attr));
	path.index = number_gid(ctx, &xt_a, &own);
	path.dgid = own;
	set_gid(&path.dgid, &xt_b);
	XT_OK(setresuid(NOBODY, NOBODY, NOBODY));
	qps = XT_PTR(calloc(count, sizeof(*qps)));
	for (i = 0; i < count; i++)
		qps[i] = make(pd, cq, srq);
	name_all(qps, count, spread, path);
	printf("trying\n");
	fflush(stdout);
	while (again) {
		reset_all(qps, count);
		name_all(qps, count, spread, path);
		printf("round\n");
		fflush(stdout);
	}
	pause();
	return 0;
}
