/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * State machine of a queue pair that is connected out of band, see sections
 * 4.6, 6 and 7 of Documentation/rendezvous.rst.
 */
#ifndef _XIW_RDVSTATE_H
#define _XIW_RDVSTATE_H

#include "pure.h"

/**
 * enum xiw_rdv_state - out-of-band state of a queue pair
 * @XIW_RDVS_IDLE: no peer was named
 * @XIW_RDVS_PATH_SET: a peer was named, the stream is not established
 * @XIW_RDVS_ESTABLISHED: the stream is established; there will be no other one
 * @XIW_RDVS_PEER_GONE: the stream has ended without an error: a request that
 *	cannot be sent fails after its wait, and nothing else is flushed
 * @XIW_RDVS_BAD_PSN: the PSNs differ: the connection was never established
 * @XIW_RDVS_ROLLBACK: a connection that was never established is rolled back
 * @XIW_RDVS_ROLLBACK_DEAD: the same, and the queue pair ends afterwards
 * @XIW_RDVS_DEAD_EARLY: everything is flushed, no stream was ever established
 * @XIW_RDVS_DEAD: everything is flushed
 * @XIW_RDVS_COUNT: number of states, not a state
 */
enum xiw_rdv_state {
	XIW_RDVS_IDLE,
	XIW_RDVS_PATH_SET,
	XIW_RDVS_ESTABLISHED,
	XIW_RDVS_PEER_GONE,
	XIW_RDVS_BAD_PSN,
	XIW_RDVS_ROLLBACK,
	XIW_RDVS_ROLLBACK_DEAD,
	XIW_RDVS_DEAD_EARLY,
	XIW_RDVS_DEAD,
	XIW_RDVS_COUNT
};

/**
 * enum xiw_rdv_event - events of the state machine
 * @XIW_RDVE_NAME: a change to RTR names a peer
 * @XIW_RDVE_ESTABLISH: the stream is established
 * @XIW_RDVE_FAULT: a fault of either side has ended the stream
 * @XIW_RDVE_LOSE: the peer, or TCP, has ended the stream
 * @XIW_RDVE_END: the ULP, or an expired wait, ends the queue pair
 * @XIW_RDVE_MISMATCH: the PSNs differ
 * @XIW_RDVE_ROLL_BACK: begin to roll back, if it was never established
 * @XIW_RDVE_ROLLED_BACK: that is done
 * @XIW_RDVE_STOP_WAIT: a reset begins, nothing waits for an answer any more
 * @XIW_RDVE_COUNT: number of events, not an event
 */
enum xiw_rdv_event {
	XIW_RDVE_NAME,
	XIW_RDVE_ESTABLISH,
	XIW_RDVE_FAULT,
	XIW_RDVE_LOSE,
	XIW_RDVE_END,
	XIW_RDVE_MISMATCH,
	XIW_RDVE_ROLL_BACK,
	XIW_RDVE_ROLLED_BACK,
	XIW_RDVE_STOP_WAIT,
	XIW_RDVE_COUNT
};

/* @state if the event has no effect, and for values outside the enumerations */
enum xiw_rdv_state xiw_rdvstate_next(enum xiw_rdv_state state,
				     enum xiw_rdv_event event);

/* Everything is flushed until the reset. */
static inline bool xiw_rdvstate_is_dead(enum xiw_rdv_state state)
{
	return state >= XIW_RDVS_ROLLBACK_DEAD;
}

static inline bool xiw_rdvstate_is_rollback(enum xiw_rdv_state state)
{
	return state == XIW_RDVS_ROLLBACK || state == XIW_RDVS_ROLLBACK_DEAD;
}

/* True while the stream is established, and afterwards */
static inline bool xiw_rdvstate_was_established(enum xiw_rdv_state state)
{
	return state == XIW_RDVS_ESTABLISHED || state == XIW_RDVS_PEER_GONE ||
	       state == XIW_RDVS_DEAD;
}

/*
 * The connection can be rolled back: it was never established, and is not dead.
 */
static inline bool xiw_rdvstate_is_tentative(enum xiw_rdv_state state)
{
	return state == XIW_RDVS_PATH_SET || state == XIW_RDVS_BAD_PSN ||
	       state == XIW_RDVS_ROLLBACK;
}

#endif /* _XIW_RDVSTATE_H */
