// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What page-ins of regions on demand allocate is charged to the control group
 * of the process. XT_GROUP has its directory.
 */
#include "xt.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A page table of x86 maps this much. */
#define TABLE		(2UL << 20)
#define TABLES		4096UL
#define AT_A_TIME	512

/* Streams that wait, each for as many pages as a receive can have */
#define STREAMS		128
#define PAGES		32

/* Bytes of a kind in memory.stat that are charged to the group */
static long long charged(const char *kind)
{
	const char *group = getenv("XT_GROUP");
	long long value = 0;
	char format[64];
	char path[256];
	char line[256];
	FILE *f;

	XT_CHECK(group, "no XT_GROUP");
	snprintf(path, sizeof(path), "%s/memory.stat", group);
	snprintf(format, sizeof(format), "%s %%lld", kind);
	f = XT_PTR(fopen(path, "r"));
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, format, &value) == 1)
			break;
	fclose(f);
	return value;
}

/* Reads of absent anonymous memory allocate page tables, and no pages. */
static void test_tables(void)
{
	static struct ibv_sge sge[AT_A_TIME];
	struct ibv_mr *mr;
	struct xt_pair p;
	long long before;
	size_t i;
	__u8 *m;

	xt_pair(&p, NULL, NULL);
	m = mmap(NULL, TABLES * TABLE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	XT_CHECK(m != MAP_FAILED, "mmap: %m");
	XT_OK(madvise(m, TABLES * TABLE, MADV_NOHUGEPAGE));
	mr = XT_PTR(ibv_reg_mr(p.a.pd, m, TABLES * TABLE,
			       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND));
	before = charged("pagetables");
	for (i = 0; i < TABLES; i++) {
		sge[i % AT_A_TIME].addr = (uintptr_t)m + i * TABLE;
		sge[i % AT_A_TIME].length = 1;
		sge[i % AT_A_TIME].lkey = mr->lkey;
		if (i % AT_A_TIME == AT_A_TIME - 1)
			XT_OK(ibv_advise_mr(p.a.pd,
					    IBV_ADVISE_MR_ADVICE_PREFETCH,
					    IBV_ADVISE_MR_FLAG_FLUSH, sge,
					    AT_A_TIME));
	}
	before = charged("pagetables") - before;
	xt_note("%lld KiB charged for %lu page tables", before >> 10, TABLES);
	XT_CHECK(before > (long long)TABLES * sysconf(_SC_PAGESIZE) / 2,
		 "page tables are not charged to the group");
	XT_OK(ibv_dereg_mr(mr));
	XT_OK(munmap(m, TABLES * TABLE));
	xt_hang_up(&p, &p.b);
}

/* Memory whose faults wait until @fd is closed */
static __u8 *unanswered(int *fd)
{
	struct uffdio_register reg = {
		.range.len = PAGES * XT_PAGE,
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_api api = { .api = UFFD_API };
	__u8 *m;

	*fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (*fd < 0)
		xt_skip("no userfaultfd: %m");
	m = mmap(NULL, PAGES * XT_PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	XT_CHECK(m != MAP_FAILED, "mmap: %m");
	reg.range.start = (uintptr_t)m;
	XT_OK(ioctl(*fd, UFFDIO_API, &api));
	XT_OK(ioctl(*fd, UFFDIO_REGISTER, &reg));
	return m;
}

/* Lets a stream wait for all pages of @mr: one byte belongs in each. */
static void wait_for_pages(struct xt_pair *p, const struct ibv_mr *mr)
{
	struct ibv_sge sge[PAGES];
	struct ibv_sge from = xt_sge(&p->b.spare, 0, PAGES);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 2, &from, 1);
	int i;

	for (i = 0; i < PAGES; i++) {
		sge[i].addr = (uintptr_t)mr->addr + i * XT_PAGE;
		sge[i].length = 1;
		sge[i].lkey = mr->lkey;
	}
	xt_recv(&p->a, 1, sge, PAGES);
	xt_send(&p->b, &wr);
	xt_wc_ok(p->b.scq, 2);
}

/* Requests of streams for pages that are absent as long as a process likes */
static void test_requests(void)
{
	static struct xt_pair p[STREAMS];
	static struct ibv_mr *mr[STREAMS];
	struct xt_opts o = XT_OPTS;
	long long least = STREAMS * PAGES * 50LL;
	long long before, got = 0;
	int fd, i;
	__u8 *m;

	m = unanswered(&fd);
	o.recv_sge = PAGES;
	for (i = 0; i < STREAMS; i++) {
		xt_pair(&p[i], &o, NULL);
		mr[i] = XT_PTR(ibv_reg_mr(p[i].a.pd, m, PAGES * XT_PAGE,
					  XT_LOCAL | IBV_ACCESS_ON_DEMAND));
	}
	before = charged("slab_unreclaimable");
	for (i = 0; i < STREAMS; i++)
		wait_for_pages(&p[i], mr[i]);
	/* The kernel updates its statistics every two seconds. */
	for (i = 0; i < 100 && got < least; i++) {
		poll(NULL, 0, 100);
		got = charged("slab_unreclaimable") - before;
	}
	xt_note("%lld KiB charged for %d requests", got >> 10, STREAMS);
	XT_CHECK(got >= least, "requests are not charged to the group");
	XT_OK(close(fd));
	for (i = 0; i < STREAMS; i++) {
		xt_wc_ok(p[i].a.rcq, 1);
		XT_OK(ibv_dereg_mr(mr[i]));
		xt_hang_up(&p[i], &p[i].b);
	}
	XT_OK(munmap(m, PAGES * XT_PAGE));
}

static const struct xt_case cases[] = {
	{ "tables", "page tables are charged to the group of the process",
	  test_tables },
	{ "requests", "requests of streams for pages are charged to it as well",
	  test_requests },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
