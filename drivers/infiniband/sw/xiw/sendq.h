/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Transmit scheduling of a stream, and completion in order.
 */
#ifndef _XIW_SENDQ_H
#define _XIW_SENDQ_H

#include <linux/types.h>

#include "proto/reason.h"

struct xiw_req;
struct xiw_stream;
struct xiw_swr;

bool xiw_sendq_next(struct xiw_stream *s);
void xiw_sendq_bound(struct xiw_stream *s);
bool xiw_sendq_none_posted(struct xiw_stream *s);
void xiw_sendq_laid_out(struct xiw_stream *s);
bool xiw_sendq_waits(struct xiw_stream *s);
bool xiw_sendq_idle(const struct xiw_stream *s);
bool xiw_sendq_empty(const struct xiw_stream *s);
void xiw_sendq_blame(struct xiw_stream *s, enum xiw_reason reason,
		     const struct xiw_req *req, u32 done);
void xiw_sendq_fail(struct xiw_stream *s, struct xiw_swr *wr, u8 status);
void xiw_sendq_complete(struct xiw_stream *s);
bool xiw_sendq_unfinished(struct xiw_stream *s);
void xiw_sendq_rewind(struct xiw_stream *s);
bool xiw_sendq_flush(struct xiw_stream *s);

#endif /* _XIW_SENDQ_H */
