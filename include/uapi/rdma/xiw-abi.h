/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * User ABI of xiw: methods, the responses of the create commands and the
 * layout of the queues mapped into the process. All integers are in host order
 * unless typed __be32. Reserved fields are zero; the kernel refuses a send
 * queue entry with a non-zero reserved field.
 */
#ifndef _XIW_ABI_H
#define _XIW_ABI_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

#define XIW_ABI_VERSION		2

/*
 * xiw has no number in enum rdma_driver_id. The kernel reports this private one
 * ("xiw\0"), and the provider matches it, independent of the device's name.
 */
#define XIW_RDMA_DRIVER_ID	0x78697700

/* Limits that size the structures below. */
#define XIW_ABI_MAX_SGE		32
#define XIW_ABI_MAX_INLINE	512

/* Bits of xiw_uresp_alloc_ctx.caps. */
#define XIW_CAP_ATOMIC		(1U << 0)
#define XIW_CAP_IMM		(1U << 1)
#define XIW_CAP_SEND_IMM	(1U << 2)	/* if the peer is xiw, too */
#define XIW_CAP_SQ_DONE		(1U << 3)	/* @sq_done, @dropped are set */

/* Methods of UVERBS_OBJECT_QP: process new entries of a ring. */
enum xiw_qp_methods {
	XIW_METHOD_QP_SEND_DOORBELL = (1U << UVERBS_ID_NS_SHIFT),
	XIW_METHOD_QP_RECV_DOORBELL,
};

/* Method of UVERBS_OBJECT_SRQ: process new entries of the ring. */
enum xiw_srq_methods {
	XIW_METHOD_SRQ_DOORBELL = (1U << UVERBS_ID_NS_SHIFT),
};

/* Method of UVERBS_OBJECT_CQ: run the work that XIW_RING_BUSY_POLL reports. */
enum xiw_cq_methods {
	XIW_METHOD_CQ_BUSY_POLL = (1U << UVERBS_ID_NS_SHIFT),
};

/* The attribute of each method: the handle of the object. */
enum xiw_method_attrs {
	XIW_ATTR_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
};

/**
 * struct xiw_uresp_alloc_ctx - response to opening a device
 * @caps: XIW_CAP_* of the device
 * @max_inline: largest inline payload of a send in bytes
 */
struct xiw_uresp_alloc_ctx {
	__u32 caps;
	__u32 max_inline;
};

/**
 * struct xiw_uresp_create_cq - response to creating or resizing a CQ
 * @cq_key: offset for mmap()
 * @map_len: bytes to map
 * @num_cqe: entries in the ring, a power of two
 * @cq_id: number of the CQ
 * @reserved: zero
 */
struct xiw_uresp_create_cq {
	__aligned_u64 cq_key;
	__u32 map_len;
	__u32 num_cqe;
	__u32 cq_id;
	__u32 reserved;
};

/**
 * struct xiw_uresp_create_qp - response to creating a QP
 * @sq_key: mmap() offset of the send queue
 * @rq_key: mmap() offset of the receive queue; 0 when an SRQ is used
 * @sq_map_len: bytes to map for the send queue
 * @rq_map_len: bytes to map for the receive queue; 0 when an SRQ is used
 * @num_sqe: entries in the send ring, a power of two
 * @num_rqe: entries in the receive ring, a power of two
 * @sqe_stride: bytes from one send entry to the next
 * @rqe_stride: bytes from one receive entry to the next
 * @qp_id: QP number
 * @max_inline: inline payload that fits a send entry in bytes
 */
struct xiw_uresp_create_qp {
	__aligned_u64 sq_key;
	__aligned_u64 rq_key;
	__u32 sq_map_len;
	__u32 rq_map_len;
	__u32 num_sqe;
	__u32 num_rqe;
	__u32 sqe_stride;
	__u32 rqe_stride;
	__u32 qp_id;
	__u32 max_inline;
};

