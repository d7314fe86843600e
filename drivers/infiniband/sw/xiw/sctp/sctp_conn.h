/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A connection over SCTP and its lock. Only the files sctp*.c depend on SCTP.
 */
#ifndef _XIW_SCTP_CONN_H
#define _XIW_SCTP_CONN_H

#include <linux/lockdep.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/sctp/sctp.h>

#include "llp/sock.h"
#include "proto/session.h"

/* Set before there is an association: half of it becomes the receive window. */
#define XIW_SCTP_RCVBUF		(1024 * 1024)

/**
 * struct xiw_sctp - an SCTP socket
 * @xs: socket
 * @lock: protects @owned; serialises the stream while not owned
 * @waiters: processes that wait until @owned is false
 * @owned: a process has the lock
 * @pending: the socket's queue must be looked at, again; any context
 * @map: the owned lock for lockdep
 * @in_callback: SCTP's callback holds the socket lock and @lock
 * @busy: callbacks of the user are running; this and what follows: lock holder
 * @closed: the socket is being released: no more work
 * @up: the association is established and carries DDP
 * @peer_shutdown: the peer sent SHUTDOWN, and SCTP has delivered everything
 * @gone: there is no association any more
 * @more: the socket has messages that were not read
 * @foreign: unread messages are not of the session: its association was lost,
 *	or the peer has begun another one
 * @fin: the session is to be terminated
 * @shut: SHUTDOWN was requested
 * @session: state of the session
 * @mulpdu: largest ULPDU of one packet
 * @start: the peer's startup message, with @start_frame; NULL if there is none
 * @start_frame: that message decoded; Private Data is in @start
 * @last: last message in the socket's queue that was read, with all before it;
 *	NULL if there is none
 * @seen: how many these are
 * @seen_bytes: their bytes
 * @stuck: the first unread message cannot be copied now
 * @ready: copied segments in order, behind @last and before all others
 * @ready_bytes: bytes in @ready
 * @ready_mem: memory of @ready
 * @taken: bytes read, modulo 2^32
 * @held: early chunks by SSN
 * @held_mem: memory of these
 * @memcg: group that the memory is charged to, or NULL; the socket has a
 *	reference
 * @want_run: write_space is due, as the lock was not owned
 * @want_space: write_space is due when there is room
 * @wq: for the work items
 * @work: copies and removes messages, and calls the user
 * @retry: queues @work when there may be memory again
 * @room: waits for room in the send buffer
 */
struct xiw_sctp {
	struct xiw_sock xs;
	spinlock_t lock; /* see above */
	wait_queue_head_t waiters;
	bool owned;
	bool pending;
	struct lockdep_map map;
	bool in_callback;
	bool busy;
	bool closed;
	bool up;
	bool peer_shutdown;
	bool gone;
	bool more;
	bool foreign;
	bool fin;
	bool shut;
	struct xiw_session session;
	u32 mulpdu;
	struct sk_buff *start;
	struct xiw_mpa_frame start_frame;
	struct sk_buff *last;
	u32 seen;
	u32 seen_bytes;
	bool stuck;
	struct sk_buff_head ready;
	u32 ready_bytes;
	u32 ready_mem;
	u32 taken;
	struct xarray held;
	u32 held_mem;
	struct mem_cgroup *memcg;
	bool want_run;
	bool want_space;
	struct workqueue_struct *wq;
	struct work_struct work;
	struct delayed_work retry;
	wait_queue_entry_t room;
};

static inline struct xiw_sctp *xiw_sctp_from_sock(const struct xiw_sock *xs)
{
	return container_of(xs, struct xiw_sctp, xs);
}

static inline struct xiw_sctp *xiw_sctp_from_llp(const struct xiw_llp *llp)
{
	return container_of(llp, struct xiw_sctp, xs.llp);
}

/* The only association of a socket of the one-to-one style; socket lock. */
static inline struct sctp_association *xiw_sctp_asoc(struct sock *sk)
{
	return list_first_entry_or_null(&sctp_sk(sk)->ep->asocs,
					struct sctp_association, asocs);
}

/* Follows the MTU; both locks are held. @asoc is NULL after the association. */
static inline void xiw_sctp_set_mulpdu(struct xiw_sctp *c,
				       const struct sctp_association *asoc)
{
	if (asoc)
		WRITE_ONCE(c->mulpdu, xiw_session_mulpdu(asoc->frag_point));
}

void xiw_sctp_lock_init(struct xiw_sctp *c);
void xiw_sctp_own(struct xiw_sctp *c);
void xiw_sctp_disown(struct xiw_sctp *c);
bool xiw_sctp_trylock_bh(struct xiw_sctp *c);
void xiw_sctp_unlock_bh(struct xiw_sctp *c);
void xiw_sctp_queue_work(struct xiw_sctp *c);
void xiw_sctp_queue_retry(struct xiw_sctp *c);
void xiw_sctp_lose(struct xiw_sctp *c, int err);
void xiw_sctp_set_rcvbuf(struct sock *sk, bool accepted);

#endif /* _XIW_SCTP_CONN_H */
