// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP stream sessions over SCTP (RFC 5043, RFC 6581 section 7): control
 * messages, the legal patterns of chunks, and the order of SSNs.  Independent
 * of sockets: the lower layer passes in chunks in any order of arrival.
 *
 * An association carries one session.  Control messages are translated to and
 * from MPA frames, so that the negotiation does not depend on the lower layer.
 */
#include "session.h"

/* Bytes of a packet reserved for a SACK chunk. */
#define SACK_ROOM	20

#define TO(state)	{ .legal = true, .next = XIW_SESSION_##state }
/* A received chunk breaks the session; the own Terminate must still be sent. */
#define BREAK		{ .next = XIW_SESSION_BROKEN }
/* As BREAK, where no Terminate may be sent, or one was sent. */
#define DROP		{ .next = XIW_SESSION_DONE }

#define RX_FIRST	XIW_SESSION_RX_INITIATE
#define RX_LAST	XIW_SESSION_RX_INVALID

/*
 * A chunk that is not listed must not be sent.  A chunk that must not be
 * received leads to BROKEN or DONE.
 */
static const struct xiw_session_step
session_steps[XIW_SESSION_STATES][XIW_SESSION_EVENTS] = {
	[XIW_SESSION_IDLE] = {
		[XIW_SESSION_TX_INITIATE]	= TO(REPLY),
		[RX_FIRST ... RX_LAST]		= DROP,
		[XIW_SESSION_CONFIRMED]		= TO(IDLE),
	},
	[XIW_SESSION_REPLY] = {
		[XIW_SESSION_RX_INITIATE]	= BREAK,
		[XIW_SESSION_RX_ACCEPT]		= TO(OPEN),
		[XIW_SESSION_RX_REJECT]		= TO(DONE),
		/*
		 * RFC 5043 6.4: the peer's driver refused, without asking its
		 * ULP.
		 */
		[XIW_SESSION_RX_TERMINATE]	= TO(DONE),
		[XIW_SESSION_RX_SEGMENT]	= BREAK,
		[XIW_SESSION_RX_INVALID]	= BREAK,
		/* The Initiate arrived; only an answer permits more. */
		[XIW_SESSION_CONFIRMED]		= TO(REPLY),
	},
	[XIW_SESSION_REQUEST] = {
		[XIW_SESSION_RX_INITIATE]	= TO(PENDING),
		[XIW_SESSION_RX_ACCEPT]		= BREAK,
		[XIW_SESSION_RX_REJECT]		= BREAK,
		[XIW_SESSION_RX_TERMINATE]	= BREAK,
		[XIW_SESSION_RX_SEGMENT]	= BREAK,
		[XIW_SESSION_RX_INVALID]	= BREAK,
		[XIW_SESSION_CONFIRMED]		= TO(REQUEST),
	},
	[XIW_SESSION_PENDING] = {
		[XIW_SESSION_TX_ACCEPT]		= TO(ACCEPTED),
		[XIW_SESSION_TX_REJECT]		= TO(DONE),
		[XIW_SESSION_TX_TERMINATE]	= TO(DONE),
		[RX_FIRST ... RX_LAST]		= BREAK,
		[XIW_SESSION_CONFIRMED]		= TO(PENDING),
	},
	[XIW_SESSION_ACCEPTED] = {
		[XIW_SESSION_TX_SEGMENT]	= TO(ACCEPTED),
		[XIW_SESSION_RX_INITIATE]	= BREAK,
		[XIW_SESSION_RX_ACCEPT]		= BREAK,
		[XIW_SESSION_RX_REJECT]		= BREAK,
		[XIW_SESSION_RX_TERMINATE]	= TO(PEER_ENDED),
		[XIW_SESSION_RX_SEGMENT]	= TO(OPEN),
		[XIW_SESSION_RX_INVALID]	= BREAK,
		[XIW_SESSION_CONFIRMED]		= TO(OPEN),
	},
	[XIW_SESSION_OPEN] = {
		[XIW_SESSION_TX_TERMINATE]	= TO(ENDING),
		[XIW_SESSION_TX_SEGMENT]	= TO(OPEN),
		[XIW_SESSION_RX_INITIATE]	= BREAK,
		[XIW_SESSION_RX_ACCEPT]		= BREAK,
		[XIW_SESSION_RX_REJECT]		= BREAK,
		[XIW_SESSION_RX_TERMINATE]	= TO(PEER_ENDED),
		[XIW_SESSION_RX_SEGMENT]	= TO(OPEN),
		[XIW_SESSION_RX_INVALID]	= BREAK,
		[XIW_SESSION_CONFIRMED]		= TO(OPEN),
	},
	[XIW_SESSION_ENDING] = {
		[XIW_SESSION_RX_INITIATE]	= DROP,
		[XIW_SESSION_RX_ACCEPT]		= DROP,
		[XIW_SESSION_RX_REJECT]		= DROP,
		[XIW_SESSION_RX_TERMINATE]	= TO(DONE),
		[XIW_SESSION_RX_SEGMENT]	= TO(ENDING),
		[XIW_SESSION_RX_INVALID]	= DROP,
		[XIW_SESSION_CONFIRMED]		= TO(ENDING),
	},
	[XIW_SESSION_PEER_ENDED] = {
		[XIW_SESSION_TX_TERMINATE]	= TO(DONE),
		[XIW_SESSION_TX_SEGMENT]	= TO(PEER_ENDED),
		[RX_FIRST ... RX_LAST]		= BREAK,
		[XIW_SESSION_CONFIRMED]		= TO(PEER_ENDED),
	},
	[XIW_SESSION_BROKEN] = {
		[XIW_SESSION_TX_TERMINATE]	= TO(DONE),
		[RX_FIRST ... RX_LAST]		= BREAK,
		[XIW_SESSION_CONFIRMED]		= TO(BROKEN),
	},
	[XIW_SESSION_DONE] = {
		[RX_FIRST ... RX_LAST]		= DROP,
		[XIW_SESSION_CONFIRMED]		= TO(DONE),
	},
};

