/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Whose is this iw_cm_id: the namespace of its consumer, and which queue pairs
 * the consumer may use. And to which device rdma_cm gives a request.
 */
#ifndef _XIW_CONSUMER_H
#define _XIW_CONSUMER_H

#include <linux/types.h>

struct iw_cm_id;
struct net;
struct sockaddr_storage;
struct xiw_dev;
struct xiw_qp;

struct net *xiw_consumer_net(const struct iw_cm_id *cm_id);
bool xiw_consumer_here(const struct xiw_dev *dev);
struct net *xiw_consumer_get_net(const struct xiw_dev *dev);
int xiw_consumer_netdev(struct net *net, const struct sockaddr_storage *local);
bool xiw_consumer_takes(const struct xiw_dev *dev, struct net *net,
			int ifindex);
struct xiw_dev *xiw_consumer_get_dev(struct net *net, int ifindex);
int xiw_consumer_owns(const struct iw_cm_id *cm_id, const struct xiw_qp *qp);

#endif /* _XIW_CONSUMER_H */
