// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The only file that knows TCP: kernel sockets with their callbacks
 * redirected. The connection path creates and closes them, the data path sends
 * and reads through the functions named _locked.
 *
 * A connection keeps its network namespace alive, as any user's socket does,
 * so that TCP may go on with it in the background after it was closed. A
 * listener does not: its consumer does, see xiw_cm_create_listen().
 */

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock.h"

enum sock_event {
	EV_DATA		= 1 << 0,
	EV_SPACE	= 1 << 1,
	EV_STATE	= 1 << 2,
};

/*
 * Callbacks
 */

/* Socket lock held. */
static void run_callbacks(struct xiw_sock *xs)
{
	if (xs->busy)
		return;
	xs->busy = true;
	while (xs->pending) {
		const struct xiw_sock_ops *ops = xs->ops;
		u8 events = xs->pending;

		xs->pending = 0;
		if (!ops)
			break;
		if (events & EV_DATA)
			ops->data_ready(xs, xs->ctx);
		if (events & EV_SPACE)
			ops->write_space(xs, xs->ctx);
		if (events & EV_STATE)
			ops->state_change(xs, xs->ctx);
	}
	xs->busy = false;
}

/*
 * TCP calls with the socket lock held. sk_user_data is only cleared under
 * that lock, which is what keeps the owner valid beyond the RCU section.
 */
static struct xiw_sock *owner(struct sock *sk)
{
	struct xiw_sock *xs;

	rcu_read_lock();
	xs = rcu_dereference_sk_user_data(sk);
	rcu_read_unlock();
	return xs;
}

static void stream_event(struct sock *sk, enum sock_event event)
{
	struct xiw_sock *xs = owner(sk);

	if (!xs)
		return;
	xs->pending |= event;
	run_callbacks(xs);
}

/*
 * TCP calls without the listener's lock. A connection that was not accepted
 * yet inherits the function but not the owner.
 */
static void listener_event(struct sock *sk)
{
	struct xiw_sock *xs;

	read_lock_bh(&sk->sk_callback_lock);
	xs = __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
	if (xs && xs->ops)
		xs->ops->data_ready(xs, xs->ctx);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void on_data_ready(struct sock *sk)
{
	/* A listener that is being closed has no owner any more. */
	if (inet_sk_state_load(sk) == TCP_LISTEN)
		listener_event(sk);
	else
		stream_event(sk, EV_DATA);
}

static void on_write_space(struct sock *sk)
{
	/* Same hysteresis as for everybody: a third must be free. */
	if (inet_sk_state_load(sk) == TCP_LISTEN ||
	    !sk_stream_is_writeable(sk) || !sk->sk_socket)
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	stream_event(sk, EV_SPACE);
}

static void on_state_change(struct sock *sk)
{
	int err = READ_ONCE(sk->sk_err);
	struct xiw_sock *xs = owner(sk);

	/* TCP tells the next one who sends, and forgets it. */
	if (xs && err)
		WRITE_ONCE(xs->err, err);
	stream_event(sk, EV_STATE);
}

static void sock_free(struct kref *ref)
{
	struct xiw_sock *xs = container_of(ref, struct xiw_sock, ref);

	sock_put(xs->sk);
	kfree(xs);
}

/**
 * xiw_sock_get() - take a reference
 * @xs: socket
 *
 * Context: Any.
 */
void xiw_sock_get(struct xiw_sock *xs)
{
	kref_get(&xs->ref);
}

/**
 * xiw_sock_put() - drop a reference
 * @xs: socket
 *
 * Context: Any.
 */
void xiw_sock_put(struct xiw_sock *xs)
{
	kref_put(&xs->ref, sock_free);
}

/*
 * Set-up
 */

/* Takes over @sock; @parent is its listener or NULL. */
static struct xiw_sock *take_over(struct socket *sock,
				  const struct xiw_sock *parent)
{
	struct sock *sk = sock->sk;
	struct xiw_sock *xs;

	xs = kzalloc(sizeof(*xs), GFP_KERNEL);
	if (!xs)
		return NULL;
	kref_init(&xs->ref);
	sock_hold(sk);
	xs->sk = sk;
	xs->sock = sock;

	lock_sock(sk);
	/* Sending happens in softirq too, and never in a task's name. */
	sk->sk_allocation = GFP_ATOMIC;
	sk->sk_use_task_frag = false;
	write_lock_bh(&sk->sk_callback_lock);
	xs->saved_data_ready = parent ? parent->saved_data_ready :
					sk->sk_data_ready;
	xs->saved_write_space = parent ? parent->saved_write_space :
					 sk->sk_write_space;
	xs->saved_state_change = parent ? parent->saved_state_change :
					  sk->sk_state_change;
	sk->sk_data_ready = on_data_ready;
	sk->sk_write_space = on_write_space;
	sk->sk_state_change = on_state_change;
	__rcu_assign_sk_user_data_with_flags(sk, xs, SK_USER_DATA_NOCOPY);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	tcp_sock_set_nodelay(sk);
	return xs;
}

/* Let the connection hold its namespace. Not under the socket lock. */
static int hold_net(struct sock *sk)
{
	struct net *net = sock_net(sk);

	if (sk->sk_net_refcnt)
		return 0;
	if (!maybe_get_net(net))
		return -ENETDOWN;
	sk_net_refcnt_upgrade(sk);
	put_net(net);
	return 0;
}

/**
 * xiw_sock_create() - new TCP socket
 * @net: namespace; the caller keeps it alive during the call
 * @family: AF_INET or AF_INET6
 * @xs: set on success
 *
 * Context: Sleeps.
 * Return: 0 or negative errno.
 */
int xiw_sock_create(struct net *net, int family, struct xiw_sock **xs)
{
	struct socket *sock;
	int ret;

	ret = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (ret)
		return ret;
	*xs = take_over(sock, NULL);
	if (!*xs) {
		sock_release(sock);
		return -ENOMEM;
	}
	return 0;
}

static int addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}

