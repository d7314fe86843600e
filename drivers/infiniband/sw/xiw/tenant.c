// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which user is accountable for a process.
 */
#include "tenant.h"

#include <linux/cred.h>
#include <linux/hash.h>
#include <linux/user_namespace.h>

/*
 * Sets @tenant to the user that is accountable for this process: in a user
 * namespace its owner outside of it, as a user may have many IDs inside. A
 * daemon of root makes the namespaces of all containers, so these are
 * accountable themselves. xiw_tenant_put() drops the reference. Process
 * context.
 */
void xiw_tenant_get(struct xiw_tenant *tenant)
{
	struct user_namespace *ns = current_user_ns();

	tenant->ns = NULL;
	tenant->uid = current_uid();
	if (ns == &init_user_ns)
		return;
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	tenant->uid = ns->owner;
	if (uid_eq(ns->owner, GLOBAL_ROOT_UID))
		tenant->ns = get_user_ns(ns);
}

/* Drops the reference of xiw_tenant_get(). Any context. */
void xiw_tenant_put(struct xiw_tenant *tenant)
{
	if (tenant->ns)
		put_user_ns(tenant->ns);
	tenant->ns = NULL;
}

/* Are both the same? Any context. */
bool xiw_tenant_equal(const struct xiw_tenant *a, const struct xiw_tenant *b)
{
	return a->ns == b->ns && (a->ns || uid_eq(a->uid, b->uid));
}

/* For a hash table of tenants. Any context. */
u32 xiw_tenant_hash(const struct xiw_tenant *tenant)
{
	return tenant->ns ? hash_ptr(tenant->ns, 32) : __kuid_val(tenant->uid);
}
