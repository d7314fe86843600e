/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue pairs that are connected out of band: the Private Data of their MPA
 * frames, and every decision that depends on it or on the attributes set by the
 * ULP.  Section numbers refer to the specification in
 * Documentation/oob.rst.
 */
#ifndef _XIW_PROTO_OOB_H
#define _XIW_PROTO_OOB_H

#include "wire.h"

/* Numbers of queue pairs that can be connected, section 2 */
#define XIW_OOB_QPN_MIN		2

/* Limits of the time that work waits for a stream, milliseconds, section 6 */
#define XIW_OOB_WAIT_MIN_MS	5000
#define XIW_OOB_WAIT_MAX_MS	600000

/* Pause of an Initiator before its next try, milliseconds, section 5 */
#define XIW_OOB_PAUSE_MIN_MS	5
#define XIW_OOB_PAUSE_MAX_MS	1000
#define XIW_OOB_PAUSE_LOCAL_MS	4000

/*
 * One end of a connection. @gid: an IPv6 address, or an IPv4 address mapped to
 * one
 */
struct xiw_oob_end {
	u8 gid[XIW_OOB_GID_LEN];
	u32 qpn;
};

/**
 * struct xiw_oob_token - secret shared by the two ULPs, which identifies one
 *	connection of a queue pair
 * @rts: the queue pair is at RTS; otherwise only @rq_psn is valid
 * @rnr_retry: RNR retries requested by the ULP, 0..7
 * @sq_psn: initial PSN of the send queue
 * @rq_psn: initial PSN expected from the peer
 */
struct xiw_oob_token {
	bool rts;
	u8 rnr_retry;
	u32 sq_psn;
	u32 rq_psn;
};

/* Random numbers of one connection, of the Initiator and of the Responder */
struct xiw_oob_nonces {
	u64 init;
	u64 resp;
};

/**
 * struct xiw_oob_claim - state that an end reports, with its proofs
 * @rts: the end is at RTS; otherwise @rnr_retry and @sq_proof are 0
 * @rnr_retry: as in its token
 * @sq_proof: proves knowledge of its own PSN
 * @rq_proof: proves knowledge of its peer's PSN
 */
struct xiw_oob_claim {
	bool rts;
	u8 rnr_retry;
	u64 sq_proof;
	u64 rq_proof;
};

/**
 * struct xiw_oob_path - connection attributes set by the ULP
 * @own: this end: the GID of the source index and the number
 * @peer: the other end: destination GID and number
 * @token: PSNs and RNR retries
 * @max_dest_rd_atomic: inbound Reads and Atomics to accept
 * @max_rd_atomic: outbound Reads and Atomics; valid with @token.rts
 */
struct xiw_oob_path {
	struct xiw_oob_end own;
	struct xiw_oob_end peer;
	struct xiw_oob_token token;
	u8 max_dest_rd_atomic;
	u8 max_rd_atomic;
};

/**
 * enum xiw_oob_role - which end connects, section 3
 * @XIW_OOB_INITIATOR: this one
 * @XIW_OOB_RESPONDER: the other one
 * @XIW_OOB_SELF: both ends are the same queue pair
 */
enum xiw_oob_role {
	XIW_OOB_INITIATOR,
	XIW_OOB_RESPONDER,
	XIW_OOB_SELF,
};

/**
 * enum xiw_oob_reason - why a Request is refused, as in the Reply, section 4.3
 * @XIW_OOB_OK: not refused
 * @XIW_OOB_MALFORMED: not an out-of-band Request, or not well formed
 * @XIW_OOB_BAD_VERSION: a version that the Responder does not support
 * @XIW_OOB_NO_MATCH: its GIDs are not the addresses of the connection
 * @XIW_OOB_BAD_ROLE: the other end would have to be the Responder
 * @XIW_OOB_BUSY: too many Requests wait for a queue pair to reach RTR
 * @XIW_OOB_LATE: no queue pair was ready for it in time
 * @XIW_OOB_FAILED: the Responder lacked memory, or is being removed
 * @XIW_OOB_PROVE: not refused yet; the Initiator must repeat it with proofs
 * @XIW_OOB_REASON_COUNT: number of reasons, not a reason
 */
enum xiw_oob_reason {
	XIW_OOB_OK		= 0,
	XIW_OOB_MALFORMED	= 1,
	XIW_OOB_BAD_VERSION	= 2,
	XIW_OOB_NO_MATCH	= 3,
	XIW_OOB_BAD_ROLE	= 5,
	XIW_OOB_BUSY		= 6,
	XIW_OOB_LATE		= 7,
	XIW_OOB_FAILED		= 8,
	XIW_OOB_PROVE		= 9,
	XIW_OOB_REASON_COUNT
};

