// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The only file that depends on TCP: kernel sockets with their callbacks
 * redirected. The connection manager creates and closes them, streams send and
 * read through struct xiw_llp_ops.
 *
 * Like the socket of a process, one that connects or listens has a reference on
 * its network namespace, so that TCP can finish a closed connection in the
 * background.
 */

/**
 * DOC: Memory accounting
 *
 * TCP charges the memory of a socket to the control group of the task that
 * creates or accepts it. For accepted and for retried connections that task is
 * a kernel thread, which is not charged. So the socket is moved to the group of
 * its queue pair when the stream starts, as if a process of that group had
 * accepted it. Before that it holds at most an MPA Request and out-of-order
 * segments.
 */
#include "sock.h"

#include <linux/cred.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/memcontrol.h>
#include <linux/random.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/rps.h>
#include <net/sock.h>
#include <net/tcp.h>

/* Keepalive probes without an answer after which a connection is lost. */
#define XIW_SOCK_PROBES		6u

/* A live peer answers TCP's retransmissions at least this often. */
#define XIW_SOCK_SILENCE	(2 * TCP_RTO_MAX)

enum sock_event {
	EV_DATA		= 1 << 0,
	EV_SPACE	= 1 << 1,
	EV_STATE	= 1 << 2,
};

/*
 * Callbacks
 */

static struct xiw_sock *xiw_sock_to_sock(const struct xiw_llp *llp)
{
	return container_of(llp, struct xiw_sock, llp);
}

/* Socket lock held. */
static void xiw_sock_run_callbacks(struct xiw_sock *xs)
{
	if (xs->busy)
		return;
	xs->busy = true;
	while (xs->pending) {
		const struct xiw_llp_events *events = xs->events;
		u8 due = xs->pending;

		xs->pending = 0;
		if (!events)
			break;
		if (due & EV_DATA)
			events->data_ready(&xs->llp, xs->ctx);
		if (due & EV_SPACE)
			events->write_space(&xs->llp, xs->ctx);
		if (due & EV_STATE)
			events->state_change(&xs->llp, xs->ctx);
	}
	xs->busy = false;
}

/*
 * Called by TCP with the socket lock held. sk_user_data is only cleared under
 * that lock, so the owner stays valid beyond the RCU section.
 */
static struct xiw_sock *xiw_sock_owner(struct sock *sk)
{
	struct xiw_sock *xs;

	rcu_read_lock();
	xs = rcu_dereference_sk_user_data(sk);
	rcu_read_unlock();
	return xs;
}

static void xiw_sock_stream_event(struct sock *sk, enum sock_event event)
{
	struct xiw_sock *xs = xiw_sock_owner(sk);

	if (!xs)
		return;
	xs->pending |= event;
	xiw_sock_run_callbacks(xs);
}

/*
 * Called by TCP without the socket lock of the listener. A connection that was
 * not accepted yet has inherited the callback of the listener, but not its
 * owner.
 */
