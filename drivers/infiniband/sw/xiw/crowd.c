// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections that cost this side something while peers keep them waiting: half
 * open at a listener, or lingering. Their number is bounded, and those peers
 * that exhaust the bound are to lose by it.
 *
 * DOC: who has to go
 *
 * A connection counts for its peer's address and for the peer's network: a /64
 * of IPv6, of which one host may use every address, or a /24 of IPv4. When one
 * has to go, it is the oldest of those for which the sum of both counts is
 * highest. So a peer that floods from one address gives way to others of its
 * network, and a network that floods from many addresses to other networks.
 *
 * One that has just come should get its chance first, so the caller waits until
 * it had. But it does not come to that if one of long ago holds half as much at
 * least: else a flood could have everybody wait for the youngest of its
 * connections again and again.
 *
 * The counts are in two tables, in slots by a secret hash. A connection that
 * shares a slot with a flood by chance may be chosen instead of one of the
 * flood.
 */
#include "crowd.h"

#include <kunit/visibility.h>
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <net/ipv6.h>

enum {
	IPV4_NET_BITS	= 96 + 24,
	IPV6_NET_BITS	= 64,
};

static u8 crowd_slot_of(const struct xiw_crowd *crowd,
			const struct in6_addr *peer, int bits)
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
EXPORT_SYMBOL_IF_KUNIT(xiw_crowd_init);

/**
 * xiw_crowd_join() - one more waits
 * @crowd: crowd whose lock is held
 * @m: connection that is in no list; its peer is known
 *
 * Context: Any.
 */
void xiw_crowd_join(struct xiw_crowd *crowd, struct xiw_crowd_member *m)
{
	int net = ipv6_addr_v4mapped(&m->peer) ? IPV4_NET_BITS : IPV6_NET_BITS;
	int by;

	m->slots[XIW_CROWD_ADDRESS] = crowd_slot_of(crowd, &m->peer, 128);
	m->slots[XIW_CROWD_NETWORK] = crowd_slot_of(crowd, &m->peer, net);
	for (by = 0; by < XIW_CROWD_BYS; by++)
		crowd->held[by][m->slots[by]]++;
	m->since = jiffies;
	list_add_tail(&m->node, &crowd->list);
	crowd->count++;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_crowd_join);

/**
 * xiw_crowd_leave() - one waits no longer
 * @crowd: crowd whose lock is held
 * @m: connection that has joined it
 *
 * Context: Any.
 */
void xiw_crowd_leave(struct xiw_crowd *crowd, struct xiw_crowd_member *m)
{
	int by;

	list_del_init(&m->node);
	crowd->count--;
	for (by = 0; by < XIW_CROWD_BYS; by++)
		crowd->held[by][m->slots[by]]--;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_crowd_leave);

static u32 crowd_count_of(const struct xiw_crowd *crowd,
			  const struct xiw_crowd_member *m)
{
	u32 held = 0;
	int by;

	for (by = 0; by < XIW_CROWD_BYS; by++)
		held += crowd->held[by][m->slots[by]];
	return held;
}

/**
 * xiw_crowd_victim() - who has to go
 * @crowd: crowd whose lock is held, not empty
 * @grace: jiffies since it joined before which none has to
 *
 * Context: Any.
 * Return: The connection, which is still in the crowd. If it is younger than
 * that, nobody has to go before it is not.
 */
struct xiw_crowd_member *xiw_crowd_victim(const struct xiw_crowd *crowd,
					  unsigned long grace)
{
	struct xiw_crowd_member *first = NULL;
	struct xiw_crowd_member *aged = NULL;
	struct xiw_crowd_member *m;
	unsigned long now = jiffies;
	u32 most_aged = 0;
	u32 most = 0;
	u32 held;

	/* Oldest first: the best of all up to an aged one is aged, too. */
	list_for_each_entry(m, &crowd->list, node) {
		held = crowd_count_of(crowd, m);
		if (held > most) {
			most = held;
			first = m;
		}
		if (!time_before(now, m->since + grace)) {
			most_aged = most;
			aged = first;
		}
	}
	return most_aged >= most / 2 ? aged : first;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_crowd_victim);
