// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive queues, own and shared: posting by kernel ULPs, and taking the
 * next entry for an arriving message.
 *
 * A user ring is written by a process that may be hostile. Its producer index
 * and each entry are read once, into private memory, and validated there.
 *
 * Functions may be called in any context, but those that allocate and release
 * a queue sleep.
 */
#include "rq.h"

#include <linux/align.h>
#include <linux/compiler.h>
#include <linux/string.h>

#include "mem/copy.h"
#include "proto/ring.h"

/* Entries with one element do not straddle cache lines. */
#define XIW_RQE_ALIGN		32

/**
 * xiw_rq_init() - allocate a receive queue
 * @rq: queue
 * @max_wr: entries wanted
 * @max_sge: elements per entry, at most XIW_ABI_MAX_SGE
 * @uctx: context of the process that may map the ring, or NULL for a kernel
 *	ULP
 * @key: result: offset for mmap(), only with @uctx
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int xiw_rq_init(struct xiw_rq *rq, u32 max_wr, u32 max_sge,
		struct ib_ucontext *uctx, u64 *key)
{
	u32 stride;
	int ret;

	if (max_sge > XIW_ABI_MAX_SGE)
		return -EINVAL;

	spin_lock_init(&rq->lock);
	rq->cons = 0;
	rq->seen = 0;
	rq->limit = 0;
	rq->max_sge = max_sge;
	stride = ALIGN(sizeof(struct xiw_rqe) +
		       max_sge * sizeof(struct xiw_sge), XIW_RQE_ALIGN);
	ret = xiw_queue_alloc(&rq->queue, max_wr, stride, uctx, key);
	if (ret)
		return ret;
	rq->max_wr = rq->queue.size;
	return 0;
}

/* Releases a queue without users, or a zeroed one. */
void xiw_rq_destroy(struct xiw_rq *rq)
{
	struct xiw_queue queue = rq->queue;

	if (!queue.ctrl)
		return;
	/* On older kernels netlink may still read the ring, see restrack.c. */
	spin_lock_irq(&rq->lock);
	rq->queue.ctrl = NULL;
	spin_unlock_irq(&rq->lock);
	xiw_queue_free(&queue);
}

static int rq_write(struct xiw_rq *rq, u32 prod, const struct ib_recv_wr *wr)
{
	struct xiw_rqe *rqe = xiw_queue_slot(&rq->queue, prod);
	struct xiw_sge *sge = (struct xiw_sge *)(rqe + 1);
	u64 len = 0;
	int i;

	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return -EINVAL;

	for (i = 0; i < wr->num_sge; i++) {
		sge[i].addr = wr->sg_list[i].addr;
		sge[i].length = wr->sg_list[i].length;
		sge[i].lkey = wr->sg_list[i].lkey;
		len += sge[i].length;
	}
	if (len > U32_MAX)
		return -EINVAL;

	rqe->wr_id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	rqe->reserved = 0;
	return 0;
}

/*
 * Adds the work requests of a kernel ULP. 0, -EINVAL for a malformed request,
 * -ENOMEM if the queue is full.
 */
int xiw_rq_post(struct xiw_rq *rq, const struct ib_recv_wr *wr,
		const struct ib_recv_wr **bad_wr)
{
	struct xiw_ring_ctrl *ctrl = rq->queue.ctrl;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&rq->lock, flags);
	for (; wr; wr = wr->next) {
		if (ctrl->prod - rq->cons >= rq->max_wr)
			ret = -ENOMEM;
		else
			ret = rq_write(rq, ctrl->prod, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
		/* Pairs with the acquire in xiw_rq_count(). */
		smp_store_release(&ctrl->prod, ctrl->prod + 1);
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	return ret;
}

/* Reads the next entry, once, as a process may change it at any time. */
static bool rq_read(struct xiw_rq *rq, struct xiw_recv *recv)
{
	const struct xiw_rqe *rqe = xiw_queue_slot(&rq->queue, rq->cons);
	u32 i;

	recv->wr_id = READ_ONCE(rqe->wr_id);
	recv->num_sge = READ_ONCE(rqe->num_sge);
	if (recv->num_sge > rq->max_sge)
		return false;

	xiw_copy_once(recv->sge, rqe + 1,
		      recv->num_sge * sizeof(recv->sge[0]));

	recv->len = 0;
	for (i = 0; i < recv->num_sge; i++)
		recv->len += recv->sge[i].length;
	return recv->len <= U32_MAX;
}

/* As xiw_rq_take(), with @rq->lock held */
enum xiw_rq_take xiw_rq_take_locked(struct xiw_rq *rq, struct xiw_recv *recv)
{
	struct xiw_ring_ctrl *ctrl = rq->queue.ctrl;

	lockdep_assert_held(&rq->lock);

	/* An armed limit needs the exact number of entries left. */
	if (rq->seen == rq->cons || rq->limit) {
		/* Pairs with the release that ends an entry. */
		u32 prod = smp_load_acquire(&ctrl->prod);

		if (!xiw_ring_valid(prod, rq->cons, rq->queue.size))
			return XIW_RQ_CORRUPT;
		rq->seen = prod;
	}
	if (rq->seen == rq->cons)
		return XIW_RQ_EMPTY;
	if (!rq_read(rq, recv))
		return XIW_RQ_CORRUPT;

	WRITE_ONCE(rq->cons, rq->cons + 1);
	/* The entry was copied. Pairs with the producer's acquire. */
	smp_store_release(&ctrl->cons, rq->cons);

	if (rq->limit && rq->seen - rq->cons < rq->limit) {
		WRITE_ONCE(rq->limit, 0);
		return XIW_RQ_LIMIT;
	}
	return XIW_RQ_TAKEN;
}

/**
 * xiw_rq_take() - take the next receive work request
 * @rq: queue
 * @recv: result, unless the queue is empty or corrupt
 *
 * Return: The result; after XIW_RQ_CORRUPT the next call validates the same
 * entry again, so the queue never recovers by itself.
 */
enum xiw_rq_take xiw_rq_take(struct xiw_rq *rq, struct xiw_recv *recv)
{
	enum xiw_rq_take ret;
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	ret = xiw_rq_take_locked(rq, recv);
	spin_unlock_irqrestore(&rq->lock, flags);
	return ret;
}

/**
 * xiw_rq_doorbell_mode() - set whether posts need a doorbell
 * @rq: queue
 * @want: the user has to enter the kernel after a post
 *
 * After setting it, check with xiw_rq_count() whether a concurrent post has
 * missed it.
 */
void xiw_rq_doorbell_mode(struct xiw_rq *rq, bool want)
{
	WRITE_ONCE(rq->queue.ctrl->flags, want ? XIW_RING_NEED_DB : 0);
	if (!want)
		return;
	/*
	 * Pairs with the full barrier of the user between its store of the
	 * producer index and its load of the flags: either the user sees the
	 * flag, or the caller sees the entry.
	 */
	smp_mb();
}

/*
 * Entries to take: a snapshot, and more than the queue has room for if it is
 * corrupt
 */
u32 xiw_rq_count(struct xiw_rq *rq)
{
	/* Pairs with the release with which the producer ends an entry. */
	return smp_load_acquire(&rq->queue.ctrl->prod) - READ_ONCE(rq->cons);
}
