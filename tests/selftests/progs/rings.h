/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The queues that a process shares with the kernel, and the methods of the
 * device, for programs that misuse them.
 */
#ifndef _RINGS_H
#define _RINGS_H

#include "xt.h"

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/xiw-abi.h>

#define XT_MAGIC	0x5ca1ab1e0badcafeULL
#define XT_MAX_MAPS	16

/**
 * struct xt_maps - the mapped queues of a device
 * @map: first byte of each
 * @len: bytes of each
 * @n: number of them
 */
struct xt_maps {
	__u8 *map[XT_MAX_MAPS];
	size_t len[XT_MAX_MAPS];
	unsigned int n;
};

/**
 * struct xt_sq - the mapped send queue
 * @ctrl: its control block
 * @entries: its first entry
 * @stride: bytes of an entry
 * @num: entries
 */
struct xt_sq {
	struct xiw_ring_ctrl *ctrl;
	__u8 *entries;
	size_t stride;
	unsigned int num;
};

void xt_find_maps(struct xt_maps *m, struct xt_end *e);
__u8 *xt_find_word(__u8 *map, size_t len, __u64 word);
struct xt_sq xt_find_sq(struct xt_maps *m, struct xt_end *e);
struct xiw_sqe *xt_sqe(const struct xt_sq *sq, __u32 index);

/**
 * struct xt_call - a call of a method, with room for one attribute too many
 * @hdr: the method
 * @attrs: its attributes
 */
struct xt_call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[2];
};

void xt_call_init(struct xt_call *call, __u16 object, __u16 method,
		  __u64 handle);
int xt_send_call(struct ibv_context *ctx, const struct xt_call *call);
int xt_method(struct ibv_context *ctx, __u16 object, __u16 method,
	      __u64 handle);

#endif /* _RINGS_H */
