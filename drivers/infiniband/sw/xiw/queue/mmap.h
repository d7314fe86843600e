/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The memory of a ring: struct xiw_ring_ctrl followed by entries, allocated
 * so that it can be mapped into a process, and the entry that lets the
 * process map it. mmap.c owns allocation, mapping and release; index rules
 * are in ring.h.
 */
#ifndef _XIW_MMAP_H
#define _XIW_MMAP_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/xiw-abi.h>

/**
 * struct xiw_mmap_entry - permission to map one ring
 * @rdma_entry: the core's part
 * @address: vmalloc memory; freed by the mmap_free op when the last
 *	reference to the entry is gone
 */
struct xiw_mmap_entry {
	struct rdma_user_mmap_entry rdma_entry;
	void *address;
};

/**
 * struct xiw_queue - one ring
 * @ctrl: control block, shared with the user if @entry is set
 * @base: first entry
 * @size: entries, a power of two
 * @stride: bytes per entry
 * @map_len: bytes in all, whole pages
 * @entry: for user rings; owns the memory then
 */
struct xiw_queue {
	struct xiw_ring_ctrl *ctrl;
	u8 *base;
	u32 size;
	u32 stride;
	u32 map_len;
	struct xiw_mmap_entry *entry;
};

static inline void *xiw_queue_slot(const struct xiw_queue *q, u32 index)
{
	return q->base + (size_t)(index & (q->size - 1)) * q->stride;
}

int xiw_queue_alloc(struct xiw_queue *q, u32 entries, u32 stride,
		    struct ib_ucontext *uctx, u64 *key);
void xiw_queue_free(struct xiw_queue *q);

int xiw_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void xiw_mmap_free(struct rdma_user_mmap_entry *rdma_entry);

#endif /* _XIW_MMAP_H */
