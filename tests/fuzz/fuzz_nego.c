// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Startup negotiation.  Two sides with any pair of policies exchange frames
 * through the encoder and decoder and must end with limits that fit together
 * and with an RTR that the Responder recognises. Then either side receives any
 * frames, and must stay within its own policy.
 */
#include "fuzz.h"
#include "nego.h"
#include "rdmap.h"

static bool take_policy(struct fuzz_in *in, struct xiw_mpa_policy *p)
{
	u8 flags = fuzz_u8(in);
	bool usable;

	memset(p, 0, sizeof(*p));
	p->rev = flags & 3;
	p->crc = flags & 4;
	p->markers = flags & 8;
	p->p2p = flags & 16;
	p->rtr = fuzz_u8(in) & 0xf;
	p->max_ird = fuzz_edge(in);
	p->max_ord = fuzz_edge(in);
	usable = (p->rev == 1 || p->rev == 2) && p->rtr && p->rtr < 8 &&
		 p->max_ird <= 0x3ffe && p->max_ord <= 0x3ffe &&
		 (p->rtr != XIW_RTR_READ || p->max_ird);
	CHECK(usable == !xiw_nego_policy_check(p));
	return usable;
}

/* Encode and decode a frame. */
static void transfer(const struct xiw_mpa_frame *f, struct xiw_mpa_frame *got)
{
	static const u8 pd[XIW_MPA_PD_MAX];
	u8 buf[XIW_MPA_FRAME_MAX];
	int len = xiw_mpa_frame_encode(buf, sizeof(buf), f, pd);

	CHECK(len > 0);
	CHECK(!xiw_mpa_frame_decode(buf, len, f->reply, got));
}

/* The RTR an Initiator sends, as the Responder's receive path sees it. */
static enum xiw_nego_first send_rtr(u8 rtr, const struct xiw_mpa_nego *resp)
{
	u8 buf[XIW_DDP_HDR_MAX + XIW_READ_REQ_LEN] = {};
	struct xiw_read_req read = {};
	struct xiw_ddp_hdr h = { .last = true, .msn = XIW_MSN_FIRST };
	u32 len;

	switch (rtr) {
	case XIW_RTR_WRITE:
		h.opcode = XIW_OP_WRITE;
		h.tagged = true;
		break;
	case XIW_RTR_READ:
		h.opcode = XIW_OP_READ_REQ;
		h.qn = XIW_QN_REQUEST;
		break;
	default:
		h.opcode = XIW_OP_SEND;
	}
	len = xiw_ddp_encode(buf, &h);
	if (rtr == XIW_RTR_READ) {
		xiw_rdmap_read_req_encode(buf + len, &read);
		len += XIW_READ_REQ_LEN;
	}
	CHECK(xiw_ddp_decode(buf, len, 0, &h) == XIW_OK);
	return xiw_nego_first_fpdu(resp, len, &h, buf + h.payload_off);
}

/* @i and @r: the results of the Initiator and the Responder. */
static void check_agreement(const struct xiw_mpa_nego *i,
			    const struct xiw_mpa_nego *r)
{
	CHECK(i->rev == r->rev && i->enhanced == r->enhanced);
	CHECK(i->crc == r->crc && i->p2p == r->p2p);
	CHECK(i->tx_markers == r->rx_markers);
	CHECK(i->rx_markers == r->tx_markers);
	CHECK(i->peer_values_valid == i->enhanced);
	CHECK(r->peer_values_valid == r->enhanced);
	if (i->enhanced) {
		CHECK(i->ord <= r->ird && r->ord <= i->ird);
		CHECK(i->peer_ird == r->ird && i->peer_ord == r->ord);
	}
	if (!i->p2p) {
		CHECK(!i->rtr_send && !r->rtr_offered);
		return;
	}
	CHECK(i->rtr_offered == r->rtr_offered);
	CHECK(i->rtr_send && !(i->rtr_send & (i->rtr_send - 1)));
	CHECK(i->rtr_send & r->rtr_offered);
	CHECK(i->rtr_send != XIW_RTR_READ || r->ird);
	CHECK(send_rtr(i->rtr_send, r) ==
	      (i->rtr_send == XIW_RTR_READ ? XIW_FIRST_RTR_READ :
					     XIW_FIRST_RTR));
}

