// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Out of band: Private Data of peers against a plain reading of the document,
 * and the decisions of two ends against each other.
 */
#include "fuzz.h"
#include "oob.h"

static bool model_claim(u8 flags, const u8 *proofs)
{
	if (flags & 0x8e)
		return false;
	return flags & 1 || (!flags && !fuzz_be64(proofs));
}

static bool model_number(const u8 *p)
{
	return fuzz_be(p, 4) >= 2 && fuzz_be(p, 4) < 1 << 24;
}

static enum xiw_oob_reason model_request(const u8 *pd, size_t len)
{
	if (len < 5 || memcmp(pd, "XRDV", 4))
		return XIW_OOB_MALFORMED;
	if (pd[4] != 2)
		return XIW_OOB_BAD_VERSION;
	if (len != 72 || !model_claim(pd[5] & ~2, pd + 56) ||
	    !model_number(pd + 8) || !model_number(pd + 12))
		return XIW_OOB_MALFORMED;
	if (!(pd[5] & 2) && (fuzz_be64(pd + 56) || fuzz_be64(pd + 64)))
		return XIW_OOB_MALFORMED;
	return XIW_OOB_OK;
}

static void hostile_request(const u8 *data, size_t len)
{
	struct xiw_oob_request req;
	u8 *pd = fuzz_dup(data, len);
	u8 again[XIW_OOB_REQ_LEN];
	enum xiw_oob_reason got;

	got = xiw_oob_request_decode(pd, len, &req);
	CHECK(got == model_request(pd, len));
	if (got == XIW_OOB_OK) {
		CHECK(xiw_oob_request_encode(&req, again) == len);
		CHECK(!memcmp(again, pd, len));
		CHECK(xiw_oob_request_from(&req, pd + 32, pd + 16));
	}
	free(pd);
}

static void hostile_reply(const u8 *data, size_t len, bool reject)
{
	struct xiw_oob_reply reply;
	u8 *pd = fuzz_dup(data, len);
	u8 again[XIW_OOB_REP_LEN];
	bool good;

	good = len >= 28 && !memcmp(pd, "XRDV", 4);
	if (good && reject)
		good = pd[24] && (pd[24] != 9 || (len == 44 && pd[4] == 2));
	else if (good)
		good = len == 44 && pd[4] == 2 && !pd[24] &&
		       model_claim(pd[5], pd + 28);
	CHECK(xiw_oob_reply_decode(pd, len, reject, &reply) ==
	      (good ? 0 : -EPROTO));
	if (good && reject) {
		CHECK(reply.reason == pd[24] && !reply.features);
		CHECK(!reply.claim.rts && !reply.claim.rq_proof);
		CHECK(reply.nonce == (pd[24] == 9 ? fuzz_be64(pd + 16) : 0));
	} else if (good) {
		CHECK(xiw_oob_reply_encode(&reply, again) == len);
		CHECK(!memcmp(again, pd, 16));
		CHECK(!memcmp(again + 28, pd + 28, 16));
	}
	free(pd);
}

/* Few different values, so that some are equal. */
static void take_end(struct fuzz_in *in, struct xiw_oob_end *end)
{
	u8 kind = fuzz_u8(in);

	memset(end, 0, sizeof(*end));
	if (kind & 1)
		memset(end->gid + 10, 0xff, 2);
	else
		end->gid[0] = kind & 2 ? 0xfe : 0x20;
	end->gid[12] = kind & 4 ? 10 : 192;
	end->gid[15] = kind >> 3 & 1;
	end->qpn = 2 + (kind >> 4 & 3);
	if (kind & 0x80)
		end->qpn = 2 + (fuzz_edge(in) & 0x7fffff);
}

static void take_token(struct fuzz_in *in, struct xiw_oob_token *own,
		       struct xiw_oob_token *peer)
{
	u8 kind = fuzz_u8(in);

	own->rts = kind & 1;
	own->rnr_retry = kind >> 1 & 7;
	own->sq_psn = fuzz_edge(in) & XIW_OOB_NUMBER;
	peer->rq_psn = kind & 0x40 ? fuzz_edge(in) & XIW_OOB_NUMBER :
				     own->sq_psn;
	/* RNR retries are not in a frame before RTS. */
	if (!own->rts)
		own->rnr_retry = 0;
}