/**
 * xiw_sock_bind() - give a socket its local address
 * @xs: new socket
 * @addr: address and port, in network order; port 0 for any
 * @bound_if: index of the only interface to use, or 0
 * @v6only: an IPv6 socket that must not serve IPv4
 *
 * Context: Sleeps.
 * Return: 0 or negative errno.
 */
int xiw_sock_bind(struct xiw_sock *xs, const struct sockaddr_storage *addr,
		  int bound_if, bool v6only)
{
	struct sock *sk = xs->sk;
	int ret;

	if (bound_if) {
		ret = sock_bindtoindex(sk, bound_if, true);
		if (ret)
			return ret;
		/* The address exists, for rdma_cm, if perhaps elsewhere. */
		ip_sock_set_freebind(sk);
	}
	if (v6only && sk->sk_family == AF_INET6) {
		ret = ip6_sock_set_v6only(sk);
		if (ret)
			return ret;
	}
	/* Connections of an earlier listener may linger on the port. */
	sock_set_reuseaddr(sk);
	/* Of which type the address is depends on the kernel's age. */
	return kernel_bind(xs->sock, (void *)addr, addr_len(addr));
}

static int set_ip_option(struct xiw_sock *xs, int name, int value)
{
	return READ_ONCE(xs->sock->ops)->setsockopt(xs->sock, SOL_IP, name,
						    KERNEL_SOCKPTR(&value),
						    sizeof(value));
}

/**
 * xiw_sock_bind_shared() - give a socket an address and port to connect from
 * @xs: new socket, not to be listened on
 * @addr: address and port, in network order; the port is an ephemeral one
 * @bound_if: index of the only interface to use, or 0
 *
 * As TCP does with ports of its choice, of which it is given only one: the port
 * is taken when the socket connects, and other connections may have it, too.
 *
 * Context: Sleeps.
 * Return: 0 or negative errno.
 */
int xiw_sock_bind_shared(struct xiw_sock *xs,
			 const struct sockaddr_storage *addr, int bound_if)
{
	struct sockaddr_storage later = *addr;
	/* At the same place in IPv4 and IPv6. */
	struct sockaddr_in *in = (struct sockaddr_in *)&later;
	u32 port = ntohs(in->sin_port);
	int ret;

	ret = set_ip_option(xs, IP_BIND_ADDRESS_NO_PORT, 1);
	if (!ret)
		ret = set_ip_option(xs, IP_LOCAL_PORT_RANGE,
				    port << 16 | port);
	if (ret)
		return ret;
	in->sin_port = 0;
	return xiw_sock_bind(xs, &later, bound_if, false);
}