void xiw_sock_listener_event(struct sock *sk)
{
	struct xiw_sock *xs;

	read_lock_bh(&sk->sk_callback_lock);
	xs = __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
	if (xs && xs->events)
		xs->events->data_ready(&xs->llp, xs->ctx);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void xiw_sock_on_data_ready(struct sock *sk)
{
	/*
	 * A listener that is being closed may leave TCP_LISTEN before this
	 * check; xiw_sock_stream_event() then finds no owner.
	 */
	if (inet_sk_state_load(sk) == TCP_LISTEN)
		xiw_sock_listener_event(sk);
	else
		xiw_sock_stream_event(sk, EV_DATA);
}

static void xiw_sock_on_write_space(struct sock *sk)
{
	/* As for all sockets, a third of the buffer must be free. */
	if (inet_sk_state_load(sk) == TCP_LISTEN ||
	    !sk_stream_is_writeable(sk) || !sk->sk_socket)
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	xiw_sock_stream_event(sk, EV_SPACE);
}

static void xiw_sock_on_state_change(struct sock *sk)
{
	int err = READ_ONCE(sk->sk_err);
	struct xiw_sock *xs = xiw_sock_owner(sk);

	/* Save the error: TCP clears sk_err once it has reported it. */
	if (xs && err)
		WRITE_ONCE(xs->err, err);
	xiw_sock_stream_event(sk, EV_STATE);
}

/*
 * Operations for streams
 */

/**
 * xiw_sock_free() - xiw_llp_ops.free
 * @llp: of a released socket
 *
 * Context: Any.
 */
void xiw_sock_free(struct xiw_llp *llp)
{
	struct xiw_sock *xs = xiw_sock_to_sock(llp);

	sock_put(xs->sk);
	kfree(xs);
}

static void xiw_sock_lock(struct xiw_llp *llp)
{
	lock_sock(xiw_sock_to_sock(llp)->sk);
}

static void xiw_sock_unlock(struct xiw_llp *llp)
{
	struct xiw_sock *xs = xiw_sock_to_sock(llp);

	xiw_sock_run_callbacks(xs);
	release_sock(xs->sk);
}

#ifdef XIW_HAVE_TRYLOCK_SOCK_BH
static bool xiw_sock_trylock_bh(struct xiw_llp *llp)
{
	return trylock_sock_bh(xiw_sock_to_sock(llp)->sk);
}

static void xiw_sock_unlock_bh(struct xiw_llp *llp)
{
	struct xiw_sock *xs = xiw_sock_to_sock(llp);

	xiw_sock_run_callbacks(xs);
	unlock_sock_bh(xs->sk);
}
#else
static bool xiw_sock_trylock_bh(struct xiw_llp *llp)
{
	struct sock *sk = xiw_sock_to_sock(llp)->sk;

	if (!spin_trylock_bh(&sk->sk_lock.slock))
		return false;
	if (sock_owned_by_user(sk)) {
		spin_unlock_bh(&sk->sk_lock.slock);
		return false;
	}
	/* The lock stays held; sparse cannot follow a conditional lock. */
	__release(&sk->sk_lock.slock);
	return true;
}

static void xiw_sock_unlock_bh(struct xiw_llp *llp)
{
	struct xiw_sock *xs = xiw_sock_to_sock(llp);

	xiw_sock_run_callbacks(xs);
	__acquire(&xs->sk->sk_lock.slock);
	spin_unlock_bh(&xs->sk->sk_lock.slock);
}
#endif

static void xiw_sock_set_events(struct xiw_llp *llp,
				const struct xiw_llp_events *events, void *ctx)
{
	struct xiw_sock *xs = xiw_sock_to_sock(llp);
	struct sock *sk = xs->sk;

	/*
	 * Callbacks of streams run under the socket lock, those of listeners
	 * under sk_callback_lock.
	 */
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	xs->events = events;
	xs->ctx = ctx;
	xs->pending = 0;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

#if defined(CONFIG_MEMCG) && !defined(XIW_HAVE_SK_MOVE_MEMCG)
/* TCP charges all groups of cgroup v2 but the root. */
static bool xiw_sock_is_charged(const struct mem_cgroup *memcg)
{
	return mem_cgroup_sockets_enabled && memcg->css.parent &&
	       cgroup_subsys_on_dfl(memory_cgrp_subsys);
}

/* All pages charged by the protocol, including partly unused ones. */
static int xiw_sock_charged_pages(const struct sock *sk, u32 queued)
{
	return sk_mem_pages(sk->sk_forward_alloc +
			    atomic_read(&sk->sk_rmem_alloc) + queued);
}

/*
 * Charges the memory already held to the new group, then uncharges it from the
 * old one. TCP does not notice, as the socket lock is held. This also fails if
 * TCP as a whole is at tcp_mem, which counts that memory twice during the move.
 */
static int xiw_sock_move_memcg(struct sock *sk, struct mem_cgroup *memcg,
			       u32 queued)
{
	struct mem_cgroup *old = sk->sk_memcg;
	int len;

	if (old == memcg || !xiw_sock_is_charged(memcg))
		return 0;
	sk_mem_reclaim(sk);
	len = xiw_sock_charged_pages(sk, queued) << PAGE_SHIFT;
	WRITE_ONCE(sk->sk_memcg, memcg);
	if (len && !__sk_mem_schedule(sk, len, SK_MEM_RECV)) {
		WRITE_ONCE(sk->sk_memcg, old);
		return -ENOMEM;
	}
	WRITE_ONCE(sk->sk_memcg, old);
	if (len)
		__sk_mem_reclaim(sk, len);
	/* The socket drops its reference when it is freed. */
	css_get(&memcg->css);
	WRITE_ONCE(sk->sk_memcg, memcg);
	if (old)
		css_put(&old->css);
	return 0;
}
#elif !defined(XIW_HAVE_SK_MOVE_MEMCG)
static int xiw_sock_move_memcg(struct sock *sk, struct mem_cgroup *memcg,
			       u32 queued)
{
	return 0;
}
#endif

/**
 * xiw_sock_charge() - charge a socket to another control group
 * @sk: socket
 * @memcg: new group; the socket takes a reference
 * @queued: bytes that the protocol has charged for data to be sent
 *
 * Context: Socket lock owned.
 * Return: 0, or -ENOMEM if the group is at its limit. Then the stream is not
 * started: an accept or a connect of rdma_cm fails with ENOMEM, and an
 * out-of-band connection is tried again.
 */
int xiw_sock_charge(struct sock *sk, struct mem_cgroup *memcg, u32 queued)
{
#ifdef XIW_HAVE_SK_MOVE_MEMCG
	return sk_move_memcg(sk, memcg, queued);
#else
	return xiw_sock_move_memcg(sk, memcg, queued);
#endif
}

/* The control group of a locked socket, or NULL. */
struct mem_cgroup *xiw_sock_memcg(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	return sk->sk_memcg;
#else
	return NULL;
#endif
}

static int xiw_sock_charge_to(struct xiw_llp *llp, struct mem_cgroup *memcg)
{
	struct sock *sk = xiw_sock_to_sock(llp)->sk;

	return xiw_sock_charge(sk, memcg, sk->sk_wmem_queued);
}

/*
 * Record the RFS flow. Otherwise packets would be steered to the CPU on which a
 * work item happened to accept the connection.
 */
static void xiw_sock_record_flow(const struct xiw_llp *llp)
{
	sock_rps_record_flow(xiw_sock_to_sock(llp)->sk);
}

/*
 * False in a callback: TCP may have called it for a packet of the backlog, and
 * a nested flush would process the packets after that one out of order.
 */
static bool xiw_sock_can_flush(const struct xiw_llp *llp)
{
	const struct xiw_sock *xs = xiw_sock_to_sock(llp);

	return sock_owned_by_user_nocheck(xs->sk) && !xs->busy;
}

static void xiw_sock_flush_backlog(struct xiw_llp *llp)
{
	struct xiw_sock *xs = xiw_sock_to_sock(llp);

	xs->busy = true;
	sk_flush_backlog(xs->sk);
	xs->busy = false;
}

static bool xiw_sock_idle(const struct xiw_llp *llp)
{
	return tcp_rtx_and_write_queues_empty(xiw_sock_to_sock(llp)->sk);
}

/*
 * A peer that does not read for minutes keeps its window closed and answers
 * TCP's probes; the connection must stay open then (RFC 9293 section 3.8.6.1).
 * TCP's user timeout counts from the first probe, answered or not. Restart it
 * with each answer.
 */
static void xiw_sock_reset_probe_timeout(struct sock *sk)
{
#ifdef XIW_HAVE_TCP_RENEW_PROBE_TIMEOUT
	tcp_sock_renew_probe_timeout(sk);
#else
	u32 *since = &inet_csk(sk)->icsk_probes_tstamp;
	u32 heard = tcp_sk(sk)->rcv_tstamp;

	if (*since && time_after32(heard, *since))
		*since = heard;
#endif
}

/*
 * If segments in flight were dropped when the window closed, TCP retransmits
 * them instead of sending probes. Its user timeout counts from the first
 * retransmission, answered or not, even after the window has opened. So suspend
 * the timeout until the peer acknowledges data or no longer answers.
 */
static void xiw_sock_suspend_user_timeout(struct xiw_sock *xs)
{
	const struct tcp_sock *tp = tcp_sk(xs->sk);
	bool silent = tcp_jiffies32 - tp->rcv_tstamp > XIW_SOCK_SILENCE;

	if (silent || tp->snd_una != xs->dropped)
		xs->suspended = false;
	if (!silent && !tp->snd_wnd && tp->packets_out) {
		xs->dropped = tp->snd_una;
		xs->suspended = true;
	}
	WRITE_ONCE(inet_csk(xs->sk)->icsk_user_timeout,
		   xs->suspended ? 0 : xs->user_timeout);
}

/*
 * The zero-window timer must run between two zero-window probes, unless the
 * intervals before and after a probe together fit into TCP's user timeout.
 * Intervals double at most, so those that do not fit are longer than a third of
 * the timeout. A twelfth leaves a margin.
 */
static unsigned long xiw_sock_watch_period(const struct xiw_sock *xs)
{
	return msecs_to_jiffies(xs->user_timeout / 12);
}

static void xiw_sock_check_zero_window(struct work_struct *work)
{
	struct xiw_sock *xs = container_of(to_delayed_work(work),
					   struct xiw_sock, zero_window);
	bool more;

	xiw_sock_lock(&xs->llp);
	xiw_sock_reset_probe_timeout(xs->sk);
	xiw_sock_suspend_user_timeout(xs);
	more = !xiw_sock_idle(&xs->llp);
	xiw_sock_unlock(&xs->llp);
	if (!more || !queue_delayed_work(system_dfl_wq, &xs->zero_window,
					 xiw_sock_watch_period(xs)))
		xiw_llp_put(&xs->llp);
}

/* The queued work holds a reference. */
static void xiw_sock_arm_zero_window(struct xiw_sock *xs)
{
	if (delayed_work_pending(&xs->zero_window))
		return;
	xiw_llp_get(&xs->llp);
	if (!queue_delayed_work(system_dfl_wq, &xs->zero_window,
				xiw_sock_watch_period(xs)))
		xiw_llp_put(&xs->llp);
}

/*
 * Let TCP give up a released socket after the user timeout, even if the peer
 * has closed its window: no timer of xiw watches the peer any more.
 */
static void xiw_sock_stop_zero_window(struct xiw_sock *xs)
{
	if (cancel_delayed_work_sync(&xs->zero_window))
		xiw_llp_put(&xs->llp);
	if (xs->suspended)
		WRITE_ONCE(inet_csk(xs->sk)->icsk_user_timeout,
			   xs->user_timeout);
}

static const int sock_push_flags[] = {
	[XIW_LLP_PUSH]	= 0,
	[XIW_LLP_WAIT]	= MSG_MORE,
	[XIW_LLP_FULL]	= MSG_EOR,
};

/*
 * TCP flushes its backlog after filling 16 packets. If this runs in a callback
 * for a packet of the backlog, newer packets are then processed ahead of the
 * list that TCP is working on. TCP sees them out of order and answers with
 * duplicate ACKs; nothing is lost. An FPDU batch fills that many packets only
 * if a small window of the peer keeps packets below 4 KiB. Smaller batches
 * would cost one more call each.
 */
static int xiw_sock_send(struct xiw_llp *llp, struct bio_vec *bv,
			 unsigned int nr, size_t len, enum xiw_llp_push push)
{
	struct xiw_sock *xs = xiw_sock_to_sock(llp);
	/*
	 * Pages that TCP holds are never written, see txbuf_all_ours(). Without
	 * MSG_NO_SHARED_FRAGS packets would be copied for their checksums.
	 */
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES |
			     MSG_NO_SHARED_FRAGS | sock_push_flags[push],
	};
	bool was_busy = xs->busy;
	int ret;

	xiw_sock_arm_zero_window(xs);
	/* Postpone callbacks: TCP may flush its backlog, or find no room. */
	xs->busy = true;
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, nr, len);
	ret = tcp_sendmsg_locked(xs->sk, &msg, len);
	xs->busy = was_busy;
	/*
	 * With nothing in flight TCP calls write_space at once. If it is short
	 * of memory a retry would fail again, so the caller waits for a timer.
	 */
	if (ret == -EAGAIN && tcp_rtx_and_write_queues_empty(xs->sk))
		xs->pending &= ~EV_SPACE;
	return ret;
}

