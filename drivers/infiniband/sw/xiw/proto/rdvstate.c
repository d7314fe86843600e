// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * State machine of a queue pair that is connected out of band.  An event that
 * is not listed has no effect.  The reset, in any state, leads to
 * XIW_RDVS_IDLE.
 */
#include "rdvstate.h"

/* Rows without an entry for an event keep the state: 0 stands for that. */
static const u8 next_state[XIW_RDVS_COUNT][XIW_RDVE_COUNT] = {
	[XIW_RDVS_IDLE] = {
		[XIW_RDVE_NAME]		= XIW_RDVS_PATH_SET,
	},
	[XIW_RDVS_PATH_SET] = {
		[XIW_RDVE_ESTABLISH]	= XIW_RDVS_ESTABLISHED,
		[XIW_RDVE_END]		= XIW_RDVS_DEAD_EARLY,
		[XIW_RDVE_MISMATCH]	= XIW_RDVS_BAD_PSN,
		[XIW_RDVE_ROLL_BACK]	= XIW_RDVS_ROLLBACK,
	},
	[XIW_RDVS_ESTABLISHED] = {
		[XIW_RDVE_FAULT]	= XIW_RDVS_DEAD,
		[XIW_RDVE_LOSE]		= XIW_RDVS_PEER_GONE,
		[XIW_RDVE_END]		= XIW_RDVS_DEAD,
		[XIW_RDVE_MISMATCH]	= XIW_RDVS_BAD_PSN,
	},
	[XIW_RDVS_PEER_GONE] = {
		[XIW_RDVE_END]		= XIW_RDVS_DEAD,
		[XIW_RDVE_MISMATCH]	= XIW_RDVS_BAD_PSN,
		[XIW_RDVE_STOP_WAIT]	= XIW_RDVS_ESTABLISHED,
	},
	[XIW_RDVS_BAD_PSN] = {
		[XIW_RDVE_END]		= XIW_RDVS_DEAD_EARLY,
		[XIW_RDVE_ROLL_BACK]	= XIW_RDVS_ROLLBACK,
	},
	[XIW_RDVS_ROLLBACK] = {
		[XIW_RDVE_END]		= XIW_RDVS_ROLLBACK_DEAD,
		[XIW_RDVE_ROLLED_BACK]	= XIW_RDVS_PATH_SET,
	},
	[XIW_RDVS_ROLLBACK_DEAD] = {
		[XIW_RDVE_ROLLED_BACK]	= XIW_RDVS_DEAD_EARLY,
	},
	[XIW_RDVS_DEAD_EARLY] = {
		/* The first FPDU has arrived at the same time. */
		[XIW_RDVE_ESTABLISH]	= XIW_RDVS_DEAD,
	},
};

enum xiw_rdv_state xiw_rdvstate_next(enum xiw_rdv_state state,
				     enum xiw_rdv_event event)
{
	if ((unsigned int)state >= XIW_RDVS_COUNT ||
	    (unsigned int)event >= XIW_RDVE_COUNT || !next_state[state][event])
		return state;
	return next_state[state][event];
}
