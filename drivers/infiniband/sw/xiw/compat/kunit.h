/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * KUnit features used by the suites that kernels before Linux 6.9 lack.
 */
#ifndef _XIW_COMPAT_KUNIT_H
#define _XIW_COMPAT_KUNIT_H

#include <kunit/test.h>
#include <linux/slab.h>

/* Since Linux 6.2 */
#ifndef KUNIT_EXPECT_MEMEQ
#define KUNIT_EXPECT_MEMEQ(test, left, right, size) \
	KUNIT_EXPECT_EQ(test, memcmp(left, right, size), 0)
#endif

/* Since Linux 6.9 */
#ifndef KUNIT_FAIL_AND_ABORT
#define KUNIT_FAIL_AND_ABORT(test, ...) \
	KUNIT_ASSERT_TRUE_MSG(test, false, __VA_ARGS__)
#endif

/* Since Linux 6.8 */
#ifndef KUNIT_ARRAY_PARAM_DESC
#define KUNIT_ARRAY_PARAM_DESC(name, array, member)			\
static const void *name##_gen_params(const void *prev, char *desc)	\
{									\
	typeof(&(array)[0]) next = (array);				\
									\
	if (prev)							\
		next = (typeof(next))prev + 1;				\
	if (next - (array) >= ARRAY_SIZE(array))			\
		return NULL;						\
	strscpy(desc, next->member, KUNIT_PARAM_DESC_SIZE);		\
	return next;							\
}
#endif

/* Since Linux 6.5 */
#ifndef XIW_HAVE_KUNIT_ADD_ACTION
struct xiw_kunit_action {
	void (*fn)(void *ctx);
	void *ctx;
};

static inline int xiw_kunit_action_init(struct kunit_resource *res, void *ctx)
{
	res->data = kmemdup(ctx, sizeof(struct xiw_kunit_action), GFP_KERNEL);
	return res->data ? 0 : -ENOMEM;
}

static inline void xiw_kunit_action_free(struct kunit_resource *res)
{
	struct xiw_kunit_action *action = res->data;

	action->fn(action->ctx);
	kfree(action);
}

static inline int kunit_add_action_or_reset(struct kunit *test,
					    void (*fn)(void *ctx), void *ctx)
{
	struct xiw_kunit_action action = { .fn = fn, .ctx = ctx };

	if (kunit_alloc_resource(test, xiw_kunit_action_init,
				 xiw_kunit_action_free, GFP_KERNEL, &action))
		return 0;
	fn(ctx);
	return -ENOMEM;
}
#endif

#endif /* _XIW_COMPAT_KUNIT_H */
