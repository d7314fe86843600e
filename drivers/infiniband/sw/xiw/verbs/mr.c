// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory regions: registration and deregistration, and the work requests
 * that make and revoke a registration while the STag stays allocated.
 *
 * The device uses virtual DMA: a DMA address of the core and of ULPs is a
 * kernel virtual address, for user pages as well.
 */
#include "verbs.h"

#include <linux/dma-buf.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "dev.h"
#include "mem/odp.h"

#define XIW_ACCESS_RIGHTS	(IB_ACCESS_LOCAL_WRITE | XIW_MEM_REMOTE | \
				 IB_ACCESS_MW_BIND)

/*
 * Hints without effect. IB_ACCESS_RELAXED_ORDERING gives up the order in which
 * bytes become visible, but that order costs nothing, see copy.c.
 */
#define XIW_ACCESS_HINTS	IB_ACCESS_OPTIONAL

/* Flags of a registration that are stored in the region */
#define XIW_ACCESS_KEPT		(XIW_ACCESS_RIGHTS | IB_ZERO_BASED | \
				 IB_ACCESS_ON_DEMAND)

/* Flags that are valid for memory of a process only */
#define XIW_ACCESS_USER		(IB_ZERO_BASED | IB_ACCESS_ON_DEMAND)

static int mr_check_access(struct ib_device *ibdev, int access)
{
	if (access & ~(XIW_ACCESS_RIGHTS | XIW_ACCESS_HINTS))
		return -EOPNOTSUPP;
	return ib_check_mr_access(ibdev, access);
}

/* @extra: flags that are valid for this kind of region only */
static int mr_check_user_access(struct ib_device *ibdev, int access, int extra)
{
	if (access & extra & IB_ACCESS_ON_DEMAND &&
	    !IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING))
		return -EOPNOTSUPP;
	return mr_check_access(ibdev, access & ~extra);
}

/* Address of the first byte; @iova is the requested one. */
static u64 mr_first_address(u64 iova, int access)
{
	return access & IB_ZERO_BASED ? 0 : iova;
}

/* See xiw_rdmap_range_check(). */
static bool mr_range_ok(u64 iova, u64 length)
{
	u64 end;

	return length && !check_add_overflow(iova, length, &end);
}

static struct xiw_mr *mr_alloc(struct ib_pd *pd, enum xiw_mem_kind kind)
{
	struct xiw_dev *dev = to_xdev(pd->device);
	struct xiw_mem *mem;
	struct xiw_mr *mr;

	if (!atomic_add_unless(&dev->num_mr, 1, XIW_MAX_MR))
		return ERR_PTR(-ENOMEM);

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mr || !mem) {
		kfree(mem);
		kfree(mr);
		atomic_dec(&dev->num_mr);
		return ERR_PTR(-ENOMEM);
	}

	xiw_mem_init(mem);
	mem->table = &dev->mems;
	mem->pd = pd;
	mem->kind = kind;
	mr->mem = mem;
	return mr;
}

/* Undo mr_get_dmabuf(), also after a failure. */
static void mr_dmabuf_put(struct xiw_mem *mem)
{
	if (mem->num_pages)
		dma_buf_end_cpu_access(mem->dmabuf, DMA_BIDIRECTIONAL);
	if (!iosys_map_is_null(&mem->vmap))
		dma_buf_vunmap_unlocked(mem->dmabuf, &mem->vmap);
	if (mem->attach)
		dma_buf_detach(mem->dmabuf, mem->attach);
	dma_buf_put(mem->dmabuf);
}

/* Frees a region. Its STag, if it had one, is free already. */
static void mr_free(struct xiw_mr *mr)
{
	struct xiw_mem *mem = mr->mem;

	atomic_dec(&to_xdev(mem->pd->device)->num_mr);
	kvfree(mr->map);
	kfree(mr);
	if (mem->odp) {
		xiw_odp_put(mem);
		return;
	}
	ib_umem_release(mem->umem);
	if (mem->dmabuf)
		mr_dmabuf_put(mem);
	kvfree(mem->pages);
	/* A look-up may still wait for the lock, to find XIW_MEM_DEAD. */
	kfree_rcu(mem, rcu);
}

