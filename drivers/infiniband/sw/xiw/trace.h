/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tracepoints xiw:*: the life of queue pairs and connections, and what goes
 * over the wire.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM xiw

#if !defined(_XIW_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _XIW_TRACE_H

#include <linux/tracepoint.h>

#include "cq.h"
#include "ep.h"
#include "proto/qpstate.h"
#include "proto/wire.h"
#include "qp.h"

TRACE_DEFINE_ENUM(XIW_QPS_IDLE);
TRACE_DEFINE_ENUM(XIW_QPS_RTS);
TRACE_DEFINE_ENUM(XIW_QPS_CLOSING);
TRACE_DEFINE_ENUM(XIW_QPS_TERMINATE);
TRACE_DEFINE_ENUM(XIW_QPS_ERROR);

#define show_xiw_qps(x)							\
	__print_symbolic(x,						\
		{ XIW_QPS_IDLE, "IDLE" },				\
		{ XIW_QPS_RTS, "RTS" },					\
		{ XIW_QPS_CLOSING, "CLOSING" },				\
		{ XIW_QPS_TERMINATE, "TERMINATE" },			\
		{ XIW_QPS_ERROR, "ERROR" })

TRACE_DEFINE_ENUM(XIW_QPE_CONNECT);
TRACE_DEFINE_ENUM(XIW_QPE_LOCAL_CLOSE);
TRACE_DEFINE_ENUM(XIW_QPE_LOCAL_ERROR);
TRACE_DEFINE_ENUM(XIW_QPE_PEER_FIN);
TRACE_DEFINE_ENUM(XIW_QPE_PEER_FIN_DIRTY);
TRACE_DEFINE_ENUM(XIW_QPE_LLP_LOST);
TRACE_DEFINE_ENUM(XIW_QPE_LLP_CLOSED);
TRACE_DEFINE_ENUM(XIW_QPE_FAULT);
TRACE_DEFINE_ENUM(XIW_QPE_FAULT_SILENT);
TRACE_DEFINE_ENUM(XIW_QPE_TERM_SENT);
TRACE_DEFINE_ENUM(XIW_QPE_TERM_RECEIVED);
TRACE_DEFINE_ENUM(XIW_QPE_CLOSE_TIMEOUT);
TRACE_DEFINE_ENUM(XIW_QPE_RESET);

#define show_xiw_qpe(x)							\
	__print_symbolic(x,						\
		{ XIW_QPE_CONNECT, "connect" },				\
		{ XIW_QPE_LOCAL_CLOSE, "local_close" },			\
		{ XIW_QPE_LOCAL_ERROR, "local_error" },			\
		{ XIW_QPE_PEER_FIN, "peer_fin" },			\
		{ XIW_QPE_PEER_FIN_DIRTY, "peer_fin_dirty" },		\
		{ XIW_QPE_LLP_LOST, "llp_lost" },			\
		{ XIW_QPE_LLP_CLOSED, "llp_closed" },			\
		{ XIW_QPE_FAULT, "fault" },				\
		{ XIW_QPE_FAULT_SILENT, "fault_silent" },		\
		{ XIW_QPE_TERM_SENT, "term_sent" },			\
		{ XIW_QPE_TERM_RECEIVED, "term_received" },		\
		{ XIW_QPE_CLOSE_TIMEOUT, "close_timeout" },		\
		{ XIW_QPE_RESET, "reset" })

TRACE_DEFINE_ENUM(XIW_EPS_NEW);
TRACE_DEFINE_ENUM(XIW_EPS_LISTEN);
TRACE_DEFINE_ENUM(XIW_EPS_CONNECTING);
TRACE_DEFINE_ENUM(XIW_EPS_REPLY);
TRACE_DEFINE_ENUM(XIW_EPS_REQUEST);
TRACE_DEFINE_ENUM(XIW_EPS_READY);
TRACE_DEFINE_ENUM(XIW_EPS_PENDING);
TRACE_DEFINE_ENUM(XIW_EPS_RTR);
TRACE_DEFINE_ENUM(XIW_EPS_OPEN);
TRACE_DEFINE_ENUM(XIW_EPS_LINGER);
TRACE_DEFINE_ENUM(XIW_EPS_DEAD);

#define show_xiw_eps(x)							\
	__print_symbolic(x,						\
		{ XIW_EPS_NEW, "NEW" },					\
		{ XIW_EPS_LISTEN, "LISTEN" },				\
		{ XIW_EPS_CONNECTING, "CONNECTING" },			\
		{ XIW_EPS_REPLY, "REPLY" },				\
		{ XIW_EPS_REQUEST, "REQUEST" },				\
		{ XIW_EPS_READY, "READY" },				\
		{ XIW_EPS_PENDING, "PENDING" },				\
		{ XIW_EPS_RTR, "RTR" },					\
		{ XIW_EPS_OPEN, "OPEN" },				\
		{ XIW_EPS_LINGER, "LINGER" },				\
		{ XIW_EPS_DEAD, "DEAD" })

TRACE_EVENT(qp_state,
	    TP_PROTO(const struct xiw_qp *qp, enum xiw_qp_event event,
		     enum xiw_qp_state old, enum xiw_qp_state new),
	    TP_ARGS(qp, event, old, new),
	    TP_STRUCT__entry(__field(u32, qpn)
			     __field(u8, event)
			     __field(u8, old)
			     __field(u8, new)),
	    TP_fast_assign(__entry->qpn = qp->qpn;
			   __entry->event = event;
			   __entry->old = old;
			   __entry->new = new;),
	    TP_printk("qpn=%u event=%s %s->%s", __entry->qpn,
		      show_xiw_qpe(__entry->event),
		      show_xiw_qps(__entry->old),
		      show_xiw_qps(__entry->new))
);

