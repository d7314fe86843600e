// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive side of connections over SCTP: finds the next chunk in the order of
 * SSNs, for the stream to read where it is, and copies the others.
 */

/**
 * DOC: Receiving in place
 *
 * The stream reads a DDP segment that is the next one in the order of SSNs in
 * the socket's queue, sk_receive_queue. The socket lock protects the queue, and
 * SCTP only appends to it. Messages are removed by recvmsg() and by the release
 * of the socket alone. xiw calls recvmsg() with the lock of the connection
 * owned, so a message stays valid as long as the lock is held in any way.
 *
 * recvmsg() sleeps, and removes the first message only. So the messages up to
 * xiw_sctp.last have been read, and wait to be removed ("reaped") by a process
 * that owns the lock. They take up receive window: see SCTP_REAP_SOON.
 *
 * The data of a message may be shared with packet sockets: it is not written.
 */

/**
 * DOC: Early chunks
 *
 * Chunks are unordered. The work takes them out of the socket at once: left
 * there while an earlier one is missing, they would close the receive window,
 * and the missing one would be refused. Early chunks wait in xiw_sctp.held, up
 * to SCTP_HELD_MAX bytes of memory. While there are any, the work copies every
 * message, and those in order wait in xiw_sctp.ready. Only if the stream does
 * not read these, the work leaves the rest in the socket: SCTP_READY_MAX.
 *
 * Copied as well are session control messages, notifications of SCTP, and what
 * was sent in several fragments.
 */
#include "sctp_rx.h"

#include <linux/bvec.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/unaligned.h>

#include "sctp_conn.h"
#include "stats.h"

/* Bytes of early chunks: more than an honest peer can have in flight */
#define SCTP_HELD_MAX		(1024 * 1024)

/* Bytes of copied segments in order that wait to be read */
#define SCTP_READY_MAX		(512 * 1024)

/* The largest message: DDP has 16 bits for the length of a segment. */
#define SCTP_MESSAGE_MAX	(XIW_SESSION_SSN_LEN + U16_MAX)

/*
 * A message up to SCTP_LINEAR_MAX bytes is copied into a linear skb. Of a
 * longer one only the first SCTP_HEAD_LEN bytes are linear, the rest is in
 * pages.
 */
#define SCTP_LINEAR_MAX		SKB_MAX_ORDER(0, 2)
#define SCTP_HEAD_LEN		256

/*
 * Messages that wait to be reaped, at most: until a process has the lock
 * anyway, and until the work is queued to do it
 */
#define SCTP_REAP_SOON		16
#define SCTP_REAP_LATE		64

/* Bytes per message in these limits: they allow 1/16 and 1/4 of the window. */
#define SCTP_REAP_BYTES		2048

/* Limit for counting unread bytes: beyond it the stream treats all alike. */
#define SCTP_UNREAD_MAX		(128 * 1024)

/* The control buffer of a chunk, with the way in which SCTP delivered it */
static struct xiw_session_chunk *sctp_rx_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct xiw_session_chunk) > sizeof(skb->cb));
	return (struct xiw_session_chunk *)skb->cb;
}

static void sctp_rx_add_segment(struct xiw_sctp *c, struct sk_buff *skb)
{
	__skb_queue_tail(&c->ready, skb);
	c->ready_bytes += skb->len;
	c->ready_mem += skb->truesize;
}

static void sctp_rx_drop_held(struct xiw_sctp *c)
{
	unsigned long ssn;
	struct sk_buff *skb;

	xa_for_each(&c->held, ssn, skb)
		kfree_skb(skb);
	xa_destroy(&c->held);
	c->held_mem = 0;
}

/* Ends the session, as a chunk fits no pattern. Consumes @skb. */
static void sctp_rx_break(struct xiw_sctp *c, struct sk_buff *skb)
{
	kfree_skb(skb);
	xiw_session_receive(&c->session, NULL);
	sctp_rx_drop_held(c);
}

/* Processes the next chunk in the order of SSNs, and consumes it. */
static void sctp_rx_process(struct xiw_sctp *c, struct sk_buff *skb,
			    const struct xiw_session_msg *msg)
{
	if (!xiw_session_receive(&c->session, msg)) {
		sctp_rx_break(c, skb);
	} else if (msg->code == XIW_SESSION_SEGMENT) {
		sctp_rx_add_segment(c, skb);
	} else if (msg->code == XIW_SESSION_TERMINATE) {
		consume_skb(skb);
	} else {
		/* A session has one startup message of each side. */
		consume_skb(c->start);
		c->start = skb;
		c->start_frame = msg->frame;
	}
}

