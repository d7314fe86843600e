// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The lock of a connection over SCTP, its work items, and how it fails.
 */

/**
 * DOC: Lock of a stream over SCTP
 *
 * SCTP's sendmsg() and recvmsg() take the socket lock and sleep. So a stream
 * over SCTP has a lock of its own, xiw_sctp.lock: held as a spinlock in softirq
 * context, owned in process context, as a socket lock.
 *
 * A process owns the lock before it takes the socket lock. SCTP's callbacks
 * have the socket lock, and take the spinlock for the user to read in place. If
 * the lock is owned, they set @pending, and its owner lets the user read when
 * it releases the lock. The socket lock is never taken with the spinlock held.
 *
 * What sleeps is left to the work: it copies or removes messages, sends what
 * could not be sent in softirq context, and reports the state of the
 * association.
 */
#include "sctp_conn.h"

#include <linux/sched.h>

/* How long to wait for memory, in milliseconds. */
#define SCTP_RETRY_MS	20

/**
 * xiw_sctp_queue_work() - queue the work, which checks the socket
 * @c: connection
 *
 * The work has no reference: the release of the socket sets @closed with the
 * lock held, and then cancels the work. So the caller holds the lock, or is a
 * callback of SCTP or another work item, the end of which the release awaits
 * before it cancels the work.
 *
 * Context: Any.
 */
void xiw_sctp_queue_work(struct xiw_sctp *c)
{
	if (!READ_ONCE(c->closed))
		queue_work(c->wq, &c->work);
}

/**
 * xiw_sctp_queue_retry() - queue the work after SCTP_RETRY_MS
 * @c: connection
 *
 * Context: Any.
 */
void xiw_sctp_queue_retry(struct xiw_sctp *c)
{
	if (!READ_ONCE(c->closed))
		queue_delayed_work(c->wq, &c->retry,
				   msecs_to_jiffies(SCTP_RETRY_MS));
}

/*
 * The lock
 */

/**
 * xiw_sctp_lock_init() - initialise the lock
 * @c: new connection
 *
 * Context: Any.
 */
void xiw_sctp_lock_init(struct xiw_sctp *c)
{
	static struct lock_class_key key;

	spin_lock_init(&c->lock);
	init_waitqueue_head(&c->waiters);
	lockdep_init_map(&c->map, "xiw_sctp_owned", &key, 0);
}

static void sctp_conn_wait(struct xiw_sctp *c)
	__must_hold(&c->lock)
{
	DEFINE_WAIT(wait);

	for (;;) {
		prepare_to_wait_exclusive(&c->waiters, &wait,
					  TASK_UNINTERRUPTIBLE);
		spin_unlock_bh(&c->lock);
		schedule();
		spin_lock_bh(&c->lock);
		if (!c->owned)
			break;
	}
	finish_wait(&c->waiters, &wait);
}

/**
 * xiw_sctp_own() - take the lock
 * @c: connection
 *
 * Context: Sleeps.
 */
void xiw_sctp_own(struct xiw_sctp *c)
{
	might_sleep();
	spin_lock_bh(&c->lock);
	if (c->owned)
		sctp_conn_wait(c);
	c->owned = true;
	spin_unlock_bh(&c->lock);
	lock_map_acquire(&c->map);
}

/**
 * xiw_sctp_disown() - release the lock after xiw_sctp_own()
 * @c: connection
 *
 * The work does what is pending.
 *
 * Context: Process context.
 */
void xiw_sctp_disown(struct xiw_sctp *c)
{
	lock_map_release(&c->map);
	spin_lock_bh(&c->lock);
	c->owned = false;
	/* Once the lock is free, the next owner may free the connection. */
	if (READ_ONCE(c->pending))
		xiw_sctp_queue_work(c);
	/* Waiters are added with the lock held. */
	if (waitqueue_active(&c->waiters))
		wake_up(&c->waiters);
	spin_unlock_bh(&c->lock);
}

/**
 * xiw_sctp_trylock_bh() - take the lock as a spinlock
 * @c: connection
 *
 * Context: Any, with interrupts on.
 * Return: false if it is held or owned.
 */
bool xiw_sctp_trylock_bh(struct xiw_sctp *c)
{
	if (!spin_trylock_bh(&c->lock))
		return false;
	if (c->owned) {
		spin_unlock_bh(&c->lock);
		return false;
	}
	/* The lock stays held; sparse cannot follow a conditional lock. */
	__release(&c->lock);
	return true;
}

/**
 * xiw_sctp_unlock_bh() - release the lock after xiw_sctp_trylock_bh()
 * @c: connection
 *
 * Context: As of xiw_sctp_trylock_bh().
 */
void xiw_sctp_unlock_bh(struct xiw_sctp *c)
{
	__acquire(&c->lock);
	spin_unlock_bh(&c->lock);
}

/*
 * Receive buffer until the ULP accepts: no control group is charged for it, and
 * an Initiate is all that a peer may send. The window announced to the peer is
 * that of XIW_SCTP_RCVBUF, as it also ends the slow start of the peer.
 */
#define SCTP_CONN_RCVBUF_EARLY	(64 * 1024)

/**
 * xiw_sctp_set_rcvbuf() - limit the memory of received chunks
 * @sk: socket of an accepted association
 * @accepted: the ULP has accepted it
 *
 * At the limit SCTP delivers the beginning of an incomplete message, which ends
 * the session.
 *
 * Context: Process context, without the socket lock.
 */
void xiw_sctp_set_rcvbuf(struct sock *sk, bool accepted)
{
	lock_sock(sk);
	WRITE_ONCE(sk->sk_rcvbuf,
		   accepted ? XIW_SCTP_RCVBUF : SCTP_CONN_RCVBUF_EARLY);
	release_sock(sk);
}

/*
 * Failures
 */

/**
 * xiw_sctp_lose() - record that the connection is lost
 * @c: connection; the end of an association behind the end of its session is no
 *	loss
 * @err: reason, a positive errno
 *
 * Context: Lock held.
 */
void xiw_sctp_lose(struct xiw_sctp *c, int err)
{
	if (!c->xs.err && c->session.state != XIW_SESSION_DONE)
		WRITE_ONCE(c->xs.err, err);
}
