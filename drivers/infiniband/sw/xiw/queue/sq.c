// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send queues: checked private copies of a ULP's work requests.
 *
 * Kernel ULPs post directly into the private array, from any context.
 * User processes write their mapped ring; the owner of the transmit side
 * fetches from there, reading each entry once. Both end with one release
 * store of the producer index, which pairs with the acquire in xiw_sq_fetch().
 */
#include "queue.h"

#include <kunit/visibility.h>
#include <linux/log2.h>
#include <linux/mm.h>

#include "mem/mem.h"
#include "proto/ring.h"

/* Properties of opcodes */
enum {
	WR_USER		= BIT(0),	/* allowed in a user ring */
	WR_INLINE	= BIT(1),	/* may carry its payload inline */
	WR_ATOMIC	= BIT(2),	/* one element of eight bytes */
	WR_LOCAL	= BIT(3),	/* sends nothing */
	WR_BIND		= BIT(4),	/* has parameters of its own */
};

static const u8 wr_traits[] = {
	[IB_WR_RDMA_WRITE]			= WR_USER | WR_INLINE,
	[IB_WR_RDMA_WRITE_WITH_IMM]		= WR_USER | WR_INLINE,
	[IB_WR_SEND]				= WR_USER | WR_INLINE,
	[IB_WR_SEND_WITH_IMM]			= WR_USER | WR_INLINE,
	[IB_WR_SEND_WITH_INV]			= WR_USER | WR_INLINE,
	[IB_WR_RDMA_READ]			= WR_USER,
	[IB_WR_RDMA_READ_WITH_INV]		= WR_USER,
	[IB_WR_ATOMIC_CMP_AND_SWP]		= WR_USER | WR_ATOMIC,
	[IB_WR_ATOMIC_FETCH_AND_ADD]		= WR_USER | WR_ATOMIC,
	[IB_WR_MASKED_ATOMIC_CMP_AND_SWP]	= WR_ATOMIC,
	[IB_WR_MASKED_ATOMIC_FETCH_AND_ADD]	= WR_ATOMIC,
	[IB_WR_LOCAL_INV]			= WR_USER | WR_LOCAL,
	[IB_WR_REG_MR]				= WR_LOCAL,
	[IB_WR_BIND_MW]				= WR_USER | WR_LOCAL | WR_BIND,
};

static u8 sq_traits_of(u32 opcode)
{
	return opcode < ARRAY_SIZE(wr_traits) ? wr_traits[opcode] : 0;
}

/**
 * xiw_sq_init() - allocate a send queue
 * @sq: queue
 * @attr: what the ULP asks for; checked against the device limits
 * @uctx: the process that will map the ring, or NULL for a kernel ULP
 * @key: mmap() offset of the ring, set for user queues
 *
 * Context: Sleeps.
 * Return: 0 or -ENOMEM.
 */
int xiw_sq_init(struct xiw_sq *sq, const struct ib_qp_init_attr *attr,
		struct ib_ucontext *uctx, u64 *key)
{
	u32 stride;
	u32 room;
	int ret;

	spin_lock_init(&sq->lock);
	sq->max_sge = max(attr->cap.max_send_sge, 1U);
	sq->max_inline = attr->cap.max_inline_data;
	sq->kernel = !uctx;
	sq->sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;

	room = max_t(u32, sq->max_sge * sizeof(struct xiw_sge),
		     ALIGN(sq->max_inline, sizeof(struct xiw_sge)));
	if (uctx) {
		/* Grant the padding: programs use more than they ask for. */
		stride = ALIGN(sizeof(struct xiw_sqe) + room, 64);
		room = stride - sizeof(struct xiw_sqe);
		sq->max_sge = room / sizeof(struct xiw_sge);
		ret = xiw_queue_alloc(&sq->queue,
				      max(attr->cap.max_send_wr, 1U), stride,
				      uctx, key);
		if (ret)
			return ret;
		sq->size = sq->queue.size;
		sq->max_wr = sq->size;
		xiw_sq_doorbell_mode(sq, XIW_RING_NEED_DB);
	} else {
		sq->max_wr = max(attr->cap.max_send_wr, 1U);
		sq->size = roundup_pow_of_two(sq->max_wr);
	}
	sq->max_inline = max(sq->max_inline, room);
	if (sq->max_inline > XIW_ABI_MAX_INLINE)
		sq->max_inline = XIW_ABI_MAX_INLINE;