/**
 * xiw_sock_get_net() - the namespace of a socket
 * @xs: socket that has been connected
 *
 * Context: Any.
 * Return: Namespace with a reference for the caller.
 */
struct net *xiw_sock_get_net(const struct xiw_sock *xs)
{
	return get_net(sock_net(xs->sk));
}

/**
 * xiw_sock_listen() - wait for connections
 * @xs: bound socket
 * @backlog: connections TCP may hold ready
 *
 * Context: Sleeps.
 * Return: 0 or negative errno.
 */
int xiw_sock_listen(struct xiw_sock *xs, int backlog)
{
	return kernel_listen(xs->sock, backlog);
}

/**
 * xiw_sock_connect() - start a connection
 * @xs: new or bound socket
 * @addr: peer's address and port, in network order
 *
 * Context: Sleeps, but not for the peer.
 * Return: 0 when it is under way or complete, else negative errno.
 */
int xiw_sock_connect(struct xiw_sock *xs, const struct sockaddr_storage *addr)
{
	int ret;

	ret = hold_net(xs->sk);
	if (ret)
		return ret;
	ret = kernel_connect(xs->sock, (void *)addr, addr_len(addr),
			     O_NONBLOCK);
	return ret == -EINPROGRESS ? 0 : ret;
}

/**
 * xiw_sock_accept() - take the next connection of a listener
 * @listener: listening socket
 * @xs: set on success
 *
 * Context: Sleeps, but not for a peer.
 * Return: 0, -EAGAIN if none waits, or another negative errno.
 */
int xiw_sock_accept(struct xiw_sock *listener, struct xiw_sock **xs)
{
	struct socket *sock;
	int ret;

	ret = kernel_accept(listener->sock, &sock, O_NONBLOCK);
	if (ret)
		return ret;
	*xs = take_over(sock, listener);
	if (!*xs) {
		sock_no_linger(sock->sk);
		sock_release(sock);
		return -ENOMEM;
	}
	ret = hold_net(sock->sk);
	if (ret)
		xiw_sock_release(*xs, true);
	return ret;
}

/* IPv4 through an IPv6 socket: what counts is what is on the wire. */
static void unmap_v4(struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in in = { .sin_family = AF_INET };

	if (addr->ss_family != AF_INET6 ||
	    !ipv6_addr_v4mapped(&in6->sin6_addr))
		return;
	in.sin_port = in6->sin6_port;
	in.sin_addr.s_addr = in6->sin6_addr.s6_addr32[3];
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &in, sizeof(in));
}

/**
 * xiw_sock_peer() - whose connection it is
 * @xs: connected socket
 *
 * Context: Any.
 * Return: The peer's address, mapped if it is one of IPv4.
 */
struct in6_addr xiw_sock_peer(const struct xiw_sock *xs)
{
	const struct sock *sk = xs->sk;
	struct in6_addr addr;

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return sk->sk_v6_daddr;
#endif
	ipv6_addr_set_v4mapped(sk->sk_daddr, &addr);
	return addr;
}

/**
 * xiw_sock_names() - both ends of a connection
 * @xs: connected socket
 * @local: set to the local address
 * @remote: set to the peer's
 *
 * Context: Sleeps.
 * Return: 0, or -ENOTCONN.
 */
int xiw_sock_names(struct xiw_sock *xs, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote)
{
	int ret;

	memset(local, 0, sizeof(*local));
	memset(remote, 0, sizeof(*remote));
	ret = kernel_getsockname(xs->sock, (struct sockaddr *)local);
	if (ret < 0)
		return ret;
	ret = kernel_getpeername(xs->sock, (struct sockaddr *)remote);
	if (ret < 0)
		return ret;
	unmap_v4(local);
	unmap_v4(remote);
	return 0;
}

