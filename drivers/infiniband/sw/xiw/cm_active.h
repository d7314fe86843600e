/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Initiator; see cm_active.c.
 */
#ifndef _XIW_CM_ACTIVE_H
#define _XIW_CM_ACTIVE_H

#include "ep_state.h"

struct iw_cm_conn_param;
struct iw_cm_id;
struct xiw_ep;

enum xiw_ep_state xiw_active_connecting(struct xiw_ep *ep);
enum xiw_ep_state xiw_active_reply(struct xiw_ep *ep);
enum xiw_ep_state xiw_active_timeout(struct xiw_ep *ep);
enum xiw_ep_state xiw_active_abort(struct xiw_ep *ep);

int xiw_cm_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);

#endif /* _XIW_CM_ACTIVE_H */
