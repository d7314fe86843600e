/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue pairs that are connected by number: what they tell each other in the
 * Private Data of MPA startup, and every decision that follows from it or from
 * the attributes that a consumer sets.  Documentation/rendezvous.rst is the
 * specification; the sections named below are its own.
 */
#ifndef _XIW_RENDEZVOUS_H
#define _XIW_RENDEZVOUS_H

#include "wire.h"

/* Numbers of queue pairs that can be connected, section 2 */
#define XIW_RDV_QPN_MIN		2

/* Bounds of the time that work waits for a stream, milliseconds, section 6 */
#define XIW_RDV_WAIT_MIN_MS	5000
#define XIW_RDV_WAIT_MAX_MS	600000

/* Pause of an Initiator before its next try, milliseconds, section 5 */
#define XIW_RDV_PAUSE_MIN_MS	5
#define XIW_RDV_PAUSE_MAX_MS	1000

/**
 * struct xiw_rdv_end - one end of a connection
 * @gid: an IPv6 address, or an IPv4 address mapped to one
 * @qpn: queue pair number
 */
struct xiw_rdv_end {
	u8 gid[XIW_RDV_GID_LEN];
	u32 qpn;
};

/**
 * struct xiw_rdv_token - what tells one use of a queue pair from the next: the
 *	secret that the consumers share
 * @rts: the queue pair has come to RTS; without, only @rq_psn is known
 * @rnr_retry: how often the consumer wants a receiver that is not ready to be
 *	tried again, 0..7
 * @sq_psn: PSN that the queue pair begins to send with
 * @rq_psn: PSN that it expects of its peer
 */
struct xiw_rdv_token {
	bool rts;
	u8 rnr_retry;
	u32 sq_psn;
	u32 rq_psn;
};

/**
 * struct xiw_rdv_nonces - random numbers of one connection
 * @init: of the Initiator
 * @resp: of the Responder
 */
struct xiw_rdv_nonces {
	u64 init;
	u64 resp;
};

/**
 * struct xiw_rdv_claim - what an end says of itself, and how it proves that
 * @rts: it has come to RTS; without, @rnr_retry and @sq_proof are 0
 * @rnr_retry: as in its token
 * @sq_proof: proof that it knows its own PSN
 * @rq_proof: proof that it knows the one that it expects
 */
struct xiw_rdv_claim {
	bool rts;
	u8 rnr_retry;
	u64 sq_proof;
	u64 rq_proof;
};

/**
 * struct xiw_rdv_path - what the consumer of a queue pair has set
 * @own: this end: the GID of the source index and the number
 * @peer: the other end: destination GID and number
 * @token: PSNs and RNR retries
 * @max_dest_rd_atomic: inbound Reads and Atomics that it wants to admit
 * @max_rd_atomic: outbound ones; known with @token.rts
 */
struct xiw_rdv_path {
	struct xiw_rdv_end own;
	struct xiw_rdv_end peer;
	struct xiw_rdv_token token;
	u8 max_dest_rd_atomic;
	u8 max_rd_atomic;
};

/**
 * enum xiw_rdv_role - which end connects, section 3
 * @XIW_RDV_INITIATOR: this one
 * @XIW_RDV_RESPONDER: the other one
 * @XIW_RDV_SELF: both ends are the same queue pair
 */
enum xiw_rdv_role {
	XIW_RDV_INITIATOR,
	XIW_RDV_RESPONDER,
	XIW_RDV_SELF,
};

/**
 * enum xiw_rdv_reason - why a Request is refused, as in the Reply, section 4.3
 * @XIW_RDV_OK: it is not
 * @XIW_RDV_MALFORMED: no Request for rendezvous, or not well formed
 * @XIW_RDV_BAD_VERSION: a version that the Responder does not know
 * @XIW_RDV_NO_MATCH: TCP says that it comes from or goes to another address
 * @XIW_RDV_BAD_ROLE: the other end would have to be the Responder
 * @XIW_RDV_BUSY: no room to wait for the queue pair to come to RTR
 * @XIW_RDV_LATE: no queue pair was there for it in time
 * @XIW_RDV_FAILED: the Responder lacked memory, or was going away
 * @XIW_RDV_PROVE: it is not yet; the Initiator is to prove what it knows
 * @XIW_RDV_REASON_COUNT: number of reasons, not a reason
 */