static u32 xiw_sock_tail_fill(struct sock *sk, u32 emss)
{
	const struct sk_buff *skb = tcp_write_queue_tail(sk);

	if (!skb || !tcp_skb_can_collapse_to(skb))
		return 0;
	return skb->len % emss;
}

static void xiw_sock_space(const struct xiw_llp *llp,
			   struct xiw_llp_space *space)
{
	struct sock *sk = xiw_sock_to_sock(llp)->sk;

	space->emss = max_t(u32, tcp_sk(sk)->mss_cache, 1);
	space->tail_fill = xiw_sock_tail_fill(sk, space->emss);
	space->sndbuf = READ_ONCE(sk->sk_sndbuf);
}

static int xiw_sock_read(struct xiw_llp *llp, sk_read_actor_t actor, void *arg)
{
	struct xiw_sock *xs = xiw_sock_to_sock(llp);
	read_descriptor_t desc = { .arg.data = arg, .count = 1 };
	bool was_busy = xs->busy;
	int ret;

	if (READ_ONCE(tcp_sk(xs->sk)->urg_data))
		return -EPROTO;
	xs->busy = true;
	ret = tcp_read_sock(xs->sk, &desc, actor);
	xs->busy = was_busy;
	return ret;
}

static int xiw_sock_unread(struct xiw_llp *llp)
{
	return tcp_inq(xiw_sock_to_sock(llp)->sk);
}

