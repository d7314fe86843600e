// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Terminate messages: the decoder returns the fault for which a message was
 * encoded. Any bytes from a peer are decoded within their bounds, and give a
 * completion status (RFC 5040 section 4.8).
 */
#include "fuzz.h"
#include "term.h"

/* A header is quoted if bit D is set and all of it has arrived. */
static void check_body(const u8 *body, u32 len)
{
	struct xiw_term t;
	const u8 *hdr = body + 6;
	bool quoted;

	memset(&t, 0xff, sizeof(t));
	if (len < 4) {
		CHECK(xiw_term_decode(body, len, &t) == XIW_TERM_MALFORMED);
		return;
	}
	CHECK(xiw_term_decode(body, len, &t) == XIW_OK);
	CHECK(t.code == fuzz_be(body, 2));
	quoted = (body[2] & 0x40) && len > 6 &&
		 len - 6 >= (hdr[0] & 0x80 ? 14U : 18U);
	CHECK(t.has_hdr == quoted);
	if (quoted) {
		CHECK(t.tagged == !!(hdr[0] & 0x80));
		CHECK(t.opcode == (hdr[1] & 0xf));
	}
	if (quoted && !t.tagged) {
		CHECK(t.qn == fuzz_be(hdr + 6, 4));
		CHECK(t.msn == fuzz_be(hdr + 10, 4));
	}
}

static void check_meaning(u16 code)
{
	CHECK((unsigned int)xiw_term_peer_status(code, false) <=
	      XIW_PEER_FATAL);
	CHECK((unsigned int)xiw_term_peer_status(code, true) <=
	      XIW_PEER_FATAL);
	/* Every error of the lower layer is fatal. */
	if (XIW_TERM_LAYER(code) >= 2)
		CHECK(xiw_term_peer_status(code, false) == XIW_PEER_FATAL);
}

static void decode(struct fuzz_in *in)
{
	u32 len = min_t(size_t, in->left, 80);
	u8 *body = fuzz_dup(in->data, len);

	check_body(body, len);
	if (len >= 2)
		check_meaning(fuzz_be(body, 2));
	free(body);
}

/* Which parts belong to a code, RFC 5040 figure 10, RFC 7306 section 8.1 */
static u8 expected_parts(u16 code, bool has_offender, bool has_read)
{
	switch (code >> 8) {
	case 0x01:
		return !has_offender ? 0 : has_read ? 0xe0 : 0xc0;
	case 0x02:
	case 0x11:
	case 0x12:
		return has_offender ? 0xc0 : 0;
	default:
		return 0;
	}
}

static void check_ulpdu(const u8 *ulpdu, u32 len, u16 code, u8 parts,
			const struct xiw_term_offender *off)
{
	u32 at = XIW_UNTAGGED_LEN + 4;
	u8 read_req[XIW_READ_REQ_LEN];
	struct xiw_ddp_hdr h;
	u8 *body;

	CHECK(xiw_ddp_decode(ulpdu, len, 0, &h) == XIW_OK);
	CHECK(h.opcode == XIW_OP_TERMINATE && h.last && h.mo == 0);
	CHECK(h.qn == 2 && h.msn == 1 && h.payload_len <= XIW_QN2_BUF_LEN);
	CHECK(fuzz_be(ulpdu + 18, 2) == code);
	CHECK(ulpdu[20] == parts && !ulpdu[21]);
	if (parts) {
		u32 n = off->hdr[0] & 0x80 ? 14 : 18;

		CHECK(fuzz_be(ulpdu + at, 2) == off->ulpdu_len);
		CHECK(!memcmp(ulpdu + at + 2, off->hdr, n));
		at += 2 + n;
	}
	if (parts & 0x20) {
		xiw_rdmap_read_req_encode(read_req, off->read_req);
		CHECK(!memcmp(ulpdu + at, read_req, sizeof(read_req)));
		at += sizeof(read_req);
	}
	CHECK(at == len);
	body = fuzz_dup(ulpdu + 18, len - 18);
	check_body(body, len - 18);
	free(body);
}

static void encode(struct fuzz_in *in)
{
	enum xiw_reason reason = fuzz_u8(in) % XIW_REASON_COUNT;
	u8 how = fuzz_u8(in);
	struct xiw_read_req read = {
		.sink_stag = fuzz_u32(in),
		.sink_to = fuzz_u64(in),
		.size = fuzz_u32(in),
		.src_stag = fuzz_u32(in),
		.src_to = fuzz_u64(in),
	};
	struct xiw_term_offender off = {
		.ulpdu_len = fuzz_u16(in),
		.read_req = how & 1 ? &read : NULL,
	};
	const struct xiw_term_offender *blamed = how & 2 ? &off : NULL;
	u16 code = xiw_term_code(reason);
	u8 *ulpdu;
	u32 len;

	CHECK((unsigned int)xiw_term_event(reason) <= XIW_EVENT_FATAL);
	CHECK((unsigned int)xiw_term_recv_status(reason) <= XIW_RECV_PROT);
	CHECK(!xiw_term_wanted(reason, XIW_OP_TERMINATE));
	check_meaning(code);
	fuzz_take(in, off.hdr, sizeof(off.hdr));
	if (!xiw_term_wanted(reason, off.hdr[1] & XIW_RDMAP_OP_MASK))
		return;
	ulpdu = malloc(XIW_TERM_ULPDU_MAX);
	CHECK(ulpdu);
	len = xiw_term_encode(ulpdu, reason, blamed);
	CHECK(len >= 22 && len <= XIW_TERM_ULPDU_MAX);
	check_ulpdu(ulpdu, len, code,
		    expected_parts(code, blamed, off.read_req), blamed);
	free(ulpdu);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };

	if (fuzz_u8(&in) & 1)
		encode(&in);
	else
		decode(&in);
	return 0;
}
