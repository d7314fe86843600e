// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The state machines, from any state and with any event, values outside of the
 * enumerations included: no table is read outside of its bounds, and the next
 * state is one of the enumeration.
 *
 * Files: proto/ddp proto/epstate proto/mpa proto/oobstate proto/opcode
 * Files: proto/qpstate proto/rdmap proto/session
 */
#include "any.h"
#include "ddp.h"
#include "epstate.h"
#include "oobstate.h"
#include "qpstate.h"
#include "rdmap.h"
#include "session.h"

static void states_tables(void)
{
	u32 action = xiw_epstate_action(any_u32, any_u32);
	u32 next;

	/*@ assert action: action < XIW_EPA_COUNT; */
	xiw_epstate_follows(any_u32, any_u32);
	next = xiw_oobstate_next(ANY_OF(0, XIW_OOBS_COUNT - 1), any_u32);
	/*@ assert oob: next < XIW_OOBS_COUNT; */
	next = xiw_qpstate_step(ANY_OF(0, XIW_QPS_COUNT - 1), any_u32).next;
	/*@ assert qp: next < XIW_QPS_COUNT; */
	next = xiw_session_step(ANY_OF(0, XIW_SESSION_STATES - 1),
				any_u32).next;
	/*@ assert session: next < XIW_SESSION_STATES; */
	xiw_oobstate_next(any_u32, any_u32);
	xiw_qpstate_step(any_u32, any_u32);
	xiw_session_step(any_u32, any_u32);
	xiw_rdmap_op(any_u8, any_u32);
}

static void states_receive(struct xiw_session *s)
{
	struct xiw_session_msg msg = {
		.code = ANY_OF(0, XIW_SESSION_REJECT_ENH),
		.frame.enhanced = any_bool(),
	};

	if (xiw_session_order(s, any_u16) == XIW_SESSION_NEXT)
		xiw_session_receive(s, any_bool() ? &msg : NULL);
}

static void states_send(struct xiw_session *s)
{
	u8 buf[XIW_SESSION_HDR_LEN];
	u16 ssn;

	if (xiw_session_segment(s, &ssn))
		xiw_session_confirm(s);
	if (xiw_session_encode_terminate(s, buf) == XIW_SESSION_HDR_LEN)
		xiw_session_sent_terminate(s);
}

/* A session after any history is in one of its states. */
static void states_session(void)
{
	struct xiw_session s;

	xiw_session_init(&s, any_bool());
	s.state = ANY_OF(0, XIW_SESSION_STATES - 1);
	s.enhanced = any_bool();
	s.broken = any_bool();
	s.tx_next = any_u16;
	s.rx_next = any_u16;
	states_receive(&s);
	/*@ assert received: s.state < XIW_SESSION_STATES; */
	states_send(&s);
	/*@ assert sent: s.state < XIW_SESSION_STATES; */
}

static void states_any_untagged(struct xiw_ddp_hdr *h)
{
	*h = (struct xiw_ddp_hdr){
		.last = any_bool(),
		.opcode = any_u8,
		.payload_off = XIW_UNTAGGED_LEN,
		.payload_len = ANY_OF(0, 65535 - XIW_UNTAGGED_LEN),
		.msn = any_u32,
		.mo = any_u32,
	};
}

/* A queue after any history, with a message in progress of any size */
static void states_queue(void)
{
	struct xiw_ddp_queue q;
	struct xiw_ddp_hdr h;
	u32 len = 0;

	xiw_ddp_queue_init(&q);
	q.msn = any_u32;
	xiw_ddp_queue_open(&q, any_u8, any_u32);
	q.bytes = any_u32;
	q.open = any_bool();
	states_any_untagged(&h);
	xiw_ddp_next_msn(&q.msn);
	if (xiw_ddp_queue_check(&q, &h) == XIW_OK)
		xiw_ddp_queue_advance(&q, &h, &len);
}

static void states_response(void)
{
	struct xiw_read_sink sink = {
		.stag = any_u32,
		.to = any_u64,
		.left = any_u32,
	};
	struct xiw_ddp_hdr h = {
		.tagged = true,
		.last = any_bool(),
		.payload_off = XIW_TAGGED_LEN,
		.payload_len = ANY_OF(0, 65535 - XIW_TAGGED_LEN),
		.stag = any_u32,
		.to = any_u64,
	};

	xiw_rdmap_read_resp_check(NULL, &h);
	if (xiw_rdmap_read_resp_check(&sink, &h) == XIW_OK)
		xiw_rdmap_read_resp_advance(&sink, &h);
	xiw_rdmap_range_check(any_u64, any_u64, any_u64, any_u64);
}

int main(void)
{
	states_tables();
	states_session();
	states_queue();
	states_response();
	return 0;
}
