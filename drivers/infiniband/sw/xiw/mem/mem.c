// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * STags: allocation, the look-up that precedes all access to memory, the bytes
 * behind an STag, and invalidation. An STag is a 24-bit index and an
 * 8-bit key. Both are random when a region is allocated, because a peer must
 * not be able to guess the STags of others (RFC 5040 section 8.1.1); the ULP
 * may change the key later.
 */
#include "mem.h"

#include <asm/barrier.h>
#include <kunit/visibility.h>
#include <linux/align.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/rcupdate.h>

#include "proto/rdmap.h"

/* STag of all kernel memory, valid on the QPs of kernel ULPs only */
#define XIW_STAG_LOCAL_DMA	0

#define XIW_STAG_INDEX_MAX	GENMASK(23, 0)

/*
 * Random indices to try; at XIW_MAX_MR and XIW_MAX_MW one in eight is in use.
 */
#define XIW_STAG_TRIES		64

void xiw_mem_table_init(struct xiw_mem_table *table)
{
	xa_init_flags(&table->mems, XA_FLAGS_ACCOUNT);
	atomic64_set(&table->generation, 0);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_mem_table_init);

/*
 * Assigns an STag to a complete object, which look-ups can find from then on.
 * May sleep. 0, -ENOSPC or -ENOMEM.
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
		ret = xa_insert(&mem->table->mems, index, mem, GFP_KERNEL);
		if (ret != -EBUSY)
			return ret;
	}
	return -ENOSPC;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stag_alloc);

/*
 * Frees the STag of an object in state XIW_MEM_DEAD. May sleep. Concurrent
 * look-ups may use the structure until the end of an RCU grace period.
 */
void xiw_stag_free(struct xiw_mem *mem)
{
	struct xiw_mem_table *table = mem->table;

	xa_erase(&table->mems, mem->stag >> 8);
	/* Invalidate the lookup caches, see mem_find_cached(). */
	atomic64_inc_return_release(&table->generation);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_stag_free);

/*
 * Finds the object with the index of @stag, under RCU. The caller must take its
 * lock, and then check the whole STag and the state.
 */
struct xiw_mem *xiw_stag_find(struct xiw_mem_table *table, u32 stag)
{
	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "STag look-up without RCU");
	return xa_load(&table->mems, stag >> 8);
}

/* Sets up the locks of a zeroed object. */
void xiw_mem_init(struct xiw_mem *mem)
{
	rwlock_init(&mem->lock);
	spin_lock_init(&mem->write_gate);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_mem_init);

/*
 * Excludes all access through the STag. The caller is within RCU or has a
 * reference that keeps @mem. Bottom halves are off until xiw_mem_unlock().
 */
void xiw_mem_lock(struct xiw_mem *mem)
	__acquires(&mem->write_gate)
	__acquires(&mem->lock)
{
	spin_lock_bh(&mem->write_gate);
	WRITE_ONCE(mem->writer, true);
	write_lock(&mem->lock);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_mem_lock);

void xiw_mem_unlock(struct xiw_mem *mem)
	__releases(&mem->lock)
	__releases(&mem->write_gate)
{
	write_unlock(&mem->lock);
	WRITE_ONCE(mem->writer, false);
	spin_unlock_bh(&mem->write_gate);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_mem_unlock);

static enum xiw_mem_status mem_check_range(u64 addr, u64 len, u64 base,
					   u64 size)
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

/* The first check that fails determines the error in the Terminate. */
static enum xiw_mem_status mem_check_mem(const struct xiw_mem *mem,
					 struct ib_pd *pd, u32 qpn, u32 stag,
					 int access)
{
	if (mem->state != XIW_MEM_VALID || mem->stag != stag)
		return XIW_MEM_BAD_STAG;
	if (mem->pd != pd || (mem->owner && mem->owner->qpn != qpn))
		return XIW_MEM_BAD_PD;
	/* A window gives access to the peer only. */
	if (mem->kind == XIW_MEM_MW && !(access & XIW_MEM_REMOTE))
		return XIW_MEM_BAD_STAG;
	if ((mem->access & access) != access)
		return XIW_MEM_BAD_ACCESS;
	return XIW_MEM_OK;
}

