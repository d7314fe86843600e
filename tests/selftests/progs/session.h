/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A session of a peer, from the startup frame to the last FPDU: correct but for
 * a few mutations, and always the same for one number.
 */
#ifndef _SESSION_H
#define _SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#define SESSION_REQUEST_MAX	700
#define SESSION_STREAM_MAX	65536

/**
 * struct session_region - a region of the device that the peer may name
 * @stag: its key
 * @to: address of its first byte
 * @len: bytes
 */
struct session_region {
	__u32 stag;
	__u64 to;
	__u32 len;
};

/* Regions with all rights, without the right to write, of another domain */
enum { SESSION_RW, SESSION_RO, SESSION_OTHER, SESSION_REGIONS };

/* How the peer ends a session */
enum session_end { SESSION_FIN, SESSION_RESET, SESSION_CLOSE };

/**
 * struct session - all bytes that the peer sends on one connection
 * @state: state of the random number generator
 * @request: startup frame
 * @request_len: its bytes
 * @request_bad: the startup frame was changed, there may be no Reply
 * @stream: FPDUs
 * @stream_len: their bytes
 * @chunk: number of bytes to write at a time
 * @end: how to end the connection after the last byte
 */
struct session {
	__u64 state;
	__u8 request[SESSION_REQUEST_MAX];
	size_t request_len;
	bool request_bad;
	__u8 stream[SESSION_STREAM_MAX];
	size_t stream_len;
	size_t chunk;
	enum session_end end;
};

void session_make(struct session *s, __u64 seed, __u64 number,
		  const struct session_region *regions);

#endif /* _SESSION_H */
