/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a queue pair knows of a connection by number, from the change to RTR
 * that names a peer to the reset; Documentation/rendezvous.rst calls that a
 * use.
 */
#ifndef _XIW_RDV_USE_H
#define _XIW_RDV_USE_H

#include <linux/jiffies.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "proto/rendezvous.h"

struct xiw_rdv_port;

/* What the timer of a use is for */
enum xiw_rdv_timer {
	XIW_RDV_NOTHING,
	XIW_RDV_STREAM,		/* that it comes to stand */
	XIW_RDV_ANSWER,		/* of a peer whose end was silent */
};

/**
 * struct xiw_rdv_use - one use; protected by the lock of the queue pair's
 *	stream, if nothing else is said
 * @named: a peer was named; until reset
 * @stood: the stream stands, or has stood: there will be no other one
 * @mismatched: the PSNs turned out to be others: it was no stream
 * @undoing: it is being forgotten, by the endpoint
 * @gone: the peer's end was silent: what was posted fails when it cannot be
 *	done and has waited, and nothing else is flushed; the end of a use
 *	clears it with @lock held, too
 * @over: everything is flushed, for good
 * @waits: what is posted waits for the stream; the end of a use clears it with
 *	@lock held, too
 * @final: the peer has said that it will always refuse; protected by @lock
 * @armed: enum xiw_rdv_timer: what @expire is queued for; protected by @lock
 * @status: enum ib_wc_status of the first request that is flushed, or 0;
 *	belongs to who flushes
 * @min_rnr_timer: code of the verbs; constant while @named
 * @timeout: likewise, from RTS on; with @retry_cnt how long a request waits
 * @retry_cnt: likewise
 * @sgid_index: of the own GID; constant while @named
 * @tclass: traffic class; likewise
 * @hop_limit: likewise; it means nothing here
 * @answer_ms: how long a request waits for an answer of who has gone; constant
 *	from RTS on, 0 before
 * @flow_label: likewise
 * @port: TCP port of both sides; likewise
 * @role: likewise
 * @path: both ends are constant while @named, the rest until the stream stands
 * @peer: what the peer has said of itself, when there is an endpoint
 * @nonces: of that connection
 * @guesses: of a Responder: proofs that may fail before the next one has to
 *	wait; of those from any port, and of those from one below 1024
 * @guessed_at: jiffies when each became one more
 * @due: jiffies before which @expire is one that was queued earlier; protected
 *	by @lock
 * @expire: ends the wait; it and what follows is not reset. It is queued only
 *	while @waits or @gone, with @lock held, so after the end of a use no
 *	poster that has seen the flag before can queue it any more. It has a
 *	reference to the queue pair
 * @lock: see there; taken with interrupts off, within the stream's lock. When
 *	the wait has ended nobody looks at what it protects, and the end of a
 *	use clears that without it
 * @listener: of a Responder; modify_lock
 */
struct xiw_rdv_use {
	bool named;
	bool stood;
	bool mismatched;
	bool undoing;
	bool gone;
	bool over;
	bool waits;
	bool final;
	u8 armed;
	u8 status;
	u8 min_rnr_timer;
	u8 timeout;
	u8 retry_cnt;
	u8 sgid_index;
	u8 tclass;
	u8 hop_limit;
	u32 answer_ms;
	u32 flow_label;
	u16 port;
	enum xiw_rdv_role role;
	struct xiw_rdv_path path;
	struct xiw_rdv_claim peer;
	struct xiw_rdv_nonces nonces;
	u32 guesses[2];
	unsigned long guessed_at[2];
	unsigned long due;
	struct delayed_work expire;
	spinlock_t lock; /* see above */
	struct xiw_rdv_port *listener;
};

/* Proofs that may fail in a row */
#define XIW_RDV_GUESSES		8

/* At the beginning of a use. The stream's lock is held. */
static inline void xiw_rdv_guesses_init(struct xiw_rdv_use *use)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(use->guesses); i++) {
		use->guesses[i] = XIW_RDV_GUESSES;
		use->guessed_at[i] = jiffies;
	}
}

bool xiw_rdv_await(struct xiw_rdv_use *use, enum xiw_rdv_timer what);

/* Was it no stream after all? The stream's lock is held. */
static inline bool xiw_rdv_undone(const struct xiw_rdv_use *use)
{
	return use->named && !use->over && (!use->stood || use->mismatched);
}

#endif /* _XIW_RDV_USE_H */
