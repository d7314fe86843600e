// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA negotiation: the truth tables of RFC 5044 section 7.1.1, the value rules
 * and the RTR matrix of RFC 6581 section 9, and how a Responder classifies the
 * first FPDU.
 */
#include <linux/kernel.h>

#include "../nego.h"
#include "../rdmap.h"
#include "util.h"

#define B	XIW_RTR_SEND
#define C	XIW_RTR_WRITE
#define D	XIW_RTR_READ
#define NONE	XIW_MPA_DEPTH_NONE

static struct xiw_mpa_policy default_policy(void)
{
	return (struct xiw_mpa_policy){
		.rev = 2,
		.crc = true,
		.p2p = true,
		.rtr = C | D,
		.max_ird = 128,
		.max_ord = 128,
	};
}

/* A Request with enhanced data, as a peer could send it. */
static struct xiw_mpa_frame enhanced_request(bool p2p, u8 rtr, u16 ird, u16 ord)
{
	return (struct xiw_mpa_frame){
		.rev = 2,
		.crc = true,
		.enhanced = true,
		.enh = { .p2p = p2p, .rtr = rtr, .ird = ird, .ord = ord },
	};
}

static struct xiw_mpa_frame enhanced_reply(bool p2p, u8 rtr, u16 ird, u16 ord)
{
	struct xiw_mpa_frame f = enhanced_request(p2p, rtr, ird, ord);

	f.reply = true;
	return f;
}

/* Covers: MPA-35 MPA-75 */
static void nego_request_follows_policy(struct kunit *test)
{
	struct xiw_mpa_policy p = default_policy();
	struct xiw_mpa_frame req;

	xiw_nego_request(&p, 16, 17, &req);
	KUNIT_EXPECT_FALSE(test, req.reply);
	KUNIT_EXPECT_FALSE(test, req.reject);
	KUNIT_EXPECT_TRUE(test, req.crc);
	KUNIT_EXPECT_FALSE(test, req.markers);
	KUNIT_EXPECT_EQ(test, req.rev, 2);
	KUNIT_EXPECT_TRUE(test, req.enhanced);
	KUNIT_EXPECT_TRUE(test, req.enh.p2p);
	KUNIT_EXPECT_EQ(test, req.enh.rtr, C | D);
	KUNIT_EXPECT_EQ(test, req.enh.ird, 16);
	KUNIT_EXPECT_EQ(test, req.enh.ord, 17);

	p.p2p = false;
	p.crc = false;
	p.markers = true;
	xiw_nego_request(&p, 0, 0, &req);
	KUNIT_EXPECT_FALSE(test, req.enh.p2p);
	KUNIT_EXPECT_EQ(test, req.enh.rtr, 0);
	KUNIT_EXPECT_FALSE(test, req.crc);
	KUNIT_EXPECT_TRUE(test, req.markers);

	p.rev = 1;
	p.p2p = true;
	xiw_nego_request(&p, 16, 16, &req);
	KUNIT_EXPECT_EQ(test, req.rev, 1);
	KUNIT_EXPECT_FALSE(test, req.enhanced);
}

/* Covers: MPA-63 */
static void nego_depths_saturate(struct kunit *test)
{
	static const u32 wanted[] = {
		0x3ffe, 0x3fff, 0x4000, 0x7fff, 0x10000, 0x10001, U32_MAX,
	};
	struct xiw_mpa_policy p = default_policy();
	struct xiw_mpa_frame req, reply;
	struct xiw_mpa_nego nego;
	unsigned int i;

	p.max_ird = XIW_MPA_DEPTH_MAX;
	p.max_ord = XIW_MPA_DEPTH_MAX;
	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		xiw_nego_request(&p, wanted[i], wanted[i], &req);
		KUNIT_EXPECT_EQ(test, req.enh.ird, 0x3ffe);
		KUNIT_EXPECT_EQ(test, req.enh.ord, 0x3ffe);
		xiw_nego_accept(&p, &req, wanted[i], wanted[i], &reply,
				&nego);
		KUNIT_EXPECT_EQ(test, reply.enh.ird, 0x3ffe);
		KUNIT_EXPECT_EQ(test, reply.enh.ord, 0x3ffe);
		xiw_nego_reject(&p, &req, wanted[i], wanted[i], &reply);
		KUNIT_EXPECT_EQ(test, reply.enh.ird, 0x3ffe);
		KUNIT_EXPECT_EQ(test, reply.enh.ord, 0x3ffe);
	}
}

