/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Work budgets of the engines of a stream, and when to defer doorbells.
 * Computations only, for the holder of the socket lock.
 */
#ifndef _XIW_PACE_H
#define _XIW_PACE_H

#include <linux/minmax.h>
#include <linux/types.h>

/* See "Work budgets" in tx.c. */
enum xiw_turn_limits {
	/* a message of 64 KiB with its headers */
	XIW_TURN_BYTES		= 72 * 1024,
	XIW_TURN_STEPS		= 256,
	/* multiple of the basic budget for a process */
	XIW_TURN_PROCESS	= 16,
	/* multiple for a work item */
	XIW_TURN_WORK		= 4,
	/* budgets of the bulk work in a row */
	XIW_TURN_WORK_RX	= 4,
};

/**
 * struct xiw_turn - rest of a work budget; owner: socket lock holder
 * @bytes: bytes left to encode or read; the last FPDU may exceed them
 * @steps: FPDUs, requests that send nothing, and repeated checks of the queue
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
	/* limit for all timers of one softirq together */
	XIW_TIMERS_NS		= 200 * 1000,
	/* a pause this long between timers means another softirq */
	XIW_TIMERS_REST_NS	= 2 * 1000,
};

/**
 * struct xiw_timers - recent run time of the timers of a CPU
 * @end: when the last one ended, in ns
 * @spent: how long those of its softirq have worked, in ns
 */
struct xiw_timers {
	u64 end;
	u64 spent;
};

/*
 * May a timer that begins now run the engine, or must a work item do that? The
 * kernel runs all expired timers in one softirq, and each has its own budget.
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
	/* initial score: a streak of two runs is needed */
	XIW_POSTS_DOUBTS	= 2,
	/* worst score: a streak of 64 runs is needed */
	XIW_POSTS_MAX_DOUBTS	= 7,
	/* a deferral that collected fewer requests was unused */
	XIW_POSTS_WINDOW_WRS	= 2,
	/* a deferral that collected this many was useful */
	XIW_POSTS_PAID_WRS	= 4,
};

/**
 * struct xiw_posts - burst detection; owner: socket lock holder
 * @row: streak: runs in a row that were part of a burst, up to xiw_posts_need()
 * @doubts: score: unused doorbell deferrals since the last useful one
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
 * The streak of runs that begins a doorbell deferral. One unused deferral after
 * a useful one has no effect: a process that posts in batches may begin each of
 * them with a single request.
 */
static inline u32 xiw_posts_need(const struct xiw_posts *posts)
{
	return posts->doubts ? 1U << (posts->doubts - 1) : 1;
}

/* Was the last run part of a burst of posts? */
static inline bool xiw_posts_are_stream(const struct xiw_posts *posts)
{
	return posts->row >= xiw_posts_need(posts);
}

/**
 * xiw_posts_on() - check if the process is likely to continue posting
 * @posts: burst detection
 * @stream: the requests of this run are part of a burst
 * @window: they were collected in a doorbell deferral
 * @asked: the last completed request was a Read or Atomic
 * @started: number of requests in this run
 *
 * The number of requests that a deferral has collected determines the streak
 * needed for the next one. After many requests a single run suffices; if they
 * were Reads, this run counts as part of a burst whatever else happened. After
 * fewer than two the process waits for its requests, and the streak needed is
 * doubled: an unused deferral costs a timer and delays the requests posted in
 * it. A run without requests does not count.
 *
 * Context: Socket lock held.
 * Return: true if the doorbell should be deferred.
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
