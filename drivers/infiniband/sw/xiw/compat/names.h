/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Functions and macros with other names or forms in older kernels. */
#ifndef _XIW_COMPAT_NAMES_H
#define _XIW_COMPAT_NAMES_H

#include <linux/module.h>
#include <linux/string.h>
#include <linux/timer.h>

#ifndef XIW_HAVE_HRTIMER_SETUP
#include <linux/hrtimer.h>

static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = fn;
}
#endif

#ifndef timer_container_of
#define timer_container_of	from_timer
#endif

/* Older kernels take the namespace as a token, not as a string. */
#ifndef XIW_HAVE_IMPORT_NS_STRING
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns)	MODULE_INFO(import_ns, ns)
#endif

#ifndef XIW_HAVE_SYSTEM_DFL_WQ
#define system_dfl_wq		system_unbound_wq
#endif

/* Where strscpy() is a function, it needs the size of an array as well. */
#ifndef strscpy
#define xiw_second_of(first, second, ...)	second
#define strscpy(dst, src, ...)						\
	strscpy(dst, src, xiw_second_of(0, ##__VA_ARGS__, sizeof(dst)))
#endif

/* In older kernels dma_buf_vmap() takes the exporter's lock if needed. */
#ifndef XIW_HAVE_DMA_BUF_VMAP_UNLOCKED
#define dma_buf_vmap_unlocked	dma_buf_vmap
#define dma_buf_vunmap_unlocked	dma_buf_vunmap
#endif

/* Older kernels do not mark names assigned by user space. */
#ifndef XIW_HAVE_IB_MARK_NAME
#include <rdma/ib_verbs.h>

static inline void ib_mark_name_assigned_by_user(struct ib_device *ibdev)
{
}
#endif

#ifndef XIW_HAVE_VM_FLAGS_SET
#include <linux/mm.h>

static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

#ifndef XIW_HAVE_IB_VIRT_DMA_TO_PTR
#define ib_virt_dma_to_ptr(addr)	((void *)(uintptr_t)(addr))
#endif

#ifndef XIW_HAVE_IB_UMEM_GET_VA
#define ib_umem_get_va		ib_umem_get
#endif

/*
 * ib_respond_udata(), which truncates the response to the caller's buffer, and
 * clears the rest of a longer buffer; and functions for the driver's data of
 * commands that have none in one or both directions
 */
#include <linux/minmax.h>
#include <linux/uaccess.h>
#include <rdma/uverbs_ioctl.h>

#ifndef ib_respond_udata
static inline int xiw_respond_udata(struct ib_udata *udata, const void *src,
				    size_t len)
{
	size_t room = udata->outlen;

	if (copy_to_user(udata->outbuf, src, min(len, room)) ||
	    (room > len && clear_user(udata->outbuf + len, room - len)))
		return -EFAULT;
	return 0;
}

#define ib_respond_udata(udata, resp) \
	xiw_respond_udata(udata, &(resp), sizeof(resp))
#endif

#ifndef XIW_HAVE_IB_UDATA_IN_EMPTY
static inline int ib_is_udata_in_empty(struct ib_udata *udata)
{
	if (!udata || !udata->inlen ||
	    ib_is_udata_cleared(udata, 0, udata->inlen))
		return 0;
	return -EOPNOTSUPP;
}
#endif

#ifndef XIW_HAVE_IB_NO_UDATA_IO
static inline int ib_no_udata_io(struct ib_udata *udata)
{
	int ret = ib_is_udata_in_empty(udata);

	if (!ret && udata && udata->outlen &&
	    clear_user(udata->outbuf, udata->outlen))
		return -EFAULT;
	return ret;
}
#endif

#endif /* _XIW_COMPAT_NAMES_H */
