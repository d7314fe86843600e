/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How a queue pair gets an out-of-band connection, and how that is rolled back.
 */
#ifndef _XIW_RDV_QP_H
#define _XIW_RDV_QP_H

#include "proto/rendezvous.h"

struct xiw_ep;
struct xiw_qp;

int xiw_rdv_admit(struct xiw_qp *qp, struct xiw_ep *ep,
		  const struct xiw_rdv_request *req, struct xiw_rdv_path *path);
bool xiw_rdv_undo(struct xiw_qp *qp, struct xiw_ep *ep);

#endif /* _XIW_RDV_QP_H */
