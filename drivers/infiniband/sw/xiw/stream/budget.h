/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Work budgets of the engines of a stream, and when to defer doorbells.
 * Computations only, for the holder of the socket lock.
 */
#ifndef _XIW_BUDGET_H
#define _XIW_BUDGET_H

#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/types.h>

/* See "Work budgets" in tx.c. */
enum xiw_budget_limits {
	/* a message of 64 KiB with its headers */
	XIW_BUDGET_BYTES	= 72 * 1024,
	XIW_BUDGET_COST		= 256,
	/* multiple of the basic budget for a process */
	XIW_BUDGET_PROCESS	= 16,
	/* multiple of the basic budget for a work item */
	XIW_BUDGET_WORK		= 4,
	/* budgets in a row of the work item that receives */
	XIW_BUDGET_WORK_RX	= 4,
};

/**
 * struct xiw_budget - rest of a work budget; owner: socket lock holder
 * @bytes: bytes left to encode or read; the last FPDU may exceed them
 * @cost: FPDUs, requests that send nothing, and repeated checks of the queue
 */
struct xiw_budget {
	int bytes;
	int cost;
};

static inline void xiw_budget_begin(struct xiw_budget *budget, u32 weight)
{
	budget->bytes = weight * XIW_BUDGET_BYTES;
	budget->cost = weight * XIW_BUDGET_COST;
}

/* Charges @n FPDUs of @bytes each. */
static inline void xiw_budget_charge_equal(struct xiw_budget *budget, u32 n,
					   u32 bytes)
{
	budget->bytes -= n * bytes;
	budget->cost -= n;
}

static inline void xiw_budget_charge(struct xiw_budget *budget, u32 bytes)
{
	xiw_budget_charge_equal(budget, 1, bytes);
}

static inline bool xiw_budget_spent(const struct xiw_budget *budget)
{
	return budget->bytes <= 0 || budget->cost <= 0;
}

/* Number of FPDUs of @bytes each that use up the budget */
static inline u32 xiw_budget_equal(const struct xiw_budget *budget, u32 bytes)
{
	if (xiw_budget_spent(budget))
		return 0;
	return min_t(u32, DIV_ROUND_UP((u32)budget->bytes, bytes),
		     budget->cost);
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
 * True if a timer that starts now may run the engine, false if a work item
 * must. The kernel runs all expired timers in one softirq, and each of them has
 * a budget of its own, so the time of all together is limited.
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
	/* streak needed before the first deferral */
	XIW_POSTS_NEED		= 2,
	/* streak needed if no deferral is useful */
	XIW_POSTS_MAX_NEED	= 64,
	/* a deferral that collected fewer requests was unused */
	XIW_POSTS_UNUSED_WRS	= 2,
	/* a deferral that collected this many was useful */
	XIW_POSTS_USEFUL_WRS	= 4,
};

/* The last completed request of a stream */
enum xiw_posts_last {
	XIW_POSTS_DATA,		/* a Send or Write, or none */
	XIW_POSTS_READ,		/* a Read or Atomic that was not signaled */
	/* a signaled Read or Atomic: the process may have waited for it */
	XIW_POSTS_SIGNALED_READ,
};

/**
 * struct xiw_posts - burst detection; owner: socket lock holder
 * @streak: runs in a row that were part of a burst
 * @need: streak that begins a doorbell deferral, at least one. 0 after a useful
 *	deferral, and 1 after an unused one that follows it: a process that
 *	posts in batches may begin each of them with a single request
 * @last: the last completed request
 * @requests_before: requests of the peer when the last run for a post began
 * @run_end: end of that run, ktime_get_ns()
 * @deferred_from: index in the send queue at which the deferral began
 */
struct xiw_posts {
	u8 streak;
	u8 need;
	enum xiw_posts_last last;
	u32 requests_before;
	u64 run_end;
	u32 deferred_from;
};

static inline void xiw_posts_init(struct xiw_posts *posts)
{
	posts->streak = 0;
	posts->need = XIW_POSTS_NEED;
}

/* Was the last run part of a burst of posts? */
static inline bool xiw_posts_are_burst(const struct xiw_posts *posts)
{
	return posts->streak && posts->streak >= posts->need;
}

/**
 * xiw_posts_update() - check if the process is likely to continue posting
 * @posts: burst detection
 * @burst: the requests of this run are part of a burst
 * @deferral: they were collected in a doorbell deferral
 * @started: number of requests in this run
 *
 * The number of requests that a deferral has collected determines the streak
 * needed for the next one. After many requests a single run suffices; if they
 * were Reads, this run counts as part of a burst whatever else happened. After
 * fewer than two the process waits for its requests, and the streak needed is
 * doubled: an unused deferral costs a timer and delays the requests posted in
 * it. A run without requests does not count.
 *
 * Return: true if the doorbell should be deferred.
 */
static inline bool xiw_posts_update(struct xiw_posts *posts, bool burst,
				    bool deferral, u32 started)
{
	if (!started)
		return burst && xiw_posts_are_burst(posts);
	if (deferral && started >= XIW_POSTS_USEFUL_WRS) {
		posts->need = 0;
		burst |= posts->last != XIW_POSTS_DATA;
	} else if (deferral && started < XIW_POSTS_UNUSED_WRS) {
		posts->need = clamp_t(u32, 2 * posts->need, 1,
				      XIW_POSTS_MAX_NEED);
		burst = false;
	} else if (deferral) {
		posts->need = max_t(u32, posts->need, XIW_POSTS_NEED);
	}
	posts->streak = burst ? min(posts->streak + 1, XIW_POSTS_MAX_NEED) : 0;
	return xiw_posts_are_burst(posts);
}

#endif /* _XIW_BUDGET_H */
