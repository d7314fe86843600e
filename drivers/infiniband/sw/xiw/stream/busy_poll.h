/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Busy-poll work of a stream. See busy_poll.c.
 */
#ifndef _XIW_BUSY_POLL_H
#define _XIW_BUSY_POLL_H

#include "stream.h"

void xiw_busy_poll_init(struct xiw_stream *s);
void xiw_busy_poll_post_tx(struct xiw_stream *s);
void xiw_busy_poll_post_rx(struct xiw_stream *s);
bool xiw_busy_poll_claim(struct xiw_stream *s);
u32 xiw_busy_poll_take(struct xiw_stream *s);
void xiw_busy_poll_cancel(struct xiw_stream *s);

#endif /* _XIW_BUSY_POLL_H */
