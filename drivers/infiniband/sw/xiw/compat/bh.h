/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Work that runs from a bottom half, on a CPU of the caller's choice: an item
 * for system_bh_wq, or a tasklet where workqueues have no bottom halves.
 */
#ifndef _XIW_COMPAT_BH_H
#define _XIW_COMPAT_BH_H

#include <linux/workqueue.h>

#ifdef XIW_HAVE_SYSTEM_BH_WQ

#define xiw_bh_work			work_struct
#define xiw_bh_init(work, fn)		INIT_WORK(work, fn)
#define xiw_bh_queue_on(cpu, work)	queue_work_on(cpu, system_bh_wq, work)
#define xiw_bh_cancel_sync(work)	cancel_work_sync(work)

#else

#include <linux/interrupt.h>
#include <linux/smp.h>
#include <linux/wait_bit.h>

/**
 * struct xiw_bh_work - a function to be called from a bottom half
 * @tasklet: calls it, never twice at a time
 * @csd: schedules @tasklet on another CPU
 * @in_flight: bit 0: @csd is on its way
 * @fn: the function
 */
struct xiw_bh_work {
	struct tasklet_struct tasklet;
	call_single_data_t csd;
	unsigned long in_flight;
	void (*fn)(struct xiw_bh_work *work);
};

static inline void xiw_bh_run(struct tasklet_struct *tasklet)
{
	struct xiw_bh_work *work = from_tasklet(work, tasklet, tasklet);

	work->fn(work);
}

/* @work may be freed once the bit is clear; then only its address is used. */
static inline void xiw_bh_arrive(void *arg)
{
	struct xiw_bh_work *work = arg;

	tasklet_schedule(&work->tasklet);
	clear_bit_unlock(0, &work->in_flight);
	/* Pairs with the barrier of the waiter. */
	smp_mb__after_atomic();
	wake_up_var(&work->in_flight);
}

static inline void xiw_bh_init(struct xiw_bh_work *work,
			       void (*fn)(struct xiw_bh_work *work))
{
	tasklet_setup(&work->tasklet, xiw_bh_run);
	INIT_CSD(&work->csd, xiw_bh_arrive, work);
	work->in_flight = 0;
	work->fn = fn;
}

/*
 * Queues an item that is not queued already, on @cpu or WORK_CPU_UNBOUND. Any
 * context, with interrupts off if @cpu is another one.
 */
static inline void xiw_bh_queue_on(int cpu, struct xiw_bh_work *work)
{
	if (cpu == WORK_CPU_UNBOUND) {
		tasklet_schedule(&work->tasklet);
		return;
	}
	if (test_and_set_bit(0, &work->in_flight))
		return;
	if (smp_call_function_single_async(cpu, &work->csd))
		xiw_bh_arrive(work);
}

/* Waits until an item that is no longer queued is idle. Sleeps. */
static inline void xiw_bh_cancel_sync(struct xiw_bh_work *work)
{
	wait_var_event(&work->in_flight,
		       !test_bit_acquire(0, &work->in_flight));
	tasklet_kill(&work->tasklet);
}

#endif /* !XIW_HAVE_SYSTEM_BH_WQ */

#endif /* _XIW_COMPAT_BH_H */
