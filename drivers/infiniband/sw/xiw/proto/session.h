/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _XIW_SESSION_H
#define _XIW_SESSION_H

#include "mpa.h"

/**
 * enum xiw_session_state - state of a DDP stream session
 * @XIW_SESSION_IDLE: active side, before its Initiate
 * @XIW_SESSION_REPLY: active side, waits for the answer to its Initiate
 * @XIW_SESSION_REQUEST: passive side, waits for an Initiate
 * @XIW_SESSION_PENDING: passive side, owes the answer to an Initiate
 * @XIW_SESSION_ACCEPTED: passive side, sent its Accept; nothing proves yet that
 *	the Accept has arrived
 * @XIW_SESSION_OPEN: full operation, and every own control message arrived
 * @XIW_SESSION_ENDING: own Terminate sent; the peer may still send segments
 * @XIW_SESSION_PEER_ENDED: peer's Terminate received; the own one is still owed
 * @XIW_SESSION_BROKEN: a chunk fits no pattern; the session must be terminated
 * @XIW_SESSION_DONE: nothing more may be sent or received
 * @XIW_SESSION_STATES: number of states, not a state
 */
enum xiw_session_state {
	XIW_SESSION_IDLE,
	XIW_SESSION_REPLY,
	XIW_SESSION_REQUEST,
	XIW_SESSION_PENDING,
	XIW_SESSION_ACCEPTED,
	XIW_SESSION_OPEN,
	XIW_SESSION_ENDING,
	XIW_SESSION_PEER_ENDED,
	XIW_SESSION_BROKEN,
	XIW_SESSION_DONE,
	XIW_SESSION_STATES
};

/**
 * enum xiw_session_event - chunks in the order of their SSNs, and one proof
 * @XIW_SESSION_TX_INITIATE: send an Initiate of either kind
 * @XIW_SESSION_TX_ACCEPT: send an Accept
 * @XIW_SESSION_TX_REJECT: send a Reject, on request of the ULP only
 * @XIW_SESSION_TX_TERMINATE: send a Terminate
 * @XIW_SESSION_TX_SEGMENT: send a DDP segment
 * @XIW_SESSION_RX_INITIATE: received an Initiate of either kind
 * @XIW_SESSION_RX_ACCEPT: received an Accept of the kind asked for
 * @XIW_SESSION_RX_REJECT: received a Reject of either kind
 * @XIW_SESSION_RX_TERMINATE: received a Terminate
 * @XIW_SESSION_RX_SEGMENT: received a DDP segment
 * @XIW_SESSION_RX_INVALID: received a chunk that no pattern contains: it is
 *	malformed, its SSN is impossible, or an Accept is of the other kind
 * @XIW_SESSION_CONFIRMED: all chunks sent so far are known to have arrived, or
 *	a chunk behind the peer's first one was received early
 * @XIW_SESSION_EVENTS: number of events, not an event
 */
enum xiw_session_event {
	XIW_SESSION_TX_INITIATE,
	XIW_SESSION_TX_ACCEPT,
	XIW_SESSION_TX_REJECT,
	XIW_SESSION_TX_TERMINATE,
	XIW_SESSION_TX_SEGMENT,
	XIW_SESSION_RX_INITIATE,
	XIW_SESSION_RX_ACCEPT,
	XIW_SESSION_RX_REJECT,
	XIW_SESSION_RX_TERMINATE,
	XIW_SESSION_RX_SEGMENT,
	XIW_SESSION_RX_INVALID,
	XIW_SESSION_CONFIRMED,
	XIW_SESSION_EVENTS
};

/**
 * struct xiw_session_step - one transition
 * @legal: the event fits a pattern; if false, a chunk must not be sent, and one
 *	that was received ends the session
 * @next: state to enter
 */
struct xiw_session_step {
	bool legal;
	enum xiw_session_state next;
};

/**
 * struct xiw_session - one side of a session
 * @state: state
 * @enhanced: the Initiate was an enhanced one
 * @broken: the peer has ended it by a chunk that fits no pattern
 * @tx_next: SSN of the next chunk to send
 * @rx_next: SSN of the next chunk to process
 */
struct xiw_session {
	enum xiw_session_state state;
	bool enhanced;
	bool broken;
	u16 tx_next;
	u16 rx_next;
};

/* How SCTP delivered a chunk. @whole: all of it was delivered at once */
struct xiw_session_chunk {
	u32 ppid;
	u16 stream;
	bool whole;
};

/**
 * struct xiw_session_msg - decoded chunk
 * @ssn: DDP-SSN
 * @code: function code, XIW_SESSION_SEGMENT for a DDP segment
 * @frame: an Initiate, Accept or Reject, as the MPA frame with the same
 *	content: revision 2 if enhanced, else 1; zero for other codes.
 *	Private Data is at @frame.pd_off of the chunk
 */