/**
 * xiw_sock_set_tos() - set type of service or traffic class
 * @xs: socket; connections of a listener inherit it
 * @family: AF_INET or AF_INET6
 * @tos: as in the IP header
 *
 * Context: Sleeps.
 */
void xiw_sock_set_tos(struct xiw_sock *xs, int family, u8 tos)
{
	struct sock *sk = xs->sk;

	ip_sock_set_tos(sk, tos);
	if (family != AF_INET6)
		return;
	lock_sock(sk);
	inet6_sk(sk)->tclass = tos;
	release_sock(sk);
}

/**
 * xiw_sock_set_keepalive() - find out when the peer is dead
 * @xs: socket
 * @idle_s: silence before the first probe, in seconds
 * @intvl_s: time between probes, in seconds
 * @count: probes without answer that make the connection lost
 *
 * Data that is not acknowledged for the same time in all has the same effect.
 *
 * Context: Sleeps.
 */
void xiw_sock_set_keepalive(struct xiw_sock *xs, u32 idle_s, u32 intvl_s,
			    u32 count)
{
	struct sock *sk = xs->sk;

	tcp_sock_set_keepidle(sk, idle_s);
	tcp_sock_set_keepintvl(sk, intvl_s);
	tcp_sock_set_keepcnt(sk, count);
	tcp_sock_set_user_timeout(sk, (idle_s + intvl_s * count) *
				      MSEC_PER_SEC);
	sock_set_keepalive(sk);
}

/**
 * xiw_sock_set_ops() - say who hears of a socket's events
 * @xs: socket
 * @ops: the new callbacks, or NULL for none
 * @ctx: their argument
 *
 * When it returns, no callback of the former ops runs or will run.
 *
 * Context: Sleeps.
 */
void xiw_sock_set_ops(struct xiw_sock *xs, const struct xiw_sock_ops *ops,
		      void *ctx)
{
	struct sock *sk = xs->sk;

	/* Streams call under the one lock, listeners under the other. */
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	xs->ops = ops;
	xs->ctx = ctx;
	xs->pending = 0;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

/**
 * xiw_sock_shutdown() - send FIN behind everything queued
 * @xs: connected socket
 *
 * Context: Sleeps.
 */
void xiw_sock_shutdown(struct xiw_sock *xs)
{
	kernel_sock_shutdown(xs->sock, SHUT_WR);
}

/**
 * xiw_sock_release() - close
 * @xs: socket; the caller's reference is consumed
 * @abort: reset the connection instead of closing it gracefully
 *
 * Context: Sleeps.
 */
void xiw_sock_release(struct xiw_sock *xs, bool abort)
{
	struct sock *sk = xs->sk;

	if (abort)
		sock_no_linger(sk);
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	xs->ops = NULL;
	xs->pending = 0;
	sk->sk_data_ready = xs->saved_data_ready;
	sk->sk_write_space = xs->saved_write_space;
	sk->sk_state_change = xs->saved_state_change;
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	sock_release(xs->sock);
	xiw_sock_put(xs);
}

/*
 * Startup frames
 */

/**
 * xiw_sock_send_buf() - send a few bytes
 * @xs: connected socket
 * @buf: bytes
 * @len: how many
 *
 * Context: Sleeps for locks, not for the peer.
 * Return: Bytes taken, or negative errno, -EAGAIN if there is no room.
 */
int xiw_sock_send_buf(struct xiw_sock *xs, const void *buf, size_t len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = (void *)buf, .iov_len = len };
	struct sock *sk = xs->sk;
	int ret;

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	xiw_sock_lock(xs);
	/*
	 * TCP copies this into the task's block, which serves many sockets.
	 * Otherwise it would get one of 32 KiB for each of them, and keep it.
	 */
	sk->sk_allocation = GFP_KERNEL;
	sk->sk_use_task_frag = true;
	ret = tcp_sendmsg_locked(sk, &msg, len);
	sk->sk_use_task_frag = false;
	sk->sk_allocation = GFP_ATOMIC;
	xiw_sock_unlock(xs);
	return ret;
}

struct copy_ctx {
	void *buf;
	size_t room;
};

