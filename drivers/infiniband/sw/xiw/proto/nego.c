// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA negotiation: combine local policy, the ULP's parameters and the peer's
 * frame (RFC 5044 section 7.1, RFC 6581).  The connection manager calls this
 * after it has decoded a frame.
 */
#include "nego.h"
#include "rdmap.h"

int xiw_nego_policy_check(const struct xiw_mpa_policy *p)
{
	if (p->rev < 1 || p->rev > 2)
		return -EINVAL;
	if (!p->rtr || (p->rtr & ~XIW_RTR_ALL))
		return -EINVAL;
	if (p->max_ird > XIW_MPA_DEPTH_MAX || p->max_ord > XIW_MPA_DEPTH_MAX)
		return -EINVAL;
	/* An RTR Read takes one inbound slot at the Responder. */
	if (p->rtr == XIW_RTR_READ && !p->max_ird)
		return -EINVAL;
	return 0;
}

static u16 nego_depth_within(u32 wanted, u16 limit)
{
	return min_t(u32, wanted, min_t(u32, limit, XIW_MPA_DEPTH_MAX));
}

void xiw_nego_request(const struct xiw_mpa_policy *p, u32 ird, u32 ord,
		      struct xiw_mpa_frame *req)
{
	memset(req, 0, sizeof(*req));
	req->rev = p->rev;
	req->markers = p->markers;
	req->crc = p->crc;
	/* Revision 1 cannot send these, but the Reply is checked with them. */
	req->enh.ird = nego_depth_within(ird, p->max_ird);
	req->enh.ord = nego_depth_within(ord, p->max_ord);
	if (p->rev < 2)
		return;
	req->enhanced = true;
	/* RFC 6581 9.2: without A none of B, C, D may be set. */
	if (p->p2p) {
		req->enh.p2p = true;
		req->enh.rtr = p->rtr;
	}
}

enum xiw_nego_result xiw_nego_check_request(const struct xiw_mpa_frame *req)
{
	/*
	 * RFC 6581 section 6 allows "two or higher", but no RFC defines a
	 * higher revision.  Revision 0 is the RDMA Consortium's.
	 */
	if (req->rev < 1 || req->rev > 2)
		return XIW_NEGO_CLOSE;
	/* RFC 5044 7.1.2 rule 9: never truncate Private Data. */
	if (req->pd_len > XIW_NEGO_PD_MAX)
		return XIW_NEGO_CLOSE;
	return XIW_NEGO_OK;
}

/*
 * RFC 6581 9.2: accept the types that both sides support, or if there is none,
 * reply with our own and let the Initiator decide.  A Read as RTR needs an IRD
 * of at least 1: with 0, leave it out unless it is the only type.
 */
static u8 nego_rtr_types(const struct xiw_mpa_policy *p, u8 requested, u16 *ird)
{
	u8 own = p->max_ird ? p->rtr : p->rtr & ~XIW_RTR_READ;
	u8 rtr = requested & own;

	if (!rtr)
		rtr = own;
	if (*ird)
		return rtr;
	if (rtr != XIW_RTR_READ)
		return rtr & ~XIW_RTR_READ;
	*ird = 1;
	return rtr;
}

static void nego_reply_init(const struct xiw_mpa_policy *p,
			    const struct xiw_mpa_frame *req,
			    struct xiw_mpa_frame *reply)
{
	memset(reply, 0, sizeof(*reply));
	reply->reply = true;
	/* RFC 6581 section 10: reply in the form of the Request. */
	reply->rev = req->rev;
	reply->enhanced = req->enhanced;
	reply->markers = p->markers;
	/*
	 * RFC 5044 7.1.1: the Request's C is sufficient.  Set it in the Reply,
	 * too, because some Initiators check only that.
	 */
	reply->crc = p->crc || req->crc;
}

