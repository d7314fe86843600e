/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Stand-ins for the kernel, for targets that compile files of the data path.
 * Included before everything else; the headers of the kernel that these files
 * name are empty, see Makefile. What a target reaches works as in the kernel;
 * the rest are types without content.
 */
#ifndef _XIW_FUZZ_KERNEL_H
#define _XIW_FUZZ_KERNEL_H

#include <stdint.h>
#include <stdlib.h>

#include "proto/pure_user.h"

typedef __s64 s64;

#define gfp_t			unsigned int

#define PAGE_SHIFT		12
#define PAGE_SIZE		4096UL
#define SZ_16K			16384
#define BIT(n)			(1UL << (n))
#define NSEC_PER_SEC		1000000000L
#define DIV_ROUND_UP(a, b)	(((a) + (b) - 1) / (b))
#define rounddown(a, b)		((a) - (a) % (b))
#define clamp_t(t, v, lo, hi)	min_t(t, max_t(t, v, lo), hi)
#define min3(a, b, c)		min(min(a, b), (__typeof__(a))(c))
#define likely(cond)		(cond)
#define unlikely(cond)		(cond)
#define fallthrough		__attribute__((fallthrough))
#define __aligned(n)		__attribute__((aligned(n)))
#define ____cacheline_aligned	__attribute__((aligned(64)))
#define noinline		__attribute__((noinline))
#define __percpu
#define IS_ENABLED(CONFIG_name)	0
#define IS_ALIGNED(a, n)	(!((a) % (n)))
#define EXPORT_SYMBOL_IF_KUNIT(name)
#define READ_ONCE(x)		(*(volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value)	(*(volatile __typeof__(x) *)&(x) = (value))
#define swap(a, b) do {							\
	__typeof__(a) _swap = (a);					\
									\
	(a) = (b);							\
	(b) = _swap;							\
} while (0)
#define this_cpu_add(count, n)	((count) += (n))
#define WARN_ON_ONCE(cond) ({						\
	bool _warn = (cond);						\
									\
	if (_warn)							\
		abort();						\
	_warn;								\
})
#define container_of(p, type, member)					\
	((type *)((char *)(p) - offsetof(type, member)))

#define get_unaligned(p) ({						\
	struct { __typeof__(*(p)) value; } __packed const *_get =	\
		(const void *)(p);					\
									\
	_get->value;							\
})
#define put_unaligned(v, p) do {					\
	__typeof__(*(p)) _put = (v);					\
									\
	memcpy(p, &_put, sizeof(_put));					\
} while (0)

