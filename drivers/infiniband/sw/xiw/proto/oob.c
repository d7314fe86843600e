// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Out-of-band connections: roles, encoding and checks of Request and Reply, and
 * the effect of queue pair attributes on the stream
 * (Documentation/oob.rst).  Independent of queue pairs and clocks.
 */
#include "oob.h"

static bool oob_is_ipv4(const u8 *gid)
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, mapped, sizeof(mapped));
}

bool xiw_oob_gid_usable(const u8 *gid)
{
	static const u8 zero[XIW_OOB_GID_LEN / 2];

	/* Exclude 0.0.0.0/8, multicast and everything above. */
	if (oob_is_ipv4(gid))
		return gid[12] && gid[12] < 224;
	return gid[0] != 0xff && memcmp(gid + sizeof(zero), zero, sizeof(zero));
}

static bool oob_qpn_valid(u32 qpn)
{
	return qpn >= XIW_OOB_QPN_MIN && qpn <= XIW_OOB_NUMBER;
}

int xiw_oob_path_check(const struct xiw_oob_path *path)
{
	const struct xiw_oob_token *token = &path->token;

	if (!oob_qpn_valid(path->own.qpn) ||
	    !oob_qpn_valid(path->peer.qpn) ||
	    token->rq_psn > XIW_OOB_NUMBER)
		return -EINVAL;
	if (token->rts && (token->sq_psn > XIW_OOB_NUMBER ||
			   token->rnr_retry > XIW_OOB_RNR_MAX))
		return -EINVAL;
	if (!xiw_oob_gid_usable(path->own.gid) ||
	    !xiw_oob_gid_usable(path->peer.gid))
		return -EADDRNOTAVAIL;
	if (oob_is_ipv4(path->own.gid) !=
	    oob_is_ipv4(path->peer.gid))
		return -EAFNOSUPPORT;
	return 0;
}

enum xiw_oob_role xiw_oob_role(const struct xiw_oob_end *own,
			       const struct xiw_oob_end *peer)
{
	int order = memcmp(own->gid, peer->gid, XIW_OOB_GID_LEN);

	if (!order && own->qpn == peer->qpn)
		return XIW_OOB_SELF;
	if (!order)
		order = own->qpn < peer->qpn ? -1 : 1;
	return order < 0 ? XIW_OOB_INITIATOR : XIW_OOB_RESPONDER;
}

static bool oob_same_end(const struct xiw_oob_end *a,
			 const struct xiw_oob_end *b)
{
	return a->qpn == b->qpn && !memcmp(a->gid, b->gid, XIW_OOB_GID_LEN);
}

/*
 * Proofs, section 4.4
 */

enum { OOB_OF_INITIATOR, OOB_OF_RESPONDER };
enum { OOB_OWN_PSN, OOB_PEER_PSN };

static u8 oob_flags(const struct xiw_oob_claim *claim)
{
	return claim->rts ? XIW_OOB_FLAG_S |
			    claim->rnr_retry << XIW_OOB_RNR_SHIFT : 0;
}

/* Proof computed by the end that made the claim. */
static u64 oob_proof(const struct xiw_oob_end *init,
		     const struct xiw_oob_end *resp,
		     const struct xiw_oob_nonces *nonces,
		     const struct xiw_oob_claim *claim, u8 who, u8 what,
		     u32 psn)
{
	siphash_key_t key = { .key = { psn } };
	struct xiw_oob_proven text = {
		.magic = cpu_to_be32(XIW_OOB_MAGIC),
		.version = XIW_OOB_VERSION,
		.who = who,
		.what = what,
		.flags = oob_flags(claim),
		.init_nonce = cpu_to_be64(nonces->init),
		.resp_nonce = cpu_to_be64(nonces->resp),
		.init_qpn = cpu_to_be32(init->qpn),
		.resp_qpn = cpu_to_be32(resp->qpn),
	};

	memcpy(text.init_gid, init->gid, XIW_OOB_GID_LEN);
	memcpy(text.resp_gid, resp->gid, XIW_OOB_GID_LEN);
	return siphash(&text, sizeof(text), &key);
}

/* Proof computed by this end, or with @peers by the peer. */
static u64 oob_proof_of(const struct xiw_oob_path *path,
			const struct xiw_oob_nonces *nonces,
			const struct xiw_oob_claim *claim, bool peers,
			u8 what, u32 psn)
{
	bool initiator = xiw_oob_role(&path->own, &path->peer) ==
			 XIW_OOB_INITIATOR;

	return oob_proof(initiator ? &path->own : &path->peer,
			 initiator ? &path->peer : &path->own, nonces,
			 claim, initiator != peers ? OOB_OF_INITIATOR :
						     OOB_OF_RESPONDER,
			 what, psn);
}

