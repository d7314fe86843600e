/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Pagers: the work items that may sleep in page faults, one per process.
 */
#ifndef _XIW_PAGER_H
#define _XIW_PAGER_H

#include <linux/list.h>
#include <linux/types.h>

struct xiw_pager;

/**
 * struct xiw_pager_job - work for a pager
 * @run: called in process context until it returns false; then the job may be
 *	gone. Each call does a limited amount of work
 * @pager: pager, while @node is on its list, else NULL
 * @node: on that list, or empty
 */
struct xiw_pager_job {
	bool (*run)(struct xiw_pager_job *job);
	struct xiw_pager *pager;
	struct list_head node;
};

#if IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)
int xiw_pager_module_init(void);
void xiw_pager_module_exit(void);
#else
static inline int xiw_pager_module_init(void)
{
	return 0;
}

static inline void xiw_pager_module_exit(void)
{
}
#endif

struct xiw_pager *xiw_pager_get(void);
void xiw_pager_put(struct xiw_pager *pager);
bool xiw_pager_queue(struct xiw_pager *pager, struct xiw_pager_job *job,
		     u32 limit);
bool xiw_pager_cancel(struct xiw_pager_job *job);

#endif /* _XIW_PAGER_H */
