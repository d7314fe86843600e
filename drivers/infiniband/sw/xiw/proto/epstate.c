// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * State machine of a connection endpoint, around MPA startup (RFC 5044 section
 * 7.1, RFC 6581).  A pair of state and event that is not listed has no effect.
 */
#include "epstate.h"

static const u8 actions[XIW_EPS_COUNT][XIW_EPE_COUNT] = {
	[XIW_EPS_LISTEN] = {
		[XIW_EPE_SOCK]		= XIW_EPA_ACCEPT,
		[XIW_EPE_TIMER]		= XIW_EPA_ACCEPT,
		[XIW_EPE_KILL]		= XIW_EPA_UNLISTEN,
	},
	[XIW_EPS_PAUSE] = {
		[XIW_EPE_CLOSE]		= XIW_EPA_CANCEL,
		[XIW_EPE_TIMER]		= XIW_EPA_TRY,
		[XIW_EPE_KILL]		= XIW_EPA_CANCEL_KILL,
	},
	[XIW_EPS_CONNECTING] = {
		[XIW_EPE_CLOSE]		= XIW_EPA_CANCEL,
		[XIW_EPE_ABORT]		= XIW_EPA_CANCEL,
		[XIW_EPE_SOCK]		= XIW_EPA_CONNECTING,
		[XIW_EPE_REPLACED]	= XIW_EPA_LATE,
		[XIW_EPE_TIMER]		= XIW_EPA_LATE,
		[XIW_EPE_KILL]		= XIW_EPA_CANCEL_KILL,
	},
	[XIW_EPS_REPLY] = {
		[XIW_EPE_CLOSE]		= XIW_EPA_CANCEL,
		[XIW_EPE_ABORT]		= XIW_EPA_CANCEL,
		[XIW_EPE_SOCK]		= XIW_EPA_REPLY,
		[XIW_EPE_REPLACED]	= XIW_EPA_LATE,
		[XIW_EPE_TIMER]		= XIW_EPA_LATE,
		[XIW_EPE_KILL]		= XIW_EPA_CANCEL_KILL,
	},
	[XIW_EPS_REQUEST] = {
		[XIW_EPE_SOCK]		= XIW_EPA_REQUEST,
		[XIW_EPE_TIMER]		= XIW_EPA_NO_REQUEST,
		[XIW_EPE_KILL]		= XIW_EPA_DIE,
	},
	[XIW_EPS_READY] = {
		[XIW_EPE_SOCK]		= XIW_EPA_READY,
		[XIW_EPE_TIMER]		= XIW_EPA_READY_LATE,
		[XIW_EPE_KILL]		= XIW_EPA_DIE,
	},
	[XIW_EPS_PENDING] = {
		[XIW_EPE_SOCK]		= XIW_EPA_PENDING,
		[XIW_EPE_TIMER]		= XIW_EPA_NO_REQUEST,
		[XIW_EPE_KILL]		= XIW_EPA_DIE,
	},
	[XIW_EPS_RTR] = {
		[XIW_EPE_FIRST_FPDU]	= XIW_EPA_ESTABLISHED,
		[XIW_EPE_SHUTDOWN]	= XIW_EPA_SHUTDOWN,
		[XIW_EPE_ABORT]		= XIW_EPA_ABORT,
		[XIW_EPE_CLOSE]		= XIW_EPA_CLOSE,
		[XIW_EPE_CLOSE_TIMER]	= XIW_EPA_START_CLOSE,
		[XIW_EPE_REPLACED]	= XIW_EPA_STALLED,
		[XIW_EPE_TIMER]		= XIW_EPA_STALLED,
		/* Unlike XIW_EPA_KILL, ABORT may roll back a connection. */
		[XIW_EPE_KILL]		= XIW_EPA_ABORT,
	},
	[XIW_EPS_OPEN] = {
		[XIW_EPE_SHUTDOWN]	= XIW_EPA_SHUTDOWN,
		[XIW_EPE_PEER_CLOSED]	= XIW_EPA_PEER_CLOSED,
		[XIW_EPE_ABORT]		= XIW_EPA_ABORT,
		[XIW_EPE_CLOSE]		= XIW_EPA_CLOSE,
		[XIW_EPE_CLOSE_TIMER]	= XIW_EPA_START_CLOSE,
		[XIW_EPE_TIMER]		= XIW_EPA_STALLED,
		[XIW_EPE_KILL]		= XIW_EPA_KILL,
	},
	[XIW_EPS_LINGER] = {
		[XIW_EPE_SOCK]		= XIW_EPA_LINGER,
		[XIW_EPE_TIMER]		= XIW_EPA_LINGER_LATE,
		[XIW_EPE_KILL]		= XIW_EPA_DIE,
	},
};

enum xiw_ep_action xiw_epstate_action(enum xiw_ep_state state,
				      enum xiw_ep_event event)
{
	if ((unsigned int)state >= XIW_EPS_COUNT ||
	    (unsigned int)event >= XIW_EPE_COUNT)
		return XIW_EPA_NONE;
	return actions[state][event];
}

#define STATE(state)	(1u << XIW_EPS_##state)

/* States of an Initiator before its connection is established */
#define INITIATOR	(STATE(PAUSE) | STATE(CONNECTING) | STATE(REPLY))

/* States that may follow, besides the same state and XIW_EPS_DEAD */
static const u32 followers[XIW_EPS_COUNT] = {
	[XIW_EPS_NEW]		= STATE(LISTEN) | STATE(REQUEST) | INITIATOR |
				  STATE(OPEN),
	[XIW_EPS_PAUSE]		= INITIATOR | STATE(OPEN),
	/* Over SCTP a connection that was refused lingers, too. */
	[XIW_EPS_CONNECTING]	= INITIATOR | STATE(OPEN) | STATE(LINGER),
	[XIW_EPS_REPLY]		= INITIATOR | STATE(OPEN) | STATE(LINGER),
	[XIW_EPS_REQUEST]	= STATE(READY) | STATE(PENDING) | STATE(RTR) |
				  STATE(LINGER),
	[XIW_EPS_READY]		= STATE(PENDING) | STATE(RTR) | STATE(LINGER),
	[XIW_EPS_PENDING]	= STATE(RTR) | STATE(OPEN) | STATE(LINGER),
	[XIW_EPS_RTR]		= STATE(OPEN) | STATE(LINGER),
	/* After a rollback, out of band, the Initiator connects again. */
	[XIW_EPS_OPEN]		= STATE(LINGER) | STATE(PAUSE),
};

bool xiw_epstate_follows(enum xiw_ep_state state, enum xiw_ep_state next)
{
	if ((unsigned int)state >= XIW_EPS_COUNT ||
	    (unsigned int)next >= XIW_EPS_COUNT || state == XIW_EPS_DEAD)
		return false;
	return next == state || next == XIW_EPS_DEAD ||
	       followers[state] & (1u << next);
}