/* Claim of this end, without proofs. */
static void oob_claim(const struct xiw_oob_path *path,
		      struct xiw_oob_claim *claim)
{
	memset(claim, 0, sizeof(*claim));
	claim->rts = path->token.rts;
	if (claim->rts)
		claim->rnr_retry = path->token.rnr_retry;
}

static void oob_prove(const struct xiw_oob_path *path,
		      const struct xiw_oob_nonces *nonces,
		      struct xiw_oob_claim *claim)
{
	const struct xiw_oob_token *own = &path->token;

	claim->rq_proof = oob_proof_of(path, nonces, claim, false,
				       OOB_PEER_PSN, own->rq_psn);
	if (claim->rts)
		claim->sq_proof = oob_proof_of(path, nonces, claim,
					       false, OOB_OWN_PSN,
					       own->sq_psn);
}

bool xiw_oob_in_common(const struct xiw_oob_path *path,
		       const struct xiw_oob_claim *peer)
{
	return path->token.rts || peer->rts;
}

bool xiw_oob_proven(const struct xiw_oob_path *path,
		    const struct xiw_oob_nonces *nonces,
		    const struct xiw_oob_claim *peer)
{
	const struct xiw_oob_token *own = &path->token;

	if (xiw_oob_role(&path->own, &path->peer) == XIW_OOB_SELF)
		return true;
	if (peer->rts && peer->sq_proof !=
	    oob_proof_of(path, nonces, peer, true, OOB_OWN_PSN,
			 own->rq_psn))
		return false;
	if (own->rts && peer->rq_proof !=
	    oob_proof_of(path, nonces, peer, true, OOB_PEER_PSN,
			 own->sq_psn))
		return false;
	return xiw_oob_in_common(path, peer);
}

/*
 * Common to both frames
 */

static void oob_claim_encode(const struct xiw_oob_claim *claim,
			     struct xiw_oob_head *head,
			     struct xiw_oob_proofs *proofs)
{
	head->flags = oob_flags(claim);
	proofs->sq = cpu_to_be64(claim->sq_proof);
	proofs->rq = cpu_to_be64(claim->rq_proof);
}

/* Returns false if the claim is malformed. */
static bool oob_claim_decode(u8 flags,
			     const struct xiw_oob_proofs *proofs,
			     struct xiw_oob_claim *claim)
{
	claim->rts = flags & XIW_OOB_FLAG_S;
	claim->rnr_retry = (flags & XIW_OOB_FLAG_RNR) >> XIW_OOB_RNR_SHIFT;
	claim->sq_proof = be64_to_cpu(proofs->sq);
	claim->rq_proof = be64_to_cpu(proofs->rq);
	if (!claim->rts && (claim->rnr_retry || claim->sq_proof))
		return false;
	return !(flags & ~(XIW_OOB_FLAG_S | XIW_OOB_FLAG_RNR));
}

static void oob_head_encode(struct xiw_oob_head *head, u16 features,
			    u32 init_qpn, u32 resp_qpn)
{
	head->magic = cpu_to_be32(XIW_OOB_MAGIC);
	head->version = XIW_OOB_VERSION;
	head->features = cpu_to_be16(features);
	head->init_qpn = cpu_to_be32(init_qpn);
	head->resp_qpn = cpu_to_be32(resp_qpn);
}

/*
 * Request
 */

void xiw_oob_request_init(const struct xiw_oob_path *path,
			  const struct xiw_oob_nonces *nonces, bool proves,
			  u16 features, struct xiw_oob_request *req)
{
	memset(req, 0, sizeof(*req));
	req->init = path->own;
	req->resp = path->peer;
	req->proves = proves;
	req->nonce = nonces->init;
	req->features = features;
	oob_claim(path, &req->claim);
	if (proves)
		oob_prove(path, nonces, &req->claim);
}

u32 xiw_oob_request_encode(const struct xiw_oob_request *req, u8 *buf)
{
	struct xiw_oob_req_hdr *h = (struct xiw_oob_req_hdr *)buf;

	oob_head_encode(&h->head, req->features, req->init.qpn,
			req->resp.qpn);
	oob_claim_encode(&req->claim, &h->head, &h->proofs);
	if (req->proves)
		h->head.flags |= XIW_OOB_FLAG_P;
	memcpy(h->init_gid, req->init.gid, XIW_OOB_GID_LEN);
	memcpy(h->resp_gid, req->resp.gid, XIW_OOB_GID_LEN);
	h->nonce = cpu_to_be64(req->nonce);
	return XIW_OOB_REQ_LEN;
}

