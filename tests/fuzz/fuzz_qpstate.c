// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Walks through the state machine of a queue pair. Events come in any order
 * that a TCP connection, a peer and a ULP can produce. The walker records the
 * effects of the actions and finds errors that a ULP would see: work that is
 * never flushed, a wait without a limit, bytes behind a FIN.
 */
#include "fuzz.h"
#include "qpstate.h"

/* State of the connection, the peer and the ULP, which the walker models */
struct world {
	enum xiw_qp_state state;
	bool stream;		/* TCP connection attached */
	bool term_queued;	/* Terminate requested ... */
	bool term_sent;		/* ... and taken by TCP */
	bool fin_sent;
	bool fin_received;
	bool timer;
	bool aborted;
	bool flushed;		/* since the last CONNECT or RESET */
	bool closed;		/* the end was reported to the consumer */
};

/* Is the event possible now, independent of the table? */
static bool possible(const struct world *w, enum xiw_qp_event event)
{
	switch (event) {
	case XIW_QPE_CONNECT:
		return !w->stream && w->state == XIW_QPS_IDLE;
	case XIW_QPE_LOCAL_CLOSE:
		return w->stream;
	case XIW_QPE_LOCAL_ERROR:
	case XIW_QPE_RESET:
		return true;
	case XIW_QPE_PEER_FIN:
	case XIW_QPE_PEER_FIN_DIRTY:
	case XIW_QPE_FAULT:
	case XIW_QPE_FAULT_SILENT:
	case XIW_QPE_TERM_RECEIVED:
		return w->stream && !w->aborted && !w->fin_received;
	case XIW_QPE_LLP_LOST:
		return w->stream;
	case XIW_QPE_LLP_CLOSED:
		return w->stream && w->fin_sent && w->fin_received;
	case XIW_QPE_TERM_SENT:
		return w->stream && w->term_queued && !w->term_sent &&
		       !w->aborted;
	case XIW_QPE_CLOSE_TIMEOUT:
		return w->stream && w->timer;
	default:
		return false;
	}
}

static void observe(struct world *w, enum xiw_qp_event event)
{
	switch (event) {
	case XIW_QPE_CONNECT:
		w->stream = true;
		break;
	case XIW_QPE_PEER_FIN:
	case XIW_QPE_PEER_FIN_DIRTY:
		w->fin_received = true;
		break;
	case XIW_QPE_TERM_SENT:
		w->term_sent = true;
		break;
	default:
		break;
	}
}

static void act(struct world *w, u32 actions)
{
	if (actions & XIW_QPA_SEND_TERM) {
		/* Nothing follows a FIN, and there is one Terminate. */
		CHECK(!w->fin_sent && !w->term_queued && !w->aborted);
		w->term_queued = true;
	}
	if (actions & XIW_QPA_SHUTDOWN) {
		/* The FIN goes behind the Terminate, never before it. */
		CHECK(!w->term_queued || w->term_sent);
		w->fin_sent = true;
	}
	if (actions & XIW_QPA_ABORT)
		w->aborted = true;
	if (actions & XIW_QPA_ARM_TIMER)
		w->timer = true;
	if ((actions & XIW_QPA_FLUSH) == XIW_QPA_FLUSH)
		w->flushed = true;
	if (actions & XIW_QPA_CLOSE) {
		/* Without a stream the event ends a connection setup. */
		CHECK(w->stream || w->state == XIW_QPS_IDLE);
		w->closed = true;
	}
}

/* Conditions that hold after every step. */
static void judge(const struct world *w)
{
	/* Work is flushed before the error state becomes visible. */
	if (w->state == XIW_QPS_ERROR || w->state == XIW_QPS_TERMINATE)
		CHECK(w->flushed);
	/* Every wait for the peer is bounded. */
	if (w->state == XIW_QPS_CLOSING || w->state == XIW_QPS_TERMINATE)
		CHECK(w->timer);
	if (w->state == XIW_QPS_ERROR && w->stream && !w->aborted && !w->closed)
		CHECK(w->timer);
	if (w->state == XIW_QPS_RTS)
		CHECK(w->stream && !w->flushed && !w->closed && !w->aborted);
	if (w->aborted)
		CHECK(w->closed);
}

static void step(struct world *w, enum xiw_qp_event event)
{
	struct xiw_qp_step s = xiw_qpstate_step(w->state, event);

	if (!possible(w, event)) {
		CHECK(s.legal || (s.next == w->state && !s.actions));
		return;
	}
	CHECK(s.legal && s.next < XIW_QPS_COUNT);
	CHECK(!(s.actions & ~0x1ffU));
	/* A fault in CLOSING means that the FIN is not sent yet. */
	if (event == XIW_QPE_FAULT && w->state == XIW_QPS_CLOSING)
		w->fin_sent = false;
	observe(w, event);
	if (event == XIW_QPE_RESET) {
		/* A reset leaves nothing of a connection behind. */
		CHECK(s.next == XIW_QPS_IDLE);
		CHECK(!w->stream || (s.actions & XIW_QPA_ABORT));
		memset(w, 0, sizeof(*w));
		return;
	}
	act(w, s.actions);
	w->state = s.next;
	/* The time limit for the peer has expired. */
	if (event == XIW_QPE_CLOSE_TIMEOUT)
		CHECK(w->aborted && w->state == XIW_QPS_ERROR);
	if (event == XIW_QPE_LLP_LOST || event == XIW_QPE_LLP_CLOSED) {
		CHECK(w->state == XIW_QPS_ERROR && w->closed);
		w->stream = false;
	}
	judge(w);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct world w = { .state = XIW_QPS_IDLE };
	size_t i;

	for (i = 0; i < size && i < 64; i++) {
		enum xiw_qp_event event = data[i] % (XIW_QPE_COUNT + 1);

		/* Values outside of the table change nothing. */
		CHECK(!xiw_qpstate_step(w.state, data[i] | 0x80).legal);
		CHECK(!xiw_qpstate_step(data[i] | 0x80, event).legal);
		step(&w, event);
	}
	/* After the end of the connection nothing is left in progress. */
	if (w.stream)
		step(&w, XIW_QPE_LLP_LOST);
	CHECK(w.state == XIW_QPS_IDLE || w.state == XIW_QPS_ERROR);
	return 0;
}
