// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Everything but the queues: device and port attributes, the clock,
 * protection, thread and parent domains, memory regions and windows.
 *
 * Functions that return a pointer set errno; the others return a positive
 * errno.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <infiniband/driver.h>

#include "xiw.h"

int xiw_query_device(struct ibv_context *context,
		     const struct ibv_query_device_ex_input *input,
		     struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t fw_ver;
	int ret;

	ret = ibv_cmd_query_device_any(context, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;

	fw_ver = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(fw_ver >> 32) & 0xffff,
		 (unsigned int)(fw_ver >> 16) & 0xffff,
		 (unsigned int)fw_ver & 0xffff);
	return 0;
}

int xiw_query_port(struct ibv_context *context, uint8_t port,
		   struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(context, port, attr, &cmd, sizeof(cmd));
}

/*
 * The clock of the completion timestamps. The interface expects a count of
 * ticks, here nanoseconds, in tv_nsec.
 */
int xiw_query_rt_values(struct ibv_context *context,
			struct ibv_values_ex *values)
{
	struct timespec now;

	if (!check_comp_mask(values->comp_mask, IBV_VALUES_MASK_RAW_CLOCK))
		return EINVAL;

	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) {
		if (clock_gettime(CLOCK_MONOTONIC, &now))
			return errno;
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec =
			now.tv_sec * 1000000000LL + now.tv_nsec;
	}
	return 0;
}

struct ibv_td *xiw_alloc_td(struct ibv_context *context,
			    struct ibv_td_init_attr *attr)
{
	struct xiw_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->td.context = context;
	atomic_init(&td->users, 0);
	return &td->td;
}

int xiw_dealloc_td(struct ibv_td *ibtd)
{
	struct xiw_td *td = to_xtd(ibtd);

	if (atomic_load(&td->users))
		return EBUSY;
	free(td);
	return 0;
}

static struct xiw_pd *pd_new(void)
{
	struct xiw_pd *pd;

	pd = calloc(1, sizeof(*pd));
	if (pd)
		atomic_init(&pd->users, 1);
	return pd;
}

static void pd_put(struct xiw_pd *pd)
{
	if (atomic_fetch_sub(&pd->users, 1) != 1)
		return;
	if (pd->td)
		atomic_fetch_sub(&pd->td->users, 1);
	if (pd->inner)
		pd_put(pd->inner);
	free(pd);
}

/* Count a new queue. @pd may be NULL. */
void xiw_pd_hold(struct ibv_pd *pd)
{
	if (pd)
		atomic_fetch_add(&to_xpd(pd)->users, 1);
}

/* Drop the count of xiw_pd_hold() for a destroyed queue. */
void xiw_pd_release(struct ibv_pd *pd)
{
	if (pd)
		pd_put(to_xpd(pd));
}

struct ibv_pd *xiw_alloc_pd(struct ibv_context *context)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ibv_alloc_pd cmd;
	struct xiw_pd *pd;
	int ret;

	pd = pd_new();
	if (!pd)
		return NULL;

	ret = ibv_cmd_alloc_pd(context, &pd->pd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(pd);
		errno = ret;
		return NULL;
	}
	return &pd->pd;
}

/* The PD of another context on the same file; the kernel checks each use. */
struct ibv_pd *xiw_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	struct xiw_pd *pd;

	pd = pd_new();
	if (!pd)
		return NULL;
	pd->pd.context = context;
	pd->pd.handle = pd_handle;
	return &pd->pd;
}

void xiw_unimport_pd(struct ibv_pd *pd)
{
	pd_put(to_xpd(pd));
}

/* A parent domain exists in this process only, not in the kernel. */
struct ibv_pd *xiw_alloc_parent_domain(struct ibv_context *context,
				       struct ibv_parent_domain_init_attr *attr)
{
	struct xiw_pd *parent;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	/*
	 * The memory of a queue comes from the kernel, so an allocator of the
	 * application would not be used.
	 */
	if (!check_comp_mask(attr->comp_mask,
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (to_xpd(attr->pd)->inner || attr->pd->context != context) {
		errno = EINVAL;
		return NULL;
	}

	parent = pd_new();
	if (!parent)
		return NULL;
	ibv_initialize_parent_domain(&parent->pd, attr->pd);
	parent->inner = to_xpd(attr->pd);
	atomic_fetch_add(&parent->inner->users, 1);
	if (attr->td) {
		parent->td = to_xtd(attr->td);
		atomic_fetch_add(&parent->td->users, 1);
	}
	return &parent->pd;
}

int xiw_dealloc_pd(struct ibv_pd *ibpd)
{
	struct xiw_pd *pd = to_xpd(ibpd);
	int ret;

	if (atomic_load(&pd->users) > 1)
		return EBUSY;
	/* The kernel has no object for a parent domain. */
	ret = pd->inner ? 0 : ibv_cmd_dealloc_pd(ibpd);
	if (ret)
		return ret;
	pd_put(pd);
	return 0;
}

struct ibv_mr *xiw_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			  uint64_t hca_va, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct verbs_mr *vmr;
	struct ibv_reg_mr cmd;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	ret = ibv_cmd_reg_mr(pd, addr, length, hca_va, access, vmr, &cmd,
			     sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	return &vmr->ibv_mr;
}

struct ibv_mr *xiw_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				 size_t length, uint64_t iova, int fd,
				 int access)
{
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	/*
	 * Older releases, 44 among them, have the same private ABI number but
	 * lack the last parameter, which they ignore.
	 */
	ret = ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr,
				    NULL);
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	return &vmr->ibv_mr;
}

int xiw_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		 void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	return ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
				access, pd, &cmd, sizeof(cmd), &resp,
				sizeof(resp));
}

int xiw_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		  uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge)
{
	return ibv_cmd_advise_mr(pd, advice, flags, sg_list, num_sge);
}

int xiw_dereg_mr(struct verbs_mr *vmr)
{
	int ret;

	ret = ibv_cmd_dereg_mr(vmr);
	if (ret)
		return ret;
	free(vmr);
	return 0;
}

struct ibv_mr *xiw_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	ret = ibv_cmd_query_mr(pd, vmr, mr_handle);
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	return &vmr->ibv_mr;
}

void xiw_unimport_mr(struct ibv_mr *mr)
{
	free(verbs_get_mr(mr));
}

struct ibv_mw *xiw_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct ibv_mw *mw;
	int ret;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;

	ret = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(mw);
		errno = ret;
		return NULL;
	}
	return mw;
}

int xiw_dealloc_mw(struct ibv_mw *mw)
{
	int ret;

	ret = ibv_cmd_dealloc_mw(mw);
	if (ret)
		return ret;
	free(mw);
	return 0;
}
