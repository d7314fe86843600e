/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _XIW_QPSTATE_H
#define _XIW_QPSTATE_H

#include "pure.h"

/**
 * enum xiw_qp_state - state of the RDMA stream of a queue pair
 * @XIW_QPS_IDLE: no stream yet
 * @XIW_QPS_RTS: full operation
 * @XIW_QPS_CLOSING: graceful close; either side sent a FIN or is about to,
 *	data still in flight is processed
 * @XIW_QPS_TERMINATE: a Terminate is being sent or was sent, the receive side
 *	is drained and dropped until the connection ends
 * @XIW_QPS_ERROR: everything posted is flushed; the connection is gone or
 *	is being closed
 * @XIW_QPS_COUNT: number of states, not a state
 */
enum xiw_qp_state {
	XIW_QPS_IDLE,
	XIW_QPS_RTS,
	XIW_QPS_CLOSING,
	XIW_QPS_TERMINATE,
	XIW_QPS_ERROR,
	XIW_QPS_COUNT
};

/**
 * enum xiw_qp_event - events of the state machine
 * @XIW_QPE_CONNECT: MPA negotiation finished, the stream begins
 * @XIW_QPE_LOCAL_CLOSE: the ULP requests a graceful close
 * @XIW_QPE_LOCAL_ERROR: the ULP moves the queue pair to the error state
 * @XIW_QPE_PEER_FIN: FIN on an FPDU boundary with nothing outstanding
 * @XIW_QPE_PEER_FIN_DIRTY: FIN inside an FPDU or message, or with Reads or
 *	Atomics outstanding
 * @XIW_QPE_LLP_LOST: reset, timeout or another sudden end of the connection
 * @XIW_QPE_LLP_CLOSED: FINs were sent and received
 * @XIW_QPE_FAULT: this side found a fault that calls for a Terminate
 * @XIW_QPE_FAULT_SILENT: this side found a fault and must not send a
 *	Terminate: a malformed Terminate, or the transmit fence is still set
 * @XIW_QPE_TERM_SENT: TCP accepted the last byte of the Terminate
 * @XIW_QPE_TERM_RECEIVED: a Terminate was delivered
 * @XIW_QPE_CLOSE_TIMEOUT: the timer of XIW_QPA_ARM_TIMER expired
 * @XIW_QPE_RESET: the ULP resets the queue pair
 * @XIW_QPE_COUNT: number of events, not an event
 */
enum xiw_qp_event {
	XIW_QPE_CONNECT,
	XIW_QPE_LOCAL_CLOSE,
	XIW_QPE_LOCAL_ERROR,
	XIW_QPE_PEER_FIN,
	XIW_QPE_PEER_FIN_DIRTY,
	XIW_QPE_LLP_LOST,
	XIW_QPE_LLP_CLOSED,
	XIW_QPE_FAULT,
	XIW_QPE_FAULT_SILENT,
	XIW_QPE_TERM_SENT,
	XIW_QPE_TERM_RECEIVED,
	XIW_QPE_CLOSE_TIMEOUT,
	XIW_QPE_RESET,
	XIW_QPE_COUNT
};

/*
 * Actions, in the order of their execution.  Each is idempotent: the table may
 * request one that was already done, for instance to end a connection that is
 * gone.
 */
#define XIW_QPA_SEND_TERM	0x001	/* queue the Terminate, nothing after */
#define XIW_QPA_SHUTDOWN	0x002	/* FIN behind what was queued */
#define XIW_QPA_ABORT		0x004	/* end the TCP connection now */
#define XIW_QPA_ARM_TIMER	0x008	/* limit the wait for the peer */
#define XIW_QPA_FLUSH_SQ	0x010	/* complete all sends in error */
#define XIW_QPA_FLUSH_RQ	0x020	/* complete all receives in error */
#define XIW_QPA_EVENT_FATAL	0x040	/* raise the async event of the fault */
#define XIW_QPA_DISCONNECT	0x080	/* CM event: disconnecting */
#define XIW_QPA_CLOSE		0x100	/* CM event: connection closed */

#define XIW_QPA_FLUSH		(XIW_QPA_FLUSH_SQ | XIW_QPA_FLUSH_RQ)

/**
 * struct xiw_qp_step - one transition
 * @legal: the event may occur in the state; false means a broken invariant
 *	or a wrong request of the ULP, and nothing must change
 * @next: state to enter
 * @actions: mask of XIW_QPA_*
 */
struct xiw_qp_step {
	bool legal;
	enum xiw_qp_state next;
	u32 actions;
};

/* Illegal for values outside the enumerations */
struct xiw_qp_step xiw_qpstate_step(enum xiw_qp_state state,
				    enum xiw_qp_event event);

#endif /* _XIW_QPSTATE_H */
