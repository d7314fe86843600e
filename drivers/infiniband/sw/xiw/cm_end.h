/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How connections end; see cm_end.c.
 */
#ifndef _XIW_CM_END_H
#define _XIW_CM_END_H

#include "ep_state.h"

struct xiw_ep;

enum xiw_ep_state xiw_end_close(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_abort(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_stalled(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_shutdown(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_peer_closed(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_close_timer(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_hand_over(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_linger(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_linger_sock(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_linger_timer(struct xiw_ep *ep);
void xiw_end_teardown(struct xiw_ep *ep);

#endif /* _XIW_CM_END_H */
