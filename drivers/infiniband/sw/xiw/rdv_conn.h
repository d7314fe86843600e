/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Common code of both sides of an out-of-band connection.
 */
#ifndef _XIW_RDV_CONN_H
#define _XIW_RDV_CONN_H

#include <linux/socket.h>
#include <linux/types.h>

#include "proto/rendezvous.h"

struct xiw_dev;
struct xiw_ep;

void xiw_rdv_policy(struct xiw_ep *ep);
void xiw_rdv_to_addr(const struct xiw_dev *dev, const u8 *gid, u16 port,
		     struct sockaddr_storage *addr);
u16 xiw_rdv_port_of(const struct sockaddr_storage *addr);
void xiw_rdv_to_gid(const struct sockaddr_storage *addr, u8 *gid);
void xiw_rdv_agree(struct xiw_ep *ep, u16 features);
int xiw_rdv_start_stream(struct xiw_ep *ep, const struct xiw_rdv_path *path,
			 bool initiator);

#endif /* _XIW_RDV_CONN_H */
