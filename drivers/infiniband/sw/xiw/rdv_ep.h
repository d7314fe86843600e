/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What endpoints of connections by number do when.
 */
#ifndef _XIW_RDV_EP_H
#define _XIW_RDV_EP_H

struct xiw_dev;

void xiw_rdv_device_init(struct xiw_dev *dev);

#endif /* _XIW_RDV_EP_H */
