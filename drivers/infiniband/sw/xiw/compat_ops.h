/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Operations whose arguments have changed: the table in device.c names them by
 * xiw_op_NAME.
 */
#ifndef _XIW_COMPAT_OPS_H
#define _XIW_COMPAT_OPS_H

#include <linux/version.h>
#include <rdma/ib_verbs.h>

#include "cq.h"
#include "mem.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
static inline struct ib_mr *xiw_op_reg_user_mr(struct ib_pd *pd, u64 start,
					       u64 length, u64 iova,
					       int access,
					       struct ib_udata *udata)
{
	return xiw_reg_user_mr(pd, start, length, iova, access, NULL, udata);
}

static inline struct ib_mr *
xiw_op_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
			  int fd, int access, struct uverbs_attr_bundle *attrs)
{
	return xiw_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access,
				      NULL, attrs);
}
#else
#define xiw_op_reg_user_mr		xiw_reg_user_mr
#define xiw_op_reg_user_mr_dmabuf	xiw_reg_user_mr_dmabuf
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
static inline int xiw_op_resize_user_cq(struct ib_cq *ibcq, int cqe,
					struct ib_udata *udata)
{
	return xiw_resize_cq(ibcq, cqe, udata);
}
#else
#define xiw_op_resize_user_cq	xiw_resize_cq
#endif

#endif /* _XIW_COMPAT_OPS_H */
