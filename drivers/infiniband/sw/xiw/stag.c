// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * STags: how they are made, and the one look-up through which all access to
 * memory goes. An STag is a 24-bit index and an 8-bit key. Both are random
 * when a region is made, because a peer must not be able to guess the STags
 * of others (RFC 5040 section 8.1.1); the consumer may change the key later.
 */
#include "mem.h"

#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/xarray.h>

#include "device.h"
#include "proto/rdmap.h"
#include "qp.h"

/* STag of all kernel memory, valid on the QPs of kernel consumers only */
#define XIW_STAG_LOCAL_DMA	0

#define XIW_STAG_INDEX_MAX	GENMASK(23, 0)

/* With XIW_MAX_MR and XIW_MAX_MW one index in eight is taken. */
#define XIW_STAG_TRIES		64

/**
 * xiw_stag_alloc() - give an object an STag and publish it
 * @mem: complete object; from here on look-ups can find it
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOSPC or -ENOMEM.
 */
int xiw_stag_alloc(struct xiw_mem *mem)
{
	int tries;
	u32 index;
	int ret;

	for (tries = 0; tries < XIW_STAG_TRIES; tries++) {
		/* Index 0 belongs to the local DMA key. */
		index = get_random_u32_inclusive(1, XIW_STAG_INDEX_MAX);
		mem->stag = index << 8 | get_random_u8();
		ret = xa_insert(&mem->dev->mems, index, mem, GFP_KERNEL);
		if (ret != -EBUSY)
			return ret;
	}
	return -ENOSPC;
}

/**
 * xiw_stag_free() - take an object out of the reach of look-ups
 * @mem: object, already in state XIW_MEM_DEAD
 *
 * Look-ups that are under way may hold the structure until the end of an RCU
 * grace period.
 *
 * Context: Process context, may sleep.
 */
void xiw_stag_free(struct xiw_mem *mem)
{
	struct xiw_dev *dev = mem->dev;

	xa_erase(&dev->mems, mem->stag >> 8);
	/* From here on no view finds it in its memory, see find_in_view(). */
	atomic64_inc_return_release(&dev->mem_generation);
}

/**
 * xiw_stag_find() - object with the index of an STag
 * @dev: device
 * @stag: STag
 *
 * Nothing is known about the object yet: take its lock, then compare the
 * whole STag and the state.
 *
 * Context: RCU read-side critical section.
 * Return: The object or NULL.
 */
struct xiw_mem *xiw_stag_find(struct xiw_dev *dev, u32 stag)
{
	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "STag look-up without RCU");
	return xa_load(&dev->mems, stag >> 8);
}

static enum xiw_mem_status check_range(u64 addr, u64 len, u64 base, u64 size)
{
	switch (xiw_rdmap_range_check(addr, len, base, size)) {
	case XIW_RANGE_FITS:
		return XIW_MEM_OK;
	case XIW_RANGE_WRAPS:
		return XIW_MEM_WRAP;
	default:
		return XIW_MEM_BOUNDS;
	}
}

/* The order is that of the error codes a peer gets to see. */
static enum xiw_mem_status check_mem(const struct xiw_mem *mem,
				     struct ib_pd *pd, u32 qpn, u32 stag,
				     int access)
{
	if (mem->state != XIW_MEM_VALID || mem->stag != stag)
		return XIW_MEM_BAD_STAG;
	if (mem->pd != pd || (mem->qp && mem->qp->qpn != qpn))
		return XIW_MEM_BAD_PD;
	/* A window is for the peer only. */
	if (mem->kind == XIW_MEM_MW && !(access & XIW_MEM_REMOTE))
		return XIW_MEM_BAD_STAG;
	if ((mem->access & access) != access)
		return XIW_MEM_BAD_ACCESS;
	return XIW_MEM_OK;
}

