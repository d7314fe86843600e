/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The lower layer protocol as a stream sees it: a connection that carries
 * octets in order, with one lock. sock.c is the one for TCP; the KUnit suite of
 * streams has a pipe.
 *
 * The lock serialises all that happens to a stream. Callbacks run with it held:
 * in softirq context as a spinlock, or owned, in process context. Functions
 * below need it held in one of these two ways, unless they say otherwise.
 */
#ifndef _XIW_LLP_H
#define _XIW_LLP_H

#include <linux/bvec.h>
#include <linux/skbuff.h>
#include <linux/types.h>

struct mem_cgroup;
struct xiw_llp;

/**
 * struct xiw_llp_events - what the user of a connection wants to hear
 * @data_ready: bytes, or the end of the stream, can be read; on a listener,
 *	a connection waits to be accepted
 * @write_space: room in the send buffer after send() returned -EAGAIN
 * @state_change: connected, peer closed, or connection lost
 *
 * Each is called with the lock held as described above (on a listener with
 * sk_callback_lock instead), must not sleep, and may be called without cause.
 * They never nest: what happens during a callback, a send or a read is reported
 * when the callback returns or the lock is given back.
 */
struct xiw_llp_events {
	void (*data_ready)(struct xiw_llp *llp, void *ctx);
	void (*write_space)(struct xiw_llp *llp, void *ctx);
	void (*state_change)(struct xiw_llp *llp, void *ctx);
};

/* How a connection stands. */
enum xiw_llp_status {
	XIW_LLP_CONNECTING,
	XIW_LLP_OPEN,		/* established, nothing closed yet */
	XIW_LLP_PEER_CLOSED,	/* FIN received and everything before it read */
	XIW_LLP_LOST,		/* reset, timed out, or fully closed */
};

/**
 * struct xiw_llp_space - where what is sent next will lie
 * @emss: effective maximum segment size: payload of a full segment
 * @tail_fill: octets in a last segment to which more can be added
 * @sndbuf: how much is taken, at present, before it was sent
 */
struct xiw_llp_space {
	u32 emss;
	u32 tail_fill;
	u32 sndbuf;
};

/*
 * Gets one packet after the other, the offset of the first unread octet in it
 * and the number of octets; returns how many it consumed, and stops the reading
 * by consuming less.
 */
typedef int (*xiw_llp_actor)(void *arg, struct sk_buff *skb, unsigned int off,
			     size_t len);

/**
 * struct xiw_llp_ops - a lower layer protocol
 * @get: take a reference; any context
 * @put: drop one; any context
 * @lock: take the lock from process context, also of a connection that was
 *	released: check afterwards that it still is the wanted one. Sleeps
 * @unlock: give it back, and run the callbacks that became due
 * @trylock_bh: take it as a spinlock, with interrupts on. False if anybody
 *	holds or owns it
 * @unlock_bh: give it back after that, likewise
 * @set_events: redirect the callbacks; with NULL they go nowhere. When it
 *	returns, no callback of the former user runs or will run. What happened
 *	before is not repeated: look at the connection after the call. Without
 *	the lock; sleeps
 * @charge: have the memory that the connection holds, and will hold, charged to
 *	a control group, which is referenced. With the lock owned. Returns 0, or
 *	-ENOMEM if that has not enough left
 * @here: a process that uses the connection runs on this processor, where its
 *	packets are wanted
 * @can_yield: is the lock owned, and no callback running
 * @yield: if so, let in what has arrived meanwhile; the caller keeps the lock.
 *	The connection may be lost afterwards. Callbacks that become due run
 *	when the lock is given back. May sleep
 * @send: hand @len octets to be sent, of pages that must not change while the
 *	connection has references on them; @more: more follows at once. Returns
 *	octets taken, at least one, or -EAGAIN. If not all were taken there is
 *	no more room, and write_space tells when there is, unless nothing is in
 *	flight. Another negative errno if the connection is lost or shut down
 * @space: fill in struct xiw_llp_space
 * @idle: is nothing queued and nothing in flight
 * @read: offer what has arrived to @actor. Returns octets consumed, or a
 *	negative errno
 * @unread: octets that arrived and were not read, not counting a FIN
 * @urgent: is there urgent data ahead, at which reading stops
 * @status: how the connection stands
 * @orderly: of a lost one: were both FINs exchanged, and everything read
 */
struct xiw_llp_ops {
	void (*get)(struct xiw_llp *llp);
	void (*put)(struct xiw_llp *llp);
	void (*lock)(struct xiw_llp *llp);
	void (*unlock)(struct xiw_llp *llp);
	bool (*trylock_bh)(struct xiw_llp *llp);
	void (*unlock_bh)(struct xiw_llp *llp);
	void (*set_events)(struct xiw_llp *llp,
			   const struct xiw_llp_events *events, void *ctx);
	int (*charge)(struct xiw_llp *llp, struct mem_cgroup *memcg);
	void (*here)(const struct xiw_llp *llp);
	bool (*can_yield)(const struct xiw_llp *llp);
	void (*yield)(struct xiw_llp *llp);
	int (*send)(struct xiw_llp *llp, struct bio_vec *bv, unsigned int nr,
		    size_t len, bool more);
	void (*space)(const struct xiw_llp *llp, struct xiw_llp_space *space);
	bool (*idle)(const struct xiw_llp *llp);
	int (*read)(struct xiw_llp *llp, xiw_llp_actor actor, void *arg);
	int (*unread)(struct xiw_llp *llp);
	bool (*urgent)(const struct xiw_llp *llp);
	enum xiw_llp_status (*status)(struct xiw_llp *llp);
	bool (*orderly)(struct xiw_llp *llp);
};

/**
 * struct xiw_llp - a connection
 * @ops: what it does
 */
struct xiw_llp {
	const struct xiw_llp_ops *ops;
};

#endif /* _XIW_LLP_H */
