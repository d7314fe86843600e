// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections that peers keep waiting at our cost: half open at a listener, or
 * lingering. Their number is bounded, and the bound is to be felt by those who
 * reach it.
 *
 * DOC: who has to go
 *
 * A connection counts for its peer's address and for the network around that: a
 * /64 of IPv6, of which one host may use every address, and a /24 of IPv4. The
 * one to go is the oldest of those for whose address and network together most
 * are waiting. So whoever floods from one address gives way to others of the
 * same network, and a network that floods from many addresses to other ones.
 *
 * The counts are in a table by a secret hash. Whoever shares a slot with a
 * flood by chance may have to go with it, and is not worse off then than if the
 * oldest of all went.
 */

#include <linux/jhash.h>
#include <linux/random.h>
#include <net/ipv6.h>

#include "cm_crowd.h"
#include "ep.h"

enum {
	IPV4_NET_BITS	= 96 + 24,
	IPV6_NET_BITS	= 64,
};

static u8 slot_of(const struct xiw_crowd *crowd, const struct in6_addr *peer,
		  int bits)
{
	struct in6_addr prefix;
	u32 hash;

	ipv6_addr_prefix(&prefix, peer, bits);
	hash = jhash2((const u32 *)&prefix, sizeof(prefix) / sizeof(u32),
		      crowd->seed + bits);
	return hash % XIW_CROWD_SLOTS;
}

/**
 * xiw_crowd_init() - prepare for the first one
 * @crowd: all zero
 *
 * Context: Any.
 */
void xiw_crowd_init(struct xiw_crowd *crowd)
{
	INIT_LIST_HEAD(&crowd->list);
	crowd->seed = get_random_u32();
}

/**
 * xiw_crowd_join() - one more waits
 * @crowd: crowd whose lock is held
 * @ep: endpoint that is in no list by its sibling; it knows its peer
 *
 * Context: Any.
 */
void xiw_crowd_join(struct xiw_crowd *crowd, struct xiw_ep *ep)
{
	ep->slots[0] = slot_of(crowd, &ep->peer, 128);
	ep->slots[1] = slot_of(crowd, &ep->peer,
			       ipv6_addr_v4mapped(&ep->peer) ? IPV4_NET_BITS :
							       IPV6_NET_BITS);
	crowd->held[ep->slots[0]]++;
	crowd->held[ep->slots[1]]++;
	list_add_tail(&ep->sibling, &crowd->list);
	crowd->count++;
}

/**
 * xiw_crowd_leave() - one waits no longer
 * @crowd: crowd whose lock is held
 * @ep: endpoint that has joined it
 *
 * Context: Any.
 */
void xiw_crowd_leave(struct xiw_crowd *crowd, struct xiw_ep *ep)
{
	list_del_init(&ep->sibling);
	crowd->count--;
	crowd->held[ep->slots[0]]--;
	crowd->held[ep->slots[1]]--;
}

/**
 * xiw_crowd_victim() - who has to go
 * @crowd: crowd whose lock is held, not empty
 *
 * Context: Any.
 * Return: The endpoint, which is still in the crowd.
 */
struct xiw_ep *xiw_crowd_victim(const struct xiw_crowd *crowd)
{
	struct xiw_ep *victim = NULL;
	struct xiw_ep *ep;
	u32 most = 0;
	u32 held;

	list_for_each_entry(ep, &crowd->list, sibling) {
		held = crowd->held[ep->slots[0]] + crowd->held[ep->slots[1]];
		if (held <= most)
			continue;
		most = held;
		victim = ep;
	}
	return victim;
}
