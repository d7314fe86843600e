/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Batches of FPDUs (trains), from messages to the socket.
 */
#ifndef _XIW_TRAIN_H
#define _XIW_TRAIN_H

struct xiw_stream;

void xiw_train_build(struct xiw_stream *s);
int xiw_train_send(struct xiw_stream *s);
void xiw_train_drop(struct xiw_stream *s);

#endif /* _XIW_TRAIN_H */
