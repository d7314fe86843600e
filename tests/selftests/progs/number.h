/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Functions that connect queue pairs by number. The program exchanges the
 * numbers.
 */
#ifndef _NUMBER_H
#define _NUMBER_H

#include "xt.h"

/**
 * struct number_path - attributes that connect a queue pair by number
 * @index: of its own GID
 * @dgid: the peer's GID
 * @dest: the peer's number
 * @rq_psn: the peer's PSN
 * @sq_psn: its own
 * @rd_atomic: reads outstanding, in either direction
 * @min_rnr_timer: code of how long a peer may wait for a receive
 * @timeout: code of how long it waits for the peer
 */
struct number_path {
	int index;
	union ibv_gid dgid;
	__u32 dest;
	__u32 rq_psn;
	__u32 sq_psn;
	__u8 rd_atomic;
	__u8 min_rnr_timer;
	__u8 timeout;
};

/* Each changes the state of @qp, and returns the result of ibv_modify_qp(). */
int number_init(struct ibv_qp *qp);
int number_rtr(struct ibv_qp *qp, const struct number_path *path);
int number_rts(struct ibv_qp *qp, const struct number_path *path);

/* Sets @gid to the GID of the side's address; returns its index. */
int number_gid(struct ibv_context *ctx, const struct xt_side *side,
	       union ibv_gid *gid);

#endif /* _NUMBER_H */
