/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The retry timer of a queue pair that is connected out of band.
 */
#ifndef _XIW_RDV_WAIT_H
#define _XIW_RDV_WAIT_H

#include <linux/types.h>

struct xiw_qp;

void xiw_rdv_wait_init(struct xiw_qp *qp);
void xiw_rdv_wait_end(struct xiw_qp *qp);
void xiw_rdv_await_posted(struct xiw_qp *qp);
void xiw_rdv_give_up(struct xiw_qp *qp);

#endif /* _XIW_RDV_WAIT_H */
