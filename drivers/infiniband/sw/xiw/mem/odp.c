// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Regions on demand: a page belongs to the region from when page_in.c has
 * faulted it in until the kernel takes it away from the process, or changes its
 * protection, which the MMU notifier reports first.
 *
 * mem.pages and mem.writable change under umem_mutex of the core, and mem.lock
 * held for writing inside of it. Pages are published while umem_mutex has been
 * held since the core found the result of the fault still valid, so no
 * invalidation lies between. An invalidation withdraws its pages before it
 * returns: no byte is read or written afterwards, as copies hold mem.lock for
 * reading.
 *
 * The core writes to its list of page frames during a fault, without a lock and
 * also for pages that are present. So only one fault at a time runs in a region
 * (odp.page_in), and the list is read under that mutex only.
 *
 * A fault may sleep for ever. A reference of the region keeps all that it uses,
 * also after the region was deregistered and the device removed.
 */
#include "odp.h"

#include <linux/fs.h>
#include <linux/hmm.h>
#include <linux/magic.h>
#include <linux/memcontrol.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_umem_odp.h>

#include "mem.h"

/* Pages that are published or withdrawn while the region is locked */
#define ODP_BATCH	32

/**
 * struct xiw_odp - state of a region on demand
 * @umem: the core's part
 * @pager: pager of its process
 * @page_in: held during a fault
 */
struct xiw_odp {
	struct ib_umem_odp *umem;
	struct xiw_pager *pager;
	struct mutex page_in; /* see above */
};

/*
 * Withdraws up to ODP_BATCH pages from page @i on, and returns the number of
 * pages passed. Those that were writable are marked dirty: this driver's writes
 * do not set the bit in the page table of the process.
 */
static u32 odp_withdraw_some(struct xiw_mem *mem, u32 i, u32 end)
{
	struct page *dirty[ODP_BATCH];
	u32 n = min_t(u32, end - i, ODP_BATCH);
	u32 count = 0;
	u32 k;

	xiw_mem_lock(mem);
	for (k = i; k < i + n; k++) {
		if (!mem->pages[k])
			continue;
		if (__test_and_clear_bit(k, mem->writable))
			dirty[count++] = virt_to_page(mem->pages[k]);
		mem->pages[k] = NULL;
	}
	xiw_mem_unlock(mem);
	while (count)
		set_page_dirty(compound_head(dirty[--count]));
	return n;
}

/* Withdraws the pages from @i to @end. */
static void odp_withdraw(struct xiw_mem *mem, u32 i, u32 end)
{
	lockdep_assert_held(&mem->odp->umem->umem_mutex);

	while (i < end) {
		if (mem->pages[i])
			i += odp_withdraw_some(mem, i, end);
		else if (++i % ODP_BATCH)
			continue;
		/* Also between absent pages, of which there may be millions */
		cond_resched();
	}
}

static bool odp_invalidate(struct mmu_interval_notifier *notifier,
			   const struct mmu_notifier_range *range,
			   unsigned long seq)
{
	struct ib_umem_odp *umem = container_of(notifier, struct ib_umem_odp,
						notifier);
	unsigned long start = max_t(unsigned long, ib_umem_start(umem),
				    range->start);
	unsigned long end = min_t(unsigned long, ib_umem_end(umem),
				  range->end);
	struct xiw_mem *mem;

	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&umem->umem_mutex);
	mmu_interval_set_seq(notifier, seq);
	/* Before xiw_odp_register() has set it no page was published. */
	mem = umem->private;
	if (mem) {
		odp_withdraw(mem, (start - ib_umem_start(umem)) >> PAGE_SHIFT,
			     (end - ib_umem_start(umem)) >> PAGE_SHIFT);
		ib_umem_odp_unmap_dma_pages(umem, start, end);
	}
	mutex_unlock(&umem->umem_mutex);
	/* A page may belong to very many regions. */
	cond_resched();
	return true;
}

static const struct mmu_interval_notifier_ops odp_notifier_ops = {
	.invalidate = odp_invalidate,
};

/*
 * May this driver copy from and to the page? Pinning would not accept memory of
 * devices, or of memfd_secret(), which the kernel cannot address. While the
 * page is mapped its file is not truncated.
 */
static bool odp_is_usable(struct page *page)
{
	struct address_space *mapping = folio_mapping(page_folio(page));

	if (is_pci_p2pdma_page(page))
		return false;
	return !mapping || !mapping->host ||
	       mapping->host->i_sb->s_magic != SECRETMEM_MAGIC;
}

/* Publishes up to ODP_BATCH pages; false if one of them cannot be. */
static bool odp_publish_some(struct xiw_mem *mem, u32 i, u32 n, bool write)
{
	const unsigned long *pfns = xiw_odp_pfns(mem->odp->umem);
	unsigned long need = HMM_PFN_VALID | (write ? HMM_PFN_WRITE : 0);
	bool all = true;
	u32 k;

	xiw_mem_lock(mem);
	for (k = i; k < i + n; k++) {
		if ((pfns[k] & need) != need ||
		    !odp_is_usable(hmm_pfn_to_page(pfns[k]))) {
			all = false;
			continue;
		}
		mem->pages[k] = page_address(hmm_pfn_to_page(pfns[k]));
		/*
		 * Without @write the page stays read-only here, as it must not
		 * become dirty for having been read.
		 */
		if (write)
			__set_bit(k, mem->writable);
	}
	xiw_mem_unlock(mem);
	return all;
}

static bool odp_publish(struct xiw_mem *mem, u32 i, u32 end, bool write)
{
	bool all = true;
	u32 n;

	lockdep_assert_held(&mem->odp->umem->umem_mutex);

	for (; i < end; i += n) {
		n = min_t(u32, end - i, ODP_BATCH);
		all &= odp_publish_some(mem, i, n, write);
	}
	return all;
}