static void sctp_rx_hold(struct xiw_sctp *c, struct sk_buff *skb, u16 ssn)
{
	u32 mem = c->held_mem + skb->truesize;

	xiw_session_confirm(&c->session);
	/* A session has an endpoint, so the counters are set. */
	xiw_stat_inc(c->xs.stats, XIW_STAT_RX_EARLY);
	if (mem <= SCTP_HELD_MAX && !xa_insert(&c->held, ssn, skb, GFP_NOIO)) {
		c->held_mem = mem;
		return;
	}
	sctp_rx_break(c, skb);
}

static void sctp_rx_chunk(struct xiw_sctp *c, struct sk_buff *skb)
{
	struct xiw_session_msg msg;

	if (xiw_session_decode(sctp_rx_cb(skb), skb->data, skb->len, &msg)) {
		sctp_rx_break(c, skb);
		return;
	}
	switch (xiw_session_order(&c->session, msg.ssn)) {
	case XIW_SESSION_NEXT:
		sctp_rx_process(c, skb, &msg);
		break;
	case XIW_SESSION_EARLY:
		sctp_rx_hold(c, skb, msg.ssn);
		break;
	case XIW_SESSION_STRAY:
		sctp_rx_break(c, skb);
		break;
	}
}

/* Processes a chunk, and those that waited for it. */
static void sctp_rx_take(struct xiw_sctp *c, struct sk_buff *skb)
{
	while (skb && !c->xs.err && !c->session.broken) {
		sctp_rx_chunk(c, skb);
		skb = xa_erase(&c->held, c->session.rx_next);
		if (skb)
			c->held_mem -= skb->truesize;
	}
	kfree_skb(skb);
}

static void sctp_rx_info(struct xiw_session_chunk *chunk,
			 const struct msghdr *msg, const void *control)
{
	const struct cmsghdr *hdr = control;
	const struct sctp_rcvinfo *info = CMSG_DATA(hdr);

	memset(chunk, 0, sizeof(*chunk));
	/* Without information the PPID is 0, which is invalid. */
	if (hdr->cmsg_level != IPPROTO_SCTP || hdr->cmsg_type != SCTP_RCVINFO)
		return;
	chunk->ppid = be32_to_cpu((__force __be32)info->rcv_ppid);
	chunk->stream = info->rcv_sid;
	chunk->whole = msg->msg_flags & MSG_EOR;
}

static void sctp_rx_notified(struct xiw_sctp *c, const struct sk_buff *skb)
{
	const struct sctp_assoc_change *change = (const void *)skb->data;

	if (skb_headlen(skb) < sizeof(*change) ||
	    change->sac_type != SCTP_ASSOC_CHANGE)
		return;
	/* A peer that restarted has another association. */
	if (change->sac_state == SCTP_RESTART ||
	    change->sac_state == SCTP_COMM_LOST) {
		xiw_sctp_lose(c, ECONNRESET);
		c->gone = true;
		c->foreign = true;
	} else if (change->sac_state == SCTP_CANT_STR_ASSOC) {
		xiw_sctp_lose(c, ECONNREFUSED);
	}
}

/*
 * An skb for a message of @len bytes. It is charged to the group of the socket.
 * As with TCP, a group at its limit delays what its peers send. With
 * __GFP_NORETRY no process of the group is killed for that.
 */
static struct sk_buff *sctp_rx_alloc(struct xiw_sctp *c, u32 len)
{
	gfp_t gfp = GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN | __GFP_ACCOUNT;
	u32 head = len <= SCTP_LINEAR_MAX ? len : SCTP_HEAD_LEN;
	struct mem_cgroup *old = set_active_memcg(READ_ONCE(c->memcg));
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(head, len - head, PAGE_ALLOC_COSTLY_ORDER,
				   &err, gfp);
	set_active_memcg(old);
	if (!skb)
		return NULL;
	skb_put(skb, head);
	skb->data_len = len - head;
	skb->len = len;
	return skb;
}

/* Receives a message into @skb, which has its length. */
static int sctp_rx_message(struct xiw_sctp *c, struct sk_buff *skb,
			   struct msghdr *msg)
{
	struct skb_shared_info *info = skb_shinfo(skb);
	struct bio_vec bv[1 + MAX_SKB_FRAGS];
	unsigned int i;

