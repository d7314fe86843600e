// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP over SCTP (RFC 5043, RFC 6581 section 7) for streams and for the
 * connection manager. Only the files sctp*.c depend on SCTP.
 *
 * An association carries one session, on stream 0. Above these files a
 * connection is what it is with TCP: startup frames, then FPDUs, then a FIN.
 * They replace the framing. A startup frame becomes a session control message,
 * the ULPDU of an FPDU a DDP Segment chunk, a FIN the session's Terminate; and
 * the reverse on receive, in the order of SSNs. Streams read chunks as they
 * are, see xiw_llp_ops.chunks. CRCs and Markers are off, as SCTP has a checksum
 * for each packet.
 *
 * sctp.ko is used through the socket and through inline functions only, so that
 * xiw does not depend on the module.
 *
 * The end of the association follows the end of the session. The endpoint waits
 * for both: the kernel has a limit for closed TCP connections,
 * tcp_max_orphans, and none for associations. A socket that is released earlier
 * is aborted.
 */
#include "sctp.h"

#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <net/rps.h>

#include "sctp_conn.h"
#include "sctp_rx.h"
#include "sctp_tx.h"

/* Messages copied, or calls of data_ready, before the state is checked */
#define SCTP_BATCH		64

/* Storage ULPs use connections to free memory. NULL before the first socket. */
static struct workqueue_struct *sctp_wq;
static DEFINE_MUTEX(sctp_wq_mutex);

/*
 * Callbacks of SCTP
 */

/*
 * Calls data_ready, in which the stream or the endpoint reads. The lock is
 * held.
 */
static void sctp_call_reader(struct xiw_sctp *c)
{
	const struct xiw_llp_events *events = READ_ONCE(c->xs.events);

	if (!events || c->closed)
		return;
	c->busy = true;
	events->data_ready(&c->xs.llp, c->xs.ctx);
	c->busy = false;
}

/*
 * The connection to which SCTP's callback for @sk belongs. NULL for a listener,
 * with its event handled here, and for a socket that is being released. The
 * caller holds the socket lock, under which the owner of @sk is cleared.
 */
static struct xiw_sctp *sctp_owner(struct sock *sk)
{
	struct xiw_sock *xs;

	if (sctp_sstate(sk, LISTENING)) {
		xiw_sock_listener_event(sk);
		return NULL;
	}
	rcu_read_lock();
	xs = rcu_dereference_sk_user_data(sk);
	rcu_read_unlock();
	return xs ? xiw_sctp_from_sock(xs) : NULL;
}

static void sctp_on_event(struct sock *sk)
{
	struct xiw_sctp *c = sctp_owner(sk);

	if (c)
		xiw_sctp_queue_work(c);
}

/*
 * New messages have arrived: calls data_ready, or queues the work to copy them.
 */
static void sctp_read_now(struct xiw_sctp *c)
{
	c->in_callback = true;
	/*
	 * In full operation a message is mostly a segment: do not check here.
	 */
	if (c->session.state == XIW_SESSION_OPEN ||
	    xiw_sctp_next(c) == XIW_SCTP_READ)
		sctp_call_reader(c);
	if (xiw_sctp_next(c) == XIW_SCTP_COPY)
		xiw_sctp_queue_work(c);
	c->in_callback = false;
	xiw_sctp_reap_later(c);
}

/* SCTP calls this in softirq context, or when a process releases the socket. */
static void sctp_on_data(struct sock *sk)
{
	struct xiw_sctp *c = sctp_owner(sk);

	if (!c)
		return;
	spin_lock_bh(&c->lock);
	if (c->owned)
		WRITE_ONCE(c->pending, true);
	else
		sctp_read_now(c);
	spin_unlock_bh(&c->lock);
}

/*
 * For each acknowledged chunk SCTP wakes the processes that wait for room; it
 * does not call sk_write_space.
 */
static int sctp_on_room(wait_queue_entry_t *wait, unsigned int mode, int flags,
			void *key)
{
	struct xiw_sctp *c = container_of(wait, struct xiw_sctp, room);

	if (READ_ONCE(c->fin) ||
	    (READ_ONCE(c->want_space) && xiw_sctp_has_room(c)))
		xiw_sctp_queue_work(c);
	return 0;
}

/*
 * State
 */

