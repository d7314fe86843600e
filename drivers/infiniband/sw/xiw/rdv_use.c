// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The retry timer of a queue pair that is connected out of band: how long its
 * requests wait for the stream, or for an answer of a peer that has gone.
 *
 * DOC: a peer whose end was silent
 *
 * On RoCE the end of the peer is not reported. Later requests are sent again
 * until the retries are used up, and only then fail. Programs rely on that
 * time, as they do not end simultaneously: a request that the peer did not wait
 * for must not fail before the program that posted it ends, too.
 * So requests wait here, although no answer is possible. Before RTS the number
 * of retries is not known yet, and they do not wait.
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
 * xiw_rdv_await() - start the retry timer for what was posted
 * @use: out-of-band state of a queue pair
 * @what: purpose; nothing happens if @use does not wait for that any more, or
 *	if the timer already runs for it
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
		/* Under the lock, as xiw_rdv_give_up() checks "armed". */
		wait = msecs_to_jiffies(rdv_use_wait_ms(use, what));
		use->armed = what;
		use->due = jiffies + wait;
		/* The work may be queued for the other purpose. */
		queued = !mod_delayed_work(system_dfl_wq, &use->expire, wait);
	}
	spin_unlock_irqrestore(&use->lock, flags);
	return queued;
}
