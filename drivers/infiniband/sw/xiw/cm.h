/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The connection manager of a device.
 */
#ifndef _XIW_CM_H
#define _XIW_CM_H

struct xiw_dev;
struct xiw_ep;

void xiw_cm_teardown(struct xiw_ep *ep);
int xiw_cm_device_init(struct xiw_dev *dev);
void xiw_cm_device_open(struct xiw_dev *dev);
void xiw_cm_device_joined(struct xiw_dev *dev);
void xiw_cm_device_kill(struct xiw_dev *dev);
void xiw_cm_device_exit(struct xiw_dev *dev);

#endif /* _XIW_CM_H */