static int xiw_sock_lost_by(const struct xiw_sock *xs)
{
	int err = READ_ONCE(xs->sk->sk_err);

	return err ? err : READ_ONCE(xs->err);
}

static enum xiw_llp_status xiw_sock_status(struct xiw_llp *llp)
{
	struct xiw_sock *xs = xiw_sock_to_sock(llp);
	struct sock *sk = xs->sk;
	int state = inet_sk_state_load(sk);

	if (xiw_sock_lost_by(xs))
		return XIW_LLP_LOST;
	switch (state) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return XIW_LLP_CONNECTING;
	case TCP_CLOSE:
		if (!sock_flag(sk, SOCK_DONE))
			return XIW_LLP_LOST;
		/* Both FINs may be exchanged before the last byte is read. */
		return tcp_inq(sk) > 0 ? XIW_LLP_OPEN : XIW_LLP_CLOSED;
	}
	if ((READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN) && !tcp_inq(sk))
		return XIW_LLP_PEER_CLOSED;
	return XIW_LLP_OPEN;
}

static const struct xiw_llp_ops sock_llp_ops = {
	.free = xiw_sock_free,
	.lock = xiw_sock_lock,
	.unlock = xiw_sock_unlock,
	.trylock_bh = xiw_sock_trylock_bh,
	.unlock_bh = xiw_sock_unlock_bh,
	.set_events = xiw_sock_set_events,
	.charge = xiw_sock_charge_to,
	.record_flow = xiw_sock_record_flow,
	.can_flush = xiw_sock_can_flush,
	.flush_backlog = xiw_sock_flush_backlog,
	.send = xiw_sock_send,
	.space = xiw_sock_space,
	.idle = xiw_sock_idle,
	.read = xiw_sock_read,
	.unread = xiw_sock_unread,
	.status = xiw_sock_status,
};

