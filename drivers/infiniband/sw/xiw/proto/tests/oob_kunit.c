// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Out-of-band connections: the example frames of Documentation/oob.rst,
 * byte by byte, and its rules for roles, for matching a Request to a queue
 * pair, and for timeouts.
 */
#include <linux/kernel.h>

#include "../mpa.h"
#include "../oob.h"
#include "util.h"

enum { REQUEST_V4, CHALLENGE_V4, PROOF_V4, REPLY_V4, REQUEST_V6, REFUSAL_V6 };

/* The example frames of Documentation/oob.rst section 10 */
static const char * const frames[] = {
	[REQUEST_V4] =
	"4d504120 49442052 65712046 72616d65 5002004c 8010c001 58524456 02710001 00012345 00abcdef 00000000 00000000 0000ffff c0000201 00000000 00000000 0000ffff c0000202 01020304 05060708 00000000 00000000 00000000 00000000",
	[CHALLENGE_V4] =
	"4d504120 49442052 65702046 72616d65 70020030 8001c010 58524456 02000000 00012345 00abcdef 11121314 15161718 09000000 00000000 00000000 00000000 00000000",
	[PROOF_V4] =
	"4d504120 49442052 65712046 72616d65 5002004c 8010c001 58524456 02730001 00012345 00abcdef 00000000 00000000 0000ffff c0000201 00000000 00000000 0000ffff c0000202 01020304 05060708 ff7fc41d abe73218 03035063 6b62ddb6",
	[REPLY_V4] =
	"4d504120 49442052 65702046 72616d65 50020030 8001c010 58524456 02710001 00012345 00abcdef 00000000 00000000 00000000 9f34ed38 e6e6428f e05d79df a694e7ce",
	[REQUEST_V6] =
	"4d504120 49442052 65712046 72616d65 5002004c 8001c080 58524456 02020001 00000002 00ffffff 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 01020304 05060708 00000000 00000000 e617531d d30c33e5",
	[REFUSAL_V6] =
	"4d504120 49442052 65702046 72616d65 70020030 8080c001 58524456 02000000 00000002 00ffffff 00000000 00000000 03000000 00000000 00000000 00000000 00000000",
};

#define V4(a, b, c, d) \
	{ [10] = 0xff, [11] = 0xff, [12] = (a), [13] = (b), [14] = (c), \
	  [15] = (d) }
#define V6(last) \
	{ 0x20, 0x01, 0x0d, 0xb8, [15] = (last) }

/* The two ends of the first example exchange. */
static struct xiw_oob_path path_a(void)
{
	return (struct xiw_oob_path){
		.own = { V4(192, 0, 2, 1), 0x012345 },
		.peer = { V4(192, 0, 2, 2), 0xabcdef },
		.token = { true, 7, 0x111111, 0x222222 },
		.max_dest_rd_atomic = 16,
		.max_rd_atomic = 1,
	};
}

static struct xiw_oob_path path_b(void)
{
	return (struct xiw_oob_path){
		.own = { V4(192, 0, 2, 2), 0xabcdef },
		.peer = { V4(192, 0, 2, 1), 0x012345 },
		.token = { true, 7, 0x222222, 0x111111 },
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 16,
	};
}

/* The Initiator of the second example exchange; it is not at RTS. */
static struct xiw_oob_path path_v6(void)
{
	return (struct xiw_oob_path){
		.own = { V6(1), 2 },
		.peer = { V6(2), 0xffffff },
		.max_dest_rd_atomic = 1,
	};
}

static const struct xiw_oob_nonces nonces = {
	.init = 0x0102030405060708, .resp = 0x1112131415161718,
};

/* The Request of a path, with proofs. */
static struct xiw_oob_request request_of(const struct xiw_oob_path *path)
{
	struct xiw_oob_request req;

	xiw_oob_request_init(path, &nonces, true, XIW_OOB_FEAT_IMM, &req);
	return req;
}

static struct xiw_oob_request first_of(const struct xiw_oob_path *path)
{
	struct xiw_oob_request req;

	xiw_oob_request_init(path, &nonces, false, XIW_OOB_FEAT_IMM, &req);
	return req;
}