static void check_limits(const struct xiw_mpa_policy *p,
			 const struct xiw_mpa_nego *a)
{
	CHECK(a->ird <= p->max_ird && a->ord <= p->max_ord);
	CHECK(!(a->rtr_send & ~p->rtr));
}

static void both_sides(struct fuzz_in *in, const struct xiw_mpa_policy *init,
		       const struct xiw_mpa_policy *resp)
{
	struct xiw_mpa_frame req, got_req, reply, got_reply;
	struct xiw_mpa_nego i, r;
	enum xiw_nego_result verdict;
	u8 shared = init->rtr & resp->rtr;

	xiw_nego_request(init, fuzz_edge(in), fuzz_edge(in), &req);
	req.pd_len = fuzz_u16(in) % (XIW_MPA_PD_MAX - 3);
	transfer(&req, &got_req);
	verdict = xiw_nego_check_request(&got_req);
	CHECK(verdict == (req.pd_len > 255 ? XIW_NEGO_CLOSE : XIW_NEGO_OK));
	if (verdict != XIW_NEGO_OK)
		return;

	xiw_nego_reject(resp, &got_req, fuzz_edge(in), fuzz_edge(in), &reply);
	transfer(&reply, &got_reply);
	CHECK(xiw_nego_check_reply(init, &req, &got_reply, &i) ==
	      XIW_NEGO_REJECTED);

	xiw_nego_accept(resp, &got_req, fuzz_edge(in), fuzz_edge(in), &reply,
			&r);
	reply.pd_len = fuzz_u16(in) % (XIW_MPA_PD_MAX - 3);
	transfer(&reply, &got_reply);
	check_limits(resp, &r);
	verdict = xiw_nego_check_reply(init, &req, &got_reply, &i);
	if (reply.pd_len > 255) {
		CHECK(verdict == XIW_NEGO_CLOSE);
		return;
	}
	/* Two sides with a common RTR type must agree on it. */
	if (!resp->max_ird)
		shared &= ~XIW_RTR_READ;
	if (!req.enh.p2p || shared)
		CHECK(verdict == XIW_NEGO_OK);
	else
		CHECK(verdict == XIW_NEGO_TERM_RTR);
	if (verdict == XIW_NEGO_OK) {
		check_limits(init, &i);
		check_agreement(&i, &r);
	}
}

static void take_frame(struct fuzz_in *in, bool reply, struct xiw_mpa_frame *f)
{
	u8 flags = fuzz_u8(in);

	memset(f, 0, sizeof(*f));
	f->reply = reply;
	f->markers = flags & 1;
	f->crc = flags & 2;
	f->reject = reply && (flags & 4);
	f->rev = flags >> 3 & 3;
	f->enhanced = f->rev == 2 && (flags & 32);
	f->pd_len = fuzz_u8(in);
	if (!f->enhanced)
		return;
	f->enh.p2p = flags & 64;
	f->enh.rtr = fuzz_u8(in) & XIW_RTR_ALL;
	f->enh.ird = fuzz_edge(in) & XIW_MPA_ENH_DEPTH;
	f->enh.ord = fuzz_edge(in) & XIW_MPA_ENH_DEPTH;
}

static void hostile_initiator(struct fuzz_in *in,
			      const struct xiw_mpa_policy *p)
{
	struct xiw_mpa_frame req, reply, got;
	struct xiw_mpa_nego a;

	take_frame(in, false, &req);
	if (xiw_nego_check_request(&req) != XIW_NEGO_OK)
		return;
	xiw_nego_accept(p, &req, fuzz_edge(in), fuzz_edge(in), &reply, &a);
	check_limits(p, &a);
	transfer(&reply, &got);
	CHECK(got.rev == req.rev && got.enhanced == req.enhanced);
	if (!req.enhanced)
		return;
	/* RFC 6581 9.1: no more outbound than the peer takes. */
	if (req.enh.ird == XIW_MPA_DEPTH_NONE)
		CHECK(got.enh.ord == XIW_MPA_DEPTH_NONE);
	else
		CHECK(a.ord <= req.enh.ird && got.enh.ord == a.ord);
	if (req.enh.ord == XIW_MPA_DEPTH_NONE)
		CHECK(got.enh.ird == XIW_MPA_DEPTH_NONE);
	else
		CHECK(got.enh.ird == a.ird);
	CHECK(got.enh.p2p == req.enh.p2p && !got.enh.rtr == !got.enh.p2p);
	CHECK(!(got.enh.rtr & ~p->rtr));
}

