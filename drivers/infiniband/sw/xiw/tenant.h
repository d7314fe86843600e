/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tenants: a host divides among them what is limited per user.
 */
#ifndef _XIW_TENANT_H
#define _XIW_TENANT_H

#include <linux/types.h>
#include <linux/uidgid.h>

struct user_namespace;

/**
 * struct xiw_tenant - a user, or a user namespace made by root
 * @ns: the namespace, with a reference, or NULL
 * @uid: user, if there is no @ns
 */
struct xiw_tenant {
	struct user_namespace *ns;
	kuid_t uid;
};

void xiw_tenant_get(struct xiw_tenant *tenant);
void xiw_tenant_put(struct xiw_tenant *tenant);
bool xiw_tenant_equal(const struct xiw_tenant *a, const struct xiw_tenant *b);
u32 xiw_tenant_hash(const struct xiw_tenant *tenant);

#endif /* _XIW_TENANT_H */