/* Region of user memory or of a dma-buf; the caller fills in its pages. */
static struct xiw_mr *mr_alloc_user(struct ib_pd *pd, u64 iova, u64 length,
				    int access, int extra, struct ib_dmah *dmah)
{
	struct xiw_mr *mr;
	int ret;

	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	ret = mr_check_user_access(pd->device, access, extra);
	if (ret)
		return ERR_PTR(ret);
	iova = mr_first_address(iova, access);
	if (!mr_range_ok(iova, length))
		return ERR_PTR(-EINVAL);

	mr = mr_alloc(pd, XIW_MEM_USER);
	if (IS_ERR(mr))
		return mr;
	mr->mem->iova = iova;
	mr->mem->length = length;
	mr->mem->access = access & XIW_ACCESS_KEPT;
	mr->mem->state = XIW_MEM_VALID;
	return mr;
}

/* Assigns an STag to a complete region, or frees it if @ret is an error. */
static struct ib_mr *mr_publish(struct xiw_mr *mr, int ret)
{
	if (!ret)
		ret = xiw_stag_alloc(mr->mem);
	if (ret) {
		mr_free(mr);
		return ERR_PTR(ret);
	}

	mr->ibmr.lkey = mr->mem->stag;
	mr->ibmr.rkey = mr->mem->stag;
	return &mr->ibmr;
}

/* Region of all kernel memory */
struct ib_mr *xiw_get_dma_mr(struct ib_pd *pd, int access)
{
	struct xiw_mr *mr;
	int ret;

	/* The core asks only for remote rights: it has the local DMA key. */
	if (access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC))
		access |= IB_ACCESS_LOCAL_WRITE;
	ret = mr_check_access(pd->device, access);
	if (ret)
		return ERR_PTR(ret);

	mr = mr_alloc(pd, XIW_MEM_DMA);
	if (IS_ERR(mr))
		return ERR_CAST(mr);

	mr->mem->access = access & XIW_ACCESS_RIGHTS;
	mr->mem->length = U64_MAX;
	mr->mem->state = XIW_MEM_VALID;
	return mr_publish(mr, 0);
}

/* Fill in the kernel address of each block of 1 << page_shift bytes. */
static void mr_list_blocks(struct xiw_mem *mem)
{
	struct ib_umem *umem = mem->umem;
	unsigned long start = umem->address - mem->first_off;
	unsigned long addr = umem->address & PAGE_MASK;
	struct scatterlist *sg;
	u64 kaddr;
	u64 off;
	u32 b;
	int i;

	for_each_sgtable_dma_sg(&umem->sgt_append.sgt, sg, i) {
		/* User address @addr is at kernel address @kaddr. */
		kaddr = sg_dma_address(sg);
		b = (addr - start) >> mem->page_shift;
		for (; b < mem->num_pages; b++) {
			off = start + ((u64)b << mem->page_shift) - addr;
			if ((s64)off >= (s64)sg_dma_len(sg))
				break;
			mem->pages[b] = ib_virt_dma_to_ptr(kaddr + off);
		}
		addr += sg_dma_len(sg);
	}
}

/*
 * Physically contiguous user memory is contiguous in kernel addresses, too.
 * Use the largest possible blocks, for short lists and long copies.
 */
static int mr_map_umem(struct xiw_mem *mem)
{
	struct ib_umem *umem = mem->umem;
	unsigned long pgsz;
	size_t blocks;

	pgsz = ib_umem_find_best_pgsz(umem, GENMASK(30, PAGE_SHIFT),
				      umem->address);
	if (!pgsz)
		return -EINVAL;
	blocks = ib_umem_num_dma_blocks(umem, pgsz);
	if (blocks > U32_MAX)
		return -EINVAL;

	/* See XIW_MAX_MR_SIZE; processes must not cause a warning. */
	mem->pages = kvmalloc_array(blocks, sizeof(*mem->pages),
				    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mem->pages)
		return -ENOMEM;

	mem->max_pages = blocks;
	mem->num_pages = blocks;
	mem->page_shift = ilog2(pgsz);
	mem->first_off = umem->address & (pgsz - 1);
	mr_list_blocks(mem);
	return 0;
}

