// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pairs of a user without privileges that connect by number, again and
 * again, to peers that are not there.
 *
 *	xt_tries COUNT SIDE PEER SPREAD
 *
 * Makes COUNT queue pairs on the device of SIDE and names each a peer: the first
 * one PEER, the next one the address behind it, SPREAD addresses in turn. Prints
 * "trying", and waits until it is killed. If no peer can be named, prints the
 * error and fails.
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

int main(int argc, char **argv)
{
	struct number_path path = { .rq_psn = 1, .sq_psn = 1, .rd_atomic = 1 };
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = 1, .max_sge = 1 },
	};
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	union ibv_gid own;
	struct xt_end e;
	int spread;
	int count;
	int err;
	int i;

	XT_CHECK(argc == 5, "usage: %s COUNT SIDE PEER SPREAD", argv[0]);
	count = atoi(argv[1]);
	spread = atoi(argv[4]);
	xt_side_set(&xt_a, argv[2]);
	xt_side_set(&xt_b, argv[3]);
	xt_id(&e, &xt_a);
	XT_OK(rdma_bind_addr(e.id, (struct sockaddr *)&xt_a.sa));
	pd = XT_PTR(ibv_alloc_pd(e.id->verbs));
	cq = XT_PTR(ibv_create_cq(e.id->verbs, 16, NULL, NULL, 0));
	srq = XT_PTR(ibv_create_srq(pd, &srq_attr));
	path.index = number_gid(e.id->verbs, &xt_a, &own);
	path.dgid = own;
	memcpy(path.dgid.raw + 12,
	       &((struct sockaddr_in *)&xt_b.sa)->sin_addr, 4);
	XT_OK(setresuid(NOBODY, NOBODY, NOBODY));
	for (i = 0; i < count; i++) {
		path.dest = 2 + i;
		err = number_rtr(make(pd, cq, srq), &path);
		if (err) {
			printf("error: %s\n", strerror(err));
			return 1;
		}
		path.dgid.raw[15] += (i + 1) % spread ? 1 : 1 - spread;
	}
	printf("trying\n");
	fflush(stdout);
	pause();
	return 0;
}
