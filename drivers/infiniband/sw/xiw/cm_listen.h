/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Listeners; see cm_listen.c.
 */
#ifndef _XIW_CM_LISTEN_H
#define _XIW_CM_LISTEN_H

#include <linux/socket.h>
#include <linux/types.h>

#include "ep_state.h"

struct iw_cm_event;
struct iw_cm_id;
struct net;
struct xiw_ep;

enum xiw_ep_state xiw_listen_children(struct xiw_ep *ep);
enum xiw_ep_state xiw_listen_kill(struct xiw_ep *ep);
bool xiw_listen_leave(struct xiw_ep *ep);
int xiw_listen_submit(struct xiw_ep *ep, struct iw_cm_event *event);
bool xiw_listen_wait(struct xiw_ep *ep, u32 max);
void xiw_listen_wake(struct xiw_ep *ep, u32 qpn);
void xiw_listen_teardown(struct xiw_ep *ep);
void xiw_listen_init(struct xiw_ep *ep);
int xiw_listen_start(struct xiw_ep *ep, struct net *net,
		     const struct sockaddr_storage *addr, bool afonly);

int xiw_cm_create_listen(struct iw_cm_id *cm_id, int backlog);
int xiw_cm_destroy_listen(struct iw_cm_id *cm_id);

#endif /* _XIW_CM_LISTEN_H */