/* On failure the caller releases the resources of @mem. */
static int mr_pin_user(struct xiw_mem *mem, u64 start, u64 length, int access)
{
	struct ib_umem *umem;

	umem = ib_umem_get_va(mem->pd->device, start, length, access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	mem->umem = umem;
	return mr_map_umem(mem);
}

/*
 * User memory; @iova is independent of @start. @dmah: DMA hints, not supported
 */
struct ib_mr *xiw_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
			      u64 iova, int access, struct ib_dmah *dmah,
			      struct ib_udata *udata)
{
	struct xiw_mr *mr;
	int ret;

	ret = ib_no_udata_io(udata);
	if (ret)
		return ERR_PTR(ret);
	xiw_udata_done(udata);
	/* The implicit region of all memory is not supported. */
	if (access & IB_ACCESS_ON_DEMAND && length == U64_MAX)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mr_alloc_user(pd, iova, length, access, XIW_ACCESS_USER, dmah);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	if (access & IB_ACCESS_ON_DEMAND)
		ret = xiw_odp_register(mr->mem, start, length, access);
	else
		ret = mr_pin_user(mr->mem, start, length, access);
	return mr_publish(mr, ret);
}

/* Maps the buffer as one block of kernel addresses: the CPU copies, no DMA. */
static int mr_map_dmabuf(struct xiw_mem *mem, u64 offset, u64 length)
{
	int ret;

	mem->pages = kvmalloc_array(1, sizeof(*mem->pages), GFP_KERNEL_ACCOUNT);
	if (!mem->pages)
		return -ENOMEM;
	ret = dma_buf_vmap_unlocked(mem->dmabuf, &mem->vmap);
	if (ret)
		return ret;
	if (mem->vmap.is_iomem)
		return -EOPNOTSUPP;
	ret = dma_buf_begin_cpu_access(mem->dmabuf, DMA_BIDIRECTIONAL);
	if (ret)
		return ret;
	mem->combined = true;
	mem->pages[0] = mem->vmap.vaddr + offset;
	mem->max_pages = 1;
	mem->num_pages = 1;
	mem->page_shift = order_base_2(length);
	return 0;
}

static int mr_get_dmabuf(struct xiw_mem *mem, u64 offset, u64 length, int fd,
			 int access)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);
	struct dma_buf_attachment *attach;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	mem->dmabuf = dmabuf;
	if (offset > dmabuf->size || length > dmabuf->size - offset)
		return -EINVAL;
	if (ib_access_writable(access) && !(dmabuf->file->f_mode & FMODE_WRITE))
		return -EACCES;
	/*
	 * A CPU mapping does not keep an exporter from moving the pages. An
	 * attachment does, unless the exporter is dynamic: that one would have
	 * to pin them for DMA, which this device does not do.
	 */
	if (dma_buf_is_dynamic(dmabuf))
		return -EOPNOTSUPP;
	attach = dma_buf_attach(dmabuf, &mem->pd->device->dev);
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	mem->attach = attach;
	return mr_map_dmabuf(mem, offset, length);
}

/*
 * A buffer of another device, from byte @offset. The exporter must be able to
 * map it for the CPU, and must not move it. The attachment lasts as long as the
 * region.
 */
struct ib_mr *xiw_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
				     u64 iova, int fd, int access,
				     struct ib_dmah *dmah,
				     struct uverbs_attr_bundle *attrs)
{
	struct xiw_mr *mr;
	int ret;

	ret = ib_no_udata_io(&attrs->driver_udata);
	if (ret)
		return ERR_PTR(ret);
	xiw_udata_done(&attrs->driver_udata);
	mr = mr_alloc_user(pd, iova, length, access, IB_ZERO_BASED, dmah);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return mr_publish(mr,
			  mr_get_dmabuf(mr->mem, offset, length, fd, access));
}

/* Replaces the pages of @mem by those pinned for @new. */
static void mr_swap_pages(struct xiw_mem *mem, struct xiw_mem *new)
{
	swap(mem->umem, new->umem);
	swap(mem->pages, new->pages);
	mem->max_pages = new->max_pages;
	mem->num_pages = new->num_pages;
	mem->page_shift = new->page_shift;
	mem->first_off = new->first_off;
}

