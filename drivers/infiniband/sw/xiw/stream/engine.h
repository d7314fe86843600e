/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the files of a stream offer to each other: transmit (tx.c, with
 * tx_batch.c and tx_sched.c) and receive (rx.c, with deliver.c and place.c).
 */
#ifndef _XIW_ENGINE_H
#define _XIW_ENGINE_H

#include <linux/types.h>

#include "mem/mem.h"
#include "proto/rdmap.h"
#include "proto/reason.h"
#include "stream.h"

/* busy_poll.c */
void xiw_busy_poll_init(struct xiw_stream *s);
void xiw_busy_poll_post_tx(struct xiw_stream *s);
void xiw_busy_poll_post_rx(struct xiw_stream *s);
bool xiw_busy_poll_claim(struct xiw_stream *s);
u32 xiw_busy_poll_take(struct xiw_stream *s);
void xiw_busy_poll_cancel(struct xiw_stream *s);

/* deliver.c */
enum xiw_deliver {
	XIW_DELIVER_OK,
	XIW_DELIVER_STALL,	/* retry with the same FPDU later */
	XIW_DELIVER_DEAD,	/* the stream ended here */
};

enum xiw_deliver xiw_deliver(struct xiw_stream *s, struct xiw_fpdu *f);
u32 xiw_deliver_rnr_ms(const struct xiw_stream *s);

/* place.c */
enum xiw_mem_status xiw_place_write(struct xiw_stream *s, struct xiw_fpdu *f);
enum xiw_mem_status xiw_place_sges(struct xiw_stream *s, struct xiw_fpdu *f,
				   const struct xiw_sge *sge, u32 num_sge,
				   u64 offset, u32 len);
bool xiw_place_check_sges(struct xiw_stream *s, const struct xiw_sge *sge,
			  u32 num_sge);
enum xiw_reason xiw_mem_reason(enum xiw_mem_status status,
			       enum xiw_access access);
void xiw_place_series(struct xiw_stream *s, struct xiw_rx_pos *p);

/* rx.c */
void xiw_rx_init(struct xiw_stream *s);
int xiw_rx_start(struct xiw_stream *s);
void xiw_rx_stop(struct xiw_stream *s);
void xiw_rx_run_locked(struct xiw_stream *s);
void xiw_rx_bulk_locked(struct xiw_stream *s);
void xiw_rx_close_locked(struct xiw_stream *s);

/* stream.c */
void xiw_stream_queue_delayed(struct xiw_stream *s, struct delayed_work *work,
			      unsigned long delay);
void xiw_stream_cancel_delayed(struct xiw_stream *s, struct delayed_work *work);
void xiw_stream_tx_again(struct xiw_stream *s, unsigned long delay);
void xiw_stream_rx_again(struct xiw_stream *s, unsigned long delay);
void xiw_stream_trim_later(struct xiw_stream *s);
void xiw_stream_trim_fn(struct work_struct *work);
void xiw_stream_fault(struct xiw_stream *s, enum xiw_reason reason,
		      const struct xiw_term_offender *off);
void xiw_stream_send_done(struct xiw_stream *s, const struct xiw_swr *wr);

/* tx.c */
void xiw_tx_init(struct xiw_stream *s);
void xiw_tx_start(struct xiw_stream *s);
void xiw_tx_stop(struct xiw_stream *s);
void xiw_tx_run_posted(struct xiw_stream *s);
void xiw_tx_space(struct xiw_stream *s);
void xiw_tx_fin(struct xiw_stream *s);

/* tx_batch.c */
void xiw_tx_batch_build(struct xiw_stream *s);
bool xiw_tx_batch_waits(struct xiw_stream *s);
int xiw_tx_batch_send(struct xiw_stream *s);
void xiw_tx_batch_drop(struct xiw_stream *s);

/* tx_sched.c */
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

#endif /* _XIW_ENGINE_H */