TRACE_EVENT(ep_state,
	    TP_PROTO(const struct xiw_ep *ep, enum xiw_ep_state old,
		     enum xiw_ep_state new),
	    TP_ARGS(ep, old, new),
	    TP_STRUCT__entry(__field(const void *, ep)
			     __field(u32, qpn)
			     __field(u8, old)
			     __field(u8, new)),
	    TP_fast_assign(__entry->ep = ep;
			   __entry->qpn = ep->qp ? ep->qp->qpn : 0;
			   __entry->old = old;
			   __entry->new = new;),
	    TP_printk("ep=%p qpn=%u %s->%s", __entry->ep, __entry->qpn,
		      show_xiw_eps(__entry->old),
		      show_xiw_eps(__entry->new))
);

DECLARE_EVENT_CLASS(terminate,
		    TP_PROTO(const struct xiw_qp *qp, u16 code),
		    TP_ARGS(qp, code),
		    TP_STRUCT__entry(__field(u32, qpn)
				     __field(u16, code)),
		    TP_fast_assign(__entry->qpn = qp->qpn;
				   __entry->code = code;),
		    TP_printk("qpn=%u layer=%u type=%u code=0x%02x",
			      __entry->qpn,
			      __entry->code >> 12, __entry->code >> 8 & 0xf,
			      __entry->code & 0xff)
);

DEFINE_EVENT(terminate, terminate_sent,
	     TP_PROTO(const struct xiw_qp *qp, u16 code),
	     TP_ARGS(qp, code)
);

DEFINE_EVENT(terminate, terminate_received,
	     TP_PROTO(const struct xiw_qp *qp, u16 code),
	     TP_ARGS(qp, code)
);

TRACE_EVENT(tx_train,
	    TP_PROTO(const struct xiw_qp *qp, u32 len, int taken),
	    TP_ARGS(qp, len, taken),
	    TP_STRUCT__entry(__field(u32, qpn)
			     __field(u32, len)
			     __field(int, taken)),
	    TP_fast_assign(__entry->qpn = qp->qpn;
			   __entry->len = len;
			   __entry->taken = taken;),
	    TP_printk("qpn=%u len=%u taken=%d", __entry->qpn, __entry->len,
		      __entry->taken)
);

DECLARE_EVENT_CLASS(turn,
		    TP_PROTO(const struct xiw_qp *qp,
			     const struct xiw_turn *left, u32 times,
			     u32 fetched),
		    TP_ARGS(qp, left, times, fetched),
		    TP_STRUCT__entry(__field(u32, qpn)
				     __field(u32, times)
				     __field(u32, bytes)
				     __field(u32, steps)
				     __field(u32, fetched)),
		    TP_fast_assign(__entry->qpn = qp->qpn;
				   __entry->times = times;
				   __entry->bytes = times * XIW_TURN_BYTES -
						    left->bytes;
				   __entry->steps = times * XIW_TURN_STEPS -
						    left->steps;
				   __entry->fetched = fetched;),
		    TP_printk("qpn=%u turns=%u bytes=%u steps=%u fetched=%u",
			      __entry->qpn, __entry->times, __entry->bytes,
			      __entry->steps, __entry->fetched)
);

DEFINE_EVENT(turn, tx_turn,
	     TP_PROTO(const struct xiw_qp *qp, const struct xiw_turn *left,
		      u32 times, u32 fetched),
	     TP_ARGS(qp, left, times, fetched)
);

DEFINE_EVENT(turn, rx_turn,
	     TP_PROTO(const struct xiw_qp *qp, const struct xiw_turn *left,
		      u32 times, u32 fetched),
	     TP_ARGS(qp, left, times, fetched)
);

TRACE_EVENT(rx_fpdu,
	    TP_PROTO(const struct xiw_qp *qp, const struct xiw_fpdu *f),
	    TP_ARGS(qp, f),
	    TP_STRUCT__entry(__field(u32, qpn)
			     __field(u32, ulpdu_len)
			     __field(u32, payload_len)
			     __field(u8, opcode)
			     __field(u8, last)),
	    TP_fast_assign(__entry->qpn = qp->qpn;
			   __entry->ulpdu_len = f->ulpdu_len;
			   __entry->payload_len = f->h.payload_len;
			   __entry->opcode = f->h.opcode;
			   __entry->last = f->h.last;),
	    TP_printk("qpn=%u opcode=%u ulpdu_len=%u payload_len=%u last=%u",
		      __entry->qpn, __entry->opcode, __entry->ulpdu_len,
		      __entry->payload_len, __entry->last)
);

TRACE_EVENT(cq_notify,
	    TP_PROTO(const struct xiw_cq *cq),
	    TP_ARGS(cq),
	    TP_STRUCT__entry(__field(u32, cq)
			     __field(int, wanted)),
	    TP_fast_assign(__entry->cq = cq->id;
			   __entry->wanted = cq->cpu == XIW_CQ_ANY_CPU ?
					     -1 : cq->cpu;),
	    TP_printk("cq=%u wanted_cpu=%d", __entry->cq, __entry->wanted)
);

#endif /* _XIW_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
