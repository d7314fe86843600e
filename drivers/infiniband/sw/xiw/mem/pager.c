// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Pagers: page faults may sleep for as long as another process likes, if the
 * memory is backed by FUSE or userfaultfd. So each process with memory on
 * demand has a pager, a work item that is queued for one fault at a time. A
 * fault that is never answered stops the pager of its process only. After a
 * process was killed its fault may remain, so the faults of a user are limited
 * as well: the workqueue has room for those of several users.
 *
 * Nothing waits for a fault. A pager with jobs has a reference on the module,
 * so unloading fails as long as a fault sleeps. It waits for one that begins
 * after unloading has begun. Jobs have references on all else that they use.
 */
#include "odp.h"

#include <linux/hashtable.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "tenant.h"

/*
 * Limit for the faults of a user that sleep at the same time. Unbound work
 * queues divide their limit among the NUMA nodes: each node has room for eight
 * such users, if the nodes have equally many CPUs.
 */
#define PAGER_MAX_ACTIVE	64
#define PAGER_USERS		8

/* log2 of the sizes of the hash tables */
#define PAGER_HASH_BITS		10
#define PAGER_USER_HASH_BITS	6

/**
 * struct pager_user - the pagers of a user
 * @node: in pager_users
 * @tenant: the user
 * @pagers: number of pagers; protected by pager_mutex
 * @lock: protects all that follows; taken with bottom halves off, nests inside
 *	the lock of a pager
 * @active: pagers with work that is queued or running
 * @ready: pagers that have jobs and wait because of pager_max_active
 */
struct pager_user {
	struct hlist_node node;
	struct xiw_tenant tenant;
	u32 pagers;
	spinlock_t lock; /* see above */
	u32 active;
	struct list_head ready;
};

/**
 * struct xiw_pager - pager of a process
 * @node: in pager_table
 * @mm: address space of the process, without its pages
 * @user: user of the process when the pager was created
 * @refs: references of regions, and one while @active. The last is dropped
 *	with pager_mutex held
 * @lock: protects @active, @num_jobs and @jobs; taken with bottom halves off
 * @active: @work is queued or running, or @ready is on the list of @user
 * @num_jobs: number of @jobs
 * @jobs: jobs that are not running
 * @ready: see struct pager_user
 * @work: runs a job
 * @rcu: frees the structure, see xiw_pager_cancel()
 */
struct xiw_pager {
	struct hlist_node node;
	struct mm_struct *mm;
	struct pager_user *user;
	refcount_t refs;
	spinlock_t lock; /* see above */
	bool active;
	u32 num_jobs;
	struct list_head jobs;
	struct list_head ready;
	struct work_struct work;
	struct rcu_head rcu;
};

static struct workqueue_struct *pager_wq;
static u32 pager_max_active;

/*
 * Pagers by address space, and their users. Processes alone take the mutex, for
 * the first region on demand and after the last one. A segment that meets an
 * absent page, of any process, takes the lock of one pager and that of its user
 * only.
 */
static DEFINE_MUTEX(pager_mutex);
static DEFINE_HASHTABLE(pager_table, PAGER_HASH_BITS);
static DEFINE_HASHTABLE(pager_users, PAGER_USER_HASH_BITS);

/* Before the first region on demand. 0 or -ENOMEM */
int xiw_pager_module_init(void)
{
	pager_max_active = clamp(WQ_MAX_ACTIVE / PAGER_USERS /
				 num_online_nodes(), 1, PAGER_MAX_ACTIVE);
	pager_wq = alloc_workqueue("xiw_pager", WQ_UNBOUND | WQ_SYSFS,
				   WQ_MAX_ACTIVE);
	return pager_wq ? 0 : -ENOMEM;
}

/* After the last region; no fault is left, see above. Sleeps. */
void xiw_pager_module_exit(void)
{
	destroy_workqueue(pager_wq);
}

static void pager_start_locked(struct xiw_pager *pager)
{
	struct pager_user *user = pager->user;

	lockdep_assert_held(&pager->lock);

	if (pager->active || list_empty(&pager->jobs))
		return;
	pager->active = true;
	/* The region of a job has one. */
	refcount_inc(&pager->refs);
	__module_get(THIS_MODULE);
	spin_lock(&user->lock);
	if (user->active >= pager_max_active) {
		list_add_tail(&pager->ready, &user->ready);
	} else {
		user->active++;
		queue_work(pager_wq, &pager->work);
	}
	spin_unlock(&user->lock);
}

/* The work of a pager ends: start the next pager of the user. */
static void pager_stop_locked(struct xiw_pager *pager)
{
	struct pager_user *user = pager->user;
	struct xiw_pager *next;

	lockdep_assert_held(&pager->lock);

	pager->active = false;
	spin_lock(&user->lock);
	next = list_first_entry_or_null(&user->ready, struct xiw_pager, ready);
	if (next) {
		list_del_init(&next->ready);
		queue_work(pager_wq, &next->work);
	} else {
		user->active--;
	}
	spin_unlock(&user->lock);
	pager_start_locked(pager);
}

static void pager_add_job_locked(struct xiw_pager *pager,
				 struct xiw_pager_job *job)
{
	lockdep_assert_held(&pager->lock);

	WRITE_ONCE(job->pager, pager);
	list_add_tail(&job->node, &pager->jobs);
	pager->num_jobs++;
}

static void pager_remove_job_locked(struct xiw_pager *pager,
				    struct xiw_pager_job *job)
{
	lockdep_assert_held(&pager->lock);

	WRITE_ONCE(job->pager, NULL);
	list_del_init(&job->node);
	pager->num_jobs--;
}

static struct xiw_pager_job *pager_next_job(struct xiw_pager *pager)
{
	struct xiw_pager_job *job;

