/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MSG_SPLICE_PAGES, for a TCP that takes pages one by one through sendpage().
 * Stable releases of such kernels define the flag and ignore it: TCP would copy
 * the data instead of referring to the pages.
 */
#ifndef _XIW_COMPAT_SENDMSG_H
#define _XIW_COMPAT_SENDMSG_H

#include <linux/bvec.h>
#include <linux/socket.h>
#include <linux/uio.h>
#include <net/tcp.h>

#ifndef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES	0x8000000
#endif

/* MSG_SENDPAGE_NOTLAST keeps TCP from sending before the last page. */
static inline int xiw_compat_splice(struct sock *sk, struct msghdr *msg)
{
	const struct bio_vec *bv = msg->msg_iter.bvec;
	const struct bio_vec *last = bv + msg->msg_iter.nr_segs - 1;
	int flags = msg->msg_flags & ~MSG_SPLICE_PAGES;
	int sent = 0;
	int ret;

	for (;; bv++) {
		ret = tcp_sendpage_locked(sk, bv->bv_page, bv->bv_offset,
					  bv->bv_len, bv == last ? flags :
					  flags | MSG_SENDPAGE_NOTLAST);
		if (ret < 0)
			return sent ? sent : ret;
		sent += ret;
		if (ret < bv->bv_len || bv == last)
			return sent;
	}
}

static inline int xiw_compat_sendmsg_locked(struct sock *sk,
					    struct msghdr *msg, size_t size)
{
	return msg->msg_flags & MSG_SPLICE_PAGES ?
	       xiw_compat_splice(sk, msg) : tcp_sendmsg_locked(sk, msg, size);
}

#define tcp_sendmsg_locked	xiw_compat_sendmsg_locked

#endif /* _XIW_COMPAT_SENDMSG_H */
