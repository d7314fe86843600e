// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The negotiation and every encoder, with all that a peer or a process chooses
 * unknown: nothing is written behind the room, and results are within the
 * limits of the headers.
 *
 * Files: proto/atomic proto/ddp proto/mpa proto/nego proto/oob
 * Files: proto/opcode proto/rdmap proto/session proto/term
 */
#include "any.h"
#include "atomic.h"
#include "nego.h"
#include "oob.h"
#include "session.h"
#include "term.h"

/* Private Data of the largest length, and none behind it */
static u8 encode_pd[XIW_MPA_PD_MAX];

static void encode_any_frame(struct xiw_mpa_frame *f)
{
	f->reply = any_bool();
	f->markers = any_bool();
	f->crc = any_bool();
	f->reject = any_bool();
	f->enhanced = any_bool();
	f->rev = any_u8;
	f->enh.p2p = any_bool();
	f->enh.rtr = any_u8;
	f->enh.ird = any_u16;
	f->enh.ord = any_u16;
	f->pd_len = any_u16;
	f->pd_off = any_u16;
}

static void encode_mpa(u32 size, u16 pd_len)
{
	struct xiw_mpa_frame f;
	int len;

	encode_any_frame(&f);
	f.pd_len = pd_len;
	len = xiw_mpa_frame_encode(any_bytes(size), size, &f, encode_pd);
	/*@ assert fits: len <= XIW_MPA_FRAME_MAX; */
}

static void encode_session(u32 size, u16 pd_len)
{
	struct xiw_session s = {
		.state = ANY_OF(0, XIW_SESSION_STATES),
		.enhanced = any_bool(),
		.tx_next = any_u16,
	};
	struct xiw_mpa_frame f;
	int len;

	encode_any_frame(&f);
	f.pd_len = pd_len;
	len = xiw_session_encode(&s, any_bytes(size), size, &f, encode_pd);
	/*@ assert fits: len <= XIW_SESSION_MSG_MAX; */
	xiw_session_sent(&s, &f);
	/*@ assert sent: s.state <= XIW_SESSION_STATES; */
}

/*
 * Calls @encode with a buffer of @size bytes, of which @hdr_len are the header,
 * and with Private Data of any length. Whether lengths around the limit fit
 * depends on the enhanced data, so each of them is a case.
 */
static void encode_size(void (*encode)(u32 size, u16 pd_len), u32 size,
			u32 hdr_len)
{
	u32 room = size > hdr_len ? size - hdr_len : 0;
	u32 exact = room > XIW_MPA_ENH_LEN ? room - XIW_MPA_ENH_LEN : 0;
	u32 len;

	encode(size, ANY_OF(0, exact));
	/*@ loop unroll XIW_MPA_ENH_LEN + 2; */
	for (len = exact; len <= room; len++)
		encode(size, len);
	encode(size, ANY_OF(room + 1, 65535));
}

static void encode_sizes(void (*encode)(u32 size, u16 pd_len), u32 hdr_len)
{
	encode_size(encode, 0, hdr_len);
	encode_size(encode, hdr_len - 1, hdr_len);
	encode_size(encode, hdr_len + XIW_MPA_ENH_LEN + 1, hdr_len);
	encode_size(encode, hdr_len + XIW_MPA_PD_MAX, hdr_len);
}

/* Of a policy, only what xiw_nego_policy_check() accepts */
static void encode_any_policy(struct xiw_mpa_policy *p)
{
	*p = (struct xiw_mpa_policy){
		.rev = any_u8,
		.crc = any_bool(),
		.markers = any_bool(),
		.p2p = any_bool(),
		.rtr = any_u8,
		.max_ird = any_u16,
		.max_ord = any_u16,
	};
}

static void encode_check_depths(const struct xiw_mpa_policy *p,
				const struct xiw_mpa_nego *nego)
{
	/*@ assert ird: nego->ird <= XIW_MPA_DEPTH_NONE; */
	/*@ assert ord: nego->ord <= XIW_MPA_DEPTH_NONE; */
	/*@ assert rtr: nego->rtr_send <= XIW_RTR_ALL; */
}

