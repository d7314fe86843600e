// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * State machine of a queue pair that is connected out of band.  An event that
 * is not listed has no effect.  The reset, in any state, leads to
 * XIW_OOBS_IDLE.
 */
#include "oobstate.h"

/* Rows without an entry for an event keep the state: 0 stands for that. */
static const u8 next_state[XIW_OOBS_COUNT][XIW_OOBE_COUNT] = {
	[XIW_OOBS_IDLE] = {
		[XIW_OOBE_NAME]		= XIW_OOBS_PATH_SET,
	},
	[XIW_OOBS_PATH_SET] = {
		[XIW_OOBE_ESTABLISH]	= XIW_OOBS_ESTABLISHED,
		[XIW_OOBE_END]		= XIW_OOBS_DEAD_EARLY,
		[XIW_OOBE_MISMATCH]	= XIW_OOBS_VOID,
		[XIW_OOBE_ROLL_BACK]	= XIW_OOBS_ROLLBACK,
	},
	[XIW_OOBS_ESTABLISHED] = {
		[XIW_OOBE_FAULT]	= XIW_OOBS_DEAD,
		[XIW_OOBE_LOSE]		= XIW_OOBS_PEER_GONE,
		[XIW_OOBE_LOSE_UNUSED]	= XIW_OOBS_VOID,
		[XIW_OOBE_END]		= XIW_OOBS_DEAD,
		[XIW_OOBE_MISMATCH]	= XIW_OOBS_VOID,
	},
	[XIW_OOBS_PEER_GONE] = {
		[XIW_OOBE_END]		= XIW_OOBS_DEAD,
		[XIW_OOBE_MISMATCH]	= XIW_OOBS_VOID,
		[XIW_OOBE_STOP_WAIT]	= XIW_OOBS_ESTABLISHED,
	},
	[XIW_OOBS_VOID] = {
		[XIW_OOBE_END]		= XIW_OOBS_DEAD_EARLY,
		[XIW_OOBE_ROLL_BACK]	= XIW_OOBS_ROLLBACK,
	},
	[XIW_OOBS_ROLLBACK] = {
		[XIW_OOBE_END]		= XIW_OOBS_ROLLBACK_DEAD,
		[XIW_OOBE_ROLLED_BACK]	= XIW_OOBS_PATH_SET,
	},
	[XIW_OOBS_ROLLBACK_DEAD] = {
		[XIW_OOBE_ROLLED_BACK]	= XIW_OOBS_DEAD_EARLY,
	},
	[XIW_OOBS_DEAD_EARLY] = {
		/* The first FPDU has arrived while the queue pair was ended. */
		[XIW_OOBE_ESTABLISH]	= XIW_OOBS_DEAD,
	},
};

enum xiw_oob_state xiw_oobstate_next(enum xiw_oob_state state,
				     enum xiw_oob_event event)
{
	if ((unsigned int)state >= XIW_OOBS_COUNT ||
	    (unsigned int)event >= XIW_OOBE_COUNT || !next_state[state][event])
		return state;
	return next_state[state][event];
}
