// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory windows: STags that give a peer rights in a part of a region, bound
 * and unbound by work requests.
 *
 * A type 1 window can be used through every QP of its protection domain and
 * may be bound again at any time; a type 2 window belongs to the QP that bound
 * it and can be bound again only after it was invalidated.
 *
 * A bound window counts in @num_mw of its region, which is not revoked before
 * that count is zero. So the window's lock suffices to use the region.
 *
 * A bound type 2 window is on the list of its owner, which is part of the QP
 * that bound it. @owner and the list entry change together, under the window's
 * lock and, nested in it, the owner's. A walk of the list must drop the owner's
 * lock before it takes the window's, and then check @owner again; RCU keeps the
 * window in between. The QP is not freed before the list is empty.
 */
#include "verbs.h"

#include <linux/lockdep.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "dev.h"

/* A bind nests the lock of the region inside that of the window. */
static struct lock_class_key mw_lock_key;

/* 0, -EOPNOTSUPP for unknown input, -EFAULT, -ENOMEM or -ENOSPC */
int xiw_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct xiw_dev *dev = to_xdev(ibmw->device);
	struct xiw_mem *mem;
	int ret = ib_no_udata_io(udata);

	if (ret)
		return ret;
	if (!atomic_add_unless(&dev->num_mw, 1, XIW_MAX_MW))
		return -ENOMEM;
	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem) {
		ret = -ENOMEM;
		goto err_count;
	}

	xiw_mem_init(mem);
	lockdep_set_class(&mem->lock, &mw_lock_key);
	mem->table = &dev->mems;
	mem->pd = ibmw->pd;
	mem->kind = XIW_MEM_MW;
	mem->type2 = ibmw->type == IB_MW_TYPE_2;
	mem->state = XIW_MEM_FREE;
	ret = xiw_stag_alloc(mem);
	if (ret)
		goto err_free;

	to_xmw(ibmw)->mem = mem;
	ibmw->rkey = mem->stag;
	return 0;

err_free:
	kfree(mem);
err_count:
	atomic_dec(&dev->num_mw);
	return ret;
}

static void mw_join_owner(struct xiw_mem *mem, struct xiw_mw_owner *owner)
{
	mem->owner = owner;
	spin_lock(&owner->lock);
	list_add(&mem->bound, &owner->bound);
	spin_unlock(&owner->lock);
}

int xiw_dealloc_mw(struct ib_mw *ibmw)
{
	struct xiw_mem *mem = to_xmw(ibmw)->mem;

	xiw_mem_lock(mem);
	xiw_mem_unbind_locked(mem);
	mem->state = XIW_MEM_DEAD;
	xiw_mem_unlock(mem);

	xiw_stag_free(mem);
	atomic_dec(&to_xdev(ibmw->device)->num_mw);
	kfree_rcu(mem, rcu);
	return 0;
}

/* May a window with these rights be bound to the region? */
static bool mw_region_access_ok(const struct xiw_mem *mr, struct ib_pd *pd,
				const struct xiw_bind *bind)
{
	u64 last;

	if (mr->state != XIW_MEM_VALID || mr->stag != bind->lkey ||
	    mr->pd != pd || !(mr->access & IB_ACCESS_MW_BIND))
		return false;
	if (bind->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(mr->access & IB_ACCESS_LOCAL_WRITE))
		return false;
	return !check_add_overflow(bind->addr, bind->length - 1, &last) &&
	       bind->addr >= mr->iova && bind->length <= mr->length &&
	       bind->addr - mr->iova <= mr->length - bind->length;
}