/* True after the peer's Terminate or, without a Terminate, its SHUTDOWN. */
static bool sctp_peer_ended(const struct xiw_sctp *c)
{
	return c->session.state == XIW_SESSION_PEER_ENDED ||
	       c->session.state == XIW_SESSION_DONE ||
	       (c->peer_shutdown && xa_empty(&c->held));
}

static bool sctp_all_read(const struct xiw_sctp *c)
{
	return !c->ready_bytes && !c->more;
}

/*
 * Is the session broken? The stream must report the fault of the peer, even if
 * the association has ended in the meantime.
 */
static bool sctp_is_broken(const struct xiw_sctp *c)
{
	return c->session.broken && !(c->gone && c->fin);
}

/* As with TCP, the second FIN is the end of the connection. */
static enum xiw_llp_status sctp_llp_status(struct xiw_llp *llp)
{
	struct xiw_sctp *c = xiw_sctp_from_llp(llp);

	if (sctp_is_broken(c))
		return XIW_LLP_BROKEN;
	if (READ_ONCE(c->xs.err))
		return XIW_LLP_LOST;
	if (!c->up)
		return XIW_LLP_CONNECTING;
	if (!sctp_all_read(c))
		return XIW_LLP_OPEN;
	if (c->gone)
		return sctp_peer_ended(c) ? XIW_LLP_CLOSED : XIW_LLP_LOST;
	return sctp_peer_ended(c) && !c->fin ? XIW_LLP_PEER_CLOSED
					     : XIW_LLP_OPEN;
}

static void sctp_found_up(struct xiw_sctp *c,
			  const struct sctp_association *asoc)
{
	c->up = true;
	/* RFC 5043 section 11.1: not an association for DDP. */
	if (asoc->peer.adaptation_ind != XIW_SCTP_ADAPTATION)
		xiw_sctp_lose(c, EPROTO);
}

/* Reads the state of the association. The lock is owned. */
static void sctp_sync(struct xiw_sctp *c)
{
	struct sock *sk = c->xs.sk;
	struct sctp_association *asoc;

	lock_sock(sk);
	asoc = xiw_sctp_asoc(sk);
	/*
	 * SCTP keeps an association that the peer has ended until it is
	 * accepted.
	 */
	if (asoc && asoc->state == SCTP_STATE_CLOSED)
		asoc = NULL;
	xiw_sctp_set_mulpdu(c, asoc);
	if (asoc) {
		if (asoc->state >= SCTP_STATE_ESTABLISHED && !c->up)
			sctp_found_up(c, asoc);
	} else {
		c->gone = true;
		if (!c->up)
			xiw_sctp_lose(c, sk->sk_err ?: ECONNREFUSED);
	}
	if (sk->sk_err)
		xiw_sctp_lose(c, sk->sk_err);
	if (sk->sk_shutdown & RCV_SHUTDOWN)
		c->peer_shutdown = true;
	xiw_sctp_next(c);
	release_sock(sk);
}

/* Makes all callbacks that may be due. The lock is owned. */
static void sctp_call_user(struct xiw_sctp *c)
{
	const struct xiw_llp_events *events = READ_ONCE(c->xs.events);
	bool space = c->want_run || (c->want_space && xiw_sctp_has_room(c));
	void *ctx = c->xs.ctx;

	if (!events || c->closed)
		return;
	c->busy = true;
	events->data_ready(&c->xs.llp, ctx);
	if (space) {
		c->want_run = false;
		WRITE_ONCE(c->want_space, false);
		events->write_space(&c->xs.llp, ctx);
	}
	events->state_change(&c->xs.llp, ctx);
	c->busy = false;
}

/* Messages that are copied, and those that the user reads, in order. */
static void sctp_receive(struct xiw_sctp *c)
{
	int left = SCTP_BATCH;
	enum xiw_sctp_next next;
	u32 taken;

	c->stuck = false;
	while (left--) {
		next = xiw_sctp_receive(c);
		if (next == XIW_SCTP_NOTHING)
			return;
		taken = c->taken;
		if (next == XIW_SCTP_READ)
			sctp_call_reader(c);
		if (next == XIW_SCTP_READ && c->taken == taken)
			return;
	}
	WRITE_ONCE(c->pending, true);
}

