// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The peer limit: which connection to evict when too many wait.
 */
#include <kunit/test.h>
#include <net/ipv6.h>

#include "llp/peer_limit.h"

enum {
	ROOM	= 256,		/* connections that may wait */
	SEEDS	= 16,		/* hash seeds to test */
	HOSTS	= 64,		/* hosts of a flooding network */
	GRACE	= 100 * HZ,	/* jiffies, longer than a case */
};

struct wait {
	struct xiw_peer_entry entry;
	u32 number;		/* in the order of insertion */
};

struct room {
	struct xiw_peer_limit limit;
	struct wait waits[ROOM];
	u32 joined;
};

static struct room *room_get(struct kunit *test, u32 seed)
{
	struct room *room = kunit_kzalloc(test, sizeof(*room), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, room);
	xiw_peer_limit_init(&room->limit);
	room->limit.seed = seed * 2654435761u;
	return room;
}

/* Host @host of network @net, as IPv6 or IPv4. */
static struct in6_addr address(bool v6, u8 net, u8 host)
{
	struct in6_addr addr = {};

	if (v6)
		ipv6_addr_set(&addr, htonl(0xfd770000 + net), 0, htonl(host),
			      htonl(host));
	else
		ipv6_addr_set_v4mapped(htonl(0x0a000000 + (net << 8) + host),
				       &addr);
	return addr;
}

static void join(struct room *room, struct wait *wait, struct in6_addr peer)
{
	wait->entry.peer = peer;
	wait->number = room->joined++;
	xiw_peer_limit_add(&room->limit, &wait->entry);
}

static struct wait *leave(struct room *room, unsigned long grace)
{
	struct xiw_peer_entry *m = xiw_peer_limit_worst(&room->limit, grace);

	xiw_peer_limit_remove(&room->limit, m);
	return container_of(m, struct wait, entry);
}

/*
 * Evict the oldest entry of the address that has most, and none of its
 * neighbours. Few seeds may fail because two of three addresses share a slot.
 *
 * Covers: MPA-51
 */
static void peer_limit_address(struct kunit *test)
{
	struct room *room;
	u32 wrong = 0;
	u32 i;

	for (i = 0; i < 2 * SEEDS; i++) {
		room = room_get(test, i / 2);
		join(room, &room->waits[0], address(i % 2, 1, 1));
		join(room, &room->waits[1], address(i % 2, 1, 2));
		join(room, &room->waits[2], address(i % 2, 1, 2));
		join(room, &room->waits[3], address(i % 2, 2, 3));
		wrong += leave(room, 0)->number != 1;
		kunit_kfree(test, room);
	}
	KUNIT_EXPECT_LE(test, wrong, 2 * SEEDS / 8);
}

/*
 * Evict entries of a network that floods from many addresses, not of another
 * one, and of the flood the oldest entries.
 *
 * Covers: MPA-51
 */
static void peer_limit_network(struct kunit *test)
{
	struct wait *wait;
	struct room *room;
	u32 i, n;

	for (i = 0; i < 2 * SEEDS; i++) {
		room = room_get(test, i / 2);
		join(room, &room->waits[0], address(i % 2, 9, 1));
		for (n = 1; n < ROOM; n++)
			join(room, &room->waits[n],
			     address(i % 2, 1, n % HOSTS));
		for (n = 0; n < ROOM; n++) {
			wait = leave(room, 0);
			KUNIT_ASSERT_NE(test, wait->number, 0);
			KUNIT_ASSERT_GE_MSG(test, room->joined - wait->number,
					    ROOM / 10, "seed %u", i / 2);
			join(room, wait, address(i % 2, 1, n % HOSTS));
		}
		KUNIT_EXPECT_EQ(test, room->limit.count, ROOM);
		kunit_kfree(test, room);
	}
}

/* Ten old entries of ten hosts, and ten new ones of another host. */
static struct room *room_of_ages(struct kunit *test, bool same_net)
{
	struct room *room = room_get(test, 1);
	struct wait *waits = room->waits;
	u32 n;

	for (n = 0; n < 10; n++) {
		join(room, &waits[n],
		     address(false, same_net ? 1 : 50 + n, 10 + n));
		waits[n].entry.since -= GRACE;
	}
	for (; n < 20; n++)
		join(room, &waits[n], address(false, 1, 1));
	return room;
}

/*
 * Old entries of other networks are not evicted instead of a flood that has
 * only new entries. Old entries of the flooding network are evicted first.
 *
 * Covers: MPA-51
 */
static void peer_limit_grace(struct kunit *test)
{
	struct room *others = room_of_ages(test, false);
	struct room *same = room_of_ages(test, true);

	KUNIT_EXPECT_PTR_EQ(test, xiw_peer_limit_worst(&others->limit, GRACE),
			    &others->waits[10].entry);
	/* The hash determines which of the ten old entries. */
	KUNIT_EXPECT_LT(test, leave(same, GRACE)->number, 10);
	KUNIT_EXPECT_PTR_EQ(test, xiw_peer_limit_worst(&same->limit, 0),
			    &same->waits[10].entry);
}

/* Of the entries of a peer those to be spared are evicted last. */
static void peer_limit_spares(struct kunit *test)
{
	struct room *room = room_get(test, 1);
	struct in6_addr peer = address(false, 1, 1);
	u32 i;

	room->waits[0].entry.spared = true;
	for (i = 0; i < 8; i++)
		join(room, &room->waits[i], peer);
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, leave(room, 0)->number, i);
	KUNIT_EXPECT_EQ(test, leave(room, 0)->number, 0);
}

/*
 * The old entry to be spared is not evicted in place of a new one of its peer,
 * but in place of one of another peer.
 */
static void peer_limit_spares_old(struct kunit *test)
{
	struct room *room = room_get(test, 1);
	struct in6_addr peer = address(false, 1, 1);
	u32 i;

	room->waits[0].entry.spared = true;
	for (i = 0; i < ROOM; i++)
		join(room, &room->waits[i], peer);
	room->waits[0].entry.since -= GRACE;
	for (i = 1; i < ROOM; i++)
		KUNIT_EXPECT_EQ(test, leave(room, GRACE)->number, i);
	join(room, &room->waits[1], address(false, 2, 2));
	KUNIT_EXPECT_EQ(test, leave(room, GRACE)->number, 0);
}

/* A renewed entry is the newest one, with a grace period. */
static void peer_limit_renews(struct kunit *test)
{
	struct room *room = room_get(test, 1);
	struct in6_addr peer = address(false, 1, 1);
	unsigned long since;
	u32 i;

	for (i = 0; i < 3; i++) {
		join(room, &room->waits[i], peer);
		room->waits[i].entry.since -= GRACE;
	}
	xiw_peer_limit_renew(&room->limit, &room->waits[0].entry);
	KUNIT_EXPECT_EQ(test, leave(room, GRACE)->number, 1);
	KUNIT_EXPECT_EQ(test, leave(room, GRACE)->number, 2);
	since = room->waits[0].entry.since;
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, since + GRACE));
}

static struct kunit_case peer_limit_cases[] = {
	KUNIT_CASE(peer_limit_address),
	KUNIT_CASE(peer_limit_network),
	KUNIT_CASE(peer_limit_grace),
	KUNIT_CASE(peer_limit_spares),
	KUNIT_CASE(peer_limit_spares_old),
	KUNIT_CASE(peer_limit_renews),
	{}
};

static struct kunit_suite peer_limit_suite = {
	.name = "xiw_peer_limit",
	.test_cases = peer_limit_cases,
};

kunit_test_suite(peer_limit_suite);