static int copy_actor(void *arg, struct sk_buff *skb, unsigned int off,
		      size_t len)
{
	struct copy_ctx *copy = arg;

	len = min(len, copy->room);
	if (!len || skb_copy_bits(skb, off, copy->buf, len))
		return 0;
	copy->buf += len;
	copy->room -= len;
	return len;
}

/**
 * xiw_sock_recv_buf() - read a few bytes
 * @xs: connected socket
 * @buf: where to
 * @len: how many at most, not 0
 *
 * Context: Sleeps for locks, not for the peer.
 * Return: Bytes read, 0 at the end of the stream, -EAGAIN if nothing waits,
 * -EPROTO if the peer uses urgent data, or another negative errno.
 */
int xiw_sock_recv_buf(struct xiw_sock *xs, void *buf, size_t len)
{
	struct copy_ctx copy = { .buf = buf, .room = len };
	int ret;

	xiw_sock_lock(xs);
	if (xiw_sock_urgent_locked(xs))
		ret = -EPROTO;
	else
		ret = xiw_sock_read_locked(xs, copy_actor, &copy);
	if (!ret) {
		switch (xiw_sock_status(xs)) {
		case XIW_SOCK_PEER_CLOSED:
			break;
		case XIW_SOCK_LOST:
			ret = xiw_sock_orderly(xs) ? 0 : xiw_sock_error(xs);
			break;
		default:
			ret = -EAGAIN;
		}
	}
	xiw_sock_unlock(xs);
	return ret;
}

/**
 * xiw_sock_unread() - bytes that arrived and were not read
 * @xs: connected socket
 *
 * Context: Sleeps.
 * Return: Bytes, not counting a FIN.
 */
int xiw_sock_unread(struct xiw_sock *xs)
{
	int ret;

	xiw_sock_lock(xs);
	ret = xiw_sock_unread_locked(xs);
	xiw_sock_unlock(xs);
	return ret;
}

/**
 * xiw_sock_unread_locked() - bytes that arrived and were not read
 * @xs: connected socket
 *
 * Context: Socket lock held.
 * Return: Bytes, not counting a FIN.
 */
int xiw_sock_unread_locked(struct xiw_sock *xs)
{
	return tcp_inq(xs->sk);
}

static int lost_by(const struct xiw_sock *xs)
{
	int err = READ_ONCE(xs->sk->sk_err);

	return err ? err : READ_ONCE(xs->err);
}

/**
 * xiw_sock_error() - why a connection is lost
 * @xs: socket
 *
 * Context: Any.
 * Return: Negative errno, -ECONNRESET if TCP gives no reason.
 */
int xiw_sock_error(struct xiw_sock *xs)
{
	int err = lost_by(xs);

	/* EPIPE is a reset behind the peer's FIN. */
	return err && err != EPIPE ? -err : -ECONNRESET;
}

static int discard_actor(void *arg, struct sk_buff *skb, unsigned int off,
			 size_t len)
{
	return len;
}

/**
 * xiw_sock_discard() - throw away whatever has arrived
 * @xs: connected socket
 *
 * Context: Sleeps.
 */
void xiw_sock_discard(struct xiw_sock *xs)
{
	xiw_sock_lock(xs);
	xiw_sock_read_locked(xs, discard_actor, NULL);
	xiw_sock_unlock(xs);
}

/*
 * The lock
 */

/**
 * xiw_sock_lock() - take the socket lock
 * @xs: socket, may be released already
 *
 * Context: Process context, sleeps.
 */
void xiw_sock_lock(struct xiw_sock *xs)
{
	lock_sock(xs->sk);
}

/**
 * xiw_sock_unlock() - give it back
 * @xs: socket
 *
 * Runs the callbacks that became due meanwhile.
 *
 * Context: Process context, sleeps.
 */
void xiw_sock_unlock(struct xiw_sock *xs)
{
	run_callbacks(xs);
	release_sock(xs->sk);
}

/**
 * xiw_sock_trylock_bh() - take the socket lock without sleeping
 * @xs: socket, may be released already
 *
 * Context: Process or softirq context, interrupts on.
 * Return: False if somebody holds it.
 */