/* Covers: MPA-76 */
static void nego_policy_limits(struct kunit *test)
{
	struct xiw_mpa_policy p = default_policy();

	KUNIT_EXPECT_EQ(test, xiw_nego_policy_check(&p), 0);
	p.rev = 0;
	KUNIT_EXPECT_EQ(test, xiw_nego_policy_check(&p), -EINVAL);
	p.rev = 3;
	KUNIT_EXPECT_EQ(test, xiw_nego_policy_check(&p), -EINVAL);
	p.rev = 1;
	KUNIT_EXPECT_EQ(test, xiw_nego_policy_check(&p), 0);
	p.rtr = 0;
	KUNIT_EXPECT_EQ(test, xiw_nego_policy_check(&p), -EINVAL);
	p.rtr = 8;
	KUNIT_EXPECT_EQ(test, xiw_nego_policy_check(&p), -EINVAL);
	p.rtr = D;
	p.max_ird = 0;
	KUNIT_EXPECT_EQ(test, xiw_nego_policy_check(&p), -EINVAL);
	p.max_ird = 1;
	KUNIT_EXPECT_EQ(test, xiw_nego_policy_check(&p), 0);
	p.max_ird = 0x3fff;
	KUNIT_EXPECT_EQ(test, xiw_nego_policy_check(&p), -EINVAL);
	p.max_ird = 0x3ffe;
	p.max_ord = 0x3ffe;
	KUNIT_EXPECT_EQ(test, xiw_nego_policy_check(&p), 0);
	p.max_ord = 0x3fff;
	KUNIT_EXPECT_EQ(test, xiw_nego_policy_check(&p), -EINVAL);
}

/* Covers: MPA-40 MPA-41 MPA-42 MPA-43 MPA-46 */
static void nego_checks_requests(struct kunit *test)
{
	struct xiw_mpa_frame req = { .rev = 1 };

	KUNIT_EXPECT_EQ(test, xiw_nego_check_request(&req), XIW_NEGO_OK);
	req.rev = 2;
	KUNIT_EXPECT_EQ(test, xiw_nego_check_request(&req), XIW_NEGO_OK);
	req.rev = 0;
	KUNIT_EXPECT_EQ(test, xiw_nego_check_request(&req), XIW_NEGO_CLOSE);
	req.rev = 3;
	KUNIT_EXPECT_EQ(test, xiw_nego_check_request(&req), XIW_NEGO_CLOSE);
	req.rev = 255;
	KUNIT_EXPECT_EQ(test, xiw_nego_check_request(&req), XIW_NEGO_CLOSE);
	req.rev = 2;
	req.pd_len = 255;
	KUNIT_EXPECT_EQ(test, xiw_nego_check_request(&req), XIW_NEGO_OK);
	req.pd_len = 256;
	KUNIT_EXPECT_EQ(test, xiw_nego_check_request(&req), XIW_NEGO_CLOSE);
}

