// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Part of the standalone build only: compiled without any private header,
 * never linked. The sizes of the symbols are those of the structures in the
 * installed headers; the Makefile generates public_sizes.h from
 * them.
 */
#include <infiniband/verbs.h>

#define PUBLIC_SIZE(_struct)	char _struct[sizeof(struct _struct)]

PUBLIC_SIZE(ibv_qp_ex);
PUBLIC_SIZE(ibv_cq_ex);
PUBLIC_SIZE(ibv_qp);
PUBLIC_SIZE(ibv_srq);
PUBLIC_SIZE(ibv_wc);
PUBLIC_SIZE(ibv_send_wr);
PUBLIC_SIZE(ibv_device_attr_ex);
PUBLIC_SIZE(ibv_port_attr);
PUBLIC_SIZE(ibv_context);
PUBLIC_SIZE(verbs_context);