	bvec_set_page(&bv[0], virt_to_page(skb->data), skb_headlen(skb),
		      offset_in_page(skb->data));
	for (i = 0; i < info->nr_frags; i++)
		bvec_set_page(&bv[1 + i], skb_frag_page(&info->frags[i]),
			      skb_frag_size(&info->frags[i]),
			      skb_frag_off(&info->frags[i]));
	iov_iter_bvec(&msg->msg_iter, ITER_DEST, bv, 1 + info->nr_frags,
		      skb->len);
	return sock_recvmsg(c->xs.sock, msg, MSG_DONTWAIT);
}

/* Handles a received message and consumes @skb. The lock is owned. */
static void sctp_rx_received(struct xiw_sctp *c, struct sk_buff *skb,
			     const struct msghdr *msg, const void *control)
{
	if (msg->msg_flags & MSG_NOTIFICATION) {
		sctp_rx_notified(c, skb);
		consume_skb(skb);
		return;
	}
	sctp_rx_info(sctp_rx_cb(skb), msg, control);
	sctp_rx_take(c, skb);
}

/*
 * Discards the first unread message: it is of a broken session, longer than any
 * valid one, or a notification of SCTP that the association has ended. The lock
 * is owned. False if there is no message.
 */
static bool sctp_rx_discard(struct xiw_sctp *c, u32 len)
{
	struct msghdr msg = {};
	int ret;

	xiw_sctp_reap(c);
	iov_iter_discard(&msg.msg_iter, ITER_DEST, len);
	ret = sock_recvmsg(c->xs.sock, &msg, MSG_DONTWAIT);
	if (ret > 0 && msg.msg_flags & MSG_NOTIFICATION)
		c->gone = true;
	else if (ret > 0)
		sctp_rx_break(c, NULL);
	return ret > 0;
}