/*
 * Set-up
 */

static void xiw_sock_redirect(struct xiw_sock *xs, const struct xiw_sock *from)
{
	const struct xiw_sock_proto *proto = xs->proto;
	struct sock *sk = xs->sk;

	write_lock_bh(&sk->sk_callback_lock);
	xs->saved_data_ready = from ? from->saved_data_ready :
				      sk->sk_data_ready;
	xs->saved_write_space = from ? from->saved_write_space :
				       sk->sk_write_space;
	xs->saved_state_change = from ? from->saved_state_change :
					sk->sk_state_change;
	sk->sk_data_ready = proto ? proto->on_data : xiw_sock_on_data_ready;
	if (!proto)
		sk->sk_write_space = xiw_sock_on_write_space;
	sk->sk_state_change = proto ? proto->on_event :
				      xiw_sock_on_state_change;
	__rcu_assign_sk_user_data_with_flags(sk, xs, SK_USER_DATA_NOCOPY);
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * xiw_sock_take_over() - wrap a socket
 * @sock: socket, owned by the result
 * @parent: its listener, or NULL
 * @proto: its protocol, or NULL for TCP
 *
 * Return: The socket, or NULL without memory.
 */
struct xiw_sock *xiw_sock_take_over(struct socket *sock,
				    const struct xiw_sock *parent,
				    const struct xiw_sock_proto *proto)
{
	struct sock *sk = sock->sk;
	struct xiw_sock *xs;

	xs = kzalloc(proto ? proto->size : sizeof(*xs), GFP_KERNEL_ACCOUNT);
	if (!xs)
		return NULL;
	xiw_llp_init(&xs->llp, proto ? proto->llp_ops : &sock_llp_ops);
	xs->proto = proto;
	INIT_DELAYED_WORK(&xs->zero_window, xiw_sock_check_zero_window);
	sock_hold(sk);
	xs->sk = sk;
	xs->sock = sock;
	if (proto)
		proto->init(xs, parent);

	lock_sock(sk);
	/* Data is also sent from softirqs, never on behalf of a task. */
	if (!proto)
		sk->sk_allocation = GFP_ATOMIC;
	xiw_sk_use_task_frag(sk, false);
	xiw_sock_redirect(xs, parent);
	release_sock(sk);
	if (!proto)
		tcp_sock_set_nodelay(sk);
	else if (parent)
		proto->start(xs);
	return xs;
}

/* Takes a namespace reference for the socket. Not under the socket lock. */
static int xiw_sock_hold_net(struct sock *sk)
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

/*
 * Creates a TCP socket of AF_INET or AF_INET6. The caller keeps the namespace
 * alive during the call.
 */
int xiw_sock_create(struct net *net, int family, struct xiw_sock **xs)
{
	struct socket *sock;
	int ret;

	ret = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (ret)
		return ret;
	*xs = xiw_sock_take_over(sock, NULL, NULL);
	if (!*xs) {
		sock_release(sock);
		return -ENOMEM;
	}
	return 0;
}

/* Length of an address of either family. */
int xiw_sock_addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}

static void xiw_sock_set_reuse(struct xiw_sock *xs, u8 reuse)
{
	lock_sock(xs->sk);
	xs->sk->sk_reuse = reuse;
	release_sock(xs->sk);
}

static int xiw_sock_bind_reusing(struct xiw_sock *xs,
				 const struct sockaddr_storage *addr,
				 int bound_if, bool v6only, u8 reuse)
{
	struct sock *sk = xs->sk;
	int ret;

	if (bound_if) {
		ret = sock_bindtoindex(sk, bound_if, true);
		if (ret)
			return ret;
		/* rdma_cm found the address, but perhaps on another netdev. */
		ip_sock_set_freebind(sk);
	}
	if (v6only && sk->sk_family == AF_INET6) {
		ret = ip6_sock_set_v6only(sk);
		if (ret)
			return ret;
	}
	xiw_sock_set_reuse(xs, reuse);
	/* The type of the parameter depends on the kernel's age. */
	return kernel_bind(xs->sock, (void *)addr, xiw_sock_addr_len(addr));
}

/**
 * xiw_sock_bind() - bind a socket to a local address
 * @xs: new socket
 * @addr: address and port, in network order; port 0 for any
 * @bound_if: index of the only interface to use, or 0
 * @v6only: an IPv6 socket that must not serve IPv4
 *
 * Return: 0 or negative errno.
 */
int xiw_sock_bind(struct xiw_sock *xs, const struct sockaddr_storage *addr,
		  int bound_if, bool v6only)
{
	/* Connections of an earlier listener may linger on the port. */
	return xiw_sock_bind_reusing(xs, addr, bound_if, v6only, SK_CAN_REUSE);
}