struct xiw_session_msg {
	u16 ssn;
	enum xiw_session_code code;
	struct xiw_mpa_frame frame;
};

/**
 * enum xiw_session_order - place of a chunk in the order of SSNs
 * @XIW_SESSION_NEXT: process it now
 * @XIW_SESSION_EARLY: keep it until the ones before it were processed
 * @XIW_SESSION_STRAY: refuse it: a conforming peer does not send it now
 */
enum xiw_session_order {
	XIW_SESSION_NEXT,
	XIW_SESSION_EARLY,
	XIW_SESSION_STRAY,
};

/*
 * RFC 5043 section 6, RFC 6581 section 7. Illegal for values outside the
 * enumerations.
 */
struct xiw_session_step xiw_session_step(enum xiw_session_state state,
					 enum xiw_session_event event);

/* @active: this side sends the Initiate */
void xiw_session_init(struct xiw_session *s, bool active);

/**
 * xiw_session_encode() - encode an Initiate, Accept or Reject
 * @s: session; unchanged, see xiw_session_sent()
 * @buf: written on success
 * @size: bytes available at @buf; XIW_SESSION_MSG_MAX always suffices
 * @f: the message; @f->pd_len bytes of ULP Private Data follow
 * @pd: ULP Private Data, may be NULL if there is none
 *
 * The message gets the next SSN.  RFC 5043 section 5.2.3, RFC 6581 section 7.
 *
 * Return: Length of the message, or -EINVAL if the session does not permit it
 * now, an answer is not of the Initiate's kind, the Private Data does not fit
 * (508 bytes with enhanced data, 512 without), @size is too small, or @f
 * asks for something that only MPA has.
 */
int xiw_session_encode(const struct xiw_session *s, u8 *buf, size_t size,
		       const struct xiw_mpa_frame *f, const void *pd);

/*
 * Account a message or Terminate that SCTP took; @f as given to
 * xiw_session_encode(). One that SCTP did not take must not be accounted: SSNs
 * have no gaps (RFC 5043 section 6).
 */
void xiw_session_sent(struct xiw_session *s, const struct xiw_mpa_frame *f);

/**
 * xiw_session_encode_terminate() - encode a Terminate
 * @s: session; unchanged, see xiw_session_sent_terminate()
 * @buf: XIW_SESSION_HDR_LEN bytes, written on success
 *
 * RFC 5043 section 6.6 forbids a control message that could overtake an earlier
 * one.
 *
 * Return: Length of the message, -EAGAIN if it becomes permitted with
 * xiw_session_confirm(), -EINVAL if it is not permitted.
 */
int xiw_session_encode_terminate(const struct xiw_session *s, u8 *buf);
void xiw_session_sent_terminate(struct xiw_session *s);

/*
 * Takes the SSN of a DDP segment, which must then be sent (RFC 5043 section
 * 5.2.1). False if the session does not permit a segment.
 */
bool xiw_session_segment(struct xiw_session *s, u16 *ssn);

/*
 * Accounts proof that own control messages arrived: SCTP has nothing left to
 * send or to be acknowledged, or an early chunk has arrived, since the peer
 * answers and accepts before it sends a second one.
 */
void xiw_session_confirm(struct xiw_session *s);

/**
 * xiw_session_decode() - decode a received chunk
 * @chunk: how SCTP delivered it
 * @buf: its user data; of a DDP segment, only the SSN is read
 * @len: bytes of user data
 * @msg: result, written only on success
 *
 * Private Data in a Terminate is ignored, and a Reject needs no enhanced data.
 * RFC 5043 sections 5.2 and 8, RFC 6581 section 7.
 *
 * Return: 0, or -EPROTO if no pattern contains such a chunk.
 */
int xiw_session_decode(const struct xiw_session_chunk *chunk, const u8 *buf,
		       size_t len, struct xiw_session_msg *msg);

/* RFC 5043 sections 6.1 and 10 */
enum xiw_session_order xiw_session_order(const struct xiw_session *s, u16 ssn);

/**
 * xiw_session_receive() - process the next chunk in the order of SSNs
 * @s: session
 * @msg: the chunk, for which xiw_session_order() returned XIW_SESSION_NEXT; or
 *	NULL if a chunk was malformed or stray
 *
 * An Initiate sets @s->enhanced, a chunk that ends the session @s->broken.  RFC
 * 5043 section 6.1.
 *
 * Return: True, or false if the session must be terminated: by a Terminate if
 * xiw_session_encode_terminate() permits one, then by the end of the
 * association.
 */
bool xiw_session_receive(struct xiw_session *s,
			 const struct xiw_session_msg *msg);

/*
 * Largest DDP segment that fits one SCTP packet, together with a SACK chunk:
 * 518..64768 bytes (RFC 5043 section 9). @frag_point: largest user data of a
 * chunk that SCTP does not fragment
 */
u32 xiw_session_mulpdu(u32 frag_point);

#endif /* _XIW_SESSION_H */