/* Covers: MPA-10 MPA-25 */
static void nego_crc_and_markers_truth_tables(struct kunit *test)
{
	struct xiw_mpa_policy active = default_policy();
	struct xiw_mpa_policy passive = default_policy();
	struct xiw_mpa_nego ini, res;
	struct xiw_mpa_frame req, reply;
	unsigned int i;

	for (i = 0; i < 16; i++) {
		active.crc = i & 1;
		passive.crc = i & 2;
		active.markers = i & 4;
		passive.markers = i & 8;
		xiw_nego_request(&active, 1, 1, &req);
		xiw_nego_accept(&passive, &req, 1, 1, &reply, &res);
		KUNIT_ASSERT_EQ(test, xiw_nego_check_reply(&active, &req,
							   &reply, &ini),
				XIW_NEGO_OK);
		KUNIT_EXPECT_EQ(test, reply.crc, !!(i & 3));
		KUNIT_EXPECT_EQ(test, ini.crc, !!(i & 3));
		KUNIT_EXPECT_EQ(test, res.crc, !!(i & 3));
		KUNIT_EXPECT_EQ(test, ini.rx_markers, !!(i & 4));
		KUNIT_EXPECT_EQ(test, res.tx_markers, !!(i & 4));
		KUNIT_EXPECT_EQ(test, ini.tx_markers, !!(i & 8));
		KUNIT_EXPECT_EQ(test, res.rx_markers, !!(i & 8));
	}
}

/* Covers: MPA-41 MPA-42 MPA-43 */
static void nego_reply_has_form_of_request(struct kunit *test)
{
	struct xiw_mpa_policy p = default_policy();
	struct xiw_mpa_frame req = { .rev = 1 };
	struct xiw_mpa_nego nego;
	struct xiw_mpa_frame reply;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		req.rev = i ? 2 : 1;
		req.enhanced = i == 2;
		xiw_nego_accept(&p, &req, 4, 5, &reply, &nego);
		KUNIT_EXPECT_TRUE(test, reply.reply);
		KUNIT_EXPECT_FALSE(test, reply.reject);
		KUNIT_EXPECT_EQ(test, reply.rev, req.rev);
		KUNIT_EXPECT_EQ(test, reply.enhanced, req.enhanced);
		KUNIT_EXPECT_EQ(test, nego.rev, req.rev);
		KUNIT_EXPECT_EQ(test, nego.enhanced, req.enhanced);
		KUNIT_EXPECT_EQ(test, nego.peer_values_valid, req.enhanced);
		if (!req.enhanced) {
			KUNIT_EXPECT_EQ(test, nego.ird, 4);
			KUNIT_EXPECT_EQ(test, nego.ord, 5);
			KUNIT_EXPECT_FALSE(test, nego.p2p);
		}
		xiw_nego_reject(&p, &req, 4, 5, &reply);
		KUNIT_EXPECT_TRUE(test, reply.reply);
		KUNIT_EXPECT_TRUE(test, reply.reject);
		KUNIT_EXPECT_EQ(test, reply.rev, req.rev);
		KUNIT_EXPECT_EQ(test, reply.enhanced, req.enhanced);
	}
}

/* One row of RFC 6581 section 9.1 worked out on both sides. */
struct depth_row {
	u16 i_ird, i_ord;		/* fields of the Request */
	u16 a_ird, a_ord;		/* the accepting ULP's values */
	u16 r_ird, r_ord;		/* fields of the Reply */
	u16 res_ird, res_ord;		/* limits at the Responder */
	u16 ini_ird, ini_ord;		/* limits at the Initiator */
	bool only_read_rtr;
};

static const struct depth_row depth_rows[] = {
	{ 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, false },
	{ 16, 16, 8, 16, 8, 16, 8, 16, 16, 8, false },
	{ 16, 16, 32, 4, 32, 4, 32, 4, 16, 16, false },
	{ 4, 16, 16, 16, 16, 4, 16, 4, 4, 16, false },
	{ 0, 16, 16, 16, 16, 0, 16, 0, 0, 16, false },
	{ 16, 0, 16, 16, 16, 16, 16, 16, 16, 0, false },
	{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, false },
	{ 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, true },
	{ 1, 1, 128, 128, 128, 1, 128, 1, 1, 1, false },
	{ 255, 255, 64, 64, 64, 64, 64, 64, 255, 64, false },
	{ NONE, 16, 16, 8, 16, NONE, 16, 8, NONE, 16, false },
	{ 16, NONE, 16, 8, NONE, 8, 16, 8, 16, NONE, false },
	{ NONE, NONE, 16, 8, NONE, NONE, 16, 8, NONE, NONE, false },
};

