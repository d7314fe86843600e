// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "number.h"

#include <string.h>

#define GIDS	16

int number_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = XT_REMOTE | IBV_ACCESS_REMOTE_ATOMIC,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			     IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int number_rtr(struct ibv_qp *qp, const struct number_path *path)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = path->dest, .rq_psn = path->rq_psn,
		.max_dest_rd_atomic = path->rd_atomic,
		.min_rnr_timer = path->min_rnr_timer,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = path->dgid, .hop_limit = 255,
				 .sgid_index = path->index },
		},
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int number_rts(struct ibv_qp *qp, const struct number_path *path)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = path->sq_psn,
		.timeout = path->timeout, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = path->rd_atomic,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

int number_gid(struct ibv_context *ctx, const struct xt_side *side,
	       union ibv_gid *gid)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&side->sa;
	struct sockaddr_in *sin = (struct sockaddr_in *)&side->sa;
	union ibv_gid want = { .raw = { [10] = 0xff, [11] = 0xff } };
	int i;

	if (side->sa.ss_family == AF_INET6)
		memcpy(want.raw, &sin6->sin6_addr, sizeof(want));
	else
		memcpy(want.raw + 12, &sin->sin_addr, 4);
	for (i = 1; i < GIDS; i++) {
		if (!ibv_query_gid(ctx, 1, i, gid) &&
		    !memcmp(gid, &want, sizeof(want)))
			return i;
	}
	XT_CHECK(false, "no GID");
}
