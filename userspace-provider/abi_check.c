// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Part of the standalone build only. The private headers of rdma-core come
 * from its source, the public ones from the installed library, and a release
 * may enlarge a public structure without changing the number of the private
 * interface. This file is compiled with the provider's include path;
 * public_sizes.h was measured with the installed headers alone. If they
 * differ, the source's verbs.h was included and the provider would access the
 * wrong fields.
 */
#include <stddef.h>

#include <infiniband/driver.h>

#include "public_sizes.h"

#define CHECK_SIZE(_struct)                                                    \
	static_assert(sizeof(struct _struct) == PUBLIC_##_struct,              \
		      "struct " #_struct " is not the installed one")

CHECK_SIZE(ibv_qp_ex);
CHECK_SIZE(ibv_cq_ex);
CHECK_SIZE(ibv_qp);
CHECK_SIZE(ibv_srq);
CHECK_SIZE(ibv_wc);
CHECK_SIZE(ibv_send_wr);
CHECK_SIZE(ibv_device_attr_ex);
CHECK_SIZE(ibv_port_attr);
CHECK_SIZE(ibv_context);
CHECK_SIZE(verbs_context);

static_assert(offsetof(struct verbs_qp, comp_mask) == PUBLIC_ibv_qp_ex,
	      "struct verbs_qp does not follow the installed ibv_qp_ex");