/* Kernel memory by virtual address is contiguous. */
static void mem_set_kernel_position(struct xiw_mem_ref *ref, u64 addr)
{
	ref->at = (void *)(uintptr_t)addr;
	ref->end = (void *)UINTPTR_MAX;
}

static enum xiw_mem_status mem_get_local_dma(int access, u64 addr, u64 len,
					     struct xiw_mem_ref *ref)
{
	if (access & XIW_MEM_REMOTE)
		return XIW_MEM_BAD_STAG;

	ref->mem = NULL;
	ref->base = NULL;
	mem_set_kernel_position(ref, addr);
	return len ? mem_check_range(addr, len, 0, U64_MAX) : XIW_MEM_OK;
}

/*
 * Caches the object of the last look-up, as most segments name the same STag as
 * the one before. An object is freed a grace period after the generation has
 * changed. So within an RCU section that finds the generation unchanged the
 * cached object still exists. All checks are repeated under its lock.
 */
static struct xiw_mem *mem_find_cached(struct xiw_mem_cache *cache, u32 stag)
{
	/* Pairs with the release in xiw_stag_free(). */
	u64 now = atomic64_read_acquire(&cache->table->generation);
	u32 index = stag >> 8;

	if (cache->last && cache->index == index && cache->generation == now)
		return cache->last;
	cache->last = xiw_stag_find(cache->table, stag);
	cache->index = index;
	cache->generation = now;
	return cache->last;
}

static void mem_wait_for_writer(struct xiw_mem *mem)
{
	if (likely(!READ_ONCE(mem->writer)))
		return;
	spin_lock_bh(&mem->write_gate);
	spin_unlock_bh(&mem->write_gate);
}

static bool mem_is_on_demand(const struct xiw_mem *base)
{
	return IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING) &&
	       base->access & IB_ACCESS_ON_DEMAND;
}

static u64 mem_offset(const struct xiw_mem *base, u64 addr)
{
	return addr - base->iova + base->first_off;
}

/*
 * Bytes of a checked range before its first page that is absent, or not
 * writable if @access writes. @base is on demand and locked. The caller limits
 * @len.
 */
static u64 mem_present_bytes(const struct xiw_mem *base, int access, u64 addr,
			     u64 len)
{
	u64 off = mem_offset(base, addr);
	u64 end = off + len;
	u64 at = off;
	u64 i;

	while (at < end) {
		i = at >> PAGE_SHIFT;
		if (!base->pages[i] ||
		    (access & XIW_MEM_WRITES && !test_bit(i, base->writable)))
			return at - off;
		at = min(end, (i + 1) << PAGE_SHIFT);
	}
	return len;
}

static bool mem_is_present(const struct xiw_mem *base, int access, u64 addr,
			   u64 len)
{
	return mem_present_bytes(base, access, addr, len) == len;
}

/* The checks of xiw_mem_get() without the pages; on success @ref is locked. */
static __always_inline enum xiw_mem_status
mem_get_checked(struct xiw_mem_cache *cache, u32 stag, int access, u64 addr,
		u64 len, struct xiw_mem_ref *ref)
{
	enum xiw_mem_status status;
	struct xiw_mem *mem;

	rcu_read_lock();
	mem = mem_find_cached(cache, stag);
	if (!mem) {
		rcu_read_unlock();
		return XIW_MEM_BAD_STAG;
	}

	mem_wait_for_writer(mem);
	read_lock_bh(&mem->lock);
	status = mem_check_mem(mem, cache->pd, cache->qpn, stag, access);
	if (status == XIW_MEM_OK && len)
		status = mem_check_range(addr, len, mem->iova, mem->length);
	if (status != XIW_MEM_OK) {
		read_unlock_bh(&mem->lock);
		rcu_read_unlock();
		return status;
	}

	ref->mem = mem;
	ref->base = mem->mr ? mem->mr : mem;
	/* mem_unlock() releases both. For sparse only: */
	__release(&mem->lock);
	__release(RCU);
	return XIW_MEM_OK;
}

