/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The life of a connection endpoint: its states, its events, and the action for
 * each pair of them. One table serves endpoints of rdma_cm and of out-of-band
 * connections: an action without a function of the user has no effect.
 */
#ifndef _XIW_EPSTATE_H
#define _XIW_EPSTATE_H

#include "pure.h"

/**
 * enum xiw_ep_state - life of an endpoint
 * @XIW_EPS_NEW: being set up, not armed
 * @XIW_EPS_LISTEN: listener
 * @XIW_EPS_PAUSE: Initiator, out of band, between two tries
 * @XIW_EPS_CONNECTING: Initiator, TCP is connecting
 * @XIW_EPS_REPLY: Initiator, Request sent, Reply awaited
 * @XIW_EPS_REQUEST: Responder, TCP connected, Request awaited
 * @XIW_EPS_READY: Responder, Request complete, not reported yet: an older
 *	Request of the same peer is to be reported first, or iw_cm has no room
 * @XIW_EPS_PENDING: Responder, iw_cm has the request, its answer is awaited
 * @XIW_EPS_RTR: Responder, Reply sent, first FPDU awaited
 * @XIW_EPS_OPEN: established
 * @XIW_EPS_LINGER: the end of the stream was reported and the QP detached; FIN
 *	sent, the peer's FIN awaited
 * @XIW_EPS_DEAD: all resources are released, references remain
 * @XIW_EPS_COUNT: number of states, not a state
 */
enum xiw_ep_state {
	XIW_EPS_NEW,
	XIW_EPS_LISTEN,
	XIW_EPS_PAUSE,
	XIW_EPS_CONNECTING,
	XIW_EPS_REPLY,
	XIW_EPS_REQUEST,
	XIW_EPS_READY,
	XIW_EPS_PENDING,
	XIW_EPS_RTR,
	XIW_EPS_OPEN,
	XIW_EPS_LINGER,
	XIW_EPS_DEAD,
	XIW_EPS_COUNT
};

/**
 * enum xiw_ep_event - events, in the order in which they are handled
 * @XIW_EPE_FIRST_FPDU: Responder: the QP has received a valid FPDU
 * @XIW_EPE_SHUTDOWN: the QP has passed all its data to the socket: send FIN
 * @XIW_EPE_PEER_CLOSED: the peer has closed gracefully; DISCONNECT may be
 *	reported to iw_cm
 * @XIW_EPE_ABORT: as CLOSE, but reset the connection at once. Before CLOSE, so
 *	that a fault resets even if the ULP closes at the same time
 * @XIW_EPE_CLOSE: the stream has ended: stop the QP's data path, flush it,
 *	report CLOSE to iw_cm, close the socket gracefully (FIN, discard
 *	received data until the peer's FIN or the linger timer, then release)
 * @XIW_EPE_CLOSE_TIMER: start the timer that aborts a stalled graceful close
 * @XIW_EPE_SOCK: check the socket, and whatever else the state waits for
 * @XIW_EPE_REPLACED: out of band, before the first FPDU: as TIMER, as another
 *	Request is to replace this one, or an administrator ends all of them
 * @XIW_EPE_TIMER: the endpoint's timer expired
 * @XIW_EPE_KILL: the device, the listener or the namespace ends
 * @XIW_EPE_COUNT: number of events, not an event
 */
enum xiw_ep_event {
	XIW_EPE_FIRST_FPDU,
	XIW_EPE_SHUTDOWN,
	XIW_EPE_PEER_CLOSED,
	XIW_EPE_ABORT,
	XIW_EPE_CLOSE,
	XIW_EPE_CLOSE_TIMER,
	XIW_EPE_SOCK,
	XIW_EPE_REPLACED,
	XIW_EPE_TIMER,
	XIW_EPE_KILL,
	XIW_EPE_COUNT
};

/**
 * enum xiw_ep_action - response to an event
 * @XIW_EPA_NONE: no effect: the event is late, or without meaning here
 * @XIW_EPA_DIE: end at once, without a report
 * @XIW_EPA_ACCEPT: accept connections from TCP
 * @XIW_EPA_UNLISTEN: end a listener, and its children that were not delivered
 * @XIW_EPA_TRY: Initiator: connect TCP, for the first time or again
 * @XIW_EPA_CONNECTING: Initiator: proceed if TCP has connected, or has failed
 * @XIW_EPA_REPLY: Initiator: proceed if the Reply is complete
 * @XIW_EPA_LATE: Initiator: TCP or the Reply took too long
 * @XIW_EPA_CANCEL: Initiator: the QP is being closed, or has failed
 * @XIW_EPA_CANCEL_KILL: Initiator: the device is removed
 * @XIW_EPA_REQUEST: Responder: proceed if the Request is complete
 * @XIW_EPA_NO_REQUEST: Responder: the Request, or its answer, took too long
 * @XIW_EPA_READY: Responder: report the Request, or answer it, if possible now
 * @XIW_EPA_READY_LATE: Responder: it was not reported or answered in time
 * @XIW_EPA_PENDING: Responder: check that the peer is silent, and connected
 * @XIW_EPA_ESTABLISHED: Responder: the first FPDU has arrived
 * @XIW_EPA_SHUTDOWN: send FIN
 * @XIW_EPA_PEER_CLOSED: report that the peer will send nothing more
 * @XIW_EPA_START_CLOSE: start the timer of a graceful close
 * @XIW_EPA_STALLED: the first FPDU, or a close without progress, took too long
 * @XIW_EPA_CLOSE: end the stream, and close the connection gracefully
 * @XIW_EPA_ABORT: end the stream, and reset the connection
 * @XIW_EPA_KILL: as XIW_EPA_ABORT, because the device is removed
 * @XIW_EPA_LINGER: discard received data; release the socket after the FIN
 * @XIW_EPA_LINGER_LATE: release the socket unless the peer makes progress
 * @XIW_EPA_COUNT: number of actions, not an action
 */
enum xiw_ep_action {
	XIW_EPA_NONE,
	XIW_EPA_DIE,
	XIW_EPA_ACCEPT,
	XIW_EPA_UNLISTEN,
	XIW_EPA_TRY,
	XIW_EPA_CONNECTING,
	XIW_EPA_REPLY,
	XIW_EPA_LATE,
	XIW_EPA_CANCEL,
	XIW_EPA_CANCEL_KILL,
	XIW_EPA_REQUEST,
	XIW_EPA_NO_REQUEST,
	XIW_EPA_READY,
	XIW_EPA_READY_LATE,
	XIW_EPA_PENDING,
	XIW_EPA_ESTABLISHED,
	XIW_EPA_SHUTDOWN,
	XIW_EPA_PEER_CLOSED,
	XIW_EPA_START_CLOSE,
	XIW_EPA_STALLED,
	XIW_EPA_CLOSE,
	XIW_EPA_ABORT,
	XIW_EPA_KILL,
	XIW_EPA_LINGER,
	XIW_EPA_LINGER_LATE,
	XIW_EPA_COUNT
};

/* XIW_EPA_NONE for values outside the enumerations */
enum xiw_ep_action xiw_epstate_action(enum xiw_ep_state state,
				      enum xiw_ep_event event);

/* May an action, or a call of iw_cm, lead from @state to @next? */
bool xiw_epstate_follows(enum xiw_ep_state state, enum xiw_ep_state next);

#endif /* _XIW_EPSTATE_H */
