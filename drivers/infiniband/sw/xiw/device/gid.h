/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The GIDs of a port: the addresses of the netdev.
 */
#ifndef _XIW_GID_H
#define _XIW_GID_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct net_device;
struct xiw_dev;

void xiw_gid_init(struct xiw_dev *dev);
void xiw_gid_exit(struct xiw_dev *dev);
void xiw_gid_update(struct xiw_dev *dev);
bool xiw_gid_is_address(struct xiw_dev *dev, const union ib_gid *gid);
int xiw_query_gid(struct ib_device *ibdev, u32 port_num, int index,
		  union ib_gid *gid);
struct net_device *xiw_get_netdev(struct ib_device *ibdev, u32 port_num);
int xiw_gid_module_init(void);
void xiw_gid_module_exit(void);

#endif /* _XIW_GID_H */
