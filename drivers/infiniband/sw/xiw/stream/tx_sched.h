/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Transmit scheduling of a stream, and completion in order.
 */
#ifndef _XIW_TX_SCHED_H
#define _XIW_TX_SCHED_H

#include <linux/types.h>

#include "proto/reason.h"

struct xiw_ird_entry;
struct xiw_stream;
struct xiw_swr;
struct xiw_tx_msg;

bool xiw_tx_sched_next(struct xiw_stream *s);
bool xiw_tx_sched_park(struct xiw_stream *s);
void xiw_tx_sched_turn(struct xiw_stream *s);
u64 xiw_tx_sched_pos(const struct xiw_stream *s, const struct xiw_tx_msg *msg);
bool xiw_tx_sched_waits_for_pages(struct xiw_stream *s,
				  const struct xiw_tx_msg *msg);
void xiw_tx_sched_limit(struct xiw_stream *s);
bool xiw_tx_sched_none_posted(struct xiw_stream *s);
void xiw_tx_sched_encoded(struct xiw_stream *s);
bool xiw_tx_sched_waits(struct xiw_stream *s);
bool xiw_tx_sched_idle(const struct xiw_stream *s);
bool xiw_tx_sched_empty(const struct xiw_stream *s);
void xiw_tx_sched_bad_request(struct xiw_stream *s, enum xiw_reason reason,
			      const struct xiw_ird_entry *req, u32 done);
void xiw_tx_sched_fail(struct xiw_stream *s, struct xiw_swr *wr, u8 status);
void xiw_tx_sched_complete(struct xiw_stream *s);
bool xiw_tx_sched_unfinished(struct xiw_stream *s);
void xiw_tx_sched_rewind(struct xiw_stream *s);
bool xiw_tx_sched_flush(struct xiw_stream *s);

#endif /* _XIW_TX_SCHED_H */
