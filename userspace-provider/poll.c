// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Poll completions and arm the completion ring. Enters the kernel only to ring
 * deferred doorbells before the application waits, and to run the kernel's work
 * while the application busy-polls.
 */
#include <errno.h>
#include <string.h>

#include <infiniband/driver.h>
#include <util/compiler.h>

#include "xiw.h"

static unsigned int cqe_wc_flags(const struct xiw_cqe *cqe)
{
	unsigned int flags = 0;

	if (cqe->flags & XIW_CQE_WITH_IMM)
		flags |= IBV_WC_WITH_IMM;
	if (cqe->flags & XIW_CQE_WITH_INV)
		flags |= IBV_WC_WITH_INV;
	return flags;
}

static void cqe_to_wc(const struct xiw_cqe *cqe, struct ibv_wc *wc)
{
	*wc = (struct ibv_wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = cqe->opcode,
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.qp_num = cqe->qp_id,
		.wc_flags = cqe_wc_flags(cqe),
	};
	/* A union of key and immediate data; wc_flags has its type. */
	wc->invalidated_rkey = cqe->ext;
}

/*
 * Counts an empty poll. True if there were enough in a row to run the kernel's
 * work now. Called with the lock held.
 */
static bool polled_enough(struct xiw_cq *cq)
{
	xiw_ring_count_poll(&cq->ring);
	if (likely(!xiw_ring_has_work(&cq->ring))) {
		cq->busy_polls = 0;
		return false;
	}
	cq->busy_polls = (cq->busy_polls + 1) % XIW_RING_MIN_POLLS;
	return !cq->busy_polls;
}

/* Run the kernel's work on the CPU of this thread, instead of polling. */
static void run_kernel_work(struct xiw_cq *cq)
{
	int err = errno;

	xiw_call(cq->vcq.cq.context->cmd_fd, &cq->busy_poll);
	/* Keep errno: polling an empty queue is no error. */
	errno = err;
}

/* Called without a lock: wait until another thread has replaced the ring. */
static void wait_resized(struct xiw_cq *cq)
{
	pthread_mutex_lock(&cq->resize_lock);
	pthread_mutex_unlock(&cq->resize_lock);
}

/*
 * Ring a deferred doorbell and, if @work, run the kernel's work. Called without
 * a lock before the process busy-polls or sleeps.
 */
static void before_waiting(struct xiw_cq *cq, bool work)
{
	xiw_cq_ring_deferred(cq);
	if (unlikely(work))
		run_kernel_work(cq);
}

/* Release the lock of a ring that is empty. True: poll again. */
static bool unlock_empty(struct xiw_cq *cq)
{
	bool away = xiw_cq_is_away(cq);
	bool enough = polled_enough(cq);

	xiw_unlock(&cq->lock);
	if (unlikely(away))
		wait_resized(cq);
	else
		before_waiting(cq, enough);
	return away;
}

/**
 * struct batch - completions in a row of one queue pair
 * @qp: the queue pair, or NULL
 * @qpn: its number
 * @recvs: number of receives among them
 * @sends: are there completions of sends?
 * @sq_done: xiw_cqe.sq_done of the last send
 */
struct batch {
	struct xiw_qp *qp;
	uint32_t qpn;
	uint32_t recvs;
	bool sends;
	uint32_t sq_done;
};

/* Release the slots of @batch, which ends before @cons. */
static void batch_release(struct xiw_cq *cq, const struct batch *batch,
			  uint32_t cons)
{
	xiw_ring_release(&cq->ring, cons);
	if (unlikely(!batch->qp))
		return;
	if (batch->sends)
		xiw_qp_polled_send(batch->qp, batch->sq_done);
	if (batch->recvs)
		xiw_qp_polled_recvs(batch->qp, batch->recvs);
}

int xiw_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct xiw_cq *cq = to_xcq(ibcq);
	struct batch batch = {};
	const struct xiw_cqe *cqe;
	uint32_t cons;
	int n;