enum xiw_rdv_reason {
	XIW_RDV_OK		= 0,
	XIW_RDV_MALFORMED	= 1,
	XIW_RDV_BAD_VERSION	= 2,
	XIW_RDV_NO_MATCH	= 3,
	XIW_RDV_BAD_ROLE	= 5,
	XIW_RDV_BUSY		= 6,
	XIW_RDV_LATE		= 7,
	XIW_RDV_FAILED		= 8,
	XIW_RDV_PROVE		= 9,
	XIW_RDV_REASON_COUNT
};

/**
 * struct xiw_rdv_request - Private Data of a Request
 * @init: the Initiator
 * @resp: the Responder
 * @claim: of the Initiator; proofs are 0 without @proves
 * @proves: it answers a Reply with XIW_RDV_PROVE
 * @nonce: of the Initiator
 * @features: mask of XIW_RDV_FEAT_* that it offers, and others from later ones
 */
struct xiw_rdv_request {
	struct xiw_rdv_end init;
	struct xiw_rdv_end resp;
	struct xiw_rdv_claim claim;
	bool proves;
	u64 nonce;
	u16 features;
};

/**
 * struct xiw_rdv_reply - Private Data of a Reply
 * @reason: XIW_RDV_OK in one that accepts; in one that refuses any other value
 *	of an octet, also unknown ones
 * @init_qpn: number of the Initiator's queue pair, repeated
 * @resp_qpn: likewise
 * @claim: of the Responder; all zero in one that refuses
 * @nonce: of the Responder, with XIW_RDV_PROVE; else 0
 * @features: what is agreed on; 0 in one that refuses
 */
struct xiw_rdv_reply {
	u8 reason;
	u32 init_qpn;
	u32 resp_qpn;
	struct xiw_rdv_claim claim;
	u64 nonce;
	u16 features;
};

/**
 * xiw_rdv_gid_usable() - does a GID name a host
 * @gid: GID
 *
 * A unicast address, section 2.  What has nothing in the low half is none:
 * GIDs made of hardware addresses look like that.
 *
 * Context: Any.
 * Return: true if it does.
 */
bool xiw_rdv_gid_usable(const u8 *gid);

/**
 * xiw_rdv_path_check() - can a queue pair be connected so
 * @path: ends and token
 *
 * Context: Any.
 * Return: 0; -EINVAL for a number or PSN out of range; -EADDRNOTAVAIL for a
 * GID that names no host; -EAFNOSUPPORT if one is IPv4 and the other IPv6.
 */
int xiw_rdv_path_check(const struct xiw_rdv_path *path);

/**
 * xiw_rdv_role() - which end connects
 * @own: this end
 * @peer: the other end
 *
 * The one whose GID, or if they are equal, whose number is less; section 3.
 *
 * Context: Any.
 * Return: Role of this end.
 */
enum xiw_rdv_role xiw_rdv_role(const struct xiw_rdv_end *own,
			       const struct xiw_rdv_end *peer);

/**
 * xiw_rdv_request_init() - Initiator: what to say
 * @path: what the consumer has set so far
 * @nonces: of the connection
 * @proves: what is known is to be proven; else no proof is made
 * @features: what to offer
 * @req: result
 *
 * Context: Any.
 */
void xiw_rdv_request_init(const struct xiw_rdv_path *path,
			  const struct xiw_rdv_nonces *nonces, bool proves,
			  u16 features, struct xiw_rdv_request *req);

/**
 * xiw_rdv_request_encode() - build the Private Data of a Request
 * @req: what to encode; numbers within 24 bits
 * @buf: XIW_RDV_REQ_LEN octets, written
 *
 * Context: Any.
 * Return: Octets written.
 */
