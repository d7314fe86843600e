/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * State machine of a queue pair that is connected out of band, see sections
 * 4.6, 6 and 7 of Documentation/oob.rst.
 */
#ifndef _XIW_OOBSTATE_H
#define _XIW_OOBSTATE_H

#include "pure.h"

/**
 * enum xiw_oob_state - out-of-band state of a queue pair
 * @XIW_OOBS_IDLE: no peer was named
 * @XIW_OOBS_PATH_SET: a peer was named, the stream is not established
 * @XIW_OOBS_ESTABLISHED: the stream is established; there will be no other one
 * @XIW_OOBS_PEER_GONE: the stream has ended without an error: a request that
 *	cannot be sent fails after its wait, and nothing else is flushed
 * @XIW_OOBS_VOID: the connection counts as never established: the PSNs differ,
 *	or it was lost unused
 * @XIW_OOBS_ROLLBACK: a connection that was never established is rolled back
 * @XIW_OOBS_ROLLBACK_DEAD: as ROLLBACK, and the queue pair ends afterwards
 * @XIW_OOBS_DEAD_EARLY: everything is flushed, no stream was ever established
 * @XIW_OOBS_DEAD: everything is flushed
 * @XIW_OOBS_COUNT: number of states, not a state
 */
enum xiw_oob_state {
	XIW_OOBS_IDLE,
	XIW_OOBS_PATH_SET,
	XIW_OOBS_ESTABLISHED,
	XIW_OOBS_PEER_GONE,
	XIW_OOBS_VOID,
	XIW_OOBS_ROLLBACK,
	XIW_OOBS_ROLLBACK_DEAD,
	XIW_OOBS_DEAD_EARLY,
	XIW_OOBS_DEAD,
	XIW_OOBS_COUNT
};

/**
 * enum xiw_oob_event - events of the state machine
 * @XIW_OOBE_NAME: a change to RTR names a peer
 * @XIW_OOBE_ESTABLISH: the stream is established
 * @XIW_OOBE_FAULT: a fault of either side has ended the stream
 * @XIW_OOBE_LOSE: the peer, or TCP, has ended the stream
 * @XIW_OOBE_LOSE_UNUSED: TCP has lost the stream of an Initiator that had sent
 *	nothing but its first FPDU, and received nothing: the Responder may lack
 *	even that
 * @XIW_OOBE_END: the ULP, or an expired wait, ends the queue pair
 * @XIW_OOBE_MISMATCH: the PSNs differ
 * @XIW_OOBE_ROLL_BACK: begin a rollback, if the stream was never established
 * @XIW_OOBE_ROLLED_BACK: the rollback is complete
 * @XIW_OOBE_STOP_WAIT: a reset begins, nothing waits for an answer any more
 * @XIW_OOBE_COUNT: number of events, not an event
 */
enum xiw_oob_event {
	XIW_OOBE_NAME,
	XIW_OOBE_ESTABLISH,
	XIW_OOBE_FAULT,
	XIW_OOBE_LOSE,
	XIW_OOBE_LOSE_UNUSED,
	XIW_OOBE_END,
	XIW_OOBE_MISMATCH,
	XIW_OOBE_ROLL_BACK,
	XIW_OOBE_ROLLED_BACK,
	XIW_OOBE_STOP_WAIT,
	XIW_OOBE_COUNT
};

/* @state if the event has no effect, and for values outside the enumerations */
enum xiw_oob_state xiw_oobstate_next(enum xiw_oob_state state,
				     enum xiw_oob_event event);

/* Everything is flushed until the reset. */
static inline bool xiw_oobstate_is_dead(enum xiw_oob_state state)
{
	return state >= XIW_OOBS_ROLLBACK_DEAD;
}

static inline bool xiw_oobstate_is_rollback(enum xiw_oob_state state)
{
	return state == XIW_OOBS_ROLLBACK || state == XIW_OOBS_ROLLBACK_DEAD;
}

/* True while the stream is established, and afterwards */
static inline bool xiw_oobstate_was_established(enum xiw_oob_state state)
{
	return state == XIW_OOBS_ESTABLISHED || state == XIW_OOBS_PEER_GONE ||
	       state == XIW_OOBS_DEAD;
}

/*
 * The connection can be rolled back: it was never established, and is not dead.
 */
static inline bool xiw_oobstate_is_tentative(enum xiw_oob_state state)
{
	return state == XIW_OOBS_PATH_SET || state == XIW_OOBS_VOID ||
	       state == XIW_OOBS_ROLLBACK;
}

#endif /* _XIW_OOBSTATE_H */