/* Compare a frame, built as the connection path builds it, with its vector. */
static void expect_frame(struct kunit *test, int frame,
			 struct xiw_mpa_frame *f, const u8 *pd)
{
	u8 want[XIW_MPA_FRAME_MAX];
	u8 buf[XIW_MPA_FRAME_MAX];
	u32 len = xiw_test_hex(test, frames[frame], want, sizeof(want));

	f->rev = 2;
	f->crc = true;
	f->enhanced = true;
	f->enh.p2p = true;
	f->enh.rtr = XIW_RTR_WRITE | XIW_RTR_READ;
	KUNIT_ASSERT_EQ(test, xiw_mpa_frame_encode(buf, sizeof(buf), f, pd),
			len);
	KUNIT_EXPECT_MEMEQ(test, buf, want, len);
}

/* The Private Data of a vector. */
static u32 pd_of(struct kunit *test, int frame, bool reply, u8 *pd)
{
	u8 buf[XIW_MPA_FRAME_MAX];
	u32 len = xiw_test_hex(test, frames[frame], buf, sizeof(buf));
	struct xiw_mpa_frame f;

	KUNIT_ASSERT_EQ(test, xiw_mpa_frame_decode(buf, len, reply, &f), 0);
	memcpy(pd, buf + f.pd_off, f.pd_len);
	return f.pd_len;
}

/* Covers: RDV-04 RDV-05 */
static void oob_requests_are_as_shown(struct kunit *test)
{
	struct xiw_mpa_frame f = { .enh = { .ird = 16, .ord = 1 } };
	struct xiw_oob_path path = path_a();
	struct xiw_oob_request req = first_of(&path);
	u8 pd[XIW_OOB_REQ_LEN];

	f.pd_len = xiw_oob_request_encode(&req, pd);
	expect_frame(test, REQUEST_V4, &f, pd);
	req = request_of(&path);
	xiw_oob_request_encode(&req, pd);
	expect_frame(test, PROOF_V4, &f, pd);

	path = path_v6();
	req = request_of(&path);
	f.pd_len = xiw_oob_request_encode(&req, pd);
	f.enh.ird = xiw_oob_ird(&path, 128);
	f.enh.ord = xiw_oob_ord(&path, 128);
	expect_frame(test, REQUEST_V6, &f, pd);
}

/* Covers: RDV-06 RDV-10 */
static void oob_replies_are_as_shown(struct kunit *test)
{
	struct xiw_mpa_frame f = {
		.reply = true,
		.enh = { .ird = 1, .ord = 16 },
	};
	struct xiw_oob_path a = path_a();
	struct xiw_oob_path b = path_b();
	struct xiw_oob_request req = request_of(&a);
	struct xiw_oob_reply reply;
	u8 pd[XIW_OOB_REP_LEN];

	xiw_oob_accept(&b, &req, &nonces, XIW_OOB_FEAT_ALL, &reply);
	f.pd_len = xiw_oob_reply_encode(&reply, pd);
	expect_frame(test, REPLY_V4, &f, pd);
	xiw_oob_challenge(&req, nonces.resp, &reply);
	xiw_oob_reply_encode(&reply, pd);
	f.reject = true;
	expect_frame(test, CHALLENGE_V4, &f, pd);

	a = path_v6();
	req = request_of(&a);
	xiw_oob_refuse(XIW_OOB_NO_MATCH, &req, &reply);
	f.pd_len = xiw_oob_reply_encode(&reply, pd);
	f.enh.ird = 128;
	f.enh.ord = 1;
	expect_frame(test, REFUSAL_V6, &f, pd);
}

