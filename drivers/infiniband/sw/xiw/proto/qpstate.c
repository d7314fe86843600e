// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * State machine of an RDMA stream.  RFC 5040 section 6.2 defines three ways to
 * end it: gracefully, with a Terminate, and by loss of the connection.  Pairs
 * that are not listed are illegal.
 */
#include "qpstate.h"

#define GO(state, todo) \
	{ .legal = true, .next = XIW_QPS_##state, .actions = (todo) }
#define STAY(state)	GO(state, 0)

#define GONE		(XIW_QPA_ABORT | XIW_QPA_FLUSH | XIW_QPA_CLOSE)
#define END		(XIW_QPA_ABORT | XIW_QPA_CLOSE)

#define GONE_FATAL	(GONE | XIW_QPA_EVENT_FATAL)

/* Local error: no abort, TCP still sends data of completed requests. */
#define GAVE_UP		(XIW_QPA_FLUSH | XIW_QPA_CLOSE)

/* Terminate received: flush at once, close TCP gracefully. */
#define TERMINATED	(XIW_QPA_SHUTDOWN | XIW_QPA_ARM_TIMER | \
			 XIW_QPA_FLUSH | XIW_QPA_EVENT_FATAL | \
			 XIW_QPA_DISCONNECT)

/* Send a Terminate and end the stream. */
#define FAULT		GO(TERMINATE, XIW_QPA_SEND_TERM | XIW_QPA_ARM_TIMER | \
				      XIW_QPA_FLUSH | XIW_QPA_EVENT_FATAL | \
				      XIW_QPA_DISCONNECT)

static const struct xiw_qp_step steps[XIW_QPS_COUNT][XIW_QPE_COUNT] = {
	[XIW_QPS_IDLE] = {
		[XIW_QPE_CONNECT]	 = STAY(RTS),
		/* Ends an MPA negotiation that owns the QP. */
		[XIW_QPE_LOCAL_ERROR]	 = GO(ERROR, GAVE_UP),
		[XIW_QPE_RESET]		 = STAY(IDLE),
	},
	[XIW_QPS_RTS] = {
		[XIW_QPE_LOCAL_CLOSE]	 = GO(CLOSING, XIW_QPA_SHUTDOWN |
						       XIW_QPA_ARM_TIMER),
		/* No protocol fault: no Terminate. */
		[XIW_QPE_LOCAL_ERROR]	 = GO(ERROR, GAVE_UP),
		/* RFC 5041 6.2.1: report it, still send queued data. */
		[XIW_QPE_PEER_FIN]	 = GO(CLOSING, XIW_QPA_SHUTDOWN |
						       XIW_QPA_ARM_TIMER |
						       XIW_QPA_DISCONNECT),
		[XIW_QPE_PEER_FIN_DIRTY] = GO(ERROR, GONE),
		[XIW_QPE_LLP_LOST]	 = GO(ERROR, GONE),
		[XIW_QPE_LLP_CLOSED]	 = GO(ERROR, GONE),
		[XIW_QPE_FAULT]		 = FAULT,
		[XIW_QPE_FAULT_SILENT]	 = GO(ERROR, GONE_FATAL),
		[XIW_QPE_TERM_RECEIVED]	 = GO(ERROR, TERMINATED),
		[XIW_QPE_RESET]		 = GO(IDLE, END),
	},
	[XIW_QPS_CLOSING] = {
		[XIW_QPE_LOCAL_CLOSE]	 = STAY(CLOSING),
		/* TCP continues to close: data sent must still arrive. */
		[XIW_QPE_LOCAL_ERROR]	 = GO(ERROR, XIW_QPA_FLUSH),
		[XIW_QPE_PEER_FIN]	 = GO(CLOSING, XIW_QPA_DISCONNECT),
		[XIW_QPE_PEER_FIN_DIRTY] = GO(ERROR, GONE),
		[XIW_QPE_LLP_LOST]	 = GO(ERROR, GONE),
		/* ERROR, not IDLE: later posts must be flushed, too. */
		[XIW_QPE_LLP_CLOSED]	 = GO(ERROR, XIW_QPA_FLUSH |
						     XIW_QPA_CLOSE),
		/* Our FIN was not sent yet: handle as in RTS. */
		[XIW_QPE_FAULT]		 = FAULT,
		/* RFC 5040 5.4: no message can follow the FIN. */
		[XIW_QPE_FAULT_SILENT]	 = GO(ERROR, GONE),
		[XIW_QPE_TERM_RECEIVED]	 = GO(ERROR, TERMINATED),
		[XIW_QPE_CLOSE_TIMEOUT]	 = GO(ERROR, GONE),
		[XIW_QPE_RESET]		 = GO(IDLE, END),
	},
	[XIW_QPS_TERMINATE] = {
		[XIW_QPE_LOCAL_CLOSE]	 = STAY(TERMINATE),
		[XIW_QPE_LOCAL_ERROR]	 = GO(ERROR, XIW_QPA_FLUSH),
		/* The transmit half may still carry the Terminate. */
		[XIW_QPE_PEER_FIN]	 = STAY(TERMINATE),
		[XIW_QPE_PEER_FIN_DIRTY] = STAY(TERMINATE),
		[XIW_QPE_LLP_LOST]	 = GO(ERROR, END),
		[XIW_QPE_LLP_CLOSED]	 = GO(ERROR, XIW_QPA_CLOSE),
		/* RFC 5040 7.1: only the first fault is reported. */
		[XIW_QPE_FAULT]		 = STAY(TERMINATE),
		[XIW_QPE_FAULT_SILENT]	 = STAY(TERMINATE),
		/* RFC 5040 6.2.1: a reset may lose the Terminate. */
		[XIW_QPE_TERM_SENT]	 = GO(TERMINATE, XIW_QPA_SHUTDOWN),
		[XIW_QPE_TERM_RECEIVED]	 = STAY(TERMINATE),
		[XIW_QPE_CLOSE_TIMEOUT]	 = GO(ERROR, END),
		[XIW_QPE_RESET]		 = GO(IDLE, END),
	},
	[XIW_QPS_ERROR] = {
		[XIW_QPE_LOCAL_CLOSE]	 = STAY(ERROR),
		[XIW_QPE_LOCAL_ERROR]	 = GO(ERROR, XIW_QPA_FLUSH),
		[XIW_QPE_PEER_FIN]	 = STAY(ERROR),
		[XIW_QPE_PEER_FIN_DIRTY] = STAY(ERROR),
		[XIW_QPE_LLP_LOST]	 = GO(ERROR, END),
		[XIW_QPE_LLP_CLOSED]	 = GO(ERROR, XIW_QPA_CLOSE),
		[XIW_QPE_FAULT]		 = STAY(ERROR),
		[XIW_QPE_FAULT_SILENT]	 = STAY(ERROR),
		/* The stream left TERMINATE earlier: send only the FIN. */
		[XIW_QPE_TERM_SENT]	 = GO(ERROR, XIW_QPA_SHUTDOWN),
		[XIW_QPE_TERM_RECEIVED]	 = STAY(ERROR),
		[XIW_QPE_CLOSE_TIMEOUT]	 = GO(ERROR, END),
		[XIW_QPE_RESET]		 = GO(IDLE, END),
	},
};

struct xiw_qp_step xiw_qpstate_step(enum xiw_qp_state state,
				    enum xiw_qp_event event)
{
	struct xiw_qp_step step = { .next = state };

	if ((unsigned int)state >= XIW_QPS_COUNT ||
	    (unsigned int)event >= XIW_QPE_COUNT)
		return step;
	if (steps[state][event].legal)
		step = steps[state][event];
	return step;
}
