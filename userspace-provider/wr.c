// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The ibv_wr_*() calls: requests are built in the ring one call at a time
 * between wr_start and wr_complete, under the lock of the send queue. After
 * an error wr_complete fails and posts none of the requests.
 */
#include <errno.h>

#include <infiniband/driver.h>
#include <util/compiler.h>

#include "xiw.h"

/* Set the error if the entry under construction is not complete. */
static void wr_finish(struct xiw_wr_build *wr)
{
	const struct xiw_sqe *sqe = wr->sqe;

	if (!sqe || unlikely(wr->err))
		return;
	/* An atomic needs its element; a payload is either listed or inline. */
	if (unlikely(((wr->op & XIW_OP_ATOMIC) && !sqe->num_sge) ||
		     (sqe->num_sge && sqe->inline_len)))
		wr->err = EINVAL;
}

/* Start the next entry; NULL after an error. */
static struct xiw_sqe *wr_next(struct ibv_qp_ex *qp_ex, uint32_t opcode)
{
	struct xiw_qp *qp = to_xqp_ex(qp_ex);
	struct xiw_wr_build *wr = &qp->wr;
	struct xiw_sqe *sqe;

	wr_finish(wr);
	wr->sqe = NULL;
	if (unlikely(wr->err))
		return NULL;
	if (unlikely(xiw_ring_full(&qp->sq.ring, wr->prod))) {
		wr->err = ENOMEM;
		return NULL;
	}

	sqe = xiw_ring_slot(&qp->sq.ring, wr->prod);
	/*
	 * A separate call sets inline data. The flag has no meaning here, but
	 * applications leave it set.
	 */
	wr->op = xiw_op_of(qp, opcode);
	wr->err = xiw_sqe_init(qp, sqe, qp_ex->wr_id, opcode, wr->op,
			       qp_ex->wr_flags & ~IBV_SEND_INLINE);
	if (unlikely(wr->err))
		return NULL;

	wr->sqe = sqe;
	wr->prod++;
	return sqe;
}

static struct xiw_sqe *wr_next_rdma(struct ibv_qp_ex *qp_ex, uint32_t opcode,
				    uint32_t rkey, uint64_t raddr)
{
	struct xiw_sqe *sqe = wr_next(qp_ex, opcode);

	if (likely(sqe)) {
		sqe->rkey = rkey;
		sqe->raddr = raddr;
	}
	return sqe;
}

static void xiw_wr_send(struct ibv_qp_ex *qp_ex)
{
	wr_next(qp_ex, IBV_WR_SEND);
}

static void xiw_wr_send_imm(struct ibv_qp_ex *qp_ex, __be32 imm_data)
{
	struct xiw_sqe *sqe = wr_next(qp_ex, IBV_WR_SEND_WITH_IMM);

	if (likely(sqe))
		sqe->imm_data = imm_data;
}

static void xiw_wr_send_inv(struct ibv_qp_ex *qp_ex, uint32_t rkey)
{
	struct xiw_sqe *sqe = wr_next(qp_ex, IBV_WR_SEND_WITH_INV);

	if (likely(sqe))
		sqe->inv_rkey = rkey;
}

static void xiw_wr_rdma_write(struct ibv_qp_ex *qp_ex, uint32_t rkey,
			      uint64_t raddr)
{
	wr_next_rdma(qp_ex, IBV_WR_RDMA_WRITE, rkey, raddr);
}

static void xiw_wr_rdma_write_imm(struct ibv_qp_ex *qp_ex, uint32_t rkey,
				  uint64_t raddr, __be32 imm_data)
{
	struct xiw_sqe *sqe = wr_next_rdma(qp_ex, IBV_WR_RDMA_WRITE_WITH_IMM,
					   rkey, raddr);

	if (likely(sqe))
		sqe->imm_data = imm_data;
}

static void xiw_wr_rdma_read(struct ibv_qp_ex *qp_ex, uint32_t rkey,
			     uint64_t raddr)
{
	wr_next_rdma(qp_ex, IBV_WR_RDMA_READ, rkey, raddr);
}

static void xiw_wr_atomic_cmp_swp(struct ibv_qp_ex *qp_ex, uint32_t rkey,
				  uint64_t raddr, uint64_t compare,
				  uint64_t swap)
{
	struct xiw_sqe *sqe = wr_next_rdma(qp_ex, IBV_WR_ATOMIC_CMP_AND_SWP,
					   rkey, raddr);

	if (likely(sqe)) {
		sqe->compare_add = compare;
		sqe->swap = swap;
	}
}

static void xiw_wr_atomic_fetch_add(struct ibv_qp_ex *qp_ex, uint32_t rkey,
				    uint64_t raddr, uint64_t add)
{
	struct xiw_sqe *sqe = wr_next_rdma(qp_ex, IBV_WR_ATOMIC_FETCH_AND_ADD,
					   rkey, raddr);

	if (likely(sqe))
		sqe->compare_add = add;
}

