// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What was posted to a queue pair whose peer has gone.
 *
 * DOC: a peer whose end was silent
 *
 * On RoCE nobody hears of the peer's end. What is posted afterwards is sent
 * again and again and fails when the retries are used up. Programs rely on
 * that time, as they end one after the other: what one of them still has under
 * way, which the other one did not wait for, does not fail before it ends, too.
 * So it waits here, although it is known that nothing will come.
 */
#include "rdv_use.h"

#include <linux/jiffies.h>

/**
 * xiw_rdv_await_answer() - a request waits for a peer whose end was silent
 * @use: use of a queue pair
 *
 * The first one begins the time; the others came later.
 *
 * Context: Any.
 * Return: true if @use->expire was queued, with the caller's reference to the
 * queue pair.
 */
bool xiw_rdv_await_answer(struct xiw_rdv_use *use)
{
	unsigned long flags;
	bool queued = false;
	u32 ms;

	spin_lock_irqsave(&use->lock, flags);
	if (READ_ONCE(use->gone) && use->armed != XIW_RDV_ANSWER) {
		use->armed = XIW_RDV_ANSWER;
		ms = xiw_rdv_retry_ms(READ_ONCE(use->timeout),
				      READ_ONCE(use->retry_cnt));
		/* It may be queued since the stream was waited for. */
		queued = !mod_delayed_work(system_dfl_wq, &use->expire,
					   msecs_to_jiffies(ms));
	}
	spin_unlock_irqrestore(&use->lock, flags);
	return queued;
}