/* Covers: RDV-04 RDV-06 */
static void oob_frames_decode(struct kunit *test)
{
	struct xiw_oob_request req, want;
	struct xiw_oob_reply reply;
	struct xiw_oob_path path;
	u8 pd[XIW_MPA_PD_MAX];
	u32 len;

	path = path_a();
	want = first_of(&path);
	len = pd_of(test, REQUEST_V4, false, pd);
	memset(&req, 0, sizeof(req));
	KUNIT_ASSERT_EQ(test, xiw_oob_request_decode(pd, len, &req),
			XIW_OOB_OK);
	KUNIT_EXPECT_MEMEQ(test, &req, &want, sizeof(req));

	want = request_of(&path);
	len = pd_of(test, PROOF_V4, false, pd);
	KUNIT_ASSERT_EQ(test, xiw_oob_request_decode(pd, len, &req),
			XIW_OOB_OK);
	KUNIT_EXPECT_MEMEQ(test, &req, &want, sizeof(req));

	len = pd_of(test, CHALLENGE_V4, true, pd);
	KUNIT_ASSERT_EQ(test, xiw_oob_reply_decode(pd, len, true, &reply), 0);
	KUNIT_EXPECT_EQ(test, reply.reason, XIW_OOB_PROVE);
	KUNIT_EXPECT_EQ(test, reply.nonce, nonces.resp);
	KUNIT_EXPECT_TRUE(test, xiw_oob_answers(&path, &reply));

	len = pd_of(test, REPLY_V4, true, pd);
	KUNIT_ASSERT_EQ(test, xiw_oob_reply_decode(pd, len, false, &reply), 0);
	KUNIT_EXPECT_EQ(test, reply.reason, XIW_OOB_OK);
	KUNIT_EXPECT_EQ(test, reply.features, XIW_OOB_FEAT_IMM);
	KUNIT_EXPECT_EQ(test, reply.claim.rnr_retry, 7);
	KUNIT_EXPECT_TRUE(test, xiw_oob_answers(&path, &reply));
	KUNIT_EXPECT_TRUE(test, xiw_oob_proven(&path, &nonces, &reply.claim));

	len = pd_of(test, REFUSAL_V6, true, pd);
	KUNIT_ASSERT_EQ(test, xiw_oob_reply_decode(pd, len, true, &reply), 0);
	KUNIT_EXPECT_EQ(test, reply.reason, XIW_OOB_NO_MATCH);
	KUNIT_EXPECT_EQ(test, reply.init_qpn, 2);
	KUNIT_EXPECT_EQ(test, reply.resp_qpn, 0xffffff);
	KUNIT_EXPECT_FALSE(test, reply.claim.rts);
}

/* One changed byte of the Private Data, and the expected result. */
struct damage {
	u32 at;
	u8 value;
	enum xiw_oob_reason reason;
};

/* Covers: RDV-07 */
static void oob_refuses_damaged_requests(struct kunit *test)
{
	static const struct damage rows[] = {
		{ 0, 'x', XIW_OOB_MALFORMED },
		{ 3, 'v', XIW_OOB_MALFORMED },
		{ 4, 0, XIW_OOB_BAD_VERSION },
		{ 4, 1, XIW_OOB_BAD_VERSION },
		{ 5, 0x77, XIW_OOB_MALFORMED },	/* an unknown flag */
		{ 5, 0xf3, XIW_OOB_MALFORMED },	/* another unknown flag */
		{ 5, 0x71, XIW_OOB_MALFORMED },	/* proofs without P */
		{ 5, 0x02, XIW_OOB_MALFORMED },	/* sq proof without S */
		{ 5, 0x72, XIW_OOB_MALFORMED },	/* RNR retries without S */
		{ 5, 0x03, XIW_OOB_OK },
		{ 6, 0x80, XIW_OOB_OK },	/* an unknown feature */
		{ 8, 0x01, XIW_OOB_MALFORMED },
		{ 12, 0x01, XIW_OOB_MALFORMED },
	};
	struct xiw_oob_request req;
	u8 pd[XIW_MPA_PD_MAX];
	unsigned int i;
	u32 len;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		len = pd_of(test, PROOF_V4, false, pd);
		pd[rows[i].at] = rows[i].value;
		KUNIT_EXPECT_EQ_MSG(test, xiw_oob_request_decode(pd, len, &req),
				    rows[i].reason, "row %u", i);
	}
	for (i = 0; i < 2 * XIW_OOB_REQ_LEN; i++) {
		pd_of(test, PROOF_V4, false, pd);
		if (i == XIW_OOB_REQ_LEN)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, xiw_oob_request_decode(pd, i, &req),
				    XIW_OOB_MALFORMED, "length %u", i);
		/* Only the start of an unknown version is decoded. */
		pd[4] = 9;
		KUNIT_EXPECT_EQ_MSG(test, xiw_oob_request_decode(pd, i, &req),
				    i < 5 ? XIW_OOB_MALFORMED :
				    XIW_OOB_BAD_VERSION, "length %u", i);
	}
	pd_of(test, PROOF_V4, false, pd);
	memset(pd + 8, 0, 4);
	KUNIT_EXPECT_EQ(test, xiw_oob_request_decode(pd, len, &req),
			XIW_OOB_MALFORMED);
}

