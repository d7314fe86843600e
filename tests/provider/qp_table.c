// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The table of queue pairs by number.
 */
#include <stdlib.h>

#include "fake.h"

enum {
	TABLE_QPS = 1000,
};

static bool no_memory;

void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : __real_calloc(n, size);
}

static bool is_in(struct xiw_qp_table *table,
		  const struct xiw_qp_link *link)
{
	return xiw_qp_table_find(table, link->qpn) == link->qp;
}

/* Add all, then remove every second one, then the others. */
static void table_case(struct xiw_qp_table *table, struct xiw_qp_link *links)
{
	/* Only addresses: the table does not look inside. */
	static char qps[TABLE_QPS];
	unsigned int seed = 7;
	int i;

	for (i = 0; i < TABLE_QPS; i++) {
		links[i].qp = (struct xiw_qp *)&qps[i];
		/* All different, some with the same low bits. */
		links[i].qpn = (i & 7 ? rand_r(&seed) & 0xfff : 0) |
			       (uint32_t)i << 12;
		CHECK(!xiw_qp_table_find(table, links[i].qpn));
		xiw_qp_table_add(table, &links[i]);
		CHECK(is_in(table, &links[i]) && is_in(table, &links[0]));
	}
	for (i = 0; i < TABLE_QPS; i += 2)
		xiw_qp_table_remove(table, &links[i]);
	for (i = 0; i < TABLE_QPS; i++)
		CHECK(i & 1 ? is_in(table, &links[i]) :
		      !xiw_qp_table_find(table, links[i].qpn));
	for (i = 1; i < TABLE_QPS; i += 2)
		xiw_qp_table_remove(table, &links[i]);
	CHECK(table->count == 0);
}

void test_qp_table(void)
{
	static struct xiw_qp_link links[TABLE_QPS];
	struct xiw_qp_table table;
	struct xiw_qp_link twin;

	xiw_qp_table_init(&table);
	CHECK(!xiw_qp_table_find(&table, 0));
	table_case(&table, links);
	CHECK(table.mask >= TABLE_QPS / 2);
	/* A number is used again before the old queue pair is removed. */
	xiw_qp_table_add(&table, &links[0]);
	CHECK(is_in(&table, &links[0]));
	twin = (struct xiw_qp_link){ .qp = links[1].qp, .qpn = links[0].qpn };
	xiw_qp_table_add(&table, &twin);
	xiw_qp_table_remove(&table, &links[0]);
	CHECK(is_in(&table, &twin));
	xiw_qp_table_remove(&table, &twin);
	xiw_qp_table_destroy(&table);
}

void test_qp_table_no_memory(void)
{
	static struct xiw_qp_link links[TABLE_QPS];
	struct xiw_qp_table table;

	no_memory = true;
	xiw_qp_table_init(&table);
	table_case(&table, links);
	CHECK(table.mask == 0);
	xiw_qp_table_destroy(&table);
	no_memory = false;
}
