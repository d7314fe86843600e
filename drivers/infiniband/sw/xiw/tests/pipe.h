/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A lower layer without a network: two ends of a pipe of bytes. Data sent is
 * cut into packets of random size and shape, and accepted in parts of random
 * size.
 */
#ifndef _XIW_TESTS_PIPE_H
#define _XIW_TESTS_PIPE_H

#include <linux/prandom.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "llp/llp.h"

/* Maximum number of bytes in flight */
#define PIPE_WINDOW	(96 * 1024)
/* Usual payload of a full segment; no multiple of four */
#define PIPE_EMSS	1449

/**
 * struct pipe_end - one end
 * @llp: as a stream sees it
 * @ops: its operations, if it carries chunks
 * @peer: the other end
 * @lock: protects the fields below except @rxq, and is the stream's lock in
 *	softirq context
 * @owned: the stream's lock is owned by a process
 * @unowned: wakes waiters for the end of @owned
 * @events: the stream's callbacks
 * @ctx: their argument
 * @busy: callbacks must not run now; owner: the stream's lock
 * @due: callbacks to be run; atomic
 * @work: runs them, unless the lock's holder does
 * @rxq: packets that have arrived
 * @unread: bytes in them; atomic, because the peer reads it
 * @blocked: send() has found no room; atomic
 * @flows: number of calls that reported a process, to record the RFS flow
 * @fin: FIN was sent, after all packets in the peer's @rxq
 * @lost: the connection is lost
 * @broken: this end has found a fault of the peer, and sends nothing more
 * @emss: payload of a full segment
 * @left: bytes that may be sent before it is lost, if @breaks
 * @breaks: the connection will be lost
 * @held: received packets are held back
 * @rnd: source of the cuts; owner: the stream's lock
 */
struct pipe_end {
	struct xiw_llp llp;
	struct xiw_llp_ops ops;
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
	atomic_t flows;
	bool fin;
	bool lost;
	bool broken;
	u32 emss;
	s64 left;
	bool breaks;
	bool held;
	struct rnd_state rnd;
};

void pipe_init(struct pipe_end *a, struct pipe_end *b, u64 seed);
void pipe_use_chunks(struct pipe_end *e);
void pipe_break_after(struct pipe_end *e, u32 bytes);
void pipe_fault(struct pipe_end *e);
void pipe_hold(struct pipe_end *e, bool held);
bool pipe_feed(struct pipe_end *e, const u8 *src, u32 len);
void pipe_shutdown(struct pipe_end *e);
void pipe_exit(struct pipe_end *a, struct pipe_end *b);

#endif /* _XIW_TESTS_PIPE_H */
