// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * SCTP sockets of connections and listeners: their creation, with all options,
 * and their local addresses. The operations of their connections are in sctp.c.
 */
#include "sctp.h"

#include <linux/log2.h>

#include "proto/nego.h"
#include "sctp_conn.h"

#define SCTP_SNDBUF		(512 * 1024)

/* RFC 5043 section 10: limit of unacknowledged chunks, by the send buffer */
#define SCTP_CHUNKS_MAX		32767
static_assert(SCTP_SNDBUF / sizeof(struct sctp_chunk) <= SCTP_CHUNKS_MAX);

/* Timers in milliseconds: the defaults of SCTP take minutes. */
#define SCTP_RTO_FIRST		500
#define SCTP_RTO_MOST		5000u
#define SCTP_HEARTBEAT		3000
#define SCTP_SACK_DELAY		200u

/*
 * Timeouts in a row after which a path is not used, if the first is that long.
 * SCTP tries another path after the first one already, and comes back at once.
 */
#define SCTP_PATH_RETRANS	2
#define SCTP_RTO_USUAL		200

static int sctp_set(struct socket *sock, int name, void *value, int len)
{
	return READ_ONCE(sock->ops)->setsockopt(sock, SOL_SCTP, name,
						KERNEL_SOCKPTR(value), len);
}

/*
 * Number of timeouts, each twice as long as the one before, until a first
 * timeout of @rto_ms has grown to SCTP_RTO_USUAL. If they were not allowed in
 * addition, both paths to a busy peer would count as dead after a tenth of a
 * second, and the association soon after.
 */
static u32 sctp_short_timeouts(u32 rto_ms)
{
	return ilog2(max(SCTP_RTO_USUAL / rto_ms, 1u));
}

/*
 * Retransmissions without an answer that fill the time after which a peer
 * counts as dead. The usual timeout grows to SCTP_RTO_MOST in the first 6
 * seconds or so.
 */
static u16 sctp_retransmissions(const struct xiw_mpa_policy *policy)
{
	u32 count = (policy->silence_ms + 14000) / SCTP_RTO_MOST;

	return clamp(count + sctp_short_timeouts(policy->sctp_rto_ms), 4u,
		     0xffffu);
}

static int sctp_set_timers(struct socket *sock,
			   const struct xiw_mpa_policy *policy)
{
	struct sctp_rtoinfo rto = {
		.srto_initial = max_t(u32, SCTP_RTO_FIRST,
				      policy->sctp_rto_ms),
		.srto_max = SCTP_RTO_MOST,
		.srto_min = policy->sctp_rto_ms,
	};
	struct sctp_assocparams assoc = {
		.sasoc_asocmaxrxt = sctp_retransmissions(policy),
	};
	struct sctp_paddrparams path = {
		.spp_hbinterval = SCTP_HEARTBEAT,
		.spp_pathmaxrxt = SCTP_PATH_RETRANS +
				  sctp_short_timeouts(policy->sctp_rto_ms),
		/* A delayed SACK must be sent before the peer's timeout. */
		.spp_sackdelay = min(SCTP_SACK_DELAY, policy->sctp_rto_ms / 2),
		.spp_flags = SPP_HB_ENABLE | SPP_SACKDELAY_ENABLE,
	};
	int ret;

	ret = sctp_set(sock, SCTP_RTOINFO, &rto, sizeof(rto));
	if (!ret)
		ret = sctp_set(sock, SCTP_ASSOCINFO, &assoc, sizeof(assoc));
	if (!ret)
		ret = sctp_set(sock, SCTP_PEER_ADDR_PARAMS, &path,
			       sizeof(path));
	return ret;
}

