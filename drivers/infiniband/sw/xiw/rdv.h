/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Out-of-band connections: what the files rdv*.c offer.
 */
#ifndef _XIW_RDV_H
#define _XIW_RDV_H

#include <linux/socket.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "proto/epstate.h"
#include "proto/nego.h"
#include "proto/rendezvous.h"

struct xiw_dev;
struct xiw_ep;
struct xiw_qp;

/* rdv.c */
bool xiw_rdv_names_peer(int mask);
int xiw_rdv_to_rtr(struct xiw_qp *qp, const struct ib_qp_attr *attr, int mask);
int xiw_rdv_to_rts(struct xiw_qp *qp, const struct ib_qp_attr *attr, int mask);
void xiw_rdv_forget(struct xiw_qp *qp);
void xiw_rdv_query(const struct xiw_qp *qp, struct ib_qp_attr *attr, int mask);

/* rdv_ep.c */
void xiw_rdv_device_init(struct xiw_dev *dev);

/* rdv_listen.c */
void xiw_rdv_port_wake(struct xiw_qp *qp);
int xiw_rdv_port_get(struct xiw_qp *qp, const u8 *gid, u16 port);
void xiw_rdv_port_put(struct xiw_qp *qp);
void xiw_rdv_reserve(struct xiw_dev *dev);
void xiw_rdv_set_port(struct xiw_dev *dev, u16 port);
void xiw_rdv_device_exit(struct xiw_dev *dev);

/* rdv_active.c */
int xiw_rdv_active_start(struct xiw_qp *qp);
void xiw_rdv_active_rts(struct xiw_ep *ep);
enum xiw_ep_state xiw_rdv_active_try(struct xiw_ep *ep);
enum xiw_ep_state xiw_rdv_active_retry(struct xiw_ep *ep);
enum xiw_ep_state xiw_rdv_active_connected(struct xiw_ep *ep);
int xiw_rdv_active_build_request(struct xiw_ep *ep);
enum xiw_ep_state xiw_rdv_active_reply(struct xiw_ep *ep,
				       enum xiw_nego_result result,
				       const struct xiw_mpa_frame *frame);
enum xiw_ep_state xiw_rdv_active_closed(struct xiw_ep *ep, int status);
enum xiw_ep_state xiw_rdv_active_failed(struct xiw_ep *ep, int status);

/* rdv_passive.c */
enum xiw_ep_state xiw_rdv_passive_request(struct xiw_ep *ep);
enum xiw_ep_state xiw_rdv_passive_judge(struct xiw_ep *ep);
enum xiw_ep_state xiw_rdv_passive_late(struct xiw_ep *ep);

/* rdv_qp.c */
int xiw_rdv_admit(struct xiw_qp *qp, struct xiw_ep *ep,
		  const struct xiw_rdv_request *req, struct xiw_rdv_path *path);
bool xiw_rdv_undo(struct xiw_qp *qp, struct xiw_ep *ep);

void xiw_rdv_policy(struct xiw_ep *ep);
void xiw_rdv_to_addr(const struct xiw_dev *dev, const u8 *gid, u16 port,
		     struct sockaddr_storage *addr);
u16 xiw_rdv_port_of(const struct sockaddr_storage *addr);
void xiw_rdv_to_gid(const struct sockaddr_storage *addr, u8 *gid);
void xiw_rdv_agree(struct xiw_ep *ep, u16 features);
void xiw_rdv_wait_init(struct xiw_qp *qp);
void xiw_rdv_wait_end(struct xiw_qp *qp);
void xiw_rdv_await_posted(struct xiw_qp *qp);
void xiw_rdv_give_up(struct xiw_qp *qp);

#endif /* _XIW_RDV_H */