static void mem_unlock(struct xiw_mem *mem)
{
	/* Taken in mem_get_checked(). For sparse only: */
	__acquire(RCU);
	__acquire(&mem->lock);
	read_unlock_bh(&mem->lock);
	rcu_read_unlock();
}

/*
 * Locks the region on demand of the window in @ref as well: its pages change
 * while the window is bound. The lock nests inside the window's, as in a bind.
 * False if it has a writer: then this function has waited for it without
 * locks, and the caller starts again.
 */
static bool mem_lock_base(struct xiw_mem_ref *ref)
{
	struct xiw_mem *base = ref->base;

	if (base == ref->mem)
		return true;
	if (READ_ONCE(base->writer)) {
		rcu_read_lock();
		mem_unlock(ref->mem);
		mem_wait_for_writer(base);
		rcu_read_unlock();
		return false;
	}
	read_lock(&base->lock);
	/* xiw_mem_put() releases it. For sparse only: */
	__release(&base->lock);
	return true;
}

static noinline void mem_unlock_base(const struct xiw_mem_ref *ref)
{
	if (!mem_is_on_demand(ref->base))
		return;
	__acquire(&ref->base->lock);
	read_unlock(&ref->base->lock);
}

/*
 * The rest of xiw_mem_get() for memory on demand. False if the caller must
 * start again.
 */
static noinline bool mem_get_on_demand(struct xiw_mem_ref *ref, int access,
				       u64 addr, u64 len,
				       enum xiw_mem_status *status)
{
	if (!mem_lock_base(ref))
		return false;
	if (!mem_is_present(ref->base, access, addr, len)) {
		xiw_mem_put(ref);
		*status = XIW_MEM_ABSENT;
	}
	return true;
}

/*
 * Finds the contiguous bytes at the position, and returns their number, at most
 * @len. These bytes were checked. Pages that adjoin in kernel addresses are
 * contiguous.
 */
static size_t mem_extend(struct xiw_mem_ref *ref, size_t len)
{
	const struct xiw_mem *base = ref->base;
	u64 off = mem_offset(base, ref->next);
	size_t size = BIT_ULL(base->page_shift);
	void **page = base->pages + (off >> base->page_shift);
	size_t in_page = off & (size - 1);

	if (ref->at == ref->end) {
		ref->at = *page + in_page;
		ref->end = ref->at;
	}
	while ((size_t)(ref->end - ref->at) < len &&
	       *page + in_page == ref->end) {
		ref->end += size - in_page;
		ref->next += size - in_page;
		in_page = 0;
		page++;
	}
	return min(len, (size_t)(ref->end - ref->at));
}

/* xiw_mem_write() for bytes that may be in several pieces */
void xiw_mem_write_pieces(struct xiw_mem_ref *ref, const void *src, size_t len)
{
	size_t n;

	for (; len; len -= n, src += n) {
		n = mem_extend(ref, len);
		xiw_copy_in(ref->at, src, n);
		ref->at += n;
	}
}
EXPORT_SYMBOL_IF_KUNIT(xiw_mem_write_pieces);

/* xiw_mem_read() for bytes that may be in several pieces */
void xiw_mem_read_pieces(struct xiw_mem_ref *ref, void *dst, size_t len)
{
	size_t n;

	for (; len; len -= n, dst += n) {
		n = mem_extend(ref, len);
		xiw_copy_out(dst, ref->at, n);
		ref->at += n;
	}
}
EXPORT_SYMBOL_IF_KUNIT(xiw_mem_read_pieces);

/* Sets the position to byte @addr, from which @len bytes were checked. */
static void mem_set_position(struct xiw_mem_ref *ref, u64 addr, size_t len)
{
	if (ref->base->kind == XIW_MEM_DMA) {
		mem_set_kernel_position(ref, addr);
		return;
	}
	ref->at = NULL;
	ref->end = NULL;
	ref->next = addr;
	if (len)
		mem_extend(ref, len);
}

