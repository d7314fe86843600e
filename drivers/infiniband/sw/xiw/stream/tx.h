/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Transmit engine: from messages to FPDUs in the socket.
 */
#ifndef _XIW_TX_H
#define _XIW_TX_H

#include <linux/types.h>

struct xiw_stream;

void xiw_tx_init(struct xiw_stream *s);
void xiw_tx_start(struct xiw_stream *s);
void xiw_tx_stop(struct xiw_stream *s);
bool xiw_tx_owes_term(const struct xiw_stream *s);
void xiw_tx_reset(struct xiw_stream *s);
void xiw_tx_run_locked(struct xiw_stream *s);
void xiw_tx_run_posted(struct xiw_stream *s);
void xiw_tx_space(struct xiw_stream *s);
void xiw_tx_kick(struct xiw_stream *s, bool may_sleep);
void xiw_tx_fin(struct xiw_stream *s);

#endif /* _XIW_TX_H */
