/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory regions: the verbs, and fast registration.
 */
#ifndef _XIW_MR_H
#define _XIW_MR_H

#include <rdma/ib_verbs.h>

#include "mem/mem.h"

struct ib_dmah;

/**
 * struct xiw_mr - memory region of the verbs
 * @ibmr: part of the core
 * @mem: part of the data path
 * @map: pages for the next fast registration, XIW_MEM_FRWR only. Separate from
 *	the pages in @mem, because a ULP may map a region again before the old
 *	registration is invalidated
 * @map_pages: pages in @map
 * @map_off: offset of the first byte in the first of them
 */
struct xiw_mr {
	struct ib_mr ibmr;
	struct xiw_mem *mem;
	void **map;
	u32 map_pages;
	u32 map_off;
};

static inline struct xiw_mr *to_xmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct xiw_mr, ibmr);
}

struct ib_mr *xiw_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *xiw_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
			      u64 iova, int access, struct ib_dmah *dmah,
			      struct ib_udata *udata);
struct ib_mr *xiw_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
				     u64 iova, int fd, int access,
				     struct ib_dmah *dmah,
				     struct uverbs_attr_bundle *attrs);
struct ib_mr *xiw_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				u64 length, u64 iova, int access,
				struct ib_pd *pd, struct ib_udata *udata);
struct ib_mr *xiw_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			   u32 max_num_sg);
int xiw_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		  unsigned int *sg_offset);
int xiw_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		  u32 flags, struct ib_sge *sge, u32 num_sge,
		  struct uverbs_attr_bundle *attrs);
int xiw_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
int xiw_mr_fast_register(struct ib_pd *pd, struct ib_mr *ibmr, u32 key,
			 int access);

#endif /* _XIW_MR_H */