/*
 * Calls the core. What it allocates for the process itself, page tables and
 * page cache, is charged to the group of the process, not to the caller's.
 */
static int odp_map_and_lock(struct ib_umem_odp *umem, u64 addr, u64 len,
			    u64 access, bool fault)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(umem->umem.owning_mm);
	struct mem_cgroup *old = set_active_memcg(memcg);
	int ret = ib_umem_odp_map_dma_and_lock(umem, addr, len, access, fault);

	set_active_memcg(old);
	mem_cgroup_put(memcg);
	return ret;
}

/**
 * xiw_odp_page_in() - make a range present
 * @mem: region, with a reference
 * @offset: first byte, from the beginning of the region
 * @len: bytes in at most XIW_ODP_STEP_PAGES pages
 * @access: IB_ACCESS_*; rights to write make the pages writable
 * @fault: fault in absent pages; else use those that the process has
 *
 * In kernels before 7.3 the core holds the process's mmap_lock during the
 * fault, so the process cannot change its mappings in that time.
 *
 * Context: Sleeps, possibly for ever.
 * Return: 0 or an error of the core: -EFAULT or -EPERM if there is no such
 * memory, -EINVAL if the process has ended. Others are transient.
 */
int xiw_odp_page_in(struct xiw_mem *mem, u64 offset, u64 len, int access,
		    bool fault)
{
	struct ib_umem_odp *umem = mem->odp->umem;
	u32 first = (mem->first_off + offset) >> PAGE_SHIFT;
	bool write = access & XIW_MEM_WRITES;
	int ret;

	mutex_lock(&mem->odp->page_in);
	ret = odp_map_and_lock(umem, umem->umem.address + offset, len,
			       write ? XIW_ODP_WRITE : XIW_ODP_READ, fault);
	if (ret >= 0) {
		ret = odp_publish(mem, first, first + ret, write) || !fault ?
		      0 : -EFAULT;
		mutex_unlock(&umem->umem_mutex);
	}
	mutex_unlock(&mem->odp->page_in);
	return ret;
}

struct xiw_pager *xiw_odp_pager(const struct xiw_mem *mem)
{
	return mem->odp->pager;
}

static int odp_alloc_lists(struct xiw_mem *mem, u32 pages)
{
	mem->pages = kvcalloc(pages, sizeof(*mem->pages),
			      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	mem->writable = kvcalloc(BITS_TO_LONGS(pages), sizeof(long),
				 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	mem->odp->pager = xiw_pager_get();
	if (!mem->pages || !mem->writable || !mem->odp->pager)
		return -ENOMEM;
	mem->max_pages = pages;
	mem->num_pages = pages;
	mem->page_shift = PAGE_SHIFT;
	return 0;
}

static int odp_get_umem(struct xiw_mem *mem, u64 start, u64 length, int access)
{
	struct ib_device *ibdev = mem->pd->device;
	struct ib_umem_odp *umem;

	umem = ib_umem_odp_get(ibdev, start, length, access,
			       &odp_notifier_ops);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	/* The core uses the device when it releases @umem. */
	get_device(&ibdev->dev);
	mem->odp->umem = umem;
	mutex_lock(&umem->umem_mutex);
	umem->private = mem;
	mutex_unlock(&umem->umem_mutex);
	return 0;
}

/**
 * xiw_odp_register() - register memory of this process without pinning it
 * @mem: zeroed pages, and without an STag
 * @start: address of the memory
 * @length: its length
 * @access: IB_ACCESS_*
 *
 * All pages are absent. If @mem->odp is set, also after an error, @mem belongs
 * to xiw_odp_put().
 *
 * Context: Sleeps.
 * Return: 0 or a negative errno, -ENOMEM for more than XIW_ODP_MAX_PAGES.
 */
int xiw_odp_register(struct xiw_mem *mem, u64 start, u64 length, int access)
{
	u64 pages;
	int ret;

	mem->first_off = offset_in_page(start);
	if (length > (u64)XIW_ODP_MAX_PAGES << PAGE_SHIFT)
		return -ENOMEM;
	pages = PAGE_ALIGN(mem->first_off + length) >> PAGE_SHIFT;

	mem->odp = kzalloc(sizeof(*mem->odp), GFP_KERNEL_ACCOUNT);
	if (!mem->odp)
		return -ENOMEM;
	mutex_init(&mem->odp->page_in);
	refcount_set(&mem->refs, 1);
	ret = odp_alloc_lists(mem, pages);
	return ret ? ret : odp_get_umem(mem, start, length, access);
}

static void odp_release_umem(struct xiw_mem *mem)
{
	struct ib_umem_odp *umem = mem->odp->umem;
	struct device *dev = &umem->umem.ibdev->dev;

	mutex_lock(&umem->umem_mutex);
	odp_withdraw(mem, 0, mem->num_pages);
	mutex_unlock(&umem->umem_mutex);
	ib_umem_odp_release(umem);
	put_device(dev);
}

/*
 * Drops a reference; the last one frees the region, which is deregistered.
 * Sleeps.
 */
void xiw_odp_put(struct xiw_mem *mem)
{
	struct xiw_odp *odp = mem->odp;

	if (!refcount_dec_and_test(&mem->refs))
		return;
	if (odp->umem)
		odp_release_umem(mem);
	if (odp->pager)
		xiw_pager_put(odp->pager);
	kvfree(mem->writable);
	kvfree(mem->pages);
	kfree(odp);
	/* A look-up may still wait for the lock, to find XIW_MEM_DEAD. */
	kfree_rcu(mem, rcu);
}
