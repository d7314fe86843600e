/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Rings that a process maps, and the send queue. A ring is a struct
 * xiw_ring_ctrl followed by entries; mmap.c owns allocation, mapping and
 * release. sq.c copies the requests in the ring of a process once, and checks
 * the copies; kernel ULPs post these directly. The other queues are in verbs/.
 *
 * Uses mem/ to copy, and proto/; the rules for indices are in proto/ring.h.
 *
 * Lifetime: the pages of a ring live as long as its last mapping, even if the
 * queue is destroyed first.
 *
 * Unless noted otherwise functions of a send queue are called by the owner of
 * the transmit side of its stream.
 */
#ifndef _XIW_QUEUE_H
#define _XIW_QUEUE_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/xiw-abi.h>

#include "queue.h"

/* mmap.c */
/**
 * struct xiw_mmap_entry - permission to map one ring
 * @rdma_entry: the core's part
 * @address: vmalloc memory; freed by the mmap_free op when the last
 *	reference to the entry is gone
 */
struct xiw_mmap_entry {
	struct rdma_user_mmap_entry rdma_entry;
	void *address;
};

/**
 * struct xiw_queue - one ring
 * @ctrl: control block, shared with the user if @entry is set
 * @base: first entry
 * @size: entries, a power of two
 * @stride: bytes per entry
 * @map_len: bytes in all, whole pages
 * @entry: for user rings; owns the memory then
 */
struct xiw_queue {
	struct xiw_ring_ctrl *ctrl;
	u8 *base;
	u32 size;
	u32 stride;
	u32 map_len;
	struct xiw_mmap_entry *entry;
};

static inline void *xiw_queue_slot(const struct xiw_queue *q, u32 index)
{
	return q->base + (size_t)(index & (q->size - 1)) * q->stride;
}

int xiw_queue_alloc(struct xiw_queue *q, u32 entries, u32 stride,
		    struct ib_ucontext *uctx, u64 *key);
void xiw_queue_free(struct xiw_queue *q);

int xiw_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void xiw_mmap_free(struct rdma_user_mmap_entry *rdma_entry);

/* sq.c */
/**
 * struct xiw_swr - private, checked copy of one send work request
 * @wr_id: of the work request
 * @opcode: enum ib_wr_opcode
 * @flags: XIW_SQE_*; signaled, too, if all of the queue are
 * @num_sge: elements in @sge
 * @status: enum ib_wc_status, for the completion
 * @done: nothing but the completion remains to be done
 * @encoded: all bytes are encoded; the request is complete when TCP has taken
 *	@end_pos bytes
 * @len: payload in bytes
 * @rkey: remote key, key to invalidate, or new key of a window or region
 * @ext: immediate data (network order) or key to invalidate at the peer
 * @vendor_err: Terminate code behind @status
 * @msn: message sequence number on queue 0, if @has_msn
 * @has_msn: the request uses queue 0 and was started
 * @raddr: address at the target
 * @compare_add: operand of an atomic
 * @swap: operand of an atomic
 * @compare_add_mask: mask of an atomic
 * @swap_mask: mask of an atomic
 * @bind: parameters of a bind, in place of the four operands
 * @end_pos: stream position behind the last byte of the request
 * @mr: region of a fast registration
 * @access: rights of a fast registration
 * @sge: gather or scatter list, or inline data
 */
struct xiw_swr {
	u64 wr_id;
	u8 opcode;
	u8 flags;
	u8 num_sge;
	u8 status;
	bool done;
	bool encoded;
	bool has_msn;
	u32 msn;
	u32 len;
	u32 rkey;
	u32 ext;
	u32 vendor_err;
	u64 raddr;
	union {
		struct {
			u64 compare_add;
			u64 swap;
			u64 compare_add_mask;
			u64 swap_mask;
		};
		struct xiw_bind bind;
	};
	u64 end_pos;
	struct ib_mr *mr;
	int access;
	struct xiw_sge sge[];
};

/**
 * struct xiw_sq - send queue
 * @lock: serializes kernel ULPs that post. Taken with interrupts disabled
 *	because they may post with them off; innermost
 * @queue: ring shared with the user; unused for kernel ULPs
 * @wrs: private copies, @size of them, @stride bytes apart
 * @stride: bytes
 * @size: entries, a power of two
 * @head: oldest request that is not complete. Written by the owner of the
 *	transmit side only, read by posters
 * @next: next request to be started; owner of the transmit side
 * @prod: end of the requests in @wrs. Written with release by posters, for user
 *	queues by the owner of the transmit side
 * @max_wr: requests that may be outstanding
 * @max_sge: elements per request
 * @max_inline: inline bytes per request
 * @kernel: a kernel ULP posts directly into @wrs
 * @sig_all: every request is signaled
 * @stopped: no stream will work on the queue again, until a reset; every post
 *	queues a flush
 */
struct xiw_sq {
	spinlock_t lock; /* see above */
	struct xiw_queue queue;
	u8 *wrs;
	u32 stride;
	u32 size;
	u32 head;
	u32 next;
	u32 prod;
	u32 max_wr;
	u32 max_sge;
	u32 max_inline;
	bool kernel;
	bool sig_all;
	bool stopped;
};

static inline struct xiw_swr *xiw_sq_wr(const struct xiw_sq *sq, u32 index)
{
	return (struct xiw_swr *)(sq->wrs +
				  (size_t)(index & (sq->size - 1)) *
				  sq->stride);
}

/* Does the work request wait for a response of the peer? */
static inline bool xiw_swr_is_request(const struct xiw_swr *wr)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		return true;
	default:
		return false;
	}
}

/* Is the work request executed on this side alone? */
static inline bool xiw_swr_is_local(const struct xiw_swr *wr)
{
	return wr->opcode == IB_WR_LOCAL_INV || wr->opcode == IB_WR_REG_MR ||
	       wr->opcode == IB_WR_BIND_MW;
}

int xiw_sq_init(struct xiw_sq *sq, const struct ib_qp_init_attr *attr,
		struct ib_ucontext *uctx, u64 *key);
void xiw_sq_destroy(struct xiw_sq *sq);
int xiw_sq_fetch(struct xiw_sq *sq, int ahead);
bool xiw_sq_ring_empty(const struct xiw_sq *sq);
void xiw_sq_doorbell_mode(struct xiw_sq *sq, u32 how);
int xiw_sq_post(struct xiw_sq *sq, const struct ib_send_wr *wr,
		const struct ib_send_wr **bad_wr);

#endif /* _XIW_QUEUE_H */