static int mr_rereg(struct xiw_mem *mem, struct xiw_mem *new)
{
	int ret = -EBUSY;

	xiw_mem_lock(mem);
	if (!atomic_read(&mem->num_mw)) {
		if (new->umem)
			mr_swap_pages(mem, new);
		mem->pd = new->pd;
		mem->access = new->access & XIW_ACCESS_KEPT;
		mem->iova = new->iova;
		mem->length = new->length;
		ret = 0;
	}
	xiw_mem_unlock(mem);
	return ret;
}

/*
 * Pins pages as the flags require. Memory pinned for reading only must be
 * pinned again before it is written, which only its own process can do.
 */
static int mr_repin(struct xiw_mem *mem, struct xiw_mem *new, int flags,
		    u64 start)
{
	if (!(flags & IB_MR_REREG_TRANS)) {
		if (!ib_access_writable(new->access) || mem->umem->writable)
			return 0;
		if (mem->umem->owning_mm != current->mm)
			return -EPERM;
		start = mem->umem->address;
	}
	return mr_pin_user(new, start, new->length, new->access);
}

/*
 * Changes a region and keeps its STag. Each segment finds either the old region
 * or the new one. Returns NULL, as the region stays the same object, or an
 * ERR_PTR(), -EBUSY while windows are bound to it; then nothing has changed.
 */
struct ib_mr *xiw_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				u64 length, u64 iova, int access,
				struct ib_pd *pd, struct ib_udata *udata)
{
	struct xiw_mem *mem = to_xmr(ibmr)->mem;
	bool moves = flags & IB_MR_REREG_TRANS;
	struct xiw_mem new = {
		.pd = pd,
		.access = flags & IB_MR_REREG_ACCESS ? access : mem->access,
		.iova = moves ? iova : mem->iova,
		.length = moves ? length : mem->length,
	};
	int ret;

	/* Regions on demand and dma-bufs have none. */
	if (!mem->umem)
		return ERR_PTR(-EOPNOTSUPP);
	ret = ib_no_udata_io(udata);
	if (ret)
		return ERR_PTR(ret);
	ret = mr_check_user_access(ibmr->device, new.access, IB_ZERO_BASED);
	if (ret)
		return ERR_PTR(ret);
	/* The flag changes addresses, so it needs IB_MR_REREG_TRANS. */
	if (!moves && (new.access ^ mem->access) & IB_ZERO_BASED)
		return ERR_PTR(-EINVAL);
	new.iova = mr_first_address(new.iova, new.access);
	if (!mr_range_ok(new.iova, new.length))
		return ERR_PTR(-EINVAL);
	ret = mr_repin(mem, &new, flags, start);
	if (!ret)
		ret = mr_rereg(mem, &new);
	ib_umem_release(new.umem);
	kvfree(new.pages);
	return ret ? ERR_PTR(ret) : NULL;
}

/*
 * Region for fast registrations of up to @max_num_sg pages, without a valid one
 */
struct ib_mr *xiw_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			   u32 max_num_sg)
{
	struct xiw_mem *mem;
	struct xiw_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > XIW_MAX_FRWR_PAGES)
		return ERR_PTR(-EINVAL);

	mr = mr_alloc(pd, XIW_MEM_FRWR);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mem = mr->mem;

	mem->max_pages = max_num_sg;
	mem->pages = kvcalloc(max_num_sg, sizeof(*mem->pages),
			      GFP_KERNEL_ACCOUNT);
	mr->map = kvcalloc(max_num_sg, sizeof(*mr->map), GFP_KERNEL_ACCOUNT);
	mem->state = XIW_MEM_FREE;
	return mr_publish(mr, mem->pages && mr->map ? 0 : -ENOMEM);
}

static int mr_set_page_addr(struct ib_mr *ibmr, u64 addr)
{
	struct xiw_mr *mr = to_xmr(ibmr);

	if (mr->map_pages == mr->mem->max_pages)
		return -ENOMEM;
	mr->map[mr->map_pages++] = ib_virt_dma_to_ptr(addr);
	return 0;
}

/**
 * xiw_map_mr_sg() - set the pages of the next fast registration
 * @ibmr: region from xiw_alloc_mr()
 * @sg: memory, mapped for DMA
 * @sg_nents: elements in @sg
 * @sg_offset: bytes to skip in the first element; result: bytes of the first
 *	unused element that were used; may be NULL
 *
 * A registration that is still valid does not change. ULPs may choose blocks
 * of 4 KiB even where pages are larger.
 *
 * Context: Any; the ULP serializes per region.
 * Return: Number of elements used, or -EINVAL.
 */
