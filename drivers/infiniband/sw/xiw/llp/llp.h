/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The lower layer: a connection that carries bytes in order, with one lock, as
 * streams see it. sock.c implements it over TCP, sctp/ over SCTP, and the KUnit
 * suite of streams over a pipe. fpdu.h has the framing of MPA on top of it, and
 * sock.h the sockets for the connection manager.
 *
 * Uses only memory, to place a payload, and proto/.
 *
 * The lock serialises all events of a stream. Callbacks run with it held: in
 * softirq context as a spinlock, or owned, in process context. The functions
 * below need it held in one of these two ways, unless noted otherwise.
 *
 * Lifetimes: the socket is closed by its endpoint, and freed with the last
 * reference to its struct xiw_llp. TCP has references to the pages that it
 * sends until the peer has acknowledged their bytes.
 */
#ifndef _XIW_LLP_H
#define _XIW_LLP_H

#include <linux/bvec.h>
#include <linux/container_of.h>
#include <linux/kref.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/types.h>

struct mem_cgroup;
struct xiw_llp;

/**
 * struct xiw_llp_events - callbacks for the user of a connection
 * @data_ready: bytes, or the end of the stream, can be read; on a listener,
 *	a connection waits to be accepted
 * @write_space: room in the send buffer after send() returned -EAGAIN
 * @state_change: connected, peer closed, or connection lost
 *
 * Each is called with the lock held as described above (on a listener with
 * sk_callback_lock instead), must not sleep, and may be called without an
 * event. They never nest: events during a callback, a send or a read are
 * reported when the callback returns or the lock is released.
 */
struct xiw_llp_events {
	void (*data_ready)(struct xiw_llp *llp, void *ctx);
	void (*write_space)(struct xiw_llp *llp, void *ctx);
	void (*state_change)(struct xiw_llp *llp, void *ctx);
};

/* State of a connection */
enum xiw_llp_status {
	XIW_LLP_CONNECTING,
	XIW_LLP_OPEN,		/* established, nothing closed yet */
	XIW_LLP_PEER_CLOSED,	/* FIN received and everything before it read */
	XIW_LLP_CLOSED,		/* both FINs exchanged and everything read */
	XIW_LLP_BROKEN,		/* fault of the peer found; being closed */
	XIW_LLP_LOST,		/* reset or timed out */
};

/**
 * struct xiw_llp_space - how the next data fits into segments and buffer
 * @emss: effective maximum segment size: payload of a full segment
 * @tail_fill: bytes in a last segment to which more can be added
 * @sndbuf: present size of the send buffer
 */
struct xiw_llp_space {
	u32 emss;
	u32 tail_fill;
	u32 sndbuf;
};

/**
 * enum xiw_llp_push - what happens to a last segment that is not full
 * @XIW_LLP_PUSH: it is sent
 * @XIW_LLP_WAIT: it waits, as more data follows at once
 * @XIW_LLP_FULL: it is sent, and later data begins another one, as little fits
 */
enum xiw_llp_push {
	XIW_LLP_PUSH,
	XIW_LLP_WAIT,
	XIW_LLP_FULL,
};

/**
 * struct xiw_llp_ops - a lower layer protocol
 * @chunks: each packet that @read passes is one FPDU, without padding and CRC.
 *	Any two bytes take the place of the ULPDU_Length. The actor consumes all
 *	of it or nothing
 * @free: free the connection, of which there is no reference; any context
 * @lock: take the lock from process context, also of a connection that was
 *	released: the caller checks afterwards that the connection is still in
 *	use. Sleeps
 * @unlock: release the lock, and run the callbacks that became due
 * @trylock_bh: take the lock as a spinlock, with interrupts on. False if it is
 *	held or owned
 * @unlock_bh: release the lock after @trylock_bh, and run the callbacks that
 *	became due
 * @set_events: redirect the callbacks, or disable them with NULL. When it
 *	returns, no callback of the former user runs or will run. Earlier events
 *	are not repeated, so check the connection after the call. Without the
 *	lock; sleeps
 * @charge: charge the memory that the connection holds, and will hold, to a
 *	control group, and take a reference on the group. With the lock owned.
 *	Returns 0, or -ENOMEM if the group is at its limit
 * @record_flow: record the RFS flow: steer received packets to this CPU, where
 *	a process uses the connection
 * @can_flush: true if the lock is owned and no callback is running
 * @flush_backlog: flush the backlog of received packets, if @can_flush; the
 *	caller keeps the lock. The connection may be lost afterwards. Callbacks
 *	that become due run when the lock is released. May sleep
 * @send: queue @len bytes for transmission, in pages that must not change
 *	while the connection has references on them. Returns the number of bytes
 *	queued, at least one, or -EAGAIN. If that is less than @len the buffer
 *	is full, and write_space is called when there is room, unless nothing is
 *	in flight. Another negative errno if the connection is lost or shut down
 * @space: fill in struct xiw_llp_space
 * @idle: true if nothing is queued and nothing is in flight
 * @read: pass received data to @actor: each packet in order, with the offset of
 *	its first unread byte and the number of unread bytes. It returns how
 *	many of them it has consumed; fewer than all end the read. @arg is in
 *	the arg.data of its descriptor. Returns bytes consumed, -EPROTO if there
 *	is urgent data ahead, at which reading would stop, or another negative
 *	errno
 * @unread: bytes received and not yet read, not counting a FIN
 * @status: state of the connection
 */
struct xiw_llp_ops {
	bool chunks;
	void (*free)(struct xiw_llp *llp);
	void (*lock)(struct xiw_llp *llp);
	void (*unlock)(struct xiw_llp *llp);
	bool (*trylock_bh)(struct xiw_llp *llp);
	void (*unlock_bh)(struct xiw_llp *llp);
	void (*set_events)(struct xiw_llp *llp,
			   const struct xiw_llp_events *events, void *ctx);
	int (*charge)(struct xiw_llp *llp, struct mem_cgroup *memcg);
	void (*record_flow)(const struct xiw_llp *llp);
	bool (*can_flush)(const struct xiw_llp *llp);
	void (*flush_backlog)(struct xiw_llp *llp);
	int (*send)(struct xiw_llp *llp, struct bio_vec *bv, unsigned int nr,
		    size_t len, enum xiw_llp_push push);
	void (*space)(const struct xiw_llp *llp, struct xiw_llp_space *space);
	bool (*idle)(const struct xiw_llp *llp);
	int (*read)(struct xiw_llp *llp, sk_read_actor_t actor, void *arg);
	int (*unread)(struct xiw_llp *llp);
	enum xiw_llp_status (*status)(struct xiw_llp *llp);
};

/**
 * struct xiw_llp - a connection
 * @ops: operations of the lower layer
 * @ref: references, also of users of a connection that was closed
 */
struct xiw_llp {
	const struct xiw_llp_ops *ops;
	struct kref ref;
};

static inline void xiw_llp_init(struct xiw_llp *llp,
				const struct xiw_llp_ops *ops)
{
	llp->ops = ops;
	kref_init(&llp->ref);
}

static inline void xiw_llp_get(struct xiw_llp *llp)
{
	kref_get(&llp->ref);
}

static inline void xiw_llp_free(struct kref *ref)
{
	struct xiw_llp *llp = container_of(ref, struct xiw_llp, ref);

	llp->ops->free(llp);
}

static inline void xiw_llp_put(struct xiw_llp *llp)
{
	kref_put(&llp->ref, xiw_llp_free);
}

#endif /* _XIW_LLP_H */