/* Covers: MPA-67 MPA-71 MPA-72 MPA-73 MPA-74 */
static void nego_depth_table(struct kunit *test)
{
	struct xiw_mpa_policy p = default_policy();
	struct xiw_mpa_frame req, reply;
	struct xiw_mpa_nego nego;
	const struct depth_row *row;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(depth_rows); i++) {
		row = &depth_rows[i];
		p.rtr = row->only_read_rtr ? D : C | D;
		req = enhanced_request(true, p.rtr, row->i_ird, row->i_ord);
		xiw_nego_accept(&p, &req, row->a_ird, row->a_ord, &reply,
				&nego);
		KUNIT_EXPECT_EQ_MSG(test, reply.enh.ird, row->r_ird, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, reply.enh.ord, row->r_ord, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, nego.ird, row->res_ird, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, nego.ord, row->res_ord, "%u", i);
		KUNIT_EXPECT_EQ(test, nego.peer_ird, row->i_ird);
		KUNIT_EXPECT_EQ(test, nego.peer_ord, row->i_ord);
		KUNIT_EXPECT_TRUE(test, nego.peer_values_valid);

		KUNIT_ASSERT_EQ(test, xiw_nego_check_reply(&p, &req, &reply,
							   &nego),
				XIW_NEGO_OK);
		KUNIT_EXPECT_EQ_MSG(test, nego.ird, row->ini_ird, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, nego.ord, row->ini_ord, "%u", i);
		KUNIT_EXPECT_EQ(test, nego.peer_ird, row->r_ird);
		KUNIT_EXPECT_EQ(test, nego.peer_ord, row->r_ord);
		KUNIT_EXPECT_TRUE(test, nego.peer_values_valid);
	}
}

/* Covers: MPA-70 */
static void nego_raises_ird_or_terminates(struct kunit *test)
{
	struct xiw_mpa_policy p = default_policy();
	struct xiw_mpa_frame reply = enhanced_reply(true, C, 16, 64);
	struct xiw_mpa_nego nego;
	struct xiw_mpa_frame req;

	xiw_nego_request(&p, 4, 16, &req);
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_OK);
	KUNIT_EXPECT_EQ(test, nego.ird, 64);
	KUNIT_EXPECT_EQ(test, nego.ord, 16);

	/* Exactly the device limit, one more, and the opt-out value. */
	p.max_ird = 64;
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_OK);
	p.max_ird = 63;
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_TERM_IRD);
	KUNIT_EXPECT_TRUE(test, nego.crc);
	KUNIT_EXPECT_EQ(test, nego.peer_ord, 64);
	reply.enh.ord = NONE;
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_OK);
	KUNIT_EXPECT_EQ(test, nego.ird, 4);
}

/* Rows: none B C D BC BD CD BCD requested; columns: B C D BC BD CD BCD. */
static const u8 rtr_columns[7] = { B, C, D, B | C, B | D, C | D, B | C | D };
static const u8 rtr_rows[8] = {
	0, B, C, D, B | C, B | D, C | D, B | C | D
};

static const u8 rtr_matrix[8][7] = {
	{ B, C, D, B | C, B | D, C | D, B | C | D },
	{ B, C, D, B, B, C | D, B },
	{ B, C, D, C, B | D, C, C },
	{ B, C, D, B | C, D, D, D },
	{ B, C, D, B | C, B, C, B | C },
	{ B, C, D, B, B | D, D, B | D },
	{ B, C, D, C, D, C | D, C | D },
	{ B, C, D, B | C, B | D, C | D, B | C | D },
};