/* RFC 6581 9.1: a field that opted out is answered by opting out. */
static void nego_reply_depths(const struct xiw_mpa_frame *req, u16 ird, u16 ord,
			      struct xiw_mpa_frame *reply)
{
	reply->enh.ird = req->enh.ord == XIW_MPA_DEPTH_NONE ?
			 XIW_MPA_DEPTH_NONE : ird;
	reply->enh.ord = req->enh.ird == XIW_MPA_DEPTH_NONE ?
			 XIW_MPA_DEPTH_NONE : ord;
}

/* Set the parameters that depend only on the two frames. */
static void nego_common_frames(const struct xiw_mpa_frame *own,
			       const struct xiw_mpa_frame *peer,
			       struct xiw_mpa_nego *nego)
{
	memset(nego, 0, sizeof(*nego));
	nego->rev = peer->rev;
	nego->enhanced = own->enhanced && peer->enhanced;
	/* RFC 5044 7.1.1: one side can require CRCs, receivers choose M. */
	nego->crc = own->crc || peer->crc;
	nego->tx_markers = peer->markers;
	nego->rx_markers = own->markers;
	if (nego->enhanced) {
		nego->peer_values_valid = true;
		nego->peer_ird = peer->enh.ird;
		nego->peer_ord = peer->enh.ord;
	}
}

void xiw_nego_accept(const struct xiw_mpa_policy *p,
		     const struct xiw_mpa_frame *req, u32 ird, u32 ord,
		     struct xiw_mpa_frame *reply,
		     struct xiw_mpa_nego *nego)
{
	nego_reply_init(p, req, reply);
	nego_common_frames(reply, req, nego);
	nego->ird = nego_depth_within(ird, p->max_ird);
	nego->ord = nego_depth_within(ord, p->max_ord);
	if (!req->enhanced)
		return;

	if (req->enh.p2p) {
		nego->p2p = true;
		nego->rtr_offered =
			nego_rtr_types(p, req->enh.rtr, &nego->ird);
	}
	/* RFC 6581 9.1: the Initiator's IRD limits our ORD. */
	if (req->enh.ird != XIW_MPA_DEPTH_NONE)
		nego->ord = min(nego->ord, req->enh.ird);
	reply->enh.p2p = nego->p2p;
	reply->enh.rtr = nego->rtr_offered;
	nego_reply_depths(req, nego->ird, nego->ord, reply);
}

void xiw_nego_reject(const struct xiw_mpa_policy *p,
		     const struct xiw_mpa_frame *req, u32 ird, u32 ord,
		     struct xiw_mpa_frame *reply)
{
	u16 wire_ird = nego_depth_within(ird, XIW_MPA_DEPTH_MAX);
	u16 wire_ord = nego_depth_within(ord, XIW_MPA_DEPTH_MAX);

	nego_reply_init(p, req, reply);
	reply->reject = true;
	if (!req->enhanced)
		return;
	if (req->enh.p2p) {
		reply->enh.p2p = true;
		reply->enh.rtr = nego_rtr_types(p, req->enh.rtr, &wire_ird);
	}
	nego_reply_depths(req, wire_ird, wire_ord, reply);
}

/* RFC 6581 9.1, Initiator: adapt our limits to the Responder's. */
static enum xiw_nego_result nego_adopt_depths(const struct xiw_mpa_policy *p,
					      const struct xiw_mpa_enh *own,
					      const struct xiw_mpa_enh *peer,
					      struct xiw_mpa_nego *nego)
{
	if (peer->ird != XIW_MPA_DEPTH_NONE)
		nego->ord = min(own->ord, peer->ird);
	if (peer->ord == XIW_MPA_DEPTH_NONE || peer->ord <= own->ird)
		return XIW_NEGO_OK;
	if (peer->ord > p->max_ird)
		return XIW_NEGO_TERM_IRD;
	nego->ird = peer->ord;
	return XIW_NEGO_OK;
}

