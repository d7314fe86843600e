// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Limit for connections that use resources while they wait for their peers:
 * half open at a listener, or lingering. When the limit is exceeded, the
 * connections of the peers that have most of them are evicted.
 *
 * A connection counts for its peer's address and for the peer's network: a /64
 * of IPv6, of which one host may use every address, or a /24 of IPv4. The entry
 * to evict is the oldest of those with the highest sum of both counts. So a
 * flood from one address evicts entries of that address only, and a flood from
 * many addresses of a network entries of that network only.
 *
 * A peer may mark entries that are to be spared, such as those of its kernel:
 * they are evicted after its others, also if these are younger.
 *
 * A new connection has a grace period, so the caller waits for its end before
 * it evicts the entry. But if an entry older than that has at least half the
 * count, that one is evicted instead: otherwise a flood could make the caller
 * wait for the end of one grace period after the other.
 *
 * The counts are in two tables, in slots chosen by a secret hash. A connection
 * that shares a slot with a flood by chance may be evicted in its place.
 */
#include "peer_limit.h"

#include <kunit/visibility.h>
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <net/ipv6.h>

enum {
	IPV4_NET_BITS	= 96 + 24,
	IPV6_NET_BITS	= 64,
};

static u8 peer_limit_slot_of(const struct xiw_peer_limit *limit,
			     const struct in6_addr *peer, int bits)
{
	struct in6_addr prefix;
	u32 hash;

	ipv6_addr_prefix(&prefix, peer, bits);
	hash = jhash2((const u32 *)&prefix, sizeof(prefix) / sizeof(u32),
		      limit->seed + bits);
	return hash % XIW_PEER_LIMIT_SLOTS;
}

/* Sets up a zeroed limit without entries. Any context. */
void xiw_peer_limit_init(struct xiw_peer_limit *limit)
{
	INIT_LIST_HEAD(&limit->list);
	limit->seed = get_random_u32();
}
EXPORT_SYMBOL_IF_KUNIT(xiw_peer_limit_init);

/*
 * Adds an entry in no list, with its @peer and @spared set. Any context, with
 * the caller's lock held.
 */
void xiw_peer_limit_add(struct xiw_peer_limit *limit, struct xiw_peer_entry *m)
{
	int net = ipv6_addr_v4mapped(&m->peer) ? IPV4_NET_BITS : IPV6_NET_BITS;
	int by;

	m->slots[XIW_PEER_LIMIT_ADDRESS] =
		peer_limit_slot_of(limit, &m->peer, 128);
	m->slots[XIW_PEER_LIMIT_NETWORK] =
		peer_limit_slot_of(limit, &m->peer, net);
	for (by = 0; by < XIW_PEER_LIMIT_BYS; by++)
		limit->counts[by][m->slots[by]]++;
	limit->spared[m->slots[XIW_PEER_LIMIT_ADDRESS]] += m->spared;
	m->since = jiffies;
	list_add_tail(&m->node, &limit->list);
	limit->count++;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_peer_limit_add);

/*
 * Starts the grace period of an entry in the list again. Any context, with the
 * caller's lock held.
 */
void xiw_peer_limit_renew(struct xiw_peer_limit *limit,
			  struct xiw_peer_entry *m)
{
	m->since = jiffies;
	list_move_tail(&m->node, &limit->list);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_peer_limit_renew);

/* Removes an entry. Any context, with the caller's lock held. */
void xiw_peer_limit_remove(struct xiw_peer_limit *limit,
			   struct xiw_peer_entry *m)
{
	int by;

	list_del_init(&m->node);
	limit->count--;
	for (by = 0; by < XIW_PEER_LIMIT_BYS; by++)
		limit->counts[by][m->slots[by]]--;
	limit->spared[m->slots[XIW_PEER_LIMIT_ADDRESS]] -= m->spared;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_peer_limit_remove);

static u32 peer_limit_count_of(const struct xiw_peer_limit *limit,
			       const struct xiw_peer_entry *m)
{
	u32 count = 0;
	int by;

	for (by = 0; by < XIW_PEER_LIMIT_BYS; by++)
		count += limit->counts[by][m->slots[by]];
	/* Less than any other entry of the same slots. */
	return count - m->spared;
}

/* Does the address of an entry to be spared have others? */
static bool peer_limit_spares(const struct xiw_peer_limit *limit,
			      const struct xiw_peer_entry *m)
{
	u8 slot = m->slots[XIW_PEER_LIMIT_ADDRESS];

	return m->spared && limit->spared[slot] <
			    limit->counts[XIW_PEER_LIMIT_ADDRESS][slot];
}

/*
 * How many entries an address has, or those of its slot. Any context, with the
 * caller's lock held.
 */
u32 xiw_peer_limit_of(const struct xiw_peer_limit *limit,
		      const struct in6_addr *peer)
{
	u8 slot = peer_limit_slot_of(limit, peer, 128);

	return limit->counts[XIW_PEER_LIMIT_ADDRESS][slot];
}
EXPORT_SYMBOL_IF_KUNIT(xiw_peer_limit_of);

/*
 * Chooses the entry to evict, but does not remove it; there is at least one. If
 * it is younger than @grace, in jiffies, the caller has to wait for the end of
 * that period. Any context, with the caller's lock held.
 */
struct xiw_peer_entry *xiw_peer_limit_worst(const struct xiw_peer_limit *limit,
					    unsigned long grace)
{
	struct xiw_peer_entry *first = NULL;
	struct xiw_peer_entry *aged = NULL;
	struct xiw_peer_entry *m;
	unsigned long now = jiffies;
	u32 most_aged = 0;
	u32 most = 0;
	u32 count;

	list_for_each_entry(m, &limit->list, node) {
		count = peer_limit_count_of(limit, m);
		if (count > most) {
			most = count;
			first = m;
		}
		if (count > most_aged && !peer_limit_spares(limit, m) &&
		    !time_before(now, m->since + grace)) {
			most_aged = count;
			aged = m;
		}
	}
	return aged && most_aged >= most / 2 ? aged : first;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_peer_limit_worst);
