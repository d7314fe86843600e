/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A lower layer without a network: two ends of a pipe of octets. What is sent
 * is cut into packets of random size and shape, and taken in parts of random
 * size.
 */
#ifndef _XIW_TESTS_PIPE_H
#define _XIW_TESTS_PIPE_H

#include <linux/prandom.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../llp.h"

/* Octets that are under way at most */
#define PIPE_WINDOW	(96 * 1024)
/* Payload of a full segment; no multiple of four */
#define PIPE_EMSS	1449

/**
 * struct pipe_end - one end
 * @llp: as a stream sees it
 * @peer: the other end
 * @lock: protects what follows but @rxq, and is the stream's lock in softirq
 *	context
 * @owned: the stream's lock is owned by a process
 * @unowned: wakes who waits for that to end
 * @events: the stream's callbacks
 * @ctx: their argument
 * @busy: callbacks must not run now; owner: the stream's lock
 * @due: callbacks to be run; atomic
 * @work: runs them, unless the lock's holder does
 * @rxq: packets that have arrived
 * @unread: octets in them; atomic, for the peer looks at it
 * @blocked: send() has found no room; atomic
 * @here: how often a process was said to be there
 * @fin: FIN was sent, behind all that is in the peer's @rxq
 * @lost: the connection is lost
 * @left: octets that may still be sent before it is, if @breaks
 * @breaks: it will be lost
 * @held: what has arrived is not given out
 * @rnd: source of the cuts; owner: the stream's lock
 */
struct pipe_end {
	struct xiw_llp llp;
	struct pipe_end *peer;
	spinlock_t lock; /* see above */
	bool owned;
	wait_queue_head_t unowned;
	const struct xiw_llp_events *events;
	void *ctx;
	bool busy;
	unsigned long due;
	struct work_struct work;
	struct sk_buff_head rxq;
	atomic_t unread;
	atomic_t blocked;
	atomic_t here;
	bool fin;
	bool lost;
	s64 left;
	bool breaks;
	bool held;
	struct rnd_state rnd;
};

void pipe_init(struct pipe_end *a, struct pipe_end *b, u64 seed);
void pipe_break_after(struct pipe_end *e, u32 octets);
void pipe_hold(struct pipe_end *e, bool held);
void pipe_shutdown(struct pipe_end *e);
void pipe_exit(struct pipe_end *a, struct pipe_end *b);

#endif /* _XIW_TESTS_PIPE_H */
