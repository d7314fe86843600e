// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Limits of the Initiators of a user. They connect again and again, in work
 * items, which no control group limits. So three things are divided among the
 * users: CPU time of these tries, connections that are not established (each
 * has a local port, and RLIMIT_NOFILE does not count it), and source ports that
 * need a privilege.
 */

/**
 * DOC: Tries of a user
 *
 * Each user has a time before which no Initiator of its may try again. A try
 * advances it by four times the time that the try has taken, or by half a
 * millisecond. So the tries of a user take at most a quarter of a processor,
 * whatever they fail for, and two thousand a second. An Initiator that is too
 * early gets the next free time, so all of them try in order. After a
 * pause a user may make several hundred tries at once.
 *
 * An Initiator that ends before its time gives that back. Otherwise a process
 * that begins and ends Initiators in a loop could delay the others of its user
 * without limit. What tries have cost delays them by GATE_DEBT at most: a try
 * that waits for memory takes time, too. The time of a user without endpoints
 * is kept until it limits nothing any more.
 *
 * At most GATE_OPEN connections of a user are not established at a time. If
 * there are as many, a new try replaces the oldest one that is older than
 * GATE_KEEP, and waits for that otherwise. So peers that do not answer delay
 * the Initiators of the same user by seconds, and others not at all.
 *
 * The first try is made in the process that changes its queue pair to RTR, on
 * its own account. Only the second limit applies to it.
 */
#include "oob.h"

#include <kunit/visibility.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "dev.h"
#include "qp/ep.h"
#include "tenant.h"

/* Connections of a user that are not established */
#define GATE_OPEN		1024
/* Time in which such a connection is not replaced by one of the same user */
#define GATE_KEEP		(2 * HZ)
/* Time in which the replaced one closes its socket */
#define GATE_REPLACE_MS		10

/* Cost of a try: its time by GATE_SHARE, within limits; in nanoseconds */
#define GATE_SHARE		4
#define GATE_COST_MIN		(NSEC_PER_MSEC / 2)
#define GATE_COST_MAX		(100 * NSEC_PER_MSEC)
/* Tries at once, as the time that they cost */
#define GATE_BURST		(250 * NSEC_PER_MSEC)
/* How far the cost of past tries delays others of the user */
#define GATE_DEBT		(10ULL * NSEC_PER_SEC)

/* Connections from a port that needs a privilege: of a user, of a device */
#define GATE_PRIVILEGED		8
#define GATE_PRIVILEGED_ALL	32

/**
 * struct xiw_oob_gate - the Initiators of a user; protected by gate_lock
 * @node: on gate_list
 * @tenant: the user
 * @refs: number of its endpoints; without any, gate_expire() frees it
 * @next: time of the next try, in nanoseconds
 * @num_open: number of connections that are not established
 * @open: those of them that may be replaced, oldest first
 * @privileged: number of endpoints that are connected from such a port
 */
struct xiw_oob_gate {
	struct list_head node;
	struct xiw_tenant tenant;
	u32 refs;
	u64 next;
	u32 num_open;
	struct list_head open;
	u32 privileged;
};

static void gate_expire(struct work_struct *work);

static DEFINE_SPINLOCK(gate_lock);
static LIST_HEAD(gate_list);
static DECLARE_DELAYED_WORK(gate_expire_work, gate_expire);

static struct xiw_oob_gate *gate_find_locked(const struct xiw_oob_gate *key)
{
	struct xiw_oob_gate *gate;

	lockdep_assert_held(&gate_lock);

	list_for_each_entry(gate, &gate_list, node)
		if (xiw_tenant_equal(&gate->tenant, &key->tenant))
			return gate;
	return NULL;
}

static void gate_free(struct xiw_oob_gate *gate)
{
	if (gate)
		xiw_tenant_put(&gate->tenant);
	kfree(gate);
}

/* The time of a user, within its limits at @now. */
static void gate_clamp_locked(struct xiw_oob_gate *gate, u64 now)
{
	lockdep_assert_held(&gate_lock);

	gate->next = clamp_t(u64, gate->next, now - GATE_BURST,
			     now + GATE_DEBT +
				     (u64)gate->refs * GATE_COST_MIN);
}

/* Moves the gates without endpoints that equal a new one to @over. */
static void gate_pick_expired(struct list_head *over)
{
	u64 now = ktime_get_ns();
	struct xiw_oob_gate *gate;
	struct xiw_oob_gate *next;
	bool more = false;

	spin_lock(&gate_lock);
	list_for_each_entry_safe(gate, next, &gate_list, node) {
		if (gate->refs)
			continue;
		gate_clamp_locked(gate, now);
		if (gate->next > now - GATE_BURST)
			more = true;
		else
			list_move(&gate->node, over);
	}
	if (more)
		schedule_delayed_work(&gate_expire_work, HZ);
	spin_unlock(&gate_lock);
}

static void gate_free_list(struct list_head *over)
{
	struct xiw_oob_gate *gate;
	struct xiw_oob_gate *next;

	list_for_each_entry_safe(gate, next, over, node)
		gate_free(gate);
}

static void gate_expire(struct work_struct *work)
{
	LIST_HEAD(over);

	gate_pick_expired(&over);
	gate_free_list(&over);
}

/* No endpoint is left. */
void xiw_oob_gate_module_exit(void)
{
	cancel_delayed_work_sync(&gate_expire_work);
	gate_free_list(&gate_list);
}

/*
 * Makes a new endpoint one of the current user. 0 or -ENOMEM. Sleeps.
 * xiw_oob_gate_exit() undoes it.
 */
