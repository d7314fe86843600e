// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A receive into a page of FILE, which is on a frozen file system: the fault
 * never ends. The process says so, and waits to be killed.
 *
 *	xt_odp_stuck FILE PASSIVE ACTIVE
 */
#include "xt.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALL	(XT_REMOTE | IBV_ACCESS_ON_DEMAND)

int main(int argc, char **argv)
{
	struct xt_buf from, to = { .len = XT_PAGE };
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct xt_pair p;
	struct ibv_wc wc;
	int fd;

	XT_EQ(argc, 4);
	xt_side_set(&xt_a, argv[2]);
	xt_side_set(&xt_b, argv[3]);
	fd = open(argv[1], O_RDWR);
	XT_CHECK(fd >= 0, "%s: %m", argv[1]);
	xt_pair(&p, NULL, NULL);
	from = xt_buf(&p.b, XT_PAGE, XT_LOCAL);
	to.p = mmap(NULL, XT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	XT_CHECK(to.p != MAP_FAILED, "mmap: %m");
	to.mr = XT_PTR(ibv_reg_mr(p.a.pd, to.p, XT_PAGE, ALL));
	sge = xt_sge(&to, 0, XT_PAGE);
	xt_recv(&p.a, 1, &sge, 1);
	sge = xt_sge(&from, 0, XT_PAGE);
	wr = xt_wr(IBV_WR_SEND, 2, &sge, 1);
	xt_send(&p.b, &wr);
	xt_wc_ok(p.b.scq, 2);
	printf("waits\n");
	fflush(stdout);
	xt_wait(p.a.rcq, &wc);
	xt_fail(__FILE__, __LINE__, "the receive has completed: %s",
		xt_wc_name(wc.status));
}