	spin_lock_bh(&pager->lock);
	job = list_first_entry_or_null(&pager->jobs, struct xiw_pager_job,
				       node);
	if (job)
		pager_remove_job_locked(pager, job);
	spin_unlock_bh(&pager->lock);
	return job;
}

static void pager_work(struct work_struct *work)
{
	struct xiw_pager *pager = container_of(work, struct xiw_pager, work);
	struct xiw_pager_job *job = pager_next_job(pager);
	bool again = job && job->run(job);

	spin_lock_bh(&pager->lock);
	/* Other jobs need not wait for a long one. */
	if (again)
		pager_add_job_locked(pager, job);
	pager_stop_locked(pager);
	spin_unlock_bh(&pager->lock);

	xiw_pager_put(pager);
	/* Unloading the module waits for the return of this function. */
	module_put(THIS_MODULE);
}

static struct pager_user *pager_find_user(const struct pager_user *key)
{
	struct pager_user *user;

	lockdep_assert_held(&pager_mutex);

	hash_for_each_possible(pager_users, user, node,
			       xiw_tenant_hash(&key->tenant))
		if (xiw_tenant_equal(&user->tenant, &key->tenant))
			return user;
	return NULL;
}

static struct xiw_pager *pager_find(const struct mm_struct *mm)
{
	struct xiw_pager *pager;

	lockdep_assert_held(&pager_mutex);

	hash_for_each_possible(pager_table, pager, node, (uintptr_t)mm)
		if (pager->mm == mm)
			return pager;
	return NULL;
}

/* Adds a new pager; @user is used if the user has no pager yet. */
static void pager_add_locked(struct xiw_pager *pager, struct pager_user **user)
{
	struct pager_user *old = pager_find_user(*user);

	lockdep_assert_held(&pager_mutex);

	if (!old) {
		old = *user;
		*user = NULL;
		hash_add(pager_users, &old->node,
			 xiw_tenant_hash(&old->tenant));
	}
	old->pagers++;
	pager->user = old;
	hash_add(pager_table, &pager->node, (uintptr_t)pager->mm);
}

static struct pager_user *pager_alloc_user(void)
{
	struct pager_user *user;

	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	spin_lock_init(&user->lock);
	INIT_LIST_HEAD(&user->ready);
	xiw_tenant_get(&user->tenant);
	return user;
}

static void pager_free_user(struct pager_user *user)
{
	if (user)
		xiw_tenant_put(&user->tenant);
	kfree(user);
}

static struct xiw_pager *pager_alloc(struct pager_user **user)
{
	struct xiw_pager *pager;

	pager = kzalloc(sizeof(*pager), GFP_KERNEL_ACCOUNT);
	*user = pager_alloc_user();
	if (!pager || !*user) {
		pager_free_user(*user);
		kfree(pager);
		return NULL;
	}
	refcount_set(&pager->refs, 1);
	spin_lock_init(&pager->lock);
	INIT_LIST_HEAD(&pager->jobs);
	INIT_LIST_HEAD(&pager->ready);
	INIT_WORK(&pager->work, pager_work);
	pager->mm = current->mm;
	return pager;
}

/* A reference to the pager of this process, or NULL without memory. Sleeps. */
struct xiw_pager *xiw_pager_get(void)
{
	struct pager_user *user;
	struct xiw_pager *new = pager_alloc(&user);
	struct xiw_pager *pager;

	if (!new)
		return NULL;
	mutex_lock(&pager_mutex);
	pager = pager_find(current->mm);
	if (pager) {
		refcount_inc(&pager->refs);
	} else {
		pager = new;
		new = NULL;
		/* No other process gets this address while the pager exists. */
		mmgrab(pager->mm);
		pager_add_locked(pager, &user);
	}
	mutex_unlock(&pager_mutex);
	kfree(new);
	pager_free_user(user);
	return pager;
}

/* Drops a reference. Sleeps. */
void xiw_pager_put(struct xiw_pager *pager)
{
	struct pager_user *user = pager->user;

	if (!refcount_dec_and_mutex_lock(&pager->refs, &pager_mutex))
		return;
	hash_del(&pager->node);
	if (--user->pagers)
		user = NULL;
	else
		hash_del(&user->node);
	mutex_unlock(&pager_mutex);
	mmdrop(pager->mm);
	pager_free_user(user);
	/* Its work may be calling this; it does not use the pager again. */
	kfree_rcu(pager, rcu);
}

/**
 * xiw_pager_queue() - queue a job
 * @pager: pager; the job keeps a reference until it has run
 * @job: job
 * @limit: number of jobs from which on nothing is queued, 0 for no limit
 *
 * Context: Any.
 * Return: false if the pager has too many jobs.
 */
bool xiw_pager_queue(struct xiw_pager *pager, struct xiw_pager_job *job,
		     u32 limit)
{
	bool queued = false;

	spin_lock_bh(&pager->lock);
	if (!limit || pager->num_jobs < limit) {
		queued = true;
		pager_add_job_locked(pager, job);
		pager_start_locked(pager);
	}
	spin_unlock_bh(&pager->lock);
	return queued;
}

/*
 * Removes a job that has been queued once. False if it is running or has run;
 * then its pager may be gone. Any context.
 */
bool xiw_pager_cancel(struct xiw_pager_job *job)
{
	struct xiw_pager *pager;
	bool queued = false;

	/* A pager with a job has a reference, so it is freed after this. */
	rcu_read_lock();
	pager = READ_ONCE(job->pager);
	if (pager) {
		spin_lock_bh(&pager->lock);
		queued = job->pager == pager;
		if (queued)
			pager_remove_job_locked(pager, job);
		spin_unlock_bh(&pager->lock);
	}
	rcu_read_unlock();
	return queued;
}
