// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Common code of both sides of an out-of-band connection: addresses, the policy
 * of the MPA negotiation, and the start of the stream.
 */
#include "rdv_conn.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <net/ipv6.h>

#include "dev.h"
#include "ep.h"
#include "qp.h"
#include "sock.h"
#include "stream_run.h"

/**
 * xiw_rdv_policy() - set MPA revision 2 with the peer-to-peer model
 * @ep: new endpoint
 *
 * Context: The endpoint is locked.
 */
void xiw_rdv_policy(struct xiw_ep *ep)
{
	ep->policy.rev = 2;
	ep->policy.p2p = true;
	ep->policy.fallback = false;
}

/**
 * xiw_rdv_to_addr() - convert a GID to a socket address
 * @dev: device; its link is the scope of link-local addresses
 * @gid: GID
 * @port: TCP port
 * @addr: result
 *
 * Context: Any.
 */
void xiw_rdv_to_addr(const struct xiw_dev *dev, const u8 *gid, u16 port,
		     struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *in6 = (void *)addr;
	struct sockaddr_in *in = (void *)addr;
	struct in6_addr ip;

	memset(addr, 0, sizeof(*addr));
	memcpy(&ip, gid, sizeof(ip));
	if (ipv6_addr_v4mapped(&ip)) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		in->sin_addr.s_addr = ip.s6_addr32[3];
		return;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	in6->sin6_addr = ip;
	if (__ipv6_addr_needs_scope_id(__ipv6_addr_type(&ip)))
		in6->sin6_scope_id = dev->netdev->ifindex;
}

/**
 * xiw_rdv_to_gid() - convert a socket address to a GID
 * @addr: address
 * @gid: result: XIW_RDV_GID_LEN bytes
 *
 * Context: Any.
 */
void xiw_rdv_to_gid(const struct sockaddr_storage *addr, u8 *gid)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	struct in6_addr ip = in6->sin6_addr;

	if (addr->ss_family == AF_INET)
		ipv6_addr_set_v4mapped(in->sin_addr.s_addr, &ip);
	memcpy(gid, &ip, sizeof(ip));
}

/**
 * xiw_rdv_port_of() - the port of an address
 * @addr: address
 *
 * Context: Any.
 * Return: TCP port.
 */
u16 xiw_rdv_port_of(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;

	return ntohs(addr->ss_family == AF_INET ? in->sin_port :
						  in6->sin6_port);
}

/**
 * xiw_rdv_agree() - set the negotiated features
 * @ep: endpoint before the start of its stream
 * @features: XIW_RDV_FEAT_* of the Reply
 *
 * Context: The endpoint is locked.
 */
void xiw_rdv_agree(struct xiw_ep *ep, u16 features)
{
	ep->conn.send_imm = features & XIW_RDV_FEAT_IMM;
	ep->conn.hello = false;
	ep->conn.fpdu_segments = ep->policy.fpdu_segments;
	if (!ep->conn.fpdu_segments && !(features & XIW_RDV_FEAT_LONG))
		ep->conn.fpdu_segments = 1;
}

/**
 * xiw_rdv_start_stream() - start the stream after the MPA negotiation
 * @ep: endpoint with its QP attached, and conn.agreed
 * @path: attributes that the consumer has set so far
 * @initiator: which side this is
 *
 * Context: The endpoint is locked.
 * Return: 0 or negative errno.
 */
int xiw_rdv_start_stream(struct xiw_ep *ep, const struct xiw_rdv_path *path,
			 bool initiator)
{
	struct xiw_conn *conn = &ep->conn;

	conn->initiator = initiator;
	conn->agreed.ord = xiw_rdv_ord(path, conn->agreed.ord);
	return xiw_stream_start(&ep->qp->stream, &ep->xs->llp, conn);
}
