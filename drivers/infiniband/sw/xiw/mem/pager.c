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
#include "pager.h"

#include <linux/cred.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

/*
 * Limit for the faults of a user that sleep at the same time. Unbound work
 * queues divide their limit among the NUMA nodes: each node has room for eight
 * such users, if the nodes have equally many CPUs.
 */
#define PAGER_MAX_ACTIVE	64
#define PAGER_USERS		8

/**
 * struct pager_user - the pagers of a user, or of a user namespace made by root
 * @node: on pager_users
 * @ns: the namespace, with a reference, or NULL
 * @uid: user, if there is no @ns
 * @pagers: number of pagers
 * @active: pagers with work that is queued or running
 * @ready: pagers that have jobs and wait because of pager_max_active
 */
struct pager_user {
	struct list_head node;
	struct user_namespace *ns;
	kuid_t uid;
	u32 pagers;
	u32 active;
	struct list_head ready;
};

/**
 * struct xiw_pager - pager of a process
 * @node: on pager_list
 * @mm: address space of the process, without its pages
 * @user: user of the process when the pager was created
 * @refs: references of regions, and one while @active
 * @active: @work is queued or running, or @ready is on the list of @user
 * @num_jobs: number of @jobs
 * @jobs: jobs that are not running
 * @ready: see struct pager_user
 * @work: runs a job
 */
struct xiw_pager {
	struct list_head node;
	struct mm_struct *mm;
	struct pager_user *user;
	u32 refs;
	bool active;
	u32 num_jobs;
	struct list_head jobs;
	struct list_head ready;
	struct work_struct work;
};

static struct workqueue_struct *pager_wq;
static u32 pager_max_active;

/* Protects all members of pagers and users. */
static DEFINE_SPINLOCK(pager_lock);
static LIST_HEAD(pager_list);
static LIST_HEAD(pager_users);

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

	lockdep_assert_held(&pager_lock);

	if (pager->active || list_empty(&pager->jobs))
		return;
	pager->active = true;
	pager->refs++;
	__module_get(THIS_MODULE);
	if (user->active >= pager_max_active) {
		list_add_tail(&pager->ready, &user->ready);
		return;
	}
	user->active++;
	queue_work(pager_wq, &pager->work);
}

/* The work of a pager ends: start the next pager of the user. */
static void pager_stop_locked(struct xiw_pager *pager)
{
	struct pager_user *user = pager->user;
	struct xiw_pager *next;

	lockdep_assert_held(&pager_lock);

	pager->active = false;
	next = list_first_entry_or_null(&user->ready, struct xiw_pager, ready);
	if (next) {
		list_del_init(&next->ready);
		queue_work(pager_wq, &next->work);
	} else {
		user->active--;
	}
	pager_start_locked(pager);
}

static void pager_add_job_locked(struct xiw_pager *pager,
				 struct xiw_pager_job *job)
{
	lockdep_assert_held(&pager_lock);

	job->pager = pager;
	list_add_tail(&job->node, &pager->jobs);
	pager->num_jobs++;
}

static void pager_remove_job_locked(struct xiw_pager_job *job)
{
	lockdep_assert_held(&pager_lock);

	list_del_init(&job->node);
	job->pager->num_jobs--;
}

static struct xiw_pager_job *pager_next_job(struct xiw_pager *pager)
{
	struct xiw_pager_job *job;

	spin_lock_bh(&pager_lock);
	job = list_first_entry_or_null(&pager->jobs, struct xiw_pager_job,
				       node);
	if (job)
		pager_remove_job_locked(job);
	spin_unlock_bh(&pager_lock);
	return job;
}

static void pager_work(struct work_struct *work)
{
	struct xiw_pager *pager = container_of(work, struct xiw_pager, work);
	struct xiw_pager_job *job = pager_next_job(pager);
	bool again = job && job->run(job);

	spin_lock_bh(&pager_lock);
	/* Other jobs need not wait for a long one. */
	if (again)
		pager_add_job_locked(pager, job);
	pager_stop_locked(pager);
	spin_unlock_bh(&pager_lock);

	xiw_pager_put(pager);
	/* Unloading the module waits for the return of this function. */
	module_put(THIS_MODULE);
}

static struct pager_user *pager_find_user(const struct pager_user *key)
{
	struct pager_user *user;

	list_for_each_entry(user, &pager_users, node)
		if (user->ns == key->ns &&
		    (key->ns || uid_eq(user->uid, key->uid)))
			return user;
	return NULL;
}

static struct xiw_pager *pager_find(const struct mm_struct *mm)
{
	struct xiw_pager *pager;

	list_for_each_entry(pager, &pager_list, node)
		if (pager->mm == mm)
			return pager;
	return NULL;
}

/* Adds a new pager; @user is used if the user has no pager yet. */
static void pager_add_locked(struct xiw_pager *pager, struct pager_user **user)
{
	struct pager_user *old = pager_find_user(*user);

	lockdep_assert_held(&pager_lock);

	if (!old) {
		old = *user;
		*user = NULL;
		list_add(&old->node, &pager_users);
	}
	old->pagers++;
	pager->user = old;
	list_add(&pager->node, &pager_list);
}

/*
 * The user that is accountable for this process: in a user namespace its owner
 * outside of it, as a user may have many IDs inside. A daemon of root makes the
 * namespaces of all containers, so these are accountable themselves.
 */
static struct pager_user *pager_alloc_user(void)
{
	struct user_namespace *ns = current_user_ns();
	struct pager_user *user;

	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	INIT_LIST_HEAD(&user->ready);
	user->uid = current_uid();
	if (ns == &init_user_ns)
		return user;
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	user->uid = ns->owner;
	if (uid_eq(ns->owner, GLOBAL_ROOT_UID))
		user->ns = get_user_ns(ns);
	return user;
}

static void pager_free_user(struct pager_user *user)
{
	if (user && user->ns)
		put_user_ns(user->ns);
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
	spin_lock_bh(&pager_lock);
	pager = pager_find(current->mm);
	if (!pager) {
		pager = new;
		new = NULL;
		/* No other process gets this address while the pager exists. */
		mmgrab(pager->mm);
		pager_add_locked(pager, &user);
	}
	pager->refs++;
	spin_unlock_bh(&pager_lock);
	kfree(new);
	pager_free_user(user);
	return pager;
}

/* Drops a reference. Sleeps. */
void xiw_pager_put(struct xiw_pager *pager)
{
	struct pager_user *user = NULL;

	spin_lock_bh(&pager_lock);
	if (--pager->refs) {
		spin_unlock_bh(&pager_lock);
		return;
	}
	list_del(&pager->node);
	if (!--pager->user->pagers) {
		user = pager->user;
		list_del(&user->node);
	}
	spin_unlock_bh(&pager_lock);
	mmdrop(pager->mm);
	pager_free_user(user);
	/* Its work may be calling this; it does not use the pager again. */
	kfree(pager);
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

	spin_lock_bh(&pager_lock);
	if (!limit || pager->num_jobs < limit) {
		queued = true;
		pager_add_job_locked(pager, job);
		pager_start_locked(pager);
	}
	spin_unlock_bh(&pager_lock);
	return queued;
}

/*
 * Removes a job that has been queued once. False if it is running or has run.
 * Any context.
 */
bool xiw_pager_cancel(struct xiw_pager_job *job)
{
	bool queued;

	spin_lock_bh(&pager_lock);
	queued = !list_empty(&job->node);
	if (queued)
		pager_remove_job_locked(job);
	spin_unlock_bh(&pager_lock);
	return queued;
}
