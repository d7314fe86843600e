// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive side of connections over SCTP: chunks are copied out of the socket,
 * put in the order of their SSNs, and become FPDUs or startup frames.
 */

/**
 * DOC: Early chunks
 *
 * Chunks are unordered. The work takes them out of the socket at once: left
 * there while an earlier one is missing, they would close the receive window,
 * and the missing one would be refused. Early chunks wait in xiw_sctp.held, up
 * to SCTP_HELD_MAX bytes of memory. Only FPDUs in order, which the stream can
 * read, make the work leave the rest in the socket: SCTP_READY_MAX.
 */
#include "sctp_rx.h"

#include <linux/bvec.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/unaligned.h>

#include "sctp_conn.h"

/* Bytes of early chunks: more than an honest peer can have in flight */
#define SCTP_HELD_MAX		(1024 * 1024)

/* Bytes of FPDUs in order that wait to be read */
#define SCTP_READY_MAX		(512 * 1024)

/* The largest message: an FPDU has 16 bits for the length of its ULPDU. */
#define SCTP_MESSAGE_MAX	(XIW_SESSION_SSN_LEN + U16_MAX)

/* A longer message is received into pages, but for its first bytes. */
#define SCTP_LINEAR_MAX		SKB_MAX_ORDER(0, 2)
#define SCTP_HEAD_LEN		256

/* Parts of an FPDU that a chunk does not have: padding and CRC field */
#define SCTP_TRAILER_MAX	(3 + XIW_MPA_CRC_LEN)

/* The control buffer of a chunk, with the way in which SCTP delivered it */
static struct xiw_session_chunk *sctp_rx_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct xiw_session_chunk) > sizeof(skb->cb));
	return (struct xiw_session_chunk *)skb->cb;
}

/*
 * Makes the FPDU that carries the ULPDU of the chunk: the length takes the
 * place of the SSN, and padding and CRC field are zero. No CRC was agreed on.
 */
static void sctp_rx_add_segment(struct xiw_sctp *c, struct sk_buff *skb)
{
	u32 ulpdu_len = skb->len - XIW_SESSION_SSN_LEN;
	u32 more = xiw_mpa_fpdu_len(ulpdu_len) - skb->len;

	put_unaligned_be16(ulpdu_len, skb->data);
	if (skb_is_nonlinear(skb)) {
		get_page(ZERO_PAGE(0));
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, ZERO_PAGE(0), 0,
				more, 0);
	} else {
		skb_put_zero(skb, more);
	}
	__skb_queue_tail(&c->ready, skb);
	c->ready_bytes += skb->len;
	WRITE_ONCE(c->ready_mem, c->ready_mem + skb->truesize);
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

/* Length of the next message; notifications count as well. */
static u32 sctp_rx_next_len(struct sock *sk)
{
	struct sk_buff *skb;
	u32 len = 0;

	lock_sock(sk);
	skb = skb_peek(&sk->sk_receive_queue);
	if (skb)
		len = skb->len;
	release_sock(sk);
	return len;
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
	} else if (change->sac_state == SCTP_CANT_STR_ASSOC) {
		xiw_sctp_lose(c, ECONNREFUSED);
	}
}

/*
 * An skb for a message of @len bytes, and the trailer of an FPDU if the message
 * is short. It is charged to the group of the socket. As with TCP, a group at
 * its limit delays what its peers send. With __GFP_NORETRY no process of the
 * group is killed for that.
 */
static struct sk_buff *sctp_rx_alloc(struct xiw_sctp *c, u32 len)
{
	gfp_t gfp = GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN | __GFP_ACCOUNT;
	bool linear = len + SCTP_TRAILER_MAX <= SCTP_LINEAR_MAX;
	u32 head = linear ? len : SCTP_HEAD_LEN;
	struct mem_cgroup *old = set_active_memcg(READ_ONCE(c->memcg));
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(head + (linear ? SCTP_TRAILER_MAX : 0),
				   len - head, PAGE_ALLOC_COSTLY_ORDER, &err,
				   gfp);
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
 * Discards a message of a broken session, or one that is too long for any.
 * False if there is none. A notification is about the end of the association.
 */
static bool sctp_rx_discard(struct xiw_sctp *c, u32 len)
{
	struct msghdr msg = {};
	int ret;

	iov_iter_discard(&msg.msg_iter, ITER_DEST, len);
	ret = sock_recvmsg(c->xs.sock, &msg, MSG_DONTWAIT);
	xiw_sctp_own(c);
	if (ret > 0 && msg.msg_flags & MSG_NOTIFICATION)
		c->gone = true;
	else if (ret > 0)
		sctp_rx_break(c, NULL);
	xiw_sctp_disown(c);
	return ret > 0;
}

/**
 * xiw_sctp_receive() - receive the next message of SCTP
 * @c: connection
 *
 * Context: The work of the connection; sleeps.
 * Return: false if there is none, if there is no memory for it now, or if the
 * connection is lost.
 */
bool xiw_sctp_receive(struct xiw_sctp *c)
{
	u8 control[CMSG_SPACE(sizeof(struct sctp_rcvinfo))] __aligned(8) = {};
	struct msghdr msg = {
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	u32 len = sctp_rx_next_len(c->xs.sk);
	struct sk_buff *skb;
	int ret;

	if (!len)
		return false;
	if (c->session.broken || len > SCTP_MESSAGE_MAX)
		return sctp_rx_discard(c, len);
	skb = sctp_rx_alloc(c, len);
	if (!skb) {
		xiw_sctp_queue_retry(c);
		return false;
	}
	ret = sctp_rx_message(c, skb, &msg);
	xiw_sctp_own(c);
	if (ret == len) {
		sctp_rx_received(c, skb, &msg, control);
	} else {
		kfree_skb(skb);
		xiw_sctp_lose(c, ret < 0 ? -ret : ECONNRESET);
	}
	xiw_sctp_disown(c);
	return ret == len;
}

/**
 * xiw_sctp_may_receive() - should more be taken out of the socket now
 * @c: connection
 *
 * Context: Any.
 * Return: false if the stream has enough to read.
 */
bool xiw_sctp_may_receive(const struct xiw_sctp *c)
{
	return READ_ONCE(c->ready_mem) < SCTP_READY_MAX;
}

/**
 * xiw_sctp_read() - xiw_llp_ops.read
 * @llp: connection
 * @actor: function that consumes bytes
 * @arg: its argument
 *
 * Context: Lock held.
 * Return: Bytes consumed.
 */
int xiw_sctp_read(struct xiw_llp *llp, sk_read_actor_t actor, void *arg)
{
	read_descriptor_t desc = { .arg.data = arg, .count = 1 };
	struct xiw_sctp *c = xiw_sctp_from_llp(llp);
	struct sk_buff *skb;
	int done = 0;
	u32 left;
	int n;

	while ((skb = skb_peek(&c->ready))) {
		left = skb->len - c->ready_off;
		n = actor(&desc, skb, c->ready_off, left);
		if (n <= 0)
			break;
		done += n;
		c->ready_off += n;
		c->ready_bytes -= n;
		if (n < left)
			break;
		c->ready_off = 0;
		WRITE_ONCE(c->ready_mem, c->ready_mem - skb->truesize);
		__skb_unlink(skb, &c->ready);
		consume_skb(skb);
	}
	WRITE_ONCE(c->taken, c->taken + done);
	if (c->more && xiw_sctp_may_receive(c))
		xiw_sctp_queue_work(c);
	return done;
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
 * xiw_sctp_purge() - free all that was received
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
	sctp_rx_drop_held(c);
}
