/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The only file, with compat_ops.h, that knows that kernels differ. The driver
 * is written against the newest one; this makes up for what older ones, down to
 * Linux 6.12, lack.
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

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define resize_user_cq		resize_cq
/* Consumers in the kernel could change the size of theirs. */
#define XIW_KERNEL_RESIZES_CQ
#endif

#endif /* _XIW_COMPAT_H */
