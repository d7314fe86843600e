/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Network namespaces: which ones may use a device, and which device rdma_cm
 * chooses for a request.
 */
#ifndef _XIW_CONSUMER_H
#define _XIW_CONSUMER_H

#include <linux/socket.h>
#include <linux/types.h>

struct net;
struct xiw_dev;

bool xiw_consumer_may_use(const struct xiw_dev *dev, const struct net *net);
bool xiw_consumer_here(const struct xiw_dev *dev);
struct net *xiw_consumer_get_net(const struct xiw_dev *dev);
int xiw_consumer_netdev(struct net *net, const struct sockaddr_storage *local);
bool xiw_consumer_takes(const struct xiw_dev *dev, struct net *net,
			int ifindex);
struct xiw_dev *xiw_consumer_get_dev(struct net *net, int ifindex);

#endif /* _XIW_CONSUMER_H */
