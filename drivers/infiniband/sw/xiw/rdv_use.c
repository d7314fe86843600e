// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How long what was posted to a queue pair that is connected by number waits:
 * for its stream, or for an answer of a peer that has gone.
 *
 * DOC: a peer whose end was silent
 *
 * On RoCE nobody hears of the peer's end. What is posted afterwards is sent
 * again and again and fails when the retries are used up. Programs rely on
 * that time, as they end one after the other: what one of them still has under
 * way, which the other one did not wait for, does not fail before it ends, too.
 * So it waits here, although it is known that nothing will come. Before RTS
 * nothing is known of retries, and it does not wait.
 */
#include "rdv_use.h"

#include <linux/jiffies.h>

static bool rdv_use_is_awaited(const struct xiw_rdv_use *use,
			       enum xiw_rdv_timer what)
{
	return what == XIW_RDV_STREAM ? READ_ONCE(use->waits) :
					READ_ONCE(use->gone);
}

static u32 rdv_use_wait_ms(const struct xiw_rdv_use *use,
			   enum xiw_rdv_timer what)
{
	if (what == XIW_RDV_ANSWER)
		return READ_ONCE(use->answer_ms);
	if (use->final)
		return 0;
	return xiw_rdv_wait_ms(READ_ONCE(use->timeout),
			       READ_ONCE(use->retry_cnt));
}

/**
 * xiw_rdv_await() - a request waits
 * @use: use of a queue pair
 * @what: for what; nothing happens if nobody waits for that any more, or
 *	something that was posted before does
 *
 * Context: Any.
 * Return: true if @use->expire was queued, with the caller's reference to the
 * queue pair.
 */
bool xiw_rdv_await(struct xiw_rdv_use *use, enum xiw_rdv_timer what)
{
	unsigned long flags;
	bool queued = false;
	unsigned long wait;

	spin_lock_irqsave(&use->lock, flags);
	if (rdv_use_is_awaited(use, what) && use->armed != what) {
		/* Here, as whoever gives up looks whether it is armed. */
		wait = msecs_to_jiffies(rdv_use_wait_ms(use, what));
		use->armed = what;
		use->due = jiffies + wait;
		/* It may be queued for the other one. */
		queued = !mod_delayed_work(system_dfl_wq, &use->expire, wait);
	}
	spin_unlock_irqrestore(&use->lock, flags);
	return queued;
}
