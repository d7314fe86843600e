/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Out-of-band connections, between queue pairs that name each other by GID and
 * number: the changes of state by ib_modify_qp(), both sides of a connection,
 * the listeners, and which Request gets a queue pair. Documentation/oob.rst
 * specifies them. The state, struct xiw_oob, is a part of the queue pair.
 *
 * Uses cm/, as the second user of endpoints, and what is below.
 *
 * Locks: dev.oob_lock protects the listeners. It nests in qp.modify_lock, and
 * endpoints' mutexes nest in it. The rest is protected by stream.lock, and in
 * that by oob.lock.
 *
 * Lifetimes: a listener has a reference for each Responder that needs it, and
 * one of the device. The timer of a wait has a reference to its queue pair.
 *
 * Unless noted otherwise functions sleep, but not for a peer.
 */
#ifndef _XIW_OOB_H
#define _XIW_OOB_H

#include <linux/socket.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "proto/oob.h"

struct xiw_dev;
struct xiw_ep;
struct xiw_qp;

/* Burst of proofs that may fail */
#define XIW_OOB_GUESSES		8

/* Does a change to RTR ask for an out-of-band connection, not for rdma_cm's? */
static inline bool xiw_oob_names_peer(int mask)
{
	return mask & IB_QP_AV && mask & IB_QP_DEST_QPN;
}

/* oob.c */
int xiw_oob_to_rtr(struct xiw_qp *qp, const struct ib_qp_attr *attr, int mask);
int xiw_oob_to_rts(struct xiw_qp *qp, const struct ib_qp_attr *attr, int mask);
void xiw_oob_forget(struct xiw_qp *qp);
void xiw_oob_query(const struct xiw_qp *qp, struct ib_qp_attr *attr, int mask);

/* oob_ep.c */
int xiw_oob_active_start(struct xiw_qp *qp);
void xiw_oob_active_rts(struct xiw_ep *ep);
void xiw_oob_device_init(struct xiw_dev *dev);

/* oob_gate.c */
int xiw_oob_gate_init(struct xiw_ep *ep);
void xiw_oob_gate_exit(struct xiw_ep *ep);
u32 xiw_oob_gate_enter(struct xiw_ep *ep, bool first);
void xiw_oob_gate_charge(struct xiw_ep *ep, u64 start);
void xiw_oob_gate_leave(struct xiw_ep *ep);
bool xiw_oob_gate_take_privilege(struct xiw_ep *ep);
void xiw_oob_gate_module_exit(void);

/* oob_listen.c */
void xiw_oob_to_addr(const struct xiw_dev *dev, const u8 *gid, u16 port,
		     struct sockaddr_storage *addr);
int xiw_oob_port_get(struct xiw_qp *qp, const u8 *gid, u16 port);
void xiw_oob_port_put(struct xiw_qp *qp);
unsigned long xiw_oob_reserve(struct xiw_dev *dev);
void xiw_oob_set_port(struct xiw_dev *dev, u16 port);
void xiw_oob_device_exit(struct xiw_dev *dev);

/* oob_qp.c */
int xiw_oob_admit(struct xiw_qp *qp, struct xiw_ep *ep,
		  const struct xiw_oob_request *req, struct xiw_oob_path *path);
bool xiw_oob_roll_back(struct xiw_qp *qp, struct xiw_ep *ep);
void xiw_oob_wait_init(struct xiw_qp *qp);
void xiw_oob_wait_end(struct xiw_qp *qp);
void xiw_oob_await_posted(struct xiw_qp *qp);
void xiw_oob_give_up(struct xiw_qp *qp);

#endif /* _XIW_OOB_H */
