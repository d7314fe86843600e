/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The only file that knows that kernels differ. The driver is written against
 * the newest one; this makes up for what older ones, down to Linux 6.12, lack.
 */
#ifndef _XIW_COMPAT_H
#define _XIW_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/timer.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "cq.h"
#include "mem.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = fn;
}

/* The name of the namespace has become a string. */
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns)	MODULE_INFO(import_ns, ns)
#endif

#ifndef timer_container_of
#define timer_container_of	from_timer
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define system_dfl_wq		system_unbound_wq
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define ib_umem_get_va		ib_umem_get
#endif

/*
 * Operations that have changed: the table in device.c names them by
 * xiw_op_NAME.
 */
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

#define resize_user_cq		resize_cq
/* Consumers in the kernel could change the size of theirs. */
#define XIW_KERNEL_RESIZES_CQ
#else
#define xiw_op_resize_user_cq	xiw_resize_cq
#endif

#endif /* _XIW_COMPAT_H */