/**
 * xiw_mem_get() - look up memory, check access to it, and lock it
 * @cache: lookup cache; the caller is its only user
 * @stag: STag or local key
 * @access: IB_ACCESS_* that are all needed; 0 for a local read
 * @addr: first byte
 * @len: bytes; 0 skips the checks of the range
 * @ref: result, for xiw_mem_read() and others; its position is @addr
 *
 * Context: On success bottom halves are off, and the memory cannot be revoked
 * until xiw_mem_put(); do not sleep.
 * Return: XIW_MEM_OK or the first check that failed. XIW_MEM_ABSENT is the last
 * of them.
 */
enum xiw_mem_status xiw_mem_get(struct xiw_mem_cache *cache, u32 stag,
				int access, u64 addr, u64 len,
				struct xiw_mem_ref *ref)
{
	enum xiw_mem_status status;

	if (cache->kernel_qp && stag == XIW_STAG_LOCAL_DMA)
		return mem_get_local_dma(access, addr, len, ref);
	do {
		status = mem_get_checked(cache, stag, access, addr, len, ref);
		if (status != XIW_MEM_OK ||
		    likely(!mem_is_on_demand(ref->base)))
			break;
	} while (!mem_get_on_demand(ref, access, addr, len, &status));
	if (status == XIW_MEM_OK)
		mem_set_position(ref, addr, len);
	return status;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_mem_get);

/*
 * The same checks without an access: pages may be absent, and the memory may be
 * revoked before its use. @len may be large.
 */
enum xiw_mem_status xiw_mem_check(struct xiw_mem_cache *cache, u32 stag,
				  int access, u64 addr, u64 len)
{
	enum xiw_mem_status status;
	struct xiw_mem_ref ref;

	if (cache->kernel_qp && stag == XIW_STAG_LOCAL_DMA)
		return mem_get_local_dma(access, addr, len, &ref);
	status = mem_get_checked(cache, stag, access, addr, len, &ref);
	if (status == XIW_MEM_OK)
		mem_unlock(ref.mem);
	return status;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_mem_check);

/*
 * The region on demand that contains a range, with a reference for
 * xiw_odp_put(), and the @offset of @addr in it. NULL if one of the checks
 * fails, or for other memory. @len may be large.
 */
struct xiw_mem *xiw_mem_hold(struct xiw_mem_cache *cache, u32 stag, int access,
			     u64 addr, u64 len, u64 *offset)
{
	struct xiw_mem *base = NULL;
	struct xiw_mem_ref ref;

	if (mem_get_checked(cache, stag, access, addr, len, &ref) != XIW_MEM_OK)
		return NULL;
	if (mem_is_on_demand(ref.base)) {
		base = ref.base;
		/* It is not deregistered, so it has a reference. */
		refcount_inc(&base->refs);
		*offset = addr - base->iova;
	}
	mem_unlock(ref.mem);
	return base;
}

/*
 * Bytes from @addr, the position and checked by xiw_mem_get(), to the end of
 * the region or to an absent page, and not more than @most. They may be
 * accessed until xiw_mem_put(), too.
 */
u64 xiw_mem_room(struct xiw_mem_ref *ref, int access, u64 addr, u64 most)
{
	const struct xiw_mem *mem = ref->mem;

	if (!mem)
		return min(most, U64_MAX - addr);
	most = min(most, mem->length - (addr - mem->iova));
	if (unlikely(mem_is_on_demand(ref->base)))
		most = mem_present_bytes(ref->base, access, addr, most);
	if (most > (size_t)(ref->end - ref->at))
		mem_extend(ref, most);
	return most;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_mem_room);

/* Sets up a zeroed cache; for the members see struct xiw_mem_cache. */
void xiw_mem_cache_init(struct xiw_mem_cache *cache,
			struct xiw_mem_table *table, struct ib_pd *pd, u32 qpn,
			bool kernel_qp)
{
	cache->table = table;
	cache->pd = pd;
	cache->qpn = qpn;
	cache->kernel_qp = kernel_qp;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_mem_cache_init);

