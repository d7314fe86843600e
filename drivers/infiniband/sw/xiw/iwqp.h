/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue pairs as iw_cm sees them; see iwqp.c.
 */
#ifndef _XIW_IWQP_H
#define _XIW_IWQP_H

#include <linux/types.h>

struct ib_device;
struct ib_qp;
struct xiw_dev;
struct xiw_qp;

void xiw_iwqp_module_exit(void);
void xiw_iwqp_add_ref(struct ib_qp *ibqp);
void xiw_iwqp_rem_ref(struct ib_qp *ibqp);
struct ib_qp *xiw_iwqp_get(struct ib_device *ibdev, int qpn);
struct ib_qp *xiw_iwqp_current(struct xiw_dev *dev, u32 qpn);
struct xiw_qp *xiw_iwqp_qp(struct ib_qp *ibqp);
void xiw_iwqp_disown(struct ib_qp *ibqp);
int xiw_iwqp_init(struct xiw_qp *qp);
void xiw_iwqp_drop(struct xiw_qp *qp);

#endif /* _XIW_IWQP_H */