int xiw_oob_gate_init(struct xiw_ep *ep)
{
	struct xiw_oob_gate *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	struct xiw_oob_gate *gate;

	if (!new)
		return -ENOMEM;
	INIT_LIST_HEAD(&new->open);
	xiw_tenant_get(&new->tenant);
	spin_lock(&gate_lock);
	gate = gate_find_locked(new);
	if (!gate) {
		gate = new;
		new = NULL;
		list_add(&gate->node, &gate_list);
	}
	gate->refs++;
	ep->gate.of = gate;
	spin_unlock(&gate_lock);
	gate_free(new);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_oob_gate_init);

static void gate_leave_locked(struct xiw_ep *ep)
{
	struct xiw_oob_try *try = &ep->gate;

	lockdep_assert_held(&gate_lock);

	if (!try->open)
		return;
	list_del_init(&try->node);
	try->open = false;
	try->of->num_open--;
}

static void gate_drop_privilege_locked(struct xiw_ep *ep)
{
	lockdep_assert_held(&gate_lock);

	if (!ep->gate.privileged)
		return;
	ep->gate.privileged = false;
	ep->gate.of->privileged--;
	ep->dev->oob_privileged--;
}

/*
 * Ends the use of an endpoint, which may have none and is dead. Process
 * context.
 */
void xiw_oob_gate_exit(struct xiw_ep *ep)
{
	struct xiw_oob_gate *gate = ep->gate.of;

	if (!gate)
		return;
	spin_lock(&gate_lock);
	gate_leave_locked(ep);
	gate_drop_privilege_locked(ep);
	if (ep->gate.assigned)
		gate->next -= GATE_COST_MIN;
	ep->gate.of = NULL;
	if (!--gate->refs)
		schedule_delayed_work(&gate_expire_work, HZ);
	spin_unlock(&gate_lock);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_oob_gate_exit);

/*
 * Milliseconds until the time of @ep, 0 if that is now. A time that was
 * assigned is used up by the next call.
 */
static u32 gate_await_time_locked(struct xiw_ep *ep, u64 now)
{
	struct xiw_oob_gate *gate = ep->gate.of;
	u64 wait = 0;

	lockdep_assert_held(&gate_lock);

	if (!ep->gate.assigned) {
		gate_clamp_locked(gate, now);
		if (gate->next > now)
			wait = gate->next - now;
		gate->next += GATE_COST_MIN;
	}
	ep->gate.assigned = wait > 0;
	return div_u64(wait + NSEC_PER_MSEC - 1, NSEC_PER_MSEC);
}

/*
 * Milliseconds until there may be room for a connection, 0 if there is. Makes
 * the oldest one, which may be locked by another task, retry.
 */
static u32 gate_await_room_locked(struct xiw_oob_gate *gate)
{
	struct xiw_ep *oldest;
	unsigned long end;

	lockdep_assert_held(&gate_lock);

	if (gate->num_open < GATE_OPEN)
		return 0;
	oldest = list_first_entry_or_null(&gate->open, struct xiw_ep,
					  gate.node);
	if (!oldest)
		return GATE_REPLACE_MS;
	end = oldest->gate.since + GATE_KEEP;
	if (time_before(jiffies, end))
		return jiffies_to_msecs(end - jiffies) + 1;
	list_del_init(&oldest->gate.node);
	xiw_ep_raise(oldest, XIW_EPE_REPLACED);
	return GATE_REPLACE_MS;
}

/*
 * May a locked endpoint try to connect? 0 if so; then xiw_oob_gate_leave() ends
 * the try. Otherwise milliseconds after which it is to ask again. The first try
 * of an endpoint is made by its process. Process context.
 */
u32 xiw_oob_gate_enter(struct xiw_ep *ep, bool first)
{
	u64 now = ktime_get_ns();
	u32 wait = 0;

	spin_lock(&gate_lock);
	if (!first)
		wait = gate_await_time_locked(ep, now);
	if (!wait)
		wait = gate_await_room_locked(ep->gate.of);
	if (!wait) {
		ep->gate.since = jiffies;
		ep->gate.open = true;
		ep->gate.of->num_open++;
		list_add_tail(&ep->gate.node, &ep->gate.of->open);
	}
	spin_unlock(&gate_lock);
	return wait;
}
EXPORT_SYMBOL_IF_KUNIT(xiw_oob_gate_enter);

/* Adds the cost of a try that began at @start, of ktime_get_ns(). */
void xiw_oob_gate_charge(struct xiw_ep *ep, u64 start)
{
	u64 cost = (ktime_get_ns() - start) * GATE_SHARE;

	spin_lock(&gate_lock);
	if (cost > GATE_COST_MIN)
		ep->gate.of->next += min_t(u64, cost, GATE_COST_MAX) -
				     GATE_COST_MIN;
	spin_unlock(&gate_lock);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_oob_gate_charge);

/*
 * The connection of a locked endpoint is established, or has failed: then it
 * has no socket any more. Process context.
 */
void xiw_oob_gate_leave(struct xiw_ep *ep)
{
	spin_lock(&gate_lock);
	gate_leave_locked(ep);
	if (!ep->xs)
		gate_drop_privilege_locked(ep);
	spin_unlock(&gate_lock);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_oob_gate_leave);

/*
 * May a try use a port that needs a privilege? Then xiw_oob_gate_leave() gives
 * it back. Process context.
 */
bool xiw_oob_gate_take_privilege(struct xiw_ep *ep)
{
	struct xiw_oob_gate *gate = ep->gate.of;
	bool may;

	spin_lock(&gate_lock);
	may = gate->privileged < GATE_PRIVILEGED &&
	      ep->dev->oob_privileged < GATE_PRIVILEGED_ALL;
	gate->privileged += may;
	ep->dev->oob_privileged += may;
	ep->gate.privileged = may;
	spin_unlock(&gate_lock);
	return may;
}