struct xiw_session_step xiw_session_step(enum xiw_session_state state,
					 enum xiw_session_event event)
{
	struct xiw_session_step step = { .next = state };

	if ((unsigned int)state >= XIW_SESSION_STATES ||
	    (unsigned int)event >= XIW_SESSION_EVENTS)
		return step;
	if (session_steps[state][event].legal ||
	    (event >= XIW_SESSION_RX_INITIATE &&
	     event <= XIW_SESSION_RX_INVALID))
		step = session_steps[state][event];
	return step;
}

void xiw_session_init(struct xiw_session *s, bool active)
{
	memset(s, 0, sizeof(*s));
	s->state = active ? XIW_SESSION_IDLE : XIW_SESSION_REQUEST;
}

static bool session_may(const struct xiw_session *s,
			enum xiw_session_event event)
{
	return xiw_session_step(s->state, event).legal;
}

static void session_enter(struct xiw_session *s, enum xiw_session_event event)
{
	s->state = xiw_session_step(s->state, event).next;
}

/*
 * Sending
 */

static enum xiw_session_event session_frame_event(const struct xiw_mpa_frame *f)
{
	if (!f->reply)
		return XIW_SESSION_TX_INITIATE;
	return f->reject ? XIW_SESSION_TX_REJECT : XIW_SESSION_TX_ACCEPT;
}

static enum xiw_session_code session_frame_code(const struct xiw_mpa_frame *f)
{
	if (!f->reply)
		return f->enhanced ? XIW_SESSION_INITIATE_ENH :
				     XIW_SESSION_INITIATE;
	if (f->reject)
		return f->enhanced ? XIW_SESSION_REJECT_ENH :
				     XIW_SESSION_REJECT;
	return f->enhanced ? XIW_SESSION_ACCEPT_ENH : XIW_SESSION_ACCEPT;
}

static void session_put_hdr(const struct xiw_session *s,
			    enum xiw_session_code code, u8 *buf)
{
	struct xiw_session_hdr *h = (struct xiw_session_hdr *)buf;

