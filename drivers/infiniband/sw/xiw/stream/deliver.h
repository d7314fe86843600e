/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Delivery of received segments.
 */
#ifndef _XIW_DELIVER_H
#define _XIW_DELIVER_H

#include <linux/types.h>

struct xiw_fpdu;
struct xiw_stream;

enum xiw_deliver {
	XIW_DELIVER_OK,
	XIW_DELIVER_STALL,	/* retry with the same FPDU later */
	XIW_DELIVER_DEAD,	/* the stream ended here */
};

enum xiw_deliver xiw_deliver(struct xiw_stream *s, struct xiw_fpdu *f);
u32 xiw_deliver_rnr_ms(const struct xiw_stream *s);
void xiw_deliver_flush(struct xiw_stream *s);

#endif /* _XIW_DELIVER_H */