/* Without XIW_OOB_FLAG_P both proofs must be 0. */
static bool oob_read_claim(const struct xiw_oob_req_hdr *h,
			   struct xiw_oob_request *req)
{
	req->proves = h->head.flags & XIW_OOB_FLAG_P;
	if (!oob_claim_decode(h->head.flags & ~XIW_OOB_FLAG_P,
			      &h->proofs, &req->claim))
		return false;
	return req->proves || (!req->claim.sq_proof && !req->claim.rq_proof);
}

enum xiw_oob_reason xiw_oob_request_decode(const u8 *pd, u32 len,
					   struct xiw_oob_request *req)
{
	const struct xiw_oob_req_hdr *h = (const struct xiw_oob_req_hdr *)pd;
	struct xiw_oob_request out = {};

	if (len <= offsetof(struct xiw_oob_head, version) ||
	    be32_to_cpu(h->head.magic) != XIW_OOB_MAGIC)
		return XIW_OOB_MALFORMED;
	if (h->head.version != XIW_OOB_VERSION)
		return XIW_OOB_BAD_VERSION;
	if (len != XIW_OOB_REQ_LEN || !oob_read_claim(h, &out))
		return XIW_OOB_MALFORMED;
	out.init.qpn = be32_to_cpu(h->head.init_qpn);
	out.resp.qpn = be32_to_cpu(h->head.resp_qpn);
	if (!oob_qpn_valid(out.init.qpn) ||
	    !oob_qpn_valid(out.resp.qpn))
		return XIW_OOB_MALFORMED;
	out.nonce = be64_to_cpu(h->nonce);
	out.features = be16_to_cpu(h->head.features);
	memcpy(out.init.gid, h->init_gid, XIW_OOB_GID_LEN);
	memcpy(out.resp.gid, h->resp_gid, XIW_OOB_GID_LEN);
	*req = out;
	return XIW_OOB_OK;
}

bool xiw_oob_request_from(const struct xiw_oob_request *req, const u8 *local,
			  const u8 *remote)
{
	return !memcmp(req->resp.gid, local, XIW_OOB_GID_LEN) &&
	       !memcmp(req->init.gid, remote, XIW_OOB_GID_LEN);
}

bool xiw_oob_match(const struct xiw_oob_path *path,
		   const struct xiw_oob_request *req)
{
	return oob_same_end(&path->own, &req->resp) &&
	       oob_same_end(&path->peer, &req->init);
}

/*
 * Reply
 */

void xiw_oob_accept(const struct xiw_oob_path *path,
		    const struct xiw_oob_request *req,
		    const struct xiw_oob_nonces *nonces, u16 features,
		    struct xiw_oob_reply *reply)
{
	memset(reply, 0, sizeof(*reply));
	reply->init_qpn = req->init.qpn;
	reply->resp_qpn = req->resp.qpn;
	reply->features = req->features & features;
	oob_claim(path, &reply->claim);
	oob_prove(path, nonces, &reply->claim);
}

void xiw_oob_challenge(const struct xiw_oob_request *req, u64 nonce,
		       struct xiw_oob_reply *reply)
{
	xiw_oob_refuse(XIW_OOB_PROVE, req, reply);
	reply->nonce = nonce;
}

/* A refusal contains nothing derived from a PSN. */
void xiw_oob_refuse(enum xiw_oob_reason reason,
		    const struct xiw_oob_request *req,
		    struct xiw_oob_reply *reply)
{
	memset(reply, 0, sizeof(*reply));
	reply->reason = reason;
	if (!req)
		return;
	reply->init_qpn = req->init.qpn;
	reply->resp_qpn = req->resp.qpn;
}

u32 xiw_oob_reply_encode(const struct xiw_oob_reply *reply, u8 *buf)
{
	struct xiw_oob_rep_hdr *h = (struct xiw_oob_rep_hdr *)buf;

	oob_head_encode(&h->head, reply->features, reply->init_qpn,
			reply->resp_qpn);
	oob_claim_encode(&reply->claim, &h->head, &h->proofs);
	h->nonce = cpu_to_be64(reply->nonce);
	h->reason = reply->reason;
	memset(h->reserved, 0, sizeof(h->reserved));
	return XIW_OOB_REP_LEN;
}

/*
 * Every version has these fields in a refusal, later ones may append more.
 * XIW_OOB_PROVE requests a proof instead, so its version must be ours.
 */
static int oob_refusal_decode(const struct xiw_oob_rep_hdr *h, u32 len,
			      struct xiw_oob_reply *reply)
{
	bool prove = h->reason == XIW_OOB_PROVE;