	h->ssn = cpu_to_be16(s->tx_next);
	h->code = cpu_to_be16(code);
}

/* Refuses Markers and CRCs. The revision selects the kind of message. */
static bool session_frame_fits(const struct xiw_session *s,
			       const struct xiw_mpa_frame *f)
{
	if (f->markers || f->crc || f->rev != (f->enhanced ? 2 : 1))
		return false;
	if (f->reject && !f->reply)
		return false;
	/* RFC 6581 section 10: the answer is of the Initiate's kind. */
	if (f->reply && f->enhanced != s->enhanced)
		return false;
	return session_may(s, session_frame_event(f));
}

int xiw_session_encode(const struct xiw_session *s, u8 *buf, size_t size,
		       const struct xiw_mpa_frame *f, const void *pd)
{
	u32 enh_len = f->enhanced ? XIW_MPA_ENH_LEN : 0;
	u32 len = XIW_SESSION_HDR_LEN + enh_len + f->pd_len;

	if (!session_frame_fits(s, f))
		return -EINVAL;
	if (len > XIW_SESSION_MSG_MAX || len > size)
		return -EINVAL;
	session_put_hdr(s, session_frame_code(f), buf);
	buf += XIW_SESSION_HDR_LEN;
	if (f->enhanced)
		xiw_mpa_enh_encode(buf, &f->enh);
	if (f->pd_len)
		memcpy(buf + enh_len, pd, f->pd_len);
	return len;
}

void xiw_session_sent(struct xiw_session *s, const struct xiw_mpa_frame *f)
{
	if (!f->reply)
		s->enhanced = f->enhanced;
	session_enter(s, session_frame_event(f));
	s->tx_next++;
}

int xiw_session_encode_terminate(const struct xiw_session *s, u8 *buf)
{
	if (s->state == XIW_SESSION_ACCEPTED)
		return -EAGAIN;
	if (!session_may(s, XIW_SESSION_TX_TERMINATE))
		return -EINVAL;
	session_put_hdr(s, XIW_SESSION_TERMINATE, buf);
	return XIW_SESSION_HDR_LEN;
}

void xiw_session_sent_terminate(struct xiw_session *s)
{
	session_enter(s, XIW_SESSION_TX_TERMINATE);
	s->tx_next++;
}

bool xiw_session_segment(struct xiw_session *s, u16 *ssn)
{
	if (!session_may(s, XIW_SESSION_TX_SEGMENT))
		return false;
	*ssn = s->tx_next++;
	return true;
}

void xiw_session_confirm(struct xiw_session *s)
{
	session_enter(s, XIW_SESSION_CONFIRMED);
}

/*
 * Receiving
 */

/* Decodes an Initiate, Accept or Reject; Private Data is at @pd_off. */
static int session_decode_frame(const u8 *buf, size_t len, bool enhanced,
				struct xiw_mpa_frame *f)
{
	f->rev = enhanced ? 2 : 1;
	f->pd_off = XIW_SESSION_HDR_LEN;
	f->pd_len = len - XIW_SESSION_HDR_LEN;
	if (!enhanced)
		return 0;
	if (f->pd_len >= XIW_MPA_ENH_LEN) {
		xiw_mpa_enh_decode(buf + XIW_SESSION_HDR_LEN, &f->enh);
		f->enhanced = true;
		f->pd_off += XIW_MPA_ENH_LEN;
		f->pd_len -= XIW_MPA_ENH_LEN;
		return 0;
	}
	/* No RFC says that enhanced data is part of an Enhanced Reject. */
	return f->reject ? 0 : -EPROTO;
}

static int session_decode_control(const u8 *buf, size_t len,
				  struct xiw_session_msg *msg)
{
	const struct xiw_session_hdr *h = (const struct xiw_session_hdr *)buf;
	struct xiw_mpa_frame *f = &msg->frame;

