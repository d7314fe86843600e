/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Connection endpoints: the meeting of an iw_cm_id, a socket and a QP. An
 * endpoint runs MPA startup, hands the socket to the QP for its time in full
 * operation, and ends the connection.
 */
#ifndef _XIW_CM_H
#define _XIW_CM_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

struct xiw_dev;
struct xiw_ep;

/*
 * What the QP asks of its endpoint: idempotent bits, executed in this order by
 * whoever has the endpoint's turn.
 */
enum xiw_ep_request {
	/* Responder: the first FPDU was received and validated. */
	XIW_EP_FIRST_FPDU	= 1 << 0,
	/* Everything to be sent is in the socket: send FIN. */
	XIW_EP_SHUTDOWN		= 1 << 1,
	/* The peer closed in good order; iw_cm may hear DISCONNECT. */
	XIW_EP_PEER_CLOSED	= 1 << 2,
	/*
	 * The stream is over: stop the QP's data path, flush it, tell iw_cm
	 * CLOSE, close the socket gracefully (FIN, discard what arrives until
	 * the peer's FIN or the linger timer, then release).
	 */
	XIW_EP_CLOSE		= 1 << 3,
	/* As CLOSE, but reset the connection at once. */
	XIW_EP_ABORT		= 1 << 4,
	/* The lower layer is gone; as ABORT, with nothing left to reset. */
	XIW_EP_LOST		= 1 << 5,
	/* Start the timer that turns a stalled graceful close into ABORT. */
	XIW_EP_CLOSE_TIMER	= 1 << 6,
};

/* Any context. @ep is the one given to xiw_qp_start(). */
void xiw_ep_request(struct xiw_ep *ep, u32 requests);
void xiw_ep_get(struct xiw_ep *ep);
void xiw_ep_put(struct xiw_ep *ep);
/*
 * Both sleep. Who asks for something between them need not wait for the
 * endpoint's work; it is done when the second one returns.
 */
void xiw_ep_lock(struct xiw_ep *ep);
void xiw_ep_unlock(struct xiw_ep *ep);

/* Device life. All sleep. */
int xiw_cm_device_init(struct xiw_dev *dev);
/* Endpoints may be added: so from the beginning, and again after a kill. */
void xiw_cm_device_open(struct xiw_dev *dev);
/* Ends every endpoint and listener of the device; the second waits for them. */
void xiw_cm_device_kill(struct xiw_dev *dev);
void xiw_cm_device_exit(struct xiw_dev *dev);

/* iw_cm operations */
int xiw_cm_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int xiw_cm_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int xiw_cm_reject(struct iw_cm_id *cm_id, const void *pdata, u8 pdata_len);
int xiw_cm_create_listen(struct iw_cm_id *cm_id, int backlog);
int xiw_cm_destroy_listen(struct iw_cm_id *cm_id);

#endif /* _XIW_CM_H */
