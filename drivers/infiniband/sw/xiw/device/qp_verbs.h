/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The verbs of queue pairs.
 */
#ifndef _XIW_QP_VERBS_H
#define _XIW_QP_VERBS_H

struct ib_qp;
struct ib_qp_attr;
struct ib_qp_init_attr;
struct ib_recv_wr;
struct ib_send_wr;
struct ib_udata;

int xiw_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		  struct ib_udata *udata);
int xiw_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata);
int xiw_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int xiw_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int xiw_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr);
int xiw_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr);
void xiw_qp_send_doorbell(struct ib_qp *ibqp);
int xiw_qp_recv_doorbell(struct ib_qp *ibqp);

#endif /* _XIW_QP_VERBS_H */
