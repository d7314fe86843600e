/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Event counters of a device, one per event somebody may want to know of.
 * Shown by "rdma statistic show". Incremented from any context.
 */
#ifndef _XIW_STATS_H
#define _XIW_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

struct ib_device;
struct rdma_hw_stats;

enum xiw_stat {
	XIW_STAT_TX_FPDU,
	XIW_STAT_TX_BYTES,
	XIW_STAT_TX_SENDMSG,
	XIW_STAT_TX_BLOCKED,
	XIW_STAT_TX_NOMEM,
	XIW_STAT_RX_FPDU,
	XIW_STAT_RX_BYTES,
	XIW_STAT_RX_SPLIT,
	XIW_STAT_RX_NOMEM,
	XIW_STAT_RX_LATE_RECV,
	XIW_STAT_DOORBELL,
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
	XIW_STAT_MPA_MALFORMED,
	XIW_STAT_MPA_FALLBACK,
	XIW_STAT_LLP_LOST,
	XIW_STAT_COUNT,
};

struct xiw_stats {
	u64 cnt[XIW_STAT_COUNT];
};

#define xiw_stat_add(dev, stat, n) \
	this_cpu_add((dev)->stats->cnt[(stat)], (n))
#define xiw_stat_inc(dev, stat)		xiw_stat_add(dev, stat, 1)

/* stats.c */
struct rdma_hw_stats *xiw_alloc_hw_port_stats(struct ib_device *ibdev,
					      u32 port_num);
int xiw_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *hw_stats,
		     u32 port_num, int index);

#endif /* _XIW_STATS_H */