bool xiw_sock_trylock_bh(struct xiw_sock *xs)
{
	struct sock *sk = xs->sk;

	if (!spin_trylock_bh(&sk->sk_lock.slock))
		return false;
	if (sock_owned_by_user(sk)) {
		spin_unlock_bh(&sk->sk_lock.slock);
		return false;
	}
	/* Held beyond the end; sparse cannot follow a conditional lock. */
	__release(&sk->sk_lock.slock);
	return true;
}

/**
 * xiw_sock_unlock_bh() - undo xiw_sock_trylock_bh()
 * @xs: socket
 *
 * Runs the callbacks that became due meanwhile.
 *
 * Context: As it was locked.
 */
void xiw_sock_unlock_bh(struct xiw_sock *xs)
{
	run_callbacks(xs);
	__acquire(&xs->sk->sk_lock.slock);
	spin_unlock_bh(&xs->sk->sk_lock.slock);
}

/**
 * xiw_sock_can_yield_locked() - may the lock's holder let others in
 * @xs: socket
 *
 * Not in a callback: TCP may have called it for a packet of the backlog, and
 * would get those behind it out of order.
 *
 * Context: Socket lock held.
 * Return: True if xiw_sock_yield_locked() may be called.
 */
bool xiw_sock_can_yield_locked(const struct xiw_sock *xs)
{
	return sock_owned_by_user_nocheck(xs->sk) && !xs->busy;
}

/**
 * xiw_sock_yield_locked() - let TCP process what it received meanwhile
 * @xs: socket of which xiw_sock_can_yield_locked() was true
 *
 * The caller keeps the lock. The connection may be lost afterwards; that, and
 * whatever else the callbacks would tell, is told when the lock is given back.
 *
 * Context: Owner of the socket lock, may sleep.
 */
void xiw_sock_yield_locked(struct xiw_sock *xs)
{
	xs->busy = true;
	sk_flush_backlog(xs->sk);
	xs->busy = false;
}

/*
 * Data path
 */

/**
 * xiw_sock_send_locked() - hand bytes to TCP
 * @xs: connected socket
 * @bv: where they are; TCP takes references on the pages, which must not
 *	change while it holds them
 * @nr: elements in @bv
 * @len: bytes in all
 * @more: more follows at once, a partial segment may wait for it
 *
 * Context: Socket lock held. Does not sleep.
 * Return: Bytes taken, at least one; -EAGAIN if there is no room: write_space
 * will tell, unless nothing is in flight; or another negative errno if the
 * connection is lost or shut down.
 */
int xiw_sock_send_locked(struct xiw_sock *xs, struct bio_vec *bv,
			 unsigned int nr, size_t len, bool more)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES |
			     (more ? MSG_MORE : 0),
	};
	bool was_busy = xs->busy;
	int ret;

	/* TCP may work on its backlog in between, and wakes up too eagerly. */
	xs->busy = true;
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, nr, len);
	ret = tcp_sendmsg_locked(xs->sk, &msg, len);
	xs->busy = was_busy;
	/*
	 * Without anything in flight TCP announces room on the spot, in vain
	 * if it was memory that lacked: the caller has to wait some time.
	 */
	if (ret == -EAGAIN && tcp_rtx_and_write_queues_empty(xs->sk))
		xs->pending &= ~EV_SPACE;
	return ret;
}

struct read_ctx {
	xiw_sock_actor actor;
	void *arg;
};

static int read_actor(read_descriptor_t *desc, struct sk_buff *skb,
		      unsigned int off, size_t len)
{
	struct read_ctx *ctx = desc->arg.data;

	return ctx->actor(ctx->arg, skb, off, len);
}

/**
 * xiw_sock_read_locked() - offer what has arrived
 * @xs: connected socket
 * @actor: called with one skb after the other, the offset of the first unread
 *	byte in it and the number of bytes; returns how many it consumed, and
 *	stops the reading by consuming less
 * @arg: its first argument
 *
 * Reading stops before urgent data.
 *
 * Context: Socket lock held. Does not sleep.
 * Return: Bytes consumed, or a negative errno.
 */
