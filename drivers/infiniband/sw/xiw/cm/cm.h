/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The connection manager: MPA startup of both sides, listeners, the end of
 * connections, and iw_cm as a user of it. The object is the endpoint, qp/ep.h;
 * proto/epstate.c has the table of its states and events, and each user has a
 * function for each action, struct xiw_cm_user.
 *
 * Uses the endpoint and its queue pair, sockets, and the start of a stream.
 *
 * Locks: ep.mutex, a listener's outside of its children's; inside of these
 * listen.lock and dev.ep_lock, which protect lists of endpoints.
 *
 * Lifetimes: see struct xiw_ep. Everything that an endpoint has is released by
 * xiw_cm_teardown(), before it is dead.
 *
 * Unless noted otherwise the endpoint is locked, and functions sleep, but
 * neither for a peer nor for a ULP. Those that return enum xiw_ep_state carry
 * out an action (xiw_ep_act), and return the next state.
 */
#ifndef _XIW_CM_H
#define _XIW_CM_H

#include <linux/socket.h>
#include <linux/types.h>

#include "llp/llp.h"
#include "proto/epstate.h"
#include "proto/nego.h"

struct iw_cm_conn_param;
struct iw_cm_event;
struct iw_cm_id;
struct net;
struct xiw_dev;
struct xiw_ep;
struct xiw_sock;

/* cm.c */
/* cm.c */
int xiw_cm_device_init(struct xiw_dev *dev);
void xiw_cm_device_open(struct xiw_dev *dev);
void xiw_cm_device_kill(struct xiw_dev *dev);
void xiw_cm_device_exit(struct xiw_dev *dev);
enum xiw_llp_status xiw_conn_status(const struct xiw_ep *ep);
int xiw_conn_bound_if(const struct xiw_ep *ep,
		      const struct sockaddr_storage *addr);
int xiw_conn_listener_if(const struct xiw_dev *dev,
			 const struct sockaddr_storage *addr);
int xiw_conn_vrf(const struct xiw_dev *dev);
bool xiw_conn_may_use(const struct xiw_dev *dev, const struct net *net);
struct net *xiw_conn_get_net(const struct xiw_dev *dev);
void xiw_conn_detach_qp(struct xiw_ep *ep);
void xiw_conn_drop_sock(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_close(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_abort(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_stalled(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_die(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_shutdown(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_close_timer(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_hand_over(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_startup(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_linger(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_linger_sock(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_linger_timer(struct xiw_ep *ep);
void xiw_end_teardown(struct xiw_ep *ep);

/* cm_listen.c */
enum xiw_ep_state xiw_listen_children(struct xiw_ep *ep);
enum xiw_ep_state xiw_listen_reopen(struct xiw_ep *ep);
enum xiw_ep_state xiw_listen_kill(struct xiw_ep *ep);
void xiw_listen_progress(struct xiw_ep *ep);
void xiw_listen_has_room(struct xiw_ep *ep);
bool xiw_listen_leave(struct xiw_ep *ep);
int xiw_listen_submit(struct xiw_ep *ep, struct iw_cm_event *event);
bool xiw_listen_wait(struct xiw_ep *ep, u32 max);
void xiw_listen_wake(struct xiw_dev *dev, __be16 port, u32 qpn);
void xiw_cm_teardown(struct xiw_ep *ep);
int xiw_listen_start(struct xiw_ep *ep, struct net *net,
		     const struct sockaddr_storage *addr, bool afonly);
void xiw_listen_stop(struct xiw_ep *ep);

/* cm_sctp.c */
void xiw_cm_use_sctp(struct xiw_ep *ep);
void xiw_cm_choose_protocol(struct xiw_ep *ep,
			    const struct sockaddr_storage *addr);
int xiw_cm_create_sock(struct xiw_ep *ep, struct net *net, int family,
		       struct xiw_sock **xs);
void xiw_cm_add_paths(struct xiw_ep *ep);
bool xiw_cm_is_any(const struct sockaddr_storage *addr);
int xiw_cm_listen_any(struct xiw_ep *ep, const struct sockaddr_storage *addr,
		      bool afonly);
void xiw_cm_follow_addresses(struct xiw_ep *ep);
void xiw_cm_addresses_changed(struct xiw_dev *dev);
void xiw_cm_release_any(struct xiw_ep *ep);

/* cm_startup.c */
int xiw_conn_put_frame(struct xiw_ep *ep, const struct xiw_mpa_frame *frame,
		       const void *pdata);
enum xiw_ep_state xiw_active_connecting(struct xiw_ep *ep);
enum xiw_ep_state xiw_active_reply(struct xiw_ep *ep);
enum xiw_ep_state xiw_active_send_request(struct xiw_ep *ep);
enum xiw_ep_state xiw_active_established(struct xiw_ep *ep);
int xiw_active_create_sock(struct xiw_ep *ep, struct net *net,
			   sa_family_t family, int tos);
enum xiw_ep_state xiw_passive_request(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_failed(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_timeout(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_pending(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_ready(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_established(struct xiw_ep *ep);
bool xiw_passive_send_reject(struct xiw_ep *ep, const void *pdata,
			     u8 pdata_len);
enum xiw_ep_state xiw_passive_refuse(struct xiw_ep *ep, const void *pdata,
				     u8 pdata_len);
int xiw_passive_run(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_replied(struct xiw_ep *ep);

/* iwcm.c */
int xiw_cm_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int xiw_cm_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int xiw_cm_reject(struct iw_cm_id *cm_id, const void *pdata, u8 pdata_len);
int xiw_cm_create_listen(struct iw_cm_id *cm_id, int backlog);
int xiw_cm_destroy_listen(struct iw_cm_id *cm_id);

#endif /* _XIW_CM_H */
