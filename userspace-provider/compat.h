/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Differences between the versions of libibverbs' private interface. A provider
 * works with exactly one version, so they are selected at compile time.
 */
#ifndef _XIW_COMPAT_H
#define _XIW_COMPAT_H

#include <infiniband/driver.h>

#include "xiw_abi.h"

#if IBVERBS_PABI_VERSION != 34 && IBVERBS_PABI_VERSION != 65
#error "private ABI of this libibverbs is unknown: compare its driver.h"
#endif

static inline int xiw_cmd_get_context(struct verbs_context *vctx,
				      struct xiw_cmd_alloc_ctx *cmd,
				      struct xiw_cmd_alloc_ctx_resp *resp)
{
	return ibv_cmd_get_context(vctx, &cmd->ibv_cmd, sizeof(*cmd),
#if IBVERBS_PABI_VERSION >= 65
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
#if IBVERBS_PABI_VERSION >= 65
				    NULL,
#endif
				    vcq, &cmd->ibv_cmd, sizeof(*cmd),
				    &resp->ibv_resp, sizeof(*resp), 0);
}

/* The query of a port's speed, for speeds without a code in ibv_port_attr. */
#if IBVERBS_PABI_VERSION >= 65
#define XIW_OPS_QUERY_PORT_SPEED .query_port_speed = ibv_cmd_query_port_speed,
#else
#define XIW_OPS_QUERY_PORT_SPEED
#endif

#endif /* _XIW_COMPAT_H */
