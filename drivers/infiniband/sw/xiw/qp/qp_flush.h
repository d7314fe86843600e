/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * End of the stream of a queue pair, and the flush of both queues.
 */
#ifndef _XIW_QP_FLUSH_H
#define _XIW_QP_FLUSH_H

#include <linux/types.h>

#include "oob/oob.h"

struct xiw_ep;
struct xiw_qp;

void xiw_qp_flush_init(struct xiw_qp *qp);
bool xiw_qp_stop(struct xiw_qp *qp, struct xiw_ep *ep);
void xiw_qp_end_stream(struct xiw_qp *qp);
void xiw_qp_reset_stream(struct xiw_qp *qp);
void xiw_qp_late_flush(struct xiw_qp *qp);
void xiw_qp_await(struct xiw_qp *qp, enum xiw_oob_timer what);

#endif /* _XIW_QP_FLUSH_H */