again:
	xiw_lock(&cq->lock);
	cons = cq->ring.index;
	for (n = 0; n < num_entries; n++, cons++) {
		cqe = xiw_ring_peek(&cq->ring, cons);
		if (!cqe)
			break;
		cqe_to_wc(cqe, &wc[n]);
		if (wc[n].qp_num != batch.qpn) {
			if (batch.qp)
				batch_release(cq, &batch, cons);
			batch = (struct batch){
				.qp = xiw_qp_table_find(&cq->qps, wc[n].qp_num),
				.qpn = wc[n].qp_num,
			};
		}
		if (cqe->opcode & XIW_WC_RECV) {
			batch.recvs++;
		} else {
			batch.sends = true;
			batch.sq_done = cqe->sq_done;
		}
	}
	if (!n && num_entries) {
		if (unlikely(unlock_empty(cq)))
			goto again;
		return 0;
	}
	batch_release(cq, &batch, cons);
	xiw_unlock(&cq->lock);
	return n;
}

int xiw_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct xiw_cq *cq = to_xcq(ibcq);
	bool work;

	xiw_lock(&cq->arm_lock);
	while (unlikely(xiw_cq_is_away(cq))) {
		xiw_unlock(&cq->arm_lock);
		wait_resized(cq);
		xiw_lock(&cq->arm_lock);
	}
	xiw_ring_arm(&cq->ring,
		     solicited_only ? XIW_ARM_SOLICITED : XIW_ARM_NEXT);
	work = xiw_ring_has_work(&cq->ring);
	xiw_unlock(&cq->arm_lock);
	before_waiting(cq, work);
	return 0;
}

/* Does the completion hold a slot of the SRQ of @qp? */
static bool cqe_is_shared(const struct xiw_cqe *cqe, const struct xiw_qp *qp)
{
	return qp->srq && (cqe->opcode & XIW_WC_RECV);
}

/*
 * Entries to keep move towards the producer, in order, over those to drop; the
 * kernel does not read entries between the two indices.
 */
void xiw_cq_purge(struct xiw_cq *cq, struct xiw_qp *qp)
{
	struct xiw_ring *ring = &cq->ring;
	uint32_t qpn = qp->vqp.qp.qp_num;
	uint32_t dropped = 0;
	uint32_t shared = 0;
	struct xiw_cqe *cqe;
	uint32_t i;

	/* During a resize the entries are in a ring that is not mapped yet. */
	pthread_mutex_lock(&cq->resize_lock);
	xiw_lock(&cq->lock);
	/* Pairs with the kernel's store-release of prod. */
	ring->peer = __atomic_load_n(&ring->ctrl->prod, __ATOMIC_ACQUIRE);
	for (i = ring->peer; i != ring->index; i--) {
		cqe = xiw_ring_slot(ring, i - 1);
		if (cqe->qp_id == qpn) {
			shared += cqe_is_shared(cqe, qp);
			dropped++;
		} else if (dropped) {
			memcpy(xiw_ring_slot(ring, i - 1 + dropped), cqe,
			       sizeof(*cqe));
		}
	}
	if (dropped)
		xiw_ring_release(ring, ring->index + dropped);
	if (shared)
		__atomic_fetch_add(&qp->srq->polled, shared, __ATOMIC_RELEASE);
	xiw_unlock(&cq->lock);
	pthread_mutex_unlock(&cq->resize_lock);
}

/*
 * Copy the entry and release its slots now: the application may post the next
 * request before end_poll, also if the queue and the ring have one slot.
 */
static void cq_take(struct xiw_cq *cq, const struct xiw_cqe *cqe)
{
	struct xiw_qp *qp;

	cq->current = *cqe;
	cq->vcq.cq_ex.wr_id = cq->current.wr_id;
	cq->vcq.cq_ex.status = cq->current.status;
	xiw_ring_release(&cq->ring, cq->ring.index + 1);
	qp = xiw_qp_table_find(&cq->qps, cq->current.qp_id);
	if (unlikely(!qp))
		return;
	if (cq->current.opcode & XIW_WC_RECV)
		xiw_qp_polled_recvs(qp, 1);
	else
		xiw_qp_polled_send(qp, cq->current.sq_done);
}

