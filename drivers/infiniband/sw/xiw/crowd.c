// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Limit for connections that use resources while they wait for their peers:
 * half open at a listener, or lingering. When the limit is exceeded, the peers
 * with most connections lose theirs.
 *
 * A connection counts for its peer's address and for the peer's network: a /64
 * of IPv6, of which one host may use every address, or a /24 of IPv4. The entry
 * to evict is the oldest of those with the highest sum of both counts. So a
 * flood from one address evicts entries of that address only, and a flood from
 * many addresses of a network entries of that network only.
 *
 * A new connection has a grace period, so the caller waits for its end before
 * it evicts the entry. But if an entry older than that has at least half the
 * count, that one is evicted instead: otherwise a flood could make the caller
 * wait for the end of one grace period after the other.
 *
 * The counts are in two tables, in slots chosen by a secret hash. A connection
 * that shares a slot with a flood by chance may be evicted in its place.
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
 * xiw_crowd_init() - set up without entries
 * @crowd: zeroed
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
 * xiw_crowd_join() - add an entry
 * @crowd: limit
 * @m: entry in no list, with its @peer set
 *
 * Context: Any, with the caller's lock for @crowd held.
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
 * xiw_crowd_leave() - remove an entry
 * @crowd: limit
 * @m: entry of it
 *
 * Context: Any, with the caller's lock for @crowd held.
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
 * xiw_crowd_victim() - choose the entry to evict
 * @crowd: limit, with at least one entry
 * @grace: grace period of new entries in jiffies
 *
 * Context: Any, with the caller's lock for @crowd held.
 * Return: The entry, which is not removed. If it is younger than @grace, the
 * caller has to wait for the end of that period.
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

	/* Oldest first: entries before one past its grace are past it too. */
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