static int xiw_sock_bind_cred(struct xiw_sock *xs,
			      const struct sockaddr_storage *addr, int bound_if,
			      bool v6only, u8 reuse)
{
	struct cred *kernel = prepare_kernel_cred(&init_task);
	const struct cred *caller;
	int ret;

	if (!kernel)
		return -ENOMEM;
	ip_sock_set_freebind(xs->sk);
	caller = override_creds(kernel);
	ret = xiw_sock_bind_reusing(xs, addr, bound_if, v6only, reuse);
	revert_creds(caller);
	put_cred(kernel);
	return ret;
}

/*
 * Binds to a port that needs a privilege, otherwise as xiw_sock_bind(). For
 * sockets of the kernel itself, which any task may happen to create. The
 * address need not be usable yet.
 */
int xiw_sock_bind_as_kernel(struct xiw_sock *xs,
			    const struct sockaddr_storage *addr, int bound_if,
			    bool v6only)
{
	return xiw_sock_bind_cred(xs, addr, bound_if, v6only, SK_CAN_REUSE);
}

/*
 * Binds, as xiw_sock_bind_as_kernel(), to a port that another socket of this
 * driver holds: so no program listens there, and the socket may listen.
 */
int xiw_sock_bind_held(struct xiw_sock *xs,
		       const struct sockaddr_storage *addr, int bound_if,
		       bool v6only)
{
	return xiw_sock_bind_cred(xs, addr, bound_if, v6only, SK_FORCE_REUSE);
}

/*
 * Binds, as xiw_sock_bind_as_kernel(), so that no other socket can listen at
 * the address and port, but by xiw_sock_bind_held(). Connections of an earlier
 * listener may linger on the port, and share it. Then this socket shares it,
 * too, while it is bound: a program that was bound to the port before could
 * listen in that moment.
 */
int xiw_sock_bind_alone(struct xiw_sock *xs,
			const struct sockaddr_storage *addr, int bound_if,
			bool v6only)
{
	int ret = xiw_sock_bind_cred(xs, addr, bound_if, v6only, SK_NO_REUSE);

	if (ret != -EADDRINUSE)
		return ret;
	ret = xiw_sock_bind_as_kernel(xs, addr, bound_if, v6only);
	if (!ret)
		xiw_sock_set_reuse(xs, SK_NO_REUSE);
	return ret;
}

static int xiw_sock_set_ip_option(struct xiw_sock *xs, int name, int value)
{
	return READ_ONCE(xs->sock->ops)->setsockopt(xs->sock, SOL_IP, name,
						    KERNEL_SOCKPTR(&value),
						    sizeof(value));
}

/*
 * Makes a later bind to port 0 leave the choice of the port to the connect.
 * Then the port is not exclusive: connections to other addresses may use it. 0
 * or negative errno.
 */
int xiw_sock_choose_port_late(struct xiw_sock *xs)
{
	return xiw_sock_set_ip_option(xs, IP_BIND_ADDRESS_NO_PORT, 1);
}

/* A random port of those for connections. Any context. */
u16 xiw_sock_draw_port(const struct xiw_sock *xs)
{
	int low;
	int high;

	inet_get_local_port_range(sock_net(xs->sk), &low, &high);
	return low + get_random_u32() % (high - low + 1);
}

/**
 * xiw_sock_bind_shared() - bind a socket to connect from a shared port
 * @xs: new socket, not to be listened on
 * @addr: address and port, in network order; the port is an ephemeral one
 * @bound_if: index of the only interface to use, or 0
 *
 * The port is set as an ephemeral port range of one. TCP takes the port when
 * the socket connects, and other connections may use it as well.
 *
 * Return: 0 or negative errno, -ENOPROTOOPT before Linux 6.3.
 */
int xiw_sock_bind_shared(struct xiw_sock *xs,
			 const struct sockaddr_storage *addr, int bound_if)
{
	struct sockaddr_storage later = *addr;
	u32 port = ntohs(xiw_sock_port_of(addr));
	int ret;

	if (xs->proto)
		return -EADDRINUSE;
	ret = xiw_sock_choose_port_late(xs);
	if (!ret)
		ret = xiw_sock_set_ip_option(xs, IP_LOCAL_PORT_RANGE,
					     port << 16 | port);
	if (ret)
		return ret;
	xiw_sock_set_port(&later, 0);
	return xiw_sock_bind(xs, &later, bound_if, false);
}

/*
 * The namespace of a socket that has been connected, with a reference. Any
 * context.
 */
struct net *xiw_sock_get_net(const struct xiw_sock *xs)
{
	return get_net(sock_net(xs->sk));
}

/*
 * Listens; @backlog limits the established connections that were not accepted
 * yet.
 */
int xiw_sock_listen(struct xiw_sock *xs, int backlog)
{
	int ret = xiw_sock_hold_net(xs->sk);

	return ret ? ret : kernel_listen(xs->sock, backlog);
}

