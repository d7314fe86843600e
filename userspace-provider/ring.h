/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The user's side of a mapped ring: index arithmetic and memory ordering. These
 * functions take no lock and do not enter the kernel; the callers hold the lock
 * of the queue unless noted otherwise.
 *
 * Indices are free running and wrap modulo 2^32. The process is the producer of
 * send and receive rings and the consumer of completion rings; the kernel is
 * the other side.
 */
#ifndef _XIW_RING_H
#define _XIW_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/xiw-abi.h>

/**
 * struct xiw_ring - a mapped ring in the process
 * @ctrl: control block at the start of the mapping; NULL if nothing is mapped
 * @entries: first entry
 * @map_len: bytes mapped
 * @mask: entries in the ring - 1; the number is a power of two
 * @limit: entries that may be outstanding, at most the number in the ring
 * @stride: bytes from one entry to the next
 * @index: own index: entries produced, or entries consumed
 * @peer: end of the free slots when it was last read; for completion rings the
 *	kernel's index
 * @polled: number of completions that were polled, if a poll releases the slot
 *	of the request; NULL if the kernel releases it
 */
struct xiw_ring {
	struct xiw_ring_ctrl *ctrl;
	uint8_t *entries;
	size_t map_len;
	uint32_t mask;
	uint32_t limit;
	uint32_t stride;
	uint32_t index;
	uint32_t peer;
	uint32_t *polled;
};

static inline void *xiw_ring_slot(const struct xiw_ring *ring, uint32_t index)
{
	return ring->entries + (size_t)(index & ring->mask) * ring->stride;
}

/*
 * End of the slots that are free. Pairs with the release in xiw_qp_polled_*(),
 * which follows the kernel's store of the completion, or with the kernel's
 * release. Both follow the kernel's copy of the entry, so our stores into the
 * slot stay behind its loads.
 */
static inline uint32_t xiw_ring_free(const struct xiw_ring *ring)
{
	if (!ring->polled)
		return __atomic_load_n(&ring->ctrl->cons, __ATOMIC_ACQUIRE);
	return __atomic_load_n(ring->polled, __ATOMIC_ACQUIRE) +
	       __atomic_load_n(&ring->ctrl->dropped, __ATOMIC_ACQUIRE);
}

/*
 * Is there no room for entry @prod? Loads the consumer's index only if the last
 * known one leaves no room, because another CPU owns that cache line.
 */
static inline bool xiw_ring_full(struct xiw_ring *ring, uint32_t prod)
{
	if (prod - ring->peer < ring->limit)
		return false;
	if (!ring->limit)
		return true;
	ring->peer = xiw_ring_free(ring);
	return prod - ring->peer >= ring->limit;
}

/* Hand all entries before @prod to the kernel. */
static inline void xiw_ring_publish(struct xiw_ring *ring, uint32_t prod)
{
	ring->index = prod;
	/* Pairs with the kernel's load-acquire of prod. */
	__atomic_store_n(&ring->ctrl->prod, prod, __ATOMIC_RELEASE);
}

/*
 * Doorbell needed after publishing, as XIW_RING_*_DB. Needs no lock.
 */
static inline uint32_t xiw_ring_doorbell(const struct xiw_ring *ring)
{
	/*
	 * Orders our store of prod before our load of flags. Pairs with the
	 * full barrier between the kernel's store of XIW_RING_NEED_DB and its
	 * last load of prod: one of the two sees the other's store.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&ring->ctrl->flags, __ATOMIC_RELAXED);
}

/* Entry @cons of a completion ring, or NULL if the kernel did not fill it. */
static inline const struct xiw_cqe *xiw_ring_peek(struct xiw_ring *ring,
						  uint32_t cons)
{
	if (cons == ring->peer) {
		/* Pairs with the kernel's store-release of prod. */
		ring->peer = __atomic_load_n(&ring->ctrl->prod,
					     __ATOMIC_ACQUIRE);
		if (cons == ring->peer)
			return NULL;
	}
	return xiw_ring_slot(ring, cons);
}

/* Count an empty poll: the kernel detects busy-polling by this counter. */
static inline void xiw_ring_count_poll(const struct xiw_ring *ring)
{
	__atomic_store_n(&ring->ctrl->polls, ring->ctrl->polls + 1,
			 __ATOMIC_RELAXED);
}

/* Does a queue pair of this completion ring have work for busy pollers? */
static inline bool xiw_ring_has_work(const struct xiw_ring *ring)
{
	return __atomic_load_n(&ring->ctrl->flags, __ATOMIC_RELAXED) &
	       XIW_RING_BUSY_POLL;
}

/* Release all entries before @cons to the kernel. */
static inline void xiw_ring_release(struct xiw_ring *ring, uint32_t cons)
{
	ring->index = cons;
	/*
	 * Pairs with the kernel's load-acquire of cons: our loads from the
	 * entries stay before its next stores into them.
	 */
	__atomic_store_n(&ring->ctrl->cons, cons, __ATOMIC_RELEASE);
}

/* Arm the ring; @bits are XIW_ARM_*. May run concurrently with a poll. */
static inline void xiw_ring_arm(const struct xiw_ring *ring, uint32_t bits)
{
	__atomic_fetch_or(&ring->ctrl->arm, bits, __ATOMIC_SEQ_CST);
	/*
	 * Orders our store of arm before the caller's next poll, which loads
	 * prod. Pairs with the full barrier between the kernel's store of
	 * prod and its load of arm: either that poll sees an entry or the
	 * entry raises the event. The same holds for XIW_RING_BUSY_POLL in
	 * flags.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif /* _XIW_RING_H */