/* RFC 6581 9.2, Initiator: choose an RTR that the Responder accepts. */
static enum xiw_nego_result nego_adopt_rtr(const struct xiw_mpa_policy *p,
					   const struct xiw_mpa_enh *own,
					   const struct xiw_mpa_enh *peer,
					   struct xiw_mpa_nego *nego)
{
	u8 usable;

	nego->p2p = peer->p2p;
	if (!peer->p2p)
		return own->p2p ? XIW_NEGO_TERM_RTR : XIW_NEGO_OK;

	nego->rtr_offered = peer->rtr;
	usable = peer->rtr & p->rtr;
	/* A peer with an IRD of 0 cannot accept a Read. */
	if (!peer->ird)
		usable &= ~XIW_RTR_READ;
	if (!usable)
		return XIW_NEGO_TERM_RTR;
	nego->rtr_send = usable & -usable;
	return XIW_NEGO_OK;
}

enum xiw_nego_result xiw_nego_check_reply(const struct xiw_mpa_policy *p,
					  const struct xiw_mpa_frame *req,
					  const struct xiw_mpa_frame *reply,
					  struct xiw_mpa_nego *nego)
{
	enum xiw_nego_result result;

	nego_common_frames(req, reply, nego);
	if (reply->pd_len > XIW_NEGO_PD_MAX)
		return XIW_NEGO_CLOSE;
	/* Accept a rejection even if its form does not match the Request. */
	if (reply->reject)
		return XIW_NEGO_REJECTED;
	if (reply->rev != req->rev || reply->enhanced != req->enhanced)
		return XIW_NEGO_CLOSE;

	nego->ird = req->enh.ird;
	nego->ord = req->enh.ord;
	if (!reply->enhanced)
		return XIW_NEGO_OK;
	result = nego_adopt_depths(p, &req->enh, &reply->enh, nego);
	if (result != XIW_NEGO_OK)
		return result;
	return nego_adopt_rtr(p, &req->enh, &reply->enh, nego);
}

u32 xiw_nego_probe_bits(const struct xiw_ddp_hdr *h)
{
	if (h->opcode != XIW_OP_WRITE || !h->last || h->payload_len ||
	    h->stag != XIW_PROBE_STAG)
		return 0;
	return h->to & XIW_PROBE_ALL;
}

static bool nego_is_rtr_read(const struct xiw_ddp_hdr *h, const u8 *body)
{
	struct xiw_read_req r;

	if (h->msn != XIW_MSN_FIRST || h->mo)
		return false;
	return xiw_rdmap_read_req_decode(body, h->payload_len, &r) == XIW_OK &&
	       !r.size;
}

enum xiw_nego_first xiw_nego_first_fpdu(const struct xiw_mpa_nego *nego,
					u32 ulpdu_len,
					const struct xiw_ddp_hdr *h,
					const u8 *body)
{
	u8 offered = nego->p2p ? nego->rtr_offered : 0;

	/* The RTR "zero-length FULPDU (Send)" may also mean an empty FPDU. */
	if (!h)
		return !ulpdu_len && (offered & XIW_RTR_SEND) ?
		       XIW_FIRST_RTR : XIW_FIRST_MESSAGE;
	if (h->opcode == XIW_OP_TERMINATE)
		return XIW_FIRST_TERMINATE;
	if (!h->last)
		return XIW_FIRST_MESSAGE;

	switch (h->opcode) {
	case XIW_OP_WRITE:
		if (!h->payload_len && (offered & XIW_RTR_WRITE))
			return XIW_FIRST_RTR;
		break;
	case XIW_OP_SEND:
		if (!h->payload_len && h->msn == XIW_MSN_FIRST && !h->mo &&
		    (offered & XIW_RTR_SEND))
			return XIW_FIRST_RTR;
		break;
	case XIW_OP_READ_REQ:
		if ((offered & XIW_RTR_READ) && nego_is_rtr_read(h, body))
			return XIW_FIRST_RTR_READ;
		break;
	}
	return XIW_FIRST_MESSAGE;
}
