// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rendezvous as arithmetic: who connects, what a Request and a Reply say, which
 * of them belong together, and what the attributes of a queue pair mean for the
 * stream (Documentation/rendezvous.rst).  Knows neither queue pairs nor clocks.
 */
#include "rendezvous.h"

static bool is_ipv4(const u8 *gid)
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, mapped, sizeof(mapped));
}

bool xiw_rdv_gid_usable(const u8 *gid)
{
	static const u8 zero[XIW_RDV_GID_LEN / 2];

	/* Neither "this network", nor multicast and what is above that. */
	if (is_ipv4(gid))
		return gid[12] && gid[12] < 224;
	return gid[0] != 0xff && memcmp(gid + sizeof(zero), zero, sizeof(zero));
}

static bool qpn_valid(u32 qpn)
{
	return qpn >= XIW_RDV_QPN_MIN && qpn <= XIW_RDV_NUMBER;
}

int xiw_rdv_path_check(const struct xiw_rdv_path *path)
{
	const struct xiw_rdv_token *token = &path->token;

	if (!qpn_valid(path->own.qpn) || !qpn_valid(path->peer.qpn) ||
	    token->rq_psn > XIW_RDV_NUMBER)
		return -EINVAL;
	if (token->rts && (token->sq_psn > XIW_RDV_NUMBER ||
			   token->rnr_retry > XIW_RDV_RNR_MAX))
		return -EINVAL;
	if (!xiw_rdv_gid_usable(path->own.gid) ||
	    !xiw_rdv_gid_usable(path->peer.gid))
		return -EADDRNOTAVAIL;
	if (is_ipv4(path->own.gid) != is_ipv4(path->peer.gid))
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

static bool same_end(const struct xiw_rdv_end *a, const struct xiw_rdv_end *b)
{
	return a->qpn == b->qpn && !memcmp(a->gid, b->gid, XIW_RDV_GID_LEN);
}

/*
 * What both frames have
 */

static void token_encode(const struct xiw_rdv_token *token,
			 struct xiw_rdv_head *head)
{
	u32 sq = 0;

	if (token->rts)
		sq = (u32)token->rnr_retry << XIW_RDV_RNR_SHIFT |
		     (token->sq_psn & XIW_RDV_NUMBER);
	head->flags = token->rts ? XIW_RDV_FLAG_S : 0;
	head->sq = cpu_to_be32(sq);
	head->rq = cpu_to_be32(token->rq_psn & XIW_RDV_NUMBER);
}

/* False if the token is none. */
static bool token_decode(const struct xiw_rdv_head *head,
			 struct xiw_rdv_token *token)
{
	u32 sq = be32_to_cpu(head->sq);

	token->rts = head->flags & XIW_RDV_FLAG_S;
	token->rnr_retry = sq >> XIW_RDV_RNR_SHIFT;
	token->sq_psn = sq & XIW_RDV_NUMBER;
	token->rq_psn = be32_to_cpu(head->rq);
	if (token->rts ? token->rnr_retry > XIW_RDV_RNR_MAX : sq)
		return false;
	return !(head->flags & ~XIW_RDV_FLAG_S) &&
	       token->rq_psn <= XIW_RDV_NUMBER;
}

static void head_encode(struct xiw_rdv_head *head, u16 features, u32 init_qpn,
			u32 resp_qpn, const struct xiw_rdv_token *token)
{
	head->magic = cpu_to_be32(XIW_RDV_MAGIC);
	head->version = XIW_RDV_VERSION;
	head->features = cpu_to_be16(features);
	head->init_qpn = cpu_to_be32(init_qpn);
	head->resp_qpn = cpu_to_be32(resp_qpn);
	token_encode(token, head);
}

/*
 * Request
 */

void xiw_rdv_request_init(const struct xiw_rdv_path *path, u16 features,
			  struct xiw_rdv_request *req)
{
	memset(req, 0, sizeof(*req));
	req->init = path->own;
	req->resp = path->peer;
	req->token = path->token;
	req->features = features;
}

u32 xiw_rdv_request_encode(const struct xiw_rdv_request *req, u8 *buf)
{
	struct xiw_rdv_req_hdr *h = (struct xiw_rdv_req_hdr *)buf;

	head_encode(&h->head, req->features, req->init.qpn, req->resp.qpn,
		    &req->token);
	memcpy(h->init_gid, req->init.gid, XIW_RDV_GID_LEN);
	memcpy(h->resp_gid, req->resp.gid, XIW_RDV_GID_LEN);
	return XIW_RDV_REQ_LEN;
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
	if (len != XIW_RDV_REQ_LEN || !token_decode(&h->head, &out.token))
		return XIW_RDV_MALFORMED;
	out.init.qpn = be32_to_cpu(h->head.init_qpn);
	out.resp.qpn = be32_to_cpu(h->head.resp_qpn);
	if (!qpn_valid(out.init.qpn) || !qpn_valid(out.resp.qpn))
		return XIW_RDV_MALFORMED;
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

bool xiw_rdv_token_check(const struct xiw_rdv_token *own,
			 const struct xiw_rdv_token *peer)
{
	if (own->rts && own->sq_psn != peer->rq_psn)
		return false;
	return !peer->rts || peer->sq_psn == own->rq_psn;
}

enum xiw_rdv_reason xiw_rdv_match(const struct xiw_rdv_path *path,
				  const struct xiw_rdv_request *req)
{
	if (xiw_rdv_role(&req->init, &req->resp) != XIW_RDV_INITIATOR)
		return XIW_RDV_BAD_ROLE;
	if (!same_end(&path->own, &req->resp) ||
	    !same_end(&path->peer, &req->init))
		return XIW_RDV_NO_MATCH;
	return xiw_rdv_token_check(&path->token, &req->token) ?
	       XIW_RDV_OK : XIW_RDV_BAD_TOKEN;
}

/*
 * Reply
 */

void xiw_rdv_accept(const struct xiw_rdv_path *path,
		    const struct xiw_rdv_request *req, u16 features,
		    struct xiw_rdv_reply *reply)
{
	memset(reply, 0, sizeof(*reply));
	reply->init_qpn = req->init.qpn;
	reply->resp_qpn = req->resp.qpn;
	reply->token = path->token;
	reply->features = req->features & features;
}

/* Whoever is refused learns no PSN. */
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

	head_encode(&h->head, reply->features, reply->init_qpn,
		    reply->resp_qpn, &reply->token);
	h->reason = reply->reason;
	memset(h->reserved, 0, sizeof(h->reserved));
	return XIW_RDV_REP_LEN;
}

/* A refusal has this form in every version, and may be longer in later ones. */
static int refusal_decode(const struct xiw_rdv_rep_hdr *h,
			  struct xiw_rdv_reply *reply)
{
	if (!h->reason)
		return -EPROTO;
	memset(reply, 0, sizeof(*reply));
	reply->reason = h->reason;
	reply->init_qpn = be32_to_cpu(h->head.init_qpn);
	reply->resp_qpn = be32_to_cpu(h->head.resp_qpn);
	return 0;
}

int xiw_rdv_reply_decode(const u8 *pd, u32 len, bool reject,
			 struct xiw_rdv_reply *reply)
{
	const struct xiw_rdv_rep_hdr *h = (const struct xiw_rdv_rep_hdr *)pd;
	struct xiw_rdv_reply out = {};

	if (len < XIW_RDV_REP_LEN ||
	    be32_to_cpu(h->head.magic) != XIW_RDV_MAGIC)
		return -EPROTO;
	if (reject)
		return refusal_decode(h, reply);
	if (len != XIW_RDV_REP_LEN || h->head.version != XIW_RDV_VERSION ||
	    h->reason || !token_decode(&h->head, &out.token))
		return -EPROTO;
	out.init_qpn = be32_to_cpu(h->head.init_qpn);
	out.resp_qpn = be32_to_cpu(h->head.resp_qpn);
	out.features = be16_to_cpu(h->head.features);
	*reply = out;
	return 0;
}

bool xiw_rdv_check_reply(const struct xiw_rdv_path *path,
			 const struct xiw_rdv_request *req,
			 const struct xiw_rdv_reply *reply)
{
	return reply->init_qpn == req->init.qpn &&
	       reply->resp_qpn == req->resp.qpn &&
	       !(reply->features & ~req->features) &&
	       xiw_rdv_token_check(&path->token, &reply->token);
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

	/* From 2^28 on it is more than the bound, however few the tries. */
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

/* The table of the verbs, in units of 10 us: 1 2 3 4 6 8 12 16 ... */
static u32 rnr_timer_units(u8 code)
{
	code &= 31;
	if (!code)
		return 65536;
	if (code == 1)
		return 1;
	return code & 1 ? 3U << (code - 3) / 2 : 1U << code / 2;
}

u32 xiw_rdv_receive_ms(const struct xiw_rdv_token *peer, u8 min_rnr_timer)
{
	if (!peer->rts || peer->rnr_retry >= XIW_RDV_RNR_MAX)
		return U32_MAX;
	return (rnr_timer_units(min_rnr_timer) * (peer->rnr_retry + 1U) + 99) /
	       100;
}

u32 xiw_rdv_pause_ms(u32 tries, u32 random)
{
	/* Eight times twice as long as the first is beyond the bound. */
	u32 doubled = min_t(u32, max_t(u32, tries, 1) - 1, 8);
	u32 ms = min_t(u32, XIW_RDV_PAUSE_MIN_MS << doubled,
		       XIW_RDV_PAUSE_MAX_MS);

	return ms / 2 + random % (ms + 1);
}
