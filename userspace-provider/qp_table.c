// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Add and remove the queue pairs of a completion queue.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "qp_table.h"

void xiw_qp_table_init(struct xiw_qp_table *table)
{
	*table = (struct xiw_qp_table){ .heads = &table->first };
}

void xiw_qp_table_destroy(struct xiw_qp_table *table)
{
	if (table->heads != &table->first)
		free(table->heads);
}

static void table_push(struct xiw_qp_table *table, struct xiw_qp_link *link)
{
	struct xiw_qp_link **head = &table->heads[link->qpn & table->mask];

	link->next = *head;
	*head = link;
}

/* Double the number of chains. Without memory the chains get longer. */
static void table_grow(struct xiw_qp_table *table)
{
	struct xiw_qp_table old = *table;
	struct xiw_qp_link **heads;
	struct xiw_qp_link *link;
	uint32_t i;

	heads = calloc(2 * ((size_t)old.mask + 1), sizeof(*heads));
	if (!heads)
		return;
	table->heads = heads;
	table->mask = 2 * old.mask + 1;
	if (old.heads == &table->first)
		old.heads = &old.first;
	for (i = 0; i <= old.mask; i++) {
		while ((link = old.heads[i])) {
			old.heads[i] = link->next;
			table_push(table, link);
		}
	}
	if (old.heads != &old.first)
		free(old.heads);
}

void xiw_qp_table_add(struct xiw_qp_table *table, struct xiw_qp_link *link)
{
	link->next = __atomic_load_n(&table->added, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&table->added, &link->next, link,
					    false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

/* Move new links to the chains, the oldest one first. */
void xiw_qp_table_settle(struct xiw_qp_table *table)
{
	struct xiw_qp_link *oldest = NULL;
	struct xiw_qp_link *link;
	struct xiw_qp_link *next;

	link = __atomic_exchange_n(&table->added, NULL, __ATOMIC_ACQUIRE);
	for (; link; link = next) {
		next = link->next;
		link->next = oldest;
		oldest = link;
	}
	for (link = oldest; link; link = next) {
		next = link->next;
		table->count++;
		if (table->count > table->mask + 1)
			table_grow(table);
		table_push(table, link);
	}
}

/* Finds @link by address: another queue pair may have its number by now. */
void xiw_qp_table_remove(struct xiw_qp_table *table, struct xiw_qp_link *link)
{
	struct xiw_qp_link **at;

	xiw_qp_table_settle(table);
	at = &table->heads[link->qpn & table->mask];
	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	table->count--;
}