/* Covers: MPA-75 MPA-76 MPA-77 MPA-78 */
static void nego_rtr_matrix(struct kunit *test)
{
	struct xiw_mpa_policy active = default_policy();
	struct xiw_mpa_policy passive = default_policy();
	struct xiw_mpa_frame req, reply;
	struct xiw_mpa_nego nego;
	enum xiw_nego_result result;
	unsigned int r, c;
	u8 common;

	for (r = 0; r < 8; r++) {
		for (c = 0; c < 7; c++) {
			req = enhanced_request(true, rtr_rows[r], 4, 4);
			active.rtr = rtr_rows[r];
			passive.rtr = rtr_columns[c];
			xiw_nego_accept(&passive, &req, 4, 4, &reply, &nego);
			KUNIT_EXPECT_TRUE(test, reply.enh.p2p);
			KUNIT_EXPECT_TRUE(test, nego.p2p);
			KUNIT_EXPECT_EQ(test, reply.enh.rtr, rtr_matrix[r][c]);
			KUNIT_EXPECT_EQ(test, nego.rtr_offered,
					rtr_matrix[r][c]);

			result = xiw_nego_check_reply(&active, &req, &reply,
						      &nego);
			common = rtr_rows[r] & rtr_columns[c];
			KUNIT_EXPECT_EQ(test, result, common ? XIW_NEGO_OK :
					XIW_NEGO_TERM_RTR);
			if (!common)
				continue;
			/* The first common type of Write, Read, Send. */
			KUNIT_EXPECT_EQ(test, nego.rtr_send, common & C ? C :
					common & D ? D : B);
			KUNIT_EXPECT_TRUE(test, nego.p2p);
			KUNIT_EXPECT_EQ(test, nego.rtr_offered,
					rtr_matrix[r][c]);
		}
	}
}

/* Covers: MPA-74 MPA-76 */
static void nego_read_rtr_needs_a_slot(struct kunit *test)
{
	struct xiw_mpa_frame req = enhanced_request(true, C | D, 4, 4);
	struct xiw_mpa_policy p = default_policy();
	struct xiw_mpa_nego nego;
	struct xiw_mpa_frame reply;

	/* IRD 0: do not offer a Read. */
	xiw_nego_accept(&p, &req, 0, 4, &reply, &nego);
	KUNIT_EXPECT_EQ(test, reply.enh.rtr, C);
	KUNIT_EXPECT_EQ(test, reply.enh.ird, 0);
	/* Only a Read in common: raise the IRD. */
	req.enh.rtr = D;
	xiw_nego_accept(&p, &req, 0, 4, &reply, &nego);
	KUNIT_EXPECT_EQ(test, reply.enh.rtr, D);
	KUNIT_EXPECT_EQ(test, reply.enh.ird, 1);
	KUNIT_EXPECT_EQ(test, nego.ird, 1);
	req.enh.ord = NONE;
	xiw_nego_accept(&p, &req, 0, 4, &reply, &nego);
	KUNIT_EXPECT_EQ(test, reply.enh.ird, NONE);
	KUNIT_EXPECT_EQ(test, nego.ird, 1);

	/* The policy allows no inbound Reads: never offer a Read. */
	p.max_ird = 0;
	KUNIT_EXPECT_EQ(test, xiw_nego_policy_check(&p), 0);
	xiw_nego_accept(&p, &req, 4, 4, &reply, &nego);
	KUNIT_EXPECT_EQ(test, reply.enh.rtr, C);
	KUNIT_EXPECT_EQ(test, nego.ird, 0);
	p = default_policy();

	/* Initiator: a Responder with IRD 0 cannot accept a Read. */
	xiw_nego_request(&p, 4, 4, &req);
	reply = enhanced_reply(true, D, 0, 4);
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_TERM_RTR);
	reply.enh.ird = 1;
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_OK);
	KUNIT_EXPECT_EQ(test, nego.rtr_send, D);
	reply.enh.ird = NONE;
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_OK);
	KUNIT_EXPECT_EQ(test, nego.rtr_send, D);
}

