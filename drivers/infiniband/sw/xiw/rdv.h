/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * State changes of queue pairs that are connected out of band.
 */
#ifndef _XIW_RDV_H
#define _XIW_RDV_H

#include <rdma/ib_verbs.h>

struct xiw_qp;

bool xiw_rdv_names_peer(int mask);
int xiw_rdv_to_rtr(struct xiw_qp *qp, const struct ib_qp_attr *attr, int mask);
int xiw_rdv_to_rts(struct xiw_qp *qp, const struct ib_qp_attr *attr, int mask);
void xiw_rdv_forget(struct xiw_qp *qp);
void xiw_rdv_query(const struct xiw_qp *qp, struct ib_qp_attr *attr, int mask);

#endif /* _XIW_RDV_H */
