// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Post work requests: write a list to the ring, publish it by one store and, if
 * the kernel requires it, ring the doorbell by one system call.
 *
 * May be called by any number of threads at a time. Functions return a positive
 * errno; requests before *bad_wr were posted.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include <infiniband/driver.h>
#include <util/compiler.h>

#include "xiw.h"

static const uint8_t xiw_ops[] = {
	[IBV_WR_RDMA_WRITE] = XIW_OP_VALID | XIW_OP_PAYLOAD | XIW_OP_INLINE |
			      XIW_OP_RDMA,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = XIW_OP_VALID | XIW_OP_PAYLOAD |
				       XIW_OP_INLINE | XIW_OP_RDMA | XIW_OP_IMM,
	[IBV_WR_SEND] = XIW_OP_VALID | XIW_OP_PAYLOAD | XIW_OP_INLINE,
	[IBV_WR_SEND_WITH_IMM] = XIW_OP_VALID | XIW_OP_PAYLOAD | XIW_OP_INLINE |
				 XIW_OP_IMM,
	[IBV_WR_SEND_WITH_INV] = XIW_OP_VALID | XIW_OP_PAYLOAD | XIW_OP_INLINE |
				 XIW_OP_INV,
	[IBV_WR_RDMA_READ] = XIW_OP_VALID | XIW_OP_PAYLOAD | XIW_OP_RDMA,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = XIW_OP_VALID | XIW_OP_PAYLOAD |
				      XIW_OP_ATOMIC,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = XIW_OP_VALID | XIW_OP_PAYLOAD |
					XIW_OP_ATOMIC,
	[IBV_WR_LOCAL_INV] = XIW_OP_VALID,
	[IBV_WR_BIND_MW] = XIW_OP_VALID,
};

uint32_t xiw_op_of(const struct xiw_qp *qp, uint32_t opcode)
{
	uint32_t op;

	if (opcode >= sizeof(xiw_ops))
		return 0;
	op = xiw_ops[opcode];
	if ((op & XIW_OP_IMM) && !(qp->caps & XIW_CAP_IMM))
		return 0;
	if ((op & XIW_OP_ATOMIC) && !(qp->caps & XIW_CAP_ATOMIC))
		return 0;
	if (opcode == IBV_WR_SEND_WITH_IMM && !(qp->caps & XIW_CAP_SEND_IMM))
		return 0;
	return op;
}

int xiw_sqe_init(const struct xiw_qp *qp, struct xiw_sqe *sqe, uint64_t wr_id,
		 uint32_t opcode, uint32_t op, unsigned int send_flags)
{
	unsigned int allowed = IBV_SEND_FENCE | IBV_SEND_SIGNALED |
			       IBV_SEND_SOLICITED;
	uint8_t flags = 0;

	if (op & XIW_OP_INLINE)
		allowed |= IBV_SEND_INLINE;
	if (unlikely(!op || (send_flags & ~allowed)))
		return EINVAL;

	if (qp->sq_sig_all || (send_flags & IBV_SEND_SIGNALED))
		flags |= XIW_SQE_SIGNALED;
	if (send_flags & IBV_SEND_FENCE)
		flags |= XIW_SQE_FENCE;
	/* Ignored for opcodes that complete no receive. */
	if ((send_flags & IBV_SEND_SOLICITED) &&
	    (opcode == IBV_WR_SEND || (op & (XIW_OP_IMM | XIW_OP_INV))))
		flags |= XIW_SQE_SOLICITED;

	*sqe = (struct xiw_sqe){
		.wr_id = wr_id,
		.opcode = opcode,
		.flags = flags,
	};
	return 0;
}

/* Is the list longer than the longest message, 2^32-1 bytes? */
static bool too_long(const struct ibv_sge *sge, size_t num_sge)
{
	uint64_t len = 0;

	for (; num_sge; sge++, num_sge--)
		len += sge->length;
	return len > UINT32_MAX;
}

int xiw_sqe_set_sge(const struct xiw_qp *qp, struct xiw_sqe *sqe, uint32_t op,
		    const struct ibv_sge *sge, size_t num_sge)
{
	if (unlikely(num_sge > qp->sq.max_sge))
		return EINVAL;
	if (unlikely((op & XIW_OP_ATOMIC) &&
		     (num_sge != 1 || sge->length != sizeof(uint64_t))))
		return EINVAL;
	if (num_sge > 1 && unlikely(too_long(sge, num_sge)))
		return EINVAL;

	if (num_sge)
		memcpy(sqe + 1, sge, num_sge * sizeof(*sge));
	sqe->num_sge = num_sge;
	return 0;
}

int xiw_sqe_add_inline(const struct xiw_qp *qp, struct xiw_sqe *sqe,
		       const void *data, size_t len)
{
	if (unlikely(len > qp->max_inline - sqe->inline_len))
		return EINVAL;
	/* No data: an ordinary message without payload. */
	if (!len)
		return 0;

	memcpy((uint8_t *)(sqe + 1) + sqe->inline_len, data, len);
	sqe->flags |= XIW_SQE_INLINE;
	sqe->inline_len += len;
	return 0;
}

