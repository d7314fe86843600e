/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Receive side of connections over SCTP.
 */
#ifndef _XIW_SCTP_RX_H
#define _XIW_SCTP_RX_H

#include "llp.h"

struct xiw_mpa_frame;
struct xiw_sctp;

bool xiw_sctp_receive(struct xiw_sctp *c);
bool xiw_sctp_may_receive(const struct xiw_sctp *c);
int xiw_sctp_read(struct xiw_llp *llp, sk_read_actor_t actor, void *arg);
int xiw_sctp_take_frame(struct xiw_sctp *c, struct xiw_mpa_frame *frame,
			void *pdata);
void xiw_sctp_purge(struct xiw_sctp *c);

#endif /* _XIW_SCTP_RX_H */
