/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Out-of-band connections: the state of a queue pair, from the change to RTR
 * that names a peer to the reset, and what the files oob*.c offer.
 * Documentation/oob.rst calls that time a use.
 *
 * Unless noted otherwise functions sleep, but not for a peer.
 */
#ifndef _XIW_OOB_H
#define _XIW_OOB_H

#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "proto/oob.h"
#include "proto/oobstate.h"

struct xiw_dev;
struct xiw_ep;
struct xiw_qp;
struct xiw_oob_port;

/* Purpose of the retry timer */
enum xiw_oob_timer {
	XIW_OOB_NOTHING,
	XIW_OOB_STREAM,		/* until the stream is established */
	XIW_OOB_ANSWER,		/* for an answer of a peer that has gone */
};

/**
 * struct xiw_oob - out-of-band state; protected by the lock of the queue
 *	pair's stream, unless noted otherwise
 * @state: see enum xiw_oob_state; a reset or rollback leaves
 *	XIW_OOBS_PEER_GONE with @lock held, too
 * @waits: requests wait for the stream; the reset clears it with @lock held,
 *	too
 * @final: the peer has said that it will always refuse; protected by @lock
 * @armed: enum xiw_oob_timer: what @expire is queued for; protected by @lock
 * @status: enum ib_wc_status of the first request that is flushed, or 0;
 *	belongs to the flush
 * @min_rnr_timer: code of the verbs; written with the lock and the queue
 *	pair's modify_lock held, read without
 * @timeout: code of the verbs; constant from RTS on. With @retry_cnt it sets
 *	how long a request waits
 * @retry_cnt: number of retries; constant from RTS on
 * @grh: GIDs, traffic class, and what is only reported to the ULP; constant
 *	until the reset
 * @answer_ms: how long a request waits for an answer of a peer that has gone;
 *	constant from RTS on, 0 before
 * @port: TCP port of both sides; constant until the reset
 * @role: Initiator, Responder or both; constant until the reset
 * @path: both ends are constant until the reset, the rest is set at RTR and RTS
 * @peer: the claim that the peer has sent, when there is an endpoint
 * @nonces: of that connection
 * @guesses: of a Responder: proofs that may fail before the next one has to
 *	wait; of those from any port, and of those from one below 1024
 * @guessed_at: jiffies when each was last incremented
 * @due: jiffies before which @expire is one that was queued earlier; protected
 *	by @lock
 * @expire: ends the wait; it and the members below are not reset. It is queued
 *	only while @waits or XIW_OOBS_PEER_GONE, with @lock held, so a poster
 *	that has seen that before the reset cannot queue it afterwards. It has a
 *	reference to the queue pair
 * @lock: protects the members that refer to it; taken with interrupts off,
 *	inside the stream's lock. After the wait no code reads these members,
 *	so the reset clears them without @lock
 * @listener: of a Responder; modify_lock
 */
struct xiw_oob {
	enum xiw_oob_state state;
	bool waits;
	bool final;
	u8 armed;
	u8 status;
	u8 min_rnr_timer;
	u8 timeout;
	u8 retry_cnt;
	struct ib_global_route grh;
	u32 answer_ms;
	u16 port;
	enum xiw_oob_role role;
	struct xiw_oob_path path;
	struct xiw_oob_claim peer;
	struct xiw_oob_nonces nonces;
	u32 guesses[2];
	unsigned long guessed_at[2];
	unsigned long due;
	struct delayed_work expire;
	spinlock_t lock; /* see above */
	struct xiw_oob_port *listener;
};

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

/* oob_listen.c */
void xiw_oob_to_addr(const struct xiw_dev *dev, const u8 *gid, u16 port,
		     struct sockaddr_storage *addr);
int xiw_oob_port_get(struct xiw_qp *qp, const u8 *gid, u16 port);
void xiw_oob_port_put(struct xiw_qp *qp);
void xiw_oob_reserve(struct xiw_dev *dev);
void xiw_oob_set_port(struct xiw_dev *dev, u16 port);
void xiw_oob_device_exit(struct xiw_dev *dev);

/* oob_qp.c */
int xiw_oob_admit(struct xiw_qp *qp, struct xiw_ep *ep,
		  const struct xiw_oob_request *req, struct xiw_oob_path *path);
bool xiw_oob_undo(struct xiw_qp *qp, struct xiw_ep *ep);
void xiw_oob_wait_init(struct xiw_qp *qp);
void xiw_oob_wait_end(struct xiw_qp *qp);
void xiw_oob_await_posted(struct xiw_qp *qp);
void xiw_oob_give_up(struct xiw_qp *qp);

#endif /* _XIW_OOB_H */