	sq->stride = ALIGN(sizeof(struct xiw_swr) + room, 8);
	sq->wrs = kvcalloc(sq->size, sq->stride, GFP_KERNEL_ACCOUNT);
	if (!sq->wrs) {
		xiw_sq_destroy(sq);
		return -ENOMEM;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_sq_init);

/**
 * xiw_sq_destroy() - free a send queue
 * @sq: queue without users; may be only partly initialised
 *
 * Context: Sleeps.
 */
void xiw_sq_destroy(struct xiw_sq *sq)
{
	kvfree(sq->wrs);
	sq->wrs = NULL;
	if (!sq->kernel)
		xiw_queue_free(&sq->queue);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_sq_destroy);

/**
 * xiw_sq_doorbell_mode() - set the doorbell mode of a user queue
 * @sq: user queue; nothing happens for kernel ULPs
 * @how: XIW_RING_NEED_DB or XIW_RING_DEFER_DB, or 0 if no doorbell is needed
 *
 * The full barrier pairs with the user's between storing the producer index
 * and reading the flag: either the user sees the flag or the caller, looking
 * at the ring after this, sees the entry.
 */
void xiw_sq_doorbell_mode(struct xiw_sq *sq, u32 how)
{
	/* After the flush, every post needs a doorbell. */
	if (sq->kernel ||
	    (how != XIW_RING_NEED_DB && READ_ONCE(sq->stopped)))
		return;
	WRITE_ONCE(sq->queue.ctrl->flags, how);
	if (how)
		smp_mb(); /* see above */
}

/**
 * xiw_sq_ring_empty() - were all entries of the user ring fetched
 * @sq: any send queue; kernel ULPs have no ring, so true
 *
 * Context: Owner of the transmit side; for others the result is a snapshot.
 * Return: true if there is nothing to fetch.
 */
bool xiw_sq_ring_empty(const struct xiw_sq *sq)
{
	return sq->kernel ||
	       READ_ONCE(sq->queue.ctrl->prod) == READ_ONCE(sq->prod);
}

static bool sq_sum_sges(struct xiw_swr *wr)
{
	u64 len = 0;
	u32 i;

	for (i = 0; i < wr->num_sge; i++)
		len += wr->sge[i].length;
	if (len > U32_MAX)
		return false;
	wr->len = len;
	return true;
}

static bool sq_wr_shape_ok(const struct xiw_sq *sq, struct xiw_swr *wr,
			   u8 traits)
{
	if (wr->flags & XIW_SQE_INLINE)
		return (traits & WR_INLINE) && wr->len <= sq->max_inline;
	if (!sq_sum_sges(wr))
		return false;
	if (traits & WR_ATOMIC)
		return wr->num_sge == 1 && wr->len == sizeof(u64);
	if (traits & WR_LOCAL)
		return !wr->num_sge;
	return true;
}

static void sq_swr_prepare(struct xiw_swr *wr)
{
	wr->done = false;
	wr->encoded = false;
	wr->has_msn = false;
	wr->status = IB_WC_SUCCESS;
	wr->vendor_err = 0;
	wr->mr = NULL;
	wr->access = 0;
	wr->compare_add_mask = ~0ULL;
	wr->swap_mask = ~0ULL;
}

#define XIW_SQE_FLAGS (XIW_SQE_SIGNALED | XIW_SQE_FENCE | \
		       XIW_SQE_SOLICITED | XIW_SQE_INLINE)

/*
 * One entry from a ring the user can change at any time: the head is copied
 * and validated, and only then as many elements are copied as it says.
 */
static bool sq_fetch_one(const struct xiw_sq *sq, const void *slot,
			 struct xiw_swr *wr)
{
	struct xiw_sqe sqe;
	u8 traits;

