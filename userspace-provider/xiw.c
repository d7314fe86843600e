// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Match and open xiw devices, and the table of the verbs of the provider.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <infiniband/driver.h>

#include "compat.h"
#include "xiw.h"

static void xiw_free_context(struct ibv_context *context)
{
	struct xiw_context *ctx = to_xctx(context);

	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static const struct verbs_context_ops xiw_context_ops = {
	.advise_mr		= xiw_advise_mr,
	.alloc_mw		= xiw_alloc_mw,
	.alloc_parent_domain	= xiw_alloc_parent_domain,
	.alloc_pd		= xiw_alloc_pd,
	.alloc_td		= xiw_alloc_td,
	.bind_mw		= xiw_bind_mw,
	.create_cq		= xiw_create_cq,
	.create_cq_ex		= xiw_create_cq_ex,
	.create_qp		= xiw_create_qp,
	.create_qp_ex		= xiw_create_qp_ex,
	.create_srq		= xiw_create_srq,
	.dealloc_mw		= xiw_dealloc_mw,
	.dealloc_pd		= xiw_dealloc_pd,
	.dealloc_td		= xiw_dealloc_td,
	.dereg_mr		= xiw_dereg_mr,
	.destroy_cq		= xiw_destroy_cq,
	.destroy_qp		= xiw_destroy_qp,
	.destroy_srq		= xiw_destroy_srq,
	.free_context		= xiw_free_context,
	.import_mr		= xiw_import_mr,
	.import_pd		= xiw_import_pd,
	.modify_cq		= xiw_modify_cq,
	.modify_qp		= xiw_modify_qp,
	.modify_srq		= xiw_modify_srq,
	.poll_cq		= xiw_poll_cq,
	.post_recv		= xiw_post_recv,
	.post_send		= xiw_post_send,
	.post_srq_recv		= xiw_post_srq_recv,
	.query_device_ex	= xiw_query_device,
	.query_port		= xiw_query_port,
	XIW_OPS_QUERY_PORT_SPEED
	.query_qp		= xiw_query_qp,
	.query_rt_values	= xiw_query_rt_values,
	.query_srq		= xiw_query_srq,
	.reg_dmabuf_mr		= xiw_reg_dmabuf_mr,
	.reg_mr			= xiw_reg_mr,
	XIW_OPS_REG_MR_EX
	.req_notify_cq		= xiw_req_notify_cq,
	.rereg_mr		= xiw_rereg_mr,
	.resize_cq		= xiw_resize_cq,
	.unimport_mr		= xiw_unimport_mr,
	.unimport_pd		= xiw_unimport_pd,
};

/* Completes a context, or frees it and sets errno if @ret is not 0. */
static struct verbs_context *context_finish(struct xiw_context *ctx, int ret,
					    uint32_t caps)
{
	if (ret) {
		verbs_uninit_context(&ctx->vctx);
		free(ctx);
		errno = ret;
		return NULL;
	}
	ctx->caps = caps;
	verbs_set_ops(&ctx->vctx, &xiw_context_ops);
	return &ctx->vctx;
}

static struct verbs_context *xiw_alloc_context(struct ibv_device *device,
					       int cmd_fd, void *private_data)
{
	struct xiw_cmd_alloc_ctx_resp resp = {};
	struct xiw_cmd_alloc_ctx cmd = {};
	struct xiw_context *ctx;
	int ret;

	ctx = verbs_init_and_alloc_context(device, cmd_fd, ctx, vctx,
					   XIW_RDMA_DRIVER_ID);
	if (!ctx)
		return NULL;

	ret = xiw_cmd_get_context(&ctx->vctx, &cmd, &resp);
	return context_finish(ctx, ret, resp.caps);
}

/* Not reported for an imported context; every kernel with imports has them. */
#define XIW_CAPS_IMPORTED	(XIW_CAP_ATOMIC | XIW_CAP_IMM |                \
				 XIW_CAP_SEND_IMM | XIW_CAP_SQ_DONE)

static struct verbs_context *xiw_import_context(struct ibv_device *device,
						int cmd_fd)
{
	struct xiw_context *ctx;
	int ret;

	ctx = verbs_init_and_alloc_context(device, cmd_fd, ctx, vctx,
					   XIW_RDMA_DRIVER_ID);
	if (!ctx)
		return NULL;

	ret = ibv_cmd_query_context(&ctx->vctx.context, NULL);
	return context_finish(ctx, ret, XIW_CAPS_IMPORTED);
}

static struct verbs_device *xiw_alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	/* Zeroed; errno is set on failure. */
	return calloc(1, sizeof(struct verbs_device));
}

static void xiw_uninit_device(struct verbs_device *vdev)
{
	free(vdev);
}

/*
 * Match by driver number: the administrator chooses the name of a device. The
 * number is private because none is assigned (xiw-abi.h).
 */
static const struct verbs_match_ent xiw_match_table[] = {
	VERBS_DRIVER_ID(XIW_RDMA_DRIVER_ID),
	{},
};

/* A sysfs attribute that only devices of xiw have */
#define XIW_SYSFS_ATTR	"mpa/rtr_types"

/*
 * libibverbs reads the driver number by netlink, which a process may not be
 * allowed to use. Without the number, look for xiw's attribute in sysfs.
 */
static bool xiw_match_device(struct verbs_sysfs_dev *sysfs_dev)
{
	char path[sizeof(sysfs_dev->ibdev_path) + sizeof("/" XIW_SYSFS_ATTR)];

	if (sysfs_dev->match)
		return true;
	if (sysfs_dev->driver_id != RDMA_DRIVER_UNKNOWN)
		return false;
	snprintf(path, sizeof(path), "%s/" XIW_SYSFS_ATTR,
		 sysfs_dev->ibdev_path);
	return !access(path, F_OK);
}

static const struct verbs_device_ops xiw_device_ops = {
	.name			= "xiw",
	.match_min_abi_version	= XIW_ABI_VERSION,
	.match_max_abi_version	= XIW_ABI_VERSION,
	.match_device		= xiw_match_device,
	.match_table		= xiw_match_table,
	.alloc_device		= xiw_alloc_device,
	.uninit_device		= xiw_uninit_device,
	.alloc_context		= xiw_alloc_context,
	.import_context		= xiw_import_context,
};

PROVIDER_DRIVER(xiw, xiw_device_ops);
