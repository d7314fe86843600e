/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory named by an STag: regions (and windows onto them), how the data path
 * accesses their bytes, and how they are revoked. odp.h has regions on demand,
 * txbuf.h the memory of a stream. Uses proto/ only.
 *
 * Lifetime and revocation. A look-up runs under RCU, takes @lock for reading
 * with bottom halves off and then checks @state; the caller copies at most one
 * segment, or a series of small ones, before it unlocks. Revocation takes @lock
 * for writing and changes @state. From then on no byte is read or written
 * through the STag. It waits for two of these copies on each CPU, at most. The
 * pages may be unpinned at once; the structure is freed after a grace period.
 *
 * With bottom halves off, readers of the rwlock overtake a waiting writer. So a
 * writer holds a second lock, the write gate, at which new readers wait. No
 * context holds two objects for reading, except a window and its region.
 *
 * All functions but those for STags may be called in any context with
 * interrupts on. Those with a struct xiw_mem_ref are called between
 * xiw_mem_get() and xiw_mem_put(). Lengths are in bytes; addresses are those
 * that users of the STag name.
 */
#ifndef _XIW_MEM_H
#define _XIW_MEM_H

#include <linux/compiler.h>
#include <linux/iosys-map.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

struct dma_buf;
struct dma_buf_attachment;
struct ib_umem;
struct xiw_odp;

/* copy.c */
/* Size of an aligned word, which is read or written in a single access */
#define XIW_COPY_WORD	sizeof(u64)

/*
 * Copied once: a process may change its ring, and a sender on this host a
 * packet, while they are read. What is checked and what is used later must be
 * the same value, so it is copied by this function, and only the copy is read.
 * Without the barrier the compiler may read @src again in place of @dst.
 */
static __always_inline void xiw_copy_once(void *dst, const void *src,
					  size_t len)
{
	memcpy(dst, src, len);
	barrier_data(dst);
}

void xiw_copy_in(void *dst, const void *src, size_t len);
void xiw_copy_out(void *dst, const void *src, size_t len);

/* mem.c */
/* Rights that a peer can be given. */
#define XIW_MEM_REMOTE		(IB_ACCESS_REMOTE_READ | \
				 IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_ATOMIC)

/* Kinds of access that write */
#define XIW_MEM_WRITES		(IB_ACCESS_LOCAL_WRITE | \
				 IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_ATOMIC)

enum xiw_mem_kind {
	XIW_MEM_DMA,		/* all kernel memory, by virtual address */
	XIW_MEM_USER,		/* ib_umem */
	XIW_MEM_FRWR,		/* fast registration */
	XIW_MEM_MW,		/* memory window, type 1 or 2 */
};

enum xiw_mem_state {
	XIW_MEM_FREE,		/* FRWR or window, not registered */
	XIW_MEM_VALID,
	XIW_MEM_DEAD,		/* deregistered; look-ups may race with that */
};

/* Result of a look-up, in the order of the checks */
enum xiw_mem_status {
	XIW_MEM_OK,
	XIW_MEM_BAD_STAG,	/* unknown, wrong key, or not registered */
	XIW_MEM_BAD_PD,		/* of another PD, or another QP's window */
	XIW_MEM_BAD_ACCESS,	/* right missing */
	XIW_MEM_WRAP,		/* address + length wraps 64 bits */
	XIW_MEM_BOUNDS,		/* outside of the region */
	XIW_MEM_ABSENT,		/* a page must be paged in first, odp.h */
};

/**
 * struct xiw_mem_table - the STags of a device
 * @mems: STag index to struct xiw_mem; looked up under RCU
 * @generation: changes whenever an STag is taken out
 */
struct xiw_mem_table {
	struct xarray mems;
	atomic64_t generation;
};

/**
 * struct xiw_mw_owner - QP to which type 2 windows are bound
 * @qpn: number of the QP
 * @lock: protects @bound; nests inside the lock of a window
 * @bound: windows that belong to it; see mw.c
 */
struct xiw_mw_owner {
	u32 qpn;
	spinlock_t lock; /* see above */
	struct list_head bound;
};

/**
 * struct xiw_mem - memory region or window named by an STag
 * @table: table that has its STag
 * @pd: protection domain
 * @lock: see above; xiw_mem_lock() takes it for writing
 * @write_gate: write gate, see above; taken before @lock
 * @writer: a writer holds the write gate
 * @stag: current value, index << 8 | key
 * @kind: never changes
 * @state: protected by @lock
 * @access: IB_ACCESS_*; protected by @lock
 * @combined: the kernel's mapping may be write-combined, as that of a dma-buf;
 *	constant while registered. See xiw_mem_put()
 * @owner: QP of a bound type 2 window, which is on its list; else NULL
 * @iova: address of the first byte for users of the STag
 * @length: bytes
 * @page_shift: log2 of the size of the pages in @pages
 * @first_off: offset of the first byte in the first page
 * @num_pages: pages in use
 * @max_pages: capacity of @pages
 * @pages: kernel address of each page; NULL if absent
 * @odp: state of odp.c if @access has IB_ACCESS_ON_DEMAND, else NULL
 * @writable: with @odp, a bit for each page that may be written; protected as
 *	@pages
 * @refs: with @odp, references; the last xiw_odp_put() frees the structure
 * @umem: pinned user memory, XIW_MEM_USER only
 * @dmabuf: buffer of another device instead of @umem, with a reference
 * @attach: attachment that keeps the exporter from moving @dmabuf
 * @vmap: kernel mapping of all of @dmabuf
 * @type2: window of type 2; never changes
 * @mr: region to which a window is bound, else NULL
 * @num_mw: windows bound to this region
 * @bound: a bound type 2 window on its owner's list
 * @rcu: frees the structure
 */
