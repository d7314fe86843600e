/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Busy-poll work of a stream. See offer.c.
 */
#ifndef _XIW_OFFER_H
#define _XIW_OFFER_H

#include "stream.h"

void xiw_offer_init(struct xiw_stream *s);
void xiw_offer_tx(struct xiw_stream *s);
void xiw_offer_rx(struct xiw_stream *s);
bool xiw_offer_claim(struct xiw_stream *s);
u32 xiw_offer_take(struct xiw_stream *s);
void xiw_offer_drop(struct xiw_stream *s);

#endif /* _XIW_OFFER_H */
