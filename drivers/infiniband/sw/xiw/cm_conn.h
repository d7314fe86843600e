/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the connection manager's files have in common.
 */
#ifndef _XIW_CM_CONN_H
#define _XIW_CM_CONN_H

#include <linux/types.h>
#include <rdma/iw_cm.h>

#include "llp.h"

struct xiw_ep;
struct xiw_sock;

void xiw_conn_own_sock(struct xiw_ep *ep, struct xiw_sock *xs);
enum xiw_llp_status xiw_conn_status(const struct xiw_ep *ep);
int xiw_conn_bound_if(const struct xiw_ep *ep,
		      const struct sockaddr_storage *addr);
int xiw_conn_collect(struct xiw_ep *ep, bool reply);
int xiw_conn_report(struct xiw_ep *ep, enum iw_cm_event_type type, int status,
		    const void *pdata, u8 pdata_len);
void xiw_conn_set_depths(const struct xiw_ep *ep, struct iw_cm_event *event,
			 bool valid, u16 ird, u16 ord);
int xiw_conn_attach_qp(struct xiw_ep *ep, const struct iw_cm_id *cm_id,
		       u32 qpn);
void xiw_conn_detach_qp(struct xiw_ep *ep);
void xiw_conn_drop_cm_id(struct xiw_ep *ep);

#endif /* _XIW_CM_CONN_H */
