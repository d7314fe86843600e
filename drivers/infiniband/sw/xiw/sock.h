/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The lower layer: a kernel TCP socket with its callbacks redirected. Only
 * sock.c knows TCP; everybody else sees the struct and functions below.
 *
 * The socket lock is what serialises a stream. Callbacks run with it held:
 * in softirq context under the spinlock, or in process context from the
 * backlog, with the lock owned. Functions named _locked need it held in one
 * of these two ways.
 */
#ifndef _XIW_SOCK_H
#define _XIW_SOCK_H

#include <linux/bvec.h>
#include <linux/kref.h>
#include <linux/lockdep_types.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/types.h>

struct net;
struct sock;
struct sockaddr;
struct sockaddr_storage;
struct xiw_sock;

/**
 * struct xiw_sock_ops - what the owner of a socket wants to hear
 * @data_ready: bytes, or the end of the stream, can be read; on a listener,
 *	a connection waits to be accepted
 * @write_space: room in the send buffer after xiw_sock_send_locked()
 *	returned -EAGAIN
 * @state_change: connected, peer closed, or connection lost
 *
 * Each is called with the socket lock held as described above (on a listener
 * with sk_callback_lock instead), must not sleep, and may be called without
 * cause. They never nest: what happens while one of them, or a send or read
 * of this file, is on the stack of the lock's holder is reported when that
 * callback returns or the holder unlocks.
 */
struct xiw_sock_ops {
	void (*data_ready)(struct xiw_sock *xs, void *ctx);
	void (*write_space)(struct xiw_sock *xs, void *ctx);
	void (*state_change)(struct xiw_sock *xs, void *ctx);
};

/**
 * struct xiw_sock - a TCP socket owned by xiw
 * @ref: keeps this struct and @sk valid, also after xiw_sock_release() closed
 *	the socket; the creator holds the first reference until then
 * @sk: the protocol's half, with a reference
 * @sock: the socket
 * @ops: current listener of its events; changed with both the socket lock
 *	and sk_callback_lock held
 * @ctx: argument of the callbacks; changed with @ops
 * @busy: callbacks must not run now; owner: socket lock holder
 * @pending: callbacks that are due, owner: socket lock holder
 * @err: why the connection is lost, positive errno, or 0
 * @saved_data_ready: what the callback was before us
 * @saved_write_space: likewise
 * @saved_state_change: likewise
 */
struct xiw_sock {
	struct kref ref;
	struct sock *sk;
	struct socket *sock;
	const struct xiw_sock_ops *ops;
	void *ctx;
	bool busy;
	u8 pending;
	int err;
	void (*saved_data_ready)(struct sock *sk);
	void (*saved_write_space)(struct sock *sk);
	void (*saved_state_change)(struct sock *sk);
};

/* How a stream stands; see xiw_sock_status(). */
enum xiw_sock_status {
	XIW_SOCK_CONNECTING,
	XIW_SOCK_OPEN,		/* established, nothing closed yet */
	XIW_SOCK_PEER_CLOSED,	/* FIN received and everything before it read */
	XIW_SOCK_LOST,		/* reset, timed out, or fully closed */
};

/*
 * Creation and set-up; process context, may sleep. All return 0 or -errno.
 * On success of create and accept *@xs has no ops yet: call set_ops.
 */
int xiw_sock_create(struct net *net, int family, struct xiw_sock **xs);
int xiw_sock_bind(struct xiw_sock *xs, const struct sockaddr_storage *addr,
		  int bound_if, bool v6only);
int xiw_sock_bind_shared(struct xiw_sock *xs,
			 const struct sockaddr_storage *addr, int bound_if);
struct net *xiw_sock_get_net(const struct xiw_sock *xs);
int xiw_sock_listen(struct xiw_sock *xs, int backlog);
/* Starts a connection; its outcome comes through state_change. */
int xiw_sock_connect(struct xiw_sock *xs, const struct sockaddr_storage *addr);
/* -EAGAIN when nothing waits. The new socket has no ops. */
int xiw_sock_accept(struct xiw_sock *listener, struct xiw_sock **xs);
struct in6_addr xiw_sock_peer(const struct xiw_sock *xs);
int xiw_sock_names(struct xiw_sock *xs, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote);
void xiw_sock_set_tos(struct xiw_sock *xs, int family, u8 tos);
void xiw_sock_set_keepalive(struct xiw_sock *xs, u32 idle_s, u32 intvl_s,
			    u32 count);