int xiw_sock_read_locked(struct xiw_sock *xs, xiw_sock_actor actor, void *arg)
{
	struct read_ctx ctx = { .actor = actor, .arg = arg };
	read_descriptor_t desc = { .arg.data = &ctx, .count = 1 };
	bool was_busy = xs->busy;
	int ret;

	xs->busy = true;
	ret = tcp_read_sock(xs->sk, &desc, read_actor);
	xs->busy = was_busy;
	return ret;
}

/**
 * xiw_sock_orderly() - did a lost stream end in good order
 * @xs: socket whose xiw_sock_status() is XIW_SOCK_LOST
 *
 * Context: Any; a snapshot without the socket lock.
 * Return: True if both FINs were exchanged and everything was read.
 */
bool xiw_sock_orderly(struct xiw_sock *xs)
{
	struct sock *sk = xs->sk;

	return !lost_by(xs) && sock_flag(sk, SOCK_DONE) && !tcp_inq(sk);
}

/**
 * xiw_sock_status() - how the stream stands
 * @xs: socket
 *
 * Context: Any; a snapshot without the socket lock.
 * Return: See enum xiw_sock_status.
 */
enum xiw_sock_status xiw_sock_status(struct xiw_sock *xs)
{
	struct sock *sk = xs->sk;
	int state = inet_sk_state_load(sk);

	if (lost_by(xs))
		return XIW_SOCK_LOST;
	switch (state) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return XIW_SOCK_CONNECTING;
	case TCP_CLOSE:
		/* Both FINs may be exchanged before the last byte is read. */
		return sock_flag(sk, SOCK_DONE) && tcp_inq(sk) > 0 ?
		       XIW_SOCK_OPEN : XIW_SOCK_LOST;
	}
	if ((READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN) && !tcp_inq(sk))
		return XIW_SOCK_PEER_CLOSED;
	return XIW_SOCK_OPEN;
}

/**
 * xiw_sock_emss_locked() - effective maximum segment size
 * @xs: connected socket
 *
 * Context: Socket lock held.
 * Return: Bytes of payload in a full segment.
 */
u32 xiw_sock_emss_locked(struct xiw_sock *xs)
{
	return max_t(u32, tcp_sk(xs->sk)->mss_cache, 1);
}

/**
 * xiw_sock_sndbuf_locked() - how much TCP takes before it has sent it
 * @xs: connected socket
 *
 * Context: Socket lock held.
 * Return: Bytes, at present; TCP adapts it to the path.
 */
u32 xiw_sock_sndbuf_locked(const struct xiw_sock *xs)
{
	return READ_ONCE(xs->sk->sk_sndbuf);
}

/**
 * xiw_sock_tail_fill_locked() - how full the last segment is
 * @xs: connected socket
 *
 * Context: Socket lock held.
 * Return: Bytes that wait in a segment to which more can be added.
 */
u32 xiw_sock_tail_fill_locked(struct xiw_sock *xs)
{
	const struct sk_buff *skb = tcp_write_queue_tail(xs->sk);

	if (!skb || !tcp_skb_can_collapse_to(skb))
		return 0;
	return skb->len % xiw_sock_emss_locked(xs);
}

/**
 * xiw_sock_idle_locked() - is nothing queued and nothing in flight
 * @xs: connected socket
 *
 * Context: Socket lock held.
 * Return: True if the peer acknowledged everything that was ever sent.
 */
bool xiw_sock_idle_locked(struct xiw_sock *xs)
{
	return tcp_rtx_and_write_queues_empty(xs->sk);
}

/**
 * xiw_sock_acked() - how much of what was sent the peer has acknowledged
 * @xs: socket that was connected
 *
 * Context: Any.
 * Return: Sequence number, good only for being compared with an earlier one.
 */
u32 xiw_sock_acked(const struct xiw_sock *xs)
{
	return READ_ONCE(tcp_sk(xs->sk)->snd_una);
}

/**
 * xiw_sock_urgent_locked() - does the peer use urgent data
 * @xs: connected socket
 *
 * Context: Socket lock held.
 * Return: True if there is urgent data ahead; reading stops at it.
 */
bool xiw_sock_urgent_locked(struct xiw_sock *xs)
{
	return READ_ONCE(tcp_sk(xs->sk)->urg_data);
}
