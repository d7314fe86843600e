/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Event counters of a device; exported by counters.c.
 */
#ifndef _XIW_STATS_H
#define _XIW_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

enum xiw_stat {
	XIW_STAT_TX_FPDU,
	XIW_STAT_TX_BYTES,
	XIW_STAT_TX_SENDMSG,
	XIW_STAT_TX_BLOCKED,
	XIW_STAT_TX_NOMEM,
	XIW_STAT_RX_FPDU,
	XIW_STAT_RX_BYTES,
	XIW_STAT_RX_SPLIT,
	XIW_STAT_RX_EARLY,
	XIW_STAT_RX_NOMEM,
	XIW_STAT_RX_RNR,
	XIW_STAT_DOORBELL,
	XIW_STAT_BUSY_POLL,
	XIW_STAT_BUSY_POLL_EXPIRED,
	XIW_STAT_CRC_ERROR,
	XIW_STAT_PROTO_ERROR,
	XIW_STAT_TERM_SENT,
	XIW_STAT_TERM_RECEIVED,
	XIW_STAT_CQ_OVERFLOW,
	XIW_STAT_CONN_ACTIVE,
	XIW_STAT_CONN_PASSIVE,
	XIW_STAT_CONN_REJECTED,
	XIW_STAT_CONN_FAILED,
	XIW_STAT_CONN_TIMEOUT,
	XIW_STAT_CONN_MISROUTED,
	XIW_STAT_MPA_MALFORMED,
	XIW_STAT_MPA_FALLBACK,
	XIW_STAT_LLP_LOST,
	XIW_STAT_COUNT,
};

struct xiw_stats {
	u64 cnt[XIW_STAT_COUNT];
};

/* @stats: struct xiw_stats __percpu * of a device. Any context. */
#define xiw_stat_add(stats, stat, n) \
	this_cpu_add((stats)->cnt[(stat)], (n))
#define xiw_stat_inc(stats, stat)	xiw_stat_add(stats, stat, 1)

#endif /* _XIW_STATS_H */