/*
 * Redirect the callbacks to @ops. With NULL they go nowhere; when the call
 * returns, no callback of the former ops runs or will run. What happened
 * before is not repeated: look at the socket after the call. Sleeps.
 */
void xiw_sock_set_ops(struct xiw_sock *xs, const struct xiw_sock_ops *ops,
		      void *ctx);

/*
 * References, for those who may find the socket while its owner releases it.
 * Locking a released socket is allowed; after taking the lock check that the
 * socket is still the wanted one. Any context.
 */
void xiw_sock_get(struct xiw_sock *xs);
void xiw_sock_put(struct xiw_sock *xs);

/* Sends FIN behind everything queued. Sleeps. */
void xiw_sock_shutdown(struct xiw_sock *xs);
/*
 * Closes, and drops the creator's reference. @abort: reset the connection,
 * else close gracefully (a FIN if none was sent). No callback runs or will
 * run when it returns. Sleeps.
 */
void xiw_sock_release(struct xiw_sock *xs, bool abort);

/* Non-blocking plain I/O for startup frames; process context. */
int xiw_sock_send_buf(struct xiw_sock *xs, const void *buf, size_t len);
/*
 * Bytes read, 0 at end of stream, -EAGAIN, -EPROTO if the peer uses urgent
 * data, or another error.
 */
int xiw_sock_recv_buf(struct xiw_sock *xs, void *buf, size_t len);
/* Bytes that arrived and were not read. Sleeps. */
int xiw_sock_unread(struct xiw_sock *xs);
int xiw_sock_unread_locked(struct xiw_sock *xs);
/* Why the connection is lost, negative errno. */
int xiw_sock_error(struct xiw_sock *xs);
/* Throws away whatever has arrived; for a stream that is shutting down. */
void xiw_sock_discard(struct xiw_sock *xs);

/* The socket lock from process context; sleeps. */
void xiw_sock_lock(struct xiw_sock *xs);
void xiw_sock_unlock(struct xiw_sock *xs);
/*
 * The socket lock without sleeping, from process or softirq context with
 * interrupts on. False if anybody holds it.
 */
bool xiw_sock_trylock_bh(struct xiw_sock *xs);
void xiw_sock_unlock_bh(struct xiw_sock *xs);

/*
 * Who owns the lock, and is not in a callback, may let in what TCP received
 * meanwhile. Callbacks that become due run when the lock is given back.
 */
bool xiw_sock_can_yield_locked(const struct xiw_sock *xs);
void xiw_sock_yield_locked(struct xiw_sock *xs);

/* Data path, socket lock held. */
int xiw_sock_send_locked(struct xiw_sock *xs, struct bio_vec *bv,
			 unsigned int nr, size_t len, bool more);
typedef int (*xiw_sock_actor)(void *arg, struct sk_buff *skb,
			      unsigned int off, size_t len);
int xiw_sock_read_locked(struct xiw_sock *xs, xiw_sock_actor actor, void *arg);
/* Also usable without the lock as a snapshot. */
enum xiw_sock_status xiw_sock_status(struct xiw_sock *xs);
/*
 * Of a lost stream: did it end in good order, with both FINs exchanged and
 * everything read?
 */
bool xiw_sock_orderly(struct xiw_sock *xs);
/* Effective maximum segment size in bytes. */
u32 xiw_sock_emss_locked(struct xiw_sock *xs);
u32 xiw_sock_sndbuf_locked(const struct xiw_sock *xs);
/* Bytes in the last, not yet transmitted segment, modulo EMSS. */
u32 xiw_sock_tail_fill_locked(struct xiw_sock *xs);
/* Nothing queued or unacknowledged. */
bool xiw_sock_idle_locked(struct xiw_sock *xs);
u32 xiw_sock_acked(const struct xiw_sock *xs);
/* The peer uses urgent data, which no RDMA stream does. */
bool xiw_sock_urgent_locked(struct xiw_sock *xs);

#endif /* _XIW_SOCK_H */
