/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Receive side of connections over SCTP.
 */
#ifndef _XIW_SCTP_RX_H
#define _XIW_SCTP_RX_H

#include "llp/llp.h"

struct xiw_mpa_frame;
struct xiw_sctp;

/* What is to be done with the first unread message in the socket's queue */
enum xiw_sctp_next {
	XIW_SCTP_NOTHING,	/* there is none, or it has to wait */
	XIW_SCTP_READ,		/* the user can read it in place */
	XIW_SCTP_COPY,		/* the work has to copy it */
};

enum xiw_sctp_next xiw_sctp_next(struct xiw_sctp *c);
enum xiw_sctp_next xiw_sctp_receive(struct xiw_sctp *c);
void xiw_sctp_reap(struct xiw_sctp *c);
void xiw_sctp_reap_if_due(struct xiw_sctp *c);
void xiw_sctp_reap_later(struct xiw_sctp *c);
int xiw_sctp_read(struct xiw_llp *llp, sk_read_actor_t actor, void *arg);
int xiw_sctp_unread(struct xiw_llp *llp);
int xiw_sctp_take_frame(struct xiw_sctp *c, struct xiw_mpa_frame *frame,
			void *pdata);
void xiw_sctp_purge(struct xiw_sctp *c);

#endif /* _XIW_SCTP_RX_H */