/* Covers: MPA-75 MPA-78 MPA-79 */
static void nego_connection_model_mismatch(struct kunit *test)
{
	struct xiw_mpa_policy p = default_policy();
	struct xiw_mpa_nego nego;
	struct xiw_mpa_frame req, reply;

	/* A=0 in the Request: B, C, D are ignored. */
	req = enhanced_request(false, B | C | D, 1, 0);
	xiw_nego_accept(&p, &req, 4, 4, &reply, &nego);
	KUNIT_EXPECT_FALSE(test, reply.enh.p2p);
	KUNIT_EXPECT_EQ(test, reply.enh.rtr, 0);
	KUNIT_EXPECT_FALSE(test, nego.p2p);
	KUNIT_EXPECT_EQ(test, nego.rtr_offered, 0);

	/* A=1 answered by A=0, and by A=1 with nothing to send. */
	xiw_nego_request(&p, 4, 4, &req);
	reply = enhanced_reply(false, C, 4, 4);
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_TERM_RTR);
	reply = enhanced_reply(true, 0, 4, 4);
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_TERM_RTR);

	/* A=0 answered by A=0, then by A=1 with and without a usable type. */
	p.p2p = false;
	xiw_nego_request(&p, 4, 4, &req);
	reply = enhanced_reply(false, B | C | D, 4, 4);
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_OK);
	KUNIT_EXPECT_EQ(test, nego.rtr_send, 0);
	KUNIT_EXPECT_FALSE(test, nego.p2p);
	reply = enhanced_reply(true, B | C, 4, 4);
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_OK);
	KUNIT_EXPECT_EQ(test, nego.rtr_send, C);
	reply = enhanced_reply(true, B, 4, 4);
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_TERM_RTR);
}

/* Covers: MPA-65 */
static void nego_closes_on_reply_of_other_form(struct kunit *test)
{
	static const struct {
		u8 rev;
		bool enhanced;
	} wrong[] = { { 1, false }, { 2, false }, { 0, false }, { 3, false } };
	struct xiw_mpa_policy p = default_policy();
	struct xiw_mpa_nego nego;
	struct xiw_mpa_frame req, reply;
	unsigned int i;

	xiw_nego_request(&p, 4, 4, &req);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		reply = (struct xiw_mpa_frame){
			.reply = true,
			.rev = wrong[i].rev,
			.enhanced = wrong[i].enhanced,
		};
		KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply,
							   &nego),
				XIW_NEGO_CLOSE);
		/* A rejection in this form is accepted, without values. */
		reply.reject = true;
		KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply,
							   &nego),
				XIW_NEGO_REJECTED);
		KUNIT_EXPECT_FALSE(test, nego.peer_values_valid);
	}
	p.rev = 1;
	xiw_nego_request(&p, 4, 4, &req);
	reply = enhanced_reply(true, C, 4, 4);
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_CLOSE);
	reply = (struct xiw_mpa_frame){ .reply = true, .rev = 1 };
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_OK);
	KUNIT_EXPECT_EQ(test, nego.ird, 4);
	KUNIT_EXPECT_EQ(test, nego.ord, 4);
	KUNIT_EXPECT_EQ(test, nego.rtr_send, 0);
	reply.pd_len = 255;
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_OK);
	reply.pd_len = 256;
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_CLOSE);
}

/* Covers: MPA-43 MPA-59 MPA-73 */
static void nego_rejection_carries_values(struct kunit *test)
{
	struct xiw_mpa_policy p = default_policy();
	struct xiw_mpa_nego nego;
	struct xiw_mpa_frame req, reply;

	/* The Responder needs more than the Request offers. */
	xiw_nego_request(&p, 4, 4, &req);
	xiw_nego_reject(&p, &req, 16, 32, &reply);
	KUNIT_EXPECT_EQ(test, reply.enh.ird, 16);
	KUNIT_EXPECT_EQ(test, reply.enh.ord, 32);
	KUNIT_EXPECT_TRUE(test, reply.enh.p2p);
	KUNIT_EXPECT_EQ(test, reply.enh.rtr, C | D);
	KUNIT_EXPECT_EQ(test, xiw_nego_check_reply(&p, &req, &reply, &nego),
			XIW_NEGO_REJECTED);
	KUNIT_EXPECT_TRUE(test, nego.peer_values_valid);
	KUNIT_EXPECT_EQ(test, nego.peer_ird, 16);
	KUNIT_EXPECT_EQ(test, nego.peer_ord, 32);
	KUNIT_EXPECT_EQ(test, nego.rtr_send, 0);

	req.enh.ird = NONE;
	req.enh.ord = NONE;
	xiw_nego_reject(&p, &req, 16, 32, &reply);
	KUNIT_EXPECT_EQ(test, reply.enh.ird, NONE);
	KUNIT_EXPECT_EQ(test, reply.enh.ord, NONE);
}