int xiw_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		  unsigned int *sg_offset)
{
	struct xiw_mr *mr = to_xmr(ibmr);
	int ret;

	if (mr->mem->kind != XIW_MEM_FRWR || !is_power_of_2(ibmr->page_size) ||
	    ibmr->page_size < SZ_4K)
		return -EINVAL;

	mr->map_pages = 0;
	ret = ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, mr_set_page_addr);
	mr->map_off = ibmr->iova & (ibmr->page_size - 1);
	return ret;
}

/* For @sge; see xiw_page_in_advise(). */
int xiw_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		  u32 flags, struct ib_sge *sge, u32 num_sge,
		  struct uverbs_attr_bundle *attrs)
{
	struct xiw_mem_cache cache = {};
	bool fault = true;
	int access = 0;

	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		access = IB_ACCESS_LOCAL_WRITE;
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		fault = false;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return -EOPNOTSUPP;
	xiw_mem_cache_init(&cache, &to_xdev(pd->device)->mems, pd, 0, false);
	return xiw_page_in_advise(&cache, sge, num_sge, access, fault,
				  flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH);
}

/*
 * 0, or -EBUSY while windows are bound to the region. Once the write lock was
 * held there is no access through the STag, so the pages can be unpinned at
 * once.
 */
int xiw_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct xiw_mr *mr = to_xmr(ibmr);
	struct xiw_mem *mem = mr->mem;
	int ret = ib_no_udata_io(udata);

	if (ret)
		return ret;
	xiw_mem_lock(mem);
	if (atomic_read(&mem->num_mw)) {
		xiw_mem_unlock(mem);
		return -EBUSY;
	}
	mem->state = XIW_MEM_DEAD;
	xiw_mem_unlock(mem);

	xiw_stag_free(mem);
	mr_free(mr);
	return 0;
}

static int mr_fast_register_locked(struct xiw_mr *mr, struct ib_pd *pd, u32 key,
				   int access)
{
	struct ib_mr *ibmr = &mr->ibmr;
	struct xiw_mem *mem = mr->mem;

	lockdep_assert_held_write(&mem->lock);

	if (mem->state != XIW_MEM_FREE || mem->pd != pd ||
	    mem->stag >> 8 != key >> 8)
		return -EINVAL;
	if (!mr->map_pages || !mr_range_ok(ibmr->iova, ibmr->length) ||
	    !mr_range_ok(mr->map_off, ibmr->length) ||
	    mr->map_off + ibmr->length > (u64)mr->map_pages * ibmr->page_size)
		return -EINVAL;

	memcpy(mem->pages, mr->map, mr->map_pages * sizeof(*mem->pages));
	mem->num_pages = mr->map_pages;
	mem->page_shift = ilog2(ibmr->page_size);
	mem->first_off = mr->map_off;
	mem->iova = ibmr->iova;
	mem->length = ibmr->length;
	mem->access = access & XIW_ACCESS_RIGHTS;
	mem->stag = key;
	mem->state = XIW_MEM_VALID;
	return 0;
}

/**
 * xiw_mr_fast_register() - carry out a REG_MR work request
 * @pd: protection domain of the QP
 * @ibmr: region from xiw_alloc_mr(), mapped, and without valid registration
 * @key: its STag, with the key part to use from now on
 * @access: IB_ACCESS_*
 *
 * Context: Any, with interrupts on.
 * Return: 0 or -EINVAL; then nothing has changed.
 */
int xiw_mr_fast_register(struct ib_pd *pd, struct ib_mr *ibmr, u32 key,
			 int access)
{
	struct xiw_mr *mr = to_xmr(ibmr);
	int ret;

	if (ibmr->device != pd->device || mr->mem->kind != XIW_MEM_FRWR ||
	    mr_check_access(pd->device, access))
		return -EINVAL;

	xiw_mem_lock(mr->mem);
	ret = mr_fast_register_locked(mr, pd, key, access);
	xiw_mem_unlock(mr->mem);
	return ret;
}