static void encode_nego(void)
{
	struct xiw_mpa_frame own, peer;
	struct xiw_mpa_policy p;
	struct xiw_mpa_nego nego;

	encode_any_policy(&p);
	if (xiw_nego_policy_check(&p))
		return;
	/* What the decoder lets pass, see prove_decode.c */
	encode_any_frame(&peer);
	peer.enh.ird = ANY_OF(0, XIW_MPA_DEPTH_NONE);
	peer.enh.ord = ANY_OF(0, XIW_MPA_DEPTH_NONE);
	peer.enh.rtr = ANY_OF(0, XIW_RTR_ALL);
	xiw_nego_reject(&p, &peer, any_u32, any_u32, &own);
	if (xiw_nego_check_request(&peer) == XIW_NEGO_OK) {
		/*@ assert pd: peer.pd_len <= XIW_NEGO_PD_MAX; */
		xiw_nego_accept(&p, &peer, any_u32, any_u32, &own, &nego);
		encode_check_depths(&p, &nego);
	}
	xiw_nego_request(&p, any_u32, any_u32, &own);
	/*@ assert request: own.enh.ird <= XIW_MPA_DEPTH_MAX; */
	xiw_nego_check_reply(&p, &own, &peer, &nego);
	encode_check_depths(&p, &nego);
}

static void encode_any_hdr(struct xiw_ddp_hdr *h)
{
	h->tagged = any_bool();
	h->last = any_bool();
	h->opcode = any_u8;
	h->payload_off = any_u8;
	h->payload_len = any_u32;
	h->stag = any_u32;
	h->to = any_u64;
	h->inv_stag = any_u32;
	h->qn = any_u32;
	h->msn = any_u32;
	h->mo = any_u32;
}

static void encode_ddp(void)
{
	struct xiw_ddp_hdr h;
	u32 len;

	encode_any_hdr(&h);
	h.tagged = true;
	len = xiw_ddp_encode(any_bytes(XIW_TAGGED_LEN), &h);
	/*@ assert tagged: len == XIW_TAGGED_LEN; */
	h.tagged = false;
	len = xiw_ddp_encode(any_bytes(XIW_UNTAGGED_LEN), &h);
	/*@ assert untagged: len == XIW_UNTAGGED_LEN; */
}

/*
 * The first FPDU; of its body all is there, or for a Read Request its header.
 */
static void encode_first_fpdu(void)
{
	struct xiw_mpa_nego nego = {
		.p2p = any_bool(),
		.rtr_offered = any_u8,
	};
	struct xiw_ddp_hdr h;

	xiw_nego_first_fpdu(&nego, any_u32, NULL, NULL);
	encode_any_hdr(&h);
	xiw_nego_probe_bits(&h);
	xiw_nego_first_fpdu(&nego, any_u32, &h, any_bytes(XIW_READ_REQ_LEN));
}

static struct xiw_read_req encode_any_read(void)
{
	return (struct xiw_read_req){
		.sink_stag = any_u32,
		.sink_to = any_u64,
		.size = any_u32,
		.src_stag = any_u32,
		.src_to = any_u64,
	};
}

static void encode_rdmap(void)
{
	struct xiw_read_req read = encode_any_read();
	struct xiw_atomic_req atomic = {
		.aop = any_u8,
		.id = any_u32,
		.stag = any_u32,
		.to = any_u64,
		.data = any_u64,
		.data_mask = any_u64,
		.compare = any_u64,
		.compare_mask = any_u64,
	};
	struct xiw_atomic_resp resp = { .id = any_u32, .orig = any_u64 };
	u64 value;

	xiw_rdmap_read_req_encode(any_bytes(XIW_READ_REQ_LEN), &read);
	xiw_rdmap_read_req_advance(&read, any_u32);
	xiw_rdmap_atomic_req_encode(any_bytes(XIW_ATOMIC_REQ_LEN), &atomic);
	xiw_atomic_apply(&atomic, any_u64, &value);
	xiw_rdmap_atomic_resp_encode(any_bytes(XIW_ATOMIC_RESP_LEN), &resp);
	xiw_rdmap_imm_encode(any_bytes(XIW_IMM_LEN), any_u32, XIW_IMM_SEND);
}

static void encode_term(const struct xiw_read_req *read)
{
	struct xiw_term_offender off = {
		.ulpdu_len = any_u32,
		.read_req = read,
	};
	enum xiw_reason reason = ANY_OF(0, XIW_REASON_COUNT);
	u32 len;

	ANY(&off.hdr);
	xiw_term_wanted(reason, any_u8);
	xiw_term_recv_status(reason);
	xiw_term_event(reason);
	len = xiw_term_encode(any_bytes(XIW_TERM_ULPDU_MAX), reason, &off);
	/*@ assert fits: 22 <= len <= XIW_TERM_ULPDU_MAX; */
	len = xiw_term_encode(any_bytes(22), reason, NULL);
	/*@ assert alone: len == 22; */
}

static void encode_terms(void)
{
	struct xiw_read_req read = encode_any_read();

	encode_term(NULL);
	encode_term(&read);
}