u32 xiw_rdv_request_encode(const struct xiw_rdv_request *req, u8 *buf);

/**
 * xiw_rdv_request_decode() - read the Private Data of a Request
 * @pd: Private Data
 * @len: octets of it
 * @req: result, written only on success
 *
 * Context: Any.
 * Return: XIW_RDV_OK, XIW_RDV_MALFORMED or XIW_RDV_BAD_VERSION.
 */
enum xiw_rdv_reason xiw_rdv_request_decode(const u8 *pd, u32 len,
					   struct xiw_rdv_request *req);

/**
 * xiw_rdv_request_from() - does a Request come from where it says
 * @req: decoded Request
 * @local: address at which TCP accepted it, as a GID
 * @remote: address that it came from, as a GID
 *
 * Context: Any.
 * Return: true if both addresses are those of the Request.
 */
bool xiw_rdv_request_from(const struct xiw_rdv_request *req, const u8 *local,
			  const u8 *remote);

/**
 * xiw_rdv_match() - Responder: is this the Request a queue pair waits for
 * @path: what the consumer of the queue pair has set so far
 * @req: decoded Request
 *
 * Section 4.4; the proofs are looked at apart from that.
 *
 * Context: Any.
 * Return: true if both ends are those of the path.
 */
bool xiw_rdv_match(const struct xiw_rdv_path *path,
		   const struct xiw_rdv_request *req);

/**
 * xiw_rdv_in_common() - is there a PSN that both ends know
 * @path: what the consumer has set so far
 * @peer: what the peer has said
 *
 * Context: Any.
 * Return: false as long as neither has come to RTS.
 */
bool xiw_rdv_in_common(const struct xiw_rdv_path *path,
		       const struct xiw_rdv_claim *peer);

/**
 * xiw_rdv_proven() - has the peer proven that it is the one that was named
 * @path: what the consumer has set so far
 * @nonces: of the connection
 * @peer: what the peer has said
 *
 * It has if there is a PSN that both know, and each one is proven. To be
 * repeated when the queue pair comes to RTS, before it sends anything: then it
 * knows one more. A queue pair that is its own peer has nothing to prove.
 *
 * Context: Any.
 * Return: true if it has.
 */
bool xiw_rdv_proven(const struct xiw_rdv_path *path,
		    const struct xiw_rdv_nonces *nonces,
		    const struct xiw_rdv_claim *peer);

/**
 * xiw_rdv_accept() - Responder: what to say to a Request that matches and was
 *	proven
 * @path: what the consumer has set so far
 * @req: decoded Request
 * @nonces: of the connection
 * @features: what this side can do
 * @reply: result
 *
 * Context: Any.
 */
void xiw_rdv_accept(const struct xiw_rdv_path *path,
		    const struct xiw_rdv_request *req,
		    const struct xiw_rdv_nonces *nonces, u16 features,
		    struct xiw_rdv_reply *reply);

/**
 * xiw_rdv_challenge() - Responder: have the Initiator prove what it knows
 * @req: decoded Request
 * @nonce: random number, another one each time
 * @reply: result
 *
 * Context: Any.
 */
void xiw_rdv_challenge(const struct xiw_rdv_request *req, u64 nonce,
		       struct xiw_rdv_reply *reply);

/**
 * xiw_rdv_refuse() - Responder: what to say to any other
 * @reason: why
 * @req: decoded Request, or NULL if it could not be
 * @reply: result
 *
 * Context: Any.
 */
void xiw_rdv_refuse(enum xiw_rdv_reason reason,
		    const struct xiw_rdv_request *req,
		    struct xiw_rdv_reply *reply);

/**
 * xiw_rdv_reply_encode() - build the Private Data of a Reply
 * @reply: what to encode
 * @buf: XIW_RDV_REP_LEN octets, written
 *
 * Context: Any.
 * Return: Octets written.
 */
