/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory windows: the verbs, and binding.
 */
#ifndef _XIW_MW_H
#define _XIW_MW_H

#include <rdma/ib_verbs.h>
#include <rdma/xiw-abi.h>

#include "mem/mem.h"

/**
 * struct xiw_mw - memory window of the verbs
 * @ibmw: part of the core, which allocates this struct
 * @mem: part of the data path
 */
struct xiw_mw {
	struct ib_mw ibmw;
	struct xiw_mem *mem;
};

static inline struct xiw_mw *to_xmw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct xiw_mw, ibmw);
}

int xiw_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int xiw_dealloc_mw(struct ib_mw *ibmw);
int xiw_mw_bind(struct ib_pd *pd, struct xiw_mw_owner *owner, u32 key,
		const struct xiw_bind *bind);
void xiw_mw_owner_init(struct xiw_mw_owner *owner);
void xiw_mw_owner_release(struct xiw_mw_owner *owner);

#endif /* _XIW_MW_H */