	xiw_copy_once(&sqe, slot, sizeof(sqe));

	sq_swr_prepare(wr);
	wr->wr_id = sqe.wr_id;
	wr->opcode = sqe.opcode;
	wr->flags = sqe.flags & XIW_SQE_FLAGS;
	if (sq->sig_all)
		wr->flags |= XIW_SQE_SIGNALED;
	wr->num_sge = 0;
	wr->len = 0;
	wr->rkey = sqe.rkey;
	wr->ext = sqe.ext;
	wr->raddr = sqe.raddr;
	wr->compare_add = sqe.compare_add;
	wr->swap = sqe.swap;

	traits = sq_traits_of(sqe.opcode);
	if (traits & WR_BIND)
		wr->bind = sqe.bind;
	if (!(traits & WR_USER) || sqe.reserved || sqe.reserved2[0] ||
	    sqe.reserved2[1] || sqe.flags & ~XIW_SQE_FLAGS)
		return false;

	if (sqe.flags & XIW_SQE_INLINE) {
		if (sqe.num_sge || sqe.inline_len > sq->max_inline)
			return false;
		wr->len = sqe.inline_len;
		xiw_copy_once(wr->sge, slot + sizeof(sqe), sqe.inline_len);
	} else {
		if (sqe.num_sge > sq->max_sge || sqe.inline_len)
			return false;
		wr->num_sge = sqe.num_sge;
		xiw_copy_once(wr->sge, slot + sizeof(sqe),
			      sqe.num_sge * sizeof(struct xiw_sge));
	}
	return sq_wr_shape_ok(sq, wr, traits);
}

/**
 * xiw_sq_fetch() - copy posted requests from a user ring
 * @sq: send queue; for kernel ULPs nothing is copied
 * @ahead: limit of requests that are copied and not yet started. No more than
 *	are going to be started, as each is copied and validated
 *
 * A malformed request is copied as already failed; it ends the stream once the
 * requests before it are done.
 *
 * Return: Number of requests to be started; -EINVAL for an impossible producer
 * index: the process has corrupted its ring.
 */
int xiw_sq_fetch(struct xiw_sq *sq, int ahead)
{
	u32 prod;
	int n;

	if (sq->kernel)
		/* Pairs with the release in xiw_sq_post(). */
		return smp_load_acquire(&sq->prod) - sq->next;

	/* Pairs with the user's release store after a complete entry. */
	prod = smp_load_acquire(&sq->queue.ctrl->prod);
	if (!xiw_ring_valid(prod, sq->head, sq->size) ||
	    (s32)(prod - sq->prod) < 0)
		return -EINVAL;
	n = min_t(int, prod - sq->prod, ahead - (int)(sq->prod - sq->next));
	while (n-- > 0) {
		struct xiw_swr *wr = xiw_sq_wr(sq, sq->prod);

		if (!sq_fetch_one(sq, xiw_queue_slot(&sq->queue, sq->prod),
				  wr)) {
			wr->done = true;
			wr->status = IB_WC_LOC_QP_OP_ERR;
		}
		WRITE_ONCE(sq->prod, sq->prod + 1);
	}
	return sq->prod - sq->next;
}

static void sq_copy_inline(struct xiw_swr *wr, const struct ib_send_wr *src)
{
	u8 *dst = (u8 *)wr->sge;
	int i;

	/* Addresses of inline elements are kernel virtual and need no key. */
	for (i = 0; i < src->num_sge; i++) {
		memcpy(dst, (void *)(uintptr_t)src->sg_list[i].addr,
		       src->sg_list[i].length);
		dst += src->sg_list[i].length;
	}
}