static void sctp_work(struct work_struct *work)
{
	struct xiw_sctp *c = container_of(work, struct xiw_sctp, work);
	unsigned int noio = memalloc_noio_save();

	xiw_sctp_own(c);
	sctp_receive(c);
	sctp_sync(c);
	xiw_sctp_end_session(c);
	sctp_call_user(c);
	xiw_sctp_reap(c);
	xiw_sctp_disown(c);
	memalloc_noio_restore(noio);
}

static void sctp_retry(struct work_struct *work)
{
	struct xiw_sctp *c = container_of(to_delayed_work(work),
					  struct xiw_sctp, retry);

	xiw_sctp_queue_work(c);
}

/*
 * Operations for streams
 */

static void sctp_llp_lock(struct xiw_llp *llp)
{
	xiw_sctp_own(xiw_sctp_from_llp(llp));
}

/* Calls data_ready in the process that owns the lock, not in the work item. */
static void sctp_read_pending(struct xiw_sctp *c)
{
	struct sock *sk = c->xs.sk;
	enum xiw_sctp_next next;

	WRITE_ONCE(c->pending, false);
	lock_sock(sk);
	next = xiw_sctp_next(c);
	release_sock(sk);
	if (next == XIW_SCTP_READ)
		sctp_call_reader(c);
	else if (next == XIW_SCTP_COPY)
		WRITE_ONCE(c->pending, true);
}

static void sctp_llp_unlock(struct xiw_llp *llp)
{
	struct xiw_sctp *c = xiw_sctp_from_llp(llp);

	if (READ_ONCE(c->pending) && !c->closed)
		sctp_read_pending(c);
	xiw_sctp_disown(c);
}

static bool sctp_llp_trylock_bh(struct xiw_llp *llp)
{
	return xiw_sctp_trylock_bh(xiw_sctp_from_llp(llp));
}

static void sctp_llp_unlock_bh(struct xiw_llp *llp)
{
	xiw_sctp_unlock_bh(xiw_sctp_from_llp(llp));
}

static void sctp_llp_set_events(struct xiw_llp *llp,
				const struct xiw_llp_events *events, void *ctx)
{
	struct xiw_sctp *c = xiw_sctp_from_llp(llp);
	struct sock *sk = c->xs.sk;

	xiw_sctp_own(c);
	/* A listener's events are called with this lock. */
	write_lock_bh(&sk->sk_callback_lock);
	c->xs.events = events;
	c->xs.ctx = ctx;
	write_unlock_bh(&sk->sk_callback_lock);
	xiw_sctp_disown(c);
}

/*
 * Charges the socket, as with TCP, and the received chunks. Only an Initiate
 * can wait to be sent; its struct sctp_chunk is not charged.
 */
static int sctp_llp_charge(struct xiw_llp *llp, struct mem_cgroup *memcg)
{
	struct xiw_sctp *c = xiw_sctp_from_llp(llp);
	struct sock *sk = c->xs.sk;
	u32 queued;
	int ret;

	lock_sock(sk);
	queued = sk->sk_wmem_queued;
	if (queued)
		queued -= sizeof(struct sctp_chunk);
	ret = xiw_sock_charge(sk, memcg, queued);
	if (!ret)
		WRITE_ONCE(c->memcg, xiw_sock_memcg(sk));
	release_sock(sk);
	return ret;
}

static void sctp_llp_record_flow(const struct xiw_llp *llp)
{
	sock_rps_record_flow(xiw_sctp_from_llp(llp)->xs.sk);
}

static bool sctp_llp_can_flush(const struct xiw_llp *llp)
{
	const struct xiw_sctp *c = xiw_sctp_from_llp(llp);

	return c->owned && !c->busy;
}

/* SCTP processes its backlog itself, in each sendmsg(). */
static void sctp_llp_flush_backlog(struct xiw_llp *llp)
{
	cond_resched();
}

static void sctp_llp_space(const struct xiw_llp *llp,
			   struct xiw_llp_space *space)
{
	const struct xiw_sctp *c = xiw_sctp_from_llp(llp);

	/* The EMSS at which a full FPDU without Markers has this MULPDU. */
	space->emss = READ_ONCE(c->mulpdu) + XIW_MPA_LEN_FIELD +
		      XIW_MPA_CRC_LEN;
	space->tail_fill = 0;
	space->sndbuf = READ_ONCE(c->xs.sk->sk_sndbuf);
}

