// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Out-of-band connections: roles, encoding and checks of Request and Reply, and
 * the effect of queue pair attributes on the stream
 * (Documentation/rendezvous.rst).  Independent of queue pairs and clocks.
 */
#include "rendezvous.h"

static bool rendezvous_is_ipv4(const u8 *gid)
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, mapped, sizeof(mapped));
}

bool xiw_rdv_gid_usable(const u8 *gid)
{
	static const u8 zero[XIW_RDV_GID_LEN / 2];

	/* Exclude 0.0.0.0/8, multicast and everything above. */
	if (rendezvous_is_ipv4(gid))
		return gid[12] && gid[12] < 224;
	return gid[0] != 0xff && memcmp(gid + sizeof(zero), zero, sizeof(zero));
}

static bool rendezvous_qpn_valid(u32 qpn)
{
	return qpn >= XIW_RDV_QPN_MIN && qpn <= XIW_RDV_NUMBER;
}

int xiw_rdv_path_check(const struct xiw_rdv_path *path)
{
	const struct xiw_rdv_token *token = &path->token;

	if (!rendezvous_qpn_valid(path->own.qpn) ||
	    !rendezvous_qpn_valid(path->peer.qpn) ||
	    token->rq_psn > XIW_RDV_NUMBER)
		return -EINVAL;
	if (token->rts && (token->sq_psn > XIW_RDV_NUMBER ||
			   token->rnr_retry > XIW_RDV_RNR_MAX))
		return -EINVAL;
	if (!xiw_rdv_gid_usable(path->own.gid) ||
	    !xiw_rdv_gid_usable(path->peer.gid))
		return -EADDRNOTAVAIL;
	if (rendezvous_is_ipv4(path->own.gid) !=
	    rendezvous_is_ipv4(path->peer.gid))
		return -EAFNOSUPPORT;
	return 0;
}

enum xiw_rdv_role xiw_rdv_role(const struct xiw_rdv_end *own,
			       const struct xiw_rdv_end *peer)
{
	int order = memcmp(own->gid, peer->gid, XIW_RDV_GID_LEN);

	if (!order && own->qpn == peer->qpn)
		return XIW_RDV_SELF;
	if (!order)
		order = own->qpn < peer->qpn ? -1 : 1;
	return order < 0 ? XIW_RDV_INITIATOR : XIW_RDV_RESPONDER;
}

static bool rendezvous_same_end(const struct xiw_rdv_end *a,
				const struct xiw_rdv_end *b)
{
	return a->qpn == b->qpn && !memcmp(a->gid, b->gid, XIW_RDV_GID_LEN);
}

/*
 * Proofs, section 4.4
 */

enum { RDV_OF_INITIATOR, RDV_OF_RESPONDER };
enum { RDV_OWN_PSN, RDV_PEER_PSN };

static u8 rendezvous_flags(const struct xiw_rdv_claim *claim)
{
	return claim->rts ? XIW_RDV_FLAG_S |
			    claim->rnr_retry << XIW_RDV_RNR_SHIFT : 0;
}

/* Proof computed by the end that made the claim. */
static u64 rendezvous_proof(const struct xiw_rdv_end *init,
			    const struct xiw_rdv_end *resp,
			    const struct xiw_rdv_nonces *nonces,
			    const struct xiw_rdv_claim *claim, u8 who, u8 what,
			    u32 psn)
{
	siphash_key_t key = { .key = { psn } };
	struct xiw_rdv_proven text = {
		.magic = cpu_to_be32(XIW_RDV_MAGIC),
		.version = XIW_RDV_VERSION,
		.who = who,
		.what = what,
		.flags = rendezvous_flags(claim),
		.init_nonce = cpu_to_be64(nonces->init),
		.resp_nonce = cpu_to_be64(nonces->resp),
		.init_qpn = cpu_to_be32(init->qpn),
		.resp_qpn = cpu_to_be32(resp->qpn),
	};

	memcpy(text.init_gid, init->gid, XIW_RDV_GID_LEN);
	memcpy(text.resp_gid, resp->gid, XIW_RDV_GID_LEN);
	return siphash(&text, sizeof(text), &key);
}

/* Proof computed by this end, or with @peers by the peer. */
static u64 rendezvous_proof_of(const struct xiw_rdv_path *path,
			       const struct xiw_rdv_nonces *nonces,
			       const struct xiw_rdv_claim *claim, bool peers,
			       u8 what, u32 psn)
{
	bool initiator = xiw_rdv_role(&path->own, &path->peer) ==
			 XIW_RDV_INITIATOR;

	return rendezvous_proof(initiator ? &path->own : &path->peer,
				initiator ? &path->peer : &path->own, nonces,
				claim, initiator != peers ? RDV_OF_INITIATOR :
							    RDV_OF_RESPONDER,
				what, psn);
}