/* The first FPDU, a message vector or an explicit header. */
struct first_row {
	const char *name;
	const char *hex;
	u8 rtr_type;			/* must be offered to be an RTR */
	enum xiw_nego_first as_rtr;
	enum xiw_nego_first otherwise;
};

static const struct first_row first_rows[] = {
	{ "Write of nothing", "c140 deadbeef 1122334455667788",
	  C, XIW_FIRST_RTR, XIW_FIRST_MESSAGE },
	{ "Write of one byte", "c140 deadbeef 1122334455667788 ff",
	  0, XIW_FIRST_MESSAGE, XIW_FIRST_MESSAGE },
	{ "Write of nothing, more to come", "8140 00000000 0000000000000000",
	  0, XIW_FIRST_MESSAGE, XIW_FIRST_MESSAGE },
	{ "Read of nothing",
	  "4141 00000000 00000001 00000001 00000000 11111111 2222222222222222 00000000 33333333 4444444444444444",
	  D, XIW_FIRST_RTR_READ, XIW_FIRST_MESSAGE },
	{ "Read of one byte",
	  "4141 00000000 00000001 00000001 00000000 11111111 2222222222222222 00000001 33333333 4444444444444444",
	  0, XIW_FIRST_MESSAGE, XIW_FIRST_MESSAGE },
	{ "Read of nothing, wrong MSN",
	  "4141 00000000 00000001 00000002 00000000 11111111 2222222222222222 00000000 33333333 4444444444444444",
	  0, XIW_FIRST_MESSAGE, XIW_FIRST_MESSAGE },
	{ "Read cut short",
	  "4141 00000000 00000001 00000001 00000000 11111111 2222222222222222 00000000 33333333 44444444444444",
	  0, XIW_FIRST_MESSAGE, XIW_FIRST_MESSAGE },
	{ "Send of nothing", "4143 00000000 00000000 00000001 00000000",
	  B, XIW_FIRST_RTR, XIW_FIRST_MESSAGE },
	{ "Send of one byte", "4143 00000000 00000000 00000001 00000000 ff",
	  0, XIW_FIRST_MESSAGE, XIW_FIRST_MESSAGE },
	{ "Send of nothing, MSN 2", "4143 00000000 00000000 00000002 00000000",
	  0, XIW_FIRST_MESSAGE, XIW_FIRST_MESSAGE },
	{ "Send with SE of nothing",
	  "4145 00000000 00000000 00000001 00000000",
	  0, XIW_FIRST_MESSAGE, XIW_FIRST_MESSAGE },
	{ "Send with Invalidate of nothing",
	  "4144 a1b2c3d4 00000000 00000001 00000000",
	  0, XIW_FIRST_MESSAGE, XIW_FIRST_MESSAGE },
	{ "Read Response of nothing", "c142 00000000 0000000000000000",
	  0, XIW_FIRST_MESSAGE, XIW_FIRST_MESSAGE },
	{ "Terminate", "4147 00000000 00000002 00000001 00000000 20070000",
	  0, XIW_FIRST_TERMINATE, XIW_FIRST_TERMINATE },
	{ "empty FPDU", "", B, XIW_FIRST_RTR, XIW_FIRST_MESSAGE },
	{ "half a header", "c140 00", 0, XIW_FIRST_MESSAGE, XIW_FIRST_MESSAGE },
};

