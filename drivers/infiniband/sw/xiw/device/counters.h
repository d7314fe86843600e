/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The event counters as the core shows them.
 */
#ifndef _XIW_COUNTERS_H
#define _XIW_COUNTERS_H

#include <linux/types.h>

struct attribute_group;
struct ib_device;
struct rdma_hw_stats;

/* ib_device_ops.port_groups */
extern const struct attribute_group *xiw_port_groups[];

struct rdma_hw_stats *xiw_alloc_hw_port_stats(struct ib_device *ibdev,
					      u32 port_num);
int xiw_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *hw_stats,
		     u32 port_num, int index);

#endif /* _XIW_COUNTERS_H */