static inline void barrier_data(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

static inline u16 get_unaligned_be16(const void *p)
{
	return be16toh(get_unaligned((const u16 *)p));
}

static inline __le32 cpu_to_le32(u32 value)
{
	return htole32(value);
}

static inline int get_order(u64 size)
{
	int order = 0;

	while ((u64)PAGE_SIZE << order < size)
		order++;
	return order;
}

/* Castagnoli's polynomial, four bits at a time */
static inline u32 crc32c(u32 crc, const void *data, size_t len)
{
	static const u32 table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
		0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	const u8 *p = data;

	while (len--) {
		crc ^= *p++;
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

struct kernel_count {
	s64 value;
};

#define atomic_t		struct kernel_count
#define atomic_long_t		struct kernel_count
#define atomic64_t		struct kernel_count
#define refcount_t		struct kernel_count
#define spinlock_t		struct kernel_count
#define rwlock_t		struct kernel_count
#define ktime_t			s64

struct list_head { struct list_head *next, *prev; };
struct hlist_node { struct hlist_node *next; };
struct rcu_head { void *next; };
struct kref { int refs; };
struct work_struct { void *func; };
struct delayed_work { struct work_struct work; };
struct hrtimer { void *func; };
struct xarray { void *head; };
struct iosys_map { void *vaddr; };
struct rdma_user_mmap_entry { u64 offset; };
struct sockaddr_storage;
struct kvec { void *iov_base; size_t iov_len; };

static inline void kref_init(struct kref *ref)
{
	ref->refs = 1;
}

static inline void kref_get(struct kref *ref)
{
	ref->refs++;
}

static inline void kref_put(struct kref *ref, void (*last)(struct kref *ref))
{
	if (!--ref->refs)
		last(ref);
}

/* Pages end where their memory ends. */
struct page {
	u8 *bytes;
	u32 order;
	int refs;
};

struct bio_vec {
	struct page *bv_page;
	u32 bv_len;
	u32 bv_offset;
};

static inline size_t page_size(const struct page *page)
{
	return PAGE_SIZE << page->order;
}

static inline u32 compound_order(const struct page *page)
{
	return page->order;
}

static inline void *page_address(const struct page *page)
{
	return page->bytes;
}

static inline void get_page(struct page *page)
{
	page->refs++;
}

static inline void put_page(struct page *page)
{
	if (--page->refs)
		return;
	free(page->bytes);
	free(page);
}

static inline void bvec_set_page(struct bio_vec *bv, struct page *page, u32 len,
				 u32 offset)
{
	bv->bv_page = page;
	bv->bv_len = len;
	bv->bv_offset = offset;
}

enum {
	IB_ACCESS_LOCAL_WRITE	= 1 << 0,
	IB_ACCESS_REMOTE_WRITE	= 1 << 1,
	IB_ACCESS_REMOTE_READ	= 1 << 2,
	IB_ACCESS_REMOTE_ATOMIC	= 1 << 3,
	IB_ACCESS_ON_DEMAND	= 1 << 6,
};

enum {
	IB_WR_RDMA_WRITE,
	IB_WR_RDMA_WRITE_WITH_IMM,
	IB_WR_SEND,
	IB_WR_SEND_WITH_IMM,
	IB_WR_RDMA_READ,
	IB_WR_ATOMIC_CMP_AND_SWP,
	IB_WR_ATOMIC_FETCH_AND_ADD,
	IB_WR_BIND_MW,
	IB_WR_SEND_WITH_INV,
	IB_WR_RDMA_READ_WITH_INV,
	IB_WR_LOCAL_INV,
	IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
	IB_WR_MASKED_ATOMIC_FETCH_AND_ADD,
	IB_WR_REG_MR,
};

enum {
	IB_WC_SUCCESS,
	IB_WC_LOC_LEN_ERR,
	IB_WC_LOC_QP_OP_ERR,
	IB_WC_LOC_EEC_OP_ERR,
	IB_WC_LOC_PROT_ERR,
	IB_WC_WR_FLUSH_ERR,
	IB_WC_REM_INV_REQ_ERR = 9,
	IB_WC_REM_ACCESS_ERR,
	IB_WC_REM_OP_ERR,
	IB_WC_FATAL_ERR = 19,
};

struct ib_qp_init_attr;
struct ib_recv_wr;
struct ib_send_wr;
struct ib_ucontext;
struct vm_area_struct;

/* Packets: fragments are pages, or parts of one. */
#define MAX_SKB_FRAGS	17

struct skb_frag {
	u8 *data;
	u32 len;
};

#define skb_frag_t		struct skb_frag

struct sk_buff;

struct skb_shared_info {
	u32 nr_frags;
	skb_frag_t frags[MAX_SKB_FRAGS];
	struct sk_buff *frag_list;
};

struct sk_buff {
	struct sk_buff *next;
	u8 *data;
	u32 len;
	u32 data_len;
	struct skb_shared_info info;
};

struct read_descriptor {
	union { void *data; } arg;
	size_t count;
};

#define read_descriptor_t	struct read_descriptor

extern int (*kernel_actor)(read_descriptor_t *desc, struct sk_buff *skb,
			   unsigned int off, size_t len);

#define sk_read_actor_t		__typeof__(kernel_actor)

#define skb_shinfo(skb)		(&(skb)->info)
#define skb_walk_frags(skb, i)						\
	for ((i) = (skb)->info.frag_list; (i); (i) = (i)->next)
#define skb_frag_address(frag)	((frag)->data)
#define skb_frag_size(frag)	((frag)->len)
#define skb_frags_readable(skb)	true
#define skb_has_frag_list(skb)	((skb)->info.frag_list)
#define skb_headlen(skb)	((skb)->len - (skb)->data_len)
#define skb_is_nonlinear(skb)	((skb)->data_len)
#define skb_linearize(skb)	(abort(), 1)

/* Time stands still, and nothing runs later. */
#define jiffies				0UL
#define msecs_to_jiffies(ms)		((unsigned long)(ms))
#define time_after(a, b)		((long)((b) - (a)) < 0)
#define time_before(a, b)		time_after(b, a)
#define INIT_DELAYED_WORK(delayed, fn)	((delayed)->work.func = (void *)(fn))
#define delayed_work_pending(work)	((void)(work), false)
#define cancel_delayed_work(work)	((void)(work), false)
#define to_delayed_work(w)						\
	container_of(w, struct delayed_work, work)

#define GFP_ATOMIC		1
#define __GFP_NOWARN		2
#define OPTIMIZER_HIDE_VAR(v)	__asm__("" : "+r"(v))
#define le32_to_cpu(v)		le32toh(v)
#define offset_in_page(off)	((off) % PAGE_SIZE)
#define kvfree(p)		free(p)
#define __free_page(page)	put_page(page)
#define wmb()	__sync_synchronize() /* one thread needs none */

static inline u32 rounddown_pow_of_two(u32 n)
{
	return 1U << (31 - __builtin_clz(n));
}

static inline u32 roundup_pow_of_two(u32 n)
{
	return n == 1 ? 1 : 2 * rounddown_pow_of_two(n - 1);
}

/* trace.h is empty. A target decides whether FPDUs are traced. */
#define _XIW_TRACE_H
extern bool kernel_traces_fpdus;
#define trace_rx_fpdu_enabled()		kernel_traces_fpdus
#define trace_rx_fpdu(...)		do { } while (0)
#define trace_rx_budget(...)		do { } while (0)
#define trace_tx_batch(...)		do { } while (0)
#define trace_rnr_wait(...)		do { } while (0)
#define trace_rnr_done(...)		do { } while (0)
#define trace_terminate_received(...)	do { } while (0)

#endif /* _XIW_FUZZ_KERNEL_H */