static int mw_bind_locked(struct xiw_mem *mw, struct xiw_mem *mr,
			  struct ib_pd *pd, struct xiw_mw_owner *owner,
			  u32 key, const struct xiw_bind *bind)
{
	bool admitted;

	lockdep_assert_held_write(&mw->lock);

	if (mw->state == XIW_MEM_DEAD || mw->pd != pd)
		return -EINVAL;
	if (mw->type2 && mw->state != XIW_MEM_FREE)
		return -EINVAL;

	read_lock(&mr->lock);
	admitted = mw_region_access_ok(mr, pd, bind);
	if (admitted)
		atomic_inc(&mr->num_mw);
	read_unlock(&mr->lock);
	if (!admitted)
		return -EINVAL;

	xiw_mem_unbind_locked(mw);
	if (mw->type2)
		mw_join_owner(mw, owner);
	mw->mr = mr;
	mw->stag = key;
	mw->iova = bind->addr;
	mw->length = bind->length;
	mw->access = bind->access & XIW_MEM_REMOTE;
	mw->state = XIW_MEM_VALID;
	return 0;
}

/* A bind of length 0 unbinds a type 1 window. */
static int mw_unbind(struct xiw_mem *mw, struct ib_pd *pd, u32 key)
{
	int ret = -EINVAL;

	xiw_mem_lock(mw);
	if (!mw->type2 && mw->state != XIW_MEM_DEAD && mw->pd == pd) {
		xiw_mem_unbind_locked(mw);
		mw->stag = key;
		ret = 0;
	}
	xiw_mem_unlock(mw);
	return ret;
}

/**
 * xiw_mw_bind() - carry out a BIND_MW work request
 * @pd: protection domain of the QP
 * @owner: part of the QP that posted it
 * @key: STag of the window, with the new key
 * @bind: range, rights and region
 *
 * Context: Any, with interrupts on.
 * Return: 0 or -EINVAL; then nothing has changed.
 */
int xiw_mw_bind(struct ib_pd *pd, struct xiw_mw_owner *owner, u32 key,
		const struct xiw_bind *bind)
{
	struct xiw_mem_table *table = &to_xdev(pd->device)->mems;
	struct xiw_mem *mw;
	struct xiw_mem *mr;
	int ret = -EINVAL;

	/* ULPs may set local access as well, which a window does not have. */
	if (bind->access & ~(XIW_MEM_REMOTE | IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;

	rcu_read_lock();
	mw = xiw_stag_find(table, key);
	if (!mw || mw->kind != XIW_MEM_MW)
		goto out;
	if (!bind->length) {
		ret = mw_unbind(mw, pd, key);
		goto out;
	}
	mr = xiw_stag_find(table, bind->lkey);
	if (!mr || mr->kind == XIW_MEM_MW)
		goto out;
	xiw_mem_lock(mw);
	ret = mw_bind_locked(mw, mr, pd, owner, key, bind);
	xiw_mem_unlock(mw);
out:
	rcu_read_unlock();
	return ret;
}

/* The first window on the list, or NULL. Only RCU protects it. */
static struct xiw_mem *mw_first_bound(struct xiw_mw_owner *owner)
{
	struct xiw_mem *mem;

	spin_lock_bh(&owner->lock);
	mem = list_first_entry_or_null(&owner->bound, struct xiw_mem, bound);
	spin_unlock_bh(&owner->lock);
	return mem;
}

/* The number of the new queue pair need not be set yet. */
void xiw_mw_owner_init(struct xiw_mw_owner *owner)
{
	spin_lock_init(&owner->lock);
	INIT_LIST_HEAD(&owner->bound);
}

/*
 * Invalidates the windows of a queue pair that is destroyed and binds no more.
 * Sleeps.
 */
void xiw_mw_owner_release(struct xiw_mw_owner *owner)
{
	struct xiw_mem *mem;

	do {
		rcu_read_lock();
		mem = mw_first_bound(owner);
		if (mem) {
			xiw_mem_lock(mem);
			/* The window may have been unbound in between. */
			if (mem->owner == owner)
				xiw_mem_unbind_locked(mem);
			xiw_mem_unlock(mem);
		}
		rcu_read_unlock();
		cond_resched();
	} while (mem);
}
