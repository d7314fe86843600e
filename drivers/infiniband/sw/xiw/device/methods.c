// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Methods of the user ABI that only this driver has: doorbells, and running
 * busy-poll work. Each has one attribute, the handle of the object, which the
 * core looks up among those of the calling file; it cannot be destroyed during
 * the call. Without other attributes the core allocates and copies nothing.
 */
#include "device.h"

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/xiw-abi.h>

#include "verbs/verbs.h"

#define UVERBS_MODULE_NAME	xiw
#include <rdma/uverbs_named_ioctl.h>

static int
UVERBS_HANDLER(XIW_METHOD_QP_SEND_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	xiw_qp_send_doorbell(uverbs_attr_get_obj(attrs, XIW_ATTR_HANDLE));
	return 0;
}

static int
UVERBS_HANDLER(XIW_METHOD_QP_RECV_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	return xiw_qp_recv_doorbell(uverbs_attr_get_obj(attrs,
							XIW_ATTR_HANDLE));
}

static int
UVERBS_HANDLER(XIW_METHOD_SRQ_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	xiw_srq_doorbell(uverbs_attr_get_obj(attrs, XIW_ATTR_HANDLE));
	return 0;
}

static int
UVERBS_HANDLER(XIW_METHOD_CQ_BUSY_POLL)(struct uverbs_attr_bundle *attrs)
{
	xiw_cq_busy_poll(uverbs_attr_get_obj(attrs, XIW_ATTR_HANDLE));
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(XIW_METHOD_QP_SEND_DOORBELL,
			    UVERBS_ATTR_IDR(XIW_ATTR_HANDLE,
					    UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ,
					    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(XIW_METHOD_QP_RECV_DOORBELL,
			    UVERBS_ATTR_IDR(XIW_ATTR_HANDLE,
					    UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ,
					    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(XIW_METHOD_SRQ_DOORBELL,
			    UVERBS_ATTR_IDR(XIW_ATTR_HANDLE,
					    UVERBS_OBJECT_SRQ,
					    UVERBS_ACCESS_READ,
					    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(XIW_METHOD_CQ_BUSY_POLL,
			    UVERBS_ATTR_IDR(XIW_ATTR_HANDLE,
					    UVERBS_OBJECT_CQ,
					    UVERBS_ACCESS_READ,
					    UA_MANDATORY));

ADD_UVERBS_METHODS(methods_qp, UVERBS_OBJECT_QP,
		   &UVERBS_METHOD(XIW_METHOD_QP_SEND_DOORBELL),
		   &UVERBS_METHOD(XIW_METHOD_QP_RECV_DOORBELL));

ADD_UVERBS_METHODS(methods_srq, UVERBS_OBJECT_SRQ,
		   &UVERBS_METHOD(XIW_METHOD_SRQ_DOORBELL));

ADD_UVERBS_METHODS(methods_cq, UVERBS_OBJECT_CQ,
		   &UVERBS_METHOD(XIW_METHOD_CQ_BUSY_POLL));

const struct uapi_definition xiw_uapi_methods[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &methods_qp),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_SRQ, &methods_srq),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_CQ, &methods_cq),
	{},
};
