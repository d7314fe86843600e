// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory of the rings. A user ring is vmalloc memory that the process maps
 * page by page. The kernel object and the mapping have references of their own
 * on each page, so each of them may outlive the other. So a device can be
 * removed while processes use it, without touching their mappings. All
 * functions may sleep.
 *
 * A child does not inherit the mapping. Each side of a ring has its own index
 * in private memory, so with two processes on one side, entries of one would
 * overwrite those of the other.
 */
#include "queue.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

static int mmap_add_entry(struct xiw_queue *q, struct ib_ucontext *uctx,
			  u64 *key)
{
	struct xiw_mmap_entry *entry;
	int ret;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
	if (!entry)
		return -ENOMEM;

	entry->address = q->ctrl;
	/* Offset 0 stays unused, so that it can stand for "no ring". */
	ret = rdma_user_mmap_entry_insert_range(uctx, &entry->rdma_entry,
						q->map_len, 1, U32_MAX);
	if (ret) {
		kfree(entry);
		return ret;
	}

	q->entry = entry;
	*key = rdma_user_mmap_get_offset(&entry->rdma_entry);
	return 0;
}

/*
 * Zeroed memory for the kernel and a process, to be freed by vfree(). A process
 * that has mapped it keeps the pages when the ring is gone, so they are charged
 * to its memory cgroup, which vmalloc_user() does not do.
 */
static void *xiw_queue_alloc_shared(u32 count)
{
	struct page **pages;
	void *mem;
	u32 n;

	pages = kvcalloc(count, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return NULL;
	for (n = 0; n < count; n++) {
		pages[n] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!pages[n])
			goto err;
	}
	mem = vmap(pages, count, VM_MAP | VM_USERMAP | VM_MAP_PUT_PAGES,
		   PAGE_KERNEL);
	if (mem)
		return mem;
err:
	while (n)
		__free_page(pages[--n]);
	kvfree(pages);
	return NULL;
}

/**
 * xiw_queue_alloc() - allocate a zeroed ring
 * @q: queue to fill in
 * @entries: least number of entries; rounded up to a power of two
 * @stride: bytes per entry
 * @uctx: context of the process that may map the ring, or NULL
 * @key: result: offset for mmap(), only with @uctx
 *
 * Return: 0, -EINVAL if the ring would be too large, or -ENOMEM.
 */
int xiw_queue_alloc(struct xiw_queue *q, u32 entries, u32 stride,
		    struct ib_ucontext *uctx, u64 *key)
{
	u32 len;
	int ret;

	if (entries > BIT(30))
		return -EINVAL;
	q->size = roundup_pow_of_two(max(entries, 1U));
	q->stride = stride;
	if (check_mul_overflow(q->size, stride, &len) ||
	    check_add_overflow(len, (u32)sizeof(*q->ctrl), &len) ||
	    len > INT_MAX - PAGE_SIZE)
		return -EINVAL;

	q->entry = NULL;
	q->map_len = PAGE_ALIGN(len);
	if (uctx)
		q->ctrl = xiw_queue_alloc_shared(q->map_len >> PAGE_SHIFT);
	else
		q->ctrl = kvzalloc(len, GFP_KERNEL_ACCOUNT);
	if (!q->ctrl)
		return -ENOMEM;
	q->base = (u8 *)(q->ctrl + 1);

	if (uctx) {
		ret = mmap_add_entry(q, uctx, key);
		if (ret) {
			vfree(q->ctrl);
			q->ctrl = NULL;
			return ret;
		}
	}
	return 0;
}

/*
 * Releases a ring that nothing in the kernel uses any more, or a zeroed one. A
 * process that has mapped it keeps its pages, but cannot map it again.
 */
void xiw_queue_free(struct xiw_queue *q)
{
	if (q->entry)
		rdma_user_mmap_entry_remove(&q->entry->rdma_entry);
	else
		kvfree(q->ctrl);
	q->entry = NULL;
	q->ctrl = NULL;
}

/*
 * The offset of @vma selects the ring, its length must match. Called with the
 * mmap lock held. 0, -EINVAL for an unknown ring or a wrong length, or -ENOMEM.
 */
int xiw_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma_entry;
	struct xiw_mmap_entry *entry;
	int ret;

	rdma_entry = rdma_user_mmap_entry_get(uctx, vma);
	if (!rdma_entry)
		return -EINVAL;

	entry = container_of(rdma_entry, struct xiw_mmap_entry, rdma_entry);
	ret = remap_vmalloc_range(vma, entry->address, 0);
	/* The mapping holds the pages; it does not need the entry. */
	rdma_user_mmap_entry_put(rdma_entry);
	if (!ret)
		vm_flags_set(vma, VM_DONTCOPY);
	return ret;
}

/* Frees a mapping entry and its memory. */
void xiw_mmap_free(struct rdma_user_mmap_entry *rdma_entry)
{
	struct xiw_mmap_entry *entry;

	entry = container_of(rdma_entry, struct xiw_mmap_entry, rdma_entry);
	vfree(entry->address);
	kfree(entry);
}