/* Covers: RDV-07 */
static void oob_refuses_damaged_replies(struct kunit *test)
{
	static const struct damage rows[] = {
		{ 0, 'x', XIW_OOB_MALFORMED },
		{ 4, 1, XIW_OOB_MALFORMED },
		{ 5, 0x73, XIW_OOB_MALFORMED },
		{ 5, 0x70, XIW_OOB_MALFORMED },
		{ 5, 0x00, XIW_OOB_MALFORMED },
		{ 24, XIW_OOB_BUSY, XIW_OOB_MALFORMED },
		{ 27, 0xff, XIW_OOB_OK },	/* reserved */
	};
	struct xiw_oob_reply reply;
	u8 pd[XIW_MPA_PD_MAX];
	unsigned int i;
	u32 len;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		len = pd_of(test, REPLY_V4, true, pd);
		pd[rows[i].at] = rows[i].value;
		KUNIT_EXPECT_EQ_MSG(test,
				    xiw_oob_reply_decode(pd, len, false,
							 &reply),
				    rows[i].reason ? -EPROTO : 0, "row %u", i);
	}
	len = pd_of(test, REPLY_V4, true, pd);
	KUNIT_EXPECT_EQ(test, xiw_oob_reply_decode(pd, len + 1, false, &reply),
			-EPROTO);
	for (i = 0; i < len; i++) {
		KUNIT_EXPECT_EQ(test, xiw_oob_reply_decode(pd, i, false,
							   &reply), -EPROTO);
		KUNIT_EXPECT_EQ(test, xiw_oob_reply_decode(pd, i, true,
							   &reply), -EPROTO);
	}
	pd[24] = XIW_OOB_PROVE;
	KUNIT_EXPECT_EQ(test, xiw_oob_reply_decode(pd, len, true, &reply), 0);
	KUNIT_EXPECT_EQ(test, xiw_oob_reply_decode(pd, len - 1, true, &reply),
			-EPROTO);
	pd[24] = XIW_OOB_BAD_VERSION;
	KUNIT_EXPECT_EQ(test, xiw_oob_reply_decode(pd, XIW_OOB_REFUSAL_LEN,
						   true, &reply), 0);
	KUNIT_EXPECT_EQ(test, xiw_oob_reply_decode(pd, XIW_OOB_REFUSAL_LEN - 1,
						   true, &reply), -EPROTO);
	pd[24] = 0;
	/* A refusal must have a reason; its version is not checked. */
	KUNIT_EXPECT_EQ(test, xiw_oob_reply_decode(pd, len, true, &reply),
			-EPROTO);
	pd[4] = 7;
	pd[24] = 99;
	KUNIT_EXPECT_EQ(test, xiw_oob_reply_decode(pd, len + 4, true, &reply),
			0);
	KUNIT_EXPECT_EQ(test, reply.reason, 99);
	KUNIT_EXPECT_FALSE(test, xiw_oob_final(99));
}