/* Flags of a window. The kernel ends a queue pair that posts another one. */
#define BIND_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |    \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

int xiw_sqe_set_bind(struct xiw_sqe *sqe, uint32_t rkey,
		     const struct ibv_mw_bind_info *info)
{
	unsigned int access = info->mw_access_flags &
			      ~IBV_ACCESS_OPTIONAL_RANGE;

	if (unlikely(access & ~BIND_ACCESS))
		return EOPNOTSUPP;
	sqe->rkey = rkey;
	sqe->bind = (struct xiw_bind){
		.addr = info->addr,
		.length = info->length,
		.access = access,
		/* Without a region the request unbinds the window. */
		.lkey = info->mr ? info->mr->lkey : 0,
	};
	return 0;
}

static int set_inline_list(const struct xiw_qp *qp, struct xiw_sqe *sqe,
			   const struct ibv_send_wr *wr)
{
	int ret = 0;
	int i;

	for (i = 0; i < wr->num_sge && !ret; i++)
		ret = xiw_sqe_add_inline(qp, sqe,
					 (void *)(uintptr_t)wr->sg_list[i].addr,
					 wr->sg_list[i].length);
	return ret;
}

static void set_operands(struct xiw_sqe *sqe, const struct ibv_send_wr *wr,
			 uint32_t op)
{
	if (op & XIW_OP_RDMA) {
		sqe->raddr = wr->wr.rdma.remote_addr;
		sqe->rkey = wr->wr.rdma.rkey;
	} else if (op & XIW_OP_ATOMIC) {
		sqe->raddr = wr->wr.atomic.remote_addr;
		sqe->rkey = wr->wr.atomic.rkey;
		sqe->compare_add = wr->wr.atomic.compare_add;
		sqe->swap = wr->wr.atomic.swap;
	}
	if (op & XIW_OP_IMM)
		sqe->imm_data = wr->imm_data;
	else if (op & XIW_OP_INV)
		sqe->inv_rkey = wr->invalidate_rkey;
}

static int build_send(const struct xiw_qp *qp, struct xiw_sqe *sqe,
		      const struct ibv_send_wr *wr)
{
	uint32_t op = xiw_op_of(qp, wr->opcode);
	int ret;

	ret = xiw_sqe_init(qp, sqe, wr->wr_id, wr->opcode, op, wr->send_flags);
	if (unlikely(ret))
		return ret;

	if (!(op & XIW_OP_PAYLOAD)) {
		if (wr->opcode == IBV_WR_BIND_MW)
			return xiw_sqe_set_bind(sqe, wr->bind_mw.rkey,
						&wr->bind_mw.bind_info);
		sqe->rkey = wr->invalidate_rkey;
		return 0;
	}

	set_operands(sqe, wr, op);
	if (unlikely(wr->num_sge < 0))
		return EINVAL;
	if (wr->send_flags & IBV_SEND_INLINE)
		return set_inline_list(qp, sqe, wr);
	return xiw_sqe_set_sge(qp, sqe, op, wr->sg_list, wr->num_sge);
}

void xiw_call_init(struct xiw_call *call, uint16_t object, uint16_t method,
		   uint32_t handle)
{
	*call = (struct xiw_call){
		.hdr = {
			.length = sizeof(*call),
			.object_id = object,
			.method_id = method,
			.num_attrs = 1,
			.driver_id = XIW_RDMA_DRIVER_ID,
		},
		.object = {
			.attr_id = XIW_ATTR_HANDLE,
			.flags = UVERBS_ATTR_F_MANDATORY,
			.data = handle,
		},
	};
}

int xiw_call(int fd, const struct xiw_call *call)
{
	return ioctl(fd, RDMA_VERBS_IOCTL, call) ? errno : 0;
}

/*
 * The call only makes the kernel process the ring. Retry temporary errors
 * instead of reporting them: the requests are in the ring, and an application
 * that repeats them would post them twice. EFAULT is temporary if the kernel
 * had no memory to swap the call in. An error of a removed device is final.
 */
static int ring_doorbell(int fd, const struct xiw_call *doorbell)
{
	enum { TRIES = 64 };
	int err = 0;
	int i;

	for (i = 0; i < TRIES; i++) {
		err = xiw_call(fd, doorbell);
		if (likely(!err))
			return 0;
		if (err != EINTR && err != EAGAIN && err != ENOMEM &&
		    err != EFAULT)
			break;
	}
	return err;
}

/* Ring the doorbell of handle @db - 1; its queue pair may be destroyed. */
static void ring_for(struct xiw_cq *cq, uint32_t db)
{
	struct xiw_call doorbell;

	xiw_call_init(&doorbell, UVERBS_OBJECT_QP, XIW_METHOD_QP_SEND_DOORBELL,
		      db - 1);
	ring_doorbell(cq->vcq.cq.context->cmd_fd, &doorbell);
}