/*
 * Is the queue of a listener at least half full of connections that were not
 * accepted? Any context.
 */
bool xiw_sock_queue_fills(const struct xiw_sock *xs)
{
	const struct sock *sk = xs->sk;

	return READ_ONCE(sk->sk_ack_backlog) >=
	       READ_ONCE(sk->sk_max_ack_backlog) / 2;
}

/*
 * Starts a connection of a new or bound socket. Does not wait for the peer: 0
 * when it is under way or complete.
 */
int xiw_sock_connect(struct xiw_sock *xs, const struct sockaddr_storage *addr)
{
	int ret;

	ret = xiw_sock_hold_net(xs->sk);
	if (ret)
		return ret;
	ret = kernel_connect(xs->sock, (void *)addr, xiw_sock_addr_len(addr),
			     O_NONBLOCK);
	return ret == -EINPROGRESS ? 0 : ret;
}

/*
 * Accepts the next connection of a listener. Does not wait for a peer: -EAGAIN
 * if there is none.
 */
int xiw_sock_accept(struct xiw_sock *listener, struct xiw_sock **xs)
{
	struct socket *sock;
	int ret;

	ret = kernel_accept(listener->sock, &sock, O_NONBLOCK);
	if (ret)
		return ret;
	*xs = xiw_sock_take_over(sock, listener, listener->proto);
	if (!*xs) {
		sock_no_linger(sock->sk);
		sock_release(sock);
		return -ENOMEM;
	}
	ret = xiw_sock_hold_net(sock->sk);
	if (ret)
		xiw_sock_release(*xs, true);
	return ret;
}

/* Converts a v4-mapped address of an IPv6 socket to the IPv4 address. */
static void xiw_sock_unmap_v4(struct sockaddr_storage *addr)
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

/* The peer's address; an IPv4 address is v4-mapped. Any context. */
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

/* Gets the local address of a bound socket. */
int xiw_sock_local(struct xiw_sock *xs, struct sockaddr_storage *local)
{
	int ret = kernel_getsockname(xs->sock, (struct sockaddr *)local);

	return ret < 0 ? ret : 0;
}

/* Gets both addresses of a connection. -ENOTCONN if the peer has reset it. */
int xiw_sock_names(struct xiw_sock *xs, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote)
{
	memset(local, 0, sizeof(*local));
	memset(remote, 0, sizeof(*remote));
	if (xiw_sock_local(xs, local) ||
	    kernel_getpeername(xs->sock, (struct sockaddr *)remote) < 0)
		return -ENOTCONN;
	if (xs->proto)
		xs->proto->fix_local(xs, local);
	xiw_sock_unmap_v4(local);
	xiw_sock_unmap_v4(remote);
	return 0;
}

/*
 * Sets type of service or traffic class, as in the IP header. Connections of a
 * listener inherit it.
 */
void xiw_sock_set_tos(struct xiw_sock *xs, u8 tos)
{
	struct sock *sk = xs->sk;

	ip_sock_set_tos(sk, tos);
	if (sk->sk_family != AF_INET6)
		return;
	lock_sock(sk);
	/* The ECN bits belong to TCP, as in the TOS. */
	inet6_sk(sk)->tclass = (tos & ~INET_ECN_MASK) |
			       (inet6_sk(sk)->tclass & INET_ECN_MASK);
	release_sock(sk);
}

/**
 * xiw_sock_set_silence() - enable detection of a dead peer
 * @xs: socket
 * @silence_ms: time after which a silent peer counts as dead, in milliseconds,
 *	at least 2 seconds
 *
 * Keepalive probes begin when a connection was idle for half of the time. TCP's
 * user timeout is the whole time, so unacknowledged data has the same effect,
 * unless the peer reports a closed window. The call has no effect on a protocol
 * other than TCP, which sets its timers when the socket is created.
 */
void xiw_sock_set_silence(struct xiw_sock *xs, u32 silence_ms)
{
	u32 total = silence_ms / MSEC_PER_SEC;
	u32 interval = max(total / (2 * XIW_SOCK_PROBES), 1u);
	struct sock *sk = xs->sk;
	u32 probes = min(total / 2 / interval, XIW_SOCK_PROBES);

	if (xs->proto)
		return;
	tcp_sock_set_keepidle(sk, total - interval * probes);
	tcp_sock_set_keepintvl(sk, interval);
	tcp_sock_set_keepcnt(sk, probes);
	xs->user_timeout = silence_ms;
	tcp_sock_set_user_timeout(sk, xs->user_timeout);
	sock_set_keepalive(sk);
}

/* Sends FIN after all queued data. */
void xiw_sock_shutdown(struct xiw_sock *xs)
{
	if (xs->proto)
		xs->proto->shutdown(xs);
	else
		kernel_sock_shutdown(xs->sock, SHUT_WR);
}