static void hostile_responder(struct fuzz_in *in,
			      const struct xiw_mpa_policy *p)
{
	struct xiw_mpa_frame req, reply;
	struct xiw_mpa_nego a;
	enum xiw_nego_result verdict;

	xiw_nego_request(p, fuzz_edge(in), fuzz_edge(in), &req);
	take_frame(in, true, &reply);
	verdict = xiw_nego_check_reply(p, &req, &reply, &a);
	CHECK(!reply.reject == (verdict != XIW_NEGO_REJECTED));
	if (verdict != XIW_NEGO_OK)
		return;
	check_limits(p, &a);
	CHECK(a.rev == req.rev && a.enhanced == req.enhanced);
	CHECK(a.ird >= req.enh.ird && a.ord <= req.enh.ord);
	if (!a.enhanced)
		return;
	if (reply.enh.ird != XIW_MPA_DEPTH_NONE)
		CHECK(a.ord <= reply.enh.ird);
	if (reply.enh.ord != XIW_MPA_DEPTH_NONE)
		CHECK(reply.enh.ord <= a.ird);
	CHECK(!a.p2p == !a.rtr_send && !(a.rtr_send & ~reply.enh.rtr));
	CHECK(a.p2p || !req.enh.p2p);
}

/* An RTR is empty, is of a type that was offered, and comes first. */
static void hostile_first(struct fuzz_in *in)
{
	struct xiw_mpa_nego a = {
		.p2p = fuzz_u8(in) & 1,
		.rtr_offered = fuzz_u8(in) & XIW_RTR_ALL,
	};
	u8 body[XIW_READ_REQ_LEN] = {};
	u32 len = min_t(size_t, in->left, 64);
	u8 *ulpdu = fuzz_dup(in->data, len);
	enum xiw_nego_first first;
	struct xiw_ddp_hdr h;
	bool good;

	good = xiw_ddp_decode(ulpdu, len, XIW_FEAT_RFC7306, &h) == XIW_OK;
	if (good)
		memcpy(body, ulpdu + h.payload_off,
		       min_t(u32, h.payload_len, sizeof(body)));
	first = xiw_nego_first_fpdu(&a, len, good ? &h : NULL, body);
	switch (first) {
	case XIW_FIRST_RTR:
		CHECK(a.p2p && (!len || (good && h.last && !h.payload_len)));
		CHECK(a.rtr_offered &
		      (len && h.tagged ? XIW_RTR_WRITE : XIW_RTR_SEND));
		CHECK(!len || h.tagged || h.msn == 1);
		break;
	case XIW_FIRST_RTR_READ:
		CHECK(a.p2p && (a.rtr_offered & XIW_RTR_READ));
		CHECK(len == 46 && !fuzz_be(ulpdu + 18 + 12, 4));
		break;
	case XIW_FIRST_TERMINATE:
		CHECK(good && h.opcode == XIW_OP_TERMINATE);
		break;
	case XIW_FIRST_MESSAGE:
		CHECK(!good || h.opcode != XIW_OP_TERMINATE);
		break;
	}
	free(ulpdu);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct xiw_mpa_policy init, resp;
	u8 mode = fuzz_u8(&in);

	if ((mode & 3) == 3) {
		hostile_first(&in);
		return 0;
	}
	if (!take_policy(&in, &init) || !take_policy(&in, &resp))
		return 0;
	switch (mode & 3) {
	case 0:
		both_sides(&in, &init, &resp);
		break;
	case 1:
		hostile_initiator(&in, &resp);
		break;
	default:
		hostile_responder(&in, &init);
	}
	return 0;
}
