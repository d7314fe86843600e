/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * States and events of the endpoints of out-of-band connections.
 */
#ifndef _XIW_RDV_EP_H
#define _XIW_RDV_EP_H

struct xiw_dev;

void xiw_rdv_device_init(struct xiw_dev *dev);

#endif /* _XIW_RDV_EP_H */
