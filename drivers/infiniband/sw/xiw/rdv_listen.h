/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Listeners for Responders of out-of-band connections.
 */
#ifndef _XIW_RDV_LISTEN_H
#define _XIW_RDV_LISTEN_H

#include <linux/types.h>

struct xiw_dev;
struct xiw_qp;

void xiw_rdv_port_wake(struct xiw_qp *qp);
int xiw_rdv_port_get(struct xiw_qp *qp, const u8 *gid, u16 port);
void xiw_rdv_port_put(struct xiw_qp *qp);
void xiw_rdv_reserve(struct xiw_dev *dev);
void xiw_rdv_set_port(struct xiw_dev *dev, u16 port);
void xiw_rdv_device_exit(struct xiw_dev *dev);

#endif /* _XIW_RDV_LISTEN_H */