/* Covers: RDV-01 */
static void oob_gids_that_name_hosts(struct kunit *test)
{
	static const struct {
		u8 gid[XIW_OOB_GID_LEN];
		bool usable;
	} rows[] = {
		{ V4(192, 0, 2, 1), true },
		{ V4(127, 0, 0, 1), true },
		{ V4(0, 0, 0, 0), false },
		{ V4(0, 1, 2, 3), false },
		{ V4(224, 0, 0, 1), false },
		{ V4(255, 255, 255, 255), false },
		{ V6(1), true },
		{ { [15] = 1 }, true },
		{ { 0 }, false },
		{ { 0xfe, 0x80, [8] = 2, [15] = 1 }, true },
		{ { 0xff, 0x02, [15] = 1 }, false },
		/* The first GID of an iWARP port, and a prefix. */
		{ { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 }, false },
		{ V6(0), false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, xiw_oob_gid_usable(rows[i].gid),
				    rows[i].usable, "row %u", i);
}

/* Covers: RDV-01 */
static void oob_paths_that_can_be(struct kunit *test)
{
	struct xiw_oob_path path = path_a();

	KUNIT_EXPECT_EQ(test, xiw_oob_path_check(&path), 0);
	path.peer.gid[12] = 224;
	KUNIT_EXPECT_EQ(test, xiw_oob_path_check(&path), -EADDRNOTAVAIL);
	path.peer = path_v6().peer;
	KUNIT_EXPECT_EQ(test, xiw_oob_path_check(&path), -EAFNOSUPPORT);
	path = path_a();
	path.peer.qpn = 1;
	KUNIT_EXPECT_EQ(test, xiw_oob_path_check(&path), -EINVAL);
	path.peer.qpn = 0x1000000;
	KUNIT_EXPECT_EQ(test, xiw_oob_path_check(&path), -EINVAL);
	path = path_a();
	path.token.rq_psn = 0x1000000;
	KUNIT_EXPECT_EQ(test, xiw_oob_path_check(&path), -EINVAL);
	path = path_a();
	path.token.sq_psn = 0x1000000;
	KUNIT_EXPECT_EQ(test, xiw_oob_path_check(&path), -EINVAL);
	path.token.rts = false;
	KUNIT_EXPECT_EQ(test, xiw_oob_path_check(&path), 0);
	path = path_a();
	path.token.rnr_retry = 8;
	KUNIT_EXPECT_EQ(test, xiw_oob_path_check(&path), -EINVAL);
}

/* Covers: RDV-02 RDV-03 */
static void oob_one_end_connects(struct kunit *test)
{
	static const struct xiw_oob_end ends[] = {
		/* In ascending order. */
		{ { [15] = 1 }, 2 },
		{ V4(127, 0, 0, 1), 9 },
		{ V4(192, 0, 2, 1), 2 },
		{ V4(192, 0, 2, 1), 3 },
		{ V4(192, 0, 2, 1), 0x800000 },
		{ V4(192, 0, 2, 128), 2 },
		{ V6(1), 2 },
		{ { 0xfe, 0x80, [15] = 1 }, 2 },
	};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		for (j = 0; j < ARRAY_SIZE(ends); j++) {
			KUNIT_EXPECT_EQ_MSG(test,
					    xiw_oob_role(&ends[i], &ends[j]),
					    i < j ? XIW_OOB_INITIATOR :
					    i > j ? XIW_OOB_RESPONDER :
					    XIW_OOB_SELF, "%u %u", i, j);
		}
	}
}

/* Covers: RDV-08 */
static void oob_matches_what_was_named(struct kunit *test)
{
	struct xiw_oob_path a = path_a(), b = path_b();
	struct xiw_oob_request req = request_of(&a);
	struct xiw_oob_path other;

	KUNIT_EXPECT_TRUE(test, xiw_oob_match(&b, &req));
	other = b;
	other.peer.qpn++;
	KUNIT_EXPECT_FALSE(test, xiw_oob_match(&other, &req));
	other = b;
	other.peer.gid[15]++;
	KUNIT_EXPECT_FALSE(test, xiw_oob_match(&other, &req));
	other = b;
	other.own.gid[15]++;
	KUNIT_EXPECT_FALSE(test, xiw_oob_match(&other, &req));
	other = b;
	other.own.qpn++;
	KUNIT_EXPECT_FALSE(test, xiw_oob_match(&other, &req));
}

/* Covers: RDV-08 */
static void oob_requests_come_from_their_host(struct kunit *test)
{
	struct xiw_oob_path a = path_a();
	struct xiw_oob_request req = request_of(&a);
	struct xiw_oob_end stranger = { V4(192, 0, 2, 3), 2 };

	KUNIT_EXPECT_TRUE(test, xiw_oob_request_from(&req, a.peer.gid,
						     a.own.gid));
	KUNIT_EXPECT_FALSE(test, xiw_oob_request_from(&req, a.peer.gid,
						      stranger.gid));
	KUNIT_EXPECT_FALSE(test, xiw_oob_request_from(&req, stranger.gid,
						      a.own.gid));
}

