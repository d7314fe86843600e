/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Receive side of a stream: processing of verified FPDUs.
 */
#ifndef _XIW_RX_H
#define _XIW_RX_H

struct xiw_stream;

void xiw_rx_init(struct xiw_stream *s);
int xiw_rx_start(struct xiw_stream *s);
void xiw_rx_stop(struct xiw_stream *s);
void xiw_rx_run_locked(struct xiw_stream *s);
void xiw_rx_bulk_locked(struct xiw_stream *s);
void xiw_rx_close_locked(struct xiw_stream *s);
void xiw_rx_unstall_locked(struct xiw_stream *s);
void xiw_rx_posted(struct xiw_stream *s);

#endif /* _XIW_RX_H */