struct xiw_mem {
	struct xiw_mem_table *table;
	struct ib_pd *pd;
	rwlock_t lock;
	bool writer;
	spinlock_t write_gate; /* see above */
	u32 stag;
	enum xiw_mem_kind kind;
	enum xiw_mem_state state;
	int access;
	bool combined;
	struct xiw_mw_owner *owner;
	u64 iova;
	u64 length;
	u32 page_shift;
	u32 first_off;
	u32 num_pages;
	u32 max_pages;
	void **pages;
	struct xiw_odp *odp;
	unsigned long *writable;
	refcount_t refs;
	struct ib_umem *umem;
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct iosys_map vmap;
	bool type2;
	struct xiw_mem *mr;
	atomic_t num_mw;
	struct list_head bound;
	struct rcu_head rcu;
};

/**
 * struct xiw_mem_ref - access to memory between xiw_mem_get() and _put(), and
 *	the position of the next access
 * @mem: locked object; NULL for the local DMA key
 * @base: object that owns the pages; differs from @mem for a window
 * @at: kernel address of the position
 * @end: end of the contiguous bytes found there; the range that was checked may
 *	end before
 * @next: address of the byte behind them
 */
struct xiw_mem_ref {
	struct xiw_mem *mem;
	struct xiw_mem *base;
	void *at;
	void *end;
	u64 next;
};

/**
 * struct xiw_mem_cache - lookup cache of one side of a stream
 * @table: the STags of the device
 * @pd: protection domain
 * @qpn: number of the queue pair; matters for windows
 * @kernel_qp: the queue pair belongs to a kernel ULP, which may use the local
 *	DMA key
 * @last: object found last, see mem_find_cached(); used by the owner of that
 *	side of the stream only
 * @index: index of @last
 * @generation: @table->generation when @last was found
 */
struct xiw_mem_cache {
	struct xiw_mem_table *table;
	struct ib_pd *pd;
	u32 qpn;
	bool kernel_qp;
	struct xiw_mem *last;
	u32 index;
	u64 generation;
};

void xiw_mem_table_init(struct xiw_mem_table *table);
void xiw_mem_init(struct xiw_mem *mem);
void xiw_mem_lock(struct xiw_mem *mem);
void xiw_mem_unlock(struct xiw_mem *mem);
int xiw_stag_alloc(struct xiw_mem *mem);
void xiw_stag_free(struct xiw_mem *mem);
struct xiw_mem *xiw_stag_find(struct xiw_mem_table *table, u32 stag);
void xiw_mem_cache_init(struct xiw_mem_cache *cache,
			struct xiw_mem_table *table, struct ib_pd *pd, u32 qpn,
			bool kernel_qp);
enum xiw_mem_status xiw_mem_get(struct xiw_mem_cache *cache, u32 stag,
				int access, u64 addr, u64 len,
				struct xiw_mem_ref *ref);
enum xiw_mem_status xiw_mem_check(struct xiw_mem_cache *cache, u32 stag,
				  int access, u64 addr, u64 len);
struct xiw_mem *xiw_mem_hold(struct xiw_mem_cache *cache, u32 stag, int access,
			     u64 addr, u64 len, u64 *offset);
u64 xiw_mem_room(struct xiw_mem_ref *ref, int access, u64 addr, u64 most);
void xiw_mem_put(struct xiw_mem_ref *ref);
void xiw_mem_write_pieces(struct xiw_mem_ref *ref, const void *src, size_t len);
void xiw_mem_read_pieces(struct xiw_mem_ref *ref, void *dst, size_t len);
u64 *xiw_mem_word(const struct xiw_mem_ref *ref);
void xiw_mem_unbind_locked(struct xiw_mem *mem);
enum xiw_mem_status xiw_mem_invalidate(const struct xiw_mem_cache *cache,
				       u32 stag, bool remote);

/*
 * Copies at least one byte to the position, which advances, with a right to
 * write. For the order in which the bytes become visible see copy.c. No aligned
 * word crosses a page.
 */
static inline void xiw_mem_write(struct xiw_mem_ref *ref, const void *src,
				 size_t len)
{
	void *at = ref->at;

	if (unlikely(len > (size_t)(ref->end - at))) {
		xiw_mem_write_pieces(ref, src, len);
		return;
	}
	ref->at = at + len;
	xiw_copy_in(at, src, len);
}

/*
 * Copies at least one byte from the position, which advances. The memory may
 * change concurrently: use the copy, and do not read the same bytes twice.
 */
static inline void xiw_mem_read(struct xiw_mem_ref *ref, void *dst, size_t len)
{
	void *at = ref->at;

	if (unlikely(len > (size_t)(ref->end - at))) {
		xiw_mem_read_pieces(ref, dst, len);
		return;
	}
	ref->at = at + len;
	xiw_copy_out(dst, at, len);
}

/*
 * Offset of the position in its aligned word, 0 to 7. The alignment is that of
 * the kernel address; the address of the region may be any.
 */
static inline u32 xiw_mem_behind_word(const struct xiw_mem_ref *ref)
{
	return (uintptr_t)ref->at % XIW_COPY_WORD;
}

/* Is smp_wmb() not sufficient to order stores there? */
static inline bool xiw_mem_is_combined(const struct xiw_mem_ref *ref)
{
	return ref->base && ref->base->combined;
}

#endif /* _XIW_MEM_H */
