// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What page-ins of regions on demand allocate is charged to the control group
 * of the process. XT_GROUP has its directory.
 */
#include "xt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A page table of x86 maps this much. */
#define TABLE		(2UL << 20)
#define TABLES		4096UL
#define AT_A_TIME	512

/* Bytes of page tables that are charged to the group */
static unsigned long long charged(void)
{
	const char *group = getenv("XT_GROUP");
	unsigned long long value = 0;
	char path[256];
	char line[256];
	FILE *f;

	XT_CHECK(group, "no XT_GROUP");
	snprintf(path, sizeof(path), "%s/memory.stat", group);
	f = XT_PTR(fopen(path, "r"));
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "pagetables %llu", &value) == 1)
			break;
	fclose(f);
	return value;
}

/* Reads of absent anonymous memory allocate page tables, and no pages. */
static void test_tables(void)
{
	static struct ibv_sge sge[AT_A_TIME];
	unsigned long long before;
	struct ibv_mr *mr;
	struct xt_pair p;
	size_t i;
	__u8 *m;

	xt_pair(&p, NULL, NULL);
	m = mmap(NULL, TABLES * TABLE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	XT_CHECK(m != MAP_FAILED, "mmap: %m");
	XT_OK(madvise(m, TABLES * TABLE, MADV_NOHUGEPAGE));
	mr = XT_PTR(ibv_reg_mr(p.a.pd, m, TABLES * TABLE,
			       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND));
	before = charged();
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
	xt_note("%llu KiB charged for %lu page tables",
		(charged() - before) >> 10, TABLES);
	XT_CHECK(charged() - before > TABLES * sysconf(_SC_PAGESIZE) / 2,
		 "page tables are not charged to the group");
	XT_OK(ibv_dereg_mr(mr));
	XT_OK(munmap(m, TABLES * TABLE));
	xt_hang_up(&p, &p.b);
}

static const struct xt_case cases[] = {
	{ "tables", "page tables are charged to the group of the process",
	  test_tables },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
