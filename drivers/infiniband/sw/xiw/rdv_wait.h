/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How long requests wait for the stream of a queue pair connected by number.
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