/*
 * Ends the access that xiw_mem_get() has begun, in the same context. Stores to
 * write-combined memory become visible before all later ones: the next segment
 * may belong in other memory.
 */
void xiw_mem_put(struct xiw_mem_ref *ref)
{
	if (!ref->mem)
		return;

	if (unlikely(ref->base->combined))
		wmb(); /* see above */
	if (unlikely(ref->base != ref->mem))
		mem_unlock_base(ref);
	mem_unlock(ref->mem);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_mem_put);

/*
 * The 64-bit word at the position for an atomic, or NULL if its kernel address
 * is not aligned: an aligned word never crosses a page, and the CPU's atomic
 * instructions work on it. xiw_mem_get() has checked 8 bytes.
 */
u64 *xiw_mem_word(const struct xiw_mem_ref *ref)
{
	return PTR_ALIGN(ref->at, sizeof(u64)) == ref->at ? ref->at : NULL;
}

static void mem_leave_owner(struct xiw_mem *mem)
{
	spin_lock(&mem->owner->lock);
	list_del(&mem->bound);
	spin_unlock(&mem->owner->lock);
	mem->owner = NULL;
}

/*
 * Unbinds a window from its region, if it has one. The window is locked for
 * writing.
 */
void xiw_mem_unbind_locked(struct xiw_mem *mem)
{
	lockdep_assert_held_write(&mem->lock);

	mem->state = XIW_MEM_FREE;
	if (!mem->mr)
		return;
	if (mem->owner)
		mem_leave_owner(mem);
	/* From here on the region may be freed. */
	atomic_dec(&mem->mr->num_mw);
	mem->mr = NULL;
}

static enum xiw_mem_status
mem_invalidate_locked(struct xiw_mem *mem, const struct xiw_mem_cache *cache,
		      u32 stag, bool remote)
{
	lockdep_assert_held_write(&mem->lock);

	if (mem->state == XIW_MEM_DEAD || mem->stag != stag)
		return XIW_MEM_BAD_STAG;
	/* The ULP may invalidate an STag that is invalid; a peer may not. */
	if (remote && mem->state == XIW_MEM_FREE)
		return XIW_MEM_BAD_STAG;
	if (mem->pd != cache->pd ||
	    (mem->owner && mem->owner->qpn != cache->qpn))
		return XIW_MEM_BAD_PD;
	if (mem->type2) {
		xiw_mem_unbind_locked(mem);
		return XIW_MEM_OK;
	}
	/*
	 * The STag of a region without remote rights is not meant for peers, so
	 * a peer may not invalidate it.
	 */
	if (mem->kind != XIW_MEM_FRWR || atomic_read(&mem->num_mw) ||
	    (remote && !(mem->access & XIW_MEM_REMOTE)))
		return XIW_MEM_BAD_STAG;

	mem->state = XIW_MEM_FREE;
	return XIW_MEM_OK;
}

/**
 * xiw_mem_invalidate() - revoke a registration, keep the STag allocated
 * @cache: lookup cache of the QP
 * @stag: STag
 * @remote: invalidation by the peer (RFC 5040 section 5.3), not by the ULP
 *
 * Only fast registrations without windows, and type 2 windows by the QP that
 * has bound them, can be revoked this way. The ULP may revoke them again. After
 * the call no byte is read or written through the STag.
 *
 * Return: XIW_MEM_OK; XIW_MEM_BAD_STAG if the STag is unknown, is of another
 * kind, or has no valid registration that a peer could revoke; XIW_MEM_BAD_PD.
 */
enum xiw_mem_status xiw_mem_invalidate(const struct xiw_mem_cache *cache,
				       u32 stag, bool remote)
{
	enum xiw_mem_status status = XIW_MEM_BAD_STAG;
	struct xiw_mem *mem;

	rcu_read_lock();
	mem = xiw_stag_find(cache->table, stag);
	if (mem) {
		xiw_mem_lock(mem);
		status = mem_invalidate_locked(mem, cache, stag, remote);
		xiw_mem_unlock(mem);
	}
	rcu_read_unlock();
	return status;
}