/**
 * struct xiw_oob_request - Private Data of a Request
 * @init: the Initiator
 * @resp: the Responder
 * @claim: of the Initiator; proofs are 0 without @proves
 * @proves: it carries proofs, after a Reply with XIW_OOB_PROVE
 * @nonce: of the Initiator
 * @features: mask of XIW_OOB_FEAT_* offered; may have unknown bits
 */
struct xiw_oob_request {
	struct xiw_oob_end init;
	struct xiw_oob_end resp;
	struct xiw_oob_claim claim;
	bool proves;
	u64 nonce;
	u16 features;
};

/**
 * struct xiw_oob_reply - Private Data of a Reply
 * @reason: XIW_OOB_OK if it accepts; in a refusal any other 8-bit value, also
 *	unknown ones
 * @init_qpn: number of the Initiator's queue pair, repeated
 * @resp_qpn: number of the Responder's queue pair, repeated
 * @claim: of the Responder; all zero in a refusal
 * @nonce: of the Responder, with XIW_OOB_PROVE; else 0
 * @features: negotiated features; 0 in a refusal
 */
struct xiw_oob_reply {
	u8 reason;
	u32 init_qpn;
	u32 resp_qpn;
	struct xiw_oob_claim claim;
	u64 nonce;
	u16 features;
};

/*
 * True for the GID of a host: a unicast address (section 2). Its low half must
 * not be zero: a GID derived from a hardware address has a zero low half.
 */
bool xiw_oob_gid_usable(const u8 *gid);

/**
 * xiw_oob_path_check() - validate the attributes of a connection
 * @path: ends and token
 *
 * Return: 0; -EINVAL for a number or PSN out of range; -EADDRNOTAVAIL for a
 * GID that is not the address of a host; -EAFNOSUPPORT if one is IPv4 and the
 * other IPv6.
 */
int xiw_oob_path_check(const struct xiw_oob_path *path);

/*
 * The end with the lower GID, or with equal GIDs the lower queue pair number,
 * is the Initiator; section 3.
 */
enum xiw_oob_role xiw_oob_role(const struct xiw_oob_end *own,
			       const struct xiw_oob_end *peer);

/**
 * xiw_oob_request_init() - Initiator: fill in a Request
 * @path: attributes set so far
 * @nonces: of the connection
 * @proves: include proofs
 * @features: features to offer
 * @req: result
 */
void xiw_oob_request_init(const struct xiw_oob_path *path,
			  const struct xiw_oob_nonces *nonces, bool proves,
			  u16 features, struct xiw_oob_request *req);

/*
 * Writes XIW_OOB_REQ_LEN bytes, and returns that. Queue pair numbers must fit
 * in 24 bits.
 */
u32 xiw_oob_request_encode(const struct xiw_oob_request *req, u8 *buf);

/**
 * xiw_oob_request_decode() - read the Private Data of a Request
 * @pd: Private Data
 * @len: bytes of it
 * @req: result, written only on success
 *
 * Return: XIW_OOB_OK, XIW_OOB_MALFORMED or XIW_OOB_BAD_VERSION.
 */
enum xiw_oob_reason xiw_oob_request_decode(const u8 *pd, u32 len,
					   struct xiw_oob_request *req);

/*
 * True if the addresses of the TCP connection, as GIDs, are those of the
 * Request
 */
bool xiw_oob_request_from(const struct xiw_oob_request *req, const u8 *local,
			  const u8 *remote);

/*
 * Responder: true if the Request has both ends of the path, section 4.4. The
 * proofs are not checked.
 */
bool xiw_oob_match(const struct xiw_oob_path *path,
		   const struct xiw_oob_request *req);

/* True if both ends have a PSN in common: as soon as one of them is at RTS */
bool xiw_oob_in_common(const struct xiw_oob_path *path,
		       const struct xiw_oob_claim *peer);

/**
 * xiw_oob_proven() - verify the proofs of the peer
 * @path: attributes set so far
 * @nonces: of the connection
 * @peer: claim of the peer
 *
 * The ends must have a PSN in common, and the peer must prove each such PSN.
 * The transition to RTS adds a PSN, so repeat the check then, before anything
 * is sent. A queue pair that is its own peer needs no proof.
 *
 * Return: true if the peer has proven its identity.
 */
bool xiw_oob_proven(const struct xiw_oob_path *path,
		    const struct xiw_oob_nonces *nonces,
		    const struct xiw_oob_claim *peer);

