/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The verbs that post to a queue pair.
 */
#ifndef _XIW_POST_H
#define _XIW_POST_H

struct ib_qp;
struct ib_recv_wr;
struct ib_send_wr;

int xiw_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr);
int xiw_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr);

#endif /* _XIW_POST_H */