	if (len < XIW_SESSION_HDR_LEN || len > XIW_SESSION_MSG_MAX)
		return -EPROTO;
	msg->code = be16_to_cpu(h->code);
	switch (msg->code) {
	case XIW_SESSION_TERMINATE:
		return 0;
	case XIW_SESSION_INITIATE:
	case XIW_SESSION_INITIATE_ENH:
		break;
	case XIW_SESSION_ACCEPT:
	case XIW_SESSION_ACCEPT_ENH:
		f->reply = true;
		break;
	case XIW_SESSION_REJECT:
	case XIW_SESSION_REJECT_ENH:
		f->reply = true;
		f->reject = true;
		break;
	default:
		return -EPROTO;
	}
	return session_decode_frame(buf, len,
				    msg->code >= XIW_SESSION_INITIATE_ENH, f);
}

int xiw_session_decode(const struct xiw_session_chunk *chunk, const u8 *buf,
		       size_t len, struct xiw_session_msg *msg)
{
	const struct xiw_session_hdr *h = (const struct xiw_session_hdr *)buf;
	struct xiw_session_msg out = {};
	int ret = 0;

	if (chunk->stream != XIW_SCTP_STREAM || !chunk->whole ||
	    len < XIW_SESSION_SSN_LEN)
		return -EPROTO;
	out.ssn = be16_to_cpu(h->ssn);
	if (chunk->ppid == XIW_SCTP_PPID_CONTROL)
		ret = session_decode_control(buf, len, &out);
	else if (chunk->ppid != XIW_SCTP_PPID_SEGMENT)
		ret = -EPROTO;
	if (!ret)
		*msg = out;
	return ret;
}

enum xiw_session_order xiw_session_order(const struct xiw_session *s, u16 ssn)
{
	u16 ahead = ssn - s->rx_next;

	if (!ahead)
		return XIW_SESSION_NEXT;
	/* In no pattern a chunk follows an Initiate without an answer. */
	if (s->state == XIW_SESSION_REQUEST || s->state == XIW_SESSION_PENDING)
		return XIW_SESSION_STRAY;
	return ahead < XIW_SESSION_WINDOW ? XIW_SESSION_EARLY :
					    XIW_SESSION_STRAY;
}

static enum xiw_session_event
session_rx_event(const struct xiw_session *s, const struct xiw_session_msg *msg)
{
	if (!msg)
		return XIW_SESSION_RX_INVALID;
	switch (msg->code) {
	case XIW_SESSION_SEGMENT:
		return XIW_SESSION_RX_SEGMENT;
	case XIW_SESSION_INITIATE:
	case XIW_SESSION_INITIATE_ENH:
		return XIW_SESSION_RX_INITIATE;
	case XIW_SESSION_ACCEPT:
	case XIW_SESSION_ACCEPT_ENH:
		return msg->frame.enhanced == s->enhanced ?
		       XIW_SESSION_RX_ACCEPT : XIW_SESSION_RX_INVALID;
	case XIW_SESSION_REJECT:
	case XIW_SESSION_REJECT_ENH:
		return XIW_SESSION_RX_REJECT;
	case XIW_SESSION_TERMINATE:
		return XIW_SESSION_RX_TERMINATE;
	}
	return XIW_SESSION_RX_INVALID;
}

bool xiw_session_receive(struct xiw_session *s,
			 const struct xiw_session_msg *msg)
{
	enum xiw_session_event event = session_rx_event(s, msg);
	bool legal = session_may(s, event);

	/* A chunk after the end of the session does not break it. */
	s->broken |= !legal && s->state != XIW_SESSION_DONE;
	session_enter(s, event);
	if (!legal)
		return false;
	if (event == XIW_SESSION_RX_INITIATE)
		s->enhanced = msg->frame.enhanced;
	s->rx_next++;
	return true;
}

u32 xiw_session_mulpdu(u32 frag_point)
{
	u32 overhead = XIW_SESSION_SSN_LEN + SACK_ROOM;

	if (frag_point < XIW_SESSION_SEGMENT_MIN + overhead)
		return XIW_SESSION_SEGMENT_MIN;
	return min_t(u32, frag_point - overhead, XIW_MULPDU_MAX);
}