static bool knows_wrong(const struct xiw_oob_token *from,
			const struct xiw_oob_token *to)
{
	return from->rts && from->sq_psn != to->rq_psn;
}

/* B receives the frames of A; both must reach the same conclusion. */
static void meet(const struct xiw_oob_path *a, const struct xiw_oob_path *b,
		 bool mirrored)
{
	const struct xiw_oob_nonces nonces = { 1, 2 }, others = { 1, 3 };
	struct xiw_oob_request req, got;
	struct xiw_oob_reply reply, heard;
	u8 pd[XIW_OOB_REQ_LEN];
	bool known, good;

	xiw_oob_request_init(a, &nonces, true, XIW_OOB_FEAT_ALL, &req);
	CHECK(xiw_oob_request_encode(&req, pd) == sizeof(pd));
	CHECK(xiw_oob_request_decode(pd, sizeof(pd), &got) == XIW_OOB_OK);
	CHECK(xiw_oob_match(b, &got) == mirrored);
	if (!mirrored || xiw_oob_role(&a->own, &a->peer) != XIW_OOB_INITIATOR)
		return;
	known = a->token.rts || b->token.rts;
	good = known && !knows_wrong(&a->token, &b->token) &&
	       !knows_wrong(&b->token, &a->token);
	CHECK(xiw_oob_in_common(b, &got.claim) == known);
	CHECK(xiw_oob_proven(b, &nonces, &got.claim) == good);
	CHECK(!xiw_oob_proven(b, &others, &got.claim));

	xiw_oob_challenge(&got, nonces.resp, &reply);
	CHECK(xiw_oob_reply_encode(&reply, pd) == XIW_OOB_REP_LEN);
	CHECK(!xiw_oob_reply_decode(pd, XIW_OOB_REP_LEN, true, &heard));
	CHECK(heard.reason == XIW_OOB_PROVE && heard.nonce == nonces.resp);
	CHECK(xiw_oob_answers(a, &heard));

	xiw_oob_accept(b, &got, &nonces, XIW_OOB_FEAT_ALL, &reply);
	xiw_oob_reply_encode(&reply, pd);
	CHECK(!xiw_oob_reply_decode(pd, XIW_OOB_REP_LEN, false, &heard));
	CHECK(xiw_oob_answers(a, &heard));
	CHECK(xiw_oob_proven(a, &nonces, &heard.claim) == good);
	CHECK(!xiw_oob_proven(a, &others, &heard.claim));
	CHECK(heard.features == XIW_OOB_FEAT_ALL);
}

static void two_ends(struct fuzz_in *in)
{
	struct xiw_oob_path a = {}, b = {};
	enum xiw_oob_role one, other;
	bool mirrored;

	take_end(in, &a.own);
	take_end(in, &a.peer);
	b.own = a.peer;
	b.peer = a.own;
	take_token(in, &a.token, &b.token);
	take_token(in, &b.token, &a.token);
	if (fuzz_u8(in) & 1)
		take_end(in, &b.own);
	mirrored = !memcmp(&b.own, &a.peer, sizeof(b.own));

	/* Exactly one end connects, unless both are the same queue pair. */
	one = xiw_oob_role(&a.own, &a.peer);
	other = xiw_oob_role(&a.peer, &a.own);
	if (!memcmp(&a.own, &a.peer, sizeof(a.own)))
		CHECK(one == XIW_OOB_SELF && other == XIW_OOB_SELF);
	else
		CHECK(one != XIW_OOB_SELF && other != XIW_OOB_SELF &&
		      one != other);
	meet(&a, &b, mirrored);
	meet(&b, &a, mirrored);
}

static bool model_host(const u8 *gid)
{
	if (!fuzz_be64(gid) && fuzz_be(gid + 8, 4) == 0xffff)
		return gid[12] > 0 && gid[12] < 224;
	return gid[0] < 0xff && fuzz_be64(gid + 8);
}