/**
 * xiw_oob_accept() - Responder: fill in a Reply that accepts a Request
 * @path: attributes set so far
 * @req: decoded Request, matching and proven
 * @nonces: of the connection
 * @features: features supported by this side
 * @reply: result
 */
void xiw_oob_accept(const struct xiw_oob_path *path,
		    const struct xiw_oob_request *req,
		    const struct xiw_oob_nonces *nonces, u16 features,
		    struct xiw_oob_reply *reply);

/*
 * Responder: fills in a Reply that requests proofs. @nonce: new random number
 */
void xiw_oob_challenge(const struct xiw_oob_request *req, u64 nonce,
		       struct xiw_oob_reply *reply);

/*
 * Responder: fills in a Reply that refuses. @req is NULL if it was not decoded.
 */
void xiw_oob_refuse(enum xiw_oob_reason reason,
		    const struct xiw_oob_request *req,
		    struct xiw_oob_reply *reply);

/* Writes XIW_OOB_REP_LEN bytes, and returns that. */
u32 xiw_oob_reply_encode(const struct xiw_oob_reply *reply, u8 *buf);

/**
 * xiw_oob_reply_decode() - read the Private Data of a Reply
 * @pd: Private Data
 * @len: bytes of it
 * @reject: the Reply refuses
 * @reply: result, written only on success
 *
 * Return: 0, or -EPROTO if it is not well formed.
 */
int xiw_oob_reply_decode(const u8 *pd, u32 len, bool reject,
			 struct xiw_oob_reply *reply);

/*
 * Initiator: true if a Reply that accepts, or requests proofs, repeats both
 * queue pair numbers, and has only features that are offered
 */
bool xiw_oob_answers(const struct xiw_oob_path *path,
		     const struct xiw_oob_reply *reply);

/* True if the peer would refuse another try, too */
bool xiw_oob_final(u8 reason);

/* Inbound Reads and Atomics to negotiate. @limit: of the device */
u16 xiw_oob_ird(const struct xiw_oob_path *path, u16 limit);

/**
 * xiw_oob_ord() - outbound Reads and Atomics
 * @path: attributes set so far
 * @limit: before MPA negotiation the limit of the device, afterwards the
 *	negotiated ORD
 *
 * Before RTS the ULP's limit is not known.  MPA negotiates the largest possible
 * ORD, and the transition to RTS reduces it.
 *
 * Return: ORD for MPA negotiation, and for the queue pair.
 */
u16 xiw_oob_ord(const struct xiw_oob_path *path, u16 limit);

/**
 * xiw_oob_retry_ms() - timeout of work if the peer does not respond
 * @timeout: local ACK timeout as in the verbs, 0..31: 4.096 us * 2^timeout, or
 *	without end if 0
 * @retry_cnt: retries, 0..7
 *
 * The time after which a RoCE device would fail the request; section 6.
 *
 * Return: 1..XIW_OOB_WAIT_MAX_MS.
 */
u32 xiw_oob_retry_ms(u8 timeout, u8 retry_cnt);

/*
 * Timeout of work that waits for a stream, XIW_OOB_WAIT_MIN_MS..
 * XIW_OOB_WAIT_MAX_MS: as xiw_oob_retry_ms(), but at least long enough for
 * programs that are started one after the other
 */
u32 xiw_oob_wait_ms(u8 timeout, u8 retry_cnt);

/**
 * xiw_oob_receive_ms() - timeout of a message that waits for a receive
 * @peer: claim of the sender
 * @min_rnr_timer: of the receiver, as in the verbs, 0..31
 *
 * Section 6.
 *
 * Return: Milliseconds, rounded up; U32_MAX for no limit.
 */
u32 xiw_oob_receive_ms(const struct xiw_oob_claim *peer, u8 min_rnr_timer);

/**
 * xiw_oob_pause_ms() - Initiator: pause before the next try
 * @tries: tries that failed since the last success or change, from 1
 * @random: new random number
 * @local: the last one has failed without a packet to the peer
 *
 * Randomises the pause of section 5 by 50 % in both directions, so that
 * connections that failed together do not retry together.
 *
 * Return: XIW_OOB_PAUSE_MIN_MS / 2 .. XIW_OOB_PAUSE_MAX_MS * 3 / 2; if @local
 * ... XIW_OOB_PAUSE_LOCAL_MS * 3 / 2.
 */
u32 xiw_oob_pause_ms(u32 tries, u32 random, bool local);

#endif /* _XIW_PROTO_OOB_H */
