/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Receive side: FPDUs in a row that continue one message.
 */
#ifndef _XIW_SERIES_H
#define _XIW_SERIES_H

struct xiw_rx_pos;
struct xiw_stream;

void xiw_series_take(struct xiw_stream *s, struct xiw_rx_pos *p);

#endif /* _XIW_SERIES_H */