static int model_path(const struct xiw_oob_path *p)
{
	const u32 limit = 1 << 24;
	bool v4[2];

	if (p->own.qpn < 2 || p->own.qpn >= limit || p->peer.qpn < 2 ||
	    p->peer.qpn >= limit || p->token.rq_psn >= limit)
		return -EINVAL;
	if (p->token.rts &&
	    (p->token.sq_psn >= limit || p->token.rnr_retry > 7))
		return -EINVAL;
	if (!model_host(p->own.gid) || !model_host(p->peer.gid))
		return -EADDRNOTAVAIL;
	v4[0] = !fuzz_be64(p->own.gid) && fuzz_be(p->own.gid + 8, 4) == 0xffff;
	v4[1] = !fuzz_be64(p->peer.gid) &&
		fuzz_be(p->peer.gid + 8, 4) == 0xffff;
	return v4[0] == v4[1] ? 0 : -EAFNOSUPPORT;
}

/* Attributes with any values. */
static void attributes(struct fuzz_in *in)
{
	struct xiw_oob_path path = {};
	u16 limit = fuzz_u16(in);
	u8 kind = fuzz_u8(in);

	take_end(in, &path.own);
	take_end(in, &path.peer);
	if (kind & 1)
		fuzz_take(in, path.peer.gid, sizeof(path.peer.gid));
	if (kind & 2)
		path.own.gid[12] = fuzz_u8(in);
	if (kind & 4)
		path.peer.qpn = fuzz_edge(in);
	path.token.rts = kind & 8;
	path.token.rnr_retry = kind >> 4;
	path.token.sq_psn = fuzz_edge(in);
	path.token.rq_psn = fuzz_edge(in);
	path.max_dest_rd_atomic = fuzz_u8(in);
	path.max_rd_atomic = fuzz_u8(in);

	CHECK(xiw_oob_path_check(&path) == model_path(&path));
	CHECK(xiw_oob_ird(&path, limit) ==
	      min_t(u32, limit, path.max_dest_rd_atomic));
	CHECK(xiw_oob_ord(&path, limit) ==
	      (path.token.rts ? min_t(u32, limit, path.max_rd_atomic) : limit));
	CHECK(!xiw_oob_final(XIW_OOB_OK));
	CHECK(!xiw_oob_final(kind | 0x80));
}

static void times(struct fuzz_in *in)
{
	struct xiw_oob_claim peer = { .rts = true };
	u8 timeout = fuzz_u8(in), retry = fuzz_u8(in);
	u32 tries = fuzz_edge(in);
	double ms = 0.004096 * (1ULL << (timeout & 31)) *
		    (min_t(u32, retry, 7) + 1);
	u32 got = xiw_oob_wait_ms(timeout, retry);
	u32 alone = xiw_oob_retry_ms(timeout, retry);
	bool local = fuzz_u8(in) & 1;

	CHECK(got >= 5000 && got <= 600000);
	if (!timeout || timeout > 31)
		CHECK(got == 600000);
	else if (ms >= 5000 && ms <= 600000)
		CHECK(got >= ms - 0.001 && got < ms + 2);
	else
		CHECK(got == (ms < 5000 ? 5000 : 600000));
	CHECK(max_t(u32, alone, 5000) == got);
	CHECK(!timeout || timeout > 31 || ms > 5000 ||
	      (alone >= ms - 0.001 && alone < ms + 2));

	got = xiw_oob_pause_ms(tries, fuzz_edge(in), local);
	CHECK(got >= 2 && got <= (local ? XIW_OOB_PAUSE_LOCAL_MS :
					  XIW_OOB_PAUSE_MAX_MS) * 3 / 2);
	CHECK(tries == U32_MAX ||
	      xiw_oob_pause_ms(tries + 1, 0, local) * 3 + 4 >= got);

	peer.rnr_retry = retry & 7;
	got = xiw_oob_receive_ms(&peer, timeout);
	CHECK((got == U32_MAX) == (peer.rnr_retry == 7));
	CHECK(got && (got == U32_MAX || got <= 7 * 656));
	peer.rts = false;
	CHECK(xiw_oob_receive_ms(&peer, timeout) == U32_MAX);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u8 mode = fuzz_u8(&in);

	switch (mode & 7) {
	case 0:
		hostile_request(in.data, in.left);
		break;
	case 1:
	case 2:
		hostile_reply(in.data, in.left, mode & 1);
		break;
	case 3:
		times(&in);
		break;
	case 4:
		attributes(&in);
		break;
	default:
		two_ends(&in);
	}
	return 0;
}
