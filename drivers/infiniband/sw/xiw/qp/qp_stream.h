/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The stream operations of a queue pair, and the state that the ULP sees.
 */
#ifndef _XIW_QP_STREAM_H
#define _XIW_QP_STREAM_H

#include <rdma/ib_verbs.h>

struct mem_cgroup;
struct xiw_ep;
struct xiw_qp;

void xiw_qp_stream_init(struct xiw_qp *qp, struct mem_cgroup *memcg);
enum ib_qp_state xiw_qp_ib_state(const struct xiw_qp *qp);
int xiw_qp_attach(struct xiw_qp *qp, struct xiw_ep *ep);
void xiw_qp_stands(struct xiw_qp *qp);

#endif /* _XIW_QP_STREAM_H */