static bool sctp_llp_idle(const struct xiw_llp *llp)
{
	const struct xiw_sctp *c = xiw_sctp_from_llp(llp);

	return !c->want_run && !READ_ONCE(c->xs.sk->sk_wmem_queued);
}

static int sctp_llp_send(struct xiw_llp *llp, struct bio_vec *bv,
			 unsigned int nr, size_t len, enum xiw_llp_push push)
{
	struct xiw_sctp *c = xiw_sctp_from_llp(llp);
	int ret = xiw_sctp_send(llp, bv, nr, len, push);

	if (c->owned)
		xiw_sctp_reap_if_due(c);
	return ret;
}

static const struct xiw_llp_ops sctp_llp_ops = {
	.chunks = true,
	.free = xiw_sock_free,
	.lock = sctp_llp_lock,
	.unlock = sctp_llp_unlock,
	.trylock_bh = sctp_llp_trylock_bh,
	.unlock_bh = sctp_llp_unlock_bh,
	.set_events = sctp_llp_set_events,
	.charge = sctp_llp_charge,
	.record_flow = sctp_llp_record_flow,
	.can_flush = sctp_llp_can_flush,
	.flush_backlog = sctp_llp_flush_backlog,
	.send = sctp_llp_send,
	.space = sctp_llp_space,
	.idle = sctp_llp_idle,
	.read = xiw_sctp_read,
	.unread = xiw_sctp_unread,
	.status = sctp_llp_status,
};

/*
 * Operations of sock.h
 */

static void sctp_init(struct xiw_sock *xs, bool accepted)
{
	struct xiw_sctp *c = xiw_sctp_from_sock(xs);

	xiw_sctp_lock_init(c);
	xiw_session_init(&c->session, !accepted);
	c->mulpdu = XIW_SESSION_SEGMENT_MIN;
	__skb_queue_head_init(&c->ready);
	xa_init(&c->held);
	c->wq = sctp_wq;
	INIT_WORK(&c->work, sctp_work);
	INIT_DELAYED_WORK(&c->retry, sctp_retry);
	init_waitqueue_func_entry(&c->room, sctp_on_room);
	add_wait_queue(sk_sleep(xs->sk), &c->room);
	if (accepted)
		xiw_sctp_set_rcvbuf(xs->sk, false);
}

/*
 * An accepted connection may have received data before the callbacks were set.
 */
static void sctp_start(struct xiw_sock *xs)
{
	xiw_sctp_queue_work(xiw_sctp_from_sock(xs));
}

/* RFC 5043 section 5.2.3: each Initiate is answered, if not by the ULP. */
static void sctp_answer_initiate(struct xiw_sctp *c)
{
	if (c->session.state != XIW_SESSION_PENDING)
		return;
	WRITE_ONCE(c->fin, true);
	xiw_sctp_end_session(c);
}

static void sctp_release(struct xiw_sock *xs)
{
	struct xiw_sctp *c = xiw_sctp_from_sock(xs);

	xiw_sctp_own(c);
	sctp_answer_initiate(c);
	WRITE_ONCE(c->closed, true);
	xiw_sctp_disown(c);
	remove_wait_queue(sk_sleep(xs->sk), &c->room);
	/* Each of the two work items may have queued the other one again. */
	cancel_work_sync(&c->work);
	cancel_delayed_work_sync(&c->retry);
	cancel_work_sync(&c->work);
	xiw_sctp_own(c);
	c->gone = true;
	xiw_sctp_purge(c);
	xiw_sctp_disown(c);
	/* Aborts the association if there still is one. */
	sock_no_linger(xs->sk);
}

static void sctp_shutdown(struct xiw_sock *xs)
{
	struct xiw_sctp *c = xiw_sctp_from_sock(xs);

	xiw_sctp_own(c);
	WRITE_ONCE(c->fin, true);
	xiw_sctp_end_session(c);
	xiw_sctp_disown(c);
}

static bool sctp_may_send(const struct xiw_sctp *c)
{
	return c->up && !c->gone && !c->xs.err;
}

static int sctp_send_frame(struct xiw_sock *xs,
			   const struct xiw_mpa_frame *frame, const void *pdata)
{
	struct xiw_sctp *c = xiw_sctp_from_sock(xs);
	int ret = -ENOTCONN;

	xiw_sctp_own(c);
	if (sctp_may_send(c))
		ret = xiw_sctp_send_frame(c, frame, pdata);
	xiw_sctp_disown(c);
	return ret;
}

