/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Sockets and packets. */
#ifndef _XIW_COMPAT_SOCKET_H
#define _XIW_COMPAT_SOCKET_H

#include <linux/skbuff.h>
#include <net/net_namespace.h>
#include <net/sock.h>

/* Packets of older kernels never refer to unreadable device memory. */
#ifndef XIW_HAVE_SKB_FRAGS_READABLE
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

/* Makes a kernel socket hold a reference on its namespace. */
#ifndef XIW_HAVE_SK_NET_REFCNT_UPGRADE
static inline void sk_net_refcnt_upgrade(struct sock *sk)
{
	struct net *net = sock_net(sk);

#ifdef XIW_HAVE_NETNS_TRACKER_FREE
	__netns_tracker_free(net, &sk->ns_tracker, false);
#endif
	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
}
#endif

/*
 * Choose whether TCP copies into the page fragment of the current task. Without
 * the member TCP does so whenever sk_allocation permits to sleep, and the
 * driver sets both alike.
 */
static inline void xiw_sk_use_task_frag(struct sock *sk, bool use)
{
#ifdef XIW_HAVE_SK_USE_TASK_FRAG
	sk->sk_use_task_frag = use;
#endif
}

#endif /* _XIW_COMPAT_SOCKET_H */
