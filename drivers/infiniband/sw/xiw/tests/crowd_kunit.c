// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Who has to go when too many connections wait.
 */
#include <kunit/test.h>
#include <net/ipv6.h>

#include "../crowd.h"

enum {
	ROOM	= 256,		/* connections that may wait */
	SEEDS	= 16,		/* of the hash, that are tried */
	HOSTS	= 64,		/* of a network that floods */
	GRACE	= 100 * HZ,	/* jiffies, more than a case takes */
};

struct wait {
	struct xiw_crowd_member member;
	u32 number;		/* in the order in which they joined */
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

/* Host @host of network @net, of one family or the other. */
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
	struct wait *wait = container_of(xiw_crowd_victim(&room->crowd, grace),
					 struct wait, member);

	xiw_crowd_leave(&room->crowd, &wait->member);
	return wait;
}

/*
 * The oldest one of the address that has most, and not of its neighbours, but
 * for the few hashes by which two of three addresses share a slot.
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
 * A network that floods from many addresses goes before another one, and of the
 * flood those that have waited for long.
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

/* Ten of long ago, of as many hosts, and ten young ones of another host. */
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
 * Others of long ago do not go instead of a flood, all of which is young; but
 * if they are part of it, nobody is waited for.
 *
 * Covers: MPA-51
 */
static void crowd_grace(struct kunit *test)
{
	struct room *others = room_of_ages(test, false);
	struct room *same = room_of_ages(test, true);

	KUNIT_EXPECT_PTR_EQ(test, xiw_crowd_victim(&others->crowd, GRACE),
			    &others->waits[10].member);
	/* Which one is a matter of the hash. */
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
