/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tracepoints xiw:*: states of queue pairs and connections, and data sent and
 * received.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM xiw

#if !defined(_XIW_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _XIW_TRACE_H

#include <linux/tracepoint.h>

#include "proto/ddp.h"
#include "proto/epstate.h"
#include "proto/qpstate.h"

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
TRACE_DEFINE_ENUM(XIW_EPS_PAUSE);
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
		{ XIW_EPS_PAUSE, "PAUSE" },				\
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
	    TP_PROTO(u32 qpn, enum xiw_qp_event event,
		     enum xiw_qp_state old, enum xiw_qp_state new),
	    TP_ARGS(qpn, event, old, new),
	    TP_STRUCT__entry(__field(u32, qpn)
			     __field(u8, event)
			     __field(u8, old)
			     __field(u8, new)),
	    TP_fast_assign(__entry->qpn = qpn;
			   __entry->event = event;
			   __entry->old = old;
			   __entry->new = new;),
	    TP_printk("qpn=%u event=%s %s->%s", __entry->qpn,
		      show_xiw_qpe(__entry->event),
		      show_xiw_qps(__entry->old),
		      show_xiw_qps(__entry->new))
);

TRACE_EVENT(ep_state,
	    TP_PROTO(const void *ep, u32 qpn, enum xiw_ep_state old,
		     enum xiw_ep_state new),
	    TP_ARGS(ep, qpn, old, new),
	    TP_STRUCT__entry(__field(const void *, ep)
			     __field(u32, qpn)
			     __field(u8, old)
			     __field(u8, new)),
	    TP_fast_assign(__entry->ep = ep;
			   __entry->qpn = qpn;
			   __entry->old = old;
			   __entry->new = new;),
	    TP_printk("ep=%p qpn=%u %s->%s", __entry->ep, __entry->qpn,
		      show_xiw_eps(__entry->old),
		      show_xiw_eps(__entry->new))
);

DECLARE_EVENT_CLASS(terminate,
		    TP_PROTO(u32 qpn, u16 code),
		    TP_ARGS(qpn, code),
		    TP_STRUCT__entry(__field(u32, qpn)
				     __field(u16, code)),
		    TP_fast_assign(__entry->qpn = qpn;
				   __entry->code = code;),
		    TP_printk("qpn=%u layer=%u type=%u code=0x%02x",
			      __entry->qpn,
			      __entry->code >> 12, __entry->code >> 8 & 0xf,
			      __entry->code & 0xff)
);

DEFINE_EVENT(terminate, terminate_sent,
	     TP_PROTO(u32 qpn, u16 code),
	     TP_ARGS(qpn, code)
);

DEFINE_EVENT(terminate, terminate_received,
	     TP_PROTO(u32 qpn, u16 code),
	     TP_ARGS(qpn, code)
);

TRACE_EVENT(tx_batch,
	    TP_PROTO(u32 qpn, u32 len, int taken),
	    TP_ARGS(qpn, len, taken),
	    TP_STRUCT__entry(__field(u32, qpn)
			     __field(u32, len)
			     __field(int, taken)),
	    TP_fast_assign(__entry->qpn = qpn;
			   __entry->len = len;
			   __entry->taken = taken;),
	    TP_printk("qpn=%u len=%u taken=%d", __entry->qpn, __entry->len,
		      __entry->taken)
);

DECLARE_EVENT_CLASS(budget,
		    TP_PROTO(u32 qpn, u32 weight, u32 bytes, u32 cost,
			     u32 fetched),
		    TP_ARGS(qpn, weight, bytes, cost, fetched),
		    TP_STRUCT__entry(__field(u32, qpn)
				     __field(u32, weight)
				     __field(u32, bytes)
				     __field(u32, cost)
				     __field(u32, fetched)),
		    TP_fast_assign(__entry->qpn = qpn;
				   __entry->weight = weight;
				   __entry->bytes = bytes;
				   __entry->cost = cost;
				   __entry->fetched = fetched;),
		    TP_printk("qpn=%u weight=%u bytes=%u cost=%u fetched=%u",
			      __entry->qpn, __entry->weight, __entry->bytes,
			      __entry->cost, __entry->fetched)
);

DEFINE_EVENT(budget, tx_budget,
	     TP_PROTO(u32 qpn, u32 weight, u32 bytes, u32 cost, u32 fetched),
	     TP_ARGS(qpn, weight, bytes, cost, fetched)
);

DEFINE_EVENT(budget, rx_budget,
	     TP_PROTO(u32 qpn, u32 weight, u32 bytes, u32 cost, u32 fetched),
	     TP_ARGS(qpn, weight, bytes, cost, fetched)
);

TRACE_EVENT(rx_fpdu,
	    TP_PROTO(u32 qpn, const struct xiw_ddp_hdr *h, u32 ulpdu_len),
	    TP_ARGS(qpn, h, ulpdu_len),
	    TP_STRUCT__entry(__field(u32, qpn)
			     __field(u32, ulpdu_len)
			     __field(u32, payload_len)
			     __field(u8, opcode)
			     __field(u8, last)),
	    TP_fast_assign(__entry->qpn = qpn;
			   __entry->ulpdu_len = ulpdu_len;
			   __entry->payload_len = h->payload_len;
			   __entry->opcode = h->opcode;
			   __entry->last = h->last;),
	    TP_printk("qpn=%u opcode=%u ulpdu_len=%u payload_len=%u last=%u",
		      __entry->qpn, __entry->opcode, __entry->ulpdu_len,
		      __entry->payload_len, __entry->last)
);

DECLARE_EVENT_CLASS(rnr,
		    TP_PROTO(u32 qpn),
		    TP_ARGS(qpn),
		    TP_STRUCT__entry(__field(u32, qpn)),
		    TP_fast_assign(__entry->qpn = qpn;),
		    TP_printk("qpn=%u", __entry->qpn)
);

DEFINE_EVENT(rnr, rnr_wait,
	     TP_PROTO(u32 qpn),
	     TP_ARGS(qpn)
);

DEFINE_EVENT(rnr, rnr_done,
	     TP_PROTO(u32 qpn),
	     TP_ARGS(qpn)
);

TRACE_EVENT(cq_notify,
	    TP_PROTO(u32 cq, int wanted),
	    TP_ARGS(cq, wanted),
	    TP_STRUCT__entry(__field(u32, cq)
			     __field(int, wanted)),
	    TP_fast_assign(__entry->cq = cq;
			   __entry->wanted = wanted;),
	    TP_printk("cq=%u wanted_cpu=%d", __entry->cq, __entry->wanted)
);

#endif /* _XIW_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
