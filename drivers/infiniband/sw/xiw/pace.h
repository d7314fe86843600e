/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How long an engine of a stream works at a time, and whether it waits for
 * more work. Numbers alone, for the holder of the socket lock.
 */
#ifndef _XIW_PACE_H
#define _XIW_PACE_H

#include <linux/minmax.h>
#include <linux/types.h>

/* What one turn may do, see "how long a turn is" in tx.c. */
enum xiw_turn_limits {
	/* a message of 64 KiB with its headers */
	XIW_TURN_BYTES		= 72 * 1024,
	XIW_TURN_STEPS		= 256,
	/* How many short turns make one of a process that posts, or helps, */
	XIW_TURN_PROCESS	= 16,
	/* and one of a work item, */
	XIW_TURN_WORK		= 4,
	/* of which who receives has so many in a row. */
	XIW_TURN_WORK_RX	= 4,
};

/**
 * struct xiw_turn - what is left of a turn; owner: socket lock holder
 * @bytes: octets to be laid out or taken; the last FPDU may exceed them
 * @steps: FPDUs, requests that send nothing, and new looks at the queue
 */
struct xiw_turn {
	int bytes;
	int steps;
};

static inline void xiw_turn_begin(struct xiw_turn *turn, u32 times)
{
	turn->bytes = times * XIW_TURN_BYTES;
	turn->steps = times * XIW_TURN_STEPS;
}

static inline void xiw_turn_charge(struct xiw_turn *turn, u32 bytes)
{
	turn->bytes -= bytes;
	turn->steps--;
}

static inline bool xiw_turn_over(const struct xiw_turn *turn)
{
	return turn->bytes <= 0 || turn->steps <= 0;
}

enum xiw_timers_limits {
	/* For so long the timers of a CPU may work one behind the other; */
	XIW_TIMERS_NS		= 200 * 1000,
	/* one that begins so long after the last is of another softirq. */
	XIW_TIMERS_REST_NS	= 2 * 1000,
};

/**
 * struct xiw_timers - what the timers of a CPU have done of late
 * @end: when the last one ended, in ns
 * @spent: how long those of its softirq have worked, in ns
 */
struct xiw_timers {
	u64 end;
	u64 spent;
};

/*
 * May a timer that begins now work, or is that left to a work item? The kernel
 * runs all timers that are due in one softirq, and each has a turn of its own.
 */
static inline bool xiw_timers_begin(struct xiw_timers *timers, u64 now)
{
	if (now - timers->end >= XIW_TIMERS_REST_NS)
		timers->spent = 0;
	return timers->spent < XIW_TIMERS_NS;
}

static inline void xiw_timers_end(struct xiw_timers *timers, u64 begin, u64 now)
{
	timers->spent += now - begin;
	timers->end = now;
}

enum xiw_posts_limits {
	/* Of whom nothing is known it takes two runs in a row. */
	XIW_POSTS_DOUBTS	= 2,
	/* It never takes more than 64. */
	XIW_POSTS_MAX_DOUBTS	= 7,
	/* With fewer requests a window was in vain, */
	XIW_POSTS_WINDOW_WRS	= 2,
	/* and with so many it was worth its while. */
	XIW_POSTS_PAID_WRS	= 4,
};

/**
 * struct xiw_posts - how a process posts; owner: socket lock holder
 * @row: runs in a row that looked like a stream, up to xiw_posts_need()
 * @doubts: windows in vain since one was worth its while
 */
struct xiw_posts {
	u8 row;
	u8 doubts;
};

static inline void xiw_posts_init(struct xiw_posts *posts)
{
	posts->row = 0;
	posts->doubts = XIW_POSTS_DOUBTS;
}

/*
 * How many runs in a row open a window. One in vain is forgiven: a process that
 * sends in batches may begin them with a single request.
 */
static inline u32 xiw_posts_need(const struct xiw_posts *posts)
{
	return posts->doubts ? 1U << (posts->doubts - 1) : 1;
}

/* Was the last run part of a stream of posts? */
static inline bool xiw_posts_are_stream(const struct xiw_posts *posts)
{
	return posts->row >= xiw_posts_need(posts);
}

/**
 * xiw_posts_on() - is the process likely to post on
 * @posts: what is known of it
 * @stream: what it has posted now looks like part of a stream
 * @window: that was collected in a window
 * @asked: the last one that is complete was a Read or Atomic
 * @started: requests that it was
 *
 * What the last windows have collected says how much it takes to open the next
 * one. If there were many, it takes a single run; of Reads they are a proof
 * by themselves, whatever has come meanwhile. If there was hardly one, the
 * process waits for what it has posted, and it takes twice as many runs as
 * before: a window in vain costs a timer and delays what is posted in it. A run
 * that starts nothing tells nothing.
 *
 * Context: Socket lock held.
 * Return: true if a window is worth its while.
 */
static inline bool xiw_posts_on(struct xiw_posts *posts, bool stream,
				bool window, bool asked, u32 started)
{
	if (!started)
		return stream && xiw_posts_are_stream(posts);
	if (window && started >= XIW_POSTS_PAID_WRS) {
		posts->doubts = 0;
		stream |= asked;
	} else if (window && started < XIW_POSTS_WINDOW_WRS) {
		posts->doubts = min(posts->doubts + 1, XIW_POSTS_MAX_DOUBTS);
		stream = false;
	} else if (window) {
		posts->doubts = max(posts->doubts, XIW_POSTS_DOUBTS);
	}
	posts->row = stream ? min(posts->row + 1, xiw_posts_need(posts)) : 0;
	return xiw_posts_are_stream(posts);
}

#endif /* _XIW_PACE_H */
