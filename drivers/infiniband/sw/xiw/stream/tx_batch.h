/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Batches of FPDUs, from messages to the socket.
 */
#ifndef _XIW_TX_BATCH_H
#define _XIW_TX_BATCH_H

#include <linux/types.h>

struct xiw_stream;

void xiw_tx_batch_build(struct xiw_stream *s);
bool xiw_tx_batch_waits(struct xiw_stream *s);
int xiw_tx_batch_send(struct xiw_stream *s);
void xiw_tx_batch_drop(struct xiw_stream *s);

#endif /* _XIW_TX_BATCH_H */
