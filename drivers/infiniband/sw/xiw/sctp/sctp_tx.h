/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Transmit side of connections over SCTP.
 */
#ifndef _XIW_SCTP_TX_H
#define _XIW_SCTP_TX_H

#include "llp/llp.h"

struct xiw_mpa_frame;
struct xiw_sctp;
struct xiw_sock;

bool xiw_sctp_has_room(const struct xiw_sctp *c);
int xiw_sctp_send(struct xiw_llp *llp, struct bio_vec *bv, unsigned int nr,
		  size_t len, enum xiw_llp_push push);
int xiw_sctp_send_fpdu(struct xiw_sctp *c, const u8 *buf, size_t len);
int xiw_sctp_send_frame(struct xiw_sctp *c, const struct xiw_mpa_frame *frame,
			const void *pdata);
void xiw_sctp_end_session(struct xiw_sctp *c);

#endif /* _XIW_SCTP_TX_H */