static int sctp_send_fpdu(struct xiw_sock *xs, const void *buf, size_t len)
{
	struct xiw_sctp *c = xiw_sctp_from_sock(xs);
	int ret = -ENOTCONN;

	xiw_sctp_own(c);
	if (sctp_may_send(c))
		ret = xiw_sctp_send_fpdu(c, buf, len);
	xiw_sctp_disown(c);
	return ret;
}

static int sctp_recv_frame(struct xiw_sock *xs, struct xiw_mpa_frame *frame,
			   void *pdata)
{
	struct xiw_sctp *c = xiw_sctp_from_sock(xs);
	int ret = -EAGAIN;

	xiw_sctp_own(c);
	/* The Adaptation Indication must be checked before a frame is used. */
	if (c->up)
		ret = xiw_sctp_take_frame(c, frame, pdata);
	if (ret) {
		switch (sctp_llp_status(&xs->llp)) {
		case XIW_LLP_PEER_CLOSED:
		case XIW_LLP_CLOSED:
			ret = -ECONNRESET;
			break;
		case XIW_LLP_BROKEN:
			ret = -EPROTO;
			break;
		case XIW_LLP_LOST:
			ret = xiw_sock_error(xs);
			break;
		default:
			break;
		}
	}
	xiw_sctp_disown(c);
	return ret;
}

/*
 * Sets the local address of the first path. The address of the socket is the
 * wildcard, or the one that was bound last.
 */
static void sctp_fix_local(struct xiw_sock *xs, struct sockaddr_storage *local)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)local;
	struct sockaddr_in *in = (struct sockaddr_in *)local;
	struct sctp_association *asoc;
	union sctp_addr used = {};

	lock_sock(xs->sk);
	asoc = xiw_sctp_asoc(xs->sk);
	if (asoc && asoc->peer.primary_path)
		used = asoc->peer.primary_path->saddr;
	release_sock(xs->sk);
	if (used.sa.sa_family == AF_INET && local->ss_family == AF_INET)
		in->sin_addr = used.v4.sin_addr;
	else if (used.sa.sa_family == AF_INET)
		ipv6_addr_set_v4mapped(used.v4.sin_addr.s_addr,
				       &in6->sin6_addr);
	else if (used.sa.sa_family == AF_INET6)
		in6->sin6_addr = used.v6.sin6_addr;
}

static u32 sctp_taken(const struct xiw_sock *xs)
{
	return READ_ONCE(xiw_sctp_from_sock(xs)->taken);
}

static u32 sctp_acked(const struct xiw_sock *xs)
{
	struct sock *sk = xs->sk;
	struct sctp_association *asoc;
	u32 acked = 0;

	lock_sock(sk);
	asoc = xiw_sctp_asoc(sk);
	if (asoc)
		acked = asoc->ctsn_ack_point;
	release_sock(sk);
	return acked;
}

const struct xiw_sock_proto xiw_sctp_proto = {
	.size = sizeof(struct xiw_sctp),
	.llp_ops = &sctp_llp_ops,
	.on_data = sctp_on_data,
	.on_event = sctp_on_event,
	.init = sctp_init,
	.start = sctp_start,
	.shutdown = sctp_shutdown,
	.release = sctp_release,
	.send_frame = sctp_send_frame,
	.recv_frame = sctp_recv_frame,
	.send_fpdu = sctp_send_fpdu,
	.fix_local = sctp_fix_local,
	.taken = sctp_taken,
	.acked = sctp_acked,
};

/**
 * xiw_sctp_make_wq() - allocate the workqueue before the first connection
 *
 * Context: Sleeps.
 * Return: 0 or -ENOMEM.
 */
int xiw_sctp_make_wq(void)
{
	int ret;

	mutex_lock(&sctp_wq_mutex);
	if (!sctp_wq)
		sctp_wq = alloc_workqueue("xiw_sctp",
					  WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	ret = sctp_wq ? 0 : -ENOMEM;
	mutex_unlock(&sctp_wq_mutex);
	return ret;
}

/**
 * xiw_sctp_module_exit() - free the workqueue, after the last connection
 *
 * Context: Sleeps.
 */
void xiw_sctp_module_exit(void)
{
	if (sctp_wq)
		destroy_workqueue(sctp_wq);
}
