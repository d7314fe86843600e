/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Operations with different arguments in older kernels; the table in device.c
 * uses xiw_op_NAME for them. Older kernels pass the udata where newer ones pass
 * the attribute bundle that contains it.
 */
#ifndef _XIW_COMPAT_OPS_H
#define _XIW_COMPAT_OPS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#ifdef XIW_HAVE_CREATE_CQ_ATTRS
#define xiw_op_create_cq	xiw_create_cq
#else
int xiw_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);

static inline int xiw_op_create_cq(struct ib_cq *ibcq,
				   const struct ib_cq_init_attr *attr,
				   struct ib_udata *udata)
{
	return xiw_create_cq(ibcq, attr, udata ?
			     container_of(udata, struct uverbs_attr_bundle,
					  driver_udata) : NULL);
}
#endif

#ifdef XIW_HAVE_RESIZE_USER_CQ
#define xiw_op_resize_user_cq	xiw_resize_cq
#else
int xiw_resize_cq(struct ib_cq *ibcq, unsigned int cqe,
		  struct ib_udata *udata);

static inline int xiw_op_resize_user_cq(struct ib_cq *ibcq, int cqe,
					struct ib_udata *udata)
{
	return xiw_resize_cq(ibcq, cqe, udata);
}

#define resize_user_cq		resize_cq
/* Older kernels let kernel ULPs resize their CQs. */
#define XIW_KERNEL_RESIZES_CQ
#endif

/* In kernels without this operation a client replaces it, see iwcm_quirks.c. */
#ifdef XIW_HAVE_DISABLE_DRIVER
#define XIW_OPS_DISABLE_DRIVER	.disable_driver = xiw_disable_driver,
#else
#define XIW_OPS_DISABLE_DRIVER
#endif

/* Older kernels cannot add details of SRQs to "rdma resource show". */
#ifdef XIW_HAVE_FILL_RES_SRQ
#define XIW_OPS_FILL_RES_SRQ	.fill_res_srq_entry = xiw_fill_res_srq,
#else
#define XIW_OPS_FILL_RES_SRQ
#endif

/* Older kernels get the speed of a port from its attributes only. */
#ifdef XIW_HAVE_QUERY_PORT_SPEED
#define XIW_OPS_QUERY_PORT_SPEED \
	.query_port_speed = xiw_query_port_speed,
#else
#define XIW_OPS_QUERY_PORT_SPEED
#endif

/*
 * Before 6.6, rdma_cm finds the device of a netdev by a GID that contains the
 * hardware address. No header shows this, so the version decides.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
int xiw_query_gid(struct ib_device *ibdev, u32 port_num, int index,
		  union ib_gid *gid);

static inline int xiw_op_query_gid(struct ib_device *ibdev, u32 port_num,
				   int index, union ib_gid *gid)
{
	const u8 *eui = (const u8 *)&ibdev->node_guid;
	int ret = xiw_query_gid(ibdev, port_num, index, gid);

	if (ret || index)
		return ret;
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, eui, 3);
	memcpy(gid->raw + 3, eui + 5, 3);
	gid->raw[0] ^= 2;
	return 0;
}
#else
#define xiw_op_query_gid	xiw_query_gid
#endif

/* Older kernels have no event for a change of the speed. */
static inline void xiw_dispatch_speed_change(struct ib_device *ibdev)
{
#ifdef XIW_HAVE_SPEED_CHANGE_EVENT
	struct ib_event event = {
		.device = ibdev,
		.event = IB_EVENT_DEVICE_SPEED_CHANGE,
	};

	ib_dispatch_event(&event);
#endif
}

/* In older kernels the core does not report port events. */
#ifdef XIW_HAVE_REPORT_PORT_EVENT
#define XIW_OPS_REPORT_PORT_EVENT \
	.report_port_event = xiw_report_port_event,
#else
#define XIW_OPS_REPORT_PORT_EVENT
#endif

/* Older kernels do not report that the driver checks all data for it. */
#ifdef XIW_HAVE_ROBUST_UDATA
#define XIW_OPS_ROBUST_UDATA \
	.uverbs_robust_udata = 1,
#else
#define XIW_OPS_ROBUST_UDATA
#endif

/* Some kernels pass the attribute bundle, but no DMA hints. */
#ifdef XIW_HAVE_REG_MR_DMAH
#define xiw_op_reg_user_mr		xiw_reg_user_mr
#define xiw_op_reg_user_mr_dmabuf	xiw_reg_user_mr_dmabuf
#else
struct ib_dmah;

struct ib_mr *xiw_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
			      u64 iova, int access, struct ib_dmah *dmah,
			      struct ib_udata *udata);
struct ib_mr *xiw_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
				     u64 iova, int fd, int access,
				     struct ib_dmah *dmah,
				     struct uverbs_attr_bundle *attrs);

static inline struct ib_mr *xiw_op_reg_user_mr(struct ib_pd *pd, u64 start,
					       u64 length, u64 iova,
					       int access,
					       struct ib_udata *udata)
{
	return xiw_reg_user_mr(pd, start, length, iova, access, NULL, udata);
}

#ifdef XIW_HAVE_REG_DMABUF_ATTRS
static inline struct ib_mr *
xiw_op_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
			  int fd, int access, struct uverbs_attr_bundle *attrs)
{
	return xiw_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access,
				      NULL, attrs);
}
#else
static inline struct ib_mr *
xiw_op_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
			  int fd, int access, struct ib_udata *udata)
{
	return xiw_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access,
				      NULL,
				      container_of(udata,
						   struct uverbs_attr_bundle,
						   driver_udata));
}
#endif
#endif /* !XIW_HAVE_REG_MR_DMAH */

#endif /* _XIW_COMPAT_OPS_H */
