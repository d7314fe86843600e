/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Two streams back to back, joined by a pipe instead of a network, for the
 * cases of stream_kunit.c.
 *
 * Each side takes the place of its stream's queue pair. It checks everything in
 * the stream's own contexts, and records the first error; the test's thread
 * posts.
 */
#ifndef _XIW_TESTS_WORLD_H
#define _XIW_TESTS_WORLD_H

#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/prandom.h>
#include <linux/refcount.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "mem/mem.h"
#include "pipe.h"
#include "queue/queue.h"
#include "stream/stream.h"

#define TIMEOUT		(60 * HZ)

enum {
	DEPTH		= 32,		/* of the send queues, and IRD */
	MESSAGE		= 70 * 1024,	/* bytes, more than an FPDU can have */
	WRITES		= 8,		/* limit of unchecked Writes */
	EXPECTED	= 1024,		/* messages in flight */
	MESSAGES	= 600,		/* posted by each side in a case */
	/* Parts of the memory of a side, in multiples of MESSAGE */
	OF_SENDS	= 0,		/* a message for each request */
	OF_SINKS	= DEPTH,	/* a sink for each request */
	OF_WRITES	= 2 * DEPTH,	/* target of the peer's Writes */
	OF_READS	= OF_WRITES + WRITES,	/* source of the peer's Reads */
	OF_RECV		= OF_READS + 1,
	/* Messages that are interrupted, see XIW_TX_TURN */
	LONG_PARTS	= 14,
	LONG		= LONG_PARTS * MESSAGE,	/* bytes */
	OF_LONG		= OF_RECV + 1,	/* source of all of them */
	OF_LONG_READ	= OF_LONG + LONG_PARTS,	/* sink of our Read */
	OF_LONG_WRITE	= OF_LONG_READ + LONG_PARTS,	/* the peer's Write */
	PARTS		= OF_LONG_WRITE + LONG_PARTS,
};

/* A request that the peer can observe; ordered as posted */
struct expected {
	u8 opcode;		/* IB_WR_* */
	u32 len;
	u32 seed;
	u32 slot;		/* of a Write */
};

/* A posted request */
struct posted {
	u8 opcode;
	u32 len;
	u32 seed;
	u64 value;		/* value expected by an Atomic */
	u32 off;		/* source of a Read */
	const struct xiw_mem *sink;	/* neither @mem nor @sink of side */
};

/* How a process responds to posted busy-poll work */
enum poller {
	POLLER_RANDOM,
	POLLER_NONE,
	POLLER_STAYS_AWAY,
	POLLER_RUNS,
};

/**
 * struct side - one side, in place of the stream's QP
 * @s: the stream
 * @sq: its send queue
 * @end: its end of the pipe
 * @peer: the other side
 * @refs: references of the stream's work items
 * @mem: all of its memory
 * @window: a region that the peer may invalidate
 * @sink: region for Reads with Invalidate
 * @frwr: regions of all of its memory, made valid by REG_MR
 * @arena: the memory of @mem
 * @word: target of the peer's Atomics; in @arena
 * @model: expected value of the peer's @word after our Atomics
 * @rnd: random numbers for posting
 * @ops: posted requests, by number modulo DEPTH
 * @num_posted: requests posted by the test's thread
 * @num_done: requests that have completed
 * @num_writes: Writes posted
 * @num_written: Writes that the peer has checked
 * @expect: requests that the peer can observe
 * @expect_end: number of the next element
 * @expect_begin: number of the first element; written by the peer
 * @inv_out: @window of the peer is being invalidated
 * @sink_out: @sink is in use
 * @starved: the next message has no receive
 * @post_work: posts a receive
 * @flush_work: flushes the queue
 * @run_work: runs posted busy-poll work, concurrently with the workqueue
 * @recv_len: bytes of each receive
 * @done_at_recv: @num_done when the last message was received
 * @written_at_done: bytes of an incomplete RDMA Write of the peer that had
 *	arrived when the last request completed
 * @work_lock: protects @work_posted
 * @work_posted: the stream has posted busy-poll work
 * @work_count: number of times it was posted
 * @poller: response to posted work; POLLER_RANDOM is random
 * @over: the stream has ended
 * @flushed: number of requests that were flushed
 * @may_fail: requests may be flushed
 * @may_fault: the stream may end with a fault, and requests with its status
 * @wrong: first error, or NULL
 * @changed: wakes the test's thread
 */