void xiw_ring_deferred(struct xiw_cq *cq)
{
	uint32_t db =
		__atomic_exchange_n(&cq->deferred_db, 0, __ATOMIC_ACQ_REL);
	int err = errno;

	if (db)
		ring_for(cq, db);
	/* Keep errno: polling an empty queue is no error. */
	errno = err;
}

/* Defer the doorbell to the next empty poll of a completion queue. */
static void owe_doorbell(const struct xiw_queue *queue)
{
	uint32_t db = queue->doorbell.object.data + 1;
	uint32_t before;
	size_t i;

	for (i = 0; i < sizeof(queue->cq) / sizeof(queue->cq[0]); i++) {
		struct xiw_cq *cq = queue->cq[i];

		if (!cq ||
		    __atomic_load_n(&cq->deferred_db, __ATOMIC_RELAXED) == db)
			continue;
		before = __atomic_exchange_n(&cq->deferred_db, db,
					     __ATOMIC_ACQ_REL);
		/* Only one doorbell can be deferred: ring the previous one. */
		if (before && before != db)
			ring_for(cq, before);
	}
}

int xiw_queue_submit(struct xiw_queue *queue, uint32_t prod)
{
	bool posted = prod != queue->ring.index;
	uint32_t how;

	if (posted)
		xiw_ring_publish(&queue->ring, prod);
	xiw_unlock(&queue->lock);

	if (!posted)
		return 0;
	how = xiw_ring_doorbell(&queue->ring);
	if (how & XIW_RING_NEED_DB)
		return ring_doorbell(queue->cmd_fd, &queue->doorbell);
	if (how & XIW_RING_DEFER_DB)
		owe_doorbell(queue);
	return 0;
}

int xiw_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr)
{
	struct xiw_qp *qp = to_xqp(ibqp);
	struct xiw_ring *ring = &qp->sq.ring;
	struct ibv_send_wr *first = wr;
	uint32_t prod;
	int ret = 0;
	int db_ret;

	xiw_lock(&qp->sq.lock);
	for (prod = ring->index; wr; wr = wr->next, prod++) {
		if (unlikely(xiw_ring_full(ring, prod)))
			ret = ENOMEM;
		else
			ret = build_send(qp, xiw_ring_slot(ring, prod), wr);
		if (unlikely(ret)) {
			*bad_wr = wr;
			break;
		}
	}
	db_ret = xiw_queue_submit(&qp->sq, prod);
	if (likely(!db_ret))
		return ret;
	*bad_wr = first;
	return db_ret;
}

static int build_recv(const struct xiw_queue *queue, struct xiw_rqe *rqe,
		      const struct ibv_recv_wr *wr)
{
	if (unlikely(wr->num_sge < 0 || wr->num_sge > (int)queue->max_sge))
		return EINVAL;
	if (wr->num_sge > 1 && unlikely(too_long(wr->sg_list, wr->num_sge)))
		return EINVAL;

	*rqe = (struct xiw_rqe){
		.wr_id = wr->wr_id,
		.num_sge = wr->num_sge,
	};
	if (wr->num_sge)
		memcpy(rqe + 1, wr->sg_list,
		       wr->num_sge * sizeof(struct xiw_sge));
	return 0;
}

static int post_recv(struct xiw_queue *queue, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr)
{
	struct xiw_ring *ring = &queue->ring;
	struct ibv_recv_wr *first = wr;
	uint32_t prod;
	int ret = 0;
	int db_ret;

	xiw_lock(&queue->lock);
	for (prod = ring->index; wr; wr = wr->next, prod++) {
		if (unlikely(xiw_ring_full(ring, prod)))
			ret = ENOMEM;
		else
			ret = build_recv(queue, xiw_ring_slot(ring, prod), wr);
		if (unlikely(ret)) {
			*bad_wr = wr;
			break;
		}
	}
	db_ret = xiw_queue_submit(queue, prod);
	if (likely(!db_ret))
		return ret;
	*bad_wr = first;
	return db_ret;
}

int xiw_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr)
{
	if (unlikely(ibqp->srq)) {
		*bad_wr = wr;
		return EINVAL;
	}
	return post_recv(&to_xqp(ibqp)->rq, wr, bad_wr);
}

int xiw_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	return post_recv(&to_xsrq(ibsrq)->rq, wr, bad_wr);
}

/* Type 1 windows: a bind is a work request under a new key of the window. */
int xiw_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind->bind_info,
		},
	};
	struct ibv_send_wr *bad_wr;
	int ret;

	if (!bind->bind_info.mr && bind->bind_info.length)
		return EINVAL;
	/* A parent domain has the handle of its protection domain. */
	if (bind->bind_info.mr &&
	    bind->bind_info.mr->pd->handle != mw->pd->handle)
		return EPERM;

	ret = xiw_post_send(ibqp, &wr, &bad_wr);
	if (!ret)
		mw->rkey = wr.bind_mw.rkey;
	return ret;
}
