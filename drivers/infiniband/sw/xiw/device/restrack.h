/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Details of our objects for "rdma resource show".
 */
#ifndef _XIW_RESTRACK_H
#define _XIW_RESTRACK_H

#include <linux/types.h>

struct ib_cq;
struct ib_mr;
struct ib_qp;
struct ib_srq;
struct sk_buff;

int xiw_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp);
int xiw_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int xiw_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr);
int xiw_fill_res_srq(struct sk_buff *msg, struct ib_srq *ibsrq);

#endif /* _XIW_RESTRACK_H */