/* Covers: RDV-09 */
static void oob_both_psns_are_proven(struct kunit *test)
{
	struct xiw_oob_path a, b;
	struct xiw_oob_request req;
	struct xiw_oob_reply reply;
	unsigned int i;
	bool good;

	/*
	 * Bits: a is at RTS; b is at RTS; b has a wrong PSN of a; a has one of
	 * b.
	 */
	for (i = 0; i < 16; i++) {
		a = path_a();
		b = path_b();
		a.token.rts = i & 1;
		b.token.rts = i & 2;
		if (i & 4)
			b.token.rq_psn ^= 1;
		if (i & 8)
			a.token.rq_psn ^= 0x800000;
		/* At least one PSN in common, and all of those agree. */
		good = i & 3 && !((i & 1) && (i & 4)) && !((i & 2) && (i & 8));
		req = request_of(&a);
		KUNIT_EXPECT_EQ_MSG(test, xiw_oob_proven(&b, &nonces,
							 &req.claim),
				    good, "case %u", i);
		KUNIT_EXPECT_EQ(test, xiw_oob_in_common(&b, &req.claim),
				!!(i & 3));
		xiw_oob_accept(&b, &req, &nonces, 0, &reply);
		KUNIT_EXPECT_EQ_MSG(test, xiw_oob_proven(&a, &nonces,
							 &reply.claim),
				    good, "case %u", i);

		/* At RTS each end has verified the PSN that it will use. */
		a.token.rts = true;
		KUNIT_EXPECT_EQ(test, xiw_oob_proven(&a, &nonces,
						     &reply.claim),
				!(i & 4) && !((i & 2) && (i & 8)));
		b.token.rts = true;
		KUNIT_EXPECT_EQ(test, xiw_oob_proven(&b, &nonces, &req.claim),
				!(i & 8) && !((i & 1) && (i & 4)));
	}
}

/* Covers: RDV-09 */
static void oob_proofs_are_of_one_connection(struct kunit *test)
{
	struct xiw_oob_path a = path_a(), b = path_b();
	struct xiw_oob_request req = request_of(&a);
	struct xiw_oob_nonces other = nonces;
	struct xiw_oob_claim claim;
	struct xiw_oob_reply reply;

	KUNIT_EXPECT_TRUE(test, xiw_oob_proven(&b, &nonces, &req.claim));
	/*
	 * Replay the proofs to either side in a connection with another nonce.
	 */
	other.resp++;
	KUNIT_EXPECT_FALSE(test, xiw_oob_proven(&b, &other, &req.claim));
	xiw_oob_accept(&b, &req, &nonces, 0, &reply);
	other = nonces;
	other.init++;
	KUNIT_EXPECT_FALSE(test, xiw_oob_proven(&a, &other, &reply.claim));
	/* Reflect the proofs to their sender. */
	KUNIT_EXPECT_FALSE(test, xiw_oob_proven(&a, &nonces, &req.claim));
	claim = req.claim;
	swap(claim.sq_proof, claim.rq_proof);
	KUNIT_EXPECT_FALSE(test, xiw_oob_proven(&a, &nonces, &claim));
	KUNIT_EXPECT_FALSE(test, xiw_oob_proven(&b, &nonces, &claim));
	/* Proofs of other ends, or of a changed claim, are not valid. */
	b.peer.qpn++;
	KUNIT_EXPECT_FALSE(test, xiw_oob_proven(&b, &nonces, &req.claim));
	b = path_b();
	claim = req.claim;
	claim.rnr_retry--;
	KUNIT_EXPECT_FALSE(test, xiw_oob_proven(&b, &nonces, &claim));
	/* A missing proof is not valid: both are needed. */
	claim = req.claim;
	claim.rts = false;
	KUNIT_EXPECT_FALSE(test, xiw_oob_proven(&b, &nonces, &claim));
	memset(&claim, 0, sizeof(claim));
	KUNIT_EXPECT_FALSE(test, xiw_oob_proven(&b, &nonces, &claim));
	b.token.rts = false;
	KUNIT_EXPECT_FALSE(test, xiw_oob_proven(&b, &nonces, &claim));
}

/* Covers: RDV-03 */
static void oob_itself_needs_no_proof(struct kunit *test)
{
	struct xiw_oob_path path = path_a();
	struct xiw_oob_claim nothing = {};

	path.peer = path.own;
	KUNIT_EXPECT_TRUE(test, xiw_oob_proven(&path, &nonces, &nothing));
}