/*
 * Closes a socket and drops the creator's reference. With @abort the connection
 * is reset instead of closed gracefully. No callback runs, or will run, when
 * this returns.
 */
void xiw_sock_release(struct xiw_sock *xs, bool abort)
{
	struct sock *sk = xs->sk;

	if (abort)
		sock_no_linger(sk);
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	/* The work of a socket of SCTP reads it under another lock. */
	WRITE_ONCE(xs->events, NULL);
	xs->pending = 0;
	/* TCP calls a listener's sk_data_ready without its lock. */
	WRITE_ONCE(sk->sk_data_ready, xs->saved_data_ready);
	sk->sk_write_space = xs->saved_write_space;
	sk->sk_state_change = xs->saved_state_change;
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	if (xs->proto)
		xs->proto->release(xs);
	/* Nothing more is sent, so the timer is not armed again. */
	xiw_sock_stop_zero_window(xs);
	sock_release(xs->sock);
	xiw_llp_put(&xs->llp);
}

/*
 * MPA startup frames
 */

/*
 * Sends a few bytes. Sleeps for locks, not for the peer. Returns the number of
 * bytes taken, or negative errno, -EAGAIN if there is no room.
 */
int xiw_sock_send_buf(struct xiw_sock *xs, const void *buf, size_t len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = (void *)buf, .iov_len = len };
	struct sock *sk = xs->sk;
	int ret;

	if (xs->proto)
		return xs->proto->send_fpdu(xs, buf, len);
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	xiw_sock_lock(&xs->llp);
	/*
	 * Copy into the task's page fragment, which serves many sockets.
	 * Otherwise TCP would allocate and keep 32 KiB for each socket.
	 */
	sk->sk_allocation = GFP_KERNEL;
	xiw_sk_use_task_frag(sk, true);
	ret = tcp_sendmsg_locked(sk, &msg, len);
	xiw_sk_use_task_frag(sk, false);
	sk->sk_allocation = GFP_ATOMIC;
	xiw_sock_unlock(&xs->llp);
	return ret;
}

struct copy_ctx {
	void *buf;
	size_t room;
};

static int xiw_sock_copy_actor(read_descriptor_t *desc, struct sk_buff *skb,
			       unsigned int off, size_t len)
{
	struct copy_ctx *copy = desc->arg.data;

	len = min(len, copy->room);
	if (!len || skb_copy_bits(skb, off, copy->buf, len))
		return 0;
	copy->buf += len;
	copy->room -= len;
	return len;
}

/*
 * Reads @len bytes at most, not 0. Sleeps for locks, not for the peer. Returns
 * the number of bytes, 0 at the end of the stream, -EAGAIN if nothing waits,
 * -EPROTO if the peer uses urgent data, or another negative errno.
 */
int xiw_sock_recv_buf(struct xiw_sock *xs, void *buf, size_t len)
{
	struct copy_ctx copy = { .buf = buf, .room = len };
	int ret;

	xiw_sock_lock(&xs->llp);
	ret = xiw_sock_read(&xs->llp, xiw_sock_copy_actor, &copy);
	if (!ret) {
		switch (xiw_sock_status(&xs->llp)) {
		case XIW_LLP_PEER_CLOSED:
		case XIW_LLP_CLOSED:
			break;
		case XIW_LLP_LOST:
			ret = xiw_sock_error(xs);
			break;
		default:
			ret = -EAGAIN;
		}
	}
	xiw_sock_unlock(&xs->llp);
	return ret;
}

/*
 * Why a connection is lost: negative errno, -ECONNRESET if TCP gives no reason.
 * Any context.
 */
int xiw_sock_error(struct xiw_sock *xs)
{
	int err = xiw_sock_lost_by(xs);

	/* EPIPE is a reset after the peer's FIN. */
	return err && err != EPIPE ? -err : -ECONNRESET;
}

static int xiw_sock_discard_actor(read_descriptor_t *desc, struct sk_buff *skb,
				  unsigned int off, size_t len)
{
	return len;
}

/* Discards all data that a connected socket has received. Sleeps. */
void xiw_sock_discard(struct xiw_sock *xs)
{
	struct xiw_llp *llp = &xs->llp;

	llp->ops->lock(llp);
	llp->ops->read(llp, xiw_sock_discard_actor, NULL);
	llp->ops->unlock(llp);
}

/*
 * The position up to which data was read: a sequence number, to be compared
 * with an earlier one only. Any context.
 */
u32 xiw_sock_taken(const struct xiw_sock *xs)
{
	if (xs->proto)
		return xs->proto->taken(xs);
	return READ_ONCE(tcp_sk(xs->sk)->copied_seq);
}

/*
 * The position up to which the peer acknowledged data: a sequence number, to be
 * compared with an earlier one only. Any context.
 */
u32 xiw_sock_acked(const struct xiw_sock *xs)
{
	if (xs->proto)
		return xs->proto->acked(xs);
	return READ_ONCE(tcp_sk(xs->sk)->snd_una);
}