static enum xiw_mem_status get_local_dma(int access, u64 addr, u64 len,
					 struct xiw_mem_ref *ref)
{
	if (access & XIW_MEM_REMOTE)
		return XIW_MEM_BAD_STAG;

	ref->mem = NULL;
	ref->base = NULL;
	return len ? check_range(addr, len, 0, U64_MAX) : XIW_MEM_OK;
}

/*
 * A view remembers what it found last, as most segments go where the one
 * before went. The structure is freed a grace period after the generation has
 * changed. So if it has not changed within this RCU section, what was found
 * under it is still there. Everything else is judged anew, under the lock.
 */
static struct xiw_mem *find_in_view(struct xiw_mem_view *view, u32 stag)
{
	/* Pairs with the release in xiw_stag_free(). */
	u64 now = atomic64_read_acquire(&view->dev->mem_generation);
	u32 index = stag >> 8;

	if (view->last && view->index == index && view->generation == now)
		return view->last;
	view->last = xiw_stag_find(view->dev, stag);
	view->index = index;
	view->generation = now;
	return view->last;
}

/**
 * xiw_mem_get() - look up memory, check the right to use it, and lock it
 * @view: whose memory; the caller is its only user
 * @stag: STag or local key
 * @access: IB_ACCESS_* that are all needed; 0 for a local read
 * @addr: first byte
 * @len: bytes; 0 skips the checks of the range
 * @ref: result, for xiw_mem_read() and so on
 *
 * Context: Any, with interrupts on. On success bottom halves are off and the
 * memory cannot be revoked until xiw_mem_put(); do not sleep.
 * Return: XIW_MEM_OK or the first check that failed.
 */
enum xiw_mem_status xiw_mem_get(struct xiw_mem_view *view, u32 stag,
				int access, u64 addr, u64 len,
				struct xiw_mem_ref *ref)
{
	enum xiw_mem_status status;
	struct xiw_mem *mem;

	if (view->kernel_qp && stag == XIW_STAG_LOCAL_DMA)
		return get_local_dma(access, addr, len, ref);

	rcu_read_lock();
	mem = find_in_view(view, stag);
	if (!mem) {
		rcu_read_unlock();
		return XIW_MEM_BAD_STAG;
	}

	read_lock_bh(&mem->lock);
	status = check_mem(mem, view->pd, view->qpn, stag, access);
	if (status == XIW_MEM_OK && len)
		status = check_range(addr, len, mem->iova, mem->length);
	if (status != XIW_MEM_OK) {
		read_unlock_bh(&mem->lock);
		rcu_read_unlock();
		return status;
	}

	ref->mem = mem;
	ref->base = mem->mr ? mem->mr : mem;
	/* Both stay held, xiw_mem_put() releases them. For sparse only: */
	__release(&mem->lock);
	__release(RCU);
	return XIW_MEM_OK;
}

/**
 * xiw_mem_view_init() - set up a view
 * @view: new, or of an earlier stream of the same queue pair
 * @dev: device
 * @pd: protection domain
 * @qpn: number of the queue pair
 * @kernel_qp: it belongs to a kernel consumer
 *
 * Context: Any.
 */
void xiw_mem_view_init(struct xiw_mem_view *view, struct xiw_dev *dev,
		       struct ib_pd *pd, u32 qpn, bool kernel_qp)
{
	view->dev = dev;
	view->pd = pd;
	view->qpn = qpn;
	view->kernel_qp = kernel_qp;
}

/**
 * xiw_mem_put() - end of the access that xiw_mem_get() allowed
 * @ref: from xiw_mem_get()
 *
 * Context: That of the xiw_mem_get().
 */
void xiw_mem_put(struct xiw_mem_ref *ref)
{
	if (!ref->mem)
		return;

	/* Taken in xiw_mem_get(). For sparse only: */
	__acquire(RCU);
	__acquire(&ref->mem->lock);
	read_unlock_bh(&ref->mem->lock);
	rcu_read_unlock();
}