static void xiw_wr_local_inv(struct ibv_qp_ex *qp_ex, uint32_t rkey)
{
	struct xiw_sqe *sqe = wr_next(qp_ex, IBV_WR_LOCAL_INV);

	if (likely(sqe))
		sqe->rkey = rkey;
}

static void xiw_wr_bind_mw(struct ibv_qp_ex *qp_ex, struct ibv_mw *mw,
			   uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct xiw_sqe *sqe = wr_next(qp_ex, IBV_WR_BIND_MW);
	struct xiw_wr_build *wr = &to_xqp_ex(qp_ex)->wr;

	if (unlikely(!sqe))
		return;
	wr->err = xiw_sqe_set_bind(sqe, rkey, info);
	if (unlikely(wr->err))
		wr->sqe = NULL;
}

static void xiw_wr_set_sge_list(struct ibv_qp_ex *qp_ex, size_t num_sge,
				const struct ibv_sge *sg_list)
{
	struct xiw_qp *qp = to_xqp_ex(qp_ex);
	struct xiw_wr_build *wr = &qp->wr;

	if (unlikely(!wr->sqe))
		return;
	if (unlikely(!(wr->op & XIW_OP_PAYLOAD)))
		wr->err = EINVAL;
	else
		wr->err = xiw_sqe_set_sge(qp, wr->sqe, wr->op, sg_list,
					  num_sge);
	if (unlikely(wr->err))
		wr->sqe = NULL;
}

static void xiw_wr_set_sge(struct ibv_qp_ex *qp_ex, uint32_t lkey,
			   uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = {
		.addr = addr,
		.length = length,
		.lkey = lkey,
	};

	xiw_wr_set_sge_list(qp_ex, 1, &sge);
}

static void xiw_wr_set_inline_data_list(struct ibv_qp_ex *qp_ex,
					size_t num_buf,
					const struct ibv_data_buf *buf_list)
{
	struct xiw_qp *qp = to_xqp_ex(qp_ex);
	struct xiw_wr_build *wr = &qp->wr;
	size_t i;

	if (unlikely(!wr->sqe))
		return;
	if (unlikely(!(wr->op & XIW_OP_INLINE)))
		wr->err = EINVAL;
	for (i = 0; i < num_buf && !wr->err; i++)
		wr->err = xiw_sqe_add_inline(qp, wr->sqe, buf_list[i].addr,
					     buf_list[i].length);
	if (unlikely(wr->err))
		wr->sqe = NULL;
}

static void xiw_wr_set_inline_data(struct ibv_qp_ex *qp_ex, void *addr,
				   size_t length)
{
	const struct ibv_data_buf buf = {
		.addr = addr,
		.length = length,
	};

	xiw_wr_set_inline_data_list(qp_ex, 1, &buf);
}

static void xiw_wr_start(struct ibv_qp_ex *qp_ex)
{
	struct xiw_qp *qp = to_xqp_ex(qp_ex);

	xiw_lock(&qp->sq.lock);
	qp->wr = (struct xiw_wr_build){
		.prod = qp->sq.ring.index,
	};
}

static int xiw_wr_complete(struct ibv_qp_ex *qp_ex)
{
	struct xiw_qp *qp = to_xqp_ex(qp_ex);
	int err;

	wr_finish(&qp->wr);
	err = qp->wr.err;
	if (unlikely(err)) {
		xiw_unlock(&qp->sq.lock);
		return err;
	}
	return xiw_queue_submit(&qp->sq, qp->wr.prod);
}

static void xiw_wr_abort(struct ibv_qp_ex *qp_ex)
{
	xiw_unlock(&to_xqp_ex(qp_ex)->sq.lock);
}

void xiw_qp_set_wr_ops(struct ibv_qp_ex *qp_ex)
{
	qp_ex->wr_start = xiw_wr_start;
	qp_ex->wr_complete = xiw_wr_complete;
	qp_ex->wr_abort = xiw_wr_abort;
	qp_ex->wr_send = xiw_wr_send;
	qp_ex->wr_send_imm = xiw_wr_send_imm;
	qp_ex->wr_send_inv = xiw_wr_send_inv;
	qp_ex->wr_rdma_write = xiw_wr_rdma_write;
	qp_ex->wr_rdma_write_imm = xiw_wr_rdma_write_imm;
	qp_ex->wr_rdma_read = xiw_wr_rdma_read;
	qp_ex->wr_atomic_cmp_swp = xiw_wr_atomic_cmp_swp;
	qp_ex->wr_atomic_fetch_add = xiw_wr_atomic_fetch_add;
	qp_ex->wr_local_inv = xiw_wr_local_inv;
	qp_ex->wr_bind_mw = xiw_wr_bind_mw;
	qp_ex->wr_set_sge = xiw_wr_set_sge;
	qp_ex->wr_set_sge_list = xiw_wr_set_sge_list;
	qp_ex->wr_set_inline_data = xiw_wr_set_inline_data;
	qp_ex->wr_set_inline_data_list = xiw_wr_set_inline_data_list;
}
