/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Workarounds for bugs and gaps of iw_cm and rdma_cm. Functions with an
 * endpoint are called with it locked, those with an iw_cm_id in a call of
 * iw_cm.
 */
#ifndef _XIW_IWCM_QUIRKS_H
#define _XIW_IWCM_QUIRKS_H

#include <linux/errno.h>
#include <linux/socket.h>
#include <linux/types.h>

struct ib_device;
struct ib_qp;
struct iw_cm_conn_param;
struct iw_cm_event;
struct iw_cm_id;
struct net;
struct xiw_ep;
struct xiw_ep_listen;
struct xiw_qp;
struct xiw_sock;

int xiw_quirk_module_init(void);
void xiw_quirk_module_exit(void);
struct net *xiw_quirk_net(const struct iw_cm_id *cm_id);
bool xiw_quirk_port_was_drawn(const struct iw_cm_id *cm_id, struct net *net);

struct xiw_ep *xiw_quirk_get_twin(const struct xiw_ep *ep, struct xiw_sock *xs,
				  const struct sockaddr_storage *local);
int xiw_quirk_check_request(struct xiw_ep *ep);
int xiw_quirk_listen_result(const struct iw_cm_id *cm_id, int ret);

#ifdef XIW_HAVE_IW_CONN_PARAM_USER
static inline int xiw_quirk_owns(const struct iw_cm_id *cm_id,
				 const struct xiw_qp *qp)
{
	return 0;
}
#else
int xiw_quirk_owns(const struct iw_cm_id *cm_id, const struct xiw_qp *qp);
#endif

void xiw_iwqp_add_ref(struct ib_qp *ibqp);
void xiw_iwqp_rem_ref(struct ib_qp *ibqp);

#ifdef XIW_HAVE_IW_GET_QP_REF
struct ib_qp *xiw_iwqp_get(struct ib_device *ibdev, u32 qpn);
void xiw_quirk_set_request(struct xiw_ep *ep, struct iw_cm_event *event);

static inline struct ib_qp *xiw_iwqp_current(struct xiw_qp *qp)
{
	return NULL;
}

static inline struct xiw_qp *xiw_iwqp_qp(struct ib_qp *ibqp)
{
	return NULL;
}

static inline int xiw_iwqp_init(struct xiw_qp *qp)
{
	return 0;
}

static inline void xiw_iwqp_drop(struct xiw_qp *qp)
{
}

static inline void xiw_quirk_take_handler(struct iw_cm_id *cm_id,
					  struct xiw_ep_listen *listen)
{
}

static inline int xiw_quirk_answer_again(struct iw_cm_id *cm_id,
					 const struct iw_cm_conn_param *param)
{
	return -EINVAL;
}

static inline void xiw_quirk_watch(struct xiw_ep *ep)
{
}

static inline void xiw_quirk_unwatch(struct xiw_ep *ep)
{
}
#else
struct ib_qp *xiw_iwqp_get(struct ib_device *ibdev, int qpn);
struct ib_qp *xiw_iwqp_current(struct xiw_qp *qp);
struct xiw_qp *xiw_iwqp_qp(struct ib_qp *ibqp);
int xiw_iwqp_init(struct xiw_qp *qp);
void xiw_iwqp_drop(struct xiw_qp *qp);
void xiw_quirk_take_handler(struct iw_cm_id *cm_id,
			    struct xiw_ep_listen *listen);
int xiw_quirk_answer_again(struct iw_cm_id *cm_id,
			   const struct iw_cm_conn_param *param);
void xiw_quirk_watch(struct xiw_ep *ep);
void xiw_quirk_unwatch(struct xiw_ep *ep);

static inline void xiw_quirk_set_request(struct xiw_ep *ep,
					 struct iw_cm_event *event)
{
}
#endif

#endif