/* Covers: RDV-10 */
static void oob_replies_answer_requests(struct kunit *test)
{
	struct xiw_oob_path a = path_a(), b = path_b();
	struct xiw_oob_request req = request_of(&a);
	struct xiw_oob_reply good, reply;

	xiw_oob_accept(&b, &req, &nonces, XIW_OOB_FEAT_ALL, &good);
	KUNIT_EXPECT_EQ(test, good.features, XIW_OOB_FEAT_IMM);
	KUNIT_EXPECT_TRUE(test, xiw_oob_answers(&a, &good));
	reply = good;
	reply.init_qpn++;
	KUNIT_EXPECT_FALSE(test, xiw_oob_answers(&a, &reply));
	reply = good;
	reply.resp_qpn++;
	KUNIT_EXPECT_FALSE(test, xiw_oob_answers(&a, &reply));
	reply = good;
	reply.features |= 0x8000;
	KUNIT_EXPECT_FALSE(test, xiw_oob_answers(&a, &reply));

	/* Negotiate only features that are offered and supported. */
	req.features = 0xfffe;
	xiw_oob_accept(&b, &req, &nonces, XIW_OOB_FEAT_ALL, &reply);
	KUNIT_EXPECT_EQ(test, reply.features, XIW_OOB_FEAT_LONG);
	req.features = 0xffff;
	xiw_oob_accept(&b, &req, &nonces, 0, &reply);
	KUNIT_EXPECT_EQ(test, reply.features, 0);
}

/* Covers: RDV-11 */
static void oob_refusals_that_are_final(struct kunit *test)
{
	struct xiw_oob_path a = path_a();
	struct xiw_oob_request req = request_of(&a);
	struct xiw_oob_reply reply, got;
	u8 pd[XIW_OOB_REP_LEN];
	unsigned int reason;

	for (reason = 1; reason < XIW_OOB_REASON_COUNT; reason++) {
		xiw_oob_refuse(reason, reason & 1 ? &req : NULL, &reply);
		KUNIT_EXPECT_EQ(test, reply.init_qpn,
				reason & 1 ? req.init.qpn : 0);
		xiw_oob_reply_encode(&reply, pd);
		KUNIT_ASSERT_EQ(test, xiw_oob_reply_decode(pd, sizeof(pd),
							   true, &got), 0);
		KUNIT_EXPECT_MEMEQ(test, &got, &reply, sizeof(got));
		KUNIT_EXPECT_EQ_MSG(test, xiw_oob_final(reason),
				    reason == XIW_OOB_MALFORMED ||
				    reason == XIW_OOB_BAD_VERSION ||
				    reason == XIW_OOB_BAD_ROLE,
				    "reason %u", reason);
	}
}

/* Covers: RDV-12 */
static void oob_depths(struct kunit *test)
{
	struct xiw_oob_path path = path_a();

	KUNIT_EXPECT_EQ(test, xiw_oob_ird(&path, 128), 16);
	KUNIT_EXPECT_EQ(test, xiw_oob_ird(&path, 8), 8);
	KUNIT_EXPECT_EQ(test, xiw_oob_ord(&path, 128), 1);
	KUNIT_EXPECT_EQ(test, xiw_oob_ord(&path, 0), 0);
	path.max_rd_atomic = 255;
	KUNIT_EXPECT_EQ(test, xiw_oob_ord(&path, 128), 128);
	path.token.rts = false;
	path.max_rd_atomic = 0;
	KUNIT_EXPECT_EQ(test, xiw_oob_ord(&path, 128), 128);
	KUNIT_EXPECT_EQ(test, xiw_oob_ord(&path, 5), 5);
	path.max_dest_rd_atomic = 0;
	KUNIT_EXPECT_EQ(test, xiw_oob_ird(&path, 128), 0);
}

