/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Responder of an out-of-band connection.
 */
#ifndef _XIW_RDV_PASSIVE_H
#define _XIW_RDV_PASSIVE_H

#include "ep_state.h"

struct xiw_ep;

enum xiw_ep_state xiw_rdv_passive_request(struct xiw_ep *ep);
enum xiw_ep_state xiw_rdv_passive_judge(struct xiw_ep *ep);
enum xiw_ep_state xiw_rdv_passive_late(struct xiw_ep *ep);
enum xiw_ep_state xiw_rdv_passive_stands(struct xiw_ep *ep);

#endif /* _XIW_RDV_PASSIVE_H */