/**
 * struct xiw_uresp_create_srq - response to creating an SRQ
 * @srq_key: offset for mmap()
 * @map_len: bytes to map
 * @num_rqe: entries in the ring, a power of two
 * @rqe_stride: bytes from one entry to the next
 * @srq_id: number of the SRQ
 */
struct xiw_uresp_create_srq {
	__aligned_u64 srq_key;
	__u32 map_len;
	__u32 num_rqe;
	__u32 rqe_stride;
	__u32 srq_id;
};

/* Bits of xiw_ring_ctrl.flags, written by the kernel only. */
#define XIW_RING_NEED_DB	(1U << 0)	/* a post needs the doorbell */
#define XIW_RING_DEFER_DB	(1U << 1)	/* only before the user waits */
#define XIW_RING_BUSY_POLL	(1U << 2)	/* busy-poll work is pending */

/*
 * The user should run busy-poll work after this many empty polls in a row with
 * XIW_RING_BUSY_POLL set: fewer are not busy-polling.
 */
#define XIW_RING_MIN_POLLS	128

/* Bits of xiw_ring_ctrl.arm, set by the user, cleared by the kernel. */
#define XIW_ARM_NEXT		(1U << 0)
#define XIW_ARM_SOLICITED	(1U << 1)

/**
 * struct xiw_ring_ctrl - control block at the start of every mapped ring
 * @prod: number of entries produced, free running. Stored with release by the
 *	producer after the entry is complete: the user for send and receive
 *	rings, the kernel for completion rings
 * @cons: number of entries consumed, free running. Stored with release by the
 *	consumer after it has copied the entry out
 * @flags: XIW_RING_*. After storing @prod the user executes a full barrier
 *	and reads this word. With XIW_RING_NEED_DB the user calls the doorbell
 *	method of the ring; otherwise the kernel reads the ring without it.
 *	With XIW_RING_DEFER_DB, on send rings only, the kernel does so after
 *	some microseconds: the user should ring the doorbell before it waits,
 *	for example when a completion ring is empty. On completion rings
 *	XIW_RING_BUSY_POLL means that a queue pair of this ring has work that
 *	the user should run by XIW_METHOD_CQ_BUSY_POLL. The kernel sets it only
 *	if @polls of a ring of that queue pair advances
 * @polls: completion rings only: number of polls that found the ring empty,
 *	free running. A user that does not busy-poll, or does not run the
 *	kernel's work, does not change it
 * @dropped: with XIW_CAP_SQ_DONE, shared receive rings only: consumed
 *	entries that will have no completion, free running. Stored with release
 *	by the kernel
 * @arm: XIW_ARM_*, completion rings only. The user sets bits atomically,
 *	executes a full barrier and polls once more
 * @pad0: fills the cache line
 * @pad1: fills the cache line
 * @pad2: fills the cache line
 * @pad3: fills the cache line
 *
 * One cache line per field. The first entry follows the block.
 */
struct xiw_ring_ctrl {
	__u32 prod;
	__u32 pad0[15];
	__u32 cons;
	__u32 polls;
	__u32 pad1[14];
	__u32 flags;
	__u32 dropped;
	__u32 pad2[14];
	__u32 arm;
	__u32 pad3[15];
};

/**
 * struct xiw_sge - one element of a gather or scatter list
 * @addr: address in the region named by @lkey
 * @length: bytes
 * @lkey: local key
 */
struct xiw_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/* Bits of xiw_sqe.flags. */
#define XIW_SQE_SIGNALED	(1U << 0)
#define XIW_SQE_FENCE		(1U << 1)
#define XIW_SQE_SOLICITED	(1U << 2)
#define XIW_SQE_INLINE		(1U << 3)

/**
 * struct xiw_bind - parameters of a bind of a memory window
 * @addr: first byte of the window, also its address for the peer
 * @length: bytes; 0 unbinds a type 1 window
 * @access: enum ib_uverbs_access_flags: rights of the peer
 * @lkey: names the region
 */
