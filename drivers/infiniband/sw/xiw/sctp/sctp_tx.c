// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transmit side of connections over SCTP: the ULPDU of an FPDU becomes a DDP
 * Segment chunk, a startup frame a session control message, the FIN the
 * session's Terminate (RFC 5043 section 5.2). SCTP copies what is sent.
 */
#include "sctp_tx.h"

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/unaligned.h>

#include "sctp_conn.h"

static int sctp_tx_control(struct xiw_sctp *c, const u8 *buf, int len)
{
	struct {
		struct cmsghdr hdr;
		struct sctp_sndinfo info;
	} control = {
		.hdr.cmsg_len = CMSG_LEN(sizeof(struct sctp_sndinfo)),
		.hdr.cmsg_level = IPPROTO_SCTP,
		.hdr.cmsg_type = SCTP_SNDINFO,
		.info.snd_sid = XIW_SCTP_STREAM,
		.info.snd_flags = SCTP_UNORDERED | SCTP_SACK_IMMEDIATELY,
		.info.snd_ppid =
			(__force __u32)cpu_to_be32(XIW_SCTP_PPID_CONTROL),
	};
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct kvec vec = { .iov_base = (void *)buf, .iov_len = len };

	return kernel_sendmsg(c->xs.sock, &msg, &vec, 1, len);
}

/*
 * Streams
 */

static u8 *sctp_tx_byte_at(struct bio_vec *bv, u32 pos)
{
	while (pos >= bv->bv_len)
		pos -= bv++->bv_len;
	return page_address(bv->bv_page) + bv->bv_offset + pos;
}

static u16 sctp_tx_get_be16(struct bio_vec *bv, u32 pos)
{
	return *sctp_tx_byte_at(bv, pos) << 8 | *sctp_tx_byte_at(bv, pos + 1);
}

static void sctp_tx_put_be16(struct bio_vec *bv, u32 pos, u16 value)
{
	*sctp_tx_byte_at(bv, pos) = value >> 8;
	*sctp_tx_byte_at(bv, pos + 1) = value;
}

static int sctp_tx_chunk(struct xiw_sctp *c, struct bio_vec *bv,
			 unsigned int nr, u32 pos, u32 len, bool more)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL |
			     (more ? MSG_MORE : 0),
	};

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, nr, pos + len);
	iov_iter_advance(&msg.msg_iter, pos);
	return sock_sendmsg(c->xs.sock, &msg);
}

/*
 * Sends the ULPDU of the FPDU at @pos. The SSN takes the place of the length
 * field. Returns the bytes of the FPDU or an errno.
 */
static int sctp_tx_fpdu_at(struct xiw_sctp *c, struct bio_vec *bv,
			   unsigned int nr, u32 pos, size_t len, bool more)
{
	u16 ulpdu_len = sctp_tx_get_be16(bv, pos);
	u32 fpdu_len = xiw_mpa_fpdu_len(ulpdu_len);
	u16 ssn;
	int ret;

	if (!xiw_session_segment(&c->session, &ssn))
		return -EPIPE;
	sctp_tx_put_be16(bv, pos, ssn);
	ret = sctp_tx_chunk(c, bv, nr, pos, XIW_SESSION_SSN_LEN + ulpdu_len,
			    more || pos + fpdu_len < len);
	if (ret >= 0)
		return fpdu_len;
	/* SCTP took nothing of the message, so use its SSN again. */
	c->session.tx_next = ssn;
	sctp_tx_put_be16(bv, pos, ulpdu_len);
	return ret;
}

static int sctp_tx_fpdus(struct xiw_sctp *c, struct bio_vec *bv,
			 unsigned int nr, size_t len, bool more)
{
	u32 done = 0;
	int ret;

	while (done < len) {
		ret = sctp_tx_fpdu_at(c, bv, nr, done, len, more);
		if (ret == -EAGAIN && !c->want_space) {
			WRITE_ONCE(c->want_space, true);
			/*
			 * Pairs with sctp_on_room(): request its call, then
			 * retry.
			 */
			smp_mb();
			continue;
		}
		if (ret < 0 && done)
			/*
			 * Without memory for this FPDU: the user has to run
			 * again when the others are acknowledged.
			 */
			WRITE_ONCE(c->want_space, true);
		if (ret < 0)
			return done ?: ret;
		done += ret;
	}
	WRITE_ONCE(c->want_space, false);
	return done;
}

/**
 * xiw_sctp_has_room() - is there room for more than a few chunks
 * @c: connection
 *
 * Context: Any.
 * Return: true if a third of the send buffer is free, as for other sockets.
 */
bool xiw_sctp_has_room(const struct xiw_sctp *c)
{
	const struct sock *sk = c->xs.sk;

	return READ_ONCE(sk->sk_wmem_queued) <
	       READ_ONCE(sk->sk_sndbuf) / 3 * 2;
}

/*
 * Reads the MTU, as SCTP notices a new one when it sends, and calls nothing. A
 * batch of @len bytes that fits in every MTU needs no check.
 */