static void encode_any_end(struct xiw_oob_end *end)
{
	ANY(&end->gid);
	end->qpn = any_u32;
}

static void encode_any_claim(struct xiw_oob_claim *claim)
{
	claim->rts = any_bool();
	claim->rnr_retry = ANY_OF(0, XIW_OOB_RNR_MAX);
	claim->sq_proof = any_u64;
	claim->rq_proof = any_u64;
}

static void encode_oob_request(const struct xiw_oob_path *path,
			       struct xiw_oob_request *req)
{
	struct xiw_oob_nonces nonces = { .init = any_u64, .resp = any_u64 };

	xiw_oob_request_init(path, &nonces, any_bool(), any_u16, req);
	xiw_oob_request_encode(req, any_bytes(XIW_OOB_REQ_LEN));
	xiw_oob_request_from(req, path->own.gid, path->peer.gid);
	xiw_oob_match(path, req);
}

static void encode_oob_reply(const struct xiw_oob_path *path,
			     const struct xiw_oob_request *req)
{
	struct xiw_oob_nonces nonces = { .init = any_u64, .resp = any_u64 };
	struct xiw_oob_reply reply;

	xiw_oob_accept(path, req, &nonces, any_u16, &reply);
	xiw_oob_reply_encode(&reply, any_bytes(XIW_OOB_REP_LEN));
	xiw_oob_answers(path, &reply);
	xiw_oob_challenge(req, any_u64, &reply);
	xiw_oob_refuse(any_u8, NULL, &reply);
	xiw_oob_reply_encode(&reply, any_bytes(XIW_OOB_REP_LEN));
}

static void encode_oob(void)
{
	struct xiw_oob_nonces nonces = { .init = any_u64, .resp = any_u64 };
	struct xiw_oob_path path = {
		.max_dest_rd_atomic = any_u8,
		.max_rd_atomic = any_u8,
	};
	struct xiw_oob_request req;
	struct xiw_oob_claim claim;

	encode_any_end(&path.own);
	encode_any_end(&path.peer);
	path.token.rts = any_bool();
	path.token.rnr_retry = any_u8;
	path.token.sq_psn = any_u32;
	path.token.rq_psn = any_u32;
	if (xiw_oob_path_check(&path))
		return;
	encode_any_claim(&claim);
	xiw_oob_proven(&path, &nonces, &claim);
	encode_oob_request(&path, &req);
	encode_oob_reply(&path, &req);
	xiw_oob_ird(&path, any_u16);
	xiw_oob_ord(&path, any_u16);
}

static void encode_oob_retry(u8 timeout)
{
	u32 count;
	u32 ms;

	/*@ loop unroll 8; */
	for (count = 0; count < 8; count++) {
		ms = xiw_oob_retry_ms(timeout, count);
		/*@ assert retry: 1 <= ms <= XIW_OOB_WAIT_MAX_MS; */
	}
	xiw_oob_retry_ms(timeout, any_u8);
}

/* Times, from values that a process or a peer chooses */
static void encode_oob_times(void)
{
	struct xiw_oob_claim claim;
	u32 timeout;
	u32 ms;

	encode_any_claim(&claim);
	xiw_oob_receive_ms(&claim, any_u8);
	/*@ loop unroll 32; */
	for (timeout = 0; timeout < 32; timeout++)
		encode_oob_retry(timeout);
	encode_oob_retry(ANY_OF(32, 255));
	ms = xiw_oob_wait_ms(any_u8, any_u8);
	/*@ assert wait: XIW_OOB_WAIT_MIN_MS <= ms <= XIW_OOB_WAIT_MAX_MS; */
	ms = xiw_oob_pause_ms(any_u32, any_u32, false);
	/*@ assert least: XIW_OOB_PAUSE_MIN_MS / 2 <= ms; */
	/*@ assert most: ms <= XIW_OOB_PAUSE_MAX_MS * 3 / 2; */
	ms = xiw_oob_pause_ms(any_u32, any_u32, true);
	/*@ assert least_local: XIW_OOB_PAUSE_MIN_MS / 2 <= ms; */
	/*@ assert most_local: ms <= XIW_OOB_PAUSE_LOCAL_MS * 3 / 2; */
}

int main(void)
{
	ANY(&encode_pd);
	encode_sizes(encode_mpa, XIW_MPA_HDR_LEN);
	encode_sizes(encode_session, XIW_SESSION_HDR_LEN);
	encode_nego();
	encode_ddp();
	encode_first_fpdu();
	encode_rdmap();
	encode_terms();
	encode_oob();
	encode_oob_times();
	return 0;
}