static int sq_copy_sges(const struct xiw_sq *sq, struct xiw_swr *wr,
			const struct ib_send_wr *src)
{
	u64 len = 0;
	int i;

	if (src->num_sge < 0 || src->num_sge > sq->max_sge)
		return -EINVAL;
	for (i = 0; i < src->num_sge; i++)
		len += src->sg_list[i].length;

	if (src->send_flags & IB_SEND_INLINE) {
		if (!(sq_traits_of(src->opcode) & WR_INLINE))
			return -EINVAL;
		if (len > sq->max_inline)
			return -EINVAL;
		wr->flags |= XIW_SQE_INLINE;
		wr->num_sge = 0;
		wr->len = len;
		sq_copy_inline(wr, src);
		return 0;
	}
	wr->num_sge = src->num_sge;
	for (i = 0; i < src->num_sge; i++) {
		wr->sge[i].addr = src->sg_list[i].addr;
		wr->sge[i].length = src->sg_list[i].length;
		wr->sge[i].lkey = src->sg_list[i].lkey;
	}
	return 0;
}

static void sq_copy_operands(struct xiw_swr *wr, const struct ib_send_wr *src)
{
	switch (src->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		wr->raddr = rdma_wr(src)->remote_addr;
		wr->rkey = rdma_wr(src)->rkey;
		break;
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		wr->compare_add_mask = atomic_wr(src)->compare_add_mask;
		wr->swap_mask = atomic_wr(src)->swap_mask;
		fallthrough;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		wr->raddr = atomic_wr(src)->remote_addr;
		wr->rkey = atomic_wr(src)->rkey;
		wr->compare_add = atomic_wr(src)->compare_add;
		wr->swap = atomic_wr(src)->swap;
		break;
	case IB_WR_LOCAL_INV:
		wr->rkey = src->ex.invalidate_rkey;
		break;
	case IB_WR_REG_MR:
		wr->mr = reg_wr(src)->mr;
		wr->rkey = reg_wr(src)->key;
		wr->access = reg_wr(src)->access;
		break;
	default:
		break;
	}
}

static int sq_build_wr(const struct xiw_sq *sq, struct xiw_swr *wr,
		       const struct ib_send_wr *src)
{
	u8 traits = sq_traits_of(src->opcode);
	int ret;

	/* The kernel has no work request for a bind. */
	if (!traits || traits & WR_BIND)
		return -EINVAL;

	sq_swr_prepare(wr);
	wr->wr_id = src->wr_id;
	wr->opcode = src->opcode;
	wr->flags = 0;
	if (sq->sig_all || src->send_flags & IB_SEND_SIGNALED)
		wr->flags |= XIW_SQE_SIGNALED;
	if (src->send_flags & IB_SEND_FENCE)
		wr->flags |= XIW_SQE_FENCE;
	if (src->send_flags & IB_SEND_SOLICITED)
		wr->flags |= XIW_SQE_SOLICITED;
	wr->ext = src->ex.invalidate_rkey;

	wr->num_sge = 0;
	wr->len = 0;
	if (!(traits & WR_LOCAL)) {
		ret = sq_copy_sges(sq, wr, src);
		if (ret)
			return ret;
	}
	sq_copy_operands(wr, src);
	return sq_wr_shape_ok(sq, wr, traits) ? 0 : -EINVAL;
}

/**
 * xiw_sq_post() - add a kernel ULP's work requests
 * @sq: send queue of a kernel ULP
 * @wr: list of work requests
 * @bad_wr: result: first work request that was not added, on error
 *
 * Context: Any, with interrupts on or off.
 * Return: 0, -EINVAL for a malformed request, -ENOMEM if the queue is full.
 */
int xiw_sq_post(struct xiw_sq *sq, const struct ib_send_wr *wr,
		const struct ib_send_wr **bad_wr)
{
	unsigned long flags;
	int ret = 0;
	u32 prod;

	spin_lock_irqsave(&sq->lock, flags);
	prod = sq->prod;
	for (; wr; wr = wr->next) {
		/* Pairs with the release in tx_sched_reclaim(). */
		if (prod - smp_load_acquire(&sq->head) >= sq->max_wr) {
			ret = -ENOMEM;
			break;
		}
		ret = sq_build_wr(sq, xiw_sq_wr(sq, prod), wr);
		if (ret)
			break;
		prod++;
	}
	/* Pairs with the acquire in xiw_sq_fetch(). */
	smp_store_release(&sq->prod, prod);
	spin_unlock_irqrestore(&sq->lock, flags);
	if (ret)
		*bad_wr = wr;
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_sq_post);
