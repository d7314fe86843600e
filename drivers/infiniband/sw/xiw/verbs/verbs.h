/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The other objects of verbs: completion queues, own and shared receive queues,
 * memory regions and windows. Here are the verbs that make and destroy them,
 * and what a queue pair calls to complete, receive, register and bind.
 *
 * Uses dev.h, streams that wait for an entry or post busy-poll work, memory and
 * rings.
 *
 * Locks: rq.lock nests in the socket lock, cq.lock is the innermost lock. Both
 * are taken with interrupts off, as kernel ULPs post and poll in any context.
 * That of a window is its mem.lock; windows.lock of a queue pair nests in that.
 *
 * Lifetimes: the core destroys a queue after the queue pairs that use it, so no
 * other references are needed. mem.h has the rules for regions and windows. A
 * queue pair waits for the windows that are bound to it.
 */
#ifndef _XIW_VERBS_H
#define _XIW_VERBS_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/xiw-abi.h>

#include "mem/mem.h"
#include "queue/queue.h"
#include "stream/stream.h"

struct ib_dmah;

/* cq.c */
/* xiw_cq.cpu: the handlers run on the CPU that generates the completion. */
#define XIW_CQ_ANY_CPU	WORK_CPU_UNBOUND

/**
 * struct xiw_cq_mod - moderation: one notification for several entries
 * @count: entries after which the notification is due; 0: no moderation
 * @usecs: time after the first of them when it is due at the latest
 * @held: entries since the last notification
 * @timer: runs while @held is not 0
 *
 * All protected by the lock of the CQ.
 */
struct xiw_cq_mod {
	u16 count;
	u16 usecs;
	u16 held;
	struct hrtimer timer;
};

/**
 * struct xiw_cq_gap - indices of a kernel CQ's ring without entries
 * @first: of the first one
 * @end: behind the last one; @first if there is no gap
 *
 * Below the gap are entries that xiw_cq_purge() has not checked yet, above it
 * those that it keeps. Protected by the lock of the CQ.
 */
struct xiw_cq_gap {
	u32 first;
	u32 end;
};

/* Upper limits of the moderation */
#define XIW_MAX_CQ_MOD_COUNT	U16_MAX
#define XIW_MAX_CQ_MOD_USECS	U16_MAX

/**
 * struct xiw_cq - completion queue
 * @ibcq: as the core sees it; its allocation is this struct
 * @id: number
 * @kernel: used by kernel ULPs, so the ring is not mapped
 * @lock: protects @prod, @seen, @broken, @pending, @mod, @gap, @work, @polls
 *	and the ring's producer side; innermost of all locks, taken with
 *	interrupts off because kernel ULPs may poll with them off. For
 *	kernel CQs also the consumer side
 * @resize_lock: one resize or purge at a time, as both walk the ring in pieces;
 *	outside of @lock
 * @queue: the ring
 * @prod: entries produced; the copy in the ring is for the user to read
 * @seen: the consumer's index when it was last read, which is when the ring
 *	seemed full: the consumer owns that cache line
 * @broken: an entry was lost for want of room; nothing more is added
 * @timestamps: entries carry the time
 * @time_offset: how far the monotonic clock of the creator's time namespace is
 *	ahead, in ns; 0 for kernel ULPs
 * @cpu: where the handlers are to be called, or XIW_CQ_ANY_CPU
 * @pending: what @notify_work has to report, see cq.c
 * @notify_work: calls the handlers of a kernel ULP outside of the call
 *	chain that caused the completion, and all handlers on another CPU
 * @mod: moderation of the notifications
 * @gap: while a kernel CQ is purged
 * @work: of a process: stream with busy-poll work posted here, see cq.c
 * @polls: the process's count of empty polls when it was last read
 */
struct xiw_cq {
	struct ib_cq ibcq;
	u32 id;
	bool kernel;
	spinlock_t lock; /* see above */
	struct mutex resize_lock; /* see above */
	struct xiw_queue queue;
	u32 prod;
	u32 seen;
	bool broken;
	bool timestamps;
	s64 time_offset;
	int cpu;
	u32 pending;
	struct xiw_bh_work notify_work;
	struct xiw_cq_mod mod;
	struct xiw_cq_gap gap;
	struct xiw_stream *work;
	u32 polls;
};

static inline struct xiw_cq *to_xcq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct xiw_cq, ibcq);
}

/* cq.c: verbs */
int xiw_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);
int xiw_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int xiw_resize_cq(struct ib_cq *ibcq, unsigned int cqe,
		  struct ib_udata *udata);
int xiw_modify_cq(struct ib_cq *ibcq, u16 count, u16 usecs);
int xiw_poll_cq(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc);
int xiw_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
void xiw_cq_busy_poll(struct ib_cq *ibcq);

/* cq.c: data path; any context. False if the entry is lost. */
bool xiw_cq_add(struct xiw_cq *cq, const struct xiw_cqe *cqe);
bool xiw_cq_unpolled(struct xiw_cq *cq);
bool xiw_cq_is_busy_polled(struct xiw_cq *cq);
bool xiw_cq_post_work(struct xiw_cq *cq, struct xiw_stream *s);
void xiw_cq_cancel_work(struct xiw_cq *cq, struct xiw_stream *s);
void xiw_cq_purge(struct xiw_cq *cq, u32 qpn);