/* Options of a new socket; accepted ones inherit them from their listener. */
static int sctp_set_options(struct socket *sock)
{
	struct sctp_setadaptation ind = {
		.ssb_adaptation_ind = XIW_SCTP_ADAPTATION,
	};
	struct sctp_initmsg init = {
		.sinit_num_ostreams = 1,
		.sinit_max_instreams = 1,
	};
	struct sctp_sndinfo info = {
		.snd_sid = XIW_SCTP_STREAM,
		.snd_flags = SCTP_UNORDERED,
		.snd_ppid = (__force __u32)cpu_to_be32(XIW_SCTP_PPID_SEGMENT),
	};
	struct sctp_event_subscribe events = { .sctp_association_event = 1 };
	/* A peer that skips a chunk would leave a gap in the SSNs. */
	struct sctp_assoc_value partial = { .assoc_value = 0 };
	int one = 1;
	int ret;

	ret = sctp_set(sock, SCTP_ADAPTATION_LAYER, &ind, sizeof(ind));
	if (!ret)
		ret = sctp_set(sock, SCTP_INITMSG, &init, sizeof(init));
	if (!ret)
		ret = sctp_set(sock, SCTP_DEFAULT_SNDINFO, &info, sizeof(info));
	if (!ret)
		ret = sctp_set(sock, SCTP_NODELAY, &one, sizeof(one));
	if (!ret)
		ret = sctp_set(sock, SCTP_RECVRCVINFO, &one, sizeof(one));
	if (!ret)
		ret = sctp_set(sock, SCTP_EVENTS, &events, sizeof(events));
	if (!ret)
		ret = sctp_set(sock, SCTP_PR_SUPPORTED, &partial,
			       sizeof(partial));
	return ret;
}

static void sctp_set_buffers(struct sock *sk)
{
	lock_sock(sk);
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_sndbuf, SCTP_SNDBUF);
	WRITE_ONCE(sk->sk_rcvbuf, XIW_SCTP_RCVBUF);
	release_sock(sk);
}

/**
 * xiw_sctp_create() - create an SCTP socket
 * @net: namespace; the caller keeps it alive during the call
 * @family: AF_INET or AF_INET6
 * @policy: has the timeouts of the connection, or of those to be accepted
 * @xs: set on success; all functions of sock.h take it
 *
 * Context: Sleeps; may load sctp.ko.
 * Return: 0 or negative errno, -EPROTONOSUPPORT without SCTP.
 */
int xiw_sctp_create(struct net *net, int family,
		    const struct xiw_mpa_policy *policy, struct xiw_sock **xs)
{
	struct socket *sock;
	int ret;

	ret = xiw_sctp_make_wq();
	if (!ret)
		ret = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_SCTP,
				       &sock);
	if (ret)
		return ret;
	ret = sctp_set_options(sock);
	if (!ret)
		ret = sctp_set_timers(sock, policy);
	if (!ret) {
		sctp_set_buffers(sock->sk);
		*xs = xiw_sock_take_over(sock, NULL, &xiw_sctp_proto);
		if (*xs)
			return 0;
		ret = -ENOMEM;
	}
	sock_release(sock);
	return ret;
}

static int sctp_addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6);
}

/**
 * xiw_sctp_bind_more() - add a local address, as another path
 * @xs: socket that is bound to one address, and not connected
 * @addr: address of this host; the port is that of the first one, or 0
 *
 * Context: Sleeps.
 * Return: 0 or negative errno.
 */
int xiw_sctp_bind_more(struct xiw_sock *xs, const struct sockaddr_storage *addr)
{
	/* The type of the parameter depends on the kernel's age. */
	return sock_bind_add(xs->sk, (void *)addr, sctp_addr_len(addr));
}

/**
 * xiw_sctp_unbind() - remove a local address of a listener
 * @xs: listener
 * @addr: one of its addresses, with the port
 *
 * Context: Sleeps.
 * Return: 0, -EBUSY if it is the only one, or another negative errno.
 */
int xiw_sctp_unbind(struct xiw_sock *xs, struct sockaddr_storage *addr)
{
	return sctp_set(xs->sock, SCTP_SOCKOPT_BINDX_REM, addr,
			sctp_addr_len(addr));
}
