/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The queue pairs that complete into a completion queue, by number. The process
 * shares its completion ring with the kernel, so an entry names its queue pair
 * by number only, and the number need not exist.
 *
 * A hash table with chains; numbers are random, so their low bits are the hash.
 * The lock of the completion queue protects all of it but @added: a queue pair
 * may be created between ibv_start_poll() and ibv_end_poll(), where the caller
 * has the lock already.
 */
#ifndef _XIW_QP_TABLE_H
#define _XIW_QP_TABLE_H

#include <stdint.h>

struct xiw_qp;

/**
 * struct xiw_qp_link - a queue pair in the table of a completion queue
 * @next: next one in the chain
 * @qp: the queue pair
 * @qpn: its number
 */
struct xiw_qp_link {
	struct xiw_qp_link *next;
	struct xiw_qp *qp;
	uint32_t qpn;
};

/**
 * struct xiw_qp_table - table of queue pairs
 * @heads: array of chains; &@first while there is no memory for an array
 * @first: the only chain of a table without an array
 * @added: new ones, pushed without the lock; not in a chain yet
 * @mask: number of chains - 1; the number is a power of two
 * @count: queue pairs in the table
 */
struct xiw_qp_table {
	struct xiw_qp_link **heads;
	struct xiw_qp_link *first;
	struct xiw_qp_link *added;
	uint32_t mask;
	uint32_t count;
};

void xiw_qp_table_settle(struct xiw_qp_table *table);

/* The queue pair with number @qpn, the newest one of several, or NULL. */
static inline struct xiw_qp *
xiw_qp_table_find(struct xiw_qp_table *table, uint32_t qpn)
{
	const struct xiw_qp_link *link;

	if (__atomic_load_n(&table->added, __ATOMIC_RELAXED))
		xiw_qp_table_settle(table);
	link = table->heads[qpn & table->mask];
	while (link && link->qpn != qpn)
		link = link->next;
	return link ? link->qp : NULL;
}

/* The table must not move after this. */
void xiw_qp_table_init(struct xiw_qp_table *table);
void xiw_qp_table_destroy(struct xiw_qp_table *table);
/* Needs no lock. @link belongs to the table until it is removed. */
void xiw_qp_table_add(struct xiw_qp_table *table, struct xiw_qp_link *link);
void xiw_qp_table_remove(struct xiw_qp_table *table, struct xiw_qp_link *link);

#endif /* _XIW_QP_TABLE_H */