/* Copies the first message of the socket, of @len bytes. The lock is owned. */
static bool sctp_rx_copy_first(struct xiw_sctp *c, struct sk_buff *skb, u32 len)
{
	u8 control[CMSG_SPACE(sizeof(struct sctp_rcvinfo))] __aligned(8) = {};
	struct msghdr msg = {
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int ret = sctp_rx_message(c, skb, &msg);

	if (ret == len) {
		sctp_rx_received(c, skb, &msg, control);
		return true;
	}
	kfree_skb(skb);
	xiw_sctp_lose(c, ret < 0 ? -ret : ECONNRESET);
	return false;
}

/*
 * Copies the first unread message, of @len bytes. The lock is owned. False if
 * that is not possible now.
 */
static bool sctp_rx_copy(struct xiw_sctp *c, u32 len)
{
	struct sk_buff *skb;

	if (c->session.broken || len > SCTP_MESSAGE_MAX)
		return sctp_rx_discard(c, len);
	skb = sctp_rx_alloc(c, len);
	if (!skb) {
		xiw_sctp_queue_retry(c);
		return false;
	}
	xiw_sctp_reap(c);
	return sctp_rx_copy_first(c, skb, len);
}

/*
 * Reading in place
 */

/* The first unread message of the association. The socket lock is held. */
static struct sk_buff *sctp_rx_first(const struct xiw_sctp *c)
{
	struct sk_buff_head *queue = &c->xs.sk->sk_receive_queue;

	if (c->foreign)
		return NULL;
	return c->last ? skb_peek_next(c->last, queue) : skb_peek(queue);
}

/*
 * Is the message a segment that can be read where it is? Fragments of a message
 * are in a list without a limit. Sets @msg.
 */
static bool sctp_rx_in_place(const struct xiw_sctp *c, struct sk_buff *skb,
			     struct xiw_session_msg *msg)
{
	const struct sctp_ulpevent *event = sctp_skb2event(skb);
	const struct xiw_session_chunk chunk = {
		.ppid = be32_to_cpu((__force __be32)event->ppid),
		.stream = event->stream,
		.whole = event->msg_flags & MSG_EOR,
	};

	if (event->msg_flags & MSG_NOTIFICATION || skb_is_nonlinear(skb) ||
	    skb->len > SCTP_MESSAGE_MAX || !xa_empty(&c->held))
		return false;
	if (xiw_session_decode(&chunk, skb->data, skb->len, msg) ||
	    msg->code != XIW_SESSION_SEGMENT)
		return false;
	return xiw_session_order(&c->session, msg->ssn) == XIW_SESSION_NEXT &&
	       xiw_session_step(c->session.state, XIW_SESSION_RX_SEGMENT).legal;
}

/**
 * xiw_sctp_next() - find out what is to be done with the first unread message
 * @c: connection; @c->more is set
 *
 * Context: Both locks are held.
 * Return: See enum xiw_sctp_next.
 */
enum xiw_sctp_next xiw_sctp_next(struct xiw_sctp *c)
{
	struct sk_buff *skb = sctp_rx_first(c);
	struct xiw_session_msg msg;

	c->more = skb;
	if (!skb)
		return XIW_SCTP_NOTHING;
	if (sctp_rx_in_place(c, skb, &msg))
		return XIW_SCTP_READ;
	return c->stuck || c->ready_mem >= SCTP_READY_MAX ? XIW_SCTP_NOTHING :
							    XIW_SCTP_COPY;
}

/**
 * xiw_sctp_receive() - copy the first unread message, if that is necessary
 * @c: connection
 *
 * Context: Lock owned; sleeps.
 * Return: XIW_SCTP_COPY if a message was copied; the user has to read if it is
 * XIW_SCTP_READ.
 */
enum xiw_sctp_next xiw_sctp_receive(struct xiw_sctp *c)
{
	struct sock *sk = c->xs.sk;
	enum xiw_sctp_next next;
	u32 len = 0;

	/* A message that arrives after the check below sets this again. */
	WRITE_ONCE(c->pending, false);
	lock_sock(sk);
	next = xiw_sctp_next(c);
	if (next == XIW_SCTP_COPY)
		len = sctp_rx_first(c)->len;
	release_sock(sk);
	if (next != XIW_SCTP_COPY || sctp_rx_copy(c, len))
		return next;
	c->stuck = true;
	return XIW_SCTP_NOTHING;
}

/**
 * xiw_sctp_reap() - remove the messages that were read from the socket
 * @c: connection
 *
 * Context: Lock owned; sleeps.
 */
void xiw_sctp_reap(struct xiw_sctp *c)
{
	struct msghdr msg;
	int ret = 1;

	for (; c->seen && ret > 0; c->seen--) {
		msg = (struct msghdr) {};
		iov_iter_discard(&msg.msg_iter, ITER_DEST, SCTP_MESSAGE_MAX);
		ret = sock_recvmsg(c->xs.sock, &msg, MSG_DONTWAIT);
	}
	if (ret <= 0)
		xiw_sctp_lose(c, ret < 0 ? -ret : ECONNRESET);
	c->last = NULL;
	c->seen = 0;
	c->seen_bytes = 0;
}

static bool sctp_rx_reap_due(const struct xiw_sctp *c, u32 most)
{
	return c->seen > most || c->seen_bytes > most * SCTP_REAP_BYTES;
}

/**
 * xiw_sctp_reap_if_due() - reap if that is worth it
 * @c: connection
 *
 * Context: Lock owned; sleeps.
 */
void xiw_sctp_reap_if_due(struct xiw_sctp *c)
{
	unsigned int noio;

	if (!sctp_rx_reap_due(c, SCTP_REAP_SOON)) {
		xiw_sctp_reap_later(c);
		return;
	}
	noio = memalloc_noio_save();
	xiw_sctp_reap(c);
	memalloc_noio_restore(noio);
}

/**
 * xiw_sctp_reap_later() - let the work reap
 * @c: connection
 *
 * Context: Lock held.
 */
void xiw_sctp_reap_later(struct xiw_sctp *c)
{
	if (sctp_rx_reap_due(c, SCTP_REAP_LATE))
		xiw_sctp_queue_work(c);
	else if (c->seen)
		xiw_sctp_queue_retry(c);
}

static int sctp_rx_read_ready(struct xiw_sctp *c, sk_read_actor_t actor,
			      read_descriptor_t *desc)
{
	bool full = c->ready_mem >= SCTP_READY_MAX;
	struct sk_buff *skb;
	int done = 0;

	while ((skb = skb_peek(&c->ready)) &&
	       actor(desc, skb, 0, skb->len) > 0) {
		done += skb->len;
		c->ready_bytes -= skb->len;
		c->ready_mem -= skb->truesize;
		__skb_unlink(skb, &c->ready);
		consume_skb(skb);
	}
	if (full && c->ready_mem < SCTP_READY_MAX)
		xiw_sctp_queue_work(c);
	return done;
}

/* Reads segments in place. Both locks are held. Returns the bytes consumed. */
static int sctp_rx_read_queue(struct xiw_sctp *c, sk_read_actor_t actor,
			      read_descriptor_t *desc)
{
	struct xiw_session_msg msg;
	struct sk_buff *skb;
	int done = 0;

	while ((skb = sctp_rx_first(c)) && sctp_rx_in_place(c, skb, &msg) &&
	       actor(desc, skb, 0, skb->len) > 0) {
		xiw_session_receive(&c->session, &msg);
		done += skb->len;
		c->last = skb;
		c->seen++;
		c->seen_bytes += skb->len;
	}
	/*
	 * The stream checks the state of the connection when it has read all.
	 */
	c->more = skb;
	return done;
}

/* As sctp_rx_read_queue(), with the lock owned and the socket lock not held */
static int sctp_rx_lock_and_read(struct xiw_sctp *c, sk_read_actor_t actor,
				 read_descriptor_t *desc)
{
	/* Packets that arrive now are processed when the lock is released. */
	unsigned int noio = memalloc_noio_save();
	struct sock *sk = c->xs.sk;
	int done;

	lock_sock(sk);
	done = sctp_rx_read_queue(c, actor, desc);
	if (xiw_sctp_next(c) == XIW_SCTP_COPY)
		WRITE_ONCE(c->pending, true);
	release_sock(sk);
	memalloc_noio_restore(noio);
	xiw_sctp_reap_if_due(c);
	return done;
}

/**
 * xiw_sctp_read() - xiw_llp_ops.read
 * @llp: connection
 * @actor: function that consumes chunks
 * @arg: its argument
 *
 * Context: Lock held; sleeps if it is owned.
 * Return: Bytes consumed.
 */
int xiw_sctp_read(struct xiw_llp *llp, sk_read_actor_t actor, void *arg)
{
	read_descriptor_t desc = { .arg.data = arg, .count = 1 };
	struct xiw_sctp *c = xiw_sctp_from_llp(llp);
	int done = sctp_rx_read_ready(c, actor, &desc);

	if (skb_queue_empty(&c->ready) && !c->closed)
		done += c->in_callback ?
				sctp_rx_read_queue(c, actor, &desc) :
				sctp_rx_lock_and_read(c, actor, &desc);
	WRITE_ONCE(c->taken, c->taken + done);
	return done;
}

/**
 * xiw_sctp_unread() - xiw_llp_ops.unread
 * @llp: connection
 *
 * In process context the user may as well read at once, so what is in the
 * socket counts in a callback only.
 *
 * Context: Lock held.
 * Return: Bytes, up to SCTP_UNREAD_MAX and a message.
 */
int xiw_sctp_unread(struct xiw_llp *llp)
{
	struct xiw_sctp *c = xiw_sctp_from_llp(llp);
	struct sk_buff *skb = c->in_callback ? sctp_rx_first(c) : NULL;
	u32 bytes = c->ready_bytes;

	while (skb && bytes <= SCTP_UNREAD_MAX) {
		bytes += skb->len;
		skb = skb_peek_next(skb, &c->xs.sk->sk_receive_queue);
	}
	return bytes;
}

/**
 * xiw_sctp_take_frame() - take the peer's startup frame
 * @c: connection
 * @frame: set on success
 * @pdata: the Private Data is copied to it, up to XIW_MPA_PD_MAX bytes
 *
 * Context: Lock held.
 * Return: 0, or -EAGAIN if there is none.
 */
int xiw_sctp_take_frame(struct xiw_sctp *c, struct xiw_mpa_frame *frame,
			void *pdata)
{
	if (!c->start)
		return -EAGAIN;
	*frame = c->start_frame;
	memcpy(pdata, c->start->data + frame->pd_off, frame->pd_len);
	frame->pd_off = 0;
	consume_skb(c->start);
	c->start = NULL;
	return 0;
}

/**
 * xiw_sctp_purge() - free all that was copied
 * @c: connection
 *
 * Context: Lock owned.
 */
void xiw_sctp_purge(struct xiw_sctp *c)
{
	kfree_skb(c->start);
	c->start = NULL;
	__skb_queue_purge(&c->ready);
	c->ready_bytes = 0;
	c->ready_mem = 0;
	/* The release of the socket frees its queue. */
	c->last = NULL;
	c->seen = 0;
	sctp_rx_drop_held(c);
}