/* Covers: MPA-77 MPA-83 MPA-84 MPA-85 MPA-86 MPA-87 MPA-23 */
static void nego_classifies_first_fpdu(struct kunit *test)
{
	struct xiw_mpa_nego nego = {};
	const struct xiw_ddp_hdr *hdr;
	enum xiw_nego_first want, got;
	const struct first_row *row;
	struct xiw_ddp_hdr h;
	unsigned int i, rtr;
	u8 buf[64];
	u32 len;

	for (i = 0; i < ARRAY_SIZE(first_rows); i++) {
		row = &first_rows[i];
		len = xiw_test_hex(test, row->hex, buf, sizeof(buf));
		hdr = xiw_ddp_decode(buf, len, 0, &h) == XIW_OK ? &h : NULL;
		for (rtr = 0; rtr < 16; rtr++) {
			nego.p2p = rtr & 8;
			nego.rtr_offered = rtr & XIW_RTR_ALL;
			want = row->otherwise;
			if (nego.p2p && (nego.rtr_offered & row->rtr_type))
				want = row->as_rtr;
			got = xiw_nego_first_fpdu(&nego, len, hdr, buf + 18);
			KUNIT_EXPECT_EQ_MSG(test, got, want, "%s, rtr %u",
					    row->name, rtr);
		}
	}
}

/* Capabilities stated by a first FPDU */
static const struct probe_row {
	const char *name;
	const char *hex;
	u32 bits;
} probe_rows[] = {
	{ "long FPDUs", "c140 78697721 0000000000000001", XIW_PROBE_LONG },
	{ "Send with Immediate", "c140 78697721 0000000000000002",
	  XIW_PROBE_SEND_IMM },
	{ "all of it", "c140 78697721 0000000000000003", XIW_PROBE_ALL },
	{ "and bits to come", "c140 78697721 8000000000000007", XIW_PROBE_ALL },
	{ "another bit", "c140 78697721 0000000000000004", 0 },
	{ "an RTR", "c140 00000000 0000000000000000", 0 },
	{ "another STag", "c140 78697722 0000000000000001", 0 },
	{ "with payload", "c140 78697721 0000000000000001 00", 0 },
	{ "more follows", "8140 78697721 0000000000000001", 0 },
	{ "a Read Response", "c142 78697721 0000000000000001", 0 },
	{ "a Send with Invalidate",
	  "4144 78697721 00000000 00000001 00000000", 0 },
};

/* Covers: IMM-15 MPA-91 */
static void nego_detects_probes(struct kunit *test)
{
	const struct probe_row *row;
	struct xiw_ddp_hdr h;
	unsigned int i;
	u8 buf[64];
	u32 len;

	for (i = 0; i < ARRAY_SIZE(probe_rows); i++) {
		row = &probe_rows[i];
		len = xiw_test_hex(test, row->hex, buf, sizeof(buf));
		KUNIT_ASSERT_EQ_MSG(test, xiw_ddp_decode(buf, len, 0, &h),
				    XIW_OK, "%s", row->name);
		KUNIT_EXPECT_EQ_MSG(test, xiw_nego_probe_bits(&h), row->bits,
				    "%s", row->name);
	}
}

static struct kunit_case nego_cases[] = {
	KUNIT_CASE(nego_request_follows_policy),
	KUNIT_CASE(nego_depths_saturate),
	KUNIT_CASE(nego_policy_limits),
	KUNIT_CASE(nego_checks_requests),
	KUNIT_CASE(nego_crc_and_markers_truth_tables),
	KUNIT_CASE(nego_reply_has_form_of_request),
	KUNIT_CASE(nego_depth_table),
	KUNIT_CASE(nego_raises_ird_or_terminates),
	KUNIT_CASE(nego_rtr_matrix),
	KUNIT_CASE(nego_read_rtr_needs_a_slot),
	KUNIT_CASE(nego_connection_model_mismatch),
	KUNIT_CASE(nego_closes_on_reply_of_other_form),
	KUNIT_CASE(nego_rejection_carries_values),
	KUNIT_CASE(nego_classifies_first_fpdu),
	KUNIT_CASE(nego_detects_probes),
	{}
};

static struct kunit_suite nego_suite = {
	.name = "xiw_nego",
	.test_cases = nego_cases,
};

kunit_test_suite(nego_suite);
