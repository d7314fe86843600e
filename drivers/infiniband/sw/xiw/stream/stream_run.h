/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Beginning and end of a stream; see stream_run.c.
 */
#ifndef _XIW_STREAM_RUN_H
#define _XIW_STREAM_RUN_H

#include <linux/types.h>

struct ib_pd;
struct xiw_conn;
struct xiw_llp;
struct xiw_stream;

void xiw_stream_init(struct xiw_stream *s, struct ib_pd *pd);
int xiw_stream_start(struct xiw_stream *s, struct xiw_llp *llp,
		     const struct xiw_conn *conn);
void xiw_stream_run(struct xiw_stream *s, struct xiw_llp *llp);
void xiw_stream_run_busy_poll(struct xiw_stream *s);
void xiw_stream_limit(struct xiw_stream *s, u32 ord);
void xiw_stream_settle(struct xiw_stream *s);
void xiw_stream_close(struct xiw_stream *s);
void xiw_stream_forget(struct xiw_stream *s);
bool xiw_stream_detach_if(struct xiw_stream *s, struct xiw_llp *llp,
			  bool (*wanted)(struct xiw_stream *s));
void xiw_stream_detach(struct xiw_stream *s, struct xiw_llp *llp);
void xiw_stream_release(struct xiw_stream *s);
void xiw_stream_cancel_all(struct xiw_stream *s);

#endif /* _XIW_STREAM_RUN_H */
