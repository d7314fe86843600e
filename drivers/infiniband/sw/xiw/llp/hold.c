// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Held ports. A socket that is bound and never listens keeps the port of an
 * address from other programs: it does not share the address (SO_REUSEADDR), so
 * no socket that does can listen there, and no other one can bind.
 * A listener of this driver binds beside it by SK_FORCE_REUSE.
 *
 * The socket does not pin its network namespace, which would last as long as
 * the device otherwise. So the end of a namespace releases the sockets in it.
 *
 * Two devices may have the same address, so a hold has several references. Only
 * one device may listen: TCP would divide the connections of two at random.
 */
#include "sock.h"

#include <linux/err.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <net/net_namespace.h>
#include <net/sock.h>

/**
 * struct xiw_hold - a held port; protected by hold_mutex
 * @node: on hold_list until the end of the namespace
 * @refs: references
 * @net: namespace, without a reference
 * @addr: address and port; zeroed behind them, and without a scope
 * @bound_if: index of the netdev that the socket is bound to, or 0
 * @v6only: an IPv6 socket that does not hold the port of IPv4
 * @xs: socket, NULL after the end of the namespace
 * @user: device that listens, or NULL
 */
struct xiw_hold {
	struct list_head node;
	u32 refs;
	struct net *net;
	struct sockaddr_storage addr;
	int bound_if;
	bool v6only;
	struct xiw_sock *xs;
	const struct xiw_dev *user;
};

/* Inside of xiw_dev.oob_lock and endpoints' mutexes, outside of socket locks */
static DEFINE_MUTEX(hold_mutex);
static LIST_HEAD(hold_list);

static struct xiw_hold *hold_find(const struct xiw_hold *key)
{
	struct xiw_hold *hold;

	lockdep_assert_held(&hold_mutex);

	list_for_each_entry(hold, &hold_list, node)
		if (net_eq(hold->net, key->net) &&
		    hold->bound_if == key->bound_if &&
		    hold->v6only == key->v6only &&
		    !memcmp(&hold->addr, &key->addr, sizeof(key->addr)))
			return hold;
	return NULL;
}

static struct xiw_hold *hold_create(const struct xiw_hold *key)
{
	struct xiw_hold *hold = kmemdup(key, sizeof(*key), GFP_KERNEL);
	int ret;

	if (!hold)
		return ERR_PTR(-ENOMEM);
	ret = xiw_sock_create(hold->net, hold->addr.ss_family, &hold->xs);
	if (ret)
		goto free;
	ret = xiw_sock_bind_alone(hold->xs, &hold->addr, hold->bound_if,
				  hold->v6only);
	if (ret)
		goto release;
	list_add(&hold->node, &hold_list);
	return hold;
release:
	xiw_sock_release(hold->xs, true);
free:
	kfree(hold);
	return ERR_PTR(ret);
}

/**
 * xiw_hold_get() - hold a port
 * @net: namespace; the caller has a reference
 * @addr: address, which need not be there, and port
 * @bound_if: index of the netdev to which the socket is to be bound, or 0
 * @v6only: do not hold the port of IPv4 by an IPv6 socket
 *
 * Return: The hold, with a reference; or an error pointer, -EADDRINUSE if
 * another program has the port.
 */
struct xiw_hold *xiw_hold_get(struct net *net,
			      const struct sockaddr_storage *addr, int bound_if,
			      bool v6only)
{
	struct xiw_hold key = {
		.net = net, .bound_if = bound_if, .v6only = v6only,
	};
	struct sockaddr_in6 *in6 = (void *)&key.addr;
	struct xiw_hold *hold;

	memcpy(&key.addr, addr, xiw_sock_addr_len(addr));
	/* A scope would replace @bound_if, which may be a VRF of the scope. */
	if (in6->sin6_family == AF_INET6 && bound_if)
		in6->sin6_scope_id = 0;
	mutex_lock(&hold_mutex);
	hold = hold_find(&key) ?: hold_create(&key);
	if (!IS_ERR(hold))
		hold->refs++;
	mutex_unlock(&hold_mutex);
	return hold;
}

static void hold_release(struct xiw_hold *hold)
{
	lockdep_assert_held(&hold_mutex);

	list_del_init(&hold->node);
	if (hold->xs)
		xiw_sock_release(hold->xs, true);
	hold->xs = NULL;
}

/* Drops a reference. */
void xiw_hold_put(struct xiw_hold *hold)
{
	mutex_lock(&hold_mutex);
	if (!--hold->refs) {
		hold_release(hold);
		kfree(hold);
	}
	mutex_unlock(&hold_mutex);
}

/* Lets one device listen at the port. False if another one does. */
bool xiw_hold_use(struct xiw_hold *hold, const struct xiw_dev *dev)
{
	bool may;

	mutex_lock(&hold_mutex);
	may = !hold->user || hold->user == dev;
	if (may)
		hold->user = dev;
	mutex_unlock(&hold_mutex);
	return may;
}

/* Ends the use of @dev, if it is the user. */
void xiw_hold_unuse(struct xiw_hold *hold, const struct xiw_dev *dev)
{
	mutex_lock(&hold_mutex);
	if (hold->user == dev)
		hold->user = NULL;
	mutex_unlock(&hold_mutex);
}

/* No reference to the namespace is left, so there will be no other hold. */
static void hold_pre_exit(struct net *net)
{
	struct xiw_hold *hold;
	struct xiw_hold *next;

	mutex_lock(&hold_mutex);
	list_for_each_entry_safe(hold, next, &hold_list, node)
		if (net_eq(hold->net, net))
			hold_release(hold);
	mutex_unlock(&hold_mutex);
}

static struct pernet_operations hold_net_ops = {
	.pre_exit = hold_pre_exit,
};

/* Before the first hold. 0 or negative errno */
int xiw_hold_module_init(void)
{
	return register_pernet_subsys(&hold_net_ops);
}

/* After the last hold. */
void xiw_hold_module_exit(void)
{
	unregister_pernet_subsys(&hold_net_ops);
}
