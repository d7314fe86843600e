// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Every decoder of bytes from a peer, with unknown bytes of every length: it
 * reads nothing behind them, and its results are within the limits on which its
 * callers rely. Lengths from that of the longest header on are one case: a
 * decoder may then read the header, and no more.
 *
 * Files: proto/ddp proto/mpa proto/oob proto/opcode proto/rdmap proto/session
 * Files: proto/term
 */
#include "any.h"
#include "nego.h"
#include "oob.h"
#include "session.h"
#include "term.h"

/* Longer than any message with one of these headers */
#define LONGEST	65535
#define MPA_HEADERS	(XIW_MPA_HDR_LEN + XIW_MPA_ENH_LEN + 4)
#define SESSION_HEADERS	(XIW_SESSION_HDR_LEN + XIW_MPA_ENH_LEN + 4)

static void decode_mpa_whole(const u8 *buf, u32 len, bool reply)
{
	struct xiw_mpa_frame f;
	u32 end;

	if (xiw_mpa_frame_decode(buf, len, reply, &f))
		return;
	end = f.pd_off + f.pd_len;
	/*@ assert inside: end <= XIW_MPA_FRAME_MAX; */
	/*@ assert ird: f.enh.ird <= XIW_MPA_DEPTH_NONE; */
	/*@ assert ord: f.enh.ord <= XIW_MPA_DEPTH_NONE; */
	/*@ assert rtr: f.enh.rtr <= XIW_RTR_ALL; */
	if (len >= MPA_HEADERS)
		return;
	/*@ assert whole: end == len; */
}

static void decode_mpa(const u8 *buf, u32 len, bool reply)
{
	size_t missing;
	int frame_len;

	frame_len = xiw_mpa_frame_len(buf, len, reply);
	/*@ assert whole: frame_len <= XIW_MPA_FRAME_MAX; */
	missing = xiw_mpa_frame_missing(frame_len, len);
	/*@ assert missing: missing <= XIW_MPA_FRAME_MAX; */
	decode_mpa_whole(buf, len, reply);
	if (len >= MPA_HEADERS)
		return;
	/*@ assert room: len + missing <= XIW_MPA_FRAME_MAX; */
}

static void decode_request(const u8 *buf, u32 len)
{
	decode_mpa(buf, len, false);
}

static void decode_reply(const u8 *buf, u32 len)
{
	decode_mpa(buf, len, true);
}

static void decode_ddp(const u8 *hdr, u32 len)
{
	struct xiw_ddp_hdr h;

	if (xiw_ddp_decode(hdr, len, any_u32, &h) != XIW_OK)
		return;
	/*@ assert header: h.payload_off <= XIW_DDP_HDR_MAX; */
	/*@ assert payload: h.payload_len <= 65535 - XIW_TAGGED_LEN; */
	/*@ assert opcode: h.opcode < XIW_OP_COUNT; */
}

static void decode_rdmap(const u8 *buf, u32 len)
{
	struct xiw_atomic_resp resp;
	struct xiw_atomic_req atomic;
	struct xiw_read_req read;
	__be32 imm;

	xiw_rdmap_read_req_decode(buf, len, &read);
	xiw_rdmap_atomic_req_decode(buf, len, &atomic);
	xiw_rdmap_atomic_resp_decode(buf, len, &resp);
	if (xiw_rdmap_imm_decode(buf, len, &imm) == XIW_OK)
		xiw_rdmap_imm_of_send(buf);
}

static void decode_term(const u8 *buf, u32 len)
{
	struct xiw_term term;

	if (xiw_term_decode(buf, len, &term) != XIW_OK)
		return;
	xiw_term_unknown_opcode(term.code);
	xiw_term_peer_status(term.code, any_bool());
}

static void decode_oob(const u8 *buf, u32 len)
{
	struct xiw_oob_request req;
	struct xiw_oob_reply reply;

	if (xiw_oob_request_decode(buf, len, &req) == XIW_OOB_OK) {
		u32 init = req.init.qpn;
		u32 resp = req.resp.qpn;

		/*@ assert init: XIW_OOB_QPN_MIN <= init <= XIW_OOB_NUMBER; */
		/*@ assert resp: XIW_OOB_QPN_MIN <= resp <= XIW_OOB_NUMBER; */
		/*@ assert rnr: req.claim.rnr_retry <= XIW_OOB_RNR_MAX; */
	}
	if (!xiw_oob_reply_decode(buf, len, any_bool(), &reply))
		xiw_oob_final(reply.reason);
}

static void decode_session(const u8 *buf, u32 len)
{
	struct xiw_session_chunk chunk = {
		.ppid = any_u32,
		.stream = any_u16,
		.whole = any_bool(),
	};
	struct xiw_session_msg msg;
	u32 end;

	if (xiw_session_decode(&chunk, buf, len, &msg) ||
	    msg.code == XIW_SESSION_SEGMENT)
		return;
	end = msg.frame.pd_off + msg.frame.pd_len;
	/*@ assert inside: end <= XIW_SESSION_MSG_MAX; */
	if (len >= SESSION_HEADERS)
		return;
	/*@ assert whole: end <= len; */
}

/*
 * Calls @decode with unknown bytes of each length below @headers, and with all
 * longer ones at once.
 */
static void decode_all(void (*decode)(const u8 *buf, u32 len), u32 headers)
{
	u32 len;

	/*@ loop unroll ANY_MAX; */
	for (len = 0; len < headers; len++)
		decode(any_bytes(len), len);
	decode(any_bytes(headers), ANY_OF(headers, LONGEST));
}

int main(void)
{
	decode_all(decode_request, MPA_HEADERS);
	decode_all(decode_reply, MPA_HEADERS);
	decode_all(decode_ddp, XIW_DDP_HDR_MAX);
	decode_all(decode_rdmap, XIW_ATOMIC_REQ_LEN + 1);
	decode_all(decode_term, XIW_TERM_LEN_MAX);
	decode_all(decode_oob, XIW_OOB_REQ_LEN + 1);
	decode_all(decode_session, SESSION_HEADERS);
	return 0;
}