struct xiw_bind {
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 access;
	__u32 lkey;
};

/**
 * struct xiw_sqe - head of a send queue entry, 64 bytes
 * @wr_id: returned in the completion
 * @opcode: enum ib_uverbs_wr_opcode
 * @flags: XIW_SQE_*
 * @num_sge: elements that follow; 0 with XIW_SQE_INLINE
 * @reserved: zero
 * @inline_len: bytes of payload that follow, with XIW_SQE_INLINE; else 0
 * @rkey: remote key of the target; the key to invalidate for local
 *	invalidate; the new key of the window for bind
 * @imm_data: immediate data in network order
 * @inv_rkey: key to invalidate at the peer
 * @ext: @imm_data or @inv_rkey
 * @raddr: address at the target
 * @compare_add: compare or add operand of an atomic
 * @swap: swap operand of an atomic
 * @bind: parameters of a bind, in place of @raddr, @compare_add and @swap
 * @reserved2: zero
 *
 * Followed by @num_sge struct xiw_sge or by @inline_len bytes.
 */
struct xiw_sqe {
	__aligned_u64 wr_id;
	__u8 opcode;
	__u8 flags;
	__u8 num_sge;
	__u8 reserved;
	__u32 inline_len;
	__u32 rkey;
	union {
		__be32 imm_data;
		__u32 inv_rkey;
		__u32 ext;
	};
	union {
		struct {
			__aligned_u64 raddr;
			__aligned_u64 compare_add;
			__aligned_u64 swap;
		};
		struct xiw_bind bind;
	};
	__aligned_u64 reserved2[2];
};

/**
 * struct xiw_rqe - head of a receive queue entry, 16 bytes
 * @wr_id: returned in the completion
 * @num_sge: struct xiw_sge that follow
 * @reserved: zero
 */
struct xiw_rqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
};

/* Bits of xiw_cqe.flags. */
#define XIW_CQE_WITH_IMM	(1U << 0)
#define XIW_CQE_WITH_INV	(1U << 1)
#define XIW_CQE_SOLICITED	(1U << 2)

/* xiw_cqe.opcode of receives; for sends it is enum ib_uverbs_wc_opcode. */
#define XIW_WC_RECV		128
#define XIW_WC_RECV_WITH_IMM	129

/**
 * struct xiw_cqe - completion queue entry, 64 bytes
 * @wr_id: of the work request
 * @timestamp: CLOCK_MONOTONIC in nanoseconds, if enabled for the CQ, else 0
 * @qp_id: QP number
 * @byte_len: bytes received, read, or returned by an atomic
 * @opcode: enum ib_uverbs_wc_opcode or XIW_WC_*
 * @status: values of enum ibv_wc_status
 * @flags: XIW_CQE_*
 * @vendor_err: Terminate layer, type and code (0xLTCC) behind an error, or 0
 * @imm_data: with XIW_CQE_WITH_IMM, network order
 * @inv_rkey: with XIW_CQE_WITH_INV
 * @ext: @imm_data or @inv_rkey
 * @srq_id: number of the SRQ that the receive came from, or 0
 * @sq_done: of sends, with XIW_CAP_SQ_DONE: entries of the send ring that
 *	are complete, this one included, free running
 * @reserved: zero
 * @reserved2: zero
 */
struct xiw_cqe {
	__aligned_u64 wr_id;
	__aligned_u64 timestamp;
	__u32 qp_id;
	__u32 byte_len;
	__u8 opcode;
	__u8 status;
	__u16 flags;
	__u32 vendor_err;
	union {
		__be32 imm_data;
		__u32 inv_rkey;
		__u32 ext;
	};
	__u32 srq_id;
	__u32 sq_done;
	__u32 reserved;
	__aligned_u64 reserved2[2];
};

#endif /* _XIW_ABI_H */
