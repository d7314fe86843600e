/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Differences between the versions of libibverbs' private interface. A provider
 * works with exactly one version, so they are selected at compile time.
 */
#ifndef _XIW_COMPAT_H
#define _XIW_COMPAT_H

#include <errno.h>

#include <infiniband/driver.h>

#include "xiw.h"
#include "xiw_abi.h"

/*
 * 34: up to release 56; 57: 57 and 58; 59: 59 to 63; 64 and 65: these releases.
 */
#if IBVERBS_PABI_VERSION != 34 && IBVERBS_PABI_VERSION != 57 && \
	IBVERBS_PABI_VERSION != 59 && IBVERBS_PABI_VERSION != 64 && \
	IBVERBS_PABI_VERSION != 65
#error "private ABI of this libibverbs is unknown: compare its driver.h"
#endif

static inline int xiw_cmd_get_context(struct verbs_context *vctx,
				      struct xiw_cmd_alloc_ctx *cmd,
				      struct xiw_cmd_alloc_ctx_resp *resp)
{
	return ibv_cmd_get_context(vctx, &cmd->ibv_cmd, sizeof(*cmd),
#if IBVERBS_PABI_VERSION >= 57
				   NULL,
#endif
				   &resp->ibv_resp, sizeof(*resp));
}

static inline int xiw_cmd_create_cq_ex(struct ibv_context *context,
				       const struct ibv_cq_init_attr_ex *attr,
				       struct verbs_cq *vcq,
				       struct xiw_cmd_create_cq *cmd,
				       struct xiw_cmd_create_cq_resp *resp)
{
	return ibv_cmd_create_cq_ex(context, attr,
#if IBVERBS_PABI_VERSION >= 59
				    NULL,
#endif
				    vcq, &cmd->ibv_cmd, sizeof(*cmd),
				    &resp->ibv_resp, sizeof(*resp), 0);
}

/*
 * The query of a port's speed, for speeds without a code in ibv_port_attr. Of
 * the releases with number 59 only the last two have it.
 */
#if IBVERBS_PABI_VERSION >= 64
#define XIW_OPS_QUERY_PORT_SPEED .query_port_speed = ibv_cmd_query_port_speed,
#else
#define XIW_OPS_QUERY_PORT_SPEED
#endif

/*
 * ibv_reg_mr_ex(). From number 64 on libibverbs calls the other functions if
 * the provider has none for it.
 */
#if IBVERBS_PABI_VERSION == 59
static inline struct ibv_mr *xiw_reg_mr_ex(struct ibv_pd *pd,
					   struct ibv_mr_init_attr *attr)
{
	const uint64_t buffer = IBV_REG_MR_MASK_ADDR;
	const uint64_t dmabuf = IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET |
				IBV_REG_MR_MASK_IOVA;

	if (attr->comp_mask & ~(buffer | dmabuf)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (attr->comp_mask == dmabuf)
		return xiw_reg_dmabuf_mr(pd, attr->fd_offset, attr->length,
					 attr->iova, attr->fd, attr->access);
	if ((attr->comp_mask & ~IBV_REG_MR_MASK_IOVA) == buffer)
		return xiw_reg_mr(pd, attr->addr, attr->length,
				  attr->comp_mask & IBV_REG_MR_MASK_IOVA ?
					  attr->iova :
					  (uintptr_t)attr->addr,
				  attr->access);
	errno = EINVAL;
	return NULL;
}

#define XIW_OPS_REG_MR_EX .reg_mr_ex = xiw_reg_mr_ex,
#else
#define XIW_OPS_REG_MR_EX
#endif

#endif /* _XIW_COMPAT_H */
