/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Creation of devices, and how they follow the state of their netdev.
 */
#ifndef _XIW_DEVICE_H
#define _XIW_DEVICE_H

#include <linux/types.h>

struct ib_device;
struct net_device;
struct xiw_dev;

int xiw_device_add(const char *name, struct net_device *netdev);
void xiw_disable_driver(struct ib_device *ibdev);
void xiw_device_rename(struct xiw_dev *dev);
void xiw_device_update_port(struct xiw_dev *dev);
void xiw_report_port_event(struct ib_device *ibdev, struct net_device *netdev,
			   unsigned long event);
int xiw_query_port_speed(struct ib_device *ibdev, u32 port_num, u64 *speed);

#endif /* _XIW_DEVICE_H */
