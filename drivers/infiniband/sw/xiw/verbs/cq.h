/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Completion queues: a mapped ring that the kernel fills and its owner
 * empties, and the notification of the owner.
 */
#ifndef _XIW_CQ_H
#define _XIW_CQ_H

#include <linux/hrtimer.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/xiw-abi.h>

#include "queue/mmap.h"

struct xiw_stream;

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

#endif /* _XIW_CQ_H */
