/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The lower layer over SCTP (RFC 5043, RFC 6581 section 7). Only the files
 * sctp*.c depend on SCTP. Their sockets are a struct xiw_sock like all others.
 */
#ifndef _XIW_SCTP_H
#define _XIW_SCTP_H

#include <linux/errno.h>
#include <linux/kconfig.h>
#include <linux/socket.h>

struct net;
struct xiw_mpa_policy;
struct xiw_sock;
struct xiw_sock_proto;

#if IS_ENABLED(CONFIG_IP_SCTP)
extern const struct xiw_sock_proto xiw_sctp_proto;

int xiw_sctp_make_wq(void);
int xiw_sctp_create(struct net *net, int family,
		    const struct xiw_mpa_policy *policy, struct xiw_sock **xs);
int xiw_sctp_bind_more(struct xiw_sock *xs,
		       const struct sockaddr_storage *addr);
int xiw_sctp_unbind(struct xiw_sock *xs, struct sockaddr_storage *addr);
void xiw_sctp_module_exit(void);
#else
static inline int xiw_sctp_create(struct net *net, int family,
				  const struct xiw_mpa_policy *policy,
				  struct xiw_sock **xs)
{
	return -EPROTONOSUPPORT;
}

static inline int xiw_sctp_bind_more(struct xiw_sock *xs,
				     const struct sockaddr_storage *addr)
{
	return -EPROTONOSUPPORT;
}

static inline int xiw_sctp_unbind(struct xiw_sock *xs,
				  struct sockaddr_storage *addr)
{
	return -EPROTONOSUPPORT;
}

static inline void xiw_sctp_module_exit(void)
{
}
#endif

#endif /* _XIW_SCTP_H */
