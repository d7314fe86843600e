/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The kernel's structures in the form that libibverbs' command functions use,
 * and checks that the definitions of both sides agree.
 */
#ifndef _XIW_ABI_GLUE_H
#define _XIW_ABI_GLUE_H

#include <infiniband/kern-abi.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/xiw-abi.h>
#include <kernel-abi/xiw-abi.h>

DECLARE_DRV_CMD(xiw_cmd_alloc_ctx, IB_USER_VERBS_CMD_GET_CONTEXT,
		empty, xiw_uresp_alloc_ctx);
DECLARE_DRV_CMD(xiw_cmd_create_cq, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		empty, xiw_uresp_create_cq);
DECLARE_DRV_CMD(xiw_cmd_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		empty, xiw_uresp_create_cq);
DECLARE_DRV_CMD(xiw_cmd_create_qp, IB_USER_VERBS_CMD_CREATE_QP,
		empty, xiw_uresp_create_qp);
DECLARE_DRV_CMD(xiw_cmd_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		empty, xiw_uresp_create_srq);

static_assert(sizeof(struct xiw_ring_ctrl) == 256, "Bad ring_ctrl size");
static_assert(offsetof(struct xiw_ring_ctrl, cons) == 64, "Bad cons offset");
static_assert(offsetof(struct xiw_ring_ctrl, flags) == 128,
	      "Bad flags offset");
static_assert(offsetof(struct xiw_ring_ctrl, arm) == 192, "Bad arm offset");
static_assert(sizeof(struct xiw_sqe) == 64, "Bad sqe size");
static_assert(offsetof(struct xiw_sqe, raddr) == 24, "Bad raddr offset");
static_assert(offsetof(struct xiw_sqe, bind) == 24, "Bad bind offset");
static_assert(sizeof(struct xiw_rqe) == 16, "Bad rqe size");
static_assert(sizeof(struct xiw_cqe) == 64, "Bad cqe size");
static_assert(offsetof(struct xiw_cqe, ext) == 32, "Bad ext offset");
static_assert(offsetof(struct xiw_cqe, sq_done) == 40, "Bad sq_done offset");

/* Gather and scatter lists are copied without conversion. */
static_assert(sizeof(struct xiw_sge) == sizeof(struct ibv_sge),
	      "Bad sge size");
static_assert(offsetof(struct xiw_sge, addr) == offsetof(struct ibv_sge, addr),
	      "Bad sge addr");
static_assert(offsetof(struct xiw_sge, length) ==
		      offsetof(struct ibv_sge, length),
	      "Bad sge length");
static_assert(offsetof(struct xiw_sge, lkey) == offsetof(struct ibv_sge, lkey),
	      "Bad sge lkey");

/* Opcodes are copied, too, in both directions. */
#define XIW_CHECK_SAME(_lib, _kernel)                                          \
	static_assert((int)(_lib) == (int)(_kernel), "Bad value of " #_lib)

XIW_CHECK_SAME(IBV_WR_RDMA_WRITE, IB_UVERBS_WR_RDMA_WRITE);
XIW_CHECK_SAME(IBV_WR_SEND_WITH_IMM, IB_UVERBS_WR_SEND_WITH_IMM);
XIW_CHECK_SAME(IBV_WR_RDMA_WRITE_WITH_IMM, IB_UVERBS_WR_RDMA_WRITE_WITH_IMM);
XIW_CHECK_SAME(IBV_WR_SEND, IB_UVERBS_WR_SEND);
XIW_CHECK_SAME(IBV_WR_SEND_WITH_INV, IB_UVERBS_WR_SEND_WITH_INV);
XIW_CHECK_SAME(IBV_WR_RDMA_READ, IB_UVERBS_WR_RDMA_READ);
XIW_CHECK_SAME(IBV_WR_ATOMIC_CMP_AND_SWP, IB_UVERBS_WR_ATOMIC_CMP_AND_SWP);
XIW_CHECK_SAME(IBV_WR_ATOMIC_FETCH_AND_ADD, IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD);
XIW_CHECK_SAME(IBV_WR_LOCAL_INV, IB_UVERBS_WR_LOCAL_INV);
XIW_CHECK_SAME(IBV_WR_BIND_MW, IB_UVERBS_WR_BIND_MW);
XIW_CHECK_SAME(IBV_WC_SEND, IB_UVERBS_WC_SEND);
XIW_CHECK_SAME(IBV_WC_RDMA_WRITE, IB_UVERBS_WC_RDMA_WRITE);
XIW_CHECK_SAME(IBV_WC_RDMA_READ, IB_UVERBS_WC_RDMA_READ);
XIW_CHECK_SAME(IBV_WC_COMP_SWAP, IB_UVERBS_WC_COMP_SWAP);
XIW_CHECK_SAME(IBV_WC_FETCH_ADD, IB_UVERBS_WC_FETCH_ADD);
XIW_CHECK_SAME(IBV_WC_BIND_MW, IB_UVERBS_WC_BIND_MW);
XIW_CHECK_SAME(IBV_WC_LOCAL_INV, IB_UVERBS_WC_LOCAL_INV);
XIW_CHECK_SAME(IBV_WC_RECV, XIW_WC_RECV);
XIW_CHECK_SAME(IBV_WC_RECV_RDMA_WITH_IMM, XIW_WC_RECV_WITH_IMM);

/**
 * struct xiw_call - the argument of ioctl() for a method of the device
 * @hdr: the method
 * @object: its one attribute, the handle of the object
 *
 * The kernel writes nothing into it, so one that is built when the object is
 * created serves all threads. libibverbs would build it for each call.
 */
struct xiw_call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr object;
};

static_assert(offsetof(struct xiw_call, object) ==
		      offsetof(struct ib_uverbs_ioctl_hdr, attrs),
	      "Bad call layout");

#endif /* _XIW_ABI_GLUE_H */
