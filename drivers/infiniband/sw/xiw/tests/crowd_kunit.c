// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The peer limit: which connection to evict when too many wait.
 */
#include <kunit/test.h>
#include <net/ipv6.h>

#include "../crowd.h"

enum {
	ROOM	= 256,		/* connections that may wait */
	SEEDS	= 16,		/* hash seeds to test */
	HOSTS	= 64,		/* hosts of a flooding network */
	GRACE	= 100 * HZ,	/* jiffies, longer than a case */
};

struct wait {
	struct xiw_crowd_member member;
	u32 number;		/* in the order of insertion */
};

struct room {
	struct xiw_crowd crowd;
	struct wait waits[ROOM];
	u32 joined;
};

static struct room *room_get(struct kunit *test, u32 seed)
{
	struct room *room = kunit_kzalloc(test, sizeof(*room), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, room);
	xiw_crowd_init(&room->crowd);
	room->crowd.seed = seed * 2654435761u;
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
	wait->member.peer = peer;
	wait->number = room->joined++;
	xiw_crowd_join(&room->crowd, &wait->member);
}

static struct wait *leave(struct room *room, unsigned long grace)
{
	struct xiw_crowd_member *m = xiw_crowd_victim(&room->crowd, grace);

	xiw_crowd_leave(&room->crowd, m);
	return container_of(m, struct wait, member);
}

/*
 * Evict the oldest entry of the address that has most, and none of its
 * neighbours. Few seeds may fail because two of three addresses share a slot.
 *
 * Covers: MPA-51
 */
static void crowd_address(struct kunit *test)
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
static void crowd_network(struct kunit *test)
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
		KUNIT_EXPECT_EQ(test, room->crowd.count, ROOM);
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
		waits[n].member.since -= GRACE;
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
static void crowd_grace(struct kunit *test)
{
	struct room *others = room_of_ages(test, false);
	struct room *same = room_of_ages(test, true);

	KUNIT_EXPECT_PTR_EQ(test, xiw_crowd_victim(&others->crowd, GRACE),
			    &others->waits[10].member);
	/* The hash determines which one. */
	KUNIT_EXPECT_LT(test, leave(same, GRACE)->number, 10);
	KUNIT_EXPECT_PTR_EQ(test, xiw_crowd_victim(&same->crowd, 0),
			    &same->waits[10].member);
}

static struct kunit_case crowd_cases[] = {
	KUNIT_CASE(crowd_address),
	KUNIT_CASE(crowd_network),
	KUNIT_CASE(crowd_grace),
	{}
};

static struct kunit_suite crowd_suite = {
	.name = "xiw_crowd",
	.test_cases = crowd_cases,
};

kunit_test_suite(crowd_suite);
