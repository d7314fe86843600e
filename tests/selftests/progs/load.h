/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One end of a connection under load: there are always outstanding Writes and
 * Reads of the peer's memory, the ends answer each other's Sends, and all
 * received data is checked. When the connection ends, each work request must
 * have completed exactly once.
 */
#ifndef _LOAD_H
#define _LOAD_H

#include "xt.h"

/**
 * struct load_opts - parameters of an end
 * @side: its namespace and address
 * @peer: for an active end, those of the passive one
 * @port: of the passive end
 * @passive: it is the passive end
 * @limit: disconnect after so many messages, 0 for never
 * @tos: type of service of its packets, 0 for the default
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
 * struct load_result - result of load_run()
 * @gone: the device was removed
 * @received: number of received messages
 * @gap_ms: the longest time between two of these
 */
struct load_result {
	bool gone;
	__u64 received;
	__u64 gap_ms;
};

struct load_result load_run(const struct load_opts *lo);
void load_end(int sig);

#endif /* _LOAD_H */