static void sctp_tx_update_mulpdu(struct xiw_sctp *c, size_t len)
{
	struct sock *sk = c->xs.sk;

	if (len <= XIW_SESSION_SEGMENT_MIN)
		return;
	lock_sock(sk);
	xiw_sctp_set_mulpdu(c, xiw_sctp_asoc(sk));
	release_sock(sk);
}

/**
 * xiw_sctp_send() - xiw_llp_ops.send
 * @llp: connection
 * @bv: FPDUs without Markers; their length fields are overwritten
 * @nr: elements of @bv
 * @len: bytes
 * @push: see enum xiw_llp_push
 *
 * Context: Lock held. In softirq context the work item sends.
 * Return: See struct xiw_llp_ops.
 */
int xiw_sctp_send(struct xiw_llp *llp, struct bio_vec *bv, unsigned int nr,
		  size_t len, enum xiw_llp_push push)
{
	struct xiw_sctp *c = xiw_sctp_from_llp(llp);
	unsigned int noio;
	int ret;

	if (!c->up || c->gone)
		return -ENOTCONN;
	if (!c->owned) {
		c->want_run = true;
		xiw_sctp_queue_work(c);
		return -EAGAIN;
	}
	/* No I/O to reclaim memory: that may wait for this very connection. */
	noio = memalloc_noio_save();
	ret = sctp_tx_fpdus(c, bv, nr, len, push == XIW_LLP_WAIT);
	sctp_tx_update_mulpdu(c, len);
	memalloc_noio_restore(noio);
	return ret;
}

/*
 * Startup and end
 */

/**
 * xiw_sctp_send_fpdu() - send an FPDU in memory of the caller
 * @c: connection
 * @buf: FPDU without Markers
 * @len: its length in bytes
 *
 * Context: Lock owned; sleeps.
 * Return: @len or negative errno.
 */
int xiw_sctp_send_fpdu(struct xiw_sctp *c, const u8 *buf, size_t len)
{
	u16 ulpdu_len = get_unaligned_be16(buf);
	u8 ssn_field[XIW_SESSION_SSN_LEN];
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec vec[] = {
		{ .iov_base = ssn_field, .iov_len = sizeof(ssn_field) },
		{ .iov_base = (void *)(buf + XIW_MPA_LEN_FIELD),
		  .iov_len = ulpdu_len },
	};
	u16 ssn;
	int ret;

	if (!xiw_session_segment(&c->session, &ssn))
		return -EPIPE;
	put_unaligned_be16(ssn, ssn_field);
	ret = kernel_sendmsg(c->xs.sock, &msg, vec, 2,
			     sizeof(ssn_field) + ulpdu_len);
	if (ret < 0)
		c->session.tx_next = ssn;
	return ret < 0 ? ret : len;
}

/**
 * xiw_sctp_send_frame() - send a startup frame as a session control message
 * @c: connection
 * @frame: the frame
 * @pdata: Private Data
 *
 * Context: Lock owned; sleeps.
 * Return: 0, -EINVAL if the session does not permit it, or another negative
 * errno.
 */
int xiw_sctp_send_frame(struct xiw_sctp *c, const struct xiw_mpa_frame *frame,
			const void *pdata)
{
	u8 *buf = kmalloc(XIW_SESSION_MSG_MAX, GFP_NOIO);
	int ret;

	if (!buf)
		return -ENOMEM;
	if (!frame->reject)
		xiw_sctp_set_rcvbuf(c->xs.sk, true);
	ret = xiw_session_encode(&c->session, buf, XIW_SESSION_MSG_MAX, frame,
				 pdata);
	if (ret >= 0)
		ret = sctp_tx_control(c, buf, ret);
	kfree(buf);
	if (ret < 0)
		return ret;
	xiw_session_sent(&c->session, frame);
	return 0;
}

/* Without memory it is retried after a delay: no event may follow. */
static void sctp_tx_terminate(struct xiw_sctp *c)
{
	u8 buf[XIW_SESSION_HDR_LEN];
	int len = xiw_session_encode_terminate(&c->session, buf);
	int ret;

	if (len <= 0)
		return;
	ret = sctp_tx_control(c, buf, len);
	if (ret == len)
		xiw_session_sent_terminate(&c->session);
	else if (ret == -ENOMEM || ret == -EAGAIN)
		xiw_sctp_queue_retry(c);
}

/**
 * xiw_sctp_end_session() - end the session as far as that is due and possible
 * @c: connection
 *
 * Sends the Terminate when RFC 5043 section 6.6 permits it, and the SHUTDOWN
 * when both sides are done.
 *
 * Context: Lock owned; sleeps.
 */
void xiw_sctp_end_session(struct xiw_sctp *c)
{
	struct xiw_session *s = &c->session;

	if (!READ_ONCE(c->xs.sk->sk_wmem_queued))
		xiw_session_confirm(s);
	if (!c->up || c->gone || c->shut)
		return;
	if (c->fin || s->state == XIW_SESSION_BROKEN)
		sctp_tx_terminate(c);
	if (s->state == XIW_SESSION_DONE) {
		c->shut = true;
		kernel_sock_shutdown(c->xs.sock, SHUT_WR);
	}
}
