/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The life of an endpoint: its states, and what can happen to it.
 */
#ifndef _XIW_EP_STATE_H
#define _XIW_EP_STATE_H

/**
 * enum xiw_ep_state - life of an endpoint
 * @XIW_EPS_NEW: being set up, not armed
 * @XIW_EPS_LISTEN: listener
 * @XIW_EPS_PAUSE: Initiator by number, between two tries
 * @XIW_EPS_CONNECTING: Initiator, TCP is connecting
 * @XIW_EPS_REPLY: Initiator, Request sent, Reply awaited
 * @XIW_EPS_REQUEST: Responder, TCP connected, Request awaited
 * @XIW_EPS_READY: Responder, Request complete, that of an older one awaited, or
 *	room in iw_cm
 * @XIW_EPS_PENDING: Responder, iw_cm has the request, its answer is awaited
 * @XIW_EPS_RTR: Responder, Reply sent, first FPDU awaited
 * @XIW_EPS_OPEN: established
 * @XIW_EPS_LINGER: over for iw_cm and the QP; FIN sent, the peer's awaited
 * @XIW_EPS_DEAD: nothing left but references
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
 * enum xiw_ep_event - what can happen to it, in the order of handling
 * @XIW_EPE_FIRST_FPDU: Responder: the QP has received a valid FPDU
 * @XIW_EPE_SHUTDOWN: everything that the QP has to send is in the socket: send
 *	FIN
 * @XIW_EPE_PEER_CLOSED: the peer closed in good order; iw_cm may hear
 *	DISCONNECT
 * @XIW_EPE_ABORT: as CLOSE, but reset the connection at once; before CLOSE, so
 *	that a consumer that gives up does not make an orderly end of a fault
 * @XIW_EPE_LOST: the lower layer is gone; as ABORT, with nothing left to reset
 * @XIW_EPE_CLOSE: the stream is over: stop the QP's data path, flush it, tell
 *	iw_cm CLOSE, close the socket gracefully (FIN, discard what arrives
 *	until the peer's FIN or the linger timer, then release)
 * @XIW_EPE_CLOSE_TIMER: start the timer that turns a stalled graceful close
 *	into ABORT
 * @XIW_EPE_SOCK: something happened at the socket, or may have
 * @XIW_EPE_ACCEPT: iw_cm accepts; never left as a bit, see xiw_ep_command()
 * @XIW_EPE_REJECT: iw_cm rejects, likewise
 * @XIW_EPE_REPLACED: another Request wants the place of a connection by number
 *	whose first FPDU has not come; or an administrator wants none of those
 * @XIW_EPE_TIMER: the endpoint's timer expired
 * @XIW_EPE_KILL: end everything now: device, listener or namespace goes
 * @XIW_EPE_COUNT: number of events, not an event
 */
enum xiw_ep_event {
	XIW_EPE_FIRST_FPDU,
	XIW_EPE_SHUTDOWN,
	XIW_EPE_PEER_CLOSED,
	XIW_EPE_ABORT,
	XIW_EPE_LOST,
	XIW_EPE_CLOSE,
	XIW_EPE_CLOSE_TIMER,
	XIW_EPE_SOCK,
	XIW_EPE_ACCEPT,
	XIW_EPE_REJECT,
	XIW_EPE_REPLACED,
	XIW_EPE_TIMER,
	XIW_EPE_KILL,
	XIW_EPE_COUNT
};

#endif /* _XIW_EP_STATE_H */
