// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The layout of the user ABI, which is the same on all architectures. Compiled
 * for several of them, never linked; -Wpadded finds what no field covers.
 */
#include <stddef.h>

#include <rdma/xiw-abi.h>

#define SIZE(_struct, _size)						\
	_Static_assert(sizeof(struct _struct) == (_size),		\
		       "size of struct " #_struct)
#define AT(_struct, _field, _offset)					\
	_Static_assert(offsetof(struct _struct, _field) == (_offset),	\
		       "offset of " #_struct "." #_field)

SIZE(xiw_uresp_alloc_ctx, 8);
AT(xiw_uresp_alloc_ctx, caps, 0);
AT(xiw_uresp_alloc_ctx, max_inline, 4);

SIZE(xiw_uresp_create_cq, 24);
AT(xiw_uresp_create_cq, cq_key, 0);
AT(xiw_uresp_create_cq, map_len, 8);
AT(xiw_uresp_create_cq, num_cqe, 12);
AT(xiw_uresp_create_cq, cq_id, 16);
AT(xiw_uresp_create_cq, reserved, 20);

SIZE(xiw_uresp_create_qp, 48);
AT(xiw_uresp_create_qp, sq_key, 0);
AT(xiw_uresp_create_qp, rq_key, 8);
AT(xiw_uresp_create_qp, sq_map_len, 16);
AT(xiw_uresp_create_qp, rq_map_len, 20);
AT(xiw_uresp_create_qp, num_sqe, 24);
AT(xiw_uresp_create_qp, num_rqe, 28);
AT(xiw_uresp_create_qp, sqe_stride, 32);
AT(xiw_uresp_create_qp, rqe_stride, 36);
AT(xiw_uresp_create_qp, qp_id, 40);
AT(xiw_uresp_create_qp, max_inline, 44);

SIZE(xiw_uresp_create_srq, 24);
AT(xiw_uresp_create_srq, srq_key, 0);
AT(xiw_uresp_create_srq, map_len, 8);
AT(xiw_uresp_create_srq, num_rqe, 12);
AT(xiw_uresp_create_srq, rqe_stride, 16);
AT(xiw_uresp_create_srq, srq_id, 20);

SIZE(xiw_ring_ctrl, 256);
AT(xiw_ring_ctrl, prod, 0);
AT(xiw_ring_ctrl, cons, 64);
AT(xiw_ring_ctrl, polls, 68);
AT(xiw_ring_ctrl, flags, 128);
AT(xiw_ring_ctrl, dropped, 132);
AT(xiw_ring_ctrl, arm, 192);

SIZE(xiw_sge, 16);
AT(xiw_sge, addr, 0);
AT(xiw_sge, length, 8);
AT(xiw_sge, lkey, 12);

SIZE(xiw_bind, 24);
AT(xiw_bind, addr, 0);
AT(xiw_bind, length, 8);
AT(xiw_bind, access, 16);
AT(xiw_bind, lkey, 20);

SIZE(xiw_sqe, 64);
AT(xiw_sqe, wr_id, 0);
AT(xiw_sqe, opcode, 8);
AT(xiw_sqe, flags, 9);
AT(xiw_sqe, num_sge, 10);
AT(xiw_sqe, reserved, 11);
AT(xiw_sqe, inline_len, 12);
AT(xiw_sqe, rkey, 16);
AT(xiw_sqe, imm_data, 20);
AT(xiw_sqe, inv_rkey, 20);
AT(xiw_sqe, ext, 20);
AT(xiw_sqe, raddr, 24);
AT(xiw_sqe, compare_add, 32);
AT(xiw_sqe, swap, 40);
AT(xiw_sqe, bind, 24);
AT(xiw_sqe, reserved2, 48);

SIZE(xiw_rqe, 16);
AT(xiw_rqe, wr_id, 0);
AT(xiw_rqe, num_sge, 8);
AT(xiw_rqe, reserved, 12);

SIZE(xiw_cqe, 64);
AT(xiw_cqe, wr_id, 0);
AT(xiw_cqe, timestamp, 8);
AT(xiw_cqe, qp_id, 16);
AT(xiw_cqe, byte_len, 20);
AT(xiw_cqe, opcode, 24);
AT(xiw_cqe, status, 25);
AT(xiw_cqe, flags, 26);
AT(xiw_cqe, vendor_err, 28);
AT(xiw_cqe, imm_data, 32);
AT(xiw_cqe, inv_rkey, 32);
AT(xiw_cqe, ext, 32);
AT(xiw_cqe, srq_id, 36);
AT(xiw_cqe, sq_done, 40);
AT(xiw_cqe, reserved, 44);
AT(xiw_cqe, reserved2, 48);