/* Claim of this end, without proofs. */
static void rendezvous_claim(const struct xiw_rdv_path *path,
			     struct xiw_rdv_claim *claim)
{
	memset(claim, 0, sizeof(*claim));
	claim->rts = path->token.rts;
	if (claim->rts)
		claim->rnr_retry = path->token.rnr_retry;
}

static void rendezvous_prove(const struct xiw_rdv_path *path,
			     const struct xiw_rdv_nonces *nonces,
			     struct xiw_rdv_claim *claim)
{
	const struct xiw_rdv_token *own = &path->token;

	claim->rq_proof = rendezvous_proof_of(path, nonces, claim, false,
					      RDV_PEER_PSN, own->rq_psn);
	if (claim->rts)
		claim->sq_proof = rendezvous_proof_of(path, nonces, claim,
						      false, RDV_OWN_PSN,
						      own->sq_psn);
}

bool xiw_rdv_in_common(const struct xiw_rdv_path *path,
		       const struct xiw_rdv_claim *peer)
{
	return path->token.rts || peer->rts;
}

bool xiw_rdv_proven(const struct xiw_rdv_path *path,
		    const struct xiw_rdv_nonces *nonces,
		    const struct xiw_rdv_claim *peer)
{
	const struct xiw_rdv_token *own = &path->token;

	if (xiw_rdv_role(&path->own, &path->peer) == XIW_RDV_SELF)
		return true;
	if (peer->rts && peer->sq_proof !=
	    rendezvous_proof_of(path, nonces, peer, true, RDV_OWN_PSN,
				own->rq_psn))
		return false;
	if (own->rts && peer->rq_proof !=
	    rendezvous_proof_of(path, nonces, peer, true, RDV_PEER_PSN,
				own->sq_psn))
		return false;
	return xiw_rdv_in_common(path, peer);
}

/*
 * Common to both frames
 */

static void rendezvous_claim_encode(const struct xiw_rdv_claim *claim,
				    struct xiw_rdv_head *head,
				    struct xiw_rdv_proofs *proofs)
{
	head->flags = rendezvous_flags(claim);
	proofs->sq = cpu_to_be64(claim->sq_proof);
	proofs->rq = cpu_to_be64(claim->rq_proof);
}

/* Returns false if the claim is malformed. */
static bool rendezvous_claim_decode(u8 flags,
				    const struct xiw_rdv_proofs *proofs,
				    struct xiw_rdv_claim *claim)
{
	claim->rts = flags & XIW_RDV_FLAG_S;
	claim->rnr_retry = (flags & XIW_RDV_FLAG_RNR) >> XIW_RDV_RNR_SHIFT;
	claim->sq_proof = be64_to_cpu(proofs->sq);
	claim->rq_proof = be64_to_cpu(proofs->rq);
	if (!claim->rts && (claim->rnr_retry || claim->sq_proof))
		return false;
	return !(flags & ~(XIW_RDV_FLAG_S | XIW_RDV_FLAG_RNR));
}

static void rendezvous_head_encode(struct xiw_rdv_head *head, u16 features,
				   u32 init_qpn, u32 resp_qpn)
{
	head->magic = cpu_to_be32(XIW_RDV_MAGIC);
	head->version = XIW_RDV_VERSION;
	head->features = cpu_to_be16(features);
	head->init_qpn = cpu_to_be32(init_qpn);
	head->resp_qpn = cpu_to_be32(resp_qpn);
}

/*
 * Request
 */

void xiw_rdv_request_init(const struct xiw_rdv_path *path,
			  const struct xiw_rdv_nonces *nonces, bool proves,
			  u16 features, struct xiw_rdv_request *req)
{
	memset(req, 0, sizeof(*req));
	req->init = path->own;
	req->resp = path->peer;
	req->proves = proves;
	req->nonce = nonces->init;
	req->features = features;
	rendezvous_claim(path, &req->claim);
	if (proves)
		rendezvous_prove(path, nonces, &req->claim);
}

u32 xiw_rdv_request_encode(const struct xiw_rdv_request *req, u8 *buf)
{
	struct xiw_rdv_req_hdr *h = (struct xiw_rdv_req_hdr *)buf;

	rendezvous_head_encode(&h->head, req->features, req->init.qpn,
			       req->resp.qpn);
	rendezvous_claim_encode(&req->claim, &h->head, &h->proofs);
	if (req->proves)
		h->head.flags |= XIW_RDV_FLAG_P;
	memcpy(h->init_gid, req->init.gid, XIW_RDV_GID_LEN);
	memcpy(h->resp_gid, req->resp.gid, XIW_RDV_GID_LEN);
	h->nonce = cpu_to_be64(req->nonce);
	return XIW_RDV_REQ_LEN;
}

