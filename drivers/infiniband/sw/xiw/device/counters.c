// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Event counters of the port. "rdma statistic show" and the directory
 * /sys/class/infiniband/<device>/ports/1/hw_counters have all of them, the
 * directory "counters" beside it has some by InfiniBand's names.
 */
#include "device.h"

#include <rdma/ib_sysfs.h>
#include <rdma/ib_verbs.h>

#include "dev.h"
#include "stats.h"

static const struct rdma_stat_desc xiw_stat_descs[] = {
	[XIW_STAT_TX_FPDU].name		= "tx_fpdus",
	[XIW_STAT_TX_BYTES].name	= "tx_bytes",
	[XIW_STAT_TX_SENDMSG].name	= "tx_sendmsgs",
	[XIW_STAT_TX_BLOCKED].name	= "tx_blocked",
	[XIW_STAT_TX_NOMEM].name	= "tx_no_memory",
	[XIW_STAT_RX_FPDU].name		= "rx_fpdus",
	[XIW_STAT_RX_BYTES].name	= "rx_bytes",
	[XIW_STAT_RX_SPLIT].name	= "rx_split_fpdus",
	[XIW_STAT_RX_EARLY].name	= "rx_early_chunks",
	[XIW_STAT_RX_NOMEM].name	= "rx_no_memory",
	[XIW_STAT_RX_RNR].name		= "rx_rnr_waits",
	[XIW_STAT_DOORBELL].name	= "doorbells",
	[XIW_STAT_BUSY_POLL].name	= "busy_poll",
	[XIW_STAT_BUSY_POLL_EXPIRED].name	= "busy_poll_expired",
	[XIW_STAT_CRC_ERROR].name	= "crc_errors",
	[XIW_STAT_PROTO_ERROR].name	= "protocol_errors",
	[XIW_STAT_TERM_SENT].name	= "terminates_sent",
	[XIW_STAT_TERM_RECEIVED].name	= "terminates_received",
	[XIW_STAT_CQ_OVERFLOW].name	= "cq_overflows",
	[XIW_STAT_CONN_ACTIVE].name	= "connections_active",
	[XIW_STAT_CONN_PASSIVE].name	= "connections_passive",
	[XIW_STAT_CONN_REJECTED].name	= "connections_rejected",
	[XIW_STAT_CONN_FAILED].name	= "connections_failed",
	[XIW_STAT_CONN_TIMEOUT].name	= "connections_timed_out",
	[XIW_STAT_CONN_MISROUTED].name	= "connections_misrouted",
	[XIW_STAT_MPA_MALFORMED].name	= "mpa_malformed",
	[XIW_STAT_MPA_FALLBACK].name	= "mpa_fallbacks",
	[XIW_STAT_LLP_LOST].name	= "connections_lost",
};

static_assert(ARRAY_SIZE(xiw_stat_descs) == XIW_STAT_COUNT);

struct rdma_hw_stats *xiw_alloc_hw_port_stats(struct ib_device *ibdev,
					      u32 port_num)
{
	return rdma_alloc_hw_stats_struct(xiw_stat_descs, XIW_STAT_COUNT,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static u64 counters_sum_up(const struct xiw_dev *dev, enum xiw_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->stats, cpu)->cnt[stat]);
	return sum;
}

/*
 * Fills in all counters whatever @index is, and returns their number; -EINVAL
 * for port 0, which stands for the device.
 */
int xiw_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *hw_stats,
		     u32 port_num, int index)
{
	const struct xiw_dev *dev = to_xdev(ibdev);
	int i;

	if (!port_num)
		return -EINVAL;

	for (i = 0; i < XIW_STAT_COUNT; i++)
		hw_stats->value[i] = counters_sum_up(dev, i);
	return XIW_STAT_COUNT;
}

/*
 * The core creates "counters" only for devices with InfiniBand's performance
 * management, which iWARP does not have. Monitoring tools read that directory
 * of each RDMA device, and some stop if one is missing. It counts data in units
 * of four bytes; a packet is an FPDU.
 */
struct port_counter {
	struct ib_port_attribute attr;
	enum xiw_stat stats[2];
	unsigned int num_stats;
	unsigned int unit;
};

static ssize_t counters_port_counter_show(struct ib_device *ibdev, u32 port_num,
					  struct ib_port_attribute *attr,
					  char *buf)
{
	const struct port_counter *pc =
		container_of(attr, struct port_counter, attr);
	u64 sum = 0;
	int i;

	for (i = 0; i < pc->num_stats; i++)
		sum += counters_sum_up(to_xdev(ibdev), pc->stats[i]);
	return sysfs_emit(buf, "%llu\n", div_u64(sum, pc->unit));
}

#define PORT_COUNTER(_name) \
	__ATTR(_name, 0444, counters_port_counter_show, NULL)

static struct port_counter port_counters[] = {
	{ PORT_COUNTER(port_xmit_data), { XIW_STAT_TX_BYTES }, 1, 4 },
	{ PORT_COUNTER(port_rcv_data), { XIW_STAT_RX_BYTES }, 1, 4 },
	{ PORT_COUNTER(port_xmit_packets), { XIW_STAT_TX_FPDU }, 1, 1 },
	{ PORT_COUNTER(port_rcv_packets), { XIW_STAT_RX_FPDU }, 1, 1 },
	{ PORT_COUNTER(unicast_xmit_packets), { XIW_STAT_TX_FPDU }, 1, 1 },
	{ PORT_COUNTER(unicast_rcv_packets), { XIW_STAT_RX_FPDU }, 1, 1 },
	{ PORT_COUNTER(port_rcv_errors),
	  { XIW_STAT_CRC_ERROR, XIW_STAT_PROTO_ERROR }, 2, 1 },
};

static struct attribute *port_counter_attrs[] = {
	&port_counters[0].attr.attr,
	&port_counters[1].attr.attr,
	&port_counters[2].attr.attr,
	&port_counters[3].attr.attr,
	&port_counters[4].attr.attr,
	&port_counters[5].attr.attr,
	&port_counters[6].attr.attr,
	NULL
};

static const struct attribute_group port_counter_group = {
	.name = "counters",
	.attrs = port_counter_attrs,
};

const struct attribute_group *xiw_port_groups[] = {
	&port_counter_group,
	NULL
};