/* Covers: RDV-13 */
static void oob_time_for_work(struct kunit *test)
{
	static const struct {
		u8 timeout;
		u8 retry_cnt;
		u32 ms;
	} rows[] = {
		/* Values of pingpong, perftest, NCCL and UCX. */
		{ 14, 7, 537 },
		{ 20, 7, 34360 },
		{ 18, 7, 8590 },
		{ 1, 0, 1 },
		{ 20, 0, 4295 },
		{ 21, 0, 8590 },
		{ 22, 0, 17180 },
		{ 27, 0, 549756 },
		{ 27, 1, 600000 },
		{ 24, 7, 549756 },
		{ 25, 7, 600000 },
		{ 28, 0, 600000 },
		{ 31, 7, 600000 },
		{ 255, 255, 600000 },
		{ 20, 255, 34360 },
		{ 0, 0, 600000 },
		{ 0, 7, 600000 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ_MSG(test, xiw_oob_retry_ms(rows[i].timeout,
							   rows[i].retry_cnt),
				    rows[i].ms, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, xiw_oob_wait_ms(rows[i].timeout,
							  rows[i].retry_cnt),
				    max_t(u32, rows[i].ms, 5000), "row %u", i);
	}
}

/* Covers: RDV-14 */
static void oob_time_for_receives(struct kunit *test)
{
	/* IB RNR NAK timer codes, in units of 10 us. */
	static const u32 units[32] = {
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
		256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
		12288, 16384, 24576, 32768, 49152,
	};
	struct xiw_oob_claim peer = { .rts = true };
	unsigned int code, retry;

	for (code = 0; code < 32; code++) {
		for (retry = 0; retry < 7; retry++) {
			peer.rnr_retry = retry;
			KUNIT_EXPECT_EQ_MSG(test,
					    xiw_oob_receive_ms(&peer, code),
					    DIV_ROUND_UP(units[code] *
							 (retry + 1), 100),
					    "%u %u", code, retry);
		}
	}
	peer.rnr_retry = 7;
	KUNIT_EXPECT_EQ(test, xiw_oob_receive_ms(&peer, 1), U32_MAX);
	peer.rnr_retry = 0;
	peer.rts = false;
	KUNIT_EXPECT_EQ(test, xiw_oob_receive_ms(&peer, 1), U32_MAX);
}

/* Any random number yields 50 % to 150 % of the pause. */
static void oob_pause_is(struct kunit *test, u32 tries, bool local, u32 ms)
{
	KUNIT_EXPECT_EQ(test, xiw_oob_pause_ms(tries, 0, local), ms / 2);
	KUNIT_EXPECT_EQ(test, xiw_oob_pause_ms(tries, ms, local), ms / 2 + ms);
	KUNIT_EXPECT_EQ(test, xiw_oob_pause_ms(tries, ms + 1, local), ms / 2);
	KUNIT_EXPECT_LE(test, xiw_oob_pause_ms(tries, U32_MAX, local),
			ms / 2 + ms);
}

/* Covers: RDV-15 */
static void oob_pauses(struct kunit *test)
{
	static const u32 ms[] = {
		5, 5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ms); i++)
		oob_pause_is(test, i, false, ms[i]);
	oob_pause_is(test, U32_MAX, false, 1000);
}

/* Covers: RDV-15 */
static void oob_pauses_after_local_errors(struct kunit *test)
{
	oob_pause_is(test, 1, true, 5);
	oob_pause_is(test, 8, true, 640);
	oob_pause_is(test, 10, true, 2560);
	oob_pause_is(test, 11, true, 4000);
	oob_pause_is(test, U32_MAX, true, 4000);
}

static struct kunit_case oob_cases[] = {
	KUNIT_CASE(oob_requests_are_as_shown),
	KUNIT_CASE(oob_replies_are_as_shown),
	KUNIT_CASE(oob_frames_decode),
	KUNIT_CASE(oob_refuses_damaged_requests),
	KUNIT_CASE(oob_refuses_damaged_replies),
	KUNIT_CASE(oob_gids_that_name_hosts),
	KUNIT_CASE(oob_paths_that_can_be),
	KUNIT_CASE(oob_one_end_connects),
	KUNIT_CASE(oob_matches_what_was_named),
	KUNIT_CASE(oob_requests_come_from_their_host),
	KUNIT_CASE(oob_both_psns_are_proven),
	KUNIT_CASE(oob_proofs_are_of_one_connection),
	KUNIT_CASE(oob_itself_needs_no_proof),
	KUNIT_CASE(oob_replies_answer_requests),
	KUNIT_CASE(oob_refusals_that_are_final),
	KUNIT_CASE(oob_depths),
	KUNIT_CASE(oob_time_for_work),
	KUNIT_CASE(oob_time_for_receives),
	KUNIT_CASE(oob_pauses),
	KUNIT_CASE(oob_pauses_after_local_errors),
	{}
};

static struct kunit_suite oob_suite = {
	.name = "xiw_oob",
	.test_cases = oob_cases,
};

kunit_test_suite(oob_suite);