/* Without XIW_RDV_FLAG_P both proofs must be 0. */
static bool rendezvous_read_claim(const struct xiw_rdv_req_hdr *h,
				  struct xiw_rdv_request *req)
{
	req->proves = h->head.flags & XIW_RDV_FLAG_P;
	if (!rendezvous_claim_decode(h->head.flags & ~XIW_RDV_FLAG_P,
				     &h->proofs, &req->claim))
		return false;
	return req->proves || (!req->claim.sq_proof && !req->claim.rq_proof);
}

enum xiw_rdv_reason xiw_rdv_request_decode(const u8 *pd, u32 len,
					   struct xiw_rdv_request *req)
{
	const struct xiw_rdv_req_hdr *h = (const struct xiw_rdv_req_hdr *)pd;
	struct xiw_rdv_request out = {};

	if (len <= offsetof(struct xiw_rdv_head, version) ||
	    be32_to_cpu(h->head.magic) != XIW_RDV_MAGIC)
		return XIW_RDV_MALFORMED;
	if (h->head.version != XIW_RDV_VERSION)
		return XIW_RDV_BAD_VERSION;
	if (len != XIW_RDV_REQ_LEN || !rendezvous_read_claim(h, &out))
		return XIW_RDV_MALFORMED;
	out.init.qpn = be32_to_cpu(h->head.init_qpn);
	out.resp.qpn = be32_to_cpu(h->head.resp_qpn);
	if (!rendezvous_qpn_valid(out.init.qpn) ||
	    !rendezvous_qpn_valid(out.resp.qpn))
		return XIW_RDV_MALFORMED;
	out.nonce = be64_to_cpu(h->nonce);
	out.features = be16_to_cpu(h->head.features);
	memcpy(out.init.gid, h->init_gid, XIW_RDV_GID_LEN);
	memcpy(out.resp.gid, h->resp_gid, XIW_RDV_GID_LEN);
	*req = out;
	return XIW_RDV_OK;
}

bool xiw_rdv_request_from(const struct xiw_rdv_request *req, const u8 *local,
			  const u8 *remote)
{
	return !memcmp(req->resp.gid, local, XIW_RDV_GID_LEN) &&
	       !memcmp(req->init.gid, remote, XIW_RDV_GID_LEN);
}

bool xiw_rdv_match(const struct xiw_rdv_path *path,
		   const struct xiw_rdv_request *req)
{
	return rendezvous_same_end(&path->own, &req->resp) &&
	       rendezvous_same_end(&path->peer, &req->init);
}

/*
 * Reply
 */

void xiw_rdv_accept(const struct xiw_rdv_path *path,
		    const struct xiw_rdv_request *req,
		    const struct xiw_rdv_nonces *nonces, u16 features,
		    struct xiw_rdv_reply *reply)
{
	memset(reply, 0, sizeof(*reply));
	reply->init_qpn = req->init.qpn;
	reply->resp_qpn = req->resp.qpn;
	reply->features = req->features & features;
	rendezvous_claim(path, &reply->claim);
	rendezvous_prove(path, nonces, &reply->claim);
}

void xiw_rdv_challenge(const struct xiw_rdv_request *req, u64 nonce,
		       struct xiw_rdv_reply *reply)
{
	xiw_rdv_refuse(XIW_RDV_PROVE, req, reply);
	reply->nonce = nonce;
}

/* A refusal contains nothing derived from a PSN. */
void xiw_rdv_refuse(enum xiw_rdv_reason reason,
		    const struct xiw_rdv_request *req,
		    struct xiw_rdv_reply *reply)
{
	memset(reply, 0, sizeof(*reply));
	reply->reason = reason;
	if (!req)
		return;
	reply->init_qpn = req->init.qpn;
	reply->resp_qpn = req->resp.qpn;
}

u32 xiw_rdv_reply_encode(const struct xiw_rdv_reply *reply, u8 *buf)
{
	struct xiw_rdv_rep_hdr *h = (struct xiw_rdv_rep_hdr *)buf;

	rendezvous_head_encode(&h->head, reply->features, reply->init_qpn,
			       reply->resp_qpn);
	rendezvous_claim_encode(&reply->claim, &h->head, &h->proofs);
	h->nonce = cpu_to_be64(reply->nonce);
	h->reason = reply->reason;
	memset(h->reserved, 0, sizeof(h->reserved));
	return XIW_RDV_REP_LEN;
}

/*
 * Every version has these fields in a refusal, later ones may append more.
 * XIW_RDV_PROVE requests a proof instead, so its version must be ours.
 */
