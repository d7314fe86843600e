/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One end of a connection under load: Writes and Reads of the peer's memory
 * are always under way, and a Send goes back and forth; whatever arrives is
 * checked. When the connection ends each work request must have completed
 * exactly once.
 */
#ifndef _LOAD_H
#define _LOAD_H

#include "xt.h"

/**
 * struct load_opts - what an end does
 * @side: where it lives
 * @peer: for an active end, where the passive one is
 * @port: of the passive end
 * @passive: which end it is
 * @limit: disconnect after so many messages, 0 for never
 * @tos: type of service of what it sends, 0 for what is usual
 * @listens: called when a passive end listens, or NULL
 * @runs: called when the first message has arrived
 */
struct load_opts {
	const struct xt_side *side;
	const struct xt_side *peer;
	int port;
	bool passive;
	__u64 limit;
	__u8 tos;
	void (*listens)(void);
	void (*runs)(void);
};

/**
 * struct load_result - how it ended
 * @gone: the device is gone
 * @received: messages
 * @gap_ms: the longest time between two of them
 */
struct load_result {
	bool gone;
	__u64 received;
	__u64 gap_ms;
};

struct load_result load_run(const struct load_opts *lo);
void load_end(int sig);

#endif /* _LOAD_H */
