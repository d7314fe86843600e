/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory named by an STag: regions (and windows onto them), how the data
 * path gets at their bytes, and what revoking them means.
 *
 * Lifetime and revocation. A look-up runs under RCU, takes @lock for reading
 * with bottom halves off and checks @state there; the caller copies at most
 * one segment and lets go. Whoever revokes (deregistration, local or remote
 * invalidate) takes @lock for writing, so once it has changed @state no
 * further byte is read or written through the STag, and nobody ever waits
 * for more than one segment's copy. The structure itself is freed after a
 * grace period; the pages may be unpinned as soon as the write lock was held.
 */
#ifndef _XIW_MEM_H
#define _XIW_MEM_H

#include <linux/iosys-map.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct dma_buf;
struct dma_buf_attachment;
struct ib_dmah;
struct ib_umem;
struct xiw_dev;
struct xiw_qp;

/* Rights that a peer can be given. */
#define XIW_MEM_REMOTE		(IB_ACCESS_REMOTE_READ | \
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
	XIW_MEM_DEAD,		/* deregistered, seen by racing look-ups */
};

/* Verdict of a look-up, in the order in which the checks are made. */
enum xiw_mem_status {
	XIW_MEM_OK,
	XIW_MEM_BAD_STAG,	/* unknown, wrong key, or not registered */
	XIW_MEM_BAD_PD,		/* of another PD, or another QP's window */
	XIW_MEM_BAD_ACCESS,	/* right missing */
	XIW_MEM_WRAP,		/* address + length wraps 64 bits */
	XIW_MEM_BOUNDS,		/* outside of the region */
};

/**
 * struct xiw_mem - what an STag names
 * @dev: device
 * @pd: protection domain
 * @lock: see above; writers use the _bh form
 * @stag: current value, index << 8 | key
 * @kind: never changes
 * @state: protected by @lock
 * @access: IB_ACCESS_*; protected by @lock
 * @qp: QP a type 2 window is bound to, else NULL; on that one's list then
 * @iova: address of the first byte as the STag's users know it
 * @length: bytes
 * @page_shift: log2 of the size of the pages in @pages
 * @first_off: offset of the first byte in the first page
 * @num_pages: pages in use
 * @max_pages: capacity of @pages
 * @pages: kernel address of each page
 * @umem: pinned user memory, XIW_MEM_USER only
 * @dmabuf: instead of @umem: buffer of another device, with a reference
 * @attach: keeps the exporter from moving @dmabuf
 * @vmap: where all of @dmabuf is mapped
 * @type2: window of type 2; never changes
 * @mr: region below a window that is bound, else NULL
 * @num_mw: windows bound to this region
 * @bound: a bound type 2 window on its QP's list; see mw.c
 * @rcu: frees the structure
 */
struct xiw_mem {
	struct xiw_dev *dev;
	struct ib_pd *pd;
	rwlock_t lock;
	u32 stag;
	enum xiw_mem_kind kind;
	enum xiw_mem_state state;
	int access;
	struct xiw_qp *qp;
	u64 iova;
	u64 length;
	u32 page_shift;
	u32 first_off;
	u32 num_pages;
	u32 max_pages;
	void **pages;
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
 * struct xiw_mr - memory region as the consumer sees it
 * @ibmr: as the core sees it
 * @mem: what the data path sees
 * @map: pages for the next fast registration, XIW_MEM_FRWR only. Apart from
 *	the pages in @mem, because a consumer may map a region anew before the
 *	old registration is invalidated
 * @map_pages: pages in @map
 * @map_off: offset of the first byte in the first of them
 */
struct xiw_mr {
	struct ib_mr ibmr;
	struct xiw_mem *mem;
	void **map;
	u32 map_pages;
	u32 map_off;
};

static inline struct xiw_mr *to_xmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct xiw_mr, ibmr);
}

/**
 * struct xiw_mw - memory window as the consumer sees it
 * @ibmw: as the core sees it; its allocation is this struct
 * @mem: what the data path sees
 */
struct xiw_mw {
	struct ib_mw ibmw;
	struct xiw_mem *mem;
};

static inline struct xiw_mw *to_xmw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct xiw_mw, ibmw);
}

/**
 * struct xiw_bind - what a BIND_MW work request asks for
 * @key: STag of the window, with the key part to use from now on
 * @lkey: region to bind it to
 * @addr: first byte of the window, which is also how the peer calls it
 * @length: bytes
 * @access: rights of the peer
 */