static int rendezvous_refusal_decode(const struct xiw_rdv_rep_hdr *h, u32 len,
				     struct xiw_rdv_reply *reply)
{
	bool prove = h->reason == XIW_RDV_PROVE;

	if (!h->reason || (prove && (len != XIW_RDV_REP_LEN ||
				     h->head.version != XIW_RDV_VERSION)))
		return -EPROTO;
	memset(reply, 0, sizeof(*reply));
	reply->reason = h->reason;
	reply->init_qpn = be32_to_cpu(h->head.init_qpn);
	reply->resp_qpn = be32_to_cpu(h->head.resp_qpn);
	if (prove)
		reply->nonce = be64_to_cpu(h->nonce);
	return 0;
}

int xiw_rdv_reply_decode(const u8 *pd, u32 len, bool reject,
			 struct xiw_rdv_reply *reply)
{
	const struct xiw_rdv_rep_hdr *h = (const struct xiw_rdv_rep_hdr *)pd;
	struct xiw_rdv_reply out = {};

	if (len < XIW_RDV_REFUSAL_LEN ||
	    be32_to_cpu(h->head.magic) != XIW_RDV_MAGIC)
		return -EPROTO;
	if (reject)
		return rendezvous_refusal_decode(h, len, reply);
	if (len != XIW_RDV_REP_LEN || h->head.version != XIW_RDV_VERSION ||
	    h->reason ||
	    !rendezvous_claim_decode(h->head.flags, &h->proofs, &out.claim))
		return -EPROTO;
	out.init_qpn = be32_to_cpu(h->head.init_qpn);
	out.resp_qpn = be32_to_cpu(h->head.resp_qpn);
	out.features = be16_to_cpu(h->head.features);
	*reply = out;
	return 0;
}

bool xiw_rdv_answers(const struct xiw_rdv_request *req,
		     const struct xiw_rdv_reply *reply)
{
	return reply->init_qpn == req->init.qpn &&
	       reply->resp_qpn == req->resp.qpn &&
	       !(reply->features & ~req->features);
}

bool xiw_rdv_final(u8 reason)
{
	return reason == XIW_RDV_MALFORMED || reason == XIW_RDV_BAD_VERSION ||
	       reason == XIW_RDV_BAD_ROLE;
}

/*
 * Attributes
 */

u16 xiw_rdv_ird(const struct xiw_rdv_path *path, u16 limit)
{
	return min_t(u16, path->max_dest_rd_atomic, limit);
}

u16 xiw_rdv_ord(const struct xiw_rdv_path *path, u16 limit)
{
	return path->token.rts ? min_t(u16, path->max_rd_atomic, limit) : limit;
}

u32 xiw_rdv_retry_ms(u8 timeout, u8 retry_cnt)
{
	u32 units, ms;

	/* From 2^28 units on, a single try exceeds the limit. */
	if (!timeout || timeout >= 28)
		return XIW_RDV_WAIT_MAX_MS;
	units = (1U << timeout) * (min_t(u32, retry_cnt, 7) + 1);
	/* 4.096 us are 64 / 15625 ms. */
	ms = units / 15625 * 64 + (units % 15625 * 64 + 15624) / 15625;
	return min_t(u32, ms, XIW_RDV_WAIT_MAX_MS);
}

u32 xiw_rdv_wait_ms(u8 timeout, u8 retry_cnt)
{
	return max_t(u32, xiw_rdv_retry_ms(timeout, retry_cnt),
		     XIW_RDV_WAIT_MIN_MS);
}

/* IB RNR NAK timer codes, in units of 10 us: 1 2 3 4 6 8 12 16 ... */
static u32 rendezvous_rnr_timer_units(u8 code)
{
	code &= 31;
	if (!code)
		return 65536;
	if (code == 1)
		return 1;
	return code & 1 ? 3U << (code - 3) / 2 : 1U << code / 2;
}

u32 xiw_rdv_receive_ms(const struct xiw_rdv_claim *peer, u8 min_rnr_timer)
{
	if (!peer->rts || peer->rnr_retry >= XIW_RDV_RNR_MAX)
		return U32_MAX;
	return (rendezvous_rnr_timer_units(min_rnr_timer) *
			(peer->rnr_retry + 1U) +
		99) /
	       100;
}

u32 xiw_rdv_pause_ms(u32 tries, u32 random)
{
	/* Doubled eight times, the pause exceeds its limit. */
	u32 doubled = min_t(u32, max_t(u32, tries, 1) - 1, 8);
	u32 ms = min_t(u32, XIW_RDV_PAUSE_MIN_MS << doubled,
		       XIW_RDV_PAUSE_MAX_MS);

	return ms / 2 + random % (ms + 1);
}
