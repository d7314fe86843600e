/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Responder; see cm_passive.c.
 */
#ifndef _XIW_CM_PASSIVE_H
#define _XIW_CM_PASSIVE_H

#include <linux/types.h>

#include "ep_state.h"

struct iw_cm_conn_param;
struct iw_cm_id;
struct xiw_ep;

enum xiw_ep_state xiw_passive_request(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_ready(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_timeout(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_pending(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_accept(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_reject(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_retract(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_established(struct xiw_ep *ep);
void xiw_passive_teardown(struct xiw_ep *ep);

int xiw_cm_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int xiw_cm_reject(struct iw_cm_id *cm_id, const void *pdata, u8 pdata_len);

#endif /* _XIW_CM_PASSIVE_H */