/* mr.c */
/**
 * struct xiw_mr - memory region of the verbs
 * @ibmr: part of the core
 * @mem: part of the data path
 * @map: pages for the next fast registration, XIW_MEM_FRWR only. Separate from
 *	the pages in @mem, because a ULP may map a region again before the old
 *	registration is invalidated
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
int xiw_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		  u32 flags, struct ib_sge *sge, u32 num_sge,
		  struct uverbs_attr_bundle *attrs);
int xiw_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
int xiw_mr_fast_register(struct ib_pd *pd, struct ib_mr *ibmr, u32 key,
			 int access);

/* mw.c */
/**
 * struct xiw_mw - memory window of the verbs
 * @ibmw: part of the core, which allocates this struct
 * @mem: part of the data path
 */
struct xiw_mw {
	struct ib_mw ibmw;
	struct xiw_mem *mem;
};

static inline struct xiw_mw *to_xmw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct xiw_mw, ibmw);
}

int xiw_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int xiw_dealloc_mw(struct ib_mw *ibmw);
int xiw_mw_bind(struct ib_pd *pd, struct xiw_mw_owner *owner, u32 key,
		const struct xiw_bind *bind);
void xiw_mw_owner_init(struct xiw_mw_owner *owner);
void xiw_mw_owner_release(struct xiw_mw_owner *owner);

/* rq.c */
/**
 * struct xiw_rq - a receive queue
 * @lock: protects @cons, @seen, @limit and, for kernel ULPs, the producer
 *	side; taken with interrupts off because kernel ULPs may post with
 *	them off
 * @queue: the ring
 * @cons: entries consumed; the copy in the ring is for the user to read
 * @seen: the producer's index when it was last read, which is when the ring
 *	seemed empty: the producer owns that cache line
 * @max_sge: elements an entry may have
 * @max_wr: entries that may be outstanding, at most the ring's size
 * @limit: SRQ limit to report, 0 = not armed
 */
struct xiw_rq {
	spinlock_t lock; /* see above */
	struct xiw_queue queue;
	u32 cons;
	u32 seen;
	u32 max_sge;
	u32 max_wr;
	u32 limit;
};

/**
 * struct xiw_srq_waiter - a stream's place in the list of waiters
 * @node: in the queue's list while the stream waits; protected by the queue's
 *	rq.lock, like @woken
 * @woken: the stream was woken and has not taken its entry yet
 * @stream: the stream
 */
struct xiw_srq_waiter {
	struct list_head node;
	bool woken;
	struct xiw_stream *stream;
};

/**
 * struct xiw_srq - shared receive queue
 * @ibsrq: as the core sees it; its allocation is this struct
 * @rq: the queue
 * @id: number, not 0
 * @waiters: streams that wait for an entry, in the order of their arrival;
 *	protected by @rq.lock, like @woken and @moved_at
 * @woken: streams that were woken and have not taken their entry yet
 * @moved_at: jiffies when a stream was last woken, or began to wait as the only
 *	one
 * @events: asynchronous events to be reported, bits by enum ib_event_type
 * @event_work: reports them
 * @broken: IB_EVENT_SRQ_ERR was reported, as the ring is corrupt
 * @dropped: receives that were taken and have no completion; protected by
 *	@rq.lock
 */
struct xiw_srq {
	struct ib_srq ibsrq;
	struct xiw_rq rq;
	u32 id;
	struct list_head waiters;
	u32 woken;
	unsigned long moved_at;
	unsigned long events;
	struct work_struct event_work;
	atomic_t broken;
	u32 dropped;
};

static inline struct xiw_srq *to_xsrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct xiw_srq, ibsrq);
}

int xiw_rq_init(struct xiw_rq *rq, u32 max_wr, u32 max_sge,
		struct ib_ucontext *uctx, u64 *key);
void xiw_rq_destroy(struct xiw_rq *rq);
int xiw_rq_post(struct xiw_rq *rq, const struct ib_recv_wr *wr,
		const struct ib_recv_wr **bad_wr);
enum xiw_rq_take xiw_rq_take(struct xiw_rq *rq, struct xiw_recv *recv);
void xiw_rq_doorbell_mode(struct xiw_rq *rq, bool want);
u32 xiw_rq_count(struct xiw_rq *rq);
int xiw_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		   struct ib_udata *udata);
int xiw_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata);
int xiw_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int xiw_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int xiw_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr);
void xiw_srq_doorbell(struct ib_srq *ibsrq);
void xiw_srq_waiter_init(struct xiw_srq_waiter *w, struct xiw_stream *s);
enum xiw_rq_take xiw_srq_take(struct xiw_srq *srq, struct xiw_srq_waiter *w,
			      struct xiw_recv *recv);
void xiw_srq_wait(struct xiw_srq *srq, struct xiw_srq_waiter *w);
void xiw_srq_unwait(struct xiw_srq *srq, struct xiw_srq_waiter *w);
void xiw_srq_limit_event(struct xiw_srq *srq);
void xiw_srq_corrupt(struct xiw_srq *srq);
void xiw_srq_dropped(struct xiw_srq *srq);

#endif /* _XIW_VERBS_H */