static int xiw_start_poll(struct ibv_cq_ex *cq_ex,
			  struct ibv_poll_cq_attr *attr)
{
	struct xiw_cq *cq = to_xcq_ex(cq_ex);
	const struct xiw_cqe *cqe;

	if (unlikely(attr->comp_mask))
		return EINVAL;

again:
	xiw_lock(&cq->lock);
	cqe = xiw_ring_peek(&cq->ring, cq->ring.index);
	if (!cqe) {
		if (unlikely(unlock_empty(cq)))
			goto again;
		return ENOENT;
	}
	cq_take(cq, cqe);
	return 0;
}

static int xiw_next_poll(struct ibv_cq_ex *cq_ex)
{
	struct xiw_cq *cq = to_xcq_ex(cq_ex);
	const struct xiw_cqe *cqe;

	cqe = xiw_ring_peek(&cq->ring, cq->ring.index);
	if (!cqe)
		return ENOENT;
	cq_take(cq, cqe);
	return 0;
}

static void xiw_end_poll(struct ibv_cq_ex *cq_ex)
{
	xiw_unlock(&to_xcq_ex(cq_ex)->lock);
}

static enum ibv_wc_opcode xiw_read_opcode(struct ibv_cq_ex *cq_ex)
{
	return (enum ibv_wc_opcode)to_xcq_ex(cq_ex)->current.opcode;
}

static uint32_t xiw_read_vendor_err(struct ibv_cq_ex *cq_ex)
{
	return to_xcq_ex(cq_ex)->current.vendor_err;
}

static uint32_t xiw_read_byte_len(struct ibv_cq_ex *cq_ex)
{
	return to_xcq_ex(cq_ex)->current.byte_len;
}

/* Also reads the invalidated key. */
static __be32 xiw_read_imm_data(struct ibv_cq_ex *cq_ex)
{
	return to_xcq_ex(cq_ex)->current.imm_data;
}

static uint32_t xiw_read_qp_num(struct ibv_cq_ex *cq_ex)
{
	return to_xcq_ex(cq_ex)->current.qp_id;
}

static unsigned int xiw_read_wc_flags(struct ibv_cq_ex *cq_ex)
{
	return cqe_wc_flags(&to_xcq_ex(cq_ex)->current);
}

static uint64_t xiw_read_completion_ts(struct ibv_cq_ex *cq_ex)
{
	return to_xcq_ex(cq_ex)->current.timestamp;
}

/* iWARP has neither a source QP nor InfiniBand addresses. */
static uint32_t xiw_read_zero_u32(struct ibv_cq_ex *cq_ex)
{
	return 0;
}

static uint8_t xiw_read_zero_u8(struct ibv_cq_ex *cq_ex)
{
	return 0;
}

void xiw_cq_set_poll_ops(struct ibv_cq_ex *cq_ex)
{
	cq_ex->start_poll = xiw_start_poll;
	cq_ex->next_poll = xiw_next_poll;
	cq_ex->end_poll = xiw_end_poll;
	cq_ex->read_opcode = xiw_read_opcode;
	cq_ex->read_vendor_err = xiw_read_vendor_err;
	cq_ex->read_byte_len = xiw_read_byte_len;
	cq_ex->read_imm_data = xiw_read_imm_data;
	cq_ex->read_qp_num = xiw_read_qp_num;
	cq_ex->read_src_qp = xiw_read_zero_u32;
	cq_ex->read_wc_flags = xiw_read_wc_flags;
	cq_ex->read_slid = xiw_read_zero_u32;
	cq_ex->read_sl = xiw_read_zero_u8;
	cq_ex->read_dlid_path_bits = xiw_read_zero_u8;
	cq_ex->read_completion_ts = xiw_read_completion_ts;
}