struct side {
	struct xiw_stream s;
	struct xiw_sq sq;
	struct pipe_end end;
	struct side *peer;
	refcount_t refs;
	struct xiw_mem *mem;
	struct xiw_mem *window;
	struct xiw_mem *sink;
	struct xiw_mem *frwr[2];
	u8 *arena;
	u64 *word;
	u64 model;
	struct rnd_state rnd;
	struct posted ops[DEPTH];
	u32 num_posted;
	u32 num_done;
	u32 num_writes;
	u32 num_written;
	struct expected expect[EXPECTED];
	u32 expect_end;
	u32 expect_begin;
	bool inv_out;
	bool sink_out;
	bool starved;
	struct work_struct post_work;
	struct work_struct flush_work;
	struct work_struct run_work;
	u32 recv_len;
	u32 done_at_recv;
	u64 written_at_done;
	spinlock_t work_lock; /* see above */
	bool work_posted;
	u32 work_count;
	enum poller poller;
	bool over;
	u32 flushed;
	bool may_fail;
	bool may_fault;
	const char *wrong;
	wait_queue_head_t *changed;
};

/* Parameters of the streams of a case */
struct how {
	bool crc;
	bool markers;
	u32 segments;
	u32 emss;	/* segment size of both ends; 0: PIPE_EMSS */
	bool probe;	/* Responder; the Initiator always probes */
	bool unfenced;	/* Responder, without an RTR */
	bool chunks;	/* as over SCTP */
	u8 rtr;
};

/**
 * struct world - a case
 * @test: KUnit test
 * @env: environment of both streams
 * @table: all STags
 * @pd: only its address is used
 * @changed: woken when a request completes or a stream ends
 * @side: both sides; the first one is the Initiator
 */
struct world {
	struct kunit *test;
	struct xiw_stream_env env;
	struct xiw_mem_table table;
	struct ib_pd pd;
	wait_queue_head_t changed;
	struct side side[2];
};

#define CHECK(side, cond)						\
	do {								\
		if (!(cond))						\
			world_note_wrong(side, #cond);			\
	} while (0)

static inline struct side *to_side(struct xiw_stream *s)
{
	return container_of(s, struct side, s);
}

static inline u8 *part(struct side *side, u32 number)
{
	return side->arena + (size_t)number * MESSAGE;
}

/* Byte @i of a message with that seed. */
static inline u8 pattern_byte(u32 seed, u32 i)
{
	return seed + i * 7 + (i >> 8);
}

static inline u64 address_of(const struct side *side, const void *p)
{
	return side->mem->iova + ((u8 *)p - side->arena);
}

void world_note_wrong(struct side *side, const char *what);
struct world *world_make(struct kunit *test, u64 seed);
void world_start(struct world *w, const struct how *how);
bool world_is_well(const struct world *w);
bool world_wait_quiet(struct world *w);
bool world_wait_received(struct world *w);
void side_wait_idle(struct side *side);
bool side_wait_full(struct side *side);
void world_post(struct world *w, u32 number);
void side_post_local(struct kunit *test, struct side *side, u8 opcode,
		     const struct xiw_mem *mem);
void side_post_read(struct kunit *test, struct side *side, u8 opcode,
		    const struct xiw_mem *mem, u32 len);
void side_post_send(struct kunit *test, struct side *side);
void side_post_long(struct kunit *test, struct side *side, u8 opcode);
void side_post_swap(struct kunit *test, struct side *side);
void side_send_all(struct kunit *test, struct side *side);
void world_close(struct world *w);
void world_check_rest(struct world *w, int n, const struct how *how);
void world_end(struct world *w);

#endif /* _XIW_TESTS_WORLD_H */