struct xiw_bind {
	u32 key;
	u32 lkey;
	u64 addr;
	u64 length;
	u64 access;
};

/**
 * struct xiw_mem_ref - access to memory between xiw_mem_get() and _put()
 * @mem: object whose lock is held; NULL for the local DMA key
 * @base: object that owns the pages; differs from @mem for a window
 */
struct xiw_mem_ref {
	struct xiw_mem *mem;
	struct xiw_mem *base;
};

/**
 * struct xiw_mem_view - memory as one side of a stream sees it
 * @dev: device
 * @pd: protection domain
 * @qpn: number of the queue pair; matters for windows
 * @kernel_qp: it belongs to a kernel consumer, which may use the local DMA key
 * @last: object found last, see find_in_view(); only the user of the view,
 *	of whom there is one at a time, may look at it
 * @index: its index
 * @generation: that of the device's STags when it was found
 */
struct xiw_mem_view {
	struct xiw_dev *dev;
	struct ib_pd *pd;
	u32 qpn;
	bool kernel_qp;
	struct xiw_mem *last;
	u32 index;
	u64 generation;
};

/* stag.c: allocation of STags, and the look-up with all its checks */
int xiw_stag_alloc(struct xiw_mem *mem);
void xiw_stag_free(struct xiw_mem *mem);
struct xiw_mem *xiw_stag_find(struct xiw_dev *dev, u32 stag);
void xiw_mem_view_init(struct xiw_mem_view *view, struct xiw_dev *dev,
		       struct ib_pd *pd, u32 qpn, bool kernel_qp);

/*
 * Look up @stag, check @access (IB_ACCESS_* bits that are all needed; 0 =
 * local read) and the range. On XIW_MEM_OK the memory is locked until
 * xiw_mem_put(); do not sleep. STag 0 is the local DMA key of a kernel
 * consumer if @access has no REMOTE bit. A @len of 0 skips the range checks.
 */
enum xiw_mem_status xiw_mem_get(struct xiw_mem_view *view, u32 stag,
				int access, u64 addr, u64 len,
				struct xiw_mem_ref *ref);
void xiw_mem_put(struct xiw_mem_ref *ref);

/* pin.c: bytes of a locked, checked range */
void xiw_mem_write(const struct xiw_mem_ref *ref, u64 addr, const void *src,
		   size_t len);
void xiw_mem_read(const struct xiw_mem_ref *ref, u64 addr, void *dst,
		  size_t len);
/* NULL if the word is not aligned to 8 bytes. */
u64 *xiw_mem_word(const struct xiw_mem_ref *ref, u64 addr);

/* mr.c: verbs, and the work requests that change a registration */
struct ib_mr *xiw_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *xiw_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
			      u64 iova, int access, struct ib_dmah *dmah,
			      struct ib_udata *udata);
struct ib_mr *xiw_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
				     u64 iova, int fd, int access,
				     struct ib_dmah *dmah,
				     struct uverbs_attr_bundle *attrs);
struct ib_mr *xiw_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				u64 length, u64 iova, int access,
				struct ib_pd *pd, struct ib_udata *udata);
struct ib_mr *xiw_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			   u32 max_num_sg);
int xiw_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		  unsigned int *sg_offset);
int xiw_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* REG_MR: any context. 0, or -EINVAL. */
int xiw_mem_fast_register(struct xiw_dev *dev, struct ib_pd *pd,
			  struct ib_mr *ibmr, u32 key, int access);
/*
 * LOCAL_INV and Send with Invalidate: any context. @remote applies the rules
 * for a peer's request (only FRWR and type 2 windows). XIW_MEM_BAD_STAG for
 * an STag that is unknown, not valid or of the wrong kind, XIW_MEM_BAD_PD
 * for one of another PD or QP.
 */
enum xiw_mem_status xiw_mem_invalidate(struct xiw_dev *dev, struct ib_pd *pd,
				       u32 qpn, u32 stag, bool remote);

/* mw.c: windows */
int xiw_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int xiw_dealloc_mw(struct ib_mw *ibmw);
int xiw_mem_bind(struct xiw_qp *qp, const struct xiw_bind *bind);
void xiw_mw_unbind_locked(struct xiw_mem *mem);
void xiw_mw_release_qp(struct xiw_qp *qp);

#endif /* _XIW_MEM_H */