u32 xiw_rdv_reply_encode(const struct xiw_rdv_reply *reply, u8 *buf);

/**
 * xiw_rdv_reply_decode() - read the Private Data of a Reply
 * @pd: Private Data
 * @len: octets of it
 * @reject: the Reply refuses
 * @reply: result, written only on success
 *
 * Context: Any.
 * Return: 0, or -EPROTO if it is not well formed.
 */
int xiw_rdv_reply_decode(const u8 *pd, u32 len, bool reject,
			 struct xiw_rdv_reply *reply);

/**
 * xiw_rdv_answers() - Initiator: is this the answer to a Request
 * @req: the Request as it was sent
 * @reply: decoded Reply that accepts, or wants a proof
 *
 * Context: Any.
 * Return: true if it names both ends and agrees on no more than was offered.
 */
bool xiw_rdv_answers(const struct xiw_rdv_request *req,
		     const struct xiw_rdv_reply *reply);

/**
 * xiw_rdv_final() - is it of no use to try again
 * @reason: reason of a refusal
 *
 * Context: Any.
 * Return: true if the peer will say the same to the next Request.
 */
bool xiw_rdv_final(u8 reason);

/**
 * xiw_rdv_ird() - inbound Reads and Atomics to ask for, or to accept with
 * @path: what the consumer has set
 * @limit: what the device can do
 *
 * Context: Any.
 * Return: IRD for MPA startup.
 */
u16 xiw_rdv_ird(const struct xiw_rdv_path *path, u16 limit);

/**
 * xiw_rdv_ord() - outbound Reads and Atomics
 * @path: what the consumer has set so far
 * @limit: before startup what the device can do, afterwards what startup has
 *	agreed on
 *
 * Before RTS the consumer's wish is not known.  Startup then agrees on as many
 * as possible, and with RTS it becomes less.
 *
 * Context: Any.
 * Return: ORD for MPA startup, and for the queue pair.
 */
u16 xiw_rdv_ord(const struct xiw_rdv_path *path, u16 limit);

/**
 * xiw_rdv_retry_ms() - how long may work wait for a peer that does not answer
 * @timeout: local ACK timeout as in the verbs, 0..31: 4.096 us * 2^timeout, or
 *	without end if 0
 * @retry_cnt: retries, 0..7
 *
 * What a RoCE device would take to give up; section 6.
 *
 * Context: Any.
 * Return: 1..XIW_RDV_WAIT_MAX_MS.
 */
u32 xiw_rdv_retry_ms(u8 timeout, u8 retry_cnt);

/**
 * xiw_rdv_wait_ms() - how long may work wait for a stream
 * @timeout: as above
 * @retry_cnt: as above
 *
 * Likewise, but long enough for programs that begin one after the other.
 *
 * Context: Any.
 * Return: XIW_RDV_WAIT_MIN_MS..XIW_RDV_WAIT_MAX_MS.
 */
u32 xiw_rdv_wait_ms(u8 timeout, u8 retry_cnt);

/**
 * xiw_rdv_receive_ms() - how long may a message wait for a receive
 * @peer: what the sender has said
 * @min_rnr_timer: of the receiver, as in the verbs, 0..31
 *
 * Section 6.
 *
 * Context: Any.
 * Return: Milliseconds, rounded up; U32_MAX for without end.
 */
u32 xiw_rdv_receive_ms(const struct xiw_rdv_claim *peer, u8 min_rnr_timer);

/**
 * xiw_rdv_pause_ms() - Initiator: when to try again
 * @tries: how many have failed since the last success or change, from 1
 * @random: any number, another one each time
 *
 * From half as long to half as long again as section 5 says, so that many that
 * have failed at once do not try again at once.
 *
 * Context: Any.
 * Return: XIW_RDV_PAUSE_MIN_MS / 2 .. XIW_RDV_PAUSE_MAX_MS * 3 / 2.
 */
u32 xiw_rdv_pause_ms(u32 tries, u32 random);

#endif /* _XIW_RENDEZVOUS_H */
