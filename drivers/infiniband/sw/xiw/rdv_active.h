/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Initiator of an out-of-band connection.
 */
#ifndef _XIW_RDV_ACTIVE_H
#define _XIW_RDV_ACTIVE_H

#include "ep_state.h"

struct xiw_ep;
struct xiw_qp;

int xiw_rdv_active_start(struct xiw_qp *qp);
void xiw_rdv_active_rts(struct xiw_ep *ep);
enum xiw_ep_state xiw_rdv_active_try(struct xiw_ep *ep);
enum xiw_ep_state xiw_rdv_active_retry(struct xiw_ep *ep);
enum xiw_ep_state xiw_rdv_active_connecting(struct xiw_ep *ep);
enum xiw_ep_state xiw_rdv_active_reply(struct xiw_ep *ep);

#endif /* _XIW_RDV_ACTIVE_H */