	if (!h->reason || (prove && (len != XIW_OOB_REP_LEN ||
				     h->head.version != XIW_OOB_VERSION)))
		return -EPROTO;
	memset(reply, 0, sizeof(*reply));
	reply->reason = h->reason;
	reply->init_qpn = be32_to_cpu(h->head.init_qpn);
	reply->resp_qpn = be32_to_cpu(h->head.resp_qpn);
	if (prove)
		reply->nonce = be64_to_cpu(h->nonce);
	return 0;
}

int xiw_oob_reply_decode(const u8 *pd, u32 len, bool reject,
			 struct xiw_oob_reply *reply)
{
	const struct xiw_oob_rep_hdr *h = (const struct xiw_oob_rep_hdr *)pd;
	struct xiw_oob_reply out = {};

	if (len < XIW_OOB_REFUSAL_LEN ||
	    be32_to_cpu(h->head.magic) != XIW_OOB_MAGIC)
		return -EPROTO;
	if (reject)
		return oob_refusal_decode(h, len, reply);
	if (len != XIW_OOB_REP_LEN || h->head.version != XIW_OOB_VERSION ||
	    h->reason ||
	    !oob_claim_decode(h->head.flags, &h->proofs, &out.claim))
		return -EPROTO;
	out.init_qpn = be32_to_cpu(h->head.init_qpn);
	out.resp_qpn = be32_to_cpu(h->head.resp_qpn);
	out.features = be16_to_cpu(h->head.features);
	*reply = out;
	return 0;
}

bool xiw_oob_answers(const struct xiw_oob_path *path,
		     const struct xiw_oob_reply *reply)
{
	return reply->init_qpn == path->own.qpn &&
	       reply->resp_qpn == path->peer.qpn &&
	       !(reply->features & ~XIW_OOB_FEAT_ALL);
}

bool xiw_oob_final(u8 reason)
{
	return reason == XIW_OOB_MALFORMED || reason == XIW_OOB_BAD_VERSION ||
	       reason == XIW_OOB_BAD_ROLE;
}

/*
 * Attributes
 */

u16 xiw_oob_ird(const struct xiw_oob_path *path, u16 limit)
{
	return min_t(u16, path->max_dest_rd_atomic, limit);
}

u16 xiw_oob_ord(const struct xiw_oob_path *path, u16 limit)
{
	return path->token.rts ? min_t(u16, path->max_rd_atomic, limit) : limit;
}

u32 xiw_oob_retry_ms(u8 timeout, u8 retry_cnt)
{
	u32 units, ms;

	/* From 2^28 units on, a single try exceeds the limit. */
	if (!timeout || timeout >= 28)
		return XIW_OOB_WAIT_MAX_MS;
	units = (1U << timeout) * (min_t(u32, retry_cnt, 7) + 1);
	/* 4.096 us are 64 / 15625 ms. */
	ms = units / 15625 * 64 + (units % 15625 * 64 + 15624) / 15625;
	return min_t(u32, ms, XIW_OOB_WAIT_MAX_MS);
}

u32 xiw_oob_wait_ms(u8 timeout, u8 retry_cnt)
{
	return max_t(u32, xiw_oob_retry_ms(timeout, retry_cnt),
		     XIW_OOB_WAIT_MIN_MS);
}

/* IB RNR NAK timer codes, in units of 10 us: 1 2 3 4 6 8 12 16 ... */
static u32 oob_rnr_timer_units(u8 code)
{
	code &= 31;
	if (!code)
		return 65536;
	if (code == 1)
		return 1;
	return code & 1 ? 3U << (code - 3) / 2 : 1U << code / 2;
}

u32 xiw_oob_receive_ms(const struct xiw_oob_claim *peer, u8 min_rnr_timer)
{
	if (!peer->rts || peer->rnr_retry >= XIW_OOB_RNR_MAX)
		return U32_MAX;
	return (oob_rnr_timer_units(min_rnr_timer) *
			(peer->rnr_retry + 1U) +
		99) /
	       100;
}

u32 xiw_oob_pause_ms(u32 tries, u32 random, bool local)
{
	/* Doubled ten times, the pause exceeds both limits. */
	u32 doubled = min_t(u32, max_t(u32, tries, 1) - 1, 10);
	u32 ms = min_t(u32, XIW_OOB_PAUSE_MIN_MS << doubled,
		       local ? XIW_OOB_PAUSE_LOCAL_MS : XIW_OOB_PAUSE_MAX_MS);

	return ms / 2 + random % (ms + 1);
}
