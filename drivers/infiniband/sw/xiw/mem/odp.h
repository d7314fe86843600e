/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Regions on demand: memory of a process that is not pinned.
 */
#ifndef _XIW_ODP_H
#define _XIW_ODP_H

#include <linux/errno.h>
#include <linux/types.h>

struct ib_umem_odp;
struct xiw_mem;
struct xiw_pager;

enum xiw_odp_limits {
	/*
	 * Pages of a region: 64 GiB. The lists of this driver and of the core
	 * have 16 to 32 bytes per page. Only those of this driver are charged
	 * to the control group, which so limits the others, too.
	 */
	XIW_ODP_MAX_PAGES	= 16 * 1024 * 1024,
	/* Pages of one call of xiw_odp_page_in() */
	XIW_ODP_STEP_PAGES	= 512,
};

#if IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)
int xiw_odp_register(struct xiw_mem *mem, u64 start, u64 length, int access);
void xiw_odp_put(struct xiw_mem *mem);
struct xiw_pager *xiw_odp_pager(const struct xiw_mem *mem);
int xiw_odp_page_in(struct xiw_mem *mem, u64 offset, u64 len, int access,
		    bool fault);
#else
static inline int xiw_odp_register(struct xiw_mem *mem, u64 start, u64 length,
				   int access)
{
	return -EOPNOTSUPP;
}

static inline void xiw_odp_put(struct xiw_mem *mem)
{
}
#endif

#endif /* _XIW_ODP_H */
